//! What people did to the workspace, and the tables that follow from it: a row that somebody took
//! away, changed or made up is named by both verifiers and lets no call begin.

use provost_engine::store::{Evidence, StopScope, Stopped, Store, StoreError};
use provost_plan::money::Money;
use provost_run::admission::{AdmissionEntry, Begin, Budget, Denial, Period};
use rusqlite::Connection;
use serde_json::json;

use super::admitting::{Writes, begin, begins, change};
use super::{append, durable, second};

fn stopped(scope: StopScope, name: &str) -> Stopped {
    Stopped {
        scope,
        name: name.to_owned(),
        by: "ada".to_owned(),
        reason: "it is being moved".to_owned(),
        at_ms: 1_000,
    }
}

/// Appends the end of a run whose last event is `after`.
fn end(store: &Store, run: &str, after: u64) {
    let mut last = durable(append(run, after, 1));
    last.events[0].kind = "RunEnded".into();
    last.events[0].payload = json!({ "status": "succeeded" }).into();
    last.row.status = "succeeded".to_owned();
    store.append(last).wait().unwrap();
}

/// A run that is over with one piece of evidence pruned and one there, and a tool that is stopped.
fn stored(dir: &tempfile::TempDir) {
    let store = Store::open(dir.path()).unwrap();
    for (run, text) in [("old", "one"), ("new", "two")] {
        let piece = Evidence::new("text/plain", text.as_bytes().to_vec());
        let mut first = append(run, 0, 1);
        first.events[0].kind = "ObservationMade".into();
        first.events[0].payload = json!({ "evidence": piece.digest() }).into();
        first.evidence.push(piece);
        store.append(first).wait().unwrap();
        end(&store, run, 1);
        if run == "old" {
            assert_eq!(store.prune(i64::MAX, 5_000).unwrap().pieces, 1);
        }
    }
    for stop in [
        stopped(StopScope::Tool, "mail"),
        stopped(StopScope::All, ""),
    ] {
        store.stop(&stop).wait().unwrap();
    }
    store.unstop(StopScope::All, "", "bo").wait().unwrap();
}

/// What happens to the first call of a process.
#[derive(Clone, Copy, Debug, PartialEq)]
enum First {
    /// The stop holds it back.
    Stopped,
    /// The journal is refused.
    Refused,
}
use First::{Refused, Stopped as Held};

const MADE_UP: &str = "INSERT INTO pruned SELECT digest, media, 3, 1 FROM evidence;
    DELETE FROM evidence";

