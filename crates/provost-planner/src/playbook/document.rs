//! Plan documents as text: as the playbook's author wrote them where that can be kept.

use provost_plan::node::{Node, parse_yaml};
use provost_plan::plan::PLAN_SCHEMA;
use provost_plan::source::Source;
use serde_json::{Map, Value};

/// The value of the plan `node` with the version marker that a document of its own needs.
pub(super) fn with_schema(node: &Node) -> Value {
    let mut map = match node.to_value() {
        Value::Object(map) => map,
        _ => Map::new(),
    };
    map.insert("schema".to_owned(), Value::from(PLAN_SCHEMA));
    Value::Object(map)
}

/// The text of the plan `node` of a playbook: its own lines, so that findings are shown over what
/// its author wrote, comments and all; printed anew where they do not stand alone.
pub(super) fn own_text(node: &Node, source: &Source) -> String {
    let value = with_schema(node);
    let cut = cut(node, source);
    let stands_alone = |text: &String| parse_yaml(text).is_ok_and(|node| node.to_value() == value);
    cut.filter(stands_alone).unwrap_or_else(|| print(&value))
}

fn cut(node: &Node, source: &Source) -> Option<String> {
    let before = source.text.get(..node.span.start)?;
    let (_, indent) = before.rsplit_once('\n')?;
    let body = source.text.get(node.span.start..node.span.end)?;
    if !indent.chars().all(|c| c == ' ') {
        return None;
    }
    // Why empty lines: what is found in it stands in the lines of the file.
    let line = before.matches('\n').count();
    let above = "\n".repeat(line.checked_sub(1)?);
    let body = body.trim_end();
    let has_schema = node.get("schema").is_some();
    Some(match has_schema {
        true => format!("{above}\n{indent}{body}\n"),
        false => format!("{above}{indent}schema: {PLAN_SCHEMA}\n{indent}{body}\n"),
    })
}

/// Prints a plan document.
pub(super) fn print(value: &Value) -> String {
    let order = ["schema", "goal", "limits", "success", "steps", "answer"];
    let Value::Object(map) = value else {
        return value.to_string();
    };
    let known = order.iter().filter_map(|key| map.get_key_value(*key));
    let other = map.iter().filter(|(key, _)| !order.contains(&key.as_str()));
    let fields: Vec<_> = known
        .chain(other)
        .map(|(key, value)| {
            let value = serde_json::to_string_pretty(value).unwrap_or_else(|_| value.to_string());
            format!(
                "  {}: {}",
                Value::from(key.as_str()),
                value.replace('\n', "\n  ")
            )
        })
        .collect();
    format!("{{\n{}\n}}\n", fields.join(",\n"))
}
