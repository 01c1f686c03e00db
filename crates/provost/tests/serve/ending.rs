//! The end of a server that is told to end: streams are told, calls and requests under way settle,
//! nothing else begins; told twice, it ends at once.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use super::desk::{Desk, answered};
use super::served::{Served, team, token};
use super::stream::Listening;
use super::workplace::Workplace;

/// Streams that are open, as many as one login may have of each token.
const TOKENS: usize = 25;
const STREAMS: usize = 8;

/// What a server says that wants the body of a request.
const CONTINUE: &[u8; 25] = b"HTTP/1.1 100 Continue\r\n\r\n";

/// The first half of a login by a link, and the rest of its body. The server has begun to read it:
/// it asks for the body, so a server that is told to end afterwards owes an answer.
fn half_a_login(server: &Served, place: &Workplace) -> (TcpStream, String) {
    let link = place.run(&["invite", "bo"]).exits(0).raw_stdout;
    let body = format!("code={}", Served::code(&link));
    let (now, rest) = body.split_at(9);
    let mut stream = TcpStream::connect(&server.host).unwrap();
    let head = format!(
        "POST /login/link HTTP/1.1\r\nHost: {}\r\nSec-Fetch-Site: same-origin\r\n\
         Content-Type: application/x-www-form-urlencoded\r\nContent-Length: {}\r\n\
         Expect: 100-continue\r\n\r\n",
        server.host,
        body.len()
    );
    stream.write_all(head.as_bytes()).unwrap();
    let mut asked = [0; CONTINUE.len()];
    stream.read_exact(&mut asked).unwrap();
    assert_eq!(asked, *CONTINUE);
    stream.write_all(now.as_bytes()).unwrap();
    (stream, rest.to_owned())
}

#[test]
fn what_is_under_way_settles_and_no_stream_holds_it_up() {
    let place = team();
    let desk = Desk::of(&place);
    let mut server = Served::of(&place);
    let tokens: Vec<String> = (0..TOKENS)
        .map(|n| token(&place, &format!("t{n}"), "ada", &[]))
        .collect();
    let open = |token| (0..STREAMS).map(move |_| token);
    let mut streams: Vec<Listening> = tokens
        .iter()
        .flat_map(open)
        .map(|token| Listening::from(&server, token, None))
        .collect();
    for stream in &mut streams {
        assert_eq!(stream.next().kind, "reset");
    }
    let run = server.begin(&tokens[0], "Look whether the desk is free");
    let call = desk.called();
    let (mut login, rest) = half_a_login(&server, &place);
    server.tell("-TERM");
    // Every stream is told, though the call goes on.
    for stream in &mut streams {
        while stream.next().kind != "bye" {}
    }
    assert!(server.is_there(), "a call is under way");
    login.write_all(rest.as_bytes()).unwrap();
    let mut answer = String::new();
    login.read_to_string(&mut answer).unwrap();
    assert!(answer.starts_with("HTTP/1.1 303"), "{answer}");
    assert!(TcpStream::connect(&server.host).is_err(), "it lets in");
    assert!(server.is_there(), "a call is under way");
    let settled = Instant::now();
    answered(call);
    assert_eq!(server.ended(), Some(0));
    let ended = settled.elapsed();
    assert!(ended < Duration::from_secs(10), "{ended:?} after the call");
    // What the call gave was kept: the next server makes no other.
    let server = Served::of(&place);
    server.until(&tokens[0], &run, "succeeded");
    assert!(desk.is_quiet(), "the call was made twice");
    place.run(&["audit", "verify"]).exits(0);
}

#[test]
fn told_twice_it_ends_at_once() {
    let place = team();
    let desk = Desk::of(&place);
    let mut server = Served::of(&place);
    let ada = token(&place, "ada", "ada", &[]);
    let mut stream = Listening::from(&server, &ada, None);
    let run = server.begin(&ada, "Look whether the desk is free");
    let call = desk.called();
    let (login, _) = half_a_login(&server, &place);
    server.tell("-TERM");
    while stream.next().kind != "bye" {}
    assert!(server.is_there(), "told once it waits");
    let told = Instant::now();
    server.tell("-TERM");
    assert_eq!(server.ended(), Some(130));
    assert!(
        told.elapsed() < Duration::from_secs(2),
        "{:?}",
        told.elapsed()
    );
    drop((call, login));
    // A read that nobody saw the end of is made again.
    let server = Served::of(&place);
    answered(desk.called());
    server.until(&ada, &run, "succeeded");
}
