//! What several views share: moments, looks of statuses, and the words of the run crate.

use provost_engine::run::call::Slot;
use provost_engine::run::event::{RunStatus, SkipReason, StepStatus};
use provost_engine::run::read::words::skip_reason;
pub use provost_engine::run::read::words::{
    counted as count, duration as lasted, moment, run_status, step_status,
};
use provost_engine::run::state::State;
use provost_plan::check::budget::WorstCase;

use super::page::TextStyle;

/// Now, in milliseconds since 1970.
pub fn now_ms() -> i64 {
    jiff::Timestamp::now().as_millisecond()
}

/// The most a plan can take.
pub fn at_most(worst: &WorstCase) -> String {
    let n = |n: u64, one: &str| count(usize::try_from(n).unwrap_or(usize::MAX), one);
    let wall = lasted(i64::try_from(worst.wall_ms).unwrap_or(i64::MAX));
    let wall = wall.replace(".0 s", " s");
    let wall = wall.strip_suffix(" 0 s").unwrap_or(&wall);
    format!(
        "{}, {}, {wall} without waits for people",
        n(worst.calls, "call"),
        n(worst.attempts, "attempt")
    )
}

/// The look of a step's status.
pub fn step_look(status: StepStatus) -> TextStyle {
    match status {
        StepStatus::Succeeded => TextStyle::Good,
        StepStatus::Failed | StepStatus::InDoubt => TextStyle::Bad,
        StepStatus::WaitingApproval | StepStatus::WaitingAnswer => TextStyle::Warn,
        StepStatus::Running => TextStyle::Strong,
        StepStatus::Pending
        | StepStatus::Ready
        | StepStatus::Skipped
        | StepStatus::Blocked
        | StepStatus::Cancelled => TextStyle::Faint,
    }
}

/// What became of a run of this status word, as the end of a sentence: `it succeeded`.
pub fn run_is(word: &str) -> String {
    let Some(status) = RunStatus::of(word) else {
        return word.to_owned();
    };
    let words = run_status(status);
    match status {
        RunStatus::Planning | RunStatus::Running | RunStatus::Paused | RunStatus::InDoubt => {
            format!("is {words}")
        }
        RunStatus::Rejected
        | RunStatus::Refused
        | RunStatus::Cancelled
        | RunStatus::Undone
        | RunStatus::PartlyUndone
        | RunStatus::UndoFailed => format!("was {words}"),
        RunStatus::WaitingApproval
        | RunStatus::WaitingAnswer
        | RunStatus::Succeeded
        | RunStatus::Failed
        | RunStatus::Expired => words.to_owned(),
    }
}

/// The look of a run's status.
pub fn run_look(status: RunStatus) -> TextStyle {
    match status {
        RunStatus::Succeeded | RunStatus::Undone => TextStyle::Good,
        RunStatus::Failed
        | RunStatus::Rejected
        | RunStatus::Expired
        | RunStatus::Refused
        | RunStatus::Cancelled
        | RunStatus::PartlyUndone
        | RunStatus::UndoFailed
        | RunStatus::InDoubt => TextStyle::Bad,
        RunStatus::WaitingApproval | RunStatus::WaitingAnswer | RunStatus::Paused => {
            TextStyle::Warn
        }
        RunStatus::Planning | RunStatus::Running => TextStyle::Strong,
    }
}

/// Why a step did not run.
pub fn skipped(reason: Option<SkipReason>) -> &'static str {
    reason.map_or("it did not have to run", skip_reason)
}

/// A slot in doubt as a command names it: with the attempt that is in doubt now.
pub fn attempt_in_doubt(state: &State, slot: &Slot) -> String {
    match state.attempt_in_doubt(slot) {
        Some(attempt) => format!("{slot}@{}", attempt.in_command()),
        None => slot.to_string(),
    }
}
