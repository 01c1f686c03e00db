//! The page of a plan: its steps in waves with policy's word, its findings, its document.
//!
//! Owns the table. INVARIANT: a revision is shown as its check was recorded, not checked again.

use std::collections::BTreeMap;
use std::sync::Arc;

use askama::Template;
use axum::extract::{Path, State};
use axum::response::Response;
use provost_engine::run::event::Event;
use provost_engine::run::read::sentences;
use provost_plan::digest::{Digest, Domain};
use serde_json::Value;

use super::head::RunHeadView;
use super::run::found;
use super::{Frame, Person, html};
use crate::app::App;
use crate::door::Viewer;
use crate::markup::{Seen, seen};
use crate::problem::Problem;
use crate::view::SeenRun;

#[derive(Template)]
#[template(path = "plan.html")]
struct PlanPage {
    frame: Frame,
    head: RunHeadView,
    revision: u32,
    revisions: Vec<u32>,
    change: Option<Seen>,
    rows: Vec<PlanRowView>,
    findings: Vec<(String, Seen)>,
    document: Seen,
    digest: String,
}

struct PlanRowView {
    wave: usize,
    id: String,
    does: Seen,
    effect: &'static str,
    verdict: &'static str,
    policies: Seen,
}

/// `GET /runs/{run}/plan`: the plan in force.
pub(crate) async fn in_force(
    State(app): State<App>,
    Person(viewer): Person,
    Path(id): Path<String>,
) -> Result<Response, Problem> {
    shown(&app, viewer, id, None).await
}

/// `GET /runs/{run}/revisions/{n}`.
pub(crate) async fn revision(
    State(app): State<App>,
    Person(viewer): Person,
    Path((id, number)): Path<(String, u32)>,
) -> Result<Response, Problem> {
    shown(&app, viewer, id, Some(number)).await
}

async fn shown(
    app: &App,
    viewer: Viewer,
    id: String,
    number: Option<u32>,
) -> Result<Response, Problem> {
    let drawn = app.read(move |shared| {
        let run = match found(shared, &viewer, &id)? {
            Ok(run) => run,
            Err(other) => return Ok(other),
        };
        let known = revisions(&run);
        let number = number.unwrap_or(run.state().in_force.revision);
        let one = known
            .get(&number)
            .ok_or_else(|| Problem::not_found("revision"))?;
        let workspace = shared.workspace();
        let catalog = workspace.catalog();
        let effect = |tool: &str| catalog.get(tool).map(|operation| operation.effect.word());
        html(&PlanPage {
            frame: Frame::of(&viewer, "runs").on(&run.state().head.run),
            head: RunHeadView::of(&run, "plan"),
            revision: number,
            revisions: known.keys().copied().filter(|one| *one != number).collect(),
            change: one.change.as_ref().map(seen),
            rows: rows(one, effect),
            findings: one.findings.clone(),
            document: seen(serde_json::to_string_pretty(&*one.document).unwrap_or_default()),
            digest: Digest::of_value(Domain::Plan, &one.document).to_string(),
        })
    });
    drawn.await
}

/// A revision as the journal records it.
struct Revision {
    document: Arc<Value>,
    record: Value,
    findings: Vec<(String, Seen)>,
    change: Option<String>,
}

/// The revisions of a run's plan, by number.
fn revisions(run: &SeenRun) -> BTreeMap<u32, Revision> {
    let mut found = BTreeMap::new();
    let mut last = None;
    for (event, _) in &run.events {
        match event {
            Event::PlanChecked {
                document,
                record,
                findings,
                ..
            } => {
                let findings = findings
                    .iter()
                    .map(|finding| (finding.code.clone(), seen(&finding.message)));
                last = Some(Revision {
                    document: Arc::clone(document),
                    record: serde_json::to_value(&**record).unwrap_or_default(),
                    findings: findings.collect(),
                    change: None,
                });
                if found.is_empty() {
                    found.extend(last.take().map(|first| (1, first)));
                }
            }
            Event::PlanRevised {
                revision,
                added,
                changed,
                removed,
                because,
            } => {
                let mut parts = Vec::new();
                for (word, ids) in [("adds", added), ("changes", changed), ("removes", removed)] {
                    if !ids.is_empty() {
                        parts.push(format!("{word} {}", ids.join(", ")));
                    }
                }
                let because = because.as_ref().map(|why| format!("because {why}"));
                parts.extend(because);
                if let Some(mut one) = last.take() {
                    one.change = (*revision > 1).then(|| parts.join("; "));
                    found.insert(*revision, one);
                }
            }
            _ => {}
        }
    }
    found
}

fn rows(one: &Revision, effect: impl Fn(&str) -> Option<&'static str>) -> Vec<PlanRowView> {
    let steps = one.document.get("steps").and_then(Value::as_array);
    let of_record = |id: &str| one.record.get("steps").and_then(|steps| steps.get(id));
    let mut waves: BTreeMap<&str, usize> = BTreeMap::new();
    let mut rows = Vec::new();
    for step in steps.into_iter().flatten() {
        let Some(id) = step.get("id").and_then(Value::as_str) else {
            continue;
        };
        let record = of_record(id);
        let after = record.and_then(|record| record.get("after")?.as_array());
        let after = after.into_iter().flatten().filter_map(Value::as_str);
        let wave = after.filter_map(|before| waves.get(before)).max();
        let wave = wave.map_or(1, |wave| wave + 1);
        waves.insert(id, wave);
        let tool = step.get("tool").and_then(Value::as_str);
        let verdict = record.and_then(|record| record.get("verdict"));
        let verdict: Option<provost_plan::policy::Verdict> =
            verdict.and_then(|verdict| serde_json::from_value(verdict.clone()).ok());
        rows.push(PlanRowView {
            wave,
            id: id.to_owned(),
            does: seen(tool.unwrap_or("–")),
            effect: tool.and_then(&effect).unwrap_or("–"),
            verdict: verdict.as_ref().map_or("–", |one| one.decision.word()),
            policies: seen(
                verdict
                    .as_ref()
                    .map(sentences::policies)
                    .unwrap_or_default(),
            ),
        });
    }
    rows.sort_by_key(|row| row.wave);
    rows
}
