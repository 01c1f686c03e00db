//! The first difference of a run from one that is right.
//!
//! Owns the comparison of two journals, in the order of the one that is judged. INVARIANT: the run
//! that is right saw the same world; where that is not so, it is no reference.

use std::collections::{BTreeMap, BTreeSet};

use provost_plan::digest::Digest;
use serde_json::Value;

use super::failure::{possible, would_decide};
use super::found::CauseFound;
use super::relevant::Relevant;
use super::story::Story;
use super::witness::Witnesses;
use super::{Certainty, Guilty, Judgment, Party, worded};
use crate::call::Slot;
use crate::event::{AttemptEnded, AttemptStarted, Event, RunCreated, SettledBy};
use crate::outcome::Class;
use crate::shown::{observed, result};
use crate::state::Waiting;

/// A call that ended, as another run can be compared with it.
type ComparedCall<'e> = (&'e str, Digest, usize);

/// What a run that is right says of each thing that can differ.
#[derive(Default)]
struct RightRun<'e> {
    created: Option<&'e RunCreated>,
    plans: Vec<&'e Value>,
    tools: BTreeMap<&'e str, Digest>,
    policy: Option<Digest>,
    answers: BTreeMap<ComparedCall<'e>, (Class, Option<&'e Event>)>,
    writers: BTreeSet<&'e str>,
    words: Vec<String>,
}

/// The verdict of a journal beside the journal of a run that is right.
#[must_use]
pub fn against(events: &[(Event, i64)], waits: &[Waiting], right: &[(Event, i64)]) -> Judgment {
    let none = Witnesses::default();
    let story = Story::of(events, &none);
    let alone = super::ending::judged(&story, waits);
    if alone.guilty == Guilty::Nobody {
        return worded(&story, alone);
    }
    match departure(&story, events, right) {
        Some(found) => worded(&story, found),
        None => {
            let mut same = alone;
            same.not_looked_at
                .push("anything else: it does not depart from the run that is right".to_owned());
            worded(&story, same)
        }
    }
}

fn referenced(whom: (Guilty, Party), cause: &'static str, text: &str) -> CauseFound {
    let sentence = format!("the first difference from the run that is right: {text}");
    CauseFound::decided(whom, cause, Certainty::Referenced, sentence)
}

