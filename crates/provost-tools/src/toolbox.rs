//! The toolbox: every tool of a workspace, open, behind one door.
//!
//! Owns what all adapters share: arguments are checked before, outputs after, and secrets are
//! taken out of everything. Never retries, never waits for a person. INVARIANT: no tool that is
//! open can reach what governs the workspace; one that could stays closed, and says why.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use provost_plan::catalog::Operation;
use provost_plan::codes::Code;
use provost_plan::diagnostic::Diagnostic;
use provost_plan::digest::normalize;
use provost_plan::limits::TURN_WORK_LITTLE;
use provost_plan::source::Span;
use provost_plan::work::WorkBudget;
use provost_run::call::Call;
use provost_run::outcome::{CallTime, Class, Landing, Reply};
use provost_wire::{Redactor, SecretName};
use serde_json::Value;

use crate::adapter::{Adapter, Overreach};
use crate::config::ToolConfig;
use crate::deadline::micros;
use crate::fault::{Fault, Request, one_line};
use crate::kinds::mcp::Listing;
use crate::kinds::sql::{DescribedStatement, DescribedTable, Sql};
use crate::protected_paths::ProtectedPaths;

/// The open tools of a workspace.
#[derive(Clone, Debug)]
pub struct Toolbox {
    base: PathBuf,
    adapters: BTreeMap<String, Arc<dyn Adapter>>,
    /// Tools that stay closed: they could reach what they must not.
    closed: BTreeMap<String, OpenError>,
    secrets: BTreeSet<SecretName>,
}

/// A tool that stays closed, since it would reach what governs the workspace, or a key.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct OpenError {
    code: Code,
    tool: String,
    message: String,
    hint: String,
    span: Span,
}

impl OpenError {
    /// The name of the tool in `provost.toml`; empty if the workspace itself cannot be read.
    #[must_use]
    pub fn tool(&self) -> &str {
        &self.tool
    }

    /// The same as a finding in `provost.toml`.
    #[must_use]
    pub fn diagnostic(&self) -> Diagnostic {
        Diagnostic::new(self.code, self.span, self.message.as_str()).hint(self.hint.as_str())
    }

    /// What is wrong, for whoever named the tool already.
    fn without_name(&self) -> String {
        let named = format!("the tool `{}` ", self.tool);
        match self.message.strip_prefix(&named) {
            Some(rest) => format!("it {rest} ({})", self.code),
            None => self.message.clone(),
        }
    }

    fn of(tool: &str, overreach: Overreach) -> Self {
        let Overreach {
            setting,
            span,
            what,
        } = overreach;
        Self {
            code: Code::ReachesItself,
            tool: tool.to_owned(),
            message: format!("the tool `{tool}` reaches `{what}` through `{setting}`"),
            hint: "give the tool a folder or file of its own: what governs provost, and keys, \
                   are out of every tool's reach"
                .to_owned(),
            span,
        }
    }
}

/// Why a tool that is configured cannot work now, such as a database that is missing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trouble {
    /// The name of the tool in `provost.toml`.
    pub tool: String,
    /// What is wrong and what to do, in one line.
    pub message: String,
}

/// What came of reaching a tool without a call.
#[derive(Clone, Debug, PartialEq)]
pub enum Probe {
    /// It answered, and how.
    Reached(String),
    /// The MCP server answered, and lists this.
    Listed(Listing),
    /// The database answered, and has no table for keys.
    Unprepared,
    /// Nothing can be said of it without a call.
    Untried(&'static str),
}

/// How the tools of a toolbox stand, for whoever may not call them.
#[derive(Clone, Copy, Debug, Default)]
pub struct ToolboxState<'t>(Option<&'t Toolbox>);

impl<'t> ToolboxState<'t> {
    /// As [`Toolbox::troubles`].
    #[must_use]
    pub fn troubles(self) -> Vec<Trouble> {
        self.0.map(Toolbox::troubles).unwrap_or_default()
    }

