//! `logs/*.jsonl`: one file a service, one JSON object a line.
//!
//! Owns what services say. Never puts a value into `msg`: parameters have fields of their own, so
//! that equal messages have equal text. INVARIANT: every message of normal times is logged within
//! the first hour of the day, hence before any rise; `Plot` counts what came after.

use std::fmt::{Display, Write as _};

use super::clock::{DAY_MINUTES, load_permille};
use super::service::Service;
use super::variant::Rise;
use super::{Plot, cause::Facts};
use crate::rng::Rng;

const MINUTE_MS: i64 = 60_000;
/// Log lines of a rise keep this far from its first millisecond.
const RISE_MARGIN_MS: i64 = 5_000;
/// A harmless message that comes with a new version of the service in trouble.
const NEW_HARMLESS: &str = "feature switches synchronised";
/// A loud message that comes with the decoy: another service's deployment.
const NEW_ELSEWHERE: &str = "request carried a deprecated header";
const FAILED: &str = "request failed";

/// Level, message, and the field of its parameter with the range of its values.
pub(super) type Chatter = (&'static str, &'static str, &'static str, [i64; 2]);

pub(super) const CHATTER: [Chatter; 9] = [
    ("debug", "metrics flushed", "points", [40, 900]),
    ("info", "health check passed", "duration_ms", [1, 9]),
    ("info", "cache refreshed", "entries", [200, 9_000]),
    ("info", "scheduled job finished", "duration_ms", [20, 2_000]),
    ("info", "configuration reloaded", "revision", [100, 180]),
    ("info", "session expired", "age_s", [600, 7_200]),
    ("info", "rate limit applied", "client", [1, 400]),
    (
        "warn",
        "client closed the connection early",
        "after_ms",
        [300, 4_000],
    ),
    ("warn", "retrying an upstream call", "attempt", [1, 3]),
];

/// How often something was logged since the rise.
#[derive(Clone, Copy, Debug, Default)]
pub struct Counts {
    pub new_message: u64,
    pub errors_5xx: u64,
}

/// The log of one service, and the counts if it is the one in trouble.
pub fn file(plot: &Plot, service: &Service) -> (Vec<u8>, Counts) {
    let mut rng = Rng::new(plot.variant.seed, &format!("logs/{}", service.id));
    let mut counts = Counts::default();
    let mut text = String::new();
    for minute in 0..DAY_MINUTES {
        let mut lines = Vec::new();
        requests(plot, service, minute, &mut rng, &mut lines);
        chatter(service, minute, &mut rng, &mut lines);
        restarts(plot, service, minute, &mut rng, &mut lines);
        background_errors(plot, service, minute, &mut rng, &mut lines);
        match plot.rise_of(service).filter(|rise| minute >= rise.minute) {
            Some(rise) => trouble(service, rise, minute, &mut rng, &mut lines, &mut counts),
            None => elsewhere(plot, service, minute, &mut rng, &mut lines),
        }
        lines.sort_by_key(|line| line.at_ms);
        for line in &lines {
            line.write(plot, service, &mut text);
        }
    }
    (text.into_bytes(), counts)
}

struct Line {
    at_ms: i64,
    level: &'static str,
    msg: &'static str,
    /// The fields after `msg`, each with its comma.
    fields: String,
}

impl Line {
    fn new(at_ms: i64, level: &'static str, msg: &'static str) -> Self {
        Self {
            at_ms,
            level,
            msg,
            fields: String::new(),
        }
    }

    fn number(mut self, field: &str, value: impl Display) -> Self {
        // Writing to a string cannot fail.
        let _written = write!(self.fields, ",\"{field}\":{value}");
        self
    }

    /// `value` must need no escape in JSON; those of this module need none.
    fn text(mut self, field: &str, value: &str) -> Self {
        let _written = write!(self.fields, ",\"{field}\":\"{value}\"");
        self
    }

    fn write(&self, plot: &Plot, service: &Service, text: &mut String) {
        let ts = plot.clock.millisecond(self.at_ms);
        let Self {
            level, msg, fields, ..
        } = self;
        let id = service.id;
        let _written = writeln!(
            text,
            r#"{{"ts":"{ts}","service":"{id}","level":"{level}","msg":"{msg}"{fields}}}"#
        );
    }
}

fn requests(plot: &Plot, service: &Service, minute: i64, rng: &mut Rng, lines: &mut Vec<Line>) {
    let up = plot
        .rise_of(service)
        .is_some_and(|rise| minute >= rise.minute);
    let factor = if up { plot.factor_permille } else { 1_000 };
    let permille = load_permille(minute) * 23 / 10;
    let count = permille / 1_000 + i64::from(rng.permille(permille % 1_000));
    for _ in 0..count {
        let status = match rng.between(0, 99) {
            0..=78 => 200,
            79..=91 => 201,
            92..=94 => 304,
            95..=97 => 404,
            _ => 422,
        };
        let usual = service.usual_ms.first().copied().unwrap_or(50);
        let duration = usual * rng.between(400, 2_400) / 1_000 * factor / 1_000;
        let line = Line::new(within(minute, rng), "info", "request completed")
            .text("route", rng.pick(service.routes))
            .number("status", status)
            .number("duration_ms", duration);
        lines.push(line);
    }
    if rng.permille(if up { 250 } else { 15 }) || minute == 31 {
        let slow = service.usual_ms.last().copied().unwrap_or(500) * factor / 1_000;
        let line = Line::new(within(minute, rng), "warn", "slow request")
            .text("route", rng.pick(service.routes))
            .number("duration_ms", slow + rng.between(1, 200));
        lines.push(line);
    }
}

fn chatter(service: &Service, minute: i64, rng: &mut Rng, lines: &mut Vec<Line>) {
    let own: Chatter = ("info", service.own_message, "batch", [1, 5_000]);
    for (index, (level, msg, field, [low, high])) in (0_i64..).zip(CHATTER.into_iter().chain([own]))
    {
        let chance = if level == "warn" { 30 } else { 100 };
        if rng.permille(chance) || minute == index * 3 {
            let line = Line::new(within(minute, rng), level, msg);
            lines.push(line.number(field, rng.between(low, high)));
        }
    }
}

/// A restart by night, and one for every deployment of the day.
fn restarts(plot: &Plot, service: &Service, minute: i64, rng: &mut Rng, lines: &mut Vec<Line>) {
    let mut started = |at_ms: i64, rng: &mut Rng| {
        lines.push(Line::new(at_ms, "info", "service starting"));
        let ready_ms = rng.between(900, 2_800);
        let ready = Line::new(at_ms + ready_ms, "info", "service ready");
        lines.push(ready.number("startup_ms", ready_ms));
    };
    if minute == 40 {
        started(minute * MINUTE_MS + 1_000, rng);
    }
    for deployment in &plot.deployments {
        if deployment.service.id == service.id && deployment.second.div_euclid(60) == minute {
            started(deployment.second * 1_000 + rng.between(100, 900), rng);
        }
    }
}

/// 5xx that have nothing to do with the incident: in other services, and before the rise.
fn background_errors(
    plot: &Plot,
    service: &Service,
    minute: i64,
    rng: &mut Rng,
    lines: &mut Vec<Line>,
) {
    let after = plot
        .rise_of(service)
        .is_some_and(|rise| minute >= rise.minute);
    if !plot.variant.background_5xx || after || !(rng.permille(20) || minute == 45) {
        return;
    }
    let line = Line::new(within(minute, rng), "error", FAILED)
        .text("route", rng.pick(service.routes))
        .number("status", rng.pick(&[500, 502, 503]))
        .number("duration_ms", rng.between(5, 900));
    lines.push(line);
}

/// What the cause of a rise logs.
fn trouble(
    service: &Service,
    rise: Rise,
    minute: i64,
    rng: &mut Rng,
    lines: &mut Vec<Line>,
    counts: &mut Counts,
) {
    let Facts { message, field, .. } = rise.cause.facts();
    let first = minute == rise.minute;
    let count = rng.between(0, 2).max(i64::from(first));
    for _ in 0..count {
        let at_ms = match first {
            true => minute * MINUTE_MS + rng.between(RISE_MARGIN_MS, MINUTE_MS - 1),
            false => within(minute, rng),
        };
        let value = rng.between(120, 2_900);
        counts.new_message += 1;
        let route = rng.pick(service.routes);
        lines.push(if rise.with_5xx {
            counts.errors_5xx += 1;
            Line::new(at_ms, "error", message)
                .text("route", route)
                .number("status", rng.pick(&[500, 503, 504]))
                .number(field, value)
        } else {
            Line::new(at_ms, "warn", message)
                .text("route", route)
                .number(field, value)
        });
    }
    if rise.deployed && (minute - rise.minute) % 31 == 2 {
        let line = Line::new(within(minute, rng), "info", NEW_HARMLESS);
        lines.push(line.number("switches", rng.between(20, 60)));
    }
}

/// The noise of the decoy: a service that was deployed near the rise, but not the one in trouble.
fn elsewhere(plot: &Plot, service: &Service, minute: i64, rng: &mut Rng, lines: &mut Vec<Line>) {
    let Some(rise) = plot.variant.rise() else {
        return;
    };
    let decoy = plot.decoy_deployment(rise);
    let is_decoy = decoy.is_some_and(|decoy| decoy.service.id == service.id);
    if is_decoy && minute > rise.minute {
        for _ in 0..rng.between(0, 3) {
            let line = Line::new(within(minute, rng), "warn", NEW_ELSEWHERE);
            lines.push(line.number("client", rng.between(1, 400)));
        }
    }
}

fn within(minute: i64, rng: &mut Rng) -> i64 {
    minute * MINUTE_MS + rng.between(0, MINUTE_MS - 1)
}
