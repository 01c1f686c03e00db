//! A condition per item: the terms of `when` that read `item` become a filter of the list.
//!
//! Owns which terms of a condition are asked of each item, and how they are written into the list
//! of `for_each`. Judges no expression. INVARIANT: what is left of `when` and the filter together
//! are the terms of the author, each once and in its order; without a term over `item` nothing
//! changes.

use std::ops::Range;

use super::{Scope, Writer, text_of};
use crate::codes::Code;
use crate::diagnostic::Diagnostic;
use crate::expr::names::{NamesUsed, Piece, is_operand, terms_in, used_in, written_out};
use crate::expr::offsets::Offsets;
use crate::expr::{Root, Template};
use crate::limits::EXPRESSION_BYTES_MAX;
use crate::node::{Kind, Node};
use crate::plan::names::Origin;
use crate::source::Span;

/// The fields of a step whose condition is asked of items.
pub(super) struct AskedItems {
    /// The list of those that meet the condition.
    pub(super) list: Node,
    /// What is asked once, before the list; nothing if nothing is.
    pub(super) when: Option<Node>,
}

/// A field that is one expression, as its author wrote it.
struct Field<'n> {
    text: &'n str,
    span: Span,
    /// The expression in it.
    used: NamesUsed,
}

/// A text that is put together, and where its pieces come from.
#[derive(Default)]
struct Assembly {
    text: String,
    pieces: Vec<Piece>,
}

/// Whether the condition of a step may be one of its items.
pub(super) fn may_ask_items(step: &Node) -> bool {
    let reads_item = |(text, _): (&str, Span)| text.contains(Root::Item.name());
    text_of(step, "for_each").is_some() && text_of(step, "when").is_some_and(reads_item)
}

