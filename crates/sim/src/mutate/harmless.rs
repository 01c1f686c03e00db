//! Operators that keep what a plan does.
//!
//! Owns one function for each kind of edit. Never touches a step that ran already. INVARIANT: the
//! calls of the plan, their order and their arguments stay as they were.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use super::document::{Document, id_of};
use super::text::{Form, Numbers, write};
use super::{CardSubject, Change, Named};
use crate::rng::Rng;

/// The operators whose every mutant is harmless.
#[must_use]
pub fn operators() -> Vec<Named> {
    vec![
        ("steps in another order", reordered),
        ("a step renamed throughout", renamed),
        ("a description added", described),
        ("spacing, quotes, comments", formatted),
        ("keys in another order", shuffled),
        ("other forms of numbers", numbers),
        ("a need that is implied", implied_need),
        ("a timeout within the tool's", timeout),
        ("defaults spelt out", defaults),
        ("spaces or parentheses in expressions", parenthesised),
    ]
}

fn reordered(subject: &CardSubject) -> Vec<Change> {
    let steps = subject.plan.steps();
    let with = |what: &str, steps: Vec<Value>| Change::of(what, &subject.plan.with_steps(steps));
    if steps.len() < 2 {
        return Vec::new();
    }
    let mut changes = vec![with("backwards", steps.iter().rev().cloned().collect())];
    for seed in 0..3 {
        let mut shuffled: Vec<&Value> = steps.iter().collect();
        Rng::new(seed, &subject.name).shuffle(&mut shuffled);
        changes.push(with("shuffled", shuffled.into_iter().cloned().collect()));
    }
    changes
}

fn renamed(subject: &CardSubject) -> Vec<Change> {
    let free = subject
        .plan
        .ids()
        .into_iter()
        .filter(|id| !subject.settled.contains(id));
    free.map(|id| {
        let to = format!("{}_2", id.chars().take(36).collect::<String>());
        let mut change = Change::of(format!("`{id}` is `{to}`"), &subject.plan.renamed(&id, &to));
        change.renamed = BTreeMap::from([(to, id)]);
        change
    })
    .collect()
}

/// The plan with a field added to each step in turn that may have it.
fn each(
    subject: &CardSubject,
    what: &str,
    change: impl Fn(&CardSubject, usize, &mut Map<String, Value>) -> bool,
) -> Vec<Change> {
    let mut changes = Vec::new();
    for (index, step) in subject.plan.steps().iter().enumerate() {
        if subject.settled.contains(&id_of(step)) {
            continue;
        }
        let mut changed = false;
        let plan = subject
            .plan
            .with_step(index, |step| changed = change(subject, index, step));
        if changed {
            changes.push(Change::of(format!("{what} of `{}`", id_of(step)), &plan));
        }
    }
    changes
}

fn described(subject: &CardSubject) -> Vec<Change> {
    each(subject, "description", |_, index, step| {
        let text = format!("Number {} of the list that the goal asks for", index + 1);
        step.insert("description".to_owned(), text.into());
        true
    })
}

fn forms(subject: &CardSubject, wanted: fn(&Form) -> bool) -> Vec<Change> {
    (0..200)
        .map(|number| (number, Form::of(number)))
        .filter(|(_, form)| wanted(form))
        .take(6)
        .map(|(number, form)| {
            let text = write(&subject.plan.0, form, number);
            Change::written(format!("form {number}"), text)
        })
        .collect()
}

fn formatted(subject: &CardSubject) -> Vec<Change> {
    forms(subject, |form| {
        !form.shuffled && form.numbers == Numbers::Plain
    })
}

fn shuffled(subject: &CardSubject) -> Vec<Change> {
    forms(subject, |form| {
        form.shuffled && form.numbers == Numbers::Plain
    })
}

fn numbers(subject: &CardSubject) -> Vec<Change> {
    let plain = subject.plan.0.to_string();
    // Why: without a number in it, this is another of the forms above.
    if !plain.contains(|c: char| c.is_ascii_digit()) {
        return Vec::new();
    }
    forms(subject, |form| form.numbers != Numbers::Plain)
}

fn implied_need(subject: &CardSubject) -> Vec<Change> {
    each(subject, "need", |subject, index, step| {
        let own = step
            .get("needs")
            .and_then(Value::as_array)
            .cloned()
            .unwrap_or_default();
        let before = subject.plan.waits_for(index);
        let Some(more) = before.into_iter().find(|id| !own.contains(&json!(id))) else {
            return false;
        };
        let needs = own.into_iter().chain([json!(more)]).collect();
        step.insert("needs".to_owned(), needs);
        true
    })
}

fn timeout(subject: &CardSubject) -> Vec<Change> {
    each(subject, "timeout", |subject, _, step| {
        let name = step.get("tool").and_then(Value::as_str).unwrap_or_default();
        let Some(operation) = subject
            .catalog
            .get(name)
            .filter(|_| !step.contains_key("timeout"))
        else {
            return false;
        };
        let text = format!("{}s", operation.timeout.as_secs());
        step.insert("timeout".to_owned(), text.into());
        true
    })
}

fn defaults(subject: &CardSubject) -> Vec<Change> {
    each(subject, "on_failure", |_, _, step| {
        let absent = !step.contains_key("on_failure");
        step.entry("on_failure").or_insert_with(|| json!("replan"));
        absent
    })
}

fn parenthesised(subject: &CardSubject) -> Vec<Change> {
    let spaced = |text: &str| text.replace("${ ", "${    ");
    each(subject, "expressions", |_, _, step| {
        let mut changed = false;
        for field in ["when", "for_each"] {
            if let Some(Value::String(text)) = step.get_mut(field)
                && let Some(inner) = text.strip_prefix("${").and_then(|t| t.strip_suffix('}'))
            {
                *text = format!("${{ ({}) }}", inner.trim());
                changed = true;
            }
        }
        if let Some(args) = step.get_mut("args") {
            let mut plan = Document(args.clone());
            spread(&mut plan.0, &spaced);
            changed |= plan.0 != *args;
            *args = plan.0;
        }
        changed
    })
}

fn spread(value: &mut Value, change: &dyn Fn(&str) -> String) {
    match value {
        Value::Object(map) => map.values_mut().for_each(|inner| spread(inner, change)),
        Value::Array(items) => items.iter_mut().for_each(|inner| spread(inner, change)),
        Value::String(text) => *text = change(text),
        _ => {}
    }
}
