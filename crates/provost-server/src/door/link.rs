//! One-time links: `GET /login` shows the button, `POST /login/link` spends the link.
//!
//! Owns spending. INVARIANT: a link's code stands in the fragment of its address, which no request
//! carries, so that whoever only opens or scans it spends nothing.

use axum::extract::State;
use axum::http::{HeaderMap, header};
use axum::response::{IntoResponse, Redirect, Response};
use axum::{Extension, Form};
use serde::Deserialize;

use super::Viewer;
use super::session;
use crate::app::App;
use crate::problem::{Problem, ProblemKind};
use crate::serve::Peer;

/// What the button sends.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct LinkForm {
    code: String,
}

/// `POST /login/link`.
pub(crate) async fn spend(
    State(app): State<App>,
    Extension(peer): Extension<Peer>,
    headers: HeaderMap,
    Form(form): Form<LinkForm>,
) -> Result<Response, Problem> {
    app.logins.take(app.door.address(peer, &headers))?;
    let Some(person) = app.database.spend(form.code.trim())? else {
        app.database.note("", "a link was refused")?;
        return Err(Problem::new(
            ProblemKind::LinkSpent,
            "this link was used, has expired, or never was one",
        )
        .hint("ask for another: `provost invite NAME`, or start `provost serve` again"));
    };
    let cookie = session::begin(&app, &person, None)?;
    Ok(([(header::SET_COOKIE, cookie)], Redirect::to("/")).into_response())
}

/// `POST /logout`.
pub(crate) async fn sign_out(State(app): State<App>, viewer: Viewer) -> Result<Response, Problem> {
    let cookie = session::end(&app, &viewer)?;
    Ok(([(header::SET_COOKIE, cookie)], Redirect::to("/login")).into_response())
}
