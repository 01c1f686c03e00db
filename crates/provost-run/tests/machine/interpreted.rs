//! The goal interpreter as the machine hears it: what is asked, what follows, who may say so.

use crate::case::{Case, ok, plan_reply};
use provost_plan::plan::Goal;
use provost_plan::plan::request::{PlanReply, PlannerQuestion};
use provost_run::event::PlannerChoice;
use serde_json::json;

const READ: &str = r#"
schema: provost/plan/v1
success: [{ for: goal, check: '${ steps.look.status == "succeeded" }' }]
steps:
  - { id: look, tool: look.up, args: { to: '${ params.shelf }' } }
"#;

fn interpreter() -> PlannerChoice {
    PlannerChoice::Interpreter {
        playbooks: vec!["shelves".to_owned(), "boxes".to_owned()],
    }
}

fn asks() -> PlanReply {
    PlanReply::Questions(vec![PlannerQuestion {
        id: "params.shelf".to_owned(),
        text: "which shelf?".to_owned(),
        answer: json!({ "type": "string" }),
    }])
}

fn interpreted(text: &str, playbook: &str) -> PlanReply {
    let mut goal = Goal::of_text(text);
    goal.params.insert("shelf".to_owned(), json!("a"));
    PlanReply::Interpreted {
        goal,
        playbook: playbook.to_owned(),
        by: "rules".to_owned(),
    }
}

#[test]
fn a_question_comes_first_and_the_playbook_plans_what_was_meant() {
    let case = Case::new(READ)
        .planned_by(interpreter())
        .planner_is_away()
        .begin()
        .planner_replies(asks())
        .crash()
        .answer("ada", json!("a"))
        .crash()
        .planner_replies(interpreted("test", "shelves"))
        .crash()
        .planner_replies(plan_reply(READ, &[]))
        .ends("look", ok(json!({ "total": 1 })));
    insta::assert_snapshot!(case.transcript(), @r#"
    + RunCreated
    + GoalInterpreted
    + PlanRequested
    > plan request 1
    < the planner replies
    + QuestionAsked
    > question "which shelf?"
    < crash
    + Resumed, 0 lost
    > question "which shelf?"
    < ada answers "a"
    + QuestionAnswered
    + PlanRequested
    > plan request 2
    < crash
    + Resumed, 0 lost
    > plan request 2
    < the planner replies
    + GoalInterpreted
    + PlanRequested
    > plan request 3
    < crash
    + Resumed, 0 lost
    > plan request 3
    < the planner replies
    + PlanProposed
    + PlanChecked revision 1
    + RunStarted
    + AttemptStarted look#1 permit
    > call look#1 look.up {"to":"a"}
    < look#1 ok happened
    + AttemptEnded look#1 ok happened
    + ObservationMade look data
    + StepSettled look succeeded
    + RunEnded succeeded
    > done succeeded
    "#);
    let of_requests = |request: &provost_plan::plan::request::PlanRequest| {
        let params = serde_json::to_string(&request.goal.params).unwrap();
        format!(
            "{}: params {params}, answers {:?}",
            request.id, request.answers
        )
    };
    let lines: Vec<String> = case.requests().iter().map(of_requests).collect();
    insta::assert_snapshot!(lines.join("\n"), @r#"
    1: params {}, answers []
    2: params {}, answers [Object {"id": String("params.shelf"), "value": String("a")}]
    2: params {}, answers [Object {"id": String("params.shelf"), "value": String("a")}]
    3: params {"shelf":"a"}, answers []
    3: params {"shelf":"a"}, answers []
    "#);
    assert_eq!(
        case.state().route.planner,
        PlannerChoice::Playbook {
            name: "shelves".to_owned()
        }
    );
}

/// Who plans is chosen once, among those that the run began with, for the goal that was typed.
#[test]
fn nobody_else_says_what_a_goal_means() {
    let playbook = PlannerChoice::Playbook {
        name: "shelves".to_owned(),
    };
    for (planner, reply) in [
        (interpreter(), interpreted("test", "cellars")),
        (interpreter(), interpreted("another test", "shelves")),
        (playbook, interpreted("test", "shelves")),
    ] {
        let before = planner.clone();
        let case = Case::new(READ)
            .planned_by(planner)
            .planner_is_away()
            .begin()
            .planner_replies(reply);
        assert_eq!(case.status(), "refused", "{}", case.transcript());
        assert_eq!(case.state().route.planner, before);
        assert!(case.state().goals.goal.params.is_empty());
    }
}

/// A person's plan goes before the question, and what is answered later changes nothing.
#[test]
fn a_person_may_put_a_plan_in_the_place_of_an_answer() {
    let plan = READ.replace("'${ params.shelf }'", "a");
    let case = Case::new(READ)
        .planned_by(interpreter())
        .planner_is_away()
        .begin()
        .planner_replies(asks())
        .amends("ada", Some(&plan), None)
        .ends("look", ok(json!({ "total": 1 })));
    insta::assert_snapshot!(case.transcript(), @r#"
    + RunCreated
    + GoalInterpreted
    + PlanRequested
    > plan request 1
    < the planner replies
    + QuestionAsked
    > question "which shelf?"
    < ada amends
    + PlanAmended
    + PlanChecked revision 1
    + RunStarted
    + AttemptStarted look#1 permit
    > call look#1 look.up {"to":"a"}
    < look#1 ok happened
    + AttemptEnded look#1 ok happened
    + ObservationMade look data
    + StepSettled look succeeded
    + RunEnded succeeded
    > done succeeded
    "#);
}
