//! The run as it was kept: what the machine makes of an input that is not kept is taken back.
//!
//! Owns the events that were kept since a copy of the run, and the way from both to the run. Reads
//! no journal. INVARIANT: a checkpoint and its events fold to what the journal folds to.

use provost_run::event::Event;
use provost_run::machine::Run;
use provost_run::state::FoldError;

/// Most events that are kept beside a copy of a short run; beside a long one there are as many as
/// it has, so that copies cost each event the same, however long the run gets.
const EVENTS_MIN: usize = 1_024;
/// Most events of a whole run that are held, so that its end is counted without reading the
/// journal. Twice as many as lie beside the copy of such a run anyway.
const WHOLE_MAX: usize = 4_096;

/// A copy of a run, and the events that were kept since.
pub(super) struct Checkpoint {
    /// None for a run that began in this process and has all its events here.
    copy: Option<Box<Run>>,
    /// The events before those, with their moments; none where they are too many to be held.
    before: Option<Vec<(Event, i64)>>,
    appends: Vec<Append>,
    /// How many events they have.
    events: usize,
}

/// Events that were kept at once, and when.
struct Append {
    events: Vec<Event>,
    at: i64,
}

impl Default for Checkpoint {
    /// Of a run that begins.
    fn default() -> Self {
        Self {
            copy: None,
            before: Some(Vec::new()),
            appends: Vec::new(),
            events: 0,
        }
    }
}

impl Checkpoint {
    /// Of a run that was taken up, with the events that it was folded from.
    pub(super) fn of(run: &Run, folded: Vec<(Event, i64)>) -> Self {
        let whole = u64::try_from(folded.len()).is_ok_and(|events| events == run.seq());
        Self {
            copy: Some(Box::new(run.as_folded())),
            before: (whole && folded.len() <= WHOLE_MAX).then_some(folded),
            ..Self::default()
        }
    }

    /// Takes in events that were kept, after which the run is `run`.
    pub(super) fn keep(&mut self, run: &Run, events: Vec<Event>) {
        let at = run.state().spend.last_at;
        self.events += events.len();
        self.appends.push(Append { events, at });
        let copied = self.copy.as_ref().map_or(0, |copy| copy.seq());
        let most = usize::try_from(copied)
            .unwrap_or(usize::MAX)
            .max(EVENTS_MIN);
        if self.events > most {
            *self = Self::of(run, self.take_whole());
        }
    }

    /// All events of the run, which are held here no longer; none if they are not all here, or are
    /// too many to be held on.
    fn take_whole(&mut self) -> Vec<(Event, i64)> {
        let Some(mut whole) = self.before.take() else {
            return Vec::new();
        };
        if whole.len() + self.events > WHOLE_MAX {
            return Vec::new();
        }
        for Append { events, at } in self.appends.drain(..) {
            whole.extend(events.into_iter().map(|event| (event, at)));
        }
        whole
    }

    /// All events of the run; none if it has more than are here.
    pub(super) fn events(&self) -> Option<impl Iterator<Item = (&Event, i64)>> {
        let before = self.before.as_ref()?.iter().map(|(event, at)| (event, *at));
        Some(before.chain(self.appended()))
    }

    fn appended(&self) -> impl Iterator<Item = (&Event, i64)> {
        let appends = self.appends.iter();
        appends.flat_map(|kept| kept.events.iter().map(|event| (event, kept.at)))
    }

    /// The run as it was kept, where `run` is what became of it; `hears` is whether people were
    /// still to be heard by then.
    pub(super) fn restore(&mut self, run: &Run, hears: bool) -> Result<Run, FoldError> {
        let events = self.appended();
        let mut kept = match &self.copy {
            Some(copy) => {
                let mut kept = Run::clone(copy);
                kept.replay(events)?;
                kept
            }
            None => Run::from_journal(events, run.rules().clone())?,
        };
        if run.is_held() {
            kept.hold();
        }
        if !hears {
            kept.go_on();
        }
        Ok(kept)
    }
}
