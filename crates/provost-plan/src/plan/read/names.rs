//! Reads `let` and writes its names out, before anything else of a plan is read.
//!
//! Owns which names there are, what each stands for, and in which fields they may be used; and
//! what a condition per item is short for. Judges no expression. INVARIANT: the plan that is read
//! is the one in which every name was replaced by its expression; what that would come to is
//! counted before it is written.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use super::{bad_id, is_step_id};
use crate::codes::Code;
use crate::diagnostic::Diagnostic;
use crate::expr::Template;
use crate::expr::names::{LET, NameText, NamesUsed, is_operand, roots, used_in, written_out};
use crate::expr::offsets::Offsets;
use crate::limits::{EXPRESSION_BYTES_MAX, SOURCE_BYTES_MAX};
use crate::node::{Kind, Node};
use crate::plan::names::{LetName, Names, Origin, WrittenText};
use crate::source::{Source, Span, Spanned};

mod items;
mod order;

/// The fields of a step that hold expressions, in all their texts.
const FIELDS: [&str; 10] = [
    "when", "for_each", "until", "args", "accept", "confirm", "undo", "result", "assert", "message",
];

/// What a name stands for.
struct Meaning {
    /// Where its expression stands in the text of its value.
    at: Range<usize>,
    /// That text; none of a constant.
    text: String,
    /// The expression as one text, once the names in it are written out.
    written: Option<String>,
    is_operand: bool,
    used: Option<NamesUsed>,
    /// Words that a variable beside it must not be called.
    words: BTreeSet<String>,
}

/// Names by what they are called: in the plan, or in one step.
type Scope = BTreeMap<String, usize>;

/// Writes the names of a document out.
pub(super) struct Writer<'a> {
    source: &'a Source,
    diagnostics: &'a mut Vec<Diagnostic>,
    names: Vec<LetName>,
    meanings: Vec<Meaning>,
    of_plan: Scope,
    of_steps: BTreeMap<Span, Scope>,
    texts: Vec<WrittenText>,
    /// Parts of those texts that are no names.
    parts: Vec<Origin>,
    text: String,
    is_full: bool,
}

/// Whether there is anything to write out in a plan: names, or a condition of items.
pub(super) fn has_names(node: &Node) -> bool {
    let in_step = |step: &Node| step.get(LET).is_some() || items::may_ask_items(step);
    node.get(LET).is_some() || steps(node).any(in_step)
}

fn steps(plan: &Node) -> impl Iterator<Item = &Node> {
    plan.get("steps")
        .into_iter()
        .flat_map(|steps| match &steps.kind {
            Kind::List(steps) => steps.as_slice(),
            _ => &[],
        })
}

impl<'a> Writer<'a> {
    /// Reads the names of a plan, and those of the steps in further parts of it.
    pub(super) fn new(
        plan: &Node,
        parts: &[Node],
        source: &'a Source,
        diagnostics: &'a mut Vec<Diagnostic>,
    ) -> Self {
        let mut writer = Self {
            source,
            diagnostics,
            names: Vec::new(),
            meanings: Vec::new(),
            of_plan: Scope::new(),
            of_steps: BTreeMap::new(),
            texts: Vec::new(),
            parts: Vec::new(),
            text: source.text.to_string(),
            is_full: false,
        };
        writer.of_plan = writer.read(plan, None);
        for step in std::iter::once(plan).chain(parts).flat_map(steps) {
            let id = step.get("id").map(|id| match &id.kind {
                Kind::Text(id) => id.clone(),
                _ => String::new(),
            });
            let own = writer.read(step, Some(&id.unwrap_or_default()));
            writer.of_steps.insert(step.span, own);
        }
        writer.resolve();
        writer
    }

    /// A part of a plan with its names written out, in the text of [`Self::finish`].
    pub(super) fn write(&mut self, document: &Node) -> Node {
        let nothing = Scope::new();
        let mut document = document.clone();
        for (key, value) in entries(&mut document) {
            match key.as_str() {
                "success" | "answer" | "when" => self.tree(value, &nothing),
                "steps" => {
                    if let Kind::List(steps) = &mut value.kind {
                        steps.iter_mut().for_each(|step| self.step(step));
                    }
                }
                _ => {}
            }
        }
        document
    }

