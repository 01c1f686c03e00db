//! Attempts to sign in, counted for each address.
//!
//! Owns the count. INVARIANT: it forgets an address after a minute, and never holds more of them
//! than tried within one.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use crate::limits::LOGINS_PER_MINUTE_MAX;
use crate::problem::{Problem, ProblemKind};
use crate::serve::Peer;

const MINUTE: Duration = Duration::from_secs(60);

/// The attempts of the last minute.
#[derive(Default)]
pub(crate) struct Attempts(Mutex<HashMap<IpAddr, (Instant, u32)>>);

impl Attempts {
    /// Counts an attempt from this address.
    ///
    /// # Errors
    /// [`ProblemKind::TooMany`] if there were too many within a minute.
    pub(crate) fn take(&self, peer: Peer) -> Result<(), Problem> {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.retain(|_, (since, _)| since.elapsed() < MINUTE);
        let (_, count) = all.entry(peer.0).or_insert((Instant::now(), 0));
        *count += 1;
        if *count <= LOGINS_PER_MINUTE_MAX {
            return Ok(());
        }
        let detail = "too many tries to sign in from this address";
        Err(Problem::new(ProblemKind::TooMany, detail).hint("wait a minute"))
    }
}
