//! Policy: what may run, what a person is asked about, who may approve.
//!
//! Owns Cedar: the schema made from the catalog, strict loading, the two decisions, conditions
//! left by unknown arguments. Fail closed: any error in either decision is `forbid`. INVARIANT:
//! a verdict names the policies that decided it.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, OnceLock};

use cedar_policy::{Authorizer, Entities, Schema};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use crate::amount::Totals;
use crate::catalog::{Catalog, Operation};
use crate::codes::Code;
use crate::diagnostic::Diagnostic;
use crate::digest::{Digest, Domain};
use crate::label::Label;
use crate::limits::APPROVAL_VALID_MS;
use crate::source::{Source, Span};

mod action;
mod approver;
mod authoring;
mod bounds;
mod combine;
mod decide;
mod entities;
mod hosts;
mod load;
mod mentions;
mod names;
mod partial;
mod people;
mod ready;
mod rights;
mod shape;
mod substitute;
mod values;
mod vocabulary;

use authoring::lint;

pub use action::{ActionDenied, ActionFacts, OperationFacts, RunAction};
pub use approver::ApproveDenied;
pub use authoring::cases::{CaseResult, Cases};
pub use authoring::shortage::Shortage;
pub use authoring::survey::{OperationVerdicts, Survey};
pub use people::People;
pub use rights::Rights;

/// The policy that `init` writes: what runs by itself, what asks, who may approve.
pub const DEFAULT_POLICY: &str = include_str!("policy/default.cedar");
/// The policy that `init` adds for a workspace of one person.
pub const SOLO_POLICY: &str = include_str!("policy/solo.cedar");
/// The policy that `init` writes about what else people may say to a run.
pub const STATEMENTS_POLICY: &str = include_str!("policy/statements.cedar");
/// The name of the file whose presence makes a workspace solo.
pub const SOLO_FILE: &str = "solo.cedar";

/// Who a run acts for, or who answers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Principal {
    /// A person, or an agent acting for one.
    pub kind: PrincipalKind,
    /// The name, as in `policies/entities.json`.
    pub id: String,
    /// Groups and roles.
    pub groups: BTreeSet<String>,
}

/// The kinds of principal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum PrincipalKind {
    /// A person.
    User,
    /// A planner acting for a person; never an approver.
    Agent,
}

impl Principal {
    /// A planner that acts for this person: in the same groups, and never an approver.
    #[must_use]
    pub fn agent(&self) -> Self {
        Self {
            kind: PrincipalKind::Agent,
            ..self.clone()
        }
    }

    /// The identity, with its groups.
    #[must_use]
    pub fn digest(&self) -> Digest {
        Digest::of(Domain::Principal, self)
    }
}

/// The hosts and mail domains that a text names.
#[must_use]
pub fn hosts_named(text: &str) -> BTreeSet<String> {
    hosts::hosts_in(text).hosts
}

/// Policy's word on a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Decision {
    /// It runs by itself.
    Permit,
    /// A person is asked.
    Ask,
    /// It does not run.
    Forbid,
}

impl Decision {
    /// The word shown to people.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Permit => "permit",
            Self::Ask => "ask",
            Self::Forbid => "forbid",
        }
    }
}

/// A verdict, with what decided it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Verdict {
    /// The word.
    pub decision: Decision,
    /// The ids of the policies that decided.
    pub policies: Vec<String>,
    /// How a person is asked, when one is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ask: Option<AskTerms>,
    /// What is left open until the arguments are known, in words (`asks if `amount` > 500`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub condition: Option<String>,
    /// Errors that made it a forbid.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub errors: Vec<String>,
}

/// How a person is asked: the strictest of the policies that apply.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AskTerms {
    /// How many people must say yes.
    pub quorum: u32,
    /// Roles of which each approver must hold all.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub approvers: BTreeSet<String>,
    /// When the question lapses, in milliseconds after it was asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_ms: Option<u64>,
    /// How long a yes counts, in milliseconds, where policy says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub valid_ms: Option<u64>,
    /// What a lapse leads to.
    pub on_expiry: OnExpiry,
}

impl Default for AskTerms {
    /// One yes of anybody who may approve, without a limit of time.
    fn default() -> Self {
        Self {
            quorum: 1,
            approvers: BTreeSet::new(),
            expires_ms: None,
            valid_ms: None,
            on_expiry: OnExpiry::Fail,
        }
    }
}

impl AskTerms {
    /// How long a yes counts, in milliseconds after it was given.
    #[must_use]
    pub fn valid(&self) -> i64 {
        let valid = self.valid_ms.unwrap_or(APPROVAL_VALID_MS);
        i64::try_from(valid).unwrap_or(i64::MAX)
    }

