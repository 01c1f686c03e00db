//! PostgreSQL: what its settings refuse; and, beside the server that `scripts/postgres` starts,
//! types, keys, limits, and a connection that is cut where it hurts.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio_postgres::NoTls;

use super::*;

const SETTINGS: &str = r#"
#> W801 `url` begins with `postgres://`
url = "mysql://a@b/c"

#> W801 `url` cannot be read
url = "postgres://a@b:port/c"

#> W801 a password stands in `url`
url = "postgres://a:hunter2@b/c"

#> W801 `url` names one host
url = "postgres://a@b,c/d"

#> W801 `url` names a user and a database
url = "postgres://b/c"

#> W801 `sslmode` is `require` or `disable`
url = "postgres://a@b/c?sslmode=prefer"

#> W801 `ca` is for TLS, which `sslmode=disable` turns off
url = "postgres://a@b/c?sslmode=disable"
ca = "ca.crt"

#> W801 `ca` belongs to `url`
database = "data/m.db"
ca = "ca.crt"

#> W801 a secret is named by `env:NAME`
url = "postgres://a@b/c"
password = "hunter2"

#> P005 a database needs one of `database`, a file, and `url`, a server
url = "postgres://a@b/c"
database = "data/m.db"

#> W801 `password` belongs to `url`
database = "data/m.db"
password = "env:X"

#> W801 `adhoc` belongs to a file of SQLite
url = "postgres://a@b/c"
ops.ask = { adhoc = true }

#> W801 `ROLLBACK`: a statement does not begin or end transactions
url = "postgres://a@b/c"
ops.end = { execute = " ROLLBACK" }

#> W801 the parameter `$1` is not of the form `:name`
url = "postgres://a@b/c"
ops.bad = { query = "select $1" }

#> W801 a key belongs to `execute`
url = "postgres://a@b/c"
ops.bad = { query = "select 1", idempotency = { key = "table" } }

#> W801 a key in a table belongs to a tool of kind `sql`
url = "postgres://a@b/c"
ops.bad = { execute = "select 1", idempotency = { key = { header = "K", ttl = "1h" } } }
"#;

#[test]
fn settings_that_cannot_work_are_refused() {
    check_findings(
        "[tools.db]\nkind = \"sql\"\nops.one.query = \"select 1\"",
        SETTINGS,
    );
}

const TOOL: &str = r#"
[tools.db]
kind = "sql"
url = "URL"
password = "file:secret"
timeout = "5s"

[tools.db.ops.types]
query = """
select true as b, 7::int2 as i2, 9007199254740991::int8 as i8, 1.5::float8 as f8, 0.1::float4 as f4,
  'infinity'::float8 as inf, 'é'::text as t, 'c'::char(3) as c, null::text as n,
  '{"a": [1]}'::json as j, '{"a": null}'::jsonb as jb,
  '2026-11-21 10:00:00.25+02'::timestamptz as at, '2026-11-21 10:00'::timestamp as local,
  '1999-12-31'::date as d, '23:59:59.5'::time as clock,
  '00112233-4455-6677-8899-aabbccddeeff'::uuid as u, '\\x00ff'::bytea as bytes,
  array[1, null, 3] as list, array['a', 'b "c"'] as texts, 'happy'::mood as mood
"""
one = true

[tools.db.ops.numbers]
query = "select array_agg(n::numeric) as n from unnest(:texts::text[]) as n"
one = true
input = { type = "object", properties = { texts = { type = "array" } } }

[tools.db.ops.back]
query = """
select :i::int4 as i, :n::numeric as n, :t::text as t, :j::jsonb as j, :bytes::bytea as bytes,
  :list::int4[] as list, :texts::text[] as texts, :at::timestamptz as at, :mood::mood as mood
"""
one = true
input.type = "object"
input.properties = { i = {}, n = {}, t = {}, j = {}, bytes = {}, list = {}, texts = {}, at = {}, mood = {} }

[tools.db.ops.by_name]
query = "select id from t where name = :name"
single = true
input = { type = "object", properties = { name = { type = "string" } } }

[tools.db.ops.count]
query = "select count(*) as n from log"
one = true

[tools.db.ops.keys]
query = "select count(*) as n from provost_effects"
one = true

