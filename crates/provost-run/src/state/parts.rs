//! The parts of a run's state.
//!
//! Owns which facts belong together. Decides nothing, and knows no event: the fold fills them in.
//! INVARIANT: a fact stands in one part.

use std::collections::{BTreeMap, BTreeSet};

use provost_plan::digest::Digest;
use provost_plan::money::Money;
use provost_plan::plan::Limits;
use provost_plan::plan::request::PlanningMode;
use provost_plan::policy::Principal;

use super::{CardState, QuestionState};
use crate::event::AskMode;

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
    /// Whether what people say to it has to be signed.
    pub signed: bool,
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
    /// under; none where statements need not be signed, and in journals of earlier versions.
    pub rights: Option<Digest>,
}

/// What a run has used up of its limits.
#[derive(Clone, Debug)]
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
    /// The limit that keeps calls from starting, and the step that met it.
    pub limit: Option<(String, String)>,
    /// Time spent running, waits for people not counted, in milliseconds.
    pub active_ms: i64,
    /// When the last event was recorded.
    pub last_at: i64,
}
