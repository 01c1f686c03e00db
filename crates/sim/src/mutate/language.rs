//! Operators on what a plan says beside its calls: assertions, deadlines and defaults of questions,
//! conditions of items, arguments left out, counted values, units, and undo.
//!
//! Owns one function for each kind of fault. Never looks at what the check finds. INVARIANT: what
//! is changed stands in one step, or in the limits of the plan.

use serde_json::{Map, Value, json};

use super::document::{Document, id_of, walk};
use super::guards::{conjuncts, inside, protects};
use super::{CardSubject, Change, Named};

/// The operators whose every mutant has an error.
#[must_use]
pub fn breaking() -> Vec<Named> {
    vec![
        ("an assertion with settings of a call", assert_as_call),
        ("an assertion of no condition", assert_of_no_condition),
        ("an assertion without its condition", assert_of_nothing),
        (
            "an assertion that waits for what it holds back",
            assert_in_a_circle,
        ),
        ("a default that is no answer", default_that_is_no_answer),
        ("a default without a deadline", default_without_deadline),
        ("a deadline out of bounds", deadline_out_of_bounds),
        ("a default that is computed", default_computed),
        ("an item where there is none", item_of_nothing),
        ("an index in a condition of items", index_in_condition),
        ("a needed argument that may be left out", needed_left_out),
        ("a limit of what no tool counts", limit_of_nothing),
        ("a sum above its limit", sum_above_limit),
        ("a number of another unit", other_unit),
        ("a sum of two units", sum_of_units),
        ("undo by no tool", undo_by_nothing),
        ("undo with a wrong argument", undo_wrong),
        ("undo without an argument", undo_missing),
        ("undo that waits for what comes later", undo_later),
    ]
}

/// The operators whose every mutant has a warning at least.
#[must_use]
pub fn warned() -> Vec<Named> {
    vec![
        ("an assertion that always holds", assert_hollow),
        ("an assertion that never holds", assert_never),
        (
            "an assertion that no write waits for",
            assert_waited_for_by_nobody,
        ),
        ("a condition of items that always holds", items_all),
    ]
}

/// The operators that keep what a plan does.
#[must_use]
pub fn kept() -> Vec<Named> {
    vec![("a deadline in other units", deadline_in_minutes)]
}

/// Assertions without which a read is not sure.
pub fn protecting(subject: &CardSubject) -> Vec<Change> {
    without_assertion(subject, true)
}

/// Assertions that only decide whether the plan goes on.
pub fn deciding(subject: &CardSubject) -> Vec<Change> {
    without_assertion(subject, false)
}

/// The steps with a field that may change, each with its index.
fn with<'a>(
    subject: &'a CardSubject,
    field: &'static str,
) -> impl Iterator<Item = (usize, &'a Value)> {
    let steps = subject.plan.steps().iter().enumerate();
    let free = |step: &Value| !subject.settled.contains(&id_of(step));
    steps.filter(move |(_, step)| step.get(field).is_some() && free(step))
}

/// The plan with one field of a step.
fn set(subject: &CardSubject, index: usize, field: &str, value: Value) -> Change {
    let what = format!("{}: {field} is {value}", id_at(subject, index));
    let plan = subject.plan.with_step(index, |step| {
        step.insert(field.to_owned(), value);
    });
    Change::of(what, &plan)
}

fn id_at(subject: &CardSubject, index: usize) -> String {
    subject
        .plan
        .steps()
        .get(index)
        .map(id_of)
        .unwrap_or_default()
}

/// The plan with each of these values of a field, in each step that has it.
fn each(subject: &CardSubject, field: &'static str, values: &[Value]) -> Vec<Change> {
    let steps = with(subject, field);
    let changes = steps.flat_map(|(index, _)| {
        let of = move |value: &Value| set(subject, index, field, value.clone());
        values.iter().map(of)
    });
    changes.collect()
}

