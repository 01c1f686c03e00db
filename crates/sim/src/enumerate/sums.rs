//! Sums: calls that add to a counted value, under a limit that is reached midway.
//!
//! Owns the amounts, how such a run begins, and a second count, of the writes whose intents the
//! journal holds. Never looks at an outcome: what may have taken place is spent. INVARIANT: the
//! plan adds up to more than the limit, which no check lets pass; so the limit is lowered in the
//! journal, after the check and before anything begins.

use provost_plan::amount::Amount;
use provost_plan::catalog::Operation;
use provost_plan::digest::{Digest, Domain};
use provost_plan::schema::Schema;
use provost_run::event::Event;
use provost_run::machine::{Input, Output, Run};
use provost_run::state::State;
use serde_json::{Value, json};

use super::PlanCase;
use super::explore::Search;
use super::inputs::plan;
use super::node::Node;
use super::reading::Reading;
use crate::table::TurnInput;

/// The counted value, and the argument that counts.
const VALUE: &str = "amount";
/// What each call adds.
const EACH: u64 = 2;

/// A call began that passes the limit of a sum.
pub const BEGUN_BEYOND: &str = "a call began beyond the limit of a sum";
/// A sum is more or less than what the calls that began add up to.
pub const COUNTED_WRONG: &str = "a sum is not what the calls that began add up to";
/// A call was refused that a limit has room for.
pub const REFUSED_EARLY: &str = "a call was refused that the limit of a sum has room for";
/// What must happen in some history: the limit holds a call back.
pub const REACHED: &str = "the limit of a sum is reached";

/// An operation with an argument that counts, if it writes.
pub(super) fn counting(operation: Operation) -> Result<Operation, String> {
    let mut schema = operation.input.value().clone();
    if let Some(fields) = schema.get_mut("properties").and_then(Value::as_object_mut) {
        fields.insert(VALUE.to_owned(), json!({ "type": "integer" }));
    }
    let mut operation = Operation {
        input: Schema::compile(schema).map_err(|error| error.to_string())?,
        ..operation
    };
    operation.content.insert(VALUE.to_owned());
    if !operation.effect.is_read() {
        operation.values = [(VALUE.to_owned(), VALUE.to_owned())].into();
    }
    Ok(operation)
}

/// The same plan, of which each call adds to the sum.
#[must_use]
pub fn adding(mut case: PlanCase) -> PlanCase {
    let with = format!("args: {{ {VALUE}: {EACH}, to: ");
    case.text = case.text.replace("args: { to: ", &with);
    for place in &mut case.places {
        let args = json!({ VALUE: EACH, "to": place.target });
        place.args = Digest::of_value(Domain::Args, &args);
    }
    case
}

impl Search<'_> {
    /// Begins with a run whose plan is in force, and of which nothing has begun.
    pub(super) fn begin_under(
        &mut self,
        limit: u64,
        (mut run, created): (Run, Output),
    ) -> Result<(), String> {
        run.hold();
        let waiting = run.state().planning.outstanding.as_ref();
        let input = Input::Planned {
            id: waiting.ok_or("no planner is asked")?.id,
            reply: plan(self.case.text.clone()),
            usage: None,
        };
        let heard = TurnInput::of(&input);
        let planned = run.step(input, 0).map_err(|error| error.to_string())?;
        self.judge_turn(run.state(), heard, &planned.append);
        self.prior = created.append.into_iter().chain(planned.append).collect();
        if let Some(Event::RunCreated(created)) = self.prior.first_mut() {
            created.limits.values = [(VALUE.to_owned(), Amount::of_count(limit))].into();
        }
        let events = self.prior.iter().map(|event| (event, 0));
        let run = Run::from_journal(events, self.rules.clone());
        let mut run = run.map_err(|error| error.to_string())?;
        let output = run.step(Input::Resume, 0).map_err(|e| e.to_string())?;
        let heard = TurnInput::of(&Input::Resume);
        let stepped = self.arrived(run, None, None, heard, output, 0)?;
        let node = Node::new(stepped.to.clone(), self.case, self.bounds.budget);
        self.follow(&node, &stepped)
    }

    /// Looks at what was counted, and at what the limit let begin.
    pub(super) fn judge_sum(&mut self, state: &State, reading: &Reading, events: &[Event]) {
        let Some(limit) = self.bounds.sum else {
            return;
        };
        let begun = reading.writes() * EACH;
        let kinds = || events.iter().map(|event| format!("{event:?}")).collect();
        if begun > limit {
            self.broke(BEGUN_BEYOND, kinds());
        }
        let counted = state.spend.values.get(VALUE).copied().unwrap_or_default();
        if counted != Amount::of_count(begun) {
            self.broke(COUNTED_WRONG, kinds());
        }
        let refused = |event: &Event| matches!(event, Event::AdmissionRefused { .. });
        if events.iter().any(refused) {
            self.tally.faults.insert(REACHED);
            if begun + EACH <= limit {
                self.broke(REFUSED_EARLY, kinds());
            }
        }
    }
}
