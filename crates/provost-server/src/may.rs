//! What policy lets somebody do at this server: see runs, be shown values, begin, stop, govern.
//!
//! Owns the words in which policy is asked, and the list of those whose runs somebody sees. Decides
//! nothing: the judge is that of statements ([`provost_plan::policy::Rights::judge`]), and its
//! verdicts are kept for as long as policies and people are the same. INVARIANT: who may not see a
//! run is told what is told of one that is not there.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use provost_engine::store::StopScope;
use provost_plan::digest::Digest;
use provost_plan::policy::{ActionFacts, Policy, Principal, PrincipalKind, RunAction};

use crate::limits::VERDICTS_MAX;
use crate::problem::{Problem, ProblemKind};

/// Who does what to a run of whom, and whether it is their own. Policy sees no more of a requester
/// than the name, which an agent has of its person, and whether it is the very one who asks.
type Question = (RunAction, (bool, String), (bool, String));

/// What policy said before.
#[derive(Debug, Default)]
pub(crate) struct Verdicts(Mutex<Kept>);

/// Verdicts by the rights that gave them.
#[derive(Debug, Default)]
struct Kept {
    by: Option<Digest>,
    verdicts: BTreeMap<Question, bool>,
}

/// The runs of whom somebody may do something to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum RequesterScope {
    /// Everybody's, whoever asks for one next.
    All,
    /// Those of these and of nobody else.
    Only(Vec<Principal>),
}

impl RequesterScope {
    /// The same, as the journal is asked.
    pub(crate) fn principals(self) -> Option<Vec<Principal>> {
        match self {
            Self::All => None,
            Self::Only(these) => Some(these),
        }
    }

    /// Whether a run of somebody is among them; of one whose requester nobody knows, only in all.
    pub(crate) fn has(&self, requester: Option<&Principal>) -> bool {
        match (self, requester) {
            (Self::All, _) => true,
            (Self::Only(these), Some(of)) => these.iter().any(|one| name(one) == name(of)),
            (Self::Only(_), None) => false,
        }
    }

    /// Of these runs, those that one person asked for.
    pub(crate) fn of(self, person: Principal) -> Self {
        match self {
            Self::All => Self::Only(vec![person]),
            Self::Only(mut these) => {
                these.retain(|one| name(one) == name(&person));
                Self::Only(these)
            }
        }
    }
}

/// Asks policy, and says why not.
///
/// # Errors
/// [`ProblemKind::NotAllowed`] in the words of policy.
pub(crate) fn ask(
    policy: &Policy,
    action: RunAction,
    by: &Principal,
    requester: &Principal,
) -> Result<(), Problem> {
    let by = &known(policy, by);
    judged(policy, &ActionFacts::of(action, by, requester))
}

/// Asks policy about a stop of more than one run: to place it, or to lift what somebody placed. It
/// is judged as one of a run that nobody known asked for; of one principal's runs, as of theirs.
///
/// # Errors
/// As [`ask`].
pub(crate) fn ask_of_stop(
    policy: &Policy,
    action: RunAction,
    by: &Principal,
    (scope, name): (StopScope, &str),
    stopped_by: Option<&str>,
) -> Result<(), Problem> {
    let requester = match scope {
        StopScope::Principal => name,
        StopScope::All | StopScope::Tool | StopScope::Playbook => "",
    };
    let (by, requester) = (&known(policy, by), &policy.people().principal(requester));
    let facts = ActionFacts {
        stopped_by,
        ..ActionFacts::of(action, by, requester)
    };
    judged(policy, &facts)
}

/// Somebody as the lists of now have them: whoever has been here for long was known by those of
/// then.
fn known(policy: &Policy, by: &Principal) -> Principal {
    let person = policy.people().principal(&by.id);
    match by.kind {
        PrincipalKind::User => person,
        PrincipalKind::Agent => person.agent(),
    }
}

fn judged(policy: &Policy, facts: &ActionFacts<'_>) -> Result<(), Problem> {
    match policy.judge(facts) {
        Ok(_) => Ok(()),
        Err(denied) => Err(Problem::new(ProblemKind::NotAllowed, denied.to_string())
            .hint("`provost policy check` names the policies about it")),
    }
}

/// Asks policy about what concerns no run that is there: to begin one, or to govern.
///
/// # Errors
/// As [`ask`].
pub(crate) fn ask_of(policy: &Policy, action: RunAction, by: &Principal) -> Result<(), Problem> {
    ask(policy, action, by, by)
}

impl Verdicts {
    /// Whether somebody may do this to a run that acts for `requester`.
    pub(crate) fn may(
        &self,
        policy: &Policy,
        action: RunAction,
        by: &Principal,
        requester: &Principal,
    ) -> bool {
        let rights = policy.rights().digest();
        let is_own = name(by) == name(requester);
        let question = (action, name(by), (is_own, requester.id.clone()));
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if kept.by != Some(rights) || kept.verdicts.len() >= VERDICTS_MAX {
            kept.by = Some(rights);
            kept.verdicts.clear();
        }
        if let Some(verdict) = kept.verdicts.get(&question) {
            return *verdict;
        }
        let verdict = ask(policy, action, by, requester).is_ok();
        kept.verdicts.insert(question, verdict);
        verdict
    }

    /// The runs of whom somebody may do this to, of all that these asked for. Policies tell those
    /// who ask for runs apart by their names alone, and may name nobody but who is listed: one
    /// nobody stands for all others.
    pub(crate) fn scope(
        &self,
        policy: &Policy,
        requesters: &[String],
        action: RunAction,
        by: &Principal,
    ) -> RequesterScope {
        let both = |name: &str| {
            let person = policy.people().principal(name);
            [person.agent(), person]
        };
        let may = |requester: &Principal| self.may(policy, action, by, requester);
        let named = requesters.iter().map(String::as_str);
        let mut anybody = [""].into_iter().chain(policy.people().names()).chain(named);
        if anybody.all(|name| both(name).iter().all(may)) {
            return RequesterScope::All;
        }
        let of_runs = requesters.iter().flat_map(|name| both(name));
        RequesterScope::Only(of_runs.filter(may).collect())
    }
}

/// What tells principals apart: whether it is an agent, and the name.
pub(crate) fn name(of: &Principal) -> (bool, String) {
    (of.kind == PrincipalKind::Agent, of.id.clone())
}
