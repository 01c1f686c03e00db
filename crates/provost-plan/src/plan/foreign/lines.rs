//! Reads a foreign document that is text: calls and sentences, line by line.
//!
//! Owns code blocks, numbered lists, and calls as lines of text. INVARIANT: a program is not read
//! as a list: what decides in it is left open at each of its calls.

use serde_json::{Map, Value};

use super::names::{is_answer, tool_of};
use super::{ForeignAnswer, ForeignCondition, ForeignPlan, ForeignStep};
use crate::catalog::Catalog;

/// How many lines one call may have.
const LINES_MAX: usize = 24;
/// What only a program says.
const CODE: [&str; 7] = [
    "def ",
    "import ",
    "from ",
    "async ",
    "export ",
    "function ",
    "class ",
];

/// The blocks of code in a text.
pub(super) fn fenced(text: &str) -> Vec<&str> {
    let mut blocks = Vec::new();
    let mut parts = text.split("```");
    parts.next();
    while let Some(block) = parts.next() {
        // Why: the first line of a block may name its language.
        let (language, body) = block.split_once('\n').unwrap_or(("", block));
        let named = language.chars().all(|c| c.is_ascii_alphanumeric());
        blocks.push(if named { body } else { block });
        parts.next();
    }
    blocks
}

/// The JSON in a text with words around it.
pub(super) fn data_within(text: &str) -> Option<&str> {
    let begins = |line: &&str| line.starts_with(['[', '{']);
    let first = text.lines().find(begins)?;
    let start = text.find(first)?;
    let end = text.rfind([']', '}'])?;
    text.get(start..=end)
}

/// Reads a text; none if it holds no steps.
pub(super) fn read(text: &str, catalog: &Catalog) -> Option<ForeignPlan> {
    if let Some(draft) = super::graph::read(text, catalog) {
        return Some(draft);
    }
    let is_code = text
        .lines()
        .any(|line| CODE.iter().any(|word| line.trim_start().starts_with(word)));
    let mut reader = TextReader {
        draft: ForeignPlan {
            form: if is_code {
                "a program"
            } else {
                "a list of calls or sentences"
            },
            ..ForeignPlan::default()
        },
        catalog,
        is_code,
        blocks: Vec::new(),
        next: None,
        action: None,
        has_seen: false,
        sentences: 0,
        calls: 0,
    };
    for line in joined(text) {
        reader.line(line.trim());
    }
    let found = reader.calls > 0 || reader.sentences > 1;
    (found && !reader.draft.steps.is_empty()).then_some(reader.draft)
}

/// The lines, with those of one call as one line.
pub(super) fn joined(text: &str) -> Vec<String> {
    let mut out: Vec<String> = Vec::new();
    let mut depth = 0_i64;
    let mut run = 0;
    for line in text.lines() {
        if let (true, Some(last)) = (depth > 0 && run < LINES_MAX, out.last_mut()) {
            last.push(' ');
            last.push_str(line.trim());
            run += 1;
        } else {
            out.push(line.to_owned());
            (depth, run) = (0, 0);
        }
        let count = |sign: &[char]| i64::try_from(line.matches(sign).count()).unwrap_or(0);
        depth += count(&['(', '[']) - count(&[')', ']']);
    }
    out
}

/// A block around the lines that follow.
enum LineBlock {
    Each(String),
    When(ForeignCondition),
}

struct TextReader<'c> {
    draft: ForeignPlan,
    catalog: &'c Catalog,
    is_code: bool,
    blocks: Vec<LineBlock>,
    /// What the next call is for.
    next: Option<String>,
    /// The tool of a call whose arguments stand in the next line.
    action: Option<String>,
    /// Whether something came back before this line.
    has_seen: bool,
    sentences: usize,
    calls: usize,
}

