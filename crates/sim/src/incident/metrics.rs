//! `metrics.db`: services, their latency by minute, and their deployments.
//!
//! Owns the schema and the numbers. Never uses floating point before the last step, so that the
//! bytes are equal on every machine. INVARIANT: noise stays so small that no minute but the
//! rise's looks like a rise.

use std::io;

use rusqlite::params;

use super::Plot;
use super::clock::{DAY_MINUTES, load_permille};
use super::service::{SERVICES, Service};
use crate::rng::Rng;
use crate::sqlite;

/// How far single bad minutes keep from the rise.
const BLIP_DISTANCE_MINUTES: i64 = 90;

pub(super) const SCHEMA: &str = "
CREATE TABLE services (
  id TEXT PRIMARY KEY, name TEXT NOT NULL UNIQUE, team TEXT NOT NULL
) WITHOUT ROWID;
CREATE TABLE latency (
  service TEXT NOT NULL, ts TEXT NOT NULL,
  p50_ms INTEGER NOT NULL, p95_ms INTEGER NOT NULL, p99_ms INTEGER NOT NULL,
  error_rate REAL NOT NULL,
  PRIMARY KEY (service, ts)
) WITHOUT ROWID;
CREATE TABLE deployments (
  id INTEGER PRIMARY KEY, service TEXT NOT NULL, version TEXT NOT NULL,
  deployed_at TEXT NOT NULL, author TEXT NOT NULL, note TEXT NOT NULL
);";

/// The p95 levels of the service around its rise, as an average of so many minutes.
pub const LEVEL_MINUTES: i64 = 30;

/// One minute of one service.
pub struct Reading {
    minute: i64,
    p50_ms: i64,
    pub p95_ms: i64,
    p99_ms: i64,
    errors_per_10_000: i64,
}

/// The day of a service, minute by minute.
pub fn readings(plot: &Plot, service: &Service) -> Vec<Reading> {
    let mut rng = Rng::new(plot.variant.seed, &format!("metrics/{}", service.id));
    let rise = plot.rise_of(service);
    let blips = blips(&mut rng, rise.map(|rise| rise.minute));
    let [p50, p95, p99] = service.usual_ms;
    (0..DAY_MINUTES)
        .map(|minute| {
            let up = rise.filter(|rise| minute >= rise.minute);
            let factor = up.map_or(1_000, |_| plot.factor_permille);
            let blip = if blips.contains(&minute) {
                2_500
            } else {
                1_000
            };
            let load = load_permille(minute);
            let mut level = |usual: i64, factor: i64, noise: i64| {
                let noise = rng.between(1_000 - noise, 1_000 + noise);
                scaled(scaled(scaled(scaled(usual, load), noise), factor), blip)
            };
            Reading {
                minute,
                p50_ms: level(p50, 1_000 + (factor - 1_000) * 2 / 5, 50),
                p95_ms: level(p95, factor, 80),
                p99_ms: level(p99, factor + (factor - 1_000) / 10, 80),
                errors_per_10_000: match up.is_some_and(|rise| rise.with_5xx) {
                    true => rng.between(250, 600),
                    false => rng.between(2, 18),
                },
            }
        })
        .collect()
}

/// The mean p95 of the minutes `from` to `to`, rounded.
pub fn mean_p95_ms(readings: &[Reading], from: i64, to: i64) -> i64 {
    let within: Vec<i64> = readings
        .iter()
        .filter(|reading| (from..to).contains(&reading.minute))
        .map(|reading| reading.p95_ms)
        .collect();
    let count = i64::try_from(within.len()).unwrap_or(1).max(1);
    (within.iter().sum::<i64>() + count / 2) / count
}

/// The bytes of `metrics.db`.
pub fn database(plot: &Plot) -> io::Result<Vec<u8>> {
    sqlite::build(|db| {
        db.execute_batch(SCHEMA)?;
        let mut insert = db.prepare("INSERT INTO services VALUES (?1, ?2, ?3)")?;
        for service in &SERVICES {
            insert.execute(params![service.id, service.name, service.team])?;
        }
        let mut insert = db.prepare("INSERT INTO latency VALUES (?1, ?2, ?3, ?4, ?5, ?6)")?;
        for service in &SERVICES {
            for reading in readings(plot, service) {
                let Reading {
                    minute,
                    p50_ms,
                    p95_ms,
                    p99_ms,
                    errors_per_10_000,
                } = reading;
                // Why: a quotient of two small integers is the same double everywhere.
                let error_rate = f64::from(i32::try_from(errors_per_10_000).unwrap_or(0)) / 1e4;
                let ts = plot.clock.minute(minute);
                insert.execute(params![service.id, ts, p50_ms, p95_ms, p99_ms, error_rate])?;
            }
        }
        let mut insert = db.prepare("INSERT INTO deployments VALUES (?1, ?2, ?3, ?4, ?5, ?6)")?;
        for (id, deployment) in (1_i64..).zip(&plot.deployments) {
            insert.execute(params![
                id,
                deployment.service.id,
                deployment.version,
                plot.clock.second(deployment.second),
                deployment.author,
                deployment.note,
            ])?;
        }
        Ok(())
    })
}

/// Single bad minutes that mean nothing.
fn blips(rng: &mut Rng, rise: Option<i64>) -> Vec<i64> {
    let far = |minute: &i64| rise.is_none_or(|rise| (rise - minute).abs() > BLIP_DISTANCE_MINUTES);
    (0..4)
        .map(|_| rng.between(0, DAY_MINUTES - 1))
        .filter(far)
        .collect()
}

fn scaled(value: i64, permille: i64) -> i64 {
    (value * permille + 500) / 1_000
}
