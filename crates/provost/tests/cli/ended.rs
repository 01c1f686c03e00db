//! Who or what ended a run, and what speaks against it beside the effects that were expected.

use serde_json::{Value, json};

use super::workplace::Workplace;

/// The newest run, and who or what ended it.
fn ended_by(place: &Workplace) -> Value {
    let runs = place.json(&["runs", "--json"]);
    let run = runs["runs"][0]["id"].as_str().unwrap();
    let traced = place.json(&["trace", run, "--json"]);
    let lines = traced["execution"].as_array().unwrap();
    let last = lines.last().unwrap();
    assert_eq!(last["kind"], "RunEnded", "{last}");
    last["data"]["by"].clone()
}

#[test]
fn the_end_of_a_run_names_who_or_what_ended_it() {
    let place = Workplace::new();
    place.run(&["run", "Count the orders of ada"]).exits(0);
    // The control: nobody ended what ran to its end.
    assert_eq!(ended_by(&place), Value::Null);
    let ada = json!({ "kind": "person", "id": "ada" });
    let (run, _) = place.waiting();
    place.run(&["reject", &run, "--reason", "no"]).exits(0);
    assert_eq!(ended_by(&place), ada);
    let (run, _) = place.waiting();
    place.run(&["cancel", &run]).exits(0);
    assert_eq!(ended_by(&place), ada);
    let config = std::fs::read_to_string(place.path("provost.toml")).unwrap();
    place.write("provost.toml", format!("{config}\n[limits]\nsteps = 1\n"));
    place.run(&["run", "Note the orders of ada"]).exits(1);
    // Two proposals failed the check; the second request was the last.
    assert_eq!(ended_by(&place), json!({ "kind": "request", "id": 2 }));
    let journal = rusqlite::Connection::open(place.path("data/shop.db")).unwrap();
    journal.execute_batch("drop table orders").unwrap();
    place.run(&["run", "Count the orders of ada"]).exits(1);
    assert_eq!(ended_by(&place), json!({ "kind": "step", "id": "count" }));
}

/// A run that wrote a note, and a case of it.
fn noted() -> (Workplace, String) {
    let place = Workplace::new();
    let (run, card) = place.waiting();
    place.run(&["approve", &format!("{run}@{card}")]).exits(0);
    place.run(&["case", "from", &run, "-o", "noted"]).exits(0);
    (place, run)
}

fn why(place: &Workplace, run: &str) -> Value {
    place.json(&["why", run, "--against", "noted", "--json"])
}

#[test]
fn what_changed_is_held_against_what_a_case_expects() {
    let (place, run) = noted();
    let as_it_was = std::fs::read_to_string(place.path("noted/case.yaml")).unwrap();
    let expecting = |from: &str, to: &str| {
        place.write("noted/case.yaml", &as_it_was);
        place.edit("noted/case.yaml", from, to);
        why(&place, &run)
    };
    let verdict = why(&place, &run);
    assert_eq!(verdict["guilty"], "nobody");
    let looked = verdict["not_looked_at"].to_string();
    assert!(
        looked.contains("what it changed is what the case expects"),
        "{looked}"
    );
    // What the plan wrote itself is the plan's.
    let verdict = expecting("orders.txt", "other.txt");
    assert_eq!(verdict["guilty"], "plan");
    assert_eq!(verdict["cause"], "wrong_target");
    assert_eq!(verdict["certainty"], "referenced");
    assert_eq!(verdict["step"], "note");
    assert!(verdict["sentence"].as_str().unwrap().contains("`path`"));
    // What it made of an answer is nobody's yet: the tool may have lied.
    let verdict = expecting("2 orders of ada", "3 orders of ada");
    assert_eq!(verdict["guilty"], "undecided", "{verdict}");
    let candidates = verdict["candidates"].to_string();
    assert!(
        candidates.contains("what the tool of `count` answered is wrong"),
        "{candidates}"
    );
    let effects = as_it_was
        .lines()
        .find(|line| line.contains("exactly"))
        .unwrap();
    let indent = &effects[..effects.find("effects").unwrap()];
    let none = format!("{indent}effects: {{ exactly: [] }}");
    let verdict = expecting(effects, &none);
    assert_eq!(
        (&verdict["guilty"], &verdict["cause"]),
        (&json!("plan"), &json!("unneeded"))
    );
    let more = effects.replacen('[', "[\"notes.delete\", ", 1);
    let verdict = expecting(effects, &more);
    assert_eq!(
        (&verdict["guilty"], &verdict["cause"]),
        (&json!("plan"), &json!("missing_step"))
    );
    // The control: what a person kept from being made is no fault of the plan.
    place.write("noted/case.yaml", &as_it_was);
    let (rejected, _) = place.waiting();
    place.run(&["reject", &rejected, "--reason", "no"]).exits(0);
    let verdict = why(&place, &rejected);
    assert_eq!(
        (&verdict["guilty"], &verdict["party"]),
        (&json!("neither"), &json!("person"))
    );
    place.write("noted/case.yaml", as_it_was.replace(effects, &more));
    let verdict = why(&place, &rejected);
    assert_eq!(verdict["guilty"], "neither", "{verdict}");
    // A case that expects no effects in particular is none to compare with.
    let without = as_it_was.lines().filter(|line| !line.contains("exactly"));
    let without: Vec<&str> = without.collect();
    place.write("noted/case.yaml", without.join("\n"));
    let refused = place.run(&["why", &run, "--against", "noted"]).exits(2);
    assert!(refused.stderr.contains("effects.exactly"), "{refused}");
}
