//! The types of calls: what functions take and make, and what a comprehension walks.
//!
//! Owns the table of functions. INVARIANT: a call of literals that fails in a run is found by the
//! evaluation that the run does, so the two agree.

use std::sync::LazyLock;

use jsonschema::canonical::CanonicalView;
use serde_json::json;

use super::{Exact, Typed, TypedPlace, Typing, ranges};
use crate::expr::tree::{Expr, ExprKind, Function, WalkKind};
use crate::expr::{Segment, clauses_of_format, fault_of_literals};
use crate::schema::{Kinds, Type};

static SIZE: LazyLock<Type> =
    LazyLock::new(|| Type::of_json(&json!({"type": "integer", "minimum": 0})));

/// Formats of texts that `timestamp` never reads.
const NO_TIMES: [&str; 2] = ["date", "time"];

impl Typing<'_, '_> {
    pub(super) fn call(&mut self, whole: &Expr, function: Function, arguments: &[Expr]) -> Typed {
        use Function as F;
        let of = format!("`{}`", function.name());
        let (wanted, result) = signature(function);
        let findings = self.found.len();
        let mut typed = Vec::new();
        for (at, argument) in arguments.iter().enumerate() {
            let wanted = wanted.get(at).or(wanted.last());
            typed.push(match wanted {
                Some(wanted) => self.operand(argument, *wanted, &of),
                None => self.expr(argument),
            });
        }
        if self.found.len() == findings {
            self.constant(whole, function, arguments);
            self.operands(whole, function, &typed);
        }
        let second = typed.get(1).cloned();
        let is_least = matches!(function, F::Min | F::Least);
        let range = match function {
            F::Min | F::Max | F::Least | F::Greatest if typed.len() > 1 => {
                ranges::of_extreme(is_least, &typed)
            }
            _ => None,
        };
        if let Some(range) = range {
            return range;
        }
        let first = typed.into_iter().next().unwrap_or(Typed::of(Kinds::ANY));
        let item = || item_of(&first);
        match function {
            F::Dyn => first,
            F::First => item().unwrap_or(Typed::of(Kinds::JSON)),
            F::Min | F::Max if arguments.len() == 1 => item().unwrap_or(Typed::of(Kinds::JSON)),
            F::Min | F::Max => Typed::of(first.kinds.as_numbers()),
            F::Sum => match item() {
                Some(item)
                    if !item
                        .kinds
                        .meets(Kinds::NUMBER | Kinds::NULL | Kinds::DURATION) =>
                {
                    let message = format!("`sum` does not add {}", item.kinds.words());
                    if let Some(list) = arguments.first() {
                        self.report(list.span, message);
                    }
                    Typed::of(Kinds::NUMBER)
                }
                Some(item) if item.kinds.within(Kinds::INTEGER) => Typed::of(Kinds::INTEGER),
                _ => Typed::of(Kinds::NUMBER),
            },
            F::Round if arguments.len() == 1 => Typed::of(Kinds::INTEGER),
            F::Size => Typed::ty(SIZE.clone()),
            F::Range => Typed::ty(Type::list_of(&SIZE)),
            F::Split | F::Keys => Typed::ty(Type::list_of(&Type::of_kinds(Kinds::TEXT))),
            F::Reverse if !first.kinds.meets(Kinds::LIST) => Typed::of(Kinds::TEXT),
            F::Reverse if first.kinds.meets(Kinds::TEXT) => Typed::of(result),
            F::Distinct | F::Reverse | F::Slice | F::Sort => list_of(item()),
            F::Flatten => match item() {
                Some(item) if arguments.len() == 1 && item.kinds == Kinds::LIST => {
                    list_of(item.to_type().item().map(Typed::ty))
                }
                _ => Typed::of(Kinds::LIST),
            },
            F::Zip => pairs_of(item(), second.as_ref().and_then(item_of)),
            F::Capture => Typed::of(Kinds::TEXT | Kinds::NULL),
            F::Abs | F::Sign => Typed::of(first.kinds.and(Kinds::NUMBER)),
            F::Greatest | F::Least => Typed::of(extreme(arguments.len(), &first, item())),
            _ => Typed::of(result),
        }
    }

