//! Part of the pass `shape`: claims that cite what may not have happened.
//!
//! Owns S717. What a condition says of a status is [`crate::expr`]'s. INVARIANT: a claim is let
//! pass where its `when` says how each cited step ended that may have ended otherwise.

use std::collections::BTreeSet;

use crate::check::Pass;
use crate::check::graph::step_of;
use crate::check::guards::{GuardFacts, proven, terms_of};
use crate::codes::Code;
use crate::diagnostic::Diagnostic;
use crate::expr::Fact;
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
        found.extend(unsure(pass, &facts, claim));
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
