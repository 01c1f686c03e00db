//! The tool kind `mcp` over streamable HTTP, against a real server on the loopback: how it says who
//! it is, and what each fault on the wire comes to.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use super::server::{Act, Seen, Server, answer, json as reply_json};
use super::*;

const OPERATIONS: &str = r#"
[tools.s.ops.add]
effect = "read"
timeout = "3s"
[tools.s.ops.put]
effect = "write"
content = ["line"]
timeout = "600ms"
"#;

/// What a server does with a call of `put`, by its argument.
fn put(line: &str, id: &Value, effects: &AtomicUsize) -> Act {
    let text = |text: &str| json!({ "content": [{ "type": "text", "text": text }] });
    let happens = || effects.fetch_add(1, Ordering::SeqCst);
    match line {
        "hang" => {
            happens();
            Act::Hang(Vec::new())
        }
        "drop" => {
            happens();
            Act::Drop
        }
        "elsewhere" => answer(307, "location: http://127.0.0.1:1/mcp\r\n", ""),
        "unauthorized" => answer(401, "www-authenticate: Bearer\r\n", ""),
        "gone" => answer(404, "", "no such session"),
        "refused" => reply_json(
            400,
            r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32000,"message":"no session"}}"#,
        ),
        "down" => answer(503, "retry-after: 7\r\n", "later"),
        "stream" => {
            happens();
            let message = json!({ "jsonrpc": "2.0", "id": id, "result": text("streamed") });
            let note = json!({ "jsonrpc": "2.0", "method": "notifications/message",
                "params": { "level": "info", "data": "on the way" } });
            let body = format!("data: {note}\n\ndata: {message}\n\n");
            answer(200, "content-type: text/event-stream\r\n", &body)
        }
        "half" => {
            happens();
            let body = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\
                        content-length: 999\r\n\r\ndata: {\"jsonrpc\":";
            Act::Send(body.as_bytes().to_vec())
        }
        "huge" => {
            happens();
            let result = text(&"x".repeat(9 << 20));
            let message = json!({ "jsonrpc": "2.0", "id": id, "result": result });
            answer(
                200,
                "content-type: text/event-stream\r\n",
                &format!("data: {message}\n\n"),
            )
        }
        "twice" | "streamed twice" => {
            happens();
            let result = r#"{"content":[],"structuredContent":{"sum":1,"sum":2}}"#;
            let message = format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{result}}}"#);
            match line {
                "twice" => reply_json(200, &message),
                _ => answer(
                    200,
                    "content-type: text/event-stream\r\n",
                    &format!("data: {message}\n\n"),
                ),
            }
        }
        "huge body" => {
            happens();
            let result = text(&"x".repeat(9 << 20));
            let message = json!({ "jsonrpc": "2.0", "id": id, "result": result });
            reply_json(200, &message.to_string())
        }
        "garbage" => answer(200, "content-type: application/json\r\n", "no JSON"),
        line => {
            happens();
            let message = json!({ "jsonrpc": "2.0", "id": id, "result": text(line) });
            reply_json(200, &message.to_string())
        }
    }
}

/// An MCP server that demands a bearer token.
fn act(seen: &Seen, stateless: bool, effects: &AtomicUsize) -> Act {
    if seen.header("authorization") != Some("Bearer hunter2hunter2") {
        return answer(401, "www-authenticate: Bearer\r\n", "");
    }
    if !seen.line.starts_with("POST /mcp ") {
        return answer(405, "", "");
    }
    let message: Value = serde_json::from_str(&seen.body).unwrap_or_default();
    let id = &message["id"];
    if id.is_null() {
        return answer(202, "", "");
    }
    let own = json!({ "name": "wired", "version": "1" });
    let can = json!({ "tools": {} });
    let line = json!({ "type": "object", "properties": { "line": { "type": "string" } } });
    let sum = json!({ "type": "object", "properties": { "a": { "type": "integer" } } });
    let result = match message["method"].as_str().unwrap_or_default() {
        "server/discover" if stateless => json!({
            "resultType": "complete", "supportedVersions": ["2026-07-28"], "capabilities": can,
            "ttlMs": 0, "cacheScope": "private",
            "_meta": { "io.modelcontextprotocol/serverInfo": own },
        }),
        "initialize" if !stateless => {
            json!({ "protocolVersion": "2025-11-25", "capabilities": can, "serverInfo": own })
        }
        "tools/list" => json!({
            "resultType": "complete", "ttlMs": 0, "cacheScope": "private",
            "tools": [{ "name": "add", "inputSchema": sum }, { "name": "put", "inputSchema": line }],
        }),
        "tools/call" => {
            let args = &message["params"]["arguments"];
            if message["params"]["name"] == "put" {
                return put(args["line"].as_str().unwrap_or_default(), id, effects);
            }
            let text = args["a"].as_i64().unwrap_or_default().to_string();
            json!({ "resultType": "complete", "content": [{ "type": "text", "text": text }] })
        }
        _ => {
            let error = json!({ "code": -32601, "message": "no such method" });
            let body = json!({ "jsonrpc": "2.0", "id": id, "error": error });
            return reply_json(200, &body.to_string());
        }
    };
    let body = json!({ "jsonrpc": "2.0", "id": id, "result": result });
    reply_json(200, &body.to_string())
}

struct Wired {
    bench: Bench,
    server: Server,
    effects: Arc<AtomicUsize>,
}

