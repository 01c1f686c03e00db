//! Plan documents in other forms, and first drafts: what the check says of them.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::Value;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn check(file: &Path, workspace: &str) -> Value {
    let (read, stderr) = run(file, workspace, &[]);
    read.unwrap_or_else(|| panic!("{}: {stderr}", file.display()))
}

/// The document as a plan; none if no steps are found in it.
fn convert(file: &Path, workspace: &str) -> Option<Value> {
    let read = run(file, workspace, &["--convert"]).0;
    read.filter(|object| object["schema"] != "provost/error/v1")
}

fn run(file: &Path, workspace: &str, more: &[&str]) -> (Option<Value>, String) {
    let Output { stdout, stderr, .. } = Command::new(env!("CARGO_BIN_EXE_provost"))
        .current_dir(root())
        .arg("check")
        // Why whole: with `-C` a file counts from the workspace.
        .arg(root().canonicalize().unwrap().join(file))
        .args(["--json", "-C", workspace])
        .args(more)
        .output()
        .unwrap();
    let read = serde_json::from_slice(&stdout).ok();
    (read, String::from_utf8_lossy(&stderr).into_owned())
}

/// The documents of the index, each with its workspace and whether it converts.
fn documents() -> Vec<(String, String, bool)> {
    let index = std::fs::read_to_string(root().join("corpus/foreign/INDEX.txt")).unwrap();
    let rows = index
        .lines()
        .filter(|line| line.starts_with("| ") && line.contains(".meant.yaml"));
    let documents: Vec<_> = rows
        .filter_map(|row| {
            let cells: Vec<&str> = row
                .split(" | ")
                .map(|cell| cell.trim_matches(['|', ' ']))
                .collect();
            let [name, _, workspace, _, _, _, converts] = cells.as_slice() else {
                panic!("a row of seven cells: {row}");
            };
            name.starts_with(|c: char| c.is_ascii_digit()).then(|| {
                (
                    (*name).to_owned(),
                    (*workspace).to_owned(),
                    *converts == "yes",
                )
            })
        })
        .collect();
    assert_eq!(documents.len(), 30);
    documents
}

/// The documents of the second index, in the same form.
fn more_documents() -> Vec<(String, String, bool)> {
    let index = root().join("corpus/foreign/more/INDEX.txt");
    let index = std::fs::read_to_string(index).unwrap();
    let rows = index.lines().filter(|line| line.contains("| corpus/"));
    let documents: Vec<_> = rows
        .map(|row| {
            let cells: Vec<&str> = row.split('|').map(str::trim).collect();
            let [_, name, _, workspace, converts, _] = cells.as_slice() else {
                panic!("a row of four cells: {row}");
            };
            let name = format!("more/{name}");
            (name, (*workspace).to_owned(), *converts == "yes")
        })
        .collect();
    assert_eq!(documents.len(), 30);
    documents
}

#[test]
fn thirty_more_documents_convert_or_are_refused_until_they_are_settled() {
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("plan.yaml");
    let (mut wrong, mut count) = (Vec::new(), 0);
    for (name, workspace, converts) in more_documents() {
        let document = Path::new("corpus/foreign").join(&name);
        let checked = check(&document, &workspace);
        assert_eq!(errors(&checked), ["P011"], "{name}");
        let hint = checked["findings"][0]["hint"].as_str();
        assert!(
            hint.is_some_and(|hint| hint.contains("--convert")),
            "{name}"
        );
        let found = convert(&document, &workspace).unwrap_or_else(|| panic!("{name}"));
        let open = found["open"].as_array().unwrap();
        let is_settled = open.iter().all(|open| open["tool"] == true);
        std::fs::write(&path, found["plan"].as_str().unwrap()).unwrap();
        let errors = errors(&check(&path, &workspace));
        assert!(open.is_empty() || !errors.is_empty(), "{name}: {open:?}");
        count += usize::from(is_settled);
        if is_settled != converts {
            wrong.push(name);
        }
    }
    assert_eq!(wrong, Vec::<String>::new());
    assert!(count >= 20, "{count}");
}

