//! The pass `unit_names`: numbers whose names say another unit than the place they are given to.
//!
//! Owns the units that a name can end or begin with, such as `fee_cents`, and the finding. What a
//! schema says with `x-unit` is [`super::units`]'s. Never converts: a factor that leads from one
//! listed unit to another counts as the conversion that it is. INVARIANT: a finding names two
//! places whose own names say two units of one kind; beside a factor, of one thing by its name.

use std::collections::BTreeSet;

use super::Pass;
use super::effects::words;
use crate::check::graph::all_templates;
use crate::codes::Code;
use crate::diagnostic::Diagnostic;
use crate::expr::tree::{Access, Arith, Compare, Expr, ExprKind, Function, Walk, WalkKind};
use crate::expr::{ArgTree, Template};
use crate::source::Span;

/// Kinds of units, each with its units: what they are called, and how many of the smallest they
/// are.
const KINDS: [&[(&str, f64)]; 7] = [
    &[
        ("cents", 1.0),
        ("pence", 1.0),
        ("eur", 100.0),
        ("euros", 100.0),
        ("usd", 100.0),
        ("dollars", 100.0),
        ("gbp", 100.0),
        ("pounds", 100.0),
        ("chf", 100.0),
    ],
    &[
        ("ms", 1.0),
        ("millis", 1.0),
        ("milliseconds", 1.0),
        ("s", 1e3),
        ("secs", 1e3),
        ("seconds", 1e3),
        ("mins", 6e4),
        ("minutes", 6e4),
        ("h", 3.6e6),
        ("hours", 3.6e6),
        ("days", 8.64e7),
        ("weeks", 6.048e8),
    ],
    &[
        ("mg", 1.0),
        ("g", 1e3),
        ("grams", 1e3),
        ("kg", 1e6),
        ("tonnes", 1e9),
    ],
    &[
        ("mm", 1.0),
        ("cm", 10.0),
        ("m", 1e3),
        ("metres", 1e3),
        ("meters", 1e3),
        ("km", 1e6),
    ],
    &[
        ("bytes", 1.0),
        ("kb", 1e3),
        ("kib", 1024.0),
        ("mb", 1e6),
        ("mib", 1_048_576.0),
        ("gb", 1e9),
        ("gib", 1_073_741_824.0),
    ],
    &[
        ("permille", 1.0),
        ("percent", 10.0),
        ("pct", 10.0),
        ("fraction", 1e3),
    ],
    &[("wh", 1.0), ("kwh", 1e3), ("mwh", 1e6)],
];

/// Fewest letters of a unit that a name begins with.
const LONG_CHARS_MIN: usize = 4;
/// Fewest letters of a unit that is a name by itself.
const WHOLE_CHARS_MIN: usize = 2;

/// What a number is in, by the name of the place it stands at.
#[derive(Clone, Debug)]
struct Measure {
    kind: usize,
    /// How many of the smallest unit of its kind one of it is.
    size: f64,
    /// The name that says so.
    name: String,
    /// What it says beside the unit.
    stem: Vec<String>,
    /// How many its unit is without the factor, where one has changed it.
    scaled_from: Option<f64>,
}

impl Measure {
    fn of_name(name: &str) -> Option<Self> {
        let words = words(name);
        // Why: what a price by the hour is in, nobody says.
        if words.iter().any(|word| word == "per") {
            return None;
        }
        let unit = |word: &String| {
            KINDS.iter().enumerate().find_map(|(kind, units)| {
                let (_, size) = units.iter().find(|(known, _)| known == word)?;
                Some((kind, *size))
            })
        };
        let long = |word: &&String| word.len() >= LONG_CHARS_MIN;
        let last = words
            .last()
            .filter(|word| words.len() > 1 || word.len() >= WHOLE_CHARS_MIN);
        let by_last = last.and_then(unit);
        let by_first = || words.first().filter(long).and_then(unit);
        let (kind, size) = by_last.or_else(by_first)?;
        let (_, before) = words.split_last()?;
        let stem = match by_last {
            Some(_) => before,
            None => words.get(1..)?,
        };
        Some(Self {
            kind,
            size,
            name: name.to_owned(),
            stem: stem.to_vec(),
            scaled_from: None,
        })
    }

