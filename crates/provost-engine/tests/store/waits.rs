//! What runs wait for, as rows: equal to the fold after every event, in old journals too.

use std::path::{Path, PathBuf};

use provost_engine::history;
use provost_engine::store::{Append, NewEvent, Projection, Store, WaitPage};
use provost_run::event::{Event, RunStatus};
use provost_run::state::{FoldError, State, WaitKind, Waiting, waiting};
use serde_json::Value;

/// The recorded journals, each a list of events with their moments.
fn recorded() -> Vec<(String, Vec<(Event, i64)>)> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../corpus/runs");
    let mut all = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path
            .extension()
            .is_none_or(|extension| extension != "jsonl")
        {
            continue;
        }
        let text = std::fs::read_to_string(&path).unwrap();
        let events = text.lines().map(|line| {
            let line: Value = serde_json::from_str(line).unwrap();
            let version = u32::try_from(line["version"].as_u64().unwrap()).unwrap();
            let kind = line["kind"].as_str().unwrap();
            let event = Event::from_stored(kind, version, &line["payload"]).unwrap();
            (event, line["at"].as_i64().unwrap())
        });
        let name = path.file_stem().unwrap().to_string_lossy().into_owned();
        all.push((name, events.collect()));
    }
    all.sort_by(|(one, _), (other, _)| one.cmp(other));
    all
}

fn keep(store: &Store, after: u64, event: &Event, at_ms: i64, state: &State) {
    let (kind, version, payload) = event.to_stored();
    let append = Append {
        run: state.head.run.clone(),
        expect_seq: after,
        events: vec![NewEvent {
            kind: kind.into(),
            version,
            at_ms,
            payload: payload.into(),
        }],
        evidence: Vec::new(),
        admission: Vec::new(),
        notices: Vec::new(),
        row: Projection {
            status: state.status().word().to_owned(),
            goal: state.goals.goal.text.clone(),
            summary: "{}".to_owned(),
            due_ms: None,
            waits: waiting(state),
            facts: None,
        },
        durable: false,
        only_of_goal: false,
    };
    store.append(append).wait().unwrap();
}

/// What the rows say of a run.
fn rows(store: &Store, run: &str) -> Option<Vec<Waiting>> {
    store.waits().unwrap().remove(run).flatten()
}

/// A journal, and the run in it after one of its events.
struct Kept<'k> {
    dir: &'k Path,
    store: &'k Store,
    state: &'k State,
    /// Whether this was its last event.
    is_last: bool,
    /// Which journal and which event.
    place: String,
}

