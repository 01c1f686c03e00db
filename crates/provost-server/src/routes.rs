//! The routes, in one table: method, path, who may ask.
//!
//! Owns the table, from which the router is built and by which tests ask every route. Answers
//! nothing. INVARIANT: a route that is not in the table does not exist.

use std::pin::Pin;
use std::sync::Arc;

use axum::Router;
use axum::extract::{DefaultBodyLimit, Request, State};
use axum::handler::Handler;
use axum::middleware::{from_fn, from_fn_with_state};
use axum::response::Response;
use axum::routing::{MethodFilter, any, on};

use crate::app::App;
use crate::limits::BODY_BYTES_MAX;
use crate::problem::{Problem, ProblemKind};
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

/// What a route is asked to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Method {
    Get,
    Post,
    Put,
    Delete,
}

impl Method {
    fn word(self) -> &'static str {
        match self {
            Self::Get => "GET",
            Self::Post => "POST",
            Self::Put => "PUT",
            Self::Delete => "DELETE",
        }
    }

    fn filter(self) -> MethodFilter {
        match self {
            Self::Get => MethodFilter::GET,
            Self::Post => MethodFilter::POST,
            Self::Put => MethodFilter::PUT,
            Self::Delete => MethodFilter::DELETE,
        }
    }
}

type Answering = Pin<Box<dyn Future<Output = Response> + Send>>;

/// A handler whose own type is gone. Why: the router makes hundreds of functions for each type of
/// handler, and most of the time that this crate compiled went into those.
type AnyHandler = Arc<dyn Fn(Request, App) -> Answering + Send + Sync>;

/// A route.
pub(crate) struct Route {
    method: Method,
    path: &'static str,
    access: Access,
    handler: AnyHandler,
}

impl Route {
    fn new<H, T>(method: Method, path: &'static str, access: Access, handler: H) -> Self
    where
        H: Handler<T, App>,
    {
        Self {
            method,
            path,
            access,
            handler: Arc::new(move |request, app| Box::pin(handler.clone().call(request, app))),
        }
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
        method: route.method.word(),
        path: route.path,
        is_open: route.access == Access::Open,
    });
    listed.collect()
}

/// Every route of the server, pages and doors as well: method and path. `/mcp` takes any method.
#[must_use]
pub fn routed() -> Vec<String> {
    let table = table().into_iter();
    let named = table.map(|route| format!("{} {}", route.method.word(), route.path));
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
        open("/healthz", api::health::alive),
        open("/readyz", api::health::ready),
        open("/openapi.json", api::openapi),
        open("/assets/{hash}/{name}", assets::get),
        open("/login", page::login::show),
        open("/login/link", page::login::begin),
        Route::new(Method::Post, "/login/link", Access::Open, door::link::spend),
        open("/login/oidc", door::oidc::begin),
        open(door::oidc::BACK, door::oidc::back),
        posts("/logout", door::link::sign_out),
        planning(),
    ]
}

/// Where MCP clients plan.
fn planning() -> Route {
    Route::new(Method::Post, mcp::PATH, Access::Program, mcp::answer)
}

/// A route that answers `GET`, for everybody.
fn open<H: Handler<T, App>, T>(path: &'static str, handler: H) -> Route {
    Route::new(Method::Get, path, Access::Open, handler)
}

/// A route that answers `GET`, for who is signed in.
pub(crate) fn reads<H: Handler<T, App>, T>(path: &'static str, handler: H) -> Route {
    Route::new(Method::Get, path, Access::SignedIn, handler)
}

/// A route that answers `POST`, for who is signed in.
pub(crate) fn posts<H: Handler<T, App>, T>(path: &'static str, handler: H) -> Route {
    Route::new(Method::Post, path, Access::SignedIn, handler)
}

/// A route that answers `PUT`, for who is signed in.
pub(crate) fn puts<H: Handler<T, App>, T>(path: &'static str, handler: H) -> Route {
    Route::new(Method::Put, path, Access::SignedIn, handler)
}

/// A route that answers `DELETE`, for who is signed in.
pub(crate) fn deletes<H: Handler<T, App>, T>(path: &'static str, handler: H) -> Route {
    Route::new(Method::Delete, path, Access::SignedIn, handler)
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
    let router = router.fallback(nothing);
    guarded(router.method_not_allowed_fallback(other_method), app)
}

/// The router where planning is offered and nothing else: who has no token is told nothing more.
pub(crate) fn planning_router(app: App) -> Router {
    let router = with(Router::new(), planning()).fallback(nothing);
    guarded(router.layer(from_fn(door::require_token)), app)
}

async fn nothing() -> Problem {
    Problem::not_found("page or resource")
}

async fn other_method(method: axum::http::Method) -> Problem {
    let detail = format!("this route does not answer {method}");
    Problem::new(ProblemKind::Method, detail)
}

fn with(router: Router<App>, route: Route) -> Router<App> {
    let Route { handler, .. } = route;
    let answer = move |State(app): State<App>, request: Request| handler(request, app);
    let methods = match route.access {
        Access::Open => on(route.method.filter(), answer).route_layer(from_fn(door::same_site)),
        // Why here: who is not signed in is told so before a body is read.
        Access::SignedIn => on(route.method.filter(), answer).route_layer(from_fn(door::require)),
        // Why all of it: the methods are MCP's to know.
        Access::Program => any(answer).layer(from_fn(door::require_token)),
    };
    router.route(route.path, methods)
}

/// The door stands before every route, and before those that are not there.
fn guarded(router: Router<App>, app: App) -> Router {
    router
        .layer(DefaultBodyLimit::max(BODY_BYTES_MAX))
        .layer(from_fn(door::body::in_time))
        .layer(from_fn_with_state(app.clone(), door::guard))
        .with_state(app)
}
