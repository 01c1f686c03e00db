//! Reads one step.

use std::time::Duration;

use serde_json::{Value, json};

use super::assertion::assertion;
use super::question::question_of;
use super::subgoal::subgoal;
use super::until::until;
use super::{bad_id, expression, head, is_step_id, optional, present};
use crate::catalog::Risk;
use crate::codes::Code;
use crate::diagnostic::Diagnostic;
use crate::expr::{ArgTree, Template};
use crate::limits::{FOR_EACH_ITEMS_DEFAULT, FOR_EACH_ITEMS_MAX};
use crate::node::{Fields, Kind, Node};
use crate::plan::subgoal::parent_of;
use crate::plan::undo::{is_undo, undone_by};
use crate::plan::{CallRole, ForEach, OnFailure, Retry, SideCall, Step, StepKind};
use crate::schema::Schema;
use crate::source::{Source, Spanned};

/// The wait before a second attempt, where a step does not say.
const BACKOFF_DEFAULT: Duration = Duration::from_secs(1);

const ON_FAILURE_WORDS: [(&str, OnFailure); 4] = [
    ("replan", OnFailure::Replan),
    ("stop", OnFailure::Stop),
    ("continue", OnFailure::Continue),
    ("escalate", OnFailure::Escalate),
];

/// Fields of the format that a later version carries out, and what they would do.
const LATER: [(&str, &str); 3] = [
    ("budget", "a subgoal has no budget of its own"),
    ("model", "a step chooses no model"),
    ("replaces", "a step stands in for no other"),
];

pub(super) fn step(
    node: &Node,
    source: &Source,
    diagnostics: &mut Vec<Diagnostic>,
) -> Option<Step> {
    let before = diagnostics.len();
    let read = fields(node, source, diagnostics);
    let id = node.get("id").map(Node::to_value);
    if let Some(Value::String(id)) = id {
        for diagnostic in diagnostics.iter_mut().skip(before) {
            diagnostic.step.get_or_insert_with(|| id.clone());
        }
    }
    read
}

fn fields(node: &Node, source: &Source, diagnostics: &mut Vec<Diagnostic>) -> Option<Step> {
    let mut fields = Fields::new("a step", node, diagnostics)?;
    let id = id_of(&mut fields);
    let description = fields.text("description");
    // Why taken: its names are written out before the rest is read.
    fields.node("let");
    let kind = kind(&mut fields, node, source);
    if let (Some(id), Some(StepKind::Subgoal(_))) = (&id, &kind)
        && is_undo(&id.value)
    {
        fields.diagnostics().push(bad_id(id));
    }
    let role = role(&mut fields, kind.as_ref());
    let needs = fields.texts("needs");
    let when = optional(&mut fields, "when", source);
    let for_each = for_each(&mut fields, source);
    let until = until(&mut fields, kind.as_ref(), source);
    let accept = accept(&mut fields, source);
    let confirm = side_call(&mut fields, CallRole::Confirm, kind.as_ref(), source);
    let undo = side_call(&mut fields, CallRole::Undo, kind.as_ref(), source);
    let expect = fields.node("expect");
    let expect = expect.and_then(|node| schema("expect", node, fields.diagnostics()));
    let timeout = above_nothing(&mut fields, "timeout").map(|timeout| timeout.value);
    let fresh = above_nothing(&mut fields, "fresh");
    let retry = fields.node("retry");
    let retry = retry.and_then(|node| retry_of(node, fields.diagnostics()));
    let on_failure = fields.choice("on_failure", &ON_FAILURE_WORDS);
    let risk = fields.node("risk").map(|node| node.span);
    let risk = fields
        .choice::<Risk>("risk", &Risk::WORDS)
        .zip(risk)
        .map(|(value, span)| Spanned::new(value, span));
    let approval = fields.choice("approval", &[("required", true)]);
    for (field, what) in LATER {
        fields.later(field, what);
    }
    fields.finish();
    let mut value = node.to_value();
    canonical_step(&mut value);
    Some(Step {
        id: id?,
        description,
        kind: kind?,
        role,
        needs,
        when,
        for_each,
        until,
        accept,
        confirm,
        undo,
        expect,
        timeout,
        fresh,
        retry,
        on_failure: on_failure.unwrap_or_default(),
        risk,
        approval_required: approval.unwrap_or(false),
        span: node.span,
        value,
    })
}

