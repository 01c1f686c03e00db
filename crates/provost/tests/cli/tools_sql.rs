//! `tools add --sql`: what a SQLite file says of queries and tables, and what then runs. The same
//! of PostgreSQL is held by the tests of `provost-tools`, beside a server.

use insta::assert_snapshot;

use super::workplace::Workplace;

const TABLES: &str = "
    create table parts (
      id integer primary key, name text not null, price numeric, sold_on date, stocked boolean not null
    );
    insert into parts values (1, 'bolt', 2.5, '2026-01-01', 1), (2, 'nut', null, null, 0);
    create table \"Odd Names\" (\"A key\" text primary key, picture blob, value);
";

const QUERIES: &str = "\
-- name: cheaper
-- Parts that cost at most so much
select id, name, price from parts where price <= :most order by id;

-- name: part :one
select id, name from parts where id = :id;

-- name: count :one
select count(*) as n from parts;

-- name: add_part
insert into parts (name, price, stocked) values (:name, :price, 1);

-- name: reprice
update parts set price = :price where id = :id;

-- name: typo
select nmae from parts;

-- name: taken
insert into parts (name, stocked) values (:name, 1) returning id;
";

fn place() -> Workplace {
    let place = Workplace::new();
    let database = rusqlite::Connection::open(place.path("data/parts.db")).unwrap();
    database.execute_batch(TABLES).unwrap();
    place.write("queries.sql", QUERIES);
    place
}

fn added(place: &Workplace) -> String {
    let toml = std::fs::read_to_string(place.path("provost.toml")).unwrap();
    let (_, entry) = toml.split_once("# Each statement is yours").unwrap();
    entry.to_owned()
}

