//! SQLite: real files, named queries, ad-hoc reads, writes, and what goes wrong.

use std::time::{Duration, Instant};

use super::*;

const DATA: &str = "
    create table t (id integer primary key, name text, ms real);
    insert into t values (1, 'a', 1.5), (2, 'b', 20.0), (3, null, null);
    create table odd (big integer, bytes blob, bad text);
    insert into odd values (9007199254740993, x'00ff', cast(x'ff' as text));
    create table seen (name text unique not null);
";

const TOOL: &str = r#"
[tools.db]
kind = "sql"
database = "data/m.db"

[tools.db.ops.all]
query = "select id, name, ms from t order by id"
row.type = "object"
row.properties.id = { type = "integer" }
row.properties.name = { type = ["string", "null"] }
row.properties.ms = { type = ["number", "null"] }
row.required = ["id"]

[tools.db.ops.by_name]
query = "select id from t where name = :name or :other"
single = true
input.type = "object"
input.properties = { name = { type = "string" }, other = { type = "boolean" } }
input.required = ["name"]
input.additionalProperties = false

[tools.db.ops.total]
query = "select count(*) as total from t where id in (select value from json_each(:ids))"
one = true
input = { type = "object", properties = { ids = { type = "array" } } }

[tools.db.ops.none]
query = "select id from t where 0"
one = true

[tools.db.ops.wrong]
query = "select nosuch from t"

[tools.db.ops.typed]
query = "select name from t"
row = { type = "object", properties = { name = { type = "string" } } }

[tools.db.ops.note]
execute = "insert into seen values (:name)"
input = { type = "object", properties = { name = { type = ["string", "null"] } } }

[tools.db.ops.ask]
adhoc = true
timeout = "300ms"
max_rows = 10
max_bytes = 5000
"#;

fn bench() -> Bench {
    let workspace = Workspace::new();
    workspace.database("data/m.db", DATA);
    workspace.open(TOOL)
}

#[tokio::test]
async fn rows_come_out_typed() {
    let bench = bench();
    assert_eq!(
        bench.output("db.all", json!({})).await,
        json!({"row_count": 3, "rows": [
            {"id": 1, "name": "a", "ms": 1.5},
            {"id": 2, "name": "b", "ms": 20},
            {"id": 3, "name": null, "ms": null},
        ]})
    );
    let found = bench.output("db.by_name", json!({"name": "b"})).await;
    assert_eq!(found, json!({"found": true, "row": {"id": 2}}));
    let absent = bench.output("db.by_name", json!({"name": "x"})).await;
    assert_eq!(absent, json!({"found": false, "row": null}));
    let total = bench.output("db.total", json!({"ids": [1, 3, 9]})).await;
    assert_eq!(total, json!({"total": 2}));
}

#[tokio::test]
async fn arguments_are_bound_never_pasted() {
    let bench = bench();
    let quoted = bench
        .output("db.by_name", json!({"name": "' or 1=1 --"}))
        .await;
    assert_eq!(quoted["found"], false);
    let reply = bench.call("db.by_name", json!({"name": 1})).await;
    assert_eq!(said(&reply).0, "invalid_arguments none");
    let reply = bench.call("db.by_name", json!({"nam": "b"})).await;
    assert_eq!(said(&reply).0, "invalid_arguments none");
}

const FAILURES: &str = r#"
db.by_name {"name": "a", "other": true}
    output_invalid happened: more than one
db.none {}
    not_found happened: no row
db.wrong {}
    misdeclared none: no such column: nosuch
db.typed {}
    output_invalid happened: /rows/2/name
db.note {"name": null}
    conflict none: NOT NULL
db.ask {"sql": "select big from odd"}
    output_invalid happened: 2^53
db.ask {"sql": "select bytes from odd"}
    output_invalid happened: hex(bytes)
db.ask {"sql": "select bad from odd"}
    output_invalid happened: UTF-8
db.ask {"sql": "selec 1"}
    invalid_arguments none: syntax error
db.ask {"sql": ""}
    invalid_arguments none: /sql
db.ask {"sql": "-- nothing"}
    invalid_arguments none: no columns
db.ask {"sql": "select :a"}
    invalid_arguments none: parameters
db.ask {"sql": "select ?"}
    invalid_arguments none: parameters
