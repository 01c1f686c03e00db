//! Reads a program that lays out a graph: calls that add nodes, and calls that join two of them.
//!
//! Owns by which words such calls are known. Runs nothing. INVARIANT: what chooses between two ways
//! is a condition of what lies behind it, and a node of which it is not plain that it makes one
//! call of one tool is left open.

use super::flow::{self, FlowEdge};
use super::lines::{self, CallLine};
use super::names::tool_of;
use super::{ForeignCondition, ForeignPlan, ForeignStep};
use crate::catalog::Catalog;

const NODES: &str = "add_node add_step add_task add_component add_vertex";
const EDGES: &str = "add_edge connect add_link";
const CHOICES: &str = "add_conditional_edges add_conditional_edge add_branch";
/// What says where all begins and ends, which the edges say too.
const ENDS: &str = "set_entry_point set_finish_point";
/// How a line begins that decides about those inside.
const DECIDES: [&str; 8] = [
    "if ", "elif ", "else", "for ", "while ", "try", "except", "match ",
];

/// A call of a method, with its arguments as written.
struct MethodCall {
    method: String,
    args: Vec<String>,
    /// Whether the program decides that it is made.
    is_decided: bool,
}

/// Reads a program; none if it adds no two nodes.
pub(super) fn read(text: &str, catalog: &Catalog) -> Option<ForeignPlan> {
    let mut draft = ForeignPlan {
        form: "a program that lays out a graph",
        ..ForeignPlan::default()
    };
    let mut edges = Vec::new();
    for call in calls(text) {
        let is = |words: &str| words.split(' ').any(|word| word == call.method);
        let found = if is(NODES) {
            node(text, &call, catalog).map(|step| draft.steps.push(step))
        } else if is(EDGES) {
            joined(&call).map(|joined| edges.extend(joined))
        } else if is(CHOICES) {
            choices(&call).map(|chosen| edges.extend(chosen))
        } else {
            let changes = ["add_", "set_", "remove_"];
            let changes = changes.iter().any(|word| call.method.starts_with(word));
            (is(ENDS) || !changes).then_some(())
        };
        if found.is_none() {
            let args = call.args.join(",");
            let open = format!("not read: {}({})", call.method, args.trim());
            draft.open.push(open);
        }
    }
    flow::follow(&mut draft, &edges);
    (draft.steps.len() > 1).then_some(draft)
}

/// The calls of methods in a program, in the order written.
fn calls(text: &str) -> Vec<MethodCall> {
    let mut found = Vec::new();
    let mut around: Vec<(usize, bool)> = Vec::new();
    for line in lines::joined(text) {
        let inner = line.trim_start();
        if inner.is_empty() || inner.starts_with('#') || inner.starts_with("//") {
            continue;
        }
        let indent = line.len() - inner.len();
        // Why the chain: what goes on with a dot belongs to the line above.
        if !inner.starts_with('.') {
            around.retain(|(outer, _)| *outer < indent);
        }
        let is_decided = around.iter().any(|(_, decides)| *decides);
        let decides = DECIDES.iter().any(|word| inner.starts_with(word));
        around.push((indent, decides));
        let mut rest = inner;
        while let Some((before, after)) = rest.split_once('(') {
            let is_name = |c: char| c.is_alphanumeric() || c == '_';
            let method = before.rsplit(|c| !is_name(c)).next().unwrap_or_default();
            let is_method = before
                .strip_suffix(method)
                .is_some_and(|b| b.ends_with('.'));
            let end = lines::end_of(after);
            if !is_method || method.is_empty() {
                rest = after;
                continue;
            }
            found.push(MethodCall {
                method: method.to_owned(),
                args: lines::split(after.get(..end).unwrap_or_default(), ','),
                is_decided,
            });
            rest = after.get(end..).unwrap_or_default();
        }
    }
    found
}

/// A text between quotes, or a plain name.
fn name(text: &str) -> Option<String> {
    let text = text.trim();
    let bare = text.trim_matches(['"', '\'']);
    let is_name = |c: char| c.is_alphanumeric() || "_-".contains(c);
    let plain = !bare.is_empty() && bare.chars().all(is_name);
    (plain || bare.len() + 2 == text.len()).then(|| bare.to_owned())
}

