//! Cases of runs that happened: what a journal tells becomes a folder that replays it.
//!
//! Owns the form of that folder. Invents nothing: what the journal does not hold, or what replays
//! otherwise, makes no case. INVARIANT: a case is written only after it was replayed, event by
//! event, and holds no value of a secret that the workspace knows.

use std::path::{Path, PathBuf};

use provost_plan::digest::{Digest, canonical};
use provost_run::event::Event;
use serde_json::{Value, json};

use super::read::{SetError, read_case};
use super::repeat::Repeat;
use super::report::{Outcome, RepeatReport};
use super::scratch;
use crate::engine::EngineError;
use crate::history::History;
use crate::store::{Store, StoreError};
use crate::workspace::{STORE_DIR, Workspace};

pub(super) mod calls;
#[cfg(test)]
mod pieces;
mod same;
mod words;

/// The form.
pub(super) const CASE_SCHEMA: &str = "provost/case/v1";
/// The file that makes a folder a case.
pub(super) const CASE_FILE: &str = "case.yaml";
/// The folder of its workspace.
pub(super) const WORKSPACE_DIR: &str = "workspace";
/// The calls.
pub(super) const CALLS_FILE: &str = "calls.jsonl";

/// What a case is to expect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CaseExpects {
    /// What happened.
    AsItWas,
    /// That it is mended: until then the case is red.
    Fixed,
}

/// A case that was made.
#[derive(Clone, Debug)]
pub struct MadeCase {
    /// Its folder.
    pub dir: PathBuf,
    /// The calls in it.
    pub calls: usize,
    /// The events that its replay has in common with the run: all of them.
    pub events: usize,
}

