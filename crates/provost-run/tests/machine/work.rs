//! What judging may cost: what takes too much has failed by a class of its own, and the run is told.

use provost_run::admission::Admission;

use provost_run::call::Slot;
use provost_run::machine::{Effort, Input, Run, StepError};
use serde_json::{Value, json};

use crate::case::{Case, ok, rules_with};

/// About 2,000 subschemas for each item of a list, written in a kilobyte.
fn dear() -> Value {
    let name = |at: usize| json!({ "$ref": format!("#/$defs/d{at}") });
    let twice = |at: usize| {
        (
            format!("d{at}"),
            json!({ "allOf": [name(at + 1), name(at + 1)] }),
        )
    };
    let mut all: serde_json::Map<String, Value> = (0..9).map(twice).collect();
    all.insert("d9".to_owned(), json!({ "type": "object" }));
    json!({ "type": "array", "items": { "$ref": "#/$defs/d0" }, "$defs": all })
}

/// A plan of one read whose output is judged by a schema and by an acceptance.
fn plan(expect: &Value, accept: &str) -> String {
    let step = json!({ "id": "a", "tool": "look.up", "args": { "to": "x" }, "expect": expect,
                       "accept": [accept], "retry": { "attempts": 1, "backoff": "1s" },
                       "on_failure": "stop" });
    let success = json!([{ "for": "goal", "check": "${ steps.a.status == \"succeeded\" }" }]);
    json!({ "schema": "provost/plan/v1", "success": success, "steps": [step], "answer": "done" })
        .to_string()
}

fn begun(expect: &Value, accept: &str) -> Case {
    let rules = rules_with(|operation| operation.output = None);
    Case::of(rules, &plan(expect, accept)).started()
}

fn items(count: usize) -> Value {
    (0..count).map(|_| json!({})).collect()
}

/// What a run with so much effort makes of the end of its one call.
fn taken(case: &Case, effort: Effort, output: Value) -> Result<String, StepError> {
    let mut run: Run = case.taken_up();
    let input = Input::Ended {
        slot: Slot {
            step: "a".to_owned(),
            item: None,
        },
        attempt: 1,
        reply: ok(output),
    };
    let output = run.step_with(effort, input, 60_000, &Admission::default())?;
    let lines: Vec<String> = output.append.iter().map(crate::case::line).collect();
    Ok(lines.join("\n"))
}

#[test]
fn an_output_that_takes_too_much_work_to_judge_fails_its_step_by_a_class_of_its_own() {
    let case = begun(&dear(), "${ true }").ends("a", ok(items(20_000)));
    insta::assert_snapshot!(case.transcript(), @"
    < a#1 ok happened
    + AttemptEnded a#1 work_exceeded happened
    + StepSettled a failed work_exceeded: the output does not fit at `/`: to judge this value takes more work than is allowed
    + RunEnded failed: step `a` failed: the output does not fit at `/`: to judge this value takes more work than is allowed
    > done failed
    ");
    let case = begun(&dear(), "${ true }").ends("a", ok(items(100)));
    assert_eq!(case.status(), "succeeded", "{}", case.transcript());
}

#[test]
fn acceptances_are_paid_from_what_the_turn_has_left() {
    let all = "${ output.all(x, output.all(y, x == y)) }";
    let any = json!({ "type": "array" });
    let case = begun(&any, all);
    let line = taken(&case, Effort::All, items(20)).unwrap();
    assert!(line.contains("StepSettled a succeeded"), "{line}");
    let refused = taken(&case, Effort::Refusing, items(1_000)).unwrap();
    assert!(
        refused.contains("StepSettled a failed work_exceeded"),
        "{refused}"
    );
}

#[test]
fn with_little_effort_a_laborious_turn_is_not_taken_and_a_plain_one_is() {
    let case = begun(&dear(), "${ size(output) >= 0 }");
    let little = |count| taken(&case, Effort::Little, items(count));
    assert!(matches!(little(1_000), Err(StepError::Laborious)));
    assert_eq!(
        little(3).unwrap(),
        taken(&case, Effort::All, items(3)).unwrap()
    );
    let refused = taken(&case, Effort::Refusing, items(1_000)).unwrap();
    assert!(refused.contains("work_exceeded"), "{refused}");
    let all = taken(&case, Effort::All, items(1_000)).unwrap();
    assert!(all.contains("StepSettled a succeeded"), "{all}");
}

#[test]
fn a_plan_whose_check_may_take_long_is_not_checked_with_little_effort() {
    let rules = rules_with(|operation| operation.output = None);
    let reply = |plan: &str| Input::Planned {
        id: 1,
        reply: crate::case::plan_reply(plan, &[]),
        usage: None,
    };
    let case = Case::of(rules, "").planner_is_away().begin();
    let take = |effort, plan: &str| {
        let mut run = case.taken_up();
        let output = run.step_with(effort, reply(plan), 1_000, &Admission::default());
        output.map(|_| run.state().status().word())
    };
    let (heavy, plain) = (plan(&dear(), "${ true }"), plan(&json!({}), "${ true }"));
    assert!(matches!(
        take(Effort::Little, &heavy),
        Err(StepError::Laborious)
    ));
    assert_eq!(take(Effort::All, &heavy).unwrap(), "running");
    assert_eq!(take(Effort::Refusing, &heavy).unwrap(), "refused");
    assert_eq!(take(Effort::Little, &plain).unwrap(), "running");
}

#[test]
fn what_is_too_large_for_one_event_of_a_journal_fails_its_step() {
    let rules = rules_with(|operation| operation.output = None);
    let case = Case::of(rules, &plan(&json!(true), "${ true }")).started();
    let all = |bytes: usize| taken(&case, Effort::All, json!(["x".repeat(bytes)])).unwrap();
    assert!(all(10 << 20).contains("StepSettled a succeeded"));
    let large = all(13 << 20);
    assert!(
        large.contains("StepSettled a failed output_invalid"),
        "{large}"
    );
    assert!(
        large.contains("than the 12582912 that a journal keeps"),
        "{large}"
    );
}

#[test]
fn a_card_that_no_journal_could_keep_is_not_asked() {
    let plan = json!({ "schema": "provost/plan/v1",
        "success": [{ "for": "goal", "check": "${ steps.b.status == \"succeeded\" }" }],
        "steps": [
            { "id": "a", "tool": "look.up", "args": { "to": "x" }, "expect": { "type": "array",
              "items": { "type": "string" } } },
            { "id": "b", "tool": "mail.send", "for_each": "${ steps.a.output }", "max_items": 60,
              "args": { "to": "ada@example.org", "text": "${ item }" }, "accept": ["${ output.done }"],
              "on_failure": "stop" },
        ], "answer": "done" });
    let asked = |letters: usize| {
        let rules = rules_with(|operation| {
            if operation.name == "look.up" {
                operation.output = None;
            }
        });
        let case = Case::of(rules, &plan.to_string()).started();
        let texts: Value = (0..60)
            .map(|at| json!(format!("{at}{}", "x".repeat(letters))))
            .collect();
        case.ends("a", ok(texts))
    };
    let small = asked(1_000);
    assert_eq!(small.status(), "waiting_approval", "{}", small.transcript());
    let large = asked(100_000);
    assert_eq!(large.status(), "failed", "{}", large.transcript());
    assert!(
        large.transcript().contains("budget_exceeded"),
        "{}",
        large.transcript()
    );
}
