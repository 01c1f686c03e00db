//! The door: whether a request is for this server, and who it is from.
//!
//! Owns the order of the looks: the name of the host, proxies, the login, the site it comes from.
//! Rules nothing about runs. INVARIANT: a request that is not let in is answered before its body
//! is read, and each answer bears the headers of this server.

use std::net::IpAddr;
use std::time::Duration;

use axum::extract::{FromRequestParts, Request, State};
use axum::http::request::Parts;
use axum::http::{HeaderMap, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use provost_engine::clock::now_ms;
use provost_engine::workspace::Workspace;
use provost_plan::policy::{Principal, PrincipalKind};

use crate::app::{App, Shared};
use crate::limits::{SESSION_IDLE, SESSION_LASTS};
use crate::problem::{Problem, ProblemKind};
use crate::serve::Peer;

use host::HostNames;
use token::GivenLogin;

pub(crate) mod body;
mod cross_site;
pub mod database;
mod headers;
pub(crate) mod host;
pub(crate) mod link;
pub(crate) mod oidc;
pub(crate) mod rates;
mod secret;
pub(crate) mod session;
pub(crate) mod token;

/// Under which names the server is reached, and how strictly.
#[derive(Clone, Debug)]
pub(crate) struct Door {
    hosts: HostNames,
    /// Whether people reach it by https.
    secure: bool,
    /// Whether one person works here.
    solo: bool,
    /// The proxies whose word on the address of a client is taken.
    proxies: Vec<IpAddr>,
    /// The one token there is, where it was given with the command.
    given: Option<GivenLogin>,
    /// How long a session lasts.
    lasts: Duration,
    /// How long a session lasts without a request.
    idle: Duration,
}

/// Who looks at the workspace.
#[derive(Clone, Debug)]
pub struct Viewer {
    /// A person, or an agent of theirs.
    pub principal: Principal,
    /// How they showed it.
    pub login: Login,
}

/// How somebody showed who they are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Login {
    /// A session of a browser.
    Session {
        /// The digest by which the database knows it.
        digest: String,
        /// How it began: `link` or `oidc`.
        kind: String,
        /// When it began, in milliseconds since 1970.
        began_ms: i64,
        /// When it ends.
        ends_ms: i64,
    },
    /// A token of a program.
    Token {
        /// Its name.
        name: String,
        /// When it was made, in milliseconds since 1970.
        made_ms: i64,
    },
}

impl Viewer {
    /// Whether it is a person, and no agent of one.
    #[must_use]
    pub fn is_person(&self) -> bool {
        self.principal.kind == PrincipalKind::User
    }

    /// An agent says nothing to a run, ever.
    ///
    /// # Errors
    /// [`ProblemKind::NotAllowed`] for an agent.
    pub fn speaks(&self) -> Result<(), Problem> {
        if self.is_person() {
            return Ok(());
        }
        let detail = format!("`{}` is an agent, and only people speak", self.principal.id);
        Err(Problem::new(ProblemKind::NotAllowed, detail))
    }

    /// What their rates are counted by.
    #[must_use]
    pub(crate) fn rated(&self) -> String {
        match &self.login {
            Login::Session { digest, .. } => digest.clone(),
            Login::Token { name, .. } => name.clone(),
        }
    }

    /// How they signed in, in one word and a name.
    #[must_use]
    pub fn login_word(&self) -> String {
        match &self.login {
            Login::Session { kind, .. } => kind.clone(),
            Login::Token { name, .. } => format!("token {name}"),
        }
    }
}

impl FromRequestParts<App> for Viewer {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _: &App) -> Result<Self, Problem> {
        let viewer = parts.extensions.get::<Viewer>().cloned();
        viewer.ok_or_else(nobody)
    }
}

fn nobody() -> Problem {
    Problem::new(ProblemKind::NotSignedIn, "this needs a session or a token")
        .hint("sign in at /login, or send a token as `Authorization: Bearer …`")
}

