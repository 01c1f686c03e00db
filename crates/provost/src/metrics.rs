//! The door of `work --metrics`: the series of the workspace, for scrapers of this machine.
//!
//! Owns the listener and its one path. Reads the journal by a connection of its own, so that nobody
//! who asks is in the way of a run. INVARIANT: it listens on this machine alone, answers no page of
//! another site, and tells what `stats --openmetrics` tells.

use std::convert::Infallible;
use std::net::{IpAddr, SocketAddr, TcpListener};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http_body_util::Full;
use hyper::body::Incoming;
use hyper::header::{ALLOW, CONTENT_TYPE, HOST, HeaderValue};
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use provost_engine::clock::now_ms;
use provost_engine::store::Store;
use provost_engine::telemetry::{CONTENT_TYPE as OPENMETRICS, openmetrics};
use tokio::sync::Semaphore;

use crate::failure::Failure;
use crate::listener;

/// Where the series are.
const PATH: &str = "/metrics";
/// Most connections at once.
const CONNECTIONS_MAX: usize = 16;
/// How long the head of a request may take, and a connection may say nothing.
const HEAD_TIME: Duration = Duration::from_secs(60);
/// How long nothing is taken after the system could not give a connection.
const PAUSE: Duration = Duration::from_millis(100);

type MetricsAnswer = Response<Full<Bytes>>;

/// The door, as asked for on the command line.
pub struct MetricsDoor {
    listener: TcpListener,
    store: Arc<Store>,
}

impl MetricsDoor {
    /// Opens it at `address`, over the journal in `dir`.
    pub fn open(address: SocketAddr, dir: &Path) -> Result<Self, Failure> {
        if !address.ip().is_loopback() {
            let message = format!("`{address}` can be reached from other machines");
            return Err(Failure::usage(message).hint(
                "listen at 127.0.0.1, behind a server that asks who is there; or write \
                 `stats --openmetrics` into a file of a node exporter",
            ));
        }
        let listener = listener::at(address)?;
        let store = Arc::new(Store::open_read_only(dir)?);
        Ok(Self { listener, store })
    }

    /// What scrapers are given.
    pub fn url(&self) -> String {
        let address = self.listener.local_addr();
        address.map_or_else(|_| String::new(), |at| format!("http://{at}{PATH}"))
    }

    /// Serves scrapers for as long as it is polled.
    pub async fn serve(self) {
        let Ok(listener) = tokio::net::TcpListener::from_std(self.listener) else {
            crate::output::note("error: the address cannot be listened at\n");
            return;
        };
        let room = Arc::new(Semaphore::new(CONNECTIONS_MAX));
        loop {
            let Ok(place) = Arc::clone(&room).acquire_owned().await else {
                return;
            };
            let Ok((stream, _)) = listener.accept().await else {
                tokio::time::sleep(PAUSE).await;
                continue;
            };
            let store = Arc::clone(&self.store);
            tokio::spawn(async move {
                let _place = place;
                let answering = service_fn(|request| {
                    let store = Arc::clone(&store);
                    async move { Ok::<_, Infallible>(answer(&request, store).await) }
                });
                let mut http = hyper::server::conn::http1::Builder::new();
                http.timer(TokioTimer::new()).header_read_timeout(HEAD_TIME);
                // Why ignored: whatever ended it, the scraper sees it and asks again.
                let _ = http.serve_connection(TokioIo::new(stream), answering).await;
            });
        }
    }
}

async fn answer(request: &Request<Incoming>, store: Arc<Store>) -> MetricsAnswer {
    // Why: a name that leads here may be a page's of another site.
    if !is_local(request) {
        return said(
            StatusCode::MISDIRECTED_REQUEST,
            "this is no name of this machine",
        );
    }
    if request.uri().path() != PATH {
        return said(StatusCode::NOT_FOUND, "the series are at `/metrics`");
    }
    if request.method() != Method::GET {
        let mut answer = said(StatusCode::METHOD_NOT_ALLOWED, "the series are read by GET");
        answer
            .headers_mut()
            .insert(ALLOW, HeaderValue::from_static("GET"));
        return answer;
    }
    // Why a thread: what reads the journal blocks, and the runs go on.
    let counted = tokio::task::spawn_blocking(move || openmetrics(&store, now_ms())).await;
    match counted {
        Ok(Ok(text)) => {
            let mut answer = Response::new(Full::new(Bytes::from(text)));
            let form = HeaderValue::from_static(OPENMETRICS);
            answer.headers_mut().insert(CONTENT_TYPE, form);
            answer
        }
        Ok(Err(_)) | Err(_) => {
            let status = StatusCode::SERVICE_UNAVAILABLE;
            said(
                status,
                "the journal cannot be read: `provost audit verify` says why",
            )
        }
    }
}

/// Whether a request names this machine.
fn is_local(request: &Request<Incoming>) -> bool {
    let host = request.headers().get(HOST);
    let host = host.and_then(|host| host.to_str().ok()).unwrap_or_default();
    is_local_name(host)
}

fn is_local_name(host: &str) -> bool {
    let name = match host.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => name,
        _ => host,
    };
    let address = name.trim_start_matches('[').trim_end_matches(']');
    let is_address = address.parse::<IpAddr>().is_ok_and(|ip| ip.is_loopback());
    is_address || name.eq_ignore_ascii_case("localhost")
}

fn said(status: StatusCode, message: &'static str) -> MetricsAnswer {
    let mut answer = Response::new(Full::new(Bytes::from_static(message.as_bytes())));
    *answer.status_mut() = status;
    let plain = HeaderValue::from_static("text/plain; charset=utf-8");
    answer.headers_mut().insert(CONTENT_TYPE, plain);
    answer
}
