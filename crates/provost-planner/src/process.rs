//! The external planner: somebody else's program, in any language, over lines of JSON.
//!
//! Owns the protocol `provost/planner/v1`: hello both ways, one request a line, one reply a line,
//! by id. The program is started when it is first asked, stays, and is started again once it died,
//! hung or spoke out of turn. It can read elsewhere, so it counts as having seen text: its literals
//! and its choice are `text`. INVARIANT: whatever it does ends as a plan, questions, a decline or
//! findings, in time; nothing it started outlives the planner.

use std::path::PathBuf;
use std::time::Duration;

use futures::FutureExt as _;
use futures::future::BoxFuture;
use provost_plan::codes::Code;
use provost_plan::label::{Integrity, Label};
use provost_plan::plan::request::{NoPlan, PlanReply, PlanRequest, Planned, PlannerUsage};
use provost_wire::process::{ChildError, ServerCommand, ServerProcess};
use provost_wire::{EnvValue, Redactor, Secret};
use serde_json::Value;
use tokio::sync::Mutex;
use tokio::time::timeout;

use crate::Planner;
use crate::limits::HELLO_TIMEOUT;
use crate::reply::{ReplyAuthor, of_value, unreadable, words};

mod line;

use line::{LineError, Lines};

/// The version of the protocol.
pub const PLANNER_SCHEMA: &str = "provost/planner/v1";

/// A program that plans, as the operator configures it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProcessSettings {
    /// The program and its arguments; no shell reads them.
    pub command: Vec<String>,
    /// The variables it is given beside `PATH`.
    pub env: Vec<(String, EnvValue)>,
    /// How long a reply may take.
    pub timeout: Duration,
}

impl ProcessSettings {
    /// The program's name.
    #[must_use]
    pub fn program(&self) -> &str {
        self.command.first().map_or("", String::as_str)
    }
}

/// A program that plans.
pub struct ProcessPlanner {
    settings: ProcessSettings,
    root: PathBuf,
    session: Mutex<Option<ProcessSession>>,
}

/// The program as it runs.
struct ProcessSession {
    server: ServerProcess,
    lines: Lines,
    redactor: Redactor,
}

/// Why there is no reply.
#[derive(Debug, thiserror::Error)]
enum AskError {
    #[error("{0}")]
    Secret(String),
    #[error(transparent)]
    NotStarted(#[from] ChildError),
    #[error("no hello of `{PLANNER_SCHEMA}` within {HELLO_TIMEOUT:?}")]
    NoHello,
    #[error(
        "its first line is no hello of `{PLANNER_SCHEMA}`: it must print \
         {{\"kind\":\"hello\",\"schema\":\"{PLANNER_SCHEMA}\"}}"
    )]
    OtherHello,
    #[error("no reply within {0:?}")]
    Timeout(Duration),
    #[error("{0}")]
    Line(#[from] LineError),
}

impl ProcessPlanner {
    /// The program of these settings, run in `root`. Nothing is started.
    #[must_use]
    pub fn new(settings: ProcessSettings, root: PathBuf) -> Self {
        Self {
            settings,
            root,
            session: Mutex::new(None),
        }
    }

    fn author(&self) -> ReplyAuthor {
        let seen = Label {
            integrity: Integrity::Text,
            ..Label::trusted()
        };
        ReplyAuthor {
            words: format!("process {}", self.settings.program()),
            literals: seen.clone(),
            control: seen,
        }
    }

    async fn ask(&self, request: &PlanRequest) -> Planned {
        let author = self.author();
        let mut place = self.session.lock().await;
        // Why taken: who is dropped in the middle of an exchange leaves no program behind that
        // would answer the wrong question.
        let session = match place.take() {
            Some(session) => Ok(session),
            None => self.start().await,
        };
        let mut session = match session {
            Ok(session) => session,
            Err(error) => return declined(&author, &error, None),
        };
        match self.exchange(&mut session, request).await {
            Ok(line) => {
                let (planned, in_order) = read(&line, request.id, &author, &session.redactor);
                if in_order {
                    *place = Some(session);
                }
                planned
            }
            Err(error) => {
                let said = session.server.last_stderr_lines().await;
                let said = said.map(|words| session.redactor.redact_text(&words));
                declined(&author, &error, said)
            }
        }
    }

