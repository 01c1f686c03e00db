//! How a run ended, or that it is not over: people, refusals, criteria, and what is so far known.
//!
//! Owns the way from an end to the slots that explain it. INVARIANT: a person's no explains what
//! rests on it and nothing else, and a run that is not over is judged `so far`.

use std::collections::BTreeSet;

use provost_plan::codes::Code;
use provost_plan::diagnostic::Severity;
use provost_plan::plan::request::{FindingView, NoPlan};
use provost_plan::plan::undo::undone_by;

use super::failure::{self, possible, would_decide};
use super::found::{CauseFound, joined};
use super::limits::limit;
use super::story::Story;
use super::support::{RootSlot, closed, roots};
use super::unproven::not_proven;
use super::{Certainty, Guilty, OtherCause, Party};
use crate::call::Slot;
use crate::event::{Event, NextPlanner, RunEnded, RunStatus, StepStatus};
use crate::outcome::Class;
use crate::read::words::{listed, waits_for};
use crate::state::Waiting;

/// The verdict of a journal.
pub(super) fn judged(story: &Story<'_>, waits: &[Waiting]) -> CauseFound {
    match story.ended() {
        None => unfinished(story, waits),
        Some((seq, ended)) if ended.status.is_of_undoing() => undone(story, seq, ended),
        Some((seq, ended)) => over(story, seq, ended),
    }
}

/// A run that is not over: a doubt, or a planner that came to nothing, has a cause by now.
fn unfinished(story: &Story<'_>, waits: &[Waiting]) -> CauseFound {
    if let Some(found) = doubt(story) {
        return found;
    }
    let first = waits.iter().min_by_key(|one| one.asked_at);
    if let Some(found) = so_far(story) {
        let sentence = match first {
            Some(first) => format!("{}; the run waits for {}", found.sentence, waits_for(first)),
            None => found.sentence.clone(),
        };
        let asked = first
            .map(|first| story.asked_for(first))
            .unwrap_or_default();
        return CauseFound { sentence, ..found }.shown(asked);
    }
    match first {
        Some(first) => CauseFound::nobody(format!(
            "the run is not over: it waits for {}",
            waits_for(first)
        ))
        .shown(story.asked_for(first)),
        None => CauseFound::nobody("the run is not over".to_owned()),
    }
}

/// A write whose effect nobody knows.
fn doubt(story: &Story<'_>) -> Option<CauseFound> {
    let steps = story.steps();
    let (id, _) = steps
        .iter()
        .find(|(_, settled)| settled.status == StepStatus::InDoubt)?;
    let slots = story.failed_slots(id);
    let (seq, slot, status, class) = slots
        .into_iter()
        .find(|(_, _, status, _)| *status == StepStatus::InDoubt)?;
    let root = RootSlot {
        slot: slot.clone(),
        seq,
        status,
        class,
    };
    Some(failure::of_root(story, &root))
}

/// A person is asked, because no planner came to a plan.
fn so_far(story: &Story<'_>) -> Option<CauseFound> {
    let last = story.numbered().rev().find(|(_, event)| {
        matches!(
            event,
            Event::PlanHandedOn { .. } | Event::PlanChecked { .. } | Event::PlanProposed { .. }
        )
    });
    let Some((
        seq,
        Event::PlanHandedOn {
            to: NextPlanner::Person,
            ..
        },
    )) = last
    else {
        return None;
    };
    let failed = story.numbered().rev().find_map(|(_, event)| match event {
        Event::ReplanRequested { why } => Some(why),
        _ => None,
    });
    let found = match failed {
        Some(provost_plan::plan::request::Why::StepFailed { step, .. }) => {
            of_step(story, step).unwrap_or_else(|| refused(story))
        }
        _ => refused(story),
    };
    let sentence = format!("so far, {}", found.sentence);
    Some(CauseFound { sentence, ..found }.shown([seq]))
}

