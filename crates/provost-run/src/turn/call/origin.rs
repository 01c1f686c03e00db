//! Where the values of a call come from that its card shows.
//!
//! Owns the look for a value in the goal, in answers and in trusted readings, and whether a call
//! reads what a failed step left. Never decides by it: what stands there was written by somebody
//! who is trusted, which does not say
//! that it belongs in this argument. INVARIANT: a value has a place only if every text and number
//! in it has one.

use std::collections::{BTreeMap, BTreeSet};

use provost_plan::check::StepRecord;
use provost_plan::label::Integrity;
use provost_plan::plan::readings::reads_unaccepted;
use provost_plan::plan::{CallRole, Step};
use serde_json::Value;

use crate::card::QuestionPurpose;
use crate::event::StepStatus;
use crate::turn::basis::Basis;
use crate::turn::call::dispatch::Candidate;
use crate::view;

/// The place of each argument of a call that has one; nothing where all of the plan is trusted.
pub(crate) fn origins(at: Basis<'_>, candidate: &Candidate) -> BTreeMap<String, String> {
    let author = at
        .state
        .in_force
        .literals
        .integrity
        .max(at.state.in_force.control.integrity);
    let plan = at.state.plan();
    let known = plan.and_then(|plan| plan.checked().step(&candidate.slot.step));
    let untrusted = known.is_some_and(|(_, record)| {
        let mut labels = record.labels.values().chain([&record.control]);
        labels.any(|label| label.integrity != Integrity::Trusted)
    });
    if author == Integrity::Trusted && !untrusted {
        return BTreeMap::new();
    }
    let args = candidate.args.as_object().into_iter().flatten();
    let open = args.filter(|(name, _)| !candidate.secrets.contains(*name));
    open.filter_map(|(name, value)| Some((name.clone(), place_of(at, value)?)))
        .collect()
}

/// Whether every argument is trusted, or has a place; of one that was left out, whether what
/// decided that is trusted.
pub(super) fn values_from_goal(at: Basis<'_>, record: &StepRecord, args: &Value) -> bool {
    let trusted = |name: &String| {
        let label = record.labels.get(name);
        label.is_some_and(|label| label.integrity == Integrity::Trusted)
    };
    let value_of = |name: &String| args.get(name.as_str());
    let mut names = record.labels.keys();
    let mut sent = args.as_object().into_iter().flatten();
    names.all(|name| trusted(name) || value_of(name).is_some())
        && sent.all(|(name, value)| trusted(name) || place_of(at, value).is_some())
}

/// Whether a call of a step reads nothing of a step that failed.
pub(super) fn reads_accepted(at: Basis<'_>, step: &Step, role: CallRole) -> bool {
    let failed = |id: &str, _: bool| {
        let known = at.state.steps.get(id);
        known.is_some_and(|known| known.status == StepStatus::Failed)
    };
    let args = step.call(role).map(|(_, args)| args);
    !args.is_some_and(|args| reads_unaccepted(args, &BTreeSet::new(), &failed))
}

fn place_of(at: Basis<'_>, value: &Value) -> Option<String> {
    let mut leaves = Vec::new();
    collect(value, &mut leaves);
    let places: Option<BTreeSet<String>> =
        leaves.iter().map(|leaf| place_of_leaf(at, leaf)).collect();
    let places: Vec<String> = places?.into_iter().collect();
    (!places.is_empty()).then(|| places.join(", "))
}

fn place_of_leaf(at: Basis<'_>, leaf: &Value) -> Option<String> {
    // Why not a flag: it stands everywhere.
    if !leaf.is_string() && !leaf.is_number() {
        return None;
    }
    if let Some(place) = at.state.goals.goal.place_of(leaf) {
        return Some(format!("the goal, {place}"));
    }
    let answered = at.state.people.questions.values().find_map(|asked| {
        let QuestionPurpose::Step { step } = &asked.question.purpose else {
            return None;
        };
        holds(asked.answer.as_ref()?, leaf).then(|| format!("the answer to {step}"))
    });
    answered.or_else(|| trusted_reading(at, leaf))
}

/// The step whose trusted output holds a leaf.
fn trusted_reading(at: Basis<'_>, leaf: &Value) -> Option<String> {
    let plan = at.state.plan()?.checked();
    at.state.steps.iter().find_map(|(id, known)| {
        let output = known.view.get("output")?;
        let (step, record) = plan.step(id)?;
        if !holds(output, leaf) {
            return None;
        }
        let label = view::output_label(&at.rules.catalog, step, record, output);
        let trusted = label.integrity == Integrity::Trusted && !label.secret;
        (trusted && step.tool().is_some()).then(|| format!("what {id} read"))
    })
}

/// The texts, numbers and flags in a value.
fn collect<'v>(value: &'v Value, leaves: &mut Vec<&'v Value>) {
    match value {
        Value::Array(items) => items.iter().for_each(|item| collect(item, leaves)),
        Value::Object(map) => map.values().for_each(|item| collect(item, leaves)),
        leaf => leaves.push(leaf),
    }
}

fn holds(value: &Value, leaf: &Value) -> bool {
    let mut leaves = Vec::new();
    collect(value, &mut leaves);
    leaves.contains(&leaf)
}
