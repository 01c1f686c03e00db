//! A scripted model server, on the wires of OpenAI, Anthropic and Gemini.
//!
//! Owns a queue of replies and a ledger of requests. Thinks nothing up: what it answers, a script
//! said, in order or to a text that the request holds. INVARIANT: every request to a model leaves
//! one entry in the ledger before its answer leaves, a delayed one included.

use std::collections::VecDeque;
use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use axum::extract::{Path, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Json, Router};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::sync::oneshot;

/// One scripted reply.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Scripted {
    /// A text that a request holds to which this is the answer, as often as it is asked; without
    /// it, it answers once, in its turn.
    pub asked: Option<String>,
    /// What the model says.
    pub text: Option<String>,
    /// The same as a JSON value: a reply of a planner, mostly.
    pub json: Option<Value>,
    /// What comes before anything else, in milliseconds.
    pub delay_ms: u64,
    /// Another status than 200.
    pub status: Option<u16>,
    /// The header `Retry-After`, in seconds.
    pub retry_after: Option<u64>,
    /// Whether the answer is cut off at the most tokens.
    pub cut: bool,
    /// What the model says in place of an answer.
    pub refusal: Option<String>,
    /// A body that is no answer of the protocol, as it is.
    pub raw: Option<String>,
    /// Tokens sent, kept and received; none are counted if there are none.
    pub tokens: Option<[u64; 3]>,
}

impl Scripted {
    /// A reply that is this value.
    #[must_use]
    pub fn json(value: Value) -> Self {
        Self {
            json: Some(value),
            tokens: Some([1_000, 600, 200]),
            ..Self::default()
        }
    }

    /// A reply that is this text.
    #[must_use]
    pub fn text(text: &str) -> Self {
        Self {
            text: Some(text.to_owned()),
            tokens: Some([1_000, 600, 200]),
            ..Self::default()
        }
    }

    /// An answer with this status and nothing to read.
    #[must_use]
    pub fn status(status: u16) -> Self {
        Self {
            status: Some(status),
            ..Self::default()
        }
    }

    fn said(&self) -> String {
        match (&self.json, &self.text) {
            (Some(value), _) => value.to_string(),
            (None, text) => text.clone().unwrap_or_default(),
        }
    }
}

/// One request, as it came.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Asked {
    /// The path.
    pub path: String,
    /// The key it came with.
    pub key: String,
    /// The body.
    pub body: Value,
}

/// The queue and the ledger.
#[derive(Debug, Default)]
pub struct Model {
    script: Mutex<VecDeque<Scripted>>,
    ledger: Mutex<Vec<Asked>>,
}

impl Model {
    /// Adds replies at the end.
    pub fn add(&self, replies: impl IntoIterator<Item = Scripted>) {
        let mut script = self.script.lock().unwrap_or_else(PoisonError::into_inner);
        script.extend(replies);
    }

    /// The requests so far.
    #[must_use]
    pub fn ledger(&self) -> Vec<Asked> {
        let ledger = self.ledger.lock().unwrap_or_else(PoisonError::into_inner);
        ledger.clone()
    }

    fn next(&self, asked: Asked) -> Option<Scripted> {
        let mut ledger = self.ledger.lock().unwrap_or_else(PoisonError::into_inner);
        let sent = asked.body.to_string();
        ledger.push(asked);
        drop(ledger);
        let mut script = self.script.lock().unwrap_or_else(PoisonError::into_inner);
        let fits = |reply: &&Scripted| reply.asked.as_ref().is_some_and(|text| sent.contains(text));
        if let Some(reply) = script.iter().find(fits) {
            return Some(reply.clone());
        }
        let turn = script.iter().position(|reply| reply.asked.is_none())?;
        script.remove(turn)
    }
}

