//! The scale of an axis: where its marks stand, and what stands beside them.
//!
//! Owns round numbers and round moments. Never knows pixels or columns. INVARIANT: the marks rise,
//! and lie within the bounds that the scale gives.

use jiff::Timestamp;

/// Most steps that are looked for: bounds that no step divides are given whole.
const TICKS_MAX: usize = 50;

const SECOND: i64 = 1000;
const MINUTE: i64 = 60 * SECOND;
const HOUR: i64 = 60 * MINUTE;
const DAY: i64 = 24 * HOUR;

/// Round spans of time.
const SPANS: [i64; 22] = [
    1,
    10,
    100,
    SECOND,
    5 * SECOND,
    15 * SECOND,
    30 * SECOND,
    MINUTE,
    2 * MINUTE,
    5 * MINUTE,
    10 * MINUTE,
    15 * MINUTE,
    30 * MINUTE,
    HOUR,
    2 * HOUR,
    4 * HOUR,
    8 * HOUR,
    DAY,
    2 * DAY,
    7 * DAY,
    30 * DAY,
    365 * DAY,
];

/// A scale of numbers.
#[derive(Clone, Debug, PartialEq)]
pub struct Scale {
    /// The least that it shows.
    pub least: f64,
    /// The most.
    pub most: f64,
    /// Where its marks stand.
    pub ticks: Vec<f64>,
    step: f64,
}

impl Scale {
    /// A scale for these numbers with about so many marks. It begins at nought, unless the numbers
    /// are far from it and are not the lengths of bars.
    #[must_use]
    pub fn of(values: impl Iterator<Item = f64>, ticks: usize, bars: bool) -> Self {
        let bounds = values.fold(None, |bounds: Option<(f64, f64)>, value| {
            Some(bounds.map_or((value, value), |(least, most)| {
                (least.min(value), most.max(value))
            }))
        });
        let (mut least, mut most) = bounds.unwrap_or((0.0, 1.0));
        if bars || least > 0.0 && least < most * 0.6 {
            least = least.min(0.0);
        }
        if bars {
            most = most.max(0.0);
        }
        if most <= least {
            most = least + least.abs().max(1.0);
        }
        let step = round((most - least) / ticks.max(1) as f64);
        let least = (least / step).floor() * step;
        let most = (most / step).ceil() * step;
        let mut ticks = Vec::new();
        while ticks.len() < TICKS_MAX && least + step * ticks.len() as f64 <= most + step / 2.0 {
            ticks.push(least + step * ticks.len() as f64);
        }
        Self {
            least,
            most,
            ticks,
            step,
        }
    }

    /// Where a number lies, from 0 at the least to 1 at the most.
    #[must_use]
    pub fn place(&self, value: f64) -> f64 {
        ((value - self.least) / (self.most - self.least)).clamp(0.0, 1.0)
    }

    /// A number as a mark says it.
    #[must_use]
    pub fn label(&self, value: f64) -> String {
        let digits = (-self.step.log10().floor()).clamp(0.0, 6.0);
        let value = if value == 0.0 { 0.0 } else { value };
        match value.abs() {
            1e9.. => format!("{:.1}G", value / 1e9),
            1e6.. => format!("{:.1}M", value / 1e6),
            // Why the cast: it is between 0 and 6.
            _ => format!("{value:.*}", digits as usize),
        }
    }
}

/// The next of 1, 2, 5 times a power of ten.
fn round(step: f64) -> f64 {
    if !step.is_finite() || step <= 0.0 {
        return 1.0;
    }
    let power = 10f64.powf(step.log10().floor());
    let times = [1.0, 2.0, 5.0, 10.0];
    let found = times.into_iter().find(|times| times * power >= step);
    found.unwrap_or(10.0) * power
}

/// Round moments between two, at most so many, each with its words: the time of the day, or the
/// day where one begins.
#[must_use]
pub fn moments(first: i64, last: i64, most: usize) -> Vec<(i64, String)> {
    let span = (last - first).max(1);
    let most = i64::try_from(most.max(1)).unwrap_or(1);
    let step = SPANS.into_iter().find(|step| span / step <= most);
    let step = step.unwrap_or(span);
    let begin = first.div_euclid(step) * step;
    let begin = if begin < first { begin + step } else { begin };
    (0..=most)
        .map(|number| begin + number * step)
        .take_while(|at| *at <= last)
        .map(|at| (at, words(at, step)))
        .collect()
}

fn words(at: i64, step: i64) -> String {
    let form = match step {
        DAY.. => "%-d %b",
        _ if at.rem_euclid(DAY) == 0 => "%-d %b",
        MINUTE.. => "%H:%M",
        SECOND.. => "%H:%M:%S",
        _ => "%H:%M:%S%.3f",
    };
    written(at, form)
}

/// A moment as the end of an axis and a mark say it: day and time, in UTC.
#[must_use]
pub fn moment(at: i64) -> String {
    written(at, "%Y-%m-%d %H:%M:%S")
}

fn written(at: i64, form: &str) -> String {
    let at = Timestamp::from_millisecond(at).unwrap_or_default();
    at.strftime(form).to_string()
}
