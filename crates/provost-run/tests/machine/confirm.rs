//! Reading back: a write with `confirm` has succeeded when a read shows it, and not before.

use crate::case::{Case, failed, ok, rules_with};
use provost_plan::catalog::{Operation, Reconcile};
use provost_plan::schema::Schema;
use provost_run::event::Settlement;
use provost_run::machine::Rules;
use provost_run::outcome::{Class, Landing};
use serde_json::{Value, json};

const CONFIRM: &str = ", confirm: { tool: look.up, args: { to: '${ output.id }' }, \
                       accept: ['${ read.total == 1 && size(output.id) > 0 }'] }";

fn one(tool: &str, more: &str) -> String {
    format!(
        r#"
schema: provost/plan/v1
success:
  - {{ for: goal, check: '${{ steps.put.status == "succeeded" }}' }}
steps:
  - {{ id: put, tool: {tool}, args: {{ to: box }}, accept: ['${{ output.done }}'] {more} }}
  - {{ id: next, tool: look.up, needs: [put] }}
answer: done
"#
    )
}

fn rules(change: impl Fn(&mut Operation)) -> Rules {
    let saved = json!({
        "type": "object",
        "properties": { "id": { "type": "string" }, "done": { "type": "boolean" } },
        "required": ["id", "done"],
    });
    rules_with(|operation| {
        if !operation.effect.is_read() {
            operation.output = Schema::compile(saved.clone()).ok();
        }
        change(operation);
    })
}

fn of(plan: &str) -> Case {
    Case::of(rules(|_| {}), plan)
}

fn confirmed(tool: &str) -> Case {
    of(&one(tool, CONFIRM)).started()
}

fn saved() -> Value {
    json!({ "done": true, "id": "n-7" })
}

