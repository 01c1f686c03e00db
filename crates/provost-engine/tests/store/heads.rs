//! Seven kinds of tampering by somebody who can write the journal and has no key. With signed
//! heads kept elsewhere all are found; the control without heads shows which ones need them.

use std::path::Path;

use provost_engine::keys::{PrivateKey, PublicKey};
use provost_engine::store::heads::{Accepted, Head, HeadsError, HeadsFile, hold};
use provost_engine::store::{Store, StoreError};
use provost_plan::digest::{Digest, Domain};
use rusqlite::Connection;
use serde_json::json;

use super::{append, count, random};

const RUNS: [&str; 3] = ["aaa", "bbb", "ccc"];
const COMMITS: u64 = 14;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Edit,
    Insert,
    Delete,
    Reorder,
    Truncate,
    RestampAll,
    Fork,
}

use Kind::{Delete, Edit, Fork, Insert, Reorder, RestampAll, Truncate};

fn key() -> PrivateKey {
    PrivateKey::from_seed(&[9; 32]).unwrap()
}

fn known() -> [PublicKey; 1] {
    [key().public()]
}

/// Appends until there are `commits` commits, each of one to three events of one run.
fn grow(dir: &Path, commits: u64, seed: &mut u64, heads: Option<&HeadsFile>) {
    let store = Store::open(dir).unwrap();
    while store.standing().unwrap().commit < commits {
        let run = RUNS[usize::try_from(random(seed) % 3).unwrap()];
        let at = store.run(run).map_or(0, |row| row.head_seq);
        if at > 0 {
            store.claim(run).wait().unwrap();
        }
        let mut next = append(run, at, 1 + random(seed) % 3);
        next.events[0].payload = json!({ "note": random(seed) % 1_000_000 }).into();
        store.append(next).wait().unwrap();
        let standing = store.standing().unwrap();
        if let Some(heads) = heads
            && (standing.commit.is_multiple_of(5) || standing.commit == commits)
        {
            sign(heads, &store, None);
        }
    }
}

fn sign(heads: &HeadsFile, store: &Store, accepted: Option<Accepted>) {
    let at_ms = if accepted.is_some() { 2 } else { 1 };
    let head = Head::sign(&key(), store.standing().unwrap(), at_ms, accepted);
    heads
        .append(&known(), |_| Ok::<_, HeadsError>(Some(head)))
        .unwrap()
        .unwrap();
}

/// Computes every link anew, as somebody would who knows the form.
fn restamp(journal: &Connection) {
    let store: String = journal
        .query_row("SELECT value FROM meta", [], |row| row.get(0))
        .unwrap();
    let mut links = std::collections::BTreeMap::new();
    let mut previous = Digest::from_bytes([0; 32]);
    let commits: Vec<u64> = rows(journal, "SELECT n FROM commits ORDER BY n", |row| {
        row.get(0)
    });
    for n in commits {
        let sql = format!(
            "SELECT events.n, id, seq, at_ms, kind, version, payload FROM events \
             JOIN runs ON runs.n = run WHERE commit_n = {n} ORDER BY events.n"
        );
        let events = rows(journal, &sql, |row| {
            let payload: String = row.get(6)?;
            let digest = Digest::of_bytes(Domain::Event, payload.as_bytes());
            let (kind, version): (String, u32) = (row.get(4)?, row.get(5)?);
            let header = (row.get::<_, u64>(2)?, row.get::<_, i64>(3)?);
            Ok((
                row.get::<_, i64>(0)?,
                row.get::<_, String>(1)?,
                header,
                kind,
                version,
                digest,
            ))
        });
        let mut entries = Vec::new();
        for (at, run, (seq, at_ms), kind, version, digest) in events {
            let before = links.get(&run).copied();
            let before = before.unwrap_or(Digest::from_bytes([0; 32]));
            let header = json!([before, run, seq, at_ms, kind, version, digest]);
            let link = Digest::of_value(Domain::Link, &header);
            journal
                .execute(
                    "UPDATE events SET digest = ?2, link = ?3 WHERE n = ?1",
                    rusqlite::params![at, digest.bytes(), link.bytes()],
                )
                .unwrap();
            entries.push(json!([run, seq, link]));
            links.insert(run, link);
        }
        let form = json!([previous, store, n, entries]);
        previous = Digest::of_value(Domain::Commit, &form);
        journal
            .execute(
                "UPDATE commits SET link = ?2, events = ?3 WHERE n = ?1",
                rusqlite::params![n, previous.bytes(), entries.len()],
            )
            .unwrap();
    }
    mend_rows(journal);
}

