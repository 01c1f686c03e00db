//! What people may do to a run beside yes and no: who may answer, settle, amend, stop, resume, and
//! what a server lets them do: see, reveal, begin, govern.
//!
//! Owns the decision of these actions and the rules that no policy file can lift: an agent says
//! nothing to a run and is shown no value, and a stranger does something only in a solo workspace,
//! where one person is everybody. INVARIANT: any error denies, and there is no other judge, for
//! what arrives and for what a journal has.

use cedar_policy::{Context, Decision as Answer, RestrictedExpression};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

use super::approver::{named, shared_facts};
use super::entities::{resource_entity, uid};
use super::load::words_of;
use super::vocabulary::{RUN, WORKSPACE};
use super::{AskTerms, Policy, Principal, PrincipalKind, Rights};
use crate::catalog::{Effect, Operation, Risk};

/// What somebody does to a run, beside saying yes or no to a card.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum RunAction {
    /// To answer a question.
    Answer,
    /// To say what became of a call.
    Settle,
    /// To put another plan or goal, or to have undone what happened.
    Amend,
    /// To pause or to cancel.
    Stop,
    /// To let go on what was paused.
    Resume,
    /// To look at it: lists, page, cards, stream.
    See,
    /// To be shown what its tools gave, in clear; never what is secret.
    Reveal,
    /// To begin one, or to have a plan checked for one.
    Begin,
    /// To have the files of the workspace read anew, and to end logins of others.
    Govern,
}

impl RunAction {
    /// All of them.
    pub const ALL: [Self; 9] = [
        Self::Answer,
        Self::Settle,
        Self::Amend,
        Self::Stop,
        Self::Resume,
        Self::See,
        Self::Reveal,
        Self::Begin,
        Self::Govern,
    ];

    /// The name of the action in policies.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Answer => "answer",
            Self::Settle => "settle",
            Self::Amend => "amend",
            Self::Stop => "stop",
            Self::Resume => "resume",
            Self::See => "see",
            Self::Reveal => "reveal",
            Self::Begin => "begin",
            Self::Govern => "govern",
        }
    }

    /// The action of this name.
    #[must_use]
    pub fn of(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|action| action.word() == word)
    }

    /// The kind of resource that it is done to.
    pub(super) fn resource(self) -> &'static str {
        match self {
            Self::Govern => WORKSPACE,
            _ => RUN,
        }
    }

    /// Whether an agent may do it, if policy says so. What agents are told decides what they plan,
    /// and what they say would pass for the word of a person.
    pub(super) fn is_for_agents(self) -> bool {
        matches!(self, Self::See | Self::Begin)
    }

    /// The attributes of its context: their types, and whether they are always there.
    pub(super) fn context(self) -> &'static [(&'static str, &'static str, bool)] {
        const MAY_APPROVE: (&str, &str, bool) = ("may_approve", "Boolean", true);
        match self {
            Self::Answer => &[
                MAY_APPROVE,
                ("names_somebody", "Boolean", true),
                ("names_principal", "Boolean", true),
            ],
            Self::Resume => &[MAY_APPROVE, ("stopped_by", "User", false)],
            // Why also of those that begin: a policy about every action on a run reads it.
            Self::See | Self::Reveal | Self::Begin => &[MAY_APPROVE, ("own", "Boolean", true)],
            Self::Settle | Self::Amend | Self::Stop => &[MAY_APPROVE],
            Self::Govern => &[],
        }
    }
}

/// What policies look at of an operation, where its catalog is not at hand.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OperationFacts {
    /// Its name.
    pub name: String,
    /// What it does to the world.
    pub effect: Effect,
    /// How much harm it can do.
    pub risk: Risk,
    /// Its tags.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub tags: BTreeSet<String>,
}

impl OperationFacts {
    /// Those of an operation.
    #[must_use]
    pub fn of(operation: &Operation) -> Self {
        Self {
            name: operation.name.clone(),
            effect: operation.effect,
            risk: operation.risk(),
            tags: operation.tags.clone(),
        }
    }
}

