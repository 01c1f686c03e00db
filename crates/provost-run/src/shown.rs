//! What may be shown of a run: the one way out for its values.
//!
//! Owns the form in which an event, arguments, an output, a list and evidence are printed, listed,
//! sent to a client or put on a card. Every reader but the store and its backup, which hold the
//! journal itself, goes through here. Never decides what is secret: the labels of the check do, and
//! the marks that events carry. INVARIANT: what is labelled secret leaves as [`secret`] alone.

use std::borrow::Cow;
use std::collections::BTreeSet;

use provost_plan::catalog::Catalog;
use provost_plan::digest::{Digest, Domain};
use provost_plan::label::Label;
use serde_json::{Value, json};

use crate::call::Slot;
use crate::event::{AttemptStarted, Event};
use crate::state::{State, WriteRecord};
use crate::view;

/// What stands in the place of words that may repeat a secret.
pub const WITHHELD: &str = "withheld: it may repeat a secret";

/// What stands in the place of a secret value.
#[must_use]
pub fn secret() -> Value {
    json!({ "secret": true })
}

/// A text, unless its label says that it is secret.
#[must_use]
pub fn text(label: &Label, text: String) -> String {
    if label.secret {
        "(a secret, not shown)".to_owned()
    } else {
        text
    }
}

/// An output, unless its label says that it is secret.
#[must_use]
pub fn output(label: &Label, output: &Value) -> Value {
    if label.secret {
        secret()
    } else {
        output.clone()
    }
}

/// Arguments, without the values of those named in `secrets`.
#[must_use]
pub fn args(args: &Value, secrets: &BTreeSet<String>) -> Value {
    match args {
        Value::Object(map) if !secrets.is_empty() => map
            .iter()
            .map(|(name, value)| {
                let shown = if secrets.contains(name) {
                    secret()
                } else {
                    value.clone()
                };
                (name.clone(), shown)
            })
            .collect(),
        plain => plain.clone(),
    }
}

/// The arguments of a call that began.
#[must_use]
pub fn started_args(started: &AttemptStarted) -> Value {
    args(&started.args, &started.secret_args)
}

/// The output of a step, as a whole; none if it has none, or it is secret, or nobody knows whether
/// it is, because its tool is gone.
#[must_use]
pub fn step_output<'s>(state: &'s State, catalog: &Catalog, id: &str) -> Option<&'s Value> {
    is_open(state, catalog, id).then(|| state.steps.get(id)?.view.get("output"))?
}

/// The output of a step as a whole, or of one of its items; [`secret`] in the place of one that
/// [`step_output`] would keep, none where there is none.
#[must_use]
pub fn output_or_secret(
    state: &State,
    catalog: &Catalog,
    id: &str,
    item: Option<usize>,
) -> Option<Value> {
    let step = state.steps.get(id)?;
    let output = match item {
        Some(number) => step.items.get(number)?.output()?,
        None => step.view.get("output")?,
    };
    Some(match is_open(state, catalog, id) {
        true => output.clone(),
        false => secret(),
    })
}

/// Whether what a step gives is known to be no secret.
fn is_open(state: &State, catalog: &Catalog, id: &str) -> bool {
    let planned = state.plan().and_then(|plan| plan.checked().step(id));
    planned.is_some_and(|(step, record)| {
        let tool = step.tool();
        let gone = tool.is_some_and(|tool| catalog.get(&tool.value).is_none());
        !gone && !view::is_secret(catalog, step, record)
    })
}

/// The arguments of a write that began.
#[must_use]
pub fn effect_args(state: &State, effect: &WriteRecord) -> Value {
    let plan = state.plan();
    let record = plan.and_then(|plan| plan.checked().step(&effect.slot.step));
    let labels = record.iter().flat_map(|(_, record)| &record.labels);
    let mut secrets: BTreeSet<String> = labels
        .filter(|(_, label)| label.secret)
        .map(|(name, _)| name.clone())
        .collect();
    // Why as well: the plan in force may have another step of that name, or none.
    secrets.extend(effect.secret_args.iter().cloned());
    args(&effect.args, &secrets)
}

/// What an event observed, as a digest: enough to compare it with another, nothing to show.
#[must_use]
pub fn observed(event: &Event) -> Option<(&Slot, Digest)> {
    match event {
        Event::ObservationMade { slot, output, .. } => {
            Some((slot, Digest::of_value(Domain::Evidence, output)))
        }
        _ => None,
    }
}

/// What an event observed, with its label; no output if that says that it is secret.
#[must_use]
pub fn result(event: &Event) -> Option<(&Slot, &Label, Option<&Value>)> {
    match event {
        Event::ObservationMade {
            slot,
            output,
            label,
            ..
        } => Some((slot, label, (!label.secret).then_some(output))),
        _ => None,
    }
}

/// An event, with nothing in it that is marked secret.
#[must_use]
pub fn event(event: &Event) -> Cow<'_, Event> {
    let mut shown = Cow::Borrowed(event);
    match event {
        Event::AttemptStarted(started) if !started.secret_args.is_empty() => {
            if let Event::AttemptStarted(shown) = shown.to_mut() {
                shown.args = args(&started.args, &started.secret_args);
            }
        }
        Event::AttemptEnded(ended) if ended.secret => {
            if let Event::AttemptEnded(shown) = shown.to_mut() {
                shown.shows = None;
            }
        }
        Event::ObservationMade { label, .. } if label.secret => {
            if let Event::ObservationMade { output, .. } = shown.to_mut() {
                *output = secret();
            }
        }
        Event::ListEvaluated { secret: true, .. } => {
            if let Event::ListEvaluated { items, .. } = shown.to_mut() {
                items.iter_mut().for_each(|item| *item = secret());
            }
        }
        Event::DoubtSettled {
            secret: true,
            output: Some(_),
            ..
        } => {
            if let Event::DoubtSettled { output, .. } = shown.to_mut() {
                *output = Some(secret());
            }
        }
        _ => {}
    }
    shown
}

/// The kind, version and payload of an event, as they may be shown.
#[must_use]
pub fn stored(of: &Event) -> (String, u32, Value) {
    event(of).to_stored()
}

/// Whether the bytes with this digest may be shown of a run: it cites them, and never behind
/// something secret.
#[must_use]
pub fn evidence<'e>(events: impl IntoIterator<Item = &'e Event>, digest: &Digest) -> bool {
    let behind = |event: &Event| match event {
        Event::ObservationMade {
            label, evidence, ..
        } => (evidence == digest).then_some(label.secret),
        Event::AttemptEnded(ended) => {
            (ended.evidence.as_ref() == Some(digest)).then_some(ended.secret)
        }
        _ => None,
    };
    let cited: Vec<bool> = events.into_iter().filter_map(behind).collect();
    !cited.is_empty() && !cited.contains(&true)
}
