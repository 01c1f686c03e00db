//! A plan before there is a run: the goal's planner, what it proposes, the check of it.
//!
//! Owns the way from a goal or a file to a checked plan. Asks through the run machine in memory, as
//! a run would. Begins nothing and calls nothing.

use std::sync::Arc;

use provost_engine::bundle::Bundle;
use provost_engine::engine::NewRun;
use provost_engine::planners::{NoMatch, Planner, Playbook, Route};
use provost_engine::proposal::{self as engine, Proposed, Refused};
use provost_engine::run::event::PlannerChoice;
use provost_engine::workspace::Workspace;
use provost_plan::check::budget::WorstCase;
use provost_plan::check::{Base, Checked, CheckedPlan, Draft, Origin, Terms, check};
use provost_plan::diagnostic::Diagnostic;
use provost_plan::digest::canonical;
use provost_plan::label::Label;
use provost_plan::plan::read::read_plan;
use provost_plan::plan::request::Mode;
use provost_plan::plan::{Goal, Plan};
use provost_plan::policy::Principal;
use provost_plan::reach::Checkup;
use provost_plan::source::Source;

use crate::failure::Failure;

/// A plan that was checked, with its text.
#[derive(Debug)]
pub struct Judged {
    /// The text.
    pub source: Source,
    /// The goal it was checked for.
    pub goal: Goal,
    /// The checked plan, if there is no error.
    pub plan: Option<CheckedPlan>,
    /// The findings.
    pub diagnostics: Vec<Diagnostic>,
    /// What was not looked at.
    pub not_checked: Vec<String>,
    /// The most it can take; none if it cannot be read.
    pub worst: Option<WorstCase>,
}