/// Refuses what comes from another site.
pub(crate) async fn same_site(request: Request, next: Next) -> Response {
    match request.extensions().get::<ForeignSite>() {
        None => next.run(request).await,
        Some(foreign) => foreign.0.clone().into_response(),
    }
}

/// Refuses who is not signed in, and then what comes from another site.
pub(crate) async fn require(request: Request, next: Next) -> Response {
    if request.extensions().get::<Viewer>().is_some() {
        return same_site(request, next).await;
    }
    let refused = request.extensions().get::<RefusedLogin>();
    let problem = refused.map_or_else(nobody, |refused| refused.0.clone());
    problem.into_response()
}

/// Refuses who did not come with a token, and then what a page of any site sends: a page has no
/// business where only programs speak, even if it got hold of a token.
pub(crate) async fn require_token(request: Request, next: Next) -> Response {
    let viewer = request.extensions().get::<Viewer>();
    let refused = request.extensions().get::<RefusedLogin>();
    let by_token = viewer.is_some_and(|viewer| matches!(viewer.login, Login::Token { .. }));
    let problem = if !by_token {
        refused.map_or_else(nobody, |refused| refused.0.clone())
    } else if request.headers().contains_key(header::ORIGIN) {
        Problem::new(ProblemKind::CrossSite, "the request comes from a page")
    } else {
        return next.run(request).await;
    };
    problem.into_response()
}

/// What stands before every route.
pub(crate) async fn guard(State(app): State<App>, mut request: Request, next: Next) -> Response {
    let is_page = app.door.given.is_none() && crate::routes::is_page(request.uri().path());
    let response = match enter(&app, &mut request) {
        Ok(()) => next.run(request).await,
        Err(problem) => problem.into_response(),
    };
    let response = if is_page {
        crate::page::instead_of_problem(response)
    } else {
        response
    };
    headers::set(response, app.door.secure)
}

fn enter(app: &App, request: &mut Request) -> Result<(), Problem> {
    host::name_in_headers(request);
    host::check(&app.door.hosts, request.uri(), request.headers())?;
    if app.door.solo {
        host::refuse_proxies(request.headers())?;
    }
    let headers = request.headers();
    let viewer = match authenticate(app, headers) {
        Err(problem) if problem.kind == ProblemKind::TwoLogins => return Err(problem),
        viewer => viewer,
    };
    // Why not then: no page of another site can send the header, and no cookie speaks for it.
    let by_token = headers.contains_key(header::AUTHORIZATION);
    if !request.method().is_safe()
        && !by_token
        && let Err(problem) = cross_site::check(&app.door, headers)
    {
        request.extensions_mut().insert(ForeignSite(problem));
    }
    match viewer {
        Ok(Some(viewer)) => {
            request.extensions_mut().insert(viewer);
        }
        Ok(None) => {}
        // Why kept: what is open to everybody is open to them as well.
        Err(problem) => {
            request.extensions_mut().insert(RefusedLogin(problem));
        }
    }
    Ok(())
}

/// Why a request counts as one of another site. Why kept: who is not signed in is told that first.
#[derive(Clone)]
struct ForeignSite(Problem);

/// Why the login that a request bears is none.
#[derive(Clone)]
struct RefusedLogin(Problem);

/// Who the request is from, if it says so; what it says wrongly is refused.
fn authenticate(app: &App, headers: &HeaderMap) -> Result<Option<Viewer>, Problem> {
    let cookie = session::cookie_of(headers, app.door.secure);
    let bearer = token::sent(headers);
    if cookie.is_some() && bearer.is_some() {
        let detail = "the request has a cookie and a token";
        return Err(Problem::new(ProblemKind::TwoLogins, detail));
    }
    let viewer = match (cookie, bearer) {
        (_, Some(bearer)) => Some(token::viewer(app, bearer?)?),
        (Some(_), None) if app.door.given.is_some() => None,
        (Some(cookie), None) => session::viewer(app, &cookie)?,
        (None, None) => None,
    };
    // Why not for the given one: whoever may start a server may hand out its token.
    if let Some(viewer) = viewer.as_ref().filter(|_| app.door.given.is_none()) {
        app.door.refuse_unlisted(app, &viewer.principal.id)?;
    }
    Ok(viewer)
}

