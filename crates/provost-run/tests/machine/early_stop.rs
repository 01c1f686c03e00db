//! The early end: a run whose success holds already does not make the reads that are left.

use crate::case::{Case, failed, ok, rules_with};
use provost_plan::catalog::Effect;
use provost_run::event::{Event, RunStatus};
use provost_run::outcome::{Class, Landing};
use serde_json::json;

/// A plan whose proof names `put` only, with `rest` behind it.
fn plan(check: &str, rest: &str, answer: &str) -> String {
    format!(
        "schema: provost/plan/v1\nsuccess:\n  - {{ for: goal, check: '${{ {check} }}' }}\n\
         steps:\n  - {{ id: look, tool: look.up }}\n  - {{ id: put, tool: note.put, needs: [look], \
         args: {{ to: box }}, accept: ['${{ output.done }}'] }}\n{rest}answer:\n{answer}"
    )
}

const PUT: &str = "steps.put.status == \"succeeded\"";
const AFTER: &str = "  - { id: after, tool: look.up, needs: [put], args: { to: after } }\n\
                     \x20 - { id: last, tool: look.up, needs: [after], args: { to: last } }\n";
const DONE: &str = "  - { text: done, cites: [put] }\n";

fn put(plan: &str) -> Case {
    Case::new(plan)
        .started()
        .ends("look", ok(json!({ "total": 1 })))
        .quietly()
        .ends("put", ok(json!({ "done": true })))
}

#[test]
fn reads_that_are_left_are_skipped_once_success_holds() {
    let case = put(&plan(PUT, AFTER, DONE));
    insta::assert_snapshot!(case.transcript(), @r#"
    < put#1 ok happened
    + AttemptEnded put#1 ok happened
    + ObservationMade put data
    + StepSettled put succeeded
    + StepSkipped after Proven
    + StepSkipped last Proven
    + RunEnded succeeded ["done"]
    > done succeeded
    "#);
    let shown = case.state().steps["last"].view.clone();
    assert_eq!(shown, json!({ "status": "skipped" }));
}

/// Controls: what is left, read or not yet known keeps the run going.
#[test]
fn a_run_goes_on_while_anything_hangs_on_what_is_left() {
    let write = "  - { id: after, tool: look.up, needs: [put], args: { to: after } }\n\
                 \x20 - { id: mail, tool: page.send, needs: [after], args: { to: mail }, \
                 accept: ['${ output.done }'] }\n";
    let question = "  - { id: after, tool: look.up, needs: [put], args: { to: after } }\n\
                    \x20 - { id: ask, needs: [after], question: { text: how many?, \
                    answer: { type: integer } } }\n";
    let told = "  - { text: 'found ${ steps.after.output.total }' }\n";
    let cited = "  - { text: done, cites: [after] }\n";
    let guarded = "  - { when: '${ steps.after.status == \"succeeded\" }', text: done }\n";
    let unlike = "steps.put.status == \"succeeded\" && steps.last.status != \"failed\"";
    let either = "steps.put.status == \"succeeded\" || steps.last.status == \"succeeded\"";
    let later = "has(steps.put.output.id)";
    let cases = [
        ("a write is left", plan(PUT, write, DONE)),
        ("a question is left", plan(PUT, question, DONE)),
        ("a claim says what a read found", plan(PUT, AFTER, told)),
        ("a claim cites a read", plan(PUT, AFTER, cited)),
        ("a claim hangs on a read", plan(PUT, AFTER, guarded)),
        (
            "the proof would hold by accident",
            plan(unlike, AFTER, DONE),
        ),
        (
            "the proof names a read that is open",
            plan(either, AFTER, DONE),
        ),
        ("the proof does not hold", plan(later, AFTER, DONE)),
    ];
    for (what, plan) in cases {
        let transcript = put(&plan).transcript();
        assert!(
            transcript.contains("> call after#1"),
            "{what}:\n{transcript}"
        );
        assert!(!transcript.contains("Proven"), "{what}:\n{transcript}");
    }
}

#[test]
fn a_planner_that_wants_to_see_a_read_is_shown_it() {
    let plan = plan(PUT, AFTER, DONE);
    let case = Case::new("")
        .consulting(&plan, &["after"])
        .started()
        .ends("look", ok(json!({ "total": 1 })))
        .ends("put", ok(json!({ "done": true })));
    assert!(case.transcript().contains("> call after#1"));
}

#[test]
fn a_read_by_the_catalog_in_force_counts_and_no_other() {
    let rules = rules_with(|operation| {
        if operation.name == "look.up" {
            operation.effect = Effect::Egress;
        }
    });
    let case = Case::of(rules, &plan(PUT, AFTER, DONE))
        .started()
        .ends("look", ok(json!({ "total": 1 })))
        .ends("put", ok(json!({ "done": true })));
    assert!(
        !case.transcript().contains("Proven"),
        "{}",
        case.transcript()
    );
}

const BESIDE: &str = "  - { id: beside, tool: look.up, args: { to: beside } }\n\
                      \x20 - { id: after, tool: look.up, needs: [put], args: { to: after } }\n";

#[test]
fn what_is_in_flight_settles_first_and_nothing_more_begins() {
    let case = put(&plan(PUT, BESIDE, DONE)).ends("beside", ok(json!({ "total": 1 })));
    insta::assert_snapshot!(case.transcript(), @r#"
    < put#1 ok happened
    + AttemptEnded put#1 ok happened
    + ObservationMade put data
    + StepSettled put succeeded
    < beside#1 ok happened
    + AttemptEnded beside#1 ok happened
    + ObservationMade beside data
    + StepSettled beside succeeded
    + StepSkipped after Proven
    + RunEnded succeeded ["done"]
    > done succeeded
    "#);
}

#[test]
fn a_read_that_failed_for_now_is_not_waited_for() {
    let looked = Case::new(&plan(PUT, BESIDE, DONE))
        .started()
        .ends("look", ok(json!({ "total": 1 })))
        .ends("beside", failed(Class::Timeout, Landing::None))
        .quietly();
    insta::assert_snapshot!(looked.ends("put", ok(json!({ "done": true }))).transcript(), @r#"
    < put#1 ok happened
    + AttemptEnded put#1 ok happened
    + ObservationMade put data
    + StepSettled put succeeded
    + StepSkipped beside Proven
    + StepSkipped after Proven
    + RunEnded succeeded ["done"]
    > done succeeded
    "#);
}

#[test]
fn a_process_that_dies_while_a_read_is_in_flight_ends_early_too() {
    let case = put(&plan(PUT, BESIDE, DONE)).quietly().crash();
    insta::assert_snapshot!(case.transcript(), @r#"
    < crash
    + Resumed, 1 lost
    + AttemptEnded beside#1 unavailable unknown lost
    + StepSkipped beside Proven
    + StepSkipped after Proven
    + RunEnded succeeded ["done"]
    > done succeeded
    "#);
}

#[test]
fn a_journal_cut_anywhere_comes_to_the_same_end() {
    let case = put(&plan(PUT, AFTER, DONE));
    let settled = case.journal.iter().position(
        |(event, _)| matches!(event, Event::StepSettled { slot, .. } if slot.step == "put"),
    );
    for length in settled.unwrap() + 1..case.journal.len() {
        let mut run = case.folded(length);
        let events = crate::case::take_up(&mut run, 1_000);
        assert_eq!(
            run.state().status(),
            RunStatus::Succeeded,
            "after {length} events"
        );
        let begins = |event: &Event| matches!(event, Event::AttemptStarted(_));
        assert!(!events.iter().any(begins), "after {length} events");
    }
}
