//! Order and conditions of a document that says what follows what: edges between steps and gates.
//!
//! Owns turning edges into what each step waits for and when it runs. INVARIANT: a step runs under
//! the conditions of some way that leads to it; a circle is left open.

use std::collections::{BTreeMap, BTreeSet};

use super::names::word;
use super::{ForeignCondition, ForeignPlan};
use crate::node::{Kind, Node};

/// Most gates on one way.
const DEPTH_MAX: usize = 32;

/// One thing follows another.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct FlowEdge {
    pub(super) from: String,
    pub(super) to: String,
    /// Under which condition; none if always.
    pub(super) condition: Option<String>,
}

/// Fields that say where each outcome of a choice leads.
const WAYS: &str = "mapping path_map branches routes ways targets ends destinations";
/// Fields that say what chooses between them.
const DECIDES: &str = "condition condition_expression when if path router decide function";

/// The edges that an entry under the field `under` is, if it is some.
pub(super) fn edges(under: &str, node: &Node) -> Option<Vec<FlowEdge>> {
    let one = edge(node).or_else(|| pair(under, node));
    one.map(|edge| vec![edge]).or_else(|| branches("", node))
}

/// The edge that a map is, if it is one: `{ from: a, to: b, condition: … }`.
fn edge(node: &Node) -> Option<FlowEdge> {
    let from = text_of(node, "from source source_ref")?;
    let decides = |decide: String| match text_of(node, "data label") {
        Some(said) => way_of(&decide, &said),
        None => decide,
    };
    let is_chosen = field(node, "conditional").is_some_and(|one| one.kind != Kind::Bool(false));
    let condition = text_of(node, DECIDES).or_else(|| is_chosen.then(|| chosen_by(&from)));
    // Why a label counts alone: between two boxes it says when one leads to the other.
    let condition = condition.map(decides).or_else(|| text_of(node, "label"));
    let to = text_of(node, "to target target_ref")?;
    Some(FlowEdge {
        from,
        to,
        condition,
    })
}

/// `["a", "b"]` in a list of edges.
fn pair(under: &str, node: &Node) -> Option<FlowEdge> {
    let (true, Kind::List(ends)) = (is_edges(under), &node.kind) else {
        return None;
    };
    match ends
        .iter()
        .map(|end| &end.kind)
        .collect::<Vec<_>>()
        .as_slice()
    {
        [Kind::Text(from), Kind::Text(to)] => Some(FlowEdge {
            from: from.clone(),
            to: to.clone(),
            condition: None,
        }),
        _ => None,
    }
}

/// Whether a node is none, but where all begins or ends.
pub(super) fn is_end(name: &str) -> bool {
    matches!(
        name.trim_matches('_').to_lowercase().as_str(),
        "start" | "end"
    )
}

/// Whether a field holds what leads from one node to another.
pub(super) fn is_edges(name: &str) -> bool {
    name.ends_with("edges") || matches!(name, "links" | "transitions" | "flows")
}

/// The edges of a choice by its outcome: `{ source: a, condition: …, mapping: { yes: b } }`.
pub(super) fn branches(name: &str, node: &Node) -> Option<Vec<FlowEdge>> {
    let from = text_of(node, "from source source_ref");
    let from = from.or_else(|| (!name.is_empty()).then(|| name.to_owned()))?;
    let ways = WAYS.split(' ').find_map(|ways| field(node, ways))?;
    let decide = text_of(node, DECIDES).unwrap_or_else(|| chosen_by(&from));
    let way = |said: &str, to: &Node| match &to.kind {
        Kind::Text(to) => Some(FlowEdge {
            from: from.clone(),
            to: to.clone(),
            condition: Some(way_of(&decide, said)),
        }),
        _ => None,
    };
    match &ways.kind {
        Kind::Map(ways) => ways.iter().map(|(said, to)| way(&said.value, to)).collect(),
        Kind::List(ways) => {
            let said = |to: &Node| match &to.kind {
                Kind::Text(said) => way(said, to),
                _ => None,
            };
            ways.iter().map(said).collect()
        }
        _ => None,
    }
}

/// The condition of one outcome of what decides.
fn way_of(decide: &str, said: &str) -> String {
    match said.to_lowercase().as_str() {
        "true" => decide.to_owned(),
        "false" => format!("!({decide})"),
        _ => format!("{decide}: {said}"),
    }
}

fn chosen_by(from: &str) -> String {
    format!("what `{from}` decides")
}

/// The text under the first of some fields that has one.
fn text_of(node: &Node, names: &str) -> Option<String> {
    names.split(' ').find_map(|name| text(node, name))
}

/// Whether a node only says when all begins.
pub(super) fn is_trigger(node: &Node) -> bool {
    let kind = text(node, "type").unwrap_or_default();
    field(node, "position").is_some() && kind.to_lowercase().ends_with("trigger")
}

/// The edges of a map from each node to those behind it: `{ A: { main: [[{ node: B }]] } }`.
pub(super) fn connections(from: &[(crate::source::Spanned<String>, Node)]) -> Vec<FlowEdge> {
    let mut edges = Vec::new();
    for (name, to) in from {
        let mut open = vec![to];
        while let Some(node) = open.pop() {
            match &node.kind {
                Kind::List(items) => open.extend(items),
                Kind::Map(entries) => match text(node, "node") {
                    Some(to) => edges.push(FlowEdge {
                        from: name.value.clone(),
                        to,
                        condition: None,
                    }),
                    None => open.extend(entries.iter().map(|(_, value)| value)),
                },
                _ => {}
            }
        }
    }
    edges
}