/// Control: what a log decided after it had looked, and who must agree, is not lost.
#[test]
fn what_a_log_decided_is_open_and_a_protected_place_asks() {
    let log = "Thought: Is it stale?\nAction: tracker.export\nAction Input: {\"id\": \"1\"}\n\
               Observation: {}\nThought: It is stale.\nAction: tracker.label\n\
               Action Input: {\"ticket\": \"OPS-1\", \"label\": \"stale\"}\n";
    let plan = converted("log.txt", log);
    assert!(
        plan.contains("# open: write `when` for: It is stale."),
        "{plan}"
    );
    let job = "jobs:\n  label:\n    environment: prod\n    steps:\n      - uses: tracker.label\n\
               \x20       with: { ticket: OPS-1, label: stale }\n";
    for (text, asks) in [
        (job.to_owned(), true),
        (job.replace("environment: prod", ""), false),
    ] {
        let plan = converted("actions.yaml", &text);
        assert_eq!(plan.contains("approval: required"), asks, "{plan}");
    }
}

fn errors(checked: &Value) -> Vec<String> {
    let findings = checked["findings"].as_array().unwrap();
    let errors = findings.iter().filter(|one| one["severity"] == "error");
    errors
        .map(|one| one["code"].as_str().unwrap().to_owned())
        .collect()
}

#[test]
fn a_document_in_another_form_is_called_one_and_not_refused_key_by_key() {
    for (name, workspace, _) in documents() {
        let checked = check(&Path::new("corpus/foreign").join(&name), &workspace);
        assert_eq!(errors(&checked), ["P011"], "{name}");
        let finding = &checked["findings"][0];
        let notes = finding["notes"].as_array().map_or(0, Vec::len);
        assert!(notes > 1, "{name}: {finding}");
    }
}

#[test]
fn a_document_converts_with_nothing_open_but_the_tools_or_its_plan_is_refused() {
    let place = tempfile::tempdir().unwrap();
    let (mut converted, mut expected) = (BTreeSet::new(), BTreeSet::new());
    for (name, workspace, converts) in documents() {
        if converts {
            expected.insert(name.clone());
        }
        let document = Path::new("corpus/foreign").join(&name);
        let Some(found) = convert(&document, &workspace) else {
            continue;
        };
        let open = found["open"].as_array().unwrap();
        let path = place.path().join(format!("{name}.yaml"));
        let plan = found["plan"].as_str().unwrap();
        std::fs::write(&path, plan).unwrap();
        let errors = errors(&check(&path, &workspace));
        if open.iter().all(|open| open["tool"] == true) {
            converted.insert(name.clone());
        }
        for open in open {
            let says = open["message"].as_str().unwrap();
            if let (Some(step), true) = (open["step"].as_str(), says.starts_with("write `when`")) {
                let of_step = plan.split("  - id: ").find(|part| part.starts_with(step));
                let when = of_step
                    .unwrap()
                    .lines()
                    .find(|line| line.contains("when: "));
                assert!(
                    when.is_some_and(|when| when.contains("open")),
                    "{name}:\n{plan}"
                );
            }
        }
        // What a person has to settle keeps the plan from being run until it is settled.
        assert!(open.is_empty() || !errors.is_empty(), "{name}: {open:?}");
    }
    assert_eq!(converted, expected);
    assert!(converted.len() >= 20, "{}", converted.len());
}

