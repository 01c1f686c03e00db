//! The HTTP client: one host, one deadline, one size limit.
//!
//! Owns sending one request and reading one answer. Follows no redirect, repeats nothing, uses no
//! proxy but the operator's, keeps no connection (an old one may die with the request on it, and
//! then nobody knows whether it arrived). INVARIANT: a client speaks to the host its base names and
//! to no other, and [`SendError::NotSent`] is said only where no byte of the request left.

use std::sync::{Arc, Once};
use std::time::Duration;

use reqwest::header::{CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue, LOCATION, RETRY_AFTER};
use reqwest::redirect::Policy;
use reqwest::{Client as Inner, Method as InnerMethod, Url};

use crate::limits::{CONNECT_TIMEOUT, ERROR_BODY_BYTES_MAX, HEADERS_MAX, RETRY_AFTER_MAX};
use crate::secret::{Secret, SecretName};

mod phase;
mod proxy;
mod reach;
mod resolver;

use phase::Phase;
use proxy::AddressCheckLayer;
pub use proxy::Proxy;
use resolver::Resolver;
pub use resolver::{AddressKind, address_kind};

/// The methods a request may have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Method {
    /// Sends the request as HTTP's `GET`; such a request has no body.
    Get,
    /// Sends the request as HTTP's `POST`.
    Post,
    /// Sends the request as HTTP's `PUT`.
    Put,
    /// Sends the request as HTTP's `PATCH`.
    Patch,
    /// Sends the request as HTTP's `DELETE`.
    Delete,
}

impl Method {
    /// How `method` in `provost.toml` spells each of them.
    pub const WORDS: [(&'static str, Self); 5] = [
        ("GET", Self::Get),
        ("POST", Self::Post),
        ("PUT", Self::Put),
        ("PATCH", Self::Patch),
        ("DELETE", Self::Delete),
    ];
}

/// The scheme, host, port and leading path that a client is bound to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BaseUrl {
    url: Url,
    /// Whether its name may stand for an address of a private network.
    private: bool,
    /// The proxy of the workspace, if it has one.
    proxy: Option<Arc<Proxy>>,
}

/// A text that is no base.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` cannot be a base URL: {reason}")]
pub struct BaseUrlError {
    text: String,
    reason: &'static str,
}

impl BaseUrl {
    /// Reads a base such as `https://api.example.com/v1`.
    ///
    /// # Errors
    /// [`BaseUrlError`] if it is no `http` or `https` URL, or holds more than host, port and path.
    pub fn parse(text: &str) -> Result<Self, BaseUrlError> {
        // Why: a text with a password in it must not be repeated.
        let shown = if text.contains('@') { "…" } else { text };
        let error = |reason| BaseUrlError {
            text: shown.to_owned(),
            reason,
        };
        let url = Url::parse(text).map_err(|_| error("it is no URL"))?;
        if !matches!(url.scheme(), "http" | "https") {
            return Err(error("the scheme must be `http` or `https`"));
        }
        if url.host_str().is_none_or(str::is_empty) {
            return Err(error("it names no host"));
        }
        if !url.username().is_empty() || url.password().is_some() {
            return Err(error("it holds a user or a password; name them in `auth`"));
        }
        if url.query().is_some() || url.fragment().is_some() {
            return Err(error("it contains a query or a fragment"));
        }
        Ok(Self {
            url,
            private: false,
            proxy: None,
        })
    }

    /// The same, reached through the proxy of the workspace unless it is one of the hosts that are
    /// not.
    #[must_use]
    pub fn through(self, proxy: Option<Arc<Proxy>>) -> Self {
        Self { proxy, ..self }
    }

    /// The proxy that it is reached through.
    #[must_use]
    pub fn proxy(&self) -> Option<&Proxy> {
        let proxy = self.proxy.as_deref();
        proxy.filter(|proxy| proxy.applies_to(self))
    }

    /// The secret that its proxy takes.
    #[must_use]
    pub fn proxy_secret(&self) -> Option<&SecretName> {
        self.proxy()?.secret()
    }

    fn unfit(&self, reason: &'static str) -> BaseUrlError {
        BaseUrlError {
            text: self.to_string(),
            reason,
        }
    }

