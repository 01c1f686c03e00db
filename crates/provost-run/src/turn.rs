//! One turn of the machine: an input, then everything that follows from it.
//!
//! Owns the loop, and the way from room to room: `people` may call `plan`, `plan` may call `end`,
//! `end` may call `call`, and none calls back; what another room has to do comes back as a value.
//! Records nothing itself: that is [`log`]'s. INVARIANT: a turn leaves the state exactly where
//! folding its events would; commands are made from the state after the last event.

use crate::admission::Admission;
use crate::call::{Purpose, Slot};
use crate::event::{AttemptEnded, Event};
use crate::machine::{Input, Output, Rules, StepError, TurnOptions};
use crate::outcome::{Class, Landing, Reply};
use crate::state::{ItemState, State};
use crate::statement::{Signer, Statement};

mod basis;
mod call;
mod end;
mod entries;
mod failures;
mod log;
mod next;
mod people;
mod plan;
mod scope;
mod secret;
mod terms;
mod work;

use call::dispatch::{Due, begin_step};
use call::doubt::{is_reconciling, reconcile_ready};
use call::settle;
use end::{early, finish, undo};
use failures::{Reaction, reaction};
use log::TurnLog;
use next::{Next, next};
use people::{amend, control, gate, preview, rights};
use plan::in_force::{PlanChange, put_in_force, recheck};
use plan::{budgeted, chain, planning, subgoal};

/// Whether a turn goes on, or waits for what is in flight.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Flow {
    Go,
    Hold,
}

/// Whether anything may begin in a turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum DispatchGate {
    /// It may.
    Go,
    /// Nothing in this process any more; what is in flight settles.
    Hold,
    /// Nothing before people are heard, and nobody is asked or waited for.
    Hear,
}

/// Who is asked again what waits since before this turn.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct AskAgain {
    /// People, all cards and questions that are open.
    people: bool,
    /// The planner, the request that waits for a reply.
    planner: bool,
}

pub(crate) struct Turn<'r> {
    log: TurnLog<'r>,
}

impl<'r> Turn<'r> {
    pub(crate) fn new(
        state: &'r mut State,
        rules: &'r Rules,
        now: i64,
        manner: TurnOptions,
        said: &'r Admission,
    ) -> Self {
        let log = TurnLog::new(state, rules, now, manner, said);
        Self { log }
    }

    /// Records how a run begins, after its first event.
    pub(crate) fn begin(&mut self, interpreted: Event) -> Result<(), StepError> {
        rights::keep_first_rights(&mut self.log);
        self.log.emit(interpreted)
    }

    /// Takes an input, and says who is asked again by it.
    pub(crate) fn take(&mut self, input: Input) -> Result<AskAgain, StepError> {
        match input {
            Input::Planned { id, reply, usage } => {
                let change = planning::planned(&mut self.log, id, reply, usage)?;
                self.ask_about(change)?;
            }
            Input::Ended {
                slot,
                attempt,
                reply,
            } => self.ended(&slot, attempt, reply)?,
            Input::EndedTogether { replies } => {
                // Why first: an input that is not taken changes nothing.
                for (slot, attempt, _) in &replies {
                    settle::expect_flying(self.log.state(), slot, *attempt)?;
                }
                replies
                    .into_iter()
                    .try_for_each(|(slot, attempt, reply)| self.ended(&slot, attempt, reply))?;
            }
            Input::Statement {
                by,
                statement,
                record,
            } => self.statement(Signer { by, record }, statement)?,
            Input::Resume => self.resume()?,
            Input::Proceed => return self.proceed(),
            Input::Tick => gate::expire(&mut self.log)?,
        }
        Ok(AskAgain::default())
    }

    /// Takes the end of an attempt: what a preview read is people's, all else is of calls.
    fn ended(&mut self, slot: &Slot, attempt: u32, reply: Reply) -> Result<(), StepError> {
        settle::expect_flying(self.log.state(), slot, attempt)?;
        let purpose = self.log.state().item(slot).and_then(ItemState::purpose);
        // Why first: what a preview lacks is said on the card, and stops nothing.
        match purpose.is_some_and(Purpose::is_preview) {
            true => preview::previewed(&mut self.log, slot, reply),
            false => settle::ended(&mut self.log, slot, attempt, reply),
        }
    }