    /// The text in which the documents stand, and the way back.
    pub(super) fn finish(self) -> (Source, Names) {
        let names = Names {
            names: self.names,
            end: self.source.text.len(),
            texts: self.texts,
            parts: self.parts,
        };
        (Source::new(self.source.name.clone(), self.text), names)
    }

    fn step(&mut self, step: &mut Node) {
        let own = self.of_steps.get(&step.span).cloned().unwrap_or_default();
        *step = without_let(step);
        let mut fields = FIELDS.to_vec();
        if let Some(asked) = self.ask_items(step, &own) {
            // Why no more: their names are written out.
            fields.retain(|field| !matches!(*field, "when" | "for_each"));
            set(step, "for_each", Some(asked.list));
            set(step, "when", asked.when);
        }
        for (key, value) in entries(step) {
            match (key.as_str(), &value.kind) {
                ("question", Kind::Map(_)) => {
                    for (key, value) in entries(value) {
                        if key == "text" {
                            self.tree(value, &own);
                        }
                    }
                }
                ("question", _) => self.tree(value, &own),
                (field, _) if fields.contains(&field) => self.tree(value, &own),
                _ => {}
            }
        }
    }

    /// Every text of a tree.
    fn tree(&mut self, node: &mut Node, own: &Scope) {
        match &mut node.kind {
            Kind::List(items) => items.iter_mut().for_each(|item| self.tree(item, own)),
            Kind::Map(entries) => {
                let values = entries.iter_mut().map(|(_, value)| value);
                values.for_each(|value| self.tree(value, own));
            }
            Kind::Text(text) => {
                if let Some((text, span)) = self.written(text, node.span, own) {
                    *node = Node {
                        kind: Kind::Text(text),
                        span,
                    };
                }
            }
            Kind::Null | Kind::Bool(_) | Kind::Number(_) => {}
        }
    }

    /// A text with its names written out, and where it stands then; nothing if it uses none.
    fn written(&mut self, text: &str, whole: Span, own: &Scope) -> Option<(String, Span)> {
        if !text.contains(LET) {
            return None;
        }
        let expressions = used_in(text);
        if !self.may_use(&expressions, text, whole, own) {
            return None;
        }
        let value = |name: &str| self.value(name, own);
        let uses = expressions.iter().flat_map(|one| &one.uses);
        let sizes = uses
            .filter_map(|(name, _)| value(name))
            .map(|value| value.size());
        let bytes = text.len() + sizes.sum::<usize>();
        if !self.has_room(bytes, whole) {
            return None;
        }
        let value = |name: &str| self.value(name, own);
        let (written, pieces) = written_out(text, 0..text.len(), &expressions, &value);
        if pieces.len() < 2 {
            return None;
        }
        let own = Offsets::new(text, whole, &self.source.text);
        let origin = Origin { own, pieces };
        Some(self.add(written, whole, origin))
    }

    /// Whether names are used in a text as they may be; reports where they are not.
    fn may_use(&mut self, expressions: &[NamesUsed], text: &str, whole: Span, own: &Scope) -> bool {
        let source = self.source;
        let mut found = Vec::new();
        for one in expressions.iter().filter(|one| !one.uses.is_empty()) {
            let offsets = || Offsets::new(text, whole, &source.text);
            let place = |at: &Range<usize>| offsets().span(at.start, at.end);
            found.extend(self.misuse(one, own, &place));
        }
        for (name, _) in expressions.iter().flat_map(|one| &one.uses) {
            if let Some(name) = self.lookup(name, own)
                && let Some(name) = self.names.get_mut(name)
            {
                name.is_used = true;
            }
        }
        let may = found.is_empty() && !self.is_full;
        self.diagnostics.extend(found);
        may
    }

    /// Whether there is room for so many bytes more; reports the first text for which there is not.
    fn has_room(&mut self, bytes: usize, whole: Span) -> bool {
        let added = self.text.len() - self.source.text.len();
        self.is_full = added + bytes > SOURCE_BYTES_MAX;
        if self.is_full {
            let message = format!(
                "with its names written out, the plan has more than the {SOURCE_BYTES_MAX} bytes \
                 allowed"
            );
            let finding = Diagnostic::new(Code::TooLarge, whole, message);
            self.diagnostics.push(finding);
        }
        !self.is_full
    }

