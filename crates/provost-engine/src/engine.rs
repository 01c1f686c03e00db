//! The library's front door: open a workspace, begin runs, take them up, look at them.
//!
//! Owns the join of workspace, store and tools. Never prints. INVARIANT: a run is driven only by
//! the process that holds its claim.

use std::sync::Arc;

use provost_plan::plan::Goal;
use provost_planner::Planner;
use provost_run::event::{AskMode, Event, PlannerChoice, RunCreated};
use provost_run::machine::{Input, Rules, Run, StepError};
use provost_run::state::FoldError;
use provost_tools::{Toolbox, Trouble};

use crate::clock::now_ms;
use crate::owner::{Claim, random_name};
use crate::session::{DriveError, Session, Watcher};
use crate::store::{FindError, RunFilter, RunRow, Store, StoreError};
use crate::workspace::Workspace;

/// A workspace with its journal and its tools.
pub struct Engine {
    workspace: Arc<Workspace>,
    store: Arc<Store>,
    toolbox: Arc<Toolbox>,
}

/// What a run is to be.
#[derive(Clone, Debug)]
pub struct NewRun {
    /// The goal.
    pub goal: Goal,
    /// Who read the goal, in words.
    pub interpreted_by: String,
    /// Which planner.
    pub planner: PlannerChoice,
    /// When a person is asked.
    pub ask: AskMode,
    /// Whether an unfinished run with the same goal is no obstacle.
    pub again: bool,
}

