//! The queue of the writer: of bounded length, and no larger than what waits in it.
//!
//! Owns how many requests may wait. Never looks into one. INVARIANT: a request that is refused was
//! not queued, and one that was queued is taken once, in its turn.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::Duration;

use super::Job;
use crate::limits::QUEUE_REQUESTS_MAX;

/// The end that requests are put in at.
#[derive(Debug)]
pub(in crate::store) struct JobSender {
    jobs: Sender<Job>,
    waiting: Arc<AtomicUsize>,
}

/// The end that the writer takes them from.
#[derive(Debug)]
pub(in crate::store) struct JobReceiver {
    jobs: Receiver<Job>,
    waiting: Arc<AtomicUsize>,
}

/// Why a request was not queued.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::store) enum NotQueued {
    /// As many wait as may.
    Full,
    /// The writer has ended.
    Closed,
}

/// Both ends of an empty queue.
// Why not a channel with a bound: it has room for all from the beginning, in every process.
pub(in crate::store) fn queue() -> (JobSender, JobReceiver) {
    let (sender, receiver) = channel();
    let waiting = Arc::new(AtomicUsize::new(0));
    let put = JobSender {
        jobs: sender,
        waiting: Arc::clone(&waiting),
    };
    let jobs = receiver;
    (put, JobReceiver { jobs, waiting })
}

impl JobSender {
    /// Queues a request, unless too many wait.
    pub(in crate::store) fn put(&self, job: Job) -> Result<(), NotQueued> {
        if self.waiting.fetch_add(1, Ordering::Relaxed) >= QUEUE_REQUESTS_MAX {
            self.waiting.fetch_sub(1, Ordering::Relaxed);
            return Err(NotQueued::Full);
        }
        self.jobs.send(job).map_err(|_| NotQueued::Closed)
    }
}

impl JobReceiver {
    /// Waits for a request; none once nobody can put one in.
    pub(in crate::store) fn next(&self) -> Option<Job> {
        self.taken(self.jobs.recv().ok())
    }

    /// Waits for a request so long.
    pub(in crate::store) fn next_within(&self, time: Duration) -> Result<Job, RecvTimeoutError> {
        let job = self.jobs.recv_timeout(time)?;
        self.taken(Some(job)).ok_or(RecvTimeoutError::Disconnected)
    }

    /// The requests that wait now.
    pub(in crate::store) fn waiting(&self) -> impl Iterator<Item = Job> + '_ {
        std::iter::from_fn(|| self.taken(self.jobs.try_recv().ok()))
    }

    fn taken(&self, job: Option<Job>) -> Option<Job> {
        if job.is_some() {
            self.waiting.fetch_sub(1, Ordering::Relaxed);
        }
        job
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_queue_refuses_and_takes_again_what_there_is_room_for() {
        let (put, jobs) = queue();
        for _ in 0..QUEUE_REQUESTS_MAX {
            assert_eq!(put.put(Job::Look), Ok(()));
        }
        assert_eq!(put.put(Job::Look), Err(NotQueued::Full));
        assert_eq!(jobs.waiting().take(3).count(), 3);
        for _ in 0..3 {
            assert_eq!(put.put(Job::Look), Ok(()));
        }
        assert_eq!(put.put(Job::Look), Err(NotQueued::Full));
        assert_eq!(jobs.waiting().count(), QUEUE_REQUESTS_MAX);
        assert!(jobs.next_within(Duration::ZERO).is_err());
        drop(jobs);
        assert_eq!(put.put(Job::Look), Err(NotQueued::Closed));
    }
}
