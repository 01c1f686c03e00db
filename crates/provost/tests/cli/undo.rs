use insta::assert_snapshot;
use serde_json::json;

use super::workplace::Workplace;

/// One note that is put back as it was, one that is not, and a question before the last.
const PLAN: &str = r#"
schema: provost/plan/v1
goal: { text: Write who ordered }
steps:
  - { id: old, tool: notes.read, args: { path: who.txt } }
  - id: who
    tool: notes.write
    args: { path: who.txt, text: "ada and grace" }
    accept: ["${ output.bytes > 0 }"]
    undo: { tool: notes.write, args: { path: who.txt, text: "${ steps.old.output.text }" } }
  - id: log
    tool: notes.write
    needs: [who]
    args: { path: log.txt, text: "written" }
    accept: ["${ output.bytes > 0 }"]
  - { id: sure, question: "Write it to the list too?", needs: [log] }
  - id: list
    tool: notes.write
    needs: [sure]
    args: { path: list.txt, text: "ada and grace" }
    accept: ["${ output.bytes > 0 }"]
    undo: { tool: notes.write, args: { path: list.txt, text: nobody } }
success:
  - { for: goal, check: '${ steps.list.status == "succeeded" }' }
answer:
  - { text: It is written., cites: [list] }
"#;

/// A run that wrote two notes and waits.
fn waiting() -> (Workplace, String) {
    let place = Workplace::new();
    place.edit(
        "provost.toml",
        "tags = [\"production\"]",
        "overwrite = true",
    );
    place.write("notes/who.txt", "ada");
    place.write("who.yaml", PLAN);
    place.run(&["apply", "who.yaml"]).exits(3);
    let runs = place.json(&["runs", "--json"]);
    let run = runs.pointer("/runs/0/id").unwrap().as_str().unwrap();
    (place, run.to_owned())
}

fn note(place: &Workplace, name: &str) -> Option<String> {
    std::fs::read_to_string(place.path(&format!("notes/{name}"))).ok()
}

#[test]
fn what_happened_is_taken_back_and_the_rest_is_listed() {
    let (place, run) = waiting();
    assert_eq!(note(&place, "who.txt").as_deref(), Some("ada and grace"));
    let cancelled = place.run(&["cancel", &run, "--undo", "--reason", "not yet"]);
    assert_snapshot!(cancelled, @r"
    exit 0
    --- stdout
    cancelled: Write who ordered
    cancelled by ada: not yet; undone: 1
      undone     who
      not undone log: its step has no `undo`

    not met: Write who ordered

    why: provost why RUN
    --- stderr
    run RUN: resumed
    cancelled by ada, its writes are undone first: not yet

    revision 2: what happened is undone
    added
      6  undo/who  notes.write  write  permit  by calls

    undo/who: calls notes.write
    undo/who: succeeded after TIME
    ");
    assert_eq!(note(&place, "who.txt").as_deref(), Some("ada"));
    assert_eq!(note(&place, "log.txt").as_deref(), Some("written"));
    assert_eq!(note(&place, "list.txt"), None);
    assert_snapshot!(place.run(&["show", &run]), @r#"
    exit 0
    --- stdout
    run RUN: cancelled
      goal       Write who ordered
      asked      by ada at MOMENT
      ended      at MOMENT
      plan       revision 2
      solo       the requester may also approve

    cancelled: cancelled by ada: not yet; undone: 1
    happened:
      who       notes.write  path="who.txt"    undone
      log       notes.write  path="log.txt"
      undo/who  notes.write  path="who.txt"
    may have happened: no write
    did not start:
      list  notes.write      cancelled
    next: provost why RUN
      says whether the plan was wrong or execution failed

      old       notes.read   read   succeeded
      who       notes.write  write  succeeded
      log       notes.write  write  succeeded
      sure      (question)   -      cancelled
      list      notes.write  write  cancelled
      undo/who  notes.write  write  succeeded

    observed
      old       {"bytes":3,"path":"who.txt","text":"ada"}
      who       {"bytes":13,"created":false,"path":"who.txt"}
      log       {"bytes":7,"created":true,"path":"log.txt"}
      undo/who  {"bytes":3,"created":false,"path":"who.txt"}

    cancelled: Write who ordered
    cancelled by ada: not yet; undone: 1
      undone     who
      not undone log: its step has no `undo`

    not met: Write who ordered

    why: provost why RUN
    "#);
    let shown = place.json(&["show", &run, "--json"]);
    assert_eq!(shown["undone"], json!(["who"]));
    assert_eq!(shown["not_undone"][0]["step"], json!("log"));
    assert_snapshot!(place.run(&["diff", &run]), @r#"
    exit 0
    --- stdout
    revision 1 to revision 2: what happened is undone
      + untrusted undo/who.text ← text from old
      + write     3 → 4
      + time      6 min 6 s → 7 min 37 s
    + undo/who  notes.write
        args: {"path":"who.txt","text":"ada"}
        description: "Undo what step who did"
        needs: ["old","who","log","sure","list"]
    "#);
    let trace = place.run(&["trace", &run, "--execution"]).stdout;
    assert!(
        trace.contains("`undo/who` undoes `who`; `log` is not undone: its step has no `undo`"),
        "{trace}"
    );
    place.run(&["audit", "verify"]).exits(0);
}

/// Control: without `--undo` everything stays.
#[test]
fn a_plain_cancel_takes_nothing_back() {
    let (place, run) = waiting();
    place.run(&["cancel", &run]).exits(0);
    assert_eq!(note(&place, "who.txt").as_deref(), Some("ada and grace"));
    let shown = place.json(&["show", &run, "--json"]);
    assert_eq!(shown.get("undone"), None);
}

/// Whoever reviews a plan sees what can be undone, and by what.
#[test]
fn a_reviewer_sees_what_can_be_undone() {
    let (place, _) = waiting();
    let shown = place.run(&["show", "who.yaml"]).exits(0);
    let undone: Vec<&str> = shown
        .stdout
        .lines()
        .filter(|line| line.trim_start().starts_with("undo "))
        .collect();
    assert_snapshot!(undone.join("\n"), @r#"
    undo     notes.write with path: "who.txt", text: steps.old.output.text
    undo     notes.write with path: "list.txt", text: "nobody"
    "#);
}
