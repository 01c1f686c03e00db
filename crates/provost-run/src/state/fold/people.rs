//! What people were asked and said: cards, approvals, questions, answers.
//!
//! INVARIANT: a yes counts for what its card names, and closes that card.

use std::sync::Arc;

use provost_plan::digest::Digest;
use provost_plan::plan::request::Why;
use serde_json::Value;

use super::FoldError;
use crate::card::{Card, CardSubject, QuestionPurpose};
use crate::event::StepStatus;
use crate::state::chain::{AGAIN, reviewed};
use crate::state::{CardState, Planning, State, StepState};

pub(super) fn approval_requested(state: &mut State, card: &Card, digest: Digest) {
    if let CardSubject::Step { step, calls, .. } = &card.subject
        && let Some(step) = state.steps.get_mut(step)
    {
        step.set_status(StepStatus::WaitingApproval);
        for call in calls {
            if let Some(item) = step.items.get_mut(call.item.unwrap_or(0)) {
                item.consent.card = Some(digest);
                // Why: what is asked anew is shown as it is then.
                item.consent.preview = None;
            }
        }
    }
    let opened = CardState {
        card: card.clone(),
        approved_by: Default::default(),
        valid_until: i64::MAX,
        agreed: None,
        open: true,
    };
    state.people.cards.insert(digest, opened);
}

pub(super) fn close_card(
    state: &mut State,
    digest: Digest,
    kind: &'static str,
) -> Result<CardState, FoldError> {
    let card = state
        .people
        .cards
        .get_mut(&digest)
        .ok_or_else(|| FoldError::Unknown {
            kind,
            name: digest.to_string(),
        })?;
    card.open = false;
    let closed = card.clone();
    if let CardSubject::Step { step, calls, .. } = &closed.card.subject
        && let Some(step) = state.steps.get_mut(step)
    {
        step.set_status(StepStatus::Ready);
        for call in calls {
            if let Some(item) = step.items.get_mut(call.item.unwrap_or(0)) {
                item.consent.card = None;
            }
        }
    }
    Ok(closed)
}

pub(super) fn approval_given(
    state: &mut State,
    digest: Digest,
    by: &str,
    named: &[String],
    complete: bool,
) -> Result<(), FoldError> {
    let kind = "ApprovalGiven";
    let card = state
        .people
        .cards
        .get_mut(&digest)
        .ok_or_else(|| FoldError::Unknown {
            kind,
            name: digest.to_string(),
        })?;
    let yes = card
        .card
        .meant(named)
        .map_err(|name| FoldError::Unknown { kind, name })?;
    // Why: each of several people must have said yes to it, whatever the others named beside it.
    let agreed = match card.agreed.take() {
        Some(before) => before.intersection(&yes).cloned().collect(),
        None => yes,
    };
    card.approved_by.insert(by.to_owned());
    card.agreed = Some(agreed.clone());
    if !complete {
        return Ok(());
    }
    let closed = close_card(state, digest, kind)?;
    match &closed.card.subject {
        CardSubject::Plan { steps } => {
            for (id, ask) in steps {
                if !agreed.contains(id) {
                    state.followups.leave_out(id, ask.closure);
                } else if let Some(plan) = &mut state.in_force.plan {
                    Arc::make_mut(plan).grant(id, ask.closure);
                }
            }
        }
        CardSubject::Step {
            step: id, calls, ..
        } => {
            if let Some(step) = state.steps.get_mut(id) {
                for call in calls.iter().filter(|call| agreed.contains(&call.name(id))) {
                    if let Some(item) = step.items.get_mut(call.item.unwrap_or(0)) {
                        item.consent.approved = Some((digest, call.args_digest));
                    }
                }
            }
        }
    }
    Ok(())
}

/// Notes until when a yes counts: a card as long as the first of its yeses.
pub(super) fn yes_lasts(state: &mut State, digest: Digest, until: i64) {
    if let Some(card) = state.people.cards.get_mut(&digest) {
        card.valid_until = card.valid_until.min(until);
    }
}

