//! What a yes covers: closure digests, labels, conditions, revisions.

#![expect(clippy::unwrap_used, reason = "tests")]

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use serde_json::json;

use super::*;
use crate::catalog::{Effect, Idempotency, Risk};
use crate::check::TermsRecord;
use crate::digest::Domain;
use crate::label::Label;
use crate::policy::{AskTerms, Verdict};
use crate::schema::Schema;
use crate::source::Source;

fn digest(text: &str) -> Digest {
    Digest::of_bytes(Domain::Closure, text.as_bytes())
}

fn verdict(decision: Decision, condition: Option<&str>) -> Verdict {
    Verdict {
        decision,
        policies: vec!["p".to_owned()],
        ask: Some(AskTerms::default()),
        condition: condition.map(str::to_owned),
        errors: Vec::new(),
    }
}

fn record(closure: &str) -> StepRecord {
    StepRecord {
        confirm: None,
        undo: None,
        closure: digest(closure),
        after: BTreeSet::new(),
        reads: BTreeSet::new(),
        tool: None,
        role: None,
        labels: BTreeMap::new(),
        control: Label::trusted(),
        risk: Risk::Low,
        verdict: Some(verdict(Decision::Ask, None)),
        run_checks: Vec::new(),
    }
}

/// A checked plan whose steps have these closures, written `a:one b:two`.
fn checked(steps: &str) -> CheckedPlan {
    let steps: Vec<(&str, &str)> = steps
        .split_whitespace()
        .map(|step| step.split_once(':').unwrap())
        .collect();
    let list: Vec<_> = steps
        .iter()
        .map(|(id, _)| json!({ "id": id, "tool": "db.put" }))
        .collect();
    let text = json!({ "schema": "provost/plan/v1", "steps": list }).to_string();
    let plan = crate::plan::read::read_plan(&Source::new("plan.json", text)).unwrap();
    let record = PlanRecord {
        digest: plan.digest(),
        revision: 1,
        terms: TermsRecord {
            goal: digest("goal"),
            policy: digest("policy"),
            principal: digest("principal"),
            limits: digest("limits"),
            tools: BTreeMap::new(),
            roles: BTreeMap::new(),
        },
        steps: steps
            .iter()
            .map(|(id, form)| ((*id).to_owned(), record(form)))
            .collect(),
        not_checked: Vec::new(),
        totals: BTreeMap::new(),
    };
    CheckedPlan {
        plan: plan.into(),
        record: record.into(),
    }
}

fn operation() -> Operation {
    Operation {
        name: "db.put".to_owned(),
        description: String::new(),
        effect: Effect::Write,
        tags: BTreeSet::new(),
        input: Schema::compile(json!({})).unwrap(),
        output: None,
        trusted: false,
        secret: false,
        accepts_secrets: false,
        content: BTreeSet::from(["message".to_owned()]),
        idempotency: Idempotency::None,
        errors_no_effect: false,
        timeout: Duration::from_secs(1),
        max_bytes: 1,
        reconcile: None,
        preview: None,
        creates: None,
        values: BTreeMap::new(),
        cost: None,
        endpoint: json!(null),
    }
}

fn named(plan: &ApprovedPlan) -> String {
    plan.grants()
        .keys()
        .map(String::as_str)
        .collect::<Vec<_>>()
        .join(" ")
}

#[test]
fn a_grant_binds_the_closure() {
    let mut plan = ApprovedPlan::gated(checked("a:one b:one"));
    assert_eq!(named(&plan), "");
    assert!(!plan.grant("a", digest("other")), "another closure");
    assert!(!plan.grant("c", digest("one")), "no such step");
    assert!(!plan.is_granted("a") && !plan.is_granted("c"));
    assert!(plan.grant("a", digest("one")));
    assert!(plan.is_granted("a") && !plan.is_granted("b"));
    assert!(plan.opens_gate("a", &record("one"), &operation()));
    assert!(!plan.opens_gate("a", &record("other"), &operation()));
    assert!(!plan.opens_gate("b", &record("one"), &operation()));
}

/// An approval of the plan covers a call only if nothing was left to its values.
#[test]
fn a_plan_approval_covers_what_was_settled() {
    use Integrity::{Data, Text, Trusted};
    let mut plan = ApprovedPlan::gated(checked("a:one"));
    plan.grant("a", digest("one"));
    let table = [
        ("to", Trusted, Trusted, None, true),
        ("to", Data, Trusted, None, false),
        ("to", Text, Trusted, None, false),
        ("message", Text, Trusted, None, true),
        ("to", Trusted, Data, None, true),
        ("to", Trusted, Text, None, false),
        (
            "to",
            Trusted,
            Trusted,
            Some("asks if `amount` > 500"),
            false,
        ),
    ];
    for (arg, sink, control, condition, opens) in table {
        let label = |integrity| Label {
            integrity,
            ..Label::default()
        };
        let step = StepRecord {
            labels: BTreeMap::from([(arg.to_owned(), label(sink))]),
            control: label(control),
            verdict: Some(verdict(Decision::Ask, condition)),
            ..record("one")
        };
        let found = plan.opens_gate("a", &step, &operation());
        assert_eq!(found, opens, "{arg} {sink:?} {control:?} {condition:?}");
    }
    let forbidden = StepRecord {
        verdict: Some(verdict(Decision::Forbid, None)),
        ..record("one")
    };
    assert!(!plan.opens_gate("a", &forbidden, &operation()));
    let unjudged = StepRecord {
        verdict: None,
        ..record("one")
    };
    assert!(!plan.opens_gate("a", &unjudged, &operation()));
}

#[test]
fn approvals_survive_only_with_an_equal_closure() {
    let mut plan = ApprovedPlan::gated(checked("same:one changed:one gone:one asked:one"));
    for step in ["same", "changed", "gone"] {
        assert!(plan.grant(step, digest("one")));
    }
    let next = checked("same:one changed:two asked:one new:one");
    let delta = plan.delta(&next);
    assert_eq!(delta.retain, ["same"]);
    assert_eq!(delta.replace, ["changed"]);
    assert_eq!(delta.clear, ["gone"]);
    let plan = plan.revised(next);
    assert_eq!(named(&plan), "same");
    // A change and the change back: the approval does not come back by itself.
    let mut back = ApprovedPlan::gated(checked("a:one"));
    back.grant("a", digest("one"));
    let back = back.revised(checked("a:two")).revised(checked("a:one"));
    assert!(!back.is_granted("a"));
}
