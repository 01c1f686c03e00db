//! Traces that are sent while runs go on: what arrives, what a receiver that is not there costs,
//! and that nothing is lost, nothing leaks and nothing is sent unasked.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use base64::Engine as _;
use serde_json::{Value, json};
use sim::canary;

use super::export::{attributes, exported};
use super::metrics::{Ended, asked};
use super::workplace::Workplace;

mod content;
mod metrics;
mod places;

const IDLE: [&str; 2] = ["work", "--until-idle"];

/// What a receiver does with a request.
#[derive(Clone)]
enum Mood {
    Takes,
    Refuses(u16),
    /// Takes all but what has this in it, which it calls malformed.
    Picky(&'static str),
    /// Takes what is posted to `/v1/traces`, and knows no other address.
    TracesAlone,
    Hangs,
}

/// A request as it arrived.
#[derive(Clone)]
struct Arrived {
    head: String,
    body: Vec<u8>,
}

impl Arrived {
    fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }
}

/// A receiver of traces on the loopback.
struct TraceReceiver {
    url: String,
    taken: Arc<Mutex<Vec<Arrived>>>,
    asked: Arc<AtomicBool>,
    mood: Arc<Mutex<Mood>>,
}

impl TraceReceiver {
    fn start(mood: Mood) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let receiver = Self {
            url,
            taken: Arc::default(),
            asked: Arc::default(),
            mood: Arc::new(Mutex::new(mood)),
        };
        let (taken, asked, mood) = (
            Arc::clone(&receiver.taken),
            Arc::clone(&receiver.asked),
            Arc::clone(&receiver.mood),
        );
        std::thread::spawn(move || {
            let mut kept = Vec::new();
            for stream in listener.incoming().flatten() {
                asked.store(true, Ordering::SeqCst);
                let mood = mood.lock().unwrap().clone();
                if matches!(mood, Mood::Hangs) {
                    kept.push(stream);
                    continue;
                }
                let Some(arrived) = read(&stream) else {
                    continue;
                };
                let status = match mood {
                    Mood::Refuses(status) => status,
                    Mood::Picky(word) if arrived.text().contains(word) => 400,
                    Mood::TracesAlone if !arrived.head.contains(" /v1/traces ") => 404,
                    _ => 200,
                };
                if status == 200 {
                    taken.lock().unwrap().push(arrived);
                }
                let answer = format!("HTTP/1.1 {status} X\r\ncontent-length: 2\r\n\r\n{{}}");
                let _ = (&stream).write_all(answer.as_bytes());
            }
        });
        receiver
    }

    fn becomes(&self, mood: Mood) {
        *self.mood.lock().unwrap() = mood;
    }

    fn was_asked(&self) -> bool {
        self.asked.load(Ordering::SeqCst)
    }

    fn taken(&self) -> Vec<Arrived> {
        self.taken.lock().unwrap().clone()
    }

    /// Every span that arrived as JSON, by its id; a later one in the place of an earlier.
    fn spans(&self) -> BTreeMap<String, Value> {
        let mut all = BTreeMap::new();
        for one in self.taken() {
            for span in exported(&one.text()).spans {
                all.insert(span["spanId"].as_str().unwrap().to_owned(), span);
            }
        }
        all
    }
}

fn read(stream: &TcpStream) -> Option<Arrived> {
    let mut reader = BufReader::new(stream);
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") {
        if reader.read_line(&mut head).ok()? == 0 {
            return None;
        }
    }
    let lower = head.to_lowercase();
    let length = lower.split("content-length: ").nth(1)?;
    let length = length.split("\r\n").next()?.parse().ok()?;
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    Some(Arrived { head, body })
}

/// Has a workspace send to `url`.
fn sends_to(place: &Workplace, url: &str, rest: &str) {
    let config = std::fs::read_to_string(place.path("provost.toml")).unwrap();
    let table = format!("[telemetry]\notlp = \"{url}\"\n{rest}\n");
    place.write("provost.toml", format!("{config}\n{table}"));
}

const JSON: &str = "protocol = \"json\"\nsend = [\"traces\", \"logs\"]";

