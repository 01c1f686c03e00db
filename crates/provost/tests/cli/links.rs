//! Directories of tools that are links, swapped between the yes and the call.

use super::workplace::Workplace;

const TOOLS: &str = r#"
[tools.diary]
kind = "files"
root = "diary"
[tools.diary.ops.write]
[tools.touch]
kind = "command"
root = "diary"
[tools.touch.ops.run]
argv = ["touch", "touched"]
input = { type = "object", properties = {}, additionalProperties = false }
effect = "write"
[tools.swap]
kind = "command"
root = "one"
[tools.swap.ops.run]
argv = ["ln", "-sfn", "two", "../diary"]
input = { type = "object", properties = {}, additionalProperties = false }
effect = "write"
"#;

const PLAN: &str = r#"
schema: provost/plan/v1
goal: { text: Write a note }
steps:
  - STEP
success:
  - { for: goal, check: '${ steps.note.status == "succeeded" }' }
answer:
  - { text: "Done.", cites: [note] }
"#;

const STEPS: [(&str, &str); 2] = [
    (
        "{ id: note, tool: diary.write, args: { path: note.md, text: x }, approval: required, \
         accept: [\"${ output.path == 'note.md' }\"] }",
        "note.md",
    ),
    (
        "{ id: note, tool: touch.run, approval: required, accept: [\"${ output.text == '' }\"] }",
        "touched",
    ),
];

/// A workspace in which `diary` is a link to `one`, and a plan of these steps.
fn linked(steps: &str) -> Workplace {
    let place = Workplace::new();
    place.write(
        "provost.toml",
        format!("[workspace]\nuser = \"ada\"\n{TOOLS}"),
    );
    for playbook in ["count", "note", "ask"] {
        std::fs::remove_file(place.path(&format!("playbooks/{playbook}.yaml"))).unwrap();
    }
    for name in ["one/a.md", "two/a.md"] {
        place.write(name, "a");
    }
    std::os::unix::fs::symlink("one", place.path("diary")).unwrap();
    place.write("note.yaml", PLAN.replace("STEP", steps));
    place
}

/// In which of the two directories a call wrote.
fn written(place: &Workplace, file: &str) -> [bool; 2] {
    ["one", "two"].map(|name| place.path(name).join(file).exists())
}

/// In which a call wrote that was approved while the link led to the first.
fn written_after_a_yes(step: &str, file: &str, is_swapped: bool) -> [bool; 2] {
    let place = linked(step);
    place.run(&["apply", "note.yaml"]).exits(3);
    let (run, card) = place.card();
    let card = format!("{run}@{card}");
    place.run(&["approve", &card, "--record"]).exits(0);
    if is_swapped {
        std::fs::remove_file(place.path("diary")).unwrap();
        std::os::unix::fs::symlink("two", place.path("diary")).unwrap();
    }
    let resumed = place.run(&["resume", &run]);
    assert_eq!(resumed.code == Some(0), !is_swapped, "{resumed}");
    written(&place, file)
}

#[test]
fn a_directory_behind_a_link_that_was_swapped_after_the_yes_is_not_worked_in() {
    for (step, file) in STEPS {
        assert_eq!(
            written_after_a_yes(step, file, true),
            [false, false],
            "{step}"
        );
        // The control: where the link leads where it led, the call is made there.
        assert_eq!(
            written_after_a_yes(step, file, false),
            [true, false],
            "{step}"
        );
    }
}

#[test]
fn a_directory_behind_a_link_that_the_run_itself_swaps_is_not_worked_in() {
    for (step, file) in STEPS {
        let step = step.replace("approval: required", "needs: [swap]");
        let swap = "{ id: swap, tool: swap.run, accept: [\"${ output.text == '' }\"] }";
        let place = linked(&format!("{swap}\n  - {step}"));
        let ran = place.run(&["apply", "note.yaml"]).exits(1);
        assert!(
            ran.stderr.contains("the folder `diary` leads elsewhere"),
            "{ran}"
        );
        assert_eq!(written(&place, file), [false, false], "{step}");
    }
}
