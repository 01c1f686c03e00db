//! `metrics.db` of a description: services, latency by minute, deployments.
//!
//! Owns the noise of the numbers and the deployments of the two weeks before. Never changes a
//! level on its own, save for blips. INVARIANT: the target's versions before the day lie below
//! those that descriptions name (`4.20`).

use std::io;

use rusqlite::params;

use super::super::clock::{Clock, DAY_MINUTES, load_permille};
use super::super::metrics::SCHEMA;
use super::super::service::{SERVICES, Service};
use super::{Description, TARGET, within};
use crate::rng::Rng;
use crate::sqlite;

/// How far a blip keeps from every rise.
const BLIP_DISTANCE_MINUTES: i64 = 75;
/// The log has every failure, and one in so many of the other requests.
const SAMPLED: i64 = 10;
const DAY_SECONDS: i64 = 86_400;
const AUTHORS: [&str; 6] = ["amara", "bruno", "chen", "dilek", "farah", "greta"];
const NOTES: [&str; 7] = [
    "Log the client version",
    "Rename a configuration key",
    "Translate the error page",
    "Raise the test coverage",
    "Remove an unused endpoint",
    "Update the base image",
    "Sort imports",
];

/// A version that went live, in seconds since the day began.
pub struct Release {
    pub service: String,
    pub second: i64,
    version: String,
    author: &'static str,
    note: String,
}

/// What was deployed, oldest first.
pub fn deployments(description: &Description) -> Vec<Release> {
    let mut rng = description.rng("deployments");
    let mut releases = Vec::new();
    for service in &SERVICES {
        let (major, mut minor) = service.first_version;
        // Why: descriptions name versions from 4.20 on.
        minor -= if service.id == TARGET { 10 } else { 0 };
        let mut day = -14 + rng.between(0, 2);
        while day <= -2 {
            minor += 1;
            let patch = rng.between(0, 3);
            releases.push(Release {
                service: service.id.to_owned(),
                second: day * DAY_SECONDS + rng.between(8 * 3_600, 17 * 3_600),
                version: format!("{major}.{minor}.{patch}"),
                author: rng.pick(&AUTHORS),
                note: rng.pick(&NOTES).to_owned(),
            });
            day += rng.between(2, 4);
        }
    }
    releases.extend(description.deployment.iter().map(|deployment| Release {
        service: deployment.service.clone(),
        second: deployment.at.second - deployment.days_before * DAY_SECONDS,
        version: deployment.version.clone(),
        author: rng.pick(&AUTHORS),
        note: deployment.note.clone(),
    }));
    releases.sort_by_key(|release| release.second);
    releases
}

/// The bytes of the database.
pub fn bytes(
    description: &Description,
    clock: Clock,
    deployments: &[Release],
) -> io::Result<Vec<u8>> {
    sqlite::build(|db| {
        db.execute_batch(SCHEMA)?;
        let mut insert = db.prepare("INSERT INTO services VALUES (?1, ?2, ?3)")?;
        for service in &SERVICES {
            insert.execute(params![service.id, service.name, service.team])?;
        }
        let mut insert = db.prepare("INSERT INTO latency VALUES (?1, ?2, ?3, ?4, ?5, ?6)")?;
        for service in &SERVICES {
            for (minute, [p50, p95, p99], errors) in readings(description, service) {
                // Why: a quotient of two small integers is the same double everywhere.
                let rate = f64::from(i32::try_from(errors).unwrap_or(0)) / 1e4;
                let ts = clock.minute(minute);
                insert.execute(params![service.id, ts, p50, p95, p99, rate])?;
            }
        }
        let mut insert = db.prepare("INSERT INTO deployments VALUES (?1, ?2, ?3, ?4, ?5, ?6)")?;
        for (id, release) in (1_i64..).zip(deployments) {
            insert.execute(params![
                id,
                release.service,
                release.version,
                clock.second(release.second),
                release.author,
                release.note,
            ])?;
        }
        Ok(())
    })
}

/// Minute, p50, p95 and p99, and failures of 10000 requests.
fn readings(description: &Description, service: &Service) -> Vec<(i64, [i64; 3], i64)> {
    let mut rng = description.rng(&format!("metrics/{}", service.id));
    let of_target = service.id == TARGET;
    let blips = blips(description, service, &mut rng);
    let noise = if of_target { description.noise } else { 6 };
    let [p50, p95, p99] = description.usual_ms(service);
    let mut readings = Vec::new();
    for minute in 0..DAY_MINUTES {
        let load = 1_000 + (load_permille(minute) - 1_000) * description.day_swing / 24;
        let blip = if blips.contains(&minute) { p95 } else { 0 };
        let extra = description.extra_ms(service, minute) + blip;
        // Why: the slow end of the distribution moves furthest.
        let levels = [
            p50 * load / 1_000 + extra * p50 * 2 / (p95 * 5),
            p95 * load / 1_000 + extra,
            p99 * load / 1_000 + extra * p99 / p95,
        ];
        let [mut low, mut middle, mut high] =
            levels.map(|level| level * (1_000 + deviation_permille(noise, &mut rng)) / 1_000);
        low = low.max(1);
        middle = middle.max(low);
        high = high.max(middle);
        let errors = rng.between(2, 17) + failures(description, service, minute);
        let absent = rng.permille(description.missing * 10) || within(minute, &description.gaps);
        if !(of_target && absent) {
            readings.push((minute, [low, middle, high], errors));
        }
    }
    readings
}

/// Triangular between minus and plus `noise` percent.
fn deviation_permille(noise: i64, rng: &mut Rng) -> i64 {
    let limit = noise * 5;
    rng.between(-limit, limit) + rng.between(-limit, limit)
}

fn blips(description: &Description, service: &Service, rng: &mut Rng) -> Vec<i64> {
    if service.id != TARGET {
        return Vec::new();
    }
    (0..description.blips)
        .map(|_| rng.between(0, DAY_MINUTES - 1))
        .filter(|minute| {
            description.rise.iter().all(|rise| {
                let far = |at: i64| (at - minute).abs() > BLIP_DISTANCE_MINUTES;
                far(rise.at.minute()) && rise.until.is_none_or(|until| far(until.minute()))
            })
        })
        .collect()
}

/// What the messages with a status of 5xx add to the share of failures.
fn failures(description: &Description, service: &Service, minute: i64) -> i64 {
    let hourly: i64 = description
        .message
        .iter()
        .filter(|message| message.service == service.id)
        .filter(|message| message.status.iter().any(|status| *status >= 500))
        .map(|message| message.per_hour_at(minute))
        .sum();
    let requests = description.requests_per_hour.max(1) * SAMPLED;
    (hourly * 10_000 / requests).min(10_000)
}
