use insta::assert_snapshot;

use super::workplace::Workplace;

/// A note about a number that may change while the card waits.
const PLAN: &str = r#"
schema: provost/plan/v1
goal: { text: Note how many orders there are }
steps:
  - { id: count, tool: shop.orders, args: { customer: "" } }
  - id: note
    tool: notes.write
    args: { path: orders.txt, text: "${ steps.count.output.row.total } orders" }
    accept: ["${ output.bytes > 0 }"]
    approval: required
    fresh: 1ms
success:
  - { for: goal, check: '${ steps.note.status == "succeeded" }' }
answer:
  - { text: The note is written., cites: [note] }
"#;

fn waiting() -> (Workplace, String, String) {
    let place = Workplace::new();
    place.write("note.yaml", PLAN);
    place.run(&["apply", "note.yaml"]).exits(3);
    let (run, digest) = place.card();
    (place, run, digest)
}

fn noted(place: &Workplace) -> Option<String> {
    std::fs::read_to_string(place.path("notes/orders.txt")).ok()
}

#[test]
fn a_value_that_changed_while_the_card_waited_is_asked_about_again() {
    let (place, run, digest) = waiting();
    place.orders(&["ada", "bob", "eve", "eve"]);
    assert_snapshot!(place.run(&["approve", &format!("{run}@{digest}")]), @r#"
    exit 3
    --- stdout
    approve step `note`?
      goal       Note how many orders there are
      run        RUN, revision 1 of the plan
      tool       notes.write
      effect     write, high risk
      policy     production-writes
      argument   text: "4 orders"  (untrusted data from count)
      argument   path: "orders.txt"
      needs      approval by one person
      requested  by ada at MOMENT
      solo       this workspace is solo: the requester may also approve
      digest     sha256:DIGEST

    approve: provost approve RUN@CARD
    reject: provost reject RUN@CARD --reason WHY
    --- stderr
    run RUN: resumed
    approved by ada
    count: reads again for `note`, with shop.orders
    note: waits for approval
    "#);
    assert_eq!(noted(&place), None);
    let (_, again) = place.card();
    assert_ne!(again, digest);
    place.run(&["approve", &format!("{run}@{again}")]).exits(0);
    assert_eq!(noted(&place).as_deref(), Some("4 orders"));
}

#[test]
fn an_unchanged_value_needs_no_second_approval() {
    let (place, run, digest) = waiting();
    let before = place.run(&["trace", &run, "--execution"]).stdout;
    assert!(!before.contains("reads again"), "{before}");
    place.run(&["approve", &format!("{run}@{digest}")]).exits(0);
    let after = place.run(&["trace", &run, "--execution"]).stdout;
    assert!(after.contains("reads again for `note`"), "{after}");
    assert!(noted(&place).is_some());
}