/// The id; that of an undoing step too, which the check takes only from the run itself, and that
/// of a step that refines a subgoal, which the check takes only beside that subgoal.
fn id_of(fields: &mut Fields<'_, '_>) -> Option<Spanned<String>> {
    let id = fields.required_text("id")?;
    let placed = undone_by(&id.value).is_some() || parent_of(&id.value).is_some();
    if is_step_id(&id.value) || placed {
        return Some(id);
    }
    fields.diagnostics().push(bad_id(&id));
    None
}

/// `as: reader`
fn role(fields: &mut Fields<'_, '_>, kind: Option<&StepKind>) -> Option<Spanned<String>> {
    let role = fields.text("as")?;
    if let Some(StepKind::Question { .. }) = kind {
        let message = "`as` narrows which tools a step may call, and the step calls none";
        let finding = Diagnostic::new(Code::WrongShape, role.span, message);
        fields.diagnostics().push(finding);
    }
    Some(role)
}

fn kind(fields: &mut Fields<'_, '_>, node: &Node, source: &Source) -> Option<StepKind> {
    let tool = fields.text("tool");
    let arguments = fields.node("args");
    let question = fields.node("question");
    let subgoal = subgoal(fields, node, source);
    let assertion = assertion(fields, node, source);
    let kinds = ["tool", "question", "subgoal", "assert"];
    let written = kinds
        .iter()
        .filter(|kind| node.get(kind).is_some_and(|n| n.kind != Kind::Null))
        .count();
    if written != 1 {
        let (code, span, message) = if written == 0 {
            let message = "a step needs the field `tool`, `question`, `subgoal` or `assert`";
            (Code::MissingField, head(node.span), message)
        } else {
            let message = "a step is one of `tool`, `question`, `subgoal` and `assert`";
            (Code::WrongShape, node.span, message)
        };
        fields
            .diagnostics()
            .push(Diagnostic::new(code, span, message));
        return None;
    }
    if node.get("subgoal").is_some_and(|n| n.kind != Kind::Null) {
        return subgoal;
    }
    if node.get("assert").is_some_and(|n| n.kind != Kind::Null) {
        return assertion;
    }
    if let Some(tool) = tool {
        let args = args_of(fields, arguments, node, source)?;
        return Some(StepKind::Tool { tool, args });
    }
    if let Some(arguments) = arguments {
        let message = "`args` are those of a tool, and the step calls none";
        fields
            .diagnostics()
            .push(Diagnostic::new(Code::WrongShape, arguments.span, message));
    }
    question_of(question?, source, fields.diagnostics())
}

fn args_of(
    fields: &mut Fields<'_, '_>,
    arguments: Option<&Node>,
    holder: &Node,
    source: &Source,
) -> Option<ArgTree> {
    let Some(arguments) = arguments else {
        return Some(ArgTree::empty(holder.span));
    };
    fields.map("args")?;
    Some(ArgTree::read(arguments, &source.text, fields.diagnostics()))
}

/// Takes the call in a field of a step, which only a step that calls a tool can have.
///
/// `confirm: { tool: drafts.get, args: { id: "${ output.id }" }, accept: ["${ read.id == 1 }"] }`,
/// `undo: { tool: pager.retract, args: { id: "${ output.id }" } }`
fn side_call(
    fields: &mut Fields<'_, '_>,
    role: CallRole,
    kind: Option<&StepKind>,
    source: &Source,
) -> Option<SideCall> {
    let field = role.field()?;
    let node = fields.node(field)?;
    let call = side_call_of(node, role, source, fields.diagnostics());
    if let (Some(StepKind::Question { .. }), Some(call)) = (kind, &call) {
        let does = match role {
            CallRole::Undo => "takes back what a tool did",
            CallRole::Own | CallRole::Confirm => "reads back what a tool wrote",
        };
        let message = format!("`{field}` {does}, and the step calls none");
        let finding = Diagnostic::new(Code::WrongShape, call.span, message);
        fields.diagnostics().push(finding);
    }
    call
}

fn side_call_of(
    node: &Node,
    role: CallRole,
    source: &Source,
    diagnostics: &mut Vec<Diagnostic>,
) -> Option<SideCall> {
    let what = match role {
        CallRole::Undo => "`undo`",
        CallRole::Own | CallRole::Confirm => "`confirm`",
    };
    let mut fields = Fields::new(what, node, diagnostics)?;
    let tool = fields.required_text("tool");
    let arguments = fields.node("args");
    let args = args_of(&mut fields, arguments, node, source);
    let mut accepts = Vec::new();
    if role == CallRole::Confirm {
        let before = fields.diagnostics().len();
        accepts = accept(&mut fields, source);
        if accepts.is_empty() && fields.diagnostics().len() == before {
            let message = "`confirm` needs the field `accept`: what must hold over `read`";
            let finding = Diagnostic::new(Code::MissingField, head(node.span), message);
            fields.diagnostics().push(finding);
        }
    }
    fields.finish();
    Some(SideCall {
        tool: tool?,
        args: args?,
        accept: accepts,
        span: node.span,
    })
}

