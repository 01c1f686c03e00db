//! References and conditions of foreign documents as expressions.
//!
//! Owns the notations in which a document reads the result of a step, and what each is in a plan.
//! INVARIANT: what is not understood comes back as nothing, and the caller leaves it open; no part
//! of a condition is left out.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use crate::expr::{Root, Template};
use crate::source::Span;

/// What names mean in a document.
pub(super) struct ForeignNames {
    /// The ids of steps, by what the document calls them or their results.
    pub(super) steps: BTreeMap<String, String>,
    /// The ids in the order of the document.
    pub(super) ids: Vec<String>,
    /// Constants.
    pub(super) variables: BTreeMap<String, Value>,
    /// What each job passes on, by its name.
    pub(super) passed_on: BTreeMap<String, BTreeMap<String, String>>,
    /// The id of the step before the one that is written, if it is one.
    pub(super) before: Option<String>,
    /// The fields of what each step yields, by its id, where they are declared.
    pub(super) outputs: BTreeMap<String, BTreeSet<String>>,
    /// What was read and written into the plan in its own notation.
    pub(super) read: RefCell<BTreeSet<String>>,
}

/// Signs around a reference in a text: how it begins and ends.
const AROUND: [(&str, &str); 5] = [
    ("${{", "}}"),
    ("={{", "}}"),
    ("{{", "}}"),
    ("${", "}"),
    ("{", "}"),
];
/// Words on the way to a result that name no part of it.
const WRAPPERS: [&str; 14] = [
    "output",
    "outputs",
    "result",
    "results",
    "response",
    "structuredContent",
    "json",
    "parameters",
    "data",
    "body",
    "content",
    "value",
    "stdout",
    "return_value",
];
/// Words before the name of a step.
const HEADS: [&str; 13] = [
    "$",
    "env",
    "workflow",
    "parameters",
    "steps",
    "tasks",
    "needs",
    "jobs",
    "nodes",
    "state",
    "vars",
    "inputs",
    "variables",
];

/// Functions that give the result of the step whose name they are given.
const READS: [&str; 7] = [
    "xcom_pull",
    "ref",
    "output",
    "outputs",
    "result",
    "result_of",
    "get_result",
];

/// A part of a text that is not meant as it stands there.
enum TextPart {
    Text(String),
    Expression(String),
}

impl ForeignNames {
    /// A text with its references as expressions; an error says which one is not understood.
    pub(super) fn text(&self, text: &str) -> Result<String, String> {
        let mut out = String::with_capacity(text.len());
        let mut rest = text;
        while let Some(c) = rest.chars().next() {
            match self.reference(rest)? {
                Some((TextPart::Text(read), after)) => {
                    out.push_str(&read);
                    rest = after;
                }
                Some((TextPart::Expression(cel), after)) => {
                    let whole = out.is_empty() && after.is_empty();
                    // Why: the result of a step is no text, and stands in one as JSON.
                    let is_result = cel.ends_with(".output") && cel.matches('.').count() == 2;
                    let cel = if is_result && !whole {
                        format!("json({cel})")
                    } else {
                        cel
                    };
                    out.push_str(&format!("${{ {cel} }}"));
                    rest = after;
                }
                None => {
                    out.push(c);
                    rest = rest.get(c.len_utf8()..).unwrap_or_default();
                }
            }
        }
        self.read.borrow_mut().insert(text.to_owned());
        Ok(out)
    }

