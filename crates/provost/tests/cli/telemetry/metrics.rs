//! What is counted, sent by OTLP: the figures of the series, those of the conventions, and nothing
//! twice.

use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::{Value, json};
use sim::canary;
use sim::model::{Local, Scripted};

use super::{IDLE, Mood, TraceReceiver, sends_to, time_passes};
use crate::export::attributes;
use crate::workplace::Workplace;

const METRICS: &str = "protocol = \"json\"\nsend = [\"traces\", \"metrics\"]";

/// Each point of the last message with metrics, by its name and attributes: its number, or the
/// count and the sum of its distribution.
pub fn points(texts: &str) -> BTreeMap<String, String> {
    let mut messages = texts
        .lines()
        .rev()
        .map(|line| serde_json::from_str::<Value>(line).unwrap());
    let last = messages.find(|one| one.get("resourceMetrics").is_some());
    let Some(last) = last else {
        return BTreeMap::new();
    };
    let all = &last["resourceMetrics"][0]["scopeMetrics"][0]["metrics"];
    let mut found = BTreeMap::new();
    for metric in all.as_array().unwrap() {
        let name = metric["name"].as_str().unwrap();
        for kind in ["gauge", "sum", "histogram"] {
            for point in metric[kind]["dataPoints"].as_array().into_iter().flatten() {
                let own = match point.get("attributes") {
                    Some(_) => attributes(point),
                    None => BTreeMap::new(),
                };
                let told = match kind {
                    "histogram" => distribution(point),
                    _ => number(&point["asInt"])
                        .or_else(|| number(&point["asDouble"]))
                        .unwrap(),
                };
                let known = found.insert(format!("{name} {own:?}"), told);
                assert_eq!(known, None, "{name} {own:?}");
            }
        }
    }
    found
}

fn distribution(point: &Value) -> String {
    let buckets = point["bucketCounts"].as_array().unwrap().iter();
    let inside: f64 = buckets
        .map(|one| one.as_str().unwrap().parse::<f64>().unwrap())
        .sum();
    let count = number(&point["count"]).unwrap();
    assert_eq!(number(&json!(inside)), Some(count.clone()), "{point}");
    let bounds = point["explicitBounds"].as_array().unwrap().len();
    assert_eq!(point["bucketCounts"].as_array().unwrap().len(), bounds + 1);
    format!("{count} {}", number(&point["sum"]).unwrap())
}

fn number(value: &Value) -> Option<String> {
    let number = match value {
        Value::String(text) => text.parse().ok(),
        other => other.as_f64(),
    };
    number.map(|number: f64| format!("{number:.6}"))
}

/// The same of the series that `stats --openmetrics` prints and of the spans that are exported.
/// `sent` says which gauge moves while somebody asks.
pub fn wanted(place: &Workplace, sent: &BTreeMap<String, String>) -> BTreeMap<String, String> {
    let text = place.run(&["stats", "--openmetrics"]).raw_stdout;
    let mut all: BTreeMap<String, String> = BTreeMap::new();
    for line in text.lines().filter(|line| !line.starts_with('#')) {
        let (series, value) = line.rsplit_once(' ').unwrap();
        let (name, labels) = series.split_once('{').unwrap_or((series, ""));
        if name.ends_with("_bucket") {
            continue;
        }
        let labels = labels.trim_end_matches('}').split("\",");
        let labels = labels.filter_map(|label| label.split_once("=\""));
        let labels: BTreeMap<String, String> = labels
            .map(|(name, value)| (name.to_owned(), value.trim_matches('"').to_owned()))
            .collect();
        let part = ["_total", "_count", "_sum"]
            .into_iter()
            .find(|end| name.ends_with(end));
        let name = part
            .and_then(|part| name.strip_suffix(part))
            .unwrap_or(name);
        let name = name.replace('_', ".");
        let value: f64 = value.parse().unwrap();
        let told = all.entry(format!("{name} {labels:?}")).or_default();
        match part {
            // Why before: the sum stands before the count, and a distribution is told as both.
            Some("_count") => *told = format!("{value:.6} {told}"),
            _ => *told = format!("{value:.6}"),
        }
    }
    measured(place, &mut all);
    let behind = all
        .iter_mut()
        .filter(|(name, _)| name.starts_with("provost.export.behind"));
    for (name, told) in behind {
        if let Some(sent) = sent.get(name) {
            told.clone_from(sent);
        }
    }
    all
}

