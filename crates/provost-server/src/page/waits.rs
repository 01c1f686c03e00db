//! What waits for a person, as inbox and run page show it.
//!
//! Owns the words of an entry and where it leads. Who may is asked of the machine. INVARIANT: each
//! entry says what is waited for, since when, and why not by whoever looks.

use provost_engine::run::call::Slot;
use provost_engine::run::read::question::expected;
use provost_engine::run::read::sentences;
use provost_engine::run::state::{State, WaitKind, Waiting};
use serde_json::Value;

use super::parts;
use crate::markup::{Markup, Seen, seen};

/// Something that is waited for.
pub(crate) struct WaitView {
    pub(crate) key: String,
    pub(crate) title: Seen,
    pub(crate) goal: Seen,
    pub(crate) kind: &'static str,
    pub(crate) facts: Vec<Seen>,
    pub(crate) asked: Markup,
    pub(crate) lapses: Option<Markup>,
    pub(crate) href: String,
    pub(crate) is_card: bool,
    pub(crate) grave: bool,
    pub(crate) why_not: Option<Seen>,
    pub(crate) question: Option<QuestionView>,
    pub(crate) settle: Option<SettleView>,
}

/// A question that can be answered here.
pub(crate) struct QuestionView {
    pub(crate) digest: String,
    pub(crate) expected: Seen,
    pub(crate) choices: Vec<String>,
    pub(crate) nonce: String,
}

/// A write in doubt that can be settled here.
pub(crate) struct SettleView {
    pub(crate) slot: String,
    pub(crate) attempt: String,
    pub(crate) wants_output: bool,
    pub(crate) nonce: String,
}

/// An entry as the listing knows it, without its run.
pub(crate) fn of_row(run: &str, goal: &str, wait: &Waiting) -> WaitView {
    let digest = wait.digest.map(|digest| digest.to_string());
    let href = match (wait.kind, &digest) {
        (WaitKind::Approval, Some(digest)) => format!("/runs/{run}/cards/{digest}"),
        _ => format!("/runs/{run}#waits"),
    };
    let step = wait.slot.as_ref().map(Slot::to_string);
    let key = match (&wait.digest, &step) {
        (Some(digest), _) => format!("{run}-{}", digest.in_command()),
        (None, step) => format!("{run}-{}", step.as_deref().unwrap_or("run")),
    };
    WaitView {
        key,
        title: seen(title(wait, step.as_deref())),
        goal: seen(goal),
        kind: kind(wait.kind),
        facts: facts(wait),
        asked: parts::ago(wait.asked_at),
        lapses: wait.expires_at.map(parts::ago),
        href,
        is_card: wait.kind == WaitKind::Approval,
        grave: wait.kind == WaitKind::Settlement,
        why_not: None,
        question: None,
        settle: None,
    }
}

/// An entry of a run that was read: with its question, or what settles it.
pub(crate) fn of_run(state: &State, wait: &Waiting) -> WaitView {
    let mut view = of_row(&state.head.run, &state.goals.goal.text, wait);
    if let (WaitKind::Answer, Some(digest)) = (wait.kind, &wait.digest)
        && let Some(known) = state.question(digest)
    {
        view.title = seen(&known.question.text);
        view.question = Some(QuestionView {
            digest: digest.to_string(),
            expected: seen(expected(&known.question.answer)),
            choices: choices(&known.question.answer),
            nonce: nonce(),
        });
    }
    if let (WaitKind::Settlement, Some(slot)) = (wait.kind, &wait.slot) {
        let attempt = state.attempt_in_doubt(slot);
        view.settle = Some(SettleView {
            slot: slot.to_string(),
            attempt: attempt.map(|digest| digest.to_string()).unwrap_or_default(),
            wants_output: state.is_output_read(&slot.step),
            nonce: nonce(),
        });
    }
    view
}

/// A number that makes a repeated press one statement; empty where the system has no randomness,
/// and then the statement is given one when it is made.
pub(crate) fn nonce() -> String {
    let mut bytes = [0; 16];
    match getrandom::fill(&mut bytes) {
        Ok(()) => bytes.iter().map(|byte| format!("{byte:02x}")).collect(),
        Err(_) => String::new(),
    }
}

/// The answers of a question that has few: a button each.
fn choices(schema: &Value) -> Vec<String> {
    let words = schema.get("enum").and_then(Value::as_array);
    let of = |word: &Value| match word {
        Value::String(word) => word.clone(),
        other => other.to_string(),
    };
    match words {
        Some(words) if words.len() <= 6 => words.iter().map(of).collect(),
        None if schema.get("type").and_then(Value::as_str) == Some("boolean") => {
            vec!["true".to_owned(), "false".to_owned()]
        }
        _ => Vec::new(),
    }
}

fn title(wait: &Waiting, step: Option<&str>) -> String {
    let operation = wait.operation.as_deref();
    match (wait.kind, step, operation) {
        (WaitKind::Approval, Some(step), Some(operation)) => {
            format!("approve {step}: {operation}")
        }
        (WaitKind::Approval, Some(step), None) => format!("approve {step}"),
        (WaitKind::Approval, None, _) => "approve steps of the plan".to_owned(),
        (WaitKind::Answer, Some(step), _) => format!("answer a question of {step}"),
        (WaitKind::Answer, None, _) => "answer a question of the planner".to_owned(),
        (WaitKind::Settlement, step, operation) => {
            let step = step.unwrap_or("a step");
            let operation = operation.map(|name| format!(": {name}"));
            format!(
                "say whether {step} happened{}",
                operation.unwrap_or_default()
            )
        }
        (WaitKind::Secret, ..) => "set a secret that is missing".to_owned(),
    }
}

fn kind(kind: WaitKind) -> &'static str {
    match kind {
        WaitKind::Approval => "waits for approval",
        WaitKind::Answer => "waits for an answer",
        WaitKind::Settlement => "in doubt",
        WaitKind::Secret => "waits for a secret",
    }
}

fn facts(wait: &Waiting) -> Vec<Seen> {
    let mut facts = Vec::new();
    if let (Some(effect), Some(risk)) = (wait.effect, wait.risk) {
        facts.push(seen(sentences::effect_and_risk(effect, risk)));
    }
    if let Some(requester) = &wait.requester {
        facts.push(seen(format!("asked by {requester}")));
    }
    if let Some(planner) = &wait.planned_by {
        facts.push(seen(format!("planned by {planner}")));
    }
    if let Some(quorum) = wait.quorum.filter(|quorum| *quorum > 1) {
        facts.push(seen(format!("{} of {quorum} yes", wait.approved_by.len())));
    }
    if wait.repeats > 0 {
        facts.push(seen(format!("made before {} times", wait.repeats)));
    }
    facts
}
