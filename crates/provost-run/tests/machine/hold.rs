//! Hold: a process that is to end begins nothing more, and lets what is in flight settle.

use crate::case::{Case, failed, ok};
use provost_run::outcome::{Class, Landing};
use serde_json::json;

const TWO: &str = r#"
schema: provost/plan/v1
success:
  - { for: goal, check: '${ steps.next.status == "succeeded" }' }
steps:
  - { id: look, tool: look.up }
  - { id: beside, tool: look.up, args: { to: beside } }
  - { id: next, tool: look.up, needs: [look], args: { to: next } }
answer: done
"#;

#[test]
fn a_held_run_lets_calls_settle_and_begins_nothing() {
    let case = Case::new(TWO)
        .started()
        .hold()
        .ends("look", ok(json!({ "total": 1 })))
        .ends("beside", failed(Class::Timeout, Landing::Unknown))
        .tick(9_000);
    insta::assert_snapshot!(case.transcript(), @"
    < hold
    < look#1 ok happened
    + AttemptEnded look#1 ok happened
    + ObservationMade look data
    + StepSettled look succeeded
    < beside#1 timeout unknown
    + AttemptEnded beside#1 timeout unknown again at 1500
    > wait until 1500
    < tick 9000
    ");
    let case = case.quietly().crash();
    insta::assert_snapshot!(case.transcript(), @r#"
    < crash
    + Resumed, 0 lost
    + AttemptStarted beside#2 permit
    + AttemptStarted next#1 permit
    > call beside#2 look.up {"to":"beside"}
    > call next#1 look.up {"to":"next"}
    "#);
}

#[test]
fn a_held_run_asks_no_planner() {
    let case = Case::new(TWO)
        .started()
        .hold()
        .ends("look", failed(Class::NotFound, Landing::None))
        .ends("beside", ok(json!({ "total": 1 })));
    insta::assert_snapshot!(case.transcript(), @"
    < hold
    < look#1 not_found none
    + AttemptEnded look#1 not_found none
    + StepSettled look failed not_found: it went wrong
    < beside#1 ok happened
    + AttemptEnded beside#1 ok happened
    + ObservationMade beside data
    + StepSettled beside succeeded
    ");
    let case = case.quietly().crash();
    insta::assert_snapshot!(case.transcript(), @"
    < crash
    + Resumed, 0 lost
    + ReplanRequested step_failed
    + PlanRequested
    > plan request 2: step_failed
    + PlanGivenUp: nothing better is known
    + RunEnded failed: step `look` failed: it went wrong
    > done failed
    ");
}

#[test]
fn a_held_run_can_be_cancelled() {
    let case = Case::new(TWO)
        .started()
        .hold()
        .cancel("ada")
        .ends("look", ok(json!({ "total": 1 })))
        .ends("beside", ok(json!({ "total": 1 })));
    insta::assert_snapshot!(case.transcript(), @"
    < hold
    < ada cancels
    + CancelRequested
    < look#1 ok happened
    + AttemptEnded look#1 ok happened
    + ObservationMade look data
    + StepSettled look succeeded
    < beside#1 ok happened
    + AttemptEnded beside#1 ok happened
    + ObservationMade beside data
    + StepSettled beside succeeded
    + RunEnded cancelled: cancelled by ada
    > done cancelled
    ");
}
