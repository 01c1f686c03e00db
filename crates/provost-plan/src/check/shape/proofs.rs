//! Part of the pass `shape`: proofs and acceptances that nothing meets, guards that decide nothing.
//!
//! Owns S708 and S712. What excludes what is [`super::solve`]'s. INVARIANT: S708 is a proof; a
//! guard that is only cautious (of a status, of null) is let pass.

use super::solve::{Assume, ImpossibleCase, Solver};
use super::status::Statuses;
use crate::check::Pass;
use crate::check::graph::step_of;
use crate::check::scope::Site;
use crate::codes::Code;
use crate::diagnostic::Diagnostic;
use crate::expr::cases::{Case, both};
use crate::expr::{Root, Segment, StepStatus, Template};
use crate::source::Span;

pub(super) fn run(pass: &Pass<'_>, found: &mut Vec<Diagnostic>) {
    let end = Site::end();
    let solver = Solver {
        pass,
        site: &end,
        statuses: Statuses::End,
        trust: Assume::Everything,
    };
    let proofs = pass.plan.success.iter();
    let reading = proofs.filter(|p| p.check.references().any(|r| step_of(r).is_some()));
    let mut together = Together::new(&solver, "the proof can never hold");
    for proof in reading {
        together.add(&proof.check, found, |finding| finding);
    }
    for step in &pass.plan.steps {
        let id = &step.id.value;
        let confirm = step.confirm.iter().flat_map(|confirm| &confirm.accept);
        let mut accepts = step.accept.iter().chain(confirm).peekable();
        if accepts.peek().is_some() {
            // Why one scope: an `accept` with `read` in it is refused where names are looked up.
            let site = Site::confirmed(pass, step);
            let solver = Solver {
                pass,
                site: &site,
                statuses: Statuses::Before,
                trust: Assume::Everything,
            };
            let what = "nothing the tool can give is accepted";
            let mut together = Together::new(&solver, what);
            for accept in accepts {
                together.add(accept, found, |finding| finding.step(id));
            }
        }
        if let Some(when) = &step.when
            && let Some(finding) = guard(pass, &Site::before(step), when)
        {
            found.push(finding.step(id));
        }
    }
}

/// Most conditions that are taken together.
const TOGETHER_MAX: usize = 32;

/// Conditions that all have to hold.
struct Together<'s> {
    solver: &'s Solver<'s, 's>,
    what: &'static str,
    cases: Option<Vec<Case>>,
    before: Vec<Span>,
}

impl<'s> Together<'s> {
    fn new(solver: &'s Solver<'s, 's>, what: &'static str) -> Self {
        Self {
            solver,
            what,
            cases: Some(vec![Vec::new()]),
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
            found.push(finish(self.finding(span, &never)));
            return;
        }
        let few = self.before.len() < TOGETHER_MAX;
        let so_far = self.cases.as_ref().filter(|_| few);
        let joined = so_far.and_then(|so_far| both(so_far, &own));
        if let Some(joined) = joined {
            if let Some(never) = self.solver.never(&joined) {
                let mut finding = self.finding(span, &never);
                for before in &self.before {
                    finding = finding.related(*before, "this has to hold as well");
                }
                found.push(finish(finding));
                return;
            }
            self.cases = Some(joined);
            self.before.push(span);
        }
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

/// A guard that decides nothing.
fn guard(pass: &Pass<'_>, site: &Site<'_>, when: &Template) -> Option<Diagnostic> {
    let whole = when.whole()?;
    let finding = |message: String| Diagnostic::new(Code::ConstantGuard, when.span(), message);
    // Why: a day of the week, say, decides something; the id of a run does not.
    let reads_something = when.references().any(|reference| match reference.root {
        Root::Run => reference.path != [Segment::Field("id".to_owned())],
        _ => true,
    });
    if !reads_something {
        let message = "`when` reads no step, item or parameter, so it is always the same";
        return Some(
            finding(message.to_owned()).hint("leave it out, or read what a step observed"),
        );
    }
    let solver = |trust| Solver {
        pass,
        site,
        statuses: Statuses::Before,
        trust,
    };
    let never = |truth, trust| {
        let cases = whole.cases(truth)?;
        solver(trust).never(&cases)
    };
    if let Some(never) = never(true, Assume::NoParams) {
        let message = format!("`when` is never true: {}", never.reason);
        return Some(finding(message).label("the step never runs"));
    }
    never(false, Assume::NoCaution).map(|_| {
        finding("`when` is always true".to_owned())
            .label("the step always runs")
            .hint("leave it out, or ask for what you mean")
    })
}
