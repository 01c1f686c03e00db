//! From events to notices: a pure function, called where the events are appended.
//!
//! Owns what a notice says and when it is due. Sends nothing and reads no clock. INVARIANT: equal
//! events give equal notices, with equal ids.

use std::collections::BTreeSet;
use std::time::Duration;

use provost_plan::digest::Digest;
use provost_run::admission::Entry;
use provost_run::call::Slot;
use provost_run::event::{Event, Missing, RunStatus, StepStatus};
use provost_run::state::State;
use serde_json::{Value, json};

use super::{Occasion, Target};
use crate::store::{DueNotice, NewNotice};

/// Something worth telling.
struct Fact {
    occasion: Occasion,
    /// The number of the event it follows from.
    seq: u64,
    /// What it is about: a kind, and which of the kind.
    about: (&'static str, String),
    step: Option<String>,
    text: String,
    command: Option<String>,
    if_opens: Option<String>,
}

/// The notices that follow from events which were appended from `first_seq` on; `state` is the
/// run after them.
pub(crate) fn notices(
    targets: &[Target],
    first_seq: u64,
    events: &[Event],
    admission: &[Entry],
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
    let of = |fact: &Fact| {
        let told = |target: &&Target| target.on.contains(&fact.occasion);
        let about = |target| of_fact(fact, target, state);
        targets
            .iter()
            .filter(told)
            .flat_map(about)
            .collect::<Vec<_>>()
    };
    facts.iter().flat_map(of).collect()
}

fn of_event(seq: u64, event: &Event, state: &State, doubts: &mut BTreeSet<Slot>) -> Option<Fact> {
    let run = &state.run;
    let fact = |occasion, about, step: Option<&str>, text, command| Fact {
        occasion,
        seq,
        about,
        step: step.map(str::to_owned),
        text,
        command,
        if_opens: None,
    };
    match event {
        Event::ApprovalRequested { card, digest } if is_open(state, digest) => {
            let about = ("card", digest.to_string());
            let step = card.step();
            let what = step.map_or_else(|| "the plan".to_owned(), |step| format!("step `{step}`"));
            let command = format!("provost approve {run}@{}", digest.in_command());
            let text = format!("{what} waits for approval");
            Some(fact(Occasion::Waiting, about, step, text, Some(command)))
        }
        Event::QuestionAsked { question, digest } if is_open(state, digest) => {
            let about = ("question", digest.to_string());
            let command = format!("provost answer {run}@{} VALUE", digest.in_command());
            let text = format!("a question waits for an answer: {}", question.text);
            Some(fact(Occasion::Waiting, about, None, text, Some(command)))
        }
        Event::Paused {
            what,
            reason,
            missing: Some(missing),
            ..
        } => {
            let secret = &missing.secret;
            let about = ("secret", secret.clone());
            let text = Missing::in_words(secret, what, reason);
            let command = Some(format!("provost resume {run}"));
            Some(fact(Occasion::Waiting, about, None, text, command))
        }
        Event::StepSettled { slot, .. } | Event::ReconcileGivenUp { slot, .. }
            if state.is_unanswered_doubt(slot) && doubts.insert(slot.clone()) =>
        {
            Some(doubt(seq, slot, state))
        }
        Event::AttemptEnded(ended)
            if state.is_unanswered_doubt(&ended.slot) && doubts.insert(ended.slot.clone()) =>
        {
            Some(doubt(seq, &ended.slot, state))
        }
        Event::RunEnded(ended)
            if matches!(
                ended.status,
                RunStatus::Failed | RunStatus::Refused | RunStatus::Expired
            ) =>
        {
            let about = ("run", run.clone());
            let why = ended.message.as_deref().unwrap_or("it does not say why");
            let text = format!("the run {}: {why}", ended.status.word());
            let step = ended.step.as_deref();
            let command = Some(format!("provost show {run}"));
            Some(fact(Occasion::Failed, about, step, text, command))
        }
        _ => None,
    }
}

fn doubt(seq: u64, slot: &Slot, state: &State) -> Fact {
    Fact {
        occasion: Occasion::InDoubt,
        seq,
        about: ("doubt", slot.to_string()),
        step: Some(slot.step.clone()),
        text: format!("nobody knows whether the write of `{slot}` took place"),
        command: Some(format!("provost show {}", state.run)),
        if_opens: None,
    }
}

/// What the writer is to tell if a breaker opens by the ends in the same transaction.
fn breakers(seq: u64, admission: &[Entry]) -> Vec<Fact> {
    let failing = admission.iter().filter_map(|entry| match entry {
        Entry::End {
            tool,
            healthy: Some(false),
            breaker: Some(_),
            ..
        } => Some(tool.clone()),
        _ => None,
    });
    let tools: BTreeSet<String> = failing.collect();
    let fact = |tool: String| Fact {
        occasion: Occasion::BreakerOpen,
        seq,
        about: ("tool", tool.clone()),
        step: None,
        text: format!("the breaker of `{tool}` opened: nothing is sent to it for a while"),
        command: Some(format!("provost tools show {tool}")),
        if_opens: Some(tool),
    };
    tools.into_iter().map(fact).collect()
}

/// One notice, and those that follow while it still waits.
fn of_fact(fact: &Fact, target: &Target, state: &State) -> Vec<NewNotice> {
    let (kind, which) = &fact.about;
    let data = json!({
        "occasion": fact.occasion.word(),
        "at_ms": state.last_at,
        "run": state.run,
        "goal": state.goal.text,
        "status": state.status().word(),
        "about": { "kind": kind, "which": which },
        "step": fact.step,
        "text": fact.text,
        "command": fact.command,
    });
    let about = if fact.if_opens.is_some() {
        which.as_str()
    } else {
        ""
    };
    let first = NewNotice {
        id: format!("{}.{}{about}.{}", state.run, fact.seq, target.name),
        run: state.run.clone(),
        target: target.name.clone(),
        notice: data,
        due_ms: state.last_at,
        if_opens: fact.if_opens.clone(),
    };
    let waits = matches!(fact.occasion, Occasion::Waiting | Occasion::InDoubt);
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

/// Whether what a notice is about still waits for somebody; true for what does not wait.
pub(crate) fn still_stands(notice: &Value, state: &State) -> bool {
    let text = |pointer| notice.pointer(pointer).and_then(Value::as_str);
    let which = text("/about/which").unwrap_or_default();
    match text("/about/kind") {
        Some("card" | "question") => which
            .parse()
            .is_ok_and(|digest: Digest| is_open(state, &digest)),
        Some("secret") => {
            let missing = state.paused.as_ref().and_then(|by| by.missing.as_deref());
            state.ended.is_none() && missing == Some(which)
        }
        Some("doubt") => state.items().any(|(slot, item)| {
            slot.to_string() == which && item.settled == Some(StepStatus::InDoubt)
        }),
        _ => true,
    }
}

fn is_open(state: &State, digest: &Digest) -> bool {
    state.ended.is_none()
        && (state.open_cards().any(|(open, _)| open == digest)
            || state.open_questions().any(|(open, _)| open == digest))
}

fn set(notice: &mut Value, name: &str, value: Value) {
    if let Some(object) = notice.as_object_mut() {
        object.insert(name.to_owned(), value);
    }
}

fn later(at: i64, wait: Duration) -> i64 {
    at.saturating_add(i64::try_from(wait.as_millis()).unwrap_or(i64::MAX))
}
