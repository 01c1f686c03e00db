//! Equal calls that were made before, as one turn knows them.
//!
//! Owns when the store has to confirm what is known of them. Looks nothing up: the turn is made
//! beside what admission said before, and admission refuses it where the store has more or other
//! calls. INVARIANT: nothing is asked, begun or forbidden over a write of which the store would
//! say otherwise.

use provost_plan::catalog::Operation;
use provost_plan::check::StepRecord;
use provost_plan::digest::Digest;
use provost_plan::expr::Root;
use provost_plan::plan::{Step, StepKind};
use provost_plan::policy::Verdict;

use super::dispatch::{Candidate, candidate};
use crate::admission::EarlierLook;
use crate::call::Slot;
use crate::earlier::{CallKey, EarlierCalls};
use crate::outcome::Landing;
use crate::turn::basis::Basis;
use crate::turn::log::TurnLog;

/// What is known of the equal calls before one.
#[derive(Clone, Debug, Default)]
pub(crate) struct Before {
    /// Those of other runs.
    pub calls: EarlierCalls,
    /// How many there are with those of this run.
    pub repeats: u64,
    /// Whether the store has to confirm it.
    look: bool,
}

/// What is known of the calls that equal one, before it begins.
pub(super) fn before(at: Basis<'_>, slot: &Slot, operation: &Operation, args: Digest) -> Before {
    if operation.effect.is_read() || at.rules.admission.repeats_ms == 0 {
        return Before::default();
    }
    // Why as it was: another try of what may have taken place is the same call.
    let begun = at.state.effect(slot);
    let begun = begun.is_some_and(|effect| effect.landing != Landing::None);
    let recorded = at.state.item(slot).filter(|_| begun);
    let recorded = recorded.and_then(|item| item.history.earlier.as_ref());
    let recorded = recorded.filter(|(of, _)| *of == args);
    let key = CallKey {
        operation: operation.name.clone(),
        args,
    };
    let look = recorded.is_none();
    let calls = match recorded {
        Some((_, calls)) => calls.clone(),
        None => at.said.earlier.get(&key).cloned().unwrap_or_default(),
    };
    let own = at.state.effects_of(&operation.name, args);
    let own = own.filter(|effect| effect.slot != *slot && effect.landing != Landing::None);
    Before {
        repeats: calls.count.saturating_add(own.count() as u64),
        calls,
        look,
    }
}

/// Has the store confirm what a decision over a candidate rests on.
pub(crate) fn look_up(log: &mut TurnLog<'_>, candidate: &Candidate) {
    if !candidate.before.look {
        return;
    }
    let call = CallKey {
        operation: candidate.operation.name.clone(),
        args: candidate.args_digest,
    };
    log.look_up(EarlierLook {
        call,
        since: log.now().saturating_sub(log.rules().admission.repeats_ms),
        known: candidate.before.calls.clone(),
    });
}

/// The call of a step before the plan begins, where its arguments rest on no other step.
pub(crate) fn known_before(at: Basis<'_>, step: &Step, record: &StepRecord) -> Option<Candidate> {
    let StepKind::Tool { args, .. } = &step.kind else {
        return None;
    };
    let mut references = args
        .templates()
        .into_iter()
        .flat_map(|text| text.references());
    let rests = |root: &Root| matches!(root, Root::Step(_) | Root::Item | Root::Index);
    if step.for_each.is_some() || references.any(|of| rests(&of.root)) {
        return None;
    }
    let slot = Slot {
        step: step.id.value.clone(),
        item: None,
    };
    candidate(at, step, record, &slot).ok()
}

/// Why policy forbids a call, in words.
pub(crate) fn forbidden(candidate: &Candidate) -> String {
    let verdict = &candidate.verdict;
    let why = forbidden_by(verdict);
    match candidate.before.calls.latest.first() {
        Some(call) => format!("{why}; it was made before: {call}"),
        None => why,
    }
}

fn forbidden_by(verdict: &Verdict) -> String {
    let by = verdict.policies.iter().map(|id| format!("`{id}`"));
    let by = by.collect::<Vec<_>>().join(", ");
    match (verdict.errors.first(), by.is_empty()) {
        (Some(error), _) => format!("policy cannot decide, which forbids: {error}"),
        (None, true) => "no policy permits it".to_owned(),
        (None, false) => format!("policy forbids it: {by}"),
    }
}