    /// Adds a text behind the text of the author.
    fn add(&mut self, written: String, whole: Span, origin: Origin) -> (String, Span) {
        // Why a blank: what begins with a quote would be read as a text in quotes.
        let before = usize::from(written.starts_with(['\'', '"', '|', '>']));
        self.text.push('\n');
        let start = self.text.len();
        self.text.push_str(&" ".repeat(before));
        self.text.push_str(&written);
        let span = Span::new(start, self.text.len());
        self.texts.push(WrittenText {
            at: start..self.text.len(),
            before,
            whole,
            origin,
        });
        (written, span)
    }

    /// What is wrong with how an expression uses names.
    fn misuse(
        &self,
        used: &NamesUsed,
        own: &Scope,
        place: &dyn Fn(&Range<usize>) -> Span,
    ) -> Option<Diagnostic> {
        let mut size = used.at.len();
        for (name, at) in &used.uses {
            let meaning = self.lookup(name, own).and_then(|n| self.meanings.get(n));
            let Some(meaning) = meaning else {
                continue;
            };
            let hidden = used
                .variables
                .iter()
                .find(|(variable, _)| meaning.words.contains(variable));
            if let Some((variable, at)) = hidden {
                let message = format!("the variable `{variable}` hides what `let.{name}` reads");
                let finding = Diagnostic::new(Code::BadLet, place(at), message);
                return Some(finding.hint("call the variable something else"));
            }
            if let Some(value) = self.value(name, own) {
                size = (size + value.size()).saturating_sub(at.len());
            }
        }
        (size > EXPRESSION_BYTES_MAX && used.at.len() <= EXPRESSION_BYTES_MAX).then(|| {
            let message = format!(
                "with its names written out, the expression is longer than \
                 {EXPRESSION_BYTES_MAX} bytes"
            );
            let finding = Diagnostic::new(Code::BadExpression, place(&used.at), message);
            finding.hint("let a step compute a part of it")
        })
    }

    fn lookup(&self, name: &str, own: &Scope) -> Option<usize> {
        own.get(name).or_else(|| self.of_plan.get(name)).copied()
    }

    fn value(&self, name: &str, own: &Scope) -> Option<NameText<'_>> {
        let name = self.lookup(name, own)?;
        let meaning = self.meanings.get(name)?;
        Some(NameText {
            name,
            text: meaning.written.as_deref()?,
            is_operand: meaning.is_operand,
        })
    }

    /// The names of the `let` of a plan or a step.
    fn read(&mut self, holder: &Node, step: Option<&String>) -> Scope {
        let mut scope = Scope::new();
        let entries = match holder.get(LET) {
            None => return scope,
            Some(node) => match &node.kind {
                Kind::Map(entries) => entries,
                Kind::Null => return scope,
                _ => {
                    let message = format!(
                        "`let` must be a map of names and values, not {}",
                        node.kind_word()
                    );
                    let finding = Diagnostic::new(Code::WrongShape, node.span, message);
                    self.report(finding, step);
                    return scope;
                }
            },
        };
        for (name, value) in entries {
            if !is_step_id(&name.value) {
                self.report(bad_id(name), step);
                continue;
            }
            if let Some(before) = self.of_plan.get(&name.value).filter(|_| step.is_some()) {
                let message = format!("`{}` is a name of the plan already", name.value);
                let first = self.names.get(*before).map(|name| name.name.span);
                let finding = Diagnostic::new(Code::BadLet, name.span, message)
                    .related(first.unwrap_or_default(), "the name of the plan")
                    .hint("a name has one meaning in the whole plan: call it something else");
                self.report(finding, step);
                continue;
            }
            match self.meaning(name, value, step) {
                Ok(()) => {
                    scope.insert(name.value.clone(), self.names.len() - 1);
                }
                Err(finding) => self.report(*finding, step),
            }
        }
        scope
    }

    fn report(&mut self, mut finding: Diagnostic, step: Option<&String>) {
        let step = step.filter(|id| !id.is_empty());
        finding.step = finding.step.or_else(|| step.cloned());
        self.diagnostics.push(finding);
    }

    /// Reads what one name stands for.
    fn meaning(
        &mut self,
        name: &Spanned<String>,
        value: &Node,
        step: Option<&String>,
    ) -> Result<(), Box<Diagnostic>> {
        let wrong = |message: String| {
            let finding = Diagnostic::new(Code::WrongShape, value.span, message);
            Box::new(finding.hint("one expression, `${ … }`, or a text, a number, `true`, a list"))
        };
        let mut references = Vec::new();
        let mut meaning = match &value.kind {
            Kind::Text(text) => {
                let template = Template::parse(text, value.span, &self.source.text)?;
                match (template.constant(), template.whole()) {
                    (Some(constant), _) => Meaning::constant(constant.to_string()),
                    (None, Some(expression)) => {
                        references.extend_from_slice(expression.references());
                        let used = used_in_one(text, expression.source());
                        Meaning {
                            words: roots(&template),
                            at: used.at.clone(),
                            text: text.clone(),
                            written: None,
                            is_operand: is_operand(expression),
                            used: Some(used),
                        }
                    }
                    (None, None) => {
                        let message = format!("`{}` is a text with expressions", name.value);
                        return Err(wrong(message));
                    }
                }
            }
            Kind::Null => return Err(wrong(format!("`{}` stands for nothing", name.value))),
            _ if has_expressions(value) => {
                let message = format!("`{}` is a constant with expressions in it", name.value);
                return Err(wrong(message));
            }
            _ => Meaning::constant(value.to_value().to_string()),
        };
        if let Some(used) = &meaning.used {
            meaning.words.extend(used.words.iter().cloned());
        }
        let own = match &value.kind {
            Kind::Text(text) if meaning.used.is_some() => {
                Offsets::new(text, value.span, &self.source.text)
            }
            _ => Offsets::new("", value.span, ""),
        };
        self.meanings.push(meaning);
        self.names.push(LetName {
            name: name.clone(),
            step: step.cloned(),
            span: value.span,
            is_used: false,
            references,
            origin: Origin {
                own,
                pieces: Vec::new(),
            },
        });
        Ok(())
    }
}

