//! The planner's view: what a planner is shown of what happened.
//!
//! Owns the one rule that is the same for every planner: trusted and `data` values in clear, text
//! only as the expression that names it; in clear too where the operator chose the full view, and
//! then what was shown is the label of whatever is planned from it. INVARIANT: no secret leaves
//! through here, and no untrusted text that the label does not tell of.

use std::collections::{BTreeMap, BTreeSet};

use provost_plan::catalog::{Catalog, Operation};
use provost_plan::check::{StepRecord, flow};
use provost_plan::expr::{Expression, Root, Segment};
use provost_plan::label::{Integrity, Label};
use provost_plan::plan::request::ObservationView;
use provost_plan::plan::{Step, StepKind};
use provost_plan::schema::{PathType, Schema};
use serde_json::{Map, Value, json};

use crate::event::{PlannerChoice, PlannerView, StepStatus};
use crate::state::{State, StepState};

pub mod concise;

/// What the settled steps of a run came to, as its planner is shown it.
pub(crate) fn of_run(state: &State, catalog: &Catalog) -> BTreeMap<String, ObservationView> {
    shown(state)
        .map(|(id, step)| (id.clone(), of_step(state, catalog, id, step)))
        .collect()
}

/// The steps that a planner is shown.
fn shown(state: &State) -> impl Iterator<Item = (&String, &StepState)> {
    let settled = |status: StepStatus| status.is_final() && status != StepStatus::Blocked;
    let steps = state.steps.iter();
    steps.filter(move |(_, step)| settled(step.status))
}

/// What the full view adds to the label of whatever its planner plans next: nothing, unless it was
/// shown what is not trusted.
pub(crate) fn label_of_full(state: &State, catalog: &Catalog) -> Label {
    if state.route.planner.view() == PlannerView::References {
        return Label::trusted();
    }
    let of = |(id, known): (&String, &StepState)| {
        let words = known
            .class
            .map(|_| Label::from_step(id.as_str(), Integrity::Text));
        let output = known.view.get("output").and_then(|output| {
            let (step, record) = state.plan()?.checked().step(id)?;
            Some(output_label(catalog, step, record, output))
        });
        let labels = [words, output];
        Label::join_all(labels.iter().flatten())
    };
    let labels: Vec<Label> = shown(state).map(of).collect();
    Label::join_all(
        labels
            .iter()
            .filter(|label| label.integrity > Integrity::Trusted),
    )
}

/// A settled step as a planner sees it.
pub(crate) fn of_step(
    state: &State,
    catalog: &Catalog,
    id: &str,
    known: &StepState,
) -> ObservationView {
    let view = state.route.planner.view();
    let planned = state.plan();
    let planned = planned.and_then(|plan| plan.checked().step(id));
    let output = known.view.get("output").and_then(|output| {
        let (step, record) = planned?;
        let reader = Reader::new(catalog, step, record, view);
        let place = output_of(id);
        let shown = match output {
            // Why: a step that runs over a list has one output an item, each of the tool's type.
            Value::Array(items) if step.for_each.is_some() => items
                .iter()
                .enumerate()
                .map(|(i, item)| reader.shown(item, &format!("{place}[{i}]"), &mut Vec::new()))
                .collect(),
            output => reader.shown(output, &place, &mut Vec::new()),
        };
        Some(if reads_it(&state.route.planner) {
            concise::summary(&shown, &place)
        } else {
            shown
        })
    });
    let words = known.message.as_ref().filter(|message| {
        let is_open = planned.is_some_and(|(step, record)| !is_secret(catalog, step, record));
        view == PlannerView::Full && !message.is_empty() && is_open
    });
    ObservationView {
        status: known.status.word().to_owned(),
        output,
        error: known.class.map(|class| match words {
            Some(words) => format!("{}: {words}", class.word()),
            None => class.word().to_owned(),
        }),
    }
}

