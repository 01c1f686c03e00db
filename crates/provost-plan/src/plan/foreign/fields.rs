//! Fields of a step in another form: order, conditions, attempts, times and failures.
//!
//! Owns what their values mean. Knows no document: what a field is called is the vocabulary's.
//! INVARIANT: a value that is not understood is said to be so, and nothing of it is taken.

use serde_json::Value;

use super::flow;
use super::{ForeignCondition, ForeignStep};
use crate::node::{Kind, Node};

/// Reads what a step waits for, and under which conditions it runs; says whether it was understood.
pub(super) fn guarding(step: &mut ForeignStep, plays: &str, value: &Node) -> bool {
    let json = value.to_value();
    let mut understood = true;
    match (plays, &value.kind) {
        ("needs", _) => match texts(&json) {
            Some(needs) => step.needs = Some(needs),
            None => understood = false,
        },
        // Why nothing: this is what holds of every step that waits for another.
        ("when", Kind::Text(text)) if text.trim_matches(['$', '{', '}', ' ']) == "success()" => {}
        ("when", Kind::Text(_) | Kind::Bool(_)) => step.conditions.push(condition(value, false)),
        ("when", Kind::List(all)) => {
            step.conditions
                .extend(all.iter().map(|one| condition(one, false)));
        }
        ("when (not)", Kind::Text(_)) => step.conditions.push(condition(value, true)),
        ("for_each", Kind::Text(list)) => step.each = Some(list.clone()),
        ("approval", Kind::Bool(_) | Kind::Text(_)) => {
            let no = ["no", "none", "false", "never"];
            let says_no = json.as_str().is_some_and(|text| no.contains(&text));
            step.approval |= json != Value::Bool(false) && !says_no;
        }

        _ => understood = false,
    }
    understood
}

/// Reads how often, how long, and what a failure does; says whether it was understood.
pub(super) fn timing(step: &mut ForeignStep, plays: &str, name: &str, value: &Node) -> bool {
    let json = value.to_value();
    let mut understood = true;
    match (plays, &value.kind) {
        ("on_failure", _) => match json.as_str().and_then(failure) {
            Some(word) => step.on_failure = Some(word),
            None => understood = false,
        },
        ("on_failure: continue", Kind::Bool(on)) => {
            if *on {
                step.on_failure = Some("continue");
            }
        }
        ("retry", Kind::List(one)) if one.len() == 1 => {
            // Why one more: what is counted here are the attempts after the first.
            let one = one.first();
            let count = one.and_then(|one| flow::field(one, "max_attempts"));
            match count.and_then(|count| count.to_value().as_u64()) {
                Some(count) => step.attempts = Some((count + 1).clamp(1, 100)),
                None => understood = false,
            }
            let wait = one.and_then(|one| flow::field(one, "interval_seconds"));
            step.backoff = wait.map(|wait| format!("{}s", wait.to_value()));
        }
        ("retry", _) => match attempts(name, &json) {
            Some(attempts) => {
                step.attempts = Some(attempts);
                let wait = json.get("delay").or_else(|| json.get("backoff"));
                step.backoff = wait.and_then(|wait| timeout("", wait));
            }
            None => understood = false,
        },
        ("timeout", _) => match timeout(name, &json) {
            Some(timeout) => step.timeout = Some(timeout),
            None => understood = false,
        },
        ("retry.backoff", _) => match timeout(name, &json) {
            Some(backoff) => step.backoff = Some(backoff),
            None => understood = false,
        },
        _ => understood = false,
    }
    understood
}

pub(super) fn is_proof(node: &Node) -> bool {
    node.get("for").is_some() && node.get("check").is_some()
}

pub(super) fn condition(value: &Node, negated: bool) -> ForeignCondition {
    let text = match value.to_value() {
        Value::String(text) => text,
        other => other.to_string(),
    };
    ForeignCondition { text, negated }
}

/// Names in a list, or one of them; what stands for none is left out.
pub(super) fn texts(json: &Value) -> Option<Vec<String>> {
    let one = |value: &Value| match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        _ => None,
    };
    let all: Option<Vec<String>> = match json {
        Value::Array(items) => items.iter().map(one).collect(),
        other => one(other).map(|text| vec![text]),
    };
    all.map(|all| all.into_iter().filter(|name| name != "-1").collect())
}

pub(super) fn failure(word: &str) -> Option<&'static str> {
    match word {
        "continue" | "ignore" | "skip" => Some("continue"),
        "stop" | "abort" | "fail" => Some("stop"),
        "replan" => Some("replan"),
        "escalate" | "ask" | "ask_human" => Some("escalate"),
        _ => None,
    }
}

/// How often a step is attempted in all; `retries` counts those after the first.
pub(super) fn attempts(name: &str, json: &Value) -> Option<u64> {
    let count = match json {
        Value::Object(map) => ["attempts", "max_attempts", "max"]
            .iter()
            .find_map(|key| map.get(*key)?.as_u64())?,
        other => other.as_u64()?,
    };
    Some((if name == "retries" { count + 1 } else { count }).clamp(1, 100))
}

pub(super) fn timeout(name: &str, json: &Value) -> Option<String> {
    match json {
        Value::String(text) if crate::duration::parse(text).is_ok() => Some(text.clone()),
        Value::Number(number) if number.is_u64() => {
            let unit = if name.ends_with("minutes") { "m" } else { "s" };
            Some(format!("{number}{unit}"))
        }
        _ => None,
    }
}
