//! What a policy hangs on, in words: "`amount` > 500".
//!
//! Owns the printing of what partial evaluation leaves. Never decides anything. INVARIANT: what it
//! has no words for is printed as Cedar writes it, never left out.

use std::collections::BTreeSet;

use cedar_policy::pst::{BinaryOp, Expr, Literal, PatternElem, UnaryOp, Var};

use crate::policy::mentions::is_args;
use crate::policy::partial::OPAQUE_WORDS;
use crate::policy::vocabulary::REPEATS;

/// Most characters of a text that are shown.
const TEXT_CHARS_MAX: usize = 60;

/// How tightly a phrase holds together, from loose to tight.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Bond {
    Or,
    And,
    Phrase,
    Term,
}

/// An expression in words; with `holds` false, its opposite.
pub(in crate::policy) fn in_words(expr: &Expr, holds: bool) -> String {
    phrase(expr, holds).0
}

fn wrapped(expr: &Expr, holds: bool, least: Bond) -> String {
    let (text, bond) = phrase(expr, holds);
    if bond < least {
        format!("({text})")
    } else {
        text
    }
}

fn phrase(expr: &Expr, holds: bool) -> (String, Bond) {
    let pick = |yes, no| if holds { yes } else { no };
    match expr {
        Expr::UnaryOp {
            op: UnaryOp::Not,
            expr,
        } => phrase(expr, !holds),
        Expr::BinaryOp {
            op: op @ (BinaryOp::And | BinaryOp::Or),
            ..
        } => chain(expr, *op, holds),
        Expr::BinaryOp { op, left, right } => (comparison(*op, left, right, holds), Bond::Phrase),
        Expr::UnaryOp {
            op: UnaryOp::IsEmpty,
            expr,
        } if path(expr).as_deref() == Some("opaque") => {
            let words = pick("every argument can be shown to policy", OPAQUE_WORDS);
            (words.to_owned(), Bond::Phrase)
        }
        Expr::UnaryOp {
            op: UnaryOp::IsEmpty,
            expr,
        } => {
            let word = pick("is empty", "is not empty");
            (format!("{} {word}", term(expr)), Bond::Phrase)
        }
        Expr::HasAttr { .. } => {
            let word = pick("is given", "is not given");
            (format!("`{}` {word}", asked_path(expr)), Bond::Phrase)
        }
        Expr::Like { expr, pattern } => {
            let word = pick("is like", "is not like");
            let text: String = pattern.iter().map(pattern_text).collect();
            (format!("{} {word} \"{text}\"", term(expr)), Bond::Phrase)
        }
        Expr::IfThenElse {
            cond,
            then_expr,
            else_expr,
        } => {
            let (yes, no) = (in_words(then_expr, holds), in_words(else_expr, holds));
            let cond = wrapped(cond, true, Bond::Phrase);
            (format!("({yes}) where {cond}, else ({no})"), Bond::Or)
        }
        _ if holds => (term(expr), Bond::Term),
        _ => (format!("not {}", term(expr)), Bond::Phrase),
    }
}

/// "a and b and c", or its opposite: "not a or not b or not c".
fn chain(expr: &Expr, op: BinaryOp, holds: bool) -> (String, Bond) {
    let is_and = (op == BinaryOp::And) == holds;
    let (word, bond) = if is_and {
        (" and ", Bond::And)
    } else {
        (" or ", Bond::Or)
    };
    let mut parts = Vec::new();
    flatten(expr, op, &mut parts);
    let mut texts: Vec<String> = Vec::new();
    for part in &parts {
        let implied = op == BinaryOp::And && holds && is_implied(part, &parts);
        let text = wrapped(part, holds, bond);
        if !implied && !texts.contains(&text) {
            texts.push(text);
        }
    }
    if texts.is_empty() {
        texts.push(if is_and { "always" } else { "never" }.to_owned());
    }
    let bond = if texts.len() > 1 { bond } else { Bond::Phrase };
    (texts.join(word), bond)
}

fn pattern_text(part: &PatternElem) -> String {
    match part {
        PatternElem::Char(c) => c.escape_debug().to_string(),
        PatternElem::Wildcard => "*".to_owned(),
    }
}

/// The path that a `has` asks for.
fn asked_path(expr: &Expr) -> String {
    let Expr::HasAttr { expr, attrs } = expr else {
        return String::new();
    };
    let before = path(expr).filter(|before| !before.is_empty());
    let mut names: Vec<String> = before.into_iter().collect();
    names.extend(attrs.iter().map(ToString::to_string));
    names.join(".")
}

fn flatten<'e>(expr: &'e Expr, joined_by: BinaryOp, parts: &mut Vec<&'e Expr>) {
    match expr {
        Expr::BinaryOp { op, left, right } if *op == joined_by => {
            flatten(left, joined_by, parts);
            flatten(right, joined_by, parts);
        }
        // Why: what partial evaluation has settled inside a chain says nothing more.
        other if settled(other) == Some(joined_by == BinaryOp::And) => {}
        other => parts.push(other),
    }
}

/// Whether an expression can only be true, or only be false.
fn settled(expr: &Expr) -> Option<bool> {
    match expr {
        Expr::Literal(Literal::Bool(value)) => Some(*value),
        Expr::UnaryOp {
            op: UnaryOp::Not,
            expr,
        } => settled(expr).map(|value| !value),
        Expr::BinaryOp {
            op: op @ (BinaryOp::And | BinaryOp::Or),
            left,
            right,
        } => {
            let decisive = *op == BinaryOp::Or;
            let (left, right) = (settled(left), settled(right));
            let decided = left == Some(decisive) || right == Some(decisive);
            if decided {
                Some(decisive)
            } else {
                left.and(right)
            }
        }
        _ => None,
    }
}

