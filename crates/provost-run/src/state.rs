//! The state of a run: the fold of its journal.
//!
//! Owns what is remembered and how each event changes it. Evaluates nothing: no expression, no
//! policy, no schema. INVARIANT: two journals with equal events have equal states, for ever.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use provost_plan::approve::ApprovedPlan;
use provost_plan::digest::{Digest, Domain};
use provost_plan::plan::Limits;
use provost_plan::plan::request::{FindingView, Reserved, Why};
use serde_json::Value;

use crate::call::Slot;
use crate::card::{Card, Question, QuestionPurpose};
use crate::event::{Event, RunStatus, SkipReason, StepStatus};
use crate::outcome::{Class, Landing};

mod authors;
pub(crate) mod chain;
mod fold;
mod followup;
mod frontier;
mod goal;
mod item;
mod item_progress;
mod objection;
mod output;
mod parts;
pub(crate) mod revision_progress;
mod rights;
mod undo;
mod waiting;

pub(crate) use authors::fields_written;
pub use authors::{AuthoredFields, Authors, Authorship};
pub use chain::{Chain, Review};
pub use fold::FoldError;
pub use followup::{FailureReview, Followup, Followups, Report};
use frontier::Frontier;
pub use goal::PendingGoal;
pub use item::{CallHistory, Consent, InFlight, ItemState, Observed, Previewed, StepState};
pub use item_progress::{Doubt, ItemProgress, Success};
pub use objection::{Objection, Signatory};
pub use parts::{
    Goals, People, PlanInForce, PlannerRoute, RunEnding, RunHead, RunSpend, RunWrites,
};
pub use revision_progress::RevisionProgress;
pub(crate) use rights::Act;
pub(crate) use undo::{GONE, WITHOUT_UNDO};
pub use undo::{UndoProgress, Undoing};
pub use waiting::{WaitKind, Waiting, waiting};

/// What is remembered of a run.
#[derive(Clone, Debug)]
pub struct State {
    /// What it was created with.
    pub head: RunHead,
    /// What it is for.
    pub goals: Goals,
    /// Who plans for it.
    pub route: PlannerRoute,
    /// The plan in force, and how it came to be.
    pub in_force: PlanInForce,
    /// Its steps; those of earlier plans that are gone are not here.
    pub steps: BTreeMap<String, StepState>,
    /// What planning waits for.
    pub planning: Planning,
    /// What a person or a planner has still to do, or did, about each step.
    pub followups: Followups,
    /// Calls that changed something, and calls that failed.
    pub writes: RunWrites,
    /// What people were asked and said.
    pub people: People,
    /// What it has used up of its limits.
    pub spend: RunSpend,
    /// What stops it for a while or for good.
    pub ending: RunEnding,
    frontier: Frontier,
}

/// Why no further attempt begins for now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pause {
    /// Who stopped it.
    pub by: String,
    /// What was stopped, in words.
    pub what: String,
    /// Why.
    pub reason: String,
    /// The secret that is missing, if that stopped it.
    pub missing: Option<String>,
    /// When it was stopped, in milliseconds since the epoch.
    pub at: i64,
}

/// Where planning stands.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Planning {
    /// Requests made so far.
    pub requests: u64,
    /// The request that waits for a reply.
    pub outstanding: Option<Outstanding>,
    /// A revision that is wanted but not yet asked for.
    pub wanted: Option<Why>,
    /// Proposals refused in a row.
    pub refused: u64,
    /// The findings in the last refused proposal.
    pub findings: Vec<FindingView>,
    /// The text of the last refused proposal, as it was written.
    pub refused_text: Option<String>,
    /// Those before it, of the same revision.
    pub refused_before: BTreeSet<String>,
    /// The same as it was mended, if it was: what the findings are in.
    pub mended_text: Option<String>,
    /// Answers of people, for the next request.
    pub answers: Vec<Value>,
    /// What a person has to say, where the planner failed.
    pub review: Option<Review>,
}

/// A request that waits for a reply.
#[derive(Clone, Debug, PartialEq)]
pub struct Outstanding {
    /// Its number.
    pub id: u64,
    /// Why it was made.
    pub why: Option<Why>,
    /// Whether the reply was a list of questions that people now answer.
    pub asked_people: bool,
    /// The proposal, once it is there.
    pub proposed: Option<String>,
    /// The proposal as it was mended.
    pub mended: Option<String>,
    /// What was set aside for it and is not settled.
    pub reserved: Option<Reserved>,
    /// When it was made, in milliseconds since the epoch.
    pub asked_at: i64,
}

