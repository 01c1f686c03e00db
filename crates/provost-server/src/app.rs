//! What every request is answered with: the engine, the readers, the doors and the driver's ear.
//!
//! Owns nothing but the join. INVARIANT: what is lent by the front end only draws; it decides
//! nothing.

use std::net::IpAddr;
use std::sync::Arc;

use provost_engine::engine::Engine;
use provost_engine::proposal::CheckedFile;
use provost_engine::reload::{LiveWorkspace, Reread};
use provost_engine::run::card::Card;
use provost_engine::run::state::State;
use provost_engine::workspace::Workspace;
use provost_plan::digest::Digest;
use serde_json::Value;
use tokio::sync::watch;

use crate::door::Door;
use crate::door::database::Database;
use crate::door::oidc::provider::LoginProvider;
use crate::door::rates::MinuteRate;
use crate::drive::Beginner;
use crate::feed::Feed;
use crate::mcp::Endpoint;
use crate::problem::{Problem, ProblemKind};
use crate::serve::Certificate;
use crate::view::{Desk, SeenRun};
use provost_engine::keys::PrivateKey;

/// How the terminal draws a card: nobody approves what a second renderer made of it.
pub type CardText = dyn Fn(&Digest, &Card) -> String + Send + Sync;
/// How the terminal tells of a run as data.
pub type RunJson = dyn Fn(&State) -> Value + Send + Sync;
/// How the terminal tells of a checked plan as data.
pub type FindingsJson = dyn Fn(&CheckedFile) -> Value + Send + Sync;

/// How the terminal tells of what changed between two revisions of the plan of a run, as data: the
/// run as it was read, once.
pub type DiffJson = dyn Fn(&Workspace, &SeenRun, [u32; 2]) -> Result<Value, String> + Send + Sync;

/// What the front end lends, so that each view has one owner.
pub struct Lent {
    /// A card as plain text.
    pub card: Box<CardText>,
    /// A run, as `show --json` has it.
    pub run: Box<RunJson>,
    /// The findings in a plan, as `check --json` has them.
    pub findings: Arc<FindingsJson>,
    /// What changed between two revisions, as `diff --json` has it.
    pub diff: Box<DiffJson>,
    /// The workspace, read anew.
    pub reread: Arc<Reread>,
}

/// All that requests share.
pub(crate) struct Shared {
    /// The value that stands, and how the files do.
    pub(crate) live: Arc<LiveWorkspace>,
    pub(crate) desk: Desk,
    pub(crate) door: Door,
    pub(crate) database: Database,
    /// With whom people sign in, if with anybody.
    pub(crate) provider: Option<LoginProvider>,
    /// The key with which this server vouches for who signed in.
    pub(crate) voucher: Option<PrivateKey>,
    /// Tries to sign in, by address.
    pub(crate) logins: MinuteRate<IpAddr>,
    /// Statements, by session or token.
    pub(crate) statements: MinuteRate<String>,
    /// Runs that are begun, by session or token.
    pub(crate) beginnings: MinuteRate<String>,
    pub(crate) lent: Lent,
    pub(crate) beginner: Beginner,
    /// What is spoken to at `/mcp`.
    pub(crate) mcp: Endpoint,
    pub(crate) feed: Feed,
    /// What is shown to who speaks TLS, if this process does.
    pub(crate) certificate: Option<Arc<Certificate>>,
    /// Turns true when the process is told to end.
    pub(crate) halt: watch::Receiver<bool>,
}

/// The state of the router.
#[derive(Clone)]
pub(crate) struct App(pub(crate) Arc<Shared>);

impl std::ops::Deref for App {
    type Target = Shared;

    fn deref(&self) -> &Shared {
        &self.0
    }
}

impl Shared {
    /// The engine under the files that are in force.
    pub(crate) fn engine(&self) -> Arc<Engine> {
        self.live.engine()
    }

    /// The files that are in force.
    pub(crate) fn workspace(&self) -> Arc<Workspace> {
        Arc::clone(self.live.engine().workspace())
    }
}

impl App {
    /// Reads on a thread of its own, so that a long run keeps no other request waiting.
    pub(crate) async fn read<T: Send + 'static>(
        &self,
        read: impl FnOnce(&Shared) -> Result<T, Problem> + Send + 'static,
    ) -> Result<T, Problem> {
        let shared = Arc::clone(&self.0);
        let done = tokio::task::spawn_blocking(move || read(&shared)).await;
        done.unwrap_or_else(|_| {
            let detail = "the request could not be answered";
            Err(Problem::new(ProblemKind::Failed, detail))
        })
    }
}
