//! The figures of a server over many runs; without `PROVOST_RUNS`, over few, as a test of the lists.
//!
//! The engine begins and drives every run that waits, with policy, check and tools in force, and
//! in the full size one that is over: the store appends its events again, under other names. What
//! is measured is a whole request on a connection of its own, as its client sees it.

use std::collections::BTreeSet;
use std::io::{BufRead as _, BufReader, Read as _};
use std::net::TcpStream;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use provost_engine::engine::{Engine, OnBehalf};
use provost_engine::proposal::route;
use provost_engine::session::Unwatched;
use provost_engine::store::{Append, NewEvent, Projection, RunRow, Store, StoredEvent};
use provost_engine::workspace::{LockUse, Opening, Workspace, prepare_to_judge};
use serde_json::{Value, json};

use super::served::{Served, note, team, token};
use super::stream;
use super::workplace::Workplace;

/// How much there is: few in the gate, all where figures are taken.
struct Size {
    runs: usize,
    waiting: usize,
    steps: usize,
    streams: usize,
    rounds: usize,
    /// Whether the figures must hold.
    full: bool,
}

fn size() -> Size {
    let number = |name: &str| std::env::var(name).ok()?.parse().ok();
    let full = number("PROVOST_RUNS");
    let runs = full.unwrap_or(90);
    Size {
        runs,
        waiting: number("PROVOST_WAITING").unwrap_or(runs / 10),
        steps: if full.is_some() { 1_000 } else { 20 },
        streams: if full.is_some() { 200 } else { 9 },
        rounds: if full.is_some() { 100 } else { 3 },
        full: full.is_some(),
    }
}

/// A run that is over, as often as is wanted.
pub struct Finished {
    id: String,
    events: Vec<StoredEvent>,
    row: RunRow,
}

impl Finished {
    pub fn of(store: &Store, id: &str) -> Self {
        Self {
            id: id.to_owned(),
            events: store.load(id).unwrap(),
            row: store.run(id).unwrap(),
        }
    }

    /// Appends it again, for another person and under another id and goal.
    pub fn again(&self, store: &Store, at: usize, person: &str) {
        const LETTERS: &[u8; 32] = b"abcdefghijklmnopqrstuvwxyz234567";
        let letters = (0..12).map(|place| char::from(LETTERS[(at >> (place * 5)) & 31]));
        let id: String = letters.collect();
        let goal = format!("Count the orders of customer {at}");
        let events = self.events.iter().map(|event| {
            let text = event.payload.to_string();
            let text = text.replace(&self.id, &id).replace(&self.row.goal, &goal);
            let mut payload: Value = serde_json::from_str(&text).unwrap();
            if let Some(whom) = payload.pointer_mut("/principal/id") {
                *whom = person.into();
            }
            NewEvent {
                kind: event.kind.clone().into(),
                version: event.version,
                at_ms: event.at_ms,
                payload: payload.into(),
            }
        });
        let append = Append {
            run: id.clone(),
            expect_seq: 0,
            events: events.collect(),
            evidence: Vec::new(),
            admission: Vec::new(),
            notices: Vec::new(),
            row: Projection {
                status: self.row.status.clone(),
                goal: goal.clone(),
                summary: self.row.summary.clone(),
                due_ms: None,
                waits: Vec::new(),
                facts: None,
            },
            durable: false,
            only_of_goal: false,
        };
        store.append(append).wait().unwrap();
    }
}

/// Makes runs, on threads that share the commits; every so many of them waits.
fn fill(place: &Workplace, size: &Size) {
    const THREADS: usize = 8;
    prepare_to_judge();
    let opening = Opening {
        user: "ada",
        lock: LockUse::Ignore,
    };
    let workspace = Workspace::open(&place.path(""), &opening).unwrap();
    let engine = Engine::open(workspace).unwrap();
    let next = AtomicUsize::new(1);
    let every = size.runs / size.waiting;
    let finished = {
        let id = driven(&engine, "Count the orders of customer 0", "ada");
        Finished::of(engine.store(), &id)
    };
    std::thread::scope(|scope| {
        for _ in 0..THREADS {
            scope.spawn(|| {
                loop {
                    let at = next.fetch_add(1, Ordering::Relaxed);
                    if at >= size.runs {
                        return;
                    }
                    let person = ["ada", "bo", "chi"][at / every % 3];
                    let goal = format!("Count the orders of customer {at}");
                    if at % every == every - 1 {
                        driven(&engine, &note(&at.to_string()), person);
                    } else if size.full {
                        finished.again(engine.store(), at, person);
                    } else {
                        driven(&engine, &goal, person);
                    }
                }
            });
        }
    });
}

