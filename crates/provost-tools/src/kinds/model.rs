//! Models: what one makes of a text, as a step of a plan.
//!
//! Owns the tool kind `model`: one request, one answer, the operator's task over the call's
//! material. The model has no tools and no memory, and its output is never believed. Never asks
//! twice: the run machine does. INVARIANT: nothing is sent beyond what was reserved for it, and no
//! secret but the key, which goes to the model's own address.
//!
//! Mapping (class × landing); an answer that came was paid for, so its tokens are told:
//!
//! | what happened | class | landing |
//! |---|---|---|
//! | a whole answer in its form | `ok` | happened |
//! | so, and it is no JSON, or not of its form | `output_invalid` | happened |
//! | the answer is cut off at `max_tokens` | `output_invalid` | happened |
//! | the model would not answer | `permission_denied` | happened |
//! | the request cannot be built, or its server does not take it | `invalid_arguments` | none |
//! | the key is missing: the run pauses and names it | `unavailable` | none |
//! | its server does not take the key | `permission_denied` | none |
//! | its server asks for a slower pace | `rate_limited` | none |
//! | nobody answers there, or only that they cannot now | `unavailable` | none |
//! | the connection breaks before the answer is whole | `unavailable` | unknown |
//! | the time is over | `timeout` | unknown |
//! | what comes back is no answer of its kind | `output_invalid` | unknown |

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use provost_plan::digest::canonical;
use provost_plan::duration;
use provost_plan::expr::Template;
use provost_plan::money::Money;
use provost_run::outcome::{Class, Landing, Reply, Used};
use provost_wire::Redactor;
use provost_wire::model::{
    FinishReason, ModelClient, ModelConfig, ModelError, ModelReply, ModelRequest, ModelUsage,
};
use serde_json::Value;

use crate::adapter::{Adapter, CallFuture};
use crate::fault::{Fault, Request, one_line};

mod prompt;
mod settings;
mod task_kind;

pub(crate) use settings::ModelToolSettings;

use prompt::PROMPT_VERSION;
use task_kind::TaskKind;

/// The name under which the form of an answer is sent.
const ANSWER_NAME: &str = "answer";
/// Longest name of a model in a record, in characters.
const NAME_CHARS_MAX: usize = 80;

/// One operation, as it is asked.
#[derive(Clone, Debug)]
pub(crate) struct Task {
    kind: TaskKind,
    text: Template,
    /// The JSON Schema that the answer has to fit.
    answer: Value,
    model: ModelConfig,
}

/// An open model tool.
#[derive(Clone, Debug)]
pub(crate) struct ModelTool {
    base: PathBuf,
    tasks: Arc<BTreeMap<String, TaskClient>>,
}

#[derive(Debug)]
struct TaskClient {
    task: Task,
    /// Its client, or why there is none.
    client: Result<ModelClient, String>,
}

impl ModelTool {
    /// Opens the tool. Nothing is sent.
    pub(crate) fn open(settings: &ModelToolSettings, base: &Path) -> Self {
        let ready = |(name, task): (&String, &Task)| {
            let client = task.model.client(base).map_err(|error| error.to_string());
            let task = task.clone();
            (name.clone(), TaskClient { task, client })
        };
        Self {
            base: base.to_owned(),
            tasks: Arc::new(settings.tasks.iter().map(ready).collect()),
        }
    }

    async fn ask(&self, ready: &TaskClient, request: &Request) -> Result<Reply, Fault> {
        let task = &ready.task;
        let client = ready
            .client
            .as_ref()
            .map_err(|reason| Fault::no_effect(Class::Unavailable, reason.as_str()))?;
        if let Some(key) = &task.model.settings.key {
            key.resolve(&self.base)
                .map_err(|error| Fault::missing_secret(key, &error))?;
        }
        let user = prompt::user(task.kind, &task.text, &request.args)?;
        check_reserve(&user, task, request)?;
        let asked = client.ask(ModelRequest {
            system: prompt::SYSTEM,
            user: &user,
            name: ANSWER_NAME,
            schema: &task.answer,
        });
        let answer = tokio::time::timeout(request.timeout, asked).await;
        Ok(match answer {
            Ok(Ok(reply)) => reply_of(task, reply),
            Ok(Err(error)) => failure_reply(task, &error, request),
            Err(_) => failure_reply(task, &ModelError::Timeout(request.timeout), request),
        })
    }
}

