//! Plan documents in other forms: task lists, calls, workflows, sentences.
//!
//! Owns what a foreign document says of steps, order, conditions, approvals and failures, and
//! writing it as a plan. Recognises parts by their structure and their words, never by the product
//! that wrote them. INVARIANT: a plan that comes out has no less order, no fewer approvals and no
//! weaker guards than the document: what is not understood is written so that the check refuses
//! it until a person has looked at it.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use crate::catalog::Catalog;
use crate::codes::Code;
use crate::diagnostic::Diagnostic;
use crate::node::{Kind, Node, parse_yaml};
use crate::source::{Source, Span};

use super::read::is_unwritable;

mod call;
mod diagram;
mod document;
mod expression;
mod fields;
mod flow;
mod graph;
mod lines;
mod lost;
mod messages;
mod names;
mod words;
mod write;

/// How many open parts a finding lists.
const OPEN_SHOWN: usize = 12;

/// A foreign document as a plan.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Conversion {
    /// What the document is, in words.
    pub form: String,
    /// How many steps it has.
    pub steps: usize,
    /// The parts of the document by their names there, with what they are in a plan.
    pub parts: BTreeMap<String, &'static str>,
    /// The steps whose tool is known, with it.
    pub calls: Vec<(String, String)>,
    /// The plan, as YAML with comments.
    pub plan: String,
    /// What a person has to settle.
    pub open: Vec<OpenPart>,
}

/// Something of a foreign document that a person has to settle.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OpenPart {
    /// Whether it is about which tool is meant, or with which arguments.
    pub is_tool: bool,
    /// The step, by its id in the plan.
    pub step: Option<String>,
    /// What is open.
    pub message: String,
}

/// What a document says, before it is a plan.
#[derive(Debug, Default)]
struct ForeignPlan {
    form: &'static str,
    /// What it is for, with how proper the field is that says it.
    goal: Option<(usize, String)>,
    variables: BTreeMap<String, Value>,
    steps: Vec<ForeignStep>,
    answers: Vec<ForeignAnswer>,
    parts: BTreeMap<String, &'static str>,
    /// What each job passes on, by its name: references to the results of its steps.
    passed_on: BTreeMap<String, BTreeMap<String, String>>,
    /// Proofs as a plan has them.
    success: Option<Value>,
    /// Limits as a plan has them.
    limits: Map<String, Value>,
    /// Fields of the whole that no part of a plan carries.
    rest: Vec<(String, Value)>,
    /// What is open without a place in the plan.
    open: Vec<String>,
    /// What a document that is data says, to see that nothing of it is lost.
    texts: Vec<lost::ForeignText>,
}

#[derive(Clone, Debug, Default)]
struct ForeignStep {
    /// What the document calls it and its result, the most proper first.
    names: Vec<String>,
    description: Option<String>,
    tool: Option<String>,
    args: Map<String, Value>,
    /// Text given to the tool without a name of an argument.
    bare: Option<Value>,
    /// What it waits for; none if the document does not say, and then it is the step before.
    needs: Option<Vec<String>>,
    conditions: Vec<ForeignCondition>,
    each: Option<String>,
    approval: bool,
    /// Whether it runs whatever became of the one before.
    always: bool,
    /// Whether the goal wants its success although the plan goes on without.
    proven: bool,
    on_failure: Option<&'static str>,
    attempts: Option<u64>,
    backoff: Option<String>,
    accepts: Vec<ForeignCondition>,
    timeout: Option<String>,
    undo: Option<(String, Map<String, Value>)>,
    rest: Vec<(String, Value)>,
}

#[derive(Clone, Debug)]
struct ForeignCondition {
    text: String,
    negated: bool,
}

#[derive(Clone, Debug, Default)]
struct ForeignAnswer {
    text: String,
    conditions: Vec<ForeignCondition>,
    description: Option<String>,
}

/// Reads a document as a plan in another form; none if no steps are found in it.
#[must_use]
pub fn convert(source: &Source, catalog: &Catalog) -> Option<Conversion> {
    let draft = draft(&source.text, catalog)?;
    Some(write::written(draft, catalog))
}

