//! What a decision does not have to compute again for every call.
//!
//! Owns the part of a verdict that hangs on facts but on no argument: entities, and what the
//! policies that look at no argument say. It is kept per operation for the few standings its calls
//! have. INVARIANT: what is kept is a function of its key; it is never changed, only dropped.

use std::collections::BTreeSet;
use std::sync::{Arc, OnceLock, PoisonError};

use cedar_policy::{Context, Entities, Entity, EntityUid, PolicySet, Request};

use super::combine::Side;
use super::entities::{ActionTerms, EntityFact, principal_entity, principal_uid, resource_entity};
use super::load::words_of;
use super::mentions::Mention;
use super::vocabulary::{REPEATS, server_group};
use super::{CallFacts, OperationTerms, Policy, Principal, Verdict};
use crate::catalog::{Effect, Operation};
use crate::label::{Integrity, Label};

/// Most standings that are kept of one operation.
const STANDINGS_MAX: usize = 64;

/// Everything a verdict hangs on besides the arguments themselves.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct PolicyKey {
    principal: Principal,
    effect: Effect,
    tags: BTreeSet<String>,
    role: String,
    sinks: Integrity,
    control: Integrity,
    secret: bool,
    inputs_validated: bool,
    values_from_goal: bool,
    /// How often it was made before, as far as a policy looks at that.
    repeats: u64,
}

/// What is ready for calls of one standing.
#[derive(Debug)]
pub(super) struct PreparedEntities {
    pub principal: EntityUid,
    pub action: EntityUid,
    pub call: EntityUid,
    pub unattended: PreparedSide,
    pub attended: PreparedSide,
    /// Whether no policy looks at an argument, but at most at whether one is opaque.
    pub is_blind: bool,
    /// The verdict on calls that are known in full and hold nothing opaque, if it is blind.
    pub blind: OnceLock<Verdict>,
}

/// Who and what a call of one standing is about: all that a single policy is asked with.
#[derive(Debug)]
pub(super) struct PolicyQuery {
    pub principal: EntityUid,
    pub action: EntityUid,
    pub call: EntityUid,
    pub unattended: Entities,
    pub attended: Entities,
}

/// One of the two decisions, as far as it is the same for all calls of a standing.
#[derive(Debug)]
pub(super) struct PreparedSide {
    pub entities: Entities,
    /// What the policies say that look at no argument.
    pub standing: Side,
    /// The other policies, by their places in the list of all.
    pub looking: Vec<usize>,
    /// The same, for Cedar.
    pub set: PolicySet,
}

impl PolicyKey {
    /// The standing of a call.
    pub fn of(facts: &CallFacts<'_>, repeats: u64) -> Self {
        Self {
            repeats,
            principal: facts.principal.clone(),
            effect: facts.operation.effect,
            tags: facts.operation.tags.clone(),
            role: facts.role.to_owned(),
            sinks: sink_integrity(facts),
            control: facts.control.integrity,
            secret: facts.labels.values().any(|label| label.secret),
            inputs_validated: facts.inputs_validated,
            values_from_goal: facts.values_from_goal,
        }
    }

    /// Whether it is the standing of a call.
    fn is_of(&self, facts: &CallFacts<'_>, repeats: u64) -> bool {
        self.repeats == repeats
            && self.principal == *facts.principal
            && self.effect == facts.operation.effect
            && self.tags == facts.operation.tags
            && self.role == facts.role
            && self.sinks == sink_integrity(facts)
            && self.control == facts.control.integrity
            && self.secret == facts.labels.values().any(|label| label.secret)
            && self.inputs_validated == facts.inputs_validated
            && self.values_from_goal == facts.values_from_goal
    }

    /// The standing of a call of which everything is trusted.
    fn first(principal: &Principal, effect: Effect, tags: &BTreeSet<String>, role: &str) -> Self {
        Self {
            principal: principal.clone(),
            effect,
            tags: tags.clone(),
            role: role.to_owned(),
            sinks: Integrity::Trusted,
            control: Integrity::Trusted,
            secret: true,
            inputs_validated: true,
            values_from_goal: true,
            repeats: 0,
        }
    }

