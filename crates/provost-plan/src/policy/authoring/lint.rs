//! Lints of our own over policies that Cedar accepts.
//!
//! Owns four: `has` of an attribute that nothing in scope has, a word that no effect, risk or
//! integrity is, a value that the schema of an argument excludes, and one that no sink can have.
//! Each makes a rule that silently never applies. INVARIANT: a lint never accepts what Cedar
//! refuses; it only refuses more.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use cedar_policy::pst::{ActionConstraint, BinaryOp, Expr, Literal, Template, Var};

use crate::policy::action::RunAction;
use crate::policy::load::PolicyEntry;
use crate::policy::mentions::expression;
use crate::policy::shape::{EntityShape, ShapeFields};
use crate::policy::vocabulary::{
    APPROVAL_ATTRIBUTES, APPROVE, CALL, CALL_ATTRIBUTES, RUN_ATTRIBUTES, TOTAL, server_group,
};
use serde_json::Value;

use crate::catalog::{Catalog, Effect, Operation, Risk};
use crate::diagnostic::{Diagnostic, nearest};

/// The operations, with their groups and arguments.
#[derive(Debug, Default)]
pub(in crate::policy) struct Actions {
    operations: BTreeMap<String, (String, ShapeFields)>,
    inputs: BTreeMap<String, Arc<Operation>>,
    /// The values that they count.
    values: BTreeSet<String>,
}

impl Actions {
    /// Of a catalog, with the fields computed from it.
    pub fn new(catalog: &Catalog, fields: &BTreeMap<String, ShapeFields>) -> Self {
        let operations = catalog
            .iter()
            .map(|operation| {
                let fields = fields.get(&operation.name).cloned().unwrap_or_default();
                (
                    operation.name.clone(),
                    (server_group(operation.server()), fields),
                )
            })
            .collect();
        let inputs = catalog.iter().map(|op| (op.name.clone(), Arc::clone(op)));
        Self {
            operations,
            inputs: inputs.collect(),
            values: catalog.values().into_keys().collect(),
        }
    }

    /// A finding about an action that there is not, with the one that is probably meant: Cedar
    /// compares whole names, and knows no more of a tool than of a statement.
    pub fn did_you_mean(&self, found: Diagnostic) -> Diagnostic {
        let name = found.message.split_once("unrecognized action `Action::\"");
        let Some((name, _)) = name.and_then(|(_, rest)| rest.split_once('"')) else {
            return found;
        };
        let groups = self.operations.values().map(|(group, _)| group.as_str());
        let tools = self.operations.keys().map(String::as_str);
        let acts = RunAction::ALL.iter().map(|action| action.word());
        let known: BTreeSet<&str> = groups
            .chain(tools)
            .chain(acts)
            .chain([CALL, APPROVE])
            .collect();
        // Why also without: a server is named by `server:NAME`, and often written by its name.
        let servers = known.iter().filter_map(|name| name.strip_prefix("server:"));
        let of_server = nearest(name, servers).map(|near| format!("server:{near}"));
        let near = nearest(name, known.iter().copied()).map(str::to_owned);
        let hint = match near.or(of_server) {
            Some(near) => format!("did you mean `Action::\"{near}\"`?"),
            None => "tools stand in provost.toml; `Action::\"server:NAME\"` is all of one server"
                .to_owned(),
        };
        found.hint(hint)
    }

    /// The fields of every operation that a scope reaches.
    fn in_scope<'a>(
        &'a self,
        scope: &'a ActionConstraint,
    ) -> impl Iterator<Item = &'a ShapeFields> {
        self.operations
            .iter()
            .filter(|(name, (group, _))| reaches(scope, name, group))
            .map(|(_, (_, fields))| fields)
    }
}

impl Actions {
    /// The texts that an argument can be, over all tools that a policy reaches; none if one of
    /// them lets it be any text.
    fn values_at(&self, entry: &PolicyEntry, path: &[&str]) -> Option<BTreeSet<String>> {
        let reached = self
            .operations
            .iter()
            .filter(|(name, (group, _))| reaches(&entry.tree.action, name, group))
            .filter_map(|(name, _)| self.inputs.get(name));
        let mut all = BTreeSet::new();
        for operation in reached {
            let mut schema = operation.input.value();
            let found = path.iter().all(|name| {
                let property = schema.get("properties").and_then(|all| all.get(*name));
                property.map(|property| schema = property).is_some()
            });
            if !found {
                continue;
            }
            let listed = match (schema.get("enum"), schema.get("const")) {
                (Some(Value::Array(list)), _) => list.iter().collect(),
                (_, Some(value)) => vec![value],
                _ => return None,
            };
            all.extend(
                listed
                    .into_iter()
                    .filter_map(Value::as_str)
                    .map(str::to_owned),
            );
        }
        (!all.is_empty()).then_some(all)
    }
}

