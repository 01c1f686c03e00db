//! Guards: what a condition proves, and what is read without proof.
//!
//! Owns the facts that hold when an expression is true, and the reads of an expression with how
//! much of each is proven where it stands. Knows no schema: whether an unproven path can be absent
//! is the check's question. INVARIANT: a fact holds whenever the expression came to that value, so
//! a read that is proven never fails for want of its path.

use std::collections::BTreeSet;

use super::facts::{
    Facts, chosen, facts_of, filtered, is_variable, not_empty, rename, variable_root,
};
use super::items;
use super::refs::{self, BoundName, Place};
use crate::expr::tree::{
    Access, Arith, Compare, Expr, ExprKind, Function, Variable, Walk, WalkKind,
};
use crate::expr::{Expression, Reference, Root, Segment, Template};

/// Something that holds.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Fact {
    /// The status of a step is one of these words. `succeeded` alone proves its output.
    Status {
        /// The step.
        step: String,
        /// The words.
        words: BTreeSet<String>,
    },
    /// The path, and so every beginning of it, is there; a position proves those before it.
    Present {
        /// Where it begins.
        root: Root,
        /// The rest.
        path: Vec<Segment>,
    },
    /// The path is there and not null.
    NotNull {
        /// Where it begins.
        root: Root,
        /// The rest.
        path: Vec<Segment>,
    },
}

/// A read, with what is proven of it where it stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Read {
    /// What is read. If it is only tested by `has()`, its last segment may be absent.
    pub reference: Reference,
    present: usize,
    not_null: usize,
    /// Whether the value itself is proven not to be null.
    never_null: bool,
    /// Whether the step that is read has succeeded, for certain.
    succeeded: bool,
    /// What takes the value and does not take null.
    taker: Option<Taker>,
    /// The variable of a comprehension that it begins with, and how many segments that stands for.
    variable: Option<(String, usize)>,
}

/// What takes a value and does not take null.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Taker {
    /// An operator or a function, by its name.
    Named(&'static str),
    /// The list of `for_each`.
    ForEach,
    /// A text in which it is printed.
    Text,
    /// The argument that it is given to.
    Argument,
}

impl std::fmt::Display for Taker {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Named(name) => write!(f, "`{name}`"),
            Self::ForEach => f.write_str("`for_each`"),
            Self::Text => f.write_str("a text"),
            Self::Argument => f.write_str("the argument"),
        }
    }
}

impl Read {
    /// What takes the value and does not take null.
    #[must_use]
    pub fn taken_by(&self) -> Option<Taker> {
        self.taker
    }

    /// The first `depth` segments of the path as the expression writes them.
    #[must_use]
    pub fn shown(&self, depth: usize) -> String {
        let mut reference = self.reference.clone();
        reference.path.truncate(depth);
        if let Some((name, stands_for)) = &self.variable
            && depth >= *stands_for
        {
            reference.path.drain(..*stands_for);
            reference.root = Root::Unknown(name.clone());
        }
        reference.to_string()
    }

    /// Whether the step that is read has succeeded, for certain.
    #[must_use]
    pub fn has_succeeded(&self) -> bool {
        self.succeeded
    }

    /// Whether it is an item of a list that the expression makes.
    #[must_use]
    pub fn is_of_computed(&self) -> bool {
        items::is_computed(&self.reference.root)
    }

    /// Whether the value is proven not to be null.
    #[must_use]
    pub fn is_never_null(&self) -> bool {
        self.never_null
    }

    /// Whether the first `depth` segments of the path are proven to be there.
    #[must_use]
    pub fn is_present(&self, depth: usize) -> bool {
        self.present >= depth
    }

    /// Whether what the first `depth` segments lead to is proven not to be null.
    #[must_use]
    pub fn is_not_null(&self, depth: usize) -> bool {
        self.not_null >= depth
    }

    /// How many segments must be there for the read to have a value.
    #[must_use]
    pub fn needs(&self) -> usize {
        self.reference.path.len() - usize::from(self.reference.tested)
    }
}