fn over(story: &Story<'_>, seq: u64, ended: &RunEnded) -> CauseFound {
    let found = match ended.status {
        RunStatus::Succeeded => {
            let mut found = CauseFound::nobody("the run succeeded".to_owned());
            found.not_looked_at = vec![
                "whether the proofs say what the goal says".to_owned(),
                "whether the tools told the truth".to_owned(),
            ];
            return found.by(Some(seq));
        }
        RunStatus::Rejected | RunStatus::Expired | RunStatus::Cancelled => by_people(story, ended),
        RunStatus::Refused => refused(story),
        RunStatus::Failed
        | RunStatus::Planning
        | RunStatus::WaitingApproval
        | RunStatus::WaitingAnswer
        | RunStatus::Running
        | RunStatus::Paused
        | RunStatus::InDoubt
        | RunStatus::Undone
        | RunStatus::PartlyUndone
        | RunStatus::UndoFailed => failed(story, ended),
    };
    let decisive = found.seq.unwrap_or(seq);
    let found = found.by(Some(decisive)).shown([seq]);
    let looped = looped(story, found.guilty);
    found.beside(looped)
}

/// A plan that makes one call in many steps, beside what else is wrong.
fn looped(story: &Story<'_>, guilty: Guilty) -> Option<OtherCause> {
    let (steps, seqs) = story.repeated_call().filter(|_| guilty != Guilty::Nobody)?;
    let sentence = format!("the plan makes the same call in {steps}");
    let whom = (Guilty::Plan, Party::Planner);
    let found = CauseFound::proven(whom, "loop", sentence).by(seqs.last().copied());
    Some(found.as_other())
}

/// A run that a person had undone after its end: why it ended before that, and what came of it.
fn undone(story: &Story<'_>, seq: u64, ended: &RunEnded) -> CauseFound {
    let asked = story.seqs_of(|event| matches!(event, Event::UndoRequested { .. }));
    let before = story.before(asked.first().copied().unwrap_or(u64::MAX));
    let Some((end, of)) = before.ended() else {
        return unfinished(&before, &[]);
    };
    let found = over(&before, end, of);
    let result = match ended.status {
        RunStatus::Undone => "all that it did was undone",
        RunStatus::PartlyUndone => "a part of what it did was undone",
        _ => "nothing of what it did was undone",
    };
    let steps = story.steps();
    let not_undone = steps
        .iter()
        .filter(|(id, settled)| undone_by(id).is_some() && settled.status != StepStatus::Succeeded);
    let of_undoing: Vec<u64> = not_undone.map(|(_, settled)| settled.seq).collect();
    let sentence = format!("{}; after the end {result}", found.sentence);
    CauseFound { sentence, ..found }
        .shown(asked)
        .shown(of_undoing)
        .shown([seq])
}

fn by_people(story: &Story<'_>, ended: &RunEnded) -> CauseFound {
    let seqs = story.seqs_of(|event| {
        matches!(
            (ended.status, event),
            (RunStatus::Rejected, Event::ApprovalRejected { .. })
                | (
                    RunStatus::Expired,
                    Event::ApprovalExpired { .. } | Event::QuestionExpired { .. }
                )
                | (RunStatus::Cancelled, Event::CancelRequested { .. })
        )
    });
    let (cause, sentence) = match ended.status {
        RunStatus::Rejected => ("rejected", "a person rejected the approval"),
        RunStatus::Expired => return expired(story, ended, seqs.last().copied()),
        _ => ("cancelled", "a person cancelled the run"),
    };
    let whom = (Guilty::Neither, Party::Person);
    let beside = failure::unsettled(story);
    let mut sentence = sentence.to_owned();
    let named: Vec<String> = beside
        .iter()
        .filter_map(|found| found.slot.as_ref().map(Slot::to_string))
        .collect();
    if !named.is_empty() {
        sentence.push_str(&format!(", while {} had failed in passing", listed(named)));
    }
    let shown: Vec<u64> = beside.iter().filter_map(|found| found.seq).collect();
    let mut found = CauseFound::proven(whom, cause, sentence)
        .by(seqs.last().copied())
        .shown(shown)
        .beside(beside.iter().map(CauseFound::as_other));
    if ended.status == RunStatus::Rejected {
        // Why: who said no is certain, and a reason may well be that the plan was wrong.
        let right = "whether what was rejected was right".to_owned();
        found.not_looked_at.push(right);
    }
    if let Some(step) = &ended.step {
        let step = step.clone();
        found = found.at(&Slot { step, item: None });
    }
    found
}

