use insta::assert_snapshot;

use super::workplace::Workplace;

#[test]
fn a_yes_to_the_card_drives_the_run_to_its_end() {
    let place = Workplace::new();
    let (run, card) = place.waiting();
    assert_snapshot!(place.run(&["approve", &format!("{run}@{card}")]), @r"
    exit 0
    --- stdout
    succeeded: Note the orders of ada

    The note is written. [1]

    [1] step `note`, evidence sha256:DIGEST

    holds: the number of orders stands in the note
    --- stderr
    run RUN is taken up again
    approved by ada
    note: notes.write
    note: succeeded after TIME
    ");
    let note = std::fs::read_to_string(place.path("notes/orders.txt")).unwrap();
    assert_eq!(note, "2 orders of ada");
}

#[test]
fn a_yes_counts_once() {
    let place = Workplace::new();
    let (run, card) = place.waiting();
    let target = format!("{run}@{card}");
    place.run(&["approve", &target]).exits(0);
    assert_snapshot!(place.run(&["approve", &target]), @r"
    exit 2
    --- stderr
    error: run `RUN` has no open card: it succeeded

    hint: `provost inbox` lists what waits, with commands
    ");
}

#[test]
fn without_a_digest_and_a_terminal_nothing_is_approved() {
    let place = Workplace::new();
    let (run, _) = place.waiting();
    assert_snapshot!(place.run(&["approve", &run]), @r#"
    exit 2
    --- stderr
    approve step `note`?
      goal       Note the orders of ada
      run        RUN, revision 1 of the plan
      purpose    Write the note
      tool       notes.write
      effect     write, high risk
      asked      by production-writes
      argument   path: "orders.txt"
      argument   text: "2 orders of ada"  (untrusted data from count)
      needs      the yes of one person
      asked for  by ada at MOMENT
      solo       this workspace is solo: who asks may also approve
      digest     sha256:DIGEST
    error: a yes needs the digest of the card, or a terminal to ask at

    hint: read the card, then type:
      provost approve RUN@CARD
    "#);
    assert_eq!(place.status(), "waiting_approval");
}

#[test]
fn a_stale_digest_is_refused_and_the_open_one_named() {
    let place = Workplace::new();
    let (run, _) = place.waiting();
    assert_snapshot!(place.run(&["approve", &format!("{run}@0123456789abcdef")]), @r"
    exit 2
    --- stderr
    error: no open card of run `RUN` has the digest `0123456789abcdef`

    hint: the open card is sha256:DIGEST:
      provost approve RUN@CARD
    ");
    assert_snapshot!(place.run(&["approve", &format!("{run}@01234")]), @r"
    exit 2
    --- stderr
    error: `01234` is too short for a digest: type at least 8 digits

    hint: the open card is sha256:DIGEST:
      provost approve RUN@CARD
    ");
    assert_eq!(place.status(), "waiting_approval");
}

#[test]
fn steps_of_a_plan_that_are_not_named_do_not_run() {
    let place = Workplace::new();
    place
        .run(&["run", "Note the orders of ada", "--ask", "plan"])
        .exits(3);
    let (run, card) = place.card();
    let target = format!("{run}@{card}");
    assert_snapshot!(place.run(&["approve", &target, "count"]), @r"
    exit 2
    --- stderr
    run RUN is taken up again
    error: the card does not ask about step `count`

    hint: `provost inbox` shows the steps on the card
    ");
    place.run(&["approve", &target, "note"]).exits(0);
}

#[test]
fn who_asks_may_not_approve_unless_the_workspace_is_solo() {
    let place = Workplace::new();
    std::fs::remove_file(place.path("policies/solo.cedar")).unwrap();
    let (run, card) = place.waiting();
    assert_snapshot!(place.run(&["approve", &format!("{run}@{card}")]), @r"
    exit 2
    --- stderr
    run RUN is taken up again
    error: `ada` may not answer: `ada` asked for this run, and somebody else must approve it

    hint: somebody else must answer: `policies/` says who may
    ");
    assert_eq!(place.status(), "waiting_approval");
}
