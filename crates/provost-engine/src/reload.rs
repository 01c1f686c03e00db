//! The workspace of a process that goes on: its files read anew, when they changed or somebody says
//! so.
//!
//! Owns the change from one reading to the next: the engine that stands, and how the files stand.
//! Opens the workspace as the front end did, and judges nothing in it. INVARIANT: files that cannot
//! be used put nothing in force: what stood stays, and whoever looks is told. They take away one
//! thing: who is not listed in them any more has left.

use std::sync::Arc;

use tokio::sync::{Mutex, watch};
use tokio::time::{Interval, MissedTickBehavior};

use crate::clock::now_ms;
use crate::engine::{Engine, EngineError};
use crate::limits::FILES_LOOK;
use crate::work::{Listener, WorkEvent};
use crate::workspace::{Workspace, WorkspaceError, WorkspaceTexts, people_now};

/// How the front end opened the workspace: the same, from its files as they are now.
pub type Reread = dyn Fn() -> Result<Workspace, WorkspaceError> + Send + Sync;

/// Whether a process that was started under other files can go on under these.
pub type FitForProcess = dyn Fn(&Workspace) -> Result<(), ReloadError> + Send + Sync;

/// Why files are not in force.
#[derive(Debug, thiserror::Error)]
pub enum ReloadError {
    /// They have errors.
    #[error(transparent)]
    Workspace(#[from] WorkspaceError),
    /// A tool in them cannot be opened.
    #[error(transparent)]
    Engine(#[from] EngineError),
    /// They are for a process that starts under them.
    #[error("{detail}")]
    Unfit {
        /// What is in the way.
        detail: String,
        /// What to do, if that follows.
        hint: Option<&'static str>,
    },
    /// Nobody could read them: the process is ending.
    #[error("the files could not be read")]
    Halted,
}

/// How the files stand.
#[derive(Clone, Debug, Default)]
pub struct FilesState {
    /// When those that are in force were read, in milliseconds since the epoch.
    pub read_ms: i64,
    /// Those that were found later and are not in force.
    pub refused: Option<RefusedFiles>,
    /// The tables that differ from those that the process started under.
    pub at_start: Vec<&'static str>,
}

/// Files that cannot be used.
#[derive(Clone, Debug)]
pub struct RefusedFiles {
    /// When they were found.
    pub at_ms: i64,
    /// Why not.
    pub why: Arc<ReloadError>,
    texts: WorkspaceTexts,
    /// People of the files in force who are not listed any more.
    left: Vec<String>,
}

/// What became of files that were read again.
#[derive(Clone, Debug)]
pub struct FilesNews {
    /// What happened.
    pub text: String,
    /// Whether they were refused: then somebody has to act.
    pub is_refused: bool,
    /// Why, if they are files of the workspace.
    pub why: Option<Arc<ReloadError>>,
}

impl FilesNews {
    /// Of files that are in force, in one sentence.
    #[must_use]
    pub const fn in_force(text: String) -> Self {
        Self {
            text,
            is_refused: false,
            why: None,
        }
    }

    /// Of files that were refused, in one sentence.
    #[must_use]
    pub const fn refused(text: String) -> Self {
        Self {
            text,
            is_refused: true,
            why: None,
        }
    }
}

/// A workspace that is read anew while a process works on it.
pub struct LiveWorkspace {
    /// The files that the process started under: some tables count for no other.
    started: Workspace,
    engines: watch::Sender<Arc<Engine>>,
    state: watch::Sender<FilesState>,
    news: watch::Sender<Option<FilesNews>>,
    /// Held by whoever reads.
    reading: Mutex<()>,
    reread: Arc<Reread>,
    fits: Box<FitForProcess>,
}

/// What files have become, once two looks in a row find the same. Why not at the first: whoever
/// writes several files, or a long one, may not be done.
pub struct SettledFiles<T> {
    looks: Interval,
    before: Option<T>,
}

impl<T> Default for SettledFiles<T> {
    /// The first look is at once, and each other [`FILES_LOOK`] after the one before.
    fn default() -> Self {
        let mut looks = tokio::time::interval(FILES_LOOK);
        looks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        Self {
            looks,
            before: None,
        }
    }
}

impl<T: PartialEq + Send + 'static> SettledFiles<T> {
    /// The next change, which `look` finds as long as nothing is done about it; none once the
    /// process is told to end.
    pub async fn next(
        &mut self,
        halt: &mut watch::Receiver<bool>,
        look: &(impl Fn() -> Option<T> + Clone + Send + 'static),
    ) -> Option<T> {
        loop {
            tokio::select! {
                _ = halt.wait_for(|told| *told) => return None,
                _ = self.looks.tick() => {}
            }
            let before = self.before.take();
            let looked = tokio::task::spawn_blocking(look.clone()).await;
            self.before = looked.ok().flatten();
            if self.before.is_some() && self.before == before {
                return self.before.take();
            }
        }
    }
}

impl LiveWorkspace {
    /// Of a process that starts with this engine.
    #[must_use]
    pub fn of(engine: &Arc<Engine>, reread: Arc<Reread>, fits: Box<FitForProcess>) -> Arc<Self> {
        let state = FilesState {
            read_ms: now_ms(),
            ..FilesState::default()
        };
        Arc::new(Self {
            started: Workspace::clone(engine.workspace()),
            engines: watch::Sender::new(Arc::clone(engine)),
            state: watch::Sender::new(state),
            news: watch::Sender::default(),
            reading: Mutex::default(),
            reread,
            fits,
        })
    }

    /// The engine under the files that are in force.
    #[must_use]
    pub fn engine(&self) -> Arc<Engine> {
        Arc::clone(&self.engines.borrow())
    }

    /// The engine that stands, and each that comes after it.
    #[must_use]
    pub fn engines(&self) -> watch::Receiver<Arc<Engine>> {
        self.engines.subscribe()
    }

    /// How the files stand.
    #[must_use]
    pub fn stand(&self) -> FilesState {
        self.state.borrow().clone()
    }

    /// How the files stand, and each change of it.
    #[must_use]
    pub fn changes(&self) -> watch::Receiver<FilesState> {
        self.state.subscribe()
    }

    /// Reads the files anew and puts them in force: for what begins from now on, and for each run
    /// that is driven from its next dispatch on.
    ///
    /// # Errors
    /// [`ReloadError`] if they cannot be used: then nothing has changed.
    pub async fn read_anew(self: &Arc<Self>) -> Result<(), Arc<ReloadError>> {
        let _reading = self.reading.lock().await;
        let live = Arc::clone(self);
        let read = tokio::task::spawn_blocking(move || {
            let texts = live.engine().workspace().texts_now();
            let read = live.renewed();
            let left = read.as_ref().map_or_else(|_| live.left(), |_| Vec::new());
            (texts, read, left)
        });
        let (texts, read, left) = read.await.map_err(|_| ReloadError::Halted)?;
        let new = match read {
            Ok(new) => Arc::new(new),
            Err(why) => {
                let text = format!(
                    "the changed files are refused, the files of before stay in force: {why}"
                );
                let why = Arc::new(why);
                self.tell(FilesNews {
                    why: Some(Arc::clone(&why)),
                    ..FilesNews::refused(text)
                });
                let refused = RefusedFiles {
                    at_ms: now_ms(),
                    why: Arc::clone(&why),
                    texts,
                    left,
                };
                self.state
                    .send_modify(|state| state.refused = Some(refused));
                return Err(why);
            }
        };
        let at_start = self.started.differs_at_start(new.workspace());
        let told = match at_start.is_empty() {
            true => "the changed files are in force".to_owned(),
            false => format!(
                "the changed files are in force, but for {}: that needs a restart",
                at_start.join(", ")
            ),
        };
        let old = self.engines.send_replace(Arc::clone(&new));
        old.supersede();
        new.nudge();
        self.state.send_replace(FilesState {
            read_ms: now_ms(),
            refused: None,
            at_start,
        });
        self.tell(FilesNews::in_force(told));
        Ok(())
    }

    /// Whom the files in force list, and the files as they are now do not.
    fn left(&self) -> Vec<String> {
        let in_force = Arc::clone(self.engine().workspace());
        let now = people_now(in_force.root());
        let names = in_force.people().names();
        let left = names.filter(|name| now.as_ref().is_some_and(|now| !now.is_listed(name)));
        left.map(str::to_owned).collect()
    }

    /// Whether a person is listed: in the files in force, and in those of now that are refused.
    #[must_use]
    pub fn is_listed(&self, person: &str) -> bool {
        let state = self.state.borrow();
        let mut left = state.refused.iter().flat_map(|refused| &refused.left);
        !left.any(|name| name == person) && self.engine().workspace().people().is_listed(person)
    }

    /// The engine under the files as they are now.
    fn renewed(&self) -> Result<Engine, ReloadError> {
        let workspace = (self.reread)()?;
        (self.fits)(&workspace)?;
        Ok(self.engine().renewed(workspace)?)
    }

    /// Looks at the files until the process is told to end, and reads them anew once they changed.
    pub async fn watch(self: &Arc<Self>, mut halt: watch::Receiver<bool>) {
        let mut changes = SettledFiles::default();
        let live = Arc::clone(self);
        let look = move || live.unknown_texts();
        while changes.next(&mut halt, &look).await.is_some() {
            // Why ignored: why not is kept, and told to whoever looks.
            let _ = self.read_anew().await;
        }
    }

    /// The texts as they are now, if nothing was done about them: they are not in force, and were
    /// not refused.
    fn unknown_texts(&self) -> Option<WorkspaceTexts> {
        let in_force = Arc::clone(self.engine().workspace());
        let texts = in_force.texts_now();
        if in_force.texts() == texts {
            let refused = |state: &mut FilesState| state.refused.take().is_some();
            if self.state.send_if_modified(refused) {
                let told = "the files are again as those in force";
                self.tell(FilesNews::in_force(told.to_owned()));
            }
            return None;
        }
        let state = self.state.borrow();
        let known = state.refused.as_ref().map(|refused| &refused.texts);
        (known != Some(&texts)).then_some(texts)
    }

    /// Tells whoever [`LiveWorkspace::report`] tells: of a file that belongs to the workspace and
    /// that whoever serves it reads.
    pub fn tell(&self, news: FilesNews) {
        self.news.send_replace(Some(news));
    }

    /// Tells what becomes of the files; never ends.
    pub async fn report(&self, listener: &Listener<'_>) {
        let mut news = self.news.subscribe();
        while news.changed().await.is_ok() {
            let told = news.borrow_and_update().clone();
            if let Some(told) = told {
                listener(&WorkEvent::Workspace(&told));
            }
        }
        std::future::pending::<()>().await;
    }
}
