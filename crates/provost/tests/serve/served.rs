//! A server in a process of its own, and requests to it.
//!
//! Each answer is held against `/openapi.json`, and no canary may stand in any.

use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use sim::canary;

use super::workplace::Workplace;

pub const DOCUMENT: &str = include_str!("../../../provost-server/openapi.json");
/// How long something may take that is waited for.
const PATIENCE: Duration = Duration::from_secs(60);

/// A server, and where it listens.
pub struct Served {
    child: Child,
    pub host: String,
    /// The line that it printed.
    pub printed: String,
}

/// What came back.
#[derive(Debug)]
pub struct Answer {
    pub status: u16,
    pub heads: BTreeMap<String, String>,
    /// Each cookie that it sets.
    pub cookies: Vec<String>,
    pub body: String,
}

impl Answer {
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|_| panic!("no JSON: {self:?}"))
    }

    /// The kind of the problem that it is.
    pub fn problem(&self) -> String {
        let kind = self.json()["type"].as_str().unwrap_or_default().to_owned();
        kind.trim_start_matches("urn:provost:problem:").to_owned()
    }

    #[track_caller]
    pub fn is(self, status: u16) -> Self {
        assert_eq!(self.status, status, "{self:?}");
        self
    }
}

impl Served {
    pub fn of(place: &Workplace) -> Self {
        Self::by(place, &["serve", "--listen", "127.0.0.1:0"])
    }

    /// `provost mcp --http`, whose token is the one of the canaries.
    pub fn planning(place: &Workplace) -> Self {
        let token = format!("file:{}", place.path(canary::TOKEN_FILE).display());
        Self::by(place, &["mcp", "--http", "127.0.0.1:0", "--token", &token])
    }

    /// A server that is told the time by a clock of its own.
    #[cfg(target_os = "linux")]
    pub fn timed(place: &Workplace, clock: &super::clock::MovedClock) -> Self {
        let mut command = place.command(&["serve", "--listen", "127.0.0.1:0"]);
        clock.give(&mut command);
        Self::started(command)
    }

    fn by(place: &Workplace, args: &[&str]) -> Self {
        Self::started(place.command(args))
    }

    fn started(mut command: Command) -> Self {
        // Why: a log that nobody reads would fill its pipe, and the server would wait.
        let mut child = command.stderr(Stdio::null()).spawn().unwrap();
        let mut printed = String::new();
        let mut stdout = BufReader::new(child.stdout.take().unwrap());
        stdout.read_line(&mut printed).unwrap();
        let url = printed.split("://").nth(1).unwrap().trim();
        let host = url.split('/').next().unwrap().to_owned();
        let printed = printed.trim().to_owned();
        Self {
            child,
            host,
            printed,
        }
    }

    /// The code in a one-time link.
    pub fn code(link: &str) -> &str {
        link.trim().split_once('#').unwrap().1
    }

    /// The cookie of somebody who was invited, and signed in by the link.
    pub fn invited(&self, place: &Workplace, who: &str) -> String {
        let link = place.run(&["invite", who]).exits(0).raw_stdout;
        let signed_in = self.sign_in(Self::code(&link)).is(303);
        let cookie = signed_in.heads["set-cookie"].split(';').next();
        cookie.unwrap().to_owned()
    }

    /// One request, with exactly these heads.
    pub fn send(&self, line: &str, heads: &[(&str, &str)], body: &str) -> Answer {
        self.try_send(line, heads, body).unwrap()
    }

    /// The same to a server that may have died: none if nobody is there.
    pub fn try_send(&self, line: &str, heads: &[(&str, &str)], body: &str) -> Option<Answer> {
        let mut stream = TcpStream::connect(&self.host).ok()?;
        let mut text = format!("{line} HTTP/1.1\r\nConnection: close\r\n");
        for (name, value) in heads {
            text.push_str(&format!("{name}: {value}\r\n"));
        }
        text.push_str(&format!("Content-Length: {}\r\n\r\n{body}", body.len()));
        // Why ignored: a server that refuses need not read on.
        let _ = stream.write_all(text.as_bytes());
        let mut bytes = Vec::new();
        let _ = stream.read_to_end(&mut bytes);
        assert_eq!(canary::leaks(&bytes), [""; 0]);
        Some(read(&String::from_utf8_lossy(&bytes)))
    }

