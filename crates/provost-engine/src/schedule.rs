//! Schedules: goals that the clock begins.
//!
//! Owns when a schedule is due and what becomes of a moment at which its last run is not over.
//! Reads no clock and no store. INVARIANT: what follows from a moment depends on the schedule and
//! that moment alone, so a process that comes back after a crash finds the same moments.

use std::fmt;
use std::time::Duration;

use chrono::{DateTime, Datelike as _, NaiveDate, Timelike as _, Utc};
use croner::Cron;
use jiff::Timestamp;
use jiff::civil;
use jiff::tz::TimeZone;
use provost_plan::duration;
use provost_run::read::words::counted;
use sha2::{Digest as _, Sha256};

use crate::owner::name_of;

/// How often a wall clock that was set back is asked again before a schedule counts as never due.
const TRIES_MAX: usize = 400;

/// A goal, and when it is begun.
#[derive(Clone, Debug)]
pub struct Schedule {
    /// The name in `[schedule.NAME]`.
    pub name: String,
    /// The goal, as a person would type it.
    pub goal: String,
    /// When.
    pub timing: Timing,
    /// What becomes of a moment at which the last run is not over.
    pub on_overlap: Overlap,
}

/// When a schedule is due.
#[derive(Clone, Debug)]
pub enum Timing {
    /// So long after it was seen first, and then again and again.
    Every(Duration),
    /// As a crontab says.
    Cron(Box<CronTiming>),
}

/// A line of a crontab, read on the wall clock of a time zone.
#[derive(Clone, Debug)]
pub struct CronTiming {
    text: String,
    pattern: Cron,
    zone: TimeZone,
    zone_name: String,
}

/// What becomes of a moment at which the last run of a schedule is not over.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Overlap {
    /// Nothing is begun: the next moment is the next chance.
    #[default]
    Skip,
    /// One run begins when the last one is over, however many moments passed.
    Queue,
}

impl Overlap {
    /// The words of provost.toml.
    pub const WORDS: [(&'static str, Self); 2] = [("skip", Self::Skip), ("queue", Self::Queue)];
}

/// A `cron` or `timezone` that cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TimingError {
    /// It has another number of fields.
    #[error("`cron` has {found}, and needs five: {}", FIELDS.join(", "))]
    Fields {
        /// How many it has, in words.
        found: String,
    },
    /// A field cannot be read.
    #[error("`{text}` cannot be the {field} of `cron`")]
    Field {
        /// What stands in it.
        text: String,
        /// Which one.
        field: &'static str,
    },
    /// No moment fits it.
    #[error("`cron` names a moment that never comes")]
    Never,
    /// There is no such zone.
    #[error("there is no time zone `{0}`")]
    Zone(String),
}

impl CronTiming {
    /// Reads five fields of a crontab: minute, hour, day of the month, month, day of the week.
    ///
    /// # Errors
    /// [`TimingError`] says what cannot be read.
    pub fn new(text: &str, zone: Option<&str>) -> Result<Self, TimingError> {
        let zone_name = zone.unwrap_or("UTC").to_owned();
        let zone = TimeZone::get(&zone_name).map_err(|_| TimingError::Zone(zone_name.clone()))?;
        let pattern = pattern(text)?;
        let timing = Self {
            text: text.split_whitespace().collect::<Vec<_>>().join(" "),
            pattern,
            zone,
            zone_name,
        };
        // Why a fixed moment: what can be read must not depend on when it is read.
        match timing.after(FIRST_MS) {
            Some(_) => Ok(timing),
            None => Err(TimingError::Never),
        }
    }