impl Shared {
    /// When a login ends that counts still, in milliseconds since 1970: it may have been ended
    /// since it was looked at.
    ///
    /// # Errors
    /// [`ProblemKind::NotSignedIn`] if it ended.
    pub(crate) fn login_ends(&self, viewer: &Viewer) -> Result<i64, Problem> {
        let ends = match &viewer.login {
            Login::Session { digest, .. } => self.database.session_ends(digest)?,
            Login::Token { name, .. } => self.database.token_ends(name)?,
        };
        ends.ok_or_else(|| Problem::new(ProblemKind::NotSignedIn, "the login has ended"))
    }

    /// Refuses who has left since.
    ///
    /// # Errors
    /// [`ProblemKind::Unlisted`] if so.
    pub(crate) fn refuse_unlisted(&self, viewer: &Viewer) -> Result<(), Problem> {
        self.door.refuse_unlisted(self, &viewer.principal.id)
    }
}

impl Door {
    /// The door of a workspace, for its people.
    pub(crate) fn new(hosts: Vec<String>, secure: bool, workspace: &Workspace) -> Self {
        let hosts = HostNames {
            names: hosts,
            any_port: false,
        };
        let settings = workspace.server();
        Self {
            hosts,
            secure,
            solo: workspace.is_solo(),
            proxies: settings.proxies.clone(),
            given: None,
            lasts: settings.session_lasts.unwrap_or(SESSION_LASTS),
            idle: settings.session_idle.unwrap_or(SESSION_IDLE),
        }
    }

    /// A door for the agent of a given token, and for nobody else.
    pub(crate) fn for_agent(names: Vec<String>, given: GivenLogin, workspace: &Workspace) -> Self {
        Self {
            hosts: HostNames {
                names,
                any_port: true,
            },
            // Why not: the token is a secret of its own, and no cookie is looked at.
            solo: false,
            given: Some(given),
            ..Self::new(Vec::new(), false, workspace)
        }
    }

    /// The address of a client: the peer, or the last one before the proxies that are named.
    pub(crate) fn address(&self, peer: Peer, headers: &HeaderMap) -> IpAddr {
        if !self.proxies.contains(&peer.0) {
            return peer.0;
        }
        let lines = headers.get_all("x-forwarded-for").iter();
        let hops: Vec<&str> = lines
            .filter_map(|line| line.to_str().ok())
            .flat_map(|line| line.split(','))
            .collect();
        let addresses = hops
            .iter()
            .rev()
            .map(|hop| hop.trim().parse::<IpAddr>().ok());
        // Why up to the first that is none: what stands before it was written by anybody.
        let mut known = addresses.map_while(|address| address);
        known
            .find(|address| !self.proxies.contains(address))
            .unwrap_or(peer.0)
    }

    /// Whether one person works here.
    pub(crate) fn is_solo(&self) -> bool {
        self.solo
    }

    /// Whether people reach the server by https.
    pub(crate) fn is_secure(&self) -> bool {
        self.secure
    }

    /// Whoever is not listed sees nothing, but that.
    fn refuse_unlisted(&self, shared: &Shared, person: &str) -> Result<(), Problem> {
        if self.solo || shared.live.is_listed(person) {
            return Ok(());
        }
        let detail = format!("`{person}` is not listed in policies/entities.json");
        Err(Problem::new(ProblemKind::Unlisted, detail)
            .hint("who keeps the workspace adds people there"))
    }
}

/// The person called `id`, or an agent of theirs.
pub(crate) fn principal(app: &App, id: &str, is_agent: bool) -> Principal {
    let person = app.workspace().people().principal(id);
    if is_agent { person.agent() } else { person }
}

/// A moment so long from now.
pub(crate) fn after(length: Duration) -> i64 {
    let length = i64::try_from(length.as_millis()).unwrap_or(i64::MAX);
    now_ms().saturating_add(length)
}