    /// Reports a call of literals that no run can evaluate.
    fn constant(&mut self, whole: &Expr, function: Function, arguments: &[Expr]) {
        if arguments.iter().all(Expr::is_literal)
            && let Some(reason) = fault_of_literals(whole)
        {
            let message = format!("`{}` always fails here: {reason}", function.name());
            self.report(whole.span, message);
        }
    }

    /// Reports what the kinds of the operands do not tell.
    fn operands(&mut self, whole: &Expr, function: Function, typed: &[Typed]) {
        match (function, typed) {
            (Function::Timestamp, [text]) => {
                let Exact::Type(ty) = &text.exact else {
                    return;
                };
                let CanonicalView::String(text) = ty.canonical().view() else {
                    return;
                };
                let format = text.formats.iter().find(|f| NO_TIMES.contains(&f.as_str()));
                if let Some(format) = format {
                    let whole_form = match format.as_str() {
                        "date" => "`timestamp(day + 'T00:00:00Z')`",
                        _ => "`timestamp(day + 'T' + time)`, with a zone",
                    };
                    let message = format!(
                        "`timestamp` needs a day, a time and a zone, and this is a {format}: \
                         write {whole_form}"
                    );
                    self.report(whole.span, message);
                }
            }
            (Function::Format, [text, values]) => {
                let text = text.literal().and_then(|text| text.as_str());
                let clauses = text.map(clauses_of_format).unwrap_or_default();
                let values = values.to_type();
                for (at, takes) in clauses.into_iter().enumerate() {
                    let place = TypedPlace::within(&values, &[Segment::Index(at)]);
                    if let TypedPlace::Typed(value) = place
                        && !value.kinds.meets(takes)
                        && !value.kinds.is_empty()
                    {
                        let (number, takes) = (at + 1, takes.words());
                        let message = format!(
                            "clause {number} of `format` needs {takes}, and this is {}",
                            value.kinds.words()
                        );
                        self.report(whole.span, message);
                    }
                }
            }
            _ => {}
        }
    }

    /// Whether what an expression holds is read from the scope as it stands there. Why it matters:
    /// the keys of a map that a step gave are text of whoever wrote them, whatever its values are.
    pub(super) fn is_read(&self, expr: &Expr) -> bool {
        use Function as F;
        match &expr.kind {
            ExprKind::Root(_) => true,
            ExprKind::Var(variable) => self.read.contains(&variable.id),
            ExprKind::Path(base, _) => self.is_read(base),
            ExprKind::Choice(_, yes, no) => self.is_read(yes) || self.is_read(no),
            ExprKind::List(items) => items.iter().any(|item| self.is_read(item)),
            ExprKind::Walk(walk) => walk.kind == WalkKind::Filter && self.is_read(&walk.list),
            ExprKind::Call(
                F::Dyn
                | F::First
                | F::Values
                | F::Distinct
                | F::Flatten
                | F::Reverse
                | F::Slice
                | F::Zip,
                arguments,
            ) => arguments.iter().any(|argument| self.is_read(argument)),
            _ => false,
        }
    }
}

/// The type of the items of a list, as far as it is known.
fn item_of(list: &Typed) -> Option<Typed> {
    match &list.exact {
        Exact::Kinds | Exact::Reported => None,
        Exact::Value(_) | Exact::Type(_) => list.to_type().item().map(Typed::ty),
    }
}

fn list_of(item: Option<Typed>) -> Typed {
    match item {
        Some(item) => Typed::ty(Type::list_of(&item.to_type())),
        None => Typed::of(Kinds::LIST),
    }
}

/// The type of `zip`: pairs of the items of two lists.
fn pairs_of(left: Option<Typed>, right: Option<Typed>) -> Typed {
    let part = |item: Option<Typed>| item.map_or(json!(true), |item| item.to_type().to_json());
    let pair = json!({
        "type": "array",
        "minItems": 2,
        "prefixItems": [part(left), part(right)],
        "items": false,
    });
    Typed::ty(Type::of_json(&json!({ "type": "array", "items": pair })))
}

