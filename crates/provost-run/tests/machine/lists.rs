//! `for_each`: the list is evaluated once, an item is its index, one card asks about all.

use crate::case::{Case, failed, ok};
use provost_run::event::Proven;
use provost_run::outcome::{Class, Landing};
use serde_json::json;

/// Looks names up, then does something with each.
fn each(tool: &str, more: &str) -> String {
    format!(
        r#"
schema: provost/plan/v1
success:
  - {{ for: goal, check: '${{ steps.each.status == "succeeded" }}' }}
steps:
  - {{ id: names, tool: look.up, accept: ['${{ has(output.names) }}'] }}
  - id: each
    tool: {tool}
    when: ${{ has(steps.names.output.names) }}
    for_each: ${{ steps.names.output.names }}
    args: {{ text: "${{ index }}: ${{ item }}", count: "${{ index }}" }}
    {more}
answer: done
"#
    )
}

fn names(list: &[&str]) -> provost_run::outcome::Reply {
    ok(json!({ "total": 1, "names": list }))
}

#[test]
fn every_item_is_a_call_with_its_item_and_index() {
    let case = Case::new(&each("look.up", "accept: ['${ output.total == index }']"))
        .started()
        .ends("names", names(&["a", "b"]))
        .ends("each[1]", ok(json!({ "total": 1 })))
        .ends("each[0]", ok(json!({ "total": 0 })));
    insta::assert_snapshot!(case.transcript(), @r#"
    < names#1 ok happened
    + AttemptEnded names#1 ok happened
    + ObservationMade names text
    + StepSettled names succeeded
    + ListEvaluated each of 2
    + AttemptStarted each[0]#1 permit
    + AttemptStarted each[1]#1 permit
    > call each[0]#1 look.up {"count":0,"text":"0: a"}
    > call each[1]#1 look.up {"count":1,"text":"1: b"}
    < each[1]#1 ok happened
    + AttemptEnded each[1]#1 ok happened
    + ObservationMade each[1] text
    + StepSettled each[1] succeeded
    < each[0]#1 ok happened
    + AttemptEnded each[0]#1 ok happened
    + ObservationMade each[0] text
    + StepSettled each[0] succeeded
    + StepSettled each succeeded
    + RunEnded succeeded ["done"]
    > done succeeded
    "#);
}

#[test]
fn the_output_is_a_list_in_the_order_of_the_items() {
    let case = Case::new(&each("look.up", ""))
        .started()
        .ends("names", names(&["a", "b"]))
        .ends("each[1]", ok(json!({ "total": 11 })))
        .ends("each[0]", ok(json!({ "total": 10 })));
    let view = &case.state().steps["each"].view;
    assert_eq!(view["output"], json!([{ "total": 10 }, { "total": 11 }]));
}

#[test]
fn an_empty_list_is_a_success_without_a_call() {
    let case = Case::new(&each("look.up", ""))
        .started()
        .ends("names", names(&[]));
    insta::assert_snapshot!(case.transcript(), @r#"
    < names#1 ok happened
    + AttemptEnded names#1 ok happened
    + ObservationMade names data
    + StepSettled names succeeded
    + ListEvaluated each of 0
    + StepSettled each succeeded
    + RunEnded succeeded ["done"]
    > done succeeded
    "#);
    assert_eq!(case.state().steps["each"].view["output"], json!([]));
}

#[test]
fn a_list_longer_than_the_plan_says_fails_before_any_call() {
    let case = Case::new(&each("look.up", "max_items: 2"))
        .started()
        .ends("names", names(&["a", "b", "c"]));
    insta::assert_snapshot!(case.transcript(), @"
    < names#1 ok happened
    + AttemptEnded names#1 ok happened
    + ObservationMade names text
    + StepSettled names succeeded
    + StepSettled each failed budget_exceeded: `for_each` has 3 items, more than the 2
    + ReplanRequested step_failed
    + PlanRequested
    > plan request 2: step_failed
    + PlanGivenUp: nothing better is known
    + RunEnded failed: step `each` failed: `for_each` has 3 items, more than the 2
    > done failed
    ");
}

#[test]
fn a_partial_failure_keeps_what_succeeded() {
    let case = Case::new(&each("look.up", "on_failure: continue"))
        .started()
        .ends("names", names(&["a", "b", "c"]))
        .ends("each[0]", failed(Class::NotFound, Landing::None))
        .ends("each[1]", ok(json!({ "total": 1 })))
        .ends("each[2]", failed(Class::PermissionDenied, Landing::None));
    insta::assert_snapshot!(case.transcript(), @r#"
    < names#1 ok happened
    + AttemptEnded names#1 ok happened
    + ObservationMade names text
    + StepSettled names succeeded
    + ListEvaluated each of 3
    + AttemptStarted each[0]#1 permit
    + AttemptStarted each[1]#1 permit
    + AttemptStarted each[2]#1 permit
    > call each[0]#1 look.up {"count":0,"text":"0: a"}
    > call each[1]#1 look.up {"count":1,"text":"1: b"}
    > call each[2]#1 look.up {"count":2,"text":"2: c"}
    < each[0]#1 not_found none
    + AttemptEnded each[0]#1 not_found none
    + StepSettled each[0] failed not_found: it went wrong
    < each[1]#1 ok happened
    + AttemptEnded each[1]#1 ok happened
    + ObservationMade each[1] text
    + StepSettled each[1] succeeded
    < each[2]#1 permission_denied none
    + AttemptEnded each[2]#1 permission_denied none
    + StepSettled each[2] failed permission_denied: it went wrong
    + StepSettled each failed partial: 2 of 3 items failed: it went wrong
    + ReplanRequested unmet
    + PlanRequested
    > plan request 2: unmet
    + PlanGivenUp: nothing better is known
    + RunEnded failed: not proven: `goal`
    > done failed
    "#);
    assert_eq!(
        case.state().steps["each"].view["output"],
        json!([null, { "total": 1 }, null])
    );
}

#[test]
fn a_list_of_which_everything_failed_has_the_class_of_the_first() {
    let case = Case::new(&each("look.up", ""))
        .started()
        .ends("names", names(&["a", "b"]))
        .ends("each[1]", failed(Class::NotFound, Landing::None))
        .ends("each[0]", failed(Class::NotFound, Landing::None));
    insta::assert_snapshot!(case.transcript(), @r#"
    < names#1 ok happened
    + AttemptEnded names#1 ok happened
    + ObservationMade names text
    + StepSettled names succeeded
    + ListEvaluated each of 2
    + AttemptStarted each[0]#1 permit
    + AttemptStarted each[1]#1 permit
    > call each[0]#1 look.up {"count":0,"text":"0: a"}
    > call each[1]#1 look.up {"count":1,"text":"1: b"}
    < each[1]#1 not_found none
    + AttemptEnded each[1]#1 not_found none
    + StepSettled each[1] failed not_found: it went wrong
    < each[0]#1 not_found none
    + AttemptEnded each[0]#1 not_found none
    + StepSettled each[0] failed not_found: it went wrong
    + StepSettled each failed not_found: 2 of 2 items failed: it went wrong
    + ReplanRequested step_failed
    + PlanRequested
    > plan request 2: step_failed
    + PlanGivenUp: nothing better is known
    + RunEnded failed: step `each` failed: 2 of 2 items failed: it went wrong
    > done failed
    "#);
}

#[test]
fn no_more_items_are_in_flight_than_the_limit_lets() {
    let case = Case::new(&each("look.up", ""))
        .limits(|limits| limits.concurrency = 2)
        .started()
        .ends("names", names(&["a", "b", "c"]))
        .ends("each[1]", ok(json!({ "total": 1 })))
        .ends("each[2]", ok(json!({ "total": 1 })))
        .ends("each[0]", ok(json!({ "total": 1 })));
    insta::assert_snapshot!(case.transcript(), @r#"
    < names#1 ok happened
    + AttemptEnded names#1 ok happened
    + ObservationMade names text
    + StepSettled names succeeded
    + ListEvaluated each of 3
    + AttemptStarted each[0]#1 permit
    + AttemptStarted each[1]#1 permit
    > call each[0]#1 look.up {"count":0,"text":"0: a"}
    > call each[1]#1 look.up {"count":1,"text":"1: b"}
    < each[1]#1 ok happened
    + AttemptEnded each[1]#1 ok happened
    + ObservationMade each[1] text
    + StepSettled each[1] succeeded
    + AttemptStarted each[2]#1 permit
    > call each[2]#1 look.up {"count":2,"text":"2: c"}
    < each[2]#1 ok happened
    + AttemptEnded each[2]#1 ok happened
    + ObservationMade each[2] text
    + StepSettled each[2] succeeded
    < each[0]#1 ok happened
    + AttemptEnded each[0]#1 ok happened
    + ObservationMade each[0] text
    + StepSettled each[0] succeeded
    + StepSettled each succeeded
    + RunEnded succeeded ["done"]
    > done succeeded
    "#);
}

#[test]
fn one_card_asks_about_all_items() {
    let case = Case::new(&each("mail.send", "accept: ['${ output.done }']"))
        .limits(|limits| limits.concurrency = 1)
        .started()
        .ends("names", names(&["a", "b"]))
        .approve("ada")
        .ends("each[0]", ok(json!({ "done": true })))
        .ends("each[1]", ok(json!({ "done": true })));
    insta::assert_snapshot!(case.transcript(), @r#"
    < names#1 ok happened
    + AttemptEnded names#1 ok happened
    + ObservationMade names text
    + StepSettled names succeeded
    + ListEvaluated each of 2
    + ApprovalRequested each ["outside-communication", "untrusted-control", "untrusted-sink"]: {"count":0,"text":"0: a"} {"count":1,"text":"1: b"}
    > ask about each
    < ada says yes
    + ApprovalGiven by ada
    + AttemptStarted each[0]#1 ask approved
    > call each[0]#1 mail.send {"count":0,"text":"0: a"}
    < each[0]#1 ok happened
    + AttemptEnded each[0]#1 ok happened
    + ObservationMade each[0] text
    + StepSettled each[0] succeeded
    + AttemptStarted each[1]#1 ask approved
    > call each[1]#1 mail.send {"count":1,"text":"1: b"}
    < each[1]#1 ok happened
    + AttemptEnded each[1]#1 ok happened
    + ObservationMade each[1] text
    + StepSettled each[1] succeeded
    + StepSettled each succeeded
    + RunEnded succeeded ["done"]
    > done succeeded
    "#);
}

#[test]
fn items_that_a_person_leaves_out_are_skipped() {
    let case = Case::new(&each("mail.send", "accept: ['${ output.done }']"))
        .started()
        .ends("names", names(&["a", "b", "c"]))
        .approve_steps("ada", &["each[3]"])
        .approve_steps("ada", &["each[0]", "each[2]"])
        .ends("each[2]", ok(json!({ "done": true })))
        .ends("each[0]", ok(json!({ "done": true })));
    insta::assert_snapshot!(case.transcript(), @r#"
    < names#1 ok happened
    + AttemptEnded names#1 ok happened
    + ObservationMade names text
    + StepSettled names succeeded
    + ListEvaluated each of 3
    + ApprovalRequested each ["outside-communication", "untrusted-control", "untrusted-sink"]: {"count":0,"text":"0: a"} {"count":1,"text":"1: b"} {"count":2,"text":"2: c"}
    > ask about each
    < ada says yes each[3]
    ! the card does not ask about step `each[3]`
    < ada says yes each[0] each[2]
    + ApprovalGiven by ada
    + StepSkipped each[1] NotApproved
    + AttemptStarted each[0]#1 ask approved
    + AttemptStarted each[2]#1 ask approved
    > call each[0]#1 mail.send {"count":0,"text":"0: a"}
    > call each[2]#1 mail.send {"count":2,"text":"2: c"}
    < each[2]#1 ok happened
    + AttemptEnded each[2]#1 ok happened
    + ObservationMade each[2] text
    + StepSettled each[2] succeeded
    < each[0]#1 ok happened
    + AttemptEnded each[0]#1 ok happened
    + ObservationMade each[0] text
    + StepSettled each[0] succeeded
    + StepSettled each succeeded
    + RunEnded succeeded ["done"]
    > done succeeded
    "#);
}

#[test]
fn a_no_is_to_all_items() {
    let case = Case::new(&each("mail.send", ""))
        .started()
        .ends("names", names(&["a", "b"]))
        .reject("ada", "not these");
    insta::assert_snapshot!(case.transcript(), @r#"
    < names#1 ok happened
    + AttemptEnded names#1 ok happened
    + ObservationMade names text
    + StepSettled names succeeded
    + ListEvaluated each of 2
    + ApprovalRequested each ["outside-communication", "untrusted-control", "untrusted-sink"]: {"count":0,"text":"0: a"} {"count":1,"text":"1: b"}
    > ask about each
    < ada says no
    + ApprovalRejected by ada: not these
    + StepSettled each[0] failed rejected: not these
    + StepSettled each[1] failed rejected: not these
    + StepSettled each failed rejected: 2 of 2 items failed: not these
    + ReplanRequested rejected
    + PlanRequested
    > plan request 2: rejected
    + PlanGivenUp: nothing better is known
    + RunEnded rejected: a person rejected it: 2 of 2 items failed: not these
    > done rejected
    "#);
}

const SOME_ASK: &str = r#"
permit (principal, action, resource);
@id("odd") forbid (principal, action in Action::"call", resource)
when { !resource.attended && context.args has count && context.args.count == 1 };
"#;

/// Policy asks about one item only: the others run, and the one card still comes at once.
#[test]
fn items_that_need_no_yes_do_not_wait_for_one() {
    let plan = each("page.send", "accept: ['${ output.done }']");
    let case = Case::under(SOME_ASK, &plan)
        .limits(|limits| limits.concurrency = 1)
        .started()
        .ends("names", names(&["a", "b", "c"]))
        .ends("each[0]", failed(Class::Unavailable, Landing::Unknown))
        .tick(2_000)
        .ends("each[2]", ok(json!({ "done": true })))
        .ends("each[0]", ok(json!({ "done": true })))
        .approve("bob")
        .ends("each[1]", ok(json!({ "done": true })));
    insta::assert_snapshot!(case.transcript(), @r#"
    < names#1 ok happened
    + AttemptEnded names#1 ok happened
    + ObservationMade names text
    + StepSettled names succeeded
    + ListEvaluated each of 3
    + AttemptStarted each[0]#1 permit
    + ApprovalRequested each ["odd"]: {"count":1,"text":"1: b"}
    > call each[0]#1 page.send {"count":0,"text":"0: a"}
    > ask about each
    < each[0]#1 unavailable unknown
    + AttemptEnded each[0]#1 unavailable unknown again at 1500
    + AttemptStarted each[2]#1 permit
    > call each[2]#1 page.send {"count":2,"text":"2: c"}
    > wait until 1500
    < tick 2000
    < each[2]#1 ok happened
    + AttemptEnded each[2]#1 ok happened
    + ObservationMade each[2] text
    + StepSettled each[2] succeeded
    + AttemptStarted each[0]#2 permit
    > call each[0]#2 page.send {"count":0,"text":"0: a"}
    < each[0]#2 ok happened
    + AttemptEnded each[0]#2 ok happened
    + ObservationMade each[0] text
    + StepSettled each[0] succeeded
    < bob says yes
    + ApprovalGiven by bob
    + AttemptStarted each[1]#1 ask approved
    > call each[1]#1 page.send {"count":1,"text":"1: b"}
    < each[1]#1 ok happened
    + AttemptEnded each[1]#1 ok happened
    + ObservationMade each[1] text
    + StepSettled each[1] succeeded
    + StepSettled each succeeded
    + RunEnded succeeded ["done"]
    > done succeeded
    "#);
}

#[test]
fn an_item_in_doubt_puts_its_step_in_doubt_once_all_have_settled() {
    let case = Case::new(&each("mail.send", "accept: ['${ output.done }']"))
        .started()
        .ends("names", names(&["a", "b"]))
        .approve("ada")
        .ends("each[0]", failed(Class::Timeout, Landing::Unknown))
        .ends("each[1]", ok(json!({ "done": true })));
    insta::assert_snapshot!(case.transcript(), @r#"
    < names#1 ok happened
    + AttemptEnded names#1 ok happened
    + ObservationMade names text
    + StepSettled names succeeded
    + ListEvaluated each of 2
    + ApprovalRequested each ["outside-communication", "untrusted-control", "untrusted-sink"]: {"count":0,"text":"0: a"} {"count":1,"text":"1: b"}
    > ask about each
    < ada says yes
    + ApprovalGiven by ada
    + AttemptStarted each[0]#1 ask approved
    + AttemptStarted each[1]#1 ask approved
    > call each[0]#1 mail.send {"count":0,"text":"0: a"}
    > call each[1]#1 mail.send {"count":1,"text":"1: b"}
    < each[0]#1 timeout unknown
    + AttemptEnded each[0]#1 timeout unknown
    + StepSettled each[0] in_doubt timeout: it went wrong
    < each[1]#1 ok happened
    + AttemptEnded each[1]#1 ok happened
    + ObservationMade each[1] text
    + StepSettled each[1] succeeded
    + StepSettled each in_doubt partial: 1 of 2 items are in doubt
    "#);
    assert_eq!(case.status(), "in_doubt");
}

/// The control is a card of few items, which opens.
#[test]
fn a_card_that_is_too_large_to_keep_fails_its_calls() {
    let text = "x".repeat(120_000);
    for (items, fits) in [(2, true), (40, false)] {
        let case = Case::new(&each("mail.send", "accept: ['${ output.done }']"))
            .started()
            .ends("names", names(&vec![&*text; items]));
        let asked = case.state().open_cards().count();
        assert_eq!(asked, usize::from(fits), "{items} items");
        let transcript = case.transcript();
        let failed = transcript.matches("its card would have").count();
        assert_eq!(failed > 0, !fits, "{items} items");
        let status = if fits { "waiting_approval" } else { "failed" };
        assert_eq!(case.status(), status, "{items} items");
    }
}

/// What the proof that every item has an output comes to, where the second of two failed.
fn every_item_proven(guard: &str, more: &str) -> Proven {
    let plan = format!(
        r#"
schema: provost/plan/v1
success:
  - {{ for: goal, check: '${{ {guard}size(steps.each.output) == 2 }}' }}
steps:
  - id: each
    tool: look.up
    for_each: ${{ ["a", "b"] }}
    args: {{ text: "${{ item }}" }}
    {more}
answer: done
"#
    );
    let case = Case::new(&plan)
        .started()
        .ends("each[0]", ok(json!({ "total": 0 })))
        .ends("each[1]", failed(Class::NotFound, Landing::None));
    let ended = case.state().ending.ended.as_ref().expect("it ended");
    ended.criteria["goal"].clone()
}

#[test]
fn the_items_of_a_list_that_failed_prove_nothing() {
    let proven = every_item_proven("", "");
    assert!(
        matches!(&proven, Proven::Failed(why) if why.contains("output")),
        "{proven:?}"
    );
    // The control: a plan that goes on after a failure reads what there is.
    let goes_on = every_item_proven("has(steps.each.output) && ", "on_failure: continue");
    assert_eq!(goes_on, Proven::Held);
}

#[test]
fn a_claim_about_an_empty_list_cites_its_step() {
    let plan = each("look.up", "").replace(
        "answer: done",
        "answer: [{ text: 'Done: ${ size(steps.each.output) }.', cites: [each] }]",
    );
    let case = Case::new(&plan).started().ends("names", names(&[]));
    let ended = case.state().ending.ended.as_ref().expect("it ended");
    let [part] = ended.answer.as_slice() else {
        panic!("{ended:?}")
    };
    let cited: Vec<&str> = part.cites.iter().map(|cite| cite.step.as_str()).collect();
    assert_eq!((cited, part.assertion), (vec!["each"], false));
    assert_eq!(part.cites[0].evidence, []);
}