    /// Takes what a person says, once.
    fn statement(&mut self, mut signer: Signer, statement: Statement) -> Result<(), StepError> {
        let log = &mut self.log;
        if let Some(record) = &signer.record
            && log.state().people.nonces.contains(&record.nonce)
        {
            let nonce = record.nonce.clone();
            return Err(StepError::Replayed { nonce });
        }
        if let Some(record) = &mut signer.record {
            record.rights = rights::keep_rights(log);
        }
        match statement {
            Statement::Approve { card, steps } => gate::approve(log, signer, card, steps),
            Statement::Reject { card, reason, all } => {
                gate::reject(log, signer, card, &reason, all)
            }
            Statement::Answer { question, value } => gate::answer(log, signer, question, value),
            Statement::Settle {
                slot,
                attempt,
                settled,
                output,
                reason,
            } => {
                let stated = call::doubt::StatedSettlement {
                    slot,
                    attempt,
                    settled,
                    output,
                    reason,
                };
                call::doubt::settle(log, signer, stated)
            }
            Statement::Amend { plan, goal, reason } => {
                let change = amend::amend(log, signer, plan, goal, &reason)?;
                self.ask_about(change)
            }
            Statement::Pause { reason } => control::pause(log, signer, reason),
            Statement::Resume => control::go_on(log, signer),
            Statement::Cancel { reason, undo } => control::cancel(log, signer, reason, undo),
            Statement::Undo { reason } => control::undo(log, signer, reason),
        }
    }

    /// Asks people about a plan that came into force, where the run wants that.
    fn ask_about(&mut self, change: PlanChange) -> Result<(), StepError> {
        match change {
            PlanChange::None => Ok(()),
            PlanChange::InForce => gate::ask_for_plan(&mut self.log),
        }
    }

    /// Does everything that can be done now.
    pub(crate) fn advance(&mut self) -> Result<(), StepError> {
        while self.do_next()? == Flow::Go {}
        Ok(())
    }

    /// Does what is due first.
    fn do_next(&mut self) -> Result<Flow, StepError> {
        let log = &mut self.log;
        match next(log.state(), log.pace()) {
            Next::Wait => Ok(Flow::Hold),
            Next::EndCancelled => finish::end_cancelled(log).map(|()| Flow::Hold),
            Next::Undo => self.undo(),
            Next::EndLimit => finish::end_limit(log).map(|()| Flow::Hold),
            Next::Stop => self.stop(),
            Next::Review => {
                chain::review(log)?;
                match log.state().ending.ended {
                    Some(_) => Ok(Flow::Hold),
                    None => reconcile_ready(log).map(|()| Flow::Hold),
                }
            }
            Next::AskPlanner => planning::request_plan(log).map(|()| Flow::Go),
            Next::Work => self.work(),
        }
    }

    /// Goes on with the steps of the plan in force; holds where nothing more follows now.
    fn work(&mut self) -> Result<Flow, StepError> {
        let log = &mut self.log;
        let before = log.recorded();
        match reaction(log.state()) {
            Reaction::None => {}
            Reaction::Wait => return Ok(Flow::Hold),
            Reaction::Replan(why) => {
                return log.emit(Event::ReplanRequested { why }).map(|()| Flow::Go);
            }
            Reaction::End(why) => return finish::end_because(log, &why).map(|()| Flow::Go),
            Reaction::Escalate { step, class } => {
                return gate::escalate(log, &step, class).map(|()| Flow::Go);
            }
        }
        if early::needs_no_more(log.basis()) {
            return match log.state().in_flight() {
                0 => early::end_early(log),
                _ => Ok(Flow::Hold),
            };
        }
        reconcile_ready(log)?;
        if log.state().ending.paused.is_some() {
            return Ok(Flow::Go);
        }
        let refine = self.dispatch()?;
        let log = &mut self.log;
        if log.recorded() == before {
            subgoal::ask_to_refine(log, refine)?;
        }
        if log.recorded() != before {
            return Ok(Flow::Go);
        }
        finish::finish_if_over(log)
    }

    /// Starts everything that may start, and asks about what waits for a person; gives the first
    /// subgoal that could be refined now.
    fn dispatch(&mut self) -> Result<Option<String>, StepError> {
        let log = &mut self.log;
        let mut refine = None;
        let Some(plan) = log.state().in_force.plan.clone() else {
            return Ok(refine);
        };
        let mut from = 0;
        while let Some(place) = log.state().next_to_look_at(from) {
            from = place + 1;
            let step = plan.checked().plan().steps.get(place);
            let known = step.and_then(|step| plan.checked().step(&step.id.value));
            let Some((step, record)) = known else {
                continue;
            };
            match begin_step(log, step, record)? {
                Due::Nothing => {}
                Due::Ask(calls) => preview::preview_and_ask(log, step, record, &calls)?,
                Due::Refine => {
                    refine.get_or_insert_with(|| step.id.value.clone());
                }
            }
            if log.state().spend.limit.is_some() || log.state().ending.paused.is_some() {
                break;
            }
        }
        Ok(refine)
    }

