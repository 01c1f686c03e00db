//! A run that another process takes up: what people say is heard first, then things begin.

use crate::case::{Case, failed, ok, person, reconciled, rules_with};
use provost_run::call::Slot;
use provost_run::event::{Event, Settlement, StepStatus};
use provost_run::machine::Input;
use provost_run::outcome::{Class, Landing};
use provost_run::statement::{PlanText, Statement};
use serde_json::json;

/// Three writes that could begin at once, one of them in flight when the process dies.
const PLAN: &str = r#"
schema: provost/plan/v1
success:
  - { for: goal, check: '${ steps.a.status == "succeeded" }' }
steps:
  - { id: a, tool: note.put, args: { to: a }, accept: ['${ output.done }'] }
  - { id: b, tool: note.put, args: { to: b }, accept: ['${ output.done }'], needs: [look] }
  - { id: c, tool: note.put, args: { to: c }, accept: ['${ output.done }'], needs: [look] }
  - { id: look, tool: look.up }
answer: done
"#;

fn halted() -> Case {
    Case::of(rules_with(|_| {}), PLAN)
        .started()
        .hold()
        .ends("look", ok(json!({ "total": 1 })))
        .quietly()
}

fn begun(case: &Case) -> Vec<String> {
    let started = |(event, _): &(Event, i64)| match event {
        Event::AttemptStarted(started) => Some(started.slot.to_string()),
        _ => None,
    };
    case.journal.iter().filter_map(started).collect()
}

fn cancel(undo: bool) -> Statement {
    let reason = None;
    Statement::Cancel { reason, undo }
}

