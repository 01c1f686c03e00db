//! What a person says to a run, from a program.

use axum::Json;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use serde_json::json;

use super::input::JsonBody;
use crate::app::App;
use crate::door::Viewer;
use crate::problem::Problem;
use crate::statements::{self, Heard, SaidAt};

/// `POST /v1/runs/{run}/statements`.
pub(crate) async fn post(
    State(app): State<App>,
    viewer: Viewer,
    Path(run): Path<String>,
    body: JsonBody,
) -> Result<Response, Problem> {
    let Heard { taken, seq, nonce } =
        statements::say(&app, viewer, run, (SaidAt::Api, body.0)).await?;
    let status = if taken {
        StatusCode::OK
    } else {
        StatusCode::ACCEPTED
    };
    let said = json!({
        "schema": "provost/said/v1", "taken": taken, "seq": seq, "nonce": nonce,
    });
    Ok((status, Json(said)).into_response())
}
