//! HTTP: named operations of one server.
//!
//! Owns the tool kind `http`: what is sent is the operator's template filled with the arguments,
//! and nothing else. Follows no redirect and repeats nothing. INVARIANT: an argument can fill a
//! place in the path, query, headers or body; it cannot add one, nor change the host.
//!
//! Mapping (class × landing); a read is told the same, though nothing hangs on its landing:
//!
//! | what happened | class | landing |
//! |---|---|---|
//! | 2xx with a body that can be read | `ok` | happened |
//! | 2xx with a body that is no JSON, or larger than `max_bytes` | `output_invalid` | happened |
//! | the request cannot be built from the arguments | `invalid_arguments` | none |
//! | a secret is missing: the run pauses and names it | `unavailable` | none |
//! | no connection: nothing was sent | `unavailable` | none |
//! | 400, 405, 411, 413, 414, 415, 422, 431 | `invalid_arguments` | none |
//! | 401, 402, 403, 407, 451 | `permission_denied` | none |
//! | 404, 410 | `not_found` | none |
//! | 409, 412, 423, 428 | `conflict` | none |
//! | 429 | `rate_limited` | none |
//! | any other 4xx | `invalid_arguments` | unknown |
//! | 408, 504 | `timeout` | unknown |
//! | any other 5xx | `unavailable` | unknown |
//! | a redirect, or any other status | `output_invalid` | unknown |
//! | the time is over after something was sent | `timeout` | unknown |
//! | the connection is lost after something was sent | `unavailable` | unknown |
//!
//! `errors = "no_effect"` makes the landing `none` wherever a status of 400 or more was received.

use std::path::PathBuf;
use std::sync::{Arc, OnceLock};

use provost_plan::catalog::KeyCarrier;
use provost_plan::duration;
use provost_run::outcome::{Class, Landing, Reply};
use provost_wire::http::{
    Auth, BaseUrl, Client, ClientError, Request as WireRequest, Response, SendError,
};
use provost_wire::{Redactor, Secret, SecretName};
use serde_json::Value;

use crate::adapter::{Adapter, CallFuture};
use crate::config::{ResponseError, ResponseFormat};
use crate::fault::{Fault, Request, one_line};

mod settings;
mod status;
mod template;

pub(crate) use settings::HttpSettings;

use settings::{AuthSetting, Endpoint};
use template::RenderedRequest;

/// Most characters of a server's own words in a message.
const WORDS_CHARS_MAX: usize = 200;

/// The header of W3C that says where a request stands in a trace.
const TRACEPARENT: &str = "traceparent";
/// What a request asks for whose answer is read as JSON.
const JSON_FIRST: &str = "application/json, */*;q=0.1";

/// An open HTTP tool.
#[derive(Clone, Debug)]
pub(crate) struct Http {
    base: PathBuf,
    settings: Arc<HttpSettings>,
    client: Arc<OnceLock<Result<Client, ClientError>>>,
}

impl Http {
    /// Opens the tool; its secrets are read at each call, below the workspace at `base`.
    pub(crate) fn open(settings: &HttpSettings, base: PathBuf) -> Self {
        Self {
            base,
            settings: Arc::new(settings.clone()),
            client: Arc::default(),
        }
    }

    async fn exchange(&self, endpoint: &Endpoint, request: &Request) -> Result<Response, Fault> {
        let filled = self.fill(endpoint, request)?;
        let auth = self.settings.auth.as_ref();
        let secret = auth
            .map(|auth| {
                let name = auth.secret();
                name.resolve(&self.base)
                    .map_err(|error| Fault::missing_secret(name, &error))
            })
            .transpose()?;
        let client = self
            .client
            .get_or_init(|| Client::new(self.settings.base.clone()));
        let client = client
            .as_ref()
            .map_err(|error| Fault::no_effect(Class::Unavailable, error.to_string()))?;
        let sent = client.send(WireRequest {
            method: endpoint.method,
            path: filled.path,
            query: filled.query,
            headers: filled.headers,
            auth: auth
                .zip(secret.as_ref())
                .map(|(auth, secret)| auth.with(secret)),
            body: filled.body,
            timeout: request.timeout,
            max_bytes: request.operation.max_bytes,
        });
        sent.await.map_err(|error| self.send_fault(&error, request))
    }

    /// The request with its key, before anything is sent.
    fn fill(&self, endpoint: &Endpoint, request: &Request) -> Result<RenderedRequest, Fault> {
        let (args, carried) = request.place_key()?;
        let key_header = match carried {
            Some((KeyCarrier::Header(name), key)) => Some((name.clone(), key.to_owned())),
            // Why nothing: no such setting is read.
            _ => None,
        };
        let key = request.key.clone().map_or(Value::Null, Value::from);
        let mut filled = endpoint.template.fill(&Value::Object(args), &key)?;
        let mut headers = self.settings.headers.clone();
        headers.append(&mut filled.headers);
        headers.extend(key_header);
        let is_ours = |(name, _): &(String, String)| name.eq_ignore_ascii_case(TRACEPARENT);
        if let Some(place) = request.trace.filter(|_| self.settings.propagate) {
            headers.retain(|header| !is_ours(header));
            headers.push((TRACEPARENT.to_owned(), place.to_string()));
        }
        // Why: some services answer with XML unless they are asked for JSON.
        let asks = |(name, _): &(String, String)| name.eq_ignore_ascii_case("accept");
        if endpoint.answer == ResponseFormat::Json && !headers.iter().any(asks) {
            headers.push(("accept".to_owned(), JSON_FIRST.to_owned()));
        }
        filled.headers = headers;
        Ok(filled)
    }

