//! Who wrote what stands in the plan in force, as far as people did.
//!
//! Owns the authors of each field of each step, and who may therefore not approve it. Never says
//! who may: that is policy's. INVARIANT: a field has the author of its last change, whoever
//! amended the plan after that; what a planner makes of people's words counts as theirs.

use std::collections::{BTreeMap, BTreeSet};

use provost_plan::expr::Key;
use provost_plan::plan::Plan;
use serde_json::Value;

use super::{State, StepState};
use crate::event::Prover;

/// Who wrote which field, by step: `args.amount`, `when`, `answer`.
pub type Authors = BTreeMap<String, BTreeMap<String, BTreeSet<String>>>;

/// Which fields somebody wrote, by step.
pub type AuthoredFields = BTreeMap<String, BTreeSet<String>>;

/// The field that stands for all of a step where nobody knows which.
const WHOLE: &str = "the step";

/// Who wrote what, and the amendment whose check is still to come.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Authorship {
    authors: Authors,
    amending: Option<(String, AuthoredFields)>,
}

impl Authorship {
    /// Takes in that somebody amends these fields.
    pub(super) fn amends(&mut self, by: &str, fields: &AuthoredFields) {
        self.amending = Some((by.to_owned(), fields.clone()));
    }

    /// Takes in what somebody said that a later step reads.
    pub(super) fn says(&mut self, step: &str, field: &str, by: &str) {
        let fields = self.authors.entry(step.to_owned()).or_default();
        fields.insert(field.to_owned(), BTreeSet::from([by.to_owned()]));
    }

    /// Forgets steps that are not in the plan in force.
    pub(super) fn forget_all_but(&mut self, steps: &BTreeMap<String, StepState>) {
        self.authors.retain(|id, _| steps.contains_key(id));
    }

    /// Takes in a plan that comes into force with these new or changed steps; of a planner, on
    /// whose words it builds.
    pub(super) fn checked(&mut self, changed: &[String], built_on: Option<&BTreeSet<String>>) {
        if let Some((by, fields)) = self.amending.take() {
            // Why: journals of earlier versions do not say which fields.
            let whole = |id: &String| (id.clone(), BTreeSet::from([WHOLE.to_owned()]));
            let fields = match fields.is_empty() {
                true => changed.iter().map(whole).collect(),
                false => fields,
            };
            for (step, names) in &fields {
                names.iter().for_each(|name| self.says(step, name, &by));
            }
            return;
        }
        for id in changed {
            if let Some(people) = built_on.filter(|people| !people.is_empty()) {
                let fields = self.authors.entry(id.clone()).or_default();
                fields.insert(WHOLE.to_owned(), people.clone());
            }
        }
    }
}

impl State {
    /// A planner makes something of what this person said, whoever asked for the run.
    pub(super) fn builds_on(&mut self, by: &str) {
        self.people.amenders.insert(by.to_owned());
    }

    /// Whose proofs the next plan holds, as far as they are new.
    pub(super) fn prover_of_next(&self) -> Prover {
        match &self.in_force.authorship.amending {
            Some((id, _)) => Prover::Person { id: id.clone() },
            None => self.route.planner.prover(&self.head.principal.id),
        }
    }

    /// Takes in the proofs of the plan in force: those that stood in the one before stay whose they
    /// were.
    pub(super) fn note_provers(&mut self, prover: &Prover) {
        let Some(plan) = &self.in_force.plan else {
            return;
        };
        let before = std::mem::take(&mut self.in_force.provers);
        let proofs = plan.checked().plan().success.iter();
        self.in_force.provers = proofs
            .map(|proof| {
                let text = proof.check.text().to_owned();
                let proof = (proof.criterion.value.clone(), text);
                let known = before.get(&proof).cloned();
                (proof, known.unwrap_or_else(|| prover.clone()))
            })
            .collect();
    }

    /// Who wrote the proof of each criterion: of several, whoever is believed most.
    pub(crate) fn proven_by(&self) -> BTreeMap<String, Prover> {
        let mut by: BTreeMap<String, Prover> = BTreeMap::new();
        for ((criterion, _), prover) in &self.in_force.provers {
            let most = by
                .entry(criterion.clone())
                .or_insert_with(|| prover.clone());
            if prover < most {
                most.clone_from(prover);
            }
        }
        by
    }

    /// What people wrote of a step and of all it waits for.
    #[must_use]
    pub fn authors_of(&self, step: &str) -> Authors {
        let before = self.plan().map(|plan| plan.checked().record().before(step));
        let ids = before.into_iter().flatten().chain([step.to_owned()]);
        ids.filter_map(|id| {
            let fields = self.in_force.authorship.authors.get(&id)?;
            Some((id, fields.clone()))
        })
        .collect()
    }

    /// Who may not approve a step: whoever wrote a value of it, and whoever asked for what nobody
    /// else has put a hand to.
    #[must_use]
    pub fn barred_from(&self, step: &str) -> BTreeSet<String> {
        let authors = self.authors_of(step);
        let people = authors.values().flat_map(BTreeMap::values).flatten();
        let mut barred: BTreeSet<String> = people.cloned().collect();
        let requester = &self.head.principal.id;
        let others = barred.iter().any(|person| person != requester);
        if self.in_force.amender.is_none() || !others {
            barred.insert(requester.clone());
        }
        barred
    }
}

/// The fields of a plan that differ from those of the one before, its removed ones too.
pub(crate) fn fields_written(before: Option<&Plan>, after: &Plan) -> AuthoredFields {
    let mut written = AuthoredFields::new();
    for step in &after.steps {
        let id = &step.id.value;
        let old = before.and_then(|plan| plan.step(id));
        let old = old.map(|step| parts(&step.value)).unwrap_or_default();
        let new = parts(&step.value);
        let names = old.keys().chain(new.keys());
        let changed = names.filter(|name| old.get(*name) != new.get(*name));
        let changed: BTreeSet<String> = changed.cloned().collect();
        if !changed.is_empty() {
            written.insert(id.clone(), changed);
        }
    }
    written
}

/// The fields of a step, each argument by itself, and whether it may be left out.
fn parts(step: &Value) -> BTreeMap<String, (&Value, bool)> {
    let mut parts = BTreeMap::new();
    for (name, value) in step.as_object().into_iter().flatten() {
        match value {
            Value::Object(args) if name == "args" => {
                parts.extend(args.iter().map(|(written, value)| {
                    let (arg, may_be_left_out) = Key::parts(written);
                    (format!("args.{arg}"), (value, may_be_left_out))
                }));
            }
            _ => {
                parts.insert(name.clone(), (value, false));
            }
        }
    }
    parts
}
