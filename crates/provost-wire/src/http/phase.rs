//! How far a request has come: whether its connection stands.
//!
//! Owns the watch over connecting. INVARIANT: "connecting" is said only while the connection this
//! very request asked for does not stand yet, so no byte of it can have left.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};
use std::task::{Context, Poll};

use tower::{Layer, Service};

const CONNECTING: u8 = 1;
const CONNECTED: u8 = 2;

tokio::task_local! {
    static CURRENT: Phase;
}

/// The phase of one request: nothing known, connecting, or connected.
#[derive(Clone, Debug, Default)]
pub(super) struct Phase(Arc<AtomicU8>);

impl Phase {
    /// Runs the exchange whose connection is watched.
    pub(super) fn watch<F: Future>(self, exchange: F) -> impl Future<Output = F::Output> {
        CURRENT.scope(self, exchange)
    }

    pub(super) fn is_connecting(&self) -> bool {
        self.0.load(Ordering::SeqCst) == CONNECTING
    }

    fn set(&self, phase: u8) {
        self.0.store(phase, Ordering::SeqCst);
    }
}

/// Puts the watch around whatever makes connections, their encryption included.
#[derive(Clone, Copy, Debug)]
pub(super) struct PhaseLayer;

impl<S> Layer<S> for PhaseLayer {
    type Service = PhaseService<S>;

    fn layer(&self, inner: S) -> PhaseService<S> {
        PhaseService(inner)
    }
}

#[derive(Clone, Debug)]
pub(super) struct PhaseService<S>(S);

impl<S, R> Service<R> for PhaseService<S>
where
    S: Service<R>,
    S::Future: Send + 'static,
{
    type Response = S::Response;
    type Error = S::Error;
    type Future = Pin<Box<dyn Future<Output = Result<S::Response, S::Error>> + Send>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.0.poll_ready(context)
    }

    fn call(&mut self, target: R) -> Self::Future {
        // Why: a connection that is made outside of the request's own task stays unknown.
        let phase = CURRENT.try_with(Phase::clone).unwrap_or_default();
        phase.set(CONNECTING);
        let connecting = self.0.call(target);
        Box::pin(async move {
            let made = connecting.await;
            phase.set(CONNECTED);
            made
        })
    }
}
