//! The planning of a run, counted: proposals, completeness, needless steps, revisions, questions.
//!
//! Owns these formulas. Looks at no class of a tool's failure but to see whether a revision helped.
//! INVARIANT: a run whose tools fail, whose people refuse or whose limits bite has the same counts.

use std::collections::{BTreeMap, BTreeSet};

use provost_plan::check::{CheckedPlan, PlanRecord};
use provost_plan::digest::Digest;
use provost_plan::plan::Goal;
use provost_plan::plan::read::plan_from_value;
use provost_plan::plan::request::{FindingView, RequestKind, Why};
use serde_json::Value;

use super::needed::{PlanNeeds, StepDoes};
use super::slots::SlotIndex;
use super::{RunFacts, put};
use crate::call::Purpose;
use crate::card::{CardSubject, QuestionPurpose};
use crate::event::{Event, Proven, StepStatus};
use crate::outcome::Class;

/// Errors about what waits for what, and what is read where it may be absent.
const DEPENDENCY_CODES: [&str; 5] = ["R102", "R104", "R106", "R114", "E304"];

/// Failures of services: a revision after one says nothing about the first plan.
const OF_SERVICES: [&str; 7] = [
    "unavailable",
    "rate_limited",
    "output_invalid",
    "permission_denied",
    "breaker_open",
    "timeout",
    "partial",
];

/// A plan that a check let pass.
struct Admitted<'e> {
    document: &'e Value,
    record: &'e PlanRecord,
}

pub(super) fn count(
    events: &[(&Event, i64)],
    slots: &SlotIndex<'_>,
    in_force: Option<&CheckedPlan>,
    facts: &mut RunFacts,
) {
    let of = Planned {
        plans: admitted(events),
        revisions: revisions_of(events),
    };
    first_time(events, facts);
    completeness(events, &of, in_force, facts);
    repeated_reads(events, slots, facts);
    revisions(&of, facts);
    helped(events, &of, facts);
    dependencies(events, &of, facts);
    clarifications(events, &of, facts);
    adherence(events, facts);
}

/// The plans of a run.
struct Planned<'e> {
    /// In order, without what a person has undone after.
    plans: Vec<Admitted<'e>>,
    /// That a planner made and that changed something.
    revisions: Vec<Revision<'e>>,
}

/// The plans in order, without what a person has undone after.
fn admitted<'e>(events: &[(&'e Event, i64)]) -> Vec<Admitted<'e>> {
    let mut plans = Vec::new();
    for (event, _) in events {
        match event {
            Event::PlanChecked {
                document, record, ..
            } => plans.push(Admitted { document, record }),
            Event::UndoPlanned { .. } => break,
            _ => {}
        }
    }
    plans
}

/// Whether the first proposal of a planner was checked before any was refused or mended.
fn first_time(events: &[(&Event, i64)], facts: &mut RunFacts) {
    let mut proposed = false;
    for (event, _) in events {
        let held = match event {
            Event::PlanProposed { .. } => {
                proposed = true;
                continue;
            }
            Event::PlanChecked { .. } if proposed => 1,
            Event::PlanRefused { .. } | Event::ProposalMended { .. } if proposed => 0,
            _ => continue,
        };
        put(&mut facts.planning, "first_time", held, 1);
        return;
    }
    put(&mut facts.planning, "first_time", 0, u64::from(proposed));
}