fn assert_as_call(subject: &CardSubject) -> Vec<Change> {
    let settings = [
        ("accept", json!(["${ output }"])),
        ("retry", json!(2)),
        ("timeout", json!("10s")),
        ("for_each", json!("${ [1, 2] }")),
        ("args", json!({})),
    ];
    let steps = with(subject, "assert");
    let changes = steps.flat_map(|(index, _)| {
        let of = move |(field, value): &(&str, Value)| set(subject, index, field, value.clone());
        settings.iter().map(of).collect::<Vec<_>>()
    });
    changes.collect()
}

fn assert_of_no_condition(subject: &CardSubject) -> Vec<Change> {
    let values = [json!("${ 1 + 1 }"), json!("enough of it"), json!(7)];
    each(subject, "assert", &values)
}

fn assert_of_nothing(subject: &CardSubject) -> Vec<Change> {
    let changes = with(subject, "assert").map(|(index, step)| {
        let plan = subject.plan.with_step(index, |step| {
            step.remove("assert");
            step.insert("message".to_owned(), json!("not enough"));
        });
        Change::of(format!("`{}` asserts nothing", id_of(step)), &plan)
    });
    changes.collect()
}

/// The places of the `needs` of other steps that name this one.
fn waiting(plan: &Document, id: &str) -> Vec<usize> {
    let steps = plan.steps().iter().enumerate();
    let needs = |step: &Value| {
        let needs = step.get("needs").and_then(Value::as_array);
        needs.is_some_and(|needs| needs.contains(&json!(id)))
    };
    steps
        .filter(|(_, step)| needs(step))
        .map(|(at, _)| at)
        .collect()
}

fn assert_in_a_circle(subject: &CardSubject) -> Vec<Change> {
    let changes = with(subject, "assert").filter_map(|(index, step)| {
        let waits = *waiting(&subject.plan, &id_of(step)).first()?;
        Some(set(subject, index, "needs", json!([id_at(subject, waits)])))
    });
    changes.collect()
}

fn asserting(subject: &CardSubject, conditions: &[&str]) -> Vec<Change> {
    let conditions: Vec<Value> = conditions.iter().map(|text| json!(text)).collect();
    each(subject, "assert", &conditions)
}

fn assert_hollow(subject: &CardSubject) -> Vec<Change> {
    asserting(subject, &["${ 1 < 2 }", "${ run.id == run.id }"])
}

fn assert_never(subject: &CardSubject) -> Vec<Change> {
    asserting(subject, &["${ 1 > 2 }", "${ run.id != run.id }"])
}

/// The plan in which nothing needs the assertion at `index`.
fn unneeded(subject: &CardSubject, id: &str) -> Document {
    let mut plan = subject.plan.clone();
    for at in waiting(&subject.plan, id) {
        plan = plan.with_step(at, |step| {
            if let Some(Value::Array(needs)) = step.get_mut("needs") {
                needs.retain(|need| *need != json!(id));
            }
        });
    }
    plan
}

/// Whether only `needs` of writes name a step.
fn only_writes_need(subject: &CardSubject, id: &str) -> bool {
    let waiting = waiting(&subject.plan, id);
    let writes: Vec<usize> = subject
        .calls()
        .filter(|(_, _, operation)| !operation.effect.is_read())
        .map(|(index, ..)| index)
        .collect();
    let named = subject.plan.mentions(id).len();
    !waiting.is_empty() && waiting.len() == named && waiting.iter().all(|at| writes.contains(at))
}

fn assert_waited_for_by_nobody(subject: &CardSubject) -> Vec<Change> {
    let changes = with(subject, "assert").filter_map(|(_, step)| {
        let id = id_of(step);
        let what = format!("nothing needs `{id}`");
        only_writes_need(subject, &id).then(|| Change::of(what, &unneeded(subject, &id)))
    });
    changes.collect()
}

