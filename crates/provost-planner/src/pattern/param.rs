//! The types of parameters: what a hole may hold, and the schema of it.
//!
//! Owns how a text becomes a value, and values at the edges of a type. Knows no sentence.
//! INVARIANT: a value of a type fits its schema, so that what is proven of the schema holds for
//! every goal.

use provost_plan::pattern::edge_texts;
use provost_plan::schema::Schema;
use regex::Regex;
use serde_json::{Map, Number, Value, json};

use super::build;

/// Most items of a list whose type says no less.
const LIST_MAX: u64 = 50;
/// The largest whole number that a value may be, either way.
const WHOLE_MAX: i64 = 9_007_199_254_740_991;
/// The bound of numbers with a fraction, as many digits as a hole takes.
const NUMBER_MAX: f64 = 1e16;
/// Texts that are tried for a text of any form.
const TEXTS: [&str; 6] = [
    "a",
    "-1",
    "sample text",
    "2026-02-30",
    "\u{e9}, \"x\"",
    "..",
];

/// The type of a parameter.
#[derive(Clone, Debug, Default)]
pub struct ParamType {
    /// Its kind.
    pub kind: ParamKind,
    /// The words it may be, if it is one of a few.
    pub words: Vec<String>,
    /// What its whole text must match.
    pub pattern: Option<Regex>,
    /// The least number it may be, or the fewest items.
    pub minimum: Option<Number>,
    /// The largest number it may be, or the most items.
    pub maximum: Option<Number>,
    /// What it is, for whoever is asked for it.
    pub description: Option<String>,
    /// The type of the items of a list.
    pub items: Option<Box<Self>>,
}

/// The kinds of parameter.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ParamKind {
    /// A text.
    #[default]
    Text,
    /// A whole number.
    Integer,
    /// A number.
    Number,
    /// `true` or `false`.
    Boolean,
    /// A day, as `2026-01-31`.
    Date,
    /// Several values of one type: `a, b and c`.
    List,
}

impl ParamKind {
    /// The words of the format.
    pub const WORDS: [(&'static str, Self); 6] = [
        ("string", Self::Text),
        ("integer", Self::Integer),
        ("number", Self::Number),
        ("boolean", Self::Boolean),
        ("date", Self::Date),
        ("list", Self::List),
    ];

    /// Whether `minimum` and `maximum` say something of it.
    #[must_use]
    pub fn has_bounds(self) -> bool {
        matches!(self, Self::Integer | Self::Number | Self::List)
    }
}

impl ParamType {
    /// What a hole of this type may hold, as a regular expression.
    pub(super) fn regex(&self) -> String {
        if !self.words.is_empty() {
            let words: Vec<_> = self.words.iter().map(|word| regex::escape(word)).collect();
            return words.join("|");
        }
        match self.kind {
            ParamKind::Text | ParamKind::List => r"\S|\S.*?\S".to_owned(),
            ParamKind::Integer => r"[+-]?[0-9]{1,16}".to_owned(),
            ParamKind::Number => r"[+-]?[0-9]{1,16}(?:\.[0-9]{1,16})?".to_owned(),
            ParamKind::Boolean => "true|false".to_owned(),
            ParamKind::Date => r"[0-9]{4}-[0-9]{2}-[0-9]{2}".to_owned(),
        }
    }

    /// The value of a text, if it is of this type.
    #[must_use]
    pub fn value(&self, text: &str) -> Option<Value> {
        if let Some(pattern) = &self.pattern
            && !pattern.is_match(text)
        {
            return None;
        }
        if !self.words.is_empty() {
            let same = |word: &&String| word.to_lowercase() == text.to_lowercase();
            return self.words.iter().find(same).cloned().map(Value::from);
        }
        let number = match self.kind {
            ParamKind::Text => return Some(Value::from(text)),
            ParamKind::Boolean => {
                return text
                    .to_ascii_lowercase()
                    .parse::<bool>()
                    .ok()
                    .map(Value::from);
            }
            ParamKind::Date => return self.bounded(Value::from(text)),
            ParamKind::List => return self.list(&items_of(text)),
            ParamKind::Integer => Number::from(text.trim_start_matches('+').parse::<i64>().ok()?),
            ParamKind::Number => Number::from_f64(text.parse::<f64>().ok()?)?,
        };
        let number = provost_plan::digest::normalize_number(&number).ok()?;
        self.bounded(Value::Number(number))
    }

