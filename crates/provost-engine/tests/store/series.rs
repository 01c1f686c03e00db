//! The runs of a store as series, and how fast they are counted.

use std::time::{Duration, Instant};

use provost_engine::run::facts::{FORMULAS, RunFacts};
use provost_engine::stats::{GroupBy, store_facts};
use provost_engine::store::{CountedRun, Store};
use provost_engine::telemetry::{SERIES_MAX, openmetrics};
use serde_json::{Value, json};

use super::append;

/// A store with a run for each of these counts, in their order.
fn store(all: impl IntoIterator<Item = Value>) -> (tempfile::TempDir, Store) {
    let dir = tempfile::tempdir().unwrap();
    let store = Store::open(dir.path()).unwrap();
    for (n, counts) in all.into_iter().enumerate() {
        let mut ended = append(&format!("r{n}"), 0, 1);
        ended.row.facts = Some(CountedRun {
            formulas: FORMULAS,
            facts: facts(&counts).to_string(),
        });
        store.append(ended).wait().unwrap();
    }
    (dir, store)
}

/// What is kept of a run that succeeded, with more of its own.
fn facts(more: &Value) -> Value {
    let mut facts = serde_json::to_value(RunFacts::default()).unwrap();
    facts["status"] = json!("succeeded");
    facts["ended_at"] = json!(2_000);
    facts["groups"] = json!({ "planner": "playbook" });
    for (field, value) in more.as_object().unwrap() {
        facts[field] = value.clone();
    }
    facts
}

/// A run that called one operation.
fn calling(operation: &str) -> Value {
    let ok = format!("attempts\t{operation}\tok");
    let timeout = format!("attempts\t{operation}\ttimeout");
    json!({ "counts": { ok: 2, timeout: 1 }, "latency_us": { operation: [30_000] } })
}

fn series(text: &str) -> usize {
    text.lines().filter(|line| !line.starts_with('#')).count()
}

fn dropped(text: &str) -> usize {
    let mut lines = text.lines();
    let line = lines.find_map(|line| line.strip_prefix("provost_series_dropped_total "));
    line.unwrap().parse().unwrap()
}

#[test]
fn five_thousand_operations_are_at_most_two_thousand_series() {
    // Why backwards: the order is that in which they were seen, and not of their names.
    let runs = |count: usize| (0..count).map(move |n| calling(&format!("t.op_{:05}", count - n)));
    let (_dir, all) = store(runs(5_000));
    let text = openmetrics(&all, 0).unwrap();
    assert!(series(&text) <= SERIES_MAX, "{}", series(&text));
    assert!(series(&text) > SERIES_MAX - 200, "{}", series(&text));
    // Those that were seen first have their own, and the others nothing lost.
    assert!(text.contains("provost_attempts_total{operation=\"t.op_05000\",class=\"ok\"} 2"));
    assert!(!text.contains("t.op_00001"));
    let counts = text.lines().filter_map(|line| {
        let (series, value) = line.rsplit_once(' ')?;
        let is_attempt = series.starts_with("provost_attempts_total");
        is_attempt.then(|| value.parse::<usize>().unwrap())
    });
    assert_eq!(counts.sum::<usize>(), 15_000);
    let own = text.matches("class=\"ok\"").count() - 1;
    // Thirteen series of times and two of attempts for each that has none of its own.
    assert_eq!(dropped(&text), (5_000 - own) * 15);
    // The control: where there is room nothing is folded.
    let (_dir, few) = store(runs(20));
    let text = openmetrics(&few, 0).unwrap();
    assert_eq!((dropped(&text), text.contains("\"other\"")), (0, false));
}

#[test]
fn models_beyond_the_twentieth_share_their_series() {
    let (_dir, store) = store((0..50).map(|n| {
        let key = format!("tokens\tm{n:02}\tin\tplanner");
        json!({ "counts": { key: 1 } })
    }));
    let text = openmetrics(&store, 0).unwrap();
    assert_eq!(dropped(&text), 30, "{text}");
    assert!(
        text.contains("provost_tokens_total{model=\"m19\",direction=\"in\",for=\"planner\"} 1")
    );
    let other = "provost_tokens_total{model=\"other\",direction=\"in\",for=\"planner\"} 30";
    assert!(text.contains(other), "{text}");
}

