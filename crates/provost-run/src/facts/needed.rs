//! Which steps of a plan are needed: what its proofs, claims and effects rest on.
//!
//! Owns that closure, over numbers of steps: the plan of every run is looked at as it ends.
//! Evaluates nothing. INVARIANT: a step outside it could be left out, and no proof, no claim and no
//! effect would change.

use std::collections::BTreeMap;

use provost_plan::check::PlanRecord;
use provost_plan::expr::{Root, Template};
use provost_plan::plan::{Plan, StepKind};

/// A plan as far as its needs are concerned. Steps have the numbers of their order by name.
pub(super) struct PlanNeeds<'p> {
    record: &'p PlanRecord,
    /// The names of all its steps, in order.
    pub(super) steps: Vec<&'p str>,
    /// What each does.
    does: Vec<StepDoes>,
    /// What proofs and claims read.
    said: Vec<usize>,
}

/// What a step does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum StepDoes {
    /// It calls an operation that changes nothing.
    Reads,
    /// It calls one that changes something.
    Changes,
    /// It calls one of which nobody knows: it was never called.
    Unknown,
    /// It asks a person.
    Asks,
    /// None of these.
    Else,
}

impl<'p> PlanNeeds<'p> {
    /// Of a plan, with the record of its check, where `known` says of operations whether they
    /// change something.
    pub(super) fn of(plan: &'p Plan, record: &'p PlanRecord, known: &BTreeMap<&str, bool>) -> Self {
        let mut needs = Self {
            record,
            steps: record.steps.keys().map(String::as_str).collect(),
            does: Vec::new(),
            said: Vec::new(),
        };
        needs.does = vec![StepDoes::Else; needs.steps.len()];
        for step in &plan.steps {
            let does = match &step.kind {
                StepKind::Tool { tool, .. } => match known.get(tool.value.as_str()) {
                    Some(true) => StepDoes::Changes,
                    Some(false) => StepDoes::Reads,
                    None => StepDoes::Unknown,
                },
                StepKind::Question { .. } => StepDoes::Asks,
                _ => continue,
            };
            let number = needs.number(&step.id.value);
            if let Some(known) = number.and_then(|number| needs.does.get_mut(number)) {
                *known = does;
            }
        }
        needs.said = said(plan).filter_map(|id| needs.number(id)).collect();
        needs
    }

    fn number(&self, id: &str) -> Option<usize> {
        self.steps.binary_search(&id).ok()
    }

    /// Each step with what it does, and with whether it is in a set.
    pub(super) fn with<'a>(
        &'a self,
        set: &'a [bool],
    ) -> impl Iterator<Item = (&'p str, StepDoes, bool)> + 'a {
        let steps = self.steps.iter().zip(&self.does).zip(set);
        steps.map(|((id, does), within)| (*id, *does, *within))
    }

    /// The needed steps.
    pub(super) fn needed(&self) -> Vec<bool> {
        let seed = |does: &StepDoes| matches!(does, StepDoes::Changes | StepDoes::Asks);
        let seeds = self.does.iter().enumerate();
        let seeds = seeds.filter(|(_, does)| seed(does)).map(|(at, _)| at);
        self.closed(seeds.chain(self.said.iter().copied()).collect())
    }

    /// What proofs and claims rest on, and nothing else.
    pub(super) fn justified(&self) -> Vec<bool> {
        self.closed(self.said.clone())
    }

    fn closed(&self, mut next: Vec<usize>) -> Vec<bool> {
        let mut closed = vec![false; self.steps.len()];
        while let Some(number) = next.pop() {
            let Some(known) = closed.get_mut(number).filter(|known| !**known) else {
                continue;
            };
            *known = true;
            let id = self.steps.get(number);
            if let Some(step) = id.and_then(|id| self.record.steps.get(*id)) {
                next.extend(step.reads.iter().filter_map(|read| self.number(read)));
            }
        }
        closed
    }
}

/// The steps that proofs and claims read.
fn said(plan: &Plan) -> impl Iterator<Item = &str> {
    let proofs = plan.success.iter().map(|proof| &proof.check);
    let claims = plan.answer.iter();
    let claims = claims.flat_map(|claim| std::iter::once(&claim.text).chain(&claim.when));
    let read = proofs.chain(claims).flat_map(Template::references);
    let read = read.filter_map(|reference| match &reference.root {
        Root::Step(id) => Some(id.as_str()),
        _ => None,
    });
    let cited = plan.answer.iter().flat_map(|claim| &claim.cites);
    read.chain(cited.map(|id| id.value.as_str()))
}