/// Why a run is no case.
#[derive(Debug, thiserror::Error)]
pub enum CaseError {
    /// The journal cannot be read.
    #[error(transparent)]
    Journal(#[from] EngineError),
    /// It holds something that cannot be replayed.
    #[error("the run cannot be made a case: {0}")]
    NotReplayable(String),
    /// It was replayed, and came to something else.
    #[error("the replay is another than the run: {0}")]
    Differs(String),
    /// It would carry a secret.
    #[error("the case would hold a secret of the workspace in {}", .0.display())]
    Secret(PathBuf),
    /// It expects nothing that a run can be compared with.
    #[error("{0}")]
    NotComparable(String),
    /// A file cannot be written.
    #[error("{0}")]
    NotWritable(String),
    /// The case cannot be read.
    #[error(transparent)]
    Set(#[from] SetError),
}

impl From<StoreError> for CaseError {
    fn from(error: StoreError) -> Self {
        Self::Journal(error.into())
    }
}

fn unfit(reason: impl Into<String>) -> CaseError {
    CaseError::NotReplayable(reason.into())
}

/// What a case is made from, and where.
#[derive(Clone, Copy, Debug)]
pub struct CaseRequest<'a> {
    /// The run.
    pub run: &'a str,
    /// The folder to make.
    pub dir: &'a Path,
    /// What it is to expect.
    pub expects: CaseExpects,
    /// Who works in the workspace, where it does not say.
    pub user: &'a str,
}

/// Makes a case from a run, replays it, and keeps it only if it came to the same.
///
/// # Errors
/// [`CaseError`]; then there is no folder.
pub async fn case_from(
    workspace: &Workspace,
    store: &Store,
    request: CaseRequest<'_>,
) -> Result<MadeCase, CaseError> {
    if request.dir.exists() {
        let reason = format!("{} is there already", request.dir.display());
        return Err(CaseError::NotWritable(reason));
    }
    let made = make(workspace, store, request).await;
    if made.is_err() {
        // Why ignored: what could not be made is not there, or only in part.
        let _ = std::fs::remove_dir_all(request.dir);
    }
    made
}

async fn make(
    workspace: &Workspace,
    store: &Store,
    request: CaseRequest<'_>,
) -> Result<MadeCase, CaseError> {
    let history = History::read(store, request.run)?;
    let calls = calls::of_journal(store, &history.events, workspace)?;
    let people = words::of_journal(&history.events)?;
    let dir = request.dir;
    scratch::copy_rules(workspace, &dir.join(WORKSPACE_DIR)).map_err(CaseError::NotWritable)?;
    let lines = calls.iter().map(calls::to_line).collect::<String>();
    put(&dir.join(CALLS_FILE), &lines)?;
    let as_it_was = description(&history, &people, CaseExpects::AsItWas);
    put(&dir.join(CASE_FILE), &as_it_was)?;
    hold_secrets(workspace, dir)?;
    let replayed = replay(dir, request.user).await?;
    let events = same::compare(&history.events, &replayed).map_err(CaseError::Differs)?;
    if request.expects == CaseExpects::Fixed {
        put(
            &dir.join(CASE_FILE),
            &description(&history, &people, CaseExpects::Fixed),
        )?;
    }
    Ok(MadeCase {
        dir: dir.to_owned(),
        calls: calls.len(),
        events,
    })
}

/// Replays a case and judges it by what it expects.
///
/// # Errors
/// [`CaseError`] if it cannot be read or has nowhere to run.
pub async fn case_check(dir: &Path, user: &str) -> Result<RepeatReport, CaseError> {
    let scratch = scratch_dir()?;
    let judged = judged(dir, user, &scratch).await;
    let _ = std::fs::remove_dir_all(&scratch);
    judged
}

async fn judged(dir: &Path, user: &str, scratch: &Path) -> Result<RepeatReport, CaseError> {
    let case = read_case(dir)?;
    let repeat = Repeat {
        case: &case,
        planner: None,
        set_dir: dir,
        dir: scratch.to_owned(),
        n: 1,
        user,
    };
    Ok(repeat.judge(WORKSPACE_DIR.to_owned()).await)
}

/// The events of a replay.
async fn replay(dir: &Path, user: &str) -> Result<Vec<(Event, i64)>, CaseError> {
    let scratch = scratch_dir()?;
    let events = async {
        let report = judged(dir, user, &scratch).await?;
        let reason = report.reason.unwrap_or_default();
        let Some(run) = report.run.filter(|_| report.outcome != Outcome::NotJudged) else {
            return Err(CaseError::Differs(reason));
        };
        let store = Store::open_read_only(&scratch.join(WORKSPACE_DIR).join(STORE_DIR))?;
        Ok(History::read(&store, &run)?.events)
    }
    .await;
    let _ = std::fs::remove_dir_all(&scratch);
    events
}

fn scratch_dir() -> Result<PathBuf, CaseError> {
    let name = crate::owner::random_name();
    let name = name.map_err(|error| CaseError::NotWritable(error.to_string()))?;
    let dir = std::env::temp_dir().join(format!("provost-case-{name}"));
    let failed = |error| CaseError::NotWritable(format!("{}: {error}", dir.display()));
    let mut builder = std::fs::DirBuilder::new();
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(&dir).map_err(failed)?;
    Ok(dir)
}

fn put(path: &Path, text: &str) -> Result<(), CaseError> {
    std::fs::write(path, text)
        .map_err(|error| CaseError::NotWritable(format!("{}: {error}", path.display())))
}

/// The text of `case.yaml`: JSON in the lines of YAML, so that every value is quoted.
fn description(history: &History, people: &[Value], expects: CaseExpects) -> String {
    let state = &history.state;
    let goal = &state.goals.goal.text;
    let last = history.events.last().map_or(0, |(_, at)| *at);
    let mut text = format!(
        "# Made of run {}. `expect` holds what happened: correct it, since nobody says that it\n\
         # was right.\n\
         schema: {CASE_SCHEMA}\n\
         run: {}\n\
         recorded_at: {last}\n\
         goal: {}\n\
         people: {}\n",
        state.head.run,
        state.head.run,
        json!(goal),
        json!(people),
    );
    let status = state.status().word();
    let class = state.ending.ended.as_ref().and_then(|ended| ended.class);
    if expects == CaseExpects::Fixed {
        text.push_str("red: true # until it is mended\n");
        text.push_str(&format!("expect:\n  status: succeeded # was {status}\n"));
        return text;
    }
    text.push_str(&format!("expect:\n  status: {status} # was\n"));
    if let Some(class) = class {
        text.push_str(&format!("  class: {} # was\n", class.word()));
    }
    let effects: Vec<Value> = super::scope::effects(state)
        .into_iter()
        .map(|call| json!({ "operation": call.operation, "args": call.args }))
        .collect();
    text.push_str(&format!(
        "  effects: {} # was\n",
        json!({ "exactly": effects })
    ));
    text
}

/// Refuses a case in which a value stands that the workspace knows for a secret, in any form that
/// the redactor knows.
fn hold_secrets(workspace: &Workspace, dir: &Path) -> Result<(), CaseError> {
    let redactor = workspace.redactor();
    if redactor.is_empty() {
        return Ok(());
    }
    let mut folders = vec![dir.to_owned()];
    while let Some(folder) = folders.pop() {
        let failed = |error| CaseError::NotWritable(format!("{}: {error}", folder.display()));
        for entry in std::fs::read_dir(&folder).map_err(failed)? {
            let path = entry.map_err(failed)?.path();
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            let bytes = std::fs::read(&path).map_err(failed)?;
            if redactor.redact(&bytes) != bytes {
                return Err(CaseError::Secret(path));
            }
        }
    }
    Ok(())
}

/// A value as one line of canonical JSON.
fn line(value: &Value) -> String {
    canonical(value) + "\n"
}

/// The digest by which calls are told apart.
fn args_digest(args: &Value) -> Digest {
    Digest::of_value(provost_plan::digest::Domain::Args, args)
}
