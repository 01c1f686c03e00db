//! The client against real sockets: what was sent, what came back, and what never left.
#![expect(clippy::unwrap_used, reason = "tests")]

use std::time::{Duration, Instant};

use provost_wire::http::{
    AddressKind, BaseUrl, Client, Method, Request, Response, SendError, address_kind,
};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;

fn request(path: &str) -> Request<'static> {
    Request {
        method: Method::Post,
        path: path.to_owned(),
        query: Vec::new(),
        headers: Vec::new(),
        auth: None,
        body: None,
        timeout: Duration::from_millis(500),
        max_bytes: 100,
    }
}

async fn send(base: &str, request: Request<'_>) -> Result<Response, SendError> {
    Client::new(BaseUrl::parse(base).unwrap())
        .unwrap()
        .send(request)
        .await
}

/// Answers each connection with these bytes after it has read something; then waits or closes.
async fn server(bytes: impl Into<Vec<u8>>, keep_open: bool) -> String {
    let bytes = bytes.into();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let bytes = bytes.clone();
            tokio::spawn(async move {
                let mut buffer = [0u8; 4096];
                let _ = stream.read(&mut buffer).await;
                let _ = stream.write_all(&bytes).await;
                if keep_open {
                    tokio::time::sleep(Duration::from_secs(20)).await;
                }
            });
        }
    });
    url
}

#[tokio::test]
async fn an_answer_is_read_whole() {
    let url = server(
        b"HTTP/1.1 201 Created\r\ncontent-type: text/x\r\nretry-after: 3\r\n\
          content-length: 2\r\n\r\nok",
        true,
    )
    .await;
    let answer = send(&url, request("/a")).await.unwrap();
    assert!(answer.is_success());
    assert_eq!(
        (
            answer.status,
            answer.media.as_str(),
            answer.body.as_slice(),
            answer.retry_after
        ),
        (
            201,
            "text/x",
            b"ok".as_slice(),
            Some(Duration::from_secs(3))
        )
    );
}

#[tokio::test]
async fn after_the_connection_stands_a_timeout_is_unknown() {
    let url = server(b"", true).await;
    assert_eq!(send(&url, request("/a")).await, Err(SendError::TimedOut));
    let url = server(b"HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nab", true).await;
    assert_eq!(send(&url, request("/a")).await, Err(SendError::TimedOut));
    let url = server(b"HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nab", false).await;
    assert!(matches!(
        send(&url, request("/a")).await,
        Err(SendError::Lost { .. })
    ));
}

#[tokio::test]
async fn before_it_stands_nothing_was_sent() {
    // A server that accepts and says nothing never ends the TLS greeting.
    let silent = server(b"", true).await.replace("http:", "https:");
    let refused = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let closed = format!("http://{}", refused.local_addr().unwrap());
    drop(refused);
    // An address set aside for documentation: nobody answers, or nobody lets it out.
    for url in [
        silent.as_str(),
        closed.as_str(),
        "http://192.0.2.1:9",
        "http://nowhere.invalid",
    ] {
        let start = Instant::now();
        let result = send(url, request("/a")).await;
        assert!(
            matches!(result, Err(SendError::NotSent { .. })),
            "{url}: {result:?}"
        );
        assert!(start.elapsed() < Duration::from_secs(3));
    }
}

#[tokio::test]
async fn an_answer_has_a_size() {
    let large = format!(
        "HTTP/1.1 200 OK\r\ncontent-length: 101\r\n\r\n{}",
        "a".repeat(101)
    );
    let url = server(large, true).await;
    assert_eq!(
        send(&url, request("/a")).await,
        Err(SendError::TooLarge { max: 100 })
    );
    let fits = Request {
        max_bytes: 101,
        ..request("/a")
    };
    assert_eq!(send(&url, fits).await.unwrap().body.len(), 101);
    // Of an error only the beginning is kept, and its status counts.
    let error = b"HTTP/1.1 500 No\r\ncontent-length: 5000\r\n\r\nbroken";
    let url = server(error, false).await;
    let answer = send(&url, request("/a")).await.unwrap();
    assert_eq!(
        (answer.status, answer.body.as_slice()),
        (500, b"broken".as_slice())
    );
}

