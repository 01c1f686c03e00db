//! Part of the pass `types`: a branch of `? :` that never fits where the whole may.
//!
//! Owns the question of single branches; that of the whole is [`super`]'s. INVARIANT: what is found
//! is a place, none of whose values fits the argument that it is given to.

use super::{Types, guards, type_where};
use crate::check::Pass;
use crate::check::scope::Site;
use crate::expr::tree::{Expr, ExprKind};
use crate::expr::{Segment, Template};
use crate::schema::{Fit, Type};
use crate::source::Span;

impl Types {
    /// A branch of `? :` none of whose values fits. Why a constant only beside others: else it may
    /// stand for what a guard excludes, and is there so that the expression has a value.
    pub(super) fn branch(
        &mut self,
        pass: &Pass<'_>,
        site: &Site<'_>,
        template: &Template,
        wanted: &Type,
    ) -> Option<(Span, String)> {
        let whole = template.whole()?.ast();
        if !matches!(whole.kind, ExprKind::Choice(..)) {
            return None;
        }
        let names = |root: &_, path: &[Segment]| pass.place(site, root, path);
        let sure = guards::never_null(pass, template, &self.given);
        let all = branches(whole);
        let only_constants = all.iter().all(|branch| branch.is_literal());
        all.into_iter().find_map(|branch| {
            let is_asked = match branch.is_literal() {
                true => only_constants,
                false => matches!(branch.kind, ExprKind::Path(..)),
            };
            if !is_asked {
                return None;
            }
            let mut found = Vec::new();
            let typed = type_where(branch, &names, &sure, &mut found);
            if typed.is_reported() || !found.is_empty() {
                return None;
            }
            match self.fit(&typed.to_type(), wanted) {
                Fit::Never { reason } => Some((branch.span, reason)),
                Fit::Proven | Fit::RunTime { .. } => None,
            }
        })
    }
}

/// The values of a choice, and of the choices in it.
fn branches(expr: &Expr) -> Vec<&Expr> {
    match &expr.kind {
        ExprKind::Choice(_, yes, no) => [branches(yes), branches(no)].concat(),
        _ => vec![expr],
    }
}
