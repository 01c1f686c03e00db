//! Where a run is begun.
//!
//! Owns the form. What a goal is for is routed as in the terminal. INVARIANT: a goal that an
//! unfinished run has is not begun again unless whoever asks says so.

use askama::Template;
use axum::extract::{RawForm, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Redirect, Response};
use provost_plan::policy::RunAction;

use super::form::FormFields;
use super::waits::nonce;
use super::{Frame, Person, html};
use crate::api::runs::begin_goal;
use crate::app::{App, Shared};
use crate::door::Viewer;
use crate::markup::{Seen, seen};
use crate::may;
use crate::problem::{Problem, ProblemKind};

/// Most sentences of one playbook that are shown.
const SENTENCES_MAX: usize = 3;

#[derive(Template)]
#[template(path = "new.html")]
struct NewPage {
    frame: Frame,
    problem: Option<(Seen, Option<Seen>)>,
    same: Option<String>,
    goal: Seen,
    nonce: String,
    playbooks: Vec<PlaybookView>,
}

struct PlaybookView {
    name: Seen,
    matches: Vec<Seen>,
}

fn page(shared: &Shared, viewer: &Viewer, goal: &str, problem: Option<&Problem>) -> NewPage {
    let workspace = shared.workspace();
    let playbooks = workspace.playbooks().playbooks();
    let same = problem.filter(|problem| problem.kind == ProblemKind::SameGoal);
    let same = same.and_then(|problem| Some(problem.to_json().get("run")?.as_str()?.to_owned()));
    NewPage {
        frame: Frame::of(viewer, "runs"),
        problem: problem.map(|problem| (seen(&problem.detail), problem.hint_text().map(seen))),
        same,
        goal: seen(goal),
        nonce: nonce(),
        playbooks: playbooks
            .map(|playbook| PlaybookView {
                name: seen(playbook.name()),
                matches: playbook.sentences().take(SENTENCES_MAX).map(seen).collect(),
            })
            .collect(),
    }
}

/// `GET /runs/new`.
pub(crate) async fn show(
    State(app): State<App>,
    Person(viewer): Person,
) -> Result<Response, Problem> {
    let workspace = app.workspace();
    let refused = may::ask_of(workspace.policy(), RunAction::Begin, &viewer.principal);
    html(&page(&app, &viewer, "", refused.err().as_ref()))
}

/// `POST /runs`.
pub(crate) async fn begin(
    State(app): State<App>,
    Person(viewer): Person,
    RawForm(body): RawForm,
) -> Result<Response, Problem> {
    let mut fields = FormFields::read(&body)?;
    let goal = fields.take("goal").unwrap_or_default();
    let again = fields.take("again").is_some();
    let key = fields.take("nonce");
    fields.end()?;
    let begun = begin_goal(&app, viewer.clone(), goal.trim().to_owned(), again, key);
    match begun.await {
        Ok(run) => Ok(Redirect::to(&format!("/runs/{run}")).into_response()),
        Err(problem) => {
            let mut answer = html(&page(&app, &viewer, &goal, Some(&problem)))?;
            *answer.status_mut() = StatusCode::UNPROCESSABLE_ENTITY;
            Ok(answer)
        }
    }
}
