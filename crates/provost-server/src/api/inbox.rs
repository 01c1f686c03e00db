//! What waits for people, and how much of it.
//!
//! Owns the place in the list, which names the last entry that was given: `RUN.WAIT` by their
//! numbers. INVARIANT: a page reads as much as it shows, however much waits.

use axum::Json;
use axum::extract::State;
use provost_engine::clock::now_ms;
use provost_engine::run::state::WaitKind;
use provost_engine::store::WaitPage;
use serde::Deserialize;
use serde_json::{Value, json};

use super::input::Parameters;
use super::{LIST_DEFAULT, LIST_MAX, wait};
use crate::app::{App, Shared};
use crate::door::Viewer;
use crate::feed::waiting;
use crate::problem::{Problem, ProblemKind};

/// Most entries that one request looks at, of which `mine` may leave few: `after` goes on.
const LOOKED_AT_MAX: usize = LIST_MAX;

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
    after: Option<String>,
    limit: Option<usize>,
}

impl InboxQuery {
    fn page(&self) -> Result<WaitPage, Problem> {
        let kind = self.kind.as_deref();
        let of_kind = |kind| {
            let known = WaitKind::of(kind);
            known.ok_or_else(|| {
                let detail = format!("`{kind}` is no kind of what waits");
                Problem::new(ProblemKind::Unfit, detail)
                    .hint("`approval`, `answer`, `settlement` or `secret`")
            })
        };
        let of_place = |text: &str| {
            let (run, n) = text.split_once('.')?;
            Some((run.parse().ok()?, n.parse().ok()?))
        };
        let after = self.after.as_deref().map(|text| {
            let detail = format!("`{text}` is no place in this list");
            of_place(text).ok_or_else(|| Problem::new(ProblemKind::Unfit, detail))
        });
        let limit = match self.mine {
            true => LOOKED_AT_MAX,
            false => self.limit(),
        };
        Ok(WaitPage {
            after: after.transpose()?,
            kind: kind.map(of_kind).transpose()?,
            run: self.run.clone(),
            principals: None,
            // Why one more: it tells whether there is another page.
            limit: u32::try_from(limit + 1).unwrap_or(u32::MAX),
        })
    }

    fn limit(&self) -> usize {
        self.limit.unwrap_or(LIST_DEFAULT).clamp(1, LIST_MAX)
    }
}

/// `GET /v1/inbox`.
pub(crate) async fn list(
    State(app): State<App>,
    viewer: Viewer,
    Parameters(asked): Parameters<InboxQuery>,
) -> Result<Json<Value>, Problem> {
    let page = asked.page()?;
    let read = app.read(move |shared| read(shared, &viewer, &asked, page));
    let (waits, after) = read.await?;
    Ok(Json(
        json!({ "schema": "provost/inbox/v2", "waits": waits, "after": after }),
    ))
}

/// The entries of a page, and the place of the last one that was looked at, if others follow.
fn read(
    shared: &Shared,
    viewer: &Viewer,
    asked: &InboxQuery,
    page: WaitPage,
) -> Result<(Vec<Value>, Option<String>), Problem> {
    let now = now_ms();
    let most = (page.limit as usize).saturating_sub(1);
    let found = shared.desk.inbox(&shared.engine(), viewer, page)?;
    let (mut shown, mut place) = (Vec::new(), None);
    for (at, one) in found.iter().enumerate() {
        if at == most || shown.len() == asked.limit() {
            return Ok((shown, place));
        }
        place = Some(format!("{}.{}", one.place.0, one.place.1));
        let may = wait::may_placed(shared, viewer, one)?;
        if asked.mine && may.is_err() {
            continue;
        }
        let mut entry = wait::to_json(&one.run, &one.wait, may, now);
        if let Value::Object(map) = &mut entry {
            map.insert("goal".to_owned(), json!(one.goal));
        }
        shown.push(entry);
    }
    Ok((shown, None))
}

/// `GET /v1/inbox/count`.
pub(crate) async fn count(State(app): State<App>, viewer: Viewer) -> Result<Json<Value>, Problem> {
    let counts = app
        .read(move |shared| {
            let waiting = waiting(shared, &viewer)?;
            let counts = &waiting.counts;
            Ok(json!({
                "schema": "provost/inbox-count/v1",
                "all": counts.all,
                "runs": counts.runs,
                "in_doubt": counts.in_doubt,
                "mine": waiting.mine_of(shared, &viewer),
                "looked_at": waiting.latest.len(),
                "oldest_ms": counts.oldest_ms.map(|at| (now_ms() - at).max(0)),
            }))
        })
        .await?;
    Ok(Json(counts))
}
