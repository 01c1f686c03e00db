//! What becomes of a proposal: mended, checked, then in force or back to its planner.
//!
//! Owns the way from a planner's text to a plan in force. INVARIANT: a proposal without a checked
//! plan never gets past this file, and what is mended in it is what `check --fix` would mend.

use provost_plan::check::{Checked, CheckedPlan, Draft, Origin};
use provost_plan::diagnostic::Diagnostic;
use provost_plan::digest::{Digest, Domain};
use provost_plan::fix::{Repair, mend_errors};
use provost_plan::plan::read::read_plan_once;
use provost_plan::plan::request::{FindingView, NoPlan, PlanReply, Why};
use provost_plan::source::Source;

use super::chain::{failed, give_up, leads_back};
use super::in_force::{AdmissiblePlan, PlanChange, take_into_force};
use super::planning::{request_plan, views};
use super::subgoal::{beyond_refinement, refined};
use crate::event::Event;
use crate::machine::StepError;
use crate::turn::basis::Basis;
use crate::turn::log::TurnLog;
use crate::turn::scope::Roots;
use crate::turn::terms::{compile, compile_proposal};
use crate::turn::work::{UNCHECKED, may_check};
use crate::view;

/// Compiles a proposal: it comes into force, or goes back with what is wrong.
pub(super) fn judge(
    log: &mut TurnLog<'_>,
    id: u64,
    reply: PlanReply,
) -> Result<PlanChange, StepError> {
    let PlanReply::Plan {
        text,
        name,
        author,
        literals,
        control,
        consult,
        because,
    } = reply
    else {
        return Ok(PlanChange::None);
    };
    // Why here: whoever makes the view knows best what was shown in it.
    let shown = view::label_of_full(log.state(), &log.rules().catalog);
    let origin = Origin {
        author,
        literals: literals.join(&shown),
        control: control.join(&shown),
    };
    if !may_check(log.basis(), &text)? {
        return failed(log, id, (NoPlan::Limit, UNCHECKED)).map(|()| PlanChange::None);
    }
    let mut source = Source::new(name, text);
    let (mut plan, mut diagnostics) = compiled(log.basis(), &source, &origin);
    if plan.is_none()
        && let Some(mended) = mended(log.basis(), &source, &origin)
    {
        let fixes = mended.fixed.into_iter().map(|tried| tried.title).collect();
        let text = mended.source.text.to_string();
        log.emit(Event::ProposalMended { id, text, fixes })?;
        source = mended.source;
        (plan, diagnostics) = compiled(log.basis(), &source, &origin);
    }
    let Some(checked) = plan else {
        return refuse(log, id, FindingView::all(&diagnostics, &source)).map(|()| PlanChange::None);
    };
    let wrong = beyond_refinement(log.state(), &checked);
    if let Some(repeated) = wrong.or_else(|| repeated_failure(log.basis(), &checked)) {
        diagnostics.push(repeated);
        return refuse(log, id, FindingView::all(&diagnostics, &source)).map(|()| PlanChange::None);
    }
    if let Some(reason) = leads_back(log.state(), &checked) {
        return failed(log, id, (NoPlan::Repeated, &reason)).map(|()| PlanChange::None);
    }
    let findings = views(&diagnostics);
    let plan = AdmissiblePlan {
        id,
        checked,
        findings,
        consult,
        origin,
        because,
    };
    take_into_force(log, plan)
}

/// A text as the check sees it, for this run.
fn compiled(
    at: Basis<'_>,
    source: &Source,
    origin: &Origin,
) -> (Option<CheckedPlan>, Vec<Diagnostic>) {
    let plan = match read_plan_once(source) {
        Ok(plan) => plan,
        Err(diagnostics) => return (None, diagnostics),
    };
    let origin = origin.clone();
    let Checked {
        plan, diagnostics, ..
    } = match refined(at.state) {
        // Why the check alone: what else it leaves open was left open before.
        Some(_) => compile(
            at,
            Draft { plan, origin },
            &at.state.goals.goal,
            at.state.in_force.revision + 1,
        ),
        None => compile_proposal(at, Draft { plan, origin }, &at.state.goals.goal),
    };
    (plan, diagnostics)
}

/// The proposal without the errors that have one safe fix: of those who would be asked again
/// for no more than that. What a person wrote runs as it is written, or not at all.
fn mended(at: Basis<'_>, source: &Source, origin: &Origin) -> Option<Repair> {
    if !at.state.route.planner.may_fail() {
        return None;
    }
    mend_errors(source, |source| compiled(at, source, origin).1)
}

/// A new step that repeats, unchanged, a call that failed for good.
pub(crate) fn repeated_failure(at: Basis<'_>, checked: &CheckedPlan) -> Option<Diagnostic> {
    if at.state.writes.failed_calls.is_empty() {
        return None;
    }
    let settled = at.state.settled();
    let roots = Roots::new(at.purse);
    checked
        .plan()
        .steps
        .iter()
        .filter(|s| !settled.contains(&s.id.value))
        .find_map(|step| {
            let provost_plan::plan::StepKind::Tool { tool, args } = &step.kind else {
                return None;
            };
            // Why: what rests on steps that have not run has no value yet, and repeats nothing.
            let args = args.eval(&roots.scope(at.state)).ok()?;
            let digest = Digest::of_value(Domain::Args, &args);
            let repeated = at
                .state
                .writes
                .failed_calls
                .contains(&(tool.value.clone(), digest));
            repeated.then(|| {
                let message = format!(
                    "step `{}` repeats a call that failed, unchanged",
                    step.id.value
                );
                Diagnostic::new(
                    provost_plan::codes::Code::RepeatsFailure,
                    step.id.span,
                    message,
                )
                .step(step.id.value.clone())
                .hint("change what made it fail, or leave it out")
            })
        })
}

pub(super) fn refuse(
    log: &mut TurnLog<'_>,
    id: u64,
    findings: Vec<FindingView>,
) -> Result<(), StepError> {
    let text = log
        .state()
        .planning
        .outstanding
        .as_ref()
        .and_then(|r| r.proposed.clone());
    let planning = &log.state().planning;
    let same = text.is_some() && text == planning.refused_text;
    let back = text.is_some_and(|text| planning.refused_before.contains(&text));
    let why = log
        .state()
        .planning
        .outstanding
        .as_ref()
        .and_then(|r| r.why.clone());
    log.emit(Event::PlanRefused { id, findings })?;
    let spent = log.state().planning.refused >= log.state().head.limits.proposals;
    if same || back || spent {
        let class = if same || back {
            NoPlan::Repeated
        } else {
            NoPlan::Limit
        };
        let reason = if same {
            "the planner proposed the same inadmissible plan again".to_owned()
        } else if back {
            "the planner proposed an earlier inadmissible plan again".to_owned()
        } else {
            match log.state().planning.refused {
                1 => "the one proposal allowed was inadmissible".to_owned(),
                many => format!("{many} proposals were inadmissible"),
            }
        };
        // Why: the request is still wanted after a refusal; giving up takes it back.
        return give_up(
            log,
            why.as_ref(),
            (class, &reason),
            why.as_ref().is_some_and(Why::is_optional),
        );
    }
    request_plan(log)
}
