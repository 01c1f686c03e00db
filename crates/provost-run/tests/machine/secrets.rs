//! Secrets in a run: marked in every event that holds one, and shown by none.

use crate::case::{Case, ok, rules_with};
use provost_plan::catalog::Operation;
use provost_plan::label::Label;
use provost_plan::schema::Schema;
use provost_run::event::{Event, Settlement};
use provost_run::machine::Rules;
use provost_run::outcome::{Class, Landing, Reply};
use provost_run::shown;
use serde_json::{Value, json};

const SECRET: &str = "canary-9f2c7e";

/// `look.up` gives a secret; what `keeps` names accepts it.
fn rules(keeps: &'static [&'static str]) -> Rules {
    changed(move |operation| {
        operation.secret = operation.name == "look.up";
        operation.accepts_secrets = keeps.contains(&operation.name.as_str());
    })
}

/// `look.up` gives a note and names, always.
fn changed(change: impl Fn(&mut Operation)) -> Rules {
    rules_with(|operation| {
        if operation.name == "look.up" {
            let mut output = operation.output.clone().unwrap().value().clone();
            output["required"] = json!(["total", "note", "names"]);
            operation.output = Some(Schema::compile(output).unwrap());
        }
        change(operation);
    })
}

/// A case of which the first plan is in force.
fn started(rules: Rules, plan: &str) -> Case {
    let case = Case::of(rules, plan).begin();
    let transcript = case.transcript();
    assert!(transcript.contains("RunStarted"), "{transcript}");
    case.quietly()
}

fn plan(step: &str, answer: &str) -> String {
    format!(
        r#"
schema: provost/plan/v1
success:
  - {{ for: goal, check: '${{ steps.put.status == "succeeded" }}' }}
steps:
  - {{ id: look, tool: look.up }}
{step}
answer: "{answer}"
"#
    )
}

const PUT: &str = r#"  - { id: put, tool: note.put, args: { to: box, text: "key ${ steps.look.output.note }" }, accept: ["${ output.done }"] }"#;

fn told() -> Reply {
    ok(json!({ "total": 1, "note": SECRET, "names": [SECRET, "b"] }))
}

/// Whether the secret stands in the events of a case: as they are kept, and as they are shown.
fn stands(case: &Case) -> (bool, bool) {
    let has = |payload: Value| payload.to_string().contains(SECRET);
    let mut events = case.journal.iter().map(|(event, _)| event);
    let kept = events.clone().any(|event| has(event.to_stored().2));
    let shown = events.find(|event| has(shown::stored(event).2));
    if let Some(event) = shown {
        println!("shown in {}", event.kind());
    }
    (kept, shown.is_some())
}

#[test]
fn a_secret_is_marked_in_events_and_none_shows_it() {
    let case = started(rules(&["note.put"]), &plan(PUT, "done")).ends("look", told());
    // The call itself carries it.
    assert!(case.transcript().contains(&format!("key {SECRET}")));
    let case = case.ends("put", ok(json!({ "done": true, "id": SECRET })));
    assert_eq!(case.status(), "succeeded");
    assert_eq!(stands(&case), (true, false));
    let labels = case.journal.iter().filter_map(|(event, _)| match event {
        Event::ObservationMade { slot, label, .. } => Some((slot.to_string(), label.secret)),
        _ => None,
    });
    let labels: Vec<_> = labels.collect();
    // What is given a secret may give it back.
    assert_eq!(
        labels,
        [("look".to_owned(), true), ("put".to_owned(), true)]
    );
}

/// The control: where nobody says that it is secret, the same look finds it.
#[test]
fn what_is_no_secret_is_shown() {
    let open = changed(|operation| operation.accepts_secrets = true);
    let case = started(open, &plan(PUT, "done")).ends("look", told());
    assert_eq!(stands(&case), (true, true));
}

