//! YAML and JSON into [`Node`], event by event.
//!
//! INVARIANT: depth, count of values and anchors are bounded before anything is built from them.

use std::collections::BTreeMap;

use granit_parser::{Event, Parser, ScalarStyle};
use serde_json::Number;

use super::{Kind, Node};
use crate::codes::Code;
use crate::diagnostic::Diagnostic;
use crate::digest::normalize_number;
use crate::json;
use crate::limits::{SOURCE_DEPTH_MAX, SOURCE_NODES_MAX};
use crate::source::{Span, Spanned};

/// A list or map that is still open.
struct OpenNode {
    start: usize,
    kind: OpenKind,
}

enum OpenKind {
    List(Vec<Node>),
    Map {
        entries: Vec<(Spanned<String>, Node)>,
        key: Option<Spanned<String>>,
        /// Where each key stands first; a map may hold as many as the text has values.
        names: BTreeMap<String, Span>,
    },
}

struct Builder<'a> {
    text: &'a str,
    open: Vec<OpenNode>,
    root: Option<Node>,
    count: usize,
}

pub(super) fn parse(text: &str) -> Result<Node, Diagnostic> {
    let options = granit_parser::options! {
        disallow_directives: true,
        flow_nesting_limit: SOURCE_DEPTH_MAX * 2,
        block_nesting_limit: SOURCE_DEPTH_MAX * 2,
    };
    let mut builder = Builder {
        text,
        open: Vec::new(),
        root: None,
        count: 0,
    };
    for event in Parser::new_from_str_with_options(text, options) {
        let (event, span) = event.map_err(|error| {
            let at = error.marker().byte_offset().unwrap_or(0).min(text.len());
            let finding =
                Diagnostic::new(Code::Syntax, Span::new(at, at), lower_first(&error.info()));
            match quoting(text, at) {
                Some(hint) => finding.hint(hint),
                None => finding,
            }
        })?;
        let span = span
            .byte_range()
            .map_or_else(Span::default, |r| Span::new(r.start, r.end));
        builder.event(&event, span)?;
    }
    builder.root.ok_or_else(|| {
        Diagnostic::new(Code::Syntax, Span::default(), "the text is empty")
            .hint("a plan begins with `schema: provost/plan/v1`")
    })
}

/// What to do where the value of a line is cut by `: `, which only quotes keep.
fn quoting(text: &str, at: usize) -> Option<&'static str> {
    let before = text.get(..at)?;
    let start = before.rfind('\n').map_or(0, |end| end + 1);
    let (_, value) = text.get(start..)?.lines().next()?.split_once(": ")?;
    let value = value.trim_start();
    if value.starts_with(['"', '\'', '|', '>', '{', '[']) || !value.contains(": ") {
        return None;
    }
    Some(match value.contains("${") {
        true => {
            "put the expression in quotes, as in `\"${ … }\"`: with `: ` in it, it cannot stand \
             bare"
        }
        false => "put the text in quotes: with `: ` in it, it cannot stand bare",
    })
}

fn lower_first(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map_or_else(String::new, |first| {
        first.to_lowercase().chain(chars).collect()
    })
}

