//! Every description, rendered, shows what its truth says.
//!
//! Owns a plain reading of the rendered files: levels by medians, messages by how often they come.
//! Never asks the renderer what it drew. INVARIANT: each check has a control, a truth that is wrong
//! and is found out.
#![expect(
    clippy::indexing_slicing,
    clippy::unwrap_used,
    reason = "tests may fail loudly"
)]

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use jiff::Timestamp;
use rusqlite::Connection;
use serde_json::Value;

use super::*;

const NEAR_MINUTES: i64 = 60;

fn descriptions() -> Vec<Description> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../corpus/incidents");
    let mut paths: Vec<_> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|ending| ending == "toml"))
        .collect();
    paths.sort();
    paths
        .iter()
        .map(|path| Description::read(path).unwrap())
        .collect()
}

/// What stands in the rendered files, with times in minutes of the metrics' clock.
struct Seen {
    p95: Vec<(i64, i64)>,
    /// Version and minute of the target's deployments.
    deployments: Vec<(String, i64)>,
    /// The minutes of every warning and error of the target, and of its 5xx.
    messages: BTreeMap<String, Vec<i64>>,
    /// The same of its harmless lines, and of all that others say.
    others: BTreeMap<String, Vec<i64>>,
    failures: Vec<i64>,
    writeups: BTreeMap<String, String>,
}

fn seen(description: &Description) -> Seen {
    let start = Timestamp::as_second(format!("{}T00:00:00Z", description.day).parse().unwrap());
    let minute = |ts: &str, ahead_s: i64| {
        let at: Timestamp = ts.parse().unwrap();
        (at.as_second() - ahead_s - start).div_euclid(60)
    };
    let dataset = description.render().unwrap();
    let folder = tempfile::tempdir().unwrap();
    dataset.write(folder.path()).unwrap();
    let db = Connection::open(folder.path().join("metrics.db")).unwrap();
    let rows = |sql: &str| -> Vec<(String, String)> {
        let mut rows = db.prepare(sql).unwrap();
        let rows = rows.query_map([], |row| Ok((row.get(0)?, row.get(1)?)));
        rows.unwrap().map(Result::unwrap).collect()
    };
    let of_target = format!("service = '{TARGET}'");
    let mut seen = Seen {
        p95: rows(&format!(
            "SELECT ts, cast(p95_ms AS TEXT) FROM latency WHERE {of_target} ORDER BY ts"
        ))
        .iter()
        .map(|(ts, p95)| (minute(ts, 0), p95.parse().unwrap()))
        .collect(),
        deployments: rows(&format!(
            "SELECT deployed_at, version FROM deployments WHERE {of_target} ORDER BY deployed_at"
        ))
        .into_iter()
        .map(|(ts, version)| (version, minute(&ts, 0)))
        .collect(),
        messages: BTreeMap::new(),
        others: BTreeMap::new(),
        failures: Vec::new(),
        writeups: BTreeMap::new(),
    };
    for service in &SERVICES {
        let log = folder.path().join(format!("logs/{}.jsonl", service.id));
        for line in fs::read_to_string(log).unwrap().lines() {
            let line: Value = serde_json::from_str(line).unwrap();
            let at = minute(line["ts"].as_str().unwrap(), description.log_clock_s);
            seen.line(&line, at, service.id == TARGET);
        }
    }
    for (path, bytes) in dataset.files {
        if let Some(name) = path.strip_prefix("incidents/") {
            let id = name.trim_end_matches(".md").to_owned();
            seen.writeups.insert(id, String::from_utf8(bytes).unwrap());
        }
    }
    seen
}

impl Seen {
    fn line(&mut self, line: &Value, at: i64, of_target: bool) {
        let msg = line["msg"].as_str().unwrap().to_owned();
        let alarming = line["level"] != "info" && line["level"] != "debug" && msg != "slow request";
        if of_target && line["status"].as_i64().is_some_and(|status| status >= 500) {
            self.failures.push(at);
        }
        let messages = match of_target && alarming {
            true => &mut self.messages,
            false => &mut self.others,
        };
        messages.entry(msg).or_default().push(at);
    }
}

fn median(mut values: Vec<i64>) -> i64 {
    values.sort_unstable();
    values.get(values.len() / 2).copied().unwrap_or(0)
}

/// The first reading from which four of five lie far above the level before.
fn first_above(p95: &[(i64, i64)], level: &[i64]) -> Option<i64> {
    let usual = median(level.to_vec());
    let spread = median(level.iter().map(|p95| (p95 - usual).abs()).collect());
    let limit = usual + (spread * 6).max(usual * 15 / 100);
    p95.windows(5)
        .find(|five| five[0].1 > limit && five.iter().filter(|(_, p95)| *p95 > limit).count() >= 4)
        .map(|five| five[0].0)
}

fn between(p95: &[(i64, i64)], from: i64, until: i64) -> Vec<(i64, i64)> {
    let within = |(minute, _): &&(i64, i64)| (from..until).contains(minute);
    p95.iter().filter(within).copied().collect()
}