/// A card and what became of it.
#[derive(Clone, Debug, PartialEq)]
pub struct CardState {
    /// The card.
    pub card: Card,
    /// Who said yes so far.
    pub approved_by: BTreeSet<String>,
    /// Until when all of what they said counts, in milliseconds since the epoch.
    pub valid_until: i64,
    /// What all of them said yes to, by the card's names, without what was taken back since; `None`
    /// before the first, and once the goal is another.
    pub agreed: Option<BTreeSet<String>>,
    /// Whether it is still open.
    pub open: bool,
}

/// A question and what became of it.
#[derive(Clone, Debug, PartialEq)]
pub struct QuestionState {
    /// The question.
    pub question: Question,
    /// The answer.
    pub answer: Option<Value>,
    /// Whether it is still open: not answered, and not withdrawn with what it was for.
    pub open: bool,
    /// Whether it is closed because nobody answered in time.
    pub expired: bool,
    /// When it was asked, in milliseconds since the epoch.
    pub asked_at: i64,
}

/// A call that is no read and whose attempt began.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WriteRecord {
    /// Which step and item.
    pub slot: Slot,
    /// The operation.
    pub operation: String,
    /// The digest of its arguments.
    pub args_digest: Digest,
    /// The arguments, to compare what is reached.
    pub args: Value,
    /// The names of those that are secret.
    pub secret_args: BTreeSet<String>,
    /// Whether it took place.
    pub landing: Landing,
    /// Whether any attempt of it ended without anybody knowing.
    pub doubtful: bool,
    /// The number of the last attempt that could cause it; a read beside it is none.
    pub attempt: u32,
}

impl State {
    /// The run's status.
    #[must_use]
    pub fn status(&self) -> RunStatus {
        if let Some(ended) = &self.ending.ended {
            return ended.status;
        }
        let planner_asks_people = self
            .planning
            .outstanding
            .as_ref()
            .is_some_and(|request| request.asked_people);
        if self.ending.paused.is_some() && self.in_flight() == 0 {
            return RunStatus::Paused;
        }
        // Why: what was put off until later does not begin either while people have the plan.
        let held = self.in_flight() == 0 && (planner_asks_people || is_plan_with_people(self));
        if self.is_busy() && !held {
            return RunStatus::Running;
        }
        if self.planning.outstanding.is_some() && !planner_asks_people {
            return RunStatus::Planning;
        }
        if self.open_questions().next().is_some() {
            return RunStatus::WaitingAnswer;
        }
        if self.open_cards().next().is_some() {
            return RunStatus::WaitingApproval;
        }
        // Why: a turn begins everything that may begin, so what is left waits for the doubt.
        if self.any_doubted() {
            return RunStatus::InDoubt;
        }
        if self.in_force.plan.is_none() {
            RunStatus::Planning
        } else {
            RunStatus::Running
        }
    }

    /// Who planned the revision in force, where that is no person and nobody's playbook.
    pub(crate) fn outsider(&self) -> Option<String> {
        let outsider = self.route.planner.outsider();
        outsider.filter(|_| self.in_force.amender.is_none())
    }

    /// The plan in force.
    #[must_use]
    pub fn plan(&self) -> Option<&Arc<ApprovedPlan>> {
        self.in_force.plan.as_ref()
    }

    /// Who counts as asking for the revision in force.
    #[must_use]
    pub fn requester(&self) -> &str {
        let requester = &self.head.principal.id;
        self.in_force.amender.as_deref().unwrap_or(requester)
    }

    /// Whether a planner's reply to the request of this number is waited for.
    #[must_use]
    pub fn awaits_plan(&self, id: u64) -> bool {
        let asked = self.planning.outstanding.as_ref();
        asked.is_some_and(|request| request.id == id && !request.asked_people)
    }

    /// Every item of every step.
    pub fn items(&self) -> impl Iterator<Item = (Slot, &ItemState)> {
        self.steps.iter().flat_map(|(id, step)| {
            step.items.iter().enumerate().map(move |(index, item)| {
                let item_index = step.is_list.then_some(index);
                (
                    Slot {
                        step: id.clone(),
                        item: item_index,
                    },
                    item,
                )
            })
        })
    }

