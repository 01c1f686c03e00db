//! A planner that comes to nothing: the playbook after it, then a person; never an unchecked plan.

use crate::case::{Case, failed, ok, plan_reply};
use provost_plan::limits::ASKED_AGAIN_MAX;
use provost_plan::money::Money;
use provost_plan::plan::Goal;
use provost_plan::plan::request::{NoPlan, PlanReply, PlannerCost};
use provost_run::admission::Denial;
use provost_run::event::{PlannerChoice, PlannerView};
use provost_run::machine::Input;
use provost_run::outcome::{Class, Landing};
use serde_json::json;

const READ: &str = r#"
schema: provost/plan/v1
success: [{ for: goal, check: '${ steps.look.status == "succeeded" }' }]
steps:
  - { id: look, tool: look.up, args: { to: a } }
"#;

fn wrong(tool: &str) -> String {
    READ.replace("look.up", tool)
}

fn down() -> PlanReply {
    PlanReply::Failed {
        class: NoPlan::Crashed,
        reason: "process test: it ended".to_owned(),
    }
}

fn declined() -> PlanReply {
    PlanReply::Decline("no tool does that".to_owned())
}

fn interpreted() -> PlanReply {
    PlanReply::Interpreted {
        goal: Goal::of_text("test"),
        playbook: "shelves".to_owned(),
        by: "playbook shelves".to_owned(),
    }
}

/// A program plans, and says only what it is told to.
fn away() -> Case {
    Case::new(READ).by_a_program().planner_is_away().begin()
}