/// The edges of a gate: a map with `choices`, each with a condition and what is next.
pub(super) fn choices(name: &str, node: &Node) -> Option<Vec<FlowEdge>> {
    let Kind::List(items) = &field(node, "choices")?.kind else {
        return None;
    };
    let mut edges = Vec::new();
    let mut before: Vec<String> = Vec::new();
    for item in items {
        let condition = comparison(item);
        let own = condition.unwrap_or_else(|| item.to_value().to_string());
        let all = before
            .iter()
            .map(|one| format!("!({one})"))
            .chain([format!("({own})")]);
        edges.push(FlowEdge {
            from: name.to_owned(),
            to: text(item, "next")?,
            condition: Some(all.collect::<Vec<_>>().join(" && ")),
        });
        before.push(own);
    }
    if let Some(to) = text(node, "default") {
        let all: Vec<String> = before.iter().map(|one| format!("!({one})")).collect();
        edges.push(FlowEdge {
            from: name.to_owned(),
            to,
            condition: Some(all.join(" && ")),
        });
    }
    Some(edges)
}

/// `{ Variable: "$.x", NumericGreaterThan: 3 }`
fn comparison(node: &Node) -> Option<String> {
    let Kind::Map(entries) = &node.kind else {
        return None;
    };
    let left = text(node, "variable")?;
    let mut others = entries
        .iter()
        .filter(|(key, _)| !matches!(word(&key.value).as_str(), "variable" | "next" | "comment"));
    let (Some((key, value)), None) = (others.next(), others.next()) else {
        return None;
    };
    let name = word(&key.value);
    let value = value.to_value();
    if name == "is_null" {
        return Some(format!(
            "{left} {} null",
            if value == true { "==" } else { "!=" }
        ));
    }
    let sign = [
        ("greater_than_equals", ">="),
        ("less_than_equals", "<="),
        ("greater_than", ">"),
        ("less_than", "<"),
        ("equals", "=="),
    ];
    let kind = ["numeric_", "string_", "boolean_"]
        .iter()
        .find_map(|kind| name.strip_prefix(kind))?;
    let (_, sign) = sign.iter().find(|(word, _)| *word == kind)?;
    Some(format!("{left} {sign} {value}"))
}

pub(super) fn field<'n>(node: &'n Node, name: &str) -> Option<&'n Node> {
    match &node.kind {
        Kind::Map(entries) => entries
            .iter()
            .find(|(key, _)| word(&key.value) == name)
            .map(|(_, v)| v),
        _ => None,
    }
}

pub(super) fn text(node: &Node, name: &str) -> Option<String> {
    match &field(node, name)?.kind {
        Kind::Text(text) => Some(text.clone()),
        _ => None,
    }
}

/// Gives each step what the edges say of it.
pub(super) fn follow(draft: &mut ForeignPlan, edges: &[FlowEdge]) {
    if edges.is_empty() {
        return;
    }
    let mut steps = BTreeMap::new();
    for (at, step) in draft.steps.iter().enumerate() {
        for name in &step.names {
            steps.entry(name.clone()).or_insert(at);
        }
    }
    let flow = FlowGraph {
        edges,
        steps: &steps,
    };
    let found: Vec<FlowWay> = draft
        .steps
        .iter()
        .map(|step| {
            let named = step
                .names
                .iter()
                .find(|name| edges.iter().any(|edge| edge.to == **name));
            let named = named.or(step.names.first());
            named.map_or_else(FlowWay::start, |name| flow.way(name, 0))
        })
        .collect();
    for (step, way) in draft.steps.iter_mut().zip(found) {
        step.needs
            .get_or_insert_with(|| way.needs.into_iter().collect());
        if way.is_open {
            step.conditions.push(ForeignCondition {
                text: "a circle of steps".to_owned(),
                negated: false,
            });
        }
        let certain = way.conditions.iter().any(String::is_empty);
        if !certain && !way.conditions.is_empty() {
            let ways: Vec<&str> = way.conditions.iter().map(String::as_str).collect();
            step.conditions.push(ForeignCondition {
                text: ways.join(" || "),
                negated: false,
            });
        }
    }
}

/// How a step is reached.
struct FlowWay {
    needs: BTreeSet<String>,
    /// The conditions of each way; an empty one always holds.
    conditions: Vec<String>,
    is_open: bool,
}

impl FlowWay {
    fn start() -> Self {
        Self {
            needs: BTreeSet::new(),
            conditions: Vec::new(),
            is_open: false,
        }
    }
}

struct FlowGraph<'f> {
    edges: &'f [FlowEdge],
    steps: &'f BTreeMap<String, usize>,
}

impl FlowGraph<'_> {
    fn way(&self, name: &str, depth: usize) -> FlowWay {
        let mut way = FlowWay::start();
        if depth > DEPTH_MAX {
            way.is_open = true;
            return way;
        }
        for edge in self.edges.iter().filter(|edge| edge.to == name) {
            let before = self.way(&edge.from, depth + 1);
            way.is_open |= before.is_open;
            if self.steps.contains_key(&edge.from) {
                way.needs.insert(edge.from.clone());
            } else {
                way.needs.extend(before.needs);
            }
            let own = edge.condition.as_deref().unwrap_or_default();
            let earlier = if before.conditions.is_empty() {
                vec![String::new()]
            } else {
                before.conditions
            };
            for earlier in earlier {
                way.conditions.push(match (earlier.as_str(), own) {
                    ("", own) => own.to_owned(),
                    (earlier, "") => earlier.to_owned(),
                    (earlier, own) => format!("({earlier} && {own})"),
                });
            }
        }
        way
    }
}
