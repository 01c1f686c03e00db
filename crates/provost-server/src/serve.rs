//! The listener, and the end of a process.
//!
//! Owns connections: how many, how long a head may take, and how they end. Reads no request.
//! INVARIANT: nothing is listened at that other machines reach unless somebody said under which
//! name, and a solo workspace is served to this machine alone.

use std::net::{IpAddr, SocketAddr, TcpListener};
use std::sync::Arc;

use axum::Router;
use provost_engine::clock::now_ms;
use provost_engine::engine::{Engine, EngineError};
use provost_engine::reload::LiveWorkspace;
use provost_engine::run::event::PlannerChoice;
use provost_engine::store::StoreError;
use provost_engine::work::{Listener, WorkOptions};
use provost_engine::workspace::Workspace;
use tokio::sync::{Semaphore, mpsc, watch};

use crate::app::{App, Lent, Shared};
use crate::door::database::{Database, DatabaseError};
use crate::door::oidc;
use crate::door::oidc::provider::LoginProvider;
use crate::door::rates::MinuteRate;
use crate::door::token::{GivenLogin, GivenToken};
use crate::door::{Door, after};
use crate::drive::{self, ClientRuns, RunBeginning};
use crate::feed::{self, Feed};
use crate::files;
use crate::limits::{
    ACCEPT_PAUSE, CONNECTIONS_MAX, DRAIN_MAX, LINK_LASTS, LOGINS_PER_MINUTE_MAX,
    RUNS_PER_MINUTE_MAX, SILENT_MAX, STATEMENTS_PER_MINUTE_MAX,
};
use crate::may::Verdicts;
use crate::mcp::{self, BrokenToolList};
use crate::routes;
use crate::view::Desk;
use provost_engine::keys::PrivateKey;
use provost_engine::people::Credential;

mod connection;
mod idle;
mod tls;

use connection::Conversation;
use idle::IdleConnections;
pub(crate) use tls::Certificate;

/// Where the address that a running server is reached at stands in its database.
pub const ADDRESS_KEY: &str = "address";

/// The names of this machine, for itself.
const LOOPBACK: [&str; 3] = ["127.0.0.1", "localhost", "[::1]"];

/// The address that a connection comes from.
#[derive(Clone, Copy, Debug)]
pub struct Peer(pub IpAddr);

/// What is served, and to whom.
#[derive(Clone, Debug)]
pub enum Offer {
    /// The workspace, to its people and their programs.
    Workspace,
    /// Planning at `/mcp` and nothing else, to an agent of who started the process.
    Planning {
        /// What clients send.
        token: GivenToken,
        /// Names that they may use, beside those of this machine.
        hosts: Vec<String>,
    },
}

/// How a workspace is served.
#[derive(Clone, Debug)]
pub struct ServeOptions {
    /// What is served, and to whom.
    pub offer: Offer,
    /// Where is listened.
    pub listen: SocketAddr,
    /// The one address that people use, where it is not the one that is listened at.
    pub url: Option<String>,
    /// How runs are driven.
    pub working: WorkOptions,
}

/// A workspace cannot be served.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// One person may be everybody, so nobody else may come near.
    #[error("a solo workspace is served to this machine alone: {0}")]
    Solo(&'static str),
    /// Nobody could sign in.
    #[error("policies/entities.json lists nobody, so nobody could sign in")]
    NoPeople,
    /// The address can be reached from other machines, by a name that nobody said.
    #[error("`{0}` can be reached from other machines")]
    Open(SocketAddr),
    /// The address people use is no address.
    #[error("`{0}` is no address of a server")]
    BadUrl(String),
    /// It cannot be listened at.
    #[error("cannot listen at `{address}`: {reason}")]
    Listen {
        /// Where.
        address: SocketAddr,
        /// Why not.
        reason: String,
    },
    /// The certificate cannot be shown.
    #[error("`tls` cannot be used: {0}")]
    Tls(String),
    /// Nobody could sign in by the login provider.
    #[error("`[server.login]` cannot be used: {0}")]
    Login(String),
    /// Nothing that is said on a page would count.
    #[error("`require = \"login\"` needs the key of this server: {0}")]
    Voucher(String),
    /// What is offered to MCP clients.
    #[error(transparent)]
    Tools(#[from] BrokenToolList),
    /// The database of the server.
    #[error(transparent)]
    Database(#[from] DatabaseError),
    /// The journal.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl ServeError {
    /// What to do.
    #[must_use]
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            Self::Solo(_) => {
                Some("remove `policies/solo.cedar` and list the people in `policies/entities.json`")
            }
            Self::Tls(_) => Some(
                "`cert` names a certificate and `key` its key, both in PEM, and `url` is https",
            ),
            Self::Voucher(_) => Some(
                "`[server.voucher]` names `key` and `passphrase`; `vouchers` of `[approvals]` has \
                 the public key that `provost key new` printed",
            ),
            Self::Login(_) => Some(
                "`secret` names where the client's secret stands, such as `env:OIDC_SECRET`; it \
                 has at least 8 bytes",
            ),
            Self::Listen { .. } => Some(
                "is another server running here? name another address, such as \
                 `--listen 127.0.0.1:4521`",
            ),
            Self::NoPeople => Some("list them, or add `policies/solo.cedar` to work alone"),
            Self::Open(_) => Some(
                "name in `[server]` the https `url` under which people reach it, and `tls`, or in \
                 `proxies` the server in front that speaks it; or listen at 127.0.0.1",
            ),
            Self::BadUrl(_) => Some("write `https://provost.example.com`, without a path"),
            _ => None,
        }
    }
}