    /// A request of a program with this token; its answer is held against the document.
    pub fn ask(&self, token: &str, line: &str, body: &Value) -> Answer {
        self.ask_with(token, line, &[], body)
    }

    pub fn ask_with(&self, token: &str, line: &str, more: &[(&str, &str)], body: &Value) -> Answer {
        let bearer = format!("Bearer {token}");
        let mut heads = vec![("Host", self.host.as_str())];
        if !token.is_empty() {
            heads.push(("Authorization", &bearer));
        }
        heads.extend(more);
        let body = if body.is_null() {
            String::new()
        } else {
            heads.push(("Content-Type", "application/json"));
            body.to_string()
        };
        let answer = self.send(line, &heads, &body);
        let faults = contradictions(line, &answer);
        assert_eq!(faults, [""; 0], "{line}: {answer:?}");
        answer
    }

    pub fn get(&self, token: &str, path: &str) -> Answer {
        self.ask(token, &format!("GET {path}"), &Value::Null)
    }

    /// Signs in by a link, as the button does; gives the cookie.
    pub fn sign_in(&self, code: &str) -> Answer {
        let host = self.host.clone();
        let heads = [
            ("Host", host.as_str()),
            ("Sec-Fetch-Site", "same-origin"),
            ("Content-Type", "application/x-www-form-urlencoded"),
        ];
        self.send("POST /login/link", &heads, &format!("code={code}"))
    }

    /// Waits until a run has this status.
    #[track_caller]
    pub fn until(&self, token: &str, run: &str, status: &str) -> Value {
        self.until_one(token, run, &[status])
    }

