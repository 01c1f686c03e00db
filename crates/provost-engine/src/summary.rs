//! What the listing shows of a run: made from its state after every append.

use provost_plan::digest::Digest;
use provost_run::card::Purpose;
use provost_run::event::RunStatus;
use provost_run::machine::Run;
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

/// The first digits of a digest, as commands name it.
pub(crate) fn short(digest: &Digest) -> String {
    digest.hex().chars().take(DIGEST_DIGITS).collect()
}

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
            let short = short(digest);
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
                Purpose::Planner { .. } | Purpose::Review { .. } => None,
            };
            let short = short(digest);
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
                command: Some(format!("provost show {}", state.run)),
            })
        }
        RunStatus::Paused => {
            // Why only then: who stopped a run by hand knows that it waits for them.
            state.paused.as_ref()?.missing.as_ref()?;
            Some(WaitingFor {
                kind: "secret".to_owned(),
                step: None,
                digest: None,
                command: Some(format!("provost resume {}", state.run)),
            })
        }
        _ => None,
    }
}

/// When somebody has to look at a run next; none if only a person's word moves it.
fn due(run: &Run) -> Option<i64> {
    let state = run.state();
    if state.ended.is_some() || state.status() == RunStatus::Paused {
        return None;
    }
    let timer = state.next_timer(state.last_at);
    // Why not the last moment: what is due at once stays as it is, and its row with it.
    let now = Some(state.created_at);
    match state.status() {
        // Why now: what was held back begins with whoever takes the run up without holding it.
        _ if run.is_held() => now,
        RunStatus::Planning => now,
        RunStatus::Running if state.in_flight() == 0 => timer.or(now),
        RunStatus::Running => now,
        _ => timer,
    }
}

/// The row of the listing for a run in this state.
pub(crate) fn projection(run: &Run) -> Projection {
    let state = run.state();
    let summary = serde_json::to_value(Summary::of(state)).unwrap_or_default();
    Projection {
        status: state.status().word().to_owned(),
        goal: state.goal.text.clone(),
        summary,
        due_ms: due(run),
    }
}