/// The spans of all runs, as `export otlp` tells them.
fn told(place: &Workplace) -> BTreeMap<String, Value> {
    let runs = place.json(&["runs", "--json"]);
    let runs = runs["runs"].as_array().unwrap().iter();
    let mut args = vec!["export".to_owned(), "otlp".to_owned()];
    args.extend(runs.map(|run| run["id"].as_str().unwrap().to_owned()));
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    let text = place.run(&args).exits(0).raw_stdout;
    let spans = exported(&text).spans.into_iter();
    spans
        .map(|span| (span["spanId"].as_str().unwrap().to_owned(), span))
        .collect()
}

/// Brings the moment at which it is tried again.
fn time_passes(place: &Workplace) {
    let path = place.path(".provost/otlp.json");
    let mut cursor: Value = serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
    cursor["not_before_ms"] = 0.into();
    std::fs::write(path, cursor.to_string()).unwrap();
}

#[test]
fn what_runs_tell_arrives_as_it_is_exported_and_no_secret_with_it() {
    let receiver = TraceReceiver::start(Mood::Takes);
    let place = Workplace::new();
    place.run(&["run", "Count the orders of ada"]).exits(0);
    // The control: nobody asked, and nothing was sent.
    assert!(!receiver.was_asked());
    let headers = format!(
        "headers = {{ authorization = \"file:{}\", x-key = \"env:{}\" }}\n{JSON}",
        canary::TOKEN_FILE,
        canary::KEY_NAME
    );
    sends_to(&place, &receiver.url, &headers);
    place.run(&["run", "Count the orders of zebedee"]).exits(0);
    let (run, _) = place.waiting();
    place
        .run(&["reject", &run, "--reason", "not for grace"])
        .exits(0);
    place.run(&IDLE).exits(0);
    let arrived = receiver.spans();
    let mut wanted = told(&place);
    // What ran before somebody asked is not sent.
    let runs: BTreeSet<String> = wanted
        .values()
        .map(|span| attributes(span)["provost.run.id"].clone())
        .collect();
    assert_eq!(runs.len(), 3);
    let sent: BTreeSet<String> = arrived
        .values()
        .map(|span| attributes(span)["provost.run.id"].clone())
        .collect();
    assert_eq!(sent.len(), 2);
    wanted.retain(|_, span| sent.contains(&attributes(span)["provost.run.id"]));
    assert_eq!(arrived, wanted);
    let all = receiver.taken();
    assert!(all.iter().any(|one| one.head.starts_with("POST /v1/logs ")));
    for one in &all {
        assert!(one.head.to_lowercase().contains("application/json"));
        // The control: the look finds the secrets where they have to be.
        assert_eq!(canary::leaks(one.head.as_bytes()).len(), 2, "{}", one.head);
        assert_eq!(canary::leaks(&one.body), [""; 0], "{}", one.text());
        for content in ["zebedee", "orders of", "The note", "for grace"] {
            assert!(!one.text().contains(content), "{content}");
        }
    }
    let doctor = place.run(&["doctor"]).raw_stdout;
    assert!(doctor.contains("all was sent"), "{doctor}");
    let series = place.run(&["stats", "--openmetrics"]).raw_stdout;
    let behind = "provost_export_behind_events{target=\"otlp\"} 0";
    assert!(series.contains(behind), "{series}");
    // Nothing new: nothing is sent again. A run that is named is, whatever was sent.
    place.run(&IDLE).exits(0);
    assert_eq!(receiver.taken().len(), all.len());
    place.run(&["export", "otlp", &run, "--send"]).exits(0);
    assert_eq!(receiver.taken().len(), all.len() + 2);
    assert_eq!(receiver.spans(), wanted);
}

#[test]
fn a_secret_that_stands_in_a_name_is_taken_out() {
    let sent = |secret: &str| {
        let receiver = TraceReceiver::start(Mood::Takes);
        let place = Workplace::new();
        place.write("named.canary", secret);
        let headers = format!("headers = {{ x-key = \"file:named.canary\" }}\n{JSON}");
        place.run(&["run", "Count the orders of ada"]).exits(0);
        sends_to(&place, &receiver.url, &headers);
        let runs = place.json(&["runs", "--json"]);
        let run = runs["runs"][0]["id"].as_str().unwrap().to_owned();
        place.run(&["export", "otlp", &run, "--send"]).exits(0);
        let texts = receiver
            .taken()
            .iter()
            .map(Arrived::text)
            .collect::<Vec<_>>();
        texts.concat()
    };
    let text = sent("shop.orders");
    assert!(!text.contains("shop.orders"), "{text}");
    assert!(text.contains("invoke_workflow count"), "{text}");
    // The control: another secret takes nothing out.
    assert!(sent("another-secret").contains("execute_tool shop.orders"));
}

