//! Calls that are refused: the account may not, the arguments do not do, or nothing is there.
//!
//! Owns the rules of those classes, and who may have chosen what a call was made of. INVARIANT: a
//! tool that refuses a write may be right about a world that somebody changed, so no earlier call
//! witnesses against it or against the plan.

use std::collections::BTreeSet;

use serde_json::Value;

use super::failure::{open, possible, sources};
use super::found::CauseFound;
use super::origin::{LeafOrigin, is_part, origins, origins_among, seen_before};
use super::story::{Attempted, Story};
use super::{Guilty, Party, PossibleCause};
use crate::call::Slot;
use crate::event::{AttemptStarted, Event};
use crate::outcome::Landing;
use crate::read::words::listed;
use crate::shown;

/// Whether a call takes no argument.
pub(super) fn takes_nothing(started: &AttemptStarted) -> bool {
    match shown::started_args(started) {
        Value::Null => true,
        Value::Object(args) => args.is_empty(),
        _ => false,
    }
}

/// Who may have chosen what a call was made of, the nearest first.
pub(super) fn choosers(story: &Story<'_>, slot: &Slot) -> Vec<PossibleCause> {
    let from = origins(story, slot).unwrap_or_default();
    let at = || Some(slot.step.clone());
    let plan = format!("what the plan wrote at `{slot}`");
    let mut found = vec![possible((Guilty::Plan, Party::Planner), at(), plan)];
    let person = (Guilty::Neither, Party::Person);
    if from.contains(&LeafOrigin::Amended) {
        let text = format!("what a person wrote at `{slot}`");
        found.insert(0, possible(person, at(), text));
    }
    let (any_goal, answered) = (
        from.contains(&LeafOrigin::Goal),
        from.contains(&LeafOrigin::Answer),
    );
    if any_goal {
        let text = "what the goal asks for".to_owned();
        found.push(possible((Guilty::Neither, Party::Goal), None, text));
    }
    if any_goal && story.amended_goal().is_some() {
        let text = "the goal as a person amended it".to_owned();
        found.push(possible(person, None, text));
    }
    if answered || any_goal && story.answers() > 0 {
        found.push(possible(person, None, "what a person answered".to_owned()));
    }
    if let Some((_, _, record)) = story.plan_of(&slot.step) {
        found.extend(sources(story, record, &slot.step));
    }
    found
}

/// The tool and its entry, as candidates.
pub(super) fn of_service(slot: &Slot) -> Vec<PossibleCause> {
    let step = Some(slot.step.clone());
    let tool = format!("what the tool of `{slot}` answered");
    let entry = format!("the operator's entry or account for the tool of `{slot}`");
    vec![
        possible((Guilty::Execution, Party::Tool), step.clone(), tool),
        possible((Guilty::Execution, Party::Operator), step, entry),
    ]
}

/// A refusal that nothing decides: who chose, what changed outside, the tool, the operator.
fn refused(story: &Story<'_>, slot: &Slot, sentence: String) -> CauseFound {
    let mut found = open(story, slot, sentence, &[]);
    found.candidates = choosers(story, slot);
    let moved = format!("what changed outside before `{slot}`");
    let world = (Guilty::Neither, Party::World);
    let at = Some(slot.step.clone());
    found.candidates.push(possible(world, at, moved));
    found.candidates.extend(of_service(slot));
    found
}

