//! What a run cost: money, tokens and time.
//!
//! Owns these sums. INVARIANT: what has no price is counted as unpriced, and never as free; what a
//! call may have cost and does not say stands apart.

use std::collections::{BTreeMap, BTreeSet};

use super::RunFacts;
use crate::call::Slot;
use crate::event::{Event, StepStatus};

pub(super) fn count(events: &[(&Event, i64)], facts: &mut RunFacts) {
    let economy = &mut facts.economy;
    let mut reserved = BTreeMap::new();
    for (event, _) in events {
        match event {
            Event::BudgetSpent { usage, .. } => {
                economy.tokens_planning += usage.tokens_in + usage.tokens_out;
                match usage.cost {
                    Some(cost) => economy.planning = economy.planning.saturating_add(cost),
                    None if usage.model.is_some() => economy.unpriced += 1,
                    None => {}
                }
            }
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
    economy.busy_ms = (economy.elapsed_ms - with_people(events)).max(0);
}

/// What only a person ends, as long as it is open.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
enum Open<'e> {
    Card(&'e provost_plan::digest::Digest),
    Pause,
    Doubt(&'e Slot),
}

/// The time with a card, a question, a pause or a doubt open: their union.
fn with_people(events: &[(&Event, i64)]) -> i64 {
    let mut open: BTreeSet<Open<'_>> = BTreeSet::new();
    let mut total = 0;
    let mut last = events.first().map_or(0, |(_, at)| *at);
    for (event, at) in events {
        if !open.is_empty() {
            total += (at - last).max(0);
        }
        last = *at;
        match event {
            Event::ApprovalRequested { digest, .. } | Event::QuestionAsked { digest, .. } => {
                open.insert(Open::Card(digest));
            }
            Event::ApprovalGiven {
                card,
                complete: true,
                ..
            }
            | Event::ApprovalRejected { card, .. }
            | Event::ApprovalExpired { card } => drop(open.remove(&Open::Card(card))),
            Event::QuestionAnswered { question, .. } | Event::QuestionExpired { question } => {
                open.remove(&Open::Card(question));
            }
            // Why all: what a revision replaces is asked anew, by an event of its own.
            Event::ApprovalsRevised { replace, clear, .. }
                if !replace.is_empty() || !clear.is_empty() =>
            {
                open.retain(|one| !matches!(one, Open::Card(_)));
            }
            Event::Paused { .. } => drop(open.insert(Open::Pause)),
            Event::Resumed { .. } => drop(open.remove(&Open::Pause)),
            Event::StepSettled {
                slot,
                status: StepStatus::InDoubt,
                ..
            } => drop(open.insert(Open::Doubt(slot))),
            Event::StepSettled { slot, .. } | Event::DoubtSettled { slot, .. } => {
                open.remove(&Open::Doubt(slot));
            }
            _ => {}
        }
    }
    total
}