#[tokio::test]
async fn a_path_that_would_change_is_not_sent() {
    let url = server(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n", false).await;
    for path in [
        "/a/../b",
        "/a/%2e%2E/b",
        "/a b",
        "/a?b",
        "/a#b",
        "/a\\b",
        "/é",
    ] {
        let result = send(&url, request(path)).await;
        assert!(
            matches!(result, Err(SendError::NotSent { .. })),
            "{path}: {result:?}"
        );
    }
    for path in [
        "/a/b",
        "/",
        "/a%2F..%2Fb",
        "//evil.example/x",
        "/@evil.example",
    ] {
        assert!(send(&url, request(path)).await.is_ok(), "{path}");
    }
    let split = Request {
        headers: vec![("x-a".to_owned(), "1\r\nx-b: 2".to_owned())],
        ..request("/a")
    };
    assert!(matches!(
        send(&url, split).await,
        Err(SendError::NotSent { .. })
    ));
}

#[test]
fn a_base_names_one_host() {
    for good in [
        "http://127.0.0.1:4517",
        "https://api.example.com/v1/",
        "http://[::1]:80",
    ] {
        assert!(BaseUrl::parse(good).is_ok(), "{good}");
    }
    for wrong in [
        "",
        "x",
        "ftp://h",
        "file:///etc/passwd",
        "http://",
        "http://u:p@h",
        "http://h?x=1",
        "http://h#f",
        "data:text/plain,x",
    ] {
        let error = BaseUrl::parse(wrong).unwrap_err().to_string();
        assert!(!error.contains("u:p"), "{error}");
    }
}

/// What an address is to a name, by the word before it.
const ADDRESSES: &str = "
open    8.8.8.8 1.1.1.1 93.184.216.34 2606:4700::1111 192.0.1.1 100.128.0.1 172.32.0.1 64:ff9b::808:808
private 127.0.0.1 127.255.255.254 10.1.2.3 172.16.0.1 172.31.255.255 192.168.0.1 100.64.0.1 ::1 fd00::1
private ::ffff:127.0.0.1 ::ffff:10.0.0.1 ::127.0.0.1 64:ff9b::7f00:1 ::ffff:7f00:1 fc00::1
never   169.254.169.254 169.254.0.1 0.0.0.0 0.1.2.3 224.0.0.1 255.255.255.255 100.100.100.200 192.0.0.192
never   fe80::1 :: ff02::1 ::ffff:169.254.169.254 ::ffff:a9fe:a9fe ::169.254.169.254 64:ff9b::a9fe:a9fe
never   fd00:ec2::254 ::ffff:0.0.0.0
";

#[test]
fn a_name_does_not_stand_for_every_address() {
    for line in ADDRESSES.lines().filter(|line| !line.is_empty()) {
        let mut words = line.split_whitespace();
        let expected = match words.next() {
            Some("open") => AddressKind::Public,
            Some("private") => AddressKind::Private,
            _ => AddressKind::Reserved,
        };
        for address in words {
            assert_eq!(
                address_kind(address.parse().unwrap()),
                expected,
                "{address}"
            );
        }
    }
}

/// `localhost` is what it says; another name of this machine has to be called private.
#[tokio::test]
async fn a_name_of_this_machine_is_reached_where_the_operator_says_so() {
    let url = server(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n", false).await;
    let local = url.replace("127.0.0.1", "localhost");
    assert!(send(&local, request("/a")).await.is_ok());
    let name = std::fs::read_to_string("/etc/hostname").unwrap_or_default();
    let own = format!("{}:0", name.trim());
    let found = tokio::net::lookup_host(own).await.into_iter().flatten();
    if !found.into_iter().any(|address| address.ip().is_loopback()) {
        // Why: whether this machine's name stands for itself, its administrator decides.
        return;
    }
    let named = url.replace("127.0.0.1", name.trim());
    let refused = send(&named, request("/a")).await.unwrap_err().to_string();
    assert!(refused.contains("`private = true`"), "{refused}");
    let base = BaseUrl::parse(&named).unwrap().with_private(true);
    let client = Client::new(base).unwrap();
    assert!(client.send(request("/a")).await.is_ok());
}
