//! Assertions: they call nothing, and hold back what waits for them.

use crate::case::{Case, ok};
use provost_run::event::RunStatus;
use serde_json::{Value, json};

/// A write that waits for an assertion about what was read; `more` stands in the assertion.
fn plan(condition: &str, more: &str) -> String {
    format!(
        r#"
schema: provost/plan/v1
success:
  - {{ for: goal, check: '${{ steps.count.status == "succeeded" }}' }}
steps:
  - {{ id: count, tool: look.up }}
  - id: enough
    assert: ${{ {condition} }}
{more}  - {{ id: put, tool: note.put, needs: [enough], args: {{ to: box }}, accept: ['${{ output.done }}'] }}
answer: "${{ steps.count.output.total }} in all"
"#
    )
}

const ENOUGH: &str = "steps.count.output.total > 3";
const ONLY: &str = "    message: \"only ${ steps.count.output.total } are free\"\n";

fn counted(text: &str, total: i64) -> Case {
    let case = Case::new(text).begin();
    case.ends("count", ok(json!({ "total": total })))
}

fn ended(case: &Case) -> Option<RunStatus> {
    case.state().ending.ended.as_ref().map(|ended| ended.status)
}

#[test]
fn what_holds_succeeds_with_true_and_calls_nothing() {
    let case = counted(&plan(ENOUGH, ""), 4).ends("put", ok(json!({ "done": true })));
    insta::assert_snapshot!(case.transcript(), @r#"
    + RunCreated
    + GoalInterpreted
    + PlanRequested
    > plan request 1
    + PlanProposed
    + PlanChecked revision 1
    + RunStarted
    + AttemptStarted count#1 permit
    > call count#1 look.up {}
    < count#1 ok happened
    + AttemptEnded count#1 ok happened
    + ObservationMade count data
    + StepSettled count succeeded
    + ObservationMade enough data
    + StepSettled enough succeeded
    + AttemptStarted put#1 permit
    > call put#1 note.put {"to":"box"}
    < put#1 ok happened
    + AttemptEnded put#1 ok happened
    + ObservationMade put data
    + StepSettled put succeeded
    + RunEnded succeeded ["4 in all"]
    > done succeeded
    "#);
    let state = case.state();
    assert_eq!(state.steps["enough"].view["output"], Value::Bool(true));
}

#[test]
fn what_does_not_hold_fails_with_its_message_and_asks_the_planner() {
    let case = counted(&plan(ENOUGH, ONLY), 2);
    insta::assert_snapshot!(case.transcript(), @r#"
    + RunCreated
    + GoalInterpreted
    + PlanRequested
    > plan request 1
    + PlanProposed
    + PlanChecked revision 1
    + RunStarted
    + AttemptStarted count#1 permit
    > call count#1 look.up {}
    < count#1 ok happened
    + AttemptEnded count#1 ok happened
    + ObservationMade count data
    + StepSettled count succeeded
    + StepSettled enough failed acceptance_failed: only 2 are free
    + ReplanRequested step_failed
    + PlanRequested
    > plan request 2: step_failed
    + PlanGivenUp: nothing better is known
    + RunEnded failed: step `enough` failed: only 2 are free
    > done failed
    "#);
    let state = case.state();
    let message = state.steps["enough"].message.as_deref();
    assert_eq!(message, Some("only 2 are free"));
    // Control: without a message the condition is said.
    let case = counted(&plan(ENOUGH, ""), 2);
    let message = case.state().steps["enough"].message.clone();
    let said = message.unwrap_or_default();
    assert!(said.contains(ENOUGH), "{said}");
}

#[test]
fn what_a_failure_leads_to_is_said_as_of_any_step() {
    let stops = counted(&plan(ENOUGH, "    on_failure: stop\n"), 2);
    assert_eq!(ended(&stops), Some(RunStatus::Failed));
    let goes_on = counted(&plan(ENOUGH, "    on_failure: continue\n"), 2);
    let goes_on = goes_on.ends("put", ok(json!({ "done": true })));
    assert_eq!(ended(&goes_on), Some(RunStatus::Succeeded));
    let skipped = counted(
        &plan(ENOUGH, "    when: ${ steps.count.output.total > 9 }\n"),
        2,
    );
    let skipped = skipped.ends("put", ok(json!({ "done": true })));
    assert_eq!(ended(&skipped), Some(RunStatus::Succeeded));
}

#[test]
fn what_has_no_value_fails_as_an_expression() {
    let case = counted(&plan("1 / steps.count.output.total > 3", ONLY), 0);
    insta::assert_snapshot!(case.transcript(), @r#"
    + RunCreated
    + GoalInterpreted
    + PlanRequested
    > plan request 1
    + PlanProposed
    + PlanChecked revision 1
    + RunStarted
    + AttemptStarted count#1 permit
    > call count#1 look.up {}
    < count#1 ok happened
    + AttemptEnded count#1 ok happened
    + ObservationMade count data
    + StepSettled count succeeded
    + StepSettled enough failed expression: `1 / steps.count.output.total > 3`: a division by zero
    + ReplanRequested step_failed
    + PlanRequested
    > plan request 2: step_failed
    + PlanGivenUp: nothing better is known
    + RunEnded failed: step `enough` failed: `1 / steps.count.output.total > 3`: a division by zero
    > done failed
    "#);
}

#[test]
fn a_message_that_has_no_value_gives_way_to_the_condition() {
    let odd = "    message: \"${ 1 / steps.count.output.total }\"\n";
    let case = counted(&plan(ENOUGH, odd), 0);
    let message = case.state().steps["enough"].message.clone();
    let said = message.unwrap_or_default();
    assert!(said.contains(ENOUGH), "{said}");
}
