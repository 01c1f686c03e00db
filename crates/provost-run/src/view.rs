//! The planner's view: what a planner is shown of what happened.
//!
//! Owns the one rule that is the same for every planner: trusted and `data` values in clear, text
//! only as the expression that names it. INVARIANT: no untrusted text leaves through here.

use std::collections::{BTreeMap, BTreeSet};

use provost_plan::catalog::{Catalog, Operation};
use provost_plan::check::{StepRecord, flow};
use provost_plan::expr::{Expression, Segment};
use provost_plan::label::{Integrity, Label};
use provost_plan::plan::request::ObservationView;
use provost_plan::plan::{Step, StepKind};
use provost_plan::schema::{PathType, Schema};
use serde_json::{Map, Value, json};

use crate::event::StepStatus;
use crate::state::{State, StepState};

/// What the settled steps of a run came to, as a planner is shown it.
pub(crate) fn of_run(state: &State, catalog: &Catalog) -> BTreeMap<String, ObservationView> {
    let settled = |status: StepStatus| status.is_final() && status != StepStatus::Blocked;
    let shown = state.steps.iter().filter(|(_, step)| settled(step.status));
    shown
        .map(|(id, step)| (id.clone(), of_step(state, catalog, id, step)))
        .collect()
}

/// A settled step as a planner sees it.
pub(crate) fn of_step(
    state: &State,
    catalog: &Catalog,
    id: &str,
    known: &StepState,
) -> ObservationView {
    let output = known.view.get("output").and_then(|output| {
        let (step, record) = state.plan.as_ref()?.checked().step(id)?;
        let reader = Reader::new(catalog, step, record);
        let place = format!("steps.{id}.output");
        Some(match output {
            // Why: a step that runs over a list has one output an item, each of the tool's type.
            Value::Array(items) if step.for_each.is_some() => items
                .iter()
                .enumerate()
                .map(|(i, item)| reader.shown(item, &format!("{place}[{i}]"), &mut Vec::new()))
                .collect(),
            output => reader.shown(output, &place, &mut Vec::new()),
        })
    });
    ObservationView {
        status: known.status.word().to_owned(),
        output,
        error: known.class.map(|class| class.word().to_owned()),
    }
}

struct Reader<'a> {
    step: &'a Step,
    record: &'a StepRecord,
    operation: Option<&'a Operation>,
    names: BTreeSet<&'a str>,
}

impl<'a> Reader<'a> {
    fn new(catalog: &'a Catalog, step: &'a Step, record: &'a StepRecord) -> Self {
        let mut reader = Self::of_labels(catalog, step, record);
        let output = reader.operation.and_then(|op| op.output.as_ref());
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
        }
    }

    fn integrity(&self, path: &[Segment]) -> Integrity {
        flow::output_integrity(self.operation, self.step, path)
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
                    let named = self.declares(key, path);
                    let (name, place) = if named {
                        (key.clone(), format!("{place}.{key}"))
                    } else {
                        (
                            format!("key_{position}"),
                            format!("{place}[{}]", json!(key)),
                        )
                    };
                    if named {
                        shown.insert(name, self.shown(item, &place, path));
                    } else {
                        let withheld = json!({ "ref": null, "chars": 0 });
                        shown.insert(name, withheld);
                    }
                    path.pop();
                }
                Value::Object(shown)
            }
            Value::String(text) if self.integrity(path) == Integrity::Text => {
                json!({ "ref": place, "chars": text.chars().count() })
            }
            plain => plain.clone(),
        }
    }

    /// Whether the operator's schema names this key, and not only the values of such keys.
    fn declares(&self, key: &str, path: &[Segment]) -> bool {
        match (self.operation, &self.step.kind) {
            // Why: a question has no operation; its answer is a person's.
            (_, StepKind::Question { .. }) => true,
            (None, StepKind::Tool { .. }) => false,
            (Some(operation), StepKind::Tool { .. }) if operation.trusted => true,
            (Some(operation), StepKind::Tool { .. }) => {
                let typed = |schema: &Schema| matches!(schema.at(path), PathType::Known { .. });
                self.names.contains(key) && operation.output.as_ref().is_some_and(typed)
            }
        }
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
    Label::from_step(step.id.value.clone(), integrity).join(&reader.record.control)
}

/// The label of an expression over the steps of a run.
pub(crate) fn expression_label(state: &State, catalog: &Catalog, expression: &Expression) -> Label {
    let Some(plan) = &state.plan else {
        return Label::trusted();
    };
    let checked = plan.checked();
    let labels = flow::Labels::new(checked.plan(), catalog, &checked.record().steps);
    expression.label(&Label::trusted(), &|reference| labels.of(None, reference))
}