/// Whether "x is given" goes without saying, since another part looks at x.
fn is_implied(part: &Expr, parts: &[&Expr]) -> bool {
    let name = asked_path(part);
    !name.is_empty()
        && parts
            .iter()
            .any(|other| !matches!(other, Expr::HasAttr { .. }) && reads(other).contains(&name))
}

/// The paths that an expression reads.
fn reads(expr: &Expr) -> BTreeSet<String> {
    let own = |expr: &Expr| path(expr).map(|path| BTreeSet::from([path]));
    let join = |mut one: BTreeSet<String>, two: BTreeSet<String>| {
        one.extend(two);
        one
    };
    expr.reduce(&own, &join, BTreeSet::new())
}

/// A path into the context without its first words: `order.id` for `context.args.order.id`.
fn path(expr: &Expr) -> Option<String> {
    match expr {
        expr if is_args(expr) => Some(String::new()),
        Expr::GetAttr { expr, attr } => match &**expr {
            Expr::Var(Var::Context) if attr == REPEATS => Some(format!("resource.{attr}")),
            Expr::Var(Var::Context) => Some(attr.to_string()),
            inner => {
                let before = path(inner)?;
                Some(if before.is_empty() {
                    attr.to_string()
                } else {
                    format!("{before}.{attr}")
                })
            }
        },
        _ => None,
    }
}

fn comparison(op: BinaryOp, left: &Expr, right: &Expr, holds: bool) -> String {
    let (a, b) = (term(left), term(right));
    let pick = |yes: &str, no: &str| format!("{a} {} {b}", if holds { yes } else { no });
    match op {
        BinaryOp::Eq => pick("is", "is not"),
        BinaryOp::NotEq => pick("is not", "is"),
        BinaryOp::Less | BinaryOp::DecimalLessThan => pick("<", "≥"),
        BinaryOp::LessEq | BinaryOp::DecimalLessEq => pick("≤", ">"),
        BinaryOp::Greater | BinaryOp::DecimalGreater => pick(">", "≤"),
        BinaryOp::GreaterEq | BinaryOp::DecimalGreaterEq => pick("≥", "<"),
        BinaryOp::Contains if matches!(left, Expr::Set(_)) => {
            format!("{b} {} {a}", if holds { "is one of" } else { "is none of" })
        }
        BinaryOp::Contains => pick("holds", "does not hold"),
        BinaryOp::ContainsAll if matches!(left, Expr::Set(_)) => {
            format!(
                "{b} {} {a}",
                if holds {
                    "is all among"
                } else {
                    "is not all among"
                }
            )
        }
        BinaryOp::ContainsAll => pick("holds all of", "does not hold all of"),
        BinaryOp::ContainsAny => pick("shares something with", "shares nothing with"),
        BinaryOp::In => pick("is in", "is not in"),
        BinaryOp::Add => pick("+", "+"),
        BinaryOp::Sub => pick("-", "-"),
        BinaryOp::Mul => pick("×", "×"),
        _ => {
            let text = Expr::BinaryOp {
                op,
                left: left.clone().into(),
                right: right.clone().into(),
            };
            if holds {
                format!("`{text}`")
            } else {
                format!("not `{text}`")
            }
        }
    }
}

fn term(expr: &Expr) -> String {
    if let Some(path) = path(expr) {
        return if path.is_empty() {
            "the arguments".to_owned()
        } else {
            format!("`{path}`")
        };
    }
    match expr {
        Expr::Literal(Literal::Bool(value)) => value.to_string(),
        Expr::Literal(Literal::Long(number)) => number.to_string(),
        Expr::Literal(Literal::String(text)) => quoted(text),
        Expr::UnaryOp {
            op: UnaryOp::Decimal,
            expr,
        } => match &**expr {
            Expr::Literal(Literal::String(text)) => {
                let whole = text.trim_end_matches('0').trim_end_matches('.');
                if text.contains('.') {
                    whole.to_owned()
                } else {
                    text.to_string()
                }
            }
            other => term(other),
        },
        Expr::Set(items) => {
            // Why: a set has no order, and a verdict must read the same every time.
            let items: BTreeSet<String> = items.iter().map(|item| term(item)).collect();
            items.into_iter().collect::<Vec<_>>().join(", ")
        }
        Expr::BinaryOp {
            op: op @ (BinaryOp::Add | BinaryOp::Sub | BinaryOp::Mul),
            left,
            right,
        } => {
            format!("({})", comparison(*op, left, right, true))
        }
        Expr::UnaryOp { .. } | Expr::BinaryOp { .. } | Expr::IfThenElse { .. } => {
            format!("({})", in_words_or_text(expr))
        }
        other => format!("`{other}`"),
    }
}

/// A text in quotes, with what could disturb a terminal escaped, and its end left out if long.
fn quoted(text: &str) -> String {
    let mut short: String = text.chars().take(TEXT_CHARS_MAX).collect();
    if short.len() < text.len() {
        short.push('…');
    }
    format!("{short:?}")
}

fn in_words_or_text(expr: &Expr) -> String {
    match expr {
        Expr::UnaryOp {
            op: UnaryOp::Not | UnaryOp::IsEmpty,
            ..
        }
        | Expr::BinaryOp { .. }
        | Expr::IfThenElse { .. } => in_words(expr, true),
        other => format!("`{other}`"),
    }
}
