//! Operators that break a plan, and those of which a run decides whether they do.
//!
//! Owns one function for each kind of fault. Never looks at what the check finds. INVARIANT: where
//! an operator says that an argument is wrong, the input schema of the tool refuses it.

use std::collections::BTreeMap;
use std::sync::Arc;

use provost_plan::catalog::{Effect, Operation, Risk};
use serde_json::{Map, Value, json};

use super::document::{Document, escape, id_of, references, walk};
use super::sample::sample;
use super::{CardSubject, Change, Named};
use crate::rng::Rng;

/// The operators whose every mutant is breaking.
#[must_use]
pub fn operators() -> Vec<Named> {
    vec![
        ("a referenced step dropped", drop_referenced),
        ("dependent steps swapped", swap_dependent),
        ("unknown tool", unknown_tool),
        ("wrong argument", wrong_argument),
        ("missing argument", missing_argument),
        ("extra argument", extra_argument),
        ("reference to an absent path", absent_path),
        ("reference to an absent step", absent_step),
        ("cycle", cycle),
        ("duplicate id", duplicate_id),
        ("understated risk", understated_risk),
        ("a recipient exchanged", recipient),
        ("a budget passed", budget),
        ("tool outside the allow list", outside_allow_list),
        ("tool outside its role", outside_role),
        ("unknown role", unknown_role),
    ]
}

/// The operators of whose mutants a run decides.
#[must_use]
pub fn judged_by_run() -> Vec<Named> {
    vec![
        ("a step nobody refers to dropped", drop_unreferenced),
        ("an effect dropped with its proof", drop_effect),
        ("an added write", added_write),
    ]
}

fn without(plan: &Document, index: usize) -> Document {
    let mut steps = plan.steps().to_vec();
    steps.remove(index);
    plan.with_steps(steps)
}

fn dropped(subject: &CardSubject, referenced: bool) -> Vec<Change> {
    let ids = subject.plan.ids().into_iter().enumerate();
    ids.filter(|(_, id)| !subject.settled.contains(id))
        .filter(|(_, id)| subject.plan.mentions(id).is_empty() != referenced)
        .map(|(index, id)| Change::of(format!("without `{id}`"), &without(&subject.plan, index)))
        .collect()
}

fn drop_referenced(subject: &CardSubject) -> Vec<Change> {
    dropped(subject, true)
}

fn drop_unreferenced(subject: &CardSubject) -> Vec<Change> {
    dropped(subject, false)
}

/// A write goes, and with it every proof and claim that names it.
fn drop_effect(subject: &CardSubject) -> Vec<Change> {
    let mut changes = Vec::new();
    for (index, step, operation) in subject.calls() {
        let id = id_of(step);
        let mentions = subject.plan.mentions(&id);
        let only_said =
            |pointer: &String| pointer.starts_with("/success/") || pointer.starts_with("/answer/");
        let proven = mentions.iter().any(|p| p.starts_with("/success/"));
        if operation.effect.is_read() || !proven || !mentions.iter().all(only_said) {
            continue;
        }
        let mut plan = without(&subject.plan, index);
        for field in ["success", "answer"] {
            let Some(list) = plan.0.get(field).and_then(Value::as_array) else {
                continue;
            };
            let names = |at: usize| {
                let prefix = format!("/{field}/{at}/");
                mentions
                    .iter()
                    .any(|p| p.starts_with(&prefix) || *p == format!("/{field}/{at}"))
            };
            let kept = list.iter().enumerate().filter(|(at, _)| !names(*at));
            let kept: Vec<Value> = kept.map(|(_, value)| value.clone()).collect();
            plan = plan.with_field(field, kept.into());
        }
        changes.push(Change::of(format!("without `{id}` and its proof"), &plan));
    }
    changes
}

