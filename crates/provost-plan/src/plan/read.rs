//! Reads plans from text.
//!
//! Owns the strict reading of every field of the format and the canonical document. Judges nothing
//! that needs a catalog or another step: unknown and duplicate ids are the check's. INVARIANT: a
//! field that is not carried out is refused, never skipped; the document read from
//! [`Plan::value`] has the digest of the plan it came from.

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};

use serde_json::{Value, json};

use super::{Claim, Criterion, Goal, Limits, Names, PLAN_SCHEMA, Plan, Proof, Step, places};
use crate::codes::Code;
use crate::diagnostic::{Diagnostic, limited};
use crate::digest::canonical;
use crate::expr::Template;
use crate::limits::PLAN_STEPS_MAX;
use crate::node::{Fields, Kind, Node, parse_yaml};
use crate::source::{Source, Span, Spanned};

mod again;
mod assertion;
mod kept;
mod names;
mod question;
mod schemas;
mod step;
mod subgoal;
mod until;

pub use again::{document_read_back, is_surely_read_back};
pub use kept::read_plan_once;

/// The JSON Schema of the format, for editors and models. It says what [`read_plan`] takes, but
/// for what stands inside expressions.
pub const PLAN_JSON_SCHEMA: &str = include_str!("../../schemas/plan.v1.json");

/// Reads a plan from YAML or JSON.
///
/// # Errors
/// Every finding about its text and structure.
pub fn read_plan(source: &Source) -> Result<Plan, Vec<Diagnostic>> {
    let node = parse_yaml(&source.text).map_err(|diagnostic| vec![*diagnostic])?;
    read_plan_node(&node, source)
}

/// Reads a plan that is part of a larger document, such as a playbook; `source` is the whole.
///
/// # Errors
/// Every finding about its structure.
pub fn read_plan_node(node: &Node, source: &Source) -> Result<Plan, Vec<Diagnostic>> {
    if !names::has_names(node) {
        let mut diagnostics = Vec::new();
        let plan = plan(node, source, &mut diagnostics);
        return finished(plan, diagnostics);
    }
    let written = WrittenPlan::of(node, &[], source);
    let mut diagnostics = written.findings.clone();
    let plan = plan(&written.plan, &written.text, &mut diagnostics);
    written.finished(plan, diagnostics)
}

/// A plan, and further parts of the same text that use its names, with the names written out.
#[derive(Clone, Debug)]
pub struct WrittenPlan {
    /// The plan.
    pub plan: Node,
    /// The other parts, in their order.
    pub parts: Vec<Node>,
    /// What is wrong with the names and with how they are used.
    pub findings: Vec<Diagnostic>,
    source: Source,
    /// The text that the nodes stand in.
    text: Source,
    names: Arc<Names>,
}

impl WrittenPlan {
    /// Writes out the names of `plan`, in it and in `parts`: documents like a plan.
    #[must_use]
    pub fn of(plan: &Node, parts: &[Node], source: &Source) -> Self {
        let mut findings = Vec::new();
        let mut writer = names::Writer::new(plan, parts, source, &mut findings);
        let plan = writer.write(&names::without_let(plan));
        let parts = parts.iter().map(|part| writer.write(part)).collect();
        let (text, names) = writer.finish();
        Self {
            plan,
            parts,
            findings,
            source: source.clone(),
            text,
            names: Arc::new(names),
        }
    }

    /// Reads a plan of its nodes.
    ///
    /// # Errors
    /// Every finding about its structure.
    pub fn read(&self, node: &Node) -> Result<Plan, Vec<Diagnostic>> {
        let mut diagnostics = Vec::new();
        let plan = plan(node, &self.text, &mut diagnostics);
        self.finished(plan, diagnostics)
    }

    /// Reads a text of its nodes that is no part of a plan.
    ///
    /// # Errors
    /// The finding about the first expression that cannot be read, in the text of the author.
    pub fn template(&self, text: &Spanned<String>) -> Result<Template, Box<Diagnostic>> {
        let read = Template::parse(&text.value, text.span, &self.text.text);
        read.map_err(|mut finding| {
            finding.span = self.place(finding.span);
            finding
        })
    }

    /// The text of the author.
    #[must_use]
    pub fn source(&self) -> &Source {
        &self.source
    }

