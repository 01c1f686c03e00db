//! A workspace with a shop's database and a folder of notes, and the binary run in it.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

use regex::Regex;
use sim::canary;

const CONFIG: &str = r#"models.canary = { kind = "openai", model = "m", key = "env:PROVOST_CANARY_KEY" }
[workspace]
user = "ada"

[tools.shop]
kind = "sql"
database = "data/shop.db"
[tools.shop.ops.orders]
query = """
select count(*) as total, coalesce(max(customer), '') as latest
from orders where customer like '%' || :customer || '%'
"""
single = true
input = "schemas/customer.json"
output = "schemas/orders.json"
effect = "read"

[tools.notes]
kind = "files"
root = "notes"
[tools.notes.ops.read]
op = "read"
effect = "read"
[tools.notes.ops.write]
op = "write"
effect = "write"
tags = ["production"]
"#;

const CUSTOMER: &str = r#"{
  "type": "object", "required": ["customer"], "additionalProperties": false,
  "properties": { "customer": { "type": "string" } }
}"#;

const ORDERS: &str = r#"{
  "type": "object", "required": ["row"],
  "properties": { "row": {
    "type": "object", "required": ["total", "latest"],
    "properties": { "total": { "type": "integer" }, "latest": { "type": "string" } }
  } }
}"#;

const COUNT: &str = r#"
schema: provost/playbook/v1
match: "Count the orders of {customer}"
params: { customer: { type: string } }
goal: { success: [ { id: counted, text: the orders were counted } ] }
plan:
  steps:
    - id: count
      description: Count the orders
      tool: shop.orders
      args: { customer: "${ params.customer }" }
  success:
    - { for: counted, check: '${ steps.count.status == "succeeded" }' }
  answer:
    - text: "${ steps.count.output.row.total } orders, the latest of ${ steps.count.output.row.latest }."
revise:
  - after: count
    when: ${ steps.count.output.row.total == 0 }
    because: nobody of that name ordered anything
    steps:
      - id: everybody
        description: Count the orders of everybody
        tool: shop.orders
        args: { customer: "" }
    answer:
      - text: "No orders; ${ steps.everybody.output.row.total } of everybody."
"#;

const NOTE: &str = r#"
schema: provost/playbook/v1
match: "Note the orders of {customer}"
params: { customer: { type: string } }
goal: { success: [ { id: noted, text: the number of orders stands in the note } ] }
plan:
  steps:
    - id: count
      description: Count the orders
      tool: shop.orders
      args: { customer: "${ params.customer }" }
    - id: note
      description: Write the note
      tool: notes.write
      args: { path: orders.txt, text: "${ steps.count.output.row.total } orders of ${ params.customer }" }
      accept: ["${ output.bytes > 0 }"]
  success:
    - { for: noted, check: '${ steps.note.status == "succeeded" }' }
  answer:
    - { text: The note is written., cites: [note] }
"#;

const ASK: &str = r#"
schema: provost/playbook/v1
match: "Ask whose orders count"
goal: { success: [ { id: counted, text: the orders were counted } ] }
plan:
  steps:
    - id: whose
      question: { text: Whose orders?, answer: { type: string, minLength: 2 } }
    - id: count
      tool: shop.orders
      args: { customer: "${ steps.whose.output }" }
  success:
    - { for: counted, check: '${ steps.count.status == "succeeded" }' }
  answer:
    - text: "${ steps.count.output.row.total } orders."
"#;

/// A plan file that runs.
pub const PLAN: &str = r#"schema: provost/plan/v1
goal:
  text: Look how many orders there are
  success: [ { id: looked, text: the orders were counted } ]
steps:
  - id: count
    tool: shop.orders
    args: { customer: "" }
success:
  - { for: looked, check: '${ steps.count.status == "succeeded" }' }
answer:
  - text: "${ steps.count.output.row.total } orders."
"#;

/// A workspace in a directory of its own. When it is dropped, no canary may stand in any file of it.
pub struct Workplace {
    dir: tempfile::TempDir,
}

impl Workplace {
    /// A workspace in which two customers made three orders.
    pub fn new() -> Self {
        let workplace = Self::empty();
        workplace.run(&["init"]).exits(0);
        let people = r#"{ "users": { "ada": { "groups": [] } } }"#;
        for (path, text) in [
            ("provost.toml", CONFIG),
            ("policies/entities.json", people),
            ("schemas/customer.json", CUSTOMER),
            ("schemas/orders.json", ORDERS),
            ("playbooks/count.yaml", COUNT),
            ("playbooks/note.yaml", NOTE),
            ("playbooks/ask.yaml", ASK),
        ] {
            workplace.write(path, text);
        }
        std::fs::remove_file(workplace.path("playbooks/find.yaml")).unwrap();
        workplace.orders(&["ada", "ada", "grace"]);
        workplace
    }

    /// A directory that is no workspace.
    pub fn empty() -> Self {
        let workplace = Self {
            dir: tempfile::tempdir().unwrap(),
        };
        workplace.write(canary::TOKEN_FILE, canary::TOKEN);
        workplace
    }

    pub fn path(&self, path: &str) -> PathBuf {
        self.dir.path().join(path)
    }

