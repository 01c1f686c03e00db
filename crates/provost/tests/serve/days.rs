//! Eight days of a server that nobody restarts: heads are signed, logins end, notices are repeated,
//! and neither memory nor open files grow.
//!
//! The wall clock is moved. `PROVOST_COUNT` says in how many steps; few in the gate.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use provost_engine::store::Store;
use serde_json::Value;

use super::clock::MovedClock;
use super::figures::Finished;
use super::resumed::memory_of;
use super::served::{Answer, Served, note, team, token};
use super::stream::Listening;
use super::workplace::Workplace;

const DAYS: u32 = 8;
const DAY: Duration = Duration::from_secs(24 * 60 * 60);
/// Runs that are begun in each step.
const RUNS: usize = 3;

const CONFIG: &str = r#"
[audit]
heads = "kept/heads.jsonl"
key = "kept/audit.key"
passphrase = "file:kept/passphrase"

[notify.ops]
command = ["tee", "-a", "told-ops"]
on = ["waiting"]
remind = "1d"
escalate = { after = "2d", to = "lead" }

[notify.lead]
command = ["tee", "-a", "told-lead"]
on = []
"#;

const KEY: &str = include_str!("../../../../corpus/audit/audit.key");

/// A team whose heads are signed and who are told what waits.
fn lasting() -> Workplace {
    let place = team();
    place.write("kept/audit.key", KEY);
    place.write("kept/passphrase", "correct horse");
    let config = std::fs::read_to_string(place.path("provost.toml")).unwrap();
    place.write("provost.toml", config + CONFIG);
    place
}

/// What somebody was told, by its number: how often.
fn told(place: &Workplace, whom: &str) -> BTreeMap<String, usize> {
    let text = std::fs::read_to_string(place.path(&format!("told-{whom}"))).unwrap_or_default();
    let mut told = BTreeMap::new();
    for notice in serde_json::Deserializer::from_str(&text).into_iter::<Value>() {
        let id = notice.unwrap()["id"].as_str().unwrap().to_owned();
        *told.entry(id).or_default() += 1;
    }
    told
}

/// The commit of the newest head.
fn signed(place: &Workplace) -> u64 {
    let text = std::fs::read_to_string(place.path("kept/heads.jsonl")).unwrap_or_default();
    let newest = text.lines().last().map(|line| {
        let head: Value = serde_json::from_str(line).unwrap();
        head["commit"].as_u64().unwrap()
    });
    newest.unwrap_or(0)
}

#[track_caller]
fn until(what: &str, is_so: impl Fn() -> bool) {
    let began = Instant::now();
    while !is_so() {
        assert!(began.elapsed() < Duration::from_secs(60), "never: {what}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

fn open_files(server: &Served) -> usize {
    let files = std::fs::read_dir(format!("/proc/{}/fd", server.id()));
    files.unwrap().count()
}

/// Who signed in by a link: their cookie. The command has the clock of the server.
fn invited(server: &Served, place: &Workplace, clock: &MovedClock) -> String {
    let mut command = place.command(&["invite", "bo"]);
    clock.give(&mut command);
    let link = String::from_utf8(command.output().unwrap().stdout).unwrap();
    let signed_in = server.sign_in(Served::code(&link)).is(303);
    let cookie = signed_in.heads["set-cookie"].split(';').next();
    cookie.unwrap().to_owned()
}

fn opened(server: &Served, cookie: &str) -> Answer {
    let heads = [("Host", server.host.as_str()), ("Cookie", cookie)];
    server.send("GET /me", &heads, "")
}

#[test]
fn eight_days_pass() {
    let count = std::env::var("PROVOST_COUNT").ok();
    let steps: u32 = count.and_then(|count| count.parse().ok()).unwrap_or(DAYS);
    let place = lasting();
    let clock = MovedClock::new();
    let server = Served::timed(&place, &clock);
    let short = token(&place, "short", "ada", &["--expires", "2d"]);
    let waits = server.begin(&short, &note("waits"));
    server.card(&short, &waits);
    let mut stream = Listening::from(&server, &short, None);
    let (mut cookie, mut first) = (None::<String>, None);
    let mut days = 0;
    for step in 1..=steps {
        // Why one for each step: a token begins so many runs a minute, and these are few minutes.
        let ada = token(&place, &format!("ada-{step}"), "ada", &[]);
        let before = signed(&place);
        for at in 0..RUNS {
            let run = server.begin(&ada, &format!("Count the orders of {step}-{at}"));
            server.until(&ada, &run, "succeeded");
        }
        assert_eq!(signed(&place), before, "nothing is signed all the while");
        clock.pass(DAY * DAYS / steps);
        until("a head over what was done", || signed(&place) > before);
        if step * DAYS / steps > days {
            days += 1;
            // The session of yesterday ended by itself; the token of two days when they are over.
            if let Some(cookie) = &cookie {
                assert_eq!(opened(&server, cookie).is(303).heads["location"], "/login");
            }
            let today = invited(&server, &place, &clock);
            opened(&server, &today).is(200);
            cookie = Some(today);
            let status = if days < 2 { 200 } else { 401 };
            server.get(&short, "/v1/me").is(status);
            let due = usize::try_from(days).unwrap() + 1;
            until("a notice and a reminder for each day", || {
                told(&place, "ops").len() >= due
            });
            until("the lead is told after two days", || {
                days < 2 || !told(&place, "lead").is_empty()
            });
        }
        first.get_or_insert((memory_of(&server), open_files(&server)));
    }
    while stream.next().kind != "bye" {}
    if steps > DAYS {
        // Many events are signed before their time.
        let store = Store::open(&place.path(".provost")).unwrap();
        let finished = Finished::of(&store, &waits);
        let before = signed(&place);
        for at in 1..1_200 {
            finished.again(&store, at, "ada");
        }
        until("a head over 10,000 events", || signed(&place) > before);
    }
    let (memory, files) = first.unwrap();
    let (memory, now) = (
        memory_of(&server).saturating_sub(memory),
        open_files(&server),
    );
    println!("{steps} steps, {memory} kB more, {files} open files and then {now}");
    assert!(memory < 16_000, "{memory} kB");
    assert!(now <= files + 8, "{files} open files, then {now}");
    // No notice twice, and none for who came in between.
    for (whom, most) in [("ops", 9), ("lead", 9)] {
        let told = told(&place, whom);
        assert!(told.values().all(|times| *times == 1), "{whom}: {told:?}");
        assert!(told.len() <= most, "{whom}: {told:?}");
    }
    assert_eq!(server.end(), Some(0));
    place.run(&["audit", "verify"]).exits(0);
}
