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
    tool         effect  decision  policies           with untrusted arguments
    notes.read   read    permit    plain-reads        the same
    notes.write  write   ask       production-writes  ask (untrusted-sink)
    shop.orders  read    permit    plain-reads        the same

    answer, settle, amend, stop, resume, see, reveal, begin, govern: any local user (solo.cedar)
    policies that apply to no tool: outside-communication, money, permissions, deployments, deletions, compliance, opaque-arguments, unvalidated-inputs
    ok: 21 policies, 3 tools
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
    place.people(&serde_json::Map::new());
    place.write(
        "policies/extra.cedar",
        r#"@id("live") @approver("oncall")
forbid (principal, action in Action::"call", resource)
when { !resource.attended && resource.tags.contains("deploy") };
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
      = hint: groups and roles stand in policies/entities.json: with each person who is in them, or in the list `groups` while nobody is

    tool         effect  decision  policies           with untrusted arguments
    notes.read   read    permit    plain-reads        the same
    notes.write  write   ask       production-writes  ask (untrusted-sink)
    shop.orders  read    permit    plain-reads        the same

    answer, settle, amend, stop, resume, see, reveal, begin, govern: any local user (solo.cedar)
    policies that apply to no tool: outside-communication, money, permissions, deployments, deletions, compliance, opaque-arguments, unvalidated-inputs, live
    not ok: 22 policies, 3 tools; 1 warning
    not checked:
      calls with particular arguments: `provost policy test` does that
    "#);
    place.run(&["policy", "check"]).exits(0);
}

/// Whatever reads policies refuses one that names a group, a person or a tool that there is not.
#[test]
fn a_misspelt_name_of_a_rule_is_refused_wherever_policies_load() {
    let place = Workplace::new();
    place.write("plan.yaml", super::workplace::PLAN);
    place
        .run(&["plan", "Note the orders of ada", "-o", "saved.json"])
        .exits(0);
    place.people(
        serde_json::json!({ "ada": { "groups": ["oncall"] } })
            .as_object()
            .unwrap(),
    );
    let rule = |approver: &str, tool: &str| {
        let text = format!(
            "@approver(\"{approver}\") forbid (principal, action == Action::\"{tool}\", resource) \
             when {{ !resource.attended }};\n"
        );
        place.write("policies/extra.cedar", text);
    };
    let verbs = [
        &["check", "plan.yaml"][..],
        &["show", "plan.yaml"],
        &["apply", "saved.json"],
        &["plan", "Note the orders of ada"],
        &["run", "Note the orders of ada"],
        &["doctor"],
        &["work", "--until-idle"],
        &["mcp"],
        &["policy", "check"],
    ];
    for (approver, tool, near) in [
        ("oncal", "notes.write", "did you mean `oncall`?"),
        (
            "oncall",
            "notes.wirte",
            "did you mean `Action::\"notes.write\"`?",
        ),
    ] {
        rule(approver, tool);
        for verb in verbs {
            let refused = place.run(verb).exits(2);
            assert!(
                refused.stderr.contains("error[W802]"),
                "{verb:?}: {refused}"
            );
            assert!(refused.stderr.contains(near), "{verb:?}: {refused}");
        }
    }
    // The control: with the names that are meant, the policies load.
    rule("oncall", "notes.write");
    place.run(&["policy", "check"]).exits(0);
}

