//! TOML into [`Node`].

use toml::Spanned as TomlSpanned;
use toml::de::{DeTable, DeValue};

use super::yaml_text::out_of_range;
use super::{Kind, Node};
use crate::codes::Code;
use crate::diagnostic::Diagnostic;
use crate::digest::normalize_number;
use crate::limits::SOURCE_DEPTH_MAX;
use crate::source::{Span, Spanned};

pub(super) fn parse(text: &str) -> Result<Node, Diagnostic> {
    let table = DeTable::parse(text).map_err(|error| {
        let span = error
            .span()
            .map_or_else(Span::default, |r| Span::new(r.start, r.end));
        let message = error.message().lines().collect::<Vec<_>>().join("; ");
        Diagnostic::new(Code::Syntax, span, message)
    })?;
    map(table.get_ref(), Span::new(0, text.len()), 0)
}

fn span_of<T>(value: &TomlSpanned<T>) -> Span {
    let range = value.span();
    Span::new(range.start, range.end)
}

fn map(table: &DeTable<'_>, span: Span, depth: usize) -> Result<Node, Diagnostic> {
    let mut entries = Vec::with_capacity(table.len());
    for (key, value) in table {
        let key = Spanned::new(key.get_ref().to_string(), span_of(key));
        entries.push((key, node(value, depth + 1)?));
    }
    // Why: the parser sorts; people read in the order written.
    entries.sort_by_key(|(key, _)| key.span);
    Ok(Node {
        kind: Kind::Map(entries),
        span,
    })
}

fn node(value: &TomlSpanned<DeValue<'_>>, depth: usize) -> Result<Node, Diagnostic> {
    let span = span_of(value);
    if depth > SOURCE_DEPTH_MAX {
        let message = format!("lists and maps nest deeper than {SOURCE_DEPTH_MAX}");
        return Err(Diagnostic::new(Code::TooLarge, span, message));
    }
    let kind = match value.get_ref() {
        DeValue::String(text) => Kind::Text(text.to_string()),
        DeValue::Boolean(value) => Kind::Bool(*value),
        DeValue::Datetime(time) => Kind::Text(time.to_string()),
        DeValue::Integer(integer) => {
            let number = i64::from_str_radix(integer.as_str(), integer.radix())
                .ok()
                .and_then(|i| normalize_number(&i.into()).ok());
            Kind::Number(number.ok_or_else(|| out_of_range(integer.as_str(), span))?)
        }
        DeValue::Float(float) => {
            let number = float
                .as_str()
                .parse::<f64>()
                .ok()
                .filter(|_| !crate::json::vanishes(float.as_str()))
                .and_then(serde_json::Number::from_f64)
                .and_then(|n| normalize_number(&n).ok());
            Kind::Number(number.ok_or_else(|| out_of_range(float.as_str(), span))?)
        }
        DeValue::Array(items) => Kind::List(
            items
                .iter()
                .map(|item| node(item, depth + 1))
                .collect::<Result<_, _>>()?,
        ),
        DeValue::Table(table) => return map(table, span, depth),
    };
    Ok(Node { kind, span })
}
