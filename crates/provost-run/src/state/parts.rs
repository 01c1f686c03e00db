//! The parts of a run's state.
//!
//! Owns which facts belong together. Decides nothing, and knows no event: the fold fills them in.
//! INVARIANT: a fact stands in one part.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use provost_plan::amount::Amount;
use provost_plan::approve::ApprovedPlan;
use provost_plan::digest::Digest;
use provost_plan::label::Label;
use provost_plan::money::Money;
use provost_plan::plan::request::{PlanningMode, Why};
use provost_plan::plan::{Goal, Limits};
use provost_plan::policy::Principal;
use serde_json::Value;

use super::{
    Authorship, CardState, Chain, Pause, PendingGoal, QuestionState, RevisionProgress,
    UndoProgress, WriteRecord,
};
use crate::event::{AskMode, PlannerChoice, Prover, RunEnded};
use crate::statement::Credential;

/// What a run was created with: no event changes it.
#[derive(Clone, Debug)]
pub struct RunHead {
    /// The run's id.
    pub run: String,
    /// How planning proceeds, where somebody said so.
    pub mode: Option<PlanningMode>,
    /// Who it is for.
    pub principal: Principal,
    /// The operator's limits.
    pub limits: Limits,
    /// When a person is asked.
    pub ask: AskMode,
    /// Whether requester and approver may be one person.
    pub solo: bool,
    /// What statements to it need to count.
    pub required: Credential,
    /// When it was created, in milliseconds since the epoch.
    pub created_at: i64,
}

/// What people were asked and said.
#[derive(Clone, Debug, Default)]
pub struct People {
    /// Cards, open and closed.
    pub cards: BTreeMap<Digest, CardState>,
    /// Questions, open and closed.
    pub questions: BTreeMap<Digest, QuestionState>,
    /// Everybody on whose words a planner builds: who amended a plan or a goal, or answered it.
    pub amenders: BTreeSet<String>,
    /// Words taken, by the number that their speaker drew.
    pub nonces: BTreeSet<String>,
    /// The digest of the rights by which the last statement was judged, or that the run began
    /// under; none where statements need no credential, and in journals of earlier versions.
    pub rights: Option<Digest>,
}

/// What a run has used up of its limits.
#[derive(Clone, Debug, Default)]
pub struct RunSpend {
    /// Steps and items that were called at all.
    pub calls: u64,
    /// Attempts in all.
    pub attempts: u64,
    /// Money reserved for them: no reservation is given back, because nobody says what was spent.
    pub money: Money,
    /// Of this, what planning took.
    pub planning_money: Money,
    /// Tokens reserved for them.
    pub tokens: u64,
    /// What calls that began add to each counted value.
    pub values: BTreeMap<String, Amount>,
    /// The limit that keeps calls from starting, and the step that met it.
    pub limit: Option<(String, String)>,
    /// Time spent running, waits for people not counted, in milliseconds.
    pub active_ms: i64,
    /// When the last event was recorded.
    pub last_at: i64,
}

/// What a run is for, and what of it changed.
#[derive(Clone, Debug)]
pub struct Goals {
    /// The goal.
    pub goal: Goal,
    /// That nobody has planned for it yet, since a person put it in the place of another.
    pub unplanned: Option<PendingGoal>,
    /// Steps that were called under an earlier goal and are no reads: nothing of theirs begins.
    pub former: BTreeSet<String>,
}

/// Who plans, who is asked next, and whether plans lead anywhere.
#[derive(Clone, Debug)]
pub struct PlannerRoute {
    /// Which planner.
    pub planner: PlannerChoice,
    /// Who is asked where the planner fails.
    pub chain: Chain,
    /// Whether revisions lead anywhere.
    pub progress: RevisionProgress,
}

/// The plan in force, and how it came to be.
#[derive(Clone, Debug)]
pub struct PlanInForce {
    /// The plan in force.
    pub plan: Option<Arc<ApprovedPlan>>,
    /// Its canonical document.
    pub document: Arc<Value>,
    /// The number of the plan in force, from 1.
    pub revision: u32,
    /// How many revisions only refined a subgoal.
    pub refinements: u32,
    /// The label of what led to the revision in force.
    pub control: Label,
    /// The label of the literals that its author wrote.
    pub literals: Label,
    /// Who amended the revision in force; none if a planner made it.
    pub amender: Option<String>,
    /// Who wrote what of the plan in force.
    pub authorship: Authorship,
    /// The proofs of the plan in force, by criterion and text, and who wrote each.
    pub provers: BTreeMap<(String, String), Prover>,
}

/// What calls changed, or tried to.
#[derive(Clone, Debug, Default)]
pub struct RunWrites {
    /// Calls that changed something or may have.
    pub effects: Vec<WriteRecord>,
    /// Calls that failed for good: operation and digest of args.
    pub failed_calls: BTreeSet<(String, Digest)>,
}

/// What stops a run for a while or for good.
#[derive(Clone, Debug, Default)]
pub struct RunEnding {
    /// Whether no further attempt may begin, and why the run will end.
    pub stopping: Option<Why>,
    /// The rejection that the run went on without another plan after, if it did.
    pub rejected: Option<Why>,
    /// Who said no last.
    pub rejected_by: Option<String>,
    /// The last request to a planner, if it came to no admissible plan.
    pub ran_out: Option<u64>,
    /// Whether and by whom the run was cancelled.
    pub cancelled: Option<(String, Option<String>)>,
    /// Whether what happened is undone before it ends.
    pub undo: UndoProgress,
    /// Who stopped it, until somebody lets it go on.
    pub paused: Option<Pause>,
    /// How it ended; none once a person has it undone after that, until it ends again.
    pub ended: Option<RunEnded>,
    /// Whether a person has it undone after it had ended, and nothing else is left of it.
    pub reopened: bool,
}