    /// As [`Toolbox::closed`].
    pub fn closed(self) -> impl Iterator<Item = Trouble> + 't {
        self.0.into_iter().flat_map(Toolbox::closed)
    }

    /// As [`Toolbox::drift`].
    pub async fn drift(self, operation: &Operation) -> Option<String> {
        self.0?.drift(operation).await
    }

    /// As [`Toolbox::is_unprepared`].
    pub async fn is_unprepared(self, operation: &Operation) -> bool {
        match self.0 {
            Some(toolbox) => toolbox.is_unprepared(operation).await,
            None => false,
        }
    }
}

impl Toolbox {
    /// How its tools stand.
    #[must_use]
    pub fn state(&self) -> ToolboxState<'_> {
        ToolboxState(Some(self))
    }

    /// Opens all tools of the workspace at `base`, or none.
    ///
    /// # Errors
    /// One [`OpenError`] for every tool that reaches what it must not.
    pub fn open(base: &Path, configs: Vec<ToolConfig>) -> Result<Self, Vec<OpenError>> {
        let toolbox =
            Self::open_with_private(base, configs, &[], &[]).map_err(|error| vec![error])?;
        if toolbox.closed.is_empty() {
            return Ok(toolbox);
        }
        Err(toolbox.closed.into_values().collect())
    }

    /// Opens the tools that reach no protected path. `private` are further files that no tool may
    /// reach, and `secrets` are further secrets that are redacted. A tool that must not be opened
    /// stays closed and is among [`Toolbox::troubles`]; the others work.
    ///
    /// # Errors
    /// [`OpenError`] if the workspace itself cannot be reached.
    pub fn open_with_private(
        base: &Path,
        configs: Vec<ToolConfig>,
        private: &[PathBuf],
        secrets: &[SecretName],
    ) -> Result<Self, OpenError> {
        let secrets = configs
            .iter()
            .flat_map(ToolConfig::secrets)
            .chain(secrets)
            .cloned()
            .collect::<BTreeSet<_>>();
        let secret_files = secrets
            .iter()
            .filter_map(|name| name.file().map(Path::to_owned))
            .chain(private.iter().cloned())
            .collect::<Vec<_>>();
        let protected = match ProtectedPaths::new(base, &secret_files) {
            Ok(protected) => Arc::new(protected),
            Err(error) => {
                return Err(OpenError {
                    code: Code::BadWorkspace,
                    tool: String::new(),
                    message: format!("the workspace cannot be reached: {error}"),
                    hint: "check the path and its permissions".to_owned(),
                    span: Span::default(),
                });
            }
        };
        let mut adapters = BTreeMap::new();
        let mut closed = BTreeMap::new();
        for config in configs {
            let name = config.name().to_owned();
            match config.open(&protected) {
                Ok(adapter) => drop(adapters.insert(name, adapter)),
                Err(overreach) => {
                    closed.insert(name.clone(), OpenError::of(&name, overreach));
                }
            }
        }
        Ok(Self {
            base: protected.base().to_owned(),
            adapters,
            closed,
            secrets,
        })
    }

    /// The tools that cannot work now, such as one whose database is missing. Looks at files only.
    #[must_use]
    pub fn troubles(&self) -> Vec<Trouble> {
        let trouble = |(tool, adapter): (&String, &Arc<dyn Adapter>)| {
            let message = adapter.trouble()?;
            Some(Trouble {
                tool: tool.clone(),
                message: one_line(&message),
            })
        };
        self.closed()
            .chain(self.adapters.iter().filter_map(trouble))
            .collect()
    }

    /// What no call of a tool could do as it is declared, of the tools that can work. Looks at
    /// files only, so it is no reason to refuse a call.
    #[must_use]
    pub fn defects(&self) -> Vec<Trouble> {
        let usable = self.adapters.iter();
        let usable = usable.filter(|(_, adapter)| adapter.trouble().is_none());
        let of = |(tool, adapter): (&String, &Arc<dyn Adapter>)| {
            let defects = adapter.defects().into_iter();
            let tool = tool.clone();
            defects.map(move |message| Trouble {
                tool: tool.clone(),
                message: one_line(&message),
            })
        };
        usable.flat_map(of).collect()
    }

    /// What [`Toolbox::defects`] does not look at, by tool.
    pub fn unseen(&self) -> impl Iterator<Item = (&str, &'static str)> {
        let adapters = self.adapters.iter();
        adapters.filter_map(|(tool, adapter)| Some((tool.as_str(), adapter.unseen()?)))
    }

    /// The tools that stay closed, each with the reason.
    pub fn closed(&self) -> impl Iterator<Item = Trouble> {
        self.closed.iter().map(|(tool, error)| Trouble {
            tool: tool.clone(),
            message: error.without_name(),
        })
    }

    /// The same as findings in `provost.toml`.
    pub fn overreaches(&self) -> impl Iterator<Item = Diagnostic> {
        self.closed.values().map(OpenError::diagnostic)
    }

    /// Why a tool stays closed, if it does.
    fn refused(&self, tool: &str) -> Option<Fault> {
        let error = self.closed.get(tool)?;
        Some(Fault::no_effect(Class::Unavailable, error.message.as_str()))
    }

    /// Whether requests of an operation say where they stand in the trace of their run.
    #[must_use]
    pub fn propagates(&self, operation: &str) -> bool {
        let tool = operation.split('.').next();
        let adapter = tool.and_then(|tool| self.adapters.get(tool));
        adapter.is_some_and(|adapter| adapter.propagates())
    }

    /// Makes one call and gives its outcome. Dropping the future cancels the call; a request that
    /// has left the process by then may still take effect.
    pub async fn perform(&self, call: &Call) -> Reply {
        let Value::Object(args) = call.args() else {
            return Fault::no_effect(Class::ToolBug, "the arguments are not a map").into();
        };
        let request = Request {
            operation: Arc::clone(call.operation()),
            args: args.clone(),
            key: call.key().map(str::to_owned),
            timeout: call.timeout(),
            trace: call.trace(),
        };
        self.perform_request(&request).await
    }

    /// Starts the MCP server called `tool` and asks what it can do.
    ///
    /// # Errors
    /// The reply that a call would have, had it failed at the same point.
    pub async fn listing(&self, tool: &str, time: Duration) -> Result<Listing, Box<Reply>> {
        let Some(server) = self.adapters.get(tool).and_then(|tool| tool.as_server()) else {
            let message = format!("the tool `{tool}` is no MCP server");
            return Err(Box::new(Fault::no_effect(Class::ToolBug, message).into()));
        };
        let listed = server.listing(time).await;
        listed.map_err(|fault| Box::new(redact_reply(fault.into(), &self.redactor())))
    }

    /// How the server of this operation differs from what is pinned, if it says so in time.
    pub async fn drift(&self, operation: &Operation) -> Option<String> {
        let server = self.adapters.get(operation.server())?.as_server()?;
        let message = server.drift(operation).await?;
        Some(one_line(&self.redactor().redact_text(&message)))
    }

    /// Whether a call of this operation lacks the table for its key. False of a database that does
    /// not answer: the call itself reports that.
    pub async fn is_unprepared(&self, operation: &Operation) -> bool {
        let tool = self.adapters.get(operation.server());
        match tool.and_then(|tool| tool.as_database()) {
            Some(database) => database.is_unprepared(operation).await,
            None => false,
        }
    }

    /// Reaches `tool` without calling an operation of it.
    ///
    /// # Errors
    /// Why it is not reached, in words without a secret.
    pub async fn probe(&self, tool: &str, time: Duration) -> Result<Probe, String> {
        let said = |reply: Box<Reply>| one_line(&reply.message.unwrap_or_default());
        if let Some(error) = self.closed.get(tool) {
            return Err(error.without_name());
        }
        let Some(adapter) = self.adapters.get(tool) else {
            return Err("there is no such tool".to_owned());
        };
        if let Some(trouble) = adapter.trouble() {
            return Err(one_line(&trouble));
        }
        if adapter.as_server().is_some() {
            let listing = self.listing(tool, time).await.map_err(said)?;
            return Ok(Probe::Listed(listing));
        }
        if adapter.as_database().is_some() {
            let is_prepared = self.is_prepared(tool, time).await.map_err(said)?;
            return Ok(match is_prepared {
                true => Probe::Reached("connected, with its table for keys".to_owned()),
                false => Probe::Unprepared,
            });
        }
        match adapter.base_url() {
            Some(base) => match base.reach(time).await? {
                true => Ok(Probe::Reached(format!("{} answers", base.host()))),
                false => Ok(Probe::Untried("it is reached through a proxy")),
            },
            None => Ok(Probe::Untried("only a call would tell")),
        }
    }

    /// Whether the database behind `tool` has its table for keys.
    ///
    /// # Errors
    /// The reply that a call would have, had it failed at the same point.
    pub async fn is_prepared(&self, tool: &str, time: Duration) -> Result<bool, Box<Reply>> {
        let prepared = self.database(tool)?.is_prepared(time).await;
        prepared.map_err(|fault| Box::new(redact_reply(fault.into(), &self.redactor())))
    }

    /// What a statement of the database behind `tool` takes, gives and does. It is not run.
    ///
    /// # Errors
    /// As [`Toolbox::is_prepared`].
    pub async fn describe(
        &self,
        tool: &str,
        sql: &str,
        time: Duration,
    ) -> Result<DescribedStatement, Box<Reply>> {
        let described = self.database(tool)?.describe(sql, time).await;
        described.map_err(|fault| Box::new(redact_reply(fault.into(), &self.redactor())))
    }

    /// The tables of the database behind `tool`.
    ///
    /// # Errors
    /// As [`Toolbox::is_prepared`].
    pub async fn tables(
        &self,
        tool: &str,
        time: Duration,
    ) -> Result<Vec<DescribedTable>, Box<Reply>> {
        let tables = self.database(tool)?.tables(time).await;
        tables.map_err(|fault| Box::new(redact_reply(fault.into(), &self.redactor())))
    }

    /// Makes the table for keys in the database behind `tool`, unless it is there.
    ///
    /// # Errors
    /// As [`Toolbox::is_prepared`].
    pub async fn prepare(&self, tool: &str, time: Duration) -> Result<(), Box<Reply>> {
        let prepared = self.database(tool)?.prepare(time).await;
        prepared.map_err(|fault| Box::new(redact_reply(fault.into(), &self.redactor())))
    }

    fn database(&self, tool: &str) -> Result<&Sql, Box<Reply>> {
        if let Some(fault) = self.refused(tool) {
            return Err(Box::new(fault.into()));
        }
        let database = self.adapters.get(tool).and_then(|tool| tool.as_database());
        database.ok_or_else(|| {
            let message = format!("the tool `{tool}` is no database");
            Box::new(Fault::no_effect(Class::ToolBug, message).into())
        })
    }

    pub(crate) async fn perform_request(&self, request: &Request) -> Reply {
        if let Some(fault) = self.refused(request.operation.server()) {
            return fault.into();
        }
        let Some(adapter) = self.adapters.get(request.operation.server()) else {
            let message = format!("there is no tool `{}`", request.operation.server());
            return Fault::no_effect(Class::ToolBug, message).into();
        };
        if let Some(fault) = wrong_arguments(request) {
            return fault.into();
        }
        let redactor = self.redactor();
        let begun = Instant::now();
        let performed = adapter.perform(request, &redactor).await;
        let mut reply = answered(performed, request);
        // Why not where it stands: work on a thread of its own was measured there.
        reply.time.get_or_insert_with(|| CallTime {
            took_us: micros(begun.elapsed()),
            waited_us: None,
        });
        redact_reply(validate(reply, &request.operation).await, &redactor)
    }

    /// Knows every secret of the workspace as it is now, whichever tool it belongs to.
    fn redactor(&self) -> Redactor {
        let secrets = self.secrets.iter();
        let values = secrets.filter_map(|name| name.resolve(&self.base).ok());
        Redactor::new(&values.collect::<Vec<_>>())
    }
}

