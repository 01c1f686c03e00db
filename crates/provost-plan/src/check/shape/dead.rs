//! Part of the pass `shape`: what a condition asks of a step, where that step does not run.
//!
//! Owns what S712 says of a part that asks a step to have succeeded, although the guard of that
//! step lets it run only where the part decides nothing. INVARIANT: with the guard of that step the
//! part holds nowhere that the rest of the condition does not, and without that guard it could.

use std::collections::BTreeSet;

use super::accepted::AcceptedOutputs;
use super::proofs::guarding;
use super::solve::Solver;
use super::status::Statuses;
use crate::check::Pass;
use crate::check::graph::all_templates;
use crate::check::scope::Site;
use crate::codes::Code;
use crate::diagnostic::Diagnostic;
use crate::expr::cases::{Case, Demand, DemandSubject, both, cases};
use crate::expr::tree::{Compare, Expr, ExprKind};
use crate::expr::{Root, Segment, Template};
use crate::plan::Step;

pub(super) fn run(pass: &Pass<'_>, accepted: &AcceptedOutputs, found: &mut Vec<Diagnostic>) {
    let end = Site::end();
    let solver = Solver {
        statuses: Statuses::End,
        ..guarding(pass, accepted, &end)
    };
    let mut seen: BTreeSet<&str> = BTreeSet::new();
    for template in all_templates(pass.plan) {
        for part in template.expressions().flat_map(|whole| ors(whole.ast())) {
            if let Some(step) = dead(&solver, part)
                && seen.insert(&step.id.value)
            {
                found.push(finding(step, part));
            }
        }
    }
}

/// The parts of an expression that are true where one of several is.
fn ors(expr: &Expr) -> Vec<&[Expr]> {
    let mut all: Vec<&[Expr]> = Vec::new();
    let mut open = vec![expr];
    while let Some(expr) = open.pop() {
        if let ExprKind::Or(terms) = &expr.kind {
            all.push(terms);
        }
        open.extend(expr.children());
    }
    all
}

/// A step whose success is asked for where the other parts decide already.
fn dead<'p>(solver: &Solver<'p, '_>, terms: &[Expr]) -> Option<&'p Step> {
    terms.iter().enumerate().find_map(|(at, term)| {
        let own = cases(term, true)?;
        let step = asked(solver.pass, &own)?;
        let when = step.when.as_ref()?.whole()?.cases(true)?;
        let mut others = terms.iter().enumerate().filter(|(other, _)| *other != at);
        let rest = others.try_fold(own, |so_far, (_, other)| {
            both(&so_far, &cases(other, false)?)
        })?;
        let never = |cases: &[Case]| solver.never(cases).is_some();
        (never(&both(&rest, &when)?) && !never(&rest) && !never(&when)).then_some(step)
    })
}

/// A step with a guard that each case asks to have succeeded.
fn asked<'p>(pass: &'p Pass<'_>, all: &[Case]) -> Option<&'p Step> {
    let succeeded = |(subject, demand): &(DemandSubject, Demand)| {
        let status = [Segment::Field("status".to_owned())];
        let is_word = *demand == Demand::Compares(Compare::Equal, "succeeded".into());
        match &subject.root {
            Root::Step(id) if subject.path == status && is_word => Some(id.clone()),
            _ => None,
        }
    };
    let first = all.first()?.iter().filter_map(succeeded);
    let mut named = first.filter(|id| {
        all.iter()
            .all(|case| case.iter().filter_map(succeeded).any(|other| other == *id))
    });
    named.find_map(|id| {
        let step = pass.plan.step(&id)?;
        // Why not with `fresh`: its guard is asked again, over newer readings.
        let is_plain = step.when.is_some() && step.fresh.is_none();
        (is_plain && pass.plan.parent(&id).is_none()).then_some(step)
    })
}

fn finding(step: &Step, terms: &[Expr]) -> Diagnostic {
    let id = &step.id.value;
    let message = format!("`{id}` runs only where it decides nothing here whether it succeeded");
    let span = terms.first().map_or(step.id.span, |term| term.span);
    let when = step.when.as_ref().map_or(step.id.span, Template::span);
    Diagnostic::new(Code::ConstantGuard, when, message)
        .related(span, "asks for it only where this `when` is false")
        .hint("turn one of the two round")
        .step(id)
}
