//! What people say to stop a run, to let it go on, or to end it.
//!
//! Owns what is recorded of it. Never ends or undoes anything: that is [`crate::turn::end`]'s, once
//! it is due. INVARIANT: nobody stops or ends a run whom policy does not let.

use crate::event::Event;
use crate::machine::StepError;
use crate::state::Act;
use crate::statement::Signer;
use crate::turn::log::TurnLog;

pub(crate) fn pause(
    log: &mut TurnLog<'_>,
    signer: Signer,
    reason: String,
) -> Result<(), StepError> {
    log.basis().may(Act::Stop, &signer.by)?;
    if log.state().ending.paused.is_some() {
        return Ok(());
    }
    log.emit(Event::Paused {
        by: signer.by.id,
        what: "the run".to_owned(),
        reason,
        missing: None,
        record: signer.record,
    })
}

pub(crate) fn go_on(log: &mut TurnLog<'_>, signer: Signer) -> Result<(), StepError> {
    let Signer { by, record } = signer;
    if log.state().ending.paused.is_none() {
        return Err(StepError::NotPaused);
    }
    log.basis().may(Act::Resume, &by)?;
    log.emit(Event::Resumed {
        lost: Vec::new(),
        by: Some(by.id),
        record,
    })
}

/// Records that a person has taken back what a run did that has ended.
pub(crate) fn undo(
    log: &mut TurnLog<'_>,
    signer: Signer,
    reason: Option<String>,
) -> Result<(), StepError> {
    let Signer { by, record } = signer;
    log.basis().may(Act::Amend, &by)?;
    if log.state().ending.ended.is_none() {
        return Err(StepError::NotEnded);
    }
    let catalog = &log.rules().catalog;
    let tells = |operation: &str| {
        let operation = catalog.get(operation);
        operation.is_some_and(|operation| operation.reconcile.is_some())
    };
    if !log.state().can_be_undone(tells) {
        return Err(StepError::NothingToUndo {
            undone: log.state().undone().len(),
            left: log.state().would_stay(),
        });
    }
    log.emit(Event::UndoRequested {
        by: by.id,
        reason,
        record,
    })
}

/// Records that a person ends the run.
pub(crate) fn cancel(
    log: &mut TurnLog<'_>,
    signer: Signer,
    reason: Option<String>,
    undo: bool,
) -> Result<(), StepError> {
    let Signer { by, record } = signer;
    // Why: to stop takes little, but undoing begins calls.
    let act = if undo { Act::Amend } else { Act::Stop };
    log.basis().may(act, &by)?;
    log.emit(Event::CancelRequested {
        by: by.id,
        reason,
        undo,
        record,
    })
}
