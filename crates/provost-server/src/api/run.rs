//! One run: its state, plan, trace, cause, events and cards.
//!
//! Owns the form of each view; the content is the engine's and the terminal's. INVARIANT: values
//! leave through `shown` alone, and only to whom policy lets them be revealed: never to an agent.

use std::sync::Arc;

use axum::Json;
use axum::extract::{Path, State};
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use provost_engine::clock::now_ms;
use provost_engine::people::CardFile;
use provost_engine::run::card::CardSubject;
use provost_engine::run::shown;
use provost_engine::run::state::{CardState, State as RunState, WaitKind};
use provost_plan::digest::Digest;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::input::Parameters;
use super::{LIST_DEFAULT, LIST_MAX, wait};
use crate::app::{App, Shared};
use crate::door::Viewer;
use crate::problem::{Problem, ProblemKind};
use crate::view::SeenRun;

/// `GET /v1/runs/{run}`.
pub(crate) async fn get(
    State(app): State<App>,
    viewer: Viewer,
    Path(run): Path<String>,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    let (etag, value) = app
        .read(move |shared| {
            let run = shared.desk.run(&shared.engine(), &viewer, &run)?;
            Ok((run.etag(), of_run(shared, &viewer, &run)))
        })
        .await?;
    if headers
        .get(header::IF_NONE_MATCH)
        .is_some_and(|known| known.as_bytes() == etag.as_bytes())
    {
        return Ok(StatusCode::NOT_MODIFIED.into_response());
    }
    let mut response = Json(value).into_response();
    if let Ok(etag) = HeaderValue::from_str(&etag) {
        response.headers_mut().insert(header::ETAG, etag);
    }
    Ok(response)
}

fn of_run(shared: &Shared, viewer: &Viewer, run: &SeenRun) -> Value {
    let state = run.state();
    let now = now_ms();
    let waits = run.waits();
    let waits = waits.map(|one| {
        let may = wait::may(shared, viewer, run, &one);
        wait::to_json(&state.head.run, &one, may, now)
    });
    let mut value = match shared.desk.reveals(&shared.engine(), viewer, run) {
        Ok(()) => (shared.lent.run)(state),
        Err(_) => statuses(state),
    };
    if let Value::Object(map) = &mut value {
        map.remove("waiting_for");
        let mut put = |name: &str, value: Value| map.insert(name.to_owned(), value);
        put("schema", json!("provost/run/v2"));
        put("waits", waits.collect());
        put("seq", json!(run.seq()));
        put("requester", json!(state.head.principal.id));
        put("planner", json!(state.route.planner.author()));
        put("created_ms", json!(state.head.created_at));
        let found = run.contradiction().map(ToString::to_string);
        put("contradiction", json!(found));
    }
    value
}

/// What is seen of a run whose values are not revealed: no value, no text of a tool.
fn statuses(state: &RunState) -> Value {
    let steps = state.steps.iter();
    let steps: Map<String, Value> = steps
        .map(|(id, step)| (id.clone(), json!({ "status": step.status.word() })))
        .collect();
    json!({
        "id": state.head.run,
        "goal": state.goals.goal.text,
        "status": state.status().word(),
        "revision": state.in_force.revision,
        "steps": steps,
    })
}

/// The parameters of a plan.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct PlanQuery {
    /// The number of a revision; the one in force if it is left out.
    revision: Option<u32>,
}

/// `GET /v1/runs/{run}/plan`.
pub(crate) async fn plan(
    State(app): State<App>,
    viewer: Viewer,
    Path(run): Path<String>,
    Parameters(asked): Parameters<PlanQuery>,
) -> Result<Json<Value>, Problem> {
    let value = app.read(move |shared| {
        let run = shared.desk.run(&shared.engine(), &viewer, &run)?;
        let in_force = run.state().in_force.revision;
        let (document, record) = match asked.revision.filter(|number| *number != in_force) {
            Some(number) => {
                let found = run.revision(number);
                let (document, record) = found.ok_or_else(|| Problem::not_found("revision"))?;
                (json!(document), json!(record))
            }
            None => {
                let plan = run
                    .state()
                    .plan()
                    .ok_or_else(|| Problem::not_found("plan"))?;
                let checked = plan.checked();
                (json!(checked.plan().value), json!(checked.record()))
            }
        };
        Ok(json!({
            "schema": "provost/run-plan/v1",
            "run": run.state().head.run,
            "revision": asked.revision.unwrap_or(in_force),
            "plan": document,
            "record": record,
        }))
    });
    Ok(Json(value.await?))
}

/// Which revisions are compared.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct DiffQuery {
    from: u32,
    to: u32,
}

/// `GET /v1/runs/{run}/diff`.
pub(crate) async fn diff(
    State(app): State<App>,
    viewer: Viewer,
    Path(run): Path<String>,
    Parameters(DiffQuery { from, to }): Parameters<DiffQuery>,
) -> Result<Json<Value>, Problem> {
    viewer.speaks()?;
    let value = app.read(move |shared| {
        let run = shared.desk.run(&shared.engine(), &viewer, &run)?;
        for number in [from, to] {
            if run.revision(number).is_none() {
                return Err(Problem::not_found("revision"));
            }
        }
        let failed = |why: String| Problem::new(ProblemKind::Failed, why);
        (shared.lent.diff)(&shared.workspace(), &run, [from, to]).map_err(failed)
    });
    Ok(Json(value.await?))
}

