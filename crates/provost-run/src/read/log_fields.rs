//! What a log says of an event beside its sentence: ids, closed words and numbers.
//!
//! Owns which facts of an event a log has as fields of their own. Never holds a value, a message or
//! any other text from outside: those stand in the sentence alone. INVARIANT: no field of it can
//! repeat a secret.

use serde::Serialize;

use crate::call::Slot;
use crate::event::{Event, Settlement};
use crate::outcome::Landing;
use crate::state::State;

/// The facts of an event, each absent where the event has none.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct LogFields {
    /// The id of the step.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub step: Option<String>,
    /// The item of a `for_each`, from 0.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub item: Option<usize>,
    /// The tool that is called.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool: Option<String>,
    /// The operation, `tool.operation`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub op: Option<String>,
    /// The status that a step or the run has now.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status: Option<&'static str>,
    /// The class of a result, or of what ended a run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub class: Option<&'static str>,
    /// Whether the effect of an attempt happened.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub landing: Option<&'static str>,
    /// The number of the attempt, from 1; 0 of a preview.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub attempt: Option<u32>,
    /// Milliseconds: that the tool took for an attempt, or since a run that ended was created.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ms: Option<u64>,
}

/// The facts of an event; `state` is the run after it.
#[must_use]
pub fn log_fields(event: &Event, state: &State) -> LogFields {
    let mut fields = slot(event).map_or_else(LogFields::default, |slot| LogFields {
        step: Some(slot.step.clone()),
        item: slot.item,
        ..LogFields::default()
    });
    match event {
        Event::ListEvaluated { step, .. } | Event::StepBlocked { step, .. } => {
            fields.step = Some(step.clone());
        }
        Event::AttemptStarted(started) => {
            fields.op = Some(started.operation.clone());
            fields.attempt = Some(started.attempt);
        }
        Event::AttemptEnded(ended) => {
            fields.class = Some(ended.class.word());
            fields.landing = Some(ended.landing.word());
            fields.attempt = Some(ended.attempt);
            fields.ms = ended.took_us.map(|us| us.div_ceil(1_000));
        }
        Event::StepSettled { status, class, .. } => {
            fields.status = Some(status.word());
            fields.class = class.map(|class| class.word());
        }
        Event::DoubtSettled { settled, .. } => {
            let landing = match settled {
                Settlement::Happened => Landing::Happened,
                Settlement::DidNotHappen => Landing::None,
                Settlement::Abandoned => Landing::Unknown,
            };
            fields.landing = Some(landing.word());
        }
        Event::RunEnded(ended) => {
            fields.step.clone_from(&ended.step);
            fields.status = Some(ended.status.word());
            fields.class = ended.class.map(|class| class.word());
            let lasted = state.spend.last_at.saturating_sub(state.head.created_at);
            fields.ms = u64::try_from(lasted).ok();
        }
        _ => {}
    }
    if fields.op.is_none() {
        fields.op = fields.step.as_deref().and_then(|step| planned(state, step));
    }
    let tool = fields.op.as_deref().and_then(|op| op.split_once('.'));
    fields.tool = tool.map(|(tool, _)| tool.to_owned());
    fields
}

/// The operation that a step of the plan in force calls.
fn planned(state: &State, step: &str) -> Option<String> {
    let (step, _) = state.plan()?.checked().step(step)?;
    Some(step.tool()?.value.clone())
}

fn slot(event: &Event) -> Option<&Slot> {
    match event {
        Event::AttemptStarted(started) => Some(&started.slot),
        Event::AttemptEnded(ended) => Some(&ended.slot),
        Event::StepSkipped { slot, .. }
        | Event::AdmissionRefused { slot, .. }
        | Event::ObservationMade { slot, .. }
        | Event::StepSettled { slot, .. }
        | Event::DoubtSettled { slot, .. }
        | Event::ReconcileGivenUp { slot, .. }
        | Event::Deferred { slot, .. } => Some(slot),
        _ => None,
    }
}
