//! Who asks, and how they signed in.

use axum::Json;
use axum::extract::State;
use serde_json::{Value, json};

use crate::app::App;
use crate::door::{Login, Viewer};

/// `GET /v1/me`.
pub(crate) async fn get(State(app): State<App>, viewer: Viewer) -> Json<Value> {
    let ends_ms = match &viewer.login {
        Login::Session { ends_ms, .. } => Some(*ends_ms),
        Login::Token { .. } => None,
    };
    Json(json!({
        "schema": "provost/me/v1",
        "person": viewer.principal.id,
        "kind": viewer.principal.kind,
        "groups": viewer.principal.groups,
        "login": viewer.login_word(),
        "ends_ms": ends_ms,
        "solo": app.engine.workspace().is_solo(),
    }))
}
