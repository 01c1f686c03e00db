//! The clients' end over HTTP: who may knock, and at which door.
//!
//! Owns the listener, the token and the bounds of connections. Speaks no MCP itself. INVARIANT: of
//! a request whose token is not the one asked for nothing but its head is read, and the token goes
//! no further than here; a connection has a place only while a request with the token is answered.

use std::convert::Infallible;
use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http_body_util::combinators::BoxBody;
use http_body_util::{BodyExt as _, Full, LengthLimitError, Limited};
use hyper::body::Incoming;
use hyper::header::{AUTHORIZATION, CONNECTION, CONTENT_TYPE, HeaderMap, HeaderValue};
use hyper::header::{RETRY_AFTER, WWW_AUTHENTICATE};
use hyper::service::service_fn;
use hyper::{Request, Response, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use provost_engine::secrets::SecretName;
use ring::hmac;
use rmcp::transport::streamable_http_server::session::SessionManager as _;
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::transport::{StreamableHttpServerConfig, StreamableHttpService};
use tokio::net::TcpStream;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::server::Server;
use crate::failure::Failure;
use crate::listener;

mod clients;
mod idle;

use clients::{Answering, Clients};
use idle::{IdleConnection, IdleConnections};

/// Where MCP is spoken.
const PATH: &str = "/mcp";
/// The largest request, in bytes: a plan has one mebibyte at most, escaped twice over.
const BODY_MAX: usize = 8 * 1024 * 1024;
/// Fewest characters of a token: whoever is on this machine may try them.
const TOKEN_MIN: usize = 16;
/// Most requests that are answered at once.
const REQUESTS_MAX: usize = 64;
/// Most connections without a request; with more, the one that was silent longest is closed.
const SILENT_MAX: usize = 128;
/// Most clients that are remembered at once; with more, one that is not in use is forgotten.
const SESSIONS_MAX: usize = 64;
/// How long a client that says nothing is remembered.
const SESSION_IDLE: Duration = Duration::from_secs(30 * 60);
/// How long the head of a request may take, and a connection may say nothing.
const HEAD_TIME: Duration = Duration::from_secs(15);
/// How long the body of a request may take.
const BODY_TIME: Duration = Duration::from_secs(30);
/// How long nothing is taken after the system could not give a connection.
const PAUSE: Duration = Duration::from_millis(100);

type HttpReply = Response<BoxBody<Bytes, Infallible>>;
type Service = StreamableHttpService<Server, LocalSessionManager>;

/// The door, as asked for on the command line.
pub struct HttpOptions {
    listener: TcpListener,
    token: Token,
    hosts: Vec<String>,
}

impl HttpOptions {
    /// Opens it at `address` for whoever sends the token, under the names of this machine and
    /// `hosts`.
    pub fn open(address: SocketAddr, token: &str, hosts: Vec<String>) -> Result<Self, Failure> {
        if !address.ip().is_loopback() && hosts.is_empty() {
            let message = format!("`{address}` can be reached from other machines");
            return Err(Failure::usage(message).hint(
                "listen at 127.0.0.1, behind a server that speaks TLS, or say with `--host NAME` \
                 under which name clients reach it",
            ));
        }
        let token = Token::read(token)?;
        let listener = listener::at(address)?;
        let local = ["localhost", "127.0.0.1", "::1"].map(str::to_owned);
        let hosts = local.into_iter().chain(hosts).collect();
        Ok(Self {
            listener,
            token,
            hosts,
        })
    }

    /// What clients are given.
    pub fn url(&self) -> Result<String, Failure> {
        let address = self.listener.local_addr();
        let address = address.map_err(|error| {
            let reason = crate::document::reason(&error);
            Failure::usage(format!("there is no address to listen at: {reason}"))
        })?;
        Ok(format!("http://{address}{PATH}"))
    }

    /// Serves clients for as long as it is polled.
    pub async fn serve(self, server: Server) {
        let Ok(listener) = tokio::net::TcpListener::from_std(self.listener) else {
            crate::output::note("error: the address cannot be listened at\n");
            return;
        };
        let mut sessions = LocalSessionManager::default();
        sessions.session_config.keep_alive = Some(SESSION_IDLE);
        let sessions = Arc::new(sessions);
        let mut config = StreamableHttpServerConfig::default()
            .with_allowed_hosts(self.hosts)
            // Why no origin at all: a request that names one comes from a page in a browser.
            .enforce_origin_validation();
        config.max_request_body_bytes = BODY_MAX;
        let service = Service::new(move || Ok(server.clone()), Arc::clone(&sessions), config);
        let behind = Arc::new(Behind {
            token: self.token,
            sessions,
            service,
            clients: Clients::new(SESSIONS_MAX),
            room: Arc::new(Semaphore::new(REQUESTS_MAX)),
        });
        let lobby = IdleConnections::new(SILENT_MAX);
        loop {
            let Ok((stream, _)) = listener.accept().await else {
                tokio::time::sleep(PAUSE).await;
                continue;
            };
            let (behind, guest) = (Arc::clone(&behind), lobby.enter());
            tokio::spawn(async move { converse(stream, &behind, &guest).await });
        }
    }
}

/// One connection, until either end closes it.
async fn converse(stream: TcpStream, behind: &Arc<Behind>, guest: &Arc<IdleConnection>) {
    let answering = service_fn(|request| {
        let (behind, guest) = (Arc::clone(behind), Arc::clone(guest));
        async move { Ok::<_, Infallible>(behind.answer(request, guest).await) }
    });
    let mut http = hyper::server::conn::http1::Builder::new();
    http.timer(TokioTimer::new()).header_read_timeout(HEAD_TIME);
    tokio::select! {
        // Why ignored: whatever ended it, the client sees it and asks again.
        _ = http.serve_connection(TokioIo::new(stream), answering) => {}
        () = guest.sent_away() => {}
    }
    guest.leave();
}

/// What a request holds until the last byte of its answer is written.
struct HeldRequest {
    guest: Arc<IdleConnection>,
    _client: Answering,
    _place: OwnedSemaphorePermit,
}

impl Drop for HeldRequest {
    fn drop(&mut self) {
        self.guest.wait();
    }
}

/// What stands behind the door.
struct Behind {
    token: Token,
    sessions: Arc<LocalSessionManager>,
    service: Service,
    clients: Arc<Clients>,
    room: Arc<Semaphore>,
}

impl Behind {
    async fn answer(
        &self,
        mut request: Request<Incoming>,
        guest: Arc<IdleConnection>,
    ) -> HttpReply {
        if !self.token.is_in(request.headers()) {
            let mut answer = refused(StatusCode::UNAUTHORIZED, "the token is wrong or absent");
            let headers = answer.headers_mut();
            headers.insert(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
            // Why: its body was not read, so nothing further can be.
            headers.insert(CONNECTION, HeaderValue::from_static("close"));
            return answer;
        }
        request.headers_mut().remove(AUTHORIZATION);
        if request.uri().path() != PATH {
            return refused(StatusCode::NOT_FOUND, "MCP is served at `/mcp`");
        }
        let session = session_of(request.headers());
        let place = Arc::clone(&self.room).try_acquire_owned();
        let Some((client, place)) = self.clients.begin(session.as_deref()).zip(place.ok()) else {
            return later("too many requests are answered at once", 1);
        };
        guest.leave();
        let held = HeldRequest {
            guest,
            _client: client,
            _place: place,
        };
        let request = match whole(request).await {
            Ok(request) => request,
            Err(answer) => return answer,
        };
        let answer = self.service.handle(request).await;
        let given = session_of(answer.headers()).filter(|id| session.as_ref() != Some(id));
        if let Some(id) = given
            && !self.remember(&id).await
        {
            return later("there are too many clients, and all of them are in use", 60);
        }
        answer.map(|body| {
            // Why inside: an answer may be a stream, and lasts as long as it does.
            let with_place = move |frame| {
                let _ = &held;
                frame
            };
            body.map_frame(with_place).boxed()
        })
    }

    /// Makes room for a client that was given the session `id`; if there is none, ends it.
    async fn remember(&self, id: &str) -> bool {
        let sessions = self.sessions.sessions.read().await;
        let gone = self.clients.add(id, |known| sessions.contains_key(known));
        drop(sessions);
        if let Some(gone) = &gone {
            // Why ignored: one that has ended needs no ending.
            let _ = self.sessions.close_session(&gone.as_str().into()).await;
        }
        gone.as_deref() != Some(id)
    }
}

fn session_of(headers: &HeaderMap) -> Option<String> {
    let id = headers.get("mcp-session-id")?.to_str().ok()?;
    Some(id.to_owned())
}

/// The request with all of its body, if that came in time and is not too large.
async fn whole(request: Request<Incoming>) -> Result<Request<Full<Bytes>>, HttpReply> {
    let (head, body) = request.into_parts();
    let body = Limited::new(body, BODY_MAX).collect();
    match tokio::time::timeout(BODY_TIME, body).await {
        Ok(Ok(body)) => Ok(Request::from_parts(head, Full::new(body.to_bytes()))),
        Ok(Err(error)) if error.is::<LengthLimitError>() => {
            let status = StatusCode::PAYLOAD_TOO_LARGE;
            Err(refused(status, "the request is too large"))
        }
        Ok(Err(_)) => Err(refused(StatusCode::BAD_REQUEST, "the request broke off")),
        Err(_) => {
            let status = StatusCode::REQUEST_TIMEOUT;
            Err(refused(status, "the request did not come in time"))
        }
    }
}

/// Not now: again after so many seconds.
fn later(message: &'static str, seconds: u16) -> HttpReply {
    let mut answer = refused(StatusCode::SERVICE_UNAVAILABLE, message);
    answer.headers_mut().insert(RETRY_AFTER, seconds.into());
    answer
}

fn refused(status: StatusCode, message: &'static str) -> HttpReply {
    let body = Full::new(Bytes::from_static(message.as_bytes())).boxed();
    let mut answer = Response::new(body);
    *answer.status_mut() = status;
    let plain = HeaderValue::from_static("text/plain; charset=utf-8");
    answer.headers_mut().insert(CONTENT_TYPE, plain);
    answer
}

/// What clients must send. Why as a key: it is compared without telling how much of it fits.
struct Token(hmac::Key);

impl Token {
    /// What is signed to compare two tokens.
    const WORD: &[u8] = b"provost mcp";

    fn read(name: &str) -> Result<Self, Failure> {
        let hint = "`--token env:NAME` or `--token file:PATH` says where the token is";
        let secret = SecretName::parse(name)
            .map_err(|error| Failure::usage(error.to_string()).hint(hint))?
            .resolve("".as_ref())
            .map_err(|error| Failure::usage(error.to_string()).hint(hint))?;
        let text = secret.expose();
        if text.len() < TOKEN_MIN || !text.bytes().all(|byte| byte.is_ascii_graphic()) {
            let message = format!(
                "a token has at least {TOKEN_MIN} characters, letters, digits and signs of ASCII"
            );
            return Err(Failure::usage(message).hint("make one: `openssl rand -hex 32`"));
        }
        Ok(Self::of(text.as_bytes()))
    }

    fn of(token: &[u8]) -> Self {
        Self(hmac::Key::new(hmac::HMAC_SHA256, token))
    }

    fn is_in(&self, headers: &HeaderMap) -> bool {
        let mut sent = headers.get_all(AUTHORIZATION).iter();
        let (Some(value), None) = (sent.next(), sent.next()) else {
            return false;
        };
        let Some((scheme, token)) = value.as_bytes().split_at_checked("Bearer ".len()) else {
            return false;
        };
        let signed = hmac::sign(&Self::of(token).0, Self::WORD);
        scheme.eq_ignore_ascii_case(b"Bearer ")
            && hmac::verify(&self.0, Self::WORD, signed.as_ref()).is_ok()
    }
}
