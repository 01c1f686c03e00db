//! Planners that cost: what is set aside, what is taken, and requests that were lost.

use crate::case::{Case, plan_reply};
use provost_plan::money::Money;
use provost_plan::plan::request::{PlannerCost, PlannerUsage};
use provost_run::machine::Input;

const PLAN: &str = r#"
schema: provost/plan/v1
success:
  - { for: goal, check: '${ steps.a.status == "succeeded" }' }
steps:
  - { id: a, tool: look.up, args: { to: a } }
answer: [{ text: done, cites: [a] }]
"#;

fn money(text: &str) -> Money {
    Money::parse(text).unwrap()
}

/// One request takes at most about 1.00.
fn cost(limit: Option<&str>) -> PlannerCost {
    PlannerCost {
        bytes: 0,
        tokens_out: 1_000_000,
        input: Some(Money::ZERO),
        output: Some(money("1.00")),
        limit: limit.map(money),
    }
}

fn took(cost: &str) -> PlannerUsage {
    PlannerUsage {
        requests: 1,
        tokens_in: 10,
        tokens_out: 10,
        cost: Some(money(cost)),
        ..PlannerUsage::default()
    }
}

#[test]
fn what_is_taken_takes_the_place_of_what_was_set_aside() {
    let case = Case::new(PLAN)
        .planner_costs(cost(None))
        .planner_is_away()
        .begin();
    assert_eq!(case.state().money, money("1.00"));
    let case = case.planner_takes(Some(took("0.25")), plan_reply(PLAN, &[]));
    assert_eq!(case.state().money, money("0.25"));
    assert_eq!(case.state().tokens, 20);
}

#[test]
fn what_nobody_knows_stays_set_aside() {
    let unknown = PlannerUsage {
        unknown: true,
        ..took("0.00")
    };
    for usage in [Some(unknown), None] {
        let case = Case::new(PLAN)
            .planner_costs(cost(None))
            .planner_is_away()
            .begin();
        let case = case.planner_takes(usage, plan_reply(PLAN, &[]));
        assert_eq!(case.state().money, money("1.00"));
    }
}

#[test]
fn a_request_that_was_lost_is_made_anew_and_stays_spent() {
    let case = Case::new(PLAN)
        .planner_costs(cost(None))
        .planner_is_away()
        .begin();
    let case = case.give(Input::Resume);
    assert_eq!(case.state().money, money("2.00"));
    assert_eq!(case.state().planning.requests, 2);
    let case = case.planner_takes(Some(took("0.25")), plan_reply(PLAN, &[]));
    assert_eq!(case.state().money, money("1.25"));
}

#[test]
fn a_request_that_might_pass_a_limit_is_not_made() {
    for (own, limit) in [(Some("1.50"), None), (None, Some("1.50"))] {
        let case = Case::new(PLAN)
            .planner_costs(cost(own))
            .limits(|limits| limits.money = limit.map(money))
            .planner_is_away()
            .begin();
        assert!(case.state().ended.is_none());
        let case = case.give(Input::Resume);
        let asked = case.state().open_questions().next().expect("asked").1;
        assert!(asked.text.contains("leaves no room"), "{}", asked.text);
        assert_eq!(case.state().planning.requests, 1);
        // What was never made sets nothing aside.
        assert_eq!(case.state().money, money("1.00"));
    }
}
