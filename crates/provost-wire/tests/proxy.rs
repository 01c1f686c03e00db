//! The way through a proxy, against a small real one: what it is asked for, and what it never sees.
#![expect(clippy::panic, clippy::unwrap_used, reason = "tests")]

use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use provost_wire::SecretName;
use provost_wire::http::{BaseUrl, Client, Method, Proxy, Request, Response, SendError};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;

/// A server that keeps what it is asked and answers each time the same.
struct Server {
    url: String,
    asked: Arc<Mutex<Vec<String>>>,
}

impl Server {
    async fn answering(answer: &'static str) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let asked = Arc::new(Mutex::new(Vec::new()));
        let heard = asked.clone();
        tokio::spawn(async move {
            while let Ok((mut stream, _)) = listener.accept().await {
                let mut head = Vec::new();
                let mut buffer = [0u8; 1024];
                while !head.windows(4).any(|end| end == b"\r\n\r\n") {
                    match stream.read(&mut buffer).await {
                        Ok(read) if read > 0 => head.extend(buffer.iter().take(read)),
                        _ => break,
                    }
                }
                heard.lock().unwrap().push(String::from_utf8(head).unwrap());
                let _ = stream.write_all(answer.as_bytes()).await;
            }
        });
        Self { url, asked }
    }

    /// The first lines of what it was asked.
    fn lines(&self) -> Vec<String> {
        let asked = self.asked.lock().unwrap();
        let first = |text: &String| text.lines().next().unwrap_or_default().to_owned();
        asked.iter().map(first).collect()
    }
}

const OK: &str = "HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok";

fn proxy(url: &str) -> Proxy {
    Proxy::parse(url, Path::new(".")).unwrap()
}

async fn send(base: BaseUrl) -> Result<Response, SendError> {
    let request = Request {
        method: Method::Post,
        path: "/a".to_owned(),
        query: Vec::new(),
        headers: Vec::new(),
        auth: None,
        body: None,
        timeout: Duration::from_secs(2),
        max_bytes: 100,
    };
    Client::new(base).unwrap().send(request).await
}

fn at(text: &str, proxy: Proxy) -> BaseUrl {
    BaseUrl::parse(text).unwrap().through(Some(Arc::new(proxy)))
}

#[tokio::test]
async fn a_request_in_clear_is_handed_to_the_proxy_whole() {
    let server = Server::answering(OK).await;
    let answer = send(at("http://shop.invalid", proxy(&server.url)))
        .await
        .unwrap();
    assert_eq!(answer.body, b"ok");
    assert_eq!(server.lines(), ["POST http://shop.invalid/a HTTP/1.1"]);
}

/// Of what is encrypted the proxy sees the host and the port.
#[tokio::test]
async fn an_encrypted_one_goes_through_a_tunnel() {
    let server = Server::answering("HTTP/1.1 403 Forbidden\r\ncontent-length: 0\r\n\r\n").await;
    let refused = send(at("https://shop.invalid", proxy(&server.url))).await;
    assert!(
        matches!(refused, Err(SendError::NotSent { .. })),
        "{refused:?}"
    );
    assert_eq!(server.lines(), ["CONNECT shop.invalid:443 HTTP/1.1"]);
}

#[tokio::test]
async fn who_we_are_is_told_to_the_proxy_and_to_nobody_else() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("pw"), "open-sesame\n").unwrap();
    let server = Server::answering(OK).await;
    let name = SecretName::parse("file:pw").unwrap();
    let proxy = Proxy::parse(&server.url, dir.path()).unwrap();
    let proxy = proxy.with_auth("ada".to_owned(), name);
    assert!(!format!("{proxy} {proxy:?}").contains("sesame"));
    send(at("http://shop.invalid", proxy.clone()))
        .await
        .unwrap();
    let _ = send(at("https://shop.invalid", proxy.clone())).await;
    // "ada:open-sesame" in base64.
    let asked = server.asked.lock().unwrap().clone();
    for head in &asked {
        assert!(
            head.to_lowercase().contains("proxy-authorization: basic "),
            "{head}"
        );
        assert!(head.contains("YWRhOm9wZW4tc2VzYW1l"), "{head}");
    }
    assert_eq!(asked.len(), 2);
    std::fs::remove_file(dir.path().join("pw")).unwrap();
    let error = Client::new(at("http://shop.invalid", proxy)).unwrap_err();
    assert!(error.to_string().contains("file:pw"), "{error}");
}