/// Begins a run and drives it as far as it goes; gives its id.
fn driven(engine: &Engine, goal: &str, person: &str) -> String {
    let runtime = tokio::runtime::Builder::new_current_thread();
    let runtime = { runtime }.enable_all().build().unwrap();
    let (_halt, mut halted) = tokio::sync::watch::channel(false);
    let workspace = engine.workspace();
    let routed = route(workspace, goal, None).unwrap();
    let whom = OnBehalf {
        principal: workspace.people().principal(person),
        run: None,
    };
    let new = routed.into_run(workspace.ask(), true);
    runtime.block_on(async {
        let begun = engine.begin_for(new, whom, &mut Unwatched).await;
        let mut session = begun.unwrap();
        let id = session.state().head.run.clone();
        session.drive(&mut Unwatched, &mut halted).await.unwrap();
        session.release().await.unwrap();
        id
    })
}

/// Rows of a table: what was measured, and what it must reach, in milliseconds.
#[derive(Default)]
struct Figures {
    /// What, the 50th and 95th of a hundred, and the most that the latter may be.
    rows: Vec<(String, f64, f64, f64)>,
    /// The 99th of the row that came last.
    last: f64,
}

impl Figures {
    fn add(&mut self, what: &str, mut times: Vec<f64>, must: f64) {
        times.sort_by(f64::total_cmp);
        let at = |part: usize| times[(times.len() * part / 100).min(times.len() - 1)];
        println!(
            "{what}: p50 {:.2} p95 {:.2} p99 {:.2} ms, must {must}",
            at(50),
            at(95),
            at(99)
        );
        self.rows.push((what.to_owned(), at(50), at(95), must));
        self.last = at(99);
    }

    /// The last row once more, by its 99th of a hundred.
    fn tail(&mut self, what: &str, must: f64) {
        let what = format!("{what}, p99");
        self.rows.push((what, self.last, self.last, must));
    }

    /// A request so often, after once to warm it.
    fn asked(&mut self, what: &str, must: f64, rounds: usize, ask: impl Fn() -> u16) {
        assert_eq!(ask(), 200, "{what}");
        let times = (0..rounds).map(|_| {
            let began = Instant::now();
            assert_eq!(ask(), 200, "{what}");
            ms(began.elapsed())
        });
        self.add(what, times.collect(), must);
    }

    fn missed(&self) -> Vec<String> {
        let missed = self.rows.iter().filter(|(_, _, p95, must)| p95 > must);
        missed
            .map(|(what, _, p95, must)| format!("{what}: {p95:.2} > {must}"))
            .collect()
    }
}

fn ms(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}

fn wall_ms() -> f64 {
    ms(SystemTime::now().duration_since(UNIX_EPOCH).unwrap())
}

#[test]
fn a_server_answers_beside_many_runs() {
    let size = size();
    let place = team();
    let limits = "\n[limits]\nsteps = 1000\ncalls = 100000\nattempts = 100000\nwall = \"24h\"\n";
    let config = std::fs::read_to_string(place.path("provost.toml")).unwrap();
    place.write("provost.toml", config + limits);
    let began = Instant::now();
    fill(&place, &size);
    println!(
        "{} runs in {:.0} s",
        size.runs,
        began.elapsed().as_secs_f64()
    );
    let mut figures = Figures::default();
    ready(&place, &size, &mut figures);
    let server = Served::of(&place);
    let bo = token(&place, "bo", "bo", &[]);
    every_wait_is_on_one_page(&server, &bo, &size);
    lists(&server, &place, &size, &mut figures);
    long_run(&server, &place, &size, &mut figures);
    decisions(&server, &bo, &mut figures);
    streams(&server, &place, &size, &mut figures);
    let kept = pace(&server, &place, &size);
    let mut missed = figures.missed();
    if kept < 0.95 {
        missed.push(format!("runs a second beside streams: {kept:.3} < 0.95"));
    }
    println!("missed: {missed:#?}");
    // Why not over few runs: then it is a test of the lists, beside other tests.
    assert!(missed.is_empty() || !size.full, "{missed:#?}");
}