#[test]
fn a_receiver_that_is_not_there_costs_nothing_and_gets_everything_later() {
    let absent = TcpListener::bind("127.0.0.1:0").unwrap();
    let gone = format!("http://{}", absent.local_addr().unwrap());
    drop(absent);
    let off = Workplace::new();
    let begun = Instant::now();
    off.run(&["run", "Count the orders of ada"]).exits(0);
    let alone = begun.elapsed();
    for mood in [
        None,
        Some(Mood::Hangs),
        Some(Mood::Refuses(503)),
        Some(Mood::Refuses(404)),
    ] {
        let receiver = TraceReceiver::start(mood.clone().unwrap_or(Mood::Takes));
        let place = Workplace::new();
        let url = if mood.is_none() { &gone } else { &receiver.url };
        sends_to(&place, url, JSON);
        place.run(&["run", "Count the orders of ada"]).exits(0);
        let begun = Instant::now();
        place.run(&["run", "Count the orders of nobody"]).exits(0);
        // Nobody tries again so soon, and nobody waits.
        let took = begun.elapsed();
        assert!(
            took < alone + Duration::from_secs(2),
            "{took:?} and {alone:?} without"
        );
        assert_eq!(receiver.was_asked(), mood.is_some());
        // It is told, and is no reason not to start a service.
        let doctor = place.run(&["doctor"]).exits(0).raw_stdout;
        assert!(doctor.contains("events to send: "), "{doctor}");
        let series = place.run(&["stats", "--openmetrics"]).raw_stdout;
        assert!(!series.contains("provost_export_behind_events{target=\"otlp\"} 0\n"));
        // It is there again.
        receiver.becomes(Mood::Takes);
        place.edit("provost.toml", url, &receiver.url);
        time_passes(&place);
        place.run(&IDLE).exits(0);
        assert_eq!(receiver.spans(), told(&place));
        let doctor = place.run(&["doctor"]).raw_stdout;
        assert!(doctor.contains("all was sent"), "{doctor}");
    }
}

#[test]
fn what_is_sent_twice_has_the_same_ids_and_a_lost_cursor_begins_anew() {
    let receiver = TraceReceiver::start(Mood::Takes);
    let place = Workplace::new();
    sends_to(&place, &receiver.url, JSON);
    place.run(&["run", "Count the orders of ada"]).exits(0);
    let cursor = std::fs::read(place.path(".provost/otlp.json")).unwrap();
    place.run(&["run", "Count the orders of nobody"]).exits(0);
    place.run(&IDLE).exits(0);
    let (once, spans) = (receiver.taken().len(), receiver.spans());
    // As a process that was killed between the sending and the cursor leaves it.
    place.write(".provost/otlp.json", &cursor);
    place.run(&IDLE).exits(0);
    assert!(receiver.taken().len() > once);
    assert_eq!(receiver.spans(), spans);
    assert_eq!(spans, told(&place));
    // A cursor that stands on no event of this journal is not believed, wherever it stands.
    let last = std::fs::read(place.path(".provost/otlp.json")).unwrap();
    let mut wrong: Value = serde_json::from_slice(&last).unwrap();
    wrong["link"] = json!(format!("sha256:{}", "0".repeat(64)));
    let before = receiver.taken().len();
    place.write(".provost/otlp.json", wrong.to_string());
    place.run(&IDLE).exits(0);
    assert!(receiver.taken().len() > before);
    assert_eq!(receiver.spans(), spans);
}

