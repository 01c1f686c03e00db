//! The files of the workspace while it is served: read anew when somebody says so, and when they
//! changed.
//!
//! Owns the change from one reading to the next, and what is told of the files. Reads them as the
//! front end did, and judges nothing in them. INVARIANT: files that cannot be used change nothing:
//! what stood stays in force, and whoever looks is told.

use std::sync::Arc;

use provost_engine::clock::now_ms;
use provost_engine::engine::Engine;
use provost_engine::people::Credential;
use provost_engine::work::{Listener, WorkEvent};
use provost_engine::workspace::{Workspace, WorkspaceError, WorkspaceTexts};
use provost_plan::render;
use serde_json::{Value, json};
use tokio::sync::watch;
use tokio::time::MissedTickBehavior;

use crate::app::{App, Shared};
use crate::door::Viewer;
use crate::limits::FILES_LOOK;
use crate::problem::{Problem, ProblemKind};
use crate::serve::ServeError;

/// What is known of the files.
pub(crate) struct ServedFiles {
    /// The files that the process started under: some tables count for no other.
    started: Workspace,
    /// Held by whoever reads.
    reading: tokio::sync::Mutex<()>,
    state: watch::Sender<FilesState>,
    news: watch::Sender<Option<String>>,
}

/// How the files stand.
#[derive(Clone, Debug, Default)]
pub(crate) struct FilesState {
    /// When those that are in force were read.
    pub(crate) read_ms: i64,
    /// Why others are not in force that were found later.
    refused: Option<RefusedFiles>,
    /// The tables that differ from those that the process started under.
    pub(crate) at_start: Vec<&'static str>,
}

impl FilesState {
    /// Why others are not in force, if some are not.
    pub(crate) fn why_refused(&self) -> Option<&str> {
        Some(&self.refused.as_ref()?.why.detail)
    }
}

/// Files that cannot be used.
#[derive(Clone, Debug)]
struct RefusedFiles {
    at_ms: i64,
    texts: WorkspaceTexts,
    why: Problem,
}

impl ServedFiles {
    /// Those that a process starts under.
    pub(crate) fn of(workspace: &Workspace) -> Self {
        let state = FilesState {
            read_ms: now_ms(),
            ..FilesState::default()
        };
        Self {
            started: workspace.clone(),
            reading: tokio::sync::Mutex::default(),
            state: watch::Sender::new(state),
            news: watch::Sender::default(),
        }
    }

    /// What becomes of them, in words.
    pub(crate) fn news(&self) -> watch::Receiver<Option<String>> {
        self.news.subscribe()
    }

    /// How they stand, from now on.
    pub(crate) fn changes(&self) -> watch::Receiver<FilesState> {
        self.state.subscribe()
    }

    /// How they stand.
    pub(crate) fn stand(&self) -> FilesState {
        self.state.borrow().clone()
    }

    /// How they stand, as data; what is wrong with them for who may know what stands in them.
    pub(crate) fn to_json(&self, governs: bool) -> Value {
        let state = self.stand();
        let refused = state.refused.as_ref().map(|refused| {
            let why = governs.then(|| refused.why.to_json());
            let findings = why.as_ref().and_then(|why| why.get("findings"));
            json!({
                "at_ms": refused.at_ms,
                "detail": refused.why.detail,
                "findings": findings,
            })
        });
        json!({
            "read_ms": state.read_ms,
            "refused": refused,
            "restart": state.at_start,
        })
    }

    /// Whether something is done about these texts already: they are in force, or were refused.
    fn knows(&self, in_force: &Workspace, texts: &WorkspaceTexts) -> bool {
        let current = in_force.texts() == *texts;
        if current {
            let refused = |state: &mut FilesState| state.refused.take().is_some();
            self.state.send_if_modified(refused);
            return true;
        }
        matches!(&self.stand().refused, Some(refused) if refused.texts == *texts)
    }
}

/// [`read_anew`], for who says so.
///
/// # Errors
/// As [`read_anew`].
pub(crate) async fn read_anew_by(app: &App, viewer: &Viewer) -> Result<(), Problem> {
    let by = &viewer.principal.id;
    app.database.note(by, "had the files read anew")?;
    read_anew(app).await
}

