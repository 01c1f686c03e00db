//! Amending: a person's plan or goal, checked like any other, and approved by somebody else.

use crate::case::{Case, failed, ok, person};
use provost_plan::plan::Goal;
use provost_plan::plan::request::PlanReply;
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
    ! `bob` may not approve: `bob` requested this run, and another person must approve it
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
    ! `mallory` may not amend: `mallory` is not listed in policies/entities.json
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
    ! `ada` may not approve: `ada` requested this run, and another person must approve it
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
    ! `ada` may not approve: `ada` requested this run, and another person must approve it
    < bob says yes
    ! `bob` may not approve: `bob` wrote a part of it, and another person must approve it
    < crash
    + Resumed, 0 lost
    > ask about other
    < eve says yes
    + ApprovalGiven by eve
    + AttemptStarted other#1 ask approved
    > call other#1 mail.send {"text":"hi","to":"others"}
    "#);
}

/// The planner knows nothing better: once that was enough to page for the goal before.
#[test]
fn an_amended_goal_that_nobody_plans_for_begins_nothing_and_is_not_certified() {
    let case = asked();
    let card = case.open_card();
    let case = case.amends("ada", None, Some("tell nobody"));
    assert_eq!(case.state().goals.goal.text, "tell nobody");
    let case = case
        .crash()
        .approve_card("bob", card)
        .crash()
        .answer("ada", json!("stop"));
    insta::assert_snapshot!(case.transcript(), @r#"
    < ada amends
    + GoalAmended
    + PlanRequested
    > plan request 2: amended
    + PlanHandedOn to a person: nothing better is known
    + QuestionAsked
    > question "there is no plan for the amended goal: nothing better is known. amend the plan too, or stop?"
    < crash
    + Resumed, 0 lost
    > question "there is no plan for the amended goal: nothing better is known. amend the plan too, or stop?"
    < bob says yes to that card
    ! nothing waits for an answer under `sha256:39f459b58644b4c88020cdb720537fe3fcd335a3813b433326ffeca66dd7e565`
    < crash
    + Resumed, 0 lost
    > question "there is no plan for the amended goal: nothing better is known. amend the plan too, or stop?"
    < ada answers "stop"
    + QuestionAnswered
    + RunEnded refused: no plan was made for the amended goal
    > done refused
    "#);
    let ended = case.state().ending.ended.as_ref().expect("it ended");
    assert!(ended.criteria.is_empty(), "{:?}", ended.criteria);
}

/// The same plan is an answer for another goal, if a planner gives it for that goal; and is asked
/// about anew.
#[test]
fn a_plan_for_an_amended_goal_is_approved_anew() {
    let plan = mail("team", "");
    let case = asked()
        .approve("bob")
        .amends("ada", None, Some("tell the team"));
    // Why: the call was on its way, and is a fact from here on.
    let case = case.ends("mail", failed(Class::Unavailable, Landing::None));
    insta::assert_snapshot!(case.transcript(), @r#"
    < bob says yes
    + ApprovalGiven by bob
    + AttemptStarted mail#1 ask approved
    > call mail#1 mail.send {"text":"4 open","to":"team"}
    < ada amends
    + GoalAmended
    < mail#1 unavailable none
    + AttemptEnded mail#1 unavailable none again at 1500
    + PlanRequested
    > plan request 2: amended
    > wait until 1500
    + PlanHandedOn to a person: nothing better is known
    + QuestionAsked
    > question "there is no plan for the amended goal: nothing better is known. amend the plan too, or stop?"
    > wait until 1500
    "#);
    let case = asked()
        .replans(&plan)
        .amends("ada", None, Some("tell the team"));
    insta::assert_snapshot!(case.quietly().approve("bob").transcript(), @r#"
    < bob says yes
    + ApprovalGiven by bob
    + AttemptStarted mail#1 ask approved
    > call mail#1 mail.send {"text":"4 open","to":"team"}
    "#);
}

/// A yes to the plan is none to the same plan for another goal.
#[test]
fn a_yes_to_a_plan_does_not_outlive_its_goal() {
    let plan = mail("team", "");
    let case = Case::under(PEOPLE, &plan)
        .ask_for_plan()
        .started()
        .pause()
        .approve("bob")
        .replans(&plan)
        .amends("ada", None, Some("tell the team twice"))
        .go_on();
    assert_eq!(
        case.state().open_cards().count(),
        1,
        "{}",
        case.transcript()
    );
}

const LIST: &str = r#"
schema: provost/plan/v1
success:
  - { for: goal, check: '${ steps.put.status == "succeeded" }' }
steps:
  - id: put
    for_each: '${ ["a", "b", "c"] }'
    max_items: 3
    tool: note.put
    args: { to: '${ item }', text: hi }
    accept: ['${ output.done }']
    retry: { attempts: 3, backoff: 1s }
"#;

/// What was begun for one goal is not gone on with for another, not even where its planner keeps
/// it, as it must.
#[test]
fn what_was_begun_for_an_earlier_goal_goes_no_further() {
    let last = "  - { id: last, tool: look.up, args: { to: x } }\n";
    let other = format!("{LIST}{last}").replace("steps.put.status", "steps.last.status");
    let case = Case::new(LIST)
        .limits(|limits| limits.concurrency = 2)
        .started()
        .ends("put[0]", ok(json!({ "done": true })))
        .quietly();
    let case = case
        .replans(&other)
        .amends("ada", None, Some("put nothing more"))
        .ends("put[1]", failed(Class::Unavailable, Landing::None))
        .ends("put[2]", failed(Class::RateLimited, Landing::None));
    insta::assert_snapshot!(case.transcript(), @r#"
    < ada amends
    + GoalAmended
    < put[1]#1 unavailable none
    + AttemptEnded put[1]#1 unavailable none again at 2000
    > wait until 2000
    < put[2]#1 rate_limited none
    + AttemptEnded put[2]#1 rate_limited none again at 2000
    + PlanRequested
    > plan request 2: amended
    > wait until 2000
    + PlanProposed
    + PlanChecked revision 2
    + PlanRevised added ["last"] changed [] removed []
    + ApprovalsRevised retain [] replace [] clear []
    + AttemptStarted last#1 permit
    > call last#1 look.up {"to":"x"}
    > wait until 2000
    "#);
    let case = case
        .quietly()
        .tick(100_000)
        .ends("last", ok(json!({ "total": 1 })));
    insta::assert_snapshot!(case.transcript(), @"
    < tick 100000
    + StepSettled put[1] failed cancelled: the goal was amended before it took place
    + StepSettled put[2] failed cancelled: the goal was amended before it took place
    + StepSettled put failed partial: 2 of 3 items failed: the goal was amended before it took place
    < last#1 ok happened
    + AttemptEnded last#1 ok happened
    + ObservationMade last data
    + StepSettled last succeeded
    + RunEnded succeeded
    > done succeeded
    ");
}

/// What happened for the goal before can be taken back, also while nobody plans for the new one.
#[test]
fn an_amended_goal_keeps_the_undo_of_what_happened() {
    let plan = r#"
schema: provost/plan/v1
success:
  - { for: goal, check: '${ steps.last.status == "succeeded" }' }
steps:
  - id: put
    tool: note.put
    args: { to: a, text: hi }
    accept: ['${ output.done }']
    undo: { tool: note.put, args: { to: a, text: gone } }
  - { id: last, tool: look.up, needs: [put], args: { to: x } }
"#;
    let case = Case::new(plan)
        .started()
        .ends("put", ok(json!({ "done": true })))
        .amends("ada", None, Some("another"))
        .ends("last", ok(json!({ "total": 1 })))
        .quietly()
        .cancel_and_undo("ada");
    insta::assert_snapshot!(case.transcript(), @r#"
    < ada cancels, undoing
    + CancelRequested
    + UndoPlanned ["undo/put"]
    + PlanChecked revision 2
    + PlanRevised added ["undo/put"] changed [] removed []
    + ApprovalsRevised retain [] replace [] clear []
    + AttemptStarted undo/put#1 permit
    > call undo/put#1 note.put {"text":"gone","to":"a"}
    "#);
}

/// A playbook that matches the amended goal plans beside what ran; one that would read what ran
/// with other values does not.
#[test]
fn an_amended_goal_is_left_to_the_playbook_that_matches_it() {
    let plan = r#"
schema: provost/plan/v1
success:
  - { for: goal, check: '${ steps.last.status == "succeeded" }' }
steps:
  - { id: look, tool: look.up, args: { to: '${ params.who }' } }
  - { id: last, tool: look.up, needs: [look], args: { to: x } }
"#;
    let understood = |who: &str| PlanReply::Interpreted {
        goal: Goal {
            params: [("who".to_owned(), json!(who))].into_iter().collect(),
            ..Goal::of_text("another")
        },
        playbook: "other".to_owned(),
        by: "playbook other".to_owned(),
    };
    let ran = || {
        Case::new(plan)
            .param("who", json!("ann"))
            .started()
            .ends("look", ok(json!({ "total": 1 })))
    };
    let case = ran()
        .replies(understood("ann"))
        .replans(plan)
        .amends("ada", None, Some("another"))
        .quietly()
        .ends("last", ok(json!({ "total": 1 })));
    insta::assert_snapshot!(case.transcript(), @"
    < last#1 ok happened
    + AttemptEnded last#1 ok happened
    + ObservationMade last data
    + StepSettled last succeeded
    + PlanRequested
    > plan request 2: amended
    + GoalInterpreted
    + PlanRequested
    > plan request 3: amended
    + PlanProposed
    + PlanChecked revision 2
    + PlanRevised added [] changed [] removed []
    + ApprovalsRevised retain [] replace [] clear []
    + RunEnded succeeded
    > done succeeded
    ");
    let case = ran()
        .replies(understood("bea"))
        .amends("ada", None, Some("another"))
        .quietly()
        .ends("last", ok(json!({ "total": 1 })));
    insta::assert_snapshot!(case.transcript(), @r#"
    < last#1 ok happened
    + AttemptEnded last#1 ok happened
    + ObservationMade last data
    + StepSettled last succeeded
    + PlanRequested
    > plan request 2: amended
    + PlanHandedOn to a person: step `look` ran with another who: begin another run for this goal
    + QuestionAsked
    > question "there is no plan for the amended goal: step `look` ran with another who: begin another run for this goal. amend the plan too, or stop?"
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
        rights: None,
        operation: None,
        via: None,
        vouched: None,
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
    ! the statement `n1` was recorded before: a statement counts once
    + ApprovalGiven by eve
    + AttemptStarted mail#1 ask approved
    > call mail#1 mail.send {"text":"4 open","to":"team"}
    "#);
    assert_eq!(case.state().people.nonces.len(), 2);
}
