//! `tools unused`: what the catalog allows and no run ever needed.
//!
//! Owns the comparison of catalog and journal, and the lines of provost.toml that could go. Changes
//! nothing: a person does. INVARIANT: an entry that another entry or a playbook names is never
//! proposed to go.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::RangeInclusive;

use provost_engine::store::AttemptedOperations;
use provost_engine::workspace::Workspace;
use provost_plan::catalog::Operation;
use serde_json::{Value, json};

use crate::failure::{Exit, Failure};
use crate::output;
use crate::screen::page::{Cell, Page, TextStyle};
use crate::screen::words::moment;
use crate::workspace_path::WorkspacePath;

/// An operation that no run attempted.
struct Unused<'a> {
    operation: &'a Operation,
    /// What names it all the same.
    named_by: Vec<String>,
}

/// Lines of provost.toml that could go.
struct UnusedLines {
    /// The whole tool, or one operation of it.
    table: String,
    lines: RangeInclusive<usize>,
}

/// Does it.
pub fn run(place: &WorkspacePath, json: bool) -> Result<Exit, Failure> {
    let workspace = place.unlocked()?;
    let used = match place.journal_if_any()? {
        Some(store) => store.used_operations()?,
        None => AttemptedOperations::default(),
    };
    let unused = unused(&workspace, &used);
    let could_go = match used.since_ms {
        Some(_) => could_go(&workspace, &unused),
        // Why: where nothing ran, nothing tells what is needed.
        None => Vec::new(),
    };
    if json {
        output::json(&to_json(&workspace, &used, &unused, &could_go));
    } else {
        shown(&workspace, &used, &unused, &could_go);
    }
    Ok(Exit::Done)
}

fn unused<'a>(workspace: &'a Workspace, used: &AttemptedOperations) -> Vec<Unused<'a>> {
    let catalog = workspace.catalog().iter();
    let never = catalog.filter(|operation| !used.operations.contains_key(&operation.name));
    never
        .map(|operation| Unused {
            operation,
            named_by: named_by(workspace, &operation.name),
        })
        .collect()
}

/// The entries and playbooks that name an operation.
fn named_by(workspace: &Workspace, name: &str) -> Vec<String> {
    let entries = workspace.catalog().iter().flat_map(|other| {
        let reconcile = other
            .reconcile
            .as_ref()
            .map(|read| ("reconcile", &read.tool));
        let preview = other.preview.as_ref().map(|read| ("preview", &read.tool));
        let reads = reconcile.into_iter().chain(preview);
        let named = reads.filter(|(_, tool)| *tool == name);
        named.map(|(field, _)| format!("`{field}` of {}", other.name))
    });
    let playbooks = workspace.playbooks().playbooks();
    let playbooks = playbooks.filter_map(|playbook| {
        let named = playbook.tools().contains(name);
        named.then(|| format!("playbook {}", playbook.name()))
    });
    entries.chain(playbooks).collect()
}

/// The lines of what nothing uses and nothing names: of a whole tool, if nothing of it is left.
fn could_go(workspace: &Workspace, unused: &[Unused<'_>]) -> Vec<UnusedLines> {
    // Why the first: the text of provost.toml stands before all others.
    let text = workspace
        .sources()
        .first()
        .map_or("", |source| &source.text);
    let free = unused.iter().filter(|unused| unused.named_by.is_empty());
    let free: BTreeSet<&str> = free.map(|unused| unused.operation.name.as_str()).collect();
    let mut servers: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for operation in workspace.catalog().iter() {
        let of = servers.entry(operation.server()).or_default();
        of.push(&operation.name);
    }
    let tables = servers.iter().flat_map(|(server, all)| {
        if all.iter().all(|name| free.contains(name)) {
            return vec![format!("tools.{server}")];
        }
        let gone = all.iter().filter(|name| free.contains(**name));
        gone.map(|name| format!("tools.{}", name.replacen('.', ".ops.", 1)))
            .collect()
    });
    tables.flat_map(|table| lines_of(text, &table)).collect()
}

/// Where a table and all below it stand: each run of lines from a header to the next that is not
/// below it, without the comments before that.
fn lines_of(text: &str, table: &str) -> Vec<UnusedLines> {
    let header = |line: &str| {
        let inside = line.trim().strip_prefix('[')?;
        let name = inside.split_once(']')?.0;
        Some(name.trim().to_owned())
    };
    let below = |name: &str| name == table || name.starts_with(&format!("{table}."));
    let mut found: Vec<RangeInclusive<usize>> = Vec::new();
    let mut inside = false;
    for (number, line) in (1..).zip(text.lines()) {
        if let Some(name) = header(line) {
            if below(&name) && !inside {
                found.push(number..=number);
            }
            inside = below(&name);
        }
        let says = !line.trim().is_empty() && !line.trim_start().starts_with('#');
        if let Some(last) = found.last_mut().filter(|_| inside && says) {
            *last = *last.start()..=number;
        }
    }
    let lines = found.into_iter();
    lines
        .map(|lines| UnusedLines {
            table: table.to_owned(),
            lines,
        })
        .collect()
}

fn shown(
    workspace: &Workspace,
    used: &AttemptedOperations,
    unused: &[Unused<'_>],
    could_go: &[UnusedLines],
) {
    let Some(since) = used.since_ms else {
        output::note(
            "no run of this workspace is recorded, so nothing tells which tools it needs\n",
        );
        return;
    };
    let mut page = Page::new();
    let all = workspace.catalog().iter().count();
    page.line(&format!(
        "{} of {all} tools unused since {}, when the journal begins",
        unused.len(),
        moment(since)
    ));
    if used.unknown > 0 {
        page.line(&format!(
            "of {} attempts the operation is unknown",
            used.unknown
        ));
    }
    let rows: Vec<Vec<Cell>> = unused
        .iter()
        .map(|unused| {
            vec![
                Cell::new(TextStyle::Strong, unused.operation.name.clone()),
                Cell::plain(unused.operation.effect.word()),
                Cell::new(TextStyle::Faint, kept(unused)),
            ]
        })
        .collect();
    page.table(2, &rows);
    if !could_go.is_empty() {
        page.line("could go from provost.toml:");
        for lines in could_go {
            let (first, last) = (lines.lines.start(), lines.lines.end());
            page.line(&format!("  lines {first}-{last}  [{}]", lines.table));
        }
    }
    output::data(&page.finish());
}

fn kept(unused: &Unused<'_>) -> String {
    if unused.named_by.is_empty() {
        return String::new();
    }
    format!("named by {}", unused.named_by.join(", "))
}

fn to_json(
    workspace: &Workspace,
    used: &AttemptedOperations,
    unused: &[Unused<'_>],
    could_go: &[UnusedLines],
) -> Value {
    let operations: Vec<Value> = unused
        .iter()
        .map(|unused| {
            json!({
                "name": unused.operation.name,
                "effect": unused.operation.effect,
                "named_by": unused.named_by,
            })
        })
        .collect();
    let lines: Vec<Value> = could_go
        .iter()
        .map(|lines| {
            json!({
                "table": lines.table,
                "from_line": lines.lines.start(),
                "to_line": lines.lines.end(),
            })
        })
        .collect();
    json!({
        "schema": "provost/tools-unused/v1",
        "since_ms": used.since_ms,
        "tools": workspace.catalog().iter().count(),
        "attempts_unknown": used.unknown,
        "unused": operations,
        "could_go": lines,
    })
}
