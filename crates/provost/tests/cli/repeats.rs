//! The same call made again by another run: what the card says of it, and what policy does.

use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use insta::assert_snapshot;

use super::workplace::Workplace;

const PLAN: &str = r#"
schema: provost/plan/v1
goal: { text: Ring the bell }
steps:
  - { id: ring, tool: bell.ring, args: { tone: low }, accept: ['${ output.rung }'] }
success:
  - { for: goal, check: '${ steps.ring.status == "succeeded" }' }
answer: "It rang."
"#;

const NEVER_AGAIN: &str = r#"
@id("never-again") forbid (principal, action == Action::"bell.ring", resource)
when { resource.repeats > 0 };
"#;

/// A workspace whose bell rings, and answers what does not fit its schema; how often it rang.
fn bell(effect: &str) -> (Workplace, Arc<AtomicUsize>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let rings = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&rings);
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let mut bytes = [0; 2048];
            let mut read = Vec::new();
            while !read.ends_with(b"}") {
                let many = stream.read(&mut bytes).unwrap();
                assert_ne!(many, 0, "a whole request");
                read.extend_from_slice(&bytes[..many]);
            }
            counted.fetch_add(1, Ordering::SeqCst);
            let body = r#"{"rung":"yes"}"#;
            let head = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\nconnection: close";
            let text = format!("{head}\r\ncontent-length: {}\r\n\r\n{body}", body.len());
            stream.write_all(text.as_bytes()).unwrap();
        }
    });
    let place = Workplace::new();
    let config = std::fs::read_to_string(place.path("provost.toml")).unwrap();
    place.write(
        "provost.toml",
        format!(
            r#"{config}
[tools.bell]
kind = "http"
base_url = "http://{address}"
[tools.bell.ops.ring]
request = {{ method = "POST", path = "/ring", body = {{ tone = "${{ args.tone }}" }} }}
input = {{ type = "object", properties = {{ tone = {{ type = "string" }} }}, required = ["tone"] }}
output = {{ type = "object", properties = {{ rung = {{ type = "boolean" }} }}, required = ["rung"] }}
effect = "{effect}"
"#
        ),
    );
    place.write("ring.yaml", PLAN);
    (place, rings)
}

/// Says yes to the card that waits.
fn approve(place: &Workplace) {
    let (run, card) = place.card();
    place.run(&["approve", &format!("{run}@{card}")]).exits(1);
}

#[test]
fn the_card_of_a_goal_that_is_submitted_again_names_the_call_that_took_effect() {
    let (place, rings) = bell("external");
    place.run(&["apply", "ring.yaml"]).exits(3);
    assert_eq!(
        place.json(&["inbox", "--json"])["waiting"][0]["waits"][0]["made_before"],
        0
    );
    approve(&place);
    assert_eq!(
        (place.status().as_str(), rings.load(Ordering::SeqCst)),
        ("failed", 1)
    );

    place.run(&["apply", "ring.yaml"]).exits(3);
    let (run, _) = place.card();
    assert_snapshot!(place.run(&["approve", &run]), @r#"
    exit 2
    --- stderr
    approve step `ring`?
      goal       Ring the bell
      run        RUN, revision 1 of the plan
      tool       bell.ring
      effect     external, high risk
      policy     outside-communication
      argument   tone: "low"
      look twice made before: run RUN, step `ring`, MOMENT, took effect
      needs      approval by one person
      requested  by ada at MOMENT
      solo       this workspace is solo: the requester may also approve
      digest     sha256:DIGEST
    error: an approval needs the digest of the card, or a terminal

    hint: read the card, then type:
      provost approve RUN@CARD
    "#);
    assert_eq!(
        place.json(&["inbox", "--json"])["waiting"][0]["waits"][0]["made_before"],
        1
    );
    assert_eq!(
        rings.load(Ordering::SeqCst),
        1,
        "nothing rings before the yes"
    );
    approve(&place);
    assert_eq!(
        rings.load(Ordering::SeqCst),
        2,
        "a person may have it again"
    );
    let why = place.run(&["trace", &run]);
    assert!(why.stdout.contains("made before by another run"), "{why}");
}

#[test]
fn a_rule_against_repetition_stops_the_second_call_that_nobody_is_asked_about() {
    for (shown, expected) in [("30d", 1), ("0d", 2)] {
        let (place, rings) = bell("write");
        place.write("policies/again.cedar", NEVER_AGAIN);
        let config = std::fs::read_to_string(place.path("provost.toml")).unwrap();
        let limits = format!("[limits]\nrepeats_shown = \"{shown}\"\n");
        place.write("provost.toml", format!("{config}{limits}"));
        place.run(&["apply", "ring.yaml"]).exits(1);
        assert_eq!(rings.load(Ordering::SeqCst), 1);
        let again = place.run(&["apply", "ring.yaml"]).exits(1);
        assert_eq!(rings.load(Ordering::SeqCst), expected, "{shown}: {again}");
        if expected == 1 {
            assert!(
                again.stdout.contains("policy forbids it: `never-again`"),
                "{again}"
            );
            assert!(
                again
                    .stdout
                    .contains("it was made before: step `ring` of run"),
                "{again}"
            );
        }
        place.run(&["audit", "verify"]).exits(0);
    }
}
