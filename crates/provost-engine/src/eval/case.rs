//! Cases of runs that happened: what a journal tells becomes a folder that replays it.
//!
//! Owns the form of that folder. Invents nothing: what the journal does not hold, or what replays
//! otherwise, makes no case. INVARIANT: a case is written only after it was replayed, event by
//! event, and holds no value of a secret that the workspace knows; of one that is anonymized,
//! neither a value that was to be replaced. What is secret in a run stands in an anonymized one
//! alone, and there as something else.

use std::path::{Path, PathBuf};

use provost_plan::digest::{Digest, canonical};
use provost_wire::Redactor;
use serde_json::{Value, json};

use super::read::{SetError, read_case};
use super::repeat::Repeat;
use super::report::{Outcome, RepeatReport};
use super::scratch;
use crate::engine::EngineError;
use crate::history::History;
use crate::store::{Store, StoreError};
use crate::workspace::{STORE_DIR, Workspace};

mod anonymize;
pub(super) mod calls;
mod drawing;
mod material;
mod pieces;
mod same;
mod words;

use anonymize::Anonymizer;
pub use anonymize::ReplacedCounts;
use calls::CallsMade;

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
    /// What was replaced in it, if that was asked for.
    pub replaced: Option<ReplacedCounts>,
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
    /// It came to something else once its values were replaced.
    #[error("with its values replaced, the replay is another than the run: {0}")]
    ReplacedDiffers(String),
    /// A value that was to be replaced still stands in it.
    #[error("a value that was to be replaced still stands in {}", .0.display())]
    Remains(PathBuf),
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
    /// Whether people, mail addresses, long numbers and free text are replaced in it.
    pub anonymize: bool,
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
    let made = calls::of_journal(store, &history.events, workspace)?;
    if let Some((operation, _)) = made.secrets.first().filter(|_| !request.anonymize) {
        return Err(unfit(format!(
            "`{operation}` takes or gives a secret, which stands in no case as it is"
        )));
    }
    let draft = CaseDraft {
        made,
        history,
        request,
    };
    let dir = request.dir;
    let rules = dir.join(WORKSPACE_DIR);
    let (replayed, events) = draft.control(workspace).await?;
    let mut shown = Anonymizer::default();
    if request.anonymize {
        shown = draft.anonymizer(workspace, &rules)?;
        material::rewrite(&rules, &shown)?;
        draft.write(dir, &shown, CaseExpects::AsItWas, Some(shown.counts()))?;
        hold_secrets(workspace, dir)?;
        draft.hold_replaced(&shown, &rules)?;
        let again = replay(dir, request.user)
            .await
            .map_err(|error| match error {
                CaseError::Differs(reason) => CaseError::ReplacedDiffers(reason),
                other => other,
            })?;
        let compared = same::compare_shape(&replayed, &again);
        compared.map_err(CaseError::ReplacedDiffers)?;
    }
    let replaced = request.anonymize.then(|| shown.counts());
    if request.expects == CaseExpects::Fixed {
        draft.write(dir, &shown, CaseExpects::Fixed, replaced)?;
    }
    Ok(MadeCase {
        dir: dir.to_owned(),
        calls: draft.made.calls.len(),
        events,
        replaced,
    })
}

/// What a case is written from.
struct CaseDraft<'a> {
    history: History,
    made: CallsMade,
    request: CaseRequest<'a>,
}

