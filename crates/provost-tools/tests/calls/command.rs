//! Commands: real programs, and every way we know of to make an argument more than a value.

use std::path::Path;
use std::time::{Duration, Instant};

use super::*;

const TOOL: &str = r#"
[tools.sh]
kind = "command"
root = "work"
env = { GREETING = "hello" }
timeout = "5s"
max_bytes = 2000
memory_bytes = 500000000

[tools.sh.ops.echo]
argv = ["printf", "[%s]", "--", "first", "${ args.text }", "n=${ args.count }"]
effect = "read"
input = { type = "object", properties = { text = { type = "string" }, count = { type = "integer" } }, required = ["text", "count"] }

[tools.sh.ops.value]
argv = ["printf", "[%s]", "${ args.text }"]
effect = "read"
input = { type = "object", properties = { text = {} }, required = ["text"] }

[tools.sh.ops.option]
argv = ["printf", "[%s]", "--name=${ args.text }"]
effect = "read"
input = { type = "object", properties = { text = { type = "string" } }, required = ["text"] }

[tools.sh.ops.count]
argv = ["wc", "-c"]
stdin = "text"
effect = "read"
input = { type = "object", properties = { text = {} } }

[tools.sh.ops.env]
argv = ["env"]
effect = "read"

[tools.sh.ops.pwd]
argv = ["pwd"]
effect = "read"

[tools.sh.ops.json]
argv = ["cat", "reply.json"]
effect = "read"
response = "json"

[tools.sh.ops.bytes]
argv = ["cat", "binary"]
effect = "read"

[tools.sh.ops.save]
argv = ["sh", "save", "${ args.code }"]
effect = "write"
input = { type = "object", properties = { code = { type = "integer" } }, required = ["code"] }
exit = { 3 = "not_found", 4 = "unavailable", 5 = "ok" }

[tools.sh.ops.proven]
argv = ["sh", "save", "${ args.code }"]
effect = "write"
input = { type = "object", properties = { code = { type = "integer" } }, required = ["code"] }
errors = "no_effect"

[tools.sh.ops.keyed]
argv = ["sh", "keyed"]
effect = "write"
idempotency = { key = { env = "RUN_KEY", ttl = "1h" } }

[tools.sh.ops.slow]
argv = ["sh", "slow"]
effect = "write"
timeout = "300ms"

[tools.sh.ops.leaves]
argv = ["sh", "leaves"]
effect = "read"

[tools.sh.ops.much]
argv = ["yes"]
effect = "write"

[tools.sh.ops.greedy]
argv = ["sh", "greedy"]
effect = "read"

[tools.sh.ops.missing]
argv = ["no-such-program"]
effect = "write"
"#;

fn bench() -> Bench {
    bench_of(TOOL)
}

