//! What pages and programs need to know of runs: the one way out.
//!
//! Owns the connections for reads, and the runs as they were last read. Each answer is computed by
//! the function that the terminal uses. Judges nothing but who may see. INVARIANT: a run that a
//! viewer may not see is not there for them, whatever they ask.

use std::collections::{BTreeSet, VecDeque};
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use provost_engine::engine::{Engine, EngineError, FoldedRun};
use provost_engine::history::{self, History};
use provost_engine::people::{InvalidEvent, Statement};
use provost_engine::run::event::Event;
use provost_engine::run::read::trace::{Trace, trace};
use provost_engine::run::read::why::Judgment;
use provost_engine::run::state::{CardState, State, Waiting, waiting};
use provost_engine::store::{PlacedWait, Store, StoreError, WaitCounts, WaitPage};
use provost_plan::check::PlanRecord;
use provost_plan::digest::Digest;
use serde_json::Value;

use crate::door::Viewer;
use crate::limits::{READERS, SEEN_RUNS_MAX};
use crate::problem::{Problem, ProblemKind};

/// A run as its journal stood when it was read.
pub struct SeenRun {
    /// Its events, with the moments they were recorded at. They leave through
    /// [`provost_engine::run::shown`] alone.
    pub events: Vec<(Event, i64)>,
    fold: Fold,
    head: Option<Digest>,
}

enum Fold {
    Sound(Box<FoldedRun>),
    Contradicted(Box<State>, Box<InvalidEvent>),
}

impl SeenRun {
    /// Its state.
    #[must_use]
    pub fn state(&self) -> &State {
        match &self.fold {
            Fold::Sound(folded) => folded.state(),
            Fold::Contradicted(state, _) => state,
        }
    }

    /// The event that may not stand, if one may not: nobody drives such a run.
    #[must_use]
    pub fn contradiction(&self) -> Option<&InvalidEvent> {
        match &self.fold {
            Fold::Sound(_) => None,
            Fold::Contradicted(_, found) => Some(found),
        }
    }

    /// The number of its last event.
    #[must_use]
    pub fn seq(&self) -> u64 {
        self.events.len() as u64
    }

    /// What a cache compares: run, last event and its link.
    #[must_use]
    pub fn etag(&self) -> String {
        let link = self.head.map_or_else(String::new, |link| link.short());
        let link = link.trim_start_matches("sha256:").to_owned();
        format!("\"{}.{}.{link}\"", self.state().head.run, self.seq())
    }

    /// What it waits for.
    pub fn waits(&self) -> impl Iterator<Item = Waiting> {
        waiting(self.state()).into_iter()
    }

    /// Its journal in two views, planning and execution.
    #[must_use]
    pub fn trace(&self) -> Trace {
        trace(&self.events)
    }

    /// Why it ended as it did, as the terminal says it: beside other calls of its tools.
    ///
    /// # Errors
    /// [`EngineError::Store`] if the journal cannot be read.
    pub fn why(&self, engine: &Engine) -> Result<Judgment, EngineError> {
        history::judged(engine.store(), &self.events, self.state())
    }

    /// A revision of its plan, with what was recorded of its check.
    #[must_use]
    pub fn revision(&self, number: u32) -> Option<(&Value, &PlanRecord)> {
        let checked = self.events.iter().rev().find_map(|(event, _)| match event {
            Event::PlanChecked {
                document, record, ..
            } if record.revision == number => Some((&**document, &**record)),
            _ => None,
        });
        checked.filter(|_| number <= self.state().in_force.revision)
    }

    /// The card of this digest, or of the only one that it begins.
    #[must_use]
    pub fn card(&self, digest: &str) -> Option<(&Digest, &CardState)> {
        let mut found = self.state().people.cards.iter();
        let mut found = found.by_ref().filter(|(known, _)| known.matches(digest));
        let first = found.next()?;
        found.next().is_none().then_some(first)
    }
}

/// The readers, and the runs that were read last.
pub struct Desk {
    stores: Vec<Store>,
    next: AtomicUsize,
    seen: Mutex<VecDeque<(String, Arc<SeenRun>)>>,
}

impl Desk {
    /// Opens connections to the journal in `dir`, none shared with whoever drives.
    ///
    /// # Errors
    /// [`StoreError`] if the journal cannot be read.
    pub fn open(dir: &Path) -> Result<Self, StoreError> {
        let stores = (0..READERS).map(|_| Store::open_read_only(dir));
        Ok(Self {
            stores: stores.collect::<Result<_, _>>()?,
            next: AtomicUsize::default(),
            seen: Mutex::default(),
        })
    }

