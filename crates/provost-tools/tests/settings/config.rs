//! `provost.toml`: what is read, and every way of writing it wrong.

use std::collections::BTreeSet;
use std::time::Duration;

use provost_plan::catalog::{Effect, Idempotency, OPERATION_KEYS, Operation};
use provost_tools::Listings;
use serde_json::json;

use crate::support::*;

#[test]
fn an_operation_is_what_the_operator_declared() {
    let workspace = Workspace::new();
    workspace.write(
        "schemas/in.json",
        r#"{"type":"object","properties":{"n":{"type":"integer"}}}"#,
    );
    workspace.write(
        "schemas/out.json",
        r#"{"type":"object","required":["found","row"]}"#,
    );
    let bench = workspace.open(
        r#"
        [tools.db]
        kind = "sql"
        database = "m.db"
        timeout = "5s"
        max_bytes = 1000
        [tools.db.ops.get]
        description = "Gets one"
        query = "select :n"
        single = true
        effect = "egress"
        tags = ["money", "production"]
        input = "schemas/in.json"
        output = { schema = "schemas/out.json", trusted = true }
        secret = true
        timeout = "1s"
        idempotency = "natural"
        [tools.db.ops.set]
        execute = "delete from t where n = :n"
        content = ["n"]
        input = "schemas/in.json"
        "#,
    );
    let get = bench.operation("db.get");
    assert_eq!(get.description, "Gets one");
    assert_eq!(get.effect, Effect::Egress);
    assert_eq!(
        get.tags,
        BTreeSet::from(["money".to_owned(), "production".to_owned()])
    );
    assert!(get.trusted && get.secret);
    assert_eq!(get.timeout, Duration::from_secs(1));
    assert_eq!(get.max_bytes, 1_000);
    assert_eq!(get.idempotency, Idempotency::Natural);
    assert_eq!(get.output.as_ref().unwrap().value()["required"][0], "found");
    let set = bench.operation("db.set");
    assert_eq!(set.effect, Effect::Write);
    assert_eq!(set.timeout, Duration::from_secs(5));
    assert!(set.is_plain_write() && !set.is_sink("n"));
    assert_eq!(
        set.output.as_ref().unwrap().value()["required"],
        json!(["changed"])
    );
}

#[test]
fn the_digest_covers_what_a_call_depends_on() {
    let tool = |database: &str, query: &str, rows: &str, extra: &str| {
        let toml = format!(
            "[tools.t]\nkind = \"sql\"\ndatabase = \"{database}\"\n[tools.t.ops.a]\n\
             query = \"{query}\"\nmax_rows = {rows}\n{extra}"
        );
        let workspace = Workspace::new();
        let bench = workspace.open(&toml);
        bench.operation("t.a").digest()
    };
    let base = tool("a.db", "select 1", "10", "");
    assert_eq!(base, tool("a.db", "select 1", "10", ""));
    for other in [
        tool("b.db", "select 1", "10", ""),
        tool("a.db", "select 2", "10", ""),
        tool("a.db", "select 1", "11", ""),
        tool("a.db", "select 1", "10", "single = true"),
        tool("a.db", "select 1", "10", "trusted = true"),
    ] {
        assert_ne!(base, other);
    }
}

#[test]
fn a_files_tool_has_what_its_table_names() {
    let names = |ops: &str| {
        let workspace = Workspace::new();
        let toml = format!("[tools.f]\nkind = \"files\"\nroot = \"x\"\n{ops}");
        let bench = workspace.open(&toml);
        let name = |op: &Operation| format!("{}:{}", op.name, op.effect.word());
        bench
            .operations
            .iter()
            .map(name)
            .collect::<Vec<_>>()
            .join(" ")
    };
    assert_eq!(names(""), "f.list:read f.read:read f.search:read");
    assert_eq!(names("[tools.f.ops.search]"), "f.search:read");
    assert_eq!(
        names("[tools.f.ops.find]\nop = \"search\"\n[tools.f.ops.write]\n"),
        "f.find:read f.write:write"
    );
    assert_eq!(
        names("[tools.f.ops.w]\nop = \"write\"\noverwrite = true"),
        "f.w:destructive"
    );
    assert_eq!(
        names("[tools.f.ops.w]\nop = \"write\"\noverwrite = true\neffect = \"external\""),
        "f.w:external"
    );
}

const TOOLS: &str = r#"
[tools.t]
kind = "sq"
#> P006 `kind` must be one of `sql`, `files`, `http`, `command`, `mcp`, `model` -> did you mean `sql`?

[tools.t]
root = "x"
#> P005 the tool `t` needs the field `kind`

[tools.T]
kind = "files"
root = "x"
#> P010 `T` cannot name a tool

[tools.t]
kind = "files"
rot = "x"
#> P005 the tool `t` needs the field `root`
#> P004 the tool `t` has no field `rot` -> did you mean `root`?
"#;

const SQL: &str = r#"
querry = "select 1"
#> W801 an operation of a database needs one of
#> P004 the operation `t.a` has no field `querry` -> did you mean `query`?