    /// The item of a slot.
    #[must_use]
    pub fn item(&self, slot: &Slot) -> Option<&ItemState> {
        self.steps
            .get(&slot.step)?
            .items
            .get(slot.item.unwrap_or(0))
    }

    /// The card of this digest, open or closed.
    #[must_use]
    pub fn card(&self, digest: &Digest) -> Option<&CardState> {
        self.people.cards.get(digest)
    }

    /// The question of this digest, open or closed.
    #[must_use]
    pub fn question(&self, digest: &Digest) -> Option<&QuestionState> {
        self.people.questions.get(digest)
    }

    /// Cards that wait for an answer.
    pub fn open_cards(&self) -> impl Iterator<Item = (&Digest, &Card)> {
        self.people
            .cards
            .iter()
            .filter(|(_, state)| state.open)
            .map(|(digest, state)| (digest, &state.card))
    }

    /// Questions that wait for an answer.
    pub fn open_questions(&self) -> impl Iterator<Item = (&Digest, &Question)> {
        self.people
            .questions
            .iter()
            .filter(|(_, state)| state.open)
            .map(|(digest, state)| (digest, &state.question))
    }

    /// Steps whose effect nobody knows.
    pub fn doubts(&self) -> impl Iterator<Item = (&String, &StepState)> {
        self.steps
            .iter()
            .filter(|(_, step)| step.status == StepStatus::InDoubt)
    }

    /// The digest of the attempt that is in doubt in a slot: what a settlement names, so that it
    /// counts for no attempt before or after.
    #[must_use]
    pub fn attempt_in_doubt(&self, slot: &Slot) -> Option<Digest> {
        let item = self.item(slot)?;
        item.doubt()?;
        let effect = self.effect(slot)?;
        let of = serde_json::json!({
            "run": self.head.run,
            "slot": slot,
            "attempt": effect.attempt,
            "operation": effect.operation,
            "args": effect.args_digest,
        });
        Some(Digest::of_value(Domain::Attempt, &of))
    }

    /// Calls not settled whose effect may have taken place, and that no attempt is about to end.
    #[must_use]
    pub fn unknown_effects(&self) -> Vec<Slot> {
        let open = |slot: &Slot| {
            self.item(slot)
                .is_some_and(|item| item.is_open() && item.in_flight.is_none())
        };
        self.writes
            .effects
            .iter()
            .filter(|effect| effect.landing == Landing::Unknown && open(&effect.slot))
            .map(|effect| effect.slot.clone())
            .collect()
    }

    /// Steps that ran: facts, whose id and form no revision may change.
    #[must_use]
    pub fn settled(&self) -> BTreeSet<String> {
        self.steps
            .iter()
            .filter(|(_, step)| {
                step.attempted()
                    || matches!(step.status, StepStatus::Succeeded | StepStatus::Failed)
            })
            .map(|(id, _)| id.clone())
            .collect()
    }

    /// Steps that have ended for good: nothing of theirs is in flight or in doubt.
    #[must_use]
    pub fn over(&self) -> BTreeSet<String> {
        let ended = |status| {
            matches!(
                status,
                StepStatus::Succeeded | StepStatus::Failed | StepStatus::Skipped
            )
        };
        let steps = self.steps.iter().filter(|(_, step)| ended(step.status));
        steps.map(|(id, _)| id.clone()).collect()
    }

    /// Whether what waits for `id` may go on, may never, or must wait.
    #[must_use]
    pub fn need(&self, id: &str, continues: bool) -> Dependency {
        let Some(step) = self.steps.get(id) else {
            return Dependency::Never;
        };
        let review = || self.followups.failure(id);
        match step.status {
            StepStatus::Succeeded => Dependency::Met,
            StepStatus::Skipped if step.skipped == Some(SkipReason::When) => Dependency::Met,
            StepStatus::Failed if continues || review() == FailureReview::Excused => {
                Dependency::Met
            }
            StepStatus::Failed if review() == FailureReview::Open || is_with_people(self, id) => {
                Dependency::Wait
            }
            StepStatus::Skipped
            | StepStatus::Failed
            | StepStatus::Blocked
            | StepStatus::Cancelled => Dependency::Never,
            StepStatus::InDoubt
            | StepStatus::Pending
            | StepStatus::Ready
            | StepStatus::Running
            | StepStatus::WaitingApproval
            | StepStatus::WaitingAnswer => Dependency::Wait,
        }
    }

