//! The texts of runs that are over are dropped: what is left, what still holds, and what is found
//! where somebody else takes a payload away.

use super::audit::{PUBLIC, audited, change, heads, restore, second};
use super::workplace::{Ran, Workplace};

const PRUNE: [&str; 4] = ["prune", "--payloads-older", "0s", "--keep-chain"];
const NOTE: &str = "Note the orders of ada";

/// How many times a text stands in the files of the store.
fn found(place: &Workplace, text: &str) -> usize {
    let files = ["journal.db", "journal.db-wal"].map(|name| place.path(".provost").join(name));
    let files = files.iter().filter_map(|path| std::fs::read(path).ok());
    let counts = files.map(|bytes| {
        let windows = bytes.windows(text.len());
        windows.filter(|at| *at == text.as_bytes()).count()
    });
    counts.sum()
}

/// Runs a goal to its end, through its card.
fn approved(place: &Workplace, goal: &str) -> String {
    place.run(&["run", goal]).exits(3);
    let (run, card) = place.card();
    place.run(&["approve", &format!("{run}@{card}")]).exits(0);
    run
}

fn holds(place: &Workplace) -> Ran {
    second(place, &[]).exits(0);
    place.run(&["audit", "verify"]).exits(0)
}

#[test]
fn texts_go_and_the_chain_stays() {
    let place = Workplace::new();
    let secret = "a-customer-who-is-to-be-forgotten";
    place.orders(&[secret]);
    let run = approved(&place, &format!("Note the orders of {secret}"));
    let (waiting, card) = place.waiting();
    assert!(found(&place, secret) > 3);
    let dry = place
        .run(&[PRUNE.as_slice(), &["--dry-run"]].concat())
        .exits(0);
    assert!(dry.stdout.starts_with("would drop the texts of "), "{dry}");
    assert!(dry.stdout.contains("in 1 run, "), "{dry}");
    let stats = place.run(&["stats"]).exits(0).stdout;
    assert!(found(&place, secret) > 3, "nothing went");
    let pruned = place.run(&PRUNE).exits(0);
    assert!(
        pruned.stdout.starts_with("dropped the texts of "),
        "{pruned}"
    );
    assert_eq!(found(&place, secret), 0, "{pruned}");

    let verified = holds(&place);
    assert!(
        verified
            .stdout
            .contains("the texts of 1 run; their chains hold"),
        "{verified}"
    );
    assert!(
        verified
            .stdout
            .contains("nothing judges their content again"),
        "{verified}"
    );
    let said = place.json(&["audit", "verify", "--json"]);
    assert_eq!(
        (&said["valid"], &said["pruned_runs"]),
        (&true.into(), &1.into())
    );

    // It is listed, it counts, and it says what it is.
    let runs = place.json(&["runs", "--json"]);
    let runs = runs["runs"].as_array().unwrap().clone();
    let row = runs.iter().find(|row| row["id"] == run.as_str()).unwrap();
    assert_eq!(
        (&row["goal"], &row["status"]),
        (&"(pruned)".into(), &"succeeded".into())
    );
    assert_eq!(place.run(&["stats"]).exits(0).stdout, stats);
    for typed in [
        "show",
        "trace",
        "why",
        "undo",
        "cancel",
        "resume",
        "export otlp",
    ] {
        let words: Vec<&str> = typed.split(' ').chain([run.as_str()]).collect();
        let ran = place.run(&words).exits(2);
        assert!(ran.stderr.contains("were pruned at"), "{ran}");
    }
    for typed in [
        "inbox",
        "doctor",
        "tools unused",
        "stats --openmetrics",
        "schedules",
    ] {
        let words: Vec<&str> = typed.split(' ').collect();
        place.run(&words).exits(0);
    }

    // What waited goes on, and other runs begin and write.
    std::fs::remove_file(place.path("notes/orders.txt")).unwrap();
    place
        .run(&["approve", &format!("{waiting}@{card}")])
        .exits(0);
    place.orders(&["ada"]);
    place.run(&["run", "Count the orders of ada"]).exits(0);
    holds(&place);
    let again = place.run(&PRUNE).exits(0);
    assert!(again.stdout.contains("in 2 runs, "), "{again}");
    let verified = holds(&place);
    assert!(
        verified.stdout.contains("the texts of 3 runs"),
        "{verified}"
    );
}

/// Nothing goes of what waits, of what is in doubt, or of what is younger.
#[test]
fn what_is_not_over_or_not_old_stays() {
    let place = Workplace::new();
    place.waiting();
    place.run(&["run", "Count the orders of ada"]).exits(0);
    let young = ["prune", "--payloads-older", "30d", "--keep-chain"];
    let ran = place.run(&young).exits(0);
    assert!(ran.stdout.contains("in 0 runs, "), "{ran}");
    let ran = place.run(&PRUNE).exits(0);
    assert!(ran.stdout.contains("in 1 run, "), "{ran}");
    assert!(place.run(&PRUNE).exits(0).stdout.contains("in 0 runs, "));
    holds(&place);
    // The chain is kept, and whoever prunes says that they know.
    place.run(&["prune", "--payloads-older", "0s"]).exits(2);
    place.run(&["prune", "--keep-chain"]).exits(2);
}

