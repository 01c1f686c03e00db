//! `provost.lock`: the tools as somebody reviewed them.
//!
//! Owns its text and the comparison. Never decides what is called: a difference is a finding.
//! INVARIANT: two catalogs have one text only if every operation has an equal digest, and what is
//! pinned of an MCP server is read back as it was listed.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use provost_plan::catalog::{Catalog, Operation};
use provost_plan::codes::Code;
use provost_plan::diagnostic::Diagnostic;
use provost_plan::digest::{Digest, Domain, canonical};
use provost_plan::node::{Fields, Kind, Node, parse_toml};
use provost_plan::source::{Source, Span};
use provost_tools::{DEFINITION_FIELDS, Definition, Listing, Toolbox};
use serde_json::{Map, Value};

use super::WorkspaceError;
use super::config::Config;
use super::error::Collector;
use super::files;

/// The name of the file.
pub const LOCK_FILE: &str = "provost.lock";
const LOCK_SCHEMA: &str = "provost/lock/v1";
const DIGEST_FIELD: &str = "digest";
/// Longest field that is written out, in bytes; a longer one stands as its digest.
const FIELD_BYTES_MAX: usize = 160;

/// What is pinned: for each operation its digest and, for people, its fields; for each MCP server
/// what it says of the tools that operations use.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Lock {
    tools: BTreeMap<String, Pinned>,
    servers: BTreeMap<String, Listing>,
}

/// What is pinned of one operation: field by field, the digest of all among them.
type Pinned = BTreeMap<String, String>;

/// How an operation differs from what is pinned.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Drift {
    /// It is not pinned.
    New {
        /// The operation.
        tool: String,
    },
    /// It is pinned otherwise.
    Changed {
        /// The operation.
        tool: String,
        /// The fields that differ.
        fields: Vec<String>,
    },
    /// It is pinned, but not there any more.
    Gone {
        /// The operation.
        tool: String,
    },
}

impl Drift {
    /// The operation.
    #[must_use]
    pub fn tool(&self) -> &str {
        match self {
            Self::New { tool } | Self::Changed { tool, .. } | Self::Gone { tool } => tool,
        }
    }
}

fn pinned(operation: &Operation) -> Pinned {
    let mut fields = Pinned::new();
    if let Value::Object(map) = operation.value() {
        for (name, value) in map {
            if name == "name" || value.is_null() {
                continue;
            }
            let text = match &value {
                Value::String(text) => text.clone(),
                other => canonical(other),
            };
            let text = if text.len() > FIELD_BYTES_MAX {
                Digest::of_value(Domain::Tool, &value).to_string()
            } else {
                text
            };
            fields.insert(name, text);
        }
    }
    fields.insert(DIGEST_FIELD.to_owned(), operation.digest().to_string());
    fields
}

/// A TOML basic string: JSON's escapes, and the one control character that JSON leaves.
fn quoted(text: &str) -> String {
    Value::from(text).to_string().replace('\u{7f}', "\\u007f")
}

impl Lock {
    /// The lock of these operations, and of what these servers say.
    #[must_use]
    pub fn of(catalog: &Catalog, servers: BTreeMap<String, Listing>) -> Self {
        Self {
            servers,
            tools: catalog
                .iter()
                .map(|operation| (operation.name.clone(), pinned(operation)))
                .collect(),
        }
    }

    /// The text of the file.
    #[must_use]
    pub fn to_text(&self) -> String {
        let mut text = format!(
            "# The tools as they were reviewed and locked: read whenever the workspace is opened.\n\
             # A tool that differs is not called.\nschema = {}\n",
            quoted(LOCK_SCHEMA)
        );
        for (name, fields) in &self.tools {
            text.push_str(&format!("\n[tools.{}]\n", quoted(name)));
            let digest = fields.get_key_value(DIGEST_FIELD);
            let others = fields.iter().filter(|(name, _)| *name != DIGEST_FIELD);
            for (field, value) in digest.into_iter().chain(others) {
                text.push_str(&format!("{field} = {}\n", quoted(value)));
            }
        }
        for (name, listing) in &self.servers {
            write_server(&mut text, name, listing);
        }
        text
    }

    /// What is pinned of the MCP servers.
    #[must_use]
    pub fn servers(&self) -> &BTreeMap<String, Listing> {
        &self.servers
    }

    /// Reads the text of the file.
    ///
    /// # Errors
    /// Every finding in it.
    pub fn read(source: &Source) -> Result<Self, Vec<Diagnostic>> {
        let node = parse_toml(&source.text).map_err(|diagnostic| vec![*diagnostic])?;
        let mut found = Vec::new();
        let lock = read_fields(&node, &mut found);
        match lock {
            Some(lock) if found.is_empty() => Ok(lock),
            _ => Err(found),
        }
    }

