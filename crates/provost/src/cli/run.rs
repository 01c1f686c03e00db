//! `run`: a goal, from plan to answer.

use clap::{Args, ValueEnum};
use provost_engine::planners::NoMatch;
use provost_engine::proposal::{RouteError, planner_first, route};
use provost_engine::run::event::AskMode;
use provost_engine::run::trace_parent::TraceParent;
use provost_plan::plan::request;
use provost_plan::render::escape;

use super::Watching;
use crate::drive::{Start, begin, drive, typed_yes};
use crate::failure::{Exit, Failure};
use crate::output;
use crate::workspace_path::WorkspacePath;

/// Arguments of `run`.
#[derive(Debug, Args)]
pub struct RunArgs {
    /// goal, in quotes
    #[arg(value_name = "GOAL")]
    goal: String,
    /// planning mode; `auto` prefers a matching playbook
    #[arg(long, value_enum, default_value = "auto")]
    mode: Mode,
    /// ask `[planner]` first; use a matching playbook if it fails
    #[arg(long)]
    planner_first: bool,
    /// begin the run, print its id and exit; `provost work` executes it
    #[arg(long, conflicts_with = "events")]
    detach: bool,
    #[command(flatten)]
    begin: Beginning,
    #[command(flatten)]
    watching: Watching,
}

/// How a run begins.
#[derive(Clone, Copy, Debug, Args)]
pub struct Beginning {
    /// start even if an unfinished run has the same goal
    #[arg(long)]
    pub again: bool,
    /// approve each step with its values, or the plan first
    #[arg(long, value_enum)]
    pub ask: Option<Ask>,
    /// W3C trace context of the caller; the run's trace links to it
    #[arg(long, value_name = "VALUE")]
    pub traceparent: Option<TraceParent>,
}

/// How planning proceeds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Mode {
    // The whole plan at once.
    Single,
    // What is certain first, and the rest step by step, by the planner of `[planner]`.
    Iterative,
    // Whatever fits the goal.
    Auto,
}

impl Mode {
    /// The mode that was asked for; none where the router chooses.
    pub fn asked(self) -> Option<request::PlanningMode> {
        match self {
            Self::Single => Some(request::PlanningMode::Single),
            Self::Iterative => Some(request::PlanningMode::Iterative),
            Self::Auto => None,
        }
    }
}

/// When a person is asked.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub enum Ask {
    // When the step is ready, with its values.
    Step,
    // Before anything runs.
    Plan,
}

impl Beginning {
    /// When a person is asked, `otherwise` unless it was typed.
    pub fn ask_mode(self, otherwise: AskMode) -> AskMode {
        match self.ask {
            Some(Ask::Step) => AskMode::Step,
            Some(Ask::Plan) => AskMode::Plan,
            None => otherwise,
        }
    }
}

/// The sentence that a person at the terminal says they meant.
fn meant(none: &NoMatch) -> Result<Option<&str>, Failure> {
    let first = none
        .similar
        .first()
        .filter(|one| one.is_complete && one.begins_alike);
    let Some(similar) = first.filter(|_| output::is_attended()) else {
        return Ok(None);
    };
    let prompt = format!("did you mean \"{}\"? [y/N] ", escape(&similar.sentence));
    Ok(typed_yes(&prompt)?.then_some(similar.sentence.as_str()))
}

/// Does it.
pub fn run(verb: &RunArgs, place: &WorkspacePath) -> Result<Exit, Failure> {
    let workspace = place.to_judge()?;
    let mode = verb.mode.asked();
    let routed = if verb.planner_first {
        planner_first(&workspace, &verb.goal, mode)?
    } else {
        match route(&workspace, &verb.goal, mode) {
            Err(RouteError::NoMatch(none)) => match meant(&none)? {
                Some(sentence) => route(&workspace, sentence, mode)?,
                None => return Err(RouteError::NoMatch(none).into()),
            },
            other => other?,
        }
    };
    let ask = verb.begin.ask_mode(workspace.ask());
    let mut new = routed.into_run(ask, verb.begin.again);
    new.traceparent = verb.begin.traceparent;
    let engine = place.engine(workspace)?;
    if verb.detach {
        return begin(place, &engine, new, verb.watching);
    }
    drive(place, &engine, Start::New(Box::new(new)), verb.watching)
}
