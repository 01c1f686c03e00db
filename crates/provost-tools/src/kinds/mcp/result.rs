//! What a server answered, as class, landing and output.
//!
//! Owns the reading of results and of errors. Believes a server's words only as far as they make
//! a call look worse. INVARIANT: an error leaves a write in doubt unless the operator said that
//! this tool's errors have no effect.

use provost_plan::catalog::Operation;
use provost_plan::json;
use provost_run::outcome::{Class, Landing, Reply};
use provost_wire::Redactor;
use rmcp::model::{CallToolResult, ContentBlock, ErrorCode, ErrorData};
use serde_json::{Value, json};

use super::settings::{ResultKind, ServerTool};
use super::strict;
use crate::fault::{Fault, one_line};
use crate::limits::MCP_WORDS_CHARS_MAX;

const MEDIA: &str = "application/json";

/// Words in an error by which its class is told, first match first.
const WORDS: [(&[&str], Class); 6] = [
    (
        &[
            "rate limit",
            "too many requests",
            "status 429",
            "status code 429",
        ],
        Class::RateLimited,
    ),
    (
        &[
            "access denied",
            "permission denied",
            "eacces",
            "eperm",
            "unauthorized",
            "forbidden",
        ],
        Class::PermissionDenied,
    ),
    (
        &[
            "invalid argument",
            "invalid param",
            "validation error",
            "mcp error -32602",
        ],
        Class::InvalidArguments,
    ),
    (
        &[
            "enoent",
            "not found",
            "no such file",
            "does not exist",
            "unknown tool",
        ],
        Class::NotFound,
    ),
    (
        &["timed out", "timeout", "deadline exceeded"],
        Class::Timeout,
    ),
    (
        &["econnrefused", "unavailable", "status 503"],
        Class::Unavailable,
    ),
];

/// What a result means.
pub(super) fn answered(
    result: &CallToolResult,
    server_tool: &ServerTool,
    operation: &Operation,
    redactor: &Redactor,
) -> Reply {
    let value = serde_json::to_value(result).unwrap_or(Value::Null);
    let evidence = redactor.redact_value(value).to_string().into_bytes();
    if result.is_error == Some(true) {
        let said = texts(result).join(" ");
        let mut reply = failed(operation, class_of(&said), &redactor.redact_text(&said));
        reply.evidence = evidence;
        reply.media = MEDIA.to_owned();
        return reply;
    }
    // Why twice: a structured result stands there once more as text.
    let (bytes, most) = (evidence.len() as u64, operation.max_bytes.saturating_mul(2));
    if bytes > most {
        return Fault::too_large(bytes, most).into();
    }
    match output(result, server_tool) {
        Ok(output) => Reply::ok(output, evidence, MEDIA),
        Err(message) => {
            let mut reply = Reply::from(Fault::bad_output(redactor.redact_text(&message)));
            reply.evidence = evidence;
            reply.media = MEDIA.to_owned();
            reply
        }
    }
}

/// What an error of the protocol means.
pub(super) fn refused(error: &ErrorData, operation: &Operation, redactor: &Redactor) -> Reply {
    if let Some(mut fault) = strict::fault(error) {
        fault.message = redactor.redact_text(&fault.message);
        return fault.into();
    }
    let said = redactor.redact_text(&error.message);
    let class = match error.code {
        ErrorCode::INVALID_PARAMS | ErrorCode::INVALID_REQUEST | ErrorCode::PARSE_ERROR => {
            Class::InvalidArguments
        }
        ErrorCode::METHOD_NOT_FOUND | ErrorCode::RESOURCE_NOT_FOUND => Class::NotFound,
        ErrorCode::INTERNAL_ERROR => Class::Unavailable,
        _ => class_of(&error.message),
    };
    let mut reply = failed(operation, class, &said);
    // Why only these: they are said before any tool sees the call, the others by tools too.
    let unseen = [
        ErrorCode::METHOD_NOT_FOUND,
        ErrorCode::INVALID_REQUEST,
        ErrorCode::PARSE_ERROR,
    ];
    if unseen.contains(&error.code) {
        reply.landing = Landing::None;
    }
    reply
}

/// A failure that the server told of.
fn failed(operation: &Operation, class: Class, said: &str) -> Reply {
    let harmless = operation.effect.is_read() || operation.errors_no_effect;
    let landing = if harmless {
        Landing::None
    } else {
        Landing::Unknown
    };
    let said: String = said.chars().take(MCP_WORDS_CHARS_MAX).collect();
    let message = match said.trim() {
        "" => "the server says that it failed, and not why".to_owned(),
        said => format!("the server says: {said}"),
    };
    Reply::failed(class, landing, one_line(&message))
}

fn class_of(said: &str) -> Class {
    let said = said.to_lowercase();
    let names = |words: &[&str]| words.iter().any(|word| said.contains(word));
    let known = WORDS.iter().find(|(words, _)| names(words));
    known.map_or(Class::Conflict, |(_, class)| *class)
}

fn texts(result: &CallToolResult) -> Vec<&str> {
    fn text(block: &ContentBlock) -> Option<&str> {
        match block {
            ContentBlock::Text(text) => Some(&text.text),
            _ => None,
        }
    }
    result.content.iter().filter_map(text).collect()
}

fn output(result: &CallToolResult, server_tool: &ServerTool) -> Result<Value, String> {
    match server_tool.result {
        ResultKind::Text => Ok(json!({ "text": texts(result).join("\n") })),
        ResultKind::Structured => {
            let content = result.structured_content.clone().ok_or_else(|| {
                "the server declares the output of the tool and gives none".to_owned()
            })?;
            let own = server_tool.server_output.as_ref();
            let violations = own.map(|own| own.violations(&content)).unwrap_or_default();
            match violations.first() {
                None => Ok(content),
                Some(first) => Err(format!(
                    "the output does not fit the server's own schema at `{}`: {}",
                    first.pointer, first.message
                )),
            }
        }
        ResultKind::Json => match &result.structured_content {
            Some(content) => Ok(content.clone()),
            None => json::read(&texts(result).join("\n"))
                .map_err(|error| format!("the text of the result is not JSON: {error}")),
        },
    }
}