    /// What an exchange without an answer means.
    fn send_fault(&self, error: &SendError, request: &Request) -> Fault {
        let base = &self.settings.base;
        match error {
            SendError::NotSent { reason } => {
                let message = format!("the request was not sent to `{base}`: {reason}");
                Fault::no_effect(Class::Unavailable, message)
            }
            SendError::TimedOut => {
                let time = duration::print(request.timeout);
                let message = format!("no whole answer from `{base}` within {time}");
                Fault::new(Class::Timeout, Landing::Unknown, message)
            }
            SendError::Lost { .. } => {
                Fault::new(Class::Unavailable, Landing::Unknown, error.to_string())
            }
            SendError::TooLarge { .. } => Fault::bad_output(error.to_string()),
        }
    }
}

impl Adapter for Http {
    fn trouble(&self) -> Option<String> {
        let name = self.settings.auth.as_ref()?.secret();
        let error = name.resolve(&self.base).err()?;
        Some(error.to_string())
    }

    fn base_url(&self) -> Option<&BaseUrl> {
        Some(&self.settings.base)
    }

    fn propagates(&self) -> bool {
        self.settings.propagate
    }

    fn perform<'a>(&'a self, request: &'a Request, redactor: &'a Redactor) -> CallFuture<'a> {
        Box::pin(async {
            let endpoint = request.find(&self.settings.endpoints)?;
            let mut response = self.exchange(endpoint, request).await?;
            // Why: before anything is cut short, since half a secret is not recognised.
            response.body = match response.body_is_cut {
                true => redactor.redact_cut(&response.body),
                false => redactor.redact(&response.body),
            };
            response.location = response.location.map(|text| redactor.redact_text(&text));
            Ok(reply_of(response, endpoint, request, redactor))
        })
    }
}

impl AuthSetting {
    fn with<'a>(&'a self, secret: &'a Secret) -> Auth<'a> {
        match self {
            Self::Bearer(_) => Auth::Bearer(secret),
            Self::Basic { user, .. } => Auth::Basic {
                user,
                password: secret,
            },
            Self::Header { name, .. } => Auth::Header {
                name,
                value: secret,
            },
        }
    }

    pub(crate) fn secret(&self) -> &SecretName {
        match self {
            Self::Bearer(secret) => secret,
            Self::Basic { password, .. } => password,
            Self::Header { secret, .. } => secret,
        }
    }
}

fn reply_of(
    response: Response,
    endpoint: &Endpoint,
    request: &Request,
    redactor: &Redactor,
) -> Reply {
    let media = media_type(&response.media);
    if response.is_success() {
        return match output(&response, endpoint.answer) {
            Ok(output) => Reply::ok(output, response.body, &media),
            Err(message) => {
                let mut reply = Reply::from(Fault::bad_output(message));
                reply.evidence = response.body;
                reply.media = media;
                reply
            }
        };
    }
    let (class, landing) = status::meaning(response.status);
    let proven = request.operation.errors_no_effect && response.status >= 400;
    let landing = if proven { Landing::None } else { landing };
    let mut reply = Reply::failed(class, landing, one_line(&words(&response, redactor)));
    reply.retry_after = response.retry_after;
    reply.evidence = response.body;
    reply.media = media;
    reply
}

fn output(response: &Response, answer: ResponseFormat) -> Result<Value, String> {
    answer.read(&response.body).map_err(|unread| match unread {
        ResponseError::NotText => "the answer is not text in UTF-8".to_owned(),
        ResponseError::NotJson(error) => format!(
            "the answer is not JSON (it says `{}`): {error}",
            media_type(&response.media)
        ),
    })
}

/// The status and, in short, what the server says about it.
fn words(response: &Response, redactor: &Redactor) -> String {
    let status = response.status;
    if let (300..400, Some(location)) = (status, &response.location) {
        return format!(
            "the server answered {status} and points to `{location}`, which is not followed; \
             correct `base_url` or `path`"
        );
    }
    let text = String::from_utf8_lossy(&response.body);
    let said = match serde_json::from_str::<Value>(&text) {
        Ok(value) => ["message", "error", "detail", "title"]
            .iter()
            .find_map(|name| match value.get(name) {
                Some(Value::String(text)) => Some(text.clone()),
                Some(Value::Object(inner)) => inner
                    .get("message")
                    .and_then(Value::as_str)
                    .map(str::to_owned),
                _ => None,
            })
            .unwrap_or_default(),
        Err(_) if response.media.starts_with("text/plain") => text.into_owned(),
        Err(_) => String::new(),
    };
    let said = redactor.redact_text(&said);
    let said = said.chars().take(WORDS_CHARS_MAX).collect::<String>();
    if said.trim().is_empty() {
        format!("the server answered {status}")
    } else {
        format!("the server answered {status}: {said}")
    }
}

/// A media type that is fit for a record.
fn media_type(given: &str) -> String {
    let plain = given
        .chars()
        .all(|c| c.is_ascii_alphanumeric() || "/+-._;= \"".contains(c));
    if given.is_empty() || !plain || given.len() > 100 {
        return "application/octet-stream".to_owned();
    }
    given.to_owned()
}