/// What the conventions ask for, of the spans of all runs.
fn measured(place: &Workplace, all: &mut BTreeMap<String, String>) {
    let mut sums: BTreeMap<String, (u32, u64)> = BTreeMap::new();
    for span in super::told(place).into_values() {
        let own = attributes(&span);
        let Some(operation) = own.get("gen_ai.operation.name") else {
            continue;
        };
        let (name, about) = match operation.as_str() {
            "invoke_workflow" => ("gen_ai.invoke_agent.duration", "gen_ai.agent.name"),
            "execute_tool" => ("gen_ai.execute_tool.duration", "gen_ai.tool.name"),
            "chat" => ("gen_ai.client.operation.duration", "gen_ai.request.model"),
            _ => continue,
        };
        let kept = ["gen_ai.operation.name", about, "error.type"];
        let labels: BTreeMap<&str, &String> = kept
            .into_iter()
            .filter_map(|key| Some((key, own.get(key)?)))
            .collect();
        // Why whole numbers: a moment in nanoseconds has more digits than a double.
        let at = |key: &str| span[key].as_str().unwrap().parse::<u64>().unwrap();
        let took = at("endTimeUnixNano") - at("startTimeUnixNano");
        let sum = sums.entry(format!("{name} {labels:?}")).or_default();
        *sum = (sum.0 + 1, sum.1 + took);
    }
    let told = |(count, nanos): (u32, u64)| {
        let sum = Duration::from_nanos(nanos).as_secs_f64();
        format!("{:.6} {sum:.6}", f64::from(count))
    };
    all.extend(sums.into_iter().map(|(name, sum)| (name, told(sum))));
}

fn arrived(receiver: &TraceReceiver) -> String {
    let all = receiver.taken().into_iter();
    let all = all.filter(|one| one.head.starts_with("POST /v1/metrics "));
    all.map(|one| one.text() + "\n").collect()
}

#[test]
fn what_is_counted_arrives_as_it_is_scraped_and_no_content_with_it() {
    let receiver = TraceReceiver::start(Mood::Takes);
    let place = Workplace::new();
    sends_to(&place, &receiver.url, METRICS);
    place.run(&["run", "Count the orders of ada"]).exits(0);
    place.run(&["run", "Count the orders of nobody"]).exits(0);
    place.run(&["run", "Note the orders of zebedee"]).exits(3);
    let (run, _) = place.waiting();
    place
        .run(&["reject", &run, "--reason", "not for grace"])
        .exits(0);
    place.run(&IDLE).exits(0);
    let text = arrived(&receiver);
    let sent = points(&text);
    assert_eq!(sent, wanted(&place, &sent));
    let of = |name: &str| sent.keys().filter(|key| key.starts_with(name)).count();
    for name in [
        "provost.runs ",
        "provost.attempts ",
        "gen_ai.invoke_agent.duration ",
    ] {
        assert!(of(name) > 0, "{name}: {sent:#?}");
    }
    for content in ["zebedee", "orders of", "for grace", "\"ada\""] {
        assert!(!text.contains(content), "{content}");
    }
    assert_eq!(canary::leaks(text.as_bytes()), [""; 0]);
    // Nothing new: nothing is sent.
    let count = receiver.taken().len();
    place.run(&IDLE).exits(0);
    assert_eq!(receiver.taken().len(), count);
    // The control: without the word, none are sent.
    let quiet = TraceReceiver::start(Mood::Takes);
    place.edit("provost.toml", &receiver.url, &quiet.url);
    place.edit("provost.toml", ", \"metrics\"", "");
    place.run(&["run", "Count the orders of ada"]).exits(0);
    place.run(&IDLE).exits(0);
    assert!(!quiet.taken().is_empty());
    assert_eq!(arrived(&quiet), "");
}