/// Serves `model` on `listener` until the future is dropped.
pub async fn serve(listener: TcpListener, model: Arc<Model>) -> io::Result<()> {
    let router = Router::new()
        .route("/ledger", get(ledger))
        .route("/script", post(script))
        .route("/v1/chat/completions", post(openai))
        .route("/v1/messages", post(anthropic))
        .route("/v1/models/{call}", post(gemini))
        .with_state(model);
    axum::serve(listener, router).await
}

async fn ledger(State(model): State<Arc<Model>>) -> Json<Vec<Asked>> {
    Json(model.ledger())
}

async fn script(State(model): State<Arc<Model>>, Json(replies): Json<Vec<Scripted>>) {
    model.add(replies);
}

async fn openai(
    State(model): State<Arc<Model>>,
    headers: HeaderMap,
    Json(body): Json<Value>,
) -> Response {
    let key = of(&headers, "authorization").replace("Bearer ", "");
    answer(&model, "/v1/chat/completions", key, body, openai_body).await
}

async fn anthropic(
    State(model): State<Arc<Model>>,
    headers: HeaderMap,
    Json(body): Json<Value>,
) -> Response {
    let key = of(&headers, "x-api-key");
    answer(&model, "/v1/messages", key, body, anthropic_body).await
}

async fn gemini(
    State(model): State<Arc<Model>>,
    Path(call): Path<String>,
    headers: HeaderMap,
    Json(body): Json<Value>,
) -> Response {
    let key = of(&headers, "x-goog-api-key");
    let path = format!("/v1/models/{call}");
    answer(&model, &path, key, body, gemini_body).await
}

fn of(headers: &HeaderMap, name: &str) -> String {
    let value = headers.get(name).and_then(|value| value.to_str().ok());
    value.unwrap_or_default().to_owned()
}

async fn answer(
    model: &Model,
    path: &str,
    key: String,
    body: Value,
    form: fn(&Scripted, &Value) -> Value,
) -> Response {
    let asked = Asked {
        path: path.to_owned(),
        key,
        body: body.clone(),
    };
    let Some(reply) = model.next(asked) else {
        let error = json!({ "error": { "message": "the script is at its end" } });
        return (StatusCode::NOT_FOUND, Json(error)).into_response();
    };
    tokio::time::sleep(Duration::from_millis(reply.delay_ms)).await;
    let status = reply
        .status
        .and_then(|code| StatusCode::from_u16(code).ok());
    let mut response = match (&reply.raw, status) {
        (Some(raw), _) => {
            let json = [(header::CONTENT_TYPE, "application/json")];
            (json, raw.clone()).into_response()
        }
        (None, Some(_)) => {
            let said = reply.text.as_deref().unwrap_or("not now");
            Json(json!({ "error": { "message": said } })).into_response()
        }
        (None, None) => Json(form(&reply, &body)).into_response(),
    };
    if let Some(status) = status {
        *response.status_mut() = status;
    }
    if let Some(seconds) = reply.retry_after {
        let headers = response.headers_mut();
        headers.insert(header::RETRY_AFTER, seconds.into());
    }
    response
}

fn openai_body(reply: &Scripted, request: &Value) -> Value {
    let tool = request.pointer("/tools/0/function/name");
    let message = match (&reply.refusal, tool) {
        (Some(refusal), _) => json!({ "role": "assistant", "content": null, "refusal": refusal }),
        (None, Some(name)) => json!({ "role": "assistant", "content": null, "tool_calls": [{
            "id": "call_1", "type": "function",
            "function": { "name": name, "arguments": reply.said() },
        }] }),
        (None, None) => json!({ "role": "assistant", "content": reply.said() }),
    };
    let finish = match (reply.cut, tool) {
        (true, _) => "length",
        (false, Some(_)) => "tool_calls",
        (false, None) => "stop",
    };
    let mut body = json!({
        "id": "chatcmpl-1", "object": "chat.completion", "created": 0,
        "model": request.get("model"),
        "choices": [{ "index": 0, "message": message, "finish_reason": finish }],
    });
    if let (Some([sent, kept, received]), Some(body)) = (reply.tokens, body.as_object_mut()) {
        let usage = json!({
            "prompt_tokens": sent, "completion_tokens": received,
            "total_tokens": sent + received,
            "prompt_tokens_details": { "cached_tokens": kept },
        });
        body.insert("usage".to_owned(), usage);
    }
    body
}

