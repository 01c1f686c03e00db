//! Saved plans: a bundle of which one field changed, or one applied where something moved.

use provost_engine::bundle::Bundle;
use provost_plan::check::{CheckedPlan, Draft, Origin, RevisionBase, Terms, check};
use provost_plan::label::Label;
use provost_plan::node::parse_yaml;
use provost_plan::plan::Limits;
use provost_plan::plan::read::plan_from_value;
use provost_plan::policy::Principal;
use provost_run::machine::Rules;
use serde_json::{Value, json};
use sim::mutate::approval::{PLAN, first_rules, goal, person};
use sim::mutate::fields;

use super::{Table, catalogs, chosen, policies};

pub fn terms(rules: &Rules) -> Terms {
    Terms {
        catalog: rules.catalog.clone(),
        policy: rules.policy.clone(),
        principal: person("ada"),
        limits: Limits::default(),
        goal: goal(),
    }
}

fn checked(plan: &Value, terms: &Terms) -> Option<CheckedPlan> {
    let plan = plan_from_value(plan, "a bundle").ok()?;
    let origin = Origin {
        author: "a file".to_owned(),
        literals: Label::trusted(),
        control: Label::trusted(),
    };
    check(
        Draft {
            plan: plan.into(),
            origin,
        },
        terms,
        &RevisionBase::default(),
    )
    .plan
}

pub fn saved() -> Bundle {
    let document = parse_yaml(PLAN).unwrap().to_value();
    let plan = checked(&document, &terms(&first_rules().unwrap())).unwrap();
    Bundle::new(
        goal(),
        None,
        Value::clone(&plan.plan().value),
        plan.record(),
    )
}

/// Whether `apply` would run this bundle under these terms; then it must be what was saved.
pub fn applies(bundle: &Bundle, terms: &Terms) -> bool {
    let mut terms = terms.clone();
    terms.goal = bundle.goal.clone();
    let fresh = checked(&bundle.plan, &terms);
    fresh.is_some_and(|fresh| bundle.moved(fresh.record()).is_empty())
}

fn same_calls(one: &Bundle, other: &Bundle) -> bool {
    // Why without the marker: there is one version, and a plan without it is read as that.
    let plan = |bundle: &Bundle| {
        let mut plan = bundle.plan.clone();
        plan.as_object_mut().map(|map| map.remove("schema"));
        plan
    };
    plan(one) == plan(other) && one.goal == other.goal && one.terms == other.terms
}

pub fn of_bundles(table: &mut Table) {
    let original = saved();
    let base = terms(&first_rules().unwrap());
    assert!(applies(&original, &base), "control: what was saved applies");
    let mut tried =
        |kind: &'static str, what: &str, bundle: &Bundle, terms: &Terms, moves: bool| {
            let row = table.row(kind);
            (row.mutations, row.trials) = (row.mutations + 1, row.trials + 1);
            match applies(bundle, terms) {
                false => row.refused += 1,
                true if moves => row.unapproved.push(format!("{kind}: {what}")),
                true => row.covered += 1,
            }
        };
    let value = serde_json::to_value(&original).unwrap();
    for (what, changed) in chosen(fields::documents(&value)) {
        match serde_json::from_value::<Bundle>(changed) {
            Ok(bundle) => {
                let moves = !same_calls(&bundle, &original);
                tried("bundle", &what, &bundle, &base, moves);
            }
            Err(_) => {
                table_refuses(&mut tried, &original, &base);
            }
        }
    }
    for (what, limits) in fields::documents(&json!(Limits::default())) {
        if let Ok(limits) = serde_json::from_value(limits) {
            let moved = Terms {
                limits,
                ..base.clone()
            };
            let moves = moved.limits != base.limits;
            tried("limits", &what, &original, &moved, moves);
        }
    }
    let ada = serde_json::to_value(person("ada")).unwrap();
    for (what, principal) in fields::documents(&ada) {
        if let Ok(principal) = serde_json::from_value::<Principal>(principal) {
            let moves = principal != base.principal;
            let moved = Terms {
                principal,
                ..base.clone()
            };
            tried("applied by", &what, &original, &moved, moves);
        }
    }
    for (what, rules) in catalogs().into_iter().chain(policies()) {
        let Some(rules) = rules else { continue };
        let used = !what.starts_with("disk.wipe");
        tried("applied under", &what, &original, &terms(&rules), used);
    }
}

/// A bundle that cannot be read is refused by whoever reads it.
fn table_refuses(
    tried: &mut impl FnMut(&'static str, &str, &Bundle, &Terms, bool),
    original: &Bundle,
    terms: &Terms,
) {
    let mut unreadable = original.clone();
    unreadable.plan = Value::Null;
    tried("bundle", "unreadable", &unreadable, terms, true);
}
