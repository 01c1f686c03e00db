//! The scratch copy of a workspace that one repeat of a case runs in.
//!
//! Owns what is copied and which settings are left out or replaced. Follows no link: one that leads
//! out of the workspace would lead out of the copy. INVARIANT: no setting of the copy sends
//! anything anywhere on its own: no notice, no head, no secret of a tool that a double stands for,
//! and no proxy unless the services themselves are read.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use serde_json::Value;
use toml::{Table, Value as TomlValue};

use super::set::PlannerEntry;
use crate::workspace::{CONFIG_FILE, LOCK_FILE, POLICIES_DIR, STORE_DIR, Workspace};

/// Folders that belong to no workspace, wherever they stand in it.
const NOT_COPIED: [&str; 4] = [STORE_DIR, ".git", "target", "node_modules"];

/// What the copy is to say otherwise than the workspace.
pub(super) struct Settings<'a> {
    /// The base URL of each tool that a double stands for.
    pub(super) doubles: &'a [(String, String)],
    /// Whether the services themselves are read.
    pub(super) live: bool,
    /// Who plans; as the workspace says if absent.
    pub(super) planner: Option<&'a PlannerEntry>,
    /// The words of its command, with the places of this run filled in.
    pub(super) command: Option<Vec<String>>,
}

/// Copies the workspace at `from` to `to`.
///
/// # Errors
/// In words for people, which name the file.
pub(super) fn copy(from: &Path, to: &Path) -> Result<(), String> {
    copy_folder(
        from,
        to,
        &to.canonicalize().unwrap_or_else(|_| to.to_owned()),
    )
}

fn copy_folder(from: &Path, to: &Path, avoid: &Path) -> Result<(), String> {
    let failed = |path: &Path, error: io::Error| format!("{}: {error}", path.display());
    fs::create_dir_all(to).map_err(|error| failed(to, error))?;
    let entries = fs::read_dir(from).map_err(|error| failed(from, error))?;
    for entry in entries {
        let entry = entry.map_err(|error| failed(from, error))?;
        let name = entry.file_name();
        let source = entry.path();
        // Why the second: a report that is kept inside the workspace is not copied into itself.
        if NOT_COPIED.iter().any(|one| name == *one) || avoid.starts_with(&source) {
            continue;
        }
        let target = to.join(&name);
        let kind = entry.file_type().map_err(|error| failed(&source, error))?;
        if kind.is_dir() {
            copy_folder(&source, &target, avoid)?;
        } else if kind.is_file() {
            fs::copy(&source, &target).map_err(|error| failed(&source, error))?;
        }
    }
    Ok(())
}

/// An address on which nothing listens that a case could mean.
const NOWHERE: &str = "http://127.0.0.1:9";
/// Largest file that is taken for a schema.
const SCHEMA_BYTES_MAX: u64 = 1 << 20;

/// Copies what a workspace is checked under, and nothing else, to `to`: settings without endpoints
/// and names of secrets, policies, playbooks, and the files that entries of tools name. No data.
///
/// # Errors
/// In words for people, which name the file.
pub(super) fn copy_rules(workspace: &Workspace, to: &Path) -> Result<(), String> {
    let root = workspace.root();
    fs::create_dir_all(to).map_err(|error| format!("{}: {error}", to.display()))?;
    let path = root.join(CONFIG_FILE);
    let failed = |error: &dyn std::fmt::Display| format!("{}: {error}", path.display());
    let text = fs::read_to_string(&path).map_err(|error| failed(&error))?;
    let mut table: Table = text
        .parse()
        .map_err(|error: toml::de::Error| failed(&error))?;
    for name in ["audit", "notify", "telemetry", "network", "models"] {
        table.remove(name);
    }
    let mut playbooks = "playbooks".to_owned();
    if let Some(planner) = table.get_mut("planner").and_then(TomlValue::as_table_mut) {
        planner.retain(|name, _| name == "playbooks");
        if let Some(dir) = planner.get("playbooks").and_then(TomlValue::as_str) {
            dir.clone_into(&mut playbooks);
        }
    }
    let mut named = Vec::new();
    if let Some(tools) = table.get_mut("tools").and_then(TomlValue::as_table_mut) {
        for (_, tool) in tools.iter_mut() {
            without_endpoint(tool);
            texts(tool, &mut named);
        }
    }
    let text = toml::to_string(&table).map_err(|error| failed(&error))?;
    fs::write(to.join(CONFIG_FILE), text).map_err(|error| failed(&error))?;
    for dir in [POLICIES_DIR, playbooks.as_str()] {
        let from = root.join(dir);
        if from.is_dir() {
            copy_folder(&from, &to.join(dir), to)?;
        }
    }
    for name in named {
        copy_schema(root, to, &name)?;
    }
    Ok(())
}

