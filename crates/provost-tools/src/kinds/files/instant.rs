//! Instants in RFC 3339, read fast enough for every line of a log.
//!
//! Owns reading and comparing; the calendar is `jiff`'s. Why not its reader too: that takes blanks,
//! commas and the second 60, and no moment after 9999-12-30. Never formats. INVARIANT: two texts
//! are equal as instants exactly if they name the same moment, whatever their offsets.

use jiff::civil::Date;

const EPOCH: Date = Date::constant(1970, 1, 1);

/// A moment: seconds since 1970-01-01T00:00:00Z, then nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Instant {
    seconds: i64,
    nanos: u32,
}

impl Instant {
    /// Reads `2026-11-20T14:05:09.25Z` or the same with an offset such as `+01:00`.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let mut digits = Digits(text.as_bytes());
        let year = digits.number(4)?;
        digits.mark(b"-")?;
        let month = digits.number(2)?;
        digits.mark(b"-")?;
        let day = digits.number(2)?;
        digits.mark(b"Tt")?;
        let hour = digits.number(2)?;
        digits.mark(b":")?;
        let minute = digits.number(2)?;
        digits.mark(b":")?;
        let second = digits.number(2)?;
        let nanos = digits.fraction()?;
        let offset = digits.offset()?;
        let good = hour < 24 && minute < 60 && second < 60 && digits.0.is_empty();
        let date = Date::new(
            year.try_into().ok()?,
            month.try_into().ok()?,
            day.try_into().ok()?,
        );
        let days = date.ok()?.duration_since(EPOCH);
        good.then(|| Self {
            seconds: days.as_secs() + hour * 3_600 + minute * 60 + second - offset,
            nanos,
        })
    }

    /// Whole seconds from `earlier` on, negative if it is later.
    pub(crate) fn seconds_since(self, earlier: Self) -> i64 {
        self.seconds.saturating_sub(earlier.seconds)
    }
}

struct Digits<'a>(&'a [u8]);

impl Digits<'_> {
    fn number(&mut self, count: usize) -> Option<i64> {
        let (head, rest) = self.0.split_at_checked(count)?;
        let mut value = 0i64;
        for byte in head {
            if !byte.is_ascii_digit() {
                return None;
            }
            value = value * 10 + i64::from(byte - b'0');
        }
        self.0 = rest;
        Some(value)
    }

    fn mark(&mut self, wanted: &[u8]) -> Option<u8> {
        let (first, rest) = self.0.split_first()?;
        if !wanted.contains(first) {
            return None;
        }
        self.0 = rest;
        Some(*first)
    }

    /// Up to nine digits count; more are read and dropped.
    fn fraction(&mut self) -> Option<u32> {
        if self.mark(b".").is_none() {
            return Some(0);
        }
        let (mut nanos, mut count) = (0u32, 0u32);
        while let Some((first, rest)) = self.0.split_first()
            && first.is_ascii_digit()
        {
            if count < 9 {
                nanos = nanos * 10 + u32::from(first - b'0');
            }
            count += 1;
            self.0 = rest;
        }
        (count > 0).then(|| nanos * 10u32.pow(9 - count.min(9)))
    }

    fn offset(&mut self) -> Option<i64> {
        let sign = match self.mark(b"Zz+-")? {
            b'+' => 1,
            b'-' => -1,
            _ => return Some(0),
        };
        let hours = self.number(2)?;
        self.mark(b":")?;
        let minutes = self.number(2)?;
        (hours < 24 && minutes < 60).then_some(sign * (hours * 3_600 + minutes * 60))
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests")]

    use proptest::prelude::*;

    use super::Instant;

    fn oracle(text: &str) -> Option<Instant> {
        let time: jiff::Timestamp = text.parse().ok()?;
        let nanos = time.as_nanosecond();
        Some(Instant {
            seconds: i64::try_from(nanos.div_euclid(1_000_000_000)).unwrap(),
            nanos: u32::try_from(nanos.rem_euclid(1_000_000_000)).unwrap(),
        })
    }

    #[test]
    fn the_same_moment_is_the_same_instant() {
        let utc = Instant::parse("2026-11-20T14:05:09.250Z").unwrap();
        for same in [
            "2026-11-20T15:05:09.25+01:00",
            "2026-11-20t14:05:09.250000000z",
            "2026-11-20T08:35:09.25-05:30",
        ] {
            assert_eq!(Instant::parse(same), Some(utc), "{same}");
        }
        assert!(utc < Instant::parse("2026-11-20T14:05:09.2501Z").unwrap());
        assert!(utc > Instant::parse("2026-11-20T14:05:09+00:01").unwrap());
    }

    #[test]
    fn what_is_no_instant_is_refused() {
        for wrong in [
            "",
            "2026",
            "2026-11-20",
            "2026-11-20T14:05:09",
            "2026-13-01T00:00:00Z",
            "2026-02-29T00:00:00Z",
            "2026-11-20T24:00:00Z",
            "2026-11-20T14:05:09.Z",
            "2026-11-20T14:05:09Zx",
            "2026-11-20T14:05:09+1:00",
            "2026-11-20T14:05:60Z",
            "2026-11-20 14:05:09Z",
            "+026-11-20T14:05:09Z",
            "2026-11-20T14:05:09+24:00",
        ] {
            assert_eq!(Instant::parse(wrong), None, "{wrong}");
        }
        assert!(Instant::parse("2028-02-29T00:00:00Z").is_some());
    }

    #[test]
    fn the_last_moment_of_the_calendar_is_an_instant() {
        let last = Instant::parse("9999-12-31T23:59:59Z").unwrap();
        assert_eq!(
            last.seconds_since(Instant::parse("1970-01-01T00:00:00Z").unwrap()),
            253_402_300_799
        );
        let finer = Instant::parse("2026-11-20T14:05:09.0000000019Z").unwrap();
        assert!(finer > Instant::parse("2026-11-20T14:05:09Z").unwrap());
    }

    proptest! {
        #[test]
        fn agrees_with_a_whole_time_library(
            year in 1i32..9998, month in 1u8..=12, day in 1u8..=31, hour in 0u8..24,
            minute in 0u8..60, second in 0u8..60, fraction in "(\\.[0-9]{1,9})?",
            offset in "(Z|[+-](0[0-9]|1[0-9]|2[0-3]):[0-5][0-9])",
        ) {
            let text = format!(
                "{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}{fraction}{offset}"
            );
            prop_assert_eq!(Instant::parse(&text), oracle(&text), "{}", text);
        }

        #[test]
        fn no_text_makes_it_panic(text in ".{0,40}") {
            let _ = Instant::parse(&text);
        }
    }
}