#[test]
fn a_row_beside_the_log_that_somebody_changed_is_named_and_begins_no_call() {
    let cases = [
        ("", "", Held),
        (
            "DELETE FROM stops",
            "stops (the stop of tool `mail` is missing",
            Held,
        ),
        (
            "UPDATE stops SET name = 'post'",
            "stops (the stop of tool `mail` is missing",
            Held,
        ),
        (
            "UPDATE stops SET by = 'eve'",
            "stops (the stop of tool `mail` stands otherwise",
            Held,
        ),
        (
            "PRAGMA user_version = 5; DELETE FROM stops",
            "stops (the stop",
            Held,
        ),
        ("DELETE FROM pruned", "sha256:", Held),
        ("UPDATE pruned SET size = 4", "stands otherwise there", Held),
        (MADE_UP, "was made up", Refused),
        (
            "DELETE FROM stops; DELETE FROM events WHERE run = 0",
            "commit",
            Refused,
        ),
        (
            "DELETE FROM stops; DELETE FROM events WHERE run = 0;
             DELETE FROM meta WHERE key = 'log'; PRAGMA user_version = 5",
            "commit",
            Refused,
        ),
        (
            "DELETE FROM stops; DELETE FROM events WHERE run = 0 AND seq = 2",
            "commit",
            Refused,
        ),
        (
            "DELETE FROM stops;
             UPDATE events SET payload = replace(payload, 'mail', 'post') WHERE run = 0",
            "is broken at event 2",
            Refused,
        ),
        (
            "UPDATE meta SET value = '1 x' WHERE key = 'log'",
            "ends the log",
            Refused,
        ),
        (
            "DELETE FROM meta WHERE key = 'log'",
            "ends the log",
            Refused,
        ),
    ];
    for (sql, word, first) in cases {
        let dir = tempfile::tempdir().unwrap();
        stored(&dir);
        change(&dir, sql);
        let read = Store::open_read_only(dir.path()).unwrap();
        let looked = read.verify();
        assert_eq!(looked.is_err(), !sql.is_empty(), "{sql}: {looked:?}");
        if let Err(error) = looked {
            assert!(error.to_string().contains(word), "{sql}: {error}");
        }
        let second = second(dir.path());
        assert_eq!(second.status.success(), sql.is_empty(), "{sql}: {second:?}");
        drop(read);
        let store = Store::open(dir.path()).unwrap();
        let mut one = Writes::new(&store, "one");
        let call = vec![begins(begin("a"))];
        let mut append = durable(append("one", 1, 1));
        append.admission = call;
        match (first, store.append(append).wait().unwrap_err()) {
            (Held, StoreError::NotAdmitted { denials, .. }) => {
                let denial = &denials[0].1;
                assert!(matches!(denial, Denial::Stopped(_)), "{sql}: {denial:?}");
                // What was made of the stop binds as well, until it is lifted.
                store.unstop(StopScope::Tool, "post", "ada").wait().unwrap();
                let verified = store.verify().unwrap();
                assert_eq!(verified.restored.is_empty(), sql.is_empty(), "{sql}");
                store.unstop(StopScope::Tool, "mail", "ada").wait().unwrap();
                one.enter(vec![begins(begin("a"))]).unwrap();
            }
            (Refused, StoreError::NotAdmitted { denials, .. }) => panic!("{sql}: {denials:?}"),
            (Refused, error) => assert!(error.to_string().contains(word), "{sql}: {error}"),
            (Held, error) => panic!("{sql}: {error}"),
        }
    }
}

/// It holds back all the same, and a person lifts it.
#[test]
fn a_stop_that_somebody_made_up_is_named_and_binds_until_it_is_lifted() {
    let dir = tempfile::tempdir().unwrap();
    drop(Store::open(dir.path()).unwrap());
    change(&dir, "INSERT INTO stops VALUES ('all', '', 'eve', 'no', 1)");
    let store = Store::open(dir.path()).unwrap();
    let mut one = Writes::new(&store, "one");
    let denials = one.enter(vec![begins(begin("a"))]).unwrap_err();
    assert!(matches!(denials[0].1, Denial::Stopped(_)));
    let error = store.verify().unwrap_err().to_string();
    assert!(
        error.contains("the stop of every run was made up"),
        "{error}"
    );
    assert!(!second(dir.path()).status.success());
    store.unstop(StopScope::All, "", "ada").wait().unwrap();
    one.enter(vec![begins(begin("a"))]).unwrap();
    store.verify().unwrap();
    assert!(second(dir.path()).status.success());
}

