//! What a run waits for: one entry for each card, question, write in doubt and missing secret.
//!
//! Owns the list, for the listing, notices and every view. Never spells a command: that is the
//! front end's. INVARIANT: an entry stands as long as somebody can answer it, whatever else of the
//! run is busy, and follows from the state alone.

use std::collections::BTreeSet;

use provost_plan::catalog::{Effect, Risk};
use provost_plan::digest::Digest;
use serde::{Deserialize, Serialize};

use super::{CardState, QuestionState, State};
use crate::call::Slot;
use crate::card::{CardSubject, QuestionPurpose, StepAsk};

/// What kind of word is waited for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WaitKind {
    /// A yes or a no to a card.
    Approval,
    /// An answer to a question.
    Answer,
    /// What became of a write.
    Settlement,
    /// A secret that somebody has to set.
    Secret,
}

impl WaitKind {
    const ALL: [Self; 4] = [Self::Approval, Self::Answer, Self::Settlement, Self::Secret];

    /// Its word.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Approval => "approval",
            Self::Answer => "answer",
            Self::Settlement => "settlement",
            Self::Secret => "secret",
        }
    }

    /// The kind of this word.
    #[must_use]
    pub fn of(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.word() == word)
    }
}

/// Something that a run waits for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Waiting {
    /// What is waited for.
    pub kind: WaitKind,
    /// The digest of the card or the question.
    pub digest: Option<Digest>,
    /// The step or item, if it is about one.
    pub slot: Option<Slot>,
    /// The operation that would be called, or was, where it is one.
    pub operation: Option<String>,
    /// The furthest that what is asked about reaches.
    pub effect: Option<Effect>,
    /// The highest risk of what is asked about.
    pub risk: Option<Risk>,
    /// Who asked for what is on the card.
    pub requester: Option<String>,
    /// Who planned it, where that is no person and nobody's playbook.
    pub planned_by: Option<String>,
    /// Since when it waits, in milliseconds since the epoch.
    pub asked_at: i64,
    /// When it lapses.
    pub expires_at: Option<i64>,
    /// How many must say yes.
    pub quorum: Option<u32>,
    /// Who said yes so far.
    pub approved_by: BTreeSet<String>,
    /// How often the call that is asked about was made before; of several, the most.
    #[serde(default, skip_serializing_if = "is_none")]
    pub repeats: u64,
}

/// Why left out then: rows that an older version wrote have the digest that they had.
#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes references")]
fn is_none(count: &u64) -> bool {
    *count == 0
}

impl Waiting {
    pub(crate) fn new(kind: WaitKind, asked_at: i64) -> Self {
        Self {
            kind,
            digest: None,
            slot: None,
            operation: None,
            effect: None,
            risk: None,
            requester: None,
            planned_by: None,
            asked_at,
            expires_at: None,
            quorum: None,
            approved_by: BTreeSet::new(),
            repeats: 0,
        }
    }

    fn card(digest: Digest, known: &CardState) -> Self {
        let card = &known.card;
        let asks: Vec<&StepAsk> = match &card.subject {
            CardSubject::Plan { steps } => steps.values().collect(),
            CardSubject::Step { ask, .. } => vec![ask],
        };
        let on_steps = asks.iter().map(|ask| ask.earlier.count);
        let on_calls = card.calls().iter().map(|call| call.earlier.count);
        let repeats = on_steps.chain(on_calls).max().unwrap_or_default();
        let mut operations = asks.iter().map(|ask| &ask.operation);
        let first = operations.next();
        // Why only of one: several have no name together.
        let operation = first.filter(|first| operations.all(|other| other == *first));
        Self {
            digest: Some(digest),
            slot: card.step().map(slot_of_step),
            operation: operation.cloned(),
            effect: asks.iter().map(|ask| ask.effect).max(),
            risk: asks.iter().map(|ask| ask.risk).max(),
            requester: Some(card.requester.clone()),
            planned_by: card.planned_by.clone(),
            expires_at: card.expires_at,
            quorum: Some(card.terms.quorum),
            approved_by: known.approved_by.clone(),
            repeats,
            ..Self::new(WaitKind::Approval, card.asked_at)
        }
    }

    fn question(digest: Digest, known: &QuestionState) -> Self {
        let slot = match &known.question.purpose {
            QuestionPurpose::Step { step } | QuestionPurpose::Escalation { step } => {
                Some(slot_of_step(step))
            }
            QuestionPurpose::Planner { .. } | QuestionPurpose::Review { .. } => None,
        };
        let expires = known.question.expires.as_ref();
        Self {
            digest: Some(digest),
            slot,
            expires_at: expires.map(|expires| expires.at),
            ..Self::new(WaitKind::Answer, known.asked_at)
        }
    }
}

fn slot_of_step(step: impl Into<String>) -> Slot {
    Slot {
        step: step.into(),
        item: None,
    }
}

/// What a run in this state waits for: questions, cards, writes in doubt, a missing secret.
#[must_use]
pub fn waiting(state: &State) -> Vec<Waiting> {
    let mut all = Vec::new();
    if state.ending.ended.is_some() {
        return all;
    }
    let questions = state
        .people
        .questions
        .iter()
        .filter(|(_, known)| known.open);
    all.extend(questions.map(|(digest, known)| Waiting::question(*digest, known)));
    let cards = state.people.cards.iter().filter(|(_, known)| known.open);
    all.extend(cards.map(|(digest, known)| Waiting::card(*digest, known)));
    if state.any_doubted() {
        all.extend(unanswered_doubts(state).map(|(slot, since)| Waiting {
            operation: operation_of(state, &slot),
            slot: Some(slot),
            ..Waiting::new(WaitKind::Settlement, since)
        }));
    }
    if let Some(pause) = state
        .ending
        .paused
        .as_ref()
        .filter(|by| by.missing.is_some())
    {
        all.push(Waiting::new(WaitKind::Secret, pause.at));
    }
    all
}

impl State {
    /// Whether a write is in doubt and no read is made, or will be, that asks about it.
    #[must_use]
    pub fn is_unanswered_doubt(&self, slot: &Slot) -> bool {
        self.item(slot).is_some_and(|item| {
            item.is_in_doubt() && item.in_flight.is_none() && item.retry_at.is_none()
        })
    }
}

/// All of these, each with the moment since which it is in doubt.
fn unanswered_doubts(state: &State) -> impl Iterator<Item = (Slot, i64)> {
    state
        .items()
        .filter(|(slot, _)| state.is_unanswered_doubt(slot))
        .filter_map(|(slot, item)| Some((slot, item.doubt()?.since)))
}

/// The operation that was called for a slot.
fn operation_of(state: &State, slot: &Slot) -> Option<String> {
    let of_slot = |effect: &&super::WriteRecord| effect.slot == *slot;
    let effect = state.writes.effects.iter().rev().find(of_slot)?;
    Some(effect.operation.clone())
}