/// What its adapter never takes, whatever the world is like: whoever gave it is to blame. Why open
/// of what the goal or an answer says: the plan may have put it where it does not belong.
fn refused_here(story: &Story<'_>, slot: &Slot, attempt: &Attempted<'_>) -> Option<CauseFound> {
    let (seq, ended) = attempt.ended?;
    let names: BTreeSet<String> = ended.refused_args.iter().cloned().collect();
    if names.is_empty() || ended.landing != Landing::None {
        return None;
    }
    let from = origins_among(story, slot, &names).unwrap_or_default();
    let alone = from.first().filter(|_| from.len() == 1);
    let person = (Guilty::Neither, Party::Person);
    let named = match alone {
        Some(LeafOrigin::Literal) if seen_before(story, &slot.step).is_empty() => {
            let plan = (Guilty::Plan, Party::Planner);
            Some((plan, "bad_arguments", "the plan wrote it"))
        }
        Some(LeafOrigin::Amended) => Some((person, "amended_wrong", "a person wrote it")),
        _ => None,
    };
    let sentence = format!(
        "no call of `{}` may have the {} of step `{slot}`",
        attempt.started.operation,
        listed(&names)
    );
    if let Some((whom, cause, who)) = named {
        let found = CauseFound::proven(whom, cause, format!("{sentence}, and {who}"));
        return Some(found.by(Some(seq)));
    }
    let mut found = refused(story, slot, sentence);
    // Why: nobody asked the tool, and nothing outside was looked at.
    let asked = |one: &PossibleCause| {
        one.party == Party::World
            || one.party == Party::Tool && one.step.as_ref() == Some(&slot.step)
    };
    found.candidates.retain(|one| !asked(one));
    Some(found)
}

/// The tool denies: the account all that it may ask for, or this one thing.
pub(super) fn permission_denied(story: &Story<'_>, slot: &Slot) -> CauseFound {
    let whom = (Guilty::Execution, Party::Operator);
    let denied = |text: &str| format!("step `{slot}`: the tool denies {text}");
    let account = || denied("the operator's account");
    let Some(attempt) = story.last_attempt(slot) else {
        return refused(story, slot, denied("it"));
    };
    if let Some(found) = refused_here(story, slot, &attempt) {
        return found;
    }
    let ended = attempt.ended.map(|(seq, _)| seq);
    let is_none = |attempt: &Attempted<'_>| {
        let ended = attempt.ended;
        ended.is_none_or(|(_, ended)| ended.landing == Landing::None)
    };
    if is_none(&attempt) && takes_nothing(attempt.started) {
        return CauseFound::proven(whom, "permission_denied", account()).by(ended);
    }
    if is_none(&attempt) && story.evidence.denied_all(attempt.started) {
        let sentence = format!("{}, also with other arguments", account());
        let premise = "that something of this may be had";
        return CauseFound::resting(whom, "permission_denied", sentence, premise).by(ended);
    }
    let sentence = denied("what it was asked for, or the operator's account");
    let mut found = refused(story, slot, sentence);
    if let Some(at) = found
        .candidates
        .iter()
        .position(|one| one.party == Party::Operator)
    {
        let operator = found.candidates.remove(at);
        found.candidates.insert(0, operator);
    }
    found
}

/// Arguments that do not fit: seen before sending, or by the tool.
pub(super) fn invalid_arguments(story: &Story<'_>, slot: &Slot) -> CauseFound {
    let from = origins(story, slot);
    let Some(attempt) = story.last_attempt(slot) else {
        let sentence = format!("the arguments of step `{slot}` do not fit its tool");
        let answered = from.is_some_and(|from| {
            let made = |leaf: &LeafOrigin| !matches!(leaf, LeafOrigin::Literal);
            let mut made = from.iter().filter(|leaf| made(leaf)).peekable();
            made.peek().is_some() && made.all(|leaf| *leaf == LeafOrigin::Answer)
        });
        // Why one: of several the plan chose which goes where.
        if answered && story.answers() == 1 {
            let sentence = format!("{sentence}: a person answered what it was made of");
            let whom = (Guilty::Neither, Party::Person);
            return CauseFound::proven(whom, "answered_wrong", sentence).by(story.last_answer());
        }
        return open(story, slot, sentence, &[Guilty::Plan]);
    };
    if let Some(found) = refused_here(story, slot, &attempt) {
        return found;
    }
    let ended = attempt.ended.map(|(seq, _)| seq);
    let operation = &attempt.started.operation;
    if story.evidence.same(attempt.started, attempt.at) {
        let sentence = format!("`{operation}` refuses arguments that it took before");
        let whom = (Guilty::Execution, Party::Tool);
        return CauseFound::witnessed(whom, "tool_changed", sentence).by(ended);
    }
    let literal = from.is_some_and(|from| from.iter().all(|leaf| *leaf == LeafOrigin::Literal));
    if literal && attempt.started.read && story.evidence.other(attempt.started, attempt.at) {
        let sentence = format!("`{operation}` refuses what the plan wrote, and takes others");
        let whom = (Guilty::Plan, Party::Planner);
        return CauseFound::witnessed(whom, "bad_arguments", sentence).by(ended);
    }
    let sentence = format!("`{operation}` refuses the arguments of step `{slot}`");
    refused(story, slot, sentence)
}

