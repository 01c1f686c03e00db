//! What a request brings: parameters and a body, each field known or refused.
//!
//! Owns reading them. INVARIANT: what does not fit is a problem with the place in words, and never
//! an answer of the framework's own.

use axum::extract::{FromRequest, FromRequestParts, Query, Request};
use axum::http::request::Parts;
use bytes::Bytes;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::app::App;
use crate::problem::{Problem, ProblemKind};

/// The parameters of an address.
pub(crate) struct Parameters<T>(pub(crate) T);

impl<T: DeserializeOwned> FromRequestParts<App> for Parameters<T> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _: &App) -> Result<Self, Problem> {
        match Query::<T>::try_from_uri(&parts.uri) {
            Ok(Query(read)) => Ok(Self(read)),
            Err(error) => Err(Problem::new(ProblemKind::Unfit, error.body_text())),
        }
    }
}

/// The body of a request, as JSON.
pub(crate) struct JsonBody(pub(crate) Value);

impl FromRequest<App> for JsonBody {
    type Rejection = Problem;

    async fn from_request(request: Request, app: &App) -> Result<Self, Problem> {
        let bytes = Bytes::from_request(request, app).await.map_err(|error| {
            let kind = match error.status().as_u16() {
                413 => ProblemKind::TooLarge,
                _ => ProblemKind::BadRequest,
            };
            Problem::new(kind, error.body_text())
        })?;
        let read = serde_json::from_slice(&bytes);
        read.map(Self)
            .map_err(|error| Problem::new(ProblemKind::BadRequest, error.to_string()))
    }
}

impl JsonBody {
    /// The body in this form; a field that is not known is refused.
    pub(crate) fn into<T: DeserializeOwned>(self) -> Result<T, Problem> {
        serde_json::from_value(self.0)
            .map_err(|error| Problem::new(ProblemKind::Unfit, error.to_string()))
    }
}
