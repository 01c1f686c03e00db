//! Workspaces with a secret of their own, and plans that try every way to carry it out.

use std::io::{BufRead as _, BufReader, Write as _};
use std::process::Stdio;

use sim::canary::leaks_of;

use super::workplace::Workplace;

/// Where in an output the secret stands.
const FIELDS: [&str; 3] = ["value", "nested.key", "list[1]"];

const TOOLS: &str = r#"
[tools.vault]
kind = "command"
root = "vault"
secrets = { TOLD = "file:token.canary" }
[tools.vault.ops.read]
argv = ["cat", "told.json"]
response = "json"
output = "schemas/told.json"
effect = "read"
SECRET
[tools.vault.ops.odd]
argv = ["cat", "told.json"]
response = "json"
output = "schemas/odd.json"
effect = "read"
SECRET
[tools.vault.ops.broken]
argv = ["sh", "broken.sh"]
effect = "read"
SECRET
[tools.keeper]
kind = "command"
root = "kept"
[tools.keeper.ops.keep]
argv = ["sh", "keep.sh", "${ args.text }"]
input = "schemas/text.json"
effect = "write"
tags = ["production"]
accepts_secrets = true
[tools.keeper.ops.fail]
argv = ["sh", "fail.sh", "${ args.text }"]
input = "schemas/text.json"
effect = "write"
errors = "no_effect"
accepts_secrets = true
[tools.keeper.ops.show]
argv = ["echo", "${ args.text }"]
input = "schemas/text.json"
effect = "read"
[notify.oncall]
command = ["./tell"]
"#;

const TOLD: &str = r#"{ "type": "object", "required": ["value", "nested", "list"], "properties": {
  "value": { "type": "string" },
  "nested": { "type": "object", "required": ["key"], "properties": { "key": { "type": "string" } } },
  "list": { "type": "array", "minItems": 2, "items": { "type": "string" } } } }"#;
const ODD: &str = r#"{ "type": "object", "properties": { "value": { "type": "integer" } } }"#;
const TEXT: &str = r#"{ "type": "object", "required": ["text"], "additionalProperties": false,
  "properties": { "text": { "type": "string" } } }"#;

/// A way out: its steps, its proof and its answer. `FIELD` is where the secret stands.
struct Way {
    steps: &'static str,
    check: &'static str,
    answer: &'static str,
    /// Whether it is let through, because the secret stays where it may be.
    runs: bool,
}

const KEY: &str = "  - { id: key, tool: vault.read }\n";

const fn way(steps: &'static str, check: &'static str, answer: &'static str) -> Way {
    Way {
        steps,
        check,
        answer,
        runs: false,
    }
}

const fn let_through(steps: &'static str, check: &'static str) -> Way {
    Way {
        runs: true,
        ..way(steps, check, "done")
    }
}

const HELD: &str = r#"steps.key.status == "succeeded""#;

const WAYS: [Way; 14] = [
    way("", HELD, "${ steps.key.output.FIELD }"),
    way("", HELD, "it is ${ json(steps.key.output) }"),
    way("", HELD, "${ steps.key.output.FIELD + 'x' }"),
    way(
        "",
        HELD,
        "${ size(steps.key.output.FIELD) > 3 ? steps.key.output.FIELD : 'none' }",
    ),
    way(
        "  - { id: ask, question: { text: \"Is ${ steps.key.output.FIELD } right?\", answer: { type: boolean } } }\n",
        HELD,
        "done",
    ),
    way(
        "  - { id: show, tool: keeper.show, args: { text: \"x${ steps.key.output.FIELD }\" } }\n",
        HELD,
        "${ steps.show.output.text }",
    ),
    way(
        "  - { id: keep, tool: keeper.keep, args: { text: \"${ steps.key.output.FIELD }\" }, accept: ['${ size(output.text) > 0 }'] }\n",
        HELD,
        "${ steps.keep.output.text }",
    ),
    let_through(
        "  - { id: keep, tool: keeper.keep, args: { text: \"${ steps.key.output.FIELD }\" }, accept: ['${ size(output.text) > 0 }'] }\n",
        r#"steps.keep.status == "succeeded""#,
    ),
    let_through(
        "  - { id: keep, tool: keeper.keep, for_each: '${ steps.key.output.list }', max_items: 3, args: { text: '${ item }' }, accept: ['${ size(output.text) > 0 }'] }\n",
        r#"steps.keep.status == "succeeded""#,
    ),
    let_through(
        "  - { id: fail, tool: keeper.fail, args: { text: \"${ steps.key.output.FIELD }\" }, accept: ['${ size(output.text) > 0 }'], on_failure: escalate }\n",
        r#"steps.fail.status == "succeeded""#,
    ),
    let_through(
        "  - { id: keep, tool: keeper.keep, args: { text: \"${ steps.key.output.FIELD }\" }, accept: ['${ int(output.text) > 0 }'] }\n",
        r#"steps.keep.status == "succeeded""#,
    ),
    let_through("", "int(steps.key.output.FIELD) > 3"),
    let_through(
        "  - { id: odd, tool: vault.odd }\n",
        r#"steps.odd.status == "succeeded""#,
    ),
    let_through(
        "  - { id: broken, tool: vault.broken }\n",
        r#"steps.broken.status == "succeeded""#,
    ),
];

