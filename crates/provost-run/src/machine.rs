//! The run machine: `step(input, now)` gives what to append, whether to sync, what to do next.
//!
//! Owns the only way from input to event to command. Never performs a command. INVARIANT:
//! commands are sealed until the store's receipt for the events they follow from.
//!
//! | state | input | events | then |
//! |---|---|---|---|
//! | new | create | `RunCreated GoalInterpreted PlanRequested` | `Plan` |
//! | planning | reply: goal interpreted | `GoalInterpreted` | `PlanRequested` |
//! | planning | reply: plan, admissible | `PlanProposed` (`ProposalMended`) `PlanChecked` (`PlanRevised ApprovalsRevised` or `RunStarted`) | dispatch |
//! | planning | reply: plan, inadmissible | `PlanProposed` (`ProposalMended`) `PlanRefused` | `PlanRequested`, or `PlanGivenUp RunEnded{refused}`, or `PlanHandedOn` |
//! | planning | reply: questions | `QuestionAsked…` | wait; answered: `PlanRequested` |
//! | planning | reply: decline | `PlanGivenUp`, or `PlanHandedOn` | goes on, or `RunEnded` |
//! | planning | planner came to nothing, others are asked | `PlanHandedOn` (`QuestionAsked`) | `PlanRequested`, or wait; answered: `PlanRequested` or `RunEnded` |
//! | step pending, needs met | – | `StepSkipped` · `ListEvaluated` · `QuestionAsked` · `ApprovalRequested` · `AttemptStarted` · `StepSettled{failed}` | `Ask` · `Call` |
//! | subgoal open, its needs met and its steps over | nothing in flight | `ReplanRequested PlanRequested` | `Plan` |
//! | subgoal refined, its needs met and its steps over | – | `ObservationMade StepSettled` · `StepSettled{failed}` | dispatch |
//! | step pending, need never met | – | `StepBlocked` | |
//! | step may begin, its card shows a preview | – | `AttemptStarted{previews}` | `Call` |
//! | preview in flight | reply | `AttemptEnded ApprovalRequested` | `Ask`, with what it showed or why it showed nothing |
//! | card open | yes | `ApprovalGiven` (`StepSkipped` for items not named) | dispatch |
//! | card open | no, lapse | `ApprovalRejected`/`ApprovalExpired StepSettled{failed}` | replan; a lapse ends the run where policy says `fail` |
//! | question open | answer | `QuestionAnswered ObservationMade StepSettled` | dispatch |
//! | question open | its time is over | `QuestionExpired`, then `ObservationMade StepSettled` of its default or `StepSettled{failed}` | dispatch, or as a failure |
//! | step may begin, readings too old | – | `AttemptStarted{retakes_for}`; (`Deferred`) while another call rests on them | `Call` |
//! | reading on its way again | reply ok | `AttemptEnded ObservationMade` | dispatch |
//! | reading on its way again | reply failed | `AttemptEnded` (`Deferred` or `StepSettled{failed}` of the step) | |
//! | attempt in flight | reply ok | `AttemptEnded ObservationMade StepSettled` | dispatch |
//! | attempt in flight | reply ok, to be confirmed | `AttemptEnded ObservationMade AttemptStarted{confirms}` | `Call` |
//! | confirming read in flight | reply shows it or not | `AttemptEnded StepSettled` | dispatch, or as a failure |
//! | confirming read in flight | reply failed, may repeat | `AttemptEnded{retry_at}` | `WaitUntil` |
//! | attempt in flight | reply failed, may repeat | `AttemptEnded{retry_at}` | `WaitUntil` |
//! | attempt in flight | reply ok, `until` does not hold | `AttemptEnded{not_yet, retry_at}` · `AttemptEnded{not_yet} StepSettled{failed}` | `WaitUntil` |
//! | attempt in flight | reply failed, unknown, no key | `AttemptEnded StepSettled{in_doubt}` | |
//! | attempt in flight | reply failed | `AttemptEnded StepSettled{failed}` | replan, stop, go on, ask |
//! | attempt in flight | resume | `Resumed AttemptEnded{lost}` | as failed, with landing unknown; people are heard |
//! | taken up, people heard | proceed | – | dispatch |
//! | step in doubt, reconcile read due | – | `AttemptStarted{reconciles}` | `Call` |
//! | reconcile read in flight | reply says it landed or not | `AttemptEnded DoubtSettled StepSettled` | dispatch |
//! | reconcile read in flight | reply says neither | `AttemptEnded{retry_at}` | `WaitUntil` |
//! | step in doubt, no read may ask | – | `ReconcileGivenUp` | |
//! | step in doubt | settle | `DoubtSettled` (`StepSettled`) | dispatch |
//! | attempt not admitted now | – | `Deferred` | `WaitUntil` |
//! | attempt not admitted, stopped | – | `Paused` | nothing begins |
//! | any but ended | pause | `Paused` | nothing begins |
//! | paused | go on | `Resumed` | dispatch |
//! | attempt may not be repeated any more | – | `StepSettled{in_doubt}` | |
//! | step failed, `replan` | nothing in flight | `ReplanRequested PlanRequested` | `Plan` |
//! | success holds, only reads left | – | `StepSkipped… RunEnded{succeeded}` | `Done` |
//! | all final, none in doubt | – | `RunEnded` or `ReplanRequested{unmet}` | `Done` |
//! | any but ended, no planner asked | amend the plan, or both | (`GoalAmended`) `PlanAmended PlanChecked` (`PlanRevised ApprovalsRevised`) | dispatch |
//! | any but ended, no planner asked | amend the goal | `GoalAmended` | nothing in flight: `PlanRequested` |
//! | any but ended | cancel | `CancelRequested` | nothing in flight: `RunEnded{cancelled}` |
//! | any but ended | cancel, undo | `CancelRequested{undo}` | nothing in flight: undo |
//! | undo wanted, nothing in flight | – | `UndoPlanned` (`PlanChecked PlanRevised ApprovalsRevised`) | dispatch of what undoes |
//! | undoing, nothing left to begin | – | `RunEnded{cancelled}` | `Done` |
//! | ended, something to take back | undo | `UndoRequested` | undo |
//! | undoing after the end, nothing left to begin | – | `RunEnded{undone}`, or `partly_undone`, or `undo_failed` | `Done` |
//!
//! A refinement may only add steps of its subgoal, or its result; what a subgoal comes to is its
//! result over what its steps came to.
//!
//! A planner that costs: its `PlanRequested` sets the worst case aside, a `BudgetSpent` goes before
//! what its reply comes to, and who takes a run up makes a lost request anew, since the first may
//! be paid.
//!
//! Between resume and proceed a statement is recorded with what it settles, and nothing begins: so
//! no call, read or request is on its way that it forbids.