/// The ids of two steps are exchanged, of which one reads the other.
fn swap_dependent(subject: &CardSubject) -> Vec<Change> {
    let mut changes = Vec::new();
    let ids = subject.plan.ids();
    for (index, step) in subject.plan.steps().iter().enumerate() {
        let id = id_of(step);
        for other in subject.plan.waits_for(index) {
            let mut reads = false;
            walk(step, "", &mut |_, value| {
                let text = value.as_str().unwrap_or_default();
                reads |= text.contains("${") && !references(text, &other).is_empty();
            });
            let settled = subject.settled.contains(&id) || subject.settled.contains(&other);
            let Some(at) = ids
                .iter()
                .position(|known| *known == other && reads && !settled)
            else {
                continue;
            };
            let swapped = subject.plan.with_step(index, |step| set_id(step, &other));
            let swapped = swapped.with_step(at, |step| set_id(step, &id));
            changes.push(Change::of(
                format!("`{id}` and `{other}` exchanged"),
                &swapped,
            ));
        }
    }
    changes
}

fn set_id(step: &mut Map<String, Value>, id: &str) {
    step.insert("id".to_owned(), json!(id));
}

fn unknown_tool(subject: &CardSubject) -> Vec<Change> {
    let mut changes = Vec::new();
    for (index, _, operation) in subject.calls() {
        let (server, local) = operation
            .name
            .split_once('.')
            .unwrap_or((&operation.name, "x"));
        for name in [format!("{server}.{local}s"), format!("{server}s.{local}")] {
            if subject.catalog.get(&name).is_none() {
                let set = |step: &mut Map<String, Value>| {
                    step.insert("tool".to_owned(), json!(name));
                };
                changes.push(Change::of(
                    name.clone(),
                    &subject.plan.with_step(index, set),
                ));
            }
        }
    }
    changes
}

/// Some arguments that a tool takes, with every optional one that can be made.
pub(super) fn arguments(operation: &Operation) -> Option<Map<String, Value>> {
    (0..64).find_map(|seed| {
        let mut rng = Rng::new(seed, &operation.name);
        let args = sample(operation.input.value(), &mut rng);
        let fits = operation.input.admits(&args);
        args.as_object().cloned().filter(|_| fits)
    })
}

/// The plan with the arguments of a step changed; none if they are as they were.
fn with_args(
    subject: &CardSubject,
    index: usize,
    what: String,
    change: impl FnOnce(&mut Map<String, Value>),
) -> Change {
    let plan = subject.plan.with_step(index, |step| {
        let args = step.entry("args").or_insert_with(|| json!({}));
        if let Value::Object(args) = args {
            change(args);
        }
    });
    Change::of(what, &plan)
}

fn wrong_argument(subject: &CardSubject) -> Vec<Change> {
    let mut changes = Vec::new();
    for (index, step, operation) in subject.calls() {
        let (Some(args), Some(base)) = (
            step.get("args").and_then(Value::as_object),
            arguments(operation),
        ) else {
            continue;
        };
        for name in args.keys() {
            let refused = |value: &Value| {
                let mut args = base.clone();
                args.insert(name.clone(), value.clone());
                !operation.input.admits(&args.into())
            };
            let values = [
                json!({ "wrong": [] }),
                json!("¿wrong?"),
                json!(-7.5),
                json!([[]]),
            ];
            for value in values.into_iter().filter(refused).take(2) {
                let what = format!("`{name}` is {value}");
                let set = |args: &mut Map<String, Value>| {
                    args.insert(name.clone(), value);
                };
                changes.push(with_args(subject, index, what, set));
            }
        }
    }
    changes
}

fn missing_argument(subject: &CardSubject) -> Vec<Change> {
    let mut changes = Vec::new();
    for (index, step, operation) in subject.calls() {
        let required = operation
            .input
            .value()
            .get("required")
            .and_then(Value::as_array);
        for name in required.into_iter().flatten().filter_map(Value::as_str) {
            let given = step.get("args").and_then(|args| args.get(name)).is_some();
            if given {
                changes.push(with_args(subject, index, format!("no `{name}`"), |args| {
                    args.remove(name);
                }));
            }
        }
    }
    changes
}

