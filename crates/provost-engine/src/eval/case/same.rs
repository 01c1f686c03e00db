//! Whether a replay is the run: event by event, for each step and for all that is planned.
//!
//! Owns what may differ: moments, ids drawn by chance, and digests that rest on them or on where
//! services stand. Steps that ran beside each other may have ended in another order. INVARIANT: an
//! argument, an answer, a class, a status, a verdict or a claim that differs is found; where values
//! were replaced, all of these but what is a value.

use std::collections::BTreeMap;

use provost_run::event::Event;
use provost_run::read::why::{Judgment, Witnesses, why};
use provost_run::state::waiting;
use serde_json::Value;

use super::Replayed;

/// Fields that hold a moment, an id or a digest over one.
const APART: [&str; 29] = [
    "run",
    "key",
    "at",
    "asked_at",
    "expires_at",
    "retry_at",
    "took_us",
    "waited_us",
    "valid_until",
    "until",
    "reconcile_at",
    "said",
    "nonce",
    "card",
    "question",
    "digest",
    "approval",
    "attempt_digest",
    "request",
    "tool",
    "tools",
    "closure",
    "terms",
    "sinks",
    "policy",
    "limits",
    "principal",
    // Of other runs, which a case does not know.
    "earlier",
    // That of whoever replays it.
    "provost",
];

/// The number of events, if they are the same.
///
/// # Errors
/// The first difference, in words.
pub(super) fn compare(run: &[(Event, i64)], replay: &[(Event, i64)]) -> Result<usize, String> {
    beside(&by_subject(run, without), &by_subject(replay, without))
}

/// Closed words of payloads, by which a case is the same whatever its values are.
const SHAPE: [&str; 8] = [
    "class", "landing", "status", "settled", "lost", "unsent", "decision", "code",
];
/// Fields with values of the run, in which such a name is one of theirs.
const VALUES: [&str; 9] = [
    "output", "args", "value", "items", "document", "card", "question", "answer", "request",
];

/// Whether a case whose values were replaced comes to the same as before.
///
/// # Errors
/// The first difference, in words.
pub(super) fn compare_shape(case: &Replayed, replaced: &Replayed) -> Result<(), String> {
    let events = |replayed: &Replayed| by_subject(&replayed.history.events, shape);
    beside(&events(case), &events(replaced))?;
    let verdicts = [case, replaced].map(|replayed| {
        let history = &replayed.history;
        let waits = waiting(&history.state);
        why(&history.events, &waits, &Witnesses::default())
    });
    let [one, other] = &verdicts;
    let told = |verdict: &Judgment| (verdict.guilty, verdict.party, verdict.cause);
    if told(one) != told(other) || (&one.step, one.certainty) != (&other.step, other.certainty) {
        return Err("the verdict differs".to_owned());
    }
    let graders = case.report.graders.iter().zip(&replaced.report.graders);
    for (was, is) in graders {
        if (&was.name, was.held) != (&is.name, is.held) {
            return Err(format!("the grader `{}` differs", was.name));
        }
    }
    Ok(())
}

/// A payload without its values.
fn shape(value: Value) -> Value {
    match value {
        Value::Object(map) => {
            let kept = map.into_iter().filter_map(|(name, value)| match value {
                _ if VALUES.contains(&name.as_str()) => None,
                Value::Object(_) | Value::Array(_) => Some((name, shape(value))),
                value => SHAPE.contains(&name.as_str()).then_some((name, value)),
            });
            kept.collect()
        }
        Value::Array(items) => items.into_iter().map(shape).collect(),
        _ => Value::Null,
    }
}

type Subjects = BTreeMap<String, Vec<Kept>>;

fn beside(run: &Subjects, replay: &Subjects) -> Result<usize, String> {
    for (subject, events) in run {
        let found = replay.get(subject).map(Vec::as_slice).unwrap_or_default();
        for (at, (kind, wanted)) in events.iter().enumerate() {
            let Some((other_kind, other)) = found.get(at) else {
                return Err(format!("{subject}: {kind} did not come again"));
            };
            if kind != other_kind {
                return Err(format!("{subject}: {kind} was, and {other_kind} is"));
            }
            if wanted != other {
                let field = first_difference(wanted, other);
                return Err(format!("{subject}: {kind} differs in `{field}`"));
            }
        }
        if let Some((kind, _)) = found.get(events.len()) {
            return Err(format!("{subject}: {kind} came besides"));
        }
    }
    match replay.keys().find(|subject| !run.contains_key(*subject)) {
        Some(subject) => Err(format!("{subject} came besides")),
        None => Ok(run.values().map(Vec::len).sum()),
    }
}

type Kept = (&'static str, Value);

/// The events by what they are about: a step or an item, or the run as a whole.
fn by_subject(events: &[(Event, i64)], keep: fn(Value) -> Value) -> Subjects {
    let mut all = Subjects::new();
    for (event, _) in events {
        // That another process went on is nothing that came of the run.
        if matches!(event, Event::Resumed { by: None, .. }) {
            continue;
        }
        let (_, _, payload) = event.to_stored();
        let slot = payload.get("slot");
        let subject = match slot
            .and_then(|slot| slot.get("step"))
            .and_then(Value::as_str)
        {
            Some(step) => match slot.and_then(|slot| slot.get("item")) {
                Some(item) => format!("step `{step}`, item {item}"),
                None => format!("step `{step}`"),
            },
            None => "the run".to_owned(),
        };
        let kept = all.entry(subject).or_default();
        kept.push((event.kind(), keep(payload)));
    }
    all
}

/// A payload without what may differ. The text and the schema of a question stay, whose field is
/// called as that of its digest.
fn without(value: Value) -> Value {
    match value {
        Value::Object(map) => {
            let kept = map.into_iter().filter(|(name, value)| {
                let is_part = value.is_object() && (name == "card" || name == "question");
                !APART.contains(&name.as_str()) || is_part
            });
            kept.map(|(name, value)| (name, without(value))).collect()
        }
        Value::Array(items) => items.into_iter().map(without).collect(),
        other => other,
    }
}

fn first_difference(one: &Value, other: &Value) -> String {
    match (one, other) {
        (Value::Object(one), Value::Object(other)) => {
            let names = one.keys().chain(other.keys());
            for name in names {
                let (a, b) = (one.get(name), other.get(name));
                if a != b {
                    return match (a, b) {
                        (Some(a), Some(b)) if a.is_object() || a.is_array() => {
                            let rest = first_difference(a, b);
                            format!("{name}.{rest}").trim_end_matches('.').to_owned()
                        }
                        _ => name.clone(),
                    };
                }
            }
            String::new()
        }
        (Value::Array(one), Value::Array(other)) => {
            let pairs = one.iter().zip(other).enumerate();
            let found = pairs.filter(|(_, (a, b))| a != b).map(|(at, _)| at).next();
            found.unwrap_or(one.len().min(other.len())).to_string()
        }
        _ => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn moments_may_differ_and_values_may_not() {
        let payload = |at: i64, total: u64| json!({ "output": { "row": { "total": total } }, "retry_at": at, "tool": "x" });
        assert_eq!(without(payload(1, 9)), without(payload(2, 9)));
        let (one, other) = (without(payload(1, 9)), without(payload(1, 8)));
        assert_eq!(first_difference(&one, &other), "output.row.total");
    }
}