pub(super) fn approvals_revised<'a>(state: &mut State, gone: impl Iterator<Item = &'a String>) {
    for id in gone {
        if let Some(plan) = &mut state.in_force.plan {
            Arc::make_mut(plan).revoke(id);
        }
        for card in state.people.cards.values_mut() {
            if card.card.step() == Some(id) {
                card.open = false;
            }
            if let Some(agreed) = &mut card.agreed {
                agreed.remove(id);
            }
        }
        if let Some(step) = state.steps.get_mut(id) {
            for item in &mut step.items {
                item.consent.card = None;
                item.consent.approved = None;
            }
            if step.status == StepStatus::WaitingApproval {
                step.set_status(StepStatus::Pending);
            }
        }
    }
    let steps = &state.steps;
    for card in state.people.cards.values_mut() {
        let names_gone = card
            .card
            .step()
            .is_some_and(|step| !steps.contains_key(step));
        if names_gone || card.card.step().is_none() {
            card.open = false;
        }
    }
}

pub(super) fn question_answered(
    state: &mut State,
    digest: Digest,
    value: &Value,
    by: &str,
) -> Result<(), FoldError> {
    let kind = "QuestionAnswered";
    let asked = state
        .people
        .questions
        .get_mut(&digest)
        .ok_or_else(|| FoldError::Unknown {
            kind,
            name: digest.to_string(),
        })?;
    asked.answer = Some(value.clone());
    asked.open = false;
    match asked.question.purpose.clone() {
        QuestionPurpose::Step { step } => state.in_force.authorship.says(&step, "answer", by),
        QuestionPurpose::Planner { id, .. } => {
            state.builds_on(by);
            state
                .planning
                .answers
                .push(serde_json::json!({ "id": id, "value": value }));
            if state.open_questions().next().is_none()
                && let Some(request) = state.planning.outstanding.take()
            {
                state.planning.wanted = request.why;
            }
        }
        QuestionPurpose::Escalation { step } => match value.as_str() {
            Some("continue") => state.followups.excuse(&step),
            Some("replan") => state.followups.send_back(&step),
            _ => {
                let class = state
                    .failure(&step)
                    .map_or("", |(class, _)| class.word())
                    .to_owned();
                state.ending.stopping = Some(Why::StepFailed { step, class });
            }
        },
        QuestionPurpose::Review { .. } => reviewed(state, value.as_str() == Some(AGAIN)),
    }
    Ok(())
}

/// Nobody answered in time: what its step comes to is another event, and nobody's word.
pub(super) fn question_expired(state: &mut State, digest: Digest) -> Result<(), FoldError> {
    let asked = state.people.questions.get_mut(&digest);
    let asked = asked.ok_or_else(|| FoldError::Unknown {
        kind: "QuestionExpired",
        name: digest.to_string(),
    })?;
    (asked.open, asked.expired) = (false, true);
    Ok(())
}

/// Closes questions of steps that no longer wait for an answer.
pub(super) fn withdraw_questions(state: &mut State) {
    let steps = &state.steps;
    for asked in state.people.questions.values_mut() {
        if let QuestionPurpose::Step { step } = &asked.question.purpose {
            let waits = |known: &StepState| known.status == StepStatus::WaitingAnswer;
            asked.open &= steps.get(step).is_some_and(waits);
        }
    }
}

/// What waited for a planner, or for a person's word on a failure, is overtaken by an amendment.
pub(super) fn plan_amended(state: &mut State, by: &str) {
    let requests = state.planning.requests;
    state.planning = Planning {
        requests,
        ..Planning::default()
    };
    state.in_force.amender = Some(by.to_owned());
    state.people.amenders.insert(by.to_owned());
    state.followups.overtake();
    let failed = state
        .steps
        .iter()
        .filter(|(_, step)| step.status == StepStatus::Failed);
    failed.for_each(|(id, _)| state.followups.ask(id));
    for asked in state.people.questions.values_mut() {
        if !matches!(asked.question.purpose, QuestionPurpose::Step { .. }) {
            asked.open = false;
        }
    }
}
