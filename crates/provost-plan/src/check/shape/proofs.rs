//! Part of the pass `shape`: conditions that nothing meets, and conditions that everything meets.
//!
//! Owns S708, S712 and S715. What excludes what is [`super::solve`]'s. INVARIANT: S708 and S715 are
//! proofs; a guard that is only cautious (of a status, of null) is let pass.

use serde_json::{Value, json};

use super::accepted::{AcceptedOutputs, accepted, asserted};
use super::solve::{Assume, ImpossibleCase, Solver};
use super::status::Statuses;
use crate::check::Pass;
use crate::check::graph::step_of;
use crate::check::scope::Site;
use crate::codes::Code;
use crate::diagnostic::Diagnostic;
use crate::expr::cases::{Case, Demand, both, cases, compared, subject};
use crate::expr::tree::{Arith, Compare, Expr, ExprKind};
use crate::expr::{ArgTree, Root, Segment, StepStatus, Template};
use crate::plan::{Step, StepKind};
use crate::schema::{PathType, Type};
use crate::source::Span;

pub(super) fn run(pass: &Pass<'_>, accepted: &AcceptedOutputs, found: &mut Vec<Diagnostic>) {
    let end = Site::end();
    let held = asserted(accepted, pass.plan.steps.iter());
    let solver = Solver::knowing(pass, &end, Statuses::End, Some(&held));
    let proofs = pass.plan.success.iter();
    let reading = proofs.filter(|p| p.check.references().any(|r| step_of(r).is_some()));
    let mut together = Together::new(&solver, "the proof can never hold");
    for proof in reading {
        together.add(&proof.check, found, |finding| finding);
        let what = format!("the proof of `{}`", proof.criterion.value);
        found.extend(hollow(&solver, &proof.check, &what));
    }
    for step in &pass.plan.steps {
        let id = &step.id.value;
        let confirm = step.confirm.iter().flat_map(|confirm| &confirm.accept);
        let mut accepts = step.conditions().chain(confirm).peekable();
        if accepts.peek().is_some() {
            // Why one scope: an `accept` with `read` in it is refused where names are looked up.
            let site = Site::confirmed(pass, step);
            let solver = Solver::knowing(pass, &site, Statuses::Before, Some(accepted));
            hollow_acceptance(&solver, step, found);
            let what = "nothing the tool can give is accepted";
            let mut together = Together::new(&solver, what);
            for accept in accepts {
                together.add(accept, found, |finding| finding.step(id));
            }
        }
        if let Some(asserted) = step.assertion() {
            let site = Site::before(step);
            let solver = guarding(pass, accepted, &site);
            let finding = assertion(&solver, id, &asserted.condition);
            found.extend(finding.map(|finding| finding.step(id)));
        }
        let held = asserted(accepted, pass.order.assertions(id));
        if let Some(when) = &step.when
            && let Some(finding) = guard(&guarding(pass, &held, &Site::before(step)), when)
        {
            found.push(finding.step(id));
        }
        found.extend(unfit(pass, accepted, step));
    }
    for condition in &pass.open.conditions {
        let asked = Solver {
            statuses: Statuses::End,
            ..guarding(pass, accepted, &end)
        };
        let finding = guard(&asked, condition);
        found.extend(finding.map(|finding| Diagnostic {
            label: None,
            ..finding
        }));
    }
}

/// T205 of a guard: the step runs only where one of its arguments has a value that does not fit.
fn unfit(pass: &Pass<'_>, accepted: &AcceptedOutputs, step: &Step) -> Option<Diagnostic> {
    let (when, StepKind::Tool { args, .. }) = (step.when.as_ref()?, &step.kind) else {
        return None;
    };
    let operation = pass.operation(step)?;
    let guarded = when.whole()?.cases(true)?;
    let site = Site::before(step);
    let solver = guarding(pass, accepted, &site);
    if solver.never(&guarded).is_some() {
        return None;
    }
    let id = &step.id.value;
    args.entries().iter().find_map(|(name, given)| {
        let ArgTree::Template(template) = given else {
            return None;
        };
        let field = [Segment::Field(name.as_str().to_owned())];
        let PathType::Known { ty, .. } = operation.input.ty().at(&field) else {
            return None;
        };
        let fits = fitting(template.whole()?.ast(), &ty)?;
        solver.never(&both(&guarded, &fits)?)?;
        let message = format!(
            "`{id}` runs only where its `{}` is none that the tool takes",
            name.as_str()
        );
        Some(
            Diagnostic::new(Code::NoOverlap, template.span(), message)
                .related(when.span(), "lets only other values through")
                .hint("ask in `when` for the values that the tool takes")
                .step(id),
        )
    })
}

