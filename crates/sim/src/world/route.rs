//! The table of routes, and a request as a route sees it.
//!
//! Owns matching and reading of requests. Never touches the state. INVARIANT: a request matches
//! at most one route, whose name (`METHOD /template`) is what faults and the ledger use.

use std::collections::BTreeMap;

use axum::extract::Query;
use axum::http::{HeaderMap, Method, Uri};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use super::state::State;
use super::{content, exports, pager, payments, tickets};

/// One operation of a domain.
pub struct Route {
    pub method: &'static str,
    /// Segments in braces match anything and are handed over in order.
    pub template: &'static str,
    pub handle: fn(&mut State, &Request, &[&str]) -> Reply,
}

impl Route {
    pub fn name(&self) -> String {
        format!("{} {}", self.method, self.template)
    }

    fn matches<'r>(&self, request: &'r Request) -> Option<Vec<&'r str>> {
        let wanted: Vec<&str> = self.template.split('/').collect();
        if self.method != request.method || wanted.len() != request.segments.len() {
            return None;
        }
        let mut holes = Vec::new();
        for (wanted, found) in wanted.iter().zip(&request.segments) {
            match wanted.starts_with('{') {
                true => holes.push(found.as_str()),
                false if wanted == found => {}
                false => return None,
            }
        }
        Some(holes)
    }
}

/// What a route answered, and whether it changed anything.
pub struct Reply {
    pub status: u16,
    pub body: Value,
    pub effect: bool,
}

impl Reply {
    pub fn read(body: Value) -> Self {
        Self {
            status: 200,
            body,
            effect: false,
        }
    }

    pub fn done(status: u16, body: Value) -> Self {
        Self {
            status,
            body,
            effect: true,
        }
    }

    pub fn refused(status: u16, why: impl Into<String>) -> Self {
        Self {
            status,
            body: json!({ "error": why.into() }),
            effect: false,
        }
    }
}

/// A request, read once.
pub struct Request {
    pub method: String,
    pub path: String,
    pub query: BTreeMap<String, String>,
    pub key: Option<String>,
    /// The body as JSON; `Null` where it is empty or no JSON.
    pub body: Value,
    pub body_digest: String,
    pub at: String,
    segments: Vec<String>,
}

impl Request {
    pub fn read(method: &Method, uri: &Uri, headers: &HeaderMap, body: &[u8]) -> Self {
        let query = Query::<BTreeMap<String, String>>::try_from_uri(uri);
        let key = headers
            .get("idempotency-key")
            .and_then(|key| key.to_str().ok());
        Self {
            method: method.as_str().to_owned(),
            path: uri.path().to_owned(),
            query: query.map(|Query(query)| query).unwrap_or_default(),
            key: key.map(str::to_owned),
            body: serde_json::from_slice(body).unwrap_or(Value::Null),
            body_digest: Sha256::digest(body)
                .iter()
                .map(|b| format!("{b:02x}"))
                .collect(),
            at: now(),
            segments: uri.path().split('/').map(percent_decoded).collect(),
        }
    }

    /// The string at `field` of the body, unless it is absent or empty.
    pub fn text(&self, field: &str) -> Option<String> {
        let text = self.body.get(field)?.as_str()?;
        (!text.is_empty()).then(|| text.to_owned())
    }
}

/// The route that takes `request`, with what stands in its holes.
pub fn find(request: &Request) -> Option<(&'static Route, Vec<&str>)> {
    routes().find_map(|route| route.matches(request).map(|holes| (route, holes)))
}

/// The names of all routes.
pub fn names() -> impl Iterator<Item = String> {
    routes().map(Route::name)
}

/// Whether a fault may name this route.
pub fn known(name: &str) -> bool {
    name == "*" || names().any(|route| route == name)
}

fn routes() -> impl Iterator<Item = &'static Route> {
    [
        pager::ROUTES,
        tickets::ROUTES,
        exports::ROUTES,
        content::ROUTES,
        payments::ROUTES,
    ]
    .into_iter()
    .flatten()
}

fn now() -> String {
    format!("{:.3}", jiff::Timestamp::now())
}

fn percent_decoded(segment: &str) -> String {
    let mut bytes = Vec::with_capacity(segment.len());
    let mut rest = segment.as_bytes();
    while let Some((&first, tail)) = rest.split_first() {
        let escape = match (first, tail) {
            (b'%', [high, low, ..]) => hex(*high).zip(hex(*low)),
            _ => None,
        };
        bytes.push(escape.map_or(first, |(high, low)| high * 16 + low));
        rest = if escape.is_some() {
            tail.get(2..).unwrap_or_default()
        } else {
            tail
        };
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

fn hex(digit: u8) -> Option<u8> {
    char::from(digit)
        .to_digit(16)
        .and_then(|value| u8::try_from(value).ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn segments_are_percent_decoded() {
        assert_eq!(percent_decoded("a%2Fb%20c"), "a/b c");
        assert_eq!(percent_decoded("50%"), "50%");
        assert_eq!(percent_decoded("%zz"), "%zz");
    }

    #[test]
    fn route_names_are_unique() {
        let mut all: Vec<String> = names().collect();
        all.sort();
        let count = all.len();
        all.dedup();
        assert_eq!(all.len(), count);
    }
}