    async fn start(&self) -> Result<ProcessSession, AskError> {
        let mut env = Vec::new();
        let mut secrets: Vec<Secret> = Vec::new();
        for (name, variable) in &self.settings.env {
            let value = match variable {
                EnvValue::Plain(text) => text.clone(),
                EnvValue::Secret(secret) => {
                    let value = secret.resolve(&self.root);
                    let value = value.map_err(|error| AskError::Secret(error.to_string()))?;
                    let text = value.expose().to_owned();
                    secrets.push(value);
                    text
                }
            };
            env.push((name.clone(), value));
        }
        let (server, pipes) = ServerProcess::start(ServerCommand {
            sandbox: None,
            argv: &self.settings.command,
            dir: &self.root,
            env: &env,
        })?;
        let mut session = ProcessSession {
            server,
            lines: Lines::new(pipes),
            redactor: Redactor::new(&secrets),
        };
        let hello = serde_json::json!({ "kind": "hello", "schema": PLANNER_SCHEMA });
        let greeting = async {
            session.lines.write(&hello.to_string()).await?;
            session.lines.read().await
        };
        let answer = match timeout(HELLO_TIMEOUT, greeting).await {
            Ok(answer) => answer,
            Err(_) => return Err(AskError::NoHello),
        };
        let answer = match answer {
            Ok(line) => line,
            Err(error) => {
                let said = session.server.last_stderr_lines().await;
                let said = said.map(|words| session.redactor.redact_text(&words));
                return Err(LineError::with_words(&error, said).into());
            }
        };
        match serde_json::from_slice::<Value>(&answer) {
            Ok(answer) if answer == hello => Ok(session),
            _ => Err(AskError::OtherHello),
        }
    }

    async fn exchange(
        &self,
        session: &mut ProcessSession,
        request: &PlanRequest,
    ) -> Result<Vec<u8>, AskError> {
        let line = serde_json::to_string(request).unwrap_or_default();
        let exchange = async {
            session.lines.write(&line).await?;
            session.lines.read().await
        };
        match timeout(self.settings.timeout, exchange).await {
            Ok(answer) => Ok(answer?),
            Err(_) => Err(AskError::Timeout(self.settings.timeout)),
        }
    }
}

impl Planner for ProcessPlanner {
    fn reply<'a>(&'a self, request: &'a PlanRequest) -> BoxFuture<'a, Planned> {
        self.ask(request).boxed()
    }
}

fn declined(author: &ReplyAuthor, error: &AskError, said: Option<String>) -> Planned {
    let said = said.map(|words| format!(" (it said: {words})"));
    let reason = format!("{}: {error}{}", author.words, said.unwrap_or_default());
    let class = match error {
        AskError::Timeout(_) => NoPlan::Timeout,
        AskError::Line(_) => NoPlan::Crashed,
        AskError::Secret(_)
        | AskError::NotStarted(_)
        | AskError::NoHello
        | AskError::OtherHello => NoPlan::Unreachable,
    };
    let reason = words(&reason);
    Planned::from(PlanReply::Failed { class, reason })
}

/// What a line comes to, and whether the program still speaks in order.
fn read(line: &[u8], id: u64, author: &ReplyAuthor, redactor: &Redactor) -> (Planned, bool) {
    let text = redactor.redact_text(&String::from_utf8_lossy(line));
    let wrong = |code, what: &str| (unreadable(&text, author, code, what).into(), false);
    let mut value: Value = match serde_json::from_str(&text) {
        Ok(value) => value,
        Err(error) => return wrong(Code::Syntax, &format!("the line is no JSON: {error}")),
    };
    let Some(object) = value.as_object_mut() else {
        return wrong(Code::WrongShape, "the line is no JSON object");
    };
    if object.remove("id") != Some(Value::from(id)) {
        return wrong(
            Code::WrongShape,
            "the reply has not the `id` of the request",
        );
    }
    let usage = object.remove("usage").map(|usage| usage_of(&usage));
    let reply = of_value(value, author);
    (Planned { reply, usage }, true)
}

/// What it says that it took; nobody can look.
fn usage_of(usage: &Value) -> PlannerUsage {
    let count = |name: &str| usage.get(name).and_then(Value::as_u64).unwrap_or(0);
    let cost = usage.get("cost").and_then(Value::as_str);
    PlannerUsage {
        model: usage.get("model").and_then(Value::as_str).map(words),
        requests: 1,
        tokens_in: count("tokens_in"),
        tokens_cached: count("tokens_cached"),
        tokens_out: count("tokens_out"),
        cost: cost.and_then(|text| provost_plan::money::Money::parse(text).ok()),
        ..PlannerUsage::default()
    }
}
