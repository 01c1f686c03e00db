//! A criterion that is not proven although the run came to its end.
//!
//! Owns what it rests on beyond what failed: proofs, readings, the writes before them, what persons
//! said. INVARIANT: the plan alone is to blame only where no answer could have made a proof hold.

use std::collections::BTreeSet;

use provost_plan::check::PlanRecord;
use provost_plan::expr::{Root, Segment, Template};
use provost_plan::plan::Proof;

use super::ending::no_step;
use super::failure::{self, possible, would_decide};
use super::found::{CauseFound, joined};
use super::story::Story;
use super::support::{closed, proof_steps, roots, unmet};
use super::{Guilty, Party, PossibleCause};
use crate::call::Slot;
use crate::event::{Event, RunEnded, SettledBy, SkipReason, StepStatus};
use crate::read::words::listed;

/// Every step ended, but a criterion is not proven.
pub(super) fn not_proven(story: &Story<'_>, ended: &RunEnded) -> CauseFound {
    let open = unmet(ended);
    let names = listed(open.iter().copied());
    let Some((checked, _, record)) = story.last_plan() else {
        return no_step(ended.class);
    };
    let proofs = proof_steps(story, &open);
    let support = closed(story, record, &proofs);
    let found: Vec<CauseFound> = roots(story, record, &support)
        .iter()
        .map(|root| failure::of_root(story, root))
        .collect();
    if let Some(found) = joined(found) {
        let sentence = format!("{names} is not proven: {}", found.sentence);
        return CauseFound { sentence, ..found };
    }
    if let Some(found) = bad_proof(story, &open, &support) {
        return found.by(Some(checked));
    }
    let mut found = unexplained(story, record, &names, &support);
    found.would_decide = would_decide(story);
    found.not_looked_at = vec![story.evidence.looked()];
    found
}

/// Nothing that a criterion rests on failed: the plan, what was read, what was done before that,
/// what persons said of it, and what no journal holds.
fn unexplained(
    story: &Story<'_>,
    record: &PlanRecord,
    names: &str,
    support: &[String],
) -> CauseFound {
    let looked_at = looked_at(story, record, support);
    let all: Vec<String> = support.iter().chain(&looked_at).cloned().collect();
    let settled = settled_by_person(story, &all);
    let changed = failure::changed_reading(story, support);
    let plan = "the proofs, or what the plan does".to_owned();
    let mut candidates = vec![possible((Guilty::Plan, Party::Planner), None, plan)];
    if let Some((step, _)) = &changed {
        let world = format!("what `{step}` reads changed before it was read again");
        let whom = (Guilty::Neither, Party::World);
        candidates.insert(0, possible(whom, Some(step.clone()), world));
        candidates.insert(1, failure::flapped(step));
    }
    let mut persons = persons(story, &all);
    match settled {
        // Why first: what was read afterwards is against what they said.
        Some(_) => drop(candidates.splice(0..0, persons)),
        None => candidates.append(&mut persons),
    }
    let sources = all.into_iter();
    candidates.extend(sources.map(|id| failure::source(story, record, id)));
    let beside = [
        (Party::Goal, "the goal, which cannot be had as it asks"),
        (Party::World, "what changed outside before it was read"),
    ];
    let beside =
        beside.map(|(party, text)| possible((Guilty::Neither, party), None, text.to_owned()));
    candidates.extend(beside);
    let (sentence, at) = match (changed, settled) {
        (Some((step, seq)), _) => (
            format!("{names} is not proven: `{step}` came out otherwise when it was read again"),
            Some((Slot { step, item: None }, seq)),
        ),
        (None, settled) => {
            let nothing = format!("{names} is not proven, and no step that it rests on failed");
            match settled {
                Some((slot, seq)) => (
                    format!("{nothing}, after a person settled the doubt of `{slot}`"),
                    Some((slot.clone(), seq)),
                ),
                None => (nothing, None),
            }
        }
    };
    let found = CauseFound::open(sentence, candidates);
    match at {
        Some((slot, seq)) => found.at(&slot).by(Some(seq)),
        None => found,
    }
}

