//! What is counted of a run, as it ends.
//!
//! Owns when and on which thread that is counted; what is counted belongs to the facts of runs.
//! INVARIANT: the counts are kept with the event that ends the run, or not at all, and then whoever
//! reads them counts the journal.

use provost_run::event::{Event, RunStatus};
use provost_run::facts::RunFacts;

use super::Session;
use crate::people::verify_journal::events_of;
use crate::stats;
use crate::store::{CountedRun, StoreError};

impl Session {
    /// What is counted of the run, if these events end it.
    pub(super) async fn counted(
        &self,
        append: &[Event],
        at_ms: i64,
    ) -> Result<Option<CountedRun>, StoreError> {
        let ends = append.iter().rev().find_map(|event| match event {
            Event::RunEnded(ended) => Some(ended.status),
            _ => None,
        });
        let Some(status) = ends else {
            return Ok(None);
        };
        let new = append.iter().map(|event| (event, at_ms));
        let mut events: Vec<_> = match self.checkpoint.events() {
            Some(kept) if status == RunStatus::Succeeded => {
                let in_force = self.state().plan().map(|plan| plan.checked());
                let facts = RunFacts::of(kept.chain(new), in_force);
                return Ok(Some(stats::counted(&facts)));
            }
            Some(kept) => kept.map(owned).collect(),
            None => {
                let stored = self.store.load(&self.state().head.run).await?;
                let refused = |reason| StoreError::Refused {
                    run: self.state().head.run.clone(),
                    reason,
                };
                events_of(&stored).map_err(refused)?
            }
        };
        events.extend(new.map(owned));
        // Why beside this thread: a verdict is counted, or a long run, and the others go on.
        let facts = tokio::task::spawn_blocking(move || stats::of_journal(&events)).await;
        // Why none where it could not be had: the counts are a cache.
        Ok(facts.ok().map(|facts| stats::counted(&facts)))
    }
}

fn owned((event, at): (&Event, i64)) -> (Event, i64) {
    (event.clone(), at)
}