    /// The first moment after this one. A wall clock that is set back shows a time twice, which
    /// counts once; one that is set forward leaves times out, which count right after the gap.
    fn after(&self, ms: i64) -> Option<i64> {
        let at = Timestamp::from_millisecond(ms).ok()?;
        let mut wall = to_chrono(at.to_zoned(self.zone.clone()).datetime())?;
        for _ in 0..TRIES_MAX {
            wall = self.pattern.find_next_occurrence(&wall, false).ok()?;
            let moment = self.zone.to_ambiguous_zoned(to_jiff(&wall)?).compatible();
            let found = moment.ok()?.timestamp().as_millisecond();
            if found > ms {
                return Some(found);
            }
        }
        None
    }
}

/// The fields of a line of a crontab.
const FIELDS: [&str; 5] = [
    "minute",
    "hour",
    "day of the month",
    "month",
    "day of the week",
];

/// Reads the five fields. A field is named as wrong if it cannot be read beside four `*`.
fn pattern(text: &str) -> Result<Cron, TimingError> {
    let fields: Vec<&str> = text.split_whitespace().collect();
    if fields.len() != FIELDS.len() {
        let found = counted(fields.len(), "field");
        return Err(TimingError::Fields { found });
    }
    let alone = |at: usize, field: &str| {
        let mut line = ["*"; FIELDS.len()];
        line.iter_mut()
            .skip(at)
            .take(1)
            .for_each(|own| *own = field);
        Cron::new(&line.join(" ")).parse()
    };
    let named = FIELDS.into_iter().zip(fields).enumerate();
    for (at, (field, text)) in named {
        alone(at, text).map_err(|_| TimingError::Field {
            text: text.to_owned(),
            field,
        })?;
    }
    // Why `Never`: each field can be read, so that no moment fits them all.
    Cron::new(text).parse().map_err(|_| TimingError::Never)
}

/// The first moment of 2026.
const FIRST_MS: i64 = 1_767_225_600_000;

fn to_chrono(at: civil::DateTime) -> Option<DateTime<Utc>> {
    let part = |n: i8| u32::try_from(n).ok();
    let date = NaiveDate::from_ymd_opt(at.year().into(), part(at.month())?, part(at.day())?)?;
    let time = date.and_hms_opt(part(at.hour())?, part(at.minute())?, part(at.second())?)?;
    Some(time.and_utc())
}

fn to_jiff(at: &DateTime<Utc>) -> Option<civil::DateTime> {
    let part = |n: u32| i8::try_from(n).ok();
    let (month, day) = (part(at.month())?, part(at.day())?);
    let (hour, minute) = (part(at.hour())?, part(at.minute())?);
    let second = part(at.second())?;
    civil::DateTime::new(
        i16::try_from(at.year()).ok()?,
        month,
        day,
        hour,
        minute,
        second,
        0,
    )
    .ok()
}

impl fmt::Display for Timing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Every(every) => write!(f, "every {}", duration::print(*every)),
            Self::Cron(cron) => write!(f, "cron {} ({})", cron.text, cron.zone_name),
        }
    }
}

impl Schedule {
    /// When it is due first, if it is seen first at `now`.
    #[must_use]
    pub fn first(&self, now: i64) -> Option<i64> {
        match &self.timing {
            Timing::Every(every) => Some(now.saturating_add(millis(*every))),
            Timing::Cron(cron) => cron.after(now),
        }
    }

    /// The first moment after `now` of a schedule that was due at `due`: the moments between them
    /// have passed.
    #[must_use]
    pub fn next(&self, due: i64, now: i64) -> Option<i64> {
        match &self.timing {
            Timing::Every(every) => {
                let every = millis(*every).max(1);
                let passed = now.saturating_sub(due).max(0) / every;
                Some(due.saturating_add((passed + 1).saturating_mul(every)))
            }
            Timing::Cron(cron) => cron.after(now.max(due)),
        }
    }

    /// The id of the run that is begun for a moment: whoever begins it a second time finds it
    /// there.
    #[must_use]
    pub fn run_id(&self, store: &str, due: i64) -> String {
        let text = format!("schedule\n{store}\n{}\n{due}", self.name);
        name_of(&Sha256::digest(text.as_bytes()))
    }
}