impl TextReader<'_> {
    fn line(&mut self, line: &str) {
        let inner = line
            .strip_prefix("{{")
            .and_then(|line| line.strip_suffix("}}"));
        if let Some(inner) = inner {
            self.moustache(inner.trim());
            return;
        }
        if let Some(said) = line
            .strip_prefix("Plan:")
            .or_else(|| line.strip_prefix("plan:"))
        {
            self.next = Some(said.trim().to_owned());
            return;
        }
        if self.is_of_log(line) {
            return;
        }
        if line.is_empty()
            || ["//", ";", "<!--", "Thought:", "```"]
                .iter()
                .any(|w| line.starts_with(w))
        {
            return;
        }
        if let Some(call) = tag(line).or_else(|| call(line)) {
            let known = tool_of(&call.tool, self.catalog);
            // Why more of a name in a program: most of what it calls is no tool.
            let is_named = !self.is_code || call.tool.contains('.') || line.contains("await ");
            let is_call = match &known {
                Ok(_) => true,
                // Why what has a name: others refer to it, whoever does it.
                Err(near) => {
                    let is_referred_to = !self.is_code && call.name.is_some();
                    is_answer(&call.tool) || is_referred_to || is_named && !near.is_empty()
                }
            };
            if is_call {
                self.call(call);
                return;
            }
        }
        if self.is_code {
            return;
        }
        if let Some(said) = line.strip_prefix("(:").or_else(|| line.strip_prefix(':')) {
            self.draft
                .open
                .push(format!("what it says is not read: {said}"));
            return;
        }
        match item(line) {
            Some(text) => self.sentence(text),
            None if self.draft.steps.is_empty() && self.draft.goal.is_none() => {
                self.heading(line);
            }
            None => {}
        }
    }

    /// The line above a list says what it is for.
    fn heading(&mut self, line: &str) {
        let goal = line.trim_start_matches(['#', ' ']).trim_end_matches(':');
        let goal = goal.trim();
        // Why not these: they say that a list follows, and not what it is for.
        let heads = "plan|the plan|steps|tasks|task list|to do|todo";
        let is_head = heads.split('|').any(|head| goal.to_lowercase() == head);
        let is_goal = !goal.starts_with('<') && goal.len() > 3 && !is_head;
        self.draft.goal = is_goal.then(|| (0, goal.to_owned()));
    }

    /// A line of a log of thoughts, calls and what came back.
    fn is_of_log(&mut self, line: &str) -> bool {
        let Some((head, said)) = line.split_once(':') else {
            return false;
        };
        let said = said.trim();
        match head.trim() {
            "Question" | "Task" | "Objective" | "OBJECTIVE" if self.draft.steps.is_empty() => {
                self.draft.goal = Some((0, said.to_owned()));
            }
            "Thought" => self.next = Some(said.to_owned()),
            "Action" if !said.is_empty() => self.action = Some(said.to_owned()),
            "Action Input" => {
                let Some(tool) = self.action.take() else {
                    return false;
                };
                let given = serde_json::from_str(said).unwrap_or(Value::String(said.to_owned()));
                let (args, bare) = match given {
                    Value::Object(args) => (args, None),
                    other => (Map::new(), Some(other)),
                };
                let known = tool_of(&tool, self.catalog).ok();
                let acts = known.and_then(|tool| self.catalog.get(tool));
                let acts = acts.is_none_or(|operation| !operation.effect.is_read());
                let thought = self.next.clone().filter(|_| acts && self.has_seen);
                self.call(CallLine {
                    name: None,
                    tool,
                    args,
                    bare,
                });
                // Why open: who wrote the log had looked at what came back before.
                if let (Some(text), Some(step)) = (thought, self.draft.steps.last_mut()) {
                    let negated = false;
                    step.conditions.push(ForeignCondition { text, negated });
                }
            }
            "Observation" => self.has_seen = true,
            "Final Answer" => self.draft.answers.push(ForeignAnswer {
                text: said.to_owned(),
                ..ForeignAnswer::default()
            }),
            _ => return false,
        }
        true
    }

    /// `set "x" (call a=b)`, `#each list`, `#if x`, `#unless x`, `/each`
    fn moustache(&mut self, inner: &str) {
        if inner.starts_with('!') {
            return;
        }
        let (head, rest) = inner.split_once(' ').unwrap_or((inner, ""));
        match head {
            "#each" => self.blocks.push(LineBlock::Each(rest.to_owned())),
            // Why so: what counts as false there is more than `false`, and less is never run.
            "#if" | "#unless" => self.blocks.push(LineBlock::When(ForeignCondition {
                text: format!("{rest} == {}", if head == "#if" { "true" } else { "null" }),
                negated: false,
            })),
            _ if head.starts_with('/') => drop(self.blocks.pop()),
            "set" => {
                let rest = rest.trim().trim_start_matches('"');
                let Some((name, value)) = rest.split_once('"') else {
                    return;
                };
                let value = value.trim();
                let called = value
                    .strip_prefix('(')
                    .and_then(|value| value.strip_suffix(')'));
                match called.and_then(|value| value.split_once(' ')) {
                    Some((tool, args)) => self.call(CallLine {
                        name: Some(name.to_owned()),
                        tool: tool.to_owned(),
                        args: words(args).iter().filter_map(|arg| pair(arg)).collect(),
                        bare: None,
                    }),
                    None => {
                        let value = value.trim_matches('"').to_owned();
                        self.draft
                            .variables
                            .insert(name.to_owned(), Value::String(value));
                    }
                }
            }
            "json" => self.draft.answers.push(ForeignAnswer {
                text: format!("{{{{{rest}}}}}"),
                ..ForeignAnswer::default()
            }),
            _ => self.draft.open.push(format!("not read: {{{{{inner}}}}}")),
        }
    }

    fn call(&mut self, call: CallLine) {
        self.calls += 1;
        let mut step = self.around();
        step.names.extend(call.name);
        step.description = self.next.take();
        if is_answer(&call.tool) && self.catalog.get(&call.tool).is_none() {
            let text = call
                .args
                .values()
                .find_map(Value::as_str)
                .map(str::to_owned);
            let text = text.or_else(|| call.bare.as_ref()?.as_str().map(str::to_owned));
            self.draft.answers.extend(text.map(|text| ForeignAnswer {
                text,
                conditions: step.conditions,
                description: step.description,
            }));
            return;
        }
        (step.tool, step.args, step.bare) = (Some(call.tool), call.args, call.bare);
        self.draft.steps.push(step);
    }

    fn sentence(&mut self, text: &str) {
        self.sentences += 1;
        let mut step = self.around();
        // Why the odd parts: they stand between two backticks.
        let mut quoted = text.split('`').skip(1).step_by(2);
        if let Some(call) = quoted.clone().find_map(call) {
            (step.tool, step.args, step.bare) = (Some(call.tool), call.args, call.bare);
        } else {
            let tool = quoted.find(|name| tool_of(name, self.catalog).is_ok());
            step.tool = tool.map(str::to_owned);
        }
        step.description = Some(text.replace('`', ""));
        self.draft.steps.push(step);
    }

    /// A step with what the blocks around it say.
    fn around(&self) -> ForeignStep {
        let mut step = ForeignStep::default();
        for block in &self.blocks {
            match block {
                LineBlock::Each(list) if step.each.is_none() => step.each = Some(list.clone()),
                LineBlock::Each(list) => {
                    step.rest.push(("for_each".to_owned(), list.clone().into()))
                }
                LineBlock::When(condition) => step.conditions.push(condition.clone()),
            }
        }
        if self.is_code {
            step.conditions.push(ForeignCondition {
                text: "what the program decides before this call".to_owned(),
                negated: false,
            });
        }
        step
    }
}

