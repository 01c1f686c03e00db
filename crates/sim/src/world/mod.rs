//! A small real service with the domains pager, tickets, exports, content and payments.
//!
//! Owns the HTTP surface, the order "effect, durable, answer" and the faults that break it on
//! purpose. Never forgets what it acknowledged, a kill included. INVARIANT: every call outside
//! the control plane (`/ledger`, `/faults`, `/openapi.json`) leaves exactly one ledger entry,
//! durable before the answer leaves.

mod content;
mod exports;
mod line;
mod local;
mod pager;
mod payments;
mod perform;
mod route;
mod state;
mod tickets;

use std::io;
use std::sync::Arc;
use std::time::Duration;

use axum::body::Bytes;
use axum::extract::{ConnectInfo, State as Shared};
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode, Uri};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use axum::{Json, Router};
use serde_json::{Value, json};
use tokio::net::TcpListener;

pub use local::Local;
pub use perform::World;
pub use state::{Fault, FaultKind, LedgerEntry};

use line::{CutListener, Line};
use perform::Performed;
use route::Request;

/// Serves `world` on `listener` until the future is dropped.
pub async fn serve(listener: TcpListener, world: World) -> io::Result<()> {
    let router = Router::new()
        .route("/ledger", get(ledger))
        .route("/openapi.json", get(|| async { openapi() }))
        .route("/faults", get(faults).post(add_fault).delete(clear_faults))
        .fallback(call)
        .with_state(Arc::new(world));
    let service = router.into_make_service_with_connect_info::<Line>();
    axum::serve(CutListener(listener), service).await
}

/// What the service says of itself.
fn openapi() -> impl IntoResponse {
    let json = HeaderValue::from_static("application/json");
    (
        [(axum::http::header::CONTENT_TYPE, json)],
        include_str!("openapi.json"),
    )
}

async fn ledger(Shared(world): Shared<Arc<World>>) -> Json<Value> {
    Json(json!({ "calls": world.ledger() }))
}

async fn faults(Shared(world): Shared<Arc<World>>) -> Json<Value> {
    Json(json!({ "faults": world.faults() }))
}

async fn add_fault(Shared(world): Shared<Arc<World>>, Json(fault): Json<Fault>) -> Response {
    if !route::known(&fault.route) {
        let routes: Vec<String> = route::names().collect();
        let body = json!({ "error": format!("no route `{}`", fault.route), "routes": routes });
        return (StatusCode::UNPROCESSABLE_ENTITY, Json(body)).into_response();
    }
    match world.add_fault(fault) {
        Ok(()) => (
            StatusCode::CREATED,
            Json(json!({ "faults": world.faults() })),
        )
            .into_response(),
        Err(error) => unwritable(&error),
    }
}

async fn clear_faults(Shared(world): Shared<Arc<World>>) -> Response {
    match world.clear_faults() {
        Ok(()) => Json(json!({ "faults": [] })).into_response(),
        Err(error) => unwritable(&error),
    }
}

async fn call(
    Shared(world): Shared<Arc<World>>,
    ConnectInfo(line): ConnectInfo<Line>,
    method: Method,
    uri: Uri,
    headers: HeaderMap,
    body: Bytes,
) -> Response {
    let request = Request::read(&method, &uri, &headers, &body);
    let fault = match world.take_fault(&request) {
        Ok(fault) => fault,
        Err(error) => return unwritable(&error),
    };
    if let Some(Fault {
        kind: FaultKind::Slow,
        ms,
        ..
    }) = fault
    {
        tokio::time::sleep(Duration::from_millis(ms)).await;
    }
    let kind = fault.as_ref().map(|fault| fault.kind);
    match (kind, world.perform(&request, fault.as_ref())) {
        (_, Err(error)) => unwritable(&error),
        (Some(FaultKind::Hang), _) => hang(fault.map_or(0, |fault| fault.ms)).await,
        (Some(FaultKind::Drop), _) => line.cut(),
        (Some(FaultKind::Stutter), Ok(performed)) => {
            line.stutter();
            answer(performed)
        }
        (_, Ok(performed)) => answer(performed),
    }
}

fn answer(performed: Performed) -> Response {
    let status = StatusCode::from_u16(performed.status).unwrap_or(StatusCode::IM_A_TEAPOT);
    let mut response = (status, Json(performed.body)).into_response();
    if performed.replayed {
        response
            .headers_mut()
            .insert("idempotency-replayed", HeaderValue::from_static("true"));
    }
    response
}

/// Holds the connection open without an answer; `ms` of 0 holds it until the caller gives up.
async fn hang(ms: u64) -> Response {
    match ms {
        0 => std::future::pending::<()>().await,
        ms => tokio::time::sleep(Duration::from_millis(ms)).await,
    }
    StatusCode::GATEWAY_TIMEOUT.into_response()
}

fn unwritable(error: &io::Error) -> Response {
    let body = json!({ "error": format!("the state could not be written: {error}") });
    (StatusCode::INSUFFICIENT_STORAGE, Json(body)).into_response()
}
