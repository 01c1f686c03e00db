//! Seeded worlds: whatever goes wrong in them, the promises hold.
//!
//! `PROVOST_SECONDS` plays them for so long, from `PROVOST_SEED` on (`scripts/full worlds`); without
//! it a few hundred. `PROVOST_SEED=N PROVOST_COUNT=1` plays one and prints its journal.
#![allow(clippy::indexing_slicing, clippy::unwrap_used, reason = "tests")]

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use provost_run::event::Event;
use provost_run::facts::RunFacts;
use sim::repeats::{BEGUN_FORBIDDEN, BEGUN_UNSHOWN, CARD_SILENT, Looks};
use sim::rng;
use sim::table;
use sim::verdicts;
use sim::worlds::{self, History};

mod judged;

fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok()?.parse().ok()
}

/// What was seen in many worlds.
#[derive(Default)]
struct Seen {
    worlds: u64,
    events: usize,
    effects: usize,
    ends: BTreeMap<&'static str, u64>,
    faults: BTreeSet<&'static str>,
    marks: BTreeSet<&'static str>,
    refusals: BTreeSet<&'static str>,
    failures: Vec<String>,
}

impl Seen {
    fn add(&mut self, history: &History) {
        self.worlds += 1;
        self.events += history.events;
        self.effects += history.effects;
        *self.ends.entry(history.end).or_default() += 1;
        self.faults.extend(&history.faults);
        self.marks.extend(&history.marks);
        self.refusals.extend(&history.refusals);
        if !history.broken.is_empty() {
            let line = format!("seed {}: {}", history.seed, history.broken.join("; "));
            println!("{line}");
            self.failures.push(line);
        }
    }
}

/// Plays worlds on two threads until `done` says so of the number of the next.
fn play(first: u64, done: impl Fn(u64) -> bool + Sync) -> Seen {
    let scenarios = worlds::scenarios().unwrap();
    let (next, seen) = (AtomicU64::new(0), Mutex::new(Seen::default()));
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                loop {
                    let number = next.fetch_add(1, Ordering::Relaxed);
                    if done(number) {
                        return;
                    }
                    let history = worlds::play(first + number, &scenarios);
                    seen.lock().unwrap().add(&history);
                }
            });
        }
    });
    seen.into_inner().unwrap()
}

/// Rows of the table that hardly one world in a thousand reaches: demanded of many worlds only.
const RARE: [&str; 4] = [
    "to be observed later",
    "the tool cannot be asked",
    "approved in part",
    "shown by what was read back",
];
const MANY: u64 = 5_000;
/// Rows that no world here draws: `enumerate` reaches them with every crash and fault.
const ENUMERATED: [&str; 5] = [
    "asks beside what it showed",
    "asks without it",
    "reads it back",
    "reads it back again",
    "reads what it is about",
];

#[test]
fn whatever_goes_wrong_the_promises_hold() {
    let first = number("PROVOST_SEED").unwrap_or(0);
    let count = number("PROVOST_COUNT").unwrap_or(300);
    let began = Instant::now();
    let seen = match number("PROVOST_SECONDS").map(Duration::from_secs) {
        Some(time) => play(first, |_| began.elapsed() > time),
        None => play(first, |number| number >= count),
    };
    println!(
        "worlds {} from seed {first} events {} effects {} in {:.1?}\nends {:?}\nfaults {:?}\n\
         marks {:?}\nrefusals {:?}",
        seen.worlds,
        seen.events,
        seen.effects,
        began.elapsed(),
        seen.ends,
        seen.faults,
        seen.marks,
        seen.refusals,
    );
    if seen.worlds == 1 {
        let history = worlds::play(first, &worlds::scenarios().unwrap());
        history.lines.iter().for_each(|line| println!("{line}"));
    }
    assert!(seen.failures.is_empty(), "{:#?}", seen.failures);
    if seen.worlds < 300 {
        return;
    }
    let names = worlds::fault_names();
    let calm: Vec<_> = names.difference(&seen.faults).collect();
    assert!(calm.is_empty(), "faults that never struck: {calm:?}");
    let unseen = table::marks().filter(|mark| !seen.marks.contains(mark.name));
    let demanded =
        |name: &&str| (seen.worlds >= MANY || !RARE.contains(name)) && !ENUMERATED.contains(name);
    let unseen: Vec<_> = unseen.map(|mark| mark.name).filter(demanded).collect();
    assert!(unseen.is_empty(), "rows never reached: {unseen:?}");
    let succeeded = seen.ends.get("succeeded").copied().unwrap_or(0);
    assert!(
        succeeded * 5 > seen.worlds,
        "hardly a run succeeds: {:?}",
        seen.ends
    );
}

