//! MCP over HTTP: what stands behind the door at `/mcp`.
//!
//! Owns the bounds of clients and of what they send. Who is there was looked at before, and every
//! request is answered for who sent it. INVARIANT: a session is of the token that began it; to
//! every other one it is not there. The token goes no further than here.

use std::convert::Infallible;
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::HeaderMap;
use axum::http::header::AUTHORIZATION;
use axum::response::{IntoResponse as _, Response};
use bytes::Bytes;
use futures::StreamExt as _;
use http_body_util::combinators::BoxBody;
use http_body_util::{BodyExt as _, BodyStream, Full, LengthLimitError, Limited, StreamBody};
use rmcp::transport::streamable_http_server::session::SessionManager as _;
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::transport::{StreamableHttpServerConfig, StreamableHttpService};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};

use super::clients::{Answering, Clients};
use super::server::McpServer;
use crate::app::App;
use crate::door::Viewer;
use crate::limits::{BODY_BYTES_MAX, BODY_TIME, MCP_REQUESTS_MAX, MCP_SESSIONS_MAX};
use crate::problem::{Problem, ProblemKind};

/// How long a client that says nothing is remembered.
const SESSION_IDLE: Duration = Duration::from_secs(30 * 60);

type Service = StreamableHttpService<McpServer, LocalSessionManager>;

/// What stands behind the door.
pub(crate) struct Endpoint {
    sessions: Arc<LocalSessionManager>,
    service: Service,
    clients: Arc<Clients>,
    room: Arc<Semaphore>,
    halt: watch::Receiver<bool>,
}

/// What a request holds until the last byte of its answer is written.
struct HeldRequest {
    _client: Answering,
    _place: OwnedSemaphorePermit,
}

/// Every method of `/mcp`.
pub(crate) async fn answer(State(app): State<App>, viewer: Viewer, request: Request) -> Response {
    match app.mcp.answer(&viewer, request).await {
        Ok(answer) => answer,
        Err(problem) => problem.into_response(),
    }
}

impl Endpoint {
    /// An endpoint of this server; its answers end when `halt` turns true.
    pub(super) fn new(server: McpServer, halt: watch::Receiver<bool>) -> Self {
        let mut sessions = LocalSessionManager::default();
        sessions.session_config.keep_alive = Some(SESSION_IDLE);
        let sessions = Arc::new(sessions);
        // Why none here: the door looks at the name of the host, and refuses every origin.
        let mut config = StreamableHttpServerConfig::default().disable_allowed_hosts();
        config.max_request_body_bytes = BODY_BYTES_MAX;
        let service = Service::new(move || Ok(server.clone()), Arc::clone(&sessions), config);
        Self {
            sessions,
            service,
            clients: Clients::new(MCP_SESSIONS_MAX),
            room: Arc::new(Semaphore::new(MCP_REQUESTS_MAX)),
            halt,
        }
    }

    async fn answer(&self, viewer: &Viewer, mut request: Request) -> Result<Response, Problem> {
        request.headers_mut().remove(AUTHORIZATION);
        let owner = viewer.rated();
        let session = session_of(request.headers());
        if let Some(id) = &session
            && self.clients.is_of_another(id, &owner)
        {
            return Err(Problem::not_found("session"));
        }
        let place = Arc::clone(&self.room).try_acquire_owned();
        let client = self.clients.begin(session.as_deref());
        let Some((client, place)) = client.zip(place.ok()) else {
            return Err(later("too many requests are answered at once", 1));
        };
        let held = HeldRequest {
            _client: client,
            _place: place,
        };
        let answer = self.service.handle(whole(request).await?).await;
        let given = session_of(answer.headers()).filter(|id| session.as_ref() != Some(id));
        if let Some(id) = given
            && !self.remember(&id, &owner).await
        {
            let detail = "there are too many clients, and all of them are in use";
            return Err(later(detail, 60));
        }
        Ok(answer.map(|body| until(body, held, halted(self.halt.clone()))))
    }

    /// Makes room for a client that was given the session `id`; if there is none, ends it.
    async fn remember(&self, id: &str, owner: &str) -> bool {
        let sessions = self.sessions.sessions.read().await;
        let gone = self
            .clients
            .add(id, owner, |known| sessions.contains_key(known));
        drop(sessions);
        if let Some(gone) = &gone {
            // Why ignored: one that has ended needs no ending.
            let _ = self.sessions.close_session(&gone.as_str().into()).await;
        }
        gone.as_deref() != Some(id)
    }
}

/// An answer that holds its place as long as it lasts: it may be a stream. Streams end with the
/// process, not the process with its streams.
fn until(
    body: BoxBody<Bytes, Infallible>,
    held: HeldRequest,
    end: impl Future<Output = ()> + Send + 'static,
) -> Body {
    let frames = BodyStream::new(body).map(move |frame| {
        let _ = &held;
        frame
    });
    Body::new(StreamBody::new(frames.take_until(Box::pin(end))))
}

async fn halted(mut halt: watch::Receiver<bool>) {
    if halt.wait_for(|told| *told).await.is_err() {
        std::future::pending::<()>().await;
    }
}

fn session_of(headers: &HeaderMap) -> Option<String> {
    let id = headers.get("mcp-session-id")?.to_str().ok()?;
    Some(id.to_owned())
}

/// The request with all of its body, if that came in time and is not too large.
async fn whole(request: Request) -> Result<axum::http::Request<Full<Bytes>>, Problem> {
    let (head, body) = request.into_parts();
    let body = Limited::new(body, BODY_BYTES_MAX).collect();
    let refused = |kind, detail: &str| Err(Problem::new(kind, detail));
    match tokio::time::timeout(BODY_TIME, body).await {
        Ok(Ok(body)) => Ok(axum::http::Request::from_parts(
            head,
            Full::new(body.to_bytes()),
        )),
        Ok(Err(error)) if error.is::<LengthLimitError>() => {
            refused(ProblemKind::TooLarge, "the request is too large")
        }
        Ok(Err(_)) => refused(ProblemKind::BadRequest, "the request broke off"),
        Err(_) => refused(ProblemKind::TooSlow, "the request did not come in time"),
    }
}

/// Not now: again after so many seconds.
fn later(detail: &str, seconds: u64) -> Problem {
    Problem::new(ProblemKind::TooMany, detail).wait(seconds)
}
