//! Who may say yes.
//!
//! Owns the decision of `Action::"approve"` and the rules that no policy file can lift: an agent
//! never approves, a requester only in a solo workspace, a stranger never outside one. INVARIANT:
//! any error denies.

use std::collections::BTreeSet;

use cedar_policy::{Context, Decision as Answer, Request};

use super::entities::{Fact, principal_entity, principal_uid, resource_entity, uid};
use super::load::words_of;
use super::{AskTerms, Policy, Principal, PrincipalKind};
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
    #[error("`{id}` asked for this run, and somebody else must approve it")]
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
    #[error("this needs somebody in `{}`, and `{id}` is not", roles.join("` and `"))]
    Role {
        /// Who.
        id: String,
        /// The roles they lack.
        roles: Vec<String>,
    },
    /// Policy says no.
    #[error("policy does not let `{id}` approve this{}", by(policies))]
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

/// What somebody does to a run, beside saying yes or no to a card.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RunAction {
    /// To answer a question that names nobody.
    Answer,
    /// To say what became of a call.
    Settle,
    /// To put another plan or goal, or to have undone what happened.
    Amend,
    /// To pause or to cancel.
    Stop,
    /// To let go on what was paused.
    Resume,
}

fn by(policies: &[String]) -> String {
    if policies.is_empty() {
        String::new()
    } else {
        format!(" ({})", policies.join(", "))
    }
}

impl Policy {
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
        operation: Option<&Operation>,
        ask: &AskTerms,
    ) -> Result<(), ApproveDenied> {
        let id = approver.id.clone();
        if approver.kind != PrincipalKind::User {
            return Err(ApproveDenied::Agent { id });
        }
        // Why: an agent bears the name of the person it acts for, who asked just as much.
        if approver.id == requester.id && !self.is_solo() {
            return Err(ApproveDenied::Requester { id });
        }
        if !self.is_solo() && !self.people().is_listed(&approver.id) {
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
            Ok((Answer::Allow, _)) => Ok(()),
            Ok((Answer::Deny, policies)) => Err(ApproveDenied::Policy { id, policies }),
            Err(reason) => Err(ApproveDenied::Failed { id, reason }),
        }
    }

    /// Whether `by` may do this to a run that `requester` asked for; `operation` is that of the
    /// call that is settled. In a solo workspace whoever is at the machine may.
    ///
    /// # Errors
    /// [`ApproveDenied`] says why not.
    pub fn may_act(
        &self,
        action: RunAction,
        by: &Principal,
        requester: &Principal,
        operation: Option<&Operation>,
    ) -> Result<(), ApproveDenied> {
        let id = by.id.clone();
        if by.kind != PrincipalKind::User {
            return Err(ApproveDenied::Agent { id });
        }
        if self.is_solo() {
            return Ok(());
        }
        if !self.people().is_listed(&by.id) {
            return Err(ApproveDenied::Stranger { id });
        }
        let asked = by.id == requester.id;
        match action {
            RunAction::Stop => Ok(()),
            RunAction::Answer | RunAction::Amend | RunAction::Resume if asked => Ok(()),
            // Why not who asked: what they say of a call decides whether it is made again.
            RunAction::Answer | RunAction::Amend | RunAction::Resume | RunAction::Settle => {
                self.may_approve(by, requester, operation, &AskTerms::default())
            }
        }
    }

    fn approve_answer(
        &self,
        approver: &Principal,
        requester: &Principal,
        operation: Option<&Operation>,
        ask: &AskTerms,
    ) -> Result<(Answer, Vec<String>), String> {
        let loaded = &self.inner;
        let none = BTreeSet::new();
        let resource = resource_entity(
            "Approval",
            [
                ("requester", Fact::Entity(uid("User", &requester.id)?)),
                ("operation", Fact::Text(operation.map_or("", |op| &op.name))),
                (
                    "effect",
                    Fact::Text(operation.map_or("", |op| op.effect.word())),
                ),
                (
                    "risk",
                    Fact::Text(operation.map_or("", |op| op.risk().word())),
                ),
                ("tags", Fact::Texts(operation.map_or(&none, |op| &op.tags))),
                ("quorum", Fact::Whole(i64::from(ask.quorum))),
            ],
        )?;
        let request = Request::new(
            principal_uid(approver)?,
            loaded.approve.uid.clone(),
            resource.uid(),
            Context::empty(),
            Some(&loaded.schema),
        )
        .map_err(|error| words_of(&error))?;
        let principal = principal_entity(approver, self.people().key(&approver.id))?;
        let entities = loaded
            .approve
            .entities(&loaded.schema, principal, resource)?;
        let response = loaded
            .authorizer
            .is_authorized(&request, &loaded.approve.set, &entities);
        if let Some(error) = response.diagnostics().errors().next() {
            return Err(words_of(error));
        }
        let mut policies: Vec<String> = response
            .diagnostics()
            .reason()
            .map(|id| id.to_string())
            .collect();
        policies.sort();
        Ok((response.decision(), policies))
    }
}