fn extra_argument(subject: &CardSubject) -> Vec<Change> {
    let mut changes = Vec::new();
    for (index, _, operation) in subject.calls() {
        let Some(mut args) = arguments(operation) else {
            continue;
        };
        args.insert("not_taken".to_owned(), json!("x"));
        if !operation.input.admits(&args.into()) {
            let what = "`not_taken` is given".to_owned();
            changes.push(with_args(subject, index, what, |args| {
                args.insert("not_taken".to_owned(), json!("x"));
            }));
        }
    }
    changes
}

/// The text at a pointer changed.
fn with_text(plan: &Document, pointer: &str, text: String) -> Document {
    let mut changed = plan.0.clone();
    if let Some(value) = changed.pointer_mut(pointer) {
        *value = text.into();
    }
    Document(changed)
}

/// Every text with a reference to `id`, outside settled steps: pointer, text, where it ends.
fn places(subject: &CardSubject, id: &str) -> Vec<(String, String, usize)> {
    let mut found = Vec::new();
    let steps = subject.plan.steps();
    walk(&subject.plan.0, "", &mut |pointer, value| {
        let settled = steps.iter().enumerate().any(|(index, step)| {
            subject.settled.contains(&id_of(step))
                && pointer.starts_with(&format!("/steps/{index}/"))
        });
        let text = value.as_str().unwrap_or_default();
        if text.contains("${") && !settled {
            for end in references(text, id) {
                found.push((pointer.to_owned(), text.to_owned(), end));
            }
        }
    });
    found
}

fn absent_path(subject: &CardSubject) -> Vec<Change> {
    let mut changes = Vec::new();
    for step in subject.plan.steps() {
        let id = id_of(step);
        let operation = step.get("tool").and_then(Value::as_str);
        let operation = operation.and_then(|name| subject.catalog.get(name));
        let output = operation.and_then(|operation| operation.output.as_ref());
        // Why: what a schema says there may be besides, no reader can call absent.
        let output = output.filter(|output| !admits_more(output.value()));
        let fields = output.and_then(|output| output.value().get("properties")?.as_object());
        let (Some(fields), None) = (fields, step.get("for_each")) else {
            continue;
        };
        for (pointer, text, end) in places(subject, &id) {
            let rest = text.get(end..).unwrap_or_default();
            let Some(path) = rest.strip_prefix(".output.") else {
                continue;
            };
            let is_word = |c: &char| c.is_alphanumeric() || *c == '_';
            let field: String = path.chars().take_while(is_word).collect();
            // Why: `has()` of what is never there is no failure, it is false.
            let before = text.get(..end).unwrap_or_default();
            let probed = before.ends_with(&format!("has(steps.{id}"));
            if fields.contains_key(&field) && !probed {
                let mut changed = text.clone();
                changed.insert_str(end + ".output.".len() + field.len(), "_absent");
                let plan = with_text(&subject.plan, &pointer, changed);
                changes.push(Change::of(format!("`{id}` has no `{field}_absent`"), &plan));
            }
        }
    }
    changes
}

/// Whether a schema says that there may be more than it names.
fn admits_more(schema: &Value) -> bool {
    ["additionalProperties", "unevaluatedProperties"]
        .into_iter()
        .filter_map(|key| schema.get(key))
        .any(|more| *more != Value::Bool(false))
}

fn absent_step(subject: &CardSubject) -> Vec<Change> {
    let mut changes = Vec::new();
    for id in subject.plan.ids() {
        for (pointer, text, end) in places(subject, &id) {
            let mut changed = text;
            changed.insert_str(end, "_absent");
            let plan = with_text(&subject.plan, &pointer, changed);
            changes.push(Change::of(format!("`{id}_absent` in {pointer}"), &plan));
        }
    }
    changes
}

fn needing(plan: &Document, index: usize, on: &str) -> Document {
    plan.with_step(index, |step| {
        let needs = step.entry("needs").or_insert_with(|| json!([]));
        if let Value::Array(needs) = needs {
            needs.push(json!(on));
        }
    })
}

