//! The type of an expression: what its value can be, from the schemas of what it reads.
//!
//! Owns the rules of operators and functions. Reads no value. INVARIANT: an operand is refused only
//! if no value it can have is one the operator takes.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value, json};

use crate::codes::Code;
use crate::diagnostic::{Diagnostic, nearest};
use crate::expr::tree::{Access, Arith, Compare, Expr, ExprKind, Walk, WalkKind};
use crate::expr::{Root, Segment};
use crate::schema::{Kinds, PathType, Type};
use crate::source::Span;

mod functions;
mod ranges;
mod texts;

pub(crate) use texts::TextForm;

/// Most words of an enumeration that a hint lists.
const NAMES_SHOWN_MAX: usize = 12;

/// What an expression, or a part of one, can be.
#[derive(Clone, Debug)]
pub(crate) struct Typed {
    pub(crate) kinds: Kinds,
    exact: Exact,
}

/// What is known beyond the kinds; made into a [`Type`] only where one is needed.
#[derive(Clone, Debug)]
enum Exact {
    Kinds,
    /// It has no type because of an error that is reported.
    Reported,
    Value(Value),
    Type(Type),
}

impl Typed {
    pub(crate) fn of(kinds: Kinds) -> Self {
        let exact = Exact::Kinds;
        Self { kinds, exact }
    }

    /// What holds in place of something whose error is reported already.
    pub(crate) fn reported() -> Self {
        Self {
            kinds: Kinds::ANY,
            exact: Exact::Reported,
        }
    }

    /// Whether an error about it is reported already.
    pub(crate) fn is_reported(&self) -> bool {
        matches!(self.exact, Exact::Reported)
    }

    pub(crate) fn value(value: Value) -> Self {
        let kinds = match &value {
            Value::Null => Kinds::NULL,
            Value::Bool(_) => Kinds::BOOL,
            Value::Number(number) if number.is_f64() => Kinds::FRACTION,
            Value::Number(_) => Kinds::INTEGER,
            Value::String(_) => Kinds::TEXT,
            Value::Array(_) => Kinds::LIST,
            Value::Object(_) => Kinds::MAP,
        };
        let exact = Exact::Value(value);
        Self { kinds, exact }
    }

    pub(crate) fn ty(ty: Type) -> Self {
        Self {
            kinds: ty.kinds(),
            exact: Exact::Type(ty),
        }
    }

    pub(crate) fn to_type(&self) -> Type {
        match &self.exact {
            Exact::Kinds | Exact::Reported => Type::of_kinds(self.kinds),
            Exact::Value(value) => Type::of_value(value),
            Exact::Type(ty) => ty.clone(),
        }
    }

    /// The type of its values that are not null; none if it is always null.
    pub(crate) fn to_type_without_null(&self) -> Option<Type> {
        let rest = self.kinds.without(Kinds::NULL);
        if rest == Kinds::NONE && self.kinds != Kinds::NONE {
            return None;
        }
        let ty = self.to_type();
        if !self.kinds.meets(Kinds::NULL) {
            return Some(ty);
        }
        Some(ty.without_null().unwrap_or_else(|| Type::of_kinds(rest)))
    }

    /// Whether nothing at all is known of it.
    pub(crate) fn is_unknown(&self) -> bool {
        Kinds::JSON.within(self.kinds)
    }

    /// The same without null, if it can be null and something else.
    fn without_null(self) -> Self {
        match &self.exact {
            Exact::Type(ty) => ty.without_null().map_or(self, Self::ty),
            Exact::Kinds if self.kinds != Kinds::NULL && !self.is_unknown() => {
                Self::of(self.kinds.without(Kinds::NULL))
            }
            Exact::Kinds | Exact::Reported | Exact::Value(_) => self,
        }
    }

    fn union(&self, other: &Self) -> Self {
        match (&self.exact, &other.exact) {
            (Exact::Reported, _) | (_, Exact::Reported) => Self::reported(),
            (Exact::Kinds, _) | (_, Exact::Kinds) => Self::of(self.kinds | other.kinds),
            _ => Self::ty(self.to_type().union(&other.to_type())),
        }
    }

    fn literal(&self) -> Option<&Value> {
        match &self.exact {
            Exact::Value(value) => Some(value),
            Exact::Kinds | Exact::Reported | Exact::Type(_) => None,
        }
    }
}

