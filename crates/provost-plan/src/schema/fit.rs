//! Whether the values of one schema fit another.
//!
//! Owns the three answers of the check: proven, never, or only at run time. INVARIANT: `Proven`
//! and `Never` are proofs; whatever cannot be decided is `RunTime`.

use jsonschema::canonical::{CanonicalSchema, CanonicalView, Containment, Satisfiability};
use serde_json::json;

use super::kinds::{Kinds, Type};
use super::sample::sample;

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

/// Longest counterexample that is shown, in bytes.
const SHOWN_BYTES_MAX: usize = 120;

impl Type {
    /// Whether values of this type fit `consumer`.
    #[must_use]
    pub fn fit(&self, consumer: &Self) -> Fit {
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
        format!("no value is {} that fits both schemas", both.words())
    }

    /// A value of this type that does not fit `consumer`, as JSON.
    fn counterexample(&self, consumer: &Self) -> Option<String> {
        // Why: what is left after the subtraction is exactly the set of values that do not fit,
        // but a sample of it is only believed after both schemas confirm it.
        let rest = self.schema.subtract(&consumer.schema).ok();
        let rest = rest.map(|schema| Self { schema });
        let candidates = rest
            .iter()
            .flat_map(|ty| sample(&ty.schema))
            .chain(sample(&self.schema));
        let value = candidates
            .into_iter()
            .find(|value| consumer.excludes(value) && !self.excludes(value))?;
        let text = crate::digest::canonical(&value);
        (text.len() <= SHOWN_BYTES_MAX).then_some(text)
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
    let both = Type { schema: both };
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
    use serde_json::Value;

    fn fit(producer: &Value, consumer: &Value) -> String {
        match Type::of_json(producer).fit(&Type::of_json(consumer)) {
            Fit::Proven => "proven".to_owned(),
            Fit::Never { reason } => format!("never: {reason}"),
            Fit::RunTime { counterexample } => {
                format!("run time: {}", counterexample.unwrap_or_default())
            }
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
