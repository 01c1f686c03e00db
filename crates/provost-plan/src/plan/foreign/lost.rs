//! What a foreign document says, and whether it stands in the plan that is made of it.
//!
//! Owns which of its texts and numbers have to be found again, and what counts as found. Reads no
//! form: it is the net below all who do. INVARIANT: a text that no reader took comes back from
//! here, whatever the shape it stood in.

use std::collections::BTreeSet;

use super::call;
use super::expression::ForeignNames;
use super::flow::{self, FlowEdge};
use super::messages::is_said;
use super::names::{id_of, is_answer, tool_of, word};
use super::words::{is_in, is_structure, means};
use crate::catalog::Catalog;
use crate::node::{Kind, Node};

/// What an attempt or a failure that is caught is said by.
const OF_ATTEMPTS: &str = "error_equals backoff_rate strategy attempts max_attempts max delay \
    max_delay max_delay_seconds interval interval_seconds backoff jitter_strategy next";

/// A text or a number of a document.
#[derive(Clone, Debug)]
pub(super) struct ForeignText {
    /// Where it stands, as the fields that lead to it.
    place: String,
    text: String,
    is_number: bool,
}

/// What a document says, without what only structures it.
pub(super) fn texts(node: &Node, edges: &[FlowEdge]) -> Vec<ForeignText> {
    let mut named = BTreeSet::new();
    names(node, &mut named);
    let to = edges.iter().map(|edge| edge.to.as_str());
    let from = edges.iter().map(|edge| edge.from.as_str());
    let mut reader = TextReader {
        joined: to.filter(|to| named.contains(to)).chain(from).collect(),
        found: Vec::new(),
    };
    reader.walk(node, "", "");
    reader.found
}

/// What the parts of a document are called.
fn names<'n>(node: &'n Node, found: &mut BTreeSet<&'n str>) {
    match &node.kind {
        Kind::Map(entries) => {
            for (key, value) in entries {
                found.insert(&key.value);
                match &value.kind {
                    Kind::Text(text) if means(&word(&key.value)) == Some("id") => {
                        found.insert(text);
                    }
                    _ => names(value, found),
                }
            }
        }
        Kind::List(items) => items.iter().for_each(|item| names(item, found)),
        _ => {}
    }
}

struct TextReader<'e> {
    /// What edges join: a step, a gate that is none, or where all ends.
    joined: BTreeSet<&'e str>,
    found: Vec<ForeignText>,
}

impl TextReader<'_> {
    fn walk(&mut self, node: &Node, place: &str, under: &str) {
        match &node.kind {
            Kind::Map(entries) if !is_said(node) => {
                let is_message = node.get("role").is_some();
                for (key, value) in entries {
                    let name = word(&key.value);
                    let is_text = matches!(value.kind, Kind::Text(_));
                    let said = is_message && name == "content" && is_text;
                    let is_class = under == "data" && name == "id" && !is_text;
                    let is_failure = ends_all(node) && matches!(name.as_str(), "error" | "cause");
                    if said
                        || is_class
                        || is_failure
                        || is_structure(&name) && !is_job(&name, value)
                    {
                        continue;
                    }
                    // Why the outer: what stands in an attempt or a failure is of it.
                    let under = match is_measure(under) && is_in(OF_ATTEMPTS, &name) {
                        true => under,
                        false => &name,
                    };
                    self.walk(value, &joined(place, &key.value), under);
                }
            }
            Kind::List(items) => {
                for (at, item) in items.iter().enumerate() {
                    self.walk(item, &joined(place, &at.to_string()), under);
                }
            }
            Kind::Text(text) if !text.trim().is_empty() => self.text(text, place, under),
            Kind::Number(number) if !is_measure(under) && !is_reference(under) => {
                self.found.push(ForeignText {
                    place: place.to_owned(),
                    text: number.to_string(),
                    is_number: true,
                })
            }
            _ => {}
        }
    }

    fn text(&mut self, text: &str, place: &str, under: &str) {
        let is_id = means(under) == Some("id") && !text.contains(char::is_whitespace);
        let is_name = is_id || self.joined.contains(text) || flow::is_end(text);
        let is_name = is_name || is_measure(under);
        let is_none = text == "-1" || text == "tools/call" || text.contains("success()");
        // Why: some forms hold the arguments of a call as JSON in a text.
        let inner = call::ARGS
            .contains(&under)
            .then(|| crate::node::parse_yaml(text).ok());
        match inner.flatten() {
            Some(inner) if matches!(inner.kind, Kind::Map(_)) => self.walk(&inner, place, under),
            _ if is_name || is_none || is_answer(text) => {}
            _ => self.found.push(ForeignText {
                place: place.to_owned(),
                text: text.to_owned(),
                is_number: false,
            }),
        }
    }
}

