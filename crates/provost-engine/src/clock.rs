//! The one place where this product reads the wall clock.

use std::time::{SystemTime, UNIX_EPOCH};

/// Now, in milliseconds since 1970.
#[must_use]
pub fn now_ms() -> i64 {
    SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .ok()
        .and_then(|since| i64::try_from(since.as_millis()).ok())
        .unwrap_or(0)
}
