//! An approval card: what a person says yes or no to.
//!
//! Owns its look. Shows everything that is under the digest and nothing else. INVARIANT: a card
//! whose digest does not fit its content is withheld.

use std::collections::BTreeMap;
use std::time::Duration;

use provost_engine::run::card::{
    Card, CardPreview, CardSubject, ConcreteCall, PreviewResult, StepAsk,
};
use provost_engine::run::earlier::{EarlierCall, EarlierCalls};
use provost_plan::digest::Digest;
use provost_plan::duration;
use provost_plan::label::{Integrity, Label};
use provost_plan::policy::AskTerms;
use provost_plan::reach::needs;
use serde_json::Value;

use super::page::{Page, TextStyle};
use super::scripts;
use super::sentences;
use super::words::{count, moment};

/// The card, or a word on why it is withheld.
pub fn page(digest: &Digest, card: &Card) -> Page {
    let mut page = Page::new();
    if card.digest() != *digest {
        page.bad("a card is withheld: its content is not what its digest says")
            .end();
        return page;
    }
    let title = match &card.subject {
        CardSubject::Plan { steps } => {
            format!("approve {} of the plan?", count(steps.len(), "step"))
        }
        CardSubject::Step { step, calls, .. } if calls.len() > 1 => {
            format!("approve step `{step}`, {}?", count(calls.len(), "call"))
        }
        CardSubject::Step { step, .. } => format!("approve step `{step}`?"),
    };
    page.put(TextStyle::Warn, &title).end();
    page.field("goal", &card.goal);
    page.field(
        "run",
        &format!("{}, revision {} of the plan", card.run, card.revision),
    );
    match &card.subject {
        CardSubject::Plan { steps } => {
            for (id, ask) in steps {
                page.field("step", id);
                step(&mut page, ask);
                earlier(&mut page, &ask.earlier);
            }
        }
        CardSubject::Step { ask, calls, .. } => {
            step(&mut page, ask);
            for concrete in calls {
                call(&mut page, concrete, &ask.labels);
            }
        }
    }
    if card.planned_by.is_some() {
        let foreign: Vec<String> = card.foreign_values().into_iter().collect();
        match foreign.as_slice() {
            [] => page.field("values", "all from the goal, answers and trusted outputs"),
            names => page.put(TextStyle::Warn, "  look twice ").line(&format!(
                "not in the goal, an answer or a trusted output: {}",
                names.join(", ")
            )),
        };
    }
    terms(&mut page, card);
    let texts = texts_of(card);
    for (word, scripts) in scripts::mixed(&texts) {
        page.bad("  look twice ")
            .line(&format!("`{word}` mixes {scripts} letters"));
    }
    for (host, latin) in scripts::imitating(&texts) {
        page.bad("  look twice ").line(&format!(
            "`{host}` is not `{latin}`: its letters are of another script"
        ));
    }
    page.field("digest", &digest.to_string());
    page
}

fn step(page: &mut Page, ask: &StepAsk) {
    if let Some(description) = &ask.description {
        page.field("purpose", description);
    }
    page.field("tool", &ask.operation);
    if let Some(role) = &ask.role {
        page.field("role", role);
    }
    page.field("effect", &sentences::effect_and_risk(ask.effect, ask.risk));
    let policies = sentences::policies(&ask.verdict);
    page.field("policy", policies.trim_start_matches("by "));
    let control = sentences::label(&ask.control);
    if !control.is_empty() {
        page.field("depends on", &control);
    }
    for error in &ask.verdict.errors {
        page.field("error", error);
    }
}

fn call(page: &mut Page, call: &ConcreteCall, labels: &BTreeMap<String, Label>) {
    if let Some(item) = call.item {
        page.field("item", &item.to_string());
    }
    match &call.args {
        Value::Object(args) if !args.is_empty() => {
            // Why first: what nobody trusted wrote anywhere is what there is to look at.
            let is_foreign = |name: &str| {
                let untrusted = |label: &Label| label.integrity != Integrity::Trusted;
                labels.get(name).is_some_and(untrusted) && !call.origins.contains_key(name)
            };
            let (foreign, others): (Vec<_>, Vec<_>) =
                args.iter().partition(|(name, _)| is_foreign(name));
            for (name, value) in foreign.into_iter().chain(others) {
                argument(page, name, value, labels.get(name), call.origins.get(name));
            }
        }
        Value::Object(_) => {
            page.field("arguments", "none");
        }
        other => {
            page.field("arguments", &other.to_string());
        }
    }
    if let Some(preview) = &call.preview {
        shown(page, preview);
    }
    if let Some(repeats) = &call.repeats {
        page.bad("  look twice ")
            .line(&format!("it repeats the call that step `{repeats}` made"));
    }
    earlier(page, &call.earlier);
}

