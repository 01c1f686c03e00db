//! The list of runs.
//!
//! Owns its filters, which stand in the address. INVARIANT: a run that the viewer may not see is
//! not in it.

use askama::Template;
use axum::extract::{Query, State};
use axum::response::Response;
use provost_engine::history;
use provost_engine::run::event::RunStatus;
use provost_engine::run::read::words::run_status;
use provost_engine::store::{RunPage, RunRow};
use provost_plan::policy::RunAction;
use serde::Deserialize;

use super::{Frame, Person, html, parts};
use crate::app::{App, Shared};
use crate::markup::{Markup, Seen, seen};
use crate::problem::Problem;

/// Runs on one page.
const PAGE: u32 = 50;

/// A run in a list.
pub(crate) struct RunRowView {
    pub(crate) id: String,
    pub(crate) goal: Seen,
    pub(crate) status: Markup,
    pub(crate) waits: usize,
    pub(crate) changed: Markup,
}

#[derive(Template)]
#[template(path = "runs.html")]
struct RunsPage {
    frame: Frame,
    q: Seen,
    statuses: Vec<(&'static str, &'static str, bool)>,
    last: Vec<RunRowView>,
    after: Option<String>,
}

/// What of the list is wanted.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Wanted {
    q: String,
    status: String,
    after: Option<i64>,
}

/// `GET /runs`.
pub(crate) async fn show(
    State(app): State<App>,
    Person(viewer): Person,
    Query(wanted): Query<Wanted>,
) -> Result<Response, Problem> {
    let frame = Frame::of(&viewer, "runs");
    let page = app.read(move |shared| {
        let status = RunStatus::of(&wanted.status);
        let scope = shared
            .desk
            .scope(&shared.engine(), &viewer, RunAction::See)?;
        let page = RunPage {
            before: wanted.after,
            statuses: status
                .iter()
                .map(|status| status.word().to_owned())
                .collect(),
            goal: (!wanted.q.is_empty()).then(|| wanted.q.clone()),
            principals: scope.principals(),
            // Why one more: it tells whether there is another page.
            limit: PAGE + 1,
            ..RunPage::default()
        };
        let mut found = shared.desk.runs_page(&page)?;
        let more = found.len() > PAGE as usize;
        found.truncate(PAGE as usize);
        let oldest = found.last().map(|(n, _)| *n).filter(|_| more);
        let last = rows(shared, found.into_iter().map(|(_, row)| row))?;
        let statuses = RunStatus::ALL.into_iter();
        let statuses = statuses.map(|one| (one.word(), run_status(one), Some(one) == status));
        let after = oldest.map(|n| {
            let q = encoded(&wanted.q);
            let word = status.map_or("", RunStatus::word);
            format!("/runs?q={q}&status={word}&after={n}")
        });
        Ok(RunsPage {
            frame,
            q: seen(&wanted.q),
            statuses: statuses.collect(),
            last,
            after,
        })
    });
    html(&page.await?)
}

/// A text as a part of an address.
fn encoded(text: &str) -> String {
    let of = |byte: u8| match byte {
        b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' | b'.' => {
            char::from(byte).to_string()
        }
        byte => format!("%{byte:02x}"),
    };
    text.bytes().map(of).collect()
}

/// Runs as rows of a list.
pub(crate) fn rows(
    shared: &Shared,
    runs: impl Iterator<Item = RunRow>,
) -> Result<Vec<RunRowView>, Problem> {
    let runs: Vec<RunRow> = runs.collect();
    let ids = runs.iter().map(|row| row.id.as_str());
    let waits = history::waits_of(shared.desk.store()?, ids)?;
    let rows = runs.into_iter().map(|row| RunRowView {
        goal: seen(&row.goal),
        status: parts::of_word(&row.status),
        waits: waits.get(&row.id).map_or(0, Vec::len),
        changed: parts::ago(row.updated_at_ms),
        id: row.id,
    });
    Ok(rows.collect())
}