#[test]
fn processes_that_are_killed_leave_nothing_untold() {
    let receiver = TraceReceiver::start(Mood::Takes);
    let place = Workplace::new();
    sends_to(&place, &receiver.url, JSON);
    let begun = Instant::now();
    place.run(&["run", "Count the orders of ada"]).exits(0);
    let took = begun.elapsed();
    let mut running = 0;
    for round in 0..24 {
        // Why another goal each time: a run that is not over is taken up by its own words.
        let goal = format!("Count the orders of nobody{round}");
        let mut child = place.spawn(&["run", &goal]);
        // From before the first event to after the last: what a run takes, in small parts.
        std::thread::sleep(took * round / 20);
        running += u32::from(child.try_wait().unwrap().is_none());
        let _ = child.kill();
        let _ = child.wait();
    }
    assert!(running > 0, "every process had ended before it was killed");
    time_passes(&place);
    place.run(&IDLE).exits(0);
    assert_eq!(receiver.spans(), told(&place));
    let runs = place.json(&["runs", "--json"]);
    let runs = runs["runs"].as_array().unwrap().len();
    assert!(runs > 1, "no run was begun");
    println!("{running} of 24 killed on their way; {runs} runs, all told");
}

#[test]
fn what_a_receiver_calls_malformed_keeps_nothing_else_back() {
    let receiver = TraceReceiver::start(Mood::Picky("provost.plan.revised"));
    let place = Workplace::new();
    sends_to(&place, &receiver.url, JSON);
    place.run(&["run", "Count the orders of nobody"]).exits(0);
    place.run(&IDLE).exits(0);
    // The control: the record it does not take is in what is told, once.
    let runs = place.json(&["runs", "--json"]);
    let run = runs["runs"][0]["id"].as_str().unwrap().to_owned();
    let text = place.run(&["export", "otlp", &run]).raw_stdout;
    assert_eq!(text.matches("provost.plan.revised").count(), 1);
    assert_eq!(receiver.spans(), told(&place));
    let records = receiver.taken();
    let mut records = records.iter().flat_map(|one| exported(&one.text()).records);
    let named = |record: &Value| record["eventName"] == "provost.plan.checked";
    assert_eq!(records.clone().filter(named).count(), 2);
    assert!(!records.any(|record| record["eventName"] == "provost.plan.revised"));
    let cursor = std::fs::read_to_string(place.path(".provost/otlp.json")).unwrap();
    assert!(cursor.contains("\"unfit\": 1"), "{cursor}");
}

#[test]
fn a_receiver_of_traces_alone_gets_them_all() {
    let receiver = TraceReceiver::start(Mood::TracesAlone);
    let place = Workplace::new();
    let send = "protocol = \"json\"\nsend = [\"metrics\", \"traces\"]";
    sends_to(&place, &receiver.url, send);
    for goal in ["Count the orders of ada", "Count the orders of nobody"] {
        place.run(&["run", goal]).exits(0);
        place.run(&IDLE).exits(0);
        assert_eq!(receiver.spans(), told(&place), "{goal}");
    }
    let doctor = place.run(&["doctor"]);
    assert!(
        doctor.stdout.contains("/v1/metrics answered 404"),
        "{doctor}"
    );
    // The control: what knows no address at all gets nothing later.
    receiver.becomes(Mood::Refuses(404));
    place.run(&["run", "Count the orders of ada again"]);
    place.run(&IDLE);
    assert_ne!(receiver.spans(), told(&place));
}

#[test]
fn a_table_that_would_leak_or_mislead_is_refused() {
    let found = |table: &str| {
        let place = Workplace::new();
        let config = std::fs::read_to_string(place.path("provost.toml")).unwrap();
        place.write("provost.toml", format!("{config}\n[telemetry]\n{table}\n"));
        place
            .run(&["run", "Count the orders of ada"])
            .exits(2)
            .stderr
    };
    let here = "otlp = \"http://127.0.0.1:4318\"";
    for (table, word) in [
        (
            "otlp = \"http://traces.example.com\"".to_owned(),
            "must be `https`",
        ),
        (
            format!("{here}\nheaders = {{ authorization = \"Bearer x\" }}"),
            "never written out",
        ),
        (
            format!("{here}\nheaders = {{ host = \"env:X\" }}"),
            "no header that can be set",
        ),
        (format!("{here}\nsend = [\"series\"]"), "and `metrics`"),
        (format!("{here}\ncontent = \"everything\""), "`trusted`"),
        (format!("{here}\nprotocol = \"grpc\""), "`protobuf`"),
        ("send = [\"traces\"]".to_owned(), "`otlp`"),
    ] {
        let said = found(&table);
        assert!(said.contains(word), "{table}: {said}");
    }
    let place = Workplace::new();
    place.run(&["run", "Count the orders of ada"]).exits(0);
    let runs = place.json(&["runs", "--json"]);
    let run = runs["runs"][0]["id"].as_str().unwrap().to_owned();
    let said = place
        .run(&["export", "otlp", &run, "--send"])
        .exits(2)
        .stderr;
    assert!(said.contains("no `[telemetry]`"), "{said}");
}

