//! The arguments of the calls of a step, its own and those beside.
//!
//! Owns F401 and F403 of arguments, and the label of `output` where the step itself reads it.
//! INVARIANT: what a tool was given it may give back, to its own step too.

use provost_plan::catalog::{Effect, Operation};
use provost_plan::expr::ArgTree;
use provost_plan::expr::tree::Access;
use provost_plan::plan::CallRole;

use super::{Flow, Made, Tag, Trust};
use crate::reference::{Answers, labelled};

/// Labels the arguments of a call, and finds those that must not be given.
pub(super) fn judge(
    flow: &Flow<'_>,
    (place, role): (&str, CallRole),
    args: &ArgTree,
    operation: Option<&Operation>,
    answers: &mut Answers,
) {
    let keeps = operation.is_some_and(|op| op.accepts_secrets);
    let effect = operation.map_or(Effect::Destructive, |op| op.effect);
    for (name, value) in args.entries() {
        let tag = flow.tree(value);
        let named = labelled(role, name);
        // What stands beside the call of the step is placed at the step.
        let at = match role {
            CallRole::Own => format!("{place}.{}", &**name),
            CallRole::Confirm | CallRole::Undo => place.to_owned(),
        };
        answers.labels.insert((place.to_owned(), named), tag);
        let is_content = operation.is_some_and(|op| op.content.contains(&**name));
        // A secret there is an error, beside which the rest does not count.
        if tag.secret && !keeps {
            answers.find("F403", at);
        } else if effect != Effect::Read && !is_content && tag.trust != Trust::Trusted {
            answers.find("F401", at);
        }
    }
}

impl Flow<'_> {
    /// What the call of its own step came back with, for one item.
    pub(super) fn own_output(&self) -> Made {
        let own = self.here.and_then(|at| self.setting.plan.steps.get(at));
        let Some(own) = own else {
            return Made::Flat(Tag::TRUSTED);
        };
        let output = Access::Field("output".to_owned());
        let made = self.step(&own.id.value, Some(&output));
        match own.for_each {
            Some(_) => made.item(),
            None => made,
        }
    }
}
