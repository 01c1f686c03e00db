//! Part of the pass `shape`: a `for_each` that what is known before it keeps from working.
//!
//! Owns S725. What is known is what the guard of the step asks and what assertions before it say;
//! what excludes what is [`super::solve`]'s. INVARIANT: in each run in which the step starts, as
//! far as nothing is read again, its list is empty, longer than `max_items`, or no shorter than a
//! list of which it reads one item each.

use super::accepted::{AcceptedOutputs, asserted, holding};
use super::counted::as_long;
use super::proofs::guarding;
use super::solve::Solver;
use crate::check::Pass;
use crate::check::scope::Site;
use crate::codes::Code;
use crate::diagnostic::Diagnostic;
use crate::expr::cases::{Case, both, compared};
use crate::expr::tree::{Access, Compare, Expr, ExprKind, Function, sources};
use crate::expr::{Root, Template};
use crate::plan::{ForEach, Step};

pub(super) fn run(pass: &Pass<'_>, accepted: &AcceptedOutputs, found: &mut Vec<Diagnostic>) {
    for step in &pass.plan.steps {
        if let Some(each) = &step.for_each {
            found.extend(bounded(pass, accepted, step, each));
        }
    }
}

fn bounded(
    pass: &Pass<'_>,
    accepted: &AcceptedOutputs,
    step: &Step,
    each: &ForEach,
) -> Option<Diagnostic> {
    let id = &step.id.value;
    let list = each.list.whole()?.ast();
    let held = asserted(accepted, pass.order.assertions(id));
    let site = Site::before(step);
    let known = Known {
        solver: guarding(pass, &held, &site),
        cases: known(pass, step),
    };
    if known.solver.never(&known.cases).is_some() {
        return None;
    }
    let finding =
        |message: String| Diagnostic::new(Code::VainLoop, each.list.span(), message).step(id);
    let mut longer = sources(as_long(list)).into_iter().map(as_long);
    if longer.any(|list| known.never(Compare::Greater, list, &number(0))) {
        let message = format!("`{id}` goes over a list that is empty wherever `{id}` runs");
        return Some(
            finding(message).hint("go over the list that is meant, or ask for the opposite"),
        );
    }
    let most = i64::try_from(each.max_items.value).ok()?;
    if known.never(Compare::LessEqual, as_long(list), &number(most)) {
        let message = format!("`{id}` goes over more than {most} items wherever it runs");
        return Some(finding(message).hint("ask for no more items than `max_items`"));
    }
    let beside = step.templates().into_iter().flat_map(|(_, of)| beside(of));
    let mut beside = beside.into_iter().map(size);
    beside.find(|other| {
        let never = |operator| known.never(operator, as_long(list), other);
        // Why also where both may be as long: who asks for no more than that asks the wrong way.
        never(Compare::LessEqual) || never(Compare::Less) && !never(Compare::Greater)
    })?;
    let message = format!(
        "`{id}` reads an item of another list for each of its own, and where it runs there are \
         no more of those"
    );
    Some(finding(message).hint("ask for at least as many items in the other list"))
}

/// What is known where a step runs.
struct Known<'s> {
    solver: Solver<'s, 's>,
    cases: Vec<Case>,
}

impl Known<'_> {
    /// Whether the number of items of a list never compares so.
    fn never(&self, operator: Compare, list: &Expr, other: &Expr) -> bool {
        let asked = compared(operator, &size(list.clone()), other, true);
        let by_schema = Solver {
            accepted: None,
            ..self.solver
        };
        // Why not by its schema alone: that is the finding of another pass, or no mistake.
        asked.is_some_and(|asked| {
            let joined = both(&self.cases, &asked);
            by_schema.never(&asked).is_none()
                && joined.is_some_and(|joined| self.solver.never(&joined).is_some())
        })
    }
}

/// What its guard asks, and what assertions say that hold the step back.
fn known(pass: &Pass<'_>, step: &Step) -> Vec<Case> {
    let asserted = holding(pass.order.assertions(&step.id.value));
    let all = step.when.iter().chain(asserted).filter_map(Template::whole);
    let all = all.filter_map(|whole| whole.cases(true));
    // Why: what asks too much at once is left out; less is known then.
    all.fold(vec![Case::new()], |known, more| {
        both(&known, &more).unwrap_or(known)
    })
}

/// The lists of which a template reads the item with the number of the step's own.
fn beside(template: &Template) -> Vec<Expr> {
    let mut open: Vec<&Expr> = template.expressions().map(|whole| whole.ast()).collect();
    let mut found = Vec::new();
    while let Some(expr) = open.pop() {
        open.extend(expr.children());
        let ExprKind::Path(base, accesses) = &expr.kind else {
            continue;
        };
        let is_own = |access: &Access| match access {
            Access::Index(at) => at.kind == ExprKind::Root(Root::Index),
            Access::Field(_) => false,
        };
        if let Some(at) = accesses.iter().position(is_own) {
            let before = accesses.get(..at).unwrap_or_default().to_vec();
            found.push(match before.is_empty() {
                true => (**base).clone(),
                false => part(ExprKind::Path(base.clone(), before), expr),
            });
        }
    }
    found
}

fn size(list: Expr) -> Expr {
    let like = list.clone();
    part(ExprKind::Call(Function::Size, vec![list]), &like)
}

fn number(value: i64) -> Expr {
    Expr {
        kind: ExprKind::Int(value),
        span: crate::source::Span::default(),
    }
}

fn part(kind: ExprKind, like: &Expr) -> Expr {
    Expr {
        kind,
        span: like.span,
    }
}
