//! The pass `flow`: where the values of every argument and guard come from.
//!
//! Owns the rules that assign labels, for the check and for the run alike. Decides nothing: what
//! it finds feeds the policy, except that a secret never leaves. INVARIANT: a label is never more
//! trusted than anything the value was computed from or chosen by.

use std::collections::BTreeMap;

use serde_json::Value;

use super::closed::is_closed;
use super::{Pass, StepRecord};
use crate::catalog::{Catalog, Effect, Operation};
use crate::codes::Code;
use crate::diagnostic::Diagnostic;
use crate::expr::tree::ExprKind;
use crate::expr::{ArgTree, Expression, Reference, Root, Segment, Template};
use crate::label::{Integrity, Label};
use crate::plan::{Plan, Step, StepKind};
use crate::schema::PathType;

/// How far a part of a step's output may be believed, by the operator's schema alone. `path` is
/// what follows `output` in one call's output: of a step with `for_each`, without the position.
#[must_use]
pub fn output_integrity(operation: Option<&Operation>, step: &Step, path: &[Segment]) -> Integrity {
    if matches!(step.kind, StepKind::Question { .. }) {
        return Integrity::Trusted;
    }
    let Some(operation) = operation else {
        return Integrity::Text;
    };
    if operation.trusted {
        return Integrity::Trusted;
    }
    let Some(schema) = &operation.output else {
        return Integrity::Text;
    };
    match schema.at(path) {
        PathType::Known { ty, .. } if is_closed(&ty) => Integrity::Data,
        PathType::Known { .. } | PathType::Unknown { .. } | PathType::Absent { .. } => {
            Integrity::Text
        }
    }
}

/// Labels of what a plan reads, given the control label of each step.
pub struct Labels<'a> {
    plan: &'a Plan,
    catalog: &'a Catalog,
    control: BTreeMap<&'a str, &'a Label>,
}

impl<'a> Labels<'a> {
    /// Labels under what the check recorded.
    #[must_use]
    pub fn new(
        plan: &'a Plan,
        catalog: &'a Catalog,
        records: &'a BTreeMap<String, StepRecord>,
    ) -> Self {
        let control = records
            .iter()
            .map(|(id, record)| (id.as_str(), &record.control))
            .collect();
        Self {
            plan,
            catalog,
            control,
        }
    }

    /// The label of what `reference` reads, as seen from `step` (none for proofs and claims).
    #[must_use]
    pub fn of(&self, step: Option<&Step>, reference: &Reference) -> Label {
        match &reference.root {
            Root::Step(id) => self.of_step(id, &reference.path),
            Root::Item => self.of_item(step, &reference.path),
            Root::Index => self.of_item(step, &[]).lowered(),
            Root::Output => {
                step.map_or_else(untrusted, |step| self.of_output(step, &reference.path))
            }
            // A goal a person typed, and what the run itself knows.
            Root::Params | Root::Run => Label::trusted(),
            Root::Args | Root::Key | Root::Unknown(_) => untrusted(),
        }
    }

    fn of_step(&self, id: &str, path: &[Segment]) -> Label {
        let Some(step) = self.plan.step(id) else {
            return untrusted();
        };
        let Some((Segment::Field(field), rest)) = path.split_first() else {
            return self.of_output(step, &[]);
        };
        match field.as_str() {
            "status" => self.of_status(step),
            "output" if step.for_each.is_some() => match rest.split_first() {
                Some((Segment::Index(_) | Segment::Any, rest)) => self.of_output(step, rest),
                _ => self.of_output(step, &[]),
            },
            "output" => self.of_output(step, rest),
            // Messages of errors are the tool's own words.
            _ => self
                .of_status(step)
                .join(&Label::from_step(id, Integrity::Text)),
        }
    }

    /// A status is one of a few words, chosen by what decided about the step and by its tool.
    fn of_status(&self, step: &Step) -> Label {
        let trusted = self
            .operation(step)
            .is_none_or(|operation| operation.trusted);
        let integrity = if trusted {
            Integrity::Trusted
        } else {
            Integrity::Data
        };
        let control = self.control.get(step.id.value.as_str());
        let label = Label::from_step(step.id.value.as_str(), integrity);
        control.map_or(label.clone(), |control| label.join(control))
    }

    fn of_output(&self, step: &Step, path: &[Segment]) -> Label {
        let operation = self.operation(step);
        let id = step.id.value.as_str();
        let mut label = Label::from_step(id, output_integrity(operation, step, path));
        label.secret = operation.is_some_and(|operation| operation.secret);
        match self.control.get(id) {
            Some(control) => label.join(control),
            None => label,
        }
    }

