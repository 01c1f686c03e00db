//! The clients' end over HTTP: who may knock, and at which door.
//!
//! Owns the listener, the token and the bounds of connections. Speaks no MCP itself. INVARIANT: of
//! a request whose token is not the one asked for nothing but its head is read, and the token goes
//! no further than here.

use std::convert::Infallible;
use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http_body_util::combinators::BoxBody;
use http_body_util::{BodyExt as _, Full};
use hyper::body::Incoming;
use hyper::header::{AUTHORIZATION, CONNECTION, CONTENT_TYPE, HeaderMap, HeaderValue};
use hyper::header::{RETRY_AFTER, WWW_AUTHENTICATE};
use hyper::service::service_fn;
use hyper::{Request, Response, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use provost_engine::secrets::SecretName;
use ring::hmac;
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::transport::{StreamableHttpServerConfig, StreamableHttpService};
use tokio::net::TcpStream;
use tokio::sync::Semaphore;

use super::server::Server;
use crate::failure::Failure;

/// Where MCP is spoken.
const PATH: &str = "/mcp";
/// The largest request, in bytes: a plan has one mebibyte at most, escaped twice over.
const BODY_MAX: usize = 8 * 1024 * 1024;
/// Fewest characters of a token: whoever is on this machine may try them.
const TOKEN_MIN: usize = 16;
/// Most connections at once; more wait to be taken.
const CONNECTIONS_MAX: usize = 64;
/// Most clients that are remembered at once.
const SESSIONS_MAX: usize = 64;
/// How long a client that says nothing is remembered.
const SESSION_IDLE: Duration = Duration::from_secs(30 * 60);
/// How long the head of a request may take, and a connection may say nothing.
const HEAD_TIME: Duration = Duration::from_secs(15);
/// How long nothing is taken after the system could not give a connection.
const PAUSE: Duration = Duration::from_millis(100);

type Answer = Response<BoxBody<Bytes, Infallible>>;
type Service = StreamableHttpService<Server, LocalSessionManager>;

/// The door, as asked for on the command line.
pub struct Door {
    listener: TcpListener,
    token: Token,
    hosts: Vec<String>,
}

impl Door {
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
        let listener = TcpListener::bind(address)
            .and_then(|listener| listener.set_nonblocking(true).map(|()| listener))
            .map_err(|error| {
                let reason = crate::document::reason(&error);
                Failure::usage(format!("cannot listen at `{address}`: {reason}"))
            })?;
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
        });
        let room = Arc::new(Semaphore::new(CONNECTIONS_MAX));
        while let Ok(place) = Arc::clone(&room).acquire_owned().await {
            let Ok((stream, _)) = listener.accept().await else {
                tokio::time::sleep(PAUSE).await;
                continue;
            };
            let behind = Arc::clone(&behind);
            tokio::spawn(async move {
                converse(stream, &behind).await;
                drop(place);
            });
        }
    }
}

/// One connection, until either end closes it.
async fn converse(stream: TcpStream, behind: &Arc<Behind>) {
    let answering = service_fn(|request| {
        let behind = Arc::clone(behind);
        async move { Ok::<_, Infallible>(behind.answer(request).await) }
    });
    let mut http = hyper::server::conn::http1::Builder::new();
    http.timer(TokioTimer::new()).header_read_timeout(HEAD_TIME);
    // Why ignored: whatever ended it, the client sees it and asks again.
    let _ = http.serve_connection(TokioIo::new(stream), answering).await;
}

/// What stands behind the door.
struct Behind {
    token: Token,
    sessions: Arc<LocalSessionManager>,
    service: Service,
}

impl Behind {
    async fn answer(&self, mut request: Request<Incoming>) -> Answer {
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
            return refused(StatusCode::NOT_FOUND, "MCP is spoken at `/mcp`");
        }
        let is_new = !request.headers().contains_key("mcp-session-id");
        if is_new && self.sessions.sessions.read().await.len() >= SESSIONS_MAX {
            let status = StatusCode::SERVICE_UNAVAILABLE;
            let mut answer = refused(status, "there are too many clients");
            answer.headers_mut().insert(RETRY_AFTER, 60.into());
            return answer;
        }
        self.service.handle(request).await
    }
}

fn refused(status: StatusCode, message: &'static str) -> Answer {
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