/// What a name in scope holds at a path.
pub(crate) enum TypedPlace {
    /// Something of a type.
    Typed(Typed),
    /// Never anything: why, the segment at fault, and what is there instead.
    Absent {
        reason: String,
        depth: usize,
        known: Vec<String>,
    },
}

impl TypedPlace {
    /// What a type holds at `path`.
    pub(crate) fn within(ty: &Type, path: &[Segment]) -> Self {
        Self::of(ty.at(path))
    }

    /// What was found at a path.
    pub(crate) fn of(found: PathType) -> Self {
        match found {
            PathType::Known { ty, .. } => Self::Typed(Typed::ty(ty)),
            // What is not declared is reported where it is not guarded.
            PathType::Unknown { .. } | PathType::Undeclared { .. } => {
                Self::Typed(Typed::of(Kinds::JSON))
            }
            PathType::Absent {
                reason,
                depth,
                known,
            } => Self::Absent {
                reason,
                depth,
                known,
            },
        }
    }
}

/// What names hold: steps, parameters, the item of a list.
pub(crate) type TypedNames<'a> = dyn Fn(&Root, &[Segment]) -> TypedPlace + 'a;

/// Finds the type of an expression and reports operands that can never fit.
pub(crate) fn type_of(tree: &Expr, names: &TypedNames<'_>, found: &mut Vec<Diagnostic>) -> Typed {
    type_where(tree, names, &BTreeSet::new(), found)
}

/// The same where what is read at some places is never null.
pub(crate) fn type_where(
    tree: &Expr,
    names: &TypedNames<'_>,
    sure: &BTreeSet<Span>,
    found: &mut Vec<Diagnostic>,
) -> Typed {
    let variables = BTreeMap::new();
    let mut typing = Typing {
        names,
        sure,
        variables,
        read: BTreeSet::new(),
        found,
    };
    typing.expr(tree)
}

/// The path that accesses spell, as far as it is constant.
pub(crate) fn segments(accesses: &[Access]) -> Vec<Segment> {
    accesses
        .iter()
        .map(|access| match access {
            Access::Field(name) => Segment::Field(name.clone()),
            Access::Index(index) => match &index.kind {
                ExprKind::Text(name) => Segment::Field(name.clone()),
                ExprKind::Int(at) => usize::try_from(*at).map_or(Segment::Any, Segment::Index),
                _ => Segment::Any,
            },
        })
        .collect()
}

struct Typing<'a, 'd> {
    names: &'a TypedNames<'a>,
    /// The places at which what is read is never null.
    sure: &'a BTreeSet<Span>,
    variables: BTreeMap<u32, Typed>,
    /// The variables whose values stand in the scope.
    read: BTreeSet<u32>,
    found: &'d mut Vec<Diagnostic>,
}

impl Typing<'_, '_> {
    fn expr(&mut self, expr: &Expr) -> Typed {
        match &expr.kind {
            ExprKind::Null => Typed::value(Value::Null),
            ExprKind::Bool(value) => Typed::value(json!(value)),
            ExprKind::Int(value) => Typed::value(json!(value)),
            ExprKind::Double(value) => Typed::value(json!(value)),
            ExprKind::Text(text) => Typed::value(json!(text)),
            ExprKind::Type(_) => Typed::of(Kinds::ANY),
            ExprKind::List(items) => self.list(items),
            ExprKind::Map(entries) => self.map(entries),
            ExprKind::Root(root) => self.place(root, &[], expr.span),
            ExprKind::Var(variable) => self
                .variables
                .get(&variable.id)
                .cloned()
                .unwrap_or(Typed::of(Kinds::ANY)),
            ExprKind::Path(base, accesses) => self.path(base, accesses, expr.span),
            ExprKind::Has(inner) => {
                self.expr(inner);
                Typed::of(Kinds::BOOL)
            }
            ExprKind::Not(inner) => {
                self.operand(inner, Kinds::BOOL, "`!`");
                Typed::of(Kinds::BOOL)
            }
            ExprKind::Negate(inner) => {
                let wanted = Kinds::NUMBER | Kinds::DURATION;
                let kinds = self.operand(inner, wanted, "`-`").kinds.and(wanted);
                Typed::of(kinds)
            }
            ExprKind::And(terms) => self.logical(terms, "`&&`"),
            ExprKind::Or(terms) => self.logical(terms, "`||`"),
            ExprKind::Chain(first, rest) => self.chain(first, rest),
            ExprKind::Compare(operator, left, right) => {
                self.compare(*operator, left, right, expr.span);
                Typed::of(Kinds::BOOL)
            }
            ExprKind::Choice(test, yes, no) => {
                self.operand(test, Kinds::BOOL, "the test of `? :`");
                let yes = self.expr(yes);
                let no = self.expr(no);
                yes.union(&no)
            }
            ExprKind::Call(function, arguments) => self.call(expr, *function, arguments),
            ExprKind::Walk(walk) => self.walk(walk),
        }
    }

