//! A failed attempt, as adapters speak of it while they work.
//!
//! Owns the request an adapter is given and the fault it may answer with. INVARIANT: a fault that
//! is made by [`Fault::no_effect`] is made before anything was done.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use provost_plan::catalog::{Idempotency, KeyCarrier, Operation};
use provost_plan::expr::Expression;
use provost_run::outcome::{Class, Landing, Reply};
use provost_run::trace_parent::TraceParent;
use provost_wire::{SecretError, SecretName};
use serde_json::{Map, Value};

use crate::limits::MESSAGE_CHARS_MAX;

/// What a tool is asked to do: the part of a call that it may see.
#[derive(Clone, Debug)]
pub struct Request {
    pub(crate) operation: Arc<Operation>,
    pub(crate) args: Map<String, Value>,
    pub(crate) key: Option<String>,
    pub(crate) timeout: Duration,
    /// Its place in the trace of its run, where that is known.
    pub(crate) trace: Option<TraceParent>,
}

impl Request {
    /// The operation that is called.
    #[must_use]
    pub fn operation(&self) -> &Operation {
        &self.operation
    }

    /// The arguments: they fit the operation's input schema.
    #[must_use]
    pub fn args(&self) -> &Map<String, Value> {
        &self.args
    }

    /// The idempotency key, where the operation takes one: the same for every attempt.
    #[must_use]
    pub fn key(&self) -> Option<&str> {
        self.key.as_deref()
    }

    /// How long the call may take.
    #[must_use]
    pub fn timeout(&self) -> Duration {
        self.timeout
    }

    /// The name of the operation inside its tool: the part after the dot.
    pub(crate) fn short_name(&self) -> &str {
        let name = &self.operation.name;
        name.split_once('.').map_or(name.as_str(), |(_, op)| op)
    }

    /// What its kind keeps of the operation, by the name inside the tool.
    pub(crate) fn find<'a, T>(&self, operations: &'a BTreeMap<String, T>) -> Result<&'a T, Fault> {
        let short = self.short_name();
        operations.get(short).ok_or_else(|| {
            let message = format!("the tool has no operation `{short}`");
            Fault::no_effect(Class::ToolBug, message)
        })
    }

    /// The key, where the operation takes one, and what carries it.
    pub(crate) fn carried_key(&self) -> Result<Option<(&KeyCarrier, &str)>, Fault> {
        let Idempotency::Key { carrier, .. } = &self.operation.idempotency else {
            return Ok(None);
        };
        let Some(key) = self.key.as_deref() else {
            let message = "the operation takes an idempotency key, and the call has none";
            return Err(Fault::no_effect(Class::ToolBug, message));
        };
        Ok(Some((carrier, key)))
    }

    /// The arguments, with the key among them where one of them carries it; and the key where
    /// something else does.
    pub(crate) fn place_key(&self) -> Result<ArgsAndKey<'_>, Fault> {
        let mut args = self.args.clone();
        let mut key = self.carried_key()?;
        if let Some((KeyCarrier::Arg(name), value)) = key {
            args.insert(name.clone(), value.into());
            key = None;
        }
        Ok((args, key))
    }

    pub(crate) fn text(&self, name: &str) -> Option<&str> {
        self.args.get(name).and_then(Value::as_str)
    }
}

/// The arguments of a call, and its key with what carries it.
type ArgsAndKey<'a> = (Map<String, Value>, Option<(&'a KeyCarrier, &'a str)>);

/// Why an attempt has no output.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Fault {
    pub(crate) class: Class,
    pub(crate) landing: Landing,
    pub(crate) message: String,
    pub(crate) retry_after: Option<Duration>,
    /// The name of the secret that is missing.
    pub(crate) missing_secret: Option<String>,
    /// The argument that the adapter refused for what it is.
    pub(crate) refused_arg: Option<String>,
}

impl Fault {
    pub(crate) fn new(class: Class, landing: Landing, message: impl Into<String>) -> Self {
        Self {
            class,
            landing,
            message: message.into(),
            retry_after: None,
            missing_secret: None,
            refused_arg: None,
        }
    }

    /// Nothing was done, because this secret cannot be read.
    pub(crate) fn missing_secret(secret: &SecretName, error: &SecretError) -> Self {
        Self {
            missing_secret: Some(secret.to_string()),
            ..Self::no_effect(Class::Unavailable, error.to_string())
        }
    }

    /// Nothing was done.
    pub(crate) fn no_effect(class: Class, message: impl Into<String>) -> Self {
        Self::new(class, Landing::None, message)
    }

    /// Nothing was done, because this argument is never taken, whatever the world is like. Why by
    /// adapters alone: what a server says of arguments rests on what it knows.
    pub(crate) fn refused(arg: &str, class: Class, message: impl Into<String>) -> Self {
        Self {
            refused_arg: Some(arg.to_owned()),
            ..Self::no_effect(class, message)
        }
    }

    /// Nothing was done, because of what stands for this expression of the operator's: of an
    /// argument if it is one and nothing else.
    pub(crate) fn refused_value(expression: &Expression, class: Class, message: String) -> Self {
        match expression.source().trim().strip_prefix("args.") {
            Some(arg) if arg.chars().all(|c| c.is_alphanumeric() || c == '_') => {
                Self::refused(arg, class, message)
            }
            _ => Self::no_effect(class, message),
        }
    }

    /// It was done, but what came back cannot be used.
    pub(crate) fn bad_output(message: impl Into<String>) -> Self {
        Self::new(Class::OutputInvalid, Landing::Happened, message)
    }

    pub(crate) fn too_large(bytes: u64, max: u64) -> Self {
        Self::bad_output(format!(
            "the result has {bytes} bytes or more, and `max_bytes` allows {max}"
        ))
    }
}

impl From<Fault> for Reply {
    fn from(fault: Fault) -> Self {
        let mut reply = Self::failed(fault.class, fault.landing, one_line(&fault.message));
        reply.retry_after = fault.retry_after;
        reply.lacks = fault.missing_secret;
        reply.refused_args = fault.refused_arg.into_iter().collect();
        reply
    }
}

/// Brings a message into one printable line of bounded length.
pub(crate) fn one_line(message: &str) -> String {
    let clean = message
        .chars()
        .map(|c| if c.is_control() { ' ' } else { c })
        .collect::<String>();
    let words = clean.split_whitespace().collect::<Vec<_>>().join(" ");
    if words.chars().count() <= MESSAGE_CHARS_MAX {
        return words;
    }
    let kept = words
        .chars()
        .take(MESSAGE_CHARS_MAX - 1)
        .collect::<String>();
    format!("{kept}…")
}
