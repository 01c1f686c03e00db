//! Who may say yes.
//!
//! Owns the decision of `Action::"approve"` and the rules that no policy file can lift: an agent
//! never approves, a requester only in a solo workspace, a stranger never outside one. INVARIANT:
//! any error denies.

use std::collections::BTreeSet;

use cedar_policy::{Context, Decision as Answer, Entities, Entity, Request};

use super::entities::{
    ActionTerms, EntityFact, principal_entity, principal_uid, resource_entity, uid,
};
use super::load::words_of;
use super::{AskTerms, OperationFacts, Policy, Principal, PrincipalKind, Rights};
use crate::catalog::Operation;

/// Why somebody may not approve.
#[derive(Clone, Debug, thiserror::Error, PartialEq, Eq)]
pub enum ApproveDenied {
    /// Only people approve.
    #[error("`{id}` is an agent, and only people approve")]
    Agent {
        /// Who.
        id: String,
    },
    /// The requester asked.
    #[error("`{id}` requested this run, and another person must approve it")]
    Requester {
        /// Who.
        id: String,
    },
    /// Nobody knows them.
    #[error("`{id}` is not listed in policies/entities.json")]
    Stranger {
        /// Who.
        id: String,
    },
    /// They lack a role.
    #[error("this needs a person in `{}`, and `{id}` is not", roles.join("` and `"))]
    Role {
        /// Who.
        id: String,
        /// The roles they lack.
        roles: Vec<String>,
    },
    /// Policy says no.
    #[error("policy does not let `{id}` approve this{}", named(policies))]
    Policy {
        /// Who.
        id: String,
        /// The policies that forbid it; none if nothing permits it.
        policies: Vec<String>,
    },
    /// The decision failed, which is a no.
    #[error("policy could not be asked whether `{id}` may approve: {reason}")]
    Failed {
        /// Who.
        id: String,
        /// What went wrong.
        reason: String,
    },
}

impl ApproveDenied {
    /// The policies that decided; none where a rule of ours did.
    #[must_use]
    pub fn policies(&self) -> &[String] {
        match self {
            Self::Policy { policies, .. } => policies,
            _ => &[],
        }
    }
}

/// The policies behind an answer, in parentheses.
pub(super) fn named(policies: &[String]) -> String {
    if policies.is_empty() {
        String::new()
    } else {
        format!(" ({})", policies.join(", "))
    }
}

/// What policies see of whatever is decided about a run: who asked for it, and the operation,
/// with empty words where it is about none.
pub(super) fn shared_facts<'a>(
    requester: &Principal,
    operation: Option<&'a OperationFacts>,
) -> Result<Vec<(&'static str, EntityFact<'a>)>, String> {
    static NO_TAGS: BTreeSet<String> = BTreeSet::new();
    let word = |of: fn(&'a OperationFacts) -> &'a str| EntityFact::Text(operation.map_or("", of));
    Ok(vec![
        ("requester", EntityFact::Entity(uid("User", &requester.id)?)),
        ("operation", word(|op| &op.name)),
        ("effect", word(|op| op.effect.word())),
        ("risk", word(|op| op.risk.word())),
        (
            "tags",
            EntityFact::Texts(operation.map_or(&NO_TAGS, |op| &op.tags)),
        ),
    ])
}

impl Policy {
    /// [`Rights::may_approve`], by the rights that these policies give.
    ///
    /// # Errors
    /// As [`Rights::may_approve`].
    pub fn may_approve(
        &self,
        approver: &Principal,
        requester: &Principal,
        operation: Option<&Operation>,
        ask: &AskTerms,
    ) -> Result<(), ApproveDenied> {
        let operation = operation.map(OperationFacts::of);
        let rights = self.rights();
        rights.may_approve(approver, requester, operation.as_ref(), ask)
    }
}

impl Rights {
    /// Whether `approver` may say yes to what `requester` asked for: a call of `operation`, or a
    /// whole plan if there is none. In a solo workspace whoever is at the machine counts as its
    /// one person, listed or not.
    ///
    /// # Errors
    /// [`ApproveDenied`] says why not.
    pub fn may_approve(
        &self,
        approver: &Principal,
        requester: &Principal,
        operation: Option<&OperationFacts>,
        ask: &AskTerms,
    ) -> Result<(), ApproveDenied> {
        let judged = self.judge_approval(approver, requester, operation, ask);
        judged.map(|_| ())
    }

    /// The same, with the policies that permit it.
    pub(super) fn judge_approval(
        &self,
        approver: &Principal,
        requester: &Principal,
        operation: Option<&OperationFacts>,
        ask: &AskTerms,
    ) -> Result<Vec<String>, ApproveDenied> {
        let id = approver.id.clone();
        if approver.kind != PrincipalKind::User {
            return Err(ApproveDenied::Agent { id });
        }
        // Why: an agent bears the name of the person it acts for, who asked just as much.
        if approver.id == requester.id && !self.solo {
            return Err(ApproveDenied::Requester { id });
        }
        if !self.solo && !self.people.is_listed(&approver.id) {
            return Err(ApproveDenied::Stranger { id });
        }
        let lacking: Vec<String> = ask
            .approvers
            .difference(&approver.groups)
            .cloned()
            .collect();
        if !lacking.is_empty() {
            return Err(ApproveDenied::Role { id, roles: lacking });
        }
        match self.approve_answer(approver, requester, operation, ask) {
            Ok((Answer::Allow, policies)) => Ok(policies),
            Ok((Answer::Deny, policies)) => Err(ApproveDenied::Policy { id, policies }),
            Err(reason) => Err(ApproveDenied::Failed { id, reason }),
        }
    }

    fn approve_answer(
        &self,
        approver: &Principal,
        requester: &Principal,
        operation: Option<&OperationFacts>,
        ask: &AskTerms,
    ) -> Result<(Answer, Vec<String>), String> {
        let mut facts = shared_facts(requester, operation)?;
        facts.push(("quorum", EntityFact::Whole(i64::from(ask.quorum))));
        let resource = resource_entity("Approval", facts)?;
        self.answer(approver, &self.approve, resource, Context::empty())
    }

    /// What the policies of one action say to `by`, and which of them.
    pub(super) fn answer(
        &self,
        by: &Principal,
        terms: &ActionTerms,
        resource: Entity,
        context: Context,
    ) -> Result<(Answer, Vec<String>), String> {
        let (action, schema) = (terms.uid.clone(), Some(&*self.schema));
        let request = Request::new(principal_uid(by)?, action, resource.uid(), context, schema)
            .map_err(|error| words_of(&error))?;
        let principal = principal_entity(by, self.people.key(&by.id))?;
        let entities = terms.entities(&self.schema, principal, resource)?;
        self.decide(&request, terms, &entities)
    }

    /// What the policies of one action say, and which of them; an error in any is an error.
    fn decide(
        &self,
        request: &Request,
        terms: &ActionTerms,
        entities: &Entities,
    ) -> Result<(Answer, Vec<String>), String> {
        let response = self.authorizer.is_authorized(request, &terms.set, entities);
        if let Some(error) = response.diagnostics().errors().next() {
            return Err(words_of(error));
        }
        let reasons = response.diagnostics().reason();
        let mut policies: Vec<String> = reasons.map(ToString::to_string).collect();
        policies.sort();
        Ok((response.decision(), policies))
    }
}
