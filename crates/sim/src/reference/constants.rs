//! Values that are known before a run: literals, parameters, and what is computed of them.

use provost_plan::expr::tree::{Access, Arith, Compare, Expr, ExprKind, Function};
use provost_plan::expr::{ArgTree, Key, Part, Root, Template};
use serde_json::{Map, Value, json};

use super::Setting;

/// The value of arguments that no step has a part in.
#[must_use]
pub fn known(setting: &Setting<'_>, tree: &ArgTree) -> Option<Value> {
    match tree {
        ArgTree::Value(value, _) => Some(value.clone()),
        ArgTree::Template(template) => known_text(setting, template),
        ArgTree::List(items, _) => items.iter().map(|item| known(setting, item)).collect(),
        ArgTree::Map(entries, _) => {
            let mut map = Map::new();
            for entry in entries {
                match sent(setting, entry) {
                    Sent::Value(value) => _ = map.insert(entry.0.to_string(), value),
                    Sent::Nothing => {}
                    Sent::Later => return None,
                }
            }
            Some(Value::Object(map))
        }
    }
}

/// What a call is given of an entry of its arguments.
#[derive(Clone, Debug, PartialEq)]
pub enum Sent {
    /// This value.
    Value(Value),
    /// Nothing: it is left out, for it is null.
    Nothing,
    /// What only the run shows.
    Later,
}

/// What is sent of an entry, if no step has a part in that.
#[must_use]
pub fn sent(setting: &Setting<'_>, (key, tree): &(Key, ArgTree)) -> Sent {
    match known(setting, tree) {
        Some(Value::Null) if key.may_be_left_out() => Sent::Nothing,
        Some(value) => Sent::Value(value),
        None => Sent::Later,
    }
}

fn known_text(setting: &Setting<'_>, template: &Template) -> Option<Value> {
    // What reads a step anywhere is known with the run, whatever it comes to.
    if !template
        .expressions()
        .all(|expression| is_fixed(expression.ast()))
    {
        return None;
    }
    if let Some(whole) = template.whole() {
        return value(setting, None, whole.ast());
    }
    let part = |part: &Part| match part {
        Part::Text(text) => Some(text.clone()),
        Part::Expr(expression) => Some(print(&value(setting, None, expression.ast())?)),
    };
    let parts: Option<Vec<String>> = template.parts().iter().map(part).collect();
    parts.map(|parts| json!(parts.concat()))
}

fn is_fixed(expr: &Expr) -> bool {
    !matches!(&expr.kind, ExprKind::Root(root) if *root != Root::Params)
        && expr.children().into_iter().all(is_fixed)
}

fn print(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

/// An item of a list that is known, and its position.
pub type At<'a> = (&'a Value, usize);

/// The value of an expression without steps, for an item where there is one; none for what the
/// generator never writes.
#[must_use]
pub fn value(setting: &Setting<'_>, at: Option<At<'_>>, expr: &Expr) -> Option<Value> {
    let of = |expr: &Expr| value(setting, at, expr);
    let truth = |expr: &Expr| of(expr)?.as_bool();
    match &expr.kind {
        ExprKind::Null => Some(Value::Null),
        ExprKind::Bool(flag) => Some(json!(flag)),
        ExprKind::Int(number) => Some(json!(number)),
        ExprKind::Text(text) => Some(json!(text)),
        ExprKind::List(items) => items.iter().map(of).collect(),
        ExprKind::Map(entries) => {
            let entry = |(key, value)| Some((of(key)?.as_str()?.to_owned(), of(value)?));
            let map: Option<Map<_, _>> = entries.iter().map(|(k, v)| entry((k, v))).collect();
            map.map(Value::Object)
        }
        ExprKind::Root(Root::Item) => Some(at?.0.clone()),
        ExprKind::Root(Root::Index) => Some(json!(at?.1)),
        ExprKind::Path(base, accesses) => match (&base.kind, accesses.as_slice()) {
            (ExprKind::Root(Root::Params), [Access::Field(name)]) => {
                setting.params.get(name).cloned()
            }
            _ => None,
        },
        ExprKind::Not(inner) => Some(json!(!truth(inner)?)),
        ExprKind::And(terms) => {
            let all: Option<Vec<bool>> = terms.iter().map(truth).collect();
            Some(json!(!all?.contains(&false)))
        }
        ExprKind::Or(terms) => {
            let all: Option<Vec<bool>> = terms.iter().map(truth).collect();
            Some(json!(all?.contains(&true)))
        }
        ExprKind::Choice(test, yes, no) => of(if truth(test)? { yes } else { no }),
        ExprKind::Chain(first, rest) => {
            rest.iter().try_fold(of(first)?, |sum, (sign, next)| {
                match (sum, of(next)?, sign) {
                    (Value::String(a), Value::String(b), Arith::Add) => Some(json!(a + &b)),
                    (a, b, Arith::Add) => Some(json!(a.as_i64()?.checked_add(b.as_i64()?)?)),
                    (a, b, Arith::Subtract) => Some(json!(a.as_i64()?.checked_sub(b.as_i64()?)?)),
                    _ => None,
                }
            })
        }
        ExprKind::Compare(operator, left, right) => compare(*operator, &of(left)?, &of(right)?),
        ExprKind::Call(by @ (Function::Min | Function::Max), all) if all.len() > 1 => {
            let numbers: Option<Vec<i64>> = all.iter().map(|one| of(one)?.as_i64()).collect();
            let numbers = numbers?.into_iter();
            Some(json!(match by {
                Function::Min => numbers.min()?,
                _ => numbers.max()?,
            }))
        }
        ExprKind::Call(Function::String, arguments) => Some(json!(print(&of(arguments.first()?)?))),
        ExprKind::Call(Function::Contains, arguments) => match arguments.as_slice() {
            [whole, part] => Some(json!(of(whole)?.as_str()?.contains(of(part)?.as_str()?))),
            _ => None,
        },
        _ => None,
    }
}

fn compare(operator: Compare, a: &Value, b: &Value) -> Option<Value> {
    let order = || Some(a.as_i64()?.cmp(&b.as_i64()?));
    Some(json!(match operator {
        Compare::Equal => a == b,
        Compare::NotEqual => a != b,
        Compare::In => b.as_array()?.contains(a),
        Compare::Less => order()?.is_lt(),
        Compare::LessEqual => order()?.is_le(),
        Compare::Greater => order()?.is_gt(),
        Compare::GreaterEqual => order()?.is_ge(),
    }))
}
