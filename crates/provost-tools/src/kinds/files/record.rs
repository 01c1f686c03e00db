//! One line of JSON, of which only a few fields are wanted.
//!
//! Owns picking fields by dotted path without building the rest. INVARIANT: a line is a record
//! only if the whole line is one JSON object.

use std::fmt;

use serde::de::{Deserializer, IgnoredAny, MapAccess, Visitor};
use serde_json::Value;

/// The fields a search wants, each by its dotted path.
#[derive(Clone, Debug, Default)]
pub(crate) struct FieldPaths {
    paths: Vec<String>,
}

/// The values of the wanted fields, in the order they were asked for.
pub(crate) type FieldValues = Vec<Option<Value>>;

impl FieldPaths {
    /// Adds a field and says where its value will stand.
    pub(crate) fn add(&mut self, path: &str) -> usize {
        if let Some(slot) = self.paths.iter().position(|known| known == path) {
            return slot;
        }
        self.paths.push(path.to_owned());
        self.paths.len() - 1
    }

    /// Picks the fields of one line; `None` if the line is no JSON object.
    pub(crate) fn pick(&self, line: &str) -> Option<FieldValues> {
        let mut reader = serde_json::Deserializer::from_str(line);
        let picked = reader.deserialize_map(FieldVisitor(&self.paths)).ok()?;
        reader.end().ok()?;
        Some(picked)
    }
}

/// What is left of `path` after the key: nothing if the key is the whole path (a key may itself
/// hold dots), else the path inside the key's value.
fn rest<'p>(path: &'p str, key: &str) -> Option<&'p str> {
    let rest = path.strip_prefix(key)?;
    if rest.is_empty() {
        return Some("");
    }
    rest.strip_prefix('.')
}

fn inside(value: &Value, path: &str) -> Option<Value> {
    if path.is_empty() {
        return Some(value.clone());
    }
    let Value::Object(map) = value else {
        return None;
    };
    map.iter()
        .find_map(|(key, value)| inside(value, rest(path, key)?))
}

struct FieldVisitor<'a>(&'a [String]);

impl<'de> Visitor<'de> for FieldVisitor<'_> {
    type Value = FieldValues;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<FieldValues, A::Error> {
        let mut picked: FieldValues = vec![None; self.0.len()];
        while let Some(key) = map.next_key::<std::borrow::Cow<'de, str>>()? {
            if !self.0.iter().any(|path| rest(path, &key).is_some()) {
                map.next_value::<IgnoredAny>()?;
                continue;
            }
            let value: Value = map.next_value()?;
            for (path, slot) in self.0.iter().zip(&mut picked) {
                if let Some(found) = rest(path, &key).and_then(|path| inside(&value, path)) {
                    *slot = Some(found);
                }
            }
        }
        Ok(picked)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::FieldPaths;

    #[test]
    fn fields_are_picked_by_path() {
        let mut wanted = FieldPaths::default();
        assert_eq!(wanted.add("status"), 0);
        assert_eq!(wanted.add("http.path"), 1);
        assert_eq!(wanted.add("status"), 0);
        let pick = |line: &str| wanted.pick(line);
        let both = vec![Some(json!(503)), Some(json!("/a"))];
        assert_eq!(
            pick(r#"{"x":[{"status":1}],"http":{"path":"/a"},"status":503}"#),
            Some(both.clone())
        );
        assert_eq!(pick(r#" {"http.path":"/a","status":503} "#), Some(both));
        assert_eq!(pick(r#"{"http":"no map"}"#), Some(vec![None, None]));
        assert_eq!(
            pick(r#"{"st\u0061tus":1}"#),
            Some(vec![Some(json!(1)), None])
        );
        for wrong in ["", "[]", "1", "{", r#"{"a":1}x"#, r#"{"a":}"#, "text"] {
            assert_eq!(pick(wrong), None, "{wrong}");
        }
    }
}
