//! What the journal keeps of a check: closure digests, terms, and what was not looked at.
//!
//! Owns the closure digest. INVARIANT: two steps have one closure digest only if they are written
//! alike, rest on steps that do, and call one tool in one role for one principal under one control
//! label.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;
use serde_json::json;

use super::effects::is_reconciled;
use super::flow::StepLabels;
use super::{CallRecord, Pass, PlanRecord, StepRecord, TermsRecord};
use super::{budget, scope};
use crate::catalog::{Operation, Risk};
use crate::digest::{Digest, Domain, canonical, canonical_map, canonical_of};
use crate::plan::{CallRole, Step, StepKind};
use crate::policy::Decision;

/// The record of a plan without errors.
pub(crate) fn of(pass: &Pass<'_>, not_checked: &[String]) -> PlanRecord {
    let tools: BTreeMap<&str, Digest> = pass
        .plan
        .steps
        .iter()
        .flat_map(|step| {
            let calls = step.calls();
            calls
                .filter_map(|(role, ..)| pass.called(step, role))
                .map(AsRef::as_ref)
                .chain(pass.may_call(step))
        })
        .filter_map(|operation| {
            let name = operation.name.as_str();
            Some((name, pass.terms.catalog.digest(name)?))
        })
        .collect();
    let principal = pass.terms.principal.digest();
    let mut steps: BTreeMap<String, StepRecord> = BTreeMap::new();
    for step in pass.order.nodes().iter().map(|node| node.step) {
        let record = of_step(pass, step, &tools, principal, &steps);
        steps.insert(step.id.value.clone(), record);
    }
    PlanRecord {
        digest: pass.plan.digest(),
        revision: pass.base.revision.max(1),
        terms: TermsRecord {
            goal: pass.terms.goal.digest(),
            policy: pass.terms.policy.digest(),
            principal,
            limits: pass.terms.limits.digest(),
            tools: tools
                .iter()
                .map(|(name, digest)| ((*name).to_owned(), *digest))
                .collect(),
            roles: roles(pass),
        },
        steps,
        not_checked: not_checked.to_vec(),
        totals: pass.totals.clone().unwrap_or_default(),
    }
}

/// The digest of a role.
fn role(pass: &Pass<'_>, name: &str) -> Option<Digest> {
    let role = pass.terms.catalog.role(name);
    role.map(|role| role.digest())
}

/// The digest of each role that the plan names.
fn roles(pass: &Pass<'_>) -> BTreeMap<String, Digest> {
    let named = pass.plan.steps.iter().filter_map(Step::role);
    named
        .filter_map(|name| Some((name.to_owned(), role(pass, name)?)))
        .collect()
}

fn of_step(
    pass: &Pass<'_>,
    step: &Step,
    tools: &BTreeMap<&str, Digest>,
    principal: Digest,
    done: &BTreeMap<String, StepRecord>,
) -> StepRecord {
    let id = &step.id.value;
    let set = |sets: &BTreeMap<String, BTreeSet<String>>| sets.get(id).cloned().unwrap_or_default();
    let after = set(&pass.graph.after);
    let none = StepLabels::default();
    let labels = pass.labels.get(id).unwrap_or(&none);
    let tool = step
        .tool()
        .and_then(|tool| tools.get(tool.value.as_str()))
        .copied();
    let rests_on: BTreeMap<&str, Digest> = after
        .iter()
        .filter_map(|dep| Some((dep.as_str(), done.get(dep)?.closure)))
        .collect();
    let call = |role: CallRole| {
        Some(CallRecord {
            tool: *tools.get(step.call(role)?.0.value.as_str())?,
            labels: labels.of(role).clone(),
            verdict: pass.verdict(step, role)?.clone(),
        })
    };
    let (confirm, undo) = (call(CallRole::Confirm), call(CallRole::Undo));
    let role = step.role().and_then(|name| role(pass, name));
    let mut parts = vec![
        ("step", canonical(&step.value)),
        ("after", text(&rests_on)),
        ("tool", text(&tool)),
        ("principal", text(&principal)),
        ("control", text(&labels.control)),
    ];
    // Why not always: a step without one of these keeps the digest that journals and bundles hold.
    parts.extend(role.iter().map(|role| ("role", text(role))));
    if let Some(confirm) = &confirm {
        parts.push(("confirm", text(&confirm.tool)));
    }
    if let Some(undo) = &undo {
        parts.push(("undo", text(&undo.tool)));
    }
    if let Some((parent, _)) = pass.plan.parent(id) {
        parts.push(("subgoal", canonical(&parent.without_result())));
    }
    let closure = canonical_map(parts);
    StepRecord {
        closure: Digest::of_bytes(Domain::Closure, closure.as_bytes()),
        after,
        reads: set(&pass.graph.reads),
        tool,
        role,
        labels: labels.of(CallRole::Own).clone(),
        control: labels.control.clone(),
        risk: risk(pass, step),
        verdict: pass.verdict(step, CallRole::Own).cloned(),
        confirm,
        undo,
        run_checks: pass.run_checks.get(id).cloned().unwrap_or_default(),
    }
}

