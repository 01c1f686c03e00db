use insta::assert_snapshot;

use super::workplace::Workplace;

#[test]
fn a_plan_is_shown_and_nothing_is_begun() {
    let place = Workplace::new();
    assert_snapshot!(place.run(&["plan", "Count the orders of ada"]), @r#"
    exit 0
    --- stdout
      goal       Count the orders of ada
      reach      shop.orders → the answer only
      plan       1 step, 1 read; none waits for a person
      at most    1 call, 3 attempts, 1 min 31 s without waits for people; cost not set
      requester  ada; solo workspace: the requester may also approve
      planner    playbook count
      digest     sha256:DIGEST

      1  count  read  shop.orders with customer: "ada"

      proof      the orders were counted: steps.count.status == "succeeded"
      unchecked  the plans of up to 5 revisions; what tools do beyond their declared effect
    "#);
    assert!(!place.path(".provost").exists());
}

#[test]
fn a_plan_is_saved() {
    let place = Workplace::new();
    let ran = place
        .run(&["plan", "Count the orders of ada", "-o", "my plan.json"])
        .exits(0);
    assert_snapshot!(ran.stderr, @"saved; run it with: provost apply 'my plan.json'");
    let text = std::fs::read_to_string(place.path("my plan.json")).unwrap();
    let saved: serde_json::Value = serde_json::from_str(&text).unwrap();
    let keys: Vec<&String> = saved.as_object().unwrap().keys().collect();
    assert_snapshot!(format!("{keys:?}"), @r#"["schema", "goal", "playbook", "digest", "terms", "plan"]"#);
}

#[test]
fn a_plan_that_is_not_admissible_is_refused() {
    let place = Workplace::new();
    place.edit(
        "playbooks/count.yaml",
        "tool: shop.orders\n      args: { customer: \"${ params",
        "tool: shop.order\n      args: { customer: \"${ params",
    );
    assert_snapshot!(place.run(&["plan", "Count the orders of ada"]), @r"
    exit 1
    --- stderr
    error[R101]: no tool is called `shop.order`
      --> <playbook count>:10:13
       |
    10 |       tool: shop.order
       |             ^^^^^^^^^^
       |
       = hint: did you mean `shop.orders`?

    error: the plan `<playbook count>` is not admissible: 1 error

    hint: `provost explain R101` tells more
    ");
}
