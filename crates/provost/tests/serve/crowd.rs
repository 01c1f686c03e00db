//! Many answer one card at once: one of them counts, and every other is told why theirs does not.
//!
//! `PROVOST_COUNT` says how many answer; few in the gate, as each has a token of their own.

use std::sync::{Barrier, RwLock};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::kill::settlement;
use super::served::{Answer, Served, note, team, token};
use super::workplace::Workplace;

/// Who answers: a program of bo or chi, as one of many.
struct Voice {
    token: String,
    by: &'static str,
    /// Yes or no.
    kind: &'static str,
}

fn crowd(place: &Workplace) -> Vec<Voice> {
    let count = std::env::var("PROVOST_COUNT").ok();
    let count = count.and_then(|count| count.parse().ok()).unwrap_or(24);
    let voice = |n: usize| {
        let by = ["bo", "chi"][n % 2];
        Voice {
            token: token(place, &format!("t{n}"), by, &[]),
            by,
            kind: if n % 4 == 3 { "reject" } else { "approve" },
        }
    };
    (0..count).map(voice).collect()
}

/// What one of them was told at last.
struct Told<'v> {
    voice: &'v Voice,
    said: String,
    status: u16,
    problem: String,
    detail: String,
}

/// Has all answer one card at the same time, each at one of these servers, and again with the same
/// number if a server died under them; `beside` is done meanwhile.
fn answered<'v>(
    servers: &[RwLock<Served>],
    voices: &'v [Voice],
    (run, card): (&str, &str),
    beside: impl FnOnce(),
) -> Vec<Told<'v>> {
    let together = Barrier::new(voices.len() + 1);
    std::thread::scope(|scope| {
        let all: Vec<_> = voices
            .iter()
            .enumerate()
            .map(|(at, voice)| {
                let (server, together) = (&servers[at % servers.len()], &together);
                scope.spawn(move || {
                    let mut said = json!({
                        "kind": voice.kind, "card": card, "nonce": format!("one-of-many-{at}"),
                    });
                    if voice.kind == "reject" {
                        said["reason"] = json!("not today");
                    }
                    together.wait();
                    let said = said.to_string();
                    let answer = insisted(server, &voice.token, run, &said);
                    let body = serde_json::from_str(&answer.body).unwrap_or(Value::Null);
                    let text = |name: &str| body[name].as_str().unwrap_or_default().to_owned();
                    Told {
                        voice,
                        said,
                        status: answer.status,
                        problem: text("type").replace("urn:provost:problem:", ""),
                        detail: text("detail"),
                    }
                })
            })
            .collect();
        together.wait();
        beside();
        all.into_iter().map(|one| one.join().unwrap()).collect()
    })
}