    /// The same number of what is so many times as large.
    fn times(self, factor: f64) -> Self {
        Self {
            size: self.size * factor,
            scaled_from: self.scaled_from.or(Some(self.size)),
            ..self
        }
    }

    /// Whether it certainly is no number of the unit of another.
    fn differs(&self, other: &Self) -> bool {
        let same = |a: f64, b: f64| (a - b).abs() <= a.abs().max(b.abs()) * 1e-9;
        let is_unit = |one: &Self| {
            let mut units = KINDS.get(one.kind).into_iter().copied().flatten();
            units.any(|(_, size)| same(*size, one.size))
        };
        // Why one name but for the unit: a hundredth of an amount may be what is meant, as a fee.
        let is_scaled = self.scaled_from.is_some() || other.scaled_from.is_some();
        let is_told = !is_scaled || self.stem == other.stem;
        // Why not of one unit: a share of it is in that unit still.
        let whole = |one: &Self| one.scaled_from.unwrap_or(one.size);
        let are_units = is_unit(self) && is_unit(other)
            || !self.stem.is_empty() && !same(whole(self), whole(other));
        self.kind == other.kind && is_told && are_units && !same(self.size, other.size)
    }
}

/// Reports numbers whose names say another unit.
pub(crate) fn run(pass: &mut Pass<'_>) {
    let told = pass.diagnostics.iter();
    let told = told.filter(|finding| finding.code == Code::OtherUnit);
    let known: BTreeSet<Span> = told.map(|finding| finding.span).collect();
    let mut names = Names {
        found: Vec::new(),
        seen: BTreeSet::new(),
    };
    for step in &pass.plan.steps {
        let before = names.found.len();
        for (_, _, args) in step.calls() {
            names.argument(args);
        }
        for (_, template) in step.templates() {
            names.template(template);
        }
        for finding in names.found.iter_mut().skip(before) {
            finding.step = Some(step.id.value.clone());
        }
    }
    for template in all_templates(pass.plan) {
        names.template(template);
    }
    // Why not what is told already: `x-unit` says more than a name.
    let new = names.found.into_iter();
    pass.diagnostics
        .extend(new.filter(|finding| !known.contains(&finding.span)));
}

/// What was found so far: a name of a `let` stands in each place that uses it.
struct Names {
    found: Vec<Diagnostic>,
    seen: BTreeSet<Span>,
}

impl Names {
    fn template(&mut self, template: &Template) {
        for expression in template.expressions() {
            self.measure(expression.ast());
        }
    }

    fn argument(&mut self, tree: &ArgTree) {
        match tree {
            ArgTree::Value(..) | ArgTree::Template(_) => {}
            ArgTree::List(items, _) => items.iter().for_each(|item| self.argument(item)),
            ArgTree::Map(entries, _) => {
                for (name, tree) in entries {
                    self.argument(tree);
                    let ArgTree::Template(template) = tree else {
                        continue;
                    };
                    let given = template.whole().and_then(|whole| self.measure(whole.ast()));
                    if let (Some(given), Some(wanted)) = (given, Measure::of_name(name.as_str()))
                        && given.differs(&wanted)
                    {
                        let message = match given.scaled_from.is_some() {
                            true => format!(
                                "`{}` by a factor is given as `{}`",
                                given.name,
                                name.as_str()
                            ),
                            false => format!("`{}` is given as `{}`", given.name, name.as_str()),
                        };
                        self.report(template.span(), message);
                    }
                }
            }
        }
    }

    fn report(&mut self, span: Span, message: String) {
        if self.seen.insert(span) {
            self.found.push(
                Diagnostic::new(Code::OtherUnitName, span, message)
                    .label("the names say two units")
                    .hint("multiply or divide by what lies between them, once"),
            );
        }
    }

    /// What two numbers are in that an operator joins.
    fn joined(
        &mut self,
        one: Option<Measure>,
        two: Option<Measure>,
        span: Span,
    ) -> Option<Measure> {
        if let (Some(left), Some(right)) = (&one, &two)
            && left.differs(right)
        {
            let message = format!("`{}` and `{}` are joined", left.name, right.name);
            self.report(span, message);
            return None;
        }
        one.or(two)
    }