impl Actions {
    /// The names of the arguments that a policy reaches and that are sinks, and the texts that they
    /// can be: none if one of them can be any.
    fn sinks(&self, entry: &PolicyEntry) -> (BTreeSet<&str>, Option<BTreeSet<String>>) {
        let reached = self
            .operations
            .iter()
            .filter(|(name, (group, _))| reaches(&entry.tree.action, name, group));
        let mut names = BTreeSet::new();
        let mut values = Some(BTreeSet::new());
        for (operation, (_, fields)) in reached {
            let Some(operation) = self.inputs.get(operation) else {
                continue;
            };
            for name in fields.known.keys().filter(|name| operation.is_sink(name)) {
                names.insert(name.as_str());
                let own = self.values_at(entry, &[name]);
                values = values.zip(own).map(|(mut all, own)| {
                    all.extend(own);
                    all
                });
            }
        }
        (names, values)
    }
}

/// Whether a policy's scope reaches an operation.
pub(in crate::policy) fn reaches(scope: &ActionConstraint, operation: &str, group: &str) -> bool {
    let names = |id: &str| id == operation || id == group || id == CALL;
    match scope {
        ActionConstraint::Any => true,
        ActionConstraint::Eq(uid) => uid.eid == operation,
        ActionConstraint::In(uids) => uids.iter().any(|uid| names(&uid.eid)),
    }
}

/// Whether a policy's scope reaches an action of people.
pub(in crate::policy) fn reaches_action(scope: &ActionConstraint, action: &str) -> bool {
    match scope {
        ActionConstraint::Any => true,
        ActionConstraint::Eq(uid) => uid.eid == action,
        ActionConstraint::In(uids) => uids.iter().any(|uid| uid.eid == action),
    }
}

/// Whether a policy's scope reaches what people say alone, and no call.
pub(in crate::policy) fn reaches_only_people(scope: &ActionConstraint) -> bool {
    match scope {
        ActionConstraint::Any => false,
        ActionConstraint::Eq(uid) => is_of_people(&uid.eid),
        ActionConstraint::In(uids) => uids.iter().all(|uid| is_of_people(&uid.eid)),
    }
}

fn is_of_people(id: &str) -> bool {
    id == APPROVE || RunAction::ALL.iter().any(|action| action.word() == id)
}

/// Whether a policy names an action: in its scope, or in a condition.
pub(in crate::policy) fn names_action(tree: &Template, action: &str) -> bool {
    if tree.action != ActionConstraint::Any && reaches_action(&tree.action, action) {
        return true;
    }
    let named = RefCell::new(false);
    let visit = |expr: &Expr| -> Option<()> {
        if let Expr::Literal(Literal::EntityUID(uid)) = expr
            && uid.ty.to_string() == "Action"
            && *uid.eid == *action
        {
            *named.borrow_mut() = true;
        }
        None
    };
    for clause in tree.clauses() {
        expression(clause).reduce(&visit, &|(), ()| (), ());
    }
    named.into_inner()
}

/// What the lints find: a text near which it stands, a message and a hint.
pub(in crate::policy) fn findings(
    entry: &PolicyEntry,
    actions: &Actions,
) -> Vec<(String, String, String)> {
    let found = RefCell::new(Vec::new());
    let visit = |expr: &Expr| -> Option<()> {
        found
            .borrow_mut()
            .extend(has_of_nothing(entry, actions, expr));
        found.borrow_mut().extend(word_of_nothing(entry, expr));
        found
            .borrow_mut()
            .extend(value_of_nothing(entry, actions, expr));
        found
            .borrow_mut()
            .extend(sink_of_nothing(entry, actions, expr));
        None
    };
    for clause in entry.tree.clauses() {
        expression(clause).reduce(&visit, &|(), ()| (), ());
    }
    found.into_inner()
}

/// The path of an attribute from a variable, such as `context` and `[args, order]`.
fn path_of(expr: &Expr) -> Option<(&Var, Vec<&str>)> {
    match expr {
        Expr::Var(var) => Some((var, Vec::new())),
        Expr::GetAttr { expr, attr } => {
            let (var, mut path) = path_of(expr)?;
            path.push(attr);
            Some((var, path))
        }
        _ => None,
    }
}

