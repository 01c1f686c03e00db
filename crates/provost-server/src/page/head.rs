//! The head of every page about one run.

use provost_plan::money::Money;

use super::parts;
use crate::markup::{Markup, Seen, seen};
use crate::view::SeenRun;

/// What stands above every page of a run.
pub(crate) struct RunHeadView {
    pub(crate) run: String,
    pub(crate) goal: Seen,
    pub(crate) status: Markup,
    pub(crate) contradiction: Option<Seen>,
    pub(crate) by: Seen,
    pub(crate) created: Markup,
    pub(crate) planner: Seen,
    pub(crate) revision: u32,
    pub(crate) calls: String,
    pub(crate) money: Option<String>,
    pub(crate) solo: bool,
    pub(crate) tab: &'static str,
}

impl RunHeadView {
    pub(crate) fn of(run: &SeenRun, tab: &'static str) -> Self {
        let state = run.state();
        let calls = state.spend.calls;
        let money = state.spend.money;
        Self {
            run: state.head.run.clone(),
            goal: seen(&state.goals.goal.text),
            status: parts::of_run(state.status()),
            contradiction: run.contradiction().map(|found| seen(found.to_string())),
            by: seen(&state.head.principal.id),
            created: parts::at(state.head.created_at),
            planner: seen(state.route.planner.author()),
            revision: state.in_force.revision,
            calls: match calls {
                1 => "1 call".to_owned(),
                n => format!("{n} calls"),
            },
            money: (money != Money::default()).then(|| money.to_string()),
            solo: state.head.solo,
            tab,
        }
    }
}
