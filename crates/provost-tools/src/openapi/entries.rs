//! The text of the entries, with a reason beside each guess.
//!
//! Owns how a proposal reads. INVARIANT: what the document says stands in comments and in texts
//! that are quoted; it never becomes a key or another line.

use std::fmt::Write as _;

use serde_json::Value;

use super::ImportRequest;
use super::operation::ImportedOperation;
use super::request::Body;
use super::schemas::ApiDocument;

/// How long a server is taken to remember a key, where it does not say.
const TTL: &str = "24h";

/// Writes the entries; the second part is the schemas by path.
pub(super) fn write(
    document: &ApiDocument<'_>,
    wanted: &ImportRequest<'_>,
    base: &str,
    found: &[ImportedOperation<'_>],
) -> (String, Vec<(String, Value)>) {
    let tool = wanted.tool;
    let mut text = String::new();
    let title = document
        .root()
        .pointer("/info/title")
        .and_then(Value::as_str);
    let version = document
        .root()
        .pointer("/info/version")
        .and_then(Value::as_str);
    let _ = writeln!(
        text,
        "# Proposed from {}: {} {}.\n# Nothing of it is known to be true: read each line, above \
         all each effect, before you commit it.\n[tools.{tool}]\nkind = \"http\"\nbase_url = {}",
        comment(wanted.source),
        comment(title.unwrap_or("an API without a title")),
        comment(version.unwrap_or_default()),
        quoted(base),
    );
    match wanted.bearer {
        Some(secret) => {
            let _ = writeln!(text, "auth = {{ bearer = {} }}", quoted(secret));
        }
        None => write_auth(&mut text, document, tool, found),
    }
    let mut schemas = Vec::new();
    for operation in found {
        write_operation(&mut text, tool, operation, &mut schemas);
    }
    (text, schemas)
}

/// The one way in which the tool says who it is: that of most operations.
fn write_auth(
    text: &mut String,
    document: &ApiDocument<'_>,
    tool: &str,
    found: &[ImportedOperation<'_>],
) {
    let mut counts: Vec<(&str, usize)> = Vec::new();
    for scheme in found.iter().flat_map(|operation| &operation.schemes) {
        match counts.iter_mut().find(|(known, _)| known == scheme) {
            Some((_, count)) => *count += 1,
            None => counts.push((scheme, 1)),
        }
    }
    counts.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    let upper = tool.to_ascii_uppercase();
    let mut written = false;
    for (name, count) in counts {
        let place = format!(
            "/components/securitySchemes/{}",
            name.replace('~', "~0").replace('/', "~1")
        );
        let scheme = document.root().pointer(&place);
        let scheme = scheme.and_then(|scheme| document.resolve(scheme).ok());
        let field = |key: &str| scheme?.get(key)?.as_str();
        let word = |key: &str| field(key).unwrap_or_default().to_ascii_lowercase();
        let setting = match (
            word("type").as_str(),
            word("scheme").as_str(),
            word("in").as_str(),
        ) {
            ("http", "bearer", _) | ("oauth2" | "openidconnect", ..) => {
                Some(format!("{{ bearer = \"env:{upper}_TOKEN\" }}"))
            }
            ("http", "basic", _) => Some(format!(
                "{{ user = \"fill in\", password = \"env:{upper}_PASSWORD\" }}"
            )),
            ("apikey", _, "header") => field("name").map(|header| {
                format!(
                    "{{ header = {}, secret = \"env:{upper}_KEY\" }}",
                    quoted(header)
                )
            }),
            _ => None,
        };
        let name = comment(name);
        match setting {
            Some(setting) if !written => {
                let _ = writeln!(
                    text,
                    "auth = {setting} # `{name}` of the document; set the secret"
                );
                written = true;
            }
            Some(_) => {
                let _ = writeln!(text, "# {count} operations want `{name}` instead, or too");
            }
            None => {
                let _ = writeln!(
                    text,
                    "# {count} operations want `{name}`, which cannot be given"
                );
            }
        }
    }
}

fn write_operation(
    text: &mut String,
    tool: &str,
    operation: &ImportedOperation<'_>,
    schemas: &mut Vec<(String, Value)>,
) {
    let method = operation.method.to_ascii_uppercase();
    let name = &operation.name;
    let path = comment(operation.path);
    let _ = writeln!(text, "\n# {method} {path}\n[tools.{tool}.ops.{name}]");
    if !operation.description.is_empty() {
        let _ = writeln!(text, "description = {}", quoted(&operation.description));
    }
    let request = &operation.request;
    for without in &request.without {
        let _ = writeln!(
            text,
            "# left out, since it cannot be sent: {}",
            comment(without)
        );
    }
    let _ = writeln!(
        text,
        "request.method = {}\nrequest.path = {}",
        quoted(&method),
        quoted(&request.path)
    );
    for (place, entries) in [("query", &request.query), ("headers", &request.headers)] {
        for (key, value) in entries {
            let _ = writeln!(text, "request.{place}.{} = {}", quoted(key), quoted(value));
        }
    }
    match request.body {
        Body::None => {}
        Body::Whole { required: true } => text.push_str("request.body = \"${ args.body }\"\n"),
        Body::Whole { required: false } => {
            text.push_str("request.body = \"${ has(args.body) ? args.body : null }\"\n");
        }
        Body::Json => text.push_str("request.rest = \"json\" # every other argument, as a map\n"),
        Body::Form => text.push_str("request.rest = \"form\" # every other argument, as a form\n"),
    }
    let mut file = |part: &str, schema: &Value| {
        let path = format!("schemas/{tool}/{name}.{part}.json");
        let _ = writeln!(text, "{part} = {}", quoted(&path));
        schemas.push((path, schema.clone()));
    };
    file("input", &operation.input);
    if let Some(output) = &operation.output {
        file("output", output);
    }
    if operation.text {
        text.push_str("response = \"text\" # it answers with no JSON\n");
    }
    let (effect, why) = effect_of(operation.method);
    let _ = writeln!(text, "effect = \"{effect}\" # {why}");
    if let Some(header) = &request.key {
        let _ = writeln!(
            text,
            "idempotency = {{ key = {{ header = {}, ttl = \"{TTL}\" }} }} # how long it is \
             remembered is a guess",
            quoted(header)
        );
    }
}

/// The effect, and why it is proposed.
fn effect_of(method: &str) -> (&'static str, &'static str) {
    match method {
        "get" => ("read", "a GET changes nothing, if the server keeps to HTTP"),
        "delete" => ("destructive", "a DELETE"),
        "put" => (
            "destructive",
            "a PUT replaces what was there; `write` if that can be had again",
        ),
        _ => (
            "destructive",
            "unknown: no document says what it does; `write`, or `external` if it reaches people",
        ),
    }
}

/// A text of the document on one line, for people.
fn comment(text: &str) -> String {
    text.chars()
        .map(|c| if c.is_control() { ' ' } else { c })
        .collect()
}

/// A text as TOML quotes it.
fn quoted(text: &str) -> String {
    // Why: a string of JSON is a basic string of TOML.
    let quoted = Value::from(text).to_string();
    quoted.replace('\u{7f}', "\\u007f")
}
