//! What the graders of a case look at: the run, its steps, effects and answer, as values.
//!
//! Owns the names that an expression of `expect` may read. Judges nothing. INVARIANT: every value
//! comes from the journal of the repeat or the ledger of its double; what is secret stands as
//! `{"secret": true}`.

use std::collections::{BTreeMap, BTreeSet};

use provost_plan::expr::Scope;
use provost_run::card::CardSubject;
use provost_run::event::Event;
use provost_run::outcome::Landing;
use provost_run::read::trace::{Metrics, trace};
use provost_run::read::why::{Judgment, Witnesses, why};
use provost_run::state::{State, WriteRecord, waiting};
use serde_json::{Map, Value, json};

use super::people::calls_of;

/// A call by what was called.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct MadeCall {
    pub(super) operation: String,
    pub(super) args: Value,
}

/// What a repeat came to.
pub(super) struct Facts {
    pub(super) status: String,
    pub(super) class: Option<String>,
    pub(super) effects: Vec<MadeCall>,
    pub(super) asked: Vec<MadeCall>,
    pub(super) metrics: Metrics,
    pub(super) first_time: Option<bool>,
    pub(super) why: Judgment,
    steps: BTreeMap<String, Value>,
    roots: BTreeMap<&'static str, Value>,
}

impl Facts {
    /// Of a run, as its journal tells it, and the ledger of its double.
    pub(super) fn of(events: &[(Event, i64)], state: &State, ledger: Option<Value>) -> Self {
        let metrics = trace(events).metrics;
        let why = why(events, &waiting(state), &Witnesses::default());
        let effects = effects(state);
        let asked = asked(events);
        let status = state.status().word().to_owned();
        let ended = state.ending.ended.as_ref();
        let class = ended
            .and_then(|ended| ended.class)
            .map(|class| class.word().to_owned());
        let first_time = first_time(events);
        let mut roots = BTreeMap::from([
            (
                "run",
                json!({
                    "id": state.head.run,
                    "status": status,
                    "class": class,
                    "step": ended.and_then(|ended| ended.step.clone()),
                    "message": ended.and_then(|ended| ended.message.clone()),
                }),
            ),
            ("params", Value::Object(state.goals.goal.params.clone())),
            (
                "plan",
                json!({
                    "steps": metrics.steps,
                    "unneeded": metrics.steps_unneeded,
                    "revision": state.in_force.revision,
                    "proposals": metrics.proposals,
                    "first_time": first_time,
                }),
            ),
            ("effects", calls(&effects)),
            ("asked", calls(&asked)),
            ("answer", answer(state)),
            ("metrics", json!(metrics)),
            (
                "why",
                json!({ "guilty": why.guilty.word(), "sentence": why.sentence }),
            ),
        ]);
        if let Some(ledger) = ledger {
            roots.insert("ledger", ledger);
        }
        let steps = state.steps.iter();
        let steps = steps.map(|(id, step)| (id.clone(), step.view.clone()));
        Self {
            status,
            class,
            effects,
            asked,
            metrics,
            first_time,
            why,
            steps: steps.collect(),
            roots,
        }
    }

    /// What an expression sees.
    pub(super) fn scope(&self) -> Scope<'_> {
        let mut scope = Scope::new();
        for (name, value) in &self.roots {
            scope = scope.with(name, value);
        }
        for (id, view) in &self.steps {
            scope = scope.with_step(id, view);
        }
        scope
    }
}

/// What took place, in the order in which it began.
pub(super) fn effects(state: &State) -> Vec<MadeCall> {
    let landed = state.writes.effects.iter();
    let landed = landed.filter(|write| write.landing == Landing::Happened);
    landed.map(made).collect()
}

/// A call that changed something or may have, as it may be shown.
pub(super) fn made(write: &WriteRecord) -> MadeCall {
    MadeCall {
        operation: write.operation.clone(),
        args: without(&write.args, &write.secret_args),
    }
}

fn without(args: &Value, secret: &BTreeSet<String>) -> Value {
    let Value::Object(map) = args else {
        return args.clone();
    };
    let shown = map.iter().map(|(name, value)| {
        let value = match secret.contains(name) {
            true => json!({ "secret": true }),
            false => value.clone(),
        };
        (name.clone(), value)
    });
    Value::Object(shown.collect::<Map<_, _>>())
}

/// The calls that people were asked about.
fn asked(events: &[(Event, i64)]) -> Vec<MadeCall> {
    let mut asked = Vec::new();
    for (event, _) in events {
        if let Event::ApprovalRequested { card, .. } = event {
            let is_step = matches!(card.subject, CardSubject::Step { .. });
            for (operation, args) in calls_of(card) {
                let args = if is_step { args } else { Value::Null };
                asked.push(MadeCall { operation, args });
            }
        }
    }
    asked
}

fn calls(calls: &[MadeCall]) -> Value {
    let calls = calls.iter();
    calls
        .map(|call| json!({ "operation": call.operation, "args": call.args }))
        .collect()
}

fn answer(state: &State) -> Value {
    let parts = match &state.ending.ended {
        Some(ended) => ended.answer.as_slice(),
        None => &[],
    };
    let texts: Vec<String> = parts.iter().map(|part| part.text()).collect();
    let cites: BTreeSet<&str> = parts
        .iter()
        .flat_map(|part| &part.cites)
        .map(|cited| cited.step.as_str())
        .collect();
    json!({ "text": texts.join("\n"), "parts": texts, "cites": cites })
}

/// Whether the first proposal was admissible as it came; none if nobody proposed anything.
fn first_time(events: &[(Event, i64)]) -> Option<bool> {
    let mut proposed = false;
    for (event, _) in events {
        match event {
            Event::PlanProposed { .. } => proposed = true,
            Event::PlanChecked { .. } if proposed => return Some(true),
            Event::PlanRefused { .. } | Event::ProposalMended { .. } if proposed => {
                return Some(false);
            }
            _ => {}
        }
    }
    proposed.then_some(false)
}
