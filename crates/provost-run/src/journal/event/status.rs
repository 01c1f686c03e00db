//! Statuses: the words for where a step and a run stand.
//!
//! INVARIANT: a word is never renamed; it stands in journals and in expressions.

pub use provost_plan::expr::StepStatus;
use serde::{Deserialize, Serialize};

/// Why something does not run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SkipReason {
    /// Its `when` is false.
    When,
    /// It was not among the steps or items that a person approved.
    NotApproved,
    /// It is a read, and success was shown without it.
    Proven,
}

/// The status of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RunStatus {
    /// A planner is asked.
    Planning,
    /// Nothing runs until a person says yes.
    WaitingApproval,
    /// Nothing runs until a person answers.
    WaitingAnswer,
    /// Calls are in flight or about to be.
    Running,
    /// Nothing runs until it is resumed.
    Paused,
    /// A write's outcome is unknown, and nothing else can run.
    InDoubt,
    /// The goal's criteria hold.
    Succeeded,
    /// They do not, or a limit was reached.
    Failed,
    /// A person said no.
    Rejected,
    /// Nobody answered in time.
    Expired,
    /// No admissible plan could be made.
    Refused,
    /// A person ended it.
    Cancelled,
    /// A person had it undone after its end, and all that took place is taken back.
    Undone,
    /// Some of it is.
    PartlyUndone,
    /// Nothing of it is.
    UndoFailed,
}

impl RunStatus {
    /// The word of the journal and of the command line.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Planning => "planning",
            Self::WaitingApproval => "waiting_approval",
            Self::WaitingAnswer => "waiting_answer",
            Self::Running => "running",
            Self::Paused => "paused",
            Self::InDoubt => "in_doubt",
            Self::Succeeded => "succeeded",
            Self::Failed => "failed",
            Self::Rejected => "rejected",
            Self::Expired => "expired",
            Self::Refused => "refused",
            Self::Cancelled => "cancelled",
            Self::Undone => "undone",
            Self::PartlyUndone => "partly_undone",
            Self::UndoFailed => "undo_failed",
        }
    }

    /// All of them, in the order of a run's life.
    pub const ALL: [Self; 15] = [
        Self::Planning,
        Self::WaitingApproval,
        Self::WaitingAnswer,
        Self::Running,
        Self::Paused,
        Self::InDoubt,
        Self::Succeeded,
        Self::Failed,
        Self::Rejected,
        Self::Expired,
        Self::Refused,
        Self::Cancelled,
        Self::Undone,
        Self::PartlyUndone,
        Self::UndoFailed,
    ];

    /// The status of this word.
    #[must_use]
    pub fn of(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|status| status.word() == word)
    }

    /// Whether the run is over.
    #[must_use]
    pub fn is_ended(self) -> bool {
        matches!(
            self,
            Self::Succeeded
                | Self::Failed
                | Self::Rejected
                | Self::Expired
                | Self::Refused
                | Self::Cancelled
        ) || self.is_of_undoing()
    }

    /// Whether it says how an undo after the end came out.
    #[must_use]
    pub fn is_of_undoing(self) -> bool {
        matches!(self, Self::Undone | Self::PartlyUndone | Self::UndoFailed)
    }
}