#[test]
fn a_write_has_succeeded_when_what_is_read_back_shows_it() {
    let case = confirmed("note.put").ends("put", ok(saved()));
    assert_eq!(case.status(), "running");
    let case = case.ends("put", ok(json!({ "total": 1 })));
    insta::assert_snapshot!(case.transcript(), @r#"
    < put#1 ok happened
    + AttemptEnded put#1 ok happened
    + ObservationMade put text
    + AttemptStarted put#2 permit
    > call put#2 look.up {"to":"n-7"}
    < put#2 ok happened
    + AttemptEnded put#2 ok none
    + StepSettled put succeeded
    + StepSkipped next Proven
    + RunEnded succeeded ["done"]
    > done succeeded
    "#);
    assert_eq!(case.state().spend.calls, 2, "the write and its reading");
}

/// The control: the same reply without `confirm` is believed.
#[test]
fn without_confirm_the_reply_is_believed() {
    let case = of(&one("note.put", "")).started();
    let case = case.ends("put", ok(saved()));
    assert_eq!(case.state().steps["put"].status.word(), "succeeded");
}

#[test]
fn what_is_not_read_back_took_place_and_failed() {
    let case = confirmed("note.put")
        .ends("put", ok(saved()))
        .ends("put", ok(json!({ "total": 0 })));
    insta::assert_snapshot!(case.transcript(), @r#"
    < put#1 ok happened
    + AttemptEnded put#1 ok happened
    + ObservationMade put text
    + AttemptStarted put#2 permit
    > call put#2 look.up {"to":"n-7"}
    < put#2 ok happened
    + AttemptEnded put#2 ok none
    + StepSettled put failed acceptance_failed: the tool says it took place, but `look.up` does not confirm it: `${ read.total == 1 && size(output.id) > 0 }` does not hold
    + ReplanRequested step_failed
    + PlanRequested
    > plan request 2: step_failed
    + PlanGivenUp: nothing better is known
    + RunEnded failed: step `put` failed: the tool says it took place, but `look.up` does not confirm it: `${ read.total == 1 && size(output.id) > 0 }` does not hold
    > done failed
    "#);
    assert_eq!(case.state().writes.effects[0].landing, Landing::Happened);
}

#[test]
fn a_reading_that_failed_is_made_again_and_the_write_is_not() {
    let away = || failed(Class::Unavailable, Landing::None);
    let case = confirmed("note.put")
        .ends("put", ok(saved()))
        .quietly()
        .ends("put", away())
        .tick(1_500)
        .ends("put", away())
        .tick(2_500)
        .ends("put", away());
    insta::assert_snapshot!(case.transcript(), @r#"
    < put#2 unavailable none
    + AttemptEnded put#2 unavailable none again at 1500
    > wait until 1500
    < tick 1500
    + AttemptStarted put#3 permit
    > call put#3 look.up {"to":"n-7"}
    < put#3 unavailable none
    + AttemptEnded put#3 unavailable none again at 2500
    > wait until 2500
    < tick 2500
    + AttemptStarted put#4 permit
    > call put#4 look.up {"to":"n-7"}
    < put#4 unavailable none
    + AttemptEnded put#4 unavailable none
    + StepSettled put failed acceptance_failed: the tool says it took place, but `look.up` does not confirm it: unavailable: it went wrong
    + ReplanRequested step_failed
    + PlanRequested
    > plan request 2: step_failed
    + PlanGivenUp: nothing better is known
    + RunEnded failed: step `put` failed: the tool says it took place, but `look.up` does not confirm it: unavailable: it went wrong
    > done failed
    "#);
}

#[test]
fn a_reading_of_another_shape_proves_nothing() {
    let case = confirmed("note.put")
        .ends("put", ok(saved()))
        .quietly()
        .ends("put", ok(json!({ "total": "one" })));
    insta::assert_snapshot!(case.transcript(), @r#"
    < put#2 ok happened
    + AttemptEnded put#2 output_invalid none
    + StepSettled put failed acceptance_failed: the tool says it took place, but `look.up` does not confirm it: output_invalid: the output does not fit: value is not of type "integer"
    + ReplanRequested step_failed
    + PlanRequested
    > plan request 2: step_failed
    + PlanGivenUp: nothing better is known
    + RunEnded failed: step `put` failed: the tool says it took place, but `look.up` does not confirm it: output_invalid: the output does not fit: value is not of type "integer"
    > done failed
    "#);
}

/// Between the write and its reading, and during the reading: what took place is not repeated.
#[test]
fn a_crash_leads_to_another_reading_and_to_no_other_write() {
    for tool in ["note.put", "page.send"] {
        let case = confirmed(tool).ends("put", ok(saved()));
        let written = case.journal.len();
        let case = case
            .quietly()
            .crash()
            .crash()
            .ends("put", ok(json!({ "total": 1 })));
        let called = case.transcript();
        assert!(
            !called.contains(&format!("> call put#2 {tool}")),
            "{called}"
        );
        assert_eq!(
            called.matches("look.up {\"to\":\"n-7\"}").count(),
            2,
            "{called}"
        );
        assert_eq!(case.state().steps["put"].status.word(), "succeeded");
        assert_eq!(case.keys().len(), usize::from(tool == "page.send"));
        // Why each prefix: no boundary of the journal may let the write begin again.
        for length in written - 1..=written {
            let folded = case.folded(length);
            let item = &folded.state().steps["put"].items[0];
            assert!(item.is_unconfirmed(), "{length}");
        }
    }
}

/// A crash before the reply was recorded: that is a doubt, and nothing is read back over it.
#[test]
fn a_doubt_is_not_settled_by_reading_back() {
    let case = confirmed("note.put").crash();
    insta::assert_snapshot!(case.transcript(), @"
    < crash
    + Resumed, 1 lost
    + AttemptEnded put#1 unavailable unknown lost
    + StepSettled put in_doubt unavailable: the process ended before an answer was recorded
    ");
    let known = case.settle("put", Settlement::Happened, Some(saved()));
    insta::assert_snapshot!(known.quietly().ends("put", ok(json!({ "total": 1 }))).transcript(), @r#"
    < put#2 ok happened
    + AttemptEnded put#2 ok none
    + StepSettled put succeeded
    + StepSkipped next Proven
    + RunEnded succeeded ["done"]
    > done succeeded
    "#);
}

#[test]
fn what_happened_unseen_is_not_confirmed() {
    let case = of(&one("note.put", CONFIRM).replace("accept: ['${ output.done }'] ,", ""))
        .started()
        .crash()
        .quietly()
        .settle("put", Settlement::Happened, None);
    insta::assert_snapshot!(case.transcript(), @"
    < ada settles put: happened
    + DoubtSettled put happened says ada
    + StepSettled put in_doubt output_invalid: it took place, and what it gave is not known, which is to be accepted
    ");
}

/// What the tool's reconcile read recovers is read back like a reply.
#[test]
fn a_recovered_output_is_read_back() {
    let rules = rules(|operation| {
        if operation.name == "note.put" {
            operation.reconcile = Some(Reconcile {
                tool: "look.up".to_owned(),
                args: json!({ "to": "${ args.to }" }),
                landed: "${ output.total == 1 }".to_owned(),
                output: Some("${ {\"done\": true, \"id\": \"n-7\"} }".to_owned()),
                final_after_ms: 1_000,
            });
        }
    });
    let case = Case::of(rules, &one("note.put", CONFIRM))
        .started()
        .crash()
        .tick(3_000)
        .quietly()
        .ends("put", ok(json!({ "total": 1 })))
        .ends("put", ok(json!({ "total": 0 })));
    insta::assert_snapshot!(case.transcript(), @r#"
    < put#2 ok happened
    + AttemptEnded put#2 ok none
    + DoubtSettled put happened says look.up
    + ObservationMade put text
    + AttemptStarted put#3 permit
    > call put#3 look.up {"to":"n-7"}
    < put#3 ok happened
    + AttemptEnded put#3 ok none
    + StepSettled put failed acceptance_failed: the tool says it took place, but `look.up` does not confirm it: `${ read.total == 1 && size(output.id) > 0 }` does not hold
    + ReplanRequested step_failed
    + PlanRequested
    > plan request 2: step_failed
    + PlanGivenUp: nothing better is known
    + RunEnded failed: step `put` failed: the tool says it took place, but `look.up` does not confirm it: `${ read.total == 1 && size(output.id) > 0 }` does not hold
    > done failed
    "#);
}

#[test]
fn each_item_of_a_list_is_read_back() {
    let plan = one(
        "note.put",
        &format!(", for_each: '${{ [1, 2] }}' {CONFIRM}"),
    )
    .replace("to: box", "to: 'no. ${ index }'");
    let case = of(&plan)
        .started()
        .ends("put[0]", ok(saved()))
        .ends("put[0]", ok(json!({ "total": 1 })))
        .ends("put[1]", ok(json!({ "done": true, "id": "n-8" })))
        .ends("put[1]", ok(json!({ "total": 0 })));
    insta::assert_snapshot!(case.transcript(), @r#"
    < put[0]#1 ok happened
    + AttemptEnded put[0]#1 ok happened
    + ObservationMade put[0] text
    + AttemptStarted put[0]#2 permit
    > call put[0]#2 look.up {"to":"n-7"}
    < put[0]#2 ok happened
    + AttemptEnded put[0]#2 ok none
    + StepSettled put[0] succeeded
    < put[1]#1 ok happened
    + AttemptEnded put[1]#1 ok happened
    + ObservationMade put[1] text
    + AttemptStarted put[1]#2 permit
    > call put[1]#2 look.up {"to":"n-8"}
    < put[1]#2 ok happened
    + AttemptEnded put[1]#2 ok none
    + StepSettled put[1] failed acceptance_failed: the tool says it took place, but `look.up` does not confirm it: `${ read.total == 1 && size(output.id) > 0 }` does not hold
    + StepSettled put failed partial: 1 of 2 items failed: the tool says it took place, but `look.up` does not confirm it: `${ read.total == 1 && size(output.id) > 0 }` does not hold
    + ReplanRequested step_failed
    + PlanRequested
    > plan request 2: step_failed
    + PlanGivenUp: nothing better is known
    + RunEnded failed: step `put` failed: 1 of 2 items failed: the tool says it took place, but `look.up` does not confirm it: `${ read.total == 1 && size(output.id) > 0 }` does not hold
    > done failed
    "#);
}

/// What took place and was not shown is not repeated either: a person is asked.
#[test]
fn a_repetition_of_what_was_not_shown_is_asked_about() {
    let plan = r#"
schema: provost/plan/v1
success:
  - { for: goal, check: '${ steps.second.status == "succeeded" }' }
steps:
  - { id: look, tool: look.up }
  - { id: put, tool: note.put, args: { count: '${ steps.look.output.total }' }, on_failure: continue CONFIRM }
  - { id: second, tool: note.put, args: { count: 4 }, needs: [put], accept: ['${ output.done }'] }
answer: done
"#;
    let case = of(&plan.replace(" CONFIRM", CONFIRM))
        .started()
        .ends("look", ok(json!({ "total": 4 })))
        .approve("ada")
        .ends("put", ok(saved()))
        .quietly()
        .ends("put", ok(json!({ "total": 0 })));
    insta::assert_snapshot!(case.transcript(), @r#"
    < put#2 ok happened
    + AttemptEnded put#2 ok none
    + StepSettled put failed acceptance_failed: the tool says it took place, but `look.up` does not confirm it: `${ read.total == 1 && size(output.id) > 0 }` does not hold
    + ApprovalRequested second ["calls", "provost:repeated-call"]: {"count":4} repeating put
    > ask about second
    "#);
}

#[test]
fn nothing_is_read_back_after_the_run_was_cancelled() {
    let case = confirmed("note.put").cancel("ada").ends("put", ok(saved()));
    assert_eq!(case.status(), "cancelled");
    assert_eq!(case.state().steps["put"].status.word(), "cancelled");
    assert_eq!(case.state().writes.effects[0].landing, Landing::Happened);
}

/// A read that lacks a secret was not sent: the run stands still, and the read is made once the
/// secret is there, however few tries the step has.
#[test]
fn a_read_that_lacks_a_secret_waits_for_it() {
    let plan = one("note.put", &format!("{CONFIRM}, retry: {{ attempts: 1 }}"));
    let mut case = of(&plan).started().ends("put", ok(saved()));
    for _ in 0..3 {
        let mut reply = failed(Class::Unavailable, Landing::None);
        reply.lacks = Some("env:TOKEN".to_owned());
        case = case.quietly().ends("put", reply);
        assert_eq!(case.status(), "paused");
        case = case.go_on();
    }
    let case = case.quietly().ends("put", ok(json!({ "total": 1 })));
    insta::assert_snapshot!(case.transcript(), @r#"
    < put#5 ok happened
    + AttemptEnded put#5 ok none
    + StepSettled put succeeded
    + StepSkipped next Proven
    + RunEnded succeeded ["done"]
    > done succeeded
    "#);
}
