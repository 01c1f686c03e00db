use insta::assert_snapshot;

use super::workplace::Workplace;

/// A tool that keeps lines in a file, by a program of the system.
const TOOL: &str = r#"
[tools.lines]
kind = "command"
root = "lines"
[tools.lines.ops.find]
argv = ["grep", "-c", "-e", "${ args.text }", "--", "all.txt"]
input = { type = "object", properties = { text = { type = "string" } }, required = ["text"], additionalProperties = false }
effect = "read"
exit = { 1 = "not_found" }
[tools.lines.ops.keep]
argv = ["cp", "--", "all.txt", "${ args.to }"]
input = { type = "object", properties = { to = { type = "string" } }, required = ["to"], additionalProperties = false }
effect = "write"
"#;

const PLAN: &str = r#"
schema: provost/plan/v1
goal: { text: Keep the lines if ada is there }
steps:
  - { id: find, tool: lines.find, args: { text: ada } }
  - id: keep
    tool: lines.keep
    args: { to: kept.txt }
    needs: [find]
    accept: ["${ output.text == '' }"]
success:
  - { for: goal, check: '${ steps.keep.status == "succeeded" }' }
answer:
  - { text: "Kept.", cites: [keep] }
"#;

fn place() -> Workplace {
    let place = Workplace::new();
    place.write(
        "provost.toml",
        format!("[workspace]\nuser = \"ada\"\n{TOOL}"),
    );
    for playbook in ["count", "note", "ask"] {
        std::fs::remove_file(place.path(&format!("playbooks/{playbook}.yaml"))).unwrap();
    }
    place.write("lines/all.txt", "ada\nbob\n");
    place.write("keep.yaml", PLAN);
    place
}

#[test]
fn a_plan_carries_out_programs() {
    let place = place();
    assert_snapshot!(place.run(&["apply", "keep.yaml"]), @"
    exit 0
    --- stdout
    succeeded: Keep the lines if ada is there

    Kept. [1] (said, not shown)

    [1] step `keep`, evidence sha256:DIGEST

    holds: Keep the lines if ada is there
    --- stderr
    run RUN: Keep the lines if ada is there
    solo workspace: who asks may also approve

    plan, revision 1: 2 steps, 1 read, 1 write; nothing is asked
      1  find  lines.find  read   permit  by plain-reads
      2  keep  lines.keep  write  permit  by calls

    find: lines.find
    find: succeeded after TIME
    keep: lines.keep
    keep: succeeded after TIME
    ");
    let kept = std::fs::read_to_string(place.path("lines/kept.txt")).unwrap();
    assert_eq!(kept, "ada\nbob\n");
}

#[test]
fn an_exit_code_has_its_name() {
    let place = place();
    place.edit("keep.yaml", "text: ada", "text: eve");
    place.run(&["apply", "keep.yaml"]).exits(1);
    let runs = place.json(&["runs", "--json"]);
    let run = runs.pointer("/runs/0/id").unwrap().as_str().unwrap();
    let shown = place.json(&["show", run, "--json"]);
    assert_eq!(shown["class"], "not_found");
}

/// The value is the operator's kind of argument, or none: it never becomes an option.
#[test]
fn a_value_chooses_no_option() {
    let place = place();
    place.edit("keep.yaml", "to: kept.txt", "to: --verbose");
    place.run(&["apply", "keep.yaml"]).exits(0);
    assert!(place.path("lines/--verbose").exists());
    let (from, to) = (
        "\"--\", \"all.txt\", \"${ args.to }\"",
        "\"all.txt\", \"${ args.to }\"",
    );
    place.edit("provost.toml", from, to);
    let refused = place.run(&["apply", "keep.yaml", "--again"]);
    assert!(refused.stdout.contains("would be an option"), "{refused}");
}

#[test]
fn the_folder_of_the_workspace_is_out_of_reach() {
    let place = place();
    place.edit("provost.toml", "root = \"lines\"", "root = \".\"");
    assert_snapshot!(place.run(&["apply", "keep.yaml"]).exits(2).stderr, @"
    error: the tool `lines` reaches `provost.toml` through `root`

    hint: `provost doctor` looks at every tool
    ");
}