impl Expression {
    /// What holds whenever this expression is true.
    #[must_use]
    pub fn facts_if_true(&self) -> BTreeSet<Fact> {
        facts_of(&self.tree, true).unwrap_or_default().exported()
    }

    /// Every read, with what is proven of it by `given` and by the expression's own guards.
    #[must_use]
    pub fn reads(&self, given: &BTreeSet<Fact>) -> Vec<Read> {
        self.reads_for(None, given)
    }

    fn reads_for(&self, taker: Option<Taker>, given: &BTreeSet<Fact>) -> Vec<Read> {
        let mut reader = GuardReader {
            bound: BoundName::new(),
            variables: Vec::new(),
            reads: Vec::new(),
        };
        reader.taken(&self.tree, taker, &Facts::from(given));
        reader.reads
    }

    /// The reads that would fail if any part of their path were absent: neither `given` nor a
    /// guard of the expression proves it.
    #[must_use]
    pub fn unguarded(&self, given: &BTreeSet<Fact>) -> Vec<Reference> {
        self.reads(given)
            .into_iter()
            .filter(|read| !read.is_of_computed() && !read.is_present(read.needs()))
            .map(|read| read.reference)
            .collect()
    }
}

impl Template {
    /// What holds whenever it is true; nothing unless it is one whole expression.
    #[must_use]
    pub fn facts_if_true(&self) -> BTreeSet<Fact> {
        self.whole()
            .map(Expression::facts_if_true)
            .unwrap_or_default()
    }

    /// Every read of a list that is run over, see [`Expression::reads`].
    #[must_use]
    pub fn list_reads(&self, given: &BTreeSet<Fact>) -> Vec<Read> {
        self.expressions()
            .flat_map(|expression| expression.reads_for(Some(Taker::ForEach), given))
            .collect()
    }

    /// Every read of what is given to an argument that does not take null.
    #[must_use]
    pub fn argument_reads(&self, given: &BTreeSet<Fact>) -> Vec<Read> {
        self.whole()
            .map(|whole| whole.reads_for(Some(Taker::Argument), given))
            .unwrap_or_default()
    }

    /// What holds of each item, if it is a list that a condition was asked of.
    #[must_use]
    pub fn item_facts(&self) -> BTreeSet<Fact> {
        let list = self.whole().map(|whole| filtered(&whole.tree));
        let facts = list.into_iter().flatten().flat_map(|(id, facts)| {
            let of_item = facts.of_variable(id, &Root::Item);
            of_item.exported()
        });
        facts.collect()
    }

    /// Every read of its expressions, see [`Expression::reads`]; a text with expressions in it
    /// prints them, and takes no null.
    #[must_use]
    pub fn reads(&self, given: &BTreeSet<Fact>) -> Vec<Read> {
        match self.whole() {
            Some(expression) => expression.reads(given),
            None => self.printed_reads(given),
        }
    }

    /// Every read of a text that is printed even if it is one expression.
    #[must_use]
    pub fn printed_reads(&self, given: &BTreeSet<Fact>) -> Vec<Read> {
        self.expressions()
            .flat_map(|expression| expression.reads_for(Some(Taker::Text), given))
            .collect()
    }
}

/// The walk that finds the reads.
struct GuardReader {
    bound: BoundName,
    /// Variables of comprehensions around, with the length of the path of their list's items.
    variables: Vec<(u32, usize)>,
    reads: Vec<Read>,
}

impl GuardReader {
    fn walk(&mut self, expr: &Expr, given: &Facts) {
        self.taken(expr, None, given);
    }

