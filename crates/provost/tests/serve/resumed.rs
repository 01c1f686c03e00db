//! A stream across the end of its server, and over another journal than its reader knew: what
//! follows comes once and in order, or a reset says that it does not.
//!
//! `PROVOST_COUNT` says how many kills, and with 40 runs each how far a slow reader is behind.

use std::time::{Duration, Instant};

use provost_engine::store::Store;
use serde_json::Value;

use super::browser::Browser;
use super::figures::Finished;
use super::served::{Served, note, team, token};
use super::stream::{Listening, Sent};
use super::workplace::Workplace;

/// How often something is done: few in the gate.
fn count(few: usize) -> usize {
    let count = std::env::var("PROVOST_COUNT").ok();
    count.and_then(|count| count.parse().ok()).unwrap_or(few)
}

/// What of an event no later moment changes.
fn fixed(sent: &Sent) -> (String, String, Value, Value) {
    let data = &sent.data;
    (
        sent.id.clone(),
        sent.kind.clone(),
        data["run"].clone(),
        data["seq"].clone(),
    )
}

/// The newest place of a journal.
fn newest(server: &Served, token: &str) -> String {
    let first = Listening::from(server, token, None).next();
    assert_eq!(first.kind, "reset");
    first.id
}

/// Every event of a journal, from its first on.
fn all(server: &Served, token: &str) -> Vec<Sent> {
    let newest = newest(server, token);
    let mut stream = Listening::from(server, token, Some("0-"));
    let mut all = vec![stream.next()];
    while all.last().unwrap().id != newest {
        all.push(stream.next());
    }
    all
}

/// A run to its end.
fn driven(server: &Served, token: &str, customer: &str) {
    let run = server.begin(token, &format!("Count the orders of {customer}"));
    server.until(token, &run, "succeeded");
}

#[test]
fn a_reader_goes_on_with_the_next_server_after_a_kill() {
    let place = team();
    let ada = token(&place, "ada", "ada", &[]);
    let mut seen: Vec<Sent> = Vec::new();
    let mut runs = Vec::new();
    for round in 0..count(3) {
        let server = Served::of(&place);
        let last = seen.last().map_or("0-".to_owned(), |sent| sent.id.clone());
        let mut stream = Listening::from(&server, &ada, Some(&last));
        let heard = std::thread::spawn(move || {
            let mut heard = Vec::new();
            while let Some(sent) = stream.until_end() {
                heard.push(sent);
            }
            heard
        });
        for at in 0..3 {
            let goal = format!("Count the orders of {round}-{at}");
            runs.push(server.begin(&ada, &goal));
        }
        // Why spread by a multiple: each round is cut at another place of what it does.
        std::thread::sleep(Duration::from_millis(round as u64 * 67 % 200));
        server.kill();
        seen.extend(heard.join().unwrap());
    }
    let server = Served::of(&place);
    for run in &runs {
        server.until(&ada, run, "succeeded");
    }
    let all = all(&server, &ada);
    let mut stream = Listening::from(&server, &ada, Some(&seen.last().unwrap().id));
    while seen.last().unwrap().id != all.last().unwrap().id {
        seen.push(stream.next());
    }
    let fixed = |all: &[Sent]| all.iter().map(fixed).collect::<Vec<_>>();
    assert_eq!(fixed(&seen), fixed(&all));
    assert!(all.len() > runs.len() * 5, "{}", all.len());
}

/// Whether a reader goes on after this place.
fn goes_on(server: &Served, token: &str, after: &Sent, next: &str) -> bool {
    let first = Listening::from(server, token, Some(&after.id)).next();
    match first.kind.as_str() {
        "reset" => {
            assert_eq!(first.id, newest(server, token));
            false
        }
        _ => {
            assert_eq!(first.id, next, "after {}", after.id);
            true
        }
    }
}

/// How many readers go on of those that had read to any of these places; all others are reset.
fn that_go_on(server: &Served, token: &str, places: &[Sent]) -> usize {
    let ends = Sent {
        id: String::new(),
        kind: String::new(),
        data: Value::Null,
    };
    let nexts = places.iter().skip(1).chain([&ends]);
    // Why without the newest: whoever stands there hears of nothing yet.
    let newest = newest(server, token);
    let pairs = places.iter().zip(nexts);
    let known = pairs.filter(|(at, next)| !next.id.is_empty() && at.id != newest);
    known
        .filter(|(at, next)| goes_on(server, token, at, &next.id))
        .count()
}

#[test]
fn a_reader_of_another_journal_begins_anew() {
    let place = team();
    let server = Served::of(&place);
    let ada = token(&place, "ada", "ada", &[]);
    driven(&server, &ada, "ada");
    let kept = all(&server, &ada);
    let copy = place.path("copy.db");
    place.run(&["backup", copy.to_str().unwrap()]).exits(0);
    driven(&server, &ada, "grace");
    let gone = all(&server, &ada);
    assert_eq!(server.end(), Some(0));
    let ada = restored(&place, &copy);
    let server = Served::of(&place);
    // What the copy has goes on; what came after it is nowhere.
    assert_eq!(newest(&server, &ada), kept.last().unwrap().id);
    assert_eq!(that_go_on(&server, &ada, &kept), kept.len() - 1);
    assert_eq!(that_go_on(&server, &ada, &gone), kept.len() - 1);
    // Nor is it once the same numbers are taken by other events.
    driven(&server, &ada, "nobody");
    let now = all(&server, &ada);
    assert!(now.len() >= gone.len());
    assert_eq!(that_go_on(&server, &ada, &gone[kept.len()..]), 0);
    // The control: the readers of this journal.
    assert_eq!(that_go_on(&server, &ada, &now), now.len() - 1);
}