    /// The type of an operand, which must be able to be one of `wanted`.
    fn operand(&mut self, expr: &Expr, wanted: Kinds, of: &str) -> Typed {
        let typed = self.expr(expr);
        if !typed.kinds.meets(wanted) && typed.kinds != Kinds::NONE {
            let message = format!(
                "{of} needs {}, and this is {}",
                wanted.words(),
                typed.kinds.words()
            );
            self.report(expr.span, message);
            return Typed::of(wanted);
        }
        typed
    }

    fn report(&mut self, span: Span, message: String) {
        self.found
            .push(Diagnostic::new(Code::OperandType, span, message));
    }

    fn logical(&mut self, terms: &[Expr], of: &str) -> Typed {
        for term in terms {
            self.operand(term, Kinds::BOOL, of);
        }
        Typed::of(Kinds::BOOL)
    }

    fn list(&mut self, items: &[Expr]) -> Typed {
        let items: Vec<Typed> = items.iter().map(|item| self.expr(item)).collect();
        if let Some(values) = items.iter().map(|t| t.literal().cloned()).collect() {
            return Typed::value(Value::Array(values));
        }
        let types: Vec<Value> = items.iter().map(|t| t.to_type().to_json()).collect();
        let schema = json!({
            "type": "array",
            "minItems": types.len(),
            "prefixItems": types,
            "items": false,
        });
        Typed::ty(Type::of_json(&schema))
    }

    fn map(&mut self, entries: &[(Expr, Expr)]) -> Typed {
        let mut fields = Map::new();
        let mut values = Map::new();
        let mut constant = true;
        let mut named = true;
        for (key, value) in entries {
            let name = self.operand(key, Kinds::TEXT, "a key");
            let typed = self.expr(value);
            let Some(name) = name.literal().and_then(Value::as_str) else {
                named = false;
                continue;
            };
            match typed.literal() {
                Some(value) => {
                    values.insert(name.to_owned(), value.clone());
                }
                None => constant = false,
            }
            fields.insert(name.to_owned(), typed.to_type().to_json());
        }
        if !named {
            return Typed::of(Kinds::MAP);
        }
        if constant {
            return Typed::value(Value::Object(values));
        }
        let required: Vec<&String> = fields.keys().collect();
        let schema = json!({
            "type": "object",
            "required": required,
            "properties": fields,
            "additionalProperties": false,
        });
        Typed::ty(Type::of_json(&schema))
    }

    fn place(&mut self, root: &Root, path: &[Segment], span: Span) -> Typed {
        let place = (self.names)(root, path);
        self.resolved(place, path, span)
    }

    fn resolved(&mut self, place: TypedPlace, path: &[Segment], span: Span) -> Typed {
        let (reason, depth, known) = match place {
            TypedPlace::Typed(typed) if self.sure.contains(&span) => return typed.without_null(),
            TypedPlace::Typed(typed) => return typed,
            TypedPlace::Absent {
                reason,
                depth,
                known,
            } => (reason, depth, known),
        };
        let message = match path.get(depth) {
            Some(Segment::Field(name)) => format!("`{name}` is never there: {reason}"),
            Some(Segment::Index(at)) => format!("item {at} is never there: {reason}"),
            Some(Segment::Any) | None => format!("nothing is ever there: {reason}"),
        };
        let mut finding = Diagnostic::new(Code::AbsentPath, span, message);
        if let Some(Segment::Field(name)) = path.get(depth) {
            finding = finding.did_you_mean(name, known.iter().map(String::as_str));
        }
        self.found.push(finding);
        Typed::reported()
    }

    fn path(&mut self, base: &Expr, accesses: &[Access], span: Span) -> Typed {
        for access in accesses {
            if let Access::Index(index) = access {
                self.operand(index, Kinds::NUMBER | Kinds::TEXT, "an index");
            }
        }
        let path = segments(accesses);
        if let ExprKind::Root(root) = &base.kind {
            return self.place(root, &path, span);
        }
        let base = self.expr(base);
        if base.is_reported() {
            return base;
        }
        if matches!(base.exact, Exact::Kinds) && base.kinds.meets(Kinds::LIST | Kinds::MAP) {
            return Typed::of(Kinds::JSON);
        }
        let place = TypedPlace::within(&base.to_type(), &path);
        self.resolved(place, &path, span)
    }