/// The cases in which a value fits a type: it is one of those listed, or a difference of two that
/// is not below zero where the type has no such number.
fn fitting(given: &Expr, ty: &Type) -> Option<Vec<Case>> {
    if let ExprKind::Chain(from, rest) = &given.kind
        && let [(Arith::Subtract, less)] = rest.as_slice()
    {
        let takes = |schema: Value| ty.never_fits(&Type::of_json(&schema)).is_none();
        let order = match () {
            () if takes(json!({ "type": "number", "exclusiveMaximum": 0 })) => return None,
            () if takes(json!({ "const": 0 })) => Compare::GreaterEqual,
            () => Compare::Greater,
        };
        return compared(order, from, less, true);
    }
    let values = Some(ty.values()).filter(|values| !values.is_empty())?;
    Some(vec![vec![(subject(given)?, Demand::Among(values, true))]])
}

/// Most conditions that are taken together.
const TOGETHER_MAX: usize = 32;

/// Conditions that all have to hold.
struct Together<'s> {
    solver: &'s Solver<'s, 's>,
    what: &'static str,
    /// Those in which all before hold.
    cases: Vec<Case>,
    before: Vec<Span>,
}

impl<'s> Together<'s> {
    fn new(solver: &'s Solver<'s, 's>, what: &'static str) -> Self {
        Self {
            solver,
            what,
            cases: Vec::new(),
            before: Vec::new(),
        }
    }

    fn add(
        &mut self,
        template: &Template,
        found: &mut Vec<Diagnostic>,
        finish: impl FnOnce(Diagnostic) -> Diagnostic,
    ) {
        let Some(own) = template.whole().and_then(|whole| whole.cases(true)) else {
            return;
        };
        let span = template.span();
        if let Some(never) = self.solver.never(&own) {
            found.push(finish(self.held_back(self.finding(span, &never), &own)));
            return;
        }
        // Why: beside none before, they are its own, of which that was just asked.
        if self.before.is_empty() {
            self.cases = own;
            self.before.push(span);
            return;
        }
        let few = self.before.len() < TOGETHER_MAX;
        let joined = few.then(|| both(&self.cases, &own)).flatten();
        if let Some(joined) = joined {
            if let Some(never) = self.solver.never(&joined) {
                let mut finding = self.held_back(self.finding(span, &never), &joined);
                for before in &self.before {
                    finding = finding.related(*before, "this has to hold as well");
                }
                found.push(finish(finding));
                return;
            }
            self.cases = joined;
            self.before.push(span);
        }
    }

    /// A finding that says so where it is what was accepted before that lets none of this be.
    fn held_back(&self, finding: Diagnostic, asked: &[Case]) -> Diagnostic {
        let solver = Solver {
            accepted: None,
            ..*self.solver
        };
        if solver.never(asked).is_some() {
            return finding;
        }
        finding.hint(
            "an `accept`, an `until` or an assertion lets only runs pass in which it does not hold",
        )
    }

    fn finding(&self, span: Span, never: &ImpossibleCase) -> Diagnostic {
        let message = format!("{}: {}", self.what, never.reason);
        let finding =
            Diagnostic::new(Code::ImpossibleProof, span, message).label("this is never true");
        match &never.slip {
            Some(word) => finding.did_you_mean(word, StepStatus::words()),
            None => finding,
        }
    }
}

/// What is known where a guard is asked.
pub(super) fn guarding<'s, 'a>(
    pass: &'s Pass<'a>,
    accepted: &'s AcceptedOutputs,
    site: &'s Site<'a>,
) -> Solver<'s, 'a> {
    Solver {
        pass,
        site,
        statuses: Statuses::Before,
        trust: Assume::NoParams,
        accepted: Some(accepted),
    }
}

/// Whether a condition of whoever revises the plan never holds.
pub(super) fn never_holds(pass: &Pass<'_>, condition: &Template) -> bool {
    let (accepted, end) = (accepted(pass), Site::end());
    let solver = Solver {
        statuses: Statuses::End,
        ..guarding(pass, &accepted, &end)
    };
    let cases = condition.whole().and_then(|whole| whole.cases(true));
    cases.is_some_and(|cases| solver.never(&cases).is_some())
}

