//! The world over real loopback HTTP, in its own process.
#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "tests may fail loudly"
)]

use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use reqwest::{Client, Method};
use serde_json::{Value, json};
use sim::world::Local;
use tempfile::TempDir;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

struct Process {
    child: Child,
    url: String,
}

impl Process {
    fn start(state: &Path) -> Self {
        let mut child = Command::new(env!("CARGO_BIN_EXE_world"))
            .args(["--listen", "127.0.0.1:0", "--state"])
            .arg(state)
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap())
            .read_line(&mut line)
            .unwrap();
        let url = line
            .trim()
            .strip_prefix("listening on ")
            .unwrap()
            .to_owned();
        Self { child, url }
    }

    fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

fn client() -> Client {
    // A second installation of the same provider is refused, which is as good as the first.
    let _installed = rustls::crypto::ring::default_provider().install_default();
    Client::builder().pool_max_idle_per_host(0).build().unwrap()
}

/// One call: its status and JSON body, or `None` where no answer came.
async fn call(
    url: &str,
    method: Method,
    path: &str,
    key: Option<&str>,
    body: &Value,
) -> Option<(u16, Value)> {
    let mut request = client()
        .request(method, format!("{url}{path}"))
        .timeout(Duration::from_millis(900))
        .json(body);
    if let Some(key) = key {
        request = request.header("Idempotency-Key", key);
    }
    let response = request.send().await.ok()?;
    let status = response.status().as_u16();
    Some((status, response.json().await.unwrap_or(Value::Null)))
}

async fn get(url: &str, path: &str) -> Value {
    call(url, Method::GET, path, None, &Value::Null)
        .await
        .unwrap()
        .1
}

async fn page(url: &str, key: Option<&str>, message: &str) -> Option<(u16, Value)> {
    call(
        url,
        Method::POST,
        "/pages",
        key,
        &json!({ "message": message }),
    )
    .await
}

async fn fault(url: &str, kind: &str, more: Value) {
    let mut body = json!({ "route": "POST /pages", "kind": kind });
    body.as_object_mut()
        .unwrap()
        .extend(more.as_object().unwrap().clone());
    let added = call(url, Method::POST, "/faults", None, &body)
        .await
        .unwrap();
    assert_eq!(added.0, 201, "{}", added.1);
}

fn local() -> (TempDir, Local) {
    let folder = tempfile::tempdir().unwrap();
    let world = Local::start(&folder.path().join("world.json")).unwrap();
    (folder, world)
}

#[tokio::test]
async fn a_kill_loses_nothing_acknowledged() {
    let folder = tempfile::tempdir().unwrap();
    let state = folder.path().join("world.json");
    let first = Process::start(&state);
    let sent = page(&first.url, Some("k1"), "wake up").await.unwrap();
    assert_eq!(sent.0, 201);
    assert_eq!(sent.1["delivered"], true);
    fault(&first.url, "before", json!({})).await;
    first.kill();

    let second = Process::start(&state);
    assert_eq!(get(&second.url, "/pages").await["total"], 1);
    assert_eq!(
        get(&second.url, "/faults").await["faults"][0]["kind"],
        "before"
    );
    assert_eq!(
        page(&second.url, Some("k1"), "wake up").await.unwrap().0,
        503
    );
    assert_eq!(
        page(&second.url, Some("k1"), "wake up").await.unwrap(),
        sent
    );
    assert_eq!(get(&second.url, "/pages").await["total"], 1);
    let ledger = get(&second.url, "/ledger").await;
    let effects: Vec<bool> = ledger["calls"]
        .as_array()
        .unwrap()
        .iter()
        .map(|call| call["effect"] == true)
        .collect();
    assert_eq!(effects, [true, false, false, false, false]);
    assert_eq!(ledger["calls"][0]["key"], "k1");
    assert_eq!(ledger["calls"][0]["route"], "POST /pages");
    second.kill();
}

#[tokio::test]
async fn a_key_gives_the_first_answer_and_refuses_another_body() {
    let (_folder, world) = local();
    let url = world.url();
    let first = page(&url, Some("k"), "one").await.unwrap();
    assert_eq!(page(&url, Some("k"), "one").await.unwrap(), first);
    assert_eq!(page(&url, Some("k"), "two").await.unwrap().0, 422);
    assert_eq!(page(&url, Some("other key/1"), "one").await.unwrap().0, 201);
    assert_eq!(get(&url, "/pages").await["total"], 2);
    let found = get(&url, "/pages/by-key/other%20key%2F1").await;
    assert_eq!(found, json!({ "found": true, "id": "page-2" }));
    assert_eq!(
        get(&url, "/pages/by-key/none").await,
        json!({ "found": false })
    );
}

#[tokio::test]
async fn every_fault_strikes_as_named() {
    let (_folder, world) = local();
    let url = world.url();
    // kind, more, status answered, pages sent by the call
    let cases = [
        ("before", json!({}), Some(503), 0),
        ("after", json!({}), Some(500), 1),
        ("hang", json!({}), None, 0),
        ("hang", json!({ "effect": true }), None, 1),
        ("hang", json!({ "ms": 10 }), Some(504), 0),
        ("drop", json!({}), None, 1),
        ("twice", json!({}), Some(201), 2),
        ("slow", json!({ "ms": 50 }), Some(201), 1),
        ("stutter", json!({}), Some(201), 1),
        ("lie", json!({}), Some(201), 0),
    ];
    for (index, (kind, more, status, sent)) in cases.into_iter().enumerate() {
        let before = get(&url, "/pages").await["total"].as_u64().unwrap();
        fault(&url, kind, more).await;
        let answer = page(&url, Some(&format!("key {index}")), "m").await;
        assert_eq!(answer.map(|answer| answer.0), status, "{kind} {index}");
        let after = get(&url, "/pages").await["total"].as_u64().unwrap();
        assert_eq!(after - before, sent, "{kind} {index}");
        let ledger = get(&url, "/ledger").await;
        let calls = ledger["calls"].as_array().unwrap();
        let call = calls.iter().rfind(|call| call["method"] == "POST").unwrap();
        assert_eq!(call["fault"], kind);
        assert_eq!(call["effects"], sent);
        assert_eq!(get(&url, "/faults").await["faults"], json!([]));
    }
}