/// Reads the files anew and puts them in force: for what begins from now on, and for each run that
/// is driven from its next dispatch on.
///
/// # Errors
/// [`ProblemKind::Findings`] if they cannot be used: then nothing has changed.
pub(crate) async fn read_anew(app: &App) -> Result<(), Problem> {
    let _reading = app.files.reading.lock().await;
    let (texts, read) = app
        .read(|shared| Ok((shared.workspace().texts_now(), renewed(shared))))
        .await?;
    let new = match read {
        Ok(new) => Arc::new(new),
        Err(why) => {
            let detail = &why.detail;
            let told = format!("the files were not read anew, those of before count: {detail}");
            app.files.news.send_replace(Some(told));
            let refused = RefusedFiles {
                at_ms: now_ms(),
                texts,
                why: why.clone(),
            };
            app.files
                .state
                .send_modify(|state| state.refused = Some(refused));
            return Err(why);
        }
    };
    let at_start = app.files.started.differs_at_start(new.workspace());
    let told = match at_start.is_empty() {
        true => "the files were read anew".to_owned(),
        false => format!(
            "the files were read anew; {} counts after a restart",
            at_start.join(", ")
        ),
    };
    let old = app.engines.send_replace(Arc::clone(&new));
    old.supersede();
    new.nudge();
    app.files.state.send_replace(FilesState {
        read_ms: now_ms(),
        refused: None,
        at_start,
    });
    app.files.news.send_replace(Some(told));
    app.read(sign_out_who_left).await
}

/// The engine under the files as they are now.
fn renewed(shared: &Shared) -> Result<Engine, Problem> {
    let unfit = |detail: String| Problem::new(ProblemKind::Findings, detail);
    let workspace = (shared.lent.reread)().map_err(|error| refused(&error))?;
    refuse_unfit(shared, &workspace)?;
    let new = shared.engine().renewed(workspace);
    new.map_err(|error| unfit(error.to_string()))
}

/// Files that can be used, and not by a process that was started under others.
fn refuse_unfit(shared: &Shared, workspace: &Workspace) -> Result<(), Problem> {
    let unfit = |detail: &str| Err(Problem::new(ProblemKind::Findings, detail));
    let solo = workspace.is_solo();
    if solo != shared.door.is_solo() {
        return match solo {
            true => unfit("`policies/solo.cedar` is there now, and a team is served"),
            false => unfit("`policies/solo.cedar` is gone, and one person is served"),
        }
        .map_err(|problem| problem.hint("start the server again"));
    }
    if !solo && workspace.people().names().next().is_none() {
        return unfit(&ServeError::NoPeople.to_string());
    }
    let required = workspace.required();
    let key = shared.voucher.as_ref().map(|key| key.public());
    let vouches = key.is_some_and(|key| required.vouchers.contains(&key));
    if required.least == Credential::Login && !vouches {
        return unfit("`require = \"login\"` needs a key of this server in `vouchers`");
    }
    Ok(())
}

fn refused(error: &WorkspaceError) -> Problem {
    let findings: Vec<Value> = error
        .findings()
        .iter()
        .flat_map(|one| match render::to_json(&one.source, &one.diagnostics) {
            Value::Array(list) => list,
            other => vec![other],
        })
        .collect();
    Problem::new(ProblemKind::Findings, error.to_string()).with("findings", json!(findings))
}

/// Whoever left has no session any more, also if they come back.
fn sign_out_who_left(shared: &Shared) -> Result<(), Problem> {
    let workspace = shared.workspace();
    if workspace.is_solo() {
        return Ok(());
    }
    for session in shared.database.sessions(None)? {
        if !workspace.people().is_listed(&session.person) {
            shared.database.end(None, Some(&session.digest))?;
            shared.database.note(&session.person, "left, signed out")?;
        }
    }
    Ok(())
}

/// Looks at the files until the process is told to end, and reads them anew once they changed.
pub(crate) async fn watch(app: App) {
    let mut halt = app.halt.clone();
    let mut looks = tokio::time::interval(FILES_LOOK);
    looks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut before = None;
    loop {
        tokio::select! {
            _ = halt.wait_for(|told| *told) => return,
            _ = looks.tick() => {}
        }
        let looked = app.read(|shared| {
            let in_force = shared.workspace();
            let texts = in_force.texts_now();
            Ok((!shared.files.knows(&in_force, &texts)).then_some(texts))
        });
        // Why at the second look: whoever writes several files, or a long one, may not be done.
        let Ok(Some(now)) = looked.await else {
            before = None;
            continue;
        };
        if before.replace(now.clone()) == Some(now) {
            before = None;
            // Why ignored: why not is kept, and told to whoever looks.
            let _ = read_anew(&app).await;
        }
    }
}

/// Tells what becomes of the files; never ends.
pub(crate) async fn tell(mut news: watch::Receiver<Option<String>>, listener: &Listener<'_>) {
    while news.changed().await.is_ok() {
        let told = news.borrow_and_update().clone();
        if let Some(told) = told {
            listener(&WorkEvent::Workspace(&told));
        }
    }
    std::future::pending::<()>().await;
}
