//! TLS in the process: a real handshake, who does not get one, and a certificate that is renewed.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::sync::Arc;
use std::time::{Duration, Instant};

use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};
use serde_json::Value;

use super::served::{self, Served, team, token};
use super::workplace::Workplace;

/// A certificate of `localhost` and 127.0.0.1, its key, and the authority that gave it.
const CERT: &str = include_str!("../../../../corpus/tls/server.pem");
const KEY: &str = include_str!("../../../../corpus/tls/server.key");
const AUTHORITY: &str = include_str!("../../../../corpus/tls/ca.pem");

/// The next ones, by another authority.
const RENEWED_CERT: &str = include_str!("../../../../corpus/tls/renewed.pem");
const RENEWED_KEY: &str = include_str!("../../../../corpus/tls/renewed.key");
const RENEWED_AUTHORITY: &str = include_str!("../../../../corpus/tls/renewed-ca.pem");

const TLS: &str = "\n[server]\ntls = { cert = \"tls/cert.pem\", key = \"file:tls/key.pem\" }\n";

/// A team whose server speaks TLS.
pub fn secured() -> Workplace {
    let place = team();
    place.write("tls/cert.pem", CERT);
    place.write("tls/key.pem", KEY);
    let config = std::fs::read_to_string(place.path("provost.toml")).unwrap();
    place.write("provost.toml", config + TLS);
    place
}

/// A client that believes this authority, and names no protocol.
fn client(authority: &str) -> Arc<ClientConfig> {
    Arc::new(config_of(authority, &[]))
}

/// What a client that believes the first authority, and speaks these protocols, shakes hands with.
pub fn config(protocols: &[&str]) -> ClientConfig {
    config_of(AUTHORITY, protocols)
}

fn config_of(authority: &str, protocols: &[&str]) -> ClientConfig {
    let mut roots = RootCertStore::empty();
    for one in CertificateDer::pem_slice_iter(authority.as_bytes()) {
        roots.add(one.unwrap()).unwrap();
    }
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = ClientConfig::builder_with_provider(provider);
    let builder = builder.with_safe_default_protocol_versions().unwrap();
    let mut config = builder.with_root_certificates(roots).with_no_client_auth();
    let named = protocols.iter().map(|name| name.as_bytes().to_vec());
    config.alpn_protocols = named.collect();
    config
}

