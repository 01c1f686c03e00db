//! Pages: what people see in a browser.
//!
//! Owns how a page is made: a template of `templates/`, filled from `view`. Judges nothing, and
//! draws no card but by what the front end lends. INVARIANT: every text in a page is escaped by its
//! template; nothing is inlined that a browser would run.

use askama::Template;
use axum::http::StatusCode;
use axum::response::{Html, IntoResponse, Redirect, Response};

use crate::assets;
use crate::door::Viewer;
use crate::problem::{Problem, ProblemKind};
use crate::routes::{Route, reads};

mod inbox;
pub(crate) mod login;

/// The routes of pages.
pub(crate) fn routes() -> Vec<Route> {
    vec![reads("/", inbox::show)]
}

/// What every page shows around its own content.
pub(crate) struct Frame {
    /// The address of the style.
    pub(crate) style: String,
    /// The address of the script.
    pub(crate) script: String,
    /// Who is signed in; empty if nobody is.
    pub(crate) person: String,
    /// Which entry of the head is current.
    pub(crate) place: &'static str,
}

impl Frame {
    /// The frame of a page for who is signed in.
    pub(crate) fn of(viewer: &Viewer, place: &'static str) -> Self {
        Self {
            person: viewer.principal.id.clone(),
            ..Self::open(place)
        }
    }

    /// The frame of a page for everybody.
    pub(crate) fn open(place: &'static str) -> Self {
        Self {
            style: assets::address("page.css"),
            script: assets::address("page.js"),
            person: String::new(),
            place,
        }
    }
}

/// A template as an answer.
pub(crate) fn html(template: &impl Template) -> Result<Response, Problem> {
    let text = template.render().map_err(|error| {
        let detail = format!("the page cannot be drawn: {error}");
        Problem::new(ProblemKind::Failed, detail)
    })?;
    Ok(Html(text).into_response())
}

/// The page of a problem.
#[derive(Template)]
#[template(path = "problem.html")]
struct ProblemPage {
    frame: Frame,
    title: &'static str,
    detail: String,
    hint: Option<String>,
}

/// A problem of a page as a page with the same words; nobody signed in is sent to sign in.
pub(crate) fn instead_of_problem(mut response: Response) -> Response {
    let Some(problem) = response.extensions_mut().remove::<Problem>() else {
        return response;
    };
    if problem.kind == ProblemKind::NotSignedIn {
        return Redirect::to("/login").into_response();
    }
    let status: StatusCode = problem.status();
    let page = ProblemPage {
        frame: Frame::open(""),
        title: problem.kind.title(),
        hint: problem.hint_text().map(str::to_owned),
        detail: problem.detail,
    };
    match html(&page) {
        Ok(mut page) => {
            *page.status_mut() = status;
            page
        }
        Err(_) => response,
    }
}
