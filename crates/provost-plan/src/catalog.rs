//! The catalog: the typed operations a plan may call, as the operator declares them.
//!
//! Owns what an operation is (schemas, effect, tags, idempotency) and its digest. Never believes
//! a tool server: everything here comes from `provost.toml` and reviewed files. INVARIANT: an
//! operation's digest covers everything that a call of it depends on.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::digest::{Digest, Domain};
use crate::schema::Schema;

mod cost;
mod creates;
mod keys;
mod preview;
mod reconcile;
mod role;
mod tag;
mod values;

#[cfg(test)]
mod tests;

pub use cost::{Cost, Spend, Tokens};
pub use creates::{Creates, CreatesError};
pub use keys::OPERATION_KEYS;
pub use preview::{Preview, PreviewError};
pub use reconcile::{Reconcile, ReconcileError, WriteInDoubt};
pub use role::Role;
pub use tag::Tags;
pub use values::ValuesError;

/// What a call does to the world. Ordered by weight.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Effect {
    /// Looks, and changes nothing.
    Read,
    /// Reads from an address the call chooses, so it can leak.
    Egress,
    /// Changes something of one's own.
    Write,
    /// Reaches people or other organisations.
    External,
    /// Deletes or overwrites.
    Destructive,
}

impl Effect {
    /// The words of the format, in order of weight.
    pub const WORDS: [(&'static str, Self); 5] = [
        ("read", Self::Read),
        ("egress", Self::Egress),
        ("write", Self::Write),
        ("external", Self::External),
        ("destructive", Self::Destructive),
    ];

    /// The word of the format.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Egress => "egress",
            Self::Write => "write",
            Self::External => "external",
            Self::Destructive => "destructive",
        }
    }

    /// Whether a repetition after an unknown outcome does no harm (reads and egress).
    #[must_use]
    pub fn is_read(self) -> bool {
        matches!(self, Self::Read | Self::Egress)
    }
}

/// How much harm a step can do, computed from effect and tags.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Risk {
    /// A read.
    Low,
    /// A write of one's own.
    Medium,
    /// Reaches others, spends or deletes.
    High,
    /// Spends or deletes in production.
    Critical,
}

impl Risk {
    /// The words of the format.
    pub const WORDS: [(&'static str, Self); 4] = [
        ("low", Self::Low),
        ("medium", Self::Medium),
        ("high", Self::High),
        ("critical", Self::Critical),
    ];

    /// The word of the format.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Low => "low",
            Self::Medium => "medium",
            Self::High => "high",
            Self::Critical => "critical",
        }
    }
}

/// How a repetition of a call is recognised by the tool.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Idempotency {
    /// Repeating it changes nothing more, by its nature.
    Natural,
    /// The tool honours a key for a while.
    Key {
        /// How the key is sent.
        carrier: KeyCarrier,
        /// How long the tool remembers it, in milliseconds.
        ttl_ms: u64,
    },
    /// It is not recognised.
    None,
}

/// Where an idempotency key travels.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum KeyCarrier {
    /// An HTTP header of this name.
    Header(String),
    /// A field of this name in the metadata of an MCP call.
    Meta(String),
    /// An argument of this name.
    Arg(String),
    /// A variable of this name in the environment of a command.
    Env(String),
    /// The table of keys in the database that the call writes to, in the same transaction.
    Table,
}