fn bench_of(tool: &str) -> Bench {
    let workspace = Workspace::new();
    workspace
        .write("work/reply.json", r#"{"a": [1, 2]}"#)
        .write("work/binary", [0xff, 0xfe])
        .write("work/save", "echo done; echo 'it went wrong' >&2; exit $1")
        .write("work/keyed", "printf %s \"$RUN_KEY\"")
        // What it starts writes once the time is long over, unless it was ended too.
        .write("work/slow", "(sleep 1; echo late > late) & sleep 30")
        .write("work/leaves", "(sleep 1; echo late > late) & echo gone")
        .write(
            "work/greedy",
            "dd if=/dev/zero of=/dev/null bs=600M count=1",
        );
    workspace.open(tool)
}

/// What is sent as one value, and what the program gets for it: the value, or a refusal.
#[tokio::test]
async fn a_value_is_one_argument_whatever_it_holds() {
    let bench = bench();
    for line in injections::lines("arguments.txt") {
        let value: Value = serde_json::from_str(&line).unwrap();
        let reply = bench.call("sh.value", json!({ "text": value })).await;
        let text = match &value {
            Value::String(text) => text.clone(),
            other => other.to_string(),
        };
        let is_option = text.starts_with(['-', '@']);
        let is_value = !matches!(value, Value::Null | Value::Array(_) | Value::Object(_));
        if is_option || !is_value || text.contains('\0') {
            assert_eq!(said(&reply).0, "invalid_arguments none", "{line}");
        } else {
            assert_eq!(
                reply.output,
                Some(json!({ "text": format!("[{text}]") })),
                "{line}"
            );
        }
        // Behind `--`, and behind a literal beginning, it is the same value and no option.
        if let (Value::String(text), false) = (&value, text.contains('\0')) {
            let behind = json!({ "text": text, "count": 7 });
            let echoed = bench.output("sh.echo", behind).await;
            assert_eq!(
                echoed["text"],
                json!(format!("[--][first][{text}][n=7]")),
                "{line}"
            );
            let named = bench.output("sh.option", json!({ "text": text })).await;
            assert_eq!(named["text"], json!(format!("[--name={text}]")), "{line}");
        }
    }
}

#[tokio::test]
async fn a_program_sees_what_the_operator_gives_it_and_nothing_else() {
    let bench = bench();
    let env = bench.output("sh.env", json!({})).await;
    let seen = env["text"].as_str().unwrap().lines();
    // Why left out: where there are no control groups, a call is found by its mark.
    let mut seen: Vec<&str> = seen
        .filter(|line| !line.starts_with("PROVOST_CALL="))
        .collect();
    seen.sort_unstable();
    assert_eq!(
        seen,
        ["GREETING=hello", "PATH=/usr/local/bin:/usr/bin:/bin"]
    );
    let pwd = bench.output("sh.pwd", json!({})).await;
    let work = bench.workspace.path("work").canonicalize().unwrap();
    assert_eq!(pwd["text"].as_str().unwrap().trim(), work.to_string_lossy());
}

#[tokio::test]
async fn how_it_ends_says_what_came_of_it() {
    let bench = bench();
    assert_eq!(
        bench.output("sh.json", json!({})).await,
        json!({ "a": [1, 2] })
    );
    assert_eq!(
        bench.output("sh.save", json!({ "code": 0 })).await,
        json!({ "text": "done\n" })
    );
    assert_eq!(
        bench.output("sh.save", json!({ "code": 5 })).await,
        json!({ "text": "done\n" })
    );
    let table = r#"
        sh.bytes {}
        output_invalid happened: not text in UTF-8
        sh.save {"code": 3}
        not_found none: it went wrong; stdout: done
        sh.save {"code": 4}
        unavailable unknown: it went wrong
        sh.save {"code": 9}
        unavailable unknown: exit status: 9
        sh.proven {"code": 9}
        unavailable none: exit status: 9
        sh.missing {}
        unavailable none: cannot be started
        sh.much {}
        output_invalid unknown: more than 2000 bytes
    "#;
    check_calls(&bench, table).await;
}

#[tokio::test]
async fn a_failed_command_tells_the_beginning_and_the_end_of_both_outputs() {
    let workspace = Workspace::new();
    workspace.write(
        "work/build",
        "echo compiling; seq 1 80; echo 'test result: FAILED'; seq 1 4000 >&2; \
         echo 'error: it does not fit' >&2; exit 101",
    );
    let tool = "[tools.sh]\nkind = \"command\"\nroot = \"work\"\n\
                [tools.sh.ops.build]\nargv = [\"sh\", \"build\"]\neffect = \"read\"";
    let reply = workspace.open(tool).call("sh.build", json!({})).await;
    let (ended, message) = said(&reply);
    assert_eq!(ended, "unavailable unknown");
    for part in [
        "exit status: 101: 1 2 3 4",
        "3999 4000 error: it does not fit; stdout: compiling 1 2 3",
        "79 80 test result: FAILED",
    ] {
        assert!(message.contains(part), "{part}: {message}");
    }
    assert!(message.chars().count() <= 500, "{message}");
}

#[tokio::test]
async fn an_argument_goes_to_the_standard_input_however_long_it_is() {
    let bench = bench();
    let long = "a".repeat(200_000);
    let counts = [
        (json!({ "text": long }), "200000"),
        (json!({ "text": "-n @x $HOME\n" }), "12"),
        (json!({ "text": [1, "a"] }), "7"),
        (json!({}), "0"),
    ];
    for (args, wanted) in counts {
        let output = bench.output("sh.count", args).await;
        assert_eq!(output["text"].as_str().unwrap().trim(), wanted);
    }
    // Control: the same text as an argument is refused before anything runs, and in its own words.
    let reply = bench.call("sh.value", json!({ "text": long })).await;
    let (ended, message) = said(&reply);
    assert_eq!(ended, "invalid_arguments none");
    assert!(
        message.contains("longer than the system takes"),
        "{message}"
    );
    assert!(message.contains("standard input"), "{message}");
}

#[tokio::test]
async fn the_key_travels_in_its_variable() {
    let bench = bench();
    let reply = bench
        .call_with_key("sh.keyed", json!({}), Some("k-1"))
        .await;
    assert_eq!(reply.output, Some(json!({ "text": "k-1" })));
    let without = bench.call("sh.keyed", json!({})).await;
    assert_eq!(said(&without).0, "tool_bug none");
}

async fn comes(path: &Path) -> bool {
    tokio::time::sleep(Duration::from_millis(1_500)).await;
    path.exists()
}

/// Over time, and when it ends: whatever it started ends with it.
#[tokio::test]
async fn nothing_outlives_a_command() {
    let bench = bench();
    let began = Instant::now();
    let slow = bench.call("sh.slow", json!({})).await;
    assert_eq!(said(&slow).0, "timeout unknown");
    let leaves = bench.output("sh.leaves", json!({})).await;
    assert_eq!(leaves, json!({ "text": "gone\n" }));
    assert!(began.elapsed() < Duration::from_secs(5));
    assert!(!comes(&bench.workspace.path("work/late")).await);
    // Control: left alone, what is started does write.
    let work = bench.workspace.path("work");
    let mut alone = std::process::Command::new("sh");
    alone.arg("leaves").current_dir(&work).status().unwrap();
    assert!(comes(&bench.workspace.path("work/late")).await);
}

/// A call that nobody waits for any more takes its command with it.
#[tokio::test]
async fn a_call_that_is_dropped_ends_its_command() {
    let bench = bench();
    let call = bench.call("sh.slow", json!({}));
    let dropped = tokio::time::timeout(Duration::from_millis(150), call).await;
    assert!(dropped.is_err());
    assert!(!comes(&bench.workspace.path("work/late")).await);
}

#[tokio::test]
async fn memory_has_a_limit() {
    let greedy = bench().call("sh.greedy", json!({})).await;
    assert_eq!(said(&greedy).0, "unavailable unknown", "{greedy:?}");
    // Control: with a higher limit the same program does its work.
    let wide = bench_of(&TOOL.replace("memory_bytes = 500000000", "memory_bytes = 900000000"));
    wide.output("sh.greedy", json!({})).await;
}

#[tokio::test]
async fn a_secret_goes_to_the_program_and_into_no_record() {
    let workspace = Workspace::new();
    workspace
        .write("work/x", "")
        .write("token", "hunter2-hunter2");
    let bench = workspace.open(
        r#"
[tools.sh]
kind = "command"
root = "work"
secrets = { TOKEN = "file:token" }
[tools.sh.ops.env]
argv = ["env"]
effect = "read"
[tools.sh.ops.fails]
argv = ["sh", "-c", "echo $TOKEN >&2; exit 1"]
effect = "read"
"#,
    );
    let env = bench.call("sh.env", json!({})).await;
    let text = format!("{env:?}{}", String::from_utf8_lossy(&env.evidence));
    assert!(
        text.contains("TOKEN=") && !text.contains("hunter2"),
        "{text}"
    );
    let fails = bench.call("sh.fails", json!({})).await;
    assert!(!format!("{fails:?}").contains("hunter2"), "{fails:?}");
    std::fs::remove_file(bench.workspace.path("token")).unwrap();
    let lacks = bench.call("sh.env", json!({})).await;
    assert_eq!(said(&lacks).0, "unavailable none");
    assert!(lacks.lacks.is_some());
}

const PINNED: &str = r#"
[tools.sh]
kind = "command"
root = "work"
path = "bin:/usr/bin:/bin"
[tools.sh.ops.tool]
argv = ["tool"]
effect = "write"
[tools.sh.ops.script]
argv = ["sh", "-u", "script", "${ args.text }"]
effect = "write"
input = { type = "object", properties = { text = { type = "string" } }, required = ["text"] }
[tools.sh.ops.data]
argv = ["cat", "--", "data"]
effect = "read"
"#;

/// A workspace with a program, a script and a file that is only read.
fn with_programs() -> Workspace {
    let workspace = Workspace::new();
    for (path, text) in [
        ("work/bin/tool", "#!/bin/sh\necho good\n"),
        ("work/script", "echo good $1\n"),
        ("work/data", "one\n"),
    ] {
        workspace.write(path, text);
    }
    executable(&workspace.path("work/bin/tool"));
    workspace
}

fn executable(path: &Path) {
    use std::os::unix::fs::PermissionsExt as _;
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).unwrap();
}

