//! Which steps of a plan are needed: what its proofs, claims and effects rest on.
//!
//! Owns that closure. Evaluates nothing. INVARIANT: a step outside it could be left out, and no
//! proof, no claim and no effect would change.

use std::collections::{BTreeMap, BTreeSet};

use provost_plan::check::PlanRecord;
use provost_plan::expr::{Root, Template};
use provost_plan::plan::read::plan_from_value;
use provost_plan::plan::{Plan, StepKind};
use serde_json::Value;

/// A plan as far as its needs are concerned.
pub(super) struct PlanNeeds {
    /// All its steps.
    pub(super) steps: BTreeSet<String>,
    /// Those that are questions.
    questions: BTreeSet<String>,
    /// Those that call a tool, by its operation.
    pub(super) operations: BTreeMap<String, String>,
    /// What proofs and claims read.
    said: BTreeSet<String>,
    /// What each step reads.
    reads: BTreeMap<String, BTreeSet<String>>,
}

impl PlanNeeds {
    /// Of a plan as the journal has it; none if it cannot be read.
    pub(super) fn read(document: &Value, record: &PlanRecord) -> Option<Self> {
        let plan = plan_from_value(document, "<journal>").ok()?;
        Some(Self::of(&plan, record))
    }

    /// Of a plan, with the record of its check.
    pub(super) fn of(plan: &Plan, record: &PlanRecord) -> Self {
        let mut questions = BTreeSet::new();
        let mut operations = BTreeMap::new();
        for step in &plan.steps {
            let id = step.id.value.clone();
            match &step.kind {
                StepKind::Tool { tool, .. } => drop(operations.insert(id, tool.value.clone())),
                StepKind::Question { .. } => drop(questions.insert(id)),
                _ => {}
            }
        }
        let reads = record.steps.iter();
        let reads = reads.map(|(id, step)| (id.clone(), step.reads.clone()));
        Self {
            steps: record.steps.keys().cloned().collect(),
            questions,
            operations,
            said: said(plan),
            reads: reads.collect(),
        }
    }

    /// The needed steps, where `is_effect` says which are no reads.
    pub(super) fn needed(&self, is_effect: &dyn Fn(&str) -> bool) -> BTreeSet<String> {
        let effects = self.steps.iter().filter(|id| is_effect(id));
        let seeds = self.said.iter().chain(effects).chain(&self.questions);
        self.closed(seeds.cloned().collect())
    }

    /// What proofs and claims rest on, and nothing else.
    pub(super) fn justified(&self) -> BTreeSet<String> {
        self.closed(self.said.clone())
    }

    fn closed(&self, seeds: BTreeSet<String>) -> BTreeSet<String> {
        let mut closed = BTreeSet::new();
        let mut next: Vec<String> = seeds.into_iter().collect();
        while let Some(id) = next.pop() {
            if let Some(reads) = self.reads.get(&id)
                && closed.insert(id)
            {
                next.extend(reads.iter().cloned());
            }
        }
        closed
    }
}

/// The steps that proofs and claims read.
fn said(plan: &Plan) -> BTreeSet<String> {
    let proofs = plan.success.iter().map(|proof| &proof.check);
    let claims = plan.answer.iter();
    let claims = claims.flat_map(|claim| std::iter::once(&claim.text).chain(&claim.when));
    let read = proofs.chain(claims).flat_map(Template::references);
    let read = read.filter_map(|reference| match &reference.root {
        Root::Step(id) => Some(id.clone()),
        _ => None,
    });
    let cited = plan.answer.iter().flat_map(|claim| &claim.cites);
    read.chain(cited.map(|id| id.value.clone())).collect()
}
