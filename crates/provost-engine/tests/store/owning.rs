use std::io::{BufRead as _, BufReader, Write as _};
use std::process::Child;

use provost_engine::owner::ClaimResult;
use provost_engine::store::{Store, StoreError};

use super::{append, child, durable};

#[test]
fn a_living_owner_keeps_its_runs_and_a_closed_one_does_not() {
    let dir = tempfile::tempdir().unwrap();
    let first = Store::open(dir.path()).unwrap();
    first.append(append("run", 0, 1)).wait().unwrap();
    let second = Store::open(dir.path()).unwrap();
    let pid = Some(std::process::id());
    assert_eq!(second.claim("run").wait(), Ok(ClaimResult::HeldBy { pid }));
    assert_eq!(first.claim("run").wait(), Ok(ClaimResult::Taken));
    let moved = StoreError::Moved {
        run: "run".to_owned(),
    };
    assert_eq!(
        second.append(append("run", 1, 1)).wait(),
        Err(moved.clone())
    );

    first.release("run").wait().unwrap();
    assert_eq!(second.claim("run").wait(), Ok(ClaimResult::Taken));
    assert_eq!(first.append(append("run", 1, 1)).wait(), Err(moved.clone()));
    assert_eq!(first.release("run").wait(), Err(moved));
    second.append(append("run", 1, 1)).wait().unwrap();

    drop(second);
    assert_eq!(first.claim("run").wait(), Ok(ClaimResult::Taken));
    let unknown = StoreError::UnknownRun {
        run: "nnn".to_owned(),
    };
    assert_eq!(first.claim("nnn").wait(), Err(unknown));
}

#[test]
fn of_many_processes_one_gets_the_runs_of_a_dead_owner() {
    let dir = tempfile::tempdir().unwrap();
    for _ in 0..5 {
        let dir = dir.path().join("store");
        let mut dead = child("append", &dir);
        let mut lines = BufReader::new(dead.stdout.take().unwrap()).lines();
        let acks = lines
            .by_ref()
            .filter(|line| line.as_ref().unwrap().starts_with("ack"));
        assert_eq!(acks.take(8).count(), 8);
        // The control: while it lives, nobody gets anything.
        let takers = race(&dir, 1);
        assert_eq!(takers, [0]);
        dead.kill().unwrap();
        dead.wait().unwrap();

        let takers = race(&dir, 4);
        assert_eq!(
            takers.iter().sum::<usize>(),
            4,
            "each of the four runs once: {takers:?}"
        );
        let locks = std::fs::read_dir(dir.join("owners")).unwrap().count();
        assert_eq!(
            locks, 0,
            "lock files are removed by who takes over and who ends"
        );
        Store::open(&dir).unwrap().verify().unwrap();
        std::fs::remove_dir_all(&dir).unwrap();
    }
}

/// Lets `count` processes claim every run at once; how many runs each got.
fn race(dir: &std::path::Path, count: usize) -> Vec<usize> {
    let mut racers: Vec<(Child, _)> = (0..count)
        .map(|_| {
            let mut racer = child("claim", dir);
            let mut lines = BufReader::new(racer.stdout.take().unwrap()).lines();
            assert!(lines.any(|line| line.unwrap() == "ready"));
            (racer, lines)
        })
        .collect();
    for (racer, _) in &mut racers {
        racer.stdin.as_mut().unwrap().write_all(b"x").unwrap();
    }
    let taken = racers
        .iter_mut()
        .map(|(_, lines)| {
            lines
                .map(Result::unwrap)
                .take_while(|line| line != "end")
                .filter(|line| line.starts_with("taken"))
                .count()
        })
        .collect();
    for (mut racer, lines) in racers {
        drop(racer.stdin.take());
        lines.for_each(drop);
        racer.wait().unwrap();
    }
    taken
}

#[test]
fn two_writers_of_one_journal_keep_one_chain_of_commits() {
    let dir = tempfile::tempdir().unwrap();
    let stores = [0, 1].map(|_| Store::open(dir.path()).unwrap());
    std::thread::scope(|scope| {
        for (n, store) in stores.iter().enumerate() {
            scope.spawn(move || {
                let run = format!("run{n}");
                for seq in 0..100 {
                    let next = append(&run, seq, 1);
                    let next = if seq % 7 == 0 { durable(next) } else { next };
                    store.append(next).wait().unwrap();
                }
            });
        }
    });
    let [first, second] = &stores;
    let verified = first.verify().unwrap();
    assert_eq!((verified.events, verified.commits), (200, 200));
    assert_eq!(second.load("run0").unwrap().len(), 100);
}