    /// Asks about doubts as far as that may be, then ends a run that was given up.
    fn stop(&mut self) -> Result<Flow, StepError> {
        let log = &mut self.log;
        let before = log.recorded();
        reconcile_ready(log)?;
        if log.recorded() != before {
            return Ok(Flow::Go);
        }
        if log.state().in_flight() == 0 && !is_reconciling(log.basis()) {
            finish::end_stopped(log)?;
        }
        Ok(Flow::Hold)
    }

    /// Takes back what happened; then ends the run.
    fn undo(&mut self) -> Result<Flow, StepError> {
        let log = &mut self.log;
        if log.pace() != DispatchGate::Go || log.state().ending.paused.is_some() {
            return Ok(Flow::Hold);
        }
        let before = log.recorded();
        if !undo::is_placed(log.state()) {
            if log.state().in_flight() > 0 {
                return Ok(Flow::Hold);
            }
            undo::look_what_happened(log)?;
            if log.recorded() != before {
                return Ok(Flow::Go);
            }
            if is_reconciling(log.basis()) {
                return Ok(Flow::Hold);
            }
            if let Some(proposal) = undo::plan_undo(log)? {
                let change = put_in_force(log, proposal, "what happened is undone")?;
                self.ask_about(change)?;
            }
            return Ok(Flow::Go);
        }
        if log.state().spend.limit.is_none() {
            reconcile_ready(log)?;
            if log.state().ending.paused.is_none() {
                self.dispatch()?;
            }
        }
        let log = &mut self.log;
        if log.recorded() != before {
            return Ok(Flow::Go);
        }
        if log.state().in_flight() == 0 && undo::is_undone(log.state()) {
            finish::end_cancelled(log)?;
        }
        Ok(Flow::Hold)
    }

    /// Settles what was in flight when the process before ended; nothing begins by it.
    fn resume(&mut self) -> Result<(), StepError> {
        let log = &mut self.log;
        let flying = log.state().items();
        let lost: Vec<(Slot, u32)> = flying
            .filter_map(|(slot, item)| Some((slot, item.flying()?)))
            .collect();
        let slots = lost.iter().map(|(slot, _)| slot.clone()).collect();
        log.emit(Event::Resumed {
            lost: slots,
            by: None,
            record: None,
        })?;
        for (slot, attempt) in lost {
            let purpose = log.state().item(&slot).and_then(ItemState::purpose);
            let landing = match purpose.is_some_and(Purpose::is_auxiliary) {
                true => Landing::None,
                false => Landing::Unknown,
            };
            let ended = AttemptEnded {
                message: Some("the process ended before an answer was recorded".to_owned()),
                lost: true,
                ..AttemptEnded::new(&slot, attempt, Class::Unavailable, landing)
            };
            settle::attempt_over(log, &slot, ended)?;
        }
        gate::finish_answers(log)?;
        settle::finish_lists(log)?;
        let change = recheck(log)?;
        self.ask_about(change)
    }

    /// Lets everything begin that waited for people to be heard.
    fn proceed(&mut self) -> Result<AskAgain, StepError> {
        // Why: what is to end, or to be undone, needs no plan any more.
        let planner = match self.log.state().ending.cancelled {
            None => budgeted::ask_planner_again(&mut self.log)?,
            Some(_) => false,
        };
        gate::expire(&mut self.log)?;
        let people = true;
        Ok(AskAgain { people, planner })
    }

    /// Refuses a turn that spent the little it had.
    pub(crate) fn within_its_work(&self) -> Result<(), StepError> {
        work::within_its_work(self.log.basis())
    }

    pub(crate) fn finish(mut self, before: u64, again: AskAgain) -> Output {
        let made = self.log.take_request();
        let log = self.log;
        let waiting = log.state().planning.outstanding.as_ref();
        let request = waiting.filter(|request| !request.asked_people);
        let request = request.and_then(|_| match made {
            None if again.planner => Some(planning::current_request(log.state(), log.rules())),
            made => made,
        });
        log.finish(before, again.people, request)
    }
}
