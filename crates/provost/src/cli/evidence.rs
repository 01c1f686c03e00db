//! `evidence`: the stored bytes that a claim or a card cites.
//!
//! Owns finding which run cites them. INVARIANT: bytes behind something secret are not printed, and
//! bytes from outside reach no terminal raw.

use std::io::IsTerminal as _;

use clap::Args;
use provost_engine::history::History;
use provost_engine::run::event::Event;
use provost_engine::store::{RunFilter, Store, StoredEvidence};
use provost_plan::digest::Digest;
use serde_json::json;

use crate::failure::{Exit, Failure};
use crate::output;
use crate::screen::page::Page;
use crate::workspace_path::WorkspacePath;

/// Fewest digits by which a digest is found.
const DIGITS_MIN: usize = 8;

/// Arguments of `evidence`.
#[derive(Debug, Args)]
pub struct EvidenceArgs {
    /// digest, or its first 8 digits or more
    #[arg(value_name = "DIGEST")]
    digest: String,
    /// only in this run, which is faster
    #[arg(long, value_name = "RUN")]
    run: Option<String>,
    /// print one JSON object
    #[arg(long)]
    json: bool,
}

/// A digest, and what cites it.
struct Cited {
    digest: Digest,
    run: String,
    step: String,
    history: History,
}

/// Does it.
pub fn run(verb: &EvidenceArgs, place: &WorkspacePath) -> Result<Exit, Failure> {
    let typed = verb.digest.trim_start_matches("sha256:");
    let is_digit = |c: char| c.is_ascii_digit() || ('a'..='f').contains(&c);
    if typed.len() < DIGITS_MIN || !typed.chars().all(is_digit) {
        return Err(Failure::usage(format!("`{}` is no digest", verb.digest))
            .hint("`provost show RUN` prints those that an answer cites"));
    }
    let store = place.journal()?;
    let runs = match &verb.run {
        Some(run) => vec![
            store
                .find(run)
                .map_err(|error| Failure::usage(error.to_string()))?,
        ],
        None => {
            let rows = store.runs(&RunFilter::default())?;
            rows.into_iter().map(|row| row.id).collect()
        }
    };
    let Some(cited) = find(&store, &runs, typed)? else {
        return Err(Failure::usage(format!("no run cites `{}`", verb.digest)));
    };
    let kept = cited.history.shown_evidence(&store, &cited.digest)?;
    let Some(kept) = kept else {
        return Err(Failure::usage(format!(
            "the evidence of step `{}` of run `{}` is secret or was not kept",
            cited.step, cited.run
        )));
    };
    let text = std::str::from_utf8(&kept.bytes).ok();
    if verb.json {
        output::json(&json!({
            "schema": "provost/evidence/v1",
            "digest": cited.digest,
            "run": cited.run,
            "step": cited.step,
            "media": kept.media,
            "bytes": kept.bytes.len(),
            "text": text,
        }));
        return Ok(Exit::Done);
    }
    print(&kept)
}

/// Prints stored bytes: as they are into a file, as a text on a terminal.
pub fn print(kept: &StoredEvidence) -> Result<Exit, Failure> {
    if !std::io::stdout().is_terminal() {
        output::bytes(&kept.bytes);
        return Ok(Exit::Done);
    }
    let Ok(text) = std::str::from_utf8(&kept.bytes) else {
        return Err(Failure::usage(format!(
            "{} bytes of {} are no text",
            kept.bytes.len(),
            kept.media
        ))
        .hint("redirect them into a file"));
    };
    let mut page = Page::new();
    page.lines(text, 0);
    output::data(&page.finish());
    Ok(Exit::Done)
}

/// The first of the runs that cites a digest which begins so.
fn find(store: &Store, runs: &[String], typed: &str) -> Result<Option<Cited>, Failure> {
    for run in runs {
        let history = History::read(store, run)?;
        let mut cited = history
            .events
            .iter()
            .filter_map(|(event, _)| cited_by(event));
        let found = cited.find(|(digest, _)| digest.hex().starts_with(typed));
        if let Some((digest, step)) = found {
            return Ok(Some(Cited {
                digest,
                run: run.clone(),
                step,
                history,
            }));
        }
    }
    Ok(None)
}

/// The evidence that an event names, and its step.
fn cited_by(event: &Event) -> Option<(Digest, String)> {
    match event {
        Event::ObservationMade { slot, evidence, .. } => Some((*evidence, slot.to_string())),
        Event::AttemptEnded(ended) => Some((ended.evidence?, ended.slot.to_string())),
        _ => None,
    }
}