#[tokio::test]
async fn a_program_that_was_swapped_since_the_workspace_was_opened_is_not_run() {
    let bench = with_programs().open(PINNED);
    let (tool, script) = (json!({}), json!({ "text": "a" }));
    bench.output("sh.tool", tool.clone()).await;
    bench.output("sh.script", script.clone()).await;
    let evil = "#!/bin/sh\ntouch evil\n";
    bench.workspace.write("work/bin/tool", evil);
    let refused = bench.call("sh.tool", tool.clone()).await;
    assert_eq!(said(&refused).0, "drift none", "{refused:?}");
    assert!(
        said(&refused)
            .1
            .contains("`work/bin/tool` changed after the workspace"),
        "{refused:?}"
    );
    bench.workspace.write("work/script", evil);
    assert_eq!(
        said(&bench.call("sh.script", script.clone()).await).0,
        "drift none"
    );
    assert!(!bench.workspace.path("work/evil").exists());
    // Back as it was, it runs: what counts are the bytes.
    bench.workspace.write("work/script", "echo good $1\n");
    bench.output("sh.script", script).await;
    // The control: what a program only reads may change.
    bench.workspace.write("work/data", "two\n");
    assert_eq!(bench.output("sh.data", json!({})).await["text"], "two\n");
}

#[tokio::test]
async fn a_program_that_another_place_now_leads_to_is_not_run() {
    let workspace = with_programs();
    std::fs::rename(workspace.path("work/script"), workspace.path("work/one")).unwrap();
    workspace.write("work/two", "touch evil\n");
    std::os::unix::fs::symlink("one", workspace.path("work/script")).unwrap();
    // A program of the system, found along the path behind a folder of the workspace.
    let bench = workspace.open(PINNED);
    let script = json!({ "text": "a" });
    bench.output("sh.script", script.clone()).await;
    bench.output("sh.data", json!({})).await;
    std::fs::remove_file(bench.workspace.path("work/script")).unwrap();
    std::os::unix::fs::symlink("two", bench.workspace.path("work/script")).unwrap();
    assert_eq!(said(&bench.call("sh.script", script).await).0, "drift none");
    bench
        .workspace
        .write("work/bin/cat", "#!/bin/sh\ntouch evil\n");
    executable(&bench.workspace.path("work/bin/cat"));
    assert_eq!(
        said(&bench.call("sh.data", json!({})).await).0,
        "drift none"
    );
    assert!(!bench.workspace.path("work/evil").exists());
}

