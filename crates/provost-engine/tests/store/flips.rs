//! A damaged disk: bits turned over, pages swapped, the end cut off. An event that is read back is
//! the one that was stored, or an error shows.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use provost_engine::keys::PrivateKey;
use provost_engine::store::heads::{Head, HeadsError, HeadsFile, hold};
use provost_engine::store::{Evidence, Store, StoredEvent};
use provost_plan::digest::Digest;
use serde_json::json;

use super::{append, count, random};

const PAGE: u64 = 4096;
const RUNS: [&str; 3] = ["aaa", "bbb", "ccc"];

/// A journal as one file, and what it holds.
struct Whole {
    dir: tempfile::TempDir,
    bytes: Vec<u8>,
    heads: HeadsFile,
    events: BTreeMap<&'static str, Vec<StoredEvent>>,
    evidence: Vec<(Digest, Vec<u8>)>,
}

/// How damage showed.
#[derive(Debug, Default)]
struct Seen {
    /// An event or evidence could not be read.
    by_reading: u64,
    /// Everything read was as stored, and the check found something.
    by_the_check: u64,
    /// Nobody noticed, and nothing that was read was altered.
    harmless: u64,
    /// The database alone gives out another payload, without a word.
    silent_without_chains: u64,
}

impl Whole {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let store = Store::open(&dir.path().join("first")).unwrap();
        let mut evidence = Vec::new();
        for (number, run) in RUNS.into_iter().enumerate() {
            for seq in 0..30 {
                let mut next = append(run, seq, 1);
                if seq % 6 == 0 {
                    let bytes = format!("evidence {number} {seq} ").repeat(40).into_bytes();
                    let piece = Evidence::new("text/plain", bytes.clone());
                    next.events[0].kind = "ObservationMade".into();
                    next.events[0].payload = json!({ "evidence": piece.digest() }).into();
                    evidence.push((piece.digest(), bytes));
                    next.evidence = vec![piece];
                }
                store.append(next).wait().unwrap();
            }
        }
        let heads = HeadsFile::new(dir.path().join("heads.jsonl"));
        let head = Head::sign(&key(), store.standing().unwrap(), 1, None);
        let known = [key().public()];
        heads
            .append(&known, |_| Ok::<_, HeadsError>(Some(head)))
            .unwrap();
        // Why a copy: it is one file, without a log beside it.
        let file = dir.path().join("journal.db");
        store.backup(&file).unwrap();
        let events = RUNS.map(|run| (run, store.load(run).unwrap()));
        Self {
            bytes: fs::read(&file).unwrap(),
            events: events.into_iter().collect(),
            evidence,
            heads,
            dir,
        }
    }

    fn file(&self) -> PathBuf {
        self.dir.path().join("journal.db")
    }

    /// Reads everything in the damaged file and holds it against what was stored.
    fn look(&self, what: &str, seen: &mut Seen) {
        let file = self.file();
        if silently_altered(&file, &self.events) {
            seen.silent_without_chains += 1;
        }
        let Ok(store) = Store::open_file_read_only(&file) else {
            seen.by_reading += 1;
            return;
        };
        let mut errors = 0_u64;
        for (run, stored) in &self.events {
            match store.load(run) {
                Ok(read) => assert_eq!(&read, stored, "{what} altered run {run} unnoticed"),
                Err(_) => errors += 1,
            }
        }
        let mut missing = 0;
        for (digest, stored) in &self.evidence {
            match store.evidence(digest) {
                Ok(Some(read)) => assert_eq!(&read.bytes, stored, "{what} altered evidence"),
                Ok(None) => missing += 1,
                Err(_) => errors += 1,
            }
        }
        let checked =
            store.verify().is_ok() && hold(&store, &self.heads, &[key().public()]).is_ok();
        assert!(
            !checked || missing == 0,
            "{what}: evidence is missed by nobody"
        );
        match (errors, checked) {
            (1.., _) => seen.by_reading += 1,
            (0, false) => seen.by_the_check += 1,
            (0, true) => seen.harmless += 1,
        }
    }
}

fn key() -> PrivateKey {
    PrivateKey::from_seed(&[5; 32]).unwrap()
}

/// The control: what a reader would believe who checks no chain.
fn silently_altered(file: &Path, events: &BTreeMap<&str, Vec<StoredEvent>>) -> bool {
    let read = || -> rusqlite::Result<BTreeMap<(String, u64), String>> {
        let journal = rusqlite::Connection::open_with_flags(
            file,
            rusqlite::OpenFlags::SQLITE_OPEN_READ_ONLY,
        )?;
        let mut query =
            journal.prepare("SELECT id, seq, payload FROM events JOIN runs ON runs.n = run")?;
        query
            .query_map([], |row| Ok(((row.get(0)?, row.get(1)?), row.get(2)?)))?
            .collect()
    };
    let Ok(read) = read() else { return false };
    let stored = events.iter().flat_map(|(run, events)| {
        events.iter().map(move |event| {
            let text = provost_plan::digest::canonical(&event.payload);
            (((*run).to_owned(), event.seq), text)
        })
    });
    read != stored.collect()
}

fn say(what: &str, rounds: u64, seen: &Seen) {
    println!("{what}: {rounds}; {seen:?}; altered and unnoticed: 0");
}

#[test]
fn no_bit_that_turns_over_alters_an_event_unnoticed() {
    let whole = Whole::new();
    let (rounds, mut seed, mut seen) = (count(200), 11, Seen::default());
    let bits = whole.bytes.len() as u64 * 8;
    for _ in 0..rounds {
        let bit = random(&mut seed) % bits;
        let mut bytes = whole.bytes.clone();
        bytes[usize::try_from(bit / 8).unwrap()] ^= 1 << (bit % 8);
        fs::write(whole.file(), bytes).unwrap();
        whole.look(&format!("bit {bit}"), &mut seen);
    }
    say("bits turned over", rounds, &seen);
    assert!(
        seen.silent_without_chains > 0,
        "no flip met an event: {seen:?}"
    );
    assert!(seen.by_reading > 0 && seen.by_the_check > 0, "{seen:?}");
}

#[test]
fn no_swapped_page_and_no_lost_end_alters_an_event_unnoticed() {
    let whole = Whole::new();
    let (rounds, mut seed) = (count(200) / 10, 13);
    let pages = whole.bytes.len() as u64 / PAGE;
    let mut seen = Seen::default();
    for _ in 0..rounds {
        let (one, two) = (random(&mut seed) % pages, random(&mut seed) % pages);
        let mut bytes = whole.bytes.clone();
        for at in 0..PAGE {
            let at = |page: u64| usize::try_from(page * PAGE + at).unwrap();
            bytes.swap(at(one), at(two));
        }
        fs::write(whole.file(), bytes).unwrap();
        whole.look(&format!("pages {one} and {two}"), &mut seen);
    }
    say("pages swapped", rounds, &seen);
    let mut seen = Seen::default();
    for _ in 0..rounds {
        let keep = random(&mut seed) % whole.bytes.len() as u64;
        let bytes = &whole.bytes[..usize::try_from(keep).unwrap()];
        fs::write(whole.file(), bytes).unwrap();
        whole.look(&format!("the end after byte {keep}"), &mut seen);
    }
    say("ends cut off", rounds, &seen);
    assert_eq!(seen.harmless, 0, "{seen:?}");
}
