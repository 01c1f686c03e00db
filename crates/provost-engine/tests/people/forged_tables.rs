//! Rows beside the events that somebody without a key deletes, alters or makes up, and old signed
//! heads that they append once more: none begins a call, and each is named by both verifiers.

use std::fs;

use provost_engine::engine::Engine;
use provost_engine::keys::PublicKey;
use provost_engine::session::Unwatched;
use provost_engine::store::heads::{self, HeadsFile};
use provost_engine::store::{StopScope, Stopped, Store};
use provost_engine::workspace::{LockUse, Opening, Workspace};

use super::forger::Forger;
use super::place::{Place, audited, drive, key, runtime, second, yes};

const PUBLIC: &str = "ed25519:6kpsY+KcUgq+9VB7Ey7F+ZVHdq6+vnuSQh7qaRRG0iw=";
const HEADS: &str = "kept/heads.jsonl";
const JOURNAL: &str = ".provost/journal.db";

/// A run whose call waits for a yes, in a workspace that is stopped; both are under a signed head.
fn stopped() -> (Place, String) {
    let place = audited("signature");
    let run = place.waiting();
    let engine = place.engine();
    engine.sign_head().unwrap().unwrap();
    engine.store().backup(&place.path("kept/old.db")).unwrap();
    let stop = Stopped {
        scope: StopScope::All,
        name: String::new(),
        by: "ada".to_owned(),
        reason: "look first".to_owned(),
        at_ms: 1,
    };
    engine.store().stop(&stop).wait().unwrap();
    engine.sign_head().unwrap().unwrap();
    (place, run)
}

/// What somebody does to the files.
fn tamper(place: &Place, kind: &str) {
    let change = |sql: &str| place.journal().execute_batch(sql).unwrap();
    match kind {
        "nothing" => {}
        "a deleted stop" => change("DELETE FROM stops"),
        "a stop of something else" => change("UPDATE stops SET scope = 'tool', name = 'x'"),
        "a deleted stop and its event" => {
            change("DELETE FROM stops; DELETE FROM events WHERE run = 0")
        }
        "a made-up lift" => Forger::new(place.journal()).lift(false),
        "a lift in both chains" => Forger::new(place.journal()).lift(true),
        "a made-up row of what was pruned" => change(
            "INSERT INTO pruned SELECT digest, media, length(bytes), 1 FROM evidence;
             DELETE FROM evidence",
        ),
        "an older journal, and its head once more" => {
            for end in ["-wal", "-shm"] {
                let _ = fs::remove_file(place.path(&format!("{JOURNAL}{end}")));
            }
            fs::copy(place.path("kept/old.db"), place.path(JOURNAL)).unwrap();
            let kept = fs::read_to_string(place.path(HEADS)).unwrap();
            let old = kept.lines().nth(1).unwrap();
            place.write(HEADS, &format!("{kept}{old}\n"));
        }
        other => panic!("{other}"),
    }
}

/// What the first verifier says against it.
fn named(place: &Place) -> Option<String> {
    let store = Store::open_read_only(&place.path(".provost")).unwrap();
    if let Err(error) = store.verify() {
        return Some(error.to_string());
    }
    let known: PublicKey = PUBLIC.parse().unwrap();
    let held = heads::hold(&store, &HeadsFile::new(place.path(HEADS)), &[known]);
    held.err().map(|error| error.to_string())
}

/// A new process hears a signed yes, and goes on as far as it can.
fn go_on(place: &Place, run: &str) {
    let opening = Opening {
        user: "ada",
        lock: LockUse::Ignore,
    };
    let workspace = Workspace::open(&place.path("."), &opening).unwrap();
    let Ok(engine) = Engine::open(workspace) else {
        return;
    };
    runtime().block_on(async {
        let Ok(mut session) = engine.take_up(run, &mut Unwatched).await else {
            return;
        };
        let said = yes(&engine, session.state(), "bo").signed_with(&key("bo"));
        let (_keep, mut halt) = tokio::sync::watch::channel(false);
        if session.hear(&said, &mut Unwatched).await.is_ok() {
            let _ = session.drive(&mut Unwatched, &mut halt).await;
        }
    });
}

#[test]
fn no_row_beside_the_events_begins_a_call_and_each_is_named() {
    for (kind, word) in [
        ("nothing", ""),
        ("a deleted stop", "the stop of every run is missing"),
        (
            "a stop of something else",
            "the stop of every run is missing",
        ),
        ("a deleted stop and its event", "commit"),
        ("a made-up lift", "commit"),
        ("a made-up row of what was pruned", "was made up"),
        (
            "an older journal, and its head once more",
            "an older journal was restored",
        ),
    ] {
        let (place, run) = stopped();
        tamper(&place, kind);
        let heads = place.path(HEADS).display().to_string();
        let (holds, said) = second(&place, &[&heads, PUBLIC]);
        match named(&place) {
            None => assert!(kind == "nothing" && holds, "{kind}: {said}"),
            Some(error) => {
                assert!(kind != "nothing" && error.contains(word), "{kind}: {error}");
                assert!(!holds, "{kind}: {said}");
            }
        }
        go_on(&place, &run);
        assert_eq!(place.count("AttemptStarted"), 0, "{kind}");
        assert!(!place.path("notes/note.txt").exists(), "{kind}");
    }
}

/// The control: what is lifted begins its call. A lift bears no signature, so one that somebody
/// computes into both chains counts as `resume --all` would, and the log has it.
#[test]
fn what_is_lifted_in_both_chains_begins_its_call() {
    let (place, run) = stopped();
    tamper(&place, "a lift in both chains");
    assert_eq!(named(&place), None);
    let engine = place.engine();
    runtime().block_on(async {
        let mut session = engine.take_up(&run, &mut Unwatched).await.unwrap();
        let said = yes(&engine, session.state(), "bo").signed_with(&key("bo"));
        session.hear(&said, &mut Unwatched).await.unwrap();
        drive(&mut session).await;
    });
    assert!(place.path("notes/note.txt").exists());
    assert_eq!(place.count("StopLifted"), 1);
}