#[tokio::test]
async fn what_is_pinned_is_part_of_the_operation_and_the_operator_may_let_it_be() {
    let digest = |bench: &Bench, name: &str| bench.operation(name).digest();
    let names = ["sh.tool", "sh.script", "sh.data"];
    let (one, same) = (with_programs().open(PINNED), with_programs().open(PINNED));
    // Why equal: where the workspace lies does not count.
    assert!(
        names
            .iter()
            .all(|name| digest(&one, name) == digest(&same, name))
    );
    let changed = with_programs();
    changed
        .write("work/bin/tool", "#!/bin/sh\necho other\n")
        .write("work/data", "two\n");
    let changed = changed.open(PINNED);
    let differ = names.map(|name| digest(&one, name) != digest(&changed, name));
    assert_eq!(differ, [true, false, false]);
    let free = PINNED.replace("root = \"work\"", "root = \"work\"\npin = \"none\"");
    let free = with_programs().open(&free);
    free.workspace
        .write("work/bin/tool", "#!/bin/sh\necho other\n");
    assert_eq!(free.output("sh.tool", json!({})).await["text"], "other\n");
    let all = PINNED.replace("root = \"work\"", "root = \"work\"\npin = \"content\"");
    let all = with_programs().open(&all);
    assert_ne!(
        digest(&all, "sh.data"),
        digest(&one, "sh.data"),
        "`cat` itself is pinned"
    );
    all.output("sh.data", json!({})).await;
}

