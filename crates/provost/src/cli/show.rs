//! `show`: a plan for a reviewer, or a run and what it came to.

use std::path::{Path, PathBuf};

use clap::Args;
use provost_engine::history::History;
use provost_engine::run::read::plot;
use provost_engine::run::state::State;
use provost_engine::workspace::Workspace;
use provost_plan::catalog::Catalog;
use provost_plan::reach::{self, CheckedUnder, ReviewKind, StepReview};
use serde_json::json;

use super::check::{findings_json, judge, refused};
use super::diff::worst_case;
use super::target::Target;
use super::undriven::{Drivers, NO_DRIVER};
use super::validity;
use crate::document::Document;
use crate::failure::{Exit, Failure};
use crate::output;
use crate::screen::page::{Page, TextStyle};
use crate::screen::words::{moment, run_look, run_status};
use crate::screen::write_summary::WriteSummary;
use crate::screen::{plot as picture, review, run};
use crate::workspace_path::WorkspacePath;

pub mod statements;
mod step;

/// Arguments of `show`.
#[derive(Debug, Args)]
pub struct ShowArgs {
    /// plan, saved plan, playbook or run id
    #[arg(value_name = "FILE|RUN")]
    what: String,
    /// step of the run, in detail
    step: Option<String>,
    /// draw the rows of a step, or of all: a line over time, bars over names
    #[arg(long, conflicts_with = "json")]
    plot: bool,
    /// print one JSON object
    #[arg(long)]
    json: bool,
}

/// Does it.
pub fn run(verb: &ShowArgs, place: &WorkspacePath) -> Result<Exit, Failure> {
    let path = PathBuf::from(&verb.what);
    let is_file = path.exists() || !looks_like_run(&verb.what);
    if is_file && verb.plot {
        return Err(Failure::usage(
            "`--plot` draws steps of a run, and this is a file",
        ));
    }
    if is_file && let Some(step) = &verb.step {
        let reason = format!("`{step}` is a step of a run, and `{}` is a file", verb.what);
        return Err(Failure::usage(reason).hint("`provost runs` lists runs"));
    }
    if is_file {
        return file(verb, &path, place);
    }
    let target: Target = verb.what.parse().unwrap_or_else(|never| match never {});
    let store = place.journal()?;
    let history = target.history(&store)?;
    // Why only if it can be had: a run is shown whatever is wrong with the workspace.
    let workspace = place.unlocked();
    if let Err(failure) = &workspace {
        let mut page = Page::new();
        page.put(TextStyle::Warn, "from the journal alone")
            .line(&format!(
                ": {}; results of steps are hidden, because it is unknown which are secret",
                failure.message()
            ));
        output::note(&page.finish());
    }
    let workspace = workspace.as_ref().ok();
    let found = validity::contradiction(workspace, &store, &history);
    let state = &history.state;
    let catalog = workspace.map(|workspace| &**workspace.catalog());
    if verb.plot {
        return draw(state, catalog, verb.step.as_deref());
    }
    if let Some(step) = &verb.step {
        step::run(&history, workspace, step, verb.json)?;
        return Ok(Exit::Done);
    }
    if verb.json {
        let mut value = run::to_json(state, place);
        let aftermath = WriteSummary::of(state, catalog, place);
        if let (Some(map), Some(aftermath)) = (value.as_object_mut(), aftermath) {
            map.insert("writes".to_owned(), aftermath.to_json());
        }
        if let Some(map) = value.as_object_mut() {
            let left = workspace.map(|workspace| to_come(state, workspace));
            map.insert("statements".to_owned(), statements::to_json(&history));
            map.insert("review".to_owned(), json!(left.unwrap_or_default()));
            map.insert(
                "contradiction".to_owned(),
                validity::to_json(found.as_deref()),
            );
        }
        output::json(&value);
        return Ok(Exit::Done);
    }
    let mut page = Page::new();
    validity::mark(&mut page, found.as_deref());
    let undriven = Drivers::of(place)?.lacks(&store.run(&state.head.run)?);
    page.page(of_run(&history, workspace, undriven, place));
    output::data(&page.finish());
    Ok(Exit::Done)
}

/// Draws the rows of a step, or of all steps that have some that can be drawn.
fn draw(state: &State, catalog: Option<&Catalog>, step: Option<&str>) -> Result<Exit, Failure> {
    let Some(catalog) = catalog else {
        let reason = "nothing is drawn: it is unknown which results are secret";
        return Err(Failure::usage(reason).hint("mend the workspace, then draw"));
    };
    if let Some(step) = step
        && !state.steps.contains_key(step)
    {
        let known: Vec<&str> = state.steps.keys().map(String::as_str).collect();
        return Err(Failure::usage(format!("the run has no step `{step}`"))
            .hint(format!("its steps: {}", known.join(", "))));
    }
    let ids = state.steps.keys();
    let ids = ids.filter(|id| step.is_none_or(|step| step == *id));
    let mut page = Page::new();
    for id in ids {
        if let Some(plot) = plot::of_step(state, catalog, id) {
            if !page.is_empty() {
                page.end();
            }
            page.page(picture::page(id, &plot, output::width()));
        }
    }
    if page.is_empty() {
        let what = step.map_or("no step".to_owned(), |step| format!("step `{step}`"));
        let reason = match step {
            Some(_) => format!("{what} has no rows of numbers over time or over names"),
            None => format!("{what} has rows of numbers over time or over names"),
        };
        return Err(
            Failure::usage(reason).hint("what is secret, and what has not succeeded, is not drawn")
        );
    }
    output::data(&page.finish());
    Ok(Exit::Done)
}

