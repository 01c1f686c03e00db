//! What a plan comes to, as policies look at it.

use super::*;
use crate::amount::Amount;

const PERMIT: &str = r#"@id("all") permit (principal, action in Action::"call", resource);"#;

fn with_rule(when: &str) -> Policy {
    policy(&[&format!(
        "{PERMIT}\n@id(\"rule\") forbid (principal, action in Action::\"call\", resource) when {{ \
         {when} }};"
    )])
}

/// Sums as a plan has them: a number, or `null` of what has no bound.
fn totals(value: &Value) -> Totals {
    let map = value.as_object().unwrap();
    let each = map.iter();
    each.map(|(name, most)| (name.clone(), Amount::of_value(most)))
        .collect()
}

/// A rule, what the plan comes to, and what is said of a call of it.
#[test]
fn a_call_is_judged_by_what_its_plan_comes_to() {
    let asks = "!resource.attended && context.total has spend && context.total.spend > 500";
    let unless = "!(context.total has spend && context.total.spend <= 500)";
    let asks_otherwise = "!resource.attended && \
                          !(context.total has spend && context.total.spend <= 500)";
    let dotted = "context has total.spend && context.total.spend > 500";
    let weight = "context.total has weight && \
                  context.total.weight.greaterThan(decimal(\"0.3\"))";
    let with_arg = "context.total has spend && context.total.spend > 500 && \
                    context.args has amount && context.args.amount > 1";
    let open = json!({ "spend": 501 });
    let table = [
        (asks, Some(json!({})), "permit by all"),
        (asks, Some(json!({ "spend": 500 })), "permit by all"),
        (asks, Some(json!({ "spend": 501 })), "ask by rule"),
        (asks, Some(json!({ "spend": null })), "permit by all"),
        (unless, Some(json!({ "spend": null })), "forbid by rule"),
        (unless, Some(json!({ "spend": 500 })), "permit by all"),
        // Why not zero: what a record does not name has no bound that anybody knows.
        (unless, Some(json!({})), "forbid by rule"),
        (unless, Some(json!({ "weight": 1 })), "forbid by rule"),
        (asks_otherwise, Some(json!({})), "ask by rule"),
        (dotted, Some(json!({ "spend": 501 })), "forbid by rule"),
        (dotted, Some(json!({ "spend": null })), "permit by all"),
        // Why forbidden: sums are rounded up, never down.
        (
            weight,
            Some(json!({ "weight": 0.300_001 })),
            "forbid by rule",
        ),
        (weight, Some(json!({ "weight": 0.3 })), "permit by all"),
        (asks, None, "ask by rule; asks if `total.spend` > 500"),
        (
            with_arg,
            Some(open),
            "ask by rule; forbidden if `amount` > 1",
        ),
        (with_arg, Some(json!({ "spend": null })), "permit by all"),
        (
            with_arg,
            None,
            "ask by rule; forbidden if `total.spend` > 500 and `amount` > 1",
        ),
    ];
    for (when, given, expected) in table {
        let mut case = Case::call("db.put");
        if when == with_arg {
            case = case.unknown("amount", Integrity::Trusted);
        }
        case.totals = given.as_ref().map(totals);
        assert_eq!(
            line(&case.decide(&with_rule(when))),
            expected,
            "{when}, {given:?}"
        );
    }
}

/// One policy is asked with one sum after the other: nothing that is kept mixes them up.
#[test]
fn what_is_kept_of_a_decision_is_not_kept_for_another_sum() {
    let policy = with_rule("context.total has spend && context.total.spend > 1");
    for (spend, decision) in [(0, "permit"), (2, "forbid"), (1, "permit"), (9, "forbid")] {
        let mut case = Case::call("bank.pay").arg("amount", json!(1), Integrity::Trusted);
        case.totals = Some(totals(&json!({ "spend": spend })));
        assert_eq!(case.decide(&policy).decision.word(), decision, "{spend}");
    }
}