    /// Every standing of calls by `principal`, in each of the `roles`, that differs in an
    /// attribute that `matters`.
    pub(super) fn every(
        principal: &Principal,
        effect: Effect,
        tags: &BTreeSet<String>,
        roles: &BTreeSet<String>,
        matters: impl Fn(&[&str]) -> bool,
    ) -> Vec<Self> {
        const ALL: [Integrity; 3] = [Integrity::Trusted, Integrity::Data, Integrity::Text];
        let integrities =
            |names: [&str; 2]| ALL.into_iter().take(if matters(&names) { 3 } else { 1 });
        let flags = |name: &str| {
            [true, false]
                .into_iter()
                .take(if matters(&[name]) { 2 } else { 1 })
        };
        let first = |role: &String| Self::first(principal, effect, tags, role);
        let mut all: Vec<Self> = roles.iter().map(first).collect();
        let each = |all: Vec<Self>, of: &dyn Fn(Self) -> Vec<Self>| -> Vec<Self> {
            all.into_iter().flat_map(of).collect()
        };
        all = each(all, &|one| {
            let sinks = integrities(["sink_integrity", "untrusted_sink"]);
            sinks
                .map(|sinks| Self {
                    sinks,
                    ..one.clone()
                })
                .collect()
        });
        all = each(all, &|one| {
            let controls = integrities(["control_integrity", "untrusted_control"]);
            let with = |control| Self {
                control,
                ..one.clone()
            };
            controls.map(with).collect()
        });
        all = each(all, &|one| {
            let with = |inputs_validated| Self {
                inputs_validated,
                ..one.clone()
            };
            flags("inputs_validated").map(with).collect()
        });
        all = each(all, &|one| {
            let with = |values_from_goal| Self {
                values_from_goal,
                ..one.clone()
            };
            flags("values_from_goal").map(with).collect()
        });
        each(all, &|one| {
            flags("secret_args")
                .map(|secret| Self {
                    secret,
                    ..one.clone()
                })
                .collect()
        })
    }

    /// The resource: the call itself.
    fn resource(&self, operation: &Operation, attended: bool) -> Result<Entity, String> {
        resource_entity(
            "Call",
            [
                ("effect", EntityFact::Text(self.effect.word())),
                ("risk", EntityFact::Text(operation.risk().word())),
                ("tags", EntityFact::Texts(&self.tags)),
                ("role", EntityFact::Text(&self.role)),
                ("sink_integrity", EntityFact::Text(self.sinks.word())),
                ("control_integrity", EntityFact::Text(self.control.word())),
                (
                    "untrusted_sink",
                    EntityFact::Flag(self.sinks != Integrity::Trusted),
                ),
                (
                    "untrusted_control",
                    EntityFact::Flag(self.control == Integrity::Text),
                ),
                ("secret_args", EntityFact::Flag(self.secret)),
                ("inputs_validated", EntityFact::Flag(self.inputs_validated)),
                ("values_from_goal", EntityFact::Flag(self.values_from_goal)),
                (REPEATS, EntityFact::Whole(whole(self.repeats))),
                ("attended", EntityFact::Flag(attended)),
            ],
        )
    }
}

fn whole(count: u64) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}

/// The join of the labels at sinks, of those too that are left out: that one is not sent was
/// decided as its value would have been. An argument without a label counts as untrusted text.
fn sink_integrity(facts: &CallFacts<'_>) -> Integrity {
    let of = |name: &String| {
        facts
            .labels
            .get(name)
            .map_or(Integrity::Text, |l: &Label| l.integrity)
    };
    let names = facts.args.keys().chain(facts.unknown);
    names
        .chain(facts.labels.keys())
        .filter(|name| facts.operation.is_sink(name))
        .map(of)
        .max()
        .unwrap_or_default()
}

