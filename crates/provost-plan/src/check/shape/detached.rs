//! Part of the pass `shape`: a `confirm` or an `undo` that has nothing of its step.
//!
//! Owns S720. A call beside a step's own is about it if it reads something of the step, or is given
//! or asks for a value that the step's call is given. INVARIANT: what is found is known before the
//! run to the last value, and shares none of them with the call that the step makes.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::catalog::Operation;
use crate::check::{FixedEntry, Pass};
use crate::codes::Code;
use crate::diagnostic::Diagnostic;
use crate::expr::{ArgTree, Root, Segment, Template};
use crate::plan::{CallRole, SideCall, Step, StepKind};
use crate::source::Span;

/// Fewest characters of a text that another text may hold as a part of it.
const PART_CHARS_MIN: usize = 3;

pub(super) fn run(pass: &Pass<'_>, found: &mut Vec<Diagnostic>) {
    for step in &pass.plan.steps {
        let StepKind::Tool { tool, args } = &step.kind else {
            continue;
        };
        // Why not without arguments: there is nothing of such a call to take up.
        if args.entries().is_empty() || pass.operation(step).is_none_or(|op| op.effect.is_read()) {
            continue;
        }
        // Why only then: most steps have no other call, and all that a step reads is looked at.
        if step.confirm.is_none() && step.undo.is_none() {
            continue;
        }
        let own = Given::of_step(pass, step);
        for role in [CallRole::Confirm, CallRole::Undo] {
            let Some(call) = step.side_call(role) else {
                continue;
            };
            let says_other = |finding: &Diagnostic| {
                finding.code == Code::OtherThanGiven
                    && finding.step.as_deref() == Some(step.id.value.as_str())
            };
            // Why: two values of one name are compared by S718, which says more.
            if role == CallRole::Confirm && found.iter().any(says_other) {
                continue;
            }
            let sets_again = call.tool.value == tool.value && args.entries().len() == 1;
            // Why not a read: E309 says that it takes nothing back.
            let undoes = |op: &std::sync::Arc<Operation>| !op.effect.is_read();
            let vain = !pass.called(step, role).is_some_and(undoes);
            if role == CallRole::Undo && (call.args.entries().is_empty() || sets_again || vain) {
                continue;
            }
            if is_detached(pass, call, &own) {
                let (id, field) = (&step.id.value, role.field().unwrap_or_default());
                let message = format!("the `{field}` of `{id}` has nothing of what `{id}` does");
                let span = match call.args.entries().is_empty() {
                    true => call.span,
                    false => call.args.span(),
                };
                let label = "the same call, whatever the step did";
                found.push(finding(step, role, span, message).label(label));
            }
        }
    }
}

/// Whether a call is known before the run and has nothing of the step.
fn is_detached(pass: &Pass<'_>, call: &SideCall, own: &Given) -> bool {
    let is_known = pass.fixed_tree(&call.args).is_some();
    let computed = |accept: &Template| {
        let mut reads = accept.references();
        reads.any(|read| !matches!(read.root, Root::Read | Root::Params))
    };
    if !is_known || call.accept.iter().any(computed) {
        return false;
    }
    let Given { values, .. } = Given::of(pass, &call.args);
    let shares = values.iter().any(|value| own.has(value));
    !shares && !call.accept.iter().any(|accept| own.is_asked_for(accept))
}

/// S720 of a call beside a step's own.
pub(super) fn finding(step: &Step, role: CallRole, span: Span, message: String) -> Diagnostic {
    let hint = match role {
        CallRole::Undo => "name what the step made or changed: `output.…`, or its own argument",
        CallRole::Own | CallRole::Confirm => {
            "read back what the step made or changed: `output.…`, or its own argument"
        }
    };
    Diagnostic::new(Code::Detached, span, message)
        .hint(hint)
        .step(&step.id.value)
}

/// What a call is given: values that are known before the run, by name and by themselves.
struct Given {
    names: Vec<String>,
    values: Vec<Value>,
}

impl Given {
    /// What a step's call is given, and the calls that it reads, at first or at second hand: what
    /// is found by a name is changed by the id that was found.
    fn of_step(pass: &Pass<'_>, step: &Step) -> Self {
        let mut given = Self {
            names: Vec::new(),
            values: Vec::new(),
        };
        let mut seen = BTreeSet::new();
        let mut left = vec![step.id.value.as_str()];
        while let Some(id) = left.pop() {
            if !seen.insert(id) {
                continue;
            }
            let step = pass.plan.step(id);
            if let Some(StepKind::Tool { args, .. }) = step.map(|step| &step.kind) {
                given.add(pass, args);
            }
            let reads = pass.graph.reads.get(id).into_iter().flatten();
            left.extend(reads.map(String::as_str));
        }
        given
    }

    fn of(pass: &Pass<'_>, args: &ArgTree) -> Self {
        let mut given = Self {
            names: Vec::new(),
            values: Vec::new(),
        };
        given.add(pass, args);
        given
    }

    fn add(&mut self, pass: &Pass<'_>, tree: &ArgTree) {
        match tree {
            ArgTree::Map(entries, _) => {
                for entry in entries {
                    // Why also what may be left out: where it is sent, it is shared.
                    if !matches!(pass.fixed_entry(entry), Some(FixedEntry::LeftOut)) {
                        self.names.push(entry.0.as_str().to_owned());
                        self.add(pass, &entry.1);
                    }
                }
            }
            ArgTree::List(items, _) => items.iter().for_each(|item| self.add(pass, item)),
            ArgTree::Value(..) | ArgTree::Template(_) => {
                self.values
                    .extend(pass.fixed_tree(tree).map(leaves).unwrap_or_default());
            }
        }
    }

    /// Whether a value is given, or a text is a part of one that is.
    fn has(&self, value: &Value) -> bool {
        let holds = |long: &str, short: &str| {
            short.chars().count() >= PART_CHARS_MIN && long.contains(short)
        };
        self.values.iter().any(|own| match (own, value) {
            (Value::Bool(_) | Value::Null, _) => false,
            (Value::String(own), Value::String(other)) => {
                own == other || holds(own, other) || holds(other, own)
            }
            _ => own == value,
        })
    }

    /// Whether a condition asks for a value that is given, or for a field of an argument's name.
    fn is_asked_for(&self, accept: &Template) -> bool {
        let text = accept.text();
        let is_named = |value: &Value| match value {
            Value::String(value) => !value.is_empty() && text.contains(value.as_str()),
            Value::Number(value) => text.contains(&value.to_string()),
            _ => false,
        };
        let mut fields = accept.references().flat_map(|read| &read.path);
        let is_argument = |segment: &Segment| match segment {
            Segment::Field(name) => self.names.contains(name),
            _ => false,
        };
        self.values.iter().any(is_named) || fields.any(is_argument)
    }
}

/// The values in a value that are no map and no list.
fn leaves(value: Value) -> Vec<Value> {
    match value {
        Value::Array(items) => items.into_iter().flat_map(leaves).collect(),
        Value::Object(map) => map
            .into_iter()
            .flat_map(|(_, value)| leaves(value))
            .collect(),
        value => vec![value],
    }
}
