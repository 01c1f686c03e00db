//! One session with a server: its process, what it listed, and what it told on the way.
//!
//! Owns the start, the handshake and the listing, page by page. Offers neither sampling nor roots,
//! and of elicitation forms alone, where an operation may answer them. INVARIANT: a session that is
//! dropped leaves no process behind, a tool is called only under a listing that was just compared
//! with what is pinned, and the answers of one call fill no form of another.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use provost_plan::catalog::Operation;
use provost_run::outcome::Class;
use provost_wire::EnvValue;
use provost_wire::process::{SandboxLevel, ServerCommand, ServerProcess};
use rmcp::handler::client::ClientHandler;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, ClientCapabilities, ClientConfig, ElicitRequestParams,
    ElicitResult, ElicitationAction, ElicitationCapability, ErrorData, FormElicitationCapability,
    Implementation, PaginatedRequestParams, ProgressNotificationParam, ProtocolVersion, Tool,
};
use rmcp::service::{
    ClientCacheConfig, ClientInitializeError, ClientLifecycleMode, ClientServiceExt as _,
    NotificationContext, RequestContext, RoleClient, RunningService, ServiceError,
};
use serde_json::{Map, Value};

use super::definition::{Definition, Listing};
use super::form::{self, UnansweredForm};
use super::pipe::MessageReader;
use super::remote;
use super::settings::{McpSettings, Protocol, ServerTool, ServerTransport};
use super::strict;
use crate::fault::Fault;
use crate::limits::{
    MCP_LISTING_AGE_MAX, MCP_MESSAGE_BYTES_BESIDE, MCP_PAGES_MAX, MCP_RESULT_FACTOR, MCP_TOOLS_MAX,
};

/// A server that answers.
pub(super) struct McpSession {
    service: RunningService<RoleClient, SessionHandler>,
    /// The process, if it is one of this machine.
    server: Option<ServerProcess>,
    over: Arc<AtomicBool>,
    message_bytes_max: usize,
    listed: tokio::sync::Mutex<CachedListing>,
}

/// The tools as they were listed last.
struct CachedListing {
    listing: Listing,
    at: Instant,
}

/// What the server told without being asked.
#[derive(Clone, Debug, Default)]
pub(super) struct SessionHandler {
    state: Arc<Mutex<HandlerState>>,
    /// Whether any operation of the server may answer a form.
    forms: bool,
}

#[derive(Debug, Default)]
struct HandlerState {
    changed: bool,
    progress: Option<String>,
    asked: Option<UnansweredForm>,
    /// How many calls wait for their result.
    open_calls: usize,
    /// Whether a call was given up: the server may go on with it, and ask.
    has_stray_call: bool,
    /// The answers of the one call in flight; none while there are more or were, since a form over
    /// the session does not say to which call it belongs.
    answers: Option<Map<String, Value>>,
}

/// One call in flight.
struct CallGuard<'a> {
    handler: &'a SessionHandler,
    ended: bool,
}

impl Drop for CallGuard<'_> {
    fn drop(&mut self) {
        self.handler.with(|state| {
            state.open_calls = state.open_calls.saturating_sub(1);
            state.has_stray_call |= !self.ended;
            state.answers = None;
        });
    }
}

impl SessionHandler {
    fn new(forms: bool) -> Self {
        let state = Arc::default();
        Self { state, forms }
    }

