//! The difference of two plans as people read it: what reaches further, what less, what becomes of
//! approvals, and then every field.
//!
//! Owns the look of a difference. Judges nothing.

use std::collections::{BTreeMap, BTreeSet};

use provost_plan::amount::Amount;
use provost_plan::approve::Delta;
use provost_plan::reach::{CountChange, Facet, ReachDiff};
use serde_json::{Map, Value, json};

use super::page::{Page, TextStyle};
use super::words::lasted;

/// Fields that differ between two documents.
pub struct CountDelta {
    added: BTreeMap<String, Value>,
    removed: BTreeMap<String, Value>,
    changed: BTreeMap<String, Vec<(String, Value, Value)>>,
    /// `success`, `answer` and the like, where they differ.
    parts: Vec<(String, Value, Value)>,
}

/// The two reaches in a line each, where they differ.
pub fn reaches(page: &mut Page, before: &str, after: &str, width: usize) {
    if before != after {
        page.wrapped("reach", after, width);
        page.wrapped("before", before, width);
    }
}

/// What reaches further, what less, and which numbers changed.
pub fn growth(page: &mut Page, growth: &ReachDiff) {
    if growth.is_empty() {
        page.faint("  reaches neither further nor less far").end();
        return;
    }
    for lost in &growth.weaker {
        page.put(TextStyle::Warn, "  + weaker    ");
        page.line(&format!("no longer {lost}"));
    }
    for (look, mark, facts) in [
        (TextStyle::Warn, "+", &growth.grew),
        (TextStyle::Good, "-", &growth.shrank),
    ] {
        for facet in Facet::ALL {
            for fact in facts.get(&facet).into_iter().flatten() {
                page.put(look, &format!("  {mark} {:<9} ", facet.words()));
                page.line(fact);
            }
        }
    }
    for CountChange { of, from, to } in &growth.counts {
        let (look, mark) = if to > from {
            (TextStyle::Warn, "+")
        } else {
            (TextStyle::Good, "-")
        };
        page.put(look, &format!("  {mark} {:<9} ", counted(of)));
        page.line(&format!("{} → {}", amount(of, *from), amount(of, *to)));
    }
    for change in &growth.sums {
        let (look, mark) = match change.is_more() {
            true => (TextStyle::Warn, "+"),
            false => (TextStyle::Good, "-"),
        };
        page.put(look, &format!("  {mark} {:<9} ", "adds up"));
        let (from, to) = (sum(change.from), sum(change.to));
        page.line(&format!("{}: {from} → {to}", change.of));
    }
}

fn sum(most: Option<Amount>) -> String {
    most.map_or_else(|| "no bound".to_owned(), |most| most.to_string())
}

fn counted(of: &str) -> &str {
    if of == "ms" { "time" } else { of }
}

fn amount(of: &str, n: u64) -> String {
    match of {
        "ms" => lasted(i64::try_from(n).unwrap_or(i64::MAX)),
        _ => n.to_string(),
    }
}

/// What becomes of approvals.
pub fn approvals(page: &mut Page, delta: &Delta) {
    for (look, words, steps) in [
        (TextStyle::Good, "approval kept: ", &delta.retain),
        (TextStyle::Warn, "approval needed again: ", &delta.replace),
        (
            TextStyle::Warn,
            "approval removed with its step: ",
            &delta.clear,
        ),
    ] {
        if !steps.is_empty() {
            page.text("  ").put(look, words).line(&steps.join(", "));
        }
    }
}

fn steps(plan: &Value) -> BTreeMap<String, Value> {
    let steps = plan.get("steps").and_then(Value::as_array);
    steps
        .into_iter()
        .flatten()
        .filter_map(|step| Some((step.get("id")?.as_str()?.to_owned(), step.clone())))
        .collect()
}

impl CountDelta {
    /// From one document to another.
    pub fn between(before: &Value, after: &Value) -> Self {
        let (old, new) = (steps(before), steps(after));
        let only = |these: &BTreeMap<String, Value>, others: &BTreeMap<String, Value>| {
            let kept = these.iter().filter(|(id, _)| !others.contains_key(*id));
            kept.map(|(id, step)| (id.clone(), step.clone())).collect()
        };
        let changed = new
            .iter()
            .filter_map(|(id, step)| {
                let fields = differing(old.get(id)?, step, &[]);
                (!fields.is_empty()).then(|| (id.clone(), fields))
            })
            .collect();
        Self {
            added: only(&new, &old),
            removed: only(&old, &new),
            changed,
            parts: differing(before, after, &["steps", "schema"]),
        }
    }

