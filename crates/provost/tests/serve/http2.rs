//! HTTP/2, as browsers speak it: many requests on one connection, and what one may not take.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::sync::Arc;
use std::time::{Duration, Instant};

use reqwest::{Client, Version};
use rustls::pki_types::ServerName;
use rustls::{ClientConnection, StreamOwned};
use serde_json::Value;

use super::served::{Served, token};
use super::tls::{config, secured};

/// A client that speaks these protocols over TLS.
fn client(protocols: &[&str]) -> Client {
    let builder = Client::builder().tls_backend_preconfigured(config(protocols));
    let builder = builder.redirect(reqwest::redirect::Policy::none());
    builder.timeout(Duration::from_secs(60)).build().unwrap()
}

fn wait<T>(of: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread();
    { runtime }.enable_all().build().unwrap().block_on(of)
}

#[test]
fn one_connection_has_a_stream_and_many_requests_at_once() {
    let place = secured();
    let server = Served::of(&place);
    let bearer = format!("Bearer {}", token(&place, "ci", "ada", &[]));
    let url = |path: &str| format!("https://{}{path}", server.host);
    wait(async {
        let client = client(&["h2", "http/1.1"]);
        let get = |path: &str| {
            client
                .get(url(path))
                .header("authorization", &bearer)
                .send()
        };
        let mut stream = get("/v1/events").await.unwrap();
        assert_eq!(
            (stream.status().as_u16(), stream.version()),
            (200, Version::HTTP_2)
        );
        let asked = (0..100).map(|_| async {
            let me = get("/v1/me").await.unwrap();
            assert_eq!((me.status().as_u16(), me.version()), (200, Version::HTTP_2));
            let text = me.text().await.unwrap();
            assert_eq!(
                serde_json::from_str::<Value>(&text).unwrap()["person"],
                "ada"
            );
        });
        futures_of(asked).await;
        // Who has a request open is not silent, whatever else of the connection was answered, and
        // keeps its place where others have nothing to say.
        let silent = || TcpStream::connect(&server.host).unwrap();
        let _held: Vec<TcpStream> = (0..200).map(|_| silent()).collect();
        let begun = { client.post(url("/v1/runs")) }
            .header("authorization", &bearer)
            .json(&serde_json::json!({ "goal": "Count the orders of ada" }))
            .send();
        let begun = begun.await.unwrap();
        assert_eq!(begun.status().as_u16(), 201);
        let mut told = String::new();
        while !told.contains("RunEnded") {
            let part = stream.chunk().await.unwrap().unwrap();
            told.push_str(&String::from_utf8_lossy(&part));
        }
        // It ends with the server, which says so.
        server.tell("-TERM");
        while let Some(part) = stream.chunk().await.unwrap() {
            told.push_str(&String::from_utf8_lossy(&part));
        }
        assert!(
            told.contains("event: bye") && told.contains("halting"),
            "{told}"
        );
    });
    assert_eq!(server.ended(), Some(0));
}

/// All of them at once.
async fn futures_of(all: impl Iterator<Item = impl Future<Output = ()>>) {
    let mut all: Vec<_> = all.map(Box::pin).collect();
    std::future::poll_fn(|context| {
        all.retain_mut(|one| one.as_mut().poll(context).is_pending());
        match all.is_empty() {
            true => std::task::Poll::Ready(()),
            false => std::task::Poll::Pending,
        }
    })
    .await;
}

/// What a handshake agrees on counts, and nothing else: without TLS it is HTTP/1.1.
#[test]
fn who_does_not_ask_for_it_speaks_as_before() {
    let place = secured();
    let server = Served::of(&place);
    let bearer = format!("Bearer {}", token(&place, "ci", "ada", &[]));
    let link = place.run(&["invite", "ada"]).exits(0).raw_stdout;
    let url = |path: &str| format!("https://{}{path}", server.host);
    for (protocols, version) in [
        (&["h2"][..], Version::HTTP_2),
        (&["http/1.1"], Version::HTTP_11),
        (&[], Version::HTTP_11),
    ] {
        wait(async {
            let client = client(protocols);
            let asked = { client.get(url("/v1/me")) }.header("authorization", &bearer);
            let me = asked.send().await.unwrap();
            assert_eq!((me.status().as_u16(), me.version()), (200, version));
        });
    }
    // A browser sends each cookie as a header of its own, and is known by the one that is ours.
    wait(async {
        let client = client(&["h2"]);
        let form = format!("code={}", Served::code(&link));
        let sign_in = { client.post(url("/login/link")) }
            .header("sec-fetch-site", "same-origin")
            .header("content-type", "application/x-www-form-urlencoded");
        let signed_in = sign_in.body(form).send().await.unwrap();
        let cookie = signed_in.headers()["set-cookie"].to_str().unwrap();
        let cookie = cookie.split(';').next().unwrap().to_owned();
        let with = |cookies: &[&str]| {
            let asked = client.get(url("/v1/me"));
            let asked = cookies
                .iter()
                .fold(asked, |asked, one| asked.header("cookie", *one));
            async move { asked.send().await.unwrap().status().as_u16() }
        };
        assert_eq!(with(&["a=1", &cookie, "b=2"]).await, 200);
        assert_eq!(with(&["a=1", "b=2"]).await, 401);
        assert_eq!(with(&[&cookie, &cookie]).await, 401);
        // A page of this very site may change something, and one of another may not.
        for (origin, status) in [(url(""), 200), ("https://evil.example".to_owned(), 403)] {
            let stop = { client.put(url("/v1/stops/principal/ada")) }
                .header("cookie", &cookie)
                .header("origin", origin)
                .json(&serde_json::json!({ "reason": "x" }));
            assert_eq!(stop.send().await.unwrap().status().as_u16(), status);
        }
    });
}

