//! Approval of a plan: what is asked before anything runs, and what the yes covers.

use crate::case::{Case, ok};
use serde_json::json;

const MAIL: &str = r#"
schema: provost/plan/v1
success:
  - { for: goal, check: '${ steps.mail.status == "succeeded" }' }
steps:
  - { id: count, tool: look.up }
  - { id: mail, tool: mail.send, args: { to: team, text: '${ steps.count.output.total } open' }, accept: ['${ output.done }'] }
answer: done
"#;

fn asks(annotations: &str) -> String {
    format!(
        r#"
permit (principal, action, resource);
@id("mails") {annotations}
forbid (principal, action in Action::"call", resource)
when {{ !resource.attended && resource.effect == "external" }};
"#
    )
}

const PLAN: &str = r#"
schema: provost/plan/v1
success:
  - { for: goal, check: '${ steps.count.status == "succeeded" }' }
steps:
  - { id: count, tool: look.up }
  - { id: mail, tool: mail.send, args: { to: team, text: open }, needs: [count], accept: ['${ output.done }'] }
  - { id: wipe, tool: disk.wipe, args: { to: old }, needs: [count], accept: ['${ output.done }'] }
  - { id: after, tool: look.up, args: { to: after }, needs: [wipe] }
answer: done
"#;

#[test]
fn a_plan_is_asked_about_before_anything_runs() {
    let case = Case::new(PLAN).ask_for_plan().begin();
    insta::assert_snapshot!(case.transcript(), @r#"
    + RunCreated
    + GoalInterpreted
    + PlanRequested
    > plan request 1
    + PlanProposed
    + PlanChecked revision 1
    + RunStarted
    + ApprovalRequested the plan: mail ["outside-communication"], wipe ["deletions"]
    > ask about the plan
    "#);
    assert_eq!(case.status(), "waiting_approval");
}

#[test]
fn steps_not_named_are_skipped_and_their_dependents_blocked() {
    let case = Case::new(PLAN)
        .ask_for_plan()
        .started()
        .approve_steps("ada", &["look"])
        .approve_steps("ada", &["mail"])
        .ends("count", ok(json!({ "total": 4 })))
        .ends("mail", ok(json!({ "done": true })));
    insta::assert_snapshot!(case.transcript(), @r#"
    < ada says yes look
    ! the card does not ask about step `look`
    < ada says yes mail
    + ApprovalGiven by ada
    + AttemptStarted count#1 permit
    > call count#1 look.up {}
    < count#1 ok happened
    + AttemptEnded count#1 ok happened
    + ObservationMade count data
    + StepSettled count succeeded
    + AttemptStarted mail#1 ask approved
    + StepSkipped wipe NotApproved
    + StepBlocked after on wipe
    > call mail#1 mail.send {"text":"open","to":"team"}
    < mail#1 ok happened
    + AttemptEnded mail#1 ok happened
    + ObservationMade mail data
    + StepSettled mail succeeded
    + RunEnded succeeded ["done"]
    > done succeeded
    "#);
}

#[test]
fn a_yes_to_the_whole_plan_opens_every_gate_with_trusted_sinks() {
    let case = Case::new(PLAN)
        .ask_for_plan()
        .started()
        .approve("ada")
        .crash()
        .quietly()
        .ends("count", ok(json!({ "total": 4 })));
    insta::assert_snapshot!(case.transcript(), @r#"
    < count#2 ok happened
    + AttemptEnded count#2 ok happened
    + ObservationMade count data
    + StepSettled count succeeded
    + AttemptStarted mail#1 ask approved
    + AttemptStarted wipe#1 ask approved
    > call mail#1 mail.send {"text":"open","to":"team"}
    > call wipe#1 disk.wipe {"to":"old"}
    "#);
}

/// Nobody could judge a recipient that was not known when the plan was approved.
#[test]
fn a_yes_to_the_plan_does_not_cover_untrusted_sinks() {
    let plan = MAIL.replace(
        "to: team",
        "to: '${ \"team\" + string(steps.count.output.total) }'",
    );
    let case = Case::new(&plan)
        .ask_for_plan()
        .started()
        .approve("ada")
        .ends("count", ok(json!({ "total": 4 })))
        .approve("ada");
    insta::assert_snapshot!(case.transcript(), @r#"
    < ada says yes
    + ApprovalGiven by ada
    + AttemptStarted count#1 permit
    > call count#1 look.up {}
    < count#1 ok happened
    + AttemptEnded count#1 ok happened
    + ObservationMade count data
    + StepSettled count succeeded
    + ApprovalRequested mail ["outside-communication", "untrusted-sink"]: {"text":"4 open","to":"team4"}
    > ask about mail
    < ada says yes
    + ApprovalGiven by ada
    + AttemptStarted mail#1 ask approved
    > call mail#1 mail.send {"text":"4 open","to":"team4"}
    "#);
}

/// Each of two people must have said yes to a step; what only one of them named is left out.
#[test]
fn a_quorum_agrees_only_on_what_each_of_them_named() {
    let policy = r#"
permit (principal, action, resource);
@id("two") @quorum("2")
forbid (principal, action in Action::"call", resource)
when { !resource.attended && resource.effect != "read" };
"#;
    let run = |first: &[&str], second: &[&str]| {
        Case::under(policy, PLAN)
            .ask_for_plan()
            .started()
            .approve_steps("bob", first)
            .approve_steps("eve", second)
            .ends("count", ok(json!({ "total": 4 })))
            .transcript()
    };
    insta::assert_snapshot!(run(&["mail"], &[]), @r#"
    < bob says yes mail
    + ApprovalGiven by bob, more are needed
    < eve says yes
    + ApprovalGiven by eve
    + AttemptStarted count#1 permit
    > call count#1 look.up {}
    < count#1 ok happened
    + AttemptEnded count#1 ok happened
    + ObservationMade count data
    + StepSettled count succeeded
    + AttemptStarted mail#1 ask approved
    + StepSkipped wipe NotApproved
    + StepBlocked after on wipe
    > call mail#1 mail.send {"text":"open","to":"team"}
    "#);
    let other = run(&[], &["mail"]);
    assert!(!other.contains("call wipe"), "{other}");
    assert!(
        run(&[], &[]).contains("call wipe"),
        "the control: both say yes to all"
    );
}

#[test]
fn a_no_to_the_plan_ends_it_before_anything_ran() {
    let case = Case::new(PLAN)
        .ask_for_plan()
        .started()
        .reject("ada", "not today");
    insta::assert_snapshot!(case.transcript(), @"
    < ada says no
    + ApprovalRejected by ada: not today
    + ReplanRequested rejected
    + PlanRequested
    > plan request 2: rejected
    + PlanGivenUp: nothing better is known
    + RunEnded rejected: a person rejected it: not today
    > done rejected
    ");
}

#[test]
fn silence_about_the_plan_expires_the_run() {
    let case = Case::under(&asks("@expires(\"1h\")"), PLAN)
        .ask_for_plan()
        .started()
        .tick(3_601_000);
    insta::assert_snapshot!(case.transcript(), @"
    < tick 3601000
    + ApprovalExpired
    + RunEnded expired: nobody answered in time
    > done expired
    ");
}
