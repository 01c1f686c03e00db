//! From a step that may run to a call that does.
//!
//! Owns readiness, guards, lists, arguments, the verdict on concrete values and the limits.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use provost_plan::catalog::{Idempotency, Operation, Spend};
use provost_plan::check::StepRecord;
use provost_plan::check::policy::with_own_caution;
use provost_plan::digest::{Digest, Domain, canonical};
use provost_plan::expr::Template;
use provost_plan::limits::ARGS_BYTES_MAX;
use provost_plan::money::Money;
use provost_plan::plan::{ForEach, Step, StepKind};
use provost_plan::policy::{CallFacts, Decision, Verdict};
use serde_json::Value;

use super::earlier::{Before, forbidden};
use super::sinks::{same_sinks, sinks_digest};
use crate::call::{Purpose, Slot, idempotency_key};
use crate::card::{ConcreteCall, QuestionPurpose};
use crate::event::{AttemptStarted, Event, SkipReason, StepStatus};
use crate::machine::StepError;
use crate::outcome::{Class, Landing};
use crate::shown;
use crate::state::{Dependency, StepState};
use crate::turn::Turn;
use crate::turn::people::gate::{ApprovalState, with_caution};
use crate::turn::scope::Roots;
use crate::turn::secret;
use crate::turn::work::items_of;

/// A call that could be made, before anybody allowed it.
pub(in crate::turn) struct Candidate {
    pub(in crate::turn) slot: Slot,
    pub(in crate::turn) operation: Arc<Operation>,
    pub(in crate::turn) args: Value,
    pub(in crate::turn) args_digest: Digest,
    pub(in crate::turn) verdict: Verdict,
    pub(in crate::turn) repeats: Option<String>,
    /// The equal calls that were made before.
    pub(in crate::turn) before: Before,
    /// The names of the arguments that are secret.
    pub(in crate::turn) secrets: BTreeSet<String>,
}

/// A step that cannot become a call, and why.
pub(in crate::turn) struct Refusal {
    pub(in crate::turn) class: Class,
    pub(in crate::turn) message: String,
}

