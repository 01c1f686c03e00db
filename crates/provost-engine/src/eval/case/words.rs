//! What people said in a run, as the rules of a case: by operation and arguments.
//!
//! Owns that translation. Never names a card by its digest: a replay has other moments, and so
//! other cards.

use std::collections::BTreeMap;

use provost_run::card::{CardSubject, QuestionPurpose};
use provost_run::event::{Event, PlannerChoice, SettledBy, Settlement};
use serde_json::{Value, json};

use super::anonymize::Anonymizer;
use super::{CaseError, unfit};

/// The rules, in the order in which they were said, with what stands for their values.
pub(super) fn of_journal(
    events: &[(Event, i64)],
    shown: &Anonymizer,
) -> Result<Vec<Value>, CaseError> {
    let mut cards = BTreeMap::new();
    let mut questions = BTreeMap::new();
    let mut operations = BTreeMap::new();
    let mut said: Vec<Value> = Vec::new();
    let mut approvers: BTreeMap<_, (usize, Vec<String>)> = BTreeMap::new();
    for (event, _) in events {
        match event {
            Event::RunCreated(created) => hold_planner(&created.planner)?,
            Event::ApprovalRequested { card, digest } => drop(cards.insert(*digest, card)),
            Event::QuestionAsked { question, digest } => {
                questions.insert(*digest, &question.purpose);
            }
            Event::AttemptStarted(started) => {
                operations.insert(started.slot.clone(), started.operation.clone());
            }
            Event::ApprovalGiven { card, by, .. } => {
                let known = approvers.entry(*card).or_insert_with(|| {
                    let subject = cards.get(card).map(|card| &card.subject);
                    said.push(on_card(subject, "yes", shown));
                    (said.len() - 1, Vec::new())
                });
                known.1.push(by.clone());
                if let Some(rule) = said.get_mut(known.0) {
                    *rule = said_by(rule.take(), &known.1, shown);
                }
            }
            Event::ApprovalRejected {
                card, by, reason, ..
            } => {
                let subject = cards.get(card).map(|card| &card.subject);
                said.push(rejected(subject, by, reason, shown));
            }
            Event::QuestionAnswered {
                question,
                value,
                by,
                ..
            } => {
                let name = name_of(questions.get(question).copied());
                let rule = json!({ "question": name, "answer": shown.value(value) });
                said.push(said_by(rule, std::slice::from_ref(by), shown));
            }
            Event::DoubtSettled {
                slot,
                settled,
                by: SettledBy::Person { id },
                reason,
                ..
            } => {
                let reason = reason.as_deref().unwrap_or_default();
                said.push(on_doubt(operations.get(slot), *settled, id, reason, shown));
            }
            // Another process went on, and nothing was lost: a replay needs no other process.
            Event::Resumed { by: None, lost, .. } if lost.is_empty() => {}
            event if is_unsayable(event) => {
                let kind = event.kind();
                return Err(unfit(format!("it has `{kind}`, which no case can say")));
            }
            _ => {}
        }
    }
    Ok(said)
}

fn is_unsayable(event: &Event) -> bool {
    matches!(
        event,
        Event::PlanAmended { .. }
            | Event::GoalAmended { .. }
            | Event::Paused { .. }
            | Event::Resumed { .. }
            | Event::CancelRequested { .. }
            | Event::UndoRequested { .. }
    )
}

/// What a rule calls a question.
fn name_of(purpose: Option<&QuestionPurpose>) -> String {
    match purpose {
        Some(QuestionPurpose::Step { step } | QuestionPurpose::Escalation { step }) => step.clone(),
        Some(QuestionPurpose::Planner { id, .. }) => id.clone(),
        Some(QuestionPurpose::Review { .. }) | None => "review".to_owned(),
    }
}

/// Why only playbooks: of others the proposals would have to be kept, which is not done.
fn hold_planner(planner: &PlannerChoice) -> Result<(), CaseError> {
    match planner {
        PlannerChoice::Playbook { .. } => Ok(()),
        other => Err(unfit(format!(
            "{} planned it, and only plans of playbooks are replayed",
            other.author()
        ))),
    }
}

fn rejected(subject: Option<&CardSubject>, by: &str, reason: &str, shown: &Anonymizer) -> Value {
    let mut rule = on_card(subject, "no", shown);
    if let Value::Object(rule) = &mut rule {
        rule.insert("reason".to_owned(), json!(shown.text(reason)));
    }
    said_by(rule, &[by.to_owned()], shown)
}

fn on_doubt(
    operation: Option<&String>,
    settled: Settlement,
    by: &str,
    reason: &str,
    shown: &Anonymizer,
) -> Value {
    let (settle, reason) = (settled.word(), shown.text(reason));
    let rule = json!({ "doubt": operation, "settle": settle, "reason": reason });
    said_by(rule, &[by.to_owned()], shown)
}

/// The rule with who said it, if a replay needs to know.
fn said_by(mut rule: Value, by: &[String], shown: &Anonymizer) -> Value {
    if let (Value::Object(rule), Some(by)) = (&mut rule, shown.speakers(by)) {
        rule.insert("by".to_owned(), json!(by));
    }
    rule
}

fn on_card(subject: Option<&CardSubject>, say: &str, shown: &Anonymizer) -> Value {
    match subject {
        Some(CardSubject::Step { ask, calls, .. }) => {
            let mut rule = json!({ "ask": ask.operation, "say": say });
            if let (Value::Object(rule), [call]) = (&mut rule, calls.as_slice()) {
                // Why JSON: every value of it is one of CEL.
                rule.insert(
                    "when".to_owned(),
                    json!(format!("${{ args == {} }}", shown.value(&call.args))),
                );
            }
            rule
        }
        Some(CardSubject::Plan { .. }) | None => json!({ "ask": "*", "say": say }),
    }
}
