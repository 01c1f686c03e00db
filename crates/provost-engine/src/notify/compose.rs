//! From events to notices: a pure function, called where the events are appended.
//!
//! Owns what a notice says and when it is due. Sends nothing, reads no clock and spells no command.
//! INVARIANT: equal events give equal notices, with equal ids.

use std::collections::BTreeSet;
use std::time::Duration;

use provost_plan::digest::{Digest, canonical};
use provost_run::admission::AdmissionEntry;
use provost_run::call::Slot;
use provost_run::card::{Question, QuestionPurpose};
use provost_run::event::{Event, RunStatus};
use provost_run::read::words::words;
use provost_run::state::{State, WaitKind, waiting};
use serde_json::{Value, json};

use super::{NoticeReason, NoticeSubject, NotifyTarget, SubjectKind};
use crate::store::{DueNotice, NewNotice};

/// Something worth telling.
struct NoticeFact {
    occasion: NoticeReason,
    /// The number of the event it follows from.
    seq: u64,
    /// What it is about: a kind, and which of the kind.
    about: (SubjectKind, String),
    step: Option<String>,
    text: String,
    if_opens: Option<String>,
}

/// The notices that follow from events which were appended from `first_seq` on; `state` is the
/// run after them.
pub(crate) fn notices(
    targets: &[NotifyTarget],
    first_seq: u64,
    events: &[Event],
    admission: &[AdmissionEntry],
    state: &State,
) -> Vec<NewNotice> {
    if targets.is_empty() || events.is_empty() {
        return Vec::new();
    }
    let mut facts = Vec::new();
    let mut doubts = BTreeSet::new();
    for (seq, event) in (first_seq..).zip(events) {
        facts.extend(of_event(seq, event, state, &mut doubts));
    }
    let last = first_seq + events.len() as u64 - 1;
    facts.extend(breakers(last, admission));
    let of = |fact: &NoticeFact| {
        let ends = fact.about.0 == SubjectKind::Run;
        let told = |target: &&NotifyTarget| {
            target.on.contains(&fact.occasion) || (ends && target.on.contains(&NoticeReason::Ended))
        };
        let about = |target| of_fact(fact, target, state);
        targets
            .iter()
            .filter(told)
            .flat_map(about)
            .collect::<Vec<_>>()
    };
    facts.iter().flat_map(of).collect()
}

/// What a schedule could not begin.
pub(crate) struct Unbegun<'s> {
    /// The schedule.
    pub(crate) schedule: &'s str,
    /// Its goal.
    pub(crate) goal: &'s str,
    /// The run that its moment would have begun.
    pub(crate) run: &'s str,
    /// Why there is none.
    pub(crate) why: &'s str,
}

/// The notices that a schedule could not begin its run, told to whoever is told of runs that fail.
/// Their ids follow from the moment, so that one that is tried again is told once.
pub(crate) fn unbegun(targets: &[NotifyTarget], of: &Unbegun<'_>, now: i64) -> Vec<NewNotice> {
    let Unbegun { schedule, run, .. } = *of;
    let told = |target: &&NotifyTarget| {
        let reasons = [NoticeReason::Failed, NoticeReason::Ended];
        reasons.iter().any(|reason| target.on.contains(reason))
    };
    let notice = |target: &NotifyTarget| NewNotice {
        id: format!("{run}.unbegun.{}", target.name),
        run: run.to_owned(),
        target: target.name.clone(),
        notice: json!({
            "occasion": NoticeReason::Failed.word(),
            "at_ms": now,
            "run": run,
            "goal": of.goal,
            "about": { "kind": SubjectKind::Schedule.word(), "which": schedule },
            "text": format!("schedule {schedule} could not begin its run: {}", of.why),
        }),
        due_ms: now,
        if_opens: None,
    };
    targets.iter().filter(told).map(notice).collect()
}

