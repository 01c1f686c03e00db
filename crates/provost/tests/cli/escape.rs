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

#[test]
fn a_host_whose_letters_only_look_latin_is_flagged_on_cards() {
    let place = Workplace::new();
    let host = "\u{440}\u{430}\u{443}.com";
    let ran = place
        .run(&["run", &format!("Note the orders of {host}")])
        .exits(3);
    let said = format!("look twice `{host}` is not `pay.com`: its letters are of another script");
    assert!(ran.stdout.contains(&said), "{ran}");
    // The control: hosts of letters that look like nothing else have no such line.
    for host in [
        "pay.com",
        "\u{43f}\u{440}\u{438}\u{43c}\u{435}\u{440}.\u{440}\u{444}",
    ] {
        let goal = format!("Note the orders of {host}");
        let ran = place.run(&["run", &goal]).exits(3);
        assert!(!ran.stdout.contains("look twice"), "{ran}");
    }
}

/// Letters that have a width or none, and no shape: two names that differ in them look the same.
#[test]
fn a_letter_that_nobody_sees_is_written_out_on_cards() {
    const UNSEEN: [char; 8] = [
        '\u{ad}',
        '\u{34f}',
        '\u{115f}',
        '\u{17b4}',
        '\u{200b}',
        '\u{2800}',
        '\u{3164}',
        '\u{e0041}',
    ];
    let place = Workplace::new();
    for unseen in UNSEEN {
        let goal = format!("Note the orders of ada{unseen}lovelace");
        let ran = place.run(&["run", &goal]).exits(3);
        assert!(!ran.raw_stdout.contains(unseen), "{ran}");
        let written = format!("ada\\u{{{:x}}}lovelace", u32::from(unseen));
        assert!(ran.stdout.contains(&written), "{ran}");
    }
}
