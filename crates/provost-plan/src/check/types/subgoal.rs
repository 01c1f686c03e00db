//! Part of the pass `types`: the result of a subgoal against the output that it promises.

use super::Types;
use crate::check::Pass;
use crate::check::scope::Site;
use crate::codes::Code;
use crate::diagnostic::Diagnostic;
use crate::plan::Subgoal;
use crate::schema::Fit;

impl Types {
    /// What a subgoal computes fits its `output`, or is looked at when it is there.
    pub(super) fn result(&mut self, pass: &Pass<'_>, site: &Site<'_>, subgoal: &Subgoal) {
        let Some(result) = &subgoal.result else {
            return;
        };
        let (typed, failed) = self.template(pass, site, result);
        if failed || typed.is_reported() {
            return;
        }
        self.weight = subgoal.output.weight();
        match self.fit(&typed.to_type(), subgoal.output.ty()) {
            Fit::Proven => {}
            Fit::Never { reason } => {
                let message = format!("`result` never fits `output`: {reason}");
                let finding = Diagnostic::new(Code::NoOverlap, result.span(), message);
                self.report(finding.label(format!("this is {}", typed.kinds.words())));
            }
            Fit::RunTime { counterexample } => {
                let counterexample = counterexample.as_deref();
                self.check_later(result.span(), "/result", "`result`", counterexample);
            }
        }
    }
}