fn without_assertion(subject: &CardSubject, protecting: bool) -> Vec<Change> {
    let changes = with(subject, "assert").filter_map(|(index, step)| {
        let id = id_of(step);
        let named = subject.plan.mentions(&id).len();
        let waiting = waiting(&subject.plan, &id);
        // Why not one whose status is read: without it that read is an error in any case.
        if named != waiting.len() || step.get("when").is_some() {
            return None;
        }
        let condition = inside(step.get("assert")?.as_str()?)?;
        let readers = waiting
            .iter()
            .filter_map(|at| subject.plan.steps().get(*at));
        let reads: String = readers
            .map(|step| step.to_string().replace("\\\"", "\""))
            .collect();
        let protects = conjuncts(condition)
            .iter()
            .any(|part| protects(part, &reads));
        let mut steps = unneeded(subject, &id).steps().to_vec();
        steps.remove(index);
        let plan = subject.plan.with_steps(steps);
        (protects == protecting).then(|| Change::of(format!("without `{id}`"), &plan))
    });
    changes.collect()
}

/// The plan with these fields of a question.
fn asking(subject: &CardSubject, index: usize, step: &Value, more: &Value) -> Option<Change> {
    let question = step.get("question")?;
    let mut question = match question {
        Value::Object(fields) => fields.clone(),
        text => Map::from_iter([("text".to_owned(), text.clone())]),
    };
    question.extend(more.as_object()?.clone());
    question.retain(|_, value| !value.is_null());
    Some(set(subject, index, "question", question.into()))
}

fn questions(subject: &CardSubject, more: impl Fn(&Value) -> Vec<Value>) -> Vec<Change> {
    let mut changes = Vec::new();
    for (index, step) in with(subject, "question") {
        let fields = more(step.get("question").unwrap_or(&Value::Null));
        let asked = fields
            .iter()
            .filter_map(|more| asking(subject, index, step, more));
        changes.extend(asked);
    }
    changes
}

fn default_that_is_no_answer(subject: &CardSubject) -> Vec<Change> {
    questions(subject, |question| {
        let answer = question.get("answer").cloned();
        let answer = answer.unwrap_or_else(|| json!({ "type": "string" }));
        let Ok(schema) = provost_plan::schema::Schema::compile(answer) else {
            return Vec::new();
        };
        let values = [
            json!({ "wrong": [] }),
            json!("¿wrong?"),
            json!(-7.5),
            json!([[]]),
        ];
        let refused = values
            .into_iter()
            .filter(|value| !schema.admits(value))
            .take(2);
        refused
            .map(|value| json!({ "expires": "4h", "default": value }))
            .collect()
    })
}

fn default_without_deadline(subject: &CardSubject) -> Vec<Change> {
    questions(subject, |question| {
        let default = question.get("default").cloned();
        let more = |default| json!({ "expires": null, "default": default });
        default.map(more).into_iter().collect()
    })
}

fn deadline_out_of_bounds(subject: &CardSubject) -> Vec<Change> {
    questions(subject, |_| {
        let bad = ["0s", "367d", "soon"];
        bad.into_iter()
            .map(|after| json!({ "expires": after }))
            .collect()
    })
}

fn default_computed(subject: &CardSubject) -> Vec<Change> {
    questions(subject, |_| {
        vec![json!({ "expires": "4h", "default": "${ 1 < 2 }" })]
    })
}

fn deadline_in_minutes(subject: &CardSubject) -> Vec<Change> {
    questions(subject, |question| {
        let after = question.get("expires").and_then(Value::as_str);
        let hours = after.and_then(|after| after.strip_suffix('h')?.parse::<u64>().ok());
        let minutes = hours.map(|hours| json!({ "expires": format!("{}m", hours * 60) }));
        minutes.into_iter().collect()
    })
}

fn item_of_nothing(subject: &CardSubject) -> Vec<Change> {
    let plain = subject
        .calls()
        .filter(|(_, step, _)| step.get("for_each").is_none());
    let changes = plain.map(|(index, ..)| set(subject, index, "when", json!("${ item != 1 }")));
    changes.collect()
}

/// The plan with a condition of items in each step over a list.
fn choosing(subject: &CardSubject, condition: &str) -> Vec<Change> {
    let lists = with(subject, "for_each");
    let changes = lists.map(|(index, step)| {
        let own = step.get("when").and_then(Value::as_str).and_then(inside);
        let all = match own {
            Some(own) => format!("${{ ({own}) && {condition} }}"),
            None => format!("${{ {condition} }}"),
        };
        set(subject, index, "when", json!(all))
    });
    changes.collect()
}