/// The control: where the proxy is gone nothing is sent, and not to the server itself either.
#[tokio::test]
async fn a_proxy_that_is_gone_is_a_failure_and_never_a_detour() {
    let closed = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let gone = format!("http://{}", closed.local_addr().unwrap());
    drop(closed);
    for base in ["http://shop.invalid", "https://shop.invalid"] {
        let Err(SendError::NotSent { reason }) = send(at(base, proxy(&gone))).await else {
            panic!("{base} was sent");
        };
        // Why these words: a detour would have failed at the name.
        assert!(reason.contains("refused"), "{reason}");
    }
    let Err(SendError::NotSent { reason }) =
        send(BaseUrl::parse("http://shop.invalid").unwrap()).await
    else {
        panic!("it was sent");
    };
    assert!(!reason.contains("refused"), "{reason}");
}

#[tokio::test]
async fn what_lies_here_is_reached_without_it() {
    let (server, way) = (Server::answering(OK).await, Server::answering(OK).await);
    let port = server.url.rsplit(':').next().unwrap();
    for host in ["127.0.0.1", "localhost"] {
        let base = at(&format!("http://{host}:{port}"), proxy(&way.url));
        assert!(base.proxy().is_none());
        send(base).await.unwrap();
    }
    assert_eq!((server.lines().len(), way.lines().len()), (2, 0));
    let hosts = vec!["api.example.com".to_owned(), ".corp.example".to_owned()];
    let proxy = proxy(&way.url).without(hosts);
    let takes = |text: &str| at(text, proxy.clone()).proxy().is_some();
    for direct in [
        "http://10.1.2.3",
        "http://[::1]:80",
        "http://[fd00::1]",
        "http://169.254.169.254",
        "http://a.localhost",
        "https://API.example.com",
        "https://api.example.com.",
        "https://x.corp.example",
    ] {
        assert!(!takes(direct), "{direct}");
    }
    for through in [
        "https://corp.example",
        "http://1.1.1.1",
        "https://xapi.example.com",
    ] {
        assert!(takes(through), "{through}");
    }
    let named = at("https://inside.example.com", proxy.clone()).with_private(true);
    assert!(
        named.proxy().is_none(),
        "a private name is reached from here"
    );
}

/// A name that is known here is looked at before it is handed over.
#[tokio::test]
async fn a_name_of_a_private_address_is_not_handed_over() {
    let name = std::fs::read_to_string("/etc/hostname").unwrap_or_default();
    let own = format!("{}:0", name.trim());
    let found = tokio::net::lookup_host(own).await.into_iter().flatten();
    if !found.into_iter().any(|address| address.ip().is_loopback()) {
        // Why: whether this machine's name stands for itself, its administrator decides.
        return;
    }
    let way = Server::answering(OK).await;
    for scheme in ["http", "https"] {
        let base = at(&format!("{scheme}://{}", name.trim()), proxy(&way.url));
        assert!(base.proxy().is_some());
        let refused = send(base).await.unwrap_err();
        assert!(matches!(refused, SendError::NotSent { .. }), "{refused:?}");
        assert!(
            refused.to_string().contains("`private = true`"),
            "{refused}"
        );
    }
    assert_eq!(way.lines().len(), 0);
}

#[test]
fn a_proxy_is_a_host_and_a_port() {
    for wrong in [
        "https://proxy.example.com:3128",
        "socks5://proxy.example.com",
        "http://ada:open-sesame@proxy.example.com",
        "http://proxy.example.com/path",
        "proxy.example.com:3128",
    ] {
        let error = Proxy::parse(wrong, Path::new(".")).unwrap_err().to_string();
        assert!(!error.contains("sesame"), "{error}");
    }
    let shown = proxy("http://proxy.example.com:3128").without(vec![".corp.example".to_owned()]);
    assert_eq!(
        shown.to_string(),
        "http://proxy.example.com:3128, but not to .corp.example"
    );
}