/// The kinds of the largest or least of some numbers.
fn extreme(count: usize, first: &Typed, item: Option<Typed>) -> Kinds {
    let kinds = match item {
        _ if count > 1 => Kinds::NUMBER,
        Some(item) if first.kinds == Kinds::LIST => item.kinds.and(Kinds::NUMBER),
        _ => first.kinds.and(Kinds::NUMBER),
    };
    if kinds.is_empty() {
        Kinds::NUMBER
    } else {
        kinds
    }
}

/// What a function takes, argument by argument (the last for all further ones), and makes.
fn signature(function: Function) -> (Vec<Kinds>, Kinds) {
    use Function as F;
    let text = Kinds::TEXT;
    let when = Kinds::TIME | Kinds::DURATION;
    match function {
        F::Size => (vec![text | Kinds::LIST | Kinds::MAP], Kinds::INTEGER),
        F::Contains | F::StartsWith | F::EndsWith | F::Matches => (vec![text, text], Kinds::BOOL),
        F::Int => (vec![Kinds::NUMBER | text | Kinds::TIME], Kinds::INTEGER),
        F::Double => (vec![Kinds::NUMBER | text], Kinds::NUMBER),
        F::String => (vec![Kinds::NUMBER | text | Kinds::BOOL | when], text),
        F::Bool => (vec![Kinds::BOOL | text], Kinds::BOOL),
        F::Dyn => (vec![Kinds::ANY], Kinds::ANY),
        F::Type => (vec![Kinds::ANY], Kinds::ANY),
        F::Timestamp => (vec![text | Kinds::INTEGER | Kinds::TIME], Kinds::TIME),
        F::Duration => (vec![text | Kinds::DURATION], Kinds::DURATION),
        F::FullYear | F::Month | F::Date | F::DayOfMonth | F::DayOfWeek | F::DayOfYear => {
            (vec![Kinds::TIME, text], Kinds::INTEGER)
        }
        F::Hours | F::Minutes | F::Seconds | F::Milliseconds => (vec![when, text], Kinds::INTEGER),
        F::Round => (vec![Kinds::NUMBER, Kinds::INTEGER], Kinds::NUMBER),
        F::Sum => (vec![Kinds::LIST], Kinds::NUMBER),
        F::Min | F::Max => (vec![Kinds::LIST | Kinds::NUMBER | text | when], Kinds::JSON),
        F::Join => (vec![Kinds::LIST, text], text),
        F::First => (vec![Kinds::LIST], Kinds::JSON),
        F::Json => (vec![Kinds::ANY], text),
        F::JsonParse => (vec![text], Kinds::JSON),
        F::Capture => (vec![text, text], text),
        F::CharAt => (vec![text, Kinds::NUMBER], text),
        F::Format => (vec![text, Kinds::LIST], text),
        F::IndexOf | F::LastIndexOf => (vec![text, text, Kinds::NUMBER], Kinds::INTEGER),
        F::LowerAscii | F::Trim | F::UpperAscii => (vec![text], text),
        F::Replace => (vec![text, text, text, Kinds::NUMBER], text),
        F::Reverse => (vec![text | Kinds::LIST], text | Kinds::LIST),
        F::Split => (vec![text, text, Kinds::NUMBER], Kinds::LIST),
        F::Substring => (vec![text, Kinds::NUMBER], text),
        F::Distinct | F::Sort => (vec![Kinds::LIST], Kinds::LIST),
        F::Flatten | F::Slice => (vec![Kinds::LIST, Kinds::NUMBER], Kinds::LIST),
        F::Range => (vec![Kinds::NUMBER], Kinds::LIST),
        F::Zip => (vec![Kinds::LIST], Kinds::LIST),
        F::Keys | F::Values => (vec![Kinds::MAP], Kinds::LIST),
        F::Abs | F::Ceil | F::Floor | F::MathRound | F::Sign | F::Trunc => {
            (vec![Kinds::NUMBER], Kinds::NUMBER)
        }
        F::Greatest | F::Least => (vec![Kinds::LIST | Kinds::NUMBER], Kinds::NUMBER),
    }
}
