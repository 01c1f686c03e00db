//! Part of the pass `flow`: the call that undoes a step.
//!
//! Owns the labels of its arguments, in the plan that says how a step is undone and in the revision
//! in which a run does it. INVARIANT: a value that an undoing step sends has the label that the
//! expression had which it is the value of.

use std::collections::BTreeMap;

use super::{Labels, Pass, StepLabels, argument, of_args};
use crate::check::StepRecord;
use crate::diagnostic::Diagnostic;
use crate::label::Label;
use crate::plan::Step;
use crate::plan::undo::undone_by;

/// The record of the step that a step of the run's own undoes, and the labels of its arguments.
pub(super) fn undone<'a>(
    pass: &Pass<'a>,
    step: &Step,
) -> Option<(&'a StepRecord, &'a BTreeMap<String, Label>)> {
    let previous = pass.base.previous.filter(|_| pass.base.undoes)?;
    let (of, _) = undone_by(&step.id.value)?;
    let record = previous.record().steps.get(of)?;
    Some((record, &record.undo.as_ref()?.labels))
}

/// The label of each argument of `undo`.
pub(super) fn labels(
    pass: &Pass<'_>,
    labels: &Labels<'_>,
    step: &Step,
    before: Option<&StepRecord>,
) -> BTreeMap<String, Label> {
    let Some(undo) = &step.undo else {
        return BTreeMap::new();
    };
    let was = before.and_then(|record| record.undo.as_ref());
    let was = was.map(|record| &record.labels);
    of_args(pass, labels, step, (&undo.args, pass.undoing(step)), was)
}

/// What is found about the arguments of `undo`, as about those of any call.
pub(super) fn found(
    pass: &Pass<'_>,
    labels: &Labels<'_>,
    step: &Step,
    own: &StepLabels,
) -> Vec<Diagnostic> {
    let (Some(undo), Some(operation)) = (&step.undo, pass.undoing(step)) else {
        return Vec::new();
    };
    let entries = undo.args.entries().iter();
    entries
        .filter_map(|(name, tree)| {
            let label = own.undo.get(&**name)?;
            argument(labels, step, operation, (name, tree), label)
        })
        .collect()
}
