//! The ticket tracker: a few tickets, comments on them, and labels.
//!
//! Owns tickets, their comments and labels. Never changes a ticket's status. INVARIANT: one effect
//! is one comment, or one label that was set or taken away.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

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
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    labels: BTreeSet<String>,
}

impl Ticket {
    pub fn is_of(&self, project: &str) -> bool {
        self.project == project
    }

    /// What an export says of it; without `last_comment` if nobody has said anything.
    pub fn row(&self) -> Value {
        let mut row = json!({ "id": self.id, "title": self.title, "status": self.status });
        if let (Some(row), Some(last)) = (row.as_object_mut(), self.comments.last()) {
            row.insert("last_comment".to_owned(), last.at.clone().into());
        }
        row
    }
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
    Route {
        method: "POST",
        template: "/tickets/{id}/labels",
        handle: label,
    },
    Route {
        method: "DELETE",
        template: "/tickets/{id}/labels/{label}",
        handle: unlabel,
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
                labels: BTreeSet::new(),
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

fn label(state: &mut State, request: &Request, holes: &[&str]) -> Reply {
    let Some(ticket) = holes.first().and_then(|id| state.tickets.get_mut(*id)) else {
        return Reply::refused(404, "no such ticket");
    };
    let Some(label) = request.text("label") else {
        return Reply::refused(422, "`label` is missing");
    };
    let body = json!({ "ticket": ticket.id, "label": label });
    match ticket.labels.insert(label) {
        true => Reply::done(201, body),
        false => Reply::read(body),
    }
}

fn unlabel(state: &mut State, _: &Request, holes: &[&str]) -> Reply {
    let [id, label] = holes else {
        return Reply::refused(404, "no such ticket");
    };
    let Some(ticket) = state.tickets.get_mut(*id) else {
        return Reply::refused(404, "no such ticket");
    };
    match ticket.labels.remove(*label) {
        true => Reply::done(200, json!({ "removed": true })),
        false => Reply::read(json!({ "removed": false })),
    }
}
