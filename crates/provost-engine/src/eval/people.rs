//! The people of a case: what they say to the cards, questions and doubts of its run.
//!
//! Owns which rule answers what. Says nothing that no rule says: then the run waits, and that is
//! what is graded. INVARIANT: a word goes the way of every person's word, so the policies of the
//! workspace judge whether they may say it.

use provost_plan::digest::Digest;
use provost_plan::expr::{Scope, Template};
use provost_run::call::Slot;
use provost_run::card::{Card, CardSubject, Question, QuestionPurpose};
use provost_run::machine::StepError;
use provost_run::statement::Statement;
use serde_json::Value;

use super::set::{PersonRule, RuleSubject, matches};
use crate::clock::now_ms;
use crate::engine::Engine;
use crate::people::{StatementEnvelope, StatementSubject};
use crate::session::{DriveError, Session, Unwatched};

/// Whether anybody said anything.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Said {
    Something,
    Nothing,
}

/// Lets the people of a case answer what waits, one word.
///
/// # Errors
/// In words for people, if a word is due and nobody of the workspace may say it.
pub(super) async fn speak(
    rules: &[PersonRule],
    engine: &Engine,
    session: &mut Session,
) -> Result<Said, String> {
    let mut due: Vec<(Statement, &PersonRule, String)> = Vec::new();
    for (digest, card) in session.open_cards() {
        if let Some((statement, rule)) = on_card(rules, digest, &card)? {
            due.push((
                statement,
                rule,
                format!("the card of {}", operations(&card)),
            ));
        }
    }
    for (digest, question) in session.open_questions() {
        if let Some((statement, rule)) = on_question(rules, digest, &question) {
            due.push((statement, rule, format!("`{}`", question.text)));
        }
    }
    for slot in session.state().unknown_effects() {
        if let Some((statement, rule)) = on_doubt(rules, session, &slot) {
            due.push((statement, rule, format!("the doubt over `{}`", slot.step)));
        }
    }
    let Some((statement, rule, about)) = due.into_iter().next() else {
        return Ok(Said::Nothing);
    };
    let people = candidates(rule, engine);
    let mut refused = String::from("nobody is listed");
    for by in &people {
        match say(engine, session, statement.clone(), by).await {
            Ok(()) => return Ok(Said::Something),
            Err(Refusal::OfThis(reason)) => refused = reason,
            Err(Refusal::OfAll(reason)) => return Err(reason),
        }
    }
    Err(format!("nobody may answer {about}: {refused}"))
}

enum Refusal {
    /// Somebody else may.
    OfThis(String),
    OfAll(String),
}

async fn say(
    engine: &Engine,
    session: &mut Session,
    statement: Statement,
    by: &str,
) -> Result<(), Refusal> {
    let about = StatementSubject {
        store: engine.inbox().store(),
        run: &session.state().head.run.clone(),
        revision: session.state().in_force.revision,
    };
    let envelope = StatementEnvelope::new(about, statement, by, now_ms(), None)
        .map_err(|error| Refusal::OfAll(error.to_string()))?;
    match session.hear(&envelope, &mut Unwatched).await {
        Ok(()) => Ok(()),
        Err(
            error @ (DriveError::Statement(_)
            | DriveError::Step(StepError::NotAllowed { .. } | StepError::Denied(_))),
        ) => Err(Refusal::OfThis(error.to_string())),
        Err(error) => Err(Refusal::OfAll(error.to_string())),
    }
}

/// Who may be meant: those whom the rule names, else the user and everybody who is listed.
fn candidates(rule: &PersonRule, engine: &Engine) -> Vec<String> {
    if !rule.by.is_empty() {
        return rule.by.clone();
    }
    let workspace = engine.workspace();
    let listed = workspace.people().names().map(str::to_owned);
    std::iter::once(workspace.user().id.clone())
        .chain(listed)
        .collect()
}

fn on_card<'r>(
    rules: &'r [PersonRule],
    digest: Digest,
    card: &Card,
) -> Result<Option<(Statement, &'r PersonRule)>, String> {
    for rule in rules {
        let RuleSubject::Card {
            pattern,
            yes,
            reason,
        } = &rule.about
        else {
            continue;
        };
        let calls = calls_of(card);
        let is_meant = calls.iter().any(|(name, _)| matches(pattern, name));
        if !is_meant || !holds_of_all(rule.when.as_ref(), &calls)? {
            continue;
        }
        let statement = match yes {
            true => Statement::Approve {
                card: digest,
                steps: Vec::new(),
            },
            false => Statement::Reject {
                card: digest,
                reason: reason.clone(),
                all: false,
            },
        };
        return Ok(Some((statement, rule)));
    }
    Ok(None)
}

/// The calls on a card: each operation with its arguments, as far as they are known.
pub(super) fn calls_of(card: &Card) -> Vec<(String, Value)> {
    match &card.subject {
        CardSubject::Plan { steps } => {
            let asks = steps.values();
            asks.map(|ask| (ask.operation.clone(), Value::Null))
                .collect()
        }
        CardSubject::Step { ask, calls, .. } => {
            let calls = calls.iter();
            calls
                .map(|call| (ask.operation.clone(), call.args.clone()))
                .collect()
        }
    }
}

fn operations(card: &Card) -> String {
    let mut names: Vec<String> = calls_of(card).into_iter().map(|(name, _)| name).collect();
    names.dedup();
    names.join(", ")
}

fn holds_of_all(when: Option<&Template>, calls: &[(String, Value)]) -> Result<bool, String> {
    let Some(when) = when else {
        return Ok(true);
    };
    for (_, args) in calls {
        let scope = Scope::new().with("args", args);
        if !when.eval_bool(&scope).map_err(|error| error.to_string())? {
            return Ok(false);
        }
    }
    Ok(true)
}

fn on_question<'r>(
    rules: &'r [PersonRule],
    digest: Digest,
    question: &Question,
) -> Option<(Statement, &'r PersonRule)> {
    let name = match &question.purpose {
        QuestionPurpose::Step { step } | QuestionPurpose::Escalation { step } => step.as_str(),
        QuestionPurpose::Planner { id, .. } => id.as_str(),
        QuestionPurpose::Review { .. } => "review",
    };
    rules.iter().find_map(|rule| match &rule.about {
        RuleSubject::Question { pattern, answer } if matches(pattern, name) => {
            let statement = Statement::Answer {
                question: digest,
                value: answer.clone(),
            };
            Some((statement, rule))
        }
        _ => None,
    })
}

fn on_doubt<'r>(
    rules: &'r [PersonRule],
    session: &Session,
    slot: &Slot,
) -> Option<(Statement, &'r PersonRule)> {
    let state = session.state();
    let write = state.writes.effects.iter().find(|one| one.slot == *slot)?;
    rules.iter().find_map(|rule| match &rule.about {
        RuleSubject::Doubt {
            pattern,
            settled,
            reason,
        } if matches(pattern, &write.operation) => {
            let statement = Statement::Settle {
                slot: slot.clone(),
                attempt: state.attempt_in_doubt(slot),
                settled: *settled,
                output: None,
                reason: reason.clone(),
            };
            Some((statement, rule))
        }
        _ => None,
    })
}
