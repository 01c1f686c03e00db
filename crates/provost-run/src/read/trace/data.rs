//! What each event of a trace holds, as it may be shown: arguments, results, risk.
//!
//! Owns when an output is withheld: what is secret, and what nobody can tell to be none. INVARIANT:
//! an output of an operation that is not known to be as it was called leaves as a secret.

use std::collections::BTreeMap;

use provost_plan::catalog::Risk;
use serde::Serialize;
use serde_json::Value;

use crate::call::Slot;
use crate::event::{AttemptStarted, Event};
use crate::shown;

/// What an event holds.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LineData {
    /// Its payload.
    pub data: Value,
    /// Of an attempt: the risk of its step, as the check computed it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub risk: Option<Risk>,
}

/// The data of each event; `is_open` says of an attempt whether its operation is known to have an
/// output that is no secret.
#[must_use]
pub fn line_data(
    events: &[(Event, i64)],
    is_open: &dyn Fn(&AttemptStarted) -> bool,
) -> Vec<LineData> {
    let mut risks: BTreeMap<&str, Risk> = BTreeMap::new();
    let mut called: BTreeMap<&Slot, bool> = BTreeMap::new();
    let mut all = Vec::with_capacity(events.len());
    for (event, _) in events {
        let (_, _, mut data) = shown::stored(event);
        let mut risk = None;
        match event {
            Event::PlanChecked { record, .. } => {
                let of_step = record.steps.iter();
                risks = of_step.map(|(id, step)| (id.as_str(), step.risk)).collect();
            }
            Event::AttemptStarted(started) => {
                risk = risks.get(started.slot.step.as_str()).copied();
                // Why all of them: a read on the way may be of another operation.
                *called.entry(&started.slot).or_insert(true) &= is_open(started);
            }
            // Why not of what was never called: that is a person's answer, or computed.
            Event::ObservationMade { slot, .. } if called.get(slot) == Some(&false) => {
                withhold(&mut data, "output");
            }
            Event::DoubtSettled { slot, .. } if called.get(slot) == Some(&false) => {
                withhold(&mut data, "output");
            }
            // A message may quote the server, and so what nobody may see.
            Event::AttemptEnded(ended) if called.get(&ended.slot) == Some(&false) => {
                withhold(&mut data, "message");
            }
            _ => {}
        }
        all.push(LineData { data, risk });
    }
    all
}

fn withhold(data: &mut Value, field: &str) {
    if let Some(value) = data.get_mut(field) {
        *value = shown::secret();
    }
}
