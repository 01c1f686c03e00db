//! The connection a call came in on: cut without an answer, or answered twice.
//!
//! Owns the wrapper around accepted sockets. Never sends a byte of its own making. INVARIANT: once
//! a line is cut, nothing written to it reaches the peer; what stutters is sent twice and whole.

use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, ready};

use axum::extract::connect_info::Connected;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use axum::serve::{IncomingStream, Listener};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpListener, TcpStream};

/// The switch of one connection, handed to every call that arrives on it.
#[derive(Clone, Default)]
pub struct Line(Arc<Switches>);

#[derive(Default)]
struct Switches {
    cut: AtomicBool,
    stutters: AtomicBool,
}

impl Line {
    /// Cuts the line; the response returned is what the server then fails to write.
    pub fn cut(&self) -> Response {
        self.0.cut.store(true, Ordering::SeqCst);
        StatusCode::INTERNAL_SERVER_ERROR.into_response()
    }

    /// Sends the next answer twice.
    pub fn stutter(&self) {
        self.0.stutters.store(true, Ordering::SeqCst);
    }

    fn is_cut(&self) -> bool {
        self.0.cut.load(Ordering::SeqCst)
    }
}

impl Connected<IncomingStream<'_, CutListener>> for Line {
    fn connect_info(stream: IncomingStream<'_, CutListener>) -> Self {
        stream.io().line.clone()
    }
}

/// A TCP listener whose connections can be cut.
pub struct CutListener(pub TcpListener);

impl Listener for CutListener {
    type Io = CutStream;
    type Addr = SocketAddr;

    async fn accept(&mut self) -> (CutStream, SocketAddr) {
        let (stream, peer) = Listener::accept(&mut self.0).await;
        (
            CutStream {
                stream,
                line: Line::default(),
                again: Vec::new(),
            },
            peer,
        )
    }

    fn local_addr(&self) -> io::Result<SocketAddr> {
        self.0.local_addr()
    }
}

/// An accepted socket that refuses to write once its line is cut.
pub struct CutStream {
    stream: TcpStream,
    line: Line,
    /// What is still to be sent a second time.
    again: Vec<u8>,
}

impl AsyncRead for CutStream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(cx, buf)
    }
}

impl AsyncWrite for CutStream {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<io::Result<usize>> {
        if self.line.is_cut() {
            return Poll::Ready(Err(io::ErrorKind::ConnectionReset.into()));
        }
        let written = ready!(Pin::new(&mut self.stream).poll_write(cx, buf))?;
        if self.line.0.stutters.load(Ordering::SeqCst) {
            self.again.extend(buf.iter().take(written));
        }
        Poll::Ready(Ok(written))
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        // Why here: an answer is flushed when it is whole.
        let this = &mut *self;
        while !this.again.is_empty() {
            let written = ready!(Pin::new(&mut this.stream).poll_write(cx, &this.again))?;
            this.again.drain(..written);
            this.line.0.stutters.store(false, Ordering::SeqCst);
        }
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}