/// What policy is asked about: what somebody wants to do to a run.
#[derive(Clone, Copy, Debug)]
pub struct ActionFacts<'a> {
    /// What they do.
    pub action: RunAction,
    /// Who.
    pub by: &'a Principal,
    /// Who asked for the run; who asks, where there is none yet.
    pub requester: &'a Principal,
    /// The call that is settled.
    pub operation: Option<&'a OperationFacts>,
    /// The person or group that the question names.
    pub addressee: Option<&'a str>,
    /// Who stopped the run, if a person did.
    pub stopped_by: Option<&'a str>,
}

impl<'a> ActionFacts<'a> {
    /// Those of an action that is no statement: who does it, and who asked for the run.
    #[must_use]
    pub fn of(action: RunAction, by: &'a Principal, requester: &'a Principal) -> Self {
        Self {
            action,
            by,
            requester,
            operation: None,
            addressee: None,
            stopped_by: None,
        }
    }

    /// Whether it is the very one who asked for the run: not a person whose agent did.
    fn is_own(&self) -> bool {
        (self.by.kind, &self.by.id) == (self.requester.kind, &self.requester.id)
    }

    fn names_principal(&self) -> bool {
        let by = self.by;
        self.addressee
            .is_some_and(|of| of == by.id || by.groups.contains(of))
    }
}

/// Why somebody may not do that to a run.
#[derive(Clone, Debug, thiserror::Error, PartialEq, Eq)]
pub enum ActionDenied {
    /// Only people do.
    #[error(
        "`{id}` may not {action}: `{id}` is an agent, and {}",
        of_people(action)
    )]
    Agent {
        /// Who.
        id: String,
        /// What.
        action: &'static str,
    },
    /// Nobody knows them.
    #[error("`{id}` may not {action}: `{id}` is not listed in policies/entities.json")]
    Stranger {
        /// Who.
        id: String,
        /// What.
        action: &'static str,
    },
    /// The question is somebody else's.
    #[error("`{id}` may not answer: the question is for `{of}`{}", named(rules))]
    Addressee {
        /// Who.
        id: String,
        /// Whom it names.
        of: String,
        /// The policies that decided.
        rules: Vec<String>,
    },
    /// Policies forbid it.
    #[error("`{id}` may not {action}: policy forbids it{}", named(policies))]
    Forbidden {
        /// Who.
        id: String,
        /// What.
        action: &'static str,
        /// The policies that forbid it.
        policies: Vec<String>,
    },
    /// Nothing permits it.
    #[error("`{id}` may not {action}: {}", of_others(policies))]
    NotPermitted {
        /// Who.
        id: String,
        /// What.
        action: &'static str,
        /// The policies that permit it to others.
        policies: Vec<String>,
    },
    /// The decision failed, which is a no.
    #[error("`{id}` may not {action}: policy could not be asked: {reason}")]
    Failed {
        /// Who.
        id: String,
        /// What.
        action: &'static str,
        /// What went wrong.
        reason: String,
    },
}

impl ActionDenied {
    /// The policies that decided; none where a rule of ours did.
    #[must_use]
    pub fn policies(&self) -> &[String] {
        match self {
            Self::Agent { .. } | Self::Stranger { .. } | Self::Failed { .. } => &[],
            Self::Addressee { rules, .. } => rules,
            Self::Forbidden { policies, .. } | Self::NotPermitted { policies, .. } => policies,
        }
    }
}

fn of_people(action: &str) -> &'static str {
    match RunAction::of(action) {
        Some(RunAction::Reveal) => "values are shown to people alone",
        Some(RunAction::Govern) => "only people govern a workspace",
        _ => "only people say something to a run",
    }
}

fn of_others(policies: &[String]) -> String {
    match policies {
        [] => "no policy lets anybody".to_owned(),
        some => format!("policy lets only others ({})", some.join(", ")),
    }
}

impl Policy {
    /// [`Rights::judge`], by the rights that these policies give.
    ///
    /// # Errors
    /// As [`Rights::judge`].
    pub fn judge(&self, facts: &ActionFacts<'_>) -> Result<Vec<String>, ActionDenied> {
        self.rights().judge(facts)
    }
}

