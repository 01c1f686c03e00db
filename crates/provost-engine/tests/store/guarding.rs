//! What is read of other runs before the first write of a process: all that tells of an effect, and
//! no text that tells nothing of one.

use provost_engine::store::Store;

use super::admitting::{Writes, begin, begins, change};
use super::{append, durable};

#[test]
fn the_first_write_checks_every_header_and_reads_no_text_that_bears_on_no_effect() {
    let in_kind = |kind: &str, set: &str| format!("UPDATE events SET {set} WHERE kind = '{kind}'");
    let broken = Some("is broken at event");
    for (sql, refused) in [
        (String::new(), None),
        // Why not refused: it tells nothing of an effect. Who reads the run finds it, and `verify`.
        (
            in_kind("Noted", "payload = replace(payload, 'event', 'other')"),
            None,
        ),
        (in_kind("Noted", "kind = 'Told'"), broken),
        (in_kind("Noted", "at_ms = at_ms + 1"), broken),
        (in_kind("Noted", "digest = zeroblob(32)"), broken),
        (in_kind("AttemptStarted", "kind = 'Noted'"), broken),
        (
            in_kind(
                "AttemptStarted",
                "payload = replace(payload, 'mail.send', 'mail.read')",
            ),
            broken,
        ),
        (
            "UPDATE runs SET head_seq = head_seq - 1 WHERE id = 'one'".to_owned(),
            broken,
        ),
        (
            "DELETE FROM events WHERE kind = 'AttemptStarted'".to_owned(),
            Some("commit"),
        ),
    ] {
        let dir = tempfile::tempdir().unwrap();
        let store = Store::open(dir.path()).unwrap();
        Writes::new(&store, "one")
            .enter(vec![begins(begin("a"))])
            .unwrap();
        drop(store);
        change(&dir, &sql);
        let store = Store::open(dir.path()).unwrap();
        assert_eq!(store.verify().is_err(), !sql.is_empty(), "{sql}");
        let mut write = begin("b");
        // Why another target: what is in doubt at the same one holds this back.
        write.sinks = begin("a").sinks.map(|sinks| {
            let mut bytes = *sinks.bytes();
            bytes.reverse();
            provost_plan::digest::Digest::from_bytes(bytes)
        });
        store.append(append("two", 0, 1)).wait().unwrap();
        let mut first = durable(append("two", 1, 1));
        first.admission = vec![begins(write)];
        match (refused, store.append(first).wait()) {
            (None, done) => drop(done.unwrap()),
            (Some(word), done) => {
                let error = done.unwrap_err().to_string();
                assert!(error.contains(word), "{sql}: {error}");
            }
        }
    }
}
