//! Reads a foreign document that is a flowchart in Mermaid's notation.
//!
//! Owns nodes, their labels and the arrows between them. INVARIANT: what stands at an arrow, or
//! leads through a node in which nothing is called, is a condition of the step behind it.

use std::collections::BTreeMap;

use super::flow::{self, FlowEdge};
use super::names::tool_of;
use super::{ForeignPlan, ForeignStep};
use crate::catalog::Catalog;

/// Arrows, the longest first.
const ARROWS: [&str; 5] = ["-.->", "-->", "==>", "---", "->"];

/// A node as it is written: its name, and its label with the sign that opens it.
struct DiagramNode<'t> {
    name: &'t str,
    label: Option<(char, &'t str)>,
}

/// Reads a text; none if it holds no flowchart with steps.
pub(super) fn read(text: &str, catalog: &Catalog) -> Option<ForeignPlan> {
    let is_head = |line: &&str| {
        let first = line.split_whitespace().next();
        matches!(first, Some("flowchart" | "graph")) && line.split_whitespace().count() <= 2
    };
    let mut lines = text.lines().map(|line| line.trim().trim_end_matches(';'));
    let title = text.lines().find_map(|line| line.strip_prefix("# "));
    lines.find(is_head)?;
    let mut labels: BTreeMap<&str, (char, &str)> = BTreeMap::new();
    let mut order: Vec<&str> = Vec::new();
    let mut edges = Vec::new();
    for line in lines.take_while(|line| !line.starts_with("```")) {
        if line.starts_with("%%") || line.starts_with("classDef") || line.starts_with("style") {
            continue;
        }
        let (nodes, said) = row(line);
        for node in &nodes {
            if !order.contains(&node.name) {
                order.push(node.name);
            }
            if let Some(label) = node.label {
                labels.insert(node.name, label);
            }
        }
        for (pair, said) in nodes.windows(2).zip(said) {
            if let [from, to] = pair {
                edges.push(FlowEdge {
                    from: from.name.to_owned(),
                    to: to.name.to_owned(),
                    condition: said.map(str::to_owned),
                });
            }
        }
    }
    for edge in &mut edges {
        if let (Some(said), Some(('{', asked))) = (&edge.condition, labels.get(edge.from.as_str()))
        {
            edge.condition = Some(format!("{asked} {said}"));
        }
    }
    let steps = order.iter().filter_map(|name| step(name, &labels, catalog));
    let mut draft = ForeignPlan {
        form: "a flowchart",
        goal: title.map(|title| (0, title.trim().to_owned())),
        steps: steps.collect(),
        ..ForeignPlan::default()
    };
    flow::follow(&mut draft, &edges);
    (!draft.steps.is_empty()).then_some(draft)
}

/// The step that a node is; none where it only asks, begins or ends.
fn step(
    name: &str,
    labels: &BTreeMap<&str, (char, &str)>,
    catalog: &Catalog,
) -> Option<ForeignStep> {
    let (sign, label) = labels.get(name).copied().unwrap_or(('[', name));
    let mut words = label.split(|c: char| c.is_whitespace() || c == '`' || c == ',');
    let tool = words.find_map(|word| tool_of(word.trim_end_matches(':'), catalog).ok());
    let ends = ["start", "stop", "end", "begin", "finish", "done"];
    let is_end = ends.contains(&label.trim().to_lowercase().as_str());
    if tool.is_none() && (sign == '{' || is_end) {
        return None;
    }
    Some(ForeignStep {
        names: vec![name.to_owned()],
        description: Some(label.to_owned()),
        tool: tool.map(str::to_owned),
        ..ForeignStep::default()
    })
}

/// The nodes of a line, and what stands at each arrow between them.
fn row(line: &str) -> (Vec<DiagramNode<'_>>, Vec<Option<&str>>) {
    let (mut nodes, mut said) = (Vec::new(), Vec::new());
    let mut rest = line.trim();
    while let Some((node, after)) = node(rest) {
        nodes.push(node);
        let Some((text, after)) = arrow(after.trim_start()) else {
            break;
        };
        said.push(text);
        rest = after.trim_start();
    }
    (nodes, said)
}

/// `A`, `A[label]`, `A{label}`, `A(label)`, `A(["label"])`
fn node(text: &str) -> Option<(DiagramNode<'_>, &str)> {
    let end = text.find(|c: char| !(c.is_alphanumeric() || c == '_'));
    let (name, rest) = text.split_at_checked(end.unwrap_or(text.len()))?;
    if name.is_empty() {
        return None;
    }
    let Some(sign @ ('[' | '{' | '(')) = rest.chars().next() else {
        return Some((DiagramNode { name, label: None }, rest));
    };
    let close = match sign {
        '[' => ']',
        '{' => '}',
        _ => ')',
    };
    let (inner, after) = rest.get(1..)?.split_once(close)?;
    let signs = ['[', ']', '(', ')', '{', '}', '"', '/'];
    let label = Some((sign, inner.trim_matches(signs).trim()));
    Some((DiagramNode { name, label }, after.trim_start_matches(signs)))
}

/// `-->`, `-->|said|`, `-- said -->`
fn arrow(text: &str) -> Option<(Option<&str>, &str)> {
    if let Some(after) = ARROWS.iter().find_map(|sign| text.strip_prefix(sign)) {
        let labelled = after.trim_start().strip_prefix('|');
        return match labelled.and_then(|rest| rest.split_once('|')) {
            Some((said, after)) => Some((Some(said.trim_matches(['"', ' '])), after)),
            None => Some((None, after)),
        };
    }
    let (said, after) = text.strip_prefix("--")?.split_once("-->")?;
    Some((Some(said.trim().trim_matches('"')), after))
}
