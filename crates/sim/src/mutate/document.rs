//! A plan as a document that can be changed field by field.
//!
//! Owns finding steps, references and literals in the JSON of a plan. Never reads a plan as the
//! compiler does: references are found in the text of expressions. INVARIANT: a change of one
//! step leaves every other value as it was.

use std::collections::BTreeSet;

use serde_json::{Map, Value, json};

/// A plan as a document.
#[derive(Clone, Debug)]
pub struct Document(pub Value);

impl Document {
    /// The steps.
    #[must_use]
    pub fn steps(&self) -> &[Value] {
        let steps = self.0.get("steps").and_then(Value::as_array);
        steps.map(Vec::as_slice).unwrap_or_default()
    }

    /// The ids of all steps.
    #[must_use]
    pub fn ids(&self) -> Vec<String> {
        self.steps().iter().map(id_of).collect()
    }

    /// The document with other steps.
    #[must_use]
    pub fn with_steps(&self, steps: Vec<Value>) -> Self {
        let mut changed = self.0.clone();
        if let Value::Object(map) = &mut changed {
            map.insert("steps".to_owned(), Value::Array(steps));
        }
        Self(changed)
    }

    /// The document with the step at `index` changed.
    #[must_use]
    pub fn with_step(&self, index: usize, change: impl FnOnce(&mut Map<String, Value>)) -> Self {
        let mut steps = self.steps().to_vec();
        if let Some(Value::Object(step)) = steps.get_mut(index) {
            change(step);
        }
        self.with_steps(steps)
    }

    /// The document with a field of the plan itself.
    #[must_use]
    pub fn with_field(&self, name: &str, value: Value) -> Self {
        let mut changed = self.0.clone();
        if let Value::Object(map) = &mut changed {
            map.insert(name.to_owned(), value);
        }
        Self(changed)
    }

    /// The places outside step `id` that name it, as pointers.
    #[must_use]
    pub fn mentions(&self, id: &str) -> Vec<String> {
        let own = self.steps().iter().position(|step| id_of(step) == id);
        let own = own.map(|index| format!("/steps/{index}/"));
        let mut found = Vec::new();
        walk(&self.0, "", &mut |pointer, value| {
            let inside = own.as_ref().is_some_and(|own| pointer.starts_with(own));
            if !inside && names(pointer, value, id) {
                found.push(pointer.to_owned());
            }
        });
        found
    }

    /// The steps that step `index` waits for, by the text of its fields.
    #[must_use]
    pub fn waits_for(&self, index: usize) -> BTreeSet<String> {
        let Some(step) = self.steps().get(index) else {
            return BTreeSet::new();
        };
        let mut found = BTreeSet::new();
        for id in self.ids() {
            walk(step, "", &mut |pointer, value| {
                if id != id_of(step) && names(pointer, value, &id) {
                    found.insert(id.clone());
                }
            });
        }
        found
    }

    /// The steps that must be over before step `index`, directly or not.
    #[must_use]
    pub fn before(&self, index: usize) -> BTreeSet<String> {
        let ids = self.ids();
        let mut all = self.waits_for(index);
        loop {
            let more: BTreeSet<String> = all
                .iter()
                .filter_map(|id| ids.iter().position(|other| other == id))
                .flat_map(|at| self.waits_for(at))
                .filter(|id| !all.contains(id))
                .collect();
            if more.is_empty() {
                return all;
            }
            all.extend(more);
        }
    }

    /// The document in which step `from` is called `to` everywhere.
    #[must_use]
    pub fn renamed(&self, from: &str, to: &str) -> Self {
        Self(renamed(&self.0, "", from, to))
    }
}

/// The id of a step.
#[must_use]
pub fn id_of(step: &Value) -> String {
    step.get("id")
        .and_then(Value::as_str)
        .unwrap_or_default()
        .to_owned()
}

/// Calls `see` with every value that is no list or map, and its pointer.
pub fn walk(value: &Value, pointer: &str, see: &mut dyn FnMut(&str, &Value)) {
    match value {
        Value::Object(map) => {
            for (key, inner) in map {
                walk(inner, &format!("{pointer}/{}", escape(key)), see);
            }
        }
        Value::Array(items) => {
            for (index, inner) in items.iter().enumerate() {
                walk(inner, &format!("{pointer}/{index}"), see);
            }
        }
        leaf => see(pointer, leaf),
    }
}

/// A key as part of a pointer.
#[must_use]
pub fn escape(key: &str) -> String {
    key.replace('~', "~0").replace('/', "~1")
}

/// Whether a value at `pointer` names step `id`.
fn names(pointer: &str, value: &Value, id: &str) -> bool {
    let Some(text) = value.as_str() else {
        return false;
    };
    let is_list = pointer.contains("/needs/") || pointer.contains("/cites/");
    (is_list && text == id) || (text.contains("${") && !references(text, id).is_empty())
}

/// Where `text` says `steps.ID`, by the offset behind it.
#[must_use]
pub fn references(text: &str, id: &str) -> Vec<usize> {
    let sought = format!("steps.{id}");
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    text.match_indices(&sought)
        .map(|(at, _)| at + sought.len())
        .filter(|end| !text.get(*end..).unwrap_or_default().starts_with(is_word))
        .collect()
}

fn renamed(value: &Value, pointer: &str, from: &str, to: &str) -> Value {
    match value {
        Value::Object(map) => map
            .iter()
            .map(|(key, inner)| {
                let pointer = format!("{pointer}/{}", escape(key));
                (key.clone(), renamed(inner, &pointer, from, to))
            })
            .collect::<Map<_, _>>()
            .into(),
        Value::Array(items) => {
            let rename = |(index, inner)| renamed(inner, &format!("{pointer}/{index}"), from, to);
            items.iter().enumerate().map(rename).collect()
        }
        Value::String(text) => {
            let is_id = pointer.matches('/').count() == 3 && pointer.ends_with("/id");
            if text == from && (is_id || names(pointer, value, from)) {
                return json!(to);
            }
            if !text.contains("${") {
                return value.clone();
            }
            let mut changed = text.clone();
            for end in references(text, from).into_iter().rev() {
                changed.replace_range(end - from.len()..end, to);
            }
            changed.into()
        }
        other => other.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_is_renamed_where_it_is_named_and_nowhere_else() {
        let plan = Document(json!({ "steps": [
            { "id": "a", "tool": "t.a", "args": { "x": "a" } },
            { "id": "ab", "needs": ["a"], "when": "${ steps.a.output.a > steps.ab2.output }" },
        ] }));
        assert_eq!(plan.mentions("a"), ["/steps/1/needs/0", "/steps/1/when"]);
        assert_eq!(plan.mentions("ab"), Vec::<String>::new());
        let renamed = plan.renamed("a", "z");
        assert_eq!(
            renamed.0,
            json!({ "steps": [
                { "id": "z", "tool": "t.a", "args": { "x": "a" } },
                { "id": "ab", "needs": ["z"], "when": "${ steps.z.output.a > steps.ab2.output }" },
            ] })
        );
    }
}
