//! The words a policy may use: Cedar's schema, made from the catalog.
//!
//! Owns entity types, actions and their context. Each operation is an action in the groups
//! `Action::"call"` and `Action::"server:NAME"`; `Action::"approve"` stands for a person's yes, and
//! each [`RunAction`] for what else people do to a run, or to the workspace.
//! INVARIANT: what the schema declares is what [`super::decide`] supplies, attribute by attribute.

use std::collections::BTreeMap;

use cedar_policy::Schema;
use serde_json::{Map, Value, json};

use super::action::RunAction;
use super::shape::ShapeFields;
use crate::catalog::Catalog;

/// The group of all operations.
pub(super) const CALL: &str = "call";
/// The action of saying yes.
pub(super) const APPROVE: &str = "approve";
/// Stands in the group while the catalog is empty, so that policies about the group still load.
const NO_OPERATION: &str = "no operation";

/// How often a call was made before: of the resource, and of the context while it is not known.
pub(super) const REPEATS: &str = "repeats";

/// What the plan of a call comes to, of each counted value.
pub(super) const TOTAL: &str = "total";

/// The attributes of the resource of a call.
pub(super) const CALL_ATTRIBUTES: [(&str, &str); 13] = [
    ("effect", "String"),
    ("risk", "String"),
    ("tags", "Set"),
    ("role", "String"),
    ("sink_integrity", "String"),
    ("control_integrity", "String"),
    ("untrusted_sink", "Boolean"),
    ("untrusted_control", "Boolean"),
    ("secret_args", "Boolean"),
    ("inputs_validated", "Boolean"),
    ("values_from_goal", "Boolean"),
    (REPEATS, "Long"),
    ("attended", "Boolean"),
];

/// The attributes of the resource of an approval, beside `requester`.
pub(super) const APPROVAL_ATTRIBUTES: [(&str, &str); 5] = [
    ("operation", "String"),
    ("effect", "String"),
    ("risk", "String"),
    ("tags", "Set"),
    ("quorum", "Long"),
];

/// The kind of resource of what people say to a run beside that.
pub(super) const RUN: &str = "Run";

/// The kind of resource of what concerns no run but the whole: it looks as a run without a call.
pub(super) const WORKSPACE: &str = "Workspace";

/// The attributes of such a resource, beside `requester`: those of the call that is settled.
pub(super) const RUN_ATTRIBUTES: [(&str, &str); 4] = [
    ("operation", "String"),
    ("effect", "String"),
    ("risk", "String"),
    ("tags", "Set"),
];

/// The group of a server's operations.
pub(super) fn server_group(server: &str) -> String {
    format!("server:{server}")
}

/// Whether an operation may bear this name.
pub(super) fn is_reserved(name: &str) -> bool {
    let mut acts = RunAction::ALL.iter().map(|action| action.word());
    [CALL, APPROVE, NO_OPERATION].contains(&name)
        || name.starts_with("server:")
        || acts.any(|word| word == name)
}

/// The schema, in Cedar's JSON form.
pub(super) fn schema_value(catalog: &Catalog, fields: &BTreeMap<String, ShapeFields>) -> Value {
    let mut actions = Map::new();
    actions.insert(CALL.to_owned(), json!({}));
    let total = total(&catalog.values());
    for operation in catalog.iter() {
        let group = server_group(operation.server());
        actions.entry(group.clone()).or_insert_with(|| json!({}));
        let args = fields.get(&operation.name).cloned().unwrap_or_default();
        let action = call_action(&args, &total, &[CALL, &group]);
        actions.insert(operation.name.clone(), action);
    }
    if fields.is_empty() {
        actions.insert(
            NO_OPERATION.to_owned(),
            call_action(&ShapeFields::default(), &total, &[CALL]),
        );
    }
    let approve = json!({
        "appliesTo": { "principalTypes": ["User"], "resourceTypes": ["Approval"] },
    });
    actions.insert(APPROVE.to_owned(), approve);
    for action in RunAction::ALL {
        actions.insert(action.word().to_owned(), run_action(action));
    }
    json!({ "": { "entityTypes": entity_types(), "actions": actions } })
}

