//! How long a plan takes to be read and to be checked: medians over several rounds.
//!
//! Owns the targets. Exits 1 where one is missed. INVARIANT: a plan that is timed has no error, so
//! every pass runs to its end and a record is made.
#![allow(
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::disallowed_methods,
    clippy::disallowed_macros,
    reason = "a benchmark, which never ships"
)]

#[path = "../tests/generated/mod.rs"]
mod generated;

use std::process::ExitCode;
use std::time::{Duration, Instant};

use generated::{since, spent};
use provost_plan::check::Terms;
use provost_plan::plan::read::read_plan;

/// That of the program, so that what is timed is what is shipped.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Steps, how many plans make a batch, and the most that reading and checking one may take.
const TARGETS: [(usize, usize, Duration); 3] = [
    (10, 100, Duration::from_millis(2)),
    (100, 20, Duration::from_millis(10)),
    (1_000, 2, Duration::from_millis(150)),
];
/// Batches of which the median counts.
const ROUNDS: usize = 9;

fn main() -> ExitCode {
    let (cpu, wall) = (spent(), Instant::now());
    let catalog = generated::catalog();
    let listed = since(cpu, wall);
    let (cpu, wall) = (spent(), Instant::now());
    let terms = generated::terms_of(catalog, provost_plan::policy::DEFAULT_POLICY);
    println!(
        "catalog of {} operations: {}; policy: {}",
        terms.catalog.iter().count(),
        shown(listed),
        shown(since(cpu, wall))
    );
    let missed = TARGETS
        .iter()
        .filter(|(steps, rounds, most)| !meets(&terms, *steps, *rounds, *most))
        .count();
    if missed == 0 {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}

/// Times a plan of so many steps and prints a line.
fn meets(terms: &Terms, steps: usize, batch: usize, most: Duration) -> bool {
    let text = generated::plan_text(steps);
    let source = generated::source(&text);
    let first = generated::checked(&text, terms);
    assert!(first.plan.is_some(), "{:#?}", first.diagnostics.last());
    let (mut reads, mut checks, mut both) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        let mut plans = Vec::with_capacity(batch);
        let (cpu, wall) = (spent(), Instant::now());
        plans.extend((0..batch).map(|_| read_plan(&source).expect("a plan")));
        let read = since(cpu, wall) / u32::try_from(batch).expect("few");
        let (cpu, wall) = (spent(), Instant::now());
        let mut all = true;
        for plan in plans {
            all &= generated::check_plan(plan, terms).plan.is_some();
        }
        let check = since(cpu, wall) / u32::try_from(batch).expect("few");
        assert!(all, "an error");
        reads.push(read);
        checks.push(check);
        both.push(read + check);
    }
    let met = median(&mut both) <= most;
    println!(
        "{steps} steps ({} KiB): read {}, check {}, both {} (slowest {}), at most {}: {}",
        text.len() / 1024,
        shown(median(&mut reads)),
        shown(median(&mut checks)),
        shown(median(&mut both)),
        shown(both[both.len() - 1]),
        shown(most),
        if met { "met" } else { "MISSED" }
    );
    met
}

fn median(times: &mut [Duration]) -> Duration {
    times.sort_unstable();
    times[times.len() / 2]
}

fn shown(time: Duration) -> String {
    format!("{:.2} ms", time.as_secs_f64() * 1_000.0)
}
