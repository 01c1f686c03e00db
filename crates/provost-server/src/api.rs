//! The JSON of `/v1`, for programs.
//!
//! Owns the form of each resource. Judges nothing: what may be done is the machine's word, and what
//! may be seen is `view`'s. INVARIANT: an object says its schema, and a parameter that is not known
//! is refused.

pub(crate) mod health;
mod inbox;
pub(crate) mod input;
mod me;
mod run;
pub(crate) mod runs;
mod statement;
mod wait;
mod workspace;

use axum::http::header;
use axum::response::IntoResponse;
use axum::routing::{get, put};

use crate::feed;
use crate::routes::{Route, deletes, posts, reads, signed_in};

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
        reads("/v1/runs/{run}/steps/{step}", run::step),
        reads("/v1/runs/{run}/trace", run::trace),
        reads("/v1/runs/{run}/why", run::why),
        reads("/v1/runs/{run}/events", run::events),
        reads("/v1/runs/{run}/cards/{digest}", run::card),
        posts("/v1/runs/{run}/statements", statement::post),
        reads("/v1/events", feed::stream),
        reads("/v1/workspace", workspace::get),
        reads("/v1/tools", workspace::tools),
        reads("/v1/stops", workspace::stops),
        signed_in("PUT", "/v1/stops/{scope}/{name}", put(workspace::stop)),
        deletes("/v1/stops/{scope}/{name}", workspace::lift),
        signed_in("GET", "/v1/sessions", get(workspace::sessions)),
        deletes("/v1/sessions", workspace::end_sessions),
    ]
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests")]

    use std::collections::BTreeSet;

    use serde_json::Value;

    use super::OPENAPI;
    use crate::routes::{Route, is_page, table};

    /// What the document describes, as the table of routes would have it.
    fn described(document: &str) -> BTreeSet<(String, String, bool)> {
        let document: Value = serde_json::from_str(document).unwrap();
        let paths = document.get("paths").and_then(Value::as_object).unwrap();
        let operations = paths.iter().flat_map(|(path, item)| {
            let methods = item.as_object().unwrap().iter();
            methods.map(move |(method, operation)| {
                let open = operation.get("security").is_some();
                (method.to_uppercase(), path.clone(), open)
            })
        });
        operations.collect()
    }

    fn routed() -> BTreeSet<(String, String, bool)> {
        let of_programs = |route: &Route| !is_page(route.path);
        let routes = table().into_iter().filter(of_programs);
        let row = |route: Route| {
            let open = route.access == crate::routes::Access::Open;
            (route.method.to_owned(), route.path.to_owned(), open)
        };
        routes.map(row).collect()
    }

    #[test]
    fn the_document_describes_every_route_and_no_other() {
        assert_eq!(described(OPENAPI), routed());
        // The control: a route that is left out of the document shows.
        let without = OPENAPI.replace("\"/v1/me\"", "\"/v1/you\"");
        assert_ne!(described(&without), routed());
    }
}