    /// The same with the operator's word on whether its name may stand for a private address.
    #[must_use]
    pub fn with_private(self, private: bool) -> Self {
        Self { private, ..self }
    }

    /// Whether the operator says that its name stands for a private address.
    #[must_use]
    pub fn is_private(&self) -> bool {
        self.private
    }

    /// Its port, if it is an address of this machine itself, spelled as one: a name may lead
    /// anywhere.
    #[must_use]
    pub fn loopback_port(&self) -> Option<u16> {
        let host = self.host().trim_start_matches('[').trim_end_matches(']');
        let address: std::net::IpAddr = host.parse().ok()?;
        let port = self.url.port_or_known_default()?;
        address.is_loopback().then_some(port)
    }

    /// The host as the operator wrote it: a name, or an address.
    #[must_use]
    pub fn host(&self) -> &str {
        self.url.host_str().unwrap_or_default()
    }

    /// The address of a request; `None` if `path` would not arrive as written.
    fn join(&self, path: &str, query: &[(String, String)]) -> Option<Url> {
        let wanted = format!("{}{path}", self.url.path().trim_end_matches('/'));
        let mut url = self.url.clone();
        url.set_path(&wanted);
        if url.path() != wanted {
            return None;
        }
        if !query.is_empty() {
            url.query_pairs_mut().extend_pairs(query);
        }
        Some(url)
    }
}

impl std::fmt::Display for BaseUrl {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.url.as_str())
    }
}

/// One request to the host of a client.
pub struct Request<'a> {
    /// The method, as HTTP names it.
    pub method: Method,
    /// The path below the base: begins with `/`, percent-encoded.
    pub path: String,
    /// Names and values of the query, not encoded yet.
    pub query: Vec<(String, String)>,
    /// Names and values of headers, beside those that the client itself sets.
    pub headers: Vec<(String, String)>,
    /// The credentials that go with it, if the server wants any.
    pub auth: Option<Auth<'a>>,
    /// The body and its media type.
    pub body: Option<(Vec<u8>, &'static str)>,
    /// How long all of it may take.
    pub timeout: Duration,
    /// Most bytes of the answer's body.
    pub max_bytes: u64,
}

/// How a request says who sends it.
pub enum Auth<'a> {
    /// Sent as `Authorization: Bearer SECRET` (RFC 6750).
    Bearer(&'a Secret),
    /// Sent as `Authorization: Basic …` (RFC 7617).
    Basic {
        /// The user name, which may be logged.
        user: &'a str,
        /// The password, which may not.
        password: &'a Secret,
    },
    /// Sent as the value of a header that the operator names.
    Header {
        /// The name of the header, such as `X-Api-Key`.
        name: &'a str,
        /// The secret, which is the whole value of the header.
        value: &'a Secret,
    },
}

/// The answer to one request, whatever its status.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Response {
    /// The status code, such as 200 or 404.
    pub status: u16,
    /// The media type, as the server says.
    pub media: String,
    /// The body; of an error only its beginning.
    pub body: Vec<u8>,
    /// Whether more came, or was to come: then a secret may be cut at its end
    /// ([`crate::Redactor::redact_cut`]).
    pub body_is_cut: bool,
    /// How long the server asks to wait.
    pub retry_after: Option<Duration>,
    /// Where the server sends the client instead; nobody goes there.
    pub location: Option<String>,
}

impl Response {
    /// Whether the status says that the request was carried out.
    #[must_use]
    pub fn is_success(&self) -> bool {
        (200..300).contains(&self.status)
    }
}

/// Why a request has no answer, and whether it may have arrived.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SendError {
    /// No byte of the request left.
    #[error("the request was not sent: {reason}")]
    NotSent {
        /// What kept it from leaving, in words for people.
        reason: String,
    },
    /// The time was over; the request may have arrived.
    #[error("no whole answer within the time")]
    TimedOut,
    /// The connection broke; the request may have arrived.
    #[error("the connection was lost before the answer was whole: {reason}")]
    Lost {
        /// How the connection ended, in words for people.
        reason: String,
    },
    /// The answer says success, and is larger than allowed.
    #[error("the answer has more than the {max} bytes allowed")]
    TooLarge {
        /// The `max_bytes` of the request.
        max: u64,
    },
}

