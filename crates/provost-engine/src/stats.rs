//! What the runs of a store come to, counted: sums over many journals, by what they share.
//!
//! Owns which runs are counted and how they are grouped. Counts nothing itself: that is
//! [`provost_run::facts`]. INVARIANT: a run that cannot be read is told, and never counted as one
//! without faults.

use std::collections::BTreeMap;

use provost_run::event::Event;
use provost_run::facts::{Economy, FORMULAS, RunFacts};

use crate::engine::EngineError;
use crate::history;
use crate::store::{CountedRun, FactsRow, Store};

/// How many runs are kept in one commit when all are counted anew.
const RECOUNT_BATCH: usize = 256;

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
    /// The version of provost that began it.
    Version,
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

    /// The value below which this share of the runs that ended took.
    #[must_use]
    pub fn percentile(&self, share: f64) -> Option<i64> {
        nearest_rank(&self.elapsed_ms, share)
    }
}

/// What runs that did not succeed speak against, as their own journals tell, with how many: guilty,
/// party and cause.
#[must_use]
pub fn verdicts(facts: &RunFacts) -> Vec<([&str; 3], u64)> {
    let known = facts
        .counts
        .iter()
        .filter(|(series, ..)| *series == "verdicts");
    let known = known.map(|(_, labels, count)| {
        let label = |at: usize| labels.get(at).copied().unwrap_or_default();
        ([label(0), label(1), label(2)], count)
    });
    known.collect()
}

/// The value of a sorted list below which a share of it lies, by nearest rank.
#[must_use]
pub fn nearest_rank<T: Copy>(sorted: &[T], share: f64) -> Option<T> {
    let rank = (share * sorted.len() as f64).ceil().max(1.0);
    let at = (rank as usize).checked_sub(1)?;
    sorted.get(at).copied()
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
    for row in store.run_facts(FORMULAS)? {
        if since.is_some_and(|since| row.created_at_ms < since) {
            continue;
        }
        let facts = match facts_of(store, &row) {
            Ok(facts) => facts,
            Err(error) => {
                counted.unread.push((row.run, error.to_string()));
                continue;
            }
        };
        if by == GroupBy::Operation {
            for (operation, rates) in &facts.operations {
                let group = counted.groups.entry(operation.clone()).or_default();
                let of_operation = RunFacts {
                    execution: rates.clone(),
                    latency_us: facts
                        .latency_us
                        .get_key_value(operation)
                        .map_or_else(BTreeMap::new, |(operation, took)| {
                            [(operation.clone(), took.clone())].into()
                        }),
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
        let latencies = group.facts.latency_us.values_mut();
        latencies.for_each(|took| took.sort_unstable());
    }
    Ok(counted)
}

/// What is counted of a run: as it was kept with its end, or from its events.
pub(crate) fn facts_of(store: &Store, row: &FactsRow) -> Result<RunFacts, EngineError> {
    let kept = row.facts.as_deref();
    match kept.and_then(|kept| serde_json::from_str(kept).ok()) {
        Some(facts) => Ok(facts),
        None => history::events(store, &row.run).map(|events| of_journal(&events)),
    }
}

/// What is counted of a run, by all its events.
pub(crate) fn of_journal(events: &[(Event, i64)]) -> RunFacts {
    RunFacts::of(events.iter().map(|(event, at)| (event, *at)), None)
}

/// Facts in the form in which they are kept.
pub(crate) fn counted(facts: &RunFacts) -> CountedRun {
    CountedRun {
        formulas: FORMULAS,
        facts: serde_json::to_string(facts).unwrap_or_default(),
    }
}

/// What came of counting anew.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Recounted {
    /// Runs that are over and were counted.
    pub runs: u64,
    /// Of these, those that had no counts, or other ones.
    pub changed: Vec<String>,
    /// Runs that cannot be read, each with the reason.
    pub unread: Vec<(String, String)>,
}

/// Counts all runs of a store anew that are over, and keeps what differs from what was kept.
///
/// # Errors
/// [`EngineError::Store`] if the journal cannot be read or written.
pub fn recount(store: &Store) -> Result<Recounted, EngineError> {
    let mut done = Recounted::default();
    let mut batch = Vec::new();
    for row in store.run_facts(FORMULAS)? {
        let facts = match history::events(store, &row.run) {
            Ok(events) => of_journal(&events),
            Err(error) => {
                done.unread.push((row.run, error.to_string()));
                continue;
            }
        };
        if facts.ended_at.is_none() {
            continue;
        }
        done.runs += 1;
        let counted = counted(&facts);
        if row.facts.as_ref() == Some(&counted.facts) {
            continue;
        }
        done.changed.push(row.run.clone());
        batch.push((row.run, row.seq, counted));
        if batch.len() >= RECOUNT_BATCH {
            store.keep_facts(std::mem::take(&mut batch))?;
        }
    }
    if !batch.is_empty() {
        store.keep_facts(batch)?;
    }
    Ok(done)
}

fn group_of(facts: &RunFacts, by: GroupBy) -> String {
    let name = match by {
        GroupBy::Nothing | GroupBy::Operation => return "all".to_owned(),
        GroupBy::Planner => "planner",
        GroupBy::Model => "model",
        GroupBy::Prompt => "prompt",
        GroupBy::Playbook => "playbook",
        GroupBy::Policy => "policy",
        GroupBy::Version => "version",
    };
    let found = facts.groups.get(name);
    found.cloned().unwrap_or_else(|| UNKNOWN.to_owned())
}
