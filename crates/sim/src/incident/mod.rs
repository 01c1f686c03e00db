//! The data of the incident workspace, generated from a variant.
//!
//! Owns the plot that metrics, deployments, logs and past incidents tell together, and the truth
//! about it. Never reads a clock. INVARIANT: equal variants give equal bytes; the truth is in no
//! file.

pub mod cause;
mod clock;
mod deployments;
pub mod description;
mod logs;
mod metrics;
mod past;
pub mod service;
pub mod variant;

use std::fs;
use std::io;
use std::path::Path;

use serde::Serialize;

pub use variant::{Variant, twenty};

use clock::Clock;
use deployments::Deployment;
use service::{SERVICES, Service};
use variant::Rise;

use crate::rng::Rng;

/// A generated workspace: its data, what to ask of it, and the right answer.
#[derive(Debug)]
pub struct Dataset<T = Truth> {
    /// Path below `data/`, and bytes.
    pub files: Vec<(String, Vec<u8>)>,
    pub goal: String,
    pub truth: T,
}

impl<T> Dataset<T> {
    /// Writes the files below `folder`.
    pub fn write(&self, folder: &Path) -> io::Result<()> {
        for (path, bytes) in &self.files {
            let path = folder.join(path);
            path.parent().map_or(Ok(()), fs::create_dir_all)?;
            fs::write(path, bytes)?;
        }
        Ok(())
    }
}

/// What an investigation should find.
#[derive(Clone, Debug, Serialize)]
pub struct Truth {
    /// The id of the service that the goal names.
    pub service: &'static str,
    pub nothing_wrong: bool,
    /// The first minute of the rise.
    pub rose_at: Option<String>,
    /// Mean p95 of the 30 minutes before the rise; with nothing wrong, of the day.
    pub from_ms: i64,
    /// Mean p95 of the 30 minutes from the rise on; with nothing wrong, of the day.
    pub to_ms: i64,
    /// The last deployment of the service in the two hours before the rise.
    pub deployment: Option<NearDeployment>,
    /// The message of the cause, new since the rise.
    pub new_message: Option<String>,
    pub new_message_count: Option<u64>,
    /// The past incident with the same cause.
    pub similar_incident: Option<SimilarIncident>,
    /// Whether the service answered 5xx since the rise, and how often.
    pub has_5xx: bool,
    pub count_5xx: u64,
}

/// A deployment shortly before the rise.
#[derive(Clone, Debug, Serialize)]
pub struct NearDeployment {
    pub version: String,
    pub deployed_at: String,
}

/// A past incident with the same cause.
#[derive(Clone, Debug, Serialize)]
pub struct SimilarIncident {
    pub id: String,
    pub title: String,
}

/// Generates the data of a variant.
pub fn generate(variant: &Variant) -> io::Result<Dataset> {
    let plot = Plot::new(*variant)?;
    let mut files = vec![("metrics.db".to_owned(), metrics::database(&plot)?)];
    let mut counts = logs::Counts::default();
    for service in &SERVICES {
        let (bytes, counted) = logs::file(&plot, service);
        files.push((format!("logs/{}.jsonl", service.id), bytes));
        if service.id == plot.target.id {
            counts = counted;
        }
    }
    let (writeups, similar) = past::files(&plot);
    files.extend(writeups);
    let goal = format!("Investigate the {} latency spike", plot.target.name);
    Ok(Dataset {
        files,
        goal,
        truth: truth(&plot, counts, similar),
    })
}

fn truth(plot: &Plot, counts: logs::Counts, similar: Option<SimilarIncident>) -> Truth {
    let readings = metrics::readings(plot, plot.target);
    let mean = |from, to| metrics::mean_p95_ms(&readings, from, to);
    let rise = plot.variant.rise();
    let (from_ms, to_ms) = match rise {
        Some(Rise { minute, .. }) => (
            mean(minute - metrics::LEVEL_MINUTES, minute),
            mean(minute, minute + metrics::LEVEL_MINUTES),
        ),
        None => (mean(0, clock::DAY_MINUTES), mean(0, clock::DAY_MINUTES)),
    };
    let near = rise.filter(|rise| rise.deployed).and_then(|rise| {
        let before =
            |at: &&Deployment| at.service.id == plot.target.id && at.second <= rise.minute * 60;
        plot.deployments.iter().rfind(before)
    });
    Truth {
        service: plot.target.id,
        nothing_wrong: rise.is_none(),
        rose_at: rise.map(|rise| plot.clock.minute(rise.minute)),
        from_ms,
        to_ms,
        deployment: near.map(|deployment| NearDeployment {
            version: deployment.version.clone(),
            deployed_at: plot.clock.second(deployment.second),
        }),
        new_message: rise.map(|rise| rise.cause.facts().message.to_owned()),
        new_message_count: rise.map(|_| counts.new_message),
        similar_incident: similar,
        has_5xx: counts.errors_5xx > 0,
        count_5xx: counts.errors_5xx,
    }
}

/// What the files tell together.
struct Plot {
    variant: Variant,
    clock: Clock,
    target: &'static Service,
    /// The height of the rise.
    factor_permille: i64,
    deployments: Vec<Deployment>,
}

impl Plot {
    fn new(variant: Variant) -> io::Result<Self> {
        let target = SERVICES
            .iter()
            .find(|service| service.id == variant.service)
            .ok_or_else(|| io::Error::other(format!("no service `{}`", variant.service)))?;
        Ok(Self {
            variant,
            clock: Clock::new(variant.day)?,
            target,
            factor_permille: Rng::new(variant.seed, "factor").between(2_400, 4_200),
            deployments: deployments::history(&variant, target),
        })
    }

    /// The rise, if it is this service that is in trouble.
    fn rise_of(&self, service: &Service) -> Option<Rise> {
        self.variant.rise().filter(|_| service.id == self.target.id)
    }

    /// The last deployment of any service before the rise: never the target's.
    fn decoy_deployment(&self, rise: Rise) -> Option<&Deployment> {
        self.deployments
            .iter()
            .rfind(|deployment| deployment.second <= rise.minute * 60)
    }
}
