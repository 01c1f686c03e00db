//! `tools add`: the entry of an MCP server, written with a guess of every effect and its reason;
//! that of an HTTP API is [`super::import`]'s, that of a database [`super::database`]'s.
//!
//! Owns the text that is appended to provost.toml. Pins nothing and believes nothing: a person
//! reads the entry, corrects it and pins it. INVARIANT: what is not known is `destructive`.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use clap::Args;
use provost_engine::tools::{Definition, Listing, description_of};
use provost_engine::workspace::{CONFIG_FILE, append_to_config};
use provost_plan::catalog::Effect;
use provost_plan::render::escape;
use serde_json::{Value, json};

use super::servers::{listings_of, unanswered};
use super::{database, import};
use crate::document::reason;
use crate::failure::{Exit, Failure};
use crate::output;
use crate::screen::page::{Page, cut};
use crate::screen::words::count;
use crate::workspace_path::WorkspacePath;

/// Columns of what a server calls itself.
const COLUMNS: usize = 94;
/// Words in the name of a variable whose value is a secret.
const SECRET_WORDS: [&str; 4] = ["TOKEN", "SECRET", "PASS", "KEY"];

/// Arguments of `tools add`.
#[derive(Debug, Args)]
pub struct Add {
    /// name of the tool in plans
    #[arg(value_name = "NAME", required_unless_present = "from")]
    pub(super) name: Option<String>,
    /// command that starts the MCP server
    #[arg(value_name = "CMD", last = true, requires = "name")]
    command: Vec<String>,
    /// add the servers of an MCP client's file (`mcpServers`)
    #[arg(long, value_name = "FILE", conflicts_with_all = ["name", "command"])]
    from: Option<PathBuf>,
    /// add the operations of an OpenAPI document (3.0 or 3.1)
    #[arg(long, value_name = "FILE", requires = "name", conflicts_with_all = ["command", "from"])]
    openapi: Option<PathBuf>,
    /// add named queries of a database: a SQLite file, or a postgres:// URL
    #[arg(
        long,
        value_name = "DATABASE",
        requires = "name",
        conflicts_with_all = ["command", "from", "openapi", "url", "bearer"]
    )]
    pub(super) sql: Option<String>,
    /// file of the queries, each below a line `-- name: NAME`; repeatable
    #[arg(long, value_name = "FILE", requires = "sql")]
    pub(super) queries: Vec<PathBuf>,
    /// password of the database: env:NAME or file:PATH
    #[arg(long, value_name = "env:NAME|file:PATH", requires = "sql")]
    pub(super) password: Option<String>,
    /// URL of a remote server, or of an API
    #[arg(long, value_name = "URL", requires = "name", conflicts_with_all = ["command", "from"])]
    pub(super) url: Option<String>,
    /// bearer token of a remote server or an API: env:NAME or file:PATH
    #[arg(
        long,
        value_name = "env:NAME|file:PATH",
        requires = "name",
        conflicts_with_all = ["command", "from"]
    )]
    pub(super) bearer: Option<String>,
    /// add only this operation id, tag or table; repeatable
    #[arg(long, value_name = "ID", conflicts_with_all = ["command", "from", "queries"])]
    pub(super) only: Vec<String>,
    /// print one JSON object
    #[arg(long)]
    pub(super) json: bool,
}

/// A server as it is to be written.
struct ToolEntry {
    name: String,
    server: AddedServer,
}

/// Where a server is.
enum AddedServer {
    Process {
        command: Vec<String>,
        cwd: Option<String>,
        env: BTreeMap<String, String>,
    },
    Remote {
        url: String,
        bearer: Option<String>,
    },
}

/// Does it.
pub fn run(verb: &Add, place: &WorkspacePath) -> Result<Exit, Failure> {
    if let (Some(file), Some(name)) = (&verb.openapi, &verb.name) {
        return import::run(place, name, file, verb);
    }
    if let (Some(database), Some(name)) = (&verb.sql, &verb.name) {
        return database::run(place, name, database, verb);
    }
    let entries = entries(verb)?;
    let mut page = Page::new();
    let entries = not_there_yet(place, entries, verb.from.is_some(), &mut page)?;
    if entries.is_empty() {
        output::note(&page.finish());
        if verb.json {
            output::json(&added_json(&[], &[], &[]));
        }
        return Ok(Exit::Done);
    }
    let heads: String = entries.iter().map(|one| head(one) + "ops = {}\n").collect();
    let answers = listings_of(place, &heads)?;
    if answers.listings.is_empty() && !answers.failed.is_empty() {
        return Err(unanswered(&answers.failed));
    }
    let mut text = String::new();
    let mut added = Vec::new();
    for entry in &entries {
        let Some(listing) = answers.listings.get(&entry.name) else {
            continue;
        };
        text.push_str(&written(entry, listing));
        added.push(json!({ "tool": entry.name, "operations": listing.tools.len() }));
        page.line(&format!(
            "added {} to {CONFIG_FILE}: {}, each with a guess of its effect and the reason",
            entry.name,
            count(listing.tools.len(), "operation")
        ));
    }
    append_to_config(&place.root()?, &text).map_err(|error| {
        Failure::usage(format!(
            "`{CONFIG_FILE}` cannot be written: {}",
            reason(&error)
        ))
    })?;
    page.line("read them, correct the effects, delete what no plan is to call; then pin them:");
    page.line(&format!("  {}", place.command("provost tools lock")));
    if verb.json {
        let failed: Vec<String> = answers.failed.iter().map(ToString::to_string).collect();
        output::json(&added_json(&added, &failed, &[]));
    } else {
        output::note(&page.finish());
    }
    match answers.failed.is_empty() {
        true => Ok(Exit::Done),
        // Why shown here: the object says it already.
        false if verb.json => {
            unanswered(&answers.failed).show();
            Ok(Exit::Failed)
        }
        false => Err(unanswered(&answers.failed)),
    }
}

