//! Limits: what a run may use up, and what happens when it has.
mod case;

use case::{Case, failed, ok};
use provost_run::outcome::{Class, Landing};
use serde_json::json;

const THREE: &str = r#"
schema: provost/plan/v1
success:
  - { for: goal, check: '${ steps.c.status == "succeeded" }' }
steps:
  - { id: a, tool: look.up, args: { to: a }, retry: { attempts: 1, backoff: 1s }, on_failure: continue }
  - { id: b, tool: look.up, args: { to: b }, retry: { attempts: 1, backoff: 1s } }
  - { id: c, tool: look.up, args: { to: c }, needs: [a, b], retry: { attempts: 1, backoff: 1s } }
answer: done
"#;

/// The worst case of a plan is compared with the limits before it runs.
#[test]
fn a_plan_that_cannot_stay_within_its_calls_is_refused() {
    let case = Case::new(THREE).limits(|limits| limits.calls = 2).begin();
    insta::assert_snapshot!(case.transcript(), @"
    + RunCreated
    + GoalInterpreted
    + PlanRequested
    > plan request 1
    + PlanProposed
    + PlanRefused B502 S702 S702 S704
    + PlanRequested
    > plan request 2
    + PlanGivenUp: nothing better is known
    + RunEnded refused: nothing better is known; first error B502: up to 3 calls, more than the limit of 2
    > done refused
    ");
}

/// Steps that ran stay in every revision, so their calls are counted with the new ones.
#[test]
fn the_calls_of_all_revisions_are_counted() {
    let more = "  - { id: d, tool: look.up, args: { to: d } }\nanswer:";
    let revised = THREE.replace("answer:", more);
    let case = Case::new("")
        .consulting(THREE, &["a"])
        .replans(&revised)
        .limits(|limits| limits.calls = 3)
        .started()
        .ends("a", ok(json!({ "total": 1 })))
        .ends("b", ok(json!({ "total": 1 })));
    insta::assert_snapshot!(case.transcript(), @r#"
    < a#1 ok happened
    + AttemptEnded a#1 ok happened
    + ObservationMade a data
    + StepSettled a succeeded
    + ReplanRequested observed
    < b#1 ok happened
    + AttemptEnded b#1 ok happened
    + ObservationMade b data
    + StepSettled b succeeded
    + PlanRequested
    > plan request 2: observed
    + PlanProposed
    + PlanRefused B502 S702 S702 S702 S704
    + PlanRequested
    > plan request 3: observed
    + PlanGivenUp: nothing better is known
    + AttemptStarted c#1 permit
    > call c#1 look.up {"to":"c"}
    "#);
}

/// Attempts lost with a process are not counted against the step, but they are against the run.
#[test]
fn the_attempts_of_a_run_have_an_end_even_across_crashes() {
    let case = Case::new(THREE)
        .limits(|limits| limits.attempts = 5)
        .started()
        .crash()
        .quietly()
        .crash()
        .ends("a", ok(json!({ "total": 1 })));
    insta::assert_snapshot!(case.transcript(), @r#"
    < crash
    + Resumed, 2 lost
    + AttemptEnded a#2 unavailable unknown lost
    + AttemptEnded b#2 unavailable unknown lost
    + AttemptStarted a#3 permit
    + AdmissionRefused b: its limit of 5 attempts is reached
    > call a#3 look.up {"to":"a"}
    < a#3 ok happened
    + AttemptEnded a#3 ok happened
    + ObservationMade a data
    + StepSettled a succeeded
    + RunEnded failed: no other call may begin: its limit of 5 attempts is reached
    > done failed
    "#);
}

#[test]
fn concurrency_bounds_what_is_in_flight() {
    let case = Case::new(THREE)
        .limits(|limits| limits.concurrency = 1)
        .started();
    assert_eq!(case.state().in_flight(), 1);
    let case = case.ends("a", ok(json!({ "total": 1 })));
    assert_eq!(case.state().in_flight(), 1);
    assert_eq!(
        Case::new(THREE).started().state().in_flight(),
        2,
        "the control: no bound"
    );
}

const WAITS: &str = r#"
schema: provost/plan/v1
success:
  - { for: goal, check: '${ steps.look.status == "succeeded" }' }
steps:
  - { id: mail, tool: mail.send, args: { to: team }, accept: ['${ output.done }'] }
  - { id: look, tool: look.up, needs: [mail] }
answer: done
"#;

#[test]
fn time_spent_waiting_for_people_does_not_count() {
    let case = Case::new(WAITS)
        .limits(|limits| limits.wall_ms = 60_000)
        .started()
        .at(86_400_000)
        .approve("ada")
        .ends("mail", ok(json!({ "done": true })));
    assert_eq!(case.state().active_ms, 0);
    assert_eq!(case.state().in_flight(), 1);
}

#[test]
fn time_in_which_no_process_ran_does_not_count() {
    let case = Case::new(THREE)
        .limits(|limits| limits.wall_ms = 60_000)
        .started();
    let case = case.at(86_400_000).crash();
    assert_eq!(case.state().active_ms, 0);
}

#[test]
fn time_spent_running_counts_and_has_an_end() {
    let case = Case::new(WAITS)
        .limits(|limits| limits.wall_ms = 60_000)
        .started()
        .approve("ada")
        .quietly()
        .at(61_000)
        .ends("mail", ok(json!({ "done": true })));
    insta::assert_snapshot!(case.transcript(), @"
    < mail#1 ok happened
    + AttemptEnded mail#1 ok happened
    + ObservationMade mail data
    + StepSettled mail succeeded
    + AdmissionRefused look: its limit of 60000 ms of running is reached
    + RunEnded failed: no other call may begin: its limit of 60000 ms of running is reached
    > done failed
    ");
}

/// A limit does not cut off what is in flight, and a clock that goes back does no harm.
#[test]
fn what_is_in_flight_settles_before_a_limit_ends_the_run() {
    let plan = THREE.replace("needs: [a, b], ", "");
    let case = Case::new(&plan)
        .limits(|limits| limits.wall_ms = 30_000)
        .limits(|limits| limits.concurrency = 2)
        .started()
        .at(40_000)
        .ends("a", failed(Class::NotFound, Landing::None))
        .at(3)
        .ends("b", ok(json!({ "total": 1 })));
    insta::assert_snapshot!(case.transcript(), @"
    < a#1 not_found none
    + AttemptEnded a#1 not_found none
    + StepSettled a failed not_found: it went wrong
    + AdmissionRefused c: its limit of 30000 ms of running is reached
    < b#1 ok happened
    + AttemptEnded b#1 ok happened
    + ObservationMade b data
    + StepSettled b succeeded
    + RunEnded failed: no other call may begin: its limit of 30000 ms of running is reached
    > done failed
    ");
}
