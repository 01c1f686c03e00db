//! Runs: the list by page, and beginning one.
//!
//! Owns the form of a row, and the id that a repeated request finds. INVARIANT: a request under an
//! `Idempotency-Key` begins one run, whatever crashes in between.

use axum::Json;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use provost_engine::engine::{NewRun, OnBehalf};
use provost_engine::proposal::{CheckedFile, RouteError, of_client, of_file, planner_first, route};
use provost_engine::run::event::{AskMode, Event, PlannerChoice, RunStatus};
use provost_engine::run::trace_parent::TraceParent;
use provost_engine::store::{RunPage, RunRow, StoreError};
use provost_engine::summary::Summary;
use provost_plan::plan::request::PlanningMode;
use provost_plan::policy::{Principal, PrincipalKind, RunAction};
use provost_plan::source::Source;
use ring::hmac;
use serde::Deserialize;
use serde_json::{Value, json};

use super::input::{JsonBody, Parameters};
use super::{LIST_DEFAULT, LIST_MAX};
use crate::app::{App, Shared};
use crate::door::Viewer;
use crate::may;
use crate::problem::{Problem, ProblemKind};

/// The kinds of planners that a run can begin with.
const PLANNERS: [&str; 6] = [
    "playbook",
    "interpreter",
    "file",
    "client",
    "model",
    "process",
];

/// The parameters of the list.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct RunsQuery {
    /// Only these status words, with commas between them.
    status: Option<String>,
    /// Only runs that this person asked for.
    by: Option<String>,
    /// Only runs that began with this kind of planner.
    planner: Option<String>,
    /// Only runs that began with the playbook of this name.
    playbook: Option<String>,
    /// Only goals with this text.
    q: Option<String>,
    /// Only runs created at or after this moment, in milliseconds since 1970.
    since: Option<i64>,
    /// Only runs created before it.
    until: Option<i64>,
    /// After the run of this number.
    after: Option<i64>,
    limit: Option<usize>,
}

impl RunsQuery {
    /// The page that is asked for, of whomever it may be, and the person whose runs are wanted.
    fn page(self) -> Result<(RunPage, Option<Principal>, usize), Problem> {
        let limit = self.limit.unwrap_or(LIST_DEFAULT).clamp(1, LIST_MAX);
        let words = self.status.iter().flat_map(|words| words.split(','));
        let statuses: Vec<String> = words.map(str::to_owned).collect();
        if let Some(word) = statuses.iter().find(|word| RunStatus::of(word).is_none()) {
            let detail = format!("`{word}` is no status of a run");
            return Err(Problem::new(ProblemKind::Unfit, detail));
        }
        if let Some(word) = self
            .planner
            .as_deref()
            .filter(|word| !PLANNERS.contains(word))
        {
            let detail = format!("`{word}` is no planner: {}", PLANNERS.join(", "));
            return Err(Problem::new(ProblemKind::Unfit, detail));
        }
        let by = self.by.map(|id| Principal {
            kind: PrincipalKind::User,
            id,
            groups: Default::default(),
        });
        let page = RunPage {
            before: self.after,
            statuses,
            goal: self.q,
            since_ms: self.since,
            until_ms: self.until,
            principals: None,
            planner: self.planner,
            playbook: self.playbook,
            // Why one more: it tells whether there is another page.
            limit: u32::try_from(limit + 1).unwrap_or(u32::MAX),
        };
        Ok((page, by, limit))
    }
}

/// `GET /v1/runs`.
pub(crate) async fn list(
    State(app): State<App>,
    viewer: Viewer,
    Parameters(asked): Parameters<RunsQuery>,
) -> Result<Json<Value>, Problem> {
    let (page, by, limit) = asked.page()?;
    let read = app.read(move |shared| {
        let scope = shared
            .desk
            .scope(&shared.engine(), &viewer, RunAction::See)?;
        let scope = match by {
            Some(person) => scope.of(person),
            None => scope,
        };
        let page = RunPage {
            principals: scope.principals(),
            ..page
        };
        let mut rows = shared.desk.runs_page(&page)?;
        let more = rows.len() > limit;
        rows.truncate(limit);
        let after = rows.last().map(|(n, _)| n.to_string()).filter(|_| more);
        let told = shared
            .desk
            .scope(&shared.engine(), &viewer, RunAction::Reveal)?;
        let runs = rows.iter();
        let runs = runs.map(|(_, row)| Ok(row_json(row, shared.desk.is_in(&told, &row.id)?)));
        Ok((runs.collect::<Result<Vec<Value>, Problem>>()?, after))
    });
    let (runs, after) = read.await?;
    Ok(Json(
        json!({ "schema": "provost/runs/v2", "runs": runs, "after": after }),
    ))
}

