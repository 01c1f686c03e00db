//! Doubt: effects of which nobody knows whether they took place, and how that ends.
//!
//! Owns the reconcile read, a person's settlement and what follows from either. Never repeats the
//! write itself. INVARIANT: a doubt ends by an event that says who ended it, and by nothing else.

use std::sync::Arc;

use provost_plan::catalog::{Operation, Reconcile, WriteInDoubt};
use provost_plan::digest::{Digest, canonical};
use provost_plan::limits::RECONCILE_READS_MAX;
use provost_plan::plan::Retry;
use provost_plan::policy::OperationFacts;
use serde_json::Value;

use super::beside::{AuxiliaryRead, Hindrance};
use crate::admission::Denial;
use crate::call::{Purpose, Slot};
use crate::event::{Event, SettledBy, Settlement, StepStatus};
use crate::machine::StepError;
use crate::outcome::{Class, Landing, Reply};
use crate::state::{Act, ItemState};
use crate::statement::{Signer, StatementRecord};
use crate::turn::Turn;

/// Who ends a doubt, and what is recorded of what they said.
struct SettlementSource {
    by: SettledBy,
    attempt: Option<Digest>,
    reason: Option<String>,
    output: Option<Value>,
    record: Option<StatementRecord>,
}

impl Turn<'_> {
    /// Settles a step or item whose effect may or may not have taken place.
    pub(in crate::turn) fn settle_in_doubt(
        &mut self,
        slot: &Slot,
        class: Class,
        message: String,
    ) -> Result<(), StepError> {
        let reconcile = self.reconcile_of(slot).map(|(_, reconcile)| reconcile);
        let wait = reconcile.and_then(|reconcile| i64::try_from(reconcile.final_after_ms).ok());
        self.emit(Event::StepSettled {
            slot: slot.clone(),
            status: StepStatus::InDoubt,
            class: Some(class),
            message: Some(message),
            reconcile_at: wait.map(|wait| self.now.saturating_add(wait)),
            created: None,
        })?;
        self.settle_list_of(slot)
    }

    /// The operation that was called and its reconcile read, if it has one that can be believed
    /// and is still the one that was called.
    fn reconcile_of(&self, slot: &Slot) -> Option<(Arc<Operation>, Reconcile)> {
        let (_, operation) = self.step_and_operation(&slot.step)?;
        let reconcile = operation.reconcile.as_ref()?;
        let catalog = &self.rules.catalog;
        let called = self.state.item(slot).and_then(|item| item.tool);
        let same = called == catalog.digest(&operation.name);
        (same && catalog.is_reconciled(&operation.name))
            .then(|| (operation.clone(), reconcile.clone()))
    }

    /// Slots in doubt about which the tool can still be asked.
    fn reconcilable(&self) -> Vec<(Slot, Option<i64>)> {
        let open = self.state.items().filter(|(_, item)| {
            item.settled == Some(StepStatus::InDoubt)
                // Why not of what surely took place: only what it gave is not known.
                && item.landing != Some(Landing::Happened)
                && item.in_flight.is_none()
                && item.reconcile_tries < RECONCILE_READS_MAX
        });
        open.map(|(slot, item)| (slot, item.retry_at))
            .filter(|(slot, _)| self.reconcile_of(slot).is_some())
            .collect()
    }

    /// Whether a read about a doubt is on its way or will be.
    pub(in crate::turn) fn is_reconciling(&self) -> bool {
        let asks = |item: &ItemState| item.purpose() == Some(&Purpose::Reconcile);
        self.state.items().any(|(_, item)| asks(item)) || !self.reconcilable().is_empty()
    }

    /// Asks about every doubt whose time has come.
    pub(in crate::turn) fn reconcile_ready(&mut self) -> Result<(), StepError> {
        // Why effects and not steps: a list goes on while one of its items is in doubt.
        if self.state.unsure_effects().next().is_none() {
            return Ok(());
        }
        self.give_up_unasked()?;
        for (slot, due) in self.reconcilable() {
            if self.state.ending.paused.is_some() {
                return Ok(());
            }
            let full = self.state.in_flight() as u64 >= self.state.limits_in_force().concurrency;
            if full || due.is_some_and(|at| at > self.now) {
                continue;
            }
            match self.inquiry(&slot) {
                Ok(inquiry) => self.inquire(slot, inquiry)?,
                Err(reason) => self.emit(Event::ReconcileGivenUp { slot, reason })?,
            }
        }
        Ok(())
    }

    /// Leaves to a person what a read was to ask about that the catalog does not have any more.
    fn give_up_unasked(&mut self) -> Result<(), StepError> {
        let waits = self.state.items().filter(|(_, item)| {
            item.settled == Some(StepStatus::InDoubt)
                && item.in_flight.is_none()
                && item.retry_at.is_some()
        });
        let slots: Vec<Slot> = waits.map(|(slot, _)| slot).collect();
        for slot in slots {
            if self.reconcile_of(&slot).is_none() {
                let reason = "the tool is not the one that was called".to_owned();
                self.emit(Event::ReconcileGivenUp { slot, reason })?;
            }
        }
        Ok(())
    }

    fn inquiry(&self, slot: &Slot) -> Result<AuxiliaryRead, String> {
        let gone = || "the tool has no reconcile read any more".to_owned();
        let (_, reconcile) = self.reconcile_of(slot).ok_or_else(gone)?;
        let read = self.rules.catalog.get(&reconcile.tool).ok_or_else(gone)?;
        let key = self.sent_key(slot);
        let written = self.written_args(slot).ok_or_else(gone)?;
        let doubted = WriteInDoubt {
            args: &written,
            key: &key,
        };
        let args = reconcile
            .request(doubted)
            .map_err(|error| error.to_string())?;
        self.permitted(slot, Purpose::Reconcile, read, args)
    }

    fn sent_key(&self, slot: &Slot) -> Value {
        let key = self.state.item(slot).and_then(|item| item.key.clone());
        key.map_or(Value::Null, Value::String)
    }

    fn written_args(&self, slot: &Slot) -> Option<Value> {
        Some(self.state.effect(slot)?.args.clone())
    }

    /// What becomes of a read about a doubt that was not admitted: the doubt stands, whatever it
    /// was, and a person has it where waiting does not help.
    fn put_off_inquiry(&mut self, slot: Slot, denial: Denial) -> Result<(), StepError> {
        let because = match &denial {
            Denial::Budget { because } => because.clone(),
            Denial::Doubt { run, .. } => format!("run {run} is in doubt about the same"),
            Denial::Stopped(_) | Denial::Later { .. } | Denial::Full { .. } => {
                match self.gives_up(&slot, &denial) {
                    Some(because) => because.to_owned(),
                    None => return self.put_off(&slot, denial),
                }
            }
        };
        let reason = format!("no read may begin: {because}");
        self.emit(Event::ReconcileGivenUp { slot, reason })
    }

    /// Asks the tool, unless something keeps the read from beginning.
    fn inquire(&mut self, slot: Slot, inquiry: AuxiliaryRead) -> Result<(), StepError> {
        let reason = match self.begin_read(inquiry)? {
            Ok(()) => return Ok(()),
            Err(Hindrance::Denied(denial)) => return self.put_off_inquiry(slot, denial),
            Err(Hindrance::Limit(limit)) => format!("no read may begin: {limit}"),
            Err(Hindrance::NotInPlan) => "the current plan has no such call".to_owned(),
        };
        self.emit(Event::ReconcileGivenUp { slot, reason })
    }

    /// Takes what a reconcile read brought.
    pub(in crate::turn) fn reconciled(
        &mut self,
        slot: &Slot,
        attempt: u32,
        reply: Reply,
    ) -> Result<(), StepError> {
        let Reply {
            class,
            output,
            evidence,
            media,
            message,
            ..
        } = reply;
        let digest = self.keep(media, evidence);
        if !self.is_in_doubt(slot) {
            // Why nothing follows: a person ended the doubt while the tool was asked.
            let failed = (class != Class::Ok).then(|| (class, message.unwrap_or_default()));
            return self.end_beside(slot, attempt, failed, digest, None);
        }
        let told = self
            .brought(slot, class, output, message)
            .and_then(|output| self.told(slot, &output));
        match told {
            Ok((tool, landed, output)) => {
                self.end_beside(slot, attempt, None, digest, None)?;
                let settled = if landed {
                    Settlement::Happened
                } else {
                    Settlement::DidNotHappen
                };
                let testimony = SettlementSource {
                    by: SettledBy::Reconcile { tool },
                    attempt: None,
                    reason: None,
                    output: None,
                    record: None,
                };
                let output = output.map(|value| (value, digest));
                self.end_doubt(slot, settled, testimony, output)
            }
            Err(failed) => {
                let tries = self.state.item(slot).map_or(1, |item| item.reconcile_tries);
                let wait = i64::try_from(Retry::DEFAULT.wait_after(tries).as_millis());
                let next = self.now.saturating_add(wait.unwrap_or(i64::MAX));
                let retry_at = (tries < RECONCILE_READS_MAX).then_some(next);
                self.end_beside(slot, attempt, Some(failed), digest, retry_at)
            }
        }
    }

    /// What the output of the read says: its operation, whether the write landed, its output.
    fn told(
        &self,
        slot: &Slot,
        output: &Value,
    ) -> Result<(String, bool, Option<Value>), (Class, String)> {
        let (_, reconcile) = self.reconcile_of(slot).ok_or_else(|| {
            (
                Class::Drift,
                "the tool is not the one that was called".to_owned(),
            )
        })?;
        let (key, args) = (
            self.sent_key(slot),
            self.written_args(slot).unwrap_or_default(),
        );
        let doubted = WriteInDoubt {
            args: &args,
            key: &key,
        };
        let expression =
            |error: provost_plan::catalog::ReconcileError| (Class::Expression, error.to_string());
        let landed = reconcile.landed(doubted, output).map_err(expression)?;
        let recovered = if landed {
            reconcile.recovered(doubted, output).map_err(expression)?
        } else {
            None
        };
        Ok((reconcile.tool, landed, recovered))
    }

    /// Takes a person's word on a doubt.
    pub(in crate::turn) fn settle(
        &mut self,
        signer: Signer,
        (slot, attempt): (&Slot, Option<Digest>),
        (settled, output): (Settlement, Option<Value>),
        reason: String,
    ) -> Result<(), StepError> {
        let Signer { by, mut record } = signer;
        let refused = |reason: &str| StepError::NotAllowed {
            by: by.id.clone(),
            reason: reason.to_owned(),
        };
        if reason.trim().is_empty() {
            return Err(refused("a doubt is settled with a reason"));
        }
        let slot = self.doubtful_slot(slot)?;
        let called = self.step_and_operation(&slot.step);
        let operation = called.map(|(_, operation)| OperationFacts::of(operation));
        self.may(Act::Settle(operation.as_ref()), &by)?;
        if let Some(record) = record.as_mut().filter(|_| self.state.head.signed) {
            record.operation = operation.map(Box::new);
        }
        let stands = self.state.attempt_in_doubt(&slot);
        if attempt.is_none() || attempt != stands {
            return Err(StepError::OtherAttempt { slot, stands });
        }
        let item = self.state.item(&slot);
        let known = item.is_some_and(|item| item.landing == Some(Landing::Happened));
        let says_more = output.is_some() || settled == Settlement::Abandoned;
        if known && !says_more {
            return Err(refused(
                "that it took place is recorded; what it gave is missing (`--happened --output`)",
            ));
        }
        if settled == Settlement::DidNotHappen {
            self.must_be_over(&slot)?;
        }
        let output = match output {
            Some(_) if settled != Settlement::Happened => {
                return Err(refused("only what happened has an output"));
            }
            Some(output) => Some(
                self.judge_output(&slot, output)
                    .map_err(|reason| StepError::BadAnswer { reason })?,
            ),
            None => None,
        };
        let stated = output.clone();
        let output = output.map(|value| {
            let bytes = canonical(&value).into_bytes();
            let digest = self.keep("application/json".to_owned(), bytes);
            (value, digest)
        });
        let testimony = SettlementSource {
            by: SettledBy::Person { id: by.id },
            attempt,
            reason: Some(reason),
            output: stated,
            record,
        };
        self.end_doubt(&slot, settled, testimony, output)
    }

    /// Whether nothing that was sent for a slot can take place any more, by what its tool declares;
    /// until then nobody can have seen that it did not.
    fn must_be_over(&self, slot: &Slot) -> Result<(), StepError> {
        let until = self.state.item(slot).and_then(|item| item.final_at);
        match until.filter(|until| *until > self.now && self.reconcile_of(slot).is_some()) {
            Some(until) => Err(StepError::TooEarly {
                slot: slot.clone(),
                wait_ms: until - self.now,
            }),
            None => Ok(()),
        }
    }

    fn is_in_doubt(&self, slot: &Slot) -> bool {
        let item = self.state.item(slot);
        item.is_some_and(|item| item.settled == Some(StepStatus::InDoubt))
    }

    /// The one slot in doubt that is meant.
    fn doubtful_slot(&self, meant: &Slot) -> Result<Slot, StepError> {
        let doubtful = self.state.items().filter(|(slot, item)| {
            item.settled == Some(StepStatus::InDoubt)
                && slot.step == meant.step
                && (meant.item.is_none() || slot.item == meant.item)
        });
        let all: Vec<Slot> = doubtful.map(|(slot, _)| slot).collect();
        match all.as_slice() {
            // Why the same: a settlement is signed for one attempt, and names it as it stands.
            [only] if only == meant => Ok(only.clone()),
            several => Err(StepError::NotInDoubt {
                slot: meant.clone(),
                doubtful: several.to_vec(),
            }),
        }
    }

    fn end_doubt(
        &mut self,
        slot: &Slot,
        settled: Settlement,
        testimony: SettlementSource,
        output: Option<(Value, Digest)>,
    ) -> Result<(), StepError> {
        let class = self.state.item(slot).and_then(|item| item.class);
        let class = class.unwrap_or(Class::Unavailable);
        let by_person = matches!(testimony.by, SettledBy::Person { .. });
        self.emit(Event::DoubtSettled {
            slot: slot.clone(),
            attempt: testimony.attempt,
            settled,
            by: testimony.by,
            reason: testimony.reason,
            output: testimony.output,
            secret: false,
            record: testimony.record,
        })?;
        match (settled, output) {
            (Settlement::Happened, Some((output, evidence))) => {
                match self.judge_output(slot, output) {
                    Ok(output) => self.accept_output(slot, &output, evidence),
                    Err(reason) => self.settle_failed(slot, Class::OutputInvalid, reason),
                }
            }
            (Settlement::Happened, None) => self.happened_unseen(slot),
            (Settlement::DidNotHappen, _) if self.goes_on(slot, by_person) => Ok(()),
            (Settlement::DidNotHappen, _) => {
                let message = "it did not take place".to_owned();
                self.settle_failed(slot, class, message)
            }
            (Settlement::Abandoned, _) => {
                let message = "whether it took place will not be known".to_owned();
                self.settle_failed(slot, class, message)
            }
        }
    }

    /// Whether a write that did not take place is tried again: a person's word opens it anew, a
    /// read's word counts against the retries of the step.
    fn goes_on(&self, slot: &Slot, by_person: bool) -> bool {
        let step = self
            .step_and_operation(&slot.step)
            .and_then(|(step, _)| step.retry);
        let most = step.unwrap_or(Retry::DEFAULT).attempts;
        let tries = self.state.item(slot).map_or(0, |item| item.tries);
        self.state.ending.ended.is_none() && (by_person || tries < most)
    }

    /// Settles a write that took place and whose output nobody saw.
    fn happened_unseen(&mut self, slot: &Slot) -> Result<(), StepError> {
        let step = self.step_and_operation(&slot.step);
        let is_judged =
            step.is_some_and(|(step, _)| !step.accept.is_empty() || step.confirm.is_some());
        let goes_on = self.state.ending.ended.is_none()
            && self.state.ending.stopping.is_none()
            && self.state.ending.cancelled.is_none();
        let message = match (goes_on, is_judged) {
            (false, true) => {
                let message = "it took place, but its output is not known, so what is accepted \
                               of it cannot be looked at"
                    .to_owned();
                return self.settle_failed(slot, Class::AcceptanceFailed, message);
            }
            (true, true) => "it took place, and what it gave is not known, which is to be accepted",
            (true, false) if self.state.is_output_needed(&slot.step) => {
                "it took place, and what it gave is not known, which is read later"
            }
            (_, false) => return self.settle_succeeded(slot),
        };
        // Why in doubt still: what reads it waits, until somebody says what it gave.
        self.emit(Event::StepSettled {
            slot: slot.clone(),
            status: StepStatus::InDoubt,
            class: Some(Class::OutputInvalid),
            message: Some(message.to_owned()),
            reconcile_at: None,
            created: None,
        })?;
        self.settle_list_of(slot)
    }
}