#[test]
fn the_form_is_that_of_openmetrics() {
    let mut run = calling("shop.list");
    run["groups"] = json!({ "planner": "a \"b\"\\\n" });
    run["latency_us"] = json!({ "shop.list": [30_000, 200_000_000] });
    run["economy"] = serde_json::to_value(RunFacts::default().economy).unwrap();
    run["economy"]["planning"] = json!("1.25");
    let (_dir, store) = store([run]);
    let text = openmetrics(&store, 0).unwrap();
    insta::assert_snapshot!(text, @r#"
    # TYPE provost_runs counter
    # HELP provost_runs runs that ended
    provost_runs_total{status="succeeded",planner="a \"b\"\\\n"} 1
    # TYPE provost_run_seconds histogram
    # UNIT provost_run_seconds seconds
    # HELP provost_run_seconds from the beginning of a run to its end
    provost_run_seconds_bucket{status="succeeded",le="0.1"} 1
    provost_run_seconds_bucket{status="succeeded",le="1.0"} 1
    provost_run_seconds_bucket{status="succeeded",le="10.0"} 1
    provost_run_seconds_bucket{status="succeeded",le="60.0"} 1
    provost_run_seconds_bucket{status="succeeded",le="600.0"} 1
    provost_run_seconds_bucket{status="succeeded",le="3600.0"} 1
    provost_run_seconds_bucket{status="succeeded",le="86400.0"} 1
    provost_run_seconds_bucket{status="succeeded",le="604800.0"} 1
    provost_run_seconds_bucket{status="succeeded",le="+Inf"} 1
    provost_run_seconds_sum{status="succeeded"} 0.000000
    provost_run_seconds_count{status="succeeded"} 1
    # TYPE provost_run_busy_seconds histogram
    # UNIT provost_run_busy_seconds seconds
    # HELP provost_run_busy_seconds the same without the time in which only a person could go on
    provost_run_busy_seconds_bucket{le="0.1"} 1
    provost_run_busy_seconds_bucket{le="1.0"} 1
    provost_run_busy_seconds_bucket{le="10.0"} 1
    provost_run_busy_seconds_bucket{le="60.0"} 1
    provost_run_busy_seconds_bucket{le="600.0"} 1
    provost_run_busy_seconds_bucket{le="3600.0"} 1
    provost_run_busy_seconds_bucket{le="86400.0"} 1
    provost_run_busy_seconds_bucket{le="604800.0"} 1
    provost_run_busy_seconds_bucket{le="+Inf"} 1
    provost_run_busy_seconds_sum 0.000000
    provost_run_busy_seconds_count 1
    # TYPE provost_attempts counter
    # HELP provost_attempts calls that ended
    provost_attempts_total{operation="shop.list",class="ok"} 2
    provost_attempts_total{operation="shop.list",class="timeout"} 1
    # TYPE provost_attempt_seconds histogram
    # UNIT provost_attempt_seconds seconds
    # HELP provost_attempt_seconds what calls took, as measured at the tool
    provost_attempt_seconds_bucket{operation="shop.list",le="0.001"} 0
    provost_attempt_seconds_bucket{operation="shop.list",le="0.005"} 0
    provost_attempt_seconds_bucket{operation="shop.list",le="0.025"} 0
    provost_attempt_seconds_bucket{operation="shop.list",le="0.1"} 1
    provost_attempt_seconds_bucket{operation="shop.list",le="0.5"} 1
    provost_attempt_seconds_bucket{operation="shop.list",le="1.0"} 1
    provost_attempt_seconds_bucket{operation="shop.list",le="2.5"} 1
    provost_attempt_seconds_bucket{operation="shop.list",le="10.0"} 1
    provost_attempt_seconds_bucket{operation="shop.list",le="30.0"} 1
    provost_attempt_seconds_bucket{operation="shop.list",le="120.0"} 1
    provost_attempt_seconds_bucket{operation="shop.list",le="+Inf"} 2
    provost_attempt_seconds_sum{operation="shop.list"} 200.030000
    provost_attempt_seconds_count{operation="shop.list"} 2
    # TYPE provost_cost counter
    # HELP provost_cost money spent on models, in the unit of the prices
    provost_cost_total{for="planner"} 1.250000
    provost_cost_total{for="tool"} 0.000000
    # TYPE provost_unpriced_calls counter
    # HELP provost_unpriced_calls calls of models without a price
    provost_unpriced_calls_total 0
    # TYPE provost_series_dropped counter
    # HELP provost_series_dropped series without room, counted as `other`
    provost_series_dropped_total 0
    # EOF
    "#);
}

/// What is kept of a run of ten steps.
fn usual() -> Value {
    let rates: serde_json::Map<String, Value> = (0..13)
        .map(|n| (format!("rate_{n}"), json!({ "hits": n, "of": 13 })))
        .collect();
    let counts: serde_json::Map<String, Value> = (0..16)
        .map(|n| (format!("attempts\tshop.operation_{n}\tok"), json!(n)))
        .collect();
    json!({
        "planning": rates,
        "execution": rates,
        "operations": { "shop.list": { "tool_success": { "hits": 9, "of": 9 } } },
        "counts": counts,
        "latency_us": { "shop.list": [900, 800, 700, 600, 500, 400, 300, 200, 100] },
    })
}

#[test]
fn ten_thousand_runs_are_counted_in_time() {
    let (_dir, store) = store((0..10_000).map(|_| usual()));
    let begun = Instant::now();
    let counted = store_facts(&store, None, GroupBy::Nothing).unwrap();
    let took = begun.elapsed();
    assert_eq!(counted.groups["all"].runs, 10_000);
    assert_eq!(counted.groups["all"].facts.execution["rate_12"].of, 130_000);
    println!("10,000 runs counted in {took:?}");
    // Not optimized it is some times slower: `scripts/full stats-speed` is the measurement.
    let most = if cfg!(debug_assertions) { 8_000 } else { 200 };
    assert!(took < Duration::from_millis(most), "{took:?}");
}

#[test]
fn the_reference_names_every_series() {
    let reference = include_str!("../../../../docs/reference/metrics.md");
    let source = include_str!("../../src/telemetry/exposition.rs");
    let table = source.split("FAMILIES: [Family; ").nth(1).unwrap();
    let table = table.split("];").next().unwrap();
    let mut named = 0;
    for line in table
        .split("counter(")
        .flat_map(|part| part.split("gauge("))
    {
        for part in line.split("seconds(") {
            let Some(name) = part
                .split('"')
                .nth(1)
                .filter(|_| part.trim().starts_with('"'))
            else {
                continue;
            };
            named += 1;
            let is_named = reference.contains(&format!("`provost_{name}`"))
                || reference.contains(&format!("`provost_{name}_total`"));
            assert!(is_named, "{name}");
        }
    }
    assert_eq!(named, 26);
}
