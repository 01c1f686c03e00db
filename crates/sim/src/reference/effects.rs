//! Effects: what a step does to the world, and what two steps do to one target.
//!
//! Owns E301 to E305, by looking at every pair of steps. E306, a warning, has no second reading.

use provost_plan::catalog::{Effect, Idempotency, Operation, Risk};
use provost_plan::expr::{ArgTree, Key, Part, Root, Template};
use provost_plan::plan::{Step, StepKind};
use serde_json::{Map, Value, json};

use super::constants::{Sent, known, sent};
use super::exclusive::exclude;
use super::refs::is_after;
use super::{Answers, Setting, place_of};

/// Finds what is wrong with the effects of a plan.
pub fn judge(setting: &Setting<'_>, answers: &mut Answers) {
    for (number, step) in setting.plan.steps.iter().enumerate() {
        let Some(operation) = setting.operation(step) else {
            continue;
        };
        let place = place_of(number, step);
        let declared = step.risk.as_ref().map(|risk| risk.value);
        if declared.is_some_and(|declared| weight(declared) < risk(operation)) {
            answers.find("E301", place.clone());
        }
        let polls = step.until.as_ref();
        if polls.is_some_and(|until| changes(operation) || until.at_most < until.every) {
            answers.find("E311", place.clone());
        }
        beside(setting, (number, step), operation, answers);
        if !changes(operation) {
            continue;
        }
        if step.accept.is_empty() && step.confirm.is_none() {
            answers.find("E302", place.clone());
        }
        if operation.idempotency == Idempotency::None {
            answers.find("E303", place.clone());
        }
        if let Some(code) = items(step, operation) {
            answers.find(code, place.clone());
        }
        for (earlier, other) in setting.plan.steps.iter().enumerate().take(number) {
            if one_target(setting, (earlier, other), (number, step)) {
                answers.find("E304", place.clone());
            }
            if setting.operation(other).map(|op| &op.name) == Some(&operation.name) {
                pair(
                    setting,
                    (earlier, other),
                    (number, step),
                    operation,
                    answers,
                );
            }
        }
    }
}

/// What is wrong with the read that proves a write, and the call that takes it back.
fn beside(
    setting: &Setting<'_>,
    (number, step): (usize, &Step),
    operation: &Operation,
    answers: &mut Answers,
) {
    let place = place_of(number, step);
    let called = |tool: &str| setting.operations.get(tool);
    if let Some(confirm) = &step.confirm {
        let read = called(&confirm.tool.value);
        if !changes(operation) || read.is_some_and(|read| read.effect != Effect::Read) {
            answers.find("E307", place.clone());
        }
    }
    if let Some(undo) = &step.undo {
        let undoing = called(&undo.tool.value);
        let none = Value::Object(Map::new());
        let given = |at: &str| step.value.pointer(at).unwrap_or(&none);
        let again = given("/args") == given("/undo/args");
        let is_vain = |by: &Operation| !changes(by) || (by.name == operation.name && again);
        if !changes(operation) || undoing.is_some_and(is_vain) {
            answers.find("E309", place);
        }
    }
}

/// What items of one list do to each other: the same call for each, or one target destroyed by all.
fn items(step: &Step, operation: &Operation) -> Option<&'static str> {
    let each = step.for_each.as_ref()?;
    if each.max_items.value < 2 || operation.idempotency == Idempotency::Natural {
        return None;
    }
    let entries = args(step).map(ArgTree::entries).unwrap_or_default();
    let hangs = |tree: &ArgTree| {
        let read = tree.templates().into_iter().flat_map(Template::references);
        read.into_iter()
            .any(|reference| matches!(reference.root, Root::Item | Root::Index))
    };
    if !entries.iter().any(|(_, tree)| hangs(tree)) {
        return (!step.approval_required).then_some("E305");
    }
    let is_target = |name: &str| !operation.content.contains(name);
    let mut targets = entries.iter().filter(|(name, _)| is_target(name));
    let apart = targets.any(|(_, tree)| hangs(tree));
    (operation.effect == Effect::Destructive && !apart).then_some("E304")
}

/// Whether two operations of one server, one of them destructive, are given the same constant
/// targets in no order and without a guard.
fn one_target(
    setting: &Setting<'_>,
    (earlier, first): (usize, &Step),
    (number, second): (usize, &Step),
) -> bool {
    let (Some(a), Some(b)) = (setting.operation(first), setting.operation(second)) else {
        return false;
    };
    let of_own = |op: &Operation| matches!(op.effect, Effect::Write | Effect::Destructive);
    let destroys = [a.effect, b.effect].contains(&Effect::Destructive);
    if a.name == b.name || a.server() != b.server() || !of_own(a) || !of_own(b) || !destroys {
        return false;
    }
    let targets = |step: &Step, op: &Operation| -> Option<Map<String, Value>> {
        let entries = args(step).map(ArgTree::entries).unwrap_or_default();
        let sinks = entries
            .iter()
            .filter(|(name, _)| !op.content.contains(&**name));
        let given = sinks.filter_map(|entry| match sent(setting, entry) {
            Sent::Value(value) => Some(Some((entry.0.to_string(), value))),
            Sent::Nothing => None,
            Sent::Later => Some(None),
        });
        given.collect()
    };
    let (Some(of_a), Some(of_b)) = (targets(first, a), targets(second, b)) else {
        return false;
    };
    let ordered = is_after(setting, number, earlier) || is_after(setting, earlier, number);
    !of_a.is_empty() && of_a == of_b && !ordered && first.when.is_none() && second.when.is_none()
}

