//! Operators on what stands beside a call: `until`, `confirm`, `undo`, lists of constants, opposite
//! writes, timeouts, retries, `fresh`.
//!
//! Owns one function for each kind of fault. Never looks at what the check finds. INVARIANT: what
//! is added is well formed, so that only what it means can be wrong.

use std::collections::BTreeSet;

use provost_plan::catalog::{Effect, Idempotency, Operation};
use serde_json::{Map, Value, json};

use super::breaking::arguments;
use super::document::id_of;
use super::{CardSubject, Change, Named};

/// The operators whose every mutant has an error.
#[must_use]
pub fn breaking() -> Vec<Named> {
    vec![
        ("until without its waits", until_alone),
        ("waits without until", waits_alone),
        ("until on a write", until_on_write),
        ("at_most below every", until_once),
        ("more polls than may be", until_too_often),
        ("confirm of a read", confirm_of_read),
        ("confirm by a write", confirm_by_write),
        ("confirm without accept", confirm_unjudged),
        ("undo of a read", undo_of_read),
        ("undo by a read", undo_by_read),
        ("undo by the same call", undo_by_itself),
        ("equal items of a constant list", equal_items),
        ("the same call twice", same_call),
        ("what takes a write back, at once", opposite),
    ]
}

/// The operators whose every mutant has a warning at least.
#[must_use]
pub fn warned() -> Vec<Named> {
    vec![
        ("until that always holds", until_hollow),
        ("an acceptance that always holds", accept_hollow),
        ("a confirm that always holds", confirm_hollow),
        ("a guard that never holds", guard_never),
        ("exclusive guards in one", guard_both),
        ("a timeout beyond the tool's", timeout_beyond),
        ("a retry of what is not repeated", retry_in_vain),
        ("settings of a question", question_in_vain),
        ("fresh of a read", fresh_of_read),
    ]
}

fn fields(step: &mut Map<String, Value>, more: Value) {
    if let Value::Object(more) = more {
        step.extend(more);
    }
}

/// The plan with these fields on each step in turn whose operation is as wanted.
fn each(
    subject: &CardSubject,
    wanted: fn(&Value, &Operation) -> bool,
    more: impl Fn(&Value, &Operation) -> Option<Value>,
) -> Vec<Change> {
    let calls = subject.calls().filter(|(_, step, op)| wanted(step, op));
    let changed = calls.filter_map(|(index, step, operation)| {
        let more = more(step, operation)?;
        let what = format!("`{}` with {more}", id_of(step));
        let plan = subject.plan.with_step(index, |step| fields(step, more));
        Some(Change::of(what, &plan))
    });
    changed.collect()
}

fn is_read(step: &Value, operation: &Operation) -> bool {
    operation.effect.is_read() && step.get("until").is_none() && step.get("confirm").is_none()
}

fn is_write(step: &Value, operation: &Operation) -> bool {
    !operation.effect.is_read() && step.get("until").is_none()
}

fn until(every: &str, at_most: &str) -> Value {
    json!({ "until": "${ output != null }", "every": every, "at_most": at_most })
}

fn until_alone(subject: &CardSubject) -> Vec<Change> {
    each(subject, is_read, |_, _| {
        Some(json!({ "until": "${ output != null }", "every": "30s" }))
    })
}

fn waits_alone(subject: &CardSubject) -> Vec<Change> {
    each(subject, is_read, |_, _| Some(json!({ "every": "30s" })))
}

fn until_on_write(subject: &CardSubject) -> Vec<Change> {
    each(subject, is_write, |_, _| Some(until("30s", "10m")))
}

fn until_once(subject: &CardSubject) -> Vec<Change> {
    each(subject, is_read, |_, _| Some(until("10m", "30s")))
}

fn until_too_often(subject: &CardSubject) -> Vec<Change> {
    each(subject, is_read, |_, _| Some(until("1s", "2000h")))
}

fn until_hollow(subject: &CardSubject) -> Vec<Change> {
    each(subject, is_read, |_, _| {
        Some(json!({ "until": "${ output == output }", "every": "30s", "at_most": "5m" }))
    })
}