/// Takes out where a tool is, and how it says who it is.
fn without_endpoint(tool: &mut TomlValue) {
    let Some(tool) = tool.as_table_mut() else {
        return;
    };
    for name in ["auth", "headers", "password", "ca", "env", "private"] {
        tool.remove(name);
    }
    if tool.contains_key("base_url") {
        tool.insert("base_url".to_owned(), TomlValue::String(NOWHERE.to_owned()));
    }
    if tool.contains_key("url") {
        let nowhere = "postgresql://127.0.0.1/recorded".to_owned();
        tool.insert("url".to_owned(), TomlValue::String(nowhere));
    }
}

/// Every text in a table.
fn texts(value: &TomlValue, found: &mut Vec<String>) {
    match value {
        TomlValue::String(text) => found.push(text.clone()),
        TomlValue::Array(items) => items.iter().for_each(|item| texts(item, found)),
        TomlValue::Table(table) => table.iter().for_each(|(_, item)| texts(item, found)),
        _ => {}
    }
}

/// Copies a schema that an entry names: a JSON file below the workspace.
fn copy_schema(root: &Path, to: &Path, name: &str) -> Result<(), String> {
    let source = root.join(name);
    let is_inside = Path::new(name)
        .components()
        .all(|part| matches!(part, std::path::Component::Normal(_)));
    let is_small =
        fs::metadata(&source).is_ok_and(|meta| meta.is_file() && meta.len() <= SCHEMA_BYTES_MAX);
    if !name.ends_with(".json") || !is_inside || !is_small {
        return Ok(());
    }
    let target = to.join(name);
    let failed = |error: io::Error| format!("{}: {error}", source.display());
    if let Some(parent) = target.parent() {
        fs::create_dir_all(parent).map_err(failed)?;
    }
    fs::copy(&source, &target).map(|_| ()).map_err(failed)
}

/// Rewrites `provost.toml` of the copy at `root`, and takes the files of secrets out of it that
/// nothing needs there; the others, which are taken out once the repeat is over.
///
/// # Errors
/// In words for people.
pub(super) fn configure(root: &Path, settings: &Settings<'_>) -> Result<Vec<PathBuf>, String> {
    let path = root.join(CONFIG_FILE);
    let failed = |error: &dyn std::fmt::Display| format!("{}: {error}", path.display());
    let text = fs::read_to_string(&path).map_err(|error| failed(&error))?;
    let mut table: Table = text
        .parse()
        .map_err(|error: toml::de::Error| failed(&error))?;
    let named = secret_files(root, &table);
    for name in ["audit", "notify", "telemetry"] {
        table.remove(name);
    }
    if !settings.live {
        table.remove("network");
    }
    if let Some(approvals) = table.get_mut("approvals").and_then(TomlValue::as_table_mut) {
        // Why: nobody's key is there, and a scripted yes approves nothing real.
        approvals.remove("require");
    }
    let tools = table.get_mut("tools").and_then(TomlValue::as_table_mut);
    let mut tools = tools.into_iter().collect::<Vec<_>>();
    for (name, url) in settings.doubles {
        let tool = tools
            .iter_mut()
            .find_map(|tools| tools.get_mut(name))
            .and_then(TomlValue::as_table_mut);
        let Some(tool) = tool.filter(|tool| tool.contains_key("base_url")) else {
            return Err(format!(
                "`world.tools` names `{name}`, which is no tool of the workspace with a `base_url`"
            ));
        };
        tool.insert("base_url".to_owned(), TomlValue::String(url.clone()));
        tool.remove("auth");
    }
    if let Some(planner) = settings.planner {
        let mut written = to_toml(&planner.settings)?;
        if let (Some(command), Some(written)) = (&settings.command, written.as_table_mut()) {
            let words = command.iter().cloned().map(TomlValue::String).collect();
            written.insert("command".to_owned(), TomlValue::Array(words));
        }
        table.insert("planner".to_owned(), written);
    }
    let text = toml::to_string(&table).map_err(|error| failed(&error))?;
    fs::write(&path, text).map_err(|error| failed(&error))?;
    let needed = secret_files(root, &table);
    for secret in named.iter().filter(|secret| !needed.contains(secret)) {
        take_out(secret)?;
    }
    if !settings.live {
        // Why: it pins tools as they are, and the doubles stand elsewhere.
        take_out(&root.join(LOCK_FILE))?;
    }
    Ok(needed)
}

/// Removes a file of the copy, if it is there.
///
/// # Errors
/// In words for people.
pub(super) fn take_out(path: &Path) -> Result<(), String> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            Err(format!("{}: {error}", path.display()))
        }
        _ => Ok(()),
    }
}

/// The files of the copy at `root` that hold secrets, as the settings name them.
fn secret_files(root: &Path, table: &Table) -> Vec<PathBuf> {
    let mut found = Vec::new();
    texts(&TomlValue::Table(table.clone()), &mut found);
    let named = found.iter().filter_map(|text| text.strip_prefix("file:"));
    // Why only below: the others were not copied.
    let below = named.map(Path::new).filter(|path| path.is_relative());
    below.map(|path| root.join(path)).collect()
}

fn to_toml(value: &Value) -> Result<TomlValue, String> {
    TomlValue::try_from(value).map_err(|error| format!("the planner of the set: {error}"))
}