[tools.db.ops.big]
query = "select 9007199254740993 as big"
[tools.db.ops.span]
query = "select interval '1 day' as span"
[tools.db.ops.infinite]
query = "select 'infinity'::timestamptz as at"
[tools.db.ops.repeated]
query = """select '{"a": {"b": 1, "b": 2}}'::json as j"""
[tools.db.ops.vanishing]
query = "select '[1e-400]'::json as j"
[tools.db.ops.twice]
query = "select 1 as a, 2 as a"
[tools.db.ops.wrong]
query = "select nosuch from t"
[tools.db.ops.two]
query = "select 1; select 2"
[tools.db.ops.sneaky]
query = "insert into log (text) values ('x') returning id"
[tools.db.ops.called]
query = "select nextval('log_id_seq')"
[tools.db.ops.many]
query = "with recursive n(i) as (select 1 union all select i + 1 from n) select i from n"
max_rows = 10
[tools.db.ops.huge]
query = "select repeat('x', 6000) as x"
max_bytes = 5000
[tools.db.ops.slow]
query = "select pg_sleep(20)::text as slept"
timeout = "2s"
[tools.db.ops.none]
query = "select 1 as one where false"
one = true
[tools.db.ops.denied]
query = "select pg_read_file('/etc/passwd') as text"

[tools.db.ops.plain]
execute = "insert into log (text) values (:text)"
input = { type = "object", properties = { text = { type = "string" } } }
[tools.db.ops.keyed]
execute = "insert into log (text) values (:text)"
input = { type = "object", properties = { text = { type = "string" } } }
idempotency = { key = "table" }
[tools.db.ops.unique]
execute = "insert into seen values (:text)"
input = { type = "object", properties = { text = { type = ["string", "null"] } } }
idempotency = { key = "table" }
[tools.db.ops.late]
execute = "insert into checked values (:text)"
input = { type = "object", properties = { text = { type = "string" } } }
[tools.db.ops.slow_write]
execute = "insert into log (text) select pg_sleep(20)::text"
timeout = "2s"
"#;

const DATA: &str = "
    create type mood as enum ('sad', 'happy');
    create table t (id int primary key, name text);
    insert into t values (1, 'a'), (2, 'b');
    create table log (id serial primary key, text text);
    create table seen (name text unique not null);
    create table parent (name text primary key);
    create table checked (name text references parent deferrable initially deferred);
    grant all on all tables in schema public to teller;
    grant all on all sequences in schema public to teller;
    grant create on schema public to teller;
";

/// The address of the server, and its password, as `scripts/postgres` tells them.
pub(super) fn server() -> (String, String) {
    let var = |name| std::env::var(name).unwrap();
    (var("PROVOST_POSTGRES"), var("PROVOST_POSTGRES_PASSWORD"))
}

pub(super) async fn client(database: &str) -> tokio_postgres::Client {
    let (url, password) = server();
    let mut config: tokio_postgres::Config = url.parse().unwrap();
    config.password(password).dbname(database);
    let (client, connection) = config.connect(NoTls).await.unwrap();
    tokio::spawn(connection);
    client
}

/// A database of its own, and the address of it for a user who may do little.
pub(super) async fn database() -> String {
    static MADE: AtomicUsize = AtomicUsize::new(0);
    let name = format!("d{}", MADE.fetch_add(1, Ordering::Relaxed));
    let (url, password) = server();
    let admin = client("postgres").await;
    let role = format!("create role teller login password '{password}'");
    // Why its failure is no matter: another test may have made the same.
    let _ = admin.batch_execute(&role).await;
    admin
        .batch_execute(&format!("create database {name}"))
        .await
        .unwrap();
    client(&name).await.batch_execute(DATA).await.unwrap();
    url.replace("provost@", "teller@")
        .replace("/postgres", &format!("/{name}"))
}

fn open(url: &str) -> Bench {
    let workspace = Workspace::new();
    workspace.write("secret", server().1);
    workspace.open(&TOOL.replace("URL", url))
}

async fn bench() -> Bench {
    let bench = open(&database().await);
    bench
        .toolbox
        .prepare("db", Duration::from_secs(5))
        .await
        .unwrap();
    bench
}

