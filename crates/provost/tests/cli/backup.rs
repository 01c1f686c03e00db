use std::os::unix::fs::PermissionsExt as _;

use super::workplace::Workplace;

const COUNT: &str = "Count the orders of ada";

#[test]
fn a_copy_is_private_whole_and_never_put_over_a_file() {
    let place = Workplace::new();
    let ran = place.run(&["backup", "copy.db"]).exits(2);
    assert!(
        ran.stderr.contains("there is no journal in DIR/.provost"),
        "{ran}"
    );
    assert!(!place.path(".provost").exists() && !place.path("copy.db").exists());

    place.run(&["run", COUNT]).exits(0);
    let ran = place.run(&["backup", "copy.db"]).exits(0);
    assert!(
        ran.stdout
            .starts_with("copied and verified: 14 events in 1 run, up to commit"),
        "{ran}"
    );
    let mode = std::fs::metadata(place.path("copy.db"))
        .unwrap()
        .permissions()
        .mode();
    assert_eq!(mode & 0o777, 0o600);
    let bytes = std::fs::read(place.path("copy.db")).unwrap();
    let ran = place.run(&["backup", "copy.db"]).exits(2);
    assert!(ran.stderr.contains("copy.db already exists"), "{ran}");
    assert_eq!(std::fs::read(place.path("copy.db")).unwrap(), bytes);
    place.run(&["backup", "nowhere/copy.db"]).exits(2);
    let left = std::fs::read_dir(place.path(".")).unwrap();
    let partial = left.filter(|entry| {
        let name = entry.as_ref().unwrap().file_name();
        name.to_string_lossy().contains("partial")
    });
    assert_eq!(partial.count(), 0);
}

#[test]
fn a_restored_copy_goes_on() {
    let place = Workplace::new();
    let (run, card) = place.waiting();
    place.run(&["backup", "copy.db"]).exits(0);
    place.run(&["run", COUNT]).exits(0);
    let ran = place.run(&["restore", "copy.db"]).exits(0);
    assert!(ran.stdout.starts_with("verified and restored: "), "{ran}");
    // What came after the copy is gone here, and kept beside.
    let runs = |place: &Workplace| place.json(&["runs", "--json"])["runs"].clone();
    assert_eq!(runs(&place).as_array().unwrap().len(), 1);
    let kept = place.path(".provost.before-restore-1/journal.db");
    assert!(kept.exists());
    let mode = std::fs::metadata(place.path(".provost/journal.db")).unwrap();
    assert_eq!(mode.permissions().mode() & 0o777, 0o600);
    place.run(&["approve", &format!("{run}@{card}")]).exits(0);
    place.run(&["audit", "verify"]).exits(0);
}

#[test]
fn a_restored_journal_that_is_emptied_is_no_new_one() {
    let place = Workplace::new();
    place.run(&["run", COUNT]).exits(0);
    place.run(&["backup", "copy.db"]).exits(0);
    place.run(&["restore", "copy.db"]).exits(0);
    place.write(".provost/journal.db", "");
    for verb in [&["runs"][..], &["run", COUNT]] {
        let ran = place.run(verb).exits(2);
        assert!(ran.stderr.contains("it is empty"), "{ran}");
    }
}

#[test]
fn nothing_is_restored_from_what_does_not_hold_or_under_a_process() {
    let place = Workplace::new();
    let (run, _) = place.waiting();
    place.run(&["backup", "copy.db"]).exits(0);
    let mut bytes = std::fs::read(place.path("copy.db")).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle..middle + 4096].fill(0x5a);
    place.write("broken.db", bytes);
    place.run(&["restore", "broken.db"]).exits(2);
    let ran = place.run(&["restore", "none.db"]).exits(2);
    assert!(
        ran.stderr.contains("the copy `none.db` is not there"),
        "{ran}"
    );
    let ran = place.run(&["restore", "notes"]).exits(2);
    assert!(ran.stderr.contains("the copy `notes` is no file"), "{ran}");
    let mut worker = place.spawn(&["work"]);
    super::work::until_it_works(&place);
    let ran = place.run(&["restore", "copy.db"]).exits(2);
    assert!(ran.stderr.contains("processes work here"), "{ran}");
    worker.kill().unwrap();
    worker.wait().unwrap();
    assert!(!place.path(".provost.before-restore-1").exists());
    place.run(&["show", &run]).exits(0);
    // The control: once it is gone, the copy is restored.
    place.run(&["restore", "copy.db"]).exits(0);
}

