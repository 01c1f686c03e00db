//! `fresh`: readings that are too old are taken again before a step that acts on them begins.

use crate::case::{Case, failed, ok, rules_with};
use provost_plan::catalog::Effect;
use provost_run::admission::Denial;
use provost_run::event::{Event, RunStatus, Settlement};
use provost_run::outcome::{Class, Landing, Reply};
use serde_json::{Value, json};

/// A read, and a write behind a person that acts on it; `fresh` stands on the write.
const GATED: &str = r#"
schema: provost/plan/v1
success:
  - { for: goal, check: '${ steps.put.status == "succeeded" }' }
steps:
  - { id: look, tool: look.up }
  - { id: put, tool: note.put, when: '${ steps.look.output.total > 0 }', args: { to: box, count: '${ steps.look.output.total }' }, approval: required, accept: ['${ output.done }'], fresh: 5s }
answer: done
"#;

fn total(total: i64) -> Reply {
    ok(json!({ "total": total }))
}

fn done() -> Reply {
    ok(json!({ "done": true }))
}

/// The card is answered so late that the reading is too old.
fn approved_late(plan: &str) -> Case {
    Case::new(plan)
        .started()
        .ends("look", total(3))
        .quietly()
        .at(20_000)
        .approve("ada")
}

#[test]
fn an_unchanged_reading_keeps_the_approval() {
    let case = approved_late(GATED)
        .ends("look", total(3))
        .ends("put", done());
    insta::assert_snapshot!(case.transcript(), @r#"
    < ada says yes
    + ApprovalGiven by ada
    + AttemptStarted look#2 permit
    > call look#2 look.up {}
    < look#2 ok happened
    + AttemptEnded look#2 ok happened
    + ObservationMade look data
    + AttemptStarted put#1 ask approved
    > call put#1 note.put {"count":3,"to":"box"}
    < put#1 ok happened
    + AttemptEnded put#1 ok happened
    + ObservationMade put data
    + StepSettled put succeeded
    + RunEnded succeeded ["done"]
    > done succeeded
    "#);
}

#[test]
fn a_changed_reading_asks_again_with_what_it_is_now() {
    let case = approved_late(GATED)
        .ends("look", total(4))
        .approve("ada")
        .ends("put", done());
    insta::assert_snapshot!(case.transcript(), @r#"
    < ada says yes
    + ApprovalGiven by ada
    + AttemptStarted look#2 permit
    > call look#2 look.up {}
    < look#2 ok happened
    + AttemptEnded look#2 ok happened
    + ObservationMade look data
    + ApprovalRequested put ["untrusted-sink"]: {"count":4,"to":"box"}
    > ask about put
    < ada says yes
    + ApprovalGiven by ada
    + AttemptStarted put#1 ask approved
    > call put#1 note.put {"count":4,"to":"box"}
    < put#1 ok happened
    + AttemptEnded put#1 ok happened
    + ObservationMade put data
    + StepSettled put succeeded
    + RunEnded succeeded ["done"]
    > done succeeded
    "#);
}

#[test]
fn a_guard_that_no_longer_holds_skips_the_step() {
    let case = approved_late(GATED).ends("look", total(0));
    insta::assert_snapshot!(case.transcript(), @"
    < ada says yes
    + ApprovalGiven by ada
    + AttemptStarted look#2 permit
    > call look#2 look.up {}
    < look#2 ok happened
    + AttemptEnded look#2 ok happened
    + ObservationMade look data
    + StepSkipped put When
    + ReplanRequested unmet
    + PlanRequested
    > plan request 2: unmet
    + PlanGivenUp: nothing better is known
    + RunEnded failed: not proven: `goal`
    > done failed
    ");
}

/// Controls: without `fresh`, and while the reading is young, nothing is taken again.
#[test]
fn a_reading_that_is_young_or_has_no_limit_stands() {
    for plan in [
        GATED.replace(", fresh: 5s", ""),
        GATED.replace("fresh: 5s", "fresh: 1h"),
    ] {
        let case = approved_late(&plan);
        assert!(
            case.transcript().contains("> call put#1"),
            "{}",
            case.transcript()
        );
        assert!(
            !case.transcript().contains("look#2"),
            "{}",
            case.transcript()
        );
    }
}

#[test]
fn a_reading_that_does_not_come_again_fails_the_step() {
    let gone = failed(Class::NotFound, Landing::None);
    let case = approved_late(GATED).ends("look", gone);
    insta::assert_snapshot!(case.transcript(), @"
    < ada says yes
    + ApprovalGiven by ada
    + AttemptStarted look#2 permit
    > call look#2 look.up {}
    < look#2 not_found none
    + AttemptEnded look#2 not_found none
    + StepSettled put failed stale: what it acts on is too old: `look` could not be read again: it went wrong
    + ReplanRequested step_failed
    + PlanRequested
    > plan request 2: step_failed
    + PlanGivenUp: nothing better is known
    + RunEnded failed: step `put` failed: what it acts on is too old: `look` could not be read again: it went wrong
    > done failed
    ");
    assert_eq!(
        case.state().steps["look"].view["output"],
        json!({ "total": 3 })
    );
}

#[test]
fn a_reading_that_fails_for_now_is_tried_again() {
    let late = || failed(Class::Timeout, Landing::Unknown);
    let case = approved_late(GATED)
        .ends("look", late())
        .tick(20_500)
        .ends("look", late())
        .tick(21_500)
        .ends("look", late());
    insta::assert_snapshot!(case.transcript(), @r"
    < ada says yes
    + ApprovalGiven by ada
    + AttemptStarted look#2 permit
    > call look#2 look.up {}
    < look#2 timeout unknown
    + AttemptEnded look#2 timeout unknown
    + Deferred put until 20500: `look` is read again
    > wait until 20500
    < tick 20500
    + AttemptStarted look#3 permit
    > call look#3 look.up {}
    < look#3 timeout unknown
    + AttemptEnded look#3 timeout unknown
    + Deferred put until 21500: `look` is read again
    > wait until 21500
    < tick 21500
    + AttemptStarted look#4 permit
    > call look#4 look.up {}
    < look#4 timeout unknown
    + AttemptEnded look#4 timeout unknown
    + StepSettled put failed stale: what it acts on is too old: `look` could not be read again: it went wrong
    + ReplanRequested step_failed
    + PlanRequested
    > plan request 2: step_failed
    + PlanGivenUp: nothing better is known
    + RunEnded failed: step `put` failed: what it acts on is too old: `look` could not be read again: it went wrong
    > done failed
    ");
    let case = approved_late(GATED)
        .ends("look", late())
        .tick(20_500)
        .ends("look", total(3))
        .ends("put", done());
    assert_eq!(case.status(), "succeeded");
}

#[test]
fn a_reading_that_its_acceptance_refuses_by_now_fails_the_step() {
    let plan = GATED.replace(
        "tool: look.up }",
        "tool: look.up, accept: ['${ output.total < 9 }'] }",
    );
    let case = approved_late(&plan).ends("look", total(9));
    assert!(
        case.transcript().contains("StepSettled put failed stale"),
        "{}",
        case.transcript()
    );
    assert_eq!(
        case.state().steps["look"].view["output"],
        json!({ "total": 3 })
    );
}

#[test]
fn a_value_that_never_rests_ends_as_stale() {
    let mut case = approved_late(GATED);
    for round in 1..=3 {
        case = case
            .ends("look", total(3 + round))
            .at(20_000 * (1 + round))
            .approve("ada");
    }
    let transcript = case.transcript();
    assert_eq!(transcript.matches("> call look").count(), 3, "{transcript}");
    assert!(
        transcript.contains("StepSettled put failed stale"),
        "{transcript}"
    );
    assert!(!transcript.contains("> call put"), "{transcript}");
}

#[test]
fn a_crash_while_a_reading_comes_again_takes_it_again() {
    let case = approved_late(GATED)
        .quietly()
        .crash()
        .ends("look", total(3))
        .ends("put", done());
    insta::assert_snapshot!(case.transcript(), @r#"
    < crash
    + Resumed, 1 lost
    + AttemptEnded look#2 unavailable unknown lost
    + AttemptStarted look#3 permit
    > call look#3 look.up {}
    < look#3 ok happened
    + AttemptEnded look#3 ok happened
    + ObservationMade look data
    + AttemptStarted put#1 ask approved
    > call put#1 note.put {"count":3,"to":"box"}
    < put#1 ok happened
    + AttemptEnded put#1 ok happened
    + ObservationMade put data
    + StepSettled put succeeded
    + RunEnded succeeded ["done"]
    > done succeeded
    "#);
}

/// Whatever the process kept before it died, the write is made once, with the new value.
#[test]
fn a_journal_cut_anywhere_makes_the_write_once() {
    let whole = approved_late(GATED)
        .ends("look", total(4))
        .approve("ada")
        .ends("put", done());
    let puts = |journal: &[(Event, i64)]| -> Vec<Value> {
        let put = |event: &Event| match event {
            Event::AttemptStarted(started) if started.slot.step == "put" => {
                Some(started.args.clone())
            }
            _ => None,
        };
        journal.iter().filter_map(|(event, _)| put(event)).collect()
    };
    assert_eq!(puts(&whole.journal), [json!({ "to": "box", "count": 4 })]);
    for length in 1..whole.journal.len() {
        let mut run = whole.folded(length);
        let before = puts(&whole.journal[..length]).len();
        let events = crate::case::take_up(&mut run, 60_000);
        let begun = events.iter().filter(
            |event| matches!(event, Event::AttemptStarted(started) if started.slot.step == "put"),
        );
        let begun = begun.count();
        // A plain write that may have begun is in doubt, and is not begun again.
        assert!(before + begun <= 1, "after {length} events");
        if before == 1 {
            let known = [RunStatus::InDoubt, RunStatus::Succeeded];
            assert!(
                known.contains(&run.state().status()),
                "after {length} events"
            );
        }
    }
}

/// A reading that rests on another is taken again if that one makes it another call.
#[test]
fn a_reading_that_rests_on_one_taken_again_follows_it() {
    let plan = r#"
schema: provost/plan/v1
success:
  - { for: goal, check: '${ steps.put.status == "succeeded" }' }
steps:
  - { id: look, tool: look.up }
  - { id: then, tool: look.up, args: { count: '${ steps.look.output.total }' } }
  - { id: put, tool: note.put, args: { to: box, count: '${ steps.then.output.total }' }, approval: required, accept: ['${ output.done }'], fresh: 5s }
answer: done
"#;
    let begun = || {
        Case::new(plan)
            .started()
            .ends("look", total(1))
            .at(5_000)
            .ends("then", total(10))
            .quietly()
            .at(9_000)
            .approve("ada")
    };
    let case = begun().ends("look", total(2)).ends("then", total(20));
    insta::assert_snapshot!(case.transcript(), @r#"
    < ada says yes
    + ApprovalGiven by ada
    + AttemptStarted look#2 permit
    > call look#2 look.up {}
    < look#2 ok happened
    + AttemptEnded look#2 ok happened
    + ObservationMade look data
    + AttemptStarted then#2 permit
    > call then#2 look.up {"count":2}
    < then#2 ok happened
    + AttemptEnded then#2 ok happened
    + ObservationMade then data
    + ApprovalRequested put ["untrusted-sink"]: {"count":20,"to":"box"}
    > ask about put
    "#);
    // Control: `then` is young enough, and the same call as before.
    let case = begun().ends("look", total(1)).ends("put", done());
    assert_eq!(case.status(), "succeeded");
}

/// What an `egress` call brought is never taken again.
#[test]
fn only_plain_reads_are_taken_again() {
    let rules = rules_with(|operation| {
        if operation.name == "look.up" {
            operation.effect = Effect::Egress;
        }
    });
    let case = Case::of(rules, GATED)
        .started()
        .ends("look", total(3))
        .at(20_000);
    let case = case.approve("ada");
    assert!(
        case.transcript().contains("> call put#1"),
        "{}",
        case.transcript()
    );
}

/// What did not take place is a new call, on new readings.
#[test]
fn a_doubt_settled_as_not_happened_looks_again() {
    let case = approved_late(GATED)
        .ends("look", total(3))
        .ends("put", failed(Class::Timeout, Landing::Unknown))
        .at(90_000)
        .settle("put", Settlement::DidNotHappen, None);
    let transcript = case.transcript();
    assert!(transcript.contains("> call look#3"), "{transcript}");
    let case = case.ends("look", total(3)).ends("put", done());
    assert_eq!(case.status(), "succeeded");
}

const LISTED: &str = r#"
schema: provost/plan/v1
limits: { concurrency: 1 }
success:
  - { for: goal, check: '${ steps.put.status == "succeeded" }' }
steps:
  - { id: look, tool: look.up, accept: ['${ has(output.names) }'] }
  - { id: put, tool: note.put, when: '${ has(steps.look.output.names) }', for_each: '${ steps.look.output.names }', args: { to: '${ item }' }, approval: required, accept: ['${ output.done }'], fresh: 5s }
answer: done
"#;

fn names(names: &[&str]) -> Reply {
    ok(json!({ "total": 1, "names": names }))
}

fn listed() -> Case {
    Case::new(LISTED)
        .started()
        .ends("look", names(&["a", "b"]))
        .quietly()
        .at(20_000)
        .approve("ada")
}

#[test]
fn a_list_that_changed_before_an_item_began_is_made_anew() {
    let case = listed().ends("look", names(&["a", "c"]));
    insta::assert_snapshot!(case.transcript(), @r#"
    < ada says yes
    + ApprovalGiven by ada
    + AttemptStarted look#2 permit
    > call look#2 look.up {}
    < look#2 ok happened
    + AttemptEnded look#2 ok happened
    + ObservationMade look text
    + ListEvaluated put of 2
    + ApprovalRequested put ["untrusted-control", "untrusted-sink"]: {"to":"a"} {"to":"c"}
    > ask about put
    "#);
}

#[test]
fn a_list_that_changed_after_an_item_began_is_stale() {
    let case = listed()
        .ends("look", names(&["a", "b"]))
        .at(40_000)
        .ends("put[0]", done())
        .ends("look", names(&["a", "c"]));
    insta::assert_snapshot!(case.transcript(), @r#"
    < ada says yes
    + ApprovalGiven by ada
    + AttemptStarted look#2 permit
    > call look#2 look.up {}
    < look#2 ok happened
    + AttemptEnded look#2 ok happened
    + ObservationMade look text
    + AttemptStarted put[0]#1 ask approved
    > call put[0]#1 note.put {"to":"a"}
    < put[0]#1 ok happened
    + AttemptEnded put[0]#1 ok happened
    + ObservationMade put[0] text
    + StepSettled put[0] succeeded
    + AttemptStarted look#3 permit
    > call look#3 look.up {}
    < look#3 ok happened
    + AttemptEnded look#3 ok happened
    + ObservationMade look text
    + StepSettled put[1] failed stale: what it acts on is too old: its list is another by now
    + StepSettled put failed partial: 1 of 2 items failed: what it acts on is too old: its list is another by now
    + ReplanRequested step_failed
    + PlanRequested
    > plan request 2: step_failed
    + PlanGivenUp: nothing better is known
    + RunEnded failed: step `put` failed: 1 of 2 items failed: what it acts on is too old: its list is another by now
    > done failed
    "#);
}

/// While a call is under way that was made of a reading, that reading stays as it is.
#[test]
fn a_reading_does_not_change_under_a_call() {
    let plan = GATED.replace(
        "answer:",
        "  - { id: page, tool: page.send, args: { to: box, text: '${ steps.look.output.total } open' }, accept: ['${ output.done }'], on_failure: continue }\nanswer:",
    );
    let case = approved_late(&plan);
    assert!(
        !case.transcript().contains("look#2"),
        "{}",
        case.transcript()
    );
    let case = case.ends("page", done());
    assert!(
        case.transcript().contains("> call look#2"),
        "{}",
        case.transcript()
    );
}

/// A list that cannot be evaluated any more is no empty list.
#[test]
fn a_list_that_is_an_error_by_now_fails_the_step() {
    let first = LISTED.replace(
        "'${ steps.look.output.names }'",
        "'${ steps.look.output.names.filter(n, 1 / steps.look.output.total > 0) }'",
    );
    let case = Case::new(&first)
        .started()
        .ends("look", names(&["a"]))
        .quietly()
        .at(20_000)
        .approve("ada")
        .ends("look", ok(json!({ "total": 0, "names": ["a"] })));
    insta::assert_snapshot!(case.transcript(), @"
    < ada says yes
    + ApprovalGiven by ada
    + AttemptStarted look#2 permit
    > call look#2 look.up {}
    < look#2 ok happened
    + AttemptEnded look#2 ok happened
    + ObservationMade look text
    + StepSettled put[0] failed expression: `steps.look.output.names.filter(n, 1 / steps.look.output.total > 0)`: a division by zero
    + StepSettled put failed expression: 1 of 1 items failed: `steps.look.output.names.filter(n, 1 / steps.look.output.total > 0)`: a division by zero
    + ReplanRequested step_failed
    + PlanRequested
    > plan request 2: step_failed
    + PlanGivenUp: nothing better is known
    + RunEnded failed: step `put` failed: 1 of 1 items failed: `steps.look.output.names.filter(n, 1 / steps.look.output.total > 0)`: a division by zero
    > done failed
    ");
}

/// What waits for the end of a doubt waits for a person: an item that may have been written holds
/// the reading that the next is to act on anew.
#[test]
fn a_reading_held_by_a_doubt_leaves_the_run_in_doubt() {
    let case = listed()
        .ends("look", names(&["a", "b"]))
        .at(40_000)
        .ends("put[0]", failed(Class::Timeout, Landing::Unknown));
    assert_eq!(case.status(), "in_doubt", "{}", case.transcript());
    let case = case
        .settle(
            "put[0]",
            Settlement::Happened,
            Some(json!({ "done": true })),
        )
        .ends("look", names(&["a", "b"]))
        .ends("put[1]", done());
    assert_eq!(case.status(), "succeeded", "{}", case.transcript());
}

/// A reading on its way again is over before the run is, even if the step that wanted it is.
#[test]
fn a_run_does_not_end_while_a_reading_comes_again() {
    let plan = GATED
        .replace(
            "  - { id: put,",
            "  - { id: other, tool: look.up, approval: required }\n  - { id: put,",
        )
        .replace(
            "steps.look.output.total > 0",
            "steps.look.output.total + steps.other.output.total > 0",
        )
        .replace("fresh: 5s", "fresh: 5s, on_failure: continue")
        .replace("steps.put.status", "steps.look.status");
    let case = Case::new(&plan)
        .started()
        .ends("look", total(3))
        .approve("ada")
        .ends("other", total(1))
        .quietly()
        .at(20_000)
        .approve("ada");
    assert_eq!(case.status(), "running", "{}", case.transcript());
    let case = case.ends("look", total(3));
    insta::assert_snapshot!(case.transcript(), @r#"
    < ada says yes
    + ApprovalGiven by ada
    + AttemptStarted look#2 permit
    + StepSettled put failed stale: what it acts on is too old: policy does not permit `other` by itself
    > call look#2 look.up {}
    < look#2 ok happened
    + AttemptEnded look#2 ok happened
    + ObservationMade look data
    + RunEnded succeeded ["done"]
    > done succeeded
    "#);
}

fn later(until: i64) -> Denial {
    Denial::Later {
        until,
        broken: false,
        because: "not now".to_owned(),
    }
}

/// Two items at once, of which the one named is not admitted before 30 s.
fn denied(plan: &str, slot: &str) -> Case {
    Case::new(&plan.replace("concurrency: 1", "concurrency: 2"))
        .started()
        .ends("look", names(&["a", "b"]))
        .quietly()
        .denying(vec![(slot, later(30_000))])
        .approve("ada")
        .denying(Vec::new())
}

/// What waited for its moment and then for the end of a doubt does not count as under way.
#[test]
fn a_moment_that_passed_in_doubt_is_waited_for_no_more() {
    let case = denied(LISTED, "put[1]")
        .ends("put[0]", failed(Class::Timeout, Landing::Unknown))
        .tick(30_000);
    insta::assert_snapshot!(case.transcript(), @r#"
    < ada says yes
    + ApprovalGiven by ada
    + AttemptStarted put[0]#1 ask approved
    + Deferred put[1] until 30000: not now
    > call put[0]#1 note.put {"to":"a"}
    > wait until 30000
    < put[0]#1 timeout unknown
    + AttemptEnded put[0]#1 timeout unknown
    + StepSettled put[0] in_doubt timeout: it went wrong
    > wait until 30000
    < tick 30000
    + Deferred put[1]: another call uses the result of `look`
    "#);
    assert_eq!(case.status(), "in_doubt");
    let case = case
        .tick(60_000)
        .settle(
            "put[0]",
            Settlement::Happened,
            Some(json!({ "done": true })),
        )
        .ends("look", names(&["a", "b"]))
        .ends("put[1]", done());
    assert_eq!(case.status(), "succeeded", "{}", case.transcript());
}

/// What was begun is tried again before the items that wait until it is over.
#[test]
fn what_was_begun_goes_before_what_waits_for_it() {
    let plan = LISTED.replace("note.put", "page.send");
    let case = denied(&plan, "put[0]")
        .ends("put[1]", failed(Class::Timeout, Landing::Unknown))
        .tick(30_000);
    assert!(
        case.transcript().contains("> call put[1]#2"),
        "{}",
        case.transcript()
    );
    let case = case
        .ends("put[1]", done())
        .ends("look", names(&["a", "b"]))
        .ends("put[0]", done());
    assert_eq!(case.status(), "succeeded", "{}", case.transcript());
}

/// Every item that waits for the end of the same doubt is known to, not the first alone.
#[test]
fn all_items_that_a_doubt_holds_are_known_to_wait() {
    let three = |plan: &str| plan.replace("concurrency: 1", "concurrency: 3");
    let case = Case::new(&three(LISTED))
        .started()
        .ends("look", names(&["a", "b", "c"]))
        .quietly()
        .denying(vec![("put[0]", later(30_000)), ("put[2]", later(31_000))])
        .approve("ada")
        .denying(Vec::new())
        .ends("put[1]", failed(Class::Timeout, Landing::Unknown))
        .tick(32_000);
    assert_eq!(case.status(), "in_doubt", "{}", case.transcript());
}
