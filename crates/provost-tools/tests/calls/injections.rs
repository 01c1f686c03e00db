//! Lists of injections as arguments: `corpus/injections`, one a line. None gets through: an
//! argument stays the value that it is, or the call is refused before anything is done.

use std::os::unix::fs::symlink;

use super::server::{Server, json as answer};
use super::*;

mod naive;

/// The lines of a list by their class, which stands before them behind `## `.
pub(super) fn classes(name: &str) -> Vec<(String, Vec<String>)> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../corpus/injections");
    let text = std::fs::read_to_string(path.join(name)).unwrap();
    let mut classes: Vec<(String, Vec<String>)> = Vec::new();
    for line in text.lines() {
        match line.strip_prefix("## ") {
            Some(class) => classes.push((class.to_owned(), Vec::new())),
            None => classes.last_mut().unwrap().1.push(line.to_owned()),
        }
    }
    assert!(classes.iter().all(|(_, lines)| lines.len() > 2), "{name}");
    classes
}

pub(super) fn lines(name: &str) -> Vec<String> {
    let classes = classes(name).into_iter();
    let lines: Vec<String> = classes.flat_map(|(_, lines)| lines).collect();
    assert!(lines.len() > 50, "{name} is short");
    lines
}

/// What an editor shows of a byte that it cannot show, as that byte.
fn unwritten(line: &str) -> String {
    let [zero, line_end, back] = [("\\u0000", "\0"), ("\\u000a", "\n"), ("\\u000d", "\r")];
    let written = line.replace(zero.0, zero.1).replace(line_end.0, line_end.1);
    written.replace(back.0, back.1)
}

const STATEMENTS: &str = r#"
[tools.s.ops.by_name]
query = "select id from t where name = :name"
single = true
input = { type = "object", properties = { name = { type = "string" } }, required = ["name"] }
[tools.s.ops.echo]
query = "select cast(:name as text) as name, count(*) as n from t"
one = true
input = { type = "object", properties = { name = { type = "string" } }, required = ["name"] }
[tools.s.ops.note]
execute = "insert into log (text) values (:name)"
input = { type = "object", properties = { name = { type = "string" } }, required = ["name"] }
[tools.s.ops.noted]
query = "select count(*) as n from log"
one = true
"#;

/// Puts every line where a statement takes a value; the table of things keeps its two rows.
async fn sql_stays_a_value(bench: &Bench) {
    let lines = lines("sql.txt");
    for line in &lines {
        let args = json!({ "name": line });
        let found = bench.output("s.by_name", args.clone()).await;
        assert_eq!(found["found"], false, "{line}");
        let echo = bench.output("s.echo", args.clone()).await;
        assert_eq!(echo, json!({ "name": line, "n": 2 }));
        let noted = bench.output("s.note", args).await;
        assert_eq!(noted, json!({"changed": 1}), "{line}");
    }
    let noted = bench.output("s.noted", json!({})).await;
    assert_eq!(noted["n"], lines.len());
}

#[tokio::test]
async fn no_text_becomes_sql_in_sqlite() {
    let workspace = Workspace::new();
    let data = "create table t (id integer, name text); create table log (text text);
        insert into t values (1, 'a'), (2, 'b');";
    workspace.database("m.db", data);
    let place = "[tools.s]\nkind = \"sql\"\ndatabase = \"m.db\"\n";
    sql_stays_a_value(&workspace.open(&format!("{place}{STATEMENTS}"))).await;
}

#[tokio::test]
#[ignore = "needs the server that `scripts/full databases` starts"]
async fn no_text_becomes_sql_in_postgres_either() {
    let workspace = Workspace::new();
    workspace.write("secret", postgres::server().1);
    let url = postgres::database().await;
    let place = format!("[tools.s]\nkind = \"sql\"\nurl = \"{url}\"\npassword = \"file:secret\"\n");
    sql_stays_a_value(&workspace.open(&format!("{place}{STATEMENTS}"))).await;
}