/// One typed operation: `server.operation`.
#[derive(Clone, Debug, PartialEq)]
pub struct Operation {
    /// The name, such as `pager.notify`.
    pub name: String,
    /// What it does, as the operator wrote it; planners see this and nothing else.
    pub description: String,
    /// What it does to the world.
    pub effect: Effect,
    /// Words that policy looks at: `email money permission deploy delete production …`.
    pub tags: BTreeSet<String>,
    /// The type of its arguments.
    pub input: Schema,
    /// The type of its output, if declared.
    pub output: Option<Schema>,
    /// Whether its output may be believed.
    pub trusted: bool,
    /// Whether its output is secret.
    pub secret: bool,
    /// Whether a secret may be among its arguments: the operator says that it keeps them.
    pub accepts_secrets: bool,
    /// Arguments that are mere content: they decide nobody who is reached.
    pub content: BTreeSet<String>,
    /// How repetition is recognised.
    pub idempotency: Idempotency,
    /// Whether an error reply proves that nothing happened.
    pub errors_no_effect: bool,
    /// How long one call may take.
    pub timeout: Duration,
    /// Most bytes of one result.
    pub max_bytes: u64,
    /// The read that settles a doubt about it.
    pub reconcile: Option<Reconcile>,
    /// The read whose result stands beside a call on its approval card.
    pub preview: Option<Preview>,
    /// What a call makes, if the operator says so.
    pub creates: Option<Creates>,
    /// What one attempt costs, if the operator says so.
    pub cost: Option<Cost>,
    /// Values that its calls add up to: the name of each, and the argument that counts.
    pub values: BTreeMap<String, String>,
    /// What else a call depends on: connection, request template, query text.
    pub endpoint: Value,
}

impl Operation {
    /// An operation of this name (`TOOL.OPERATION`), effect and input; whatever else matters is as
    /// careful as it can be: nothing of it is believed, and no repetition is recognised.
    #[must_use]
    pub fn new(name: impl Into<String>, effect: Effect, input: Schema) -> Self {
        Self {
            name: name.into(),
            description: String::new(),
            effect,
            tags: BTreeSet::new(),
            input,
            output: None,
            trusted: false,
            secret: false,
            accepts_secrets: false,
            content: BTreeSet::new(),
            idempotency: Idempotency::None,
            errors_no_effect: false,
            timeout: Duration::from_secs(30),
            max_bytes: 1 << 20,
            reconcile: None,
            preview: None,
            creates: None,
            cost: None,
            values: BTreeMap::new(),
            endpoint: Value::Null,
        }
    }

    /// Everything a call of this operation depends on, field by field.
    #[must_use]
    pub fn value(&self) -> Value {
        let mut value = json!({
            "name": self.name,
            "description": self.description,
            "effect": self.effect,
            "tags": self.tags,
            "input": self.input.value(),
            "output": self.output.as_ref().map(Schema::value),
            "trusted": self.trusted,
            "secret": self.secret,
            "content": self.content,
            "idempotency": self.idempotency,
            "errors_no_effect": self.errors_no_effect,
            "timeout_ms": u64::try_from(self.timeout.as_millis()).unwrap_or(u64::MAX),
            "max_bytes": self.max_bytes,
            "endpoint": self.endpoint,
        });
        // Why: an operation with none of them keeps the digest that locks and journals hold.
        if self.accepts_secrets {
            insert(&mut value, "accepts_secrets", json!(true));
        }
        if let Some(reconcile) = &self.reconcile {
            insert(&mut value, "reconcile", json!(reconcile));
        }
        if let Some(preview) = &self.preview {
            insert(&mut value, "preview", json!(preview));
        }
        if let Some(creates) = &self.creates {
            insert(&mut value, "creates", json!(creates));
        }
        if let Some(cost) = &self.cost {
            insert(&mut value, "cost", json!(cost));
        }
        if !self.values.is_empty() {
            insert(&mut value, "values", json!(self.values));
        }
        value
    }

    /// The identity of everything a call of this operation depends on.
    #[must_use]
    pub fn digest(&self) -> Digest {
        Digest::of_value(Domain::Tool, &self.value())
    }

    /// The part of the name before the dot.
    #[must_use]
    pub fn server(&self) -> &str {
        self.name.split('.').next().unwrap_or(&self.name)
    }

    /// Whether its output is a model's opinion: an adapter says so in the endpoint, which the
    /// digest covers. What an opinion decides, text decides, however closed its type is.
    #[must_use]
    pub fn is_opinion(&self) -> bool {
        self.endpoint.get("kind").and_then(Value::as_str) == Some("model")
    }

    /// Whether the key of a call stands in a table of the target, beside what the call did.
    #[must_use]
    pub fn keeps_key_in_table(&self) -> bool {
        let carried = &self.idempotency;
        matches!(carried, Idempotency::Key { carrier, .. } if *carrier == KeyCarrier::Table)
    }

