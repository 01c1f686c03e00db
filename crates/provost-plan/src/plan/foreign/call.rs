//! The call in a step of another form: which tool, with which arguments.
//!
//! Owns the shapes in which a call is written as data. Resolves no name and reads no reference.

use serde_json::{Map, Value};

use super::names::word;
use super::words::{is_silent, means};
use crate::catalog::{Catalog, Operation};
use crate::node::{Kind, Node};

/// Fields that name the tool of a step, the most proper first.
pub(super) const TOOL: [&str; 14] = [
    "tool",
    "tool_name",
    "action",
    "uses",
    "function",
    "method",
    "command",
    "operation",
    "implementation",
    "resource",
    "template",
    "call",
    "module",
    "tool_call",
];
/// Fields that hold its arguments.
pub(super) const ARGS: [&str; 12] = [
    "args",
    "arguments",
    "inputs",
    "input",
    "parameters",
    "params",
    "with",
    "kwargs",
    "tool_input",
    "action_input",
    "io_mapping",
    "payload",
];

/// A call as written.
pub(super) struct ForeignCall {
    /// The tool.
    pub(super) tool: String,
    /// The arguments by name.
    pub(super) args: Map<String, Value>,
    /// An argument without a name.
    pub(super) bare: Option<Value>,
    /// The fields of the step that it takes.
    pub(super) fields: Vec<String>,
}

/// The call that a map makes, if it makes one.
pub(super) fn call_of(node: &Node, catalog: &Catalog) -> Option<ForeignCall> {
    let Kind::Map(entries) = &node.kind else {
        return None;
    };
    let field = |name: &str| {
        let found = entries.iter().find(|(key, _)| word(&key.value) == name);
        found.filter(|(_, value)| value.kind != Kind::Null)
    };
    let args = ARGS.iter().find_map(|name| {
        let found = field(name)?;
        let is_args = matches!(found.1.kind, Kind::Map(_) | Kind::List(_))
            || *name != "input" && matches!(found.1.kind, Kind::Text(_));
        is_args.then_some(found)
    });
    for name in TOOL {
        let Some((key, value)) = field(name) else {
            continue;
        };
        let mut fields = vec![key.value.clone()];
        if let Kind::Map(_) = value.kind {
            let mut inner = call_of(value, catalog).or_else(|| named(value))?;
            if let Some((key, given)) = args.filter(|_| inner.args.is_empty()) {
                (inner.args, inner.bare) = arguments(given);
                fields.push(key.value.clone());
            }
            inner.fields = fields;
            return Some(inner);
        }
        let Kind::Text(tool) = &value.kind else {
            continue;
        };
        let tool = tool.trim();
        let known = catalog.get(tool).is_some();
        if !known && (tool.is_empty() || tool.contains(char::is_whitespace)) {
            continue;
        }
        let (mut args, bare) = args.map_or_else(Default::default, |(key, given)| {
            fields.push(key.value.clone());
            arguments(given)
        });
        let mut tool = tool.to_owned();
        if tool == "tools/call" {
            // The method of a protocol, whose parameters hold the call.
            let given = node.nearest_at("/params");
            let inner = named(given)?;
            (tool, args) = (inner.tool, inner.args);
            fields.push("params".to_owned());
        }
        return Some(ForeignCall {
            tool,
            args,
            bare,
            fields,
        });
    }
    task_or_name(entries, args, catalog)
}

/// The call of a step that names its tool under a field that has no meaning of its own.
pub(super) fn by_value(
    entries: &[(crate::source::Spanned<String>, Node)],
    catalog: &Catalog,
) -> Option<ForeignCall> {
    let names_tool = |(key, value): &&(crate::source::Spanned<String>, Node)| {
        let name = word(&key.value);
        let is_free = means(&name).is_none() && !is_silent(&name);
        is_free && matches!(&value.kind, Kind::Text(tool) if catalog.get(tool).is_some())
    };
    let mut found = entries.iter().filter(names_tool);
    let (Some((key, value)), None) = (found.next(), found.next()) else {
        return None;
    };
    let Kind::Text(tool) = &value.kind else {
        return None;
    };
    Some(ForeignCall {
        tool: tool.clone(),
        args: Map::new(),
        bare: None,
        fields: vec![key.value.clone()],
    })
}

/// Whether a field of a step is an argument of its tool, where none says which are.
///
/// Why not where it has another meaning: that is what the field says in most forms.
pub(super) fn is_argument(field: &str, operation: &Operation) -> bool {
    let input = operation.input.value();
    let required = input.get("required").and_then(Value::as_array);
    let is_required = required.is_some_and(|all| all.iter().any(|one| one == field));
    let is_known = input
        .get("properties")
        .is_some_and(|all| all.get(field).is_some());
    let name = word(field);
    means(&name).is_none() && is_known && (is_required || !is_silent(&name))
}