    /// The next moment at which something happens by itself, seen from `now`.
    #[must_use]
    pub fn next_timer(&self, now: i64) -> Option<i64> {
        // Why: an attempt whose time has come and that did not start waits for room, not for time.
        let retries = self.retries().filter(|at| *at > now);
        let cards = self.open_cards().filter_map(|(_, card)| card.expires_at);
        let questions = self.open_questions();
        let questions = questions.filter_map(|(_, asked)| Some(asked.expires.as_ref()?.at));
        retries.chain(cards).chain(questions).min()
    }
}

/// Whether something that a step waits for has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dependency {
    /// It has.
    Met,
    /// It may still come.
    Wait,
    /// It will not come.
    Never,
}

impl State {
    /// The limits in force: the operator's, narrowed by those of the plan in force.
    #[must_use]
    pub fn limits_in_force(&self) -> Limits {
        let plan = self.plan().map(|plan| plan.checked().plan());
        match plan.and_then(|plan| plan.limits.as_ref()) {
            Some(own) => self.head.limits.narrowed(own),
            None => self.head.limits.clone(),
        }
    }

    /// Folds a journal: events with the moments they were recorded at, and the number of the last.
    /// `judge` sees each event after the first, before it changes the state.
    ///
    /// # Errors
    /// [`FoldError`] if the events do not follow from one another, and whatever `judge` says.
    pub fn fold<'e, E: From<FoldError>>(
        events: impl IntoIterator<Item = (&'e Event, i64)>,
        mut judge: impl FnMut(&Self, &'e Event, i64) -> Result<(), E>,
    ) -> Result<(Self, u64), E> {
        let mut events = events.into_iter();
        let (first, at) = events.next().ok_or(FoldError::NoBeginning)?;
        let mut state = Self::begin(first, at)?;
        let mut seq = 1;
        for (event, at) in events {
            judge(&state, event, at)?;
            state.apply(event, at)?;
            seq += 1;
        }
        Ok((state, seq))
    }

    /// Applies one event that was recorded at `at`.
    ///
    /// # Errors
    /// [`FoldError`] if the event cannot follow the ones before it.
    pub fn apply(&mut self, event: &Event, at: i64) -> Result<(), FoldError> {
        let waiting = matches!(
            self.status(),
            RunStatus::WaitingApproval
                | RunStatus::WaitingAnswer
                | RunStatus::InDoubt
                | RunStatus::Paused
        );
        // Why not after the end: a run that nobody opens again has all the time there is.
        let waiting = waiting || self.ending.ended.is_some();
        if !waiting && !matches!(event, Event::Resumed { .. }) {
            self.spend.active_ms += (at - self.spend.last_at).max(0);
        }
        self.spend.last_at = at;
        fold::apply(self, event, at)?;
        self.route.progress.note(event);
        self.advance_frontier(event);
        Ok(())
    }

    /// The class and message of a failed step.
    #[must_use]
    pub fn failure(&self, id: &str) -> Option<(Class, String)> {
        let step = self.steps.get(id)?;
        let message = step.message.clone().unwrap_or_default();
        step.class.map(|class| (class, message))
    }
}

/// Whether a person is asked what to do about a failed step.
fn is_with_people(state: &State, id: &str) -> bool {
    let about = |question: &Question| match &question.purpose {
        QuestionPurpose::Escalation { step } => step == id,
        QuestionPurpose::Step { .. }
        | QuestionPurpose::Planner { .. }
        | QuestionPurpose::Review { .. } => false,
    };
    let sent_back = state.followups.failure(id) == FailureReview::SentBack;
    sent_back || state.open_questions().any(|(_, question)| about(question))
}

/// Whether nothing begins before people say what becomes of the plan.
fn is_plan_with_people(state: &State) -> bool {
    let asked = state.planning.review.is_some() && state.open_questions().next().is_some();
    asked || state.open_cards().any(|(_, card)| card.step().is_none())
}
