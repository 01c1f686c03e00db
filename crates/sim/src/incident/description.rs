//! Data of the incident workspace, rendered from a description that somebody wrote.
//!
//! Owns the form of `corpus/incidents/*.toml`. Never derives the truth: the description states it,
//! and the tests compare it with the rendered files. INVARIANT: a name and a text give the same
//! bytes on every machine; the truth is in no rendered file.

mod database;
mod logs;
mod writeups;

#[cfg(test)]
mod tests;

use std::fs;
use std::io;
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::Dataset;
use super::clock::Clock;
use super::service::{SERVICES, Service};
use crate::rng::Rng;

/// The service that the goal of every description names.
pub const TARGET: &str = "payment-api";
const GOAL: &str = "Investigate the payment API latency spike";

/// One day of the company, and what is true about it.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Description {
    /// The name of the file, which seeds the noise.
    #[serde(skip)]
    name: String,
    /// The day, such as `2026-05-12`.
    day: String,
    /// Usual p50, p95 and p99 of the target in milliseconds.
    baseline: [i64; 3],
    /// How far a minute lies from its level at most, in percent.
    noise: i64,
    /// How much lower the night is than noon, in percent.
    #[serde(default)]
    day_swing: i64,
    /// Single slow minutes that mean nothing, away from every rise.
    #[serde(default)]
    blips: i64,
    /// Percent of the target's minutes without a reading.
    #[serde(default)]
    missing: i64,
    /// Stretches of the target's metrics without a reading: first minute, and the one after.
    #[serde(default)]
    gaps: Vec<[Time; 2]>,
    /// The same for the target's log.
    #[serde(default)]
    log_gaps: Vec<[Time; 2]>,
    /// How far the clock of all logs is ahead of the metrics'.
    #[serde(default)]
    log_clock_s: i64,
    /// Requests of the target that its log samples.
    requests_per_hour: i64,
    #[serde(default)]
    rise: Vec<Rise>,
    #[serde(default)]
    message: Vec<Message>,
    #[serde(default)]
    deployment: Vec<Deployment>,
    #[serde(default)]
    past: Vec<Past>,
    pub truth: Truth,
}

/// How a latency leaves its level.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Rise {
    #[serde(default = "target")]
    service: String,
    at: Time,
    /// The first minute on the old level again.
    until: Option<Time>,
    shape: Shape,
    /// Minutes until the new level is reached.
    #[serde(default)]
    over: i64,
    /// The new level of the p95 in milliseconds.
    p95: i64,
}

#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
enum Shape {
    Step,
    /// Evenly.
    Ramp,
    /// Slowly at first, then faster.
    Leak,
}

/// A message besides the chatter of normal times.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Message {
    #[serde(default = "target")]
    service: String,
    text: String,
    level: String,
    /// A field with a number from 120 to 2900.
    field: Option<String>,
    /// The statuses of the requests it tells of.
    #[serde(default)]
    status: Vec<i64>,
    from: Time,
    until: Option<Time>,
    per_hour: i64,
    /// Minutes until it comes that often.
    #[serde(default)]
    over: i64,
    /// How many stray ones come before `from`.
    #[serde(default)]
    before: i64,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Deployment {
    #[serde(default = "target")]
    service: String,
    version: String,
    at: Time,
    #[serde(default)]
    days_before: i64,
    note: String,
}

/// The write-up of a past incident.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Past {
    id: String,
    title: String,
    service: String,
    date: String,
    signature: String,
    symptom: String,
    cause: String,
}

/// What a right answer says, as `corpus/incidents/README.md` explains.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Truth {
    pub rise: Verdict,
    /// The earliest and the latest minute that a careful engineer accepts.
    pub onset: Option<[Time; 2]>,
    /// Bounds of the p95 before and after, in milliseconds.
    pub p95_before: Option<[i64; 2]>,
    pub p95_after: Option<[i64; 2]>,
    /// The version of the target, `none` or `undecided`.
    pub deployment: String,
    pub failures: Failures,
    /// Any of these names the failure; `undecided` where the evidence does not decide.
    pub message: Vec<String>,
    /// The other service that the logs name, and the version it deployed shortly before.
    pub upstream: Option<String>,
    pub upstream_deployment: Option<String>,
    /// Write-ups with the same message, and those of the target's latency, whatever their cause.
    pub past_message: Vec<String>,
    pub past_symptom: Vec<String>,
    pub why: String,
}

