//! The fields that every operation may have, whatever kind of tool it belongs to.
//!
//! Owns effect, tags, content, idempotency and the other marks of the catalog. Never guesses an
//! effect that the kind of operation does not settle. INVARIANT: no operation is declared lighter
//! than what its kind is known to do.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use provost_plan::catalog::{
    Cost, Creates, Effect, Idempotency, KeyCarrier, Operation, Preview, Reconcile, Tags, Tokens,
};
use provost_plan::codes::Code;
use provost_plan::diagnostic::Diagnostic;
use provost_plan::node::{Fields, Kind, Node};
use provost_plan::plan::read::is_step_id;
use provost_plan::render::escape;
use provost_plan::schema::Schema;
use provost_plan::source::{Span, Spanned};
use serde_json::{Value, json};

use super::{ToolScope, bad_setting, check_name, max_bytes, timeout};
use crate::limits::{DESCRIPTION_CHARS_MAX, FINAL_AFTER_MAX, KEY_TTL_MAX};

/// What an operation declares beside what its kind asks for.
pub(crate) struct OperationFields {
    span: Span,
    description: Option<String>,
    effect: Option<Effect>,
    tags: BTreeSet<String>,
    content: Vec<Spanned<String>>,
    idempotency: Idempotency,
    pub(crate) trusted: bool,
    secret: bool,
    accepts_secrets: bool,
    timeout: Duration,
    pub(crate) max_bytes: u64,
    cost: Option<Cost>,
    reconcile: Option<Reconcile>,
    preview: Option<Preview>,
    creates: Option<Spanned<Creates>>,
    values: BTreeMap<String, Spanned<String>>,
}

