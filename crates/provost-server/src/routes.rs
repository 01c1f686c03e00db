//! The routes, in one table: method, path, who may ask.
//!
//! Owns the table, from which the router is built and by which tests ask every route. Answers
//! nothing. INVARIANT: a route that is not in the table does not exist.

use axum::Router;
use axum::extract::DefaultBodyLimit;
use axum::middleware::{from_fn, from_fn_with_state};
use axum::routing::{MethodRouter, any, delete, get, post};

use crate::app::App;
use crate::limits::BODY_BYTES_MAX;
use crate::problem::Problem;
use crate::{api, assets, door, mcp, page};

/// Who may ask a route at all; what they may do there is judged behind it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Access {
    /// Everybody.
    Open,
    /// Who has a session or a token.
    SignedIn,
    /// Who has a token; no page of any site.
    Program,
}

/// A route.
pub(crate) struct Route {
    method: &'static str,
    path: &'static str,
    access: Access,
    handler: MethodRouter<App>,
}

fn open(method: &'static str, path: &'static str, handler: MethodRouter<App>) -> Route {
    Route {
        method,
        path,
        access: Access::Open,
        handler,
    }
}

pub(crate) fn signed_in(
    method: &'static str,
    path: &'static str,
    handler: MethodRouter<App>,
) -> Route {
    Route {
        method,
        path,
        access: Access::SignedIn,
        handler,
    }
}

/// A route as the document of the API lists it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ListedRoute {
    /// The method.
    pub method: &'static str,
    /// The path, with `{names}` of what varies.
    pub path: &'static str,
    /// Whether everybody may ask.
    pub is_open: bool,
}

/// Every route for programs, for whoever writes or checks a client.
#[must_use]
pub fn listed() -> Vec<ListedRoute> {
    // Why without MCP: that describes itself to its clients, in its own way.
    let of_programs = table()
        .into_iter()
        .filter(|route| !is_page(route.path) && route.access != Access::Program);
    let listed = of_programs.map(|route| ListedRoute {
        method: route.method,
        path: route.path,
        is_open: route.access == Access::Open,
    });
    listed.collect()
}

/// Every route of the server, pages and doors as well: method and path. `/mcp` takes any method.
#[must_use]
pub fn routed() -> Vec<String> {
    let table = table().into_iter();
    let named = table.map(|route| format!("{} {}", route.method, route.path));
    named.collect()
}

/// Every route of the server.
fn table() -> Vec<Route> {
    let mut all = doors();
    all.extend(api::routes());
    all.extend(page::routes());
    all
}

fn doors() -> Vec<Route> {
    vec![
        open("GET", "/healthz", get(api::health::alive)),
        open("GET", "/readyz", get(api::health::ready)),
        open("GET", "/openapi.json", get(api::openapi)),
        open("GET", "/assets/{hash}/{name}", get(assets::get)),
        open("GET", "/login", get(page::login::show)),
        open("POST", "/login/link", post(door::link::spend)),
        open("GET", "/login/oidc", get(door::oidc::begin)),
        open("GET", door::oidc::BACK, get(door::oidc::back)),
        signed_in("POST", "/logout", post(door::link::sign_out)),
        planning(),
    ]
}

/// Where MCP clients plan.
fn planning() -> Route {
    Route {
        method: "POST",
        path: mcp::PATH,
        access: Access::Program,
        handler: any(mcp::answer),
    }
}

/// A route that answers `GET`, for who is signed in.
pub(crate) fn reads<H, T>(path: &'static str, handler: H) -> Route
where
    H: axum::handler::Handler<T, App>,
    T: 'static,
{
    signed_in("GET", path, get(handler))
}

/// A route that answers `POST`, for who is signed in.
pub(crate) fn posts<H, T>(path: &'static str, handler: H) -> Route
where
    H: axum::handler::Handler<T, App>,
    T: 'static,
{
    signed_in("POST", path, post(handler))
}

/// A route that answers `DELETE`, for who is signed in.
pub(crate) fn deletes<H, T>(path: &'static str, handler: H) -> Route
where
    H: axum::handler::Handler<T, App>,
    T: 'static,
{
    signed_in("DELETE", path, delete(handler))
}

/// Whether a path is a page for people, and no resource for programs.
pub(crate) fn is_page(path: &str) -> bool {
    let of_programs = [
        "/v1/",
        "/healthz",
        "/readyz",
        "/openapi.json",
        "/metrics",
        mcp::PATH,
    ];
    !of_programs.iter().any(|prefix| path.starts_with(prefix))
}

/// The router over the table.
pub(crate) fn router(app: App) -> Router {
    let router = table().into_iter().fold(Router::new(), with);
    guarded(router.fallback(nothing), app)
}

/// The router where planning is offered and nothing else: who has no token is told nothing more.
pub(crate) fn planning_router(app: App) -> Router {
    let router = with(Router::new(), planning()).fallback(nothing);
    guarded(router.layer(from_fn(door::require_token)), app)
}

async fn nothing() -> Problem {
    Problem::not_found("page or resource")
}

fn with(router: Router<App>, route: Route) -> Router<App> {
    let handler = match route.access {
        Access::Open => route.handler.route_layer(from_fn(door::same_site)),
        // Why here: who is not signed in is told so before a body is read.
        Access::SignedIn => route.handler.route_layer(from_fn(door::require)),
        // Why all of it: the methods are MCP's to know.
        Access::Program => route.handler.layer(from_fn(door::require_token)),
    };
    router.route(route.path, handler)
}

/// The door stands before every route, and before those that are not there.
fn guarded(router: Router<App>, app: App) -> Router {
    router
        .layer(DefaultBodyLimit::max(BODY_BYTES_MAX))
        .layer(from_fn(door::body::in_time))
        .layer(from_fn_with_state(app.clone(), door::guard))
        .with_state(app)
}
