//! Working: many runs at once, in one process and in two, and nobody drives what another holds.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use provost_engine::clock::now_ms;
use provost_engine::engine::{Engine, EngineError};
use provost_engine::session::{DriveEnd, Unwatched};
use provost_engine::work::{WorkEvent, WorkOptions, work};

use super::place::{Place, begin, count, drive, runtime, yes};

const IDLE: WorkOptions = WorkOptions {
    until_idle: true,
    runs_max: 8,
    schedules: true,
};

/// Runs that wait for a yes, and a yes for each that somebody posted.
async fn posted(there: &Engine, runs: usize) -> Vec<String> {
    let mut ids = Vec::new();
    for _ in 0..runs {
        let session = begin(there).await;
        let run = session.state().head.run.clone();
        let word = yes(there, session.state(), "bo").to_text();
        session.release().await.unwrap();
        there.store().post(&run, &word, now_ms()).await.unwrap();
        ids.push(run);
    }
    ids
}

/// How long it took until whoever works took a yes, which the same process posted: the median.
fn median_until_taken(nudges: bool) -> Duration {
    const RUNS: u64 = 11;
    let place = Place::new("nothing").without_repeats();
    let engine = Arc::new(place.engine());
    let said = runtime().block_on(async {
        let mut said = Vec::new();
        for _ in 0..RUNS {
            let session = begin(&engine).await;
            let word = yes(&engine, session.state(), "bo").to_text();
            said.push((session.state().head.run.clone(), word));
            session.release().await.unwrap();
        }
        said
    });
    let options = WorkOptions {
        until_idle: false,
        ..IDLE
    };
    let (stop, halt) = tokio::sync::watch::channel(false);
    let mut took = Vec::new();
    let speaking = async {
        for (n, (run, word)) in (1..).zip(&said) {
            // Why: the moment is to have nothing to do with when somebody looks.
            tokio::time::sleep(Duration::from_millis(300 + n * 53 % 200)).await;
            let spoken = Instant::now();
            engine.store().post(run, word, now_ms()).await.unwrap();
            if nudges {
                engine.nudge();
            }
            while engine.store().became(run, word).unwrap().is_none() {
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
            took.push(spoken.elapsed());
        }
        stop.send(true).unwrap();
    };
    runtime().block_on(async {
        let (worked, ()) = tokio::join!(work(&engine, options, halt, &|_| {}), speaking);
        worked.unwrap();
    });
    took.sort();
    took[took.len() / 2]
}

/// The control is the same without a nudge: then it takes until the next look.
#[test]
fn who_works_looks_at_once_when_this_process_was_spoken_to() {
    let (nudged, looked) = (median_until_taken(true), median_until_taken(false));
    println!("median until taken: {nudged:?} nudged, {looked:?} by looking");
    assert!(
        nudged * 2 < looked,
        "{nudged:?} nudged, {looked:?} by looking"
    );
}

/// How many times each run was let go of.
async fn worked(engine: &Arc<Engine>) -> (BTreeMap<String, usize>, usize) {
    let (_keep, halt) = tokio::sync::watch::channel(false);
    let ends = RefCell::new(BTreeMap::new());
    let (now, most) = (
        RefCell::new(std::collections::BTreeSet::new()),
        RefCell::new(0),
    );
    let listener = |told: &WorkEvent<'_>| match told {
        WorkEvent::Kept { state, .. } => {
            now.borrow_mut().insert(state.head.run.clone());
            let at_once = now.borrow().len();
            let before = *most.borrow();
            *most.borrow_mut() = before.max(at_once);
        }
        WorkEvent::LetGo { run, stop } => {
            now.borrow_mut().remove(*run);
            // Why ended at all: the note that the first run writes is not written twice.
            assert!(matches!(stop, DriveEnd::Ended(_)), "{stop:?}");
            *ends.borrow_mut().entry((*run).to_owned()).or_insert(0) += 1;
        }
        other => panic!("{other:?}"),
    };
    work(engine, IDLE, halt, &listener).await.unwrap();
    let most = *most.borrow();
    (ends.into_inner(), most)
}

#[test]
fn many_runs_are_driven_at_once_and_no_more_than_that() {
    let place = Place::new("nothing").without_repeats();
    let engine = Arc::new(place.engine());
    runtime().block_on(async {
        let runs = posted(&engine, 3 * IDLE.runs_max).await;
        let (ends, most) = worked(&engine).await;
        assert_eq!(ends.len(), runs.len());
        assert!((2..=IDLE.runs_max).contains(&most), "{most} at once");
    });
    assert_eq!(place.count("AttemptStarted"), 3 * IDLE.runs_max);
}

#[test]
fn two_processes_that_work_drive_each_run_once() {
    let place = Place::new("nothing").without_repeats();
    let (one, other) = (Arc::new(place.engine()), Arc::new(place.engine()));
    let many = count(20);
    runtime().block_on(async {
        let runs = posted(&one, many).await;
        let ((mut ends, _), (others, _)) = tokio::join!(worked(&one), worked(&other));
        for (run, times) in others {
            *ends.entry(run).or_insert(0) += times;
        }
        // Why at most once in the journal: a run that ended may be looked at by the other.
        assert!(runs.iter().all(|run| ends.contains_key(run)), "{ends:?}");
    });
    assert_eq!(place.count("AttemptStarted"), many);
    assert_eq!(place.count("ApprovalGiven"), many);
}

#[test]
fn a_run_has_one_driver_in_a_process() {
    let place = Place::new("nothing");
    let engine = Arc::new(place.engine());
    runtime().block_on(async {
        let mut session = begin(&engine).await;
        let run = session.state().head.run.clone();
        let second = engine.take_up(&run, &mut Unwatched).await;
        let error = second.err().unwrap();
        assert!(matches!(error, EngineError::Held { .. }), "{error}");
        assert_eq!(place.count("Resumed"), 0, "nothing was taken for lost");
        // And the first goes on as if nobody had asked.
        let word = yes(&engine, session.state(), "bo");
        session.hear(&word, &mut Unwatched).await.unwrap();
        assert!(matches!(drive(&mut session).await, DriveEnd::Ended(_)));
        // The control: a session that was dropped, or that let go, is in nobody's way.
        drop(session);
        engine.take_up(&run, &mut Unwatched).await.unwrap();
        let session = begin(&engine).await;
        let run = session.state().head.run.clone();
        session.release().await.unwrap();
        engine.take_up(&run, &mut Unwatched).await.unwrap();
    });
}
