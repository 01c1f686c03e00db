//! Part of the pass `shape`: a step over all of a list, where the plan is about a part of it.
//!
//! Owns what S722 says of a list that is gone over whole, although what the step waits for and a
//! proof that looks at it both take the same part of that list. INVARIANT: no step goes over the
//! part, and the part is chosen by more than that something is there.

use std::collections::BTreeMap;

use super::counted::{as_long, is_careful};
use crate::check::Pass;
use crate::check::graph::step_of;
use crate::codes::Code;
use crate::diagnostic::Diagnostic;
use crate::expr::Template;
use crate::expr::tree::{Expr, ExprKind, WalkKind};
use crate::plan::{Proof, Step, StepKind};

pub(super) fn run(pass: &Pass<'_>, found: &mut Vec<Diagnostic>) {
    let over = pass.plan.steps.iter().filter_map(|step| {
        let list = step.for_each.as_ref()?.list.whole()?.ast();
        let acts = pass.operation(step).is_some_and(|op| !op.effect.is_read());
        let is_whole = matches!(as_long(list).kind, ExprKind::Path(..));
        (acts && is_whole).then(|| (step, as_long(list).form()))
    });
    let over: Vec<(&Step, String)> = over.collect();
    if over.is_empty() {
        return;
    }
    let steps = pass.plan.steps.iter();
    let lists = steps.clone().filter_map(|step| step.for_each.as_ref());
    let gone_over: Vec<Part<'_>> = lists.flat_map(|each| parts(&each.list)).collect();
    let is_gone_over = |part: &Part<'_>| gone_over.iter().any(|one| one.form == part.form);
    let proofs = pass.plan.success.iter();
    let proven = proofs.map(|proof| (proof, parts(&proof.check)));
    let proven: Vec<(&Proof, Vec<Part<'_>>)> =
        proven.filter(|(_, parts)| !parts.is_empty()).collect();
    let asked = steps.map(|step| {
        let own = decides(step).flat_map(parts);
        let left: Vec<Part<'_>> = own.filter(|part| !is_gone_over(part)).collect();
        (step.id.value.as_str(), left)
    });
    let asked: BTreeMap<&str, Vec<Part<'_>>> =
        asked.filter(|(_, parts)| !parts.is_empty()).collect();
    for (step, list) in &over {
        let id = step.id.value.as_str();
        let mut waited = asked
            .iter()
            .filter(|(before, _)| **before == id || pass.order.is_before(before, id));
        found.extend(waited.find_map(|(before, parts)| {
            let own = parts.iter().filter(|part| part.of == *list);
            let forms: Vec<&str> = own.map(|part| part.form.as_str()).collect();
            taken(step, before, &forms, &proven)
        }));
    }
}

/// The finding about a step whose proof takes one of these parts.
fn taken(
    step: &Step,
    before: &str,
    forms: &[&str],
    proven: &[(&Proof, Vec<Part<'_>>)],
) -> Option<Diagnostic> {
    let id = &step.id.value;
    let mut looking = proven.iter().filter(|(proof, _)| {
        let mut read = proof.check.references().filter_map(step_of);
        read.any(|read| read == id)
    });
    let (proof, part) = looking.find_map(|(proof, all)| {
        let mut all = all.iter();
        let part = all.find(|part| forms.contains(&part.form.as_str()))?;
        Some((proof, part))
    })?;
    let message = format!(
        "`{id}` goes over all of a list of which `{before}` and the proof of `{}` take a part",
        proof.criterion.value
    );
    let at = step.for_each.as_ref()?.list.span();
    Some(
        Diagnostic::new(Code::OtherList, at, message)
            .related(part.expr.span, "the part")
            .hint("go over the part that the proof asks for")
            .step(id),
    )
}

/// What decides whether the steps that wait for a step go on, or is shown to who decides.
fn decides(step: &Step) -> impl Iterator<Item = &Template> {
    let asserted = step.asserted().map(|asserted| &asserted.condition);
    let asked = match &step.kind {
        StepKind::Question { text, .. } => Some(text),
        _ => None,
    };
    step.when.iter().chain(asserted).chain(asked)
}

/// A part of a list that a condition chooses.
struct Part<'e> {
    expr: &'e Expr,
    form: String,
    /// The form of the list.
    of: String,
}

fn parts(template: &Template) -> Vec<Part<'_>> {
    let mut open: Vec<&Expr> = template.expressions().map(|whole| whole.ast()).collect();
    let mut all = Vec::new();
    while let Some(expr) = open.pop() {
        open.extend(expr.children());
        let ExprKind::Walk(walk) = &expr.kind else {
            continue;
        };
        let chosen = walk
            .filter
            .as_ref()
            .filter(|_| walk.kind == WalkKind::Filter);
        if chosen.is_some_and(|chosen| !is_careful(chosen)) {
            all.push(Part {
                expr,
                form: expr.form(),
                of: as_long(&walk.list).form(),
            });
        }
    }
    all
}
