//! Which part of the system a failed slot speaks against, by its class.
//!
//! Owns one rule for each class: one match, no wildcard. INVARIANT: a class is never taken for a
//! cause. Each rule names the events that exclude everybody else; where it cannot, it is open, with
//! what it may have been.

use std::collections::BTreeSet;

use provost_plan::check::PlanRecord;

use super::found::CauseFound;
use super::limits::limit;
use super::origin::{LeafOrigin, origins, steps_of};
use super::story::{Settled, Story};
use super::support::{RootSlot, closed};
use super::unproven::persons;
use super::{Certainty, Guilty, Party, PossibleCause};
use super::{refusal, service};
use crate::call::{Purpose, Slot};
use crate::event::{Event, StepStatus};
use crate::outcome::Class;
use crate::shown::observed;

/// The most sources that an open verdict names.
const SOURCES_MAX: usize = 8;

/// Judges a slot that failed, is in doubt, or was left out by a person.
pub(super) fn of_root(story: &Story<'_>, root: &RootSlot) -> CauseFound {
    let (slot, seq) = (&root.slot, root.seq);
    let found = match (root.status, root.class) {
        (StepStatus::InDoubt, _) => service::in_doubt(story, slot),
        (StepStatus::Skipped, _) => {
            let sentence = format!("a person left step `{slot}` out");
            CauseFound::proven((Guilty::Neither, Party::Person), "left_out", sentence).by(Some(seq))
        }
        (_, Some(class)) => of_class(story, slot, class),
        (_, None) => CauseFound::open(
            format!("step `{slot}` failed, and no class is known"),
            Vec::new(),
        ),
    };
    let attempt = story.attempt_of(slot);
    let decisive = found.seq.or_else(|| attempt.last().copied()).unwrap_or(seq);
    let slot = found.slot.clone().unwrap_or_else(|| slot.clone());
    found
        .at(&slot)
        .by(Some(decisive))
        .shown(attempt)
        .shown([seq])
}

fn of_class(story: &Story<'_>, slot: &Slot, class: Class) -> CauseFound {
    let neither =
        |cause, text: String| CauseFound::proven((Guilty::Neither, Party::Person), cause, text);
    match class {
        Class::BreakerOpen | Class::Partial => service::by_tool(story, slot, class),
        Class::Unavailable => service::unavailable(story, slot),
        Class::RateLimited => service::rate_limited(story, slot),
        Class::OutputInvalid => service::output_invalid(story, slot),
        Class::Timeout => service::timeout(story, slot),
        Class::PermissionDenied => refusal::permission_denied(story, slot),
        Class::Misdeclared => CauseFound::proven(
            (Guilty::Execution, Party::Operator),
            "misdeclared",
            format!("what the operator declared for step `{slot}` does not fit what is there"),
        ),
        Class::ToolBug => tool_bug(story, slot),
        Class::Drift => drift(story, slot),
        Class::InvalidArguments => refusal::invalid_arguments(story, slot),
        Class::NotFound => refusal::not_found(story, slot),
        Class::AcceptanceFailed => acceptance(story, slot),
        Class::DeadlineExceeded => waited_in_vain(story, slot),
        Class::Expression | Class::WorkExceeded => value(story, slot, class),
        Class::PolicyDenied => denied(story, slot),
        Class::Conflict => conflict(story, slot),
        Class::Stale => stale(story, slot),
        Class::BudgetExceeded => limit(story, Some(slot)),
        Class::Rejected => neither("rejected", format!("a person rejected step `{slot}`")),
        Class::Expired => neither(
            "expired",
            format!("nobody answered about step `{slot}` in time"),
        ),
        Class::Cancelled => neither("cancelled", format!("step `{slot}` was cancelled")),
        Class::Unmet => open(
            story,
            slot,
            format!("step `{slot}` did not come to what it is for"),
            &[Guilty::Plan],
        ),
        Class::Ok => CauseFound::open(format!("step `{slot}` ended with ok"), Vec::new()),
    }
}

fn tool_bug(story: &Story<'_>, slot: &Slot) -> CauseFound {
    let told = story
        .last_attempt(slot)
        .is_some_and(|attempt| attempt.started.timeout_ms.is_some());
    // Why: journals of earlier versions had no other word for a wrong entry.
    let party = match told {
        true => Party::Host,
        false => Party::HostOrOperator,
    };
    let sentence = format!("the adapter of step `{slot}` is wrong");
    CauseFound::proven((Guilty::Execution, party), "tool_bug", sentence)
}

