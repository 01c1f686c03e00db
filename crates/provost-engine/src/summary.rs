//! What the listing shows of a run: made from its state after every append.

use provost_run::card::Purpose;
use provost_run::event::RunStatus;
use provost_run::state::State;
use serde::{Deserialize, Serialize};

use crate::store::Projection;

/// What the listing shows of a run beside status and goal.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Summary {
    /// What it waits for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub waiting_for: Option<WaitingFor>,
    /// The plan in force, from 1; 0 before there is one.
    #[serde(default)]
    pub revision: u32,
    /// Why it ended, or what is in doubt.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
}

/// What a run waits for, and the command that gives it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WaitingFor {
    /// `approval`, `answer` or `settlement`.
    pub kind: String,
    /// The step, if it is about one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub step: Option<String>,
    /// The digest to answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub digest: Option<String>,
    /// The command to type.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command: Option<String>,
}

/// Digits of a digest in a command: enough to be unique, short enough to read.
const DIGEST_DIGITS: usize = 16;

impl Summary {
    /// The summary of a run in this state.
    #[must_use]
    pub fn of(state: &State) -> Self {
        let message = state.ended.as_ref().and_then(|ended| ended.message.clone());
        Self {
            waiting_for: waiting_for(state),
            revision: state.revision,
            message,
        }
    }
}

fn waiting_for(state: &State) -> Option<WaitingFor> {
    match state.status() {
        RunStatus::WaitingApproval => {
            let (digest, card) = state.open_cards().next()?;
            let short: String = digest.hex().chars().take(DIGEST_DIGITS).collect();
            Some(WaitingFor {
                kind: "approval".to_owned(),
                step: card.step().map(str::to_owned),
                digest: Some(digest.to_string()),
                command: Some(format!("provost approve {}@{short}", state.run)),
            })
        }
        RunStatus::WaitingAnswer => {
            let (digest, question) = state.open_questions().next()?;
            let step = match &question.purpose {
                Purpose::Step { step } | Purpose::Escalation { step } => Some(step.clone()),
                Purpose::Planner { .. } => None,
            };
            let short: String = digest.hex().chars().take(DIGEST_DIGITS).collect();
            Some(WaitingFor {
                kind: "answer".to_owned(),
                step,
                digest: Some(digest.to_string()),
                command: Some(format!("provost answer {}@{short} VALUE", state.run)),
            })
        }
        RunStatus::InDoubt => {
            let (step, _) = state.doubts().next()?;
            Some(WaitingFor {
                kind: "settlement".to_owned(),
                step: Some(step.clone()),
                digest: None,
                command: None,
            })
        }
        _ => None,
    }
}

/// The row of the listing for a run in this state.
pub(crate) fn projection(state: &State) -> Projection {
    let summary = serde_json::to_value(Summary::of(state)).unwrap_or_default();
    Projection {
        status: state.status().word().to_owned(),
        goal: state.goal.text.clone(),
        summary,
    }
}
