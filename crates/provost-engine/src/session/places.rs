//! Where a call stands in the trace of its run.
//!
//! Owns which event began a call. INVARIANT: the place is that of the span which is told once the
//! call is over, and it follows from the journal alone.

use std::collections::BTreeMap;

use provost_run::call::{Call, Slot};
use provost_run::event::Event;
use provost_run::read::spans::attempt_place;

use super::Session;

/// The numbers of the events by which attempts began.
pub(super) type BegunAttempts = BTreeMap<(Slot, u32), u64>;

impl Session {
    /// The attempts that these events begin, the first of which has this number. Why only those
    /// whose tool tells its place: it takes two digests, and few tools do.
    pub(super) fn begun(&self, first_seq: u64, events: &[Event]) -> BegunAttempts {
        let numbered = (first_seq..).zip(events);
        let begun = numbered.filter_map(|(seq, event)| match event {
            Event::AttemptStarted(started) if self.tools.propagates(&started.operation) => {
                Some(((started.slot.clone(), started.attempt), seq))
            }
            _ => None,
        });
        begun.collect()
    }

    /// A call with its place, if it is one of these.
    pub(super) fn placed(&self, call: Call, begun: &BegunAttempts) -> Call {
        if begun.is_empty() {
            return call;
        }
        let of = (call.slot().clone(), call.attempt());
        let Some(seq) = begun.get(&of) else {
            return call;
        };
        let run = &self.state().head.run;
        call.traced(attempt_place(self.inbox.store(), run, *seq))
    }
}
