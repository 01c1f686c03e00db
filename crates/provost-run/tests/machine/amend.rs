//! Amending: a person's plan or goal, checked like any other, and approved by somebody else.

use crate::case::{Case, failed, ok, person};
use provost_run::machine::Input;
use provost_run::outcome::{Class, Landing};
use provost_run::statement::{Statement, StatementRecord};
use serde_json::json;

const PEOPLE: &str = provost_plan::policy::DEFAULT_POLICY;

fn mail(to: &str, more: &str) -> String {
    format!(
        r#"
schema: provost/plan/v1
success:
  - {{ for: goal, check: '${{ steps.mail.status == "succeeded" }}' }}
steps:
  - {{ id: count, tool: look.up }}
  - {{ id: mail, tool: mail.send, args: {{ to: {to}, text: '${{ steps.count.output.total }} open' }}, accept: ['${{ output.done }}'] }}
{more}
"#
    )
}

/// Several people; the count is in, and the mail waits for a yes.
fn asked() -> Case {
    Case::under(PEOPLE, &mail("team", ""))
        .started()
        .ends("count", ok(json!({ "total": 4 })))
        .quietly()
}

#[test]
fn who_amends_asks_for_the_revision_and_somebody_else_approves_it() {
    let case = asked()
        .amends("bob", Some(&mail("everybody", "")), None)
        .approve("bob")
        .approve("ada");
    insta::assert_snapshot!(case.transcript(), @r#"
    < bob amends
    + PlanAmended
    + PlanChecked revision 2
    + PlanRevised added [] changed ["mail"] removed []
    + ApprovalsRevised retain [] replace ["mail"] clear []
    + ApprovalRequested mail ["outside-communication"]: {"text":"4 open","to":"everybody"}
    > ask about mail
    < bob says yes
    ! `bob` may not answer: `bob` asked for this run, and somebody else must approve it
    < ada says yes
    + ApprovalGiven by ada
    + AttemptStarted mail#1 ask approved
    > call mail#1 mail.send {"text":"4 open","to":"everybody"}
    "#);
    assert_eq!(case.state().requester(), "bob");
}

#[test]
fn an_amendment_that_fails_the_check_changes_nothing() {
    let case = asked()
        .amends("bob", Some("steps: nonsense"), None)
        .amends(
            "bob",
            Some(&mail("team", "").replace("look.up", "note.put")),
            None,
        )
        .amends("bob", None, None)
        .amends("mallory", Some(&mail("everybody", "")), None);
    insta::assert_snapshot!(case.transcript(), @"
    < bob amends
    ! the run cannot be amended: the plan cannot be read
    < bob amends
    ! the run cannot be amended: the plan does not pass the check
    < bob amends
    ! the run cannot be amended: neither a plan nor a goal is named
    < mallory amends
    ! `mallory` may not answer: `mallory` is not listed in policies/entities.json
    ");
}

#[test]
fn an_open_card_outlives_an_amendment_of_another_step_with_its_requester() {
    let more = "  - { id: again, tool: look.up, args: { to: x } }";
    let case = asked();
    let card = case.open_card();
    let case = case.amends("bob", Some(&mail("team", more)), None);
    assert_eq!(case.open_card(), card);
    let case = case.approve("ada").approve("bob");
    insta::assert_snapshot!(case.transcript(), @r#"
    < bob amends
    + PlanAmended
    + PlanChecked revision 2
    + PlanRevised added ["again"] changed [] removed []
    + ApprovalsRevised retain ["mail"] replace [] clear []
    + AttemptStarted again#1 permit
    > call again#1 look.up {"to":"x"}
    < ada says yes
    ! `ada` may not answer: `ada` asked for this run, and somebody else must approve it
    < bob says yes
    + ApprovalGiven by bob
    + AttemptStarted mail#1 ask approved
    > call mail#1 mail.send {"text":"4 open","to":"team"}
    "#);
}

#[test]
fn a_planner_that_builds_on_an_amendment_frees_nobody_who_wrote_a_part_of_it() {
    let other = "  - { id: other, tool: mail.send, args: { to: others, text: hi }, \
                 accept: ['${ output.done }'] }";
    let revised = mail("everybody", other);
    let case = asked()
        .amends("bob", Some(&mail("everybody", "")), None)
        .quietly()
        .replans(&revised)
        .reject("ada", "not them")
        .approve("ada")
        .approve("bob")
        .crash()
        .approve("eve");
    insta::assert_snapshot!(case.transcript(), @r#"
    < ada says no
    + ApprovalRejected by ada: not them
    + StepSettled mail failed rejected: not them
    + ReplanRequested rejected
    + PlanRequested
    > plan request 2: rejected
    + PlanProposed
    + PlanChecked revision 3
    + PlanRevised added ["other"] changed [] removed []
    + ApprovalsRevised retain [] replace [] clear []
    + ApprovalRequested other ["outside-communication"]: {"text":"hi","to":"others"}
    > ask about other
    < ada says yes
    ! `ada` may not answer: `ada` asked for this run, and somebody else must approve it
    < bob says yes
    ! `bob` may not answer: `bob` asked for this run, and somebody else must approve it
    < crash
    + Resumed, 0 lost
    > ask about other
    < eve says yes
    + ApprovalGiven by eve
    + AttemptStarted other#1 ask approved
    > call other#1 mail.send {"text":"hi","to":"others"}
    "#);
}

#[test]
fn another_goal_opens_the_check_again_and_clears_every_yes() {
    let case = asked();
    let card = case.open_card();
    let case = case.amends("ada", None, Some("tell the team twice"));
    assert_ne!(case.open_card(), card);
    assert_eq!(case.state().goal.text, "tell the team twice");
    let case = case.crash();
    insta::assert_snapshot!(case.transcript(), @r#"
    < ada amends
    + GoalAmended
    + PlanChecked revision 1
    + ApprovalsRevised retain [] replace ["mail"] clear []
    + ReplanRequested amended
    + PlanRequested
    > plan request 2: amended
    + PlanGivenUp: nothing better is known
    + ApprovalRequested mail ["outside-communication"]: {"text":"4 open","to":"team"}
    > ask about mail
    < crash
    + Resumed, 0 lost
    > ask about mail
    "#);
}

#[test]
fn an_amendment_answers_a_failure_that_a_person_is_asked_about() {
    let plan = |step: &str| {
        format!(
            r#"
schema: provost/plan/v1
success:
  - {{ for: goal, check: '${{ steps.last.status == "succeeded" }}' }}
steps:
  - {{ id: bad, tool: look.up, args: {{ to: bad }}, on_failure: escalate }}
  - {{ id: last, tool: look.up, needs: [bad], args: {{ to: {step} }} }}
answer: done
"#
        )
    };
    let without = plan("two").replace("needs: [bad], ", "");
    let case = Case::new(&plan("one"))
        .started()
        .ends("bad", failed(Class::NotFound, Landing::None))
        .quietly();
    assert!(case.state().open_questions().next().is_some());
    let case = case.amends("ada", Some(&without), None);
    assert!(case.state().open_questions().next().is_none());
    insta::assert_snapshot!(case.transcript(), @r#"
    < ada amends
    + PlanAmended
    + PlanChecked revision 2
    + PlanRevised added [] changed ["last"] removed []
    + ApprovalsRevised retain [] replace [] clear []
    + AttemptStarted last#1 permit
    > call last#1 look.up {"to":"two"}
    "#);
}

#[test]
fn a_word_is_taken_once() {
    let record = |nonce: &str| StatementRecord {
        nonce: nonce.to_owned(),
        revision: 1,
        at: 1,
        expires_at: 9_999_999,
        key: None,
        signature: None,
    };
    let yes = |nonce: &str, by: &str, case: &Case| Input::Statement {
        by: person(by),
        statement: Statement::Approve {
            card: case.open_card(),
            steps: Vec::new(),
        },
        record: Some(record(nonce)),
    };
    let policy = format!(
        "{PEOPLE}\n@id(\"two\") @quorum(\"2\") forbid (principal, action in \
        Action::\"call\", resource) when {{ !resource.attended && resource.effect == \"external\" }};"
    );
    let case = Case::under(&policy, &mail("team", ""))
        .started()
        .ends("count", ok(json!({ "total": 4 })))
        .quietly();
    let first = yes("n1", "bob", &case);
    let again = yes("n1", "eve", &case);
    let second = yes("n2", "eve", &case);
    let case = case.give(first).crash().give(again).give(second);
    insta::assert_snapshot!(case.transcript(), @r#"
    + ApprovalGiven by bob, more are needed
    < crash
    + Resumed, 0 lost
    > ask about mail
    ! the word `n1` was taken before: a word counts once
    + ApprovalGiven by eve
    + AttemptStarted mail#1 ask approved
    > call mail#1 mail.send {"text":"4 open","to":"team"}
    "#);
    assert_eq!(case.state().nonces.len(), 2);
}
