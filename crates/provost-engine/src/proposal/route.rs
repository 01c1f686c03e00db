//! Which planner a goal is for: the playbook that matches, or the planner of `[planner]`.
//!
//! Owns that choice, for every front end. Asks nobody and names no command.

use provost_plan::plan::Goal;
use provost_plan::plan::request::PlanningMode;
use provost_planner::{NoMatch, Playbook, Route};
use provost_run::event::{AskMode, PlannerChoice};

use crate::engine::NewRun;
use crate::workspace::Workspace;

/// A goal with who plans it and how.
#[derive(Clone, Debug)]
pub struct Assignment {
    /// The goal.
    pub goal: Goal,
    /// Who plans.
    pub planner: PlannerChoice,
    /// How planning proceeds, where somebody said so.
    pub mode: Option<PlanningMode>,
}

/// A goal that was routed to a planner.
#[derive(Clone, Debug)]
pub struct RoutedGoal {
    /// The goal with its planner.
    pub assignment: Assignment,
    /// The playbook that is asked if the planner fails.
    pub fallback: Option<String>,
    /// Who chose the planner, in words, with the reason.
    pub by: String,
}

/// No planner takes a goal.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RouteError {
    /// The goal has no text.
    #[error("the goal is empty")]
    Empty,
    /// No planner is configured that could do it.
    #[error("provost.toml has no `[planner]` that {}", match .0 {
        Some(PlanningMode::Iterative) => "could plan step by step",
        Some(PlanningMode::Single) | None => "could be asked first",
    })]
    NoPlanner(Option<PlanningMode>),
    /// No playbook matches, and no other planner is configured.
    #[error(transparent)]
    NoMatch(#[from] NoMatch),
}

impl RoutedGoal {
    /// What it is as a new run.
    #[must_use]
    pub fn into_run(self, ask: AskMode, again: bool) -> NewRun {
        NewRun {
            goal: self.assignment.goal,
            interpreted_by: self.by,
            planner: self.assignment.planner,
            fallback: self.fallback,
            mode: self.assignment.mode,
            ask,
            again,
            traceparent: None,
        }
    }

    /// A goal for this playbook, which need not be one of the workspace.
    #[must_use]
    pub fn of_playbook(goal: Goal, playbook: &Playbook, mode: Option<PlanningMode>) -> Self {
        let name = playbook.name().to_owned();
        Self::to(goal, PlannerChoice::Playbook { name }, mode)
    }

    fn to(goal: Goal, planner: PlannerChoice, mode: Option<PlanningMode>) -> Self {
        Self {
            fallback: None,
            by: planner.author(),
            assignment: Assignment {
                goal,
                planner,
                mode,
            },
        }
    }
}

/// The goal of this text, and the planner it is for.
///
/// # Errors
/// [`RouteError`] if the text is empty, or no planner takes it.
pub fn route(
    workspace: &Workspace,
    text: &str,
    mode: Option<PlanningMode>,
) -> Result<RoutedGoal, RouteError> {
    // Why: a playbook is written whole, and takes no step after another.
    if mode == Some(PlanningMode::Iterative) {
        return planner_first(workspace, text, mode);
    }
    let routed = by_rules(workspace, text, mode)?;
    Ok(RoutedGoal {
        by: with_mode(routed.by, mode),
        ..routed
    })
}

/// The goal of this text for whoever `[planner]` names, with the playbook that matches behind.
///
/// # Errors
/// [`RouteError`] if the text is empty, or `[planner]` names nobody.
pub fn planner_first(
    workspace: &Workspace,
    text: &str,
    mode: Option<PlanningMode>,
) -> Result<RoutedGoal, RouteError> {
    refuse_empty(text)?;
    let choice = workspace
        .other_planner()
        .ok_or(RouteError::NoPlanner(mode))?;
    // Why one alone, and only one that fits: which of several, or what a value may be, is for a
    // person to say, and they are asked anyway.
    let fallback = match workspace.playbooks().route(text, true) {
        Route::Playbook { playbook, .. } => Some(playbook.name().to_owned()),
        Route::Ask { .. } | Route::NoMatch(_) => None,
    };
    let author = choice.author();
    let by = match mode {
        Some(PlanningMode::Iterative) => {
            format!("rules: mode iterative was requested, so {author} plans step by step")
        }
        Some(PlanningMode::Single) | None => {
            with_mode(format!("rules: {author} plans first"), mode)
        }
    };
    Ok(RoutedGoal {
        fallback,
        by,
        ..RoutedGoal::to(Goal::of_text(text), choice, mode)
    })
}

fn by_rules(
    workspace: &Workspace,
    text: &str,
    mode: Option<PlanningMode>,
) -> Result<RoutedGoal, RouteError> {
    refuse_empty(text)?;
    let other = workspace.other_planner();
    match workspace.playbooks().route(text, other.is_some()) {
        Route::Playbook { playbook, goal } => Ok(RoutedGoal::of_playbook(goal, &playbook, mode)),
        Route::Ask { playbooks, because } => Ok(RoutedGoal {
            by: format!("rules: {because}, so a person is asked"),
            ..RoutedGoal::to(
                Goal::of_text(text),
                PlannerChoice::Interpreter { playbooks },
                mode,
            )
        }),
        Route::NoMatch(none) => {
            let choice = other.ok_or(none)?;
            Ok(RoutedGoal {
                by: format!("rules: no playbook matches, so {} plans", choice.author()),
                ..RoutedGoal::to(Goal::of_text(text), choice, mode)
            })
        }
    }
}

fn refuse_empty(text: &str) -> Result<(), RouteError> {
    if text.trim().is_empty() {
        return Err(RouteError::Empty);
    }
    Ok(())
}

/// Who chose, with the mode that was asked for.
fn with_mode(by: String, mode: Option<PlanningMode>) -> String {
    match mode {
        Some(mode) => format!("{by}; mode {} was requested", mode.word()),
        None => by,
    }
}
