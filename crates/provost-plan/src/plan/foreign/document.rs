//! Reads a foreign document that is data: YAML or JSON.
//!
//! Owns which of its maps are steps, in the order written, and what their fields mean. A map that
//! names a call is a step wherever it stands; so is each entry of a list of steps. INVARIANT: a
//! field that is neither understood nor known to say nothing of what happens goes into the plan as
//! it is, where the reader of plans refuses it.

use serde_json::Value;

use super::call::{self, call_of};
use super::fields::{condition, guarding, is_proof, timing};
use super::flow::{self, FlowEdge};
use super::lost;
use super::messages::{holds_messages, is_said, is_tasks};
use super::names::{is_answer, tool_of, word};
use super::words::{goal_rank, holds_variables, is_list, is_silent, is_silent_above, means};
use super::{ForeignAnswer, ForeignCondition, ForeignPlan, ForeignStep};
use crate::catalog::Catalog;
use crate::node::{Kind, Node};

/// Reads a document; none if it has no steps.
pub(super) fn read(node: &Node, catalog: &Catalog) -> Option<ForeignPlan> {
    let mut reader = DocumentReader {
        draft: ForeignPlan {
            form: "a plan in another form",
            ..ForeignPlan::default()
        },
        catalog,
        edges: Vec::new(),
    };
    reader.gather(node, "", &Around::default());
    flow::follow(&mut reader.draft, &reader.edges);
    reader.go_on_before_always();
    reader.draft.texts = lost::texts(node, &reader.edges);
    (!reader.draft.steps.is_empty()).then_some(reader.draft)
}

/// What the maps around a step say of each step inside.
#[derive(Clone, Default)]
struct Around {
    conditions: Vec<ForeignCondition>,
    approval: bool,
    depth: usize,
}

struct DocumentReader<'c> {
    draft: ForeignPlan,
    catalog: &'c Catalog,
    edges: Vec<FlowEdge>,
}

