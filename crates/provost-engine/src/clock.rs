//! The one place where this product reads the wall clock.
//!
//! Owns a reading that a clock set back, or standing still, does not stop: within a process, time
//! passes at least as fast as it does. Never says how long no process was there. INVARIANT: no
//! reading is before an earlier one of the same process.

use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Instant, SystemTime, UNIX_EPOCH};

/// A reading, and the moment it was taken at.
static ANCHOR: Mutex<Option<(i64, Instant)>> = Mutex::new(None);

/// Now, in milliseconds since 1970.
#[must_use]
pub fn now_ms() -> i64 {
    let wall = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .ok()
        .and_then(|since| i64::try_from(since.as_millis()).ok())
        .unwrap_or(0);
    let mut anchor = ANCHOR.lock().unwrap_or_else(PoisonError::into_inner);
    let passed = |at: Instant| i64::try_from(at.elapsed().as_millis()).unwrap_or(i64::MAX);
    let now = flowing(anchor.map(|(read, at)| (read, passed(at))), wall);
    if anchor.is_none() || now == wall {
        *anchor = Some((now, Instant::now()));
    }
    now
}

/// What a store tells time by.
#[derive(Clone, Debug, Default)]
pub enum Clock {
    /// The clock of this machine.
    #[default]
    System,
    /// A clock that shows what somebody sets it to: for tests and simulations.
    Set(Arc<AtomicI64>),
}

impl Clock {
    /// Now, in milliseconds since 1970.
    #[must_use]
    pub fn now_ms(&self) -> i64 {
        match self {
            Self::System => now_ms(),
            Self::Set(shown) => shown.load(Ordering::Relaxed),
        }
    }
}

/// The reading where the wall clock shows `wall`: never less than an earlier reading and what
/// passed since.
fn flowing(earlier: Option<(i64, i64)>, wall: i64) -> i64 {
    earlier.map_or(wall, |(read, passed)| wall.max(read.saturating_add(passed)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_passes_whatever_the_wall_clock_does() {
        let day = 86_400_000;
        assert_eq!(flowing(None, 5), 5);
        assert_eq!(flowing(Some((5, 10)), 16), 16, "the wall clock leads");
        assert_eq!(flowing(Some((5, 10)), 5), 15, "it stands still");
        assert_eq!(flowing(Some((5, 10)), -day), 15, "it went back");
        assert_eq!(
            flowing(Some((5, 10)), day),
            day,
            "it jumped, or the machine slept"
        );
        let (first, second) = (now_ms(), now_ms());
        assert!(first <= second);
    }
}
