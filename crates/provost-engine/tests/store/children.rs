//! The parts that a second process of this test program plays.

use std::io::{Read as _, Write as _};
use std::path::PathBuf;

use provost_engine::owner::ClaimResult;
use provost_engine::store::Store;

use super::{append, durable};

/// Not a test: what [`super::child`] runs.
#[test]
#[ignore = "played by a child process only"]
fn play() {
    let Ok(part) = std::env::var("PROVOST_PART") else {
        return;
    };
    let dir = PathBuf::from(std::env::var("PROVOST_DIR").unwrap());
    match part.as_str() {
        "append" => append_for_ever(&dir),
        "claim" => claim_runs(&dir),
        "open" => match Store::open(&dir) {
            Ok(_) => say("opened"),
            Err(error) => say(&format!("{error}; {}", error.hint().unwrap_or("no hint"))),
        },
        "read" => match Store::open_read_only(&dir).and_then(|store| store.load("aaa")) {
            Ok(events) => say(&format!("read {}", events.len())),
            Err(error) => say(&error.to_string()),
        },
        other => panic!("no such part: {other}"),
    }
}

fn say(line: &str) {
    let mut out = std::io::stdout().lock();
    writeln!(out, "\n{line}").unwrap();
    out.flush().unwrap();
}

/// Four runs, events one by one, a line for each acknowledgement; ends only by a kill.
fn append_for_ever(dir: &std::path::Path) {
    let store = Store::open(dir).unwrap();
    for seq in 0.. {
        let pending: Vec<_> = ["one", "two", "three", "four"]
            .into_iter()
            .map(|run| {
                let next = append(run, seq, 1);
                store.append(if seq % 3 == 0 { durable(next) } else { next })
            })
            .collect();
        for one in pending {
            let receipt = one.wait().unwrap();
            say(&format!("ack {} {}", receipt.run(), receipt.seq()));
        }
    }
}

/// Waits for a line, claims every run, says which it got, and stays until its input closes.
fn claim_runs(dir: &std::path::Path) {
    let store = Store::open(dir).unwrap();
    say("ready");
    let mut byte = [0];
    std::io::stdin().read_exact(&mut byte).unwrap();
    let runs = store
        .runs(&provost_engine::store::RunFilter::default())
        .unwrap();
    let pending: Vec<_> = runs
        .iter()
        .map(|run| (run.id.clone(), store.claim(&run.id)))
        .collect();
    for (run, claim) in pending {
        match claim.wait().unwrap() {
            ClaimResult::Taken => say(&format!("taken {run}")),
            ClaimResult::HeldBy { .. } => say(&format!("held {run}")),
        }
    }
    say("end");
    // Why: the lock must live until everybody has tried.
    let _ = std::io::stdin().read(&mut byte);
}