/// Says something until it is known what became of it.
fn insisted(server: &RwLock<Served>, token: &str, run: &str, said: &str) -> Answer {
    let began = Instant::now();
    loop {
        let answer = {
            let server = server.read().unwrap();
            let bearer = format!("Bearer {token}");
            let heads = [("Host", server.host.as_str()), ("Authorization", &bearer)];
            server.try_send(&format!("POST /v1/runs/{run}/statements"), &heads, said)
        };
        match answer {
            // Why again: nobody was there, it ended amid the answer, or nobody took it up yet.
            Some(answer) if ![0, 202, 503].contains(&answer.status) => return answer,
            answer => assert!(began.elapsed() < Duration::from_secs(60), "{answer:?}"),
        }
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// One decision stands in the journal, of whom was told so; every other was told why not.
/// `killed` is where the notes are, if a kill may have met the write of one.
fn judged(
    server: &RwLock<Served>,
    ada: &str,
    (run, card): (&str, &str),
    told: &[Told<'_>],
    killed: Option<&Workplace>,
) {
    let now = server.read().unwrap();
    let path = format!("/v1/runs/{run}/events?limit=200");
    let events = now.get(ada, &path).is(200).json();
    let decided: Vec<(String, String)> = events["events"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|event| event["payload"]["card"] == card)
        .filter_map(|event| {
            let kind = match event["kind"].as_str()? {
                "ApprovalGiven" => "approve",
                "ApprovalRejected" => "reject",
                _ => return None,
            };
            Some((kind.to_owned(), event["payload"]["by"].as_str()?.to_owned()))
        })
        .collect();
    let [(kind, by)] = &decided[..] else {
        panic!("one decision: {decided:?}");
    };
    let (counts, late): (Vec<_>, Vec<_>) = told
        .iter()
        .partition(|one| one.status == 200 || one.problem == "replayed");
    let [counts] = counts[..] else {
        panic!("{} were told that theirs counts", counts.len());
    };
    let voice = counts.voice;
    assert_eq!((voice.kind, voice.by), (kind.as_str(), by.as_str()));
    // Who was not answered and says it again is told so too, also once the run is over.
    let status = if kind == "approve" {
        "succeeded"
    } else {
        "rejected"
    };
    ended(server, voice, (run, status), killed);
    let again = insisted(server, &voice.token, run, &counts.said);
    assert_eq!(again.is(409).problem(), "replayed");
    for one in late {
        let said = (one.status, one.problem.as_str());
        assert_eq!(said, (409, "not-open"), "{}", one.detail);
        assert!(!one.detail.is_empty(), "nobody was told why");
    }
}

/// Waits until the run has this status. A kill that met the write left it in doubt: a person looks
/// at the notes and says what became of it, and the run goes on.
fn ended(
    server: &RwLock<Served>,
    voice: &Voice,
    (run, status): (&str, &str),
    killed: Option<&Workplace>,
) {
    let now = server.read().unwrap();
    loop {
        let row = now.until_one(&voice.token, run, &[status, "in_doubt"]);
        if row["status"] == status {
            return;
        }
        let place = killed.unwrap_or_else(|| panic!("in doubt, and nobody was killed: {row}"));
        let settled = settlement(place, &row["goal"]).to_string();
        let told = insisted(server, &voice.token, run, &settled);
        assert!([200, 409].contains(&told.status), "{told:?}");
    }
}

/// The run whose card they answer.
fn asked(server: &Served, ada: &str, name: &str) -> (String, String) {
    let run = server.begin(ada, &note(name));
    let card = server.card(ada, &run);
    (run, card)
}

#[test]
fn of_many_answers_to_one_card_one_counts() {
    let place = team();
    let ada = token(&place, "ada", "ada", &[]);
    let voices = crowd(&place);
    let servers = [RwLock::new(Served::of(&place))];
    let now = || servers[0].read().unwrap();
    let (run, card) = asked(&now(), &ada, "alone");
    let told = answered(&servers, &voices, (&run, &card), || ());
    judged(&servers[0], &ada, (&run, &card), &told, None);
    // The same with a server that is killed amid them, and the next.
    for round in 0..2 {
        let (run, card) = asked(&now(), &ada, &format!("killed-{round}"));
        let told = answered(&servers, &voices, (&run, &card), || {
            std::thread::sleep(Duration::from_millis(10 + round * 40));
            // Why before the lock: those who hold it wait for an answer.
            now().tell("-KILL");
            *servers[0].write().unwrap() = Served::of(&place);
        });
        judged(&servers[0], &ada, (&run, &card), &told, Some(&place));
    }
    place.run(&["audit", "verify"]).exits(0);
}

#[test]
fn two_servers_of_one_journal_take_one_answer() {
    let place = team();
    let ada = token(&place, "ada", "ada", &[]);
    let voices = crowd(&place);
    let servers = [(); 2].map(|()| RwLock::new(Served::of(&place)));
    for round in 0..2 {
        let at = &servers[round % 2];
        let (run, card) = asked(&at.read().unwrap(), &ada, &format!("two-{round}"));
        let told = answered(&servers, &voices, (&run, &card), || ());
        for server in &servers {
            judged(server, &ada, (&run, &card), &told, None);
        }
    }
    place.run(&["audit", "verify"]).exits(0);
}
