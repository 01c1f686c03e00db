//! Rights: the part of policies that is about people, and needs no catalog to be asked.
//!
//! Owns which policies decide each thing that people say to a run, and the form in which a journal
//! keeps all of it, so that what was said is judged again by the rules of that day. INVARIANT:
//! rights read back from a journal decide as those that were written.

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};

use cedar_policy::{Authorizer, Entities, PolicyId, Schema};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::action::RunAction;
use super::entities::ActionTerms;
use super::load::{self, PolicyEntry, base_name, words_of};
use super::vocabulary::APPROVE;
use super::{People, lint, makes_solo, vocabulary};
use crate::catalog::Catalog;
use crate::digest::{Digest, Domain, canonical};
use crate::source::Source;

/// The version marker of rights in a journal.
const RIGHTS_SCHEMA: &str = "provost/rights/v1";
/// What decides a statement that no policy of the workspace permits by its name.
const SILENT_POLICY: &str = include_str!("silent.cedar");

/// Who may say what to a run: yes to a card, and everything else.
#[derive(Debug)]
pub struct Rights {
    /// Of the policies they were loaded with; of rights read back, one without operations. What it
    /// says of people is the same in both.
    pub(super) schema: Arc<Schema>,
    pub(super) authorizer: Authorizer,
    pub(super) approve: ActionTerms,
    pub(super) actions: BTreeMap<RunAction, ActionTerms>,
    pub(super) people: People,
    pub(super) solo: bool,
    text: String,
    digest: Digest,
}

/// Rights as a journal keeps them.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Stored {
    schema: String,
    /// The policy files, by name.
    files: BTreeMap<String, String>,
    /// What policies see of the people.
    people: Value,
}

impl Rights {
    /// Those of policies that were read from `sources`; `known` are the actions of `schema`.
    pub(super) fn new(
        entries: &[PolicyEntry],
        sources: &[Source],
        people: &People,
        schema: &Arc<Schema>,
        known: &Entities,
    ) -> Result<Self, String> {
        let terms =
            |entries: &[PolicyEntry], word: &str| ActionTerms::of_people(known, entries, word);
        let mut actions = BTreeMap::new();
        for action in RunAction::ALL {
            let word = action.word();
            let names = |entry: &&PolicyEntry| lint::names_action(&entry.tree, word);
            let is_own = entries.iter().filter(names).any(|entry| !entry.forbids);
            let found = if is_own {
                terms(entries, word)?
            } else {
                // Why by name: a rule about any action is about calls, and was written before one
                // could say who stops a run.
                let narrowing = entries.iter().filter(names).cloned();
                let all: Vec<PolicyEntry> = silent()?.iter().cloned().chain(narrowing).collect();
                terms(&all, word)?
            };
            actions.insert(action, found);
        }
        let stored = Stored {
            schema: RIGHTS_SCHEMA.to_owned(),
            files: sources
                .iter()
                .map(|source| (base_name(source).to_owned(), source.text.to_string()))
                .collect(),
            people: people.seen_value(),
        };
        let text = canonical(&json!(stored));
        Ok(Self {
            schema: Arc::clone(schema),
            authorizer: Authorizer::new(),
            approve: terms(entries, APPROVE)?,
            actions,
            people: people.clone(),
            solo: makes_solo(sources),
            digest: Digest::of_bytes(Domain::Evidence, text.as_bytes()),
            text,
        })
    }

    /// Reads rights back from the journal.
    ///
    /// # Errors
    /// What is wrong with them, in words.
    pub fn read(bytes: &[u8]) -> Result<Self, String> {
        let stored: Stored = serde_json::from_slice(bytes).map_err(|error| error.to_string())?;
        if stored.schema != RIGHTS_SCHEMA {
            return Err(format!("this is `{}`", stored.schema));
        }
        let sources: Vec<Source> = stored
            .files
            .iter()
            .map(|(name, text)| Source::new(name.as_str(), text.as_str()))
            .collect();
        let wrong = |_| "a policy in it cannot be read".to_owned();
        let entries = load::parse(&sources).map_err(wrong)?;
        let people = Source::new("people", stored.people.to_string());
        let people = People::read(&people).map_err(|_| "its people cannot be read".to_owned())?;
        let schema = schema()?;
        let known = schema.action_entities().map_err(|e| words_of(&e))?;
        Self::new(&entries, &sources, &people, &schema, &known)
    }

    /// The digest under which a journal keeps them.
    #[must_use]
    pub fn digest(&self) -> Digest {
        self.digest
    }

    /// The form in which a journal keeps them.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The people.
    #[must_use]
    pub fn people(&self) -> &People {
        &self.people
    }
}

/// The words that rules about people are written in: no tool has a part in them.
fn schema() -> Result<Arc<Schema>, String> {
    static SCHEMA: OnceLock<Result<Arc<Schema>, String>> = OnceLock::new();
    let made = || {
        let value = vocabulary::schema_value(&Catalog::default(), &BTreeMap::new());
        vocabulary::load(value).map(Arc::new)
    };
    SCHEMA.get_or_init(made).clone()
}

/// The built-in policies.
fn silent() -> Result<&'static [PolicyEntry], String> {
    static SILENT: OnceLock<Result<Vec<PolicyEntry>, String>> = OnceLock::new();
    let made = || {
        let source = Source::new("<built in>", SILENT_POLICY);
        let broken = |_| "the built-in policies cannot be read".to_owned();
        let entries = load::parse(&[source]).map_err(broken)?;
        let named = entries.into_iter().map(|entry| {
            let id = format!("provost:{}", entry.id);
            PolicyEntry {
                policy: entry.policy.new_id(PolicyId::new(&id)),
                id,
                ..entry
            }
        });
        Ok(named.collect())
    };
    let made = SILENT.get_or_init(made);
    made.as_ref().map(Vec::as_slice).map_err(Clone::clone)
}
