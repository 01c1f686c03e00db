//! Time in generated data: minutes and milliseconds since the day began.
//!
//! Owns how they are written. Never reads the time of the machine. INVARIANT: all timestamps are
//! RFC 3339 in UTC and sort as text within a precision.

use std::io;

use jiff::Timestamp;

/// Minutes of the day the metrics cover.
pub const DAY_MINUTES: i64 = 1_440;
const DAY_SECONDS: i64 = 86_400;

/// The day of an incident.
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    start_s: i64,
}

impl Clock {
    /// The clock of a day such as `2026-05-12`.
    pub fn new(day: &str) -> io::Result<Self> {
        let start: Timestamp = format!("{day}T00:00:00Z")
            .parse()
            .map_err(io::Error::other)?;
        Ok(Self {
            start_s: start.as_second(),
        })
    }

    /// The timestamp of a minute, before the day where it is negative.
    pub fn minute(self, minute: i64) -> String {
        self.second(minute * 60)
    }

    /// The timestamp of a second.
    pub fn second(self, second: i64) -> String {
        Timestamp::from_second(self.start_s + second)
            .map(|at| at.to_string())
            .unwrap_or_default()
    }

    /// The timestamp of a millisecond.
    pub fn millisecond(self, millisecond: i64) -> String {
        Timestamp::from_millisecond(self.start_s * 1_000 + millisecond)
            .map(|at| format!("{at:.3}"))
            .unwrap_or_default()
    }

    /// The date so many days before.
    pub fn date_before(self, days: i64) -> String {
        self.second(-days * DAY_SECONDS).chars().take(10).collect()
    }
}

/// The load of the day at a minute, in permille of its mean: low at night, high at noon.
pub fn load_permille(minute: i64) -> i64 {
    let from_noon = (minute - DAY_MINUTES / 2).abs();
    1_120 - from_noon * 240 / (DAY_MINUTES / 2)
}
