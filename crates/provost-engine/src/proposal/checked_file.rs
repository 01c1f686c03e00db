//! A plan document as a run of its planner would judge it, with what is shown of it.
//!
//! Owns whose plan a text is, for which goal and under which principal. Compiles by the function
//! that the run machine uses, and asks nobody.

use provost_plan::check::budget::WorstCase;
use provost_plan::check::{Checked, CheckedPlan, Draft, Origin, RevisionBase, Terms};
use provost_plan::diagnostic::Diagnostic;
use provost_plan::digest::canonical;
use provost_plan::label::Label;
use provost_plan::plan::Goal;
use provost_plan::plan::foreign::explained;
use provost_plan::plan::read::read_plan_once;
use provost_plan::reach::CheckedUnder;
use provost_plan::source::Source;
use provost_planner::ClientPlanner;
use provost_run::event::PlannerChoice;
use provost_run::proposal::compile;

use super::route::Assignment;
use crate::bundle::Bundle;
use crate::workspace::Workspace;

/// A plan that was checked, with its text.
#[derive(Debug)]
pub struct CheckedFile {
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

impl CheckedFile {
    /// The checked plan with what it was checked under, if there is no error.
    #[must_use]
    pub fn checkup<'a>(&'a self, workspace: &'a Workspace) -> Option<CheckedUnder<'a>> {
        Some(CheckedUnder {
            plan: self.plan.as_ref()?,
            catalog: workspace.catalog(),
            goal: &self.goal,
            worst: self.worst.as_ref()?,
        })
    }

    /// A text that could not be read as what it claims to be.
    #[must_use]
    pub fn unread(source: Source, diagnostics: Vec<Diagnostic>) -> Self {
        Self::unreadable(source, &Goal::of_text(""), diagnostics)
    }

    fn unreadable(source: Source, goal: &Goal, diagnostics: Vec<Diagnostic>) -> Self {
        let not_checked = vec!["everything behind the text itself".to_owned()];
        Self {
            source,
            goal: goal.clone(),
            plan: None,
            diagnostics,
            not_checked,
            worst: None,
        }
    }
}

/// Judges a plan that a person wrote, for its own goal.
#[must_use]
pub fn of_file(workspace: &Workspace, source: Source) -> CheckedFile {
    let (origin, planner) = file(&source, None);
    for_own_goal(workspace, source, origin, planner)
}

/// Judges a plan that a client wrote, for its own goal: neither is trusted.
#[must_use]
pub fn of_client(workspace: &Workspace, client: &str, text: String) -> CheckedFile {
    let planner = PlannerChoice::Client {
        client: client.to_owned(),
        text: text.clone(),
    };
    let (source, origin) = (Source::new(client, text), ClientPlanner::origin(client));
    for_own_goal(workspace, source, origin, planner)
}

/// Judges the plan of a saved plan again, for its own goal.
#[must_use]
pub fn of_bundle(workspace: &Workspace, bundle: &Bundle, source: &Source) -> CheckedFile {
    let source = Source::new(source.name.clone(), canonical(&bundle.plan));
    let (origin, planner) = file(&source, bundle.playbook.clone());
    let assignment = Assignment {
        goal: bundle.goal.clone(),
        planner,
        mode: None,
    };
    judge(workspace, source, origin, &assignment)
}

/// Who wrote the file, and who plans a run of it.
fn file(source: &Source, playbook: Option<String>) -> (Origin, PlannerChoice) {
    let origin = Origin {
        author: format!("file {}", source.name),
        literals: Label::trusted(),
        control: Label::trusted(),
    };
    let planner = PlannerChoice::File {
        name: source.name.to_string(),
        text: source.text.to_string(),
        playbook,
    };
    (origin, planner)
}

fn for_own_goal(
    workspace: &Workspace,
    source: Source,
    origin: Origin,
    planner: PlannerChoice,
) -> CheckedFile {
    let plan = match read_plan_once(&source) {
        Ok(plan) => plan,
        Err(diagnostics) => {
            let diagnostics = explained(&source, workspace.catalog(), diagnostics);
            return CheckedFile::unread(source, diagnostics);
        }
    };
    let named = plan.goal.as_ref().map(|goal| goal.value.clone());
    let names_none = named.is_none();
    let goal = named.unwrap_or_else(|| Goal {
        success: Vec::new(),
        ..Goal::of_text("")
    });
    // Why: a client writes the goal beside the plan, and is believed neither.
    let untrusted = matches!(planner, PlannerChoice::Client { .. });
    let assignment = Assignment {
        goal: Goal { untrusted, ..goal },
        planner,
        mode: None,
    };
    let mut judged = judge_draft(workspace, source, Draft { plan, origin }, &assignment);
    if names_none {
        judged
            .not_checked
            .insert(0, "the goal: the plan names none".to_owned());
    }
    judged
}

/// Judges a plan document as a run of this assignment would.
#[must_use]
pub fn judge(
    workspace: &Workspace,
    source: Source,
    origin: Origin,
    assignment: &Assignment,
) -> CheckedFile {
    match read_plan_once(&source) {
        Ok(plan) => judge_draft(workspace, source, Draft { plan, origin }, assignment),
        Err(diagnostics) => CheckedFile::unreadable(source, &assignment.goal, diagnostics),
    }
}

fn judge_draft(
    workspace: &Workspace,
    source: Source,
    draft: Draft,
    assignment: &Assignment,
) -> CheckedFile {
    let Assignment {
        goal,
        planner,
        mode,
    } = assignment;
    let terms = terms(workspace, goal, planner);
    let base = RevisionBase {
        revision: 1,
        ..RevisionBase::default()
    };
    let Checked {
        plan,
        diagnostics,
        not_checked,
        worst,
        ..
    } = compile(draft, &terms, &base, planner, *mode);
    CheckedFile {
        source,
        goal: goal.clone(),
        plan,
        diagnostics,
        not_checked,
        worst: Some(worst),
    }
}

/// The rules in force, for a run of this planner.
#[must_use]
pub fn terms(workspace: &Workspace, goal: &Goal, planner: &PlannerChoice) -> Terms {
    Terms {
        catalog: workspace.catalog().clone(),
        policy: workspace.policy().clone(),
        principal: workspace.principal(planner),
        limits: workspace.limits().clone(),
        goal: goal.clone(),
    }
}

/// What moved since a plan was saved, where it does not pass the check any more.
#[must_use]
pub fn moved(workspace: &Workspace, bundle: &Bundle, source: &Source) -> Vec<String> {
    let (_, planner) = file(source, bundle.playbook.clone());
    bundle.moved_terms(&terms(workspace, &bundle.goal, &planner))
}
