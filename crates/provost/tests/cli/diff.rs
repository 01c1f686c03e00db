use insta::assert_snapshot;

use super::workplace::Workplace;

fn run_of(goal: &str) -> (Workplace, String) {
    let place = Workplace::new();
    place.run(&["run", goal]).exits(0);
    let runs = place.json(&["runs", "--json"]);
    let run = runs
        .pointer("/runs/0/id")
        .unwrap()
        .as_str()
        .unwrap()
        .to_owned();
    (place, run)
}

#[test]
fn a_revision_is_compared_with_the_one_before() {
    let (place, run) = run_of("Count the orders of nobody");
    assert_snapshot!(place.run(&["diff", &run]), @r#"
    exit 0
    --- stdout
    revision 1 to 2: nobody of that name ordered anything
    + everybody  shop.orders
        args: {"customer":""}
        description: "Count the orders of everybody"
    ~ answer
        answer + {"text":"No orders; ${ steps.everybody.output.row.total } of everybody."}
    "#);
    assert_snapshot!(place.run(&["diff", &run, "1", "7"]), @r"
    exit 2
    --- stderr
    error: run `RUN` has no revision 7

    hint: its revisions are 1, 2
    ");
}

#[test]
fn a_plan_that_was_not_revised_has_no_difference() {
    let (place, run) = run_of("Count the orders of ada");
    assert_snapshot!(place.run(&["diff", &run]), @r"
    exit 2
    --- stderr
    error: the plan of run `RUN` was not revised

    hint: `provost show RUN` shows it
    ");
}