    /// The reference that a text begins with, and what follows it.
    fn reference<'t>(&self, text: &'t str) -> Result<Option<(TextPart, &'t str)>, String> {
        for (from, to) in AROUND {
            let Some(inner) = text.strip_prefix(from) else {
                continue;
            };
            let Some((inner, after)) = inner.split_once(to) else {
                continue;
            };
            if let Some(value) = self.variables.get(bare(inner)) {
                let text = value.as_str();
                let text = text.map_or_else(|| value.to_string(), str::to_owned);
                return Ok(Some((TextPart::Text(text), after)));
            }
            return match self.expression(inner) {
                Some(cel) => Ok(Some((TextPart::Expression(cel), after))),
                // Why: one brace is often just a brace.
                None if from == "{" => Ok(None),
                None => Err(format!("{from}{inner}{to}")),
            };
        }
        match text.chars().next() {
            Some('<') => self.in_angles(text),
            Some(sign @ ('$' | '#')) => self.after_sign(sign, text),
            _ => Ok(None),
        }
    }

    /// `<resource-1>.title`
    fn in_angles<'t>(&self, text: &'t str) -> Result<Option<(TextPart, &'t str)>, String> {
        let Some((inner, after)) = text.get(1..).and_then(|text| text.split_once('>')) else {
            return Ok(None);
        };
        let path: String = after.chars().take_while(|c| is_path(*c)).collect();
        let path = path.trim_end_matches('.');
        let after = after.get(path.len()..).unwrap_or_default();
        match self.path(&format!("{inner}{path}")) {
            Some(cel) => Ok(Some((TextPart::Expression(cel), after))),
            // Why: words in angles stand for a value that nobody has given yet.
            None if inner.contains(' ') || inner.contains('-') => Err(format!("<{inner}>")),
            None => Ok(None),
        }
    }

    /// `$.a.b`, `$1.a`, `#E1`
    fn after_sign<'t>(
        &self,
        sign: char,
        text: &'t str,
    ) -> Result<Option<(TextPart, &'t str)>, String> {
        let rest = text.get(1..).unwrap_or_default();
        let path: String = rest.chars().take_while(|c| is_path(*c)).collect();
        let path = path.trim_end_matches(['.', '-']);
        let inner = path.strip_prefix('.').unwrap_or(path);
        if inner.is_empty() {
            return Ok(None);
        }
        let after = rest.get(path.len()..).unwrap_or_default();
        match self.path(inner) {
            Some(cel) => Ok(Some((TextPart::Expression(cel), after))),
            None if sign == '$' || inner.starts_with('E') => Err(format!("{sign}{path}")),
            None => Ok(None),
        }
    }

    /// A condition or a value as an expression.
    pub(super) fn expression(&self, written: &str) -> Option<String> {
        let mut text = written.trim();
        for (from, to) in AROUND {
            if let Some(inner) = text
                .strip_prefix(from)
                .and_then(|text| text.strip_suffix(to))
            {
                text = inner.trim();
            }
        }
        // Why: a condition may read several results, each in signs of its own.
        let bare = text
            .replace("${{", "(")
            .replace("{{", "(")
            .replace("}}", ")");
        let text = bare.as_str();
        let (value, filters) = text
            .split_once(" | ")
            .map_or((text, None), |(a, b)| (a, Some(b)));
        let mut cel = self.tokens(value)?;
        for filter in filters.into_iter().flat_map(|text| text.split('|')) {
            cel = filtered(&cel, filter.trim())?;
        }
        let whole = format!("${{ {cel} }}");
        let read = Template::parse(&whole, Span::new(0, whole.len()), &whole).ok()?;
        read.references().all(|one| self.knows(&one.root)).then(|| {
            self.read.borrow_mut().insert(written.to_owned());
            cel
        })
    }

    fn knows(&self, root: &Root) -> bool {
        match root {
            Root::Step(id) => self.ids.iter().any(|known| known == id),
            Root::Item | Root::Index | Root::Run | Root::Output => true,
            _ => false,
        }
    }

    fn tokens(&self, text: &str) -> Option<String> {
        let mut out = String::new();
        let mut rest = text.trim();
        while let Some(c) = rest.chars().next() {
            let end = match c {
                '\'' | '"' => rest.get(1..)?.find(c)? + 2,
                _ if c.is_whitespace() => 1,
                _ if c.is_ascii_digit() => length(rest, is_path),
                _ if is_path(c) || c == '$' || c == '#' => {
                    let sign = usize::from(c == '$' || c == '#');
                    sign + length(rest.get(sign..)?, is_path)
                }
                _ => length(rest, |c| "=!<>&|".contains(c)).max(c.len_utf8()),
            };
            let token = rest.get(..end)?;
            let before = out.trim_end().trim_end_matches(['=', '!', ')', ' ']);
            let is_status = out.trim_end().ends_with('=') && before.ends_with(".status");
            rest = rest.get(end..)?;
            let called = rest.starts_with('(');
            out.push_str(&match token {
                "is" if rest.trim_start().starts_with("not ") => {
                    rest = rest.trim_start().strip_prefix("not")?;
                    "!=".to_owned()
                }
                "is" => "==".to_owned(),
                _ if is_status => status(token)?,
                "and" | "AND" => "&&".to_owned(),
                "or" | "OR" => "||".to_owned(),
                "not" | "NOT" => "!".to_owned(),
                "===" => "==".to_owned(),
                "!==" => "!=".to_owned(),
                "None" | "nil" | "undefined" | "null" => "null".to_owned(),
                "True" | "true" => "true".to_owned(),
                "False" | "false" => "false".to_owned(),
                "in" => "in".to_owned(),
                "len" | "length" | "size" if called => "size".to_owned(),
                _ if called && is_path(c) => {
                    let (result, after) = self.result_of(token, rest)?;
                    rest = after;
                    result
                }
                _ if c.is_alphabetic() || matches!(c, '$' | '#' | '_') => self.path(token)?,
                _ if c.is_ascii_digit() && token.parse::<f64>().is_err() => self.path(token)?,
                _ => token.to_owned(),
            });
        }
        Some(out)
    }

    /// What a call reads that is given the name of a step, and the text behind it:
    /// `ti.xcom_pull(task_ids='level')['on_hand']`.
    fn result_of<'t>(&self, called: &str, rest: &'t str) -> Option<(String, &'t str)> {
        let name = called.rsplit('.').next()?;
        let (given, mut after) = rest.strip_prefix('(')?.split_once(')')?;
        let given = given.split_once('=').map_or(given, |(_, given)| given);
        let quotes = ['\'', '"', ' '];
        let id = self.steps.get(given.trim_matches(quotes))?;
        if !READS.contains(&name) {
            return None;
        }
        let mut path = Vec::new();
        loop {
            if let Some(inner) = after.strip_prefix('[') {
                let (key, next) = inner.split_once(']')?;
                path.push(key.trim_matches(quotes).to_owned());
                after = next;
            } else if let Some(inner) = after.strip_prefix('.') {
                let (key, next) =
                    inner.split_at(length(inner, |c| c.is_alphanumeric() || c == '_'));
                path.push(key.to_owned());
                after = next;
            } else {
                return Some((self.within(id, &path), after));
            }
        }
    }

    /// A path into the result of a step, or a constant.
    pub(super) fn path(&self, text: &str) -> Option<String> {
        let text = text.trim().trim_start_matches(['$', '#']);
        let text = text.strip_prefix('.').unwrap_or(text);
        if let Some(value) = self.variables.get(text) {
            return Some(value.to_string());
        }
        let mut parts = parts(text)?;
        let mut head = parts.first()?.clone();
        if let (Some(at), "calls" | "steps" | "tasks" | "actions") = (
            parts.get(1).and_then(|part| part.parse::<usize>().ok()),
            head.as_str(),
        ) && !self.steps.contains_key(&head)
        {
            let id = self.ids.get(at)?;
            return Some(self.within(id, parts.get(2..)?));
        }
        let of_step = matches!(head.as_str(), "steps" | "tasks" | "needs");
        while !self.steps.contains_key(&head) && HEADS.contains(&head.as_str()) {
            parts.remove(0);
            head = parts.first()?.clone();
        }
        if let Some(value) = self.variables.get(&head).filter(|_| parts.len() == 1) {
            return Some(value.to_string());
        }
        if let (Some(passed), [_, outputs, field]) = (self.passed_on.get(&head), parts.as_slice())
            && matches!(outputs.as_str(), "output" | "outputs")
            && let Some(given) = passed.get(field)
        {
            return self.expression(given);
        }
        if head == "json" && !self.steps.contains_key(&head) {
            return Some(self.within(self.before.as_ref()?, parts.get(1..)?));
        }
        if head == "item" || head == "this" {
            let rest = parts.get(1..)?;
            return Some(format!("item{}", written(rest)));
        }
        if head == "output" && !self.steps.contains_key(&head) {
            return Some(format!("output{}", written(parts.get(1..)?)));
        }
        let id = self.steps.get(&head)?;
        if let (true, [_, field]) = (of_step, parts.as_slice())
            && field == "status"
        {
            return Some(format!("steps.{id}.status"));
        }
        Some(self.within(id, parts.get(1..)?))
    }

    fn within(&self, id: &str, path: &[String]) -> String {
        let mut path = path;
        let is_field = |name: &str| self.outputs.get(id).is_some_and(|all| all.contains(name));
        while let Some((first, rest)) = path.split_first()
            && WRAPPERS.contains(&first.as_str())
            && !is_field(first)
        {
            path = rest;
        }
        if let Some((last, rest)) = path.split_last()
            && matches!(last.as_str(), "length" | "size" | "count")
            && !rest.is_empty()
        {
            return format!("size(steps.{id}.output{})", written(rest));
        }
        if let Some("status") = path.first().map(String::as_str)
            && path.len() == 1
            && !is_field("status")
        {
            return format!("steps.{id}.status");
        }
        format!("steps.{id}.output{}", written(path))
    }
}

