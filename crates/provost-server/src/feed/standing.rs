//! What a stream says beside the events of the journal: how much waits, and how the files stand.
//!
//! Owns what a stream said last, and the counts that streams and pages of one scope share. Who may
//! give what waits is the machine's word. Neither has a place in the journal, so neither moves that
//! of a reader. INVARIANT: a stream says both when it begins and whenever they are others, so that
//! who was away misses no change.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use provost_engine::store::{PlacedWait, WaitCounts, WaitPage};
use provost_plan::policy::RunAction;
use serde_json::{Value, json};

use super::shared::held;
use super::text::EventText;
use crate::api::wait;
use crate::app::Shared;
use crate::door::Viewer;
use crate::files;
use crate::may::{self, RequesterScope};
use crate::problem::Problem;

/// Among how many waits, the latest, those are counted that a reader may give: of all of them the
/// machine would have to read every run that waits.
const MINE_AMONG_MAX: u32 = 200;

/// What one stream said last.
#[derive(Clone, Debug, Default)]
pub(super) struct Standing {
    waits: Value,
    files: Value,
}

impl Standing {
    /// What is another since it was said last.
    pub(super) fn changed(&mut self, now: Self) -> Bytes {
        let before = std::mem::replace(self, now.clone());
        let pairs = [
            ("waits", before.waits, now.waits),
            ("workspace", before.files, now.files),
        ];
        let mut text = EventText::default();
        for (kind, before, now) in pairs {
            if before != now {
                text.event(kind, &now);
            }
        }
        text.into_bytes()
    }
}

/// How it stands for a viewer, who may see runs of this scope; without reading anything, if others
/// have read it all before.
///
/// # Errors
/// [`Problem`] if the journal cannot be read.
pub(super) fn of(
    shared: &Shared,
    viewer: &Viewer,
    (count_from, scope): (i64, &Arc<RequesterScope>),
    may_read: bool,
) -> Result<Option<Standing>, Problem> {
    let moment = (count_from, shared.engine().generation());
    let counted = match may_read {
        true => Some(counted(shared, moment, scope)?),
        false => shared.feed.counts.kept(moment, scope),
    };
    let mine = counted.as_ref().and_then(|counted| match may_read {
        true => Some(counted.mine_of(shared, viewer)),
        false => counted.kept_mine_of(viewer),
    });
    let (Some(counted), Some(mine)) = (counted, mine) else {
        return Ok(None);
    };
    Ok(Some(Standing {
        waits: json!({
            "all": counted.counts.all,
            "runs": counted.counts.runs,
            "in_doubt": counted.counts.in_doubt,
            "mine": mine,
            "looked_at": counted.latest.len(),
        }),
        // Why without findings: they quote the files, which is for who may govern.
        files: files::to_json(&shared.live.stand(), false),
    }))
}

/// How much waits, of what a viewer may see, as the journal is now.
///
/// # Errors
/// [`Problem`] if the journal cannot be read.
pub(crate) fn waiting(shared: &Shared, viewer: &Viewer) -> Result<Arc<Counted>, Problem> {
    let newest = shared.desk.store()?.newest_event()?;
    let engine = shared.engine();
    let scope = shared.desk.scope(&engine, viewer, RunAction::See)?;
    let moment = (newest.map_or(0, |event| event.n), engine.generation());
    counted(shared, moment, &Arc::new(scope))
}

/// The same at a moment: counted once for all who may see the same runs.
fn counted(
    shared: &Shared,
    moment: Moment,
    scope: &Arc<RequesterScope>,
) -> Result<Arc<Counted>, Problem> {
    let count = || {
        let principals = RequesterScope::clone(scope).principals();
        let counts = shared.desk.wait_counts(principals.as_deref())?;
        let latest = WaitPage {
            principals,
            limit: MINE_AMONG_MAX,
            ..WaitPage::default()
        };
        Ok(Counted {
            counts,
            latest: shared.desk.waits_page(&latest)?,
            mine: Mutex::default(),
        })
    };
    shared.feed.counts.at(moment, scope, count)
}

/// How many of these a viewer may give. What a run waits for that cannot be read, nobody may.
fn mine(shared: &Shared, viewer: &Viewer, latest: &[PlacedWait]) -> usize {
    let may = |one: &&PlacedWait| {
        let asked = wait::may_placed(shared, viewer, one);
        asked.is_ok_and(|may| may.is_ok())
    };
    // Why none for an agent: it says nothing to a run, ever.
    let asked = latest.iter().filter(|_| viewer.is_person());
    asked.filter(may).count()
}

/// What is counted: all, the latest of it, and how many of these are whose to give.
pub(crate) struct Counted {
    pub(crate) counts: WaitCounts,
    pub(crate) latest: Vec<PlacedWait>,
    mine: Mutex<BTreeMap<(bool, String), usize>>,
}

impl Counted {
    /// How many of the latest are a viewer's. Why not held while the machine is asked: that may be
    /// of 200 runs, and it keeps what it said.
    pub(crate) fn mine_of(&self, shared: &Shared, viewer: &Viewer) -> usize {
        self.kept_mine_of(viewer).unwrap_or_else(|| {
            let counted = mine(shared, viewer, &self.latest);
            let whose = may::name(&viewer.principal);
            self.mine().insert(whose, counted);
            counted
        })
    }

    fn kept_mine_of(&self, viewer: &Viewer) -> Option<usize> {
        self.mine().get(&may::name(&viewer.principal)).copied()
    }

    fn mine(&self) -> MutexGuard<'_, BTreeMap<(bool, String), usize>> {
        self.mine.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A place of the journal up to which all is counted, at least, and a reading of the files.
type Moment = (i64, u64);

/// The counts at one moment, by whose runs they are of.
#[derive(Default)]
struct CountsAt {
    moment: Moment,
    counted: Vec<(Arc<RequesterScope>, Arc<Counted>)>,
}

impl CountsAt {
    fn find(&self, moment: Moment, scope: &Arc<RequesterScope>) -> Option<Arc<Counted>> {
        let mut of_moment = self.counted.iter().filter(|_| self.moment == moment);
        let known = of_moment.find(|(known, _)| known == scope);
        known.map(|(_, counted)| Arc::clone(counted))
    }
}

/// The counts of the latest moment that somebody asked for.
#[derive(Default)]
pub(super) struct SharedCounts(Mutex<CountsAt>);

impl SharedCounts {
    /// Those of this scope. Held while they are counted: of streams that wake at once, one counts.
    fn at(
        &self,
        moment: Moment,
        scope: &Arc<RequesterScope>,
        count: impl FnOnce() -> Result<Counted, Problem>,
    ) -> Result<Arc<Counted>, Problem> {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(counted) = kept.find(moment, scope) {
            return Ok(counted);
        }
        let counted = Arc::new(count()?);
        if kept.moment != moment {
            *kept = CountsAt {
                moment,
                counted: Vec::new(),
            };
        }
        kept.counted.push((Arc::clone(scope), counted.clone()));
        Ok(counted)
    }

    /// The same if they were counted before.
    fn kept(&self, moment: Moment, scope: &Arc<RequesterScope>) -> Option<Arc<Counted>> {
        held(&self.0, false)?.find(moment, scope)
    }
}
