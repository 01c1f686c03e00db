//! Work that blocks a thread, under a deadline it can look at.
//!
//! Owns the one place where adapters leave the asynchronous threads. INVARIANT: a call that is
//! dropped, or whose time is over, makes the work behind it stop at its next look.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use provost_plan::duration;
use provost_run::outcome::{CallTime, Class, Landing, Reply};

use crate::fault::Fault;
use crate::limits::STOP_GRACE;

/// When work has to stop.
#[derive(Clone, Debug)]
pub(crate) struct Deadline {
    at: Instant,
    timeout: Duration,
    cancelled: Arc<AtomicBool>,
}

impl Deadline {
    pub(crate) fn after(timeout: Duration) -> Self {
        Self {
            at: Instant::now() + timeout,
            timeout,
            cancelled: Arc::default(),
        }
    }

    /// Whether the time is over or nobody waits any more.
    pub(crate) fn is_over(&self) -> bool {
        self.cancelled.load(Ordering::Relaxed) || Instant::now() >= self.at
    }

    /// What to answer when it is passed and nothing was done.
    pub(crate) fn fault(&self) -> Fault {
        let message = format!("no result within {}", duration::print(self.timeout));
        Fault::no_effect(Class::Timeout, message)
    }
}

/// Sets the flag when the call that waits is dropped.
struct CancelOnDrop(Arc<AtomicBool>);

impl Drop for CancelOnDrop {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// A time in whole microseconds.
pub(crate) fn micros(time: Duration) -> u64 {
    u64::try_from(time.as_micros()).unwrap_or(u64::MAX)
}

/// Runs `work` on a thread of its own, and measures it and the wait for the thread apart.
pub(crate) async fn blocking<F>(timeout: Duration, work: F) -> Reply
where
    F: FnOnce(&Deadline) -> Result<Reply, Fault> + Send + 'static,
{
    let deadline = Deadline::after(timeout);
    let _cancel = CancelOnDrop(Arc::clone(&deadline.cancelled));
    let asked = Instant::now();
    let task = tokio::task::spawn_blocking(move || {
        let begun = Instant::now();
        let mut reply = work(&deadline).unwrap_or_else(Reply::from);
        reply.time = Some(CallTime {
            took_us: micros(begun.elapsed()),
            waited_us: Some(micros(begun - asked)),
        });
        reply
    });
    match tokio::time::timeout(timeout + STOP_GRACE, task).await {
        Ok(Ok(reply)) => reply,
        Ok(Err(_)) => Reply::failed(
            Class::ToolBug,
            Landing::Unknown,
            "the tool stopped unexpectedly; please report this",
        ),
        Err(_) => Reply::failed(
            Class::Timeout,
            Landing::Unknown,
            format!(
                "no result within {}, and the work did not stop when told to",
                duration::print(timeout)
            ),
        ),
    }
}