fn cycle(subject: &CardSubject) -> Vec<Change> {
    let mut changes = Vec::new();
    let ids = subject.plan.ids();
    for (index, id) in ids.iter().enumerate() {
        for before in subject.plan.before(index) {
            let at = ids.iter().position(|other| *other == before);
            if let Some(at) = at.filter(|_| !subject.settled.contains(&before)) {
                let plan = needing(&subject.plan, at, id);
                changes.push(Change::of(format!("`{before}` waits for `{id}`"), &plan));
            }
        }
    }
    changes
}

fn duplicate_id(subject: &CardSubject) -> Vec<Change> {
    let twice = |step: &Value| {
        let mut steps = subject.plan.steps().to_vec();
        steps.push(step.clone());
        Change::of(
            format!("`{}` twice", id_of(step)),
            &subject.plan.with_steps(steps),
        )
    };
    subject.plan.steps().iter().map(twice).collect()
}

fn understated_risk(subject: &CardSubject) -> Vec<Change> {
    let mut changes = Vec::new();
    for (index, _, operation) in subject.calls() {
        let lower = Risk::WORDS
            .into_iter()
            .filter(|(_, risk)| *risk < operation.risk());
        for (word, _) in lower {
            let plan = subject.plan.with_step(index, |step| {
                step.insert("risk".to_owned(), json!(word));
            });
            changes.push(Change::of(
                format!("risk {word} of {}", operation.name),
                &plan,
            ));
        }
    }
    changes
}

/// Values that no goal names, for a place at which `value` stands.
fn others(value: &str) -> Vec<Value> {
    let mut turned: Vec<char> = value.chars().collect();
    // Why: another letter at the end keeps the shape that a pattern may want.
    if let Some(last) = turned.iter_mut().rev().find(|c| c.is_ascii_alphanumeric()) {
        *last = match *last {
            '0'..='8' => char::from(u8::try_from(*last).unwrap_or(b'0') + 1),
            '9' => '1',
            'z' | 'Z' => 'q',
            letter => char::from(u8::try_from(letter).unwrap_or(b'a') + 1),
        };
    }
    let turned: String = turned.into_iter().collect();
    [
        "eve@elsewhere.example",
        "elsewhere",
        "https://elsewhere.example/x",
        "ELSE-99",
        &turned,
    ]
    .into_iter()
    .map(|text| json!(text))
    .collect()
}

fn recipient(subject: &CardSubject) -> Vec<Change> {
    let mut changes = Vec::new();
    for (index, step, operation) in subject
        .calls()
        .filter(|(_, _, op)| op.effect != Effect::Read)
    {
        let args = step.get("args").and_then(Value::as_object);
        for (name, value) in args.into_iter().flatten() {
            if operation.is_sink(name) && !value.to_string().contains("${") {
                changes.extend(exchanged(subject, index, operation, name, value));
            }
        }
    }
    changes
}

/// The plan with one text inside a literal argument exchanged.
fn exchanged(
    subject: &CardSubject,
    index: usize,
    operation: &Arc<Operation>,
    name: &str,
    value: &Value,
) -> Vec<Change> {
    let mut changes = Vec::new();
    let Some(base) = arguments(operation) else {
        return changes;
    };
    let schema = operation
        .input
        .value()
        .get("properties")
        .and_then(|all| all.get(name));
    // Why: one word of a closed list is no recipient that somebody made up.
    let closed = schema.is_some_and(|s| s.get("enum").is_some() || s.get("const").is_some());
    walk(value, "", &mut |pointer, leaf| {
        let Some(text) = leaf.as_str().filter(|_| !closed) else {
            return;
        };
        let fits = |other: &Value| {
            let mut changed = value.clone();
            if let Some(place) = changed.pointer_mut(pointer) {
                *place = other.clone();
            }
            let mut args = base.clone();
            args.insert(name.to_owned(), changed.clone());
            let named = other
                .as_str()
                .is_none_or(|o| subject.goal.text.contains(o) || o == text);
            (!named && operation.input.admits(&args.into())).then_some(changed)
        };
        for changed in others(text).iter().filter_map(fits).take(2) {
            let what = format!("`{name}{pointer}` is {changed}");
            changes.push(with_args(subject, index, what, |args| {
                args.insert(name.to_owned(), changed);
            }));
        }
    });
    changes
}