/// From the start of the process to an answer.
fn ready(place: &Workplace, size: &Size, figures: &mut Figures) {
    let starts = (0..size.rounds.min(10)).map(|_| {
        let began = Instant::now();
        let server = Served::of(place);
        server.get("", "/readyz").is(200);
        let took = ms(began.elapsed());
        server.end();
        took
    });
    figures.add("ready after start", starts.collect(), 150.0);
    let store = Store::open_read_only(&place.path(".provost")).unwrap();
    let reads = (0..size.rounds).map(|_| {
        let began = Instant::now();
        let waits = store.waits().unwrap();
        assert_eq!(waits.len(), size.waiting);
        ms(began.elapsed())
    });
    figures.add("all that waits, in one reading", reads.collect(), 50.0);
}

/// Page by page, each wait once, the latest run first; the counts say as many.
fn every_wait_is_on_one_page(server: &Served, token: &str, size: &Size) {
    let (mut seen, mut after) = (Vec::new(), String::new());
    loop {
        let path = format!("/v1/inbox?limit=40{after}");
        let page = server.get(token, &path).is(200).json();
        let waits = page["waits"].as_array().unwrap();
        seen.extend(
            waits
                .iter()
                .map(|one| one["goal"].as_str().unwrap().to_owned()),
        );
        let Some(next) = page["after"].as_str() else {
            break;
        };
        // Why few in the full size: each page is the same work.
        if size.full && seen.len() > 400 {
            break;
        }
        after = format!("&after={next}");
    }
    let once: BTreeSet<&String> = seen.iter().collect();
    assert_eq!(once.len(), seen.len(), "a wait is on two pages");
    let count = server.get(token, "/v1/inbox/count").is(200).json();
    assert_eq!(
        (&count["all"], &count["runs"]),
        (&json!(size.waiting), &json!(size.waiting))
    );
    if !size.full {
        assert_eq!(seen.len(), size.waiting);
        let mine = server
            .get(token, "/v1/inbox?mine=true&limit=200")
            .is(200)
            .json();
        let others = seen.len() - seen.len().div_ceil(3);
        assert_eq!(
            mine["waits"].as_array().unwrap().len(),
            others,
            "bo asked for a third"
        );
    }
    server.get(token, "/v1/inbox?after=7").is(422);
}

/// First and deep pages of both lists, each filter with many rows, with few and with none.
fn lists(server: &Served, place: &Workplace, size: &Size, figures: &mut Figures) {
    let token = token(place, "chi", "chi", &[]);
    let cookie = server.invited(place, "chi");
    let middle = size.runs / 2;
    let rows = |query: &str| {
        let page = server
            .get(&token, &format!("/v1/runs?limit=200{query}"))
            .is(200);
        page.json()["runs"].as_array().unwrap().len()
    };
    assert_eq!(rows("&by=nobody"), 0);
    assert_eq!(rows("&by=bo"), (size.runs / 3).min(200));
    assert_eq!(
        rows("&playbook=filed&status=waiting_approval,running"),
        size.waiting.min(200)
    );
    assert_eq!(rows("&planner=playbook&by=ada"), (size.runs / 3).min(200));
    assert_eq!(rows("&planner=model"), 0);
    let paths = [
        "/v1/runs".to_owned(),
        format!("/v1/runs?after={middle}"),
        "/v1/runs?status=waiting_approval".to_owned(),
        "/v1/runs?status=waiting_approval,succeeded".to_owned(),
        "/v1/runs?status=paused".to_owned(),
        "/v1/runs?by=bo".to_owned(),
        format!("/v1/runs?by=bo&after={middle}"),
        "/v1/runs?by=nobody".to_owned(),
        "/v1/runs?planner=playbook".to_owned(),
        "/v1/runs?planner=model".to_owned(),
        "/v1/runs?playbook=filed".to_owned(),
        "/v1/runs?by=ada&status=waiting_approval".to_owned(),
        "/v1/runs?q=orders".to_owned(),
        "/v1/runs?q=customer%207".to_owned(),
        "/v1/runs?q=nowhere".to_owned(),
        "/v1/runs?since=9999999999999".to_owned(),
        "/v1/runs?until=1".to_owned(),
        "/v1/inbox".to_owned(),
        format!("/v1/inbox?after={middle}.0"),
        "/v1/inbox?mine=true".to_owned(),
        "/v1/inbox?kind=settlement".to_owned(),
        "/v1/inbox/count".to_owned(),
    ];
    let bearer = format!("Bearer {token}");
    for path in &paths {
        // Why apart: holding an answer against the document takes longer than to give it.
        server.get(&token, path).is(200);
        let heads = [
            ("Host", server.host.as_str()),
            ("Authorization", bearer.as_str()),
        ];
        let ask = || server.send(&format!("GET {path}"), &heads, "").status;
        figures.asked(path, 10.0, size.rounds, ask);
    }
    for path in ["/", "/runs", "/runs?status=waiting_approval"] {
        let heads = [("Host", server.host.as_str()), ("Cookie", cookie.as_str())];
        let ask = || server.send(&format!("GET {path}"), &heads, "").status;
        figures.asked(&format!("page {path}"), 10.0, size.rounds, ask);
    }
}

