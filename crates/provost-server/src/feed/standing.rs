//! What a stream says beside the events of the journal: how much waits, and how the files stand.
//!
//! Owns what a stream said last, and the counts that streams of the same scope share. Neither has a
//! place in the journal, so neither moves that of a reader. INVARIANT: a stream says both when it
//! begins and whenever they are others, so that who was away misses no change.

use std::sync::{Mutex, PoisonError};

use axum::response::sse::Event as Sent;
use provost_engine::store::WaitCounts;
use provost_plan::policy::{Principal, RunAction};
use serde_json::{Value, json};

use crate::app::Shared;
use crate::door::Viewer;
use crate::files;
use crate::problem::Problem;

/// What one stream said last.
#[derive(Clone, Debug, Default)]
pub(super) struct Standing {
    waits: Value,
    files: Value,
}

impl Standing {
    /// What is another since it was said last.
    pub(super) fn changed(&mut self, now: Self) -> impl Iterator<Item = Sent> {
        let before = std::mem::replace(self, now.clone());
        let pairs = [
            ("waits", before.waits, now.waits),
            ("workspace", before.files, now.files),
        ];
        let changed = pairs.into_iter().filter(|(_, before, now)| before != now);
        changed.map(|(kind, _, now)| Sent::default().event(kind).data(now.to_string()))
    }
}

/// How it stands for a viewer.
///
/// # Errors
/// [`Problem`] if the journal cannot be read.
pub(super) fn of(shared: &Shared, viewer: &Viewer) -> Result<Standing, Problem> {
    let engine = shared.engine();
    let scope = shared.desk.scope(&engine, viewer, RunAction::See)?;
    let place = *shared.feed.newest.borrow();
    let counts = shared.feed.counts.at(place, scope.principals(), |only| {
        shared.desk.wait_counts(only)
    })?;
    Ok(Standing {
        waits: json!({
            "all": counts.all,
            "runs": counts.runs,
            "in_doubt": counts.in_doubt,
        }),
        // Why without findings: they quote the files, which is for who may govern.
        files: files::to_json(&shared.live.stand(), false),
    })
}

/// Whose runs are counted; everybody's if it is none.
type CountedRuns = Option<Vec<Principal>>;

/// The counts at one place of the journal, by whose runs they are of.
#[derive(Default)]
pub(super) struct SharedCounts(Mutex<(i64, Vec<(CountedRuns, WaitCounts)>)>);

impl SharedCounts {
    /// Those of these runs. Held while they are counted: of streams that wake at once, one counts.
    fn at(
        &self,
        place: i64,
        of: CountedRuns,
        count: impl FnOnce(Option<&[Principal]>) -> Result<WaitCounts, Problem>,
    ) -> Result<WaitCounts, Problem> {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if kept.0 != place {
            *kept = (place, Vec::new());
        }
        if let Some((_, counts)) = kept.1.iter().find(|(known, _)| *known == of) {
            return Ok(*counts);
        }
        let counts = count(of.as_deref())?;
        kept.1.push((of, counts));
        Ok(counts)
    }
}
