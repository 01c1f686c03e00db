//! The catalogs of the corpus under one policy, and how policy and entries move.
//!
//! Owns no world: what an operation answers stands in `desk` and `depot`.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use provost_plan::catalog::{Catalog, Effect, Idempotency, KeyCarrier, Operation};
use provost_plan::policy::{DEFAULT_POLICY, People, Policy, Principal, PrincipalKind};
use provost_plan::schema::Schema;
use provost_plan::source::Source;
use provost_run::admission::AdmissionRules;
use provost_run::machine::Rules;
use serde_json::Value;

const LISTED: &str = r#"{ "users": { "ada": {}, "bob": {}, "dan": {} } }"#;

const ASKS: &str = r#"
@id("asks") @expires("1h") @on_expiry("fail")
forbid (principal, action in Action::"call", resource)
when { !resource.attended && resource.effect == "external" };
@id("never")
forbid (principal, action in Action::"call", resource)
when { resource.tags.contains("vault") };
"#;

/// How the rules moved since the plan was checked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Moved {
    /// They did not.
    #[default]
    Nothing,
    /// Policy forbids everything that is no read.
    Policy,
    /// Every entry is another.
    Entries,
}

/// The rules of a catalog, made once for each way in which they moved.
pub(super) struct KeptRules([OnceLock<Result<Rules, String>>; 3]);

impl KeptRules {
    pub(super) const fn new() -> Self {
        Self([OnceLock::new(), OnceLock::new(), OnceLock::new()])
    }

    pub(super) fn get(
        &self,
        moved: Moved,
        make: impl FnOnce() -> Result<Rules, String>,
    ) -> Result<Rules, String> {
        let [nothing, policy, entries] = &self.0;
        let kept = match moved {
            Moved::Nothing => nothing,
            Moved::Policy => policy,
            Moved::Entries => entries,
        };
        kept.get_or_init(make).clone()
    }
}

/// An operation of a catalog, in short.
pub(super) struct Entry {
    pub(super) name: &'static str,
    pub(super) effect: Effect,
    pub(super) input: Value,
    pub(super) output: Value,
}

/// The rules over these operations.
///
/// # Errors
/// A sentence, if a schema or a policy does not load.
pub(super) fn rules(entries: Vec<Entry>, moved: Moved) -> Result<Rules, String> {
    let operations: Result<Vec<Operation>, String> = entries
        .into_iter()
        .map(|entry| operation(entry, moved))
        .collect();
    let catalog = Catalog::new(operations?);
    let people = People::read(&Source::new("entities.json", LISTED));
    let people = people.map_err(|found| format!("{found:?}"))?;
    let mut texts = vec![
        Source::new("default.cedar", DEFAULT_POLICY),
        Source::new("asks.cedar", ASKS),
    ];
    if moved == Moved::Policy {
        let text = "@id(\"reads-alone\")\n\
                    forbid (principal, action in Action::\"call\", resource)\n\
                    when { resource.effect != \"read\" };\n";
        texts.push(Source::new("moved.cedar", text));
    }
    let policy = Policy::load(&catalog, &texts, &people).map_err(|found| format!("{found:?}"))?;
    Ok(Rules {
        catalog: Arc::new(catalog),
        policy: Arc::new(policy),
        admission: AdmissionRules::default(),
    })
}

pub(super) fn person(name: &str) -> Principal {
    Principal {
        kind: PrincipalKind::User,
        id: name.to_owned(),
        groups: Default::default(),
    }
}

fn operation(entry: Entry, moved: Moved) -> Result<Operation, String> {
    let schema = |value: Value| Schema::compile(value).map_err(|error| error.to_string());
    let mut operation = Operation::new(entry.name, entry.effect, schema(entry.input)?);
    operation.output = Some(schema(entry.output)?);
    operation.description = match moved {
        Moved::Entries => "works on the records, in another way".to_owned(),
        Moved::Nothing | Moved::Policy => "works on the records".to_owned(),
    };
    operation.trusted = true;
    operation.timeout = Duration::from_secs(5);
    operation.content = ["text".to_owned(), "amount".to_owned()].into();
    if entry.name.starts_with("vault.") {
        operation.tags = ["vault".to_owned()].into();
    }
    operation.idempotency = match entry.effect {
        Effect::Read => Idempotency::Natural,
        // Why none of these: an answer that does not come leaves a doubt.
        Effect::External | Effect::Destructive => Idempotency::None,
        _ => Idempotency::Key {
            carrier: KeyCarrier::Header("Idempotency-Key".to_owned()),
            ttl_ms: 3_600_000,
        },
    };
    Ok(operation)
}