use std::collections::BTreeMap;
use std::sync::Arc;

use provost_plan::catalog::Catalog;
use provost_plan::digest::{Digest, Domain};
use provost_plan::plan::request::{ObservationView, PlanReply, PlanRequest, PlannerUsage};
use provost_plan::policy::{Policy, Principal};

use crate::admission::{Admission, AdmissionEntry, AdmissionRules};
use crate::call::{Call, Slot};
use crate::card::{Card, Question};
use crate::event::{Event, RunCreated, RunEnded};
use crate::outcome::Reply;
use crate::state::{FoldError, State};
use crate::statement::Credential;
use crate::statement::{Statement, StatementRecord};
use crate::turn::{AskAgain, DispatchGate, Turn};
use crate::view;

mod effort;
mod error;
mod replay;
mod sealed;

pub use effort::Effort;
pub(crate) use effort::{TurnOptions, TurnRecord};
pub use error::StepError;
pub use sealed::{Receipt, SealError, Sealed};

/// What decides now: the catalog and policy in force, whatever they were when the plan was made.
#[derive(Clone, Debug)]
pub struct Rules {
    /// The operations.
    pub catalog: Arc<Catalog>,
    /// The policy.
    pub policy: Arc<Policy>,
    /// What the operator says of what runs share.
    pub admission: AdmissionRules,
}