/// `GET /v1/runs/{run}/trace`.
pub(crate) async fn trace(
    State(app): State<App>,
    viewer: Viewer,
    Path(run): Path<String>,
) -> Result<Json<Value>, Problem> {
    let value = app.read(move |shared| {
        let run = revealed(shared, &viewer, &run)?;
        let traced = run.trace();
        Ok(json!({
            "schema": "provost/trace/v1",
            "run": run.state().head.run,
            "status": run.state().status().word(),
            "contradiction": run.contradiction().map(ToString::to_string),
            "metrics": traced.metrics,
            "planning": traced.planning,
            "execution": traced.execution,
        }))
    });
    Ok(Json(value.await?))
}

/// `GET /v1/runs/{run}/why`.
pub(crate) async fn why(
    State(app): State<App>,
    viewer: Viewer,
    Path(run): Path<String>,
) -> Result<Json<Value>, Problem> {
    let value = app.read(move |shared| {
        let run = revealed(shared, &viewer, &run)?;
        Ok(run.why(&shared.engine())?.document(run.state()))
    });
    Ok(Json(value.await?))
}

/// The parameters of a list of events.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct AskedEvents {
    #[serde(default)]
    after: usize,
    limit: Option<usize>,
}

/// `GET /v1/runs/{run}/events`.
pub(crate) async fn events(
    State(app): State<App>,
    viewer: Viewer,
    Path(run): Path<String>,
    Parameters(asked): Parameters<AskedEvents>,
) -> Result<Json<Value>, Problem> {
    let limit = asked.limit.unwrap_or(LIST_DEFAULT).clamp(1, LIST_MAX);
    let value = app.read(move |shared| {
        let run = revealed(shared, &viewer, &run)?;
        let of = run.events.iter().enumerate().skip(asked.after).take(limit);
        let events: Vec<Value> = of
            .map(|(at, (event, at_ms))| {
                let (kind, version, payload) = shown::stored(event);
                json!({
                    "seq": at + 1, "at_ms": at_ms, "kind": kind, "version": version,
                    "payload": payload,
                })
            })
            .collect();
        let next = asked.after + events.len();
        let after = (next < run.events.len()).then(|| next.to_string());
        Ok(json!({
            "schema": "provost/run-events/v1",
            "run": run.state().head.run,
            "events": events,
            "after": after,
        }))
    });
    Ok(Json(value.await?))
}

/// `GET /v1/runs/{run}/cards/{digest}`.
pub(crate) async fn card(
    State(app): State<App>,
    viewer: Viewer,
    Path((run, digest)): Path<(String, String)>,
) -> Result<Json<Value>, Problem> {
    // Why before: who decides is shown what they decide on, and an agent decides nothing.
    viewer.speaks()?;
    let value = app.read(move |shared| {
        let run = shared.desk.run(&shared.engine(), &viewer, &run)?;
        let found = run
            .card(&digest)
            .ok_or_else(|| Problem::not_found("card"))?;
        of_card(shared, &viewer, &run, found)
    });
    Ok(Json(value.await?))
}

fn of_card(
    shared: &Shared,
    viewer: &Viewer,
    run: &SeenRun,
    (digest, known): (&Digest, &CardState),
) -> Result<Value, Problem> {
    if !known.open
        && known.approved_by.is_empty()
        && let Some(stands) = in_its_place(run.state(), known)
    {
        let problem = Problem::new(ProblemKind::Superseded, "this card was superseded");
        return Err(problem
            .of_run(run.state().head.run.clone())
            .with("stands", json!(stands.to_string())));
    }
    let text = (shared.lent.card)(digest, &known.card);
    let file = CardFile::new(shared.engine().inbox().store(), known.card.clone(), text);
    let failed = |error: serde_json::Error| Problem::new(ProblemKind::Failed, error.to_string());
    let mut value = serde_json::to_value(&file).map_err(failed)?;
    let of_card = |kind, of: Option<Digest>| kind == WaitKind::Approval && of == Some(*digest);
    let mut waits = run.waits();
    let may = match waits.find(|one| of_card(one.kind, one.digest)) {
        Some(wait) => wait::may(shared, viewer, run, &wait),
        None => Err(Problem::new(ProblemKind::NotOpen, "this card is closed")),
    };
    if let Value::Object(map) = &mut value {
        let mut put = |name: &str, value: Value| map.insert(name.to_owned(), value);
        put("open", json!(known.open));
        put("approved_by", json!(known.approved_by));
        put("may", json!(may.is_ok()));
        put("why_not", json!(may.err().map(|problem| problem.detail)));
    }
    Ok(value)
}

/// The open card that asks about the same.
fn in_its_place(state: &RunState, known: &CardState) -> Option<Digest> {
    let mut open = state.open_cards();
    let same = |card: &provost_engine::run::card::Card| match (&card.subject, &known.card.subject) {
        (CardSubject::Step { step, .. }, CardSubject::Step { step: of, .. }) => step == of,
        (CardSubject::Plan { .. }, CardSubject::Plan { .. }) => true,
        _ => false,
    };
    open.find(|(_, card)| same(card)).map(|(digest, _)| *digest)
}

/// A run whose values a viewer may be shown.
pub(super) fn revealed(
    shared: &Shared,
    viewer: &Viewer,
    run: &str,
) -> Result<Arc<SeenRun>, Problem> {
    let run = shared.desk.run(&shared.engine(), viewer, run)?;
    shared.desk.reveals(&shared.engine(), viewer, &run)?;
    Ok(run)
}
