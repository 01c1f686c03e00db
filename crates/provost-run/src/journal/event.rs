//! Events: the facts of a run, as the journal keeps them.
//!
//! Owns the closed list and its stored form (kind, version, payload). The fold evaluates nothing:
//! every value, guard, verdict and digest a later reader needs is in an event. INVARIANT: a kind
//! is never renamed; a changed payload gets a new version and an upgrade here.

use std::collections::BTreeMap;
use std::sync::Arc;

use provost_plan::check::PlanRecord;
use provost_plan::digest::{Digest, NumberError, canonical_of};
use provost_plan::label::Label;
use provost_plan::plan::Goal;
use provost_plan::plan::request::{
    FindingView, NoPlan, PlanReply, PlannerUsage, RequestKind, Reserved, Why,
};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::call::Slot;
use crate::card::{Card, Question};
use crate::outcome::Class;
use crate::state::AuthoredFields;
use crate::statement::{PlanText, StatementRecord};

mod attempt;
mod created;
mod ended;
mod limit;
mod planner;
mod settlement;
mod status;
mod step_change;
mod stored;
mod undo;
mod unreadable;

pub use attempt::{AttemptEnded, AttemptStarted, Created, Missing};
pub use created::{AskMode, RunCreated};
pub use ended::{AnswerPart, AnswerSpan, Citation, EndedBy, Proven, Prover, RunEnded};
pub use limit::{LimitKind, LimitReached};
pub use planner::{Candidates, NextPlanner, PlannerChoice, PlannerView};
pub use settlement::{SettledBy, Settlement};
pub use status::{RunStatus, SkipReason, StepStatus};
pub use step_change::StepChange;
pub use undo::NotUndone;
pub use unreadable::EventError;

/// The version of every payload written by this crate.
pub const EVENT_VERSION: u32 = 1;

