//! Where a run stands in the traces of others: a link to its caller, and its place to a service.

use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader, Write as _};
use std::net::TcpListener;
use std::sync::{Arc, Mutex};

use crate::export::exported;
use crate::workplace::Workplace;

const CALLER: &str = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";

const PLAN: &str = r#"schema: provost/plan/v1
goal:
  text: Ask both
  success: [ { id: asked, text: both answered } ]
steps:
  - { id: told, tool: told.get }
  - { id: untold, tool: untold.get }
success:
  - { for: asked, check: '${ steps.told.output.ok && steps.untold.output.ok }' }
answer:
  - { text: 'Both answered: ${ steps.told.output.ok }', cites: [told, untold] }
"#;

/// A service that says yes, and the header of each request by its path.
struct Service {
    url: String,
    asked: Arc<Mutex<BTreeMap<String, Option<String>>>>,
}

impl Service {
    fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let asked: Arc<Mutex<BTreeMap<_, _>>> = Arc::default();
        let kept = Arc::clone(&asked);
        std::thread::spawn(move || {
            for mut stream in listener.incoming().flatten() {
                let lines = BufReader::new(stream.try_clone().unwrap()).lines();
                let head: Vec<String> = lines
                    .map_while(Result::ok)
                    .take_while(|l| !l.is_empty())
                    .collect();
                let path = head[0].split(' ').nth(1).unwrap().to_owned();
                let place = head.iter().find_map(|line| {
                    let (name, value) = line.split_once(':')?;
                    name.eq_ignore_ascii_case("traceparent")
                        .then(|| value.trim().to_owned())
                });
                kept.lock().unwrap().insert(path, place);
                let body = r#"{"ok":true}"#;
                let head = "HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-type: application/json";
                let _ = write!(
                    stream,
                    "{head}\r\ncontent-length: {}\r\n\r\n{body}",
                    body.len()
                );
            }
        });
        Self { url, asked }
    }
}

fn tool(name: &str, url: &str, more: &str) -> String {
    format!(
        "\n[tools.{name}]\nkind = \"http\"\nbase_url = \"{url}\"\n{more}\n\
         [tools.{name}.ops.get]\nrequest = {{ method = \"GET\", path = \"/{name}\" }}\n\
         input = \"schemas/nothing.json\"\noutput = \"schemas/ok.json\"\neffect = \"read\"\n"
    )
}

#[test]
fn a_caller_is_linked_and_a_service_is_told_its_place_if_the_operator_says_so() {
    let service = Service::start();
    let place = Workplace::new();
    let config = std::fs::read_to_string(place.path("provost.toml")).unwrap();
    let told = tool("told", &service.url, "propagate = true");
    let untold = tool("untold", &service.url, "");
    place.write("provost.toml", format!("{config}{told}{untold}"));
    place.write(
        "schemas/nothing.json",
        r#"{ "type": "object", "additionalProperties": false }"#,
    );
    let ok = r#"{ "type": "object", "required": ["ok"],
        "properties": { "ok": { "type": "boolean" } } }"#;
    place.write("schemas/ok.json", ok);
    place.write("plan.yaml", PLAN);
    place
        .run(&["apply", "plan.yaml", "--traceparent", CALLER])
        .exits(0);
    // The control: without it nothing is linked.
    place.run(&["apply", "plan.yaml", "--again"]).exits(0);
    let runs = place.json(&["runs", "--json"]);
    let ids = runs["runs"].as_array().unwrap().iter();
    let ids: Vec<&str> = ids.map(|run| run["id"].as_str().unwrap()).collect();
    let mut linked = 0;
    for id in &ids {
        let lines = place.json(&["trace", id, "--json"]);
        let begun = lines["planning"].as_array().unwrap().iter();
        let mut begun = begun.filter(|line| line["kind"] == "RunCreated");
        let caller = begun.next().unwrap()["data"]["traceparent"].as_str();
        let spans = exported(&place.run(&["export", "otlp", id]).exits(0).raw_stdout).spans;
        let root = spans
            .iter()
            .find(|span| span.get("parentSpanId").is_none())
            .unwrap();
        match caller {
            Some(caller) => {
                linked += 1;
                assert_eq!(caller, CALLER);
                let link = &root["links"][0];
                let named = (link["traceId"].as_str(), link["spanId"].as_str());
                let mut wanted = CALLER.split('-').skip(1);
                assert_eq!(named, (wanted.next(), wanted.next()));
                assert_ne!(root["traceId"], link["traceId"], "ids stay ours");
            }
            None => assert!(root.get("links").is_none(), "{root}"),
        }
    }
    assert_eq!((linked, ids.len()), (1, 2));
    // The last request to each: it says which attempt it was, or nothing.
    let asked = service.asked.lock().unwrap().clone();
    assert_eq!(asked["/untold"], None);
    let at = asked["/told"].clone().unwrap();
    let attempts = ids
        .iter()
        .flat_map(|id| exported(&place.run(&["export", "otlp", id]).exits(0).raw_stdout).spans);
    let of_told = attempts.filter(|span| span["name"] == "provost.attempt told.get");
    let places: Vec<String> = of_told
        .map(|span| {
            let text = |key: &str| span[key].as_str().unwrap().to_owned();
            format!("00-{}-{}-01", text("traceId"), text("spanId"))
        })
        .collect();
    assert!(places.contains(&at), "{at} is none of {places:?}");
}

#[test]
fn what_is_no_place_in_a_trace_is_refused() {
    let place = Workplace::new();
    place.write("plan.yaml", PLAN);
    for wrong in [
        "",
        "yes",
        &CALLER.to_uppercase(),
        &CALLER.replace("00-0", "01-0"),
    ] {
        let refused = place.run(&["run", "Count the orders of ada", "--traceparent", wrong]);
        let said = refused.exits(2).stderr;
        assert!(said.contains("W3C `traceparent`"), "{said}");
    }
    let runs = place.json(&["runs", "--json"]);
    assert_eq!(runs["runs"].as_array().unwrap().len(), 0, "nothing began");
}

/// Whether the setting changes nothing that people approve.
#[test]
fn the_setting_is_in_no_digest() {
    let digests = |more: &str| {
        let place = Workplace::new();
        let config = std::fs::read_to_string(place.path("provost.toml")).unwrap();
        let told = tool("told", "http://127.0.0.1:9", more);
        place.write("provost.toml", format!("{config}{told}"));
        place.write("schemas/nothing.json", r#"{ "type": "object" }"#);
        place.write("schemas/ok.json", r#"{ "type": "object" }"#);
        place.json(&["tools", "show", "told.get", "--json"])
    };
    let (with, without) = (digests("propagate = true"), digests(""));
    assert!(with.to_string().contains("told.get"));
    assert_eq!(with, without);
    // The control: another header is another entry.
    assert_ne!(with, digests("headers = { x-one = \"1\" }"));
}
