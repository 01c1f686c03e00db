//! The client of streamable HTTP, which reads every answer to a call strictly.
//!
//! Owns the posts that list and call tools, since the library reads such an answer before anybody
//! else sees its text; leaves all other requests to the library. Follows no redirect, and repeats
//! nothing. INVARIANT: no message is longer than it may be, and the call whose answer is too long
//! or says two things ends.

use std::collections::HashMap;
use std::sync::Arc;

use bytes::Bytes;
use futures::{Stream, StreamExt as _, stream};
use provost_run::outcome::Landing;
use provost_wire::http::{
    StreamClient, StreamError, StreamHeaderName, StreamHeaderValue, StreamResponse,
};
use rmcp::model::{ClientJsonRpcMessage, ClientRequest, RequestId, ServerJsonRpcMessage};
use rmcp::transport::common::client_side_sse::BoxedSseResponse;
use rmcp::transport::streamable_http_client::{
    AuthRequiredError, HttpStatusError, InsufficientScopeError, StreamableHttpClient,
    StreamableHttpError, StreamableHttpPostResponse,
};
use serde_json::Value;
use sse_stream::SseStream;

use super::strict;
use crate::limits::MCP_ERROR_BYTES_MAX;

type Headers = HashMap<StreamHeaderName, StreamHeaderValue>;
type Failure = StreamableHttpError<StreamError>;

const JSON: &str = "application/json";
const EVENTS: &str = "text/event-stream";
const SESSION: &str = "mcp-session-id";

/// A client that reads strictly.
#[derive(Clone, Debug)]
pub(super) struct StrictClient {
    inner: StreamClient,
}

/// One post, and what may come back.
struct Post {
    uri: Arc<str>,
    message: ClientJsonRpcMessage,
    session: Option<Arc<str>>,
    token: Option<String>,
    headers: Headers,
    most: usize,
}

impl StrictClient {
    /// The same client, reading strictly.
    pub(super) fn new(inner: StreamClient) -> Self {
        Self { inner }
    }

    async fn call(
        &self,
        id: &RequestId,
        post: Post,
    ) -> Result<StreamableHttpPostResponse, Failure> {
        let with_session = post.session.is_some();
        let mut request = self
            .inner
            .post(post.uri.as_ref())
            .header("accept", format!("{EVENTS}, {JSON}"));
        if let Some(token) = post.token {
            request = request.bearer_auth(token);
        }
        for (name, value) in post.headers {
            request = request.header(name, value);
        }
        if let Some(session) = post.session {
            request = request.header(SESSION, session.as_ref());
        }
        let response = request.json(&post.message).send().await?;
        let session = header(&response, SESSION);
        let media = header(&response, "content-type").unwrap_or_default();
        let status = response.status();
        if !status.is_success() {
            let message = refused(response, with_session, media.starts_with(JSON)).await?;
            return Ok(StreamableHttpPostResponse::Json(message, session));
        }
        if matches!(status.as_u16(), 202 | 204) {
            return Ok(StreamableHttpPostResponse::Accepted);
        }
        if media.starts_with(EVENTS) {
            let events = of_call(response, id, post.most);
            return Ok(StreamableHttpPostResponse::Sse(events, session));
        }
        if !media.starts_with(JSON) {
            return Err(StreamableHttpError::UnexpectedContentType(Some(media)));
        }
        let message = match body(response, post.most).await? {
            Some(body) => message(&body)?,
            None => message(too_long(id, post.most).as_bytes())?,
        };
        Ok(StreamableHttpPostResponse::Json(message, session))
    }
}

/// A message, unless it has to be replaced.
fn message(body: &[u8]) -> Result<ServerJsonRpcMessage, Failure> {
    let replacement = strict::replacement(body);
    let read = replacement.as_ref().map_or(body, |text| text.as_bytes());
    serde_json::from_slice(read)
        .map_err(|_| Failure::UnexpectedServerResponse("no message of the protocol".into()))
}