fn anthropic_body(reply: &Scripted, request: &Value) -> Value {
    let tool = request.pointer("/tools/0/name");
    let content = match tool {
        Some(name) => json!([{
            "type": "tool_use", "id": "toolu_1", "name": name,
            "input": serde_json::from_str::<Value>(&reply.said()).unwrap_or_default(),
        }]),
        None => {
            let said = reply.refusal.clone().unwrap_or_else(|| reply.said());
            json!([{ "type": "text", "text": said }])
        }
    };
    let stop = match (reply.cut, &reply.refusal, tool) {
        (true, ..) => "max_tokens",
        (false, Some(_), _) => "refusal",
        (false, None, Some(_)) => "tool_use",
        (false, None, None) => "end_turn",
    };
    let [sent, kept, received] = reply.tokens.unwrap_or_default();
    json!({
        "id": "msg_1", "type": "message", "role": "assistant",
        "model": request.get("model"), "content": content, "stop_reason": stop,
        "stop_sequence": null,
        "usage": {
            "input_tokens": sent - kept.min(sent), "cache_read_input_tokens": kept,
            "cache_creation_input_tokens": 0, "output_tokens": received,
        },
    })
}

fn gemini_body(reply: &Scripted, request: &Value) -> Value {
    let tool = request.pointer("/tools/0/functionDeclarations/0/name");
    let part = match tool {
        Some(name) => json!({ "functionCall": {
            "name": name,
            "args": serde_json::from_str::<Value>(&reply.said()).unwrap_or_default(),
        } }),
        None => json!({ "text": reply.refusal.clone().unwrap_or_else(|| reply.said()) }),
    };
    let finish = match (reply.cut, &reply.refusal) {
        (true, _) => "MAX_TOKENS",
        (false, Some(_)) => "SAFETY",
        (false, None) => "STOP",
    };
    let [sent, kept, received] = reply.tokens.unwrap_or_default();
    json!({
        "candidates": [{
            "content": { "role": "model", "parts": [part] }, "finishReason": finish, "index": 0,
        }],
        "modelVersion": "scripted-1",
        "usageMetadata": {
            "promptTokenCount": sent, "cachedContentTokenCount": kept,
            "candidatesTokenCount": received, "totalTokenCount": sent + received,
        },
    })
}

/// A server inside the calling process; dropping it stops it.
pub struct Local {
    address: SocketAddr,
    model: Arc<Model>,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<io::Result<()>>>,
}

impl Local {
    /// Starts a server with this script on a free loopback port.
    pub fn start(script: impl IntoIterator<Item = Scripted>) -> io::Result<Self> {
        let listener = std::net::TcpListener::bind(("127.0.0.1", 0))?;
        listener.set_nonblocking(true)?;
        let address = listener.local_addr()?;
        let model = Arc::new(Model::default());
        model.add(script);
        let (stop, stopped) = oneshot::channel::<()>();
        let served = Arc::clone(&model);
        let thread = std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread()
                .enable_all()
                .build()?;
            runtime.block_on(async {
                let listener = TcpListener::from_std(listener)?;
                tokio::select! {
                    served = serve(listener, served) => served,
                    _ = stopped => Ok(()),
                }
            })
        });
        Ok(Self {
            address,
            model,
            stop: Some(stop),
            thread: Some(thread),
        })
    }

    /// The base URL, with the version of the protocol.
    #[must_use]
    pub fn url(&self) -> String {
        format!("http://{}/v1", self.address)
    }

    /// The queue and the ledger.
    #[must_use]
    pub fn model(&self) -> &Model {
        &self.model
    }
}

impl Drop for Local {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            // Why: a failure of the thread has shown itself to the caller as a refused call.
            let _ended = thread.join();
        }
    }
}