/// The control is the same letter as its number: that plan is read.
#[test]
fn a_plan_with_a_letter_that_cannot_be_read_is_told_which() {
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("plan.json");
    let judged = |letter: &str, form: &str| {
        let plan = format!(
            "{{ \"goal\": \"Look{letter}\", \"steps\": [], \"success\": [], \"answer\": [] }}"
        );
        let plan = if form == "YAML" {
            format!("goal: \"a{letter}\"\nplan: []\n")
        } else {
            plan
        };
        std::fs::write(&path, plan).unwrap();
        check(&path, "corpus/unseen/permits")
    };
    for (letter, number) in [
        ("\u{7f}", "U+007F"),
        ("\u{1}", "U+0001"),
        ("\u{ffff}", "U+FFFF"),
    ] {
        for form in ["JSON", "YAML"] {
            let checked = judged(letter, form);
            assert_eq!(errors(&checked), ["P001"], "{number} in {form}");
            let message = checked["findings"][0]["message"].as_str().unwrap();
            assert!(message.starts_with(number), "{number} in {form}: {message}");
        }
    }
    assert!(!errors(&judged("\\u007f", "JSON")).contains(&"P001".to_owned()));
}

#[test]
fn a_converted_plan_asks_for_every_approval_that_is_meant() {
    for (name, workspace, _) in documents() {
        let document = Path::new("corpus/foreign").join(&name);
        let stem = name.rsplit_once('.').unwrap().0;
        let meant = root().join(format!("corpus/foreign/{stem}.meant.yaml"));
        let meant = std::fs::read_to_string(meant).unwrap();
        let asked = |plan: &str| plan.matches("approval: required").count();
        let Some(found) = convert(&document, &workspace) else {
            continue;
        };
        let plan = found["plan"].as_str().unwrap();
        let settled = found["open"]
            .as_array()
            .unwrap()
            .iter()
            .all(|open| open["tool"] == true);
        assert!(!settled || asked(plan) >= asked(&meant), "{name}:\n{plan}");
    }
}

/// Drafts that do not compile as they stand; the finding of each names what mends it.
const TO_MEND: &[&str] = &[
    "admissions/ask_language",
    "airline/compensate",
    "permits/neighbours",
];

#[test]
fn first_drafts_compile_or_miss_a_guard_that_the_finding_names() {
    let drafts = root().join("corpus/drafts");
    let mut count = 0;
    for domain in std::fs::read_dir(drafts).unwrap().filter_map(|one| {
        let one = one.unwrap();
        one.file_type().unwrap().is_dir().then(|| one.path())
    }) {
        let workspace = format!(
            "corpus/unseen/{}",
            domain.file_name().unwrap().to_str().unwrap()
        );
        for draft in std::fs::read_dir(&domain).unwrap() {
            let draft = draft.unwrap().path();
            let checked = check(&draft, &workspace);
            let name = draft.strip_prefix(root().join("corpus/drafts")).unwrap();
            let name = name.with_extension("");
            let good = !TO_MEND.contains(&name.to_str().unwrap());
            assert_eq!(checked["ok"], good, "{}", name.display());
            for code in errors(&checked) {
                assert_eq!(code, "R106", "{}", name.display());
            }
            count += 1;
        }
    }
    assert_eq!(count, 20);
}

/// The plan that a text comes to over `examples/triage`.
fn converted(name: &str, text: &str) -> String {
    let place = tempfile::tempdir().unwrap();
    let file = place.path().join(name);
    std::fs::write(&file, text).unwrap();
    let found = convert(&file, "examples/triage").unwrap();
    found["plan"].as_str().unwrap().to_owned()
}

#[test]
fn what_calls_nothing_keeps_its_place_in_the_order() {
    for kind in [r#""Wait","Seconds":30"#, r#""Pass""#] {
        let plan = converted(
            "states.json",
            &format!(
                r#"{{"StartAt":"A","States":{{"A":{{"Type":"Task","Resource":"tracker.start_export",
                "Parameters":{{"project":"OPS"}},"Next":"W"}},"W":{{"Type":{kind},"Next":"B"}},
                "B":{{"Type":"Task","Resource":"tracker.export","Parameters":{{"id":"1"}},"End":true}}}}}}"#
            ),
        );
        let second = plan.split("  - id: ").find(|part| part.starts_with("b\n"));
        assert!(second.unwrap().contains("needs: [\"a\"]"), "{plan}");
        assert_eq!(
            plan.contains("`W` waits for a time"),
            kind.contains("Wait"),
            "{plan}"
        );
    }
}

