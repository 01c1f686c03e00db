//! A plan whose author had seen text: nothing that happens later makes its words trusted.

use crate::case::{Case, ok, rules_with};
use provost_plan::label::{Integrity, Label};
use serde_json::json;

const PLAN: &str = r#"
schema: provost/plan/v1
success:
  - { for: goal, check: '${ steps.last.status == "succeeded" }' }
steps:
  - { id: look, tool: look.up }
  - id: put
    tool: note.put
    needs: [look]
    args: { to: eve, text: hello }
    accept: ['${ output.done }']
    undo: { tool: note.put, args: { to: mallory, text: never mind } }
  - { id: last, tool: look.up, needs: [put] }
answer: done
"#;

fn text() -> Label {
    Label {
        integrity: Integrity::Text,
        ..Label::trusted()
    }
}

/// The plan by a planner whose literals and choice carry these labels.
fn by(literals: &Label, control: &Label) -> Case {
    let case = Case::new(PLAN).labelled(literals, control);
    case.started()
}

fn looked(case: Case) -> Case {
    case.quietly().ends("look", ok(json!({ "total": 4 })))
}

/// What policy asks about `put`, if it asks.
fn asked(case: &Case) -> Option<String> {
    let transcript = case.transcript();
    let line = transcript
        .lines()
        .find(|line| line.contains("ApprovalRequested"));
    line.map(str::to_owned)
}

fn moved() -> provost_run::machine::Rules {
    rules_with(|operation| {
        if operation.name == "look.up" {
            operation.description = "another".to_owned();
        }
    })
}

#[test]
fn its_words_ask_at_a_sink() {
    insta::assert_snapshot!(asked(&looked(by(&text(), &Label::trusted()))).unwrap_or_default(), @r#"+ ApprovalRequested put ["untrusted-sink"]: {"text":"hello","to":"eve"}"#);
    insta::assert_snapshot!(asked(&looked(by(&Label::trusted(), &text()))).unwrap_or_default(), @r#"+ ApprovalRequested put ["untrusted-control"]: {"text":"hello","to":"eve"}"#);
}

/// The control: the words of a person ask nothing.
#[test]
fn words_of_a_person_do_not() {
    let case = looked(by(&Label::trusted(), &Label::trusted()));
    assert_eq!(asked(&case), None, "{}", case.transcript());
}

#[test]
fn a_check_repeated_under_moved_rules_believes_no_more() {
    for (literals, control, policy) in [
        (text(), Label::trusted(), "untrusted-sink"),
        (Label::trusted(), text(), "untrusted-control"),
    ] {
        let case = by(&literals, &control).crash_into(moved());
        assert!(case.transcript().contains("PlanChecked revision 1"));
        let asked = asked(&looked(case.tick(60_000)));
        assert!(asked.is_some_and(|line| line.contains(policy)), "{policy}");
    }
}

/// What its author had seen decides about the call that takes back, too.
#[test]
fn an_undo_believes_no_more() {
    for (literals, expected) in [(text(), Some("untrusted-sink")), (Label::trusted(), None)] {
        let case = looked(by(&literals, &Label::trusted()));
        let case = if asked(&case).is_some() {
            case.approve("ada")
        } else {
            case
        };
        let case = case
            .ends("put", ok(json!({ "done": true })))
            .quietly()
            .cancel_and_undo("ada")
            .ends("last", ok(json!({ "total": 4 })));
        let found = asked(&case);
        let named = |policy: &str| found.as_ref().is_some_and(|line| line.contains(policy));
        assert_eq!(found.is_some(), expected.is_some(), "{}", case.transcript());
        assert!(expected.is_none_or(named), "{found:?}");
    }
}
