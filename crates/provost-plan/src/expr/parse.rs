//! The parser of expressions: tokens of CEL into a tree, under limits.
//!
//! Owns the grammar, the names of functions and where names are bound. Lexing and the escapes of
//! literals are the `cel` crate's. Why not its parser: it keeps no places, its macros hide what was
//! written, and it nests as deep as the text does. INVARIANT: what is too deep, too long or walks
//! too often is refused here, before anything is evaluated.

use cel::parser::pratt_parser::{Token, TokenKind};

use super::names::LET;
use super::offsets::Offsets;
use super::tree::{Access, Arith, Compare, Expr, ExprKind, Variable, Walk, WalkKind};
use crate::codes::Code;
use crate::diagnostic::Diagnostic;
use crate::limits::{COMPREHENSION_DEPTH_MAX, EXPRESSION_DEPTH_MAX, EXPRESSION_NODES_MAX};
use crate::source::Span;

pub(super) mod names;

type Parsed<T> = Result<T, Box<Diagnostic>>;

/// Parses the tokens of one expression.
pub(super) fn parse(text: &str, tokens: &[Token], end: usize, places: &Offsets) -> Parsed<Expr> {
    let mut parser = Parser {
        text,
        tokens,
        at: 0,
        end,
        places,
        depth: 0,
        nodes: 0,
        walks: 0,
        variables: Vec::new(),
        variable_next: 0,
    };
    let tree = parser.expr()?;
    match parser.peek_token() {
        None => Ok(tree),
        Some(token) => Err(parser.unexpected(token, "the end of the expression")),
    }
}

struct Parser<'a> {
    text: &'a str,
    tokens: &'a [Token],
    at: usize,
    end: usize,
    places: &'a Offsets,
    depth: usize,
    nodes: usize,
    walks: usize,
    variables: Vec<Variable>,
    variable_next: u32,
}

/// Text offsets of a node while it is being parsed.
#[derive(Clone, Copy)]
struct Mark(usize);

impl<'a> Parser<'a> {
    fn peek_token(&self) -> Option<Token> {
        self.tokens.get(self.at).copied()
    }

    fn peek(&self) -> Option<TokenKind> {
        self.peek_token().map(|token| token.kind)
    }

    fn peek_after(&self) -> Option<TokenKind> {
        self.tokens.get(self.at + 1).map(|token| token.kind)
    }

    fn next(&mut self) -> Option<Token> {
        let token = self.peek_token();
        self.at += 1;
        token
    }

    fn eat(&mut self, kind: TokenKind) -> bool {
        let found = self.peek() == Some(kind);
        if found {
            self.at += 1;
        }
        found
    }

    fn expect(&mut self, kind: TokenKind) -> Parsed<Token> {
        match self.next() {
            Some(token) if token.kind == kind => Ok(token),
            Some(token) => Err(self.unexpected(token, &format!("`{}`", kind.as_str()))),
            None => Err(self.ended(&format!("`{}`", kind.as_str()))),
        }
    }

