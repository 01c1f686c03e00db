//! `apply`: a plan from a file, run as it stands.

use std::path::PathBuf;

use clap::Args;
use provost_engine::bundle::Bundle;
use provost_engine::engine::NewRun;
use provost_engine::proposal;
use provost_engine::run::event::PlannerChoice;
use provost_engine::workspace::Workspace;
use provost_plan::digest::canonical;
use provost_plan::plan::Goal;
use provost_plan::source::Source;

use super::Watching;
use super::check::refused;
use super::run::Beginning;
use crate::document::Document;
use crate::drive::{Start, drive};
use crate::failure::{Exit, Failure};
use crate::workspace_path::WorkspacePath;

/// Arguments of `apply`.
#[derive(Debug, Args)]
pub struct ApplyArgs {
    /// plan file with a goal, or a plan saved by `provost plan -o`
    #[arg(value_name = "FILE")]
    file: PathBuf,
    #[command(flatten)]
    begin: Beginning,
    #[command(flatten)]
    watching: Watching,
}

/// Does it.
pub fn run(verb: &ApplyArgs, place: &WorkspacePath) -> Result<Exit, Failure> {
    let document = Document::read(&verb.file)?;
    let workspace = place.to_judge()?;
    let (goal, planner) = match document {
        Document::Plan(source) => of_plan(&workspace, source)?,
        Document::Bundle(bundle, source) => of_bundle(&workspace, *bundle, &source)?,
        Document::Playbook(source) => {
            return Err(
                Failure::usage(format!("`{}` is a playbook, not a plan", source.name))
                    .hint("`provost run \"GOAL\"` uses the playbook that matches the goal"),
            );
        }
    };
    let new = NewRun {
        goal,
        interpreted_by: format!("file {}", verb.file.display()),
        planner,
        fallback: None,
        mode: None,
        ask: verb.begin.ask_mode(workspace.ask()),
        again: verb.begin.again,
        traceparent: verb.begin.traceparent,
    };
    let engine = place.engine(workspace)?;
    drive(place, &engine, Start::New(Box::new(new)), verb.watching)
}

/// The goal of a plan that names one, and the planner that proposes it.
pub fn of_plan(workspace: &Workspace, source: Source) -> Result<(Goal, PlannerChoice), Failure> {
    let judged = proposal::of_file(workspace, source);
    let Some(plan) = &judged.plan else {
        return Err(refused(&judged));
    };
    let Some(goal) = &plan.plan().goal else {
        return Err(
            Failure::usage(format!("the plan `{}` names no goal", judged.source.name))
                .hint("add one: `goal: { text: what the plan is for }`"),
        );
    };
    let planner = PlannerChoice::File {
        name: judged.source.name.to_string(),
        text: judged.source.text.to_string(),
        playbook: None,
    };
    Ok((goal.value.clone(), planner))
}

fn of_bundle(
    workspace: &Workspace,
    bundle: Bundle,
    source: &Source,
) -> Result<(Goal, PlannerChoice), Failure> {
    let judged = proposal::of_bundle(workspace, &bundle, source);
    let stale = |moved: &[String]| {
        let list: String = moved
            .iter()
            .map(|what| format!("\n  changed: {what}"))
            .collect();
        let command = format!(
            "provost plan {}",
            crate::workspace_path::quoted(&bundle.goal.text)
        );
        Failure::usage(format!("saved plan is stale{list}")).hint(format!(
            "what it was checked under is not what is here now; make it anew: `{command} -o {}`",
            crate::workspace_path::quoted(&source.name)
        ))
    };
    let Some(plan) = &judged.plan else {
        // Why: whether the check fails because something moved cannot be told from the record of
        // a plan that has none; what can be compared without one is.
        let moved = proposal::moved(workspace, &bundle, source);
        if moved.is_empty() {
            return Err(refused(&judged));
        }
        return Err(stale(&moved).findings(&judged.source, &judged.diagnostics));
    };
    let moved = bundle.moved(plan.record());
    if !moved.is_empty() {
        return Err(stale(&moved));
    }
    let planner = PlannerChoice::File {
        name: source.name.to_string(),
        text: canonical(&bundle.plan),
        playbook: bundle.playbook.clone(),
    };
    Ok((bundle.goal, planner))
}
