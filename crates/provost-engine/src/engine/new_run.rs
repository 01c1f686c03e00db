//! What is asked for when a run is to begin.
//!
//! Owns the request and for whom it is. Begins nothing: that is the engine's.

use provost_plan::plan::Goal;
use provost_plan::plan::request::PlanningMode;
use provost_plan::policy::Principal;
use provost_run::event::{AskMode, PlannerChoice};
use provost_run::trace_parent::TraceParent;

/// What a run is to be.
#[derive(Clone, Debug)]
pub struct NewRun {
    /// The goal.
    pub goal: Goal,
    /// Who read the goal, in words.
    pub interpreted_by: String,
    /// Which planner.
    pub planner: PlannerChoice,
    /// The playbook that is asked if that planner fails.
    pub fallback: Option<String>,
    /// How planning proceeds, where somebody said so.
    pub mode: Option<PlanningMode>,
    /// When a person is asked.
    pub ask: AskMode,
    /// Whether an unfinished run with the same goal is no obstacle.
    pub again: bool,
    /// Where it begins in a trace of whoever begins it: a link, and never the parent of its own.
    pub traceparent: Option<TraceParent>,
}

/// For whom a run is begun, where that is not the user of the workspace.
#[derive(Clone, Debug)]
pub struct OnBehalf {
    /// Whom it acts for.
    pub principal: Principal,
    /// Its id, where the caller draws it, so that a repeated request finds the same run.
    pub run: Option<String>,
}