/// A guard that decides nothing.
fn guard(careless: &Solver<'_, '_>, when: &Template) -> Option<Diagnostic> {
    let whole = when.whole()?;
    let finding = |message: String| Diagnostic::new(Code::ConstantGuard, when.span(), message);
    if !reads_something(when) {
        let message = "`when` reads no step, item or parameter, so it is always the same";
        return Some(
            finding(message.to_owned()).hint("leave it out, or read what a step observed"),
        );
    }
    let never = whole.cases(true).and_then(|cases| careless.never(&cases));
    if let Some(never) = never {
        let message = format!("`when` is never true: {}", never.reason);
        return Some(finding(message).label("the step never runs"));
    }
    // Why not what was accepted: whoever asks for it once more is only careful.
    let careful = Solver {
        trust: Assume::NoCaution,
        accepted: None,
        ..*careless
    };
    let always = |cases: Option<Vec<Case>>| careful.never(&cases?);
    if always(whole.cases(false)).is_some() {
        return Some(
            finding("`when` is always true".to_owned())
                .label("the step always runs")
                .hint("leave it out, or ask for what you mean"),
        );
    }
    let mut parts = whole.conjuncts().iter();
    let vacuous = parts.find(|part| always(cases(part, false)).is_some())?;
    let message = "a part of `when` is always true";
    Some(
        Diagnostic::new(Code::ConstantGuard, vacuous.span, message)
            .label("this decides nothing")
            .hint("leave it out, or ask for what you mean"),
    )
}

/// Whether a condition may be true in one run and false in another: a day of the week, say, decides
/// something; the id of a run does not.
fn reads_something(condition: &Template) -> bool {
    condition
        .references()
        .any(|reference| match reference.root {
            Root::Run => reference.path != [Segment::Field("id".to_owned())],
            _ => true,
        })
}

/// An assertion that never holds, or holds whatever was read.
fn assertion(careless: &Solver<'_, '_>, id: &str, asserted: &Template) -> Option<Diagnostic> {
    let whole = asserted.whole()?;
    if !reads_something(asserted) {
        let message = format!("`{id}` asserts what reads no step and no parameter");
        return Some(
            Diagnostic::new(Code::HollowCondition, asserted.span(), message)
                .label("always the same, whatever happens")
                .hint("read what a step observed: `steps.ID.output`"),
        );
    }
    let never = whole.cases(true).and_then(|cases| careless.never(&cases));
    if let Some(never) = never {
        let message = format!("what `{id}` asserts can never hold: {}", never.reason);
        let finding = Diagnostic::new(Code::ImpossibleProof, asserted.span(), message);
        let finding = finding.label("this is never true");
        return Some(match &never.slip {
            Some(word) => finding.did_you_mean(word, StepStatus::words()),
            None => finding,
        });
    }
    hollow(careless, asserted, &format!("what `{id}` asserts"))
}

/// The conditions of `until`, `accept` and `confirm` that hold whatever comes.
fn hollow_acceptance(solver: &Solver<'_, '_>, step: &Step, found: &mut Vec<Diagnostic>) {
    let id = &step.id.value;
    let confirm = step.confirm.iter().flat_map(|confirm| &confirm.accept);
    let until = step.until.iter().map(|until| ("until", &until.condition));
    let own = until.chain(step.accept.iter().map(|accept| ("accept", accept)));
    for (field, accept) in own.chain(confirm.map(|accept| ("confirm", accept))) {
        let (about, name) = match field {
            "confirm" => (Root::Read, "read"),
            _ => (Root::Output, "output"),
        };
        let what = format!("the `{field}` of `{id}`");
        let looks = accept.references().any(|read| read.root == about);
        let finding = if accept.whole().is_none() {
            None
        } else if looks {
            hollow(solver, accept, &what)
        } else {
            let message = format!("{what} does not look at `{name}`");
            Some(
                Diagnostic::new(Code::HollowCondition, accept.span(), message)
                    .label("holds or not whatever the call did")
                    .hint(format!(
                        "ask for something of `{name}` that a failure has not"
                    )),
            )
        };
        found.extend(finding.map(|finding| finding.step(id)));
    }
}

/// A condition that holds whatever is read.
fn hollow(solver: &Solver<'_, '_>, template: &Template, what: &str) -> Option<Diagnostic> {
    // Why not what was accepted: a proof may well be what was accepted before. Why no parameter:
    // for another goal the same condition may ask for something.
    let reads_param = template.references().any(|read| read.root == Root::Params);
    let solver = Solver {
        accepted: None,
        trust: match reads_param {
            true => Assume::NoParams,
            false => solver.trust,
        },
        ..*solver
    };
    let whole = template.whole()?;
    let otherwise = whole.cases(false)?;
    solver.never(&otherwise)?;
    let message = format!("{what} is true whatever is read");
    Some(
        Diagnostic::new(Code::HollowCondition, template.span(), message)
            .label("this is never false, so it proves nothing")
            .hint("ask for what is so only if it worked: a state, an id, a number"),
    )
}
