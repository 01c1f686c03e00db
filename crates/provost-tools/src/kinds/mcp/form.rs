//! Forms that a server puts before a person, filled from the answers of the call.
//!
//! Owns what of a call's answers goes into a form, and what the form wanted. Asks nobody: the
//! answers were given before the call, and stand in its arguments. INVARIANT: a form is filled only
//! with what it asks for by name, and only if all of that fits.

use provost_plan::schema::Schema;
use rmcp::model::{ElicitRequestParams, InputRequest, InputRequests, InputResponses};
use serde_json::{Map, Value, json};

/// The argument of a call that holds its answers.
pub(super) const ANSWERS: &str = "answers";

/// A question of a server that is not answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct UnansweredForm {
    /// What it says.
    pub(super) message: String,
    /// Why nothing answers it.
    pub(super) why: String,
}

/// The content of a form.
pub(super) fn fill(
    request: &ElicitRequestParams,
    answers: Option<&Map<String, Value>>,
) -> Result<Value, UnansweredForm> {
    let (message, schema) = match request {
        ElicitRequestParams::FormElicitationParams {
            message,
            requested_schema,
            ..
        } => (message, requested_schema),
        ElicitRequestParams::UrlElicitationParams { message, .. } => {
            return Err(UnansweredForm {
                message: message.clone(),
                why: "it wants a page to be opened".to_owned(),
            });
        }
        _ => {
            return Err(UnansweredForm {
                message: "a question of a kind that is not known".to_owned(),
                why: "nobody can answer it".to_owned(),
            });
        }
    };
    let schema = serde_json::to_value(schema).unwrap_or_default();
    content(&schema, answers).map_err(|why| UnansweredForm {
        message: message.clone(),
        why,
    })
}

fn content(schema: &Value, answers: Option<&Map<String, Value>>) -> Result<Value, String> {
    let empty = Map::new();
    let properties = schema.get("properties").and_then(Value::as_object);
    let properties = properties.unwrap_or(&empty);
    let wanted: Vec<&str> = properties.keys().map(String::as_str).collect();
    let wanted = format!("it asks for {}", wanted.join(", "));
    let Some(answers) = answers else {
        return Err(wanted);
    };
    let known = answers
        .iter()
        .filter(|(name, _)| properties.contains_key(*name));
    let known: Map<String, Value> = known
        .map(|(name, value)| (name.clone(), value.clone()))
        .collect();
    let content = Value::Object(known);
    let schema = Schema::compile(schema.clone()).map_err(|error| error.to_string())?;
    match schema.violations(&content).first() {
        None => Ok(content),
        Some(violation) => Err(format!("{wanted}; the answers: {}", violation.message)),
    }
}

/// The answers to everything that a call was sent back with.
pub(super) fn fill_all(
    requests: &InputRequests,
    answers: Option<&Map<String, Value>>,
) -> Result<InputResponses, UnansweredForm> {
    let mut responses = InputResponses::new();
    for (id, request) in requests {
        let InputRequest::Elicitation(request) = request else {
            return Err(UnansweredForm {
                message: "a model, or what it may reach".to_owned(),
                why: "it is lent none".to_owned(),
            });
        };
        let content = fill(&request.params, answers)?;
        responses.insert(
            id.clone(),
            json!({ "action": "accept", "content": content }),
        );
    }
    Ok(responses)
}
