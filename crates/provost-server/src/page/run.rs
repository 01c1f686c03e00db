//! The page of a run: what waits, the graph, the plots, the steps, the answer.
//!
//! Owns what of the state it shows. INVARIANT: a value that is secret leaves as the run machine's
//! readings let it, and no other way.

use std::sync::Arc;

use askama::Template;
use axum::extract::{Path, Query, State};
use axum::response::{IntoResponse, Redirect, Response};
use provost_engine::run::concise;
use provost_engine::run::event::{Proven, RunEnded, RunStatus};
use provost_engine::run::read::plot::{self, scale};
use provost_engine::run::read::words::skip_reason;
use provost_engine::run::state::State as RunState;
use provost_plan::catalog::Catalog;
use provost_plan::plan::Step;
use serde::Deserialize;

use super::head::RunHeadView;
use super::waits::{self, WaitView};
use super::{Frame, Person, html, parts};
use crate::app::{App, Shared};
use crate::door::Viewer;
use crate::graph::of_run::{does, graph, told};
use crate::markup::{Markup, Seen, seen, shortened};
use crate::problem::Problem;
use crate::view::SeenRun;

/// Most plots on the page of a run; a step's own page has its own.
const PLOTS_MAX: usize = 4;

#[derive(Template)]
#[template(path = "run.html")]
struct RunPage {
    frame: Frame,
    run: String,
    goal: Seen,
    head: RunHeadView,
    said: Option<&'static str>,
    waits: Vec<WaitView>,
    /// Why values are not shown, if they are not.
    hidden: Option<Seen>,
    end: Option<EndView>,
    graph: Option<Markup>,
    plots: Vec<PlotView>,
    steps: Vec<StepRowView>,
    over: bool,
    paused: bool,
    nonces: (String, String),
}

struct StepRowView {
    id: String,
    does: String,
    effect: &'static str,
    status: Markup,
    came: Seen,
}

struct EndView {
    message: Option<Seen>,
    answer: Vec<ClaimView>,
    criteria: Vec<(&'static str, &'static str, Seen)>,
    marks_untrusted: bool,
}

struct ClaimView {
    spans: Vec<SpanView>,
    cites: Vec<String>,
    assertion: bool,
}

struct SpanView {
    text: Seen,
    untrusted: bool,
}

/// The rows of a step, drawn.
pub(crate) struct PlotView {
    pub(crate) run: String,
    pub(crate) step: String,
    pub(crate) purpose: Seen,
    pub(crate) svg: Markup,
    pub(crate) marks: Vec<(Seen, String)>,
    pub(crate) left_out: usize,
}

/// What the page is told by the statement that led back to it.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Back {
    pub(crate) said: String,
}

impl Back {
    /// What became of the statement, in words.
    pub(crate) fn words(&self) -> Option<&'static str> {
        match self.said.as_str() {
            "taken" => Some("Taken: the run has what you said."),
            "posted" => Some("Sent: whoever drives the run has not taken it up yet."),
            _ => None,
        }
    }
}

/// A run by any unique beginning of its id, or the way to the page of the whole id.
pub(crate) fn found(
    shared: &Shared,
    viewer: &Viewer,
    id: &str,
) -> Result<Result<Arc<SeenRun>, Response>, Problem> {
    let run = shared.desk.run(&shared.engine(), viewer, id)?;
    let whole = &run.state().head.run;
    if whole == id {
        return Ok(Ok(run));
    }
    let to = format!("/runs/{whole}");
    Ok(Err(Redirect::to(&to).into_response()))
}

/// `GET /runs/{run}`.
pub(crate) async fn show(
    State(app): State<App>,
    Person(viewer): Person,
    Path(id): Path<String>,
    Query(back): Query<Back>,
) -> Result<Response, Problem> {
    let drawn = app.read(move |shared| {
        let run = match found(shared, &viewer, &id)? {
            Ok(run) => run,
            Err(other) => return Ok(other),
        };
        html(&page(shared, &viewer, &run, &back))
    });
    drawn.await
}

fn page(shared: &Shared, viewer: &Viewer, run: &SeenRun, back: &Back) -> RunPage {
    let state = run.state();
    let workspace = shared.workspace();
    let catalog = workspace.catalog();
    let mut waits: Vec<WaitView> = Vec::new();
    for wait in run.waits() {
        let mut view = waits::of_run(state, &wait);
        view.why_not = super::card::why_not(shared, viewer, run, &wait).map(seen);
        if view.why_not.is_some() {
            view.question = None;
            view.settle = None;
        }
        waits.push(view);
    }
    waits.sort_by_key(|wait| !wait.grave);
    let hidden = shared.desk.reveals(&shared.engine(), viewer, run).err();
    let shown = hidden.is_none();
    let ended = state.ending.ended.as_ref().filter(|_| shown);
    let steps = state.plan().map(|plan| plan.checked().plan().steps.iter());
    RunPage {
        frame: Frame::of(viewer, "runs").on(&state.head.run),
        run: state.head.run.clone(),
        goal: seen(shortened(&state.goals.goal.text, 80)),
        head: RunHeadView::of(run, "run"),
        said: back.words(),
        waits,
        hidden: hidden.map(|problem| seen(problem.detail)),
        end: ended.map(|ended| end(state, ended)),
        graph: graph(state, &[]),
        plots: match shown {
            true => plots(state, catalog),
            false => Vec::new(),
        },
        steps: steps
            .into_iter()
            .flatten()
            .map(|step| row(state, (catalog, shown), step))
            .collect(),
        over: state.ending.ended.is_some(),
        paused: state.status() == RunStatus::Paused,
        nonces: (waits::nonce(), waits::nonce()),
    }
}

