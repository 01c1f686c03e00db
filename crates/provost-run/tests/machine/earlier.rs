//! Calls that other runs made before: what a card says of them, and what policy does.

use crate::case::{Case, ok};
use provost_run::event::Event;
use provost_run::outcome::Landing;
use serde_json::json;

/// A note to a box that is known at once, and one of a number that a reading gives.
const PLAN: &str = r#"
schema: provost/plan/v1
success:
  - { for: goal, check: '${ steps.put.status == "succeeded" }' }
steps:
  - { id: look, tool: look.up }
  - { id: put, tool: note.put, args: { to: box }, accept: ['${ output.done }'] }
  - { id: count, tool: note.put, needs: [put], args: { count: '${ steps.look.output.total }' }, accept: ['${ output.done }'] }
answer: done
"#;

const ASKS: &str = r#"
permit (principal, action, resource);
@id("writes") forbid (principal, action in Action::"call", resource)
when { !resource.attended && resource.effect == "write" };
"#;
const NEVER_AGAIN: &str = r#"
permit (principal, action, resource);
@id("never-again") forbid (principal, action in Action::"call", resource)
when { resource.repeats > 0 };
"#;
const ASKS_AGAIN: &str = r#"
permit (principal, action, resource);
@id("asks-again") forbid (principal, action in Action::"call", resource)
when { !resource.attended && resource.repeats > 1 };
"#;

fn under(policy: &str) -> Case {
    Case::under(policy, PLAN).remembering()
}

fn done() -> provost_run::outcome::Reply {
    ok(json!({ "done": true }))
}

