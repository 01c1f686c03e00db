//! Doors: whoever prints values of a run goes through `provost_run::shown`.

use crate::tree::{File, Tree, before_tests};

/// Who shows a run: to people, to programs, to clients, in notices.
const READERS: [&str; 6] = [
    "crates/provost-server/src/",
    "crates/provost/src/",
    "crates/provost-engine/src/notify",
    "crates/provost-engine/src/summary",
    "crates/provost-engine/src/inbox",
    "crates/provost-run/src/read",
];

/// Ways to a value as the journal holds it.
const RAW: [&str; 10] = [
    ".to_stored(",
    ".to_canonical(",
    "effect.args",
    "started.args",
    "item.output",
    "item.observed",
    ".view.get(",
    ".evidence(",
    "json!(event)",
    "to_value(event)",
];

/// Events, and the field of each that may hold a secret.
const FIELDS: [(&str, &str); 4] = [
    ("ObservationMade {", "output"),
    ("DoubtSettled {", "output"),
    ("AttemptStarted {", "args"),
    ("AttemptEnded {", "shows"),
];

pub fn raw_values(file: &File) -> Vec<String> {
    let reads = READERS.iter().any(|path| file.path.starts_with(path));
    if !reads {
        return Vec::new();
    }
    let fault = |at: usize, what: &str| {
        let line = file.text[..at].matches('\n').count() + 1;
        format!("{}:{line}: `{what}` past `shown`", file.path)
    };
    let mut faults = Vec::new();
    for raw in RAW {
        for (at, _) in file.text.match_indices(raw) {
            // Why: a digest of a value is no value.
            if !file.text[at + raw.len()..].starts_with('_') {
                faults.push(fault(at, raw));
            }
        }
    }
    for (event, field) in FIELDS {
        for (at, _) in file.text.match_indices(event) {
            let fields = file.text[at..].split('}').next().unwrap_or_default();
            let mut words = fields.split(|c: char| !c.is_alphanumeric() && c != '_');
            if words.any(|word| word == field) {
                faults.push(fault(at, &format!("{event} {field}")));
            }
        }
    }
    faults
}

/// Crates that know no verb of the command line.
const WORDLESS: [&str; 6] = [
    "crates/provost-engine/src/",
    "crates/provost-plan/src/",
    "crates/provost-planner/src/",
    "crates/provost-run/src/",
    "crates/provost-tools/src/",
    "crates/provost-wire/src/",
];

/// Texts below the command line that name one of its verbs: commands are spelled by `provost`.
pub fn verbs(tree: &Tree) -> Vec<String> {
    let cli = tree
        .files()
        .find(|file| file.path == "crates/provost/src/cli.rs");
    let verbs: Vec<String> = cli
        .and_then(|file| file.text.split("enum Verb {").nth(1)?.split("\n}").next())
        .into_iter()
        .flat_map(str::lines)
        .filter_map(|line| Some(line.trim().split_once('(')?.0.to_lowercase()))
        .filter(|verb| verb.chars().all(|c| c.is_ascii_lowercase()))
        .collect();
    if verbs.is_empty() {
        return vec!["crates/provost/src/cli.rs lists no verbs".to_owned()];
    }
    let files = tree
        .sources()
        .filter(|file| WORDLESS.iter().any(|path| file.path.starts_with(path)));
    let mut faults = Vec::new();
    for file in files {
        for (line, text) in before_tests(&file.text) {
            let named = text.match_indices("provost ").any(|(at, found)| {
                let rest = &text[at + found.len()..];
                let word = rest.split(|c: char| !c.is_ascii_alphanumeric()).next();
                word.is_some_and(|word| verbs.iter().any(|verb| verb == word))
            });
            if named && !text.trim_start().starts_with("//") {
                faults.push(format!("{}:{line}: names a command", file.path));
            }
        }
    }
    faults
}
