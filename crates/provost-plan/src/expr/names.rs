//! Names of a `let` in texts: where they are used, and the texts with them written out.
//!
//! Owns the form `let.NAME`. Never knows what a name stands for, or where it may be used.
//! INVARIANT: what is written out differs from the text in the uses alone, each in the place of one
//! operand or of a whole expression.

use std::collections::BTreeSet;
use std::ops::Range;

use cel::parser::pratt_parser::{Token, TokenKind};

use super::offsets::Offsets;
use super::parse::names::TYPE_NAMES;
use super::template::{Head, head, tokens};
use super::tree::{ExprKind, Function, WalkKind};
use super::{Expression, Template};
use crate::source::Span;

/// The word in front of a name: reserved in CEL, so that nothing else is called so.
pub(crate) const LET: &str = "let";

/// An expression of a text.
#[derive(Clone, Debug)]
pub(crate) struct NamesUsed {
    /// Where it stands in the text, without `${` and `}`.
    pub(crate) at: Range<usize>,
    /// The names, in the order used.
    pub(crate) uses: Vec<(String, Range<usize>)>,
    /// The variables of its comprehensions.
    pub(crate) variables: Vec<(String, Range<usize>)>,
    /// Other words of it that a variable could hide: types and namespaces.
    pub(crate) words: BTreeSet<String>,
}

/// The expressions of a text, up to the first that cannot be read: whoever parses it says why.
pub(crate) fn used_in(text: &str) -> Vec<NamesUsed> {
    let mut found = Vec::new();
    let nowhere = Offsets::new("", Span::default(), "");
    let mut at = 0;
    while let Some(head) = head(text, at) {
        at = match head {
            Head::Escape => at + 3,
            Head::Text(part) => at + part.len(),
            Head::Open => {
                let Ok((tokens, end)) = tokens(text, at + 2, &nowhere) else {
                    return found;
                };
                found.extend(of_tokens(text, &tokens));
                end + 1
            }
        };
    }
    found
}

/// The places of the terms of the one expression of a text, in their order: one, unless it is a
/// conjunction. Nothing if the text is no whole expression.
pub(crate) fn terms_in(text: &str) -> Option<Vec<Range<usize>>> {
    let Some(Head::Open) = head(text, 0) else {
        return None;
    };
    let (tokens, end) = tokens(text, 2, &Offsets::new("", Span::default(), "")).ok()?;
    if !matches!(text.get(end + 1..), Some("" | "\n")) {
        return None;
    }
    let mut depth = 0usize;
    let mut is_conjunction = true;
    let mut cuts = Vec::new();
    for (at, token) in tokens.iter().enumerate() {
        use TokenKind as T;
        match token.kind {
            T::TokLeftParen | T::TokLeftBracket | T::TokLeftBrace => depth += 1,
            T::TokRightParen | T::TokRightBracket | T::TokRightBrace => {
                depth = depth.saturating_sub(1);
            }
            T::TokLogicalAnd if depth == 0 => cuts.push(at),
            T::TokLogicalOr | T::TokQuestion if depth == 0 => is_conjunction = false,
            _ => {}
        }
    }
    if !is_conjunction {
        cuts.clear();
    }
    let mut terms = Vec::with_capacity(cuts.len() + 1);
    let mut from = 0;
    for to in cuts.into_iter().chain([tokens.len()]) {
        let term = tokens.get(from..to)?;
        terms.push(term.first()?.start..term.last()?.end);
        from = to + 1;
    }
    Some(terms)
}

fn of_tokens(text: &str, tokens: &[Token]) -> Option<NamesUsed> {
    let written = |token: &Token| text.get(token.start..token.end).unwrap_or_default();
    let mut used = NamesUsed {
        at: tokens.first()?.start..tokens.last()?.end,
        uses: Vec::new(),
        variables: Vec::new(),
        words: BTreeSet::new(),
    };
    for (at, token) in tokens.iter().enumerate() {
        let behind_dot = at
            .checked_sub(1)
            .and_then(|at| tokens.get(at))
            .is_some_and(|before| before.kind == TokenKind::TokDot);
        let next = |n: usize| tokens.get(at + n);
        let is = |n: usize, kind: TokenKind| next(n).is_some_and(|token| token.kind == kind);
        match written(token) {
            LET if !behind_dot && is(1, TokenKind::TokDot) => {
                let name = next(2).filter(|name| is_name(name.kind));
                let place = |name: &Token| (written(name).to_owned(), token.start..name.end);
                used.uses.extend(name.map(place));
            }
            walk if behind_dot && WalkKind::NAMES.contains(&walk) => {
                let is_variable = is(1, TokenKind::TokLeftParen) && is(3, TokenKind::TokComma);
                let name = next(2).filter(|name| is_variable && is_name(name.kind));
                let place = |name: &Token| (written(name).to_owned(), name.start..name.end);
                used.variables.extend(name.map(place));
            }
            word if !behind_dot && hides(word) => {
                used.words.insert(word.to_owned());
            }
            _ => {}
        }
    }
    Some(used)
}