/// A set of policies that asks nobody about untrusted values says so wherever it is judged.
#[test]
fn policies_without_the_rules_on_untrusted_values_say_so() {
    let place = Workplace::new();
    place.write("plan.yaml", super::workplace::PLAN);
    let verbs = [
        &["check", "plan.yaml"][..],
        &["doctor"],
        &["policy", "check"],
    ];
    for verb in verbs {
        let said = place.run(verb);
        assert!(!said.stdout.contains("W813"), "{verb:?}: {said}");
    }
    std::fs::remove_file(place.path("policies/default.cedar")).unwrap();
    place.write(
        "policies/own.cedar",
        "permit (principal, action in Action::\"call\", resource);\n",
    );
    for verb in verbs {
        let said = place.run(verb).exits(0);
        let lines = said
            .stdout
            .lines()
            .filter(|line| line.contains("note[W813]"));
        assert_eq!(lines.count(), 1, "{verb:?}: {said}");
        assert!(said.stdout.contains("`notes.write`"), "{verb:?}: {said}");
        assert!(said.stdout.contains("untrusted-sink"), "{verb:?}: {said}");
    }
    let seen = place.json(&["check", "plan.yaml", "--json"]);
    let codes = seen["workspace"].as_array().unwrap().iter();
    assert!(codes.map(|found| &found["code"]).any(|code| code == "W813"));
}

#[test]
fn a_misspelt_tag_of_a_tool_takes_no_rule_away() {
    let place = Workplace::new();
    place.edit(
        "provost.toml",
        r#"tags = ["production"]"#,
        r#"tags = ["prodution"]"#,
    );
    let verbs = [
        &["policy", "check"][..],
        &["doctor"],
        &["tools", "list"],
        &["run", "Anything"],
    ];
    for verb in verbs {
        let refused = place.run(verb).exits(2);
        assert!(
            refused.stderr.contains("error[W811]: the tag `prodution`"),
            "{refused}"
        );
        assert!(
            refused.stderr.contains("did you mean `production`?"),
            "{refused}"
        );
    }
    // The control: with the tag that is meant, a write asks.
    place.edit("provost.toml", "prodution", "production");
    place.waiting();
}

#[test]
fn a_misspelt_tag_of_a_rule_takes_no_guard_away() {
    let place = Workplace::new();
    place.edit(
        "policies/default.cedar",
        r#"contains("production")"#,
        r#"contains("prodution")"#,
    );
    let refused = place.run(&["run", "Note the orders of ada"]).exits(2);
    assert!(
        refused
            .stderr
            .contains("names the tag that is not declared, `prodution`"),
        "{refused}"
    );
    assert!(!place.path("notes/orders.txt").exists());
}

#[test]
fn a_tag_of_ones_own_is_declared_and_looked_at() {
    let place = Workplace::new();
    place.write("plan.yaml", super::workplace::PLAN);
    place.edit(
        "provost.toml",
        r#"tags = ["production"]"#,
        r#"tags = ["production", "books"]"#,
    );
    let text = std::fs::read_to_string(place.path("provost.toml")).unwrap();
    let tags = "[tags]\nbooks = \"what the accounts rest on\"\n";
    place.write("provost.toml", format!("{text}{tags}"));
    let warned = |args: &[&str], code: i32| {
        let ran = place.run(args).exits(code);
        assert!(
            ran.stdout.contains("W810") && ran.stdout.contains("`books`"),
            "{ran}"
        );
    };
    warned(&["policy", "check"], 0);
    warned(&["policy", "check", "--deny-warnings"], 1);
    warned(&["check", "plan.yaml"], 0);
    warned(&["check", "plan.yaml", "--deny-warnings"], 1);
    warned(&["check", "plan.yaml", "--json"], 0);
    warned(&["doctor"], 0);
    warned(&["doctor", "--json"], 0);
    place.write(
        "policies/books.cedar",
        r#"@id("books") forbid (principal, action in Action::"call", resource)
when { !resource.attended && resource.effect != "read" && resource.tags.contains("books") };
"#,
    );
    place.run(&["policy", "check", "--deny-warnings"]).exits(0);
}

#[test]
fn a_write_that_an_audit_looks_at_asks_by_default() {
    let place = Workplace::new();
    place.edit(
        "provost.toml",
        r#"tags = ["production"]"#,
        r#"tags = ["compliance"]"#,
    );
    place.run(&["run", "Note the orders of ada"]).exits(3);
    let inbox = place.run(&["inbox"]).exits(0);
    assert!(inbox.stdout.contains("policy     compliance"), "{inbox}");
    assert!(!place.path("notes/orders.txt").exists());
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
