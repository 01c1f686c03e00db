//! Reads beside a call: the one that shows what it is about, the one that asks about a doubt, and
//! the one that proves a write.
//!
//! Owns how such a read begins, what is kept of its answer and how its attempt ends. Never decides
//! what follows: that is [`super::preview`]'s, [`super::doubt`]'s and [`super::confirm`]'s.
//! INVARIANT: a read beside a call changes nothing of what is known of the call itself.

use std::collections::BTreeSet;

use provost_plan::catalog::{Operation, Spend};
use provost_plan::digest::{Digest, Domain, canonical, normalize};
use provost_plan::expr::{Scope, Template};
use provost_plan::money::Money;
use provost_plan::policy::Verdict;
use serde_json::Value;

use super::Turn;
use crate::call::{Call, Purpose, Slot};
use crate::earlier::EarlierCalls;
use crate::event::{AttemptEnded, AttemptStarted, Event};
use crate::machine::{Blob, StepError};
use crate::outcome::{Class, Landing};

/// A read that may begin.
pub(super) struct AuxiliaryRead<'o> {
    pub(super) slot: Slot,
    pub(super) attempt: u32,
    pub(super) operation: &'o Operation,
    pub(super) closure: Digest,
    pub(super) args: Value,
    pub(super) verdict: Verdict,
    /// The most it costs.
    pub(super) spend: Spend,
}

impl Turn<'_> {
    /// Records that a read begins, and makes it.
    pub(super) fn begin_beside(
        &mut self,
        purpose: Purpose,
        read: AuxiliaryRead<'_>,
        call: Call,
    ) -> Result<(), StepError> {
        let AuxiliaryRead {
            slot,
            attempt,
            operation,
            closure,
            args,
            verdict,
            spend,
        } = read;
        let args_digest = Digest::of_bytes(Domain::Args, canonical(&args).as_bytes());
        self.emit(Event::AttemptStarted(AttemptStarted {
            slot,
            attempt,
            operation: operation.name.clone(),
            tool: operation.digest(),
            closure,
            args,
            secret_args: BTreeSet::new(),
            args_digest,
            key: None,
            verdict,
            approval: None,
            read: true,
            purpose,
            sinks: None,
            money: (spend.money > Money::ZERO).then_some(spend.money),
            tokens: (spend.tokens > 0).then_some(spend.tokens),
            earlier: EarlierCalls::default(),
        }))?;
        self.calls.push(call);
        Ok(())
    }

    /// Keeps the bytes behind an outcome; their digest stands in the journal.
    pub(super) fn keep(&mut self, media: String, bytes: Vec<u8>) -> Digest {
        let digest = Digest::of_bytes(Domain::Evidence, &bytes);
        self.blobs.push(Blob {
            digest,
            media,
            bytes,
        });
        digest
    }

    /// What a read brought, in normal form, if it fits the schema of `operation`.
    pub(super) fn brought(
        &self,
        operation: Option<&str>,
        class: Class,
        output: Option<Value>,
        message: Option<String>,
    ) -> Result<Value, (Class, String)> {
        let wrong = |reason: String| (self.judged(Class::OutputInvalid), reason);
        let output = match (class, output) {
            (Class::Ok, Some(output)) => output,
            (Class::Ok, None) => return Err(wrong("the tool gave no output".to_owned())),
            (class, _) => return Err((class, message.unwrap_or_default())),
        };
        let output = normalize(output).map_err(|error| wrong(error.to_string()))?;
        let operation = operation.and_then(|name| self.rules.catalog.get(name));
        let schema = operation.and_then(|operation| operation.output.as_ref());
        let misfit = schema.map(|schema| schema.violations_within(&output, &self.purse));
        match misfit.and_then(|misfit| misfit.into_iter().next()) {
            Some(violation) => Err(wrong(format!(
                "the output does not fit: {}",
                violation.message
            ))),
            None => Ok(output),
        }
    }

    /// Records how a read ended. `failed` says by which class and why, where it did.
    pub(super) fn end_beside(
        &mut self,
        slot: &Slot,
        attempt: u32,
        failed: Option<(Class, String)>,
        evidence: Digest,
        retry_at: Option<i64>,
    ) -> Result<(), StepError> {
        let (class, message) = match failed {
            Some((class, message)) => (class, Some(message)),
            None => (Class::Ok, None),
        };
        self.emit(Event::AttemptEnded(AttemptEnded {
            slot: slot.clone(),
            attempt,
            class,
            landing: Landing::None,
            message,
            evidence: Some(evidence),
            retry_at,
            lost: false,
            unsent: false,
            secret: false,
            used: None,
            shows: None,
        }))
    }
}

/// Whether every expression of an acceptance holds.
pub(super) fn holds(accept: &[Template], scope: &Scope<'_>) -> Result<(), (Class, String)> {
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
