//! A text as a tree with spans: YAML, JSON and TOML read into one shape.
//!
//! Owns reading under limits, scalar kinds (YAML 1.2 core: `no` is a string) and the strict field
//! reader. Never resolves an anchor or a tag: they are refused. INVARIANT: every key of every map
//! is either taken by a reader or reported.

use serde_json::{Map, Number, Value};

use crate::codes::Code;
use crate::diagnostic::Diagnostic;
use crate::digest::normalize_number;
use crate::source::{Span, Spanned};

mod fields;
mod json_text;
mod toml_text;
mod yaml_text;

pub use fields::Fields;

/// A value with its place.
#[derive(Clone, Debug, PartialEq)]
pub struct Node {
    /// The value.
    pub kind: Kind,
    /// Where it stands.
    pub span: Span,
}

/// The kinds of value a text can hold.
#[derive(Clone, Debug, PartialEq)]
pub enum Kind {
    /// `null`, `~` or nothing.
    Null,
    /// `true` or `false`.
    Bool(bool),
    /// A number, in normal form: `1.0` is `1`.
    Number(Number),
    /// A text.
    Text(String),
    /// A list.
    List(Vec<Node>),
    /// A map; keys are unique and in the order written.
    Map(Vec<(Spanned<String>, Node)>),
}

/// Reads YAML or JSON.
///
/// # Errors
/// One diagnostic that says what cannot be read or which limit is passed.
pub fn parse_yaml(text: &str) -> Result<Node, Box<Diagnostic>> {
    check_size(text)?;
    match json_text::parse(text) {
        Some(node) => Ok(node),
        None => yaml_text::parse(text).map_err(Box::new),
    }
}

/// Reads TOML.
///
/// # Errors
/// One diagnostic that says what cannot be read or which limit is passed.
pub fn parse_toml(text: &str) -> Result<Node, Box<Diagnostic>> {
    check_size(text)?;
    toml_text::parse(text).map_err(Box::new)
}

fn check_size(text: &str) -> Result<(), Box<Diagnostic>> {
    let max = crate::limits::SOURCE_BYTES_MAX;
    if text.len() > max {
        let message = format!(
            "the text has {} bytes, more than the {max} allowed",
            text.len()
        );
        return Err(Box::new(
            Diagnostic::new(Code::TooLarge, Span::default(), message)
                .hint("keep data out of the text: let a step read it"),
        ));
    }
    Ok(())
}

impl Node {
    /// The JSON value, without spans.
    #[must_use]
    pub fn to_value(&self) -> Value {
        match &self.kind {
            Kind::Null => Value::Null,
            Kind::Bool(value) => Value::Bool(*value),
            Kind::Number(number) => Value::Number(number.clone()),
            Kind::Text(text) => Value::String(text.clone()),
            Kind::List(items) => items.iter().map(Self::to_value).collect(),
            Kind::Map(entries) => Value::Object(
                entries
                    .iter()
                    .map(|(key, value)| (key.value.clone(), value.to_value()))
                    .collect::<Map<_, _>>(),
            ),
        }
    }

    /// A tree for a value that has no text: every span is `span`.
    #[must_use]
    pub fn from_value(value: &Value, span: Span) -> Self {
        let kind = match value {
            Value::Null => Kind::Null,
            Value::Bool(value) => Kind::Bool(*value),
            Value::Number(number) => {
                Kind::Number(normalize_number(number).unwrap_or_else(|_| number.clone()))
            }
            Value::String(text) => Kind::Text(text.clone()),
            Value::Array(items) => Kind::List(
                items
                    .iter()
                    .map(|item| Self::from_value(item, span))
                    .collect(),
            ),
            Value::Object(map) => Kind::Map(
                map.iter()
                    .map(|(key, value)| {
                        (
                            Spanned::new(key.clone(), span),
                            Self::from_value(value, span),
                        )
                    })
                    .collect(),
            ),
        };
        Self { kind, span }
    }

    /// A tree for `value`, which is another form of what stands here: a part that is written has
    /// its own place, what came to it has that of the part around it.
    #[must_use]
    pub fn with_places_for(&self, value: &Value) -> Self {
        if self.to_value() == *value {
            return self.clone();
        }
        let kind = match (value, &self.kind) {
            (Value::Object(map), Kind::Map(written)) => {
                let entry = |(key, value): (&String, &Value)| {
                    let own = written.iter().find(|(name, _)| name.value == *key);
                    own.map_or_else(
                        || {
                            let name = Spanned::new(key.clone(), self.span);
                            (name, Self::from_value(value, self.span))
                        },
                        |(name, node)| (name.clone(), node.with_places_for(value)),
                    )
                };
                Kind::Map(map.iter().map(entry).collect())
            }
            (Value::Array(items), Kind::List(written)) if items.len() == written.len() => {
                let pairs = written.iter().zip(items);
                Kind::List(
                    pairs
                        .map(|(node, item)| node.with_places_for(item))
                        .collect(),
                )
            }
            _ => return Self::from_value(value, self.span),
        };
        Self {
            kind,
            span: self.span,
        }
    }

    /// What kind of value it is, in words.
    #[must_use]
    pub fn kind_word(&self) -> &'static str {
        match &self.kind {
            Kind::Null => "nothing",
            Kind::Bool(_) => "a boolean",
            Kind::Number(_) => "a number",
            Kind::Text(_) => "a text",
            Kind::List(_) => "a list",
            Kind::Map(_) => "a map",
        }
    }

    /// The entry of a map.
    #[must_use]
    pub fn get(&self, key: &str) -> Option<&Self> {
        match &self.kind {
            Kind::Map(entries) => entries
                .iter()
                .find(|(name, _)| name.value == key)
                .map(|(_, value)| value),
            _ => None,
        }
    }

    /// The JSON pointer (`/a/0/b`) of the deepest value that `span` lies in, or of that whose name
    /// it lies in; empty for the whole.
    #[must_use]
    pub fn pointer_at(&self, span: Span) -> String {
        let holds = |place: Span| place.start <= span.start && span.end <= place.end;
        let mut pointer = String::new();
        let mut node = self;
        loop {
            let next = match &node.kind {
                Kind::List(items) => {
                    let mut numbered = items.iter().enumerate();
                    let found = numbered.find(|(_, item)| holds(item.span));
                    found.map(|(at, item)| (at.to_string(), item))
                }
                Kind::Map(entries) => {
                    let mut entries = entries.iter();
                    let found = entries.find(|(key, value)| holds(key.span) || holds(value.span));
                    found.map(|(key, value)| {
                        (key.value.replace('~', "~0").replace('/', "~1"), value)
                    })
                }
                _ => None,
            };
            let Some((part, value)) = next else {
                return pointer;
            };
            pointer.push('/');
            pointer.push_str(&part);
            node = value;
        }
    }

    /// The node at a JSON pointer (`/a/0/b`), or the deepest one on the way to it.
    #[must_use]
    pub fn nearest_at(&self, pointer: &str) -> &Self {
        let mut node = self;
        for part in pointer.split('/').skip(1) {
            let part = part.replace("~1", "/").replace("~0", "~");
            let next = match &node.kind {
                Kind::List(items) => part.parse::<usize>().ok().and_then(|i| items.get(i)),
                _ => node.get(&part),
            };
            match next {
                Some(next) => node = next,
                None => break,
            }
        }
        node
    }
}
