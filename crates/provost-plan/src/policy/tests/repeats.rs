//! How often a call was made before, as policies look at it.

use super::*;

const PERMIT: &str = r#"@id("all") permit (principal, action in Action::"call", resource);"#;

fn with_rule(when: &str) -> Policy {
    policy(&[&format!(
        "{PERMIT}\n@id(\"rule\") forbid (principal, action in Action::\"call\", resource) when {{ \
         {when} }};"
    )])
}

/// A rule, how often the call was made before, and what is said of it.
#[test]
fn a_call_is_judged_by_how_often_it_was_made_before() {
    let asks = "!resource.attended && resource.repeats > 0";
    let never = "resource.repeats >= 3 && resource.effect != \"read\"";
    let hidden = "(if resource.attended then resource else resource).repeats > 0";
    let with_arg = "resource.repeats > 0 && context.args has amount && context.args.amount > 500";
    let table = [
        (asks, Some(0), "permit by all"),
        (asks, Some(1), "ask by rule"),
        (asks, None, "ask by rule; asks if `resource.repeats` > 0"),
        (never, Some(2), "permit by all"),
        (never, Some(3), "forbid by rule"),
        (
            never,
            None,
            "ask by rule; forbidden if `resource.repeats` ≥ 3",
        ),
        (hidden, Some(0), "permit by all"),
        (hidden, Some(1), "forbid by rule"),
        (
            hidden,
            None,
            "ask by rule; forbidden if policy `rule` applies, which hangs on how often it was \
             made before",
        ),
        (with_arg, Some(1), "forbid by rule"),
        (
            with_arg,
            None,
            "ask by rule; forbidden if `resource.repeats` > 0",
        ),
        ("resource.effect == \"read\"", None, "permit by all"),
    ];
    for (when, repeats, expected) in table {
        let mut case = Case::call("db.put").arg("amount", json!(501), Integrity::Trusted);
        case.repeats = repeats;
        assert_eq!(
            line(&case.decide(&with_rule(when))),
            expected,
            "{when}, {repeats:?}"
        );
    }
}

/// The same policy is asked with one count after the other: nothing that is kept mixes them up.
#[test]
fn what_is_kept_of_a_decision_is_kept_for_its_count() {
    let policy = with_rule("resource.repeats > 1");
    for (repeats, decision) in [(0, "permit"), (2, "forbid"), (1, "permit"), (9, "forbid")] {
        let mut case = Case::call("db.put");
        case.repeats = Some(repeats);
        assert_eq!(case.decide(&policy).decision.word(), decision, "{repeats}");
    }
}

/// An argument of that name is no count of calls.
#[test]
fn a_path_of_that_name_in_an_argument_stays_an_argument() {
    let rule = "context.args has order && context.args.order.id == \"x\"";
    let mut case = Case::call("db.put").unknown("order", Integrity::Trusted);
    case.repeats = None;
    let said = line(&case.decide(&with_rule(rule)));
    assert_eq!(
        said,
        "ask by rule; forbidden if `order` is given and `order.id` is \"x\""
    );
}