/// A server that listens and does not answer yet.
pub struct Server {
    listener: TcpListener,
    url: String,
    app: App,
    beginnings: mpsc::Receiver<RunBeginning>,
    options: ServeOptions,
}

impl Server {
    /// Opens the doors of a workspace; `halt` turns true when the process is told to end.
    ///
    /// # Errors
    /// [`ServeError`] says why it cannot be served so.
    pub fn open(
        engine: &Arc<Engine>,
        options: ServeOptions,
        lent: Lent,
        halt: watch::Receiver<bool>,
    ) -> Result<Self, ServeError> {
        let workspace = engine.workspace();
        let login = workspace.server().login.clone();
        if let Offer::Workspace = &options.offer {
            refuse_unfit(engine, &options)?;
        }
        let voucher = voucher(engine, &options)?;
        let settings = workspace.server().tls.as_ref();
        let settings = settings.filter(|_| matches!(options.offer, Offer::Workspace));
        let certificate = settings.map(|settings| Certificate::open(workspace.root(), settings));
        let certificate = certificate.transpose()?.map(Arc::new);
        let listener = listen(options.listen)?;
        let failed = |error: std::io::Error| ServeError::Listen {
            address: options.listen,
            reason: error.to_string(),
        };
        let address = listener.local_addr().map_err(failed)?;
        let database = Database::open(&workspace.store_dir())?;
        let (url, door) = door(engine, address, &options)?;
        if let Offer::Workspace = &options.offer {
            database.set_meta(ADDRESS_KEY, &url)?;
            if workspace.is_solo() {
                // Why: a solo workspace has the one session whose link is printed now.
                database.end(None, None)?;
            }
        }
        let (beginner, beginnings) = drive::queue();
        let root = workspace.root().to_owned();
        let back = format!("{url}{}", oidc::BACK);
        let provider = login.map(|login| LoginProvider::open(login, back, root));
        let provider = provider.transpose().map_err(ServeError::Login)?;
        let verdicts = Arc::<Verdicts>::default();
        let asked = matches!(options.offer, Offer::Workspace).then(|| Arc::clone(&verdicts));
        let lends = (&lent.findings, asked);
        let (solo, key) = (door.is_solo(), voucher.as_ref().map(PrivateKey::public));
        let fits = move |new: &Workspace| files::refuse_unfit(new, solo, key.as_ref());
        let live = LiveWorkspace::of(engine, Arc::clone(&lent.reread), Box::new(fits));
        let mcp = mcp::behind_the_door(live.engines(), &beginner, lends, halt.clone())?;
        let shared = Shared {
            desk: Desk::open(&workspace.store_dir(), verdicts)?,
            door,
            database,
            provider,
            voucher,
            logins: MinuteRate::new(LOGINS_PER_MINUTE_MAX, "tries to sign in from this address"),
            statements: MinuteRate::new(STATEMENTS_PER_MINUTE_MAX, "statements"),
            beginnings: MinuteRate::new(RUNS_PER_MINUTE_MAX, "runs begun"),
            lent,
            beginner,
            mcp,
            feed: Feed::default(),
            certificate,
            halt,
            live,
        };
        Ok(Self {
            listener,
            url,
            app: App(Arc::new(shared)),
            beginnings,
            options,
        })
    }

