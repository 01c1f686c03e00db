//! `fuzz`: runs the fuzz targets for a while each, and keeps what they find.
//!
//! Owns the clock and the files in `corpus/fuzz`. Exits 1 where a target failed, 2 where there is
//! none of that name. INVARIANT: a failing input is on the disk before its target goes on.

use std::fs;
use std::io;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use clap::Parser;
use provost_plan::digest::{Digest, Domain};
use sim::fuzz::driver::{Driver, Finding, run};
use sim::fuzz::{TARGETS, Target, seeds};

/// Runs what must hold of any bytes.
#[derive(Parser)]
struct Args {
    /// How long each target runs.
    #[arg(value_name = "SECONDS", default_value_t = 60)]
    seconds: u64,
    /// Only this target.
    #[arg(long, value_name = "NAME")]
    target: Option<String>,
    /// The seed of the generator.
    #[arg(long, default_value_t = 1)]
    seed: u64,
}

/// Findings of one target after which it is left.
const FINDINGS_MAX: usize = 5;

fn main() -> ExitCode {
    let args = Args::parse();
    let wanted = |target: &&Target| args.target.as_ref().is_none_or(|name| name == target.name);
    let targets: Vec<&Target> = TARGETS.iter().filter(wanted).collect();
    if targets.is_empty() {
        let names: Vec<&str> = TARGETS.iter().map(|target| target.name).collect();
        eprintln!("error: the targets are {}", names.join(", "));
        return ExitCode::from(2);
    }
    println!("not coverage-guided: seeded mutation, guided by what the targets say they reached");
    std::panic::set_hook(Box::new(|_| {}));
    let mut found = 0;
    for target in targets {
        match feed(target, args.seed, Duration::from_secs(args.seconds)) {
            Ok(count) => found += count,
            Err(error) => {
                eprintln!(
                    "error: a finding of `{}` cannot be kept: {error}",
                    target.name
                );
                return ExitCode::from(2);
            }
        }
    }
    if found == 0 {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}

/// Runs a target; says how many inputs it failed on.
fn feed(target: &Target, seed: u64, time: Duration) -> io::Result<usize> {
    let mut pool: Vec<Vec<u8>> = seeds::found(target.name)
        .into_iter()
        .map(|(_, input)| input)
        .collect();
    pool.extend((target.seeds)());
    let begun_with = pool.len();
    let mut driver = Driver::new(seed, target.name, pool);
    let mut messages: Vec<String> = Vec::new();
    let mut slowest = Duration::ZERO;
    let began = Instant::now();
    while began.elapsed() < time && messages.len() < FINDINGS_MAX {
        let at = Instant::now();
        let finding = driver.step(target.run);
        slowest = slowest.max(at.elapsed());
        let Some(finding) = finding else { continue };
        // Why: one fault has many inputs, whose numbers and texts differ.
        let words: String = finding
            .message
            .chars()
            .filter(|c| !c.is_ascii_digit())
            .take(40)
            .collect();
        if messages.contains(&words) {
            continue;
        }
        let finding = smaller(target, finding);
        let path = keep(target, &finding)?;
        println!("{}: {}\n  {}", target.name, path.display(), finding.message);
        messages.push(words);
    }
    print!("{}: {} executions", target.name, driver.executions());
    print!(
        " in {} s from {begun_with} inputs",
        began.elapsed().as_secs()
    );
    print!(", {} things reached", driver.features());
    println!(
        ", slowest {} ms, {} findings",
        slowest.as_millis(),
        messages.len()
    );
    Ok(messages.len())
}

/// Takes parts out of a failing input as long as it fails in the same words.
fn smaller(target: &Target, finding: Finding) -> Finding {
    let words: String = finding.message.chars().take(20).collect();
    let mut best = finding;
    let mut size = best.input.len() / 2;
    while size > 0 {
        let mut at = 0;
        while at < best.input.len() {
            let end = (at + size).min(best.input.len());
            let mut input = best.input.clone();
            input.drain(at..end);
            match run(target.run, &input).filter(|message| message.starts_with(&words)) {
                Some(message) => best = Finding { input, message },
                None => at = end,
            }
        }
        size /= 2;
    }
    best
}

fn keep(target: &Target, finding: &Finding) -> io::Result<PathBuf> {
    let folder = seeds::corpus().join("fuzz").join(target.name);
    fs::create_dir_all(&folder)?;
    let name = Digest::of_bytes(Domain::Evidence, &finding.input).short();
    let path = folder.join(name);
    fs::write(&path, &finding.input)?;
    Ok(path)
}
