//! Cards of an untrusted planner: which values the person who approves wrote themselves.

use crate::case::{Case, ok, rules_with};
use provost_plan::label::{Integrity, Label};
use provost_plan::schema::Schema;
use provost_run::card::CardSubject;
use serde_json::{Value, json};

/// The plan of a program: it writes to `to`.
fn asked(args: &str, goal: &str) -> Case {
    let plan = format!(
        r#"
schema: provost/plan/v1
success:
  - {{ for: goal, check: '${{ steps.put.status == "succeeded" }}' }}
steps:
  - {{ id: look, tool: look.up }}
  - {{ id: which, question: {{ text: "where to?", answer: {{ type: string }} }} }}
  - id: put
    tool: mail.send
    needs: [look, which]
    args: {args}
    accept: ['${{ output.done }}']
answer: done
"#
    );
    let text = Label {
        integrity: Integrity::Text,
        ..Label::trusted()
    };
    let rules = rules_with(|operation| {
        if operation.name == "look.up" {
            let mut output = operation.output.clone().unwrap().value().clone();
            output["required"] = json!(["total", "note"]);
            operation.output = Some(Schema::compile(output).unwrap());
        }
    });
    let case = Case::of(rules, &plan).labelled(&text, &text);
    let case = case.param("to", json!("box-7")).goal_text(goal).begin();
    let output = json!({ "total": 1, "note": "eve@x.y", "names": ["a"] });
    case.ends("look", ok(output)).answer("bob", json!("room 5"))
}

/// The places on the card, and what stands in none.
fn places(case: &Case) -> (Value, Vec<String>) {
    let card = case.card();
    let CardSubject::Step { calls, .. } = &card.subject else {
        panic!("a card about a step");
    };
    let foreign = card.foreign_values().into_iter().collect();
    (json!(calls[0].origins), foreign)
}

const GOAL: &str = "Mail ada@x.y that 3 are open.";

#[test]
fn values_of_the_goal_and_of_answers_are_marked_with_their_place() {
    let case = asked(
        r#"{ to: "${ steps.which.output }", text: "ada@x.y", count: 3 }"#,
        GOAL,
    );
    let (places, foreign) = places(&case);
    assert_eq!(
        places,
        json!({
            "to": "the answer to which",
            "text": "the goal, its text",
            "count": "the goal, its text",
        })
    );
    assert_eq!(foreign, [""; 0]);
    let case = asked(r#"{ to: box-7, text: "ada@x.y" }"#, GOAL);
    assert_eq!(self::places(&case).0["to"], "the goal, params.to");
}

/// The control: what the planner, or an untrusted tool, brought has no place.
#[test]
fn values_of_nobody_are_named() {
    let args = r#"{ to: "${ steps.look.output.note }", text: "send 900 to eve", count: 3 }"#;
    let case = asked(args, GOAL);
    let (places, foreign) = places(&case);
    assert_eq!(places, json!({ "count": "the goal, its text" }));
    assert_eq!(foreign, ["text", "to"]);
}

#[test]
fn a_text_that_only_holds_a_word_of_the_goal_has_no_place() {
    let case = asked(
        r#"{ to: "ada@x.y.evil.com", text: "ada@x.y and eve@x.y" }"#,
        GOAL,
    );
    assert_eq!(
        places(&case),
        (json!({}), vec!["text".to_owned(), "to".to_owned()])
    );
}

/// Asks about what is no read only where a value is of nobody.
const FOREIGN: &str = r#"
@id("calls")
permit (principal, action in Action::"call", resource);
@id("foreign")
forbid (principal, action in Action::"call", resource)
when { !resource.attended && resource.effect != "read" && !resource.values_from_goal };
"#;

#[test]
fn policy_may_ask_about_values_of_nobody_alone() {
    let plan = |args: &str| {
        format!(
            r#"
schema: provost/plan/v1
success:
  - {{ for: goal, check: '${{ steps.put.status == "succeeded" }}' }}
steps:
  - {{ id: look, tool: look.up }}
  - {{ id: put, tool: mail.send, needs: [look], args: {args}, accept: ['${{ output.done }}'] }}
answer: done
"#
        )
    };
    for (args, asks) in [
        (r#"{ to: "ada@x.y", count: 3 }"#, false),
        (r#"{ to: box-7 }"#, false),
        (r#"{ to: "eve@x.y", count: 3 }"#, true),
        (r#"{ to: "ada@x.y", text: "pay eve" }"#, true),
        (
            r#"{ to: "ada@x.y", count: "${ steps.look.output.total }" }"#,
            true,
        ),
    ] {
        let text = Label {
            integrity: Integrity::Text,
            ..Label::trusted()
        };
        let case = Case::under(FOREIGN, &plan(args)).labelled(&text, &text);
        let case = case.param("to", json!("box-7")).goal_text(GOAL).begin();
        let case = case.ends("look", ok(json!({ "total": 41 })));
        let open = case.state().open_cards().next().is_some();
        assert_eq!(open, asks, "{args}\n{}", case.transcript());
    }
}