/// The equal calls that other runs made before.
fn earlier(page: &mut Page, calls: &EarlierCalls) {
    for call in &calls.latest {
        let EarlierCall { run, slot, at, .. } = call;
        let (at, outcome) = (moment(*at), call.outcome());
        page.bad("  look twice ").line(&format!(
            "made before: run {run}, step `{slot}`, {at}, {outcome}"
        ));
    }
    let named = u64::try_from(calls.latest.len()).unwrap_or(u64::MAX);
    if calls.count > named {
        let more = calls.count - named;
        page.bad("  look twice ")
            .line(&format!("made before: {more} times more"));
    }
}

/// One argument, with where its value stands, or what it is worth.
fn argument(
    page: &mut Page,
    name: &str,
    value: &Value,
    label: Option<&Label>,
    origin: Option<&String>,
) {
    let from = label.map(sentences::label).unwrap_or_default();
    page.faint("  argument   ")
        .strong(name)
        .text(&format!(": {value}"));
    match origin {
        Some(origin) => {
            page.faint(&format!("  (from {origin})"));
        }
        None if !from.is_empty() => {
            page.put(TextStyle::Warn, &format!("  ({from})"));
        }
        None => {}
    }
    page.end();
}

/// What a read showed of what a call is about, or why it showed nothing.
fn shown(page: &mut Page, preview: &CardPreview) {
    let asked = match &preview.args {
        Value::Object(args) if args.is_empty() => String::new(),
        Value::Null => String::new(),
        args => format!(" {args}"),
    };
    let at = preview.at.map(|at| format!(", read at {}", moment(at)));
    page.field(
        "about it",
        &format!("{}{asked}{}", preview.tool, at.unwrap_or_default()),
    );
    let shown = match &preview.came {
        PreviewResult::Failed(reason) => {
            page.put(TextStyle::Warn, "               could not be read: ")
                .line(reason);
            return;
        }
        PreviewResult::Shown(shown) => shown,
    };
    match &shown.value {
        Value::Object(fields) if !fields.is_empty() => {
            for (name, value) in fields {
                page.text("               ")
                    .strong(name)
                    .line(&format!(": {value}"));
            }
        }
        other => {
            page.line(&format!("               {other}"));
        }
    }
    if shown.untrusted {
        page.put(TextStyle::Warn, "               untrusted: ")
            .line("this is what the tool says, and the tool is not believed");
    }
    if shown.cut {
        let whole = preview.evidence.map(|digest| digest.short());
        page.put(TextStyle::Warn, "               cut: ")
            .line(&format!(
                "the whole is evidence {}",
                whole.unwrap_or_default()
            ));
    }
}

fn terms(page: &mut Page, card: &Card) {
    // Why without the expiry: the card says when it lapses, to the second.
    let needs = needs(&AskTerms {
        expires_ms: None,
        valid_ms: None,
        ..card.terms.clone()
    });
    page.field("needs", &needs);
    page.field(
        "requested",
        &format!("by {} at {}", card.requester, moment(card.asked_at)),
    );
    if let Some(planner) = &card.planned_by {
        page.field("planned by", &format!("{planner}, for {}", card.requester));
    }
    for (step, fields) in &card.authors {
        for (field, people) in fields {
            let people: Vec<&str> = people.iter().map(String::as_str).collect();
            page.field(
                "written",
                &format!("{step}.{field}: by {}", people.join(", ")),
            );
        }
    }
    if !card.amended_by.is_empty() {
        let people: Vec<&str> = card.amended_by.iter().map(String::as_str).collect();
        let people = people.join(", ");
        page.field(
            "built on",
            &format!("what {people} wrote, who may not approve it"),
        );
    }
    if let Some(at) = card.expires_at {
        let then = sentences::lapse(card.terms.on_expiry);
        page.field("expires", &format!("at {}, then {then}", moment(at)));
    }
    if card.terms.valid_ms.is_some() {
        let time = Duration::from_millis(card.terms.valid().unsigned_abs());
        page.field(
            "counts",
            &format!("for {} after the yes", duration::words(time)),
        );
    }
    if card.solo {
        page.put(TextStyle::Warn, "  solo       ")
            .line("this workspace is solo: the requester may also approve");
    }
}

/// Every text on the card, a line each.
fn texts_of(card: &Card) -> String {
    fn texts(value: &Value, out: &mut String) {
        match value {
            Value::String(text) => {
                out.push_str(text);
                out.push('\n');
            }
            Value::Array(items) => items.iter().for_each(|item| texts(item, out)),
            Value::Object(map) => map.iter().for_each(|(key, item)| {
                out.push_str(key);
                out.push('\n');
                texts(item, out);
            }),
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }
    let mut all = String::new();
    texts(&serde_json::to_value(card).unwrap_or_default(), &mut all);
    all
}