/// The servers that are to be added.
fn entries(verb: &Add) -> Result<Vec<ToolEntry>, Failure> {
    Ok(match (&verb.from, &verb.name) {
        (Some(file), _) => of_file(file)?,
        (None, Some(name)) if !verb.command.is_empty() => vec![ToolEntry {
            name: name.clone(),
            server: AddedServer::Process {
                command: verb.command.clone(),
                cwd: None,
                env: BTreeMap::new(),
            },
        }],
        (None, Some(name)) if verb.url.is_some() => vec![ToolEntry {
            name: name.clone(),
            server: AddedServer::Remote {
                url: verb.url.clone().unwrap_or_default(),
                bearer: verb.bearer.clone(),
            },
        }],
        _ => {
            return Err(Failure::usage("no server is named").hint(
                "`provost tools add NAME -- CMD …`, `NAME --url URL`, `NAME --openapi FILE`, \
                 `NAME --sql DATABASE`, or `--from mcp.json`",
            ));
        }
    })
}

/// What was added, the servers that failed, and the operations that cannot be called.
pub(super) fn added_json(added: &[Value], failed: &[String], left_out: &[String]) -> Value {
    json!({
        "schema": "provost/tools-added/v1",
        "added": added,
        "failed": failed,
        "left_out": left_out,
    })
}

/// The entries that the workspace does not have. One that it has is left alone if it comes from a
/// file, so that the same command can be given again once a server is mended.
fn not_there_yet(
    place: &WorkspacePath,
    entries: Vec<ToolEntry>,
    of_file: bool,
    page: &mut Page,
) -> Result<Vec<ToolEntry>, Failure> {
    let known = place.unlocked()?;
    let taken = |entry: &ToolEntry| known.tools().iter().any(|tool| tool.name() == entry.name);
    let (there, new): (Vec<_>, Vec<_>) = entries.into_iter().partition(taken);
    for entry in &there {
        if !of_file {
            let message = format!("there is a tool `{}` already", entry.name);
            return Err(Failure::usage(message)
                .hint(format!("choose another name, or edit it in {CONFIG_FILE}")));
        }
        page.line(&format!(
            "{} is in {CONFIG_FILE} already: left as it is",
            entry.name
        ));
    }
    Ok(new)
}

/// The servers of a file such as `mcp.json`.
fn of_file(file: &PathBuf) -> Result<Vec<ToolEntry>, Failure> {
    let shown = file.display();
    let text = std::fs::read_to_string(file)
        .map_err(|error| Failure::usage(format!("`{shown}` cannot be read: {}", reason(&error))))?;
    let value: Value = serde_json::from_str(&text)
        .map_err(|error| Failure::usage(format!("`{shown}` is no JSON: {error}")))?;
    let servers = value.get("mcpServers").or_else(|| value.get("servers"));
    let Some(servers) = servers.and_then(Value::as_object) else {
        return Err(Failure::usage(format!("`{shown}` names no servers"))
            .hint("it is an object with `mcpServers`, as MCP clients write it"));
    };
    let entry = |(name, server): (&String, &Value)| {
        let server = of_json(server).ok_or_else(|| {
            let message = format!("the server `{name}` of `{shown}` has no `command` and no `url`");
            Failure::usage(message).hint("add what is missing, or remove it from the file")
        })?;
        Ok(ToolEntry {
            name: snake(name),
            server,
        })
    };
    servers.iter().map(entry).collect()
}

/// A server as MCP clients keep it. Headers are left out: they may hold what is secret.
fn of_json(server: &Value) -> Option<AddedServer> {
    let text = |value: Option<&Value>| value.and_then(Value::as_str).map(str::to_owned);
    let Some(program) = text(server.get("command")) else {
        return Some(AddedServer::Remote {
            url: text(server.get("url"))?,
            bearer: None,
        });
    };
    let args = server.get("args").and_then(Value::as_array);
    let args = args.into_iter().flatten().filter_map(Value::as_str);
    let env = server.get("env").and_then(Value::as_object);
    let env = env.into_iter().flatten().filter_map(|(name, value)| {
        let value = value.as_str()?;
        Some((name.clone(), variable(name, value)))
    });
    Some(AddedServer::Process {
        command: std::iter::once(program)
            .chain(args.map(str::to_owned))
            .collect(),
        cwd: text(server.get("cwd")),
        env: env.collect(),
    })
}