async fn wired(stateless: bool) -> Wired {
    let effects = Arc::<AtomicUsize>::default();
    let counted = Arc::clone(&effects);
    let server = Server::start(move |seen| act(seen, stateless, &counted)).await;
    let workspace = Workspace::new();
    workspace.write("secret", "hunter2hunter2");
    let toml = format!(
        "[tools.s]\nkind = \"mcp\"\nurl = \"{}/mcp\"\nbearer = \"file:secret\"\n{OPERATIONS}",
        server.url()
    );
    let lenient = Listings::default().lenient();
    let configs = configs_listed(&toml, workspace.dir.path(), &lenient).unwrap();
    let toolbox = Toolbox::open(workspace.dir.path(), configs).unwrap();
    let listed = toolbox.listing("s", Duration::from_secs(20)).await;
    let listing = listed.unwrap_or_else(|reply| panic!("{reply:#?}"));
    let version = if stateless {
        "2026-07-28"
    } else {
        "2025-11-25"
    };
    assert_eq!((&*listing.protocol, &*listing.server), (version, "wired 1"));
    let pinned = Listings::new([("s".to_owned(), listing)].into());
    Wired {
        bench: workspace.open_listed(&toml, &pinned),
        server,
        effects,
    }
}

/// The argument of `put`; class, landing and how often it took place; a part of the message.
const FAULTS: [(&str, &str, &str); 15] = [
    ("plain", "ok happened 1", ""),
    ("stream", "ok happened 1", ""),
    ("hang", "timeout unknown 1", "no answer within 600ms"),
    (
        "drop",
        "unavailable unknown 1",
        "connection was lost before the answer was whole",
    ),
    ("elsewhere", "unavailable unknown 0", "HTTP 307"),
    (
        "unauthorized",
        "permission_denied unknown 0",
        "bearer token",
    ),
    (
        "gone",
        "unavailable unknown 0",
        "HTTP 404 Not Found: no such session",
    ),
    // A restarted server's 400 answers no request: the call ends with its time.
    ("refused", "timeout unknown 0", "no answer within 600ms"),
    ("down", "unavailable unknown 0", "the server answers 503"),
    (
        "half",
        "unavailable unknown 1",
        "the server ended before it answered",
    ),
    (
        "twice",
        "output_invalid happened 1",
        "the name `sum` stands twice in a map",
    ),
    (
        "streamed twice",
        "output_invalid happened 1",
        "the name `sum` stands twice in a map",
    ),
    (
        "huge",
        "output_invalid unknown 1",
        "a message of more than 5242880 bytes",
    ),
    (
        "huge body",
        "output_invalid unknown 1",
        "a message of more than 5242880 bytes",
    ),
    (
        "garbage",
        "output_invalid unknown 0",
        "no message of the protocol",
    ),
];

#[tokio::test(flavor = "multi_thread")]
async fn every_fault_of_the_wire_has_its_class_and_its_landing() {
    for stateless in [false, true] {
        let wired = wired(stateless).await;
        for (line, expected, part) in FAULTS {
            let before = wired.effects.load(Ordering::SeqCst);
            let began = std::time::Instant::now();
            let reply = wired.bench.call("s.put", json!({ "line": line })).await;
            let (words, text) = said(&reply);
            let took_place = wired.effects.load(Ordering::SeqCst) - before;
            assert!(began.elapsed() < Duration::from_secs(10), "{line}");
            let became = format!("{words} {took_place}");
            assert_eq!(became, expected, "{line}: {text}");
            assert!(text.contains(part), "{line}: {text}");
            // Whatever it did, the next call finds a server that answers.
            let sum = wired.bench.output("s.add", json!({ "a": 2 })).await;
            assert_eq!(sum, json!({ "text": "2" }), "after {line}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn who_asks_is_said_and_never_shown() {
    let wired = wired(false).await;
    wired.bench.output("s.add", json!({ "a": 1 })).await;
    for seen in wired.server.seen() {
        assert_eq!(seen.header("authorization"), Some("Bearer hunter2hunter2"));
    }
    let reply = wired
        .bench
        .call("s.put", json!({ "line": "hunter2hunter2" }))
        .await;
    assert_eq!(
        reply.output,
        Some(json!({ "text": "[redacted]" })),
        "{reply:?}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_is_not_there_did_nothing() {
    let wired = wired(true).await;
    let toml = |url: &str, bearer: &str| {
        format!("[tools.s]\nkind = \"mcp\"\nurl = \"{url}\"\n{bearer}{OPERATIONS}")
    };
    let lenient = Listings::default().lenient();
    let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let nobody = format!("http://{}/mcp", free.local_addr().unwrap());
    drop(free);
    let other = "bearer = \"file:other\"\n";
    wired.bench.workspace.write("other", "not-the-token");
    let there = format!("{}/mcp", wired.server.url());
    for (url, bearer, part) in [
        (
            &nobody,
            "",
            "unavailable none: the server cannot be reached",
        ),
        (
            &there,
            other,
            "permission_denied none: the server wants a bearer token",
        ),
        (&there, "bearer = \"file:missing\"\n", "unavailable none: "),
    ] {
        let base = wired.bench.workspace.dir.path();
        let configs = configs_listed(&toml(url, bearer), base, &lenient).unwrap();
        let toolbox = Toolbox::open(base, configs).unwrap();
        let listed = toolbox.listing("s", Duration::from_secs(5)).await;
        let (words, text) = said(&listed.unwrap_err());
        assert!(
            format!("{words}: {text}").starts_with(part),
            "{words}: {text}"
        );
        assert!(!text.contains("not-the-token"), "{text}");
    }
}
