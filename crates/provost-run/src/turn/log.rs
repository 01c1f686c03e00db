//! What a turn records: events, the bytes they name, and what leaves with them.
//!
//! Owns the one way by which a turn changes the state: an event. Never decides which: that is what
//! the rooms do. INVARIANT: the state is where folding the events would leave it, and nobody else
//! in a turn can write to it.

use std::collections::BTreeSet;

use provost_plan::digest::Digest;
use provost_plan::plan::request::PlanRequest;
use provost_plan::work::WorkBudget;
use serde_json::Value;

use super::basis::Basis;
use super::{DispatchGate, entries, secret};
use crate::admission::{Admission, AdmissionEntry, EarlierLook};
use crate::call::Call;
use crate::card::{Question, QuestionPurpose};
use crate::earlier::CallKey;
use crate::event::{AttemptStarted, Event};
use crate::machine::{Blob, Command, Effort, Output, Rules, StepError, TurnOptions, TurnRecord};
use crate::state::State;

/// Events that most turns have room for: the end of an attempt, and the intent of the next.
const EVENTS_USUAL: usize = 6;

/// The record of one turn.
pub(super) struct TurnLog<'r> {
    state: &'r mut State,
    rules: &'r Rules,
    now: i64,
    pace: DispatchGate,
    said: &'r Admission,
    effort: Effort,
    purse: WorkBudget,
    events: Vec<Event>,
    blobs: Vec<Blob>,
    calls: Vec<Call>,
    /// The request that leaves, as it was made.
    request: Option<PlanRequest>,
    entries: Vec<AdmissionEntry>,
    /// The calls of which the store confirms what is known of equal ones.
    looked: BTreeSet<CallKey>,
}

impl<'r> TurnLog<'r> {
    pub(super) fn new(
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
            said,
            effort,
            purse: effort.purse(),
            events: Vec::with_capacity(EVENTS_USUAL),
            blobs: Vec::new(),
            calls: Vec::new(),
            request: None,
            entries: Vec::new(),
            looked: BTreeSet::new(),
        }
    }

    /// The state after the last event.
    pub(super) fn state(&self) -> &State {
        self.state
    }

    /// What is decided on after the last event.
    pub(super) fn basis(&self) -> Basis<'_> {
        Basis {
            state: self.state,
            rules: self.rules,
            now: self.now,
            pace: self.pace,
            said: self.said,
            effort: self.effort,
            purse: &self.purse,
        }
    }

    pub(super) fn rules(&self) -> &'r Rules {
        self.rules
    }

    pub(super) fn now(&self) -> i64 {
        self.now
    }

    pub(super) fn pace(&self) -> DispatchGate {
        self.pace
    }

    /// What admission said of the turn when it was made before.
    pub(super) fn said(&self) -> &'r Admission {
        self.said
    }

    pub(super) fn purse(&self) -> &WorkBudget {
        &self.purse
    }

    /// How many events are recorded.
    pub(super) fn recorded(&self) -> usize {
        self.events.len()
    }

    /// Records an event and changes the state by it.
    pub(super) fn emit(&mut self, event: Event) -> Result<(), StepError> {
        let event = secret::marked(self.basis(), event);
        let ends = entries::flight_of(self.state, &event);
        let spent = entries::spent_of(self.basis(), &event);
        self.state.apply(&event, self.now)?;
        self.entries
            .extend(entries::entry_of(self.basis(), &event, ends));
        self.entries.extend(spent);
        self.events.push(event);
        Ok(())
    }

    /// Keeps the bytes behind an event; their digest stands in the journal.
    pub(super) fn keep(&mut self, media: String, bytes: Vec<u8>) -> Digest {
        let blob = Blob::new(media, bytes);
        let digest = blob.digest();
        self.blobs.push(blob);
        digest
    }

    /// Records the intent of a call, and makes it.
    pub(super) fn begin(
        &mut self,
        mut intent: AttemptStarted,
        call: Call,
    ) -> Result<(), StepError> {
        // Why here: the call knows how long it may take, and no other place makes both.
        intent.timeout_ms = u64::try_from(call.timeout().as_millis()).ok();
        intent.narrowed = call.timeout() < call.operation().timeout;
        self.emit(Event::AttemptStarted(intent))?;
        self.calls.push(call);
        Ok(())
    }

    /// Records a question and makes the driver ask it.
    pub(super) fn ask_question(
        &mut self,
        purpose: QuestionPurpose,
        text: String,
        answer: Value,
    ) -> Result<(), StepError> {
        self.ask(Question {
            run: self.state.head.run.clone(),
            purpose,
            text,
            answer,
            of: None,
            expires: None,
        })
    }

    /// [`Self::ask_question`], as it is written.
    pub(super) fn ask(&mut self, question: Question) -> Result<(), StepError> {
        let digest = question.digest();
        self.emit(Event::QuestionAsked { question, digest })
    }

    /// Makes the driver send a request that is recorded.
    pub(super) fn send(&mut self, request: PlanRequest) {
        self.request = Some(request);
    }

    /// Has the store confirm, once, what is known of the calls that equal one.
    pub(super) fn look_up(&mut self, look: EarlierLook) {
        if self.looked.insert(look.call.clone()) {
            self.entries.push(AdmissionEntry::Earlier(Box::new(look)));
        }
    }

    /// Remembers that the step `id` cannot begin before the step `on` is final: no fact, but what
    /// spares looking at it again.
    pub(super) fn waits_for(&mut self, id: &str, on: &str) {
        self.state.waits_for(id, on);
    }

    /// The request that is to be sent, if this turn made one that still waits for its reply.
    pub(super) fn take_request(&mut self) -> Option<PlanRequest> {
        let waits = self.state.planning.outstanding.as_ref()?.id;
        self.request.take().filter(|request| request.id == waits)
    }

    /// What was asked of people in this turn.
    fn asked(&self) -> BTreeSet<Digest> {
        let digests = self.events.iter().filter_map(|event| match event {
            Event::ApprovalRequested { digest, .. } | Event::QuestionAsked { digest, .. } => {
                Some(*digest)
            }
            _ => None,
        });
        digests.collect()
    }

    /// What is to be stored and done. `again` says that people are asked all that is open, and
    /// `request` is what a planner is asked.
    pub(super) fn finish(self, before: u64, again: bool, request: Option<PlanRequest>) -> Output {
        let asked = self.asked();
        let is_asked = |digest: &Digest| again || asked.contains(digest);
        let Self {
            state,
            events,
            blobs,
            calls,
            now,
            entries,
            pace,
            ..
        } = self;
        let run = state.head.run.clone();
        let recorded = TurnRecord {
            before,
            append: events,
            blobs,
            admission: entries,
        };
        if let Some(ended) = &state.ending.ended {
            let commands = vec![Command::Done(Box::new(ended.clone()))];
            return Output::new(run, recorded, commands);
        }
        if pace == DispatchGate::Hear {
            return Output::new(run, recorded, Vec::new());
        }
        let calls = calls.into_iter().map(|call| Command::Call(Box::new(call)));
        let mut commands: Vec<Command> = calls.collect();
        for (digest, card) in state.open_cards().filter(|(digest, _)| is_asked(digest)) {
            commands.push(Command::Ask(Box::new(card.clone()), *digest));
        }
        for (digest, question) in state.open_questions().filter(|(d, _)| is_asked(d)) {
            commands.push(Command::Question(Box::new(question.clone()), *digest));
        }
        commands.extend(request.map(|request| Command::Plan(Box::new(request))));
        commands.extend(state.next_timer(now).map(Command::WaitUntil));
        Output::new(run, recorded, commands)
    }
}