/// Nobody answered in the time there was: who gave it is as near as whoever was asked.
fn expired(story: &Story<'_>, ended: &RunEnded, seq: Option<u64>) -> CauseFound {
    let person = possible(
        (Guilty::Neither, Party::Person),
        ended.step.clone(),
        "whoever was asked did not answer".to_owned(),
    );
    let of_question = seq.is_some_and(|seq| {
        let event = story.event(seq);
        matches!(event, Some(Event::QuestionExpired { .. }))
    });
    let sentence = "nobody answered in time".to_owned();
    let mut found = match of_question {
        // Why: a question ends only where the plan says after which time.
        true => {
            let text = "the time that the plan gives for an answer".to_owned();
            let plan = possible((Guilty::Plan, Party::Planner), ended.step.clone(), text);
            CauseFound::open(sentence, vec![person, plan])
        }
        false => {
            let whom = (Guilty::Neither, Party::PersonOrOperator);
            let sentence = format!("{sentence}, of what policy gives");
            CauseFound::proven(whom, "expired", sentence)
        }
    };
    if let Some(step) = &ended.step {
        let step = step.clone();
        found = found.at(&Slot { step, item: None });
    }
    found.by(seq)
}

/// No plan was admissible.
fn refused(story: &Story<'_>) -> CauseFound {
    let last = story.numbered().rev().find_map(|(seq, event)| match event {
        Event::PlanRefused { findings, .. } => Some((seq, findings)),
        _ => None,
    });
    let without = story.numbered().rev().find_map(|(seq, event)| match event {
        Event::PlanGivenUp { class, .. } | Event::PlanHandedOn { class, .. } => Some((seq, *class)),
        _ => None,
    });
    let all = story.seqs_of(|event| matches!(event, Event::PlanRefused { .. }));
    let shown = without.map(|(seq, _)| seq);
    if let Some((seq, findings)) = last {
        let mut found = inadmissible(findings, all.len())
            .by(Some(seq))
            .shown(all)
            .shown(shown);
        if found.certainty == Certainty::Open {
            found.would_decide = would_decide(story);
        }
        return found;
    }
    let class = without.and_then(|(_, class)| class);
    let neither = |party, cause, text: &str| {
        CauseFound::proven((Guilty::Neither, party), cause, text.to_owned()).by(shown)
    };
    match class {
        Some(NoPlan::Limit) => neither(
            Party::Operator,
            "limit_too_low",
            "a limit left no room to ask the planner",
        ),
        Some(NoPlan::Unreadable) => CauseFound::proven(
            (Guilty::Plan, Party::Planner),
            "does_not_compile",
            "nobody could read what the planner proposed".to_owned(),
        )
        .by(shown),
        Some(class) => {
            let what = match class {
                NoPlan::Crashed => "the planner ended before it answered",
                NoPlan::Timeout => "the planner did not answer in time",
                NoPlan::Unreachable => "the planner could not be asked",
                NoPlan::NoMatch => "no planner is for this goal",
                NoPlan::Declined | NoPlan::Repeated | NoPlan::Limit | NoPlan::Unreadable => {
                    "the planner has no plan"
                }
            };
            neither(Party::Planner, "no_planner", what)
        }
        None => {
            let text = "a planner that has none, or none that could be asked".to_owned();
            let whom = (Guilty::Neither, Party::Planner);
            let none = vec![possible(whom, None, text)];
            let mut found = CauseFound::open("no plan was proposed".to_owned(), none).by(shown);
            found.would_decide = would_decide(story);
            found
        }
    }
}

