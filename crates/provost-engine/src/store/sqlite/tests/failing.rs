//! The N-th write of a whole run fails, for every N until the run passes. Whatever N is: no call
//! goes out whose intent is not in the journal, no event that was acknowledged is gone, the error
//! has a hint, and afterwards the run goes on.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use provost_plan::plan::read::read_plan;
use provost_plan::source::Source;
use provost_run::event::{Event, PlannerChoice, RunStatus};
use provost_run::state::State;
use rusqlite::Connection;
use serde_json::Value;

use crate::engine::{Engine, EngineError, NewRun, open_tools};
use crate::session::{DriveEnd, DriveError, Session, Watcher};
use crate::store::{JOURNAL_FILE, Store, StoreError};
use crate::workspace::{LockUse, Opening, Workspace};

const CONFIG: &str = r#"
[workspace]
user = "ada"
[tools.ledger]
kind = "sql"
database = "ledger.db"
[tools.ledger.ops.total]
query = "select count(*) as total from effects"
single = true
input = { type = "object", properties = {} }
effect = "read"
[tools.ledger.ops.add]
execute = "insert into effects values (:what, :note)"
input = "what.json"
effect = "write"
"#;
const WHAT: &str = r#"{ "type": "object", "required": ["what", "note"],
  "additionalProperties": false,
  "properties": { "what": { "type": "string" }, "note": { "type": "string" } } }"#;
const PLAN: &str = r#"schema: provost/plan/v1
goal: { text: Add two effects, success: [ { id: added, text: both effects stand in the ledger } ] }
steps:
  - { id: before, tool: ledger.total, args: {} }
  - { id: one, tool: ledger.add, args: { what: one, note: NOTE }, needs: [before] }
  - { id: two, tool: ledger.add, args: { what: two, note: NOTE }, needs: [one] }
success:
  - { for: added, check: '${ steps.two.status == "succeeded" }' }
"#;

/// What a run came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    Succeeded,
    InDoubt,
    /// Before there was a run.
    NotBegun,
}

/// Keeps what the store acknowledged.
#[derive(Default)]
struct Acknowledged {
    run: String,
    events: BTreeMap<u64, Event>,
}

impl Watcher for Acknowledged {
    fn kept(&mut self, first_seq: u64, events: &[Event], state: &State) {
        self.run.clone_from(&state.head.run);
        self.events
            .extend((first_seq..).zip(events.iter().cloned()));
    }
    fn tick(&mut self, _: &State) {}
}

pub(super) fn workspace(dir: &Path) -> Workspace {
    let opening = Opening {
        user: "ada",
        lock: LockUse::Hold,
    };
    Workspace::open(dir, &opening).unwrap()
}

fn new_workspace() -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("provost.toml"), CONFIG).unwrap();
    std::fs::write(dir.path().join("what.json"), WHAT).unwrap();
    let ledger = Connection::open(dir.path().join("ledger.db")).unwrap();
    ledger
        .execute_batch("create table effects (what text, note text)")
        .unwrap();
    dir
}

/// How often each effect took place.
fn effects(dir: &Path) -> BTreeMap<String, u64> {
    let ledger = Connection::open(dir.join("ledger.db")).unwrap();
    let mut query = ledger
        .prepare("select what, count(*) from effects group by what")
        .unwrap();
    let rows = query.query_map([], |row| Ok((row.get(0)?, row.get(1)?)));
    rows.unwrap().map(Result::unwrap).collect()
}

fn new_run() -> NewRun {
    // Why long: every event that holds it needs pages of its own.
    let text = PLAN.replace("NOTE", &"long ".repeat(2_000));
    let plan = read_plan(&Source::new("plan.yaml", text.as_str())).unwrap();
    NewRun {
        goal: plan.goal.unwrap().value,
        interpreted_by: "file plan.yaml".to_owned(),
        planner: PlannerChoice::File {
            name: "plan.yaml".to_owned(),
            text,
            playbook: None,
        },
        fallback: None,
        mode: None,
        ask: provost_run::event::AskMode::Step,
        again: false,
        traceparent: None,
    }
}

