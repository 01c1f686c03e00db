//! `generate`: writes the data of the example workspaces.
//!
//! Owns the command line of [`sim::incident`] and [`sim::sla`]. Prints the goal on stdout; the
//! truth goes only to the file asked for. Exits 2 on a wrong variant or a folder that cannot be
//! written.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Parser, Subcommand};
use serde::Serialize;
use sim::incident::description::Description;
use sim::incident::{self, Dataset, Variant};
use sim::sla;

/// Generates the data of the example workspaces.
#[derive(Parser)]
struct Args {
    #[command(subcommand)]
    what: What,
}

#[derive(Subcommand)]
enum What {
    /// Metrics, deployments, logs and past incidents.
    Incident {
        /// `base`, or one of the variants `1` to `20`.
        #[arg(long, default_value = "base")]
        variant: String,
        /// Another seed than the variant's own.
        #[arg(long)]
        seed: Option<u64>,
        #[arg(long, value_name = "DIR")]
        out: PathBuf,
        /// Writes what an investigation should find, as JSON.
        #[arg(long, value_name = "FILE")]
        truth: Option<PathBuf>,
    },
    /// The same files from a description such as those of `corpus/incidents`.
    Description {
        #[arg(value_name = "FILE")]
        file: PathBuf,
        #[arg(long, value_name = "DIR")]
        out: PathBuf,
        /// Writes what an investigation should find, as JSON.
        #[arg(long, value_name = "FILE")]
        truth: Option<PathBuf>,
    },
    /// Tickets and thresholds.
    Sla {
        /// How many PAY tickets are open.
        #[arg(long, default_value_t = sla::OPEN_IN_EXAMPLE)]
        open: u32,
        #[arg(long, value_name = "DIR")]
        out: PathBuf,
    },
}

fn main() -> ExitCode {
    match run(&Args::parse().what) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::from(2)
        }
    }
}

fn run(what: &What) -> io::Result<()> {
    match what {
        What::Incident {
            variant,
            seed,
            out,
            truth,
        } => {
            let mut chosen = Variant::named(variant)
                .ok_or_else(|| io::Error::other(format!("no variant `{variant}`")))?;
            chosen.seed = seed.unwrap_or(chosen.seed);
            hand_over(&incident::generate(&chosen)?, out, truth.as_deref())
        }
        What::Description { file, out, truth } => {
            let dataset = Description::read(file)?.render()?;
            hand_over(&dataset, out, truth.as_deref())
        }
        What::Sla { open, out } => {
            fs::create_dir_all(out)?;
            fs::write(out.join("tickets.db"), sla::database(*open)?)
        }
    }
}

fn hand_over<T: Serialize>(
    dataset: &Dataset<T>,
    out: &Path,
    truth: Option<&Path>,
) -> io::Result<()> {
    dataset.write(out)?;
    if let Some(file) = truth {
        let text = serde_json::to_string_pretty(&dataset.truth)?;
        fs::write(file, text + "\n")?;
    }
    println!("{}", dataset.goal);
    Ok(())
}