/// An equal call of a run whose texts are gone is still found, and still shown.
#[test]
fn a_call_that_took_effect_is_known_after_its_texts_went() {
    let told = |prune: bool| {
        let place = Workplace::new();
        let run = approved(&place, NOTE);
        if prune {
            place.run(&PRUNE).exits(0);
        }
        let card = place.run(&["run", NOTE, "--again"]).exits(3).stdout;
        let earlier = card.lines().find(|line| line.contains("took effect"));
        let earlier = earlier.map(|line| line.replace(&run, "RUN"));
        assert_eq!(
            place.json(&["inbox", "--json"])["waiting"][0]["waits"][0]["made_before"],
            1,
            "{card}"
        );
        holds(&place);
        earlier.unwrap_or_else(|| panic!("{card}"))
    };
    assert_eq!(told(true), told(false));
}

/// The controls: what provost did not prune is named by both verifiers, and so is a record that
/// does not fit the run.
#[test]
fn a_payload_that_somebody_else_took_is_named() {
    let place = Workplace::new();
    approved(&place, NOTE);
    place.run(&["backup", "before.db"]).exits(0);
    place.run(&PRUNE).exits(0);
    place.run(&["run", "Count the orders of ada"]).exits(0);
    place.run(&["backup", "whole.db"]).exits(0);
    let damage = [
        // Of a run that was not pruned: one payload, and all of them.
        "UPDATE events SET payload = NULL WHERE run = 2 AND seq = 3",
        "UPDATE events SET payload = NULL WHERE run = 2",
        // The record itself, and what it says.
        "UPDATE events SET payload = NULL WHERE run = 0",
        "UPDATE events SET payload = replace(payload, 'succeeded', 'failed') WHERE run = 0",
        "UPDATE events SET payload = replace(payload, '\"calls\"', '\"walls\"') WHERE run = 0",
        "DELETE FROM events WHERE run = 0",
        // Of the run that was: its header, its order, its end, its calls, what it spent.
        "UPDATE events SET kind = 'ApprovalGiven' WHERE run = 1 AND seq = 3",
        "UPDATE events SET digest = link WHERE run = 1 AND seq = 3",
        "DELETE FROM events WHERE run = 1 AND seq = (SELECT head_seq FROM runs WHERE n = 1)",
        "UPDATE events SET call = NULL WHERE run = 1",
        "UPDATE events SET call = 7 WHERE run = 1 AND kind = 'AttemptStarted'",
        "UPDATE runs SET status = 'failed' WHERE n = 1",
        // A payload that came back.
        "UPDATE events SET payload = '{}' WHERE run = 1 AND seq = 3",
    ];
    for sql in damage {
        restore(&place, "whole.db");
        change(&place, sql);
        let first = place.run(&["audit", "verify"]);
        let other = second(&place, &[]);
        assert_eq!(
            (first.code, other.code),
            (Some(1), Some(1)),
            "{sql}\n{first}\n{other}"
        );
    }
    restore(&place, "whole.db");
    holds(&place);
    // A payload that goes without a record keeps every write from beginning, as before.
    restore(&place, "before.db");
    change(&place, "UPDATE events SET payload = NULL WHERE run = 1");
    place.run(&["audit", "verify"]).exits(1);
    let shown = place.run(&["runs", "--json"]).exits(0);
    assert!(!shown.stdout.contains("(pruned)"), "{shown}");
    let run = place.json(&["runs", "--json"])["runs"][0]["id"].clone();
    let ran = place.run(&["show", run.as_str().unwrap()]).exits(2);
    assert!(ran.stderr.contains("the payload of event 1"), "{ran}");
    // Nothing is pruned over a journal that does not hold.
    place.run(&PRUNE).exits(2);
}

/// Where heads are signed, a run counts as pruned only under a head between its end and that.
#[test]
fn a_run_is_pruned_only_under_a_signed_head() {
    let place = audited();
    place.run(&["run", "Count the orders of ada"]).exits(0);
    place.run(&PRUNE).exits(0);
    let with = ["kept/heads.jsonl", PUBLIC];
    place.run(&["audit", "verify"]).exits(0);
    second(&place, &with).exits(0);
    let signed = heads(&place);
    assert!(signed.len() >= 3, "{signed:?}");
    let all = std::fs::read_to_string(place.path("kept/heads.jsonl")).unwrap();
    let lines: Vec<&str> = all.lines().collect();
    // The control: as if nobody had signed over the end of the run before its texts went.
    let without = format!("{}\n{}\n", lines[0], lines[lines.len() - 1]);
    place.write("kept/heads.jsonl", &without);
    let ran = place.run(&["audit", "verify"]).exits(1);
    assert!(
        ran.stderr.contains("before a head was signed over its end"),
        "{ran}"
    );
    let ran = second(&place, &with).exits(1);
    assert!(
        ran.stderr.contains("before a head was signed over its end"),
        "{ran}"
    );
    place.write("kept/heads.jsonl", format!("{}\n", lines[0]));
    let ran = place.run(&["audit", "sign"]);
    assert_ne!(ran.code, Some(0), "{ran}");
    assert!(
        ran.stderr.contains("before a head was signed over its end"),
        "{ran}"
    );
}
