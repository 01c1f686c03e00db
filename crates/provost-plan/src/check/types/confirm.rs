//! Part of the pass `types`: the read that proves a write.
//!
//! Owns nothing of its own: it is typed as a call, and what must hold over it as a guard.
//! INVARIANT: what a confirming read sees is what the run puts into its scope.

use super::super::scope::Site;
use super::{Pass, Types};
use crate::plan::Step;

impl Types {
    /// `confirm` of a step, whose `output` is in scope at `after`.
    pub(super) fn confirm(&mut self, pass: &Pass<'_>, step: &Step, after: &Site<'_>) {
        let Some(confirm) = &step.confirm else {
            return;
        };
        if let Some(operation) = pass.confirming(step) {
            let own = std::mem::take(&mut self.run_checks);
            self.args(pass, after, operation, &confirm.args);
            let checks = std::mem::replace(&mut self.run_checks, own);
            self.run_checks
                .extend(checks.into_iter().map(|check| check.within("confirm")));
        }
        let confirmed = Site::confirmed(pass, step);
        for accept in &confirm.accept {
            self.guard(pass, &confirmed, accept, "`accept` of `confirm`");
        }
    }
}