query = "select 1"
execute = "delete from t"
#> W801 an operation of a database needs one of

query = "select :name"
#> P005 the parameters `:name` have no type

query = "select :nam"
input = { type = "object", properties = { name = { type = "string" } } }
#> W801 `input` does not declare the parameter `:nam` -> did you mean `name`?
#> W801 `input` declares `name`, which the statement does not use

query = "select ?"
#> W801 the parameter `?` is not of the form `:name`

adhoc = true
input = { type = "object" }
#> W801 an ad-hoc query has its own

adhoc = true
single = true
#> W801 `single` and `one` belong to `query`

query = "select 1"
single = true
one = true
#> W801 give either `single` or `one`

query = "select 1"
row = { type = "object" }
output = { type = "object" }
#> W801 give either `output` or `row`

execute = "delete from t"
row = { type = "object" }
#> W801 a statement that writes has no `row`

execute = "delete from t"
effect = "read"
#> W801 an operation like this is at least `write`, not `read`

query = "select 1"
effect = "raed"
#> P006 `effect` must be one of

query = "select 1"
timeout = "2h"
#> W801 `timeout` must lie between

query = "select 1"
timeout = 3
#> P006 `timeout` must be a text

query = "select 1"
max_rows = 0
#> W801 `max_rows` must lie between 1 and

query = "select 1"
max_bytes = 99999999999
#> W801 `max_bytes` must lie between 1 and

query = "select 1"
tags = ["a b"]
#> P010 `a b` cannot be a tag

query = "select 1"
tags = ["money", "prodution"]
#> W811 the tag `prodution` is not declared -> did you mean `production`?

query = "select 1"
tags = ["quarterly"]
#> W811 the tag `quarterly` is not declared

query = "select 1"
content = ["x"]
#> W801 `content` names `x`, which is no argument

query = "select 1"
output = "no.json"
#> W804 the schema `no.json` cannot be read

query = "select 1"
output = { type = "objekt" }
#> W804 the JSON Schema does not load

query = "select 1"
output = { schema = { type = "object" }, trusted = true, x = 1 }
#> P004 `output` has no field `x`

query = "select 1"
input = { type = "string" }
#> W804 the schema of `input` must have

query = "select 1"
reconcile = { tool = "x" }
#> P005 `reconcile` needs the field `landed`
#> P005 `reconcile` needs the field `final_after`

query = "select 1"
reconcile = { tool = "x", landed = "${ output.found }", final_after = "8d" }
#> W801 `final_after` must be at most 7d

query = "select 1"
preview = {}
#> P005 `preview` needs the field `tool`

query = "select 1"
values = { spend = "amount" }
#> W801 `values` counts `amount`, which is no argument

query = "select :to"
input = { type = "object", properties = { to = { type = "string" } } }
values = { spend = "to" }
#> W801 `values` counts `to`, which need not be a number

query = "select :n"
input = { type = "object", properties = { n = { type = "number" } } }
values = { Spend = "n" }
#> P010 `Spend` cannot name a counted value

query = "select :n"
input = { type = "object", properties = { n = { type = "number" } } }
values = { spend = 5 }
#> W801 a counted value names the argument that counts

query = "select 1"
creates = { kind = "Page" }
#> P005 `creates` needs the field `id`
#> P010 `Page` cannot name a kind of thing

query = "select 1"
creates = { kind = "page", id = "${ output.row_count }" }
#> W801 `creates` stands at a read, which makes nothing

execute = "delete from t"
effect = "write"
creates = { kind = "page", id = "${ output.id }" }
#> W801 `id` of `creates`: `output.id` is never there

execute = "delete from t"
effect = "write"
creates = { kind = "page", id = "${ steps.a.output.id }" }
#> W801 `id` of `creates`: `steps.a.output.id` is not in scope

execute = "delete from t"
effect = "write"
creates = { kind = "page", id = "page" }
#> W801 `id` of `creates`: it reads nothing of `output`

execute = "delete from t"
effect = "write"
creates = { kind = "page", id = "${ output.changed" }
#> W801 `id` of `creates`:

query = "select 1"
cost = 1
#> P006 `cost` must be a map

query = "select 1"
cost = {}
#> W801 `cost` says nothing

query = "select 1"
cost = { money = 0.02 }
#> P006 `money` must be an amount of money in quotes

query = "select 1"
cost = { money = "2 cents" }
#> P006 `2 cents` is not an amount of money

query = "select 1"
cost = { tokens_in = { max = 8000, prise = "3.00" } }
#> P004 `tokens_in` has no field `prise`

query = "select 1"
idempotency = { key = { arg = "k", ttl = "1h" } }
#> W801 a key in a table belongs to a tool of kind `sql`

query = "select 1"
idempotency = "naturel"
#> P006 `idempotency` must be one of
"#;

const FILES: &str = r#"
ops = { search = { input = { type = "object" } } }
#> W801 the operations of a files tool have their own `input`