fn completeness(
    events: &[(&Event, i64)],
    of: &Planned<'_>,
    in_force: Option<&CheckedPlan>,
    facts: &mut RunFacts,
) {
    let rates = &mut facts.planning;
    for (event, _) in events {
        if let Event::RunEnded(ended) = event {
            let held = ended.criteria.values();
            let held = held.filter(|proven| **proven == Proven::Held).count() as u64;
            put(rates, "shown", held, ended.criteria.len() as u64);
        }
    }
    let (Some(first), Some(last)) = (of.plans.first(), of.plans.last()) else {
        return;
    };
    // Why: who has the plan at hand has read it once; reading it again is most of the counting.
    let same = in_force.filter(|plan| plan.record().digest == last.record.digest);
    let read;
    let plan = match same {
        Some(plan) => plan.plan(),
        None => match plan_from_value(last.document, "<journal>") {
            Ok(plan) => {
                read = plan;
                &read
            }
            Err(_) => return,
        },
    };
    let needs = PlanNeeds::of(plan, last.record, &effects(events));
    let needed = needs.needed();
    let counted = |set: &[bool], wanted: &dyn Fn(&str, StepDoes, bool) -> bool| {
        let steps = needs.with(set);
        steps
            .filter(|(id, does, within)| wanted(id, *does, *within))
            .count() as u64
    };
    let all_needed = counted(&needed, &|_, _, within| within);
    // Why not the unknown: of an operation that was never called nobody knows what it does.
    let unneeded = counted(&needed, &|_, does, within| {
        !within && does != StepDoes::Unknown
    });
    put(rates, "unneeded", unneeded, all_needed + unneeded);
    put(rates, "over_planned", u64::from(unneeded > 0), 1);
    let justified = needs.justified();
    let made = counted(&justified, &|_, does, _| does == StepDoes::Changes);
    let unjustified = counted(&justified, &|_, does, within| {
        !within && does == StepDoes::Changes
    });
    put(rates, "unjustified", unjustified, made);
    if revised_for_its_own_sake(of) {
        let foreseen = counted(&needed, &|id, _, within| {
            within && first.record.steps.contains_key(id)
        });
        put(rates, "foresight", foreseen, all_needed);
    }
}

/// Whether an operation changes something, as far as its calls and cards tell.
fn effects<'e>(events: &[(&'e Event, i64)]) -> BTreeMap<&'e str, bool> {
    let mut known = BTreeMap::new();
    for (event, _) in events {
        match event {
            Event::AttemptStarted(started) => {
                known.insert(started.operation.as_str(), !started.read);
            }
            Event::ApprovalRequested { card, .. } => {
                let asks: Vec<_> = match &card.subject {
                    CardSubject::Plan { steps } => steps.values().collect(),
                    CardSubject::Step { ask, .. } => vec![ask],
                };
                for ask in asks {
                    known.insert(ask.operation.as_str(), !ask.effect.is_read());
                }
            }
            _ => {}
        }
    }
    known
}

/// Whether a planner revised the plan, for another reason than a failure of a service.
fn revised_for_its_own_sake(of: &Planned<'_>) -> bool {
    of.revisions.iter().any(|revision| match revision.why {
        Some(Why::StepFailed { class, .. }) => !OF_SERVICES.contains(&class.as_str()),
        _ => true,
    })
}

/// Reads made again although nothing of the run changed anything since.
fn repeated_reads(events: &[(&Event, i64)], slots: &SlotIndex<'_>, facts: &mut RunFacts) {
    let mut observed: BTreeSet<(&str, Digest)> = BTreeSet::new();
    let mut begun: Vec<Option<((&str, Digest), bool)>> = vec![None; slots.count];
    let (mut repeated, mut made) = (0, 0);
    for about in slots.with(events) {
        let Some(of_slot) = about.slot.and_then(|number| begun.get_mut(number)) else {
            continue;
        };
        match about.event {
            Event::AttemptStarted(started) if started.purpose == Purpose::Effect => {
                let call = (started.operation.as_str(), started.args_digest);
                *of_slot = Some((call, started.read));
                if started.read && started.attempt == 1 {
                    made += 1;
                    repeated += u64::from(observed.contains(&call));
                }
            }
            Event::ObservationMade { .. } => match of_slot {
                Some((call, true)) => drop(observed.insert(*call)),
                Some((_, false)) => observed.clear(),
                None => {}
            },
            Event::AttemptEnded(_) if matches!(of_slot, Some((_, false))) => observed.clear(),
            _ => {}
        }
    }
    put(&mut facts.planning, "repeated_reads", repeated, made);
}

/// A revision that answers a request.
struct Revision<'e> {
    /// Where its event stands.
    at: usize,
    why: Option<&'e Why>,
}

