//! Schedules over a store whose N-th commit fails, for every N: each moment begins one run. And
//! what becomes of moments that pass while a run is not over, or nobody works.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use rusqlite::Connection;

use super::failing::workspace;
use crate::engine::{Engine, ScheduleResult, open_tools};
use crate::session::Unwatched;
use crate::store::{JOURNAL_FILE, RunFilter, ScheduleRow, Store, StoreError};

const CONFIG: &str = r#"
[workspace]
user = "ada"
[tools.ledger]
kind = "sql"
database = "ledger.db"
[tools.ledger.ops.total]
query = "select 1 as total"
single = true
input = { type = "object", properties = {} }
effect = "read"
[schedule.count]
goal = "Count the effects"
every = "1h"
"#;
const COUNT: &str = r#"
schema: provost/playbook/v1
match: "Count the effects"
goal: { success: [ { id: counted, text: the effects were counted } ] }
plan:
  steps:
    - { id: count, tool: ledger.total }
  success:
    - { for: counted, check: '${ steps.count.status == "succeeded" }' }
"#;
const HOUR: i64 = 3_600_000;
/// When the schedule is seen first.
const BEGIN: i64 = 1_800_000_000_000;

fn place(overlap: &str) -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    std::fs::create_dir(dir.path().join("playbooks")).unwrap();
    std::fs::write(
        dir.path().join("provost.toml"),
        format!("{CONFIG}{overlap}"),
    )
    .unwrap();
    std::fs::write(dir.path().join("playbooks/count.yaml"), COUNT).unwrap();
    let ledger = Connection::open(dir.path().join("ledger.db")).unwrap();
    ledger
        .execute_batch("create table effects (what text)")
        .unwrap();
    dir
}

fn engine(dir: &Path, store: Store) -> Engine {
    let workspace = workspace(dir);
    let toolbox = open_tools(&workspace).unwrap();
    Engine::with(workspace, store, toolbox).unwrap()
}

fn opened(dir: &Path) -> Engine {
    engine(dir, Store::open(&dir.join(".provost")).unwrap())
}

fn wait<T>(future: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    runtime.block_on(future)
}

fn look(engine: &Engine, now: i64) -> Result<Vec<ScheduleResult>, StoreError> {
    let looked = wait(engine.begin_scheduled(now, &|_| false, &mut Unwatched));
    looked.map(|(all, _)| all.into_iter().map(|one| one.result).collect())
}

fn row(engine: &Engine) -> ScheduleRow {
    engine.store().schedules().unwrap().remove(0)
}

fn runs(engine: &Engine) -> usize {
    engine.store().runs(&RunFilter::default()).unwrap().len()
}

/// Drives the only run that is not over to its end.
fn drive(engine: &Engine) {
    wait(async {
        let open = engine.store().runs(&RunFilter::unfinished()).unwrap();
        let mut session = engine.take_up(&open[0].id, &mut Unwatched).await.unwrap();
        let (_keep, mut halt) = tokio::sync::watch::channel(false);
        session.drive(&mut Unwatched, &mut halt).await.unwrap();
        session.release().await.unwrap();
    });
}

/// Every N from 1 on, until nothing fails; at how many the run was begun and the schedule not
/// moved yet.
fn for_every_n(open: impl Fn(&Path, u64) -> Store) -> usize {
    let mut between = 0;
    for n in 1..50 {
        let place = place("");
        let dir = place.path();
        let faulty = engine(dir, open(&dir.join(".provost"), n));
        let first = look(&faulty, BEGIN);
        let failed = first.is_err() || look(&faulty, BEGIN + HOUR).is_err();
        drop(faulty);
        let engine = opened(dir);
        if engine.store().schedules().unwrap().is_empty() {
            assert!(first.is_err(), "{n}: the schedule was forgotten");
            look(&engine, BEGIN).unwrap();
        }
        between += usize::from(runs(&engine) == 1 && row(&engine).last_run.is_none());
        // Whoever comes next sees to what is left, and a second look finds nothing.
        look(&engine, BEGIN + HOUR).unwrap();
        look(&engine, BEGIN + HOUR).unwrap();
        assert_eq!(runs(&engine), 1, "{n}");
        let row = row(&engine);
        assert_eq!(
            (row.last_ms, row.due_ms),
            (Some(BEGIN + HOUR), BEGIN + 2 * HOUR),
            "{n}"
        );
        drive(&engine);
        engine.store().verify().unwrap();
        if !failed {
            return between;
        }
    }
    panic!("it never passes");
}

#[test]
fn a_moment_begins_one_run_whichever_commit_is_refused() {
    let between = for_every_n(|dir, n| {
        let commits = Arc::new(AtomicU64::new(0));
        Store::open_faulty(dir, |connection| {
            let refuse = move || commits.fetch_add(1, Ordering::Relaxed) + 1 == n;
            connection.commit_hook(Some(refuse)).unwrap();
        })
        .unwrap()
    });
    // The control: it was interrupted where a careless order would begin two.
    assert!(between > 0);
}