#[test]
fn a_card_binds_a_secret_and_does_not_show_it() {
    let step = r#"  - { id: put, tool: mail.send, args: { to: "a@b.c", text: "${ steps.look.output.note }" }, accept: ["${ output.done }"] }"#;
    let case = started(rules(&["mail.send"]), &plan(step, "done")).ends("look", told());
    let card = serde_json::to_string(case.card()).unwrap();
    assert!(!card.contains(SECRET), "{card}");
    assert!(card.contains(r#""text":{"secret":true}"#), "{card}");
    // The yes is to the real value: the digest on the card is of it.
    let case = case.approve("ada");
    assert!(case.transcript().contains(&format!(r#""text":"{SECRET}""#)));
    assert_eq!(stands(&case), (true, false));
}

#[test]
fn what_a_tool_says_of_a_secret_it_was_given_is_withheld() {
    let words = format!("no such key: {SECRET}");
    let refused = Reply::failed(Class::InvalidArguments, Landing::None, &words);
    let case = started(rules(&["note.put"]), &plan(PUT, "done"))
        .ends("look", told())
        .quietly()
        .ends("put", refused);
    assert_eq!(case.status(), "failed");
    assert!(!case.transcript().contains(SECRET), "{}", case.transcript());
    let ended = case.state().ending.ended.clone().unwrap();
    assert_eq!(
        ended.message.as_deref(),
        Some("step `put` failed: withheld: it may repeat a secret")
    );
    assert_eq!(stands(&case), (true, false));
}

#[test]
fn the_items_of_a_secret_list_are_not_shown() {
    let step = r#"  - { id: put, tool: note.put, for_each: "${ steps.look.output.names }", max_items: 3, args: { to: box, text: "${ item }" }, accept: ["${ output.done }"] }"#;
    let case = started(rules(&["note.put"]), &plan(step, "done")).ends("look", told());
    assert_eq!(stands(&case), (true, false));
}

#[test]
fn an_output_that_a_person_knows_of_is_as_secret_as_the_tool_s() {
    let step = PUT.replace("key ${ steps.look.output.note }", "x");
    let secret = changed(|operation| operation.secret = operation.name == "note.put");
    let case = started(secret, &plan(&step, "done"))
        .ends("look", told())
        .ends(
            "put",
            Reply::failed(Class::Timeout, Landing::Unknown, SECRET),
        )
        .settle(
            "put",
            Settlement::Happened,
            Some(json!({ "done": true, "id": SECRET })),
        );
    let settled = case.journal.iter().find_map(|(event, _)| match event {
        Event::DoubtSettled { .. } => Some(shown::stored(event).2),
        _ => None,
    });
    assert_eq!(settled.unwrap()["output"], json!({ "secret": true }));
}

#[test]
fn the_bytes_behind_a_secret_are_not_shown() {
    let case = started(rules(&["note.put"]), &plan(PUT, "done"))
        .ends("look", told())
        .ends("put", ok(json!({ "done": true })));
    let events = || case.journal.iter().map(|(event, _)| event);
    let behind: Vec<_> = events()
        .filter_map(|event| match event {
            Event::ObservationMade { evidence, .. } => Some(*evidence),
            _ => None,
        })
        .collect();
    assert_eq!(behind.len(), 2);
    assert!(
        behind
            .iter()
            .all(|digest| !shown::evidence(events(), digest))
    );
    // The control: of a run in which they are no secret, the same bytes are.
    let open = changed(|operation| operation.accepts_secrets = true);
    let open = started(open, &plan(PUT, "done")).ends("look", told());
    let events = || open.journal.iter().map(|(event, _)| event);
    assert!(shown::evidence(events(), &behind[0]));
}

#[test]
fn a_plan_with_a_way_out_for_a_secret_is_refused() {
    for (step, answer) in [
        (PUT, "done"),
        ("", "${ steps.look.output.note }"),
        ("", "${ size(steps.look.output.note) }"),
        (
            r#"  - { id: ask, question: { text: "Is ${ steps.look.output.note } right?", answer: { type: boolean } } }"#,
            "done",
        ),
        (
            r#"  - { id: again, tool: look.up, args: { to: "${ steps.look.output.note }" } }"#,
            "done",
        ),
    ] {
        let proof = |plan: String| plan.replace("steps.put", "steps.look");
        let case = Case::of(rules(&[]), &proof(plan(step, answer))).begin();
        let transcript = case.transcript();
        let refused = transcript.lines().find(|line| line.contains("PlanRefused"));
        let refused = refused.unwrap_or_default();
        assert!(refused.contains("F403"), "{transcript}");
    }
}

#[test]
fn a_text_with_a_secret_label_is_not_shown() {
    let secret = Label {
        secret: true,
        ..Label::trusted()
    };
    assert_eq!(
        shown::text(&secret, SECRET.to_owned()),
        "(a secret, not shown)"
    );
    assert_eq!(shown::text(&Label::trusted(), "x".to_owned()), "x");
    assert_eq!(shown::output(&secret, &json!(SECRET)), shown::secret());
}