    /// Whether an unknown outcome of this operation leaves a doubt: it is no read, and the tool
    /// recognises no repetition.
    #[must_use]
    pub fn is_plain_write(&self) -> bool {
        !self.effect.is_read() && self.idempotency == Idempotency::None
    }

    /// The most one attempt uses up whose arguments have `bytes` in canonical form, if that has a
    /// bound. What the tool sends around them stands in its endpoint and counts too.
    #[must_use]
    pub fn spend(&self, bytes: Option<u64>) -> Spend {
        let Some(cost) = &self.cost else {
            return Spend::unknown();
        };
        let around = match &self.endpoint {
            Value::Null => 0,
            endpoint => crate::schema::bytes::of_value(endpoint),
        };
        cost.of_attempt(bytes.map(|bytes| bytes.saturating_add(around)))
    }

    /// Whether the argument `name` decides who or what is reached.
    #[must_use]
    pub fn is_sink(&self, name: &str) -> bool {
        self.effect != Effect::Read && !self.content.contains(name)
    }

    /// The risk of a call, from effect and tags.
    #[must_use]
    pub fn risk(&self) -> Risk {
        let tagged = |names: &[&str]| names.iter().any(|name| self.tags.contains(*name));
        let production = tagged(&["production"]);
        match self.effect {
            Effect::Read => Risk::Low,
            Effect::Egress => Risk::Medium,
            Effect::Write if tagged(&Tags::OF_RISK) => Risk::High,
            Effect::Write => Risk::Medium,
            Effect::External if tagged(&["money"]) => Risk::Critical,
            Effect::External => Risk::High,
            Effect::Destructive if production => Risk::Critical,
            Effect::Destructive => Risk::High,
        }
    }
}

fn insert(value: &mut Value, key: &str, part: Value) {
    if let Value::Object(map) = value {
        map.insert(key.to_owned(), part);
    }
}

/// The pinned set of operations, with the roles over them.
#[derive(Clone, Debug, Default)]
pub struct Catalog {
    operations: BTreeMap<String, Arc<Operation>>,
    // Why: each call compares a digest, and an operation does not change once it is in here. Most
    // are never asked for.
    digests: BTreeMap<String, OnceLock<Digest>>,
    reconciled: BTreeMap<String, OnceLock<bool>>,
    roles: role::Roles,
    tags: Tags,
}

impl Catalog {
    /// A catalog of `operations`; a later one of the same name replaces an earlier one.
    pub fn new(operations: impl IntoIterator<Item = Operation>) -> Self {
        let operations: BTreeMap<String, Arc<Operation>> = operations
            .into_iter()
            .map(|op| (op.name.clone(), Arc::new(op)))
            .collect();
        let names = || operations.keys().cloned();
        Self {
            digests: names().map(|name| (name, OnceLock::new())).collect(),
            reconciled: names().map(|name| (name, OnceLock::new())).collect(),
            operations,
            roles: role::Roles::new(),
            tags: Tags::default(),
        }
    }

    /// The digest of the operation called `name`.
    #[must_use]
    pub fn digest(&self, name: &str) -> Option<Digest> {
        let (operation, digest) = (self.operations.get(name)?, self.digests.get(name)?);
        Some(*digest.get_or_init(|| operation.digest()))
    }

    /// Whether a doubt about the operation called `name` is settled by a read of this catalog.
    #[must_use]
    pub fn is_reconciled(&self, name: &str) -> bool {
        let held = || {
            let reconcile = self.operations.get(name)?.reconcile.as_ref();
            reconcile.map(|reconcile| reconcile.hold(self).is_ok())
        };
        self.reconciled
            .get(name)
            .is_some_and(|known| *known.get_or_init(|| held().unwrap_or(false)))
    }

    /// The operation called `name`.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&Arc<Operation>> {
        self.operations.get(name)
    }

    /// All operations, by name.
    pub fn iter(&self) -> impl Iterator<Item = &Arc<Operation>> {
        self.operations.values()
    }

    /// All names, sorted.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.operations.keys().map(String::as_str)
    }
}
