//! Messages of models, and tasks in a map: parts of documents that have no list of steps.
//!
//! Owns by what such parts are known. INVARIANT: what is only said, thought or answered is no step.

use super::call;
use super::flow;
use crate::node::{Kind, Node};
use crate::source::Spanned;

/// Whether each entry of a map is a task: what is to be done, with what is expected of whom.
pub(super) fn is_tasks(entries: &[(Spanned<String>, Node)]) -> bool {
    let has = |node: &Node, name: &str| flow::text(node, name).is_some();
    let mut all = entries.iter().map(|(_, value)| value);
    !entries.is_empty()
        && all.all(|task| {
            has(task, "description") && (has(task, "expected_output") || has(task, "agent"))
        })
}

/// Whether a part of a message is said, thought or answered, and calls nothing.
pub(super) fn is_said(node: &Node) -> bool {
    let kind = flow::text(node, "type");
    let said = [
        "text",
        "tool_result",
        "function_call_output",
        "reasoning",
        "thinking",
    ];
    kind.is_some_and(|kind| said.contains(&kind.as_str()))
}

/// Whether a list holds parts of messages.
pub(super) fn holds_messages(node: &Node) -> bool {
    let Kind::List(items) = &node.kind else {
        return false;
    };
    let is_call = |node: &Node| call::is_call_part(node);
    items.iter().any(is_call)
}
