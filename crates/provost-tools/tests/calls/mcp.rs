//! The tool kind `mcp` against a scripted server in a process of its own: every fault it can show,
//! with what provost makes of it and what really took place.

use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use super::*;

#[path = "../../../sim/tests/built/mcp.rs"]
mod built;

fn binary() -> &'static Path {
    static BUILT: OnceLock<PathBuf> = OnceLock::new();
    BUILT.get_or_init(|| {
        let own = std::env::current_exe().unwrap();
        built::server(own.parent().and_then(Path::parent).unwrap())
    })
}

const OPERATIONS: &str = r#"
[tools.s.ops.add]
effect = "read"
[tools.s.ops.count]
effect = "read"
[tools.s.ops.echo]
effect = "write"
[tools.s.ops.leak]
effect = "read"
[tools.s.ops.mixed]
effect = "read"
[tools.s.ops.read_fail]
tool = "fail"
effect = "read"
[tools.s.ops.append]
effect = "write"
content = ["line"]
[tools.s.ops.die]
effect = "write"
[tools.s.ops.die_first]
effect = "write"
[tools.s.ops.hang]
effect = "write"
timeout = "400ms"
[tools.s.ops.hang_first]
effect = "read"
timeout = "400ms"
[tools.s.ops.fail]
effect = "write"
[tools.s.ops.fail_after]
effect = "write"
[tools.s.ops.harmless]
tool = "fail"
effect = "write"
errors = "no_effect"
[tools.s.ops.refuse]
effect = "write"
[tools.s.ops.garbage]
effect = "write"
timeout = "400ms"
[tools.s.ops.mistake]
effect = "write"
[tools.s.ops.two_things]
effect = "write"
result = "json"
[tools.s.ops.huge]
effect = "write"
max_bytes = 100_000
[tools.s.ops.lie]
effect = "write"
[tools.s.ops.bare]
effect = "write"
[tools.s.ops.as_json]
tool = "bare"
effect = "read"
result = "json"
output = { type = "integer" }
[tools.s.ops.no_json]
tool = "append"
effect = "write"
result = "json"
[tools.s.ops.ask]
effect = "external"
[tools.s.ops.want]
effect = "external"
[tools.s.ops.ask_answered]
tool = "ask"
effect = "external"
answers = { type = "object", properties = { sure = {}, other = { type = "string" } } }
[tools.s.ops.want_answered]
tool = "want"
effect = "external"
answers = { type = "object", properties = { sure = { type = "boolean" } }, required = ["sure"] }
[tools.s.ops.sample]
effect = "write"
[tools.s.ops.slow]
effect = "write"
timeout = "700ms"
[tools.s.ops.change]
effect = "write"
[tools.s.ops.by_arg]
tool = "append_keyed"
effect = "write"
idempotency = { key = { arg = "key", ttl = "1h" } }
[tools.s.ops.by_meta]
tool = "append_keyed"
effect = "write"
idempotency = { key = { meta = "example.org/key", ttl = "1h" } }
"#;

/// The table of a server with these further arguments, up to its operations.
fn server(arguments: &str) -> String {
    let binary = binary().display();
    format!(
        "[tools.s]\nkind = \"mcp\"\nmax_bytes = 200_000\nenv = {{ TOLD = \"env:PROVOST_TEST_MCP\" }}\n\
         command = [\"{binary}\", \"--state\", \"state\"{arguments}]\n"
    )
}

/// What the server of this table lists.
async fn listing(workspace: &Workspace, toml: &str) -> Listing {
    let lenient = Listings::default().lenient();
    let configs = configs_listed(toml, workspace.dir.path(), &lenient).unwrap();
    let toolbox = Toolbox::open(workspace.dir.path(), configs).unwrap();
    let listed = toolbox.listing("s", Duration::from_secs(20)).await;
    listed.unwrap_or_else(|reply| panic!("{reply:#?}"))
}

fn listings(listing: Listing) -> Listings {
    Listings::new([("s".to_owned(), listing)].into())
}

