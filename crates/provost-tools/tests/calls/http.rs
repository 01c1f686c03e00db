//! HTTP operations against a real server that also fails in every way.

use std::time::{Duration, Instant};

use provost_plan::catalog::Effect;

use super::server::{Act, Server, answer, json};
use super::*;

fn tool(url: &str, more: &str) -> String {
    format!(
        r#"
[tools.pager]
kind = "http"
base_url = "{url}"
timeout = "400ms"
max_bytes = 2000
{more}
[tools.pager.ops.notify]
request.method = "POST"
request.path = "/pages"
request.body = {{ message = "${{ args.message }}", n = "${{ 1 + 1 }}" }}
input.type = "object"
input.properties = {{ message = {{ type = "string" }} }}
input.required = ["message"]
output.trusted = true
output.schema.type = "object"
output.schema.properties = {{ delivered = {{ type = "boolean" }} }}
output.schema.required = ["delivered"]
effect = "external"
content = ["message"]
idempotency = {{ key = {{ header = "Idempotency-Key", ttl = "24h" }} }}

[tools.pager.ops.plain]
request = {{ method = "POST", path = "/pages" }}
effect = "write"

[tools.pager.ops.sure]
request = {{ method = "POST", path = "/pages" }}
effect = "write"
errors = "no_effect"

[tools.pager.ops.get]
request.method = "GET"
request.path = "/a/${{ args.id }}/b"
request.query = {{ q = "${{ args.q }}", fixed = "x y" }}
request.headers = {{ X-Q = "${{ args.q }}" }}
input = {{ type = "object", properties = {{ id = {{ type = ["string", "integer"] }}, q = {{}} }} }}
effect = "read"

[tools.pager.ops.text]
request = {{ method = "GET", path = "/text" }}
response = "text"
effect = "read"
"#
    )
}

async fn against(act: impl Fn(&server::Seen) -> Act + Send + Sync + 'static) -> (Server, Bench) {
    let server = Server::start(act).await;
    let bench = Workspace::new().open(&tool(&server.url(), ""));
    (server, bench)
}