fn values(readings: &[(i64, i64)]) -> Vec<i64> {
    readings.iter().map(|(_, p95)| *p95).collect()
}

/// How often a day something comes before and from a minute on.
fn rates(minutes: &[i64], at: i64) -> (i64, i64) {
    let before = minutes.iter().filter(|minute| **minute < at).count();
    let since = minutes.len() - before;
    let daily = |count, minutes: i64| i64::try_from(count).unwrap() * 1_440 / minutes.max(1);
    (daily(before, at), daily(since, 1_440 - at))
}

/// What the rendered files do not show of a truth.
fn faults(description: &Description, seen: &Seen) -> Vec<&'static str> {
    let truth = &description.truth;
    let mut faults = Vec::new();
    let mut demand = |holds: bool, fault| {
        if !holds {
            faults.push(fault);
        }
    };
    if truth.rise == Verdict::No {
        // Why piece by piece: what fell during the day was higher before, and rose at no time.
        let rises = |from: &i64| {
            let level = values(&between(&seen.p95, from - 90, *from));
            // Why: where nothing is recorded, nothing is seen to rise from it.
            let after = between(&seen.p95, *from, from + 90);
            !level.is_empty() && first_above(&after, &level).is_some()
        };
        demand((90..1_440).step_by(30).find(rises).is_none(), "a rise");
    }
    demand(
        (truth.rise == Verdict::Yes) == truth.onset.is_some(),
        "onset and verdict",
    );
    if let Some([earliest, latest]) = truth.onset.map(|onset| onset.map(Time::minute)) {
        let level = values(&between(&seen.p95, earliest - 90, earliest));
        let near = between(&seen.p95, earliest - 60, 1_440);
        let onset = first_above(&near, &level).unwrap_or(-1);
        demand((earliest..=latest).contains(&onset), "the onset");
        let [low, high] = truth.p95_before.unwrap();
        let before = median(values(&between(&seen.p95, earliest - 30, earliest)));
        demand((low..=high).contains(&before), "the level before");
        let [low, high] = truth.p95_after.unwrap();
        let after = between(&seen.p95, latest, latest + 60);
        let peak = after.windows(5).map(|five| median(values(five))).max();
        demand((low..=high).contains(&peak.unwrap()), "the level after");
        let since = told(truth, seen, earliest).map_or(latest, |told| told.min(latest));
        let last = seen.deployments.iter().rev().find(|(_, at)| *at <= since);
        let (version, at) = last.unwrap();
        let is_near = earliest - at <= NEAR_MINUTES;
        demand(
            match truth.deployment.as_str() {
                "none" => !is_near,
                "undecided" => is_near,
                named => is_near && named == version,
            },
            "the deployment",
        );
        messages(truth, seen, earliest - 3, latest, &mut demand);
    }
    writeups(truth, seen, &mut demand);
    faults
}

/// The first minute within the interval in which the log says what the truth names.
fn told(truth: &Truth, seen: &Seen, earliest: i64) -> Option<i64> {
    let of = |message: &String| seen.messages.get(message).into_iter().flatten();
    let minutes = truth.message.iter().flat_map(of).copied();
    minutes.filter(|minute| *minute >= earliest).min()
}

fn messages<'a>(
    truth: &'a Truth,
    seen: &'a Seen,
    earliest: i64,
    latest: i64,
    demand: &mut impl FnMut(bool, &'static str),
) {
    let is_new = |minutes: &[i64]| {
        let (before, since) = rates(minutes, earliest);
        since > before * 5 && minutes.iter().filter(|at| **at >= earliest).count() >= 2
    };
    let new_of = |messages: &'a BTreeMap<String, Vec<i64>>| -> BTreeSet<&'a String> {
        let new = messages.iter().filter(|(_, minutes)| is_new(minutes));
        new.map(|(message, _)| message).collect()
    };
    let (new, others) = (new_of(&seen.messages), new_of(&seen.others));
    let named: BTreeSet<&String> = truth.message.iter().filter(|m| *m != "undecided").collect();
    let before_it_rises = |message: &&&String| {
        let minutes = &seen.messages[**message];
        let known = minutes.iter().filter(|at| **at < earliest).count();
        known == 0 && minutes.iter().any(|at| *at < latest)
    };
    let came = named
        .iter()
        .all(|message| new.contains(*message) || others.contains(*message));
    demand(came, "a message that came with the rise");
    // Why: a message may be new, and still come long after the rise and mean nothing.
    let unnamed = new.difference(&named).filter(before_it_rises).count();
    demand(unnamed == 0, "a new message that is not named");
    let (before, since) = rates(&seen.failures, earliest);
    let any_since = seen.failures.iter().any(|at| *at >= earliest);
    demand(
        match truth.failures {
            Failures::None => !any_since,
            Failures::AsBefore => any_since && since <= before * 2,
            Failures::More => since > before * 3,
        },
        "failures",
    );
}

