//! The tree of an expression: what the parser makes, and what every walk over it reads.
//!
//! Owns the node kinds and the table of functions. INVARIANT: a tree's height is bounded, because
//! chains of operators and of accesses are flat; so a walk may recurse.

use super::Root;
use crate::source::Span;

/// A node of an expression, with its place in the source text.
#[derive(Clone, Debug, PartialEq)]
pub struct Expr {
    /// What it is.
    pub kind: ExprKind,
    /// Where it stands.
    pub span: Span,
}

/// The kinds of node.
#[derive(Clone, Debug, PartialEq)]
pub enum ExprKind {
    /// `null`
    Null,
    /// `true`, `false`
    Bool(bool),
    /// A whole number.
    Int(i64),
    /// A number with a fraction or an exponent.
    Double(f64),
    /// A text.
    Text(String),
    /// The name of a type, such as `int`, to compare `type(x)` with.
    Type(&'static str),
    /// `[a, b]`
    List(Vec<Expr>),
    /// `{"a": b}`
    Map(Vec<(Expr, Expr)>),
    /// A name in scope; `steps.ID` is one name.
    Root(Root),
    /// The variable of a comprehension.
    Var(Variable),
    /// `base.a[0]["b"]`
    Path(Box<Expr>, Vec<Access>),
    /// `has(base.a)`: a path that ends in a field.
    Has(Box<Expr>),
    /// `!a`
    Not(Box<Expr>),
    /// `-a`
    Negate(Box<Expr>),
    /// `a && b && …`
    And(Vec<Expr>),
    /// `a || b || …`
    Or(Vec<Expr>),
    /// `a + b - c …`, from left to right, operators of one precedence.
    Chain(Box<Expr>, Vec<(Arith, Expr)>),
    /// `a == b`, `a in b` …
    Compare(Compare, Box<Expr>, Box<Expr>),
    /// `a ? b : c`
    Choice(Box<Expr>, Box<Expr>, Box<Expr>),
    /// A function; the receiver of a method is its first argument.
    Call(Function, Vec<Expr>),
    /// A comprehension.
    Walk(Box<Walk>),
}

/// The variable of a comprehension; the number tells variables of one name apart.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Variable {
    /// The name as written.
    pub name: String,
    /// Unique in its expression.
    pub id: u32,
}

/// One step into a value.
#[derive(Clone, Debug, PartialEq)]
pub enum Access {
    /// `.name`
    Field(String),
    /// `[expr]`
    Index(Expr),
}

/// A comprehension over a list, or over the keys of a map.
#[derive(Clone, Debug, PartialEq)]
pub struct Walk {
    /// Which.
    pub kind: WalkKind,
    /// What it walks.
    pub list: Expr,
    /// The name of the item.
    pub variable: Variable,
    /// The condition of `filter`, and of `map` with three arguments.
    pub filter: Option<Expr>,
    /// What is computed of each item; for `filter` the item itself.
    pub body: Expr,
}

/// The comprehensions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WalkKind {
    /// `all`
    All,
    /// `exists`
    Exists,
    /// `exists_one`
    ExistsOne,
    /// `map`
    Map,
    /// `filter`
    Filter,
}

impl WalkKind {
    /// The comprehension called `name` with `count` arguments.
    pub(super) fn find(name: &str, count: usize) -> Option<Self> {
        match (name, count) {
            ("all", 2) => Some(Self::All),
            ("exists", 2) => Some(Self::Exists),
            ("exists_one" | "existsOne", 2) => Some(Self::ExistsOne),
            ("map", 2 | 3) => Some(Self::Map),
            ("filter", 2) => Some(Self::Filter),
            _ => None,
        }
    }

    pub(super) const NAMES: [&'static str; 6] =
        ["all", "exists", "exists_one", "existsOne", "map", "filter"];
}

/// Operators on two values of one kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arith {
    /// `+`
    Add,
    /// `-`
    Subtract,
    /// `*`
    Multiply,
    /// `/`
    Divide,
    /// `%`
    Remainder,
}

impl Arith {
    /// The operator as written.
    #[must_use]
    pub fn symbol(self) -> &'static str {
        match self {
            Self::Add => "+",
            Self::Subtract => "-",
            Self::Multiply => "*",
            Self::Divide => "/",
            Self::Remainder => "%",
        }
    }
}