/// What an answer without success says: an error of the protocol, or why there is none.
async fn refused(
    response: StreamResponse,
    with_session: bool,
    is_json: bool,
) -> Result<ServerJsonRpcMessage, Failure> {
    let (status, retry_after) = (response.status(), header(&response, "retry-after"));
    match (status.as_u16(), header(&response, "www-authenticate")) {
        (401, Some(challenge)) => {
            return Err(Failure::AuthRequired(AuthRequiredError::new(challenge)));
        }
        (403, Some(challenge)) => {
            let error = InsufficientScopeError::new(challenge, None);
            return Err(Failure::InsufficientScope(error));
        }
        (404, _) if with_session => return Err(Failure::SessionExpired),
        _ => {}
    }
    let busy = status.as_u16() == 429;
    let failed = || HttpStatusError::new(status.as_u16(), retry_after);
    if busy || (status.is_server_error() && !is_json) {
        return Err(failed().into());
    }
    let read = body(response, MCP_ERROR_BYTES_MAX).await;
    let text = read.ok().flatten().unwrap_or_default();
    let challenged = matches!(status.as_u16(), 401 | 403);
    if is_json
        && !challenged
        && let Ok(message @ ServerJsonRpcMessage::Error(_)) = message(&text)
    {
        return Ok(message);
    }
    if status.is_server_error() {
        return Err(failed().into());
    }
    let text = String::from_utf8_lossy(&text);
    let said = format!("HTTP {status}: {text}");
    Err(Failure::UnexpectedServerResponse(said.into()))
}

/// The whole body; none if it is longer than it may be.
async fn body(mut response: StreamResponse, most: usize) -> Result<Option<Vec<u8>>, StreamError> {
    let mut body = Vec::new();
    while let Some(part) = response.chunk().await? {
        body.extend_from_slice(&part);
        if body.len() > most {
            return Ok(None);
        }
    }
    Ok(Some(body))
}

fn header(response: &StreamResponse, name: &str) -> Option<String> {
    let value = response.headers().get(name)?;
    Some(String::from_utf8_lossy(value.as_bytes()).into_owned())
}

/// The messages of a stream, each as it may be handed on.
fn strict(events: BoxedSseResponse) -> BoxedSseResponse {
    let strict = events.map(|event| {
        let mut event = event?;
        let data = event.data.as_ref();
        let replacement = data.and_then(|data| strict::replacement(data.as_bytes()));
        event.data = replacement.or(event.data);
        Ok(event)
    });
    strict.boxed()
}

/// The messages of the stream that answers a call; one that is too long ends the call.
fn of_call(response: StreamResponse, id: &RequestId, most: usize) -> BoxedSseResponse {
    let over = too_long(id, most);
    let bytes = bounded(response.bytes_stream(), most);
    let events = SseStream::from_bytes_stream(bytes).map(move |event| match event {
        Err(sse_stream::Error::Body(why)) if is_too_long(&*why) => Ok(sse_stream::Sse {
            data: Some(over.clone()),
            ..sse_stream::Sse::default()
        }),
        other => other,
    });
    strict(events.boxed())
}

