//! One connection: the protocol that is spoken on it, and how it ends.
//!
//! Owns what HTTP/1.1 and HTTP/2 may take of this process. Answers nothing itself. INVARIANT: a
//! connection that has nothing to say for long is ended, and one that asks much at once waits for
//! itself before others wait for it.

use std::convert::Infallible;
use std::sync::Arc;

use axum::Router;
use axum::body::Body;
use http_body_util::BodyExt as _;
use hyper::Request;
use hyper::body::Incoming;
use hyper::service::{Service as _, service_fn};
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto::Builder;
use hyper_util::service::TowerToHyperService;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::sync::{Semaphore, watch};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;

use super::idle::IdleConnection;
use super::{Peer, tls};
use crate::limits::{ANSWER_BUFFER_BYTES_MAX, GOODBYE_TIME, HEAD_TIME, STREAMS_AT_ONCE_MAX};

/// What is spoken on a connection, as its handshake said.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum HttpVersion {
    Http1,
    Http2,
}

impl HttpVersion {
    /// What both ends agreed on; who names nothing speaks as everybody once did.
    fn of(stream: &TlsStream<TcpStream>) -> Self {
        let (_, tls) = stream.get_ref();
        match tls.alpn_protocol() {
            Some(tls::HTTP2) => Self::Http2,
            _ => Self::Http1,
        }
    }

    fn builder(self) -> Builder<TokioExecutor> {
        let mut builder = Builder::new(TokioExecutor::new());
        let mut http1 = builder.http1();
        http1.timer(TokioTimer::new());
        http1.header_read_timeout(HEAD_TIME);
        let mut http2 = builder.http2();
        http2.max_concurrent_streams(STREAMS_AT_ONCE_MAX);
        http2.max_send_buf_size(ANSWER_BUFFER_BYTES_MAX);
        // Why never by the first bytes: who waits for them has no end.
        match self {
            Self::Http1 => builder.http1_only(),
            Self::Http2 => builder.http2_only(),
        }
    }
}

/// Who asks on a connection, and what answers.
pub(super) struct Conversation {
    /// Where it comes from.
    pub(super) peer: Peer,
    /// What answers.
    pub(super) router: Router,
    /// Places for requests, of all connections.
    pub(super) room: Arc<Semaphore>,
    /// The connection among those that have nothing to say.
    pub(super) guest: Arc<IdleConnection>,
    /// Turns true when the process is told to end.
    pub(super) halt: watch::Receiver<bool>,
}

/// A request that is being answered: when the last byte of the answer is written, another has its
/// place, and its connection may be silent again.
struct BusyConnection(Arc<IdleConnection>);

impl BusyConnection {
    fn of(guest: &Arc<IdleConnection>) -> Self {
        guest.begin();
        Self(Arc::clone(guest))
    }
}

impl Drop for BusyConnection {
    fn drop(&mut self) {
        self.0.end();
    }
}

impl Conversation {
    /// Without TLS.
    pub(super) async fn plain(self, stream: TcpStream) {
        self.hold(stream, HttpVersion::Http1).await;
    }

    /// After a handshake, if that comes about in time.
    pub(super) async fn secured(self, tls: TlsAcceptor, stream: TcpStream) {
        let shaken = tokio::select! {
            shaken = tokio::time::timeout(HEAD_TIME, tls.accept(stream)) => shaken,
            () = self.guest.sent_away() => return,
        };
        if let Ok(Ok(stream)) = shaken {
            let protocol = HttpVersion::of(&stream);
            self.hold(stream, protocol).await;
        }
    }

    /// Until either end closes it; told to end, it answers what it is asked and ends.
    async fn hold<S>(self, stream: S, protocol: HttpVersion)
    where
        S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        let Self {
            peer,
            router,
            room,
            guest,
            mut halt,
        } = self;
        let inner = TowerToHyperService::new(router.layer(axum::Extension(peer)));
        let service = service_fn(|request: Request<Incoming>| {
            let busy = BusyConnection::of(&guest);
            let (inner, room) = (inner.clone(), Arc::clone(&room));
            async move {
                // Why no error: the room is never closed.
                let place = room.acquire_owned().await;
                let answer = inner.call(request).await?;
                let held = move |frame| {
                    let _ = (&place, &busy);
                    frame
                };
                Ok::<_, Infallible>(answer.map(|body| Body::new(body.map_frame(held))))
            }
        });
        let builder = protocol.builder();
        let serving = builder.serve_connection(TokioIo::new(stream), service);
        let mut serving = std::pin::pin!(serving);
        tokio::select! {
            // Why ignored: whatever ended it, the other end sees it.
            _ = serving.as_mut() => return,
            () = guest.sent_away() => return,
            // Why only then: of HTTP/1.1 the head has its time.
            () = guest.silent(HEAD_TIME), if protocol == HttpVersion::Http2 => {}
            _ = halt.wait_for(|told| *told) => {}
        }
        serving.as_mut().graceful_shutdown();
        tokio::select! {
            _ = serving => {}
            () = guest.silent(GOODBYE_TIME) => {}
        }
    }
}
