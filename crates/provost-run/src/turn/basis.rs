//! What a turn decides on.
//!
//! Owns nothing: it lends what a decision may read, the state, the rules, the moment and what
//! admission said. Never records: that is [`crate::turn::log`]'s. INVARIANT: who is given this
//! alone changes nothing, so a function that takes it is a question.

use provost_plan::policy::Principal;
use provost_plan::work::WorkBudget;

use crate::admission::Admission;
use crate::machine::{Effort, Rules, StepError};
use crate::state::{Act, State};
use crate::turn::DispatchGate;

/// All that a decision of a turn may read.
#[derive(Clone, Copy)]
pub(super) struct Basis<'t> {
    /// The state after the last event that is recorded.
    pub(super) state: &'t State,
    /// The rules that the run is driven under.
    pub(super) rules: &'t Rules,
    /// The moment of the turn, in milliseconds since the epoch.
    pub(super) now: i64,
    /// Whether anything may begin.
    pub(super) pace: DispatchGate,
    /// What admission said of the turn when it was made before.
    pub(super) said: &'t Admission,
    /// How much work the turn may make.
    pub(super) effort: Effort,
    /// What all that it judges is paid from.
    pub(super) purse: &'t WorkBudget,
}

impl Basis<'_> {
    /// Whether who requested the run may also approve: it was begun so, and policy is so still.
    pub(super) fn is_solo(self) -> bool {
        self.state.head.solo && self.rules.policy.is_solo()
    }

    /// Whether policy lets somebody do this to the run.
    pub(super) fn may(self, act: Act<'_>, by: &Principal) -> Result<(), StepError> {
        self.rules.policy.judge(&self.state.facts(act, by))?;
        Ok(())
    }
}
