use insta::assert_snapshot;

use super::workplace::Workplace;

const CASES: &str = r#"
schema: provost/policy-test/v1
cases:
  - { name: orders are read without asking, by: ada, call: shop.orders, expect: permit }
  - name: a note in production asks
    call: notes.write
    args: { path: a.txt, text: hello }
    expect: ask
    because: [production-writes]
"#;

#[test]
fn a_check_says_what_becomes_of_every_tool() {
    let place = Workplace::new();
    assert_snapshot!(place.run(&["policy", "check"]), @"
    exit 0
    --- stdout
    tool         effect  its calls  because of         with untrusted arguments
    notes.read   read    permit     plain-reads        the same
    notes.write  write   ask        production-writes  ask (untrusted-sink)
    shop.orders  read    permit     plain-reads        the same

    without a tool to apply to: outside-communication, money, permissions, deployments, deletions, opaque-arguments, unvalidated-inputs
    ok: 14 policies, 3 tools
    not checked:
      calls with particular arguments: `provost policy test` does that
    ");
    let seen = place.json(&["policy", "check", "--json"]);
    assert_eq!(seen["schema"], "provost/policy-check/v1");
    assert_eq!(seen["operations"].as_array().map(Vec::len), Some(3));
}

#[test]
fn a_rule_that_does_nothing_is_drawn() {
    let place = Workplace::new();
    place.write(
        "policies/extra.cedar",
        r#"@id("live") @approver("oncall")
forbid (principal, action in Action::"call", resource)
when { !resource.attended && resource.tags.contains("prodution") };
"#,
    );
    assert_snapshot!(place.run(&["policy", "check", "--deny-warnings"]), @r#"
    exit 1
    --- stdout
    warning[W809]: policy `live` names the group that nobody is in, `oncall`
     --> policies/extra.cedar:1:23
      |
    1 | @id("live") @approver("oncall")
      |                       ^^^^^^^^
      |
      = hint: groups and roles stand in policies/entities.json

    warning[W809]: policy `live` names the tag that no tool bears, `prodution`
     --> policies/extra.cedar:3:53
      |
    3 | when { !resource.attended && resource.tags.contains("prodution") };
      |                                                     ^^^^^^^^^^^
      |
      = hint: did you mean `production`?

    tool         effect  its calls  because of         with untrusted arguments
    notes.read   read    permit     plain-reads        the same
    notes.write  write   ask        production-writes  ask (untrusted-sink)
    shop.orders  read    permit     plain-reads        the same

    without a tool to apply to: outside-communication, money, permissions, deployments, deletions, opaque-arguments, unvalidated-inputs, live
    not ok: 15 policies, 3 tools; 2 warnings
    not checked:
      calls with particular arguments: `provost policy test` does that
    "#);
    place.run(&["policy", "check"]).exits(0);
}

#[test]
fn cases_are_compared() {
    let place = Workplace::new();
    assert_snapshot!(place.run(&["policy", "test"]), @"
    exit 2
    --- stderr
    error: there are no cases in policies/tests/

    hint: a case is a call and the verdict you expect; docs/reference/policy.md shows one
    ");
    place.write("policies/tests/shop.yaml", CASES);
    assert_snapshot!(place.run(&["policy", "test"]), @"
    exit 0
    --- stdout
    policies/tests/shop.yaml
      ok  orders are read without asking  shop.orders  permit  plain-reads
      ok  a note in production asks       notes.write  ask     production-writes

    ok: 2 cases
    ");
    place.edit("policies/tests/shop.yaml", "expect: ask", "expect: permit");
    assert_snapshot!(place.run(&["policy", "test"]), @"
    exit 1
    --- stdout
    policies/tests/shop.yaml
      ok       orders are read without asking  shop.orders  permit  plain-reads
      differs  a note in production asks       notes.write  ask     expected permit, got ask (production-writes)

    not ok: 1 of 2 cases differ
    ");
    place.edit("policies/tests/shop.yaml", "shop.orders", "shop.order");
    assert_snapshot!(place.run(&["policy", "test"]), @"
    exit 2
    --- stderr
    error[R101]: no tool is called `shop.order`
     --> policies/tests/shop.yaml:4:60
      |
    4 |   - { name: orders are read without asking, by: ada, call: shop.order, expect: permit }
      |                                                            ^^^^^^^^^^
      |
      = hint: did you mean `shop.orders`?

    error: the cases of `policies/tests/shop.yaml` cannot be used

    hint: docs/reference/policy.md describes the format
    ");
}

#[test]
fn the_cases_of_the_examples_hold() {
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/sla");
    let ran = Workplace::empty().run(&["-C", root, "policy", "test"]);
    assert!(ran.stdout.contains("ok: 4 cases"), "{ran}");
}
