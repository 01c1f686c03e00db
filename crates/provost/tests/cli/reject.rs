use insta::assert_snapshot;

use super::workplace::Workplace;

#[test]
fn a_no_is_recorded_and_ends_the_run() {
    let place = Workplace::new();
    let (run, card) = place.waiting();
    let target = format!("{run}@{card}");
    assert_snapshot!(place.run(&["reject", &target, "--reason", "not today"]), @r"
    exit 0
    --- stdout
    rejected: Note the orders of ada
    a person said no: not today

    does not hold: the number of orders stands in the note

    why: provost why RUN
    --- stderr
    run RUN is taken up again
    rejected by ada: not today
    note: failed, rejected: not today
    replan: step `note` was rejected: not today
    the plan stays as it is: playbook note has no rule for a plan that a person rejected
    ");
    assert_eq!(place.status(), "rejected");
    assert!(!place.path("notes/orders.txt").exists());
}

#[test]
fn the_only_card_needs_no_digest() {
    let place = Workplace::new();
    let (run, _) = place.waiting();
    place.run(&["reject", &run]).exits(0);
    assert_eq!(place.status(), "rejected");
}
