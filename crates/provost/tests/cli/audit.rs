//! The auditor's verbs over journals that the real binary wrote: whole, tampered with, put back.

use std::path::Path;
use std::process::Command;

use super::workplace::{PLAN, Ran, Workplace};

/// A key file whose passphrase is [`PASSPHRASE`], and what provost.toml says of it.
const KEY: &str = include_str!("../../../../corpus/audit/audit.key");
const AUDIT: &str = include_str!("../../../../corpus/audit/audit.toml");
pub const PUBLIC: &str = "ed25519:6kpsY+KcUgq+9VB7Ey7F+ZVHdq6+vnuSQh7qaRRG0iw=";
const PASSPHRASE: &str = "correct horse";
const COUNT: &str = "Count the orders of ada";

/// A workspace whose heads are signed.
pub fn audited() -> Workplace {
    let place = Workplace::new();
    place.write("kept/audit.key", KEY);
    place.write("kept/passphrase", PASSPHRASE);
    let config = std::fs::read_to_string(place.path("provost.toml")).unwrap();
    place.write("provost.toml", config + AUDIT);
    place
}

pub fn heads(place: &Workplace) -> Vec<serde_json::Value> {
    let text = std::fs::read_to_string(place.path("kept/heads.jsonl")).unwrap();
    let lines = text.lines();
    lines
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

pub fn change(place: &Workplace, sql: &str) {
    let journal = rusqlite::Connection::open(place.path(".provost/journal.db")).unwrap();
    journal.execute_batch(sql).unwrap();
}

/// Puts the copy `from` in the place of the journal.
pub fn restore(place: &Workplace, from: &str) {
    for end in ["", "-wal", "-shm"] {
        let _ = std::fs::remove_file(place.path(&format!(".provost/journal.db{end}")));
    }
    std::fs::copy(place.path(from), place.path(".provost/journal.db")).unwrap();
}

#[test]
fn a_journal_that_nobody_touched_holds() {
    let place = Workplace::new();
    place.run(&["run", COUNT]).exits(0);
    let ran = place.run(&["audit", "verify"]).exits(0);
    assert!(
        ran.stdout
            .starts_with("the journal is valid: 14 events in 1 run, "),
        "{ran}"
    );
    assert!(ran.stdout.contains("only signed heads"), "{ran}");
    let said = place.json(&["audit", "verify", "--json"]);
    assert_eq!(said["schema"], "provost/audit/v1");
    assert_eq!((&said["valid"], &said["runs"]), (&true.into(), &1.into()));
    // Neither tools nor policies have to be in order, and nothing is written.
    place.write("policies/broken.cedar", "permit (everything");
    std::fs::remove_file(place.path("data/shop.db")).unwrap();
    place.run(&["audit", "verify"]).exits(0);
    place.run(&["run", COUNT, "--again"]).exits(2);
    let empty = Workplace::new();
    let ran = empty.run(&["audit", "verify"]).exits(2);
    assert!(
        ran.stderr.contains("there is no journal in DIR/.provost"),
        "{ran}"
    );
    assert!(!empty.path(".provost").exists());
}

#[test]
fn a_journal_that_was_changed_is_named_at_the_first_place() {
    let place = Workplace::new();
    place.run(&["run", COUNT]).exits(0);
    change(
        &place,
        "UPDATE events SET payload = replace(payload, 'ada', 'eve') WHERE seq = 2",
    );
    let ran = place.run(&["audit", "verify"]).exits(1);
    assert!(
        ran.stderr
            .contains("is broken at event 2: its payload is not what was stored"),
        "{ran}"
    );
    assert!(
        ran.stderr.contains("hint: the journal was changed"),
        "{ran}"
    );
    assert_eq!(ran.stdout, "");
    let said = place.json(&["audit", "verify", "--json"]);
    assert_eq!(
        (&said["valid"], said["hint"].is_string()),
        (&false.into(), true)
    );
}

#[test]
fn a_stop_that_somebody_took_out_of_its_table_is_named_and_binds() {
    let place = Workplace::new();
    place.run(&["run", COUNT]).exits(0);
    place
        .run(&["pause", "--all", "--reason", "the shop moves"])
        .exits(0);
    place.run(&["audit", "verify"]).exits(0);
    change(&place, "DELETE FROM stops");
    for (verb, exit) in [(&["audit", "verify"][..], 1), (&["doctor"][..], 2)] {
        let ran = place.run(verb).exits(exit);
        let said = ran.stdout.clone() + &ran.stderr;
        assert!(
            said.contains("stops (the stop of every run is missing there)"),
            "{ran}"
        );
    }
    let ran = place.run(&["run", COUNT, "--again"]).exits(3);
    assert!(
        ran.stdout
            .contains("all runs were stopped by ada: the shop moves"),
        "{ran}"
    );
    let ran = place.run(&["audit", "verify"]).exits(0);
    assert!(
        ran.stdout
            .contains("stops (the stop of every run was missing there), at "),
        "{ran}"
    );
    place.run(&["resume", "--all"]).exits(0);
    place.run(&["run", COUNT, "--again"]).exits(0);
    place.run(&["audit", "verify"]).exits(0);
}

#[test]
fn every_verb_that_drove_signs_where_the_journal_stands() {
    let place = audited();
    place.run(&["run", COUNT]).exits(0);
    let signed = heads(&place);
    assert_eq!(
        signed.len(),
        2,
        "the first before anything, the second after"
    );
    assert_eq!(signed[0]["commit"], 0);
    let (run, _) = place.waiting();
    place.run(&["reject", &run]).exits(0);
    assert_eq!(heads(&place).len(), 4);
    let ran = place.run(&["audit", "verify"]).exits(0);
    assert!(
        ran.stdout
            .contains("4 signed heads agree, the newest of commit"),
        "{ran}"
    );
    let ran = place.run(&["audit", "sign"]).exits(0);
    assert!(ran.stderr.contains("there is nothing to sign"), "{ran}");
    // The control: a workspace that names no heads signs none.
    let other = Workplace::new();
    other.run(&["run", COUNT]).exits(0);
    let ran = other.run(&["audit", "sign"]).exits(2);
    assert!(
        ran.stderr.contains("this workspace signs no heads"),
        "{ran}"
    );
}

#[test]
fn heads_begin_on_a_journal_that_is_there_when_a_person_says_so() {
    let place = Workplace::new();
    place.run(&["run", COUNT]).exits(0);
    let config = std::fs::read_to_string(place.path("provost.toml")).unwrap();
    place.write("provost.toml", config + AUDIT);
    place.write("kept/audit.key", KEY);
    place.write("kept/passphrase", PASSPHRASE);
    let ran = place.run(&["run", COUNT, "--again"]).exits(2);
    assert!(ran.stderr.contains("contains no head"), "{ran}");
    let told = place.run(&["doctor"]).exits(2).stdout;
    assert!(told.contains("contains no head"), "{told}");
    assert!(
        ran.stderr.contains("`provost audit sign` signs the first"),
        "{ran}"
    );
    place.run(&["audit", "sign"]).exits(0);
    let told = place.run(&["doctor"]).exits(0).stdout;
    assert!(told.contains("agrees with the newest"), "{told}");
    place.run(&["run", COUNT, "--again"]).exits(0);
    // And a file of heads that is gone later is missed.
    std::fs::remove_file(place.path("kept/heads.jsonl")).unwrap();
    place.run(&["run", COUNT, "--again"]).exits(2);
}

#[test]
fn a_key_that_cannot_be_used_is_found_before_anything_runs() {
    for (file, text, message) in [
        (
            "kept/passphrase",
            "correct house",
            "the passphrase does not open this key",
        ),
        ("kept/passphrase", "short", "fewer than 8 bytes"),
        ("kept/audit.key", "{}", "this is no key file"),
        (
            "kept/heads.jsonl",
            "{\"schema\":\"else\"}\n",
            "line 1 of DIR/kept/heads.jsonl is no head",
        ),
    ] {
        let place = audited();
        place.write(file, text);
        let ran = place.run(&["run", COUNT]).exits(2);
        assert!(ran.stderr.contains(message), "{ran}");
        assert_eq!(
            place.json(&["runs", "--json"])["runs"],
            serde_json::json!([])
        );
    }
}

/// The card of the run that waits, in a workspace whose journal was put back to that moment.
fn put_back(place: &Workplace) -> (String, String) {
    let (run, card) = place.waiting();
    place.run(&["backup", "kept/old.db"]).exits(0);
    place.run(&["reject", &run]).exits(0);
    restore(place, "kept/old.db");
    (run, card)
}

#[test]
fn nothing_is_driven_over_an_older_journal_until_a_person_says_so() {
    let place = audited();
    let (run, card) = put_back(&place);
    place.write("plan.yaml", PLAN);
    let target = format!("{run}@{card}");
    let drives: [&[&str]; 6] = [
        &["run", COUNT],
        &["apply", "plan.yaml"],
        &["resume", &run],
        &["approve", &target],
        &["reject", &run],
        &["cancel", &run],
    ];
    for verb in drives {
        let ran = place.run(verb).exits(2);
        assert!(
            ran.stderr.contains("an older journal was restored")
                && ran.stderr.contains("`provost audit accept --reason WHY`"),
            "{ran}"
        );
    }
    place.run(&["audit", "verify"]).exits(1);
    place.run(&["audit", "sign"]).exits(2);
    place.run(&["audit", "accept", "--reason", " "]).exits(2);
    let ran = place
        .run(&["audit", "accept", "--reason", "the disk failed"])
        .exits(0);
    assert!(ran.stdout.contains("the disk failed"), "{ran}");
    let ran = place
        .run(&["audit", "accept", "--reason", "once more"])
        .exits(2);
    assert!(ran.stderr.contains("there is nothing to accept"), "{ran}");
    let ran = place.run(&["audit", "verify"]).exits(0);
    assert!(
        ran.stdout.contains("1 head contradicted it before"),
        "{ran}"
    );
    assert!(ran.stdout.contains(": the disk failed"), "{ran}");
    place.run(&["approve", &target]).exits(0);
    place.run(&["audit", "verify"]).exits(0);
}

#[test]
fn a_yes_that_is_not_signed_is_named_and_not_driven_where_it_has_to_be() {
    let place = Workplace::new();
    let (run, card) = place.waiting();
    place
        .run(&["approve", &format!("{run}@{card}"), "--record"])
        .exits(0);
    place.run(&["audit", "verify"]).exits(0);
    let config = std::fs::read_to_string(place.path("provost.toml")).unwrap();
    let required = "\n[approvals]\nrequire = \"signature\"\n";
    place.write("provost.toml", config.clone() + required);
    let ran = place.run(&["audit", "verify"]).exits(1);
    assert!(
        ran.stderr.contains("(ApprovalGiven) is not valid: ")
            && ran.stderr.contains("is not signed"),
        "{ran}"
    );
    let ran = place.run(&["resume", &run]).exits(2);
    assert!(ran.stderr.contains("is not valid: "), "{ran}");
    assert_eq!(
        place.json(&["audit", "verify", "--json"])["valid"],
        serde_json::json!(false)
    );
    // Of a copy nobody knows the people, and it says so.
    place.run(&["backup", "copy.db"]).exits(0);
    let ran = place.run(&["audit", "verify", "copy.db"]).exits(0);
    assert!(ran.stdout.contains("`--people`"), "{ran}");
    // The control: where nothing has to be signed, the yes counts.
    place.write("provost.toml", config);
    place.run(&["resume", &run]).exits(0);
}

#[test]
fn an_old_head_appended_once_more_lets_no_older_journal_be_driven() {
    let place = audited();
    let (run, card) = put_back(&place);
    let kept = std::fs::read_to_string(place.path("kept/heads.jsonl")).unwrap();
    let old = kept.lines().nth(1).unwrap();
    place.write("kept/heads.jsonl", format!("{kept}{old}\n"));
    let ran = place.run(&["approve", &format!("{run}@{card}")]).exits(2);
    assert!(
        ran.stderr.contains("an older journal was restored"),
        "{ran}"
    );
}

/// The control: without heads, the same journal put back is driven, and the write goes out again.
#[test]
fn without_heads_an_older_journal_is_driven() {
    let place = Workplace::new();
    std::fs::create_dir(place.path("kept")).unwrap();
    let (run, card) = put_back(&place);
    place.run(&["approve", &format!("{run}@{card}")]).exits(0);
}

#[test]
fn another_journal_or_none_is_no_younger_one() {
    let place = audited();
    place.run(&["run", COUNT]).exits(0);
    std::fs::remove_dir_all(place.path(".provost")).unwrap();
    let ran = place.run(&["run", COUNT]).exits(2);
    assert!(ran.stderr.contains("the journal ends at commit 0"), "{ran}");
    assert!(
        !place.path(".provost").exists(),
        "nothing is begun in its place"
    );

    let other = Workplace::new();
    other.run(&["run", COUNT]).exits(0);
    other.run(&["backup", "copy.db"]).exits(0);
    std::fs::create_dir(place.path(".provost")).unwrap();
    std::fs::copy(other.path("copy.db"), place.path(".provost/journal.db")).unwrap();
    let ran = place.run(&["run", COUNT]).exits(2);
    assert!(ran.stderr.contains("the journal is another one"), "{ran}");
}

#[test]
fn heads_that_were_changed_or_are_somebody_elses_are_refused() {
    let place = audited();
    place.run(&["run", COUNT]).exits(0);
    let kept = std::fs::read_to_string(place.path("kept/heads.jsonl")).unwrap();
    let other = PUBLIC.replace("6kps", "6kpt");
    for (from, to, message) in [
        (
            "\"commit\":0",
            "\"commit\":1",
            "does not bear its key's signature",
        ),
        (PUBLIC, other.as_str(), "signed by a key that is not known"),
        (
            "\"at\"",
            "\"when\"",
            "line 1 of DIR/kept/heads.jsonl is no head",
        ),
    ] {
        place.write("kept/heads.jsonl", kept.replacen(from, to, 1));
        let ran = place.run(&["audit", "verify"]).exits(1);
        assert!(ran.stderr.contains(message), "{ran}");
    }
    // What a crash cut off while it was written is passed over, and the next line is whole.
    place.write("kept/heads.jsonl", format!("{kept}{{\"at\":\"20"));
    place.run(&["run", COUNT, "--again"]).exits(0);
    let ran = place.run(&["audit", "verify"]).exits(0);
    assert!(ran.stdout.contains("3 signed heads agree"), "{ran}");
}

#[test]
fn a_copy_is_verified_far_from_its_workspace() {
    let place = audited();
    place.run(&["run", COUNT]).exits(0);
    place.run(&["backup", "kept/copy.db"]).exits(0);
    let away = Workplace::empty();
    std::fs::create_dir(away.path("copied")).unwrap();
    for entry in std::fs::read_dir(place.path(".provost")).unwrap() {
        let entry = entry.unwrap();
        if entry.file_type().unwrap().is_file() {
            std::fs::copy(entry.path(), away.path("copied").join(entry.file_name())).unwrap();
        }
    }
    for name in ["heads.jsonl", "copy.db"] {
        std::fs::copy(place.path("kept").join(name), away.path(name)).unwrap();
    }
    away.run(&["audit", "verify", "copied"]).exits(0);
    let with = ["--heads", "heads.jsonl", "--public", PUBLIC];
    for copy in ["copied", "copy.db"] {
        let ran = away
            .run(&[&["audit", "verify", copy], &with[..]].concat())
            .exits(0);
        assert!(ran.stdout.contains("2 signed heads agree"), "{ran}");
    }
    let ran = away
        .run(&["audit", "verify", "copied", "--heads", "heads.jsonl"])
        .exits(2);
    assert!(ran.stderr.contains("no key is known"), "{ran}");
    away.run(&["audit", "verify", "nothing"]).exits(2);
}

#[test]
fn settings_that_would_bear_no_witness_are_refused() {
    for (from, to, message) in [
        (
            "kept/heads.jsonl",
            ".provost/heads.jsonl",
            "`heads` is inside the store",
        ),
        ("heads =", "head =", "did you mean `heads`?"),
        ("passphrase = \"file:kept/passphrase\"\n", "", "go together"),
        ("file:kept/passphrase", "correct horse", "never written out"),
        (
            "key = \"kept/audit.key\"",
            "public = \"mine\"",
            "is no public key",
        ),
        ("kept/", "notes/", "notes"),
    ] {
        let place = audited();
        place.edit("provost.toml", from, to);
        if from == "kept/" {
            place.write("kept/heads.jsonl", "");
            for name in ["audit.key", "passphrase", "heads.jsonl"] {
                let bytes = std::fs::read(place.path("kept").join(name)).unwrap();
                place.write(&format!("notes/{name}"), bytes);
            }
        }
        let ran = place.run(&["run", "Note the orders of ada"]).exits(2);
        assert!(ran.stderr.contains(message), "{ran}");
    }
}

/// Runs the second verifier, which shares no line with the first.
pub fn second(place: &Workplace, args: &[&str]) -> Ran {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/verify.py");
    let mut command = Command::new("python3");
    command
        .arg(script)
        .arg(place.path(".provost/journal.db"))
        .args(args)
        .current_dir(place.path("."));
    Ran::new(&command.output().unwrap(), &place.path("."))
}

#[test]
fn the_second_verifier_agrees_with_the_first() {
    let place = audited();
    place.run(&["run", COUNT]).exits(0);
    let (run, _) = place.waiting();
    place
        .run(&["reject", &run, "--reason", "\u{e9}\t\"no\" \u{1f600}\u{1}"])
        .exits(0);
    let with = ["kept/heads.jsonl", PUBLIC];
    let ran = second(&place, &with).exits(0);
    assert!(ran.stdout.contains("4 signed heads"), "{ran}");
    place.run(&["backup", "kept/before.db"]).exits(0);
    place.run(&["prune", "--evidence-older", "0s"]).exits(0);
    place.run(&["audit", "sign"]).exits(0);
    place.run(&["backup", "kept/whole.db"]).exits(0);
    second(&place, &with).exits(0);

    let kept = std::fs::read_to_string(place.path("kept/heads.jsonl")).unwrap();
    let damage = [
        "UPDATE events SET payload = replace(payload, 'ada', 'eve') WHERE seq = 2",
        "UPDATE events SET at_ms = at_ms + 1 WHERE n = 4",
        "UPDATE events SET version = 2 WHERE n = 4",
        "DELETE FROM events WHERE n = 4",
        "DELETE FROM events WHERE n = (SELECT max(n) FROM events)",
        "DELETE FROM commits WHERE n = 2",
        "UPDATE commits SET events = events + 1 WHERE n = 2",
        "UPDATE events SET commit_n = commit_n + 1 WHERE n = 1",
        "UPDATE runs SET head_seq = head_seq - 1",
        "UPDATE meta SET value = 'another' WHERE key = 'store'",
        "DELETE FROM pruned",
        "UPDATE pruned SET at_ms = at_ms + 1",
        "INSERT INTO stops VALUES ('all', '', 'eve', 'no', 1)",
        "DELETE FROM meta WHERE key = 'log'",
    ];
    for sql in damage {
        restore(&place, "kept/whole.db");
        change(&place, sql);
        let first = place.run(&["audit", "verify"]).exits(1);
        let second = second(&place, &with).exits(1);
        assert!(
            second.stderr.starts_with("does not hold: "),
            "{sql}: {first}{second}"
        );
    }
    restore(&place, "kept/whole.db");
    for (from, to) in [("\"commit\":0", "\"commit\":1"), (PUBLIC, "ed25519:AAAA")] {
        place.write("kept/heads.jsonl", kept.replacen(from, to, 1));
        place.run(&["audit", "verify"]).exits(1);
        second(&place, &with).exits(1);
    }
    place.write("kept/heads.jsonl", &kept);
    restore(&place, "kept/whole.db");
    second(&place, &with).exits(0);
    restore(&place, "kept/before.db");
    change(
        &place,
        "DELETE FROM commits WHERE n > 1; DELETE FROM events WHERE commit_n > 1;
         DELETE FROM runs WHERE n > 1;
         UPDATE runs SET (head_seq, head, updated_at) =
           (SELECT seq, link, at_ms FROM events WHERE run = runs.n ORDER BY seq DESC LIMIT 1)",
    );
    // A journal that was cut off cleanly: only the heads tell.
    second(&place, &[]).exits(0);
    let ran = second(&place, &with).exits(1);
    assert!(ran.stderr.contains("is not in this journal"), "{ran}");
    second(&place, &["no-such-file", PUBLIC]).exits(2);
}