    fn of_item(&self, step: Option<&Step>, path: &[Segment]) -> Label {
        let Some(each) = step.and_then(|step| step.for_each.as_ref()) else {
            return untrusted();
        };
        let list = each.list.whole();
        // Why: a list that is one path gives its items the label of that path, so that a number in
        // an item stays a number.
        if let Some(list) = list
            && let [only] = list.references()
            && is_path(list)
        {
            let mut item = only.clone();
            item.path.push(Segment::Any);
            item.path.extend(path.iter().cloned());
            return self.of(None, &item);
        }
        self.template(None, &each.list, &Label::trusted())
    }

    /// The label of a template's value.
    #[must_use]
    pub fn template(&self, step: Option<&Step>, template: &Template, literals: &Label) -> Label {
        template.label(literals, &|reference| self.of(step, reference))
    }

    fn operation(&self, step: &Step) -> Option<&Operation> {
        let tool = step.tool()?;
        self.catalog.get(&tool.value).map(std::sync::Arc::as_ref)
    }
}

/// Whether an expression is one path and nothing else.
fn is_path(expression: &Expression) -> bool {
    match &expression.ast().kind {
        ExprKind::Root(_) => true,
        ExprKind::Path(base, _) => matches!(base.kind, ExprKind::Root(_)),
        _ => false,
    }
}

fn untrusted() -> Label {
    Label {
        integrity: Integrity::Text,
        ..Label::trusted()
    }
}

/// The labels of one step.
#[derive(Clone, Debug, Default)]
pub(crate) struct StepLabels {
    pub(crate) args: BTreeMap<String, Label>,
    pub(crate) control: Label,
}

/// Assigns labels, step after step in the order of the plan.
pub(crate) fn assign(pass: &Pass<'_>) -> BTreeMap<String, StepLabels> {
    let mut done: BTreeMap<String, StepLabels> = BTreeMap::new();
    for id in &pass.graph.order {
        let Some(step) = pass.plan.step(id) else {
            continue;
        };
        let labels = Labels {
            plan: pass.plan,
            catalog: &pass.terms.catalog,
            control: done
                .iter()
                .map(|(id, l)| (id.as_str(), &l.control))
                .collect(),
        };
        let of = of_step(pass, &labels, step);
        done.insert(id.clone(), of);
    }
    done
}

fn of_step(pass: &Pass<'_>, labels: &Labels<'_>, step: &Step) -> StepLabels {
    // A step that stands unchanged in the plan before has the literals and the choice of that
    // plan; what is new is its present author's.
    let before = pass.base.previous.and_then(|previous| {
        let (was, record) = previous.step(&step.id.value)?;
        (was.value == step.value).then_some(record)
    });
    let trusted = Label::trusted();
    let literals = before.map_or(&pass.origin.literals, |_| &trusted);
    let mut control = before
        .map_or(&pass.origin.control, |record| &record.control)
        .clone();
    let deciding = step
        .when
        .iter()
        .chain(step.for_each.iter().map(|each| &each.list));
    for template in deciding {
        control = control.join(&labels.template(Some(step), template, literals));
    }
    let mut args = BTreeMap::new();
    if let StepKind::Tool { args: tree, .. } = &step.kind {
        let schema = pass
            .operation(step)
            .map(|operation| operation.input.value());
        for (name, value) in tree.entries() {
            let known = schema.and_then(|schema| schema.get("properties")?.get(name));
            let author = Author {
                pass,
                literals,
                known,
            };
            let mut label = author.label(labels, step, value);
            if let Some(was) = before.and_then(|record| record.labels.get(name)) {
                label = label.join(was);
            }
            args.insert(name.clone(), label);
        }
    }
    StepLabels { args, control }
}

/// Who wrote the literals of an argument.
struct Author<'a> {
    pass: &'a Pass<'a>,
    literals: &'a Label,
    /// The schema of the argument in the catalog.
    known: Option<&'a Value>,
}