async fn count(bench: &Bench, name: &str) -> i64 {
    bench.output(name, json!({})).await["n"].as_i64().unwrap()
}

async fn keyed(bench: &Bench, name: &str, text: &str, key: &str) -> (String, String) {
    let args = json!({ "text": text });
    said(&bench.call_with_key(name, args, Some(key)).await)
}

#[tokio::test]
#[ignore = "needs the server that `scripts/full databases` starts"]
async fn postgres_types_come_out_exact() {
    let bench = bench().await;
    let row = bench.output("db.types", json!({})).await;
    let expected = json!({
        "b": true, "i2": 7, "i8": 9_007_199_254_740_991_i64, "f8": 1.5, "f4": 0.1, "inf": null,
        "t": "é", "c": "c  ", "n": null, "j": {"a": [1]}, "jb": {"a": null},
        "at": "2026-11-21T08:00:00.25Z", "local": "2026-11-21T10:00:00", "d": "1999-12-31",
        "clock": "23:59:59.5", "u": "00112233-4455-6677-8899-aabbccddeeff", "bytes": "AP8=",
        "list": [1, null, 3], "texts": ["a", "b \"c\""], "mood": "happy",
    });
    assert_eq!(row, expected);
    let texts = [
        "0",
        "0.00",
        "1",
        "-1",
        "10000",
        "1000000000000",
        "0.0001",
        "0.00001",
        "-0.50",
        "12345678901234567890.123456789",
        "1000000000.0000000001",
        "99990000.0001",
        "NaN",
    ];
    let numbers = bench.output("db.numbers", json!({ "texts": texts })).await;
    assert_eq!(numbers, json!({ "n": texts }));
    let args = json!({
        "i": 5, "n": "1.10", "t": "'; drop table t --", "j": "text", "bytes": "AP8=",
        "list": [1, null], "texts": ["a,b", "\"\\{}", "null"], "at": "2026-11-21T08:00:00Z",
        "mood": "sad",
    });
    assert_eq!(bench.output("db.back", args.clone()).await, args);
    let absent = bench.output("db.back", json!({})).await;
    assert!(
        absent.as_object().unwrap().values().all(Value::is_null),
        "{absent}"
    );
    let found = bench.output("db.by_name", json!({"name": "b"})).await;
    assert_eq!(found, json!({"found": true, "row": {"id": 2}}));
}

const FAILURES: &str = r#"
db.by_name {"name": 1}
    invalid_arguments none: /name
db.back {"i": "five"}
    invalid_arguments none: five
db.back {"i": 99999999999}
    invalid_arguments none: out of range
db.back {"bytes": "%"}
    invalid_arguments none: base64
db.back {"t": "a\u0000b"}
    invalid_arguments none: UTF8
db.back {"t": ["a"]}
    invalid_arguments none: a list or a map
db.back {"mood": "angry"}
    invalid_arguments none: angry
db.big {}
    output_invalid happened: 2^53
db.span {}
    output_invalid happened: CAST(span AS TEXT)
db.infinite {}
    output_invalid happened: no exact form
db.repeated {}
    output_invalid happened: no exact form
db.vanishing {}
    output_invalid happened: no exact form
db.twice {}
    misdeclared none: two columns
db.wrong {}
    misdeclared none: nosuch
db.two {}
    misdeclared none: multiple commands
db.sneaky {}
    misdeclared none: more than read
db.called {}
    misdeclared none: more than read
db.many {}
    output_invalid happened: more than 10 rows
db.huge {}
    output_invalid happened: max_bytes
db.slow {}
    timeout none: the time is over
db.slow_write {}
    timeout none: the time is over
db.none {}
    not_found happened: no row
db.denied {}
    permission_denied none: pg_read_file
db.late {"text": "orphan"}
    conflict none: foreign key
"#;

#[tokio::test]
#[ignore = "needs the server that `scripts/full databases` starts"]
async fn postgres_failures_have_class_and_landing() {
    let bench = bench().await;
    let begun = Instant::now();
    check_calls(&bench, FAILURES).await;
    assert!(
        begun.elapsed() < Duration::from_secs(16),
        "{:?}",
        begun.elapsed()
    );
    assert_eq!(count(&bench, "db.count").await, 0);
    let admin = client("postgres").await;
    let asleep = "select count(*) from pg_stat_activity \
                  where state = 'active' and query like '%pg_sleep(20)%' and pid <> pg_backend_pid()";
    let left: i64 = admin.query_one(asleep, &[]).await.unwrap().get(0);
    assert_eq!(left, 0, "the server still works on what was given up");
}

