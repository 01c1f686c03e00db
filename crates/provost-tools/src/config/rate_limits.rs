//! How fast and how often a tool may be called: `concurrency`, `rate`, `breaker`.
//!
//! Owns their words. Never counts: that is admission's. They are no part of an operation's digest,
//! so that a slower pace makes no saved plan stale. INVARIANT: none of them can be nothing by
//! accident; a breaker is turned off by the word.

use std::time::Duration;

use provost_plan::node::{Fields, Kind};
use provost_run::admission::{BREAKER_COOLDOWN_MS, BREAKER_FAILURES, Breaker, Rate, ToolLimits};

use super::bad_setting;
use crate::limits::{BREAKER_COOLDOWN_MAX, PLACES_MAX};

/// Takes the fields of a tool's table.
pub(super) fn read(fields: &mut Fields<'_, '_>) -> ToolLimits {
    let places = fields.count("concurrency");
    if let Some(count) = &places
        && (count.value == 0 || count.value > PLACES_MAX)
    {
        let message = format!("`concurrency` must lie between 1 and {PLACES_MAX}");
        bad_setting(fields, count.span, message);
    }
    ToolLimits {
        concurrency: places.and_then(|count| u32::try_from(count.value).ok()),
        rate: rate(fields),
        breaker: breaker(fields),
    }
}

/// `"10/s"`, `"100/m"`, `"1000/h"`
fn rate(fields: &mut Fields<'_, '_>) -> Option<Rate> {
    let text = fields.text("rate")?;
    let units = [("s", 1_000), ("m", 60_000), ("h", 3_600_000)];
    let read = text.value.split_once('/').and_then(|(count, unit)| {
        let count: u32 = count.trim().parse().ok().filter(|count| *count > 0)?;
        let (_, per_ms) = units.iter().find(|(word, _)| *word == unit.trim())?;
        Some(Rate {
            count,
            per_ms: *per_ms,
        })
    });
    if read.is_none() {
        let message = format!(
            "`{}` is no rate: write `10/s`, `100/m` or `1000/h`",
            text.value
        );
        bad_setting(fields, text.span, message);
    }
    read
}

/// `{ failures = 5, cooldown = "30s" }`, or `"off"`
fn breaker(outer: &mut Fields<'_, '_>) -> Option<Breaker> {
    let mut breaker = Breaker {
        failures: BREAKER_FAILURES,
        cooldown_ms: BREAKER_COOLDOWN_MS,
    };
    let Some(node) = outer.node("breaker") else {
        return Some(breaker);
    };
    if matches!(&node.kind, Kind::Text(word) if word == "off") {
        return None;
    }
    let Some(mut fields) = Fields::new("`breaker`", node, outer.diagnostics()) else {
        return Some(breaker);
    };
    if let Some(failures) = fields.count("failures") {
        match u32::try_from(failures.value) {
            Ok(count) if count > 0 => breaker.failures = count,
            _ => bad_setting(
                &mut fields,
                failures.span,
                "`failures` must be at least 1; `breaker = \"off\"` turns it off",
            ),
        }
    }
    if let Some(cooldown) = fields.duration("cooldown") {
        let within = Duration::ZERO < cooldown.value && cooldown.value <= BREAKER_COOLDOWN_MAX;
        match i64::try_from(cooldown.value.as_millis()) {
            Ok(ms) if within => breaker.cooldown_ms = ms,
            _ => bad_setting(
                &mut fields,
                cooldown.span,
                "`cooldown` must lie between 1ms and 24h",
            ),
        }
    }
    fields.finish();
    Some(breaker)
}
