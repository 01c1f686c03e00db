use insta::assert_snapshot;

use super::workplace::Workplace;

#[test]
fn a_run_is_stopped_and_let_go_on() {
    let place = Workplace::new();
    let (run, card) = place.waiting();
    assert_snapshot!(place.run(&["pause", &run, "--reason", "the shop moves"]), @r"
    exit 0
    --- stderr
    run RUN: resumed
    paused, the run stopped by ada: the shop moves
    recorded; continue the run with: provost resume RUN
    run `RUN` is paused: no new call starts, calls in flight settle
    to resume: provost resume RUN
    ");
    assert_eq!(place.status(), "paused");
    assert_snapshot!(place.run(&["approve", &format!("{run}@{card}")]), @r"
    exit 3
    --- stdout
    paused: the run was stopped by ada: the shop moves
    resume: provost resume RUN
    --- stderr
    run RUN: resumed
    approved by ada
    ");
    assert_snapshot!(place.run(&["resume", &run]), @r"
    exit 0
    --- stdout
    succeeded: Note the orders of ada

    The note is written. [1] (said, not shown)

    [1] step `note`, evidence sha256:DIGEST

    proven: the number of orders stands in the note
    --- stderr
    run RUN: resumed
    run RUN: resumed by ada
    note: calls notes.write
    note: succeeded after TIME
    ");
    assert_eq!(place.status(), "succeeded");
}

/// The control is the last run: once the stop is lifted, the same command goes through.
#[test]
fn a_stop_of_a_tool_binds_runs_that_begin_after_it() {
    let place = Workplace::new();
    place
        .run(&["pause", "--tool", "shop", "--reason", "it is being moved"])
        .exits(0);
    assert_snapshot!(place.run(&["run", "Count the orders of ada"]), @r"
    exit 3
    --- stdout
    paused: tool `shop` was stopped by ada: it is being moved
    resume: provost resume RUN
      (once the stop is lifted)
    --- stderr
    run RUN: Count the orders of ada
    solo workspace: the requester may also approve

    plan, revision 1: 1 step, 1 read; no approval needed
      1  count  shop.orders  read  permit  by plain-reads

    paused, tool `shop` stopped by ada: it is being moved
    ");
    assert_snapshot!(place.run(&["resume", "--tool", "shop"]), @"
    exit 0
    --- stderr
    tool `shop` may go on
    runs that were paused by it are resumed one by one: provost runs
    ");
    place
        .run(&["run", "--again", "Count the orders of ada"])
        .exits(0);
}

#[test]
fn what_is_not_there_is_not_stopped() {
    let place = Workplace::new();
    assert_snapshot!(place.run(&["pause", "--tool", "shap", "--reason", "x"]), @"
    exit 2
    --- stderr
    error: there is no tool `shap`

    hint: did you mean `shop`?
    ");
    let nobody = place.run(&["pause", "--principal", "adaa", "--reason", "x"]);
    assert_snapshot!(nobody.exits(2), @"
    exit 2
    --- stderr
    error: there is no principal `adaa`

    hint: did you mean `ada`?
    ");
    // The control: who is there is stopped, and whom a run acts for, listed or not.
    place
        .run(&["pause", "--principal", "ada", "--reason", "x"])
        .exits(0);
    place.run(&["resume", "--principal", "ada"]).exits(0);
    let stop = ["pause", "--principal", "eve", "--reason", "x"];
    place.run(&stop).exits(2);
    place.edit("provost.toml", "user = \"ada\"", "user = \"eve\"");
    place.waiting();
    place.edit("provost.toml", "user = \"eve\"", "user = \"ada\"");
    place.run(&stop).exits(0);
    assert_snapshot!(place.run(&["resume", "--all"]), @"
    exit 2
    --- stderr
    error: nothing with that name is paused

    hint: `provost doctor` lists what is
    ");
    assert_snapshot!(place.run(&["pause", "--all"]), @"
    exit 2
    --- stderr
    error: the following required arguments were not provided:
      --reason <WHY>

    Usage: provost pause --reason <WHY> <RUN|--all|--tool <NAME>|--playbook <NAME>|--principal <NAME>>

    For more information, try '--help'.
    ");
}
