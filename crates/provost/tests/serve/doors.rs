//! Who comes in: under which name, from which site, by which link.

use std::io::{ErrorKind, Read as _, Write as _};
use std::net::TcpStream;
use std::time::Duration;

use serde_json::{Value, json};

use super::served::{Served, contradictions, note, team, token};
use super::workplace::Workplace;

#[test]
fn a_solo_workspace_is_served_to_one_browser() {
    let place = Workplace::new();
    let server = Served::of(&place);
    let code = Served::code(&server.printed).to_owned();
    assert!(
        server
            .printed
            .starts_with(&format!("http://{}/login#", server.host))
    );
    let host = [("Host", server.host.as_str())];
    // Whoever only looks, a hundred times, spends nothing: the code is in no request.
    for _ in 0..50 {
        server.send("GET /login", &host, "").is(200);
        server.send("HEAD /login", &host, "").is(200);
        server.send("GET /login/link", &host, "").is(303);
    }
    server.send("GET /", &host, "").is(303);
    let signed_in = server.sign_in(&code).is(303);
    let cookie = signed_in.heads["set-cookie"].clone();
    assert!(
        cookie.contains("HttpOnly; ") && cookie.ends_with("SameSite=Strict"),
        "{cookie}"
    );
    let cookie = cookie.split(';').next().unwrap();
    let known = [host[0], ("Cookie", cookie)];
    let inbox = server.send("GET /", &known, "").is(200);
    assert!(inbox.body.contains("Nothing waits"), "{}", inbox.body);
    let me = server.send("GET /v1/me", &known, "").is(200);
    assert_eq!(contradictions("GET /v1/me", &me), [""; 0]);
    assert_eq!(me.json()["person"], "ada");
    // A second browser, and a proxy.
    assert_eq!(server.sign_in(&code).status, 403);
    for head in ["Forwarded", "X-Forwarded-For", "X-Forwarded-Proto"] {
        let through = [known[0], known[1], (head, "for=192.0.2.1")];
        assert_eq!(
            server.send("GET /v1/me", &through, "").is(403).problem(),
            "proxied"
        );
    }
    // Two cookies of the name: one could be a sibling's.
    let tossed = format!("{cookie}; {cookie}");
    let tossed = [host[0], ("Cookie", tossed.as_str())];
    server.send("GET /v1/me", &tossed, "").is(401);
    // Signing out ends the session, not only the cookie.
    let ours = [known[0], known[1], ("Sec-Fetch-Site", "same-origin")];
    server.send("POST /logout", &ours, "").is(303);
    server.send("GET /v1/me", &known, "").is(401);
    assert_eq!(server.end(), Some(0));
}

#[test]
fn a_solo_workspace_is_open_to_nobody_else() {
    let place = Workplace::new();
    let refused = |args: &[&str], words: &str| {
        let ran = place.run(args).exits(2);
        assert!(ran.stderr.contains(words), "{}", ran.stderr);
        assert!(ran.stderr.contains("policies/solo.cedar"), "{}", ran.stderr);
    };
    refused(&["serve", "--listen", "0.0.0.0:0"], "to this machine alone");
    refused(
        &["serve", "--url", "https://provost.example.com"],
        "takes no `url`",
    );
    refused(&["invite", "ada"], "to one person alone");
    refused(
        &["token", "new", "ci", "--for", "ada"],
        "to one person alone",
    );
    // The control: without that file, with people, both are made.
    let place = team();
    place.run(&["token", "new", "ci", "--for", "ada"]).exits(0);
    let ran = place.run(&["serve", "--listen", "0.0.0.0:0"]).exits(2);
    assert!(ran.stderr.contains("other machines"), "{}", ran.stderr);
}

