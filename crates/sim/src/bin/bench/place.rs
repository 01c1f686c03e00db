//! The workspace of a measurement: made where there is none, opened like any other.
//!
//! Owns what stands in DIR, and how a run is begun there. INVARIANT: policy, lock and limits are
//! read from DIR's files by the product itself; the default policy is in force.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use provost_engine::engine::{Engine, NewRun};
use provost_engine::run::event::{AskMode, PlannerChoice, RunStatus};
use provost_engine::session::{DriveEnd, Session, Unwatched};
use provost_engine::tools::Tool;
use provost_engine::workspace::{CONFIG_FILE, LockUse, Opening, Workspace, prepare_to_judge};
use provost_plan::plan::Goal;
use provost_plan::policy::DEFAULT_POLICY;
use serde_json::json;
use tokio::sync::watch;

use crate::Failure;
use crate::tool::Bench;

/// An open workspace with a plan.
pub struct Place {
    pub engine: Engine,
    pub tool: Arc<Bench>,
    plan: PlannerChoice,
    // Why kept: a halt that nobody can give any more would look like a change.
    _halt: watch::Sender<bool>,
    halted: watch::Receiver<bool>,
}

impl Place {
    /// Opens the workspace in `dir`, with a plan; makes it if it is not there.
    pub fn open(
        dir: &Path,
        effects: Option<&Path>,
        at_once: usize,
        plan: &str,
    ) -> Result<Self, Failure> {
        // Why: so begins whoever drives runs.
        prepare_to_judge();
        let tool = Arc::new(Bench::new(effects)?);
        let own: [Arc<dyn Tool>; 1] = [Arc::<Bench>::clone(&tool)];
        let new = !dir.join(CONFIG_FILE).exists();
        if new {
            write(dir, at_once)?;
        }
        let lock = if new { LockUse::Ignore } else { LockUse::Hold };
        let opening = Opening { user: "ada", lock };
        let workspace = Workspace::open_with(dir, &opening, &own).map_err(named)?;
        if new {
            workspace.write_lock()?;
        }
        let file = dir.join("plan.yaml");
        if new {
            fs::write(&file, plan)?;
        }
        let (halt, halted) = watch::channel(false);
        Ok(Self {
            engine: Engine::open(workspace)?,
            tool,
            plan: PlannerChoice::File {
                name: "plan.yaml".to_owned(),
                text: fs::read_to_string(file)?,
                playbook: None,
            },
            _halt: halt,
            halted,
        })
    }

    /// The goal of a run of this number.
    pub fn goal(run: usize) -> String {
        format!("Bring run {run} to its end")
    }

    /// Begins a run of another plan, so that whatever is made once is made.
    pub async fn warm_up(&self, plan: &str) -> Result<DriveEnd, Failure> {
        let plan = PlannerChoice::File {
            name: "warm-up.yaml".to_owned(),
            text: plan.to_owned(),
            playbook: None,
        };
        self.run_of(usize::MAX >> 12, plan).await
    }

    /// Begins a run and drives it as far as it goes.
    pub async fn run(&self, run: usize) -> Result<DriveEnd, Failure> {
        self.run_of(run, self.plan.clone()).await
    }

    async fn run_of(&self, run: usize, planner: PlannerChoice) -> Result<DriveEnd, Failure> {
        let mut goal = Goal::of_text(&Self::goal(run));
        goal.params.insert("run".to_owned(), json!(run));
        let new = NewRun {
            goal,
            interpreted_by: "bench".to_owned(),
            planner,
            fallback: None,
            mode: None,
            ask: AskMode::Step,
            again: false,
            traceparent: None,
        };
        let session = self.engine.begin(new, &mut Unwatched).await?;
        self.drive(session).await
    }

    /// Takes a run up that is there, and drives it as far as it goes.
    pub async fn go_on(&self, run: &str) -> Result<DriveEnd, Failure> {
        let session = self.engine.take_up(run, &mut Unwatched).await?;
        self.drive(session).await
    }

    /// Drives a run as far as it goes, and gives it back.
    pub async fn drive(&self, mut session: Session) -> Result<DriveEnd, Failure> {
        let mut halted = self.halted.clone();
        let stop = session.drive(&mut Unwatched, &mut halted).await?;
        session.release().await?;
        Ok(stop)
    }
}

/// A run that did not succeed makes no figure.
pub fn succeeded(stop: &DriveEnd) -> Result<(), Failure> {
    match stop {
        DriveEnd::Ended(ended) if ended.status == RunStatus::Succeeded => Ok(()),
        other => Err(format!("a run did not succeed: {other:?}").into()),
    }
}

/// The plan of a chain: each step of `tool` waits for the one before it.
pub fn chain(tool: &str, steps: usize) -> String {
    let mut text = String::from("schema: provost/plan/v1\nsteps:\n");
    for at in 0..steps {
        text.push_str(&step(at, tool, at.checked_sub(1).into_iter()));
    }
    text + &end(steps.saturating_sub(1))
}

/// The plan of a fan: one step, then `fan` at once that sleep `ms`, then one.
pub fn fan(fan: usize, ms: u64) -> String {
    let mut text = String::from("schema: provost/plan/v1\nsteps:\n");
    text.push_str(&step(0, "bench.step", std::iter::empty()));
    for at in 1..=fan {
        text.push_str(&format!(
            "  - id: s{at}\n    tool: bench.sleep\n    needs: [s0]\n    \
             args: {{ run: '${{ params.run }}', step: {at}, ms: {ms} }}\n"
        ));
    }
    text.push_str(&step(fan + 1, "bench.step", 1..=fan));
    text + &end(fan + 1)
}

fn step(at: usize, tool: &str, needs: impl Iterator<Item = usize>) -> String {
    let needs: Vec<String> = needs.map(|at| format!("s{at}")).collect();
    format!(
        "  - id: s{at}\n    tool: {tool}\n    args: {{ run: '${{ params.run }}', \
         step: {at} }}\n    needs: [{}]\n",
        needs.join(", ")
    )
}

fn end(last: usize) -> String {
    format!("success:\n  - {{ for: goal, check: '${{ steps.s{last}.output.ok }}' }}\n")
}

fn write(dir: &Path, at_once: usize) -> Result<(), Failure> {
    fs::create_dir_all(dir.join("policies"))?;
    fs::write(dir.join("policies/default.cedar"), DEFAULT_POLICY)?;
    let people = r#"{ "users": { "ada": {}, "grace": {} } }"#;
    fs::write(dir.join("policies/entities.json"), people)?;
    let config = format!(
        "[workspace]\ndescription = \"a measurement\"\nuser = \"ada\"\n\n[limits]\nsteps = 1000\n\
         calls = 1000000\nattempts = 1000000\nconcurrency = {at_once}\nwall = \"24h\"\n"
    );
    // Why by a variable: what sending costs is measured beside the same work without it.
    let receiver = std::env::var("OTLP").map(|url| format!("\n[telemetry]\notlp = \"{url}\"\n"));
    fs::write(
        dir.join(CONFIG_FILE),
        config + &receiver.unwrap_or_default(),
    )?;
    Ok(())
}

#[expect(clippy::needless_pass_by_value, reason = "the shape `map_err` wants")]
fn named(error: provost_engine::workspace::WorkspaceError) -> Failure {
    let found: Vec<String> = error
        .findings()
        .iter()
        .flat_map(|one| &one.diagnostics)
        .map(|diagnostic| diagnostic.message.clone())
        .collect();
    format!("{error}: {}", found.join("; ")).into()
}
