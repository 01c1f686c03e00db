//! What an answer to a question may be, and what was meant by what somebody typed.
//!
//! Owns the words and the reading, for the terminal and the page. Decides nothing: whether an
//! answer counts is the machine's. INVARIANT: what is read fits the question.

use provost_plan::schema::Schema;
use serde_json::Value;

use crate::card::Question;

/// What an answer may be, in words.
#[must_use]
pub fn expected(schema: &Value) -> String {
    if let Some(words) = schema.get("enum").and_then(Value::as_array) {
        let words: Vec<String> = words
            .iter()
            .map(|word| {
                word.as_str()
                    .map_or_else(|| word.to_string(), str::to_owned)
            })
            .collect();
        return format!("one of {}", words.join(", "));
    }
    match schema.get("type").and_then(Value::as_str) {
        Some("string") if schema.as_object().is_some_and(|map| map.len() > 1) => {
            format!("a text that fits {schema}")
        }
        Some("string") => "a text".to_owned(),
        Some("boolean") => "true or false".to_owned(),
        Some("integer") => format!("a whole number{}", bounds(schema)),
        Some("number") => format!("a number{}", bounds(schema)),
        _ if schema.as_object().is_none_or(serde_json::Map::is_empty) => "anything".to_owned(),
        _ => format!("JSON that fits {schema}"),
    }
}

/// The bounds of a number, in words: `, 1 to 9`; empty if it has none.
fn bounds(schema: &Value) -> String {
    let bound = |key: &str| schema.get(key).filter(|bound| bound.is_number());
    let inclusive = match (bound("minimum"), bound("maximum")) {
        (Some(least), Some(most)) => format!(", {least} to {most}"),
        (Some(least), None) => format!(", {least} or more"),
        (None, Some(most)) => format!(", {most} or less"),
        (None, None) => String::new(),
    };
    let above = bound("exclusiveMinimum").map(|than| format!(", more than {than}"));
    let below = bound("exclusiveMaximum").map(|than| format!(", less than {than}"));
    [Some(inclusive), above, below]
        .into_iter()
        .flatten()
        .collect()
}

/// What is wrong with a number that is one, and does not fit: `-5 is less than 1`.
fn out_of_bounds(schema: &Schema, answer: &Value, typed: &Value) -> Option<String> {
    let wanted = answer.get("type").and_then(Value::as_str)?;
    let is_one = match wanted {
        "integer" => typed.is_i64() || typed.is_u64(),
        "number" => typed.is_number(),
        _ => false,
    };
    let broken = schema.violations(typed).into_iter().next();
    let message = broken.filter(|_| is_one)?.message;
    match message.strip_prefix("value ") {
        Some(rest) => Some(format!("{typed} {rest}")),
        None => Some(message),
    }
}

/// Reads an answer as typed: JSON that fits, else a text that fits.
///
/// # Errors
/// Why neither fits, in words.
pub fn read(question: &Question, typed: &str) -> Result<Value, String> {
    let schema = Schema::compile(question.answer.clone()).map_err(|error| error.to_string())?;
    let fits = |value: &Value| schema.violations(value).is_empty();
    let text = Value::String(typed.to_owned());
    let json = serde_json::from_str::<Value>(typed).ok();
    let number = json
        .clone()
        .and_then(|typed| out_of_bounds(&schema, &question.answer, &typed));
    let meant = [json, Some(text.clone()), yes_or_no(typed)];
    match meant.into_iter().flatten().find(fits) {
        Some(value) => Ok(value),
        None => {
            if let Some(why) = number {
                let expected = expected(&question.answer);
                return Err(format!("{why}: the answer is {expected}"));
            }
            let wants_text = question.answer.get("type").and_then(Value::as_str) == Some("string");
            let violation = schema
                .violations(&text)
                .into_iter()
                .next()
                .filter(|_| wants_text);
            let why = violation.map_or_else(String::new, |found| format!(": {}", found.message));
            Err(format!(
                "`{typed}` is not {}{why}",
                expected(&question.answer)
            ))
        }
    }
}

/// What people type where a plan asks for true or false.
fn yes_or_no(typed: &str) -> Option<Value> {
    match typed.to_lowercase().as_str() {
        "y" | "yes" => Some(Value::Bool(true)),
        "n" | "no" => Some(Value::Bool(false)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests")]

    use serde_json::json;

    use super::*;
    use crate::card::QuestionPurpose;

    fn answer(schema: Value, typed: &str) -> Result<Value, String> {
        let question = Question {
            run: "r".to_owned(),
            purpose: QuestionPurpose::Step {
                step: "s".to_owned(),
            },
            text: "?".to_owned(),
            answer: schema,
            of: None,
            expires: None,
        };
        read(&question, typed)
    }

    #[test]
    fn an_answer_is_json_where_that_fits_and_else_text() {
        assert_eq!(
            answer(json!({ "type": "string" }), "42").unwrap(),
            json!("42")
        );
        assert_eq!(
            answer(json!({ "type": "integer" }), "42").unwrap(),
            json!(42)
        );
        assert_eq!(
            answer(json!({ "type": "boolean" }), "true").unwrap(),
            json!(true)
        );
        for (typed, value) in [("yes", true), ("Y", true), ("no", false), ("n", false)] {
            let boolean = json!({ "type": "boolean" });
            assert_eq!(answer(boolean, typed).unwrap(), json!(value));
            // The control: where a text is asked for, it stays one.
            let text = json!({ "type": "string" });
            assert_eq!(answer(text, typed).unwrap(), json!(typed));
        }
        assert_eq!(
            answer(json!({ "enum": ["go", "stop"] }), "go").unwrap(),
            json!("go")
        );
        assert_eq!(answer(json!({}), "{\"a\": 1}").unwrap(), json!({ "a": 1 }));
        assert_eq!(
            answer(json!({ "enum": ["go", "stop"] }), "no").unwrap_err(),
            "`no` is not one of go, stop"
        );
        assert_eq!(
            answer(json!({ "type": "integer" }), "1.5").unwrap_err(),
            "`1.5` is not a whole number"
        );
    }

    #[test]
    fn a_number_out_of_bounds_is_told_the_bounds() {
        for (schema, words, typed, refused) in [
            (
                json!({ "type": "integer", "minimum": 1 }),
                "a whole number, 1 or more",
                "-5",
                "-5 is less than",
            ),
            (
                json!({ "type": "integer", "minimum": 1, "maximum": 9 }),
                "a whole number, 1 to 9",
                "10",
                "10 is greater than",
            ),
            (
                json!({ "type": "number", "exclusiveMinimum": 0.5 }),
                "a number, more than 0.5",
                "0.5",
                "0.5 is less than",
            ),
        ] {
            assert_eq!(expected(&schema), words);
            let why = answer(schema.clone(), typed).unwrap_err();
            assert!(why.starts_with(refused) && why.ends_with(words), "{why}");
            // The control: what is no number is told so.
            let why = answer(schema, "many").unwrap_err();
            assert_eq!(why, format!("`many` is not {words}"));
        }
    }
}
