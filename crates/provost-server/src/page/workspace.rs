//! The pages about the workspace: tools, people, and whoever looks.
//!
//! Owns their tables. Changes nothing. INVARIANT: no key and no secret stands on them.

use askama::Template;
use axum::extract::State;
use axum::response::Response;
use provost_plan::catalog::Idempotency;
use provost_plan::policy::RunAction;

use super::{Frame, Person, html, parts};
use crate::app::App;
use crate::door::Login;
use crate::markup::{Markup, Seen, seen};
use crate::problem::Problem;

#[derive(Template)]
#[template(path = "tools.html")]
struct ToolsPage {
    frame: Frame,
    stops: Vec<Seen>,
    tools: Vec<ToolView>,
    damaged: Vec<Seen>,
}

struct ToolView {
    name: Seen,
    effect: &'static str,
    trusted: &'static str,
    repeats: &'static str,
    description: Seen,
}

/// `GET /tools`.
pub(crate) async fn tools(
    State(app): State<App>,
    Person(viewer): Person,
) -> Result<Response, Problem> {
    let drawn = app.read(move |shared| {
        let workspace = shared.workspace();
        let tools = workspace.catalog().iter().map(|operation| ToolView {
            name: seen(&operation.name),
            effect: operation.effect.word(),
            trusted: if operation.trusted { "yes" } else { "no" },
            repeats: match operation.idempotency {
                Idempotency::Natural => "changes nothing more",
                Idempotency::Key { .. } => "known by its key",
                Idempotency::None => "not recognised",
            },
            description: seen(&operation.description),
        });
        let stops = shared.desk.store()?.stops()?;
        let stops = stops
            .iter()
            .map(|stop| seen(format!("{} by {}: {}", stop.what(), stop.by, stop.reason)));
        html(&ToolsPage {
            frame: Frame::of(&viewer, "tools"),
            stops: stops.collect(),
            tools: tools.collect(),
            damaged: workspace
                .damaged()
                .iter()
                .map(|one| seen(&one.tool))
                .collect(),
        })
    });
    drawn.await
}

#[derive(Template)]
#[template(path = "people.html")]
struct PeoplePage {
    frame: Frame,
    solo: bool,
    people: Vec<PersonView>,
    actions: Vec<(&'static str, Seen)>,
}

struct PersonView {
    name: Seen,
    groups: Seen,
    key: bool,
}

/// `GET /people`.
pub(crate) async fn people(
    State(app): State<App>,
    Person(viewer): Person,
) -> Result<Response, Problem> {
    let drawn = app.read(move |shared| {
        let workspace = shared.workspace();
        let people = workspace.people();
        let rights = workspace.policy().rights();
        let persons = people.names().map(|name| {
            let groups = people.principal(name).groups;
            let groups: Vec<String> = groups.into_iter().collect();
            PersonView {
                name: seen(name),
                groups: seen(groups.join(", ")),
                key: people.key(name).is_some(),
            }
        });
        let action = |action: RunAction| {
            let ids = match workspace.is_solo() {
                true => "whoever is at the machine".to_owned(),
                false => rights.deciding(action).join(", "),
            };
            (action.word(), seen(ids))
        };
        html(&PeoplePage {
            frame: Frame::of(&viewer, "people"),
            solo: workspace.is_solo(),
            people: persons.collect(),
            actions: RunAction::ALL.into_iter().map(action).collect(),
        })
    });
    drawn.await
}

#[derive(Template)]
#[template(path = "me.html")]
struct MePage {
    frame: Frame,
    name: Seen,
    groups: Seen,
    login: Seen,
    ends: Option<Markup>,
}

/// `GET /me`.
pub(crate) async fn me(Person(viewer): Person) -> Result<Response, Problem> {
    let groups: Vec<&str> = viewer.principal.groups.iter().map(String::as_str).collect();
    let groups = match groups.is_empty() {
        true => "none".to_owned(),
        false => groups.join(", "),
    };
    html(&MePage {
        frame: Frame::of(&viewer, "me"),
        name: seen(&viewer.principal.id),
        groups: seen(groups),
        login: seen(viewer.login_word()),
        ends: match &viewer.login {
            Login::Session { ends_ms, .. } => Some(parts::at(*ends_ms)),
            Login::Token { .. } => None,
        },
    })
}
