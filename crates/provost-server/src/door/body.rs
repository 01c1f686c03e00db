//! How long the body of a request may take.
//!
//! Owns the deadline of every body, whoever reads it. Reads none itself. INVARIANT: a body that is
//! not whole in time is refused as that, and is never read on.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use axum::body::Body;
use axum::extract::Request;
use axum::middleware::Next;
use axum::response::{IntoResponse as _, Response};
use futures::StreamExt as _;
use futures::stream::unfold;
use hyper::body::Body as _;
use tokio::time::{Instant, timeout_at};

use crate::limits::BODY_TIME;
use crate::problem::{Problem, ProblemKind};

/// Refuses a body that does not come in time.
pub(crate) async fn in_time(request: Request, next: Next) -> Response {
    if request.body().is_end_stream() {
        return next.run(request).await;
    }
    let deadline = Instant::now() + BODY_TIME;
    let late = Arc::new(AtomicBool::new(false));
    let told = Arc::clone(&late);
    let (head, body) = request.into_parts();
    let chunks = unfold(Some(body.into_data_stream()), move |rest| {
        let told = Arc::clone(&told);
        async move {
            let mut rest = rest?;
            match timeout_at(deadline, rest.next()).await {
                Ok(chunk) => Some((chunk?, Some(rest))),
                Err(_) => {
                    told.store(true, Ordering::Relaxed);
                    let error = axum::Error::new(io::Error::from(io::ErrorKind::TimedOut));
                    Some((Err(error), None))
                }
            }
        }
    });
    let request = Request::from_parts(head, Body::from_stream(chunks));
    let response = next.run(request).await;
    if late.load(Ordering::Relaxed) {
        let detail = "the body of the request did not come in time";
        return Problem::new(ProblemKind::TooSlow, detail).into_response();
    }
    response
}