fn has_of_nothing(
    entry: &PolicyEntry,
    actions: &Actions,
    expr: &Expr,
) -> Option<(String, String, String)> {
    let Expr::HasAttr { expr, attrs } = expr else {
        return None;
    };
    let (var, mut path) = path_of(expr)?;
    let asked: Vec<&str> = attrs.iter().map(|attr| attr.as_str()).collect();
    path.extend(&asked);
    let known = known_at(entry, actions, var, &path)?;
    let missing = path.last().copied().unwrap_or_default();
    let owner = pst_word(var);
    let message = format!(
        "policy `{}` asks whether {owner} has `{}`, which nothing in its scope has",
        entry.id,
        path.join(".")
    );
    let hint = nearest(missing, known.iter().map(String::as_str)).map_or_else(
        || "such a rule would never apply: correct the name or widen the scope".to_owned(),
        |name| format!("did you mean `{name}`?"),
    );
    Some((format!("has {}", asked.join(".")), message, hint))
}

fn pst_word(var: &Var) -> &'static str {
    match var {
        Var::Principal => "`principal`",
        Var::Action => "`action`",
        Var::Resource => "`resource`",
        Var::Context => "`context`",
    }
}

/// What a policy reaches of what people say to a run beside yes and no.
fn run_actions(entry: &PolicyEntry) -> impl Iterator<Item = RunAction> + '_ {
    let all = RunAction::ALL.into_iter();
    all.filter(|action| reaches_action(&entry.tree.action, action.word()))
}

/// The names that could stand at the end of a path that nothing has; `None` if something has it.
fn known_at(
    entry: &PolicyEntry,
    actions: &Actions,
    var: &Var,
    path: &[&str],
) -> Option<BTreeSet<String>> {
    let mut known = BTreeSet::new();
    match (var, path) {
        (Var::Context, ["args", rest @ ..]) => {
            for fields in actions.in_scope(&entry.tree.action) {
                if reads(fields, rest, &mut known) {
                    return None;
                }
            }
        }
        (Var::Context, [TOTAL, name, ..]) => {
            known.clone_from(&actions.values);
            if known.contains(*name) {
                return None;
            }
        }
        (Var::Context, [first, ..]) => {
            known.extend(["args", "sinks", "hosts", "opaque", TOTAL].map(str::to_owned));
            let names = run_actions(entry).flat_map(RunAction::context);
            known.extend(names.map(|(name, ..)| (*name).to_owned()));
            if known.contains(*first) {
                return None;
            }
        }
        (Var::Resource, [first, ..]) => {
            if reaches_action(&entry.tree.action, APPROVE) {
                known.insert("requester".to_owned());
                known.extend(APPROVAL_ATTRIBUTES.map(|(name, _)| name.to_owned()));
            }
            if run_actions(entry).next().is_some() {
                known.insert("requester".to_owned());
                known.extend(RUN_ATTRIBUTES.map(|(name, _)| name.to_owned()));
            }
            let mut operations = actions.in_scope(&entry.tree.action);
            if operations.next().is_some() || actions.operations.is_empty() {
                known.extend(CALL_ATTRIBUTES.map(|(name, _)| name.to_owned()));
            }
            if known.contains(*first) {
                return None;
            }
        }
        // Principals and actions have no attributes.
        _ => {}
    }
    Some(known)
}

/// Whether a record has a path; else collects the names where the path breaks off.
fn reads(fields: &ShapeFields, path: &[&str], known: &mut BTreeSet<String>) -> bool {
    let Some((first, rest)) = path.split_first() else {
        return true;
    };
    match fields.known.get(*first).map(|field| &field.shape) {
        Some(EntityShape::Untyped) => false,
        Some(EntityShape::Record(fields)) => reads(fields, rest, known),
        Some(_) => rest.is_empty(),
        None => {
            known.extend(fields.known.keys().cloned());
            false
        }
    }
}

/// The pairs of a fact and a value that an expression compares.
fn compared(expr: &Expr) -> Vec<(&Expr, &str)> {
    let Expr::BinaryOp { op, left, right } = expr else {
        return Vec::new();
    };
    let pairs: Vec<(&Expr, &Expr)> = match (op, &**left) {
        (BinaryOp::Eq | BinaryOp::NotEq, _) => vec![(left, right), (right, left)],
        (BinaryOp::Contains, Expr::Set(items)) => {
            items.iter().map(|item| (&**right, &**item)).collect()
        }
        _ => Vec::new(),
    };
    let text = |(fact, value)| match value {
        &Expr::Literal(Literal::String(ref text)) => Some((fact, text.as_str())),
        _ => None,
    };
    pairs.into_iter().filter_map(text).collect()
}

