//! Reads of what may be absent, found by trying every world.
//!
//! Owns R106. A world says of each step how it ended, of each optional field whether it is there,
//! of each value that may be null or empty whether it is, and of each condition on data whether it
//! holds. INVARIANT: a world counts only if each step in it ended as its own guard says.

use std::collections::{BTreeMap, BTreeSet};

use provost_plan::expr::Template;
use provost_plan::expr::tree::Expr;
use provost_plan::plan::{Claim, Field};
use provost_plan::source::Span;

use super::evaluate::{Evaluator, Following, Stop};
use super::{Answers, Setting, Spot, refs};

/// Most worlds tried for one place; one that has more is given up, and counted.
pub const WORLDS_MAX: usize = 60_000;

/// What stands for R106 where a constant condition decides as it is written: a check that does not
/// fold constants may find more, but never less.
pub const SURELY: &str = "R106 surely";

/// Finds the reads that are absent in some world.
pub fn judge(setting: &Setting<'_>, answers: &mut Answers) {
    for spot in setting.spots() {
        let mut live = BTreeSet::new();
        for (code, following) in [("R106", Following::Loose), (SURELY, Following::Exact)] {
            let mut seen = BTreeSet::new();
            let found = is_absent_somewhere(setting, &spot, following, &mut seen);
            if following == Following::Exact {
                live = seen;
            }
            match found {
                Some(true) => answers.find(code, spot.place.clone()),
                Some(false) => {}
                None => answers.find("given up", spot.place.clone()),
            }
        }
        for expression in spot.template.expressions() {
            dead(expression.ast(), &live, &mut answers.dead);
        }
    }
}

/// Whether a read of a place is sure only to who follows guards further than a plain check does.
#[must_use]
pub fn is_sure_by_more(setting: &Setting<'_>, place: &str) -> bool {
    let spots = setting.spots();
    let mut spots = spots.iter().filter(|spot| spot.place == place);
    spots.any(|spot| {
        let mut live = BTreeSet::new();
        is_absent_somewhere(setting, spot, Following::Plainly, &mut live) == Some(true)
    })
}

/// The parts that are evaluated in no world: whether a read there is guarded has no meaning.
fn dead(expr: &Expr, live: &BTreeSet<Span>, into: &mut BTreeSet<Span>) {
    if !live.contains(&expr.span) {
        into.insert(expr.span);
    }
    for child in expr.children() {
        dead(child, live, into);
    }
}

/// Whether a read of this place is absent in some world; none if there are too many.
fn is_absent_somewhere(
    setting: &Setting<'_>,
    spot: &Spot<'_>,
    following: Following,
    live: &mut BTreeSet<Span>,
) -> Option<bool> {
    let mut open: Vec<BTreeMap<String, usize>> = vec![BTreeMap::new()];
    let mut tried = 0_usize;
    while let Some(chosen) = open.pop() {
        tried += 1;
        if tried > WORLDS_MAX {
            return None;
        }
        let mut evaluator = Evaluator::new(setting, spot.step, chosen, following);
        evaluator.under(&conditions(setting, spot), &proofs(setting, spot));
        let looked = look(&mut evaluator, setting, spot);
        live.extend(evaluator.live());
        match looked {
            Ok(()) if evaluator.was_absent() => return Some(true),
            Ok(()) | Err(Stop::Impossible) => {}
            Err(Stop::Open(key, options)) => {
                for option in 0..options {
                    let mut next = evaluator.chosen().clone();
                    next.insert(key.clone(), option);
                    open.push(next);
                }
            }
        }
    }
    Some(false)
}

/// Evaluates a place in a world, if it is come to there at all.
fn look(evaluator: &mut Evaluator<'_>, setting: &Setting<'_>, spot: &Spot<'_>) -> Result<(), Stop> {
    if comes_to(evaluator, setting, spot)? {
        evaluator.watch();
        for expression in spot.template.expressions() {
            evaluator.eval(expression.ast())?;
        }
    }
    Ok(())
}

/// The conditions that hold wherever a place is come to, as they were when the steps before it
/// were asked theirs.
fn conditions<'a>(setting: &Setting<'a>, spot: &Spot<'_>) -> Vec<&'a Template> {
    let step = spot.step.and_then(|number| setting.plan.steps.get(number));
    let when = match step {
        Some(step) if spot.field == Some(Field::When) || step.fresh.is_some() => None,
        Some(step) => step.when.as_ref(),
        None => claim(setting, spot).and_then(|claim| claim.when.as_ref()),
    };
    when.into_iter().collect()
}

/// The proofs that hold wherever a place is come to: only a run of which all do gives its answer.
fn proofs<'a>(setting: &Setting<'a>, spot: &Spot<'_>) -> Vec<&'a Template> {
    let proofs = setting.plan.success.iter().map(|proof| &proof.check);
    let proofs = proofs.filter(|_| spot.place.starts_with("answer"));
    proofs.collect()
}

/// The part of the answer whose text a place is.
fn claim<'a>(setting: &Setting<'a>, spot: &Spot<'_>) -> Option<&'a Claim> {
    let mut claims = setting.plan.answer.iter();
    claims.find(|claim| std::ptr::eq(&claim.text, spot.template))
}

fn comes_to(
    evaluator: &mut Evaluator<'_>,
    setting: &Setting<'_>,
    spot: &Spot<'_>,
) -> Result<bool, Stop> {
    let Some(step) = spot.step.and_then(|number| setting.plan.steps.get(number)) else {
        for proof in proofs(setting, spot) {
            if !evaluator.proof(proof)? {
                return Ok(false);
            }
        }
        // A claim's text is made only where its guard holds.
        return match claim(setting, spot).and_then(|claim| claim.when.as_ref()) {
            Some(when) => evaluator.guard(when),
            None => Ok(true),
        };
    };
    // What is asserted was looked at before any other field; `fresh` reads again after that.
    let number = spot.step.filter(|_| step.fresh.is_none());
    let asserted = number.map(|number| refs::surely_asserted(setting, number));
    for condition in asserted.into_iter().flatten() {
        if !evaluator.guard(condition)? {
            return Ok(false);
        }
    }
    if spot.field == Some(Field::When) {
        return Ok(true);
    }
    if let Some(when) = &step.when
        && !evaluator.guard(when)?
    {
        return Ok(false);
    }
    match (&step.for_each, spot.field) {
        (None, _) | (_, Some(Field::ForEach)) => Ok(true),
        (Some(each), _) => evaluator.begin_each(&each.list),
    }
}
