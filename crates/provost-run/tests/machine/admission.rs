//! What a run does when it is not admitted, stopped, or let go on.

use crate::case::{Case, failed, ok};
use provost_run::admission::{Denial, Stop};
use provost_run::outcome::{Class, Landing, Reply};
use serde_json::json;

const PLAN: &str = r#"
schema: provost/plan/v1
success:
  - { for: goal, check: '${ steps.put.status == "succeeded" }' }
steps:
  - { id: look, tool: look.up }
  - { id: put, tool: note.put, needs: [look], args: { to: box }, accept: ['${ output.done }'] }
answer: done
"#;

fn looked(denials: Vec<(&str, Denial)>) -> Case {
    Case::new(PLAN)
        .started()
        .denying(denials)
        .ends("look", ok(json!({ "total": 1 })))
}

fn later(until: i64, broken: bool) -> Denial {
    Denial::Later {
        until,
        broken,
        because: "not now".to_owned(),
    }
}

#[test]
fn an_attempt_put_off_begins_when_its_time_has_come() {
    let case = looked(vec![("put", later(5_000, false))])
        .denying(Vec::new())
        .tick(4_999)
        .tick(5_000);
    insta::assert_snapshot!(case.transcript(), @r#"
    < look#1 ok happened
    + AttemptEnded look#1 ok happened
    + ObservationMade look data
    + StepSettled look succeeded
    + Deferred put until 5000: not now
    > wait until 5000
    < tick 4999
    > wait until 5000
    < tick 5000
    + AttemptStarted put#1 permit
    > call put#1 note.put {"to":"box"}
    "#);
}

#[test]
fn a_breaker_that_stays_open_fails_the_step() {
    let mut case = looked(vec![("put", later(2_000, true))]);
    for at in [2_000, 3_000, 4_000] {
        case = case
            .denying(vec![("put", later(at + 1_000, true))])
            .tick(at);
    }
    insta::assert_snapshot!(case.transcript(), @"
    < look#1 ok happened
    + AttemptEnded look#1 ok happened
    + ObservationMade look data
    + StepSettled look succeeded
    + Deferred put until 2000: not now
    > wait until 2000
    < tick 2000
    + Deferred put until 3000: not now
    > wait until 3000
    < tick 3000
    + Deferred put until 4000: not now
    > wait until 4000
    < tick 4000
    + StepSettled put failed breaker_open: not now
    + ReplanRequested step_failed
    + PlanRequested
    > plan request 2: step_failed
    + PlanGivenUp: nothing better is known
    + RunEnded failed: step `put` failed: not now
    > done failed
    ");
}

#[test]
fn an_attempt_without_a_place_waits_longer_each_time() {
    let full = || Denial::Full {
        because: "all places are taken".to_owned(),
    };
    let mut case = looked(vec![("put", full())]);
    for at in [1_020, 1_060, 1_140] {
        case = case.tick(at);
    }
    insta::assert_snapshot!(case.denying(Vec::new()).tick(1_300).transcript(), @r#"
    < look#1 ok happened
    + AttemptEnded look#1 ok happened
    + ObservationMade look data
    + StepSettled look succeeded
    + Deferred put until 1020: all places are taken
    > wait until 1020
    < tick 1020
    + Deferred put until 1060: all places are taken
    > wait until 1060
    < tick 1060
    + Deferred put until 1140: all places are taken
    > wait until 1140
    < tick 1140
    + Deferred put until 1300: all places are taken
    > wait until 1300
    < tick 1300
    + AttemptStarted put#1 permit
    > call put#1 note.put {"to":"box"}
    "#);
}

#[test]
fn what_another_run_may_have_done_is_not_done_again() {
    let doubt = Denial::Doubt {
        run: "other".to_owned(),
        slot: "send".to_owned(),
    };
    insta::assert_snapshot!(looked(vec![("put", doubt)]).transcript(), @"
    < look#1 ok happened
    + AttemptEnded look#1 ok happened
    + ObservationMade look data
    + StepSettled look succeeded
    + StepSettled put failed conflict: step `send` of run other may already have done this, its outcome is unknown
    + ReplanRequested step_failed
    + PlanRequested
    > plan request 2: step_failed
    + PlanGivenUp: nothing better is known
    + RunEnded failed: step `put` failed: step `send` of run other may already have done this, its outcome is unknown
    > done failed
    ");
}

#[test]
fn a_shared_budget_that_is_used_up_ends_the_run() {
    let budget = Denial::Budget {
        because: "the workspace's budget of 10 is reached".to_owned(),
    };
    insta::assert_snapshot!(looked(vec![("put", budget)]).transcript(), @"
    < look#1 ok happened
    + AttemptEnded look#1 ok happened
    + ObservationMade look data
    + StepSettled look succeeded
    + AdmissionRefused put: the workspace's budget of 10 is reached
    + RunEnded failed: no other call may begin: the workspace's budget of 10 is reached
    > done failed
    ");
}

#[test]
fn a_stop_pauses_the_run_until_somebody_lets_it_go_on() {
    let stop = Denial::Stopped(Stop {
        what: "tool `note`".to_owned(),
        by: "bob".to_owned(),
        reason: "it is being moved".to_owned(),
    });
    let case = looked(vec![("put", stop)]);
    assert_eq!(case.status(), "paused");
    let case = case.denying(Vec::new()).tick(9_000).crash().go_on().go_on();
    insta::assert_snapshot!(case.transcript(), @r#"
    < look#1 ok happened
    + AttemptEnded look#1 ok happened
    + ObservationMade look data
    + StepSettled look succeeded
    + Paused tool `note` by bob: it is being moved
    < tick 9000
    < crash
    + Resumed, 0 lost
    < ada lets it go on
    + Resumed by ada
    + AttemptStarted put#1 permit
    > call put#1 note.put {"to":"box"}
    < ada lets it go on
    ! the run is not paused
    "#);
}

#[test]
fn nothing_begins_in_a_paused_run_and_what_is_in_flight_settles() {
    let case = Case::new(PLAN)
        .started()
        .pause()
        .ends("look", ok(json!({ "total": 1 })))
        .pause()
        .tick(100_000);
    assert_eq!(case.status(), "paused");
    insta::assert_snapshot!(case.transcript(), @"
    < bob pauses
    + Paused the run by bob: lunch
    < look#1 ok happened
    + AttemptEnded look#1 ok happened
    + ObservationMade look data
    + StepSettled look succeeded
    < bob pauses
    < tick 100000
    ");
    let ended = case.quietly().cancel("ada");
    insta::assert_snapshot!(ended.transcript(), @"
    < ada cancels
    + CancelRequested
    + RunEnded cancelled: cancelled by ada
    > done cancelled
    ");
}

/// A keyed write whose first try may have landed, and whose second is kept out, is in doubt.
#[test]
fn what_keeps_a_second_try_out_does_not_undo_the_first() {
    let plan = PLAN.replace("note.put", "page.send");
    let other = Denial::Doubt {
        run: "another".to_owned(),
        slot: "put".to_owned(),
    };
    let begun = || {
        Case::new(&plan)
            .started()
            .ends("look", ok(json!({ "total": 1 })))
    };
    let unknown = begun()
        .ends("put", failed(Class::Timeout, Landing::Unknown))
        .denying(vec![("put", other.clone())])
        .tick(9_000);
    assert_eq!(unknown.status(), "in_doubt", "{}", unknown.transcript());
    // The control: a first try that surely did not land.
    let refused = begun()
        .ends("put", failed(Class::Unavailable, Landing::None))
        .denying(vec![("put", other)])
        .tick(9_000);
    assert_eq!(refused.status(), "failed", "{}", refused.transcript());
}

/// Nothing was sent, and this secret has to be set first.
fn lacking(landing: Landing) -> Reply {
    let mut reply = failed(Class::Unavailable, landing);
    reply.lacks = Some("env:TOKEN".to_owned());
    reply
}

#[test]
fn a_missing_secret_pauses_and_counts_as_no_try() {
    let mut case = looked(Vec::new());
    for _ in 0..5 {
        case = case.ends("put", lacking(Landing::None)).quietly().go_on();
    }
    let case = case.ends("put", lacking(Landing::None));
    insta::assert_snapshot!(case.transcript(), @r#"
    < ada lets it go on
    + Resumed by ada
    + AttemptStarted put#6 permit
    > call put#6 note.put {"to":"box"}
    < put#6 unavailable none
    + AttemptEnded put#6 unavailable none
    + Paused tool `note` lacks env:TOKEN for put
    "#);
    assert_eq!(case.status(), "paused");
    let case = case
        .quietly()
        .crash()
        .go_on()
        .ends("put", ok(json!({ "done": true })));
    insta::assert_snapshot!(case.transcript(), @r#"
    < crash
    + Resumed, 0 lost
    < ada lets it go on
    + Resumed by ada
    + AttemptStarted put#7 permit
    > call put#7 note.put {"to":"box"}
    < put#7 ok happened
    + AttemptEnded put#7 ok happened
    + ObservationMade put data
    + StepSettled put succeeded
    + RunEnded succeeded ["done"]
    > done succeeded
    "#);
}

/// Control: where something may have been sent, a secret that is missing excuses nothing.
#[test]
fn what_may_have_been_sent_is_in_doubt_whatever_is_missing() {
    let case = looked(Vec::new()).ends("put", lacking(Landing::Unknown));
    assert_eq!(case.status(), "in_doubt");
}

#[test]
fn other_calls_settle_before_the_run_stands_still() {
    let plan = PLAN.replace("needs: [look], ", "");
    let case = Case::new(&plan)
        .started()
        .ends("put", lacking(Landing::None))
        .ends("look", lacking(Landing::None));
    insta::assert_snapshot!(case.transcript(), @"
    < put#1 unavailable none
    + AttemptEnded put#1 unavailable none
    + Paused tool `note` lacks env:TOKEN for put
    < look#1 unavailable none
    + AttemptEnded look#1 unavailable none
    ");
}
