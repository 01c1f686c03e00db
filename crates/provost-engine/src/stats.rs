//! What the runs of a store come to, counted: sums over many journals, by what they share.
//!
//! Owns which runs are counted and how they are grouped. Counts nothing itself: that is
//! [`provost_run::facts`]. INVARIANT: a run that cannot be read is told, and never counted as one
//! without faults.

use std::collections::BTreeMap;

use provost_run::facts::{Economy, RunFacts};

use crate::engine::EngineError;
use crate::history;
use crate::store::{RunFilter, Store};

/// What runs are grouped by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GroupBy {
    /// All together.
    Nothing,
    /// The kind of planner.
    Planner,
    /// The model that planned.
    Model,
    /// The version of the prompt.
    Prompt,
    /// The playbook.
    Playbook,
    /// The operation that was called.
    Operation,
    /// The policy that plans were checked under.
    Policy,
}

/// What is said of a run whose journal does not tell what it is grouped by.
pub const UNKNOWN: &str = "unknown";

/// The figures of a group of runs.
#[derive(Clone, Debug, Default)]
pub struct GroupFacts {
    /// The runs in it.
    pub runs: u64,
    /// The runs by how they ended; those that are not over by their status.
    pub statuses: BTreeMap<String, u64>,
    /// The sums.
    pub facts: RunFacts,
    /// What runs took, from their beginning to their end, in milliseconds, in order.
    pub elapsed_ms: Vec<i64>,
}

/// The figures of a store.
#[derive(Clone, Debug, Default)]
pub struct StoreFacts {
    /// By what runs are grouped by.
    pub groups: BTreeMap<String, GroupFacts>,
    /// Runs that cannot be read, each with the reason.
    pub unread: Vec<(String, String)>,
}

impl GroupFacts {
    fn add(&mut self, status: &str, facts: &RunFacts) {
        self.runs += 1;
        *self.statuses.entry(status.to_owned()).or_default() += 1;
        self.facts.add(facts);
        if facts.ended_at.is_some() {
            self.elapsed_ms.push(facts.economy.elapsed_ms);
        }
    }

    /// The value below which this share of the runs that ended took, by nearest rank.
    #[must_use]
    pub fn percentile(&self, share: f64) -> Option<i64> {
        let rank = (share * self.elapsed_ms.len() as f64).ceil().max(1.0);
        let at = (rank as usize).checked_sub(1)?;
        self.elapsed_ms.get(at).copied()
    }
}

/// Counts the runs of a store that began at or after `since`, in milliseconds since the epoch.
///
/// # Errors
/// [`EngineError::Store`] if the journal cannot be read.
pub fn store_facts(
    store: &Store,
    since: Option<i64>,
    by: GroupBy,
) -> Result<StoreFacts, EngineError> {
    let mut counted = StoreFacts::default();
    for row in store.runs(&RunFilter::default())? {
        if since.is_some_and(|since| row.created_at_ms < since) {
            continue;
        }
        let facts = match history::events(store, &row.id) {
            Ok(events) => RunFacts::of(&events),
            Err(error) => {
                counted.unread.push((row.id, error.to_string()));
                continue;
            }
        };
        if by == GroupBy::Operation {
            for (operation, rates) in &facts.operations {
                let group = counted.groups.entry(operation.clone()).or_default();
                let of_operation = RunFacts {
                    execution: rates.clone(),
                    economy: Economy::default(),
                    ..RunFacts::default()
                };
                group.add(&row.status, &of_operation);
            }
            continue;
        }
        let key = group_of(&facts, by);
        let group = counted.groups.entry(key).or_default();
        group.add(&row.status, &facts);
    }
    for group in counted.groups.values_mut() {
        group.elapsed_ms.sort_unstable();
    }
    Ok(counted)
}

fn group_of(facts: &RunFacts, by: GroupBy) -> String {
    let name = match by {
        GroupBy::Nothing | GroupBy::Operation => return "all".to_owned(),
        GroupBy::Planner => "planner",
        GroupBy::Model => "model",
        GroupBy::Prompt => "prompt",
        GroupBy::Playbook => "playbook",
        GroupBy::Policy => "policy",
    };
    let found = facts.groups.get(name);
    found.cloned().unwrap_or_else(|| UNKNOWN.to_owned())
}
