//! What runs began with: found by columns, held against their first events.

use std::collections::BTreeSet;
use std::path::Path;

use provost_engine::store::{RunPage, Store};
use provost_plan::policy::{Principal, PrincipalKind};
use rusqlite::Connection;
use serde_json::json;

/// A store with a run for ada by a playbook, and one for bo by a model.
fn two_runs() -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    let store = Store::open(dir.path()).unwrap();
    let planners = [
        (
            "one",
            "ada",
            json!({ "kind": "playbook", "name": "refund" }),
        ),
        ("two", "bo", json!({ "kind": "model", "name": "refund" })),
    ];
    for (run, who, planner) in planners {
        let mut first = super::append(run, 0, 1);
        let principal = json!({ "kind": "user", "id": who });
        first.events[0].payload = json!({ "principal": principal, "planner": planner }).into();
        store.append(first).wait().unwrap();
    }
    drop(store);
    dir
}

fn change(dir: &Path, sql: &str) {
    let file = Connection::open(dir.join("journal.db")).unwrap();
    file.execute_batch(sql).unwrap();
}

fn page() -> RunPage {
    RunPage {
        limit: 9,
        ..RunPage::default()
    }
}

fn by(who: &str) -> RunPage {
    let principal = Principal {
        kind: PrincipalKind::User,
        id: who.to_owned(),
        groups: BTreeSet::new(),
    };
    RunPage {
        principals: Some(vec![principal]),
        ..page()
    }
}

/// The runs on pages by person, by kind of planner and by playbook, and whom runs act for.
fn found(store: &Store) -> String {
    let planned = |kind: &str| RunPage {
        planner: Some(kind.to_owned()),
        ..page()
    };
    let playbook = RunPage {
        playbook: Some("refund".to_owned()),
        ..page()
    };
    let pages = [by("ada"), by("bo"), by("eve"), planned("model"), playbook];
    let runs = pages.map(|page| {
        let rows = store.runs_page(&page).unwrap();
        let ids: Vec<String> = rows.into_iter().map(|(_, row)| row.id).collect();
        ids.join(" ")
    });
    format!("{runs:?} {:?}", store.requesters().unwrap())
}

const AS_IT_IS: &str = r#"["one", "two", "", "two", "one"] ["ada", "bo"]"#;

#[test]
fn a_journal_of_an_older_format_has_the_same_pages() {
    let dir = two_runs();
    change(
        dir.path(),
        "DROP INDEX runs_by_requester; DROP INDEX runs_by_planner; DROP INDEX runs_by_playbook; \
         ALTER TABLE runs DROP COLUMN requester; ALTER TABLE runs DROP COLUMN planner; \
         ALTER TABLE runs DROP COLUMN playbook; PRAGMA user_version = 13",
    );
    let read = Store::open_read_only(dir.path()).unwrap();
    assert_eq!(found(&read), AS_IT_IS);
    read.verify().unwrap();
    drop(read);
    let store = Store::open(dir.path()).unwrap();
    assert_eq!(found(&store), AS_IT_IS);
    store.verify().unwrap();
}

/// Who changes a column makes nobody see a run that is not theirs. The control is the first line.
#[test]
fn what_a_run_began_with_is_held_against_its_first_event() {
    let hidden = r#"["", "two", "", "two", "one"] ["bo", "eve"]"#;
    let changes = [
        ("SELECT 1", false, AS_IT_IS),
        (
            "UPDATE runs SET requester = 'eve' WHERE id = 'one'",
            true,
            hidden,
        ),
        (
            "UPDATE runs SET planner = 'model'",
            true,
            r#"["one", "two", "", "two", "one"] ["ada", "bo"]"#,
        ),
        (
            "UPDATE runs SET playbook = 'refund'",
            true,
            r#"["one", "two", "", "two", "one"] ["ada", "bo"]"#,
        ),
        (
            "UPDATE runs SET requester = NULL",
            true,
            r#"["", "", "", "two", "one"] []"#,
        ),
    ];
    for (sql, tampered, pages) in changes {
        let dir = two_runs();
        change(dir.path(), sql);
        let store = Store::open(dir.path()).unwrap();
        assert_eq!(found(&store), pages, "{sql}");
        let verified = store.verify().map_err(|error| error.to_string());
        assert_eq!(verified.is_err(), tampered, "{sql}: {verified:?}");
        drop(store);
        let second = super::second(dir.path());
        let said = String::from_utf8_lossy(&second.stderr).into_owned();
        assert_eq!(!second.status.success(), tampered, "{sql}: {said}");
        if tampered {
            assert!(verified.unwrap_err().contains("began with"), "{sql}");
            assert!(said.contains("began with"), "{sql}: {said}");
        }
    }
}
