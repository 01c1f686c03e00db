//! A plan before there is a run: the goal's planner, what it proposes, and why there is none.
//!
//! Owns who plans a goal, and what is said where no plan comes. Asks and judges through the engine,
//! as a run would. Begins nothing and calls nothing.

use std::sync::Arc;

use provost_engine::engine::NewRun;
use provost_engine::planners::{NoMatch, Planner, Playbook, Route};
use provost_engine::proposal::{self as engine, CheckedFile, Proposed, Refused, judge};
use provost_engine::run::event::PlannerChoice;
use provost_engine::workspace::Workspace;
use provost_plan::plan::Goal;
use provost_plan::plan::request::PlanningMode;

use crate::failure::Failure;

/// A goal, and who plans it.
pub struct Routed {
    /// The goal.
    pub goal: Goal,
    /// The planner.
    pub choice: PlannerChoice,
    /// The playbook that is asked if it comes to nothing.
    pub fallback: Option<String>,
    /// Who read the goal and chose, in words, with the reason.
    pub by: String,
}

/// The goal of this text for whoever `[planner]` names, with the playbook that matches behind.
pub fn planner_first(
    workspace: &Workspace,
    text: &str,
    mode: Option<PlanningMode>,
) -> Result<Routed, Failure> {
    refuse_empty(text)?;
    let Some(choice) = workspace.other_planner() else {
        let (what, option) = match mode {
            Some(PlanningMode::Iterative) => ("could plan step by step", "--mode iterative"),
            Some(PlanningMode::Single) | None => ("could be asked first", "--planner-first"),
        };
        return Err(
            Failure::usage(format!("provost.toml has no `[planner]` that {what}"))
                .hint(format!("name one there, or leave `{option}` out")),
        );
    };
    // Why one alone, and only one that fits: which of several, or what a value may be, is for a
    // person to say, and they are asked anyway.
    let fallback = match workspace.playbooks().route(text, true) {
        Route::Playbook { playbook, .. } => Some(playbook.name().to_owned()),
        Route::Ask { .. } | Route::NoMatch(_) => None,
    };
    Ok(Routed {
        goal: Goal::of_text(text),
        by: match mode {
            Some(PlanningMode::Iterative) => format!(
                "rules: mode iterative was requested, so {} plans step by step",
                choice.author()
            ),
            Some(PlanningMode::Single) | None => {
                let by = format!("rules: {} plans first", choice.author());
                with_mode(by, mode)
            }
        },
        choice,
        fallback,
    })
}