/// Comparisons: their result is a boolean.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Compare {
    /// `==`
    Equal,
    /// `!=`
    NotEqual,
    /// `<`
    Less,
    /// `<=`
    LessEqual,
    /// `>`
    Greater,
    /// `>=`
    GreaterEqual,
    /// `in`
    In,
}

impl Compare {
    /// The operator as written.
    #[must_use]
    pub fn symbol(self) -> &'static str {
        match self {
            Self::Equal => "==",
            Self::NotEqual => "!=",
            Self::Less => "<",
            Self::LessEqual => "<=",
            Self::Greater => ">",
            Self::GreaterEqual => ">=",
            Self::In => "in",
        }
    }
}

macro_rules! functions {
    ($(
        $variant:ident = $name:literal, $min:literal..=$max:literal, $form:ident, $doc:literal;
    )+) => {
        /// The functions.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Function { $(#[doc = $doc] $variant,)+ }

        impl Function {
            /// Every function.
            pub const ALL: &'static [Self] = &[$(Self::$variant,)+];

            /// The name as written.
            #[must_use]
            pub fn name(self) -> &'static str {
                match self { $(Self::$variant => $name,)+ }
            }

            /// How many arguments it takes, the receiver counted.
            #[must_use]
            pub fn arity(self) -> std::ops::RangeInclusive<usize> {
                match self { $(Self::$variant => $min..=$max,)+ }
            }

            fn form(self) -> Form {
                match self { $(Self::$variant => Form::$form,)+ }
            }
        }
    };
}

/// How a function may be called.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Form {
    /// `f(x)`
    Global,
    /// `x.f()`
    Method,
    /// Either.
    Both,
}

functions! {
    Size = "size", 1..=1, Both, "The length of a text (characters), list or map.";
    Contains = "contains", 2..=2, Method, "Whether a text holds another.";
    StartsWith = "startsWith", 2..=2, Method, "Whether a text begins with another.";
    EndsWith = "endsWith", 2..=2, Method, "Whether a text ends with another.";
    Matches = "matches", 2..=2, Both, "Whether a regular expression is found in a text.";
    Int = "int", 1..=1, Global, "A whole number from a number, text or time.";
    Double = "double", 1..=1, Global, "A number from a number or text.";
    String = "string", 1..=1, Global, "The text of a scalar.";
    Bool = "bool", 1..=1, Global, "A boolean from a text.";
    Dyn = "dyn", 1..=1, Global, "The value itself.";
    Type = "type", 1..=1, Global, "The type of a value.";
    Timestamp = "timestamp", 1..=1, Global, "A point in time from RFC 3339 text or seconds.";
    Duration = "duration", 1..=1, Global, "A length of time from text such as `1h30m`.";
    FullYear = "getFullYear", 1..=2, Method, "The year of a time.";
    Month = "getMonth", 1..=2, Method, "The month of a time, from 0.";
    Date = "getDate", 1..=2, Method, "The day of the month, from 1.";
    DayOfMonth = "getDayOfMonth", 1..=2, Method, "The day of the month, from 0.";
    DayOfWeek = "getDayOfWeek", 1..=2, Method, "The day of the week, Sunday is 0.";
    DayOfYear = "getDayOfYear", 1..=2, Method, "The day of the year, from 0.";
    Hours = "getHours", 1..=2, Method, "The hour of a time; the hours of a duration.";
    Minutes = "getMinutes", 1..=2, Method, "The minute of a time; the minutes of a duration.";
    Seconds = "getSeconds", 1..=2, Method, "The second of a time; the seconds of a duration.";
    Milliseconds = "getMilliseconds", 1..=2, Method, "The milliseconds within the second.";
    Round = "round", 1..=2, Both, "The nearest whole number, or to some decimals.";
    Sum = "sum", 1..=1, Both, "The sum of a list; 0 if it is empty.";
    Min = "min", 1..=16, Both, "The least of a list, or of the arguments.";
    Max = "max", 1..=16, Both, "The largest of a list, or of the arguments.";
    Join = "join", 1..=2, Both, "The texts of a list, with a separator.";
    First = "first", 1..=1, Both, "The first item of a list.";
    Json = "json", 1..=1, Both, "The canonical JSON text of a value.";
    JsonParse = "json_parse", 1..=1, Global, "The value of a JSON text; of an unknown type.";
    Capture = "capture", 2..=2, Both, "What a literal pattern finds in a text; null if nothing.";
    CharAt = "charAt", 2..=2, Method, "The character at a position; `''` at the end.";
    Format = "format", 2..=2, Method, "A text with the values of a list in its `%` clauses.";
    IndexOf = "indexOf", 2..=3, Method, "The first position of a text in another, or -1.";
    LastIndexOf = "lastIndexOf", 2..=3, Method, "The last position of a text in another, or -1.";
    LowerAscii = "lowerAscii", 1..=1, Method, "The text with ASCII letters in lower case.";
    Replace = "replace", 3..=4, Method, "The text with another in place of each one sought.";
    Reverse = "reverse", 1..=1, Method, "A text or list from its end to its beginning.";
    Split = "split", 2..=3, Method, "The texts between the separators.";
    Substring = "substring", 2..=3, Method, "The characters from a position up to another.";
    Trim = "trim", 1..=1, Method, "The text without white space at both ends.";
    UpperAscii = "upperAscii", 1..=1, Method, "The text with ASCII letters in upper case.";
    Distinct = "distinct", 1..=1, Method, "The items of a list, each once.";
    Flatten = "flatten", 1..=2, Method, "The items of the lists in a list.";
    Range = "lists.range", 1..=1, Global, "The whole numbers from 0 up to, not with, a number.";
    Slice = "slice", 3..=3, Method, "The items from a position up to, not with, another.";
    Sort = "sort", 1..=1, Method, "The items of a list, the least first.";
    Zip = "zip", 2..=2, Global, "The pairs of the items of two lists of one length.";
    Keys = "keys", 1..=1, Both, "The keys of a map, in order.";
    Values = "values", 1..=1, Both, "The values of a map, in the order of its keys.";
    Abs = "math.abs", 1..=1, Global, "The number without its sign.";
    Ceil = "math.ceil", 1..=1, Global, "The next whole number up, as a number.";
    Floor = "math.floor", 1..=1, Global, "The next whole number down, as a number.";
    Greatest = "math.greatest", 1..=16, Global, "The largest number of a list or the arguments.";
    Least = "math.least", 1..=16, Global, "The least number of a list, or of the arguments.";
    MathRound = "math.round", 1..=1, Global, "The nearest whole number, as a number.";
    Sign = "math.sign", 1..=1, Global, "-1, 0 or 1, as the number is.";
    Trunc = "math.trunc", 1..=1, Global, "The number without its fraction.";
}