#[test]
fn a_journal_that_does_not_hold_is_not_copied() {
    let place = Workplace::new();
    place.run(&["run", COUNT]).exits(0);
    let journal = rusqlite::Connection::open(place.path(".provost/journal.db")).unwrap();
    journal
        .execute("UPDATE events SET kind = 'Meant' WHERE seq = 3", [])
        .unwrap();
    drop(journal);
    let ran = place.run(&["backup", "copy.db"]).exits(2);
    assert!(ran.stderr.contains("is broken at event 3"), "{ran}");
    assert!(!place.path("copy.db").exists());
}

/// The last page of a copy may belong to a table beside the events, which no chain covers.
#[test]
fn a_journal_whose_end_is_cut_off_does_not_verify() {
    let place = Workplace::new();
    place.run(&["run", COUNT]).exits(0);
    place.run(&["backup", "copy.db"]).exits(0);
    let whole = std::fs::read(place.path("copy.db")).unwrap();
    for cut in [1, 100, 4_095] {
        place.write("cut.db", &whole[..whole.len() - cut]);
        let ran = place.run(&["restore", "cut.db"]).exits(2);
        assert!(ran.stderr.contains("its end is missing"), "{cut}: {ran}");
        assert!(!place.path(".provost.before-restore-1").exists(), "{cut}");
    }
    // The control: the whole copy is restored, and what becomes of it later is found too.
    place.run(&["restore", "copy.db"]).exits(0);
    place.run(&["audit", "verify"]).exits(0);
    place.run(&["doctor"]).exits(0);
    for log in ["journal.db-wal", "journal.db-shm"] {
        let _ = std::fs::remove_file(place.path(&format!(".provost/{log}")));
    }
    let cut = &whole[..whole.len() - 100];
    for (bytes, told) in [
        (cut, "its end is missing"),
        (&[], "it is empty, and a journal"),
    ] {
        place.write(".provost/journal.db", bytes);
        for verb in [
            &["audit", "verify"] as &[&str],
            &["audit", "verify", "--json"],
        ] {
            let ran = place.run(verb).exits(1);
            assert!(format!("{ran}").contains(told), "{verb:?}: {ran}");
        }
        let opens: [&[&str]; 9] = [
            &["doctor"],
            &["runs"],
            &["inbox"],
            &["inbox", "--check"],
            &["work", "--until-idle"],
            &["resume", "--all"],
            &["pause", "--all", "--reason", "x"],
            &["run", "--again", COUNT],
            &["serve", "--listen", "127.0.0.1:0"],
        ];
        for verb in opens {
            let ran = place.run(verb).exits(2);
            assert!(format!("{ran}").contains(told), "{verb:?}: {ran}");
            assert!(format!("{ran}").contains("`provost restore FILE`"), "{ran}");
        }
        assert_eq!(
            std::fs::read(place.path(".provost/journal.db")).unwrap(),
            bytes
        );
    }
    place.run(&["restore", "copy.db"]).exits(0);
    place.run(&["run", "--again", COUNT]).exits(0);
}

/// What stands there of a file that was named by mistake must not be about the journal.
#[test]
fn a_file_that_is_no_copy_is_said_to_be_none() {
    let place = Workplace::new();
    place.run(&["run", COUNT]).exits(0);
    place.write("empty.db", "");
    let cases = [
        (
            &["restore", "provost.toml"] as &[&str],
            2,
            "it is no journal: file is not a database",
        ),
        (&["restore", "empty.db"], 2, "there is no journal in it"),
        (
            &["audit", "verify", "empty.db"],
            2,
            "there is no journal in `empty.db`",
        ),
        (
            &["audit", "verify", "nosuch.db"],
            2,
            "there is no `nosuch.db`",
        ),
        (
            &["audit", "verify", "provost.toml"],
            1,
            "is not a provost journal",
        ),
    ];
    for (verb, exit, told) in cases {
        let ran = place.run(verb).exits(exit);
        assert!(ran.stderr.contains(told), "{verb:?}: {ran}");
        assert!(
            ran.stderr.contains("`provost backup` wrote"),
            "{verb:?}: {ran}"
        );
        assert!(!ran.stderr.contains("nothing has run"), "{verb:?}: {ran}");
    }
    place.run(&["audit", "verify"]).exits(0);
}
