//! One turn of the machine: an input, then everything that follows from it.
//!
//! Owns the order in which things are looked at. INVARIANT: a turn leaves the state exactly where
//! folding its events would; commands are made from the state after the last event.

use std::collections::BTreeSet;

use provost_plan::digest::Digest;
use provost_plan::plan::OnFailure;
use provost_plan::plan::request::{PlanRequest, Why};
use provost_plan::work::WorkBudget;

use crate::admission::{Admission, AdmissionEntry};
use crate::call::{Call, Purpose, Slot};
use crate::earlier::CallKey;
use crate::event::{AttemptEnded, Event, StepStatus};
use crate::machine::{Blob, Command, Effort, Input, Output, Rules, StepError, TurnOptions};
use crate::outcome::{Class, Landing};
use crate::state::{Dependency, FailureReview, ItemState, State};
use crate::statement::{Signer, Statement};

mod call;
mod end;
mod next;
mod people;
mod plan;
mod scope;
mod secret;
mod work;

use next::{Next, next};

/// Events that most turns have room for: the end of an attempt, and the intent of the next.
const EVENTS_USUAL: usize = 6;

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

pub(crate) struct Turn<'r> {
    pub(crate) state: &'r mut State,
    pub(crate) rules: &'r Rules,
    pub(crate) now: i64,
    pace: DispatchGate,
    events: Vec<Event>,
    blobs: Vec<Blob>,
    calls: Vec<Call>,
    asked: BTreeSet<Digest>,
    plan_asked: bool,
    /// The subgoal that could be refined now, if dispatch came to one.
    refine: Option<String>,
    /// The request, where this turn makes it.
    request: Option<PlanRequest>,
    /// What admission said of the turn when it was made before.
    said: &'r Admission,
    entries: Vec<AdmissionEntry>,
    /// The calls of which the store confirms what is known of equal ones.
    looked: BTreeSet<CallKey>,
    effort: Effort,
    /// What all that this turn judges is paid from.
    purse: WorkBudget,
}

impl<'r> Turn<'r> {
    pub(crate) fn new(
        state: &'r mut State,
        rules: &'r Rules,
        now: i64,
        manner: TurnOptions,
        said: &'r Admission,
    ) -> Self {
        let TurnOptions { pace, effort } = manner;
        Self {
            state,
            rules,
            now,
            pace,
            effort,
            purse: effort.purse(),
            events: Vec::with_capacity(EVENTS_USUAL),
            blobs: Vec::new(),
            calls: Vec::new(),
            asked: BTreeSet::new(),
            plan_asked: false,
            refine: None,
            request: None,
            said,
            entries: Vec::new(),
            looked: BTreeSet::new(),
        }
    }

    /// Records an event and changes the state by it.
    pub(crate) fn emit(&mut self, event: Event) -> Result<(), StepError> {
        let event = self.marked(event);
        let ends = self.flight_of(&event);
        let spent = self.spent_of(&event);
        self.state.apply(&event, self.now)?;
        self.note(&event, ends);
        self.entries.extend(spent);
        self.events.push(event);
        Ok(())
    }

    pub(crate) fn take(&mut self, input: Input) -> Result<(), StepError> {
        match input {
            Input::Planned { id, reply, usage } => self.planned(id, reply, usage),
            Input::Ended {
                slot,
                attempt,
                reply,
            } => self.ended(&slot, attempt, reply),
            Input::EndedTogether { replies } => {
                // Why first: an input that is not taken changes nothing.
                for (slot, attempt, _) in &replies {
                    self.expect_flying(slot, *attempt)?;
                }
                replies
                    .into_iter()
                    .try_for_each(|(slot, attempt, reply)| self.ended(&slot, attempt, reply))
            }
            Input::Statement {
                by,
                statement,
                record,
            } => self.statement(Signer { by, record }, statement),
            Input::Resume => self.resume(),
            Input::Proceed => self.proceed(),
            Input::Tick => self.expire(),
        }
    }

    /// Takes what a person says, once.
    fn statement(&mut self, mut signer: Signer, statement: Statement) -> Result<(), StepError> {
        if let Some(record) = &signer.record
            && self.state.people.nonces.contains(&record.nonce)
        {
            let nonce = record.nonce.clone();
            return Err(StepError::Replayed { nonce });
        }
        if let Some(record) = &mut signer.record {
            record.rights = self.keep_rights();
        }
        match statement {
            Statement::Approve { card, steps } => self.approve(signer, card, steps),
            Statement::Reject { card, reason, all } => self.reject(signer, card, &reason, all),
            Statement::Answer { question, value } => self.answer(signer, question, value),
            Statement::Settle {
                slot,
                attempt,
                settled,
                output,
                reason,
            } => self.settle(signer, (&slot, attempt), (settled, output), reason),
            Statement::Amend { plan, goal, reason } => self.amend(signer, plan, goal, &reason),
            Statement::Pause { reason } => self.pause(signer, reason),
            Statement::Resume => self.go_on(signer),
            Statement::Cancel { reason, undo } => self.cancel(signer, reason, undo),
        }
    }