/// Each recorded journal, event by event.
fn after_each_event(mut look: impl FnMut(&Kept<'_>)) {
    for (name, events) in recorded() {
        let dir = tempfile::tempdir().unwrap();
        let store = Store::open(dir.path()).unwrap();
        for length in 1..=events.len() {
            let pairs = events.iter().take(length).map(|(event, at)| (event, *at));
            let (state, seq) = State::fold(pairs, |_, _, _| Ok::<(), FoldError>(())).unwrap();
            let (event, at) = &events[length - 1];
            keep(&store, seq - 1, event, *at, &state);
            look(&Kept {
                dir: dir.path(),
                store: &store,
                state: &state,
                is_last: length == events.len(),
                place: format!("{name} after event {seq}"),
            });
        }
    }
}

#[test]
fn the_rows_are_equal_to_the_fold_after_every_event_of_every_recorded_journal() {
    let mut waited = 0;
    after_each_event(|kept| {
        let is_open = kept.state.ending.ended.is_none();
        let expected = is_open.then(|| waiting(kept.state));
        let found = rows(kept.store, &kept.state.head.run);
        assert_eq!(found, expected, "{}", kept.place);
        let place = &kept.place;
        assert!(
            !kept.is_last || count(kept.dir, "waits") == 0,
            "{place}: a run that is over left rows"
        );
        waited += waiting(kept.state).len();
    });
    assert!(waited > 20, "the journals wait for nobody: {waited}");
}

fn count(dir: &Path, table: &str) -> i64 {
    let journal = rusqlite::Connection::open(dir.join("journal.db")).unwrap();
    let query = format!("SELECT count(*) FROM {table}");
    journal.query_row(&query, [], |row| row.get(0)).unwrap()
}

/// Whoever follows a journal is told of a step what the fold says of it.
#[test]
fn an_event_says_of_its_step_what_the_fold_says_after_it() {
    let (mut told, mut about) = (std::collections::BTreeSet::new(), 0);
    after_each_event(|kept| {
        let newest = kept.store.newest_event().unwrap().unwrap().n;
        let rows = kept.store.events_after(newest - 1, 1).unwrap();
        let [row] = &rows[..] else {
            panic!("{}: {rows:?}", kept.place);
        };
        let Some(change) = &row.step else { return };
        about += 1;
        let step = &kept.state.steps[&change.slot.step];
        let Some(status) = change.status else { return };
        told.insert(status);
        let now = match change.slot.item {
            // Why: an item has no status of its own but the word that its step's view has.
            Some(_) => return,
            None => step.status,
        };
        assert_eq!(status, now, "{} {}", kept.place, row.kind);
    });
    assert!(about > 50 && told.len() > 5, "{about}: {told:?}");
}

/// The control is the same run with its rows: nothing of its events is read then.
#[test]
fn a_run_that_an_older_version_wrote_waits_for_what_its_events_say() {
    after_each_event(|kept| {
        if kept.state.ending.ended.is_some() {
            return;
        }
        let (run, place) = (&kept.state.head.run, &kept.place);
        let journal = rusqlite::Connection::open(kept.dir.join("journal.db")).unwrap();
        journal
            .execute_batch("DELETE FROM waits; UPDATE runs SET waits = NULL")
            .unwrap();
        assert_eq!(rows(kept.store, run), None, "{place}");
        let read = history::waits(kept.store).unwrap().remove(run).unwrap();
        assert_eq!(read, waiting(kept.state), "{place}");
    });
}

/// Page by page and in one count, by rows and by events: the same list.
#[test]
fn pages_and_counts_are_equal_to_the_list() {
    let (mut waited, mut stopped) = (0, 0);
    after_each_event(
        |Kept {
             dir,
             store,
             state,
             place,
             ..
         }| {
            let mut expected = waiting(state);
            let lacks = expected.iter().any(|one| one.kind == WaitKind::Secret);
            if state.ending.ended.is_some() || (state.status() == RunStatus::Paused && !lacks) {
                stopped += usize::from(!expected.is_empty());
                expected.clear();
            }
            waited += expected.len();
            same(store, &expected, place);
            let journal = rusqlite::Connection::open(dir.join("journal.db")).unwrap();
            let (kept, rows): (Option<Vec<u8>>, i64) = journal
                .query_row(
                    "SELECT waits, (SELECT count(*) FROM waits) FROM runs",
                    [],
                    |row| Ok((row.get(0)?, row.get(1)?)),
                )
                .unwrap();
            assert_eq!(kept.is_some_and(|kept| !kept.is_empty()), rows > 0);
            // As an older version left it. The control is that the rows are gone by then.
            journal
                .execute_batch("UPDATE runs SET waits = NULL")
                .unwrap();
            same(store, &expected, &format!("{place}, by events"));
            assert_eq!(store.waits_page(&all(9)).unwrap(), []);
        },
    );
    assert!(waited > 20, "the journals wait for nobody: {waited}");
    println!("{waited} waits, {stopped} of runs that were stopped");
}

fn all(limit: u32) -> WaitPage {
    WaitPage {
        limit,
        ..WaitPage::default()
    }
}

fn same(store: &Store, expected: &[Waiting], of: &str) {
    let mut read = Vec::new();
    let mut after = None;
    while let [one, ..] = &history::waits_page(store, &WaitPage { after, ..all(1) }).unwrap()[..] {
        after = Some(one.place);
        read.push(one.wait.clone());
    }
    assert_eq!(read, expected, "{of}");
    let counts = history::wait_counts(store, None).unwrap();
    let doubts = expected
        .iter()
        .filter(|one| one.kind == WaitKind::Settlement);
    let (all_of, doubts) = (expected.len() as u64, doubts.count() as u64);
    assert_eq!((counts.all, counts.in_doubt), (all_of, doubts), "{of}");
    let oldest = expected.iter().map(|one| one.asked_at).min();
    assert_eq!(counts.oldest_ms, oldest, "{of}");
    for kind in [
        WaitKind::Approval,
        WaitKind::Answer,
        WaitKind::Settlement,
        WaitKind::Secret,
    ] {
        let page = WaitPage {
            kind: Some(kind),
            ..all(100)
        };
        let found = history::waits_page(store, &page).unwrap();
        let of_kind = expected.iter().filter(|one| one.kind == kind).count();
        assert_eq!(found.len(), of_kind, "{of}: {}", kind.word());
    }
}