impl Adapter for ModelTool {
    fn trouble(&self) -> Option<String> {
        self.tasks.values().find_map(|ready| {
            let key = ready.task.model.settings.key.as_ref();
            let missing = key.and_then(|key| Some(key.resolve(&self.base).err()?.to_string()));
            missing.or_else(|| ready.client.as_ref().err().cloned())
        })
    }

    fn perform<'a>(&'a self, request: &'a Request, _: &'a Redactor) -> CallFuture<'a> {
        Box::pin(async { self.ask(request.find(&self.tasks)?, request).await })
    }
}

/// A task may write an argument more than once; what is reserved counts each once, and what stands
/// around them by the endpoint.
fn check_reserve(user: &str, task: &Task, request: &Request) -> Result<(), Fault> {
    let args = canonical(&Value::Object(request.args.clone())).len();
    let around = canonical(&request.operation.endpoint).len();
    let sent = user.len() + prompt::SYSTEM.len() + canonical(&task.answer).len();
    if sent > args + around {
        let message = "the task repeats its arguments more often than is reserved for them";
        return Err(Fault::no_effect(Class::InvalidArguments, message));
    }
    Ok(())
}

/// What an answer comes to.
fn reply_of(task: &Task, reply: ModelReply) -> Reply {
    let usage = usage(task, &reply);
    let most = task.model.settings.max_tokens;
    let read = match reply.finish {
        FinishReason::Stop => task_kind::read(&reply.text).map_err(Fault::bad_output),
        FinishReason::Length => Err(Fault::bad_output(format!(
            "the answer was cut off after {most} tokens; `max_tokens` says how many it may have"
        ))),
        FinishReason::Refused => Err(Fault::new(
            Class::PermissionDenied,
            Landing::Happened,
            format!("the model would not answer: {}", reply.text),
        )),
    };
    let mut answer = match read {
        Ok(output) => Reply::ok(output, reply.text.into_bytes(), "application/json"),
        Err(fault) => Reply {
            evidence: reply.text.into_bytes(),
            ..fault.into()
        },
    };
    answer.used = usage;
    answer
}

/// What an answer took; none if its server counts nothing, which does not say that it was free.
fn usage(task: &Task, reply: &ModelReply) -> Option<Used> {
    let usage = reply.usage;
    (usage != ModelUsage::default()).then(|| Used {
        model: name_of(&reply.model),
        prompt: PROMPT_VERSION.to_owned(),
        tokens_in: usage.input,
        tokens_cached: usage.cached,
        tokens_out: usage.output,
        cost: task.model.prices.map(|prices| prices.of(&usage)),
    })
}

/// What a request comes to that brought no answer.
fn failure_reply(task: &Task, error: &ModelError, request: &Request) -> Reply {
    let (class, landing) = match error {
        ModelError::NoKey(_) | ModelError::Unavailable(_) => (Class::Unavailable, Landing::None),
        ModelError::Unauthorised(_) => (Class::PermissionDenied, Landing::None),
        ModelError::RateLimited { .. } => (Class::RateLimited, Landing::None),
        ModelError::Refused(_) => (Class::InvalidArguments, Landing::None),
        ModelError::Lost(_) => (Class::Unavailable, Landing::Unknown),
        ModelError::Timeout(_) => (Class::Timeout, Landing::Unknown),
        ModelError::Garbage(_) => (Class::OutputInvalid, Landing::Unknown),
    };
    let message = match error {
        ModelError::Timeout(_) => format!(
            "no whole answer of the model within {}",
            duration::print(request.timeout)
        ),
        other => format!("the model did not answer: {other}"),
    };
    let mut fault = Fault::new(class, landing, message);
    fault.retry_after = error.retry_after();
    let mut reply = Reply::from(fault);
    // Why: what was not answered is not paid, and its reservation is free again.
    reply.used = (!error.may_be_paid()).then(|| Used {
        model: name_of(&task.model.settings.model),
        prompt: PROMPT_VERSION.to_owned(),
        tokens_in: 0,
        tokens_cached: 0,
        tokens_out: 0,
        cost: task.model.prices.map(|_| Money::ZERO),
    });
    reply
}

/// A server's own word for a model, short enough for a line.
fn name_of(model: &str) -> String {
    let words = one_line(model);
    words.chars().take(NAME_CHARS_MAX).collect()
}
