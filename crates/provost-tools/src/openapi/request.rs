//! What a call sends: its parameters and its body, as arguments and places in the request.
//!
//! Owns which argument fills which place. INVARIANT: what is needed and cannot be sent as the
//! document says is a reason to leave the operation out; what is optional is left out by itself.

use std::collections::BTreeSet;

use serde_json::Value;

use super::schemas::ApiDocument;

/// Headers that a document may name and that are the client's own affair.
const RESERVED_HEADERS: [&str; 12] = [
    "accept",
    "authorization",
    "connection",
    "content-length",
    "content-type",
    "cookie",
    "host",
    "proxy-authorization",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
];

/// Words that an expression cannot use as a name.
const RESERVED: [&str; 22] = [
    "as",
    "break",
    "const",
    "continue",
    "else",
    "false",
    "for",
    "function",
    "has",
    "if",
    "import",
    "in",
    "let",
    "loop",
    "namespace",
    "null",
    "package",
    "return",
    "true",
    "var",
    "void",
    "while",
];

/// What fills a request.
#[derive(Debug, Default)]
pub(super) struct RequestEntry<'d> {
    pub(super) path: String,
    /// Name and expression.
    pub(super) query: Vec<(String, String)>,
    pub(super) headers: Vec<(String, String)>,
    pub(super) body: Body,
    /// The header that carries the idempotency key.
    pub(super) key: Option<String>,
    /// Arguments: name, schema, whether it is needed.
    pub(super) args: Vec<(String, &'d Value, bool)>,
    /// Optional parameters that cannot be sent.
    pub(super) without: Vec<String>,
}

/// How a body is made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Body {
    #[default]
    None,
    /// The argument `body`, as JSON; whether it is needed.
    Whole { required: bool },
    /// All arguments that no other place reads, as JSON.
    Json,
    /// All arguments that no other place reads, as a form.
    Form,
}

/// A parameter of an operation.
struct Parameter<'d> {
    place: &'d str,
    name: &'d str,
    schema: &'d Value,
    required: bool,
    explode: Option<bool>,
    style: Option<&'d str>,
}

impl<'d> RequestEntry<'d> {
    /// The request of an operation at `path`; `shared` are the parameters of the path, and
    /// `has_body` says whether its method sends one.
    pub(super) fn of(
        document: &ApiDocument<'d>,
        path: &str,
        shared: Option<&'d Value>,
        operation: &'d Value,
        has_body: bool,
    ) -> Result<Self, String> {
        let literal = |c: char| c.is_ascii_alphanumeric() || "-._~!$&'()*+,;=:@/%{}".contains(c);
        let climbs = path.split('/').any(|part| matches!(part, "." | ".."));
        if !path.starts_with('/') || climbs || !path.chars().all(literal) || path.contains("${") {
            return Err("its path is none that can be sent".to_owned());
        }
        let mut request = Self {
            path: path.to_owned(),
            ..Self::default()
        };
        for parameter in parameters(document, shared, operation.get("parameters"))? {
            request.parameter(document, &parameter)?;
        }
        if request.path.contains(['{', '}']) && request.path.replace("${", "").contains('{') {
            return Err("its path has a place that no parameter fills".to_owned());
        }
        if let Some(body) = operation.get("requestBody") {
            let body = document.resolve(body)?;
            let needed = body.get("required") == Some(&Value::Bool(true));
            match (has_body, needed) {
                (true, _) => request.take_body(document, body)?,
                (false, true) => return Err("it is a GET that sends a body".to_owned()),
                (false, false) => request.without.push("a body of a GET".to_owned()),
            }
        }
        Ok(request)
    }

    fn parameter(
        &mut self,
        document: &ApiDocument<'d>,
        parameter: &Parameter<'d>,
    ) -> Result<(), String> {
        let Parameter {
            place,
            name,
            schema,
            required,
            ..
        } = *parameter;
        let lower = name.to_ascii_lowercase();
        if place == "header" && RESERVED_HEADERS.contains(&lower.as_str()) {
            return Ok(());
        }
        if place == "header" && lower.contains("idempotency") {
            self.key = Some(name.to_owned());
            return Ok(());
        }
        let arg = self.fresh_name(name, place);
        let value = match expression_of(document, parameter, &arg) {
            Ok(value) => value,
            Err(reason) if required => return Err(reason),
            Err(reason) => {
                self.without.push(format!("`{name}`: {reason}"));
                return Ok(());
            }
        };
        match place {
            "path" => {
                let hole = format!("{{{name}}}");
                self.path = self.path.replace(&hole, &format!("${{ {value} }}"));
            }
            "query" | "header" => {
                let filled = if required {
                    format!("${{ {value} }}")
                } else {
                    format!("${{ has(args.{arg}) ? {value} : null }}")
                };
                let places = if place == "query" {
                    &mut self.query
                } else {
                    &mut self.headers
                };
                places.push((name.to_owned(), filled));
            }
            _ => {}
        }
        self.args.push((arg, schema, required));
        Ok(())
    }

