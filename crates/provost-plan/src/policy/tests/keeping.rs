//! Verdicts that are kept: the same as if each call were decided anew.

use super::*;

/// Looks at no argument, but at whether one is opaque.
const OPAQUE: &str = r#"@id("all")
permit (principal, action, resource);
@id("opaque")
forbid (principal, action in Action::"call", resource)
when { !resource.attended && !context.opaque.isEmpty() };"#;
/// Looks at one.
const LOOKING: &str = r#"@id("all")
permit (principal, action, resource);
@id("large")
forbid (principal, action == Action::"db.put", resource)
when { !resource.attended && context.args has amount && context.args.amount > 500 };"#;

fn decided(policy: &Policy, args: &[(&str, Value)]) -> Verdict {
    let call = Case::call("db.put");
    let with = |call: Case, (name, value): &(&str, Value)| {
        call.arg(name, value.clone(), Integrity::Trusted)
    };
    args.iter().fold(call, with).decide(policy)
}

#[test]
fn a_verdict_is_kept_only_where_no_argument_was_looked_at() {
    let small: &[_] = &[("amount", json!(1))];
    let large: &[_] = &[("amount", json!(501))];
    let opaque: &[_] = &[("amount", json!(1)), ("free", json!({}))];
    let words = |source: &str, calls: [&[(&str, Value)]; 4]| {
        let policy = policy(&[source]);
        calls.map(|args| decided(&policy, args).decision.word())
    };
    let want = ["permit", "ask", "permit", "ask"];
    // Why each twice: the second may be a kept one.
    assert_eq!(words(OPAQUE, [small, opaque, large, opaque]), want);
    assert_eq!(words(LOOKING, [small, large, small, large]), want);
}

#[test]
fn a_call_that_does_not_fit_is_forbidden_whatever_was_kept() {
    let policy = policy(&[OPAQUE]);
    assert_eq!(
        decided(&policy, &[("amount", json!(1))]).decision,
        Decision::Permit
    );
    let unfit = decided(&policy, &[("amount", json!("one"))]);
    assert_eq!(unfit.decision, Decision::Forbid);
    assert!(!unfit.errors.is_empty());
}