    /// The address that people use.
    #[must_use]
    pub fn url(&self) -> &str {
        &self.url
    }

    /// A one-time link for a person.
    ///
    /// # Errors
    /// [`DatabaseError`] if it cannot be kept.
    pub fn link(&self, person: &str) -> Result<String, DatabaseError> {
        link(&self.app.database, &self.url, person)
    }

    /// Answers requests and drives the runs of the workspace, or those of clients where only
    /// planning is offered, until the process is told to end.
    ///
    /// # Errors
    /// [`EngineError`] if the journal fails.
    pub async fn run(self, listener: &Listener<'_>) -> Result<(), EngineError> {
        let halt = self.app.halt.clone();
        let engine = self.app.engine();
        let live = Arc::clone(&self.app.live);
        let telling = live.report(listener);
        let certificate = self.app.certificate.clone();
        if let Some(shown) = certificate.clone() {
            tokio::spawn(shown.watch(Arc::clone(&live), halt.clone()));
        }
        let router = match self.options.offer {
            Offer::Workspace => {
                tokio::spawn(feed::tail(self.app.clone()));
                tokio::spawn(files::watch(self.app.clone()));
                routes::router(self.app)
            }
            Offer::Planning { .. } => routes::planning_router(self.app),
        };
        let listening = (self.listener, certificate);
        let answering = tokio::spawn(answer(listening, router, halt.clone()));
        let driven = match self.options.offer {
            Offer::Workspace => {
                let working = self.options.working;
                let driving =
                    drive::drive(live.engines(), working, self.beginnings, halt, listener);
                tokio::select! {
                    driven = driving => driven.map_err(EngineError::from),
                    () = telling => Ok(()),
                }
            }
            Offer::Planning { .. } => {
                let runs = ClientRuns::new(self.beginnings);
                runs.drive(&engine, halt, listener).await
            }
        };
        if driven.is_ok() {
            // Why ignored: a request that panicked was answered by the end of its connection.
            let _ = tokio::time::timeout(DRAIN_MAX, answering).await;
        }
        driven
    }
}

/// Refuses to serve a workspace where nobody could come in, or the wrong people.
fn refuse_unfit(engine: &Engine, options: &ServeOptions) -> Result<(), ServeError> {
    let workspace = engine.workspace();
    let solo = workspace.is_solo();
    if solo && options.url.is_some() {
        return Err(ServeError::Solo("it takes no `url`"));
    }
    if solo && !options.listen.ip().is_loopback() {
        return Err(ServeError::Solo("it is listened at 127.0.0.1 or ::1"));
    }
    if solo && workspace.server().login.is_some() {
        return Err(ServeError::Solo("it takes no `login`"));
    }
    if !solo && workspace.people().names().next().is_none() {
        return Err(ServeError::NoPeople);
    }
    let settings = workspace.server();
    // Why both: a name alone does not say that anybody speaks TLS under it.
    let covered = settings.tls.is_some() || !settings.proxies.is_empty();
    if !options.listen.ip().is_loopback() && (options.url.is_none() || !covered) {
        return Err(ServeError::Open(options.listen));
    }
    Ok(())
}

/// The key with which this server vouches for logins; one that the workspace does not know would
/// be of no use.
fn voucher(engine: &Engine, options: &ServeOptions) -> Result<Option<PrivateKey>, ServeError> {
    let workspace = engine.workspace();
    let required = workspace.required();
    let (Offer::Workspace, Some(settings)) = (&options.offer, &workspace.server().voucher) else {
        if required.least == Credential::Login && matches!(options.offer, Offer::Workspace) {
            return Err(ServeError::Voucher("none is named".to_owned()));
        }
        return Ok(None);
    };
    let key = settings.open(workspace.root());
    let key = key.map_err(|error| ServeError::Voucher(error.to_string()))?;
    if !required.vouchers.contains(&key.public()) {
        let why = format!("`vouchers` does not list {}", key.public());
        return Err(ServeError::Voucher(why));
    }
    Ok(Some(key))
}

