//! Polling: a read that is repeated until its `until` holds, and what a crash does to the waits.

use crate::case::{Case, failed, ok};
use provost_run::admission::Denial;
use provost_run::outcome::{Class, Landing};
use provost_run::read::trace::trace;
use serde_json::json;

/// A read that polls every second for at most 2.5, with these other fields.
fn polling(more: &str) -> String {
    format!(
        r#"
schema: provost/plan/v1
success:
  - {{ for: goal, check: '${{ steps.job.status == "succeeded" }}' }}
steps:
  - id: job
    tool: look.up
    until: '${{ output.total == 9 }}'
    every: 1s
    at_most: 2500ms
{more}
answer: done
"#
    )
}

fn total(total: i64) -> provost_run::outcome::Reply {
    ok(json!({ "total": total }))
}

#[test]
fn a_read_is_repeated_until_its_condition_holds() {
    let case = Case::new(&polling("    accept: ['${ output.total > 5 }']"))
        .started()
        .ends("job", total(1))
        .tick(1_999)
        .tick(2_000)
        .ends("job", total(9));
    insta::assert_snapshot!(case.transcript(), @r#"
    < job#1 ok happened
    + AttemptEnded job#1 ok happened not yet again at 2000
    > wait until 2000
    < tick 1999
    > wait until 2000
    < tick 2000
    + AttemptStarted job#2 permit
    > call job#2 look.up {}
    < job#2 ok happened
    + AttemptEnded job#2 ok happened
    + ObservationMade job data
    + StepSettled job succeeded
    + RunEnded succeeded ["done"]
    > done succeeded
    "#);
}

#[test]
fn acceptance_is_judged_of_the_last_poll_only() {
    let case = Case::new(&polling("    accept: ['${ has(output.ok) && output.ok }']"))
        .started()
        .ends("job", ok(json!({ "total": 1, "ok": false })))
        .tick(2_000)
        .ends("job", ok(json!({ "total": 9, "ok": false })));
    insta::assert_snapshot!(case.transcript(), @"
    < job#1 ok happened
    + AttemptEnded job#1 ok happened not yet again at 2000
    > wait until 2000
    < tick 2000
    + AttemptStarted job#2 permit
    > call job#2 look.up {}
    < job#2 ok happened
    + AttemptEnded job#2 ok happened
    + ObservationMade job data
    + StepSettled job failed acceptance_failed: `${ has(output.ok) && output.ok }` does not hold
    + ReplanRequested step_failed
    + PlanRequested
    > plan request 2: step_failed
    + PlanGivenUp: nothing better is known
    + RunEnded failed: step `job` failed: `${ has(output.ok) && output.ok }` does not hold
    > done failed
    ");
}

#[test]
fn polling_ends_when_the_next_poll_would_be_too_late() {
    let case = Case::new(&polling("    on_failure: stop"))
        .started()
        .ends("job", total(1))
        .tick(2_000)
        .at(2_600)
        .ends("job", total(2));
    insta::assert_snapshot!(case.transcript(), @"
    < job#1 ok happened
    + AttemptEnded job#1 ok happened not yet again at 2000
    > wait until 2000
    < tick 2000
    + AttemptStarted job#2 permit
    > call job#2 look.up {}
    < job#2 ok happened
    + AttemptEnded job#2 ok happened not yet
    + StepSettled job failed deadline_exceeded: `until` did not hold within 2500ms
    + RunEnded failed: step `job` failed: `until` did not hold within 2500ms
    > done failed
    ");
}

#[test]
fn a_poll_that_comes_too_late_is_not_made() {
    let case = Case::new(&polling("    on_failure: stop"))
        .started()
        .ends("job", total(1))
        .tick(3_501);
    assert_eq!(case.state().spend.attempts, 1);
    insta::assert_snapshot!(case.transcript(), @"
    < job#1 ok happened
    + AttemptEnded job#1 ok happened not yet again at 2000
    > wait until 2000
    < tick 3501
    + StepSettled job failed deadline_exceeded: `until` did not hold within 2500ms
    + RunEnded failed: step `job` failed: `until` did not hold within 2500ms
    > done failed
    ");
}

#[test]
fn each_poll_has_the_tries_of_a_read() {
    let more = "    retry: { attempts: 2, backoff: 100ms }\n    on_failure: stop";
    let down = || failed(Class::Unavailable, Landing::None);
    let case = Case::new(&polling(more))
        .started()
        .ends("job", down())
        .tick(1_100)
        .ends("job", total(1))
        .tick(2_100)
        .ends("job", down())
        .tick(2_200)
        .ends("job", total(2))
        .tick(3_200)
        .ends("job", down())
        .tick(3_300)
        .ends("job", down());
    assert_eq!(
        (case.state().spend.calls, case.state().spend.attempts),
        (1, 6)
    );
    assert_eq!(case.status(), "failed");
    let failure = case.state().failure("job").map(|(class, _)| class);
    assert_eq!(failure, Some(Class::Unavailable));
    let counts = trace(&case.journal).metrics;
    assert_eq!((counts.attempts, counts.polls, counts.retries), (6, 2, 3));
}

#[test]
fn a_poll_lost_with_its_process_is_not_repeated_at_once() {
    let case = Case::new(&polling("    on_failure: stop"))
        .started()
        .at(1_400)
        .crash()
        .tick(2_399)
        .tick(2_400)
        .at(3_000)
        .crash();
    insta::assert_snapshot!(case.transcript(), @"
    < crash
    + Resumed, 1 lost
    + AttemptEnded job#1 unavailable unknown again at 2400 lost
    > wait until 2400
    < tick 2399
    > wait until 2400
    < tick 2400
    + AttemptStarted job#2 permit
    > call job#2 look.up {}
    < crash
    + Resumed, 1 lost
    + AttemptEnded job#2 unavailable unknown lost
    + StepSettled job failed deadline_exceeded: `until` did not hold within 2500ms
    + RunEnded failed: step `job` failed: `until` did not hold within 2500ms
    > done failed
    ");
}

#[test]
fn a_process_that_takes_the_run_up_keeps_the_wait() {
    let case = Case::new(&polling(""))
        .started()
        .ends("job", total(1))
        .at(1_500)
        .crash();
    assert_eq!(case.state().in_flight(), 0);
    let case = case.tick(2_000);
    assert_eq!(case.state().in_flight(), 1);
}

#[test]
fn nothing_is_polled_while_the_run_is_paused_and_not_beyond_its_time() {
    let waits = || Case::new(&polling("    on_failure: stop")).started();
    let case = waits().ends("job", total(1)).pause().tick(2_000);
    assert_eq!(case.state().in_flight(), 0);
    assert_eq!(case.at(2_500).go_on().state().in_flight(), 1);
    let late = waits().ends("job", total(1)).pause().at(9_000).go_on();
    assert_eq!(late.status(), "failed");
}

#[test]
fn a_cancelled_run_polls_no_more() {
    let case = Case::new(&polling("")).started().ends("job", total(1));
    let case = case.cancel("ada");
    assert_eq!(case.status(), "cancelled");
    assert_eq!(case.state().spend.attempts, 1);
}

#[test]
fn a_poll_is_admitted_as_any_call() {
    let later = Denial::Later {
        until: 2_200,
        because: "the rate is used up".to_owned(),
        broken: false,
    };
    let case = Case::new(&polling(""))
        .started()
        .ends("job", total(1))
        .denying(vec![("job", later)])
        .tick(2_000);
    assert_eq!(case.state().in_flight(), 0);
    let case = case.denying(Vec::new()).tick(2_200);
    assert_eq!(case.state().in_flight(), 1);
}

#[test]
fn polls_count_against_the_attempts_of_the_run() {
    let case = Case::new(&polling("    retry: 1"))
        .limits(|limits| limits.attempts = 2)
        .started();
    assert_eq!(
        case.status(),
        "refused",
        "three polls are more than two attempts"
    );
}

#[test]
fn a_condition_that_has_no_value_fails_the_step() {
    let plan = polling("    on_failure: stop").replace("output.total == 9", "9 / output.total > 1");
    let case = Case::new(&plan).started().ends("job", total(0));
    let failure = case.state().failure("job").map(|(class, _)| class);
    assert_eq!(failure, Some(Class::Expression));
}

#[test]
fn each_item_of_a_list_is_polled_for_itself() {
    let plan = polling("    for_each: '${ [1, 2] }'");
    let case = Case::new(&plan)
        .started()
        .ends("job[0]", total(9))
        .ends("job[1]", total(1))
        .tick(2_000)
        .ends("job[1]", total(9));
    assert_eq!(case.status(), "succeeded");
    assert_eq!(case.state().spend.attempts, 3);
}

#[test]
fn a_polled_reading_that_holds_no_more_is_stale_and_is_not_polled_for() {
    let plan = r#"
schema: provost/plan/v1
success:
  - { for: goal, check: '${ steps.put.status == "succeeded" }' }
steps:
  - { id: look, tool: look.up, until: '${ output.total == 9 }', every: 1s, at_most: 10s }
  - { id: put, tool: note.put, args: { to: box, count: '${ steps.look.output.total }' }, approval: required, accept: ['${ output.done }'], fresh: 5s, on_failure: stop }
answer: done
"#;
    let case = Case::new(plan)
        .started()
        .ends("look", total(9))
        .quietly()
        .at(60_000)
        .approve("ada")
        .ends("look", total(3));
    insta::assert_snapshot!(case.transcript(), @"
    < ada says yes
    + ApprovalGiven by ada
    + AttemptStarted look#2 permit
    > call look#2 look.up {}
    < look#2 ok happened
    + AttemptEnded look#2 acceptance_failed happened
    + StepSettled put failed stale: what it acts on is too old: `look` was read again and is not accepted: `${ output.total == 9 }` does not hold
    + RunEnded failed: step `put` failed: what it acts on is too old: `look` was read again and is not accepted: `${ output.total == 9 }` does not hold
    > done failed
    ");
}
