//! The server is killed at any moment, beside 50 runs under way and two people who speak: what was
//! answered is in the journal, and nothing is twice.
//!
//! `PROVOST_COUNT` says how many kills; few in the gate.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::served::{Served, note, team, token};
use super::workplace::Workplace;

/// Why few: each is a process that starts.
const KILLS: u64 = 4;
/// Runs that are under way whenever the server is killed.
const UNDER_WAY: u64 = 50;

/// What servers answered, of which nothing may be lost.
#[derive(Default)]
struct Told {
    /// The run that was begun under each key.
    begun: BTreeMap<String, String>,
    /// Who said yes to which card of which run, and was told that it counts.
    said: BTreeSet<(String, String, &'static str)>,
}

/// A workspace, and the tokens of its people.
struct Team {
    place: Workplace,
    asking: Vec<String>,
    people: [(&'static str, String); 2],
}

fn kills() -> u64 {
    let count = std::env::var("PROVOST_COUNT").ok();
    count.and_then(|count| count.parse().ok()).unwrap_or(KILLS)
}

#[test]
fn what_was_answered_is_kept_and_counts_once() {
    let place = team();
    let asking = ["one", "two", "three", "four"];
    let team = Team {
        asking: asking
            .iter()
            .map(|name| token(&place, name, "ada", &[]))
            .collect(),
        people: ["bo", "chi"].map(|who| (who, token(&place, who, who, &[]))),
        place,
    };
    let told = Mutex::new(Told::default());
    let mut server = Served::of(&team.place);
    for round in 0..kills() {
        top_up(&server, &team, round, &told);
        let before = told.lock().unwrap().said.clone();
        killed_beside(&server, &team, round, &told);
        server.kill();
        server = Served::of(&team.place);
        let told = told.lock().unwrap();
        for (run, card, who) in told.said.difference(&before) {
            assert_eq!(
                yeses(&server, &team, run, card, who),
                1,
                "a yes is lost: {run}"
            );
        }
        // The control of the look: a yes that nobody said is not there.
        if let Some((run, _, who)) = told.said.first() {
            assert_eq!(yeses(&server, &team, run, "sha256:0", who), 0);
        }
    }
    end_all(&server, &team);
    let told = told.into_inner().unwrap();
    let runs = judged(&server, &team, &told);
    assert!(!told.said.is_empty(), "nobody was answered before a kill");
    println!(
        "{} kills beside {UNDER_WAY} runs: {runs} runs, {} answered yeses, lost 0, doubled 0",
        kills(),
        told.said.len()
    );
    team.place.run(&["audit", "verify"]).exits(0);
}

/// Begins runs until so many wait for people. Why in a loop: what was said to the server before may
/// be taken by this one, and end a run that was counted.
fn top_up(server: &Served, team: &Team, round: u64, told: &Mutex<Told>) {
    let counts = || {
        server
            .get(&team.asking[0], "/v1/inbox/count")
            .is(200)
            .json()
    };
    for at in 0.. {
        if counts()["runs"].as_u64().unwrap() >= UNDER_WAY {
            return;
        }
        let key = format!("r{round}-{at}");
        let token = &team.asking[at % 2];
        let head = [("Idempotency-Key", key.as_str())];
        let wanted = json!({ "goal": note(&key), "again": true });
        let begun = server.ask_with(token, "POST /v1/runs", &head, &wanted);
        let begun = begun.is(201).json();
        let run = begun["run"].as_str().unwrap().to_owned();
        server.until(token, &run, "waiting_approval");
        told.lock().unwrap().begun.insert(key, run);
    }
}

/// Kills the server while two people approve and a program begins runs.
fn killed_beside(server: &Served, team: &Team, round: u64, told: &Mutex<Told>) {
    let over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        for (at, (who, token)) in team.people.iter().enumerate() {
            let over = &over;
            scope.spawn(move || approve_on(server, (at, who, token), told, over));
        }
        scope.spawn(|| {
            // Why few: each has to be ended after the last kill.
            for at in 0..3 {
                let key = format!("r{round}-beside-{at}");
                let wanted = json!({ "goal": note(&key), "again": true });
                let token = &team.asking[2 + at % 2];
                let begun = lively(server, token, "POST /v1/runs", Some(&key), &wanted);
                let run = begun.and_then(|begun| Some(begun["run"].as_str()?.to_owned()));
                match run {
                    Some(run) => told.lock().unwrap().begun.insert(key, run),
                    None => return,
                };
            }
        });
        // Why by answers: on a slow host a moment alone may come before the first of them.
        let answered = || told.lock().unwrap().said.len() as u64;
        let (awaited, began) = (answered() + round % 3, Instant::now());
        while answered() < awaited && began.elapsed() < Duration::from_secs(30) {
            std::thread::sleep(Duration::from_millis(1));
        }
        // Why spread by a multiple: each round is cut at another place of what it does.
        std::thread::sleep(Duration::from_millis(round * 67 % 200));
        server.tell("-KILL");
        over.store(true, Ordering::SeqCst);
    });
}

/// Approves what waits, one after the other, until the server is gone.
fn approve_on(
    server: &Served,
    (at, who, token): (usize, &&'static str, &str),
    told: &Mutex<Told>,
    over: &AtomicBool,
) {
    let listed = lively(server, token, "GET /v1/inbox?limit=12", None, &Value::Null);
    let listed = listed.unwrap_or_default();
    let waits = listed["waits"].as_array().cloned().unwrap_or_default();
    // Why apart: two people who go through one list in one order answer the same card.
    for wait in waits.iter().skip(at).step_by(2) {
        if over.load(Ordering::SeqCst) {
            return;
        }
        let (run, card) = (wait["run"].as_str(), wait["digest"].as_str());
        let (Some(run), Some(card)) = (run, card) else {
            continue;
        };
        let yes = json!({ "kind": "approve", "card": card });
        let to = format!("POST /v1/runs/{run}/statements");
        let said = lively(server, token, &to, None, &yes);
        if said.is_some_and(|said| said["taken"] == true) {
            let yes = (run.to_owned(), card.to_owned(), *who);
            told.lock().unwrap().said.insert(yes);
        }
    }
}

/// How often the journal has this yes.
fn yeses(server: &Served, team: &Team, run: &str, card: &str, who: &str) -> usize {
    let given = |event: &&Value| {
        event["kind"] == "ApprovalGiven"
            && event["payload"]["card"] == card
            && event["payload"]["by"] == who
    };
    events(server, team, run).iter().filter(given).count()
}

fn events(server: &Served, team: &Team, run: &str) -> Vec<Value> {
    let path = format!("/v1/runs/{run}/events?limit=200");
    let events = server.get(&team.asking[0], &path).is(200).json();
    events["events"].as_array().unwrap().clone()
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

/// Brings every run to its end, as people do who look at the files.
fn end_all(server: &Served, team: &Team) {
    let began = Instant::now();
    for turn in 0.. {
        assert!(
            began.elapsed() < Duration::from_secs(600),
            "runs do not end"
        );
        let (_, token) = &team.people[turn % 2];
        let rows = server
            .get(token, "/v1/runs?limit=200&status=planning,running")
            .is(200);
        let waits = server.get(token, "/v1/inbox?limit=200").is(200).json();
        let waits = waits["waits"].as_array().unwrap();
        if waits.is_empty() && rows.json()["runs"].as_array().unwrap().is_empty() {
            return;
        }
        for wait in waits {
            let statement = match wait["kind"].as_str().unwrap() {
                "approval" => json!({ "kind": "approve", "card": wait["digest"] }),
                _ => settlement(&team.place, &wait["goal"]),
            };
            let run = wait["run"].as_str().unwrap();
            let to = format!("POST /v1/runs/{run}/statements");
            let said = server.ask(token, &to, &statement);
            assert!([200, 202, 409, 429].contains(&said.status), "{said:?}");
            if said.status == 429 {
                std::thread::sleep(Duration::from_secs(1));
                break;
            }
        }
    }
}

/// What whoever looks says of a write in doubt of the run with this goal.
pub fn settlement(place: &Workplace, goal: &Value) -> Value {
    let name = goal.as_str().unwrap().rsplit(' ').next().unwrap();
    let file = std::fs::read(place.path(&format!("notes/{name}.txt")));
    let settled = json!({
        "kind": "settle", "slot": { "step": "note" }, "reason": "looked at the folder",
    });
    let what = match file {
        Ok(bytes) => json!({
            "settled": "happened",
            "output": { "path": format!("{name}.txt"), "bytes": bytes.len(), "created": true },
        }),
        Err(_) => json!({ "settled": "did_not_happen" }),
    };
    let mut all = settled.as_object().unwrap().clone();
    all.extend(what.as_object().unwrap().clone());
    Value::Object(all)
}

/// Every run that was answered for is there, under its key and once; each wrote its note, and began
/// no write a second time that nobody said had not happened. Gives how many runs there are.
fn judged(server: &Served, team: &Team, told: &Told) -> usize {
    let (mut runs, mut after) = (BTreeMap::new(), String::new());
    loop {
        let path = format!("/v1/runs?limit=200{after}");
        let page = server.get(&team.asking[0], &path).is(200).json();
        for row in page["runs"].as_array().unwrap() {
            assert_eq!(row["status"], "succeeded", "{row}");
            let goal = row["goal"].as_str().unwrap().to_owned();
            let id = row["id"].as_str().unwrap().to_owned();
            assert_eq!(runs.insert(goal, id), None, "a run is doubled: {row}");
        }
        let Some(next) = page["after"].as_str() else {
            break;
        };
        after = format!("&after={next}");
    }
    for (key, run) in &told.begun {
        assert_eq!(runs.get(&note(key)), Some(run), "a run is lost");
    }
    for (goal, run) in &runs {
        let name = goal.rsplit(' ').next().unwrap();
        let file = team.place.path(&format!("notes/{name}.txt"));
        assert!(file.exists(), "{run} wrote nothing");
        let events = events(server, team, run);
        let count = |matches: &dyn Fn(&Value) -> bool| events.iter().filter(|e| matches(e)).count();
        let wrote = |event: &Value| {
            event["kind"] == "AttemptStarted" && event["payload"]["operation"] == "notes.write"
        };
        let denied = |event: &Value| event["payload"]["settled"] == "did_not_happen";
        assert_eq!(count(&wrote), 1 + count(&denied), "{run} wrote twice");
        assert_eq!(
            count(&|event| event["kind"] == "ApprovalGiven"),
            1,
            "{run}: two yeses count"
        );
    }
    for (run, card, who) in &told.said {
        assert_eq!(
            yeses(server, team, run, card, who),
            1,
            "a yes is lost: {run}"
        );
    }
    runs.len()
}