/// Puts a copy in the place of the journal; gives a token for ada, as the server's database went
/// with it.
fn restored(place: &Workplace, copy: &std::path::Path) -> String {
    place.run(&["restore", copy.to_str().unwrap()]).exits(0);
    token(place, "ada", "ada", &[])
}

/// The journal loses its end, as with the power: what stood in the write-ahead log alone.
#[test]
fn a_reader_of_a_journal_that_was_cut_back_begins_anew() {
    let place = team();
    let server = Served::of(&place);
    let ada = token(&place, "ada", "ada", &[]);
    driven(&server, &ada, "ada");
    driven(&server, &ada, "grace");
    let before = all(&server, &ada);
    server.kill();
    let log = place.path(".provost/journal.db-wal");
    let length = std::fs::metadata(&log).unwrap().len();
    let cut = std::fs::OpenOptions::new().write(true).open(&log).unwrap();
    cut.set_len(length * 3 / 4).unwrap();
    drop(cut);
    let server = Served::of(&place);
    driven(&server, &ada, "nobody");
    // Why: a run that lost its end is driven on, and what stands is compared once nothing moves.
    let began = Instant::now();
    loop {
        let runs = server.get(&ada, "/v1/runs?status=planning,running").json();
        if runs["runs"] == Value::Array(Vec::new()) {
            break;
        }
        assert!(began.elapsed() < Duration::from_secs(60), "{runs}");
        std::thread::sleep(Duration::from_millis(10));
    }
    let now = all(&server, &ada);
    let pairs = before.iter().zip(&now);
    let kept = pairs.take_while(|(was, is)| was.id == is.id).count();
    assert!(
        0 < kept && kept < before.len(),
        "{kept} of {}",
        before.len()
    );
    let (kept, lost) = before.split_at(kept);
    assert_eq!(that_go_on(&server, &ada, kept), kept.len() - 1);
    for lost in lost {
        assert!(!goes_on(&server, &ada, lost, ""), "{}", lost.id);
    }
}

/// The texts of old runs go; the chain stays, and so does every reader's place.
#[test]
fn a_reader_of_a_pruned_journal_goes_on() {
    let place = team();
    let server = Served::of(&place);
    let ada = token(&place, "ada", "ada", &[]);
    driven(&server, &ada, "ada");
    let waits = server.begin(&ada, &note("kept"));
    server.card(&ada, &waits);
    let before = all(&server, &ada);
    let prune = ["prune", "--payloads-older", "1ms", "--keep-chain"];
    place.run(&prune).exits(0);
    let after = all(&server, &ada);
    assert_eq!(
        before.iter().map(fixed).collect::<Vec<_>>(),
        after[..before.len()].iter().map(fixed).collect::<Vec<_>>()
    );
    assert_eq!(that_go_on(&server, &ada, &before), before.len() - 1);
}

#[test]
fn a_reader_that_does_not_read_holds_nobody_up_and_misses_nothing() {
    let place = team();
    let server = Served::of(&place);
    let ada = token(&place, "ada", "ada", &[]);
    let run = server.begin(&ada, "Count the orders of customer 0");
    server.until(&ada, &run, "succeeded");
    let [mut behind, mut quick] = [(); 2].map(|()| Listening::from(&server, &ada, Some("0-")));
    let memory = memory_of(&server);
    let store = Store::open(&place.path(".provost")).unwrap();
    let finished = Finished::of(&store, &run);
    for at in 0..count(3) * 40 {
        finished.again(&store, at + 1, "ada");
        if at % 100 == 0 {
            server.get(&ada, "/v1/runs?limit=1").is(200);
        }
    }
    let last = newest(&server, &ada);
    let mut all = vec![quick.next()];
    while all.last().unwrap().id != last {
        all.push(quick.next());
    }
    // Why so little: a queue of what the reader had not read would be as long as the journal.
    let grown = memory_of(&server).saturating_sub(memory);
    assert!(grown < 24_000, "{grown} kB for {} events", all.len());
    let read = behind.take(all.len());
    assert_eq!(
        read.iter().map(fixed).collect::<Vec<_>>(),
        all.iter().map(fixed).collect::<Vec<_>>()
    );
    println!(
        "{} events, the memory of the server grew by {grown} kB",
        all.len()
    );
}

/// The memory of a server, in kB; 0 where the system does not tell.
pub fn memory_of(server: &Served) -> u64 {
    let path = format!("/proc/{}/status", server.id());
    let status = std::fs::read_to_string(path).unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let number = line.and_then(|line| line.split_whitespace().next()?.parse().ok());
    number.unwrap_or(0)
}

#[test]
fn a_stream_ends_with_its_session() {
    let place = team();
    let server = Served::of(&place);
    let bo = token(&place, "bo", "bo", &[]);
    let ada = Browser::of(&server, &place, "ada");
    let mut stream = Listening::by(&server, &format!("Cookie: {}", ada.cookie), None);
    assert_eq!(stream.next().kind, "reset");
    ada.send("/logout", &[]).is(303);
    driven(&server, &bo, "ada");
    let bye = stream.next();
    assert_eq!(
        (bye.kind.as_str(), &bye.data["why"]),
        ("bye", &"not-signed-in".into())
    );
}