/// Copies a directory, without what runs left in it.
fn copied(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap().flatten() {
        let name = entry.file_name();
        if entry.file_type().unwrap().is_dir() {
            if name != ".provost" {
                copied(&entry.path(), &to.join(name));
            }
        } else {
            std::fs::copy(entry.path(), to.join(name)).unwrap();
        }
    }
}

/// Waits until `found` finds something.
fn until<T>(what: &str, most: Duration, mut found: impl FnMut() -> Option<T>) -> T {
    let begun = Instant::now();
    loop {
        if let Some(found) = found() {
            return found;
        }
        assert!(begun.elapsed() < most, "{what}: not within {most:?}");
        std::thread::sleep(Duration::from_millis(200));
    }
}

/// Starts Phoenix on ports of its own; the process and its address.
fn phoenix(program: &str, dir: &Path) -> (Ended, String) {
    let free = || TcpListener::bind("127.0.0.1:0").unwrap();
    let (http, grpc) = (free(), free());
    let port = |of: &TcpListener| of.local_addr().unwrap().port().to_string();
    let ports = [port(&http), port(&grpc)];
    drop((http, grpc));
    let [http, grpc] = ports;
    let child = Command::new(program)
        .arg("serve")
        .env("PHOENIX_WORKING_DIR", dir)
        .env("PHOENIX_HOST", "127.0.0.1")
        .env("PHOENIX_PORT", &http)
        .env("PHOENIX_GRPC_PORT", &grpc)
        .env("PHOENIX_TELEMETRY_ENABLED", "false")
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let at = format!("127.0.0.1:{http}");
    until("phoenix", Duration::from_secs(120), || {
        let (status, _, _) = asked(&at, "GET /v1/projects", &at).ok()?;
        (status == 200).then_some(())
    });
    (Ended(child), at)
}

/// The spans that Phoenix has.
fn spans_of(at: &str) -> Vec<Value> {
    let path = "GET /v1/projects/default/spans?limit=1000";
    let (status, _, body) = asked(at, path, at).unwrap();
    assert_eq!(status, 200, "{body}");
    let body: Value = serde_json::from_str(&body).unwrap();
    body["data"].as_array().unwrap().clone()
}

#[test]
#[ignore = "needs arize-phoenix of PyPI: scripts/full otlp-send"]
fn phoenix_takes_the_incident_as_it_is_exported() {
    let program = std::env::var("PROVOST_PHOENIX").unwrap();
    let place = Workplace::empty();
    let example = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/incident");
    copied(&example, &place.path("."));
    let (_phoenix, at) = phoenix(&program, &place.path("phoenix"));
    let investigate = ["run", "Investigate the payment API latency spike"];
    // The control: nobody asks, and nothing arrives.
    place.run(&investigate).exits(0);
    place.run(&IDLE).exits(0);
    assert_eq!(spans_of(&at), Vec::<Value>::new());
    sends_to(&place, &format!("http://{at}"), "");
    place.run(&investigate).exits(0);
    place.run(&IDLE).exits(0);
    let runs = place.json(&["runs", "--json"]);
    let run = runs["runs"][0]["id"].as_str().unwrap().to_owned();
    let wanted = exported(&place.run(&["export", "otlp", &run]).raw_stdout).spans;
    let found = until("the spans", Duration::from_secs(60), || {
        let found = spans_of(&at);
        (found.len() >= wanted.len()).then_some(found)
    });
    let ours = |span: &Value| {
        let text = |field: &str| span[field].as_str().unwrap_or_default().to_owned();
        (
            text("traceId"),
            text("spanId"),
            text("parentSpanId"),
            text("name"),
        )
    };
    let theirs = |span: &Value| {
        let text = |at: &str| span.pointer(at).and_then(Value::as_str).unwrap_or_default();
        let [trace, id] = ["/context/trace_id", "/context/span_id"].map(text);
        let [parent, name] = ["/parent_id", "/name"].map(text);
        let own = [trace, id, parent, name].map(str::to_owned);
        own.into()
    };
    let wanted: BTreeSet<_> = wanted.iter().map(ours).collect();
    let taken: BTreeSet<_> = found.iter().map(theirs).collect();
    assert_eq!(taken, wanted);
    let root = found
        .iter()
        .find(|span| span["parent_id"].is_null())
        .unwrap();
    let of = |name: &str| {
        let nested = format!("/attributes/{}", name.replace('.', "/"));
        let found = root.pointer(&nested);
        found.or_else(|| root["attributes"].get(name)).cloned()
    };
    assert_eq!(of("provost.status"), Some(json!("succeeded")), "{root}");
    assert_eq!(of("provost.run.id"), Some(json!(run)), "{root}");
    assert_eq!(of("gen_ai.operation.name"), Some(json!("invoke_workflow")));
    println!("{} spans of the incident, taken by Phoenix", found.len());
}