fn writeups(truth: &Truth, seen: &Seen, demand: &mut impl FnMut(bool, &'static str)) {
    let ids = |wanted: &dyn Fn(&str) -> bool| -> BTreeSet<String> {
        let of = seen.writeups.iter().filter(|(_, text)| wanted(text));
        of.map(|(id, _)| id.clone()).collect()
    };
    let message = ids(&|text| {
        let mut messages = truth.message.iter();
        messages.any(|message| text.contains(&format!("\nsignature: {message}\n")))
    });
    let up = |line: &str| {
        let figure = line
            .replace("p95", "")
            .contains(|c: char| c.is_ascii_digit());
        line.contains("latency of") || line.contains("p95") && (figure || line.contains("times as"))
    };
    // In the section of the symptom the word itself is not needed.
    let slow = |line: &str| {
        let denied = ["no ", "none", "nothing", "not "];
        let line = line.to_lowercase();
        line.contains("slow") && !denied.iter().any(|word| line.contains(word))
    };
    let section = |text: &str| {
        let (_, after) = text.split_once("\n## Symptom\n").unwrap_or_default();
        let (section, _) = after.split_once("\n## ").unwrap_or((after, ""));
        let told = |line: &str| line.contains(" ms") || slow(line);
        section.lines().any(told)
    };
    let symptom = ids(&|text| {
        let own = text.contains(&format!("\nservice: {TARGET}\n"));
        own && (text.lines().any(up) || section(text))
    });
    demand(
        message == truth.past_message.iter().cloned().collect(),
        "past incidents with the message",
    );
    demand(
        symptom == truth.past_symptom.iter().cloned().collect(),
        "past incidents with the symptom",
    );
}

#[test]
fn every_description_shows_its_truth_in_the_rendered_files() {
    let descriptions = descriptions();
    assert!(!descriptions.is_empty());
    let look = |some: &[Description]| -> Vec<(String, Vec<&'static str>)> {
        some.iter()
            .map(|one| (one.name().to_owned(), faults(one, &seen(one))))
            .filter(|(_, faults)| !faults.is_empty())
            .collect()
    };
    // Why in parts: each takes a second or two, and there are many.
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let parts = descriptions.chunks(descriptions.len().div_ceil(threads));
    let faults: Vec<_> = std::thread::scope(|scope| {
        let looking: Vec<_> = parts.map(|part| scope.spawn(move || look(part))).collect();
        let found = looking.into_iter().flat_map(|one| one.join().unwrap());
        found.collect()
    });
    assert_eq!(faults, []);
}

#[test]
fn a_wrong_truth_is_found_out() {
    let mut descriptions = descriptions().into_iter();
    let right = descriptions.next().unwrap();
    let flat = descriptions.find(|one| one.truth.rise == Verdict::No);
    let rendered = seen(&right);
    let with = |change: &dyn Fn(&mut Truth)| {
        let mut wrong = right.clone();
        change(&mut wrong.truth);
        faults(&wrong, &rendered)
    };
    let hour_late = |time: Time| Time {
        second: time.second + 3_600,
    };
    assert_eq!(with(&|_| ()), [""; 0]);
    let late = with(&|truth| truth.onset = truth.onset.map(|onset| onset.map(hour_late)));
    assert!(late.contains(&"the onset"), "{late:?}");
    assert_eq!(
        with(&|truth| truth.deployment = "none".to_owned()),
        ["the deployment"]
    );
    assert_eq!(
        with(&|truth| truth.p95_after = Some([1, 2])),
        ["the level after"]
    );
    assert_eq!(with(&|truth| truth.failures = Failures::More), ["failures"]);
    let silent = with(&|truth| truth.message.clear());
    assert!(
        silent.contains(&"a new message that is not named"),
        "{silent:?}"
    );
    assert_eq!(
        with(&|truth| truth.past_symptom = vec!["INC-0001".to_owned()]),
        ["past incidents with the symptom"]
    );
    let mut flat = flat.unwrap();
    let level = flat.baseline[1];
    flat.rise = toml::from_str::<BTreeMap<String, Vec<Rise>>>(&format!(
        "[[rise]]\nat = \"20:00\"\nshape = \"step\"\np95 = {}",
        level * 4
    ))
    .unwrap()
    .remove("rise")
    .unwrap();
    assert_eq!(faults(&flat, &seen(&flat)), ["a rise"]);
}

#[test]
fn equal_names_and_texts_give_equal_bytes() {
    let description = descriptions().remove(0);
    let files = |description: &Description| description.render().unwrap().files;
    assert!(files(&description) == files(&description));
    let mut other = description.clone();
    other.name.push('x');
    assert!(files(&description) != files(&other));
}

#[test]
fn a_time_is_read_as_it_is_written() {
    let time = |text: &str| Time::try_from(text.to_owned());
    assert_eq!(time("14:07").map(Time::minute), Ok(847));
    assert_eq!(
        time("14:07:30").map(String::from),
        Ok("14:07:30".to_owned())
    );
    assert!(time("14").is_err() && time("a:b").is_err());
}
