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

    said by people
      MOMENT  ada  cancelled by ada, its writes are undone first: not yet

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

/// The same plan without the question, and one step that fails after both writes.
fn failed() -> (Workplace, String) {
    let place = Workplace::new();
    place.edit(
        "provost.toml",
        "tags = [\"production\"]",
        "overwrite = true",
    );
    place.write("notes/who.txt", "ada");
    let plan = PLAN
        .replace("  - { id: sure, question: \"Write it to the list too?\", needs: [log] }\n", "")
        .replace("needs: [sure]", "needs: [log]")
        .replace("args: { path: log.txt, text: \"written\" }", "args: { path: log.txt, text: \"written\" }\n    undo: { tool: notes.write, args: { path: log.txt, text: nothing } }")
        .replace("accept: [\"${ output.bytes > 0 }\"]\n    undo: { tool: notes.write, args: { path: list.txt", "accept: [\"${ output.bytes > 100 }\"]\n    undo: { tool: notes.write, args: { path: list.txt");
    place.write("who.yaml", &plan);
    place.run(&["apply", "who.yaml"]).exits(1);
    let runs = place.json(&["runs", "--json"]);
    let run = runs.pointer("/runs/0/id").unwrap().as_str().unwrap();
    (place, run.to_owned())
}

#[test]
fn a_run_that_failed_is_taken_back() {
    let (place, run) = failed();
    assert_eq!(place.status(), "failed");
    assert_eq!(note(&place, "list.txt").as_deref(), Some("ada and grace"));
    let cancelled = place.run(&["cancel", &run, "--undo"]).exits(2);
    assert!(
        cancelled.stderr.contains("`provost undo RUN`"),
        "{}",
        cancelled.stderr
    );
    let undone = place.run(&["undo", &run, "--reason", "wrong list"]);
    assert_snapshot!(undone, @r"
    exit 0
    --- stdout
    undone: Write who ordered
    undo requested by ada: wrong list; undone: 3, not undone: 0
      undone     list
      undone     log
      undone     who

    not met: Write who ordered

    why: provost why RUN
    --- stderr
    undo: requested by ada after the end: wrong list

    revision 2: what happened is undone
    added
      5  undo/list  notes.write  write  permit  by calls
      6  undo/log   notes.write  write  permit  by calls
      7  undo/who   notes.write  write  permit  by calls

    undo/list: calls notes.write
    undo/list: succeeded after TIME
    undo/log: calls notes.write
    undo/log: succeeded after TIME
    undo/who: calls notes.write
    undo/who: succeeded after TIME
    ");
    assert_eq!(note(&place, "who.txt").as_deref(), Some("ada"));
    assert_eq!(note(&place, "list.txt").as_deref(), Some("nobody"));
    assert_eq!(place.status(), "undone");
    let shown = place.json(&["show", &run, "--json"]);
    assert_eq!(shown["status"], json!("undone"));
    assert_eq!(shown["undone"], json!(["list", "log", "who"]));
    assert_eq!(shown["not_undone"], json!([]));
    assert_snapshot!(place.run(&["undo", &run]), @r"
    exit 0
    --- stderr
    undone before: nothing that run RUN did is left to take back
    ");
    assert_snapshot!(place.run(&["why", &run]), @r"
    exit 0
    --- stdout
    verdict: undecided: the output of step `list` is not accepted; after the end all that it did was undone

    the events that were looked at
      19  AttemptStarted  list: calls notes.write (arguments 5e0f442817e1, permit)
      20  AttemptEnded    list: ok (attempt 1, evidence 85df7e93d89b)
      22  StepSettled     list: failed, acceptance_failed: `${ output.bytes > 100 }` does not hold
      26  RunEnded        run: failed at `list`, acceptance_failed: step `list` failed: `${ output.bytes > 100 }` does not hold
      27  UndoRequested   undo: requested by ada after the end: wrong list
      44  RunEnded        run: undone: undo requested by ada: wrong list; undone: 3, not undone: 0

    what it may have been, the nearest first
          execution  what the tool of `list` answered
          plan       what the plan wrote at `list`

    what would decide it: provost why RUN --against RIGHT_RUN
    not looked at: calls of other runs
    ");
    place.run(&["audit", "verify"]).exits(0);
}

/// It is recorded like every statement, and whoever resumes the run undoes it.
#[test]
fn an_undo_is_recorded_and_carried_out_by_resume() {
    let (place, run) = failed();
    place.run(&["undo", &run, "--record"]).exits(0);
    assert_eq!(note(&place, "who.txt").as_deref(), Some("ada and grace"));
    assert_eq!(place.status(), "running");
    place.run(&["audit", "verify"]).exits(0);
    place.run(&["resume", &run]).exits(0);
    assert_eq!(note(&place, "who.txt").as_deref(), Some("ada"));
    assert_eq!(place.status(), "undone");
}

/// Control: what has not ended is cancelled, and what declares no `undo` stays.
#[test]
fn an_undo_is_for_runs_that_have_ended() {
    let (place, run) = waiting();
    let early = place.run(&["undo", &run]).exits(2);
    assert!(
        early.stderr.contains("the run has not ended"),
        "{}",
        early.stderr
    );
    assert_eq!(note(&place, "who.txt").as_deref(), Some("ada and grace"));
}