async fn to_the_end(
    mut session: Session,
    seen: &mut Acknowledged,
) -> Result<(End, Session), EngineError> {
    let (_keep, mut halt) = tokio::sync::watch::channel(false);
    let end = match session.drive(seen, &mut halt).await? {
        DriveEnd::Ended(ended) if ended.status == RunStatus::Succeeded => End::Succeeded,
        DriveEnd::InDoubt => End::InDoubt,
        stop => panic!("{stop:?}"),
    };
    Ok((end, session))
}

/// Begins the run over `store` and drives it as far as it goes.
async fn begun(dir: &Path, store: Store, seen: &mut Acknowledged) -> Result<End, EngineError> {
    let workspace = workspace(dir);
    let toolbox = open_tools(&workspace).unwrap();
    let engine = Engine::with(workspace, store, toolbox).unwrap();
    let session = engine.begin(new_run(), seen).await?;
    Ok(to_the_end(session, seen).await?.0)
}

/// Takes the run up again, with a store that works.
async fn resumed(dir: &Path, run: &str) -> End {
    let engine = Engine::open(workspace(dir)).unwrap();
    let mut seen = Acknowledged::default();
    // Why any: a run whose first events were kept and not acknowledged is listed all the same.
    let Ok(run) = engine.find(run) else {
        return End::NotBegun;
    };
    let session = engine.take_up(&run, &mut seen).await.unwrap();
    let (end, session) = to_the_end(session, &mut seen).await.unwrap();
    session.release().await.unwrap();
    end
}

/// Looks at what a failed store left behind, and goes on with it.
async fn look(dir: &Path, seen: &Acknowledged, error: &EngineError, what: &str) -> End {
    let EngineError::Drive(DriveError::Store(failed)) = error else {
        panic!("{what}: {error}");
    };
    assert!(
        matches!(failed, StoreError::Poisoned { .. }),
        "{what}: {failed}"
    );
    assert!(failed.hint().unwrap().contains("resume the run"), "{what}");
    let store = Store::open_read_only(&dir.join(".provost")).unwrap();
    store.verify().unwrap();
    let stored = store.load(&seen.run).unwrap_or_default();
    for (seq, event) in &seen.events {
        let kept = stored.get(usize::try_from(*seq).unwrap() - 1);
        let kept = kept.map(|kept| (kept.kind.clone(), kept.version, kept.payload.clone()));
        assert_eq!(
            kept,
            Some(event.to_stored()),
            "{what}: event {seq} was lost"
        );
    }
    let intended = |what: &str| {
        stored.iter().any(|event| {
            event.kind == "AttemptStarted"
                && event.payload.pointer("/args/what").and_then(Value::as_str) == Some(what)
        })
    };
    for effect in effects(dir).keys() {
        assert!(intended(effect), "{what}: `{effect}` has no intent");
    }
    drop(store);
    resumed(dir, &seen.run).await
}

/// Every N from 1 on, until a run passes; how the runs ended that did not.
fn for_every_n(what: &str, open: impl Fn(&Path, u64) -> Store) -> BTreeMap<&'static str, u64> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    let mut ends = BTreeMap::new();
    for n in 1.. {
        assert!(n < 200, "{what}: no run passes");
        let place = new_workspace();
        let dir = place.path();
        let mut seen = Acknowledged::default();
        let store = open(&dir.join(".provost"), n);
        let name = format!("{what} {n}");
        let first = runtime.block_on(begun(dir, store, &mut seen));
        let end = match &first {
            Ok(end) => {
                assert_eq!(*end, End::Succeeded, "{name}");
                None
            }
            Err(error) => Some(runtime.block_on(look(dir, &seen, error, &name))),
        };
        let happened = effects(dir);
        assert!(
            happened.values().all(|times| *times == 1),
            "{name}: {happened:?}"
        );
        match end {
            None => {
                assert_eq!(happened.len(), 2, "{name}");
                break;
            }
            Some(End::Succeeded) => {
                assert_eq!(happened.len(), 2, "{name}");
                *ends.entry("succeeded").or_default() += 1;
            }
            Some(End::InDoubt) => *ends.entry("in doubt").or_default() += 1,
            Some(End::NotBegun) => {
                assert!(happened.is_empty(), "{name}");
                *ends.entry("not begun").or_default() += 1;
            }
        }
    }
    println!("{what}: {ends:?}");
    ends
}