/// A run in the list; what its tools said only to who may be told.
fn row_json(row: &RunRow, told: bool) -> Value {
    let summary: Summary = serde_json::from_str(&row.summary).unwrap_or_default();
    json!({
        "id": row.id,
        "goal": row.goal,
        "status": row.status,
        "revision": summary.revision,
        "message": summary.message.filter(|_| told),
        "created_ms": row.created_at_ms,
        "updated_ms": row.updated_at_ms,
        "seq": row.head_seq,
    })
}

/// What is to be begun.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Wanted {
    goal: Option<String>,
    plan: Option<Value>,
    mode: Option<PlanningMode>,
    #[serde(default)]
    planner_first: bool,
    ask: Option<AskMode>,
    #[serde(default)]
    again: bool,
    traceparent: Option<TraceParent>,
}

/// `POST /v1/runs`.
pub(crate) async fn begin(
    State(app): State<App>,
    viewer: Viewer,
    headers: HeaderMap,
    body: JsonBody,
) -> Result<Response, Problem> {
    let wanted: Wanted = body.into()?;
    let key = headers.get("idempotency-key");
    let key = key.map(|key| key.to_str().map(str::to_owned)).transpose();
    let unfit = |_| Problem::new(ProblemKind::Unfit, "the `Idempotency-Key` is no plain text");
    let key = key.map_err(unfit)?;
    let (run, is_new) = begun(&app, viewer, wanted, key).await?;
    let status = if is_new {
        StatusCode::CREATED
    } else {
        StatusCode::OK
    };
    Ok(answer(status, &run))
}

/// Begins a run for a goal that somebody typed on a page; its id. A form that is sent twice begins
/// one.
pub(crate) async fn begin_goal(
    app: &App,
    viewer: Viewer,
    goal: String,
    again: bool,
    key: Option<String>,
) -> Result<String, Problem> {
    let wanted = Wanted {
        goal: Some(goal),
        plan: None,
        mode: None,
        planner_first: false,
        ask: None,
        again,
        traceparent: None,
    };
    let (run, _) = begun(app, viewer, wanted, key).await?;
    Ok(run)
}

/// The run that was begun, and whether this request began it.
async fn begun(
    app: &App,
    viewer: Viewer,
    wanted: Wanted,
    key: Option<String>,
) -> Result<(String, bool), Problem> {
    app.beginnings.take(viewer.rated())?;
    let prepared = app.read(move |shared| prepare(shared, &viewer, wanted, key.as_deref()));
    let (new, whom, known) = prepared.await?;
    match known {
        Some(run) => Ok((run, false)),
        None => Ok((app.beginner.begin(new, whom).await?, true)),
    }
}

fn answer(status: StatusCode, run: &str) -> Response {
    let location = [(header::LOCATION, format!("/v1/runs/{run}"))];
    let body = json!({ "schema": "provost/begun/v1", "run": run });
    (status, location, Json(body)).into_response()
}

/// The run to begin, for whom, and the run that the same request began before.
type Prepared = (NewRun, OnBehalf, Option<String>);

fn prepare(
    shared: &Shared,
    viewer: &Viewer,
    wanted: Wanted,
    key: Option<&str>,
) -> Result<Prepared, Problem> {
    may::ask_of(
        shared.workspace().policy(),
        RunAction::Begin,
        &viewer.principal,
    )?;
    let new = new_run(shared, viewer, wanted)?;
    let principal = match &new.planner {
        // Why: what a client planned acts for an agent, whoever carries it.
        PlannerChoice::Client { .. } => viewer.principal.agent(),
        _ => viewer.principal.clone(),
    };
    let run = key.map(|key| id_of(shared, &principal, key)).transpose()?;
    let known = match &run {
        Some(run) => same_before(shared, run, &new)?,
        None => None,
    };
    Ok((new, OnBehalf { principal, run }, known))
}

