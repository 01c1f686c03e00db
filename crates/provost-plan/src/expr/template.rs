//! Texts with expressions in them: cut at `${` and at the `}` that balances it.
//!
//! Owns the cutting. INVARIANT: a `}` inside a string or a map of an expression does not end it,
//! because its tokens are read, not its characters.

use cel::parser::pratt_parser::{Lexer, Token, TokenKind};

use super::offsets::Offsets;
use super::{Expression, Part, parse, refs};
use crate::codes::Code;
use crate::diagnostic::Diagnostic;
use crate::limits::EXPRESSION_BYTES_MAX;
use crate::source::Span;

/// Cuts a text into its parts.
pub(super) fn cut(text: &str, span: Span, source: &str) -> Result<Vec<Part>, Box<Diagnostic>> {
    if !text.contains("${") {
        return Ok(match text {
            "" => Vec::new(),
            _ => vec![Part::Text(text.to_owned())],
        });
    }
    let places = Offsets::new(text, span, source);
    let mut parts = Vec::new();
    let mut literal = String::new();
    let mut at = 0;
    while let Some(head) = head(text, at) {
        match head {
            Head::Escape => {
                literal.push_str("${");
                at += 3;
            }
            Head::Open => {
                if !literal.is_empty() {
                    parts.push(Part::Text(std::mem::take(&mut literal)));
                }
                let (expression, end) = expression(text, at + 2, &places)?;
                parts.push(Part::Expr(expression));
                at = end;
            }
            Head::Text(part) => {
                literal.push_str(part);
                at += part.len();
            }
        }
    }
    if !literal.is_empty() {
        parts.push(Part::Text(literal));
    }
    Ok(parts)
}

/// What stands at a place of a text, outside of its expressions.
pub(super) enum Head<'t> {
    /// `$${`
    Escape,
    /// `${`
    Open,
    /// What is neither, up to the next `$`.
    Text(&'t str),
}

/// What stands at `at`; nothing at the end.
pub(super) fn head(text: &str, at: usize) -> Option<Head<'_>> {
    let rest = text.get(at..).filter(|rest| !rest.is_empty())?;
    if rest.starts_with("$${") {
        return Some(Head::Escape);
    }
    if rest.starts_with("${") {
        return Some(Head::Open);
    }
    let mut letters = rest.char_indices().skip(1);
    let next = letters.find(|(_, c)| *c == '$');
    let next = next.map_or(rest.len(), |(next, _)| next);
    Some(Head::Text(rest.get(..next).unwrap_or(rest)))
}

/// Reads the expression that begins at `start`, behind `${`, and the offset behind its `}`.
fn expression(
    text: &str,
    start: usize,
    places: &Offsets,
) -> Result<(Expression, usize), Box<Diagnostic>> {
    let (tokens, end) = tokens(text, start, places)?;
    let (Some(first), Some(last)) = (tokens.first(), tokens.last()) else {
        let span = places.span(start.saturating_sub(2), end + 1);
        return Err(Box::new(
            Diagnostic::new(Code::BadExpression, span, "the expression is empty")
                .hint("write `$${` for the characters `${`"),
        ));
    };
    let tree = parse::parse(text, &tokens, end, places)?;
    let source = text.get(first.start..last.end).unwrap_or_default();
    let expression = Expression {
        source: source.to_owned(),
        span: places.span(first.start, last.end),
        references: refs::collect(&tree),
        tree: tree.into(),
    };
    Ok((expression, end + 1))
}

/// The tokens from `start` to the `}` that ends the expression, and where that stands.
pub(super) fn tokens(
    text: &str,
    start: usize,
    places: &Offsets,
) -> Result<(Vec<Token>, usize), Box<Diagnostic>> {
    let rest = text.get(start..).unwrap_or("");
    let mut lexer = Lexer::new(rest);
    let mut tokens = Vec::new();
    let mut braces = 0usize;
    // The width of the character there: a place never ends inside one.
    let first_char = |at: usize| {
        let next = rest.get(at..).and_then(|rest| rest.chars().next());
        next.map_or(0, char::len_utf8)
    };
    let error = |from: usize, to: usize, message: String| {
        let diagnostic = Diagnostic::new(
            Code::BadExpression,
            places.span(start + from, start + to),
            message,
        );
        Err(Box::new(diagnostic))
    };
    loop {
        let token = lexer.lex();
        match token.kind {
            TokenKind::TokWhitespace | TokenKind::TokComment => continue,
            TokenKind::TokEnd => {
                let message = "the expression is not closed: no `}` stands behind it".to_owned();
                return Err(Box::new(
                    Diagnostic::new(
                        Code::BadExpression,
                        places.span(start.saturating_sub(2), start),
                        message,
                    )
                    .hint("write `$${` for the characters `${`"),
                ));
            }
            TokenKind::TokError => {
                let message = lexer.get_error().map_or_else(
                    || "a character that has no meaning here".to_owned(),
                    |e| {
                        e.message
                            .replace("unexpected character", "a character that has no meaning")
                    },
                );
                // Why: an unterminated string would mark the rest of the text.
                return error(token.start, token.start + first_char(token.start), message);
            }
            TokenKind::TokLeftBrace => braces += 1,
            TokenKind::TokRightBrace if braces == 0 => return Ok((tokens, start + token.start)),
            TokenKind::TokRightBrace => braces -= 1,
            _ => {}
        }
        let first = tokens
            .first()
            .map_or(token.start, |first: &Token| first.start - start);
        if token.end - first > EXPRESSION_BYTES_MAX {
            let message = format!("the expression is longer than {EXPRESSION_BYTES_MAX} bytes");
            return error(first, first + first_char(first), message);
        }
        tokens.push(Token {
            kind: token.kind,
            start: start + token.start,
            end: start + token.end,
        });
    }
}