/// The one door there is, and the address under which people come to it.
fn door(
    engine: &Engine,
    address: SocketAddr,
    options: &ServeOptions,
) -> Result<(String, Door), ServeError> {
    let workspace = engine.workspace();
    match &options.offer {
        Offer::Workspace => {
            let speaks_tls = workspace.server().tls.is_some();
            let (url, hosts) = names(address, options.url.clone(), speaks_tls)?;
            let secure = url.starts_with("https://");
            if speaks_tls && !secure {
                return Err(ServeError::Tls(format!("`{url}` is not https")));
            }
            Ok((url, Door::new(hosts, secure, workspace)))
        }
        Offer::Planning { token, hosts } => {
            let client = PlannerChoice::Client {
                client: String::new(),
                text: String::new(),
            };
            let given = GivenLogin {
                token: token.clone(),
                agent: workspace.principal(&client),
                since_ms: now_ms(),
            };
            let hosts = hosts.iter().map(|name| name.to_ascii_lowercase());
            let hosts = LOOPBACK.map(str::to_owned).into_iter().chain(hosts);
            let door = Door::for_agent(hosts.collect(), given, workspace);
            Ok((format!("http://{address}"), door))
        }
    }
}

/// The address of a one-time link for a person. The code stands in the fragment, which no request
/// carries.
///
/// # Errors
/// [`DatabaseError`] if it cannot be kept.
pub fn link(database: &Database, url: &str, person: &str) -> Result<String, DatabaseError> {
    let code = database.invite(person, after(LINK_LASTS))?;
    Ok(format!("{url}/login#{code}"))
}

fn listen(address: SocketAddr) -> Result<TcpListener, ServeError> {
    TcpListener::bind(address)
        .and_then(|listener| listener.set_nonblocking(true).map(|()| listener))
        .map_err(|error| ServeError::Listen {
            address,
            reason: error.to_string(),
        })
}

/// The address that people use, and each `Host` that fits it.
fn names(
    address: SocketAddr,
    url: Option<String>,
    speaks_tls: bool,
) -> Result<(String, Vec<String>), ServeError> {
    let Some(url) = url else {
        let port = address.port();
        let hosts = LOOPBACK.map(|host| format!("{host}:{port}")).to_vec();
        let scheme = if speaks_tls { "https" } else { "http" };
        return Ok((format!("{scheme}://{address}"), hosts));
    };
    let text = url.trim_end_matches('/').to_ascii_lowercase();
    let bad = || ServeError::BadUrl(url.clone());
    let (scheme, host) = text.split_once("://").ok_or_else(bad)?;
    let named = !host.is_empty() && !host.contains(['/', '?', '#', '@']);
    let plain = |name: &str| host == name || host.starts_with(&format!("{name}:"));
    let is_local = LOOPBACK.iter().any(|name| plain(name));
    if !named || !(scheme == "https" || scheme == "http" && is_local) {
        return Err(bad());
    }
    let host = host.to_owned();
    Ok((text, vec![host]))
}

/// Takes connections until the process is told to end, and lets those that are there end.
async fn answer(
    (listener, certificate): (TcpListener, Option<Arc<Certificate>>),
    router: Router,
    mut halt: watch::Receiver<bool>,
) {
    let Ok(listener) = tokio::net::TcpListener::from_std(listener) else {
        return;
    };
    let room = Arc::new(Semaphore::new(CONNECTIONS_MAX));
    // Why as many: one connection of HTTP/2 asks for several things at once.
    let requests = Arc::new(Semaphore::new(CONNECTIONS_MAX));
    let silent = IdleConnections::new(SILENT_MAX);
    let mut open = tokio::task::JoinSet::new();
    while !*halt.borrow() {
        let Ok(place) = Arc::clone(&room).acquire_owned().await else {
            break;
        };
        tokio::select! {
            _ = halt.changed() => {}
            accepted = listener.accept() => match accepted {
                Ok((stream, from)) => {
                    let guest = silent.enter();
                    let conversation = Conversation {
                        peer: Peer(from.ip()),
                        router: router.clone(),
                        room: Arc::clone(&requests),
                        guest: Arc::clone(&guest),
                        halt: halt.clone(),
                    };
                    let tls = certificate.as_ref().map(|shown| shown.acceptor());
                    // Why ignored: a connection without it is only slower.
                    let _ = stream.set_nodelay(true);
                    open.spawn(async move {
                        match tls {
                            None => conversation.plain(stream).await,
                            Some(tls) => conversation.secured(tls, stream).await,
                        }
                        guest.leave();
                        drop(place);
                    });
                }
                Err(_) => tokio::time::sleep(ACCEPT_PAUSE).await,
            },
            Some(_) = open.join_next() => {}
        }
    }
    drop(listener);
    while open.join_next().await.is_some() {}
}