    /// The difference as data.
    pub fn to_json(&self) -> Map<String, Value> {
        let of = |fields: &[(String, Value, Value)]| -> Value {
            let pairs = fields
                .iter()
                .map(|(field, old, new)| (field.clone(), json!({ "from": old, "to": new })));
            Value::Object(pairs.collect())
        };
        let changed = self
            .changed
            .iter()
            .map(|(id, fields)| (id.clone(), of(fields)));
        let mut map = Map::new();
        map.insert("added".to_owned(), json!(self.added));
        map.insert("removed".to_owned(), json!(self.removed));
        map.insert("changed".to_owned(), Value::Object(changed.collect()));
        map.insert("parts".to_owned(), of(&self.parts));
        map
    }
}

/// The fields in which two maps differ.
fn differing(old: &Value, new: &Value, without: &[&str]) -> Vec<(String, Value, Value)> {
    let keys = |value: &Value| -> BTreeSet<String> {
        value
            .as_object()
            .into_iter()
            .flat_map(|map| map.keys().cloned())
            .collect()
    };
    let of = |value: &Value, key: &str| value.get(key).cloned().unwrap_or(Value::Null);
    keys(old)
        .union(&keys(new))
        .filter(|key| !without.contains(&key.as_str()))
        .map(|key| (key.clone(), of(old, key), of(new, key)))
        .filter(|(_, old, new)| old != new)
        .collect()
}

/// Every field that differs.
pub fn change(page: &mut Page, change: &CountDelta) {
    let tool = |step: &Value| {
        let is = |field: &str| step.get(field).is_some();
        let other = match (is("subgoal"), is("assert")) {
            (true, _) => "(subgoal)",
            (false, true) => "(assert)",
            (false, false) => "(question)",
        };
        let tool = step.get("tool").and_then(Value::as_str);
        tool.unwrap_or(other).to_owned()
    };
    for (id, step) in &change.removed {
        page.put(TextStyle::Bad, &format!("- {id}"))
            .line(&format!("  {}", tool(step)));
    }
    for (id, step) in &change.added {
        page.put(TextStyle::Good, &format!("+ {id}"))
            .line(&format!("  {}", tool(step)));
        for (field, _, value) in differing(&Value::Null, step, &["id", "tool"]) {
            page.line(&format!("    {field}: {value}"));
        }
    }
    for (id, fields) in &change.changed {
        page.put(TextStyle::Warn, &format!("~ {id}")).end();
        put_fields(page, fields, "    ");
    }
    for part in &change.parts {
        page.put(TextStyle::Warn, &format!("~ {}", part.0)).end();
        put_fields(page, std::slice::from_ref(part), "    ");
    }
}

fn put_fields(page: &mut Page, fields: &[(String, Value, Value)], indent: &str) {
    for (field, old, new) in fields {
        if let (Value::Array(old), Value::Array(new)) = (old, new) {
            put_items(page, old, new, &format!("{indent}{field} "));
            continue;
        }
        if old.is_object() && new.is_object() {
            page.line(&format!("{indent}{field}"));
            put_fields(page, &differing(old, new, &[]), &format!("{indent}  "));
            continue;
        }
        if !old.is_null() {
            page.text(indent)
                .put(TextStyle::Bad, "- ")
                .line(&format!("{field}: {old}"));
        }
        if !new.is_null() {
            page.text(indent)
                .put(TextStyle::Good, "+ ")
                .line(&format!("{field}: {new}"));
        }
    }
}

/// The items that only one of two lists has.
fn put_items(page: &mut Page, old: &[Value], new: &[Value], lead: &str) {
    for item in old.iter().filter(|item| !new.contains(item)) {
        page.text(lead)
            .put(TextStyle::Bad, "- ")
            .line(&item.to_string());
    }
    for item in new.iter().filter(|item| !old.contains(item)) {
        page.text(lead)
            .put(TextStyle::Good, "+ ")
            .line(&item.to_string());
    }
}
