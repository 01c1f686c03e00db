//! Who asks, and how they signed in.

use axum::Json;
use axum::extract::State;
use provost_plan::policy::RunAction;
use serde_json::{Value, json};

use crate::app::App;
use crate::door::Viewer;
use crate::may;
use crate::problem::Problem;

/// `GET /v1/me`.
pub(crate) async fn get(State(app): State<App>, viewer: Viewer) -> Result<Json<Value>, Problem> {
    let looked = viewer.clone();
    let ends_ms = app.read(move |shared| shared.login_ends(&looked)).await?;
    let workspace = app.workspace();
    let may = |action| may::ask_of(workspace.policy(), action, &viewer.principal).is_ok();
    Ok(Json(json!({
        "schema": "provost/me/v1",
        "person": viewer.principal.id,
        "kind": viewer.principal.kind,
        "groups": viewer.principal.groups,
        "login": viewer.login_word(),
        "ends_ms": ends_ms,
        "may": { "begin": may(RunAction::Begin), "govern": may(RunAction::Govern) },
        "solo": workspace.is_solo(),
    })))
}
