//! A workspace of a test: a table of `provost.toml` in, its tools or its findings out.
#![allow(dead_code, reason = "each program uses a part of it")]

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use provost_plan::catalog::{Operation, Tags};
use provost_plan::diagnostic::Diagnostic;
use provost_plan::money::Money;
use provost_plan::node::{Kind, Node, parse_toml};
use provost_tools::{ConfigScope, Listings, OpenError, ToolConfig, Toolbox};
use provost_wire::SecretName;
use provost_wire::http::BaseUrl;
use provost_wire::model::{ModelConfig, ModelKind, ModelSettings, Prices, SchemaForm};
use serde_json::Value;

/// A workspace in a temporary folder.
pub struct Workspace {
    pub dir: tempfile::TempDir,
}

/// An open workspace.
pub struct Bench {
    pub workspace: Workspace,
    pub toolbox: Toolbox,
    pub operations: Vec<Operation>,
}

impl Workspace {
    pub fn new() -> Self {
        Self {
            dir: tempfile::tempdir().unwrap(),
        }
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    pub fn write(&self, name: &str, text: impl AsRef<[u8]>) -> &Self {
        let path = self.path(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
        self
    }

    pub fn database(&self, name: &str, sql: &str) -> &Self {
        let path = self.path(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        let connection = rusqlite::Connection::open(path).unwrap();
        connection.execute_batch(sql).unwrap();
        self
    }

    pub fn open(self, toml: &str) -> Bench {
        self.open_listed(toml, &Listings::default())
    }

    pub fn open_listed(self, toml: &str, listings: &Listings) -> Bench {
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

    pub fn refusal(&self, toml: &str) -> Vec<OpenError> {
        let configs = configs(toml, self.dir.path()).unwrap_or_else(|d| panic!("{d:#?}"));
        Toolbox::open(self.dir.path(), configs)
            .err()
            .unwrap_or_default()
    }
}

impl Bench {
    pub fn operation(&self, name: &str) -> &Operation {
        let found = self.operations.iter().find(|op| op.name == name);
        found.unwrap_or_else(|| panic!("no operation {name}"))
    }
}

pub fn configs(toml: &str, base: &Path) -> Result<Vec<ToolConfig>, Vec<Diagnostic>> {
    configs_listed(toml, base, &Listings::default())
}

pub fn configs_listed(
    toml: &str,
    base: &Path,
    listings: &Listings,
) -> Result<Vec<ToolConfig>, Vec<Diagnostic>> {
    let node = parse_toml(toml).map_err(|d| vec![*d])?;
    let tools = node.get("tools").unwrap();
    let Kind::Map(entries) = &tools.kind else {
        panic!("`tools` is a map");
    };
    let models = models(&node);
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
pub fn findings(toml: &str) -> Vec<String> {
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

/// The model `large` of a test, at the address that its table gives.
fn models(node: &Node) -> BTreeMap<String, ModelConfig> {
    let large = node.get("models").and_then(|models| models.get("large"));
    let url = large.and_then(|large| large.get("base_url"));
    let Some(Value::String(url)) = url.map(Node::to_value) else {
        return BTreeMap::new();
    };
    let key = large.and_then(|large| large.get("key")).map(Node::to_value);
    let key = key.map(|key| SecretName::parse(key.as_str().unwrap()).unwrap());
    let settings = ModelSettings {
        kind: ModelKind::OpenAi,
        model: "scripted-1".to_owned(),
        key,
        base_url: Some(BaseUrl::parse(&url).unwrap()),
        form: SchemaForm::JsonSchema,
        temperature: None,
        seed: None,
        max_tokens: 1_000,
        timeout: Duration::from_secs(20),
    };
    let money = |text| Money::parse(text).unwrap();
    let prices = Some(Prices {
        input: money("2.00"),
        output: money("10.00"),
        cached: money("0.20"),
    });
    BTreeMap::from([("large".to_owned(), ModelConfig { settings, prices })])
}

/// Reads the tables of a text, each behind `head`: blocks with an empty line between them, and
/// in each the findings it gives, by how they begin, behind `#>`.
pub fn check_findings(head: &str, table: &str) {
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
