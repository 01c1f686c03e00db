//! The event stream: resumed from every place, reset where the journal is another, and its end.

use std::io::{BufRead, BufReader, Read, Write as _};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use flate2::read::GzDecoder;
use serde_json::{Value, json};

use super::served::{Served, note, team, token};

/// An event as it was sent.
#[derive(Clone, Debug, PartialEq)]
pub struct Sent {
    pub id: String,
    pub kind: String,
    pub data: Value,
}

/// How long a reader of a test waits for a byte.
const PATIENCE: Duration = Duration::from_secs(30);

/// The connection of a stream that was asked for with this query and these heads, each with its
/// line break.
pub fn opened(server: &Served, query: &str, heads: &str, patience: Duration) -> TcpStream {
    let mut stream = TcpStream::connect(&server.host).unwrap();
    stream.set_read_timeout(Some(patience)).unwrap();
    let head = format!(
        "GET /v1/events{query} HTTP/1.1\r\nHost: {}\r\n{heads}\r\n",
        server.host
    );
    stream.write_all(head.as_bytes()).unwrap();
    stream
}

/// A stream that is read.
pub struct Listening(Box<dyn BufRead + Send>);

/// The body of an answer in chunks, without them.
struct Body {
    from: BufReader<TcpStream>,
    left: usize,
}

impl Read for Body {
    fn read(&mut self, to: &mut [u8]) -> std::io::Result<usize> {
        while self.left == 0 {
            let mut line = String::new();
            self.from.read_line(&mut line)?;
            // Why also empty: it ends the chunk before.
            match usize::from_str_radix(line.trim(), 16) {
                Ok(0) => return Ok(0),
                Ok(length) => self.left = length,
                Err(_) => assert_eq!(line, "\r\n"),
            }
        }
        let most = to.len().min(self.left);
        let count = self.from.read(&mut to[..most])?;
        self.left -= count;
        Ok(count)
    }
}

impl Listening {
    pub fn from(server: &Served, token: &str, after: Option<&str>) -> Self {
        Self::by(server, &format!("Authorization: Bearer {token}"), after)
    }

    /// The stream of who sends this head.
    pub fn by(server: &Served, login: &str, after: Option<&str>) -> Self {
        let after = after.map_or_else(String::new, |id| format!("Last-Event-ID: {id}\r\n"));
        let stream = opened(server, "", &format!("{login}\r\n{after}"), PATIENCE);
        Self(Box::new(BufReader::new(stream)))
    }

    /// The stream as a browser asks for it, in gzip.
    fn packed(server: &Served, token: &str, after: &str) -> Self {
        let heads =
            format!("Authorization: Bearer {token}\r\nAccept-Encoding: gzip, deflate, br\r\n");
        let query = format!("?after={after}");
        let mut from = BufReader::new(opened(server, &query, &heads, PATIENCE));
        let lines = std::iter::from_fn(|| {
            let mut line = String::new();
            from.read_line(&mut line).unwrap();
            Some(line.trim().to_owned())
        });
        let heads: Vec<String> = lines.take_while(|line| !line.is_empty()).collect();
        for head in ["content-encoding: gzip", "vary: accept-encoding"] {
            assert!(heads.iter().any(|one| one == head), "{heads:?}");
        }
        let body = GzDecoder::new(Body { from, left: 0 });
        Self(Box::new(BufReader::new(body)))
    }

    /// The next event.
    pub fn next(&mut self) -> Sent {
        self.until_end()
            .unwrap_or_else(|| panic!("the stream ended"))
    }

    /// The next event of this kind.
    pub fn next_of(&mut self, kind: &str) -> Sent {
        let mut all = std::iter::from_fn(|| self.any());
        let found = all.find(|sent| sent.kind == kind);
        found.unwrap_or_else(|| panic!("the stream ended"))
    }

    /// The next event of the journal, or of the stream itself; none if the connection ended.
    pub fn until_end(&mut self) -> Option<Sent> {
        let stands = |sent: &Sent| ["waits", "workspace"].contains(&sent.kind.as_str());
        std::iter::from_fn(|| self.any()).find(|sent| !stands(sent))
    }