/// What an adapter gave. It refused an argument only if the call has it, and if nothing left.
fn answered(performed: Result<Reply, Fault>, request: &Request) -> Reply {
    let mut reply = performed.unwrap_or_else(Reply::from);
    let (args, is_before) = (&request.args, reply.landing == Landing::None);
    reply
        .refused_args
        .retain(|name| is_before && args.contains_key(name));
    reply
}

/// Takes every secret out of a reply.
fn redact_reply(mut reply: Reply, redactor: &Redactor) -> Reply {
    if redactor.is_empty() {
        return reply;
    }
    reply.evidence = redactor.redact(&reply.evidence);
    // Why: an escape can hide a value in the bytes, and it shows only in what is read from them.
    if let Ok(read) = serde_json::from_slice::<Value>(&reply.evidence) {
        let clean = redactor.redact_value(read.clone());
        if clean != read {
            reply.evidence = clean.to_string().into_bytes();
        }
    }
    reply.output = reply.output.map(|output| redactor.redact_value(output));
    reply.media = redactor.redact_text(&reply.media);
    reply.message = reply.message.map(|message| redactor.redact_text(&message));
    reply
}

/// Arguments are checked when a call is made; here once more, since nothing may leave unchecked.
fn wrong_arguments(request: &Request) -> Option<Fault> {
    let args = Value::Object(request.args.clone());
    let violation = request
        .operation
        .input
        .violations(&args)
        .into_iter()
        .next()?;
    let message = format!(
        "the argument `{}`: {}",
        violation.pointer, violation.message
    );
    Some(Fault::no_effect(Class::InvalidArguments, message))
}

