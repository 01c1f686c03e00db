//! MCP: the tools of a server that somebody else wrote.
//!
//! Owns the tool kind `mcp`: one supervised process, started at the first call and again after it
//! died or hung. Believes nothing of the server: effects are the operator's, schemas are pinned.
//! INVARIANT: no call under another definition than the pinned one, and none without a deadline.
//!
//! Mapping (class × landing); a read is told the same unless it says otherwise:
//!
//! | what happened | class | landing |
//! |---|---|---|
//! | a result that can be read | `ok` | happened |
//! | a result larger than `max_bytes`, or against a schema | `output_invalid` | happened |
//! | a secret is missing: the run pauses and names it | `unavailable` | none |
//! | the server does not start, or does not list its tools | `unavailable` | none |
//! | it does so not in time | `timeout` | none |
//! | its list cannot be believed | `output_invalid` | none |
//! | the tool is not what is pinned, or not there | `drift` | none |
//! | `is_error`: by its words `rate_limited`, `permission_denied`, `invalid_arguments`, `not_found`, `timeout`, `unavailable`, else `conflict` | | unknown; of a read none |
//! | an error of the protocol | likewise, by its code | unknown; of a read none |
//! | an error that says the call was not understood | `invalid_arguments`, `not_found` | none |
//! | it wants to be told something first | `permission_denied` | unknown |
//! | no answer in time | `timeout` | unknown |
//! | it ended, or closed the connection | `unavailable` | unknown |
//! | a message larger than it may be, or no answer to this call | `output_invalid` | unknown |
//!
//! `errors = "no_effect"` makes the landing of every error that the server itself tells `none`.

use std::path::PathBuf;
use std::sync::Arc;

use provost_plan::catalog::{KeyCarrier, Operation};
use provost_plan::duration;
use provost_run::outcome::{Class, Landing, Reply};
use provost_wire::Redactor;
use provost_wire::process::command_lacks;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, InputRequiredResult, RequestMetaObject,
};
use rmcp::service::ServiceError;
use serde_json::{Map, Value};
use tokio::sync::Mutex;
use tokio::time::{Instant, timeout_at};

use crate::adapter::{Adapter, CallFuture, ToolSettings as _};
use crate::config::media_with_sandbox;
use crate::fault::{Fault, Request, one_line};

mod definition;
mod form;
mod pipe;
mod remote;
mod result;
mod session;
mod settings;
mod strict;
mod strict_http;

pub use definition::{Definition, DefinitionChange, DefinitionError, FIELDS, Listing, Listings};
#[cfg(test)]
pub(crate) use session::definition_of;
pub(crate) use settings::McpSettings;

use session::McpSession;
use settings::{ServerTool, ServerTransport};

/// An MCP server, running or not.
#[derive(Clone)]
pub(crate) struct Mcp {
    inner: Arc<Inner>,
}

struct Inner {
    base: PathBuf,
    settings: McpSettings,
    session: Mutex<Option<Arc<McpSession>>>,
}

impl std::fmt::Debug for Mcp {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Mcp")
            .field("settings", &self.inner.settings)
            .finish_non_exhaustive()
    }
}

impl Mcp {
    /// Opens the tool; nothing is started.
    pub(crate) fn open(settings: &McpSettings, base: PathBuf) -> Self {
        Self {
            inner: Arc::new(Inner {
                base,
                settings: settings.clone(),
                session: Mutex::default(),
            }),
        }
    }

    /// Asks the server what it can do.
    pub(crate) async fn listing(&self, time: std::time::Duration) -> Result<Listing, Fault> {
        let session = self.session(Instant::now() + time, time).await?;
        Ok(session.listing().await)
    }

    /// How the server differs from what is pinned of this operation, if it says so in time.
    pub(crate) async fn drift(&self, operation: &Operation) -> Option<String> {
        let short = operation
            .name
            .split_once('.')
            .map_or("", |(_, short)| short);
        let server_tool = self.inner.settings.operations.get(short)?;
        let deadline = Instant::now() + operation.timeout;
        let session = self.session(deadline, operation.timeout).await.ok()?;
        let held = timeout_at(deadline, session.check_pinned(operation, server_tool)).await;
        let fault = held
            .ok()?
            .err()
            .filter(|fault| fault.class == Class::Drift)?;
        Some(fault.message)
    }

