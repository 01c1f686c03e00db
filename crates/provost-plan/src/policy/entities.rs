//! What Cedar is handed for one decision: entities, policies in scope, the request.
//!
//! Owns their making, always under the schema. Only the action with its groups is kept for an
//! operation, never the whole catalog. INVARIANT: a decision is taken only with its action, in its
//! groups, and its resource present.

use std::collections::{BTreeMap, BTreeSet};

use cedar_policy::pst::Template;
use cedar_policy::{
    Context, Entities, Entity, EntityId, EntityTypeName, EntityUid, PolicySet,
    RestrictedExpression, Schema,
};

use super::load::{PolicyEntry, words_of};
use super::values::{CedarValue, DecisionInput};
use super::vocabulary::{CALL, TOTAL};
use super::{Principal, PrincipalKind, lint};

/// The part of the policy that one action needs.
#[derive(Debug)]
pub(super) struct ActionTerms {
    /// The action.
    pub uid: EntityUid,
    /// The action with its groups.
    pub base: Entities,
    /// The policies whose scope reaches it.
    pub set: PolicySet,
    /// Their places in the list of all.
    pub entries: Vec<usize>,
}

impl ActionTerms {
    /// Of an operation, in the group of its server; `actions` are all of the schema.
    pub fn of_call(
        actions: &Entities,
        entries: &[PolicyEntry],
        operation: &str,
        group: &str,
    ) -> Result<Self, String> {
        let in_scope = |tree: &Template| lint::reaches(&tree.action, operation, group);
        let terms = Self::new(actions, entries, operation, in_scope)?;
        let all = uid("Action", CALL)?;
        if !terms.base.is_ancestor_of(&all, &terms.uid) {
            return Err(format!("action `{operation}` is not in its group"));
        }
        Ok(terms)
    }

    /// Of what people say.
    pub fn of_people(
        actions: &Entities,
        entries: &[PolicyEntry],
        action: &str,
    ) -> Result<Self, String> {
        Self::new(actions, entries, action, |tree| {
            lint::reaches_action(&tree.action, action)
        })
    }

    fn new(
        actions: &Entities,
        entries: &[PolicyEntry],
        action: &str,
        in_scope: impl Fn(&Template) -> bool,
    ) -> Result<Self, String> {
        let action_uid = uid("Action", action)?;
        let mut own: Vec<Entity> = actions
            .ancestors(&action_uid)
            .map_or_else(Vec::new, |groups| {
                groups
                    .filter_map(|group| actions.get(group).cloned())
                    .collect()
            });
        own.extend(actions.get(&action_uid).cloned());
        let base = Entities::from_entities(own, None).map_err(|error| words_of(&error))?;
        let places: Vec<usize> = entries
            .iter()
            .enumerate()
            .filter(|(_, entry)| in_scope(&entry.tree))
            .map(|(place, _)| place)
            .collect();
        let policies = entries.iter().filter(|entry| in_scope(&entry.tree));
        let set = PolicySet::from_policies(policies.map(|entry| entry.policy.clone()))
            .map_err(|error| words_of(&error))?;
        Ok(Self {
            uid: action_uid,
            base,
            set,
            entries: places,
        })
    }

    /// The entities of one decision, checked against the schema.
    pub fn entities(
        &self,
        schema: &Schema,
        principal: Entity,
        resource: Entity,
    ) -> Result<Entities, String> {
        let subject = resource.uid();
        let entities = self
            .base
            .clone()
            .add_entities([principal, resource], Some(schema))
            .map_err(|error| words_of(&error))?;
        if entities.get(&self.uid).is_none() || entities.get(&subject).is_none() {
            return Err("the action or the call is missing".to_owned());
        }
        Ok(entities)
    }
}

/// An entity's name.
pub(super) fn uid(kind: &str, id: &str) -> Result<EntityUid, String> {
    let kind: EntityTypeName = kind
        .parse()
        .map_err(|_| format!("`{kind}` is no kind of entity"))?;
    Ok(EntityUid::from_type_name_and_id(kind, EntityId::new(id)))
}

