//! A secret that a tool tells: in no file of the workspace and in nothing that is printed.

use sim::canary::{TOKEN, forms, leaks_below_of, leaks_of};

use super::workplace::Workplace;

/// Nobody says of it that it is a secret.
const UNNAMED: &str = "hunter2/hunter2+hunter2";

const TOOLS: &str = r#"
[tools.told]
kind = "command"
root = "work"
secrets = { TOLD = "file:token.canary" }
[tools.told.ops.env]
argv = ["sh", "tell.canary"]
effect = "read"
[tools.told.ops.fail]
argv = ["sh", "fail.canary"]
effect = "write"
"#;

/// The places where `value` is found after tools told it in every form, each with the form.
fn told(value: &str) -> (Vec<String>, Vec<String>) {
    let place = Workplace::new();
    let config = std::fs::read_to_string(place.path("provost.toml")).unwrap();
    place.write("provost.toml", config + TOOLS);
    let told = forms::echo(value);
    place.write("work/tell.canary", format!("cat <<'E'\n{told}E\n"));
    let fail = format!("cat >&2 <<'E'\n{told}E\nexit 1\n");
    place.write("work/fail.canary", fail);
    place.run(&["tools", "lock"]).exits(0);
    let mut printed = Vec::new();
    let mut see = |args: &[&str]| {
        let ran = place.run(args);
        printed.extend(ran.raw_stdout.bytes().chain(ran.raw_stderr.bytes()));
    };
    see(&["tools", "call", "told.env"]);
    see(&["tools", "call", "told.fail"]);
    let runs = place.json(&["runs", "--json"]);
    for run in runs["runs"].as_array().unwrap() {
        let run = run["id"].as_str().unwrap();
        for verb in ["show", "trace", "why"] {
            see(&[verb, run]);
            see(&[verb, run, "--json"]);
        }
    }
    see(&["inbox", "--json"]);
    let kept = leaks_below_of(&[value], &place.path(".provost"));
    (leaks_of(&[value], &printed), kept)
}

#[test]
fn a_secret_that_a_tool_tells_is_nowhere() {
    assert_eq!(told(TOKEN), (Vec::new(), Vec::new()));
}

/// The control: where nobody says that it is a secret, the same look finds every form, in what is
/// printed and in the journal.
#[test]
fn what_nobody_calls_a_secret_is_found_everywhere() {
    let (printed, kept) = told(UNNAMED);
    for (form, _) in forms::written(UNNAMED) {
        let ends = format!(" in {form}");
        assert!(printed.iter().any(|leak| leak.ends_with(&ends)), "{form}");
        let in_journal = |leak: &&String| leak.contains("journal.db") && leak.ends_with(&ends);
        assert!(
            kept.iter().any(|leak| in_journal(&leak)),
            "{form}: {kept:?}"
        );
    }
}