/// A sum that no tool counts has no name in a policy, and one that may not be there needs a guard.
#[test]
fn a_sum_is_typed_by_the_catalog() {
    let rule = |when: &str| {
        format!("{PERMIT}\n@id(\"r\") forbid (principal, action, resource) when {{ {when} }};")
    };
    for when in [
        "context.total.spend > 1",
        "context.total has spnd && context.total.spnd > 1",
        "context.total has weight && context.total.weight > 1",
    ] {
        assert!(load(&[&rule(when)]).is_err(), "{when}");
    }
}

/// A sum that nobody has told is not a small one: a policy that permits up to a sum permits nothing.
#[test]
fn what_no_sum_is_told_of_is_not_permitted() {
    let small = "permit (principal, action in Action::\"call\", resource) when { context.total has spend && \
                 context.total.spend <= 500 };";
    let policy = policy(&[&format!("@id(\"small\") {small}")]);
    for (given, decision) in [
        (json!({ "spend": 500 }), "permit"),
        (json!({ "spend": 501 }), "forbid"),
        (json!({ "spend": null }), "forbid"),
        (json!({ "weight": 1 }), "forbid"),
        (json!({}), "forbid"),
    ] {
        let mut case = Case::call("db.put");
        case.totals = Some(totals(&given));
        assert_eq!(case.decide(&policy).decision.word(), decision, "{given}");
    }
}

/// A case that is silent about a sum is about a plan of its call alone.
#[test]
fn a_case_without_sums_is_a_plan_of_one_call() {
    let rule = "!(context.total has spend && context.total.spend <= 500)";
    let policy = with_rule(rule);
    for (args, expected) in [
        ("args: { to: x, amount: 500 }", "permit"),
        ("args: { to: x, amount: 501 }", "forbid"),
        (
            "args: { to: x, amount: 501 }, total: { spend: 9 }",
            "permit",
        ),
        ("args: { to: x }, unknown: [amount]", "forbid"),
        ("args: { to: x }", "forbid"),
    ] {
        let text = format!(
            "schema: provost/policy-test/v1\ncases:\n\
             - {{ name: one, call: bank.pay, {args}, expect: permit }}\n"
        );
        let cases = Cases::read(&Source::new("cases.yaml", text), &catalog(), &people()).unwrap();
        let given = cases.judge(&policy, &catalog()).remove(0).given.word();
        assert_eq!(given, expected, "{args}");
    }
}

/// A case of a policy test says what the plan of its call comes to.
#[test]
fn a_case_gives_the_sums_of_its_plan() {
    let read = |sums: &str| {
        let text = format!(
            "schema: provost/policy-test/v1\ncases:\n\
             - {{ name: one, call: bank.pay, args: {{ to: x, amount: 1 }}, expect: forbid{sums} }}\n"
        );
        Cases::read(&Source::new("cases.yaml", text), &catalog(), &people())
    };
    let rule = "!(context.total has spend && context.total.spend <= 500)";
    let policy = with_rule(rule);
    let given = |sums: &str| {
        let cases = read(sums).unwrap();
        cases.judge(&policy, &catalog()).remove(0).given.word()
    };
    assert_eq!(given(""), "permit");
    assert_eq!(given(", total: { spend: 500 }"), "permit");
    assert_eq!(given(", total: { spend: 500.5 }"), "forbid");
    assert_eq!(given(", unbounded: spend"), "forbid");
    assert_eq!(given(", total: { weight: 9 }"), "permit");
    let codes = |sums: &str| {
        let found = read(sums).unwrap_err();
        let codes: Vec<&str> = found.iter().map(|finding| finding.code.as_str()).collect();
        codes.join(" ")
    };
    assert_eq!(codes(", total: { spnd: 1 }"), "R119");
    assert_eq!(codes(", unbounded: [spent]"), "R119");
    assert_eq!(codes(", total: { spend: much }"), "P006");
}