/// The type of the sums: each is there only where it has a bound.
fn total(values: &BTreeMap<String, bool>) -> Value {
    let of = |is_whole: bool| match is_whole {
        true => json!({ "type": "Long", "required": false }),
        false => json!({ "type": "Extension", "name": "decimal", "required": false }),
    };
    let each = values.iter();
    let attributes: Map<String, Value> = each.map(|(n, whole)| (n.clone(), of(*whole))).collect();
    json!({ "type": "Record", "attributes": attributes })
}

fn call_action(args: &ShapeFields, total: &Value, groups: &[&str]) -> Value {
    let set = json!({ "type": "Set", "element": { "type": "String" } });
    let members: Vec<Value> = groups.iter().map(|id| json!({ "id": id })).collect();
    json!({
        "memberOf": members,
        "appliesTo": {
            "principalTypes": ["User", "Agent"],
            "resourceTypes": ["Call"],
            "context": { "type": "Record", "attributes": {
                "args": args.cedar(), "sinks": set, "hosts": set, "opaque": set, TOTAL: total,
            } },
        },
    })
}

fn run_action(action: RunAction) -> Value {
    let attributes = action.context().iter().map(|(name, ty, required)| {
        let mut ty = match *ty {
            "User" => json!({ "type": "Entity", "name": "User" }),
            ty => json!({ "type": ty }),
        };
        if let (Value::Object(ty), false) = (&mut ty, required) {
            ty.insert("required".to_owned(), Value::Bool(false));
        }
        ((*name).to_owned(), ty)
    });
    let principals: &[&str] = match action.is_for_agents() {
        true => &["User", "Agent"],
        false => &["User"],
    };
    json!({
        "appliesTo": {
            "principalTypes": principals,
            "resourceTypes": [action.resource()],
            "context": { "type": "Record", "attributes": attributes.collect::<Map<_, _>>() },
        },
    })
}

fn entity_types() -> Value {
    let with_requester = |list| {
        let mut all = attributes(list);
        let user = json!({ "type": "Entity", "name": "User" });
        all.insert("requester".to_owned(), user);
        all
    };
    let approval = with_requester(&APPROVAL_ATTRIBUTES[..]);
    let run = with_requester(&RUN_ATTRIBUTES[..]);
    json!({
        "Group": {},
        "User": { "memberOfTypes": ["Group"], "shape": { "type": "Record", "attributes": {
            "key": { "type": "String", "required": false },
        } } },
        "Agent": { "memberOfTypes": ["User", "Group"] },
        "Call": { "shape": { "type": "Record", "attributes": attributes(&CALL_ATTRIBUTES) } },
        "Approval": { "shape": { "type": "Record", "attributes": approval } },
        RUN: { "shape": { "type": "Record", "attributes": run } },
        WORKSPACE: { "shape": { "type": "Record", "attributes": run } },
    })
}

fn attributes(list: &[(&str, &str)]) -> Map<String, Value> {
    let of = |ty: &str| match ty {
        "Set" => json!({ "type": "Set", "element": { "type": "String" } }),
        ty => json!({ "type": ty }),
    };
    list.iter()
        .map(|(name, ty)| ((*name).to_owned(), of(ty)))
        .collect()
}

/// The schema with `repeats` in the context of each call too: of an entity, partial evaluation
/// leaves either every attribute open or none.
pub(super) fn with_open_repeats(mut value: Value) -> Value {
    let actions = value.get_mut("").and_then(|all| all.get_mut("actions"));
    let actions = actions.and_then(Value::as_object_mut);
    for action in actions.into_iter().flat_map(Map::values_mut) {
        let context = action.pointer_mut("/appliesTo/context/attributes");
        if let Some(context) = context.and_then(Value::as_object_mut) {
            context.insert(REPEATS.to_owned(), json!({ "type": "Long" }));
        }
    }
    value
}

/// Loads the schema.
///
/// # Errors
/// What Cedar says of it, in words.
pub(super) fn load(value: Value) -> Result<Schema, String> {
    Schema::from_json_value(value).map_err(|error| super::load::words_of(&error))
}
