//! `when`, `needs` and failures: what runs, what is skipped, what is blocked.

use crate::case::{Case, failed, ok};
use provost_run::outcome::{Class, Landing};
use serde_json::json;

const TWO: &str = r#"
schema: provost/plan/v1
success:
  - { for: goal, check: '${ steps.count.status == "succeeded" }' }
steps:
  - { id: count, tool: look.up, accept: ['${ output.total >= 0 }'] }
  - { id: put, tool: note.put, when: '${ steps.count.output.total > 3 }', args: { to: box }, accept: ['${ output.done }'] }
answer: "${ steps.count.output.total } in all"
"#;

#[test]
fn a_guard_that_holds_lets_its_step_run() {
    let case = Case::new(TWO)
        .begin()
        .ends("count", ok(json!({ "total": 4 })))
        .ends("put", ok(json!({ "done": true })));
    insta::assert_snapshot!(case.transcript(), @r#"
    + RunCreated
    + GoalInterpreted
    + PlanRequested
    > plan request 1
    + PlanProposed
    + PlanChecked revision 1
    + RunStarted
    + AttemptStarted count#1 permit
    > call count#1 look.up {}
    < count#1 ok happened
    + AttemptEnded count#1 ok happened
    + ObservationMade count data
    + StepSettled count succeeded
    + AttemptStarted put#1 permit
    > call put#1 note.put {"to":"box"}
    < put#1 ok happened
    + AttemptEnded put#1 ok happened
    + ObservationMade put data
    + StepSettled put succeeded
    + RunEnded succeeded ["4 in all"]
    > done succeeded
    "#);
}

#[test]
fn a_guard_that_does_not_hold_skips_its_step() {
    let case = Case::new(TWO)
        .begin()
        .ends("count", ok(json!({ "total": 3 })));
    insta::assert_snapshot!(case.transcript(), @r#"
    + RunCreated
    + GoalInterpreted
    + PlanRequested
    > plan request 1
    + PlanProposed
    + PlanChecked revision 1
    + RunStarted
    + AttemptStarted count#1 permit
    > call count#1 look.up {}
    < count#1 ok happened
    + AttemptEnded count#1 ok happened
    + ObservationMade count data
    + StepSettled count succeeded
    + StepSkipped put When
    + RunEnded succeeded ["3 in all"]
    > done succeeded
    "#);
}

#[test]
fn an_acceptance_that_does_not_hold_fails_the_step_and_asks_the_planner() {
    let case = Case::new(TWO)
        .begin()
        .ends("count", ok(json!({ "total": -1 })));
    insta::assert_snapshot!(case.transcript(), @"
    + RunCreated
    + GoalInterpreted
    + PlanRequested
    > plan request 1
    + PlanProposed
    + PlanChecked revision 1
    + RunStarted
    + AttemptStarted count#1 permit
    > call count#1 look.up {}
    < count#1 ok happened
    + AttemptEnded count#1 ok happened
    + ObservationMade count data
    + StepSettled count failed acceptance_failed: `${ output.total >= 0 }` does not hold
    + ReplanRequested step_failed
    + PlanRequested
    > plan request 2: step_failed
    + PlanGivenUp: nothing better is known
    + RunEnded failed: step `count` failed: `${ output.total >= 0 }` does not hold
    > done failed
    ");
}

#[test]
fn an_output_that_does_not_fit_its_schema_is_no_success() {
    let case = Case::new(TWO)
        .started()
        .ends("count", ok(json!({ "total": "many" })));
    insta::assert_snapshot!(case.transcript(), @r#"
    < count#1 ok happened
    + AttemptEnded count#1 output_invalid happened
    + StepSettled count failed output_invalid: the output does not fit at `/total`: value is not of type "integer"
    + ReplanRequested step_failed
    + PlanRequested
    > plan request 2: step_failed
    + PlanGivenUp: nothing better is known
    + RunEnded failed: step `count` failed: the output does not fit at `/total`: value is not of type "integer"
    > done failed
    "#);
}

#[test]
fn a_write_whose_output_does_not_fit_has_landed_all_the_same() {
    let case = Case::new(TWO)
        .started()
        .ends("count", ok(json!({ "total": 4 })))
        .ends("put", ok(json!({ "done": "yes" })));
    insta::assert_snapshot!(case.transcript(), @r#"
    < count#1 ok happened
    + AttemptEnded count#1 ok happened
    + ObservationMade count data
    + StepSettled count succeeded
    + AttemptStarted put#1 permit
    > call put#1 note.put {"to":"box"}
    < put#1 ok happened
    + AttemptEnded put#1 output_invalid happened
    + StepSettled put failed output_invalid: the output does not fit at `/done`: value is not of type "boolean"
    + ReplanRequested step_failed
    + PlanRequested
    > plan request 2: step_failed
    + PlanGivenUp: nothing better is known
    + RunEnded failed: step `put` failed: the output does not fit at `/done`: value is not of type "boolean"
    > done failed
    "#);
    assert_eq!(case.state().writes.effects[0].landing, Landing::Happened);
}

fn three(on_failure: &str) -> String {
    format!(
        r#"
schema: provost/plan/v1
success: [{{ for: goal, check: '${{ steps.last.status == "succeeded" }}' }}]
steps:
  - {{ id: first, tool: look.up, on_failure: {on_failure} }}
  - {{ id: beside, tool: look.up, args: {{ to: beside }} }}
  - {{ id: last, tool: look.up, args: {{ to: last }}, needs: [first] }}
answer: done
"#
    )
}

#[test]
fn independent_steps_run_at_once() {
    let case = Case::new(&three("replan")).started();
    assert_eq!(case.state().in_flight(), 2);
}

#[test]
fn a_failure_that_may_pass_lets_its_dependents_run() {
    let case = Case::new(&three("continue"))
        .started()
        .ends("first", failed(Class::NotFound, Landing::None))
        .ends("beside", ok(json!({ "total": 1 })))
        .ends("last", ok(json!({ "total": 1 })));
    insta::assert_snapshot!(case.transcript(), @r#"
    < first#1 not_found none
    + AttemptEnded first#1 not_found none
    + StepSettled first failed not_found: it went wrong
    + AttemptStarted last#1 permit
    > call last#1 look.up {"to":"last"}
    < beside#1 ok happened
    + AttemptEnded beside#1 ok happened
    + ObservationMade beside data
    + StepSettled beside succeeded
    < last#1 ok happened
    + AttemptEnded last#1 ok happened
    + ObservationMade last data
    + StepSettled last succeeded
    + RunEnded succeeded ["done"]
    > done succeeded
    "#);
}

#[test]
fn a_failure_that_stops_lets_what_is_in_flight_settle_first() {
    let case = Case::new(&three("stop"))
        .started()
        .ends("first", failed(Class::NotFound, Landing::None))
        .ends("beside", ok(json!({ "total": 1 })));
    insta::assert_snapshot!(case.transcript(), @"
    < first#1 not_found none
    + AttemptEnded first#1 not_found none
    + StepSettled first failed not_found: it went wrong
    < beside#1 ok happened
    + AttemptEnded beside#1 ok happened
    + ObservationMade beside data
    + StepSettled beside succeeded
    + RunEnded failed: step `first` failed: it went wrong
    > done failed
    ");
}

#[test]
fn a_planner_that_leaves_a_failure_ends_the_run() {
    let case = Case::new(&three("replan"))
        .started()
        .ends("first", failed(Class::NotFound, Landing::None))
        .ends("beside", ok(json!({ "total": 1 })));
    insta::assert_snapshot!(case.transcript(), @"
    < first#1 not_found none
    + AttemptEnded first#1 not_found none
    + StepSettled first failed not_found: it went wrong
    + ReplanRequested step_failed
    < beside#1 ok happened
    + AttemptEnded beside#1 ok happened
    + ObservationMade beside data
    + StepSettled beside succeeded
    + PlanRequested
    > plan request 2: step_failed
    + PlanGivenUp: nothing better is known
    + RunEnded failed: step `first` failed: it went wrong
    > done failed
    ");
}

/// What a revision does not repair stays failed: its dependents are blocked, and theirs.
#[test]
fn dependents_of_what_stays_failed_are_blocked() {
    let plan = |extra: &str| {
        format!(
            r#"
schema: provost/plan/v1
success: [{{ for: goal, check: '${{ steps.other.status == "succeeded" }}' }}]
steps:
  - {{ id: first, tool: look.up }}
  - {{ id: next, tool: look.up, needs: [first], args: {{ to: next }} }}
  - {{ id: last, tool: look.up, needs: [next], args: {{ to: last }} }}
  - {{ id: other, tool: look.up, args: {{ to: {extra} }} }}
answer: done
"#
        )
    };
    let case = Case::new(&plan("a"))
        .limits(|limits| limits.concurrency = 1)
        .replans(&plan("b"))
        .started()
        .ends("first", failed(Class::NotFound, Landing::None))
        .ends("other", ok(json!({ "total": 1 })));
    insta::assert_snapshot!(case.transcript(), @r#"
    < first#1 not_found none
    + AttemptEnded first#1 not_found none
    + StepSettled first failed not_found: it went wrong
    + ReplanRequested step_failed
    + PlanRequested
    > plan request 2: step_failed
    + PlanProposed
    + PlanChecked revision 2
    + PlanRevised added [] changed ["other"] removed []
    + ApprovalsRevised retain [] replace [] clear []
    + StepBlocked next on first
    + StepBlocked last on next
    + AttemptStarted other#1 permit
    > call other#1 look.up {"to":"b"}
    < other#1 ok happened
    + AttemptEnded other#1 ok happened
    + ObservationMade other data
    + StepSettled other succeeded
    + RunEnded succeeded ["done"]
    > done succeeded
    "#);
}

const SKIPS: &str = r#"
schema: provost/plan/v1
success: [{ for: goal, check: '${ steps.last.status == "succeeded" }' }]
steps:
  - { id: count, tool: look.up }
  - { id: maybe, tool: look.up, when: '${ steps.count.output.total > 3 }', args: { to: maybe } }
  - { id: last, tool: look.up, needs: [maybe], args: { to: last } }
answer: done
"#;

#[test]
fn a_step_skipped_by_its_guard_meets_the_need_of_others() {
    let case = Case::new(SKIPS)
        .started()
        .ends("count", ok(json!({ "total": 1 })))
        .ends("last", ok(json!({ "total": 1 })));
    insta::assert_snapshot!(case.transcript(), @r#"
    < count#1 ok happened
    + AttemptEnded count#1 ok happened
    + ObservationMade count data
    + StepSettled count succeeded
    + StepSkipped maybe When
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
fn a_guard_that_cannot_be_evaluated_fails_its_step() {
    let plan = r#"
schema: provost/plan/v1
success: [{ for: goal, check: '${ steps.next.status != "failed" }' }]
steps:
  - { id: count, tool: look.up }
  - { id: next, tool: look.up, when: '${ 10 / steps.count.output.total > 3 }', args: { to: next } }
answer: done
"#;
    let case = Case::new(plan)
        .started()
        .ends("count", ok(json!({ "total": 0 })));
    insta::assert_snapshot!(case.transcript(), @"
    < count#1 ok happened
    + AttemptEnded count#1 ok happened
    + ObservationMade count data
    + StepSettled count succeeded
    + StepSettled next failed expression: `10 / steps.count.output.total > 3`: a division by zero
    + ReplanRequested step_failed
    + PlanRequested
    > plan request 2: step_failed
    + PlanGivenUp: nothing better is known
    + RunEnded failed: step `next` failed: `10 / steps.count.output.total > 3`: a division by zero
    > done failed
    ");
}
