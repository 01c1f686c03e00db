//! What a write made stands in the event that settles it, and never decides about the step.

use crate::case::{Case, failed, ok, rules_with};
use provost_plan::catalog::Creates;
use provost_run::event::{Event, Settlement};
use provost_run::outcome::{Class, Landing};
use serde_json::{Value, json};

fn making(plan: &str, secret: bool) -> Case {
    let rules = rules_with(|operation| {
        if operation.name == "note.put" {
            operation.secret = secret;
            operation.creates = Some(Creates {
                kind: "note".to_owned(),
                id: "${ output.id }".to_owned(),
            });
        }
    });
    Case::of(rules, plan).started()
}

fn plan(more: &str) -> String {
    format!(
        r#"
schema: provost/plan/v1
success:
  - {{ for: goal, check: '${{ steps.put.status == "succeeded" }}' }}
steps:
  - {{ id: put, tool: note.put, args: {{ to: box }}{more} }}
answer: done
"#
    )
}

/// What the journal says was made, slot by slot.
fn created(case: &Case) -> Vec<String> {
    let settled = case.journal.iter().filter_map(|(event, _)| match event {
        Event::StepSettled {
            slot,
            created: Some(created),
            ..
        } => Some(format!("{slot}: {created}")),
        _ => None,
    });
    settled.collect()
}

#[test]
fn what_was_made_is_recorded_with_the_success() {
    for (output, expected) in [
        (json!({ "done": true, "id": "n-7" }), "put: note n-7"),
        (json!({ "done": true }), "put: note unknown"),
    ] {
        let case = making(&plan(""), false).ends("put", ok(output));
        assert_eq!(created(&case), [expected]);
        assert_eq!(case.status(), "succeeded");
    }
}

#[test]
fn each_item_of_a_list_makes_its_own() {
    let list = ", for_each: '${ [1, 2] }'";
    let text = plan(list).replace("to: box", "to: 'no. ${ index }'");
    let case = making(&text, false)
        .ends("put[1]", ok(json!({ "done": true, "id": "b" })))
        .ends("put[0]", ok(json!({ "done": true, "id": "a" })));
    assert_eq!(created(&case), ["put[1]: note b", "put[0]: note a"]);
}

/// What failed made nothing that could be told; what is secret is not listed.
#[test]
fn no_success_and_no_secret_is_listed() {
    let failure = failed(Class::NotFound, Landing::None);
    let case = making(&plan(""), false).ends("put", failure);
    assert_eq!(created(&case), [""; 0]);
    let case = making(&plan(""), true).ends("put", ok(json!({ "done": true, "id": "n-7" })));
    assert_eq!(created(&case), ["put: note unknown"]);
}

/// A doubt that a person settled with what they saw tells it too.
#[test]
fn a_settled_doubt_tells_what_was_made() {
    for (output, expected) in [
        (Some(json!({ "done": true, "id": "n-7" })), "put: note n-7"),
        (None::<Value>, "put: note unknown"),
    ] {
        let case = making(&plan(""), false)
            .ends("put", failed(Class::Timeout, Landing::Unknown))
            .settle("put", Settlement::Happened, output);
        assert_eq!(created(&case), [expected]);
    }
}
