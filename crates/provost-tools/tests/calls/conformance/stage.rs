//! A service on the stage: started, called in every way there is, and everything kept that came
//! back.

use std::io::{BufRead as _, BufReader};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use provost_plan::node::parse_yaml;
use rustix::process::{Pid, Signal, kill_process};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

use super::*;
use crate::kinds::mcp::Definition;
use crate::openapi::{ImportRequest, propose};
use crate::tests::postgres;

/// A tool that names the secret, so that it is one.
pub(super) const OTHER: &str = "[tools.other]\nkind = \"http\"\nbase_url = \"http://127.0.0.1:1\"\n\
    auth = { bearer = \"file:secret\" }\n[tools.other.ops.none]\n\
    request = { method = \"GET\", path = \"/\" }\neffect = \"read\"\n";

const LONG: Duration = Duration::from_secs(60);
const SHORT: Duration = Duration::from_secs(1);

pub(super) struct Stage {
    service: &'static Service,
    bench: Bench,
    listing: Listing,
    world: Option<World>,
    remote: Option<Remote>,
    /// All that came back so far.
    kept: Vec<u8>,
    toml: String,
}

/// The world in its own process.
struct World {
    child: Child,
    address: String,
    state: PathBuf,
}

impl World {
    fn start(state: PathBuf, address: &str) -> Self {
        let mut child = Command::new(std::env::var("PROVOST_WORLD").unwrap())
            .args(["--listen", address, "--state"])
            .arg(&state)
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        let mut out = BufReader::new(child.stdout.take().unwrap());
        out.read_line(&mut line).unwrap();
        let address = line.trim().rsplit("//").next().unwrap().to_owned();
        Self {
            child,
            address,
            state,
        }
    }

    async fn ask(&self, method: &str, path: &str, body: &str) -> String {
        let mut stream = tokio::net::TcpStream::connect(&self.address).await.unwrap();
        let request = format!(
            "{method} {path} HTTP/1.1\r\nhost: world\r\nconnection: close\r\n\
             content-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
            body.len()
        );
        stream.write_all(request.as_bytes()).await.unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await.unwrap();
        answer.split_once("\r\n\r\n").unwrap().1.to_owned()
    }
}

