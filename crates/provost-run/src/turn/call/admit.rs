//! Admission as the run sees it: what its events change of what runs share, and what it does when
//! it is not admitted.
//!
//! Owns pause, deferral and the entries that go with each event. Decides nothing about other
//! runs: that is [`crate::admission`]'s. INVARIANT: every attempt that begins has its entry.

use crate::admission::{AdmissionEntry, Begin, Denial, Stop, health, tool_of};
use crate::call::{Purpose, Slot};
use crate::event::{AttemptEnded, AttemptStarted, Event, Missing, StepStatus};
use crate::machine::StepError;
use crate::outcome::{Class, Landing};
use crate::state::{Act, InFlight};
use crate::statement::Signer;
use crate::turn::Turn;
use provost_plan::money::Money;

/// How often the breaker of a tool may put one attempt off before the step fails.
pub(in crate::turn) const BREAKER_DEFERRALS_MAX: u32 = 3;
/// The first and the longest wait for a place, in milliseconds.
const PLACE_WAIT_MS: (i64, i64) = (20, 1_000);

impl Turn<'_> {
    /// The flight that an event ends.
    pub(in crate::turn) fn flight_of(&self, event: &Event) -> Option<InFlight> {
        match event {
            Event::AttemptEnded(ended) => self.state.item(&ended.slot)?.in_flight.clone(),
            _ => None,
        }
    }

    /// Writes down what an event changes of what runs share.
    pub(in crate::turn) fn note(&mut self, event: &Event, ends: Option<InFlight>) {
        let entry = match event {
            Event::AttemptStarted(started) => self.begin_of(started),
            Event::AttemptEnded(ended) => match ends {
                Some(flight) => self.end_of(ended, &flight),
                None => return,
            },
            Event::StepSettled {
                slot,
                status: StepStatus::InDoubt,
                ..
            } if self.effect_landing(slot) == Some(Landing::Unknown) => {
                AdmissionEntry::Doubt { slot: slot.clone() }
            }
            Event::DoubtSettled { slot, .. } => AdmissionEntry::Settled { slot: slot.clone() },
            Event::PlanRequested {
                reserved: Some(reserved),
                ..
            } => match self.set_aside_of(*reserved) {
                Some(reserve) => AdmissionEntry::Reserve(reserve),
                None => return,
            },
            _ => return,
        };
        self.entries.push(entry);
    }

    fn effect_landing(&self, slot: &Slot) -> Option<Landing> {
        self.state.effect(slot).map(|effect| effect.landing)
    }

    fn begin_of(&self, started: &AttemptStarted) -> AdmissionEntry {
        let rules = &self.rules.admission;
        let tool = tool_of(&started.operation);
        let budget = rules.budget.as_ref();
        let costs = started.money.is_some() || started.tokens.is_some();
        let playbook = self.state.route.planner.playbook().map(str::to_owned);
        AdmissionEntry::Begin(Box::new(Begin {
            slot: started.slot.clone(),
            tool: tool.to_owned(),
            operation: started.operation.clone(),
            sinks: started.sinks,
            plain: !started.read && started.key.is_none(),
            money: started.money.unwrap_or(Money::ZERO),
            tokens: started.tokens.unwrap_or(0),
            limits: rules.of_tool(tool),
            budget: budget
                .filter(|_| costs)
                .map(|budget| (budget.clone(), budget.per.name_at(self.now))),
            principal: self.state.head.principal.id.clone(),
            playbook,
        }))
    }

    fn end_of(&self, ended: &AttemptEnded, flight: &InFlight) -> AdmissionEntry {
        let tool = tool_of(&flight.operation);
        let unknown = self.effect_landing(&ended.slot) == Some(Landing::Unknown);
        AdmissionEntry::End {
            slot: ended.slot.clone(),
            tool: tool.to_owned(),
            // Why: a call that was not made says nothing about its tool.
            healthy: health(ended.class, !ended.is_try()),
            // Why not of a read that asks: only what settles the doubt ends it.
            known: flight.purpose != Purpose::Reconcile && !unknown,
            breaker: self.rules.admission.of_tool(tool).breaker,
        }
    }

    /// What becomes of an attempt that was not admitted.
    pub(in crate::turn) fn put_off(
        &mut self,
        slot: &Slot,
        denial: Denial,
    ) -> Result<(), StepError> {
        if let Some(because) = self.gives_up(slot, &denial) {
            return self.settle_failed(slot, Class::BreakerOpen, because.to_owned());
        }
        match denial {
            Denial::Stopped(Stop { what, by, reason }) => self.emit(Event::Paused {
                by,
                what,
                reason,
                missing: None,
                record: None,
            }),
            Denial::Doubt { run, slot: other } => {
                let message = format!(
                    "step `{other}` of run {run} may already have done this, its outcome is unknown"
                );
                self.settle_failed(slot, Class::Conflict, message)
            }
            Denial::Later { until, because, .. } => {
                let until = until.max(self.now + 1);
                self.defer(slot, until, because)
            }
            Denial::Full { because } => {
                let deferrals = self.state.item(slot).map_or(0, |item| item.deferrals);
                let (first, most) = PLACE_WAIT_MS;
                let wait = first.saturating_mul(1 << deferrals.min(10)).min(most);
                self.defer(slot, self.now.saturating_add(wait), because)
            }
            Denial::Budget { because } => self.emit(Event::AdmissionRefused {
                slot: slot.clone(),
                limit: because,
            }),
        }
    }

    pub(in crate::turn) fn defer(
        &mut self,
        slot: &Slot,
        until: i64,
        because: String,
    ) -> Result<(), StepError> {
        self.emit(Event::Deferred {
            slot: slot.clone(),
            until: Some(until),
            because,
        })
    }

    pub(in crate::turn) fn pause(
        &mut self,
        signer: Signer,
        reason: String,
    ) -> Result<(), StepError> {
        self.may(Act::Stop, &signer.by)?;
        if self.state.ending.paused.is_some() {
            return Ok(());
        }
        self.emit(Event::Paused {
            by: signer.by.id,
            what: "the run".to_owned(),
            reason,
            missing: None,
            record: signer.record,
        })
    }

    /// Stops the run until somebody sets the secret without which the call of `slot` cannot be
    /// made; `secret` is its name.
    pub(in crate::turn) fn miss(
        &mut self,
        slot: &Slot,
        secret: String,
        reason: &str,
    ) -> Result<(), StepError> {
        if self.state.ending.paused.is_some() {
            return Ok(());
        }
        let named = format!("the secret `{secret}` ");
        let reason = reason.strip_prefix(&named).unwrap_or(reason).to_owned();
        let tool = self.step_and_operation(&slot.step);
        let tool = tool.map_or_else(String::new, |(_, operation)| operation.name.clone());
        self.emit(Event::Paused {
            by: "provost".to_owned(),
            what: format!("tool `{}`", tool_of(&tool)),
            reason,
            missing: Some(Missing {
                secret,
                slot: slot.clone(),
            }),
            record: None,
        })
    }

    pub(in crate::turn) fn go_on(&mut self, signer: Signer) -> Result<(), StepError> {
        let Signer { by, record } = signer;
        if self.state.ending.paused.is_none() {
            return Err(StepError::NotPaused);
        }
        self.may(Act::Resume, &by)?;
        self.emit(Event::Resumed {
            lost: Vec::new(),
            by: Some(by.id),
            record,
        })
    }
}
