//! The trace of a run in two columns, and the judgment why it ended as it did.
//!
//! Owns the folding of long waits. INVARIANT: every event has one line, with its number as address.

use askama::Template;
use axum::extract::{Path, State};
use axum::response::Response;
use provost_engine::run::read::trace::TraceLine;
use provost_engine::run::read::why::Cause;
use provost_engine::run::read::words::counted;

use super::head::RunHeadView;
use super::run::found;
use super::{Frame, Person, html, parts};
use crate::app::App;
use crate::markup::{Markup, Seen, seen};
use crate::problem::Problem;

/// A line of a trace.
pub(crate) struct LineView {
    pub(crate) seq: u64,
    pub(crate) at: Markup,
    pub(crate) kind: &'static str,
    pub(crate) text: Seen,
}

impl LineView {
    pub(crate) fn of(line: &TraceLine) -> Self {
        Self {
            seq: line.seq,
            at: parts::at(line.at_ms),
            kind: line.kind,
            text: seen(&line.text),
        }
    }
}

#[derive(Template)]
#[template(path = "trace.html")]
struct TracePage {
    frame: Frame,
    head: RunHeadView,
    metrics: String,
    planning: Vec<LineView>,
    execution: Vec<LineView>,
}

/// `GET /runs/{run}/trace`.
pub(crate) async fn show(
    State(app): State<App>,
    Person(viewer): Person,
    Path(id): Path<String>,
) -> Result<Response, Problem> {
    let drawn = app.read(move |shared| {
        let run = match found(shared, &viewer, &id)? {
            Ok(run) => run,
            Err(other) => return Ok(other),
        };
        let trace = run.trace();
        let (planning, execution) = (trace.planning.len(), trace.execution.len());
        html(&TracePage {
            frame: Frame::of(&viewer, "runs").on(&run.state().head.run),
            head: RunHeadView::of(&run, "trace"),
            metrics: format!(
                "{}: {planning} of planning, {execution} of execution",
                counted(planning + execution, "event")
            ),
            planning: trace.planning.iter().map(LineView::of).collect(),
            execution: trace.execution.iter().map(LineView::of).collect(),
        })
    });
    drawn.await
}

#[derive(Template)]
#[template(path = "why.html")]
struct WhyPage {
    frame: Frame,
    head: RunHeadView,
    cause: &'static str,
    sentence: Seen,
    would_decide: Option<Seen>,
    proof: Vec<ProofView>,
}

struct ProofView {
    seq: u64,
    kind: &'static str,
    text: Seen,
}

/// `GET /runs/{run}/why`.
pub(crate) async fn why(
    State(app): State<App>,
    Person(viewer): Person,
    Path(id): Path<String>,
) -> Result<Response, Problem> {
    let drawn = app.read(move |shared| {
        let run = match found(shared, &viewer, &id)? {
            Ok(run) => run,
            Err(other) => return Ok(other),
        };
        let judged = run.why();
        let proof = judged.proof.iter().map(|line| ProofView {
            seq: line.seq,
            kind: line.kind,
            text: seen(&line.text),
        });
        html(&WhyPage {
            frame: Frame::of(&viewer, "runs").on(&run.state().head.run),
            head: RunHeadView::of(&run, "why"),
            cause: match judged.cause {
                Cause::None => "Nothing went wrong",
                Cause::Plan => "The plan caused it",
                Cause::Execution => "The execution caused it",
                Cause::Neither => "Neither plan nor execution caused it",
                Cause::Undecided => "The events do not decide it",
            },
            sentence: seen(&judged.sentence),
            would_decide: judged.would_decide.as_ref().map(seen),
            proof: proof.collect(),
        })
    });
    drawn.await
}
