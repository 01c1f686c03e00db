//! What an event says of a step: which step or item, and how that stands from then on.
//!
//! Owns the kinds that say it, and reads no other field of them: a text may be long, and whoever
//! follows a journal has no use for the rest. INVARIANT: a status that is told is the one that the
//! fold has after the event.

use serde::Deserialize;
use serde::de::IgnoredAny;

use super::StepStatus;
use crate::call::Slot;

/// What an event says of a step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StepChange {
    /// The step, and the item if it is about one.
    pub slot: Slot,
    /// How it stands from then on, if the event changes that.
    pub status: Option<StepStatus>,
}

/// The fields that say it. Each kind has some of them.
#[derive(Deserialize)]
struct Fields {
    slot: Option<Slot>,
    step: Option<String>,
    status: Option<StepStatus>,
    previews: Option<IgnoredAny>,
    retakes_for: Option<IgnoredAny>,
    #[serde(default)]
    reconciles: bool,
    card: Option<Card>,
    question: Option<Question>,
}

#[derive(Deserialize)]
struct Card {
    subject: Named,
}

#[derive(Deserialize)]
struct Question {
    purpose: Named,
}

#[derive(Deserialize)]
struct Named {
    kind: String,
    step: Option<String>,
}

impl StepChange {
    /// The kinds that say it. Why without the observation, whose text is long: the step is settled
    /// in the same breath.
    pub const KINDS: [&str; 11] = [
        "AdmissionRefused",
        "ApprovalRequested",
        "AttemptEnded",
        "AttemptStarted",
        "Deferred",
        "DoubtSettled",
        "QuestionAsked",
        "ReconcileGivenUp",
        "StepBlocked",
        "StepSettled",
        "StepSkipped",
    ];

    /// What a stored event of one of [`Self::KINDS`] says; nothing if it is about no one step.
    #[must_use]
    pub fn of_stored(kind: &str, payload: &str) -> Option<Self> {
        let fields: Fields = serde_json::from_str(payload).ok()?;
        let of_step = |step| Slot { step, item: None };
        let (slot, status) = match kind {
            "StepSettled" => (fields.slot?, fields.status),
            "StepSkipped" => (fields.slot?, Some(StepStatus::Skipped)),
            "StepBlocked" => (of_step(fields.step?), Some(StepStatus::Blocked)),
            "AttemptStarted" => {
                let beside =
                    fields.reconciles || fields.previews.is_some() || fields.retakes_for.is_some();
                (fields.slot?, (!beside).then_some(StepStatus::Running))
            }
            "ApprovalRequested" => {
                let asked = of_step(fields.card?.subject.step?);
                (asked, Some(StepStatus::WaitingApproval))
            }
            "QuestionAsked" => {
                let Named { kind, step } = fields.question?.purpose;
                let waits = (kind == "step").then_some(StepStatus::WaitingAnswer);
                (of_step(step?), waits)
            }
            _ => (fields.slot?, None),
        };
        Some(Self { slot, status })
    }
}
