//! What the listing shows of a run: made from its state after every append.

use std::collections::BTreeSet;
use std::sync::Arc;

use provost_plan::approve::ApprovedPlan;
use provost_plan::plan::Step;
use provost_run::event::RunStatus;
use provost_run::machine::Run;
use provost_run::state::{State, waiting};
use serde::{Deserialize, Serialize};

use crate::history::History;
use crate::store::{Projection, RunRow, Store};

/// What the listing shows of a run beside status and goal.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Summary {
    /// The plan in force, from 1; 0 before there is one.
    #[serde(default)]
    pub revision: u32,
    /// Why it ended, or what is in doubt.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// Whom it acts for; none in a row of an older version.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub requester: Option<String>,
    /// Who plans it, in words: `playbook latency`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub planner: Option<String>,
    /// The operations that the plan in force names.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tools: Vec<String>,
}

impl Summary {
    /// The summary of a run in this state.
    #[must_use]
    pub fn of(state: &State) -> Self {
        Self::naming(state, NamedTools::default().of(state))
    }

    /// The same, where the plan in force names these operations.
    fn naming(state: &State, tools: &[String]) -> Self {
        let ended = state.ending.ended.as_ref();
        Self {
            revision: state.in_force.revision,
            message: ended.and_then(|ended| ended.message.clone()),
            requester: Some(state.head.principal.id.clone()),
            planner: Some(state.route.planner.author()),
            tools: tools.to_vec(),
        }
    }

    /// The summary in a row of the listing. What an older version left out is read from the events.
    #[must_use]
    pub fn of_row(row: &RunRow, store: &Store) -> Self {
        let kept: Self = serde_json::from_str(&row.summary).unwrap_or_default();
        if kept.requester.is_some() {
            return kept;
        }
        let history = History::read(store, &row.id);
        history.map_or(kept, |history| Self::of(&history.state))
    }
}

/// The operations that the plan in force names. Why kept: a run is listed after every append, and
/// its plan may have a thousand steps.
#[derive(Default)]
pub(crate) struct NamedTools {
    plan: Option<Arc<ApprovedPlan>>,
    tools: Vec<String>,
}

impl NamedTools {
    /// Those of the plan that is in force now.
    fn of(&mut self, state: &State) -> &[String] {
        let is_same = match (&self.plan, state.plan()) {
            (Some(kept), Some(plan)) => Arc::ptr_eq(kept, plan),
            (kept, plan) => kept.is_none() && plan.is_none(),
        };
        if !is_same {
            self.plan = state.plan().cloned();
            let steps = self
                .plan
                .iter()
                .flat_map(|plan| &plan.checked().plan().steps);
            let tools: BTreeSet<&str> = steps
                .flat_map(Step::tools)
                .map(|tool| tool.value.as_str())
                .collect();
            self.tools = tools.into_iter().map(str::to_owned).collect();
        }
        &self.tools
    }
}

/// When somebody has to look at a run next; none if only a statement of a person moves it.
fn due(run: &Run) -> Option<i64> {
    let state = run.state();
    if state.ending.ended.is_some() || state.status() == RunStatus::Paused {
        return None;
    }
    let timer = state.next_timer(state.spend.last_at);
    // Why not the last moment: what is due at once stays as it is, and its row with it.
    let now = Some(state.head.created_at);
    match state.status() {
        // Why now: what was held back begins with whoever takes the run up without holding it.
        _ if run.is_held() => now,
        RunStatus::Planning => now,
        RunStatus::Running if state.in_flight() == 0 => timer.or(now),
        RunStatus::Running => now,
        _ => timer,
    }
}

/// The row of the listing for a run in this state.
pub(crate) fn projection(run: &Run, named: &mut NamedTools) -> Projection {
    let state = run.state();
    let summary = Summary::naming(state, named.of(state));
    let summary = serde_json::to_string(&summary).unwrap_or_default();
    Projection {
        status: state.status().word().to_owned(),
        goal: state.goals.goal.text.clone(),
        summary,
        due_ms: due(run),
        waits: waiting(state),
        facts: None,
    }
}
