//! Confirmation: the read that proves that a write landed, before its step has succeeded.
//!
//! Owns when it is made, what it asks and what follows from its answer. Never repeats the write,
//! and never settles a doubt: only what surely happened is read back. INVARIANT: a step with
//! `confirm` succeeds by a reading over which its `accept` holds, and by nothing else.

use provost_plan::check::StepRecord;
use provost_plan::expr::Template;
use provost_plan::plan::{SideCall, Step};
use serde_json::Value;

use super::beside::{AuxiliaryRead, Hindrance, holds};
use crate::call::{Purpose, Slot};
use crate::event::Event;
use crate::machine::StepError;
use crate::outcome::{Class, Reply};
use crate::state::ItemState;
use crate::turn::Turn;
use crate::turn::scope::Roots;

impl Turn<'_> {
    /// Settles what took place and was accepted, unless it has to be read back first.
    pub(in crate::turn) fn settle_accepted(&mut self, slot: &Slot) -> Result<(), StepError> {
        match self.confirm_of(slot) {
            None => self.settle_succeeded(slot),
            Some(_) if self.state.ending.ended.is_none() => Ok(()),
            Some(_) => self.unconfirmed(slot, "the run is over, so the write is not confirmed"),
        }
    }

    pub(in crate::turn) fn confirm_of(&self, slot: &Slot) -> Option<&SideCall> {
        let (step, _) = self.state.plan()?.checked().step(&slot.step)?;
        step.confirm.as_ref()
    }

    /// Whether a slot took place and was accepted, and is not proven yet.
    pub(in crate::turn) fn is_to_be_read_back(&self, step: &Step, slot: &Slot) -> bool {
        let item = self.state.item(slot);
        step.confirm.is_some() && item.is_some_and(ItemState::is_unconfirmed)
    }

    /// Reads back what a slot wrote, unless all places for calls are `full`.
    pub(in crate::turn) fn read_back(
        &mut self,
        step: &Step,
        record: &StepRecord,
        slot: Slot,
        full: bool,
    ) -> Result<(), StepError> {
        if full {
            return Ok(());
        }
        let began = match self.reading(step, record, &slot) {
            Ok(reading) => self.begin_read(reading)?,
            Err(reason) => return self.unconfirmed(&slot, &reason),
        };
        match began {
            Ok(()) => Ok(()),
            Err(Hindrance::Limit(limit)) => self.emit(Event::AdmissionRefused { slot, limit }),
            Err(Hindrance::Denied(denial)) => match self.gives_up(&slot, &denial) {
                Some(because) => self.unconfirmed(&slot, because),
                None => self.put_off(&slot, denial),
            },
            Err(Hindrance::NotInPlan) => {
                self.unconfirmed(&slot, "the current plan has no such read")
            }
        }
    }

    /// The concrete read of a slot, or why there is none.
    fn reading(
        &self,
        step: &Step,
        record: &StepRecord,
        slot: &Slot,
    ) -> Result<AuxiliaryRead, String> {
        let gone = || "the tool is not the one the plan was checked under".to_owned();
        let confirm = step.confirm.as_ref().ok_or_else(gone)?;
        let known = record.confirm.as_ref().ok_or_else(gone)?;
        self.role_admits(step, record, &confirm.tool.value)
            .map_err(|refusal| refusal.message)?;
        let catalog = &self.rules.catalog;
        let operation = catalog
            .get(&confirm.tool.value)
            .filter(|operation| catalog.digest(&operation.name) == Some(known.tool))
            .ok_or_else(gone)?;
        let output = self.state.item(slot).and_then(|item| item.output.as_ref());
        let roots = Roots::new(&self.purse)
            .with_item(self.item_value(slot))
            .with_output(output.unwrap_or(&Value::Null));
        let named = confirm.args.templates().into_iter();
        let scope = roots.scope_for(self.state, named.flat_map(Template::references));
        let args = confirm
            .args
            .eval(&scope)
            .map_err(|error| error.to_string())?;
        self.permitted(slot, Purpose::Confirm, operation, args)
    }

    /// Takes what the read that proves a write brought.
    pub(in crate::turn) fn confirmed(
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
            retry_after,
            ..
        } = reply;
        let digest = self.keep(media, evidence);
        match self.brought(slot, class, output, message) {
            Ok(read) => {
                self.end_beside(slot, attempt, None, digest, None)?;
                match self.proves(slot, &read) {
                    Ok(()) => self.settle_succeeded(slot),
                    Err(reason) => self.unconfirmed(slot, &reason),
                }
            }
            Err((class, message)) => {
                let retry_at = self.read_again_at(slot, class, retry_after);
                let reason = format!("{}: {message}", class.word());
                self.end_beside(slot, attempt, Some((class, message)), digest, retry_at)?;
                if retry_at.is_some() {
                    return Ok(());
                }
                self.unconfirmed(slot, &reason)
            }
        }
    }

    /// Whether what was read back shows that the write landed.
    fn proves(&self, slot: &Slot, read: &Value) -> Result<(), String> {
        let Some(confirm) = self.confirm_of(slot) else {
            return Err("the current plan does not say what it must show".to_owned());
        };
        let output = self.state.item(slot).and_then(|item| item.output.as_ref());
        let roots = Roots::new(&self.purse)
            .with_item(self.item_value(slot))
            .with_output(output.unwrap_or(&Value::Null))
            .with_read(read);
        let named = confirm.accept.iter().flat_map(Template::references);
        let scope = roots.scope_for(self.state, named);
        holds(&confirm.accept, &scope).map_err(|(_, reason)| reason)
    }

    /// When the read is made again, if the retries of its step allow it.
    fn read_again_at(
        &self,
        slot: &Slot,
        class: Class,
        retry_after: Option<std::time::Duration>,
    ) -> Option<i64> {
        let before = self.state.item(slot).and_then(|item| item.confirming);
        let tries = before.unwrap_or(0) + 1;
        class
            .is_transient()
            .then(|| self.next_try(slot, tries, retry_after))?
    }

    /// Settles what took place and could not be shown to have: nothing repeats it blindly.
    pub(in crate::turn) fn unconfirmed(
        &mut self,
        slot: &Slot,
        reason: &str,
    ) -> Result<(), StepError> {
        let by = self
            .confirm_of(slot)
            .map_or("nothing", |confirm| confirm.tool.value.as_str());
        let message =
            format!("the tool says it took place, but `{by}` does not confirm it: {reason}");
        self.settle_failed(slot, Class::AcceptanceFailed, message)
    }

    /// The item of a list that a slot stands for.
    pub(in crate::turn) fn item_value(&self, slot: &Slot) -> Option<(usize, &Value)> {
        let index = slot.item?;
        let list = &self.state.steps.get(&slot.step)?.list;
        list.get(index).map(|value| (index, value))
    }
}
