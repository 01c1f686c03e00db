//! The reply of a planner that is no playbook: one JSON object, whoever wrote it.
//!
//! Owns the reading of `{ plan }`, `{ questions }` and `{ decline }`, for models and processes
//! alike. Judges no plan: what it lets through meets the same check as any other. INVARIANT: every
//! text comes to a plan, to questions, to a decline, or to findings that say what is wrong; there
//! is no other end.

use std::collections::BTreeSet;

use provost_plan::codes::Code;
use provost_plan::label::Label;
use provost_plan::plan::request::{FindingView, PlanReply, PlannerQuestion};
use provost_plan::schema::Schema;
use serde_json::{Map, Value, json};

use crate::limits::{QUESTIONS_MAX, WORDS_CHARS_MAX};

/// Who wrote a reply, and how far that may be believed.
#[derive(Clone, Debug)]
pub(crate) struct ReplyAuthor {
    /// In words.
    pub(crate) words: String,
    /// The label of its literals.
    pub(crate) literals: Label,
    /// The label of its choice.
    pub(crate) control: Label,
}

/// Reads a reply from a text: one JSON object, bare or in a code fence, with words around it.
pub(crate) fn of_text(text: &str, author: &ReplyAuthor) -> PlanReply {
    let object = object_in(text);
    match serde_json::from_str(object).or_else(|_| serde_json::from_str(&escaped(object))) {
        Ok(value @ Value::Object(_)) => of_value(value, author),
        Ok(_) => unreadable(
            text,
            author,
            Code::WrongShape,
            "the reply is no JSON object",
        ),
        Err(error) => {
            let what = format!("the reply is no JSON object: {error}");
            unreadable(text, author, Code::Syntax, &what)
        }
    }
}

/// Reads a reply that is a JSON object already.
pub(crate) fn of_value(value: Value, author: &ReplyAuthor) -> PlanReply {
    let text = value.to_string();
    let Value::Object(mut reply) = value else {
        return unreadable(
            &text,
            author,
            Code::WrongShape,
            "the reply is no JSON object",
        );
    };
    reply.retain(|_, value| !value.is_null());
    if reply.contains_key("steps") {
        // Why: a plan that stands by itself is one all the same.
        reply = Map::from_iter([("plan".to_owned(), Value::Object(reply))]);
    }
    let given = ["plan", "questions", "decline"].map(|field| reply.remove(field));
    match given {
        [Some(plan), None, None] => plan_of(plan, &reply, author),
        [None, Some(questions), None] => match questions_of(&questions) {
            Ok(questions) => PlanReply::Questions(questions),
            Err(what) => unreadable(&text, author, Code::WrongShape, &what),
        },
        [None, None, Some(Value::String(reason))] if !reason.trim().is_empty() => {
            PlanReply::Decline(format!("{}: {}", author.words, words(&reason)))
        }
        [None, None, Some(_)] => {
            let what = "`decline` is the reason, a text";
            unreadable(&text, author, Code::WrongShape, what)
        }
        [None, None, None] => {
            let what = "the reply holds none of `plan`, `questions` and `decline`";
            unreadable(&text, author, Code::MissingField, what)
        }
        _ => {
            let what = "the reply holds more than one of `plan`, `questions` and `decline`";
            unreadable(&text, author, Code::WrongShape, what)
        }
    }
}

/// What cannot be read, with what is wrong.
pub(crate) fn unreadable(text: &str, author: &ReplyAuthor, code: Code, what: &str) -> PlanReply {
    PlanReply::Unreadable {
        text: text.to_owned(),
        author: author.words.clone(),
        findings: vec![FindingView {
            code: code.as_str().to_owned(),
            message: words(what),
            step: None,
            path: None,
            hint: Some(
                "reply with one JSON object: `plan`, `questions` or `decline`, and nothing else"
                    .to_owned(),
            ),
        }],
    }
}