/// The revisions that a planner made and that changed something.
fn revisions_of<'e>(events: &[(&'e Event, i64)]) -> Vec<Revision<'e>> {
    let mut asked: Option<Option<&Why>> = None;
    let mut found = Vec::new();
    for (at, (event, _)) in events.iter().enumerate() {
        match event {
            Event::PlanRequested { kind, why, .. } => {
                asked = (*kind == RequestKind::Revise).then_some(why.as_ref());
            }
            // Why: the revision that follows is a person's, or takes back what happened.
            Event::PlanAmended { .. } | Event::UndoPlanned { .. } => asked = None,
            Event::PlanRevised {
                added,
                changed,
                removed,
                ..
            } => {
                let is_empty = added.is_empty() && changed.is_empty() && removed.is_empty();
                if let Some(why) = asked.take().filter(|_| !is_empty) {
                    found.push(Revision { at, why });
                }
            }
            _ => {}
        }
    }
    found
}

fn revisions(of: &Planned<'_>, facts: &mut RunFacts) {
    let runs = u64::from(!of.plans.is_empty());
    let count = of.revisions.len() as u64;
    put(&mut facts.planning, "revisions", count, runs);
    for revision in &of.revisions {
        let word = match revision.why {
            Some(Why::Observed { .. }) => "observed",
            Some(Why::StepFailed { .. }) => "step_failed",
            Some(Why::Rejected { .. }) => "rejected",
            Some(Why::Expired { .. }) => "expired",
            Some(Why::Unmet { .. }) => "unmet",
            Some(Why::Amended { .. }) => "amended",
            Some(Why::Refine { .. }) | None => "other",
        };
        *facts.revisions_by.entry(word.to_owned()).or_default() += 1;
    }
}

/// Of the revisions after a failure or an unmet criterion, those whose next one is another or none.
fn helped(events: &[(&Event, i64)], planned: &Planned<'_>, facts: &mut RunFacts) {
    let (mut helped, mut of) = (0, 0);
    for revision in &planned.revisions {
        let after = events.iter().skip(revision.at);
        let same = match revision.why {
            Some(Why::StepFailed { class, .. }) => {
                let next = after.filter_map(|(event, _)| failing(event)).next();
                next.map(Class::word) == Some(class.as_str())
            }
            Some(Why::Unmet { criteria }) => after
                .filter_map(|(event, _)| unmet(event))
                .next()
                .is_some_and(|next| criteria.iter().all(|one| next.contains(&one.as_str()))),
            _ => continue,
        };
        of += 1;
        helped += u64::from(!same);
    }
    put(&mut facts.planning, "revisions_helped", helped, of);
}

fn failing(event: &Event) -> Option<Class> {
    match event {
        Event::StepSettled {
            status: StepStatus::Failed,
            class,
            ..
        } => *class,
        _ => None,
    }
}

/// The criteria that did not hold when a run ended, or was asked for another plan.
fn unmet(event: &Event) -> Option<Vec<&str>> {
    match event {
        Event::RunEnded(ended) => {
            let open = ended.criteria.iter();
            let open = open.filter(|(_, proven)| **proven != Proven::Held);
            Some(open.map(|(id, _)| id.as_str()).collect())
        }
        Event::PlanRequested {
            why: Some(Why::Unmet { criteria }),
            ..
        } => Some(criteria.iter().map(String::as_str).collect()),
        _ => None,
    }
}

/// Edges of admitted plans, against what was wrong with edges: found by the check, or at run time.
fn dependencies(events: &[(&Event, i64)], of: &Planned<'_>, facts: &mut RunFacts) {
    let about = |finding: &&FindingView| DEPENDENCY_CODES.contains(&finding.code.as_str());
    let mut faults = 0;
    let mut absent: BTreeSet<&str> = BTreeSet::new();
    let mut blocked: Vec<(&str, &str)> = Vec::new();
    for (event, _) in events {
        match event {
            Event::PlanRefused { findings, .. } => {
                faults += findings.iter().filter(about).count() as u64;
            }
            Event::StepSettled {
                slot,
                class: Some(Class::Expression),
                ..
            } => {
                faults += 1;
                absent.insert(&slot.step);
            }
            Event::StepBlocked { step, on } => blocked.push((step, on)),
            _ => {}
        }
    }
    for (step, on) in &blocked {
        faults += u64::from(absent.contains(on));
        if absent.contains(on) {
            absent.insert(step);
        }
    }
    let edges = of.plans.iter().flat_map(|plan| plan.record.steps.values());
    let edges = edges.map(|step| step.after.len() as u64).sum::<u64>();
    put(&mut facts.planning, "dependencies", edges, edges + faults);
}

