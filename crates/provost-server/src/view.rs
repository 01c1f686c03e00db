//! What pages and programs need to know of runs: the one way out.
//!
//! Owns the connections for reads, and the runs as they were last read. Each answer is computed by
//! the function that the terminal uses. Judges nothing: who may see is policy's word. INVARIANT: a
//! run that a viewer may not see is not there for them, whatever they ask.

use std::collections::VecDeque;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use provost_engine::clock::now_ms;
use provost_engine::engine::{Engine, EngineError, FoldedRun};
use provost_engine::history::{self, History};
use provost_engine::people::{InvalidEvent, Statement};
use provost_engine::run::event::Event;
use provost_engine::run::read::trace::{Trace, trace};
use provost_engine::run::read::why::Judgment;
use provost_engine::run::state::{CardState, State, Waiting, waiting};
use provost_engine::store::{
    PlacedWait, RunIndex, RunPage, RunRow, Store, StoreError, WaitCounts, WaitPage,
};
use provost_plan::check::PlanRecord;
use provost_plan::digest::Digest;
use provost_plan::policy::{Principal, RunAction};
use serde_json::Value;

use crate::door::Viewer;
use crate::limits::{READERS, SEEN_RUNS_MAX};
use crate::may::{self, RequesterScope, Verdicts};
use crate::problem::{Problem, ProblemKind};

mod wait_verdicts;

use wait_verdicts::{WaitQuestion, WaitVerdicts};

/// A run as its journal stood when it was read.
pub struct SeenRun {
    /// Its events, with the moments they were recorded at. They leave through
    /// [`provost_engine::run::shown`] alone.
    pub events: Vec<(Event, i64)>,
    fold: Fold,
    head: Option<Digest>,
    /// The reading of the files that it was folded under.
    generation: u64,
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
    verdicts: Arc<Verdicts>,
    wait_verdicts: WaitVerdicts,
    run_index: RunIndex,
}

impl Desk {
    /// Opens connections to the journal in `dir`, none shared with whoever drives.
    ///
    /// # Errors
    /// [`StoreError`] if the journal cannot be read.
    pub(crate) fn open(dir: &Path, verdicts: Arc<Verdicts>) -> Result<Self, StoreError> {
        let stores = (0..READERS).map(|_| Store::open_read_only(dir));
        Ok(Self {
            stores: stores.collect::<Result<_, _>>()?,
            next: AtomicUsize::default(),
            seen: Mutex::default(),
            verdicts,
            wait_verdicts: WaitVerdicts::default(),
            run_index: RunIndex::default(),
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
        let policy = engine.workspace().policy();
        let (by, requester) = (&viewer.principal, &seen.state().head.principal);
        match self.verdicts.may(policy, RunAction::See, by, requester) {
            true => Ok(seen),
            false => Err(Problem::not_found("run")),
        }
    }

    /// Whether a viewer may be shown what the tools of a run gave.
    ///
    /// # Errors
    /// [`ProblemKind::NotAllowed`] in the words of policy.
    pub fn reveals(&self, engine: &Engine, viewer: &Viewer, seen: &SeenRun) -> Result<(), Problem> {
        let policy = engine.workspace().policy();
        let requester = &seen.state().head.principal;
        may::ask(policy, RunAction::Reveal, &viewer.principal, requester)
    }

    fn any_run(&self, engine: &Engine, run: &str) -> Result<Arc<SeenRun>, Problem> {
        let store = self.store()?;
        let run = store.find(run).map_err(EngineError::from)?;
        let head = store.run(&run)?.head;
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(at) = seen.iter().position(|(known, _)| *known == run)
            && let Some((_, found)) = seen.remove(at)
            && found.head == Some(head)
            && found.generation == engine.generation()
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
                let by = &viewer.principal.id;
                engine.inbox().may_show(by, &statement, seen.state())?;
                Ok(engine.would_take(folded, by, statement)?)
            }
            Fold::Contradicted(_, found) => {
                Err(Problem::new(ProblemKind::NotOpen, found.to_string()))
            }
        }
    }