ops = { search = { output = { type = "object" } } }
#> W801 the operations of a files tool have their own `output`

ops = { search = { op = "serch" } }
#> P006 `op` must be one of

ops = { find = { } }
#> P005 the operation `t.find` needs the field `op`

ops = { read = { overwrite = true } }
#> P004 the operation `t.read` has no field `overwrite`

ops = { write = { effect = "read" } }
#> W801 an operation like this is at least `write`

ops = { Read = { } }
#> P010 `Read` cannot name an operation
"#;

#[test]
fn every_wrong_setting_is_reported() {
    check_findings("", TOOLS);
    check_findings(
        "[tools.t]\nkind = \"sql\"\ndatabase = \"m.db\"\n[tools.t.ops.a]",
        SQL,
    );
    check_findings("[tools.t]\nkind = \"files\"\nroot = \"x\"", FILES);
}

#[test]
fn output_may_say_trusted_alone() {
    let workspace = Workspace::new();
    let bench = workspace.open(
        "[tools.f]\nkind = \"files\"\nroot = \"x\"\n[tools.f.ops.read]\n\
         output = { trusted = true }",
    );
    assert!(bench.operation("f.read").trusted);
}

/// Every key of an operation that stands in the table of the tool says where it belongs, and the
/// list of these keys is the one that the kinds read.
#[test]
fn a_key_of_an_operation_says_where_it_belongs() {
    let input = "input = { type = \"object\", properties = {} }";
    let tools = [
        (
            "kind = \"sql\"\ndatabase = \"m.db\"",
            "query = \"select 1\"",
        ),
        ("kind = \"files\"\nroot = \"x\"", "op = \"write\""),
        (
            "kind = \"http\"\nbase_url = \"http://127.0.0.1:9\"",
            "request = { method = \"GET\", path = \"/\" }\neffect = \"read\"",
        ),
        (
            "kind = \"command\"\nroot = \"x\"",
            "argv = [\"ls\"]\neffect = \"read\"\nINPUT",
        ),
        ("kind = \"mcp\"\ncommand = [\"x\"]", "effect = \"read\""),
        (
            "kind = \"model\"\nmodel = \"large\"",
            "does = \"generate\"\ninstructions = \"Write.\"\nINPUT",
        ),
        (
            "kind = \"model\"\nmodel = \"large\"",
            "does = \"judge\"\ncriterion = \"It is good.\"\nINPUT",
        ),
    ];
    let dir = Workspace::new();
    let unknown = |toml: &str, key: &str| {
        let head = "[models.large]\nbase_url = \"http://127.0.0.1:9\"\n";
        let listings = Listings::default().lenient();
        let found = configs_listed(&format!("{head}{toml}"), &dir.path("."), &listings);
        let found = found.err().unwrap_or_default().into_iter();
        let named = format!("has no field `{key}`");
        let hints: Vec<String> = found
            .filter(|finding| finding.message.contains(&named))
            .map(|finding| finding.hint.unwrap_or_default())
            .collect();
        hints
    };
    let mut read = BTreeSet::new();
    for (tool, operation) in tools {
        let operation = operation.replace("INPUT", input);
        let table = |more: &str, of_operation: &str| {
            format!("[tools.t]\n{tool}\n{more}\n[tools.t.ops.a]\n{operation}\n{of_operation}\n")
        };
        let hints = unknown(&table("", "zzzzzz = 1"), "zzzzzz");
        let names = hints[0].split('`').skip(1).step_by(2).map(str::to_owned);
        read.extend(names);
        for key in OPERATION_KEYS {
            for hint in unknown(&table(&format!("{key} = 1"), ""), key) {
                let place = "`[tools.t.ops.NAME]`";
                assert!(hint.contains(place), "{tool}: {key}: {hint}");
            }
        }
        // The control: what belongs to neither is no key of an operation.
        let hints = unknown(&table("zzzzzz = 1", ""), "zzzzzz");
        assert!(hints[0].starts_with("the fields are"), "{hints:?}");
    }
    let listed: BTreeSet<String> = OPERATION_KEYS.map(str::to_owned).into();
    assert_eq!(read, listed);
    // And what belongs to `request` is refused beside it.
    let http = tools
        .iter()
        .find(|(tool, _)| tool.contains("http"))
        .unwrap();
    let operation = http.1.replace("INPUT", input);
    let toml = format!(
        "[tools.t]\n{}\n[tools.t.ops.a]\n{operation}\nrest = \"json\"\n",
        http.0
    );
    let hint = "`rest` belongs to `request`: write it in its braces";
    assert_eq!(unknown(&toml, "rest"), [hint]);
    // And `response`, which a person wrote there, is refused of a command.
    let (tool, operation) = (tools[3].0, tools[3].1.replace("INPUT", input));
    let toml = format!("[tools.t]\n{tool}\nresponse = \"json\"\n[tools.t.ops.a]\n{operation}\n");
    assert_eq!(
        unknown(&toml, "response"),
        ["`response` belongs to an operation: write it in `[tools.t.ops.NAME]`"]
    );
}
