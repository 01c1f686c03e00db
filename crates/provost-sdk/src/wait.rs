//! What a run waits for, as a program shows it to somebody.

use std::fmt;

use provost_engine::run::card::{
    Card as MachineCard, CardSubject, ConcreteCall, Question as Asked,
};
use provost_plan::digest::Digest;
use serde_json::Value;

/// Something that a person has to approve.
#[derive(Clone, Debug)]
pub struct Card {
    pub(crate) digest: Digest,
    card: Box<MachineCard>,
}

impl Card {
    pub(crate) fn new((digest, card): (Digest, MachineCard)) -> Self {
        let card = Box::new(card);
        Self { digest, card }
    }

    /// The digest that an approval binds, as `provost approve RUN@DIGEST` takes it.
    #[must_use]
    pub fn digest(&self) -> String {
        self.digest.to_string()
    }

    /// The steps that are asked about.
    #[must_use]
    pub fn steps(&self) -> Vec<&str> {
        match &self.card.subject {
            CardSubject::Plan { steps } => steps.keys().map(String::as_str).collect(),
            CardSubject::Step { step, .. } => vec![step],
        }
    }

    /// Everything on the card, as JSON.
    #[must_use]
    pub fn json(&self) -> Value {
        serde_json::to_value(&self.card).unwrap_or_default()
    }
}

impl fmt::Display for Card {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let card = &self.card;
        match &card.subject {
            CardSubject::Plan { steps } => {
                writeln!(f, "approve {} steps of the plan?", steps.len())?;
                for (id, ask) in steps {
                    writeln!(f, "  {id}: {} ({})", ask.operation, ask.effect.word())?;
                }
            }
            CardSubject::Step { step, ask, calls } => {
                writeln!(f, "approve step `{step}`?")?;
                writeln!(f, "  {} ({})", ask.operation, ask.effect.word())?;
                for ConcreteCall { args, .. } in calls {
                    for (name, value) in args.as_object().into_iter().flatten() {
                        writeln!(f, "  {name} = {value}")?;
                    }
                }
            }
        }
        writeln!(f, "  for the goal: {}", card.goal)?;
        write!(f, "  requested by {}", card.requester)
    }
}

/// Something that a person has to answer.
#[derive(Clone, Debug)]
pub struct Question {
    pub(crate) digest: Digest,
    asked: Asked,
}

impl Question {
    pub(crate) fn new((digest, asked): (Digest, Asked)) -> Self {
        Self { digest, asked }
    }

    /// What is asked.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.asked.text
    }

    /// The JSON Schema of the answer.
    #[must_use]
    pub fn schema(&self) -> &Value {
        &self.asked.answer
    }
}

impl fmt::Display for Question {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.asked.text)
    }
}

/// Writes of which it is unknown whether they took place.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Doubt {
    /// The run.
    pub run: String,
    /// The steps, or their items.
    pub steps: Vec<String>,
}

impl fmt::Display for Doubt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let steps = self.steps.join(", ");
        write!(f, "no answer shows whether the write of {steps} happened; ")?;
        write!(f, "settle it with `provost settle {}`", self.run)
    }
}

/// Why a run does not go on now.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Why {
    /// The run.
    pub run: String,
    /// In a line.
    pub text: String,
}

impl fmt::Display for Why {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "run {} {}", self.run, self.text)
    }
}
