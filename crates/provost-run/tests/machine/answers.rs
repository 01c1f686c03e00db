//! Answers: whose words a claim is in, and whether it is shown by what it cites.

use crate::case::{Case, ok};
use provost_plan::label::{Integrity, Label};
use provost_run::event::AnswerPart;
use serde_json::json;

const PLAN: &str = r#"
schema: provost/plan/v1
success:
  - { for: goal, check: '${ steps.look.status == "succeeded" }' }
steps:
  - { id: look, tool: look.up }
answer:
  - { text: "You should visit it.", cites: [look] }
  - { text: "${ 'You ' + 'should' } visit it: ${ steps.look.output.total }." }
  - { text: "${ steps.look.output.total }", cites: [look] }
  - { text: "${ steps.look.output.total > 1 ? 'many' : 'few' }" }
"#;

fn answer(literals: Integrity) -> Vec<AnswerPart> {
    let literals = Label {
        integrity: literals,
        ..Label::trusted()
    };
    let case = Case::new(PLAN).labelled(&literals, &Label::trusted());
    let case = case.started().ends("look", ok(json!({ "total": 4 })));
    case.state().ending.ended.clone().unwrap().answer
}

/// Each claim, with the words of nobody in `‹›`.
fn marked(part: &AnswerPart) -> String {
    let span = |span: &provost_run::event::AnswerSpan| match span.untrusted {
        true => format!("‹{}›", span.text),
        false => span.text.clone(),
    };
    part.spans.iter().map(span).collect()
}

#[test]
fn the_words_of_an_untrusted_planner_are_marked() {
    let answer: Vec<String> = answer(Integrity::Text).iter().map(marked).collect();
    assert_eq!(
        answer,
        [
            "‹You should visit it.›",
            "‹You should›‹ visit it: ›4.",
            "4",
            "‹many›",
        ]
    );
}

/// The control: those of a person, of a playbook, or of a planner that saw no text are not.
#[test]
fn the_words_of_a_trusted_author_are_not() {
    for literals in [Integrity::Trusted, Integrity::Data] {
        let answer = answer(literals);
        let spans = answer.iter().flat_map(|part| &part.spans);
        assert!(spans.into_iter().all(|span| !span.untrusted), "{answer:?}");
    }
}

#[test]
fn a_claim_that_reads_nothing_it_cites_is_said_and_not_shown() {
    let answer = answer(Integrity::Trusted);
    let said: Vec<bool> = answer.iter().map(|part| part.assertion).collect();
    assert_eq!(said, [true, false, false, false]);
    assert!(answer.iter().all(|part| !part.cites.is_empty()));
}
