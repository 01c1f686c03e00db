//! The library's front door: open a workspace, begin runs, take them up, look at them.
//!
//! Owns the join of workspace, store and tools. Never prints. INVARIANT: a run is driven only by
//! the process that holds its claim, and there by one session at a time.

use std::collections::BTreeSet;
use std::sync::Arc;

use provost_plan::diagnostic::Diagnostic;
use provost_plan::plan::Step;
use provost_plan::source::Source;
use provost_planner::Planner;
use provost_run::admission::Admission;
use provost_run::event::{Event, PlannerChoice, RunCreated};
use provost_run::machine::{Rules, Run};
use provost_run::state::State;
use provost_tools::{OpenError, Rehearsal, ToolConfig, Toolbox, Trouble};

use tokio::sync::{Notify, watch};

use crate::audit::{Audit, AuditError, AuditSettings};
use crate::clock::now_ms;
use crate::history;
use crate::notify::CommandOf;
use crate::owner::random_name;
use crate::people::{Inbox, InvalidEvent};
use crate::session::{DriveError, Session, SessionResources, Watcher};
use crate::store::heads::Head;
use crate::store::{Backend, Driving, FindError, Store, StoreError};
use crate::workspace::{CONFIG_FILE, PlannerError, Workspace};
use provost_run::statement::Credential;

mod new_run;
mod renew;
mod schedules;
mod take_up;
mod tools;

pub use new_run::{NewRun, OnBehalf};
pub use schedules::{ScheduleResult, Scheduled};
pub use take_up::FoldedRun;
pub(crate) use tools::EngineTools;

