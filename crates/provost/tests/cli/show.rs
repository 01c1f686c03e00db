use insta::assert_snapshot;

use super::workplace::{PLAN, Workplace};

#[test]
fn a_saved_plan_is_shown_for_review() {
    let place = Workplace::new();
    place
        .run(&["plan", "Note the orders of ada", "-o", "saved.json"])
        .exits(0);
    assert_snapshot!(place.run(&["show", "saved.json"]), @r#"
    exit 0
    --- stdout
      goal       Note the orders of ada
      planner    playbook note
      plan       sha256:DIGEST
      asked by   ada; solo workspace: who asks may also approve

    steps: 2 steps, 1 read, 1 write; a person is asked about 1 step
      1  count  shop.orders  read   permit  by plain-reads
      2  note   notes.write  write  ask     by production-writes

    asked of a person
      note: by production-writes

    where untrusted values go
      note  text  untrusted data from count

    in detail
      count: Count the orders
        customer: "${ params.customer }"
      note: Write the note
        path: "orders.txt"
        text: "${ steps.count.output.row.total } orders of ${ params.customer }"
        done if output.bytes > 0
        after count
        risk high

    proven by
      the number of orders stands in the note
        if steps.note.status == "succeeded"

    not checked
      how long people take to answer: note
      whether a lost reply can be settled without a person: note
      the plans of up to 5 revisions
      money and tokens: nothing is priced
      what tools do beyond their declared effect
    "#);
}

#[test]
fn a_stale_plan_says_so() {
    let place = Workplace::new();
    place
        .run(&["plan", "Count the orders of ada", "-o", "saved.json"])
        .exits(0);
    place.edit(
        "provost.toml",
        "[tools.shop]",
        "[limits]\nsteps = 20\n[tools.shop]",
    );
    let ran = place.run(&["show", "saved.json"]).exits(0);
    assert!(
        ran.stdout
            .starts_with("this saved plan is stale: moved: the limits\n"),
        "{ran}"
    );
}

#[test]
fn a_run_is_shown_with_its_outcome() {
    let place = Workplace::new();
    let (run, card) = place.waiting();
    assert_snapshot!(place.run(&["show", &run]), @r#"
    exit 0
    --- stdout
    run RUN: waits for approval
      goal       Note the orders of ada
      asked      by ada at MOMENT
      plan       revision 1
      solo       who asks may also approve

      count  shop.orders  read   succeeded
      note   notes.write  write  waits for approval

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

    approve: provost approve RUN@CARD
    reject: provost reject RUN@CARD --reason WHY
    "#);
    place.run(&["approve", &format!("{run}@{card}")]).exits(0);
    let prefix: String = run.chars().take(6).collect();
    assert_snapshot!(place.run(&["show", &prefix]), @r"
    exit 0
    --- stdout
    run RUN: succeeded
      goal       Note the orders of ada
      asked      by ada at MOMENT
      ended      at MOMENT
      plan       revision 1
      solo       who asks may also approve

      count  shop.orders  read   succeeded
      note   notes.write  write  succeeded

    succeeded: Note the orders of ada

    The note is written. [1]

    [1] step `note`, evidence sha256:DIGEST

    holds: the number of orders stands in the note
    ");
}

#[test]
fn showing_makes_no_journal() {
    let place = Workplace::new();
    place.write("plan.yaml", PLAN);
    place.run(&["show", "plan.yaml"]).exits(0);
    assert!(!place.path(".provost").exists());
}
