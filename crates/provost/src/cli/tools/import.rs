//! `tools add --openapi`: the operations of an HTTP API, by the document that it publishes.
//!
//! Owns reading the document from a file, and writing what is proposed, also of a database. Fetches
//! nothing. INVARIANT: no file that is there is written over, and either all is written or
//! `provost.toml` is as it was.

use std::path::{Path, PathBuf};

use provost_engine::secrets::SecretName;
use provost_engine::tools::openapi::{ImportRequest, OpenApiError, Proposal, propose};
use provost_engine::workspace::{CONFIG_FILE, append_to_config};
use provost_plan::node::parse_yaml;
use serde_json::{Value, json};

use super::add::{Add, added_json};
use crate::document::reason;
use crate::failure::{Exit, Failure};
use crate::output;
use crate::screen::page::Page;
use crate::screen::words::count;
use crate::workspace_path::WorkspacePath;

/// Most bytes of a document.
const BYTES_MAX: u64 = 32 << 20;
/// Most operations left out that are named.
const LEFT_OUT_MAX: usize = 20;

/// Writes the entry of the tool `name`.
pub(super) fn run(
    place: &WorkspacePath,
    name: &str,
    file: &Path,
    verb: &Add,
) -> Result<Exit, Failure> {
    let bearer = verb.bearer.as_deref();
    let root = new_tool(place, name, bearer)?;
    let shown = file.display().to_string();
    let source = file.file_name().unwrap_or_default().to_string_lossy();
    let wanted = ImportRequest {
        tool: name,
        source: &source,
        base_url: verb.url.as_deref(),
        only: &verb.only,
        bearer,
    };
    let proposal = propose(&document(file)?, &wanted).map_err(|error| {
        let failure = Failure::usage(format!("nothing can be imported from `{shown}`: {error}"));
        match error {
            OpenApiError::NoServer => failure.hint("`--url` says where the API is"),
            OpenApiError::Nothing { .. } => {
                failure.hint("what is left out is listed without `--only`")
            }
            OpenApiError::NotOpenApi
            | OpenApiError::NotThere { .. }
            | OpenApiError::Version { .. } => failure,
        }
    })?;
    finish(place, &root, verb, &proposal)
}

/// The root of the workspace, if a tool of this name can be added to it.
pub(super) fn new_tool(
    place: &WorkspacePath,
    name: &str,
    secret: Option<&str>,
) -> Result<PathBuf, Failure> {
    if !is_name(name) {
        return Err(Failure::usage(format!("`{name}` cannot name a tool")).hint(
            "a name has up to 40 lower-case letters, digits and `_`, and begins with a letter",
        ));
    }
    if let Some(given) = secret.filter(|given| SecretName::parse(given).is_err()) {
        return Err(Failure::usage(format!("`{given}` does not name a secret"))
            .hint("`env:NAME` names a variable, `file:PATH` a file"));
    }
    let root = place.root()?;
    let known = place.unlocked()?;
    if known.tools().iter().any(|tool| tool.name() == name) {
        return Err(Failure::usage(format!("there is a tool `{name}` already"))
            .hint(format!("choose another name, or edit it in {CONFIG_FILE}")));
    }
    Ok(root)
}

/// Whether a plan can name a tool or an operation so.
pub(super) fn is_name(name: &str) -> bool {
    let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
    let begins = name.starts_with(|c: char| c.is_ascii_lowercase());
    begins && name.chars().all(plain) && name.len() <= 40
}

/// Writes what is proposed, and says so.
pub(super) fn finish(
    place: &WorkspacePath,
    root: &Path,
    verb: &Add,
    proposal: &Proposal,
) -> Result<Exit, Failure> {
    let name = verb.name.as_deref().unwrap_or_default();
    write(root, proposal)?;
    if verb.json {
        let added = [json!({ "tool": name, "operations": proposal.operations })];
        let left_out = |(title, why): &(String, String)| format!("{title}: {why}");
        let left_out: Vec<String> = proposal.left_out.iter().map(left_out).collect();
        output::json(&added_json(&added, &[], &left_out));
    } else {
        output::note(&told(place, name, proposal).finish());
    }
    Ok(Exit::Done)
}

fn document(file: &Path) -> Result<Value, Failure> {
    let shown = file.display();
    let unread = |error: std::io::Error| {
        Failure::usage(format!("`{shown}` cannot be read: {}", reason(&error)))
    };
    if std::fs::metadata(file).map_err(unread)?.len() > BYTES_MAX {
        return Err(Failure::usage(format!(
            "`{shown}` has more than {} MiB",
            BYTES_MAX >> 20
        )));
    }
    let text = std::fs::read_to_string(file).map_err(unread)?;
    if let Ok(value) = serde_json::from_str(&text) {
        return Ok(value);
    }
    match parse_yaml(&text) {
        Ok(node) => Ok(node.to_value()),
        Err(error) => Err(Failure::usage(format!(
            "`{shown}` is neither JSON nor YAML that is read: {}",
            error.message
        ))),
    }
}

/// Writes the schemas, then the entry.
fn write(root: &Path, proposal: &Proposal) -> Result<(), Failure> {
    if let Some((path, _)) = proposal
        .schemas
        .iter()
        .find(|(path, _)| root.join(path).exists())
    {
        return Err(Failure::usage(format!("`{path}` already exists"))
            .hint("choose another name for the tool, or move the file away"));
    }
    let unwritten = |path: &str, error: &std::io::Error| {
        Failure::usage(format!("`{path}` cannot be written: {}", reason(error)))
    };
    for (path, schema) in &proposal.schemas {
        let target = root.join(path);
        let folder = target.parent().unwrap_or(root);
        std::fs::create_dir_all(folder).map_err(|error| unwritten(path, &error))?;
        std::fs::write(&target, format!("{schema:#}\n"))
            .map_err(|error| unwritten(path, &error))?;
    }
    append_to_config(root, &format!("\n{}", proposal.entries))
        .map_err(|error| unwritten(CONFIG_FILE, &error))
}

fn told(place: &WorkspacePath, name: &str, proposal: &Proposal) -> Page {
    let mut page = Page::new();
    page.line(&format!(
        "added {name} to {CONFIG_FILE}: {}, each with a guess of its effect and the reason",
        count(proposal.operations, "operation")
    ));
    for (title, why) in proposal.left_out.iter().take(LEFT_OUT_MAX) {
        page.line(&format!("left out {title}: {why}"));
    }
    if let Some(more) = proposal.left_out.len().checked_sub(LEFT_OUT_MAX + 1) {
        page.line(&format!("left out {} more", more + 1));
    }
    page.line("read them, correct the effects, delete what no plan is to call; then pin them:");
    page.line(&format!("  {}", place.command("provost tools lock")));
    page
}
