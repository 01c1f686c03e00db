//! From a tool's reply to a settled step.
//!
//! Owns classification of what came back, retry, doubt, acceptance. INVARIANT: a plain write with
//! unknown landing is in doubt and is never tried again.

use provost_plan::catalog::Idempotency;
use provost_plan::digest::{Digest, normalize};
use provost_plan::label::Label;
use provost_plan::plan::{Retry, Step};
use serde_json::Value;

use super::beside::holds;
use crate::call::{Purpose, Slot};
use crate::event::{AttemptEnded, Created, Event, StepStatus};
use crate::machine::StepError;
use crate::outcome::{Class, Landing, Reply};
use crate::state::{ItemState, StepState, WriteRecord};
use crate::turn::Turn;
use crate::turn::scope::Roots;
use crate::turn::work::keepable;
use crate::view;

impl Turn<'_> {
    /// Refuses the end of an attempt that is not in flight.
    pub(in crate::turn) fn expect_flying(
        &self,
        slot: &Slot,
        attempt: u32,
    ) -> Result<(), StepError> {
        if self.state.item(slot).and_then(ItemState::flying) != Some(attempt) {
            return Err(StepError::NoAttempt {
                slot: slot.clone(),
                attempt,
            });
        }
        Ok(())
    }

    pub(in crate::turn) fn ended(
        &mut self,
        slot: &Slot,
        attempt: u32,
        mut reply: Reply,
    ) -> Result<(), StepError> {
        self.expect_flying(slot, attempt)?;
        let purpose = self.state.item(slot).and_then(ItemState::purpose);
        let purpose = purpose.cloned().unwrap_or_default();
        // Why first: what a preview lacks is said on the card, and stops nothing.
        if purpose.is_preview() {
            return self.previewed(slot, reply);
        }
        // Why the landing: only of what was surely not sent is it known that nothing came of it.
        let lacks = reply.lacks.take();
        if let Some(secret) = lacks.filter(|_| reply.landing == Landing::None) {
            return self.not_sent(slot, attempt, reply, secret);
        }
        match purpose {
            Purpose::Reconcile => self.reconciled(slot, attempt, reply),
            Purpose::Confirm => self.confirmed(slot, attempt, reply),
            Purpose::Effect | Purpose::Retake { .. } | Purpose::Preview { .. } => {
                self.answered(slot, attempt, reply)
            }
        }
    }

    /// Takes that an attempt was not made for want of a secret, whatever it was for.
    fn not_sent(
        &mut self,
        slot: &Slot,
        attempt: u32,
        reply: Reply,
        secret: String,
    ) -> Result<(), StepError> {
        let reason = reply.message.clone().unwrap_or_default();
        let evidence = self.keep(reply.media, reply.evidence);
        let ended = AttemptEnded {
            message: reply.message,
            evidence: Some(evidence),
            unsent: true,
            ..AttemptEnded::new(slot, attempt, reply.class, reply.landing)
        };
        self.attempt_over(slot, ended)?;
        self.miss(slot, secret, &reason)
    }

    /// Takes what came of an attempt of the call itself.
    fn answered(&mut self, slot: &Slot, attempt: u32, reply: Reply) -> Result<(), StepError> {
        let Reply {
            class,
            landing,
            output,
            evidence,
            media,
            message,
            retry_after,
            lacks: _,
            used,
        } = reply;
        let digest = self.keep(media, evidence);
        let judged = match (class, output) {
            (Class::Ok, Some(output)) => self.judge_output(slot, output),
            (Class::Ok, None) => Err("the tool gave no output".to_owned()),
            (_, _) => Err(String::new()),
        };
        let (class, message) = match (&judged, class) {
            (Ok(_), class) => (class, message),
            (Err(reason), Class::Ok) => (self.judged(Class::OutputInvalid), Some(reason.clone())),
            (Err(_), class) => (class, message),
        };
        let retry_at = self.retry_at(slot, class, landing, retry_after);
        let ended = AttemptEnded {
            message,
            evidence: Some(digest),
            retry_at,
            used,
            ..AttemptEnded::new(slot, attempt, class, landing)
        };
        match judged {
            Ok(output) if self.is_retaking(slot) => self.retaken(slot, ended, output, digest),
            Ok(output) => {
                self.emit(Event::AttemptEnded(ended))?;
                self.accept_output(slot, &output, digest)
            }
            Err(_) => self.attempt_over(slot, ended),
        }
    }

    /// Records the end of an attempt that brought no output, and what follows from it.
    pub(in crate::turn) fn attempt_over(
        &mut self,
        slot: &Slot,
        ended: AttemptEnded,
    ) -> Result<(), StepError> {
        let purpose = self.state.item(slot).and_then(ItemState::purpose);
        if purpose.is_some_and(Purpose::is_auxiliary) {
            // Why nothing more: the doubt, the write or the question stands, and the read is made
            // again.
            return self.emit(Event::AttemptEnded(ended));
        }
        if self.is_retaking(slot) {
            return self.not_retaken(slot, ended);
        }
        let (class, landing) = (ended.class, ended.landing);
        let uncounted = !ended.is_try();
        let retries = ended.retry_at.is_some();
        let message = ended.message.clone().unwrap_or_default();
        let repeatable = self.may_repeat(slot, landing, self.now);
        self.emit(Event::AttemptEnded(ended))?;
        if retries || uncounted && repeatable {
            return Ok(());
        }
        let effect = self.state.effect(slot);
        if effect.is_some_and(|effect| effect.landing == Landing::Unknown) {
            return self.settle_in_doubt(slot, class, message);
        }
        self.settle_failed(slot, class, message)
    }

    /// The output in normal form, if it fits its schemas.
    pub(in crate::turn) fn judge_output(
        &self,
        slot: &Slot,
        output: Value,
    ) -> Result<Value, String> {
        let output = normalize(output).map_err(|error| error.to_string())?;
        keepable(&output)?;
        let Some((step, operation)) = self.step_and_operation(&slot.step) else {
            return Ok(output);
        };
        let schemas = operation.output.iter().chain(&step.expect);
        for schema in schemas {
            if let Some(violation) = schema.violations_within(&output, &self.purse).first() {
                let place = if violation.pointer.is_empty() {
                    "/"
                } else {
                    &violation.pointer
                };
                return Err(format!(
                    "the output does not fit at `{place}`: {}",
                    violation.message
                ));
            }
        }
        Ok(output)
    }

    pub(in crate::turn) fn step_and_operation(
        &self,
        id: &str,
    ) -> Option<(&Step, &std::sync::Arc<provost_plan::catalog::Operation>)> {
        let (step, _) = self.state.plan()?.checked().step(id)?;
        let operation = self.rules.catalog.get(&step.tool()?.value)?;
        Some((step, operation))
    }

    /// Records an output and settles the step by its acceptance.
    pub(in crate::turn) fn accept_output(
        &mut self,
        slot: &Slot,
        output: &Value,
        evidence: Digest,
    ) -> Result<(), StepError> {
        let label = self.output_label(slot, output);
        self.emit(Event::ObservationMade {
            slot: slot.clone(),
            output: output.clone(),
            label,
            evidence,
        })?;
        match self.acceptance(slot, output) {
            Ok(()) => self.settle_accepted(slot),
            Err((class, message)) => self.settle_failed(slot, class, message),
        }
    }

    /// Settles a step or item as succeeded, with what it made.
    pub(in crate::turn) fn settle_succeeded(&mut self, slot: &Slot) -> Result<(), StepError> {
        self.emit(Event::StepSettled {
            slot: slot.clone(),
            status: StepStatus::Succeeded,
            class: None,
            message: None,
            reconcile_at: None,
            created: self.created(slot),
        })?;
        self.settle_list_of(slot)
    }

    fn created(&self, slot: &Slot) -> Option<Created> {
        let (_, operation) = self.step_and_operation(&slot.step)?;
        let creates = operation.creates.as_ref()?;
        let output = self.state.item(slot).and_then(|item| item.output.as_ref());
        let sent = self.state.effect(slot).map(|effect| &effect.args);
        Some(Created {
            kind: creates.kind.clone(),
            id: sent
                .zip(output)
                // Why: what is secret is not listed.
                .filter(|_| !self.is_secret(&slot.step))
                .and_then(|(args, output)| creates.id_of(args, output)),
        })
    }

    pub(in crate::turn) fn output_label(&self, slot: &Slot, output: &Value) -> Label {
        let Some(plan) = &self.state.in_force.plan else {
            return Label::trusted();
        };
        let Some((step, record)) = plan.checked().step(&slot.step) else {
            return Label::trusted();
        };
        view::output_label(&self.rules.catalog, step, record, output)
    }

    pub(in crate::turn) fn acceptance(
        &self,
        slot: &Slot,
        output: &Value,
    ) -> Result<(), (Class, String)> {
        let Some(plan) = &self.state.in_force.plan else {
            return Ok(());
        };
        let Some((step, _)) = plan.checked().step(&slot.step) else {
            return Ok(());
        };
        if step.accept.is_empty() {
            return Ok(());
        }
        let item = self.item_value(slot);
        let roots = Roots::new(&self.purse).with_item(item).with_output(output);
        let named = step.accept.iter().flat_map(|accept| accept.references());
        let scope = roots.scope_for(self.state, named);
        holds(&step.accept, &scope)
    }

    /// When the next attempt may begin, if there may be one.
    fn retry_at(
        &self,
        slot: &Slot,
        class: Class,
        landing: Landing,
        retry_after: Option<std::time::Duration>,
    ) -> Option<i64> {
        // Why: a repetition that the tool recognises ends the doubt, whatever words the error had.
        if !class.is_transient() && !self.is_unknown(slot, landing) {
            return None;
        }
        let tries = self
            .state
            .item(slot)
            .map_or(1, |item| item.retaking.unwrap_or(item.tries) + 1);
        let at = self.next_try(slot, tries, retry_after)?;
        self.may_repeat(slot, landing, at).then_some(at)
    }

    /// Whether nobody knows if the write took place, after an attempt with this landing.
    fn is_unknown(&self, slot: &Slot, landing: Landing) -> bool {
        let effect = self.state.effect(slot);
        effect.is_some_and(|effect| match landing {
            Landing::Happened => false,
            Landing::Unknown => true,
            // Why: a later try that did not land says nothing of an earlier one.
            Landing::None => effect.doubtful,
        })
    }

    /// When the try after so many may begin, if the step has one left.
    pub(in crate::turn) fn next_try(
        &self,
        slot: &Slot,
        tries: u32,
        retry_after: Option<std::time::Duration>,
    ) -> Option<i64> {
        let retry = self
            .step_and_operation(&slot.step)
            .and_then(|(step, _)| step.retry)
            .unwrap_or(Retry::DEFAULT);
        if tries >= retry.attempts {
            return None;
        }
        let ms = |wait: std::time::Duration| i64::try_from(wait.as_millis()).ok();
        let own = ms(retry.wait_after(tries)).unwrap_or(i64::MAX);
        let asked = retry_after.and_then(ms).unwrap_or(0);
        Some(self.now.saturating_add(own.max(asked)))
    }

    /// Whether the same call may be made again at the moment `at`, after an attempt with this
    /// landing.
    pub(in crate::turn) fn may_repeat(&self, slot: &Slot, landing: Landing, at: i64) -> bool {
        let Some((step, operation)) = self.step_and_operation(&slot.step) else {
            return false;
        };
        let before = self.state.effect(slot);
        // Why: an earlier try that may have landed is not undone by a later one that did not.
        let unknown = landing != Landing::None || before.is_some_and(|effect| effect.doubtful);
        if operation.effect.is_read() || !unknown {
            return true;
        }
        // Why: only the tool that was called is known to recognise its key.
        if self.state.item(slot).and_then(|item| item.tool)
            != self.rules.catalog.digest(&operation.name)
        {
            return false;
        }
        match &operation.idempotency {
            Idempotency::Natural => true,
            Idempotency::None => false,
            Idempotency::Key { ttl_ms, .. } => {
                let first = self.state.item(slot).and_then(|item| item.first_at);
                let lives = i64::try_from(*ttl_ms).unwrap_or(i64::MAX);
                // Why: it may arrive as late as its time allows, and the key must live until then.
                let own = step
                    .timeout
                    .unwrap_or(operation.timeout)
                    .min(operation.timeout);
                let takes = i64::try_from(own.as_millis()).unwrap_or(i64::MAX);
                let arrives = at.saturating_add(takes);
                first.is_some_and(|first| arrives < first.saturating_add(lives))
            }
        }
    }

    /// Settles a step or item as failed.
    pub(in crate::turn) fn settle_failed(
        &mut self,
        slot: &Slot,
        class: Class,
        message: String,
    ) -> Result<(), StepError> {
        let class = self.judged(class);
        // Why: what keeps the next try from beginning does not undo an earlier one.
        let unknown = |e: &WriteRecord| e.doubtful && e.landing == Landing::Unknown;
        if self.state.effect(slot).is_some_and(unknown) {
            return self.settle_in_doubt(slot, class, message);
        }
        self.emit(Event::StepSettled {
            slot: slot.clone(),
            status: StepStatus::Failed,
            class: Some(class),
            message: Some(message),
            reconcile_at: None,
            created: None,
        })?;
        self.settle_list_of(slot)
    }

    pub(in crate::turn) fn settle_list_of(&mut self, slot: &Slot) -> Result<(), StepError> {
        if slot.item.is_some() {
            self.settle_list(&slot.step)
        } else {
            Ok(())
        }
    }

    /// Settles lists of which every item is settled and that is all that is recorded.
    pub(in crate::turn) fn finish_lists(&mut self) -> Result<(), StepError> {
        let open = |step: &StepState| step.is_list && step.listed && !step.status.is_final();
        let lists = self.state.steps.iter().filter(|(_, step)| open(step));
        let ids: Vec<String> = lists.map(|(id, _)| id.clone()).collect();
        ids.iter().try_for_each(|id| self.settle_list(id))
    }

    /// Settles a step that runs over a list, once all its items are.
    pub(in crate::turn) fn settle_list(&mut self, id: &str) -> Result<(), StepError> {
        let Some(known) = self.state.steps.get(id) else {
            return Ok(());
        };
        let all: Option<Vec<StepStatus>> = known.items.iter().map(|item| item.settled).collect();
        let Some(all) = all else { return Ok(()) };
        let slot = Slot {
            step: id.to_owned(),
            item: None,
        };
        let of = |status: StepStatus| all.iter().filter(|s| **s == status).count();
        let failed = of(StepStatus::Failed);
        let (status, class, message) = if of(StepStatus::InDoubt) > 0 {
            let message = format!(
                "{} of {} items are in doubt",
                of(StepStatus::InDoubt),
                all.len()
            );
            (StepStatus::InDoubt, Some(Class::Partial), Some(message))
        } else if failed > 0 {
            let class = known.items.iter().filter_map(|item| item.class).next();
            let only = (failed == all.len()).then_some(class).flatten();
            let first = known.message.clone().unwrap_or_default();
            let message = format!("{failed} of {} items failed: {first}", all.len());
            (
                StepStatus::Failed,
                only.or(Some(Class::Partial)),
                Some(message),
            )
        } else {
            (StepStatus::Succeeded, None, None)
        };
        self.emit(Event::StepSettled {
            slot,
            status,
            class,
            message,
            reconcile_at: None,
            created: None,
        })
    }
}