    /// How the operations of `now` differ from what is pinned, by name.
    #[must_use]
    pub fn drift(&self, now: &Self) -> Vec<Drift> {
        let names: BTreeSet<&String> = self.tools.keys().chain(now.tools.keys()).collect();
        names
            .into_iter()
            .filter_map(|name| {
                let tool = name.clone();
                match (self.tools.get(name), now.tools.get(name)) {
                    (None, _) => Some(Drift::New { tool }),
                    (_, None) => Some(Drift::Gone { tool }),
                    (Some(then), Some(now)) => {
                        // Why the digest decides: what people read beside it may be edited.
                        let differs = then.get(DIGEST_FIELD) != now.get(DIGEST_FIELD);
                        differs.then(|| Drift::Changed {
                            tool,
                            fields: changed(then, now),
                        })
                    }
                }
            })
            .collect()
    }
}

fn write_server(text: &mut String, name: &str, listing: &Listing) {
    let table = format!("servers.{}", quoted(name));
    text.push_str(&format!(
        "\n[{table}]\nserver = {}\nprotocol = {}\n",
        quoted(&listing.server),
        quoted(&listing.protocol)
    ));
    for (tool, definition) in &listing.tools {
        text.push_str(&format!("\n[{table}.tools.{}]\n", quoted(tool)));
        let digest = definition.digest().to_string();
        text.push_str(&format!("{DIGEST_FIELD} = {}\n", quoted(&digest)));
        for (field, value) in definition.fields() {
            let value = match value {
                Value::String(text) => text.clone(),
                other => canonical(other),
            };
            text.push_str(&format!("{field} = {}\n", quoted(&value)));
        }
    }
    if !listing.unused.is_empty() {
        text.push_str(&format!("\n[{table}.unused]\n"));
    }
    for (tool, digest) in &listing.unused {
        text.push_str(&format!(
            "{} = {}\n",
            quoted(tool),
            quoted(&digest.to_string())
        ));
    }
}

fn changed(then: &Pinned, now: &Pinned) -> Vec<String> {
    let names: BTreeSet<&String> = then.keys().chain(now.keys()).collect();
    names
        .into_iter()
        .filter(|name| *name != DIGEST_FIELD && then.get(*name) != now.get(*name))
        .cloned()
        .collect()
}

fn read_fields(node: &Node, found: &mut Vec<Diagnostic>) -> Option<Lock> {
    let mut fields = Fields::new(LOCK_FILE, node, found)?;
    let schema = fields.required_text("schema");
    let tools = fields.map("tools").unwrap_or_default();
    let servers = fields.map("servers").unwrap_or_default();
    fields.finish();
    if let Some(schema) = schema.filter(|schema| schema.value != LOCK_SCHEMA) {
        let message = format!("this version reads `{LOCK_SCHEMA}`, not `{}`", schema.value);
        found.push(Diagnostic::new(Code::WrongSchema, schema.span, message));
    }
    let mut lock = Lock::default();
    for (name, node) in tools {
        let mut pinned = Pinned::new();
        if let Kind::Map(entries) = &node.kind {
            for (field, value) in entries {
                if let Kind::Text(text) = &value.kind {
                    pinned.insert(field.value.clone(), text.clone());
                }
            }
        }
        let digest = pinned.get(DIGEST_FIELD);
        if digest.is_none_or(|digest| digest.parse::<Digest>().is_err()) {
            let message = format!("the tool `{}` has no digest", name.value);
            found.push(Diagnostic::new(Code::BadWorkspace, name.span, message));
        }
        lock.tools.insert(name.value.clone(), pinned);
    }
    for (name, node) in servers {
        let listing = read_server(&name.value, node, found)?;
        lock.servers.insert(name.value.clone(), listing);
    }
    Some(lock)
}

fn read_server(name: &str, node: &Node, found: &mut Vec<Diagnostic>) -> Option<Listing> {
    let mut fields = Fields::new(format!("the server `{name}`"), node, found)?;
    let mut text = |name| fields.required_text(name).map(|text| text.value);
    let (server, protocol) = (text("server")?, text("protocol")?);
    let tools = fields.map("tools").unwrap_or_default();
    let unused = fields.map("unused").unwrap_or_default();
    fields.finish();
    let mut listing = Listing {
        server,
        protocol,
        ..Listing::default()
    };
    for (tool, node) in tools {
        match read_definition(&tool.value, node) {
            Ok(definition) => listing.tools.insert(tool.value.clone(), definition),
            Err(why) => {
                let message = format!("the entry of the tool `{}` {why}", tool.value);
                found.push(Diagnostic::new(Code::BadWorkspace, tool.span, message));
                continue;
            }
        };
    }
    for (tool, node) in unused {
        let digest = match &node.kind {
            Kind::Text(text) => text.parse::<Digest>().ok(),
            _ => None,
        };
        listing.unused.insert(tool.value.clone(), digest?);
    }
    Some(listing)
}

