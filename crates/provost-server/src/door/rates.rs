//! Rates: how often within a minute somebody may do what costs something.
//!
//! Owns the counts. INVARIANT: it forgets whom it counted after a minute, and never holds more of
//! them than came within one.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use crate::problem::{Problem, ProblemKind};

const MINUTE: Duration = Duration::from_secs(60);

/// So many within a minute, for each `K`.
pub(crate) struct MinuteRate<K> {
    most: u32,
    what: &'static str,
    counts: Mutex<HashMap<K, (Instant, u32)>>,
}

impl<K: Eq + Hash> MinuteRate<K> {
    /// At most `most` of what the words name.
    pub(crate) fn new(most: u32, what: &'static str) -> Self {
        Self {
            most,
            what,
            counts: Mutex::default(),
        }
    }

    /// Counts one.
    ///
    /// # Errors
    /// [`ProblemKind::TooMany`], with how long to wait, if there were too many within a minute.
    pub(crate) fn take(&self, whose: K) -> Result<(), Problem> {
        self.take_at(whose, Instant::now())
    }

    fn take_at(&self, whose: K, now: Instant) -> Result<(), Problem> {
        let mut all = self.counts.lock().unwrap_or_else(PoisonError::into_inner);
        all.retain(|_, (since, _)| now.duration_since(*since) < MINUTE);
        let (since, count) = all.entry(whose).or_insert((now, 0));
        if *count < self.most {
            *count += 1;
            return Ok(());
        }
        let left = MINUTE.saturating_sub(now.duration_since(*since));
        let detail = format!("more than {} {} within a minute", self.most, self.what);
        Err(Problem::new(ProblemKind::TooMany, detail).wait(left.as_secs() + 1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_minute_has_so_many_for_each() {
        let rate = MinuteRate::new(2, "tries");
        let began = Instant::now();
        let take = |whose, after| {
            rate.take_at(whose, began + Duration::from_secs(after))
                .is_ok()
        };
        assert!(take("ada", 0) && take("ada", 10));
        assert!(!take("ada", 20), "the third within a minute");
        assert!(take("bo", 20), "somebody else has a count of their own");
        assert!(!take("ada", 59));
        assert!(take("ada", 60), "a minute later it is forgotten");
        let refused = rate.take_at("bo", began + Duration::from_secs(21)).is_err();
        assert!(!refused, "the second of bo");
        let problem = rate.take_at("bo", began + Duration::from_secs(30)).err();
        let wait = problem.and_then(|problem| problem.to_json().get("retry_after")?.as_u64());
        assert_eq!(wait, Some(51));
    }
}
