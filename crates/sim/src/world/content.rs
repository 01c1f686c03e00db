//! The content system: drafts, their versions and their publication.
//!
//! Owns drafts. Never publishes by itself. INVARIANT: a change moves the version by one, and
//! every publication is counted, so that a doubled one can be seen.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::route::{Reply, Request, Route};
use super::state::State;

/// A text on its way to readers.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Draft {
    id: String,
    title: String,
    body: String,
    version: u64,
    publications: u64,
    published_at: Option<String>,
}

pub const ROUTES: &[Route] = &[
    Route {
        method: "POST",
        template: "/drafts",
        handle: create,
    },
    Route {
        method: "GET",
        template: "/drafts/{id}",
        handle: show,
    },
    Route {
        method: "PUT",
        template: "/drafts/{id}",
        handle: change,
    },
    Route {
        method: "POST",
        template: "/drafts/{id}/publish",
        handle: publish,
    },
];

fn create(state: &mut State, request: &Request, _: &[&str]) -> Reply {
    let Some(title) = request.text("title") else {
        return Reply::refused(422, "`title` is missing");
    };
    let draft = Draft {
        id: format!("draft-{}", state.drafts.len() + 1),
        title,
        body: request.text("body").unwrap_or_default(),
        version: 1,
        publications: 0,
        published_at: None,
    };
    let body = shown(&draft);
    state.drafts.insert(draft.id.clone(), draft);
    Reply::done(201, body)
}

fn show(state: &mut State, _: &Request, holes: &[&str]) -> Reply {
    match draft(state, holes) {
        Some(draft) => Reply::read(shown(draft)),
        None => Reply::refused(404, "no such draft"),
    }
}

fn change(state: &mut State, request: &Request, holes: &[&str]) -> Reply {
    let Some(draft) = draft(state, holes) else {
        return Reply::refused(404, "no such draft");
    };
    let expected = request.body.get("version").and_then(Value::as_u64);
    if expected.is_some_and(|expected| expected != draft.version) {
        return Reply::refused(409, format!("the draft is at version {}", draft.version));
    }
    let (title, body) = (request.text("title"), request.text("body"));
    if title.is_none() && body.is_none() {
        return Reply::refused(422, "`title` or `body` is missing");
    }
    draft.title = title.unwrap_or_else(|| draft.title.clone());
    draft.body = body.unwrap_or_else(|| draft.body.clone());
    draft.version += 1;
    Reply::done(200, shown(draft))
}

fn publish(state: &mut State, request: &Request, holes: &[&str]) -> Reply {
    let Some(draft) = draft(state, holes) else {
        return Reply::refused(404, "no such draft");
    };
    draft.publications += 1;
    draft.published_at = Some(request.at.clone());
    Reply::done(200, shown(draft))
}

fn draft<'s>(state: &'s mut State, holes: &[&str]) -> Option<&'s mut Draft> {
    holes.first().and_then(|id| state.drafts.get_mut(*id))
}

fn shown(draft: &Draft) -> Value {
    let status = if draft.publications > 0 {
        "published"
    } else {
        "draft"
    };
    json!({
        "id": draft.id,
        "title": draft.title,
        "body": draft.body,
        "version": draft.version,
        "status": status,
        "publications": draft.publications,
        "published_at": draft.published_at,
    })
}