fn is_name(kind: TokenKind) -> bool {
    use TokenKind::{TokIdent, TokIn, TokReservedWord};
    matches!(kind, TokIdent | TokReservedWord | TokIn)
}

fn hides(word: &str) -> bool {
    TYPE_NAMES.contains(&word) || Function::NAMESPACES.contains(&word)
}

/// Whether an expression is one operand, whatever stands beside it.
pub(crate) fn is_operand(expression: &Expression) -> bool {
    match &expression.ast().kind {
        ExprKind::Null
        | ExprKind::Bool(_)
        | ExprKind::Text(_)
        | ExprKind::Type(_)
        | ExprKind::List(_)
        | ExprKind::Map(_)
        | ExprKind::Root(_)
        | ExprKind::Var(_)
        | ExprKind::Path(..)
        | ExprKind::Has(_)
        | ExprKind::Call(..)
        | ExprKind::Walk(_) => true,
        // Why not below nothing: `a - -1` reads badly, and `-1.x` is something else.
        ExprKind::Int(value) => *value >= 0,
        ExprKind::Double(value) => !value.is_sign_negative(),
        ExprKind::Not(_)
        | ExprKind::Negate(_)
        | ExprKind::And(_)
        | ExprKind::Or(_)
        | ExprKind::Chain(..)
        | ExprKind::Compare(..)
        | ExprKind::Choice(..) => false,
    }
}

/// The roots that a text reads, as they are written.
pub(crate) fn roots(template: &Template) -> BTreeSet<String> {
    let references = template.references();
    references.map(|r| r.root.name().to_owned()).collect()
}

/// What a name is written out as.
#[derive(Clone, Copy, Debug)]
pub(crate) struct NameText<'n> {
    /// Which name, for whoever asks where it comes from.
    pub(crate) name: usize,
    /// Its expression, with the names in it written out.
    pub(crate) text: &'n str,
    /// Whether it needs no parentheses.
    pub(crate) is_operand: bool,
}

impl NameText<'_> {
    /// The bytes that it takes.
    pub(crate) fn size(&self) -> usize {
        self.text.len() + if self.is_operand { 0 } else { 2 }
    }
}

/// A piece of a text in which names are written out.
#[derive(Clone, Debug)]
pub(crate) struct Piece {
    /// Where it stands.
    pub(crate) at: Range<usize>,
    /// What stands there in the text as its author wrote it.
    pub(crate) own: Range<usize>,
    /// The name that is written out there, and how many bytes stand before its expression.
    pub(crate) name: Option<(usize, usize)>,
}

/// The part `range` of a text, with names written out.
pub(crate) fn written_out<'n>(
    text: &str,
    range: Range<usize>,
    expressions: &[NamesUsed],
    value: &dyn Fn(&str) -> Option<NameText<'n>>,
) -> (String, Vec<Piece>) {
    let mut out = String::with_capacity(range.len());
    let mut pieces = Vec::new();
    let mut at = range.start;
    let own = |out: &mut String, pieces: &mut Vec<Piece>, own: Range<usize>| {
        let from = out.len();
        out.push_str(text.get(own.clone()).unwrap_or_default());
        let at = from..out.len();
        let name = None;
        pieces.push(Piece { at, own, name });
    };
    let uses = expressions.iter().flat_map(|one| {
        let uses = one.uses.iter();
        uses.map(|(name, place)| (name, place, *place == one.at))
    });
    for (name, place, is_alone) in
        uses.filter(|(_, at, _)| range.start <= at.start && at.end <= range.end)
    {
        let Some(value) = value(name) else {
            continue;
        };
        own(&mut out, &mut pieces, at..place.start);
        let from = out.len();
        let (open, close) = if value.is_operand || is_alone {
            ("", "")
        } else {
            ("(", ")")
        };
        out.extend([open, value.text, close]);
        pieces.push(Piece {
            at: from..out.len(),
            own: place.clone(),
            name: Some((value.name, open.len())),
        });
        at = place.end;
    }
    own(&mut out, &mut pieces, at..range.end);
    (out, pieces)
}
