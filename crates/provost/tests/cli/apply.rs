use insta::assert_snapshot;

use super::workplace::{PLAN, Workplace};

const GOAL: &str = "Count the orders of ada";

fn saved() -> Workplace {
    let place = Workplace::new();
    place.run(&["plan", GOAL, "-o", "saved.json"]).exits(0);
    place
}

#[test]
fn a_saved_plan_runs() {
    assert_snapshot!(saved().run(&["apply", "saved.json"]), @r"
    exit 0
    --- stdout
    succeeded: Count the orders of ada

    2 orders, the latest of ‹ada›. [1]

    [1] step `count`, evidence sha256:DIGEST
    ‹…› marks text from a tool or an untrusted planner

    proven: the orders were counted
    --- stderr
    run RUN: Count the orders of ada
    solo workspace: the requester may also approve

    plan, revision 1: 1 step, 1 read; no approval needed
      1  count  shop.orders  read  permit  by plain-reads

    count: calls shop.orders
    count: succeeded after TIME
    replanning: the planner asked to see the result of `count`
    planner: proposed nothing: no rule of playbook count applies to it, so the plan stays as it is
    ");
}

#[test]
fn a_saved_plan_is_revised_by_its_playbook() {
    let place = Workplace::new();
    place
        .run(&["plan", "Count the orders of nobody", "-o", "saved.json"])
        .exits(0);
    let ran = place.run(&["apply", "saved.json"]).exits(0);
    assert!(
        ran.stderr
            .contains("revision 2: nobody of that name ordered anything"),
        "{ran}"
    );
}

#[test]
fn a_plan_file_runs() {
    let place = Workplace::new();
    place.write("plan.yaml", PLAN);
    let ran = place.run(&["apply", "plan.yaml"]).exits(0);
    assert!(ran.stdout.contains("3 orders. [1]"), "{ran}");
}

#[test]
fn limits_that_moved_make_it_stale() {
    let place = saved();
    place.edit(
        "provost.toml",
        "[tools.shop]",
        "[limits]\nsteps = 20\n[tools.shop]",
    );
    assert_snapshot!(place.run(&["apply", "saved.json"]), @r"
    exit 2
    --- stderr
    error: saved plan is stale
      changed: the limits

    hint: what it was checked under is not what is here now; make it anew: `provost plan 'Count the orders of ada' -o saved.json`
    ");
}

#[test]
fn a_policy_that_moved_makes_it_stale() {
    let place = saved();
    let more = r#"@id("never") forbid (principal, action in Action::"call", resource)
when { resource.tags.contains("deploy") };"#;
    place.write("policies/more.cedar", more);
    assert_snapshot!(place.run(&["apply", "saved.json"]), @r"
    exit 2
    --- stderr
    error: saved plan is stale
      changed: the policy or the people in it

    hint: what it was checked under is not what is here now; make it anew: `provost plan 'Count the orders of ada' -o saved.json`
    ");
}

#[test]
fn a_used_tool_that_moved_makes_it_stale() {
    let place = saved();
    place.edit(
        "schemas/orders.json",
        "\"integer\"",
        "\"integer\", \"minimum\": 0",
    );
    assert_snapshot!(place.run(&["apply", "saved.json"]), @r"
    exit 2
    --- stderr
    error: saved plan is stale
      changed: the tool `shop.orders`

    hint: what it was checked under is not what is here now; make it anew: `provost plan 'Count the orders of ada' -o saved.json`
    ");
}

#[test]
fn an_unrelated_tool_does_not() {
    let place = saved();
    place.edit(
        "provost.toml",
        "op = \"read\"",
        "op = \"read\"\ntimeout = \"9s\"",
    );
    place.run(&["apply", "saved.json"]).exits(0);
}

#[test]
fn a_plan_without_a_goal_is_refused() {
    let place = Workplace::new();
    let from = PLAN.find("steps:").unwrap();
    let to = PLAN.find("success:\n  - {").unwrap();
    let text = format!("schema: provost/plan/v1\n{}", PLAN.get(from..to).unwrap());
    place.write("plan.yaml", text);
    assert_snapshot!(place.run(&["apply", "plan.yaml"]), @r"
    exit 2
    --- stderr
    error: the plan `plan.yaml` names no goal

    hint: add one: `goal: { text: what the plan is for }`
    ");
}

#[test]
fn a_playbook_is_no_plan() {
    assert_snapshot!(Workplace::new().run(&["apply", "playbooks/count.yaml"]), @r#"
    exit 2
    --- stderr
    error: `playbooks/count.yaml` is a playbook, not a plan

    hint: `provost run "GOAL"` uses the playbook that matches the goal
    "#);
}