const FILES: &str = r#"
[tools.s]
kind = "files"
root = "work"
[tools.s.ops]
read = { op = "read" }
search = { op = "search" }
write = { op = "write", effect = "destructive" }
move = { op = "move" }
delete = { op = "delete" }
"#;

/// A secret beside `work`, and links in there that lead out.
fn with_ways_out() -> Workspace {
    let workspace = Workspace::new();
    workspace
        .write("secret", "hunter2")
        .write("work/a.txt", "a");
    workspace.write("work/sub/b.txt", "b");
    symlink("..", workspace.path("work/up")).unwrap();
    symlink(workspace.path("."), workspace.path("work/out")).unwrap();
    symlink("../secret", workspace.path("work/alias")).unwrap();
    workspace
}

#[tokio::test]
async fn no_path_of_the_list_leaves_the_root() {
    let workspace = with_ways_out();
    let bench = workspace.open(FILES);
    let outside = |bench: &Bench| {
        let entries = std::fs::read_dir(bench.workspace.path(".")).unwrap();
        let mut names: Vec<_> = entries.map(|entry| entry.unwrap().file_name()).collect();
        names.sort();
        names
    };
    let before = outside(&bench);
    let mut refused = 0;
    for line in lines("paths.txt").iter().map(|line| unwritten(line)) {
        for (name, args) in [
            ("s.read", json!({"path": line})),
            ("s.search", json!({"glob": line, "contains": "hunter2"})),
            ("s.write", json!({"path": line, "text": "x"})),
            ("s.move", json!({"path": "sub/b.txt", "to": line})),
            ("s.move", json!({"path": line, "to": "sub/b.txt"})),
            ("s.delete", json!({"path": line})),
        ] {
            let reply = bench.call(name, args).await;
            let told = format!("{:?}", reply.output);
            assert!(!told.contains("hunter2"), "{name} {line}: {told}");
            refused += usize::from(reply.class != Class::Ok);
        }
    }
    // What is a name like any other (`~`, `-rf`) may be written, below the root.
    assert_eq!(outside(&bench), before);
    assert_eq!(
        std::fs::read_to_string(bench.workspace.path("secret")).unwrap(),
        "hunter2"
    );
    assert!(refused > 100, "{refused}");
}

const HTTP: &str = r#"
[tools.s]
kind = "http"
base_url = "URL"
[tools.s.ops.get]
request = { method = "GET", path = "/things/${ args.id }", query = { q = "${ args.id }" }, headers = { X-Id = "${ args.id }" } }
input = { type = "object", properties = { id = { type = "string" } }, required = ["id"] }
effect = "read"
"#;

#[tokio::test]
async fn no_address_of_the_list_is_reached() {
    let server = Server::start(|_| answer(200, "{}")).await;
    let bench = Workspace::new().open(&HTTP.replace("URL", &server.url()));
    for line in lines("addresses.txt").iter().map(|line| unwritten(line)) {
        let before = server.seen().len();
        let reply = bench.call("s.get", json!({"id": line})).await;
        if reply.class != Class::Ok {
            assert_eq!(said(&reply).0, "invalid_arguments none", "{line}");
            assert_eq!(server.seen().len(), before, "{line}");
            continue;
        }
        // It came to our server, under the path of the operation and nowhere else.
        let seen = server.seen();
        assert_eq!(seen.len(), before + 1, "{line}");
        let last = seen.last().unwrap();
        let target = last.line.split(' ').nth(1).unwrap();
        let (path, query) = target.split_once('?').unwrap();
        let id = path
            .strip_prefix("/things/")
            .unwrap_or_else(|| panic!("{line}: {path}"));
        assert!(!id.contains(['/', '\\', '#', '@', ' ']), "{line}: {path}");
        assert!(![".", ".."].contains(&id), "{line}: {path}");
        assert!(
            !query.trim_start_matches("q=").contains(['&', '#']),
            "{line}: {query}"
        );
        assert_eq!(last.header("x-injected"), None, "{line}");
        let host = server.address.to_string();
        assert_eq!(last.header("host"), Some(host.as_str()), "{line}");
    }
}