/// The findings of a text that is no plan: where it is one in another form, what it is and how its
/// parts are called here, in place of what is wrong with each.
#[must_use]
pub fn explained(
    source: &Source,
    catalog: &Catalog,
    diagnostics: Vec<Diagnostic>,
) -> Vec<Diagnostic> {
    if is_own(&source.text) {
        return with_way_on(source, diagnostics);
    }
    let Some(found) = convert(source, catalog) else {
        let is_data = parse_yaml(&source.text).is_ok_and(|node| !is_text(&node));
        return match refused_letter(&source.text) {
            _ if is_data => diagnostics,
            Some(finding) => vec![finding],
            None => vec![no_plan()],
        };
    };
    let steps = if found.steps == 1 { "step" } else { "steps" };
    let message = format!("this is {}, with {} {steps}", found.form, found.steps);
    let mut finding = Diagnostic::new(Code::WrongSchema, Span::default(), message);
    for (theirs, ours) in &found.parts {
        finding = finding.note(format!("`{theirs}` is `{ours}` here"));
    }
    for (step, tool) in found.calls.iter().take(OPEN_SHOWN) {
        finding = finding.note(format!("step `{step}`: `tool: {tool}`"));
    }
    for open in found.open.iter().take(OPEN_SHOWN) {
        let step = open.step.as_ref().map(|step| format!("step `{step}`: "));
        finding = finding.note(format!("{}{}", step.unwrap_or_default(), open.message));
    }
    if found.open.len() > OPEN_SHOWN {
        finding = finding.note(format!("and {} more", found.open.len() - OPEN_SHOWN));
    }
    vec![finding.hint(CONVERT)]
}

/// How a document in another form becomes a plan.
const CONVERT: &str = "`--convert` writes it as a plan, and marks what is open";

/// The findings of a plan, with the way on where it may be a document in another form after all.
fn with_way_on(source: &Source, mut diagnostics: Vec<Diagnostic>) -> Vec<Diagnostic> {
    let names_none = |node: Node| node.get("schema").is_none();
    if parse_yaml(&source.text).is_ok_and(names_none)
        && let Some(first) = diagnostics.first_mut()
    {
        first
            .notes
            .push(format!("if this is a plan in another form: {CONVERT}"));
    }
    diagnostics
}

/// The finding of a text in which no steps are found.
fn no_plan() -> Diagnostic {
    let message = "this is no plan, and no list of steps, calls or sentences is found in it";
    Diagnostic::new(Code::WrongSchema, Span::default(), message)
        .note("a plan is YAML or JSON: `goal`, `steps`, `success` and `answer`")
        .note("a step: `{ id: count, tool: tickets.count, args: { project: PAY } }`")
        .note("a step reads another one: `${ steps.count.output.total }`")
        .hint("write each call as a step; what a program decides stands in `when` and `for_each`")
}

/// The finding of a text that cannot be read for a letter which no plan may hold as it is.
fn refused_letter(text: &str) -> Option<Diagnostic> {
    parse_yaml(text).err()?;
    let is_refused = |c: char| is_unwritable(c) || (c.is_control() && !"\t\r\n".contains(c));
    let (at, letter) = text.char_indices().find(|(_, c)| is_refused(*c))?;
    let number = u32::from(letter);
    let message = format!("U+{number:04X} stands in this text, so it cannot be read");
    let span = Span::new(at, at + letter.len_utf8());
    let hint = format!("leave it out, or write `\\u{number:04x}` in a text between double quotes");
    Some(Diagnostic::new(Code::Syntax, span, message).hint(hint))
}

/// Whether a text means to be a plan as it should be written.
fn is_own(text: &str) -> bool {
    let Ok(node) = parse_yaml(text) else {
        let says = |line: &str| line.starts_with("steps:") || line.starts_with("schema: provost/");
        return text.lines().any(says);
    };
    let Some(Kind::List(steps)) = node.get("steps").map(|steps| &steps.kind) else {
        return node.get("schema").is_some() && node.get("goal").is_none_or(is_text);
    };
    let own = |step: &&Node| {
        ["tool", "question", "subgoal", "assert"]
            .iter()
            .any(|kind| step.get(kind).is_some())
    };
    node.get("schema").is_some() || steps.iter().filter(own).count() * 2 > steps.len()
}

fn is_text(node: &Node) -> bool {
    matches!(node.kind, Kind::Text(_))
}

fn draft(text: &str, catalog: &Catalog) -> Option<ForeignPlan> {
    if let Some(draft) = parsed(text, catalog) {
        return Some(draft);
    }
    if let Some(draft) = diagram::read(text, catalog) {
        return Some(draft);
    }
    let blocks = lines::fenced(text);
    let data = blocks.iter().filter_map(|block| parsed(block, catalog));
    // Why all: a log of thoughts holds one call in each.
    let data = data.reduce(|mut all, next| {
        all.steps.extend(next.steps);
        all.answers.extend(next.answers);
        all.parts.extend(next.parts);
        all.rest.extend(next.rest);
        all.open.extend(next.open);
        all.texts.extend(next.texts);
        all
    });
    let lines = || blocks.iter().find_map(|block| lines::read(block, catalog));
    if let Some(mut draft) = data.or_else(lines) {
        draft.form = "a plan in a code block with words around it";
        return Some(draft);
    }
    let data = lines::data_within(text).and_then(|data| parsed(data, catalog));
    data.or_else(|| lines::read(text, catalog))
}

fn parsed(text: &str, catalog: &Catalog) -> Option<ForeignPlan> {
    let node = parse_yaml(text).ok()?;
    match node.kind {
        Kind::Map(_) | Kind::List(_) => document::read(&node, catalog),
        _ => None,
    }
}
