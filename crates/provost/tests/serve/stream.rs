//! The event stream: resumed from every place, reset where the journal is another, and its end.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use serde_json::Value;

use super::served::{Served, team, token};

/// An event as it was sent.
#[derive(Clone, Debug, PartialEq)]
pub struct Sent {
    pub id: String,
    pub kind: String,
    pub data: Value,
}

/// A stream that is read.
pub struct Listening(BufReader<TcpStream>);

impl Listening {
    pub fn from(server: &Served, token: &str, after: Option<&str>) -> Self {
        Self::by(server, &format!("Authorization: Bearer {token}"), after)
    }

    /// The stream of who sends this head.
    pub fn by(server: &Served, login: &str, after: Option<&str>) -> Self {
        let mut stream = TcpStream::connect(&server.host).unwrap();
        stream
            .set_read_timeout(Some(Duration::from_secs(30)))
            .unwrap();
        let after = after.map_or_else(String::new, |id| format!("Last-Event-ID: {id}\r\n"));
        let head = format!(
            "GET /v1/events HTTP/1.1\r\nHost: {}\r\n{login}\r\n{after}\r\n",
            server.host
        );
        stream.write_all(head.as_bytes()).unwrap();
        Self(BufReader::new(stream))
    }

    /// The next event.
    pub fn next(&mut self) -> Sent {
        self.until_end()
            .unwrap_or_else(|| panic!("the stream ended"))
    }

    /// The next event; none if the connection ended, also amid one.
    pub fn until_end(&mut self) -> Option<Sent> {
        let mut sent = Sent {
            id: String::new(),
            kind: String::new(),
            data: Value::Null,
        };
        let began = Instant::now();
        loop {
            // Why counted here: a stream that is silent says every so often that it lives.
            assert!(began.elapsed() < Duration::from_secs(60), "nothing came");
            let mut line = String::new();
            // Why as an end: a process that is killed resets what it had not sent.
            if self.0.read_line(&mut line).unwrap_or(0) == 0 {
                return None;
            }
            let field = line.trim().split_once(": ");
            match field {
                Some(("id", id)) => id.clone_into(&mut sent.id),
                Some(("event", kind)) => kind.clone_into(&mut sent.kind),
                Some(("data", data)) => sent.data = serde_json::from_str(data).unwrap(),
                _ if line.trim().is_empty() && !sent.kind.is_empty() => return Some(sent),
                _ => {}
            }
        }
    }

    pub fn take(&mut self, count: usize) -> Vec<Sent> {
        (0..count).map(|_| self.next()).collect()
    }
}

#[test]
fn a_stream_goes_on_from_every_place() {
    let place = team();
    let server = Served::of(&place);
    let ada = token(&place, "ada", "ada", &[]);
    let run = server.begin(&ada, "Count the orders of ada");
    let seq = server.until(&ada, &run, "succeeded")["seq"]
        .as_u64()
        .unwrap();
    let count = usize::try_from(seq).unwrap();
    let all = Listening::from(&server, &ada, Some("0-")).take(count);
    let seqs: Vec<u64> = all
        .iter()
        .map(|sent| sent.data["seq"].as_u64().unwrap())
        .collect();
    assert_eq!(seqs, (1..=seq).collect::<Vec<_>>());
    assert!(
        all.iter()
            .all(|sent| sent.kind == "run" && sent.data["run"] == run.as_str())
    );
    for at in 0..count - 1 {
        let rest = Listening::from(&server, &ada, Some(&all[at].id)).take(count - at - 1);
        assert_eq!(rest, all[at + 1..], "after {}", all[at].id);
    }
    // A place that the journal does not have: another link, a later number, nonsense, none.
    let (n, _) = all[2].id.split_once('-').unwrap();
    let newest = all.last().unwrap().id.as_str();
    let strange = [
        format!("{n}-00000000"),
        "999999-00000000".into(),
        "x".into(),
    ];
    let strange = strange.iter().map(|id| Some(id.as_str())).chain([None]);
    for after in strange {
        let first = Listening::from(&server, &ada, after).next();
        assert_eq!(
            (first.kind.as_str(), first.id.as_str()),
            ("reset", newest),
            "{after:?}"
        );
    }
    // What is committed while somebody listens comes by itself.
    let mut live = Listening::from(&server, &ada, Some(newest));
    let run = server.begin(&ada, "Count the orders of grace");
    let first = live.next();
    assert_eq!(
        (&first.data["run"], &first.data["seq"]),
        (&run.into(), &1.into())
    );
}

#[test]
fn a_stream_of_an_agent_has_what_it_began() {
    let place = team();
    let server = Served::of(&place);
    let ada = token(&place, "ada", "ada", &[]);
    let agent = token(&place, "robot", "ada", &["--agent"]);
    let hidden = server.begin(&ada, "Count the orders of ada");
    server.until(&ada, &hidden, "succeeded");
    let own = server.begin(&agent, "Count the orders of grace");
    let seq = server.until(&agent, &own, "succeeded")["seq"]
        .as_u64()
        .unwrap();
    let count = usize::try_from(seq).unwrap();
    let seen = Listening::from(&server, &agent, Some("0-")).take(count);
    assert!(
        seen.iter().all(|sent| sent.data["run"] == own.as_str()),
        "{seen:?}"
    );
}

#[test]
fn streams_end_with_the_server_and_do_not_hold_it_up() {
    let place = team();
    let server = Served::of(&place);
    let ada = token(&place, "ada", "ada", &[]);
    let mut streams: Vec<Listening> = (0..8)
        .map(|_| Listening::from(&server, &ada, None))
        .collect();
    for stream in &mut streams {
        assert_eq!(stream.next().kind, "reset");
    }
    assert_eq!(server.get(&ada, "/v1/events").is(429).problem(), "too-many");
    let began = Instant::now();
    assert_eq!(server.end(), Some(0));
    assert!(
        began.elapsed() < Duration::from_secs(10),
        "{:?}",
        began.elapsed()
    );
    for stream in &mut streams {
        let bye = stream.next();
        assert_eq!(
            (bye.kind.as_str(), &bye.data["why"]),
            ("bye", &"halting".into())
        );
        let mut rest = String::new();
        stream.0.read_to_string(&mut rest).unwrap();
    }
}

#[test]
fn a_stream_ends_with_its_token() {
    let place = team();
    let server = Served::of(&place);
    let ada = token(&place, "ada", "ada", &[]);
    let bo = token(&place, "bo", "bo", &[]);
    let mut stream = Listening::from(&server, &ada, None);
    assert_eq!(stream.next().kind, "reset");
    place.run(&["token", "revoke", "ada"]).exits(0);
    server.begin(&bo, "Count the orders of ada");
    let bye = stream.next();
    assert_eq!(
        (bye.kind.as_str(), &bye.data["why"]),
        ("bye", &"not-signed-in".into())
    );
}