/// Control: a driver that does not have the store confirm which equal calls there are begins what
/// policy forbids, and asks with cards that do not name them.
#[test]
fn a_driver_that_does_not_look_for_equal_calls_is_caught() {
    let scenarios = worlds::scenarios().unwrap();
    let broken = |looks: Looks| -> BTreeSet<String> {
        let played = (0..150).map(|seed| worlds::play_looking(seed, &scenarios, looks));
        played.flat_map(|history| history.broken).collect()
    };
    for what in [BEGUN_FORBIDDEN, BEGUN_UNSHOWN, CARD_SILENT] {
        assert!(broken(Looks::Never).contains(what), "`{what}` is not seen");
    }
    assert!(broken(Looks::AtCards).contains(BEGUN_FORBIDDEN));
}

/// The same seed gives the same history, event by event.
#[test]
fn the_same_seed_twice_gives_the_same_trace() {
    let scenarios = worlds::scenarios().unwrap();
    let again = worlds::scenarios().unwrap();
    let count = number("PROVOST_TWICE").unwrap_or(20);
    for seed in 0..count {
        let (one, two) = (worlds::play(seed, &scenarios), worlds::play(seed, &again));
        assert_eq!(one.digest, two.digest, "seed {seed}");
    }
    println!("{count} of {count} seeds give the same trace twice");
    let (one, two) = (worlds::play(1, &scenarios), worlds::play(2, &scenarios));
    assert_ne!(one.digest, two.digest, "another seed gives another");
}

/// The facts of each world, beside its journal, for a second reader.
fn facts_of(history: &History) -> (Vec<serde_json::Value>, RunFacts) {
    let mut events = Vec::new();
    let mut shown = Vec::new();
    for line in &history.lines {
        let mut parts = line.splitn(4, ' ');
        let mut part = || parts.next().unwrap();
        let (at, kind, version): (i64, _, u32) =
            (part().parse().unwrap(), part(), part().parse().unwrap());
        let mut payload: serde_json::Value = serde_json::from_str(part()).unwrap();
        // Why here: the simulated world has no clock that a toolbox would measure by.
        if kind == "AttemptEnded" && payload.get("lost").is_none() {
            payload["took_us"] = serde_json::json!(at % 9_973);
        }
        events.push((Event::from_stored(kind, version, &payload).unwrap(), at));
        shown.push(serde_json::json!([at, kind, payload]));
    }
    let facts = RunFacts::of(events.iter().map(|(event, at)| (event, *at)), None);
    // What a store keeps of a run that is over, and what is read from it, are the same counts.
    let kept = serde_json::to_string(&facts).unwrap();
    assert_eq!(serde_json::from_str::<RunFacts>(&kept).unwrap(), facts);
    (shown, facts)
}

/// What the second reader says of these lines: whether it agrees, and its words.
fn second_reader(lines: &[String]) -> (bool, String) {
    let dir = tempfile::tempdir().unwrap();
    // Kept where somebody asks for it: what differs is best looked at by hand.
    let kept = std::env::var_os("PROVOST_FACTS_FILE").map(std::path::PathBuf::from);
    let path = kept.unwrap_or_else(|| dir.path().join("facts.jsonl"));
    std::fs::write(&path, lines.join("\n")).unwrap();
    let script = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/stats.py");
    let ran = std::process::Command::new("python3")
        .arg(script)
        .arg("--compare")
        .arg(&path)
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&ran.stdout).into_owned();
    let said = String::from_utf8_lossy(&ran.stderr);
    assert_ne!(ran.status.code(), Some(2), "{text}{said}");
    (ran.status.success(), text)
}

#[test]
fn a_second_reader_counts_the_same_facts() {
    let scenarios = worlds::scenarios().unwrap();
    let count = number("PROVOST_FACTS").unwrap_or(200);
    let mut lines = Vec::new();
    let mut seen: BTreeMap<String, (usize, RunFacts)> = BTreeMap::new();
    for seed in 0..count {
        let (events, facts) = facts_of(&worlds::play(seed, &scenarios));
        let rates = facts.planning.keys().chain(facts.execution.keys());
        for key in rates {
            let of = || (lines.len(), facts.clone());
            seen.entry(key.clone()).or_insert_with(of);
        }
        let line = serde_json::json!({ "events": events, "facts": facts });
        lines.push(line.to_string());
    }
    let (agrees, text) = second_reader(&lines);
    assert!(agrees, "{text}");
    println!("{text}{} rates seen: {:?}", seen.len(), seen.keys());
    assert!(seen.len() >= 20, "{:?}", seen.keys());
    assert!(lines.iter().any(|line| line.contains("latency_us")));
    // The control: each rate changed by one, alone, is a difference.
    for (key, (at, facts)) in seen {
        let mut changed = facts.clone();
        let family = match changed.planning.contains_key(&key) {
            true => &mut changed.planning,
            false => &mut changed.execution,
        };
        family.get_mut(&key).unwrap().hits += 1;
        let line: serde_json::Value = serde_json::from_str(&lines[at]).unwrap();
        let line = serde_json::json!({ "events": line["events"], "facts": changed });
        let (agrees, text) = second_reader(&[line.to_string()]);
        assert!(!agrees && text.contains(&key), "{key}: {text}");
    }
}