/// A run: its state, and the rules it is driven under.
#[derive(Clone, Debug)]
pub struct Run {
    state: State,
    seq: u64,
    rules: Rules,
    held: bool,
    /// Whether it was taken up, and what people said meanwhile is yet to be heard.
    hears: bool,
}

/// What happened.
#[derive(Clone, Debug)]
pub enum Input {
    /// A planner replied to the request of this number.
    Planned {
        /// The number of the request.
        id: u64,
        /// The reply.
        reply: PlanReply,
        /// What it took.
        usage: Option<PlannerUsage>,
    },
    /// An attempt ended.
    Ended {
        /// Which step and item.
        slot: Slot,
        /// The number of the attempt.
        attempt: u32,
        /// What the adapter reports.
        reply: Reply,
    },
    /// Several attempts ended, in this order: what follows is looked at once.
    EndedTogether {
        /// Step and item, number of the attempt, and what the adapter reports.
        replies: Vec<(Slot, u32, Reply)>,
    },
    /// A person makes a statement, verified where that is required.
    Statement {
        /// Who.
        by: Principal,
        /// What they say.
        statement: Statement,
        /// What is recorded with it; none if it came without an envelope.
        record: Option<StatementRecord>,
    },
    /// A process took the run up again: what was in flight is lost. Nothing begins before
    /// [`Input::Proceed`]: what people said meanwhile is heard first.
    Resume,
    /// What people said while nobody drove the run is heard: what can begin begins.
    Proceed,
    /// A moment came that was waited for.
    Tick,
}

/// What the driver must do.
#[derive(Clone, Debug)]
pub enum Command {
    /// Make a call.
    Call(Box<Call>),
    /// Give a `Tick` at this moment, in milliseconds since the epoch.
    WaitUntil(i64),
    /// Ask a person for a yes.
    Ask(Box<Card>, Digest),
    /// Ask a person a question.
    Question(Box<Question>, Digest),
    /// Ask the planner.
    Plan(Box<PlanRequest>),
    /// The run is over.
    Done(Box<RunEnded>),
}

/// Bytes that events name by digest. INVARIANT: the digest is that of the bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Blob {
    digest: Digest,
    media: String,
    bytes: Vec<u8>,
}

impl Blob {
    /// Digests `bytes` of the media type `media`.
    #[must_use]
    pub fn new(media: impl Into<String>, bytes: Vec<u8>) -> Self {
        Self {
            digest: Digest::of_bytes(Domain::Evidence, &bytes),
            media: media.into(),
            bytes,
        }
    }

    /// The digest by which events name it.
    #[must_use]
    pub fn digest(&self) -> Digest {
        self.digest
    }

    /// The media type.
    #[must_use]
    pub fn media(&self) -> &str {
        &self.media
    }

    /// The bytes.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }
}

/// What a step of the machine gives.
#[derive(Debug)]
pub struct Output {
    /// The events to append, in order.
    pub append: Vec<Event>,
    /// The number of the first of them, from 1.
    pub first_seq: u64,
    /// The bytes they name.
    pub blobs: Vec<Blob>,
    /// What they change of what runs share, in the same transaction.
    pub admission: Vec<AdmissionEntry>,
    /// Whether they must be on the disk before the commands leave.
    pub sync: bool,
    /// What to do, once they are.
    pub commands: Sealed,
}

impl Input {
    /// A statement that came without an envelope.
    #[must_use]
    pub fn unsigned(by: Principal, statement: Statement) -> Self {
        let record = None;
        Self::Statement {
            by,
            statement,
            record,
        }
    }