fn plots(state: &RunState, catalog: &Catalog) -> Vec<PlotView> {
    let steps = state.plan().map(|plan| plan.checked().plan().steps.iter());
    let mut plots: Vec<(bool, PlotView)> = steps
        .into_iter()
        .flatten()
        .filter_map(|step| {
            let id = &step.id.value;
            let plot = plot::of_step(state, catalog, id)?;
            let is_time = matches!(plot.series.axis, plot::Axis::Time(_));
            Some((!is_time, drawn(state, id, &plot)))
        })
        .collect();
    // Why those over time first: they tell what happened, bars tell what is.
    plots.sort_by_key(|(bars, _)| *bars);
    plots.truncate(PLOTS_MAX);
    plots.into_iter().map(|(_, plot)| plot).collect()
}

/// A plot as a page shows it.
pub(crate) fn drawn(state: &RunState, id: &str, plot: &plot::Plot) -> PlotView {
    let step = state.plan().and_then(|plan| plan.checked().step(id));
    let purpose = step.and_then(|(step, _)| step.description.as_ref());
    let mark = |mark: &plot::Mark| (seen(&mark.of), scale::moment(mark.at));
    PlotView {
        run: state.head.run.clone(),
        step: id.to_owned(),
        purpose: seen(
            purpose
                .map(|words| words.value.as_str())
                .unwrap_or_default(),
        ),
        svg: Markup::written(crate::plot::svg(id, plot)),
        marks: plot.marks.iter().map(mark).collect(),
        left_out: plot.series.left_out,
    }
}

fn row(state: &RunState, (catalog, shown): (&Catalog, bool), step: &Step) -> StepRowView {
    let id = &step.id.value;
    let known = state.steps.get(id);
    let status = known.map_or(provost_engine::run::event::StepStatus::Pending, |known| {
        known.status
    });
    let operation = step.tool().and_then(|tool| catalog.get(&tool.value));
    StepRowView {
        id: id.clone(),
        does: does(step).to_owned(),
        effect: operation.map_or("–", |operation| operation.effect.word()),
        status: parts::of_step(status, Some(&told(status, known))),
        came: match shown {
            true => seen(shortened(&came(state, catalog, step), 160)),
            false => Seen::default(),
        },
    }
}

/// What a step came to, in one line.
fn came(state: &RunState, catalog: &Catalog, step: &Step) -> String {
    let id = &step.id.value;
    let Some(known) = state.steps.get(id) else {
        return String::new();
    };
    if let Some(reason) = known.skipped {
        return skip_reason(reason).to_owned();
    }
    if let Some(class) = known.class {
        let message = known.message.as_deref().filter(|text| !text.is_empty());
        let message = message.map(|text| format!(": {text}"));
        return format!("{}{}", class.word(), message.unwrap_or_default());
    }
    // Why not: of a tool that is gone nobody knows whether what it gave back is secret.
    let gone = step
        .tool()
        .is_some_and(|tool| catalog.get(&tool.value).is_none());
    let shown = (!gone)
        .then(|| concise::of_step(state, catalog, id))
        .flatten();
    shown.map(|value| value.to_string()).unwrap_or_default()
}

fn end(state: &RunState, ended: &RunEnded) -> EndView {
    let goal = &state.goals.goal;
    let undone = !state.undone().is_empty();
    let span = |span: &provost_engine::run::event::AnswerSpan| SpanView {
        text: seen(&span.text),
        untrusted: span.untrusted,
    };
    let answer: Vec<ClaimView> = ended
        .answer
        .iter()
        .map(|part| ClaimView {
            spans: part.spans.iter().map(span).collect(),
            cites: part.cites.iter().map(|cite| cite.step.clone()).collect(),
            assertion: part.assertion,
        })
        .collect();
    let marks_untrusted = answer
        .iter()
        .flat_map(|part| &part.spans)
        .any(|span| span.untrusted);
    let criteria = match ended.criteria.is_empty() {
        true => Vec::new(),
        false => goal
            .success
            .iter()
            .map(|one| {
                let (look, word) = proven(ended, &one.id, undone);
                (look, word, seen(&one.text))
            })
            .collect(),
    };
    EndView {
        message: ended.message.as_ref().map(seen),
        answer,
        criteria,
        marks_untrusted,
    }
}

fn proven(ended: &RunEnded, id: &str, undone: bool) -> (&'static str, &'static str) {
    match ended.criteria.get(id) {
        Some(Proven::Held) if undone => ("none", "proven before it was undone"),
        Some(Proven::Held) if ended.proven_by_planner(id).is_some() => {
            ("warn", "proven only by the planner itself")
        }
        Some(Proven::Held) => ("good", "proven"),
        Some(Proven::NotHeld) => ("bad", "not met"),
        Some(Proven::Failed(_)) => ("bad", "not proven"),
        None => ("none", "was not evaluated"),
    }
}