    async fn exchange(
        &self,
        server_tool: &ServerTool,
        request: &Request,
        deadline: Instant,
        redactor: &Redactor,
    ) -> Result<Reply, Fault> {
        let mut params = params(server_tool, request)?;
        let answers = request
            .args
            .get(form::ANSWERS)
            .filter(|_| server_tool.answers);
        let answers = answers.and_then(Value::as_object);
        let session = self.session(deadline, request.timeout).await?;
        let held = session.check_pinned(&request.operation, server_tool);
        match timeout_at(deadline, held).await {
            Ok(Ok(())) => {}
            Ok(Err(fault)) => {
                if fault.class != Class::Drift {
                    self.retire(&session).await;
                }
                return Err(fault);
            }
            Err(_) => {
                self.retire(&session).await;
                return Err(not_listed_in_time(request.timeout));
            }
        }
        let response = loop {
            let call = session.call(params.clone(), answers);
            let response = match timeout_at(deadline, call).await {
                Ok(response) => response,
                Err(_) => {
                    self.retire(&session).await;
                    return Err(no_answer(&session, request));
                }
            };
            match response {
                // Why once: whoever asks again did not take the answer.
                Ok(CallToolResponse::InputRequired(wants)) if is_new(&params, &wants) => {
                    params = with_answers(params, &wants, answers, redactor)?;
                }
                other => break other,
            }
        };
        let operation = &request.operation;
        match response {
            Ok(CallToolResponse::Complete(result)) => {
                let mut reply = result::answered(&result, server_tool, operation, redactor);
                reply.media = media_with_sandbox(&reply.media, session.sandbox_level());
                Ok(with_question(reply, &session, redactor))
            }
            Ok(_) => Err(Fault::new(
                Class::PermissionDenied,
                Landing::Unknown,
                "the server wants to be told something before it goes on, which nobody does here",
            )),
            Err(ServiceError::McpError(error)) => Ok(result::refused(&error, operation, redactor)),
            Err(error) => {
                self.retire(&session).await;
                Err(call_fault(&error, &session).await)
            }
        }
    }

    /// The session, begun if there is none that can be spoken to.
    async fn session(
        &self,
        deadline: Instant,
        time: std::time::Duration,
    ) -> Result<Arc<McpSession>, Fault> {
        let begun = async {
            let mut kept = self.inner.session.lock().await;
            if let Some(session) = kept.as_ref().filter(|session| session.is_open()) {
                return Ok(Arc::clone(session));
            }
            *kept = None;
            let session = McpSession::start(&self.inner.settings, &self.inner.base).await?;
            Ok(Arc::clone(kept.insert(Arc::new(session))))
        };
        match timeout_at(deadline, begun).await {
            Ok(session) => session,
            Err(_) => Err(not_listed_in_time(time)),
        }
    }

    /// Lets nobody else use this session. Its process ends with the last call that still waits.
    async fn retire(&self, session: &Arc<McpSession>) {
        let mut kept = self.inner.session.lock().await;
        if kept.as_ref().is_some_and(|kept| Arc::ptr_eq(kept, session)) {
            *kept = None;
        }
    }
}

impl Adapter for Mcp {
    fn trouble(&self) -> Option<String> {
        let mut secrets = self.inner.settings.secrets().into_iter();
        secrets.find_map(|name| Some(name.resolve(&self.inner.base).err()?.to_string()))
    }

    fn defects(&self) -> Vec<String> {
        let ServerTransport::Process {
            command, cwd, env, ..
        } = &self.inner.settings.transport
        else {
            return Vec::new();
        };
        let dir = match cwd {
            Some(cwd) => self.inner.base.join(cwd),
            None => self.inner.base.clone(),
        };
        let lack = command_lacks(command, env, &dir);
        let said = |what| format!("its server cannot be started: {what}");
        lack.map(said).into_iter().collect()
    }