#[test]
fn what_refers_to_a_call_of_nobody_reads_no_other_result() {
    let text = "#E1 = tracker.start_export[{\"project\": \"OPS\"}]\n\
                #E2 = LLM[which id is in #E1?]\n\
                #E3 = tracker.export[{\"id\": \"#E2\"}]\n";
    let plan = converted("rewoo.txt", text);
    let last = plan.split("  - id: ").find(|part| part.starts_with("e3\n"));
    assert!(last.unwrap().contains("steps.e2.output"), "{plan}");
}

/// The plan goes to stdout, and what is left to do to stderr.
#[test]
fn what_was_read_and_what_is_open_is_summed_up() {
    let place = super::workplace::Workplace::new();
    let steps = "steps:\n  - { step_id: one, tool: shop.orders, inputs: { customer: ada } }\n";
    place.write("foreign.yaml", steps);
    let ran = place.run(&["check", "foreign.yaml", "--convert"]).exits(0);
    assert!(ran.stdout.starts_with("schema: provost/plan/v1\n"), "{ran}");
    assert!(ran.stderr.contains("1 step\nnothing is open\n"), "{ran}");
    place.write("foreign.yaml", steps.replace("shop.orders", "chat.post"));
    let ran = place.run(&["check", "foreign.yaml", "--convert"]).exits(1);
    assert!(ran.stderr.contains("1 part to settle"), "{ran}");
    assert!(
        ran.stderr.contains("one: no tool is called `chat.post`"),
        "{ran}"
    );
    let next = "next: provost check foreign.yaml --convert > plan.yaml";
    assert!(ran.stderr.contains(next), "{ran}");
    // A person pipes the plan, and reads the rest.
    assert!(!ran.stdout.contains("to settle"), "{ran}");
}

/// A program that lays out a graph: its nodes are the steps, and its edges their order.
#[test]
fn a_graph_in_a_program_is_read_by_its_nodes_and_edges() {
    let program = "g = Graph(State)\n\n\
                   def begin(state):\n    return tracker.start_export(project=\"OPS\")\n\n\
                   def look(state):\n    if state.ready:\n        return tracker.export(id=\"1\")\n\n\
                   g.add_node(\"begin\", begin)\n\
                   g.add_node(\"look\", look)\n\
                   g.add_node(\"mark\", ToolNode([tracker.label]))\n\
                   g.add_edge(START, \"begin\")\n\
                   g.add_edge(\"begin\", \"look\")\n\
                   g.add_conditional_edges(\"look\", is_stale, {\"yes\": \"mark\", \"no\": END})\n\
                   g.add_edge(\"mark\", END)\n";
    let plan = converted("graph.txt", program);
    let step = |id: &str| {
        let head = format!("{id}\n");
        let found = plan.split("  - id: ").find(|part| part.starts_with(&head));
        found.unwrap_or_else(|| panic!("{plan}"))
    };
    assert!(
        step("begin").contains("tool: tracker.start_export"),
        "{plan}"
    );
    assert!(step("begin").contains("\"project\":\"OPS\""), "{plan}");
    // What a function decides is not read, so which call it makes is open.
    assert!(step("look").contains("tool: \"open\""), "{plan}");
    assert!(step("look").contains("needs: [\"begin\"]"), "{plan}");
    assert!(step("mark").contains("tool: tracker.label"), "{plan}");
    assert!(
        step("mark").contains("write `when` for: is_stale: yes"),
        "{plan}"
    );
    let needs = "give `ticket`, `label`, which `tracker.label` needs";
    assert!(step("mark").contains(needs), "{plan}");
    // Control: an edge that the program adds only sometimes is a condition.
    let sometimes = program.replace(
        "g.add_edge(\"begin\", \"look\")\n",
        "if LATE:\n    g.add_edge(\"begin\", \"look\")\n",
    );
    let plan = converted("graph.txt", &sometimes);
    let decides = "write `when` for: what the program decides before this call";
    assert!(plan.contains(decides), "{plan}");
}