#[test]
fn queries_of_a_file_are_declared_with_the_types_of_the_database() {
    let place = place();
    let add = [
        "tools",
        "add",
        "parts",
        "--sql",
        "data/parts.db",
        "--queries",
        "queries.sql",
    ];
    assert_snapshot!(place.run(&add), @"
    exit 0
    --- stderr
    added parts to provost.toml: 5 operations, each with a guess of its effect and the reason
    left out typo: no such column: nmae in select nmae from parts at offset 7
    left out taken: it writes and returns rows; an operation does one of them
    read them, correct the effects, delete what no plan is to call; then pin them:
      provost tools lock
    ");
    assert_snapshot!(added(&place), @r#"
    ; its types are what the database says of it. Read each line,
    # above all each effect, before you commit it.
    [tools.parts]
    kind = "sql"
    database = "data/parts.db"

    [tools.parts.ops.cheaper]
    description = "Parts that cost at most so much"
    query = '''
    select id, name, price from parts where price <= :most order by id
    '''
    input = "schemas/parts/cheaper.input.json"
    row = "schemas/parts/cheaper.row.json"
    effect = "read" # a query cannot write: the database refuses it

    [tools.parts.ops.part]
    query = '''
    select id, name from parts where id = :id
    '''
    one = true
    input = "schemas/parts/part.input.json"
    row = "schemas/parts/part.row.json"
    effect = "read" # a query cannot write: the database refuses it

    [tools.parts.ops.count]
    query = '''
    select count(*) as n from parts
    '''
    one = true
    row = "schemas/parts/count.row.json" # the database names no type of n
    effect = "read" # a query cannot write: the database refuses it

    [tools.parts.ops.add_part]
    execute = '''
    insert into parts (name, price, stocked) values (:name, :price, 1)
    '''
    input = "schemas/parts/add_part.input.json"
    effect = "write" # it only inserts
    # Each write once, whatever happens to the connection: uncomment, then run
    # `provost tools prepare parts`.
    # idempotency = { key = "table" }

    [tools.parts.ops.reprice]
    execute = '''
    update parts set price = :price where id = :id
    '''
    input = "schemas/parts/reprice.input.json"
    effect = "destructive" # it may change or remove what is there
    # Each write once, whatever happens to the connection: uncomment, then run
    # `provost tools prepare parts`.
    # idempotency = { key = "table" }
    "#);
    let schema = |name: &str| {
        std::fs::read_to_string(place.path(&format!("schemas/parts/{name}.json"))).unwrap()
    };
    let file = |name: &str| {
        let value: serde_json::Value = serde_json::from_str(&schema(name)).unwrap();
        value["properties"].to_string()
    };
    assert_eq!(file("cheaper.input"), r#"{"most":{"type":"number"}}"#);
    assert_eq!(
        file("cheaper.row"),
        r#"{"id":{"type":"integer"},"name":{"type":"string"},"price":{"type":["number","null"]}}"#
    );
    assert_eq!(file("count.row"), r#"{"n":{}}"#);
    // What was declared runs as it stands.
    place.run(&["tools", "lock"]).exits(0);
    assert_snapshot!(place.run(&["tools", "call", "parts.cheaper", "most=3"]), @r#"
    exit 0
    --- stdout
    succeeded: Call parts.cheaper {"most":3}

    ‹{"row_count":1,"rows":[{"id":1,"name":"bolt","price":2.5}]}› [1]

    [1] step `call`, evidence sha256:DIGEST
    ‹…› marks text from a tool or an untrusted planner

    proven: parts.cheaper was called and answered
    --- stderr
    run RUN: Call parts.cheaper {"most":3}
    solo workspace: the requester may also approve

    plan, revision 1: 1 step, 1 read; no approval needed
      1  call  parts.cheaper  read  permit  by plain-reads

    call: calls parts.cheaper
    call: succeeded after TIME
    "#);
    let wrong = place.run(&["tools", "call", "parts.cheaper", "most=cheap"]);
    assert!(wrong.to_string().contains("most"), "{wrong}");
    let again = place.run(&add);
    assert!(
        again
            .to_string()
            .contains("there is a tool `parts` already"),
        "{again}"
    );
}

#[test]
fn queries_are_proposed_of_each_table() {
    let place = place();
    let add = |more: &[&str]| {
        let mut words = vec!["tools", "add", "parts", "--sql", "data/parts.db"];
        words.extend(more);
        place.run(&words)
    };
    assert_snapshot!(add(&["--only", "prats"]), @"
    exit 2
    --- stderr
    error: there is no table `prats`

    hint: the tables are: Odd Names, parts
    ");
    assert_snapshot!(add(&["--json"]), @r#"
    exit 0
    --- stdout
    {
      "schema": "provost/tools-added/v1",
      "added": [
        {
          "tool": "parts",
          "operations": 3
        }
      ],
      "failed": [],
      "left_out": []
    }
    "#);
    assert_snapshot!(added(&place), @r#"
    ; its types are what the database says of it. Read each line,
    # above all each effect, before you commit it.
    [tools.parts]
    kind = "sql"
    database = "data/parts.db"

    [tools.parts.ops.list_odd_names]
    description = "The first 100 rows of Odd Names"
    query = '''
    select "A key", value
    from "Odd Names"
    order by "A key"
    limit 100
    '''
    row = "schemas/parts/list_odd_names.row.json" # the database names no type of value
    effect = "read" # a query cannot write: the database refuses it

    [tools.parts.ops.list_parts]
    description = "The first 100 rows of parts"
    query = '''
    select id, name, price, sold_on, stocked
    from parts
    order by id
    limit 100
    '''
    row = "schemas/parts/list_parts.row.json"
    effect = "read" # a query cannot write: the database refuses it

    [tools.parts.ops.get_parts]
    description = "The row of parts with this id"
    query = '''
    select id, name, price, sold_on, stocked
    from parts
    where id = :id
    '''
    single = true
    input = "schemas/parts/get_parts.input.json"
    row = "schemas/parts/get_parts.row.json"
    effect = "read" # a query cannot write: the database refuses it
    "#);
    place.run(&["tools", "lock"]).exits(0);
    assert_snapshot!(place.run(&["tools", "call", "parts.get_parts", "id=2"]), @r#"
    exit 0
    --- stdout
    succeeded: Call parts.get_parts {"id":2}

    ‹{"found":true,"row":{"id":2,"name":"nut","price":null,"sold_on":null,"stocked":0}}› [1]

    [1] step `call`, evidence sha256:DIGEST
    ‹…› marks text from a tool or an untrusted planner

    proven: parts.get_parts was called and answered
    --- stderr
    run RUN: Call parts.get_parts {"id":2}
    solo workspace: the requester may also approve

    plan, revision 1: 1 step, 1 read; no approval needed
      1  call  parts.get_parts  read  permit  by plain-reads

    call: calls parts.get_parts
    call: succeeded after TIME
    "#);
}

#[test]
fn what_cannot_be_added_is_said_and_nothing_is_written() {
    let place = place();
    let before = std::fs::read_to_string(place.path("provost.toml")).unwrap();
    place.write("bad.sql", "-- name: typo\nselect nmae from parts");
    place.write("two.sql", "-- name: two\nselect 1 as a; select 2 as a");
    place.write("none.sql", "-- name: Big Name\nselect 1");
    let add = |database: &str, queries: &str| {
        let words = [
            "tools",
            "add",
            "parts",
            "--sql",
            database,
            "--queries",
            queries,
        ];
        place.run(&words).to_string()
    };
    assert_snapshot!(add("data/parts.db", "bad.sql"), @"
    exit 2
    --- stderr
    error: the database has nothing that can be added
      typo: no such column: nmae in select nmae from parts at offset 7

    hint: `--queries FILE` names queries of your own
    ");
    assert_snapshot!(add("data/parts.db", "two.sql"), @"
    exit 2
    --- stderr
    error: the database has nothing that can be added
      two: Multiple statements provided

    hint: `--queries FILE` names queries of your own
    ");
    assert_snapshot!(add("data/parts.db", "none.sql"), @"
    exit 2
    --- stderr
    error: `none.sql`: `Big` cannot name an operation: a name has up to 40 lower-case letters, digits and `_`
    ");
    assert_snapshot!(add("data/parts.db", "missing.sql"), @"
    exit 2
    --- stderr
    error: `missing.sql` cannot be read: no such file or directory
    ");
    assert_snapshot!(add("data/missing.db", "queries.sql"), @"
    exit 1
    --- stderr
    error: the database `data/missing.db` of the tool `parts` is not there; create it, or correct `database` in provost.toml
    ");
    assert_snapshot!(add("postgres://b/c", "queries.sql"), @r#"
    exit 2
    --- stderr
    error[W801]: `url` names a user and a database
     --> the new tool:3:7
      |
    3 | url = "postgres://b/c"
      |       ^^^^^^^^^^^^^^^^

    error: the workspace cannot be used: one finding in the new tool

    hint: `provost explain W801` tells more
    "#);
    assert_snapshot!(add("provost.toml", "queries.sql"), @r#"
    exit 2
    --- stderr
    error[W803]: the tool `parts` reaches `provost.toml` through `database`
     --> the new tool:3:12
      |
    3 | database = "provost.toml"
      |            ^^^^^^^^^^^^^^
      |
      = hint: give the tool a folder or file of its own: what governs provost, and keys, are out of every tool's reach

    error: the workspace cannot be used: one finding in the new tool

    hint: `provost explain W803` tells more
    "#);
    assert_eq!(
        std::fs::read_to_string(place.path("provost.toml")).unwrap(),
        before
    );
    assert!(!place.path("schemas/parts").exists());
}