/// A fact of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", content = "payload")]
pub enum Event {
    /// A run begins: its goal, planner, principal and limits.
    RunCreated(RunCreated),
    /// The goal was read: criteria and parameters are fixed from here on.
    GoalInterpreted {
        /// The goal with its criteria and parameters, as JSON of a plan has it.
        goal: Goal,
        /// Who read the goal, in words, with the reason: a playbook, rules, an interpreter.
        by: String,
        /// Who plans from here on, where that was not known before.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        planner: Option<PlannerChoice>,
    },
    /// A planner is asked; the request is stored by digest, as sent.
    PlanRequested {
        /// The number of the request.
        id: u64,
        /// Whether a plan, a revision or a refinement is requested.
        #[serde(rename = "ask")]
        kind: RequestKind,
        /// The digest of the request as sent; its bytes are evidence.
        request: Digest,
        /// The reason, of a revision or a refinement.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        why: Option<Why>,
        /// What is set aside for it, of a planner that costs.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reserved: Option<Reserved>,
        /// The tools it may choose from, where the catalog has more than it can read.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        candidates: Option<Candidates>,
    },
    /// What the reply to a request took; it takes the place of what was set aside.
    BudgetSpent {
        /// The number of the request.
        id: u64,
        /// The requests, tokens and money that it used, as the planner reports them.
        usage: PlannerUsage,
    },
    /// A planner replied with a plan.
    PlanProposed {
        /// The number of the request.
        id: u64,
        /// The reply as received: a document, questions, or why there is none.
        reply: PlanReply,
    },
    /// What had one safe fix in a proposal was mended; what follows is of the mended text.
    ProposalMended {
        /// The number of the request.
        id: u64,
        /// The text as it is now.
        text: String,
        /// What was done, in words.
        fixes: Vec<String>,
    },
    /// The plan is admissible; it is the current plan from here on.
    PlanChecked {
        /// The number of the request it answers; 0 for a check repeated under new terms.
        id: u64,
        /// The plan as canonical JSON (RFC 8785), of which the digest is taken.
        document: Arc<Value>,
        /// The digests, verdicts and labels that the check computed, by step.
        record: Arc<PlanRecord>,
        /// The warnings and notes; an error would have refused the plan.
        findings: Vec<FindingView>,
        /// Steps whose observation the planner wants to see.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        consult: Vec<String>,
        /// The label of what led to this revision.
        control: Label,
        /// The label of the literals its author wrote.
        #[serde(default, skip_serializing_if = "is_trusted")]
        literals: Label,
    },
    /// The plan is not admissible.
    PlanRefused {
        /// The number of the request.
        id: u64,
        /// The findings of the check, at least one of them an error.
        findings: Vec<FindingView>,
    },
    /// The planner has no plan, or no change.
    PlanGivenUp {
        /// The number of the request.
        id: u64,
        /// The reason, in the words of whoever gave it.
        reason: String,
        /// The same as a word; journals of earlier versions do not say.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        class: Option<NoPlan>,
        /// Whether the run continues with the steps that do not depend on what was rejected.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        goes_on: bool,
    },
    /// The planner failed, and the next of the chain is asked.
    PlanHandedOn {
        /// The number of the last request to it.
        id: u64,
        /// Why it failed.
        reason: String,
        /// The same as a word; journals of earlier versions do not say.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        class: Option<NoPlan>,
        /// The planner that is asked next, or a person.
        to: NextPlanner,
    },
    /// A plan that passed the check replaces the current one.
    PlanRevised {
        /// The number of the new revision; the first plan is 1.
        revision: u32,
        /// The ids of steps that the plan before did not have.
        added: Vec<String>,
        /// The ids of steps that both plans have, and that differ.
        changed: Vec<String>,
        /// The ids of steps that the new plan does not have.
        removed: Vec<String>,
        /// Why, in the planner's words.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        because: Option<String>,
    },
    /// A person is asked to approve a step or the plan.
    ApprovalRequested {
        /// What is shown and digested.
        card: Card,
        /// Its digest, by which statements name it.
        digest: Digest,
    },
    /// A person approved a card, or steps or items of it.
    ApprovalGiven {
        /// The digest of the card.
        card: Digest,
        /// The id of the person, as in `policies/entities.json`.
        by: String,
        /// To which steps of a plan card or items of a list, as named; to all if empty.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        steps: Vec<String>,
        /// Whether the quorum is reached with this yes.
        complete: bool,
        /// Until when it counts, in milliseconds since the epoch; journals of earlier versions do
        /// not say.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        valid_until: Option<i64>,
        /// What stands behind the statement it follows from.
        #[serde(default, rename = "said", skip_serializing_if = "Option::is_none")]
        record: Option<StatementRecord>,
    },
    /// A person rejected a card, or the rest of the run.
    ApprovalRejected {
        /// The digest of the card.
        card: Digest,
        /// The id of the person, as in `policies/entities.json`.
        by: String,
        /// The reason, in the words of whoever gave it.
        reason: String,
        /// Whether it is a no to all that is left of the run.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        all: bool,
        /// What stands behind the statement it follows from.
        #[serde(default, rename = "said", skip_serializing_if = "Option::is_none")]
        record: Option<StatementRecord>,
    },
    /// Nobody answered a card in time.
    ApprovalExpired {
        /// The digest of the card.
        card: Digest,
    },
    /// What became of open cards and earlier approvals under a new plan or new terms.
    ApprovalsRevised {
        /// Steps whose approval stands.
        retain: Vec<String>,
        /// Steps that are asked about again.
        replace: Vec<String>,
        /// Steps whose approval is gone.
        clear: Vec<String>,
    },
    /// A person is asked a question.
    QuestionAsked {
        /// The question, with the schema of its answer.
        question: Question,
        /// Its digest, by which statements name it.
        digest: Digest,
    },
    /// A person answered a question of a step or of the planner.
    QuestionAnswered {
        /// The digest of the question.
        question: Digest,
        /// The answer; it fits the schema of the question.
        value: Value,
        /// The id of the person, as in `policies/entities.json`.
        by: String,
        /// What stands behind the statement it follows from.
        #[serde(default, rename = "said", skip_serializing_if = "Option::is_none")]
        record: Option<StatementRecord>,
    },
    /// Nobody answered a question in time; its default is no word of a person.
    QuestionExpired {
        /// The digest of the question.
        question: Digest,
    },
    /// The first plan passed the check, and steps may start.
    RunStarted {
        /// The number of its revision.
        revision: u32,
    },
    /// The list of a `for_each` was evaluated, once.
    ListEvaluated {
        /// The id of the step.
        step: String,
        /// The items in their order; `page[2]` is the third.
        items: Vec<Value>,
        /// Whether they are secret: nothing shows them.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        secret: bool,
    },
    /// A step or an item does not run.
    StepSkipped {
        /// The step, and the item if the step runs over a list.
        slot: Slot,
        /// The rule by which it does not run.
        because: SkipReason,
    },
    /// A step cannot run: a dependency did not succeed.
    StepBlocked {
        /// The id of the step.
        step: String,
        /// The id of the dependency that did not succeed.
        on: String,
    },
    /// A limit of the run keeps a call from starting.
    AdmissionRefused {
        /// The step, and the item if the step runs over a list.
        slot: Slot,
        /// The limit that is reached, in words, with its number.
        limit: String,
        /// Which one, and how far; journals of earlier versions do not say.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reached: Option<LimitReached>,
    },
    /// An attempt begins: the intent.
    AttemptStarted(AttemptStarted),
    /// An attempt ended: class, landing and the evidence behind it.
    AttemptEnded(AttemptEnded),
    /// The output of a step or an item, typed and labelled.
    ObservationMade {
        /// The step, and the item if the step runs over a list.
        slot: Slot,
        /// The output; it fits the schema of the operation.
        output: Value,
        /// The join of the labels in it.
        label: Label,
        /// The digest of the stored bytes from which the output was read.
        evidence: Digest,
    },
    /// A step or item has its final status.
    StepSettled {
        /// The step, and the item if the step runs over a list.
        slot: Slot,
        /// The final status, or `in_doubt`.
        status: StepStatus,
        /// The class of the failure; none of a success.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        class: Option<Class>,
        /// What went wrong, in one line; withheld if it may repeat a secret.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        message: Option<String>,
        /// When a read asks whether it took place, in milliseconds since the epoch.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reconcile_at: Option<i64>,
        /// What it made, where the catalog says that it makes something.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        created: Option<Created>,
    },
    /// What became of an effect that was in doubt.
    DoubtSettled {
        /// The step, and the item if the step runs over a list.
        slot: Slot,
        /// The digest of the attempt that a person settled.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        attempt: Option<Digest>,
        /// What is known now.
        settled: Settlement,
        /// The reconcile read, or the person, that it is known from.
        by: SettledBy,
        /// Why, in a person's words.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
        /// What the person said besides, as words do: the output they know of.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        output: Option<Value>,
        /// Whether that output is secret: nothing shows it.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        secret: bool,
        /// What stands behind the statement it follows from.
        #[serde(default, rename = "said", skip_serializing_if = "Option::is_none")]
        record: Option<StatementRecord>,
    },
    /// No read asks about a doubt any more: a person has to.
    ReconcileGivenUp {
        /// The step, and the item if the step runs over a list.
        slot: Slot,
        /// The reason, in the words of whoever gave it.
        reason: String,
    },
    /// An attempt may begin later.
    Deferred {
        /// The step, and the item if the step runs over a list.
        slot: Slot,
        /// When it may be tried again, in milliseconds since the epoch; none: when a call that
        /// rests on the same reading is over.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        until: Option<i64>,
        /// What it waits for, in words.
        because: String,
    },
    /// No further attempt begins until somebody resumes the run.
    Paused {
        /// The id of the person who stopped it; the program if a secret is missing.
        by: String,
        /// What was stopped, in words: this run, or what it uses.
        what: String,
        /// The reason, in the words of whoever gave it.
        reason: String,
        /// The secret that is missing, if that stopped it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        missing: Option<Missing>,
        /// What stands behind the statement it follows from.
        #[serde(default, rename = "said", skip_serializing_if = "Option::is_none")]
        record: Option<StatementRecord>,
    },
    /// Something happened for which the planner is asked to revise the plan.
    ReplanRequested {
        /// What made a revision necessary.
        why: Why,
    },
    /// A process resumed the run after another ended, or a person lifted a pause.
    Resumed {
        /// Attempts that were in flight when the process before ended.
        lost: Vec<Slot>,
        /// Who let a paused run go on.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        by: Option<String>,
        /// What stands behind the statement it follows from.
        #[serde(default, rename = "said", skip_serializing_if = "Option::is_none")]
        record: Option<StatementRecord>,
    },
    /// A person wants the run to end.
    CancelRequested {
        /// The id of the person, as in `policies/entities.json`.
        by: String,
        /// The reason, in the words of whoever gave it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
        /// Whether what happened is to be undone first.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        undo: bool,
        /// What stands behind the statement it follows from.
        #[serde(default, rename = "said", skip_serializing_if = "Option::is_none")]
        record: Option<StatementRecord>,
    },
    /// A person wants what a run did that has ended to be taken back: only that begins from here
    /// on.
    UndoRequested {
        /// The id of the person, as in `policies/entities.json`.
        by: String,
        /// The reason, in the words of whoever gave it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
        /// What stands behind the statement it follows from.
        #[serde(default, rename = "said", skip_serializing_if = "Option::is_none")]
        record: Option<StatementRecord>,
    },
    /// What happened is taken back: the revision with the steps that do it follows, if there are
    /// any. Nothing else begins from here on.
    UndoPlanned {
        /// What each of them undoes.
        steps: BTreeMap<String, Slot>,
        /// What surely happened and is not undone.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        left: Vec<NotUndone>,
    },
    /// A person replaced the goal of the run.
    GoalAmended {
        /// The goal from here on.
        goal: Goal,
        /// Who plans from here on, where that is another than before.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        planner: Option<PlannerChoice>,
        /// Whether nothing planned, asked or approved before counts for it; only journals of
        /// earlier versions say no.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        clears: bool,
        /// The id of the person, as in `policies/entities.json`.
        by: String,
        /// The reason, in the words of whoever gave it.
        reason: String,
        /// The plan that the same statement puts in force, if it does.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        plan: Option<PlanText>,
        /// What stands behind the statement it follows from.
        #[serde(default, rename = "said", skip_serializing_if = "Option::is_none")]
        record: Option<StatementRecord>,
    },
    /// A person put a plan of their own in the place of the one in force; it was checked, and the
    /// check follows.
    PlanAmended {
        /// The name of the file, as findings show it.
        name: String,
        /// The text, as they wrote it.
        text: String,
        /// Who; from here on they count as who asks for this revision.
        by: String,
        /// What they changed, by step; journals of earlier versions do not say.
        #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
        wrote: AuthoredFields,
        /// The reason, in the words of whoever gave it.
        reason: String,
        /// The text of the goal that the same statement puts in force, if it does.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        goal: Option<String>,
        /// What stands behind the statement it follows from.
        #[serde(default, rename = "said", skip_serializing_if = "Option::is_none")]
        record: Option<StatementRecord>,
    },
    /// The run ended: its status, the criteria and the answer. It ends again where a person had
    /// it undone after that.
    RunEnded(RunEnded),
}