/// A workspace with its journal and its tools: one reading of its files, which never changes.
pub struct Engine {
    workspace: Arc<Workspace>,
    store: Arc<Store>,
    tools: Arc<EngineTools>,
    audit: Option<Arc<Audit>>,
    inbox: Arc<Inbox>,
    commands: Option<Arc<CommandOf>>,
    nudged: Arc<Notify>,
    /// How often the files were read anew before.
    generation: u64,
    /// Turns true when the files were read anew, and another value stands for them.
    superseded: watch::Sender<bool>,
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
    /// Heads cannot be signed, or the journal is not the one that was signed.
    #[error(transparent)]
    Audit(#[from] AuditError),
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
    /// An event of its journal may not stand where it stands.
    #[error(transparent)]
    InvalidEvent(#[from] Box<InvalidEvent>),
    /// Another process drives it, or another task of this one.
    #[error("run `{run}` is driven by {}", driver(*pid))]
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
    /// The planner of a run cannot be had.
    #[error(transparent)]
    Planner(#[from] PlannerError),
    /// A tool the plan needs cannot work.
    #[error("the tool `{tool}` cannot work: {message}")]
    Trouble {
        /// The tool.
        tool: String,
        /// Why, and what to do.
        message: String,
    },
    /// A server lists a tool the plan names otherwise than it is pinned.
    #[error("{message}")]
    Drifted {
        /// What differs, with both digests.
        message: String,
    },
    /// A write the plan names keeps its key in a table that is not there.
    #[error("the database of the tool `{tool}` has no table `provost_effects` for keys")]
    Unprepared {
        /// The tool.
        tool: String,
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

impl EngineError {
    pub(crate) fn journal(run: &str, reason: impl std::fmt::Display) -> Self {
        Self::Journal {
            run: run.to_owned(),
            reason: reason.to_string(),
        }
    }
}

impl Engine {
    /// Opens the journal and the tools of a workspace.
    ///
    /// # Errors
    /// [`EngineError::Store`] if the journal cannot be written, [`EngineError::Tools`] if a tool
    /// cannot be opened.
    pub fn open(workspace: Workspace) -> Result<Self, EngineError> {
        Self::open_over(Arc::new(workspace), None)
    }

    /// Opens for driving what was opened to look at: the workspace is not read again, and the
    /// journal is read through the same connection.
    ///
    /// # Errors
    /// As [`Engine::open`].
    pub fn into_driving(self) -> Result<Self, EngineError> {
        if self.store.instance().is_some() {
            return Ok(self);
        }
        // Why none if somebody else holds it: what they read through must not change under them.
        Self::open_over(self.workspace, Arc::into_inner(self.store))
    }

    fn open_over(workspace: Arc<Workspace>, read: Option<Store>) -> Result<Self, EngineError> {
        // Why before the journal: a workspace whose tools do not open leaves no trace of a try.
        let toolbox = open_tools(&workspace)?;
        let audit = workspace
            .audit()
            .map(|settings| Audit::open(workspace.root(), settings))
            .transpose()?;
        let dir = workspace.store_dir();
        if let Some(audit) = &audit {
            audit.refuse_lost(&dir)?;
        }
        let store = match read {
            Some(mut store) => {
                store.write_too()?;
                store
            }
            None => Store::open(&dir)?,
        };
        let engine = Self::over(workspace, store, EngineTools::Live(toolbox))?;
        if let Some(audit) = &audit {
            audit.hold(&engine.store, &engine.inbox)?;
        }
        let audit = audit.map(Arc::new);
        Ok(Self { audit, ..engine })
    }

    /// Opens a workspace to look at only: no run can be begun or taken up, and no tool is opened.
    ///
    /// # Errors
    /// [`EngineError::Store`] if there is no journal or it cannot be read.
    pub fn open_to_read(workspace: Workspace) -> Result<Self, EngineError> {
        let store = Store::open_read_only(&workspace.store_dir())?;
        let toolbox = Toolbox::open_with_private(workspace.root(), Vec::new(), &[], &[]);
        let toolbox = toolbox.map_err(no_tools)?;
        Self::with(workspace, store, toolbox)
    }

    pub(crate) fn with(
        workspace: Workspace,
        store: Store,
        toolbox: Toolbox,
    ) -> Result<Self, EngineError> {
        Self::over(Arc::new(workspace), store, EngineTools::Live(toolbox))
    }

    /// Opens the journal of a scratch copy for runs whose calls reach what is rehearsed with and
    /// nothing else. Heads are not signed, and nobody is told.
    ///
    /// # Errors
    /// [`EngineError::Store`] if the journal cannot be written.
    pub(crate) fn open_rehearsal(
        workspace: Workspace,
        rehearsal: Arc<Rehearsal>,
    ) -> Result<Self, EngineError> {
        let store = Store::open(&workspace.store_dir())?;
        Self::over(
            Arc::new(workspace),
            store,
            EngineTools::Rehearsal(rehearsal),
        )
    }

    fn over(
        workspace: Arc<Workspace>,
        store: Store,
        tools: EngineTools,
    ) -> Result<Self, EngineError> {
        let inbox = Inbox::of(&workspace, &store)?;
        Ok(Self {
            workspace,
            store: Arc::new(store),
            tools: Arc::new(tools),
            audit: None,
            inbox: Arc::new(inbox),
            commands: None,
            nudged: Arc::default(),
            generation: 0,
            superseded: watch::Sender::new(false),
        })
    }

    /// Says to who works on the runs of this engine that there is something to look at: what this
    /// process itself wrote. What another one writes is found by looking.
    pub fn nudge(&self) {
        self.nudged.notify_one();
    }

    /// Comes after a nudge, once for all since the last.
    pub(crate) async fn nudged(&self) {
        self.nudged.notified().await;
    }

    /// Whether the workspace signs where the journal stands.
    pub(crate) fn signs_heads(&self) -> bool {
        self.audit.as_ref().is_some_and(|audit| audit.signs())
    }

    /// Signs where the journal stands, if the workspace says so. Waits on this thread.
    ///
    /// # Errors
    /// [`AuditError`] if it cannot; what was driven stands all the same.
    pub fn sign_head(&self) -> Result<Option<Head>, AuditError> {
        match &self.audit {
            Some(audit) => audit.sign(&self.store, &self.inbox),
            None => Ok(None),
        }
    }

    /// Has the front end spell the commands that notices carry.
    #[must_use]
    pub fn with_commands(self, commands: Arc<CommandOf>) -> Self {
        Self {
            commands: Some(commands),
            ..self
        }
    }

    pub(crate) fn commands(&self) -> Option<&CommandOf> {
        self.commands.as_deref()
    }

    /// What people's words are held to.
    #[must_use]
    pub fn inbox(&self) -> &Inbox {
        &self.inbox
    }

    /// The workspace.
    #[must_use]
    pub fn workspace(&self) -> &Arc<Workspace> {
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
            admission: self.workspace.admission().clone(),
        }
    }

    fn planner(&self, choice: &PlannerChoice) -> Result<Arc<dyn Planner>, EngineError> {
        Ok(self.workspace.planner(choice)?)
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
        let principal = self.workspace.principal(&new.planner);
        let whom = OnBehalf {
            principal,
            run: None,
        };
        self.begin_for(new, whom, watcher).await
    }

    /// [`Engine::begin`] for somebody else than the user of the workspace.
    ///
    /// # Errors
    /// As [`Engine::begin`].
    pub async fn begin_for(
        &self,
        new: NewRun,
        whom: OnBehalf,
        watcher: &mut dyn Watcher,
    ) -> Result<Session, EngineError> {
        self.inbox
            .refuse_secret_in(&new.goal.text, new.planner.plan_text())
            .map_err(DriveError::from)?;
        let planner = self.planner(&new.planner)?;
        // Why boxed: what asks a server would take much room in every run.
        Box::pin(self.refuse_unfit(&new.planner)).await?;
        let run = match whom.run {
            Some(run) => run,
            None => random_name()?,
        };
        let principal = whom.principal;
        let created = RunCreated {
            run,
            goal: new.goal,
            planner: new.planner,
            fallback: new.fallback,
            mode: new.mode,
            principal,
            limits: self.workspace.limits().clone(),
            ask: new.ask,
            solo: self.workspace.is_solo(),
            signed: self.workspace.required().least == Credential::Signature,
            vouched: self.workspace.required().least == Credential::Login,
            rights: None,
            provost: Some(env!("CARGO_PKG_VERSION").to_owned()),
            traceparent: new.traceparent,
        };
        let by = &new.interpreted_by;
        let mut said = Admission::default();
        loop {
            let (run, output) =
                Run::create_beside(created.clone(), by, self.rules(), now_ms(), &said)
                    .map_err(DriveError::from)?;
            let driving = self.drive(&run.state().head.run)?;
            let mut session = self.session(run, Arc::clone(&planner), driving);
            match session.begin(output, !new.again, watcher).await {
                Err(DriveError::Store(StoreError::NotAdmitted {
                    denials, earlier, ..
                })) => {
                    said.denials.extend(denials);
                    said.earlier.extend(earlier);
                }
                Err(DriveError::Store(StoreError::SameGoal { run, status })) => {
                    return Err(EngineError::SameGoal { run, status });
                }
                kept => return Ok(kept.map(|()| session)?),
            }
        }
    }

    /// The tools that cannot work now: those left out because of their entries, those that stay
    /// closed, and those that lack what they need.
    fn troubles(&self) -> Vec<Trouble> {
        self.damaged()
            .chain(self.tools.state().troubles())
            .collect()
    }

    /// Whether what a run's plan needs is there to drive it. Why before it is taken up: a plan
    /// whose tools are gone is over as soon as it is looked at, and an entry is soon mended.
    ///
    /// # Errors
    /// [`EngineError::Trouble`] names a tool of the plan whose entry is damaged, or that must not
    /// be opened.
    pub fn refuse_damaged(&self, state: &State) -> Result<(), EngineError> {
        match state.ending.ended {
            None => self.refuse_damaged_plan(state),
            Some(_) => Ok(()),
        }
    }

    /// The same of a run whatever became of it: of what it called, some may be undone.
    pub(crate) fn refuse_damaged_plan(&self, state: &State) -> Result<(), EngineError> {
        let plan = state.plan();
        let steps = plan
            .into_iter()
            .flat_map(|plan| &plan.checked().plan().steps);
        let named: BTreeSet<&str> = steps
            .flat_map(Step::tools)
            .filter_map(|tool| tool.value.split('.').next())
            .collect();
        let mut damaged = self.damaged().chain(self.tools.state().closed());
        match damaged.find(|one| named.contains(one.tool.as_str())) {
            Some(Trouble { tool, message }) => Err(EngineError::Trouble { tool, message }),
            None => Ok(()),
        }
    }

    fn damaged(&self) -> impl Iterator<Item = Trouble> {
        self.workspace.damaged().iter().map(|one| Trouble {
            tool: one.tool.clone(),
            message: "its entry in provost.toml has errors".to_owned(),
        })
    }

    /// A run whose tools cannot work is not begun: it would only fail later and slower.
    async fn refuse_unfit(&self, planner: &PlannerChoice) -> Result<(), EngineError> {
        let troubles = self.troubles();
        // Why first: which tools a plan names is known only once it is read.
        if troubles.is_empty()
            && !self
                .workspace
                .tools()
                .iter()
                .any(ToolConfig::needs_preflight)
        {
            return Ok(());
        }
        let named = self.workspace.tools_named(planner);
        let uses = |tool: &str| {
            named
                .iter()
                .any(|name| name.split('.').next() == Some(tool))
        };
        if let Some(trouble) = troubles.into_iter().find(|trouble| uses(&trouble.tool)) {
            let Trouble { tool, message } = trouble;
            return Err(EngineError::Trouble { tool, message });
        }
        let catalog = self.workspace.catalog();
        let operations: Vec<_> = named.iter().filter_map(|name| catalog.get(name)).collect();
        // A server that is another now. One that does not answer is no reason: the call will tell.
        for operation in &operations {
            if let Some(message) = self.tools.state().drift(operation).await {
                return Err(EngineError::Drifted { message });
            }
        }
        // A write whose key has no table to stand in.
        for operation in &operations {
            if self.tools.state().is_unprepared(operation).await {
                let tool = operation.server().to_owned();
                return Err(EngineError::Unprepared { tool });
            }
        }
        Ok(())
    }

    fn session(&self, run: Run, planner: Arc<dyn Planner>, driving: Driving) -> Session {
        let resources = SessionResources {
            store: Arc::clone(&self.store) as Arc<dyn Backend>,
            tools: Arc::clone(&self.tools),
            inbox: Arc::clone(&self.inbox),
            workspace: Arc::clone(&self.workspace),
            superseded: self.superseded.subscribe(),
        };
        Session::new(run, planner, driving, resources)
    }

    /// Takes the place of the one driver that a run has in this process.
    fn drive(&self, run: &str) -> Result<Driving, EngineError> {
        self.store.drive(run).ok_or_else(|| EngineError::Held {
            run: run.to_owned(),
            pid: Some(std::process::id()),
        })
    }

    /// Reads a run's journal, its chain checked on the way.
    ///
    /// # Errors
    /// [`EngineError::Journal`] if an event cannot be read or does not follow.
    pub fn read(&self, run: &str) -> Result<Record, EngineError> {
        let events = history::events(&self.store, run)?;
        let pairs = events.iter().map(|(event, at)| (event, *at));
        let folded = Run::from_journal(pairs, self.rules())
            .map_err(|error| EngineError::journal(run, error))?;
        Ok(Record {
            events,
            run: folded,
        })
    }

    /// The full id of the run that `prefix` begins.
    ///
    /// # Errors
    /// [`FindError`] if none or several begin so.
    pub fn find(&self, prefix: &str) -> Result<String, EngineError> {
        Ok(self.store.find(prefix)?)
    }
}

/// Opens the tools of a workspace. One that must not be opened stays closed: see
/// [`Toolbox::troubles`].
///
/// # Errors
/// [`EngineError::Tools`] if the workspace itself cannot be reached.
pub fn open_tools(workspace: &Workspace) -> Result<Toolbox, EngineError> {
    let mut private = workspace
        .audit()
        .map_or_else(Vec::new, AuditSettings::files);
    private.extend(workspace.server().private_files());
    Toolbox::open_with_private(
        workspace.root(),
        workspace.tools().to_vec(),
        &private,
        &workspace.own_secrets(),
    )
    .map_err(no_tools)
}

/// The tools of a workspace that reach what they must not, as findings in `provost.toml`. None if
/// the workspace cannot be reached: whatever opens it says that.
#[must_use]
pub fn overreaches(workspace: &Workspace) -> Vec<(Source, Diagnostic)> {
    let mut sources = workspace.sources().iter();
    let config = sources.find(|source| &*source.name == CONFIG_FILE);
    let (Some(config), Ok(toolbox)) = (config, open_tools(workspace)) else {
        return Vec::new();
    };
    let found = toolbox.overreaches();
    found.map(|finding| (config.clone(), finding)).collect()
}

#[expect(clippy::needless_pass_by_value, reason = "the shape `map_err` wants")]
fn no_tools(error: OpenError) -> EngineError {
    EngineError::Tools(error.to_string())
}

/// The number of a process, where it is known.
fn driver(pid: Option<u32>) -> String {
    match pid {
        Some(pid) if pid == std::process::id() => "this process already".to_owned(),
        Some(pid) => format!("another process (pid {pid})"),
        None => "another process".to_owned(),
    }
}