    /// The statement, if a person makes one.
    #[must_use]
    pub fn statement(&self) -> Option<&Statement> {
        match self {
            Self::Statement { statement, .. } => Some(statement),
            Self::Planned { .. }
            | Self::Ended { .. }
            | Self::EndedTogether { .. }
            | Self::Resume
            | Self::Proceed
            | Self::Tick => None,
        }
    }
}

impl Run {
    /// Begins a run.
    ///
    /// # Errors
    /// [`StepError::Fold`] never occurs for a run that just begins.
    pub fn create(
        created: RunCreated,
        interpreted_by: &str,
        rules: Rules,
        now: i64,
    ) -> Result<(Self, Output), StepError> {
        Self::create_beside(created, interpreted_by, rules, now, &Admission::default())
    }

    /// [`Run::create`], where admission said this of what it begins with.
    ///
    /// # Errors
    /// As [`Run::create`].
    pub fn create_beside(
        created: RunCreated,
        interpreted_by: &str,
        rules: Rules,
        now: i64,
        said: &Admission,
    ) -> Result<(Self, Output), StepError> {
        let goal = created.goal.clone();
        let needs = created.required() != Credential::Nothing;
        let created = RunCreated {
            rights: needs.then(|| rules.policy.rights().digest()),
            ..created
        };
        let first = Event::RunCreated(created);
        let state = State::begin(&first, now)?;
        let mut run = Self {
            state,
            seq: 1,
            rules,
            held: false,
            hears: false,
        };
        let manner = TurnOptions {
            pace: DispatchGate::Go,
            effort: Effort::All,
        };
        let mut turn = Turn::new(&mut run.state, &run.rules, now, manner, said);
        turn.begin(Event::GoalInterpreted {
            goal,
            by: interpreted_by.to_owned(),
            planner: None,
        })?;
        turn.advance()?;
        let mut output = turn.finish(1, AskAgain::default());
        output.append.insert(0, first);
        output.first_seq = 1;
        run.seq += output.append.len() as u64 - 1;
        Ok((run, output))
    }

    /// Folds a journal: events with the moments they were recorded at. Nothing of the run begins
    /// before [`Input::Proceed`].
    ///
    /// # Errors
    /// [`FoldError`] if the events do not follow from one another.
    pub fn from_journal<'e>(
        events: impl IntoIterator<Item = (&'e Event, i64)>,
        rules: Rules,
    ) -> Result<Self, FoldError> {
        Self::from_journal_judged(events, rules, |_, _, _| Ok(()))
    }