#[test]
fn what_is_sent_again_is_counted_once_and_what_was_missed_is_not_lost() {
    let receiver = TraceReceiver::start(Mood::Takes);
    let place = Workplace::new();
    sends_to(&place, &receiver.url, METRICS);
    place.run(&["run", "Count the orders of ada"]).exits(0);
    let cursor = std::fs::read(place.path(".provost/otlp.json")).unwrap();
    receiver.becomes(Mood::Refuses(503));
    place.run(&["run", "Count the orders of nobody"]).exits(0);
    receiver.becomes(Mood::Takes);
    time_passes(&place);
    place.run(&IDLE).exits(0);
    let sent = points(&arrived(&receiver));
    assert_eq!(sent, wanted(&place, &sent));
    // As a process that was killed between the sending and the cursor leaves it.
    place.write(".provost/otlp.json", &cursor);
    let before = receiver.taken().len();
    place.run(&IDLE).exits(0);
    assert!(
        receiver.taken().len() > before,
        "the control: it was sent again"
    );
    let again = points(&arrived(&receiver));
    assert_eq!(again, wanted(&place, &again));
}

/// A plan that counts the orders of somebody.
fn counting(customer: &str) -> Value {
    json!({ "plan": {
        "steps": [ { "id": "count", "tool": "shop.orders", "args": { "customer": customer } } ],
        "success": [ { "for": "goal", "check": "${ steps.count.output.row.total >= 0 }" } ],
        "answer": [ { "text": "${ steps.count.output.row.total } orders", "cites": ["count"] } ],
    } })
}

#[test]
fn how_long_a_model_took_is_measured_for_each_request() {
    let receiver = TraceReceiver::start(Mood::Takes);
    let place = Workplace::new();
    // The first plan names no tool that is there, and the model is asked again.
    let mut unknown = counting("ada");
    unknown["plan"]["steps"][0]["tool"] = json!("shop.nothing");
    let script = [unknown, counting("ada"), counting("grace")];
    let model = Local::start(script.map(Scripted::json)).unwrap();
    let config = std::fs::read_to_string(place.path("provost.toml")).unwrap();
    let planner = format!(
        "\n[models.large]\nkind = \"openai\"\nmodel = \"scripted-1\"\n\
         key = \"env:PROVOST_CANARY_KEY\"\nbase_url = \"{}\"\n\
         [planner]\nkind = \"model\"\nmodel = \"large\"\n",
        model.url()
    );
    place.write("provost.toml", config + &planner);
    sends_to(&place, &receiver.url, METRICS);
    for goal in ["How much did ada order?", "How much did grace order?"] {
        place.run(&["run", goal]).exits(0);
    }
    place.run(&IDLE).exits(0);
    let sent = points(&arrived(&receiver));
    let mut spans = BTreeMap::new();
    measured(&place, &mut spans);
    let of = |all: &BTreeMap<String, String>| -> Vec<(String, String)> {
        let named = |name: &&String| name.starts_with("gen_ai.client.operation.duration ");
        let named = all.iter().filter(|(name, _)| named(name));
        named
            .map(|(name, told)| (name.clone(), told.clone()))
            .collect()
    };
    let told = of(&sent);
    assert_eq!(told, of(&spans));
    let [(name, count)] = told.as_slice() else {
        panic!("one series of one model: {told:?}");
    };
    assert!(name.contains("scripted-1"), "{name}");
    assert!(count.starts_with("3.000000 "), "three requests: {count}");
    assert_eq!(model.model().ledger().len(), 3);
}