/// The pages of a run of many steps.
fn long_run(server: &Served, place: &Workplace, size: &Size, figures: &mut Figures) {
    let token = token(place, "long", "ada", &[]);
    let steps: Vec<Value> = (0..size.steps)
        .map(|at| {
            json!({ "id": format!("s{at}"), "tool": "shop.orders", "args": { "customer": "" },
                "needs": if at < 25 { vec![] } else { vec![format!("s{}", at - 25)] } })
        })
        .collect();
    let last = size.steps - 1;
    let check = format!("${{ steps.s{last}.status == \"succeeded\" }}");
    let plan = json!({
        "schema": "provost/plan/v1", "goal": { "text": "Count many times" }, "steps": steps,
        "success": [{ "for": "goal", "check": check }],
        "answer": [{ "text": "counted", "cites": [format!("s{last}")] }],
    });
    let begun = server
        .ask(&token, "POST /v1/runs", &json!({ "plan": plan }))
        .is(201);
    let run = begun.json()["run"].as_str().unwrap().to_owned();
    server.until(&token, &run, "succeeded");
    let cookie = server.invited(place, "ada");
    let heads = [("Host", server.host.as_str()), ("Cookie", cookie.as_str())];
    let path = format!("GET /runs/{run}");
    let ask = || server.send(&path, &heads, "").status;
    figures.asked("page of a run of 1,000 steps, warm", 50.0, size.rounds, ask);
}

/// From the press of yes to the next attempt.
fn decisions(server: &Served, bo: &str, figures: &mut Figures) {
    let mine = server.get(bo, "/v1/inbox?mine=true").is(200).json();
    let mut times = Vec::new();
    for wait in mine["waits"].as_array().unwrap().iter().take(40) {
        let run = wait["run"].as_str().unwrap();
        let yes = json!({ "kind": "approve", "card": wait["digest"] });
        let pressed = wall_ms();
        server
            .ask(bo, &format!("POST /v1/runs/{run}/statements"), &yes)
            .is(200);
        server.until(bo, run, "succeeded");
        let events = server
            .get(bo, &format!("/v1/runs/{run}/events?limit=200"))
            .json();
        let events = events["events"].as_array().unwrap();
        let given = events
            .iter()
            .position(|one| one["kind"] == "ApprovalGiven")
            .unwrap();
        let next = events[given..]
            .iter()
            .find(|one| one["kind"] == "AttemptStarted");
        let next = next.unwrap()["at_ms"].as_f64().unwrap();
        times.push((next - pressed).max(0.0));
    }
    figures.add("yes pressed to next attempt begun", times, 50.0);
}

/// Commits of this process and of another, as many streams hear of them.
fn streams(server: &Served, place: &Workplace, size: &Size, figures: &mut Figures) {
    let begins = token(place, "begins", "ada", &[]);
    for (what, must, begin) in [
        ("commit of this process to 200 streams", 50.0, true),
        ("commit of another process to 200 streams", 100.0, false),
    ] {
        const RUNS: usize = 5;
        // Why anew: a login has eight streams, and the server may still count those of before.
        let tokens: Vec<String> = (0..size.streams.div_ceil(8))
            .map(|at| token(place, &format!("s{at}-{begin}"), "bo", &[]))
            .collect();
        let times = Mutex::new(Vec::new());
        let listening = AtomicUsize::new(0);
        let before = resident_kb(server.id());
        std::thread::scope(|scope| {
            let streams: Vec<_> = (0..size.streams)
                .map(|at| {
                    let (token, times, listening) = (&tokens[at / 8], &times, &listening);
                    scope.spawn(move || {
                        let heard = hear(server, token, RUNS, listening);
                        times.lock().unwrap().extend(heard);
                    })
                })
                .collect();
            while listening.load(Ordering::SeqCst) < size.streams {
                let has_ended = streams.iter().any(|stream| stream.is_finished());
                assert!(!has_ended, "a stream ended before all had begun");
                std::thread::yield_now();
            }
            let kb = resident_kb(server.id()).saturating_sub(before);
            println!("{} streams: {kb} kB", size.streams);
            assert!(kb < 20_000, "so many streams take {kb} kB");
            for at in 0..RUNS {
                let goal = format!("Count the orders of stream {at}");
                if begin {
                    let run = server.begin(&begins, &goal);
                    server.until(&begins, &run, "succeeded");
                } else {
                    place.run(&["run", &goal, "--again"]).exits(0);
                }
            }
        });
        figures.add(what, times.into_inner().unwrap(), must);
        figures.tail(what, 250.0);
    }
}

