//! Runs that wait for a person (W4).

use std::path::Path;
use std::time::Instant;

use futures::StreamExt as _;
use futures::stream;
use provost_engine::run::event::RunStatus;
use provost_engine::run::machine::Input;
use provost_engine::run::statement::Statement;
use provost_engine::session::{DriveEnd, Unwatched};
use provost_engine::store::RunFilter;
use serde_json::{Value, json};

use crate::Failure;
use crate::alone::{number, on_this_thread};
use crate::figures::{now_ns, quantile, rounded, rss_kb, us};
use crate::place::{Place, chain, succeeded};

/// Runs that are on their way to a person at once.
const UNDER_WAY: usize = 32;
/// Runs that are approved.
const APPROVED: u32 = 20;

/// Brings runs to where they wait.
pub fn park(dir: &Path, runs: usize) -> Result<Value, Failure> {
    let place = Place::open(dir, None, 8, &plan())?;
    let mut before = 0;
    let began = on_this_thread(async {
        let waits = |stop: DriveEnd| match stop {
            DriveEnd::Waiting => Ok(()),
            other => Err(Failure::from(format!("a run does not wait: {other:?}"))),
        };
        succeeded(&place.warm_up(&chain("bench.step", 2)).await?)?;
        before = rss_kb()?;
        let began = Instant::now();
        let mut all = stream::iter(0..runs)
            .map(|run| place.run(run))
            .buffer_unordered(UNDER_WAY);
        while let Some(stop) = all.next().await {
            waits(stop?)?;
        }
        Ok(began)
    })?;
    let wall = began.elapsed().as_secs_f64();
    #[expect(clippy::cast_precision_loss, reason = "kilobytes")]
    let grown = rss_kb()?.saturating_sub(before) as f64;
    Ok(json!({ "park_s": rounded(wall), "rss_kb_per_run": rounded(grown / number(runs)) }))
}

/// Lists the runs that wait, in a new process, and approves some of them.
pub fn restore(dir: &Path) -> Result<Value, Failure> {
    let began = Instant::now();
    let place = Place::open(dir, None, 8, &plan())?;
    let waiting = place.engine.store().runs(&RunFilter {
        statuses: vec![RunStatus::WaitingApproval.word().to_owned()],
        ..RunFilter::default()
    })?;
    let list_ms = began.elapsed().as_secs_f64() * 1e3;
    let rss = rss_kb()?;
    let by = place.engine.workspace().people().principal("grace");
    let mut times = Vec::new();
    on_this_thread(async {
        for row in waiting.iter().take(APPROVED as usize) {
            let began = now_ns();
            let mut session = place.engine.take_up(&row.id, &mut Unwatched).await?;
            let card = session.open_cards().first().map(|(digest, _)| *digest);
            let yes = Statement::Approve {
                card: card.ok_or("a run that waits has no card")?,
                steps: Vec::new(),
            };
            let approve = Input::unsigned(by.clone(), yes);
            session.give(approve, &mut Unwatched).await?;
            succeeded(&place.drive(session).await?)?;
            let step = place.tool.take_began().first().copied();
            times.push(us(step.ok_or("the approved step did not run")? - began) / 1e3);
        }
        Ok(())
    })?;
    Ok(json!({
        "waiting": waiting.len(),
        "list_ms": rounded(list_ms),
        "resume_ms_p50": rounded(quantile(&mut times, 0.5)),
        "rss_mb": rounded(us(rss)),
    }))
}

fn plan() -> String {
    chain("bench.gate", 1)
}