    /// A name for an argument that no other has.
    fn fresh_name(&self, name: &str, place: &str) -> String {
        let mut plain: String = name
            .chars()
            .map(|c| if c.is_ascii_alphanumeric() { c } else { '_' })
            .collect();
        if plain.starts_with(|c: char| c.is_ascii_digit()) || plain.is_empty() {
            plain.insert(0, '_');
        }
        if RESERVED.contains(&plain.as_str()) {
            plain.push('_');
        }
        while self.args.iter().any(|(known, ..)| *known == plain) {
            plain = format!("{plain}_{place}");
        }
        plain
    }

    fn take_body(&mut self, document: &ApiDocument<'d>, body: &'d Value) -> Result<(), String> {
        let required = body
            .get("required")
            .and_then(Value::as_bool)
            .unwrap_or(false);
        let Some(content) = body.get("content").and_then(Value::as_object) else {
            return Ok(());
        };
        let json = content.iter().find(|(media, _)| is_json(media));
        let form = content.iter().find(|(media, _)| is_form(media));
        let (whole, rest) = match (json, form) {
            (Some((_, json)), _) => (json, Body::Json),
            (None, Some((_, form))) => (form, Body::Form),
            (None, None) => {
                let media: Vec<&str> = content.keys().map(String::as_str).collect();
                return Err(format!("it sends {}", media.join(" or ")));
            }
        };
        let any = &Value::Bool(true);
        let schema = whole.get("schema").unwrap_or(any);
        let taken: BTreeSet<String> = self.args.iter().map(|(name, ..)| name.clone()).collect();
        let mut fields = Vec::new();
        let apart = fields_of(document, schema, &mut fields, 0)
            && (rest == Body::Form || !fields.is_empty())
            && fields.iter().all(|(name, ..)| !taken.contains(*name));
        if apart {
            for (name, schema, needed) in fields {
                if rest == Body::Form && !is_flat(document, schema, 0) {
                    let reason = format!("its field `{name}` is a map in a form");
                    if needed && required {
                        return Err(reason);
                    }
                    self.without.push(reason);
                    continue;
                }
                self.args
                    .push((name.to_owned(), schema, needed && required));
                self.body = rest;
            }
            return Ok(());
        }
        if rest == Body::Form {
            return Err("its form has no list of fields".to_owned());
        }
        let arg = self.fresh_name("body", "sent");
        if arg != "body" {
            return Err("a parameter is called `body`, as is what it sends".to_owned());
        }
        self.args.push((arg, schema, required));
        self.body = Body::Whole { required };
        Ok(())
    }
}

/// The fields of a map that may hold no others and knows no rule between them.
fn fields_of<'d>(
    document: &ApiDocument<'d>,
    schema: &'d Value,
    fields: &mut Vec<(&'d str, &'d Value, bool)>,
    depth: usize,
) -> bool {
    let Ok(schema) = document.resolve(schema) else {
        return false;
    };
    let Some(keys) = schema.as_object().filter(|_| depth < 8) else {
        return false;
    };
    let open = |value: &Value| *value != Value::Bool(false);
    let ruled = [
        "oneOf",
        "anyOf",
        "not",
        "if",
        "patternProperties",
        "enum",
        "const",
    ];
    if keys.iter().any(|(key, value)| {
        ruled.contains(&key.as_str()) || key == "additionalProperties" && open(value)
    }) || keys.get("nullable") == Some(&Value::Bool(true))
    {
        return false;
    }
    let kind = keys.get("type").and_then(Value::as_str);
    if kind.is_some_and(|kind| kind != "object") {
        return false;
    }
    let required: Vec<&str> = keys
        .get("required")
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .collect();
    for (name, schema) in keys
        .get("properties")
        .and_then(Value::as_object)
        .into_iter()
        .flatten()
    {
        let inner = document.resolve(schema).unwrap_or(schema);
        if inner.get("readOnly") == Some(&Value::Bool(true)) {
            continue;
        }
        if !fields.iter().any(|(known, ..)| known == name) {
            fields.push((name, schema, required.contains(&name.as_str())));
        }
    }
    let parts = keys.get("allOf").and_then(Value::as_array);
    let all = parts
        .into_iter()
        .flatten()
        .all(|part| fields_of(document, part, fields, depth + 1));
    // Why: `required` may stand beside the parts that have the fields.
    for (name, _, needed) in fields.iter_mut() {
        *needed |= required.contains(name);
    }
    all
}

