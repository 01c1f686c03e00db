//! The future of a request to a store: of one to the writer, or one that is answered already.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

use tokio::sync::oneshot;

use super::StoreError;

pub(super) type Answer<T> = oneshot::Sender<Result<T, StoreError>>;

/// A request that is queued; resolves when its commit ended. Dropping it recalls nothing.
#[derive(Debug)]
#[must_use = "a request may fail: wait for it"]
pub struct Pending<T>(PendingState<T>);

#[derive(Debug)]
enum PendingState<T> {
    Ready(Option<Result<T, StoreError>>),
    Queued(oneshot::Receiver<Result<T, StoreError>>),
}

impl<T> Pending<T> {
    pub(super) fn new() -> (Answer<T>, Self) {
        let (sender, receiver) = oneshot::channel();
        (sender, Self(PendingState::Queued(receiver)))
    }

    /// One that is answered already.
    pub fn ready(answer: Result<T, StoreError>) -> Self {
        Self(PendingState::Ready(Some(answer)))
    }

    pub(super) fn failed(error: StoreError) -> Self {
        Self::ready(Err(error))
    }

    /// Waits on this thread. Not for use inside an asynchronous task: `await` it there.
    ///
    /// # Errors
    /// The [`StoreError`] of the request.
    pub fn wait(self) -> Result<T, StoreError> {
        match self.0 {
            PendingState::Ready(answer) => answer.unwrap_or(Err(StoreError::Closed)),
            PendingState::Queued(receiver) => {
                receiver.blocking_recv().unwrap_or(Err(StoreError::Closed))
            }
        }
    }
}

impl<T> Future for Pending<T> {
    type Output = Result<T, StoreError>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        match &mut self.0 {
            PendingState::Ready(answer) => {
                Poll::Ready(answer.take().unwrap_or(Err(StoreError::Closed)))
            }
            PendingState::Queued(receiver) => Pin::new(receiver)
                .poll(cx)
                .map(|answer| answer.unwrap_or(Err(StoreError::Closed))),
        }
    }
}

// Why: nothing in it is pinned; a receiver is `Unpin` whatever it carries.
impl<T> Unpin for Pending<T> {}
