//! One suite over real MCP servers: `scripts/full tools` installs them and names their folder in
//! `PROVOST_SERVERS`. Prints the table of docs/reference/tools.md.

use std::path::Path;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};

use super::*;
use crate::mcp::Definition;

/// A server and what is asked of it. Of a call that must fail: class, landing, part of the message.
struct Real {
    name: &'static str,
    command: &'static [&'static str],
    operations: &'static str,
    /// An operation with a typed output, its arguments, and a part of the output.
    typed: (&'static str, &'static str, &'static str),
    /// What the server itself refuses.
    denied: (&'static str, &'static str, &'static str, &'static str),
    /// A write: how often it took place is read from the folder.
    write: Option<(&'static str, &'static str)>,
    /// A result that is too large.
    huge: Option<(&'static str, &'static str)>,
    /// A call that tells the environment.
    echo: Option<&'static str>,
}

const SERVERS: [Real; 5] = [
    Real {
        name: "everything",
        command: &[
            "node",
            "S/node_modules/@modelcontextprotocol/server-everything/dist/index.js",
        ],
        operations: "weather = { tool = \"get-structured-content\", effect = \"read\" }\n\
                     echo = { effect = \"read\", max_bytes = 1000 }\n\
                     env = { tool = \"get-env\", effect = \"read\" }\n\
                     none = { tool = \"get-resource-reference\", effect = \"write\" }\n",
        typed: ("weather", r#"{"location":"Chicago"}"#, "temperature"),
        denied: ("none", r#"{"resourceId":-1}"#, " unknown", "esource"),
        write: None,
        huge: Some(("echo", r#"{"message":"BIG"}"#)),
        echo: Some("env"),
    },
    Real {
        name: "filesystem",
        command: &[
            "node",
            "S/node_modules/@modelcontextprotocol/server-filesystem/dist/index.js",
            "W",
        ],
        operations: "read = { tool = \"read_text_file\", effect = \"read\", max_bytes = 1000 }\n\
                     write = { tool = \"write_file\", effect = \"destructive\" }\n",
        typed: ("read", r#"{"path":"W/a.txt"}"#, "good day"),
        denied: (
            "write",
            r#"{"path":"/etc/no","content":""}"#,
            "permission_denied unknown",
            "Access denied",
        ),
        write: Some(("write", r#"{"path":"W/new.txt","content":"new"}"#)),
        huge: Some(("read", r#"{"path":"W/big.txt"}"#)),
        echo: None,
    },
    Real {
        name: "memory",
        command: &[
            "node",
            "S/node_modules/@modelcontextprotocol/server-memory/dist/index.js",
        ],
        operations: "graph = { tool = \"read_graph\", effect = \"read\" }\n\
                     create = { tool = \"create_entities\", effect = \"write\" }\n\
                     observe = { tool = \"add_observations\", effect = \"write\" }\n",
        typed: ("graph", "{}", "entities"),
        denied: (
            "observe",
            r#"{"observations":[{"entityName":"nobody","contents":["x"]}]}"#,
            "not_found unknown",
            "nobody",
        ),
        write: Some((
            "create",
            r#"{"entities":[{"name":"new","entityType":"x","observations":[]}]}"#,
        )),
        huge: None,
        echo: None,
    },
    Real {
        name: "git",
        command: &["S/venv/bin/mcp-server-git", "--repository", "W"],
        operations: "log = { tool = \"git_log\", effect = \"read\" }\n\
                     show = { tool = \"git_show\", effect = \"read\", max_bytes = 1000 }\n\
                     branch = { tool = \"git_create_branch\", effect = \"write\" }\n",
        typed: ("log", r#"{"repo_path":"W"}"#, "the first"),
        denied: (
            "branch",
            r#"{"repo_path":"/etc","branch_name":"x"}"#,
            " unknown",
            "/etc",
        ),
        write: Some(("branch", r#"{"repo_path":"W","branch_name":"new"}"#)),
        huge: Some(("show", r#"{"repo_path":"W","revision":"HEAD"}"#)),
        echo: None,
    },
    Real {
        name: "time",
        command: &["S/venv/bin/mcp-server-time"],
        operations: "now = { tool = \"get_current_time\", effect = \"read\" }\n\
                     convert = { tool = \"convert_time\", effect = \"write\" }\n",
        typed: ("now", r#"{"timezone":"Europe/Paris"}"#, "Europe/Paris"),
        denied: (
            "convert",
            r#"{"source_timezone":"Nowhere/At","time":"10:00","target_timezone":"UTC"}"#,
            " unknown",
            "Nowhere",
        ),
        write: None,
        huge: None,
        echo: None,
    },
];

/// A bench for one server, pinned as it lists itself but for one tool if `drift` says so.
async fn bench(real: &Real, servers: &str, drift: bool) -> (Bench, Listing) {
    let workspace = Workspace::new();
    let dir = workspace.path("work").display().to_string();
    workspace
        .write("work/a.txt", "good day\n")
        .write("work/big.txt", "x".repeat(100_000));
    workspace.write("secret", "hunter2hunter2");
    let git = |args: &[&str]| {
        let mut git = std::process::Command::new("git");
        git.args([
            "-C",
            &dir,
            "-c",
            "user.name=a",
            "-c",
            "user.email=a@example.org",
        ]);
        assert!(git.args(args).output().unwrap().status.success());
    };
    git(&["init", "-q"]);
    git(&["add", "."]);
    git(&["commit", "-q", "-m", "the first"]);
    let place = |text: &&str| {
        text.replacen("S/", &format!("{servers}/"), 1)
            .replace('W', &dir)
    };
    let command: Vec<String> = real.command.iter().map(place).collect();
    let toml = format!(
        "[tools.s]\nkind = \"mcp\"\ncommand = {}\n\
         env = {{ MEMORY_FILE_PATH = \"{dir}/memory.json\", TOLD = \"file:secret\" }}\n\
         [tools.s.ops]\n{}",
        json!(command),
        real.operations
    );
    let lenient = Listings::default().lenient();
    let configs = configs_listed(&toml, workspace.dir.path(), &lenient).unwrap();
    let toolbox = Toolbox::open(workspace.dir.path(), configs).unwrap();
    let listed = toolbox.listing("s", Duration::from_secs(60)).await;
    let listing = listed.unwrap_or_else(|reply| panic!("{}: {reply:#?}", real.name));
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
    (workspace.open_listed(&toml, &listings), listing)
}

impl Bench {
    async fn real(&self, call: (&str, &str), timeout: Duration) -> Reply {
        let dir = self.workspace.path("work").display().to_string();
        let args = call
            .1
            .replace('W', &dir)
            .replace("BIG", &"x".repeat(10_000));
        let mut operation = self.operation(&format!("s.{}", call.0)).clone();
        operation.timeout = timeout;
        self.call_operation(operation, serde_json::from_str(&args).unwrap())
            .await
    }
}

/// The one child of this process that is no zombie.
fn server_pid() -> Pid {
    let own = std::process::id().to_string();
    let entries = std::fs::read_dir("/proc").unwrap().flatten();
    let mut found = entries.filter_map(|entry| {
        let stat = std::fs::read_to_string(entry.path().join("stat")).ok()?;
        let (head, tail) = stat.rsplit_once(") ")?;
        let mut fields = tail.split(' ');
        let (state, parent) = (fields.next()?, fields.next()?);
        let pid = head.split(' ').next()?.parse().ok()?;
        (parent == own && state != "Z").then_some(pid)
    });
    let pid = found.next().unwrap();
    assert!(found.next().is_none(), "two servers");
    Pid::from_raw(pid).unwrap()
}

const LONG: Duration = Duration::from_secs(60);

fn words(reply: &Reply) -> String {
    format!("{} {}", reply.class.word(), reply.landing.word())
}

/// What was seen of a fault of the process; each time the next call must find a server again.
async fn faults(real: &Real, bench: &Bench) -> Vec<String> {
    let typed = (real.typed.0, real.typed.1);
    let fine = async || assert_eq!(words(&bench.real(typed, LONG).await), "ok happened");
    let mut seen = Vec::new();
    // It hangs: stopped before it reads the call.
    kill_process(server_pid(), Signal::STOP).unwrap();
    let hung = bench.real(typed, Duration::from_secs(1)).await;
    seen.push(words(&hung));
    fine().await;
    // It dies while it works.
    let pid = server_pid();
    kill_process(pid, Signal::STOP).unwrap();
    let (died, ()) = tokio::join!(bench.real(typed, LONG), async {
        tokio::time::sleep(Duration::from_millis(200)).await;
        kill_process(pid, Signal::KILL).unwrap();
    });
    seen.push(words(&died));
    fine().await;
    assert_ne!(server_pid(), pid, "{}: it was not started anew", real.name);
    // A call that is dropped leaves the session as it was.
    let pid = server_pid();
    kill_process(pid, Signal::STOP).unwrap();
    let dropped = tokio::time::timeout(Duration::from_millis(200), bench.real(typed, LONG)).await;
    assert!(dropped.is_err());
    kill_process(pid, Signal::CONT).unwrap();
    fine().await;
    assert_eq!(server_pid(), pid, "{}", real.name);
    seen.push("goes on".to_owned());
    seen
}

/// A write with more and more time, until it is sent before its time is over: then nobody knows
/// whether it took place, unless its answer was that fast.
async fn late(real: &Real, bench: &Bench, write: (&str, &str)) -> String {
    for doubled in 0..10 {
        // Why: the time is to be over while the server works, not while it starts.
        assert_eq!(
            bench.real((real.typed.0, real.typed.1), LONG).await.class,
            Class::Ok
        );
        let reply = bench.real(write, Duration::from_millis(1 << doubled)).await;
        let seen = words(&reply);
        if seen != "timeout none" {
            let known = ["timeout unknown", "ok happened"];
            assert!(known.contains(&seen.as_str()), "{}: {reply:?}", real.name);
            return seen;
        }
    }
    panic!("{}: it was never sent", real.name);
}

async fn row(real: &Real, servers: &str) -> String {
    let (bench, listing) = bench(real, servers, false).await;
    let typed = bench.real((real.typed.0, real.typed.1), LONG).await;
    assert_eq!(words(&typed), "ok happened", "{}: {typed:#?}", real.name);
    assert!(
        typed.output.unwrap().to_string().contains(real.typed.2),
        "{}",
        real.name
    );
    let bad = bench.real((real.typed.0, r#"{"no_such":1}"#), LONG).await;
    let (op, args, class, part) = real.denied;
    let denied = bench.real((op, args), LONG).await;
    assert!(
        words(&denied).ends_with(class),
        "{}: {denied:#?}",
        real.name
    );
    let message = denied.message.clone().unwrap_or_default();
    assert!(message.contains(part), "{}: {message}", real.name);
    let mut cells = vec![words(&bad), words(&denied)];
    assert_eq!(cells[0], "invalid_arguments none", "{}", real.name);
    cells.extend(faults(real, &bench).await);
    assert_eq!(
        cells[2..4],
        ["timeout unknown", "unavailable unknown"],
        "{}",
        real.name
    );
    cells.push(match real.write {
        Some(write) => late(real, &bench, write).await,
        None => "—".to_owned(),
    });
    cells.push(match real.huge {
        Some(huge) => {
            let reply = bench.real(huge, LONG).await;
            assert_eq!(
                reply.class,
                Class::OutputInvalid,
                "{}: {reply:?}",
                real.name
            );
            words(&reply)
        }
        None => "—".to_owned(),
    });
    cells.push(match real.echo {
        Some(op) => {
            let reply = bench.real((op, "{}"), LONG).await;
            let text =
                reply.output.unwrap().to_string() + &String::from_utf8_lossy(&reply.evidence);
            assert!(
                text.contains("[redacted]") && !text.contains("hunter2"),
                "{text}"
            );
            "redacted".to_owned()
        }
        None => "—".to_owned(),
    });
    drop(bench);
    let (bench, _) = self::bench(real, servers, true).await;
    let drift = bench.real((real.typed.0, real.typed.1), LONG).await;
    assert_eq!(words(&drift), "drift none", "{}: {drift:?}", real.name);
    cells.push(words(&drift));
    format!(
        "| {} | {} | {} | {} | {} |",
        real.name,
        listing.server.rsplit(' ').next().unwrap_or_default(),
        listing.protocol,
        listing.tools.len(),
        cells.join(" | ")
    )
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs the servers that `scripts/full tools` installs"]
async fn real_servers_are_governed_alike() {
    let servers = std::env::var("PROVOST_SERVERS").unwrap();
    assert!(Path::new(&servers).is_absolute());
    println!(
        "| server | version | protocol | tools | bad arguments | refused | hangs | dies | cancelled \
         | late | too large | secret | drift |\n|{}",
        "---|".repeat(13)
    );
    for real in &SERVERS {
        println!("{}", row(real, &servers).await);
    }
}