fn read_definition(tool: &str, node: &Node) -> Result<Definition, String> {
    let text = |name| match node.get(name).map(|node| &node.kind) {
        Some(Kind::Text(text)) => Some(text.as_str()),
        _ => None,
    };
    let mut given = Map::new();
    for name in DEFINITION_FIELDS {
        let Some(text) = text(name) else { continue };
        let value = match name {
            "title" | "description" => Value::from(text),
            _ => serde_json::from_str(text).map_err(|_| format!("has no JSON in `{name}`"))?,
        };
        given.insert(name.to_owned(), value);
    }
    let definition = Definition::new(tool, &given).map_err(|error| error.to_string())?;
    if text(DIGEST_FIELD) == Some(definition.digest().to_string().as_str()) {
        return Ok(definition);
    }
    Err("was edited: its digest does not match".to_owned())
}

/// What is pinned of MCP servers, as far as it can be read; [`hold`] reports what cannot.
pub(super) fn servers(root: &Path) -> BTreeMap<String, Listing> {
    let read = files::read(root, LOCK_FILE).ok().flatten();
    let lock = read.and_then(|source| Lock::read(&source).ok());
    lock.map(|lock| lock.servers).unwrap_or_default()
}

/// The lock of the workspace at `root`, if there is one.
pub(super) fn of_workspace(root: &Path) -> Result<Option<Lock>, WorkspaceError> {
    let mut found = Collector::new();
    let Some(source) = files::optional(root, LOCK_FILE, &mut found) else {
        return if found.is_empty() {
            Ok(None)
        } else {
            Err(found.refused())
        };
    };
    Lock::read(&source).map(Some).map_err(|diagnostics| {
        found.add(&source, diagnostics);
        found.refused()
    })
}

/// Reports what cannot be read of the lock: where the tools cannot either, that may be why.
pub(super) fn report(root: &Path, found: &mut Collector) {
    if let Some(source) = files::optional(root, LOCK_FILE, found)
        && let Err(diagnostics) = Lock::read(&source)
    {
        found.add(&source, hinted(diagnostics));
    }
}

fn hinted(diagnostics: Vec<Diagnostic>) -> Vec<Diagnostic> {
    let hinted = diagnostics.into_iter().map(|one| match one.hint {
        Some(_) => one,
        None => one.hint("lock the tools again: that writes the file anew"),
    });
    hinted.collect()
}

/// Reports the tools of `config` that differ from the lock of the workspace.
pub(super) fn hold(
    root: &Path,
    config: &Config,
    found: &mut Collector,
    not_checked: &mut Vec<String>,
) {
    let before = found.is_empty();
    let Some(source) = files::optional(root, LOCK_FILE, found) else {
        if before == found.is_empty() {
            not_checked.push(format!(
                "whether the tools are those that were reviewed: there is no {LOCK_FILE}, \
                 which locking the tools writes"
            ));
        }
        return;
    };
    let lock = match Lock::read(&source) {
        Ok(lock) => lock,
        Err(diagnostics) => return found.add(&source, hinted(diagnostics)),
    };
    let drift = lock.drift(&Lock::of(&config.catalog, BTreeMap::new()));
    let lacking = match drift.iter().any(is_elsewhere) {
        true => lacking(root, config),
        false => BTreeMap::new(),
    };
    let findings = drift
        .iter()
        .filter_map(|drift| finding(drift, config, &lacking))
        .collect();
    found.add(&config.source, findings);
}

/// Whether a tool reaches something else than was reviewed.
fn is_elsewhere(drift: &Drift) -> bool {
    let Drift::Changed { fields, .. } = drift else {
        return false;
    };
    fields.iter().any(|field| field == "endpoint")
}

/// What the tools lack that cannot work: what such a tool reaches is not what was reviewed, and
/// nobody is to accept that before it works.
fn lacking(root: &Path, config: &Config) -> BTreeMap<String, String> {
    let opened = Toolbox::open_with_private(root, config.tools.clone(), &[], &[]);
    let troubles = opened.map(|toolbox| toolbox.troubles()).unwrap_or_default();
    let troubles = troubles.into_iter();
    troubles.map(|one| (one.tool, one.message)).collect()
}

fn finding(
    drift: &Drift,
    config: &Config,
    lacking: &BTreeMap<String, String>,
) -> Option<Diagnostic> {
    let tool = drift.tool();
    let message = match drift {
        // Why none: what is not there is not called.
        Drift::Gone { .. } => return None,
        Drift::New { .. } => format!("the tool `{tool}` is not in {LOCK_FILE}"),
        Drift::Changed { fields, .. } if fields.is_empty() => {
            format!("the tool `{tool}` differs from {LOCK_FILE}")
        }
        Drift::Changed { fields, .. } => format!(
            "the tool `{tool}` differs from {LOCK_FILE}: changed in {}",
            fields.join(", ")
        ),
    };
    let server = tool.split('.').next().unwrap_or(tool);
    let table = config.tools.iter().find(|config| config.name() == server);
    let span = table.map_or_else(Span::default, provost_tools::ToolConfig::span);
    let found = Diagnostic::new(Code::Drift, span, message);
    Some(match lacking.get(server).filter(|_| is_elsewhere(drift)) {
        Some(lacks) => found.hint(format!("first of all, the tool cannot work: {lacks}")),
        None => found.hint("check the change; locking the tools again accepts it"),
    })
}