    /// The strictest of two ways to ask: the higher quorum, all roles, the shorter time, and a
    /// new plan on expiry only if both say so.
    #[must_use]
    pub fn strictest(&self, other: &Self) -> Self {
        let replan = self.on_expiry == OnExpiry::Replan && other.on_expiry == OnExpiry::Replan;
        let shorter = |one: Option<u64>, two: Option<u64>| match (one, two) {
            (Some(one), Some(two)) => Some(one.min(two)),
            (one, two) => one.or(two),
        };
        Self {
            quorum: self.quorum.max(other.quorum),
            approvers: self.approvers.union(&other.approvers).cloned().collect(),
            expires_ms: shorter(self.expires_ms, other.expires_ms),
            valid_ms: shorter(self.valid_ms, other.valid_ms),
            on_expiry: if replan {
                OnExpiry::Replan
            } else {
                OnExpiry::Fail
            },
        }
    }
}

/// What a lapsed question leads to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum OnExpiry {
    /// The step fails with class `expired`.
    #[default]
    Fail,
    /// The planner is asked for a revision.
    Replan,
}

/// What policy is asked about: one call, its arguments known in whole or in part.
#[derive(Clone, Debug)]
pub struct CallFacts<'a> {
    /// Who it is for.
    pub principal: &'a Principal,
    /// What is called.
    pub operation: &'a Operation,
    /// The role of the step; empty if it has none.
    pub role: &'a str,
    /// The arguments that are known.
    pub args: &'a Map<String, Value>,
    /// The top-level arguments that are known only at run time; one that may be left out may turn
    /// out not to be sent.
    pub unknown: &'a BTreeSet<String>,
    /// The label of each top-level argument that the plan gives, also of one that is left out.
    pub labels: &'a BTreeMap<String, Label>,
    /// The label of what decides that it runs.
    pub control: &'a Label,
    /// Whether every argument is proven by types or passed its run-time check, and every feeding
    /// step was accepted.
    pub inputs_validated: bool,
    /// Whether every argument is trusted, or stands in the goal, in a person's answer or in a
    /// trusted reading; false of a value that is not known yet and not trusted.
    pub values_from_goal: bool,
    /// How often the same call was made before, as far as that is known; of a read, zero.
    pub repeats: Option<u64>,
    /// The most of each counted value in all calls of the plan; none where no plan is known. A
    /// value that it does not name has no bound, as far as policy is told.
    pub totals: Option<&'a Totals>,
}

impl CallFacts<'_> {
    /// How often a call was made before of which nothing is known yet: only writes are counted.
    #[must_use]
    pub fn repeats_before_the_run(operation: &Operation) -> Option<u64> {
        operation.effect.is_read().then_some(0)
    }
}

/// A loaded policy: parsed and validated once, cheap to clone.
#[derive(Clone, Debug)]
pub struct Policy {
    inner: Arc<Loaded>,
}

#[derive(Debug)]
struct Loaded {
    schema: Arc<Schema>,
    /// The same schema as JSON.
    schema_value: Value,
    /// The schema for decisions while it is not known how often a call was made before.
    open_schema: OnceLock<Option<Schema>>,
    /// Every action with its groups, as the schema has them.
    actions: Entities,
    entries: Vec<load::PolicyEntry>,
    sources: Vec<Source>,
    operations: BTreeMap<String, OperationTerms>,
    /// The counted values, and whether each is in whole units.
    values: BTreeMap<String, bool>,
    /// Who may say what to a run.
    rights: Arc<Rights>,
    /// The names that policies may mention.
    known: names::KnownNames,
    digest: Digest,
    authorizer: Authorizer,
}

/// What is kept of an operation; the part Cedar needs is made when it is first asked about.
#[derive(Debug)]
struct OperationTerms {
    operation: Arc<Operation>,
    fields: shape::ShapeFields,
    action: OnceLock<Result<entities::ActionTerms, String>>,
    /// Whether a policy on its calls looks at how often they were made before.
    counts_repeats: OnceLock<bool>,
    ready: Mutex<Vec<(ready::PolicyKey, Arc<ready::PreparedEntities>)>>,
}

impl OperationTerms {
    fn new(operation: &Arc<Operation>, fields: shape::ShapeFields) -> Self {
        Self {
            operation: Arc::clone(operation),
            fields,
            action: OnceLock::new(),
            counts_repeats: OnceLock::new(),
            ready: Mutex::default(),
        }
    }
}