    /// Waits until a run has one of these statuses.
    #[track_caller]
    pub fn until_one(&self, token: &str, run: &str, statuses: &[&str]) -> Value {
        let began = Instant::now();
        loop {
            let now = self.get(token, &format!("/v1/runs/{run}")).is(200).json();
            if statuses.iter().any(|status| now["status"] == *status) {
                return now;
            }
            assert!(began.elapsed() < PATIENCE, "{now}");
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    /// Begins a run with a token; gives its id.
    #[track_caller]
    pub fn begin(&self, token: &str, goal: &str) -> String {
        let wanted = json!({ "goal": goal, "again": true });
        let begun = self.ask(token, "POST /v1/runs", &wanted).is(201);
        begun.json()["run"].as_str().unwrap().to_owned()
    }

    /// The digest of the one card that a run waits for.
    #[track_caller]
    pub fn card(&self, token: &str, run: &str) -> String {
        let run = self.until(token, run, "waiting_approval");
        run["waits"][0]["digest"].as_str().unwrap().to_owned()
    }

    pub fn id(&self) -> u32 {
        self.child.id()
    }

    pub fn tell(&self, signal: &str) {
        let id = self.id().to_string();
        let told = Command::new("kill").args([signal, &id]).status();
        assert!(told.unwrap().success());
    }

    /// Ends it as a service manager does; gives the exit code.
    pub fn end(self) -> Option<i32> {
        self.tell("-TERM");
        self.ended()
    }

    /// The exit code, once it ended.
    pub fn ended(mut self) -> Option<i32> {
        self.child.wait().unwrap().code()
    }

    /// Whether the process is still there.
    pub fn is_there(&mut self) -> bool {
        self.child.try_wait().unwrap().is_none()
    }

    /// Ends it as a loss of power does.
    pub fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// An answer as its bytes have it.
pub fn read(text: &str) -> Answer {
    let (head, body) = text.split_once("\r\n\r\n").unwrap_or_default();
    let mut lines = head.lines();
    let status = lines.next().and_then(|line| line.split(' ').nth(1));
    let heads: BTreeMap<String, String> = lines
        .filter_map(|line| line.split_once(": "))
        .map(|(name, value)| (name.to_lowercase(), value.to_owned()))
        .collect();
    let cookies = head.lines().filter_map(|line| line.split_once(": "));
    let cookies = cookies.filter(|(name, _)| name.eq_ignore_ascii_case("set-cookie"));
    let cookies = cookies.map(|(_, value)| value.to_owned()).collect();
    let chunked = heads
        .get("transfer-encoding")
        .is_some_and(|how| how == "chunked");
    Answer {
        status: status
            .and_then(|status| status.parse().ok())
            .unwrap_or_default(),
        body: if chunked {
            joined(body)
        } else {
            body.to_owned()
        },
        heads,
        cookies,
    }
}

/// A body in chunks as one text.
fn joined(chunks: &str) -> String {
    let mut rest = chunks;
    let mut all = String::new();
    while let Some((size, after)) = rest.split_once("\r\n") {
        let size = usize::from_str_radix(size, 16).unwrap_or(0);
        let Some((chunk, left)) = after.split_at_checked(size) else {
            break;
        };
        all.push_str(chunk);
        rest = left.trim_start_matches("\r\n");
    }
    all
}

/// The operation of the document that a request is of.
fn operation<'d>(document: &'d Value, line: &str) -> Option<&'d Value> {
    let (method, target) = line.split_once(' ')?;
    let path: Vec<&str> = target.split('?').next()?.split('/').collect();
    let fits = |known: &str| {
        let known: Vec<&str> = known.split('/').collect();
        let part = |(known, given): (&&str, &&str)| known.starts_with('{') || known == given;
        known.len() == path.len() && known.iter().zip(&path).all(part)
    };
    let paths = document["paths"].as_object()?;
    // Why the plainest first: `/v1/inbox/count` is no `/v1/inbox/{digest}`.
    let mut found: Vec<_> = paths.iter().filter(|(known, _)| fits(known)).collect();
    found.sort_by_key(|(known, _)| known.matches('{').count());
    found.first()?.1.get(method.to_lowercase())
}

/// What of an answer is not as the document has it.
pub fn contradictions(line: &str, answer: &Answer) -> Vec<String> {
    let document: Value = serde_json::from_str(DOCUMENT).unwrap();
    let Some(operation) = operation(&document, line) else {
        return Vec::new();
    };
    let media = answer
        .heads
        .get("content-type")
        .cloned()
        .unwrap_or_default();
    let media = media.split(';').next().unwrap_or_default();
    let status = answer.status.to_string();
    let of_status = operation["responses"].get(&status);
    let response = of_status.unwrap_or(&operation["responses"]["default"]);
    let Some(content) = response["content"].get(media) else {
        // Why none: the document itself and answers without a body have no schema.
        let bare = answer.body.is_empty() || response.get("content").is_none();
        return if bare {
            Vec::new()
        } else {
            vec![format!("{status} of `{media}`")]
        };
    };
    if !media.contains("json") {
        return Vec::new();
    }
    let schema = json!({
        "$ref": content["schema"]["$ref"],
        "components": document["components"],
    });
    let schema = jsonschema::validator_for(&schema).unwrap();
    let body = answer.json();
    schema
        .iter_errors(&body)
        .map(|error| format!("{}: {error}", error.instance_path()))
        .collect()
}

/// A workspace with a team: ada asks, bo and chi approve, `operators` holds chi.
pub fn team() -> Workplace {
    let place = Workplace::new();
    std::fs::remove_file(place.path("policies/solo.cedar")).unwrap();
    let people = json!({ "ada": {}, "bo": {}, "chi": { "groups": ["operators"] } });
    place.people(people.as_object().unwrap());
    place.write("playbooks/filed.yaml", FILED);
    place
}

/// A token for a person, or an agent of theirs.
pub fn token(place: &Workplace, name: &str, person: &str, more: &[&str]) -> String {
    let args = [&["token", "new", name, "--for", person], more].concat();
    place.run(&args).exits(0).raw_stdout.trim().to_owned()
}

const FILED: &str = r#"
schema: provost/playbook/v1
match: "File the orders of {customer} under {name}"
params: { customer: { type: string }, name: { type: string } }
goal: { success: [ { id: noted, text: the number of orders stands in the note } ] }
plan:
  steps:
    - id: count
      tool: shop.orders
      args: { customer: "${ params.customer }" }
    - id: note
      tool: notes.write
      args: { path: "${ params.name }.txt", text: "${ steps.count.output.row.total } orders" }
  success:
    - { for: noted, check: '${ steps.note.status == "succeeded" }' }
  answer:
    - { text: The note is written., cites: [note] }
"#;

/// A goal whose run waits for an approval before it writes a note of this name.
pub fn note(name: &str) -> String {
    format!("File the orders of ada under note-{name}")
}
