//! Any text as a plan that is checked.
//!
//! Owns what holds of the check. INVARIANT: a plan is checked if, and only if, there is no error;
//! the same plan gives the same findings and the same record; a journal gives the plan back.

use std::collections::BTreeSet;

use provost_plan::check::{Checked, CheckedPlan, Draft, Origin, RevisionBase, Terms, check};
use provost_plan::diagnostic::{Diagnostic, has_errors};
use provost_plan::digest::canonical;
use provost_plan::label::{Integrity, Label};
use provost_plan::plan::Plan;
use provost_plan::plan::read::read_plan;
use provost_plan::source::Source;

use super::{hold, reached, terms};

/// Reads and checks the bytes, if they are text and a plan.
pub fn run(data: &[u8]) {
    let Some((source, plan)) = plan_of(data) else {
        return;
    };
    let Some(terms) = terms::default_terms() else {
        return;
    };
    for integrity in [Integrity::Trusted, Integrity::Text] {
        let checked = under(plan.clone(), &terms, integrity);
        hold(&source, &checked.diagnostics);
        assert_eq!(checked.plan.is_none(), has_errors(&checked.diagnostics));
        let again = under(plan.clone(), &terms, integrity);
        assert_eq!(again.diagnostics, checked.diagnostics, "not the same twice");
        if let Some(checked) = &checked.plan {
            recorded(checked, again.plan.as_ref());
        }
    }
    neutral(&plan, &terms);
}

fn plan_of(data: &[u8]) -> Option<(Source, Plan)> {
    let source = Source::new("plan.yaml", std::str::from_utf8(data).ok()?);
    let plan = read_plan(&source).ok()?;
    Some((source, plan))
}

fn under(plan: Plan, terms: &Terms, integrity: Integrity) -> Checked {
    let label = Label {
        integrity,
        ..Label::trusted()
    };
    let origin = Origin {
        author: "fuzz".to_owned(),
        literals: label.clone(),
        control: Label::trusted(),
    };
    let base = RevisionBase {
        revision: 1,
        ..RevisionBase::default()
    };
    check(
        Draft {
            plan: plan.into(),
            origin,
        },
        terms,
        &base,
    )
}

fn recorded(checked: &CheckedPlan, again: Option<&CheckedPlan>) {
    reached("checked");
    let record = checked.record();
    assert_eq!(again.map(CheckedPlan::record), Some(record));
    assert_eq!(record.steps.len(), checked.plan().steps.len());
    for (id, step) in &record.steps {
        reached(step.risk.word());
        assert!(!step.after.contains(id), "`{id}` waits for itself");
        assert!(step.reads.is_subset(&step.after), "`{id}` reads too early");
    }
    let back = CheckedPlan::from_journal(checked.plan().clone(), record.clone());
    assert!(back.is_ok(), "a journal does not give the plan back");
}

/// The same plan written another way has the same findings, wherever they stand there.
fn neutral(plan: &Plan, terms: &Terms) {
    let text = canonical(&plan.value);
    let Ok(other) = read_plan(&Source::new("plan.json", text)) else {
        return;
    };
    let told = |found: &[Diagnostic]| -> BTreeSet<String> {
        let told = found.iter().map(|d| format!("{} {}", d.code, d.message));
        told.collect()
    };
    let one = under(plan.clone(), terms, Integrity::Trusted);
    let two = under(other, terms, Integrity::Trusted);
    let few = one.diagnostics.len() < 50;
    if few {
        assert_eq!(told(&one.diagnostics), told(&two.diagnostics));
    }
    assert_eq!(
        one.plan.map(|p| p.record().clone()),
        two.plan.map(|p| p.record().clone())
    );
}
