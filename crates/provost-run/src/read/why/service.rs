//! Calls that a tool did not serve as it should: it could not, was late, or answered out of form.
//!
//! Owns the rules of those classes. INVARIANT: a tool is proven at fault only where no argument can
//! be why; where others are answered and this one is not, whoever chose it is a candidate.

use super::failure::{possible, would_decide};
use super::found::CauseFound;
use super::refusal::{choosers, of_service, takes_nothing};
use super::story::{Attempted, Story};
use super::{Guilty, Party, PossibleCause};
use crate::call::Slot;
use crate::outcome::{Class, Landing};

/// What a verdict presumes where no call says whether the arguments are why.
const PREMISE: &str =
    "that a tool which is well, under an entry which is right, can do what was asked";
const EITHER: (Guilty, Party) = (Guilty::Execution, Party::ToolOrOperator);

/// What other calls say of the part that arguments have in a failure.
enum Argument {
    /// None: the call takes no arguments.
    TakesNone,
    /// None: the same call was answered before.
    Served,
    /// Perhaps: others are answered.
    Alone,
    /// Nothing is known.
    Unknown,
}

fn argument(story: &Story<'_>, attempt: &Attempted<'_>) -> Argument {
    let (started, at) = (attempt.started, attempt.at);
    match () {
        () if takes_nothing(started) => Argument::TakesNone,
        () if story.evidence.same(started, at) => Argument::Served,
        () if story.evidence.other(started, at) => Argument::Alone,
        () => Argument::Unknown,
    }
}

/// A write whose effect nobody knows.
pub(super) fn in_doubt(story: &Story<'_>, slot: &Slot) -> CauseFound {
    let ended = story.last_attempt(slot).and_then(|attempt| attempt.ended);
    let lost = ended.is_some_and(|(_, ended)| ended.lost);
    let late = ended.is_some_and(|(_, ended)| ended.class == Class::Timeout);
    if late && allowed_by_plan(story, slot).is_some() {
        return timeout(story, slot);
    }
    let (party, cause) = match (lost, late) {
        (true, _) => (Party::Host, "lost"),
        (_, true) => (Party::ToolOrOperator, "doubt"),
        _ => (Party::Tool, "doubt"),
    };
    let how = match lost {
        true => "the process that sent it ended before an answer came",
        false => "no answer shows whether it took place",
    };
    let sentence = format!("step `{slot}` is in doubt: a write was sent, and {how}");
    CauseFound::proven((Guilty::Execution, party), cause, sentence)
}

/// The tool, or the operator's entry for it, did not do its part, whatever the arguments were.
pub(super) fn by_tool(story: &Story<'_>, slot: &Slot, class: Class) -> CauseFound {
    let attempt = story.last_attempt(slot);
    let party = match attempt {
        // Why: a breaker opens by failures of the same tool under any entry.
        _ if class == Class::BreakerOpen => Party::Tool,
        Some(attempt) if story.evidence.ever_ok(attempt.started) => Party::Tool,
        _ => Party::ToolOrOperator,
    };
    let what = match class {
        Class::BreakerOpen => "the tool failed so often that no call to it begins",
        Class::Partial => "the tool did only a part",
        _ => "the tool could not serve",
    };
    let or = match party {
        Party::ToolOrOperator => ", and it never answered well under this entry",
        _ => "",
    };
    let sentence = format!("step `{slot}`: {what}{or}");
    CauseFound::proven((Guilty::Execution, party), class.word(), sentence).by(end_of(attempt))
}

/// The tool could not serve: before it took the call up, whatever it was, or over this one.
pub(super) fn unavailable(story: &Story<'_>, slot: &Slot) -> CauseFound {
    let attempt = story.last_attempt(slot);
    let taken_up = attempt.filter(|attempt| {
        let ended = attempt.ended;
        ended.is_some_and(|(_, ended)| ended.landing != Landing::None)
    });
    match taken_up {
        Some(attempt) => over_this(story, slot, &attempt, Class::Unavailable, "could not serve"),
        None => by_tool(story, slot, Class::Unavailable),
    }
}

/// A tool that failed over a call which it took up.
fn over_this(
    story: &Story<'_>,
    slot: &Slot,
    attempt: &Attempted<'_>,
    class: Class,
    did: &str,
) -> CauseFound {
    let sentence = format!("step `{slot}`: the tool {did}");
    let ended = end_of(Some(*attempt));
    match argument(story, attempt) {
        Argument::TakesNone => CauseFound::proven(EITHER, class.word(), sentence).by(ended),
        Argument::Served => {
            let sentence = format!("{sentence}, and the same call was answered before");
            CauseFound::witnessed(EITHER, class.word(), sentence).by(ended)
        }
        Argument::Unknown => CauseFound::resting(EITHER, class.word(), sentence, PREMISE).by(ended),
        Argument::Alone => {
            let sentence = format!("{sentence}, and others are answered");
            let mut candidates = of_service(slot);
            candidates.extend(choosers(story, slot));
            undecided(story, slot, sentence, candidates)
        }
    }
}

