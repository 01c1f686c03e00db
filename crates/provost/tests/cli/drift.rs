//! What is pinned of a tool that no server describes: its entry. Edited after `tools lock`, it is
//! refused; locked again, what was saved or approved under the old entry holds no longer.

use sim::world::Local;

use super::pager::pages;
use super::workplace::Workplace;

const PLAYBOOK: &str = r#"
schema: provost/playbook/v1
match: "Do it"
goal: { success: [ { id: done, text: it is done } ] }
plan:
  steps:
    - { id: do, tool: t.act, args: ARGS, approval: required, on_failure: stop }
  success:
    - { for: done, check: '${ steps.do.status == "succeeded" }' }
  answer:
    - { text: Done., cites: [do] }
"#;

/// A kind of tool: its entry, the arguments, what an editor puts for what.
struct Kind {
    entry: &'static str,
    args: &'static str,
    edit: (&'static str, &'static str),
}

const TEXT: &str = r#"input = { type = "object", properties = { text = { type = "string" } }, required = ["text"] }"#;

const KINDS: [Kind; 4] = [
    Kind {
        entry: r#"
kind = "command"
root = "work"
[tools.t.ops.act]
argv = ["sh", "-c", "echo done >done", "--", "${ args.text }"]
effect = "write"
INPUT
"#,
        args: "{ text: x }",
        edit: ("echo done >done", "echo twice >done"),
    },
    Kind {
        entry: r#"
kind = "files"
root = "work"
[tools.t.ops.act]
op = "write"
effect = "write"
"#,
        args: "{ path: done, text: x }",
        edit: ("op = \"write\"", "op = \"write\"\noverwrite = true"),
    },
    Kind {
        entry: r#"
kind = "sql"
database = "data/shop.db"
[tools.t.ops.act]
execute = "insert into orders values (:text)"
effect = "write"
INPUT
"#,
        args: "{ text: x }",
        edit: ("values (:text)", "values (:text), (:text)"),
    },
    // What `tools add --openapi` writes is an entry of this kind.
    Kind {
        entry: r#"
kind = "http"
base_url = "URL"
[tools.t.ops.act]
request = { method = "POST", path = "/pages", body = { message = "${ args.text }" } }
effect = "write"
INPUT
"#,
        args: "{ text: x }",
        edit: ("path = \"/pages\"", "path = \"/pages/now\""),
    },
];

/// A workspace whose plan was saved, and waits for its yes besides.
fn saved(kind: &Kind, url: &str) -> (Workplace, String) {
    let place = Workplace::new();
    let config = std::fs::read_to_string(place.path("provost.toml")).unwrap();
    let entry = kind.entry.replace("INPUT", TEXT).replace("URL", url);
    place.write("provost.toml", format!("{config}\n[tools.t]{entry}"));
    place.write("playbooks/do.yaml", PLAYBOOK.replace("ARGS", kind.args));
    std::fs::create_dir(place.path("work")).unwrap();
    place.run(&["tools", "lock"]).exits(0);
    place.run(&["plan", "Do it", "-o", "saved.json"]).exits(0);
    place.run(&["run", "Do it"]).exits(3);
    let (run, card) = place.card();
    (place, format!("{run}@{card}"))
}

/// How often it was done.
fn done(place: &Workplace, world: &Local) -> u64 {
    let database = rusqlite::Connection::open(place.path("data/shop.db")).unwrap();
    let count = "select count(*) from orders where customer = 'x'";
    let rows: i64 = database.query_row(count, [], |row| row.get(0)).unwrap();
    u64::try_from(rows).unwrap() + pages(world) + u64::from(place.path("work/done").exists())
}

#[test]
fn an_entry_that_was_edited_voids_what_was_saved_and_approved() {
    for kind in KINDS {
        let state = tempfile::tempdir().unwrap();
        let world = Local::start(&state.path().join("world.json")).unwrap();
        let (place, target) = saved(&kind, &world.url());
        place.edit("provost.toml", kind.edit.0, kind.edit.1);
        for args in [["apply", "saved.json"], ["approve", target.as_str()]] {
            let ran = place.run(&args).exits(2);
            assert!(
                ran.stderr.contains("`t.act` differs from provost.lock"),
                "{ran}"
            );
        }
        place.run(&["tools", "lock"]).exits(0);
        let stale = place.run(&["apply", "saved.json"]).exits(2);
        assert!(stale.stderr.contains("saved plan is stale"), "{stale}");
        place.run(&["approve", &target]);
        assert_eq!(
            done(&place, &world),
            0,
            "{}: {}",
            kind.entry,
            place.status()
        );
        assert_ne!(place.status(), "succeeded");
    }
}

/// The control: where nobody edits it, the same yes carries it out, once.
#[test]
fn an_entry_that_nobody_edited_holds() {
    for kind in KINDS {
        let state = tempfile::tempdir().unwrap();
        let world = Local::start(&state.path().join("world.json")).unwrap();
        let (place, target) = saved(&kind, &world.url());
        place.run(&["approve", &target]).exits(0);
        assert_eq!(done(&place, &world), 1, "{}", kind.entry);
    }
}
