//! `logs/*.jsonl` of a description: one file a service, one JSON object a line.
//!
//! Owns requests, chatter, restarts and the described messages. Never puts a value into `msg`.
//! INVARIANT: lines lie in the order of their time, and all clocks of logs differ from the metrics'
//! by what the description says.

use std::fmt::Write as _;

use serde_json::Value;

use super::super::clock::{Clock, DAY_MINUTES, load_permille};
use super::super::logs::CHATTER;
use super::super::service::Service;
use super::database::Release;
use super::{Description, Message, TARGET, within};
use crate::rng::Rng;

const MINUTE_MS: i64 = 60_000;
/// Requests that the log of any other service samples.
const OTHERS_PER_HOUR: i64 = 138;
/// Stray messages keep this far from the first of the others.
const STRAY_DISTANCE_MINUTES: i64 = 40;

struct Line {
    at_ms: i64,
    level: String,
    msg: String,
    /// The fields after `msg`, each with its comma.
    fields: String,
}

impl Line {
    fn new(at_ms: i64, level: &str, msg: &str) -> Self {
        Self {
            at_ms,
            level: level.to_owned(),
            msg: msg.to_owned(),
            fields: String::new(),
        }
    }

    fn field(mut self, name: &str, value: impl Into<Value>) -> Self {
        let value: Value = value.into();
        // Writing to a string cannot fail.
        let _written = write!(self.fields, ",\"{name}\":{value}");
        self
    }
}

/// The log of one service.
pub fn text(
    description: &Description,
    clock: Clock,
    service: &Service,
    deployments: &[Release],
) -> String {
    let mut rng = description.rng(&format!("logs/{}", service.id));
    let mut lines = restarts(service, deployments, &mut rng);
    for minute in 0..DAY_MINUTES {
        requests(description, service, minute, &mut rng, &mut lines);
        chatter(service, minute, &mut rng, &mut lines);
    }
    for message in &description.message {
        if message.service == service.id {
            // Why: a stream of its own, so that a change of one message moves no other line.
            let mut rng = description.rng(&format!("message/{}", message.text));
            message.lines(service, &mut rng, &mut lines);
        }
    }
    if service.id == TARGET {
        lines.retain(|line| !within(line.at_ms.div_euclid(MINUTE_MS), &description.log_gaps));
    }
    lines.sort_by_key(|line| line.at_ms);
    let mut text = String::new();
    for line in &lines {
        let ts = clock.millisecond(line.at_ms + description.log_clock_s * 1_000);
        let (id, level, fields) = (service.id, &line.level, &line.fields);
        let msg = Value::from(line.msg.as_str());
        let _written = writeln!(
            text,
            r#"{{"ts":"{ts}","service":"{id}","level":"{level}","msg":{msg}{fields}}}"#
        );
    }
    text
}

fn requests(
    description: &Description,
    service: &Service,
    minute: i64,
    rng: &mut Rng,
    lines: &mut Vec<Line>,
) {
    let hourly = match service.id == TARGET {
        true => description.requests_per_hour,
        false => OTHERS_PER_HOUR,
    };
    let [p50, p95, p99] = description.usual_ms(service);
    let extra = description.extra_ms(service, minute);
    for _ in 0..count(hourly * load_permille(minute) / 1_000, rng) {
        let status = match rng.between(0, 99) {
            0..=78 => 200,
            79..=91 => 201,
            92..=94 => 304,
            95..=97 => 404,
            _ => 422,
        };
        let median = p50 + extra * p50 * 2 / (p95 * 5);
        let line = Line::new(at(minute, rng), "info", "request completed")
            .field("route", rng.pick(service.routes))
            .field("status", status)
            .field("duration_ms", median * rng.between(400, 2_400) / 1_000);
        lines.push(line);
    }
    let rate = hourly * if extra > p95 { 110 } else { 7 } / 1_000;
    for _ in 0..count(rate, rng) {
        let slow = p99 + extra * p99 / p95 + rng.between(1, 200);
        let line = Line::new(at(minute, rng), "warn", "slow request")
            .field("route", rng.pick(service.routes))
            .field("duration_ms", slow);
        lines.push(line);
    }
}

fn chatter(service: &Service, minute: i64, rng: &mut Rng, lines: &mut Vec<Line>) {
    let own = ("info", service.own_message, "batch", [1, 5_000]);
    for (level, msg, field, [low, high]) in CHATTER.into_iter().chain([own]) {
        if rng.permille(if level == "warn" { 30 } else { 100 }) {
            let line = Line::new(at(minute, rng), level, msg);
            lines.push(line.field(field, rng.between(low, high)));
        }
    }
}

/// By night, and after every deployment of the day.
fn restarts(service: &Service, deployments: &[Release], rng: &mut Rng) -> Vec<Line> {
    let night = 40 * 60;
    let mut lines = Vec::new();
    let of_day = deployments
        .iter()
        .filter(|release| release.service == service.id && release.second >= 0)
        .map(|release| release.second);
    for second in of_day.chain([night]) {
        let startup_ms = rng.between(900, 2_600);
        let at_ms = second * 1_000 + 1_000;
        lines.push(Line::new(at_ms, "info", "service starting"));
        lines.push(
            Line::new(at_ms + startup_ms, "info", "service ready").field("startup_ms", startup_ms),
        );
    }
    lines
}

impl Message {
    /// How often an hour it comes in that minute.
    pub fn per_hour_at(&self, minute: i64) -> i64 {
        let since = minute - self.from.minute();
        if since < 0 || self.until.is_some_and(|until| minute >= until.minute()) {
            return 0;
        }
        self.per_hour * ((since + 1) * 1_000 / self.over.max(1)).min(1_000) / 1_000
    }

    fn lines(&self, service: &Service, rng: &mut Rng, lines: &mut Vec<Line>) {
        let from = self.from.minute();
        for _ in 0..self.before {
            let stray = rng.between(5, (from - STRAY_DISTANCE_MINUTES).max(5));
            lines.push(self.line(service, stray, rng));
        }
        for minute in from..DAY_MINUTES {
            let first = i64::from(minute == from);
            for _ in 0..count(self.per_hour_at(minute), rng).max(first) {
                lines.push(self.line(service, minute, rng));
            }
        }
    }

    fn line(&self, service: &Service, minute: i64, rng: &mut Rng) -> Line {
        let mut line = Line::new(at(minute, rng), &self.level, &self.text)
            .field("route", rng.pick(service.routes));
        if !self.status.is_empty() {
            line = line.field("status", rng.pick(&self.status));
        }
        match &self.field {
            Some(field) => line.field(field, rng.between(120, 2_900)),
            None => line,
        }
    }
}

/// How many of so many an hour come in one minute.
fn count(hourly: i64, rng: &mut Rng) -> i64 {
    hourly / 60 + i64::from(rng.between(0, 59) < hourly % 60)
}

fn at(minute: i64, rng: &mut Rng) -> i64 {
    minute * MINUTE_MS + rng.between(0, MINUTE_MS - 1)
}
