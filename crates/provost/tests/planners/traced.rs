//! What a log should hold: each field that the reference names stands in `trace --json`.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};
use sim::model::{Local, Scripted};

use crate::place::planned_by;
use crate::shop::{Shop, goal, plan};

const REFERENCE: &str = include_str!("../../../../docs/reference/events.md");

/// The names in the tables of the reference: what is asked for, and where it stands.
fn named(reference: &str) -> BTreeMap<String, Vec<String>> {
    let mut rows = BTreeMap::new();
    let mut inside = false;
    for line in reference.lines() {
        inside = line.ends_with("| where it stands |") || inside && line.starts_with('|');
        let Some((asked, stands)) = line.trim_matches('|').split_once('|') else {
            continue;
        };
        let codes = stands.split('`').skip(1).step_by(2);
        let fields = codes.filter(|code| code.contains('.')).map(str::to_owned);
        if inside && !line.ends_with("| where it stands |") && !line.starts_with("|---") {
            rows.insert(asked.trim().to_owned(), fields.collect());
        }
    }
    rows
}

/// Whether a path leads to something; a name in capitals stands for any.
fn leads(value: &Value, path: &[&str]) -> bool {
    let Some((first, rest)) = path.split_first() else {
        return !value.is_null();
    };
    if first.chars().all(char::is_uppercase) {
        let values = value
            .as_object()
            .into_iter()
            .flat_map(serde_json::Map::values);
        return values.into_iter().any(|value| leads(value, rest));
    }
    value.get(first).is_some_and(|value| leads(value, rest))
}

/// The names that lead to nothing in any of these traces.
fn missing(traces: &[Value], reference: &str) -> BTreeSet<String> {
    let lines: Vec<&Value> = traces
        .iter()
        .flat_map(|trace| [&trace["planning"], &trace["execution"]])
        .flat_map(|view| view.as_array().unwrap())
        .collect();
    let rows = named(reference);
    let fields = rows.values().flatten();
    fields
        .filter(|field| {
            let path: Vec<&str> = field.split('.').collect();
            let of_kind = lines.iter().filter(|line| line["kind"] == path[0]);
            !of_kind
                .into_iter()
                .any(|line| leads(&line["data"], &path[1..]))
        })
        .cloned()
        .collect()
}

/// The trace of a refund that a model planned, that finance approved and that the service made
/// after it had failed, and of one that the service refuses.
fn traces() -> Vec<Value> {
    let shop = Shop::new();
    let script = [
        json!({ "plan": plan(9000, "PAY-1") }),
        json!({ "plan": plan(9000, "PAY-9") }),
    ];
    let model = Local::start(script.into_iter().map(Scripted::json)).unwrap();
    let config = planned_by("openai", &model.url(), "");
    shop.stage.edit("provost.toml", |text| text + &config);
    let asked = shop.run(&["run", &goal(9000, "PAY-1")]).exits(3);
    // The ticket is not there: the read fails, and with it its step.
    shop.run(&["run", &goal(9000, "PAY-9")]);
    shop.approved_by_bo(&asked);
    let json = |args: &[&str]| -> Value {
        let ran = shop.run(args).exits(0);
        serde_json::from_str(&ran.stdout).unwrap()
    };
    let runs = json(&["runs", "--json"]);
    let runs = runs["runs"].as_array().unwrap().iter();
    runs.map(|run| json(&["trace", run["id"].as_str().unwrap(), "--json"]))
        .collect()
}

#[test]
fn each_field_that_the_reference_names_stands_in_a_trace() {
    let rows = named(REFERENCE);
    for asked in [
        "user goal",
        "planner prompt version",
        "generated plan",
        "risk classification",
        "tool candidates",
        "approval status",
        "step id",
        "tool name",
        "arguments",
        "permission decision",
        "tool result",
        "latency",
        "error type",
        "retry count",
    ] {
        assert!(
            rows.get(asked).is_some_and(|fields| !fields.is_empty()),
            "{asked}: {rows:?}"
        );
    }
    let traces = traces();
    // The only one that no small catalog has; `large` sees it.
    let open = BTreeSet::from(["PlanRequested.candidates.tools".to_owned()]);
    assert_eq!(missing(&traces, REFERENCE), open);
    // A latency is what the toolbox measured, beside its line and in its event.
    let ends = traces
        .iter()
        .flat_map(|trace| trace["execution"].as_array().unwrap());
    let ends: Vec<&Value> = ends.filter(|line| line["kind"] == "AttemptEnded").collect();
    assert!(ends.len() >= 4, "{ends:?}");
    for end in ends {
        assert!(end["latency_us"].as_u64().unwrap() > 0, "{end}");
        assert_eq!(end["latency_us"], end["data"]["took_us"]);
    }
    // The control: a field that no event has is found.
    let other = REFERENCE.replace("`AttemptEnded.took_us`", "`AttemptEnded.latency`");
    assert!(missing(&traces, &other).contains("AttemptEnded.latency"));
}
