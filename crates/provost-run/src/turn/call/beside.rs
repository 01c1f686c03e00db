//! Reads beside a call: the one that shows what it is about, the one that asks about a doubt, and
//! the one that proves a write.
//!
//! Owns the one way to such a read (arguments that fit, policy, limits, admission), what is kept of
//! its answer and how its attempt ends. Never decides what follows: that is [`super::doubt`]'s,
//! [`super::confirm`]'s and [`crate::turn::people::preview`]'s.
//! INVARIANT: a read beside a call changes nothing of what is known of the call itself.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use provost_plan::amount::Totals;
use provost_plan::catalog::Operation;
use provost_plan::digest::{Digest, Domain, canonical, normalize};
use provost_plan::expr::{Scope, Template};
use provost_plan::label::Label;
use provost_plan::money::Money;
use provost_plan::plan::CallRole;
use provost_plan::policy::{CallFacts, Decision, Verdict};
use serde_json::Value;

use super::admit::BREAKER_DEFERRALS_MAX;
use super::limit::{Reached, added, known, limit_reached};
use super::origin::reads_accepted;
use crate::admission::Denial;
use crate::call::{Call, PREVIEW_ATTEMPT, Purpose, Slot};
use crate::earlier::EarlierCalls;
use crate::event::{AttemptEnded, AttemptStarted};
use crate::machine::StepError;
use crate::outcome::{Class, Landing};
use crate::state::{ItemState, State};
use crate::turn::basis::Basis;
use crate::turn::log::TurnLog;
use crate::turn::work::judged;

/// A read that policy permits, and that has still to find its place.
pub(crate) struct AuxiliaryRead {
    slot: Slot,
    purpose: Purpose,
    operation: Arc<Operation>,
    args: Value,
    verdict: Verdict,
}

/// Why a read does not begin.
pub(crate) enum Hindrance {
    /// A limit of the run.
    Limit(Reached),
    /// It was not admitted beside what other runs do.
    Denied(Denial),
    /// The plan in force has no such read.
    NotInPlan,
}

/// The read of `operation`, if its arguments fit and policy permits it by itself.
pub(crate) fn permitted(
    at: Basis<'_>,
    slot: &Slot,
    purpose: Purpose,
    operation: &Arc<Operation>,
    args: Value,
) -> Result<AuxiliaryRead, String> {
    let misfit = operation.input.violations_within(&args, at.purse);
    if let Some(violation) = misfit.first() {
        let (place, message) = (&violation.pointer, &violation.message);
        let of = match purpose {
            Purpose::Reconcile => " of the reconcile read",
            _ => "",
        };
        return Err(format!("argument `{place}`{of}: {message}"));
    }
    let verdict = verdict_on_read(at, slot, &purpose, operation, &args);
    if verdict.decision != Decision::Permit {
        let read = match purpose {
            Purpose::Reconcile => format!("`{}`", operation.name),
            _ => "it".to_owned(),
        };
        return Err(format!("policy does not permit {read} by itself"));
    }
    Ok(AuxiliaryRead {
        slot: slot.clone(),
        purpose,
        operation: Arc::clone(operation),
        args,
        verdict,
    })
}

/// Policy's word on a read. Where the operator declares it, its arguments come from the call's:
/// each is as little trusted as the least trusted of those.
fn verdict_on_read(
    at: Basis<'_>,
    slot: &Slot,
    purpose: &Purpose,
    read: &Operation,
    args: &Value,
) -> Verdict {
    let plan = at.state.plan();
    let known = plan.and_then(|plan| plan.checked().step(&slot.step));
    let args = args.as_object();
    let planned = known
        .filter(|_| *purpose == Purpose::Confirm)
        .and_then(|(step, record)| {
            let labels = &record.confirm.as_ref()?.labels;
            Some((step, labels))
        });
    let inputs_validated =
        planned.is_none_or(|(step, _)| reads_accepted(at, step, CallRole::Confirm));
    let joined: BTreeMap<String, Label>;
    let (role, labels) = match planned {
        Some((step, labels)) => (step.role().unwrap_or_default(), labels),
        None => {
            let all = known.map(|(_, record)| Label::join_all(record.labels.values()));
            let all = all.unwrap_or_else(Label::trusted);
            let names = args.into_iter().flat_map(serde_json::Map::keys);
            joined = names.map(|name| (name.clone(), all.clone())).collect();
            // Why none: the read is the operator's, whatever role the write was in.
            ("", &joined)
        }
    };
    let trusted = Label::trusted();
    at.rules.policy.decide(&CallFacts {
        principal: &at.state.head.principal,
        operation: read,
        role,
        args: args.unwrap_or(&serde_json::Map::new()),
        unknown: &BTreeSet::new(),
        labels,
        control: known.map_or(&trusted, |(_, record)| &record.control),
        inputs_validated,
        // Why: the call that it is made beside was judged by its values.
        values_from_goal: true,
        repeats: Some(0),
        totals: plan.map(|plan| &plan.checked().record().totals),
    })
}