impl Drop for World {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// An MCP server that runs by itself.
struct Remote {
    command: Vec<String>,
    port: u16,
    child: Child,
}

impl Remote {
    async fn start(command: Vec<String>, port: u16) -> Self {
        let mut starts = Command::new(&command[0]);
        starts
            .args(&command[1..])
            .env("PORT", port.to_string())
            .env("TOLD", CANARY)
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        let remote = Self {
            command,
            port,
            child: starts.spawn().unwrap(),
        };
        for _ in 0..600 {
            let reached = tokio::net::TcpStream::connect(("127.0.0.1", port)).await;
            if reached.is_ok() {
                return remote;
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        panic!("{:?} does not listen", remote.command);
    }
}

impl Drop for Remote {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The words of a reply.
fn words(reply: &Reply) -> String {
    said(reply).0
}

fn furnish(workspace: &Workspace) -> String {
    workspace.write("secret", CANARY);
    for (path, text) in [
        ("work/a.txt", "good day\n".to_owned()),
        ("work/echo.txt", echo()),
        ("work/big.txt", "x".repeat(100_000)),
        ("work/before", "sleep 3; echo x >>done\n".to_owned()),
        ("work/after", "echo x >>done; sleep 3\n".to_owned()),
        (
            "work/keyed",
            "grep -qsx \"$K\" done || echo \"$K\" >>done\n".to_owned(),
        ),
        (
            "work/count",
            "echo \"{\\\"n\\\": $(cat done | wc -l)}\"\n".to_owned(),
        ),
        ("work/die", "kill -9 $$\n".to_owned()),
        ("work/done", String::new()),
    ] {
        workspace.write(path, text);
    }
    let text = "create table t (id integer, name text); insert into t values (1, 'good day');
        create table log (text text); create table echo (text text);";
    workspace.database("data/m.db", text);
    let database = rusqlite::Connection::open(workspace.path("data/m.db")).unwrap();
    database
        .execute("insert into echo values (?1)", [echo()])
        .unwrap();
    let dir = workspace.path("work").display().to_string();
    for args in [
        &["init", "-q"][..],
        &["add", "."],
        &[
            "-c",
            "user.name=a",
            "-c",
            "user.email=a@example.org",
            "commit",
            "-q",
            "-m",
            &echo(),
        ],
    ] {
        let done = Command::new("git").args(["-C", &dir]).args(args).status();
        assert!(done.unwrap().success());
    }
    dir
}

impl Stage {
    /// Starts the service and opens a workspace with it.
    pub(super) async fn set(service: &'static Service) -> Self {
        let workspace = Workspace::new();
        let dir = furnish(&workspace);
        let mut toml = OTHER.to_owned() + &service.tool.replace("WORK", &dir);
        let (mut world, mut remote) = (None, None);
        let installed = |command: &[&str]| -> Vec<String> {
            let servers = std::env::var("PROVOST_SERVERS").unwrap();
            let place = |text: &&str| {
                let text = text.replacen("SERVERS", &servers, 1);
                text.replace("WORK", &dir)
            };
            command.iter().map(place).collect()
        };
        match service.behind {
            Behind::Mcp(command) => {
                toml = toml.replace("COMMAND", &json!(installed(command)).to_string());
            }
            Behind::Remote(command) => {
                let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
                let port = free.local_addr().unwrap().port();
                drop(free);
                remote = Some(Remote::start(installed(command), port).await);
                toml = toml.replace("URL", &format!("http://127.0.0.1:{port}"));
            }
            Behind::World | Behind::OpenApi => {
                let started = World::start(workspace.path("world.json"), "127.0.0.1:0");
                let page = json!({ "message": echo() }).to_string();
                started.ask("POST", "/pages", &page).await;
                let url = format!("http://{}", started.address);
                if service.behind == Behind::OpenApi {
                    let document = started.ask("GET", "/openapi.json", "").await;
                    toml += &proposed(&workspace, &document, &url);
                }
                toml = toml.replace("URL", &url);
                world = Some(started);
            }
            Behind::Postgres => {
                workspace.write("password", postgres::server().1);
                let url = postgres::database().await;
                let name = url.rsplit('/').next().unwrap();
                let admin = postgres::client(name).await;
                let made = "create table echo (text text); grant all on echo to teller";
                admin.batch_execute(made).await.unwrap();
                admin
                    .execute("insert into echo values ($1)", &[&echo()])
                    .await
                    .unwrap();
                toml = toml.replace("URL", &url);
            }
            Behind::Machine => {}
        }
        let (bench, listing) = opened(workspace, &toml, service, false).await;
        if service.tool.contains("key = \"table\"") {
            bench.toolbox.prepare("s", LONG).await.unwrap();
        }
        Self {
            service,
            bench,
            listing,
            world,
            remote,
            kept: Vec::new(),
            toml,
        }
    }

    /// All that a journal could hold of the calls so far.
    pub(super) fn records(&self) -> Vec<u8> {
        self.kept.clone()
    }

    /// What the server calls its version, and the protocol it spoke.
    pub(super) fn spoken(&self) -> (String, String) {
        match self.service.behind {
            Behind::Mcp(_) | Behind::Remote(_) => {
                let version = self.listing.server.rsplit(' ').next().unwrap_or_default();
                (version.to_owned(), self.listing.protocol.clone())
            }
            Behind::World | Behind::OpenApi => ("—".to_owned(), "HTTP/1.1".to_owned()),
            Behind::Postgres => ("—".to_owned(), "PostgreSQL 3.0".to_owned()),
            Behind::Machine => ("—".to_owned(), "—".to_owned()),
        }
    }

    /// How many operations it lists.
    pub(super) fn listed(&self) -> usize {
        match self.service.behind {
            Behind::Mcp(_) | Behind::Remote(_) => self.listing.tools.len(),
            _ => {
                let mut own = self.bench.operations.iter();
                own.by_ref().filter(|op| op.server() == "s").count()
            }
        }
    }

    async fn call(&mut self, op: &str, args: &str, time: Duration, key: &str) -> Reply {
        let dir = self.bench.workspace.path("work").display().to_string();
        let args = args
            .replace("WORK", &dir)
            .replace("BIG", &"x".repeat(10_000));
        let mut operation = self.bench.operation(&format!("s.{op}")).clone();
        operation.timeout = time;
        let args = serde_json::from_str(&args).unwrap();
        let reply = self.bench.call_keyed(operation, args, Some(key)).await;
        self.kept.extend(kept(&reply));
        reply
    }

    async fn count(&mut self) -> i64 {
        let Some((op, pointer)) = self.service.count else {
            return 0;
        };
        let reply = self.call(op, "{}", LONG, "count").await;
        let output = reply
            .output
            .unwrap_or_else(|| panic!("{:?}", reply.message));
        match output.pointer(pointer).unwrap() {
            Value::Array(items) => i64::try_from(items.len()).unwrap(),
            number => number.as_i64().unwrap(),
        }
    }

    /// Brings the case about; what was seen.
    pub(super) async fn perform(&mut self, case: Case, how: How) -> String {
        let name = self.service.name;
        if matches!(how, How::Stopped(..) | How::Killed(..) | How::Dropped(..)) {
            // Why: after a fault, the server is started by the next call.
            self.typed().await;
        }
        match how {
            How::Call(op, args, expected, part) => {
                let reply = self.call(op, args, LONG, "call").await;
                assert_eq!(words(&reply), expected, "{name} {case:?}: {reply:?}");
                let told = format!("{:?} {:?}", reply.output, reply.message);
                assert!(told.contains(part), "{name} {case:?}: {told}");
                words(&reply)
            }
            How::Short(fault, op, args, expected, landed) => {
                let before = self.count().await;
                if let (Some(world), false) = (&self.world, fault.is_empty()) {
                    world.ask("POST", "/faults", fault).await;
                }
                let reply = self.call(op, args, SHORT, "short").await;
                assert_eq!(words(&reply), expected, "{name} {case:?}: {reply:?}");
                let after = self.count().await - before;
                assert_eq!(after, landed, "{name} {case:?}: how often it took place");
                words(&reply)
            }
            How::Late(op, args) => self.late(op, args).await,
            How::Stopped(op, args, expected) => {
                self.signal(Signal::STOP);
                let reply = self.call(op, args, SHORT, "stopped").await;
                if self.remote.is_some() {
                    self.signal(Signal::CONT);
                }
                assert_eq!(words(&reply), expected, "{name} {case:?}: {reply:?}");
                words(&reply)
            }
            How::Killed(op, args, expected) => {
                let pid = self.pid();
                kill_process(pid, Signal::STOP).unwrap();
                let killing = tokio::spawn(async move {
                    tokio::time::sleep(Duration::from_millis(300)).await;
                    kill_process(pid, Signal::KILL).unwrap();
                });
                let reply = self.call(op, args, LONG, "killed").await;
                killing.await.unwrap();
                assert_eq!(words(&reply), expected, "{name} {case:?}: {reply:?}");
                words(&reply)
            }
            How::Again(op, args) => {
                if let Some(world) = &mut self.world {
                    world.child.wait().unwrap();
                    let (state, address) = (world.state.clone(), world.address.clone());
                    *world = World::start(state, &address);
                }
                if let Some(mut remote) = self.remote.take() {
                    remote.child.wait().unwrap();
                    let command = std::mem::take(&mut remote.command);
                    self.remote = Some(Remote::start(command, remote.port).await);
                }
                let reply = self.call(op, args, LONG, "again").await;
                assert_eq!(words(&reply), "ok happened", "{name} {case:?}: {reply:?}");
                "yes".to_owned()
            }
            How::Dropped(op, args) => {
                if let Some(world) = &self.world {
                    let slow = r#"{"route":"*","kind":"slow","ms":2000}"#;
                    world.ask("POST", "/faults", slow).await;
                } else if self.service.behind.is_mcp() {
                    self.signal(Signal::STOP);
                }
                let call = self.call(op, args, LONG, "dropped");
                let dropped = tokio::time::timeout(Duration::from_millis(200), call).await;
                assert!(dropped.is_err(), "{name}: it was too fast to be dropped");
                if self.service.behind.is_mcp() {
                    self.signal(Signal::CONT);
                }
                self.typed().await;
                "goes on".to_owned()
            }
            How::Twice(op, args) => {
                let before = self.count().await;
                for key in ["k1", "k1", "k2"] {
                    let reply = self.call(op, args, LONG, key).await;
                    assert_eq!(words(&reply), "ok happened", "{name} {case:?}: {reply:?}");
                }
                assert_eq!(self.count().await - before, 2, "{name}: by key");
                "landed once".to_owned()
            }
            How::Echo(op, args) => {
                let reply = self.call(op, args, LONG, "echo").await;
                assert_eq!(words(&reply), "ok happened", "{name} {case:?}: {reply:?}");
                let told = String::from_utf8_lossy(&kept(&reply)).into_owned();
                assert!(told.contains("[redacted]"), "{name}: {told}");
                "redacted".to_owned()
            }
            How::Drifted(op, args) => {
                let workspace = Workspace::new();
                furnish(&workspace);
                let toml = self.toml.clone();
                let (bench, _) = opened(workspace, &toml, self.service, true).await;
                let whole = std::mem::replace(&mut self.bench, bench);
                let reply = self.call(op, args, LONG, "drift").await;
                self.bench = whole;
                assert_eq!(words(&reply), "drift none", "{name}: {reply:?}");
                words(&reply)
            }
            How::Never(why) => why.to_owned(),
        }
    }

    /// The first case once more.
    async fn typed(&mut self) {
        let name = self.service.name;
        let How::Call(op, args, ..) = self.service.cases[0] else {
            panic!("{name}: no typed call");
        };
        let reply = self.call(op, args, LONG, "typed").await;
        assert_eq!(words(&reply), "ok happened", "{name}: {reply:?}");
    }

    /// Why in steps: the time is to be over while the server works, not before it was sent.
    async fn late(&mut self, op: &str, args: &str) -> String {
        for doubled in 0..10 {
            self.typed().await;
            let time = Duration::from_millis(1 << doubled);
            let seen = words(&self.call(op, args, time, "late").await);
            if seen != "timeout none" {
                let known = ["timeout unknown", "ok happened"];
                assert!(known.contains(&seen.as_str()), "{op}: {seen}");
                // Why both: how fast it is, the machine decides, and the table is to stay.
                return "timeout unknown, or in time".to_owned();
            }
        }
        panic!("{op}: it was never sent");
    }

    fn signal(&self, signal: Signal) {
        kill_process(self.pid(), signal).unwrap();
    }

    fn pid(&self) -> Pid {
        match (&self.world, &self.remote) {
            (Some(world), _) => Pid::from_child(&world.child),
            (None, Some(remote)) => Pid::from_child(&remote.child),
            (None, None) => server_pid(),
        }
    }
}

/// The one child of this process that is no zombie. Why waited for: a server that was given up a
/// moment ago is still ending while its successor answers already.
fn server_pid() -> Pid {
    let began = std::time::Instant::now();
    loop {
        let found = children();
        if let [pid] = found[..] {
            return Pid::from_raw(pid).unwrap();
        }
        assert!(began.elapsed() < LONG, "not one server but {found:?}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// The children of this process that are no zombies, without the watchdog of what it starts.
fn children() -> Vec<i32> {
    let own = std::process::id().to_string();
    let entries = std::fs::read_dir("/proc").unwrap().flatten();
    let found = entries.filter_map(|entry| {
        let stat = std::fs::read_to_string(entry.path().join("stat")).ok()?;
        let (head, tail) = stat.rsplit_once(") ")?;
        let mut fields = tail.split(' ');
        let (state, parent) = (fields.next()?, fields.next()?);
        let pid = head.split(' ').next()?.parse().ok()?;
        if parent != own || state == "Z" {
            return None;
        }
        let command = std::fs::read(entry.path().join("cmdline")).ok()?;
        let is_watchdog = command.ends_with(b"provost-watchdog\0");
        (!is_watchdog).then_some(pid)
    });
    found.collect()
}

/// The entries for an OpenAPI document, its schemas put in their place.
fn proposed(workspace: &Workspace, document: &str, url: &str) -> String {
    let only: Vec<String> = ["sendPage", "listPages", "listTickets"]
        .map(str::to_owned)
        .into();
    let wanted = ImportRequest {
        tool: "s",
        source: "openapi.json",
        base_url: Some(url),
        only: &only,
        bearer: None,
    };
    let proposal = propose(&parse_yaml(document).unwrap().to_value(), &wanted).unwrap();
    for (path, schema) in &proposal.schemas {
        workspace.write(path, schema.to_string());
    }
    proposal.entries
}

/// An open workspace, with the tools of an MCP server pinned as it lists them, or otherwise.
async fn opened(
    workspace: Workspace,
    toml: &str,
    service: &Service,
    drift: bool,
) -> (Bench, Listing) {
    if !service.behind.is_mcp() {
        return (workspace.open(toml), Listing::default());
    }
    let lenient = Listings::default().lenient();
    let configs = configs_listed(toml, workspace.dir.path(), &lenient).unwrap();
    let toolbox = Toolbox::open(workspace.dir.path(), configs).unwrap();
    let listed = toolbox.listing("s", LONG).await;
    let listing = listed.unwrap_or_else(|reply| panic!("{}: {reply:#?}", service.name));
    let mut pinned = listing.clone();
    if drift {
        for (name, definition) in &mut pinned.tools {
            let fields = definition.fields();
            let mut fields: serde_json::Map<_, _> = fields
                .map(|(name, value)| (name.to_owned(), value.clone()))
                .collect();
            fields.insert("description".to_owned(), json!("another"));
            *definition = Definition::new(name, &fields).unwrap();
        }
    }
    let listings = Listings::new([("s".to_owned(), pinned)].into());
    (workspace.open_listed(toml, &listings), listing)
}