    /// A connection to read through.
    ///
    /// # Errors
    /// [`StoreError::Closed`] if there is none.
    pub fn store(&self) -> Result<&Store, StoreError> {
        let at = self.next.fetch_add(1, Ordering::Relaxed) % self.stores.len().max(1);
        self.stores.get(at).ok_or(StoreError::Closed)
    }

    /// A run as its journal stands now, for who may see it.
    ///
    /// # Errors
    /// [`ProblemKind::NotFound`] if it is not there, or not for them.
    pub fn run(
        &self,
        engine: &Engine,
        viewer: &Viewer,
        run: &str,
    ) -> Result<Arc<SeenRun>, Problem> {
        let seen = self.any_run(engine, run)?;
        if viewer.sees(&seen.state().head.principal) {
            Ok(seen)
        } else {
            Err(Problem::not_found("run"))
        }
    }

    fn any_run(&self, engine: &Engine, run: &str) -> Result<Arc<SeenRun>, Problem> {
        let store = self.store()?;
        let run = store.find(run).map_err(EngineError::from)?;
        let head = store.run(&run)?.head;
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(at) = seen.iter().position(|(known, _)| *known == run)
            && let Some((_, found)) = seen.remove(at)
            && found.head == Some(head)
        {
            seen.push_front((run, Arc::clone(&found)));
            return Ok(found);
        }
        drop(seen);
        let read = Arc::new(read(engine, store, &run)?);
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        seen.retain(|(known, _)| *known != run);
        seen.push_front((run, Arc::clone(&read)));
        seen.truncate(SEEN_RUNS_MAX);
        Ok(read)
    }

    /// Whether a person could say this to a run now, and if not why; the machine is asked.
    ///
    /// # Errors
    /// [`Problem`] says why not.
    pub fn would_take(
        &self,
        engine: &Engine,
        seen: &SeenRun,
        viewer: &Viewer,
        statement: Statement,
    ) -> Result<(), Problem> {
        viewer.speaks()?;
        match &seen.fold {
            Fold::Sound(folded) => {
                Ok(engine.would_take(folded, &viewer.principal.id, statement)?)
            }
            Fold::Contradicted(_, found) => {
                Err(Problem::new(ProblemKind::NotOpen, found.to_string()))
            }
        }
    }

    /// A page of what waits for people; nothing of a run that the viewer may not see.
    ///
    /// # Errors
    /// [`Problem`] if the journal cannot be read.
    pub fn inbox(&self, viewer: &Viewer, page: WaitPage) -> Result<Vec<PlacedWait>, Problem> {
        let principal = viewer.only_sees_own();
        let page = WaitPage { principal, ..page };
        Ok(history::waits_page(self.store()?, &page)?)
    }

    /// How much waits for people, of what the viewer may see.
    ///
    /// # Errors
    /// [`Problem`] if the journal cannot be read.
    pub fn inbox_counts(&self, viewer: &Viewer) -> Result<WaitCounts, Problem> {
        let principal = viewer.only_sees_own();
        Ok(history::wait_counts(self.store()?, principal.as_ref())?)
    }

    /// The runs that a viewer may see where these are not all: those that an agent began.
    ///
    /// # Errors
    /// [`Problem`] if the journal cannot be read.
    pub(crate) fn seen_by(
        &self,
        viewer: &Viewer,
        store: &Store,
    ) -> Result<Option<BTreeSet<String>>, Problem> {
        if viewer.sees_all() {
            return Ok(None);
        }
        let runs = store.runs_begun_for(&viewer.principal)?;
        Ok(Some(runs.into_iter().collect()))
    }
}

fn read(engine: &Engine, store: &Store, run: &str) -> Result<SeenRun, EngineError> {
    match engine.fold_through(store, run) {
        Ok((folded, events)) => Ok(SeenRun {
            events,
            head: folded.head(),
            fold: Fold::Sound(Box::new(folded)),
        }),
        // Why shown all the same: who looks must see what is wrong with it.
        Err(EngineError::InvalidEvent(found)) => {
            let head = store.run(run)?.head;
            let History { events, state } = History::read(store, run)?;
            Ok(SeenRun {
                events,
                head: Some(head),
                fold: Fold::Contradicted(Box::new(state), found),
            })
        }
        Err(error) => Err(error),
    }
}
