//! Clock, memory and medians.
//!
//! Owns how a figure is taken. INVARIANT: moments are of the system's monotonic clock, which all
//! processes of a machine share.

use std::sync::OnceLock;
use std::time::Instant;

use crate::Failure;

/// The monotonic clock, in nanoseconds.
pub fn now_ns() -> u64 {
    static START: OnceLock<(Instant, u64)> = OnceLock::new();
    let (start, ns) = START.get_or_init(|| {
        let start = Instant::now();
        (start, reading(start).unwrap_or(0))
    });
    ns + u64::try_from(start.elapsed().as_nanos()).unwrap_or(0)
}

/// What the clock showed.
// Why from a text: the standard library gives no number, and this crate has no unsafe code.
fn reading(at: Instant) -> Option<u64> {
    let text = format!("{at:?}");
    let field = |name: &str| -> Option<u64> {
        let (_, rest) = text.split_once(name)?;
        let digits: String = rest.chars().take_while(char::is_ascii_digit).collect();
        digits.parse().ok()
    };
    Some(field("tv_sec: ")? * 1_000_000_000 + field("tv_nsec: ")?)
}

/// What the process holds of memory, in kilobytes.
pub fn rss_kb() -> Result<u64, Failure> {
    let status = std::fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let digits = line.and_then(|line| line.split_whitespace().next());
    Ok(digits.ok_or("the system does not say")?.parse()?)
}

/// The value below which a part of all lies.
pub fn quantile(values: &mut [f64], part: f64) -> f64 {
    values.sort_by(f64::total_cmp);
    #[expect(
        clippy::cast_precision_loss,
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "counts are small, and a place is no fraction"
    )]
    let place = ((values.len().saturating_sub(1)) as f64 * part) as usize;
    values.get(place).copied().unwrap_or(f64::NAN)
}

/// Microseconds of nanoseconds.
#[expect(clippy::cast_precision_loss, reason = "no run lasts for months")]
pub fn us(ns: u64) -> f64 {
    ns as f64 / 1_000.0
}

/// A number as far as anybody looks at it.
pub fn rounded(value: f64) -> f64 {
    (value * 100.0).round() / 100.0
}