#[test]
fn another_name_is_answered_before_anything_else() {
    let place = team();
    let server = Served::of(&place);
    let ada = format!("Bearer {}", token(&place, "ci", "ada", &[]));
    let port = server.host.rsplit(':').next().unwrap();
    let known = ["127.0.0.1", "localhost", "[::1]"].map(|name| format!("{name}:{port}"));
    for host in &known {
        let heads = [("Host", host.as_str()), ("Authorization", &ada)];
        server.send("GET /v1/me", &heads, "").is(200);
    }
    let attacker = format!("attacker.example:{port}");
    for host in [attacker.as_str(), "127.0.0.1", "127.0.0.1:1", ""] {
        let heads = [("Host", host), ("Authorization", ada.as_str())];
        let answer = server.send("GET /v1/me", &heads, "");
        // Why either: a host that is none at all is refused by the reader of the head.
        assert!([400, 421].contains(&answer.status), "{host}: {answer:?}");
    }
    let both = [("Host", known[0].as_str()), ("Host", &attacker)];
    assert_ne!(server.send("GET /healthz", &both, "").status, 200);
}

/// What a page can do whose name was pointed at this machine: to a browser it is of one site with
/// the server, so that the name alone tells them apart.
#[test]
fn a_name_that_was_pointed_here_opens_nothing() {
    let place = team();
    let server = Served::of(&place);
    let cookie = server.invited(&place, "ada");
    let link = place.run(&["invite", "bo"]).exits(0).raw_stdout;
    let port = server.host.rsplit(':').next().unwrap();
    let attacker = format!("attacker.example:{port}");
    let json = "application/json";
    let form = "application/x-www-form-urlencoded";
    let code = format!("code={}", Served::code(&link));
    let stop = r#"{"reason":"x"}"#;
    let asked = |host: &str, line: &str, media: &str, body: &str| {
        let origin = format!("http://{host}");
        let heads = [
            ("Host", host),
            ("Origin", origin.as_str()),
            ("Sec-Fetch-Site", "same-origin"),
            ("Cookie", cookie.as_str()),
            ("Content-Type", media),
        ];
        server.send(line, &heads, body)
    };
    let ways = [
        ("POST /login/link", form, code.as_str(), 303),
        ("PUT /v1/stops/principal/ada", json, stop, 200),
        ("GET /v1/stops", json, "", 200),
        ("GET /healthz", json, "", 200),
        ("GET /login", json, "", 200),
        ("GET /", json, "", 200),
    ];
    for (line, media, body, _) in ways {
        let refused = asked(&attacker, line, media, body).is(421);
        assert_eq!(refused.cookies, [""; 0], "{line}");
    }
    // The same where the name stands in the line, as a proxy is asked.
    let line = format!("GET http://{attacker}/v1/stops");
    asked(&server.host, &line, json, "").is(421);
    // The controls: under its own name each is answered, and nothing was stopped or spent before.
    let stops = asked(&server.host, "GET /v1/stops", json, "").is(200);
    assert_eq!(stops.json()["stops"], json!([]));
    for (line, media, body, status) in ways {
        asked(&server.host, line, media, body).is(status);
    }
}

