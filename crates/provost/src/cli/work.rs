//! `work`: drives every run of the workspace that can go on, with nobody at a terminal.

use std::net::SocketAddr;
use std::sync::Arc;

use clap::Args;
use provost_engine::engine::{Engine, EngineError};
use provost_engine::limits::EXPORT_LAST_WORK;
use provost_engine::owner::living;
use provost_engine::reload::LiveWorkspace;
use provost_engine::telemetry::Exporter;
use provost_engine::work::{WorkEvent, WorkOptions, work_on};
use serde_json::{Value, json};

use crate::document::reason;
use crate::drive::halt::at_interrupt_or_end;
use crate::drive::log::DriveLog;
use crate::drive::supervisor::supervised;
use crate::drive::{runtime, sign_head};
use crate::failure::{Exit, Failure};
use crate::metrics::MetricsDoor;
use crate::output;
use crate::version::VERSION;
use crate::workspace_path::WorkspacePath;

const HALTING: &str = "halting: nothing further begins, calls in flight settle; the next signal \
                       ends at once";

/// Arguments of `work`.
#[derive(Clone, Copy, Debug, Args)]
#[command(
    after_help = "Ctrl-C and SIGTERM let calls in flight settle and exit 0; the second ends \
                        at once."
)]
pub struct WorkArgs {
    /// exit when every run is over or waits for a person
    #[arg(long)]
    until_idle: bool,
    /// number of runs at once
    #[arg(long, value_name = "N", default_value_t = 64,
          value_parser = clap::value_parser!(u16).range(1..=1024))]
    runs: u16,
    /// serve the series of `stats --openmetrics` at this address, such as 127.0.0.1:9464
    #[arg(long, value_name = "ADDR", conflicts_with = "check",
          value_parser = super::address::listened)]
    metrics: Option<SocketAddr>,
    /// print nothing; exit 0 if a process works here, 3 if none does
    #[arg(long, conflicts_with_all = ["until_idle", "runs"])]
    check: bool,
    /// the same as `--log json`; with `--check`, print one JSON object
    #[arg(long)]
    json: bool,
}

impl WorkArgs {
    /// Whether `--json` is about the log.
    pub fn logs_json(self) -> bool {
        self.json && !self.check
    }
}

/// What `work` and `serve` say in their lock files, and what `--check` looks for.
const ANNOUNCED: &str = "work";

/// Does it.
pub fn run(verb: WorkArgs, place: &WorkspacePath) -> Result<Exit, Failure> {
    if verb.check {
        return check(verb.json, place);
    }
    let engine = Arc::new(place.to_drive()?);
    announce(&engine);
    let log = DriveLog::new(Arc::clone(engine.workspace().catalog()));
    let working = WorkOptions {
        until_idle: verb.until_idle,
        runs_max: verb.runs.into(),
        schedules: true,
    };
    // Why one: runs are driven by this thread; the worker sees to signals and timers.
    let runtime = runtime(1)?;
    let _exporter = Exporter::start(engine.workspace(), EXPORT_LAST_WORK);
    let door = verb
        .metrics
        .map(|at| MetricsDoor::open(at, &place.store_dir()?));
    if let Some(door) = door.transpose()? {
        output::note(&format!("metrics at {}\n", door.url()));
        runtime.spawn(door.serve());
    }
    let reread = WorkspacePath::reread(engine.workspace().root());
    // Why any: nobody comes in here, so that no other files are for another process.
    let live = LiveWorkspace::of(&engine, reread, Box::new(|_| Ok(())));
    let worked = runtime.block_on(async {
        let halt = at_interrupt_or_end(HALTING);
        let put = |told: &WorkEvent<'_>| log.put(told);
        let (watched, halted) = (Arc::clone(&live), halt.clone());
        tokio::spawn(async move { watched.watch(halted).await });
        let working = async {
            let every = |_: &str| true;
            tokio::select! {
                worked = work_on(live.engines(), working, halt.clone(), &put, &every) => worked,
                () = live.report(&put) => Ok(()),
            }
        };
        supervised(working, halt.clone()).await
    });
    // Why not waited for: a tool's thread that hangs must not keep the command from ending.
    runtime.shutdown_background();
    sign_head(place, &engine);
    match worked {
        Ok(()) => Ok(Exit::Done),
        Err(error) => Err(EngineError::from(error).into()),
    }
}

/// Says that this process drives the runs of the workspace, for [`check`].
pub fn announce(engine: &Engine) {
    // Why ignored: a disk that takes no more keeps a monitor from seeing this, and no run from
    // going on.
    let _ = engine.store().announce(&format!("{ANNOUNCED} {VERSION}"));
}

/// The processes that work here. The kernel's locks tell, so no heartbeat has to be waited for.
fn working(place: &WorkspacePath) -> Result<Vec<Value>, Failure> {
    let owners = living(&place.store_dir()?).map_err(|error| {
        Failure::usage(format!("the owners cannot be listed: {}", reason(&error)))
    })?;
    let version = |announced: Option<&str>| {
        let rest = announced?.strip_prefix(ANNOUNCED)?;
        Some(rest.trim().to_owned())
    };
    let processes = owners.iter().filter_map(|owner| {
        let version = version(owner.announced.as_deref())?;
        Some(json!({ "pid": owner.pid, "version": version, "since_ms": owner.since_ms }))
    });
    Ok(processes.collect())
}

/// Whether a process works here.
pub fn works(place: &WorkspacePath) -> Result<bool, Failure> {
    Ok(!working(place)?.is_empty())
}

/// Says whether a process works here.
fn check(json: bool, place: &WorkspacePath) -> Result<Exit, Failure> {
    let processes = working(place)?;
    if json {
        output::json(&json!({
            "schema": "provost/work-check/v1",
            "working": !processes.is_empty(),
            "processes": processes,
        }));
    }
    match processes.is_empty() {
        true => Ok(Exit::Waiting),
        false => Ok(Exit::Done),
    }
}
