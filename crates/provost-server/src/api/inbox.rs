//! What waits for people, and how much of it.

use axum::Json;
use axum::extract::State;
use provost_engine::clock::now_ms;
use provost_engine::run::state::WaitKind;
use serde::Deserialize;
use serde_json::{Value, json};

use super::input::Parameters;
use super::{LIST_DEFAULT, LIST_MAX, wait};
use crate::app::App;
use crate::door::Viewer;
use crate::problem::{Problem, ProblemKind};

/// The parameters of the list.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct InboxQuery {
    /// Only what whoever asks may give.
    #[serde(default)]
    mine: bool,
    /// Only this kind.
    kind: Option<String>,
    /// Only this run.
    run: Option<String>,
    /// After this place.
    #[serde(default)]
    after: usize,
    limit: Option<usize>,
}

/// `GET /v1/inbox`.
pub(crate) async fn list(
    State(app): State<App>,
    viewer: Viewer,
    Parameters(asked): Parameters<InboxQuery>,
) -> Result<Json<Value>, Problem> {
    let limit = asked.limit.unwrap_or(LIST_DEFAULT).clamp(1, LIST_MAX);
    if let Some(kind) = asked
        .kind
        .as_deref()
        .filter(|kind| WaitKind::of(kind).is_none())
    {
        let detail = format!("`{kind}` is no kind of what waits");
        return Err(Problem::new(ProblemKind::Unfit, detail)
            .hint("`approval`, `answer`, `settlement` or `secret`"));
    }
    let (waits, after) = app
        .read(move |shared| {
            let now = now_ms();
            let runs = shared.desk.inbox(&viewer)?;
            let of_run = |id: &str| asked.run.as_ref().is_none_or(|run| id.starts_with(run));
            let all = runs
                .iter()
                .filter(|waiting| of_run(&waiting.row.id))
                .flat_map(|waiting| waiting.waits.iter().map(move |wait| (waiting, wait)))
                .filter(|(_, wait)| {
                    asked
                        .kind
                        .as_ref()
                        .is_none_or(|kind| kind == wait.kind.word())
                })
                .skip(asked.after);
            let (mut page, mut place) = (Vec::new(), asked.after);
            for (waiting, one) in all {
                if page.len() == limit {
                    return Ok((page, Some(place.to_string())));
                }
                place += 1;
                let run = shared.desk.run(&shared.engine, &viewer, &waiting.row.id)?;
                let mut shown = wait::to_json(shared, &viewer, &run, one, now);
                if asked.mine && shown.get("may") != Some(&Value::Bool(true)) {
                    continue;
                }
                if let Value::Object(map) = &mut shown {
                    map.insert("goal".to_owned(), json!(waiting.row.goal));
                }
                page.push(shown);
            }
            Ok((page, None))
        })
        .await?;
    Ok(Json(
        json!({ "schema": "provost/inbox/v2", "waits": waits, "after": after }),
    ))
}

/// `GET /v1/inbox/count`.
pub(crate) async fn count(State(app): State<App>, viewer: Viewer) -> Result<Json<Value>, Problem> {
    let counts = app
        .read(move |shared| {
            let runs = shared.desk.inbox(&viewer)?;
            let all: Vec<_> = runs.iter().flat_map(|run| &run.waits).collect();
            let doubts = all
                .iter()
                .filter(|one| one.kind == WaitKind::Settlement)
                .count();
            let oldest = all.iter().map(|one| one.asked_at).min();
            Ok(json!({
                "schema": "provost/inbox-count/v1",
                "all": all.len(),
                "runs": runs.len(),
                "in_doubt": doubts,
                "oldest_ms": oldest.map(|at| (now_ms() - at).max(0)),
            }))
        })
        .await?;
    Ok(Json(counts))
}