/// A client that speaks to one host and to no other.
#[derive(Clone, Debug)]
pub struct Client {
    base: BaseUrl,
    inner: Inner,
}

/// A client that cannot be made.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the HTTP client cannot start: {reason}")]
pub struct ClientError {
    reason: String,
}

impl Client {
    /// A client that speaks to `base`.
    ///
    /// # Errors
    /// [`ClientError`] if the certificates of this machine cannot be read.
    pub fn new(base: BaseUrl) -> Result<Self, ClientError> {
        let inner = streaming_client(&base)?;
        Ok(Self { base, inner })
    }

    /// Sends one request and reads its answer.
    ///
    /// # Errors
    /// [`SendError`] says how far it came.
    pub async fn send(&self, request: Request<'_>) -> Result<Response, SendError> {
        let prepared = self.prepare(&request)?;
        let exchange = async {
            let answer = self
                .inner
                .execute(prepared)
                .await
                .map_err(|e| failure(&e))?;
            read(answer, request.max_bytes).await
        };
        let phase = Phase::default();
        let exchange = phase.clone().watch(exchange);
        match tokio::time::timeout(request.timeout, exchange).await {
            Ok(result) => result,
            Err(_) if phase.is_connecting() => Err(SendError::NotSent {
                reason: "no connection within the time".to_owned(),
            }),
            Err(_) => Err(SendError::TimedOut),
        }
    }

    fn prepare(&self, request: &Request<'_>) -> Result<reqwest::Request, SendError> {
        let refused = |reason: String| SendError::NotSent { reason };
        let url = self
            .base
            .join(&request.path, &request.query)
            .ok_or_else(|| refused("the path would not arrive as it was meant".to_owned()))?;
        let method = match request.method {
            Method::Get => InnerMethod::GET,
            Method::Post => InnerMethod::POST,
            Method::Put => InnerMethod::PUT,
            Method::Patch => InnerMethod::PATCH,
            Method::Delete => InnerMethod::DELETE,
        };
        let mut builder = self.inner.request(method, url);
        for (name, value) in &request.headers {
            let (name, value) = header(name, value).map_err(refused)?;
            builder = builder.header(name, value);
        }
        builder = match &request.auth {
            None => builder,
            Some(Auth::Bearer(token)) => builder.bearer_auth(token.expose()),
            Some(Auth::Basic { user, password }) => {
                builder.basic_auth(user, Some(password.expose()))
            }
            Some(Auth::Header { name, value }) => {
                let (name, mut value) = header(name, value.expose()).map_err(refused)?;
                value.set_sensitive(true);
                builder.header(name, value)
            }
        };
        if let Some((body, media)) = &request.body {
            builder = builder.header(CONTENT_TYPE, *media).body(body.clone());
        }
        builder.build().map_err(|error| refused(innermost(&error)))
    }
}

/// What every client of ours is: bound to the host of `base`, without redirects and repetition,
/// and through no proxy but that of `base`. Whoever takes it for a protocol of their own keeps
/// deadlines and sizes.
///
/// # Errors
/// [`ClientError`] if the certificates of this machine, or the password of its proxy, cannot be
/// read.
pub fn streaming_client(base: &BaseUrl) -> Result<StreamClient, ClientError> {
    install_provider();
    let mut builder = Inner::builder()
        .redirect(Policy::none())
        .retry(reqwest::retry::never())
        .no_proxy()
        .referer(false)
        .http1_only()
        .http1_max_headers(HEADERS_MAX)
        .pool_max_idle_per_host(0)
        .connect_timeout(CONNECT_TIMEOUT)
        .user_agent(concat!("provost/", env!("CARGO_PKG_VERSION")));
    builder = match base.proxy() {
        None => builder.dns_resolver(Resolver::for_host(base.host(), base.private)),
        // Why private: who names a proxy names one of their own.
        Some(proxy) => builder
            .proxy(proxy.reqwest_proxy()?)
            .dns_resolver(Resolver::for_host(proxy.host(), true))
            .connector_layer(AddressCheckLayer::at(base)),
    };
    builder = builder.connector_layer(phase::PhaseLayer);
    if base.url.scheme() == "http" {
        // Why: reading every certificate of the machine takes longer than a local call.
        builder = builder.tls_certs_only([]);
    } else {
        builder = builder.https_only(true);
    }
    builder.build().map_err(|error| ClientError {
        reason: innermost(&error),
    })
}