impl Function {
    /// The function called `name`.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|f| f.name() == name)
    }

    /// The namespaces of functions: `math` of `math.abs`.
    pub(super) const NAMESPACES: [&'static str; 2] = ["lists", "math"];

    /// Whether what it gives says what stands at some place of a text. Why it matters: whoever
    /// wrote the text can put words there, so what is left of it stays text.
    #[must_use]
    pub fn looks_into_text(self) -> bool {
        matches!(
            self,
            Self::Contains
                | Self::StartsWith
                | Self::EndsWith
                | Self::Matches
                | Self::Capture
                | Self::CharAt
                | Self::IndexOf
                | Self::LastIndexOf
                | Self::JsonParse
                | Self::Replace
                | Self::Split
                | Self::Substring
        )
    }

    /// Whether it may be called as a method, and as a plain function.
    pub(super) fn allows(self, method: bool) -> bool {
        match self.form() {
            Form::Both => true,
            Form::Method => method,
            Form::Global => !method,
        }
    }
}

/// A list, and those of which it was taken by conditions: none of them has fewer items.
#[must_use]
pub(crate) fn sources(mut list: &Expr) -> Vec<&Expr> {
    let mut all = vec![list];
    while let ExprKind::Walk(walk) = &list.kind
        && walk.kind == WalkKind::Filter
    {
        list = &walk.list;
        all.push(list);
    }
    all
}

/// The form of a path.
fn path_form(base: &Expr, accesses: &[Access], bound: &mut Vec<u32>) -> String {
    let mut path = base.form_within(bound);
    for access in accesses {
        match access {
            Access::Field(name)
            | Access::Index(Expr {
                kind: ExprKind::Text(name),
                ..
            }) => path.push_str(&format!("[{name:?}]")),
            Access::Index(index) => path.push_str(&format!("[{}]", index.form_within(bound))),
        }
    }
    path
}

