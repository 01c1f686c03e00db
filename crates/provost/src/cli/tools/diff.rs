//! `tools diff`: how the tools, and the servers behind them, differ from what is pinned.

use std::collections::BTreeMap;

use provost_engine::tools::{Definition, Listing};
use provost_engine::workspace::{Drift, LOCK_FILE, ServerDrift, server_drift};
use provost_plan::digest::canonical;
use serde_json::{Value, json};

use super::servers::listings;
use crate::failure::{Exit, Failure};
use crate::output;
use crate::screen::page::Page;
use crate::screen::text_diff;
use crate::workspace_path::WorkspacePath;

/// Does it.
pub fn run(place: &WorkspacePath, json: bool) -> Result<Exit, Failure> {
    let workspace = place.unlocked()?;
    let Some(lock) = workspace.locked()? else {
        return Err(Failure::usage(format!("there is no {LOCK_FILE}"))
            .hint("`provost tools lock` writes it"));
    };
    let tools = lock.drift(&workspace.lock());
    let now = listings(place)?;
    let servers: Servers = now
        .iter()
        .map(|(name, now)| {
            let nothing = Listing::default();
            let pinned = lock.servers().get(name).unwrap_or(&nothing);
            (name.clone(), server_drift(pinned, now))
        })
        .collect();
    let stops = |drift: &ServerDrift| !matches!(drift, ServerDrift::Unused { .. });
    let stopped = tools
        .iter()
        .any(|drift| !matches!(drift, Drift::Gone { .. }))
        || servers.values().any(|drift| drift.values().any(stops));
    if json {
        let mut value = to_json(&tools, &servers);
        if let Value::Object(map) = &mut value {
            map.insert("schema".to_owned(), json!("provost/tools-diff/v1"));
        }
        output::json(&value);
    } else {
        output::data(&shown(&tools, &servers, ["not pinned", "changed in provost.toml"]).finish());
        if !stopped {
            output::note(&format!("no tool that is used differs from {LOCK_FILE}\n"));
        }
    }
    Ok(if stopped { Exit::Failed } else { Exit::Done })
}

/// How servers differ from what is pinned of them, by name.
pub(super) type Servers = BTreeMap<String, BTreeMap<String, ServerDrift>>;

/// All that differs; the words say of an operation that it is not pinned, and that it changed.
pub(super) fn shown(tools: &[Drift], servers: &Servers, [new, other]: [&str; 2]) -> Page {
    let mut page = Page::new();
    for drift in tools {
        page.strong(drift.tool()).line(&match drift {
            Drift::New { .. } => format!(": {new}"),
            Drift::Gone { .. } => ": pinned, and not in provost.toml".to_owned(),
            Drift::Changed { fields, .. } => {
                format!(": {other}: {}", fields.join(", "))
            }
        });
    }
    for (server, drift) in servers {
        for (tool, drift) in drift {
            page.strong(&format!("{server}: {tool}"));
            match drift {
                ServerDrift::Changed { pinned, now } => changed(&mut page, pinned, now),
                ServerDrift::Gone { pinned } => {
                    page.line(": the server has it no more");
                    page.field("pinned", &pinned.to_string());
                }
                ServerDrift::Unused { pinned, now } => {
                    let word = match (pinned, now) {
                        (None, _) => "new",
                        (_, None) => "gone",
                        _ => "changed",
                    };
                    page.faint(&format!(": {word}; nothing uses it")).end();
                }
            }
        }
    }
    page
}

fn changed(page: &mut Page, pinned: &Definition, now: &Definition) {
    let fields = pinned.differences(now);
    page.line(&format!(
        ": the server says otherwise: {}",
        fields.join(", ")
    ));
    page.field("pinned", &pinned.digest().to_string());
    page.field("listed", &now.digest().to_string());
    let width = output::width();
    for field in fields {
        page.faint(&format!("  {field}")).end();
        for change in pinned.changes(now, field) {
            if !change.path.is_empty() {
                page.text("    at ").strong(&change.path).end();
            }
            let text = |value: &Value| match value {
                Value::String(text) => text.clone(),
                other => canonical(other),
            };
            let (before, after) = (change.before.as_ref(), change.after.as_ref());
            let (before, after) = (before.map(text), after.map(text));
            text_diff::put(page, before.as_deref(), after.as_deref(), width);
        }
    }
}

/// Every place in which a server's definition differs.
fn changes(pinned: &Definition, now: &Definition) -> Value {
    let fields = pinned.differences(now).into_iter();
    let each = fields.flat_map(|field| {
        let changes = pinned.changes(now, field).into_iter();
        changes.map(move |change| {
            json!({
                "field": field, "path": change.path,
                "pinned": change.before, "listed": change.after,
            })
        })
    });
    each.collect()
}

/// The same as data.
pub(super) fn to_json(tools: &[Drift], servers: &Servers) -> Value {
    let tools: Vec<Value> = tools
        .iter()
        .map(|drift| match drift {
            Drift::New { tool } => json!({ "tool": tool, "drift": "new" }),
            Drift::Gone { tool } => json!({ "tool": tool, "drift": "gone" }),
            Drift::Changed { tool, fields } => {
                json!({ "tool": tool, "drift": "changed", "fields": fields })
            }
        })
        .collect();
    let of = |(server, drift): (&String, &BTreeMap<String, ServerDrift>)| {
        let one = |(tool, drift): (&String, &ServerDrift)| match drift {
            ServerDrift::Changed { pinned, now } => json!({
                "server": server, "tool": tool, "drift": "changed", "used": true,
                "fields": pinned.differences(now), "changes": changes(pinned, now),
                "pinned": pinned.digest(), "listed": now.digest(),
            }),
            ServerDrift::Gone { pinned } => json!({
                "server": server, "tool": tool, "drift": "gone", "used": true, "pinned": pinned,
            }),
            ServerDrift::Unused { pinned, now } => json!({
                "server": server, "tool": tool, "used": false, "pinned": pinned, "listed": now,
                "drift": match (pinned, now) {
                    (None, _) => "new",
                    (_, None) => "gone",
                    _ => "changed",
                },
            }),
        };
        drift.iter().map(one).collect::<Vec<_>>()
    };
    let servers: Vec<Value> = servers.iter().flat_map(of).collect();
    json!({ "tools": tools, "servers": servers })
}