    /// Whatever comes next; none if the connection ended, also amid one.
    fn any(&mut self) -> Option<Sent> {
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

    /// The place that a stream says it is at where nothing came for long.
    fn place_when_silent(&mut self) -> String {
        let mut id = String::new();
        loop {
            let mut line = String::new();
            assert_ne!(self.0.read_line(&mut line).unwrap(), 0, "the stream ended");
            if let Some(place) = line.trim().strip_prefix("id: ") {
                place.clone_into(&mut id);
            }
            if line.starts_with(':') {
                return id;
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

/// Who accepts gzip is told the same, at once, and the end is one that gzip has.
#[test]
fn a_stream_in_gzip_says_the_same() {
    let place = team();
    let server = Served::of(&place);
    let [ada, bo] = ["ada", "bo"].map(|name| token(&place, name, name, &[]));
    let run = server.begin(&ada, "Count the orders of ada");
    let seq = server.until(&ada, &run, "succeeded")["seq"].clone();
    let count = usize::try_from(seq.as_u64().unwrap()).unwrap();
    let plain = Listening::from(&server, &ada, Some("0-")).take(count);
    let mut packed = Listening::packed(&server, &ada, "0-");
    assert_eq!(packed.take(count), plain);
    packed.next_of("workspace");
    // What comes while somebody listens, after texts of the reader's own.
    let mut beside = Listening::from(&server, &bo, Some(&plain[count - 1].id));
    server.begin(&ada, "Count the orders of grace");
    assert_eq!(packed.take(3), beside.take(3));
    assert_eq!(server.end(), Some(0));
    packed.next_of("bye");
    let mut rest = String::new();
    packed.0.read_to_string(&mut rest).unwrap();
    assert_eq!(rest, "");
}

/// An event about a step says which, and how that stands from then on: as the run says itself.
#[test]
fn an_event_says_of_its_step_how_it_stands() {
    let place = team();
    let server = Served::of(&place);
    let [ada, bo] = ["ada", "bo"].map(|name| token(&place, name, name, &[]));
    let run = server.begin(&ada, &note("a"));
    let card = server.card(&ada, &run);
    let yes = json!({ "kind": "approve", "card": card });
    let to = format!("POST /v1/runs/{run}/statements");
    server.ask(&bo, &to, &yes).is(200);
    let seq = server.until(&ada, &run, "succeeded")["seq"].clone();
    let count = usize::try_from(seq.as_u64().unwrap()).unwrap();
    let all = Listening::from(&server, &ada, Some("0-")).take(count);
    let of = |step: &str| -> Vec<(String, String)> {
        let about = all.iter().filter(|sent| sent.data["slot"] == step);
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        { about }
            .map(|sent| (text(&sent.data["kind"]), text(&sent.data["step"])))
            .collect()
    };
    let pairs = |list: &[(&str, &str)]| -> Vec<(String, String)> {
        let owned = list.iter();
        owned
            .map(|(kind, step)| (kind.to_string(), step.to_string()))
            .collect()
    };
    let read = [
        ("AttemptStarted", "running"),
        ("AttemptEnded", ""),
        ("StepSettled", "succeeded"),
    ];
    assert_eq!(of("count"), pairs(&read));
    let written = [&[("ApprovalRequested", "waiting_approval")], &read[..]].concat();
    assert_eq!(of("note"), pairs(&written));
    // Nothing else names a step, and no event tells more than that.
    let others = all.iter().filter(|sent| sent.data.get("slot").is_none());
    assert!(others.clone().all(|sent| sent.data.get("step").is_none()));
    assert_eq!(others.count(), count - read.len() - written.len());
    assert!(all.iter().all(|sent| sent.data.to_string().len() < 1_024));
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

/// A narrow reader is not kept waiting by what it may not see, however much of it there is.
#[test]
fn what_others_did_delays_nothing_of_ones_own() {
    let place = team();
    let server = Served::of(&place);
    let ada = token(&place, "ada", "ada", &[]);
    let agent = token(&place, "robot", "ada", &["--agent"]);
    let (mut hidden, mut begun) = (0, 0);
    let mut others = Vec::new();
    // Why so many: the journal is read in parts of 200 events, and a stream that begins is woken
    // once or twice in any case.
    while hidden <= 1_000 {
        // Why another at times: one login may begin 30 runs a minute.
        if begun % 25 == 0 {
            others.push(token(&place, &format!("of{begun}"), "ada", &[]));
        }
        begun += 1;
        let of_other = others.last().unwrap();
        let run = server.begin(of_other, "Count the orders of ada");
        let seq = server.until(of_other, &run, "succeeded")["seq"].clone();
        hidden += seq.as_u64().unwrap();
    }
    let own = server.begin(&agent, "Count the orders of grace");
    server.until(&agent, &own, "succeeded");
    // Why another first: whoever comes when the journal was read to its end is woken by nobody.
    let mut ahead = Listening::from(&server, &ada, Some("0-"));
    while ahead.next_of("run").data["run"] != own.as_str() {}
    let began = Instant::now();
    let mut stream = Listening::from(&server, &agent, Some("0-"));
    assert_eq!(stream.next_of("run").data["run"], own.as_str());
    assert!(
        began.elapsed() < Duration::from_secs(5),
        "{:?}",
        began.elapsed()
    );
    // What waits is counted less often while many commits follow each other, and then once more.
    server.begin(&agent, &note("a"));
    while ahead.next_of("waits").data["all"] != 1 {}
}

#[test]
fn a_stream_says_how_much_waits_for_whom() {
    let place = team();
    let server = Served::of(&place);
    let [ada, bo] = ["ada", "bo"].map(|name| token(&place, name, name, &[]));
    let agent = token(&place, "robot", "bo", &["--agent"]);
    let counted = |all: u8, mine: u8| {
        let mut counts = json!({ "all": all, "runs": all, "in_doubt": 0, "looked_at": all });
        counts["mine"] = json!(mine);
        counts
    };
    let [none, one] = [0, 1].map(|all| counted(all, 0));
    let mut streams = [&ada, &agent].map(|token| Listening::from(&server, token, None));
    for stream in &mut streams {
        assert_eq!(stream.next_of("waits").data, none, "each begins with it");
    }
    let [of_ada, of_agent] = &mut streams;
    let run = server.begin(&ada, &note("a"));
    let card = server.card(&ada, &run);
    let waits = of_ada.next_of("waits");
    assert_eq!((&waits.data, waits.id.as_str()), (&one, ""));
    // Who was away is told where it stands now, and nothing of it moves the place.
    let newest = Listening::from(&server, &bo, None).next().id;
    let mut back = Listening::from(&server, &bo, Some(&newest));
    // Who asked may not say yes, and bo may.
    assert_eq!(back.next_of("waits").data, counted(1, 1));
    let count = server.get(&bo, "/v1/inbox/count").is(200).json();
    assert_eq!(
        (&count["mine"], &count["looked_at"]),
        (&json!(1), &json!(1))
    );
    let count = server.get(&ada, "/v1/inbox/count").is(200).json();
    assert_eq!((&count["all"], &count["mine"]), (&json!(1), &json!(0)));
    let yes = json!({ "kind": "approve", "card": card });
    let to = format!("POST /v1/runs/{run}/statements");
    server.ask(&bo, &to, &yes).is(200);
    assert_eq!(of_ada.next_of("waits").data, none);
    // How it stands has no place: it may be said before the event that made it so.
    let (mut is_given, mut stands) = (false, false);
    while !(is_given && stands) {
        let sent = back.any().unwrap();
        is_given |= sent.data["kind"] == "ApprovalGiven";
        stands |= sent.kind == "waits" && sent.data == none;
    }
    // An agent hears of no wait of others: the next that it is told is of its own run.
    let own = server.begin(&agent, &note("b"));
    let first = of_agent.any().unwrap();
    let first = match first.kind.as_str() {
        "workspace" => of_agent.any().unwrap(),
        _ => first,
    };
    assert_eq!(
        (first.kind.as_str(), &first.data["run"]),
        ("run", &json!(own))
    );
    server.card(&ada, &own);
    assert_eq!(of_agent.next_of("waits").data, one);
    // An event says of its run how much it waits for.
    let events = std::iter::repeat_with(|| back.next());
    let mut of_run = events.filter(|sent| sent.data["run"] == own.as_str());
    assert!(of_run.any(|sent| sent.data["waits"] == 1));
}

/// A silent stream says every so often where it stands, and ends soon after its login.
#[test]
fn a_silent_stream_lives_and_ends_with_its_login() {
    let place = team();
    let server = Served::of(&place);
    let [ada, bo] = ["ada", "bo"].map(|name| token(&place, name, name, &[]));
    let mut ends = Listening::from(&server, &bo, None);
    assert_eq!(ends.next().kind, "reset");
    ends.next_of("workspace");
    let mut lives = Listening::from(&server, &ada, None);
    let newest = lives.next().id;
    lives.next_of("workspace");
    let began = Instant::now();
    place.run(&["token", "revoke", "bo"]).exits(0);
    let bye = ends.next();
    assert_eq!(
        (bye.kind.as_str(), &bye.data["why"]),
        ("bye", &"not-signed-in".into())
    );
    assert_eq!(lives.place_when_silent(), newest);
    assert!(
        began.elapsed() < Duration::from_secs(20),
        "{:?}",
        began.elapsed()
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
