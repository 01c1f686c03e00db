//! The calls of a case: what was asked of tools, and what came back.
//!
//! Owns the lines of `calls.jsonl`, and how they are read out of a journal. INVARIANT: a reply is
//! the one that the machine was given, or there is no case.

use std::collections::BTreeMap;
use std::path::Path;

use provost_plan::digest::Digest;
use provost_run::call::Slot;
use provost_run::event::{AttemptEnded, AttemptStarted, Event};
use provost_run::outcome::{Class, Landing, Reply};
use provost_tools::RecordedCall;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::anonymize::Anonymizer;
use super::{CaseError, args_digest, line, unfit};
use crate::store::Store;
use crate::workspace::Workspace;

/// A line of the file.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Line {
    operation: String,
    /// For readers: replies are looked up by the arguments themselves.
    args_digest: Digest,
    args: Value,
    class: Class,
    landing: Landing,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    output: Option<Value>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    message: Option<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    refused_args: Vec<String>,
    evidence: String,
    media: String,
}

/// A call as a line.
pub(super) fn to_line(call: &RecordedCall) -> String {
    let written = Line {
        operation: call.operation.clone(),
        args_digest: args_digest(&call.args),
        args: call.args.clone(),
        class: call.reply.class,
        landing: call.reply.landing,
        output: call.reply.output.clone(),
        message: call.reply.message.clone(),
        refused_args: call.reply.refused_args.clone(),
        evidence: String::from_utf8_lossy(&call.reply.evidence).into_owned(),
        media: call.reply.media.clone(),
    };
    line(&serde_json::to_value(written).unwrap_or_default())
}

/// The same call with what stands for its values.
pub(super) fn replaced(call: &RecordedCall, shown: &Anonymizer) -> RecordedCall {
    let reply = call.reply.clone();
    RecordedCall {
        operation: call.operation.clone(),
        args: shown.value(&call.args),
        reply: Reply {
            output: reply.output.as_ref().map(|output| shown.value(output)),
            evidence: shown.bytes(&reply.evidence),
            message: reply.message.as_deref().map(|message| shown.text(message)),
            ..reply
        },
    }
}

/// The texts of a call that came from the run.
pub(super) fn texts(call: &RecordedCall) -> Vec<String> {
    let mut found: Vec<String> = call.reply.message.iter().cloned().collect();
    match serde_json::from_slice(&call.reply.evidence) {
        Ok(value) => of_value(&value, &mut found),
        Err(_) => found.push(String::from_utf8_lossy(&call.reply.evidence).into_owned()),
    }
    let values = std::iter::once(&call.args).chain(&call.reply.output);
    values.for_each(|value| of_value(value, &mut found));
    found
}

fn of_value(value: &Value, found: &mut Vec<String>) {
    match value {
        Value::Array(items) => items.iter().for_each(|item| of_value(item, found)),
        Value::Object(map) => {
            for (key, value) in map {
                found.push(key.clone());
                of_value(value, found);
            }
        }
        Value::String(text) => found.push(text.clone()),
        Value::Number(number) => found.push(number.to_string()),
        Value::Null | Value::Bool(_) => {}
    }
}

/// Reads the calls of a case.
///
/// # Errors
/// In words for people, with the line.
pub(in crate::eval) fn read(path: &Path) -> Result<Vec<RecordedCall>, String> {
    let shown = path.display();
    let text = std::fs::read_to_string(path).map_err(|error| format!("{shown}: {error}"))?;
    let lines = text.lines().enumerate();
    let lines = lines.filter(|(_, line)| !line.trim().is_empty());
    lines
        .map(|(at, line)| {
            let failed = |error| format!("{shown}, line {}: {error}", at + 1);
            let line: Line = serde_json::from_str(line).map_err(failed)?;
            Ok(RecordedCall {
                operation: line.operation,
                args: line.args,
                reply: Reply {
                    class: line.class,
                    landing: line.landing,
                    output: line.output,
                    evidence: line.evidence.into_bytes(),
                    media: line.media,
                    message: line.message,
                    retry_after: None,
                    lacks: None,
                    refused_args: line.refused_args,
                    used: None,
                    time: None,
                },
            })
        })
        .collect()
}

