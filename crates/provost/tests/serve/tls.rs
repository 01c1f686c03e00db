//! TLS in the process: a real handshake, and who does not get one.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::sync::Arc;
use std::time::Duration;

use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};

use super::served::{Served, team, token};
use super::workplace::Workplace;

/// A certificate of `localhost` and 127.0.0.1, its key, and the authority that gave it.
const CERT: &str = include_str!("../../../../corpus/tls/server.pem");
const KEY: &str = include_str!("../../../../corpus/tls/server.key");
const AUTHORITY: &str = include_str!("../../../../corpus/tls/ca.pem");

const TLS: &str = "\n[server]\ntls = { cert = \"tls/cert.pem\", key = \"file:tls/key.pem\" }\n";

/// A team whose server speaks TLS.
fn secured() -> Workplace {
    let place = team();
    place.write("tls/cert.pem", CERT);
    place.write("tls/key.pem", KEY);
    let config = std::fs::read_to_string(place.path("provost.toml")).unwrap();
    place.write("provost.toml", config + TLS);
    place
}

/// A client that believes this authority.
fn client(authority: &str) -> Arc<ClientConfig> {
    let mut roots = RootCertStore::empty();
    for one in CertificateDer::pem_slice_iter(authority.as_bytes()) {
        roots.add(one.unwrap()).unwrap();
    }
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = ClientConfig::builder_with_provider(provider);
    let builder = builder.with_safe_default_protocol_versions().unwrap();
    Arc::new(builder.with_root_certificates(roots).with_no_client_auth())
}

/// What comes back after a handshake under a name; else why there was none.
fn ask(
    server: &Served,
    (config, name): (Arc<ClientConfig>, &'static str),
    line: &str,
    heads: &str,
) -> Result<String, String> {
    let name = ServerName::try_from(name).unwrap();
    let tls = ClientConnection::new(config, name).unwrap();
    let stream = TcpStream::connect(&server.host).unwrap();
    stream
        .set_read_timeout(Some(Duration::from_secs(30)))
        .unwrap();
    let mut tls = StreamOwned::new(tls, stream);
    let host = &server.host;
    let text = format!("{line} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n{heads}\r\n");
    tls.write_all(text.as_bytes())
        .map_err(|error| error.to_string())?;
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
