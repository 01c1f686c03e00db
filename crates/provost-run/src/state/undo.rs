//! What is remembered of undoing: whether it is wanted, by which steps, and what it leaves.
//!
//! Owns what is said of every write that took place, or may have. Decides nothing. INVARIANT: a
//! write that took place is either undone, being undone, or listed with the reason why not.

use std::collections::BTreeMap;

use super::{State, WriteRecord};
use crate::call::Slot;
use crate::event::{NotUndone, RunStatus, StepStatus};
use crate::outcome::Landing;

/// Why a write is not taken back whose step a later plan does not have.
pub(crate) const GONE: &str = "its step is not in the plan any more";
/// Why a write is not taken back that nothing undoes.
pub(crate) const WITHOUT_UNDO: &str = "its step has no `undo`";

/// How far a run is with taking back what happened.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum UndoProgress {
    /// Nobody wants it.
    #[default]
    Unwanted,
    /// It is wanted, and not yet known what there is to undo; what was tried before, if it was.
    Wanted(Option<Undoing>),
    /// Steps that undo are part of the plan.
    Placed(Undoing),
    /// They were, and somebody ended the run for good.
    Stopped(Undoing),
}

/// What a run undoes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Undoing {
    /// What each undoing step undoes, of all times that it was tried.
    pub steps: BTreeMap<String, Slot>,
    /// What is not undone, and why.
    pub left: Vec<NotUndone>,
}

impl UndoProgress {
    /// What was placed, whether or not it goes on.
    #[must_use]
    pub fn placed(&self) -> Option<&Undoing> {
        match self {
            Self::Unwanted => None,
            Self::Wanted(undoing) => undoing.as_ref(),
            Self::Placed(undoing) | Self::Stopped(undoing) => Some(undoing),
        }
    }

    /// Takes in that the run is cancelled, with or without undoing.
    pub(super) fn cancelled(&mut self, undo: bool) {
        *self = match (std::mem::take(self), undo) {
            (Self::Placed(undoing) | Self::Stopped(undoing), false) => Self::Stopped(undoing),
            (Self::Placed(undoing) | Self::Stopped(undoing), true) => Self::Placed(undoing),
            (Self::Wanted(Some(before)), false) => Self::Stopped(before),
            (Self::Wanted(before), true) => Self::Wanted(before),
            (Self::Unwanted, true) => Self::Wanted(None),
            (Self::Unwanted | Self::Wanted(None), false) => Self::Unwanted,
        };
    }

    /// Takes in that a run that has ended is to be undone, once more if it was before.
    pub(super) fn reopened(&mut self) {
        *self = match std::mem::take(self) {
            Self::Unwanted => Self::Wanted(None),
            Self::Wanted(before) => Self::Wanted(before),
            Self::Placed(before) | Self::Stopped(before) => Self::Wanted(Some(before)),
        };
    }

