//! Part of the pass `shape`: claims that cite what may not have happened.
//!
//! Owns S717. What a condition says of a status is [`crate::expr`]'s. INVARIANT: a claim is let
//! pass where its `when` says how each cited step ended that may have ended otherwise.

use std::collections::BTreeSet;

use super::counted::is_careful;
use crate::check::Pass;
use crate::check::graph::step_of;
use crate::check::guards::{GuardFacts, proven, terms_of};
use crate::codes::Code;
use crate::diagnostic::Diagnostic;
use crate::expr::{Fact, Reference, Template, references_of};
use crate::plan::readings::is_output;
use crate::plan::{Claim, OnFailure, Step, StepKind};

pub(super) fn run(pass: &Pass<'_>, found: &mut Vec<Diagnostic>) {
    let proven = proven(pass);
    for claim in &pass.plan.answer {
        let said = claim.when.iter().flat_map(|when| when.facts_if_true());
        let terms = claim.when.as_ref().map(terms_of).unwrap_or_default();
        let facts = pass
            .guards
            .implied(proven.iter().cloned().chain(said).collect(), terms);
        let unsure = unsure(pass, &facts, claim);
        let early = || cites_what_was_before(pass, claim);
        found.extend(
            unsure
                .or_else(|| said_anyway(pass, &facts, claim))
                .or_else(early),
        );
    }
}

fn unsure(pass: &Pass<'_>, facts: &GuardFacts, claim: &Claim) -> Option<Diagnostic> {
    // Why: what reads an output has it, or fails; R106 says where it may be absent.
    let read: BTreeSet<&str> = claim
        .text
        .references()
        .filter(|read| is_output(read))
        .filter_map(step_of)
        .collect();
    claim.cites.iter().find_map(|cite| {
        let id = cite.value.as_str();
        let step = pass.plan.step(id)?;
        let words = words(facts, id);
        let can_be = |word: &str| words.as_ref().is_none_or(|words| words.contains(word));
        // Why what is looked at only without a `when`: a claim that nothing happened cites what
        // was looked at, as far as it was.
        let acts = pass.operation(step).is_some_and(|op| !op.effect.is_read());
        let never = words
            .as_ref()
            .is_some_and(|words| !words.contains("succeeded"));
        // Why also a person's answer where there is none: nobody said what it is cited for.
        let asks = matches!(step.kind, StepKind::Question { .. }) && never;
        let matters = (acts || asks || claim.when.is_none()) && can_be("skipped");
        let why = why_not(pass, step).filter(|_| matters && !read.contains(id))?;
        let finding = |message: String| Diagnostic::new(Code::UnsureClaim, cite.span, message);
        Some(if can_be("succeeded") {
            let guard = format!("`when: '${{ steps.{id}.status == \"succeeded\" }}'`");
            finding(format!(
                "the claim cites `{id}`, which may not have happened"
            ))
            .label(why)
            .hint(format!("say it only where it has happened: {guard}"))
        } else {
            finding(format!("the claim cites `{id}` where it was skipped"))
                .label("a skipped step shows nothing")
                .hint("cite the step whose output decided that, or read it in the text")
        })
    })
}

/// A claim that reads nothing and is said in every run, although a write may be left out: of what
/// it cites, nothing says how it came out.
fn said_anyway(pass: &Pass<'_>, facts: &GuardFacts, claim: &Claim) -> Option<Diagnostic> {
    let reads = claim.when.iter().chain([&claim.text]);
    let is_fixed = reads.flat_map(|text| text.references()).next().is_none();
    let mut cites = claim.cites.iter();
    let looks = |id: &str| {
        let step = pass.plan.step(id);
        step.is_some_and(|step| observes(pass, step) && !is_judged(pass, step))
    };
    if !is_fixed || claim.cites.is_empty() || !cites.all(|cite| looks(&cite.value)) {
        return None;
    }
    let mut writes = pass.plan.steps.iter().filter(|step| {
        let is_certain = words(facts, &step.id.value)
            .is_some_and(|words| words.iter().all(|word| word == "succeeded"));
        let acts = pass.operation(step).is_some_and(|op| !op.effect.is_read());
        acts && step.when.is_some() && !is_certain
    });
    let write = &writes.next()?.id;
    let message = format!(
        "the claim says the same whether `{}` has happened or not",
        write.value
    );
    Some(
        Diagnostic::new(Code::UnsureClaim, claim.text.span(), message)
            .label("reads nothing, and nothing says what the cited steps found")
            .related(write.span, "may be skipped")
            .hint("say in `when` where it holds, or read in the text what was observed"),
    )
}

