//! Planners that cost: the limits a request is held to, and requests that were lost.
//!
//! Owns the comparison of the worst case of one request with what is left to the run, and what a
//! request changes of the budget that all runs share. Spends nothing: what is set aside and what
//! was taken stand in events. INVARIANT: no request leaves that might pass a limit.

use provost_plan::money::Money;
use provost_plan::plan::request::{Reserved, Why};

use super::planning::build_request;
use crate::admission::{AdmissionEntry, Denial, Reserve, planner_slot};
use crate::event::Event;
use crate::machine::StepError;
use crate::spending::Spending;
use crate::turn::Turn;

impl Turn<'_> {
    /// The limit that the next request might pass.
    pub(in crate::turn) fn planner_limit(&self, why: Option<&Why>) -> Option<String> {
        let cost = self.state.route.planner.cost()?;
        let id = self.state.planning.requests + 1;
        let request = build_request(self.state, self.rules, id, why.cloned());
        let bytes = serde_json::to_vec(&request).unwrap_or_default();
        let worst = cost.of_request(bytes.len() as u64);
        let limits = self.state.limits_in_force();
        let spend = worst.money.unwrap_or_default();
        let over = |spent: Money, limit: Option<Money>| {
            let total = spent.checked_add(spend);
            limit.filter(|limit| total.is_none_or(|total| total > *limit))
        };
        if let Some(limit) = over(self.state.spend.money, limits.money) {
            return Some(match worst.money {
                None => unpriced(limit),
                Some(_) => format!(
                    "the run's limit of {limit} in money leaves no room to ask the planner: {} is \
                     spent or reserved, and one more request may cost {spend}",
                    self.state.spend.money
                ),
            });
        }
        let shared = self.rules.admission.budget.as_ref();
        let shared = shared.and_then(|budget| budget.money);
        if worst.money.is_none()
            && let Some(limit) = limits.money.or(cost.limit).or(shared)
        {
            return Some(unpriced(limit));
        }
        if let Some(limit) = over(self.state.spend.planning_money, cost.limit) {
            return Some(format!(
                "the limit of {limit} for planning leaves no room to ask again: {} is spent or \
                 reserved, and one more request may cost {spend}",
                self.state.spend.planning_money
            ));
        }
        let tokens = self.state.spend.tokens.saturating_add(worst.tokens);
        limits.tokens.filter(|limit| tokens > *limit).map(|limit| {
            format!(
                "the run's limit of {limit} tokens leaves no room to ask the planner: {} are spent \
                 or reserved, and one more request may take {}",
                self.state.spend.tokens, worst.tokens
            )
        })
    }

    /// Why the budget that all runs share has no room for the next request, if it said so.
    pub(in crate::turn) fn no_shared_budget(&self) -> Option<String> {
        self.state.route.planner.cost()?;
        match self.said.denials.get(&planner_slot())? {
            Denial::Budget { because } => Some(because.clone()),
            _ => None,
        }
    }

    /// What a request sets aside of the budget that all runs share.
    pub(in crate::turn) fn set_aside_of(&self, reserved: Reserved) -> Option<Reserve> {
        let budget = self.rules.admission.budget.clone()?;
        Some(Reserve {
            money: reserved.money.unwrap_or_default(),
            tokens: reserved.tokens,
            period: budget.per.name_at(self.now),
            budget,
        })
    }

    /// What an event counts against the budget that all runs share, seen before it is applied.
    pub(in crate::turn) fn spent_of(&self, event: &Event) -> Option<AdmissionEntry> {
        let asked = self.state.planning.outstanding.as_ref();
        let asked = asked.map(|request| (request.asked_at, request.reserved));
        let spent = Spending::of_asked(asked).apply(event, self.now);
        spent.map(AdmissionEntry::Spent)
    }

    /// Asks again what a process that ended asked. What costs is a request of its own: the first
    /// may have been answered and paid, and what was set aside for it stays spent.
    pub(in crate::turn) fn ask_planner_again(&mut self) -> Result<(), StepError> {
        let Some(request) = &self.state.planning.outstanding else {
            return Ok(());
        };
        self.plan_asked = true;
        if request.reserved.is_none() || request.asked_people {
            return Ok(());
        }
        let why = request.why.clone();
        let limit = self.planner_limit(why.as_ref());
        match limit.or_else(|| self.no_shared_budget()) {
            None => self.emit_request(self.state.planning.requests + 1, why, true),
            Some(limit) => {
                let optional = why.as_ref().is_some_and(Why::is_optional);
                self.give_up(why.as_ref(), &limit, optional)
            }
        }
    }
}

fn unpriced(limit: Money) -> String {
    format!(
        "what the planner costs is not known, and there is a limit of {limit}: give its `price` in \
         provost.toml"
    )
}