    fn list(&self, texts: &[String]) -> Option<Value> {
        let items = self.items.as_ref()?;
        let values: Option<Vec<Value>> = texts.iter().map(|text| items.value(text)).collect();
        self.bounded(Value::Array(values?))
    }

    /// The value, if it is within what its type says of its size and form.
    fn bounded(&self, value: Value) -> Option<Value> {
        Schema::compile(self.schema())
            .is_ok_and(|schema| schema.admits(&value))
            .then_some(value)
    }

    /// The value of an answer, if it is of this type.
    #[must_use]
    pub fn answered(&self, answer: &Value) -> Option<Value> {
        match (answer, &self.items) {
            (Value::String(text), _) if text.trim().is_empty() => None,
            (Value::String(text), _) => self.value(text),
            (Value::Number(_) | Value::Bool(_), None) => self.value(&answer.to_string()),
            (Value::Array(given), Some(items)) => {
                let values: Option<Vec<Value>> =
                    given.iter().map(|item| items.answered(item)).collect();
                self.bounded(Value::Array(values?))
            }
            _ => None,
        }
    }

    /// The schema of an answer of this type.
    #[must_use]
    pub fn schema(&self) -> Value {
        if !self.words.is_empty() {
            return self.described(json!({ "enum": self.words }));
        }
        let (least, most) = match self.kind {
            ParamKind::List => ("minItems", "maxItems"),
            _ => ("minimum", "maximum"),
        };
        let mut schema = match (self.kind, &self.pattern, &self.items) {
            (ParamKind::Text, Some(pattern), _) => {
                json!({ "type": "string", "pattern": pattern.as_str() })
            }
            (ParamKind::Text, None, _) => json!({ "type": "string" }),
            (ParamKind::Integer, ..) => json!({ "type": "integer" }),
            (ParamKind::Number, ..) => json!({ "type": "number" }),
            (ParamKind::Boolean, ..) => json!({ "type": "boolean" }),
            (ParamKind::Date, ..) => json!({ "type": "string", "format": "date" }),
            (ParamKind::List, _, items) => {
                let items = items.as_ref().map_or_else(|| json!({}), |one| one.schema());
                json!({ "type": "array", "items": items, "minItems": 1, "maxItems": LIST_MAX })
            }
        };
        if let Value::Object(map) = &mut schema {
            let bounds = [(least, &self.minimum), (most, &self.maximum)];
            let given = bounds.map(|(key, bound)| Some((key.to_owned(), bound.clone()?)));
            let given = given.into_iter().flatten();
            map.extend(given.map(|(key, bound)| (key, Value::Number(bound))));
        }
        self.described(schema)
    }

    fn described(&self, mut schema: Value) -> Value {
        if let (Some(text), Value::Object(map)) = (&self.description, &mut schema) {
            map.insert("description".to_owned(), Value::from(text.as_str()));
        }
        schema
    }

    /// The schema of its values: no wider than what a goal or an answer can give.
    #[must_use]
    pub fn value_schema(&self) -> Value {
        let mut schema = self.schema();
        let is_free = self.words.is_empty();
        if let Value::Object(map) = &mut schema {
            map.remove("description");
            let mut narrow = |key: &str, value: Value| {
                map.entry(key).or_insert(value);
            };
            match self.kind {
                ParamKind::Text if is_free => narrow("minLength", json!(1)),
                ParamKind::Integer => {
                    narrow("minimum", json!(-WHOLE_MAX));
                    narrow("maximum", json!(WHOLE_MAX));
                }
                ParamKind::Number => {
                    narrow("minimum", json!(-NUMBER_MAX));
                    narrow("maximum", json!(NUMBER_MAX));
                }
                ParamKind::List => {
                    let items = self.items.as_ref().map(|items| items.value_schema());
                    map.extend(items.map(|items| ("items".to_owned(), items)));
                }
                ParamKind::Text | ParamKind::Boolean | ParamKind::Date => {}
            }
        }
        schema
    }

