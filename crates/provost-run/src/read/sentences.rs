//! Sentences about a step that its approval card and the review of its plan share.
//!
//! Owns the words for effect and risk, for who decided, who is asked and until when, and for where
//! a value comes from. Decides nothing. INVARIANT: card and review say the same of the same step.

use provost_plan::catalog::{Effect, Risk};
use provost_plan::label::{Integrity, Label};
use provost_plan::policy::{Decision, OnExpiry, Verdict};
use provost_plan::reach::{ValueOrigin, needs};

/// Most steps that are named as the source of a value.
const SOURCES_MAX: usize = 4;

/// What a call does to the world.
#[must_use]
pub fn effect_and_risk(effect: Effect, risk: Risk) -> String {
    format!("{}, {} risk", effect.word(), risk.word())
}

/// The policies that decided, in short form, with what is left open.
#[must_use]
pub fn policies(verdict: &Verdict) -> String {
    let names = policy_names(verdict);
    let by = if names.is_empty() {
        String::new()
    } else {
        format!("by {}", names.join(", "))
    };
    match &verdict.condition {
        Some(condition) if by.is_empty() => condition.clone(),
        Some(condition) => format!("{by}; {condition}"),
        None => by,
    }
}

fn policy_names(verdict: &Verdict) -> Vec<String> {
    let short = |id: &String| {
        let name = id.rsplit(['/', '#']).next().unwrap_or(id);
        name.to_owned()
    };
    verdict.policies.iter().map(short).collect()
}

/// Who is asked about a call, until when, and by which policies.
#[must_use]
pub fn asks(verdict: &Verdict) -> String {
    let names = policy_names(verdict);
    let by = match names.is_empty() {
        true => String::new(),
        false => format!(" ({})", names.join(", ")),
    };
    match verdict.decision {
        Decision::Permit => format!("nobody{by}"),
        Decision::Forbid => format!("nobody: it is forbidden{by}"),
        Decision::Ask => {
            let terms = verdict.ask.clone().unwrap_or_default();
            let lapse = match terms.expires_ms {
                Some(_) => format!(", without an answer {}", lapse(terms.on_expiry)),
                None => String::new(),
            };
            let condition = verdict.condition.iter();
            let condition: String = condition.map(|one| format!("; {one}")).collect();
            format!("{}{lapse}{by}{condition}", needs(&terms))
        }
    }
}

/// What happens if nobody answers in time.
#[must_use]
pub fn lapse(on_expiry: OnExpiry) -> &'static str {
    match on_expiry {
        OnExpiry::Fail => "the step fails",
        OnExpiry::Replan => "another plan is made",
    }
}

/// Where a value came from, in words; empty if it is trusted.
#[must_use]
pub fn label(label: &Label) -> String {
    let words = trust(label);
    if words.is_empty() {
        return String::new();
    }
    let sources: Vec<&str> = label.sources.iter().map(String::as_str).collect();
    match sources.is_empty() {
        true => words,
        false => format!("{words} from {}", sources.join(", ")),
    }
}

/// What is to be known of a value before its source: that it is not trusted, or secret.
fn trust(label: &Label) -> String {
    let mut words = Vec::new();
    match label.integrity {
        Integrity::Trusted => {}
        Integrity::Data => words.push("untrusted data"),
        Integrity::Text => words.push("untrusted text"),
    }
    if label.secret {
        words.push("secret");
    }
    words.join(", ")
}

/// The first of many sources: the rest stands beside the steps that they are.
fn nearest(sources: &[&str]) -> String {
    match sources.split_at_checked(SOURCES_MAX) {
        _ if sources.is_empty() => String::new(),
        Some((first, rest)) if rest.len() > 1 => {
            format!(" from {} and {} more", first.join(", "), rest.len())
        }
        _ => format!(" from {}", sources.join(", ")),
    }
}

/// Where a value comes from: the steps and parameters that its own expressions read.
#[must_use]
pub fn origin(value: &ValueOrigin) -> String {
    let words = trust(&value.label);
    if !words.is_empty() {
        let all = [&value.untrusted, &value.steps, &value.label.sources];
        let sources = all.into_iter().find(|steps| !steps.is_empty());
        let sources: Vec<&str> = sources.into_iter().flatten().map(String::as_str).collect();
        return format!("{words}{}", nearest(&sources));
    }
    let outputs: Vec<&String> = value.steps.difference(&value.answers).collect();
    let answers: Vec<&String> = value.answers.difference(&value.defaults).collect();
    let mut parts = Vec::new();
    for (kind, names) in [
        ("trusted, from", outputs),
        ("answer of", answers),
        ("answer or default of", value.defaults.iter().collect()),
        ("parameter", value.params.iter().collect()),
    ] {
        let names: Vec<&str> = names.into_iter().map(String::as_str).collect();
        if !names.is_empty() {
            parts.push(format!("{kind} {}", names.join(", ")));
        }
    }
    match parts.is_empty() {
        true if value.literal => "literal".to_owned(),
        true => "this run".to_owned(),
        false => parts.join("; "),
    }
}
