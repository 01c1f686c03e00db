//! Cross-site requests: a page of somebody else's changes nothing here.
//!
//! Owns the one rule for methods that change something: the browser says that the request comes
//! from this very site, or names this very origin. INVARIANT: a request that says neither changes
//! nothing, whatever cookie it bears.

use axum::http::{HeaderMap, header};

use super::Door;
use crate::problem::{Problem, ProblemKind};

pub(super) fn check(door: &Door, headers: &HeaderMap) -> Result<(), Problem> {
    let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
    let same = match (text("sec-fetch-site"), text("origin")) {
        (Some(site), origin) => {
            site == "same-origin" && origin.is_none_or(|origin| is_ours(door, headers, origin))
        }
        (None, Some(origin)) => is_ours(door, headers, origin),
        (None, None) => false,
    };
    if same {
        return Ok(());
    }
    let detail = "the request does not say that it comes from this site";
    Err(Problem::new(ProblemKind::CrossSite, detail)
        .hint("programs use a token: `Authorization: Bearer …`"))
}

/// Whether an origin is the one under which this request came: its host was looked at before.
fn is_ours(door: &Door, headers: &HeaderMap, origin: &str) -> bool {
    let scheme = if door.secure { "https" } else { "http" };
    let host = headers
        .get(header::HOST)
        .and_then(|host| host.to_str().ok());
    host.is_some_and(|host| origin.eq_ignore_ascii_case(&format!("{scheme}://{host}")))
}
