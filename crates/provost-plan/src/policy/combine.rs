//! Two answers of Cedar made into one verdict.
//!
//! Owns the rule: `permit` if the call is allowed unattended and attended, `ask` if only attended,
//! else `forbid`; and what is said while an answer is open. INVARIANT: an open answer never makes
//! a verdict more permissive than the strictest thing it may turn out to be short of forbid, and
//! that is said in its condition.

use std::collections::BTreeSet;

use super::load::PolicyEntry;
use super::{AskTerms, Decision, Verdict};

/// A policy that may or may not apply, with what it hangs on, in words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Open {
    /// The policy's id.
    pub id: String,
    /// When it applies.
    pub when: String,
}

/// What the policies say in one of the two decisions.
#[derive(Clone, Debug, Default)]
pub(super) struct Side {
    /// Forbids that apply.
    pub forbids: Vec<String>,
    /// Permits that apply.
    pub permits: Vec<String>,
    /// Forbids that may apply.
    pub open_forbids: Vec<Open>,
    /// Permits that may apply.
    pub open_permits: Vec<Open>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Ruling {
    Allow,
    Deny,
    Open,
}

impl Side {
    /// Adds what further policies say.
    pub fn join(&mut self, other: Self) {
        self.forbids.extend(other.forbids);
        self.permits.extend(other.permits);
        self.open_forbids.extend(other.open_forbids);
        self.open_permits.extend(other.open_permits);
    }

    fn word(&self) -> Ruling {
        if !self.forbids.is_empty() || (self.permits.is_empty() && self.open_permits.is_empty()) {
            Ruling::Deny
        } else if !self.open_forbids.is_empty() || self.permits.is_empty() {
            Ruling::Open
        } else {
            Ruling::Allow
        }
    }
}

impl Verdict {
    /// A forbid because something went wrong.
    pub(super) fn refused(errors: Vec<String>) -> Self {
        let policies = Vec::new();
        Self {
            decision: Decision::Forbid,
            policies,
            ask: None,
            condition: None,
            errors,
        }
    }
}

/// The verdict of both decisions.
pub(super) fn combine(unattended: &Side, attended: &Side, entries: &[PolicyEntry]) -> Verdict {
    let verdict = |decision, policies: BTreeSet<String>| Verdict {
        decision,
        policies: policies.into_iter().collect(),
        ask: None,
        condition: None,
        errors: Vec::new(),
    };
    match (unattended.word(), attended.word()) {
        (_, Ruling::Deny) => verdict(Decision::Forbid, attended.forbids.iter().cloned().collect()),
        (Ruling::Allow, Ruling::Allow) => verdict(
            Decision::Permit,
            unattended.permits.iter().cloned().collect(),
        ),
        (Ruling::Deny, Ruling::Allow) => {
            let asking = asking(unattended, attended, entries);
            let ask = Some(terms(&asking, entries));
            Verdict {
                ask,
                ..verdict(Decision::Ask, asking)
            }
        }
        _ => {
            let mut asking = asking(unattended, attended, entries);
            asking.extend(ids(&attended.open_forbids));
            Verdict {
                ask: Some(terms(&asking, entries)),
                condition: Some(condition(unattended, attended)),
                ..verdict(Decision::Ask, asking)
            }
        }
    }
}

fn ids(open: &[Open]) -> impl Iterator<Item = String> + '_ {
    open.iter().map(|open| open.id.clone())
}

/// The policies that ask, or may: the forbids; where nothing permits unattended, the permits.
fn asking(unattended: &Side, attended: &Side, entries: &[PolicyEntry]) -> BTreeSet<String> {
    let mut asking: BTreeSet<String> = unattended.forbids.iter().cloned().collect();
    asking.extend(ids(&unattended.open_forbids));
    // Why: if a forbid applies, Cedar does not say what permits. A permit that does not look at
    // attendance and applies attended applies unattended too.
    let plain = |id: &String| {
        entries
            .iter()
            .any(|entry| entry.id == *id && entry.ask.is_none())
    };
    if unattended.permits.is_empty() && !attended.permits.iter().any(plain) {
        asking.extend(attended.permits.iter().cloned());
        asking.extend(ids(&attended.open_permits));
        asking.extend(ids(&unattended.open_permits));
    }
    asking
}

/// How the asking policies ask, joined.
fn terms(asking: &BTreeSet<String>, entries: &[PolicyEntry]) -> AskTerms {
    entries
        .iter()
        .filter(|entry| asking.contains(&entry.id))
        .filter_map(|entry| entry.ask.clone())
        .reduce(|one, two| one.strictest(&two))
        .unwrap_or_default()
}

impl Verdict {
    /// The same, where the plan has a person asked whatever the values are: what is left open then
    /// is only what policy may forbid.
    #[must_use]
    pub fn asked_by(mut self, by: &str) -> Self {
        // Why the first words: what may forbid stands before what may ask (`condition`).
        let only_asks = |condition: &String| condition.starts_with(ASKS);
        let is_open = self.condition.as_ref().is_some_and(only_asks);
        if self.decision == Decision::Permit || (self.decision == Decision::Ask && is_open) {
            self.decision = Decision::Ask;
            self.policies.push(by.to_owned());
            self.ask.get_or_insert_default();
            self.condition = None;
        }
        self
    }
}

/// How a condition begins that forbids nothing.
const ASKS: &str = "asks ";

/// What the verdict hangs on, in words.
fn condition(unattended: &Side, attended: &Side) -> String {
    let any = |open: &[Open]| {
        let mut whens: Vec<&str> = open.iter().map(|open| open.when.as_str()).collect();
        whens.dedup();
        whens.join(" or ")
    };
    let mut parts = Vec::new();
    if !attended.open_forbids.is_empty() {
        parts.push(format!("forbidden if {}", any(&attended.open_forbids)));
    }
    if attended.permits.is_empty() && !attended.open_permits.is_empty() {
        parts.push(format!("forbidden unless {}", any(&attended.open_permits)));
    }
    let asks_only: Vec<Open> = unattended
        .open_forbids
        .iter()
        .filter(|open| !attended.open_forbids.contains(open))
        .cloned()
        .collect();
    if unattended.word() == Ruling::Deny {
        parts.push("asks otherwise".to_owned());
        return parts.join("; ");
    }
    if !asks_only.is_empty() {
        parts.push(format!("asks if {}", any(&asks_only)));
    }
    let same = attended.permits.is_empty() && unattended.open_permits == attended.open_permits;
    if unattended.permits.is_empty() && !same {
        parts.push(format!("asks unless {}", any(&unattended.open_permits)));
    }
    parts.join("; ")
}
