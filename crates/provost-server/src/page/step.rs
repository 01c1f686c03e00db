//! The page of a step: its rows drawn and as a table, its attempts, its definition.
//!
//! Owns what of it is shown. INVARIANT: arguments and outputs leave as the run machine shows them:
//! what is secret does not.

use askama::Template;
use axum::extract::{Path, State};
use axum::response::Response;
use provost_engine::run::event::{Event, StepStatus};
use provost_engine::run::read::plot;
use provost_engine::run::read::words::words;
use provost_engine::run::shown;
use provost_engine::run::state::State as RunState;
use provost_plan::catalog::Catalog;
use provost_plan::plan::Step;
use serde_json::Value;

use super::head::RunHeadView;
use super::run::{PlotView, drawn, found};
use super::trace::LineView;
use super::{Frame, Person, html, parts};
use crate::app::App;
use crate::attempts::{self, ShownAttempt, step_of};
use crate::door::Viewer;
use crate::graph::of_run::{does, told};
use crate::markup::{Markup, Seen, seen, shortened};
use crate::problem::Problem;
use crate::view::SeenRun;

/// Most rows of a table, and most characters of one of its cells.
const ROWS_MAX: usize = 100;
const CELL_MAX: usize = 80;

#[derive(Template)]
#[template(path = "step.html")]
struct StepPage {
    frame: Frame,
    head: RunHeadView,
    step: String,
    status: Markup,
    purpose: Seen,
    /// Why values are not shown, if they are not.
    hidden: Option<Seen>,
    facts: Vec<(&'static str, Seen)>,
    values: ValuesView,
    definition: Seen,
}

/// What the calls of a step sent and came to; nothing where it is not shown.
#[derive(Default)]
struct ValuesView {
    plots: Vec<PlotView>,
    attempts: Vec<AttemptView>,
    output: Option<Seen>,
    columns: Vec<Seen>,
    rows: Vec<Vec<Seen>>,
    more_rows: usize,
    lines: Vec<LineView>,
}

struct AttemptView {
    title: String,
    at: Markup,
    came: Seen,
    facts: Vec<(&'static str, Seen)>,
    args: Seen,
}

/// `GET /runs/{run}/steps/{step}`.
pub(crate) async fn show(
    State(app): State<App>,
    Person(viewer): Person,
    Path((id, step)): Path<(String, String)>,
) -> Result<Response, Problem> {
    let answer = app.read(move |shared| {
        let run = match found(shared, &viewer, &id)? {
            Ok(run) => run,
            Err(other) => return Ok(other),
        };
        let state = run.state();
        let plan = state.plan().ok_or_else(|| Problem::not_found("step"))?;
        let (known, _) = plan
            .checked()
            .step(&step)
            .ok_or_else(|| Problem::not_found("step"))?;
        let workspace = shared.workspace();
        let catalog = workspace.catalog();
        let hidden = shared.desk.reveals(&shared.engine(), &viewer, &run).err();
        html(&page(&viewer, (&run, hidden), catalog, known))
    });
    answer.await
}

fn page(
    viewer: &Viewer,
    (run, hidden): (&SeenRun, Option<Problem>),
    catalog: &Catalog,
    step: &Step,
) -> StepPage {
    let state = run.state();
    let id = step.id.value.as_str();
    let known = state.steps.get(id);
    let status = known.map_or(StepStatus::Pending, |known| known.status);
    let description = step.description.as_ref().map(|text| text.value.as_str());
    let shown = hidden.is_none();
    StepPage {
        frame: Frame::of(viewer, "runs").on(&state.head.run),
        head: RunHeadView::of(run, "run"),
        step: id.to_owned(),
        status: parts::of_step(status, Some(&told(status, known))),
        purpose: seen(description.unwrap_or_default()),
        hidden: hidden.map(|problem| seen(problem.detail)),
        facts: facts(state, (catalog, shown), step),
        values: match shown {
            true => values(run, catalog, step),
            false => ValuesView::default(),
        },
        definition: seen(pretty(&step.value)),
    }
}

fn values(run: &SeenRun, catalog: &Catalog, step: &Step) -> ValuesView {
    let state = run.state();
    let id = step.id.value.as_str();
    let plot = plot::of_step(state, catalog, id);
    let plots = plot.iter().map(|plot| drawn(state, id, plot));
    let Table {
        columns,
        rows,
        more,
    } = table(state, catalog, step);
    let output = match rows.is_empty() {
        true => shown::step_output(state, catalog, id).map(|output| seen(pretty(output))),
        false => None,
    };
    let seqs = seqs_of(&run.events, id);
    let trace = run.trace();
    let mut lines: Vec<LineView> = trace
        .planning
        .iter()
        .chain(&trace.execution)
        .filter(|line| seqs.contains(&line.seq))
        .map(LineView::of)
        .collect();
    lines.sort_by_key(|line| line.seq);
    ValuesView {
        plots: plots.collect(),
        attempts: attempts::of_step(&run.events, id)
            .into_iter()
            .map(attempt)
            .collect(),
        output,
        columns,
        rows,
        more_rows: more,
        lines,
    }
}

fn pretty(value: &Value) -> String {
    serde_json::to_string_pretty(value).unwrap_or_default()
}

fn facts(
    state: &RunState,
    (catalog, shown): (&Catalog, bool),
    step: &Step,
) -> Vec<(&'static str, Seen)> {
    let mut facts = vec![("does", seen(does(step)))];
    if let Some(operation) = step.tool().and_then(|tool| catalog.get(&tool.value)) {
        facts.push(("effect", seen(operation.effect.word())));
        facts.push(("tool says", seen(&operation.description)));
    }
    let record = state
        .plan()
        .and_then(|plan| plan.checked().step(&step.id.value));
    if let Some((_, record)) = record {
        let after: Vec<&str> = record.after.iter().map(String::as_str).collect();
        if !after.is_empty() {
            facts.push(("waits for", seen(after.join(", "))));
        }
        if let Some(verdict) = &record.verdict {
            let ids = verdict.policies.join(", ");
            facts.push((
                "policy",
                seen(format!("{}: {ids}", verdict.decision.word())),
            ));
        }
    }
    if let Some(message) = state
        .steps
        .get(&step.id.value)
        .and_then(|known| known.message.as_ref())
        .filter(|message| shown && !message.is_empty())
    {
        facts.push(("came to", seen(message)));
    }
    facts
}

/// The numbers of the events of a step.
fn seqs_of(events: &[(Event, i64)], id: &str) -> Vec<u64> {
    let of_step = |(at, (event, _)): (usize, &(Event, i64))| {
        (step_of(event) == Some(id)).then_some(at as u64 + 1)
    };
    events.iter().enumerate().filter_map(of_step).collect()
}

fn attempt(attempt: ShownAttempt) -> AttemptView {
    let ShownAttempt {
        started,
        began_ms,
        ended,
    } = attempt;
    let mut facts = vec![("calls", seen(&started.operation))];
    if let Some(key) = &started.key {
        facts.push(("key", seen(key)));
    }
    if let Some(approval) = &started.approval {
        facts.push(("approval", seen(approval.to_string())));
    }
    let evidence = ended.as_ref().and_then(|(ended, _)| ended.evidence);
    if let Some(evidence) = evidence {
        facts.push(("evidence", seen(evidence.to_string())));
    }
    let came = match ended {
        Some((ended, _)) => seen(words(&Event::AttemptEnded(ended)).full()),
        None => seen("in flight"),
    };
    AttemptView {
        title: format!("{}, attempt {}", started.slot, started.attempt),
        at: parts::at(began_ms),
        came,
        facts,
        args: seen(pretty(&shown::started_args(&started))),
    }
}

#[derive(Default)]
struct Table {
    columns: Vec<Seen>,
    rows: Vec<Vec<Seen>>,
    more: usize,
}

/// The rows of a step's output as a table; empty if it is none.
fn table(state: &RunState, catalog: &Catalog, step: &Step) -> Table {
    let Some(output) = shown::step_output(state, catalog, &step.id.value) else {
        return Table::default();
    };
    let Some(rows) = plot::rows_of(output) else {
        return Table::default();
    };
    let mut names: Vec<&str> = Vec::new();
    for name in rows.iter().take(ROWS_MAX).flat_map(|row| row.keys()) {
        if !names.contains(&name.as_str()) && names.len() < 12 {
            names.push(name);
        }
    }
    // Why first: people look for the moment or the name before they look at its numbers.
    let over = plot::read(output, None).map(|series| series.over);
    names.sort_by_key(|name| Some(*name) != over.as_deref());
    let cell = |value: Option<&Value>| match value {
        None | Some(Value::Null) => seen("–"),
        Some(Value::String(text)) => seen(shortened(text, CELL_MAX)),
        Some(other) => seen(shortened(&other.to_string(), CELL_MAX)),
    };
    let row = |row: &&serde_json::Map<String, Value>| {
        names.iter().map(|name| cell(row.get(*name))).collect()
    };
    Table {
        rows: rows.iter().take(ROWS_MAX).map(row).collect(),
        more: rows.len().saturating_sub(ROWS_MAX),
        columns: names.iter().map(seen).collect(),
    }
}
