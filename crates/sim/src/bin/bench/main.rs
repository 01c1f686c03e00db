//! `bench`: the pieces of work that provost is measured by, through the way that `provost run`
//! takes.
//!
//! Owns the command line `bench VERB DIR ARGS` and its one line of JSON. Has no store and no loop
//! of its own: each run is begun, driven and taken up by the engine, with policy, schemas, journal
//! and chain as in any workspace. Exits 1 where a run does not end as it must. INVARIANT: what is
//! printed was measured over runs that all ended well.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Parser, Subcommand};
use serde_json::Value;

mod alone;
mod figures;
mod many;
mod parked;
mod place;
mod tool;

/// That of the program, so that what is timed is what is shipped.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Whatever ends a measurement without a figure.
type Failure = Box<dyn std::error::Error>;

/// Works a piece of work in DIR and prints its figures as one line of JSON.
#[derive(Parser)]
struct Args {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Subcommand)]
enum Verb {
    /// runs of sequential steps, one run after another; traces are sent to $OTLP, if it is set
    W1 {
        dir: PathBuf,
        steps: usize,
        runs: usize,
    },
    /// one step, then many at once that sleep, then one
    W2 {
        dir: PathBuf,
        fan: usize,
        ms: u64,
        at_once: usize,
    },
    /// many runs, at most $CAP of them (100) under way at once
    W3 {
        dir: PathBuf,
        runs: usize,
        steps: usize,
        effects: PathBuf,
    },
    /// the same runs, after the process was killed
    W3recover {
        dir: PathBuf,
        runs: usize,
        steps: usize,
        effects: PathBuf,
    },
    /// runs that wait for a person
    W4park { dir: PathBuf, runs: usize },
    /// find them in a new process, and approve twenty
    W4restore { dir: PathBuf, runs: usize },
    /// one run of one step
    W6 { dir: PathBuf, effects: PathBuf },
}

fn main() -> ExitCode {
    match work(Args::parse().verb) {
        Ok(figures) => {
            println!("{figures}");
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

fn work(verb: Verb) -> Result<Value, Failure> {
    match verb {
        Verb::W1 { dir, steps, runs } => alone::sequence(&dir, steps, runs),
        Verb::W2 {
            dir,
            fan,
            ms,
            at_once,
        } => alone::fan(&dir, fan, ms, at_once),
        Verb::W3 {
            dir,
            runs,
            steps,
            effects,
        } => many::work(&dir, runs, steps, &effects),
        Verb::W3recover {
            dir,
            runs,
            steps,
            effects,
        } => many::recover(&dir, runs, steps, &effects),
        Verb::W4park { dir, runs } => parked::park(&dir, runs),
        Verb::W4restore { dir, .. } => parked::restore(&dir),
        Verb::W6 { dir, effects } => alone::first_step(&dir, &effects),
    }
}
