//! Names, calls and literals: the leaves of the grammar.

use cel::common::ast::{Expr as CelExpr, LiteralValue};
use cel::parser::PrattParser;
use cel::parser::pratt_parser::{Token, TokenKind};

use super::{Mark, Parsed, Parser};
use crate::codes::Code;
use crate::diagnostic::Diagnostic;
use crate::expr::Root;
use crate::expr::functions::format;
use crate::expr::names::LET;
use crate::expr::text::compile_pattern;
use crate::expr::tree::{Access, Expr, ExprKind, Function, WalkKind};
use crate::limits::INTEGER_MAX;
use crate::source::Span;

pub(in crate::expr) const TYPE_NAMES: [&str; 7] = [
    "int",
    "double",
    "string",
    "bool",
    "list",
    "map",
    "null_type",
];

/// What functions are called elsewhere, and what does the same here.
const FOREIGN_NAMES: [(&str, &str); 15] = [
    ("len", "size"),
    ("length", "size"),
    ("count", "size"),
    ("lower", "lowerAscii"),
    ("toLowerCase", "lowerAscii"),
    ("upper", "upperAscii"),
    ("toUpperCase", "upperAscii"),
    ("strip", "trim"),
    ("includes", "contains"),
    ("parseJson", "json_parse"),
    ("fromjson", "json_parse"),
    ("tojson", "json"),
    ("unique", "distinct"),
    ("sorted", "sort"),
    ("str", "string"),
];

