//! Approvals that too few people may give.
//!
//! Owns the count. Who may approve is the policy's word, asked as a run asks it. INVARIANT: nothing
//! is said where no people are listed, and who is named may approve.

use std::collections::BTreeSet;

use crate::catalog::Operation;
use crate::policy::{AskTerms, Policy, Principal};

/// What is missing where an approval needs more people than may give it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shortage {
    /// Who of those who are listed may give it.
    who: BTreeSet<String>,
    hint: String,
}

impl Shortage {
    /// Who may give it, in words.
    #[must_use]
    pub fn words(&self) -> String {
        let names: Vec<String> = self.who.iter().map(|id| format!("`{id}`")).collect();
        match names.as_slice() {
            [] => "nobody may give it".to_owned(),
            names => format!("only {} may give it", names.join(", ")),
        }
    }

    /// What to do, by what is missing.
    #[must_use]
    pub fn hint(&self) -> &str {
        &self.hint
    }
}

impl Policy {
    /// What is missing for the approval of a call that `requester` asks for; none if enough of
    /// those who are listed may give it, or nobody is listed.
    #[must_use]
    pub fn shortage(
        &self,
        requester: &Principal,
        operation: Option<&Operation>,
        terms: &AskTerms,
    ) -> Option<Shortage> {
        self.people().names().next()?;
        let enough = usize::try_from(terms.quorum).unwrap_or(usize::MAX).max(1);
        // Why no more: policy is asked for each, and where they are enough nothing is said.
        let who = self.approvers(requester, operation, terms).take(enough);
        let who: BTreeSet<String> = who.collect();
        if who.len() >= enough {
            return None;
        }
        let hint = self.of_shortage(requester, terms);
        Some(Shortage { who, hint })
    }

    /// Who of those who are listed may say yes to a call; policy is asked as they are taken.
    fn approvers<'p>(
        &'p self,
        requester: &'p Principal,
        operation: Option<&'p Operation>,
        terms: &'p AskTerms,
    ) -> impl Iterator<Item = String> + 'p {
        let people = self.people();
        let listed = people.names().map(str::to_owned);
        // Why: in a solo workspace whoever is at the machine counts, listed or not.
        let own = self.is_solo().then(|| requester.id.clone());
        let all: BTreeSet<String> = listed.chain(own).collect();
        let may = move |id: &String| {
            let person = people.principal(id);
            self.may_approve(&person, requester, operation, terms)
                .is_ok()
        };
        all.into_iter().filter(may)
    }

    /// What to do, by what is missing.
    fn of_shortage(&self, requester: &Principal, terms: &AskTerms) -> String {
        let (people, requester) = (self.people(), &requester.id);
        let holds = |id: &&str| terms.approvers.is_subset(&people.principal(id).groups);
        let members: BTreeSet<&str> = people.names().filter(holds).collect();
        let groups: Vec<&str> = terms.approvers.iter().map(String::as_str).collect();
        let in_groups = match groups.is_empty() {
            true => String::new(),
            false => format!(" in {}", groups.join(" and in ")),
        };
        let place = "list more people in `policies/entities.json`";
        if members.contains(requester.as_str()) && !self.is_solo() {
            return format!(
                "`{requester}` asks for the run and may not approve it; {place}{in_groups}"
            );
        }
        if members.len() >= usize::try_from(terms.quorum).unwrap_or(usize::MAX) {
            return "add a `permit` about `Action::\"approve\"` that lets them".to_owned();
        }
        format!("{place}{in_groups}, or ask for fewer")
    }
}
