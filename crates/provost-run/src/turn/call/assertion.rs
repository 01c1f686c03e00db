//! Assertions: whether what a step says holds.
//!
//! Owns the one look at it, when all that it waits for is there. Calls nothing and asks nobody.
//! INVARIANT: an assertion that does not hold, or has no value, fails its step.

use provost_plan::digest::canonical;
use provost_plan::plan::Assertion;
use serde_json::Value;

use super::beside::holds;
use super::settle::{accept_output, settle_failed};
use crate::call::Slot;
use crate::machine::StepError;
use crate::outcome::Class;
use crate::turn::basis::Basis;
use crate::turn::log::TurnLog;
use crate::turn::scope::Roots;
use crate::turn::secret::message_text;

/// Settles an assertion of which all that it waits for is there.
pub(super) fn settle_assertion(
    log: &mut TurnLog<'_>,
    slot: &Slot,
    assertion: &Assertion,
) -> Result<(), StepError> {
    match judged(log.basis(), assertion) {
        Ok(()) => {
            let value = Value::Bool(true);
            let bytes = canonical(&value).into_bytes();
            let evidence = log.keep("application/json".to_owned(), bytes);
            accept_output(log, slot, &value, evidence)
        }
        Err((class, message)) => settle_failed(log, slot, class, message),
    }
}

/// Whether it holds; if not, by which class it fails, and what is said.
fn judged(at: Basis<'_>, assertion: &Assertion) -> Result<(), (Class, String)> {
    let condition = &assertion.condition;
    let roots = Roots::new(at.purse);
    let scope = roots.scope_for(at.state, condition.references());
    let said = match holds([condition], &scope) {
        Err((Class::AcceptanceFailed, said)) => said,
        other => return other,
    };
    // Why the condition instead: a message that cannot be said is no reason of another class.
    let own = assertion.message.as_ref();
    let own = own.and_then(|message| message_text(at, message));
    Err((Class::AcceptanceFailed, own.unwrap_or(said)))
}