db.ask {"sql": "select 1; select 2"}
    invalid_arguments none: one statement
db.ask {"sql": "select 1 as a, 2 as a"}
    invalid_arguments none: two columns
db.ask {"sql": "select \"nam\" from t"}
    invalid_arguments none: nam
db.ask {"sql": "with recursive n(i) as (select 1 union all select i+1 from n) select i from n"}
    output_invalid happened: more than 10 rows
db.ask {"sql": "select printf('%.6000c', 'x')"}
    output_invalid happened: max_bytes
db.ask {"sql": "select length(zeroblob(900000000))"}
    output_invalid happened: max_bytes
"#;

#[tokio::test]
async fn failures_have_class_and_landing() {
    check_calls(&bench(), FAILURES).await;
}

#[tokio::test]
async fn an_adhoc_query_can_only_read() {
    let bench = bench();
    let other = bench.workspace.path("other.db");
    for sql in [
        "insert into t values (9, 'x', 0)",
        "delete from t",
        "update t set name = 'x'",
        "drop table t",
        "create table u (a)",
        "create temp table u (a)",
        "pragma user_version = 7",
        "pragma query_only = 0",
        "pragma journal_mode = delete",
        "vacuum",
        "begin",
        "reindex",
        &format!("attach '{}' as o", other.display()),
        &format!("vacuum into '{}'", other.display()),
        "select load_extension('x')",
        "with x as (select 1) insert into t select 9, 'x', 0",
        "insert into t values (9, 'x', 0) returning id",
        "explain delete from t",
    ] {
        let reply = bench.call("db.ask", json!({"sql": sql})).await;
        let (words, text) = said(&reply);
        assert!(
            ["permission_denied none", "invalid_arguments none"].contains(&words.as_str()),
            "{sql}: {words} {text}"
        );
    }
    assert!(!other.exists());
    // The control: the same door lets reading through, and nothing has changed.
    let read = bench
        .output("db.ask", json!({"sql": "select count(*) as n from t"}))
        .await;
    assert_eq!(read["rows"][0]["n"], 3);
    let described = "select name from pragma_table_info('t') limit 1";
    let described = bench.output("db.ask", json!({"sql": described})).await;
    assert_eq!(described["rows"][0]["name"], "id");
}

#[tokio::test]
async fn what_is_no_query_is_told_from_what_a_database_refuses() {
    let bench = bench();
    for (sql, is_own) in [
        ("delete from t", true),
        ("pragma user_version = 7", true),
        ("selec 1", true),
        ("select (1", true),
        ("select 1; select 2", true),
        ("select :a", true),
        ("select * from absent", false),
        ("select absent from t", false),
        ("select load_extension('x')", false),
    ] {
        let reply = bench.call("db.ask", json!({"sql": sql})).await;
        assert_ne!(reply.class, Class::Ok, "{sql}");
        assert_eq!(reply.refused_args == ["sql"], is_own, "{sql}: {reply:?}");
    }
}

#[tokio::test]
async fn a_query_that_never_ends_is_stopped() {
    let bench = bench();
    let sql = "with recursive n(i) as (select 1 union all select i+1 from n) select max(i) from n";
    let start = Instant::now();
    let reply = bench.call("db.ask", json!({"sql": sql})).await;
    assert_eq!(said(&reply).0, "timeout none", "{reply:?}");
    assert!(
        start.elapsed() < Duration::from_secs(2),
        "{:?}",
        start.elapsed()
    );
}

#[test]
fn a_call_that_is_dropped_stops_its_query() {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    let workspace = Workspace::new();
    workspace.database("data/m.db", DATA);
    let bench = workspace.open(&TOOL.replace("timeout = \"300ms\"", "timeout = \"1m\""));
    let sql = "with recursive n(i) as (select 1 union all select i+1 from n) select max(i) from n";
    let start = Instant::now();
    runtime.block_on(async {
        let call = bench.call("db.ask", json!({"sql": sql}));
        let dropped = tokio::time::timeout(Duration::from_millis(100), call).await;
        assert!(dropped.is_err());
    });
    // A runtime that goes away waits for the threads it has lent.
    drop(runtime);
    assert!(
        start.elapsed() < Duration::from_secs(5),
        "{:?}",
        start.elapsed()
    );
}

