//! The inbox: what waits for a person, the gravest first; then the last runs.

use askama::Template;
use axum::extract::State;
use axum::response::Response;
use provost_engine::run::state::WaitKind;
use provost_engine::store::{PlacedWait, RunPage, WaitPage};
use provost_plan::policy::RunAction;

use super::runs::{RunRowView, rows};
use super::waits::{self, WaitView};
use super::{Frame, Person, html};
use crate::app::App;
use crate::feed::waiting;
use crate::problem::Problem;

/// Most runs below what waits.
const LAST: u32 = 5;

/// Most entries on one page: more are shown as these are answered.
const WAITS_MAX: u32 = 200;

#[derive(Template)]
#[template(path = "inbox.html")]
struct InboxPage {
    frame: Frame,
    count: u64,
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
        let count = waiting(shared, &viewer)?.counts.all;
        let of = |kind, limit| WaitPage {
            kind,
            limit,
            ..WaitPage::default()
        };
        // Why first: a write in doubt is the gravest of what waits.
        let grave = of(Some(WaitKind::Settlement), WAITS_MAX);
        let mut found = shared.desk.inbox(&shared.engine(), &viewer, grave)?;
        let others = of(None, WAITS_MAX);
        let others = shared.desk.inbox(&shared.engine(), &viewer, others)?;
        let grave = |one: &PlacedWait| one.wait.kind == WaitKind::Settlement;
        found.extend(others.into_iter().filter(|one| !grave(one)));
        found.truncate(WAITS_MAX as usize);
        let waits = found.iter();
        let waits = waits.map(|one| waits::of_row(&one.run, &one.goal, &one.wait));
        let waits = waits.collect();
        let scope = shared
            .desk
            .scope(&shared.engine(), &viewer, RunAction::See)?;
        let last = RunPage {
            principals: scope.principals(),
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
