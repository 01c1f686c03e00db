//! `kill -9` at random moments of planning by a model and by a program: what was answered is not
//! asked again, by the ledger of whoever is asked.

use std::time::Instant;

use serde_json::json;
use sim::model::Scripted;

use crate::place::{Place, says_the_truth};
use crate::plans::{first, second};
use crate::stage::{count, moment};

/// Most kills of one run.
const KILLS: u64 = 3;
/// How long whoever plans thinks, in milliseconds.
const THINKS: u64 = 40;

const PROGRAM: &str = r#"
import json, sys, time
from planner import reply
for line in sys.stdin:
    m = json.loads(line)
    answer = m
    if m.get("kind") != "hello":
        with open("asked", "a") as ledger:
            ledger.write(m["kind"] + "\n")
        time.sleep(0.04)
        answer = {"id": m["id"], **reply(m)}
    print(json.dumps(answer), flush=True)
"#;

fn by_a_model() -> Place {
    let reply = |asked: &str, reply| Scripted {
        asked: Some(asked.to_owned()),
        delay_ms: THINKS,
        ..Scripted::json(reply)
    };
    Place::new([
        reply(
            "Propose a plan.",
            json!({ "plan": first(), "consult": ["errors"] }),
        ),
        reply(
            "Propose a revision",
            json!({ "plan": second(), "because": "nothing failed" }),
        ),
    ])
}

fn by_a_program() -> Place {
    let place = Place::without_planner([]);
    let planner = include_str!("../../../../examples/planner-python/planner.py");
    for (file, text) in [("planner.py", planner), ("asked.py", PROGRAM)] {
        std::fs::write(place.stage.path().join(file), text).unwrap();
    }
    let command = "[\"python3\", \"-B\", \"asked.py\"]";
    place.configure(&format!(
        "\n[planner]\nkind = \"process\"\ncommand = {command}\n"
    ));
    place
}

/// How often a first plan was asked for, and a revision.
fn asked(place: &Place) -> [usize; 2] {
    let ledger = place.stage.path().join("asked");
    let program = std::fs::read_to_string(ledger).unwrap_or_default();
    let model = place.asked();
    let times = |word: &str, text: &str| {
        let model = model
            .iter()
            .filter(|asked| asked.body.to_string().contains(text));
        program.lines().filter(|line| *line == word).count() + model.count()
    };
    [
        times("propose", "Propose a plan."),
        times("revise", "Propose a revision"),
    ]
}

/// What to type to go on, if the run is not over.
fn on(place: &Place) -> Option<Vec<String>> {
    let Some(run) = place.stage.only_run() else {
        return Some(vec!["run".to_owned(), place.goal().to_owned()]);
    };
    let is_over = place.status() == "succeeded";
    (!is_over).then(|| vec!["resume".to_owned(), run])
}

/// Kills whoever drives, at most [`KILLS`] times, and then lets it come to its end. Gives how many
/// kills came in time, and how many of them after an answer and before the last.
fn survives(place: &Place, seed: u64, within_ms: u64) -> [u64; 2] {
    let (mut kills, mut between) = (0, 0);
    let mut answered = Vec::new();
    for round in 0..KILLS {
        let Some(words) = on(place) else { break };
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let mut child = place.command(&words).spawn().unwrap();
        std::thread::sleep(moment(seed * KILLS + round, within_ms));
        kills += u64::from(child.try_wait().unwrap().is_none());
        let _ = child.kill();
        child.wait().unwrap();
        if place.stage.only_run().is_some() {
            let proposed = place.stage.count("PlanProposed");
            between += u64::from(proposed == 1);
            answered.push((proposed, asked(place)));
        }
    }
    if let Some(words) = on(place) {
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        place.run(&words).exits(0);
    }
    let run = place.stage.only_run().unwrap();
    let shown = place.run(&["show", &run]).exits(0);
    says_the_truth(&shown.stdout, &place.dataset.truth);
    let last = asked(place);
    for (proposed, before) in answered {
        // What the journal holds was not asked for again.
        assert!(
            proposed < 1 || last[0] == before[0],
            "seed {seed}: {before:?} {last:?}"
        );
        assert!(
            proposed < 2 || last[1] == before[1],
            "seed {seed}: {before:?} {last:?}"
        );
    }
    assert_eq!(place.stage.count("PlanProposed"), 2, "seed {seed}");
    assert_eq!(place.stage.count("PlanRevised"), 1, "seed {seed}");
    // A kill loses one request at most.
    let all = u64::try_from(last[0] + last[1]).unwrap();
    assert!(
        last[0] >= 1 && last[1] >= 1 && all <= 2 + kills,
        "seed {seed}: {last:?}"
    );
    [kills, between]
}

fn at_random_moments(make: fn() -> Place) {
    let whole = make();
    let begun = Instant::now();
    whole.run(&["run", whole.goal()]).exits(0);
    let takes_ms = u64::try_from(begun.elapsed().as_millis()).unwrap().max(10);
    assert_eq!(asked(&whole), [1, 1]);
    let (mut kills, mut between) = (0, 0);
    for seed in 0..u64::from(count(5)) {
        let [killed, amid] = survives(&make(), seed, takes_ms);
        kills += killed;
        between += amid;
    }
    println!("killed while running: {kills}, between two answers: {between}");
    assert!(kills > 0, "no kill came in time to interrupt anything");
    // The control: where the journal is lost all is asked again, and the ledger shows it.
    std::fs::remove_dir_all(whole.stage.path().join(".provost")).unwrap();
    whole.run(&["run", whole.goal()]).exits(0);
    assert_eq!(asked(&whole), [2, 2]);
}

#[test]
fn a_model_is_not_asked_again_for_what_it_answered() {
    at_random_moments(by_a_model);
}

#[test]
fn a_program_is_not_asked_again_for_what_it_answered() {
    at_random_moments(by_a_program);
}
