use insta::assert_snapshot;

use super::workplace::Workplace;

#[test]
fn a_run_that_waits_is_ended() {
    let place = Workplace::new();
    let (run, _) = place.waiting();
    assert_snapshot!(place.run(&["cancel", &run, "--reason", "no longer wanted"]), @r"
    exit 0
    --- stdout
    cancelled: Note the orders of ada
    cancelled by ada: no longer wanted

    not met: the number of orders stands in the note

    why: provost why RUN
    --- stderr
    run RUN: resumed
    cancelled by ada: no longer wanted
    ");
    assert_eq!(place.status(), "cancelled");
    assert_snapshot!(place.run(&["cancel", &run]), @r"
    exit 2
    --- stderr
    error: the run is over: it was cancelled

    hint: `provost show RUN` tells how it ended
    ");
}
