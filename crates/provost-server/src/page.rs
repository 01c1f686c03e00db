//! Pages: what people see in a browser.
//!
//! Owns how a page is made: a template of `templates/`, filled from `view`. Judges nothing, and
//! draws no card but by what the front end lends. INVARIANT: every text in a page is escaped by its
//! template; nothing is inlined that a browser would run.

use askama::Template;
use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use axum::http::{StatusCode, header};
use axum::response::{Html, IntoResponse, Redirect, Response};

use crate::app::App;
use crate::assets;
use crate::door::Viewer;
use crate::markup::{Seen, seen};
use crate::problem::{Problem, ProblemKind};
use crate::routes::{Route, posts, reads};

mod amend;
mod card;
mod form;
mod head;
mod inbox;
pub(crate) mod login;
mod new;
mod parts;
mod plan;
mod run;
mod runs;
mod say;
mod step;
mod trace;
mod waits;
mod workspace;

/// The routes of pages.
pub(crate) fn routes() -> Vec<Route> {
    vec![
        reads("/", inbox::show),
        reads("/runs", runs::show),
        posts("/runs", new::begin),
        reads("/runs/new", new::show),
        reads("/runs/{run}", run::show),
        reads("/runs/{run}/statements", say::show),
        posts("/runs/{run}/statements", say::post),
        reads("/runs/{run}/amend", amend::show),
        posts("/runs/{run}/amend", amend::post),
        reads("/runs/{run}/steps/{step}", step::show),
        reads("/runs/{run}/cards/{digest}", card::show),
        reads("/runs/{run}/plan", plan::in_force),
        reads("/runs/{run}/revisions/{number}", plan::revision),
        reads("/runs/{run}/trace", trace::show),
        reads("/runs/{run}/why", trace::why),
        reads("/tools", workspace::tools),
        reads("/people", workspace::people),
        posts("/people", workspace::govern),
        reads("/me", workspace::me),
    ]
}

/// A person who looks at a page. Agents have the API: they are shown no value.
pub(crate) struct Person(pub(crate) Viewer);

impl FromRequestParts<App> for Person {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, Problem> {
        let viewer = Viewer::from_request_parts(parts, app).await?;
        if viewer.is_person() {
            return Ok(Self(viewer));
        }
        let detail = "pages are for people, not for agents";
        Err(Problem::new(ProblemKind::NotAllowed, detail).hint("programs ask under /v1"))
    }
}

/// What every page shows around its own content.
pub(crate) struct Frame {
    /// The address of the style.
    pub(crate) style: String,
    /// The address of the script.
    pub(crate) script: String,
    /// The address of the icon.
    pub(crate) icon: String,
    /// Who is signed in; empty if nobody is.
    pub(crate) person: Seen,
    /// The run that the page is about; empty if it is about none.
    pub(crate) run: String,
    /// Which entry of the head is current.
    pub(crate) place: &'static str,
    /// The address under which a browser finds the page again, if it is the answer to a form.
    pub(crate) found_at: String,
}

impl Frame {
    /// The frame of a page for who is signed in.
    pub(crate) fn of(viewer: &Viewer, place: &'static str) -> Self {
        Self {
            person: seen(&viewer.principal.id),
            ..Self::open(place)
        }
    }

    /// The same, of a page about a run.
    pub(crate) fn on(self, run: &str) -> Self {
        Self {
            run: run.to_owned(),
            ..self
        }
    }

    /// The frame of a page for everybody.
    pub(crate) fn open(place: &'static str) -> Self {
        Self {
            style: assets::address("page.css"),
            script: assets::address("page.js"),
            icon: assets::address("icon.svg"),
            person: Seen::default(),
            run: String::new(),
            place,
            found_at: String::new(),
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
    detail: Seen,
    findings: Vec<Seen>,
    hint: Option<Seen>,
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
        detail: seen(&problem.detail),
        findings: problem.findings().into_iter().map(seen).collect(),
        hint: problem.hint_text().map(seen),
    };
    match html(&page) {
        Ok(mut page) => {
            *page.status_mut() = status;
            if let Some(wait) = response.headers_mut().remove(header::RETRY_AFTER) {
                page.headers_mut().insert(header::RETRY_AFTER, wait);
            }
            page
        }
        Err(_) => response,
    }
}