fn is_trusted(label: &Label) -> bool {
    *label == Label::trusted()
}

impl Event {
    /// The kind, version and payload to store.
    #[must_use]
    pub fn to_stored(&self) -> (String, u32, Value) {
        let mut value = serde_json::to_value(self).unwrap_or(Value::Null);
        let kind = value
            .get("kind")
            .and_then(Value::as_str)
            .unwrap_or_default()
            .to_owned();
        let payload = value.get_mut("payload").map_or(Value::Null, Value::take);
        (kind, EVENT_VERSION, payload)
    }

    /// The payload to store, in its canonical form.
    ///
    /// # Errors
    /// [`NumberError`] if it holds a number that not every reader holds exactly.
    pub fn to_canonical(&self) -> Result<String, NumberError> {
        let mut text = canonical_of(self)?;
        // Why: the event is a map of its kind and its payload, sorted by name.
        let before = r#"{"kind":"","payload":"#.len() + self.kind().len();
        text.truncate(text.len().saturating_sub(1));
        Ok(text.split_off(before.min(text.len())))
    }

    /// Reads a stored event.
    ///
    /// # Errors
    /// [`EventError`] if the kind or version is unknown or the payload does not fit.
    pub fn from_stored(kind: &str, version: u32, payload: &Value) -> Result<Self, EventError> {
        let error = |reason: String| EventError {
            kind: kind.to_owned(),
            version,
            reason,
        };
        if version != EVENT_VERSION {
            return Err(error("this version of provost does not know it".to_owned()));
        }
        stored::read(kind, payload).map_err(|e| error(e.to_string()))
    }

