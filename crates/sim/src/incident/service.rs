//! The six services of the simulated company.
//!
//! Owns their names, routes and usual latencies. Never says which one is in trouble. INVARIANT:
//! a service's name, as people say it, belongs to one service only.

/// A service and how it usually behaves.
#[derive(Debug)]
pub struct Service {
    /// As in metrics, logs and deployments.
    pub id: &'static str,
    /// As people say it.
    pub name: &'static str,
    pub team: &'static str,
    /// Usual p50, p95 and p99 in milliseconds.
    pub usual_ms: [i64; 3],
    pub routes: &'static [&'static str],
    /// A message that only this service logs.
    pub own_message: &'static str,
    /// The version that ran when the deployment history begins.
    pub first_version: (i64, i64),
}

/// All services, in the order of their files.
pub const SERVICES: [Service; 6] = [
    Service {
        id: "catalog-search",
        name: "product search",
        team: "discovery",
        usual_ms: [38, 120, 260],
        routes: &["GET /search", "GET /suggest", "GET /facets"],
        own_message: "index segment merged",
        first_version: (7, 31),
    },
    Service {
        id: "checkout",
        name: "checkout",
        team: "store",
        usual_ms: [90, 240, 520],
        routes: &["POST /orders", "GET /baskets", "PUT /baskets"],
        own_message: "basket priced",
        first_version: (3, 88),
    },
    Service {
        id: "identity",
        name: "login",
        team: "accounts",
        usual_ms: [45, 150, 310],
        routes: &["POST /sessions", "GET /me", "POST /tokens"],
        own_message: "token issued",
        first_version: (5, 9),
    },
    Service {
        id: "ledger-core",
        name: "ledger",
        team: "finance",
        usual_ms: [60, 190, 400],
        routes: &["POST /entries", "GET /balances", "GET /entries"],
        own_message: "batch posted",
        first_version: (2, 54),
    },
    Service {
        id: "notify-hub",
        name: "notifications",
        team: "messaging",
        usual_ms: [30, 100, 230],
        routes: &["POST /messages", "GET /messages", "PUT /preferences"],
        own_message: "message handed to the carrier",
        first_version: (1, 120),
    },
    Service {
        id: "payment-api",
        name: "payment API",
        team: "payments",
        usual_ms: [70, 180, 380],
        routes: &["POST /charges", "GET /charges", "POST /captures"],
        own_message: "charge authorised",
        first_version: (4, 17),
    },
];
