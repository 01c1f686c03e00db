//! What people said in a run, as the rules of a case: by operation and arguments.
//!
//! Owns that translation. Never names a card by its digest: a replay has other moments, and so
//! other cards.

use std::collections::BTreeMap;

use provost_run::card::{CardSubject, QuestionPurpose};
use provost_run::event::{Event, PlannerChoice, SettledBy};
use serde_json::{Value, json};

use super::{CaseError, unfit};

/// The rules, in the order in which they were said.
pub(super) fn of_journal(events: &[(Event, i64)]) -> Result<Vec<Value>, CaseError> {
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
                    said.push(on_card(subject, "yes"));
                    (said.len() - 1, Vec::new())
                });
                known.1.push(by.clone());
                if let Some(Value::Object(rule)) = said.get_mut(known.0) {
                    rule.insert("by".to_owned(), json!(known.1));
                }
            }
            Event::ApprovalRejected {
                card, by, reason, ..
            } => {
                let subject = cards.get(card).map(|card| &card.subject);
                said.push(rejected(subject, by, reason));
            }
            Event::QuestionAnswered {
                question,
                value,
                by,
                ..
            } => {
                let name = name_of(questions.get(question).copied());
                said.push(json!({ "question": name, "answer": value, "by": [by] }));
            }
            Event::DoubtSettled {
                slot,
                settled,
                by: SettledBy::Person { id },
                reason,
                ..
            } => said.push(json!({
                "doubt": operations.get(slot),
                "settle": settled.word(),
                "reason": reason.clone().unwrap_or_default(),
                "by": [id],
            })),
            // Another process went on, and nothing was lost: a replay needs no other process.
            Event::Resumed { by: None, lost, .. } if lost.is_empty() => {}
            Event::PlanAmended { .. }
            | Event::GoalAmended { .. }
            | Event::Paused { .. }
            | Event::Resumed { .. }
            | Event::CancelRequested { .. }
            | Event::UndoRequested { .. } => {
                let kind = event.kind();
                return Err(unfit(format!("it has `{kind}`, which no case can say")));
            }
            _ => {}
        }
    }
    Ok(said)
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

fn rejected(subject: Option<&CardSubject>, by: &str, reason: &str) -> Value {
    let mut rule = on_card(subject, "no");
    if let Value::Object(rule) = &mut rule {
        rule.insert("reason".to_owned(), json!(reason));
        rule.insert("by".to_owned(), json!([by]));
    }
    rule
}

fn on_card(subject: Option<&CardSubject>, say: &str) -> Value {
    match subject {
        Some(CardSubject::Step { ask, calls, .. }) => {
            let mut rule = json!({ "ask": ask.operation, "say": say });
            if let (Value::Object(rule), [call]) = (&mut rule, calls.as_slice()) {
                // Why JSON: every value of it is one of CEL.
                rule.insert(
                    "when".to_owned(),
                    json!(format!("${{ args == {} }}", call.args)),
                );
            }
            rule
        }
        Some(CardSubject::Plan { .. }) | None => json!({ "ask": "*", "say": say }),
    }
}
