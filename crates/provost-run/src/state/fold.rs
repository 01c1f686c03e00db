//! How each event changes the state: one match, no wildcard.
//!
//! INVARIANT: nothing here evaluates, decides or compares policy; it only writes down.

use std::sync::Arc;

use provost_plan::label::Label;
use provost_plan::limits::RECONCILE_READS_MAX;
use provost_plan::plan::request::{PlanReply, Why};
use provost_plan::policy::AskTerms;

use super::{Chain, ItemProgress, ItemState, Observed, Pause};
use super::{Goals, People, PlanInForce, PlannerRoute, RunEnding, RunHead, RunSpend, RunWrites};
use super::{Planning, QuestionState, State, StepState};
use crate::call::Slot;
use crate::card::QuestionPurpose;
use crate::event::{Event, SettledBy, SkipReason, StepStatus};

mod attempt;
mod ending;
mod people;
mod plan;

use super::chain::{handed_on, reviewed};
use super::goal::goal_amended;
use attempt::{StepSettlement, attempt_ended, attempt_started, doubt_settled, step_settled};
use ending::{close, end_all, reopen};

use people::{
    approval_given, approval_requested, approvals_revised, close_card, plan_amended,
    question_answered, question_expired, yes_lasts,
};
use plan::{plan_checked, plan_requested, planner_paid};

/// A journal that cannot be folded.
#[derive(Debug, thiserror::Error)]
pub enum FoldError {
    /// The journal does not begin with the creation of a run.
    #[error("the journal does not begin with the creation of a run")]
    NoBeginning,
    /// An event names what is not there.
    #[error("`{kind}` names `{name}`, which the run does not have")]
    Unknown {
        /// The event's kind.
        kind: &'static str,
        /// The name.
        name: String,
    },
    /// An item is settled by a status that is no end.
    #[error("`StepSettled` settles `{slot}` as `{}`, which is no end of a step", .status.word())]
    NotSettled {
        /// The item.
        slot: String,
        /// The status.
        status: StepStatus,
    },
    /// The stored plan does not match its record.
    #[error("the stored plan of revision {revision} does not match its digest: {reason}")]
    Plan {
        /// The revision.
        revision: u32,
        /// What differs.
        reason: String,
    },
}

impl State {
    /// The state after the first event of a journal.
    ///
    /// # Errors
    /// [`FoldError::NoBeginning`] if it is not the creation of a run.
    pub fn begin(event: &Event, at: i64) -> Result<Self, FoldError> {
        let Event::RunCreated(created) = event else {
            return Err(FoldError::NoBeginning);
        };
        let created = created.clone();
        let required = created.required();
        Ok(Self {
            head: RunHead {
                run: created.run,
                mode: created.mode,
                principal: created.principal,
                limits: created.limits,
                ask: created.ask,
                solo: created.solo,
                required,
                created_at: at,
            },
            goals: Goals {
                goal: created.goal,
                unplanned: None,
                former: Default::default(),
            },
            route: PlannerRoute {
                chain: Chain::new(created.planner.clone(), created.fallback),
                planner: created.planner,
                progress: Default::default(),
            },
            in_force: PlanInForce {
                plan: None,
                document: Arc::default(),
                revision: 0,
                refinements: 0,
                control: Label::trusted(),
                literals: Label::trusted(),
                amender: None,
                authorship: Default::default(),
                provers: Default::default(),
            },
            writes: RunWrites::default(),
            ending: RunEnding::default(),
            people: People {
                rights: created.rights,
                ..People::default()
            },
            spend: RunSpend {
                last_at: at,
                ..RunSpend::default()
            },
            steps: Default::default(),
            planning: Planning::default(),
            followups: Default::default(),
            frontier: Default::default(),
        })
    }
}