impl Policy {
    /// Loads the policy files of a workspace and validates them against the whole catalog.
    ///
    /// A file called `solo.cedar` makes the workspace solo. Without any file nothing is
    /// permitted.
    ///
    /// # Errors
    /// Every reason why a file does not load, as `W802`.
    pub fn load(
        catalog: &Catalog,
        sources: &[Source],
        people: &People,
    ) -> Result<Self, Vec<(Source, Diagnostic)>> {
        let first = sources.first().cloned();
        let broken = |message: String| -> Vec<(Source, Diagnostic)> {
            let source = first
                .clone()
                .unwrap_or_else(|| Source::new("<policies>", ""));
            vec![(
                source,
                Diagnostic::new(Code::BadPolicy, Span::default(), message),
            )]
        };
        if let Some(operation) = catalog.iter().find(|op| vocabulary::is_reserved(&op.name)) {
            let name = &operation.name;
            return Err(broken(format!(
                "no operation can be called `{name}`: policy uses the name"
            )));
        }
        let typed = |op: &Operation| shape::ShapeFields::of_schema(op.input.value());
        let fields = catalog.iter().map(|op| (op.name.clone(), typed(op)));
        let fields: BTreeMap<String, shape::ShapeFields> = fields.collect();
        let mut sources = sources.to_vec();
        sources.sort_by(|a, b| load::base_name(a).cmp(load::base_name(b)));
        let typed = || {
            let value = vocabulary::schema_value(catalog, &fields);
            vocabulary::load(value.clone()).map(|schema| (value, schema))
        };
        let (entries, typed) = both(|| load::parse(&sources), typed);
        let (schema_value, schema) =
            typed.map_err(|reason| broken(format!("the catalog cannot be typed: {reason}")))?;
        let schema = Arc::new(schema);
        let entries = entries?;
        let actions = lint::Actions::new(catalog, &fields);
        let known = names::KnownNames::of(catalog, people);
        let action_entities = schema
            .action_entities()
            .map_err(|error| broken(load::words_of(&error)))?;
        let (rights, valid) = both(
            || Rights::new(&entries, &sources, people, &schema, &action_entities),
            || load::validate(&schema, &entries, &sources, &actions, &known),
        );
        valid?;
        let rights = rights.map_err(&broken)?;
        let operations = catalog.iter().map(|operation| {
            let fields = fields.get(&operation.name).cloned().unwrap_or_default();
            let terms = OperationTerms::new(operation, fields);
            (operation.name.clone(), terms)
        });
        let inner = Loaded {
            schema_value,
            schema,
            open_schema: OnceLock::new(),
            actions: action_entities,
            entries,
            operations: operations.collect(),
            values: catalog.values(),
            rights: Arc::new(rights),
            known,
            digest: digest_of(&sources, people),
            authorizer: Authorizer::new(),
            sources,
        };
        Ok(Self {
            inner: Arc::new(inner),
        })
    }

    /// The identity of the policy files and of the people.
    #[must_use]
    pub fn digest(&self) -> Digest {
        self.inner.digest
    }

    /// Whether whoever asks for a run may approve it: there is a file `solo.cedar`.
    #[must_use]
    pub fn is_solo(&self) -> bool {
        self.inner.rights.solo
    }

    /// The people it was loaded with.
    #[must_use]
    pub fn people(&self) -> &People {
        self.inner.rights.people()
    }

    /// Who may say what to a run.
    #[must_use]
    pub fn rights(&self) -> &Arc<Rights> {
        &self.inner.rights
    }

    /// The tags that no policy looks at, of those that an operation bears or the workspace declares
    /// as its own. One that raises the risk is looked at where the risk is.
    #[must_use]
    pub fn unseen_tags(&self) -> BTreeSet<&str> {
        let mut unseen = self.inner.known.tags_in_use();
        for entry in &self.inner.entries {
            let names = names::PolicyNames::of(&entry.tree);
            unseen.retain(|tag| !names.looks_at_tag(tag));
        }
        unseen
    }

    /// The schema to evaluate policies by while these parts of a call are not known.
    fn schema_for(&self, open: &BTreeSet<mentions::Mention>) -> &Schema {
        let typed = || vocabulary::with_open_repeats(self.inner.schema_value.clone());
        let wide = open.contains(&mentions::Mention::Repeats).then(|| {
            let schema = &self.inner.open_schema;
            schema.get_or_init(|| vocabulary::load(typed()).ok())
        });
        wide.and_then(Option::as_ref).unwrap_or(&self.inner.schema)
    }

    /// The ids of all policies, in the order of the files.
    pub fn ids(&self) -> impl Iterator<Item = &str> {
        self.inner.entries.iter().map(|entry| entry.id.as_str())
    }
}

/// What two tasks come to that share nothing: at the same time, if a thread can be had. Reading
/// policies and typing the catalog are most of what the start of a process takes.
fn both<A: Send, B>(one: impl Fn() -> A + Sync, two: impl FnOnce() -> B) -> (A, B) {
    std::thread::scope(|scope| {
        let beside = std::thread::Builder::new().spawn_scoped(scope, &one);
        let second = two();
        let first = match beside.map(std::thread::ScopedJoinHandle::join) {
            Ok(Ok(first)) => first,
            Ok(Err(panic)) => std::panic::resume_unwind(panic),
            Err(_) => one(),
        };
        (first, second)
    })
}

/// Whether one of the files says that whoever asks may approve.
fn makes_solo(sources: &[Source]) -> bool {
    sources
        .iter()
        .any(|source| load::base_name(source) == SOLO_FILE)
}

/// Comments count: a policy's text is what people reviewed. Folders do not.
fn digest_of(sources: &[Source], people: &People) -> Digest {
    let files: Vec<Value> = sources
        .iter()
        .map(|source| json!([load::base_name(source), &*source.text]))
        .collect();
    Digest::of_value(
        Domain::Policy,
        &json!({ "files": files, "people": people.value() }),
    )
}

#[cfg(test)]
mod tests;
