//! What is remembered of undoing: whether it is wanted, by which steps, and what it leaves.
//!
//! Owns what is said of every write that took place, or may have. Decides nothing. INVARIANT: a
//! write that took place is either undone, being undone, or listed with the reason why not.

use std::collections::BTreeMap;

use super::{State, WriteRecord};
use crate::call::Slot;
use crate::event::{NotUndone, RunStatus, StepStatus};
use crate::outcome::Landing;

/// How far a cancelled run is with taking back what happened.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum UndoProgress {
    /// Nobody wants it.
    #[default]
    Unwanted,
    /// It is wanted, and not yet known what there is to undo.
    Wanted,
    /// Steps that undo are part of the plan.
    Placed(Undoing),
    /// They were, and somebody ended the run for good.
    Stopped(Undoing),
}

/// What a run undoes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Undoing {
    /// What each undoing step undoes.
    pub steps: BTreeMap<String, Slot>,
    /// What is not undone, and why.
    pub left: Vec<NotUndone>,
}

impl UndoProgress {
    /// What was placed, whether or not it goes on.
    #[must_use]
    pub fn placed(&self) -> Option<&Undoing> {
        match self {
            Self::Unwanted | Self::Wanted => None,
            Self::Placed(undoing) | Self::Stopped(undoing) => Some(undoing),
        }
    }

    /// Takes in that the run is cancelled, with or without undoing.
    pub(super) fn cancelled(&mut self, undo: bool) {
        *self = match (std::mem::take(self), undo) {
            (Self::Placed(undoing) | Self::Stopped(undoing), false) => Self::Stopped(undoing),
            (Self::Placed(undoing) | Self::Stopped(undoing), true) => Self::Placed(undoing),
            (Self::Unwanted | Self::Wanted, true) => Self::Wanted,
            (Self::Unwanted | Self::Wanted, false) => Self::Unwanted,
        };
    }
}

impl State {
    /// Whether what happened is being undone, and nothing else begins.
    #[must_use]
    pub fn is_undoing(&self) -> bool {
        matches!(self.ending.undo, UndoProgress::Placed(_))
    }

    /// Whether the step called `id` may begin as far as undoing goes.
    pub(crate) fn may_begin(&self, id: &str) -> bool {
        match &self.ending.undo {
            UndoProgress::Unwanted | UndoProgress::Wanted => true,
            UndoProgress::Placed(undoing) => undoing.steps.contains_key(id),
            UndoProgress::Stopped(_) => false,
        }
    }

    /// What was undone, in the order in which it was.
    #[must_use]
    pub fn undone(&self) -> Vec<Slot> {
        let effects = self.writes.effects.iter().rev();
        let is_undone = |effect: &&WriteRecord| {
            let by = undone_by(self, &effect.slot);
            by.is_some_and(|(_, status)| status == StepStatus::Succeeded)
        };
        let undone = effects.filter(is_undone);
        undone.map(|effect| effect.slot.clone()).collect()
    }

    /// What took place, or may have, and is not undone nor will be, the newest first.
    #[must_use]
    pub fn not_undone(&self) -> Vec<NotUndone> {
        let Some(undoing) = self.ending.undo.placed() else {
            return Vec::new();
        };
        let effects = self.writes.effects.iter().rev();
        effects
            .filter(|effect| !undoing.steps.contains_key(&effect.slot.step))
            .filter_map(|effect| {
                let because = why_not_undone(self, undoing, effect)?;
                let slot = effect.slot.clone();
                Some(NotUndone { slot, because })
            })
            .collect()
    }
}

fn why_not_undone(state: &State, undoing: &Undoing, effect: &WriteRecord) -> Option<String> {
    let said = |because: &str| Some(because.to_owned());
    match effect.landing {
        Landing::None => return None,
        Landing::Unknown => return said("its outcome is unknown"),
        Landing::Happened => {}
    }
    let Some((by, status)) = undone_by(state, &effect.slot) else {
        let left = undoing.left.iter().find(|left| left.slot == effect.slot);
        return left
            .map(|left| left.because.clone())
            .or_else(|| said("it became known too late that it took place"));
    };
    match status {
        StepStatus::Succeeded => None,
        StepStatus::Failed => {
            let (class, message) = state.failure(by)?;
            Some(format!("`{by}` failed, {}: {message}", class.word()))
        }
        StepStatus::InDoubt => Some(format!("the outcome of `{by}` is unknown")),
        StepStatus::Skipped => Some(format!("`{by}` was not approved")),
        _ if state.status() == RunStatus::Cancelled => Some(format!("the run ended before `{by}`")),
        _ => None,
    }
}

/// The step that undoes a slot, and how far it is.
fn undone_by<'s>(state: &'s State, slot: &Slot) -> Option<(&'s str, StepStatus)> {
    let undoing = state.ending.undo.placed()?;
    let (by, _) = undoing.steps.iter().find(|(_, of)| *of == slot)?;
    Some((by, state.steps.get(by)?.status))
}
