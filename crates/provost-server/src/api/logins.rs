//! Who is signed in: sessions and tokens, one's own and those of others.
//!
//! Owns the form of both lists. Whose logins somebody may look at and end but their own is policy's
//! word. INVARIANT: no secret of a login leaves, nor what could stand for one.

use axum::Json;
use axum::extract::{Path, State};
use provost_plan::policy::RunAction;
use serde::Deserialize;
use serde_json::{Value, json};

use super::input::Parameters;
use crate::app::{App, Shared};
use crate::door::{Login, Viewer};
use crate::may;
use crate::problem::{Problem, ProblemKind};

/// Whose logins are meant.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct LoginsQuery {
    /// Everybody's.
    #[serde(default)]
    all: bool,
    /// This person's.
    person: Option<String>,
}

impl LoginsQuery {
    /// Whose: a person, or nobody in particular where everybody's are meant.
    fn whose(self, shared: &Shared, viewer: &Viewer) -> Result<Option<String>, Problem> {
        let own = viewer.principal.id.clone();
        match self {
            Self {
                all: false,
                person: None,
            } => Ok(Some(own)),
            Self {
                all: true,
                person: Some(_),
            } => {
                let detail = "either `all` or a `person` is asked for";
                Err(Problem::new(ProblemKind::Unfit, detail))
            }
            Self { person, .. } => {
                governs(shared, viewer)?;
                Ok(person)
            }
        }
    }
}

/// Whether somebody may look at and end the logins of others.
///
/// # Errors
/// [`ProblemKind::NotAllowed`] in the words of policy.
pub(crate) fn governs(shared: &Shared, viewer: &Viewer) -> Result<(), Problem> {
    may::ask_of(
        shared.workspace().policy(),
        RunAction::Govern,
        &viewer.principal,
    )
}

/// `GET /v1/sessions`: one's own, or those of others.
pub(crate) async fn sessions(
    State(app): State<App>,
    viewer: Viewer,
    Parameters(asked): Parameters<LoginsQuery>,
) -> Result<Json<Value>, Problem> {
    let whose = asked.whose(&app, &viewer)?;
    let all = app.database.sessions(whose.as_deref())?;
    let this = match &viewer.login {
        Login::Session { digest, .. } => digest.as_str(),
        Login::Token { .. } => "",
    };
    let shown = all.iter().map(|one| {
        json!({
            "person": one.person,
            "login": one.login,
            "began_ms": one.began_ms,
            "ends_ms": one.ends_ms,
            "seen_ms": one.seen_ms,
            "this": one.digest == this,
        })
    });
    let shown: Vec<Value> = shown.collect();
    Ok(Json(
        json!({ "schema": "provost/sessions/v1", "sessions": shown }),
    ))
}

/// `DELETE /v1/sessions`: ends all of one's own, or those of others.
pub(crate) async fn end_sessions(
    State(app): State<App>,
    viewer: Viewer,
    Parameters(asked): Parameters<LoginsQuery>,
) -> Result<Json<Value>, Problem> {
    viewer.speaks()?;
    let whose = asked.whose(&app, &viewer)?;
    let ended = end_all(&app, &viewer, whose.as_deref())?;
    Ok(Json(
        json!({ "schema": "provost/sessions/v1", "ended": ended }),
    ))
}

/// Ends the sessions of a person, or of everybody: how many there were.
pub(crate) fn end_all(
    shared: &Shared,
    viewer: &Viewer,
    whose: Option<&str>,
) -> Result<usize, Problem> {
    let ended = shared.database.end(whose, None)?;
    let told = match whose {
        Some(person) => format!("ended all sessions of {person}"),
        None => "ended all sessions of everybody".to_owned(),
    };
    shared.database.note(&viewer.principal.id, &told)?;
    Ok(ended)
}

/// `GET /v1/tokens`: one's own, or those of others.
pub(crate) async fn tokens(
    State(app): State<App>,
    viewer: Viewer,
    Parameters(asked): Parameters<LoginsQuery>,
) -> Result<Json<Value>, Problem> {
    let whose = asked.whose(&app, &viewer)?;
    let all = app.database.tokens(whose.as_deref())?;
    let this = match &viewer.login {
        Login::Session { .. } => "",
        Login::Token { name, .. } => name.as_str(),
    };
    let shown = all.iter().map(|one| {
        json!({
            "person": one.person,
            "name": one.name,
            "agent": one.is_agent,
            "made_ms": one.made_ms,
            "ends_ms": one.ends_ms,
            "this": one.name == this,
        })
    });
    let shown: Vec<Value> = shown.collect();
    Ok(Json(
        json!({ "schema": "provost/tokens/v1", "tokens": shown }),
    ))
}

/// `DELETE /v1/tokens/{name}`: ends one of one's own, or one of others for who may govern.
pub(crate) async fn end_token(
    State(app): State<App>,
    viewer: Viewer,
    Path(name): Path<String>,
) -> Result<Json<Value>, Problem> {
    viewer.speaks()?;
    revoke(&app, &viewer, &name)?;
    Ok(Json(json!({ "schema": "provost/tokens/v1", "ended": 1 })))
}

/// Ends a token. To who may not, one of somebody else is one that is not there.
pub(crate) fn revoke(shared: &Shared, viewer: &Viewer, name: &str) -> Result<(), Problem> {
    let by = &viewer.principal.id;
    let whose = governs(shared, viewer).err().map(|_| by.as_str());
    if !shared.database.revoke(name, whose)? {
        return Err(Problem::not_found("token"));
    }
    let told = format!("ended the token {name}");
    shared.database.note(by, &told)?;
    Ok(())
}