/// The text of an item of a list: `1. x`, `- [ ] x`, `* x`.
fn item(line: &str) -> Option<&str> {
    let digits = line.trim_start_matches(|c: char| c.is_ascii_digit());
    let numbered = digits.len() < line.len();
    let rest = if numbered {
        digits.strip_prefix(['.', ')', ':'])?
    } else {
        let rest = line
            .strip_prefix("- ")
            .or_else(|| line.strip_prefix("* "))?
            .trim_start();
        let boxed = ["[ ]", "[x]", "[X]"]
            .iter()
            .find_map(|sign| rest.strip_prefix(*sign));
        boxed.unwrap_or(rest)
    };
    let rest = rest.trim();
    (!rest.is_empty()).then_some(rest)
}

/// A call as a line of text says it.
pub(super) struct CallLine {
    name: Option<String>,
    pub(super) tool: String,
    pub(super) args: Map<String, Value>,
    pub(super) bare: Option<Value>,
}

/// `1. name = tool(a=1)`, `#E1 = tool[text]`, `await tool({ a: 1 })`
pub(super) fn call(line: &str) -> Option<CallLine> {
    let mut rest = item(line).unwrap_or(line).trim_end_matches([';', ',']);
    let mut name = None;
    loop {
        rest = rest.trim_start();
        let word = ["await ", "return ", "const ", "let ", "var "];
        if let Some(after) = word.iter().find_map(|word| rest.strip_prefix(word)) {
            rest = after;
        } else if let Some((before, after)) = rest.split_once('=')
            && name.is_none()
            && !before.contains(['(', '[', '"'])
            && !after.starts_with('=')
        {
            name = Some(before.trim().trim_start_matches(['#', '$']).to_owned());
            rest = after;
        } else {
            break;
        }
    }
    if let Some(inner) = rest
        .strip_prefix('(')
        .and_then(|rest| rest.strip_suffix(')'))
    {
        // `(MOVE a b)`
        let (tool, args) = inner.split_once(' ')?;
        let plain = tool
            .chars()
            .all(|c| c.is_alphanumeric() || c == '-' || c == '_');
        let args = words(args).into_iter().map(Value::String).collect();
        return plain.then(|| CallLine {
            name,
            tool: tool.to_owned(),
            args: Map::new(),
            bare: Some(Value::Array(args)),
        });
    }
    let end = rest.find(|c: char| !(c.is_alphanumeric() || "._-/".contains(c)))?;
    let (tool, rest) = (rest.get(..end)?, rest.get(end..)?);
    if tool.is_empty() || !tool.starts_with(|c: char| c.is_alphabetic()) {
        return None;
    }
    let inner = rest
        .strip_prefix('(')
        .and_then(|rest| rest.rsplit_once(')'));
    let inner = inner.or_else(|| {
        rest.strip_prefix('[')
            .and_then(|rest| rest.rsplit_once(']'))
    });
    let inner = inner?.0.trim();
    let inner = inner
        .strip_prefix('{')
        .and_then(|rest| rest.strip_suffix('}'))
        .unwrap_or(inner);
    let given = split(inner, ',');
    let args: Map<String, Value> = given.iter().filter_map(|arg| pair(arg)).collect();
    let bare = (args.len() < given.len() && !inner.is_empty())
        .then(|| value(inner.trim_matches(['"', '\'']), false));
    Some(CallLine {
        name,
        tool: tool.to_owned(),
        args,
        bare,
    })
}