#[test]
fn the_nth_commit_fails_and_leaves_nothing() {
    let ends = for_every_n("commit refused", |dir, n| {
        let commits = Arc::new(AtomicU64::new(0));
        Store::open_faulty(dir, |connection| {
            let refuse = move || commits.fetch_add(1, Ordering::Relaxed) + 1 == n;
            connection.commit_hook(Some(refuse)).unwrap();
        })
        .unwrap()
    });
    // The outcome of each plain write that could not be kept is a doubt.
    assert!(
        ends.get("in doubt").is_some_and(|count| *count >= 2),
        "{ends:?}"
    );
    assert!(
        ends.get("succeeded").is_some_and(|count| *count > 1),
        "{ends:?}"
    );
    assert_eq!(ends.get("not begun"), Some(&1), "{ends:?}");
}

/// As when the disk says that a sync failed after the bytes were written.
#[test]
fn the_nth_commit_is_kept_and_reported_as_failed() {
    let ends = for_every_n("commit kept, reported as failed", |dir, n| {
        let mut commits = 0;
        Store::open_faulty(dir, |connection| {
            connection
                .wal_hook(Some(move |_: &mut rusqlite::hooks::Wal, _| {
                    commits += 1;
                    if commits == n {
                        return Err(rusqlite::Error::SqliteFailure(
                            rusqlite::ffi::Error::new(rusqlite::ffi::SQLITE_IOERR_FSYNC),
                            None,
                        ));
                    }
                    Ok(())
                }))
                .unwrap();
        })
        .unwrap()
    });
    // Here an intent may be kept whose call never began: nobody can know that, so it is a doubt.
    assert!(
        ends.get("in doubt").is_some_and(|count| *count >= 2),
        "{ends:?}"
    );
    assert!(
        ends.get("succeeded").is_some_and(|count| *count > 1),
        "{ends:?}"
    );
}

#[test]
fn the_disk_is_full_after_n_pages() {
    let pages = {
        let dir = tempfile::tempdir().unwrap();
        drop(Store::open(dir.path()).unwrap());
        let journal = Connection::open(dir.path().join(JOURNAL_FILE)).unwrap();
        journal
            .pragma_query_value(None, "page_count", |row| row.get::<_, u32>(0))
            .unwrap()
    };
    let ends = for_every_n("pages more", |dir, n| {
        let most = pages + u32::try_from(n).unwrap() - 1;
        Store::open_sized(dir, Some(most)).unwrap()
    });
    assert!(ends.values().sum::<u64>() > 10, "{ends:?}");
    assert!(ends.contains_key("in doubt"), "{ends:?}");
}

/// The control: a watcher that was told of an event which is not kept is found out.
#[test]
#[should_panic(expected = "was lost")]
fn an_event_that_is_lost_is_missed() {
    let place = new_workspace();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    let mut seen = Acknowledged::default();
    let store = Store::open(&place.path().join(".provost")).unwrap();
    runtime
        .block_on(begun(place.path(), store, &mut seen))
        .unwrap();
    let (last, event) = seen.events.last_key_value().unwrap();
    let (next, again) = (last + 1, event.clone());
    seen.events.insert(next, again);
    let error = EngineError::Drive(DriveError::Store(StoreError::Poisoned {
        reason: "none".to_owned(),
    }));
    runtime.block_on(look(place.path(), &seen, &error, "control"));
}
