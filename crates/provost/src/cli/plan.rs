//! `plan`: a proposal and its check; nothing is begun and nothing is called.

use std::path::PathBuf;

use clap::Args;
use provost_engine::bundle::Bundle;
use provost_engine::proposal::{self, Assignment, CheckedFile, RoutedGoal, route};
use provost_engine::workspace::Workspace;
use serde_json::{Value, json};

use super::check::{findings_json, refused};
use super::run::Mode;
use crate::document;
use crate::failure::{Exit, Failure};
use crate::output;
use crate::screen::page::Page;
use crate::screen::review;
use crate::workspace_path::WorkspacePath;

/// Arguments of `plan`.
#[derive(Debug, Args)]
pub struct PlanArgs {
    /// goal, in quotes
    #[arg(value_name = "GOAL")]
    goal: String,
    /// planning mode; `auto` prefers a matching playbook
    #[arg(long, value_enum, default_value = "auto")]
    mode: Mode,
    /// save the plan for `provost apply FILE`
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// print one JSON object
    #[arg(long)]
    json: bool,
}

/// Does it.
pub fn run(verb: &PlanArgs, place: &WorkspacePath) -> Result<Exit, Failure> {
    let workspace = place.workspace()?;
    let routed = route(&workspace, &verb.goal, verb.mode.asked())?;
    let Assignment { goal, planner, .. } = routed.assignment.clone();
    let judged = propose(&workspace, routed)?;
    if verb.json {
        output::json(&json!({
            "schema": "provost/planned/v1",
            "goal": goal,
            "plan": judged.plan.as_ref().map(|plan| &plan.plan().value),
            "record": judged.plan.as_ref().map(provost_plan::check::CheckedPlan::record),
            "findings": findings_json(&judged),
            "not_checked": judged.not_checked,
        }));
    }
    let Some(plan) = &judged.plan else {
        let refused = refused(&judged);
        // Why no failure: the object above says it, and stdout holds one object.
        if verb.json {
            refused.at(place).show();
            return Ok(Exit::Failed);
        }
        return Err(refused);
    };
    let playbook = planner.playbook().map(str::to_owned);
    if !verb.json {
        let mut page = Page::new();
        if let Some(checkup) = judged.checkup(&workspace) {
            review::plan(
                &mut page,
                &judged,
                &checkup,
                &workspace,
                playbook.as_deref(),
            );
        }
        output::data(&page.finish());
    }
    if let Some(path) = &verb.output {
        let bundle = Bundle::new(
            goal,
            playbook,
            Value::clone(&plan.plan().value),
            plan.record(),
        );
        save(path, &bundle)?;
        let command = place.command(&format!(
            "provost apply {}",
            crate::workspace_path::quoted(&path.to_string_lossy())
        ));
        let mut page = Page::new();
        page.line(&format!("saved; run it with: {command}"));
        output::note(&page.finish());
    }
    Ok(Exit::Done)
}

/// Asks the planner of a goal for its plan as a run would, and checks it.
pub fn propose(workspace: &Workspace, routed: RoutedGoal) -> Result<CheckedFile, Failure> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| Failure::usage(format!("no planner is available: {error}")))?;
    Ok(runtime.block_on(proposal::propose(workspace, routed, None))?)
}

fn save(path: &std::path::Path, bundle: &Bundle) -> Result<(), Failure> {
    let mut text = serde_json::to_string_pretty(bundle).unwrap_or_default();
    text.push('\n');
    std::fs::write(path, text).map_err(|error| {
        let reason = document::reason(&error);
        Failure::usage(format!("`{}` cannot be written: {reason}", path.display()))
            .hint("name a file in a directory that you may write to")
    })
}
