//! The trace of a run in two columns, and the judgment why it ended as it did.
//!
//! Owns the folding of long waits. INVARIANT: every event has one line, with its number as address.

use askama::Template;
use axum::extract::{Path, State};
use axum::response::Response;
use provost_engine::run::read::trace::TraceLine;
use provost_engine::run::read::why::{Certainty, Guilty, Judgment};
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
        shared.desk.reveals(&shared.engine(), &viewer, &run)?;
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
    /// Plan, execution or neither, in a heading.
    verdict: &'static str,
    /// Who that is, and what it rests on.
    rests_on: String,
    sentence: Seen,
    proof: Vec<ProofView>,
    also: Vec<Seen>,
    candidates: Vec<Seen>,
    would_decide: Vec<Seen>,
}

/// Who a verdict is about, and what it rests on.
fn rests_on(judged: &Judgment) -> String {
    let party = judged.party.map(|party| party.word());
    let certainty = match judged.certainty {
        Certainty::Open => None,
        known => Some(known.word()),
    };
    let words: Vec<&str> = party.into_iter().chain(certainty).collect();
    words.join(", ")
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
        shared.desk.reveals(&shared.engine(), &viewer, &run)?;
        let judged = run.why(&shared.engine())?;
        let proof = judged.proof.iter().map(|line| ProofView {
            seq: line.seq,
            kind: line.kind,
            text: seen(&line.text),
        });
        html(&WhyPage {
            frame: Frame::of(&viewer, "runs").on(&run.state().head.run),
            head: RunHeadView::of(&run, "why"),
            verdict: match judged.guilty {
                Guilty::Nobody => "Nothing went wrong",
                Guilty::Plan => "The plan caused it",
                Guilty::Execution => "The execution caused it",
                Guilty::Neither => "Neither plan nor execution caused it",
                Guilty::Undecided => "The events do not decide it",
            },
            rests_on: rests_on(&judged),
            sentence: seen(&judged.sentence),
            also: judged.also.iter().map(|one| seen(&one.sentence)).collect(),
            candidates: judged
                .candidates
                .iter()
                .map(|one| seen(&one.text))
                .collect(),
            would_decide: judged
                .would_decide
                .iter()
                .map(|args| seen(format!("provost {args}")))
                .collect(),
            proof: proof.collect(),
        })
    });
    drawn.await
}
