//! The way to a server elsewhere, over streamable HTTP.
//!
//! Owns the transport and what its failures mean. Follows no redirect and begins no session anew by
//! itself. INVARIANT: only what never left this machine is said not to have happened.

use provost_run::outcome::{Class, Landing};
use provost_wire::Secret;
use provost_wire::http::{BaseUrl, StreamError, StreamFailure, streaming_client};
use rmcp::service::{ClientInitializeError, ServiceError};
use rmcp::transport::streamable_http_client::{
    StreamableHttpClientTransport, StreamableHttpClientTransportConfig, StreamableHttpError,
};

use super::strict_http::StrictClient;

use crate::fault::{Fault, one_line};

type RemoteFailure = StreamableHttpError<StreamError>;

/// The way to the server at `url`.
pub(super) fn transport(
    url: &BaseUrl,
    bearer: Option<&Secret>,
    message_bytes_max: usize,
) -> Result<StreamableHttpClientTransport<StrictClient>, Fault> {
    let client = streaming_client(url)
        .map_err(|error| Fault::no_effect(Class::Unavailable, error.to_string()))?;
    let mut config = StreamableHttpClientTransportConfig::with_uri(url.to_string());
    config.auth_header = bearer.map(|bearer| bearer.expose().to_owned());
    config.max_sse_event_size = message_bytes_max;
    // Why: a call whose session the server no longer knows is told as failed, and the next one
    // begins a session of its own.
    config.reinit_on_expired_session = false;
    Ok(StreamableHttpClientTransport::with_client(
        StrictClient::new(client),
        config,
    ))
}

/// What a failure of the way to a server means, if it is one.
pub(super) fn failed(error: &ServiceError) -> Option<Fault> {
    let ServiceError::TransportSend(sent) = error else {
        return None;
    };
    sent.error.downcast_ref::<RemoteFailure>().map(fault)
}

/// What kept a session from beginning, if that was the way to the server.
pub(super) fn start_fault(error: &ClientInitializeError) -> Option<Fault> {
    match error {
        ClientInitializeError::LegacyFallbackFailed { fallback, .. } => start_fault(fallback),
        ClientInitializeError::TransportError { error, .. } => {
            let fault = error.error.downcast_ref::<RemoteFailure>().map(fault)?;
            // Why: nothing was called yet.
            Some(Fault::no_effect(fault.class, fault.message))
        }
        _ => None,
    }
}

fn fault(failure: &RemoteFailure) -> Fault {
    let unknown = |class, message: String| Fault::new(class, Landing::Unknown, message);
    match failure {
        RemoteFailure::AuthRequired(_) => unknown(
            Class::PermissionDenied,
            "the server wants a bearer token that it accepts (401)".to_owned(),
        ),
        RemoteFailure::InsufficientScope(_) => unknown(
            Class::PermissionDenied,
            "the bearer token is not for this (403)".to_owned(),
        ),
        RemoteFailure::SessionExpired => unknown(
            Class::Unavailable,
            "the server knows no such session any more (404)".to_owned(),
        ),
        RemoteFailure::HttpStatus(answered) => {
            let class = match answered.status {
                429 => Class::RateLimited,
                _ => Class::Unavailable,
            };
            unknown(class, format!("the server answers {}", answered.status))
        }
        RemoteFailure::ResponseBodyTooLarge { max_size } => unknown(
            Class::OutputInvalid,
            format!("the server sent a message of more than {max_size} bytes"),
        ),
        RemoteFailure::Client(error) => match StreamFailure::of(error) {
            StreamFailure::NotSent { reason } => {
                let message = format!("the server cannot be reached: {reason}");
                Fault::no_effect(Class::Unavailable, message)
            }
            StreamFailure::Lost { reason } => unknown(
                Class::Unavailable,
                format!("the connection was lost before the answer was whole: {reason}"),
            ),
        },
        // Why not the rest: what else the library says is about its own types.
        RemoteFailure::UnexpectedServerResponse(said) if said.starts_with("HTTP ") => {
            let message = one_line(&format!("the server answers {said}"));
            unknown(Class::Unavailable, message)
        }
        _ => unknown(
            Class::OutputInvalid,
            "what the server sent is no message of the protocol".to_owned(),
        ),
    }
}
