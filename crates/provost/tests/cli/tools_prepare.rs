use std::time::{Duration, Instant};

use insta::assert_snapshot;

use super::workplace::Workplace;

const WRITES: &str = r#"
[tools.log]
kind = "sql"
database = "data/shop.db"
[tools.log.ops.keyed]
execute = "insert into orders values (:customer)"
input = "schemas/customer.json"
idempotency = { key = "table" }
[tools.log.ops.plain]
execute = "insert into orders values (:customer)"
input = "schemas/customer.json"
"#;

fn place() -> Workplace {
    let place = Workplace::new();
    let config = std::fs::read_to_string(place.path("provost.toml")).unwrap();
    place.write("provost.toml", config + WRITES);
    place.run(&["tools", "lock"]).exits(0);
    place
}

fn orders(place: &Workplace, customer: &str) -> i64 {
    let database = rusqlite::Connection::open(place.path("data/shop.db")).unwrap();
    let sql = "select count(*) from orders where customer = ?1";
    database
        .query_row(sql, [customer], |row| row.get(0))
        .unwrap()
}

#[test]
fn a_database_is_prepared_by_a_person() {
    let place = place();
    // No run begins before.
    let call = ["tools", "call", "log.keyed", "customer=eve"];
    assert_snapshot!(place.run(&call), @"
    exit 2
    --- stderr
    error: the database of the tool `log` has no table `provost_effects` for keys

    hint: `provost tools prepare log` makes it
    ");
    assert_eq!(
        place.json(&["runs", "--json"])["runs"],
        serde_json::json!([])
    );
    assert_snapshot!(place.run(&["tools", "prepare", "log", "--print"]), @"
    exit 0
    --- stdout
    CREATE TABLE IF NOT EXISTS provost_effects (
      key TEXT NOT NULL PRIMARY KEY,
      operation TEXT NOT NULL,
      args TEXT NOT NULL,
      result TEXT NOT NULL,
      at TEXT NOT NULL
    );
    ");
    assert_snapshot!(place.run(&["tools", "prepare", "log"]), @"
    exit 2
    --- stderr
    to run in the database of `log`:

    CREATE TABLE IF NOT EXISTS provost_effects (
      key TEXT NOT NULL PRIMARY KEY,
      operation TEXT NOT NULL,
      args TEXT NOT NULL,
      result TEXT NOT NULL,
      at TEXT NOT NULL
    );

    error: there is no terminal to ask at

    hint: `--yes` runs it, `--print` only prints it
    ");
    place.run(&call).exits(2);
    assert_snapshot!(place.run(&["tools", "prepare", "log", "--yes"]), @"
    exit 0
    --- stderr
    to run in the database of `log`:

    CREATE TABLE IF NOT EXISTS provost_effects (
      key TEXT NOT NULL PRIMARY KEY,
      operation TEXT NOT NULL,
      args TEXT NOT NULL,
      result TEXT NOT NULL,
      at TEXT NOT NULL
    );

    the database of `log` is prepared
    ");
    assert_snapshot!(place.run(&["tools", "prepare", "log", "--yes"]), @"
    exit 0
    --- stderr
    the database of `log` has its table already
    ");
    place.run(&call).exits(0);
    assert_eq!(orders(&place, "eve"), 1);
    assert_snapshot!(place.run(&["tools", "prepare", "shop"]), @r#"
    exit 2
    --- stderr
    error: `shop` has nothing to prepare

    hint: only a database needs a table, for an `execute` with `idempotency = { key = "table" }`
    "#);
    assert_snapshot!(place.run(&["tools", "prepare", "logs"]), @"
    exit 2
    --- stderr
    error: there is no tool `logs` in provost.toml

    hint: did you mean `log`?
    ");
}

/// Waits until something holds.
fn until(what: &str, holds: impl Fn() -> bool) {
    let start = Instant::now();
    while !holds() {
        assert!(start.elapsed() < Duration::from_secs(20), "{what}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

fn attempts(place: &Workplace) -> i64 {
    let journal = rusqlite::Connection::open(place.path(".provost/journal.db"));
    let sql = "select count(*) from events where kind = 'AttemptStarted'";
    journal
        .and_then(|journal| journal.query_row(sql, [], |row| row.get(0)))
        .unwrap_or(0)
}

/// Calls `operation` and kills the process when the write is committed and its outcome is not yet
/// in the journal; what `resume` exits with, and how often the write stands in the database.
fn killed_after_the_commit(operation: &str) -> (Option<i32>, i64) {
    let place = place();
    place.run(&["tools", "prepare", "log", "--yes"]).exits(0);
    let data = rusqlite::Connection::open(place.path("data/shop.db")).unwrap();
    data.execute_batch("begin immediate").unwrap();
    let mut child = place.spawn(&["tools", "call", operation, "customer=eve"]);
    until("the attempt begins", || attempts(&place) == 1);
    let journal = rusqlite::Connection::open(place.path(".provost/journal.db")).unwrap();
    journal.execute_batch("begin immediate").unwrap();
    data.execute_batch("rollback").unwrap();
    until("the write is committed", || orders(&place, "eve") == 1);
    child.kill().unwrap();
    child.wait().unwrap();
    journal.execute_batch("rollback").unwrap();
    let runs = place.json(&["runs", "--json"]);
    let run = runs["runs"][0]["id"].as_str().unwrap();
    let code = place.run(&["resume", run]).code;
    (code, orders(&place, "eve"))
}

#[test]
fn a_write_with_its_key_beside_it_is_repeated_and_lands_once() {
    assert_eq!(killed_after_the_commit("log.keyed"), (Some(0), 1));
    // The control: without the key nobody knows, and nothing is repeated.
    assert_eq!(killed_after_the_commit("log.plain"), (Some(4), 1));
}