/// What comes back after a handshake under a name; else why there was none.
fn ask(
    server: &Served,
    known: (Arc<ClientConfig>, &'static str),
    line: &str,
    heads: &str,
) -> Result<String, String> {
    ask_bytes(server, known, line, heads.as_bytes())
}

/// The same with headers that need not be text.
fn ask_bytes(
    server: &Served,
    (config, name): (Arc<ClientConfig>, &'static str),
    line: &str,
    heads: &[u8],
) -> Result<String, String> {
    let name = ServerName::try_from(name).unwrap();
    let tls = ClientConnection::new(config, name).unwrap();
    let stream = TcpStream::connect(&server.host).unwrap();
    stream
        .set_read_timeout(Some(Duration::from_secs(30)))
        .unwrap();
    let mut tls = StreamOwned::new(tls, stream);
    let host = &server.host;
    let line = format!("{line} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n");
    let text = [line.as_bytes(), heads, b"\r\n"].concat();
    tls.write_all(&text).map_err(|error| error.to_string())?;
    let mut answer = Vec::new();
    // Why ignored: who ends the connection need not say goodbye.
    let _ = tls.read_to_end(&mut answer);
    Ok(String::from_utf8(answer).unwrap())
}

#[test]
fn people_come_in_by_a_certificate_that_their_browser_believes() {
    let place = secured();
    let server = Served::of(&place);
    assert_eq!(server.printed, format!("https://{}", server.host));
    let bearer = format!(
        "Authorization: Bearer {}\r\n",
        token(&place, "ci", "ada", &[])
    );
    for name in ["127.0.0.1", "localhost"] {
        let known = (client(AUTHORITY), name);
        let me = ask(&server, known, "GET /v1/me", &bearer).unwrap();
        assert!(me.starts_with("HTTP/1.1 200"), "{me}");
        assert!(me.contains("\"person\":\"ada\""), "{me}");
        let head = me.to_lowercase();
        assert!(head.contains("strict-transport-security: max-age"), "{me}");
    }
    // A session is for https alone, and of this host alone.
    let link = place.run(&["invite", "ada"]).exits(0).raw_stdout;
    assert!(link.starts_with(&server.printed), "{link}");
    let body = format!("code={}", Served::code(&link));
    let heads = format!(
        "Sec-Fetch-Site: same-origin\r\nContent-Type: application/x-www-form-urlencoded\r\n\
         Content-Length: {}\r\n\r\n{body}",
        body.len()
    );
    let known = (client(AUTHORITY), "localhost");
    let signed_in = ask(&server, known, "POST /login/link", &heads).unwrap();
    let cookie = signed_in.lines().find(|line| {
        let line = line.to_lowercase();
        line.starts_with("set-cookie: __host-provost=")
    });
    let cookie = cookie.unwrap_or_else(|| panic!("{signed_in}"));
    assert!(cookie.contains("; Secure; SameSite=Lax"), "{cookie}");
    // The controls: who does not believe the authority, or meant another name, says nothing; and
    // who speaks without TLS is not answered.
    for stranger in [
        (client(""), "localhost"),
        (client(AUTHORITY), "evil.example"),
    ] {
        let refused = ask(&server, stranger, "GET /v1/me", &bearer).unwrap_err();
        assert!(refused.contains("certificate"), "{refused}");
    }
    let plain = server.send("GET /healthz", &[("Host", server.host.as_str())], "");
    assert_eq!(plain.status, 0, "{plain:?}");
    // Connections that never shake hands keep nobody out.
    let silent = || TcpStream::connect(&server.host).unwrap();
    let _held: Vec<TcpStream> = (0..200).map(|_| silent()).collect();
    let known = (client(AUTHORITY), "localhost");
    let alive = ask(&server, known, "GET /healthz", "").unwrap();
    assert!(alive.starts_with("HTTP/1.1 200"), "{alive}");
    assert_eq!(server.end(), Some(0));
}

#[test]
fn a_certificate_that_cannot_be_shown_is_found_before_anybody_comes() {
    let place = secured();
    let refused = |more: &[&str], words: &str| {
        let args = [&["serve", "--listen", "127.0.0.1:0"], more].concat();
        let ran = place.run(&args).exits(2);
        assert!(ran.stderr.contains(words), "{words}: {ran}");
    };
    refused(&["--url", "http://localhost:4520"], "is not https");
    place.write("tls/key.pem", "no key");
    refused(&[], "tls/key.pem: ");
    place.write("tls/key.pem", KEY);
    place.write("tls/cert.pem", AUTHORITY);
    refused(&[], "tls/key.pem: ");
    place.write("tls/cert.pem", "nothing");
    refused(&[], "there is no certificate in it");
    // An address that other machines reach has a name, and somebody who speaks TLS.
    let to_all = |place: &Workplace, more: &[&str]| {
        let args = [&["serve", "--listen", "0.0.0.0:0"], more].concat();
        place.run(&args).exits(2)
    };
    let named = ["--url", "https://provost.example.com"];
    for (place, more) in [(&place, &[][..]), (&team(), &named)] {
        let ran = to_all(place, more);
        assert!(ran.stderr.contains("other machines"), "{ran}");
    }
    // The control: with both it is the certificate that is looked at.
    let ran = to_all(&place, &named);
    assert!(
        ran.stderr.contains("there is no certificate in it"),
        "{ran}"
    );
    place.edit("provost.toml", "file:tls/key.pem", "tls/key.pem");
    refused(&[], "named by `file:PATH`");
}

/// Another name of the same site, say `other.example.com` beside `provost.example.com`, can set a
/// cookie for both. Browsers refuse it the name `__Host-…`, and that is the only one that counts.
#[test]
fn no_other_name_of_the_site_signs_anybody_in_or_out() {
    let place = secured();
    let server = Served::of(&place);
    let [ours, planted] = ["ada", "bo"].map(|who| {
        let link = place.run(&["invite", who]).exits(0).raw_stdout;
        let body = format!("code={}", Served::code(&link));
        let heads = format!(
            "Sec-Fetch-Site: same-origin\r\nContent-Type: application/x-www-form-urlencoded\r\n\
             Content-Length: {}\r\n\r\n{body}",
            body.len()
        );
        let known = (client(AUTHORITY), "localhost");
        let signed_in = ask(&server, known, "POST /login/link", &heads).unwrap();
        let [cookie] = &served::read(&signed_in).cookies[..] else {
            panic!("{signed_in}");
        };
        // What a browser asks of the prefix: https, every path, and no site but this very name.
        let parts: Vec<String> = cookie
            .split(';')
            .map(|part| part.trim().to_lowercase())
            .collect();
        assert!(
            ["secure", "path=/"]
                .iter()
                .all(|part| parts.contains(&(*part).to_owned()))
        );
        assert!(
            !parts.iter().any(|part| part.starts_with("domain")),
            "{cookie}"
        );
        let (name, secret) = cookie.split(';').next().unwrap().split_once('=').unwrap();
        assert_eq!(name, "__Host-provost");
        secret.to_owned()
    });
    let who = |cookie: &[u8]| -> Option<String> {
        let known = (client(AUTHORITY), "localhost");
        let heads = [b"Cookie: ", cookie, b"\r\n"].concat();
        let answer = ask_bytes(&server, known, "GET /v1/me", &heads).unwrap();
        let answer = served::read(&answer);
        match answer.status {
            200 => Some(answer.json()["person"].as_str().unwrap().to_owned()),
            401 => None,
            _ => panic!("{answer:?}"),
        }
    };
    let named = |name: &str, secret: &str| format!("{name}={secret}").into_bytes();
    let of_ada = named("__Host-provost", &ours);
    assert_eq!(who(&of_ada).as_deref(), Some("ada"));
    let nearly = [
        "provost",
        "__Secure-provost",
        "__host-provost",
        "__Host-Provost",
        "%5F%5FHost-provost",
        "\"__Host-provost\"",
        "__Host-provost ; a",
        "a=__Host-provost",
        "\u{a0}__Host-provost",
        "\u{2000}__Host-provost",
        "__Host-provost\u{3000}",
        "\u{feff}__Host-provost",
    ];
    for name in nearly {
        let theirs = named(name, &planted);
        assert_eq!(who(&theirs), None, "{name}");
        for both in [[&theirs, &of_ada], [&of_ada, &theirs]] {
            let both = both.map(Vec::as_slice).join(&b"; "[..]);
            assert_eq!(who(&both).as_deref(), Some("ada"), "{name}");
        }
    }
    // What is no text at all is nobody's cookie, and takes none away.
    let no_text = [&b"\xff\xfe=1; "[..], &of_ada].concat();
    assert_eq!(who(&no_text).as_deref(), Some("ada"));
    // The controls: under the name that browsers keep for this server it is bo's, and of two with
    // that name, which only a browser without the rule sends, none counts.
    let of_bo = named("__Host-provost", &planted);
    assert_eq!(who(&of_bo).as_deref(), Some("bo"));
    assert_eq!(who(&[&of_bo[..], b"; ", &of_ada].concat()), None);
}

/// Whoever renews a certificate writes its files, and nobody is signed out or has to come again.
#[test]
fn a_certificate_that_was_renewed_is_shown_without_a_restart() {
    let place = secured();
    let server = Served::of(&place);
    let [bearer, governs] = ["ada", "chi"].map(|name| {
        let token = token(&place, name, name, &[]);
        format!("Authorization: Bearer {token}\r\n")
    });
    let asked = |authority: &str, line: &str, heads: &str| {
        ask(&server, (client(authority), "localhost"), line, heads)
    };
    let shows = |authority: &str| asked(authority, "GET /healthz", "").is_ok();
    let workspace = |bearer: &str| -> Value {
        let last = [AUTHORITY, RENEWED_AUTHORITY].map(|authority| {
            let answer = asked(authority, "GET /v1/workspace", bearer);
            answer.map(|text| served::read(&text).json())
        });
        last.into_iter().find_map(Result::ok).unwrap()
    };
    let refused = || workspace(&governs)["certificate"]["refused"].clone();
    let until = |holds: &dyn Fn() -> bool| {
        let began = Instant::now();
        while !holds() {
            assert!(began.elapsed() < Duration::from_secs(60), "{}", refused());
            std::thread::sleep(Duration::from_millis(50));
        }
    };
    assert!(shows(AUTHORITY) && !shows(RENEWED_AUTHORITY));
    // A connection from before, which says nothing yet.
    let name = ServerName::try_from("localhost").unwrap();
    let tls = ClientConnection::new(client(AUTHORITY), name).unwrap();
    let mut before = StreamOwned::new(tls, TcpStream::connect(&server.host).unwrap());
    let begun = format!("GET /healthz HTTP/1.1\r\nHost: {}\r\n", server.host);
    before.write_all(begun.as_bytes()).unwrap();
    // The files are written one after the other: between them they do not fit.
    place.write("tls/cert.pem", RENEWED_CERT);
    place.write("tls/key.pem", RENEWED_KEY);
    until(&|| shows(RENEWED_AUTHORITY));
    assert!(!shows(AUTHORITY), "that of before is still shown");
    before.write_all(b"Connection: close\r\n\r\n").unwrap();
    let mut answer = Vec::new();
    let _ = before.read_to_end(&mut answer);
    assert!(answer.starts_with(b"HTTP/1.1 200"), "{answer:?}");
    // What cannot be shown changes nothing, whatever is wrong with it, and is not for ever.
    for (file, text, why) in [
        ("tls/cert.pem", CERT, "tls/key.pem: "),
        ("tls/cert.pem", "nothing", "there is no certificate in it"),
        ("tls/key.pem", "no key", "tls/key.pem: "),
    ] {
        let right = [("tls/cert.pem", RENEWED_CERT), ("tls/key.pem", RENEWED_KEY)];
        right
            .iter()
            .for_each(|(file, text)| place.write(file, text));
        until(&|| refused().is_null());
        place.write(file, text);
        until(&|| {
            refused()["detail"]
                .as_str()
                .is_some_and(|said| said.contains(why))
        });
        assert!(shows(RENEWED_AUTHORITY), "{file}");
    }
    std::fs::remove_file(place.path("tls/cert.pem")).unwrap();
    until(&|| {
        refused()["detail"]
            .as_str()
            .is_some_and(|said| said.contains("No such file"))
    });
    // Who governs is told which file it is, and nobody else.
    let told = workspace(&bearer);
    assert_eq!(told["certificate"]["refused"]["detail"], Value::Null);
    place.write("tls/cert.pem", CERT);
    place.write("tls/key.pem", KEY);
    until(&|| shows(AUTHORITY) && refused().is_null());
    assert_eq!(server.end(), Some(0));
}
