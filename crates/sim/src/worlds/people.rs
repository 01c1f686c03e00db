//! The people of a world: who says what, when, and who had better not.
//!
//! Owns what they will say. Never looks at the run: they see cards and questions. INVARIANT: a
//! word of somebody who may not answer is never counted on.

use provost_plan::digest::Digest;
use provost_run::card::{Card, CardSubject, Question};
use provost_run::machine::Input;
use provost_run::statement::Statement;
use serde_json::{Value, json};

use super::faults::{Fault, FaultPlan};
use super::scenario::{agent, person};
use crate::rng::Rng;

/// Words that somebody will say, and after how many milliseconds.
pub(super) type Words = Vec<(i64, Input)>;

pub(super) struct People {
    rng: Rng,
}

impl People {
    pub(super) fn new(seed: u64) -> Self {
        Self {
            rng: Rng::new(seed, "people"),
        }
    }

    /// What they will say to a card.
    pub(super) fn see_card(
        &mut self,
        card: &Card,
        digest: Digest,
        faults: &mut FaultPlan,
    ) -> Words {
        let mut words = Words::new();
        let yes = |by, steps| {
            let card = digest;
            Input::unsigned(by, Statement::Approve { card, steps })
        };
        let mut soon = self.rng.between(500, 60_000);
        if faults.strikes(Fault::Unauthorised) {
            let liars = [person("ada"), person("mallory"), agent("bob"), agent("eve")];
            for by in liars {
                words.push((soon / 2, yes(by, Vec::new())));
            }
        }
        if faults.strikes(Fault::Late) {
            soon = self.rng.between(3_500_000, 8_000_000);
        }
        if faults.strikes(Fault::Reject) {
            let by = person("bob");
            let reason = "not like this".to_owned();
            let card = digest;
            let no = Input::unsigned(
                by,
                Statement::Reject {
                    card,
                    reason,
                    all: faults.strikes(Fault::RejectAll),
                },
            );
            words.push((soon, no));
            // Why: a no is final; those who say yes a moment later come too late.
            soon += self.rng.between(-1_000, 1_000);
        }
        let steps = self.part(card, faults);
        let mut who = ["bob", "dan", "eve"];
        self.rng.shuffle(&mut who);
        for name in who {
            words.push((soon, yes(person(name), steps.clone())));
            if faults.strikes(Fault::Double) {
                words.push((soon + 1, yes(person(name), steps.clone())));
            }
            soon += self.rng.between(0, 30_000);
        }
        words
    }

    /// The part of a card that they say yes to; all of it if empty.
    fn part(&mut self, card: &Card, faults: &mut FaultPlan) -> Vec<String> {
        let names: Vec<String> = match &card.subject {
            CardSubject::Plan { steps } => steps.keys().cloned().collect(),
            CardSubject::Step { step, calls, .. } => {
                calls.iter().map(|call| call.name(step)).collect()
            }
        };
        if names.len() < 2 || !faults.strikes(Fault::Partial) {
            return Vec::new();
        }
        let kept = names.iter().filter(|_| self.rng.permille(500));
        kept.cloned().collect()
    }

    /// What they will say to a question.
    pub(super) fn see_question(
        &mut self,
        question: &Question,
        digest: Digest,
        faults: &mut FaultPlan,
    ) -> Words {
        let mut words = Words::new();
        let says = |value| {
            let question = digest;
            Input::unsigned(person("bob"), Statement::Answer { question, value })
        };
        let mut soon = self.rng.between(500, 60_000);
        if faults.strikes(Fault::WrongAnswer) {
            words.push((soon / 2, says(json!(["what?"]))));
        }
        if faults.strikes(Fault::Late) {
            soon = self.rng.between(3_500_000, 8_000_000);
        }
        let choices = question.answer.get("enum").and_then(Value::as_array);
        let answer = match choices {
            Some(choices) => {
                let at = usize::try_from(self.rng.draw()).unwrap_or(0) % choices.len().max(1);
                choices.get(at).cloned().unwrap_or_default()
            }
            None => json!({ "total": self.rng.between(0, 9) }),
        };
        words.push((soon, says(answer.clone())));
        if faults.strikes(Fault::Double) {
            words.push((soon + 1, says(answer)));
        }
        words
    }
}