    fn measure(&mut self, expr: &Expr) -> Option<Measure> {
        match &expr.kind {
            ExprKind::Path(_, accesses) => {
                let inner = expr.children();
                inner.into_iter().for_each(|part| {
                    self.measure(part);
                });
                let field = accesses.iter().rev().find_map(|access| match access {
                    Access::Field(name) => Some(name.as_str()),
                    Access::Index(index) => match &index.kind {
                        ExprKind::Text(name) => Some(name.as_str()),
                        _ => None,
                    },
                });
                Measure::of_name(field?)
            }
            ExprKind::Negate(inner) => self.measure(inner),
            ExprKind::Chain(first, rest) => self.chain(first, rest),
            ExprKind::Compare(operator, left, right) => {
                let (one, two) = (self.measure(left), self.measure(right));
                if *operator != Compare::In {
                    self.joined(one, two, expr.span);
                }
                None
            }
            ExprKind::Choice(test, yes, no) => {
                self.measure(test);
                let (one, two) = (self.measure(yes), self.measure(no));
                match (&one, &two) {
                    (Some(a), Some(b)) if a.differs(b) => None,
                    _ => one.or(two),
                }
            }
            ExprKind::Call(function, arguments) => {
                let all: Vec<Option<Measure>> =
                    arguments.iter().map(|one| self.measure(one)).collect();
                self.called(*function, all, expr.span)
            }
            ExprKind::Walk(walk) => self.walk(walk),
            _ => {
                for part in expr.children() {
                    self.measure(part);
                }
                None
            }
        }
    }

    fn walk(&mut self, walk: &Walk) -> Option<Measure> {
        let list = self.measure(&walk.list);
        if let Some(filter) = &walk.filter {
            self.measure(filter);
        }
        let body = self.measure(&walk.body);
        match walk.kind {
            WalkKind::Map => body,
            WalkKind::Filter => list,
            WalkKind::All | WalkKind::Exists | WalkKind::ExistsOne => None,
        }
    }

    fn chain(&mut self, first: &Expr, rest: &[(Arith, Expr)]) -> Option<Measure> {
        let mut measure = self.measure(first);
        let mut plain = number(first);
        for (operator, operand) in rest {
            let other = self.measure(operand);
            let factor = number(operand).filter(|factor| *factor > 0.0);
            let span = Span::new(first.span.start, operand.span.end);
            measure = match operator {
                Arith::Add | Arith::Subtract => self.joined(measure, other, span),
                Arith::Multiply => match (measure, other, factor, plain) {
                    (Some(measure), None, Some(factor), _) => Some(measure.times(1.0 / factor)),
                    (None, Some(other), _, Some(factor)) => Some(other.times(1.0 / factor)),
                    _ => None,
                },
                Arith::Divide => match (measure, factor) {
                    (Some(measure), Some(factor)) => Some(measure.times(factor)),
                    _ => None,
                },
                Arith::Remainder => None,
            };
            plain = None;
        }
        measure
    }

    fn called(
        &mut self,
        function: Function,
        arguments: Vec<Option<Measure>>,
        span: Span,
    ) -> Option<Measure> {
        match function {
            Function::Min | Function::Max | Function::Least | Function::Greatest => arguments
                .into_iter()
                .reduce(|one, two| self.joined(one, two, span))
                .flatten(),
            Function::Sum
            | Function::First
            | Function::Abs
            | Function::Round
            | Function::MathRound
            | Function::Ceil
            | Function::Floor
            | Function::Trunc
            | Function::Int
            | Function::Double
            | Function::Sort
            | Function::Reverse
            | Function::Distinct
            | Function::Slice => arguments.into_iter().next().flatten(),
            _ => None,
        }
    }
}

/// The number that an expression is.
fn number(expr: &Expr) -> Option<f64> {
    match &expr.kind {
        #[allow(clippy::cast_precision_loss, reason = "a factor of a few digits")]
        ExprKind::Int(value) => Some(*value as f64),
        ExprKind::Double(value) => Some(*value),
        _ => None,
    }
}