    /// The rights by which statements are judged now, kept as evidence; none where they are those
    /// that the run recorded last, or where it records none.
    pub(crate) fn keep_rights(&mut self) -> Option<Digest> {
        let now = self.rules.policy.rights().digest();
        let is_kept = !self.state.head.signed || self.state.people.rights == Some(now);
        (!is_kept).then(|| self.keep_text_of_rights())
    }

    /// Keeps the rights that a run begins under, where it records them.
    pub(crate) fn keep_first_rights(&mut self) {
        if self.state.people.rights.is_some() {
            self.keep_text_of_rights();
        }
    }

    fn keep_text_of_rights(&mut self) -> Digest {
        let text = self.rules.policy.rights().text().as_bytes().to_vec();
        self.keep("application/json".to_owned(), text)
    }

    /// Does everything that can be done now.
    pub(crate) fn advance(&mut self) -> Result<(), StepError> {
        loop {
            match next(self.state, self.pace) {
                Next::Wait => return Ok(()),
                Next::EndCancelled => return self.end_cancelled(),
                Next::Undo => return self.undo_all(),
                Next::EndLimit => return self.end_limit(),
                Next::Stop => return self.stop(),
                Next::Review => return self.review(),
                Next::AskPlanner => self.request_plan()?,
                Next::Work => match self.work()? {
                    Flow::Go => {}
                    Flow::Hold => return Ok(()),
                },
            }
        }
    }

    /// Goes on with the steps of the plan in force; holds where nothing more follows now.
    fn work(&mut self) -> Result<Flow, StepError> {
        let before = self.events.len();
        if self.handle_failures()? == Flow::Hold {
            return Ok(Flow::Hold);
        }
        if self.events.len() != before {
            return Ok(Flow::Go);
        }
        if self.needs_no_more() {
            if self.state.in_flight() == 0 {
                self.end_early()?;
            }
            return Ok(Flow::Hold);
        }
        self.reconcile_ready()?;
        if self.state.ending.paused.is_some() {
            return Ok(Flow::Go);
        }
        self.dispatch_ready()?;
        if self.events.len() == before {
            self.ask_to_refine()?;
        }
        if self.events.len() != before {
            return Ok(Flow::Go);
        }
        self.finish_if_over().map(|()| Flow::Hold)
    }

    /// Asks about doubts as far as that may be, then ends a run that was given up.
    fn stop(&mut self) -> Result<(), StepError> {
        let before = self.events.len();
        self.reconcile_ready()?;
        if self.events.len() != before {
            return self.advance();
        }
        if self.state.in_flight() == 0 && !self.is_reconciling() {
            return self.end_stopped();
        }
        Ok(())
    }

    /// Asks for a revision, a person's word or the end, as failed steps want it; and shows the
    /// planner what it asked to see.
    fn handle_failures(&mut self) -> Result<Flow, StepError> {
        let Some(plan) = &self.state.in_force.plan else {
            return Ok(Flow::Go);
        };
        if !self.state.followups.any_for_planner() && !self.state.any_failed() {
            return Ok(Flow::Go);
        }
        for step in &plan.checked().plan().steps {
            let id = &step.id.value;
            let Some(known) = self.state.steps.get(id) else {
                continue;
            };
            let settled = matches!(known.status, StepStatus::Succeeded | StepStatus::Skipped);
            if settled && self.state.followups.is_to_show(id) {
                let why = Why::Observed { step: id.clone() };
                return self.emit(Event::ReplanRequested { why }).map(|()| Flow::Go);
            }
            let review = self.state.followups.failure(id);
            if known.status != StepStatus::Failed || review != FailureReview::Open {
                if review == FailureReview::SentBack {
                    let why = self.why_of(id, known.class.unwrap_or(Class::ToolBug));
                    return self.emit(Event::ReplanRequested { why }).map(|()| Flow::Go);
                }
                continue;
            }
            let class = known.class.unwrap_or(Class::ToolBug);
            let id = id.clone();
            let wanted = match step.on_failure {
                OnFailure::Replan if self.lapse_ends(&id, class) => OnFailure::Stop,
                wanted => wanted,
            };
            match wanted {
                OnFailure::Continue => continue,
                OnFailure::Replan => {
                    let why = self.why_of(&id, class);
                    return self.emit(Event::ReplanRequested { why }).map(|()| Flow::Go);
                }
                OnFailure::Stop if self.state.in_flight() > 0 => return Ok(Flow::Hold),
                OnFailure::Stop => {
                    let why = self.why_of(&id, class);
                    return self.end_because(&why).map(|()| Flow::Go);
                }
                OnFailure::Escalate => return self.escalate(&id, class).map(|()| Flow::Go),
            }
        }
        Ok(Flow::Go)
    }

