//! Questions: of a step, of a planner, and what to do about a failure.

use crate::case::{Case, failed, ok, plan_reply};
use provost_plan::plan::request::{PlanReply, PlannerQuestion};
use provost_run::outcome::{Class, Landing};
use provost_run::statement::Statement;
use serde_json::json;

const ASK: &str = r#"
schema: provost/plan/v1
success:
  - { for: goal, check: '${ steps.which.status == "succeeded" }' }
steps:
  - { id: which, question: { text: "How many of ${ params.all }?", answer: { type: integer, minimum: 1 } }, accept: ['${ output < 10 }'] }
  - { id: put, tool: note.put, args: { to: box, count: '${ steps.which.output }' }, accept: ['${ output.done }'] }
answer: "${ steps.which.output }"
"#;

fn asking(plan: &str) -> Case {
    Case::new(plan).param("all", json!(12)).started()
}

#[test]
fn an_answer_is_typed_and_becomes_the_output() {
    let case = Case::new(ASK)
        .param("all", json!(12))
        .begin()
        .answer("bob", json!("three"))
        .answer("bob", json!(0))
        .crash()
        .answer("bob", json!(3.0))
        .ends("put", ok(json!({ "done": true })));
    insta::assert_snapshot!(case.transcript(), @r#"
    + RunCreated
    + GoalInterpreted
    + PlanRequested
    > plan request 1
    + PlanProposed
    + PlanChecked revision 1
    + RunStarted
    + QuestionAsked
    > question "How many of 12?"
    < bob answers "three"
    ! the answer does not fit the question: value is not of type "integer"
    < bob answers 0
    ! the answer does not fit the question: value is less than the minimum of 1
    < crash
    + Resumed, 0 lost
    > question "How many of 12?"
    < bob answers 3.0
    + QuestionAnswered
    + ObservationMade which trusted
    + StepSettled which succeeded
    + AttemptStarted put#1 permit
    > call put#1 note.put {"count":3,"to":"box"}
    < put#1 ok happened
    + AttemptEnded put#1 ok happened
    + ObservationMade put data
    + StepSettled put succeeded
    + RunEnded succeeded ["3"]
    > done succeeded
    "#);
}

#[test]
fn an_answer_counts_once() {
    let case = asking(ASK);
    let question = *case.state().open_questions().next().unwrap().0;
    let value = json!(4);
    let again = Statement::Answer { question, value };
    let case = case.answer("bob", json!(3)).quietly().says("bob", again);
    insta::assert_snapshot!(case.transcript(), @"! nothing waits for an answer under `sha256:fe4bd24a7d79572f62053a83ad36d1991b8b213f96b113efca7ab5cf25268925`");
}

#[test]
fn an_answer_that_is_not_accepted_fails_the_step() {
    let case = asking(ASK).answer("bob", json!(11));
    insta::assert_snapshot!(case.transcript(), @"
    < bob answers 11
    + QuestionAnswered
    + ObservationMade which trusted
    + StepSettled which failed acceptance_failed: `${ output < 10 }` does not hold
    + ReplanRequested step_failed
    + PlanRequested
    > plan request 2: step_failed
    + PlanGivenUp: nothing better is known
    + RunEnded failed: step `which` failed: `${ output < 10 }` does not hold
    > done failed
    ");
}

#[test]
fn a_question_to_somebody_is_answered_by_nobody_else() {
    let plan = ASK.replace("answer: { type", "of: bob, answer: { type");
    let case = asking(&plan)
        .answer("eve", json!(3))
        .answer("bob", json!(3));
    insta::assert_snapshot!(case.transcript(), @r#"
    < eve answers 3
    ! `eve` may not answer: the question is for `bob`
    < bob answers 3
    + QuestionAnswered
    + ObservationMade which trusted
    + StepSettled which succeeded
    + AttemptStarted put#1 permit
    > call put#1 note.put {"count":3,"to":"box"}
    "#);
}

#[test]
fn an_answer_is_trusted_at_a_sink() {
    let case = asking(ASK).answer("bob", json!(3));
    let (_, record) = case.state().plan().unwrap().checked().step("put").unwrap();
    assert_eq!(record.labels["count"].integrity.word(), "trusted");
    assert_eq!(case.state().in_flight(), 1, "the write did not ask");
}

/// A step that a revision changed or dropped no longer takes the answer to what it asked before.
#[test]
fn a_question_is_withdrawn_with_its_step() {
    let plan = |question: &str| {
        format!(
            r#"
schema: provost/plan/v1
success:
  - {{ for: goal, check: '${{ steps.look.status == "succeeded" }}' }}
steps:
  - {{ id: look, tool: look.up }}
{question}
answer: done
"#
        )
    };
    let which = "  - { id: which, question: { text: \"how many?\", answer: { type: integer } } }";
    let other =
        "  - { id: which, question: { text: \"how many now?\", answer: { type: integer } } }";
    let run = |revised: &str| {
        let case = Case::new("")
            .consulting(&plan(which), &["look"])
            .replans(&plan(revised))
            .started();
        let question = *case.state().open_questions().next().unwrap().0;
        let value = json!(3);
        let late = Statement::Answer { question, value };
        case.ends("look", ok(json!({ "total": 1 })))
            .says("bob", late)
    };
    insta::assert_snapshot!(run("").transcript(), @r#"
    < look#1 ok happened
    + AttemptEnded look#1 ok happened
    + ObservationMade look data
    + StepSettled look succeeded
    + ReplanRequested observed
    + PlanRequested
    > plan request 2: observed
    + PlanProposed
    + PlanChecked revision 2
    + PlanRevised added [] changed [] removed ["which"]
    + ApprovalsRevised retain [] replace [] clear []
    + RunEnded succeeded ["done"]
    > done succeeded
    ! the run is over: succeeded
    "#);
    insta::assert_snapshot!(run(other).transcript(), @r#"
    < look#1 ok happened
    + AttemptEnded look#1 ok happened
    + ObservationMade look data
    + StepSettled look succeeded
    + ReplanRequested observed
    + PlanRequested
    > plan request 2: observed
    + PlanProposed
    + PlanChecked revision 2
    + PlanRevised added [] changed ["which"] removed []
    + ApprovalsRevised retain [] replace [] clear []
    + QuestionAsked
    > question "how many now?"
    ! nothing waits for an answer under `sha256:a8fab15085da1adf02ac8db7a204eaf233142aa432980b2b44e5d1cdc9fe9e2d`
    "#);
    insta::assert_snapshot!(run(which).transcript(), @r#"
    < look#1 ok happened
    + AttemptEnded look#1 ok happened
    + ObservationMade look data
    + StepSettled look succeeded
    + ReplanRequested observed
    + PlanRequested
    > plan request 2: observed
    + PlanProposed
    + PlanChecked revision 2
    + PlanRevised added [] changed [] removed []
    + ApprovalsRevised retain [] replace [] clear []
    + QuestionAnswered
    + ObservationMade which trusted
    + StepSettled which succeeded
    + RunEnded succeeded ["done"]
    > done succeeded
    "#);
}

const ESCALATES: &str = r#"
schema: provost/plan/v1
success:
  - { for: goal, check: '${ steps.last.status == "succeeded" }' }
steps:
  - { id: first, tool: look.up, on_failure: escalate }
  - { id: last, tool: look.up, needs: [first], args: { to: last } }
answer: done
"#;

fn escalated() -> Case {
    Case::new(ESCALATES)
        .started()
        .ends("first", failed(Class::NotFound, Landing::None))
}

#[test]
fn a_person_lets_a_failure_pass() {
    let case = escalated()
        .answer("bob", json!("perhaps"))
        .crash()
        .answer("bob", json!("continue"))
        .ends("last", ok(json!({ "total": 1 })));
    insta::assert_snapshot!(case.transcript(), @r#"
    < first#1 not_found none
    + AttemptEnded first#1 not_found none
    + StepSettled first failed not_found: it went wrong
    + QuestionAsked
    > question "step `first` failed (not_found): it went wrong. go on, replan or stop?"
    < bob answers "perhaps"
    ! the answer does not fit the question: value is not one of "continue", "replan" or "stop"
    < crash
    + Resumed, 0 lost
    > question "step `first` failed (not_found): it went wrong. go on, replan or stop?"
    < bob answers "continue"
    + QuestionAnswered
    + AttemptStarted last#1 permit
    > call last#1 look.up {"to":"last"}
    < last#1 ok happened
    + AttemptEnded last#1 ok happened
    + ObservationMade last data
    + StepSettled last succeeded
    + RunEnded succeeded ["done"]
    > done succeeded
    "#);
}

#[test]
fn a_person_sends_a_failure_to_the_planner() {
    let case = escalated().quietly().answer("bob", json!("replan"));
    insta::assert_snapshot!(case.transcript(), @r#"
    < bob answers "replan"
    + QuestionAnswered
    + ReplanRequested step_failed
    + PlanRequested
    > plan request 2: step_failed
    + PlanGivenUp: nothing better is known
    + RunEnded failed: step `first` failed: it went wrong
    > done failed
    "#);
}

#[test]
fn a_person_stops_after_a_failure() {
    let case = escalated().quietly().answer("bob", json!("stop"));
    insta::assert_snapshot!(case.transcript(), @r#"
    < bob answers "stop"
    + QuestionAnswered
    + RunEnded failed: step `first` failed: it went wrong
    > done failed
    "#);
}

/// What a person wants while the planner is busy with something else is not forgotten.
#[test]
fn a_wish_for_another_plan_waits_until_the_planner_is_free() {
    let plan = ESCALATES.replace(
        "answer:",
        "  - { id: bad, tool: look.up, args: { to: bad } }\nanswer:",
    );
    let revised = plan.replace("to: last", "to: last2");
    let case = Case::new(&plan)
        .started()
        .planner_is_away()
        .ends("first", failed(Class::NotFound, Landing::None))
        .ends("bad", failed(Class::NotFound, Landing::None))
        .quietly()
        .answer("bob", json!("replan"))
        .planner_replies(plan_reply(&revised, &[]));
    insta::assert_snapshot!(case.transcript(), @r#"
    < bob answers "replan"
    + QuestionAnswered
    < the planner replies
    + PlanProposed
    + PlanChecked revision 2
    + PlanRevised added [] changed ["last"] removed []
    + ApprovalsRevised retain [] replace [] clear []
    + ReplanRequested step_failed
    + PlanRequested
    > plan request 3: step_failed
    "#);
}

fn planner_asks(ids: &[&str]) -> PlanReply {
    let question = |id: &&str| PlannerQuestion {
        id: (*id).to_owned(),
        text: format!("which {id}?"),
        answer: json!({ "type": "string", "maxLength": 5 }),
    };
    PlanReply::Questions(ids.iter().map(question).collect())
}

#[test]
fn a_planner_gets_the_answers_with_its_next_request() {
    let case = Case::new(ESCALATES)
        .planner_is_away()
        .begin()
        .planner_replies(planner_asks(&["team", "day"]))
        .crash()
        .answer("bob", json!("far too long"))
        .answer("bob", json!("one"))
        .answer("bob", json!("two"))
        .planner_replies(plan_reply(ESCALATES, &[]));
    insta::assert_snapshot!(case.transcript(), @r#"
    + RunCreated
    + GoalInterpreted
    + PlanRequested
    > plan request 1
    < the planner replies
    + QuestionAsked
    + QuestionAsked
    > question "which day?"
    > question "which team?"
    < crash
    + Resumed, 0 lost
    > question "which day?"
    > question "which team?"
    < bob answers "far too long"
    ! the answer does not fit the question: value is longer than 5 characters
    < bob answers "one"
    + QuestionAnswered
    < bob answers "two"
    + QuestionAnswered
    + PlanRequested
    > plan request 2
    < the planner replies
    + PlanProposed
    + PlanChecked revision 1
    + RunStarted
    + AttemptStarted first#1 permit
    > call first#1 look.up {}
    "#);
    let answers = json!(case.requests().last().unwrap().answers);
    insta::assert_snapshot!(answers, @r#"[{"id":"day","value":"one"},{"id":"team","value":"two"}]"#);
}

#[test]
fn a_planner_that_asks_nothing_has_given_up() {
    let case = Case::new("")
        .planner_is_away()
        .started()
        .planner_replies(planner_asks(&[]));
    insta::assert_snapshot!(case.transcript(), @"
    < the planner replies
    + PlanGivenUp: the planner asked no question
    + RunEnded refused: the planner asked no question
    > done refused
    ");
}
