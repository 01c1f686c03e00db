//! What a server writes, message by message, under a limit for one of them.
//!
//! Owns the bytes between two ends of line until they are a whole message. Judges none: `strict`
//! says what is handed on. INVARIANT: a message that is larger ends the connection at once, so that
//! nobody waits for what was dropped, and it is known why.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, ReadBuf};

use super::strict;

/// How much is read at once.
const PART_BYTES: usize = 8 * 1024;

/// A reader of lines.
#[derive(Debug)]
pub(super) struct MessageReader<R> {
    inner: R,
    most: usize,
    /// The beginning of a message.
    begun: Vec<u8>,
    /// Whole messages, from the first byte on that was not handed on.
    whole: Vec<u8>,
    handed_on: usize,
    over: Arc<AtomicBool>,
}

impl<R> MessageReader<R> {
    /// Lets lines of at most `most` bytes through; says in `over` that one was longer.
    pub(super) fn new(inner: R, most: usize, over: Arc<AtomicBool>) -> Self {
        Self {
            inner,
            most,
            begun: Vec::new(),
            whole: Vec::new(),
            handed_on: 0,
            over,
        }
    }

    /// Takes in what was read; an error if a message is too large.
    fn take(&mut self, read: &[u8]) -> io::Result<()> {
        for part in read.split_inclusive(|byte| *byte == b'\n') {
            self.begun.extend_from_slice(part);
            if self.begun.len() > self.most {
                self.over.store(true, Ordering::Relaxed);
                return Err(io::Error::other("a message is too large"));
            }
            if part.ends_with(b"\n") {
                match strict::replacement(&self.begun) {
                    None => self.whole.append(&mut self.begun),
                    Some(other) => self.whole.extend([other.as_bytes(), b"\n"].concat()),
                }
                self.begun.clear();
            }
        }
        Ok(())
    }

    /// Hands on as much as there is and fits.
    fn hand_on(&mut self, buffer: &mut ReadBuf<'_>) {
        let rest = self.whole.get(self.handed_on..).unwrap_or_default();
        let rest = rest.get(..buffer.remaining()).unwrap_or(rest);
        buffer.put_slice(rest);
        self.handed_on += rest.len();
        if self.handed_on == self.whole.len() {
            (self.whole, self.handed_on) = (Vec::new(), 0);
        }
    }
}

impl<R: AsyncRead + Unpin> AsyncRead for MessageReader<R> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        while self.whole.is_empty() {
            let mut part = [0; PART_BYTES];
            let mut part = ReadBuf::new(&mut part);
            ready!(Pin::new(&mut self.inner).poll_read(context, &mut part))?;
            if part.filled().is_empty() {
                // Why without its beginning: a message that does not end is none.
                return Poll::Ready(Ok(()));
            }
            self.take(part.filled())?;
        }
        self.hand_on(buffer);
        Poll::Ready(Ok(()))
    }
}
