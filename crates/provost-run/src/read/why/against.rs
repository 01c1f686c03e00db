//! The first difference of a run from one that is right.
//!
//! Owns the comparison of two journals, in the order of the one that is judged. INVARIANT: the run
//! that is right saw the same world; where that is not so, it is no reference.

use std::collections::BTreeMap;

use provost_plan::digest::Digest;
use serde_json::Value;

use super::found::CauseFound;
use super::story::Story;
use super::witness::Witnesses;
use super::{Certainty, Guilty, Judgment, Party, worded};
use crate::call::Slot;
use crate::event::{AttemptEnded, AttemptStarted, Event, RunCreated};
use crate::outcome::Class;
use crate::shown::observed;
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
    answers: BTreeMap<ComparedCall<'e>, (Class, Option<Digest>)>,
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
    match departure(events, right) {
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
                Event::AttemptStarted(started) => calls.begins(started),
                Event::AttemptEnded(ended) => {
                    if let Some(key) = calls.ends(ended) {
                        known.answers.insert(key, (ended.class, None));
                    }
                }
                other => match observed(other) {
                    Some((slot, output)) => {
                        if let Some(key) = calls.last.get(slot) {
                            known.answers.insert(*key, (Class::Ok, Some(output)));
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

fn departure(events: &[(Event, i64)], right: &[(Event, i64)]) -> Option<CauseFound> {
    let known = RightRun::of(right);
    let mut calls = Calls::default();
    let (mut plans, mut said) = (0, 0);
    for ((event, _), seq) in events.iter().zip(1..) {
        let found = match event {
            Event::RunCreated(created) => other_beginning(created, known.created?),
            Event::PlanChecked {
                document, record, ..
            } => {
                let found = moved(&known, record.terms.policy, &record.terms.tools)
                    .or_else(|| other_plan(document, known.plans.get(plans).copied()));
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
                key.and_then(|key| other_answer(&known, key, ended, None))
            }
            Event::ObservationMade { .. } => observed(event).and_then(|(slot, output)| {
                let key = calls.last.get(slot).copied()?;
                observed_otherwise(&known, key, slot, output)
            }),
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
            return Some(found.by(Some(seq)));
        }
    }
    None
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

fn other_plan(document: &Value, right: Option<&Value>) -> Option<CauseFound> {
    let Some(right) = right else {
        let text = "a revision that it did not need";
        return Some(referenced(
            (Guilty::Plan, Party::Planner),
            "other_plan",
            text,
        ));
    };
    if document == right {
        return None;
    }
    let steps = |document: &Value| -> BTreeMap<String, Value> {
        let steps = document.get("steps").and_then(Value::as_array);
        let steps = steps.into_iter().flatten();
        let named =
            steps.filter_map(|step| Some((step.get("id")?.as_str()?.to_owned(), step.clone())));
        named.collect()
    };
    let (here, there) = (steps(document), steps(right));
    let differs = |id: &&String| here.get(*id) != there.get(*id);
    let first = here.keys().chain(there.keys()).find(differs);
    let text = match first {
        Some(id) => format!("the plan, at step `{id}`"),
        None => "the plan, outside its steps".to_owned(),
    };
    let found = referenced((Guilty::Plan, Party::Planner), "other_plan", &text);
    Some(match first {
        Some(id) => found.at(&Slot {
            step: id.clone(),
            item: None,
        }),
        None => found,
    })
}

fn other_answer(
    known: &RightRun<'_>,
    key: ComparedCall<'_>,
    ended: &AttemptEnded,
    output: Option<&Value>,
) -> Option<CauseFound> {
    let (class, _) = known.answers.get(&key)?;
    if *class == ended.class && output.is_none() {
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
    slot: &Slot,
    output: Digest,
) -> Option<CauseFound> {
    let (_, right) = known.answers.get(&key)?;
    if right.is_none_or(|right| right == output) {
        return None;
    }
    let text = format!("what `{}` answered at step `{slot}`", key.0);
    let whom = (Guilty::Execution, Party::Tool);
    Some(referenced(whom, "other_answer", &text).at(slot))
}
