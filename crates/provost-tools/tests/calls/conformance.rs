//! One suite over every adapter, against the real thing: `scripts/full tools` installs and starts
//! it. Services are data (`services.rs`), a case is done in one way for all of them (`stage.rs`),
//! and the table is that of docs/reference/tools.md.

use std::path::Path;

use provost_wire::SecretName;

use super::*;

#[path = "../../../sim/src/canary/forms.rs"]
mod forms;
mod services;
mod stage;

use services::SERVICES;
use stage::Stage;

/// What is asked of every adapter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Case {
    Typed,
    BadArguments,
    Denied,
    Before,
    After,
    Death,
    Restart,
    Cancel,
    Huge,
    Key,
    Secret,
    Drift,
}

const CASES: [(Case, &str); 12] = [
    (Case::Typed, "typed call"),
    (Case::BadArguments, "bad arguments"),
    (Case::Denied, "denied"),
    (Case::Before, "late, before the effect"),
    (Case::After, "late, after the effect"),
    (Case::Death, "dies"),
    (Case::Restart, "is there again"),
    (Case::Cancel, "cancelled"),
    (Case::Huge, "too large"),
    (Case::Key, "same key again"),
    (Case::Secret, "secret echoed"),
    (Case::Drift, "drift"),
];

/// How a case is brought about, with the operation, its arguments and what it comes to. In
/// arguments `W` is the folder of the service.
#[derive(Clone, Copy, Debug)]
enum How {
    /// Called. The last is a part of the output or of the message.
    Call(&'static str, &'static str, &'static str, &'static str),
    /// Called with one second, behind this fault of the world; and how often it took place.
    Short(&'static str, &'static str, &'static str, &'static str, i64),
    /// Called with more and more time, until the time was over after it was sent.
    Late(&'static str, &'static str),
    /// Called while the process of the service is stopped.
    Stopped(&'static str, &'static str, &'static str),
    /// The process is killed while it works.
    Killed(&'static str, &'static str, &'static str),
    /// Called once more, after it died.
    Again(&'static str, &'static str),
    /// Dropped while it works, and called once more.
    Dropped(&'static str, &'static str),
    /// Called twice with a key and once with another: takes place twice.
    Twice(&'static str, &'static str),
    /// Called; what comes back held the secret.
    Echo(&'static str, &'static str),
    /// Called while the server lists the tool otherwise than it is pinned.
    Drifted(&'static str, &'static str),
    /// Why this case is none of this adapter.
    Never(&'static str),
}

/// What is behind an adapter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Behind {
    /// An MCP server: this command.
    Mcp(&'static [&'static str]),
    /// An MCP server that runs by itself, spoken to over HTTP: this command.
    Remote(&'static [&'static str]),
    /// The world, by entries written by hand.
    World,
    /// The world, by entries from its OpenAPI document.
    OpenApi,
    /// A PostgreSQL server.
    Postgres,
    /// Programs or files of this machine.
    Machine,
}

impl Behind {
    fn is_mcp(self) -> bool {
        matches!(self, Self::Mcp(_) | Self::Remote(_))
    }
}

struct Service {
    name: &'static str,
    behind: Behind,
    /// Its table in provost.toml.
    tool: &'static str,
    /// The read that counts how often its write took place, and where the number stands.
    count: Option<(&'static str, &'static str)>,
    cases: [How; 12],
}

const CANARY: &str = "hunter2/hunter2+hunter2";

/// All forms of the secret in one text.
fn echo() -> String {
    forms::echo(CANARY)
}

/// The forms of the secret that stand in `bytes`.
fn found(bytes: &[u8]) -> Vec<&'static str> {
    forms::found(CANARY, bytes)
}

/// All that a journal could hold of a reply.
fn kept(reply: &Reply) -> Vec<u8> {
    let mut kept = reply.evidence.clone();
    kept.extend(format!("{:?} {:?} {}", reply.output, reply.message, reply.media).bytes());
    kept
}

/// The rows of the table, and below them why a case is none of an adapter.
async fn table() -> String {
    let mut rows = vec![format!(
        "| service | version | protocol | operations | {} |\n|{}",
        CASES.map(|(_, heading)| heading).join(" | "),
        "---|".repeat(CASES.len() + 4)
    )];
    let mut reasons: Vec<&str> = Vec::new();
    for service in &SERVICES {
        let mut stage = Stage::set(service).await;
        let mut cells = Vec::new();
        for ((case, _), how) in CASES.iter().zip(service.cases) {
            cells.push(match how {
                How::Never(why) => {
                    let at = reasons.iter().position(|known| *known == why);
                    let at = at.unwrap_or_else(|| {
                        reasons.push(why);
                        reasons.len() - 1
                    });
                    format!("— ({})", at + 1)
                }
                _ => stage.perform(*case, how).await,
            });
            let leaked = found(&stage.records());
            assert_eq!(leaked, [""; 0], "{} {case:?} leaks", service.name);
        }
        let (version, protocol) = stage.spoken();
        let operations = stage.listed();
        rows.push(format!(
            "| {} | {version} | {protocol} | {operations} | {} |",
            service.name,
            cells.join(" | ")
        ));
        println!("{}", rows.last().unwrap());
    }
    let reasons = reasons.iter().enumerate();
    let reasons = reasons.map(|(at, why)| format!("{}. {why}", at + 1));
    format!(
        "{}\n\n{}",
        rows.join("\n"),
        reasons.collect::<Vec<_>>().join("\n")
    )
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs the services that `scripts/full tools` installs and starts"]
async fn real_services_are_governed_alike() {
    let seen = table().await;
    println!("\n{seen}\n");
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/reference/tools.md");
    let page = std::fs::read_to_string(page).unwrap();
    assert!(
        page.contains(&seen),
        "docs/reference/tools.md holds another table"
    );
}

/// The control of the scan: where nobody says that it is a secret, each form of it is found.
#[tokio::test]
async fn a_secret_that_leaks_is_found() {
    let tool = "[tools.f]\nkind = \"files\"\nroot = \"work\"\n";
    let open = |toml: &str| {
        let workspace = Workspace::new();
        workspace
            .write("work/echo.txt", echo())
            .write("secret", CANARY);
        workspace.open(toml)
    };
    let named = format!("{tool}{}", stage::OTHER);
    for (toml, forms) in [(tool, 4), (named.as_str(), 0)] {
        let bench = open(toml);
        let reply = bench.call("f.read", json!({"path": "echo.txt"})).await;
        assert_eq!(reply.class, Class::Ok);
        assert_eq!(found(&kept(&reply)).len(), forms, "{reply:?}");
    }
    assert!(SecretName::parse("file:secret").is_ok());
}
