//! What of a run matters to how it ended: steps, and the fields of their outputs that are read.
//!
//! Owns which differences from another run can explain an end. Judges nothing. INVARIANT: where
//! that cannot be told, all matters.

use std::collections::{BTreeMap, BTreeSet};

use provost_plan::expr::{Reference, Root, Segment};
use serde_json::{Map, Value};

use super::story::Story;
use super::support::{closed, proof_steps, unmet};
use super::unproven::looked_at;
use crate::event::RunStatus;
use crate::outcome::Class;

/// The steps and fields that matter; none of steps that all do.
#[derive(Default)]
pub(super) struct Relevant {
    steps: Option<BTreeSet<String>>,
    /// The fields that are read of the output of a step; none if it is read as a whole.
    fields: BTreeMap<String, Option<BTreeSet<String>>>,
    /// Whether the proofs matter.
    pub(super) proofs: bool,
}

impl Relevant {
    pub(super) fn of(story: &Story<'_>) -> Self {
        let Some((_, plan, record)) = story.last_plan() else {
            return Self::default();
        };
        let ended = story.ended().map(|(_, ended)| ended);
        let ended = ended.filter(|ended| ended.status == RunStatus::Failed);
        let Some(ended) = ended else {
            return Self::default();
        };
        let proofs = ended.step.is_none() && ended.class == Some(Class::Unmet);
        let from = match &ended.step {
            Some(step) => BTreeSet::from([step.clone()]),
            None if proofs => proof_steps(story, &unmet(ended)),
            None => return Self::default(),
        };
        let support = closed(story, record, &from);
        let before = looked_at(story, record, &support);
        let steps: BTreeSet<String> = support.into_iter().chain(before).collect();
        let mut known = Self {
            proofs,
            ..Self::default()
        };
        let of_steps = plan
            .steps
            .iter()
            .filter(|step| steps.contains(&step.id.value));
        let read = of_steps.flat_map(|step| step.templates());
        for reference in read.flat_map(|(_, template)| template.references()) {
            known.reads(reference);
        }
        for proof in &plan.success {
            for reference in proof.check.references() {
                known.reads(reference);
            }
        }
        known.steps = Some(steps);
        known
    }

    fn reads(&mut self, reference: &Reference) {
        let Root::Step(id) = &reference.root else {
            return;
        };
        let mut path = reference.path.iter();
        let fields = self.fields.entry(id.clone());
        match (path.next(), path.next()) {
            (Some(Segment::Field(output)), Some(Segment::Field(field))) if output == "output" => {
                let fields = fields.or_insert_with(|| Some(BTreeSet::new()));
                if let Some(fields) = fields {
                    fields.insert(field.clone());
                }
            }
            (Some(Segment::Field(status)), _) if status == "status" => {}
            _ => {
                *fields.or_insert(None) = None;
            }
        }
    }

    /// Whether a step matters.
    pub(super) fn has(&self, step: &str) -> bool {
        self.steps.as_ref().is_none_or(|steps| steps.contains(step))
    }

    /// What matters of the output of a step.
    pub(super) fn part(&self, step: &str, output: &Value) -> Value {
        let read = match (&self.steps, self.fields.get(step)) {
            (Some(_), Some(Some(fields))) => fields,
            _ => return output.clone(),
        };
        let Value::Object(all) = output else {
            return output.clone();
        };
        let kept = all.iter().filter(|(name, _)| read.contains(*name));
        let kept: Map<String, Value> = kept.map(|(k, v)| (k.clone(), v.clone())).collect();
        Value::Object(kept)
    }
}
