//! Entries of admission: what the events of a turn change of what runs share.
//!
//! Owns which entry goes with which event. Decides nothing about other runs: that is
//! [`crate::admission`]'s. INVARIANT: every attempt that begins has its entry.

use provost_plan::money::Money;
use provost_plan::plan::request::Reserved;

use crate::admission::{AdmissionEntry, Begin, CallTarget, Reserve, health, tool_of};
use crate::call::{Purpose, Slot};
use crate::event::{AttemptEnded, AttemptStarted, Event, StepStatus};
use crate::outcome::Landing;
use crate::spending::Spending;
use crate::state::{InFlight, State};
use crate::turn::basis::Basis;

/// The flight that an event ends.
pub(super) fn flight_of(state: &State, event: &Event) -> Option<InFlight> {
    match event {
        Event::AttemptEnded(ended) => state.item(&ended.slot)?.in_flight.clone(),
        _ => None,
    }
}

/// What an event changes of what runs share, once the state is changed by it.
pub(super) fn entry_of(
    at: Basis<'_>,
    event: &Event,
    ends: Option<InFlight>,
) -> Option<AdmissionEntry> {
    Some(match event {
        Event::AttemptStarted(started) => begin_of(at, started),
        Event::AttemptEnded(ended) => match ends {
            Some(flight) => end_of(at, ended, &flight),
            None => return None,
        },
        Event::StepSettled {
            slot,
            status: StepStatus::InDoubt,
            ..
        } if effect_landing(at.state, slot) == Some(Landing::Unknown) => {
            AdmissionEntry::Doubt { slot: slot.clone() }
        }
        Event::DoubtSettled { slot, .. } => AdmissionEntry::Settled { slot: slot.clone() },
        Event::PlanRequested {
            reserved: Some(reserved),
            ..
        } => match set_aside_of(at, *reserved) {
            Some(reserve) => AdmissionEntry::Reserve(reserve),
            None => return None,
        },
        _ => return None,
    })
}

fn effect_landing(state: &State, slot: &Slot) -> Option<Landing> {
    state.effect(slot).map(|effect| effect.landing)
}

fn begin_of(at: Basis<'_>, started: &AttemptStarted) -> AdmissionEntry {
    let rules = &at.rules.admission;
    let tool = tool_of(&started.operation);
    let budget = rules.budget.as_ref();
    let costs = started.money.is_some() || started.tokens.is_some();
    let playbook = at.state.route.planner.playbook().map(str::to_owned);
    AdmissionEntry::Begin(Box::new(Begin {
        slot: started.slot.clone(),
        tool: tool.to_owned(),
        operation: started.operation.clone(),
        sinks: started.sinks,
        plain: !started.read && started.key.is_none(),
        money: started.money.unwrap_or(Money::ZERO),
        tokens: started.tokens.unwrap_or(0),
        limits: rules.of_tool(tool),
        budget: budget
            .filter(|_| costs)
            .map(|budget| (budget.clone(), budget.per.name_at(at.now))),
        principal: at.state.head.principal.id.clone(),
        playbook,
    }))
}

fn end_of(at: Basis<'_>, ended: &AttemptEnded, flight: &InFlight) -> AdmissionEntry {
    let tool = tool_of(&flight.operation);
    let unknown = effect_landing(at.state, &ended.slot) == Some(Landing::Unknown);
    AdmissionEntry::End {
        slot: ended.slot.clone(),
        tool: tool.to_owned(),
        // Why: a call that was not made says nothing about its tool.
        healthy: health(ended.class, !ended.is_try()),
        // Why not of a read that asks: only what settles the doubt ends it. And the read that a
        // step is about has no effect to be known.
        known: match flight.purpose {
            Purpose::Reconcile => false,
            Purpose::Effect => !flight.read && !unknown,
            Purpose::Confirm | Purpose::Retake { .. } | Purpose::Preview { .. } => !unknown,
        },
        target: flight.sinks.map(|sinks| CallTarget {
            operation: flight.operation.clone(),
            sinks,
        }),
        breaker: at.rules.admission.of_tool(tool).breaker,
    }
}

/// What a request sets aside of the budget that all runs share.
fn set_aside_of(at: Basis<'_>, reserved: Reserved) -> Option<Reserve> {
    let budget = at.rules.admission.budget.clone()?;
    Some(Reserve {
        money: reserved.money.unwrap_or_default(),
        tokens: reserved.tokens,
        period: budget.per.name_at(at.now),
        budget,
    })
}

/// What an event counts against the budget that all runs share, seen before it is applied.
pub(super) fn spent_of(at: Basis<'_>, event: &Event) -> Option<AdmissionEntry> {
    let asked = at.state.planning.outstanding.as_ref();
    let asked = asked.map(|request| (request.asked_at, request.reserved));
    let spent = Spending::of_asked(asked).apply(event, at.now);
    spent.map(AdmissionEntry::Spent)
}
