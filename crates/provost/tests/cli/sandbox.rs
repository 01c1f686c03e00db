//! Programs and servers that reach the files they were given, and no others.

use super::scripted;
use super::workplace::{Ran, Workplace};

const TOOL: &str = r#"
[tools.lines]
kind = "command"
root = "lines"
SANDBOX
[tools.lines.ops.read]
argv = ["cat", "--", "${ args.path }"]
input = { type = "object", properties = { path = { type = "string" } }, required = ["path"] }
effect = "read"
exit = { 1 = "permission_denied" }
[tools.lines.ops.copy]
argv = ["cp", "--", "all.txt", "${ args.path }"]
input = { type = "object", properties = { path = { type = "string" } }, required = ["path"] }
effect = "write"
exit = { 1 = "permission_denied" }
"#;

const READS_AND_WRITES: &str = "sandbox = { reads = [\"shared\"], writes = [\"out\"] }";

fn place(sandbox: &str) -> Workplace {
    let place = Workplace::new();
    let config = std::fs::read_to_string(place.path("provost.toml")).unwrap();
    place.write("provost.toml", config + &TOOL.replace("SANDBOX", sandbox));
    for path in [
        "lines/all.txt",
        "shared/list.txt",
        "private/list.txt",
        "out/old.txt",
    ] {
        place.write(path, "Milk, bread\n");
    }
    place
}

fn call(place: &Workplace, op: &str, path: &str) -> Ran {
    place.run(&["tools", "call", op, &format!("path={path}")])
}

/// The media types of all evidence.
fn media(place: &Workplace) -> Vec<String> {
    let journal = rusqlite::Connection::open(place.path(".provost/journal.db")).unwrap();
    let mut rows = journal
        .prepare("select distinct media from evidence")
        .unwrap();
    let media = rows.query_map([], |row| row.get(0)).unwrap();
    media.map(Result::unwrap).collect()
}

/// Whether this kernel holds a sandbox at all; without, nothing is started.
fn is_held(place: &Workplace) -> bool {
    let shown = place.run(&["tools", "show", "lines.read"]).exits(0);
    assert!(
        shown.stdout.contains("reads `shared`, writes `out`"),
        "{shown}"
    );
    let held = shown.stdout.contains("; this kernel holds it\n");
    println!("held: {held}");
    held
}

#[test]
fn a_command_reaches_the_files_it_was_given() {
    let place = place(READS_AND_WRITES);
    if !is_held(&place) {
        let ran = call(&place, "lines.read", "all.txt").exits(1);
        assert!(
            ran.stderr.contains("this kernel holds the sandbox in"),
            "{ran}"
        );
        return;
    }
    call(&place, "lines.read", "all.txt").exits(0);
    call(&place, "lines.read", "../shared/list.txt").exits(0);
    call(&place, "lines.read", "../out/old.txt").exits(0);
    for path in [
        "../private/list.txt",
        "/etc/hostname",
        "../provost.toml",
        "../.provost/journal.db",
    ] {
        let ran = call(&place, "lines.read", path).exits(1);
        assert!(
            ran.to_string().contains("Permission denied"),
            "{path}: {ran}"
        );
    }
    call(&place, "lines.copy", "../out/new.txt").exits(0);
    assert!(place.path("out/new.txt").exists());
    for path in [
        "../shared/new.txt",
        "new.txt",
        "../private/list.txt",
        "../provost.lock",
    ] {
        let ran = call(&place, "lines.copy", path);
        assert!(
            ran.to_string().contains("Permission denied"),
            "{path}: {ran}"
        );
    }
    assert!(!place.path("shared/new.txt").exists() && !place.path("lines/new.txt").exists());
    assert!(media(&place).contains(&"text/plain; sandbox=full".to_owned()));
}

/// The control: without a sandbox the same calls are carried out.
#[test]
fn without_a_sandbox_it_reaches_what_its_user_may() {
    let place = place("");
    call(&place, "lines.read", "../private/list.txt").exits(0);
    call(&place, "lines.read", "../provost.toml").exits(0);
    call(&place, "lines.copy", "../shared/new.txt").exits(0);
    assert!(place.path("shared/new.txt").exists());
    assert!(!media(&place).iter().any(|media| media.contains("sandbox")));
}

#[test]
fn a_sandbox_that_cannot_be_is_refused() {
    for (sandbox, said) in [
        ("sandbox = { reads = [\".\"] }", "through `sandbox`"),
        ("sandbox = { writes = [\"policies\"] }", "through `sandbox`"),
        ("sandbox = { reads = [\"/\"] }", "through `sandbox`"),
        ("sandbox = { read = [\"shared\"] }", "did you mean `reads`"),
        ("sandbox = { level = \"some\" }", "best-effort"),
        ("sandbox = { reads = [\"\"] }", "has a name"),
    ] {
        let ran = call(&place(sandbox), "lines.read", "all.txt").exits(2);
        assert!(ran.stderr.contains(said), "{sandbox}: {ran}");
    }
    // What is not there is told at the call: nothing was started.
    let place = place("sandbox = { reads = [\"nowhere\"], level = \"best-effort\" }");
    let ran = call(&place, "lines.copy", "new.txt").exits(1);
    assert!(
        ran.to_string().contains("of the sandbox cannot be opened"),
        "{ran}"
    );
    assert!(!place.path("lines/new.txt").exists());
}

#[test]
fn a_server_reaches_the_files_it_was_given() {
    for (sandbox, appends) in [
        ("", true),
        (
            "sandbox = { reads = [\"server\"], writes = [\"state\"] }\n",
            true,
        ),
        ("sandbox = { reads = [\"server\", \"state\"] }\n", false),
    ] {
        let place = scripted::workplace();
        place.write("state", "");
        let command = "kind = \"mcp\"\ncommand = [\"./server\", \"--state\", \"state\"]\n";
        let config = std::fs::read_to_string(place.path("provost.toml")).unwrap();
        let tool = format!(
            "\n[tools.helper]\n{command}{sandbox}[tools.helper.ops.append]\neffect = \"write\"\n"
        );
        place.write("provost.toml", config + &tool);
        place.run(&["tools", "lock"]).exits(0);
        let ran = place.run(&["tools", "call", "helper.append", "line=milk"]);
        let state = std::fs::read_to_string(place.path("state")).unwrap();
        assert_eq!(state.contains("milk"), appends, "{sandbox}: {ran}");
        let noted = media(&place)
            .iter()
            .any(|media| media.ends_with("; sandbox=full"));
        assert_eq!(noted, appends && !sandbox.is_empty(), "{ran}");
    }
}
