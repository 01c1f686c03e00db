use insta::assert_snapshot;

use super::workplace::{PLAN, Workplace};

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
    revision 1 to revision 2: nobody of that name ordered anything
      + read      1 → 2
      + steps     1 → 2
      + calls     1 → 2
      + attempts  3 → 6
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

const FIRST: &str = r#"schema: provost/plan/v1
goal: { text: Keep a note of the orders, success: [ { id: noted, text: the note is written } ] }
steps:
  - { id: count, tool: shop.orders, args: { customer: ada } }
  - id: note
    tool: notes.write
    args: { path: orders.txt, text: "${ steps.count.output.row.total } orders" }
    accept: ["${ output.bytes > 0 }"]
success:
  - { for: noted, check: '${ steps.note.status == "succeeded" }' }
answer: "${ steps.count.output.row.total } orders."
"#;

/// The first plan, which writes to another file, of what a customer wrote, three times.
fn second() -> String {
    FIRST
        .replace(
            "path: orders.txt",
            "path: \"${ steps.count.output.row.latest }\"",
        )
        .replace("    accept:", "    retry: 3\n    accept:")
}

#[test]
fn two_files_are_compared_by_what_they_reach() {
    let place = Workplace::new();
    place.write("first.yaml", FIRST);
    place.write("second.yaml", second());
    assert_snapshot!(place.run(&["diff", "first.yaml", "second.yaml"]), @r#"
    exit 0
    --- stdout
    first.yaml to second.yaml
      + target    notes.write path: "${ steps.count.output.row.latest }"
      + untrusted note.path ← text from count
      + run time  note/path: the value may be "", which does not fit
      - target    notes.write path: "orders.txt"
      + time      3 min 3 s → 3 min 4 s
      approval needed again: note
    ~ note
        args
          - path: "orders.txt"
          + path: "${ steps.count.output.row.latest }"
        + retry: 3
    "#);
    assert_snapshot!(place.run(&["diff", "second.yaml", "first.yaml"]), @r#"
    exit 0
    --- stdout
    second.yaml to first.yaml
      + target    notes.write path: "orders.txt"
      - target    notes.write path: "${ steps.count.output.row.latest }"
      - untrusted note.path ← text from count
      - run time  note/path: the value may be "", which does not fit
      - time      3 min 4 s → 3 min 3 s
      approval needed again: note
    ~ note
        args
          - path: "${ steps.count.output.row.latest }"
          + path: "orders.txt"
        - retry: 3
    "#);
    let same = place.run(&["diff", "first.yaml", "first.yaml"]).exits(0);
    assert!(
        same.stdout.contains("reaches neither further nor less far"),
        "{same}"
    );
}

#[test]
fn what_grew_is_data_on_demand() {
    let place = Workplace::new();
    place.write("first.yaml", PLAN);
    place.write("second.yaml", second());
    let diff = place.json(&["diff", "first.yaml", "second.yaml", "--json"]);
    assert_eq!(diff["schema"], "provost/diff/v1");
    let grew = diff.pointer("/reach/grew").unwrap();
    assert_eq!(grew["tools"], serde_json::json!(["notes.write (write)"]));
    assert!(
        grew.get("asks").is_some() && grew.get("untrusted").is_some(),
        "{grew}"
    );
    assert_eq!(
        diff.pointer("/approvals/retained"),
        Some(&serde_json::json!([]))
    );
}

#[test]
fn a_plan_with_errors_is_not_compared() {
    let place = Workplace::new();
    place.write("first.yaml", PLAN);
    place.write("second.yaml", PLAN.replace("shop.orders", "shop.order"));
    place.run(&["diff", "first.yaml", "second.yaml"]).exits(1);
    assert_snapshot!(place.run(&["diff", "first.yaml", "third.yaml"]), @r"
    exit 2
    --- stderr
    error: `third.yaml` is neither a revision nor a file

    hint: type `provost diff RUN 1 2` or `provost diff FILE FILE`
    ");
}