#[tokio::test]
async fn a_request_is_the_template_filled() {
    let (server, bench) = against(|_| json(201, r#"{"delivered":true,"id":7}"#)).await;
    let args = json!({"message": "a \"b\"\n${ key }"});
    let reply = bench.call_with_key("pager.notify", args, Some("k-1")).await;
    assert_eq!(
        reply.output,
        Some(json!({"delivered": true, "id": 7})),
        "{reply:?}"
    );
    assert_eq!(reply.evidence, br#"{"delivered":true,"id":7}"#);
    let seen = server.seen();
    assert_eq!(seen.len(), 1);
    assert_eq!(seen[0].line, "POST /pages HTTP/1.1");
    assert_eq!(seen[0].header("idempotency-key"), Some("k-1"));
    assert_eq!(seen[0].header("content-type"), Some("application/json"));
    let body: Value = serde_json::from_str(&seen[0].body).unwrap();
    assert_eq!(body, json!({"message": "a \"b\"\n${ key }", "n": 2}));
    let notify = bench.operation("pager.notify");
    assert_eq!(notify.effect, Effect::External);
    assert!(notify.trusted && !notify.is_plain_write() && !notify.is_sink("message"));
}

/// Some services answer with XML unless they are asked for JSON.
#[tokio::test]
async fn json_is_asked_for_where_it_is_read() {
    let asked = async |more: &str, operation: &str| {
        let server = Server::start(|_| json(200, "{}")).await;
        let bench = Workspace::new().open(&tool(&server.url(), more));
        bench.call(operation, json!({})).await;
        let seen = server.seen();
        seen[0].header("accept").map(str::to_owned)
    };
    let json_first = Some("application/json, */*;q=0.1".to_owned());
    assert_eq!(asked("", "pager.plain").await, json_first);
    let own = r#"headers = { Accept = "application/vnd.api+json" }"#;
    let wanted = Some("application/vnd.api+json".to_owned());
    assert_eq!(asked(own, "pager.plain").await, wanted);
    assert_ne!(asked("", "pager.text").await, json_first);
}

#[tokio::test]
async fn an_argument_stays_in_its_place() {
    let (server, bench) = against(|_| json(200, "{}")).await;
    let table = [
        (json!({"id": "x", "q": "1"}), "/a/x/b?q=1&fixed=x+y"),
        (json!({"id": 7, "q": true}), "/a/7/b?q=true&fixed=x+y"),
        (
            json!({"id": "a/b?c#d%2e e", "q": "&x=1#"}),
            "/a/a%2Fb%3Fc%23d%252e%20e/b?q=%26x%3D1%23&fixed=x+y",
        ),
        (json!({"id": "../..", "q": null}), "/a/..%2F../b?fixed=x+y"),
        (
            json!({"id": "é", "q": ["1", 2]}),
            "/a/%C3%A9/b?q=1&q=2&fixed=x+y",
        ),
        (
            json!({"id": "http://evil.example/", "q": "1"}),
            "/a/http%3A%2F%2Fevil.example%2F/b?q=1&fixed=x+y",
        ),
        (
            json!({"id": "@evil.example:1", "q": "1"}),
            "/a/%40evil.example%3A1/b?q=1&fixed=x+y",
        ),
    ];
    for (index, (args, path)) in table.into_iter().enumerate() {
        bench.output("pager.get", args.clone()).await;
        let seen = server.seen();
        assert_eq!(seen.len(), index + 1);
        assert_eq!(seen[index].line, format!("GET {path} HTTP/1.1"), "{args}");
    }
    let sent = server.seen().len();
    for args in [
        json!({"id": "..", "q": "1"}),
        json!({"id": ".", "q": "1"}),
        json!({"id": "", "q": "1"}),
        json!({"id": "x", "q": "a\r\nX-Evil: 1"}),
        json!({"id": "x", "q": {"a": 1}}),
        json!({"id": "x", "q": [["a"]]}),
        json!({"q": "1"}),
    ] {
        let reply = bench.call("pager.get", args.clone()).await;
        let (words, text) = said(&reply);
        assert_eq!(words, "invalid_arguments none", "{args}: {text}");
        // Why not the rest: the operator's template may be what does not fit.
        let climbs = text.contains("would climb");
        assert_eq!(reply.refused_args == ["id"], climbs, "{args}: {text}");
    }
    assert_eq!(server.seen().len(), sent);
}

#[tokio::test]
async fn every_status_has_class_and_landing() {
    let (_server, bench) = against(|seen| {
        let status = seen.line.split('/').nth(2).unwrap().parse().unwrap();
        let body = r#"{"error":"why \u001b[31m it failed","refused_args":["id"]}"#;
        json(status, body)
    })
    .await;
    let table = [
        (400, "invalid_arguments none"),
        (401, "permission_denied none"),
        (403, "permission_denied none"),
        (404, "not_found none"),
        (405, "invalid_arguments none"),
        (408, "timeout unknown"),
        (409, "conflict none"),
        (410, "not_found none"),
        (418, "invalid_arguments unknown"),
        (422, "invalid_arguments none"),
        (429, "rate_limited none"),
        (500, "unavailable unknown"),
        (502, "unavailable unknown"),
        (503, "unavailable unknown"),
        (504, "timeout unknown"),
        (302, "output_invalid unknown"),
        (304, "output_invalid unknown"),
    ];
    for (status, expected) in table {
        let args = json!({"id": status, "q": null});
        let reply = bench.call("pager.get", args).await;
        let (words, text) = said(&reply);
        assert_eq!(words, expected, "{status}: {text}");
        assert!(reply.refused_args.is_empty(), "{status}: a server says so");
        assert!(text.contains(&status.to_string()), "{text}");
        if status >= 400 {
            assert!(text.contains("why [31m it failed"), "{text:?}");
            assert!(!reply.evidence.is_empty());
        }
    }
}

/// What the server does; class and landing; the same for `errors = "no_effect"`.
const FAULTS: [(&str, &str, &str); 15] = [
    ("drop", "unavailable unknown", "unavailable unknown"),
    ("drop in body", "unavailable unknown", "unavailable unknown"),
    ("garbage", "unavailable unknown", "unavailable unknown"),
    ("hang", "timeout unknown", "timeout unknown"),
    ("hang in body", "timeout unknown", "timeout unknown"),
    ("500", "unavailable unknown", "unavailable none"),
    ("418", "invalid_arguments unknown", "invalid_arguments none"),
    ("404", "not_found none", "not_found none"),
    ("303", "output_invalid unknown", "output_invalid unknown"),
    (
        "large",
        "output_invalid happened",
        "output_invalid happened",
    ),
    (
        "endless",
        "output_invalid happened",
        "output_invalid happened",
    ),
    (
        "no json",
        "output_invalid happened",
        "output_invalid happened",
    ),
    (
        "big number",
        "output_invalid happened",
        "output_invalid happened",
    ),
    ("fine", "ok happened", "ok happened"),
    ("empty", "ok happened", "ok happened"),
];

fn fault(name: &str) -> Act {
    let half = "HTTP/1.1 200 OK\r\ncontent-length: 50\r\n\r\n{\"a\":";
    let chunked = "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n";
    match name {
        "drop" => Act::Drop,
        "drop in body" => Act::Send(half.into()),
        "garbage" => Act::Send(b"no http at all\r\n\r\n".to_vec()),
        "hang" => Act::Hang(Vec::new()),
        "hang in body" => Act::Hang(half.into()),
        "303" => answer(303, "location: http://127.0.0.1:1/x\r\n", ""),
        "large" => json(200, &format!("\"{}\"", "x".repeat(5_000))),
        "endless" => Act::Hang(format!("{chunked}{}", "5\r\nxxxxx\r\n".repeat(1_000)).into()),
        "no json" => answer(200, "", "<html>"),
        "big number" => json(200, "{\"n\":9007199254740993}"),
        "fine" => json(200, "{\"n\":1.0}"),
        "empty" => answer(204, "", ""),
        status => json(status.parse().unwrap(), "{}"),
    }
}

#[tokio::test]
async fn a_fault_has_class_and_landing() {
    for (name, plain, sure) in FAULTS {
        let (server, bench) = against(move |_| fault(name)).await;
        let start = Instant::now();
        let reply = bench.call("pager.plain", json!({})).await;
        assert_eq!(said(&reply).0, plain, "{name}: {reply:?}");
        assert!(start.elapsed() < Duration::from_secs(2), "{name}");
        let reply = bench.call("pager.sure", json!({})).await;
        assert_eq!(said(&reply).0, sure, "{name}: {reply:?}");
        // The control: each call was sent once and only once, whatever came of it.
        assert_eq!(server.seen().len(), 2, "{name}");
    }
}

#[tokio::test]
async fn what_was_not_sent_has_not_landed() {
    let server = Server::start(|_| json(200, "{}")).await;
    let address = server.address;
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let closed = listener.local_addr().unwrap();
    drop(listener);
    for url in [
        format!("http://{closed}"),
        // Plain HTTP answers a TLS greeting with nothing a TLS client can use.
        format!("https://{address}"),
        "http://no-such-host.invalid".to_owned(),
    ] {
        let bench = Workspace::new().open(&tool(&url, ""));
        let reply = bench.call("pager.plain", json!({})).await;
        let (words, text) = said(&reply);
        assert_eq!(words, "unavailable none", "{url}: {text}");
        assert!(text.contains("the request was not sent"), "{text}");
    }
    assert_eq!(server.seen().len(), 0);
}

#[tokio::test]
async fn a_redirect_is_reported_and_not_followed() {
    let other = Server::start(|_| json(200, "{}")).await;
    let target = other.url();
    let (_server, bench) =
        against(move |_| answer(302, &format!("location: {target}/elsewhere\r\n"), "")).await;
    let (_, text) = said(&bench.call("pager.plain", json!({})).await);
    assert!(
        text.contains("/elsewhere`, which is not followed"),
        "{text}"
    );
    assert_eq!(other.seen().len(), 0);
}

#[tokio::test]
async fn a_server_may_ask_for_patience() {
    for (header, expected) in [("7", Some(7)), ("999999", Some(3_600)), ("soon", None)] {
        let (_server, bench) =
            against(move |_| answer(429, &format!("retry-after: {header}\r\n"), "")).await;
        let reply = bench.call("pager.plain", json!({})).await;
        assert_eq!(reply.retry_after, expected.map(Duration::from_secs));
    }
}

#[tokio::test]
async fn outputs_are_held_against_their_schema() {
    let (_server, bench) = against(|_| json(200, r#"{"delivered":"yes"}"#)).await;
    let args = json!({"message": "x"});
    let reply = bench
        .call_with_key("pager.notify", args.clone(), Some("k"))
        .await;
    let (words, text) = said(&reply);
    assert_eq!(words, "output_invalid happened");
    assert!(text.contains("/delivered"), "{text}");
    let reply = bench.call("pager.notify", args).await;
    assert_eq!(
        said(&reply).0,
        "tool_bug none",
        "a keyed call without its key"
    );
    let text = bench.output("pager.text", json!({})).await;
    assert_eq!(text, json!({"text": r#"{"delivered":"yes"}"#}));
}

const SECRET: &str = "tok\"en/12345é";

#[tokio::test]
async fn a_secret_goes_out_and_never_comes_back() {
    let server = Server::start(|seen| {
        let escaped = serde_json::to_string(SECRET).unwrap();
        let hidden = SECRET.replace('k', "\\u006b").replace('"', "\\\"");
        let auth = seen.header("x-key").is_some();
        let body = format!(
            "{{\"echo\":{escaped},\"hidden\":\"{hidden}\",\"auth\":{auth},\"message\":\
             \"{}{hidden}\"}}",
            "x".repeat(192)
        );
        let status = if seen.line.contains("/7/") { 400 } else { 200 };
        json(status, &body)
    })
    .await;
    for with_secret in [true, false] {
        let workspace = Workspace::new();
        workspace.write("secrets/token", format!("{SECRET}\n"));
        workspace.write("notes/leak.md", format!("before {SECRET} after\n"));
        let auth = if with_secret {
            "auth = { header = \"X-Key\", secret = \"file:secrets/token\" }"
        } else {
            ""
        };
        let files = "[tools.notes]\nkind = \"files\"\nroot = \"notes\"\n";
        let bench = workspace.open(&(tool(&server.url(), auth) + files));
        let get = json!({"id": 1, "q": null});
        let failed = json!({"id": 7, "q": null});
        let mut replies = vec![
            bench.call("pager.get", get).await,
            bench.call("pager.get", failed).await,
        ];
        for (name, args) in [
            ("notes.read", json!({"path": "leak.md"})),
            ("notes.search", json!({"glob": "*", "contains": "before"})),
        ] {
            replies.push(bench.call(name, args).await);
        }
        for reply in &replies {
            let evidence = String::from_utf8_lossy(&reply.evidence);
            let read: Value = serde_json::from_str(&evidence).unwrap_or_default();
            let all = format!("{:?} {evidence} {read:?} {:?}", reply.output, reply.message);
            // The control: where the secret is not configured, it shows.
            assert_eq!(all.contains("12345é"), !with_secret, "{all}");
            assert_eq!(all.contains("[redacted]"), with_secret, "{all}");
        }
        let first = replies[0].output.as_ref().unwrap();
        assert_eq!(first["auth"], with_secret);
        let seen = server.seen();
        let key = seen[seen.len() - 2]
            .header("x-key")
            .map(|key| key.contains("12345"));
        assert_eq!(key, with_secret.then_some(true));
    }
}

#[tokio::test]
async fn a_missing_secret_is_said_before_anything_is_sent() {
    let server = Server::start(|_| json(200, "{}")).await;
    let auth = "auth = { bearer = \"env:PROVOST_TEST_NO_SUCH\" }";
    let bench = Workspace::new().open(&tool(&server.url(), auth));
    let (words, text) = said(&bench.call("pager.plain", json!({})).await);
    assert_eq!(words, "unavailable none");
    assert!(
        text.contains("`env:PROVOST_TEST_NO_SUCH` is not set"),
        "{text}"
    );
    assert_eq!(bench.toolbox.troubles()[0].message, text);
    assert_eq!(server.seen().len(), 0);
}

#[tokio::test]
async fn who_sends_it_is_said_as_declared() {
    let server = Server::start(|_| json(200, "{}")).await;
    for (auth, header, value) in [
        (
            "{ bearer = \"file:t\" }",
            "authorization",
            "Bearer secret-value",
        ),
        (
            "{ user = \"u\", password = \"file:t\" }",
            "authorization",
            "Basic dTpzZWNyZXQtdmFsdWU=",
        ),
        (
            "{ header = \"X-Api-Key\", secret = \"file:t\" }",
            "x-api-key",
            "secret-value",
        ),
    ] {
        let workspace = Workspace::new();
        workspace.write("t", "secret-value");
        let more = format!("auth = {auth}\nheaders = {{ X-Client = \"provost\" }}");
        let bench = workspace.open(&tool(&server.url(), &more));
        bench.output("pager.plain", json!({})).await;
        let seen = server.seen().pop().unwrap();
        assert_eq!(seen.header(header), Some(value));
        assert_eq!(seen.header("x-client"), Some("provost"));
    }
}

#[tokio::test]
async fn a_key_may_travel_as_an_argument() {
    let server = Server::start(|_| json(200, "{}")).await;
    let bench = Workspace::new().open(&format!(
        r#"
[tools.p]
kind = "http"
base_url = "{}/v1/"
[tools.p.ops.pay]
request.method = "PUT"
request.path = "/pay/${{ key }}"
request.body = {{ request_id = "${{ args.request_id }}" }}
effect = "external"
idempotency = {{ key = {{ arg = "request_id", ttl = "1h" }} }}
"#,
        server.url()
    ));
    let reply = bench.call_with_key("p.pay", json!({}), Some("k/1")).await;
    assert_eq!(reply.class, Class::Ok, "{reply:?}");
    let seen = server.seen().pop().unwrap();
    assert_eq!(seen.line, "PUT /v1/pay/k%2F1 HTTP/1.1");
    assert_eq!(seen.body, r#"{"request_id":"k/1"}"#);
}

#[test]
fn a_secret_file_is_out_of_reach() {
    let workspace = Workspace::new();
    workspace
        .write("data/token", "secret-value")
        .write("data/a.md", "a");
    let files = "[tools.f]\nkind = \"files\"\nroot = \"data\"\n";
    assert_eq!(workspace.refusal(files), []);
    let auth = "auth = { bearer = \"file:data/token\" }";
    let errors = workspace.refusal(&(files.to_owned() + &tool("http://127.0.0.1:1", auth)));
    assert_eq!(errors.len(), 1);
    assert!(
        errors[0].to_string().contains("`data/token`"),
        "{}",
        errors[0]
    );
}
