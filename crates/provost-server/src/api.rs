//! The JSON of `/v1`, for programs.
//!
//! Owns the form of each resource. Judges nothing: what may be done is the machine's word, and what
//! may be seen is `view`'s. INVARIANT: an object says its schema, and a parameter that is not known
//! is refused.

mod evidence;
pub(crate) mod health;
mod inbox;
pub(crate) mod input;
pub(crate) mod logins;
mod me;
mod run;
pub(crate) mod runs;
mod statement;
mod step;
pub(crate) mod wait;
mod workspace;

use axum::http::header;
use axum::response::IntoResponse;

use crate::feed;
use crate::routes::{Route, deletes, posts, puts, reads};

/// Entries of a list, unless more or fewer are asked for.
const LIST_DEFAULT: usize = 50;
/// Most entries of a list.
const LIST_MAX: usize = 200;

/// The document that describes them, for programs that write clients.
const OPENAPI: &str = include_str!("../openapi.json");

/// `GET /openapi.json`.
pub(crate) async fn openapi() -> impl IntoResponse {
    ([(header::CONTENT_TYPE, "application/json")], OPENAPI)
}

/// The routes of `/v1`.
pub(crate) fn routes() -> Vec<Route> {
    vec![
        reads("/v1/me", me::get),
        reads("/v1/inbox", inbox::list),
        reads("/v1/inbox/count", inbox::count),
        reads("/v1/runs", runs::list),
        posts("/v1/runs", runs::begin),
        posts("/v1/checks", runs::check),
        reads("/v1/runs/{run}", run::get),
        reads("/v1/runs/{run}/plan", run::plan),
        reads("/v1/runs/{run}/diff", run::diff),
        reads("/v1/runs/{run}/steps/{step}", step::get),
        reads("/v1/runs/{run}/steps/{step}/{item}", step::item),
        reads("/v1/runs/{run}/trace", run::trace),
        reads("/v1/runs/{run}/why", run::why),
        reads("/v1/runs/{run}/events", run::events),
        reads("/v1/runs/{run}/cards/{digest}", run::card),
        posts("/v1/runs/{run}/statements", statement::post),
        reads("/v1/events", feed::stream),
        reads("/v1/workspace", workspace::get),
        posts("/v1/workspace/reload", workspace::reload),
        reads("/v1/tools", workspace::tools),
        reads("/v1/playbooks", workspace::playbooks),
        reads("/v1/evidence/{digest}", evidence::get),
        reads("/v1/stops", workspace::stops),
        puts("/v1/stops/{scope}/{name}", workspace::stop),
        deletes("/v1/stops/{scope}/{name}", workspace::lift),
        reads("/v1/sessions", logins::sessions),
        deletes("/v1/sessions", logins::end_sessions),
        reads("/v1/tokens", logins::tokens),
        deletes("/v1/tokens/{name}", logins::end_token),
    ]
}