#[tokio::test]
async fn a_write_lands_whole_or_not() {
    let bench = bench();
    let changed = bench.output("db.note", json!({"name": "x"})).await;
    assert_eq!(changed, json!({"changed": 1}));
    let again = bench.call("db.note", json!({"name": "x"})).await;
    assert_eq!(said(&again).0, "conflict none");
    let seen = "select count(*) as n from seen";
    let seen = bench.output("db.ask", json!({"sql": seen})).await;
    assert_eq!(seen["rows"][0]["n"], 1);
}

#[tokio::test]
async fn another_program_may_hold_the_lock() {
    let bench = bench();
    let other = rusqlite::Connection::open(bench.workspace.path("data/m.db")).unwrap();
    other.execute_batch("begin immediate").unwrap();
    let reply = bench.call("db.note", json!({"name": "x"})).await;
    let (words, text) = said(&reply);
    assert_eq!(words, "unavailable none");
    assert!(text.contains("locked by another program"), "{text}");
    other.execute_batch("rollback").unwrap();
    bench.output("db.note", json!({"name": "x"})).await;
}

#[tokio::test]
async fn a_database_that_is_missing_or_broken_says_what_to_do() {
    let bench = bench();
    let path = bench.workspace.path("data/m.db");
    assert_eq!(bench.toolbox.troubles(), []);
    let whole = std::fs::read(&path).unwrap();
    let broken = |at: usize| {
        let mut bytes = whole.clone();
        bytes[at..].fill(0x5a);
        Some(bytes)
    };
    let states: [(&str, Option<Vec<u8>>, &str); 5] = [
        ("missing", None, "is not there; create it"),
        ("empty", Some(Vec::new()), "is empty; restore it"),
        (
            "text",
            Some(b"hello world, this is text".to_vec()),
            "is not an SQLite database",
        ),
        ("bad header", broken(16), "is damaged; restore it"),
        ("bad pages", broken(100), "is damaged; restore it"),
    ];
    for (state, bytes, message) in states {
        std::fs::remove_file(&path).ok();
        if let Some(bytes) = bytes {
            std::fs::write(&path, bytes).unwrap();
        }
        for (name, args) in [("db.all", json!({})), ("db.note", json!({"name": "x"}))] {
            let (words, text) = said(&bench.call(name, args).await);
            assert_eq!(words, "unavailable none", "{state}: {text}");
            assert!(text.contains(message), "{state}: {text}");
            assert!(text.contains("`data/m.db` of the tool `db`"), "{text}");
        }
    }
    std::fs::remove_file(&path).unwrap();
    let troubles = bench.toolbox.troubles();
    assert!(troubles[0].message.contains("is not there"), "{troubles:?}");
    std::fs::write(&path, whole).unwrap();
    assert_eq!(bench.toolbox.troubles(), []);
    bench.output("db.all", json!({})).await;
}

const KEYED: &str = r#"
[tools.db]
kind = "sql"
database = "data/m.db"

[tools.db.ops.plain]
execute = "insert into log (text) values (:text)"
input = { type = "object", properties = { text = { type = "string" } } }

[tools.db.ops.keyed]
execute = "insert into log (text) values (:text)"
input = { type = "object", properties = { text = { type = "string" } } }
idempotency = { key = "table" }

[tools.db.ops.unique]
execute = "insert into seen values (:text)"
input = { type = "object", properties = { text = { type = "string" } } }
idempotency = { key = "table" }

[tools.db.ops.ask]
adhoc = true
"#;

fn keyed() -> Bench {
    let workspace = Workspace::new();
    let log = "create table log (id integer primary key, text text);";
    workspace.database("data/m.db", &(DATA.to_owned() + log));
    workspace.open(KEYED)
}

async fn count(bench: &Bench, sql: &str) -> Value {
    let rows = bench.output("db.ask", json!({ "sql": sql })).await;
    rows["rows"][0]["n"].clone()
}

