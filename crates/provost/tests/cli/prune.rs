use super::workplace::Workplace;

const COUNT: &str = "Count the orders of ada";

/// Moves every run that is over into the past.
fn age(place: &Workplace, sql: &str) {
    let journal = rusqlite::Connection::open(place.path(".provost/journal.db")).unwrap();
    journal.execute_batch(sql).unwrap();
}

/// How many times the bytes of `text` stand in the files of the store.
fn found(place: &Workplace, text: &str) -> usize {
    let files = ["journal.db", "journal.db-wal"];
    let all = files.iter().filter_map(|name| {
        let bytes = std::fs::read(place.path(".provost").join(name)).ok()?;
        Some(
            bytes
                .windows(text.len())
                .filter(|at| *at == text.as_bytes())
                .count(),
        )
    });
    all.sum()
}

#[test]
fn bytes_of_old_evidence_go_and_digests_stay() {
    let place = Workplace::new();
    place.run(&["run", COUNT]).exits(0);
    let before = place.run(&["audit", "verify"]).exits(0);
    assert!(before.stdout.contains("3 pieces of evidence"), "{before}");
    let shown = place.json(&["runs", "--json"])["runs"][0]["id"].clone();
    let run = shown.as_str().unwrap();
    let (show, trace) = (
        place.run(&["show", run]).exits(0),
        place.run(&["trace", run]).exits(0),
    );

    let ran = place.run(&["prune", "--evidence-older", "30d"]).exits(0);
    assert_eq!(
        ran.stdout,
        "dropped 0 pieces of evidence, 0 bytes, of 0 runs that ended more than 30d ago\n"
    );
    age(
        &place,
        "UPDATE runs SET updated_at = updated_at - 2592000001",
    );
    let dry = place
        .run(&["prune", "--evidence-older", "30d", "--dry-run"])
        .exits(0);
    assert!(
        dry.stdout.starts_with("would drop 3 pieces of evidence, "),
        "{dry}"
    );
    age(
        &place,
        "UPDATE runs SET updated_at = updated_at + 2592000001",
    );
    place.run(&["audit", "verify"]).exits(0);

    let ran = place.json(&["prune", "--evidence-older", "0s", "--json"]);
    assert_eq!(
        (&ran["schema"], &ran["pieces"]),
        (&"provost/prune/v1".into(), &3.into())
    );
    let after = place.run(&["audit", "verify"]).exits(0);
    assert!(after.stdout.contains("0 pieces of evidence\n"), "{after}");
    assert!(
        after
            .stdout
            .contains("3 pieces of evidence; their digests remain"),
        "{after}"
    );
    assert_eq!(place.run(&["show", run]).exits(0).stdout, show.stdout);
    assert_eq!(place.run(&["trace", run]).exits(0).stdout, trace.stdout);
    place.run(&["why", run]).exits(0);
    place.run(&["run", COUNT]).exits(0);
    place.run(&["audit", "verify"]).exits(0);
}

#[test]
fn nothing_of_the_bytes_is_left_in_the_files() {
    let place = Workplace::new();
    let secret = "a-customer-who-is-to-be-forgotten";
    place.orders(&[secret]);
    place
        .run(&["run", "Count the orders of a-customer"])
        .exits(0);
    let journal = rusqlite::Connection::open(place.path(".provost/journal.db")).unwrap();
    let named = |table: &str, column: &str| {
        let sql = format!("SELECT count(*) FROM {table} WHERE instr({column}, ?1)");
        journal
            .query_row(&sql, [secret], |row| row.get::<_, i64>(0))
            .unwrap()
    };
    assert!(named("evidence", "CAST(bytes AS TEXT)") > 0);
    // Why: events hold typed outputs too, and only the bytes are pruned.
    journal
        .execute("UPDATE events SET payload = NULL", [])
        .unwrap();
    journal
        .execute("UPDATE runs SET summary = '{}'", [])
        .unwrap();
    journal.execute_batch("VACUUM").unwrap();
    assert!(found(&place, secret) > 0);
    drop(journal);
    // Why an event names them: what no event names belongs to no run that is over.
    let journal = rusqlite::Connection::open(place.path(".provost/journal.db")).unwrap();
    journal
        .execute_batch(
            "UPDATE events SET payload = (SELECT group_concat('sha256:' || lower(hex(digest)))
             FROM evidence) WHERE seq = 1",
        )
        .unwrap();
    drop(journal);
    place.run(&["prune", "--evidence-older", "0s"]).exits(0);
    assert_eq!(found(&place, secret), 0);
}

#[test]
fn evidence_that_a_younger_or_unfinished_run_names_stays() {
    let place = Workplace::new();
    place.run(&["run", COUNT]).exits(0);
    place.run(&["run", "Note the orders of ada"]).exits(3);
    let ran = place.json(&["prune", "--evidence-older", "0s", "--dry-run", "--json"]);
    // Why shared: both runs asked the same query and got the same bytes.
    assert_eq!((&ran["runs"], &ran["shared"]), (&1.into(), &1.into()));
    place.run(&["prune", "--evidence-older", "0s"]).exits(0);
    place.run(&["audit", "verify"]).exits(0);
    let (run, card) = place.card();
    place.run(&["approve", &format!("{run}@{card}")]).exits(0);
    place.run(&["audit", "verify"]).exits(0);
}

#[test]
fn what_is_no_age_or_no_journal_is_refused() {
    let place = Workplace::new();
    place.run(&["prune", "--evidence-older", "30d"]).exits(2);
    assert!(!place.path(".provost").exists());
    for args in [&["prune"][..], &["prune", "--evidence-older", "a month"]] {
        place.run(args).exits(2);
    }
}