/// What is left of the runs a second of an engine where streams listen: medians of rounds in turn.
fn pace(server: &Served, place: &Workplace, size: &Size) -> f64 {
    let runs = if size.full { 2_000 } else { 8 };
    let opening = Opening {
        user: "ada",
        lock: LockUse::Ignore,
    };
    let workspace = Workspace::open(&place.path(""), &opening).unwrap();
    let engine = Engine::open(workspace).unwrap();
    let paced = |round: usize| {
        let began = Instant::now();
        std::thread::scope(|scope| {
            for at in 0..4 {
                let engine = &engine;
                scope.spawn(move || {
                    for one in 0..runs / 4 {
                        let goal = format!("Count the orders of pace {round}-{at}-{one}");
                        driven(engine, &goal, "ada");
                    }
                });
            }
        });
        runs as f64 / began.elapsed().as_secs_f64()
    };
    let (mut alone, mut beside) = (Vec::new(), Vec::new());
    for round in 0..size.rounds.min(5) {
        alone.push(paced(2 * round));
        let tokens: Vec<String> = (0..size.streams.div_ceil(8))
            .map(|at| token(place, &format!("p{at}-{round}"), "bo", &[]))
            .collect();
        let open: Vec<TcpStream> = (0..size.streams)
            .map(|at| {
                // Why so: browsers ask for it.
                let mut stream = opened(server, &tokens[at / 8], "Accept-Encoding: gzip\r\n");
                // Why: a stream that is there has begun to answer.
                stream.read_exact(&mut [0; 12]).unwrap();
                stream
            })
            .collect();
        let over = AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| read_all(&open, &over));
            beside.push(paced(2 * round + 1));
            over.store(true, Ordering::SeqCst);
        });
    }
    let middle = |mut all: Vec<f64>| {
        all.sort_by(f64::total_cmp);
        all[all.len() / 2]
    };
    let (alone, beside) = (middle(alone), middle(beside));
    println!(
        "runs a second: {alone:.1} alone, {beside:.1} beside {} streams, {:.3}",
        size.streams,
        beside / alone
    );
    beside / alone
}

/// Reads what comes on all of these, as often as a screen is drawn at most, until it is over. Why
/// one thread: readers are elsewhere, and what 200 threads of theirs cost is not the server's.
fn read_all(streams: &[TcpStream], over: &AtomicBool) {
    let mut buffer = vec![0; 1 << 20];
    for stream in streams {
        stream.set_nonblocking(true).unwrap();
    }
    while !over.load(Ordering::SeqCst) {
        for mut stream in streams {
            while stream.read(&mut buffer).is_ok_and(|count| count > 0) {}
        }
        std::thread::sleep(Duration::from_millis(17));
    }
}

fn opened(server: &Served, token: &str, more: &str) -> TcpStream {
    let heads = format!("{more}Authorization: Bearer {token}\r\n");
    stream::opened(server, "", &heads, Duration::from_secs(60))
}

/// How long after each event a stream told of it, until so many runs ended.
fn hear(server: &Served, token: &str, runs: usize, listening: &AtomicUsize) -> Vec<f64> {
    let stream = opened(server, token, "");
    let (mut ended, mut times) = (0, Vec::new());
    let mut lines = BufReader::new(stream).lines();
    while ended < runs {
        let line = lines.next().unwrap().unwrap();
        let Some(data) = line.strip_prefix("data: ") else {
            continue;
        };
        let data: Value = serde_json::from_str(data).unwrap();
        // The reset with which a stream begins.
        if data == serde_json::json!({}) {
            listening.fetch_add(1, Ordering::SeqCst);
        }
        let Some(at) = data["at_ms"].as_f64() else {
            continue;
        };
        times.push((wall_ms() - at).max(0.0));
        ended += usize::from(data["kind"] == "RunEnded");
    }
    times
}

fn resident_kb(process: u32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).unwrap();
    let line = status.lines().find(|line| line.starts_with("VmRSS"));
    let number = line.unwrap().split_whitespace().nth(1);
    number.unwrap().parse().unwrap()
}
