//! Guards: what a condition proves, and what is read without proof.
//!
//! Owns the facts that hold when an expression is true, and the reads of an expression with how
//! much of each is proven where it stands. Knows no schema: whether an unproven path can be absent
//! is the check's question. INVARIANT: a fact holds whenever the expression came to that value, so
//! a read that is proven never fails for want of its path.

use std::collections::BTreeSet;

use super::facts::{Facts, facts_of, filtered, rename, variable_root};
use super::refs::{self, BoundName, Place};
use crate::expr::tree::{Access, Arith, Compare, Expr, ExprKind, Walk, WalkKind};
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
    /// What takes the value and does not take null, in words.
    taker: Option<&'static str>,
}

impl Read {
    /// What takes the value and does not take null, in words.
    #[must_use]
    pub fn taken_by(&self) -> Option<&'static str> {
        self.taker
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

    fn reads_for(&self, taker: Option<&'static str>, given: &BTreeSet<Fact>) -> Vec<Read> {
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
            .filter(|read| !read.is_present(read.needs()))
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
            .flat_map(|expression| expression.reads_for(Some("`for_each`"), given))
            .collect()
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
            .flat_map(|expression| expression.reads_for(Some("a text"), given))
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
    fn taken(&mut self, expr: &Expr, taker: Option<&'static str>, given: &Facts) {
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
                let taker = |at: usize| rest.get(at).map(|(operator, _)| of_arith(*operator));
                self.taken(first, taker(0), given);
                for (at, (_, operand)) in rest.iter().enumerate() {
                    self.taken(operand, taker(at), given);
                }
            }
            ExprKind::Negate(operand) => self.taken(operand, Some("`-`"), given),
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
        let mut inner = given.clone();
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

    fn read(
        &mut self,
        expr: &Expr,
        reference: Reference,
        taker: Option<&'static str>,
        given: &Facts,
    ) {
        let (mut present, mut not_null) = given.proven(&reference.root, &reference.path);
        let mut never_null = given.excludes_null(&reference.root, &reference.path);
        // Why: what is proven of the variable is proven of the item it stands for.
        if let Some((id, path)) = local(expr)
            && let Some((_, depth)) = self.variables.iter().find(|(known, _)| *known == id)
        {
            never_null |= given.excludes_null(&variable_root(id), &path);
            let (here, here_not_null) = given.proven(&variable_root(id), &path);
            present = present.max(depth + here);
            if here_not_null > 0 {
                not_null = not_null.max(depth + here_not_null);
            }
        }
        let length = reference.path.len();
        self.reads.push(Read {
            reference,
            present: present.min(length),
            not_null: not_null.min(length),
            never_null,
            taker,
        });
    }
}

/// A comparison that does not take null; `==`, `!=` and `in` do.
fn of_compare(operator: Compare) -> Option<&'static str> {
    match operator {
        Compare::Less => Some("`<`"),
        Compare::LessEqual => Some("`<=`"),
        Compare::Greater => Some("`>`"),
        Compare::GreaterEqual => Some("`>=`"),
        Compare::Equal | Compare::NotEqual | Compare::In => None,
    }
}

fn of_arith(operator: Arith) -> &'static str {
    match operator {
        Arith::Add => "`+`",
        Arith::Subtract => "`-`",
        Arith::Multiply => "`*`",
        Arith::Divide => "`/`",
        Arith::Remainder => "`%`",
    }
}

/// The path of `expr` from the variable it begins with.
fn local(expr: &Expr) -> Option<(u32, Vec<Segment>)> {
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
    Some((variable.id, path))
}

/// The path that a fact about `expr` is about; variables begin paths of their own.
pub(in crate::expr) fn place(expr: &Expr) -> Option<Place> {
    match local(expr) {
        Some((id, path)) => Some((variable_root(id), path)),
        None => match &expr.kind {
            // Why: a filtered list is not the list; what holds of one need not of the other.
            ExprKind::Walk(_) => None,
            ExprKind::Has(path) => refs::resolve(path, &BoundName::new()),
            _ => refs::resolve(expr, &BoundName::new()),
        },
    }
}