/// The tool is another. Why open once a call began: the entry was that of the check then, so a
/// server moved its own definition, or the operator the pin.
fn drift(story: &Story<'_>, slot: &Slot) -> CauseFound {
    if story.last_attempt(slot).is_some() {
        let sentence = format!("the tool of step `{slot}` is not as it was when it was looked at");
        let step = Some(slot.step.clone());
        let moved = "the tool changed: its definition, its program or its place".to_owned();
        let pinned = "the entry or the pin is not that of the tool".to_owned();
        let candidates = vec![
            possible((Guilty::Execution, Party::Tool), step.clone(), moved),
            possible((Guilty::Neither, Party::Operator), step, pinned),
        ];
        let mut found = CauseFound::open(sentence, candidates);
        found.would_decide = would_decide(story);
        return found;
    }
    CauseFound::proven(
        (Guilty::Neither, Party::Operator),
        "entry_moved",
        format!("the tool of step `{slot}` is another than the plan was checked under"),
    )
}

/// An output came, and is not accepted; or what a plan asserts does not hold.
fn acceptance(story: &Story<'_>, slot: &Slot) -> CauseFound {
    let asserts = story.plan_of(&slot.step).is_some_and(|(_, plan, _)| {
        plan.step(&slot.step)
            .is_some_and(|s| s.assertion().is_some())
    });
    if asserts {
        let sentence = format!("what step `{slot}` asserts does not hold");
        return open(story, slot, sentence, &[Guilty::Plan]);
    }
    let sentence = format!("the output of step `{slot}` is not accepted");
    let mut found = open(story, slot, sentence, &[Guilty::Execution, Guilty::Plan]);
    let mut persons = persons(story, std::slice::from_ref(&slot.step));
    // Why first: the output is what they said it is.
    persons.append(&mut found.candidates);
    found.candidates = persons;
    found
}

fn waited_in_vain(story: &Story<'_>, slot: &Slot) -> CauseFound {
    let sentence = format!("what step `{slot}` polls for did not come within its `at_most`");
    open(story, slot, sentence, &[Guilty::Execution, Guilty::Plan])
}

fn value(story: &Story<'_>, slot: &Slot, class: Class) -> CauseFound {
    let sentence = match class {
        Class::WorkExceeded => format!("a value of step `{slot}` takes too much work"),
        _ => format!("an expression of step `{slot}` could not be evaluated"),
    };
    open(story, slot, sentence, &[Guilty::Plan])
}

/// Policy forbids a call that passed the check.
fn denied(story: &Story<'_>, slot: &Slot) -> CauseFound {
    let from = origins(story, slot);
    let rests = from.as_ref().is_none_or(|from| !steps_of(from).is_empty());
    let policies: Vec<_> = story
        .plans()
        .map(|(seq, _, record)| (seq, record.terms.policy))
        .collect();
    let moved = policies.windows(2).find_map(|pair| match pair {
        [(_, before), (seq, after)] if before != after => Some(*seq),
        _ => None,
    });
    let whom = (Guilty::Neither, Party::Operator);
    let sentence = format!("policy forbids step `{slot}` with its actual values");
    // Why not of what steps read: the policy before might have forbidden those values too.
    if let Some(seq) = moved.filter(|_| !rests) {
        let sentence = format!("policy changed after the check, and forbids step `{slot}`");
        return CauseFound::proven(whom, "policy_moved", sentence).by(Some(seq));
    }
    let given = from.is_some_and(|from| {
        let told = |leaf: &LeafOrigin| matches!(leaf, LeafOrigin::Goal | LeafOrigin::Answer);
        from.iter().all(told)
    });
    if given {
        let sentence = format!("{sentence}, which the goal and people gave");
        return CauseFound::proven(whom, "policy_forbids", sentence);
    }
    let mut found = open(story, slot, sentence, &[Guilty::Plan]);
    if moved.is_some() {
        let text = "policy changed after the check".to_owned();
        found.candidates.insert(0, possible(whom, None, text));
    }
    found
}