/// A claim that reads nothing, is said only where a write was done, and cites only what was looked
/// at before that.
fn cites_what_was_before(pass: &Pass<'_>, claim: &Claim) -> Option<Diagnostic> {
    let said = claim.when.as_ref()?.facts_if_true();
    if claim.cites.is_empty() || claim.text.references().next().is_some() {
        return None;
    }
    let write = said.into_iter().find_map(|fact| match fact {
        Fact::Status { step, words }
            if words.contains("succeeded") && !words.contains("skipped") =>
        {
            let step = pass.plan.step(&step)?;
            let acts = pass.operation(step).is_some_and(|op| !op.effect.is_read());
            acts.then_some(step)
        }
        _ => None,
    })?;
    let own = &write.id.value;
    let is_early = |id: &str| {
        let step = pass.plan.step(id);
        step.is_some_and(|step| observes(pass, step)) && pass.order.is_before(id, own)
    };
    let mut cites = claim.cites.iter();
    let all = cites.all(|cite| is_early(&cite.value));
    let first = claim.cites.first().filter(|_| all)?;
    let message =
        format!("the claim is said where `{own}` was done, and cites only what was before it");
    Some(
        Diagnostic::new(Code::UnsureClaim, first.span, message)
            .label("shows nothing of what was done")
            .hint(format!(
                "cite `{own}` too, or say it where `{own}` was skipped"
            )),
    )
}

/// Whether a step looks at something, or asks a person.
fn observes(pass: &Pass<'_>, step: &Step) -> bool {
    let reads = pass.operation(step).is_some_and(|op| op.effect.is_read());
    reads || matches!(step.kind, StepKind::Question { .. })
}

/// Whether it is said what a step gave: by its `accept`, an assertion, or a part of a proof
/// that looks at nothing else. Why not that it is not null: that is care.
fn is_judged(pass: &Pass<'_>, step: &Step) -> bool {
    let id = step.id.value.as_str();
    let asserted = pass.plan.steps.iter().filter_map(Step::asserted);
    let asserted = asserted.map(|asserted| &asserted.condition);
    let proofs = pass.plan.success.iter().map(|proof| &proof.check);
    let all = proofs.chain(asserted).filter_map(Template::whole);
    let mut parts = all.flat_map(|whole| whole.conjuncts());
    let mut own = step.conditions().filter_map(Template::whole);
    own.any(|own| own.conjuncts().iter().any(|part| !is_careful(part)))
        || parts.any(|part| {
            let reads = references_of(part);
            let is_of = |read: &Reference| is_output(read) && step_of(read) == Some(id);
            !is_careful(part) && !reads.is_empty() && reads.iter().all(is_of)
        })
}

/// The words that the status of a step can still be, if anything is known of it.
fn words(facts: &BTreeSet<Fact>, id: &str) -> Option<BTreeSet<String>> {
    let known = facts.iter().filter_map(|fact| match fact {
        Fact::Status { step, words } if step == id => Some(words.clone()),
        _ => None,
    });
    known.reduce(|a, b| a.intersection(&b).cloned().collect())
}

/// Why a step may not have happened although the run goes as planned.
fn why_not(pass: &Pass<'_>, step: &Step) -> Option<&'static str> {
    let parent = pass.plan.parent(&step.id.value);
    if step.when.is_some() || parent.is_some_and(|(parent, _)| parent.when.is_some()) {
        return Some("it is skipped if its `when` is false");
    }
    goes_on(step)
}

/// Why the plan may go on without a step.
fn goes_on(step: &Step) -> Option<&'static str> {
    match step.on_failure {
        OnFailure::Continue => Some("it may fail, and the plan goes on"),
        OnFailure::Escalate => Some("it may fail, and a person may let the plan go on"),
        OnFailure::Replan | OnFailure::Stop => None,
    }
}