/// Checks an output against its declared type and size, on a thread of its own where that takes
/// long: the thread that drives the runs goes on.
async fn validate(reply: Reply, operation: &Arc<Operation>) -> Reply {
    let work = reply.output.as_ref().zip(operation.output.as_ref());
    let little = WorkBudget::of(TURN_WORK_LITTLE);
    let is_quick = work.is_none_or(|(output, schema)| schema.pay(output, &little).is_ok());
    if is_quick {
        return validate_output(reply, operation);
    }
    let operation = Arc::clone(operation);
    let task = tokio::task::spawn_blocking(move || validate_output(reply, &operation));
    task.await
        .unwrap_or_else(|_| Fault::bad_output("the output could not be judged").into())
}

/// Checks an output against its declared type and size.
fn validate_output(mut reply: Reply, operation: &Operation) -> Reply {
    let Some(output) = reply.output.take() else {
        return reply;
    };
    let fault = match normalize(output) {
        Err(error) => Fault::bad_output(format!("the output holds a number too large: {error}")),
        Ok(output) => {
            let bytes = serde_json::to_vec(&output).map_or(u64::MAX, |text| text.len() as u64);
            let violations = operation
                .output
                .as_ref()
                .map(|schema| schema.violations(&output))
                .unwrap_or_default();
            if bytes > operation.max_bytes {
                Fault::too_large(bytes, operation.max_bytes)
            } else if let Some(first) = violations.first() {
                Fault::bad_output(format!(
                    "the output does not fit its schema at `{}`: {}",
                    first.pointer, first.message
                ))
            } else {
                reply.output = Some(output);
                return reply;
            }
        }
    };
    reply.class = fault.class;
    reply.landing = Landing::Happened;
    reply.message = Some(one_line(&fault.message));
    reply
}
