//! Many runs at once (W3), and the same after the process was killed (W5).

use std::collections::BTreeMap;
use std::future::Future;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use futures::stream;
use futures::{StreamExt as _, TryStreamExt as _};
use provost_engine::run::event::RunStatus;
use provost_engine::session::DriveEnd;
use provost_engine::store::{RunFilter, RunRow};
use serde_json::{Value, json};

use crate::Failure;
use crate::alone::{number, on_this_thread};
use crate::figures::rounded;
use crate::place::{Place, chain, succeeded};

/// Begins all runs.
pub fn work(dir: &Path, runs: usize, steps: usize, effects: &Path) -> Result<Value, Failure> {
    let place = Place::open(dir, Some(effects), 8, &chain("bench.step", steps))?;
    let began = Instant::now();
    let stops = all(runs, |run| place.run(run))?;
    let wall = began.elapsed().as_secs_f64();
    stops.iter().try_for_each(succeeded)?;
    let per_second = rounded(number(runs) / wall);
    Ok(json!({ "wall_s": rounded_ms(wall), "runs_per_s": per_second }))
}

/// Takes up every run that is not over, and begins those that were not begun.
pub fn recover(dir: &Path, runs: usize, steps: usize, effects: &Path) -> Result<Value, Failure> {
    let began = Instant::now();
    let place = Place::open(dir, Some(effects), 8, &chain("bench.step", steps))?;
    let rows = place.engine.store().runs(&RunFilter::default())?;
    let known: BTreeMap<&str, &RunRow> = rows.iter().map(|row| (row.goal.as_str(), row)).collect();
    let stops = all(runs, |run| {
        let row = known.get(Place::goal(run).as_str()).copied();
        let place = &place;
        async move {
            match row {
                None => place.run(run).await.map(Some),
                Some(row) if row.status == RunStatus::Succeeded.word() => Ok(None),
                Some(row) => place.go_on(&row.id).await.map(Some),
            }
        }
    })?;
    let wall = began.elapsed().as_secs_f64();
    let (doubtful, ended): (Vec<DriveEnd>, Vec<DriveEnd>) = stops
        .into_iter()
        .flatten()
        .partition(|stop| *stop == DriveEnd::InDoubt);
    ended.iter().try_for_each(succeeded)?;
    Ok(json!({ "wall_s": rounded_ms(wall), "in_doubt": doubtful.len() }))
}

/// Does something for every run, on as many threads as there are processors, with at most
/// [`cap`] under way.
fn all<T: Send, F>(runs: usize, each: impl Fn(usize) -> F + Sync) -> Result<Vec<T>, Failure>
where
    F: Future<Output = Result<T, Failure>>,
{
    let threads = std::thread::available_parallelism()?.get().min(cap());
    let next = AtomicUsize::new(0);
    let some = || {
        let runs = std::iter::from_fn(|| {
            let run = next.fetch_add(1, Ordering::Relaxed);
            (run < runs).then_some(run)
        });
        let done = stream::iter(runs)
            .map(&each)
            .buffer_unordered(cap() / threads)
            .try_collect::<Vec<T>>();
        // Why as a text: a failure does not go from thread to thread.
        on_this_thread(done).map_err(|failure| failure.to_string())
    };
    std::thread::scope(|scope| {
        let workers: Vec<_> = (0..threads).map(|_| scope.spawn(some)).collect();
        let mut all = Vec::with_capacity(runs);
        for worker in workers {
            let done = worker.join().map_err(|_| "a thread panicked")?;
            all.extend(done?);
        }
        Ok(all)
    })
}

/// How many runs may be under way at once.
fn cap() -> usize {
    let cap = std::env::var("CAP").ok().and_then(|cap| cap.parse().ok());
    cap.unwrap_or(100)
}

fn rounded_ms(seconds: f64) -> f64 {
    (seconds * 1e4).round() / 1e4
}