/// The value of a variable as it may stand in a committed file: a secret by its name.
fn variable(name: &str, value: &str) -> String {
    let upper = name.to_ascii_uppercase();
    let plain = value
        .chars()
        .all(|c| c.is_ascii_alphanumeric() || "._-/:".contains(c));
    let short = value.len() <= 15 || value.starts_with('/');
    let secret = SECRET_WORDS.iter().any(|word| upper.contains(word));
    match plain && short && !secret {
        true => value.to_owned(),
        false => format!("env:{name}"),
    }
}

fn head(entry: &ToolEntry) -> String {
    let mut text = format!("[tools.{}]\nkind = \"mcp\"\n", entry.name);
    let mut line = |name: &str, value: &str| text.push_str(&format!("{name} = {value}\n"));
    match &entry.server {
        AddedServer::Process { command, cwd, env } => {
            line("command", &json!(command).to_string());
            if let Some(cwd) = cwd {
                line("cwd", &json!(cwd).to_string());
            }
            let one = |(name, value): (&String, &String)| format!("{name} = {}", json!(value));
            let all: Vec<String> = env.iter().map(one).collect();
            if !all.is_empty() {
                line("env", &format!("{{ {} }}", all.join(", ")));
            }
        }
        AddedServer::Remote { url, bearer } => {
            line("url", &json!(url).to_string());
            if let Some(bearer) = bearer {
                line("bearer", &json!(bearer).to_string());
            }
        }
    }
    text
}

fn written(entry: &ToolEntry, listing: &Listing) -> String {
    let mut text = format!(
        "\n# {}, as it describes itself. Every effect below\n# is a guess with its reason: the \
         server is not believed, you are. Planners read\n# each `description`: these are the \
         server's words, make them yours.\n{}",
        comment(&listing.server),
        head(entry)
    );
    if listing.tools.is_empty() {
        text.push_str("ops = {}\n");
    }
    let mut names = BTreeSet::new();
    for (tool, definition) in &listing.tools {
        let mut name = snake(tool);
        while !names.insert(name.clone()) {
            name.push('2');
        }
        text.push_str(&format!("\n[tools.{}.ops.{name}]\n", entry.name));
        if name != *tool {
            text.push_str(&format!("tool = {}\n", json!(tool)));
        }
        if let Some(said) = definition.description() {
            text.push_str(&format!("description = {}\n", json!(description_of(said))));
        }
        let (effect, why) = guess(definition);
        text.push_str(&format!(
            "effect = \"{}\"  # a guess: {why}\n",
            effect.word()
        ));
        if !effect.is_read() && definition.hint("idempotentHint") == Some(true) {
            text.push_str(
                "# idempotency = \"natural\"  # the server says so; do you know it too?\n",
            );
        }
    }
    text
}

/// The effect that a tool may have, and the reason. What is not known is the worst.
fn guess(definition: &Definition) -> (Effect, &'static str) {
    let hint = |name| definition.hint(name);
    let open = hint("openWorldHint") == Some(true);
    match (hint("readOnlyHint"), hint("destructiveHint")) {
        (Some(true), _) if open => (
            Effect::Egress,
            "the server says that it only reads, from places the call may choose",
        ),
        (Some(true), _) => (Effect::Read, "the server says that it only reads"),
        (_, Some(false)) if open => (
            Effect::External,
            "the server says that it only adds, in an open world",
        ),
        (_, Some(false)) => (Effect::Write, "the server says that it only adds"),
        (_, Some(true)) => (
            Effect::Destructive,
            "the server says that it may delete or overwrite",
        ),
        (_, None) => (Effect::Destructive, "the server does not say what it does"),
    }
}

/// One line of somebody else's words.
pub(super) fn comment(said: &str) -> String {
    let line = said.split_whitespace().collect::<Vec<_>>().join(" ");
    cut(&escape(&line), COLUMNS)
}

/// A name as plans have them.
pub(super) fn snake(given: &str) -> String {
    let mut name = String::new();
    let mut lower = false;
    for c in given.chars() {
        if c.is_ascii_uppercase() && lower {
            name.push('_');
        }
        lower = c.is_ascii_lowercase() || c.is_ascii_digit();
        match c.is_ascii_alphanumeric() {
            true => name.push(c.to_ascii_lowercase()),
            false => name.push('_'),
        }
    }
    let name = name.trim_matches('_');
    let name = match name.starts_with(|c: char| c.is_ascii_lowercase()) {
        true => name.to_owned(),
        false => format!("t_{name}"),
    };
    name.chars().take(38).collect()
}
