//! Doubt: a write whose outcome is unknown is never repeated blindly, by anything.

use crate::case::{Case, failed, ok, rules_with};
use provost_plan::catalog::Idempotency;
use provost_run::outcome::{Class, Landing};
use serde_json::json;

fn one(tool: &str, more: &str) -> String {
    format!(
        r#"
schema: provost/plan/v1
success:
  - {{ for: goal, check: '${{ steps.put.status == "succeeded" && steps.next.status != "failed" }}' }}
steps:
  - {{ id: put, tool: {tool}, args: {{ to: box }}, accept: ['${{ output.done }}'] {more} }}
  - {{ id: next, tool: look.up, needs: [put] }}
answer: done
"#
    )
}

#[test]
fn a_plain_write_that_may_have_landed_is_in_doubt() {
    let case = Case::new(&one("note.put", ""))
        .started()
        .ends("put", failed(Class::Timeout, Landing::Unknown))
        .tick(100_000);
    insta::assert_snapshot!(case.transcript(), @"
    < put#1 timeout unknown
    + AttemptEnded put#1 timeout unknown
    + StepSettled put in_doubt timeout: it went wrong
    < tick 100000
    ");
    assert_eq!(case.status(), "in_doubt");
}

#[test]
fn a_plain_write_lost_with_its_process_is_in_doubt() {
    let case = Case::new(&one("note.put", "")).started().crash().crash();
    insta::assert_snapshot!(case.transcript(), @"
    < crash
    + Resumed, 1 lost
    + AttemptEnded put#1 unavailable unknown lost
    + StepSettled put in_doubt unavailable: the process ended before an answer was recorded
    < crash
    + Resumed, 0 lost
    ");
    assert_eq!(case.status(), "in_doubt");
}

#[test]
fn a_write_with_a_key_sends_the_same_one_on_every_attempt() {
    let case = Case::new(&one("page.send", ""))
        .started()
        .ends("put", failed(Class::Timeout, Landing::Unknown))
        .tick(2_000)
        .crash()
        .ends("put", ok(json!({ "done": true })));
    insta::assert_snapshot!(case.transcript(), @r#"
    < put#1 timeout unknown
    + AttemptEnded put#1 timeout unknown again at 1500
    > wait until 1500
    < tick 2000
    + AttemptStarted put#2 permit
    > call put#2 page.send {"to":"box"}
    < crash
    + Resumed, 1 lost
    + AttemptEnded put#2 unavailable unknown lost
    + AttemptStarted put#3 permit
    > call put#3 page.send {"to":"box"}
    < put#3 ok happened
    + AttemptEnded put#3 ok happened
    + ObservationMade put data
    + StepSettled put succeeded
    + AttemptStarted next#1 permit
    > call next#1 look.up {}
    "#);
    let keys: Vec<&String> = case.keys().iter().map(|(_, key)| key).collect();
    assert_eq!(keys.len(), 3);
    assert!(keys.iter().all(|key| *key == keys[0]), "{keys:?}");
}

/// The control of the test above: another step, and another run, have other keys.
#[test]
fn a_key_is_of_one_step_of_one_run() {
    let plan = one("page.send", ", for_each: '${ [1, 2] }'")
        .replace("to: box", "to: box, text: 'no. ${ index }'");
    let case = Case::new(&plan).started();
    assert_ne!(case.keys()[0].1, case.keys()[1].1);
    let other = Case::new(&one("page.send", "")).started();
    assert_ne!(case.keys()[0].1, other.keys()[0].1);
}

#[test]
fn a_key_that_is_too_old_by_the_next_attempt_leaves_a_doubt() {
    let plan = one("page.send", ", retry: { attempts: 3, backoff: 60s }");
    let case = Case::new(&plan)
        .started()
        .ends("put", failed(Class::Timeout, Landing::Unknown));
    insta::assert_snapshot!(case.transcript(), @"
    < put#1 timeout unknown
    + AttemptEnded put#1 timeout unknown
    + StepSettled put in_doubt timeout: it went wrong
    ");
}

/// A call takes up to five seconds to arrive, and its key lives for sixty.
#[test]
fn a_key_must_live_until_the_next_attempt_has_arrived() {
    let after = |backoff: &str| {
        let retry = format!(", retry: {{ attempts: 3, backoff: {backoff} }}");
        Case::new(&one("page.send", &retry))
            .started()
            .ends("put", failed(Class::Timeout, Landing::Unknown))
            .status()
    };
    assert_eq!(after("54s"), "running", "it arrives in time");
    assert_eq!(after("56s"), "in_doubt", "it may arrive too late");
}

#[test]
fn a_key_that_died_while_no_process_ran_leaves_a_doubt() {
    let case = Case::new(&one("page.send", ""))
        .started()
        .ends("put", failed(Class::Timeout, Landing::Unknown))
        .at(61_000)
        .crash();
    insta::assert_snapshot!(case.transcript(), @"
    < put#1 timeout unknown
    + AttemptEnded put#1 timeout unknown again at 1500
    > wait until 1500
    < crash
    + Resumed, 0 lost
    + StepSettled put in_doubt timeout: it may have taken place, and repeating it is no longer safe
    ");
    let lost = Case::new(&one("page.send", ""))
        .started()
        .at(61_000)
        .crash();
    insta::assert_snapshot!(lost.transcript(), @"
    < crash
    + Resumed, 1 lost
    + AttemptEnded put#1 unavailable unknown lost
    + StepSettled put in_doubt unavailable: the process ended before an answer was recorded
    ");
}

/// An attempt that surely failed does not undo one before it that may have landed.
#[test]
fn a_later_attempt_that_was_not_sent_does_not_end_a_doubt() {
    let case = Case::new(&one("page.send", ""))
        .started()
        .ends("put", failed(Class::Timeout, Landing::Unknown))
        .tick(2_000)
        .at(62_000)
        .ends("put", failed(Class::Unavailable, Landing::None));
    insta::assert_snapshot!(case.transcript(), @r#"
    < put#1 timeout unknown
    + AttemptEnded put#1 timeout unknown again at 1500
    > wait until 1500
    < tick 2000
    + AttemptStarted put#2 permit
    > call put#2 page.send {"to":"box"}
    < put#2 unavailable none
    + AttemptEnded put#2 unavailable none
    + StepSettled put in_doubt unavailable: it went wrong
    "#);
}

#[test]
fn a_key_whose_attempts_are_used_up_leaves_a_doubt() {
    let plan = one("page.send", ", retry: { attempts: 1, backoff: 1s }");
    let case = Case::new(&plan)
        .started()
        .ends("put", failed(Class::Timeout, Landing::Unknown));
    insta::assert_snapshot!(case.transcript(), @"
    < put#1 timeout unknown
    + AttemptEnded put#1 timeout unknown
    + StepSettled put in_doubt timeout: it went wrong
    ");
}

/// What the words of an error say decides only where no key exists.
#[test]
fn a_write_with_a_key_is_repeated_under_it_whatever_the_error_says() {
    for class in [
        Class::Conflict,
        Class::NotFound,
        Class::InvalidArguments,
        Class::PermissionDenied,
        Class::OutputInvalid,
        Class::ToolBug,
    ] {
        let after = |tool: &str| {
            let case = Case::new(&one(tool, "")).started();
            case.ends("put", failed(class, Landing::Unknown))
        };
        let case = after("page.send");
        assert_eq!(case.status(), "running", "{}", class.word());
        let case = case
            .tick(2_000)
            .ends("put", ok(json!({ "done": true })))
            .ends("next", ok(json!({ "total": 1 })));
        assert_eq!(case.status(), "succeeded", "{}", class.word());
        let keys = case.keys();
        assert!(keys.len() == 2 && keys[0].1 == keys[1].1, "{keys:?}");
        // The control: without a key there is nothing to repeat it under.
        assert_eq!(after("note.put").status(), "in_doubt", "{}", class.word());
    }
}

/// An answer that the first try never got ends the doubt; a refusal of the second does not.
#[test]
fn a_try_that_was_refused_after_one_that_may_have_landed_is_made_again() {
    let case = Case::new(&one("page.send", ""))
        .started()
        .ends("put", failed(Class::Timeout, Landing::Unknown))
        .tick(2_000)
        .ends("put", failed(Class::Conflict, Landing::None));
    assert_eq!(case.status(), "running");
    let case = case.tick(10_000).ends("put", ok(json!({ "done": true })));
    assert_eq!(
        case.state().spend.attempts,
        4,
        "three of `put`, one of `next`"
    );
    // The control: what was surely refused, and never tried before, fails at once.
    let refused = Case::new(&one("page.send", ""))
        .started()
        .ends("put", failed(Class::Conflict, Landing::None));
    assert_eq!(refused.status(), "failed");
}

#[test]
fn a_write_with_a_key_that_no_try_settles_is_in_doubt_at_the_end() {
    let case = Case::new(&one("page.send", ""))
        .started()
        .ends("put", failed(Class::Conflict, Landing::Unknown))
        .tick(2_000)
        .ends("put", failed(Class::Conflict, Landing::Unknown))
        .tick(5_000)
        .ends("put", failed(Class::Conflict, Landing::Unknown));
    assert_eq!(case.status(), "in_doubt");
    assert_eq!(case.state().spend.attempts, 3);
    // And so it is where its key dies first.
    let plan = one("page.send", ", retry: { attempts: 3, backoff: 56s }");
    let late = Case::new(&plan)
        .started()
        .ends("put", failed(Class::Conflict, Landing::Unknown));
    assert_eq!(late.status(), "in_doubt");
}

/// A tool that came to recognise keys after the call was made never saw one.
#[test]
fn a_tool_that_moved_is_not_called_again_over_a_doubt() {
    let case = Case::new(&one("page.send", ""))
        .started()
        .ends("put", failed(Class::Timeout, Landing::Unknown))
        .crash_into(rules_with(|operation| {
            if operation.name == "page.send" {
                operation.description = "somebody else's".to_owned();
            }
        }))
        .tick(2_000);
    insta::assert_snapshot!(case.transcript(), @"
    < put#1 timeout unknown
    + AttemptEnded put#1 timeout unknown again at 1500
    > wait until 1500
    < crash
    + Resumed, 0 lost
    + PlanChecked revision 1
    + ApprovalsRevised retain [] replace [] clear []
    > wait until 1500
    < tick 2000
    + StepSettled put in_doubt timeout: it may have taken place, and repeating it is no longer safe
    ");
    let lost = Case::new(&one("note.put", ""))
        .started()
        .crash_into(rules_with(|operation| {
            if operation.name == "note.put" {
                operation.idempotency = Idempotency::Natural;
            }
        }));
    insta::assert_snapshot!(lost.transcript(), @"
    < crash
    + Resumed, 1 lost
    + AttemptEnded put#1 unavailable unknown lost
    + StepSettled put in_doubt unavailable: the process ended before an answer was recorded
    + PlanChecked revision 1
    + ApprovalsRevised retain [] replace [] clear []
    ");
}

/// A revision that takes the order between the two away is refused by the check.
#[test]
fn no_revision_reaches_what_a_doubt_is_about() {
    let plan = r#"
schema: provost/plan/v1
success:
  - { for: goal, check: '${ steps.bad.status == "succeeded" }' }
steps:
  - { id: first, tool: note.put, args: { to: box, text: one }, accept: ['${ output.done }'] }
  - { id: bad, tool: look.up }
answer: done
"#;
    let revised = |to: &str| {
        format!(
            "{}\n",
            plan.replace("answer:", &format!("  - {{ id: second, tool: note.put, args: {{ to: {to}, text: two }}, accept: ['${{ output.done }}'], on_failure: continue }}\nanswer:"))
                .replace("steps.bad.status", "steps.second.status")
        )
    };
    let run = |to: &str| {
        Case::new(plan)
            .replans(&revised(to))
            .started()
            .ends("first", failed(Class::Timeout, Landing::Unknown))
            .ends("bad", failed(Class::NotFound, Landing::None))
    };
    insta::assert_snapshot!(run("box").transcript(), @"
    < first#1 timeout unknown
    + AttemptEnded first#1 timeout unknown
    + StepSettled first in_doubt timeout: it went wrong
    < bad#1 not_found none
    + AttemptEnded bad#1 not_found none
    + StepSettled bad failed not_found: it went wrong
    + ReplanRequested step_failed
    + PlanRequested
    > plan request 2: step_failed
    + PlanProposed
    + PlanRefused E303 S702 E304 S704
    + PlanRequested
    > plan request 3: step_failed
    + PlanGivenUp: nothing better is known
    + RunEnded failed: step `bad` failed: it went wrong
    > done failed
    ");
    insta::assert_snapshot!(run("bag").transcript(), @r#"
    < first#1 timeout unknown
    + AttemptEnded first#1 timeout unknown
    + StepSettled first in_doubt timeout: it went wrong
    < bad#1 not_found none
    + AttemptEnded bad#1 not_found none
    + StepSettled bad failed not_found: it went wrong
    + ReplanRequested step_failed
    + PlanRequested
    > plan request 2: step_failed
    + PlanProposed
    + PlanChecked revision 2
    + PlanRevised added ["second"] changed [] removed []
    + ApprovalsRevised retain [] replace [] clear []
    + AttemptStarted second#1 permit
    > call second#1 note.put {"text":"two","to":"bag"}
    "#);
}

#[test]
fn no_call_with_the_same_sinks_starts_while_a_doubt_stands() {
    let run = |to: &str| {
        let plan = format!(
            r#"
schema: provost/plan/v1
success:
  - {{ for: goal, check: '${{ steps.put.status == "succeeded" }}' }}
steps:
  - id: put
    tool: note.put
    for_each: '${{ ["one", "two"] }}'
    args: {{ to: {to}, text: '${{ item }}' }}
    accept: ['${{ output.done }}']
answer: done
"#
        );
        Case::new(&plan)
            .limits(|limits| limits.concurrency = 1)
            .started()
            .ends("put[0]", failed(Class::Timeout, Landing::Unknown))
    };
    insta::assert_snapshot!(run("box").transcript(), @"
    < put[0]#1 timeout unknown
    + AttemptEnded put[0]#1 timeout unknown
    + StepSettled put[0] in_doubt timeout: it went wrong
    + StepSettled put[1] failed conflict: step `put[0]` may already have done this, its outcome is unknown
    + StepSettled put in_doubt partial: 1 of 2 items are in doubt
    ");
    insta::assert_snapshot!(run("'${ item }'").transcript(), @r#"
    < put[0]#1 timeout unknown
    + AttemptEnded put[0]#1 timeout unknown
    + StepSettled put[0] in_doubt timeout: it went wrong
    + AttemptStarted put[1]#1 permit
    > call put[1]#1 note.put {"text":"two","to":"two"}
    "#);
}

#[test]
fn a_doubt_outlives_a_run_that_ends_before_the_next_attempt() {
    let case = Case::new(&one("page.send", ""))
        .started()
        .ends("put", failed(Class::Timeout, Landing::Unknown))
        .cancel("ada");
    insta::assert_snapshot!(case.transcript(), @"
    < put#1 timeout unknown
    + AttemptEnded put#1 timeout unknown again at 1500
    > wait until 1500
    < ada cancels
    + CancelRequested
    + StepSettled put in_doubt cancelled: the run ended before this was known
    + RunEnded cancelled: cancelled by ada
    > done cancelled
    ");
}
