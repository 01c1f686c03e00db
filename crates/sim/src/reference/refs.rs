//! Names: what a plan names must be there, be in scope, and not wait for itself.
//!
//! Owns R101 to R105 and R107, and who waits for whom ([`waits`]), by walking every path.

use std::collections::BTreeSet;

use provost_plan::expr::tree::{Access, Expr, ExprKind};
use provost_plan::expr::{Root, Template};
use provost_plan::plan::{CallRole, Field, OnFailure, Step};

use super::{Answers, Setting, Spot, place_of};

/// Finds what does not resolve.
pub fn judge(setting: &Setting<'_>, answers: &mut Answers) {
    steps(setting, answers);
    for spot in setting.spots() {
        for expression in spot.template.expressions() {
            names(setting, &spot, expression.ast(), answers);
        }
    }
    for (number, claim) in setting.plan.answer.iter().enumerate() {
        for cited in &claim.cites {
            if setting.step(&cited.value).is_none() {
                answers.find("R102", format!("answer{number}.cites"));
            }
        }
    }
    for class in classes(setting) {
        answers.find("R104", class);
    }
}

fn steps(setting: &Setting<'_>, answers: &mut Answers) {
    for (number, step) in setting.plan.steps.iter().enumerate() {
        let place = place_of(number, step);
        if step
            .tools()
            .any(|tool| !setting.operations.contains_key(&tool.value))
        {
            answers.find("R101", place.clone());
        }
        if setting
            .step(&step.id.value)
            .is_some_and(|(first, _)| first != number)
        {
            answers.find("R103", place.clone());
        }
        for need in &step.needs {
            if setting.step(&need.value).is_none() {
                answers.find("R102", format!("{place}.needs"));
            }
        }
    }
}

/// Looks at every name of an expression.
fn names(setting: &Setting<'_>, spot: &Spot<'_>, expr: &Expr, answers: &mut Answers) {
    if let ExprKind::Root(root) = &expr.kind {
        match root {
            Root::Step(id) => match setting.step(id) {
                None => answers.find("R102", spot.place.clone()),
                // A step has not ended while its own acceptance is asked.
                Some(_) => {
                    let own = spot.step.and_then(|number| setting.plan.steps.get(number));
                    let is_own = own.is_some_and(|step| step.id.value == *id);
                    if is_own && looks_at_output(spot) {
                        answers.find("R107", spot.place.clone());
                    }
                }
            },
            Root::Params | Root::Run => {}
            root => {
                if !in_scope(setting, spot, root) {
                    answers.find("R107", spot.place.clone());
                }
            }
        }
    }
    if let ExprKind::Path(base, accesses) = &expr.kind
        && let (ExprKind::Root(Root::Params), Some(Access::Field(name))) =
            (&base.kind, accesses.first())
        && !setting.params.contains_key(name)
    {
        answers.find("R105", spot.place.clone());
    }
    for child in expr.children() {
        names(setting, spot, child, answers);
    }
}

/// Whether it is asked over what the call of its step came back with.
fn looks_at_output(spot: &Spot<'_>) -> bool {
    let fields = [
        Field::Until,
        Field::Accept(CallRole::Own),
        Field::Args(CallRole::Confirm),
        Field::Accept(CallRole::Confirm),
        Field::Args(CallRole::Undo),
    ];
    spot.field.is_some_and(|field| fields.contains(&field))
}

/// `output` belongs to `until`, `accept`, `confirm` and `undo`, `read` to the acceptance of what
/// was read back; `item` and `index` to what is done for each item, so
/// neither to the list nor to the guard that stands before it.
fn in_scope(setting: &Setting<'_>, spot: &Spot<'_>, root: &Root) -> bool {
    let step = spot.step.and_then(|number| setting.plan.steps.get(number));
    match root {
        Root::Output => looks_at_output(spot),
        Root::Read => spot.field == Some(Field::Accept(CallRole::Confirm)),
        Root::Item | Root::Index => {
            let walks = step.is_some_and(|step| step.for_each.is_some());
            let each = [
                Some(Field::Args(CallRole::Own)),
                Some(Field::Until),
                Some(Field::Accept(CallRole::Own)),
                Some(Field::Args(CallRole::Confirm)),
                Some(Field::Accept(CallRole::Confirm)),
                Some(Field::Args(CallRole::Undo)),
                Some(Field::Question),
            ];
            walks && each.contains(&spot.field)
        }
        _ => false,
    }
}

/// The ids of the steps that an expression names.
pub fn named(expr: &Expr, into: &mut BTreeSet<String>) {
    if let ExprKind::Root(Root::Step(id)) = &expr.kind {
        into.insert(id.clone());
    }
    for child in expr.children() {
        named(child, into);
    }
}

/// The numbers of the steps that a step waits for by itself: `needs`, and what it reads.
#[must_use]
pub fn waits(setting: &Setting<'_>, number: usize) -> BTreeSet<usize> {
    let mut ids = BTreeSet::new();
    let Some(step) = setting.plan.steps.get(number) else {
        return BTreeSet::new();
    };
    ids.extend(step.needs.iter().map(|need| need.value.clone()));
    for (_, template) in step.templates() {
        for expression in template.expressions() {
            named(expression.ast(), &mut ids);
        }
    }
    let found = ids.iter().filter_map(|id| setting.step(id));
    found.map(|(number, _)| number).collect()
}

/// Whether `after` waits for `before`, by any chain of steps: every chain is tried.
#[must_use]
pub fn is_after(setting: &Setting<'_>, after: usize, before: usize) -> bool {
    let mut seen = BTreeSet::new();
    let mut open: Vec<usize> = waits(setting, after).into_iter().collect();
    while let Some(number) = open.pop() {
        if number == before {
            return true;
        }
        if seen.insert(number) {
            open.extend(waits(setting, number));
        }
    }
    false
}

/// The assertions that hold a step back: those it waits for and the plan does not go on without.
#[must_use]
pub fn held_back_by<'a>(setting: &Setting<'a>, number: usize) -> Vec<(usize, &'a Step)> {
    let steps = setting.plan.steps.iter().enumerate();
    let own = steps.filter(|(at, step)| {
        let asserts = step.assertion().is_some() && step.on_failure != OnFailure::Continue;
        asserts && is_after(setting, number, *at)
    });
    own.collect()
}

/// The conditions of those among them that nothing passes by.
#[must_use]
pub fn surely_asserted<'a>(setting: &Setting<'a>, number: usize) -> Vec<&'a Template> {
    let all = held_back_by(setting, number).into_iter();
    let sure = all.filter(|(_, step)| step.when.is_none() && !step.on_failure.may_go_on());
    sure.filter_map(|(_, step)| Some(&step.assertion()?.condition))
        .collect()
}

/// The step that stands for all that wait for each other with this one: the first of them.
#[must_use]
pub fn class_of(setting: &Setting<'_>, number: usize) -> Option<String> {
    if !is_after(setting, number, number) {
        return None;
    }
    let mutual = |other: &usize| {
        *other == number || (is_after(setting, number, *other) && is_after(setting, *other, number))
    };
    let first = (0..setting.plan.steps.len()).find(mutual)?;
    Some(place_of(first, setting.plan.steps.get(first)?))
}

fn classes(setting: &Setting<'_>) -> BTreeSet<String> {
    let numbers = 0..setting.plan.steps.len();
    numbers
        .filter_map(|number| class_of(setting, number))
        .collect()
}
