//! What a stream says beside the events of the journal: how much waits, and how the files stand.
//!
//! Owns what a stream said last, and the counts that streams and pages of one scope share. Who may
//! give what waits is the machine's word. Neither has a place in the journal, so neither moves that
//! of a reader. INVARIANT: a stream says both when it begins and whenever they are others, so that
//! who was away misses no change.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use provost_engine::store::{PlacedWait, WaitCounts, WaitPage};
use provost_plan::policy::{Principal, RunAction};
use serde_json::{Value, json};

use super::text::EventText;
use crate::api::wait;
use crate::app::Shared;
use crate::door::Viewer;
use crate::files;
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

/// How it stands for a viewer.
///
/// # Errors
/// [`Problem`] if the journal cannot be read.
pub(super) fn of(shared: &Shared, viewer: &Viewer) -> Result<Standing, Problem> {
    let counted = counted(shared, viewer, *shared.feed.newest.borrow())?;
    Ok(Standing {
        waits: json!({
            "all": counted.counts.all,
            "runs": counted.counts.runs,
            "in_doubt": counted.counts.in_doubt,
            "mine": counted.mine_of(shared, viewer),
            "looked_at": counted.latest.len(),
        }),
        // Why without findings: they quote the files, which is for who may govern.
        files: files::to_json(&shared.live.stand(), false),
    })
}

/// How much waits, of what a viewer may see, as the journal is now.
///
/// # Errors
/// [`Problem`] if the journal cannot be read.
pub(crate) fn waiting(shared: &Shared, viewer: &Viewer) -> Result<Arc<Counted>, Problem> {
    let newest = shared.desk.store()?.newest_event()?;
    counted(shared, viewer, newest.map_or(0, |event| event.n))
}

/// The same at a place of the journal: counted once for all whose runs are the same.
fn counted(shared: &Shared, viewer: &Viewer, newest: i64) -> Result<Arc<Counted>, Problem> {
    let engine = shared.engine();
    let scope = shared.desk.scope(&engine, viewer, RunAction::See)?;
    let count = |only: Option<&[Principal]>| {
        let latest = WaitPage {
            principals: only.map(<[Principal]>::to_vec),
            limit: MINE_AMONG_MAX,
            ..WaitPage::default()
        };
        Ok(Counted {
            counts: shared.desk.wait_counts(only)?,
            latest: shared.desk.waits_page(&latest)?,
            mine: Mutex::default(),
        })
    };
    let moment = (newest, engine.generation());
    shared.feed.counts.at(moment, scope.principals(), count)
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
        let whose = (viewer.is_person(), viewer.principal.id.clone());
        let kept = || self.mine.lock().unwrap_or_else(PoisonError::into_inner);
        let known = kept().get(&whose).copied();
        known.unwrap_or_else(|| {
            let counted = mine(shared, viewer, &self.latest);
            kept().insert(whose, counted);
            counted
        })
    }
}

/// Whose runs are counted; everybody's if it is none.
type CountedRuns = Option<Vec<Principal>>;

/// A place of the journal, and a reading of the files.
type Moment = (i64, u64);

/// The counts at one moment, by whose runs they are of.
#[derive(Default)]
struct CountsAt {
    moment: Moment,
    counted: Vec<(CountedRuns, Arc<Counted>)>,
}

/// The counts of the latest moment that somebody asked for.
#[derive(Default)]
pub(super) struct SharedCounts(Mutex<CountsAt>);

impl SharedCounts {
    /// Those of these runs. Held while they are counted: of streams that wake at once, one counts.
    fn at(
        &self,
        moment: Moment,
        of: CountedRuns,
        count: impl FnOnce(Option<&[Principal]>) -> Result<Counted, Problem>,
    ) -> Result<Arc<Counted>, Problem> {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if kept.moment != moment {
            *kept = CountsAt {
                moment,
                counted: Vec::new(),
            };
        }
        let known = kept.counted.iter().find(|(known, _)| *known == of);
        if let Some((_, counted)) = known {
            return Ok(counted.clone());
        }
        let counted = Arc::new(count(of.as_deref())?);
        kept.counted.push((of, counted.clone()));
        Ok(counted)
    }
}