    /// The names of the plan.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.names.visible(None)
    }

    /// How many names nothing uses, in the plan and in the parts.
    #[must_use]
    pub fn unused(&self) -> usize {
        let names = self.names.all().iter();
        names.filter(|name| !name.is_used).count()
    }

    /// A place of its nodes in the text of the author.
    #[must_use]
    pub fn place(&self, span: Span) -> Span {
        self.names.place(span)
    }

    fn finished(
        &self,
        plan: Option<Plan>,
        diagnostics: Vec<Diagnostic>,
    ) -> Result<Plan, Vec<Diagnostic>> {
        let mut placed = self.names.placed(diagnostics);
        let mut diagnostics = std::mem::take(&mut placed.findings);
        placed.show_uses(&mut diagnostics);
        let plan = finished(plan, diagnostics)?;
        Ok(Plan {
            source: self.source.clone(),
            names: Arc::clone(&self.names),
            ..plan
        })
    }
}

fn finished(plan: Option<Plan>, mut diagnostics: Vec<Diagnostic>) -> Result<Plan, Vec<Diagnostic>> {
    match plan {
        Some(plan) if diagnostics.is_empty() => Ok(plan),
        _ => {
            diagnostics.sort_by_key(|diagnostic| diagnostic.span);
            Err(limited(diagnostics, 0))
        }
    }
}

/// Reads a plan from a document, such as a journal holds; `name` stands in diagnostics.
///
/// # Errors
/// Every finding about its structure.
pub fn plan_from_value(value: &Value, name: &str) -> Result<Plan, Vec<Diagnostic>> {
    read_plan(&Source::new(name, written(value)))
}

/// [`plan_from_value`], for a document that may have been read a moment ago.
///
/// # Errors
/// Every finding about its structure.
pub fn plan_from_value_once(value: &Value, name: &str) -> Result<Arc<Plan>, Vec<Diagnostic>> {
    read_plan_once(&Source::new(name, written(value)))
}

/// The canonical form as a plan may be written: what is a letter to JSON, and none to YAML, stands
/// there as its number.
fn written(value: &Value) -> String {
    let text = canonical(value);
    if !text.chars().any(is_unwritable) {
        return text;
    }
    let mut out = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        // Why only in texts: nothing else in a canonical form is more than ASCII.
        if is_unwritable(c) {
            out.push_str(&format!("\\u{:04x}", u32::from(c)));
        } else {
            out.push(c);
        }
    }
    out
}

/// Whether a letter is one to JSON and none to YAML.
pub(super) fn is_unwritable(c: char) -> bool {
    matches!(
        c,
        '\u{7f}'..='\u{9f}' | '\u{2028}' | '\u{2029}' | '\u{feff}' | '\u{fffe}' | '\u{ffff}'
    )
}

/// Whether a text is the id of a step: `[a-z][a-z0-9_]{0,39}`.
#[must_use]
pub fn is_step_id(text: &str) -> bool {
    text.len() <= 40
        && text.starts_with(|c: char| c.is_ascii_lowercase())
        && text
            .bytes()
            .all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_')
}

fn plan(node: &Node, source: &Source, diagnostics: &mut Vec<Diagnostic>) -> Option<Plan> {
    let mut fields = Fields::new("a plan", node, diagnostics)?;
    marker(&mut fields);
    // Why taken: its names are written out before the rest is read.
    fields.node("let");
    let goal = match fields.node("goal") {
        None => None,
        Some(node) => goal(node, fields.diagnostics()),
    };
    let success = fields.list("success").unwrap_or_default();
    let success = success
        .iter()
        .filter_map(|node| proof(node, source, fields.diagnostics()))
        .collect();
    let (limits, value_limits) = match fields.node("limits") {
        None => (None, Vec::new()),
        Some(node) => limits(node, fields.diagnostics()),
    };
    let answer = match fields.node("answer") {
        None => Vec::new(),
        Some(node) => answer(node, source, fields.diagnostics()),
    };
    fields.required("steps");
    let nodes = fields.list("steps").unwrap_or_default();
    if nodes.len() > PLAN_STEPS_MAX {
        let message = format!(
            "the plan has {} steps, more than the {PLAN_STEPS_MAX} a plan may have",
            nodes.len()
        );
        let diagnostic = Diagnostic::new(Code::TooLarge, node.span, message);
        fields.diagnostics().push(diagnostic);
    }
    let too_large = schemas::too_large(nodes);
    let readable = if too_large.is_some() { &[] } else { nodes };
    fields.diagnostics().extend(too_large);
    let steps: Vec<Step> = readable
        .iter()
        .take(PLAN_STEPS_MAX)
        .filter_map(|node| step::step(node, source, fields.diagnostics()))
        .collect();
    fields.finish();
    Some(Plan {
        goal,
        success,
        places: places(&steps),
        digest: OnceLock::new(),
        steps,
        value_limits,
        limits,
        answer,
        value: Arc::new(document(node)),
        source: source.clone(),
        names: Arc::default(),
    })
}