#[tokio::test]
#[ignore = "needs the server that `scripts/full databases` starts"]
async fn postgres_keys_make_a_write_land_once() {
    let url = database().await;
    let bench = open(&url);
    let time = Duration::from_secs(5);
    let (words, text) = keyed(&bench, "db.keyed", "a", "k1").await;
    assert_eq!(words, "unavailable none");
    assert!(text.contains("it has to be prepared first"), "{text}");
    assert!(
        bench
            .toolbox
            .is_unprepared(bench.operation("db.keyed"))
            .await
    );
    for _ in 0..2 {
        bench.toolbox.prepare("db", time).await.unwrap();
    }
    assert!(
        !bench
            .toolbox
            .is_unprepared(bench.operation("db.keyed"))
            .await
    );
    for _ in 0..3 {
        assert_eq!(keyed(&bench, "db.keyed", "a", "k1").await.0, "ok happened");
        // The control: without a key, each repetition writes again.
        assert_eq!(keyed(&bench, "db.plain", "a", "k1").await.0, "ok happened");
    }
    assert_eq!(count(&bench, "db.count").await, 4);
    assert_eq!(
        keyed(&bench, "db.keyed", "b", "k1").await.0,
        "conflict none"
    );
    assert_eq!(
        keyed(&bench, "db.unique", "a", "k1").await.0,
        "conflict none"
    );
    // What is rolled back leaves no key.
    assert_eq!(keyed(&bench, "db.unique", "a", "k2").await.0, "ok happened");
    assert_eq!(
        keyed(&bench, "db.unique", "a", "k3").await.0,
        "conflict none"
    );
    assert_eq!(count(&bench, "db.keys").await, 2);
    // Of many at once with one key, one writes, and all are told what it came to.
    let all = (0..8).map(|_| bench.call_with_key("db.keyed", json!({"text": "c"}), Some("k4")));
    for reply in futures::future::join_all(all).await {
        assert_eq!(reply.output, Some(json!({"changed": 1})), "{reply:?}");
    }
    assert_eq!(count(&bench, "db.count").await, 5);
}