    fn written(&self, token: Token) -> &'a str {
        self.text.get(token.start..token.end).unwrap_or("")
    }

    fn place(&self, token: Token) -> Span {
        self.places.span(token.start, token.end)
    }

    fn unexpected(&self, token: Token, wanted: &str) -> Box<Diagnostic> {
        let message = format!("expected {wanted}, found `{}`", self.written(token));
        let mut diagnostic = Diagnostic::new(Code::BadExpression, self.place(token), message);
        if token.kind == TokenKind::TokEqual {
            diagnostic = diagnostic.hint("`==` compares");
        }
        Box::new(diagnostic)
    }

    fn ended(&self, wanted: &str) -> Box<Diagnostic> {
        let span = self.places.span(self.end, self.end);
        let message = format!("the expression ends where {wanted} must stand");
        Box::new(Diagnostic::new(Code::BadExpression, span, message))
    }

    fn refuse<T>(&self, span: Span, message: impl Into<String>, hint: &str) -> Parsed<T> {
        let diagnostic = Diagnostic::new(Code::BadExpression, span, message);
        Err(Box::new(if hint.is_empty() {
            diagnostic
        } else {
            diagnostic.hint(hint)
        }))
    }

    fn mark(&self) -> Mark {
        Mark(self.peek_token().map_or(self.end, |token| token.start))
    }

    /// The place from `mark` to the token before the next.
    fn span_from(&self, mark: Mark) -> Span {
        let last = self.at.checked_sub(1).and_then(|i| self.tokens.get(i));
        self.places
            .span(mark.0, last.map_or(self.end, |token| token.end))
    }

    fn node(&mut self, kind: ExprKind, mark: Mark) -> Parsed<Expr> {
        self.nodes += 1;
        let span = self.span_from(mark);
        if self.nodes > EXPRESSION_NODES_MAX {
            let message = format!("the expression has more than {EXPRESSION_NODES_MAX} parts");
            return self.refuse(span, message, "split it over several steps or fields");
        }
        Ok(Expr { kind, span })
    }

    fn deeper<T>(&mut self, parse: impl FnOnce(&mut Self) -> Parsed<T>) -> Parsed<T> {
        if self.depth >= EXPRESSION_DEPTH_MAX {
            let span = self.peek_token().map_or_else(
                || self.places.span(self.end, self.end),
                |token| self.place(token),
            );
            let message = format!("the expression nests deeper than {EXPRESSION_DEPTH_MAX}");
            return self.refuse(span, message, "split it over several steps or fields");
        }
        self.depth += 1;
        let parsed = parse(self);
        self.depth -= 1;
        parsed
    }

    fn expr(&mut self) -> Parsed<Expr> {
        self.deeper(|parser| {
            let mark = parser.mark();
            let test = parser.logical(TokenKind::TokLogicalOr)?;
            if !parser.eat(TokenKind::TokQuestion) {
                return Ok(test);
            }
            let yes = parser.deeper(|p| p.logical(TokenKind::TokLogicalOr))?;
            parser.expect(TokenKind::TokColon)?;
            let no = parser.expr()?;
            let kind = ExprKind::Choice(Box::new(test), Box::new(yes), Box::new(no));
            parser.node(kind, mark)
        })
    }

    fn logical(&mut self, operator: TokenKind) -> Parsed<Expr> {
        let is_or = operator == TokenKind::TokLogicalOr;
        let mark = self.mark();
        let mut terms = Vec::new();
        loop {
            terms.push(if is_or {
                self.logical(TokenKind::TokLogicalAnd)?
            } else {
                self.relation()?
            });
            if !self.eat(operator) {
                break;
            }
        }
        if terms.len() == 1
            && let Some(only) = terms.pop()
        {
            return Ok(only);
        }
        let kind = if is_or {
            ExprKind::Or(terms)
        } else {
            ExprKind::And(terms)
        };
        self.node(kind, mark)
    }

    fn relation(&mut self) -> Parsed<Expr> {
        let mark = self.mark();
        let left = self.chain(false)?;
        let Some(operator) = self.peek().and_then(compare_of) else {
            return Ok(left);
        };
        self.at += 1;
        let right = self.chain(false)?;
        let kind = ExprKind::Compare(operator, Box::new(left), Box::new(right));
        let whole = self.node(kind, mark)?;
        if let Some(token) = self.peek_token()
            && compare_of(token.kind).is_some()
        {
            let hint = "join two comparisons with `&&`, or put one in parentheses";
            return self.refuse(self.place(token), "comparisons do not chain", hint);
        }
        Ok(whole)
    }

    fn chain(&mut self, product: bool) -> Parsed<Expr> {
        let mark = self.mark();
        let operand = |parser: &mut Self| {
            if product {
                parser.unary()
            } else {
                parser.chain(true)
            }
        };
        let first = operand(self)?;
        let mut rest = Vec::new();
        while let Some(operator) = self.peek().and_then(|kind| arith_of(kind, product)) {
            self.at += 1;
            rest.push((operator, operand(self)?));
        }
        if rest.is_empty() {
            return Ok(first);
        }
        self.node(ExprKind::Chain(Box::new(first), rest), mark)
    }

    fn unary(&mut self) -> Parsed<Expr> {
        let mark = self.mark();
        let operator = self.peek();
        let mut count = 0usize;
        while let Some(operator @ (TokenKind::TokExclamation | TokenKind::TokMinus)) = operator
            && self.eat(operator)
        {
            count += 1;
        }
        let operand = self.member()?;
        if count == 0 {
            return Ok(operand);
        }
        if operator == Some(TokenKind::TokMinus) {
            // Why: a negative literal is a literal, for labels and for the check.
            match operand.kind {
                ExprKind::Int(value) if count == 1 => {
                    return self.node(ExprKind::Int(-value), mark);
                }
                ExprKind::Double(value) if count == 1 => {
                    return self.node(ExprKind::Double(-value), mark);
                }
                _ => {}
            }
        }
        // Why: two of a kind undo each other, but still demand the operand's kind.
        let mut result = operand;
        for _ in 0..(if count.is_multiple_of(2) { 2 } else { 1 }) {
            let kind = match operator {
                Some(TokenKind::TokMinus) => ExprKind::Negate(Box::new(result)),
                _ => ExprKind::Not(Box::new(result)),
            };
            result = self.node(kind, mark)?;
        }
        Ok(result)
    }

    fn member(&mut self) -> Parsed<Expr> {
        let mark = self.mark();
        let mut base = self.primary()?;
        let mut accesses = Vec::new();
        let mut calls = 0;
        loop {
            if self.eat(TokenKind::TokDot) {
                let name = self.name()?;
                if self.peek() != Some(TokenKind::TokLeftParen) {
                    accesses.push(Access::Field(self.written(name).to_owned()));
                    continue;
                }
                calls += 1;
                if calls > EXPRESSION_DEPTH_MAX {
                    let message = format!("more than {EXPRESSION_DEPTH_MAX} calls in a row");
                    return self.refuse(self.place(name), message, "");
                }
                let receiver = self.path(base, std::mem::take(&mut accesses), mark)?;
                base = self.method(receiver, name, mark)?;
            } else if self.eat(TokenKind::TokLeftBracket) {
                let index = self.expr()?;
                self.expect(TokenKind::TokRightBracket)?;
                accesses.push(Access::Index(index));
            } else {
                return self.path(base, accesses, mark);
            }
        }
    }

    fn name(&mut self) -> Parsed<Token> {
        match self.next() {
            Some(token)
                if matches!(
                    token.kind,
                    TokenKind::TokIdent | TokenKind::TokReservedWord | TokenKind::TokIn
                ) && !self.written(token).starts_with('`') =>
            {
                Ok(token)
            }
            Some(token) => Err(self.unexpected(token, "a name")),
            None => Err(self.ended("a name")),
        }
    }

    fn path(&mut self, base: Expr, accesses: Vec<Access>, mark: Mark) -> Parsed<Expr> {
        if accesses.is_empty() {
            return Ok(base);
        }
        self.node(ExprKind::Path(Box::new(base), accesses), mark)
    }

    fn method(&mut self, receiver: Expr, name: Token, mark: Mark) -> Parsed<Expr> {
        let written = self.written(name);
        if WalkKind::NAMES.contains(&written) {
            return self.walk(receiver, name, mark);
        }
        self.at += 1;
        let mut arguments = vec![receiver];
        arguments.extend(self.list(TokenKind::TokRightParen, Self::expr)?);
        self.call(name, arguments, true, mark)
    }

    fn walk(&mut self, list: Expr, name: Token, mark: Mark) -> Parsed<Expr> {
        if self.walks >= COMPREHENSION_DEPTH_MAX {
            let message = format!(
                "comprehensions stand inside each other more than {COMPREHENSION_DEPTH_MAX} deep"
            );
            let hint = "let a step compute the inner list";
            return self.refuse(self.place(name), message, hint);
        }
        self.at += 1;
        let token = self.name()?;
        let variable = Variable {
            name: self.written(token).to_owned(),
            id: self.variable_next,
        };
        self.variable_next += 1;
        self.expect(TokenKind::TokComma)?;
        self.walks += 1;
        self.variables.push(variable.clone());
        let mut arguments = self.list(TokenKind::TokRightParen, Self::expr)?;
        self.variables.pop();
        self.walks -= 1;
        let Some(kind) = WalkKind::find(self.written(name), arguments.len() + 1) else {
            let message = format!("`{}` takes another number of arguments", self.written(name));
            let hint = "write `list.map(x, …)`, `list.filter(x, …)`, `list.all(x, …)`";
            return self.refuse(self.place(name), message, hint);
        };
        let (Some(last), before) = (arguments.pop(), arguments.pop()) else {
            return Err(self.ended("a condition"));
        };
        let (filter, body) = match kind {
            WalkKind::Filter => {
                let item = Expr {
                    kind: ExprKind::Var(variable.clone()),
                    span: list.span,
                };
                (Some(last), item)
            }
            _ => (before, last),
        };
        let walk = Walk {
            kind,
            list,
            variable,
            filter,
            body,
        };
        self.node(ExprKind::Walk(Box::new(walk)), mark)
    }

    /// Items separated by commas, to `close`; one comma may stand behind the last.
    fn list<T>(
        &mut self,
        close: TokenKind,
        item: impl Fn(&mut Self) -> Parsed<T>,
    ) -> Parsed<Vec<T>> {
        let mut items = Vec::new();
        while !self.eat(close) {
            items.push(item(self)?);
            if !self.eat(TokenKind::TokComma) {
                self.expect(close)?;
                break;
            }
        }
        Ok(items)
    }

    fn primary(&mut self) -> Parsed<Expr> {
        let mark = self.mark();
        let Some(token) = self.next() else {
            return Err(self.ended("a value"));
        };
        let kind = match token.kind {
            TokenKind::TokLeftParen => {
                let inner = self.expr()?;
                self.expect(TokenKind::TokRightParen)?;
                return Ok(inner);
            }
            TokenKind::TokLeftBracket => {
                ExprKind::List(self.list(TokenKind::TokRightBracket, Self::expr)?)
            }
            TokenKind::TokLeftBrace => {
                ExprKind::Map(self.list(TokenKind::TokRightBrace, Self::entry)?)
            }
            TokenKind::TokNull => ExprKind::Null,
            TokenKind::TokTrue => ExprKind::Bool(true),
            TokenKind::TokFalse => ExprKind::Bool(false),
            TokenKind::TokInt | TokenKind::TokFloat | TokenKind::TokString => {
                self.literal(token)?
            }
            TokenKind::TokUint | TokenKind::TokBytes => {
                let what = "unsigned numbers and bytes are not part of the language";
                return self.refuse(self.place(token), what, "values are those of JSON");
            }
            TokenKind::TokIdent if !self.written(token).starts_with('`') => {
                return self.named(token, mark);
            }
            TokenKind::TokReservedWord if self.written(token) == LET => {
                return self.of_let(token, mark);
            }
            _ => return Err(self.unexpected(token, "a value")),
        };
        self.node(kind, mark)
    }

    fn entry(&mut self) -> Parsed<(Expr, Expr)> {
        let key = self.expr()?;
        self.expect(TokenKind::TokColon)?;
        Ok((key, self.expr()?))
    }
}

fn compare_of(kind: TokenKind) -> Option<Compare> {
    match kind {
        TokenKind::TokEqualEqual => Some(Compare::Equal),
        TokenKind::TokExclamationEqual => Some(Compare::NotEqual),
        TokenKind::TokLess => Some(Compare::Less),
        TokenKind::TokLessEqual => Some(Compare::LessEqual),
        TokenKind::TokGreater => Some(Compare::Greater),
        TokenKind::TokGreaterEqual => Some(Compare::GreaterEqual),
        TokenKind::TokIn => Some(Compare::In),
        _ => None,
    }
}

fn arith_of(kind: TokenKind, product: bool) -> Option<Arith> {
    match kind {
        TokenKind::TokPlus if !product => Some(Arith::Add),
        TokenKind::TokMinus if !product => Some(Arith::Subtract),
        TokenKind::TokAsterisk if product => Some(Arith::Multiply),
        TokenKind::TokSlash if product => Some(Arith::Divide),
        TokenKind::TokPercent if product => Some(Arith::Remainder),
        _ => None,
    }
}
