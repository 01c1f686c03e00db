//! One run at a time: sequences (W1), a fan (W2), a cold start (W6).

use std::future::Future;
use std::path::Path;
use std::time::{Duration, Instant};

use provost_engine::telemetry::Exporter;
use serde_json::{Value, json};

use crate::Failure;
use crate::figures::{now_ns, quantile, rounded, us};
use crate::place::{Place, chain, fan as fan_plan, succeeded};

/// Calls that may be in flight at once where a plan has no more than one.
const FEW: usize = 8;

/// How long the end waits for what is left to be sent.
const SENDS_LAST: Duration = Duration::from_millis(500);

/// One thread: a run is a sequence of waits, and there is one writer beside it.
pub fn on_this_thread<T>(work: impl Future<Output = Result<T, Failure>>) -> Result<T, Failure> {
    tokio::runtime::Builder::new_current_thread()
        // Why no more: the tool needs nothing of the system but time.
        .enable_time()
        .build()?
        .block_on(work)
}

/// Runs of sequential steps.
pub fn sequence(dir: &Path, steps: usize, runs: usize) -> Result<Value, Failure> {
    let place = Place::open(dir, None, FEW, &chain("bench.step", steps))?;
    let (mut walls, mut gaps) = (Vec::new(), Vec::new());
    let exporter = Exporter::start(place.engine.workspace(), SENDS_LAST);
    let total = on_this_thread(async {
        succeeded(&place.warm_up(&chain("bench.step", 2)).await?)?;
        place.tool.take_began();
        let all = Instant::now();
        for run in 0..runs {
            let began = now_ns();
            succeeded(&place.run(run).await?)?;
            let ended = now_ns();
            walls.push(us(ended - began));
            let mut moments = place.tool.take_began();
            moments.push(ended);
            let pairs = moments.iter().zip(moments.iter().skip(1));
            gaps.extend(pairs.map(|(one, two)| us(two - one)));
        }
        Ok(all.elapsed().as_secs_f64())
    })?;
    drop(exporter);
    let (steps, count) = (number(steps), number(runs));
    Ok(json!({
        "step_us": rounded(quantile(&mut walls, 0.5) / steps),
        "gap_us_p50": rounded(quantile(&mut gaps, 0.5)),
        "gap_us_p99": rounded(quantile(&mut gaps, 0.99)),
        "runs_per_s": rounded(count / total),
    }))
}

/// One step, many at once, one step.
pub fn fan(dir: &Path, fan: usize, ms: u64, at_once: usize) -> Result<Value, Failure> {
    let place = Place::open(dir, None, at_once, &fan_plan(fan, ms))?;
    let began = Instant::now();
    on_this_thread(async { succeeded(&place.run(0).await?) })?;
    Ok(json!({ "wall_ms": rounded(began.elapsed().as_secs_f64() * 1e3) }))
}

/// One run of one step.
pub fn first_step(dir: &Path, effects: &Path) -> Result<Value, Failure> {
    let place = Place::open(dir, Some(effects), FEW, &chain("bench.step", 1))?;
    on_this_thread(async { succeeded(&place.run(0).await?) })?;
    Ok(json!({}))
}

/// A count as a number to divide by.
#[expect(clippy::cast_precision_loss, reason = "counts are small")]
pub fn number(count: usize) -> f64 {
    count as f64
}
