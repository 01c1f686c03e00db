//! What a run cost: money, tokens and time.
//!
//! Owns these sums. INVARIANT: what has no price is counted as unpriced, and never as free; what a
//! call may have cost and does not say stands apart.

use std::collections::BTreeMap;

use provost_plan::money::Money;
use provost_plan::plan::request::PlannerUsage;

use super::RunFacts;
use super::open::time_open;
use crate::event::{Event, StepStatus};

/// What planners took: requests, tokens and money.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct PlannerSpend {
    pub(crate) requests: u64,
    pub(crate) tokens_in: u64,
    pub(crate) tokens_cached: u64,
    pub(crate) tokens_out: u64,
    /// What it cost, as far as it has a price; none if nothing has.
    pub(crate) cost: Option<Money>,
    /// Replies of models without a price.
    pub(crate) unpriced: u64,
}

impl PlannerSpend {
    /// Of all replies of a run.
    pub(crate) fn of<'e>(events: impl Iterator<Item = &'e Event>) -> Self {
        let mut spend = Self::default();
        for event in events {
            if let Event::BudgetSpent { usage, .. } = event {
                spend.add(usage);
            }
        }
        spend
    }

    fn add(&mut self, usage: &PlannerUsage) {
        self.requests += usage.requests;
        self.tokens_in += usage.tokens_in;
        self.tokens_cached += usage.tokens_cached;
        self.tokens_out += usage.tokens_out;
        match usage.cost {
            Some(cost) => {
                self.cost = Some(self.cost.unwrap_or_default().saturating_add(cost));
            }
            None => self.unpriced += u64::from(usage.model.is_some()),
        }
    }
}

pub(super) fn count(events: &[(&Event, i64)], facts: &mut RunFacts) {
    let economy = &mut facts.economy;
    let planners = PlannerSpend::of(events.iter().map(|(event, _)| *event));
    economy.tokens_planning += planners.tokens_in + planners.tokens_out;
    economy.planning = economy
        .planning
        .saturating_add(planners.cost.unwrap_or_default());
    economy.unpriced += planners.unpriced;
    let mut reserved = BTreeMap::new();
    for (event, _) in events {
        match event {
            Event::PlanChecked { .. } => economy.plans += 1,
            Event::AttemptStarted(started) => {
                if let Some(money) = started.money {
                    reserved.insert((&started.slot, started.attempt), money);
                }
            }
            Event::AttemptEnded(ended) => {
                let most = reserved.remove(&(&ended.slot, ended.attempt));
                match &ended.used {
                    Some(used) => {
                        economy.tokens_tools += used.tokens_in + used.tokens_out;
                        match used.cost {
                            Some(cost) => economy.tools = economy.tools.saturating_add(cost),
                            None => economy.unpriced += 1,
                        }
                    }
                    // Why not of what was never sent: it cost nothing.
                    None if !ended.unsent => {
                        economy.at_most = economy.at_most.saturating_add(most.unwrap_or_default());
                    }
                    None => {}
                }
            }
            Event::StepSettled { status, .. } if *status != StepStatus::InDoubt => {
                economy.settled += 1;
            }
            _ => {}
        }
    }
    let (first, last) = (events.first(), events.last());
    if let (Some((_, first)), Some((_, last))) = (first, last) {
        economy.elapsed_ms = (last - first).max(0);
    }
    economy.busy_ms = (economy.elapsed_ms - time_open(events.iter().copied(), |_| true)).max(0);
}