/// Reads messages in protobuf by the published definition of the protocol, as JSON.
const READER: &str = "
import sys
from google.protobuf import json_format
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
kinds = dict(traces=ExportTraceServiceRequest, logs=ExportLogsServiceRequest,
             metrics=ExportMetricsServiceRequest)
for path in sys.argv[1:]:
    kind = kinds[path.split('.')[-1]]
    read = kind.FromString(open(path, 'rb').read())
    # What the definition has no field for is kept aside, and must not be there.
    assert read.ByteSize() == len(json_format.Parse(json_format.MessageToJson(read), kind())
                                  .SerializeToString()), path
    print(json_format.MessageToJson(read, indent=None))
";

#[test]
#[ignore = "needs opentelemetry-proto of PyPI: scripts/full otlp"]
fn the_published_definition_reads_what_is_sent() {
    let python = std::env::var("PROVOST_OTLP_PYTHON").unwrap();
    let receiver = TraceReceiver::start(Mood::Takes);
    let place = Workplace::new();
    let send = "send = [\"traces\", \"logs\", \"metrics\"]";
    sends_to(&place, &receiver.url, send);
    place.run(&["run", "Count the orders of nobody"]).exits(0);
    place.run(&IDLE).exits(0);
    let mut read = Command::new(python);
    read.args(["-c", READER]);
    for (at, one) in receiver.taken().iter().enumerate() {
        assert!(one.head.to_lowercase().contains("application/x-protobuf"));
        let kind = one.head.split("/v1/").nth(1).unwrap();
        let kind = kind.split(' ').next().unwrap();
        let name = format!("{at}.{kind}");
        place.write(&name, &one.body);
        read.arg(place.path(&name));
    }
    let ran = read.output().unwrap();
    assert!(
        ran.status.success(),
        "{}",
        String::from_utf8_lossy(&ran.stderr)
    );
    let read = String::from_utf8(ran.stdout).unwrap();
    let sent = exported(&read);
    let measured = metrics::points(&read);
    assert_eq!(measured, metrics::wanted(&place, &measured));
    let run = place.json(&["runs", "--json"])["runs"][0]["id"].clone();
    let text = place
        .run(&["export", "otlp", run.as_str().unwrap()])
        .raw_stdout;
    let wanted = exported(&text);
    let told = |all: &[Value], id: &str, name: &str| -> BTreeSet<_> {
        let one = |one: &Value| {
            (
                id_of(&one[id]),
                one[name].clone().to_string(),
                attributes(one),
            )
        };
        all.iter().map(one).collect()
    };
    for (sent, wanted, name) in [
        (&sent.spans, &wanted.spans, "name"),
        (&sent.records, &wanted.records, "eventName"),
    ] {
        assert!(!wanted.is_empty());
        assert_eq!(told(sent, "spanId", name), told(wanted, "spanId", name));
    }
    println!(
        "{} spans, {} records and {} points, read",
        sent.spans.len(),
        sent.records.len(),
        measured.len()
    );
}

/// An id as bytes: the library writes base64 where the protocol's own JSON has hexadecimal.
fn id_of(id: &Value) -> Vec<u8> {
    let text = id.as_str().unwrap();
    match text.len() {
        16 => (0..16)
            .step_by(2)
            .map(|at| u8::from_str_radix(&text[at..at + 2], 16).unwrap())
            .collect(),
        _ => base64::engine::general_purpose::STANDARD
            .decode(text)
            .unwrap(),
    }
}