fn index_in_condition(subject: &CardSubject) -> Vec<Change> {
    choosing(subject, "index > 0")
}

fn items_all(subject: &CardSubject) -> Vec<Change> {
    choosing(subject, "item == item")
}

/// A value of arguments as an expression writes it.
fn as_expression(value: &Value) -> Option<String> {
    match value {
        Value::String(text) if text.contains("${") => inside(text).map(|own| format!("({own})")),
        Value::String(_) | Value::Number(_) | Value::Bool(_) => Some(value.to_string()),
        _ => None,
    }
}

fn needed_left_out(subject: &CardSubject) -> Vec<Change> {
    let mut changes = Vec::new();
    for (index, step, operation) in subject.calls() {
        let required = operation
            .input
            .value()
            .get("required")
            .and_then(Value::as_array);
        for name in required.into_iter().flatten().filter_map(Value::as_str) {
            let given = step.get("args").and_then(|args| args.get(name));
            let Some(written) = given.and_then(as_expression) else {
                continue;
            };
            let perhaps = json!(format!("${{ run.id == \"a\" ? {written} : null }}"));
            let plan = subject.plan.with_step(index, |step| {
                if let Some(Value::Object(args)) = step.get_mut("args") {
                    args.remove(name);
                    args.insert(format!("?{name}"), perhaps);
                }
            });
            changes.push(Change::of(format!("perhaps no `{name}`"), &plan));
        }
    }
    changes
}

fn limited(subject: &CardSubject, name: &str, most: &Value) -> Change {
    let mut limits = subject
        .plan
        .0
        .get("limits")
        .cloned()
        .unwrap_or_else(|| json!({}));
    if let Some(limits) = limits.as_object_mut() {
        limits.insert("values".to_owned(), json!({ name: most }));
    }
    let what = format!("at most {most} of {name}");
    Change::of(what, &subject.plan.with_field("limits", limits))
}

fn limit_of_nothing(subject: &CardSubject) -> Vec<Change> {
    vec![limited(subject, "counted_by_nobody", &json!(5))]
}

/// Each value that a step surely adds to, limited to less.
fn sum_above_limit(subject: &CardSubject) -> Vec<Change> {
    let mut changes = Vec::new();
    for (_, step, operation) in subject.calls() {
        for (name, arg) in &operation.values {
            let given = step.get("args").and_then(|args| args.get(arg));
            if given
                .and_then(Value::as_f64)
                .is_some_and(|amount| amount >= 1.0)
            {
                changes.push(limited(subject, name, &json!(0.5)));
            }
        }
    }
    changes
}

/// The outputs of a plan that say what they are in: the step, the field, the unit.
fn in_units(subject: &CardSubject) -> Vec<(String, String, String)> {
    let mut found = Vec::new();
    for (_, step, operation) in subject.calls() {
        let output = operation.output.as_ref().map(|output| output.value());
        let fields = output.and_then(|output| output.get("properties")?.as_object());
        for (name, field) in fields.into_iter().flatten() {
            let unit = field.get("x-unit").and_then(Value::as_str);
            let alone = step.get("for_each").is_none() && step.get("when").is_none();
            if let Some(unit) = unit.filter(|_| alone) {
                found.push((id_of(step), name.clone(), unit.to_owned()));
            }
        }
    }
    found
}

fn other_unit(subject: &CardSubject) -> Vec<Change> {
    let known = in_units(subject);
    let mut changes = Vec::new();
    for (index, step, operation) in subject.calls() {
        let fields = operation
            .input
            .value()
            .get("properties")
            .and_then(Value::as_object);
        for (name, field) in fields.into_iter().flatten() {
            let wanted = field.get("x-unit").and_then(Value::as_str);
            let given = step
                .get("args")
                .is_some_and(|args| args.get(name).is_some());
            let other = known.iter().find(|(id, _, unit)| {
                wanted.is_some_and(|wanted| wanted != unit) && *id != id_of(step)
            });
            let Some((id, output, _)) = other.filter(|_| given) else {
                continue;
            };
            let read = json!(format!("${{ steps.{id}.output.{output} }}"));
            let plan = subject.plan.with_step(index, |step| {
                if let Some(Value::Object(args)) = step.get_mut("args") {
                    args.insert(name.clone(), read.clone());
                }
            });
            changes.push(Change::of(format!("`{name}` is {read}"), &plan));
        }
    }
    changes
}

