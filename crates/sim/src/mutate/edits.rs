//! Mistakes that somebody planted in a plan, as edits of its document.
//!
//! Owns the reading of `corpus/unseen/*/plans/*.faults.yaml`. Never says whether a mistake is
//! found. INVARIANT: an edit of what is not there is refused.

use serde_json::Value;

/// The document after all edits; nothing if one of them names what is not there.
#[must_use]
pub fn edited(document: &Value, edits: &Value) -> Option<Value> {
    let mut changed = document.clone();
    for edit in edits.as_array()? {
        apply(&mut changed, edit)?;
    }
    Some(changed)
}

/// Makes one edit; nothing where the document has no such place.
fn apply(plan: &mut Value, edit: &Value) -> Option<()> {
    let (before, last) = edit.get("path")?.as_str()?.rsplit_once('/')?;
    let last = last.replace("~1", "/").replace("~0", "~");
    let value = edit.get("value").cloned().unwrap_or_default();
    let holder = plan.pointer_mut(before)?;
    match (edit.get("op")?.as_str()?, holder) {
        ("set" | "insert", Value::Object(map)) => drop(map.insert(last, value)),
        ("remove", Value::Object(map)) => drop(map.remove(&last)?),
        ("rename", Value::Object(map)) => {
            let held = map.remove(&last)?;
            map.insert(value.as_str()?.to_owned(), held);
        }
        ("set", Value::Array(items)) => *items.get_mut(last.parse::<usize>().ok()?)? = value,
        ("insert", Value::Array(items)) => {
            let at = if last == "-" {
                items.len()
            } else {
                last.parse().ok()?
            };
            (at <= items.len()).then(|| items.insert(at, value))?;
        }
        ("remove", Value::Array(items)) => {
            let at: usize = last.parse().ok()?;
            (at < items.len()).then(|| items.remove(at))?;
        }
        _ => return None,
    }
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn edits_change_what_they_name_and_nothing_that_is_not_there() {
        let plan = json!({ "steps": [{ "id": "a" }, { "id": "b" }] });
        let edit = |path: &str, op: &str, value: Value| {
            edited(&plan, &json!([{ "path": path, "op": op, "value": value }]))
        };
        for (path, op, value, expected) in [
            (
                "/steps/0/id",
                "set",
                json!("c"),
                json!({ "steps": [{ "id": "c" }, { "id": "b" }] }),
            ),
            (
                "/steps/0",
                "remove",
                Value::Null,
                json!({ "steps": [{ "id": "b" }] }),
            ),
            (
                "/steps/2",
                "insert",
                json!(1),
                json!({ "steps": [{ "id": "a" }, { "id": "b" }, 1] }),
            ),
            (
                "/steps/1/id",
                "rename",
                json!("x"),
                json!({ "steps": [{ "id": "a" }, { "x": "b" }] }),
            ),
        ] {
            assert_eq!(edit(path, op, value), Some(expected), "{op} {path}");
        }
        for (path, op) in [
            ("/steps/7/id", "set"),
            ("/steps/0/x", "remove"),
            ("/steps/0", "rename"),
        ] {
            assert_eq!(edit(path, op, json!("c")), None, "{op} {path}");
        }
    }
}
