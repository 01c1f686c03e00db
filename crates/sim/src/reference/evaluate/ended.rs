//! How steps ended in a world, and which of them ran wherever a place is come to.
//!
//! Owns the rule of equal conditions: a place under each term of the `when` of a step is come to
//! only where that step was not skipped. INVARIANT: a world in which a step ended otherwise than
//! its own guard says is none.

use std::collections::BTreeSet;

use provost_plan::expr::tree::{Access, Compare, Expr, ExprKind};
use provost_plan::expr::{Root, Template};
use provost_plan::plan::Step;

use super::{ENDS, Evaluator, Following, Setting, Stop};
use crate::reference::refs;

impl Evaluator<'_> {
    /// The conditions that a place stands under, and the proofs that hold there: of these only what
    /// they say of how steps ended.
    pub fn under(&mut self, conditions: &[&Template], proofs: &[&Template]) {
        self.ran = ran_under(self.setting, conditions, proofs);
    }

    /// How a step ended. A person may leave any step out, so only a step that succeeded says that
    /// its guard held, and what it asserts.
    pub(super) fn status(&mut self, step: &Step) -> Result<&'static str, Stop> {
        let key = format!("status {}", step.id.value);
        let option = self.choose(key.clone(), ENDS.len())?;
        let end = ENDS.get(option).copied().unwrap_or("succeeded");
        let asserted = step.assertion().map(|asserted| &asserted.condition);
        // What held it back, which nothing passes by; `fresh` reads again after that.
        let setting = self.setting;
        let known = setting.step(&step.id.value);
        let known = known.filter(|_| step.fresh.is_none());
        let before = known.map(|(number, _)| refs::surely_asserted(setting, number));
        let own = step.when.iter().chain(asserted);
        let conditions: Vec<&Template> = own.chain(before.into_iter().flatten()).collect();
        if !conditions.is_empty()
            && end == "succeeded"
            && !(self.watching && self.following == Following::Plainly)
            && self.settled.insert(key)
        {
            // What stands in another step is not what is looked at here.
            let watching = std::mem::replace(&mut self.watching, false);
            let proving = std::mem::replace(&mut self.proving, false);
            let guards = conditions.iter().map(|condition| self.guard(condition));
            let guards: Result<Vec<bool>, Stop> = guards.collect();
            self.watching = watching;
            self.proving = proving;
            if guards?.contains(&false) {
                return Err(Stop::Impossible);
            }
        }
        Ok(end)
    }

    /// Whether there is an output: only a guard of its own or `continue` makes it absent.
    pub(super) fn has_output(&mut self, step: &Step) -> Result<bool, Stop> {
        let is_skipped = step.when.is_some() && !self.ran.contains(&step.id.value);
        let may_be_absent = is_skipped || step.on_failure.may_go_on();
        let has = !may_be_absent || self.status(step)? == "succeeded";
        let can_be = !has || self.was_accepted(step)?;
        can_be.then_some(has).ok_or(Stop::Impossible)
    }
}

/// The steps that ran wherever all these conditions hold, and the proofs: of these only that a step
/// succeeded, which then its own condition let run.
fn ran_under(
    setting: &Setting<'_>,
    conditions: &[&Template],
    proofs: &[&Template],
) -> BTreeSet<String> {
    let guarded = || {
        let steps = setting.plan.steps.iter();
        steps.filter_map(|step| Some((step, step.when.as_ref()?)))
    };
    let mut held: BTreeSet<String> = conditions.iter().flat_map(|when| terms(when)).collect();
    let mut succeeded = BTreeSet::new();
    for condition in conditions.iter().chain(proofs) {
        succeeded_if(condition, &mut succeeded);
    }
    let mut ran = BTreeSet::new();
    loop {
        let before = (held.len(), succeeded.len(), ran.len());
        for (step, when) in guarded() {
            let id = &step.id.value;
            if succeeded.contains(id) {
                held.extend(terms(when));
                succeeded_if(when, &mut succeeded);
            }
            if !step.on_failure.may_go_on() && terms(when).is_subset(&held) {
                ran.insert(id.clone());
            }
        }
        if before == (held.len(), succeeded.len(), ran.len()) {
            return ran;
        }
    }
}

fn terms(when: &Template) -> BTreeSet<String> {
    let mut into = BTreeSet::new();
    if let Some(whole) = when.whole() {
        terms_of(whole.ast(), &mut into);
    }
    into
}

/// A choice that is false where its test is not asks for both, as `&&` does.
fn terms_of(expr: &Expr, into: &mut BTreeSet<String>) {
    match &expr.kind {
        ExprKind::And(terms) => terms.iter().for_each(|term| terms_of(term, into)),
        ExprKind::Choice(test, yes, no) if matches!(no.kind, ExprKind::Bool(false)) => {
            terms_of(test, into);
            terms_of(yes, into);
        }
        _ => {
            into.insert(expr.form());
        }
    }
}

/// The steps of which a condition says that they succeeded.
fn succeeded_if(condition: &Template, into: &mut BTreeSet<String>) {
    if let Some(whole) = condition.whole() {
        succeeded_where(whole.ast(), true, into);
    }
}

/// The steps that succeeded wherever this comes to `truth`.
fn succeeded_where(expr: &Expr, truth: bool, into: &mut BTreeSet<String>) {
    match &expr.kind {
        ExprKind::Not(inner) => succeeded_where(inner, !truth, into),
        ExprKind::And(terms) if truth => {
            terms.iter().for_each(|t| succeeded_where(t, true, into));
        }
        ExprKind::Or(terms) if !truth => {
            terms.iter().for_each(|t| succeeded_where(t, false, into));
        }
        ExprKind::Choice(test, yes, no) if truth && matches!(no.kind, ExprKind::Bool(false)) => {
            succeeded_where(test, true, into);
            succeeded_where(yes, true, into);
        }
        ExprKind::Compare(operator, left, right) => {
            let says = match operator {
                Compare::Equal => truth,
                Compare::NotEqual => !truth,
                _ => false,
            };
            let ids = [(left, right), (right, left)].into_iter();
            let ids = ids.filter(|(_, word)| says && is_word(word));
            into.extend(ids.filter_map(|(of, _)| status_of(of)));
            if let (Compare::In, true, ExprKind::List(words)) = (operator, truth, &right.kind)
                && words.iter().all(is_word)
            {
                into.extend(status_of(left));
            }
        }
        _ => {}
    }
}

fn is_word(expr: &Expr) -> bool {
    matches!(&expr.kind, ExprKind::Text(word) if word == "succeeded")
}

/// The step whose status this is.
fn status_of(expr: &Expr) -> Option<String> {
    let ExprKind::Path(base, accesses) = &expr.kind else {
        return None;
    };
    match (&base.kind, accesses.as_slice()) {
        (ExprKind::Root(Root::Step(id)), [Access::Field(field)]) if field == "status" => {
            Some(id.clone())
        }
        _ => None,
    }
}
