//! Part of the pass `policy`: answers of a person that policy forbids, whichever it is.
//!
//! Owns the trial of each whole number that a question takes, where a call is given the answer as
//! it is. The judgment is [`crate::policy`]'s. INVARIANT: each of them was tried and forbidden.

use serde_json::Value;

use crate::check::Pass;
use crate::check::graph::step_of;
use crate::codes::Code;
use crate::diagnostic::Diagnostic;
use crate::expr::{ArgTree, Segment, Template};
use crate::plan::{Step, StepKind};
use crate::policy::{Decision, Verdict};

/// Most answers that are tried.
const ANSWERS_MAX: i64 = 256;

/// The finding about an argument that is an answer, of which policy forbids all.
pub(super) fn all_forbidden(
    pass: &Pass<'_>,
    step: &Step,
    args: &ArgTree,
    decide: &dyn Fn(&str, Value) -> Verdict,
) -> Option<Diagnostic> {
    args.entries().iter().find_map(|(name, tree)| {
        let ArgTree::Template(template) = tree else {
            return None;
        };
        let asked = asked(pass, template)?;
        let answers = answers(asked)?;
        // Why: what is left out if it is null may not be sent at all.
        let is_sent = !name.may_be_left_out();
        let is_forbidden =
            |answer: &i64| decide(name.as_str(), Value::from(*answer)).decision == Decision::Forbid;
        if !is_sent || !is_forbidden(answers.first()?) || !answers.iter().all(is_forbidden) {
            return None;
        }
        let (id, asked) = (&step.id.value, &asked.id.value);
        let message = format!("policy forbids `{id}` whatever is answered to `{asked}`");
        Some(
            Diagnostic::new(Code::Forbidden, template.span(), message)
                .hint(format!(
                    "ask `{asked}` for what policy permits as `{}`",
                    name.as_str()
                ))
                .step(id),
        )
    })
}

/// The question whose answer a template is, as it was given.
fn asked<'p>(pass: &'p Pass<'_>, template: &Template) -> Option<&'p Step> {
    let output = [Segment::Field("output".to_owned())];
    let mut read = template.references();
    let only = read.next().filter(|only| only.path == output)?;
    let is_alone = read.next().is_none() && template.whole()?.ast().field_of_root().is_some();
    let step = pass.plan.step(step_of(only)?).filter(|_| is_alone)?;
    matches!(step.kind, StepKind::Question { .. }).then_some(step)
}

/// The whole numbers that a question takes, if they are few.
fn answers(question: &Step) -> Option<Vec<i64>> {
    let StepKind::Question { answer, .. } = &question.kind else {
        return None;
    };
    let schema = answer.ty().to_json();
    let bound = |key: &str| schema.get(key).and_then(Value::as_i64);
    let is_whole = schema.get("type").and_then(Value::as_str) == Some("integer");
    let (least, most) = (bound("minimum")?, bound("maximum")?);
    let is_few = is_whole && least <= most && most.checked_sub(least)? < ANSWERS_MAX;
    is_few.then(|| (least..=most).collect())
}