    /// Walks an expression whose value goes to what does not take null, if to anything.
    fn taken(&mut self, expr: &Expr, taker: Option<Taker>, given: &Facts) {
        self.item(expr, given);
        if let Some(reference) = refs::reference(expr, &self.bound) {
            self.read(expr, reference, taker, given);
            self.inside(expr, given);
            return;
        }
        match &expr.kind {
            ExprKind::Compare(operator, left, right) => {
                let taker = of_compare(*operator);
                self.taken(left, taker, given);
                self.taken(right, taker, given);
            }
            ExprKind::Chain(first, rest) => {
                let taker = |at: usize| {
                    let operator = rest.get(at).map(|(operator, _)| operator.symbol());
                    operator.map(Taker::Named)
                };
                self.taken(first, taker(0), given);
                for (at, (operator, operand)) in rest.iter().enumerate() {
                    self.taken(operand, taker(at), given);
                    self.divisor(*operator, operand, given);
                }
            }
            ExprKind::Negate(operand) => self.taken(operand, Some(Taker::Named("-")), given),
            ExprKind::Call(function, arguments) => {
                for argument in arguments {
                    self.taken(argument, of_call(*function), given);
                }
            }
            ExprKind::And(terms) => self.terms(terms, true, given),
            ExprKind::Or(terms) => self.terms(terms, false, given),
            ExprKind::Choice(test, yes, no) => {
                self.walk(test, given);
                for (branch, truth) in [(yes, true), (no, false)] {
                    // Why: a branch that is never taken reads nothing.
                    if let Some(facts) = facts_of(test, truth) {
                        self.taken(branch, taker, &given.and(&facts));
                    }
                }
            }
            ExprKind::Walk(walk) => self.comprehension(walk, given),
            _ => {
                for child in expr.children() {
                    self.walk(child, given);
                }
            }
        }
    }

    /// Each operand is read only where those before it did not decide.
    fn terms(&mut self, terms: &[Expr], truth: bool, given: &Facts) {
        let mut given = given.clone();
        for term in terms {
            self.walk(term, &given);
            match facts_of(term, truth) {
                Some(facts) => given = given.and(&facts),
                None => return,
            }
        }
    }

    fn comprehension(&mut self, walk: &Walk, given: &Facts) {
        self.walk(&walk.list, given);
        refs::bind(walk, &mut self.bound);
        let id = walk.variable.id;
        let depth = match self.bound.get(&id) {
            Some(Some((_, path))) => path.len(),
            _ => 0,
        };
        self.variables.push((id, depth));
        // Why: where an item is looked at, the list has one.
        let mut inner = given.and(&not_empty(&walk.list, 1)).and(&chosen(walk));
        for (id, facts) in filtered(&walk.list) {
            inner = inner.and(&rename(&facts, id, walk.variable.id));
        }
        if let Some(filter) = &walk.filter {
            self.walk(filter, &inner);
            if let Some(facts) = facts_of(filter, true) {
                inner = inner.and(&facts);
            }
        }
        if walk.kind != WalkKind::Filter {
            self.walk(&walk.body, &inner);
        }
        self.variables.pop();
        self.bound.remove(&id);
    }

    fn inside(&mut self, expr: &Expr, given: &Facts) {
        match &expr.kind {
            ExprKind::Has(path) => self.inside(path, given),
            ExprKind::Path(base, accesses) => {
                if !matches!(base.kind, ExprKind::Root(_) | ExprKind::Var(_)) {
                    self.walk(base, given);
                }
                for access in accesses {
                    if let Access::Index(index) = access {
                        self.walk(index, given);
                    }
                }
            }
            ExprKind::Call(_, arguments) => {
                for argument in arguments {
                    self.walk(argument, given);
                }
            }
            _ => {}
        }
    }

    /// An item of a list that the expression makes: what must have an item for it to be there.
    fn item(&mut self, expr: &Expr, given: &Facts) {
        if let Some((list, at)) = items::item_of(expr) {
            self.needed(expr, items::item(list, at), given);
        }
    }

    /// Nothing is divided by the size of an empty list.
    fn divisor(&mut self, operator: Arith, operand: &Expr, given: &Facts) {
        if let (Arith::Divide | Arith::Remainder, Some(list)) = (operator, sized(operand)) {
            self.needed(operand, items::item(list, 0), given);
        }
    }