    /// The kind alone.
    #[must_use]
    pub fn kind(&self) -> &'static str {
        match self {
            Self::RunCreated(_) => "RunCreated",
            Self::GoalInterpreted { .. } => "GoalInterpreted",
            Self::PlanRequested { .. } => "PlanRequested",
            Self::BudgetSpent { .. } => "BudgetSpent",
            Self::PlanProposed { .. } => "PlanProposed",
            Self::PlanChecked { .. } => "PlanChecked",
            Self::ProposalMended { .. } => "ProposalMended",
            Self::PlanRefused { .. } => "PlanRefused",
            Self::PlanGivenUp { .. } => "PlanGivenUp",
            Self::PlanHandedOn { .. } => "PlanHandedOn",
            Self::PlanRevised { .. } => "PlanRevised",
            Self::ApprovalRequested { .. } => "ApprovalRequested",
            Self::ApprovalGiven { .. } => "ApprovalGiven",
            Self::ApprovalRejected { .. } => "ApprovalRejected",
            Self::ApprovalExpired { .. } => "ApprovalExpired",
            Self::ApprovalsRevised { .. } => "ApprovalsRevised",
            Self::QuestionAsked { .. } => "QuestionAsked",
            Self::QuestionAnswered { .. } => "QuestionAnswered",
            Self::QuestionExpired { .. } => "QuestionExpired",
            Self::RunStarted { .. } => "RunStarted",
            Self::ListEvaluated { .. } => "ListEvaluated",
            Self::StepSkipped { .. } => "StepSkipped",
            Self::StepBlocked { .. } => "StepBlocked",
            Self::AdmissionRefused { .. } => "AdmissionRefused",
            Self::AttemptStarted(_) => "AttemptStarted",
            Self::AttemptEnded(_) => "AttemptEnded",
            Self::ObservationMade { .. } => "ObservationMade",
            Self::StepSettled { .. } => "StepSettled",
            Self::DoubtSettled { .. } => "DoubtSettled",
            Self::ReconcileGivenUp { .. } => "ReconcileGivenUp",
            Self::Deferred { .. } => "Deferred",
            Self::Paused { .. } => "Paused",
            Self::ReplanRequested { .. } => "ReplanRequested",
            Self::Resumed { .. } => "Resumed",
            Self::CancelRequested { .. } => "CancelRequested",
            Self::UndoRequested { .. } => "UndoRequested",
            Self::UndoPlanned { .. } => "UndoPlanned",
            Self::GoalAmended { .. } => "GoalAmended",
            Self::PlanAmended { .. } => "PlanAmended",
            Self::RunEnded(_) => "RunEnded",
        }
    }

    /// Whether it must outlast a loss of power before anything follows from it: what people say,
    /// a stop, and what was paid.
    #[must_use]
    pub fn must_last(&self) -> bool {
        matches!(
            self,
            Self::ApprovalGiven { .. }
                | Self::ApprovalRejected { .. }
                | Self::QuestionAnswered { .. }
                | Self::DoubtSettled {
                    by: SettledBy::Person { .. },
                    ..
                }
                | Self::Paused { .. }
                | Self::Resumed { by: Some(_), .. }
                | Self::CancelRequested { .. }
                | Self::UndoRequested { .. }
                | Self::GoalAmended { .. }
                | Self::PlanAmended { .. }
                | Self::BudgetSpent { .. }
        )
    }
}
