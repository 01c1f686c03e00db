//! The MCP servers of a workspace: what they can do, asked of them.
//!
//! Owns the one place outside a run where a server is started. Calls no tool of it. INVARIANT:
//! what is asked is only compared or written down; nothing is called under it.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::time::Duration;

use futures::future::join_all;
use provost_plan::digest::Digest;
use provost_plan::source::Source;
use provost_tools::{Definition, Listing, Listings, ToolConfig, Toolbox};

use super::config::Damage;
use super::error::Collector;
use super::{CONFIG_FILE, WorkspaceError, config, files};

/// A server that does not say what it can do.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the server `{server}` does not say what it can do: {reason}")]
pub struct ServerError {
    /// The server.
    pub server: String,
    /// Why.
    pub reason: String,
}

/// What the MCP servers of a workspace say that they can do.
#[derive(Clone, Debug, Default)]
pub struct ServerAnswers {
    /// What each lists that answered, by its name.
    pub listings: BTreeMap<String, Listing>,
    /// The others, in the order of their names.
    pub failed: Vec<ServerError>,
}

/// Starts every MCP server of the workspace at `root` and asks what it can do, within `time`.
///
/// # Errors
/// [`WorkspaceError`] if `provost.toml` has a finding. Policies and playbooks are not looked at,
/// since they rest on what the servers say.
pub async fn list_servers(root: &Path, time: Duration) -> Result<ServerAnswers, WorkspaceError> {
    let mut found = Collector::new();
    match files::required(root, CONFIG_FILE, &mut found) {
        Some(source) => list_servers_of(root, &source, time).await,
        None => Err(found.refused()),
    }
}

/// The tools of a text that is as `provost.toml` is, open, so that a database can be described.
///
/// # Errors
/// [`WorkspaceError`] if the text has a finding, or a tool would reach what it must not.
pub fn open_tables(root: &Path, source: &Source) -> Result<Toolbox, WorkspaceError> {
    let root = std::path::absolute(root).unwrap_or_else(|_| root.to_owned());
    let tools = tools_of(&root, source)?;
    Toolbox::open(&root, tools).map_err(|errors| {
        let mut found = Collector::new();
        let diagnostics = errors.iter().map(provost_tools::OpenError::diagnostic);
        found.add(source, diagnostics.collect());
        found.refused()
    })
}

fn tools_of(root: &Path, source: &Source) -> Result<Vec<ToolConfig>, WorkspaceError> {
    let mut found = Collector::new();
    let lenient = Listings::default().lenient();
    let given = config::ToolSources::new(&[], &lenient, Damage::Refuse);
    let config = config::read(root, source, given, &mut found);
    match config.filter(|_| found.is_empty()) {
        Some(config) => Ok(config.tools),
        None => Err(found.refused()),
    }
}

/// [`list_servers`] of a text that is as `provost.toml` is.
///
/// # Errors
/// As [`list_servers`].
pub async fn list_servers_of(
    root: &Path,
    source: &Source,
    time: Duration,
) -> Result<ServerAnswers, WorkspaceError> {
    let root = std::path::absolute(root).unwrap_or_else(|_| root.to_owned());
    let tools = tools_of(&root, source)?.into_iter();
    let servers: Vec<ToolConfig> = tools.filter(ToolConfig::is_server).collect();
    let names: Vec<String> = servers.iter().map(|one| one.name().to_owned()).collect();
    let toolbox = match Toolbox::open(&root, servers) {
        Ok(toolbox) => toolbox,
        Err(errors) => {
            let failed = errors.iter().map(|error| ServerError {
                server: error.tool().to_owned(),
                reason: error.to_string(),
            });
            return Ok(ServerAnswers {
                listings: BTreeMap::new(),
                failed: failed.collect(),
            });
        }
    };
    let asked = names.iter().map(|name| toolbox.listing(name, time));
    let mut answers = ServerAnswers::default();
    for (name, answer) in names.iter().zip(join_all(asked).await) {
        match answer {
            Ok(listing) => {
                answers.listings.insert(name.clone(), listing);
            }
            Err(reply) => answers.failed.push(ServerError {
                server: name.clone(),
                reason: reply.message.unwrap_or_default(),
            }),
        }
    }
    Ok(answers)
}

/// Puts `text` at the end of `provost.toml`, whole or not at all.
///
/// # Errors
/// The system's, if it cannot be read or written.
pub fn append_to_config(root: &Path, text: &str) -> std::io::Result<()> {
    let path = root.join(CONFIG_FILE);
    let mut whole = std::fs::read_to_string(&path)?;
    whole.push_str(text);
    files::replace(&path, &whole)
}

/// How a server differs from what is pinned of it.
#[derive(Clone, Debug, PartialEq)]
pub enum ServerDrift {
    /// A tool that operations use is another.
    Changed {
        /// What is pinned.
        pinned: Definition,
        /// What it lists.
        now: Definition,
    },
    /// A tool that operations use is gone.
    Gone {
        /// What is pinned.
        pinned: Digest,
    },
    /// A tool that nothing uses is new, another or gone.
    Unused {
        /// What is pinned, if anything is.
        pinned: Option<Digest>,
        /// What it lists, if it does.
        now: Option<Digest>,
    },
}

/// How what a server lists `now` differs from what is `pinned` of it, by tool.
#[must_use]
pub fn server_drift(pinned: &Listing, now: &Listing) -> BTreeMap<String, ServerDrift> {
    let names = pinned.tools.keys().chain(pinned.unused.keys());
    let names: BTreeSet<&String> = names.chain(now.tools.keys()).collect();
    let of = |name: &String| {
        let found = now.tools.get(name);
        match pinned.tools.get(name) {
            Some(one) => match found {
                Some(now) if now.digest() == one.digest() => None,
                Some(now) => Some(ServerDrift::Changed {
                    pinned: one.clone(),
                    now: now.clone(),
                }),
                None => Some(ServerDrift::Gone {
                    pinned: one.digest(),
                }),
            },
            None => {
                let pinned = pinned.unused.get(name).copied();
                let now = found.map(Definition::digest);
                (pinned != now).then_some(ServerDrift::Unused { pinned, now })
            }
        }
    };
    let drift = names.into_iter().map(|name| (name.clone(), of(name)));
    drift
        .filter_map(|(name, drift)| Some((name, drift?)))
        .collect()
}

/// What of these listings the lock holds: whole what operations use, and else only digests.
pub(super) fn pinned(tools: &[ToolConfig], listings: &Listings) -> BTreeMap<String, Listing> {
    let servers = tools.iter().filter(|tool| tool.is_server());
    let of = |tool: &ToolConfig| {
        let used: BTreeSet<&str> = tool.server_tools().collect();
        let listing = listings.of(tool.name())?.clone();
        Some((tool.name().to_owned(), listing.pinned(&used)))
    };
    servers.filter_map(of).collect()
}