/// Why a stream ends before its end.
#[derive(Debug, thiserror::Error)]
enum StreamEnd {
    #[error("an event is too large")]
    TooLong,
    #[error(transparent)]
    Lost(#[from] StreamError),
}

fn is_too_long(why: &(dyn std::error::Error + 'static)) -> bool {
    matches!(why.downcast_ref(), Some(StreamEnd::TooLong))
}

fn too_long(id: &RequestId, most: usize) -> String {
    let id = serde_json::to_value(id).unwrap_or(Value::Null);
    let why = format!("the server sent a message of more than {most} bytes");
    strict::refusal(&id, &why, Landing::Unknown)
}

/// The bytes of a stream, up to an event that is too long: with an empty line a new one begins.
fn bounded(
    bytes: impl Stream<Item = Result<Bytes, StreamError>> + Send + 'static,
    most: usize,
) -> impl Stream<Item = Result<Bytes, StreamEnd>> + Send + 'static {
    let begin = (bytes.boxed(), Some(EventSize::default()));
    stream::unfold(begin, move |(mut bytes, size)| async move {
        let mut size = size?;
        match bytes.next().await? {
            Ok(part) if size.largest(&part) > most => {
                Some((Err(StreamEnd::TooLong), (bytes, None)))
            }
            Ok(part) => Some((Ok(part), (bytes, Some(size)))),
            Err(error) => Some((Err(error.into()), (bytes, None))),
        }
    })
}

/// How many bytes the event has that is being read.
#[derive(Debug, Default)]
struct EventSize {
    bytes: usize,
    /// Whether nothing stands in the line yet.
    line_is_empty: bool,
}

impl EventSize {
    /// The most bytes that an event has come to within this part of the stream.
    fn largest(&mut self, part: &[u8]) -> usize {
        let mut largest = 0;
        for byte in part {
            match byte {
                b'\n' if self.line_is_empty => self.bytes = 0,
                b'\n' => self.line_is_empty = true,
                b'\r' => {}
                _ => self.line_is_empty = false,
            }
            self.bytes += 1;
            largest = largest.max(self.bytes);
        }
        largest
    }
}

impl StreamableHttpClient for StrictClient {
    type Error = StreamError;

    async fn post_message(
        &self,
        uri: Arc<str>,
        message: ClientJsonRpcMessage,
        session: Option<Arc<str>>,
        token: Option<String>,
        headers: Headers,
    ) -> Result<StreamableHttpPostResponse, Failure> {
        let inner = &self.inner;
        inner
            .post_message(uri, message, session, token, headers)
            .await
    }

    async fn post_message_with_max_sse_event_size(
        &self,
        uri: Arc<str>,
        message: ClientJsonRpcMessage,
        session: Option<Arc<str>>,
        token: Option<String>,
        headers: Headers,
        most: usize,
    ) -> Result<StreamableHttpPostResponse, Failure> {
        let id = match &message {
            ClientJsonRpcMessage::Request(request) => match &request.request {
                ClientRequest::CallToolRequest(_) | ClientRequest::ListToolsRequest(_) => {
                    Some(request.id.clone())
                }
                _ => None,
            },
            _ => None,
        };
        let Some(id) = id else {
            let inner = &self.inner;
            return inner
                .post_message_with_max_sse_event_size(uri, message, session, token, headers, most)
                .await;
        };
        let post = Post {
            uri,
            message,
            session,
            token,
            headers,
            most,
        };
        self.call(&id, post).await
    }

    async fn delete_session(
        &self,
        uri: Arc<str>,
        session: Arc<str>,
        token: Option<String>,
        headers: Headers,
    ) -> Result<(), Failure> {
        self.inner
            .delete_session(uri, session, token, headers)
            .await
    }

    async fn get_stream(
        &self,
        uri: Arc<str>,
        session: Option<Arc<str>>,
        last_event: Option<String>,
        token: Option<String>,
        headers: Headers,
    ) -> Result<BoxedSseResponse, Failure> {
        let inner = &self.inner;
        let events = inner.get_stream(uri, session, last_event, token, headers);
        Ok(strict(events.await?))
    }

    async fn get_stream_with_max_sse_event_size(
        &self,
        uri: Arc<str>,
        session: Option<Arc<str>>,
        last_event: Option<String>,
        token: Option<String>,
        headers: Headers,
        most: usize,
    ) -> Result<BoxedSseResponse, Failure> {
        let inner = &self.inner;
        let events = inner
            .get_stream_with_max_sse_event_size(uri, session, last_event, token, headers, most);
        Ok(strict(events.await?))
    }
}
