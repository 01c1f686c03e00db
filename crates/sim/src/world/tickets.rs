//! The ticket tracker: a few tickets, and comments on them.
//!
//! Owns tickets and comments. Never changes a ticket's status. INVARIANT: one effect is one
//! comment.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::json;

use super::route::{Reply, Request, Route};
use super::state::State;

/// A ticket with what was said about it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Ticket {
    id: String,
    project: String,
    title: String,
    status: String,
    #[serde(default)]
    comments: Vec<Comment>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
struct Comment {
    id: String,
    text: String,
    author: Option<String>,
    key: Option<String>,
    at: String,
}

pub const ROUTES: &[Route] = &[
    Route {
        method: "GET",
        template: "/tickets",
        handle: list,
    },
    Route {
        method: "GET",
        template: "/tickets/{id}",
        handle: show,
    },
    Route {
        method: "POST",
        template: "/tickets/{id}/comments",
        handle: comment,
    },
];

/// The tickets of a new world.
pub fn tickets_at_start() -> BTreeMap<String, Ticket> {
    let rows = [
        (
            "PAY-1",
            "PAY",
            "Refund is shown twice in the statement",
            "open",
        ),
        ("PAY-2", "PAY", "Card is declined without a reason", "open"),
        ("PAY-3", "PAY", "Invoice lacks the VAT number", "closed"),
        ("WEB-1", "WEB", "Search forgets its filters", "open"),
        ("WEB-2", "WEB", "Page title is cut off", "closed"),
    ];
    rows.into_iter()
        .map(|(id, project, title, status)| {
            let ticket = Ticket {
                id: id.to_owned(),
                project: project.to_owned(),
                title: title.to_owned(),
                status: status.to_owned(),
                comments: Vec::new(),
            };
            (id.to_owned(), ticket)
        })
        .collect()
}

fn list(state: &mut State, request: &Request, _: &[&str]) -> Reply {
    let wanted = |field: &str, value: &str| {
        request
            .query
            .get(field)
            .is_none_or(|asked| asked.as_str() == value)
    };
    let tickets: Vec<&Ticket> = state
        .tickets
        .values()
        .filter(|ticket| wanted("project", &ticket.project) && wanted("status", &ticket.status))
        .collect();
    Reply::read(json!({ "tickets": tickets, "total": tickets.len() }))
}

fn show(state: &mut State, _: &Request, holes: &[&str]) -> Reply {
    match holes.first().and_then(|id| state.tickets.get(*id)) {
        Some(ticket) => Reply::read(json!(ticket)),
        None => Reply::refused(404, "no such ticket"),
    }
}

fn comment(state: &mut State, request: &Request, holes: &[&str]) -> Reply {
    let Some(ticket) = holes.first().and_then(|id| state.tickets.get_mut(*id)) else {
        return Reply::refused(404, "no such ticket");
    };
    let Some(text) = request.text("text") else {
        return Reply::refused(422, "`text` is missing");
    };
    let comment = Comment {
        id: format!("{}-comment-{}", ticket.id, ticket.comments.len() + 1),
        text,
        author: request.text("author"),
        key: request.key.clone(),
        at: request.at.clone(),
    };
    let body = json!({ "id": comment.id, "ticket": ticket.id, "at": comment.at });
    ticket.comments.push(comment);
    Reply::done(201, body)
}
