//! `resource.inputs_validated`: false for a call that reads what a failed step left.

use crate::case::{Case, failed, ok};
use provost_run::outcome::{Class, Landing};
use serde_json::json;

/// A person is asked about a write with inputs that nobody accepted.
const ASKS: &str = r#"
permit (principal, action, resource);
@id("unvalidated")
forbid (principal, action in Action::"call", resource)
when { !resource.attended && resource.effect != "read" && !resource.inputs_validated };
"#;

/// Looks two names up, of which one may fail, and writes down what was found.
const PLAN: &str = r#"
schema: provost/plan/v1
success:
  - { for: goal, check: '${ steps.put.status == "succeeded" }' }
steps:
  - id: each
    tool: look.up
    for_each: ${ ["a", "b"] }
    args: { to: "${ item }" }
    on_failure: continue
  - id: put
    tool: note.put
    when: ${ has(steps.each.output) }
    args: { count: "${ size(steps.each.output.filter(o, o != null)) }" }
    accept: ["${ output.done }"]
answer: done
"#;

#[test]
fn a_call_over_a_list_of_which_an_item_failed_has_unvalidated_inputs() {
    let case = Case::under(ASKS, PLAN)
        .started()
        .ends("each[0]", ok(json!({ "total": 1 })))
        .ends("each[1]", failed(Class::NotFound, Landing::None));
    assert_eq!(case.status(), "waiting_approval", "{}", case.transcript());
    let all = Case::under(ASKS, PLAN)
        .started()
        .ends("each[0]", ok(json!({ "total": 1 })))
        .ends("each[1]", ok(json!({ "total": 2 })));
    assert_eq!(all.status(), "running", "{}", all.transcript());
}

#[test]
fn a_call_that_reads_the_error_of_a_step_has_unvalidated_inputs() {
    let plan = PLAN
        .replace("    for_each: ${ [\"a\", \"b\"] }\n", "")
        .replace("${ item }", "a")
        .replace(
            "when: ${ has(steps.each.output) }",
            "when: '${ steps.each.status == \"failed\" }'",
        )
        .replace(
            "count: \"${ size(steps.each.output.filter(o, o != null)) }\"",
            "text: \"${ steps.each.error.class }\"",
        );
    let case = Case::under(ASKS, &plan)
        .started()
        .ends("each", failed(Class::NotFound, Landing::None));
    assert_eq!(case.status(), "waiting_approval", "{}", case.transcript());
}
