//! What holds a run up, and how that ends: doubts, stops, and other runs.

use provost_engine::run::event::{Event, Missing, SettledBy};

use crate::screen::page::{Page, TextStyle};

/// What such an event says.
pub(super) fn page(event: &Event) -> Option<Page> {
    beside(event).or_else(|| halted(event))
}

/// What the beginning or the end of a read says that is beside a call.
fn beside(event: &Event) -> Option<Page> {
    let mut page = Page::new();
    match event {
        Event::AttemptStarted(started) if started.reconciles => {
            page.strong(&started.slot.to_string()).line(&format!(
                ": {} is asked whether it took place",
                started.operation
            ));
        }
        Event::AttemptStarted(started) if started.retakes_for.is_some() => {
            let step = started.retakes_for.as_deref().unwrap_or_default();
            page.strong(&started.slot.to_string())
                .line(&format!(": taken again before `{step}` begins"));
        }
        Event::AttemptStarted(started) if started.previews.is_some() => {
            page.strong(&started.slot.to_string()).line(&format!(
                ": {} is read to show what it is about",
                started.operation
            ));
        }
        Event::AttemptEnded(ended) if ended.attempt == 0 => {
            // Why nothing of what it showed: the card does that.
            let message = ended.message.as_ref().filter(|_| !ended.lost)?;
            page.strong(&ended.slot.to_string()).line(&format!(
                ": what it is about could not be read: {}: {message}",
                ended.class.word()
            ));
        }
        Event::AttemptStarted(started) if started.confirms => {
            page.strong(&started.slot.to_string())
                .line(&format!(": {} reads it back", started.operation));
        }
        _ => return None,
    }
    Some(page)
}

fn halted(event: &Event) -> Option<Page> {
    let mut page = Page::new();
    match event {
        Event::DoubtSettled {
            slot,
            settled,
            by,
            reason,
            record,
            ..
        } => {
            page.strong(&slot.to_string())
                .text(": ")
                .put(TextStyle::Good, "settled");
            let (word, by, signed) = (settled.word(), settler(by), super::signed(record.as_ref()));
            page.text(&format!(", {word}, says {by}{signed}"));
            if let Some(reason) = reason {
                page.text(": ").text(reason);
            }
            page.end();
        }
        Event::ReconcileGivenUp { slot, reason } => {
            page.strong(&slot.to_string()).line(&format!(
                ": the tool cannot be asked whether it took place: {reason}"
            ));
        }
        Event::Deferred { slot, because, .. } => {
            page.strong(&slot.to_string())
                .text(": ")
                .put(TextStyle::Warn, "waits");
            page.line(&format!(", {because}"));
        }
        Event::Paused {
            what,
            reason,
            missing: Some(missing),
            ..
        } => {
            page.put(TextStyle::Warn, "paused");
            page.line(&format!(
                ", {}",
                Missing::in_words(&missing.secret, what, reason)
            ));
        }
        Event::Paused {
            by, what, reason, ..
        } => {
            page.put(TextStyle::Warn, "paused");
            page.line(&format!(", {what} stopped by {by}: {reason}"));
        }
        _ => return None,
    }
    Some(page)
}

fn settler(by: &SettledBy) -> &str {
    match by {
        SettledBy::Reconcile { tool } => tool,
        SettledBy::Person { id } => id,
    }
}
