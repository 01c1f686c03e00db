//! What becomes of a proposal: mended, checked, then in force or back to its planner.
//!
//! Owns the way from a planner's text to a plan in force. INVARIANT: a proposal without a checked
//! plan never gets past this file, and what is mended in it is what `check --fix` would mend.

use std::sync::Arc;

use provost_plan::approve::Delta;
use provost_plan::check::{Checked, CheckedPlan, Draft, Origin};
use provost_plan::diagnostic::Diagnostic;
use provost_plan::digest::{Digest, Domain};
use provost_plan::fix::{Repair, mend_errors};
use provost_plan::label::Integrity;
use provost_plan::plan::read::read_plan_once;
use provost_plan::plan::request::{FindingView, PlanReply, Why};
use provost_plan::source::Source;

use super::planning::{Change, ask_all_again, views};
use crate::event::{Event, PlannerView};
use crate::machine::StepError;
use crate::turn::Turn;
use crate::turn::scope::Roots;
use crate::turn::work::UNCHECKED;
use crate::view;

impl Turn<'_> {
    /// Compiles a proposal: it comes into force, or goes back with what is wrong.
    pub(in crate::turn) fn judge(&mut self, id: u64, reply: PlanReply) -> Result<(), StepError> {
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
            return Ok(());
        };
        // Why here: whoever makes the view knows best what was shown in it.
        let shown = view::label_of_full(self.state, &self.rules.catalog);
        let origin = Origin {
            author,
            literals: literals.join(&shown),
            control: control.join(&shown),
        };
        if !self.may_check(&text)? {
            return self.failed(id, UNCHECKED);
        }
        let mut source = Source::new(name, text);
        let (mut plan, mut diagnostics) = self.compiled(&source, &origin);
        if plan.is_none()
            && let Some(mended) = self.mended(&source, &origin)
        {
            let fixes = mended.fixed.into_iter().map(|tried| tried.title).collect();
            let text = mended.source.text.to_string();
            self.emit(Event::ProposalMended { id, text, fixes })?;
            source = mended.source;
            (plan, diagnostics) = self.compiled(&source, &origin);
        }
        let Some(checked) = plan else {
            return self.refuse(id, FindingView::all(&diagnostics, &source));
        };
        let wrong = self.beyond_refinement(&checked);
        if let Some(repeated) = wrong.or_else(|| self.repeated_failure(&checked)) {
            diagnostics.push(repeated);
            return self.refuse(id, FindingView::all(&diagnostics, &source));
        }
        if let Some(reason) = self.leads_back(&checked) {
            return self.failed(id, &reason);
        }
        let findings = views(&diagnostics);
        self.take_into_force(id, &checked, findings, consult, origin, because)
    }

    /// A text as the check sees it, for this run.
    fn compiled(&self, source: &Source, origin: &Origin) -> (Option<CheckedPlan>, Vec<Diagnostic>) {
        let plan = match read_plan_once(source) {
            Ok(plan) => plan,
            Err(diagnostics) => return (None, diagnostics),
        };
        let origin = origin.clone();
        let Checked {
            plan, diagnostics, ..
        } = match self.refined() {
            // Why the check alone: what else it leaves open was left open before.
            Some(_) => self.compile(
                Draft { plan, origin },
                &self.state.goals.goal,
                self.state.in_force.revision + 1,
            ),
            None => self.compile_proposal(Draft { plan, origin }, &self.state.goals.goal),
        };
        (plan, diagnostics)
    }

    /// The proposal without the errors that have one safe fix: of those who would be asked again
    /// for no more than that. What a person wrote runs as it is written, or not at all.
    fn mended(&self, source: &Source, origin: &Origin) -> Option<Repair> {
        if !self.state.route.planner.may_fail() {
            return None;
        }
        mend_errors(source, |source| self.compiled(source, origin).1)
    }

    /// A new step that repeats, unchanged, a call that failed for good.
    pub(in crate::turn) fn repeated_failure(&self, checked: &CheckedPlan) -> Option<Diagnostic> {
        if self.state.writes.failed_calls.is_empty() {
            return None;
        }
        let settled = self.state.settled();
        let roots = Roots::new(&self.purse);
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
                let args = args.eval(&roots.scope(self.state)).ok()?;
                let digest = Digest::of_value(Domain::Args, &args);
                let repeated = self
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

    pub(in crate::turn) fn refuse(
        &mut self,
        id: u64,
        findings: Vec<FindingView>,
    ) -> Result<(), StepError> {
        let text = self
            .state
            .planning
            .outstanding
            .as_ref()
            .and_then(|r| r.proposed.clone());
        let planning = &self.state.planning;
        let same = text.is_some() && text == planning.refused_text;
        let back = text.is_some_and(|text| planning.refused_before.contains(&text));
        let why = self
            .state
            .planning
            .outstanding
            .as_ref()
            .and_then(|r| r.why.clone());
        self.emit(Event::PlanRefused { id, findings })?;
        let spent = self.state.planning.refused >= self.state.head.limits.proposals;
        if same || back || spent {
            let reason = if same {
                "the planner proposed the same inadmissible plan again".to_owned()
            } else if back {
                "the planner proposed an earlier inadmissible plan again".to_owned()
            } else {
                match self.state.planning.refused {
                    1 => "the one proposal allowed was inadmissible".to_owned(),
                    many => format!("{many} proposals were inadmissible"),
                }
            };
            // Why: the request is still wanted after a refusal; giving up takes it back.
            return self.give_up(
                why.as_ref(),
                &reason,
                why.as_ref().is_some_and(Why::is_optional),
            );
        }
        self.request_plan()
    }

    fn take_into_force(
        &mut self,
        id: u64,
        checked: &CheckedPlan,
        findings: Vec<FindingView>,
        consult: Vec<String>,
        origin: Origin,
        because: Option<String>,
    ) -> Result<(), StepError> {
        let record = Arc::clone(checked.shared_record());
        let revision = record.revision;
        let mut change = self.change_to(checked);
        if self.state.route.planner.view() == PlannerView::Full
            && origin.control.integrity > Integrity::Trusted
        {
            // Why: whoever read the text of others may have been told which yes to make use of.
            ask_all_again(&mut change.approvals);
        }
        let document = Arc::clone(&checked.plan().value);
        self.emit(Event::PlanChecked {
            id,
            document,
            record,
            findings,
            consult,
            control: origin.control,
            literals: origin.literals,
        })?;
        if revision == 1 {
            self.emit(Event::RunStarted { revision })?;
        } else {
            let Change {
                added,
                changed,
                removed,
                approvals,
            } = change;
            let Delta {
                retain,
                replace,
                clear,
            } = approvals;
            self.emit(Event::PlanRevised {
                revision,
                added,
                changed,
                removed,
                because,
            })?;
            self.emit(Event::ApprovalsRevised {
                retain,
                replace,
                clear,
            })?;
        }
        self.ask_for_plan()
    }
}