fn of_event(
    seq: u64,
    event: &Event,
    state: &State,
    doubts: &mut BTreeSet<Slot>,
) -> Option<NoticeFact> {
    let fact = |occasion, about, step: Option<&str>, text| NoticeFact {
        occasion,
        seq,
        about,
        step: step.map(str::to_owned),
        text,
        if_opens: None,
    };
    let text = words(event).line();
    match event {
        Event::ApprovalRequested { card, digest } if is_open(state, digest) => {
            let about = (SubjectKind::Waits(WaitKind::Approval), digest.to_string());
            Some(fact(NoticeReason::Waiting, about, card.step(), text))
        }
        Event::QuestionAsked { digest, .. } if is_open(state, digest) => {
            let about = (SubjectKind::Waits(WaitKind::Answer), digest.to_string());
            Some(fact(NoticeReason::Waiting, about, None, text))
        }
        Event::QuestionExpired { question } => {
            let asked = &state.question(question)?.question;
            let about = (SubjectKind::Run, state.head.run.clone());
            let text = unanswered(asked);
            Some(fact(NoticeReason::Expired, about, step_of(asked), text))
        }
        Event::Paused {
            missing: Some(missing),
            ..
        } => {
            let about = (SubjectKind::Waits(WaitKind::Secret), missing.secret.clone());
            Some(fact(NoticeReason::Waiting, about, None, text))
        }
        Event::StepSettled { slot, .. } | Event::ReconcileGivenUp { slot, .. }
            if state.is_unanswered_doubt(slot) && doubts.insert(slot.clone()) =>
        {
            Some(doubt(seq, slot))
        }
        Event::AttemptEnded(ended)
            if state.is_unanswered_doubt(&ended.slot) && doubts.insert(ended.slot.clone()) =>
        {
            Some(doubt(seq, &ended.slot))
        }
        Event::RunEnded(ended) => {
            let about = (SubjectKind::Run, state.head.run.clone());
            let step = ended.step.as_deref();
            let reason = match ended.status {
                RunStatus::Failed
                | RunStatus::Refused
                | RunStatus::Expired
                | RunStatus::PartlyUndone
                | RunStatus::UndoFailed => NoticeReason::Failed,
                _ => NoticeReason::Ended,
            };
            Some(fact(reason, about, step, text))
        }
        _ => None,
    }
}

/// The step that asks, of a question of the plan.
fn step_of(asked: &Question) -> Option<&str> {
    match &asked.purpose {
        QuestionPurpose::Step { step } => Some(step),
        _ => None,
    }
}

fn unanswered(asked: &Question) -> String {
    let default = asked.expires.as_ref().and_then(|e| e.default.as_ref());
    let then = match default {
        Some(default) => format!("its default {} was taken", canonical(default)),
        None => "its step failed".to_owned(),
    };
    format!("nobody answered in time, and {then}: {}", asked.text)
}

fn doubt(seq: u64, slot: &Slot) -> NoticeFact {
    NoticeFact {
        occasion: NoticeReason::InDoubt,
        seq,
        about: (SubjectKind::Waits(WaitKind::Settlement), slot.to_string()),
        step: Some(slot.step.clone()),
        text: format!("{slot}: in doubt, no answer shows whether its write took place"),
        if_opens: None,
    }
}

/// What the writer is to tell if a breaker opens by the ends in the same transaction.
fn breakers(seq: u64, admission: &[AdmissionEntry]) -> Vec<NoticeFact> {
    let failing = admission.iter().filter_map(|entry| match entry {
        AdmissionEntry::End {
            tool,
            healthy: Some(false),
            breaker: Some(_),
            ..
        } => Some(tool.clone()),
        _ => None,
    });
    let tools: BTreeSet<String> = failing.collect();
    let fact = |tool: String| NoticeFact {
        occasion: NoticeReason::BreakerOpen,
        seq,
        about: (SubjectKind::Tool, tool.clone()),
        step: None,
        text: format!("the breaker of `{tool}` opened: nothing is sent to it for a while"),
        if_opens: Some(tool),
    };
    tools.into_iter().map(fact).collect()
}

