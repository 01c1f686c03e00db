//! What streams that look at one moment share: the events, what is told of them, whose runs count.
//!
//! Owns what was read last, for as long as nobody asks for a later moment. A stream first takes
//! what others have read, without a thread or a wait, and reads itself only if that is not there.
//! INVARIANT: what is kept is of the very moment that is asked for, so it is what the stream would
//! read.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, TryLockError};

use provost_engine::engine::Engine;
use provost_engine::store::{FeedEvent, FeedRun, Store, StoreError};
use provost_plan::policy::RunAction;
use serde::Serialize;
use serde_json::json;

use super::coding::SharedText;
use super::{EventText, id_of};
use crate::app::Shared;
use crate::door::Viewer;
use crate::may::{self, RequesterScope};
use crate::problem::Problem;

/// Most events that are read at once.
const BATCH: u32 = 2_000;
/// How many readings are kept: streams that go on reading are at several places.
const READINGS: usize = 16;

/// What a lock guards; none where somebody holds it and the caller may not wait.
pub(super) fn held<T>(lock: &Mutex<T>, may_wait: bool) -> Option<MutexGuard<'_, T>> {
    if may_wait {
        return Some(lock.lock().unwrap_or_else(PoisonError::into_inner));
    }
    match lock.try_lock() {
        Ok(guard) => Some(guard),
        Err(TryLockError::Poisoned(poisoned)) => Some(poisoned.into_inner()),
        Err(TryLockError::WouldBlock) => None,
    }
}

/// Events in their order, the runs that they are of, and what was told of them: of those that may
/// see the same runs, one writes it down.
#[derive(Debug, Default)]
pub(super) struct EventBatch {
    pub(super) events: Vec<FeedEvent>,
    runs: BTreeMap<String, FeedRun>,
    told: Mutex<Vec<(Arc<RequesterScope>, Arc<SharedText>)>>,
}

impl EventBatch {
    fn read(store: &Store, (at, newest): (i64, i64)) -> Result<Self, StoreError> {
        let mut events = store.events_after(at, BATCH)?;
        // Why no further: a stream that ran after what comes meanwhile would never wait for a wake.
        events.retain(|event| event.n <= newest);
        let mut runs = BTreeMap::new();
        for run in events.iter().filter_map(|event| event.run.as_ref()) {
            if !runs.contains_key(run) {
                runs.insert(run.clone(), store.feed_run(run)?);
            }
        }
        Ok(Self {
            events,
            runs,
            told: Mutex::default(),
        })
    }

    /// What of these is told to who may see runs of a scope; if the caller may not write it down,
    /// only what another did before.
    pub(super) fn told(
        &self,
        scope: &Arc<RequesterScope>,
        may_write: bool,
    ) -> Option<Arc<SharedText>> {
        let mut told = held(&self.told, may_write)?;
        let known = told.iter().find(|(known, _)| known == scope);
        if known.is_some() || !may_write {
            return known.map(|(_, text)| Arc::clone(text));
        }
        let text = Arc::new(self.text(scope));
        told.push((Arc::clone(scope), Arc::clone(&text)));
        Some(text)
    }

    fn text(&self, scope: &RequesterScope) -> SharedText {
        let mut text = EventText::default();
        for event in &self.events {
            let Some(id) = &event.run else {
                let data = json!({ "at_ms": event.at_ms, "kind": event.kind });
                text.placed(&id_of(event), "stop", &data);
                continue;
            };
            let run = self.runs.get(id);
            if let Some(run) = run.filter(|run| scope.has(run.requester.as_ref())) {
                text.placed(&id_of(event), "run", &ToldEvent::of(run, id, event));
            }
        }
        text.into_bytes().into()
    }
}

/// What is told with an event of a run.
#[derive(Serialize)]
struct ToldEvent<'a> {
    run: &'a str,
    seq: u64,
    at_ms: i64,
    kind: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    slot: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    step: Option<&'a str>,
    status: &'a str,
    waits: u64,
}

impl<'a> ToldEvent<'a> {
    fn of(run: &'a FeedRun, id: &'a str, event: &'a FeedEvent) -> Self {
        let step = event.step.as_ref();
        Self {
            run: id,
            seq: event.seq,
            at_ms: event.at_ms,
            kind: &event.kind,
            slot: step.map(|step| step.slot.to_string()),
            step: step.and_then(|step| Some(step.status?.word())),
            status: &run.status,
            waits: run.waits,
        }
    }
}

/// The rows that were read last: of streams that wake at one place, one reads.
#[derive(Default)]
pub(super) struct SharedRows(Mutex<VecDeque<Reading>>);

struct Reading {
    /// After which place, and how far the journal was known to go.
    place: (i64, i64),
    rows: Arc<EventBatch>,
}

impl SharedRows {
    /// Those after a place, where the journal was known to have some up to another; without a
    /// store, if they were read before.
    pub(super) fn after(
        &self,
        place: (i64, i64),
        store: Option<&Store>,
    ) -> Result<Option<Arc<EventBatch>>, StoreError> {
        let (at, newest) = place;
        if at >= newest {
            return Ok(Some(Arc::default()));
        }
        let Some(mut kept) = held(&self.0, store.is_some()) else {
            return Ok(None);
        };
        if let Some(known) = kept.iter().find(|one| one.place == place) {
            return Ok(Some(Arc::clone(&known.rows)));
        }
        let Some(store) = store else {
            return Ok(None);
        };
        let rows = Arc::new(EventBatch::read(store, place)?);
        kept.truncate(READINGS - 1);
        kept.push_front(Reading {
            place,
            rows: Arc::clone(&rows),
        });
        Ok(Some(rows))
    }
}

/// Whose runs each viewer may see.
#[derive(Default)]
pub(super) struct SharedScopes(Mutex<ScopesAt>);

#[derive(Default)]
struct ScopesAt {
    /// The place of the journal and the reading of the files that these are of.
    moment: Option<(i64, u64)>,
    requesters: Vec<String>,
    of: HashMap<(bool, String), Arc<RequesterScope>>,
}

impl SharedScopes {
    /// The scope of a viewer at a place; without a store, if it was asked for before.
    pub(super) fn at(
        &self,
        newest: i64,
        (shared, engine, viewer): (&Shared, &Engine, &Viewer),
        store: Option<&Store>,
    ) -> Result<Option<Arc<RequesterScope>>, Problem> {
        let Some(mut kept) = held(&self.0, store.is_some()) else {
            return Ok(None);
        };
        let moment = (newest, engine.generation());
        if kept.moment != Some(moment) {
            let Some(store) = store else {
                return Ok(None);
            };
            let requesters = store.requesters()?;
            let same_files = kept.moment.is_some_and(|(_, files)| files == moment.1);
            if !same_files || kept.requesters != requesters {
                kept.of.clear();
            }
            kept.requesters = requesters;
            kept.moment = Some(moment);
        }
        let whose = may::name(&viewer.principal);
        if let Some(known) = kept.of.get(&whose) {
            return Ok(Some(Arc::clone(known)));
        }
        if store.is_none() {
            return Ok(None);
        }
        let among = &kept.requesters;
        let scope = { &shared.desk }.scope_among(among, engine, viewer, RunAction::See);
        let scope = Arc::new(scope);
        kept.of.insert(whose, Arc::clone(&scope));
        Ok(Some(scope))
    }
}