/// What was named is not there, as its tool says.
pub(super) fn not_found(story: &Story<'_>, slot: &Slot) -> CauseFound {
    let sentence = format!("what step `{slot}` names is not there, as its tool says");
    let Some(attempt) = story.last_attempt(slot) else {
        return refused(story, slot, sentence);
    };
    let ended = attempt.ended.map(|(seq, _)| seq);
    if story.evidence.same(attempt.started, attempt.at) {
        let sentence = format!("{sentence}, and the same call found it before");
        let mut found = refused(story, slot, sentence);
        // Why: who chose it chose what was there.
        let outside =
            |one: &PossibleCause| one.party == Party::World || one.guilty == Guilty::Execution;
        found.candidates.retain(outside);
        return found;
    }
    let from = origins(story, slot).unwrap_or_default();
    let only = from.first().filter(|_| from.len() == 1);
    let only = only.filter(|_| story.evidence.other(attempt.started, attempt.at));
    let named = only.and_then(|only| namer(story, slot, only));
    match named {
        Some((whom, cause, who)) => {
            let sentence = format!("{sentence}: {who} names it, and others are found");
            CauseFound::witnessed(whom, cause, sentence).by(ended)
        }
        None => refused(story, slot, sentence),
    }
}

type Namer = ((Guilty, Party), &'static str, &'static str);

/// Who named the one thing that a call was made of; none where the plan chose among what it had.
fn namer(story: &Story<'_>, slot: &Slot, only: &LeafOrigin) -> Option<Namer> {
    let person = (Guilty::Neither, Party::Person);
    match only {
        LeafOrigin::Goal if story.amended_goal().is_some() => {
            Some((person, "amended_wrong", "a person's amendment of the goal"))
        }
        LeafOrigin::Goal if !chosen_from_goal(story, slot) => {
            Some(((Guilty::Neither, Party::Goal), "goal", "the goal"))
        }
        LeafOrigin::Answer if story.answers() == 1 => {
            Some((person, "answered_wrong", "a person's answer"))
        }
        LeafOrigin::Amended => Some((person, "amended_wrong", "a person's amendment")),
        LeafOrigin::Literal => Some(((Guilty::Plan, Party::Planner), "names_nothing", "the plan")),
        LeafOrigin::Goal | LeafOrigin::Answer | LeafOrigin::Step(_) => None,
    }
}

/// Whether the goal's text has another word of the same form as one that the call was given: then
/// the plan chose which of them is meant, and a parameter that a person was asked for is not the
/// goal's at all.
fn chosen_from_goal(story: &Story<'_>, slot: &Slot) -> bool {
    let Some(goal) = story.goal() else {
        return true;
    };
    let form = |word: &str| -> String {
        let of = |c: char| match c {
            c if c.is_ascii_digit() => '9',
            c if c.is_alphabetic() => 'a',
            c => c,
        };
        word.chars().map(of).collect()
    };
    // Why also by spaces: an address or a path is one word of a goal.
    let spaced = goal.text.split_whitespace();
    let spaced = spaced.map(|word| word.trim_matches(|c: char| !c.is_alphanumeric()));
    let words: BTreeSet<&str> = goal.text.split(|c| !is_part(c)).chain(spaced).collect();
    let Some(attempt) = story.last_attempt(slot) else {
        return true;
    };
    let args = shown::started_args(attempt.started);
    let given = args.as_object().into_iter().flatten();
    let given: Vec<String> = given
        .map(|(_, value)| match value {
            Value::String(text) => text.clone(),
            other => other.to_string(),
        })
        .collect();
    let asked = story.numbered().any(|(_, event)| {
        matches!(event, Event::QuestionAnswered { value, .. }
            if given.iter().any(|text| value.as_str() == Some(text)))
    });
    let rival = |text: &String| {
        let alike = words.iter().filter(|word| form(word) == form(text));
        words.contains(text.as_str()) && alike.count() > 1
    };
    asked || given.iter().any(rival)
}
