//! Verdicts: the policies of the generated plans, read by hand.
//!
//! Owns a second interpretation of `policies/default.cedar` and of [`EXTRA`], and nothing of Cedar.
//! A rule says yes, no, or that it hangs on a value that comes later; every way those may turn out
//! is tried.

use std::collections::BTreeSet;

use provost_plan::catalog::{Effect, Operation};
use provost_plan::expr::tree::{Access, Expr, ExprKind};
use provost_plan::expr::{ArgTree, Root};
use provost_plan::plan::{CallRole, Field, Step, StepKind};
use serde_json::Value;

use super::constants::known;
use super::{Answers, Setting, Tag, Trust, Word, place_of};

/// The policies beside the default ones.
pub const EXTRA: &str = r#"
@id("never-banned")
forbid (principal, action in Action::"call", resource)
when { resource.tags.contains("banned") };

@id("large-amount")
forbid (principal, action == Action::"ledger.post", resource)
when { !resource.attended && context.args.amount > 500 };

@id("huge-amount")
forbid (principal, action == Action::"ledger.post", resource)
when { context.args.amount > 10000 };

@id("never-eve")
forbid (principal, action == Action::"notes.add", resource)
when { context.args.list == "eve" };
"#;

/// Whether something holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Holds {
    Yes,
    No,
    Later,
}

impl From<bool> for Holds {
    fn from(value: bool) -> Self {
        if value { Self::Yes } else { Self::No }
    }
}

/// Says policy's word on every step.
pub fn judge(setting: &Setting<'_>, answers: &mut Answers) {
    for (number, step) in setting.plan.steps.iter().enumerate() {
        if let Some(operation) = setting.operation(step) {
            let word = word(setting, answers, number, step, operation);
            answers.verdicts.insert(place_of(number, step), word);
        }
    }
}

fn word(
    setting: &Setting<'_>,
    answers: &Answers,
    number: usize,
    step: &Step,
    operation: &Operation,
) -> Word {
    let place = place_of(number, step);
    let control = answers
        .controls
        .get(&place)
        .copied()
        .unwrap_or(Tag::TRUSTED);
    let labels = answers.labels.iter().filter(|((of, _), _)| *of == place);
    let sink = labels
        .filter(|((_, name), _)| !operation.content.contains(name))
        .any(|(_, tag)| tag.trust != Trust::Trusted);
    let asks = asks(operation, sink, control.trust == Trust::Text, step);
    let unvalidated = operation.effect == Effect::External && reads_unaccepted(setting, number);
    let rules = [
        amount_over(setting, step, operation, 500),
        amount_over(setting, step, operation, 10_000),
        reaches_eve(setting, step, operation),
    ];
    let mut words = BTreeSet::new();
    for [large, huge, eve] in ways(rules) {
        let forbidden = operation.tags.contains("banned") || huge || eve || unvalidated;
        words.insert(match (forbidden, asks || large) {
            (true, _) => Word::Forbid,
            (false, true) => Word::Ask,
            (false, false) => Word::Permit,
        });
    }
    match (words.len(), words.first()) {
        (1, Some(word)) => *word,
        _ => Word::AskPerhaps,
    }
}

/// Whether a call is given what nobody accepted: why a step failed, or a list of which items may
/// have failed.
///
/// Who asks about the status of that list is taken to read it only if it succeeded.
fn reads_unaccepted(setting: &Setting<'_>, number: usize) -> bool {
    let spots = setting.spots();
    let own = spots.iter().filter(|spot| spot.step == Some(number));
    let mut read = BTreeSet::new();
    let mut asked = BTreeSet::new();
    for spot in own {
        for expression in spot.template.expressions() {
            reads(expression.ast(), &mut |id, field| match field {
                "status" => _ = asked.insert(id.to_owned()),
                _ if spot.field == Some(Field::Args(CallRole::Own)) => {
                    read.insert((id.to_owned(), field == "error"));
                }
                _ => {}
            });
        }
    }
    let partial = |id: &str| {
        let step = setting.step(id).map(|(_, step)| step);
        step.is_some_and(|step| step.for_each.is_some() && step.on_failure.may_go_on())
    };
    read.iter()
        .any(|(id, is_error)| *is_error || (partial(id) && !asked.contains(id)))
}

/// Every field of a step that is read.
fn reads(expr: &Expr, found: &mut impl FnMut(&str, &str)) {
    if let ExprKind::Path(base, accesses) = &expr.kind
        && let (ExprKind::Root(Root::Step(id)), Some(Access::Field(name))) =
            (&base.kind, accesses.first())
    {
        found(id, name);
    }
    for child in expr.children() {
        reads(child, found);
    }
}

/// Whether the default policy, or the step itself, has a person asked.
fn asks(operation: &Operation, sink: bool, control: bool, step: &Step) -> bool {
    let tagged = |tag: &str| operation.tags.contains(tag);
    let is_read = operation.effect == Effect::Read;
    let by_tag = [
        "email",
        "money",
        "permission",
        "deploy",
        "delete",
        "production",
    ];
    let by_effect = matches!(operation.effect, Effect::External | Effect::Destructive);
    let opaque = carries_free_keys(operation, step);
    step.approval_required
        || by_effect
        || (!is_read && (by_tag.into_iter().any(tagged) || sink || control || opaque))
}

fn args(step: &Step) -> Option<&ArgTree> {
    match &step.kind {
        StepKind::Tool { args, .. } => Some(args),
        StepKind::Question { .. } | StepKind::Subgoal(_) => None,
    }
}

/// Whether an argument is given whose type lets keys free.
fn carries_free_keys(operation: &Operation, step: &Step) -> bool {
    let fields = operation.input.value().get("properties");
    let entries = args(step).map(ArgTree::entries).unwrap_or_default();
    entries.iter().any(|(name, _)| {
        let field = fields.and_then(|fields| fields.get(&**name));
        field.is_some_and(|field| {
            field.get("type") == Some(&Value::from("object")) && field.get("properties").is_none()
        })
    })
}

fn amount_over(setting: &Setting<'_>, step: &Step, operation: &Operation, most: i64) -> Holds {
    if operation.name != "ledger.post" {
        return Holds::No;
    }
    let Some((_, amount)) = args(step).and_then(|args| args.get("amount")) else {
        return Holds::No;
    };
    match known(setting, amount) {
        Some(value) => value.as_i64().is_some_and(|amount| amount > most).into(),
        None => Holds::Later,
    }
}

fn reaches_eve(setting: &Setting<'_>, step: &Step, operation: &Operation) -> Holds {
    if operation.name != "notes.add" {
        return Holds::No;
    }
    let Some((_, list)) = args(step).and_then(|args| args.get("list")) else {
        return Holds::No;
    };
    match known(setting, list) {
        Some(value) => (value == "eve").into(),
        None => Holds::Later,
    }
}

/// Every way in which what comes later may turn out.
fn ways(rules: [Holds; 3]) -> Vec<[bool; 3]> {
    let mut all = vec![[false; 3]];
    for (place, rule) in rules.into_iter().enumerate() {
        let choices: &[bool] = match rule {
            Holds::Yes => &[true],
            Holds::No => &[false],
            Holds::Later => &[false, true],
        };
        let with = |way: &[bool; 3], choice: bool| {
            let mut way = *way;
            if let Some(slot) = way.get_mut(place) {
                *slot = choice;
            }
            way
        };
        all = all
            .iter()
            .flat_map(|way| choices.iter().map(move |choice| with(way, *choice)))
            .collect();
    }
    all
}