/// Whether it is a write, an external or a destructive effect.
fn changes(operation: &Operation) -> bool {
    !matches!(operation.effect, Effect::Read | Effect::Egress)
}

fn weight(risk: Risk) -> u8 {
    match risk {
        Risk::Low => 1,
        Risk::Medium => 2,
        Risk::High => 3,
        Risk::Critical => 4,
    }
}

/// The weight of an operation: a read is low; a write of one's own medium, high if it spends,
/// permits, deploys, deletes or is in production; what reaches others high, critical if it spends;
/// what destroys high, in production critical.
#[must_use]
pub fn risk(operation: &Operation) -> u8 {
    let has = |tag: &str| operation.tags.iter().any(|found| found == tag);
    let grave = ["money", "permission", "deploy", "delete", "production"];
    match operation.effect {
        Effect::Read => 1,
        Effect::Egress => 2,
        Effect::Write => 2 + u8::from(grave.into_iter().any(has)),
        Effect::External => 3 + u8::from(has("money")),
        Effect::Destructive => 3 + u8::from(has("production")),
    }
}

fn pair(
    setting: &Setting<'_>,
    (earlier, first): (usize, &Step),
    (number, second): (usize, &Step),
    operation: &Operation,
    answers: &mut Answers,
) {
    let repeatable = operation.idempotency == Idempotency::Natural;
    // The repetition is the one that runs later, or, in no order, the one written later.
    let (later, repetition) = if is_after(setting, earlier, number) {
        (earlier, first)
    } else {
        (number, second)
    };
    if !repeatable && !repetition.approval_required && same_call(setting, first, second) {
        // What is twice the same is one mistake, not two.
        answers.find("E305", place_of(later, repetition));
        return;
    }
    let ordered = is_after(setting, number, earlier) || is_after(setting, earlier, number);
    if ordered || surely_apart(setting, first, second, operation) {
        return;
    }
    match exclude(setting, first, second) {
        Some(true) => answers.apart += 1,
        Some(false) => answers.find("E304", place_of(number, second)),
        None => answers.find("given up", place_of(number, second)),
    }
}

/// Whether the guards of two steps exclude each other; none if that is too much to look at.
#[must_use]
pub fn are_apart(setting: &Setting<'_>, one: usize, two: usize) -> Option<bool> {
    let step = |number: usize| setting.plan.steps.get(number);
    exclude(setting, step(one)?, step(two)?)
}

/// The arguments of a step's own call.
#[must_use]
pub fn args(step: &Step) -> Option<&ArgTree> {
    match &step.kind {
        StepKind::Tool { args, .. } => Some(args),
        StepKind::Question { .. } | StepKind::Subgoal(_) | StepKind::Assertion(_) => None,
    }
}

/// Whether an argument that decides who is reached is constant in both steps and different.
fn surely_apart(setting: &Setting<'_>, a: &Step, b: &Step, operation: &Operation) -> bool {
    let entries = args(a).map(ArgTree::entries).unwrap_or_default();
    entries.iter().any(|of_a| {
        let name = &*of_a.0;
        let of_b = args(b).and_then(|args| args.get(name));
        // What one of them is not given tells nothing of what it reaches.
        match (sent(setting, of_a), of_b.map(|of_b| sent(setting, of_b))) {
            (Sent::Value(x), Some(Sent::Value(y))) => !operation.content.contains(name) && x != y,
            _ => false,
        }
    })
}

/// Whether two steps make one call: equal values, or equal expressions over one list.
fn same_call(setting: &Setting<'_>, a: &Step, b: &Step) -> bool {
    let written = |step: &Step| args(step).map(|args| written(setting, args));
    let each = |step: &Step| {
        step.for_each
            .as_ref()
            .map(|each| each.list.text().to_owned())
    };
    let on_item = |step: &Step| {
        let templates = args(step).map(ArgTree::templates).unwrap_or_default();
        let mut references = templates.into_iter().flat_map(Template::references);
        references.any(|read| matches!(read.root, Root::Item | Root::Index))
    };
    written(a) == written(b) && (!on_item(a) || each(a) == each(b))
}

/// Arguments with what is known put in and the rest as written.
fn written(setting: &Setting<'_>, tree: &ArgTree) -> Value {
    if let Some(value) = known(setting, tree) {
        return json!({ "known": value });
    }
    match tree {
        ArgTree::Value(value, _) => json!({ "known": value }),
        ArgTree::Template(template) => {
            let part = |part: &Part| match part {
                Part::Text(text) => json!(text),
                Part::Expr(expression) => json!([expression.source()]),
            };
            json!(template.parts().iter().map(part).collect::<Vec<_>>())
        }
        ArgTree::List(items, _) => items.iter().map(|item| written(setting, item)).collect(),
        ArgTree::Map(entries, _) => {
            let entry = |entry: &(Key, ArgTree)| match sent(setting, entry) {
                Sent::Nothing => None,
                Sent::Value(value) => Some((entry.0.to_string(), json!({ "known": value }))),
                // One that may be left out is not one that is always there.
                Sent::Later => Some((entry.0.written(), written(setting, &entry.1))),
            };
            json!({ "map": entries.iter().filter_map(entry).collect::<Map<_, _>>() })
        }
    }
}
