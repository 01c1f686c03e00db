//! Who may say what to a run, in a workspace of several people.

use crate::case::{Case, failed, ok, person};
use provost_plan::policy::{DEFAULT_POLICY, Principal, PrincipalKind};
use provost_run::call::Slot;
use provost_run::event::Settlement;
use provost_run::machine::Input;
use provost_run::outcome::{Class, Landing};
use provost_run::statement::Statement;
use serde_json::json;

const PLAN: &str = r#"
schema: provost/plan/v1
success:
  - { for: goal, check: '${ steps.put.status == "succeeded" }' }
steps:
  - { id: put, tool: note.put, args: { to: box }, accept: ['${ output.done }'] }
  - { id: which, question: { text: "how many?", answer: { type: integer } } }
  - { id: look, tool: look.up, needs: [which] }
answer: done
"#;

/// A run of ada's with a question, and a write in doubt.
fn open() -> Case {
    Case::under(DEFAULT_POLICY, PLAN)
        .started()
        .ends("put", failed(Class::Timeout, Landing::Unknown))
        .quietly()
}

fn agent(name: &str) -> Principal {
    Principal {
        kind: PrincipalKind::Agent,
        ..person(name)
    }
}

fn statements(case: &Case) -> Vec<Statement> {
    let slot = Slot {
        step: "put".to_owned(),
        item: None,
    };
    let reason = || "why not".to_owned();
    vec![
        Statement::Answer {
            question: *case.state().open_questions().next().unwrap().0,
            value: json!(3),
        },
        Statement::Settle {
            attempt: case.state().attempt_in_doubt(&slot),
            slot,
            settled: Settlement::Abandoned,
            output: None,
            reason: reason(),
        },
        Statement::Amend {
            plan: None,
            goal: Some("another".to_owned()),
            reason: reason(),
        },
        Statement::Pause { reason: reason() },
        Statement::Cancel {
            reason: None,
            undo: true,
        },
        Statement::Cancel {
            reason: None,
            undo: false,
        },
    ]
}

/// What each may say, of everything that can be said to the open run.
fn heard(by: &Principal) -> String {
    let mut taken = Vec::new();
    for statement in statements(&open()) {
        let undo = matches!(statement, Statement::Cancel { undo: true, .. });
        let word = if undo { "undo" } else { statement.verb() };
        let case = open();
        let before = case.journal.len();
        let case = case.give(Input::unsigned(by.clone(), statement));
        if case.journal.len() > before {
            taken.push(word);
        }
    }
    // A pause of bob's, and who may let it go on.
    let case = open().pause();
    let before = case.journal.len();
    let case = case.give(Input::unsigned(by.clone(), Statement::Resume));
    if case.journal.len() > before {
        taken.push("resume");
    }
    taken.join(" ")
}

#[test]
fn who_is_not_listed_can_say_nothing_to_a_run() {
    assert_eq!(heard(&person("mallory")), "");
    assert_eq!(heard(&agent("bob")), "");
    // The controls: who asked for it, and somebody else who is listed.
    assert_eq!(
        heard(&person("ada")),
        "answer amend pause undo cancel resume"
    );
    assert_eq!(
        heard(&person("eve")),
        "answer settle amend pause undo cancel resume"
    );
}

/// In a solo workspace whoever is at the machine is its one person.
#[test]
fn in_a_solo_workspace_everybody_may_stop_a_run() {
    let case = Case::new(PLAN).started().quietly();
    let cancel = Statement::Cancel {
        reason: None,
        undo: false,
    };
    let case = case
        .says("somebody", cancel)
        .ends("put", ok(json!({ "done": true })));
    assert_eq!(case.status(), "cancelled");
}