/// A tool under whatever field, and its arguments beside it.
#[test]
fn arguments_beside_their_tool_are_read_as_such() {
    let text = "nightly:\n  tasks:\n    begin:\n      runner: tracker.start_export\n      project: OPS\n\
                \x20   look:\n      runner: tracker.export\n      id_of: x\n\
                \x20     dependencies: [begin]\n";
    let plan = converted("tasks.yaml", text);
    assert!(plan.contains("tool: tracker.start_export"), "{plan}");
    assert!(plan.contains("{\"project\":\"OPS\"}"), "{plan}");
    // Control: what is no argument of the tool stays open.
    assert!(
        plan.contains("what `id_of` says has no place in a step"),
        "{plan}"
    );
    let mark = "nightly:\n  tasks:\n    begin: { runner: tracker.start_export, project: OPS }\n\
                \x20   mark: { runner: tracker.label, label: stale, \
                ticket: \"{{ ti.xcom_pull(task_ids='begin')['id'] }}\" }\n";
    let plan = converted("tasks.yaml", mark);
    assert!(
        plan.contains("\"ticket\":\"${ steps.begin.output.id }\""),
        "{plan}"
    );
    let unknown = mark.replace("task_ids='begin'", "task_ids='nobody'");
    let plan = converted("tasks.yaml", &unknown);
    assert!(plan.contains("is not found"), "{plan}");
}

#[test]
fn a_question_in_words_comes_with_what_it_may_read() {
    let document = Path::new("corpus/foreign/more/38-mermaid-choice.md");
    let found = convert(document, "corpus/unseen/warehouse").unwrap();
    let open = found["open"].as_array().unwrap();
    let says = |step: &str, near: &str| {
        let mut of_step = open.iter().filter(|one| one["step"] == step);
        of_step.any(|one| one["message"].as_str().unwrap().contains(near))
    };
    let row = "steps.order.output.row";
    let near = |sign: &str| format!("near is `{row} != null && {row}.state {sign} \"shipped\"`");
    assert!(says("track", &near("==")), "{found}");
    assert!(says("rates", &near("!=")), "{found}");
}

/// The step of a plan, as written.
fn step_of<'p>(plan: &'p str, id: &str) -> &'p str {
    let head = format!("{id}\n");
    let found = plan.split("  - id: ").find(|part| part.starts_with(&head));
    found.unwrap_or_else(|| panic!("{plan}"))
}

/// Edges of a graph in the shapes that graphs are written in: each condition reaches its step.
#[test]
fn an_edge_with_a_condition_stays_one_in_every_shape() {
    let nodes = r#""nodes": {"begin": {"tool": "tracker.start_export", "args": {"project": "OPS"}},
        "look": {"tool": "tracker.export", "args": {"id": "1"}}}"#;
    let ways = r#""mapping": {"true": "look", "false": "END"}"#;
    let drawn = r#"{"nodes": [{"id": "__start__", "type": "schema", "data": "__start__"},
        {"id": "begin", "type": "runnable", "data": {"id": ["graphs", "Runnable"],
        "name": "tracker.start_export"}}, {"id": "look", "type": "runnable", "data": {"id":
        ["graphs", "Runnable"], "name": "look"}}], "edges": [{"source": "__start__", "target":
        "begin"}, {"source": "begin", "target": "look", "conditional": true, "data": "stale"}]}"#;
    let shapes = [
        (
            format!(
                r#"{{{nodes}, "edges": [["START", "begin"]], "conditional_edges":
                [{{"source": "begin", "condition": "late > 5", {ways}}}]}}"#
            ),
            "write `when` for: late > 5",
        ),
        (
            format!(
                r#"{{{nodes}, "conditional_edges":
                {{"begin": {{"path": "is_late", "path_map": ["look", "END"]}}}}}}"#
            ),
            "write `when` for: is_late: look",
        ),
        (
            format!(
                r#"{{{nodes}, "edges": [{{"source": "begin", "target": "look",
                "conditional": true}}]}}"#
            ),
            "write `when` for: what `begin` decides",
        ),
        (
            drawn.to_owned(),
            "write `when` for: what `begin` decides: stale",
        ),
    ];
    for (text, says) in shapes {
        let plan = converted("graph.json", &text);
        let look = step_of(&plan, "look");
        assert!(look.contains(says), "{plan}");
        assert!(look.contains("when: "), "{plan}");
        assert!(look.contains("needs: [\"begin\"]"), "{plan}");
        assert!(!plan.contains("lost."), "{plan}");
    }
    let begin = converted("graph.json", drawn);
    assert!(step_of(&begin, "begin").contains("tool: tracker.start_export"));
    // Control: an edge without a condition makes none.
    let plain = format!(r#"{{{nodes}, "edges": [["START", "begin"], ["begin", "look"]]}}"#);
    let plan = converted("graph.json", &plain);
    assert!(!plan.contains("when: "), "{plan}");
    assert!(
        step_of(&plan, "look").contains("needs: [\"begin\"]"),
        "{plan}"
    );
}

