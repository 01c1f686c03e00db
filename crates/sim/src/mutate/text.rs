//! One document in many forms: JSON and YAML, quotes, spacing, comments, forms of numbers.
//!
//! Owns writing. Never changes a value. INVARIANT: every form of a document is read as the same
//! document.

use serde_json::{Map, Value};

use crate::rng::Rng;

/// How a text is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Form {
    /// Maps and lists over several lines, by indentation.
    pub block: bool,
    /// Texts in single quotes where they can be.
    pub single: bool,
    /// Comments and empty lines between the entries.
    pub comments: bool,
    /// Keys in another order.
    pub shuffled: bool,
    /// Whole numbers with a point, or with an exponent.
    pub numbers: Numbers,
    /// Spaces more between the tokens of a line.
    pub wide: bool,
}

/// How whole numbers are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Numbers {
    /// `1`
    Plain,
    /// `1.0`
    Point,
    /// `1e0`
    Exponent,
}

impl Form {
    /// The form of that number.
    #[must_use]
    pub fn of(number: u64) -> Self {
        let mut rng = Rng::new(number, "form");
        Self {
            block: rng.permille(600),
            single: rng.permille(500),
            comments: rng.permille(500),
            shuffled: rng.permille(600),
            numbers: match number % 3 {
                0 => Numbers::Plain,
                1 => Numbers::Point,
                _ => Numbers::Exponent,
            },
            wide: rng.permille(500),
        }
    }
}

/// The text of a document. `number` decides about the order of keys and the place of comments.
#[must_use]
pub fn write(value: &Value, form: Form, number: u64) -> String {
    let mut writer = Writer {
        form,
        rng: Rng::new(number, "text"),
        text: String::new(),
    };
    if form.comments {
        writer.text.push_str("# the same plan in another form\n");
    }
    if form.block {
        writer.block(value, 0);
    } else {
        writer.flow(value);
    }
    writer.text.push('\n');
    writer.text
}

struct Writer {
    form: Form,
    rng: Rng,
    text: String,
}

impl Writer {
    fn entries<'v>(&mut self, map: &'v Map<String, Value>) -> Vec<(&'v String, &'v Value)> {
        let mut entries: Vec<(&String, &Value)> = map.iter().collect();
        if self.form.shuffled {
            self.rng.shuffle(&mut entries);
        }
        entries
    }

    fn line(&mut self, indent: usize) {
        self.text.push('\n');
        if self.form.comments && self.rng.permille(300) {
            self.text
                .push_str(&format!("\n{}# a remark\n", " ".repeat(indent)));
        }
        self.text.push_str(&" ".repeat(indent));
    }

    /// Lists and maps by indentation, the innermost in brackets.
    fn block(&mut self, value: &Value, indent: usize) {
        match value {
            Value::Object(map) if !map.is_empty() => {
                for (key, inner) in self.entries(map) {
                    self.line(indent);
                    self.scalar(&Value::String(key.clone()));
                    self.text.push(':');
                    self.inner(inner, indent + 2);
                }
            }
            Value::Array(items) if !items.is_empty() => {
                for inner in items {
                    self.line(indent);
                    self.text.push('-');
                    self.inner(inner, indent + 2);
                }
            }
            other => self.flow(other),
        }
    }

    fn inner(&mut self, value: &Value, indent: usize) {
        let nested = match value {
            Value::Object(map) => !map.is_empty(),
            Value::Array(items) => items.iter().any(Value::is_object),
            _ => false,
        };
        if nested {
            self.block(value, indent);
        } else {
            self.text.push_str(if self.form.wide { "   " } else { " " });
            self.flow(value);
        }
    }

    fn flow(&mut self, value: &Value) {
        let gap = if self.form.wide { "  " } else { "" };
        match value {
            Value::Object(map) => {
                self.text.push('{');
                for (index, (key, inner)) in self.entries(map).into_iter().enumerate() {
                    self.text.push_str(if index > 0 { ", " } else { gap });
                    self.scalar(&Value::String(key.clone()));
                    self.text.push_str(": ");
                    self.flow(inner);
                }
                self.text.push_str(gap);
                self.text.push('}');
            }
            Value::Array(items) => {
                self.text.push('[');
                for (index, inner) in items.iter().enumerate() {
                    self.text.push_str(if index > 0 { ", " } else { gap });
                    self.flow(inner);
                }
                self.text.push_str(gap);
                self.text.push(']');
            }
            scalar => self.scalar(scalar),
        }
    }

    fn scalar(&mut self, value: &Value) {
        let written = match value {
            Value::String(text) if self.form.single && !text.contains(['\n', '\t', '\r']) => {
                format!("'{}'", text.replace('\'', "''"))
            }
            Value::Number(number) if number.is_i64() => match self.form.numbers {
                Numbers::Plain => number.to_string(),
                Numbers::Point => format!("{number}.0"),
                Numbers::Exponent => format!("{number}e0"),
            },
            other => other.to_string(),
        };
        self.text.push_str(&written);
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, clippy::panic, reason = "tests")]
mod tests {
    use provost_plan::digest::normalize;
    use provost_plan::node::parse_yaml;
    use serde_json::json;

    use super::*;

    #[test]
    fn every_form_is_read_as_the_same_document() {
        let value = json!({ "a": [{ "b": "it's\n\"so\"", "c": [1, 2.5, -3] }, {}], "d": null,
            "e": { "f": "${ steps.a == 'x' }", "g": true, "h": [] } });
        let mut texts = std::collections::BTreeSet::new();
        for number in 0..60 {
            let text = write(&value, Form::of(number), number);
            let read = parse_yaml(&text)
                .unwrap_or_else(|e| panic!("{text}: {e:?}"))
                .to_value();
            assert_eq!(normalize(read).unwrap(), value, "{text}");
            texts.insert(text);
        }
        assert!(texts.len() > 40);
    }
}