fn rows<T>(
    journal: &Connection,
    sql: &str,
    read: impl FnMut(&rusqlite::Row<'_>) -> rusqlite::Result<T>,
) -> Vec<T> {
    let mut query = journal.prepare(sql).unwrap();
    let rows = query.query_map([], read).unwrap();
    rows.map(Result::unwrap).collect()
}

/// Makes the listing tell what the events tell.
fn mend_rows(journal: &Connection) {
    journal
        .execute_batch(
            "DELETE FROM runs WHERE n NOT IN (SELECT run FROM events);
             UPDATE runs SET (head_seq, head, updated_at) =
               (SELECT seq, link, at_ms FROM events WHERE run = runs.n ORDER BY seq DESC LIMIT 1),
               created_at =
               (SELECT at_ms FROM events WHERE run = runs.n ORDER BY seq LIMIT 1)",
        )
        .unwrap();
}

/// Cuts the journal off after commit `n`, cleanly.
fn cut(journal: &Connection, n: u64) {
    journal
        .execute_batch(&format!(
            "DELETE FROM events WHERE commit_n > {n}; DELETE FROM commits WHERE n > {n}"
        ))
        .unwrap();
    mend_rows(journal);
}

fn tamper(dir: &Path, kind: Kind, seed: &mut u64) {
    let journal = Connection::open(dir.join("journal.db")).unwrap();
    let events: u64 = journal
        .query_row("SELECT count(*) FROM events", [], |row| row.get(0))
        .unwrap();
    let n = 1 + random(seed) % events;
    let sql = match kind {
        Edit => format!("UPDATE events SET payload = '{{\"note\":\"no\"}}' WHERE n = {n}"),
        Insert => format!(
            "INSERT INTO events (run, seq, commit_n, at_ms, kind, version, payload, digest, link)
             SELECT run, (SELECT max(seq) + 1 FROM events AS o WHERE o.run = e.run), commit_n,
             at_ms, kind, version, payload, digest, link FROM events AS e WHERE n = {n}"
        ),
        Delete => format!("DELETE FROM events WHERE n = {n}"),
        Reorder => {
            let other = 1 + (n + random(seed) % (events - 1)) % events;
            let (payload, digest) = ("payload", "digest");
            let of = |what: &str, n: u64| format!("(SELECT {what} FROM was WHERE n = {n})");
            let put = |n: u64, from: u64| {
                format!(
                    "UPDATE events SET payload = {}, digest = {} WHERE n = {n};",
                    of(payload, from),
                    of(digest, from)
                )
            };
            format!(
                "CREATE TEMP TABLE was AS SELECT * FROM events; {} {}",
                put(n, other),
                put(other, n)
            )
        }
        RestampAll => format!("UPDATE events SET payload = '{{\"note\":\"no\"}}' WHERE n = {n}"),
        Truncate | Fork => String::new(),
    };
    journal.execute_batch(&sql).unwrap();
    match kind {
        Insert | Delete => mend_rows(&journal),
        RestampAll => restamp(&journal),
        Truncate => cut(&journal, 1 + random(seed) % (COMMITS - 1)),
        Fork => {
            cut(&journal, 1 + random(seed) % (COMMITS - 1));
            drop(journal);
            let more = COMMITS + random(seed) % 3;
            grow(dir, more, seed, None);
        }
        Edit | Reorder => {}
    }
}

/// The file of a journal without a log beside it, and its heads.
fn whole(dir: &Path, seed: &mut u64) -> HeadsFile {
    let heads = HeadsFile::new(dir.join("heads.jsonl"));
    let first = dir.join("first");
    grow(&first, COMMITS, seed, Some(&heads));
    let store = Store::open_read_only(&first).unwrap();
    store.backup(&dir.join("whole.db")).unwrap();
    assert_eq!(hold(&store, &heads, &known()).unwrap().agree, 3);
    heads
}

#[test]
fn seven_kinds_of_tampering_are_found_and_three_of_them_by_heads_alone() {
    let kinds = [Edit, Insert, Delete, Reorder, Truncate, RestampAll, Fork];
    let rounds = count(12);
    let mut found = kinds.map(|kind| (kind, 0, 0));
    let mut seed = 7;
    for _ in 0..rounds {
        let dir = tempfile::tempdir().unwrap();
        let heads = whole(dir.path(), &mut seed);
        for (kind, by_heads, by_chains) in &mut found {
            let copy = dir.path().join(format!("{kind:?}"));
            std::fs::create_dir(&copy).unwrap();
            std::fs::copy(dir.path().join("whole.db"), copy.join("journal.db")).unwrap();
            tamper(&copy, *kind, &mut seed);
            let store = Store::open_read_only(&copy).unwrap();
            let chains = store.verify().is_err();
            let signed = hold(&store, &heads, &known()).is_err();
            *by_chains += u64::from(chains);
            *by_heads += u64::from(chains || signed);
        }
    }
    for (kind, by_heads, by_chains) in found {
        println!("{kind:?}: {by_heads} of {rounds} found with heads, {by_chains} without");
        assert_eq!(by_heads, rounds, "{kind:?}");
        let needs_heads = matches!(kind, Truncate | RestampAll | Fork);
        assert_eq!(by_chains, if needs_heads { 0 } else { rounds }, "{kind:?}");
    }
}

/// A store of some commits, its heads, and their file.
fn signed_store() -> (tempfile::TempDir, HeadsFile) {
    let dir = tempfile::tempdir().unwrap();
    let heads = HeadsFile::new(dir.path().join("heads.jsonl"));
    grow(&dir.path().join("store"), COMMITS, &mut 3, Some(&heads));
    (dir, heads)
}

#[test]
fn what_heads_say_is_said_in_words() {
    let (dir, heads) = signed_store();
    let store_dir = dir.path().join("store");
    cut(&Connection::open(store_dir.join("journal.db")).unwrap(), 7);
    let store = Store::open_read_only(&store_dir).unwrap();
    let error = hold(&store, &heads, &known()).unwrap_err();
    assert_eq!(
        error.to_string(),
        "the journal ends at commit 7, but commit 10 was signed at 1970-01-01T00:00:00.001Z: \
         later commits were cut off, or an older journal was restored"
    );
    assert!(
        error
            .hint()
            .unwrap()
            .contains("to accept this one, give a reason")
    );
    let stranger = [PrivateKey::from_seed(&[1; 32]).unwrap().public()];
    let error = hold(&store, &heads, &stranger).unwrap_err();
    assert!(matches!(error, HeadsError::UnknownKey { .. }), "{error}");
    drop(store);
    grow(&store_dir, COMMITS, &mut 4, None);
    let store = Store::open_read_only(&store_dir).unwrap();
    let error = hold(&store, &heads, &known()).unwrap_err();
    assert!(
        matches!(error, HeadsError::Differs { commit: 10, .. }),
        "{error}"
    );
}

#[test]
fn an_accepted_head_sets_earlier_ones_aside_and_no_later_one() {
    let (dir, heads) = signed_store();
    let store_dir = dir.path().join("store");
    cut(&Connection::open(store_dir.join("journal.db")).unwrap(), 7);
    let store = Store::open_read_only(&store_dir).unwrap();
    let accepted = Accepted {
        by: "ada".to_owned(),
        reason: "the disk failed".to_owned(),
    };
    sign(&heads, &store, Some(accepted.clone()));
    let agreement = hold(&store, &heads, &known()).unwrap();
    assert_eq!((agreement.agree, agreement.set_aside), (2, 2));
    assert_eq!(agreement.accepted[0].accepted, Some(accepted));
    drop(store);
    cut(&Connection::open(store_dir.join("journal.db")).unwrap(), 6);
    let store = Store::open_read_only(&store_dir).unwrap();
    let error = hold(&store, &heads, &known()).unwrap_err();
    assert!(
        matches!(error, HeadsError::Shorter { commit: 7, .. }),
        "{error}"
    );
}

/// Appends a line as it stands, as somebody would who may append and has no key.
fn append_line(heads: &HeadsFile, line: &str) {
    let text = std::fs::read_to_string(heads.path()).unwrap();
    std::fs::write(heads.path(), format!("{text}{line}\n")).unwrap();
}

#[test]
fn an_old_head_appended_once_more_hides_no_newer_one() {
    let (dir, heads) = signed_store();
    let store_dir = dir.path().join("store");
    let signed = heads.read().unwrap();
    append_line(&heads, &signed[0].to_line());
    let newest = heads.newest(&known()).unwrap().unwrap();
    assert_eq!((signed[0].commit, newest.commit), (5, COMMITS));
    // So the journal that the old head fits is refused as before.
    cut(&Connection::open(store_dir.join("journal.db")).unwrap(), 5);
    let store = Store::open_read_only(&store_dir).unwrap();
    signed[0].check_store(&store).unwrap();
    let error = newest.check_store(&store).unwrap_err();
    assert!(matches!(error, HeadsError::Shorter { .. }), "{error}");
    hold(&store, &heads, &known()).unwrap_err();
}

#[test]
fn an_old_word_appended_once_more_sets_nothing_aside() {
    let (dir, heads) = signed_store();
    let store_dir = dir.path().join("store");
    cut(&Connection::open(store_dir.join("journal.db")).unwrap(), 7);
    let accepted = Accepted {
        by: "ada".to_owned(),
        reason: "the disk failed".to_owned(),
    };
    let store = Store::open_read_only(&store_dir).unwrap();
    sign(&heads, &store, Some(accepted.clone()));
    let word = heads.read().unwrap().pop().unwrap();
    assert_eq!(heads.newest(&known()).unwrap().unwrap().commit, 7);
    drop(store);
    grow(&store_dir, COMMITS, &mut 4, None);
    let store = Store::open_read_only(&store_dir).unwrap();
    sign(&heads, &store, None);
    append_line(&heads, &word.to_line());
    assert_eq!(heads.newest(&known()).unwrap().unwrap().commit, COMMITS);
    hold(&store, &heads, &known()).unwrap();
    drop(store);
    cut(&Connection::open(store_dir.join("journal.db")).unwrap(), 7);
    let store = Store::open_read_only(&store_dir).unwrap();
    let error = hold(&store, &heads, &known()).unwrap_err();
    assert!(matches!(error, HeadsError::Shorter { .. }), "{error}");
    // Nor does a word that nobody who is known signed, whatever stands behind it.
    let stranger = PrivateKey::from_seed(&[1; 32]).unwrap();
    let forged = Head::sign(&stranger, store.standing().unwrap(), 3, Some(accepted));
    append_line(&heads, &forged.to_line());
    append_line(&heads, &word.to_line());
    let error = heads.newest(&known()).unwrap_err();
    assert!(matches!(error, HeadsError::UnknownKey { .. }), "{error}");
}

#[test]
fn any_changed_byte_of_a_head_is_found() {
    let (_dir, heads) = signed_store();
    let line = heads.newest(&known()).unwrap().unwrap().to_line();
    Head::read(&line)
        .unwrap()
        .check_signature(&known())
        .unwrap();
    for at in 0..line.len() {
        let mut bytes = line.clone().into_bytes();
        bytes[at] ^= 1;
        let head = String::from_utf8(bytes).map(|line| Head::read(&line));
        if let Ok(Ok(head)) = head {
            assert!(
                head.check_signature(&known()).is_err(),
                "byte {at} of {line}"
            );
        }
    }
}

#[test]
fn many_who_sign_at_once_write_whole_lines() {
    let (dir, heads) = signed_store();
    let store = Store::open_read_only(&dir.path().join("store")).unwrap();
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| (0..10).for_each(|_| sign(&heads, &store, None)));
        }
    });
    assert_eq!(hold(&store, &heads, &known()).unwrap().agree, 83);
    assert!(matches!(store.verify(), Ok(_) | Err(StoreError::Busy)));
}
