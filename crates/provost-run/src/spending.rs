//! Spending: what the events of a run count against the budget that all runs share.
//!
//! Owns how an event tells it, with no settings at hand: it is counted whether somebody set a
//! budget or not, so that a budget set later, or for another period, knows what was spent before
//! it. Never decides whether there is room: that is [`crate::admission`]'s.

use provost_plan::money::Money;
use provost_plan::plan::request::Reserved;

use crate::admission::Spent;
use crate::event::Event;

/// What a run counts, event by event.
#[derive(Clone, Copy, Debug, Default)]
pub struct Spending {
    /// When a planner was asked last, and what is set aside for its reply.
    asked: Option<(i64, Option<Reserved>)>,
}

impl Spending {
    /// The kinds of events that bear on it.
    pub const KINDS: [&str; 3] = ["AttemptStarted", "PlanRequested", "BudgetSpent"];

    /// That of a run whose planner was asked at a moment, with so much set aside.
    #[must_use]
    pub fn of_asked(asked: Option<(i64, Option<Reserved>)>) -> Self {
        Self { asked }
    }

    /// Takes in the next event of the run; what it counts, if it counts anything.
    pub fn apply(&mut self, event: &Event, at_ms: i64) -> Option<Spent> {
        match event {
            Event::AttemptStarted(started) => {
                let (money, tokens) = (started.money.unwrap_or_default(), started.tokens);
                reserved(at_ms, money, tokens.unwrap_or_default())
            }
            Event::PlanRequested {
                reserved: aside, ..
            } => {
                self.asked = Some((at_ms, *aside));
                let Reserved { money, tokens } = aside.unwrap_or_default();
                reserved(at_ms, money.unwrap_or_default(), tokens)
            }
            Event::BudgetSpent { usage, .. } if !usage.unknown => {
                let (at_ms, aside) = self.asked.as_mut()?;
                let Reserved { money, tokens } = aside.take().unwrap_or_default();
                Some(Spent {
                    at_ms: *at_ms,
                    // Why kept: without a price nobody knows what is to be given back.
                    money_back: money.filter(|_| usage.cost.is_some()).unwrap_or_default(),
                    tokens_back: tokens,
                    money: usage.cost.unwrap_or_default(),
                    tokens: usage.tokens_in.saturating_add(usage.tokens_out),
                })
            }
            _ => None,
        }
    }
}

fn reserved(at_ms: i64, money: Money, tokens: u64) -> Option<Spent> {
    (money > Money::ZERO || tokens > 0).then_some(Spent {
        at_ms,
        money_back: Money::ZERO,
        tokens_back: 0,
        money,
        tokens,
    })
}