impl Expr {
    /// Whether it is a literal: a constant without a name, a call or an operator in it.
    #[must_use]
    pub fn is_literal(&self) -> bool {
        match &self.kind {
            ExprKind::Null
            | ExprKind::Bool(_)
            | ExprKind::Int(_)
            | ExprKind::Double(_)
            | ExprKind::Text(_)
            | ExprKind::Type(_) => true,
            ExprKind::List(items) => items.iter().all(Self::is_literal),
            ExprKind::Map(entries) => entries
                .iter()
                .all(|(key, value)| key.is_literal() && value.is_literal()),
            _ => false,
        }
    }

    /// The same about something else: `root` in place of a variable.
    #[must_use]
    pub fn about(&self, variable: u32, root: &Root) -> Self {
        self.with(&|kind| match kind {
            ExprKind::Var(own) if own.id == variable => Some(ExprKind::Root(root.clone())),
            _ => None,
        })
    }

    /// The same with something else in place of some parts.
    #[must_use]
    pub(crate) fn with(&self, other: &dyn Fn(&ExprKind) -> Option<ExprKind>) -> Self {
        if let Some(kind) = other(&self.kind) {
            return Self {
                kind,
                span: self.span,
            };
        }
        let of = |part: &Self| part.with(other);
        let boxed = |part: &Self| Box::new(of(part));
        let all = |parts: &[Self]| parts.iter().map(of).collect();
        let access = |access: &Access| match access {
            Access::Field(name) => Access::Field(name.clone()),
            Access::Index(index) => Access::Index(of(index)),
        };
        let kind = match &self.kind {
            ExprKind::List(items) => ExprKind::List(all(items)),
            ExprKind::Map(entries) => {
                let entries = entries.iter().map(|(key, value)| (of(key), of(value)));
                ExprKind::Map(entries.collect())
            }
            ExprKind::Path(base, accesses) => {
                let rest = accesses.iter().map(access);
                match of(base) {
                    // Why: the accesses of a path are flat.
                    Self {
                        kind: ExprKind::Path(base, first),
                        ..
                    } => ExprKind::Path(base, first.into_iter().chain(rest).collect()),
                    base => ExprKind::Path(Box::new(base), rest.collect()),
                }
            }
            ExprKind::Has(path) => ExprKind::Has(boxed(path)),
            ExprKind::Not(inner) => ExprKind::Not(boxed(inner)),
            ExprKind::Negate(inner) => ExprKind::Negate(boxed(inner)),
            ExprKind::And(terms) => ExprKind::And(all(terms)),
            ExprKind::Or(terms) => ExprKind::Or(all(terms)),
            ExprKind::Chain(first, rest) => {
                let rest = rest.iter().map(|(by, next)| (*by, of(next)));
                ExprKind::Chain(boxed(first), rest.collect())
            }
            ExprKind::Compare(by, left, right) => ExprKind::Compare(*by, boxed(left), boxed(right)),
            ExprKind::Choice(test, yes, no) => ExprKind::Choice(boxed(test), boxed(yes), boxed(no)),
            ExprKind::Call(function, arguments) => ExprKind::Call(*function, all(arguments)),
            ExprKind::Walk(walk) => ExprKind::Walk(Box::new(Walk {
                kind: walk.kind,
                list: of(&walk.list),
                variable: walk.variable.clone(),
                filter: walk.filter.as_ref().map(of),
                body: of(&walk.body),
            })),
            kind @ (ExprKind::Null
            | ExprKind::Bool(_)
            | ExprKind::Int(_)
            | ExprKind::Double(_)
            | ExprKind::Text(_)
            | ExprKind::Type(_)
            | ExprKind::Root(_)
            | ExprKind::Var(_)) => kind.clone(),
        };
        Self {
            kind,
            span: self.span,
        }
    }

    /// Whether it is true or false by its form.
    pub(crate) fn is_condition(&self) -> bool {
        match &self.kind {
            ExprKind::Not(_)
            | ExprKind::And(_)
            | ExprKind::Or(_)
            | ExprKind::Compare(..)
            | ExprKind::Has(_) => true,
            ExprKind::Walk(walk) => matches!(
                walk.kind,
                WalkKind::All | WalkKind::Exists | WalkKind::ExistsOne
            ),
            ExprKind::Call(function, _) => matches!(
                function,
                Function::Contains | Function::StartsWith | Function::EndsWith | Function::Matches
            ),
            _ => false,
        }
    }

