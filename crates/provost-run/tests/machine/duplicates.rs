//! Duplicates: a call that repeats an effect needs a person's yes to that very call.

use crate::case::{Case, failed, ok};
use provost_run::outcome::{Class, Landing};
use serde_json::json;

/// Two notes to boxes that are known only at run time.
const TWICE: &str = r#"
schema: provost/plan/v1
success:
  - { for: goal, check: '${ steps.second.status == "succeeded" }' }
steps:
  - { id: look, tool: look.up }
  - { id: first, tool: note.put, args: { count: '${ steps.look.output.total }' }, accept: ['${ output.done }'], on_failure: continue }
  - { id: second, tool: note.put, args: { count: 4 }, needs: [first], accept: ['${ output.done }'] }
answer: done
"#;

const PERMIT: &str = "@id(\"all\") permit (principal, action, resource);";

fn twice(total: i64) -> Case {
    Case::under(PERMIT, TWICE)
        .started()
        .ends("look", ok(json!({ "total": total })))
}

#[test]
fn the_same_call_again_asks_whatever_policy_says() {
    let case = twice(4)
        .ends("first", ok(json!({ "done": true })))
        .quietly()
        .crash()
        .approve("bob")
        .ends("second", ok(json!({ "done": true })));
    insta::assert_snapshot!(case.transcript(), @r#"
    < crash
    + Resumed, 0 lost
    > ask about second
    < bob says yes
    + ApprovalGiven by bob
    + AttemptStarted second#1 ask approved
    > call second#1 note.put {"count":4}
    < second#1 ok happened
    + AttemptEnded second#1 ok happened
    + ObservationMade second data
    + StepSettled second succeeded
    + RunEnded succeeded ["done"]
    > done succeeded
    "#);
}

/// The controls: other arguments, and a first call that surely did not take place.
#[test]
fn another_call_and_one_that_never_landed_are_no_repetition() {
    let other = twice(3)
        .ends("first", ok(json!({ "done": true })))
        .quietly();
    assert!(other.state().open_cards().next().is_none());
    let never = twice(4)
        .quietly()
        .ends("first", failed(Class::NotFound, Landing::None));
    insta::assert_snapshot!(never.transcript(), @r#"
    < first#1 not_found none
    + AttemptEnded first#1 not_found none
    + StepSettled first failed not_found: it went wrong
    + AttemptStarted second#1 permit
    > call second#1 note.put {"count":4}
    "#);
}

/// A write that failed after it landed is repeated all the same.
#[test]
fn a_call_that_failed_after_it_landed_is_a_repetition() {
    let case = twice(4)
        .quietly()
        .ends("first", failed(Class::Conflict, Landing::Happened));
    insta::assert_snapshot!(case.transcript(), @r#"
    < first#1 conflict happened
    + AttemptEnded first#1 conflict happened
    + StepSettled first failed conflict: it went wrong
    + ApprovalRequested second ["all", "provost:repeated-call"]: {"count":4} repeating first
    > ask about second
    "#);
}

#[test]
fn a_yes_to_the_plan_does_not_cover_a_repetition() {
    let policy = r#"
permit (principal, action, resource);
@id("writes") forbid (principal, action in Action::"call", resource)
when { !resource.attended && resource.effect == "write" };
"#;
    // Why required: the check finds the same call twice, and lets it stand only where it is meant.
    let plan = TWICE
        .replace("needs: [first],", "needs: [first], approval: required,")
        .replace("args: { count: 4 }", "args: { to: box }")
        .replacen(
            "args: { count: '${ steps.look.output.total }' }",
            "args: { to: \"${ params.box }\" }",
            1,
        );
    let case = Case::under(policy, &plan)
        .param("box", json!("box"))
        .ask_for_plan()
        .started()
        .approve("bob")
        .ends("look", ok(json!({ "total": 4 })))
        .ends("first", ok(json!({ "done": true })));
    insta::assert_snapshot!(case.transcript(), @r#"
    < bob says yes
    + ApprovalGiven by bob
    + AttemptStarted look#1 permit
    + AttemptStarted first#1 ask approved
    > call look#1 look.up {}
    > call first#1 note.put {"to":"box"}
    < look#1 ok happened
    + AttemptEnded look#1 ok happened
    + ObservationMade look data
    + StepSettled look succeeded
    < first#1 ok happened
    + AttemptEnded first#1 ok happened
    + ObservationMade first data
    + StepSettled first succeeded
    + ApprovalRequested second ["writes", "provost:repeated-call"]: {"to":"box"} repeating first
    > ask about second
    "#);
}
