//! Part of the second reading: a world in which a step succeeded is one that its `until` and
//! its `accept` let pass.

use provost_plan::plan::Step;

use super::{Evaluator, Stop};

impl Evaluator<'_> {
    /// Whether an output is one that its step accepts.
    pub(super) fn was_accepted(&mut self, step: &Step) -> Result<bool, Stop> {
        let number = self.setting.step(&step.id.value).map(|(number, _)| number);
        let key = format!("accept {}", step.id.value);
        if step.for_each.is_some() || number == self.here || !self.settled.insert(key) {
            return Ok(true);
        }
        let here = std::mem::replace(&mut self.here, number);
        let watching = std::mem::replace(&mut self.watching, false);
        let until = step.until.iter().map(|until| &until.condition);
        let mut accepts = until.chain(&step.accept).map(|accept| self.guard(accept));
        let accepted = accepts.try_fold(true, |all, one| Ok(all && one?));
        drop(accepts);
        self.here = here;
        self.watching = watching;
        accepted
    }
}
