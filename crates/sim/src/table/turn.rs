//! One turn of the machine, as the rows of the table look at it.
//!
//! Owns what is asked of the events of a turn. Never names a row.

use provost_plan::plan::request::{PlanReply, Why};
use provost_plan::plan::undo::undone_by;
use provost_run::call::Purpose;
use provost_run::event::{
    AttemptEnded, Event, RunEnded, RunStatus, SettledBy, Settlement, SkipReason, StepStatus,
};
use provost_run::machine::Input;
use provost_run::outcome::Class;
use provost_run::statement::Statement;

/// What the machine was told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TurnInput {
    /// A run begins.
    Create,
    /// A planner replied with a plan.
    Plan,
    /// A planner replied with questions.
    Questions,
    /// The goal was understood.
    Interpreted,
    /// A planner declined.
    Decline,
    /// A call brought a result.
    Result,
    /// A call failed.
    Failure,
    /// A person said yes.
    Yes,
    /// A person said no.
    No,
    /// A person answered.
    Answer,
    /// A person ended the run.
    Cancel,
    /// A person ended the run, and wants what happened undone.
    Undo,
    /// A person wants undone what a run did that has ended.
    UndoEnded,
    /// A process took the run up.
    Resume,
    /// What people said meanwhile was heard.
    Proceed,
    /// A person settled a doubt.
    Settle,
    /// Somebody stopped the run for now.
    Pause,
    /// A person let it go on.
    GoOn,
    /// A person amended plan or goal.
    Amend,
    /// Time passed.
    Tick,
}

impl TurnInput {
    /// The word for an input.
    #[must_use]
    pub fn of(input: &Input) -> Self {
        match input {
            Input::Planned { reply, .. } => match reply {
                PlanReply::Plan { .. } | PlanReply::Unreadable { .. } => Self::Plan,
                PlanReply::Interpreted { .. } => Self::Interpreted,
                PlanReply::Questions(_) => Self::Questions,
                PlanReply::Decline(_) | PlanReply::Failed { .. } => Self::Decline,
            },
            Input::Ended { reply, .. } if reply.class == Class::Ok => Self::Result,
            Input::Ended { .. } => Self::Failure,
            Input::EndedTogether { replies } => {
                let failed = replies.iter().any(|(_, _, reply)| reply.class != Class::Ok);
                if failed { Self::Failure } else { Self::Result }
            }
            Input::Statement { statement, .. } => match statement {
                Statement::Settle { .. } => Self::Settle,
                Statement::Pause { .. } => Self::Pause,
                Statement::Resume => Self::GoOn,
                Statement::Amend { .. } => Self::Amend,
                Statement::Approve { .. } => Self::Yes,
                Statement::Reject { .. } => Self::No,
                Statement::Answer { .. } => Self::Answer,
                Statement::Cancel { undo: true, .. } => Self::Undo,
                Statement::Undo { .. } => Self::UndoEnded,
                Statement::Cancel { .. } => Self::Cancel,
            },
            Input::Resume => Self::Resume,
            Input::Proceed => Self::Proceed,
            Input::Tick => Self::Tick,
        }
    }
}

/// One turn of the machine.
#[derive(Clone, Copy, Debug)]
pub struct Turn<'e> {
    /// What it was told.
    pub heard: TurnInput,
    /// What it recorded.
    pub events: &'e [Event],
}

impl Turn<'_> {
    pub(super) fn any(&self, test: impl Fn(&Event) -> bool) -> bool {
        self.events.iter().any(test)
    }

    /// Whether an attempt ends so.
    pub(super) fn ends(&self, so: impl Fn(&AttemptEnded) -> bool) -> bool {
        self.any(|event| matches!(event, Event::AttemptEnded(ended) if so(ended)))
    }

    pub(super) fn has(&self, kind: &str) -> bool {
        self.any(|event| event.kind() == kind)
    }

    pub(super) fn skipped(&self, reason: SkipReason) -> bool {
        self.any(|e| matches!(e, Event::StepSkipped { because, .. } if *because == reason))
    }

    pub(super) fn settled(&self, wanted: StepStatus) -> bool {
        self.any(|e| matches!(e, Event::StepSettled { status, .. } if *status == wanted))
    }

    /// Whether something was settled of which no attempt ended in this turn.
    pub(super) fn settled_alone(&self, wanted: StepStatus) -> bool {
        self.any(|event| match event {
            Event::StepSettled { slot, status, .. } if *status == wanted => {
                let same_step = |e: &Event| {
                    matches!(e, Event::AttemptEnded(ended)
                    if ended.slot.step == slot.step)
                };
                let of_people = ["ApprovalRejected", "ApprovalExpired", "QuestionExpired"];
                !self.any(same_step) && !of_people.iter().any(|kind| self.has(kind))
            }
            _ => false,
        })
    }

    pub(super) fn ended(&self, wanted: RunStatus) -> bool {
        self.any(|e| matches!(e, Event::RunEnded(RunEnded { status, .. }) if *status == wanted))
    }

    fn begins(&self, wanted: impl Fn(&Purpose) -> bool) -> bool {
        self.any(|e| matches!(e, Event::AttemptStarted(started) if wanted(&started.purpose)))
    }

    pub(super) fn reconciles(&self) -> bool {
        self.begins(|purpose| *purpose == Purpose::Reconcile)
    }

    pub(super) fn retakes(&self) -> bool {
        self.begins(|purpose| matches!(purpose, Purpose::Retake { .. }))
    }

    pub(super) fn confirms(&self) -> bool {
        self.begins(|purpose| *purpose == Purpose::Confirm)
    }

    pub(super) fn previews(&self) -> bool {
        self.begins(Purpose::is_preview)
    }

    /// Whether a preview ended, with something to show or without, and a person is asked.
    pub(super) fn asks_beside(&self, shows: bool) -> bool {
        let over = |e: &Event| {
            matches!(e, Event::AttemptEnded(ended)
                if ended.attempt == 0 && !ended.lost && ended.shows.is_some() == shows)
        };
        self.any(over) && self.has("ApprovalRequested")
    }

    /// Whether an attempt ended that undid something.
    pub(super) fn undid(&self) -> bool {
        self.any(|e| {
            matches!(e, Event::AttemptEnded(ended)
            if undone_by(&ended.slot.step).is_some())
        })
    }

    pub(super) fn settled_by_tool(&self, wanted: Settlement) -> bool {
        self.any(|e| {
            matches!(e, Event::DoubtSettled {
            settled,
            by: SettledBy::Reconcile { .. },
            ..
        } if *settled == wanted)
        })
    }

    pub(super) fn wanted(&self, test: impl Fn(&Why) -> bool) -> bool {
        self.any(|e| matches!(e, Event::ReplanRequested { why } if test(why)))
    }
}
