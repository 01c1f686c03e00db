//! `restore`: a verified copy of the journal is put in the journal's place.
//!
//! Owns the order: nothing is moved before the copy verifies and no process works here. The journal
//! that was there is kept beside.

use std::path::{Path, PathBuf};

use clap::Args;
use provost_engine::owner::living;
use provost_engine::store::{Store, StoreError};
use provost_server::SERVER_FILE;
use serde_json::json;

use crate::document::reason;
use crate::failure::{Exit, Failure};
use crate::output;
use crate::screen::page::Page;
use crate::screen::words::count;
use crate::workspace_path::WorkspacePath;

/// Arguments of `restore`.
#[derive(Debug, Args)]
pub struct RestoreArgs {
    /// file that `provost backup` wrote
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// print one JSON object
    #[arg(long)]
    json: bool,
}

/// Does it.
pub fn run(verb: &RestoreArgs, place: &WorkspacePath) -> Result<Exit, Failure> {
    if !verb.file.is_file() {
        let what = match verb.file.exists() {
            true => "is no file",
            false => "is not there",
        };
        let message = format!("the copy `{}` {what}", verb.file.display());
        let hint = "name a file that `provost backup` wrote; with `-C`, FILE counts from there";
        return Err(Failure::usage(message).hint(hint));
    }
    let store_dir = place.store_dir()?;
    let verified = Store::open_file_read_only(&verb.file)
        .and_then(|copy| copy.verify())
        .map_err(|error| not_restored(&verb.file, error))?;
    refuse_while_used(&store_dir)?;
    let kept = keep(&store_dir)?;
    let done = Store::restore(&verb.file, &store_dir);
    if let (Err(_), Some(kept)) = (&done, &kept) {
        // Why ignored: the error that counts is that of the copy, and the journal is not lost.
        let _ = std::fs::remove_dir_all(&store_dir);
        let _ = std::fs::rename(kept, &store_dir);
    }
    done?;
    if verb.json {
        output::json(&json!({
            "schema": "provost/restore/v1",
            "file": verb.file.to_string_lossy(),
            "kept": kept.as_ref().map(|kept| kept.to_string_lossy()),
            "store": verified.store,
            "events": verified.events,
            "commits": verified.commits,
            "head": verified.head,
        }));
        return Ok(Exit::Done);
    }
    let n = |n: u64, one: &str| count(usize::try_from(n).unwrap_or(usize::MAX), one);
    let mut page = Page::new();
    page.line(&format!(
        "verified and restored: {} in {}, up to commit {}",
        n(verified.events, "event"),
        n(verified.runs, "run"),
        verified.commits,
    ));
    page.field("head", &verified.head.to_string());
    if let Some(kept) = &kept {
        page.field(
            "kept",
            &format!("{} (the journal until now)", kept.display()),
        );
        if kept.join(SERVER_FILE).exists() {
            page.line("tokens and logins of the server are kept there too: make new ones, or copy");
            page.line(&format!("its {SERVER_FILE} back"));
        }
    }
    output::data(&page.finish());
    Ok(Exit::Done)
}

/// Why a file is not put in the journal's place. The advice is not that of a damaged journal: the
/// one that is there may be whole.
fn not_restored(file: &Path, error: StoreError) -> Failure {
    let message = match error {
        StoreError::Missing { .. } => "there is no journal in it".to_owned(),
        StoreError::NotAJournal { reason, .. } => format!("it is no journal: {reason}"),
        StoreError::NotWritable { .. }
        | StoreError::LogUnread { .. }
        | StoreError::Newer { .. } => {
            return error.into();
        }
        other => other.to_string(),
    };
    Failure::usage(format!(
        "the copy `{}` was not restored: {message}",
        file.display()
    ))
    .hint("nothing was changed; name a file that `provost backup` wrote")
}

/// Who works here would go on with a journal that is gone.
fn refuse_while_used(store_dir: &Path) -> Result<(), Failure> {
    let owners = living(store_dir).map_err(|error| {
        let shown = store_dir.display();
        Failure::usage(format!("`{shown}` cannot be read: {}", reason(&error)))
    })?;
    if owners.is_empty() {
        return Ok(());
    }
    let pids: Vec<String> = owners
        .iter()
        .map(|owner| {
            owner
                .pid
                .map_or("unknown".to_owned(), |pid| pid.to_string())
        })
        .collect();
    Err(Failure::usage(format!(
        "processes work here: {}; nothing was restored",
        pids.join(", ")
    ))
    .hint("end them first"))
}

/// Moves what is there out of the way; none if there is nothing.
fn keep(store_dir: &Path) -> Result<Option<PathBuf>, Failure> {
    if !store_dir.exists() {
        return Ok(None);
    }
    let name = |number: u32| {
        let mut name = store_dir.as_os_str().to_owned();
        name.push(format!(".before-restore-{number}"));
        PathBuf::from(name)
    };
    let free = (1..).map(name).find(|path| !path.exists());
    let Some(kept) = free else {
        return Ok(None);
    };
    std::fs::rename(store_dir, &kept).map_err(|error| {
        let shown = store_dir.display();
        Failure::usage(format!("`{shown}` cannot be moved: {}", reason(&error)))
    })?;
    Ok(Some(kept))
}
