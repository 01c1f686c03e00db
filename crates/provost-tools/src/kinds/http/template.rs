//! Templates of requests, and filling them.
//!
//! Owns the places that arguments fill. Never joins an argument into a URL unencoded. INVARIANT:
//! a filled path has as many segments as its template, and none of them is empty, `.` or `..`.

use provost_plan::digest::canonical;
use provost_plan::expr::{ArgTree, EvalError, Part, Reference, Root, Scope, Segment, Template};
use provost_run::outcome::Class;
use serde_json::{Map, Value};

use crate::fault::Fault;

/// The template of one request.
#[derive(Clone, Debug)]
pub(crate) struct RequestTemplate {
    pub(super) path: Template,
    pub(super) query: Vec<(String, ArgTree)>,
    pub(super) headers: Vec<(String, ArgTree)>,
    pub(super) body: BodyTemplate,
}

/// What stands in the body of a request.
#[derive(Clone, Debug)]
pub(crate) enum BodyTemplate {
    None,
    /// A value as JSON; none where it is null.
    Json(ArgTree),
    /// The arguments that no other place reads.
    Rest(Encoding),
}

/// How arguments are written into a body.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Encoding {
    Json,
    Form,
}

/// A request that is ready to go.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct RenderedRequest {
    pub(super) path: String,
    pub(super) query: Vec<(String, String)>,
    pub(super) headers: Vec<(String, String)>,
    /// The bytes of its body and their type.
    pub(super) body: Option<(Vec<u8>, &'static str)>,
}

impl RequestTemplate {
    /// Everything that expressions in it read.
    pub(super) fn references(&self) -> Vec<&Reference> {
        let trees = self.query.iter().chain(&self.headers).map(|(_, tree)| tree);
        let body = match &self.body {
            BodyTemplate::Json(tree) => Some(tree),
            BodyTemplate::None | BodyTemplate::Rest(_) => None,
        };
        let templates = trees.chain(body).flat_map(ArgTree::templates);
        templates
            .chain([&self.path])
            .flat_map(Template::references)
            .collect()
    }

    /// Fills in the arguments and the key.
    pub(super) fn fill(&self, args: &Value, key: &Value) -> Result<RenderedRequest, Fault> {
        let scope = Scope::new().with("args", args).with("key", key);
        let mut query = Vec::new();
        for (name, tree) in &self.query {
            for value in values(name, tree, &scope)? {
                query.push((name.clone(), value));
            }
        }
        let mut headers = Vec::new();
        for (name, tree) in &self.headers {
            for value in values(name, tree, &scope)? {
                if value.chars().any(char::is_control) {
                    let reason = format!("`{name}` holds a line end or another control character");
                    return Err(refused(&reason));
                }
                headers.push((name.clone(), value));
            }
        }
        let body = self.body(args, &scope)?;
        Ok(RenderedRequest {
            path: self.path(&scope)?,
            query,
            headers,
            body,
        })
    }

    fn body(
        &self,
        args: &Value,
        scope: &Scope<'_>,
    ) -> Result<Option<(Vec<u8>, &'static str)>, Fault> {
        const JSON: &str = "application/json";
        let value = match &self.body {
            BodyTemplate::None => return Ok(None),
            BodyTemplate::Json(tree) => tree.eval(scope).map_err(|error| unbuilt(&error))?,
            BodyTemplate::Rest(Encoding::Json) => Value::Object(self.rest(args)),
            BodyTemplate::Rest(Encoding::Form) => return form(&self.rest(args)).map(Some),
        };
        Ok((!value.is_null()).then(|| (value.to_string().into_bytes(), JSON)))
    }

    /// The arguments that neither path, query nor headers read.
    fn rest(&self, args: &Value) -> Map<String, Value> {
        let mut rest = args.as_object().cloned().unwrap_or_default();
        for reference in self.references() {
            if let (Root::Args, Some(Segment::Field(name))) =
                (&reference.root, reference.path.first())
            {
                rest.remove(name);
            }
        }
        rest
    }

    fn path(&self, scope: &Scope<'_>) -> Result<String, Fault> {
        let mut path = String::new();
        let mut climbs = None;
        for part in self.path.parts() {
            match part {
                Part::Text(text) => path.push_str(text),
                Part::Expr(expression) => {
                    let value = expression.eval(scope).map_err(|error| unbuilt(&error))?;
                    let text = scalar(&value).filter(|text| !text.is_empty());
                    let text = text.ok_or_else(|| {
                        refused(&format!("`{}` is empty or no text", expression.source()))
                    })?;
                    climbs = climbs.or(matches!(text.as_str(), "." | "..").then_some(expression));
                    path.push_str(&segment(&text));
                }
            }
        }
        if path.split('/').any(|segment| matches!(segment, "." | "..")) {
            let reason = format!("the path `{path}` would climb");
            let Some(expression) = climbs else {
                return Err(refused(&reason));
            };
            let class = Class::InvalidArguments;
            return Err(Fault::refused_value(expression, class, unbuilt_as(&reason)));
        }
        Ok(path)
    }
}

/// What one name of a query or a header gets: nothing for null, one value for a scalar, one for
/// each item of a list.
fn values(name: &str, tree: &ArgTree, scope: &Scope<'_>) -> Result<Vec<String>, Fault> {
    let value = tree.eval(scope).map_err(|error| unbuilt(&error))?;
    let items = match value {
        Value::Null => Vec::new(),
        Value::Array(items) => items,
        other => vec![other],
    };
    items
        .iter()
        .map(|item| scalar(item).ok_or_else(|| refused(&format!("`{name}` is no text"))))
        .collect()
}

/// A map as a form: one pair for a scalar, one for each item of a list, none for null.
fn form(fields: &Map<String, Value>) -> Result<(Vec<u8>, &'static str), Fault> {
    let mut pairs = Vec::new();
    for (name, value) in fields {
        let items = match value {
            Value::Null => &[],
            Value::Array(items) => items.as_slice(),
            other => std::slice::from_ref(other),
        };
        for item in items {
            let text = scalar(item).ok_or_else(|| refused(&format!("`{name}` is no text")))?;
            pairs.push(format!("{}={}", segment(name), segment(&text)));
        }
    }
    Ok((
        pairs.join("&").into_bytes(),
        "application/x-www-form-urlencoded",
    ))
}

fn scalar(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Bool(_) | Value::Number(_) => Some(canonical(value)),
        Value::Null | Value::Array(_) | Value::Object(_) => None,
    }
}

/// Encodes everything that is not plain, `/` included.
fn segment(text: &str) -> String {
    let mut encoded = String::with_capacity(text.len());
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            encoded.push(char::from(byte));
        } else {
            encoded.push('%');
            for nibble in [byte >> 4, byte & 15] {
                let digit = char::from_digit(u32::from(nibble), 16).unwrap_or('0');
                encoded.push(digit.to_ascii_uppercase());
            }
        }
    }
    encoded
}

fn unbuilt(error: &EvalError) -> Fault {
    refused(&error.to_string())
}

fn refused(reason: &str) -> Fault {
    Fault::no_effect(Class::InvalidArguments, unbuilt_as(reason))
}

fn unbuilt_as(reason: &str) -> String {
    format!("the request cannot be built: {reason}")
}