/// A workspace whose server is pinned as an honest one lists itself.
async fn bench(arguments: &str) -> Bench {
    let workspace = Workspace::new();
    workspace.write("secret", "hunter2hunter2");
    let head = |arguments: &str| {
        server(arguments).replace("env:PROVOST_TEST_MCP", "file:secret") + OPERATIONS
    };
    let stateless = if arguments.contains("--stateless") {
        ", \"--stateless\""
    } else {
        ""
    };
    let pinned = listings(listing(&workspace, &head(stateless)).await);
    workspace.open_listed(&head(arguments), &pinned)
}

fn effects(bench: &Bench) -> Vec<String> {
    let text = std::fs::read_to_string(bench.workspace.path("state")).unwrap_or_default();
    text.lines().map(str::to_owned).collect()
}

/// Class, landing and how often it took place; then a part of the message.
const FAULTS: &str = r#"
    die {"line":"a"}
    unavailable unknown 1: the server ended before it answered; its last words: out of memory
    die_first {"line":"a"}
    unavailable unknown 0: the server ended before it answered
    hang {"line":"a"}
    timeout unknown 1: no answer within 400ms
    hang_first {"line":"a"}
    timeout unknown 0: no answer within 400ms
    fail {"line":"the moon is full"}
    conflict unknown 0: the server says: the moon is full
    fail {"line":"ENOENT: no such file"}
    not_found unknown 0: no such file
    fail {"line":"Access denied - path outside"}
    permission_denied unknown 0: Access denied
    fail {"line":"MCP error -32602: Input validation error"}
    invalid_arguments unknown 0: validation error
    fail {"line":"Rate limit exceeded"}
    rate_limited unknown 0: Rate limit
    fail_after {"line":"half"}
    conflict unknown 1: half
    read_fail {"line":"the moon is full"}
    conflict none 0: the moon
    harmless {"line":"the moon is full"}
    conflict none 0: the moon
    refuse {"line":"-32601"}
    not_found none 0: refused with -32601
    refuse {"line":"-32602"}
    invalid_arguments unknown 0: refused with -32602
    refuse {"line":"-32603"}
    unavailable unknown 0: refused
    garbage {"line":"a"}
    timeout unknown 0: no answer within 400ms
    mistake {"line":"a"}
    output_invalid unknown 0: is no answer to the call
    two_things {"line":"flat"}
    output_invalid happened 1: the name `sum` stands twice in a map
    two_things {"line":"deep"}
    output_invalid happened 1: the name `sum` stands twice in a map
    two_things {"line":"error"}
    output_invalid unknown 1: the name `isError` stands twice in a map
    huge {"line":"150000"}
    output_invalid happened 0: `max_bytes` allows
    huge {"line":"100000000"}
    output_invalid unknown 0: a message of more than 1848576 bytes
    lie {"line":"a"}
    output_invalid happened 0: does not fit the server's own schema at `/sum`
    bare {"line":"a"}
    output_invalid happened 0: declares the output of the tool and gives none
    no_json {"line":"a"}
    output_invalid happened 1: is not JSON
    slow {"line":"1600"}
    timeout unknown 0: it said it had come to 1 of 4
    echo {"text":5}
    invalid_arguments none 0: text
    echo {"text":"a","more":"b"}
    invalid_arguments none 0: more
"#;