/// Why by hand: a client reads one answer and throws away what follows it.
#[tokio::test]
async fn what_stutters_is_answered_twice_on_the_wire() {
    let (_folder, world) = local();
    let url = world.url();
    fault(&url, "stutter", json!({})).await;
    let mut line = TcpStream::connect(url.trim_start_matches("http://"))
        .await
        .unwrap();
    let body = r#"{"message":"m"}"#;
    let request = format!(
        "POST /pages HTTP/1.1\r\nhost: world\r\nconnection: close\r\n\
         content-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    );
    line.write_all(request.as_bytes()).await.unwrap();
    let mut answer = String::new();
    line.read_to_string(&mut answer).await.unwrap();
    assert_eq!(answer.matches("HTTP/1.1 201").count(), 2, "{answer}");
    assert_eq!(get(&url, "/pages").await["total"], 1);
}

#[tokio::test]
async fn a_retry_after_a_fault_finds_the_effect_by_its_key() {
    let (_folder, world) = local();
    let url = world.url();
    for kind in ["after", "drop"] {
        fault(&url, kind, json!({})).await;
        page(&url, Some(kind), "m").await;
        assert_eq!(page(&url, Some(kind), "m").await.unwrap().0, 201);
    }
    assert_eq!(get(&url, "/pages").await["total"], 2);
}

#[tokio::test]
async fn faults_last_as_often_as_asked_and_can_be_cleared() {
    let (_folder, world) = local();
    let url = world.url();
    fault(&url, "before", json!({ "times": 2 })).await;
    assert_eq!(page(&url, None, "m").await.unwrap().0, 503);
    assert_eq!(page(&url, None, "m").await.unwrap().0, 503);
    assert_eq!(page(&url, None, "m").await.unwrap().0, 201);
    fault(&url, "before", json!({})).await;
    call(&url, Method::DELETE, "/faults", None, &Value::Null)
        .await
        .unwrap();
    assert_eq!(page(&url, None, "m").await.unwrap().0, 201);
    let body = json!({ "route": "POST /nowhere", "kind": "slow" });
    assert_eq!(
        call(&url, Method::POST, "/faults", None, &body)
            .await
            .unwrap()
            .0,
        422
    );
}

#[tokio::test]
async fn tickets_are_listed_and_commented() {
    let (_folder, world) = local();
    let url = world.url();
    let open = get(&url, "/tickets?project=PAY&status=open").await;
    assert_eq!(open["total"], 2);
    let path = "/tickets/PAY-1/comments";
    let said = call(
        &url,
        Method::POST,
        path,
        Some("c"),
        &json!({ "text": "seen" }),
    )
    .await;
    assert_eq!(said.unwrap().0, 201);
    assert_eq!(
        get(&url, "/tickets/PAY-1").await["comments"][0]["text"],
        "seen"
    );
    assert_eq!(get(&url, "/tickets/PAY-9").await["error"], "no such ticket");
}

#[tokio::test]
async fn drafts_are_written_changed_and_published() {
    let (_folder, world) = local();
    let url = world.url();
    let draft = json!({ "title": "News", "body": "a" });
    let made = call(&url, Method::POST, "/drafts", None, &draft)
        .await
        .unwrap();
    assert_eq!((made.0, &made.1["id"]), (201, &json!("draft-1")));
    let change = json!({ "body": "b", "version": 1 });
    let changed = call(&url, Method::PUT, "/drafts/draft-1", None, &change)
        .await
        .unwrap();
    assert_eq!((changed.0, &changed.1["version"]), (200, &json!(2)));
    let stale = call(&url, Method::PUT, "/drafts/draft-1", None, &change)
        .await
        .unwrap();
    assert_eq!(stale.0, 409);
    let path = "/drafts/draft-1/publish";
    call(&url, Method::POST, path, None, &Value::Null)
        .await
        .unwrap();
    let shown = get(&url, "/drafts/draft-1").await;
    assert_eq!(
        (&shown["status"], &shown["publications"]),
        (&json!("published"), &json!(1))
    );
}

#[tokio::test]
async fn refunds_never_exceed_the_payment() {
    let (_folder, world) = local();
    let url = world.url();
    let refund = json!({ "payment": "pay-2", "amount": 3000 });
    let made = call(&url, Method::POST, "/refunds", Some("r"), &refund)
        .await
        .unwrap();
    assert_eq!(made.0, 201);
    assert_eq!(get(&url, "/refunds/refund-1").await, made.1);
    assert_eq!(get(&url, "/refunds/by-key/r").await["id"], "refund-1");
    assert_eq!(get(&url, "/payments/pay-2").await["refunded"], 3000);
    let again = call(&url, Method::POST, "/refunds", Some("s"), &refund)
        .await
        .unwrap();
    assert_eq!(again.0, 409);
}