#[test]
fn a_cancel_of_a_run_that_is_taken_up_is_heard_before_anything_begins() {
    let case = halted().crash_and_hear(vec![("ada", cancel(false))]);
    insta::assert_snapshot!(case.transcript(), @"
    < crash
    + Resumed, 1 lost
    + AttemptEnded a#1 unavailable unknown lost
    + StepSettled a in_doubt unavailable: the process ended before an answer was recorded
    < ada cancel
    + CancelRequested
    + RunEnded cancelled: cancelled by ada
    > done cancelled
    < people are heard
    ");
}

/// What each statement forbids does not begin, and what it leaves does.
#[test]
fn a_statement_is_heard_before_what_it_forbids_begins() {
    let reason = || "wait".to_owned();
    let plan = PLAN.replace("args: { to: c }", "args: { to: d }");
    let amend = Statement::Amend {
        plan: Some(PlanText {
            name: "mine".to_owned(),
            text: plan.replace("id: b,", "id: e,"),
        }),
        goal: None,
        reason: reason(),
    };
    let pause = Statement::Pause { reason: reason() };
    let cases = [
        (cancel(false), ""),
        (cancel(true), ""),
        (pause, ""),
        (amend, "c e"),
    ];
    for (statement, wanted) in cases {
        let verb = statement.verb();
        let case = halted();
        let before = begun(&case).len();
        let case = case.crash_and_hear(vec![("ada", statement)]);
        let mut now = begun(&case)[before..].to_vec();
        now.sort();
        assert_eq!(now.join(" "), wanted, "{verb}");
    }
    // The control: to whom nobody said anything, everything begins.
    let case = halted();
    let before = begun(&case).len();
    assert_eq!(begun(&case.crash())[before..].join(" "), "b c");
}

#[test]
fn a_statement_that_is_refused_begins_nothing() {
    let mut run = halted().folded(halted().journal.len());
    run.step(Input::Resume, 5_000).unwrap();
    let seq = run.seq();
    let amend = Statement::Amend {
        plan: None,
        goal: None,
        reason: "nothing".to_owned(),
    };
    let refused = run.step(Input::unsigned(person("ada"), amend), 5_000);
    assert!(refused.is_err());
    assert_eq!((run.seq(), run.state().in_flight()), (seq, 0));
    assert!(run.is_hearing());
}

fn settle(case: &Case, settled: Settlement) -> Statement {
    let slot = Slot {
        step: "a".to_owned(),
        item: None,
    };
    Statement::Settle {
        attempt: case.state().attempt_in_doubt(&slot),
        slot,
        settled,
        output: (settled == Settlement::Happened).then(|| json!({ "done": true })),
        reason: "I looked".to_owned(),
    }
}

/// The read that is to tell fails every time, as of a search that raises where nothing is found.
#[test]
fn a_settlement_ends_the_asking_even_if_the_read_always_fails() {
    for settled in [
        Settlement::Happened,
        Settlement::DidNotHappen,
        Settlement::Abandoned,
    ] {
        let mut case = Case::of(reconciled(), PLAN)
            .started()
            .ends("look", ok(json!({ "total": 1 })))
            .ends("b", ok(json!({ "done": true })))
            .ends("c", ok(json!({ "done": true })))
            .ends("a", failed(Class::Timeout, Landing::Unknown))
            .tick(31_000);
        for at in [40_000, 50_000] {
            case = case
                .ends("a", failed(Class::Unavailable, Landing::None))
                .tick(at);
        }
        // Another process: it would ask again at once, were it not told first.
        let statement = settle(&case, settled);
        let case = case.quietly().crash_and_hear(vec![("ada", statement)]);
        let item = case.state().item(&Slot {
            step: "a".to_owned(),
            item: None,
        });
        assert_ne!(
            item.unwrap().status(),
            Some(StepStatus::InDoubt),
            "{}",
            case.transcript()
        );
        assert!(
            !case.transcript().contains("look.up"),
            "{}",
            case.transcript()
        );
    }
}

#[test]
fn a_settlement_counts_while_the_tool_is_being_asked() {
    let case = Case::of(reconciled(), PLAN)
        .started()
        .ends("look", ok(json!({ "total": 1 })))
        .ends("b", ok(json!({ "done": true })))
        .ends("c", ok(json!({ "done": true })))
        .ends("a", failed(Class::Timeout, Landing::Unknown))
        .tick(31_000)
        .quietly()
        .settle("a", Settlement::Happened, Some(json!({ "done": true })))
        .ends("a", failed(Class::Unavailable, Landing::None));
    insta::assert_snapshot!(case.transcript(), @r#"
    < ada settles a: happened
    + DoubtSettled a happened says ada
    + ObservationMade a data
    + StepSettled a succeeded
    < a#2 unavailable none
    + AttemptEnded a#2 unavailable none
    + RunEnded succeeded ["done"]
    > done succeeded
    "#);
    // What did not happen is made again once the read is over, and by the read it is not settled.
    let case = Case::of(reconciled(), PLAN)
        .started()
        .ends("a", failed(Class::Timeout, Landing::Unknown))
        .tick(31_000)
        .quietly()
        .settle("a", Settlement::DidNotHappen, None)
        .ends("a", ok(json!({ "total": 1, "ok": true })));
    insta::assert_snapshot!(case.transcript(), @r#"
    < ada settles a: did not happen
    + DoubtSettled a did not happen says ada
    < a#2 ok happened
    + AttemptEnded a#2 ok none
    + AttemptStarted a#3 permit
    > call a#3 note.put {"to":"a"}
    "#);
}

/// Who was asked for a plan went with the process before: an amendment takes the request's place.
/// The control is the same amendment while the planner is being asked.
#[test]
fn an_amendment_after_a_crash_while_a_planner_was_asked_takes_its_place() {
    let amend = || Statement::Amend {
        plan: Some(PlanText {
            name: "mine".to_owned(),
            text: PLAN.to_owned(),
        }),
        goal: None,
        reason: "I know how".to_owned(),
    };
    let asked = || {
        Case::of(rules_with(|_| {}), PLAN)
            .planner_is_away()
            .started()
    };
    let mut live = asked().run.expect("it began");
    let refused = live.step(Input::unsigned(person("ada"), amend()), 5_000);
    let refused = refused.unwrap_err().to_string();
    assert!(refused.contains("a planner is being asked"), "{refused}");
    let case = asked().crash_and_hear(vec![("ada", amend())]);
    insta::assert_snapshot!(case.transcript(), @r#"
    < crash
    + Resumed, 0 lost
    < ada amend
    + PlanAmended
    + PlanChecked revision 1
    + RunStarted
    < people are heard
    + AttemptStarted a#1 permit
    + AttemptStarted look#1 permit
    > call a#1 note.put {"to":"a"}
    > call look#1 look.up {}
    "#);
}
