//! Whether the values of one schema fit another.
//!
//! Owns the three answers of the check: proven, never, or only at run time. INVARIANT: `Proven`
//! and `Never` are proofs; whatever cannot be decided is `RunTime`.

use jsonschema::canonical::{CanonicalSchema, CanonicalView, Containment, Satisfiability};
use serde_json::{Value, json};

use super::Schema;
use super::kinds::{Kinds, Type};
use super::sample::sample;
use super::texts;

/// Whether what one place yields fits where it goes.
#[derive(Clone, Debug, PartialEq)]
pub enum Fit {
    /// Every value fits.
    Proven,
    /// No value fits.
    Never {
        /// Why: lower case.
        reason: String,
    },
    /// Some values fit, or it could not be decided.
    RunTime {
        /// A value that would not fit, as JSON, where one was found.
        counterexample: Option<String>,
    },
}

/// Most references that are followed one after another.
const REFERENCES_MAX: usize = 16;
/// Most samples that are tried as a counterexample.
const CANDIDATES_MAX: usize = 8;
/// Longest counterexample that is shown, in bytes.
const SHOWN_BYTES_MAX: usize = 120;

impl Type {
    /// Whether values of this type fit `consumer`.
    #[must_use]
    pub fn fit(&self, consumer: &Self) -> Fit {
        self.followed().fit_to(&consumer.followed())
    }

    /// What a reference leads to; a schema that holds itself is one in its canonical form.
    fn followed(&self) -> Self {
        let mut schema = self.schema.clone();
        for _ in 0..REFERENCES_MAX {
            let CanonicalView::Reference(uri) = schema.view() else {
                break;
            };
            match schema.definition(&uri) {
                Some(target) => schema = target,
                None => break,
            }
        }
        Self::plain(schema)
    }

    fn fit_to(&self, consumer: &Self) -> Fit {
        if consumer.is_unconstrained() {
            return Fit::Proven;
        }
        if let Some(reason) = self.never_fits(consumer) {
            return Fit::Never { reason };
        }
        match consumer.schema.covers(&self.schema) {
            Ok(Containment::Yes) => Fit::Proven,
            Ok(Containment::No | Containment::Unknown) | Err(_) => Fit::RunTime {
                counterexample: self.counterexample(consumer),
            },
        }
    }

    /// Why no value of this type fits `consumer`, if none does.
    #[must_use]
    pub fn never_fits(&self, consumer: &Self) -> Option<String> {
        never_meets(self, consumer).then(|| self.why_never(consumer))
    }

    fn is_unconstrained(&self) -> bool {
        matches!(self.schema.view(), CanonicalView::True)
    }

    fn why_never(&self, consumer: &Self) -> String {
        let (given, wanted) = (self.kinds(), consumer.kinds());
        if !given.meets(wanted) {
            return format!("it is {}, and {} is needed", given.words(), wanted.words());
        }
        let both = given.and(wanted);
        if both == Kinds::LIST {
            return "no list with an item in it fits".to_owned();
        }
        if both.within(Kinds::TEXT | Kinds::NULL) && both.meets(Kinds::TEXT) {
            let (given, wanted) = (forms(&self.to_json()), forms(&consumer.to_json()));
            if let (Some(given), Some(wanted)) = (given, wanted) {
                return format!("it is {given}, and {wanted} is needed");
            }
        }
        format!("no value is {} that fits both schemas", both.words())
    }

    /// Whether a value is of this type; where that is not decided, as the validator says.
    fn surely_admits(&self, value: &Value) -> bool {
        let both = self.schema.intersect(&Self::of_value(value).schema);
        match both.map(|both| both.satisfiability()) {
            Ok(Satisfiability::Yes) => true,
            Ok(Satisfiability::No) => false,
            _ => Schema::compile(self.to_json()).is_ok_and(|schema| schema.admits(value)),
        }
    }