/// A client of HTTP/2 that says exactly what it is told to.
struct Frames(StreamOwned<ClientConnection, TcpStream>);

impl Frames {
    /// After the handshake, before a word.
    fn of(server: &Served) -> Self {
        let name = ServerName::try_from("localhost").unwrap();
        let mut tls = ClientConnection::new(Arc::new(config(&["h2"])), name).unwrap();
        let mut stream = TcpStream::connect(&server.host).unwrap();
        let patience = Some(Duration::from_secs(60));
        stream.set_read_timeout(patience).unwrap();
        while tls.is_handshaking() {
            tls.complete_io(&mut stream).unwrap();
        }
        assert_eq!(tls.alpn_protocol(), Some(&b"h2"[..]));
        Self(StreamOwned::new(tls, stream))
    }

    fn greeted(server: &Served) -> Self {
        let mut frames = Self::of(server);
        frames
            .0
            .write_all(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n")
            .unwrap();
        frames.write(4, 0, 0, &[]);
        frames
    }

    fn write(&mut self, kind: u8, flags: u8, stream: u32, payload: &[u8]) {
        let length = u32::try_from(payload.len()).unwrap().to_be_bytes();
        let mut frame = length[1..].to_vec();
        frame.extend([kind, flags]);
        frame.extend(stream.to_be_bytes());
        frame.extend(payload);
        self.0.write_all(&frame).unwrap();
        self.0.flush().unwrap();
    }

    /// A request without a body, with exactly these headers.
    fn ask(&mut self, stream: u32, heads: &[(&str, &str)]) {
        let mut block = Vec::new();
        for (name, value) in heads {
            block.push(0);
            for text in [name, value] {
                block.push(u8::try_from(text.len()).unwrap());
                block.extend(text.as_bytes());
            }
        }
        self.write(1, 5, stream, &block);
    }

    /// The next frame: its kind and what it holds; none if the connection ended.
    fn read(&mut self) -> Option<(u8, Vec<u8>)> {
        let mut head = [0; 9];
        self.0.read_exact(&mut head).ok()?;
        let length = u32::from_be_bytes([0, head[0], head[1], head[2]]);
        let mut payload = vec![0; length.try_into().unwrap()];
        self.0.read_exact(&mut payload).ok()?;
        Some((head[3], payload))
    }

    /// The status of the next answer, as its first field has it.
    fn status(&mut self) -> u16 {
        loop {
            let (kind, payload) = self.read().unwrap();
            if kind != 1 {
                continue;
            }
            let at = payload.iter().position(|byte| byte >> 5 != 1).unwrap();
            return match payload[at..] {
                [0x88, ..] => 200,
                [_, 0x82, 0x68, 0x01, ..] => 401,
                [_, 0x82, 0x68, 0x41, ..] => 421,
                _ => panic!("{payload:x?}"),
            };
        }
    }
}

#[test]
fn a_request_under_another_name_is_for_another_server() {
    let place = secured();
    let server = Served::of(&place);
    let ours = server.host.clone();
    let asked = [
        (Some(ours.as_str()), None, 200),
        (Some(&ours), Some(ours.as_str()), 200),
        (None, Some(&ours), 200),
        (None, None, 421),
        (Some("evil.example"), None, 421),
        (Some("evil.example"), Some(&ours), 421),
        (Some(&ours), Some("evil.example"), 421),
        (Some("evil.example@127.0.0.1"), None, 421),
    ];
    for (authority, host, status) in asked {
        // Why anew: what was answered before is answered shorter.
        let mut frames = Frames::greeted(&server);
        let mut heads = vec![
            (":method", "GET"),
            (":scheme", "https"),
            (":path", "/healthz"),
        ];
        heads.extend(authority.map(|name| (":authority", name)));
        heads.extend(host.map(|name| ("host", name)));
        frames.ask(1, &heads);
        assert_eq!(frames.status(), status, "{authority:?} {host:?}");
    }
}

/// Neither who shakes hands and says nothing, nor who greets and asks nothing, is waited for.
#[test]
fn a_silent_connection_ends_and_holds_nothing_up() {
    let place = secured();
    let server = Served::of(&place);
    let began = Instant::now();
    for mut frames in [Frames::of(&server), Frames::greeted(&server)] {
        while frames.read().is_some() {}
    }
    assert!(
        began.elapsed() < Duration::from_secs(50),
        "{:?}",
        began.elapsed()
    );
    let _still = [Frames::of(&server), Frames::greeted(&server)];
    let began = Instant::now();
    assert_eq!(server.end(), Some(0));
    assert!(
        began.elapsed() < Duration::from_secs(10),
        "{:?}",
        began.elapsed()
    );
}