/// The name of a principal.
pub(super) fn principal_uid(principal: &Principal) -> Result<EntityUid, String> {
    match principal.kind {
        PrincipalKind::User => uid("User", &principal.id),
        PrincipalKind::Agent => uid("Agent", &principal.id),
    }
}

/// A principal, in its groups; an agent is also in the person it acts for. A person may have a key.
pub(super) fn principal_entity(principal: &Principal, key: Option<&str>) -> Result<Entity, String> {
    let groups = principal.groups.iter().map(|group| uid("Group", group));
    let acts_for = (principal.kind == PrincipalKind::Agent).then(|| uid("User", &principal.id));
    let parents = groups.chain(acts_for).collect::<Result<_, String>>()?;
    let key = key.filter(|_| principal.kind == PrincipalKind::User);
    let attributes = key.map(|key| {
        let value = RestrictedExpression::new_string(key.to_owned());
        ("key".to_owned(), value)
    });
    let attributes = attributes.into_iter().collect();
    Entity::new(principal_uid(principal)?, attributes, parents).map_err(|error| words_of(&error))
}

/// A fact about the resource.
#[derive(Clone, Debug)]
pub(super) enum EntityFact<'a> {
    /// A word.
    Text(&'a str),
    /// Words.
    Texts(&'a BTreeSet<String>),
    /// Yes or no.
    Flag(bool),
    /// A count.
    Whole(i64),
    /// Another entity.
    Entity(EntityUid),
}

/// The resource of a decision, with its facts.
pub(super) fn resource_entity<'a>(
    kind: &str,
    facts: impl IntoIterator<Item = (&'a str, EntityFact<'a>)>,
) -> Result<Entity, String> {
    let attributes = facts
        .into_iter()
        .map(|(name, fact)| (name.to_owned(), restricted_fact(fact)))
        .collect();
    let no_parents = std::iter::empty().collect();
    Entity::new(uid(kind, &kind.to_lowercase())?, attributes, no_parents)
        .map_err(|error| words_of(&error))
}

fn restricted_fact(fact: EntityFact<'_>) -> RestrictedExpression {
    match fact {
        EntityFact::Text(text) => RestrictedExpression::new_string(text.to_owned()),
        EntityFact::Texts(texts) => texts_set(texts),
        EntityFact::Flag(flag) => RestrictedExpression::new_bool(flag),
        EntityFact::Whole(number) => RestrictedExpression::new_long(number),
        EntityFact::Entity(uid) => RestrictedExpression::new_entity_uid(uid),
    }
}

fn texts_set(texts: &BTreeSet<String>) -> RestrictedExpression {
    let items = texts
        .iter()
        .map(|text| RestrictedExpression::new_string(text.clone()));
    RestrictedExpression::new_set(items)
}

/// The context of a decision.
pub(super) fn context(seen: &DecisionInput) -> Result<Context, String> {
    let pairs = [
        ("args".to_owned(), record(&seen.args)?),
        ("sinks".to_owned(), texts_set(&seen.sinks)),
        ("hosts".to_owned(), texts_set(&seen.hosts)),
        ("opaque".to_owned(), texts_set(&seen.opaque)),
        (TOTAL.to_owned(), record(&seen.total)?),
    ];
    Context::from_pairs(pairs).map_err(|error| words_of(&error))
}

fn record(fields: &BTreeMap<String, CedarValue>) -> Result<RestrictedExpression, String> {
    let pairs: Result<Vec<_>, String> = fields
        .iter()
        .map(|(name, value)| Ok((name.clone(), restricted(value)?)))
        .collect();
    RestrictedExpression::new_record(pairs?).map_err(|error| words_of(&error))
}

fn restricted(value: &CedarValue) -> Result<RestrictedExpression, String> {
    Ok(match value {
        CedarValue::Text(text) => RestrictedExpression::new_string(text.clone()),
        CedarValue::Whole(number) => RestrictedExpression::new_long(*number),
        CedarValue::Number(text) => RestrictedExpression::new_decimal(text),
        CedarValue::Flag(flag) => RestrictedExpression::new_bool(*flag),
        CedarValue::List(items) => {
            let items: Result<Vec<_>, String> = items.iter().map(restricted).collect();
            RestrictedExpression::new_set(items?)
        }
        CedarValue::Record(fields) => record(fields)?,
    })
}
