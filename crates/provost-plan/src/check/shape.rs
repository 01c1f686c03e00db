//! The pass `shape`: plans that are legal and make no sense.
//!
//! Owns unread outputs, claims without evidence, proofs that look at nothing; beside it `words`
//! (what says nothing), `order` (needless order, repeated reads, early effects) and `proofs` (what
//! can never hold). Runs last: it reads verdicts. INVARIANT: an error here is a plan that cannot do
//! what it says.

use std::collections::BTreeSet;

use super::Pass;
use super::graph::{all_references, references, step_of};
use crate::codes::Code;
use crate::diagnostic::Diagnostic;
use crate::expr::{Reference, Root, Template};
use crate::plan::readings::is_output;
use crate::plan::{Claim, Step, StepKind};
use crate::schema::Kinds;
use crate::source::Span;

pub(crate) use exclusive::Exclusions;

mod accepted;
mod agree;
mod answered;
mod aside;
mod awaited;
mod chosen;
mod claims;
mod cleanup;
mod counted;
mod dead;
mod detached;
mod echo;
mod effect;
mod elsewhere;
mod emptied;
mod envelope;
mod exclusive;
mod hangs;
mod items;
mod loops;
mod order;
mod proofs;
mod reached;
mod related;
mod rows;
mod solve;
mod statement;
mod status;
mod unchanged;
mod vain;
mod waits;
mod whole;
mod words;
mod written;

pub(crate) fn run(pass: &mut Pass<'_>) {
    let mut found = plain(pass);
    words::run(pass, &mut found);
    effect::run(pass, &mut found);
    envelope::run(pass, &mut found);
    order::run(pass, &mut found);
    let accepted = accepted::accepted(pass);
    proofs::run(pass, &accepted, &mut found);
    items::run(pass, &accepted, &mut found);
    loops::run(pass, &accepted, &mut found);
    agree::run(pass, &accepted, &mut found);
    hangs::run(pass, &mut found);
    emptied::run(pass, &accepted, &mut found);
    dead::run(pass, &accepted, &mut found);
    claims::run(pass, &mut found);
    cleanup::run(pass, &mut found);
    unchanged::run(pass, &accepted, &mut found);
    counted::run(pass, &mut found);
    echo::run(pass, &mut found);
    answered::run(pass, &mut found);
    waits::run(pass, &mut found);
    elsewhere::run(pass, &mut found);
    written::run(pass, &accepted, &mut found);
    detached::run(pass, &mut found);
    aside::run(pass, &mut found);
    vain::run(pass, &mut found);
    reached::run(pass, &mut found);
    awaited::run(pass, &mut found);
    chosen::run(pass, &mut found);
    whole::run(pass, &mut found);
    pass.diagnostics.extend(found);
}

/// Whether a condition of whoever revises the plan never holds.
pub(crate) fn never_holds(pass: &Pass<'_>, condition: &Template) -> bool {
    proofs::never_holds(pass, condition)
}

/// Names of a `let` that nothing uses.
fn unused_names(pass: &Pass<'_>) -> Vec<Diagnostic> {
    let plan = pass.plan;
    let is_unknown =
        |r: &Reference| matches!(&r.root, Root::Unknown(name) if name.starts_with("let."));
    // Why none beside a name that there is not: it may be the one that is meant.
    if all_references(plan).any(is_unknown) {
        return Vec::new();
    }
    let unused = plan.names.all().iter().filter(|name| !name.is_used);
    unused
        .map(|name| {
            let message = format!("nothing uses `let.{}`", name.name.value);
            let mut finding = Diagnostic::new(Code::UnusedName, name.span, message);
            finding.step.clone_from(&name.step);
            // Why no fix: what uses it may be what somebody meant to write.
            finding.hint("leave it out")
        })
        .collect()
}

