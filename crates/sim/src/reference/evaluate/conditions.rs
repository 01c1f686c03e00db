//! Comparisons in one world: which are decided, and which hang on data.

use provost_plan::expr::tree::{Compare, Expr, ExprKind};
use serde_json::{Value as Json, json};

use super::{ENDS, Evaluator, Seen, Value};
use crate::reference::schemas;

impl Evaluator<'_> {
    pub(super) fn compare(
        &mut self,
        operator: Compare,
        left: &Expr,
        right: &Expr,
        whole: &Expr,
    ) -> Seen {
        let a = self.eval(left)?;
        let b = self.eval(right)?;
        if a == Value::Fault || b == Value::Fault {
            return Ok(Value::Fault);
        }
        let same = match (&a, &b) {
            (Value::Part { key, schema }, Value::Known(Json::Null))
            | (Value::Known(Json::Null), Value::Part { key, schema }) => {
                match schema.as_ref().map(schemas::is_nullable) {
                    Some(true) => Some(self.flip(format!("null {key}"))?),
                    Some(false) => Some(false),
                    None => None,
                }
            }
            (Value::Status(end), Value::Known(word)) | (Value::Known(word), Value::Status(end)) => {
                self.ended(end, word)
            }
            (Value::Part { key, schema }, Value::List(None))
                if schema.as_ref().is_some_and(schemas::may_be_empty) =>
            {
                Some(self.flip(format!("empty {key}"))?)
            }
            (Value::Status(a), Value::Status(b)) => Some(a == b),
            (Value::Known(_), Value::Known(_)) if self.loose => None,
            (Value::Known(a), Value::Known(b)) => Some(a == b),
            (Value::Bool(a), Value::Bool(b)) => Some(a == b),
            (Value::Positive, Value::Known(Json::Number(n))) if n.as_i64() == Some(0) => {
                Some(false)
            }
            (Value::Zero, Value::Known(n)) => Some(*n == json!(0)),
            _ => None,
        };
        let decided = match operator {
            Compare::Equal => same,
            Compare::NotEqual => same.map(|same| !same),
            Compare::In => self.among(&a, right),
            order => match (&a, &b) {
                (Value::Known(_), Value::Known(_)) if self.loose => None,
                _ => ordered(order, &a, &b),
            },
        };
        match decided {
            Some(value) => Ok(Value::Bool(value)),
            None => self.opaque(whole),
        }
    }

    /// Whether a step ended so. A word that is no status is a constant condition.
    fn ended(&self, end: &str, word: &Json) -> Option<bool> {
        let is_status = word.as_str().is_some_and(|word| ENDS.contains(&word));
        (is_status || !self.loose).then(|| *word == json!(end))
    }

    /// `a in [constants]`
    fn among(&self, a: &Value, list: &Expr) -> Option<bool> {
        let ExprKind::List(items) = &list.kind else {
            return None;
        };
        let mut found = Some(false);
        for item in items {
            let ExprKind::Text(word) = &item.kind else {
                return None;
            };
            let same = match a {
                Value::Status(end) => self.ended(end, &json!(word)),
                Value::Known(known) if !self.loose => Some(*known == json!(word)),
                _ => None,
            };
            found = match (found, same) {
                (Some(true), _) | (_, Some(true)) => Some(true),
                (Some(false), Some(false)) => Some(false),
                _ => None,
            };
        }
        found
    }
}

/// Lengths against whole numbers.
fn ordered(operator: Compare, a: &Value, b: &Value) -> Option<bool> {
    let number = |value: &Value| match value {
        Value::Known(json) => json.as_i64(),
        Value::Zero => Some(0),
        _ => None,
    };
    match (a, b) {
        (Value::Positive, b) => match (operator, number(b)?) {
            (Compare::Greater, n) if n <= 0 => Some(true),
            (Compare::GreaterEqual, n) if n <= 1 => Some(true),
            (Compare::Less, n) if n <= 1 => Some(false),
            (Compare::LessEqual, n) if n <= 0 => Some(false),
            _ => None,
        },
        (a, Value::Positive) => match (operator, number(a)?) {
            (Compare::Less, n) if n <= 0 => Some(true),
            (Compare::LessEqual, n) if n <= 1 => Some(true),
            (Compare::Greater, n) if n <= 1 => Some(false),
            (Compare::GreaterEqual, n) if n <= 0 => Some(false),
            _ => None,
        },
        (a, b) => {
            let (a, b) = (number(a)?, number(b)?);
            Some(match operator {
                Compare::Less => a < b,
                Compare::LessEqual => a <= b,
                Compare::Greater => a > b,
                _ => a >= b,
            })
        }
    }
}
