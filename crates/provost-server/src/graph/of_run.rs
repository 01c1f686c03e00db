//! A run's plan as a shape: its steps with their status, and what each waits for.
//!
//! Owns which words stand in a box. INVARIANT: every step of the plan in force has a box, also
//! those that have not begun.

use std::collections::BTreeMap;

use provost_engine::run::event::StepStatus;
use provost_engine::run::read::words::step_status;
use provost_engine::run::state::{State, StepState};
use provost_plan::plan::{Step, StepKind};

use super::{GraphShape, StepBox, draw, fold, layout};
use crate::markup::Markup;

/// The graph of the plan in force; none before there is one.
#[must_use]
pub fn graph(state: &State, open: &[&str]) -> Option<Markup> {
    let shape = fold::folded(shape(state)?, open);
    let picture = layout(&shape, &[]);
    let run = &state.head.run;
    let link = |one: &StepBox| match one.stands_for {
        1 => format!("/runs/{run}/steps/{}", one.id),
        _ => format!("#step-{}", one.id),
    };
    Some(Markup::written(draw::svg(&shape, &picture, link)))
}

/// The steps of the plan in force, in its order.
#[must_use]
pub fn shape(state: &State) -> Option<GraphShape> {
    let checked = state.plan()?.checked();
    let steps = &checked.plan().steps;
    let place: BTreeMap<&str, usize> = steps
        .iter()
        .enumerate()
        .map(|(at, step)| (step.id.value.as_str(), at))
        .collect();
    let mut shape = GraphShape::default();
    for (to, step) in steps.iter().enumerate() {
        let id = step.id.value.as_str();
        shape.boxes.push(of_step(step, state.steps.get(id)));
        let after = checked.step(id).map(|(_, record)| &record.after);
        let from = after.into_iter().flatten();
        let from = from.filter_map(|before| place.get(before.as_str()));
        shape.edges.extend(from.map(|from| (*from, to)));
    }
    Some(shape)
}

fn of_step(step: &Step, known: Option<&StepState>) -> StepBox {
    let status = known.map_or(StepStatus::Pending, |known| known.status);
    let id = step.id.value.clone();
    StepBox {
        name: id.clone(),
        does: does(step).to_owned(),
        look: status.word(),
        status: told(status, known),
        group: id.rsplit_once('.').map(|(group, _)| group.to_owned()),
        stands_for: 1,
        id,
    }
}

/// What a step calls, or does instead.
#[must_use]
pub fn does(step: &Step) -> &str {
    match &step.kind {
        StepKind::Tool { tool, .. } => &tool.value,
        StepKind::Question { .. } => "asks a person",
        StepKind::Subgoal(_) => "a subgoal",
        StepKind::Assertion(_) => "a condition",
    }
}

/// The status of a step, and how many of its items have come to an end.
#[must_use]
pub fn told(status: StepStatus, known: Option<&StepState>) -> String {
    let words = step_status(status);
    let Some(known) = known.filter(|known| known.is_list && !known.items.is_empty()) else {
        return words.to_owned();
    };
    let is_over = |status: Option<StepStatus>| status.is_some_and(StepStatus::is_final);
    let over = known.items.iter().filter(|item| is_over(item.status()));
    format!("{words}, {} of {}", over.count(), known.items.len())
}