/// Where a connection is cut.
#[derive(Clone, Copy, Debug)]
enum Cut {
    /// When this is to be sent, which is kept back.
    Before(&'static str),
    /// When this was answered, and the answer is kept back.
    After(&'static str),
    /// The same, and then not a word.
    Silent(&'static str),
}

/// A way to the server that is cut once; then it is whole.
async fn way(target: String, cut: Cut) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let left = Arc::new(AtomicUsize::new(1));
    tokio::spawn(async move {
        while let Ok((near, _)) = listener.accept().await {
            let far = TcpStream::connect(&target).await.unwrap();
            tokio::spawn(carry(near, far, cut, Arc::clone(&left)));
        }
    });
    port
}

async fn carry(near: TcpStream, far: TcpStream, cut: Cut, left: Arc<AtomicUsize>) {
    let (mut near_in, mut near_out) = near.into_split();
    let (mut far_in, mut far_out) = far.into_split();
    let (Cut::Before(mark) | Cut::After(mark) | Cut::Silent(mark)) = cut;
    let silent = Arc::new(AtomicBool::new(false));
    let muted = Arc::clone(&silent);
    let back = tokio::spawn(async move {
        let mut bytes = vec![0; 65_536];
        while let Ok(count @ 1..) = far_in.read(&mut bytes).await {
            if !muted.load(Ordering::Relaxed) && near_out.write_all(&bytes[..count]).await.is_err()
            {
                return;
            }
        }
        std::future::pending::<()>().await;
    });
    let mut bytes = vec![0; 65_536];
    while let Ok(count @ 1..) = near_in.read(&mut bytes).await {
        let sent = &bytes[..count];
        let marked = sent.windows(mark.len()).any(|part| part == mark.as_bytes());
        if marked && left.swap(0, Ordering::Relaxed) == 1 {
            silent.store(true, Ordering::Relaxed);
            if !matches!(cut, Cut::Before(_)) {
                far_out.write_all(sent).await.unwrap();
                tokio::time::sleep(Duration::from_millis(500)).await;
            }
            if matches!(cut, Cut::Silent(_)) {
                tokio::time::sleep(Duration::from_secs(60)).await;
            }
            break;
        }
        far_out.write_all(sent).await.unwrap();
    }
    back.abort();
}

/// Cuts, what a call comes to, how often it has landed then, and how often when it was repeated.
const CUTS: [(Cut, &str, i64); 5] = [
    (Cut::Before("insert into log"), "unavailable none", 0),
    (Cut::After("insert into log"), "unavailable none", 0),
    (Cut::Before("COMMIT"), "unavailable unknown", 0),
    (Cut::After("COMMIT"), "unavailable unknown", 1),
    (Cut::Silent("COMMIT"), "timeout unknown", 1),
];

#[tokio::test]
#[ignore = "needs the server that `scripts/full databases` starts"]
async fn postgres_says_whether_a_cut_connection_may_have_written() {
    for (cut, words, landed) in CUTS {
        for name in ["db.keyed", "db.plain"] {
            let url = database().await;
            let whole = open(&url);
            whole
                .toolbox
                .prepare("db", Duration::from_secs(5))
                .await
                .unwrap();
            let address = url.split(['@', '/']).nth(3).unwrap().to_owned();
            let port = way(address.clone(), cut).await;
            let bench = open(&url.replace(&address, &format!("127.0.0.1:{port}")));
            let mut operation = bench.operation(name).clone();
            operation.timeout = Duration::from_secs(1);
            let call = bench.call_keyed(operation, json!({"text": "a"}), Some("k"));
            let (seen, text) = said(&call.await);
            assert_eq!(seen, words, "{cut:?} {name}: {text}");
            // Why awaited: a server notices a cut connection when it next looks at it.
            tokio::time::sleep(Duration::from_millis(100)).await;
            assert_eq!(count(&whole, "db.count").await, landed, "{cut:?} {name}");
            assert_eq!(
                keyed(&bench, name, "a", "k").await.0,
                "ok happened",
                "{cut:?}"
            );
            // The control is the one without a key: a repetition of it lands again.
            let after = if name == "db.keyed" { 1 } else { landed + 1 };
            assert_eq!(count(&whole, "db.count").await, after, "{cut:?} {name}");
        }
    }
}

#[tokio::test]
#[ignore = "needs the server that `scripts/full databases` starts"]
async fn postgres_that_is_not_reached_wrote_nothing() {
    let url = database().await;
    let write = async |bench: &Bench| said(&bench.call("db.plain", json!({"text": "x"})).await);
    let address = url.split(['@', '/']).nth(3).unwrap();
    let nobody = open(&url.replace(address, "127.0.0.1:1"));
    assert_eq!(write(&nobody).await.0, "unavailable none");
    // Nobody whom this machine trusts vouches for the server.
    let (words, text) = write(&open(&format!("{url}?sslmode=require"))).await;
    assert_eq!(words, "unavailable none");
    assert!(text.contains("certificate"), "{text}");
    let stranger = open(&url.replace("teller@", "stranger@"));
    assert_eq!(write(&stranger).await.0, "permission_denied none");
    let bench = open(&url);
    bench.workspace.write("secret", "another password");
    assert_eq!(write(&bench).await.0, "permission_denied none");
    std::fs::remove_file(bench.workspace.path("secret")).unwrap();
    let reply = bench.call("db.plain", json!({"text": "x"})).await;
    assert_eq!(said(&reply).0, "unavailable none");
    assert_eq!(reply.lacks.as_deref(), Some("file:secret"));
    let troubles = bench.toolbox.troubles();
    assert!(troubles[0].message.contains("file:secret"), "{troubles:?}");
}

#[tokio::test]
#[ignore = "needs the server that `scripts/full databases` starts"]
async fn postgres_is_spoken_to_under_tls_where_the_certificate_holds() {
    let url = database().await;
    let ca = std::env::var("PROVOST_POSTGRES_CA").unwrap();
    let tool = |ca: &str, url: &str| {
        let secret = server().1;
        let workspace = Workspace::new();
        workspace.write("secret", secret).write("none.crt", "");
        let query = "select ssl::text as ssl from pg_stat_ssl where pid = pg_backend_pid()";
        workspace.open(&format!(
            "[tools.db]\nkind = \"sql\"\nurl = \"{url}\"\npassword = \"file:secret\"\n{ca}\
             ops.is = {{ query = \"{query}\", one = true }}\n"
        ))
    };
    let ca = format!("ca = \"{ca}\"\n");
    let held = tool(&ca, &url);
    assert_eq!(
        held.output("db.is", json!({})).await,
        json!({"ssl": "true"})
    );
    // The control: without `ca` the loopback is spoken to in clear.
    let plain = tool("", &url);
    assert_eq!(
        plain.output("db.is", json!({})).await,
        json!({"ssl": "false"})
    );
    // The certificate is for the address, not for this name of it.
    for (ca, url, part) in [
        (
            ca.as_str(),
            url.replace("127.0.0.1", "localhost"),
            "certificate",
        ),
        ("ca = \"none.crt\"\n", url.clone(), "there are none"),
        ("ca = \"nowhere.crt\"\n", url.clone(), "No such file"),
    ] {
        let (words, text) = said(&tool(ca, &url).call("db.is", json!({})).await);
        assert_eq!(words, "unavailable none", "{text}");
        assert!(text.contains(part), "{text}");
    }
}

/// What `tools add --sql` asks: types of parameters and columns, what may be NULL, and what writes.
#[tokio::test]
#[ignore = "needs the server that `scripts/full databases` starts"]
async fn a_statement_is_described_and_not_run() {
    let bench = open(&database().await);
    let described = async |sql: &str| {
        let described = bench
            .toolbox
            .describe("db", sql, Duration::from_secs(10))
            .await;
        described.map_err(|reply| reply.message.unwrap_or_default())
    };
    let shown = async |sql: &str| {
        let found = described(sql).await.unwrap();
        let part = |all: &[(String, Option<Value>)]| {
            let one = |(name, schema): &(String, Option<Value>)| {
                let schema = schema.as_ref().map_or("?".to_owned(), ToString::to_string);
                format!("{name} {schema}")
            };
            all.iter().map(one).collect::<Vec<_>>().join(", ")
        };
        let effect = found.effect.word();
        format!(
            "{effect}: {} => {}",
            part(&found.parameters),
            part(&found.columns)
        )
    };
    for (sql, expected) in [
        (
            "select id, name from t where id > :least",
            "read: least {\"type\":\"integer\"} => id {\"type\":\"integer\"}, \
             name {\"type\":[\"string\",\"null\"]}",
        ),
        (
            "select t.id from log left join t on t.id = log.id",
            "read:  => id {\"type\":[\"integer\",\"null\"]}",
        ),
        (
            "select :m::mood as m, array[1] as list, now() as at, '{}'::json as j",
            "read: m {\"enum\":[\"sad\",\"happy\"]} => m {\"enum\":[\"sad\",\"happy\",null]}, \
             list {\"type\":[\"array\",\"null\"],\"items\":{\"type\":[\"integer\",\"null\"]}}, \
             at {\"type\":[\"string\",\"null\"],\"format\":\"date-time\"}, j ?",
        ),
        (
            "insert into log (text) values (:text)",
            "write: text {\"type\":\"string\"} => ",
        ),
        (
            "delete from log where id = :id",
            "destructive: id {\"type\":\"integer\"} => ",
        ),
    ] {
        assert_eq!(shown(sql).await, expected, "{sql}");
    }
    assert!(
        described("select nosuch from t")
            .await
            .unwrap_err()
            .contains("nosuch")
    );
    // Nothing was run: the table is as empty as it was.
    assert_eq!(count(&bench, "db.count").await, 0);
    let tables = bench
        .toolbox
        .tables("db", Duration::from_secs(10))
        .await
        .unwrap();
    let t = tables.iter().find(|table| table.name == "t").unwrap();
    assert_eq!(
        (t.columns.join(" "), t.key.join(" ")),
        ("id name".to_owned(), "id".to_owned())
    );
}
