//! Where traces are sent, as `[telemetry]` says.
//!
//! Owns the endpoint, its headers and the form. Resolves no secret before a request needs it.
//! INVARIANT: a header's value is the name of a secret and never written out.

use std::path::Path;
use std::time::Duration;

use provost_run::read::spans::SpanContent;
use provost_wire::SecretName;
use provost_wire::http::{BaseUrl, Client, Method, Request, Response};

use crate::limits::EXPORT_ANSWER_BYTES_MAX;

/// Where traces are sent, and how.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TelemetrySettings {
    /// The receiver: the paths of the protocol are below it.
    pub base: BaseUrl,
    /// Headers of each request.
    pub headers: Vec<(String, SecretName)>,
    /// The form of the messages.
    pub form: OtlpForm,
    /// Which of spans, records and metrics are sent.
    pub send: Vec<OtlpSignal>,
    /// How much is told of what runs were about.
    pub content: SpanContent,
    /// How long one request may take.
    pub timeout: Duration,
}

/// The form of the messages.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OtlpForm {
    /// Protobuf, which every receiver takes.
    #[default]
    Protobuf,
    /// The protocol's own JSON.
    Json,
}

impl OtlpForm {
    /// The words of provost.toml.
    pub const WORDS: [(&'static str, Self); 2] =
        [("protobuf", Self::Protobuf), ("json", Self::Json)];

    fn media(self) -> &'static str {
        match self {
            Self::Protobuf => "application/x-protobuf",
            Self::Json => "application/json",
        }
    }
}

/// What is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OtlpSignal {
    /// Spans.
    Traces,
    /// Records: what happened in a span.
    Logs,
    /// What is counted, and what spans measure.
    Metrics,
}

impl OtlpSignal {
    /// The words of provost.toml.
    pub const WORDS: [(&'static str, Self); 3] = [
        ("traces", Self::Traces),
        ("logs", Self::Logs),
        ("metrics", Self::Metrics),
    ];

    pub(super) fn path(self) -> &'static str {
        match self {
            Self::Traces => "/v1/traces",
            Self::Logs => "/v1/logs",
            Self::Metrics => "/v1/metrics",
        }
    }
}

impl TelemetrySettings {
    /// Sends one message; `root` is where the files of secrets are looked for.
    pub(super) async fn post(
        &self,
        root: &Path,
        signal: OtlpSignal,
        body: Vec<u8>,
    ) -> Result<Response, String> {
        let mut headers = Vec::new();
        for (name, secret) in &self.headers {
            let value = secret.resolve(root).map_err(|error| error.to_string())?;
            headers.push((name.clone(), value.expose().to_owned()));
        }
        let client = Client::new(self.base.clone()).map_err(|error| error.to_string())?;
        let request = Request {
            method: Method::Post,
            path: signal.path().to_owned(),
            query: Vec::new(),
            headers,
            auth: None,
            body: Some((body, self.form.media())),
            timeout: self.timeout,
            max_bytes: EXPORT_ANSWER_BYTES_MAX,
        };
        client
            .send(request)
            .await
            .map_err(|error| error.to_string())
    }
}
