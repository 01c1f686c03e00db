//! A secret that a tool tells: in no file of the workspace and in nothing that is printed.

use std::path::Path;

use super::workplace::Workplace;

const CANARY: &str = "hunter2/hunter2+hunter2";

const TOOLS: &str = r#"
[tools.told]
kind = "command"
root = "work"
secrets = { TOLD = "file:canary" }
[tools.told.ops.env]
argv = ["sh", "tell"]
effect = "read"
[tools.told.ops.fail]
argv = ["sh", "fail"]
effect = "write"
"#;

/// The forms in which it may be told.
fn forms() -> [String; 4] {
    let hex: String = CANARY.bytes().map(|byte| format!("{byte:02x}")).collect();
    [
        CANARY.to_owned(),
        "aHVudGVyMi9odW50ZXIyK2h1bnRlcjI=".to_owned(),
        hex,
        "hunter2%2Fhunter2%2Bhunter2".to_owned(),
    ]
}

fn found(bytes: &[u8]) -> usize {
    let text = String::from_utf8_lossy(bytes).to_lowercase();
    let forms = forms();
    let stand = forms
        .iter()
        .filter(|form| text.contains(&form.to_lowercase()));
    stand.count()
}

/// Every file below, but the secret itself and what the program was given.
fn files(dir: &Path, all: &mut Vec<u8>) -> usize {
    let mut count = 0;
    for entry in std::fs::read_dir(dir).unwrap().map(Result::unwrap) {
        let name = entry.file_name();
        if entry.file_type().unwrap().is_dir() {
            if name != "work" {
                count += files(&entry.path(), all);
            }
        } else if name != "canary" {
            all.extend(std::fs::read(entry.path()).unwrap());
            count += 1;
        }
    }
    count
}

/// How many forms stand in what is printed and kept, where it is a secret and where it is not.
fn kept(named: bool) -> usize {
    let place = Workplace::new();
    let config = std::fs::read_to_string(place.path("provost.toml")).unwrap();
    let tools = match named {
        true => TOOLS.to_owned(),
        false => TOOLS.replace("secrets = { TOLD = \"file:canary\" }\n", ""),
    };
    place.write("provost.toml", config + &tools);
    place.write("canary", CANARY);
    let told = forms().join("\n");
    place.write("work/tell", format!("cat <<'E'\n{told}\nE\n"));
    place.write("work/fail", format!("cat >&2 <<'E'\n{told}\nE\nexit 1\n"));
    place.run(&["tools", "lock"]).exits(0);
    let mut all = Vec::new();
    let mut see = |args: &[&str]| {
        let ran = place.run(args);
        all.extend(ran.raw_stdout.bytes().chain(ran.raw_stderr.bytes()));
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
    assert!(files(&place.path("."), &mut all) > 5);
    found(&all)
}

#[test]
fn a_secret_that_a_tool_tells_is_nowhere() {
    assert_eq!(kept(true), 0);
    // The control: where nobody says that it is a secret, the same look finds every form.
    assert_eq!(kept(false), 4);
}