    /// Its form: the same for two expressions that differ in spaces, quotes, parentheses and the
    /// names of variables alone.
    #[must_use]
    pub fn form(&self) -> String {
        self.form_within(&mut Vec::new())
    }

    /// The form inside comprehensions whose variables have these numbers, from the outermost on.
    fn form_within(&self, bound: &mut Vec<u32>) -> String {
        let head = match &self.kind {
            ExprKind::List(_) => "[]".to_owned(),
            ExprKind::Map(_) => "{}".to_owned(),
            ExprKind::Var(variable) => match bound.iter().position(|id| *id == variable.id) {
                Some(depth) => format!("#{depth}"),
                None => variable.name.clone(),
            },
            ExprKind::Path(base, accesses) => return path_form(base, accesses, bound),
            ExprKind::Has(_) => "has".to_owned(),
            ExprKind::Not(_) => "!".to_owned(),
            ExprKind::Negate(_) => "-".to_owned(),
            ExprKind::And(_) => "&&".to_owned(),
            ExprKind::Or(_) => "||".to_owned(),
            ExprKind::Chain(_, rest) => {
                rest.iter().map(|(operator, _)| operator.symbol()).collect()
            }
            ExprKind::Compare(operator, ..) => operator.symbol().to_owned(),
            ExprKind::Choice(..) => "?".to_owned(),
            ExprKind::Call(function, _) => function.name().to_owned(),
            ExprKind::Walk(walk) => {
                let filtered = walk.filter.is_some();
                bound.push(walk.variable.id);
                format!("{:?} {filtered}", walk.kind)
            }
            leaf => return format!("{leaf:?}"),
        };
        let children = self.children();
        let forms: Vec<String> = children
            .iter()
            .map(|part| part.form_within(bound))
            .collect();
        if matches!(self.kind, ExprKind::Walk(_)) {
            bound.pop();
        }
        match forms.as_slice() {
            [] => head,
            forms => format!("{head}({})", forms.join(", ")),
        }
    }

    /// The root and the field, where it reads no more than a field directly of a name in scope:
    /// `output.id`, `steps.a.output`.
    #[must_use]
    pub(crate) fn field_of_root(&self) -> Option<(&Root, &str)> {
        let ExprKind::Path(base, accesses) = &self.kind else {
            return None;
        };
        match (&base.kind, accesses.as_slice()) {
            (ExprKind::Root(root), [Access::Field(name)]) => Some((root, name)),
            _ => None,
        }
    }

    /// Its parts, in the order written.
    #[must_use]
    pub fn children(&self) -> Vec<&Self> {
        match &self.kind {
            ExprKind::Null
            | ExprKind::Bool(_)
            | ExprKind::Int(_)
            | ExprKind::Double(_)
            | ExprKind::Text(_)
            | ExprKind::Type(_)
            | ExprKind::Root(_)
            | ExprKind::Var(_) => Vec::new(),
            ExprKind::List(items)
            | ExprKind::And(items)
            | ExprKind::Or(items)
            | ExprKind::Call(_, items) => items.iter().collect(),
            ExprKind::Map(entries) => entries.iter().flat_map(|(k, v)| [k, v]).collect(),
            ExprKind::Path(base, accesses) => std::iter::once(&**base)
                .chain(accesses.iter().filter_map(|access| match access {
                    Access::Field(_) => None,
                    Access::Index(index) => Some(index),
                }))
                .collect(),
            ExprKind::Has(inner) | ExprKind::Not(inner) | ExprKind::Negate(inner) => vec![inner],
            ExprKind::Chain(first, rest) => std::iter::once(&**first)
                .chain(rest.iter().map(|(_, operand)| operand))
                .collect(),
            ExprKind::Compare(_, left, right) => vec![left, right],
            ExprKind::Choice(test, yes, no) => vec![test, yes, no],
            ExprKind::Walk(walk) => std::iter::once(&walk.list)
                .chain(walk.filter.as_ref())
                .chain(std::iter::once(&walk.body))
                .collect(),
        }
    }
}