    fn chain(&mut self, first: &Expr, rest: &[(Arith, Expr)]) -> Typed {
        let mut left = self.expr(first);
        let mut form = TextForm::new();
        form.push(&left);
        for (operator, operand) in rest {
            let right = self.expr(operand);
            form.push(&right);
            let (a, b) = (left.kinds, right.kinds);
            let result = arithmetic(*operator, a, b);
            if result == Kinds::NONE && a != Kinds::NONE && b != Kinds::NONE {
                let symbol = operator.symbol();
                let message = format!("`{symbol}` does not take {} and {}", a.words(), b.words());
                self.report(first.span.to(operand.span), message);
                return Typed::of(Kinds::ANY);
            }
            left = ranges::of_chain(*operator, &left, &right).unwrap_or(Typed::of(result));
        }
        form.of_chain(left)
    }

    fn compare(&mut self, operator: Compare, left: &Expr, right: &Expr, span: Span) {
        let (a, b) = (self.expr(left), self.expr(right));
        let (ka, kb) = (a.kinds.as_numbers(), b.kinds.as_numbers());
        let symbol = operator.symbol();
        match operator {
            Compare::Equal | Compare::NotEqual => {
                let with_null = ka == Kinds::NULL || kb == Kinds::NULL;
                if !ka.meets(kb) && !with_null && !ka.is_empty() && !kb.is_empty() {
                    let (a, b) = (ka.words(), kb.words());
                    let message = format!("`{symbol}` between {a} and {b} is always the same");
                    self.report(span, message);
                } else if texts::are_apart(&a, &b) {
                    let message = format!("`{symbol}` is always the same: no text has both forms");
                    self.report(span, message);
                } else if let Some((given, known)) = never_equal(&a, &b)
                    && !is_care(operator, &given)
                {
                    let message = format!("`{symbol}` is always the same: it is never {given}");
                    let names: Vec<&str> = known.iter().filter_map(Value::as_str).collect();
                    let given = given.trim_matches('"');
                    let finding = Diagnostic::new(Code::OperandType, span, message);
                    let finding = finding.did_you_mean(given, names.iter().copied());
                    self.found.push(
                        if finding.hint.is_some()
                            || names.is_empty()
                            || names.len() > NAMES_SHOWN_MAX
                        {
                            finding
                        } else {
                            finding.hint(format!("it is one of {}", names.join(", ")))
                        },
                    );
                }
            }
            Compare::Less | Compare::LessEqual | Compare::Greater | Compare::GreaterEqual => {
                let ordered =
                    Kinds::NUMBER | Kinds::TEXT | Kinds::TIME | Kinds::DURATION | Kinds::BOOL;
                if !ka.and(kb).meets(ordered) && !ka.is_empty() && !kb.is_empty() {
                    let (a, b) = (ka.words(), kb.words());
                    self.report(span, format!("`{symbol}` does not order {a} and {b}"));
                } else if !self.fraction((left, a.kinds), (right, b.kinds)) {
                    self.out_of_range(operator, (left, &a), (right, &b), span);
                }
            }
            Compare::In => {
                if !kb.meets(Kinds::LIST | Kinds::MAP) && !kb.is_empty() {
                    let message = format!("`in` needs a list or a map, and this is {}", kb.words());
                    self.report(right.span, message);
                } else if kb == Kinds::LIST
                    && !matches!(b.exact, Exact::Kinds | Exact::Reported)
                    && let Some(item) = b.to_type().item()
                    && !item.kinds().as_numbers().meets(ka)
                {
                    let item = item.kinds().words();
                    let message = format!("{} is never in a list of {item}", ka.words());
                    self.report(span, message);
                } else if texts::is_apart_from_items(&a, &b) {
                    self.report(span, texts::NEVER_IN.to_owned());
                } else {
                    self.slips(&a, &b, right.span);
                }
            }
        }
    }