/// The risk of a step: of a subgoal that is not refined, the highest that its envelope admits.
fn risk(pass: &Pass<'_>, step: &Step) -> Risk {
    let own = pass.operation(step).map(AsRef::as_ref);
    let all = own.into_iter().chain(pass.may_call(step));
    all.map(Operation::risk).max().unwrap_or(Risk::Low)
}

/// The canonical text of digests and labels.
fn text(value: &impl Serialize) -> String {
    canonical_of(value).unwrap_or_else(|_| canonical(&json!(value)))
}

/// What a green check does not mean, by name.
pub(crate) fn not_checked(pass: &Pass<'_>, worst: &budget::WorstCase) -> Vec<String> {
    let mut list = Vec::new();
    let named = |keep: &dyn Fn(&Step) -> bool| {
        let steps = pass.plan.steps.iter().filter(|step| keep(step));
        let names: Vec<&str> = steps.map(|step| step.id.value.as_str()).collect();
        (!names.is_empty()).then(|| names.join(", "))
    };
    let is_call = |step: &Step| pass.operation(step).is_some();
    let untyped = |step: &Step| is_call(step) && scope::output_schema(pass, step).is_none();
    if let Some(names) = named(&untyped) {
        list.push(format!("outputs without a schema: {names}"));
    }
    if let Some(names) = named(&|step| pass.run_checks.contains_key(&step.id.value)) {
        list.push(format!("arguments that are checked at run time: {names}"));
    }
    let asks = |step: &Step| {
        let verdict = pass.verdict(step, CallRole::Own);
        let asked = verdict.is_some_and(|verdict| verdict.decision == Decision::Ask);
        asked || matches!(step.kind, StepKind::Question { expires: None, .. })
    };
    if let Some(names) = named(&asks) {
        list.push(format!("how long people take to answer: {names}"));
    }
    let plain = |step: &Step| {
        pass.operation(step)
            .is_some_and(|op| op.is_plain_write() && !is_reconciled(pass, op))
    };
    if let Some(names) = named(&plain) {
        list.push(format!(
            "whether a lost reply can be settled without a person: {names}"
        ));
    }
    if let Some(names) = named(&Step::is_open_subgoal) {
        list.push(format!("the steps that refine {names}"));
    }
    let revisions = budget::limits(pass).revisions;
    if revisions > 0 {
        list.push(format!("the plans of up to {revisions} revisions"));
    }
    let limits = budget::limits(pass);
    // Why one word: where nobody counts money or tokens, there is no total to miss.
    let counts = limits.money.is_some() || limits.tokens.is_some() || worst.is_priced();
    if counts {
        list.extend(worst.gaps());
    } else if !worst.rows.is_empty() {
        list.push("what calls cost".to_owned());
    }
    list.push("what tools do beyond their declared effect".to_owned());
    list
}