fn plan_of(plan: Value, reply: &Map<String, Value>, author: &ReplyAuthor) -> PlanReply {
    // Why: a constrained decoder may have to write the whole plan as a text.
    let plan = match plan {
        Value::String(text) => serde_json::from_str(&text).unwrap_or(Value::String(text)),
        other => other,
    };
    let because = reply.get("because").and_then(Value::as_str);
    let consult = reply.get("consult").and_then(Value::as_array);
    PlanReply::Plan {
        text: without_nothing(plan).to_string(),
        name: format!("<{}>", author.words),
        author: author.words.clone(),
        literals: author.literals.clone(),
        control: author.control.clone(),
        consult: consult
            .into_iter()
            .flatten()
            .filter_map(|step| step.as_str().map(str::to_owned))
            .collect(),
        because: because.map(words).filter(|text| !text.is_empty()),
    }
}

/// The plan without the fields that a constrained decoder has to write and means nothing by, and
/// with arguments as a map where it has to write them as a text.
fn without_nothing(plan: Value) -> Value {
    let Value::Object(mut plan) = plan else {
        return plan;
    };
    plan.retain(|_, value| !value.is_null());
    as_map(&mut plan, "let");
    for list in ["steps", "success", "answer"] {
        let Some(Value::Array(items)) = plan.get_mut(list) else {
            continue;
        };
        for item in items.iter_mut().filter_map(Value::as_object_mut) {
            item.retain(|_, value| !value.is_null() && *value != json!([]));
            // Why: an output that is a schema written as a text is one too.
            for field in ["args", "output"] {
                as_map(item, field);
            }
        }
    }
    Value::Object(plan)
}

/// A field that is a map written as a text is that map.
fn as_map(holder: &mut Map<String, Value>, field: &str) {
    let text = holder.get(field).and_then(Value::as_str);
    let read = text.and_then(|text| serde_json::from_str::<Value>(text).ok());
    if let Some(read @ Value::Object(_)) = read {
        holder.insert(field.to_owned(), read);
    }
}

fn questions_of(questions: &Value) -> Result<Vec<PlannerQuestion>, String> {
    let Some(list) = questions.as_array().filter(|list| !list.is_empty()) else {
        return Err("`questions` is a list with at least one question".to_owned());
    };
    if list.len() > QUESTIONS_MAX {
        return Err(format!("there are more than {QUESTIONS_MAX} questions"));
    }
    let mut ids = BTreeSet::new();
    list.iter()
        .map(|question| {
            let field = |name: &str| {
                let text = question.get(name).and_then(Value::as_str).unwrap_or("");
                Some(words(text)).filter(|text| !text.is_empty())
            };
            let (Some(id), Some(text)) = (field("id"), field("text")) else {
                return Err("a question has an `id` and a `text`".to_owned());
            };
            if !ids.insert(id.clone()) {
                return Err(format!("there are two questions `{id}`"));
            }
            let given = question.get("answer").filter(|schema| !schema.is_null());
            let answer = given.cloned().unwrap_or(json!({ "type": "string" }));
            Schema::compile(answer.clone()).map_err(|error| {
                format!("`answer` of the question `{id}` is no schema: {error}")
            })?;
            Ok(PlannerQuestion { id, text, answer })
        })
        .collect()
}

/// A text of a planner for people: one line, not longer than is read.
pub(crate) fn words(text: &str) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let clean = line.chars().filter(|c| !c.is_control());
    clean.take(WORDS_CHARS_MAX).collect()
}

/// The text from the first brace to the last.
fn object_in(text: &str) -> &str {
    let found = text.find('{').zip(text.rfind('}'));
    let inside = found.and_then(|(from, to)| text.get(from..=to));
    inside.unwrap_or(text).trim()
}

/// The text with control characters inside its strings written as JSON wants them.
fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let (mut inside, mut after_backslash) = (false, false);
    for c in text.chars() {
        if inside && c.is_control() && c < ' ' {
            out.push_str(&format!("\\u{:04x}", u32::from(c)));
            after_backslash = false;
            continue;
        }
        inside ^= c == '"' && !after_backslash;
        after_backslash = inside && c == '\\' && !after_backslash;
        out.push(c);
    }
    out
}
