//! The workspace: what it is, its tools, what is stopped, and who is signed in.

use axum::Json;
use axum::extract::{Path, State};
use provost_engine::clock::now_ms;
use provost_engine::run::event::RunStatus;
use provost_engine::stops::unbound;
use provost_engine::store::{RunPage, StopScope, Stopped};
use provost_plan::plan::request::{RoleView, ToolSignature};
use provost_plan::policy::RunAction;
use serde::Deserialize;
use serde_json::{Value, json};

use super::input::JsonBody;
use super::logins;
use crate::app::App;
use crate::door::Viewer;
use crate::files;
use crate::may;
use crate::problem::{Problem, ProblemKind};
use provost_engine::people::Credential;

/// `GET /v1/workspace`.
pub(crate) async fn get(State(app): State<App>, viewer: Viewer) -> Json<Value> {
    Json(described(&app, &viewer))
}

/// `POST /v1/workspace/reload`: reads the files anew.
pub(crate) async fn reload(State(app): State<App>, viewer: Viewer) -> Result<Json<Value>, Problem> {
    logins::governs(&app, &viewer)?;
    files::read_anew_by(&app, &viewer).await?;
    Ok(Json(described(&app, &viewer)))
}

fn described(app: &App, viewer: &Viewer) -> Value {
    let workspace = app.workspace();
    let required = workspace.required().least;
    let name = workspace
        .root()
        .file_name()
        .map(|name| name.to_string_lossy().into_owned());
    let governs = logins::governs(app, viewer).is_ok();
    let certificate = app.certificate.as_ref().map(|shown| {
        let state = shown.state();
        // Why without the words: they name files of this machine.
        let refused = state
            .refused
            .map(|(at_ms, why)| json!({ "at_ms": at_ms, "detail": governs.then_some(why) }));
        json!({ "read_ms": state.read_ms, "refused": refused })
    });
    json!({
        "schema": "provost/workspace/v1",
        "name": name,
        "description": workspace.description(),
        "store": app.engine().inbox().store(),
        "solo": workspace.is_solo(),
        "signed": required == Credential::Signature,
        "require": required.word(),
        "files": files::to_json(&app.live.stand(), governs),
        "certificate": certificate,
        "version": env!("CARGO_PKG_VERSION"),
    })
}

/// `GET /v1/tools`.
pub(crate) async fn tools(State(app): State<App>, _: Viewer) -> Json<Value> {
    let workspace = app.workspace();
    let catalog = workspace.catalog();
    let tools: Vec<_> = catalog.iter().map(|one| ToolSignature::of(one)).collect();
    let roles: Vec<_> = catalog.roles().map(|role| RoleView::of(role)).collect();
    Json(json!({ "schema": "provost/client-tools/v1", "tools": tools, "roles": roles }))
}

/// `GET /v1/stops`.
pub(crate) async fn stops(State(app): State<App>, _: Viewer) -> Result<Json<Value>, Problem> {
    let all = app.read(|shared| Ok(shared.desk.store()?.stops()?)).await?;
    let all: Vec<Value> = all.iter().map(of_stop).collect();
    Ok(Json(json!({ "schema": "provost/stops/v1", "stops": all })))
}

fn of_stop(stop: &Stopped) -> Value {
    json!({
        "scope": stop.scope.word(),
        "name": stop.name,
        "by": stop.by,
        "reason": stop.reason,
        "at_ms": stop.at_ms,
    })
}

/// The scope of a stop and its name. Of everything the name is `-`: an address has no empty part.
fn scope(scope: &str, name: String) -> Result<(StopScope, String), Problem> {
    match scope {
        "all" if name == "-" => Ok((StopScope::All, String::new())),
        "all" => {
            let detail = "all of a workspace has the name `-`".to_owned();
            Err(Problem::new(ProblemKind::BindsNothing, detail))
        }
        "principal" => Ok((StopScope::Principal, name)),
        "tool" => Ok((StopScope::Tool, name)),
        "playbook" => Ok((StopScope::Playbook, name)),
        _ => Err(Problem::not_found("scope").hint("`all`, `tool`, `playbook` or `principal`")),
    }
}

