//! Stops from outside a run: of all runs, or of what calls one operation.
//!
//! Owns how admission answers while one is in force. Never lifts one. INVARIANT: what is not within
//! its scope is admitted. A stop of a playbook or of a principal is to one run what that of all is.

use provost_run::admission::{Admission, AdmissionEntry, Denial, Stop};
use provost_run::machine::{Input, Output, Run, StepError};

use super::Kind;

/// A call began within the scope of a stop.
pub const BEGUN_STOPPED: &str = "a call began within the scope of a stop";

/// What is stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum Scope {
    /// Every run.
    All,
    /// What calls an operation of this class.
    Of(Kind),
}

impl Scope {
    fn covers(self, operation: &str) -> bool {
        match self {
            Self::All => true,
            Self::Of(kind) => kind.operation() == operation,
        }
    }
}

/// A step of a run while what is in this scope is stopped.
pub(super) fn beside(
    run: &mut Run,
    input: &Input,
    now: i64,
    stopped: Option<Scope>,
) -> Result<Output, StepError> {
    let Some(scope) = stopped else {
        return run.step(input.clone(), now);
    };
    let (before, mut said) = (run.clone(), Admission::default());
    let mut output = run.step(input.clone(), now)?;
    loop {
        let known = said.denials.len();
        for entry in &output.admission {
            if let AdmissionEntry::Begin(begin) = entry
                && scope.covers(&begin.operation)
            {
                let stop = Stop {
                    what: "all runs".to_owned(),
                    by: "bob".to_owned(),
                    reason: "not now".to_owned(),
                };
                said.denials
                    .insert(begin.slot.clone(), Denial::Stopped(stop));
            }
        }
        if said.denials.len() == known {
            return Ok(output);
        }
        *run = before.clone();
        output = run.step_beside(input.clone(), now, &said)?;
    }
}