#[test]
fn what_an_older_journal_had_stopped_and_pruned_is_carried_into_the_log_once() {
    let dir = tempfile::tempdir().unwrap();
    drop(Store::open(dir.path()).unwrap());
    let older = "PRAGMA user_version = 5;
        INSERT INTO stops VALUES ('tool', 'mail', 'ada', 'it is being moved', 1000);
        INSERT INTO stops VALUES ('run', 'one', 'ada', 'it is being moved', 1000);
        INSERT INTO pruned VALUES (zeroblob(32), 'text/plain', 3, 7)";
    change(&dir, older);
    let read = Store::open_read_only(dir.path()).unwrap();
    let believed = &read.verify().unwrap().not_checked[0];
    assert!(believed.contains("of an older format"), "{believed}");
    assert!(second(dir.path()).status.success());
    drop(read);
    let store = Store::open(dir.path()).unwrap();
    assert_eq!(store.stops().unwrap(), [stopped(StopScope::Tool, "mail")]);
    let verified = store.verify().unwrap();
    assert_eq!(
        (verified.events, verified.commits, verified.runs),
        (2, 1, 0)
    );
    assert!(!verified.not_checked[0].contains("older"));
    assert!(second(dir.path()).status.success());
    drop(store);
    // A number that somebody turns back makes nothing true that stands there then.
    change(&dir, "PRAGMA user_version = 5; DELETE FROM stops");
    let store = Store::open(dir.path()).unwrap();
    assert!(store.verify().is_err());
    assert!(!second(dir.path()).status.success());
    let events: i64 = Connection::open(dir.path().join("journal.db"))
        .unwrap()
        .query_row("SELECT count(*) FROM events", [], |row| row.get(0))
        .unwrap();
    assert_eq!(events, 2);
}

/// A call that may cost so much, where a day has 1 to spend.
fn dear(money: &str) -> AdmissionEntry {
    let budget = Budget {
        money: Some(Money::parse("1").unwrap()),
        tokens: None,
        per: Period::Day,
    };
    begins(Begin {
        sinks: None,
        money: Money::parse(money).unwrap(),
        budget: Some((budget, "1970-01-01".to_owned())),
        ..begin("a")
    })
}

#[test]
fn a_budget_that_somebody_lowered_is_named_and_bounds_all_the_same() {
    for (sql, is_tampered) in [
        ("", false),
        ("DELETE FROM budgets", true),
        (
            "UPDATE budgets SET money = 0 WHERE period = '1970-01-01'",
            true,
        ),
        (
            "UPDATE budgets SET period = '1970-01-02' WHERE period = '1970-01-01'",
            true,
        ),
        ("UPDATE budgets SET tokens = 5 WHERE period = ''", true),
    ] {
        let dir = tempfile::tempdir().unwrap();
        let store = Store::open(dir.path()).unwrap();
        Writes::new(&store, "one").enter(vec![dear("0.7")]).unwrap();
        drop(store);
        change(&dir, sql);
        let store = Store::open(dir.path()).unwrap();
        let looked = store.verify();
        assert_eq!(looked.is_err(), is_tampered, "{sql}: {looked:?}");
        if let Err(error) = looked {
            assert!(error.to_string().contains("budgets ("), "{sql}: {error}");
        }
        let second_holds = second(dir.path()).status.success();
        assert_eq!(second_holds, !is_tampered, "{sql}");
        let mut two = Writes::new(&store, "two");
        let denials = two.enter(vec![dear("0.4")]).unwrap_err();
        assert!(matches!(denials[0].1, Denial::Budget { .. }), "{sql}");
        two.enter(vec![dear("0.3")]).unwrap();
        assert_eq!(
            store.verify().unwrap().restored.is_empty(),
            !is_tampered,
            "{sql}"
        );
        assert!(second(dir.path()).status.success(), "{sql}");
    }
}

/// What no budget bounded when it was spent counts for one that is set later.
#[test]
fn an_older_journal_counts_what_its_events_tell() {
    let dir = tempfile::tempdir().unwrap();
    let store = Store::open(dir.path()).unwrap();
    Writes::new(&store, "one").enter(vec![dear("0.7")]).unwrap();
    drop(store);
    change(&dir, "DELETE FROM budgets; PRAGMA user_version = 6");
    let read = Store::open_read_only(dir.path()).unwrap();
    let verified = read.verify().unwrap();
    assert!(verified.not_checked[0].contains("budget"), "{verified:?}");
    drop(read);
    let store = Store::open(dir.path()).unwrap();
    for period in ["1970-01-01", "1970-01", ""] {
        let (money, _) = store.spent(period).unwrap();
        assert_eq!(money, Money::parse("0.7").unwrap(), "{period}");
    }
    store.verify().unwrap();
}