impl Writer<'_> {
    /// The list and the condition of a step whose `when` has terms over `item`.
    pub(super) fn ask_items(&mut self, step: &Node, own: &Scope) -> Option<AskedItems> {
        let list = field_of(step, "for_each")?;
        let when = self.meant(step, own)?;
        let when = Field {
            text: &when.0,
            span: when.1,
            used: used_once(&when.0)?,
        };
        let terms = terms_in(when.text)?;
        let mut once = Vec::new();
        let mut of_items = Vec::new();
        for term in terms {
            match self.reads_item(&when, &term, own)? {
                true => of_items.push(term),
                false => once.push(term),
            }
        }
        if of_items.is_empty() {
            return None;
        }
        let fields = [&list, &when];
        for field in fields {
            if !self.may_use(
                std::slice::from_ref(&field.used),
                field.text,
                field.span,
                own,
            ) {
                return None;
            }
        }
        let (filter, filter_pieces) = self.joined(&when, &of_items, own);
        let whole = std::slice::from_ref(&list.used.at);
        let (items, items_pieces) = self.joined(&list, whole, own);
        let is_operand = Template::parse(&format!("${{ {items} }}"), Span::default(), "")
            .is_ok_and(|list| list.whole().is_some_and(is_operand));
        let place = |field: &Field<'_>| Offsets::new(field.text, field.span, &self.source.text);
        let (list_place, when_place) = (place(&list), place(&when));
        let items_part = self.add_part(list_place.clone(), items_pieces);
        let filter_part = self.add_part(when_place.clone(), filter_pieces);

        let at = list.used.at.clone();
        let mut out = Assembly::default();
        out.between("${ ", 0..at.start);
        let from = out.text.len();
        out.part(&items, items_part, at.clone(), !is_operand);
        out.between(".filter(item, ", at.end..at.end);
        out.part(&filter, filter_part, at.end..at.end, false);
        out.between(")", at.end..at.end);
        let size = out.text.len() - from;
        out.between(" }", at.end..list.text.len());
        let is_too_long = size > EXPRESSION_BYTES_MAX;
        if is_too_long && list.used.at.len().max(when.used.at.len()) <= EXPRESSION_BYTES_MAX {
            let message = format!(
                "with its condition per item, the list is longer than {EXPRESSION_BYTES_MAX} bytes"
            );
            let finding = Diagnostic::new(Code::BadExpression, when.span, message);
            self.diagnostics
                .push(finding.hint("let a step compute a part of it"));
        }
        let list = self.asked(out, list.span, list_place)?;
        let when = match once.as_slice() {
            [] => None,
            terms => {
                let out = self.rest(&when, terms, own);
                Some(self.asked(out, when.span, when_place)?)
            }
        };
        Some(AskedItems { list, when })
    }

    /// The text of the condition; where it is a name alone, that which the name stands for, as it
    /// is written out without parentheses then.
    fn meant(&mut self, step: &Node, own: &Scope) -> Option<(String, Span)> {
        let (text, mut span) = text_of(step, "when")?;
        let mut text = text.to_owned();
        loop {
            let used = used_once(&text)?;
            let [(name, place)] = used.uses.as_slice() else {
                return Some((text, span));
            };
            let at = self.lookup(name, own).filter(|_| *place == used.at);
            let meaning = at.and_then(|at| self.meanings.get(at));
            let meaning = meaning.filter(|m| m.used.is_some() && m.written.is_some());
            let (Some(at), Some(meaning)) = (at, meaning) else {
                return Some((text, span));
            };
            text.clone_from(&meaning.text);
            let name = self.names.get_mut(at)?;
            name.is_used = true;
            span = name.span;
        }
    }

    /// Whether a term reads `item`, with its names written out; nothing if it cannot be read.
    ///
    /// Why not one with `index`: a position is known when the list is, which the term would change.
    fn reads_item(&self, when: &Field<'_>, term: &Range<usize>, own: &Scope) -> Option<bool> {
        let (text, _) = self.joined(when, std::slice::from_ref(term), own);
        let template = Template::parse(&format!("${{ {text} }}"), Span::default(), "").ok()?;
        let reads = |root: &Root| template.references().any(|read| read.root == *root);
        Some(reads(&Root::Item) && !reads(&Root::Index))
    }

    /// Terms of a field with names written out, `&&` between them.
    fn joined(
        &self,
        field: &Field<'_>,
        terms: &[Range<usize>],
        own: &Scope,
    ) -> (String, Vec<Piece>) {
        let mut out = Assembly::default();
        self.join(&mut out, field, terms, own);
        (out.text, out.pieces)
    }

    fn join(&self, out: &mut Assembly, field: &Field<'_>, terms: &[Range<usize>], own: &Scope) {
        let value = |name: &str| self.value(name, own);
        let used = std::slice::from_ref(&field.used);
        let mut end = None;
        for term in terms {
            if let Some(end) = end {
                out.between(" && ", end..term.start);
            }
            let (text, pieces) = written_out(field.text, term.clone(), used, &value);
            let from = out.text.len();
            out.text.push_str(&text);
            out.pieces.extend(pieces.into_iter().map(|piece| Piece {
                at: piece.at.start + from..piece.at.end + from,
                ..piece
            }));
            end = Some(term.end);
        }
    }

    /// The condition that is left.
    fn rest(&self, when: &Field<'_>, terms: &[Range<usize>], own: &Scope) -> Assembly {
        let mut out = Assembly::default();
        let whole = &when.used.at;
        out.between("${ ", 0..whole.start);
        self.join(&mut out, when, terms, own);
        out.between(" }", whole.end..when.text.len());
        out
    }

    /// Adds a part of a text, for whoever asks where it comes from.
    fn add_part(&mut self, own: Offsets, pieces: Vec<Piece>) -> usize {
        self.parts.push(Origin { own, pieces });
        self.names.len() + self.parts.len() - 1
    }

    fn asked(&mut self, out: Assembly, whole: Span, own: Offsets) -> Option<Node> {
        if !self.has_room(out.text.len(), whole) {
            return None;
        }
        let pieces = out.pieces;
        let (text, span) = self.add(out.text, whole, Origin { own, pieces });
        Some(Node {
            kind: Kind::Text(text),
            span,
        })
    }
}

impl Assembly {
    /// Adds what no author wrote; `own` is where it would stand.
    fn between(&mut self, text: &str, own: Range<usize>) {
        let from = self.text.len();
        self.text.push_str(text);
        self.pieces.push(Piece {
            at: from..self.text.len(),
            own,
            name: None,
        });
    }

    /// Adds a part; `own` is the place it takes in the text around it.
    fn part(&mut self, text: &str, part: usize, own: Range<usize>, is_closed_in: bool) {
        let from = self.text.len();
        let (open, close) = if is_closed_in { ("(", ")") } else { ("", "") };
        self.text.extend([open, text, close]);
        self.pieces.push(Piece {
            at: from..self.text.len(),
            own,
            name: Some((part, open.len())),
        });
    }
}

/// A field that is one expression.
fn field_of<'n>(step: &'n Node, field: &str) -> Option<Field<'n>> {
    let (text, span) = text_of(step, field)?;
    let used = used_once(text)?;
    Some(Field { text, span, used })
}

/// The names in the one expression of a text.
fn used_once(text: &str) -> Option<NamesUsed> {
    let mut used = used_in(text);
    used.pop().filter(|_| used.is_empty())
}
