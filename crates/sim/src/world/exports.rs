//! Exports of tickets: jobs that are ready a moment after they were started.
//!
//! Owns the exports. Never changes a ticket. INVARIANT: one effect is one export, or one that is
//! gone; what an export holds is what the tickets were when it is read.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::route::{Reply, Request, Route};
use super::state::State;

/// How often a job is asked about before it is ready.
const READS_UNTIL_READY: usize = 2;

/// A job that collects the tickets of a project.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Export {
    project: String,
    key: Option<String>,
}

pub const ROUTES: &[Route] = &[
    Route {
        method: "POST",
        template: "/exports",
        handle: start,
    },
    Route {
        method: "GET",
        template: "/exports/{id}",
        handle: show,
    },
    Route {
        method: "DELETE",
        template: "/exports/{id}",
        handle: remove,
    },
];

fn start(state: &mut State, request: &Request, _: &[&str]) -> Reply {
    let Some(project) = request.text("project") else {
        return Reply::refused(422, "`project` is missing");
    };
    state.exports_started += 1;
    let id = format!("export-{}", state.exports_started);
    let key = request.key.clone();
    let body = json!({ "id": id, "project": project });
    state.exports.insert(id, Export { project, key });
    Reply::done(201, body)
}

fn show(state: &mut State, request: &Request, holes: &[&str]) -> Reply {
    let id = holes.first().copied().unwrap_or_default();
    let Some(export) = state.exports.get(id) else {
        return Reply::refused(404, "no such export");
    };
    let asked = state.ledger.iter().filter(|call| {
        call.method == "GET" && call.path == request.path && call.status == Some(200)
    });
    let rows: Vec<Value> = match asked.count() < READS_UNTIL_READY {
        true => Vec::new(),
        false => rows(state, &export.project),
    };
    let state = match rows.is_empty() {
        true => "running",
        false => "ready",
    };
    Reply::read(json!({ "id": id, "state": state, "rows": rows }))
}

fn rows(state: &State, project: &str) -> Vec<Value> {
    let tickets: BTreeMap<_, _> = state.tickets.iter().collect();
    let of_project = tickets.values().filter(|ticket| ticket.is_of(project));
    of_project.map(|ticket| ticket.row()).collect()
}

fn remove(state: &mut State, _: &Request, holes: &[&str]) -> Reply {
    let id = holes.first().copied().unwrap_or_default();
    match state.exports.remove(id) {
        Some(_) => Reply::done(200, json!({ "removed": true })),
        None => Reply::read(json!({ "removed": false })),
    }
}
