//! How a doubt ends: by the declared read, or by a person; and by nothing else.

use crate::case::{Case, asked_about, failed, ok, reconciled, rules_with};
use provost_run::admission::{Denial, Stop};
use provost_run::event::Settlement;
use provost_run::machine::Rules;
use provost_run::outcome::{Class, Landing};
use provost_run::statement::Statement;
use serde_json::json;

const PLAN: &str = r#"
schema: provost/plan/v1
success:
  - { for: goal, check: '${ steps.put.status == "succeeded" && steps.next.status != "failed" }' }
steps:
  - { id: put, tool: note.put, args: { to: box }, accept: ['${ output.done }'] }
  - { id: next, tool: look.up, needs: [put] }
answer: done
"#;

fn doubtful(rules: Rules) -> Case {
    Case::of(rules, PLAN)
        .started()
        .ends("put", failed(Class::Timeout, Landing::Unknown))
}

#[test]
fn a_read_that_finds_the_write_settles_the_doubt() {
    let case = doubtful(reconciled())
        .tick(31_000)
        .ends("put", ok(json!({ "total": 1, "ok": true })))
        .ends("next", ok(json!({ "total": 0 })));
    insta::assert_snapshot!(case.transcript(), @r#"
    < put#1 timeout unknown
    + AttemptEnded put#1 timeout unknown
    + StepSettled put in_doubt timeout: it went wrong
    > wait until 31000
    < tick 31000
    + AttemptStarted put#2 permit
    > call put#2 look.up {"to":"box"}
    < put#2 ok happened
    + AttemptEnded put#2 ok none
    + DoubtSettled put happened says look.up
    + ObservationMade put data
    + StepSettled put succeeded
    + AttemptStarted next#1 permit
    > call next#1 look.up {}
    < next#1 ok happened
    + AttemptEnded next#1 ok happened
    + ObservationMade next data
    + StepSettled next succeeded
    + RunEnded succeeded ["done"]
    > done succeeded
    "#);
    assert_eq!(case.status(), "succeeded");
}

#[test]
fn a_read_that_does_not_find_it_lets_it_be_made_again() {
    let case = doubtful(reconciled())
        .tick(31_000)
        .ends("put", ok(json!({ "total": 0, "ok": true })))
        .ends("put", ok(json!({ "done": true })));
    insta::assert_snapshot!(case.transcript(), @r#"
    < put#1 timeout unknown
    + AttemptEnded put#1 timeout unknown
    + StepSettled put in_doubt timeout: it went wrong
    > wait until 31000
    < tick 31000
    + AttemptStarted put#2 permit
    > call put#2 look.up {"to":"box"}
    < put#2 ok happened
    + AttemptEnded put#2 ok none
    + DoubtSettled put did not happen says look.up
    + AttemptStarted put#3 permit
    > call put#3 note.put {"to":"box"}
    < put#3 ok happened
    + AttemptEnded put#3 ok happened
    + ObservationMade put data
    + StepSettled put succeeded
    + AttemptStarted next#1 permit
    > call next#1 look.up {}
    "#);
}

/// Before `final_after` a write that is not there may still land.
#[test]
fn nothing_is_asked_before_the_write_must_have_landed() {
    let case = doubtful(reconciled()).tick(30_999);
    insta::assert_snapshot!(case.transcript(), @"
    < put#1 timeout unknown
    + AttemptEnded put#1 timeout unknown
    + StepSettled put in_doubt timeout: it went wrong
    > wait until 31000
    < tick 30999
    > wait until 31000
    ");
}

#[test]
fn a_read_that_fails_is_made_again_and_then_left_to_a_person() {
    let mut case = doubtful(reconciled()).tick(31_000);
    for at in [40_000, 50_000, 60_000, 70_000, 80_000] {
        case = case
            .ends("put", failed(Class::Unavailable, Landing::None))
            .tick(at);
    }
    insta::assert_snapshot!(case.transcript(), @r#"
    < put#1 timeout unknown
    + AttemptEnded put#1 timeout unknown
    + StepSettled put in_doubt timeout: it went wrong
    > wait until 31000
    < tick 31000
    + AttemptStarted put#2 permit
    > call put#2 look.up {"to":"box"}
    < put#2 unavailable none
    + AttemptEnded put#2 unavailable none again at 31500
    > wait until 31500
    < tick 40000
    + AttemptStarted put#3 permit
    > call put#3 look.up {"to":"box"}
    < put#3 unavailable none
    + AttemptEnded put#3 unavailable none again at 41000
    > wait until 41000
    < tick 50000
    + AttemptStarted put#4 permit
    > call put#4 look.up {"to":"box"}
    < put#4 unavailable none
    + AttemptEnded put#4 unavailable none again at 52000
    > wait until 52000
    < tick 60000
    + AttemptStarted put#5 permit
    > call put#5 look.up {"to":"box"}
    < put#5 unavailable none
    + AttemptEnded put#5 unavailable none again at 64000
    > wait until 64000
    < tick 70000
    + AttemptStarted put#6 permit
    > call put#6 look.up {"to":"box"}
    < put#6 unavailable none
    + AttemptEnded put#6 unavailable none
    < tick 80000
    "#);
    assert_eq!(case.status(), "in_doubt");
    let again = case.quietly().crash();
    insta::assert_snapshot!(again.transcript(), @r#"
    < crash
    + Resumed, 0 lost
    + AttemptStarted put#7 permit
    > call put#7 look.up {"to":"box"}
    "#);
}

#[test]
fn a_read_lost_with_its_process_is_made_again() {
    let case = doubtful(reconciled()).tick(31_000).crash();
    insta::assert_snapshot!(case.transcript(), @r#"
    < put#1 timeout unknown
    + AttemptEnded put#1 timeout unknown
    + StepSettled put in_doubt timeout: it went wrong
    > wait until 31000
    < tick 31000
    + AttemptStarted put#2 permit
    > call put#2 look.up {"to":"box"}
    < crash
    + Resumed, 1 lost
    + AttemptEnded put#2 unavailable none lost
    + AttemptStarted put#3 permit
    > call put#3 look.up {"to":"box"}
    "#);
}

#[test]
fn a_read_is_not_made_where_policy_asks_a_person_about_it() {
    let policy = r#"
permit(principal, action in Action::"call", resource);
@id("no-looking")
forbid(principal, action == Action::"look.up", resource);
"#;
    let mut rules = crate::case::rules(policy);
    let catalog = reconciled().catalog;
    rules.catalog = catalog;
    let plan = PLAN
        .replace("  - { id: next, tool: look.up, needs: [put] }\n", "")
        .replace(" && steps.next.status != \"failed\"", "");
    let case = Case::of(rules, &plan)
        .started()
        .ends("put", failed(Class::Timeout, Landing::Unknown))
        .tick(31_000);
    insta::assert_snapshot!(case.transcript(), @"
    < put#1 timeout unknown
    + AttemptEnded put#1 timeout unknown
    + StepSettled put in_doubt timeout: it went wrong
    > wait until 31000
    < tick 31000
    + ReconcileGivenUp put: policy does not permit `look.up` by itself
    ");
    assert_eq!(case.status(), "in_doubt");
}

#[test]
fn a_person_says_that_it_happened() {
    let seen = doubtful(rules_with(|_| {})).settle(
        "put",
        Settlement::Happened,
        Some(json!({ "done": true })),
    );
    insta::assert_snapshot!(seen.transcript(), @"
    < put#1 timeout unknown
    + AttemptEnded put#1 timeout unknown
    + StepSettled put in_doubt timeout: it went wrong
    < ada settles put: happened
    + DoubtSettled put happened says ada
    + ObservationMade put data
    + StepSettled put succeeded
    + AttemptStarted next#1 permit
    > call next#1 look.up {}
    ");
    let unseen = doubtful(rules_with(|_| {})).settle("put", Settlement::Happened, None);
    insta::assert_snapshot!(unseen.transcript(), @"
    < put#1 timeout unknown
    + AttemptEnded put#1 timeout unknown
    + StepSettled put in_doubt timeout: it went wrong
    < ada settles put: happened
    + DoubtSettled put happened says ada
    + StepSettled put in_doubt output_invalid: it took place, and what it gave is not known, which is to be accepted
    ");
    let bad = doubtful(rules_with(|_| {})).settle(
        "put",
        Settlement::Happened,
        Some(json!({ "done": "yes" })),
    );
    insta::assert_snapshot!(bad.transcript(), @r#"
    < put#1 timeout unknown
    + AttemptEnded put#1 timeout unknown
    + StepSettled put in_doubt timeout: it went wrong
    < ada settles put: happened
    ! `put` cannot have given that: the output does not fit at `/done`: value is not of type "boolean"
    "#);
}

#[test]
fn a_person_says_that_it_did_not_happen() {
    let case = doubtful(rules_with(|_| {}))
        .settle("put", Settlement::DidNotHappen, None)
        .ends("put", ok(json!({ "done": true })));
    insta::assert_snapshot!(case.transcript(), @r#"
    < put#1 timeout unknown
    + AttemptEnded put#1 timeout unknown
    + StepSettled put in_doubt timeout: it went wrong
    < ada settles put: did not happen
    + DoubtSettled put did not happen says ada
    + AttemptStarted put#2 permit
    > call put#2 note.put {"to":"box"}
    < put#2 ok happened
    + AttemptEnded put#2 ok happened
    + ObservationMade put data
    + StepSettled put succeeded
    + AttemptStarted next#1 permit
    > call next#1 look.up {}
    "#);
}

#[test]
fn a_person_gives_up_on_it() {
    let case = doubtful(rules_with(|_| {})).settle("put", Settlement::Abandoned, None);
    insta::assert_snapshot!(case.transcript(), @"
    < put#1 timeout unknown
    + AttemptEnded put#1 timeout unknown
    + StepSettled put in_doubt timeout: it went wrong
    < ada settles put: abandoned
    + DoubtSettled put abandoned says ada
    + StepSettled put failed timeout: whether it took place will not be known
    + ReplanRequested step_failed
    + PlanRequested
    > plan request 2: step_failed
    + PlanGivenUp: nothing better is known
    + RunEnded failed: step `put` failed: whether it took place will not be known
    > done failed
    ");
}

#[test]
fn what_is_not_in_doubt_cannot_be_settled() {
    let case = Case::new(PLAN)
        .started()
        .settle("put", Settlement::Happened, None)
        .settle("nothing", Settlement::Happened, None);
    insta::assert_snapshot!(case.transcript(), @"
    < ada settles put: happened
    ! `put` is not in doubt
    < ada settles nothing: happened
    ! `nothing` is not in doubt
    ");
    let statement = Statement::Settle {
        slot: provost_run::call::Slot {
            step: "put".to_owned(),
            item: None,
        },
        attempt: None,
        settled: Settlement::Happened,
        output: None,
        reason: " ".to_owned(),
    };
    let silent = doubtful(rules_with(|_| {})).says("ada", statement);
    insta::assert_snapshot!(silent.transcript(), @"
    < put#1 timeout unknown
    + AttemptEnded put#1 timeout unknown
    + StepSettled put in_doubt timeout: it went wrong
    ! `ada` may not settle: a doubt is settled with a reason
    ");
}

#[test]
fn a_run_that_ended_beside_a_doubt_can_still_be_settled() {
    let case = doubtful(rules_with(|_| {}))
        .cancel("ada")
        .settle("put", Settlement::Happened, Some(json!({ "done": true })))
        .settle("put", Settlement::Happened, None);
    insta::assert_snapshot!(case.transcript(), @"
    < put#1 timeout unknown
    + AttemptEnded put#1 timeout unknown
    + StepSettled put in_doubt timeout: it went wrong
    < ada cancels
    + CancelRequested
    + RunEnded cancelled: cancelled by ada
    > done cancelled
    < ada settles put: happened
    + DoubtSettled put happened says ada
    + ObservationMade put data
    + StepSettled put succeeded
    > done cancelled
    < ada settles put: happened
    ! `put` is not in doubt
    ");
    assert_eq!(case.status(), "cancelled");
}

#[test]
fn items_of_a_list_are_settled_one_by_one() {
    let plan = PLAN.replace(
        "args: { to: box }",
        "for_each: '${ [\"a\", \"b\"] }', args: { to: '${ item }' }",
    );
    let case = Case::new(&plan)
        .started()
        .ends("put[0]", failed(Class::Timeout, Landing::Unknown))
        .ends("put[1]", failed(Class::Timeout, Landing::Unknown))
        .settle("put", Settlement::Happened, None)
        .settle(
            "put[1]",
            Settlement::Happened,
            Some(json!({ "done": true })),
        )
        .settle("put", Settlement::DidNotHappen, None)
        .settle("put[0]", Settlement::DidNotHappen, None)
        .ends("put[0]", ok(json!({ "done": true })));
    insta::assert_snapshot!(case.transcript(), @r#"
    < put[0]#1 timeout unknown
    + AttemptEnded put[0]#1 timeout unknown
    + StepSettled put[0] in_doubt timeout: it went wrong
    < put[1]#1 timeout unknown
    + AttemptEnded put[1]#1 timeout unknown
    + StepSettled put[1] in_doubt timeout: it went wrong
    + StepSettled put in_doubt partial: 2 of 2 items are in doubt
    < ada settles put: happened
    ! several items of `put` are in doubt: `put[0]`, `put[1]`
    < ada settles put[1]: happened
    + DoubtSettled put[1] happened says ada
    + ObservationMade put[1] data
    + StepSettled put[1] succeeded
    + StepSettled put in_doubt partial: 1 of 2 items are in doubt
    < ada settles put: did not happen
    ! `put` names no one item: `put[0]` is in doubt
    < ada settles put[0]: did not happen
    + DoubtSettled put[0] did not happen says ada
    + AttemptStarted put[0]#2 permit
    > call put[0]#2 note.put {"to":"a"}
    < put[0]#2 ok happened
    + AttemptEnded put[0]#2 ok happened
    + ObservationMade put[0] data
    + StepSettled put[0] succeeded
    + StepSettled put succeeded
    + AttemptStarted next#1 permit
    > call next#1 look.up {}
    "#);
}

/// Without a tool that can be asked, the run waits for a person and not for a time.
#[test]
fn a_read_that_moved_away_is_not_waited_for() {
    let case = doubtful(reconciled())
        .quietly()
        .crash_into(rules_with(|operation| {
            asked_about(operation);
            if operation.name == "note.put" {
                operation.max_bytes += 1;
            }
        }));
    assert_eq!(case.status(), "in_doubt");
    let case = case.tick(40_000);
    assert!(
        case.transcript().contains("ReconcileGivenUp put"),
        "{}",
        case.transcript()
    );
    assert!(
        !case.transcript().contains("wait until"),
        "{}",
        case.transcript()
    );
}

/// The other item reaches the same and waits for what the read says, instead of for ever.
#[test]
fn an_item_in_doubt_is_asked_about_while_its_list_goes_on() {
    let plan = PLAN.replace(
        "args: { to: box }",
        "for_each: '${ [\"a\", \"b\"] }', args: { to: box, text: '${ item }' }",
    );
    let case = Case::of(reconciled(), &plan)
        .limits(|limits| limits.concurrency = 1)
        .started()
        .ends("put[0]", failed(Class::Timeout, Landing::Unknown))
        .tick(31_000)
        .ends("put[0]", ok(json!({ "total": 1, "ok": true })));
    insta::assert_snapshot!(case.transcript(), @r#"
    < put[0]#1 timeout unknown
    + AttemptEnded put[0]#1 timeout unknown
    + StepSettled put[0] in_doubt timeout: it went wrong
    > wait until 31000
    < tick 31000
    + AttemptStarted put[0]#2 permit
    > call put[0]#2 look.up {"to":"box"}
    < put[0]#2 ok happened
    + AttemptEnded put[0]#2 ok none
    + DoubtSettled put[0] happened says look.up
    + ObservationMade put[0] data
    + StepSettled put[0] succeeded
    + AttemptStarted put[1]#1 permit
    > call put[1]#1 note.put {"text":"b","to":"box"}
    "#);
}

/// What keeps the read out leaves the doubt as it is, and to a person.
#[test]
fn a_read_that_is_not_admitted_leaves_the_doubt_to_a_person() {
    let broken = |until| Denial::Later {
        until,
        broken: true,
        because: "it is broken".to_owned(),
    };
    let mut case = doubtful(reconciled());
    for at in [31_000, 40_000, 50_000, 60_000] {
        case = case.denying(vec![("put", broken(at + 9_000))]).tick(at);
    }
    insta::assert_snapshot!(case.transcript(), @"
    < put#1 timeout unknown
    + AttemptEnded put#1 timeout unknown
    + StepSettled put in_doubt timeout: it went wrong
    > wait until 31000
    < tick 31000
    + Deferred put until 40000: it is broken
    > wait until 40000
    < tick 40000
    + Deferred put until 49000: it is broken
    > wait until 49000
    < tick 50000
    + Deferred put until 59000: it is broken
    > wait until 59000
    < tick 60000
    + ReconcileGivenUp put: no read may begin: it is broken
    ");
    assert_eq!(case.status(), "in_doubt");
    let budget = Denial::Budget {
        because: "the money of all runs is reserved".to_owned(),
    };
    let other = Denial::Doubt {
        run: "another".to_owned(),
        slot: "put".to_owned(),
    };
    for denial in [budget, other] {
        let case = doubtful(reconciled())
            .denying(vec![("put", denial)])
            .tick(31_000);
        assert!(
            case.transcript().contains("ReconcileGivenUp put"),
            "{}",
            case.transcript()
        );
        assert_eq!(case.status(), "in_doubt");
    }
}

/// A stop met by one read holds everything else of that turn.
#[test]
fn nothing_begins_in_the_turn_in_which_a_stop_is_met() {
    let plan = PLAN.replace(
        "  - { id: next,",
        "  - { id: two, tool: note.put, args: { to: other }, accept: ['${ output.done }'] }\n  - { id: three, tool: look.up, when: '${ false }', needs: [two] }\n  - { id: next,",
    );
    let lost = || failed(Class::Timeout, Landing::Unknown);
    let stop = Denial::Stopped(Stop {
        what: "all runs".to_owned(),
        by: "ada".to_owned(),
        reason: "hold on".to_owned(),
    });
    let case = Case::of(reconciled(), &plan)
        .started()
        .ends("put", lost())
        .ends("two", lost())
        .quietly()
        .denying(vec![("put", stop)])
        .tick(31_000);
    insta::assert_snapshot!(case.transcript(), @"
    < tick 31000
    + Paused all runs by ada: hold on
    ");
    assert_eq!(case.status(), "paused");
}

/// A run that was given up asks about its doubt, and ends where it may not.
#[test]
fn a_run_given_up_ends_where_its_read_may_not_be_paid() {
    let plan = PLAN.replace(
        "needs: [put] }",
        "needs: [put] }\n  - { id: bad, tool: look.up }",
    );
    let budget = Denial::Budget {
        because: "the money of all runs is reserved".to_owned(),
    };
    let case = Case::of(reconciled(), &plan)
        .started()
        .ends("put", failed(Class::Timeout, Landing::Unknown))
        .ends("bad", failed(Class::NotFound, Landing::None))
        .quietly()
        .denying(vec![("put", budget)])
        .tick(31_000);
    insta::assert_snapshot!(case.transcript(), @"
    < tick 31000
    + ReconcileGivenUp put: no read may begin: the money of all runs is reserved
    + RunEnded failed: step `bad` failed: it went wrong
    > done failed
    ");
}

/// Nobody can have seen that a call did not take place while its tool says that it still may.
#[test]
fn a_person_does_not_say_too_early_that_it_did_not_happen() {
    let sent = || doubtful(reconciled()).at(30_000);
    let early = sent().settle("put", Settlement::DidNotHappen, None);
    insta::assert_snapshot!(early.transcript(), @"
    < put#1 timeout unknown
    + AttemptEnded put#1 timeout unknown
    + StepSettled put in_doubt timeout: it went wrong
    > wait until 31000
    < ada settles put: did not happen
    ! `put` may still take place: its tool gives it another 2 s
    ");
    let happened = sent().settle("put", Settlement::Happened, Some(json!({ "done": true })));
    assert_eq!(happened.status(), "running");
    let given_up = sent().settle("put", Settlement::Abandoned, None);
    assert_eq!(given_up.status(), "failed");
    let untold = doubtful(rules_with(|_| {})).settle("put", Settlement::DidNotHappen, None);
    assert!(untold.transcript().contains("> call put#2"));
}

/// What is read later is asked for: without it what reads it waits and does not fail, and a word
/// that brings it goes on.
#[test]
fn what_happened_waits_for_its_output_where_something_reads_it() {
    let plan = r#"
schema: provost/plan/v1
success:
  - { for: goal, check: '${ steps.told.status == "succeeded" }' }
steps:
  - { id: put, tool: note.put, args: { to: a, text: hi } }
  - { id: told, tool: look.up, args: { to: 'done ${ steps.put.output.done }' } }
  - { id: other, tool: look.up, needs: [put], args: { to: x } }
"#;
    let happened = Settlement::Happened;
    let case = Case::new(plan).begin();
    assert!(
        case.state().in_force.plan.is_some(),
        "{}",
        case.transcript()
    );
    let case = case
        .ends("put", failed(Class::Timeout, Landing::Unknown))
        .quietly()
        .settle("put", happened, None);
    assert_eq!(case.status(), "in_doubt", "{}", case.transcript());
    let case = case
        .crash()
        .settle("put", happened, None)
        .settle("put", Settlement::DidNotHappen, None)
        .settle("put", happened, Some(json!({ "id": "n1", "done": true })));
    insta::assert_snapshot!(case.transcript(), @r#"
    < ada settles put: happened
    + DoubtSettled put happened says ada
    + StepSettled put in_doubt output_invalid: it took place, and what it gave is not known, which is read later
    < crash
    + Resumed, 0 lost
    < ada settles put: happened
    ! `ada` may not settle: that it took place is recorded; what it gave is missing (`--happened --output`)
    < ada settles put: did not happen
    ! `ada` may not settle: that it took place is recorded; what it gave is missing (`--happened --output`)
    < ada settles put: happened
    + DoubtSettled put happened says ada
    + ObservationMade put text
    + StepSettled put succeeded
    + AttemptStarted told#1 permit
    + AttemptStarted other#1 permit
    > call told#1 look.up {"to":"done true"}
    > call other#1 look.up {"to":"x"}
    "#);
}

/// Without its output a write cannot be accepted, and is not refused for that either.
#[test]
fn what_happened_waits_for_its_output_where_it_is_to_be_accepted() {
    let settled = || doubtful(rules_with(|_| {})).settle("put", Settlement::Happened, None);
    assert_eq!(settled().status(), "in_doubt");
    let given =
        settled()
            .crash()
            .settle("put", Settlement::Happened, Some(json!({ "done": true })));
    assert!(given.transcript().contains("+ StepSettled put succeeded"));
    assert_eq!(given.status(), "running", "{}", given.transcript());
    let refused = settled().settle("put", Settlement::Happened, Some(json!({ "done": false })));
    let failed = "+ StepSettled put failed acceptance_failed";
    assert!(
        refused.transcript().contains(failed),
        "{}",
        refused.transcript()
    );
    let abandoned = settled().settle("put", Settlement::Abandoned, None);
    assert!(abandoned.transcript().contains("+ StepSettled put failed"));
}

/// What was seen of one attempt is not believed of the next.
#[test]
fn a_settlement_counts_for_the_attempt_it_names_alone() {
    let case = doubtful(rules_with(|_| {})).quietly();
    let slot = case
        .state()
        .doubts()
        .next()
        .map(|(id, _)| provost_run::call::Slot {
            step: id.clone(),
            item: None,
        });
    let slot = slot.unwrap();
    let first = case.state().attempt_in_doubt(&slot);
    let says = |attempt| Statement::Settle {
        slot: slot.clone(),
        attempt,
        settled: Settlement::DidNotHappen,
        output: None,
        reason: "I looked".to_owned(),
    };
    let case = case
        .says("ada", says(first))
        .ends("put", failed(Class::Timeout, Landing::Unknown))
        .quietly();
    let second = case.state().attempt_in_doubt(&slot);
    assert_ne!(first, second);
    let stale = case.says("ada", says(first)).says("bob", says(None));
    assert_eq!(stale.state().attempt_in_doubt(&slot), second);
    assert!(
        !stale.transcript().contains("call put"),
        "{}",
        stale.transcript()
    );
    // The control: the attempt that stands is settled, and the write is made again.
    let case = stale.quietly().says("ada", says(second));
    assert!(
        case.transcript().contains("call put#3"),
        "{}",
        case.transcript()
    );
}