/// No answer in time: in that of the tool's own entry, or in the less that the plan gives it.
pub(super) fn timeout(story: &Story<'_>, slot: &Slot) -> CauseFound {
    let attempt = story.last_attempt(slot);
    if let (Some(attempt), Some(ms)) = (attempt, allowed_by_plan(story, slot)) {
        if story.evidence.all_took_longer(attempt.started, ms) {
            let sentence = format!(
                "the plan gives step `{slot}` {ms} ms, and every known call of `{}` that ended \
                 well took longer",
                attempt.started.operation
            );
            let whom = (Guilty::Plan, Party::Planner);
            let premise = "that a call takes as long as others did";
            return CauseFound::resting(whom, "too_little_time", sentence, premise)
                .by(Some(attempt.began));
        }
        let sentence = format!("step `{slot}` did not end in the {ms} ms that the plan gives it");
        let step = Some(slot.step.clone());
        let short = format!("the time that the plan gives `{slot}`");
        let mut candidates = vec![possible((Guilty::Plan, Party::Planner), step, short)];
        candidates.extend(of_service(slot));
        return undecided(story, slot, sentence, candidates);
    }
    let late = "the tool did not answer in the time that its own entry gives it";
    let sentence = format!("step `{slot}`: {late}");
    let free = attempt.is_none_or(|attempt| takes_nothing(attempt.started));
    let found = match free {
        true => CauseFound::proven(EITHER, "timeout", sentence),
        false => CauseFound::resting(EITHER, "timeout", sentence, PREMISE),
    };
    found.by(end_of(attempt))
}

/// The milliseconds that the plan allows the last attempt of a slot, if it narrows them.
fn allowed_by_plan(story: &Story<'_>, slot: &Slot) -> Option<u64> {
    let attempt = story.last_attempt(slot)?;
    let planned = story
        .plan_of(&slot.step)
        .and_then(|(_, plan, _)| plan.step(&slot.step)?.timeout);
    let allowed = attempt.started.timeout_ms;
    // Why the second: an old journal does not say, and a plan that gives no time narrows none.
    let narrowed = attempt.started.narrowed || allowed.is_none() && planned.is_some();
    let ms = allowed.or_else(|| planned.and_then(|time| u64::try_from(time.as_millis()).ok()));
    narrowed.then(|| ms.unwrap_or(u64::MAX))
}

/// The tool asked for a slower pace: that of the plan, where it polls or goes over a list.
pub(super) fn rate_limited(story: &Story<'_>, slot: &Slot) -> CauseFound {
    let sentence = format!("step `{slot}`: the tool asked for a slower pace to the end");
    let polls = story.plan_of(&slot.step).is_some_and(|(_, plan, _)| {
        let step = plan.step(&slot.step);
        step.is_some_and(|step| step.until.is_some())
    });
    let ended = end_of(story.last_attempt(slot));
    if !polls && slot.item.is_none() {
        return CauseFound::proven(EITHER, Class::RateLimited.word(), sentence).by(ended);
    }
    let step = Some(slot.step.clone());
    let pace = format!("the pace that the plan sets at `{slot}`");
    let mut candidates = vec![possible((Guilty::Plan, Party::Planner), step, pace)];
    candidates.extend(of_service(slot));
    undecided(story, slot, sentence, candidates)
}

/// An answer out of form: by the operator's schema, by the entry's limits, or by what the plan
/// expects.
pub(super) fn output_invalid(story: &Story<'_>, slot: &Slot) -> CauseFound {
    let step = story
        .plan_of(&slot.step)
        .and_then(|(_, plan, _)| plan.step(&slot.step));
    let expects = step.is_some_and(|step| step.expect.is_some());
    let Some(attempt) = story.last_attempt(slot) else {
        return by_tool(story, slot, Class::OutputInvalid);
    };
    let said = attempt
        .ended
        .and_then(|(_, ended)| ended.message.as_deref());
    let did = match said {
        Some(said) => format!("gave no answer that fits: {said}"),
        None => "gave no answer that fits".to_owned(),
    };
    let compared = attempt
        .ended
        .is_none_or(|(_, ended)| !ended.is_without_bytes());
    if expects || !compared && !takes_nothing(attempt.started) {
        let at = Some(slot.step.clone());
        let whom = (Guilty::Plan, Party::Planner);
        let mut candidates = choosers(story, slot);
        if expects {
            candidates.insert(0, possible(whom, at, format!("what `{slot}` expects")));
        }
        candidates.extend(of_service(slot));
        let sentence = format!("step `{slot}`: the tool {did}");
        return undecided(story, slot, sentence, candidates);
    }
    over_this(story, slot, &attempt, Class::OutputInvalid, &did)
}

/// An open verdict at a slot with these candidates, and all that fed its arguments.
fn undecided(
    story: &Story<'_>,
    slot: &Slot,
    sentence: String,
    candidates: Vec<PossibleCause>,
) -> CauseFound {
    let mut found = CauseFound::open(sentence, candidates).at(slot);
    found.would_decide = would_decide(story);
    found.not_looked_at = vec![story.evidence.looked()];
    found
}

fn end_of(attempt: Option<Attempted<'_>>) -> Option<u64> {
    attempt
        .and_then(|attempt| attempt.ended)
        .map(|(seq, _)| seq)
}