/// Fields below which a document says what kind of thing something is, and who made it.
const STRUCTURE: &[&str] = &[
    "_meta",
    "agent",
    "agents",
    "author",
    "credentials",
    "metadata",
    "model",
    "on",
    "position",
    "thoughts",
    "usage",
];
/// Parts of messages that say, answer or think, and call nothing.
const SAID: &[&str] = &["text", "tool_result", "function_call_output", "reasoning"];

/// Puts a text of its own into every map below a value, under one field.
fn planted(value: &mut Value, field: &str, texts: &mut Vec<String>) {
    match value {
        Value::Array(items) => {
            for item in items {
                planted(item, field, texts);
            }
        }
        Value::Object(map) => {
            if map
                .get("type")
                .is_some_and(|kind| SAID.iter().any(|said| kind == said))
            {
                return;
            }
            let below = map.iter_mut().filter(|(key, _)| {
                let key = key.to_lowercase();
                !STRUCTURE.contains(&key.as_str())
            });
            for (_, inner) in below {
                planted(inner, field, texts);
            }
            if !map.contains_key(field) {
                let text = format!("only if zebra{} agrees", texts.len());
                texts.push(text.clone());
                map.insert(field.to_owned(), Value::String(text));
            }
        }
        _ => {}
    }
}

/// The property: whatever stands anywhere in a document that is data is in the plan or is open.
#[test]
fn no_text_of_a_document_is_lost_wherever_it_stands() {
    let place = tempfile::tempdir().unwrap();
    let (mut lost, mut count) = (Vec::new(), 0);
    let all = documents().into_iter().chain(more_documents());
    for (name, workspace, _) in all {
        let path = root().join("corpus/foreign").join(&name);
        let text = std::fs::read_to_string(path).unwrap();
        let Ok(data) = provost_plan::node::parse_yaml(&text).map(|node| node.to_value()) else {
            continue;
        };
        if !(data.is_object() || data.is_array()) {
            continue;
        }
        for field in ["remark", "condition", "requires", "label"] {
            let (mut data, mut texts) = (data.clone(), Vec::new());
            planted(&mut data, field, &mut texts);
            let file = place.path().join("planted.json");
            std::fs::write(&file, data.to_string()).unwrap();
            // Where no steps are found any more, the command says so.
            let Some(found) = convert(&file, &workspace) else {
                continue;
            };
            let all = format!("{} {}", found["plan"], found["open"]);
            let id = |text: &str| text.replace(' ', "_");
            let missing = |text: &&String| !all.contains(*text) && !all.contains(&id(text));
            lost.extend(
                texts
                    .iter()
                    .filter(missing)
                    .map(|one| format!("{name}, {field}: {one}")),
            );
            count += texts.len();
        }
    }
    assert_eq!(lost, Vec::<String>::new());
    assert!(count > 1000, "{count}");
}
