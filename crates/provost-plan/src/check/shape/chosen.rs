//! Part of the pass `shape`: a write that runs where a person chose something else.
//!
//! Owns what S716 says of a write that is called like one of the answers which a question offers,
//! and that runs only where another was given. INVARIANT: the answer is not the default of the
//! question, which is what happens where nobody chooses.

use serde_json::Value;

use super::effect::is_form;
use super::solve::meets;
use crate::check::Pass;
use crate::check::effects::words;
use crate::codes::Code;
use crate::diagnostic::Diagnostic;
use crate::expr::cases::{Case, Demand};
use crate::expr::{Root, Segment, Template};
use crate::plan::{Step, StepKind};

pub(super) fn run(pass: &Pass<'_>, found: &mut Vec<Diagnostic>) {
    for step in &pass.plan.steps {
        let acts = pass.operation(step).is_some_and(|op| !op.effect.is_read());
        if acts && let Some(when) = &step.when {
            found.extend(other_chosen(pass, step, when));
        }
    }
}

fn other_chosen(pass: &Pass<'_>, step: &Step, when: &Template) -> Option<Diagnostic> {
    let reads = when.references().filter_map(|read| match &read.root {
        Root::Step(id) if read.path == [output()] => pass.plan.step(id),
        _ => None,
    });
    let asked: Vec<&Step> = reads.filter(|asked| is_choice(asked)).collect();
    if asked.is_empty() {
        return None;
    }
    let runs = when.whole()?.cases(true)?;
    asked.into_iter().find_map(|question| {
        let StepKind::Question { answer, .. } = &question.kind else {
            return None;
        };
        let default = question.default_answer().map(|default| &default.value);
        let options = answer.ty().values();
        let mut named = options
            .iter()
            .filter(|option| Some(*option) != default && is_name_of(step, option));
        let option = named.next().filter(|_| named.next().is_none())?;
        let is_other = |case: &Case| {
            let mut own = demands(case, &question.id.value);
            own.any(|demand| !meets(option, demand))
        };
        if !runs.iter().all(is_other) {
            return None;
        }
        let (id, asked) = (&step.id.value, &question.id.value);
        let option = crate::digest::canonical(option);
        let message = format!("`{id}` runs only where `{asked}` was not answered {option}");
        Some(
            Diagnostic::new(Code::AgainstProof, when.span(), message)
                .related(question.id.span, "asked here")
                .hint(format!(
                    "run it where the answer is {option}, or call it otherwise"
                ))
                .step(id),
        )
    })
}

fn output() -> Segment {
    Segment::Field("output".to_owned())
}

/// Whether a step asks a person for one of a few words.
fn is_choice(step: &Step) -> bool {
    match &step.kind {
        StepKind::Question { answer, .. } => {
            let words = answer.ty().values();
            words.len() > 1 && words.iter().all(Value::is_string)
        }
        _ => false,
    }
}

/// Whether a word says what a step does, by its own name or that of what it calls.
fn is_name_of(step: &Step, option: &Value) -> bool {
    let Some(option) = option.as_str().map(str::to_lowercase) else {
        return false;
    };
    let tool = step.tool().and_then(|tool| tool.value.split_once('.'));
    let names = [Some(step.id.value.as_str()), tool.map(|(_, name)| name)];
    let mut first = names
        .iter()
        .flatten()
        .filter_map(|name| words(name).into_iter().next());
    first.any(|verb| verb == option || is_form(&verb, &option))
}

/// What a case asks of the answer to a question.
fn demands<'c>(case: &'c Case, id: &str) -> impl Iterator<Item = &'c Demand> {
    let root = Root::Step(id.to_owned());
    let own = case
        .iter()
        .filter(move |(subject, _)| subject.root == root && subject.path == [output()]);
    own.map(|(_, demand)| demand)
}
