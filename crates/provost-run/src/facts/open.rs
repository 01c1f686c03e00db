//! How long something was open that only a person ends.
//!
//! Owns what opens and what closes it. INVARIANT: time in which several things are open counts
//! once.

use std::collections::BTreeSet;

use provost_plan::digest::Digest;

use crate::call::Slot;
use crate::event::{Event, StepStatus};

/// Something that only a person ends.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum OpenToPeople<'e> {
    /// A card; of one step, or of the plan.
    Card(&'e Digest, Option<&'e str>),
    /// A question.
    Question(&'e Digest),
    /// A pause.
    Pause,
    /// A write in doubt.
    Doubt(&'e Slot),
}

/// The time in which something was open that `counts`, in milliseconds.
pub(crate) fn time_open<'e>(
    events: impl Iterator<Item = (&'e Event, i64)>,
    counts: impl Fn(&OpenToPeople<'_>) -> bool,
) -> i64 {
    let mut open: BTreeSet<OpenToPeople<'_>> = BTreeSet::new();
    let mut total = 0;
    let mut last = None;
    for (event, at) in events {
        if open.iter().any(&counts) {
            total += (at - last.unwrap_or(at)).max(0);
        }
        last = Some(at);
        follow(&mut open, event);
    }
    total
}

fn follow<'e>(open: &mut BTreeSet<OpenToPeople<'e>>, event: &'e Event) {
    match event {
        Event::ApprovalRequested { card, digest } => {
            open.insert(OpenToPeople::Card(digest, card.step()));
        }
        Event::QuestionAsked { digest, .. } => {
            open.insert(OpenToPeople::Question(digest));
        }
        Event::ApprovalGiven {
            card,
            complete: true,
            ..
        }
        | Event::ApprovalRejected { card, .. }
        | Event::ApprovalExpired { card } => {
            open.retain(|one| !matches!(one, OpenToPeople::Card(digest, _) if *digest == card));
        }
        Event::QuestionAnswered { question, .. } | Event::QuestionExpired { question } => {
            open.remove(&OpenToPeople::Question(question));
        }
        // Why the card of the plan too: it is asked anew, by an event of its own.
        Event::ApprovalsRevised { replace, clear, .. }
            if !replace.is_empty() || !clear.is_empty() =>
        {
            let is_revised = |step: &str| replace.iter().chain(clear).any(|name| name == step);
            open.retain(
                |one| !matches!(one, OpenToPeople::Card(_, step) if step.is_none_or(is_revised)),
            );
        }
        Event::Paused { .. } => {
            open.insert(OpenToPeople::Pause);
        }
        Event::Resumed { .. } => {
            open.remove(&OpenToPeople::Pause);
        }
        Event::StepSettled {
            slot,
            status: StepStatus::InDoubt,
            ..
        } => {
            open.insert(OpenToPeople::Doubt(slot));
        }
        Event::StepSettled { slot, .. } | Event::DoubtSettled { slot, .. } => {
            open.remove(&OpenToPeople::Doubt(slot));
        }
        _ => {}
    }
}