fn new_run(shared: &Shared, viewer: &Viewer, wanted: Wanted) -> Result<NewRun, Problem> {
    let workspace = shared.workspace();
    let ask = wanted.ask.unwrap_or(workspace.ask());
    let traceparent = wanted.traceparent;
    match (wanted.goal, wanted.plan) {
        (Some(goal), None) => {
            let routed = if wanted.planner_first {
                planner_first(&workspace, &goal, wanted.mode)
            } else {
                route(&workspace, &goal, wanted.mode)
            };
            let no_planner =
                |error: RouteError| Problem::new(ProblemKind::NoPlanner, error.to_string());
            let new = routed.map_err(no_planner)?.into_run(ask, wanted.again);
            Ok(NewRun { traceparent, ..new })
        }
        (None, Some(plan)) if wanted.mode.is_none() && !wanted.planner_first => {
            let (judged, planner) = judge(shared, viewer, &plan);
            if judged.plan.is_none() {
                return Err(findings(shared, &judged));
            }
            Ok(NewRun {
                goal: judged.goal,
                interpreted_by: format!("plan of {}", viewer.principal.id),
                planner,
                fallback: None,
                mode: None,
                ask,
                again: wanted.again,
                traceparent,
            })
        }
        _ => {
            let detail =
                "a run begins with a `goal`, or with a `plan` and neither mode nor planner";
            Err(Problem::new(ProblemKind::Unfit, detail))
        }
    }
}

/// What the check finds in a plan that came over HTTP, and who counts as its planner.
pub(super) fn judge(
    shared: &Shared,
    viewer: &Viewer,
    plan: &Value,
) -> (CheckedFile, PlannerChoice) {
    let text = match plan {
        Value::String(text) => text.clone(),
        other => serde_json::to_string_pretty(other).unwrap_or_default(),
    };
    let workspace = shared.workspace();
    if viewer.principal.kind == PrincipalKind::Agent {
        let client = viewer.login_word().replace(' ', "-");
        let judged = of_client(&workspace, &client, text.clone());
        return (judged, PlannerChoice::Client { client, text });
    }
    let name = format!("plan of {}", viewer.principal.id);
    let judged = of_file(&workspace, Source::new(name.as_str(), text.as_str()));
    let playbook = None;
    (
        judged,
        PlannerChoice::File {
            name,
            text,
            playbook,
        },
    )
}

/// The findings in a plan as a problem.
fn findings(shared: &Shared, judged: &CheckedFile) -> Problem {
    let problem = Problem::new(
        ProblemKind::Findings,
        "the plan has errors: nothing was begun",
    );
    problem.with("check", (shared.lent.findings)(judged))
}

/// `POST /v1/checks`.
pub(crate) async fn check(
    State(app): State<App>,
    viewer: Viewer,
    body: JsonBody,
) -> Result<Json<Value>, Problem> {
    #[derive(Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Check {
        plan: Value,
    }
    let asked: Check = body.into()?;
    let checked = app.read(move |shared| {
        may::ask_of(
            shared.workspace().policy(),
            RunAction::Begin,
            &viewer.principal,
        )?;
        let (judged, _) = judge(shared, &viewer, &asked.plan);
        Ok((shared.lent.findings)(&judged))
    });
    Ok(Json(checked.await?))
}

/// The id of the run that a principal begins under a key: without the server's own key nobody
/// tells it beforehand.
fn id_of(shared: &Shared, principal: &Principal, key: &str) -> Result<String, Problem> {
    const ALPHABET: &[u8; 32] = b"abcdefghijklmnopqrstuvwxyz234567";
    if !(1..=200).contains(&key.len()) {
        let detail = "an `Idempotency-Key` has 1 to 200 characters";
        return Err(Problem::new(ProblemKind::Unfit, detail));
    }
    let of = json!([principal.kind, principal.id, key]).to_string();
    let secret = shared.database.key()?;
    let tag = hmac::sign(
        &hmac::Key::new(hmac::HMAC_SHA256, secret.as_bytes()),
        of.as_bytes(),
    );
    let letters = tag.as_ref().iter().take(12);
    let letters = letters.filter_map(|byte| ALPHABET.get(usize::from(byte & 31)));
    Ok(letters.map(|byte| char::from(*byte)).collect())
}

/// The run of this id, if the same request began it.
fn same_before(shared: &Shared, run: &str, new: &NewRun) -> Result<Option<String>, Problem> {
    let store = shared.desk.store()?;
    match store.run(run) {
        Err(StoreError::UnknownRun { .. }) => return Ok(None),
        Err(error) => return Err(error.into()),
        Ok(_) => {}
    }
    let (_, events) = shared.engine().fold_through(store, run)?;
    let same = events.first().is_some_and(|(first, _)| match first {
        Event::RunCreated(created) => {
            created.goal == new.goal
                && created.planner == new.planner
                && (created.mode, created.ask) == (new.mode, new.ask)
        }
        _ => false,
    });
    if same {
        return Ok(Some(run.to_owned()));
    }
    let detail = "this `Idempotency-Key` was used for another request";
    Err(Problem::new(ProblemKind::OtherRequest, detail).hint("draw a new key for each request"))
}
