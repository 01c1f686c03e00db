//! Part of the pass `shape`: what is known of the outputs of steps where something looks at them.
//!
//! Owns what `until` and `accept` say of a step's own output, and what assertions say of those of
//! others. Judges nothing: [`super::solve`] does. INVARIANT: a demand holds of each output that is
//! read, as far as the plan goes on to that place.

use std::collections::BTreeMap;

use crate::check::Pass;
use crate::expr::cases::Case;
use crate::expr::{Root, Segment};
use crate::plan::Step;
use crate::plan::subgoal::parent_of;

/// What holds of the output of each step that succeeded, by its `until` and `accept`; and of every
/// item of a list, by the text of its root.
pub(super) type AcceptedOutputs = BTreeMap<String, Case>;

/// What the `until` and `accept` of each step say of its output, where they say one thing.
pub(super) fn accepted(pass: &Pass<'_>) -> AcceptedOutputs {
    let of_step = |step: &Step| {
        let cases = step.conditions().filter_map(|accept| {
            let mut cases = accept.whole()?.cases(true)?;
            let only = cases.pop()?;
            cases.is_empty().then_some(only)
        });
        let demands = cases.flatten().filter_map(|(mut subject, demand)| {
            let is_own = subject.root == Root::Output;
            subject.root = Root::Step(step.id.value.clone());
            let output = Segment::Field("output".to_owned());
            subject.path.insert(0, output);
            is_own.then_some((subject, demand))
        });
        demands.collect::<Case>()
    };
    // Why not of a list: its output is the list of all, and each item was accepted by itself.
    let steps = pass.plan.steps.iter().filter(|s| s.for_each.is_none());
    let all = steps.map(|step| (step.id.value.clone(), of_step(step)));
    all.filter(|(_, case)| !case.is_empty()).collect()
}

/// The same with what assertions say of outputs, where a run goes on only if they hold.
pub(super) fn asserted<'s>(
    accepted: &AcceptedOutputs,
    assertions: impl Iterator<Item = &'s Step>,
) -> AcceptedOutputs {
    let mut all = accepted.clone();
    // Why not one that is skipped, or that the plan goes on without: it may not hold.
    let holding = assertions.filter(|step| step.when.is_none() && !step.on_failure.may_go_on());
    // Why not that of a subgoal: it is skipped with it.
    let holding = holding.filter(|step| parent_of(&step.id.value).is_none());
    for step in holding {
        let whole = step.asserted().and_then(|held| held.condition.whole());
        let Some(mut cases) = whole.and_then(|whole| whole.cases(true)) else {
            continue;
        };
        let Some(only) = cases.pop().filter(|_| cases.is_empty()) else {
            continue;
        };
        for (subject, demand) in only {
            let of = match &subject.root {
                Root::Step(id) => id.clone(),
                Root::Unknown(each) if subject.is_of_each() => each.clone(),
                _ => continue,
            };
            all.entry(of).or_default().push((subject, demand));
        }
    }
    all
}
