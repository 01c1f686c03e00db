//! How much work a turn may make.
//!
//! Owns what follows where a turn has no more to spend. Never measures time: that is the driver's.
//! INVARIANT: with little to spend, a turn that spent it all has no effect (it is taken once more,
//! with more); with all that is allowed, what was too much has failed by a class of its own.

use provost_plan::digest::canonical;
use provost_plan::limits::{KEPT_BYTES_MAX, PLAN_PLAIN_BYTES_MAX, TURN_WORK_LITTLE, TURN_WORK_MAX};
use provost_plan::work::WorkBudget;
use serde_json::Value;

use crate::machine::{Effort, StepError};
use crate::outcome::Class;
use crate::turn::basis::Basis;

/// Why a plan is not checked that would have been, had there been time.
pub(super) const UNCHECKED: &str = "the check of the plan takes longer than allowed";

/// What a plan holds whose check may take long although its text is short.
const DEAR: [&str; 10] = [
    "$ref",
    "$dynamicRef",
    "$recursiveRef",
    "allOf",
    "anyOf",
    "oneOf",
    "attern",
    // Escapes, behind which any of these may stand.
    "\\u",
    "\\U",
    "\\x",
];

impl Effort {
    pub(super) fn purse(self) -> WorkBudget {
        WorkBudget::of(match self {
            Self::Little | Self::Refusing => TURN_WORK_LITTLE,
            Self::All => TURN_WORK_MAX,
        })
    }
}

/// The class of what did not pass: one of its own where there was nothing left to judge with.
pub(super) fn judged(at: Basis<'_>, class: Class) -> Class {
    match class {
        Class::Expression
        | Class::OutputInvalid
        | Class::InvalidArguments
        | Class::AcceptanceFailed
        | Class::Unmet
            if at.purse.is_empty() =>
        {
            Class::WorkExceeded
        }
        class => class,
    }
}

/// Whether a plan of this text may be checked in this turn.
///
/// # Errors
/// [`StepError::Laborious`] if it may be in one with more to spend.
pub(super) fn may_check(at: Basis<'_>, text: &str) -> Result<bool, StepError> {
    let plain = text.len() <= PLAN_PLAIN_BYTES_MAX && !DEAR.iter().any(|word| text.contains(word));
    match at.effort {
        Effort::All => Ok(true),
        _ if plain => Ok(true),
        Effort::Little => Err(StepError::Laborious),
        Effort::Refusing => Ok(false),
    }
}

/// [`Turn::may_check`], of the plan in force.
///
/// # Errors
/// As there.
pub(super) fn may_check_again(at: Basis<'_>) -> Result<bool, StepError> {
    may_check(at, &canonical(&at.state.in_force.document))
}

/// Refuses a turn that spent the little it had.
pub(super) fn within_its_work(at: Basis<'_>) -> Result<(), StepError> {
    if at.effort == Effort::Little && at.purse.is_empty() {
        Err(StepError::Laborious)
    } else {
        Ok(())
    }
}

/// Refuses what is too large for one event of a journal.
pub(super) fn keepable(value: &Value) -> Result<(), String> {
    let bytes = bytes_of(value);
    if bytes > KEPT_BYTES_MAX {
        return Err(format!(
            "it has about {bytes} bytes, more than the {KEPT_BYTES_MAX} that a journal keeps"
        ));
    }
    Ok(())
}

/// The items of what a step runs over, if a journal can keep them.
pub(super) fn items_of(list: Value) -> Result<Vec<Value>, String> {
    keepable(&list).map_err(|reason| format!("the list of `for_each`: {reason}"))?;
    match list {
        Value::Array(items) => Ok(items),
        _ => Err("`for_each` is not a list".to_owned()),
    }
}

/// About how many bytes a value has when it is written.
pub(super) fn bytes_of(value: &Value) -> usize {
    match value {
        Value::Null | Value::Bool(_) => 5,
        Value::Number(_) => 8,
        Value::String(text) => text.bytes().map(written).sum::<usize>() + 2,
        Value::Array(items) => items.iter().map(|item| bytes_of(item) + 1).sum::<usize>() + 2,
        Value::Object(map) => {
            let entries = map
                .iter()
                .map(|(name, item)| name.len() + 4 + bytes_of(item));
            entries.sum::<usize>() + 2
        }
    }
}

/// How many bytes a byte of a text has when it is written: an escape has up to six.
fn written(byte: u8) -> usize {
    match byte {
        b'"' | b'\\' => 2,
        ..b' ' => 6,
        _ => 1,
    }
}
