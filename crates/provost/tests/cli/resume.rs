use insta::assert_snapshot;

use super::workplace::Workplace;

#[test]
fn a_run_that_waits_still_waits() {
    let place = Workplace::new();
    let (run, _) = place.waiting();
    let ran = place.run(&["resume", &run]).exits(3);
    assert!(
        ran.stdout.contains("approve: provost approve RUN@CARD"),
        "{ran}"
    );
}

#[test]
fn a_run_that_is_over_says_so_again() {
    let place = Workplace::new();
    place.run(&["run", "Count the orders of ada"]).exits(0);
    let runs = place.json(&["runs", "--json"]);
    let run = runs.pointer("/runs/0/id").unwrap().as_str().unwrap();
    assert_snapshot!(place.run(&["resume", run]), @r"
    exit 0
    --- stdout
    succeeded: Count the orders of ada

    2 orders, the latest of ‹ada›. [1]

    [1] step `count`, evidence sha256:DIGEST
    ‹…› marks text from a tool or an untrusted planner

    proven: the orders were counted
    ");
}