/// The world, or a write in doubt, does not allow it.
fn conflict(story: &Story<'_>, slot: &Slot) -> CauseFound {
    if story.last_attempt(slot).is_none() {
        let steps = story.steps();
        let doubted = steps
            .iter()
            .find(|(_, settled)| settled.status == StepStatus::InDoubt);
        let whom = (Guilty::Execution, Party::Tool);
        let sentence =
            format!("step `{slot}` may repeat a call that is in doubt, so it did not begin");
        let found = CauseFound::proven(whom, "doubt", sentence);
        return match doubted {
            Some((id, settled)) => {
                let step = Slot {
                    step: (*id).to_owned(),
                    item: None,
                };
                let shown = story.proof_of_step(id, settled.seq);
                let ended = story.last_attempt(&step).and_then(|attempt| attempt.ended);
                found
                    .at(&step)
                    .by(ended.map(|(seq, _)| seq).or(Some(settled.seq)))
                    .shown(shown)
            }
            None => found,
        };
    }
    if let Some((step, seq)) = retaken_otherwise(story, slot) {
        let sentence = format!(
            "the world did not allow step `{slot}`: `{step}`, on which it rests, is another \
             since it was read again"
        );
        let whom = (Guilty::Neither, Party::World);
        return CauseFound::witnessed(whom, "world", sentence).by(Some(seq));
    }
    let sentence = format!("the state of the world did not allow step `{slot}`");
    let maybe = &[Guilty::Neither, Guilty::Execution, Guilty::Plan];
    open(story, slot, sentence, maybe)
}

/// A reading that a step rests on and that came out otherwise when it was taken again.
fn retaken_otherwise(story: &Story<'_>, slot: &Slot) -> Option<(String, u64)> {
    let (_, _, record) = story.plan_of(&slot.step)?;
    let from = BTreeSet::from([slot.step.clone()]);
    let reads = closed(story, record, &from);
    changed_reading(story, &reads)
}

/// One of these steps whose reading came out otherwise when it was taken again, and where.
pub(super) fn changed_reading(story: &Story<'_>, among: &[String]) -> Option<(String, u64)> {
    let retaken: BTreeSet<&Slot> = story
        .numbered()
        .filter_map(|(_, event)| match event {
            Event::AttemptStarted(started)
                if matches!(started.purpose, Purpose::Retake { .. })
                    && among.contains(&started.slot.step) =>
            {
                Some(&started.slot)
            }
            _ => None,
        })
        .collect();
    retaken.into_iter().find_map(|slot| {
        let seen: Vec<_> = story
            .numbered()
            .filter_map(|(seq, event)| {
                let (of, output) = observed(event)?;
                (of == slot).then_some((seq, output))
            })
            .collect();
        let last = seen.last()?;
        let other = seen.iter().any(|(_, output)| output != &last.1);
        other.then(|| (slot.step.clone(), last.0))
    })
}

/// A reading was too old, and could not be taken again, or came out otherwise.
fn stale(story: &Story<'_>, slot: &Slot) -> CauseFound {
    let again = story.numbered().rev().find_map(|(_, event)| match event {
        Event::AttemptStarted(started)
            if started.purpose.retaken_for() == Some(slot.step.as_str()) =>
        {
            story.last_attempt(&started.slot)
        }
        _ => None,
    });
    let ended = again.and_then(|attempt| attempt.ended);
    if let (Some(attempt), Some((seq, ended))) = (again, ended)
        && matches!(
            ended.class,
            Class::Unavailable
                | Class::RateLimited
                | Class::OutputInvalid
                | Class::PermissionDenied
                | Class::Timeout
        )
    {
        return of_class(story, &attempt.started.slot, ended.class)
            .at(&attempt.started.slot)
            .by(Some(seq));
    }
    let sentence = format!("what step `{slot}` acts on did not stay as it was read");
    let mut found = open(story, slot, sentence, &[Guilty::Neither]).by(ended.map(|(seq, _)| seq));
    if let Some(attempt) = again {
        found
            .candidates
            .insert(1, flapped(&attempt.started.slot.step));
    }
    found
}

/// A reading that came out otherwise when it was repeated: its tool may be wrong either time.
pub(super) fn flapped(step: &str) -> PossibleCause {
    let text = format!("one of the two answers of the tool of `{step}` is wrong");
    let whom = (Guilty::Execution, Party::Tool);
    possible(whom, Some(step.to_owned()), text)
}

