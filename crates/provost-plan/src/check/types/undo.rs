//! Part of the pass `types`: the call that undoes a step.
//!
//! Owns nothing of its own: it is typed as any call, with the step's output in scope. INVARIANT:
//! what an undoing call sees is what the run puts into its scope.

use super::super::scope::Site;
use super::{Pass, Types};
use crate::plan::Step;

impl Types {
    /// `undo` of a step, whose `output` is in scope at `after`.
    pub(super) fn undo(&mut self, pass: &Pass<'_>, step: &Step, after: &Site<'_>) {
        if let (Some(undo), Some(operation)) = (&step.undo, pass.undoing(step)) {
            let own = std::mem::take(&mut self.run_checks);
            self.args(pass, after, operation, &undo.args);
            let checks = std::mem::replace(&mut self.run_checks, own);
            let checks = checks.into_iter().map(|check| check.within("undo"));
            self.run_checks.extend(checks);
        }
    }
}
