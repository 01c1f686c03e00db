//! Conditions on a field of a record.
//!
//! Owns the operators. Never compares values of two kinds. INVARIANT: a field that is not there
//! meets no condition but `exists` with `false`.

use std::cmp::Ordering;

use serde_json::Value;

use crate::kinds::files::instant::Instant;

/// One condition of `where`.
#[derive(Clone, Debug)]
pub(crate) struct Condition {
    pub(crate) slot: usize,
    pub(crate) test: FieldTest,
}

/// What is asked of the field's value.
#[derive(Clone, Debug)]
pub(crate) enum FieldTest {
    Equal(Value),
    Unequal(Value),
    Ordered(Comparison, Operand),
    Contains(Value),
    Exists(bool),
}

#[derive(Clone, Copy, Debug)]
pub(crate) enum Comparison {
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
}

/// The right side of an ordering, with its instant read once.
#[derive(Clone, Debug)]
pub(crate) struct Operand {
    value: Value,
    instant: Option<Instant>,
}

impl FieldTest {
    /// Reads operator and value; the `Err` says what is wrong with them.
    pub(crate) fn parse(op: &str, value: Option<&Value>) -> Result<Self, String> {
        if op == "exists" {
            return match value {
                None | Some(Value::Bool(true)) => Ok(Self::Exists(true)),
                Some(Value::Bool(false)) => Ok(Self::Exists(false)),
                Some(_) => Err("`exists` takes true or false".to_owned()),
            };
        }
        let value = value
            .ok_or_else(|| format!("`{op}` needs a `value`"))?
            .clone();
        let ordered = |order| {
            if value.is_boolean() {
                return Err(format!("`{op}` does not compare true and false"));
            }
            let instant = value.as_str().and_then(Instant::parse);
            let value = value.clone();
            Ok(Self::Ordered(order, Operand { value, instant }))
        };
        match op {
            "==" => Ok(Self::Equal(value)),
            "!=" => Ok(Self::Unequal(value)),
            "contains" => Ok(Self::Contains(value)),
            "<" => ordered(Comparison::Less),
            "<=" => ordered(Comparison::LessOrEqual),
            ">" => ordered(Comparison::Greater),
            ">=" => ordered(Comparison::GreaterOrEqual),
            _ => Err(format!("`{op}` is no operator")),
        }
    }

    pub(crate) fn holds(&self, field: Option<&Value>) -> bool {
        let Some(field) = field else {
            return matches!(self, Self::Exists(false));
        };
        match self {
            Self::Exists(wanted) => *wanted,
            Self::Equal(value) => equal(field, value),
            Self::Unequal(value) => !equal(field, value),
            Self::Contains(value) => contains(field, value),
            Self::Ordered(order, operand) => operand
                .order(field)
                .is_some_and(|ordering| order.allows(ordering)),
        }
    }

    /// A text that stands in every raw line whose field can meet the condition, if there is one
    /// (a line with escapes may write it in another way).
    pub(crate) fn raw_hint(&self) -> Option<String> {
        match self {
            Self::Equal(Value::String(text)) => {
                let plain = text
                    .chars()
                    .all(|c| (' '..='~').contains(&c) && !"\"\\/".contains(c));
                plain.then(|| format!("\"{text}\""))
            }
            _ => None,
        }
    }
}

impl Comparison {
    fn allows(self, ordering: Ordering) -> bool {
        match self {
            Self::Less => ordering.is_lt(),
            Self::LessOrEqual => ordering.is_le(),
            Self::Greater => ordering.is_gt(),
            Self::GreaterOrEqual => ordering.is_ge(),
        }
    }
}

impl Operand {
    /// How `field` stands to it: numbers as numbers, instants as instants, other texts by their
    /// characters; nothing else compares.
    fn order(&self, field: &Value) -> Option<Ordering> {
        match (field, &self.value) {
            (Value::Number(_), Value::Number(_)) => number_order(field, &self.value),
            (Value::String(left), Value::String(right)) => match self.instant {
                Some(instant) => Instant::parse(left).map(|left| left.cmp(&instant)),
                None => Some(left.cmp(right)),
            },
            _ => None,
        }
    }
}

fn number_order(left: &Value, right: &Value) -> Option<Ordering> {
    match (left.as_i64(), right.as_i64()) {
        (Some(left), Some(right)) => Some(left.cmp(&right)),
        _ => left.as_f64()?.partial_cmp(&right.as_f64()?),
    }
}

fn equal(left: &Value, right: &Value) -> bool {
    match (left, right) {
        (Value::Number(_), Value::Number(_)) => {
            number_order(left, right).is_some_and(Ordering::is_eq)
        }
        _ => left == right,
    }
}

fn contains(field: &Value, value: &Value) -> bool {
    match field {
        Value::String(text) => value.as_str().is_some_and(|part| text.contains(part)),
        Value::Array(items) => items.iter().any(|item| equal(item, value)),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::FieldTest;

    fn holds(field: &Value, op: &str, value: &Value) -> bool {
        let field = (!field.is_null()).then_some(field);
        FieldTest::parse(op, Some(value)).is_ok_and(|test| test.holds(field))
    }

    #[test]
    fn operators_compare_like_with_like() {
        let table = [
            (json!(503), "==", json!(503.0), true),
            (json!("503"), "==", json!(503), false),
            (json!("503"), "!=", json!(503), true),
            (json!(503), ">=", json!(500), true),
            (json!(499.5), ">=", json!(500), false),
            (json!("b"), ">", json!("a"), true),
            (json!("503"), ">=", json!(500), false),
            (json!(true), "==", json!(true), true),
            (json!(true), "<", json!(1), false),
            (
                json!("2026-01-01T00:00:00+01:00"),
                "<",
                json!("2026-01-01T00:00:00Z"),
                true,
            ),
            (json!("no time"), "<", json!("2026-01-01T00:00:00Z"), false),
            (json!("connection pool"), "contains", json!("pool"), true),
            (json!(["a", 1]), "contains", json!(1.0), true),
            (json!(12), "contains", json!("1"), false),
            (json!(1), "exists", json!(true), true),
            (json!(1), "exists", json!(false), false),
        ];
        for (field, op, value, expected) in table {
            assert_eq!(holds(&field, op, &value), expected, "{field} {op} {value}");
        }
    }

    #[test]
    fn an_absent_field_meets_only_its_absence() {
        for op in ["==", "!=", "<", "<=", ">", ">=", "contains"] {
            assert!(!holds(&Value::Null, op, &json!("x")), "{op}");
        }
        assert!(holds(&Value::Null, "exists", &json!(false)));
        assert!(!holds(&Value::Null, "exists", &json!(true)));
    }

    #[test]
    fn a_wrong_condition_is_refused() {
        assert!(FieldTest::parse("==", None).is_err());
        assert!(FieldTest::parse("=~", Some(&json!("x"))).is_err());
        assert!(FieldTest::parse("exists", Some(&json!("x"))).is_err());
        assert!(FieldTest::parse("<", Some(&json!(true))).is_err());
        assert!(FieldTest::parse("exists", None).is_ok());
    }
}