/// Whether a planner reads what it is shown, and so is given a summary of what is long. The rules
/// of a playbook evaluate their conditions over it, and need all of it.
fn reads_it(planner: &PlannerChoice) -> bool {
    planner.may_fail()
}

/// Whether what a step gives back must not leave: its tool says so, or it was given a secret.
pub(crate) fn is_secret(catalog: &Catalog, step: &Step, record: &StepRecord) -> bool {
    let operation = step.tool().and_then(|tool| catalog.get(&tool.value));
    operation.is_some_and(|operation| operation.secret)
        || record.control.secret
        || record.labels.values().any(|label| label.secret)
}

struct Reader<'a> {
    step: &'a Step,
    record: &'a StepRecord,
    operation: Option<&'a Operation>,
    names: BTreeSet<&'a str>,
    view: PlannerView,
    secret: bool,
}

impl<'a> Reader<'a> {
    fn new(
        catalog: &'a Catalog,
        step: &'a Step,
        record: &'a StepRecord,
        view: PlannerView,
    ) -> Self {
        let mut reader = Self {
            view,
            secret: is_secret(catalog, step, record),
            ..Self::of_labels(catalog, step, record)
        };
        let output = match step.subgoal() {
            Some(subgoal) => Some(&subgoal.output),
            None => reader.operation.and_then(|op| op.output.as_ref()),
        };
        if let Some(schema) = output {
            collect_names(schema.value(), &mut reader.names);
        }
        reader
    }

    /// One that tells labels, and not what a field is called.
    fn of_labels(catalog: &'a Catalog, step: &'a Step, record: &'a StepRecord) -> Self {
        let operation = step
            .tool()
            .and_then(|tool| catalog.get(&tool.value))
            .map(AsRef::as_ref);
        Self {
            step,
            record,
            operation,
            names: BTreeSet::new(),
            view: PlannerView::default(),
            secret: false,
        }
    }

    fn integrity(&self, path: &[Segment]) -> Integrity {
        let labels = &self.record.labels;
        // Why: what a subgoal computes is as trusted as what it is computed from.
        let computed = self.step.subgoal().and(labels.get(flow::RESULT));
        // Why: of a question with a default, this says whichever its output is.
        let default = self.step.default_answer().and(labels.get(flow::DEFAULT));
        computed.or(default).map_or_else(
            || flow::output_integrity(self.operation, self.step, path),
            |label| label.integrity,
        )
    }

    fn shown(&self, value: &Value, place: &str, path: &mut Vec<Segment>) -> Value {
        match value {
            Value::Array(items) => {
                let mut shown = Vec::with_capacity(items.len());
                for (index, item) in items.iter().enumerate() {
                    path.push(Segment::Index(index));
                    shown.push(self.shown(item, &format!("{place}[{index}]"), path));
                    path.pop();
                }
                Value::Array(shown)
            }
            Value::Object(map) => {
                let mut shown = Map::new();
                for (position, (key, item)) in map.iter().enumerate() {
                    path.push(Segment::Field(key.clone()));
                    // Why: a key the schema does not name is text too, and may carry instructions.
                    if self.is_in_clear() || self.declares(key, path) {
                        let place = field_of(place, key);
                        shown.insert(key.clone(), self.shown(item, &place, path));
                    } else {
                        let withheld = json!({ "ref": null, "chars": 0 });
                        shown.insert(format!("key_{position}"), withheld);
                    }
                    path.pop();
                }
                Value::Object(shown)
            }
            // Why without its length: a planner may be a server of somebody else's.
            _ if self.secret => json!({ "ref": place, "secret": true }),
            Value::String(text) if self.is_hidden(path) => {
                json!({ "ref": place, "chars": text.chars().count() })
            }
            plain => plain.clone(),
        }
    }

    fn is_in_clear(&self) -> bool {
        self.view == PlannerView::Full && !self.secret
    }

