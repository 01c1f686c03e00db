//! Whether somebody may give what is waited for, as the machine said it before.
//!
//! Owns these answers for as long as all that they rest on is the same: the last event of the run,
//! the reading of the files, and that it did not lapse. Judges nothing. INVARIANT: an answer is
//! given again only where the machine would give the same.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use provost_engine::run::state::{WaitKind, Waiting};
use provost_engine::store::PlacedWait;
use provost_plan::digest::Digest;
use provost_plan::policy::{Principal, PrincipalKind};

use crate::limits::WAIT_VERDICTS_MAX;
use crate::problem::Problem;

/// Who asks, about which card or question, after which event of its run.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct WaitQuestion {
    generation: u64,
    by: (bool, String),
    head: Digest,
    of: Digest,
}

impl WaitQuestion {
    /// The one about an entry of the list; none where the answer also rests on what no event says.
    pub(crate) fn of(
        generation: u64,
        by: &Principal,
        placed: &PlacedWait,
        now: i64,
    ) -> Option<Self> {
        let Waiting {
            kind,
            digest,
            expires_at,
            ..
        } = &placed.wait;
        let keeps = matches!(kind, WaitKind::Approval | WaitKind::Answer);
        let lapsed = expires_at.is_some_and(|at| at <= now);
        Some(Self {
            generation,
            by: (by.kind == PrincipalKind::Agent, by.id.clone()),
            head: placed.head,
            of: (*digest).filter(|_| keeps && !lapsed)?,
        })
    }
}

/// Answers under one reading of the files.
#[derive(Debug, Default)]
struct Kept {
    generation: u64,
    answers: HashMap<WaitQuestion, Result<(), Problem>>,
}

/// What the machine said before.
#[derive(Debug, Default)]
pub(crate) struct WaitVerdicts(Mutex<Kept>);

impl WaitVerdicts {
    /// What it said to this question, if it was asked.
    pub(crate) fn known(&self, question: &WaitQuestion) -> Option<Result<(), Problem>> {
        let kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        kept.answers.get(question).cloned()
    }

    /// Keeps what it says to this question.
    pub(crate) fn keep(&self, question: WaitQuestion, answer: Result<(), Problem>) {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let is_full = kept.answers.len() >= WAIT_VERDICTS_MAX;
        if kept.generation != question.generation || is_full {
            kept.generation = question.generation;
            kept.answers.clear();
        }
        kept.answers.insert(question, answer);
    }
}
