//! Names of a foreign document: of fields, of steps and of tools.
//!
//! Owns which spellings are one name. INVARIANT: two names are one only if they differ in nothing
//! but case and the signs between words; everything else is offered, never put there.

use std::sync::Arc;

use crate::catalog::Catalog;
use crate::plan::ranking::rank;

/// Most tools that are offered for a name.
const NEAR_MAX: usize = 3;

/// A key as one word: `dependsOn`, `depends-on` and `depends_on` are the same.
pub(super) fn word(key: &str) -> String {
    let mut out = String::with_capacity(key.len() + 4);
    let mut before_small = false;
    for c in key.chars() {
        if c.is_uppercase() && before_small {
            out.push('_');
        }
        before_small = c.is_lowercase() || c.is_ascii_digit();
        if c == '-' || c == ' ' || c == '.' {
            out.push('_');
        } else {
            out.extend(c.to_lowercase());
        }
    }
    out
}

/// The id that a step gets for a name: small letters, digits and `_`, and no word of expressions.
pub(super) fn id_of(name: &str) -> String {
    const OF_EXPRESSIONS: [&str; 8] = ["in", "true", "false", "null", "as", "for", "if", "let"];
    let mut id = String::new();
    for c in word(name).chars() {
        if c.is_ascii_lowercase() || c.is_ascii_digit() {
            id.push(c);
        } else if !id.ends_with('_') && !id.is_empty() {
            id.push('_');
        }
    }
    let mut id = id.chars().take(36).collect::<String>();
    while id.ends_with('_') {
        id.pop();
    }
    if !id.starts_with(|c: char| c.is_ascii_lowercase()) || OF_EXPRESSIONS.contains(&id.as_str()) {
        id = format!("step_{id}");
    }
    id.trim_end_matches('_').to_owned()
}

/// Whether a call only says something at the end, and is none of a tool.
pub(super) fn is_answer(tool: &str) -> bool {
    let last = word(tool.rsplit(['.', '/']).next().unwrap_or(tool));
    matches!(
        last.as_str(),
        "final_answer" | "finish" | "respond" | "answer" | "debug" | "print" | "say" | "join"
    ) || last == "done"
}

/// The tool of the catalog that a name is, if it is one; else those that come near.
pub(super) fn tool_of<'c>(name: &str, catalog: &'c Catalog) -> Result<&'c str, Vec<&'c str>> {
    // Why the last part: an address names the function at its end.
    let name = name.rsplit([':', '@']).next().unwrap_or(name);
    let bare = |name: &str| -> String {
        let letters = name.chars().filter(char::is_ascii_alphanumeric);
        letters.map(|c| c.to_ascii_lowercase()).collect()
    };
    let wanted = bare(name);
    let mut same = catalog.names().filter(|known| bare(known) == wanted);
    if let (Some(only), None) = (same.next(), same.next()) {
        return Ok(only);
    }
    Err(near(name, catalog))
}

/// The tools that fit a text by its words, the nearest first.
pub(super) fn near<'c>(text: &str, catalog: &'c Catalog) -> Vec<&'c str> {
    let hits = rank(catalog.iter().map(Arc::as_ref), text);
    let names = hits.into_iter().map(|hit| hit.operation.name.as_str());
    names.take(NEAR_MAX).collect()
}