impl OperationTerms {
    /// What is ready for calls of this standing; made when first asked for.
    pub(super) fn ready(
        &self,
        policy: &Policy,
        facts: &CallFacts<'_>,
    ) -> Result<Arc<PreparedEntities>, Vec<String>> {
        let counts = self.counts_repeats(policy);
        let repeats = facts.repeats.filter(|_| counts).unwrap_or_default();
        let same = |entry: &&(PolicyKey, Arc<PreparedEntities>)| entry.0.is_of(facts, repeats);
        // Why: nothing panics while the lock is held, and the entries are whole in any case.
        let kept = self.ready.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, ready)) = kept.iter().find(same) {
            return Ok(Arc::clone(ready));
        }
        drop(kept);
        let standing = PolicyKey::of(facts, repeats);
        let ready = Arc::new(self.make_ready(policy, &standing)?);
        let mut kept = self.ready.lock().unwrap_or_else(PoisonError::into_inner);
        if kept.len() >= STANDINGS_MAX {
            kept.clear();
        }
        kept.push((standing, Arc::clone(&ready)));
        Ok(ready)
    }

    pub(super) fn action(&self, policy: &Policy) -> Result<&ActionTerms, String> {
        let make = || {
            let group = server_group(self.operation.server());
            let loaded = &policy.inner;
            ActionTerms::of_call(
                &loaded.actions,
                &loaded.entries,
                &self.operation.name,
                &group,
            )
        };
        self.action.get_or_init(make).as_ref().map_err(Clone::clone)
    }

    /// Whether a policy on its calls looks at how often they were made before.
    pub(super) fn counts_repeats(&self, policy: &Policy) -> bool {
        *self.counts_repeats.get_or_init(|| {
            let entries = &policy.inner.entries;
            let looks = |place: &usize| {
                let entry = entries.get(*place);
                entry.is_none_or(|entry| entry.mentions.contains(&Mention::Repeats))
            };
            // Why yes where it cannot be said: what is not known then stays open.
            self.action(policy)
                .map_or(true, |action| action.entries.iter().any(looks))
        })
    }

    /// Makes what a single policy is asked with: what the others say is not looked at.
    pub(super) fn scene(
        &self,
        policy: &Policy,
        standing: &PolicyKey,
    ) -> Result<PolicyQuery, String> {
        let action = self.action(policy)?;
        let operation = Operation {
            effect: standing.effect,
            tags: standing.tags.clone(),
            ..(*self.operation).clone()
        };
        let key = policy.people().key(&standing.principal.id);
        let entities = |call: &Entity| {
            let person = principal_entity(&standing.principal, key)?;
            action.entities(&policy.inner.schema, person, call.clone())
        };
        let unattended = standing.resource(&operation, false)?;
        let attended = standing.resource(&operation, true)?;
        Ok(PolicyQuery {
            principal: principal_uid(&standing.principal)?,
            action: action.uid.clone(),
            call: unattended.uid(),
            unattended: entities(&unattended)?,
            attended: entities(&attended)?,
        })
    }

    fn make_ready(
        &self,
        policy: &Policy,
        standing: &PolicyKey,
    ) -> Result<PreparedEntities, Vec<String>> {
        let one = |error: String| vec![error];
        let action = self.action(policy).map_err(one)?;
        let scene = self.scene(policy, standing).map_err(one)?;
        let PolicyQuery {
            principal,
            call,
            unattended,
            attended,
            ..
        } = scene;
        let request = Request::new(
            principal.clone(),
            action.uid.clone(),
            call.clone(),
            Context::empty(),
            None,
        )
        .map_err(|error| one(words_of(&error)))?;
        let sees = |place: &usize| {
            let mentions = policy
                .inner
                .entries
                .get(*place)
                .map(|entry| &entry.mentions);
            let harmless = |m: &Mention| matches!(m, Mention::Attended | Mention::Opaque);
            mentions.is_none_or(|all| !all.iter().all(harmless))
        };
        Ok(PreparedEntities {
            is_blind: !action.entries.iter().any(sees),
            blind: OnceLock::new(),
            unattended: ready_side(policy, action, &request, unattended)?,
            attended: ready_side(policy, action, &request, attended)?,
            principal,
            action: action.uid.clone(),
            call,
        })
    }
}

fn ready_side(
    policy: &Policy,
    action: &ActionTerms,
    request: &Request,
    entities: Entities,
) -> Result<PreparedSide, Vec<String>> {
    let entries = &policy.inner.entries;
    let looks = |place: &usize| {
        let mentions = entries.get(*place).map(|entry| &entry.mentions);
        mentions.is_none_or(|all| all.iter().any(|m| *m != Mention::Attended))
    };
    let (looking, standing): (Vec<usize>, Vec<usize>) =
        action.entries.iter().copied().partition(looks);
    let set_of = |places: &[usize]| {
        let policies = places.iter().filter_map(|place| entries.get(*place));
        PolicySet::from_policies(policies.map(|entry| entry.policy.clone()))
            .map_err(|error| vec![words_of(&error)])
    };
    Ok(PreparedSide {
        standing: policy.answer(request, &set_of(&standing)?, &entities)?,
        set: set_of(&looking)?,
        looking,
        entities,
    })
}
