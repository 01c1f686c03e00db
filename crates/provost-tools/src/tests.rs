//! Tests of whole tools: a table of `provost.toml` in, replies out.
#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "tests"
)]

use std::path::{Path, PathBuf};
use std::sync::Arc;

use provost_plan::catalog::{Operation, Tags};
use provost_plan::diagnostic::Diagnostic;
use provost_plan::node::{Kind, parse_toml};
use provost_run::outcome::{Class, Landing, Reply};
use serde_json::{Value, json};

use crate::fault::Request;
use crate::{ConfigScope, Listing, Listings, OpenError, ToolConfig, Toolbox};

mod append;
mod command;
mod config;
mod conformance;
mod custom;
mod definitions;
mod files;
mod http;
mod http_settings;
mod injections;
mod mcp;
mod mcp_http;
mod model;
mod openapi;
mod postgres;
mod protected_paths;
mod search;
mod server;
mod sql;

/// A workspace in a temporary folder.
struct Workspace {
    dir: tempfile::TempDir,
}

/// An open workspace.
struct Bench {
    workspace: Workspace,
    toolbox: Toolbox,
    operations: Vec<Operation>,
}

impl Workspace {
    fn new() -> Self {
        Self {
            dir: tempfile::tempdir().unwrap(),
        }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    fn write(&self, name: &str, text: impl AsRef<[u8]>) -> &Self {
        let path = self.path(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
        self
    }

    fn database(&self, name: &str, sql: &str) -> &Self {
        let path = self.path(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        let connection = rusqlite::Connection::open(path).unwrap();
        connection.execute_batch(sql).unwrap();
        self
    }

    fn open(self, toml: &str) -> Bench {
        self.open_listed(toml, &Listings::default())
    }

    fn open_listed(self, toml: &str, listings: &Listings) -> Bench {
        let configs = configs_listed(toml, self.dir.path(), listings);
        let configs = configs.unwrap_or_else(|d| panic!("{d:#?}"));
        let operations = configs.iter().flat_map(ToolConfig::operations).collect();
        let toolbox = Toolbox::open(self.dir.path(), configs).unwrap_or_else(|e| panic!("{e:?}"));
        Bench {
            workspace: self,
            toolbox,
            operations,
        }
    }

    fn refusal(&self, toml: &str) -> Vec<OpenError> {
        let configs = configs(toml, self.dir.path()).unwrap_or_else(|d| panic!("{d:#?}"));
        Toolbox::open(self.dir.path(), configs)
            .err()
            .unwrap_or_default()
    }
}

impl Bench {
    fn operation(&self, name: &str) -> &Operation {
        let found = self.operations.iter().find(|op| op.name == name);
        found.unwrap_or_else(|| panic!("no operation {name}"))
    }

    async fn call(&self, name: &str, args: Value) -> Reply {
        self.call_with_key(name, args, None).await
    }

    async fn call_with_key(&self, name: &str, args: Value, key: Option<&str>) -> Reply {
        self.call_keyed(self.operation(name).clone(), args, key)
            .await
    }

    async fn call_operation(&self, operation: Operation, args: Value) -> Reply {
        self.call_keyed(operation, args, None).await
    }

    async fn call_keyed(&self, operation: Operation, args: Value, key: Option<&str>) -> Reply {
        let operation = Arc::new(operation);
        let Value::Object(args) = args else {
            panic!("arguments are a map");
        };
        let request = Request {
            timeout: operation.timeout,
            operation,
            args,
            key: key.map(str::to_owned),
        };
        let reply = self.toolbox.perform_request(&request).await;
        well_formed(&reply);
        reply
    }

    async fn output(&self, name: &str, args: Value) -> Value {
        let reply = self.call(name, args).await;
        assert_eq!(reply.class, Class::Ok, "{reply:#?}");
        reply.output.unwrap()
    }
}

/// What holds for every reply of every adapter.
fn well_formed(reply: &Reply) {
    assert_eq!(
        reply.class == Class::Ok,
        reply.output.is_some(),
        "{reply:#?}"
    );
    assert_eq!(
        reply.class == Class::Ok,
        reply.message.is_none(),
        "{reply:#?}"
    );
    if reply.class == Class::Ok {
        assert_eq!(reply.landing, Landing::Happened);
    }
    let message = reply.message.as_deref().unwrap_or("fine");
    assert!(
        !message.is_empty() && message.chars().count() <= 500,
        "{message}"
    );
    assert!(!message.chars().any(char::is_control), "{message:?}");
}

/// Class and landing as two words, and the message.
fn said(reply: &Reply) -> (String, String) {
    let words = format!("{} {}", reply.class.word(), reply.landing.word());
    (words, reply.message.clone().unwrap_or_default())
}

fn configs(toml: &str, base: &Path) -> Result<Vec<ToolConfig>, Vec<Diagnostic>> {
    configs_listed(toml, base, &Listings::default())
}

fn configs_listed(
    toml: &str,
    base: &Path,
    listings: &Listings,
) -> Result<Vec<ToolConfig>, Vec<Diagnostic>> {
    let node = parse_toml(toml).map_err(|d| vec![*d])?;
    let tools = node.get("tools").unwrap();
    let Kind::Map(entries) = &tools.kind else {
        panic!("`tools` is a map");
    };
    let models = model::models(&node);
    let mut diagnostics = Vec::new();
    let read = entries
        .iter()
        .filter_map(|(name, node)| {
            let around = ConfigScope {
                base,
                listings,
                models: &models,
                proxy: None,
                tags: &Tags::default(),
            };
            ToolConfig::read(&name.value, node, around, &mut diagnostics)
        })
        .collect();
    if diagnostics.is_empty() {
        Ok(read)
    } else {
        Err(diagnostics)
    }
}

/// Each finding as its code and message, with its hint behind an arrow.
fn findings(toml: &str) -> Vec<String> {
    let workspace = Workspace::new();
    let found = configs(toml, workspace.dir.path())
        .err()
        .unwrap_or_default();
    let line = |d: &Diagnostic| {
        let hint = d.hint.as_ref().map(|hint| format!(" -> {hint}"));
        format!("{} {}{}", d.code, d.message, hint.unwrap_or_default())
    };
    found.iter().map(line).collect()
}

/// Makes the calls of a table: a line `operation {arguments}`, then a line
/// `class landing: part of the message`.
async fn check_calls(bench: &Bench, table: &str) {
    let lines = table.lines().map(str::trim).filter(|line| !line.is_empty());
    let lines = lines.collect::<Vec<_>>();
    for pair in lines.chunks_exact(2) {
        let (name, args) = pair[0].split_once(' ').unwrap();
        let (expected, part) = pair[1].split_once(": ").unwrap();
        let args = serde_json::from_str(args).unwrap_or_else(|e| panic!("{}: {e}", pair[0]));
        let (words, text) = said(&bench.call(name, args).await);
        assert_eq!(words, expected, "{}: {text}", pair[0]);
        assert!(text.contains(part), "{}: {text}", pair[0]);
    }
}

/// Reads the tables of a text, each behind `head`: blocks with an empty line between them, and
/// in each the findings it gives, by how they begin, behind `#>`.
fn check_findings(head: &str, table: &str) {
    for block in table.trim().split("\n\n") {
        let expected = block.lines().filter_map(|line| line.strip_prefix("#> "));
        let expected = expected.collect::<Vec<_>>();
        let found = findings(&format!("{head}\n{block}\n"));
        assert_eq!(found.len(), expected.len(), "{block}\n{found:#?}");
        for (found, expected) in found.iter().zip(&expected) {
            assert!(found.starts_with(expected), "{block}\n{found}");
        }
        assert!(
            !found.iter().any(|text| text.contains("hunter2")),
            "{found:?}"
        );
    }
}
