//! One goal, one run that is not over: decided where the run is created.

use std::sync::{Arc, Barrier};
use std::thread;

use provost_engine::store::{Append, RunFilter, Store, StoreError};

use super::append;

/// The creation of `run` for a goal; refused, where `only`, if a run that is not over has it.
fn creation(run: &str, goal: &str, only: bool) -> Append {
    let mut creation = append(run, 0, 1);
    creation.row.goal = goal.to_owned();
    creation.only_of_goal = only;
    creation
}

#[test]
fn of_two_runs_that_begin_at_once_with_one_goal_one_does() {
    let dir = tempfile::tempdir().unwrap();
    let stores = [
        Store::open(dir.path()).unwrap(),
        Store::open(dir.path()).unwrap(),
    ];
    for only in [true, false] {
        let mut begun = 0;
        for round in 0..20 {
            let barrier = Arc::new(Barrier::new(2));
            begun += thread::scope(|scope| {
                let begins = stores.iter().zip(["a", "b"]).map(|(store, who)| {
                    let barrier = Arc::clone(&barrier);
                    scope.spawn(move || {
                        let run = format!("{who}{only}{round}");
                        let goal = format!("Look at  {only} {round}");
                        barrier.wait();
                        match store.append(creation(&run, &goal, only)).wait() {
                            Ok(_) => 1,
                            Err(StoreError::SameGoal { status, .. }) => {
                                assert_eq!(status, "running");
                                0
                            }
                            Err(error) => panic!("{error}"),
                        }
                    })
                });
                let begins: Vec<_> = begins.collect();
                begins
                    .into_iter()
                    .map(|one| one.join().unwrap())
                    .sum::<usize>()
            });
        }
        // The control: where it is not asked for, both begin.
        assert_eq!(begun, if only { 20 } else { 40 });
    }
}

#[test]
fn a_goal_is_free_again_once_its_run_is_over_and_a_refused_run_leaves_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let store = Store::open(dir.path()).unwrap();
    let begin = |run: &str, goal: &str| store.append(creation(run, goal, true)).wait();
    begin("one", "Look at the log").unwrap();
    let refused = begin("two", "look at   THE log").unwrap_err();
    let (run, status) = ("one".to_owned(), "running".to_owned());
    assert_eq!(refused, StoreError::SameGoal { run, status });
    assert!(matches!(
        store.run("two"),
        Err(StoreError::UnknownRun { .. })
    ));
    let mut ended = append("one", 1, 1);
    ended.row.status = "succeeded".to_owned();
    ended.row.goal = "Look at the log".to_owned();
    store.append(ended).wait().unwrap();
    begin("two", "look at   THE log").unwrap();
    let runs = store.runs(&RunFilter::default()).unwrap();
    assert_eq!(runs.len(), 2);
}
