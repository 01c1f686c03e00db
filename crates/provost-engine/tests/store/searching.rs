//! Pages of runs by goal and moment: the copy in memory finds what the journal has, whatever was
//! committed in between.

use std::collections::BTreeSet;

use provost_engine::store::{RunIndex, RunPage, Store};
use provost_plan::policy::{Principal, PrincipalKind};
use serde_json::json;

/// Begins a run with this goal, or goes on with it; `kind` tells of a goal that is another.
fn keep(store: &Store, run: &str, seq: u64, (kind, goal): (&str, &str)) {
    let mut append = super::append(run, seq, 1);
    let number: i64 = run
        .trim_start_matches(|c: char| !c.is_ascii_digit())
        .parse()
        .unwrap_or(3);
    append.events[0].kind = kind.to_owned().into();
    // Why in no order: a clock may have been put back.
    append.events[0].at_ms = 1_000 + number * 7 % 20;
    let who = if number % 4 == 1 { "agent" } else { "user" };
    append.events[0].payload = json!({ "principal": { "kind": who, "id": "ada" } }).into();
    goal.clone_into(&mut append.row.goal);
    append.row.status = if run.ends_with('0') {
        "failed"
    } else {
        "succeeded"
    }
    .to_owned();
    store.append(append).wait().unwrap();
}

fn ids(rows: Vec<(i64, provost_engine::store::RunRow)>) -> Vec<String> {
    rows.into_iter().map(|(_, row)| row.id).collect()
}

/// Every page that is asked for by the copy, beside the same by the journal alone.
fn compare(index: &RunIndex, store: &Store, place: &str) -> usize {
    let mut found = 0;
    let moments = store
        .runs_page(&RunPage {
            limit: 99,
            ..RunPage::default()
        })
        .unwrap();
    let mut moments: Vec<i64> = moments.iter().map(|(_, row)| row.created_at_ms).collect();
    moments.extend([0, i64::MAX]);
    moments.sort_unstable();
    moments.dedup();
    let moments: Vec<i64> = moments.into_iter().step_by(4).collect();
    let goals = [
        None,
        Some("ORDER"),
        Some("orders of"),
        Some("nowhere"),
        Some("é"),
        Some(""),
        Some("s"),
    ];
    let statuses = [&[][..], &["failed"], &["succeeded", "failed"], &["paused"]];
    let principal = |kind| Principal {
        kind,
        id: "ada".to_owned(),
        groups: BTreeSet::new(),
    };
    let [person, agent] = [PrincipalKind::User, PrincipalKind::Agent].map(principal);
    let both = vec![person.clone(), agent.clone()];
    let whose = [
        None,
        Some(vec![person]),
        Some(vec![agent]),
        Some(both),
        Some(Vec::new()),
    ];
    for (goal, principals) in goals
        .iter()
        .flat_map(|goal| whose.iter().map(move |of| (goal, of)))
    {
        for status in statuses {
            for limit in [2, 50] {
                for (at, moment) in moments.iter().enumerate() {
                    let page = RunPage {
                        goal: goal.map(str::to_owned),
                        statuses: status.iter().map(|word| (*word).to_owned()).collect(),
                        since_ms: (at % 2 == 0).then_some(*moment),
                        until_ms: (at % 3 == 0).then_some(moment.saturating_add(1)),
                        before: (at % 5 == 0).then_some(7),
                        limit,
                        principals: principals.clone(),
                        ..RunPage::default()
                    };
                    let expected = ids(store.runs_page(&page).unwrap());
                    let page_by_copy = ids(index.page(store, &page).unwrap());
                    assert_eq!(page_by_copy, expected, "{place}: {page:?}");
                    found += expected.len();
                }
            }
        }
    }
    found
}

#[test]
fn the_copy_finds_what_the_journal_has() {
    let dir = tempfile::tempdir().unwrap();
    let (store, index) = (Store::open(dir.path()).unwrap(), RunIndex::default());
    compare(&index, &store, "an empty journal");
    let goals = [
        "Count the Orders of ada",
        "",
        "orders of Éva",
        "s",
        "Refund é",
        "ORDERS",
    ];
    for at in 0..24 {
        keep(
            &store,
            &format!("run{at}"),
            0,
            ("Noted", goals[at % goals.len()]),
        );
        if at % 5 == 0 {
            compare(&index, &store, &format!("after run {at}"));
        }
    }
    assert!(compare(&index, &store, "all runs") > 500);
    // A goal that is another, of the first run, of one amid others and of the last.
    for (run, goal) in [
        ("run0", "nowhere at all"),
        ("run11", ""),
        ("run23", "orders of nobody"),
    ] {
        keep(&store, run, 1, ("GoalAmended", goal));
        compare(&index, &store, &format!("{run} amended"));
        keep(&store, run, 2, ("Noted", goal));
    }
    compare(&index, &store, "all amended");
    // Another process reads the same, and one that writes is heard of.
    let other = Store::open_read_only(dir.path()).unwrap();
    keep(&store, "later", 0, ("Noted", "nowhere again"));
    compare(&index, &other, "another connection");
    // The control: of a goal that no event tells of, the copy knows nothing, so it is the copy that
    // was asked.
    drop((store, other));
    let file = rusqlite::Connection::open(dir.path().join("journal.db")).unwrap();
    file.execute_batch("UPDATE runs SET goal = 'unheard of' WHERE id = 'run3'")
        .unwrap();
    let store = Store::open(dir.path()).unwrap();
    let unheard = RunPage {
        goal: Some("unheard".to_owned()),
        limit: 9,
        ..RunPage::default()
    };
    assert_eq!(ids(store.runs_page(&unheard).unwrap()), ["run3"]);
    assert_eq!(ids(index.page(&store, &unheard).unwrap()), [""; 0]);
    assert_eq!(
        ids(RunIndex::default().page(&store, &unheard).unwrap()),
        ["run3"]
    );
}

/// A journal that was put back has other runs under the same numbers.
#[test]
fn the_copy_of_another_journal_is_made_anew() {
    let index = RunIndex::default();
    for goals in [["one orders", "two"], ["two", "one orders"], ["", "orders"]] {
        let dir = tempfile::tempdir().unwrap();
        let store = Store::open(dir.path()).unwrap();
        for (at, goal) in goals.iter().enumerate() {
            keep(
                &store,
                &format!("{goal}{at}").replace(' ', "-"),
                0,
                ("Noted", goal),
            );
        }
        compare(&index, &store, &format!("{goals:?}"));
    }
}
