//! The pages about the workspace: tools, people, and whoever looks.
//!
//! Owns their tables, and the buttons of who may govern. INVARIANT: no key and no secret stands on
//! them.

use askama::Template;
use axum::extract::{RawForm, State};
use axum::response::{IntoResponse, Redirect, Response};
use provost_plan::catalog::Idempotency;
use provost_plan::policy::RunAction;

use super::form::FormFields;
use super::{Frame, Person, html, parts};
use crate::api::logins;
use crate::app::{App, Shared};
use crate::door::Login;
use crate::files;
use crate::markup::{Markup, Seen, seen};
use crate::problem::{Problem, ProblemKind};

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
    governed: Option<GovernedView>,
}

/// What who may govern sees besides.
struct GovernedView {
    read: Markup,
    refused: Option<Seen>,
    restart: String,
    sessions: Vec<SessionView>,
    tokens: Vec<TokenView>,
}

struct SessionView {
    person: Seen,
    login: Seen,
    began: Markup,
    seen: Markup,
}

struct TokenView {
    name: Seen,
    person: Seen,
    agent: bool,
    ends: Markup,
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
            governed: match logins::governs(shared, &viewer) {
                Ok(()) => Some(governed(shared)?),
                Err(_) => None,
            },
        })
    });
    drawn.await
}

fn governed(shared: &Shared) -> Result<GovernedView, Problem> {
    let files = shared.live.stand();
    let sessions = shared.database.sessions(None)?;
    let sessions = sessions.iter().map(|one| SessionView {
        person: seen(&one.person),
        login: seen(&one.login),
        began: parts::at(one.began_ms),
        seen: parts::ago(one.seen_ms),
    });
    let tokens = shared.database.tokens(None)?;
    let tokens = tokens.iter().map(|one| TokenView {
        name: seen(&one.name),
        person: seen(&one.person),
        agent: one.is_agent,
        ends: parts::at(one.ends_ms),
    });
    Ok(GovernedView {
        read: parts::at(files.read_ms),
        refused: files.refused.map(|refused| seen(refused.why.to_string())),
        restart: files.at_start.join(", "),
        sessions: sessions.collect(),
        tokens: tokens.collect(),
    })
}

/// `POST /people`: what who may govern does by a button.
pub(crate) async fn govern(
    State(app): State<App>,
    Person(viewer): Person,
    RawForm(body): RawForm,
) -> Result<Response, Problem> {
    logins::governs(&app, &viewer)?;
    let mut fields = FormFields::read(&body)?;
    let (person, token) = (fields.take("person"), fields.take("token"));
    let reload = fields.take("reload").is_some();
    fields.end()?;
    match (person, token, reload) {
        (Some(person), None, false) => {
            logins::end_all(&app, &viewer, Some(&person))?;
        }
        (None, Some(token), false) => logins::revoke(&app, &viewer, &token)?,
        (None, None, true) => files::read_anew_by(&app, &viewer).await?,
        _ => {
            let detail = "a form names a `person`, a `token` or `reload`";
            return Err(Problem::new(ProblemKind::BadRequest, detail));
        }
    }
    Ok(Redirect::to("/people").into_response())
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