/// The step that a node is: `add_node("level", tool)`, `add_node(function)`.
fn node(text: &str, call: &MethodCall, catalog: &Catalog) -> Option<ForeignStep> {
    let (first, rest) = call.args.split_first()?;
    let name = name(first)?;
    let mut step = ForeignStep {
        names: vec![name.clone()],
        ..ForeignStep::default()
    };
    let what = if rest.is_empty() {
        &name
    } else {
        &rest.join(",")
    };
    let words = what.split(|c: char| !(c.is_alphanumeric() || "._-/".contains(c)));
    let mut tools: Vec<&str> = words
        .filter_map(|word| tool_of(word, catalog).ok())
        .collect();
    tools.dedup();
    let is_defined = text.contains(&format!("def {}(", what.trim()));
    match (is_defined, body(text, what, catalog), tools.as_slice()) {
        (_, Some(made), _) => {
            (step.tool, step.args, step.bare) = (Some(made.tool), made.args, made.bare);
        }
        (false, None, [only]) => step.tool = Some((*only).to_owned()),
        // Why its words: by them the tools are found that come near.
        _ => step.description = Some(format!("{name}: {}", what.trim())),
    }
    if call.is_decided {
        step.conditions.push(decided());
    }
    Some(step)
}

/// The one call of a tool that a function makes, where it decides nothing.
fn body(text: &str, function: &str, catalog: &Catalog) -> Option<CallLine> {
    let head = format!("def {}(", function.trim());
    let indent = |line: &str| line.len() - line.trim_start().len();
    let all = lines::joined(text);
    let at = all
        .iter()
        .position(|line| line.trim_start().starts_with(&head))?;
    let outer = all.get(at).map(|line| indent(line))?;
    let lines = all.get(at + 1..)?.iter();
    let lines = lines.take_while(|line| line.trim().is_empty() || indent(line) > outer);
    let lines: Vec<&str> = lines.map(|line| line.trim()).collect();
    let decides = |line: &&str| {
        let inside = line.contains(" if ") || line.contains(" for ") || line.contains(" or ");
        inside || DECIDES.iter().any(|word| line.starts_with(word))
    };
    if lines.iter().any(decides) {
        return None;
    }
    let made = lines.iter().filter_map(|line| lines::call(line));
    let mut made = made.filter(|call| tool_of(&call.tool, catalog).is_ok());
    let only = made.next()?;
    made.next().is_none().then_some(only)
}

/// `add_edge("a", "b")`, `add_edge(["a", "b"], "c")`
fn joined(call: &MethodCall) -> Option<Vec<FlowEdge>> {
    let [from, to] = call.args.as_slice() else {
        return None;
    };
    let to = name(to)?;
    let all = from
        .trim()
        .strip_prefix('[')
        .and_then(|all| all.strip_suffix(']'));
    let from = all.map_or_else(|| vec![from.clone()], |all| lines::split(all, ','));
    let edge = |from: &String| {
        Some(FlowEdge {
            from: name(from)?,
            to: to.clone(),
            condition: call.is_decided.then(|| decided().text),
        })
    };
    from.iter().map(edge).collect()
}

/// `add_conditional_edges("a", decide, { "yes": "b", "no": END })`, or a list of where it leads.
fn choices(call: &MethodCall) -> Option<Vec<FlowEdge>> {
    let [from, decide, ways] = call.args.as_slice() else {
        return None;
    };
    let (from, decide, ways) = (name(from)?, decide.trim(), ways.trim());
    let map = ways
        .strip_prefix('{')
        .and_then(|ways| ways.strip_suffix('}'));
    let list = ways
        .strip_prefix('[')
        .and_then(|ways| ways.strip_suffix(']'));
    let ways = lines::split(map.or(list)?, ',');
    let way = |way: &String| {
        let (said, to) = match map {
            Some(_) => way.rsplit_once(':')?,
            None => (way.as_str(), way.as_str()),
        };
        let said = said.trim().trim_matches(['"', '\'']);
        Some(FlowEdge {
            from: from.clone(),
            to: name(to)?,
            condition: Some(format!("{decide}: {said}")),
        })
    };
    ways.iter().map(way).collect()
}

fn decided() -> ForeignCondition {
    ForeignCondition {
        text: "what the program decides before this call".to_owned(),
        negated: false,
    }
}