/// Whether values are scalars or lists of scalars: what a form can hold in one way only.
fn is_flat<'d>(document: &ApiDocument<'d>, schema: &'d Value, depth: usize) -> bool {
    const ANY: [&str; 3] = ["anyOf", "oneOf", "allOf"];
    let Ok(schema) = document.resolve(schema) else {
        return false;
    };
    let scalar = |kind: &Value| {
        let kind = kind.as_str().unwrap_or_default();
        ["string", "integer", "number", "boolean", "null"].contains(&kind)
    };
    match schema.get("type") {
        Some(Value::String(kind)) if kind == "array" => {
            let items = schema.get("items").and_then(|items| items.get("type"));
            items.is_some_and(scalar)
        }
        Some(Value::Array(kinds)) => kinds.iter().all(scalar),
        Some(kind) => scalar(kind),
        None => {
            let mut parts = ANY.iter().filter_map(|key| schema.get(*key)?.as_array());
            let flat = |part: &'d Value| depth < 4 && is_flat(document, part, depth + 1);
            ANY.iter().any(|key| schema.get(*key).is_some())
                && parts.all(|parts| parts.iter().all(flat))
        }
    }
}

/// The parameters of an operation and of its path; its own win.
fn parameters<'d>(
    document: &ApiDocument<'d>,
    shared: Option<&'d Value>,
    own: Option<&'d Value>,
) -> Result<Vec<Parameter<'d>>, String> {
    let mut found: Vec<Parameter<'d>> = Vec::new();
    let lists = [own, shared]
        .into_iter()
        .flatten()
        .filter_map(Value::as_array);
    for value in lists.flatten() {
        let value = document.resolve(value)?;
        let text = |key: &str| value.get(key).and_then(Value::as_str);
        let flag = |key: &str| value.get(key).and_then(Value::as_bool);
        let (Some(name), Some(place)) = (text("name"), text("in")) else {
            return Err("a parameter has no name or place".to_owned());
        };
        if found
            .iter()
            .any(|known| (known.name, known.place) == (name, place))
        {
            continue;
        }
        let Some(schema) = value.get("schema") else {
            if place == "path" || flag("required") == Some(true) {
                return Err(format!("its parameter `{name}` has no schema"));
            }
            continue;
        };
        found.push(Parameter {
            place,
            name,
            schema,
            required: place == "path" || flag("required").unwrap_or(false),
            explode: flag("explode"),
            style: text("style"),
        });
    }
    Ok(found)
}

/// The expression whose value is sent for a parameter.
fn expression_of(
    document: &ApiDocument<'_>,
    parameter: &Parameter<'_>,
    arg: &str,
) -> Result<String, String> {
    let Parameter { place, name, .. } = parameter;
    let schema = document.resolve(parameter.schema)?;
    let kind = schema.get("type").and_then(Value::as_str).unwrap_or("any");
    let plain_style = match *place {
        "path" | "header" => parameter.style.is_none_or(|style| style == "simple"),
        "query" => parameter.style.is_none_or(|style| style == "form"),
        _ => return Err(format!("its parameter `{name}` is sent in a {place}")),
    };
    if !plain_style {
        let style = parameter.style.unwrap_or_default();
        return Err(format!(
            "its parameter `{name}` is written in the style `{style}`"
        ));
    }
    let listed = kind == "array";
    if kind == "object" || kind == "any" && schema.get("properties").is_some() {
        return Err(format!("its parameter `{name}` is a map"));
    }
    let repeated = *place == "query" && parameter.explode.unwrap_or(true);
    if !listed || repeated {
        return Ok(format!("args.{arg}"));
    }
    let items = document.resolve(schema.get("items").unwrap_or(&Value::Null));
    let texts = items.is_ok_and(|items| items.get("type") == Some(&Value::from("string")));
    if texts {
        Ok(format!("join(args.{arg}, \",\")"))
    } else {
        Err(format!(
            "its parameter `{name}` is a list that is no list of texts"
        ))
    }
}

/// Whether a media type is JSON.
pub(super) fn is_json(media: &str) -> bool {
    let essence = media.split(';').next().unwrap_or_default().trim();
    essence == "application/json" || essence.ends_with("+json")
}

fn is_form(media: &str) -> bool {
    media.split(';').next().unwrap_or_default().trim() == "application/x-www-form-urlencoded"
}
