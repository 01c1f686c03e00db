//! Retry: what may be tried again, when, how often, and what a crash does to the count.

use std::time::Duration;

use crate::case::{Case, failed, ok};
use provost_run::outcome::{Class, Landing};
use serde_json::json;

fn read(more: &str) -> String {
    format!(
        r#"
schema: provost/plan/v1
success:
  - {{ for: goal, check: '${{ steps.count.status == "succeeded" }}' }}
steps:
  - {{ id: count, tool: look.up {more} }}
answer: done
"#
    )
}

#[test]
fn a_read_is_tried_again_after_a_wait_that_doubles() {
    let case = Case::new(&read(""))
        .started()
        .ends("count", failed(Class::Timeout, Landing::Unknown))
        .tick(1_400)
        .tick(1_500)
        .ends("count", failed(Class::Unavailable, Landing::None))
        .tick(2_500)
        .ends("count", ok(json!({ "total": 4 })));
    insta::assert_snapshot!(case.transcript(), @r#"
    < count#1 timeout unknown
    + AttemptEnded count#1 timeout unknown again at 1500
    > wait until 1500
    < tick 1400
    > wait until 1500
    < tick 1500
    + AttemptStarted count#2 permit
    > call count#2 look.up {}
    < count#2 unavailable none
    + AttemptEnded count#2 unavailable none again at 2500
    > wait until 2500
    < tick 2500
    + AttemptStarted count#3 permit
    > call count#3 look.up {}
    < count#3 ok happened
    + AttemptEnded count#3 ok happened
    + ObservationMade count data
    + StepSettled count succeeded
    + RunEnded succeeded ["done"]
    > done succeeded
    "#);
}

#[test]
fn the_attempts_of_a_step_have_an_end() {
    let case = Case::new(&read(", retry: { attempts: 2, backoff: 1s }"))
        .started()
        .ends("count", failed(Class::Timeout, Landing::Unknown))
        .tick(2_000)
        .ends("count", failed(Class::Timeout, Landing::Unknown));
    insta::assert_snapshot!(case.transcript(), @"
    < count#1 timeout unknown
    + AttemptEnded count#1 timeout unknown again at 2000
    > wait until 2000
    < tick 2000
    + AttemptStarted count#2 permit
    > call count#2 look.up {}
    < count#2 timeout unknown
    + AttemptEnded count#2 timeout unknown
    + StepSettled count failed timeout: it went wrong
    + ReplanRequested step_failed
    + PlanRequested
    > plan request 2: step_failed
    + PlanGivenUp: nothing better is known
    + RunEnded failed: step `count` failed: it went wrong
    > done failed
    ");
}

#[test]
fn a_tool_that_asks_for_a_slower_pace_gets_it() {
    let mut slow = failed(Class::RateLimited, Landing::None);
    slow.retry_after = Some(Duration::from_secs(7));
    let case = Case::new(&read(""))
        .started()
        .ends("count", slow)
        .tick(7_999)
        .tick(8_000);
    insta::assert_snapshot!(case.transcript(), @"
    < count#1 rate_limited none
    + AttemptEnded count#1 rate_limited none again at 8000
    > wait until 8000
    < tick 7999
    > wait until 8000
    < tick 8000
    + AttemptStarted count#2 permit
    > call count#2 look.up {}
    ");
}

#[test]
fn a_failure_that_will_not_pass_is_not_tried_again() {
    for class in [
        Class::NotFound,
        Class::InvalidArguments,
        Class::PermissionDenied,
        Class::ToolBug,
    ] {
        let case = Case::new(&read(""))
            .started()
            .ends("count", failed(class, Landing::None));
        assert_eq!(case.state().spend.attempts, 1, "{}", class.word());
        assert_eq!(case.status(), "failed", "{}", class.word());
    }
}

#[test]
fn attempts_lost_with_a_process_are_not_counted() {
    let case = Case::new(&read(", retry: { attempts: 2, backoff: 1s }"))
        .started()
        .crash()
        .crash()
        .crash()
        .ends("count", failed(Class::Timeout, Landing::Unknown))
        .tick(2_000)
        .ends("count", failed(Class::Timeout, Landing::Unknown));
    insta::assert_snapshot!(case.transcript(), @"
    < crash
    + Resumed, 1 lost
    + AttemptEnded count#1 unavailable unknown lost
    + AttemptStarted count#2 permit
    > call count#2 look.up {}
    < crash
    + Resumed, 1 lost
    + AttemptEnded count#2 unavailable unknown lost
    + AttemptStarted count#3 permit
    > call count#3 look.up {}
    < crash
    + Resumed, 1 lost
    + AttemptEnded count#3 unavailable unknown lost
    + AttemptStarted count#4 permit
    > call count#4 look.up {}
    < count#4 timeout unknown
    + AttemptEnded count#4 timeout unknown again at 2000
    > wait until 2000
    < tick 2000
    + AttemptStarted count#5 permit
    > call count#5 look.up {}
    < count#5 timeout unknown
    + AttemptEnded count#5 timeout unknown
    + StepSettled count failed timeout: it went wrong
    + ReplanRequested step_failed
    + PlanRequested
    > plan request 2: step_failed
    + PlanGivenUp: nothing better is known
    + RunEnded failed: step `count` failed: it went wrong
    > done failed
    ");
}

#[test]
fn a_wait_for_the_next_attempt_survives_a_crash() {
    let case = Case::new(&read(""))
        .started()
        .ends("count", failed(Class::Timeout, Landing::Unknown))
        .crash()
        .tick(1_500);
    insta::assert_snapshot!(case.transcript(), @"
    < count#1 timeout unknown
    + AttemptEnded count#1 timeout unknown again at 1500
    > wait until 1500
    < crash
    + Resumed, 0 lost
    > wait until 1500
    < tick 1500
    + AttemptStarted count#2 permit
    > call count#2 look.up {}
    ");
}

#[test]
fn a_reply_to_an_attempt_that_is_over_is_refused() {
    use provost_run::call::Slot;
    use provost_run::machine::Input;
    let slot = Slot {
        step: "count".to_owned(),
        item: None,
    };
    let late = Input::Ended {
        slot,
        attempt: 1,
        reply: ok(json!({ "total": 4 })),
    };
    let case = Case::new(&read("")).started().crash().quietly().give(late);
    insta::assert_snapshot!(case.transcript(), @"! attempt 1 of `count` is not in flight");
}

const WRITE: &str = r#"
schema: provost/plan/v1
success:
  - { for: goal, check: '${ steps.put.status == "succeeded" }' }
steps:
  - { id: put, tool: note.put, args: { to: box }, accept: ['${ output.done }'] }
answer: done
"#;

/// A plain write that surely did not take place is as good as never tried.
#[test]
fn a_plain_write_that_was_never_sent_is_tried_again() {
    let case = Case::new(WRITE)
        .started()
        .ends("put", failed(Class::Unavailable, Landing::None))
        .tick(2_000)
        .ends("put", ok(json!({ "done": true })));
    insta::assert_snapshot!(case.transcript(), @r#"
    < put#1 unavailable none
    + AttemptEnded put#1 unavailable none again at 1500
    > wait until 1500
    < tick 2000
    + AttemptStarted put#2 permit
    > call put#2 note.put {"to":"box"}
    < put#2 ok happened
    + AttemptEnded put#2 ok happened
    + ObservationMade put data
    + StepSettled put succeeded
    + RunEnded succeeded ["done"]
    > done succeeded
    "#);
}
