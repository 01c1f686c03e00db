//! What a run changed, beside what was to be changed.
//!
//! Owns what a difference speaks against. Compares nothing itself: whoever has the expectations
//! does. INVARIANT: the plan is to blame only for what it wrote itself and put under no condition;
//! what rests on answers of steps is open.

use std::collections::BTreeSet;

use super::failure::{possible, source};
use super::found::CauseFound;
use super::origin::{LeafOrigin, origins_among, seen_before, steps_of};
use super::story::Story;
use super::witness::Witnesses;
use super::{Certainty, Guilty, Judgment, Party, worded};
use crate::call::Slot;
use crate::event::Event;
use crate::outcome::Class;
use crate::state::Waiting;

/// How the effects of a run and those that were expected differ.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EffectsCompared {
    /// Operations that were to be called and were not.
    pub missing: Vec<String>,
    /// Calls that were made and were not expected.
    pub besides: Vec<EffectBesides>,
    /// Calls that were expected and made, and did not take place as far as anybody knows.
    pub unlanded: Vec<Slot>,
}

/// A call that was not expected.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EffectBesides {
    /// Its step and item.
    pub slot: Slot,
    /// What was called.
    pub operation: String,
    /// The arguments in which it differs from a call of the operation that is missing; none if no
    /// such call is.
    pub differs: Option<BTreeSet<String>>,
}

/// The verdict of a journal beside what was to be changed.
#[must_use]
pub fn against_effects(
    events: &[(Event, i64)],
    waits: &[Waiting],
    compared: &EffectsCompared,
) -> Judgment {
    let none = Witnesses::default();
    let story = Story::of(events, &none);
    let mut alone = super::ending::judged(&story, waits);
    if let Some(found) = departed(&story, &alone, compared) {
        return worded(&story, found);
    }
    if compared.missing.is_empty() && compared.unlanded.is_empty() {
        let same = "anything else: what it changed is what the case expects";
        alone.not_looked_at.push(same.to_owned());
    }
    worded(&story, alone)
}

fn referenced(whom: (Guilty, Party), cause: &'static str, text: &str) -> CauseFound {
    let sentence = format!("beside the effects that the case expects: {text}");
    CauseFound::decided(whom, cause, Certainty::Referenced, sentence)
}

fn departed(
    story: &Story<'_>,
    alone: &CauseFound,
    compared: &EffectsCompared,
) -> Option<CauseFound> {
    if let Some(first) = compared.besides.first() {
        let began = story.last_attempt(&first.slot).map(|one| one.began);
        let found = besides(story, first, !compared.missing.is_empty());
        return Some(found.at(&first.slot).by(began));
    }
    // Why not otherwise: what kept the others from being made is known.
    if !matches!(alone.guilty, Guilty::Nobody | Guilty::Undecided) {
        return None;
    }
    if let Some(slot) = compared.unlanded.first() {
        let ended = story.last_attempt(slot).and_then(|one| one.ended);
        // Why: a refusal may be right about a world, or a goal, which the case does not hold.
        if ended.is_some_and(|(_, ended)| refuses(ended.class)) {
            return None;
        }
        let text = format!("the call of step `{slot}` was made and did not take place");
        let whom = (Guilty::Execution, Party::Tool);
        let found = referenced(whom, "no_effect", &text).at(slot);
        return Some(found.by(ended.map(|(seq, _)| seq)));
    }
    let (checked, plan, _) = story.last_plan()?;
    let has = |operation: &String| plan.steps.iter().any(|step| calls(step, operation));
    let missing = compared.missing.iter().find(|operation| !has(operation))?;
    let text = format!("no step of the plan calls `{missing}`");
    let found = referenced((Guilty::Plan, Party::Planner), "missing_step", &text);
    Some(found.by(Some(checked)))
}

/// Whether a class says that a tool would not do what it was asked.
fn refuses(class: Class) -> bool {
    matches!(
        class,
        Class::InvalidArguments | Class::NotFound | Class::Conflict | Class::PermissionDenied
    )
}

fn calls(step: &provost_plan::plan::Step, operation: &str) -> bool {
    step.tools().any(|tool| tool.value == *operation)
}

fn besides(story: &Story<'_>, call: &EffectBesides, some_missing: bool) -> CauseFound {
    let (operation, slot) = (&call.operation, &call.slot);
    let planned = story.plan_of(&slot.step);
    let step = planned.and_then(|(_, plan, _)| plan.step(&slot.step));
    let is_conditional = step.is_none_or(|step| step.when.is_some() || step.for_each.is_some());
    let Some(names) = &call.differs else {
        let text = format!("step `{slot}` calls `{operation}`, which is not expected");
        if is_conditional {
            return open(story, slot, &text, &[]);
        }
        let cause = if some_missing {
            "wrong_tool"
        } else {
            "unneeded"
        };
        return referenced((Guilty::Plan, Party::Planner), cause, &text);
    };
    let listed: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
    let listed = listed.join(", ");
    let text = format!("step `{slot}` calls `{operation}` with another {listed}");
    let from = origins_among(story, slot, names).unwrap_or_default();
    let seen = seen_before(story, &slot.step);
    if from.contains(&LeafOrigin::Literal) && !seen.is_empty() {
        // Why: what it wrote may be what it was shown.
        let seen: Vec<&str> = seen.iter().map(String::as_str).collect();
        return open(story, slot, &text, &seen);
    }
    let mut kinds = from.iter();
    let (whom, cause) = match (kinds.next(), kinds.next(), is_conditional) {
        (Some(LeafOrigin::Literal), None, false) => {
            ((Guilty::Plan, Party::Planner), "wrong_target")
        }
        (Some(LeafOrigin::Goal), None, false) => ((Guilty::Neither, Party::Goal), "goal"),
        (Some(LeafOrigin::Answer), None, false) => {
            ((Guilty::Neither, Party::Person), "answered_wrong")
        }
        (Some(LeafOrigin::Amended), None, false) => {
            ((Guilty::Neither, Party::Person), "amended_wrong")
        }
        _ => return open(story, slot, &text, &steps_of(&from)),
    };
    referenced(whom, cause, &text)
}

/// What the plan wrote is not all it rests on.
fn open(story: &Story<'_>, slot: &Slot, text: &str, steps: &[&str]) -> CauseFound {
    let whom = (Guilty::Plan, Party::Planner);
    let said = "what the plan calls, and under which condition".to_owned();
    let mut candidates = vec![possible(whom, Some(slot.step.clone()), said)];
    if let Some((_, _, record)) = story.plan_of(&slot.step) {
        let sources = steps
            .iter()
            .map(|id| source(story, record, (*id).to_owned()));
        candidates.extend(sources);
    }
    let sentence = format!("beside the effects that the case expects: {text}");
    CauseFound::open(sentence, candidates)
}
