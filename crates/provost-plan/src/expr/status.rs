//! The status of a step: the words that stand in journals and in expressions.
//!
//! Owns the only list of them, for the check and for the run alike. INVARIANT: a word is never
//! renamed; an expression that names another word is an error of the check.

use serde::{Deserialize, Serialize};

/// The status of a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StepStatus {
    /// It waits for others.
    Pending,
    /// It may start.
    Ready,
    /// An attempt is in flight, or will be.
    Running,
    /// It waits for a person's yes.
    WaitingApproval,
    /// It waits for a person's answer.
    WaitingAnswer,
    /// Its acceptance holds.
    Succeeded,
    /// It did not have to run.
    Skipped,
    /// It ended without success.
    Failed,
    /// What it waits for did not come.
    Blocked,
    /// Nobody knows whether its effect took place.
    InDoubt,
    /// The run was cancelled before it ended.
    Cancelled,
}

impl StepStatus {
    /// Every status, in the order of a step's life.
    pub const ALL: [Self; 11] = [
        Self::Pending,
        Self::Ready,
        Self::Running,
        Self::WaitingApproval,
        Self::WaitingAnswer,
        Self::Succeeded,
        Self::Skipped,
        Self::Failed,
        Self::Blocked,
        Self::InDoubt,
        Self::Cancelled,
    ];

    /// The words of all, in the order of [`Self::ALL`].
    #[must_use]
    pub fn words() -> [&'static str; 11] {
        Self::ALL.map(Self::word)
    }

    /// The word of the journal and of expressions.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Ready => "ready",
            Self::Running => "running",
            Self::WaitingApproval => "waiting_approval",
            Self::WaitingAnswer => "waiting_answer",
            Self::Succeeded => "succeeded",
            Self::Skipped => "skipped",
            Self::Failed => "failed",
            Self::Blocked => "blocked",
            Self::InDoubt => "in_doubt",
            Self::Cancelled => "cancelled",
        }
    }

    /// Whether it can no longer change within this plan.
    #[must_use]
    pub fn is_final(self) -> bool {
        matches!(
            self,
            Self::Succeeded
                | Self::Skipped
                | Self::Failed
                | Self::Blocked
                | Self::InDoubt
                | Self::Cancelled
        )
    }
}

#[cfg(test)]
mod tests {
    use super::StepStatus;

    #[test]
    fn every_status_has_one_word_in_journals_and_in_expressions() {
        for (at, status) in StepStatus::ALL.into_iter().enumerate() {
            assert_eq!(status as usize, at);
            assert_eq!(serde_json::json!(status), status.word());
        }
        assert_eq!(StepStatus::Cancelled as usize + 1, StepStatus::ALL.len());
    }
}