/// The calls that change something and ended before what these steps read: what a read-back looks
/// at, and what decided their arguments.
pub(super) fn looked_at(story: &Story<'_>, record: &PlanRecord, support: &[String]) -> Vec<String> {
    let mut writes: BTreeSet<String> = BTreeSet::new();
    let mut begun: BTreeSet<&str> = BTreeSet::new();
    for (_, event) in story.numbered() {
        if let Event::AttemptStarted(started) = event {
            let step = started.slot.step.as_str();
            if support.iter().any(|id| id == step) {
                writes.extend(begun.iter().map(|id| (*id).to_owned()));
            }
            if !started.read && record.steps.contains_key(step) {
                begun.insert(step);
            }
        }
    }
    let known = |id: &String| !support.contains(id);
    closed(story, record, &writes)
        .into_iter()
        .filter(known)
        .collect()
}

/// The last doubt of these steps that a person settled, and where.
fn settled_by_person<'e>(story: &Story<'e>, steps: &[String]) -> Option<(&'e Slot, u64)> {
    story.numbered().rev().find_map(|(seq, event)| match event {
        Event::DoubtSettled {
            slot,
            by: SettledBy::Person { .. },
            ..
        } if steps.contains(&slot.step) => Some((slot, seq)),
        _ => None,
    })
}

/// What persons said about these steps: settlements, amendments, and what they left out.
pub(super) fn persons(story: &Story<'_>, steps: &[String]) -> Vec<PossibleCause> {
    let person = (Guilty::Neither, Party::Person);
    let mut found: Vec<PossibleCause> = Vec::new();
    for (_, event) in story.numbered() {
        let (step, text) = match event {
            Event::DoubtSettled { slot, by, .. }
                if matches!(by, SettledBy::Person { .. }) && steps.contains(&slot.step) =>
            {
                let text = format!("how a person settled the doubt of `{slot}`");
                (Some(slot.step.clone()), text)
            }
            Event::PlanAmended { .. } => (None, "what a person wrote into the plan".to_owned()),
            Event::GoalAmended { .. } => (None, "the goal as a person amended it".to_owned()),
            Event::StepSkipped {
                slot,
                because: SkipReason::NotApproved,
            } if steps.contains(&slot.step) => {
                let text = format!("that a person left `{slot}` out");
                (Some(slot.step.clone()), text)
            }
            _ => continue,
        };
        let one = possible(person, step, text);
        if !found.contains(&one) {
            found.push(one);
        }
    }
    found
}

/// Proofs that read no output of a step, only whether it succeeded, and do not hold although all
/// they rest on did: no answer of a tool could have made them hold. Why not where a condition or a
/// list reads an answer: then the status rests on it too.
fn bad_proof(story: &Story<'_>, open: &[&String], support: &[String]) -> Option<CauseFound> {
    let (_, plan, record) = story.last_plan()?;
    let steps = story.steps();
    let proofs = plan.success.iter();
    let mut proofs = proofs
        .filter(|proof| open.contains(&&proof.criterion.value))
        .peekable();
    let reads_outputs = |proof: &Proof| {
        proof.check.references().any(|reference| {
            let status = matches!(reference.path.first(),
                Some(Segment::Field(field)) if field == "status");
            !(status && matches!(reference.root, Root::Step(_)))
        })
    };
    // Why the first: a plan without a proof of it shows nothing of its proofs.
    proofs.peek()?;
    let constant = proofs.all(|proof| !reads_outputs(proof));
    let ran = support.iter().all(|id| {
        let done = steps
            .get(id.as_str())
            .is_some_and(|settled| settled.status == StepStatus::Succeeded);
        let guarded = plan.step(id).is_none_or(|step| {
            let when = step.when.iter().flat_map(Template::references);
            let list = step.for_each.iter().flat_map(|each| each.list.references());
            let mut read = when.chain(list);
            read.any(|reference| matches!(reference.root, Root::Step(_)))
        });
        done && !guarded && record.steps.contains_key(id)
    });
    (constant && ran).then(|| {
        let sentence = format!(
            "the plan's proof of {} reads no output, and does not hold although all it reads \
             succeeded",
            listed(open.iter().copied())
        );
        CauseFound::proven((Guilty::Plan, Party::Planner), "bad_proof", sentence)
    })
}
