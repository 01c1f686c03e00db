//! `serve`: the workspace over HTTP, for people in a browser and for programs.

use std::net::{Ipv4Addr, SocketAddr};
use std::path::Path;
use std::sync::Arc;

use clap::Args;
use provost_engine::limits::EXPORT_LAST_WORK;
use provost_engine::telemetry::Exporter;
use provost_engine::work::{WorkEvent, WorkOptions};
use provost_server::{Lent, Offer, ServeError, ServeOptions, Server};

use super::{address, check, diff, work};
use crate::drive::halt::at_interrupt_or_end;
use crate::drive::log::DriveLog;
use crate::drive::supervisor::supervised;
use crate::drive::{runtime, sign_head};
use crate::failure::{Exit, Failure};
use crate::output;
use crate::screen::{card, run as run_screen};
use crate::workspace_path::WorkspacePath;

const HALTING: &str = "halting: nothing further begins, calls in flight settle; the next signal \
                       ends at once";

/// Where is listened unless somebody says otherwise.
const PORT: u16 = 4520;

/// Arguments of `serve`.
#[derive(Clone, Debug, Args)]
#[command(
    after_help = "Drives the runs of the workspace as `provost work` does, and prints the address \
                  of its page. Ctrl-C and SIGTERM let calls in flight settle and exit 0; the \
                  second ends at once."
)]
pub struct ServeArgs {
    /// listen at this address; port 0 takes a free port [default: `listen` of `[server]`, else
    /// 127.0.0.1:4520]
    #[arg(long, value_name = "ADDRESS", value_parser = address::listened)]
    listen: Option<SocketAddr>,
    /// address that people use, with a server that speaks TLS in front [default: `url` of
    /// `[server]`]
    #[arg(long, value_name = "URL")]
    url: Option<String>,
    /// number of runs at once
    #[arg(long, value_name = "N", default_value_t = 64,
          value_parser = clap::value_parser!(u16).range(1..=1024))]
    runs: u16,
    /// the same as `--log json`
    #[arg(long)]
    pub json: bool,
}

/// Does it.
pub fn run(verb: ServeArgs, place: &WorkspacePath) -> Result<Exit, Failure> {
    let engine = Arc::new(place.to_drive()?);
    let log = DriveLog::new(Arc::clone(engine.workspace().catalog()));
    let settings = engine.workspace().server();
    let local = SocketAddr::from((Ipv4Addr::LOCALHOST, PORT));
    let options = ServeOptions {
        offer: Offer::Workspace,
        listen: verb.listen.or(settings.listen).unwrap_or(local),
        url: verb.url.or_else(|| settings.url.clone()),
        working: WorkOptions {
            until_idle: false,
            schedules: true,
            runs_max: verb.runs.into(),
        },
    };
    // Why two: this thread drives the runs; requests, signals and timers are the workers'.
    let runtime = runtime(2)?;
    let _exporter = Exporter::start(engine.workspace(), EXPORT_LAST_WORK);
    let served = runtime.block_on(async {
        let halt = at_interrupt_or_end(HALTING);
        let lent = lent(place, engine.workspace().root());
        let server = Server::open(&engine, options, lent, halt.clone())?;
        announce(&server, &engine)?;
        work::announce(&engine);
        let put = |told: &WorkEvent<'_>| log.put(told);
        let worked = supervised(server.run(&put), halt).await;
        worked.map_err(Failure::from)
    });
    // Why not waited for: a tool's thread that hangs must not keep the command from ending.
    runtime.shutdown_background();
    sign_head(place, &engine);
    served.map(|()| Exit::Done)
}

/// Says where people find the page: in a solo workspace by the one link there is.
fn announce(server: &Server, engine: &provost_engine::engine::Engine) -> Result<(), Failure> {
    let workspace = engine.workspace();
    if workspace.is_solo() {
        let link = server
            .link(&workspace.user().id)
            .map_err(ServeError::from)?;
        output::data(&format!("{link}\n"));
    } else {
        output::data(&format!("{}\n", server.url()));
        output::note("`provost invite NAME` makes a one-time link for a person\n");
    }
    Ok(())
}

/// How the terminal draws what the server shows.
pub(crate) fn lent(place: &WorkspacePath, root: &Path) -> Lent {
    let place = place.clone();
    Lent {
        card: Box::new(|digest, asked| {
            let drawn = card::page(digest, asked).finish();
            anstream::adapter::strip_str(&drawn).to_string()
        }),
        run: Box::new(move |state| run_screen::to_json(state, &place)),
        diff: Box::new(|workspace, seen, revisions| {
            let run = diff::RevisedRun {
                state: seen.state(),
                events: &seen.events,
            };
            diff::of_revisions(workspace, run, revisions).map_err(|why| why.message().to_owned())
        }),
        reread: WorkspacePath::reread(root),
        findings: Arc::new(|judged| check::to_json(judged, judged.plan.is_some())),
    }
}

impl From<ServeError> for Failure {
    fn from(error: ServeError) -> Self {
        Self::usage(error.to_string()).maybe_hint(error.hint())
    }
}