/// The one expression of a text, with the names that it uses.
fn used_in_one(text: &str, expression: &str) -> NamesUsed {
    let first = used_in(text).into_iter().next();
    first.unwrap_or_else(|| {
        let start = text.find(expression).unwrap_or_default();
        NamesUsed {
            at: start..start + expression.len(),
            uses: Vec::new(),
            variables: Vec::new(),
            words: BTreeSet::new(),
        }
    })
}

fn has_expressions(node: &Node) -> bool {
    match &node.kind {
        Kind::Text(text) => text.contains("${"),
        Kind::List(items) => items.iter().any(has_expressions),
        Kind::Map(entries) => entries.iter().any(|(_, value)| has_expressions(value)),
        Kind::Null | Kind::Bool(_) | Kind::Number(_) => false,
    }
}

impl Meaning {
    /// A constant is written in JSON, which is CEL.
    fn constant(text: String) -> Self {
        Self {
            at: 0..text.len(),
            is_operand: !text.starts_with('-'),
            written: Some(text),
            text: String::new(),
            used: None,
            words: BTreeSet::new(),
        }
    }
}

pub(super) fn without_let(node: &Node) -> Node {
    let mut node = node.clone();
    if let Kind::Map(entries) = &mut node.kind {
        entries.retain(|(key, _)| key.value != LET);
    }
    node
}

/// Puts a value in the place of a field that is there, or takes the field out.
fn set(node: &mut Node, field: &str, value: Option<Node>) {
    let Kind::Map(entries) = &mut node.kind else {
        return;
    };
    match value {
        None => entries.retain(|(key, _)| key.value != field),
        Some(value) => {
            let found = entries.iter_mut().find(|(key, _)| key.value == field);
            found
                .into_iter()
                .for_each(|(_, node)| *node = value.clone());
        }
    }
}

/// The text of a field, and its place; nothing of a field of another kind.
fn text_of<'n>(node: &'n Node, field: &str) -> Option<(&'n str, Span)> {
    let node = node.get(field)?;
    match &node.kind {
        Kind::Text(text) => Some((text, node.span)),
        _ => None,
    }
}

fn entries(node: &mut Node) -> impl Iterator<Item = (&String, &mut Node)> {
    let entries: &mut [(Spanned<String>, Node)] = match &mut node.kind {
        Kind::Map(entries) => entries,
        _ => &mut [],
    };
    entries.iter_mut().map(|(key, value)| (&key.value, value))
}