/// What can be seen of each part by itself.
fn plain(pass: &Pass<'_>) -> Vec<Diagnostic> {
    let mut found = Vec::new();
    if pass.plan.steps.is_empty() {
        found.push(
            Diagnostic::new(Code::NoSteps, Span::default(), "the plan has no steps")
                .hint("a question that needs no tool needs no plan"),
        );
    }
    found.extend(unused_names(pass));
    for proof in &pass.plan.success {
        if proof.check.references().all(|r| step_of(r).is_none()) {
            let message = format!(
                "the proof of `{}` does not look at any step",
                proof.criterion.value
            );
            found.push(
                Diagnostic::new(Code::ConstantCheck, proof.check.span(), message)
                    .label("always the same, whatever happens")
                    .hint("read what a step observed: `steps.ID.status`, `steps.ID.output`"),
            );
        }
    }
    if pass.plan.answer.is_empty() && !pass.plan.steps.is_empty() {
        let at = pass
            .plan
            .steps
            .first()
            .map_or(Span::default(), |s| s.id.span);
        found.push(
            Diagnostic::new(Code::NoAnswer, at, "the plan says nothing at the end")
                .hint("add `answer:` with a text that reads what the steps observed"),
        );
    }
    found.extend(pass.plan.answer.iter().filter_map(unsupported));
    let used = used(pass);
    let answers = answers_used(pass);
    found.extend(only_told(pass));
    for step in &pass.plan.steps {
        let id = &step.id.value;
        let (message, hint) = match &step.kind {
            StepKind::Question { .. }
                if step.accept.is_empty() && !answers.contains(id.as_str()) =>
            {
                (
                    format!("nothing uses what a person answers to `{id}`"),
                    "read `output` of it in a step or in `answer`, or do not ask",
                )
            }
            StepKind::Tool { .. }
                if pass.operation(step).is_some_and(|op| op.effect.is_read())
                    && !used.contains(id.as_str()) =>
            {
                (
                    format!("nothing uses what `{id}` reads"),
                    "read it in a step, in `success` or in `answer`, or leave the step out",
                )
            }
            _ => continue,
        };
        let finding = Diagnostic::new(Code::UnreadOutput, step.id.span, message);
        found.push(finding.hint(hint).step(id));
    }
    found
}

/// Questions with a choice of which nothing but the answer of the plan reads what was chosen,
/// although a write waits for it.
fn only_told(pass: &Pass<'_>) -> Vec<Diagnostic> {
    let in_steps = pass.plan.steps.iter().flat_map(references);
    let proofs = pass.plan.success.iter().map(|proof| &proof.check);
    let proven = proofs
        .chain(&pass.open.conditions)
        .flat_map(|template| template.references());
    let read = in_steps.chain(proven).filter(|read| is_output(read));
    let read: BTreeSet<&str> = read.filter_map(step_of).collect();
    let told = pass.plan.answer.iter().flat_map(|claim| {
        let texts = std::iter::once(&claim.text).chain(&claim.when);
        texts.flat_map(|text| text.references())
    });
    let told: BTreeSet<&str> = told
        .filter(|read| is_output(read))
        .filter_map(step_of)
        .collect();
    let cited = pass.plan.answer.iter().flat_map(|claim| &claim.cites);
    let cited: BTreeSet<&str> = cited.map(|cite| cite.value.as_str()).collect();
    let is_write = |id: &str| {
        let writes = pass
            .order
            .all(|node| node.is_call_of(|op| !op.effect.is_read()));
        let node = pass.order.place(id).and_then(|at| pass.order.node(at));
        node.is_some_and(|node| !writes.and(&node.after).is_empty())
    };
    let asked = pass.plan.steps.iter().filter(|step| {
        let id = step.id.value.as_str();
        let chooses = match &step.kind {
            StepKind::Question { answer, .. } => {
                answer.ty().values().len() > 1 || answer.ty().kinds().within(Kinds::BOOL)
            }
            _ => false,
        };
        let is_open = pass.plan.parent(id).is_some() || pass.open.observed.contains(id);
        let is_told = told.contains(id) && chooses;
        let is_cited = cited.contains(id) && !told.contains(id);
        let asks = matches!(step.kind, StepKind::Question { .. });
        (is_told || is_cited)
            && asks
            && !is_open
            && step.accept.is_empty()
            && !read.contains(id)
            && is_write(id)
    });
    asked
        .map(|step| {
            let id = &step.id.value;
            let message = format!("whatever a person answers to `{id}`, the plan does the same");
            Diagnostic::new(Code::UnreadOutput, step.id.span, message)
                .hint(format!(
                    "read `steps.{id}.output` in `when` of what waits for it"
                ))
                .step(id)
        })
        .collect()
}

