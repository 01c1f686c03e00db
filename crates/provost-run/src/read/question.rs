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
        Some("integer") => "a whole number".to_owned(),
        Some("number") => "a number".to_owned(),
        _ if schema.as_object().is_none_or(serde_json::Map::is_empty) => "anything".to_owned(),
        _ => format!("JSON that fits {schema}"),
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
    let meant = [json, Some(text.clone()), yes_or_no(typed)];
    match meant.into_iter().flatten().find(fits) {
        Some(value) => Ok(value),
        None => {
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
}