/// A secret of its own for each number, with what URLs and base64 write otherwise.
fn secret(number: usize) -> String {
    let mut state = (number as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let letters = b"abcdefghijkmnopqrstuvwxyzABCDEFGHJKLMNPQRSTUVWXYZ23456789+/=%&";
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        usize::try_from(state % letters.len() as u64).unwrap()
    };
    let rest: String = (0..18).map(|_| char::from(letters[next()])).collect();
    format!("k{rest}Z")
}

/// A workspace with this secret; `marked` says that it is one.
fn place(secret: &str, marked: bool) -> Workplace {
    let place = Workplace::new();
    let config = std::fs::read_to_string(place.path("provost.toml")).unwrap();
    let tools = TOOLS.replace("SECRET", if marked { "secret = true" } else { "" });
    place.write("provost.toml", config + &tools);
    let told = serde_json::json!({
        "value": secret, "nested": { "key": secret }, "list": ["first", secret],
    });
    place.write("vault/told.json", told.to_string());
    place.write(
        "vault/broken.sh",
        format!("echo 'no: {secret}' >&2; echo $TOLD >&2; exit 9\n"),
    );
    place.write("kept/keep.sh", "echo \"$1\" >> all.canary; echo \"$1\"\n");
    place.write("kept/fail.sh", "echo \"bad $1\" >&2; exit 7\n");
    place.write("schemas/told.json", TOLD);
    place.write("schemas/odd.json", ODD);
    place.write("schemas/text.json", TEXT);
    place.write("tell", "#!/bin/sh\ncat >> told.jsonl\n");
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o700);
    std::fs::set_permissions(place.path("tell"), mode).unwrap();
    place
}

fn plan(way: &Way, field: &str) -> String {
    let Way {
        steps,
        check,
        answer,
        ..
    } = way;
    format!(
        "schema: provost/plan/v1\ngoal: {{ text: Keep the key }}\nsteps:\n{KEY}{steps}\
         success:\n  - {{ for: goal, check: '${{ {check} }}' }}\nanswer: \"{answer}\"\n"
    )
    .replace("FIELD", field)
}

/// What a client over MCP is told of a run.
fn told_over_mcp(place: &Workplace, run: &str) -> String {
    let mut command = place.command(&["mcp"]);
    let mut child = command.stdin(Stdio::piped()).spawn().unwrap();
    let mut to = child.stdin.take().unwrap();
    let call = |id: u64, name: &str, args: &str| {
        format!(
            "{{\"jsonrpc\":\"2.0\",\"id\":{id},\"method\":\"tools/call\",\
             \"params\":{{\"name\":\"{name}\",\"arguments\":{args}}}}}\n"
        )
    };
    let lines = [
        "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"initialize\",\"params\":{\"protocolVersion\":\
         \"2025-11-25\",\"capabilities\":{},\"clientInfo\":{\"name\":\"c\",\"version\":\"1\"}}}\n"
            .to_owned(),
        "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}\n".to_owned(),
        call(2, "run_status", &format!("{{\"run\":\"{run}\"}}")),
        call(3, "list_runs", "{}"),
    ];
    to.write_all(lines.concat().as_bytes()).unwrap();
    to.flush().unwrap();
    let mut from = BufReader::new(child.stdout.take().unwrap());
    let (mut all, mut answered) = (String::new(), 0);
    while answered < 3 {
        let begin = all.len();
        assert!(from.read_line(&mut all).unwrap() > 0, "{all}");
        answered += usize::from(all[begin..].contains("\"id\":"));
    }
    drop(to);
    child.wait().unwrap();
    all
}