/// A call whose tool stands under a field that may mean something else, or is a field itself.
fn task_or_name(
    entries: &[(crate::source::Spanned<String>, Node)],
    args: Option<&(crate::source::Spanned<String>, Node)>,
    catalog: &Catalog,
) -> Option<ForeignCall> {
    if let Some((args_key, given)) = args {
        let names: &[&str] = match is_named_call(entries) {
            true => &["name"],
            false => &["task", "type", "name"],
        };
        for name in names {
            let found = entries.iter().find(|(key, _)| word(&key.value) == *name);
            if let Some((key, value)) = found
                && let Kind::Text(tool) = &value.kind
                && !tool.contains(char::is_whitespace)
            {
                let (args, bare) = arguments(given);
                return Some(ForeignCall {
                    tool: tool.clone(),
                    args,
                    bare,
                    fields: vec![key.value.clone(), args_key.value.clone()],
                });
            }
        }
    }
    let own = |key: &str| {
        let says = key == word(key) && super::names::is_answer(key);
        catalog.get(key).is_some() || says
    };
    entries.iter().find_map(|(key, value)| {
        let (args, bare) = match value.kind {
            Kind::Map(_) if own(&key.value) => arguments(value),
            _ => return None,
        };
        Some(ForeignCall {
            tool: key.value.clone(),
            args,
            bare,
            fields: vec![key.value.clone()],
        })
    })
}

/// Whether a part of a message is a call with its name beside.
fn is_named_call(entries: &[(crate::source::Spanned<String>, Node)]) -> bool {
    let is_call = |(key, value): &(crate::source::Spanned<String>, Node)| {
        let word_of = |kind: &str| matches!(kind, "tool_use" | "function_call" | "tool_call");
        key.value == "type" && matches!(&value.kind, Kind::Text(kind) if word_of(kind))
    };
    entries.iter().any(is_call)
}

/// The same of a map.
pub(super) fn is_call_part(node: &Node) -> bool {
    matches!(&node.kind, Kind::Map(entries) if is_named_call(entries))
}

/// `{ name: "tool", arguments: … }`
fn named(node: &Node) -> Option<ForeignCall> {
    let Kind::Text(name) = &node.get("name")?.kind else {
        return None;
    };
    let given = ARGS.iter().find_map(|field| node.get(field));
    let (args, bare) = given.map(arguments).unwrap_or_default();
    Some(ForeignCall {
        tool: name.clone(),
        args,
        bare,
        fields: Vec::new(),
    })
}

/// Whether a field of a step holds a call with its name inside, and not arguments alone.
pub(super) fn holds_call(field: &str, step: &Node) -> bool {
    let name = word(field);
    // Why the last: in a protocol the parameters of its method hold the call.
    let is_protocol = || {
        step.get("method")
            .is_some_and(|m| m.to_value() == "tools/call")
    };
    TOOL.contains(&name.as_str()) || name == "params" && is_protocol()
}

/// Whether a field of a call is its name or its arguments.
pub(super) fn is_of_call(field: &str) -> bool {
    let name = word(field);
    name == "name" || TOOL.contains(&name.as_str()) || ARGS.contains(&name.as_str())
}

/// Arguments in whatever shape: a map, a list of pairs, JSON in a text.
pub(super) fn arguments(node: &Node) -> (Map<String, Value>, Option<Value>) {
    match &node.kind {
        Kind::Map(entries) => {
            // Why: a list of pairs may stand one level down, with other things beside it.
            for inner in ["parameters", "input"] {
                if let Some(list) = node.get(inner)
                    && let Some(args) = pairs(list)
                {
                    return (args, None);
                }
            }
            let args = entries.iter().map(|(key, value)| {
                let name = key.value.strip_suffix(".$").unwrap_or(&key.value);
                (name.to_owned(), value.to_value())
            });
            (args.collect(), None)
        }
        Kind::List(_) => match pairs(node) {
            Some(args) => (args, None),
            None => (Map::new(), Some(node.to_value())),
        },
        Kind::Text(text) => match serde_json::from_str(text) {
            Ok(Value::Object(args)) => (args, None),
            _ => (Map::new(), Some(Value::String(text.clone()))),
        },
        _ => (Map::new(), None),
    }
}

/// `[{ name: x, value: 1 }]` or `[{ target: x, source: 1 }]`
fn pairs(node: &Node) -> Option<Map<String, Value>> {
    let Kind::List(items) = &node.kind else {
        return None;
    };
    let pair = |item: &Node| {
        let name = item.get("name").or_else(|| item.get("target"))?;
        let value = item.get("value").or_else(|| item.get("source"))?;
        match &name.kind {
            Kind::Text(name) => Some((name.clone(), value.to_value())),
            _ => None,
        }
    };
    items.iter().map(pair).collect()
}