#[test]
fn a_root_that_governs_the_workspace_is_refused() {
    let workspace = Workspace::new();
    workspace
        .write("provost.toml", "")
        .write("policies/a.cedar", "");
    for root in [".", "policies", "work/../policies"] {
        std::fs::create_dir_all(workspace.path("work")).unwrap();
        let tool = format!(
            "[tools.sh]\nkind = \"command\"\nroot = \"{root}\"\n[tools.sh.ops.a]\n\
             argv = [\"true\"]\neffect = \"read\"\n"
        );
        let errors = workspace.refusal(&tool);
        assert_eq!(errors.len(), 1, "{root}: {errors:?}");
    }
}

const TOOLS: &str = r#"
ops = { }
#> P005 the tool `p` needs the field `root`

root = "w"
#> P005 the tool `p` needs the field `ops`

root = "w"
env = { PATH = "/bin" }
ops = { }
#> W801 the variable `PATH` is set by `path`

root = "w"
env = { "A-B" = "x", C = 1 }
ops = { }
#> W801 `A-B` cannot name a variable
#> W801 a variable is a text

root = "w"
secrets = { TOKEN = "hunter2-hunter2" }
ops = { }
#> W801 a secret is named by

root = "w"
memory_bytes = 5
ops = { }
#> W801 `memory_bytes` must be at least
"#;

const LINES: &str = r#"
#> P005 the operation `p.a` needs the field `argv`

argv = []
#> W801 `argv` names no program

argv = ["${ args.name }"]
#> W801 the program is the operator's

argv = ["bin/tool"]
#> W801 `bin/tool` must be an absolute path

argv = ["tool", 1]
#> W801 an argument is a text

argv = ["tool"]
stdin = "nam"
#> W801 `stdin` names `nam`, which `input` lacks

argv = ["tool", "-${ args.name }"]
#> W801 `-${ args.name }` would let a call choose the option

argv = ["tool", "--${ args.name }"]
#> W801 `--${ args.name }` would let a call choose the option

argv = ["tool", "${ args.nam }"]
#> W801 the command reads `args.nam`, which `input` lacks -> did you mean `name`?

argv = ["tool", "${ steps.a.output }"]
#> R107 `steps` cannot be read in a command -> a command sees

argv = ["tool", "${ key }"]
#> W801 the command reads `key`, and the operation has no

argv = ["tool"]
exit = { 0 = "ok" }
#> W801 `0` is no exit code

argv = ["tool"]
exit = { 1 = "not_fond" }
#> W801 an exit code stands for one of

argv = ["tool"]
idempotency = { key = { header = "K", ttl = "1h" } }
#> W801 the key of a command travels in `env`

argv = ["tool"]
idempotency = { key = { env = "K-1", ttl = "1h" } }
#> W801 `K-1` cannot name a variable
"#;

#[test]
fn every_wrong_setting_is_reported() {
    let tool = "[tools.p]\nkind = \"command\"";
    check_findings(tool, TOOLS);
    let input = "input = { type = \"object\", properties = { name = { type = \"string\" } } }";
    let operation = format!("{tool}\nroot = \"w\"\n[tools.p.ops.a]\neffect = \"write\"\n{input}");
    check_findings(&operation, LINES);
    let bare = format!("{tool}\nroot = \"w\"\n[tools.p.ops.a]\nargv = [\"true\"]");
    check_findings(
        &bare,
        "#> P005 the operation `p.a` needs the field `effect`",
    );
}
