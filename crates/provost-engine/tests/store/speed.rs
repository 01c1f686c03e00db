//! How fast the whole check is. The figure is held in release builds only.

use std::time::{Duration, Instant};

use provost_engine::store::{Evidence, Store};
use serde_json::json;

use super::append;

#[test]
fn the_check_reads_events_at_speed() {
    let events: u64 = std::env::var("PROVOST_EVENTS")
        .ok()
        .and_then(|text| text.parse().ok())
        .unwrap_or(2_000);
    let dir = tempfile::tempdir().unwrap();
    let store = Store::open(dir.path()).unwrap();
    let runs = events / 50;
    for run in 0..runs {
        let pending: Vec<_> = (0..10)
            .map(|step| {
                let mut next = append(&format!("run{run}"), step * 5, 5);
                let piece = Evidence::new("text/plain", format!("{run} {step}").into_bytes());
                next.events[3].kind = "AttemptEnded".into();
                next.events[3].payload = json!({
                    "attempt": 1, "class": "ok", "evidence": piece.digest(), "landing": "happened",
                    "slot": { "step": format!("step{step}") },
                    "message": "a message as long as that of most attempts, or a little longer",
                })
                .into();
                next.evidence = vec![piece];
                store.append(next)
            })
            .collect();
        pending
            .into_iter()
            .for_each(|one| drop(one.wait().unwrap()));
    }
    drop(store);
    let store = Store::open_read_only(dir.path()).unwrap();
    let (begun, before) = (Instant::now(), on_processor());
    let verified = store.verify().unwrap();
    let took = begun.elapsed();
    // Why not by the clock: other tests and builds share the processor.
    let busy = on_processor()
        .zip(before)
        .map_or(took, |(after, before)| after - before);
    assert_eq!(verified.events, runs * 50);
    let speed = u128::from(verified.events) * 1_000_000 / busy.as_micros().max(1);
    println!(
        "verified {} events in {took:?}, {busy:?} of it on a processor: {speed} a second of that",
        verified.events
    );
    #[cfg(not(debug_assertions))]
    {
        assert!(speed >= 100_000, "{speed} events a second");
    }
}

/// How long this thread has been on a processor, where the system tells.
fn on_processor() -> Option<Duration> {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    let nanos = text.split(' ').next()?.parse().ok()?;
    Some(Duration::from_nanos(nanos))
}