impl DocumentReader<'_> {
    /// Finds the steps in a part of the document that stands under the field `under`.
    fn gather(&mut self, node: &Node, under: &str, around: &Around) {
        let listed = is_list(under);
        match &node.kind {
            Kind::List(items) => {
                let edges: Option<Vec<Vec<FlowEdge>>> =
                    items.iter().map(|item| flow::edges(under, item)).collect();
                if let Some(edges) = edges.filter(|edges| !edges.is_empty()) {
                    self.edges.extend(edges.into_iter().flatten());
                    return;
                }
                for item in items {
                    match &item.kind {
                        Kind::Text(text) if listed => self.sentence(text, around),
                        Kind::Map(_) => self.entry(item, None, listed, around),
                        Kind::List(_) => self.gather(item, under, around),
                        _ => {}
                    }
                }
                if listed {
                    self.part(under, "steps");
                }
            }
            Kind::Map(entries) if listed || around.depth == 0 && is_tasks(entries) => {
                for (key, value) in entries {
                    self.entry(value, Some(&key.value), true, around);
                }
                self.part(under, "steps");
            }
            Kind::Map(_) => self.entry(node, None, false, around),
            _ => {}
        }
    }

    /// A map that may be a step, or hold steps.
    fn entry(&mut self, node: &Node, name: Option<&str>, listed: bool, around: &Around) {
        let Kind::Map(entries) = &node.kind else {
            return;
        };
        if is_said(node) || flow::is_trigger(node) {
            return;
        }
        let of_gate = flow::choices(name.unwrap_or_default(), node);
        let branches = || flow::branches(name.unwrap_or_default(), node);
        if let Some(edges) = of_gate.or_else(branches) {
            self.edges.extend(edges);
            return;
        }
        if let Some(kind @ ("Succeed" | "Fail" | "Pass" | "Wait")) =
            flow::text(node, "type").as_deref()
        {
            self.passed_through(name.unwrap_or_default(), kind, node);
            return;
        }
        let call = call_of(node, self.catalog);
        let holds = entries.iter().any(|(key, value)| {
            is_list(&word(&key.value)) && matches!(value.kind, Kind::List(_) | Kind::Map(_))
        });
        let is_step = !holds && (call.is_some() || listed && !entries.is_empty());
        if is_step {
            self.step(node, name, call, around);
        } else if around.depth < 8 {
            self.above(name.unwrap_or_default(), entries, around);
        }
    }

    /// A state in which nothing is called: what follows it follows what was before it.
    fn passed_through(&mut self, name: &str, kind: &str, node: &Node) {
        self.edges
            .extend(flow::text(node, "next").map(|to| FlowEdge {
                from: name.to_owned(),
                to,
                condition: None,
            }));
        if kind == "Wait" {
            self.draft.open.push(format!(
                "`{name}` waits for a time: poll with `until` and `every` in the next step, \
                 or leave it out"
            ));
        }
    }

    /// A map that holds steps somewhere inside.
    fn above(
        &mut self,
        under: &str,
        entries: &[(crate::source::Spanned<String>, Node)],
        around: &Around,
    ) {
        let mut inner = around.clone();
        inner.depth += 1;
        let mut nested = Vec::new();
        let is_job = around.depth > 1 && entries.iter().any(|(key, _)| key.value == "steps");
        let first = self.draft.steps.len();
        for (key, value) in entries {
            let name = word(&key.value);
            if is_job && self.of_job(under, &key.value, value, &mut inner)
                || self.of_all(under, &name, value, &mut inner)
            {
                continue;
            }
            match (means(&name), &value.kind) {
                (_, Kind::List(_)) if holds_messages(value) => {
                    nested.push((key.value.as_str(), value));
                }
                (_, Kind::Text(_)) if name == "text" && word(under) == "answer" => {
                    self.answer_or_rest(&key.value, "answer", value);
                }
                (_, Kind::Map(outputs)) if name == "outputs" => {
                    for (key, value) in outputs {
                        self.answer_or_rest(&key.value, "answer", value);
                    }
                }
                (_, Kind::Number(_)) if self.limit(&name, value) => {}
                (Some("description" | "steps.ID.output" | "id"), Kind::Text(_) | Kind::Null) => {}
                _ if is_silent_above(&name) => {
                    if name == "spec" || name == "definitions" || name == "process" {
                        nested.push((key.value.as_str(), value));
                    }
                }
                (_, Kind::Map(_) | Kind::List(_)) => nested.push((key.value.as_str(), value)),
                (Some("needs"), _) | (None, Kind::Null) => {}
                _ => self.answer_or_rest(&key.value, &name, value),
            }
        }
        let joins = |(key, value): &(crate::source::Spanned<String>, Node)| {
            flow::is_edges(&word(&key.value)) && value.kind != Kind::Null
        };
        let is_graph = entries.iter().any(joins);
        for (key, value) in nested {
            let name = word(key);
            if is_graph && name == "nodes" {
                self.nodes(value, &inner);
            } else if let Kind::Map(_) = value.kind
                && !is_list(&name)
            {
                self.entry(value, Some(key), false, &inner);
            } else {
                self.gather(value, &name, &inner);
            }
        }
        if is_job && first < self.draft.steps.len() {
            // Why the last: what a job came to is known when all of it is done.
            if let Some(last) = self.draft.steps.last_mut() {
                last.names.push(under.to_owned());
            }
        }
    }

    /// The nodes of a graph: each is a step, also one that names no call.
    fn nodes(&mut self, nodes: &Node, around: &Around) {
        match &nodes.kind {
            Kind::List(all) => {
                let is_end = |id: Option<String>| id.is_some_and(|id| flow::is_end(&id));
                let all = all.iter();
                for node in all.filter(|node| !is_end(flow::text(node, "id"))) {
                    self.entry(node, None, true, around);
                }
            }
            Kind::Map(all) => {
                for (key, node) in all.iter().filter(|(key, _)| !flow::is_end(&key.value)) {
                    self.entry(node, Some(&key.value), true, around);
                }
            }
            _ => {}
        }
    }

    /// What a node of a graph holds beside its id: its call, or the name of what it runs.
    fn data(
        &mut self,
        step: &mut ForeignStep,
        entries: &[(crate::source::Spanned<String>, Node)],
        node: &Node,
    ) {
        let call = call_of(node, self.catalog).filter(|_| step.tool.is_none());
        let taken = call
            .as_ref()
            .map(|call| call.fields.clone())
            .unwrap_or_default();
        if let Some(call) = call {
            (step.tool, step.args, step.bare) = (Some(call.tool), call.args, call.bare);
        }
        for (key, value) in entries
            .iter()
            .filter(|(key, _)| !taken.contains(&key.value))
        {
            match (key.value.as_str(), &value.kind) {
                // Why nothing: in a drawing this is the class of what runs.
                ("id", Kind::List(_)) => {}
                ("name", Kind::Text(name))
                    if step.tool.is_none() && tool_of(name, self.catalog).is_ok() =>
                {
                    step.tool = Some(name.clone());
                    self.part("data.name", "tool");
                }
                _ => self.field(step, &key.value, value),
            }
        }
    }

    /// Takes what a job says of itself alone: what it passes on, and where it may happen.
    fn of_job(&mut self, job: &str, key: &str, value: &Node, inner: &mut Around) -> bool {
        match (word(key).as_str(), &value.kind) {
            ("outputs", Kind::Map(outputs)) => {
                let given = outputs.iter().filter_map(|(key, value)| match &value.kind {
                    Kind::Text(text) => Some((key.value.clone(), text.clone())),
                    _ => None,
                });
                let passed_on = &mut self.draft.passed_on;
                passed_on.insert(job.to_owned(), given.collect());
            }
            // Why: who may let it happen there is said where the place is set up.
            ("environment", Kind::Text(_) | Kind::Map(_)) => {
                inner.approval = true;
                self.part(key, "approval");
            }
            _ => return false,
        }
        true
    }

    /// Takes what a map says of all steps inside, or of the whole.
    fn of_all(&mut self, under: &str, name: &str, value: &Node, inner: &mut Around) -> bool {
        match (means(name), &value.kind) {
            (_, Kind::Map(from)) if name == "connections" => {
                self.edges.extend(flow::connections(from));
            }
            (Some("when"), Kind::Text(_) | Kind::Bool(_)) => {
                inner.conditions.push(condition(value, false));
            }
            (Some("when (not)"), Kind::Text(_)) => {
                inner.conditions.push(condition(value, true));
            }
            (Some("approval"), Kind::Bool(_) | Kind::Text(_)) => {
                inner.approval |= value.kind != Kind::Bool(false);
            }
            (_, Kind::Text(text)) if goal_rank(name).is_some() => self.goal(name, text),
            (_, Kind::Map(_) | Kind::List(_)) if holds_variables(name) => {
                let (variables, _) = call::arguments(value);
                let default = |value: &Value| value.get("default").unwrap_or(value).clone();
                let variables = variables
                    .iter()
                    .map(|(key, value)| (key.clone(), default(value)));
                self.draft.variables.extend(variables);
            }
            (_, Kind::List(proofs)) if name == "success" && proofs.iter().all(is_proof) => {
                self.draft.success = Some(value.to_value());
            }
            (_, Kind::Text(text)) if name == "text" && word(under) == "goal" => {
                self.goal("goal", text);
            }
            _ => return false,
        }
        true
    }

    /// Takes a limit of the whole; a second one of its kind is left open.
    fn limit(&mut self, name: &str, value: &Node) -> bool {
        let value = value.to_value();
        let (limit, value) = match name {
            "max_steps" => ("steps", value),
            "timeout_minutes" => ("wall", Value::String(format!("{value}m"))),
            "timeout_seconds" | "active_deadline_seconds" => {
                ("wall", Value::String(format!("{value}s")))
            }
            _ => return false,
        };
        let free = !self.draft.limits.contains_key(limit);
        if free {
            self.draft.limits.insert(limit.to_owned(), value);
        }
        free
    }

    /// The goal, the most proper field first.
    fn goal(&mut self, name: &str, text: &str) {
        let rank = goal_rank(name).unwrap_or(usize::MAX);
        if self
            .draft
            .goal
            .as_ref()
            .is_none_or(|(before, _)| rank < *before)
        {
            self.draft.goal = Some((rank, text.trim().to_owned()));
        }
    }

    fn answer_or_rest(&mut self, key: &str, name: &str, value: &Node) {
        if let ("result" | "answer" | "output" | "returns", Kind::Text(text)) = (name, &value.kind)
        {
            self.draft.answers.push(ForeignAnswer {
                text: text.clone(),
                ..ForeignAnswer::default()
            });
            self.part(key, "answer");
        } else {
            self.draft.rest.push((key.to_owned(), value.to_value()));
        }
    }

    fn sentence(&mut self, text: &str, around: &Around) {
        let step = ForeignStep {
            description: Some(text.trim().to_owned()),
            conditions: around.conditions.clone(),
            approval: around.approval,
            ..ForeignStep::default()
        };
        self.draft.steps.push(step);
    }

    fn step(
        &mut self,
        node: &Node,
        name: Option<&str>,
        call: Option<call::ForeignCall>,
        around: &Around,
    ) {
        let Kind::Map(entries) = &node.kind else {
            return;
        };
        let mut step = ForeignStep {
            names: name.into_iter().map(str::to_owned).collect(),
            conditions: around.conditions.clone(),
            approval: around.approval,
            ..ForeignStep::default()
        };
        let mut taken = Vec::new();
        let call = call.or_else(|| call::by_value(entries, self.catalog));
        if let Some(call) = call {
            (step.tool, step.args, step.bare) = (Some(call.tool), call.args, call.bare);
            for (field, plays) in call.fields.iter().zip(["tool", "args"]) {
                self.part(field, plays);
            }
            taken = call.fields;
        }
        if let ([_], Some(tool)) = (taken.as_slice(), &step.tool)
            && let Ok(Some(operation)) = tool_of(tool, self.catalog).map(|t| self.catalog.get(t))
        {
            let flat = entries.iter().map(|(key, value)| (&key.value, value));
            let flat = flat.filter(|(key, _)| call::is_argument(key, operation));
            for (key, value) in flat {
                step.args
                    .entry(key.clone())
                    .or_insert_with(|| value.to_value());
                self.part(key, "args");
                taken.push(key.clone());
            }
        }
        for (key, value) in entries {
            if !taken.contains(&key.value) {
                self.field(&mut step, &key.value, value);
            } else if let (Kind::Map(inner), true) =
                (&value.kind, call::holds_call(&key.value, node))
            {
                // Why: what stands beside the name of a tool is of the step as well.
                for (key, value) in inner
                    .iter()
                    .filter(|(key, _)| !call::is_of_call(&key.value))
                {
                    self.field(&mut step, &key.value, value);
                }
            }
        }
        self.step_or_answer(step);
        self.calls_after(entries, &taken, around);
    }

    /// Keeps a step, or what it says where its tool is only a way to answer.
    fn step_or_answer(&mut self, step: ForeignStep) {
        let text = ["answer", "msg", "message", "text", "output", "content"];
        let known = step
            .tool
            .as_deref()
            .is_some_and(|tool| self.catalog.get(tool).is_some());
        if !known && step.tool.as_deref().is_some_and(is_answer) {
            let said = text
                .iter()
                .find_map(|name| step.args.get(*name))
                .or(step.bare.as_ref());
            let said = said.map(|said| {
                said.as_str()
                    .map_or_else(|| said.to_string(), str::to_owned)
            });
            self.part(step.tool.as_deref().unwrap_or_default(), "answer");
            self.draft.answers.extend(said.map(|text| ForeignAnswer {
                text,
                conditions: step.conditions,
                description: step.description,
            }));
        } else {
            self.draft.steps.push(step);
        }
    }

    /// The calls that a call brings along.
    fn calls_after(
        &mut self,
        entries: &[(crate::source::Spanned<String>, Node)],
        taken: &[String],
        around: &Around,
    ) {
        for (key, value) in entries {
            let name = word(&key.value);
            if means(&name).is_none()
                && !taken.contains(&key.value)
                && matches!(value.kind, Kind::List(_))
            {
                self.gather(value, &name, around);
            }
        }
    }

    fn field(&mut self, step: &mut ForeignStep, key: &str, value: &Node) {
        match (word(key).as_str(), &value.kind) {
            ("data", Kind::Map(entries)) => self.data(step, entries, value),
            _ => self.plain_field(step, key, value),
        }
    }

    fn plain_field(&mut self, step: &mut ForeignStep, key: &str, value: &Node) {
        let name = word(key);
        let json = value.to_value();
        let one = json.as_array().map(Vec::as_slice);
        if let ("tools", Some([Value::String(only)]), None) = (name.as_str(), one, &step.tool) {
            step.tool = Some(only.clone());
            self.part(key, "tool");
            return;
        }
        let Some(plays) = means(&name) else {
            let calls = match &value.kind {
                Kind::List(items) if !items.is_empty() => items
                    .iter()
                    .all(|item| call_of(item, self.catalog).is_some()),
                _ => false,
            };
            if !calls && !is_silent(&name) && value.kind != Kind::Null {
                step.rest.push((key.to_owned(), json));
            }
            return;
        };
        let mut understood = true;
        match (plays, &value.kind) {
            ("accept" | "accept (not)", Kind::Text(_)) => {
                step.accepts.push(condition(value, plays == "accept (not)"));
            }
            ("next", Kind::Text(to)) => {
                if let Some(from) = step.names.first() {
                    self.edges.push(FlowEdge {
                        from: from.clone(),
                        to: to.clone(),
                        condition: None,
                    });
                }
            }
            ("on_failure: stop", Kind::List(caught)) => {
                step.on_failure = Some("stop");
                let from = step.names.first().cloned().unwrap_or_default();
                // Why open: a step that follows a failure has no counterpart, and runs never alone.
                let failed = caught.iter().filter_map(|one| flow::text(one, "next"));
                self.edges.extend(failed.map(|to| FlowEdge {
                    condition: Some(format!("failure of {from}")),
                    from: from.clone(),
                    to,
                }));
            }
            ("needs, whatever became of it", Kind::Bool(always)) => step.always = *always,
            ("undo", Kind::Map(_)) => match call_of(value, self.catalog) {
                Some(call) => step.undo = Some((call.tool, call.args)),
                None => understood = false,
            },
            ("description", Kind::Text(text)) => {
                describe(step, text.trim());
            }
            ("id" | "steps.ID.output", Kind::Text(text)) => {
                named(step, plays == "id", &name, text.trim());
            }
            ("id", Kind::Number(number)) => step.names.push(number.to_string()),
            _ => {
                understood = guarding(step, plays, value) || timing(step, plays, &name, value);
            }
        }
        if understood {
            self.part(key, plays);
        } else {
            step.rest.push((key.to_owned(), json));
        }
    }

    /// A step that always runs lets the one before it fail.
    fn go_on_before_always(&mut self) {
        let steps = &mut self.draft.steps;
        for at in 1..steps.len() {
            let always = steps
                .get(at)
                .is_some_and(|step| step.always && step.needs.is_none());
            if let (true, Some(before)) = (always, steps.get_mut(at - 1)) {
                before.on_failure.get_or_insert("continue");
                before.proven = true;
            }
        }
    }

    fn part(&mut self, field: &str, plays: &'static str) {
        if field != plays && !field.is_empty() {
            self.draft.parts.insert(field.to_owned(), plays);
        }
    }
}

/// Adds to what a step says of itself: a condition may stand in any of its sentences.
fn describe(step: &mut ForeignStep, text: &str) {
    match &mut step.description {
        Some(before) if before != text => *before = format!("{before}; {text}"),
        before => *before = Some(text.to_owned()),
    }
}

/// Gives a step a name by which others refer to it or to its result.
fn named(step: &mut ForeignStep, is_id: bool, field: &str, text: &str) {
    if text.contains(char::is_whitespace) {
        describe(step, text);
        // Why a name too: others may refer to the step by it.
        if is_id {
            step.names.push(text.to_owned());
        }
    } else if is_id && !matches!(field, "name" | "task" | "task_name") {
        step.names.insert(0, text.to_owned());
    } else {
        step.names.push(text.trim_start_matches("$.").to_owned());
    }
}
