//! What tools, plans and people write reaches no terminal raw, whatever the view.

use super::workplace::{Ran, Workplace};

/// A colour, a title, a mark of direction, a bell, a carriage return.
const NASTY: &str = "ada\u{1b}[31m\u{1b}]0;pwned\u{7}\u{202e}evil\r";

#[track_caller]
fn clean(ran: &Ran) {
    for text in [&ran.raw_stdout, &ran.raw_stderr] {
        let raw = text.chars().find(|c| {
            (c.is_control() && *c != '\n')
                || matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
        });
        assert_eq!(raw, None, "{text:?}");
    }
}

#[test]
fn the_output_of_a_tool_is_escaped() {
    let place = Workplace::new();
    place.orders(&[NASTY]);
    let ran = place.run(&["run", "Count the orders of ada"]).exits(0);
    clean(&ran);
    // The control: the text is there, only visibly.
    assert!(
        ran.stdout
            .contains(r"‹ada\u{1b}[31m\u{1b}]0;pwned\u{7}\u{202e}evil\r›"),
        "{ran}"
    );
    let run = place.json(&["runs", "--json"]);
    let run = run.pointer("/runs/0/id").unwrap().as_str().unwrap();
    for verb in ["show", "resume", "trace", "why"] {
        clean(&place.run(&[verb, run]));
    }
}

#[test]
fn a_goal_is_escaped_in_every_view() {
    let place = Workplace::new();
    let goal = format!("Note the orders of {}", NASTY.trim_end());
    let ran = place.run(&["run", &goal]);
    clean(&ran);
    assert_eq!(ran.code, Some(3), "{ran}");
    let (run, card) = place.card();
    clean(&place.run(&["runs"]));
    clean(&place.run(&["inbox"]));
    clean(&place.run(&["approve", &run]));
    clean(&place.run(&["show", &run]));
    clean(&place.run(&["run", &goal]));
    clean(&place.run(&["plan", &goal]));
    clean(&place.run(&["reject", &format!("{run}@{card}"), "--reason", NASTY]));
    clean(&place.run(&["trace", &run]));
    clean(&place.run(&["why", &run]));
    clean(&place.run(&["run", NASTY]));
    clean(&place.run(&["explain", NASTY]));
    clean(&place.run(&["show", NASTY]));
    clean(&place.run(&["tools", "show", NASTY]));
}

#[test]
fn a_plan_file_is_escaped_in_findings() {
    let place = Workplace::new();
    place.write(
        "plan.yaml",
        format!("schema: provost/plan/v1\nsteps:\n  - id: \"{NASTY}\"\n"),
    );
    clean(&place.run(&["check", "plan.yaml"]));
    clean(&place.run(&["apply", "plan.yaml"]));
}

#[test]
fn words_of_mixed_scripts_are_flagged_on_cards() {
    let place = Workplace::new();
    let ran = place
        .run(&["run", "Note the orders of p\u{430}ypal"])
        .exits(3);
    assert!(
        ran.stdout
            .contains("look twice `p\u{430}ypal` mixes Cyrillic and Latin letters"),
        "{ran}"
    );
    // The control: a card without such words has no such line.
    let ran = place.run(&["run", "Note the orders of paypal"]).exits(3);
    assert!(!ran.stdout.contains("look twice"), "{ran}");
}