#[test]
fn a_card_names_equal_calls_that_were_made_before() {
    let case = under(ASKS)
        .made_before(
            "note.put",
            &json!({ "to": "box" }),
            &[("first", Landing::Happened)],
        )
        .begin();
    insta::assert_snapshot!(case.transcript(), @r#"
    + RunCreated
    + GoalInterpreted
    + PlanRequested
    > plan request 1
    + PlanProposed
    + PlanChecked revision 1
    + RunStarted
    + AttemptStarted look#1 permit
    + ApprovalRequested put ["writes"]: {"to":"box"} [made before: step `put` of run first took effect]
    > call look#1 look.up {}
    > ask about put
    "#);
}

#[test]
fn a_rule_against_repetition_stops_what_nobody_is_asked_about() {
    let case = under(NEVER_AGAIN)
        .made_before(
            "note.put",
            &json!({ "to": "box" }),
            &[("first", Landing::Happened)],
        )
        .begin();
    insta::assert_snapshot!(case.transcript(), @"
    + RunCreated
    + GoalInterpreted
    + PlanRequested
    > plan request 1
    + PlanProposed
    + PlanChecked revision 1
    + RunStarted
    + AttemptStarted look#1 permit
    + StepSettled put failed policy_denied: policy forbids it: `never-again`; it was made before: step `put` of run first took effect
    + ReplanRequested step_failed
    > call look#1 look.up {}
    ");
}

/// The control: the same rule, where nothing equal was made before.
#[test]
fn a_rule_against_repetition_leaves_what_is_made_for_the_first_time() {
    let case = under(NEVER_AGAIN)
        .made_before(
            "note.put",
            &json!({ "to": "another" }),
            &[("first", Landing::Happened)],
        )
        .begin();
    insta::assert_snapshot!(case.transcript(), @r#"
    + RunCreated
    + GoalInterpreted
    + PlanRequested
    > plan request 1
    + PlanProposed
    + PlanChecked revision 1
    + RunStarted
    + AttemptStarted look#1 permit
    + AttemptStarted put#1 permit
    > call look#1 look.up {}
    > call put#1 note.put {"to":"box"}
    "#);
}

/// A yes that was given before another run made the call is no yes to making it again.
#[test]
fn a_yes_to_a_card_that_named_no_equal_call_does_not_cover_one_made_since() {
    let equal = json!({ "to": "box" });
    let case = under(ASKS)
        .begin()
        .quietly()
        .made_before("note.put", &equal, &[("other", Landing::Unknown)])
        .approve("bob")
        .made_before("note.put", &equal, &[("other", Landing::Happened)])
        .approve("bob");
    insta::assert_snapshot!(case.transcript(), @r#"
    < bob says yes
    + ApprovalGiven by bob
    + ApprovalRequested put ["writes"]: {"to":"box"} [made before: step `put` of run other may have taken effect]
    > ask about put
    < bob says yes
    + ApprovalGiven by bob
    + AttemptStarted put#1 ask approved [made before: step `put` of run other took effect]
    > call put#1 note.put {"to":"box"}
    "#);
}

/// Another try of what may have taken place is judged as the first was.
#[test]
fn another_try_of_what_may_have_taken_place_is_judged_as_the_first() {
    let plan = PLAN.replace("note.put", "page.send");
    let case = Case::under(NEVER_AGAIN, &plan)
        .remembering()
        .begin()
        .quietly()
        .made_before(
            "page.send",
            &json!({ "to": "box" }),
            &[("other", Landing::Happened)],
        )
        .crash()
        .tick(2_000);
    insta::assert_snapshot!(case.transcript(), @r#"
    < crash
    + Resumed, 2 lost
    + AttemptEnded look#1 unavailable unknown lost
    + AttemptEnded put#1 unavailable unknown lost
    + AttemptStarted look#2 permit
    + AttemptStarted put#2 permit
    > call look#2 look.up {}
    > call put#2 page.send {"to":"box"}
    < tick 2000
    "#);
}

#[test]
fn a_plan_card_names_equal_calls_where_arguments_are_known_and_late_ones_are_asked_about() {
    let case = under(ASKS)
        .made_before(
            "note.put",
            &json!({ "to": "box" }),
            &[("first", Landing::Happened)],
        )
        .made_before(
            "note.put",
            &json!({ "count": 3 }),
            &[("second", Landing::Happened)],
        )
        .ask_for_plan()
        .begin();
    insta::assert_snapshot!(case.transcript(), @r#"
    + RunCreated
    + GoalInterpreted
    + PlanRequested
    > plan request 1
    + PlanProposed
    + PlanChecked revision 1
    + RunStarted
    + ApprovalRequested the plan: count ["writes"], put ["writes"] [made before: step `put` of run first took effect]
    > ask about the plan
    "#);
    let case = case
        .quietly()
        .approve("bob")
        .ends("look", ok(json!({ "total": 3 })))
        .ends("put", done());
    insta::assert_snapshot!(case.transcript(), @r#"
    < bob says yes
    + ApprovalGiven by bob
    + AttemptStarted look#1 permit
    + AttemptStarted put#1 ask approved [made before: step `put` of run first took effect]
    > call look#1 look.up {}
    > call put#1 note.put {"to":"box"}
    < look#1 ok happened
    + AttemptEnded look#1 ok happened
    + ObservationMade look data
    + StepSettled look succeeded
    < put#1 ok happened
    + AttemptEnded put#1 ok happened
    + ObservationMade put data
    + StepSettled put succeeded
    + ApprovalRequested count ["writes"]: {"count":3} [made before: step `put` of run second took effect]
    > ask about count
    "#);
}

/// The yes to the plan was given before another run made the call.
#[test]
fn a_yes_to_a_plan_does_not_cover_an_equal_call_made_since() {
    let case = under(ASKS)
        .ask_for_plan()
        .begin()
        .quietly()
        .made_before(
            "note.put",
            &json!({ "to": "box" }),
            &[("other", Landing::Happened)],
        )
        .approve("bob");
    insta::assert_snapshot!(case.transcript(), @r#"
    < bob says yes
    + ApprovalGiven by bob
    + AttemptStarted look#1 permit
    + ApprovalRequested put ["writes"]: {"to":"box"} [made before: step `put` of run other took effect]
    > call look#1 look.up {}
    > ask about put
    "#);
}

#[test]
fn a_rule_about_repetition_asks_for_a_plan_only_where_there_is_one() {
    let asked = |calls: &[(&str, Landing)]| {
        let case = under(ASKS_AGAIN).made_before("note.put", &json!({ "to": "box" }), calls);
        case.ask_for_plan().begin().transcript()
    };
    let twice = [("first", Landing::Happened), ("second", Landing::Unknown)];
    insta::assert_snapshot!(asked(&twice), @r#"
    + RunCreated
    + GoalInterpreted
    + PlanRequested
    > plan request 1
    + PlanProposed
    + PlanChecked revision 1
    + RunStarted
    + ApprovalRequested the plan: count ["asks-again"], put ["asks-again"] [made before: step `put` of run first took effect] [made before: step `put` of run second may have taken effect]
    > ask about the plan
    "#);
    insta::assert_snapshot!(asked(&twice[..1]), @r#"
    + RunCreated
    + GoalInterpreted
    + PlanRequested
    > plan request 1
    + PlanProposed
    + PlanChecked revision 1
    + RunStarted
    + ApprovalRequested the plan: count ["asks-again"]
    > ask about the plan
    "#);
}

/// What was judged stands in the events: they fold without another look.
#[test]
fn what_was_judged_stands_in_the_events() {
    let case = under(ASKS)
        .made_before(
            "note.put",
            &json!({ "to": "box" }),
            &[("first", Landing::Happened)],
        )
        .begin()
        .approve("bob")
        .ends("put", done());
    let recorded = case.journal.iter().find_map(|(event, _)| match event {
        Event::AttemptStarted(started) if !started.read => Some(started.earlier.clone()),
        _ => None,
    });
    assert_eq!(recorded.map(|calls| calls.count), Some(1));
    assert_eq!(
        format!("{:?}", case.taken_up().state()),
        format!("{:?}", case.state())
    );
}
