//! Rights: what somebody does to a run by a statement, in the words that policy is asked in.
//!
//! Owns the facts of each of the five statements, taken from the state: the machine asks with them
//! when a statement arrives, and whoever reads a journal when it is read again. Judges nothing
//! itself. INVARIANT: both ask the same.

use provost_plan::policy::{ActionFacts, OperationFacts, Principal, RunAction};

use super::State;
use super::objection::Objection;
use crate::call::Slot;
use crate::event::{Event, SettledBy};

/// What somebody does.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Act<'a> {
    /// They answer a question that is for somebody, or for nobody in particular.
    Answer(Option<&'a str>),
    /// They say what became of a call.
    Settle(Option<&'a OperationFacts>),
    /// They put another plan or goal, or have undone what happened.
    Amend,
    /// They pause or cancel.
    Stop,
    /// They let it go on.
    Resume,
}

impl State {
    /// The facts by which it is judged whether `by` may do this here and now.
    pub(crate) fn facts<'a>(&'a self, act: Act<'a>, by: &'a Principal) -> ActionFacts<'a> {
        let facts = ActionFacts::of(RunAction::Stop, by, &self.head.principal);
        match act {
            Act::Answer(addressee) => ActionFacts {
                action: RunAction::Answer,
                addressee,
                ..facts
            },
            Act::Settle(operation) => ActionFacts {
                action: RunAction::Settle,
                operation,
                ..facts
            },
            Act::Amend => ActionFacts {
                action: RunAction::Amend,
                ..facts
            },
            Act::Stop => facts,
            Act::Resume => {
                let pause = self.ending.paused.as_ref();
                // Why none for a secret: that it is missing no person said.
                let by_person = pause.filter(|pause| pause.missing.is_none());
                ActionFacts {
                    action: RunAction::Resume,
                    stopped_by: by_person.map(|pause| pause.by.as_str()),
                    ..facts
                }
            }
        }
    }

    /// What a person did by an event that may follow here; none if it was no person, or a yes or a
    /// no to a card.
    pub(super) fn act_of<'a>(&'a self, event: &'a Event) -> Result<Option<Act<'a>>, Objection> {
        Ok(Some(match event {
            Event::QuestionAnswered { question, .. } => {
                let asked = self.people.questions.get(question);
                Act::Answer(asked.and_then(|asked| asked.question.of.as_deref()))
            }
            Event::DoubtSettled {
                slot,
                by: SettledBy::Person { .. },
                record,
                ..
            } => {
                let operation = record
                    .as_ref()
                    .and_then(|record| record.operation.as_deref());
                let called = called(self, slot);
                if operation.map(|operation| operation.name.as_str()) != called {
                    return Err(Objection::OtherCall { slot: slot.clone() });
                }
                Act::Settle(operation)
            }
            Event::GoalAmended { .. }
            | Event::PlanAmended { .. }
            | Event::UndoRequested { .. }
            | Event::CancelRequested { undo: true, .. } => Act::Amend,
            Event::CancelRequested { .. }
            | Event::Paused {
                record: Some(_), ..
            } => Act::Stop,
            Event::Resumed { by: Some(_), .. } => Act::Resume,
            _ => return Ok(None),
        }))
    }
}

/// The operation that the step of a slot calls.
fn called<'s>(state: &'s State, slot: &Slot) -> Option<&'s str> {
    let (step, _) = state.plan()?.checked().step(&slot.step)?;
    Some(step.tool()?.value.as_str())
}
