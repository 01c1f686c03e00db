//! The attempts at a step, each with its end: what its page and its resource tell of.
//!
//! Owns which events are about a step, and which end belongs to which attempt. Draws nothing.
//! INVARIANT: what it gives was masked by the run machine: nothing in it is marked secret.

use provost_engine::run::event::{AttemptEnded, AttemptStarted, Event};
use provost_engine::run::shown;

/// An attempt, and when it began.
pub(crate) struct ShownAttempt {
    pub(crate) started: AttemptStarted,
    pub(crate) began_ms: i64,
    /// Its end, and when that was; none while it is in flight.
    pub(crate) ended: Option<(AttemptEnded, i64)>,
}

/// The step that an event is about.
pub(crate) fn step_of(event: &Event) -> Option<&str> {
    Some(match event {
        Event::AttemptStarted(started) => &started.slot.step,
        Event::AttemptEnded(ended) => &ended.slot.step,
        Event::StepSkipped { slot, .. }
        | Event::AdmissionRefused { slot, .. }
        | Event::ObservationMade { slot, .. }
        | Event::StepSettled { slot, .. }
        | Event::DoubtSettled { slot, .. } => &slot.step,
        Event::ListEvaluated { step, .. } | Event::StepBlocked { step, .. } => step,
        Event::ApprovalRequested { card, .. } => card.step()?,
        _ => return None,
    })
}

/// The attempts at a step, in the order in which they began.
pub(crate) fn of_step(events: &[(Event, i64)], id: &str) -> Vec<ShownAttempt> {
    let mut attempts: Vec<ShownAttempt> = Vec::new();
    let about = events
        .iter()
        .filter(|(event, _)| step_of(event) == Some(id));
    for (event, at_ms) in about {
        match shown::event(event).into_owned() {
            Event::AttemptStarted(started) => attempts.push(ShownAttempt {
                started,
                began_ms: *at_ms,
                ended: None,
            }),
            Event::AttemptEnded(ended) => {
                // Why from the last: previews have one number, and so have attempts of a revision.
                let mut begun = attempts.iter_mut().rev();
                let of = |one: &&mut ShownAttempt| {
                    one.started.slot == ended.slot && one.started.attempt == ended.attempt
                };
                if let Some(attempt) = begun.find(of) {
                    attempt.ended = Some((ended, *at_ms));
                }
            }
            _ => {}
        }
    }
    attempts
}
