//! A run as its journal alone tells it: for whoever looks at runs, or stops them.
//!
//! Owns reading a run without its workspace. Never reads `provost.toml`, a policy, a playbook or
//! the lock, and drives nothing. INVARIANT: what stands here needs no file but the journal, so
//! nothing that is wrong with the others keeps anybody from it.

use std::collections::{BTreeMap, BTreeSet};

use provost_plan::digest::Digest;
use provost_plan::policy::Principal;
use provost_run::event::{Event, RunStatus};
use provost_run::read::why::{Certainty, Judgment, Party, Witnesses, why};
use provost_run::shown;
use provost_run::state::{FoldError, State, WaitKind, Waiting, waiting};

use crate::engine::EngineError;
use crate::people::verify_journal::events_of;
use crate::people::{Inbox, InvalidEvent, JournalError, RightsArchive};
use crate::store::{
    PlacedWait, RunFilter, RunPage, Store, StoreError, StoredEvidence, WaitCounts, WaitPage, Waits,
};

/// The events of a run and what they fold to.
pub struct History {
    /// The events, with the moments they were recorded at.
    pub events: Vec<(Event, i64)>,
    /// The state after the last of them.
    pub state: State,
}

impl History {
    /// Reads the journal of a run, its chain checked on the way.
    ///
    /// # Errors
    /// [`EngineError::Journal`] if an event cannot be read or does not follow.
    pub fn read(store: &Store, run: &str) -> Result<Self, EngineError> {
        let events = events(store, run)?;
        let pairs = events.iter().map(|(event, at)| (event, *at));
        let folded = State::fold(pairs, |_, _, _| Ok::<(), FoldError>(()));
        let (state, _) = folded.map_err(|error| EngineError::journal(run, error))?;
        Ok(Self { events, state })
    }

    /// The bytes of a digest that this run cites; none if they stand behind something secret, or
    /// were never kept.
    ///
    /// # Errors
    /// [`StoreError`] if they are not those that were stored, or were deleted since.
    pub fn shown_evidence(
        &self,
        store: &Store,
        digest: &Digest,
    ) -> Result<Option<StoredEvidence>, StoreError> {
        shown_evidence(&self.events, store, digest)
    }

    /// The digests of the requests to planners, by number.
    #[must_use]
    pub fn requests(&self) -> BTreeMap<u64, Digest> {
        let requests = self.events.iter().filter_map(|(event, _)| match event {
            Event::PlanRequested { id, request, .. } => Some((*id, *request)),
            _ => None,
        });
        requests.collect()
    }

    /// A request to a planner, as it was sent; none if it was never kept. Why it may be shown: what
    /// is secret is left out where a request is made, because a planner must not see it either.
    ///
    /// # Errors
    /// [`StoreError`] if its bytes are not those that were stored, or were deleted since.
    pub fn sent(&self, store: &Store, number: u64) -> Result<Option<StoredEvidence>, StoreError> {
        match self.requests().get(&number) {
            Some(digest) => store.evidence(digest),
            None => Ok(None),
        }
    }

    /// The first event that may not stand, as the people and keys of a workspace tell it, and the
    /// rights that the store keeps: nobody drives such a run.
    #[must_use]
    pub fn contradiction(&self, inbox: &Inbox, store: &Store) -> Option<Box<InvalidEvent>> {
        let pairs = self.events.iter().map(|(event, at)| (event, *at));
        match State::fold(pairs, inbox.judge(&RightsArchive::of(store))) {
            Err(JournalError::InvalidEvent(found)) => Some(found),
            Ok(_) | Err(JournalError::Fold(_)) => None,
        }
    }
}

/// The bytes of a digest that a run with these events cites; none if they stand behind something
/// secret, or were never kept.
///
/// # Errors
/// [`StoreError`] if they are not those that were stored, or were deleted since.
pub fn shown_evidence(
    events: &[(Event, i64)],
    store: &Store,
    digest: &Digest,
) -> Result<Option<StoredEvidence>, StoreError> {
    if !shown::evidence(events.iter().map(|(event, _)| event), digest) {
        return Ok(None);
    }
    store.evidence(digest)
}

/// The calls of the other runs of a store, the newest first, as far as they may be looked at. A run
/// that cannot be read witnesses nothing.
///
/// # Errors
/// [`EngineError::Store`] if the journal cannot be read.
fn witnesses(store: &Store, run: &str) -> Result<Witnesses, EngineError> {
    let mut known = Witnesses::default();
    let rows = store.runs(&RunFilter::default())?;
    for row in rows.iter().filter(|row| row.id != run) {
        let Ok(events) = events(store, &row.id) else {
            continue;
        };
        if !known.add(&events) {
            break;
        }
    }
    Ok(known)
}

