//! Planners that cost: what is set aside, what is taken, and requests that were lost.

use crate::case::{Case, plan_reply, rules_with};
use provost_plan::money::Money;
use provost_plan::plan::request::{PlannerCost, PlannerUsage};
use provost_run::admission::{AdmissionEntry, Budget, Denial, Period};
use provost_run::machine::{Input, Rules};

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
    assert_eq!(case.state().spend.money, money("1.00"));
    let case = case.planner_takes(Some(took("0.25")), plan_reply(PLAN, &[]));
    assert_eq!(case.state().spend.money, money("0.25"));
    assert_eq!(case.state().spend.tokens, 20);
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
        assert_eq!(case.state().spend.money, money("1.00"));
    }
}

#[test]
fn a_request_that_was_lost_is_made_anew_and_stays_spent() {
    let case = Case::new(PLAN)
        .planner_costs(cost(None))
        .planner_is_away()
        .begin();
    let case = case.give(Input::Resume).give(Input::Proceed);
    assert_eq!(case.state().spend.money, money("2.00"));
    assert_eq!(case.state().planning.requests, 2);
    let case = case.planner_takes(Some(took("0.25")), plan_reply(PLAN, &[]));
    assert_eq!(case.state().spend.money, money("1.25"));
}

#[test]
fn a_request_that_might_pass_a_limit_is_not_made() {
    for (own, limit) in [(Some("1.50"), None), (None, Some("1.50"))] {
        let case = Case::new(PLAN)
            .planner_costs(cost(own))
            .limits(|limits| limits.money = limit.map(money))
            .planner_is_away()
            .begin();
        assert!(case.state().ending.ended.is_none());
        let case = case.give(Input::Resume).give(Input::Proceed);
        let asked = case.state().open_questions().next().expect("asked").1;
        assert!(asked.text.contains("leaves no room"), "{}", asked.text);
        assert_eq!(case.state().planning.requests, 1);
        // What was never made sets nothing aside.
        assert_eq!(case.state().spend.money, money("1.00"));
    }
}

/// A workspace with this much money for all its runs.
fn sharing(money: &str) -> Rules {
    let mut rules = rules_with(|_| {});
    rules.admission.budget = Some(Budget {
        money: Some(Money::parse(money).unwrap()),
        tokens: None,
        per: Period::Ever,
    });
    rules
}

#[test]
fn what_a_request_may_cost_is_set_aside_of_the_shared_budget() {
    let case = Case::of(sharing("5.00"), PLAN)
        .planner_costs(cost(None))
        .planner_is_away()
        .begin();
    let [
        AdmissionEntry::Reserve(reserve),
        AdmissionEntry::Spent(aside),
    ] = case.entries()
    else {
        panic!("{:?}", case.entries());
    };
    assert_eq!((reserve.money, aside.money), (money("1.00"), money("1.00")));
    let case = case.planner_takes(Some(took("0.25")), plan_reply(PLAN, &[]));
    let [AdmissionEntry::Spent(spent), AdmissionEntry::Begin(_)] = case.entries() else {
        panic!("{:?}", case.entries());
    };
    assert_eq!(
        (spent.money_back, spent.money),
        (money("1.00"), money("0.25"))
    );
    assert_eq!(spent.tokens, 20);
}

/// What nobody knows stays set aside there too, and a planner that only says what it took counts.
#[test]
fn what_is_taken_counts_there_as_far_as_it_is_known() {
    let unknown = PlannerUsage {
        unknown: true,
        ..took("0.00")
    };
    let case = Case::of(sharing("5.00"), PLAN)
        .planner_costs(cost(None))
        .planner_is_away()
        .begin()
        .planner_takes(Some(unknown), plan_reply(PLAN, &[]));
    assert!(matches!(case.entries(), [AdmissionEntry::Begin(_)]));
    let case = Case::of(sharing("5.00"), PLAN)
        .by_a_program()
        .planner_is_away()
        .begin();
    assert!(case.entries().is_empty());
    let case = case.planner_takes(Some(took("0.25")), plan_reply(PLAN, &[]));
    let [AdmissionEntry::Spent(spent), AdmissionEntry::Begin(_)] = case.entries() else {
        panic!("{:?}", case.entries());
    };
    assert_eq!(
        (spent.money_back, spent.money),
        (Money::ZERO, money("0.25"))
    );
}

#[test]
fn where_the_shared_budget_has_no_room_a_person_is_asked() {
    let denial = || Denial::Budget {
        because: "the workspace's budget of 5.00 is reached".to_owned(),
    };
    let case = Case::of(sharing("5.00"), PLAN)
        .planner_costs(cost(None))
        .planner_is_away()
        .denying(vec![("<planner>", denial())])
        .begin();
    assert!(case.entries().is_empty());
    // Another day, another budget.
    let case = case
        .denying(Vec::new())
        .answer("ada", serde_json::json!("again"));
    insta::assert_snapshot!(case.transcript(), @r#"
    + RunCreated
    + GoalInterpreted
    + PlanHandedOn to a person: the workspace's budget of 5.00 is reached
    + QuestionAsked
    > question "there is no plan: the workspace's budget of 5.00 is reached. ask model test again, or stop?"
    < ada answers "again"
    + QuestionAnswered
    + PlanRequested
    > plan request 1
    "#);
    assert!(matches!(
        case.entries(),
        [AdmissionEntry::Reserve(_), AdmissionEntry::Spent(_)]
    ));
    // The control: a planner that costs nothing is not held up by it.
    let case = Case::of(sharing("5.00"), PLAN)
        .denying(vec![("<planner>", denial())])
        .begin();
    assert_eq!(case.status(), "running");
}

#[test]
fn without_a_price_a_shared_limit_in_money_is_not_believed() {
    let unpriced = PlannerCost {
        input: None,
        ..cost(None)
    };
    let case = Case::of(sharing("5.00"), PLAN)
        .planner_costs(unpriced)
        .planner_is_away()
        .begin();
    let asked = case.state().open_questions().next().expect("asked").1;
    assert!(asked.text.contains("is not known"), "{}", asked.text);
}