/// The client that [`streaming_client`] gives.
pub type StreamClient = Inner;

/// What such a client receives, to be read as its protocol wants.
pub type StreamResponse = reqwest::Response;

/// The names and values of headers, as such a client takes them.
pub use reqwest::header::{HeaderName as StreamHeaderName, HeaderValue as StreamHeaderValue};

/// The error of the client that [`streaming_client`] gives.
pub type StreamError = reqwest::Error;

/// How far a request came that a stream's protocol made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StreamFailure {
    /// No byte of the request left.
    NotSent {
        /// What kept it from leaving, in words for people.
        reason: String,
    },
    /// The request may have arrived.
    Lost {
        /// How the connection ended, in words for people.
        reason: String,
    },
}

impl StreamFailure {
    /// What the error says of it.
    #[must_use]
    pub fn of(error: &StreamError) -> Self {
        match failure(error) {
            SendError::NotSent { reason } => Self::NotSent { reason },
            SendError::Lost { reason } => Self::Lost { reason },
            other => Self::Lost {
                reason: other.to_string(),
            },
        }
    }
}

/// Makes ring the process's source of cryptography, once; reqwest brings none of its own here.
fn install_provider() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        // Why: an error means that another part of the process was first, which is as good.
        let _ = rustls::crypto::ring::default_provider().install_default();
    });
}

fn header(name: &str, value: &str) -> Result<(HeaderName, HeaderValue), String> {
    let wrong = || format!("the header `{name}` holds what a header cannot");
    let name = HeaderName::from_bytes(name.as_bytes()).map_err(|_| wrong())?;
    let value = HeaderValue::from_str(value).map_err(|_| wrong())?;
    Ok((name, value))
}

async fn read(mut answer: reqwest::Response, max_bytes: u64) -> Result<Response, SendError> {
    let mut response = Response {
        status: answer.status().as_u16(),
        media: text(answer.headers(), &CONTENT_TYPE).unwrap_or_default(),
        body: Vec::new(),
        body_is_cut: false,
        retry_after: text(answer.headers(), &RETRY_AFTER)
            .and_then(|text| text.parse().ok())
            .map(|seconds| Duration::from_secs(seconds).min(RETRY_AFTER_MAX)),
        location: text(answer.headers(), &LOCATION),
    };
    let success = response.is_success();
    let max = if success {
        max_bytes
    } else {
        max_bytes.min(ERROR_BODY_BYTES_MAX)
    };
    loop {
        let chunk = match answer.chunk().await {
            Ok(Some(chunk)) => chunk,
            Ok(None) => return Ok(response),
            // Why: the status of an error says what its body can only explain.
            Err(_) if !success => {
                response.body_is_cut = true;
                return Ok(response);
            }
            Err(error) => return Err(failure_in_body(&error)),
        };
        let room = usize::try_from(max).unwrap_or(usize::MAX) - response.body.len();
        if chunk.len() > room {
            if success {
                return Err(SendError::TooLarge { max });
            }
            response.body.extend(chunk.iter().take(room));
            response.body_is_cut = true;
            return Ok(response);
        }
        response.body.extend_from_slice(&chunk);
    }
}

fn text(headers: &HeaderMap, name: &HeaderName) -> Option<String> {
    headers.get(name)?.to_str().ok().map(str::to_owned)
}

fn failure(error: &reqwest::Error) -> SendError {
    let reason = innermost(error);
    if error.is_connect() || error.is_builder() {
        SendError::NotSent { reason }
    } else if error.is_timeout() {
        SendError::TimedOut
    } else {
        SendError::Lost { reason }
    }
}

fn failure_in_body(error: &reqwest::Error) -> SendError {
    if error.is_timeout() {
        return SendError::TimedOut;
    }
    let reason = innermost(error);
    SendError::Lost { reason }
}

/// The innermost words of an error: the outer ones repeat the address, which may hold a secret.
pub(crate) fn innermost(error: &dyn std::error::Error) -> String {
    let mut inner = error;
    while let Some(source) = inner.source() {
        inner = source;
    }
    inner.to_string()
}
