//! The server is killed at any moment: what was answered is in the journal, and nothing is twice.
//!
//! `PROVOST_COUNT` says how many kills; few in the gate.

use std::collections::BTreeSet;
use std::time::Duration;

use serde_json::{Value, json};

use super::served::{Served, note, team, token};

/// Why few: each is a process that starts.
const KILLS: u64 = 4;

fn kills() -> u64 {
    let count = std::env::var("PROVOST_COUNT").ok();
    count.and_then(|count| count.parse().ok()).unwrap_or(KILLS)
}

#[test]
fn what_was_answered_is_kept_and_counts_once() {
    let place = team();
    let ada = token(&place, "ada", "ada", &[]);
    let bo = token(&place, "bo", "bo", &[]);
    let (mut begun, mut approved) = (BTreeSet::new(), BTreeSet::new());
    let mut server = Served::of(&place);
    for round in 0..kills() {
        // Why spread by a multiple: each round is cut at another place of what it does.
        let delay = Duration::from_millis(round * 37 % 200);
        let id = server.id().to_string();
        let killer = std::thread::spawn(move || {
            std::thread::sleep(delay);
            let killed = std::process::Command::new("kill")
                .args(["-KILL", &id])
                .status();
            killed.unwrap();
        });
        let key = format!("round-{round}");
        speak(&server, &ada, &bo, &key, &mut begun, &mut approved);
        killer.join().unwrap();
        server.kill();
        server = Served::of(&place);
        // The same request finds the same run, or begins it now.
        let wanted = json!({ "goal": note(&key), "again": true });
        let head = [("Idempotency-Key", key.as_str())];
        let again = server.ask_with(&ada, "POST /v1/runs", &head, &wanted);
        let run = again.json()["run"].as_str().unwrap().to_owned();
        assert!([200, 201].contains(&again.status), "{again:?}");
        if begun.contains(&format!("{key} {run}")) {
            assert_eq!(again.status, 200);
        }
        finish(&server, &ada, &bo, &run, &approved);
    }
    let rows = server.get(&ada, "/v1/runs?limit=200").json();
    assert_eq!(
        rows["runs"].as_array().unwrap().len() as u64,
        kills(),
        "lost or doubled"
    );
    place.run(&["audit", "verify"]).exits(0);
}

/// Begins a run and approves it, as far as the server lives.
fn speak(
    server: &Served,
    ada: &str,
    bo: &str,
    key: &str,
    begun: &mut BTreeSet<String>,
    approved: &mut BTreeSet<String>,
) {
    let wanted = json!({ "goal": note(key), "again": true });
    let Some(run) = lively(server, ada, "POST /v1/runs", Some(key), &wanted) else {
        return;
    };
    let run = run["run"].as_str().unwrap().to_owned();
    begun.insert(format!("{key} {run}"));
    loop {
        let Some(now) = lively(
            server,
            ada,
            &format!("GET /v1/runs/{run}"),
            None,
            &Value::Null,
        ) else {
            return;
        };
        if now["status"] == "waiting_approval" {
            let approve = json!({ "kind": "approve", "card": now["waits"][0]["digest"] });
            let to = format!("POST /v1/runs/{run}/statements");
            if lively(server, bo, &to, None, &approve).is_some_and(|said| said["taken"] == true) {
                approved.insert(run);
            }
            return;
        }
    }
}

/// An answer of a server that may die: none if it did.
fn lively(
    server: &Served,
    token: &str,
    line: &str,
    key: Option<&str>,
    body: &Value,
) -> Option<Value> {
    std::net::TcpStream::connect(&server.host).ok()?;
    let bearer = format!("Bearer {token}");
    let mut heads = vec![("Host", server.host.as_str()), ("Authorization", &bearer)];
    heads.extend(key.map(|key| ("Idempotency-Key", key)));
    let body = if body.is_null() {
        String::new()
    } else {
        body.to_string()
    };
    let answer = std::panic::catch_unwind(|| server.send(line, &heads, &body)).ok()?;
    let fine = (200..300).contains(&answer.status);
    fine.then(|| serde_json::from_str(&answer.body).ok())
        .flatten()
}

/// Brings a run to its end; a yes that was answered is not asked for again.
fn finish(server: &Served, ada: &str, bo: &str, run: &str, approved: &BTreeSet<String>) {
    let to = format!("POST /v1/runs/{run}/statements");
    loop {
        let now = server.get(ada, &format!("/v1/runs/{run}")).is(200).json();
        match now["status"].as_str().unwrap() {
            "succeeded" => return,
            "waiting_approval" => {
                let asked = !approved.contains(run);
                assert!(asked, "a yes that was answered is lost: {now}");
                let approve = json!({ "kind": "approve", "card": now["waits"][0]["digest"] });
                let said = server.ask(bo, &to, &approve);
                assert!([200, 202, 409].contains(&said.status), "{said:?}");
            }
            // A write that was in flight: whoever saw its file settles it.
            "in_doubt" => {
                let settle = json!({
                    "kind": "settle", "slot": { "step": "note" }, "settled": "happened",
                    "output": { "path": "note.txt", "bytes": 20 }, "reason": "the file is there",
                });
                let said = server.ask(bo, &to, &settle);
                assert!([200, 202, 409].contains(&said.status), "{said:?}");
            }
            "planning" | "running" => std::thread::sleep(Duration::from_millis(20)),
            other => panic!("{other}: {now}"),
        }
    }
}