/// Proposals that the check refused.
fn inadmissible(findings: &[FindingView], count: usize) -> CauseFound {
    let is_error =
        |code: &str| Code::from_text(code).is_none_or(|code| code.severity() == Severity::Error);
    let codes = findings.iter().map(|finding| finding.code.as_str());
    let codes: BTreeSet<&str> = codes.filter(|code| is_error(code)).collect();
    let of_plan = |code: &&&str| code.starts_with(['P', 'R', 'T', 'E', 'F', 'S']);
    let is_unsafe = |code: &&str| *code == "F403" || code.starts_with("E3");
    let planned: Vec<&&str> = codes.iter().filter(of_plan).collect();
    let said = listed(codes.iter());
    let what = match count {
        1 => format!("the proposed plan failed the check with {said}"),
        _ => format!("none of the {count} proposed plans passed the check; the last has {said}"),
    };
    if !planned.is_empty() {
        let cause = match planned.iter().all(|code| is_unsafe(code)) {
            true => "unsafe",
            false => "does_not_compile",
        };
        return CauseFound::proven((Guilty::Plan, Party::Planner), cause, what);
    }
    let rules = match codes.iter().any(|code| code.starts_with('V')) {
        true => "the policy, which forbids what the goal needs",
        false => "a limit, which is too low for what the goal needs",
    };
    // Why open: whether another plan would have done without it stands in no journal.
    let whom = (Guilty::Plan, Party::Planner);
    let plan = "the plan, which could do without it".to_owned();
    let goal = "the goal, which asks for it".to_owned();
    let candidates = vec![
        possible(whom, None, plan),
        possible((Guilty::Neither, Party::Operator), None, rules.to_owned()),
        possible((Guilty::Neither, Party::Goal), None, goal),
    ];
    CauseFound::open(what, candidates)
}

/// A run with an admissible plan failed.
fn failed(story: &Story<'_>, ended: &RunEnded) -> CauseFound {
    match (&ended.step, ended.class) {
        (_, Some(Class::BudgetExceeded)) => {
            let slot = ended.step.clone().map(|step| Slot { step, item: None });
            limit(story, slot.as_ref())
        }
        // Why: such a step did not fail; nobody refined it.
        (Some(step), Some(Class::Unmet)) => of_step(story, step).unwrap_or_else(|| refused(story)),
        (Some(step), class) => of_step(story, step).unwrap_or_else(|| no_step(class)),
        (None, Some(Class::Unmet)) => not_proven(story, ended),
        (None, Some(Class::Drift)) => {
            let seqs = story.seqs_of(|event| matches!(event, Event::Resumed { .. }));
            CauseFound::proven(
                (Guilty::Neither, Party::Operator),
                "entry_moved",
                "the rules changed, and the plan no longer passes the check".to_owned(),
            )
            .by(seqs.last().copied())
        }
        (None, class) => no_step(class),
    }
}

pub(super) fn no_step(class: Option<Class>) -> CauseFound {
    let word = class.map_or("no class", Class::word);
    let sentence = format!("the run ended with {word}, and no step explains it");
    CauseFound::open(sentence, Vec::new())
}

/// Judges a step that ended a run, by the slots that failed before it and that it rests on.
fn of_step(story: &Story<'_>, step: &str) -> Option<CauseFound> {
    let (_, _, record) = story.last_plan()?;
    let from = BTreeSet::from([step.to_owned()]);
    let support = match record.steps.contains_key(step) {
        true => closed(story, record, &from),
        false => vec![step.to_owned()],
    };
    let mut found: Vec<CauseFound> = roots(story, record, &support)
        .iter()
        .map(|root| failure::of_root(story, root))
        .collect();
    // Why: the first slot to fail ended the run, and others beside it may have failed too.
    let beside = beside(story, &support);
    found.extend(beside);
    joined(found)
}

/// What else failed for good, or in passing, beside what a step rests on.
fn beside(story: &Story<'_>, support: &[String]) -> Vec<CauseFound> {
    let Some((_, _, record)) = story.last_plan() else {
        return Vec::new();
    };
    let rest: Vec<String> = record
        .steps
        .keys()
        .filter(|id| !support.contains(id))
        .cloned()
        .collect();
    let mut found: Vec<CauseFound> = roots(story, record, &rest)
        .iter()
        .filter(|root| root.class != Some(Class::Cancelled))
        .map(|root| failure::of_root(story, root))
        .collect();
    let known = |slot: &Slot| {
        let settled = story.failed_slots(&slot.step);
        settled.iter().any(|(_, known, ..)| *known == slot)
    };
    let passing = failure::unsettled(story).into_iter();
    found.extend(passing.filter(|one| one.slot.as_ref().is_some_and(|slot| !known(slot))));
    found
}
