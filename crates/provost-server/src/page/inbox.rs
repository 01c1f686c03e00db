//! The inbox: what waits for a person, the gravest first; then the last runs.

use askama::Template;
use axum::extract::State;
use axum::response::Response;
use provost_engine::store::RunPage;

use super::runs::{RunRowView, rows};
use super::waits::{self, WaitView};
use super::{Frame, Person, html};
use crate::app::App;
use crate::problem::Problem;

/// Most runs below what waits.
const LAST: u32 = 5;

/// Most entries on one page: more are shown as these are answered.
const WAITS_MAX: usize = 200;

#[derive(Template)]
#[template(path = "inbox.html")]
struct InboxPage {
    frame: Frame,
    count: usize,
    waits: Vec<WaitView>,
    last: Vec<RunRowView>,
}

/// `GET /`.
pub(crate) async fn show(
    State(app): State<App>,
    Person(viewer): Person,
) -> Result<Response, Problem> {
    let frame = Frame::of(&viewer, "inbox");
    let page = app.read(move |shared| {
        let runs = shared.desk.inbox(&viewer)?;
        let mut waits: Vec<WaitView> = runs
            .iter()
            .flat_map(|run| {
                let of = |wait| waits::of_row(&run.row.id, &run.row.goal, wait);
                run.waits.iter().map(of)
            })
            .collect();
        waits.sort_by_key(|wait| !wait.grave);
        let count = waits.len();
        waits.truncate(WAITS_MAX);
        let last = RunPage {
            principal: (!viewer.sees_all()).then(|| viewer.principal.clone()),
            limit: LAST,
            ..RunPage::default()
        };
        let last = shared.desk.store()?.runs_page(&last)?;
        let last = rows(shared, last.into_iter().map(|(_, row)| row))?;
        Ok(InboxPage {
            frame,
            count,
            waits,
            last,
        })
    });
    html(&page.await?)
}
