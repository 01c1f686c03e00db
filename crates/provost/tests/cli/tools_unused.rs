//! `tools unused`: what no run ever called, and what of provost.toml could go.

use serde_json::Value;

use super::workplace::Workplace;

fn unused(place: &Workplace) -> Value {
    let ran = place.run(&["tools", "unused", "--json"]).exits(0);
    serde_json::from_str(&ran.stdout).unwrap()
}

fn names(told: &Value) -> Vec<(&str, usize)> {
    let all = told["unused"].as_array().unwrap().iter();
    all.map(|one| {
        let named_by = one["named_by"].as_array().unwrap().len();
        (one["name"].as_str().unwrap(), named_by)
    })
    .collect()
}

#[test]
fn before_the_first_run_nothing_is_proposed() {
    let place = Workplace::new();
    let ran = place.run(&["tools", "unused"]).exits(0);
    assert!(ran.stdout.is_empty(), "{}", ran.stdout);
    assert!(
        ran.stderr.contains("nothing tells which tools it needs"),
        "{}",
        ran.stderr
    );
    let told = unused(&place);
    assert_eq!(told["since_ms"], Value::Null);
    assert_eq!(told["could_go"], serde_json::json!([]));
    assert_eq!(names(&told).len(), 3);
}

#[test]
fn what_no_run_called_is_named_and_what_nothing_names_could_go() {
    let place = Workplace::new();
    place.run(&["run", "Count the orders of ada"]).exits(0);
    let told = unused(&place);
    assert!(told["since_ms"].as_i64().unwrap() > 0);
    assert_eq!(
        (&told["tools"], &told["attempts_unknown"]),
        (&3.into(), &0.into())
    );
    // A playbook calls `notes.write`, so it stays although nobody needed it yet.
    assert_eq!(names(&told), [("notes.read", 0), ("notes.write", 1)]);

    let could_go = told["could_go"].as_array().unwrap();
    assert_eq!(could_go.len(), 1, "{told}");
    assert_eq!(could_go[0]["table"], "tools.notes.ops.read");
    let text = std::fs::read_to_string(place.path("provost.toml")).unwrap();
    let line = |field: &str| could_go[0][field].as_u64().unwrap() as usize;
    let lines: Vec<&str> = text.lines().collect();
    let gone = &lines[line("from_line") - 1..line("to_line")];
    assert_eq!(
        gone,
        [
            "[tools.notes.ops.read]",
            "op = \"read\"",
            "effect = \"read\""
        ]
    );
    let said = place.run(&["tools", "unused"]).exits(0).stdout;
    for words in [
        "2 of 3 tools unused since ",
        "named by playbook",
        "could go from provost.toml:",
        "[tools.notes.ops.read]",
    ] {
        assert!(said.contains(words), "{words}\n{said}");
    }

    // What is left when the proposal is followed is a workspace that works as before.
    let kept = lines
        .iter()
        .enumerate()
        .filter(|(at, _)| !(line("from_line") - 1..line("to_line")).contains(at));
    let kept: Vec<&str> = kept.map(|(_, line)| *line).collect();
    std::fs::write(place.path("provost.toml"), kept.join("\n")).unwrap();
    assert_eq!(names(&unused(&place)), [("notes.write", 1)]);
    place
        .run(&["run", "Count the orders of ada", "--again"])
        .exits(0);
}

/// A tool of which nothing is needed goes as a whole, wherever its tables stand.
#[test]
fn a_tool_that_nothing_needs_goes_as_a_whole() {
    let place = Workplace::new();
    place.run(&["run", "Count the orders of ada"]).exits(0);
    let path = place.path("provost.toml");
    let text = std::fs::read_to_string(&path).unwrap();
    let more = "\n# What is old.\n[tools.old]\nkind = \"files\"\nroot = \"notes\"\n\n\
                [tools.old.ops.list]\nop = \"list\"\neffect = \"read\"\n\n# The end.\n";
    std::fs::write(&path, text + more).unwrap();
    let told = unused(&place);
    let tables: Vec<&str> = told["could_go"]
        .as_array()
        .unwrap()
        .iter()
        .map(|lines| lines["table"].as_str().unwrap())
        .collect();
    assert_eq!(tables, ["tools.notes.ops.read", "tools.old"]);
    let old = &told["could_go"][1];
    let length = old["to_line"].as_u64().unwrap() - old["from_line"].as_u64().unwrap();
    assert_eq!(length, 6, "neither the comments before nor after: {old}");
}
