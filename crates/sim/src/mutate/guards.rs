//! Conditions taken out of a plan: those that protect a read, and those that decide only.
//!
//! Owns the cutting of conditions into their parts. Never evaluates one. INVARIANT: a part is
//! protecting only if the same step or claim reads what it asks about.

use serde_json::{Map, Value};

use super::document::id_of;
use super::{CardSubject, Change};

/// Every guard that protects a read, removed.
pub fn protecting(subject: &CardSubject) -> Vec<Change> {
    removed(subject, true)
}

/// Every condition of a step that protects no read, removed.
pub fn deciding(subject: &CardSubject) -> Vec<Change> {
    removed(subject, false)
}

fn removed(subject: &CardSubject, protecting: bool) -> Vec<Change> {
    let mut changes = Vec::new();
    for (index, step) in subject.plan.steps().iter().enumerate() {
        if subject.settled.contains(&id_of(step)) {
            continue;
        }
        let place = format!("/steps/{index}");
        changes.extend(of_conditions(subject, &place, step, protecting));
    }
    if !protecting {
        return changes;
    }
    let claims = subject.plan.0.get("answer").and_then(Value::as_array);
    for (index, claim) in claims.into_iter().flatten().enumerate() {
        changes.extend(of_conditions(
            subject,
            &format!("/answer/{index}"),
            claim,
            true,
        ));
    }
    changes
}

/// The changes of the field `when` at `place`.
fn of_conditions(
    subject: &CardSubject,
    place: &str,
    owner: &Value,
    protecting: bool,
) -> Vec<Change> {
    let whole = owner
        .get("when")
        .and_then(Value::as_str)
        .unwrap_or_default();
    let Some(condition) = inside(whole) else {
        return Vec::new();
    };
    let parts = conjuncts(condition);
    let mut changes = Vec::new();
    for (at, part) in parts.iter().enumerate() {
        let others = parts.iter().enumerate().filter(|(other, _)| *other != at);
        let rest: Vec<&str> = others.map(|(_, part)| part.trim()).collect();
        let mut elsewhere = owner.clone();
        if let Value::Object(map) = &mut elsewhere {
            map.remove("when");
        }
        let reads = format!("{} {elsewhere}", rest.join(" && ")).replace("\\\"", "\"");
        if protects(part, &reads) != protecting {
            continue;
        }
        let mut plan = subject.plan.clone();
        if let Some(Value::Object(map)) = plan.0.pointer_mut(place) {
            set(map, &rest);
        }
        changes.push(Change::of(
            format!("{place} without `{}`", part.trim()),
            &plan,
        ));
    }
    changes
}

fn set(owner: &mut Map<String, Value>, rest: &[&str]) {
    if rest.is_empty() {
        owner.remove("when");
    } else {
        let condition = format!("${{ {} }}", rest.join(" && "));
        owner.insert("when".to_owned(), condition.into());
    }
}

/// What stands in a text that is one expression.
pub(super) fn inside(text: &str) -> Option<&str> {
    text.trim().strip_prefix("${")?.strip_suffix('}')
}

/// Whether a part asks for the presence of something that `reads` reads.
pub(super) fn protects(part: &str, reads: &str) -> bool {
    let part = part.trim();
    if let Some((path, _)) = part.split_once(".status ==") {
        return reads.contains(&format!("{}.output", path.trim()));
    }
    if let Some(path) = part.strip_prefix("has(").and_then(|p| p.strip_suffix(')')) {
        return reads.contains(path);
    }
    if let Some((path, _)) = part.split_once("!= null") {
        return reads.contains(path.trim());
    }
    if let Some((path, rest)) = part.strip_prefix("size(").and_then(|p| p.split_once(')')) {
        let positive = rest.trim().starts_with('>') || rest.trim().starts_with("!= 0");
        return positive && reads.contains(&format!("{path}["));
    }
    false
}

/// The parts of a condition that are joined by `&&` outside parentheses and texts.
pub(super) fn conjuncts(condition: &str) -> Vec<String> {
    let mut parts = vec![String::new()];
    let mut depth = 0_i32;
    let mut quote: Option<char> = None;
    let mut chars = condition.chars().peekable();
    while let Some(c) = chars.next() {
        match (quote, c) {
            (Some(open), c) if c == open => quote = None,
            (None, '"' | '\'') => quote = Some(c),
            (None, '(' | '[' | '{') => depth += 1,
            (None, ')' | ']' | '}') => depth -= 1,
            // Why: `a && b || c` is no list of conditions, and `? :` binds weaker still.
            (None, '|' | '?') if depth == 0 => return vec![condition.to_owned()],
            (None, '&') if depth == 0 && chars.next_if_eq(&'&').is_some() => {
                parts.push(String::new());
                continue;
            }
            _ => {}
        }
        if let Some(last) = parts.last_mut() {
            last.push(c);
        }
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn conditions_are_cut_outside_parentheses_and_texts() {
        assert_eq!(
            conjuncts(" a && (b && c) && 'x && y' "),
            [" a ", " (b && c) ", " 'x && y' "]
        );
        assert_eq!(conjuncts("a && b || c"), ["a && b || c"]);
    }

    #[test]
    fn a_guard_protects_what_is_read() {
        let reads = "steps.a.output.x[0] steps.b.output.y";
        for (part, expected) in [
            ("steps.a.status == \"succeeded\"", true),
            ("steps.c.status == \"succeeded\"", false),
            ("has(steps.b.output.y)", true),
            ("size(steps.a.output.x) > 0", true),
            ("steps.b.output.y != null", true),
            ("steps.b.output.y > 3", false),
        ] {
            assert_eq!(protects(part, reads), expected, "{part}");
        }
    }
}