impl Turn<'_> {
    /// Starts everything that may start.
    pub(in crate::turn) fn dispatch_ready(&mut self) -> Result<(), StepError> {
        let Some(plan) = self.state.in_force.plan.clone() else {
            return Ok(());
        };
        let steps = &plan.checked().plan().steps;
        self.refine = None;
        let mut from = 0;
        while let Some(place) = self.state.next_to_look_at(from) {
            from = place + 1;
            let Some(step) = steps.get(place) else {
                continue;
            };
            let id = &step.id.value;
            let known = plan.checked().step(id);
            let Some((_, record)) = known.filter(|_| self.state.may_begin(id)) else {
                continue;
            };
            match self.state.steps.get(id).map(|known| known.status) {
                Some(StepStatus::Pending) => self.consider(step, record)?,
                Some(StepStatus::Ready | StepStatus::Running | StepStatus::WaitingApproval) => {
                    self.run_items(step, record)?
                }
                _ => {}
            }
            if self.state.spend.limit.is_some() || self.state.ending.paused.is_some() {
                return Ok(());
            }
        }
        Ok(())
    }

    /// Looks at a step that waits for others.
    fn consider(&mut self, step: &Step, record: &StepRecord) -> Result<(), StepError> {
        let id = &step.id.value;
        for on in &record.after {
            match self.need_for(id, on) {
                Dependency::Met => {}
                Dependency::Wait => {
                    self.state.waits_for(id, on);
                    return Ok(());
                }
                Dependency::Never => {
                    return self.emit(Event::StepBlocked {
                        step: id.clone(),
                        on: on.clone(),
                    });
                }
            }
        }
        let slot = Slot {
            step: id.clone(),
            item: None,
        };
        match self.guard(step) {
            Ok(true) => {}
            Ok(false) => {
                return self.emit(Event::StepSkipped {
                    slot,
                    because: SkipReason::When,
                });
            }
            Err(reason) => return self.settle_failed(&slot, Class::Expression, reason),
        }
        if self.not_approved(id, record) {
            return self.emit(Event::StepSkipped {
                slot,
                because: SkipReason::NotApproved,
            });
        }
        if let StepKind::Question { text, answer, of } = &step.kind {
            return match self.question_text(text) {
                Ok(text) => {
                    let of = of.as_ref().map(|of| of.value.clone());
                    let purpose = QuestionPurpose::Step { step: id.clone() };
                    self.ask_question(purpose, text, answer.value().clone(), of)
                }
                Err((class, message)) => self.settle_failed(&slot, class, message),
            };
        }
        if let Some(subgoal) = step.subgoal() {
            return self.look_at_subgoal(step, subgoal);
        }
        if !self.evaluate_list(step)? {
            return Ok(());
        }
        self.run_items(step, record)
    }

    /// What a list is now.
    pub(in crate::turn) fn list(&self, for_each: &ForEach) -> Result<Vec<Value>, String> {
        let (roots, list) = (Roots::new(&self.purse), &for_each.list);
        match list.eval(&roots.scope_for(self.state, list.references())) {
            Ok(list) => items_of(list),
            Err(error) => Err(error.to_string()),
        }
    }

    /// Evaluates the list of a `for_each`, once. False if the step is over by it.
    fn evaluate_list(&mut self, step: &Step) -> Result<bool, StepError> {
        let id = &step.id.value;
        let Some(for_each) = &step.for_each else {
            return Ok(true);
        };
        if self.state.steps.get(id).is_some_and(|known| known.listed) {
            return Ok(true);
        }
        let slot = Slot {
            step: id.clone(),
            item: None,
        };
        let items = match self.list(for_each) {
            Ok(items) => items,
            Err(reason) => {
                self.settle_failed(&slot, Class::Expression, reason)?;
                return Ok(false);
            }
        };
        let most = for_each.max_items.value;
        if items.len() as u64 > most {
            let message = format!("`for_each` has {} items, more than the {most}", items.len());
            self.settle_failed(&slot, Class::BudgetExceeded, message)?;
            return Ok(false);
        }
        let empty = items.is_empty();
        self.emit(Event::ListEvaluated {
            step: id.clone(),
            items,
            secret: false,
        })?;
        if empty {
            self.settle_list(id)?;
        }
        Ok(!empty)
    }

    /// Starts, or asks about, every item of a step that is not started.
    fn run_items(&mut self, step: &Step, record: &StepRecord) -> Result<(), StepError> {
        if self.is_wanted_still(step)? {
            self.run_open_items(step, record)
        } else {
            Ok(())
        }
    }

    fn run_open_items(&mut self, step: &Step, record: &StepRecord) -> Result<(), StepError> {
        let id = &step.id.value;
        let Some(known) = self.state.steps.get(id) else {
            return Ok(());
        };
        let is_list = known.is_list;
        let places = self.state.limits_in_force().concurrency;
        let mut asked = Vec::new();
        for index in self.open_items(known) {
            let mut moved = false;
            let full = self.state.in_flight() as u64 >= places;
            if full && !may_ask(record) {
                break;
            }
            let slot = Slot {
                step: id.clone(),
                item: is_list.then_some(index),
            };
            // Why before all else: what took place is never called again.
            if self.is_to_be_read_back(step, &slot) {
                self.read_back(step, record, slot, full)?;
                continue;
            }
            if self.state.goals.former.contains(id) {
                let message = "the goal was amended before it took place".to_owned();
                self.settle_failed(&slot, Class::Cancelled, message)?;
                continue;
            }
            if let Some((class, message)) = self.beyond_repeating(&slot) {
                self.settle_in_doubt(&slot, class, message)?;
                continue;
            }
            match self.candidate(step, record, &slot) {
                // Why: a read may still tell what became of the other call.
                Err(refusal) if refusal.class == Class::Conflict && self.is_reconciling() => {}
                Err(refusal) => self.settle_failed(&slot, refusal.class, refusal.message)?,
                Ok(candidate) => match candidate.verdict.decision {
                    Decision::Forbid => {
                        self.look_up(&candidate);
                        let message = forbidden(&candidate);
                        self.settle_failed(&slot, Class::PolicyDenied, message)?;
                    }
                    // Why: one card asks about all items, so the rest is looked at all the same.
                    Decision::Permit if full => {}
                    Decision::Permit => moved = self.start_fresh(step, record, candidate, None)?,
                    Decision::Ask => match self.approval_of(step, record, &candidate) {
                        ApprovalState::Approved(_) if full => {}
                        ApprovalState::Approved(card) => {
                            moved = self.start_fresh(step, record, candidate, Some(card))?;
                        }
                        ApprovalState::Open => asked.push(candidate),
                    },
                },
            }
            if moved || self.state.spend.limit.is_some() || self.state.ending.paused.is_some() {
                return Ok(());
            }
        }
        if asked.is_empty() {
            Ok(())
        } else {
            asked.iter().for_each(|candidate| self.look_up(candidate));
            self.preview_and_ask(step, record, &asked)
        }
    }

    /// The items at which something may begin now, those that were begun first: others may wait
    /// until these are over, because they act on the same reading.
    fn open_items(&self, known: &StepState) -> Vec<usize> {
        let open = known.items.iter().enumerate().filter(|(_, item)| {
            item.settled.is_none()
                && item.in_flight.is_none()
                && item.card.is_none()
                && item.retry_at.is_none_or(|at| at <= self.now)
        });
        let (begun, others): (Vec<_>, Vec<_>) = open.partition(|(_, item)| item.first_at.is_some());
        let places = begun.into_iter().chain(others).map(|(index, _)| index);
        places.collect()
    }

    /// Why an attempt that may have landed cannot be made again, if it cannot.
    fn beyond_repeating(&self, slot: &Slot) -> Option<(Class, String)> {
        let item = self.state.item(slot).filter(|item| item.attempt > 0)?;
        let landing = item.landing.unwrap_or(Landing::Unknown);
        if self.may_repeat(slot, landing, self.now) {
            return None;
        }
        let message = "it may have taken place, and repeating it is no longer safe".to_owned();
        Some((item.class.unwrap_or(Class::Unavailable), message))
    }

    /// The concrete call of a slot, with policy's word on it.
    pub(in crate::turn) fn candidate(
        &self,
        step: &Step,
        record: &StepRecord,
        slot: &Slot,
    ) -> Result<Candidate, Refusal> {
        let StepKind::Tool { tool, args } = &step.kind else {
            return Err(refusal(Class::ToolBug, "the step is no call"));
        };
        self.role_admits(step, record, &tool.value)?;
        let operation = self
            .rules
            .catalog
            .get(&tool.value)
            .filter(|operation| self.rules.catalog.digest(&operation.name) == record.tool)
            .ok_or_else(|| {
                refusal(
                    Class::Drift,
                    "the tool is not the one the plan was checked under",
                )
            })?
            .clone();
        let secrets = secret::refused(step, record, &operation)
            .map_err(|message| refusal(Class::PolicyDenied, &message))?;
        let roots = Roots::new(&self.purse).with_item(self.item_value(slot));
        let args = args
            .eval(&roots.scope_for(
                self.state,
                args.templates().into_iter().flat_map(Template::references),
            ))
            .map_err(|error| refusal(Class::Expression, &error.to_string()))?;
        let text = canonical(&args);
        if text.len() > ARGS_BYTES_MAX {
            let message = format!("the arguments have more than {ARGS_BYTES_MAX} bytes");
            return Err(refusal(Class::InvalidArguments, &message));
        }
        if let Some(violation) = operation
            .input
            .violations_within(&args, &self.purse)
            .first()
        {
            let message = format!("argument `{}`: {}", violation.pointer, violation.message);
            return Err(refusal(Class::InvalidArguments, &message));
        }
        let args_digest = Digest::of_bytes(Domain::Args, text.as_bytes());
        let repeats = self.repeats(slot, &operation, args_digest, &args)?;
        let before = self.before(slot, &operation, args_digest);
        let call = (&*operation, &args, before.repeats);
        let mut verdict = with_own_caution(step, self.decide(step, record, call));
        if repeats.is_some() && verdict.decision != Decision::Forbid {
            verdict = with_caution(verdict);
        }
        Ok(Candidate {
            slot: slot.clone(),
            operation,
            args,
            args_digest,
            verdict,
            repeats,
            before,
            secrets,
        })
    }

    /// Whether the role of a step is the one it was checked in, and admits a tool that it names.
    pub(in crate::turn) fn role_admits(
        &self,
        step: &Step,
        record: &StepRecord,
        tool: &str,
    ) -> Result<(), Refusal> {
        let catalog = &self.rules.catalog;
        let role = step.role().and_then(|name| catalog.role(name));
        if role.map(|role| role.digest()) != record.role {
            let message = "the role is not the one the plan was checked under";
            return Err(refusal(Class::Drift, message));
        }
        if catalog.admits(step.role(), tool) {
            return Ok(());
        }
        let name = step.role().unwrap_or_default();
        let message = format!("the role `{name}` does not admit `{tool}`");
        Err(refusal(Class::PolicyDenied, &message))
    }

    fn decide(
        &self,
        step: &Step,
        record: &StepRecord,
        (operation, args, repeats): (&Operation, &Value, u64),
    ) -> Verdict {
        let empty = serde_json::Map::new();
        let facts = CallFacts {
            principal: &self.state.head.principal,
            operation,
            role: step.role().unwrap_or_default(),
            args: args.as_object().unwrap_or(&empty),
            unknown: &BTreeSet::new(),
            labels: &record.labels,
            control: &record.control,
            // Why: the arguments just passed their schema, and every step that feeds them was
            // accepted, or the plan would wait.
            inputs_validated: true,
            values_from_goal: self.values_from_goal(record, args),
            repeats: Some(repeats),
        };
        self.rules.policy.decide(&facts)
    }

    /// The step whose effect this call would repeat.
    fn repeats(
        &self,
        slot: &Slot,
        operation: &Operation,
        args_digest: Digest,
        args: &Value,
    ) -> Result<Option<String>, Refusal> {
        if operation.effect.is_read() {
            return Ok(None);
        }
        let in_doubt = self.state.unsure_effects().find(|effect| {
            effect.slot != *slot
                && effect.landing == Landing::Unknown
                && effect.operation == operation.name
                && same_sinks(operation, &effect.args, args)
        });
        if let Some(effect) = in_doubt {
            let message = format!(
                "step `{}` may already have done this, its outcome is unknown",
                effect.slot
            );
            return Err(refusal(Class::Conflict, &message));
        }
        let same = self.state.effects_of(&operation.name, args_digest);
        let repeated =
            same.filter(|effect| effect.slot != *slot && effect.landing != Landing::None);
        Ok(repeated.last().map(|effect| effect.slot.to_string()))
    }

    /// Records the intent and makes the call.
    pub(in crate::turn) fn start(
        &mut self,
        record: &StepRecord,
        candidate: Candidate,
        approval: Option<Digest>,
        purpose: Purpose,
    ) -> Result<(), StepError> {
        self.look_up(&candidate);
        let Candidate {
            slot,
            operation,
            args,
            args_digest,
            verdict,
            before,
            ..
        } = candidate;
        let bytes = u64::try_from(canonical(&args).len()).unwrap_or(u64::MAX);
        let spend = operation.spend(Some(bytes));
        if let Some(limit) = self.limit_reached(self.is_first(&slot), &spend) {
            return self.emit(Event::AdmissionRefused { slot, limit });
        }
        if let Some(denial) = self.said.denials.get(&slot).cloned() {
            return match purpose.retaken_for() {
                Some(id) => self.put_off_all(id, &denial),
                None => self.put_off(&slot, denial),
            };
        }
        let attempt = self.state.item(&slot).map_or(1, |item| item.attempt + 1);
        let key = self.key_of(&slot, &operation, record.closure);
        let sinks = sinks_digest(&operation, &args);
        let intent = AttemptStarted {
            slot,
            attempt,
            operation: operation.name.clone(),
            tool: record.tool.unwrap_or_else(|| operation.digest()),
            closure: record.closure,
            args,
            secret_args: BTreeSet::new(),
            args_digest,
            key,
            verdict,
            approval,
            read: operation.effect.is_read(),
            purpose,
            sinks: (!operation.effect.is_read()).then_some(sinks),
            money: (spend.money > Money::ZERO).then_some(spend.money),
            tokens: (spend.tokens > 0).then_some(spend.tokens),
            earlier: before.calls,
        };
        match self.call_of_intent(&intent) {
            Some(call) => self.begin(intent, call),
            None => {
                let message = "the current plan has no such call".to_owned();
                self.settle_failed(&intent.slot, Class::ToolBug, message)
            }
        }
    }

    /// The key that is sent with every attempt of a call, where its tool honours one.
    fn key_of(&self, slot: &Slot, operation: &Operation, closure: Digest) -> Option<String> {
        let keyed = matches!(operation.idempotency, Idempotency::Key { .. });
        let sent = self.state.item(slot).and_then(|item| item.key.clone());
        let new = || idempotency_key(&self.state.head.run, slot, closure);
        keyed.then(|| sent.unwrap_or_else(new))
    }

    /// Whether an attempt would be the first of a call.
    fn is_first(&self, slot: &Slot) -> bool {
        self.state.item(slot).is_none_or(|item| {
            // Why the second: the reading is there, and taking it again is a call of its own.
            let again = item.settled == Some(StepStatus::Succeeded) && item.retaking.is_none();
            item.attempt == 0 || again
        })
    }

    /// The limit that an attempt would pass which uses up as much as it can; the first of a call
    /// counts as one.
    pub(in crate::turn) fn limit_reached(&self, first: bool, spend: &Spend) -> Option<String> {
        let limits = self.state.limits_in_force();
        if first && self.state.spend.calls >= limits.calls {
            return Some(format!("its limit of {} calls is reached", limits.calls));
        }
        if self.state.spend.attempts >= limits.attempts {
            return Some(format!(
                "its limit of {} attempts is reached",
                limits.attempts
            ));
        }
        let money = self.state.spend.money.checked_add(spend.money);
        if let Some(limit) = limits.money
            && money.is_none_or(|money| money > limit)
        {
            return Some(format!(
                "its limit of {limit} in money is reached: {} is reserved and this may cost {}",
                self.state.spend.money, spend.money
            ));
        }
        let tokens = self.state.spend.tokens.checked_add(spend.tokens);
        if let Some(limit) = limits.tokens
            && tokens.is_none_or(|tokens| tokens > limit)
        {
            return Some(format!(
                "its limit of {limit} tokens is reached: {} are reserved and this may take {}",
                self.state.spend.tokens, spend.tokens
            ));
        }
        let wall = i64::try_from(limits.wall_ms).unwrap_or(i64::MAX);
        if self.state.spend.active_ms >= wall {
            return Some(format!("its limit of {wall} ms of running is reached"));
        }
        None
    }

    /// What an approved candidate is shown as.
    pub(in crate::turn) fn concrete(candidate: &Candidate) -> ConcreteCall {
        ConcreteCall {
            item: candidate.slot.item,
            args: shown::args(&candidate.args, &candidate.secrets),
            args_digest: candidate.args_digest,
            origins: BTreeMap::new(),
            repeats: candidate.repeats.clone(),
            earlier: candidate.before.calls.clone(),
            preview: None,
        }
    }
}

/// Whether a call of this step may need a person's word.
fn may_ask(record: &StepRecord) -> bool {
    let settled =
        |verdict: &Verdict| verdict.decision == Decision::Permit && verdict.condition.is_none();
    !record.verdict.as_ref().is_some_and(settled)
}

fn refusal(class: Class, message: &str) -> Refusal {
    Refusal {
        class,
        message: message.to_owned(),
    }
}
