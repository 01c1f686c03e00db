//! Writes a draft as a plan.
//!
//! Owns ids, order, guards and what is left open. INVARIANT: a step waits for the one before it
//! unless the document says for which it waits, and what is open is refused by the check.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use serde_json::{Value, json};

use super::expression::ForeignNames;
use super::lost;
use super::names::{id_of, near, tool_of};
use super::{Conversion, ForeignCondition, ForeignPlan, ForeignStep, OpenPart};
use crate::catalog::{Catalog, Operation};
use crate::plan::PLAN_SCHEMA;

mod each;
mod hints;

use each::after_each;
use hints::{asks, decides, missing, signature};

/// What stands in the place of a reference that is not understood; no name of the language.
const OPEN: &str = "${ open }";

/// Writes a draft.
pub(super) fn written(draft: ForeignPlan, catalog: &Catalog) -> Conversion {
    let mut writer = PlanWriter {
        names: names(&draft, catalog),
        catalog,
        conditional: BTreeSet::new(),
        uncertain: BTreeSet::new(),
        calls: Vec::new(),
        open: Vec::new(),
        out: String::new(),
    };
    writer.head(&draft);
    for (at, step) in draft.steps.iter().enumerate() {
        writer.step(at, step);
    }
    writer.end(&draft);
    writer.lost(&draft);
    Conversion {
        form: draft.form.to_owned(),
        steps: draft.steps.len(),
        parts: draft.parts,
        calls: writer.calls,
        plan: writer.out,
        open: writer.open,
    }
}

/// What the names of a document mean.
fn names(draft: &ForeignPlan, catalog: &Catalog) -> ForeignNames {
    let mut ids: Vec<String> = Vec::new();
    let mut steps = BTreeMap::new();
    let mut outputs = BTreeMap::new();
    for step in &draft.steps {
        let is_name = |name: &&String| name.contains(|c: char| c.is_alphabetic());
        let tool = step
            .tool
            .as_deref()
            .and_then(|tool| tool.rsplit(['.', '/', ':']).next());
        let words = step.description.as_deref().map(|text| {
            let words: Vec<&str> = text.split_whitespace().take(4).collect();
            words.join(" ")
        });
        let name = step.names.iter().find(is_name).cloned();
        let name = name.or_else(|| tool.map(str::to_owned)).or(words);
        let base = id_of(&name.unwrap_or_default());
        let mut id = base.clone();
        let mut count = 2;
        while ids.contains(&id) {
            id = format!("{base}_{count}");
            count += 1;
        }
        for name in &step.names {
            steps.entry(name.clone()).or_insert_with(|| id.clone());
            steps
                .entry(format!("resource-{name}"))
                .or_insert_with(|| id.clone());
        }
        let tool = step
            .tool
            .as_deref()
            .and_then(|tool| tool_of(tool, catalog).ok());
        let output = tool.and_then(|tool| catalog.get(tool)?.output.as_ref());
        let fields = output.and_then(|output| output.value().get("properties")?.as_object());
        if let Some(fields) = fields {
            outputs.insert(id.clone(), fields.keys().cloned().collect());
        }
        ids.push(id);
    }
    for (at, id) in ids.iter().enumerate() {
        for name in [format!("{}", at + 1), format!("E{}", at + 1), id.clone()] {
            steps.entry(name).or_insert_with(|| id.clone());
        }
    }
    ForeignNames {
        steps,
        ids,
        variables: draft.variables.clone(),
        passed_on: draft.passed_on.clone(),
        before: None,
        outputs,
        read: RefCell::default(),
    }
}

struct PlanWriter<'c> {
    names: ForeignNames,
    catalog: &'c Catalog,
    /// Steps that may be skipped.
    conditional: BTreeSet<String>,
    /// Steps whose output may not be there for the steps after them.
    uncertain: BTreeSet<String>,
    calls: Vec<(String, String)>,
    open: Vec<OpenPart>,
    out: String,
}