/// Whether a word may be the beginning of a run's id: lower-case base32.
fn looks_like_run(word: &str) -> bool {
    let id = word.split('@').next().unwrap_or_default();
    let base32 = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit();
    !id.is_empty() && id.len() <= 12 && id.chars().all(base32)
}

fn file(verb: &ShowArgs, path: &Path, place: &WorkspacePath) -> Result<Exit, Failure> {
    let document = Document::read(path)?;
    let workspace = place.workspace()?;
    let (playbook, saved) = match &document {
        Document::Bundle(bundle, _) => (bundle.playbook.clone(), Some(bundle.clone())),
        Document::Plan(_) | Document::Playbook(_) => (None, None),
    };
    let judged = judge(&workspace, document);
    let Some(checkup) = judged.checkup(&workspace) else {
        return Err(refused(&judged));
    };
    let checked = checkup.plan;
    let moved = saved
        .map(|bundle| bundle.moved(checked.record()))
        .unwrap_or_default();
    if verb.json {
        output::json(&json!({
            "schema": "provost/shown/v1",
            "goal": judged.goal,
            "plan": checked.plan().value,
            "record": checked.record(),
            "changed": moved,
            "findings": findings_json(&judged),
            "not_checked": judged.not_checked,
            "reach": reach::to_json(&checkup),
            "review": checkup.reviews(),
        }));
        return Ok(Exit::Done);
    }
    let mut page = Page::new();
    if !moved.is_empty() {
        page.bad("this saved plan is stale: ")
            .line(&format!("changed: {}", moved.join(", ")));
    }
    review::plan(
        &mut page,
        &judged,
        &checkup,
        &workspace,
        playbook.as_deref(),
    );
    output::data(&page.finish());
    Ok(Exit::Done)
}

/// The steps of a run that change something and have not ended, as a reviewer sees them.
fn to_come(state: &State, workspace: &Workspace) -> Vec<StepReview> {
    let plan = state.in_force.plan.as_ref();
    let Some(approved) = plan.filter(|_| state.ending.ended.is_none()) else {
        return Vec::new();
    };
    let plan = approved.checked();
    let worst = worst_case(workspace, state, plan.plan().clone());
    let checkup = CheckedUnder {
        plan,
        catalog: workspace.catalog(),
        goal: &state.goals.goal,
        worst: &worst,
    };
    let mut reviews = checkup.reviews();
    let is_left = |id: &str| {
        let step = state.steps.get(id);
        step.is_some_and(|step| !step.status.is_final())
    };
    reviews.retain(|review| review.kind == ReviewKind::Write && is_left(&review.id));
    reviews
}

fn of_run(
    history: &History,
    workspace: Option<&Workspace>,
    undriven: bool,
    place: &WorkspacePath,
) -> Page {
    let state = &history.state;
    let catalog = workspace.map(|workspace| &**workspace.catalog());
    let mut page = Page::new();
    let status = state.status();
    page.strong(&format!("run {}", state.head.run)).text(": ");
    page.put(run_look(status), run_status(status)).end();
    page.field("goal", &state.goals.goal.text);
    page.field(
        "asked",
        &format!(
            "by {} at {}",
            state.head.principal.id,
            moment(state.head.created_at)
        ),
    );
    if state.ending.ended.is_some() {
        page.field("ended", &format!("at {}", moment(state.spend.last_at)));
    }
    page.field("plan", &format!("revision {}", state.in_force.revision));
    if state.head.solo {
        page.field("solo", "the requester may also approve");
    }
    let aftermath = WriteSummary::of(state, catalog, place);
    if let Some(aftermath) = &aftermath {
        page.end().page(run::why_not(state));
        page.page(aftermath.page());
    }
    if state.in_force.plan.is_some() {
        page.end();
        run::steps(&mut page, state, catalog);
        if let Some(catalog) = catalog {
            run::observed(&mut page, state, catalog);
        }
        run::created(&mut page, state);
    }
    page.page(statements::page(history));
    // Why not of a run that stopped: its writes stand above, by what became of them.
    let going = workspace.filter(|_| aftermath.is_none());
    let left = going.map(|workspace| to_come(state, workspace));
    if let Some(left) = left.filter(|left| !left.is_empty()) {
        page.end().strong("still to come").end();
        review::steps(&mut page, &left, output::width());
    }
    if aftermath.is_none() || state.ending.ended.is_some() {
        page.end().page(run::end(state, place));
    }
    let goes_on = state.ending.ended.is_none() && aftermath.is_none() && !status_waits(state);
    if goes_on {
        if undriven {
            page.put(TextStyle::Warn, NO_DRIVER).end();
        }
        let command = place.command(&format!("provost resume {}", state.head.run));
        page.faint("go on with: ").line(&command);
    }
    page
}

fn status_waits(state: &State) -> bool {
    state.open_cards().next().is_some()
        || state.open_questions().next().is_some()
        || state.doubts().next().is_some()
}