/// Whether a number under a field is the name of a step.
fn is_reference(name: &str) -> bool {
    matches!(means(name), Some("id" | "needs"))
}

/// Whether a map says only that all ends there.
fn ends_all(node: &Node) -> bool {
    flow::text(node, "type").is_some_and(|kind| kind == "Fail" || kind == "Succeed")
}

/// Whether a field holds what happens although others of its name hold none.
fn is_job(name: &str, value: &Node) -> bool {
    name == "process" && matches!(value.kind, Kind::Map(_))
}

/// Whether a field says how often or how long, which a plan has in units of its own.
fn is_measure(name: &str) -> bool {
    matches!(
        means(name),
        Some("retry" | "retry.backoff" | "timeout" | "on_failure" | "on_failure: stop")
    )
}

fn joined(place: &str, key: &str) -> String {
    match place {
        "" => key.to_owned(),
        place => format!("{place}.{key}"),
    }
}

/// The texts that stand neither in the plan nor in what is open, with their places.
pub(super) fn lost(
    texts: &[ForeignText],
    plan: &str,
    open: &[&str],
    names: &ForeignNames,
    catalog: &Catalog,
) -> Vec<(String, String)> {
    let kept = plain(&format!("{plan}\n{}", open.join("\n")));
    let read = names.read.borrow();
    let read: Vec<String> = read.iter().map(|text| plain(text)).collect();
    let kept = format!("{kept}\n{}", read.join("\n"));
    let is_kept = |one: &ForeignText| {
        let text = plain(&one.text);
        let bare = one.text.trim().trim_start_matches("$.");
        let is_tool = || tool_of(bare, catalog).is_ok_and(|tool| stands_in(tool, &kept, false));
        names.steps.contains_key(bare)
            || stands_in(&text, &kept, one.is_number)
            || names.ids.contains(&id_of(bare))
            || is_tool()
    };
    let mut seen = BTreeSet::new();
    let lost = texts.iter().filter(|one| !is_kept(one));
    let lost = lost.filter(|one| seen.insert((&one.place, &one.text)));
    lost.map(|one| (one.place.clone(), one.text.clone()))
        .collect()
}

/// A text without the signs around and within it that a notation asks for.
fn plain(text: &str) -> String {
    let text = text.replace("\\n", " ").replace(['\\', '"', '\'', '`'], "");
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Whether a text stands in another as whole words; a number also before its unit.
fn stands_in(text: &str, within: &str, is_number: bool) -> bool {
    let is_part = |c: char| c.is_alphanumeric() && (!is_number || c.is_ascii_digit());
    let begins = text.starts_with(is_part);
    let ends = text.ends_with(is_part);
    within.match_indices(text).any(|(at, _)| {
        let before = within
            .get(..at)
            .and_then(|before| before.chars().next_back());
        let after = within
            .get(at + text.len()..)
            .and_then(|after| after.chars().next());
        !(begins && before.is_some_and(is_part) || ends && after.is_some_and(is_part))
    })
}