/// `<function.Skill.Name a="b" setContextVariable="X"/>`
fn tag(line: &str) -> Option<CallLine> {
    let inner = line
        .strip_prefix('<')?
        .strip_suffix('>')?
        .trim_end_matches('/');
    let (tool, rest) = inner.split_once(' ')?;
    let tool = tool.strip_prefix("function.")?;
    let mut name = None;
    let mut args = Map::new();
    for attribute in words(rest) {
        let Some((key, given)) = pair(&attribute) else {
            continue;
        };
        match key.as_str() {
            "setContextVariable" => name = given.as_str().map(str::to_owned),
            "appendToResult" => {}
            _ => drop(args.insert(key, given)),
        }
    }
    Some(CallLine {
        name,
        tool: tool.to_owned(),
        args,
        bare: None,
    })
}

/// `name=value` or `name: value`
fn pair(text: &str) -> Option<(String, Value)> {
    let at = text.find(['=', ':'])?;
    let (name, given) = (text.get(..at)?.trim(), text.get(at + 1..)?.trim());
    let name = name.trim_matches(['"', '\'']);
    let plain = name.chars().all(|c| c.is_alphanumeric() || c == '_');
    (plain && !name.is_empty()).then(|| (name.to_owned(), value(given, true)))
}

/// A value as written; what is no literal is a reference.
fn value(text: &str, literal: bool) -> Value {
    if let Ok(read) = serde_json::from_str(text) {
        return read;
    }
    let called = text
        .strip_prefix("(concat ")
        .and_then(|text| text.strip_suffix(')'));
    if let Some(called) = called {
        let parts = words(called);
        let parts = parts.iter().map(|part| value(part, true));
        return Value::String(
            parts
                .map(|part| part.as_str().unwrap_or_default().to_owned())
                .collect(),
        );
    }
    let quoted = text
        .strip_prefix(['"', '\''])
        .and_then(|text| text.strip_suffix(['"', '\'']));
    match quoted {
        Some(text) => Value::String(text.to_owned()),
        None if !literal || text.starts_with(['$', '#', '{']) => Value::String(text.to_owned()),
        None => Value::String(format!("{{{{ {text} }}}}")),
    }
}

/// Where the brackets end that a text begins within.
pub(super) fn end_of(text: &str) -> usize {
    let (mut depth, mut quote) = (0_usize, None);
    for (at, c) in text.char_indices() {
        match (quote, c) {
            (Some(open), _) if c == open => quote = None,
            (Some(_), _) => {}
            (None, '"' | '\'') => quote = Some(c),
            (None, '(' | '[' | '{') => depth += 1,
            (None, ')' | ']' | '}') if depth == 0 => return at,
            (None, ')' | ']' | '}') => depth -= 1,
            _ => {}
        }
    }
    text.len()
}

/// Splits outside quotes and brackets.
pub(super) fn split(text: &str, sign: char) -> Vec<String> {
    let mut parts = vec![String::new()];
    let (mut depth, mut quote) = (0_usize, None);
    for c in text.chars() {
        match (quote, c) {
            (Some(open), _) if c == open => quote = None,
            (None, '"' | '\'') => quote = Some(c),
            (None, '(' | '[' | '{') => depth += 1,
            (None, ')' | ']' | '}') => depth = depth.saturating_sub(1),
            _ => {}
        }
        if c == sign && depth == 0 && quote.is_none() {
            parts.push(String::new());
        } else if let Some(last) = parts.last_mut() {
            last.push(c);
        }
    }
    parts.retain(|part| !part.trim().is_empty());
    parts
}

fn words(text: &str) -> Vec<String> {
    split(text, ' ')
}