    fn why_of(&self, id: &str, class: Class) -> Why {
        let message = self
            .state
            .failure(id)
            .map_or_else(String::new, |(_, message)| message);
        match class {
            Class::Rejected => Why::Rejected {
                step: Some(id.to_owned()),
                reason: message,
            },
            Class::Expired => Why::Expired {
                step: id.to_owned(),
            },
            other => Why::StepFailed {
                step: id.to_owned(),
                class: other.word().to_owned(),
            },
        }
    }

    /// What a step waits for.
    fn need_of(&self, id: &str) -> Dependency {
        if self.state.is_undoing() {
            return self.need_undoing(id);
        }
        let continues = self
            .state
            .plan()
            .and_then(|plan| plan.checked().step(id))
            .is_some_and(|(step, _)| step.on_failure == OnFailure::Continue);
        self.state.need(id, continues)
    }

    /// Settles what was in flight when the process before ended; nothing begins by it.
    fn resume(&mut self) -> Result<(), StepError> {
        let lost: Vec<(Slot, u32)> = self
            .state
            .items()
            .filter_map(|(slot, item)| Some((slot, item.flying()?)))
            .collect();
        let slots = lost.iter().map(|(slot, _)| slot.clone()).collect();
        self.emit(Event::Resumed {
            lost: slots,
            by: None,
            record: None,
        })?;
        for (slot, attempt) in lost {
            let purpose = self.state.item(&slot).and_then(ItemState::purpose);
            let landing = match purpose.is_some_and(Purpose::is_auxiliary) {
                true => Landing::None,
                false => Landing::Unknown,
            };
            let ended = AttemptEnded {
                message: Some("the process ended before an answer was recorded".to_owned()),
                lost: true,
                ..AttemptEnded::new(&slot, attempt, Class::Unavailable, landing)
            };
            self.attempt_over(&slot, ended)?;
        }
        self.finish_answers()?;
        self.finish_lists()?;
        self.recheck()
    }

    /// Lets everything begin that waited for people to be heard.
    fn proceed(&mut self) -> Result<(), StepError> {
        // Why: what is to end, or to be undone, needs no plan any more.
        if self.state.ending.cancelled.is_none() {
            self.ask_planner_again()?;
        }
        self.reask();
        self.expire()
    }

    /// Makes the driver ask again what was asked before.
    fn reask(&mut self) {
        let cards = self.state.open_cards().map(|(digest, _)| *digest);
        let questions = self.state.open_questions().map(|(digest, _)| *digest);
        self.asked = cards.chain(questions).collect();
    }

    pub(crate) fn finish(self, before: u64) -> Output {
        let Self {
            state,
            rules,
            events,
            blobs,
            calls,
            asked,
            plan_asked,
            request,
            now,
            entries,
            pace,
            ..
        } = self;
        let run = state.head.run.clone();
        if let Some(ended) = &state.ending.ended {
            let commands = vec![Command::Done(Box::new(ended.clone()))];
            return Output::new(run, before, events, blobs, entries, commands);
        }
        if pace == DispatchGate::Hear {
            return Output::new(run, before, events, blobs, entries, Vec::new());
        }
        let mut commands: Vec<Command> = calls
            .into_iter()
            .map(|call| Command::Call(Box::new(call)))
            .collect();
        for (digest, card) in state
            .open_cards()
            .filter(|(digest, _)| asked.contains(digest))
        {
            commands.push(Command::Ask(Box::new(card.clone()), *digest));
        }
        for (digest, question) in state.open_questions().filter(|(d, _)| asked.contains(d)) {
            commands.push(Command::Question(Box::new(question.clone()), *digest));
        }
        if plan_asked
            && state
                .planning
                .outstanding
                .as_ref()
                .is_some_and(|r| !r.asked_people)
        {
            let request = request.unwrap_or_else(|| plan::planning::current_request(state, rules));
            commands.push(Command::Plan(Box::new(request)));
        }
        if let Some(at) = state.next_timer(now) {
            commands.push(Command::WaitUntil(at));
        }
        Output::new(run, before, events, blobs, entries, commands)
    }
}