fn refuse_empty(text: &str) -> Result<(), Failure> {
    if text.trim().is_empty() {
        return Err(Failure::usage("the goal is empty").hint("say what you want, in quotes"));
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

/// The goal of this text, and the planner it is for.
pub fn route(
    workspace: &Workspace,
    text: &str,
    mode: Option<PlanningMode>,
) -> Result<Routed, Failure> {
    // Why: a playbook is written whole, and takes no step after another.
    if mode == Some(PlanningMode::Iterative) {
        return planner_first(workspace, text, mode);
    }
    let routed = routed(workspace, text)?;
    Ok(Routed {
        by: with_mode(routed.by, mode),
        ..routed
    })
}

/// The same by the rules alone.
fn routed(workspace: &Workspace, text: &str) -> Result<Routed, Failure> {
    refuse_empty(text)?;
    let other = workspace.other_planner();
    match workspace.playbooks().route(text, other.is_some()) {
        Route::Playbook { playbook, goal } => {
            let name = playbook.name().to_owned();
            let choice = PlannerChoice::Playbook { name };
            let by = choice.author();
            Ok(Routed {
                goal,
                choice,
                fallback: None,
                by,
            })
        }
        Route::Ask { playbooks, because } => Ok(Routed {
            goal: Goal::of_text(text),
            choice: PlannerChoice::Interpreter { playbooks },
            fallback: None,
            by: format!("rules: {because}, so a person is asked"),
        }),
        Route::NoMatch(none) => match other {
            Some(choice) => Ok(Routed {
                goal: Goal::of_text(text),
                by: format!("rules: no playbook matches, so {} plans", choice.author()),
                choice,
                fallback: None,
            }),
            None => Err(Failure::usage(none.to_string()).hint(match known_key() {
                Some((variable, kind)) => format!("{}\n{}", own(&none), lines(variable, kind)),
                None => own(&none),
            })),
        },
    }
}

/// What to do where no playbook matches: the last of it is a plan of one's own.
fn own(none: &NoMatch) -> String {
    format!("{} with `provost apply FILE`", none.hint())
}

/// Variables in which people keep keys, and the kind of model that each is for.
const KNOWN_KEYS: [(&str, &str); 3] = [
    ("ANTHROPIC_API_KEY", "anthropic"),
    ("OPENAI_API_KEY", "openai"),
    ("GEMINI_API_KEY", "gemini"),
];

/// A key that is there already.
fn known_key() -> Option<(&'static str, &'static str)> {
    let is_set = |name: &str| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    KNOWN_KEYS.into_iter().find(|(name, _)| is_set(name))
}

/// What to add for a model to plan.
fn lines(variable: &str, kind: &str) -> String {
    format!(
        "or let a model plan: `{variable}` is set; add to provost.toml\n  \
         [models.large]\n  kind = \"{kind}\"\n  model = \"NAME OF A MODEL\"\n  \
         key = \"env:{variable}\"\n  [planner]\n  kind = \"model\"\n  model = \"large\""
    )
}

/// Asks the planner for its plan as a run would, and checks what it comes to.
pub fn propose(
    workspace: &Workspace,
    routed: Routed,
    mode: Option<PlanningMode>,
) -> Result<CheckedFile, Failure> {
    let (goal, choice) = (routed.goal.clone(), routed.choice.clone());
    let new = NewRun {
        goal: routed.goal,
        interpreted_by: routed.by,
        planner: routed.choice,
        fallback: routed.fallback,
        mode,
        ask: workspace.ask(),
        again: true,
    };
    outcome(
        workspace,
        (&goal, &choice, mode),
        asked(workspace, new, None)?,
    )
}

fn asked(
    workspace: &Workspace,
    new: NewRun,
    given: Option<Arc<dyn Planner>>,
) -> Result<Proposed, Failure> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| Failure::usage(format!("no planner is available: {error}")))?;
    Ok(runtime.block_on(engine::propose(workspace, new, given))?)
}

/// What is shown of a proposal: the last document, checked again with its places, or why there is
/// none.
fn outcome(
    workspace: &Workspace,
    (goal, choice, mode): (&Goal, &PlannerChoice, Option<PlanningMode>),
    proposed: Proposed,
) -> Result<CheckedFile, Failure> {
    let judged = |(source, origin)| judge(workspace, source, goal, origin, (choice, mode));
    match (proposed.refused, proposed.document) {
        (None, Some(document)) => Ok(judged(document)),
        (
            Some(Refused::Ended(why) | Refused::Asks(why) | Refused::Declined(why)),
            Some(document),
        ) => {
            let judged = judged(document);
            match judged.plan {
                Some(_) => Err(Failure::failed(why)),
                None => Ok(judged),
            }
        }
        (Some(Refused::Unreadable(why)), _) => Err(Failure::failed(format!(
            "no plan document was returned: {why}"
        ))
        .hint("`provost doctor --model NAME` shows whether a model keeps the form")),
        (Some(Refused::Asks(why)), None) => {
            Err(Failure::failed(format!("the planner has questions: {why}"))
                .hint("say it in the goal, or let `provost run` ask"))
        }
        (Some(Refused::Declined(why) | Refused::Ended(why)), None) => Err(Failure::failed(why)),
        (None, None) => Err(Failure::failed("no plan was proposed")),
    }
}

/// Asks a playbook that need not be of the workspace for its plan, and checks it.
pub fn ask(workspace: &Workspace, goal: &Goal, planner: &Playbook) -> Result<CheckedFile, Failure> {
    let name = planner.name().to_owned();
    let choice = PlannerChoice::Playbook { name };
    let new = NewRun {
        goal: goal.clone(),
        interpreted_by: choice.author(),
        planner: choice.clone(),
        fallback: None,
        mode: None,
        ask: workspace.ask(),
        again: true,
    };
    let given: Arc<dyn Planner> = Arc::new(planner.clone());
    let proposed = asked(workspace, new, Some(given))?;
    outcome(workspace, (goal, &choice, None), proposed)
}
