//! `prune`: the bytes of old evidence, or the texts of runs that are over, go; their digests stay.

use std::time::Duration;

use clap::{ArgGroup, Args};
use provost_engine::audit::Audit;
use provost_engine::retention::{Retention, prunable_payloads, prune_payloads};
use provost_engine::store::{Pruned, Store};
use provost_engine::workspace::{audit_settings, statement_settings};
use provost_plan::duration;
use serde_json::json;

use crate::failure::{Exit, Failure};
use crate::output;
use crate::screen::page::Page;
use crate::screen::words::{count, now_ms};
use crate::workspace_path::WorkspacePath;

/// Arguments of `prune`.
#[derive(Clone, Copy, Debug, Args)]
#[command(group(ArgGroup::new("what").required(true).args(["evidence_older", "payloads_older"])))]
pub struct PruneArgs {
    /// delete evidence of runs that ended before this age, such as `30d`
    #[arg(long, value_name = "AGE", value_parser = duration::parse)]
    evidence_older: Option<Duration>,
    /// delete all texts of runs that ended before this age: they can no longer be shown, judged or
    /// undone
    #[arg(long, value_name = "AGE", value_parser = duration::parse, requires = "keep_chain")]
    payloads_older: Option<Duration>,
    /// keep digests and links, so that `audit verify` still holds
    #[arg(long, requires = "payloads_older")]
    keep_chain: bool,
    /// show what would be deleted
    #[arg(long)]
    dry_run: bool,
    /// print one JSON object
    #[arg(long)]
    json: bool,
}

/// Does it.
pub fn run(verb: PruneArgs, place: &WorkspacePath) -> Result<Exit, Failure> {
    if let Some(age) = verb.payloads_older {
        return payloads(verb, age, place);
    }
    let dir = place.root()?.join(provost_engine::workspace::STORE_DIR);
    let age = verb.evidence_older.unwrap_or_default();
    let (before, now) = since(age);
    // Why read-only first: opening to write would make a journal where there is none.
    let store = Store::open_read_only(&dir)?;
    let pruned = if verb.dry_run {
        store.prunable(before)?
    } else {
        Store::open(&dir)?.prune(before, now)?
    };
    if verb.json {
        output::json(&json!({
            "schema": "provost/prune/v1",
            "dry_run": verb.dry_run,
            "runs": pruned.runs,
            "pieces": pruned.pieces,
            "bytes": pruned.bytes,
            "shared": pruned.shared,
        }));
    } else {
        output::data(&page(verb, age, &pruned).finish());
    }
    Ok(Exit::Done)
}

/// The moment so long ago, and now.
fn since(age: Duration) -> (i64, i64) {
    let age = i64::try_from(age.as_millis()).unwrap_or(i64::MAX);
    let now = now_ms();
    (now.saturating_sub(age), now)
}

fn n(n: u64, one: &str) -> String {
    count(usize::try_from(n).unwrap_or(usize::MAX), one)
}

/// Drops the texts of runs. Why with people and heads: what a run did is judged a last time.
fn payloads(verb: PruneArgs, age: Duration, place: &WorkspacePath) -> Result<Exit, Failure> {
    let root = place.root()?;
    let dir = root.join(provost_engine::workspace::STORE_DIR);
    let store = Store::open_read_only(&dir)?;
    let audit = audit_settings(&root)?;
    let audit = audit.map(|settings| Audit::open(&root, &settings));
    let audit = audit.transpose()?;
    let inbox = super::audit::inbox(&store, statement_settings(&root)?)?;
    let (before, now) = since(age);
    let done = if verb.dry_run {
        prunable_payloads(&store, &inbox, audit.as_ref(), before)?
    } else {
        prune_payloads(&Store::open(&dir)?, &inbox, audit.as_ref(), before, now)?
    };
    let Retention {
        payloads,
        evidence,
        rewritten,
        kept,
    } = &done;
    if verb.json {
        let kept = kept
            .iter()
            .map(|(run, why)| json!({ "run": run, "because": why.words() }));
        output::json(&json!({
            "schema": "provost/prune-payloads/v1",
            "dry_run": verb.dry_run,
            "runs": payloads.runs,
            "events": payloads.events,
            "bytes": payloads.bytes,
            "pieces": evidence.pieces,
            "evidence_bytes": evidence.bytes,
            "rewritten": rewritten,
            "kept": kept.collect::<Vec<_>>(),
        }));
        return Ok(Exit::Done);
    }
    let mut page = Page::new();
    page.line(&format!(
        "{} the texts of {} in {}, {}, that ended more than {} ago, and {} of evidence, {}",
        word(verb),
        n(payloads.events, "event"),
        n(payloads.runs, "run"),
        n(payloads.bytes, "byte"),
        duration::print(age),
        n(evidence.pieces, "piece"),
        n(evidence.bytes, "byte"),
    ));
    if !verb.dry_run && !rewritten {
        let said =
            "bytes of them in the file, which another process holds: end it, and prune again";
        page.field("kept", said);
    }
    for (run, why) in kept {
        page.field("kept", &format!("run {run}: {}", why.words()));
    }
    output::data(&page.finish());
    Ok(Exit::Done)
}

fn word(verb: PruneArgs) -> &'static str {
    if verb.dry_run {
        "would drop"
    } else {
        "dropped"
    }
}

fn page(verb: PruneArgs, age: Duration, pruned: &Pruned) -> Page {
    let mut page = Page::new();
    page.line(&format!(
        "{} {} of evidence, {}, of {} that ended more than {} ago",
        word(verb),
        n(pruned.pieces, "piece"),
        n(pruned.bytes, "byte"),
        n(pruned.runs, "run"),
        duration::print(age),
    ));
    if pruned.shared > 0 {
        let said = "of them, which a younger or unfinished run names too";
        page.field("kept", &format!("{} {said}", n(pruned.shared, "piece")));
    }
    page
}
