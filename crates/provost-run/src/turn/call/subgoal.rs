//! Subgoals that are refined: what their result comes to.
//!
//! Owns the evaluation of a result and its fit with the output that the subgoal promises. Never
//! asks for a refinement: that comes back to the turn. INVARIANT: a subgoal succeeds by its result,
//! once all that it waits for is there.

use provost_plan::digest::{canonical, normalize};
use provost_plan::plan::{Step, Subgoal};
use provost_plan::work::WorkBudget;
use serde_json::Value;

use super::dispatch::Due;
use super::settle::{accept_output, settle_failed};
use crate::call::Slot;
use crate::machine::StepError;
use crate::outcome::Class;
use crate::turn::log::TurnLog;
use crate::turn::scope::Roots;
use crate::turn::work::keepable;

/// What follows for a subgoal of which all that it waits for is there.
pub(super) fn settle_subgoal(
    log: &mut TurnLog<'_>,
    step: &Step,
    subgoal: &Subgoal,
) -> Result<Due, StepError> {
    let id = &step.id.value;
    let Some(result) = &subgoal.result else {
        return Ok(Due::Refine);
    };
    let slot = Slot {
        step: id.clone(),
        item: None,
    };
    let roots = Roots::new(log.purse());
    let value = result.eval(&roots.scope_for(log.state(), result.references()));
    let value = match value {
        Ok(value) => value,
        Err(error) => {
            settle_failed(log, &slot, Class::Expression, error.to_string())?;
            return Ok(Due::Nothing);
        }
    };
    match fitting(subgoal, value, log.purse()) {
        Ok(value) => {
            let bytes = canonical(&value).into_bytes();
            let evidence = log.keep("application/json".to_owned(), bytes);
            accept_output(log, &slot, &value, evidence)?;
        }
        Err(reason) => settle_failed(log, &slot, Class::OutputInvalid, reason)?,
    }
    Ok(Due::Nothing)
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