    /// Values at the edges of this type, each of which a goal or an answer can give.
    #[must_use]
    pub fn edges(&self) -> Vec<Value> {
        let given: Vec<Value> = match self.kind {
            _ if !self.words.is_empty() => return self.words.iter().map(|w| json!(w)).collect(),
            ParamKind::Text => match &self.pattern {
                Some(pattern) => edge_texts(pattern.as_str())
                    .into_iter()
                    .map(Value::from)
                    .collect(),
                None => {
                    let long = "long ".repeat(60).trim_end().to_owned();
                    let texts = TEXTS.map(str::to_owned).into_iter().chain([long]);
                    texts.map(Value::from).collect()
                }
            },
            ParamKind::Integer | ParamKind::Number => self.edge_numbers(),
            ParamKind::Boolean => vec![json!(true), json!(false)],
            ParamKind::Date => vec![
                json!("2026-01-31"),
                json!("0001-01-01"),
                json!("2028-02-29"),
            ],
            ParamKind::List => self.edge_lists(),
        };
        let is_value = |value: &Value| self.answered(value).as_ref() == Some(value);
        given.into_iter().filter(is_value).collect()
    }

    fn edge_numbers(&self) -> Vec<Value> {
        let schema = Value::Object(match self.value_schema() {
            Value::Object(map) => map,
            _ => Map::new(),
        });
        let bound = |key: &str| schema.get(key).cloned();
        let bounds = [bound("minimum"), bound("maximum")].into_iter().flatten();
        let is_number = self.kind == ParamKind::Number;
        let least = bound("minimum").and_then(|least| least.as_f64());
        let part = least.filter(|_| is_number).map(|least| json!(least + 0.5));
        let part = part.into_iter().chain(is_number.then(|| json!(0.5)));
        let whole = [json!(1), json!(0), json!(-1), json!(2)];
        let all = whole.into_iter().chain(part).chain(bounds);
        // Why: 5.0 is 5 where it is kept.
        all.filter_map(|value| self.answered(&value)).collect()
    }

    fn edge_lists(&self) -> Vec<Value> {
        let Some(items) = &self.items else {
            return Vec::new();
        };
        let edges = items.edges();
        let number = |bound: &Option<Number>, other| {
            let bound = bound.as_ref().and_then(Number::as_u64).unwrap_or(other);
            usize::try_from(bound.min(LIST_MAX)).unwrap_or(1)
        };
        let (least, most) = (number(&self.minimum, 1), number(&self.maximum, LIST_MAX));
        let filled = |count: usize| {
            let cycle = edges.iter().cycle().take(count).cloned();
            Value::Array(cycle.collect())
        };
        let each = edges.iter().map(|edge| {
            let one = std::iter::repeat_n(edge.clone(), least.max(1));
            Value::Array(one.collect())
        });
        [filled(least), filled(most)]
            .into_iter()
            .chain(each)
            .collect()
    }

    /// A pattern for the whole of a text.
    ///
    /// # Errors
    /// What is wrong with it, in words.
    pub fn whole(pattern: &str) -> Result<Regex, String> {
        // Why first alone: a stray `)` could otherwise close what is put around it.
        let given = build(pattern, false)?;
        let begins = pattern.starts_with('^');
        let ends = pattern.ends_with('$') && !pattern.ends_with("\\$");
        // Why not: in `^a|b$` neither mark holds for the whole, and `^(?m)a$` ends at a line.
        let plain = !pattern.contains('|') && !pattern.contains("(?");
        if begins && ends && plain {
            return Ok(given);
        }
        // Why as it is often written: a schema with the same pattern is seen to be the same.
        if !begins && !ends && plain {
            return build(&format!("^{pattern}$"), false);
        }
        build(&format!("^(?:{pattern})$"), false)
    }
}

/// The items of `a, b and c`.
fn items_of(text: &str) -> Vec<String> {
    let parts = text.split([',', ';']).flat_map(|part| part.split(" and "));
    let parts = parts.map(|part| part.trim().trim_start_matches("and ").trim());
    parts
        .filter(|part| !part.is_empty())
        .map(str::to_owned)
        .collect()
}