/// Refuses a stop that would bind nothing.
async fn refuse_unbound(app: &App, scope: StopScope, name: &str) -> Result<(), Problem> {
    let name = name.to_owned();
    let found = app.read(move |shared| {
        let (engine, store) = (shared.engine(), shared.desk.store()?);
        Ok(unbound(engine.workspace(), Some(store), scope, &name)?)
    });
    let Some(found) = found.await? else {
        return Ok(());
    };
    let problem = Problem::new(ProblemKind::BindsNothing, found.to_string());
    Err(match found.near {
        Some(near) => problem.hint(format!("did you mean `{near}`?")),
        None => problem,
    })
}

/// The stop of this name, if there is one.
async fn standing(app: &App, scope: StopScope, name: &str) -> Result<Option<Stopped>, Problem> {
    let all = app.read(|shared| Ok(shared.desk.store()?.stops()?)).await?;
    let mut all = all.into_iter();
    Ok(all.find(|one| one.scope == scope && one.name == name))
}

/// `PUT /v1/stops/{scope}/{name}`.
pub(crate) async fn stop(
    State(app): State<App>,
    viewer: Viewer,
    Path((word, name)): Path<(String, String)>,
    body: JsonBody,
) -> Result<Json<Value>, Problem> {
    #[derive(Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Reason {
        reason: String,
    }
    viewer.speaks()?;
    let (scope, name) = scope(&word, name)?;
    let Reason { reason } = body.into()?;
    let (workspace, by) = (app.workspace(), &viewer.principal);
    let (policy, of) = (workspace.policy(), (scope, name.as_str()));
    may::ask_of_stop(policy, RunAction::Stop, by, of, None)?;
    refuse_unbound(&app, scope, &name).await?;
    if let Some(stands) = standing(&app, scope, &name).await? {
        // Why: it would be theirs to lift from then on.
        let placed_by = Some(stands.by.as_str());
        if may::ask_of_stop(policy, RunAction::Resume, by, of, placed_by).is_err() {
            return Ok(Json(of_stop(&stands)));
        }
    }
    let stopped = Stopped {
        scope,
        name,
        by: viewer.principal.id,
        reason,
        at_ms: now_ms(),
    };
    app.engine().store().stop(&stopped).await?;
    Ok(Json(of_stop(&stopped)))
}

/// `DELETE /v1/stops/{scope}/{name}`.
pub(crate) async fn lift(
    State(app): State<App>,
    viewer: Viewer,
    Path((word, name)): Path<(String, String)>,
) -> Result<Json<Value>, Problem> {
    viewer.speaks()?;
    let (scope, name) = scope(&word, name)?;
    let standing = standing(&app, scope, &name).await?;
    let (workspace, by) = (app.workspace(), &viewer.principal);
    let (policy, of) = (workspace.policy(), (scope, name.as_str()));
    let placed_by = standing.as_ref().map(|one| one.by.as_str());
    may::ask_of_stop(policy, RunAction::Resume, by, of, placed_by)?;
    app.engine().store().unstop(scope, &name, &by.id).await?;
    let seen = app.read(move |shared| {
        let scope = shared
            .desk
            .scope(&shared.engine(), &viewer, RunAction::See)?;
        let page = RunPage {
            principals: scope.principals(),
            statuses: vec![RunStatus::Paused.word().to_owned()],
            limit: PAUSED_MAX,
            ..RunPage::default()
        };
        let store = shared.desk.store()?;
        Ok((store.stops()?, store.runs_page(&page)?))
    });
    let (standing, paused) = seen.await?;
    let standing: Vec<Value> = standing.iter().map(of_stop).collect();
    let paused: Vec<&str> = paused.iter().map(|(_, row)| row.id.as_str()).collect();
    Ok(Json(json!({
        "schema": "provost/lifted/v1",
        "stops": standing,
        "paused": paused,
    })))
}

/// Most paused runs that are named where a stop is lifted, the newest first.
const PAUSED_MAX: u32 = 200;

/// `GET /v1/playbooks`.
pub(crate) async fn playbooks(State(app): State<App>, _: Viewer) -> Json<Value> {
    let workspace = app.workspace();
    let playbooks = workspace.playbooks().playbooks();
    let playbooks: Vec<Value> = playbooks
        .map(|playbook| {
            let params = playbook.param_schemas();
            let sentences: Vec<&str> = playbook.sentences().collect();
            let params: Vec<&String> = params.keys().collect();
            json!({
                "name": playbook.name(),
                "sentences": sentences,
                "params": params,
                "tools": playbook.tools(),
            })
        })
        .collect();
    Json(json!({ "schema": "provost/playbooks/v1", "playbooks": playbooks }))
}