fn millis(duration: Duration) -> i64 {
    i64::try_from(duration.as_millis()).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests")]

    use super::*;

    fn ms(text: &str) -> i64 {
        text.parse::<Timestamp>().unwrap().as_millisecond()
    }

    fn text(ms: i64) -> String {
        Timestamp::from_millisecond(ms).unwrap().to_string()
    }

    fn moments(cron: &str, zone: &str, from: &str, n: usize) -> Vec<String> {
        let timing = CronTiming::new(cron, Some(zone)).unwrap();
        let mut at = ms(from);
        let next = |_| {
            at = timing.after(at).unwrap();
            text(at)
        };
        (0..n).map(next).collect()
    }

    #[test]
    fn a_crontab_is_read_on_the_wall_clock_of_its_zone() {
        let rows: [(&str, &str, &str, &[&str]); 5] = [
            // Sunday is 0 and 7, and a day of the month or of the week is enough.
            (
                "0 9 * * 1-5",
                "UTC",
                "2026-11-20T09:00:00Z",
                &["2026-11-23T09:00:00Z"],
            ),
            (
                "0 0 1 * 0",
                "UTC",
                "2026-11-24T00:00:00Z",
                &["2026-11-29T00:00:00Z", "2026-12-01T00:00:00Z"],
            ),
            (
                "0 9 * * *",
                "Europe/Berlin",
                "2026-10-24T00:00:00Z",
                &["2026-10-24T07:00:00Z", "2026-10-25T08:00:00Z"],
            ),
            // 02:30 is left out on 29 March, and comes twice on 25 October.
            (
                "30 2 * * *",
                "Europe/Berlin",
                "2026-03-28T12:00:00Z",
                &["2026-03-29T01:30:00Z", "2026-03-30T00:30:00Z"],
            ),
            (
                "30 2 * * *",
                "Europe/Berlin",
                "2026-10-24T12:00:00Z",
                &["2026-10-25T00:30:00Z", "2026-10-26T01:30:00Z"],
            ),
        ];
        for (cron, zone, from, wanted) in rows {
            assert_eq!(
                moments(cron, zone, from, wanted.len()),
                wanted,
                "{cron} {zone} {from}"
            );
        }
    }

    #[test]
    fn what_never_comes_is_refused() {
        let refused = |cron: &str, zone| CronTiming::new(cron, zone).unwrap_err();
        assert_eq!(refused("0 0 30 2 *", None), TimingError::Never);
        for (line, told) in [
            ("61 * * * *", "`61` cannot be the minute of `cron`"),
            ("0 25 * * *", "`25` cannot be the hour of `cron`"),
            (
                "0 2 * * mumday",
                "`mumday` cannot be the day of the week of `cron`",
            ),
            (
                "every day",
                "`cron` has 2 fields, and needs five: minute, hour, day of the month, month, day of \
                 the week",
            ),
            (
                "0 0 2 * * 1",
                "`cron` has 6 fields, and needs five: minute, hour, day of the month, month, day of \
                 the week",
            ),
        ] {
            assert_eq!(refused(line, None).to_string(), told);
        }
        assert!(matches!(
            refused("0 0 * * *", Some("Mars/Base")),
            TimingError::Zone(_)
        ));
    }

    #[test]
    fn moments_that_passed_are_one() {
        let every = |duration| Schedule {
            name: "sync".to_owned(),
            goal: "Sync".to_owned(),
            timing: Timing::Every(duration),
            on_overlap: Overlap::Skip,
        };
        let hourly = every(Duration::from_secs(3_600));
        assert_eq!(hourly.first(1_000), Some(3_601_000));
        for (due, now, wanted) in [
            (0, 0, 1),
            (0, 3_599_999, 1),
            (0, 3_600_000, 2),
            (0, 9_000_000, 3),
        ] {
            assert_eq!(
                hourly.next(due, now),
                Some(wanted * 3_600_000),
                "{due} {now}"
            );
        }
        assert_ne!(hourly.run_id("a", 1), hourly.run_id("a", 2));
        assert_ne!(hourly.run_id("a", 1), hourly.run_id("b", 1));
    }
}