    fn perform<'a>(&'a self, request: &'a Request, redactor: &'a Redactor) -> CallFuture<'a> {
        Box::pin(async {
            let server_tool = request.find(&self.inner.settings.operations)?;
            let deadline = Instant::now() + request.timeout;
            let exchanged = self
                .exchange(server_tool, request, deadline, redactor)
                .await;
            exchanged.map_err(|mut fault| {
                // Why: before anything is cut short, since half a secret is not recognised.
                fault.message = redactor.redact_text(&fault.message);
                fault
            })
        })
    }

    fn as_server(&self) -> Option<&Mcp> {
        Some(self)
    }
}

/// The call with its key.
fn params(server_tool: &ServerTool, request: &Request) -> Result<CallToolRequestParams, Fault> {
    let (mut args, carried) = request.place_key()?;
    if server_tool.answers {
        args.remove(form::ANSWERS);
    }
    let mut params = CallToolRequestParams::new(server_tool.tool.clone()).with_arguments(args);
    if let Some((KeyCarrier::Meta(name), key)) = carried {
        let mut meta = RequestMetaObject::new();
        meta.insert(name.clone(), key.into());
        params.meta = Some(meta);
    }
    Ok(params)
}

fn not_listed_in_time(time: std::time::Duration) -> Fault {
    let time = duration::print(time);
    let message = format!("the server did not say what it can do within {time}");
    Fault::no_effect(Class::Timeout, message)
}

fn no_answer(session: &McpSession, request: &Request) -> Fault {
    let time = duration::print(request.timeout);
    let far = session.progress();
    let far = far.map(|far| format!("; it said it had come to {far}"));
    let message = format!("no answer within {time}{}", far.unwrap_or_default());
    Fault::new(Class::Timeout, Landing::Unknown, message)
}

/// What a call without an answer means, once it was sent.
async fn call_fault(error: &ServiceError, session: &McpSession) -> Fault {
    let unknown = |class, message: String| Fault::new(class, Landing::Unknown, message);
    if let Some(max) = session.too_large() {
        let message = format!("the server sent a message of more than {max} bytes");
        return unknown(Class::OutputInvalid, message);
    }
    if let Some(fault) = remote::failed(error) {
        return fault;
    }
    match error {
        ServiceError::TransportClosed | ServiceError::TransportSend(_) => {
            let said = session.last_stderr_lines().await;
            let said = said.map(|said| format!("; its last words: {said}"));
            let said = said.unwrap_or_default();
            let message = format!("the server ended before it answered{said}");
            unknown(Class::Unavailable, message)
        }
        _ => {
            let message = "what the server sent is no answer to the call".to_owned();
            unknown(Class::OutputInvalid, message)
        }
    }
}

/// Whether a server wants to be told something, and was not told before.
fn is_new(params: &CallToolRequestParams, wants: &InputRequiredResult) -> bool {
    let requests = wants.input_requests.as_ref();
    params.input_responses.is_none() && requests.is_some_and(|requests| !requests.is_empty())
}

/// The same call with what its server wants to be told first.
fn with_answers(
    params: CallToolRequestParams,
    wants: &InputRequiredResult,
    answers: Option<&Map<String, Value>>,
    redactor: &Redactor,
) -> Result<CallToolRequestParams, Fault> {
    let requests = wants.input_requests.clone().unwrap_or_default();
    let responses = form::fill_all(&requests, answers).map_err(|unanswered| {
        let message = question(&unanswered, redactor);
        Fault::new(Class::PermissionDenied, Landing::Unknown, message)
    })?;
    let mut params = params.with_input_responses(responses);
    params.request_state.clone_from(&wants.request_state);
    Ok(params)
}

fn question(unanswered: &form::UnansweredForm, redactor: &Redactor) -> String {
    let asked = redactor.redact_text(&unanswered.message);
    let why = redactor.redact_text(&unanswered.why);
    format!("the server asked a person, which is declined here (“{asked}”; {why})")
}

/// A failure after a question to a person that nobody answered is a want of that answer.
fn with_question(mut reply: Reply, session: &McpSession, redactor: &Redactor) -> Reply {
    let Some(asked) = session.asked().filter(|_| reply.class != Class::Ok) else {
        return reply;
    };
    let said = reply.message.take().unwrap_or_default();
    let asked = question(&asked, redactor);
    reply.class = Class::PermissionDenied;
    reply.message = Some(one_line(&format!("{asked}; {said}")));
    reply
}