impl PlanWriter<'_> {
    fn line(&mut self, text: &str) {
        self.out.push_str(text);
        self.out.push('\n');
    }

    fn open(&mut self, step: Option<&str>, is_tool: bool, message: &str) {
        let message = message.split_whitespace().collect::<Vec<_>>().join(" ");
        let indent = if step.is_some() { "    " } else { "" };
        self.line(&format!("{indent}# open: {message}"));
        self.open.push(OpenPart {
            is_tool,
            step: step.map(str::to_owned),
            message,
        });
    }

    fn head(&mut self, draft: &ForeignPlan) {
        self.line(&format!("schema: {PLAN_SCHEMA}"));
        match &draft.goal {
            Some((_, goal)) => {
                let goal = goal.split_whitespace().collect::<Vec<_>>().join(" ");
                let goal = self.names.text(&goal).unwrap_or(goal);
                self.line(&format!("goal: {}", json!(goal)));
            }
            None => {
                let steps = draft.steps.iter().zip(&self.names.ids);
                let all = steps.map(|(step, id)| step.tool.as_deref().unwrap_or(id));
                let all = all.collect::<Vec<_>>().join(", then ");
                self.line("# the document names no goal: say in words what the plan is for");
                self.line(&format!("goal: {}", json!(format!("Carry out {all}"))));
            }
        }
        for (at, message) in draft.open.iter().enumerate() {
            self.open(None, false, message);
            // Why: a comment alone would not keep the plan from being run.
            self.line(&format!("open.{at}: {}", json!(message)));
        }
        for (at, (key, value)) in draft.rest.iter().enumerate() {
            self.open(
                None,
                false,
                &format!("what `{key}` says has no place in a plan: settle it, and delete it"),
            );
            self.line(&format!("{}: {value}", json!(format!("{key}.{at}"))));
        }
        if !draft.limits.is_empty() {
            self.line(&format!("limits: {}", Value::Object(draft.limits.clone())));
        }
        self.line("steps:");
    }

    fn step(&mut self, at: usize, step: &ForeignStep) {
        let Some(id) = self.names.ids.get(at).cloned() else {
            return;
        };
        self.names.before = self.before(at, step);
        let each = self.each_of_sentence(at, step);
        let step = each.as_ref().unwrap_or(step);
        self.line(&format!("  - id: {id}"));
        if let Some(text) = &step.description {
            self.line(&format!("    description: {}", json!(text)));
        }
        let tool = self.tool(&id, step);
        let operation = tool.and_then(|tool| self.catalog.get(&tool).cloned());
        let mut body = String::new();
        let args = self.args(&id, step, operation.as_deref());
        let _ = writeln!(body, "    args: {}", Value::Object(args.clone()));
        let rest = self.items(&mut body, step, &id);
        self.waits(&mut body, at, step, &id);
        self.guard(&mut body, step, &rest, &id);
        self.rest(&mut body, step, &id);
        self.out.push_str(&body);
    }

    /// The one step that a step follows.
    fn before(&self, at: usize, step: &ForeignStep) -> Option<String> {
        match step.needs.as_deref() {
            Some([only]) => self.names.steps.get(only).cloned(),
            Some(_) => None,
            None => self.names.ids.get(at.checked_sub(1)?).cloned(),
        }
    }

    /// The list of `for_each`, and the conditions that are not of one item.
    fn items(&mut self, body: &mut String, step: &ForeignStep, id: &str) -> Vec<ForeignCondition> {
        let Some(list) = &step.each else {
            return step.conditions.clone();
        };
        let (mut of_item, mut rest) = (Vec::new(), Vec::new());
        for condition in &step.conditions {
            match self
                .condition(condition)
                .filter(|cel| cel.contains("item."))
            {
                Some(cel) => of_item.push(cel.replace("item.", "x.")),
                None => rest.push(condition.clone()),
            }
        }
        let list = self.names.expression(list);
        if list.is_none() {
            let message = "write the list of `for_each` as an expression";
            self.open(Some(id), false, message);
        }
        let mut list = list.unwrap_or_else(|| "open".to_owned());
        if !of_item.is_empty() {
            list = format!("{list}.filter(x, {})", of_item.join(" && "));
        }
        let _ = writeln!(body, "    for_each: {}", json!(format!("${{ {list} }}")));
        rest
    }

    fn tool(&mut self, id: &str, step: &ForeignStep) -> Option<String> {
        let known = match &step.tool {
            Some(tool) => tool_of(tool, self.catalog).map(str::to_owned),
            None => Err(near(
                step.description.as_deref().unwrap_or_default(),
                self.catalog,
            )),
        };
        match known {
            Ok(tool) => {
                self.line(&format!("    tool: {tool}"));
                self.calls.push((id.to_owned(), tool.clone()));
                Some(tool)
            }
            Err(mut near) => {
                if near.is_empty() {
                    let text = format!("{} {id}", step.description.as_deref().unwrap_or_default());
                    near = super::names::near(&text, self.catalog);
                }
                let signature = |name: &&str| self.catalog.get(name).map(|op| signature(op));
                let near: Vec<String> = near.iter().filter_map(signature).collect();
                let named = step.tool.as_deref();
                let message = match (named, near.is_empty()) {
                    (Some(name), true) => format!("no tool is called `{name}`"),
                    (None, true) => "which tool does this?".to_owned(),
                    (Some(name), false) => {
                        format!("no tool is called `{name}`; near are {}", near.join(", "))
                    }
                    (None, false) => format!("which tool does this? near are {}", near.join(", ")),
                };
                self.open(Some(id), true, &message);
                self.line(&format!("    tool: {}", json!(named.unwrap_or("open"))));
                None
            }
        }
    }

    fn args(
        &mut self,
        id: &str,
        step: &ForeignStep,
        operation: Option<&Operation>,
    ) -> serde_json::Map<String, Value> {
        let mut given = step.args.clone();
        let input = operation.map(|operation| operation.input.value().clone());
        if let Some(bare) = &step.bare {
            let required = input
                .as_ref()
                .and_then(|input| input.get("required")?.as_array());
            let only = required.filter(|required| required.len() == 1 && given.is_empty());
            let name = only.and_then(|required| required.first()?.as_str());
            if name.is_none() {
                self.open(Some(id), true, "name the argument that this value is for");
            }
            given.insert(name.unwrap_or("open").to_owned(), bare.clone());
        } else if let Some(message) = operation.and_then(|operation| missing(operation, &given)) {
            self.open(Some(id), true, &message);
        }
        for (name, value) in &mut given {
            let mut unread = Vec::new();
            self.value(value, &mut unread);
            for text in unread {
                let message = format!("`{name}`: what `{text}` reads is not found");
                self.open(Some(id), false, &message);
            }
            let kind = input
                .as_ref()
                .and_then(|input| input.get("properties")?.get(name)?.get("type"));
            if let (Some("integer" | "number"), Value::String(text)) =
                (kind.and_then(Value::as_str), &*value)
                && let Ok(Value::Number(number)) = serde_json::from_str::<Value>(text)
            {
                // Why: some forms hold every value as a text.
                *value = Value::Number(number);
            }
        }
        given
    }

    /// A value with its references as expressions.
    fn value(&self, value: &mut Value, unread: &mut Vec<String>) {
        match value {
            Value::String(text) => match self.names.text(text) {
                Ok(read) => *text = read,
                Err(what) => {
                    *text = OPEN.to_owned();
                    unread.push(what);
                }
            },
            Value::Array(items) => items.iter_mut().for_each(|item| self.value(item, unread)),
            Value::Object(map) => map.values_mut().for_each(|item| self.value(item, unread)),
            _ => {}
        }
    }

    fn waits(&mut self, body: &mut String, at: usize, step: &ForeignStep, id: &str) {
        let needs: Vec<String> = match &step.needs {
            Some(needs) => {
                let known = |need: &String| self.names.steps.get(need).unwrap_or(need).clone();
                needs.iter().map(known).collect()
            }
            None => at
                .checked_sub(1)
                .and_then(|at| self.names.ids.get(at))
                .cloned()
                .into_iter()
                .collect(),
        };
        for need in &needs {
            if !self.names.ids.contains(need) {
                self.open(
                    Some(id),
                    false,
                    &format!("it waits for `{need}`, which is no step"),
                );
            }
        }
        let read = |need: &String| body.contains(&format!("steps.{need}."));
        let needs: Vec<&String> = needs.iter().filter(|need| !read(need)).collect();
        if !needs.is_empty() {
            let _ = writeln!(body, "    needs: {}", json!(needs));
        }
    }

    fn guard(
        &mut self,
        body: &mut String,
        step: &ForeignStep,
        said: &[ForeignCondition],
        id: &str,
    ) {
        let mut conditions = Vec::new();
        for condition in said {
            match self.condition(condition) {
                Some(cel) => conditions.push(cel),
                None => {
                    let not = if condition.negated { "not: " } else { "" };
                    let asked = format!("{not}{}", condition.text);
                    let message = format!("write `when` for: {asked}{}", self.readable(&asked));
                    self.open(Some(id), false, &message);
                    conditions.push("open".to_owned());
                }
            }
        }
        if step.conditions.is_empty()
            && let Some(text) = step.description.as_deref().filter(|text| {
                decides(
                    after_each(text)
                        .filter(|_| step.each.is_some())
                        .unwrap_or(text),
                )
            })
        {
            self.open(Some(id), false, &format!("write `when` for: {text}"));
            conditions.push("open".to_owned());
        }
        let said = conditions.join(" && ");
        let read = |other: &&String| {
            let read = format!("steps.{other}.");
            body.contains(&read) || said.contains(&read)
        };
        let mut all: Vec<String> = self
            .uncertain
            .iter()
            .filter(read)
            .map(|other| format!("steps.{other}.status == \"succeeded\""))
            .collect();
        all.extend(conditions);
        if !all.is_empty() {
            self.conditional.insert(id.to_owned());
            self.uncertain.insert(id.to_owned());
            let _ = writeln!(
                body,
                "    when: {}",
                json!(format!("${{ {} }}", all.join(" && ")))
            );
        }
    }

    fn condition(&self, condition: &ForeignCondition) -> Option<String> {
        let cel = self.names.expression(&condition.text)?;
        let plain = cel
            .chars()
            .all(|c| c.is_alphanumeric() || "._[]".contains(c));
        Some(match (condition.negated, plain) {
            (true, _) => format!("!({cel})"),
            (false, true) => cel,
            (false, false) => format!("({cel})"),
        })
    }

    fn rest(&mut self, body: &mut String, step: &ForeignStep, id: &str) {
        if let Some((tool, args)) = &step.undo {
            let known = tool_of(tool, self.catalog).map_or_else(|_| tool.clone(), str::to_owned);
            let mut args = Value::Object(args.clone());
            let mut unread = Vec::new();
            self.value(&mut args, &mut unread);
            // Why: an undo reads what its own step came back with under this name.
            let args = args
                .to_string()
                .replace(&format!("steps.{id}.output"), "output");
            for what in unread {
                self.open(
                    Some(id),
                    false,
                    &format!("`undo`: what `{what}` reads is not found"),
                );
            }
            let _ = writeln!(body, "    undo: {{ tool: {}, args: {args} }}", json!(known));
        }
        if step.approval || step.description.as_deref().is_some_and(asks) {
            body.push_str("    approval: required\n");
        }
        if let Some(word) = step.on_failure {
            if word == "continue" {
                self.uncertain.insert(id.to_owned());
            }
            let _ = writeln!(body, "    on_failure: {word}");
        }
        if let Some(attempts) = step.attempts {
            let wait = step
                .backoff
                .as_ref()
                .map(|wait| format!(", backoff: {wait}"));
            let wait = wait.unwrap_or_default();
            let _ = writeln!(body, "    retry: {{ attempts: {attempts}{wait} }}");
        }
        if !step.accepts.is_empty() {
            let mut all = Vec::new();
            for accept in &step.accepts {
                let cel = self.condition(accept);
                if cel.is_none() {
                    self.open(
                        Some(id),
                        false,
                        &format!("write `accept` for: {}", accept.text),
                    );
                }
                let cel = cel.unwrap_or_else(|| "open".to_owned());
                all.push(format!(
                    "${{ {} }}",
                    cel.replace(&format!("steps.{id}.output"), "output")
                ));
            }
            let _ = writeln!(body, "    accept: {}", json!(all));
        }
        if let Some(timeout) = &step.timeout {
            let _ = writeln!(body, "    timeout: {timeout}");
        }
        for (key, value) in &step.rest {
            let message =
                format!("what `{key}` says has no place in a step: settle it, and delete it");
            self.open(Some(id), false, &message);
            let _ = writeln!(body, "    {}: {value}", json!(key));
        }
    }

    /// What the document says and nothing above does.
    fn lost(&mut self, draft: &ForeignPlan) {
        let open: Vec<&str> = self.open.iter().map(|open| open.message.as_str()).collect();
        let lost = lost::lost(&draft.texts, &self.out, &open, &self.names, self.catalog);
        for (at, (place, text)) in lost.into_iter().enumerate() {
            let says = format!("`{place}` says `{text}`, which is nowhere in this plan");
            self.open(None, false, &format!("{says}: settle it, and delete it"));
            self.line(&format!("lost.{at}: {}", json!(text)));
        }
    }

    fn end(&mut self, draft: &ForeignPlan) {
        let proofs: Vec<String> = draft
            .steps
            .iter()
            .zip(&self.names.ids)
            .filter(|(step, _)| step.proven || step.on_failure != Some("continue"))
            .map(|(_, id)| match self.conditional.contains(id) {
                true => format!("steps.{id}.status in [\"succeeded\", \"skipped\"]"),
                false => format!("steps.{id}.status == \"succeeded\""),
            })
            .collect();
        if let Some(success) = &draft.success {
            self.line(&format!("success: {success}"));
        } else if !proofs.is_empty() {
            let check = json!(format!("${{ {} }}", proofs.join(" && ")));
            self.line(&format!("success:\n  - {{ for: goal, check: {check} }}"));
        }
        if draft.answers.is_empty() {
            return;
        }
        self.line("answer:");
        for answer in &draft.answers {
            if let Some(said) = &answer.description {
                let said = said.split_whitespace().collect::<Vec<_>>().join(" ");
                self.line(&format!("  # {said}"));
            }
            let text = match self.names.text(&answer.text) {
                Ok(text) => text,
                Err(what) => {
                    self.open(
                        None,
                        false,
                        &format!("the answer reads `{what}`, which is not found"),
                    );
                    OPEN.to_owned()
                }
            };
            let mut all: Vec<String> = Vec::new();
            for condition in &answer.conditions {
                let cel = self.condition(condition);
                if cel.is_none() {
                    self.open(
                        None,
                        false,
                        &format!("the answer stands if: {}", condition.text),
                    );
                }
                all.push(cel.unwrap_or_else(|| "open".to_owned()));
            }
            let read = |id: &&String| text.contains(&format!("steps.{id}."));
            let guards = self.uncertain.iter().filter(read);
            all.extend(guards.map(|id| format!("steps.{id}.status == \"succeeded\"")));
            if all.is_empty() {
                self.line(&format!("  - {}", json!(text)));
            } else {
                let when = json!(format!("${{ {} }}", all.join(" && ")));
                self.line(&format!("  - {{ when: {when}, text: {} }}", json!(text)));
            }
        }
    }
}