/// Each read of a number, with one of another unit added.
fn sum_of_units(subject: &CardSubject) -> Vec<Change> {
    let known = in_units(subject);
    let mut changes = Vec::new();
    walk(&subject.plan.0, "", &mut |pointer, value| {
        let text = value.as_str().filter(|text| text.contains("${"));
        for (id, field, unit) in &known {
            let read = format!("steps.{id}.output.{field}");
            let other = known.iter().find(|(_, _, other)| other != unit);
            let Some((text, (other, name, _))) = text.zip(other) else {
                continue;
            };
            let sum = format!("({read} + steps.{other}.output.{name})");
            let is_word = |c: char| c.is_alphanumeric() || c == '_';
            let rest = text.split_once(&read).map(|(_, rest)| rest);
            if rest.is_none_or(|rest| rest.starts_with(is_word)) {
                continue;
            }
            let mut plan = subject.plan.0.clone();
            if let Some(place) = plan.pointer_mut(pointer) {
                *place = json!(text.replacen(&read, &sum, 1));
            }
            let what = format!("{pointer}: `{field}` in {unit} and another");
            changes.push(Change::of(what, &Document(plan)));
        }
    });
    changes
}

/// The plan with the undo of each step changed.
fn undoing(subject: &CardSubject, change: impl Fn(&mut Value) -> bool) -> Vec<Change> {
    let mut changes = Vec::new();
    for (index, step) in with(subject, "undo") {
        let Some(mut undo) = step.get("undo").cloned() else {
            continue;
        };
        if change(&mut undo) {
            changes.push(set(subject, index, "undo", undo));
        }
    }
    changes
}

fn undo_by_nothing(subject: &CardSubject) -> Vec<Change> {
    undoing(subject, |undo| {
        let tool = undo.get_mut("tool");
        tool.map(|tool| *tool = json!("nowhere.undo")).is_some()
    })
}

fn undo_wrong(subject: &CardSubject) -> Vec<Change> {
    undoing(subject, |undo| {
        let args = undo.get_mut("args").and_then(Value::as_object_mut);
        let first = args.and_then(|args| args.values_mut().next());
        first
            .map(|value| *value = json!([[{ "wrong": [] }]]))
            .is_some()
    })
}

fn undo_missing(subject: &CardSubject) -> Vec<Change> {
    let catalog = &subject.catalog;
    undoing(subject, |undo| {
        let tool = undo.get("tool").and_then(Value::as_str);
        let operation = tool.and_then(|tool| catalog.get(tool));
        let required = operation.and_then(|op| op.input.value().get("required")?.as_array());
        let name = required.and_then(|names| names.first()?.as_str());
        let args = undo.get_mut("args").and_then(Value::as_object_mut);
        args.zip(name)
            .is_some_and(|(args, name)| args.remove(name).is_some())
    })
}

/// What takes a step back reads one that goes on after it.
fn undo_later(subject: &CardSubject) -> Vec<Change> {
    let mut changes = Vec::new();
    for (index, step) in with(subject, "undo") {
        let id = id_of(step);
        let ids = subject.plan.ids().into_iter().enumerate();
        let later = ids.filter(|(at, _)| subject.plan.before(*at).contains(&id));
        for (_, later) in later.take(1) {
            let read = json!(format!("${{ steps.{later}.status }}"));
            let mut undo = step.get("undo").cloned().unwrap_or_default();
            let args = undo.get_mut("args").and_then(Value::as_object_mut);
            if let Some(first) = args.and_then(|args| args.values_mut().next()) {
                *first = read;
                changes.push(set(subject, index, "undo", undo));
            }
        }
    }
    changes
}