/// One notice, and those that follow while it still waits.
fn of_fact(fact: &NoticeFact, target: &NotifyTarget, state: &State) -> Vec<NewNotice> {
    let (kind, which) = &fact.about;
    let data = json!({
        "occasion": fact.occasion.word(),
        "at_ms": state.spend.last_at,
        "run": state.head.run,
        "goal": state.goals.goal.text,
        "status": state.status().word(),
        "about": { "kind": kind.word(), "which": which },
        "step": fact.step,
        "text": fact.text,
    });
    let about = if fact.if_opens.is_some() {
        which.as_str()
    } else {
        ""
    };
    let first = NewNotice {
        id: format!("{}.{}{about}.{}", state.head.run, fact.seq, target.name),
        run: state.head.run.clone(),
        target: target.name.clone(),
        notice: data,
        due_ms: state.spend.last_at,
        if_opens: fact.if_opens.clone(),
    };
    let waits = matches!(fact.occasion, NoticeReason::Waiting | NoticeReason::InDoubt);
    let mut all = Vec::new();
    if waits && let Some(every) = target.remind {
        all.push(reminder(&first, 1, every));
    }
    if waits && let Some(escalation) = &target.escalate {
        let mut escalated = NewNotice {
            id: format!("{}.to.{}", first.id, escalation.to),
            target: escalation.to.clone(),
            due_ms: later(first.due_ms, escalation.after),
            ..first.clone()
        };
        set(
            &mut escalated.notice,
            "escalated_from",
            target.name.clone().into(),
        );
        all.push(escalated);
    }
    all.insert(0, first);
    all
}

/// The `nth` reminder of a notice, so long after it.
fn reminder(first: &NewNotice, nth: u64, every: Duration) -> NewNotice {
    let mut reminder = NewNotice {
        id: format!("{}.again.{nth}", first.id),
        due_ms: later(first.due_ms, every),
        ..first.clone()
    };
    set(&mut reminder.notice, "reminder", nth.into());
    set(&mut reminder.notice, "of", first.id.clone().into());
    reminder
}

/// The reminder after this one, told at `now`.
pub(crate) fn next_reminder(told: &DueNotice, now: i64, every: Duration) -> Option<NewNotice> {
    let nth = told.notice.get("reminder")?.as_u64()?;
    let first = NewNotice {
        id: told.notice.get("of")?.as_str()?.to_owned(),
        run: told.run.clone(),
        target: told.target.clone(),
        notice: told.notice.clone(),
        due_ms: now,
        if_opens: None,
    };
    Some(reminder(&first, nth + 1, every))
}

/// What a notice is about; none where another version wrote what this one does not know.
pub(crate) fn subject(notice: &Value) -> Option<NoticeSubject<'_>> {
    let text = |pointer| notice.pointer(pointer).and_then(Value::as_str);
    Some(NoticeSubject {
        run: text("/run")?,
        kind: SubjectKind::of(text("/about/kind")?)?,
        which: text("/about/which")?,
    })
}

/// Whether what a notice is about still waits for somebody; true for what does not wait.
pub(crate) fn still_stands(notice: &Value, state: &State) -> bool {
    let Some(NoticeSubject { kind, which, .. }) = subject(notice) else {
        return true;
    };
    match kind {
        SubjectKind::Waits(WaitKind::Approval | WaitKind::Answer) => which
            .parse()
            .is_ok_and(|digest: Digest| is_open(state, &digest)),
        SubjectKind::Waits(WaitKind::Secret) => {
            let missing = state
                .ending
                .paused
                .as_ref()
                .and_then(|by| by.missing.as_deref());
            state.ending.ended.is_none() && missing == Some(which)
        }
        SubjectKind::Waits(WaitKind::Settlement) => state
            .items()
            .any(|(slot, item)| slot.to_string() == which && item.is_in_doubt()),
        SubjectKind::Run | SubjectKind::Tool | SubjectKind::Schedule => true,
    }
}

fn is_open(state: &State, digest: &Digest) -> bool {
    waiting(state)
        .iter()
        .any(|one| one.digest.as_ref() == Some(digest))
}

fn set(notice: &mut Value, name: &str, value: Value) {
    if let Some(object) = notice.as_object_mut() {
        object.insert(name.to_owned(), value);
    }
}

fn later(at: i64, wait: Duration) -> i64 {
    at.saturating_add(i64::try_from(wait.as_millis()).unwrap_or(i64::MAX))
}
