//! The catalog and the rules that enumerated plans run under.
//!
//! Owns the classes of operation. Never counts an effect: that is the world's. INVARIANT: the
//! naive catalog differs in nothing but what it says of repeated calls.

use std::sync::Arc;
use std::time::Duration;

use provost_plan::catalog::{
    Catalog, Effect, Idempotency, KeyCarrier, Operation, Preview, Reconcile,
};
use provost_plan::policy::{DEFAULT_POLICY, People, Policy, SOLO_FILE, SOLO_POLICY};
use provost_plan::schema::Schema;
use provost_plan::source::Source;
use provost_run::machine::Rules;
use serde_json::{Value, json};

use super::people::LISTED;
use super::sums;
use crate::repeats::Rule;

/// How old a reading may be before what acts on it begins, in milliseconds.
pub(super) const FRESH_MS: i64 = 100;
/// How long a step waits between two polls, and how long after the first the last may begin, in
/// milliseconds.
pub(super) const POLL_EVERY_MS: i64 = 2_000;
pub(super) const POLL_AT_MOST_MS: i64 = 5_000;
/// How long the tool of keyed writes remembers a key, in milliseconds.
pub(super) const KEY_LIVES_MS: i64 = 86_400_000;
/// How long a write that is not found may still land, in milliseconds.
pub(super) const FINAL_AFTER_MS: i64 = 30_000;
/// The read that tells whether a write landed.
pub(super) const FIND: &str = "world.find";

/// A person is asked about what destroys, and has an hour.
const WIPES: &str = r#"
@id("wipes") @expires("1h") @on_expiry("replan")
forbid (principal, action in Action::"call", resource)
when { !resource.attended && resource.effect == "destructive" };
"#;

/// Nobody makes a keyed write twice, and a person is asked about a plain one.
const REPEATS: &str = r#"
@id("never-twice")
forbid (principal, action == Action::"world.keyed", resource)
when { resource.repeats > 0 };
@id("asks-twice") @expires("1h")
forbid (principal, action == Action::"world.plain", resource)
when { !resource.attended && resource.repeats > 0 };
"#;

/// What [`REPEATS`] and [`WIPES`] say of equal calls.
pub(super) fn rule(operation: &str) -> Rule {
    match operation {
        "world.keyed" => Rule::Forbids,
        "world.plain" | "world.wipe" | "world.shown" => Rule::Asks,
        _ => Rule::Allows,
    }
}

/// The classes of operation a step may call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kind {
    /// A read.
    Read,
    /// A write whose tool honours a key.
    Keyed,
    /// A write whose tool recognises no repetition.
    Plain,
    /// A plain write that a read can find again.
    Found,
    /// A plain write that policy asks about.
    Wipe,
    /// The same, with a read that shows what it is about.
    Shown,
}

impl Kind {
    /// All classes but the last, which is [`Kind::Wipe`] after one more read.
    pub const ALL: [Self; 5] = [
        Self::Read,
        Self::Keyed,
        Self::Plain,
        Self::Found,
        Self::Wipe,
    ];

    /// The operation's name.
    #[must_use]
    pub fn operation(self) -> &'static str {
        match self {
            Self::Read => "world.read",
            Self::Keyed => "world.keyed",
            Self::Plain => "world.plain",
            Self::Found => "world.found",
            Self::Wipe => "world.wipe",
            Self::Shown => "world.shown",
        }
    }

    /// The class in a word.
    #[must_use]
    pub fn word(self) -> &'static str {
        self.operation().trim_start_matches("world.")
    }

    /// Whether an unknown outcome of it is a doubt.
    #[must_use]
    pub fn is_plain_write(self) -> bool {
        !matches!(self, Self::Read | Self::Keyed)
    }
}

/// The rules of the enumerated plans. `naive` lies about the plain operations: it calls them
/// repeatable, as an executor that retries blindly would.
///
/// # Errors
/// A sentence, if a schema or a policy does not load.
pub fn rules(naive: bool) -> Result<Rules, String> {
    let solo = Source::new(SOLO_FILE, SOLO_POLICY);
    ruled(operations(naive)?, &people()?, vec![solo])
}

/// The same rules where each write adds an argument to a sum.
///
/// # Errors
/// As [`rules`].
pub fn rules_of_sums() -> Result<Rules, String> {
    let solo = Source::new(SOLO_FILE, SOLO_POLICY);
    let operations = operations(false)?.into_iter().map(sums::counting);
    let operations: Result<Vec<Operation>, String> = operations.collect();
    ruled(operations?, &people()?, vec![solo])
}

/// The same rules where nobody may approve what they asked for.
///
/// # Errors
/// As [`rules`].
pub fn rules_of_two() -> Result<Rules, String> {
    ruled(operations(false)?, &people()?, Vec::new())
}