/// The call of a step as one beside it.
fn own_call(step: &Value) -> Value {
    let args = step.get("args").cloned().unwrap_or_else(|| json!({}));
    json!({ "tool": step.get("tool"), "args": args })
}

/// The same, where no argument hangs on the item of a list.
fn fixed_call(step: &Value) -> Option<Value> {
    let call = own_call(step);
    let text = call.to_string();
    (!text.contains("item") && !text.contains("index")).then_some(call)
}

fn confirmed(call: Value, accept: &str) -> Value {
    let mut call = call;
    if let Some(map) = call.as_object_mut() {
        map.insert("accept".to_owned(), json!([accept]));
    }
    json!({ "confirm": call })
}

fn confirm_of_read(subject: &CardSubject) -> Vec<Change> {
    each(subject, is_read, |step, _| {
        Some(confirmed(fixed_call(step)?, "${ read == output }"))
    })
}

fn confirm_by_write(subject: &CardSubject) -> Vec<Change> {
    each(subject, is_write, |step, _| {
        Some(confirmed(fixed_call(step)?, "${ read == output }"))
    })
}

/// A plain read of the catalog, with arguments made up.
fn some_read(subject: &CardSubject) -> Option<Value> {
    let mut reads = subject
        .catalog
        .iter()
        .filter(|op| op.effect == Effect::Read);
    reads.find_map(|operation| {
        let args = Value::Object(arguments(operation)?);
        let fits = !args.to_string().contains("${");
        fits.then(|| json!({ "tool": operation.name, "args": args }))
    })
}

fn confirm_unjudged(subject: &CardSubject) -> Vec<Change> {
    let read = some_read(subject);
    each(subject, is_write, |_, _| {
        Some(json!({ "confirm": read.clone()? }))
    })
}

fn confirm_hollow(subject: &CardSubject) -> Vec<Change> {
    let read = some_read(subject);
    each(subject, is_write, |_, _| {
        Some(confirmed(read.clone()?, "${ read == read }"))
    })
}

fn undo_of_read(subject: &CardSubject) -> Vec<Change> {
    each(subject, is_read, |step, _| {
        Some(json!({ "undo": fixed_call(step)? }))
    })
}

fn undo_by_read(subject: &CardSubject) -> Vec<Change> {
    let read = some_read(subject);
    each(subject, is_write, |_, _| {
        Some(json!({ "undo": read.clone()? }))
    })
}

fn undo_by_itself(subject: &CardSubject) -> Vec<Change> {
    each(subject, is_write, |step, _| {
        Some(json!({ "undo": own_call(step) }))
    })
}

/// Whether a write is made again only if that is meant: it is neither natural to repeat nor asked
/// about, and runs once.
fn is_once(step: &Value, operation: &Operation) -> bool {
    is_write(step, operation)
        && operation.idempotency != Idempotency::Natural
        && step.get("approval").is_none()
        && step.get("for_each").is_none()
}

fn equal_items(subject: &CardSubject) -> Vec<Change> {
    each(subject, is_once, |step, _| {
        // Why: who reads the output of one call would read a list of them.
        let output = format!("steps.{}.output", id_of(step));
        let is_read = subject.plan.0.to_string().contains(&output);
        (!is_read).then(|| json!({ "for_each": "${ [7, 7] }" }))
    })
}

/// The plan with one more step, another by its id.
fn with_copy(subject: &CardSubject, copy: Value, what: &str) -> Change {
    let steps = subject.plan.steps().iter().cloned().chain([copy]);
    Change::of(what, &subject.plan.with_steps(steps.collect()))
}

fn same_call(subject: &CardSubject) -> Vec<Change> {
    let once = subject.calls().filter(|(_, step, op)| is_once(step, op));
    let copies = once.map(|(_, step, _)| {
        let mut copy = step.clone();
        if let Some(map) = copy.as_object_mut() {
            map.insert("id".to_owned(), json!("once_more"));
        }
        with_copy(subject, copy, &format!("`{}` once more", id_of(step)))
    });
    copies.collect()
}

