//! Part of the pass `refs`: reads of what may be absent.
//!
//! Owns which reads need a guard; what a condition proves is [`crate::expr`]'s. INVARIANT: a read
//! without a finding never fails for want of its path, unless no schema says what is there.

use std::collections::BTreeSet;

use super::Pass;
use super::scope::Site;
use crate::codes::Code;
use crate::diagnostic::Diagnostic;
use crate::expr::{Fact, Read, Root, Segment, Template};
use crate::plan::{OnFailure, Step};
use crate::schema::Type;

type Facts = BTreeSet<Fact>;

pub(crate) fn run(pass: &mut Pass<'_>) {
    let mut found = Vec::new();
    for step in &pass.plan.steps {
        let from = found.len();
        of_step(pass, step, &mut found);
        for finding in found.iter_mut().skip(from) {
            let finding: &mut Diagnostic = finding;
            finding.step = Some(step.id.value.clone());
        }
    }
    let nothing = Facts::new();
    for proof in &pass.plan.success {
        template(pass, &Site::end(), &proof.check, &nothing, &mut found);
    }
    for claim in &pass.plan.answer {
        let mut given = Facts::new();
        if let Some(when) = &claim.when {
            template(pass, &Site::end(), when, &nothing, &mut found);
            given = implied(pass, when.facts_if_true());
        }
        template(pass, &Site::end(), &claim.text, &given, &mut found);
    }
    pass.diagnostics.extend(found);
}

fn of_step(pass: &Pass<'_>, step: &Step, found: &mut Vec<Diagnostic>) {
    let before = Site::before(step);
    let mut given = Facts::new();
    if let Some(when) = &step.when {
        template(pass, &before, when, &given, found);
        given = implied(pass, when.facts_if_true());
    }
    if let Some(each) = &step.for_each {
        template(pass, &before, &each.list, &given, found);
    }
    let call = Site::call(pass, step);
    for inner in step.templates() {
        use crate::plan::Field;
        match inner {
            (Field::Args | Field::Question, inner) => template(pass, &call, inner, &given, found),
            (Field::When | Field::ForEach | Field::Accept, _) => {}
        }
    }
    let after = Site::after(pass, step);
    for accept in &step.accept {
        template(pass, &after, accept, &given, found);
    }
}

/// The facts with all that follows from them: a step that succeeded was not skipped by its `when`.
fn implied(pass: &Pass<'_>, mut facts: Facts) -> Facts {
    // Each round can only add the guards of further steps, so there are no more rounds than steps.
    for _ in &pass.plan.steps {
        let more: Facts = facts
            .iter()
            .filter_map(|fact| match fact {
                Fact::Status { step, words } if words.iter().all(|word| word == "succeeded") => {
                    pass.plan.step(step)?.when.as_ref()
                }
                _ => None,
            })
            .flat_map(Template::facts_if_true)
            .collect();
        if more.is_subset(&facts) {
            break;
        }
        facts.extend(more);
    }
    facts
}

fn template(
    pass: &Pass<'_>,
    site: &Site<'_>,
    template: &Template,
    given: &Facts,
    found: &mut Vec<Diagnostic>,
) {
    let own: Vec<Diagnostic> = template
        .reads(given)
        .iter()
        .filter_map(|read| unguarded(pass, site, read))
        .collect();
    // Why: `first(list).field` reads the item and the field of it; one finding says it all.
    let within = |inner: &Diagnostic| {
        own.iter().any(|outer| {
            outer.span != inner.span
                && outer.span.start <= inner.span.start
                && inner.span.end <= outer.span.end
        })
    };
    found.extend(own.iter().filter(|finding| !within(finding)).cloned());
}

fn unguarded(pass: &Pass<'_>, site: &Site<'_>, read: &Read) -> Option<Diagnostic> {
    let path = read.reference.path.as_slice();
    match &read.reference.root {
        Root::Step(id) => {
            let step = pass.plan.step(id)?;
            let (Segment::Field(field), rest) = path.split_first()? else {
                return None;
            };
            match field.as_str() {
                "output" => of_output(pass, step, read, rest),
                "error" if read.needs() > 0 && !read.is_present(1) => {
                    let finding = finding(read, "it is there only if the step failed");
                    let hint = format!("guard it: `steps.{id}.status == \"failed\"`");
                    Some(finding.hint(hint))
                }
                _ => None,
            }
        }
        Root::Item => {
            let ty = site.item_type()?;
            may_be_absent(&ty, read, path, 0)
        }
        Root::Output => may_be_absent(site.output_type(pass)?, read, path, 0),
        _ => None,
    }
}

fn of_output(pass: &Pass<'_>, step: &Step, read: &Read, rest: &[Segment]) -> Option<Diagnostic> {
    let id = &step.id.value;
    if read.needs() > 0 && !read.is_present(1) {
        let guard = format!(
            "guard it: `steps.{id}.status == \"succeeded\"` in `when`, or before `&&` or `?`"
        );
        if let Some(when) = &step.when {
            let why = format!("`{id}` is skipped if its `when` is false");
            return Some(
                finding(read, &why)
                    .related(when.span(), "skips it")
                    .hint(guard),
            );
        }
        if step.on_failure == OnFailure::Continue {
            let why = format!("`{id}` may fail, and the plan goes on");
            return Some(
                finding(read, &why)
                    .related(step.id.span, "may fail")
                    .hint(guard),
            );
        }
    }
    may_be_absent(pass.outputs.of_step(step)?, read, rest, 1)
}

/// A finding for the first part of a path that may be absent and is not proven to be there.
fn may_be_absent(ty: &Type, read: &Read, path: &[Segment], before: usize) -> Option<Diagnostic> {
    let absence = ty.absences(path).into_iter().find(|absence| {
        let depth = before + absence.depth;
        let proven = read.is_present(depth) || (absence.if_null && read.is_not_null(depth - 1));
        depth <= read.needs() && !proven
    })?;
    let shown = |depth: usize| {
        let mut reference = read.reference.clone();
        reference.path.truncate(depth);
        reference.to_string()
    };
    let here = shown(before + absence.depth);
    let holder = shown(before + absence.depth - 1);
    let last = path.get(absence.depth - 1);
    let (why, guard) = match last {
        _ if absence.if_null => (
            format!("`{holder}` may be null"),
            format!("`{holder} != null`"),
        ),
        Some(Segment::Index(at)) => (
            format!("the list may have only {at} items"),
            format!("`size({holder}) > {at}`"),
        ),
        _ => (
            "the schema does not require it".to_owned(),
            format!("`has({here})`"),
        ),
    };
    Some(finding(read, &why).hint(format!("guard it: {guard}")))
}

fn finding(read: &Read, why: &str) -> Diagnostic {
    let message = format!("`{}` may be absent: {why}", read.reference);
    Diagnostic::new(Code::UnguardedRead, read.reference.span, message)
}
