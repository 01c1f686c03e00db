//! Why a run does not take an input.
//!
//! Owns the words of each refusal. Decides none. INVARIANT: a refused input changes nothing.

use provost_plan::digest::Digest;
use provost_plan::plan::request::FindingView;
use provost_plan::policy::ActionDenied;

use crate::call::Slot;
use crate::event::NotUndone;
use crate::state::FoldError;

/// An input the run does not take.
#[derive(Debug, thiserror::Error)]
pub enum StepError {
    /// The run is over.
    #[error("the run is over: {status}")]
    Over {
        /// The status word.
        status: &'static str,
    },
    /// No such request waits.
    #[error("no planner request {id} waits for a reply")]
    NoRequest {
        /// The number.
        id: u64,
    },
    /// No such attempt is in flight.
    #[error("attempt {attempt} of `{slot}` is not in flight")]
    NoAttempt {
        /// Which step and item.
        slot: Slot,
        /// The number.
        attempt: u32,
    },
    /// No such card or question waits.
    #[error("nothing waits for an answer under `{digest}`")]
    NotOpen {
        /// The digest.
        digest: String,
    },
    /// Nobody answered in time, and what follows from that counts.
    #[error("the question `{digest}` expired: an answer counts no more")]
    Lapsed {
        /// The digest.
        digest: String,
    },
    /// Policy does not let this person say that.
    #[error(transparent)]
    Denied(#[from] ActionDenied),
    /// This person may not say that.
    #[error("`{by}` may not {what}: {reason}")]
    NotAllowed {
        /// Who.
        by: String,
        /// What they said, as a verb.
        what: &'static str,
        /// Why not.
        reason: String,
    },
    /// A named step is not on the card.
    #[error("the card does not ask about step `{step}`")]
    NotOnCard {
        /// The step.
        step: String,
    },
    /// The step is not in doubt, or several of its items are.
    #[error("{}", not_in_doubt(slot, doubtful))]
    NotInDoubt {
        /// What was named.
        slot: Slot,
        /// What is in doubt there.
        doubtful: Vec<Slot>,
    },
    /// Another attempt is in doubt than the one that was settled, or none was named.
    #[error("this settles no attempt that is in doubt now: it is {} of `{slot}`", short(*stands))]
    OtherAttempt {
        /// Which.
        slot: Slot,
        /// The attempt that is in doubt now.
        stands: Option<Digest>,
    },
    /// The call may still take place, by what the catalog declares of it.
    #[error("`{slot}` may still take place: its tool gives it another {} s", wait_ms / 1_000 + 1)]
    TooEarly {
        /// Which.
        slot: Slot,
        /// For how long, in milliseconds.
        wait_ms: i64,
    },
    /// The run is not paused.
    #[error("the run is not paused")]
    NotPaused,
    /// It has not ended, so it is not undone after its end.
    #[error("the run has not ended")]
    NotEnded,
    /// Nothing is left to take back.
    #[error("nothing is left to undo{}", remains(*undone, left))]
    NothingToUndo {
        /// How many calls were undone before.
        undone: usize,
        /// What took place, or may have, and is not undone.
        left: Vec<NotUndone>,
    },
    /// The answer does not fit.
    #[error("the answer does not fit the question: {reason}")]
    BadAnswer {
        /// Why.
        reason: String,
    },
    /// What a call is said to have given is none of its outputs.
    #[error("`{slot}` cannot have given that: {reason}")]
    BadOutput {
        /// The call.
        slot: Slot,
        /// Why not.
        reason: String,
    },
    /// The same word was taken before.
    #[error("the statement `{nonce}` was recorded before: a statement counts once")]
    Replayed {
        /// The number that its speaker drew.
        nonce: String,
    },
    /// The amendment cannot be made.
    #[error("the run cannot be amended: {reason}")]
    Amendment {
        /// Why not.
        reason: String,
        /// What the check finds in it.
        findings: Vec<FindingView>,
    },
    /// With little effort, the input cannot be taken in: the run is to be folded anew, and to take
    /// it with all.
    #[error("this statement takes more work to validate than allowed")]
    Laborious,
    /// The machine contradicts itself.
    #[error("the run's journal contradicts itself: {0}")]
    Fold(#[from] FoldError),
}

fn short(digest: Option<Digest>) -> String {
    digest.map_or_else(String::new, |digest| digest.short())
}

fn not_in_doubt(slot: &Slot, doubtful: &[Slot]) -> String {
    let several: Vec<String> = doubtful.iter().map(|slot| format!("`{slot}`")).collect();
    match several.as_slice() {
        [] => format!("`{slot}` is not in doubt"),
        [only] => format!("`{slot}` names no one item: {only} is in doubt"),
        _ => format!(
            "several items of `{slot}` are in doubt: {}",
            several.join(", ")
        ),
    }
}

/// What an undo after the end would find: what was undone, and what cannot be.
fn remains(undone: usize, left: &[NotUndone]) -> String {
    let undone = match undone {
        0 => String::new(),
        count => format!("; undone before: {count}"),
    };
    let left = left.iter();
    let left = left.map(|left| format!("; `{}` is not undone: {}", left.slot, left.because));
    undone + &left.collect::<String>()
}