/// A run could not be begun, taken up or read.
#[derive(Debug, thiserror::Error)]
pub enum EngineError {
    /// The journal.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The run is not there, or its name is short.
    #[error(transparent)]
    Find(#[from] FindError),
    /// A tool cannot be opened.
    #[error("{0}")]
    Tools(String),
    /// The run was not driven.
    #[error(transparent)]
    Drive(#[from] DriveError),
    /// The journal does not fold.
    #[error("run `{run}` cannot be read: {reason}")]
    Journal {
        /// The run.
        run: String,
        /// Why.
        reason: String,
    },
    /// Another process drives it.
    #[error("run `{run}` is driven by another process{}", named(*pid))]
    Held {
        /// The run.
        run: String,
        /// Its process id.
        pid: Option<u32>,
    },
    /// An unfinished run has the same goal.
    #[error("run `{run}` has the same goal and is not finished: it is {status}")]
    SameGoal {
        /// The run.
        run: String,
        /// Its status.
        status: String,
    },
    /// The playbook of a run is gone.
    #[error("the playbook `{name}` of the run is not in this workspace")]
    NoPlaybook {
        /// Its name.
        name: String,
    },
    /// A tool the plan needs cannot work.
    #[error("the tool `{tool}` cannot work: {message}")]
    Trouble {
        /// The tool.
        tool: String,
        /// Why, and what to do.
        message: String,
    },
    /// The system has no randomness.
    #[error("no id could be drawn: {0}")]
    Random(#[from] std::io::Error),
}

/// A run as read from its journal.
pub struct Record {
    /// The events, with the moments they were recorded at.
    pub events: Vec<(Event, i64)>,
    /// The run they fold to.
    pub run: Run,
}

impl Engine {
    /// Opens the journal and the tools of a workspace.
    ///
    /// # Errors
    /// [`EngineError::Store`] if the journal cannot be written, [`EngineError::Tools`] if a tool
    /// cannot be opened.
    pub fn open(workspace: Workspace) -> Result<Self, EngineError> {
        // Why before the journal: a workspace whose tools do not open leaves no trace of a try.
        let toolbox = open_tools(&workspace)?;
        let store = Store::open(&workspace.store_dir())?;
        Ok(Self::with(workspace, store, toolbox))
    }

    /// Opens a workspace to look at only: no run can be begun or taken up, and no tool is opened.
    ///
    /// # Errors
    /// [`EngineError::Store`] if there is no journal or it cannot be read.
    pub fn open_to_read(workspace: Workspace) -> Result<Self, EngineError> {
        let store = Store::open_read_only(&workspace.store_dir())?;
        let toolbox = Toolbox::open(workspace.root(), Vec::new()).map_err(no_tools)?;
        Ok(Self::with(workspace, store, toolbox))
    }

    fn with(workspace: Workspace, store: Store, toolbox: Toolbox) -> Self {
        Self {
            workspace: Arc::new(workspace),
            store: Arc::new(store),
            toolbox: Arc::new(toolbox),
        }
    }

    /// The workspace.
    #[must_use]
    pub fn workspace(&self) -> &Workspace {
        &self.workspace
    }

    /// The journal.
    #[must_use]
    pub fn store(&self) -> &Store {
        &self.store
    }

    fn rules(&self) -> Rules {
        Rules {
            catalog: self.workspace.catalog().clone(),
            policy: self.workspace.policy().clone(),
        }
    }

    fn planner(
        &self,
        choice: &PlannerChoice,
    ) -> Result<Box<dyn Planner + Send + Sync>, EngineError> {
        self.workspace
            .planner(choice)
            .ok_or_else(|| EngineError::NoPlaybook {
                name: match choice {
                    PlannerChoice::Playbook { name } => name.clone(),
                    PlannerChoice::File { playbook, .. } => playbook.clone().unwrap_or_default(),
                },
            })
    }

    /// Begins a run; nothing is called before the first [`Session::drive`].
    ///
    /// # Errors
    /// [`EngineError::SameGoal`] if an unfinished run has the same goal.
    pub async fn begin(
        &self,
        new: NewRun,
        watcher: &mut dyn Watcher,
    ) -> Result<Session, EngineError> {
        if !new.again
            && let Some(row) = self.unfinished_with(&new.goal.text)?
        {
            return Err(EngineError::SameGoal {
                run: row.id,
                status: row.status,
            });
        }
        let planner = self.planner(&new.planner)?;
        self.refuse_troubled(&new.planner)?;
        let run = random_name()?;
        let created = RunCreated {
            run,
            goal: new.goal,
            planner: new.planner,
            principal: self.workspace.user().clone(),
            limits: self.workspace.limits().clone(),
            ask: new.ask,
            solo: self.workspace.is_solo(),
        };
        let (run, output) = Run::create(created, &new.interpreted_by, self.rules(), now_ms())
            .map_err(DriveError::from)?;
        let mut session = Session::new(run, self.store.clone(), self.toolbox.clone(), planner);
        session.keep(output, watcher).await?;
        Ok(session)
    }

    /// A run whose tools cannot work is not begun: it would only fail later and slower.
    fn refuse_troubled(&self, planner: &PlannerChoice) -> Result<(), EngineError> {
        let named = self.workspace.tools_named(planner);
        let uses = |tool: &str| {
            named
                .iter()
                .any(|name| name.split('.').next() == Some(tool))
        };
        match self
            .toolbox
            .troubles()
            .into_iter()
            .find(|trouble| uses(&trouble.tool))
        {
            Some(Trouble { tool, message }) => Err(EngineError::Trouble { tool, message }),
            None => Ok(()),
        }
    }

    fn unfinished_with(&self, goal: &str) -> Result<Option<RunRow>, EngineError> {
        let same = |row: &RunRow| words(&row.goal).eq(words(goal));
        let rows = self.store.runs(&RunFilter::unfinished())?;
        Ok(rows.into_iter().find(same))
    }

    /// Takes up a run that an earlier process left: what was in flight is lost and settled by the
    /// machine's rules.
    ///
    /// # Errors
    /// [`EngineError::Held`] if a living process drives it.
    pub async fn take_up(
        &self,
        run: &str,
        watcher: &mut dyn Watcher,
    ) -> Result<Session, EngineError> {
        let mut session = self.claim(run).await?;
        match session.give(Input::Resume, watcher).await {
            Ok(()) | Err(DriveError::Step(StepError::Over { .. })) => Ok(session),
            Err(error) => Err(error.into()),
        }
    }

    async fn claim(&self, run: &str) -> Result<Session, EngineError> {
        match self.store.claim(run).await? {
            Claim::Taken => {}
            Claim::HeldBy { pid } => {
                return Err(EngineError::Held {
                    run: run.to_owned(),
                    pid,
                });
            }
        }
        let record = self.read(run)?;
        let planner = self.planner(&record.run.state().planner)?;
        Ok(Session::new(
            record.run,
            self.store.clone(),
            self.toolbox.clone(),
            planner,
        ))
    }

    /// Reads a run's journal, its chain checked on the way.
    ///
    /// # Errors
    /// [`EngineError::Journal`] if an event cannot be read or does not follow.
    pub fn read(&self, run: &str) -> Result<Record, EngineError> {
        let stored = self.store.load(run)?;
        let journal = |reason: String| EngineError::Journal {
            run: run.to_owned(),
            reason,
        };
        let mut events = Vec::with_capacity(stored.len());
        for row in stored {
            let event = Event::from_stored(&row.kind, row.version, &row.payload)
                .map_err(|error| journal(error.to_string()))?;
            events.push((event, row.at_ms));
        }
        let pairs = events.iter().map(|(event, at)| (event, *at));
        let run = Run::from_journal(pairs, self.rules())
            .map_err(|error: FoldError| journal(error.to_string()))?;
        Ok(Record { events, run })
    }

    /// The full id of the run that `prefix` begins.
    ///
    /// # Errors
    /// [`FindError`] if none or several begin so.
    pub fn find(&self, prefix: &str) -> Result<String, EngineError> {
        Ok(self.store.find(prefix)?)
    }
}

/// Opens every tool of a workspace.
///
/// # Errors
/// [`EngineError::Tools`] with a line for each that cannot be opened.
pub fn open_tools(workspace: &Workspace) -> Result<Toolbox, EngineError> {
    Toolbox::open(workspace.root(), workspace.tools().to_vec()).map_err(no_tools)
}

#[expect(clippy::needless_pass_by_value, reason = "the shape `map_err` wants")]
fn no_tools<E: std::fmt::Display>(errors: Vec<E>) -> EngineError {
    let lines: Vec<String> = errors.iter().map(ToString::to_string).collect();
    EngineError::Tools(lines.join("\n"))
}

fn words(text: &str) -> impl Iterator<Item = String> + '_ {
    text.split_whitespace().map(str::to_lowercase)
}

/// The number of a process, where it is known.
fn named(pid: Option<u32>) -> String {
    pid.map_or_else(String::new, |pid| format!(" (pid {pid})"))
}