impl Parser<'_> {
    pub(super) fn literal(&self, token: Token) -> Parsed<ExprKind> {
        let parsed = PrattParser::new().parse(self.written(token));
        let kind = match parsed.map(|literal| literal.expr) {
            Ok(CelExpr::Literal(LiteralValue::Int(value))) => {
                let value = *value.inner();
                if value.unsigned_abs() > INTEGER_MAX.unsigned_abs() {
                    let message = "an integer beyond ±2^53 cannot be held exactly";
                    return self.refuse(self.place(token), message, "");
                }
                ExprKind::Int(value)
            }
            Ok(CelExpr::Literal(LiteralValue::Double(value))) if value.inner().is_finite() => {
                ExprKind::Double(*value.inner())
            }
            Ok(CelExpr::Literal(LiteralValue::String(value))) => {
                ExprKind::Text(value.inner().to_owned())
            }
            _ => {
                let message = format!("`{}` cannot be read", self.written(token));
                return self.refuse(self.place(token), message, "");
            }
        };
        Ok(kind)
    }

    pub(super) fn named(&mut self, token: Token, mark: Mark) -> Parsed<Expr> {
        let name = self.written(token);
        if self.peek() == Some(TokenKind::TokLeftParen) {
            self.at += 1;
            if name == "has" {
                return self.has(token, mark);
            }
            let arguments = self.list(TokenKind::TokRightParen, Self::expr)?;
            return self.call(token, arguments, false, mark);
        }
        let bound = self.variables.iter().rev().find(|v| v.name == name);
        if bound.is_none()
            && Function::NAMESPACES.contains(&name)
            && let Some(function) = self.in_namespace(token)
        {
            self.at += 3;
            let arguments = self.list(TokenKind::TokRightParen, Self::expr)?;
            return self.call(function, arguments, false, mark);
        }
        if let Some(variable) = bound.cloned() {
            return self.node(ExprKind::Var(variable), mark);
        }
        let kind = match name {
            "steps" => ExprKind::Root(self.step(token)?),
            "params" => ExprKind::Root(Root::Params),
            "item" => ExprKind::Root(Root::Item),
            "index" => ExprKind::Root(Root::Index),
            "output" => ExprKind::Root(Root::Output),
            "read" => ExprKind::Root(Root::Read),
            "run" => ExprKind::Root(Root::Run),
            "args" => ExprKind::Root(Root::Args),
            "key" => ExprKind::Root(Root::Key),
            _ => match TYPE_NAMES.iter().find(|known| **known == name) {
                Some(known) => ExprKind::Type(known),
                None => ExprKind::Root(Root::Unknown(name.to_owned())),
            },
        };
        self.node(kind, mark)
    }

    /// `let.NAME`, where no name of a `let` was written out: it is not known.
    pub(super) fn of_let(&mut self, word: Token, mark: Mark) -> Parsed<Expr> {
        if self.peek() != Some(TokenKind::TokDot) {
            let hint = "write `let.NAME` for a name of a `let`";
            return self.refuse(self.place(word), "`let` stands without a name", hint);
        }
        self.at += 1;
        let name = self.name()?;
        let name = format!("{LET}.{}", self.written(name));
        self.node(ExprKind::Root(Root::Unknown(name)), mark)
    }

    /// The whole name of a function such as `math.abs`, where one stands behind its namespace.
    fn in_namespace(&self, namespace: Token) -> Option<Token> {
        let [dot, name, open] = self.tokens.get(self.at..self.at + 3)? else {
            return None;
        };
        let is_call = (dot.kind, name.kind, open.kind)
            == (
                TokenKind::TokDot,
                TokenKind::TokIdent,
                TokenKind::TokLeftParen,
            );
        is_call.then_some(Token {
            end: name.end,
            ..namespace
        })
    }

    /// The id behind `steps`: a name that stands in the text, so that what is read is known.
    fn step(&mut self, steps: Token) -> Parsed<Root> {
        let is_name = |kind: TokenKind| {
            // Why reserved words too: behind a dot CEL reserves none, and `void` is a good id.
            use TokenKind::{TokIdent, TokIn, TokReservedWord};
            matches!(kind, TokIdent | TokReservedWord | TokIn)
        };
        if self.peek() == Some(TokenKind::TokDot) && self.peek_after().is_some_and(is_name) {
            self.at += 1;
            let name = self.name()?;
            return Ok(Root::Step(self.written(name).to_owned()));
        }
        if self.peek() == Some(TokenKind::TokLeftBracket)
            && self.peek_after() == Some(TokenKind::TokString)
            && let Some(literal) = self.tokens.get(self.at + 1)
            && let ExprKind::Text(id) = self.literal(*literal)?
        {
            self.at += 2;
            self.expect(TokenKind::TokRightBracket)?;
            return Ok(Root::Step(id));
        }
        let hint = "write `steps.ID.output`; which step is read must stand in the text";
        self.refuse(
            self.place(steps),
            "`steps` stands without the id of a step",
            hint,
        )
    }

    fn has(&mut self, name: Token, mark: Mark) -> Parsed<Expr> {
        let inner = self.expr()?;
        self.expect(TokenKind::TokRightParen)?;
        let ends_in_field = matches!(&inner.kind, ExprKind::Path(_, accesses)
            if matches!(accesses.last(), Some(Access::Field(_))));
        if !ends_in_field {
            let hint = "write `has(steps.ID.output.field)`";
            return self.refuse(self.place(name), "`has` asks for a field", hint);
        }
        self.node(ExprKind::Has(Box::new(inner)), mark)
    }

    pub(super) fn call(
        &mut self,
        name: Token,
        arguments: Vec<Expr>,
        method: bool,
        mark: Mark,
    ) -> Parsed<Expr> {
        let written = self.written(name);
        let Some(function) = Function::from_name(written) else {
            return Err(self.unknown_function(name));
        };
        if !function.allows(method) {
            let (message, hint) = if method {
                ("is not called on a value", format!("write `{written}(…)`"))
            } else {
                (
                    "is called on a value",
                    format!("write `value.{written}(…)`"),
                )
            };
            return self.refuse(self.place(name), format!("`{written}` {message}"), &hint);
        }
        let count = arguments.len();
        if !function.arity().contains(&count) {
            let count = count - usize::from(method);
            let message = format!("`{written}` does not take {count} arguments");
            return self.refuse(self.place(name), message, "");
        }
        if let Some((span, reason)) = text_problem(function, &arguments) {
            return self.refuse(span, reason, "");
        }
        self.node(ExprKind::Call(function, arguments), mark)
    }

    fn unknown_function(&self, name: Token) -> Box<Diagnostic> {
        let written = self.written(name);
        let message = format!("there is no function `{written}`");
        let finding = Diagnostic::new(Code::BadExpression, self.place(name), message);
        let meant = FOREIGN_NAMES.iter().find(|(other, _)| *other == written);
        let here = Function::ALL.iter().map(|f| f.name());
        let in_namespace = here.clone().find(|name| {
            let last = name.split_once('.').map(|(_, last)| last);
            last == Some(written)
        });
        Box::new(match meant.map(|(_, here)| *here).or(in_namespace) {
            Some(here) => finding.hint(format!("write `{here}`")),
            None => finding.did_you_mean(written, here.chain(WalkKind::NAMES).chain(["has"])),
        })
    }
}

/// What is wrong with a text that a function is given as it stands in the plan.
fn text_problem(function: Function, arguments: &[Expr]) -> Option<(Span, String)> {
    let literal = |at: usize| match arguments.get(at) {
        Some(Expr {
            kind: ExprKind::Text(text),
            span,
        }) => Some((text.as_str(), *span)),
        _ => None,
    };
    match function {
        Function::Matches => {
            let (pattern, span) = literal(1)?;
            Some((span, compile_pattern(pattern).err()?))
        }
        Function::Capture => match (literal(1), arguments.get(1)) {
            (Some((pattern, span)), _) => Some((span, compile_pattern(pattern).err()?)),
            (None, Some(pattern)) => Some((
                pattern.span,
                "the pattern of `capture` must stand in the text as it is".to_owned(),
            )),
            (None, None) => None,
        },
        Function::Format => {
            let (text, span) = literal(0)?;
            let clauses = match format::clauses(text) {
                Ok(clauses) => clauses,
                Err(reason) => return Some((span, reason)),
            };
            let ExprKind::List(values) = &arguments.get(1)?.kind else {
                return None;
            };
            Some((span, format::miscount(clauses.len(), values.len())?))
        }
        _ => None,
    }
}
