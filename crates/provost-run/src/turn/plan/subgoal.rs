//! Subgoals: when one is refined, what a refinement may be, and what a refined one comes to.
//!
//! Owns the trigger of a refinement and its bounds. Makes no call. INVARIANT: a refinement adds
//! steps of its one subgoal, or its result, and changes nothing else.

use std::collections::BTreeMap;

use provost_plan::check::CheckedPlan;
use provost_plan::codes::Code;
use provost_plan::diagnostic::Diagnostic;
use provost_plan::digest::{canonical, normalize};
use provost_plan::plan::request::Why;
use provost_plan::plan::subgoal::parent_of;
use provost_plan::plan::{Plan, Step, Subgoal};
use provost_plan::source::Span;
use provost_plan::work::WorkBudget;
use serde_json::Value;

use crate::call::Slot;
use crate::event::{Event, StepStatus};
use crate::machine::StepError;
use crate::outcome::Class;
use crate::state::{Dependency, StepState};
use crate::turn::Turn;
use crate::turn::scope::Roots;
use crate::turn::work::keepable;

impl Turn<'_> {
    /// Whether `id` may go on as far as `on` is concerned: a subgoal goes on once its steps have
    /// ended, however they did.
    pub(in crate::turn) fn need_for(&self, id: &str, on: &str) -> Dependency {
        match self.need_of(on) {
            Dependency::Never if parent_of(on) == Some(id) => Dependency::Met,
            need => need,
        }
    }

    /// What the guard of a step says now, with that of the subgoal that it refines; true where
    /// there is none.
    pub(in crate::turn) fn guard(&self, step: &Step) -> Result<bool, String> {
        if step.subgoal().is_some() && self.is_begun(&step.id.value) {
            // Why not asked again: its steps ran because it was true.
            return Ok(true);
        }
        let plan = self.state.plan().map(|plan| plan.checked().plan());
        let parent = plan.and_then(|plan| plan.parent(&step.id.value));
        let of_parent = parent.and_then(|(parent, _)| parent.when.as_ref());
        for when in of_parent.into_iter().chain(&step.when) {
            let roots = Roots::new(&self.purse);
            let says = when.eval_bool(&roots.scope_for(self.state, when.references()));
            if !says.map_err(|error| error.to_string())? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Whether a step of this subgoal ran.
    pub(in crate::turn) fn is_begun(&self, id: &str) -> bool {
        let plan = self.state.plan().map(|plan| plan.checked().plan());
        let mut children = plan.into_iter().flat_map(|plan| plan.children(id));
        let ran = |known: &StepState| {
            known.attempted() || matches!(known.status, StepStatus::Succeeded | StepStatus::Failed)
        };
        children.any(|child| self.state.steps.get(&child.id.value).is_some_and(ran))
    }

    /// What follows for a subgoal of which all that it waits for is there.
    pub(in crate::turn) fn look_at_subgoal(
        &mut self,
        step: &Step,
        subgoal: &Subgoal,
    ) -> Result<(), StepError> {
        let id = &step.id.value;
        let Some(result) = &subgoal.result else {
            self.refine.get_or_insert_with(|| id.clone());
            return Ok(());
        };
        let slot = Slot {
            step: id.clone(),
            item: None,
        };
        let roots = Roots::new(&self.purse);
        let value = result.eval(&roots.scope_for(self.state, result.references()));
        let value = match value {
            Ok(value) => value,
            Err(error) => return self.settle_failed(&slot, Class::Expression, error.to_string()),
        };
        match fitting(subgoal, value, &self.purse) {
            Ok(value) => {
                let bytes = canonical(&value).into_bytes();
                let evidence = self.keep("application/json".to_owned(), bytes);
                self.accept_output(&slot, &value, evidence)
            }
            Err(reason) => self.settle_failed(&slot, Class::OutputInvalid, reason),
        }
    }

    /// Asks for the refinement that nothing but a planner can bring on, once nothing is on its way:
    /// a planner is shown facts.
    pub(in crate::turn) fn ask_to_refine(&mut self) -> Result<(), StepError> {
        if self.state.in_flight() > 0 {
            return Ok(());
        }
        match self.refine.take() {
            Some(step) => self.emit(Event::ReplanRequested {
                why: Why::Refine { step },
            }),
            None => Ok(()),
        }
    }

    /// The plan in force and the subgoal of it that the planner is asked to refine, if it is.
    pub(in crate::turn) fn refined(&self) -> Option<(&Plan, &str)> {
        let asked = self.state.planning.outstanding.as_ref();
        let why = asked.and_then(|request| request.why.as_ref());
        let before = self.state.plan()?;
        Some((before.checked().plan(), why.and_then(Why::refined)?))
    }

    /// Why the plan may not come into force although it passes the check: it does something else
    /// than to refine the subgoal in question.
    pub(in crate::turn) fn beyond_refinement(&self, checked: &CheckedPlan) -> Option<Diagnostic> {
        let (before, id) = self.refined()?;
        beyond(before, checked.plan(), id)
    }
}

/// The value in normal form, if it is what the subgoal promises.
fn fitting(subgoal: &Subgoal, value: Value, purse: &WorkBudget) -> Result<Value, String> {
    let value = normalize(value).map_err(|error| error.to_string())?;
    keepable(&value)?;
    match subgoal.output.violations_within(&value, purse).first() {
        None => Ok(value),
        Some(violation) => Err(format!(
            "the result does not fit `output` at `{}`: {}",
            if violation.pointer.is_empty() {
                "/"
            } else {
                &violation.pointer
            },
            violation.message
        )),
    }
}

/// What a refinement of the subgoal `id` does beyond that, or that it does nothing.
fn beyond(before: &Plan, after: &Plan, id: &str) -> Option<Diagnostic> {
    let found = |span: Span, message: String| {
        let hint = format!(
            "leave the current plan unchanged: add steps `{id}/…`, or the `result` of `{id}`"
        );
        Some(Diagnostic::new(Code::BeyondRefinement, span, message).hint(hint))
    };
    let place = after.step(id).map_or(Span::default(), |step| step.id.span);
    let known: BTreeMap<&str, &Step> = before
        .steps
        .iter()
        .map(|step| (step.id.value.as_str(), step))
        .collect();
    for (name, was) in &known {
        let Some(now) = after.step(name) else {
            return found(place, format!("a refinement of `{id}` leaves out `{name}`"));
        };
        let same = match *name == id {
            true => now.without_result() == was.without_result(),
            false => now.value == was.value,
        };
        if !same {
            return found(
                now.id.span,
                format!("a refinement of `{id}` changes `{name}`"),
            );
        }
    }
    let mut added = 0;
    for step in &after.steps {
        let name = step.id.value.as_str();
        if known.contains_key(name) {
            continue;
        }
        if parent_of(name) != Some(id) {
            return found(
                step.id.span,
                format!("a refinement of `{id}` adds `{name}`"),
            );
        }
        added += 1;
    }
    for field in ["success", "answer", "limits"] {
        if before.value.get(field) != after.value.get(field) {
            return found(place, format!("a refinement of `{id}` changes `{field}`"));
        }
    }
    let is_open = after.step(id).is_some_and(Step::is_open_subgoal);
    if added == 0 && is_open {
        return found(
            place,
            format!("nothing refines `{id}`: no step is added, and no result"),
        );
    }
    None
}