impl Author<'_> {
    fn label(&self, labels: &Labels<'_>, step: &Step, tree: &ArgTree) -> Label {
        let join = |all: Label, inner: &ArgTree| all.join(&self.label(labels, step, inner));
        match tree {
            ArgTree::Value(value, _) if self.is_known(value) => Label::trusted(),
            ArgTree::Value(..) => self.literals.clone(),
            ArgTree::Template(template) => labels.template(Some(step), template, self.literals),
            ArgTree::List(items, _) => items.iter().fold(Label::trusted(), join),
            ArgTree::Map(entries, _) => entries
                .iter()
                .map(|(_, value)| value)
                .fold(Label::trusted(), join),
        }
    }

    /// Whether a literal stands in the goal that a person typed, or in the catalog.
    fn is_known(&self, value: &Value) -> bool {
        let goal = &self.pass.terms.goal;
        let in_catalog = self.known.is_some_and(|schema| {
            let listed = schema.get("enum").and_then(Value::as_array);
            listed.is_some_and(|values| values.contains(value))
                || schema.get("const") == Some(value)
        });
        let in_params = goal.params.values().any(|param| param == value);
        let in_text = match value {
            Value::String(text) => stands_in(&goal.text, text),
            Value::Number(number) => stands_in(&goal.text, &number.to_string()),
            _ => false,
        };
        in_catalog || in_params || in_text
    }
}

/// Whether `part` stands in `text` as whole words.
fn stands_in(text: &str, part: &str) -> bool {
    let is_word = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '@' | '.' | '/');
    let is_part = |c: Option<char>| c.is_some_and(is_word);
    !part.trim().is_empty()
        && text.match_indices(part).any(|(at, _)| {
            let before = text.get(..at).and_then(|before| before.chars().next_back());
            let mut after = text.get(at + part.len()..).unwrap_or_default().chars();
            let next = after.next();
            // Why: a sentence's full stop behind an address is not a part of it.
            let next = next.filter(|c| *c != '.' || is_part(after.next()));
            !is_part(before) && !is_part(next)
        })
}

pub(crate) fn run(pass: &mut Pass<'_>) {
    let mut found = Vec::new();
    for step in &pass.plan.steps {
        let (Some(operation), Some(labels)) = (
            pass.operation(step),
            pass.labels.get(step.id.value.as_str()),
        ) else {
            continue;
        };
        let StepKind::Tool { args, .. } = &step.kind else {
            continue;
        };
        for (name, tree) in args.entries() {
            if let Some(label) = labels.args.get(name) {
                found.extend(argument(step, operation, name, tree, label));
            }
        }
        if labels.control.integrity == Integrity::Text {
            let place = step
                .when
                .as_ref()
                .or(step.for_each.as_ref().map(|each| &each.list));
            let message = format!("untrusted text decides whether `{}` runs", step.id.value);
            let span = place.map_or(step.id.span, Template::span);
            found.push(
                Diagnostic::new(Code::UntrustedControl, span, message)
                    .note(from(&labels.control))
                    .step(&step.id.value),
            );
        }
    }
    pass.diagnostics.extend(found);
}

fn argument(
    step: &Step,
    operation: &Operation,
    name: &str,
    tree: &ArgTree,
    label: &Label,
) -> Option<Diagnostic> {
    if label.secret && operation.effect != Effect::Read {
        let message = format!("a secret would leave in `{name}` of `{}`", operation.name);
        return Some(
            Diagnostic::new(Code::SecretLeaves, tree.span(), message)
                .note(from(label))
                .hint("bind secrets to the tool's connection; a plan cannot pass them on")
                .step(&step.id.value),
        );
    }
    if label.integrity == Integrity::Trusted || !operation.is_sink(name) {
        return None;
    }
    let message = format!(
        "untrusted {} decides `{name}` of `{}`",
        label.integrity.word(),
        operation.name
    );
    Some(
        Diagnostic::new(Code::UntrustedSink, tree.span(), message)
            .note(from(label))
            .note("policy is told; by default a person is asked about the value")
            .step(&step.id.value),
    )
}

fn from(label: &Label) -> String {
    if label.sources.is_empty() {
        return "it was written by an author who had seen untrusted text".to_owned();
    }
    let names: Vec<String> = label.sources.iter().map(|id| format!("`{id}`")).collect();
    format!("it comes from {}", names.join(", "))
}

#[cfg(test)]
mod tests {
    use super::stands_in;

    #[test]
    fn words_of_the_goal() {
        let goal = "Page ada@example.org about PAY-7, not bob@example.org.";
        for (part, expected) in [
            ("ada@example.org", true),
            ("bob@example.org", true),
            ("PAY-7", true),
            ("PAY", false),
            ("example.org", false),
            ("eve@example.org", false),
            ("", false),
            (" ", false),
        ] {
            assert_eq!(stands_in(goal, part), expected, "{part}");
        }
    }
}