#[tokio::test]
async fn a_key_in_the_transaction_makes_a_write_land_once() {
    let bench = keyed();
    let time = Duration::from_secs(5);
    let log = "select count(*) as n from log";
    let call = async |name: &str, text: &str, key: &str| {
        let reply = bench.call_with_key(name, json!({"text": text}), Some(key));
        said(&reply.await)
    };
    // Without the table nothing is written.
    let (words, text) = call("db.keyed", "a", "k1").await;
    assert_eq!(words, "unavailable none");
    assert!(text.contains("it has to be prepared first"), "{text}");
    assert!(
        bench
            .toolbox
            .is_unprepared(bench.operation("db.keyed"))
            .await
    );
    assert!(
        !bench
            .toolbox
            .is_unprepared(bench.operation("db.plain"))
            .await
    );
    assert_eq!(count(&bench, log).await, 0);
    for _ in 0..2 {
        bench.toolbox.prepare("db", time).await.unwrap();
        assert!(bench.toolbox.is_prepared("db", time).await.unwrap());
    }
    assert!(
        !bench
            .toolbox
            .is_unprepared(bench.operation("db.keyed"))
            .await
    );
    // The control: without a key, each repetition writes again.
    for _ in 0..2 {
        call("db.plain", "a", "k1").await;
    }
    assert_eq!(count(&bench, log).await, 2);
    for _ in 0..3 {
        let args = json!({"text": "a"});
        let reply = bench.call_with_key("db.keyed", args, Some("k1")).await;
        assert_eq!(reply.output, Some(json!({"changed": 1})));
    }
    assert_eq!(count(&bench, log).await, 3);
    let (words, text) = call("db.keyed", "b", "k1").await;
    assert_eq!(words, "conflict none", "{text}");
    assert_eq!(call("db.unique", "a", "k1").await.0, "conflict none");
    assert_eq!(call("db.keyed", "b", "k2").await.0, "ok happened");
    assert_eq!(count(&bench, log).await, 4);
}

#[tokio::test]
async fn a_write_that_is_rolled_back_leaves_no_key() {
    let bench = keyed();
    bench
        .toolbox
        .prepare("db", Duration::from_secs(5))
        .await
        .unwrap();
    bench.output("db.ask", json!({"sql": "select 1"})).await;
    let call = async |key: &str| {
        let reply = bench.call_with_key("db.unique", json!({"text": "x"}), Some(key));
        said(&reply.await).0
    };
    assert_eq!(call("k1").await, "ok happened");
    assert_eq!(call("k2").await, "conflict none");
    let keys = "select count(*) as n from provost_effects";
    assert_eq!(count(&bench, keys).await, 1);
    // Once what stood against it is gone, the same key goes through.
    let other = rusqlite::Connection::open(bench.workspace.path("data/m.db")).unwrap();
    other.execute("delete from seen", []).unwrap();
    assert_eq!(call("k2").await, "ok happened");
    assert_eq!(count(&bench, keys).await, 2);
}

/// A link that leads to another database between the yes and the call is noticed.
#[tokio::test]
async fn a_database_behind_a_link_that_was_swapped_is_not_written() {
    let workspace = Workspace::new();
    for name in ["data/one.db", "data/two.db"] {
        workspace.database(name, DATA);
    }
    let link = |workspace: &Workspace, to: &str| {
        let path = workspace.path("data/m.db");
        let _ = std::fs::remove_file(&path);
        std::os::unix::fs::symlink(to, path).unwrap();
    };
    link(&workspace, "one.db");
    let bench = workspace.open(TOOL);
    let before = bench.operation("db.note").digest();
    bench.output("db.note", json!({ "name": "a" })).await;
    link(&bench.workspace, "two.db");
    let refused = bench.call("db.note", json!({ "name": "b" })).await;
    assert_eq!(said(&refused).0, "drift none", "{refused:?}");
    let rows = |name: &str| {
        let database = rusqlite::Connection::open(bench.workspace.path(name)).unwrap();
        database
            .query_row("select count(*) from seen", [], |row| row.get::<_, i64>(0))
            .unwrap()
    };
    assert_eq!((rows("data/one.db"), rows("data/two.db")), (1, 0));
    // Opened anew it is another operation, so that an approval of the one is none of the other.
    let anew = configs(TOOL, bench.workspace.dir.path()).unwrap();
    let anew = anew.iter().flat_map(ToolConfig::operations);
    let anew: Vec<_> = anew
        .filter(|one| one.name == "db.note")
        .map(|one| one.digest())
        .collect();
    assert_eq!(anew.len(), 1);
    assert!(!anew.contains(&before));
}