/// Another name of the same site, or another port of this machine, can put a cookie beside ours.
/// Which of two counted would be its choice.
#[test]
fn a_cookie_beside_ours_signs_nobody_in() {
    let place = team();
    let server = Served::of(&place);
    let [ours, planted] = ["ada", "bo"].map(|who| server.invited(&place, who));
    let asked = |line: &str, cookies: &[String], body: &str| {
        let mut heads = vec![
            ("Host", server.host.as_str()),
            ("Sec-Fetch-Site", "same-origin"),
            ("Content-Type", "application/json"),
        ];
        heads.extend(cookies.iter().map(|text| ("Cookie", text.as_str())));
        server.send(line, &heads, body)
    };
    let nonsense = "provost=nonsense".to_owned();
    let emptied = "provost=".to_owned();
    for beside in [&planted, &nonsense, &emptied, &ours] {
        let two = [
            vec![format!("{ours}; {beside}")],
            vec![format!("{beside}; {ours}")],
            vec![format!("a=1; {beside};b=2; {ours}; c=3")],
            vec![ours.clone(), beside.clone()],
            vec![beside.clone(), ours.clone()],
        ];
        for cookies in two {
            asked("GET /v1/me", &cookies, "").is(401);
            let stop = "PUT /v1/stops/principal/ada";
            asked(stop, &cookies, r#"{"reason":"x"}"#).is(401);
            assert_eq!(asked("GET /", &cookies, "").status, 303, "{cookies:?}");
        }
    }
    // The controls: each alone is who it is of, whatever others are called; nothing was stopped.
    for (cookie, who) in [(&ours, "ada"), (&planted, "bo")] {
        let named = [format!("a=1; provosts=x; {cookie}; xprovost=y")];
        let me = asked("GET /v1/me", &named, "").is(200);
        assert_eq!(me.json()["person"], who);
        let stops = asked("GET /v1/stops", &named, "").is(200);
        assert_eq!(stops.json()["stops"], json!([]));
    }
}

#[test]
fn a_page_of_another_site_changes_nothing() {
    let place = team();
    let server = Served::of(&place);
    let cookie = server.invited(&place, "ada");
    let origin = format!("http://{}", server.host);
    let ask = |more: &[(&str, &str)]| {
        let mut heads = vec![
            ("Host", server.host.as_str()),
            ("Cookie", cookie.as_str()),
            ("Content-Type", "application/json"),
        ];
        heads.extend(more);
        server.send("PUT /v1/stops/principal/ada", &heads, r#"{"reason":"x"}"#)
    };
    for foreign in [
        &[][..],
        &[("Sec-Fetch-Site", "cross-site")],
        &[("Sec-Fetch-Site", "same-site")],
        &[("Sec-Fetch-Site", "none")],
        &[("Origin", "http://attacker.example")],
        &[("Origin", "null")],
        &[("Sec-Fetch-Site", "same-origin"), ("Origin", "null")],
    ] {
        assert_eq!(ask(foreign).is(403).problem(), "cross-site", "{foreign:?}");
    }
    let stops = place.json(&["runs", "--json"]);
    assert_eq!(stops["runs"], Value::Array(Vec::new()));
    // The controls: the site itself may, and a program with a token needs neither.
    ask(&[("Sec-Fetch-Site", "same-origin")]).is(200);
    ask(&[("Origin", &origin)]).is(200);
    let bo = token(&place, "ci", "bo", &[]);
    server
        .ask(&bo, "DELETE /v1/stops/principal/ada", &Value::Null)
        .is(200);
    // Nor does it sign anybody in: the button of a link is of this site alone.
    let link = place.run(&["invite", "bo"]).exits(0).raw_stdout;
    let form = format!("code={}", Served::code(&link));
    let heads = [
        ("Host", server.host.as_str()),
        ("Sec-Fetch-Site", "cross-site"),
        ("Content-Type", "application/x-www-form-urlencoded"),
    ];
    server.send("POST /login/link", &heads, &form).is(403);
    server.sign_in(Served::code(&link)).is(303);
    // A cookie and a token together are neither.
    let both = format!("Bearer {bo}");
    let heads = [
        ("Host", server.host.as_str()),
        ("Cookie", cookie.as_str()),
        ("Authorization", &both),
    ];
    assert_eq!(
        server.send("GET /v1/me", &heads, "").is(400).problem(),
        "two-logins"
    );
}

#[test]
fn tries_to_sign_in_are_counted() {
    let place = team();
    let server = Served::of(&place);
    let statuses: Vec<u16> = (0..12).map(|_| server.sign_in("nonsense").status).collect();
    assert_eq!(statuses[..10], [403; 10]);
    assert_eq!(statuses[10..], [429; 2]);
}

#[test]
fn a_token_ends_when_it_is_revoked() {
    let place = team();
    let server = Served::of(&place);
    let ada = token(&place, "ci", "ada", &[]);
    server.get(&ada, "/v1/me").is(200);
    assert!(place.run(&["token", "list"]).stdout.contains("ci"));
    place.run(&["token", "new", "ci", "--for", "bo"]).exits(2);
    place.run(&["token", "new", "x", "--for", "eve"]).exits(2);
    place.run(&["token", "revoke", "ci"]).exits(0);
    assert_eq!(
        server.get(&ada, "/v1/me").is(401).problem(),
        "not-signed-in"
    );
    let database = place.path(".provost/server.db");
    let kept = std::fs::read(&database).unwrap();
    let secret = ada.as_bytes();
    assert!(!kept.windows(secret.len()).any(|part| part == secret));
}

/// A body that comes byte by byte is refused after a time, wherever it goes. The control: one that
/// is whole in time is read.
#[test]
fn a_body_has_a_time_limit() {
    let place = team();
    let server = Served::of(&place);
    let bearer = format!("Bearer {}", token(&place, "ada", "ada", &[]));
    let slow = |line: &str, heads: &[(&str, &str)], bytes: usize| {
        let mut stream = TcpStream::connect(&server.host).unwrap();
        let host = &server.host;
        let mut head = format!("{line} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n");
        for (name, value) in heads {
            head.push_str(&format!("{name}: {value}\r\n"));
        }
        head.push_str("Content-Length: 60\r\n\r\n");
        stream.write_all(head.as_bytes()).unwrap();
        let every = Duration::from_secs(40) / u32::try_from(bytes).unwrap();
        stream.set_read_timeout(Some(every)).unwrap();
        let mut answer = [0; 12];
        for _ in 0..bytes {
            stream.write_all(&vec![b'a'; 60 / bytes]).unwrap();
            match stream.read_exact(&mut answer) {
                Ok(()) => break,
                Err(error) => assert_eq!(error.kind(), ErrorKind::WouldBlock, "{error}"),
            }
        }
        String::from_utf8_lossy(&answer).into_owned()
    };
    let form = [
        ("Sec-Fetch-Site", "same-origin"),
        ("Content-Type", "application/x-www-form-urlencoded"),
    ];
    let program = [("Authorization", bearer.as_str())];
    std::thread::scope(|scope| {
        let both = [
            ("POST /login/link", &form[..]),
            ("POST /v1/checks", &program[..]),
        ];
        let asked = both.map(|(line, heads)| {
            let late = scope.spawn(move || slow(line, heads, 20));
            (line, late, scope.spawn(move || slow(line, heads, 1)))
        });
        for (line, late, whole) in asked {
            assert_eq!(late.join().unwrap(), "HTTP/1.1 408", "{line}");
            let whole = whole.join().unwrap();
            let read = ["HTTP/1.1 400", "HTTP/1.1 422"].contains(&whole.as_str());
            assert!(read, "{line}: {whole}");
        }
    });
}

/// What mail scanners do with a notice: each of its links is opened, and nothing is spent.
#[test]
fn whoever_only_opens_links_spends_and_decides_nothing() {
    let place = team();
    let server = Served::of(&place);
    let ada = token(&place, "ada", "ada", &[]);
    let chi = server.invited(&place, "chi");
    let run = server.begin(&ada, &note("a"));
    let card = server.card(&ada, &run);
    let link = place.run(&["invite", "bo"]).exits(0).raw_stdout;
    let before = server.until(&ada, &run, "waiting_approval")["seq"].clone();
    let paths = ["/login".to_owned(), format!("/runs/{run}/cards/{card}")];
    let host = ("Host", server.host.as_str());
    for method in ["GET", "HEAD"] {
        for path in &paths {
            for _ in 0..100 {
                let line = format!("{method} {path}");
                let signed_in = [host, ("Cookie", chi.as_str())];
                assert!(server.send(&line, &[host], "").status < 400, "{line}");
                assert_eq!(server.send(&line, &signed_in, "").status, 200, "{line}");
            }
        }
    }
    assert_eq!(server.until(&ada, &run, "waiting_approval")["seq"], before);
    server.sign_in(Served::code(&link)).is(303);
    // The controls: spent, the link opens nothing; and what is posted decides.
    server.sign_in(Served::code(&link)).is(403);
    let bo = token(&place, "bo", "bo", &[]);
    let yes = json!({ "kind": "approve", "card": card });
    server
        .ask(&bo, &format!("POST /v1/runs/{run}/statements"), &yes)
        .is(200);
    assert_ne!(server.until(&ada, &run, "succeeded")["seq"], before);
}
