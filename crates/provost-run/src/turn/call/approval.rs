//! Approvals as calls see them: whether what people approved covers one.
//!
//! Owns that comparison: of closure, arguments, values before and age. Asks nobody: that is
//! [`crate::turn::people::gate`]'s. INVARIANT: an approval opens what was shown, and nothing else.

use std::collections::BTreeMap;

use provost_plan::check::StepRecord;
use provost_plan::digest::Digest;
use provost_plan::plan::Step;
use provost_plan::policy::{Decision, Verdict};

use super::dispatch::concrete;
use crate::card::CardSubject;
use crate::state::{CardState, State};
use crate::turn::basis::Basis;
use crate::turn::call::dispatch::Candidate;

/// The name under which a repeated call is asked about.
const REPEATED: &str = "provost:repeated-call";

/// Whether a person's word on a candidate is there.
pub(crate) enum ApprovalState {
    /// It is, under this card: the step's, or that of the whole plan.
    Approved(Digest),
    /// It is not.
    Open,
}

/// Whether an approval covers the candidate.
pub(super) fn approval_of(
    at: Basis<'_>,
    step: &Step,
    record: &StepRecord,
    candidate: &Candidate,
) -> ApprovalState {
    if let Some((card, args)) = at
        .state
        .item(&candidate.slot)
        .and_then(|item| item.consent.approved)
        && args == candidate.args_digest
        && counts_still(at, card)
        && card_shows(at.state, card, record, candidate)
    {
        return ApprovalState::Approved(card);
    }
    let Some(plan) = &at.state.in_force.plan else {
        return ApprovalState::Open;
    };
    let granted = candidate.repeats.is_none()
        && plan.opens_gate(&step.id.value, record, &candidate.operation);
    let id = &step.id.value;
    let card = plan_card(at, id, record).filter(|_| granted);
    let shown = |card: &Digest| match at.state.card(card).map(|s| &s.card.subject) {
        Some(CardSubject::Plan { steps }) => steps
            .get(id)
            .is_some_and(|ask| ask.earlier.cover(&candidate.before.calls)),
        Some(CardSubject::Step { .. }) | None => false,
    };
    // Why: a yes to what nobody said was made before is none to making it again.
    let card = card.filter(shown);
    card.map_or(ApprovalState::Open, ApprovalState::Approved)
}

/// Whether what people said yes to under a card is no older than policy lets it be.
fn counts_still(at: Basis<'_>, card: Digest) -> bool {
    let card = at.state.card(&card);
    card.is_some_and(|card| at.now < card.valid_until)
}

/// The latest plan card under which people said yes to this form of a step.
fn plan_card(at: Basis<'_>, id: &str, record: &StepRecord) -> Option<Digest> {
    let authors = at.state.authors_of(id);
    let wrote = |person: &String| {
        let fields = authors.values().flat_map(BTreeMap::values);
        fields.flatten().any(|author| author == person)
    };
    // Why looked at now: an answer that the call reads may be newer than the yes.
    let own = |state: &CardState| !at.is_solo() && state.approved_by.iter().any(&wrote);
    let covers = |state: &CardState| match &state.card.subject {
        CardSubject::Plan { .. } if own(state) || at.now >= state.valid_until => false,
        CardSubject::Plan { steps } => {
            let agreed = state
                .agreed
                .as_ref()
                .is_some_and(|agreed| agreed.contains(id));
            let same = steps
                .get(id)
                .is_some_and(|ask| ask.closure == record.closure);
            agreed && same && state.approved_by.len() as u64 >= u64::from(state.card.terms.quorum)
        }
        CardSubject::Step { .. } => false,
    };
    let cards = at
        .state
        .people
        .cards
        .iter()
        .filter(|(_, state)| covers(state));
    cards
        .max_by_key(|(_, state)| state.card.asked_at)
        .map(|(digest, _)| *digest)
}

/// Whether a card showed this very call, what it would repeat, and the equal calls before it.
fn card_shows(state: &State, card: Digest, record: &StepRecord, candidate: &Candidate) -> bool {
    match state.card(&card).map(|state| &state.card.subject) {
        Some(CardSubject::Step { ask, calls, .. }) => {
            ask.closure == record.closure
                && calls.iter().any(|call| {
                    let covers = call.earlier.cover(&candidate.before.calls);
                    covers && call.is_same(&concrete(candidate))
                })
        }
        Some(CardSubject::Plan { .. }) | None => false,
    }
}

/// Whether a person approved the plan without this step.
pub(crate) fn not_approved(state: &State, id: &str, record: &StepRecord) -> bool {
    state.followups.is_left_out(id, record.closure)
}

/// The verdict on a call that repeats an effect: a person is asked whatever policy says.
pub(crate) fn with_caution(mut verdict: Verdict) -> Verdict {
    verdict.decision = Decision::Ask;
    verdict.ask.get_or_insert_default();
    verdict.policies.push(REPEATED.to_owned());
    verdict
}