/// The status of a step as other forms call it.
fn status(word: &str) -> Option<String> {
    let bare = word.trim_matches(['\'', '"']).to_lowercase();
    match bare.as_str() {
        "" => Some(word.to_owned()),
        "success" | "succeeded" | "completed" | "complete" | "ok" | "done" => {
            Some("\"succeeded\"".to_owned())
        }
        "failed" | "failure" | "error" => Some("\"failed\"".to_owned()),
        "skipped" => Some("\"skipped\"".to_owned()),
        _ if word.trim().is_empty() => Some(word.to_owned()),
        _ => None,
    }
}

fn bare(text: &str) -> &str {
    let text = text.trim().trim_start_matches(['$', '.']);
    let found = [
        "vars.",
        "inputs.",
        "variables.",
        "env.",
        "workflow.parameters.",
        "params.",
    ];
    found
        .iter()
        .find_map(|head| text.strip_prefix(head))
        .unwrap_or(text)
}

fn is_path(c: char) -> bool {
    c.is_alphanumeric() || matches!(c, '_' | '.' | '[' | ']' | '-')
}

fn length(text: &str, holds: impl Fn(char) -> bool) -> usize {
    text.find(|c: char| !holds(c)).unwrap_or(text.len())
}

fn parts(text: &str) -> Option<Vec<String>> {
    let text = text.replace(['[', ']'], ".");
    let parts: Vec<String> = text
        .split('.')
        .map(|part| part.trim_matches(['\'', '"']))
        .filter(|part| !part.is_empty())
        .map(str::to_owned)
        .collect();
    (!parts.is_empty()).then_some(parts)
}

fn written(path: &[String]) -> String {
    let part = |part: &String| {
        if part.bytes().all(|b| b.is_ascii_digit()) {
            format!("[{part}]")
        } else if part.contains('-') {
            format!("[\"{part}\"]")
        } else {
            format!(".{part}")
        }
    };
    path.iter().map(part).collect()
}

/// What a filter of a template language is.
fn filtered(value: &str, filter: &str) -> Option<String> {
    let name = filter.split('(').next().unwrap_or_default().trim();
    let args = filter
        .split_once('(')
        .and_then(|(_, rest)| rest.strip_suffix(')'));
    let field = || {
        let field = args?.trim().trim_matches(['\'', '"']);
        let plain = field.chars().all(|c| c.is_alphanumeric() || c == '_');
        (plain && !field.is_empty()).then(|| field.to_owned())
    };
    match name {
        "length" | "count" => Some(format!("size({value})")),
        "list" | "trim" => Some(value.to_owned()),
        "selectattr" => Some(format!("{value}.filter(x, x.{})", field()?)),
        "rejectattr" => Some(format!("{value}.filter(x, !x.{})", field()?)),
        "first" => Some(format!("{value}[0]")),
        _ => None,
    }
}