#[derive(Clone, Copy, Debug, Deserialize, Serialize, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    Yes,
    No,
    Undecided,
}

/// Requests that failed with 5xx since the onset.
#[derive(Clone, Copy, Debug, Deserialize, Serialize, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
pub enum Failures {
    None,
    /// Some, and no more often than before.
    AsBefore,
    More,
}

/// A time of the day, written `14:07` or `14:07:30`.
#[derive(Clone, Copy, Debug, Deserialize, Serialize, PartialEq, Eq, PartialOrd, Ord)]
#[serde(try_from = "String", into = "String")]
pub struct Time {
    second: i64,
}

impl Time {
    pub fn minute(self) -> i64 {
        self.second.div_euclid(60)
    }
}

impl TryFrom<String> for Time {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        let wrong = || format!("`{text}` is no time of the day\nhint: write 14:07 or 14:07:30");
        let parts: Vec<i64> = text
            .split(':')
            .map(str::parse)
            .collect::<Result<_, _>>()
            .map_err(|_| wrong())?;
        let second = match parts.as_slice() {
            [hour, minute] => hour * 3_600 + minute * 60,
            [hour, minute, second] => hour * 3_600 + minute * 60 + second,
            _ => return Err(wrong()),
        };
        Ok(Self { second })
    }
}

impl From<Time> for String {
    fn from(time: Time) -> Self {
        let (minute, second) = (time.minute(), time.second.rem_euclid(60));
        format!("{:02}:{:02}:{second:02}", minute / 60, minute % 60)
    }
}

fn target() -> String {
    TARGET.to_owned()
}

impl Description {
    /// Reads a description; the file's name seeds its noise.
    pub fn read(path: &Path) -> io::Result<Self> {
        let text = fs::read_to_string(path)?;
        let wrong = |error| io::Error::other(format!("{}: {error}", path.display()));
        let mut description: Self = toml::from_str(&text).map_err(wrong)?;
        description.name = path
            .file_stem()
            .map(|stem| stem.to_string_lossy().into_owned())
            .unwrap_or_default();
        Ok(description)
    }

    /// The name of its file without the ending.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The files of the workspace's `data` folder, the goal, and the truth.
    pub fn render(&self) -> io::Result<Dataset<Truth>> {
        let clock = Clock::new(&self.day)?;
        let deployments = database::deployments(self);
        let mut files = vec![(
            "metrics.db".to_owned(),
            database::bytes(self, clock, &deployments)?,
        )];
        for service in &SERVICES {
            let text = logs::text(self, clock, service, &deployments);
            files.push((format!("logs/{}.jsonl", service.id), text.into_bytes()));
        }
        files.extend(writeups::files(self, clock));
        Ok(Dataset {
            files,
            goal: GOAL.to_owned(),
            truth: self.truth.clone(),
        })
    }

    fn rng(&self, stream: &str) -> Rng {
        Rng::new(1, &format!("{}/{stream}", self.name))
    }

    /// How many milliseconds its rises add to the p95 of a service in a minute.
    fn extra_ms(&self, service: &Service, minute: i64) -> i64 {
        let [_, usual, _] = self.usual_ms(service);
        self.rise
            .iter()
            .filter(|rise| rise.service == service.id)
            .map(|rise| (rise.p95 - usual) * rise.progress_permille(minute) / 1_000)
            .max()
            .unwrap_or(0)
    }

    fn usual_ms(&self, service: &Service) -> [i64; 3] {
        match service.id == TARGET {
            true => self.baseline,
            false => service.usual_ms,
        }
    }
}

impl Rise {
    fn progress_permille(&self, minute: i64) -> i64 {
        let since = minute - self.at.minute();
        if since < 0 || self.until.is_some_and(|until| minute >= until.minute()) {
            return 0;
        }
        let even = ((since + 1) * 1_000 / self.over.max(1)).min(1_000);
        match self.shape {
            Shape::Step => 1_000,
            Shape::Ramp => even,
            Shape::Leak => even * even / 1_000,
        }
    }
}

fn within(minute: i64, stretches: &[[Time; 2]]) -> bool {
    stretches
        .iter()
        .any(|[from, until]| (from.minute()..until.minute()).contains(&minute))
}