#[test]
fn the_playbook_is_asked_after_the_planner_and_is_checked_like_it() {
    let case = Case::new(READ)
        .by_a_program()
        .with_playbook("shelves")
        .planner_is_away()
        .begin()
        .planner_replies(down())
        .crash()
        .planner_replies(interpreted())
        .crash()
        .planner_replies(plan_reply(READ, &[]))
        .ends("look", ok(json!({ "total": 1 })));
    insta::assert_snapshot!(case.transcript(), @r#"
    + RunCreated
    + GoalInterpreted
    + PlanRequested
    > plan request 1
    < the planner replies
    + PlanHandedOn to playbook shelves: process test: it ended
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
    assert_eq!(case.state().route.planner.author(), "playbook shelves");
}

#[test]
fn a_person_is_asked_where_nobody_else_has_a_plan() {
    let case = Case::new(READ)
        .by_a_program()
        .with_playbook("shelves")
        .planner_is_away()
        .begin()
        .planner_replies(declined())
        .planner_replies(interpreted())
        .planner_replies(plan_reply(&wrong("look.none"), &[]))
        .planner_replies(declined())
        .crash()
        .answer("ada", json!("perhaps"))
        .answer("ada", json!("again"))
        .planner_replies(plan_reply(READ, &[]));
    insta::assert_snapshot!(case.transcript(), @r#"
    + RunCreated
    + GoalInterpreted
    + PlanRequested
    > plan request 1
    < the planner replies
    + PlanHandedOn to playbook shelves: no tool does that
    + PlanRequested
    > plan request 2
    < the planner replies
    + GoalInterpreted
    + PlanRequested
    > plan request 3
    < the planner replies
    + PlanProposed
    + PlanRefused S705 R101
    + PlanRequested
    > plan request 4
    < the planner replies
    + PlanHandedOn to a person: no tool does that
    + QuestionAsked
    > question "there is no plan: no tool does that; R101: no tool is called `look.none`. ask process test again, or stop?"
    < crash
    + Resumed, 0 lost
    > question "there is no plan: no tool does that; R101: no tool is called `look.none`. ask process test again, or stop?"
    < ada answers "perhaps"
    ! the answer does not fit the question: value is not one of "again" or "stop"
    < ada answers "again"
    + QuestionAnswered
    + PlanRequested
    > plan request 5
    < the planner replies
    + PlanProposed
    + PlanChecked revision 1
    + RunStarted
    + AttemptStarted look#1 permit
    > call look#1 look.up {"to":"a"}
    "#);
    // Whoever planned at the beginning is asked again, and not told what was wrong with another's.
    assert_eq!(case.state().route.planner.author(), "process test");
    assert!(case.requests().last().unwrap().diagnostics.is_empty());
}

/// Who is asked again is told what was wrong with its own last proposal.
#[test]
fn a_planner_that_is_asked_again_goes_on_from_its_findings() {
    let case = away()
        .planner_replies(plan_reply(&wrong("look.none"), &[]))
        .planner_replies(down())
        .answer("ada", json!("again"));
    let last = case.requests().last().unwrap();
    assert_eq!(last.diagnostics.last().unwrap().code, "R101");
    // It has as many proposals as at first.
    let mut case = case;
    for tool in ["look.one", "look.two"] {
        case = case.planner_replies(plan_reply(&wrong(tool), &[]));
        assert_eq!(case.status(), "planning", "{}", case.transcript());
    }
    let case = case.planner_replies(plan_reply(&wrong("look.three"), &[]));
    assert_eq!(case.status(), "waiting_answer");
}

#[test]
fn a_person_who_stops_ends_it_as_it_would_have_ended() {
    let case = away()
        .planner_replies(plan_reply(&wrong("look.none"), &[]))
        .planner_replies(plan_reply(&wrong("look.none"), &[]))
        .quietly()
        .answer("ada", json!("stop"));
    insta::assert_snapshot!(case.transcript(), @r#"
    < ada answers "stop"
    + QuestionAnswered
    + RunEnded refused: the planner proposed the same inadmissible plan again; first error R101: no tool is called `look.none`
    > done refused
    "#);
}

#[test]
fn a_person_may_put_a_plan_or_another_goal_in_its_place() {
    let waits = || away().planner_replies(down()).quietly();
    let case = waits().amends("ada", Some(&wrong("look.none")), None);
    assert_eq!(case.status(), "waiting_answer", "{}", case.transcript());
    let case = case.quietly().amends("ada", Some(READ), None);
    insta::assert_snapshot!(case.transcript(), @r#"
    < ada amends
    + PlanAmended
    + PlanChecked revision 1
    + RunStarted
    + AttemptStarted look#1 permit
    > call look#1 look.up {"to":"a"}
    "#);
    let case = waits().amends("ada", None, Some("something else"));
    insta::assert_snapshot!(case.transcript(), @"
    < ada amends
    + GoalAmended
    + PlanRequested
    > plan request 2: amended
    ");
    assert_eq!(case.requests().last().unwrap().goal.text, "something else");
    assert_eq!(case.state().open_questions().count(), 0);
}

const STEPS: &str = r#"
schema: provost/plan/v1
success: [{ for: goal, check: '${ steps.last.status == "succeeded" }' }]
steps:
  - { id: look, tool: look.up, args: { to: a } }
  - { id: last, tool: look.up, args: { to: last }, needs: [look] }
"#;

fn failing() -> Case {
    Case::new(STEPS)
        .by_a_program()
        .planner_is_away()
        .begin()
        .planner_replies(plan_reply(STEPS, &[]))
        .ends("look", failed(Class::NotFound, Landing::None))
        .quietly()
}

/// What failed in the middle of a run waits with its facts until somebody can plan again.
#[test]
fn a_revision_that_does_not_come_waits_for_a_person() {
    let case = failing()
        .planner_replies(down())
        .crash()
        .answer("ada", json!("again"))
        .planner_replies(down())
        .answer("ada", json!("stop"));
    insta::assert_snapshot!(case.transcript(), @r#"
    < the planner replies
    + PlanHandedOn to a person: process test: it ended
    + QuestionAsked
    > question "there is no revision of the plan: process test: it ended. ask process test again, or stop?"
    < crash
    + Resumed, 0 lost
    > question "there is no revision of the plan: process test: it ended. ask process test again, or stop?"
    < ada answers "again"
    + QuestionAnswered
    + PlanRequested
    > plan request 3: step_failed
    < the planner replies
    + PlanHandedOn to a person: process test: it ended
    + QuestionAsked
    > question "there is no revision of the plan: process test: it ended. ask process test again, or stop?"
    < ada answers "stop"
    + QuestionAnswered
    + RunEnded failed: step `look` failed: it went wrong
    > done failed
    "#);
}

/// That nothing better is known is an answer, and no failure.
#[test]
fn a_revision_that_is_declined_ends_the_run() {
    let case = failing().planner_replies(declined());
    insta::assert_snapshot!(case.transcript(), @"
    < the planner replies
    + PlanGivenUp: no tool does that
    + RunEnded failed: step `look` failed: it went wrong
    > done failed
    ");
}

#[test]
fn what_may_stay_as_it_is_stays_where_the_planner_fails() {
    let case = Case::new(STEPS)
        .by_a_program()
        .planner_is_away()
        .begin()
        .planner_replies(plan_reply(STEPS, &["look"]))
        .ends("look", ok(json!({ "total": 1 })))
        .quietly()
        .planner_replies(down())
        .ends("last", ok(json!({ "total": 1 })));
    assert_eq!(case.status(), "succeeded", "{}", case.transcript());
}

/// Whoever would say the same again is not asked again, and nobody in their place.
#[test]
fn a_playbook_that_fails_ends_the_run() {
    let case = Case::new(&wrong("look.none")).begin();
    assert_eq!(case.status(), "refused", "{}", case.transcript());
}

#[test]
fn a_person_has_it_asked_again_so_many_times() {
    let mut case = away();
    for _ in 0..ASKED_AGAIN_MAX {
        case = case.planner_replies(down()).answer("ada", json!("again"));
        assert_eq!(case.status(), "planning");
    }
    let case = case.planner_replies(down()).quietly();
    let case = case
        .answer("ada", json!("again"))
        .answer("ada", json!("stop"));
    insta::assert_snapshot!(case.transcript(), @r#"
    < ada answers "again"
    ! the answer does not fit the question: value is not one of "stop"
    < ada answers "stop"
    + QuestionAnswered
    + RunEnded refused: process test: it ended
    > done refused
    "#);
}

/// Where the money is gone, a plan of a person's own is what is left.
#[test]
fn where_a_limit_leaves_no_room_nobody_offers_to_ask_again() {
    let cost = PlannerCost {
        bytes: 0,
        tokens_out: 1_000_000,
        input: Some(Money::ZERO),
        output: Some(Money::parse("1.00").unwrap()),
        limit: Some(Money::parse("1.50").unwrap()),
    };
    let model = PlannerChoice::Model {
        name: "test".to_owned(),
        cost,
        view: PlannerView::default(),
    };
    let case = Case::new(READ)
        .planned_by(model)
        .planner_is_away()
        .begin()
        .quietly()
        .give(Input::Resume)
        .give(Input::Proceed)
        .answer("ada", json!("again"))
        .amends("ada", Some(READ), None);
    insta::assert_snapshot!(case.transcript(), @r#"
    + Resumed, 0 lost
    + PlanHandedOn to a person: the limit of 1.50 for planning leaves no room to ask again: 1.00 is spent or reserved, and one more request may cost 1.00
    + QuestionAsked
    > question "there is no plan: the limit of 1.50 for planning leaves no room to ask again: 1.00 is spent or reserved, and one more request may cost 1.00. the limits leave no room to ask again: stop?"
    < ada answers "again"
    ! the answer does not fit the question: value is not one of "stop"
    < ada amends
    + PlanAmended
    + PlanChecked revision 1
    + RunStarted
    + AttemptStarted look#1 permit
    > call look#1 look.up {"to":"a"}
    "#);
}

/// A process may die after any event: the same question waits, and nothing is planned unasked.
#[test]
fn after_a_crash_at_any_event_the_chain_goes_on_where_it_was() {
    let case = away()
        .planner_replies(plan_reply(&wrong("look.none"), &[]))
        .planner_replies(down());
    let question = *case.state().open_questions().next().unwrap().0;
    let from = case.journal.len() - 1;
    for length in from..=case.journal.len() {
        let mut run = case.folded(length);
        crate::case::take_up(&mut run, 9_000);
        let mut open = run.state().open_questions();
        assert_eq!(open.next().map(|(digest, _)| *digest), Some(question));
    }
    let case = case.answer("ada", json!("stop"));
    let mut run = case.folded(case.journal.len() - 1);
    crate::case::take_up(&mut run, 9_000);
    assert_eq!(
        run.state().ending.ended,
        case.state().ending.ended,
        "{}",
        case.transcript()
    );
}

/// What was put off until later waits for the person as everything else does.
#[test]
fn a_run_that_a_person_has_is_not_under_way() {
    let put = "  - { id: put, tool: note.put, args: { to: box }, accept: ['${ output.done }'] }\n";
    let later = Denial::Later {
        until: 9_000,
        broken: false,
        because: "not now".to_owned(),
    };
    let case = away()
        .denying(vec![("put", later)])
        .planner_replies(plan_reply(&format!("{READ}{put}"), &[]))
        .denying(Vec::new())
        .ends("look", failed(Class::NotFound, Landing::None))
        .planner_replies(down());
    assert_eq!(case.status(), "waiting_answer", "{}", case.transcript());
    let case = case.tick(10_000);
    assert_eq!(case.status(), "waiting_answer", "{}", case.transcript());
    let case = case.answer("ada", json!("stop"));
    assert_eq!(case.status(), "failed", "{}", case.transcript());
}