impl CaseDraft<'_> {
    /// The replay before anything is replaced, and how many events it has in common with the run.
    /// Why elsewhere where there are secrets: one must stand in the case for no moment.
    async fn control(&self, workspace: &Workspace) -> Result<(Replayed, usize), CaseError> {
        let CaseRequest { dir, user, .. } = self.request;
        let copy = |dir: &Path| {
            let copied = scratch::copy_rules(workspace, &dir.join(WORKSPACE_DIR));
            copied.map_err(CaseError::NotWritable)
        };
        let none = Anonymizer::default();
        let replayed = if self.made.secrets.is_empty() {
            copy(dir)?;
            self.write(dir, &none, CaseExpects::AsItWas, None)?;
            hold_secrets(workspace, dir)?;
            replay(dir, user).await?
        } else {
            let apart = scratch_dir()?;
            let replayed = async {
                copy(&apart)?;
                self.write(&apart, &none, CaseExpects::AsItWas, None)?;
                replay(&apart, user).await
            }
            .await;
            let _ = std::fs::remove_dir_all(&apart);
            copy(dir)?;
            replayed?
        };
        let compared = same::compare(&self.history.events, &replayed.history.events);
        Ok((replayed, compared.map_err(CaseError::Differs)?))
    }

    /// Writes the calls and the description, with what stands for their values.
    fn write(
        &self,
        dir: &Path,
        shown: &Anonymizer,
        expects: CaseExpects,
        counts: Option<ReplacedCounts>,
    ) -> Result<(), CaseError> {
        let calls = self
            .made
            .calls
            .iter()
            .map(|call| calls::replaced(call, shown));
        let lines: String = calls.map(|call| calls::to_line(&call)).collect();
        put(&dir.join(CALLS_FILE), &lines)?;
        let people = words::of_journal(&self.history.events, shown)?;
        let mut text = description(&self.history, &people, expects, shown);
        if let Some(counts) = counts {
            let ReplacedCounts {
                people,
                mails,
                numbers,
                texts,
                secrets,
            } = counts;
            text.push_str(&format!(
                "replaced: {{ people: {people}, mails: {mails}, numbers: {numbers}, \
                 texts: {texts}, secrets: {secrets} }}\n"
            ));
        }
        put(&dir.join(CASE_FILE), &text)
    }

    fn anonymizer(&self, workspace: &Workspace, rules: &Path) -> Result<Anonymizer, CaseError> {
        let calls = &self.made.calls;
        let mut found = material::of_run(workspace, &self.history, calls, rules)?;
        for (operation, value) in &self.made.secrets {
            let kept = found.secret(value);
            kept.map_err(|reason| unfit(format!("`{operation}`: {reason}")))?;
        }
        // Why by chance: whoever had the key could try names until one fits.
        let key = crate::owner::random_key();
        let key = key.map_err(|error| CaseError::NotWritable(error.to_string()))?;
        let shown = Anonymizer::of(&found, &key);
        match shown.keeps_secret(&material::all_rules(rules)?) {
            true => Err(unfit("a secret has no word that could be replaced")),
            false => Ok(shown),
        }
    }

    /// Refuses the case if a value that was replaced still stands in it.
    fn hold_replaced(&self, shown: &Anonymizer, rules: &Path) -> Result<(), CaseError> {
        let dir = self.request.dir;
        let redactor = shown.remains(&material::all_rules(rules)?);
        if let Some(path) = first_with(&redactor, dir)? {
            return Err(CaseError::Remains(path));
        }
        let path = dir.join(CALLS_FILE);
        let written = calls::read(&path).map_err(CaseError::NotWritable)?;
        let mut texts = written.iter().flat_map(calls::texts);
        match texts.any(|text| shown.remains_in(&text)) {
            true => Err(CaseError::Remains(path)),
            false => Ok(()),
        }
    }
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

/// What came of a replay.
struct Replayed {
    history: History,
    report: RepeatReport,
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

/// Replays a case, and keeps what came of it.
async fn replay(dir: &Path, user: &str) -> Result<Replayed, CaseError> {
    let scratch = scratch_dir()?;
    let replayed = async {
        let report = judged(dir, user, &scratch).await?;
        let run = report.run.as_deref();
        let Some(run) = run.filter(|_| report.outcome != Outcome::NotJudged) else {
            return Err(CaseError::Differs(report.reason.unwrap_or_default()));
        };
        let store = Store::open_read_only(&scratch.join(WORKSPACE_DIR).join(STORE_DIR))?;
        let history = History::read(&store, run)?;
        Ok(Replayed { history, report })
    }
    .await;
    let _ = std::fs::remove_dir_all(&scratch);
    replayed
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
fn description(
    history: &History,
    people: &[Value],
    expects: CaseExpects,
    shown: &Anonymizer,
) -> String {
    let state = &history.state;
    let goal = shown.text(&state.goals.goal.text);
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
        .map(|call| json!({ "operation": call.operation, "args": shown.value(&call.args) }))
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
    match first_with(&workspace.redactor(), dir)? {
        Some(path) => Err(CaseError::Secret(path)),
        None => Ok(()),
    }
}

/// The first file below a folder in which something stands that a redactor takes out.
fn first_with(redactor: &Redactor, dir: &Path) -> Result<Option<PathBuf>, CaseError> {
    if redactor.is_empty() {
        return Ok(None);
    }
    for path in material::files_below(dir)? {
        let failed = |error| CaseError::NotWritable(format!("{}: {error}", path.display()));
        let bytes = std::fs::read(&path).map_err(failed)?;
        if redactor.redact(&bytes) != bytes {
            return Ok(Some(path));
        }
    }
    Ok(None)
}

/// A value as one line of canonical JSON.
fn line(value: &Value) -> String {
    canonical(value) + "\n"
}

/// The digest by which calls are told apart.
fn args_digest(args: &Value) -> Digest {
    Digest::of_value(provost_plan::digest::Domain::Args, args)
}