    /// A value of this type that does not fit `consumer`, as JSON.
    fn counterexample(&self, consumer: &Self) -> Option<String> {
        // Why: what is left after the subtraction is exactly the set of values that do not fit,
        // but a sample of it is only believed after both schemas confirm it.
        let rest = self.schema.subtract(&consumer.schema).ok();
        let rest = rest.map(Self::plain);
        let candidates = rest
            .iter()
            .flat_map(|ty| sample(&ty.schema))
            .chain(sample(&self.schema));
        let value = candidates
            .into_iter()
            .take(CANDIDATES_MAX)
            .find(|value| consumer.excludes(value) && self.surely_admits(value))?;
        let text = crate::digest::canonical(&value);
        (text.len() <= SHOWN_BYTES_MAX).then_some(text)
    }
}

/// The pattern or format of the texts of a schema, in words, if it has one.
fn forms(schema: &Value) -> Option<String> {
    let text = |key: &str| schema.get(key).and_then(Value::as_str);
    let format = text("format").map(|format| format!("a text in the format `{format}`"));
    let pattern = || text("pattern").map(|pattern| format!("a text like `{pattern}`"));
    format.or_else(pattern)
}

impl Type {
    /// Whether both are texts, and no text is of both types.
    #[must_use]
    pub(crate) fn has_no_text_of(&self, other: &Self) -> bool {
        let texts = |ty: &Self| ty.kinds().within(Kinds::TEXT | Kinds::NULL);
        texts(self) && texts(other) && texts::are_disjoint(&self.to_json(), &other.to_json())
    }
}

