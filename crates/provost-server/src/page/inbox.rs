//! The inbox: what waits for a person.

use askama::Template;
use axum::extract::State;
use axum::response::Response;

use super::{Frame, html};
use crate::app::App;
use crate::door::Viewer;
use crate::problem::Problem;
use crate::view::WaitingRun;

#[derive(Template)]
#[template(path = "inbox.html")]
struct InboxPage {
    frame: Frame,
    runs: Vec<WaitingRun>,
}

/// `GET /`.
pub(crate) async fn show(State(app): State<App>, viewer: Viewer) -> Result<Response, Problem> {
    let frame = Frame::of(&viewer, "inbox");
    let runs = app.read(move |shared| shared.desk.inbox(&viewer)).await?;
    html(&InboxPage { frame, runs })
}