pub(super) fn apply(state: &mut State, event: &Event, at: i64) -> Result<(), FoldError> {
    let kind = event.kind();
    if let Some(record) = event.record() {
        state.people.nonces.insert(record.nonce.clone());
        state.people.rights = record.rights.or(state.people.rights);
    }
    match event {
        Event::RunCreated(_) => return Err(FoldError::NoBeginning),
        Event::GoalInterpreted { goal, planner, .. } => {
            state.goals.goal = goal.clone();
            if let Some(planner) = planner {
                // Why nothing stays: what was answered stands in the goal now.
                let requests = state.planning.requests;
                state.planning = Planning {
                    requests,
                    ..Planning::default()
                };
                state.route.planner = planner.clone();
            }
        }
        Event::PlanRequested {
            id, why, reserved, ..
        } => plan_requested(state, *id, why.clone(), *reserved, at),
        Event::BudgetSpent { usage, .. } => planner_paid(state, usage),
        Event::PlanProposed { reply, .. } => {
            if let (
                Some(request),
                PlanReply::Plan { text, .. } | PlanReply::Unreadable { text, .. },
            ) = (&mut state.planning.outstanding, reply)
            {
                request.proposed = Some(text.clone());
            }
        }
        Event::ProposalMended { text, .. } => {
            if let Some(request) = &mut state.planning.outstanding {
                request.mended = Some(text.clone());
            }
        }
        Event::PlanChecked {
            id,
            document,
            record,
            consult,
            control,
            literals,
            ..
        } => {
            state.ending.ran_out = None;
            let prover = state.prover_of_next();
            let changed = plan_checked(state, document, record, consult, control)?;
            let built_on = (*id != 0).then_some(&state.people.amenders);
            state.in_force.authorship.checked(&changed, built_on);
            state.note_provers(&prover);
            state.in_force.authorship.forget_all_but(&state.steps);
            state.in_force.literals = literals.clone();
            // Why: a check repeated under moved rules answers no request; what waits, waits on.
            if *id != 0 {
                let asked = state.planning.outstanding.as_ref();
                let why = asked.and_then(|request| request.why.as_ref());
                state.in_force.refinements +=
                    u32::from(why.is_some_and(|why| why.refined().is_some()));
                let requests = state.planning.requests;
                state.planning = Planning {
                    requests,
                    ..Planning::default()
                };
                state.in_force.amender = None;
            }
        }
        Event::PlanRefused { findings, .. } => {
            let planning = &mut state.planning;
            planning.refused += 1;
            planning.findings.clone_from(findings);
            state.ending.ran_out = Some(planning.requests);
            let request = planning.outstanding.take();
            if let Some(request) = request {
                planning.refused_before.extend(planning.refused_text.take());
                planning.refused_text = request.proposed;
                planning.mended_text = request.mended;
                planning.wanted = request.why;
            }
        }
        Event::PlanGivenUp { id, goes_on, .. } => {
            state.ending.ran_out = (!goes_on).then_some(*id);
            let request = state.planning.outstanding.take();
            state.planning.wanted = None;
            match request.and_then(|r| r.why) {
                Some(why) if *goes_on => {
                    state.ending.rejected = Some(why);
                    let requests = state.planning.requests;
                    state.planning = Planning {
                        requests,
                        ..Planning::default()
                    };
                }
                // Why the second: journals of earlier versions went on with the plan in force.
                Some(Why::Observed { .. } | Why::Amended { .. }) => {
                    // Why: what was refused of this revision is not counted against the next.
                    let requests = state.planning.requests;
                    state.planning = Planning {
                        requests,
                        ..Planning::default()
                    };
                }
                why => state.ending.stopping = why,
            }
        }
        Event::PlanHandedOn { id, reason, to, .. } => handed_on(state, *id, reason, to),
        Event::PlanRevised { .. } | Event::RunStarted { .. } => {}
        Event::ApprovalRequested { card, digest } => approval_requested(state, card, *digest),
        Event::ApprovalGiven {
            card,
            by,
            steps,
            complete,
            valid_until,
            ..
        } => {
            // Why: of an earlier version nobody knows more than that it was given then.
            let until =
                valid_until.unwrap_or_else(|| at.saturating_add(AskTerms::default().valid()));
            yes_lasts(state, *card, until);
            approval_given(state, *card, by, steps, *complete)?;
        }
        Event::ApprovalRejected {
            card,
            by,
            reason,
            all,
            ..
        } => {
            state.ending.rejected_by = Some(by.clone());
            let closed = close_card(state, *card, kind)?;
            if *all {
                state.ending.stopping = Some(Why::Rejected {
                    step: closed.card.step().map(str::to_owned),
                    reason: reason.clone(),
                });
            }
        }
        Event::ApprovalExpired { card } => {
            close_card(state, *card, kind)?;
        }
        Event::ApprovalsRevised { replace, clear, .. } => {
            approvals_revised(state, replace.iter().chain(clear));
        }
        Event::QuestionAsked { question, digest } => {
            if let QuestionPurpose::Step { step } = &question.purpose {
                step_mut(state, step, kind)?.set_status(StepStatus::WaitingAnswer);
            }
            if let QuestionPurpose::Escalation { step } = &question.purpose {
                state.followups.ask(step);
            }
            if let (QuestionPurpose::Planner { .. }, Some(request)) =
                (&question.purpose, &mut state.planning.outstanding)
            {
                request.asked_people = true;
            }
            let asked = QuestionState {
                question: question.clone(),
                answer: None,
                open: true,
                expired: false,
                asked_at: at,
            };
            state.people.questions.insert(*digest, asked);
        }
        Event::QuestionAnswered {
            question,
            value,
            by,
            ..
        } => {
            question_answered(state, *question, value, by)?;
        }
        Event::QuestionExpired { question } => question_expired(state, *question)?,
        Event::ListEvaluated { step, items, .. } => {
            let step = step_mut(state, step, kind)?;
            step.listed = true;
            step.items = items.iter().map(|_| ItemState::default()).collect();
            step.list.clone_from(items);
        }
        Event::StepSkipped { slot, because } => step_skipped(state, slot, *because)?,
        Event::StepBlocked { step, .. } => {
            let step = step_mut(state, step, kind)?;
            step.set_status(StepStatus::Blocked);
            step.close_view();
        }
        Event::AdmissionRefused { slot, limit, .. } => {
            state.spend.limit = Some((slot.step.clone(), limit.clone()));
        }
        Event::AttemptStarted(started) => attempt_started(state, started, at)?,
        Event::AttemptEnded(ended) => attempt_ended(state, ended, at)?,
        Event::ObservationMade {
            slot,
            output,
            evidence,
            ..
        } => {
            let item = item_mut(state, slot, kind)?;
            item.observed = Some(Observed {
                output: output.clone(),
                at,
            });
            item.history.evidence = Some(*evidence);
            item.progress.observe();
            if item.success().is_some() {
                step_mut(state, &slot.step, kind)?.close_view();
            }
        }
        Event::StepSettled {
            slot,
            status,
            class,
            message,
            reconcile_at,
            created,
        } => {
            let settled = StepSettlement {
                status: *status,
                class: *class,
                message: message.as_ref(),
                reconcile_at: *reconcile_at,
                created: created.as_ref(),
            };
            step_settled(state, slot, &settled, at)?;
        }
        Event::DoubtSettled {
            slot,
            settled,
            by,
            output,
            ..
        } => {
            if let (SettledBy::Person { id }, Some(_)) = (by, output) {
                state.in_force.authorship.says(&slot.step, "output", id);
            }
            doubt_settled(state, slot, *settled)?;
        }
        Event::ReconcileGivenUp { slot, .. } => {
            let item = item_mut(state, slot, kind)?;
            item.retry_at = None;
            if let Some(doubt) = item.doubt_mut() {
                doubt.reconcile_tries = RECONCILE_READS_MAX;
            }
        }
        Event::Deferred { slot, until, .. } => {
            let item = item_mut(state, slot, kind)?;
            item.retry_at = *until;
            item.history.deferrals += 1;
        }
        Event::Paused {
            by,
            what,
            reason,
            missing,
            ..
        } => {
            state.ending.paused = Some(Pause {
                by: by.clone(),
                what: what.clone(),
                reason: reason.clone(),
                missing: missing.as_ref().map(|missing| missing.secret.clone()),
                at,
            });
        }
        Event::ReplanRequested { why } => {
            if let Why::StepFailed { step, .. }
            | Why::Rejected {
                step: Some(step), ..
            }
            | Why::Expired { step } = why
            {
                state.followups.ask_planner(step);
            }
            if let Why::Observed { step } = why {
                state.followups.shown(step);
            }
            state.planning.wanted = Some(why.clone());
        }
        Event::Resumed { by, .. } => {
            if by.is_some() {
                state.ending.paused = None;
            }
            let items = state.steps.values_mut().flat_map(|step| &mut step.items);
            let doubts = items.filter_map(ItemState::doubt_mut);
            doubts.for_each(|doubt| doubt.reconcile_tries = 0);
        }
        Event::CancelRequested {
            by, reason, undo, ..
        } => {
            state.ending.cancelled = Some((by.clone(), reason.clone()));
            state.ending.undo.cancelled(*undo);
        }
        Event::UndoRequested { by, reason, .. } => reopen(state, by, reason.as_ref()),
        Event::UndoPlanned { steps, left } => {
            close(state);
            state.ending.undo.place(steps, left);
        }
        Event::GoalAmended {
            goal,
            planner,
            reason,
            clears: true,
            by,
            ..
        } => {
            goal_amended(state, goal, planner.as_ref(), reason);
            state.builds_on(by);
        }
        Event::GoalAmended { goal, by, .. } => {
            state.builds_on(by);
            state.goals.goal = goal.clone();
            reviewed(state, true);
        }
        Event::PlanAmended { by, wrote, .. } => {
            plan_amended(state, by);
            state.in_force.authorship.amends(by, wrote);
        }
        Event::RunEnded(ended) => {
            end_all(state);
            state.ending.ended = Some(ended.clone());
        }
    }
    Ok(())
}

fn step_mut<'s>(
    state: &'s mut State,
    id: &str,
    kind: &'static str,
) -> Result<&'s mut StepState, FoldError> {
    state.steps.get_mut(id).ok_or_else(|| FoldError::Unknown {
        kind,
        name: id.to_owned(),
    })
}

fn item_mut<'s>(
    state: &'s mut State,
    slot: &Slot,
    kind: &'static str,
) -> Result<&'s mut ItemState, FoldError> {
    step_mut(state, &slot.step, kind)?
        .items
        .get_mut(slot.item.unwrap_or(0))
        .ok_or_else(|| FoldError::Unknown {
            kind,
            name: slot.to_string(),
        })
}

fn step_skipped(state: &mut State, slot: &Slot, because: SkipReason) -> Result<(), FoldError> {
    let step = step_mut(state, &slot.step, "StepSkipped")?;
    if let Some(index) = slot.item {
        if let Some(item) = step.items.get_mut(index) {
            item.progress = ItemProgress::Skipped;
            item.retry_at = None;
        }
        return Ok(());
    }
    step.items.iter_mut().for_each(|item| item.retry_at = None);
    step.skipped = Some(because);
    step.set_status(StepStatus::Skipped);
    step.close_view();
    Ok(())
}