/// The same rules as [`rules`], and some about calls that were made before.
///
/// # Errors
/// As [`rules`].
pub fn rules_of_repeats() -> Result<Rules, String> {
    let more = [(SOLO_FILE, SOLO_POLICY), ("repeats.cedar", REPEATS)];
    let more = more.map(|(name, text)| Source::new(name, text));
    let mut rules = ruled(operations(false)?, &people()?, more.to_vec())?;
    // Why so long: how old an equal call is changes nothing here.
    rules.admission.repeats_ms = 1_000 * KEY_LIVES_MS;
    Ok(rules)
}

/// Who is listed.
pub(super) fn people() -> Result<People, String> {
    let users: Vec<String> = LISTED.iter().map(|id| format!("\"{id}\": {{}}")).collect();
    let listed = format!("{{ \"users\": {{ {} }} }}", users.join(", "));
    People::read(&Source::new("entities.json", listed)).map_err(|d| format!("{d:?}"))
}

fn ruled(operations: Vec<Operation>, people: &People, more: Vec<Source>) -> Result<Rules, String> {
    let catalog = Catalog::new(operations);
    let mut texts = vec![
        Source::new("default.cedar", DEFAULT_POLICY),
        Source::new("wipes.cedar", WIPES),
    ];
    texts.extend(more);
    let policy = Policy::load(&catalog, &texts, people).map_err(|d| format!("{d:?}"))?;
    Ok(Rules {
        catalog: Arc::new(catalog),
        policy: Arc::new(policy),
        admission: Default::default(),
    })
}

/// The operations, one of each class and the read that finds what was written.
///
/// # Errors
/// A sentence, if a schema does not load.
pub fn operations(naive: bool) -> Result<Vec<Operation>, String> {
    let mut operations = Vec::new();
    for kind in Kind::ALL.into_iter().chain([Kind::Shown]) {
        operations.push(write(kind, naive)?);
    }
    operations.push(find()?);
    Ok(operations)
}

fn write(kind: Kind, naive: bool) -> Result<Operation, String> {
    let plain = if naive {
        Idempotency::Natural
    } else {
        Idempotency::None
    };
    let effect = match kind {
        Kind::Read => Effect::Read,
        Kind::Keyed | Kind::Plain | Kind::Found => Effect::Write,
        Kind::Wipe | Kind::Shown => Effect::Destructive,
    };
    let idempotency = match kind {
        Kind::Read => Idempotency::Natural,
        Kind::Keyed => Idempotency::Key {
            carrier: KeyCarrier::Header("Idempotency-Key".to_owned()),
            ttl_ms: KEY_LIVES_MS.unsigned_abs(),
        },
        Kind::Plain | Kind::Found | Kind::Wipe | Kind::Shown => plain,
    };
    let mut operation = operation(kind.operation(), effect, "done")?;
    operation.idempotency = idempotency;
    operation.reconcile = (kind == Kind::Found).then(|| Reconcile {
        tool: FIND.to_owned(),
        args: json!({ "to": "${ args.to }" }),
        landed: "${ output.found }".to_owned(),
        output: Some("${ {\"done\": output.found} }".to_owned()),
        final_after_ms: FINAL_AFTER_MS.unsigned_abs(),
    });
    operation.preview = (kind == Kind::Shown).then(|| Preview {
        tool: FIND.to_owned(),
        args: json!({ "to": "${ args.to }" }),
    });
    Ok(operation)
}

fn find() -> Result<Operation, String> {
    operation(FIND, Effect::Read, "found")
}

fn operation(name: &str, effect: Effect, says: &str) -> Result<Operation, String> {
    let schema = |value: Value| Schema::compile(value).map_err(|error| error.to_string());
    Ok(Operation {
        name: name.to_owned(),
        description: "changes or reads the counted world".to_owned(),
        effect,
        tags: Default::default(),
        input: schema(json!({
            "type": "object",
            "properties": { "to": { "type": "string" }, "n": { "type": "string" } },
            "required": ["to"],
            "additionalProperties": false,
        }))?,
        output: Some(schema(json!({
            "type": "object",
            "properties": { says: { "type": "boolean" } },
            "required": [says],
        }))?),
        trusted: true,
        secret: false,
        accepts_secrets: false,
        content: ["n".to_owned()].into(),
        idempotency: Idempotency::Natural,
        errors_no_effect: false,
        timeout: Duration::from_secs(5),
        max_bytes: 1_000,
        reconcile: None,
        preview: None,
        creates: None,
        values: std::collections::BTreeMap::new(),
        cost: None,
        endpoint: json!({ "world": true }),
    })
}