    /// Whether a viewer may give what an entry of the list waits for; `judge` asks the machine,
    /// where it did not say before.
    ///
    /// # Errors
    /// [`Problem`] if the run cannot be read.
    pub(crate) fn may_give(
        &self,
        engine: &Engine,
        viewer: &Viewer,
        placed: &PlacedWait,
        judge: impl FnOnce(&SeenRun) -> Result<(), Problem>,
    ) -> Result<Result<(), Problem>, Problem> {
        let (by, generation) = (&viewer.principal, engine.generation());
        let question = WaitQuestion::of(generation, by, placed, now_ms());
        let known = question
            .as_ref()
            .and_then(|asked| self.wait_verdicts.known(asked));
        if let Some(known) = known {
            return Ok(known);
        }
        let run = self.run(engine, viewer, &placed.run)?;
        let answer = judge(&run);
        // Why compared: the run may have gone on since the list was read.
        if let Some(question) = question.filter(|_| run.head == Some(placed.head)) {
            self.wait_verdicts.keep(question, answer.clone());
        }
        Ok(answer)
    }

    /// A page of what waits for people; nothing of a run that the viewer may not see.
    ///
    /// # Errors
    /// [`Problem`] if the journal cannot be read.
    pub fn inbox(
        &self,
        engine: &Engine,
        viewer: &Viewer,
        page: WaitPage,
    ) -> Result<Vec<PlacedWait>, Problem> {
        let principals = self.scope(engine, viewer, RunAction::See)?.principals();
        self.waits_page(&WaitPage { principals, ..page })
    }

    /// A page of runs, each with its number.
    ///
    /// # Errors
    /// [`Problem`] if the journal cannot be read.
    pub(crate) fn runs_page(&self, page: &RunPage) -> Result<Vec<(i64, RunRow)>, Problem> {
        Ok(self.run_index.page(self.store()?, page)?)
    }

    /// A page of what waits for people, of the runs that it says.
    ///
    /// # Errors
    /// [`Problem`] if the journal cannot be read.
    pub(crate) fn waits_page(&self, page: &WaitPage) -> Result<Vec<PlacedWait>, Problem> {
        Ok(history::waits_page(self.store()?, page)?)
    }

    /// How much waits for people, of everybody's runs or of those that act for one of these.
    ///
    /// # Errors
    /// [`Problem`] if the journal cannot be read.
    pub(crate) fn wait_counts(&self, only: Option<&[Principal]>) -> Result<WaitCounts, Problem> {
        Ok(history::wait_counts(self.store()?, only)?)
    }

    /// The runs of whom a viewer may do this to.
    ///
    /// # Errors
    /// [`Problem`] if the journal cannot be read.
    pub(crate) fn scope(
        &self,
        engine: &Engine,
        viewer: &Viewer,
        action: RunAction,
    ) -> Result<RequesterScope, Problem> {
        let requesters = self.store()?.requesters()?;
        Ok(self.scope_among(&requesters, engine, viewer, action))
    }

    /// The same, where these are all who ever asked for a run.
    pub(crate) fn scope_among(
        &self,
        requesters: &[String],
        engine: &Engine,
        viewer: &Viewer,
        action: RunAction,
    ) -> RequesterScope {
        let policy = engine.workspace().policy();
        let by = &viewer.principal;
        self.verdicts.scope(policy, requesters, action, by)
    }

    /// Whether a run is among these.
    ///
    /// # Errors
    /// [`Problem`] if the journal cannot be read.
    pub(crate) fn is_in(&self, scope: &RequesterScope, run: &str) -> Result<bool, Problem> {
        if *scope == RequesterScope::All {
            return Ok(true);
        }
        Ok(scope.has(self.store()?.requester_of(run)?.as_ref()))
    }
}

fn read(engine: &Engine, store: &Store, run: &str) -> Result<SeenRun, EngineError> {
    match engine.fold_through(store, run) {
        Ok((folded, events)) => Ok(SeenRun {
            events,
            head: folded.head(),
            generation: engine.generation(),
            fold: Fold::Sound(Box::new(folded)),
        }),
        // Why shown all the same: who looks must see what is wrong with it.
        Err(EngineError::InvalidEvent(found)) => {
            let head = store.run(run)?.head;
            let History { events, state } = History::read(store, run)?;
            Ok(SeenRun {
                events,
                head: Some(head),
                generation: engine.generation(),
                fold: Fold::Contradicted(Box::new(state), found),
            })
        }
        Err(error) => Err(error),
    }
}