    /// Words of a literal list that `item` never is, each the slip of one that it can be.
    fn slips(&mut self, item: &Typed, list: &Typed, span: Span) {
        let (Exact::Type(item), Exact::Value(Value::Array(words))) = (&item.exact, &list.exact)
        else {
            return;
        };
        let known = item.values();
        let names: Vec<&str> = known.iter().filter_map(Value::as_str).collect();
        for word in words.iter().filter_map(Value::as_str) {
            if !names.contains(&word)
                && let Some(meant) = nearest(word, names.iter().copied())
            {
                let message = format!("`in` never finds \"{word}\" here");
                let finding = Diagnostic::new(Code::OperandType, span, message);
                self.found
                    .push(finding.hint(format!("did you mean `{meant}`?")));
            }
        }
    }

    fn walk(&mut self, walk: &Walk) -> Typed {
        let list = self.operand(&walk.list, Kinds::LIST | Kinds::MAP, "a comprehension");
        let is_read = self.is_read(&walk.list);
        if is_read {
            self.read.insert(walk.variable.id);
        }
        let item = if list.kinds == Kinds::MAP {
            if is_read {
                let message = "a comprehension does not walk the keys of a map that a step gave";
                let finding = Diagnostic::new(Code::OperandType, walk.list.span, message);
                self.found
                    .push(finding.hint("write `keys(…)` or `values(…)` around the map"));
            }
            Typed::of(Kinds::TEXT)
        } else if list.kinds.meets(Kinds::MAP)
            || matches!(list.exact, Exact::Kinds | Exact::Reported)
        {
            Typed::of(Kinds::ANY)
        } else {
            let item = list.to_type().item();
            item.map_or(Typed::of(Kinds::ANY), Typed::ty)
        };
        self.variables.insert(walk.variable.id, item);
        if let Some(filter) = &walk.filter {
            self.operand(filter, Kinds::BOOL, "the condition");
            if let Some(item) = self.filtered(&walk.variable, filter) {
                self.variables.insert(walk.variable.id, item);
            }
        }
        match walk.kind {
            WalkKind::All | WalkKind::Exists | WalkKind::ExistsOne => {
                self.operand(&walk.body, Kinds::BOOL, "the condition");
                Typed::of(Kinds::BOOL)
            }
            WalkKind::Map | WalkKind::Filter => {
                let body = self.expr(&walk.body);
                match body.exact {
                    Exact::Kinds if body.kinds.without(Kinds::JSON) != Kinds::NONE => {
                        Typed::of(Kinds::LIST)
                    }
                    _ => Typed::ty(Type::list_of(&body.to_type())),
                }
            }
        }
    }
}

/// Whether it asks, out of care, that a text is not empty: `shape` says where that is all.
fn is_care(operator: Compare, given: &str) -> bool {
    operator == Compare::NotEqual && given == "\"\""
}

/// The literal that the other side never equals, and what that is.
fn never_equal(a: &Typed, b: &Typed) -> Option<(String, Vec<Value>)> {
    let (literal, other) = match (&a.exact, &b.exact) {
        (Exact::Value(v), Exact::Type(ty)) | (Exact::Type(ty), Exact::Value(v)) => (v, ty),
        _ => return None,
    };
    if literal.is_null() || !other.excludes(literal) {
        return None;
    }
    Some((crate::digest::canonical(literal), other.values()))
}

/// What an operator makes of two kinds; nothing if it does not take them.
fn arithmetic(operator: Arith, left: Kinds, right: Kinds) -> Kinds {
    let mut result = Kinds::NONE;
    let mut allow = |a: Kinds, b: Kinds, makes: Kinds| {
        if left.meets(a) && right.meets(b) {
            result = result | makes;
        }
    };
    allow(Kinds::INTEGER, Kinds::INTEGER, Kinds::INTEGER);
    if operator != Arith::Remainder {
        allow(Kinds::FRACTION, Kinds::NUMBER, Kinds::NUMBER);
        allow(Kinds::NUMBER, Kinds::FRACTION, Kinds::NUMBER);
    }
    if matches!(operator, Arith::Add) {
        allow(Kinds::TEXT, Kinds::TEXT, Kinds::TEXT);
        allow(Kinds::LIST, Kinds::LIST, Kinds::LIST);
        allow(Kinds::DURATION, Kinds::TIME, Kinds::TIME);
    }
    if matches!(operator, Arith::Add | Arith::Subtract) {
        allow(Kinds::TIME, Kinds::DURATION, Kinds::TIME);
        allow(Kinds::DURATION, Kinds::DURATION, Kinds::DURATION);
    }
    if matches!(operator, Arith::Subtract) {
        allow(Kinds::TIME, Kinds::TIME, Kinds::DURATION);
    }
    result
}

#[cfg(test)]
mod tests;