fn clarifications(events: &[(&Event, i64)], of: &Planned<'_>, facts: &mut RunFacts) {
    let mut asked: BTreeMap<Digest, bool> = BTreeMap::new();
    let mut goal: Option<&Goal> = None;
    let mut answers: Vec<&Value> = Vec::new();
    let (mut used, mut answered, mut needless) = (0, 0, 0);
    for (at, (event, _)) in events.iter().enumerate() {
        match event {
            Event::RunCreated(created) => goal = Some(&created.goal),
            Event::GoalInterpreted { goal: read, .. } => goal = Some(read),
            Event::QuestionAsked { question, digest } => {
                let of_planner = matches!(question.purpose, QuestionPurpose::Planner { .. });
                if of_planner {
                    asked.insert(*digest, true);
                }
            }
            Event::QuestionAnswered {
                question, value, ..
            } if asked.contains_key(question) => {
                answered += 1;
                let later = events.iter().skip(at).map(|(event, _)| *event);
                used += u64::from(is_used(value, later));
                let stood = goal.is_some_and(|goal| stands_in(value, goal));
                needless += u64::from(stood || answers.contains(&value));
                answers.push(value);
            }
            _ => {}
        }
    }
    let runs = u64::from(!of.plans.is_empty());
    let count = asked.len() as u64;
    put(&mut facts.planning, "clarifications", count, runs);
    put(&mut facts.planning, "clarifications_used", used, answered);
    put(
        &mut facts.planning,
        "clarifications_needless",
        needless,
        count,
    );
}

/// Whether an answer is a literal or a parameter of what was planned next.
fn is_used<'e>(value: &Value, later: impl Iterator<Item = &'e Event>) -> bool {
    for event in later {
        match event {
            Event::PlanChecked { document, .. } => return holds(document, value),
            Event::GoalInterpreted { goal, .. } if goal.params.values().any(|one| one == value) => {
                return true;
            }
            _ => {}
        }
    }
    false
}

/// Whether a value stands in a document, as it is or inside a text.
fn holds(document: &Value, value: &Value) -> bool {
    match document {
        Value::Array(items) => items.iter().any(|item| holds(item, value)),
        Value::Object(map) => map.values().any(|item| holds(item, value)),
        Value::String(text) => match value {
            Value::String(value) => !value.is_empty() && text.contains(value.as_str()),
            Value::Number(number) => text
                .split(|c: char| !c.is_ascii_alphanumeric() && c != '.')
                .any(|word| word == number.to_string()),
            _ => false,
        },
        other => other == value,
    }
}

fn stands_in(value: &Value, goal: &Goal) -> bool {
    let text = Value::String(goal.text.clone());
    holds(&text, value) || goal.params.values().any(|one| one == value)
}

/// Attempts whose arguments are those of the card that a person approved, of those that needed one.
fn adherence(events: &[(&Event, i64)], facts: &mut RunFacts) {
    let mut cards = BTreeMap::new();
    let (mut adhered, mut of) = (0, 0);
    for (event, _) in events {
        match event {
            Event::ApprovalRequested { card, digest } => drop(cards.insert(*digest, card)),
            Event::AttemptStarted(started) if started.purpose == Purpose::Effect => {
                of += 1;
                let card = started.approval.and_then(|card| cards.get(&card));
                let as_approved = card.is_none_or(|card| match &card.subject {
                    CardSubject::Plan { steps } => {
                        steps.values().any(|ask| ask.closure == started.closure)
                    }
                    CardSubject::Step { ask, calls, .. } => {
                        ask.closure == started.closure
                            && calls
                                .iter()
                                .any(|call| call.args_digest == started.args_digest)
                    }
                });
                adhered += u64::from(as_approved);
            }
            _ => {}
        }
    }
    put(&mut facts.planning, "adherence", adhered, of);
}
