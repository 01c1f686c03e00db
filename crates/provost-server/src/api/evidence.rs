//! Evidence: the bytes that a claim or a card cites, as a file.
//!
//! Owns the form of the answer. INVARIANT: bytes that anybody may have written are never shown by a
//! browser, and those behind something secret do not leave.

use axum::extract::{Path, State};
use axum::http::header;
use axum::response::{IntoResponse, Response};
use provost_engine::history;
use provost_plan::digest::Digest;
use serde::Deserialize;

use super::input::Parameters;
use super::run::revealed;
use crate::app::App;
use crate::door::Viewer;
use crate::problem::{Problem, ProblemKind};

/// In which run the bytes are cited.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct EvidenceQuery {
    run: String,
}

/// `GET /v1/evidence/{digest}`.
pub(crate) async fn get(
    State(app): State<App>,
    viewer: Viewer,
    Path(digest): Path<String>,
    Parameters(EvidenceQuery { run }): Parameters<EvidenceQuery>,
) -> Result<Response, Problem> {
    let unfit = |_| Problem::new(ProblemKind::Unfit, format!("`{digest}` is no digest"));
    let digest: Digest = digest.parse().map_err(unfit)?;
    let kept = app.read(move |shared| {
        let run = revealed(shared, &viewer, &run)?;
        let kept = history::shown_evidence(&run.events, shared.desk.store()?, &digest)?;
        let Some(kept) = kept else {
            let detail = "the run does not cite these bytes, or they stand behind something secret";
            return Err(Problem::new(ProblemKind::Secret, detail));
        };
        shared
            .database
            .note(&viewer.principal.id, &format!("looked at {digest}"))?;
        Ok(kept.bytes)
    });
    let heads = [
        // Why no other: whoever wrote the bytes chose the type as well.
        (header::CONTENT_TYPE, "application/octet-stream"),
        (
            header::CONTENT_DISPOSITION,
            "attachment; filename=\"evidence\"",
        ),
        (
            header::CONTENT_SECURITY_POLICY,
            "default-src 'none'; sandbox",
        ),
    ];
    Ok((heads, kept.await?).into_response())
}