/// A comparison of an argument with a value that no tool in scope takes there.
fn value_of_nothing(
    entry: &PolicyEntry,
    actions: &Actions,
    expr: &Expr,
) -> Option<(String, String, String)> {
    compared(expr).into_iter().find_map(|(fact, value)| {
        let (Var::Context, path) = path_of(fact)? else {
            return None;
        };
        let ["args", path @ ..] = path.as_slice() else {
            return None;
        };
        let allowed = actions.values_at(entry, path)?;
        if allowed.contains(value) {
            return None;
        }
        let message = format!(
            "policy `{}` compares the argument `{}` with `{value}`, which it never is",
            entry.id,
            path.join(".")
        );
        let list = allowed.iter().map(String::as_str).collect::<Vec<_>>();
        let hint = nearest(value, list.iter().copied()).map_or_else(
            || format!("its values are {}", list.join(", ")),
            |name| format!("did you mean `{name}`?"),
        );
        Some((format!("\"{value}\""), message, hint))
    })
}

/// A text looked for among the sinks that none of them can be.
fn sink_of_nothing(
    entry: &PolicyEntry,
    actions: &Actions,
    expr: &Expr,
) -> Option<(String, String, String)> {
    let Expr::BinaryOp { op, left, right } = expr else {
        return None;
    };
    let of_set = [
        BinaryOp::Contains,
        BinaryOp::ContainsAny,
        BinaryOp::ContainsAll,
    ];
    let is_sinks = matches!(path_of(left), Some((Var::Context, path)) if path == ["sinks"]);
    if !of_set.contains(op) || !is_sinks {
        return None;
    }
    let wanted: Vec<&Expr> = match &**right {
        Expr::Set(items) => items.iter().map(|item| &**item).collect(),
        one => vec![one],
    };
    let (names, values) = actions.sinks(entry);
    // Why: where nothing is reached yet, the rule is for tools to come.
    if names.is_empty() {
        return None;
    }
    wanted.into_iter().find_map(|one| {
        let Expr::Literal(Literal::String(text)) = one else {
            return None;
        };
        let text = text.as_str();
        let possible = values.as_ref().is_none_or(|values| values.contains(text));
        let (message, hint) = if names.contains(text) && !values.iter().flatten().any(|v| v == text)
        {
            let message = format!(
                "policy `{}` looks for `{text}` among `context.sinks`, which holds values and no \
                 names of arguments",
                entry.id
            );
            (
                message,
                format!("the value of that argument is `context.args.{text}`"),
            )
        } else if possible {
            return None;
        } else {
            let values = values.iter().flatten().map(String::as_str);
            let list: Vec<&str> = values.collect();
            let near = nearest(text, list.iter().copied());
            let message = format!(
                "policy `{}` looks for `{text}` among `context.sinks`, where it never is",
                entry.id
            );
            let all = || format!("what can stand there is {}", list.join(", "));
            (
                message,
                near.map_or_else(all, |near| format!("did you mean `{near}`?")),
            )
        };
        Some((format!("\"{text}\""), message, hint))
    })
}

/// A comparison of a fact with a word that it never is.
fn word_of_nothing(entry: &PolicyEntry, expr: &Expr) -> Option<(String, String, String)> {
    compared(expr).into_iter().find_map(|(fact, word)| {
        let (Var::Resource, path) = path_of(fact)? else {
            return None;
        };
        let [attribute] = path.as_slice() else {
            return None;
        };
        let words = words_for(attribute)?;
        let is_of_people =
            reaches_action(&entry.tree.action, APPROVE) || run_actions(entry).next().is_some();
        if words.contains(&word) || (word.is_empty() && is_of_people) {
            return None;
        }
        let message = format!(
            "policy `{}` compares `resource.{attribute}` with `{word}`, which it never is",
            entry.id
        );
        let hint = nearest(word, words.iter().copied()).map_or_else(
            || format!("its words are {}", words.join(", ")),
            |name| format!("did you mean `{name}`?"),
        );
        Some((format!("\"{word}\""), message, hint))
    })
}

fn words_for(attribute: &str) -> Option<Vec<&'static str>> {
    match attribute {
        "effect" => Some(Effect::WORDS.map(|(word, _)| word).to_vec()),
        "risk" => Some(Risk::WORDS.map(|(word, _)| word).to_vec()),
        "sink_integrity" | "control_integrity" => Some(vec!["trusted", "data", "text"]),
        _ => None,
    }
}
