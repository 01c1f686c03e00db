//! Whether the server is alive, and whether it can do its work.

use axum::Json;
use axum::extract::State;
use serde_json::{Value, json};

use crate::app::App;
use crate::problem::{Problem, ProblemKind};

/// `GET /healthz`: the process answers.
pub(crate) async fn alive() -> Json<Value> {
    Json(json!({ "schema": "provost/health/v1", "alive": true }))
}

/// `GET /readyz`: runs can begin here, and what is said is kept.
pub(crate) async fn ready(State(app): State<App>) -> Result<Json<Value>, Problem> {
    if let Some(failure) = app.engine().store().failure() {
        return Err(Problem::new(ProblemKind::Halting, failure.to_string()));
    }
    if *app.halt.borrow() {
        return Err(Problem::new(ProblemKind::Halting, "the server is ending"));
    }
    Ok(Json(
        json!({ "schema": "provost/health/v1", "ready": true }),
    ))
}