fn marker(fields: &mut Fields<'_, '_>) {
    let Some(marker) = fields.text("schema") else {
        return;
    };
    if marker.value != PLAN_SCHEMA {
        let message = format!("`{}` is not the format of a plan", marker.value);
        fields.diagnostics().push(
            Diagnostic::new(Code::WrongSchema, marker.span, message)
                .hint(format!("write `schema: {PLAN_SCHEMA}`")),
        );
    }
}

fn goal(node: &Node, diagnostics: &mut Vec<Diagnostic>) -> Option<Spanned<Goal>> {
    if let Kind::Text(text) = &node.kind {
        return Some(Spanned::new(Goal::of_text(text), node.span));
    }
    let mut fields = Fields::new("a goal", node, diagnostics)?;
    let text = fields.required_text("text");
    let mut success = Vec::new();
    for node in fields.list("success").unwrap_or_default() {
        success.extend(criterion(node, fields.diagnostics()));
    }
    let params = fields.node("params").map(Node::to_value);
    let params = match params {
        None => serde_json::Map::new(),
        Some(Value::Object(params)) => params,
        Some(_) => {
            fields.map("params");
            serde_json::Map::new()
        }
    };
    fields.later("budget", "money and tokens are not counted");
    fields.later("constraints", "constraints are not checked");
    fields.finish();
    let text = text?.value;
    let goal = Goal {
        // Why: whoever names no criteria wants what the text says.
        success: if success.is_empty() {
            Goal::of_text(&text).success
        } else {
            success
        },
        text,
        params,
        untrusted: false,
    };
    Some(Spanned::new(goal, node.span))
}

fn criterion(node: &Node, diagnostics: &mut Vec<Diagnostic>) -> Option<Criterion> {
    let mut fields = Fields::new("a criterion", node, diagnostics)?;
    let id = name(&mut fields, "id");
    let text = fields.required_text("text");
    fields.finish();
    Some(Criterion {
        id: id?.value,
        text: text?.value,
    })
}

/// Takes an id that must be there and be well formed.
fn name(fields: &mut Fields<'_, '_>, field: &'static str) -> Option<Spanned<String>> {
    let id = fields.required_text(field)?;
    if is_step_id(&id.value) {
        return Some(id);
    }
    fields.diagnostics().push(bad_id(&id));
    None
}

pub(crate) fn bad_id(id: &Spanned<String>) -> Diagnostic {
    let message = format!("`{}` cannot be an id", id.value);
    Diagnostic::new(Code::BadName, id.span, message)
        .hint("an id begins with a small letter and has up to 40 small letters, digits and `_`")
}

fn proof(node: &Node, source: &Source, diagnostics: &mut Vec<Diagnostic>) -> Option<Proof> {
    let mut fields = Fields::new("a proof", node, diagnostics)?;
    let criterion = fields.required_text("for");
    let check = fields
        .required("check")
        .and_then(|node| expression("check", node, source, fields.diagnostics()));
    fields.finish();
    Some(Proof {
        criterion: criterion?,
        check: check?,
    })
}

/// Reads a field that is one whole expression.
fn expression(
    field: &str,
    node: &Node,
    source: &Source,
    diagnostics: &mut Vec<Diagnostic>,
) -> Option<Template> {
    let template = template(field, node, source, diagnostics)?;
    if template.whole().is_some() {
        return Some(template);
    }
    let message = format!("`{field}` must be one expression, `${{ … }}`");
    let mut diagnostic = Diagnostic::new(Code::WrongShape, node.span, message);
    if template.is_constant() && template.text().len() <= 60 {
        diagnostic = diagnostic.hint(format!("write `${{ {} }}`", template.text().trim()));
    }
    diagnostics.push(diagnostic);
    None
}

/// Reads a text with expressions in it.
fn template(
    field: &str,
    node: &Node,
    source: &Source,
    diagnostics: &mut Vec<Diagnostic>,
) -> Option<Template> {
    let Kind::Text(text) = &node.kind else {
        let message = format!("`{field}` must be a text, not {}", node.kind_word());
        diagnostics.push(Diagnostic::new(Code::WrongShape, node.span, message));
        return None;
    };
    match Template::parse(text, node.span, &source.text) {
        Ok(template) => Some(template),
        Err(diagnostic) => {
            diagnostics.push(*diagnostic);
            None
        }
    }
}

