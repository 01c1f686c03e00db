//! Who asks, and how they signed in.

use axum::Json;
use axum::extract::State;
use provost_plan::policy::RunAction;
use serde_json::{Value, json};

use crate::app::App;
use crate::door::{Login, Viewer};
use crate::may;

/// `GET /v1/me`.
pub(crate) async fn get(State(app): State<App>, viewer: Viewer) -> Json<Value> {
    let ends_ms = match &viewer.login {
        Login::Session { ends_ms, .. } => Some(*ends_ms),
        Login::Token { .. } => None,
    };
    let workspace = app.workspace();
    let may = |action| may::ask_of(workspace.policy(), action, &viewer.principal).is_ok();
    Json(json!({
        "schema": "provost/me/v1",
        "person": viewer.principal.id,
        "kind": viewer.principal.kind,
        "groups": viewer.principal.groups,
        "login": viewer.login_word(),
        "ends_ms": ends_ms,
        "may": { "begin": may(RunAction::Begin), "govern": may(RunAction::Govern) },
        "solo": workspace.is_solo(),
    }))
}