fn unsupported(claim: &Claim) -> Option<Diagnostic> {
    let reads = claim
        .text
        .references()
        .chain(claim.when.iter().flat_map(|w| w.references()));
    let supported = !claim.cites.is_empty() || reads.into_iter().any(|r| step_of(r).is_some());
    (!supported).then(|| {
        Diagnostic::new(
            Code::UnsupportedClaim,
            claim.text.span(),
            "a claim that rests on no step",
        )
        .hint("read a step in it, or name steps in `cites`")
    })
}

/// The steps whose output is read or cited: a question that is only waited for is not.
fn answers_used<'a>(pass: &'a Pass<'_>) -> BTreeSet<&'a str> {
    let steps = pass.plan.steps.iter();
    let in_steps = steps.clone().flat_map(|step| {
        let own = step.id.value.as_str();
        let reads = references(step).filter(|read| is_output(read));
        reads.filter_map(step_of).filter(move |id| *id != own)
    });
    let claims = pass.plan.answer.iter();
    let said = claims
        .clone()
        .flat_map(|claim| std::iter::once(&claim.text).chain(&claim.when));
    let proofs = pass.plan.success.iter().map(|proof| &proof.check);
    let read = proofs
        .chain(said)
        .chain(&pass.open.conditions)
        .flat_map(|template| template.references());
    let cited = claims
        .flat_map(|claim| &claim.cites)
        .map(|cite| cite.value.as_str());
    // Why: whoever refines a subgoal further reads what was answered in it.
    let open = steps.filter(|step| step.is_open_subgoal());
    let children = open.flat_map(|step| pass.plan.children(&step.id.value));
    let read = read.filter(|read| is_output(read)).filter_map(step_of);
    let told = children.map(|child| child.id.value.as_str());
    let observed = pass.open.observed.iter().map(String::as_str);
    in_steps
        .chain(read)
        .chain(cited)
        .chain(told)
        .chain(observed)
        .collect()
}

/// The steps whose observation matters: read, cited, or accepted before another step goes on.
fn used<'a>(pass: &'a Pass<'_>) -> BTreeSet<&'a str> {
    let mut used: BTreeSet<&str> = BTreeSet::new();
    for step in &pass.plan.steps {
        let own = step.id.value.as_str();
        // Why: whoever refines it further reads what its steps came to.
        if step.is_open_subgoal() {
            used.extend(pass.plan.children(own).map(|child| child.id.value.as_str()));
        }
        used.extend(references(step).filter_map(step_of).filter(|id| *id != own));
        used.extend(step.needs.iter().map(|n| n.value.as_str()).filter(|id| {
            let needed: Option<&Step> = pass.plan.step(id);
            needed.is_some_and(|n| n.conditions().next().is_some() || n.confirm.is_some())
        }));
    }
    let proofs = pass.plan.success.iter().map(|proof| &proof.check);
    let claims = pass.plan.answer.iter();
    let said = claims.flat_map(|claim| std::iter::once(&claim.text).chain(&claim.when));
    used.extend(
        proofs
            .chain(said)
            .flat_map(|t| t.references())
            .filter_map(step_of),
    );
    let cited = pass.plan.answer.iter().flat_map(|claim| &claim.cites);
    used.extend(cited.map(|cite| cite.value.as_str()));
    used.extend(pass.open.observed.iter().map(String::as_str));
    used
}
