//! What a server writes, under a limit for one message.
//!
//! Owns the count of bytes between two ends of line. INVARIANT: a message that is larger ends the
//! connection at once, so that nobody waits for what was dropped, and it is known why.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, ReadBuf};

/// A reader of lines.
#[derive(Debug)]
pub(super) struct LineLimiter<R> {
    inner: R,
    most: usize,
    line: usize,
    over: Arc<AtomicBool>,
}

impl<R> LineLimiter<R> {
    /// Lets lines of at most `most` bytes through; says in `over` that one was longer.
    pub(super) fn new(inner: R, most: usize, over: Arc<AtomicBool>) -> Self {
        Self {
            inner,
            most,
            line: 0,
            over,
        }
    }
}

impl<R: AsyncRead + Unpin> AsyncRead for LineLimiter<R> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        std::task::ready!(Pin::new(&mut self.inner).poll_read(context, buffer))?;
        let read = buffer.filled().get(before..).unwrap_or_default();
        for part in read.split_inclusive(|byte| *byte == b'\n') {
            self.line = self.line.saturating_add(part.len());
            if self.line > self.most {
                self.over.store(true, Ordering::Relaxed);
                return Poll::Ready(Err(io::Error::other("a message is too large")));
            }
            if part.ends_with(b"\n") {
                self.line = 0;
            }
        }
        Poll::Ready(Ok(()))
    }
}