    fn is_hidden(&self, path: &[Segment]) -> bool {
        self.view == PlannerView::References && self.integrity(path) == Integrity::Text
    }

    /// Whether the operator's schema names this key, and not only the values of such keys.
    fn declares(&self, key: &str, path: &[Segment]) -> bool {
        match (self.operation, &self.step.kind) {
            // Why: a question has no operation; its answer is a person's.
            (_, StepKind::Question { .. } | StepKind::Assertion(_)) => true,
            (_, StepKind::Subgoal(subgoal)) => {
                let typed = matches!(subgoal.output.at(path), PathType::Known { .. });
                self.names.contains(key) && typed
            }
            (None, StepKind::Tool { .. }) => false,
            (Some(operation), StepKind::Tool { .. }) if operation.trusted => true,
            (Some(operation), StepKind::Tool { .. }) => {
                let typed = |schema: &Schema| matches!(schema.at(path), PathType::Known { .. });
                self.names.contains(key) && operation.output.as_ref().is_some_and(typed)
            }
        }
    }
}

/// The expression that names the output of a step.
pub(crate) fn output_of(id: &str) -> String {
    format!("{}.output", Root::Step(id.to_owned()))
}

/// The expression that names a field of what `place` names.
pub(crate) fn field_of(place: &str, name: &str) -> String {
    let begins = |c: char| c.is_ascii_alphabetic() || c == '_';
    let is_plain =
        name.starts_with(begins) && name.chars().all(|c| begins(c) || c.is_ascii_digit());
    if is_plain {
        format!("{place}.{name}")
    } else {
        format!("{place}[{}]", json!(name))
    }
}

/// The names of fields that a schema writes out, wherever in it they stand.
fn collect_names<'a>(schema: &'a Value, names: &mut BTreeSet<&'a str>) {
    match schema {
        Value::Array(items) => items.iter().for_each(|item| collect_names(item, names)),
        Value::Object(map) => {
            for (keyword, value) in map {
                match (keyword.as_str(), value) {
                    ("properties", Value::Object(fields)) => {
                        names.extend(fields.keys().map(String::as_str));
                    }
                    ("enum" | "required", Value::Array(values)) => {
                        names.extend(values.iter().filter_map(Value::as_str));
                    }
                    _ => {}
                }
                collect_names(value, names);
            }
        }
        _ => {}
    }
}

/// The join of the labels of all values in an output.
pub(crate) fn output_label(
    catalog: &Catalog,
    step: &Step,
    record: &StepRecord,
    output: &Value,
) -> Label {
    fn worst(reader: &Reader<'_>, value: &Value, path: &mut Vec<Segment>) -> Integrity {
        match value {
            Value::Array(items) => items
                .iter()
                .map(|item| {
                    path.push(Segment::Any);
                    let integrity = worst(reader, item, path);
                    path.pop();
                    integrity
                })
                .max()
                .unwrap_or_default(),
            Value::Object(map) => map
                .iter()
                .map(|(key, item)| {
                    path.push(Segment::Field(key.clone()));
                    let integrity = worst(reader, item, path);
                    path.pop();
                    integrity
                })
                .max()
                .unwrap_or_default(),
            _ => reader.integrity(path),
        }
    }
    let reader = Reader::of_labels(catalog, step, record);
    let integrity = worst(&reader, output, &mut Vec::new());
    let label = Label::from_step(step.id.value.clone(), integrity).join(&reader.record.control);
    Label {
        secret: is_secret(catalog, step, record),
        ..label
    }
}

/// The label of an expression over the steps of a run.
pub(crate) fn expression_label(state: &State, catalog: &Catalog, expression: &Expression) -> Label {
    let Some(plan) = &state.in_force.plan else {
        return Label::trusted();
    };
    let checked = plan.checked();
    let labels = flow::Labels::new(checked.plan(), catalog, &checked.record().steps);
    expression.label(&state.in_force.literals, &|reference| {
        labels.of(None, reference)
    })
}