impl Rights {
    /// Whether somebody may do that to a run; the policies that permit it. In a solo workspace
    /// whoever is at the machine may, but for a question that is somebody else's.
    ///
    /// # Errors
    /// [`ActionDenied`] says why not.
    pub fn judge(&self, facts: &ActionFacts<'_>) -> Result<Vec<String>, ActionDenied> {
        let (id, action) = (facts.by.id.clone(), facts.action.word());
        let is_agent = facts.by.kind != PrincipalKind::User;
        if is_agent && !facts.action.is_for_agents() {
            return Err(ActionDenied::Agent { id, action });
        }
        let misses = facts.addressee.filter(|_| !facts.names_principal());
        // Why not for an agent: it is not the one person, and sees what it began also here.
        if self.solo && !is_agent {
            return match misses {
                None => Ok(Vec::new()),
                Some(of) => Err(ActionDenied::Addressee {
                    id,
                    of: of.to_owned(),
                    rules: Vec::new(),
                }),
            };
        }
        if !self.solo && !self.people.is_listed(&facts.by.id) {
            return Err(ActionDenied::Stranger { id, action });
        }
        match self.ask(facts) {
            Ok((Answer::Allow, policies)) => Ok(policies),
            Ok((Answer::Deny, policies)) if !policies.is_empty() => Err(ActionDenied::Forbidden {
                id,
                action,
                policies,
            }),
            Ok((Answer::Deny, _)) => {
                let policies = self.permits(facts.action);
                Err(match misses {
                    Some(of) => ActionDenied::Addressee {
                        id,
                        of: of.to_owned(),
                        rules: policies,
                    },
                    None => ActionDenied::NotPermitted {
                        id,
                        action,
                        policies,
                    },
                })
            }
            Err(reason) => Err(ActionDenied::Failed { id, action, reason }),
        }
    }

    /// The ids of the policies that decide an action, in the order of their names.
    #[must_use]
    pub fn deciding(&self, action: RunAction) -> Vec<String> {
        self.ids(action, |_| true)
    }

    fn permits(&self, action: RunAction) -> Vec<String> {
        self.ids(action, |policy| {
            policy.effect() == cedar_policy::Effect::Permit
        })
    }

    fn ids(&self, action: RunAction, only: impl Fn(&cedar_policy::Policy) -> bool) -> Vec<String> {
        let terms = self.actions.get(&action).into_iter();
        let policies = terms.flat_map(|terms| terms.set.policies());
        let ids = policies
            .filter(|policy| only(policy))
            .map(|policy| policy.id().to_string());
        let ids: BTreeSet<String> = ids.collect();
        ids.into_iter().collect()
    }

    fn ask(&self, facts: &ActionFacts<'_>) -> Result<(Answer, Vec<String>), String> {
        let Some(terms) = self.actions.get(&facts.action) else {
            return Err("the action is missing".to_owned());
        };
        let seen = shared_facts(facts.requester, facts.operation)?;
        let resource = resource_entity(facts.action.resource(), seen)?;
        self.answer(facts.by, terms, resource, self.context(facts)?)
    }

    fn context(&self, facts: &ActionFacts<'_>) -> Result<Context, String> {
        if facts.action == RunAction::Govern {
            return Ok(Context::empty());
        }
        let asks = AskTerms::default();
        let may = self.may_approve(facts.by, facts.requester, facts.operation, &asks);
        let flag = RestrictedExpression::new_bool;
        let mut pairs = vec![("may_approve".to_owned(), flag(may.is_ok()))];
        match facts.action {
            RunAction::Answer => pairs.extend([
                ("names_somebody".to_owned(), flag(facts.addressee.is_some())),
                ("names_principal".to_owned(), flag(facts.names_principal())),
            ]),
            RunAction::Resume => {
                if let Some(by) = facts.stopped_by {
                    let by = RestrictedExpression::new_entity_uid(uid("User", by)?);
                    pairs.push(("stopped_by".to_owned(), by));
                }
            }
            RunAction::See | RunAction::Reveal | RunAction::Begin => {
                pairs.push(("own".to_owned(), flag(facts.is_own())));
            }
            RunAction::Settle | RunAction::Amend | RunAction::Stop | RunAction::Govern => {}
        }
        Context::from_pairs(pairs).map_err(|error| words_of(&error))
    }
}