/// A limit of the plan itself that is lower than what stands in it, or steps that need more.
fn budget(subject: &CardSubject) -> Vec<Change> {
    let calls = subject
        .plan
        .steps()
        .iter()
        .filter(|s| s.get("tool").is_some())
        .count();
    let mut changes = Vec::new();
    if calls >= 2 {
        for (limit, least) in [
            ("steps", subject.plan.steps().len()),
            ("calls", calls),
            ("attempts", calls),
        ] {
            let limits = json!({ limit: least - 1 });
            let plan = subject.plan.with_field("limits", limits);
            changes.push(Change::of(format!("{limit} below {least}"), &plan));
        }
    }
    for (index, step, operation) in subject.calls() {
        let plan = subject.plan.with_step(index, |step| {
            let retry = json!({ "attempts": 2_000, "backoff": "1s" });
            step.insert("retry".to_owned(), retry);
        });
        if operation.effect.is_read() {
            changes.push(Change::of(
                format!("2000 attempts of `{}`", id_of(step)),
                &plan,
            ));
        }
    }
    changes
}

/// A step of its own that calls `operation`, with arguments made up.
fn with_call(subject: &CardSubject, operation: &Operation, id: &str) -> Option<Change> {
    let args = arguments(operation)?;
    // Why: a text that looks like an expression would be one.
    if Value::Object(args.clone()).to_string().contains("${") {
        return None;
    }
    let mut steps = subject.plan.steps().to_vec();
    steps.push(json!({
        "id": id,
        "description": format!("call {} for the books", operation.name),
        "tool": operation.name,
        "args": args,
    }));
    let what = format!("{} {}", operation.name, Value::Object(args));
    Some(Change::of(what, &subject.plan.with_steps(steps)))
}

fn added_write(subject: &CardSubject) -> Vec<Change> {
    let writes = subject
        .catalog
        .iter()
        .filter(|operation| !operation.effect.is_read());
    writes
        .filter_map(|operation| with_call(subject, operation, "added_write"))
        .collect()
}

fn outside_allow_list(subject: &CardSubject) -> Vec<Change> {
    let used: BTreeMap<&str, ()> = subject
        .plan
        .steps()
        .iter()
        .filter_map(|step| Some((step.get("tool")?.as_str()?, ())))
        .collect();
    let others = subject
        .catalog
        .iter()
        .filter(|op| !used.contains_key(op.name.as_str()));
    others
        .filter_map(|operation| with_call(subject, operation, "outside"))
        .collect()
}

/// The plan with a step in another role.
fn in_role(subject: &CardSubject, index: usize, role: &str) -> Change {
    let plan = subject.plan.with_step(index, |step| {
        step.insert("as".to_owned(), json!(role));
    });
    Change::of(format!("as `{role}`"), &plan)
}

fn outside_role(subject: &CardSubject) -> Vec<Change> {
    let mut changes = Vec::new();
    for (index, _, operation) in subject.calls() {
        // Why by hand: the judgment of the catalog is what is on trial.
        let others = subject.catalog.roles().filter(|role| {
            let server = operation.name.split('.').next().unwrap_or_default();
            let all = format!("{server}.*");
            !role.tools.contains(&operation.name) && !role.tools.contains(&all)
        });
        changes.extend(others.map(|role| in_role(subject, index, &role.name)));
    }
    changes
}

fn unknown_role(subject: &CardSubject) -> Vec<Change> {
    let mut changes = Vec::new();
    for (index, _, operation) in subject.calls() {
        for role in [format!("{}s", operation.server()), String::new()] {
            if subject.catalog.role(&role).is_none() {
                changes.push(in_role(subject, index, &role));
            }
        }
    }
    changes
}

/// The pointer to an argument of a step.
#[must_use]
pub fn argument(index: usize, name: &str) -> String {
    format!("/steps/{index}/args/{}", escape(name))
}
