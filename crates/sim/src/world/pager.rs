//! The pager: calls whoever is on call.
//!
//! Owns the pages that went out. Never removes one. INVARIANT: one effect is one page.

use serde::{Deserialize, Serialize};
use serde_json::json;

use super::route::{Reply, Request, Route};
use super::state::State;

/// A page that went out.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Page {
    id: String,
    message: String,
    service: Option<String>,
    team: Option<String>,
    key: Option<String>,
    at: String,
}

pub const ROUTES: &[Route] = &[
    Route {
        method: "POST",
        template: "/pages",
        handle: send,
    },
    Route {
        method: "GET",
        template: "/pages",
        handle: list,
    },
    Route {
        method: "GET",
        template: "/pages/by-key/{key}",
        handle: by_key,
    },
    Route {
        method: "GET",
        template: "/pages/by-message/{message}",
        handle: by_message,
    },
];

fn send(state: &mut State, request: &Request, _: &[&str]) -> Reply {
    let Some(message) = request.text("message") else {
        return Reply::refused(422, "`message` is missing");
    };
    let page = Page {
        id: format!("page-{}", state.pages.len() + 1),
        message,
        service: request.text("service"),
        team: request.text("team"),
        key: request.key.clone(),
        at: request.at.clone(),
    };
    let body = json!({ "id": page.id, "delivered": true, "at": page.at });
    state.pages.push(page);
    Reply::done(201, body)
}

fn list(state: &mut State, _: &Request, _: &[&str]) -> Reply {
    Reply::read(json!({ "pages": state.pages, "total": state.pages.len() }))
}

fn by_key(state: &mut State, _: &Request, holes: &[&str]) -> Reply {
    let wanted = holes.first().copied();
    match state
        .pages
        .iter()
        .find(|page| page.key.as_deref() == wanted)
    {
        Some(page) => Reply::read(json!({ "found": true, "id": page.id })),
        None => Reply::read(json!({ "found": false })),
    }
}

fn by_message(state: &mut State, _: &Request, holes: &[&str]) -> Reply {
    let wanted = holes.first().copied();
    let found = state
        .pages
        .iter()
        .find(|page| Some(page.message.as_str()) == wanted);
    match found {
        Some(page) => Reply::read(json!({ "found": true, "id": page.id })),
        None => Reply::read(json!({ "found": false })),
    }
}