/// Whether no value of `producer` fits `consumer`; an overlap in nothing but the empty list counts
/// as none.
fn never_meets(producer: &Type, consumer: &Type) -> bool {
    let empty = |schema: &CanonicalSchema| schema.satisfiability() == Satisfiability::No;
    let Ok(both) = producer.schema.intersect(&consumer.schema) else {
        return false;
    };
    if empty(&both) {
        return true;
    }
    let both = Type::plain(both);
    // Why although null may fit both: a plan that works only where there is nothing is a mistake.
    let kinds = both.kinds();
    if kinds.meets(Kinds::TEXT)
        && kinds.within(Kinds::TEXT | Kinds::NULL)
        && texts::are_disjoint(&producer.to_json(), &consumer.to_json())
    {
        return true;
    }
    if both.kinds() != Kinds::LIST {
        return false;
    }
    // Why: lists of numbers and lists of texts share the empty list and nothing else; a plan that
    // only works when there is nothing to do is a mistake.
    let filled = Type::of_json(&json!({ "type": "array", "minItems": 1 }));
    let holds_items = |ty: &Type| {
        ty.schema
            .intersect(&filled.schema)
            .map_or(true, |schema| !empty(&schema))
    };
    !holds_items(&both) && holds_items(producer) && holds_items(consumer)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fit(producer: &Value, consumer: &Value) -> String {
        match Type::of_json(producer).fit(&Type::of_json(consumer)) {
            Fit::Proven => "proven".to_owned(),
            Fit::Never { reason } => format!("never: {reason}"),
            Fit::RunTime { counterexample } => {
                format!("run time: {}", counterexample.unwrap_or_default())
            }
        }
    }

    /// Schemas in the forms in which tool servers and OpenAPI documents write them: what some
    /// value fits is never refused, and what is the same in other words is proven. `USER` is a
    /// map that holds itself.
    const FOUND: &str = r#"
proven   {"allOf":[{"type":"integer"},{"minimum":1}]} → {"type":"number"}
proven   {"allOf":[{"type":"string"},{"minLength":1}]} → {"type":"string","minLength":1}
proven   {"oneOf":[{"const":"a"},{"const":"b"}]} → {"enum":["a","b","c"]}
proven   {"anyOf":[{"const":"a","title":"A"},{"const":"b"}]} → {"type":"string"}
run time {"enum":["a","b"]} → {"enum":["b","c"]}
proven   {"type":"string","enum":["a","b"]} → {"type":"string","maxLength":4}
run time {"anyOf":[{"type":"string"},{"type":"null"}],"default":null} → {"type":"string"}
proven   {"type":"string","format":"date-time"} → {"type":"string"}
run time {"type":"string"} → {"type":"string","format":"email"}
proven   {"type":"string","format":"uri"} → {"type":"string","format":"uri"}
proven   {"type":"string","format":"int64"} → {"type":"string"}
run time {"type":"string","pattern":"^[A-Z]+$"} → {"type":"string","pattern":"^PAY"}
run time {"type":"number","minimum":0} → {"type":"integer","maximum":100}
proven   {"type":"integer","format":"int32"} → {"type":["integer","string"]}
proven   USER → {"type":"object"}
proven   USER → USER
run time USER → {"type":"object","required":["id","name"]}
never    USER → {"type":"array"}
proven   {"type":"array","items":{"enum":["x","y"]}} → {"type":"array","items":{"type":"string"}}
run time {"type":"array","items":{"type":"string"}} → {"type":"array","items":{"enum":["x"]}}
run time {"type":"array","items":{}} → {"type":"array","items":{"type":"string"},"maxItems":5}
proven   {"const":3} → {"type":"integer","multipleOf":3}
proven   {"type":"boolean"} → {"anyOf":[{"type":"boolean"},{"enum":["auto"]}]}
run time {"type":"string"} → {"not":{"enum":["root"]},"type":"string"}
run time {"if":{"type":"string"},"then":{"minLength":2}} → {"type":"string"}
"#;

    const USER: &str = r##"{"$ref":"#/$defs/User","$defs":{"User":{
        "type":"object","required":["id"],"properties":{"id":{"type":"integer"},"name":{"type":["string","null"]},
                      "boss":{"$ref":"#/$defs/User"}}}}}"##;

    #[test]
    fn pairs_as_they_are_found() {
        for line in FOUND.lines().filter(|line| !line.is_empty()) {
            let (expected, pair) = line.split_at(9);
            let schema = |text: &str| -> Value {
                serde_json::from_str(if text == "USER" { USER } else { text }).unwrap_or_default()
            };
            let (producer, consumer) = pair.split_once(" → ").unwrap_or_default();
            let given = fit(&schema(producer), &schema(consumer));
            assert!(given.starts_with(expected.trim_end()), "{line}: {given}");
        }
    }

    #[test]
    fn realistic_pairs() {
        let text = json!({"type": "string"});
        let integer = json!({"type": "integer"});
        let number = json!({"type": "number"});
        let texts = json!({"type": "array", "items": {"type": "string"}});
        let one_text = json!({"type": "array", "items": {"type": "string"}, "minItems": 1});
        let numbers = json!({"type": "array", "items": {"type": "number"}});
        let maybe = json!({"type": ["string", "null"]});
        let level = json!({"enum": ["low", "high"]});
        let uuid = json!({"type": "string", "format": "uuid"});
        let short = json!({"type": "string", "maxLength": 3});
        let bounded = json!({"type": "integer", "minimum": 0, "maximum": 10});
        let open = json!({"type": "object", "properties": {"a": {"type": "string"}},
                          "required": ["a"]});
        let closed = json!({"type": "object", "properties": {"a": {"type": "string"}},
                            "required": ["a"], "additionalProperties": false});
        for (producer, consumer, expected) in [
            (&integer, &number, "proven"),
            (&number, &integer, "run time: 0.5"),
            (&level, &text, "proven"),
            (&text, &level, "run time: \"\""),
            (&uuid, &text, "proven"),
            (&text, &uuid, "run time: \"\""),
            (&text, &short, "run time: \"xxxx\""),
            (&maybe, &text, "run time: null"),
            (
                &text,
                &integer,
                "never: it is a text, and a whole number is needed",
            ),
            (&bounded, &integer, "proven"),
            (&integer, &bounded, "run time: -1"),
            (&texts, &texts, "proven"),
            (&texts, &one_text, "run time: []"),
            (&texts, &numbers, "never: no list with an item in it fits"),
            (&closed, &open, "proven"),
            (
                &open,
                &closed,
                "run time: {\"a\":\"\",\"another_field\":null}",
            ),
            (&json!(true), &text, "run time: null"),
            (&text, &json!(true), "proven"),
            (
                &json!({"const": "x"}),
                &level,
                "never: no value is a text that fits both schemas",
            ),
        ] {
            assert_eq!(fit(producer, consumer), expected, "{producer} → {consumer}");
        }
    }
}