/// Follows the calls of a journal: what each was, and how often it was made before.
#[derive(Default)]
struct Calls<'e> {
    open: BTreeMap<(&'e Slot, u32), &'e AttemptStarted>,
    counts: BTreeMap<(&'e str, Digest), usize>,
    last: BTreeMap<&'e Slot, ComparedCall<'e>>,
}

impl<'e> Calls<'e> {
    fn begins(&mut self, started: &'e AttemptStarted) {
        self.open.insert((&started.slot, started.attempt), started);
    }

    fn ends(&mut self, ended: &'e AttemptEnded) -> Option<ComparedCall<'e>> {
        let started = self.open.remove(&(&ended.slot, ended.attempt))?;
        let call = (started.operation.as_str(), started.args_digest);
        let count = self.counts.entry(call).or_default();
        let key = (call.0, call.1, *count);
        *count += 1;
        self.last.insert(&ended.slot, key);
        Some(key)
    }
}

impl<'e> RightRun<'e> {
    fn of(events: &'e [(Event, i64)]) -> Self {
        let mut known = Self::default();
        let mut calls = Calls::default();
        for (event, _) in events {
            match event {
                Event::RunCreated(created) => known.created = Some(created),
                Event::PlanChecked {
                    document, record, ..
                } => {
                    known.plans.push(document);
                    known.policy = Some(record.terms.policy);
                    let tools = record.terms.tools.iter();
                    known
                        .tools
                        .extend(tools.map(|(name, digest)| (name.as_str(), *digest)));
                }
                Event::AttemptStarted(started) => {
                    if !started.read {
                        known.writers.insert(&started.slot.step);
                    }
                    calls.begins(started);
                }
                Event::AttemptEnded(ended) => {
                    if let Some(key) = calls.ends(ended) {
                        known.answers.insert(key, (ended.class, None));
                    }
                }
                other => match observed(other) {
                    Some((slot, _)) => {
                        if let Some(key) = calls.last.get(slot) {
                            known.answers.insert(*key, (Class::Ok, Some(other)));
                        }
                    }
                    None => known.words.extend(person(other)),
                },
            }
        }
        known
    }
}

/// What a person said, without digests and moments.
fn person(event: &Event) -> Option<String> {
    Some(match event {
        Event::ApprovalGiven { steps, .. } => format!("yes {steps:?}"),
        Event::ApprovalRejected { .. } => "no".to_owned(),
        Event::ApprovalExpired { .. } => "silence".to_owned(),
        Event::QuestionAnswered { value, .. } => format!("answer {value}"),
        Event::QuestionExpired { .. } => "no answer".to_owned(),
        Event::CancelRequested { .. } => "cancel".to_owned(),
        Event::PlanAmended { text, .. } => format!("plan {text}"),
        Event::GoalAmended { goal, .. } => format!("goal {}", goal.text),
        _ => return None,
    })
}

/// The first difference that can explain the end. Why not any: an answer that nothing read, or a
/// step that nothing rests on, changed nothing.
fn departure(
    story: &Story<'_>,
    events: &[(Event, i64)],
    right: &[(Event, i64)],
) -> Option<CauseFound> {
    let known = RightRun::of(right);
    let relevant = Relevant::of(story);
    let settled = settled(events);
    let mut calls = Calls::default();
    let (mut plans, mut said) = (0, 0);
    for ((event, _), seq) in events.iter().zip(1..) {
        let found = match event {
            Event::RunCreated(created) => other_beginning(created, known.created?),
            Event::PlanChecked {
                document, record, ..
            } => {
                let found = moved(&known, record.terms.policy, &record.terms.tools).or_else(|| {
                    other_plan(&known, document, known.plans.get(plans).copied(), &relevant)
                });
                plans += 1;
                found
            }
            Event::PlanRefused { .. } => Some(referenced(
                (Guilty::Plan, Party::Planner),
                "does_not_compile",
                "a proposal failed the check",
            )),
            Event::AttemptStarted(started) => {
                calls.begins(started);
                None
            }
            Event::AttemptEnded(ended) => {
                let key = calls.ends(ended);
                let matters = relevant.has(&ended.slot.step);
                // Why not of what a person settled: what they said stands in its place.
                let key = key.filter(|_| matters && !settled.contains_key(&ended.slot));
                key.and_then(|key| other_answer(&known, key, ended))
            }
            Event::ObservationMade { slot, .. } if relevant.has(&slot.step) => {
                let key = calls.last.get(slot).copied();
                key.and_then(|key| observed_otherwise(&known, key, (slot, event), &relevant))
            }
            other => person(other).and_then(|words| {
                let found = known.words.get(said) != Some(&words);
                said += 1;
                found.then(|| {
                    let whom = (Guilty::Neither, Party::Person);
                    referenced(whom, "said_otherwise", "what a person said")
                })
            }),
        };
        if let Some(found) = found {
            let before = settled.iter().find(|(_, at)| **at < seq);
            return Some(match before {
                Some((slot, _)) if found.guilty == Guilty::Execution => {
                    settled_before(story, slot, &found).by(Some(seq))
                }
                _ => found.by(Some(seq)),
            });
        }
    }
    None
}

/// The doubts that persons settled, and where they did last.
fn settled(events: &[(Event, i64)]) -> BTreeMap<&Slot, u64> {
    let settled = events
        .iter()
        .zip(1..)
        .filter_map(|((event, _), seq)| match event {
            Event::DoubtSettled {
                slot,
                by: SettledBy::Person { .. },
                ..
            } => Some((slot, seq)),
            _ => None,
        });
    settled.collect()
}

/// Another answer after a person said what became of a doubt: either may be untrue.
fn settled_before(story: &Story<'_>, slot: &Slot, found: &CauseFound) -> CauseFound {
    let text = format!("how a person settled the doubt of `{slot}`");
    let person = (Guilty::Neither, Party::Person);
    let mut candidates = vec![possible(person, Some(slot.step.clone()), text)];
    let step = found.slot.as_ref().map(|slot| slot.step.clone());
    let tool = (found.guilty, found.party.unwrap_or(Party::Tool));
    candidates.push(possible(tool, step, found.sentence.clone()));
    let sentence = format!(
        "{}, after a person settled the doubt of `{slot}`",
        found.sentence
    );
    let mut open = CauseFound::open(sentence, candidates);
    open.would_decide = would_decide(story);
    match &found.slot {
        Some(slot) => open.at(slot),
        None => open,
    }
}

fn other_beginning(created: &RunCreated, right: &RunCreated) -> Option<CauseFound> {
    let goal = |created: &RunCreated| (created.goal.text.clone(), created.goal.params.clone());
    if goal(created) != goal(right) {
        let whom = (Guilty::Neither, Party::Goal);
        return Some(referenced(whom, "goal", "the goal"));
    }
    (created.limits != right.limits).then(|| {
        let whom = (Guilty::Neither, Party::Operator);
        referenced(whom, "limit_too_low", "the limits")
    })
}

fn moved(
    known: &RightRun<'_>,
    policy: Digest,
    tools: &BTreeMap<String, Digest>,
) -> Option<CauseFound> {
    let whom = (Guilty::Neither, Party::Operator);
    if known.policy.is_some_and(|right| right != policy) {
        return Some(referenced(whom, "policy_moved", "the policy"));
    }
    let other = tools.iter().find(|(name, digest)| {
        let right = known.tools.get(name.as_str());
        right.is_some_and(|right| right != *digest)
    });
    other.map(|(name, _)| referenced(whom, "entry_moved", &format!("the entry of `{name}`")))
}

fn other_plan(
    known: &RightRun<'_>,
    document: &Value,
    right: Option<&Value>,
    relevant: &Relevant,
) -> Option<CauseFound> {
    let whom = (Guilty::Plan, Party::Planner);
    let Some(right) = right else {
        return Some(referenced(
            whom,
            "other_plan",
            "a revision that it did not need",
        ));
    };
    let (here, there) = (steps_of(document), steps_of(right));
    let matters = |id: &&&str| match here.contains_key(**id) {
        true => relevant.has(id),
        // Why those: what another plan reads besides changes nothing.
        false => known.writers.contains(**id),
    };
    // Why by what it holds: another id is no other step.
    let differs = |id: &&&str| match (here.get(**id), there.get(**id)) {
        (Some(step), None) => !there.values().any(|other| other == step),
        (None, Some(step)) => !here.values().any(|other| other == step),
        (one, other) => one != other,
    };
    let all = here.keys().chain(there.keys());
    let first = all.filter(matters).find(differs);
    if let Some(id) = first {
        let found = referenced(whom, "other_plan", &format!("the plan, at step `{id}`"));
        return Some(found.at(&Slot {
            step: (*id).to_owned(),
            item: None,
        }));
    }
    let besides = relevant.proofs && document.get("success") != right.get("success");
    besides.then(|| referenced(whom, "other_plan", "the plan, outside its steps"))
}

/// What the steps of a plan do, by id: without their order, their ids and what they say of
/// themselves.
fn steps_of(document: &Value) -> BTreeMap<&str, Value> {
    let steps = document.get("steps").and_then(Value::as_array);
    let named = steps.into_iter().flatten().filter_map(|step| {
        let mut does = step.clone();
        if let Some(fields) = does.as_object_mut() {
            for name in ["id", "needs", "description"] {
                fields.remove(name);
            }
        }
        Some((step.get("id")?.as_str()?, does))
    });
    named.collect()
}

fn other_answer(
    known: &RightRun<'_>,
    key: ComparedCall<'_>,
    ended: &AttemptEnded,
) -> Option<CauseFound> {
    let (class, _) = known.answers.get(&key)?;
    if *class == ended.class {
        return None;
    }
    let (party, cause) = match ended.lost {
        true => (Party::Host, "lost"),
        false => (Party::Tool, "other_answer"),
    };
    let text = format!("what `{}` answered at step `{}`", key.0, ended.slot);
    Some(referenced((Guilty::Execution, party), cause, &text).at(&ended.slot))
}

fn observed_otherwise(
    known: &RightRun<'_>,
    key: ComparedCall<'_>,
    (slot, event): (&Slot, &Event),
    relevant: &Relevant,
) -> Option<CauseFound> {
    let (_, right) = known.answers.get(&key)?;
    let right = (*right)?;
    if observed(event)?.1 == observed(right)?.1 {
        return None;
    }
    // Why not of a secret: nothing reads it here.
    if let (Some((_, _, Some(here))), Some((_, _, Some(there)))) = (result(event), result(right))
        && relevant.part(&slot.step, here) == relevant.part(&slot.step, there)
    {
        return None;
    }
    let text = format!("what `{}` answered at step `{slot}`", key.0);
    let whom = (Guilty::Execution, Party::Tool);
    Some(referenced(whom, "other_answer", &text).at(slot))
}