#[tokio::test(flavor = "multi_thread")]
async fn every_fault_has_its_class_and_its_landing() {
    for stateless in ["", ", \"--stateless\""] {
        let bench = bench(stateless).await;
        let lines = FAULTS
            .lines()
            .map(str::trim)
            .filter(|line| !line.is_empty());
        for pair in lines.collect::<Vec<_>>().chunks_exact(2) {
            let before = effects(&bench).len();
            let (name, args) = pair[0].split_once(' ').unwrap();
            let name = &format!("s.{name}");
            let (expected, part) = pair[1].split_once(": ").unwrap();
            let began = Instant::now();
            let reply = bench.call(name, serde_json::from_str(args).unwrap()).await;
            let (words, text) = said(&reply);
            assert!(
                reply.refused_args.is_empty(),
                "{}: a server says so",
                pair[0]
            );
            let took_place = effects(&bench).len() - before;
            assert_eq!(
                format!("{words} {took_place}"),
                expected,
                "{}: {text}",
                pair[0]
            );
            assert!(text.contains(part), "{}: {text}", pair[0]);
            // A fault is a failure class, never a hang; the longest is a hundred megabytes.
            assert!(began.elapsed() < Duration::from_secs(25), "{}", pair[0]);
            // Whatever it did, the next call finds a server that answers.
            assert_eq!(
                bench.output("s.add", json!({"a": 2, "b": 3})).await,
                json!({"sum": 5})
            );
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn results_are_typed() {
    for stateless in ["", ", \"--stateless\""] {
        let bench = bench(stateless).await;
        let output = bench.output("s.echo", json!({"text": "good day"})).await;
        assert_eq!(output, json!({"text": "good day"}));
        assert_eq!(
            bench.output("s.as_json", json!({"line": "a"})).await,
            json!(5)
        );
        // What is no text stands in the evidence.
        let mixed = bench.call("s.mixed", json!({"line": "a"})).await;
        assert_eq!(mixed.output, Some(json!({"text": "a"})));
        let evidence = String::from_utf8(mixed.evidence).unwrap();
        assert!(
            evidence.contains("inside") && evidence.contains("image/png"),
            "{evidence}"
        );
        assert_eq!(mixed.media, "application/json");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_key_goes_where_the_operator_says() {
    let bench = bench("").await;
    for name in ["s.by_arg", "s.by_meta"] {
        for _ in 0..2 {
            let reply = bench
                .call_with_key(name, json!({"line": name}), Some("k1"))
                .await;
            assert_eq!(reply.output, Some(json!({"text": "k1"})), "{reply:?}");
        }
    }
    assert_eq!(effects(&bench), ["s.by_arg under k1", "s.by_meta under k1"]);
    // The control: without a key nothing is sent.
    let (words, text) = said(&bench.call("s.by_arg", json!({"line": "x"})).await);
    assert_eq!(
        (words.as_str(), effects(&bench).len()),
        ("tool_bug none", 2),
        "{text}"
    );
    // No plan may set it.
    let input = bench.operation("s.by_arg").input.value();
    assert!(input["properties"].get("key").is_none(), "{input}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_secret_that_comes_back_is_taken_out() {
    let bench = bench("").await;
    let reply = bench.call("s.leak", json!({"line": "TOLD"})).await;
    assert_eq!(reply.output, Some(json!({"text": "[redacted]"})));
    assert!(
        !String::from_utf8(reply.evidence)
            .unwrap()
            .contains("hunter2")
    );
    // The environment is empty beside what the operator gives and the path.
    for (name, expected) in [("HOME", "there is none"), ("CARGO", "there is none")] {
        let output = bench.output("s.leak", json!({"line": name})).await;
        assert_eq!(output, json!({"text": expected}));
    }
    assert_ne!(
        bench.output("s.leak", json!({"line": "PATH"})).await["text"],
        "there is none"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn without_its_secret_a_server_is_not_started() {
    let bench = bench("").await;
    std::fs::remove_file(bench.workspace.path("secret")).unwrap();
    let reply = bench.call("s.append", json!({"line": "a"})).await;
    assert_eq!(said(&reply).0, "unavailable none");
    assert_eq!(reply.lacks.as_deref(), Some("file:secret"));
    assert_eq!(bench.toolbox.troubles().len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn nobody_is_asked_and_no_model_is_lent() {
    let bench = bench("").await;
    let (words, text) = said(&bench.call("s.ask", json!({"line": "Really?"})).await);
    assert_eq!(words, "permission_denied unknown");
    assert!(
        text.contains("asked a person") && text.contains("Really?"),
        "{text}"
    );
    assert!(text.contains("it asks for sure"), "{text}");
    let output = bench.output("s.sample", json!({"line": "a"})).await;
    assert_eq!(output, json!({"text": "the client says -32601"}));
    let stateless = mcp::bench(", \"--stateless\"").await;
    let (words, text) = said(&stateless.call("s.want", json!({"line": "a"})).await);
    assert_eq!(words, "permission_denied unknown", "{text}");
}

/// A form is filled from the answers of its own call, if all that it asks for is there and fits.
#[tokio::test(flavor = "multi_thread")]
async fn a_form_is_filled_from_the_answers_of_the_call() {
    let bench = bench("").await;
    let args = |answers: Value| json!({ "line": "Really?", "answers": answers });
    let output = bench
        .output(
            "s.ask_answered",
            args(json!({ "sure": true, "other": "x" })),
        )
        .await;
    let accepted = "the answer was \"accept\" {\"sure\":true}";
    assert_eq!(output, json!({ "text": accepted }));
    for answers in [
        json!({ "sure": "certainly" }),
        json!({ "other": "x" }),
        json!({}),
    ] {
        let (words, text) = said(&bench.call("s.ask_answered", args(answers)).await);
        assert_eq!(words, "permission_denied unknown", "{text}");
        assert!(text.contains("it asks for sure; the answers:"), "{text}");
    }
    // Without the entry's word there is no such argument.
    let (words, _) = said(&bench.call("s.ask", args(json!({ "sure": true }))).await);
    assert_eq!(words, "invalid_arguments none");

    let stateless = mcp::bench(", \"--stateless\"").await;
    let sure = args(json!({ "sure": true }));
    let output = stateless.output("s.want_answered", sure).await;
    assert_eq!(output, json!({ "text": "{\"sure\":true}" }));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_tool_that_differs_is_not_called() {
    let changed = "the server's `echo` differs from provost.lock for `s.echo`: changed in \
                   description; pinned sha256:";
    let gone = "the server has no tool `echo` any more; provost.lock holds sha256:";
    let table = [
        ("changed", "drift none", changed),
        ("without", "drift none", gone),
        ("more", "ok happened", ""),
        ("twice", "output_invalid none", "lists `add` twice"),
        ("circle", "output_invalid none", "lists `add` twice"),
        ("huge", "output_invalid none", "in a message of more than"),
        ("exit", "unavailable none", "cannot find what I need"),
        (
            "mute",
            "timeout none",
            "did not say what it can do within 3s",
        ),
    ];
    for (fault, expected, part) in table {
        let bench = bench(&format!(", \"--start\", \"{fault}\"")).await;
        let mut echo = bench.operation("s.echo").clone();
        echo.timeout = Duration::from_secs(3);
        let (words, text) = said(&bench.call_operation(echo, json!({"text": "a"})).await);
        assert_eq!(words, expected, "{fault}: {text}");
        assert!(text.contains(part), "{fault}: {text}");
        // Drift stops that tool and no other.
        if expected.starts_with("drift") {
            bench.output("s.append", json!({"line": "a"})).await;
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_tool_that_changes_while_the_server_runs_is_not_called_again() {
    let bench = bench("").await;
    bench.output("s.echo", json!({"text": "a"})).await;
    bench.output("s.change", json!({"line": "a"})).await;
    // Twice: the session that was told of it, and one that begins anew.
    for _ in 0..2 {
        let (words, text) = said(&bench.call("s.echo", json!({"text": "a"})).await);
        assert_eq!(words, "drift none", "{text}");
        bench.call("s.die_first", json!({"line": "a"})).await;
    }
    bench.output("s.add", json!({"a": 1, "b": 1})).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_that_hangs_does_not_take_others_with_it() {
    let bench = bench("").await;
    bench.output("s.count", json!({})).await;
    let (slow, hung) = tokio::join!(
        bench.call("s.slow", json!({"line": "500"})),
        bench.call("s.hang_first", json!({"line": "a"}))
    );
    assert_eq!(said(&hung).0, "timeout unknown");
    assert_eq!(said(&slow).0, "ok happened", "{slow:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn no_process_outlives_the_toolbox() {
    let workspace = Workspace::new();
    // Beside the server runs what it started, which does not end with its stdin.
    let script = format!(
        "sleep 600 & echo $! > pid; exec '{}' --state state",
        binary().display()
    );
    let toml = format!(
        "[tools.s]\nkind = \"mcp\"\ncommand = [\"sh\", \"-c\", {}]\n\
         [tools.s.ops.add]\neffect = \"read\"\n",
        json!(script)
    );
    let pinned = listings(listing(&workspace, &toml).await);
    let bench = workspace.open_listed(&toml, &pinned);
    bench.output("s.add", json!({"a": 1, "b": 1})).await;
    let pid = std::fs::read_to_string(bench.workspace.path("pid")).unwrap();
    let place = format!("/proc/{}", pid.trim());
    assert!(Path::new(&place).exists());
    let Bench {
        workspace, toolbox, ..
    } = bench;
    drop(toolbox);
    for _ in 0..100 {
        let gone = match std::fs::read_to_string(format!("{place}/stat")) {
            Err(_) => true,
            Ok(stat) => stat.contains(") Z"),
        };
        if gone {
            return;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    panic!(
        "the server still runs in {}",
        workspace.dir.path().display()
    );
}

#[test]
fn settings_are_read_or_refused() {
    check_findings(
        "",
        r#"
[tools.s]
kind = "mcp"
command = ["a"]
ops = {}
#> W806 the tool `s` is not in provost.lock -> lock the tools: that asks its server

[tools.s]
kind = "mcp"
command = []
ops = {}
#> W801 `command` is a program and its arguments
#> W806

[tools.s]
kind = "mcp"
command = ["a"]
env = { API_TOKEN = "hunter2hunter2", "A B" = "x", N = 5 }
ops = {}
#> W801 the value of `API_TOKEN` may be a secret -> a secret is named by `env:NAME`
#> W801 `A B` cannot be the name of a variable
#> W801 a variable of a server is a text
#> W806
"#,
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn an_operation_rests_on_what_is_pinned() {
    let workspace = Workspace::new();
    let head = server("").replace("env = { TOLD = \"env:PROVOST_TEST_MCP\" }\n", "");
    let pinned = listings(listing(&workspace, &(head.clone() + "ops = {}\n")).await);
    let found = |operation: &str| {
        let toml = format!("{head}{operation}\n");
        let found = configs_listed(&toml, workspace.dir.path(), &pinned);
        let found = found.err().unwrap_or_default();
        let line = |d: &Diagnostic| {
            format!(
                "{} {} -> {}",
                d.code,
                d.message,
                d.hint.as_deref().unwrap_or("")
            )
        };
        found.iter().map(line).collect::<Vec<_>>().join("\n")
    };
    let table = [
        ("[tools.s.ops.echo]\neffect = \"read\"", ""),
        (
            "[tools.s.ops.echo]",
            "P005 the operation `s.echo` needs the field `effect`",
        ),
        (
            "[tools.s.ops.ecko]\neffect = \"read\"",
            "W806 the server `s` has no tool `ecko` -> did you mean `echo`?",
        ),
        (
            "[tools.s.ops.echo]\neffect = \"read\"\ncontent = [\"txt\"]",
            "W801 `content` names `txt`, which is no argument -> did you mean `text`?",
        ),
        (
            "[tools.s.ops.echo]\neffect = \"read\"\nresult = \"text\"\noutput = { type = \"object\" }",
            "W801 the output of `result = \"text\"` is `{ text }`",
        ),
        (
            "[tools.s.ops.append]\neffect = \"write\"\n\
             idempotency = { key = { header = \"K\", ttl = \"1h\" } }",
            "W801 the key of a call of an MCP server travels in `meta` or `arg`",
        ),
        (
            "[tools.s.ops.append]\neffect = \"write\"\n\
             idempotency = { key = { arg = \"key\", ttl = \"1h\" } }",
            "W801 the tool takes no `key`, which is to carry the key",
        ),
    ];
    for (operation, expected) in table {
        let found = found(operation);
        assert!(found.starts_with(expected), "{operation}\n{found}");
        assert_eq!(
            found.is_empty(),
            expected.is_empty(),
            "{operation}\n{found}"
        );
    }
}