/// All that was printed, told and sent of one workspace, and how its run ended.
fn seen(place: &Workplace, way: &Way, field: &str) -> (String, Option<String>) {
    place.write("try.yaml", plan(way, field));
    let mut all = String::new();
    let mut see = |args: &[&str]| {
        let ran = place.run(args);
        all.push_str(&ran.raw_stdout);
        all.push_str(&ran.raw_stderr);
    };
    see(&["check", "try.yaml"]);
    see(&["check", "try.yaml", "--json"]);
    see(&["show", "try.yaml"]);
    see(&["apply", "try.yaml", "--events"]);
    see(&["inbox"]);
    see(&["inbox", "--json"]);
    let runs = place.json(&["runs", "--json"]);
    let run = runs.pointer("/runs/0/id").and_then(|id| id.as_str());
    let Some(run) = run.map(str::to_owned) else {
        return (all, None);
    };
    for _ in 0..2 {
        let runs = place.json(&["runs", "--json"]);
        if runs.pointer("/runs/0/status").unwrap() == "waiting_approval" {
            let (_, card) = place.card();
            see(&["approve", &format!("{run}@{card}")]);
        }
    }
    for verb in ["show", "trace", "why"] {
        see(&[verb, &run]);
        see(&[verb, &run, "--json"]);
    }
    see(&["inbox"]);
    see(&["cancel", &run]);
    see(&["show", &run]);
    let status = place.status();
    see(&["apply", "try.yaml", "--again", "--log", "json"]);
    all.push_str(&told_over_mcp(place, &run));
    all.push_str(&std::fs::read_to_string(place.path("told.jsonl")).unwrap_or_default());
    (all, Some(status))
}

/// The secret as it is, and less one character at each end, in every form.
fn leaks(secret: &str, all: &str) -> Vec<String> {
    let (less, first) = (&secret[..secret.len() - 1], &secret[1..]);
    leaks_of(&[secret, less, first], all.as_bytes())
}

fn count() -> usize {
    let count = std::env::var("PROVOST_COUNT").ok();
    count.map_or(WAYS.len(), |count| count.parse().unwrap())
}

#[test]
fn a_secret_output_is_carried_out_by_no_plan() {
    let mut ended = std::collections::BTreeMap::<String, usize>::new();
    for number in 0..count() {
        let way = &WAYS[number % WAYS.len()];
        let field = FIELDS[number / WAYS.len() % FIELDS.len()];
        let secret = secret(number);
        let place = place(&secret, true);
        let (all, status) = seen(&place, way, field);
        let found = leaks(&secret, &all);
        assert!(
            found.is_empty(),
            "{number}: {found:?}\n{}\n{all}",
            plan(way, field)
        );
        assert_eq!(
            status.is_some(),
            way.runs,
            "{number}: {}\n{all}",
            plan(way, field)
        );
        let kept = std::fs::read_to_string(place.path("kept/all.canary"));
        if way.steps.contains("keeper.keep") && way.runs {
            assert!(
                kept.is_ok_and(|kept| kept.contains(&secret)),
                "{number}: {all}"
            );
        }
        *ended
            .entry(status.unwrap_or_else(|| "refused".to_owned()))
            .or_default() += 1;
    }
    println!(
        "{} workspaces, no secret in what was shown: {ended:?}",
        count()
    );
}

/// The control: where nobody says that it is secret, the same ways carry it out.
#[test]
fn what_is_not_marked_is_carried_out() {
    let mut found = 0;
    for number in [0, 1, 4, 5, 7, 8, 9] {
        let secret = secret(number);
        let place = place(&secret, false);
        let (all, _) = seen(&place, &WAYS[number], "value");
        found += usize::from(!leaks(&secret, &all).is_empty());
    }
    assert_eq!(found, 7);
}