    /// A call with these answers sets out.
    fn begin_call(&self, answers: Option<&Map<String, Value>>) -> CallGuard<'_> {
        self.with(|state| {
            state.progress = None;
            state.asked = None;
            state.open_calls += 1;
            let alone = state.open_calls == 1 && !state.has_stray_call;
            state.answers = answers.filter(|_| alone).cloned();
        });
        CallGuard {
            handler: self,
            ended: false,
        }
    }

    fn with<T>(&self, look: impl FnOnce(&mut HandlerState) -> T) -> T {
        look(&mut self.state.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl ClientHandler for SessionHandler {
    fn get_info(&self) -> ClientConfig {
        let own = Implementation::new("provost", env!("CARGO_PKG_VERSION"));
        let mut can = ClientCapabilities::default();
        if self.forms {
            let form = FormElicitationCapability::new();
            can.elicitation = Some(ElicitationCapability::new().with_form(form));
        }
        ClientConfig::new(can, own)
    }

    async fn create_elicitation(
        &self,
        request: ElicitRequestParams,
        _: RequestContext<RoleClient>,
    ) -> Result<ElicitResult, ErrorData> {
        let filled = self.with(|state| form::fill(&request, state.answers.as_ref()));
        Ok(match filled {
            Ok(content) => ElicitResult::new(ElicitationAction::Accept).with_content(content),
            Err(unanswered) => {
                self.with(|state| state.asked = Some(unanswered));
                ElicitResult::new(ElicitationAction::Decline)
            }
        })
    }

    async fn on_progress(
        &self,
        progress: ProgressNotificationParam,
        _: NotificationContext<RoleClient>,
    ) {
        let of = progress.total.map(|total| format!(" of {total}"));
        let text = format!("{}{}", progress.progress, of.unwrap_or_default());
        self.with(|state| state.progress = Some(text));
    }

    async fn on_tool_list_changed(&self, _: NotificationContext<RoleClient>) {
        self.with(|state| state.changed = true);
    }
}

impl McpSession {
    /// Begins a session and asks the server what it can do.
    pub(super) async fn start(settings: &McpSettings, base: &Path) -> Result<Self, Fault> {
        let over = Arc::<AtomicBool>::default();
        let message_bytes_max = usize::try_from(settings.max_bytes)
            .unwrap_or(usize::MAX)
            .saturating_mul(MCP_RESULT_FACTOR)
            .saturating_add(MCP_MESSAGE_BYTES_BESIDE);
        let forms = settings
            .operations
            .values()
            .any(|server_tool| server_tool.answers);
        let (server, service) = match &settings.transport {
            ServerTransport::Process {
                command,
                cwd,
                env,
                sandbox,
            } => {
                let dir = cwd
                    .as_ref()
                    .map_or_else(|| base.to_owned(), |cwd| base.join(cwd));
                let env = resolved(env, base)?;
                let sandbox = sandbox.as_ref().map(|sandbox| sandbox.rules(base, None));
                let command = ServerCommand {
                    argv: command,
                    dir: &dir,
                    env: &env,
                    sandbox: sandbox.as_ref(),
                };
                let protocol = settings.protocol;
                let (server, service) =
                    connect_process(command, protocol, message_bytes_max, &over, forms).await?;
                (Some(server), service)
            }
            ServerTransport::Remote { base: url, bearer } => {
                let bearer = bearer.as_ref().map(|name| {
                    let secret = name.resolve(base);
                    secret.map_err(|error| Fault::missing_secret(name, &error))
                });
                let bearer = bearer.transpose()?;
                let transport = remote::transport(url, bearer.as_ref(), message_bytes_max)?;
                let served = SessionHandler::new(forms)
                    .serve_with_lifecycle(transport, lifecycle(settings.protocol))
                    .await;
                let service = served.map_err(|error| {
                    let fault = remote::start_fault(&error);
                    fault.unwrap_or_else(|| start_fault(&error, ""))
                })?;
                (None, service)
            }
        };
        service
            .peer()
            .set_response_cache_config(ClientCacheConfig::disabled())
            .await;
        let mut session = Self {
            service,
            server,
            over,
            message_bytes_max,
            listed: tokio::sync::Mutex::new(CachedListing {
                listing: Listing::default(),
                at: Instant::now(),
            }),
        };
        session.listed.get_mut().listing = session.list().await?;
        Ok(session)
    }

    /// How much of its sandbox the kernel holds, if it has one.
    pub(super) fn sandbox_level(&self) -> Option<SandboxLevel> {
        self.server.as_ref().and_then(ServerProcess::sandbox_level)
    }

    /// Whether it can still be spoken to.
    pub(super) fn is_open(&self) -> bool {
        !self.service.peer().is_transport_closed()
    }

    /// Holds the tool as it is now against what is pinned of it. Only before a read may the list
    /// be a little old.
    pub(super) async fn check_pinned(
        &self,
        operation: &Operation,
        server_tool: &ServerTool,
    ) -> Result<(), Fault> {
        let age_max = match operation.effect.is_read() {
            true => MCP_LISTING_AGE_MAX,
            false => Duration::ZERO,
        };
        let operation = &operation.name;
        let mut listed = self.listed.lock().await;
        let changed = self
            .service
            .service()
            .with(|state| std::mem::take(&mut state.changed));
        if changed || listed.at.elapsed() > age_max {
            listed.listing = self.list().await?;
            listed.at = Instant::now();
        }
        let drift = |message: String| Err(Fault::no_effect(Class::Drift, message));
        match (
            &server_tool.pinned,
            listed.listing.tools.get(&server_tool.tool),
        ) {
            (Some(pinned), Some(now)) if pinned.digest() == now.digest() => Ok(()),
            (Some(pinned), Some(now)) => drift(format!(
                "the server's `{}` differs from provost.lock for `{operation}`: changed in \
                 {}; pinned {}, listed {}",
                server_tool.tool,
                pinned.differences(now).join(", "),
                pinned.digest(),
                now.digest()
            )),
            (Some(pinned), None) => drift(format!(
                "the server has no tool `{}` any more; provost.lock holds {} for `{operation}`",
                server_tool.tool,
                pinned.digest()
            )),
            (None, _) => drift(format!("nothing is pinned of `{operation}`")),
        }
    }

    /// What it listed last.
    pub(super) async fn listing(&self) -> Listing {
        self.listed.lock().await.listing.clone()
    }

    /// Makes one call. Dropped, it tells the server to stop.
    pub(super) async fn call(
        &self,
        params: CallToolRequestParams,
        answers: Option<&Map<String, Value>>,
    ) -> Result<CallToolResponse, ServiceError> {
        let mut flight = self.service.service().begin_call(answers);
        let response = self.service.peer().call_tool_once(params).await;
        flight.ended = true;
        response
    }

    /// What the server asked a person, which nobody answered.
    pub(super) fn asked(&self) -> Option<UnansweredForm> {
        self.service.service().with(|state| state.asked.take())
    }

    /// How far it said it had come.
    pub(super) fn progress(&self) -> Option<String> {
        self.service.service().with(|state| state.progress.clone())
    }

    /// The largest message it may send, if it sent a larger one.
    pub(super) fn too_large(&self) -> Option<usize> {
        let over = self.over.load(Ordering::Relaxed);
        over.then_some(self.message_bytes_max)
    }

    /// The last it said on stderr.
    pub(super) async fn last_stderr_lines(&self) -> Option<String> {
        match &self.server {
            Some(server) => server.last_stderr_lines().await,
            None => None,
        }
    }

    async fn list(&self) -> Result<Listing, Fault> {
        let mut tools = BTreeMap::new();
        let (mut cursor, mut cursors) = (None, BTreeSet::new());
        for _ in 0..MCP_PAGES_MAX {
            let asked = PaginatedRequestParams::default().with_cursor(cursor.take());
            let page = match self.service.peer().list_tools(Some(asked)).await {
                Ok(page) => page,
                Err(error) => return Err(self.not_listed(&error).await),
            };
            for tool in page.tools {
                let (name, definition) = definition_of(&tool)?;
                if tools.len() >= MCP_TOOLS_MAX {
                    return Err(bad_listing(&format!(
                        "lists more than {MCP_TOOLS_MAX} tools"
                    )));
                }
                if tools.insert(name.clone(), definition).is_some() {
                    return Err(bad_listing(&format!("lists `{name}` twice")));
                }
            }
            match page.next_cursor {
                None => return Ok(self.listing_of(tools)),
                Some(next) if cursors.insert(next.clone()) => cursor = Some(next),
                Some(_) => return Err(bad_listing("goes in circles in its list of tools")),
            }
        }
        Err(bad_listing(&format!(
            "lists its tools on more than {MCP_PAGES_MAX} pages"
        )))
    }

    fn listing_of(&self, tools: BTreeMap<String, Definition>) -> Listing {
        let info = self.service.peer().peer_info();
        let own = info.as_ref().and_then(|info| info.server_info.as_ref());
        Listing {
            protocol: info
                .as_ref()
                .map(|info| info.protocol_version.to_string())
                .unwrap_or_default(),
            server: own
                .map(|own| format!("{} {}", own.name, own.version))
                .unwrap_or_default(),
            tools,
            unused: BTreeMap::new(),
        }
    }

    async fn not_listed(&self, error: &ServiceError) -> Fault {
        if let Some(max) = self.too_large() {
            return bad_listing(&format!(
                "lists its tools in a message of more than {max} bytes"
            ));
        }
        if let Some(fault) = remote::failed(error) {
            return Fault::no_effect(fault.class, fault.message);
        }
        if let ServiceError::McpError(error) = error
            && let Some(fault) = strict::fault(error)
        {
            return Fault::no_effect(fault.class, fault.message);
        }
        let said = after(self.last_stderr_lines().await);
        let why = match error {
            ServiceError::McpError(error) => &*error.message,
            ServiceError::UnexpectedResponse => "what it answers is no list",
            _ => "it ended",
        };
        let message = format!("the server does not list its tools: {why}{said}");
        Fault::no_effect(Class::Unavailable, message)
    }
}

/// The variables with their values.
fn resolved(env: &[(String, EnvValue)], base: &Path) -> Result<Vec<(String, String)>, Fault> {
    let mut resolved = Vec::new();
    for (name, variable) in env {
        let value = match variable {
            EnvValue::Plain(text) => text.clone(),
            EnvValue::Secret(secret) => secret
                .resolve(base)
                .map_err(|error| Fault::missing_secret(secret, &error))?
                .expose()
                .to_owned(),
        };
        resolved.push((name.clone(), value));
    }
    Ok(resolved)
}

/// A session with a process that is started for it.
async fn connect_process(
    command: ServerCommand<'_>,
    protocol: Protocol,
    message_bytes_max: usize,
    over: &Arc<AtomicBool>,
    forms: bool,
) -> Result<(ServerProcess, RunningService<RoleClient, SessionHandler>), Fault> {
    let mut tries = 0;
    loop {
        tries += 1;
        let started = ServerProcess::start(command);
        let (server, pipes) =
            started.map_err(|error| Fault::no_effect(Class::Unavailable, error.to_string()))?;
        let reader = MessageReader::new(pipes.stdout, message_bytes_max, Arc::clone(over));
        let served = SessionHandler::new(forms)
            .serve_with_lifecycle((reader, pipes.stdin), lifecycle(protocol))
            .await;
        match served {
            Ok(service) => return Ok((server, service)),
            Err(error) if tries == 1 && is_late(&error) => {}
            Err(error) => {
                return Err(start_fault(
                    &error,
                    &after(server.last_stderr_lines().await),
                ));
            }
        }
    }
}

fn lifecycle(protocol: Protocol) -> ClientLifecycleMode {
    let preferred_versions = vec![ProtocolVersion::V_2026_07_28];
    match protocol {
        Protocol::Newest => ClientLifecycleMode::Auto {
            preferred_versions,
            legacy_version: Some(ProtocolVersion::V_2025_11_25),
        },
        Protocol::Stateless => ClientLifecycleMode::Discover { preferred_versions },
        Protocol::Handshake => ClientLifecycleMode::Initialize,
    }
}

/// Whether the server answered the question for its version after it was taken for one that does
/// not know it: a first start may be that slow, and the second is not.
fn is_late(error: &ClientInitializeError) -> bool {
    matches!(
        error,
        ClientInitializeError::ConflictInitResponseId(..)
            | ClientInitializeError::UncorrelatedErrorResponse { .. }
    )
}

fn start_fault(error: &ClientInitializeError, said: &str) -> Fault {
    let error = match error {
        ClientInitializeError::LegacyFallbackFailed { fallback, .. } => fallback,
        other => other,
    };
    let why = match error {
        ClientInitializeError::ConnectionClosed(_)
        | ClientInitializeError::TransportError { .. } => "it ended before it answered",
        ClientInitializeError::NoCompatibleProtocolVersion { .. } => {
            "it speaks no version of the protocol that provost speaks"
        }
        ClientInitializeError::JsonRpcError(error) => &*error.message,
        _ => "what it answers is no answer to a client that begins",
    };
    let message = format!("no session with the server: {why}{said}");
    Fault::no_effect(Class::Unavailable, message)
}

fn after(said: Option<String>) -> String {
    said.map(|said| format!(": {said}")).unwrap_or_default()
}

/// A server that cannot be believed; nothing was called.
fn bad_listing(what: &str) -> Fault {
    Fault::no_effect(Class::OutputInvalid, format!("the server {what}"))
}

pub(crate) fn definition_of(tool: &Tool) -> Result<(String, Definition), Fault> {
    let name = tool.name.to_string();
    let Ok(Value::Object(fields)) = serde_json::to_value(tool) else {
        return Err(bad_listing(&format!(
            "lists `{name}` as nothing that can be read"
        )));
    };
    let definition = Definition::new(&name, &fields);
    definition
        .map(|definition| (name, definition))
        .map_err(|error| Fault::no_effect(Class::OutputInvalid, error.to_string()))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{CallGuard, Map, SessionHandler, Value};

    fn sure(who: &str) -> Map<String, Value> {
        Map::from_iter([("who".to_owned(), json!(who))])
    }

    fn at_hand(handler: &SessionHandler) -> Option<Value> {
        handler.with(|state| state.answers.as_ref()?.get("who").cloned())
    }

    fn comes_back(mut flight: CallGuard<'_>) {
        flight.ended = true;
    }

    /// The answers of one call fill no form of another, whichever of the two ends first.
    #[test]
    fn of_two_calls_in_flight_neither_is_answered_for() {
        let handler = SessionHandler::new(true);
        let first = handler.begin_call(Some(&sure("ada")));
        assert_eq!(at_hand(&handler), Some(json!("ada")), "alone");
        let second = handler.begin_call(Some(&sure("bob")));
        assert_eq!(at_hand(&handler), None);
        comes_back(first);
        assert_eq!(
            at_hand(&handler),
            None,
            "the form may be of the second, or late of the first"
        );
        let third = handler.begin_call(Some(&sure("eve")));
        comes_back(second);
        comes_back(third);
        let fourth = handler.begin_call(Some(&sure("dan")));
        assert_eq!(at_hand(&handler), Some(json!("dan")), "alone again");
        comes_back(fourth);
        let fifth = handler.begin_call(None);
        assert_eq!(at_hand(&handler), None, "it brought no answers");
        comes_back(fifth);
    }

    /// A call that was given up may still be under way at the server.
    #[test]
    fn after_a_call_was_given_up_no_form_is_filled() {
        let handler = SessionHandler::new(true);
        drop(handler.begin_call(Some(&sure("ada"))));
        let next = handler.begin_call(Some(&sure("bob")));
        assert_eq!(at_hand(&handler), None);
        comes_back(next);
    }
}
