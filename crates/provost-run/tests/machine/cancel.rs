//! Cancel: no attempt begins after it, and what is in flight settles first.

use crate::case::{Case, failed, ok};
use provost_run::outcome::{Class, Landing};
use serde_json::json;

const TWO: &str = r#"
schema: provost/plan/v1
success:
  - { for: goal, check: '${ steps.next.status == "succeeded" }' }
steps:
  - { id: look, tool: look.up }
  - { id: put, tool: note.put, args: { to: box }, accept: ['${ output.done }'] }
  - { id: mail, tool: mail.send, args: { to: team }, accept: ['${ output.done }'] }
  - { id: next, tool: look.up, needs: [look, put], args: { to: next } }
answer: done
"#;

#[test]
fn with_nothing_in_flight_the_run_ends_at_once() {
    let case = Case::new(TWO)
        .started()
        .ends("look", failed(Class::Timeout, Landing::Unknown))
        .ends("put", ok(json!({ "done": true })))
        .quietly();
    let card = case.open_card();
    assert_eq!(case.state().in_flight(), 0);
    let case = case.cancel("ada").tick(9_000).approve_card("ada", card);
    insta::assert_snapshot!(case.transcript(), @"
    < ada cancels
    + CancelRequested
    + RunEnded cancelled: cancelled by ada
    > done cancelled
    < tick 9000
    ! the run is over: cancelled
    < ada says yes to that card
    ! the run is over: cancelled
    ");
}

#[test]
fn what_is_in_flight_settles_and_nothing_begins() {
    let case = Case::new(TWO)
        .started()
        .cancel("ada")
        .ends("look", failed(Class::Timeout, Landing::Unknown))
        .tick(9_000)
        .ends("put", ok(json!({ "done": true })));
    insta::assert_snapshot!(case.transcript(), @"
    < ada cancels
    + CancelRequested
    < look#1 timeout unknown
    + AttemptEnded look#1 timeout unknown again at 1500
    > wait until 1500
    < tick 9000
    < put#1 ok happened
    + AttemptEnded put#1 ok happened
    + ObservationMade put data
    + StepSettled put succeeded
    + RunEnded cancelled: cancelled by ada
    > done cancelled
    ");
}

#[test]
fn a_write_in_flight_may_end_in_doubt() {
    let case = Case::new(TWO)
        .started()
        .ends("look", ok(json!({ "total": 1 })))
        .quietly()
        .cancel("ada")
        .ends("put", failed(Class::Timeout, Landing::Unknown));
    insta::assert_snapshot!(case.transcript(), @"
    < ada cancels
    + CancelRequested
    < put#1 timeout unknown
    + AttemptEnded put#1 timeout unknown
    + StepSettled put in_doubt timeout: it went wrong
    + RunEnded cancelled: cancelled by ada
    > done cancelled
    ");
    assert_eq!(case.state().steps["put"].status.word(), "in_doubt");
}

#[test]
fn a_cancelled_run_that_crashes_ends_when_it_is_taken_up() {
    let case = Case::new(TWO).started().cancel("ada").crash();
    insta::assert_snapshot!(case.transcript(), @"
    < ada cancels
    + CancelRequested
    < crash
    + Resumed, 2 lost
    + AttemptEnded look#1 unavailable unknown lost
    + AttemptEnded put#1 unavailable unknown lost
    + StepSettled put in_doubt unavailable: the process ended before an answer was recorded
    + RunEnded cancelled: cancelled by ada
    > done cancelled
    ");
}

#[test]
fn a_plan_that_comes_after_a_cancel_is_refused() {
    let case = Case::new(TWO)
        .planner_is_away()
        .begin()
        .cancel("ada")
        .quietly()
        .planner_replies(crate::case::plan_reply(TWO, &[]));
    insta::assert_snapshot!(case.transcript(), @"
    < the planner replies
    ! the run is over: cancelled
    ");
}

#[test]
fn a_question_left_open_is_asked_no_more() {
    let plan = TWO.replace(
        "answer: done",
        "  - { id: which, question: \"which?\" }\nanswer: done",
    );
    let case = Case::new(&plan)
        .started()
        .crash()
        .quietly()
        .cancel("ada")
        .ends("look", ok(json!({ "total": 1 })));
    insta::assert_snapshot!(case.transcript(), @"
    < ada cancels
    + CancelRequested
    < look#2 ok happened
    + AttemptEnded look#2 ok happened
    + ObservationMade look data
    + StepSettled look succeeded
    + RunEnded cancelled: cancelled by ada
    > done cancelled
    ");
    assert_eq!(case.state().open_questions().count(), 0);
}
