//! Any arguments of a call under a policy, and any text as a policy.
//!
//! Owns what holds of verdicts. An input is arguments as JSON; what stands before a line `---` is a
//! policy. INVARIANT: where anything went wrong a verdict is `forbid`, and arguments that are not
//! known make it no milder.

use std::collections::{BTreeMap, BTreeSet};

use provost_plan::catalog::Catalog;
use provost_plan::label::{Integrity, Label};
use provost_plan::policy::{CallFacts, DEFAULT_POLICY, Decision, Policy, Verdict};
use provost_plan::source::Source;
use serde_json::{Map, Value};

use super::{hold, reached, terms};

/// Loads and decides the bytes, if they are text.
pub fn run(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else {
        return;
    };
    let (Some(terms), Some(people)) = (terms::default_terms(), terms::people()) else {
        return;
    };
    let Some((written, args)) = text.split_once("\n---\n") else {
        return decided(&terms.policy, &terms.catalog, text);
    };
    // Why: half of the policies stand beside the default one, as most would.
    let beside = Source::new("own.cedar", written);
    let mut sources = vec![beside.clone()];
    if written.len() % 2 == 0 {
        sources.push(Source::new("default.cedar", DEFAULT_POLICY));
    }
    match Policy::load(&terms.catalog, &sources, &people) {
        Ok(policy) => {
            reached("loaded");
            decided(&policy, &terms.catalog, args);
        }
        Err(found) => {
            assert!(!found.is_empty(), "refused without a finding");
            for (source, diagnostic) in found {
                hold(&source, &[diagnostic]);
            }
        }
    }
}

fn decided(policy: &Policy, catalog: &Catalog, text: &str) {
    let Ok(Value::Object(args)) = serde_json::from_str(text) else {
        return;
    };
    for operation in catalog.iter() {
        let labels: BTreeMap<String, Label> = args
            .keys()
            .enumerate()
            .map(|(at, name)| {
                let text = (at % 3 == 2).then_some(Integrity::Text);
                let label = Label::from_step("a", text.unwrap_or_default());
                (name.clone(), label)
            })
            .collect();
        let principal = terms::principal();
        let decide = |args: &Map<String, Value>, unknown: &BTreeSet<String>| {
            let verdict = policy.decide(&CallFacts {
                principal: &principal,
                operation,
                role: "",
                args,
                unknown,
                labels: &labels,
                control: &Label::trusted(),
                inputs_validated: true,
                values_from_goal: true,
                repeats: Some(0),
                totals: None,
            });
            holds(policy, &verdict);
            verdict
        };
        let known = decide(&args, &BTreeSet::new());
        assert_eq!(known, decide(&args, &BTreeSet::new()), "not the same twice");
        assert_eq!(known.condition, None, "nothing is left open");
        for name in args.keys() {
            let unknown = BTreeSet::from([name.clone()]);
            let mut rest = args.clone();
            rest.remove(name);
            let open = decide(&rest, &unknown);
            milder(&open, &known);
        }
    }
}

/// What holds of every verdict.
fn holds(policy: &Policy, verdict: &Verdict) {
    reached(verdict.decision.word());
    reached(format!("condition {}", verdict.condition.is_some()));
    if !verdict.errors.is_empty() {
        reached("errors");
        assert_eq!(verdict.decision, Decision::Forbid, "an error forbids");
    }
    assert_eq!(verdict.ask.is_some(), verdict.decision == Decision::Ask);
    if verdict.decision == Decision::Permit {
        assert!(!verdict.policies.is_empty(), "a permit has a policy");
    }
    for id in &verdict.policies {
        let own = id.starts_with("provost:");
        assert!(
            own || policy.ids().any(|known| known == id),
            "no policy is called `{id}`"
        );
    }
}

/// A verdict that leaves nothing open holds whatever the unknown argument turns out to be.
fn milder(open: &Verdict, known: &Verdict) {
    // Why: a value that no schema admits is an error of its own, which forbids.
    if open.condition.is_some() || !known.errors.is_empty() || !open.errors.is_empty() {
        return;
    }
    assert!(
        open.decision >= known.decision,
        "{open:?} without the argument, {known:?} with it"
    );
}