fn answer(node: &Node, source: &Source, diagnostics: &mut Vec<Diagnostic>) -> Vec<Claim> {
    let nodes = match &node.kind {
        Kind::List(nodes) => nodes.as_slice(),
        _ => std::slice::from_ref(node),
    };
    nodes
        .iter()
        .filter_map(|node| claim(node, source, diagnostics))
        .collect()
}

fn claim(node: &Node, source: &Source, diagnostics: &mut Vec<Diagnostic>) -> Option<Claim> {
    let span = node.span;
    if matches!(node.kind, Kind::Text(_)) {
        let text = template("answer", node, source, diagnostics)?;
        return Some(Claim {
            when: None,
            text,
            cites: Vec::new(),
            span,
        });
    }
    let mut fields = Fields::new("a part of the answer", node, diagnostics)?;
    let when = optional(&mut fields, "when", source);
    let text = fields
        .required("text")
        .and_then(|node| template("text", node, source, fields.diagnostics()));
    let cites = fields.texts("cites");
    fields.finish();
    Some(Claim {
        when,
        text: text?,
        cites,
        span,
    })
}

/// Takes an expression that need not be there.
fn optional(fields: &mut Fields<'_, '_>, field: &'static str, source: &Source) -> Option<Template> {
    let node = fields.node(field)?;
    expression(field, node, source, fields.diagnostics())
}

/// Reads the limits of a plan, with the places of the values that it names; what it does not name
/// stays as wide as can be.
fn limits(
    node: &Node,
    diagnostics: &mut Vec<Diagnostic>,
) -> (Option<Limits>, Vec<Spanned<String>>) {
    let Some(mut fields) = Fields::new("the limits of a plan", node, diagnostics) else {
        return (None, Vec::new());
    };
    let mut count = |field: &'static str| fields.count(field).map_or(u64::MAX, |n| n.value);
    let mut limits = Limits {
        steps: count("steps"),
        calls: count("calls"),
        attempts: count("attempts"),
        revisions: count("revisions"),
        proposals: count("proposals"),
        concurrency: count("concurrency"),
        wall_ms: u64::MAX,
        money: None,
        tokens: None,
        values: BTreeMap::new(),
    };
    if let Some(wall) = fields.duration("wall") {
        limits.wall_ms = u64::try_from(wall.value.as_millis()).unwrap_or(u64::MAX);
    }
    if limits.concurrency == 0 {
        let message = "`concurrency` must be at least 1";
        let span = node.nearest_at("/concurrency").span;
        let diagnostic = Diagnostic::new(Code::WrongShape, span, message);
        fields.diagnostics().push(diagnostic);
    }
    limits.money = fields.money("money").map(|money| money.value);
    limits.tokens = fields.count("tokens").map(|tokens| tokens.value);
    let values = fields.amounts("values");
    fields.finish();
    let names = values.iter().map(|(name, _)| name.clone()).collect();
    let each = values.into_iter();
    limits.values = each.map(|(name, most)| (name.value, most)).collect();
    (Some(limits), names)
}

/// The canonical document: fields that are `null` are as if they were not there.
fn document(node: &Node) -> Value {
    let mut value = node.to_value();
    present(&mut value);
    for list in ["success", "answer"] {
        each(&mut value, list, present);
    }
    // Why it too: an answer of one part need not be a list.
    if let Some(answer) = value.get_mut("answer") {
        present(answer);
    }
    each(&mut value, "steps", step::canonical_step);
    if let Some(goal) = value.get_mut("goal") {
        present(goal);
        each(goal, "success", present);
    }
    if let Some(limits) = value.get_mut("limits") {
        present(limits);
    }
    if let Value::Object(map) = &mut value {
        map.insert("schema".to_owned(), json!(PLAN_SCHEMA));
    }
    value
}

/// Takes the fields out of a map that are `null`.
fn present(value: &mut Value) {
    if let Value::Object(map) = value {
        map.retain(|_, value| !value.is_null());
    }
}

fn each(value: &mut Value, field: &str, change: impl Fn(&mut Value)) {
    if let Some(Value::Array(items)) = value.get_mut(field) {
        items.iter_mut().for_each(change);
    }
}

/// The place where a field would stand that is not there.
fn head(span: Span) -> Span {
    Span::new(span.start, span.start)
}