impl Builder<'_> {
    fn event(&mut self, event: &Event<'_>, span: Span) -> Result<(), Diagnostic> {
        match event {
            Event::Scalar(text, style, anchor, tag) => {
                self.refuse_properties(*anchor != 0, tag.is_some(), span)?;
                let kind = self.scalar(text, *style, span)?;
                let span = match style {
                    ScalarStyle::Literal | ScalarStyle::Folded => self.trimmed(span),
                    _ => span,
                };
                self.value(Node { kind, span })
            }
            Event::SequenceStart(_, anchor, tag) => {
                self.refuse_properties(*anchor != 0, tag.is_some(), span)?;
                self.push(OpenKind::List(Vec::new()), span)
            }
            Event::MappingStart(_, anchor, tag) => {
                self.refuse_properties(*anchor != 0, tag.is_some(), span)?;
                self.push(
                    OpenKind::Map {
                        entries: Vec::new(),
                        key: None,
                        names: BTreeMap::new(),
                    },
                    span,
                )
            }
            Event::SequenceEnd | Event::MappingEnd => self.close(span),
            Event::Alias(_) => self.refuse_properties(true, false, span),
            Event::DocumentStart(..) if self.root.is_some() => {
                Err(
                    Diagnostic::new(Code::Syntax, span, "a second document begins here")
                        .hint("keep one document in a text"),
                )
            }
            _ => Ok(()),
        }
    }

    fn refuse_properties(&self, anchor: bool, tag: bool, span: Span) -> Result<(), Diagnostic> {
        if anchor || tag {
            let what = if tag { "a tag" } else { "an anchor or alias" };
            return Err(Diagnostic::new(
                Code::AnchorUsed,
                span,
                format!("{what} is not part of the language"),
            )
            .hint("write the value out where it is needed"));
        }
        Ok(())
    }

    fn push(&mut self, kind: OpenKind, span: Span) -> Result<(), Diagnostic> {
        if self.open.len() >= SOURCE_DEPTH_MAX {
            return Err(Diagnostic::new(
                Code::TooLarge,
                span,
                format!("lists and maps nest deeper than {SOURCE_DEPTH_MAX}"),
            ));
        }
        self.open.push(OpenNode {
            start: span.start,
            kind,
        });
        Ok(())
    }

    fn close(&mut self, span: Span) -> Result<(), Diagnostic> {
        let Some(open) = self.open.pop() else {
            return Ok(());
        };
        let kind = match open.kind {
            OpenKind::List(items) => Kind::List(items),
            OpenKind::Map { entries, .. } => Kind::Map(entries),
        };
        let span = self.trimmed(Span::new(open.start, span.end));
        self.value(Node { kind, span })
    }

    /// A place without the blanks behind it. Why: a block ends where the next token begins, and
    /// its place should end with its text.
    fn trimmed(&self, span: Span) -> Span {
        let inner = self.text.get(span.start..span.end).unwrap_or_default();
        Span::new(span.start, span.start + inner.trim_end().len())
    }

    fn value(&mut self, node: Node) -> Result<(), Diagnostic> {
        self.count += 1;
        if self.count > SOURCE_NODES_MAX {
            return Err(Diagnostic::new(
                Code::TooLarge,
                node.span,
                format!("the text holds more than {SOURCE_NODES_MAX} values"),
            ));
        }
        match self.open.last_mut().map(|open| &mut open.kind) {
            None => self.root = Some(node),
            Some(OpenKind::List(items)) => items.push(node),
            Some(OpenKind::Map {
                entries,
                key,
                names,
            }) => match key.take() {
                Some(key) => entries.push((key, node)),
                None => *key = Some(new_key(names, node, self.text)?),
            },
        }
        Ok(())
    }

    fn scalar(&self, text: &str, style: ScalarStyle, span: Span) -> Result<Kind, Diagnostic> {
        if style != ScalarStyle::Plain {
            return Ok(Kind::Text(text.to_owned()));
        }
        match text {
            "" | "~" | "null" | "Null" | "NULL" => return Ok(Kind::Null),
            "true" | "True" | "TRUE" => return Ok(Kind::Bool(true)),
            "false" | "False" | "FALSE" => return Ok(Kind::Bool(false)),
            _ => {}
        }
        let Some(number) = number(text) else {
            return Ok(Kind::Text(text.to_owned()));
        };
        number
            .and_then(|n| normalize_number(&n).ok())
            .map(Kind::Number)
            .ok_or_else(|| out_of_range(text, span))
    }
}

pub(super) fn out_of_range(text: &str, span: Span) -> Diagnostic {
    Diagnostic::new(
        Code::BadNumber,
        span,
        format!("the number `{text}` cannot be held exactly"),
    )
    .hint("integers reach from -2^53 to 2^53; write larger ones as text, in quotes")
}

/// Reads a plain scalar that looks like a number: `None` if it does not, `Some(None)` if it does
/// but has no exact value.
fn number(text: &str) -> Option<Option<Number>> {
    let digits = text.strip_prefix(['-', '+']).unwrap_or(text);
    if !digits.starts_with(|c: char| c.is_ascii_digit()) {
        return None;
    }
    if digits.bytes().all(|b| b.is_ascii_digit()) {
        let unsigned = text.strip_prefix('+').unwrap_or(text);
        return Some(unsigned.parse::<i64>().ok().map(Number::from));
    }
    let float = digits
        .bytes()
        .all(|b| b.is_ascii_digit() || b".eE+-".contains(&b));
    if !float {
        return None;
    }
    let held = text.parse::<f64>().ok()?;
    Some(Number::from_f64(held).filter(|_| !json::vanishes(text)))
}

fn new_key(
    names: &mut BTreeMap<String, Span>,
    node: Node,
    text: &str,
) -> Result<Spanned<String>, Diagnostic> {
    let span = node.span;
    let name = match node.kind {
        Kind::Text(name) => name,
        // Why: a key is a name; `404:` or `null:` is the text that was written.
        Kind::Null | Kind::Bool(_) | Kind::Number(_) => {
            text.get(span.start..span.end).unwrap_or("").to_owned()
        }
        Kind::List(_) | Kind::Map(_) => {
            return Err(Diagnostic::new(
                Code::WrongShape,
                span,
                "a key must be a text",
            ));
        }
    };
    if let Some(first) = names.insert(name.clone(), span) {
        return Err(Diagnostic::new(
            Code::DuplicateKey,
            span,
            format!("the key `{name}` stands twice"),
        )
        .related(first, "first here"));
    }
    Ok(Spanned::new(name, span))
}