    /// [`Run::from_journal`], where `judge` sees each event before it changes the state.
    ///
    /// # Errors
    /// As [`State::fold`].
    pub fn from_journal_judged<'e, E: From<FoldError>>(
        events: impl IntoIterator<Item = (&'e Event, i64)>,
        rules: Rules,
        judge: impl FnMut(&State, &'e Event, i64) -> Result<(), E>,
    ) -> Result<Self, E> {
        let (state, seq) = State::fold(events, judge)?;
        Ok(Self {
            state,
            seq,
            rules,
            held: false,
            hears: true,
        })
    }

    /// The state.
    #[must_use]
    pub fn state(&self) -> &State {
        &self.state
    }

    /// The rules it is driven under.
    #[must_use]
    pub fn rules(&self) -> &Rules {
        &self.rules
    }

    /// What the settled steps came to, as every planner is shown it: untrusted text only as the
    /// expression that names it.
    #[must_use]
    pub fn observations(&self) -> BTreeMap<String, ObservationView> {
        view::of_run(&self.state, &self.rules.catalog)
    }

    /// Lets nothing new begin from here on in this process; what is in flight still settles.
    pub fn hold(&mut self) {
        self.held = true;
    }

    /// Whether nothing new begins in this process.
    #[must_use]
    pub fn is_held(&self) -> bool {
        self.held
    }

    /// Whether it was taken up, and nothing begins before [`Input::Proceed`].
    #[must_use]
    pub fn is_hearing(&self) -> bool {
        self.hears
    }

    /// People were heard before: a run that goes on in this process was folded anew.
    pub fn go_on(&mut self) {
        self.hears = false;
    }

    /// The number of the last event.
    #[must_use]
    pub fn seq(&self) -> u64 {
        self.seq
    }

    /// Takes one input at the moment `now`, in milliseconds since the epoch.
    ///
    /// # Errors
    /// [`StepError`] if the run does not take this input; nothing changed then.
    pub fn step(&mut self, input: Input, now: i64) -> Result<Output, StepError> {
        self.step_beside(input, now, &Admission::default())
    }

    /// [`Run::step`], where admission said this of what it came to: the run is as it was before it
    /// took the input for the first time.
    ///
    /// # Errors
    /// As [`Run::step`].
    pub fn step_beside(
        &mut self,
        input: Input,
        now: i64,
        said: &Admission,
    ) -> Result<Output, StepError> {
        self.step_with(Effort::All, input, now, said)
    }

    /// [`Run::step_beside`], with so much work and no more.
    ///
    /// # Errors
    /// As [`Run::step`], and [`StepError::Laborious`], after which the run must be folded anew.
    pub fn step_with(
        &mut self,
        effort: Effort,
        input: Input,
        now: i64,
        said: &Admission,
    ) -> Result<Output, StepError> {
        // Why: what an ended run left in doubt can still be settled, and what it did be undone.
        if let Some(ended) = &self.state.ending.ended
            && !matches!(
                input.statement(),
                Some(Statement::Settle { .. } | Statement::Undo { .. })
            )
        {
            return Err(StepError::Over {
                status: ended.status.word(),
            });
        }
        // Why: a clock that goes back must not reorder what is already recorded.
        let now = now.max(self.state.spend.last_at);
        let hears = match &input {
            Input::Resume => true,
            Input::Proceed => false,
            _ => self.hears,
        };
        let pace = match (hears, self.held) {
            (true, _) => DispatchGate::Hear,
            (false, true) => DispatchGate::Hold,
            (false, false) => DispatchGate::Go,
        };
        let input = match input {
            // Why: who drives it asked its planner and its people already.
            Input::Proceed if !self.hears => Input::Tick,
            input => input,
        };
        let manner = TurnOptions { pace, effort };
        let mut turn = Turn::new(&mut self.state, &self.rules, now, manner, said);
        let taken = turn
            .take(input)
            .and_then(|again| turn.advance().map(|()| again));
        turn.within_its_work()?;
        let again = taken?;
        self.hears = hears;
        let output = turn.finish(self.seq, again);
        self.seq += output.append.len() as u64;
        Ok(output)
    }
}

impl Output {
    pub(crate) fn new(run: String, recorded: TurnRecord, commands: Vec<Command>) -> Self {
        let TurnRecord {
            before,
            append,
            blobs,
            admission,
        } = recorded;
        let leaves = |command: &Command| match command {
            // Why what costs too: its reservation counts as spent, whatever becomes of the process.
            Command::Call(call) => {
                !call.operation().effect.is_read() || call.operation().cost.is_some()
            }
            Command::WaitUntil(_) => false,
            Command::Ask(..) | Command::Question(..) | Command::Plan(_) | Command::Done(_) => true,
        };
        // Why: who is told that their word counts must not have to say it again, and what was paid
        // for is not asked again.
        let sync = append.iter().any(Event::must_last) || commands.iter().any(leaves);
        let through = before + append.len() as u64;
        let commands = Sealed {
            run,
            through,
            sync,
            commands,
        };
        Self {
            append,
            first_seq: before + 1,
            blobs,
            admission,
            sync,
            commands,
        }
    }
}