    pub fn write(&self, path: &str, text: impl AsRef<[u8]>) {
        let path = self.path(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }

    pub fn edit(&self, path: &str, from: &str, to: &str) {
        let text = std::fs::read_to_string(self.path(path)).unwrap();
        assert!(text.contains(from), "`{from}` is not in {path}");
        self.write(path, text.replace(from, to));
    }

    /// Replaces the people.
    pub fn people(&self, users: &serde_json::Map<String, serde_json::Value>) {
        let text = serde_json::json!({ "users": users }).to_string();
        self.write("policies/entities.json", text);
    }

    /// Replaces the orders.
    pub fn orders(&self, customers: &[&str]) {
        std::fs::create_dir_all(self.path("data")).unwrap();
        let database = rusqlite::Connection::open(self.path("data/shop.db")).unwrap();
        database
            .execute_batch("create table if not exists orders (customer text); delete from orders")
            .unwrap();
        for customer in customers {
            database
                .execute("insert into orders values (?1)", [customer])
                .unwrap();
        }
    }

    pub fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_provost"));
        command
            .args(args)
            .current_dir(self.dir.path())
            .env_remove("NO_COLOR")
            .env_remove("COLUMNS")
            .env_remove("PROVOST_KEY")
            .env_remove("PROVOST_PASSPHRASE_FILE")
            .env("XDG_CONFIG_HOME", self.path("config"))
            .env(canary::VARIABLE_NAME, canary::VARIABLE)
            .env(canary::KEY_NAME, canary::KEY)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command
    }

    pub fn run(&self, args: &[&str]) -> Ran {
        Ran::new(&self.command(args).output().unwrap(), self.dir.path())
    }

    pub fn spawn(&self, args: &[&str]) -> Child {
        self.command(args).spawn().unwrap()
    }

    /// Begins a run that waits for an approval; gives its id and the card's digits.
    pub fn waiting(&self) -> (String, String) {
        self.run(&["run", "Note the orders of ada"]).exits(3);
        self.card()
    }

    /// The run and the card that the newest run waits for.
    pub fn card(&self) -> (String, String) {
        let runs = self.json(&["runs", "--json"]);
        let run = runs
            .pointer("/runs/0/id")
            .unwrap()
            .as_str()
            .unwrap()
            .to_owned();
        let digest = runs
            .pointer("/runs/0/waiting_for/digest")
            .unwrap()
            .as_str()
            .unwrap();
        (
            run,
            digest
                .trim_start_matches("sha256:")
                .chars()
                .take(16)
                .collect(),
        )
    }

    /// The status of the newest run.
    pub fn status(&self) -> String {
        let runs = self.json(&["runs", "--json"]);
        runs.pointer("/runs/0/status")
            .unwrap()
            .as_str()
            .unwrap()
            .to_owned()
    }

    /// What a command prints as JSON.
    pub fn json(&self, args: &[&str]) -> serde_json::Value {
        let ran = self.run(args);
        serde_json::from_str(&ran.raw_stdout).unwrap_or_else(|_| panic!("no JSON: {ran}"))
    }
}

impl Drop for Workplace {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            assert_eq!(canary::leaks_below(self.dir.path()), [""; 0]);
        }
    }
}

/// What a command did, with everything that differs from time to time taken out.
pub struct Ran {
    pub code: Option<i32>,
    pub stdout: String,
    pub stderr: String,
    pub raw_stdout: String,
    pub raw_stderr: String,
}

impl Ran {
    pub fn new(output: &Output, dir: &Path) -> Self {
        let raw_stdout = String::from_utf8(output.stdout.clone()).unwrap();
        let raw_stderr = String::from_utf8(output.stderr.clone()).unwrap();
        for text in [&raw_stdout, &raw_stderr] {
            assert_eq!(canary::leaks(text.as_bytes()), [""; 0], "{text}");
        }
        Self {
            code: output.status.code(),
            stdout: settled(&raw_stdout, dir),
            stderr: settled(&raw_stderr, dir),
            raw_stdout,
            raw_stderr,
        }
    }

    #[track_caller]
    pub fn exits(self, code: i32) -> Self {
        assert_eq!(self.code, Some(code), "{self}");
        self
    }
}

impl std::fmt::Display for Ran {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        writeln!(
            f,
            "exit {}",
            self.code
                .map_or("by signal".to_owned(), |code| code.to_string())
        )?;
        for (name, text) in [("stdout", &self.stdout), ("stderr", &self.stderr)] {
            if !text.is_empty() {
                writeln!(f, "--- {name}\n{}", text.trim_end())?;
            }
        }
        Ok(())
    }
}

/// What a command did, its public keys taken out.
pub fn public(ran: &Ran) -> String {
    Regex::new("ed25519:[A-Za-z0-9+/]{43}=")
        .unwrap()
        .replace_all(&ran.to_string(), "ed25519:KEY")
        .into_owned()
}

fn settled(text: &str, dir: &Path) -> String {
    let text = text.replace(&*dir.canonicalize().unwrap().to_string_lossy(), "DIR");
    let text = text.replace(&*dir.to_string_lossy(), "DIR");
    let mut text = text;
    for (pattern, with) in [
        ("sha256:[0-9a-f]{64}", "sha256:DIGEST"),
        ("@[0-9a-f]{16}", "@CARD"),
        (
            r"\b(run:? +`?|approve |reject |resume |cancel |settle |why |show |answer |amend )[a-z2-7]{12}\b",
            "${1}RUN",
        ),
        (r"(?m)^[a-z2-7]{12}  ", "RUN  "),
        (r#""(id|run)": "[a-z2-7]{12}""#, r#""$1": "RUN""#),
        ("[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:]{8}Z", "MOMENT"),
        (r"after [0-9.]+ (ms|s)\b", "after TIME"),
        (r"process [0-9]+\b", "process PID"),
    ] {
        text = Regex::new(pattern)
            .unwrap()
            .replace_all(&text, with)
            .into_owned();
    }
    text
}