impl Judged {
    /// The checked plan with what it was checked under, if there is no error.
    pub fn checkup<'a>(&'a self, workspace: &'a Workspace) -> Option<Checkup<'a>> {
        Some(Checkup {
            plan: self.plan.as_ref()?,
            catalog: workspace.catalog(),
            goal: &self.goal,
            worst: self.worst.as_ref()?,
        })
    }
}

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
    mode: Option<Mode>,
) -> Result<Routed, Failure> {
    refuse_empty(text)?;
    let Some(choice) = workspace.other_planner() else {
        let (what, option) = match mode {
            Some(Mode::Iterative) => ("could plan step by step", "--mode iterative"),
            Some(Mode::Single) | None => ("could be asked first", "--planner-first"),
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
            Some(Mode::Iterative) => format!(
                "rules: the mode iterative is asked for, so {} plans step by step",
                choice.author()
            ),
            Some(Mode::Single) | None => {
                let by = format!("rules: {} is to be asked first", choice.author());
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
fn with_mode(by: String, mode: Option<Mode>) -> String {
    match mode {
        Some(mode) => format!("{by}; the mode {} is asked for", mode.word()),
        None => by,
    }
}

/// The goal of this text, and the planner it is for.
pub fn route(workspace: &Workspace, text: &str, mode: Option<Mode>) -> Result<Routed, Failure> {
    // Why: a playbook is written whole, and takes no step after another.
    if mode == Some(Mode::Iterative) {
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
            by: format!("rules: {because}, so people are asked"),
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
    mode: Option<Mode>,
) -> Result<Judged, Failure> {
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
        .map_err(|error| Failure::usage(format!("no planner could be asked: {error}")))?;
    Ok(runtime.block_on(engine::propose(workspace, new, given))?)
}

/// What is shown of a proposal: the last document, checked again with its places, or why there is
/// none.
fn outcome(
    workspace: &Workspace,
    (goal, choice, mode): (&Goal, &PlannerChoice, Option<Mode>),
    proposed: Proposed,
) -> Result<Judged, Failure> {
    let judged = |(source, origin)| closed(judge(workspace, source, goal, origin), choice, mode);
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
        (Some(Refused::Unreadable(why)), _) => {
            Err(Failure::failed(format!("no plan document came: {why}"))
                .hint("`provost doctor --model NAME` shows whether a model keeps the form"))
        }
        (Some(Refused::Asks(why)), None) => {
            Err(Failure::failed(format!("the planner asks first: {why}"))
                .hint("say it in the goal, or let `provost run` ask"))
        }
        (Some(Refused::Declined(why) | Refused::Ended(why)), None) => Err(Failure::failed(why)),
        (None, None) => Err(Failure::failed("no plan came")),
    }
}

/// Without its plan, if that leaves open what nobody would refine: as in a run.
fn closed(mut judged: Judged, choice: &PlannerChoice, mode: Option<Mode>) -> Judged {
    let plan = judged.plan.as_ref().map(CheckedPlan::plan);
    let found = plan.and_then(|plan| choice.never_refined(plan, mode));
    if let Some(found) = found {
        judged.plan = None;
        judged.diagnostics.push(found);
    }
    judged
}

/// Asks a playbook that need not be of the workspace for its plan, and checks it.
pub fn ask(workspace: &Workspace, goal: &Goal, planner: &Playbook) -> Result<Judged, Failure> {
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

/// Reads and checks a plan that a person wrote, for its own goal.
pub fn of_file(workspace: &Workspace, source: Source) -> Judged {
    let author = format!("file {}", source.name);
    let origin = Origin {
        author,
        literals: Label::trusted(),
        control: Label::trusted(),
    };
    for_own_goal(workspace, source, origin, workspace.user(), false)
}

/// Reads and checks a plan that a client wrote, for its own goal: neither is trusted, and it acts
/// for an agent of the user.
pub fn of_client(workspace: &Workspace, source: Source, origin: Origin) -> Judged {
    for_own_goal(workspace, source, origin, &workspace.user().agent(), true)
}

fn for_own_goal(
    workspace: &Workspace,
    source: Source,
    origin: Origin,
    principal: &Principal,
    untrusted: bool,
) -> Judged {
    let plan = match read_plan(&source) {
        Ok(plan) => plan,
        Err(diagnostics) => return unreadable(source, &Goal::of_text(""), diagnostics),
    };
    let (goal, named) = match &plan.goal {
        Some(goal) => (goal.value.clone(), true),
        None => {
            let none = Goal::of_text("");
            let success = Vec::new();
            (Goal { success, ..none }, false)
        }
    };
    let goal = Goal { untrusted, ..goal };
    let mut judged = compile(workspace, source, plan, &goal, (origin, principal));
    if !named {
        judged
            .not_checked
            .insert(0, "the goal: the plan names none".to_owned());
    }
    judged
}

/// Reads and checks a plan for a goal.
pub fn judge(workspace: &Workspace, source: Source, goal: &Goal, origin: Origin) -> Judged {
    match read_plan(&source) {
        Ok(plan) => compile(workspace, source, plan, goal, (origin, workspace.user())),
        Err(diagnostics) => unreadable(source, goal, diagnostics),
    }
}

fn unreadable(source: Source, goal: &Goal, diagnostics: Vec<Diagnostic>) -> Judged {
    let not_checked = vec!["everything behind the text itself".to_owned()];
    Judged {
        source,
        goal: goal.clone(),
        plan: None,
        diagnostics,
        not_checked,
        worst: None,
    }
}

fn compile(
    workspace: &Workspace,
    source: Source,
    plan: Plan,
    goal: &Goal,
    (origin, principal): (Origin, &Principal),
) -> Judged {
    let terms = Terms {
        catalog: workspace.catalog().clone(),
        policy: workspace.policy().clone(),
        principal: principal.clone(),
        limits: workspace.limits().clone(),
        goal: goal.clone(),
    };
    let base = Base {
        revision: 1,
        ..Base::default()
    };
    let Checked {
        plan,
        diagnostics,
        not_checked,
        worst,
        ..
    } = check(
        Draft {
            plan: plan.into(),
            origin,
        },
        &terms,
        &base,
    );
    Judged {
        source,
        goal: goal.clone(),
        plan,
        diagnostics,
        not_checked,
        worst: Some(worst),
    }
}

/// Checks the plan of a saved plan again, for its own goal.
pub fn of_bundle(workspace: &Workspace, bundle: &Bundle, source: &Source) -> Judged {
    let text = canonical(&bundle.plan);
    let origin = Origin {
        author: format!("file {}", source.name),
        literals: Label::trusted(),
        control: Label::trusted(),
    };
    judge(
        workspace,
        Source::new(source.name.clone(), text),
        &bundle.goal,
        origin,
    )
}

/// A text that could not be read as what it claims to be.
pub fn unread(source: Source, diagnostics: Vec<Diagnostic>) -> Judged {
    unreadable(source, &Goal::of_text(""), diagnostics)
}

/// What moved since a plan was saved, as far as it can be told without a check of it.
pub fn moved_terms(workspace: &Workspace, bundle: &Bundle) -> Vec<String> {
    let mut moved = Vec::new();
    if bundle.terms.policy != workspace.policy().digest() {
        moved.push("the policy or the people in it".to_owned());
    }
    if bundle.terms.principal != workspace.user().digest() {
        moved.push("who it is for".to_owned());
    }
    if bundle.terms.limits != workspace.limits().digest() {
        moved.push("the limits".to_owned());
    }
    for (name, digest) in &bundle.terms.tools {
        let now = workspace
            .catalog()
            .get(name)
            .map(|operation| operation.digest());
        if now != Some(*digest) {
            moved.push(format!("the tool `{name}`"));
        }
    }
    moved
}