/// The calls of a run.
#[derive(Default)]
pub(super) struct CallsMade {
    /// In the order in which they began.
    pub(super) calls: Vec<RecordedCall>,
    /// The values in them that are secret, by what was called.
    pub(super) secrets: Vec<(String, Value)>,
}

/// The calls of a run.
pub(super) fn of_journal(
    store: &Store,
    events: &[(Event, i64)],
    workspace: &Workspace,
) -> Result<CallsMade, CaseError> {
    let mut outputs: BTreeMap<Digest, &Value> = BTreeMap::new();
    let mut ends: BTreeMap<(&Slot, u32), &AttemptEnded> = BTreeMap::new();
    for (event, _) in events {
        match event {
            Event::ObservationMade {
                output, evidence, ..
            } => drop(outputs.insert(*evidence, output)),
            Event::AttemptEnded(ended) => {
                let of_attempt = (&ended.slot, ended.attempt);
                if ended.attempt == 0 && ends.contains_key(&of_attempt) {
                    return Err(unfit("a card showed more than one call beforehand"));
                }
                ends.insert(of_attempt, ended);
            }
            _ => {}
        }
    }
    let mut made = CallsMade::default();
    for (event, _) in events {
        let Event::AttemptStarted(started) = event else {
            continue;
        };
        let gives_secret = gives_secret(started, workspace)?;
        let Some(ended) = ends.get(&(&started.slot, started.attempt)) else {
            return Err(unfit(format!("`{}` never ended", started.operation)));
        };
        let call = call(store, started, ended, &outputs)?;
        let mut keep = |value: &Value| {
            let of = (call.operation.clone(), value.clone());
            made.secrets.push(of);
        };
        let args = call.args.as_object().into_iter().flatten();
        let secret = args.filter(|(name, _)| started.secret_args.contains(*name));
        secret.for_each(|(_, value)| keep(value));
        if gives_secret {
            call.reply.output.iter().for_each(&mut keep);
            let bytes = &call.reply.evidence;
            let text = || Value::String(String::from_utf8_lossy(bytes).into_owned());
            keep(&serde_json::from_slice(bytes).unwrap_or_else(|_| text()));
        }
        made.calls.push(call);
    }
    Ok(made)
}

/// Whether an operation gives a secret, as it was when it was called.
fn gives_secret(started: &AttemptStarted, workspace: &Workspace) -> Result<bool, CaseError> {
    let catalog = workspace.catalog();
    if catalog.digest(&started.operation) != Some(started.tool) {
        let message = "is another now than the one that was called";
        return Err(unfit(format!("`{}` {message}", started.operation)));
    }
    let operation = catalog.get(&started.operation);
    Ok(operation.is_none_or(|operation| operation.secret))
}

fn call(
    store: &Store,
    started: &AttemptStarted,
    ended: &AttemptEnded,
    outputs: &BTreeMap<Digest, &Value>,
) -> Result<RecordedCall, CaseError> {
    let name = &started.operation;
    if ended.lost || ended.unsent {
        return Err(unfit(format!(
            "an answer of `{name}` was lost with its process"
        )));
    }
    if ended.used.is_some() {
        return Err(unfit(format!("`{name}` is a model")));
    }
    let kept = match &ended.evidence {
        Some(digest) => store.evidence(digest)?,
        None => None,
    };
    let (bytes, media) = kept.map_or_else(Default::default, |kept| (kept.bytes, kept.media));
    if std::str::from_utf8(&bytes).is_err() {
        return Err(unfit(format!("an answer of `{name}` is no text")));
    }
    let observed = ended
        .evidence
        .as_ref()
        .and_then(|digest| outputs.get(digest));
    let output = match (ended.class, observed) {
        (Class::Ok, Some(output)) => Some((*output).clone()),
        // Why from the bytes: what was read on the way is no observation of a step.
        (Class::Ok, None) => serde_json::from_slice(&bytes).ok(),
        _ => None,
    };
    if ended.class == Class::Ok && output.is_none() {
        return Err(unfit(format!(
            "the journal does not hold what `{name}` gave"
        )));
    }
    Ok(RecordedCall {
        operation: name.clone(),
        args: started.args.clone(),
        reply: Reply {
            class: ended.class,
            landing: ended.landing,
            output,
            evidence: bytes,
            media,
            message: ended.message.clone(),
            retry_after: None,
            lacks: None,
            refused_args: ended.refused_args.clone(),
            used: None,
            time: None,
        },
    })
}
