//! What people say to a run by a form: yes, no, an answer, a settlement, a stop.
//!
//! Owns the way from a form to a statement. Judges nothing: the machine does, and every door says
//! through the same function. INVARIANT: a form's number is the statement's, so that a button that
//! was pressed twice says one thing.

use axum::extract::{Path, RawForm, State};
use axum::response::{IntoResponse, Redirect, Response};
use provost_engine::people::Statement;
use provost_engine::run::call::Slot;
use provost_engine::run::event::Settlement;
use provost_engine::run::read::question;
use provost_engine::run::state::State as RunState;
use provost_plan::digest::Digest;
use serde_json::Value;

use super::Person;
use super::form::FormFields;
use crate::app::App;
use crate::door::Viewer;
use crate::problem::{Problem, ProblemKind};
use crate::statements::{self, SaidAt};

/// `GET /runs/{run}/statements`: whoever loads the answer to a form again looks at the run.
pub(crate) async fn show(Person(_): Person, Path(id): Path<String>) -> Redirect {
    Redirect::to(&format!("/runs/{id}"))
}

/// `POST /runs/{run}/statements`.
pub(crate) async fn post(
    State(app): State<App>,
    Person(viewer): Person,
    Path(id): Path<String>,
    RawForm(body): RawForm,
) -> Result<Response, Problem> {
    let mut fields = FormFields::read(&body)?;
    let nonce = fields.take("nonce");
    let reader = viewer.clone();
    let (run, statement) = app
        .read(move |shared| {
            let run = shared.desk.run(&shared.engine(), &reader, &id)?;
            let statement = read(run.state(), &mut fields)?;
            fields.end()?;
            Ok((run.state().head.run.clone(), statement))
        })
        .await?;
    let card = match &statement {
        Statement::Approve { card, .. } | Statement::Reject { card, .. } => Some(card.to_string()),
        _ => None,
    };
    let back = match &card {
        Some(card) => format!("/runs/{run}/cards/{card}"),
        None => format!("/runs/{run}"),
    };
    let form = Form { statement, nonce };
    match (said(&app, viewer.clone(), run.clone(), form).await, card) {
        (Ok(word), _) => Ok(back_to(&back, word)),
        // Why as taken: a form's number is its own, and the run has what it said.
        (Err(problem), _) if problem.kind == ProblemKind::Replayed => Ok(back_to(&back, "taken")),
        (Err(problem), Some(card)) if came_late(problem.kind) => {
            super::card::closed(&app, viewer, (run, card), problem).await
        }
        (Err(problem), _) => Err(problem),
    }
}

/// Whether what was said would have counted before.
fn came_late(kind: ProblemKind) -> bool {
    matches!(
        kind,
        ProblemKind::NotOpen | ProblemKind::OtherRevision | ProblemKind::Lapsed
    )
}

/// A statement as a form has it.
pub(super) struct Form {
    pub(super) statement: Statement,
    /// The number of the form; one that was pressed twice says one thing.
    pub(super) nonce: Option<String>,
}

/// Says to a run what a form says; gives the word of what became of it.
pub(super) async fn said(
    app: &App,
    viewer: Viewer,
    run: String,
    form: Form,
) -> Result<&'static str, Problem> {
    let mut body = serde_json::to_value(&form.statement).unwrap_or_default();
    if let (Some(map), Some(nonce)) = (body.as_object_mut(), form.nonce) {
        map.insert("nonce".to_owned(), Value::from(nonce));
    }
    let heard = statements::say(app, viewer, run, (SaidAt::Page, body)).await?;
    Ok(if heard.taken { "taken" } else { "posted" })
}

/// Sends the browser on, with the word of what became of a statement.
pub(super) fn back_to(page: &str, word: &str) -> Response {
    Redirect::to(&format!("{page}?said={word}")).into_response()
}

fn read(state: &RunState, fields: &mut FormFields) -> Result<Statement, Problem> {
    let kind = fields.need("kind")?;
    Ok(match kind.as_str() {
        "approve" => {
            let card = digest(&fields.need("card")?)?;
            let known = state.card(&card);
            let named = known.map(|known| super::card::names(&known.card.subject));
            let mut steps = fields.all("steps");
            // Why: all of them by name is all of them, and then the card is approved as a whole.
            if named.is_some_and(|named| named.len() == steps.len()) {
                steps.clear();
            }
            Statement::Approve { card, steps }
        }
        "reject" => Statement::Reject {
            card: digest(&fields.need("card")?)?,
            reason: fields.need("reason")?,
            all: fields.take("all").is_some(),
        },
        "answer" => answer(state, fields)?,
        "settle" => settle(state, fields)?,
        "pause" => Statement::Pause {
            reason: fields.need("reason")?,
        },
        "resume" => Statement::Resume,
        "cancel" => Statement::Cancel {
            reason: Some(fields.need("reason")?),
            undo: fields.take("undo").is_some(),
        },
        other => {
            let detail = format!("`{other}` is nothing that can be said here");
            return Err(Problem::new(ProblemKind::BadRequest, detail));
        }
    })
}

fn digest(text: &str) -> Result<Digest, Problem> {
    text.parse().map_err(|_| {
        let detail = format!("`{text}` is no digest");
        Problem::new(ProblemKind::BadRequest, detail)
    })
}

fn answer(state: &RunState, fields: &mut FormFields) -> Result<Statement, Problem> {
    let question = digest(&fields.need("question")?)?;
    let typed = fields.need("value")?;
    let known = state
        .question(&question)
        .ok_or_else(|| Problem::not_found("question"))?;
    let value = question::read(&known.question, &typed)
        .map_err(|reason| Problem::new(ProblemKind::BadAnswer, reason))?;
    Ok(Statement::Answer { question, value })
}

fn settle(state: &RunState, fields: &mut FormFields) -> Result<Statement, Problem> {
    let named = fields.need("slot")?;
    let mut slots = state.items().map(|(slot, _)| slot);
    let slot: Slot = slots
        .find(|slot| slot.to_string() == named)
        .ok_or_else(|| Problem::not_found("step"))?;
    let attempt = fields.take("attempt");
    let attempt = attempt.map(|attempt| digest(&attempt)).transpose()?;
    let settled = fields.need("settled")?;
    let settled: Settlement = serde_json::from_value(Value::from(settled)).map_err(|_| {
        let detail = "a write happened, did not happen, or is abandoned";
        Problem::new(ProblemKind::BadRequest, detail)
    })?;
    let output = fields.take("output");
    let output = output.map(|text| {
        serde_json::from_str(&text).map_err(|error| {
            let detail = format!("what it gave is no JSON: {error}");
            Problem::new(ProblemKind::BadAnswer, detail)
        })
    });
    let output = output.transpose()?;
    Ok(Statement::Settle {
        slot,
        attempt,
        output: output.filter(|_| settled == Settlement::Happened),
        settled,
        reason: fields.need("reason")?,
    })
}