    /// What must be there for `expr` to have a value.
    fn needed(&mut self, expr: &Expr, needed: Option<Place>, given: &Facts) {
        // Why not of a variable: what it stands for is looked at where its own list is.
        let Some((root, path)) =
            needed.filter(|(root, path)| !is_variable(root) && !path.contains(&Segment::Any))
        else {
            return;
        };
        let (present, not_null) = given.proven(&root, &path);
        self.reads.push(Read {
            succeeded: given.has_succeeded(&root),
            reference: Reference {
                root,
                path,
                tested: false,
                span: expr.span,
            },
            present,
            not_null,
            never_null: true,
            taker: None,
            variable: None,
        });
    }

    fn read(&mut self, expr: &Expr, reference: Reference, taker: Option<Taker>, given: &Facts) {
        let (mut present, mut not_null) = given.proven(&reference.root, &reference.path);
        let mut never_null = given.excludes_null(&reference.root, &reference.path);
        let mut variable = None;
        // Why: what is proven of the variable is proven of the item it stands for.
        if let Some((own, path)) = local(expr)
            && let id = own.id
            && let Some((_, depth)) = self.variables.iter().find(|(known, _)| *known == id)
        {
            variable = Some((own.name.clone(), *depth));
            never_null |= given.excludes_null(&variable_root(id), &path);
            let (here, here_not_null) = given.proven(&variable_root(id), &path);
            present = present.max(depth + here);
            if here_not_null > 0 {
                not_null = not_null.max(depth + here_not_null);
            }
            if given.excludes_null(&variable_root(id), &[]) {
                not_null = not_null.max(*depth);
            }
        }
        let length = reference.path.len();
        self.reads.push(Read {
            succeeded: given.has_succeeded(&reference.root),
            reference,
            present: present.min(length),
            not_null: not_null.min(length),
            never_null,
            taker,
            variable,
        });
    }
}

/// The list of which an expression is the size, as a number of either kind.
fn sized(expr: &Expr) -> Option<&Expr> {
    match &expr.kind {
        ExprKind::Call(Function::Size, arguments) => arguments.first(),
        ExprKind::Call(Function::Double | Function::Int, arguments) => sized(arguments.first()?),
        _ => None,
    }
}

/// A comparison that does not take null; `==`, `!=` and `in` do.
fn of_compare(operator: Compare) -> Option<Taker> {
    match operator {
        Compare::Less | Compare::LessEqual | Compare::Greater | Compare::GreaterEqual => {
            Some(Taker::Named(operator.symbol()))
        }
        Compare::Equal | Compare::NotEqual | Compare::In => None,
    }
}

/// A function that does not take null.
fn of_call(function: Function) -> Option<Taker> {
    let takes_null = matches!(function, Function::Json | Function::Type | Function::Dyn);
    (!takes_null).then_some(Taker::Named(function.name()))
}

/// The path of `expr` from the variable it begins with.
fn local(expr: &Expr) -> Option<(&Variable, Vec<Segment>)> {
    let path = match &expr.kind {
        ExprKind::Has(path) => path,
        _ => expr,
    };
    let (base, accesses): (&Expr, &[Access]) = match &path.kind {
        ExprKind::Path(base, accesses) => (base, accesses),
        _ => (path, &[]),
    };
    let ExprKind::Var(variable) = &base.kind else {
        return None;
    };
    let path = accesses.iter().map(refs::segment).collect();
    Some((variable, path))
}

/// The path that a fact about `expr` is about; variables begin paths of their own.
pub(in crate::expr) fn place(expr: &Expr) -> Option<Place> {
    match local(expr) {
        Some((variable, path)) => Some((variable_root(variable.id), path)),
        None => match &expr.kind {
            // Why: a filtered list is not the list; what holds of one need not of the other.
            ExprKind::Walk(_) => None,
            ExprKind::Has(path) => refs::resolve(path, &BoundName::new()),
            _ => refs::resolve(expr, &BoundName::new()),
        },
    }
}