pub(super) fn schema(
    field: &str,
    node: &Node,
    diagnostics: &mut Vec<Diagnostic>,
) -> Option<Schema> {
    if !matches!(node.kind, Kind::Map(_) | Kind::Bool(_)) {
        let message = format!("`{field}` must be a JSON Schema, not {}", node.kind_word());
        diagnostics.push(Diagnostic::new(Code::WrongShape, node.span, message));
        return None;
    }
    match Schema::compile(node.to_value()) {
        Ok(schema) => Some(schema),
        Err(error) => {
            diagnostics.push(Diagnostic::new(
                Code::BadSchema,
                node.span,
                error.to_string(),
            ));
            None
        }
    }
}

fn for_each(fields: &mut Fields<'_, '_>, source: &Source) -> Option<ForEach> {
    let most = fields.count("max_items");
    let list = fields.node("for_each");
    if let Some(most) = &most
        && !(1..=FOR_EACH_ITEMS_MAX as u64).contains(&most.value)
    {
        let message = format!("`max_items` must be from 1 to {FOR_EACH_ITEMS_MAX}");
        fields
            .diagnostics()
            .push(Diagnostic::new(Code::WrongShape, most.span, message));
    }
    if let (None, Some(most)) = (list, &most) {
        let message = "`max_items` belongs to `for_each`, which is not there";
        fields
            .diagnostics()
            .push(Diagnostic::new(Code::MissingField, most.span, message));
    }
    let node = list?;
    let list = expression("for_each", node, source, fields.diagnostics())?;
    let max_items = most.unwrap_or(Spanned::new(FOR_EACH_ITEMS_DEFAULT, node.span));
    Some(ForEach { list, max_items })
}

fn accept(fields: &mut Fields<'_, '_>, source: &Source) -> Vec<Template> {
    let Some(node) = fields.node("accept") else {
        return Vec::new();
    };
    let nodes = match &node.kind {
        Kind::List(nodes) => nodes.as_slice(),
        _ => std::slice::from_ref(node),
    };
    nodes
        .iter()
        .filter_map(|node| expression("accept", node, source, fields.diagnostics()))
        .collect()
}

pub(super) fn above_nothing(
    fields: &mut Fields<'_, '_>,
    name: &'static str,
) -> Option<Spanned<Duration>> {
    let duration = fields.duration(name)?;
    if duration.value.is_zero() {
        let message = format!("`{name}` must be longer than nothing");
        fields
            .diagnostics()
            .push(Diagnostic::new(Code::WrongShape, duration.span, message));
    }
    Some(duration)
}

/// A number of attempts alone, or with the wait between them.
fn retry_of(node: &Node, diagnostics: &mut Vec<Diagnostic>) -> Option<Retry> {
    let (count, backoff) = if let Kind::Number(number) = &node.kind {
        (number.as_u64().map(|n| Spanned::new(n, node.span)), None)
    } else {
        let mut fields = Fields::new("`retry`", node, diagnostics)?;
        fields.required("attempts");
        let count = fields.count("attempts");
        let backoff = fields.duration("backoff");
        fields.finish();
        (Some(count?), backoff)
    };
    let attempts = count
        .and_then(|count| u32::try_from(count.value).ok())
        .filter(|attempts| (1..=100).contains(attempts));
    if attempts.is_none() {
        let span = node.nearest_at("/attempts").span;
        let message = "a step is attempted from 1 to 100 times, the first counted";
        diagnostics.push(Diagnostic::new(Code::WrongShape, span, message));
    }
    Some(Retry {
        attempts: attempts?,
        backoff: backoff.map_or(BACKOFF_DEFAULT, |backoff| backoff.value),
    })
}

/// The canonical form of a step: without fields that are `null`, with the limit of its items.
pub(super) fn canonical_step(value: &mut Value) {
    present(value);
    for field in ["question", "retry", "confirm", "undo"] {
        if let Some(inner) = value.get_mut(field) {
            present(inner);
        }
    }
    // Why: what stands in a journal must not change its meaning with a later default.
    if let Value::Object(map) = value
        && map.contains_key("for_each")
    {
        map.entry("max_items")
            .or_insert_with(|| json!(FOR_EACH_ITEMS_DEFAULT));
    }
}