    /// Takes in by which steps it is done, beside those of times before.
    pub(super) fn place(&mut self, steps: &BTreeMap<String, Slot>, left: &[NotUndone]) {
        let before = self.placed().map(|before| before.steps.clone());
        let mut all = before.unwrap_or_default();
        all.extend(steps.clone());
        *self = Self::Placed(Undoing {
            steps: all,
            left: left.to_vec(),
        });
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
            UndoProgress::Unwanted | UndoProgress::Wanted(_) => true,
            UndoProgress::Placed(undoing) => undoing.steps.contains_key(id),
            UndoProgress::Stopped(_) => false,
        }
    }

    /// What was undone, the newest first.
    #[must_use]
    pub fn undone(&self) -> Vec<Slot> {
        let effects = self.writes.effects.iter().rev();
        let undone = effects.filter(|effect| is_undone(self, &effect.slot));
        undone.map(|effect| effect.slot.clone()).collect()
    }

    /// Whether something is there that an undo after the end could take back; `tells` says of an
    /// operation whether a read tells that it took place.
    pub(crate) fn can_be_undone(&self, tells: impl Fn(&str) -> bool) -> bool {
        let plan = self.plan().map(|plan| plan.checked().plan());
        self.writes.effects.iter().any(|effect| {
            let step = plan.and_then(|plan| plan.step(&effect.slot.step));
            let has_undo = step.is_some_and(|step| step.undo.is_some());
            let lands = match effect.landing {
                Landing::None => false,
                Landing::Unknown => tells(&effect.operation),
                Landing::Happened => true,
            };
            has_undo && lands && self.time_to_undo(&effect.slot).is_some()
        })
    }

    /// How often undoing a slot was tried, with this time; none if it was undone, or may have been.
    pub(crate) fn time_to_undo(&self, slot: &Slot) -> Option<usize> {
        let mut times = 1;
        for (by, status) in undone_by(self, slot) {
            let by = Slot {
                step: by.to_owned(),
                item: None,
            };
            let landed = self.effect(&by).map(|effect| effect.landing);
            let is_free = landed.is_none_or(|landing| landing == Landing::None);
            if !is_free || status == StepStatus::Succeeded {
                return None;
            }
            times += 1;
        }
        Some(times)
    }

    /// What took place, or may have, and is not undone nor will be, the newest first.
    #[must_use]
    pub fn not_undone(&self) -> Vec<NotUndone> {
        match self.ending.undo.placed() {
            Some(undoing) => stays(self, undoing),
            None => Vec::new(),
        }
    }

    /// The same, of a run of which nobody may have wanted anything undone so far.
    pub(crate) fn would_stay(&self) -> Vec<NotUndone> {
        match self.ending.undo.placed() {
            Some(undoing) => stays(self, undoing),
            None => stays(self, &Undoing::default()),
        }
    }

    /// How an undo after the end came out: its status, how many calls were undone, and how many
    /// that took place, or may have, were not. Why not by [`State::not_undone`]: what did not begin
    /// will not any more.
    pub(crate) fn result_of_undo(&self) -> (RunStatus, usize, usize) {
        let undoing = self.ending.undo.placed();
        let undoes = |slot: &Slot| undoing.is_some_and(|all| all.steps.contains_key(&slot.step));
        let effects = self.writes.effects.iter();
        let all = effects
            .filter(|effect| effect.landing != Landing::None && !undoes(&effect.slot))
            .count();
        let undone = self.undone().len();
        let status = match (undone, all.saturating_sub(undone)) {
            (0, _) => RunStatus::UndoFailed,
            (_, 0) => RunStatus::Undone,
            (_, _) => RunStatus::PartlyUndone,
        };
        (status, undone, all.saturating_sub(undone))
    }
}

fn stays(state: &State, undoing: &Undoing) -> Vec<NotUndone> {
    let effects = state.writes.effects.iter().rev();
    effects
        .filter(|effect| !undoing.steps.contains_key(&effect.slot.step))
        .filter_map(|effect| {
            let because = why_not_undone(state, undoing, effect)?;
            let slot = effect.slot.clone();
            Some(NotUndone { slot, because })
        })
        .collect()
}

fn is_undone(state: &State, slot: &Slot) -> bool {
    let mut by = undone_by(state, slot);
    by.any(|(_, status)| status == StepStatus::Succeeded)
}

fn why_not_undone(state: &State, undoing: &Undoing, effect: &WriteRecord) -> Option<String> {
    let said = |because: &str| Some(because.to_owned());
    match effect.landing {
        Landing::None => return None,
        Landing::Unknown => return said("its outcome is unknown"),
        Landing::Happened => {}
    }
    if is_undone(state, &effect.slot) {
        return None;
    }
    let Some((by, status)) = undone_by(state, &effect.slot).last() else {
        let left = undoing.left.iter().find(|left| left.slot == effect.slot);
        let plan = state.plan().map(|plan| plan.checked().plan());
        let known = || match plan.and_then(|plan| plan.step(&effect.slot.step)) {
            None => GONE,
            Some(step) if step.undo.is_none() => WITHOUT_UNDO,
            Some(_) => "it became known too late that it took place",
        };
        return left
            .map(|left| left.because.clone())
            .or_else(|| said(known()));
    };
    match status {
        StepStatus::Succeeded => None,
        StepStatus::Failed => {
            let (class, message) = state.failure(by)?;
            Some(format!("`{by}` failed, {}: {message}", class.word()))
        }
        StepStatus::InDoubt => Some(format!("the outcome of `{by}` is unknown")),
        StepStatus::Skipped => Some(format!("`{by}` was not approved")),
        _ if state.ending.ended.is_some() => Some(format!("the run ended before `{by}`")),
        _ => None,
    }
}

/// The steps that undo a slot, in the order in which they were placed, and how far each is.
fn undone_by<'s>(
    state: &'s State,
    slot: &Slot,
) -> impl Iterator<Item = (&'s str, StepStatus)> + use<'s> {
    let undoing = state.ending.undo.placed().into_iter();
    let steps = undoing.flat_map(|undoing| &undoing.steps);
    let slot = slot.clone();
    let by = steps.filter(move |(_, of)| **of == slot);
    let mut by: Vec<_> = by
        .filter_map(|(by, _)| Some((by.as_str(), state.steps.get(by)?.status)))
        .collect();
    // Why by length first: a later time has more digits, or greater ones.
    by.sort_by_key(|(by, _)| (by.len(), *by));
    by.into_iter()
}
