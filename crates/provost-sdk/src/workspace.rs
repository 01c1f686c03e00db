//! A workspace with the tools of the program.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use provost_engine::engine::{Engine, EngineError, NewRun};
use provost_engine::proposal::{of_file, route};
use provost_engine::run::event::PlannerChoice;
use provost_engine::session::Unwatched;
use provost_engine::store::RunFilter;
use provost_engine::tools::Tool;
use provost_engine::workspace::{self as engine_workspace, Example, LockUse, Opening, scaffold};
use provost_plan::source::Source;
use tempfile::TempDir;

use crate::error::{Error, Result};
use crate::run::Run;
use crate::tool::OwnTool;

const CONFIG_FILE: &str = "provost.toml";

/// A workspace that is about to be opened.
#[derive(Debug)]
pub struct Builder {
    root: Option<PathBuf>,
    user: String,
    tools: Vec<OwnTool>,
    files: Vec<(String, String)>,
}

/// An open workspace: see [`Workspace::open`].
pub struct Workspace {
    engine: Arc<Engine>,
    // Why kept: a workspace in memory goes with it.
    _dir: Option<TempDir>,
}

impl Workspace {
    /// The workspace of a directory, as `provost init` makes one.
    #[must_use]
    pub fn open(root: impl AsRef<Path>) -> Builder {
        Builder::new(Some(root.as_ref().to_owned()))
    }

    /// A workspace of one user and no tools but those of the program, for tests: what it writes is
    /// gone when it is dropped.
    #[must_use]
    pub fn in_memory() -> Builder {
        Builder::new(None)
    }

    /// Begins a run of a goal.
    ///
    /// # Errors
    /// [`Error::Goal`] if no playbook matches and there is no planner.
    pub async fn run(&self, goal: &str) -> Result<Run> {
        let workspace = self.engine.workspace();
        let routed = route(workspace, goal, None)?;
        self.begin(routed.into_run(workspace.ask(), false)).await
    }

    /// Begins a run of a plan, which names its goal.
    ///
    /// # Errors
    /// [`Error::Plan`] with the findings.
    pub async fn apply(&self, plan: &str) -> Result<Run> {
        let workspace = self.engine.workspace();
        let judged = of_file(workspace, Source::new("plan", plan));
        let Some(checked) = &judged.plan else {
            let found = judged.diagnostics.iter();
            let lines = found.map(|one| format!("{}: {}", one.code, one.message));
            return Err(Error::Plan(lines.collect::<Vec<_>>().join("; ")));
        };
        let Some(goal) = &checked.plan().goal else {
            return Err(Error::Plan("it names no goal".to_owned()));
        };
        let new = NewRun {
            goal: goal.value.clone(),
            interpreted_by: "the program".to_owned(),
            planner: PlannerChoice::File {
                name: "plan".to_owned(),
                text: plan.to_owned(),
                playbook: None,
            },
            fallback: None,
            mode: None,
            ask: workspace.ask(),
            again: false,
            traceparent: None,
        };
        self.begin(new).await
    }

    /// The runs of the workspace.
    #[must_use]
    pub fn runs(&self) -> Runs<'_> {
        Runs { workspace: self }
    }

    async fn begin(&self, new: NewRun) -> Result<Run> {
        let session = self.engine.begin(new, &mut Unwatched).await?;
        Ok(Run::new(Arc::clone(&self.engine), session))
    }
}

/// The runs of a workspace.
pub struct Runs<'w> {
    workspace: &'w Workspace,
}

impl Runs<'_> {
    /// Takes up every run that is not over and that nobody drives: a crash left it, or somebody let
    /// go of it.
    ///
    /// # Errors
    /// The journal's.
    pub async fn unfinished(&self) -> Result<Vec<Run>> {
        let engine = &self.workspace.engine;
        let mut all = Vec::new();
        for row in engine.store().runs(&RunFilter::unfinished())? {
            match engine.take_up(&row.id, &mut Unwatched).await {
                Ok(session) => all.push(Run::new(Arc::clone(engine), session)),
                Err(EngineError::Held { .. }) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(all)
    }
}

impl Builder {
    fn new(root: Option<PathBuf>) -> Self {
        Self {
            root,
            user: "somebody".to_owned(),
            tools: Vec::new(),
            files: Vec::new(),
        }
    }

    /// Who works in it, unless its `provost.toml` says so.
    #[must_use]
    pub fn user(mut self, user: impl Into<String>) -> Self {
        self.user = user.into();
        self
    }

    /// A tool of the program, beside those of `provost.toml`.
    #[must_use]
    pub fn tool(mut self, tool: OwnTool) -> Self {
        self.tools.push(tool);
        self
    }

    /// A file of a workspace in memory, such as `playbooks/tickets.yaml` or `policies/mail.cedar`.
    #[must_use]
    pub fn file(mut self, path: impl Into<String>, text: impl Into<String>) -> Self {
        self.files.push((path.into(), text.into()));
        self
    }

    /// Opens it.
    ///
    /// # Errors
    /// [`Error::Workspace`] with every finding in its files.
    pub fn build(self) -> Result<Workspace> {
        let (root, dir) = match self.root {
            Some(root) => (root, None),
            None => {
                let dir = in_memory(&self.user, &self.files)?;
                (dir.path().to_owned(), Some(dir))
            }
        };
        let tools: Result<Vec<Arc<dyn Tool>>> =
            self.tools.into_iter().map(OwnTool::into_tool).collect();
        let opening = Opening {
            user: &self.user,
            lock: LockUse::Hold,
        };
        let opened = engine_workspace::Workspace::open_with(&root, &opening, &tools?)?;
        Ok(Workspace {
            engine: Arc::new(Engine::open(opened)?),
            _dir: dir,
        })
    }
}

/// A directory of its own, with the policies that `init` writes and no playbook.
fn in_memory(user: &str, files: &[(String, String)]) -> Result<TempDir> {
    let dir = tempfile::tempdir()?;
    scaffold(dir.path(), user, Example::Files).map_err(std::io::Error::other)?;
    std::fs::write(dir.path().join(CONFIG_FILE), "[workspace]\n")?;
    std::fs::remove_file(dir.path().join("playbooks/find.yaml"))?;
    for (path, text) in files {
        let path = dir.path().join(path);
        if let Some(parent) = path.parent() {
            std::fs::create_dir_all(parent)?;
        }
        std::fs::write(path, text)?;
    }
    Ok(dir)
}
