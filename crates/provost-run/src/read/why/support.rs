//! What a criterion rests on, and which of the slots under it failed first.
//!
//! Owns the closure over what steps read. Judges nothing. INVARIANT: a step that nothing of a
//! criterion reads explains nothing of it.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use provost_plan::check::PlanRecord;
use provost_plan::expr::Root;

use super::story::{Settled, Story};
use crate::call::Slot;
use crate::event::{Event, Proven, RunEnded, StepStatus};
use crate::outcome::Class;

/// The criteria that do not hold.
pub(super) fn unmet(ended: &RunEnded) -> Vec<&String> {
    let open = ended.criteria.iter();
    let open = open.filter(|(_, proven)| **proven != Proven::Held);
    open.map(|(id, _)| id).collect()
}

/// The steps that the proofs of these criteria read; all, where the plan has no proof of them.
pub(super) fn proof_steps(story: &Story<'_>, criteria: &[&String]) -> BTreeSet<String> {
    let Some((_, plan, record)) = story.last_plan() else {
        return BTreeSet::new();
    };
    let proofs = plan.success.iter();
    let mut proofs = proofs
        .filter(|proof| criteria.contains(&&proof.criterion.value))
        .peekable();
    if proofs.peek().is_none() {
        return record.steps.keys().cloned().collect();
    }
    let read = proofs.flat_map(|proof| proof.check.references());
    let steps = read.filter_map(|reference| match &reference.root {
        Root::Step(id) => Some(id.clone()),
        _ => None,
    });
    steps.collect()
}

/// These steps with all that they read, the nearest first. Why also what a blocked step waits for:
/// it would have run but for that.
pub(super) fn closed(
    story: &Story<'_>,
    record: &PlanRecord,
    from: &BTreeSet<String>,
) -> Vec<String> {
    let blocked_on: BTreeMap<&str, &str> = story
        .numbered()
        .filter_map(|(_, event)| match event {
            Event::StepBlocked { step, on } => Some((step.as_str(), on.as_str())),
            _ => None,
        })
        .collect();
    let mut order: Vec<String> = Vec::new();
    let mut next: VecDeque<String> = from.iter().cloned().collect();
    while let Some(id) = next.pop_front() {
        if order.contains(&id) {
            continue;
        }
        let reads = record
            .steps
            .get(&id)
            .into_iter()
            .flat_map(|step| &step.reads);
        next.extend(reads.cloned());
        next.extend(blocked_on.get(id.as_str()).map(|on| (*on).to_owned()));
        order.push(id);
    }
    order
}

/// A slot that did not come to what its step is for, and that no other such slot feeds.
pub(super) struct RootSlot {
    pub(super) slot: Slot,
    pub(super) seq: u64,
    pub(super) status: StepStatus,
    pub(super) class: Option<Class>,
}

/// The root slots among these steps, in the order of their events.
pub(super) fn roots(story: &Story<'_>, record: &PlanRecord, support: &[String]) -> Vec<RootSlot> {
    let steps = story.steps();
    let is_bad = |settled: &Settled| {
        matches!(settled.status, StepStatus::Failed | StepStatus::InDoubt) || settled.left_out
    };
    let bad: BTreeSet<&str> = support
        .iter()
        .map(String::as_str)
        .filter(|id| steps.get(id).is_some_and(is_bad))
        .collect();
    let fed = |id: &&&str| {
        let before = record.before(id);
        !bad.iter()
            .any(|other| other != *id && before.contains(*other))
    };
    let mut found: Vec<RootSlot> = Vec::new();
    for id in bad.iter().filter(fed) {
        let Some(settled) = steps.get(id) else {
            continue;
        };
        let slots = story.failed_slots(id);
        if slots.is_empty() || settled.left_out {
            let step = (*id).to_owned();
            found.push(RootSlot {
                slot: Slot { step, item: None },
                seq: settled.seq,
                status: settled.status,
                class: settled.class,
            });
        }
        if settled.left_out {
            continue;
        }
        found.extend(
            slots
                .into_iter()
                .map(|(seq, slot, status, class)| RootSlot {
                    slot: slot.clone(),
                    seq,
                    status,
                    class,
                }),
        );
    }
    found.sort_by_key(|root| root.seq);
    found
}