/// The verdict on a run: by its own journal, and beside the calls of others only where those may
/// decide.
///
/// # Errors
/// [`EngineError::Store`] if the journal cannot be read.
pub fn judged(
    store: &Store,
    events: &[(Event, i64)],
    state: &State,
) -> Result<Judgment, EngineError> {
    let waits = waiting(state);
    let alone = why(events, &waits, &Witnesses::default());
    let decided =
        alone.certainty == Certainty::Proven && alone.party != Some(Party::ToolOrOperator);
    match decided {
        true => Ok(alone),
        false => Ok(why(events, &waits, &witnesses(store, &state.head.run)?)),
    }
}

/// What each run that is not over waits for: as its rows say, or its events, where an older version
/// wrote it last. A run that cannot be read waits for nothing that anybody could tell.
///
/// # Errors
/// [`EngineError::Store`] if the journal cannot be read.
pub fn waits(store: &Store) -> Result<BTreeMap<String, Vec<Waiting>>, EngineError> {
    let kept: Waits = store.waits()?;
    Ok(kept.into_iter().map(|kept| filled(store, kept)).collect())
}

/// A run with its rows, or what its events say where it has none.
fn filled(store: &Store, (run, rows): (String, Option<Vec<Waiting>>)) -> (String, Vec<Waiting>) {
    let waits = rows.unwrap_or_else(|| {
        let history = History::read(store, &run);
        history.map_or_else(|_| Vec::new(), |history| waiting(&history.state))
    });
    (run, waits)
}

/// What some runs wait for, as [`waits`] tells it of all.
///
/// # Errors
/// [`EngineError::Store`] if the journal cannot be read.
pub fn waits_of<'r>(
    store: &Store,
    runs: impl Iterator<Item = &'r str>,
) -> Result<BTreeMap<String, Vec<Waiting>>, EngineError> {
    let old = store.runs_without_waits()?;
    let of_run = |run: &str| {
        let rows = match old.iter().any(|one| one == run) {
            true => None,
            false => Some(store.waits_of(run)?),
        };
        Ok(filled(store, (run.to_owned(), rows)))
    };
    runs.map(of_run).collect()
}

/// A page of what waits, the latest run first. Where an older version wrote an unfinished run last,
/// all of it is read once more from the events, until that run goes on.
///
/// # Errors
/// [`EngineError::Store`] if the journal cannot be read.
pub fn waits_page(store: &Store, page: &WaitPage) -> Result<Vec<PlacedWait>, EngineError> {
    if store.runs_without_waits()?.is_empty() {
        return Ok(store.waits_page(page)?);
    }
    let mut found = all_placed(store, page.principals.as_deref())?;
    found.retain(|one| {
        let later = page
            .after
            .is_none_or(|(run, n)| one.place.0 < run || (one.place.0 == run && one.place.1 > n));
        let of_kind = page.kind.is_none_or(|kind| kind == one.wait.kind);
        let of_run = page.run.as_ref().is_none_or(|run| one.run.starts_with(run));
        later && of_kind && of_run
    });
    found.truncate(page.limit as usize);
    Ok(found)
}

/// How much waits, as [`waits_page`] has it.
///
/// # Errors
/// [`EngineError::Store`] if the journal cannot be read.
pub fn wait_counts(store: &Store, only: Option<&[Principal]>) -> Result<WaitCounts, EngineError> {
    if store.runs_without_waits()?.is_empty() {
        return Ok(store.wait_counts(only)?);
    }
    let found = all_placed(store, only)?;
    let runs: BTreeSet<i64> = found.iter().map(|one| one.place.0).collect();
    let doubts = found
        .iter()
        .filter(|one| one.wait.kind == WaitKind::Settlement);
    Ok(WaitCounts {
        all: found.len() as u64,
        runs: runs.len() as u64,
        in_doubt: doubts.count() as u64,
        oldest_ms: found.iter().map(|one| one.wait.asked_at).min(),
    })
}

fn all_placed(store: &Store, only: Option<&[Principal]>) -> Result<Vec<PlacedWait>, EngineError> {
    let mut waits = waits(store)?;
    let page = RunPage {
        statuses: RunFilter::unfinished().statuses,
        principals: only.map(<[Principal]>::to_vec),
        limit: u32::MAX,
        ..RunPage::default()
    };
    let mut found = Vec::new();
    for (number, row) in store.runs_page(&page)? {
        let list = waits.remove(&row.id).unwrap_or_default();
        let lacks = list.iter().any(|one| one.kind == WaitKind::Secret);
        // Why: a run that somebody stopped by hand waits for nobody else.
        if row.status == RunStatus::Paused.word() && !lacks {
            continue;
        }
        let placed = list.into_iter().zip(0..).map(|(wait, n)| PlacedWait {
            place: (number, n),
            run: row.id.clone(),
            goal: row.goal.clone(),
            head: row.head,
            wait,
        });
        found.extend(placed);
    }
    Ok(found)
}

/// The events of a run, its chain checked on the way.
pub(crate) fn events(store: &Store, run: &str) -> Result<Vec<(Event, i64)>, EngineError> {
    let stored = store.load(run)?;
    events_of(&stored).map_err(|reason| EngineError::journal(run, reason))
}