#[test]
fn a_moment_begins_one_run_whichever_commit_is_kept_unheard() {
    let between = for_every_n(|dir, n| {
        let mut commits = 0;
        Store::open_faulty(dir, |connection| {
            let fail = move |_: &mut rusqlite::hooks::Wal, _| {
                commits += 1;
                if commits == n {
                    let code = rusqlite::ffi::SQLITE_IOERR_FSYNC;
                    let error = rusqlite::ffi::Error::new(code);
                    return Err(rusqlite::Error::SqliteFailure(error, None));
                }
                Ok(())
            };
            connection.wal_hook(Some(fail)).unwrap();
        })
        .unwrap()
    });
    assert!(between > 0);
}

#[test]
fn a_run_that_another_process_ended_meanwhile_is_not_begun_again() {
    let place = place("");
    let engine = opened(place.path());
    look(&engine, BEGIN).unwrap();
    let before = row(&engine);
    look(&engine, BEGIN + HOUR).unwrap();
    drive(&engine);
    // As a process left it that died before it moved the schedule.
    let journal = Connection::open(place.path().join(".provost").join(JOURNAL_FILE)).unwrap();
    let set = "update schedules set last_ms = null, last_run = null, due_ms = ?1";
    journal.execute(set, [before.due_ms]).unwrap();
    look(&engine, BEGIN + HOUR).unwrap();
    assert_eq!(runs(&engine), 1);
    assert_eq!(row(&engine).due_ms, BEGIN + 2 * HOUR);
    // The control: without the moment in its id, the same state begins a second one.
    journal.execute(set, [before.due_ms + 1]).unwrap();
    look(&engine, BEGIN + HOUR + 1).unwrap();
    assert_eq!(runs(&engine), 2);
}

#[test]
fn two_processes_begin_one_run() {
    let place = place("");
    let (one, other) = (opened(place.path()), opened(place.path()));
    look(&one, BEGIN).unwrap();
    let now = BEGIN + HOUR;
    let told = wait(async {
        let none = |_: &str| false;
        let (mut first, mut second) = (Unwatched, Unwatched);
        tokio::join!(
            one.begin_scheduled(now, &none, &mut first),
            other.begin_scheduled(now, &none, &mut second)
        )
    });
    assert_eq!(runs(&one), 1);
    let told = told.0.unwrap().0.len() + told.1.unwrap().0.len();
    assert_eq!(told, 1, "one of them tells of it");
}

#[test]
fn a_moment_at_which_the_last_run_is_not_over_is_skipped_or_waits() {
    for (overlap, waits) in [("", false), ("on_overlap = \"queue\"", true)] {
        let place = place(overlap);
        let engine = opened(place.path());
        look(&engine, BEGIN).unwrap();
        look(&engine, BEGIN + HOUR).unwrap();
        let told = look(&engine, BEGIN + 3 * HOUR + 5).unwrap();
        let run = row(&engine).last_run.unwrap();
        assert_eq!(runs(&engine), 1, "{overlap}");
        if waits {
            assert!(told.is_empty(), "{told:?}");
            assert_eq!(row(&engine).due_ms, BEGIN + 2 * HOUR);
        } else {
            assert_eq!(told, [ScheduleResult::Skipped { run }]);
            assert_eq!(row(&engine).due_ms, BEGIN + 4 * HOUR);
        }
        drive(&engine);
        look(&engine, BEGIN + 3 * HOUR + 10).unwrap();
        assert_eq!(runs(&engine), if waits { 2 } else { 1 }, "{overlap}");
        assert_eq!(row(&engine).due_ms, BEGIN + 4 * HOUR, "{overlap}");
    }
}

#[test]
fn moments_that_passed_while_nobody_worked_begin_one_run() {
    let place = place("");
    let engine = opened(place.path());
    look(&engine, BEGIN).unwrap();
    look(&engine, BEGIN + 100 * HOUR + 7).unwrap();
    assert_eq!(runs(&engine), 1);
    assert_eq!(row(&engine).due_ms, BEGIN + 101 * HOUR);
}

#[test]
fn a_schedule_that_is_written_anew_begins_anew() {
    let place = place("");
    look(&opened(place.path()), BEGIN).unwrap();
    let config = CONFIG.replace("1h", "2h");
    std::fs::write(place.path().join("provost.toml"), config).unwrap();
    let engine = opened(place.path());
    look(&engine, BEGIN + HOUR).unwrap();
    assert_eq!((runs(&engine), row(&engine).due_ms), (0, BEGIN + 3 * HOUR));
}

#[test]
fn a_goal_that_nobody_plans_waits_and_says_why() {
    let place = place("");
    let config = CONFIG.replace("Count the effects", "Sing");
    std::fs::write(place.path().join("provost.toml"), config).unwrap();
    let engine = opened(place.path());
    look(&engine, BEGIN).unwrap();
    let told = look(&engine, BEGIN + HOUR).unwrap();
    assert!(
        matches!(&told[..], [ScheduleResult::Failed { .. }]),
        "{told:?}"
    );
    let row = row(&engine);
    assert_eq!(row.due_ms, BEGIN + HOUR, "the moment is not lost");
    assert!(row.said.unwrap().contains("no playbook"));
}
