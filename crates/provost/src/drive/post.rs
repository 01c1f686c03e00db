//! A statement for a run that another process drives: posted, and what became of it.
//!
//! Owns waiting for that process to take it, for a moment. INVARIANT: who drives a run and gives
//! it back looks for words afterwards, so a word posted before is heard by one or the other.

use std::time::{Duration, Instant};

use provost_engine::clock::now_ms;
use provost_engine::engine::{Engine, EngineError};
use provost_engine::people::StatementEnvelope;
use provost_engine::session::{IGNORED, Session, Watcher};
use serde_json::json;

use crate::cli::Watching;
use crate::failure::Failure;
use crate::output;
use crate::screen::page::Page;

/// How long somebody who posted a statement waits to see what becomes of it.
const PATIENCE: Duration = Duration::from_secs(3);
const LOOK: Duration = Duration::from_millis(40);

/// Where a word went.
pub enum PostResult {
    /// To the process that drives the run.
    There,
    /// The run is free after all: this process takes it up, and the word waits for it.
    Here(Box<Session>),
}

/// Posts a word, unless it would not count; then tries once more to take the run up.
pub async fn post(
    engine: &Engine,
    envelope: &StatementEnvelope,
    watcher: &mut dyn Watcher,
) -> Result<PostResult, Failure> {
    engine.rehearse(envelope)?;
    let (run, text) = (&envelope.run, envelope.to_text());
    engine.store().post(run, &text, now_ms()).await?;
    match engine.take_up(run, watcher).await {
        Ok(session) => Ok(PostResult::Here(Box::new(session))),
        Err(EngineError::Held { .. }) => Ok(PostResult::There),
        Err(error) => Err(error.into()),
    }
}

/// Why a word did not count, if somebody took it and it did not.
pub fn ignored(engine: &Engine, envelope: &StatementEnvelope) -> Result<Option<String>, Failure> {
    let became = engine.store().became(&envelope.run, &envelope.to_text())?;
    Ok(became.and_then(|became| became.strip_prefix(IGNORED).map(str::to_owned)))
}

/// Waits a moment for what becomes of a word, and says it.
pub async fn follow(
    engine: &Engine,
    envelope: &StatementEnvelope,
    pid: Option<u32>,
    watching: Watching,
) -> Result<(), Failure> {
    let until = Instant::now() + PATIENCE;
    let mut became = None;
    while became.is_none() && Instant::now() < until {
        tokio::time::sleep(LOOK).await;
        became = engine.store().became(&envelope.run, &envelope.to_text())?;
    }
    if let Some(why) = became
        .as_deref()
        .and_then(|text| text.strip_prefix(IGNORED))
    {
        return Err(Failure::usage(why).hint("`provost inbox` shows what waits now"));
    }
    let process = pid.map_or_else(
        || "another process".to_owned(),
        |pid| format!("process {pid}"),
    );
    let what = match became {
        Some(_) => format!(
            "received: {process} works on run {} and continues it",
            envelope.run
        ),
        None => format!(
            "sent: {process} works on run {} and has not received it yet",
            envelope.run
        ),
    };
    if watching.json || watching.events {
        output::json_line(&json!({
            "schema": "provost/statement/v1", "run": envelope.run, "nonce": envelope.nonce,
            "received": became.is_some(), "held_by": pid,
        }));
    }
    let mut page = Page::new();
    page.line(&what);
    output::note(&page.finish());
    Ok(())
}