/// What a kind of tool does with an idempotency key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum KeySupport {
    /// It takes no key.
    None,
    /// It sends the key with the call. What is called, and what of it may carry the key.
    InCall(&'static str, &'static [&'static str]),
    /// It writes the key beside the effect.
    InTable,
}

/// What the kind of operation adds.
pub(crate) struct OperationParts {
    pub(crate) name: String,
    pub(crate) description: String,
    pub(crate) effect: Effect,
    pub(crate) input: Schema,
    pub(crate) output: Option<Schema>,
    pub(crate) errors_no_effect: bool,
    pub(crate) endpoint: Value,
}

/// What stands in the `request` of an operation.
const REQUEST_KEYS: [&str; 6] = ["method", "path", "query", "headers", "body", "rest"];

fn is_request((key, _): &(Spanned<String>, Node)) -> bool {
    key.value == "request"
}

/// Reads the tables of operations. Of each, `read` gets the name in its tool, the full name and the
/// fields, and makes what its kind needs for a call, and the catalog entry.
pub(crate) fn read_operations<T>(
    tool: &str,
    tables: &[(Spanned<String>, Node)],
    diagnostics: &mut Vec<Diagnostic>,
    mut read: impl FnMut(&Spanned<String>, String, &mut Fields<'_, '_>) -> Option<(T, Operation)>,
) -> (BTreeMap<String, T>, Vec<Operation>) {
    let (mut parts, mut operations) = (BTreeMap::new(), Vec::new());
    for (short, node) in tables {
        if !check_name("an operation", &short.value, short.span, diagnostics) {
            continue;
        }
        let name = format!("{tool}.{}", short.value);
        let owner = format!("the operation `{name}`");
        let Some(mut fields) = Fields::new(owner, node, diagnostics) else {
            continue;
        };
        let one = read(short, name, &mut fields);
        let asks = matches!(&node.kind, Kind::Map(entries) if entries.iter().any(is_request));
        fields.finish_with(|key| {
            let is_of_request = asks && REQUEST_KEYS.contains(&key);
            is_of_request.then(|| format!("`{key}` belongs to `request`: write it in its braces"))
        });
        if let Some((part, operation)) = one {
            parts.insert(short.value.clone(), part);
            operations.push(operation);
        }
    }
    (parts, operations)
}

impl OperationFields {
    /// Takes the shared fields; `keys` says what this kind does with an idempotency key.
    pub(crate) fn read(
        scope: &ToolScope<'_>,
        fields: &mut Fields<'_, '_>,
        keys: KeySupport,
    ) -> Self {
        Self {
            span: fields.span(),
            description: description(fields),
            effect: fields.choice("effect", &Effect::WORDS),
            tags: tags(scope, fields),
            content: fields.texts("content"),
            idempotency: idempotency(fields, keys),
            trusted: fields.boolean("trusted").unwrap_or(false),
            secret: fields.boolean("secret").unwrap_or(false),
            accepts_secrets: fields.boolean("accepts_secrets").unwrap_or(false),
            timeout: timeout(fields, scope.timeout),
            max_bytes: max_bytes(fields, scope.max_bytes),
            cost: cost(fields),
            reconcile: reconcile(fields),
            preview: preview(fields),
            creates: creates(fields),
            values: values(fields),
        }
    }

    /// The declared effect, or `default`; an effect lighter than `floor` is refused.
    pub(crate) fn effect(
        &self,
        fields: &mut Fields<'_, '_>,
        default: Effect,
        floor: Effect,
    ) -> Effect {
        let effect = self.effect.unwrap_or(default);
        if effect < floor {
            let message = format!(
                "an operation like this is at least `{}`, not `{}`",
                floor.word(),
                effect.word()
            );
            bad_setting(fields, self.span, message);
        }
        effect
    }

    /// The effect where only the operator can know it.
    pub(crate) fn required_effect(&self, fields: &mut Fields<'_, '_>) -> Effect {
        if fields.required("effect").is_none() {
            return Effect::Destructive;
        }
        self.effect.unwrap_or(Effect::Destructive)
    }

    /// Forgets what can only be judged under schemas, where none are known yet.
    pub(crate) fn forget_schemas(&mut self) {
        self.content.clear();
        self.values.clear();
        self.creates = None;
        self.idempotency = Idempotency::None;
    }

    /// The same, with these arguments as content beside the declared, and at this cost.
    pub(crate) fn with(mut self, content: Vec<String>, cost: Cost) -> Self {
        let span = self.span;
        let more = content.into_iter().map(|name| Spanned::new(name, span));
        self.content.extend(more);
        self.cost = Some(cost);
        self
    }

    pub(crate) fn carries_key(&self) -> bool {
        matches!(self.idempotency, Idempotency::Key { .. })
    }

    pub(crate) fn idempotency(&self) -> &Idempotency {
        &self.idempotency
    }

    /// The catalog entry.
    pub(crate) fn operation(self, fields: &mut Fields<'_, '_>, parts: OperationParts) -> Operation {
        let content = self.content_names(fields, &parts.input);
        let counted = self.values.iter();
        let counted = counted.map(|(name, arg)| (name.clone(), arg.value.clone()));
        let operation = Operation {
            description: self.description.unwrap_or(parts.description),
            name: parts.name,
            effect: parts.effect,
            tags: self.tags,
            input: parts.input,
            output: parts.output,
            trusted: self.trusted,
            secret: self.secret,
            accepts_secrets: self.accepts_secrets,
            content,
            idempotency: self.idempotency,
            errors_no_effect: parts.errors_no_effect,
            timeout: self.timeout,
            max_bytes: self.max_bytes,
            reconcile: self.reconcile,
            preview: self.preview,
            creates: self.creates.as_ref().map(|creates| creates.value.clone()),
            cost: self.cost,
            values: counted.collect(),
            endpoint: parts.endpoint,
        };
        if let Some(creates) = &self.creates
            && let Err(error) = creates.value.hold(&operation)
        {
            bad_setting(fields, creates.span, error.to_string());
        }
        if let Err(error) = operation.hold_values() {
            let of = self.values.values().find(|arg| arg.value == error.arg());
            let span = of.map_or(self.span, |arg| arg.span);
            bad_setting(fields, span, error.to_string());
        }
        operation
    }

    /// The names of arguments that are mere content; a name that is no argument would silently
    /// leave the real one a sink, so it is refused.
    fn content_names(&self, fields: &mut Fields<'_, '_>, input: &Schema) -> BTreeSet<String> {
        let known = property_names(input);
        for name in &self.content {
            if !known.contains(&name.value.as_str()) {
                let message = format!("`content` names `{}`, which is no argument", name.value);
                let diagnostic = Diagnostic::new(Code::BadWorkspace, name.span, message)
                    .did_you_mean(&name.value, known.iter().copied());
                fields.diagnostics().push(diagnostic);
            }
        }
        self.content.iter().map(|name| name.value.clone()).collect()
    }
}

/// The arguments that an input schema names.
pub(crate) fn property_names(input: &Schema) -> Vec<&str> {
    match input.value().get("properties") {
        Some(Value::Object(map)) => map.keys().map(String::as_str).collect(),
        _ => Vec::new(),
    }
}

/// Somebody else's words as a description: one paragraph, cut between two words if it is longer
/// than a description may be.
#[must_use]
pub fn description_of(said: &str) -> String {
    let mut text = String::new();
    for word in said.split_whitespace() {
        let word = escape(word);
        // Why two more: the space before it, and the mark of what is left out.
        if text.chars().count() + word.chars().count() + 2 > DESCRIPTION_CHARS_MAX - 1 {
            text.push_str(" …");
            return text;
        }
        if !text.is_empty() {
            text.push(' ');
        }
        text.push_str(&word);
    }
    text
}

fn description(fields: &mut Fields<'_, '_>) -> Option<String> {
    let text = fields.text("description")?;
    if text.value.chars().count() > DESCRIPTION_CHARS_MAX {
        let message = format!("`description` is longer than {DESCRIPTION_CHARS_MAX} characters");
        bad_setting(fields, text.span, message);
    }
    Some(text.value)
}

fn tags(scope: &ToolScope<'_>, fields: &mut Fields<'_, '_>) -> BTreeSet<String> {
    let tags = fields.texts("tags");
    let wrong = tags
        .iter()
        .filter_map(|tag| scope.config.tags.finding(&tag.value, tag.span));
    fields.diagnostics().extend(wrong);
    tags.into_iter().map(|tag| tag.value).collect()
}

/// `{ money = "0.02", tokens_in = { max = 8000, price = "3.00" }, tokens_out = { … } }`
fn cost(outer: &mut Fields<'_, '_>) -> Option<Cost> {
    let node = outer.node("cost")?;
    let mut fields = Fields::new("`cost`", node, outer.diagnostics())?;
    let cost = Cost {
        money: fields.money("money").map(|money| money.value),
        tokens_in: tokens(&mut fields, "tokens_in"),
        tokens_out: tokens(&mut fields, "tokens_out"),
    };
    if cost == Cost::default() && matches!(&node.kind, Kind::Map(entries) if entries.is_empty()) {
        let message = "`cost` says nothing: what is free costs `{ money = \"0\" }`";
        bad_setting(&mut fields, node.span, message);
    }
    fields.finish();
    Some(cost)
}

/// `{ tool = "pager.by_key", args = { key = "${ key }" }, landed = "${ output.found }",
/// final_after = "30s" }`
fn reconcile(outer: &mut Fields<'_, '_>) -> Option<Reconcile> {
    let node = outer.node("reconcile")?;
    let mut fields = Fields::new("`reconcile`", node, outer.diagnostics())?;
    let tool = fields.required_text("tool");
    let args = fields
        .node("args")
        .map_or_else(|| json!({}), Node::to_value);
    let landed = fields.required_text("landed");
    let output = fields.text("output").map(|text| text.value);
    let wait = fields.required("final_after");
    let wait = wait.and_then(|_| fields.duration("final_after"));
    if let Some(wait) = wait.as_ref().filter(|wait| wait.value > FINAL_AFTER_MAX) {
        bad_setting(&mut fields, wait.span, "`final_after` must be at most 7d");
    }
    fields.finish();
    Some(Reconcile {
        tool: tool?.value,
        args,
        landed: landed?.value,
        output,
        final_after_ms: u64::try_from(wait?.value.as_millis()).unwrap_or(u64::MAX),
    })
}

/// `{ tool = "crm.customer", args = { id = "${ args.customer }" } }`
fn preview(outer: &mut Fields<'_, '_>) -> Option<Preview> {
    let node = outer.node("preview")?;
    let mut fields = Fields::new("`preview`", node, outer.diagnostics())?;
    let tool = fields.required_text("tool");
    let args = fields
        .node("args")
        .map_or_else(|| json!({}), Node::to_value);
    fields.finish();
    let tool = tool?.value;
    Some(Preview { tool, args })
}

/// `{ kind = "page", id = "${ output.id }" }`
fn creates(outer: &mut Fields<'_, '_>) -> Option<Spanned<Creates>> {
    let node = outer.node("creates")?;
    let mut fields = Fields::new("`creates`", node, outer.diagnostics())?;
    let kind = fields.required_text("kind");
    let id = fields.required_text("id");
    if let Some(kind) = &kind
        && !Tags::is_name(&kind.value)
    {
        let message = format!("`{}` cannot name a kind of thing", kind.value);
        let diagnostic = Diagnostic::new(Code::BadName, kind.span, message)
            .hint("a kind has lower-case letters, digits, `_` and `-`");
        fields.diagnostics().push(diagnostic);
    }
    fields.finish();
    let (kind, id) = (kind?.value, id?.value);
    Some(Spanned::new(Creates { kind, id }, node.span))
}

/// `{ spend = "amount" }`
fn values(outer: &mut Fields<'_, '_>) -> BTreeMap<String, Spanned<String>> {
    let mut values = BTreeMap::new();
    for (name, node) in outer.map("values").unwrap_or_default() {
        if !is_step_id(&name.value) {
            let message = format!("`{}` cannot name a counted value", name.value);
            let diagnostic = Diagnostic::new(Code::BadName, name.span, message)
                .hint("a name begins with a small letter and has small letters, digits and `_`");
            outer.diagnostics().push(diagnostic);
        }
        match &node.kind {
            Kind::Text(arg) => {
                let arg = Spanned::new(arg.clone(), node.span);
                values.insert(name.value.clone(), arg);
            }
            _ => {
                let message = "a counted value names the argument that counts";
                bad_setting(outer, node.span, message);
            }
        }
    }
    values
}

fn tokens(outer: &mut Fields<'_, '_>, name: &'static str) -> Option<Tokens> {
    let node = outer.node(name)?;
    let mut fields = Fields::new(format!("`{name}`"), node, outer.diagnostics())?;
    let tokens = Tokens {
        max: fields.count("max").map(|max| max.value),
        price: fields.money("price").map(|price| price.value),
    };
    fields.finish();
    Some(tokens)
}

fn idempotency(fields: &mut Fields<'_, '_>, keys: KeySupport) -> Idempotency {
    let Some(node) = fields.node("idempotency") else {
        return Idempotency::None;
    };
    match &node.kind {
        Kind::Text(_) => {
            let words = [("natural", true), ("none", false)];
            match fields.choice("idempotency", &words) {
                Some(true) => Idempotency::Natural,
                _ => Idempotency::None,
            }
        }
        _ => keyed(fields, node, keys).unwrap_or(Idempotency::None),
    }
}

type MakeCarrier = fn(String) -> KeyCarrier;

/// What carries a key in a call, by the word of `provost.toml`.
const CARRIERS: [(&str, MakeCarrier); 4] = [
    ("header", KeyCarrier::Header),
    ("meta", KeyCarrier::Meta),
    ("arg", KeyCarrier::Arg),
    ("env", KeyCarrier::Env),
];

/// `{ key = { header = "Idempotency-Key", ttl = "24h" } }` or `{ key = "table" }`
fn keyed(outer: &mut Fields<'_, '_>, node: &Node, keys: KeySupport) -> Option<Idempotency> {
    let mut fields = Fields::new("`idempotency`", node, outer.diagnostics())?;
    let key = fields.required("key");
    let is_word = key.is_some_and(|key| matches!(key.kind, Kind::Text(_)));
    let in_table = is_word && fields.choice("key", &[("table", ())]).is_some();
    fields.finish();
    let key = key?;
    if keys == KeySupport::None {
        let diagnostic = Diagnostic::new(
            Code::LaterField,
            key.span,
            "this kind of tool does not carry an idempotency key in this version",
        )
        .hint("write `natural` if a repetition does no harm, else leave `idempotency` out");
        outer.diagnostics().push(diagnostic);
        return None;
    }
    if is_word && !in_table {
        return None;
    }
    if in_table != (keys == KeySupport::InTable) {
        let message = "a key in a table belongs to a tool of kind `sql` and to `append` of one of \
                       kind `files`, which take no other: `idempotency = { key = \"table\" }`";
        bad_setting(outer, key.span, message);
        return None;
    }
    if in_table {
        return Some(Idempotency::Key {
            carrier: KeyCarrier::Table,
            ttl_ms: u64::try_from(KEY_TTL_MAX.as_millis()).unwrap_or(u64::MAX),
        });
    }
    let mut fields = Fields::new("`key`", key, outer.diagnostics())?;
    let named = CARRIERS.map(|(word, make)| Some((word, make(fields.text(word)?.value))));
    let mut named = named.into_iter().flatten();
    let carrier = named.next().filter(|_| named.next().is_none());
    if carrier.is_none() {
        let message = "`key` needs one of `header`, `meta`, `arg` and `env`";
        bad_setting(&mut fields, key.span, message);
    }
    let ttl = fields.required("ttl").and_then(|_| fields.duration("ttl"));
    if let Some(ttl) = &ttl
        && (ttl.value.is_zero() || ttl.value > KEY_TTL_MAX)
    {
        bad_setting(&mut fields, ttl.span, "`ttl` must lie between 1ms and 366d");
    }
    fields.finish();
    let (word, carrier) = carrier?;
    if let KeySupport::InCall(what, carriers) = keys
        && !carriers.contains(&word)
    {
        let list: Vec<String> = carriers.iter().map(|one| format!("`{one}`")).collect();
        let message = format!("the key of {what} travels in {}", list.join(" or "));
        let span = outer.span();
        bad_setting(outer, span, message);
    }
    Some(Idempotency::Key {
        carrier,
        ttl_ms: u64::try_from(ttl?.value.as_millis()).unwrap_or(u64::MAX),
    })
}