/// A write says that another takes it back, and that one is called too, in no order.
fn opposite(subject: &CardSubject) -> Vec<Change> {
    let mut changes = Vec::new();
    for (index, step, operation) in subject.calls().filter(|(_, step, op)| is_once(step, op)) {
        let Some(args) = step
            .get("args")
            .filter(|args| !args.to_string().contains("${"))
        else {
            continue;
        };
        let names: BTreeSet<&String> = args
            .as_object()
            .into_iter()
            .flatten()
            .map(|e| e.0)
            .collect();
        let reaches = |op: &Operation| names.iter().any(|name| op.is_sink(name));
        let mut others = subject.catalog.iter().filter(|other| {
            other.name != operation.name
                && other.server() == operation.server()
                && !other.effect.is_read()
                && other.input.admits(args)
                && reaches(other)
                && names
                    .iter()
                    .all(|name| other.is_sink(name) == operation.is_sink(name))
        });
        let Some(other) = others.next() else { continue };
        let undo = json!({ "tool": other.name, "args": args });
        let mut plan = subject.clone();
        plan.plan = subject.plan.with_step(index, |step| {
            step.insert("undo".to_owned(), undo);
            step.remove("when");
        });
        let copy = json!({
            "id": "taken_back",
            "description": "take it back at once",
            "tool": other.name,
            "args": args,
        });
        changes.push(with_copy(
            &plan,
            copy,
            &format!("`{}` and its undo", id_of(step)),
        ));
    }
    changes
}

fn accept_hollow(subject: &CardSubject) -> Vec<Change> {
    each(subject, is_write, |_, _| {
        Some(json!({ "accept": ["${ output == output }"] }))
    })
}

fn guard_never(subject: &CardSubject) -> Vec<Change> {
    each(subject, is_write, |_, _| {
        Some(json!({ "when": "${ 1 > 2 }" }))
    })
}

/// The guard and its opposite joined: what two exclusive branches have.
fn guard_both(subject: &CardSubject) -> Vec<Change> {
    each(subject, is_write, |step, _| {
        let when = step.get("when")?.as_str()?.trim();
        let when = when.strip_prefix("${")?.strip_suffix('}')?.trim();
        let simple = when.contains("==") && !when.contains("&&") && !when.contains("||");
        simple.then(|| json!({ "when": format!("${{ {when} && !({when}) }}") }))
    })
}

fn timeout_beyond(subject: &CardSubject) -> Vec<Change> {
    each(
        subject,
        |_, _| true,
        |_, operation| {
            let seconds = operation.timeout.as_secs() + 60;
            Some(json!({ "timeout": format!("{seconds}s") }))
        },
    )
}

fn retry_in_vain(subject: &CardSubject) -> Vec<Change> {
    let wanted = |step: &Value, operation: &Operation| {
        is_write(step, operation) && operation.idempotency == Idempotency::None
    };
    each(subject, wanted, |_, _| Some(json!({ "retry": 3 })))
}

fn question_in_vain(subject: &CardSubject) -> Vec<Change> {
    let steps = subject.plan.steps().iter().enumerate();
    let questions = steps.filter(|(_, step)| {
        step.get("question").is_some() && !subject.settled.contains(&id_of(step))
    });
    let settings = [json!({ "timeout": "10s" }), json!({ "retry": 2 })];
    let changed = questions.flat_map(|(index, step)| {
        settings.iter().filter_map(move |more| {
            let has = more.as_object()?.keys().any(|key| step.get(key).is_some());
            let plan = subject
                .plan
                .with_step(index, |step| fields(step, more.clone()));
            (!has).then(|| Change::of(format!("`{}` with {more}", id_of(step)), &plan))
        })
    });
    changed.collect()
}

fn fresh_of_read(subject: &CardSubject) -> Vec<Change> {
    each(subject, is_read, |_, _| Some(json!({ "fresh": "10m" })))
}