/// Records that a read begins, and makes it; or says what keeps it from beginning.
pub(crate) fn begin_read(
    log: &mut TurnLog<'_>,
    read: AuxiliaryRead,
) -> Result<Result<(), Hindrance>, StepError> {
    let AuxiliaryRead {
        slot,
        purpose,
        operation,
        args,
        verdict,
    } = read;
    let text = canonical(&args);
    let spend = operation.spend(u64::try_from(text.len()).ok());
    let item = log.state().item(&slot);
    let unconfirmed = item.is_none_or(|item| item.confirm_reads().is_none());
    let counts = purpose == Purpose::Confirm && unconfirmed;
    let attempt = match &purpose {
        Purpose::Preview { .. } => PREVIEW_ATTEMPT,
        _ => item.map_or(1, ItemState::next_attempt),
    };
    // Why none of the others: they are provost's own, and no part of the plan.
    let values = match counts {
        true => added(log.state(), &slot, true, &operation, &args),
        false => Totals::new(),
    };
    if let Some(limit) = limit_reached(log.state(), counts, &spend, &values) {
        return Ok(Err(Hindrance::Limit(limit)));
    }
    match log.said().denials.get(&slot) {
        // Why: a preview repeats nothing that another run is in doubt about.
        Some(Denial::Doubt { .. }) if purpose.is_preview() => {}
        Some(denial) => return Ok(Err(Hindrance::Denied(denial.clone()))),
        None => {}
    }
    let plan = log.state().plan();
    let Some((_, record)) = plan.and_then(|plan| plan.checked().step(&slot.step)) else {
        return Ok(Err(Hindrance::NotInPlan));
    };
    let intent = AttemptStarted {
        attempt,
        operation: operation.name.clone(),
        tool: operation.digest(),
        closure: record.closure,
        args,
        secret_args: BTreeSet::new(),
        args_digest: Digest::of_bytes(Domain::Args, text.as_bytes()),
        key: None,
        verdict,
        approval: None,
        read: true,
        purpose,
        sinks: None,
        money: (spend.money > Money::ZERO).then_some(spend.money),
        tokens: (spend.tokens > 0).then_some(spend.tokens),
        values: known(&values),
        earlier: EarlierCalls::default(),
        timeout_ms: None,
        narrowed: false,
        slot,
    };
    Ok(match call_of_intent(log.basis(), &intent) {
        Some(call) => {
            log.begin(intent, call)?;
            Ok(())
        }
        None => Err(Hindrance::NotInPlan),
    })
}

/// The call that an intent records, if the plan in force has it.
pub(super) fn call_of_intent(at: Basis<'_>, intent: &AttemptStarted) -> Option<Call> {
    Call::new(at.state.plan()?, &at.rules.catalog, intent)
}

/// Why the breaker of a tool, which put an attempt off so often, makes it give up.
pub(super) fn gives_up<'d>(state: &State, slot: &Slot, denial: &'d Denial) -> Option<&'d str> {
    let deferrals = state.item(slot).map_or(0, |item| item.history.deferrals);
    match denial {
        Denial::Later {
            broken: true,
            because,
            ..
        } if deferrals >= BREAKER_DEFERRALS_MAX => Some(because),
        _ => None,
    }
}

/// What the read in flight at a slot brought, in normal form, if it fits its schema.
pub(crate) fn brought(
    at: Basis<'_>,
    slot: &Slot,
    class: Class,
    output: Option<Value>,
    message: Option<String>,
) -> Result<Value, (Class, String)> {
    let wrong = |reason: String| (judged(at, Class::OutputInvalid), reason);
    let output = match (class, output) {
        (Class::Ok, Some(output)) => output,
        (Class::Ok, None) => return Err(wrong("the tool gave no output".to_owned())),
        (class, _) => return Err((class, message.unwrap_or_default())),
    };
    let output = normalize(output).map_err(|error| wrong(error.to_string()))?;
    let flight = at.state.item(slot).and_then(|i| i.in_flight.as_ref());
    let operation = flight.and_then(|flight| at.rules.catalog.get(&flight.operation));
    let schema = operation.and_then(|operation| operation.output.as_ref());
    let misfit = schema.map(|schema| schema.violations_within(&output, at.purse));
    match misfit.and_then(|misfit| misfit.into_iter().next()) {
        Some(violation) => Err(wrong(format!(
            "the output does not fit: {}",
            violation.message
        ))),
        None => Ok(output),
    }
}

/// How a read ended. `failed` says by which class and why, where it did.
pub(super) fn read_ended(
    slot: &Slot,
    attempt: u32,
    failed: Option<(Class, String)>,
    evidence: Digest,
) -> AttemptEnded {
    let (class, message) = match failed {
        Some((class, message)) => (class, Some(message)),
        None => (Class::Ok, None),
    };
    AttemptEnded {
        message,
        evidence: Some(evidence),
        ..AttemptEnded::new(slot, attempt, class, Landing::None)
    }
}

/// Whether every expression of an acceptance holds.
pub(crate) fn holds<'t>(
    accept: impl IntoIterator<Item = &'t Template>,
    scope: &Scope<'_>,
) -> Result<(), (Class, String)> {
    for expression in accept {
        match expression.eval_bool(scope) {
            Ok(true) => {}
            Ok(false) => {
                let message = format!("`{}` does not hold", expression.text());
                return Err((Class::AcceptanceFailed, message));
            }
            Err(error) => return Err((Class::Expression, error.to_string())),
        }
    }
    Ok(())
}