/// An open cause at a slot: the parts that are named, and everything that fed its arguments.
pub(super) fn open(
    story: &Story<'_>,
    slot: &Slot,
    sentence: String,
    parts: &[Guilty],
) -> CauseFound {
    let step = Some(slot.step.clone());
    let mut candidates: Vec<PossibleCause> = parts
        .iter()
        .map(|guilty| match guilty {
            Guilty::Execution => possible(
                (Guilty::Execution, Party::Tool),
                step.clone(),
                format!("what the tool of `{slot}` answered"),
            ),
            Guilty::Neither => possible(
                (Guilty::Neither, Party::World),
                step.clone(),
                format!("what changed outside before `{slot}`"),
            ),
            Guilty::Plan | Guilty::Nobody | Guilty::Undecided => possible(
                (Guilty::Plan, Party::Planner),
                step.clone(),
                format!("what the plan wrote at `{slot}`"),
            ),
        })
        .collect();
    if let Some((_, _, record)) = story.plan_of(&slot.step) {
        candidates.extend(sources(story, record, &slot.step));
    }
    let mut found = CauseFound::open(sentence, candidates).at(slot);
    found.would_decide = would_decide(story);
    found.not_looked_at = vec![story.evidence.looked()];
    found
}

/// What a step reads, directly and through others, the nearest first.
pub(super) fn sources(story: &Story<'_>, record: &PlanRecord, step: &str) -> Vec<PossibleCause> {
    let from = BTreeSet::from([step.to_owned()]);
    let read = closed(story, record, &from).into_iter().skip(1);
    let sources = read.map(|id| source(story, record, id));
    sources.take(SOURCES_MAX).collect()
}

/// A step as where wrong data may have come from.
pub(super) fn source(story: &Story<'_>, record: &PlanRecord, id: String) -> PossibleCause {
    let calls = record
        .steps
        .get(&id)
        .is_some_and(|step| step.tool.is_some());
    let asks = !calls && story.is_question(&id);
    let steps = story.steps();
    let skipped = |settled: &Settled| settled.status == StepStatus::Skipped && !settled.left_out;
    let (whom, text) = match (calls, asks) {
        // Why the plan: what was not called answered nothing. What its condition read is beside.
        _ if steps.get(id.as_str()).is_some_and(skipped) => (
            (Guilty::Plan, Party::Planner),
            format!("that `{id}` was skipped: its condition is wrong"),
        ),
        (true, _) => (
            (Guilty::Execution, Party::Tool),
            format!("what the tool of `{id}` answered is wrong"),
        ),
        (false, true) => (
            (Guilty::Neither, Party::Person),
            format!("the answer to `{id}` is wrong"),
        ),
        (false, false) => (
            (Guilty::Plan, Party::Planner),
            format!("what `{id}` computes is wrong"),
        ),
    };
    possible(whom, Some(id), text)
}

pub(super) fn possible(
    (guilty, party): (Guilty, Party),
    step: Option<String>,
    text: String,
) -> PossibleCause {
    PossibleCause {
        guilty,
        party,
        step,
        text,
    }
}

/// What a person may type where a journal does not decide.
pub(super) fn would_decide(story: &Story<'_>) -> Vec<String> {
    vec![format!("why {} --against RIGHT_RUN", story.run())]
}

/// Slots that failed in passing and were not over: what they were waiting for, they blame.
pub(super) fn unsettled(story: &Story<'_>) -> Vec<CauseFound> {
    let mut last: std::collections::BTreeMap<&Slot, (u64, Class)> = Default::default();
    for (seq, event) in story.numbered() {
        match event {
            Event::AttemptEnded(ended) if ended.class.is_transient() && ended.is_try() => {
                last.insert(&ended.slot, (seq, ended.class));
            }
            Event::AttemptEnded(ended) => {
                last.remove(&ended.slot);
            }
            Event::StepSettled {
                slot,
                status,
                class,
                ..
            } => {
                let over = *status != StepStatus::Failed || *class == Some(Class::Cancelled);
                if over && *status == StepStatus::Succeeded {
                    last.remove(slot);
                }
            }
            _ => {}
        }
    }
    let found = last
        .into_iter()
        .map(|(slot, (seq, class))| of_class(story, slot, class).at(slot).by(Some(seq)));
    let decided = found.filter(|found| found.certainty != Certainty::Open);
    decided.collect()
}
