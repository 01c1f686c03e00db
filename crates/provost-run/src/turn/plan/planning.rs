//! Asking a planner, and what becomes of its reply.
//!
//! Owns requests, the check of proposals and the change from one revision to the next. A proposal
//! without a checked plan never gets past this file.

use std::sync::Arc;

use provost_plan::approve::Delta;
use provost_plan::catalog::Operation;
use provost_plan::check::{Checked, CheckedPlan, Draft, Origin, RevisionBase, Terms, check};
use provost_plan::diagnostic::{Diagnostic, Severity};
use provost_plan::digest::{Digest, Domain};
use provost_plan::plan::request::{
    EnvelopeView, FindingView, PlanReply, PlanRequest, PlannerQuestion, PlannerUsage, RequestKind,
    RoleView, ToolSignature, Why,
};
use provost_plan::plan::{Goal, Plan, Step, ranking};

use crate::card::{Question, QuestionPurpose};
use crate::event::{Candidates, Event, PlannerChoice};
use crate::machine::{Blob, Rules, StepError};
use crate::proposal::compile;
use crate::state::State;
use crate::turn::Turn;
use crate::turn::work::UNCHECKED;
use crate::view;

impl Turn<'_> {
    /// Asks the planner, if the limits still allow it and it leads anywhere.
    pub(in crate::turn) fn request_plan(&mut self) -> Result<(), StepError> {
        let why = self.why_wanted();
        let optional = why.as_ref().is_some_and(Why::is_optional);
        if why.is_some() && !self.has_revisions_left(why.as_ref()) {
            let reason = format!(
                "the plan was revised {} times",
                self.state.head.limits.revisions
            );
            return self.give_up(why.as_ref(), &reason, optional);
        }
        if let Some(reason) = self.leads_nowhere(why.as_ref()) {
            return self.give_up(why.as_ref(), &reason, optional);
        }
        let limit = self.planner_limit(why.as_ref());
        if let Some(limit) = limit.or_else(|| self.no_shared_budget()) {
            return self.give_up(why.as_ref(), &limit, optional);
        }
        let id = self.state.planning.requests + 1;
        self.emit_request(id, why, true)
    }

    /// Why a plan is wanted: before all else, because nobody planned for the goal.
    fn why_wanted(&self) -> Option<Why> {
        let unplanned = self.state.goals.unplanned.as_ref();
        let amended = unplanned.map(|unplanned| Why::Amended {
            reason: unplanned.reason.clone(),
        });
        amended.or_else(|| self.state.planning.wanted.clone())
    }

    pub(in crate::turn) fn emit_request(
        &mut self,
        id: u64,
        why: Option<Why>,
        leaves: bool,
    ) -> Result<(), StepError> {
        let request = build_request(self.state, self.rules, id, why.clone());
        let bytes = serde_json::to_vec(&request).unwrap_or_default();
        let cost = self.state.route.planner.cost();
        let reserved = cost.map(|cost| cost.of_request(bytes.len() as u64));
        let digest = Digest::of_bytes(Domain::Evidence, &bytes);
        self.blobs.push(Blob {
            digest,
            media: "application/json".to_owned(),
            bytes,
        });
        let kind = request.kind;
        let of = self.rules.catalog.names().count();
        let given = request.tools.iter().map(|tool| tool.name.clone());
        let candidates = (request.tools.len() < of).then(|| Candidates {
            of: of as u64,
            tools: given.collect(),
        });
        self.emit(Event::PlanRequested {
            id,
            kind,
            request: digest,
            why,
            reserved: reserved.filter(|_| leaves),
            candidates,
        })?;
        self.plan_asked = leaves;
        self.request = Some(request);
        Ok(())
    }

    pub(in crate::turn) fn planned(
        &mut self,
        id: u64,
        reply: PlanReply,
        usage: Option<PlannerUsage>,
    ) -> Result<(), StepError> {
        if !self.state.awaits_plan(id) {
            return Err(StepError::NoRequest { id });
        }
        if let Some(usage) = usage {
            self.emit(Event::BudgetSpent { id, usage })?;
        }
        match reply {
            PlanReply::Unreadable { ref findings, .. } => {
                let findings = findings.clone();
                self.emit(Event::PlanProposed { id, reply })?;
                self.refuse(id, findings)
            }
            PlanReply::Decline(reason) => self.declined(id, &reason),
            PlanReply::Failed(reason) => self.failed(id, &reason),
            PlanReply::Interpreted { goal, playbook, by } => {
                self.interpreted(id, goal, playbook, by)
            }
            PlanReply::Questions(questions) => self.planner_asks(id, questions),
            PlanReply::Plan { .. } => {
                self.emit(Event::PlanProposed {
                    id,
                    reply: reply.clone(),
                })?;
                self.judge(id, reply)
            }
        }
    }

    /// The goal is understood: its playbook is asked from here on. Only the interpreter that the
    /// run began with may say so, or that reads an amended goal, and only of a playbook that it
    /// may choose.
    fn interpreted(
        &mut self,
        id: u64,
        mut goal: Goal,
        playbook: String,
        by: String,
    ) -> Result<(), StepError> {
        let unplanned = self.state.goals.unplanned.is_some();
        let known = match &self.state.route.planner {
            PlannerChoice::Interpreter { playbooks } => {
                // Why: an amended goal is for any playbook of the workspace.
                playbooks.contains(&playbook) || playbooks.is_empty() && unplanned
            }
            _ => false,
        };
        let planned = self.state.in_force.plan.is_some() && !unplanned;
        if !known || planned || goal.text != self.state.goals.goal.text {
            let reason = format!("the goal may not be left to playbook `{playbook}`");
            return self.declined(id, &reason);
        }
        if let Some(reason) = self.ran_with_others(&goal) {
            return self.declined(id, &reason);
        }
        // Why: steps that ran stay in the plan, and read the values they ran with.
        for (name, value) in &self.state.goals.goal.params {
            let known = goal.params.contains_key(name);
            if !known && self.state.in_force.plan.is_some() {
                goal.params.insert(name.clone(), value.clone());
            }
        }
        self.emit(Event::GoalInterpreted {
            goal,
            by,
            planner: Some(PlannerChoice::Playbook { name: playbook }),
        })
    }

    fn planner_asks(&mut self, id: u64, asked: Vec<PlannerQuestion>) -> Result<(), StepError> {
        if asked.is_empty() {
            return self.declined(id, "the planner asked no question");
        }
        for question in asked {
            let purpose = QuestionPurpose::Planner {
                id: question.id,
                request: id,
            };
            self.ask_question(purpose, question.text, question.answer, None)?;
        }
        Ok(())
    }

    /// Records a question and makes the driver ask it.
    pub(in crate::turn) fn ask_question(
        &mut self,
        purpose: QuestionPurpose,
        text: String,
        answer: serde_json::Value,
        of: Option<String>,
    ) -> Result<(), StepError> {
        let question = Question {
            run: self.state.head.run.clone(),
            purpose,
            text,
            answer,
            of,
        };
        let digest = question.digest();
        self.asked.insert(digest);
        self.emit(Event::QuestionAsked { question, digest })
    }

    /// Checks a draft under the rules in force and the facts of this run.
    pub(in crate::turn) fn compile(&self, draft: Draft, goal: &Goal, revision: u32) -> Checked {
        check(draft, &self.terms(goal), &self.base(revision))
    }

    /// Compiles a plan that is to come into force next, for this goal.
    pub(in crate::turn) fn compile_proposal(&self, draft: Draft, goal: &Goal) -> Checked {
        let base = self.base(self.state.in_force.revision + 1);
        let by = (&self.state.route.planner, self.state.head.mode);
        compile(draft, &self.terms(goal), &base, by)
    }

    /// The rules in force, for this run.
    pub(in crate::turn) fn terms(&self, goal: &Goal) -> Terms {
        Terms {
            catalog: self.rules.catalog.clone(),
            policy: self.rules.policy.clone(),
            principal: self.state.head.principal.clone(),
            limits: self.state.head.limits.clone(),
            goal: goal.clone(),
        }
    }

    /// What the next revision stands on.
    pub(in crate::turn) fn base(&self, revision: u32) -> RevisionBase<'_> {
        RevisionBase {
            revision,
            previous: self
                .state
                .in_force
                .plan
                .as_deref()
                .map(provost_plan::approve::ApprovedPlan::checked),
            settled: self.state.settled(),
            over: self.state.over(),
            undoes: false,
        }
    }

    /// What a new plan changes, against the one in force.
    pub(in crate::turn) fn change_to(&self, checked: &CheckedPlan) -> Change {
        let mut change = Change::default();
        let Some(old) = &self.state.in_force.plan else {
            return change;
        };
        let before = &old.checked().record().steps;
        let after = &checked.record().steps;
        for (id, step) in after {
            match before.get(id) {
                None => change.added.push(id.clone()),
                Some(old) if old.closure != step.closure => change.changed.push(id.clone()),
                Some(_) => {}
            }
        }
        change.removed = before
            .keys()
            .filter(|id| !after.contains_key(*id))
            .cloned()
            .collect();
        let about = |item: &crate::state::ItemState| item.card.is_some() || item.approved.is_some();
        let asked = self.state.steps.iter().filter_map(|(id, step)| {
            let asked = step.items.iter().any(about) || old.is_granted(id);
            // Why none: what was asked about a step that is not in the plan cannot be equal.
            let closure = before.get(id).map(|record| record.closure);
            (!step.status.is_final() && asked).then_some((id.as_str(), closure))
        });
        change.approvals = Delta::of(asked, checked.record());
        change
    }

    /// The plan in force, to be checked again.
    pub(in crate::turn) fn in_force(&self, plan: Arc<Plan>) -> Draft {
        let origin = self.origin_in_force("the current plan");
        Draft { plan, origin }
    }

    /// Where the plan in force came from: a check that is repeated makes nothing of it trusted.
    pub(in crate::turn) fn origin_in_force(&self, author: &str) -> Origin {
        Origin {
            author: author.to_owned(),
            literals: self.state.in_force.literals.clone(),
            control: self.state.in_force.control.clone(),
        }
    }

    /// Checks the plan again if the rules moved since it was checked.
    pub(in crate::turn) fn recheck(&mut self) -> Result<(), StepError> {
        // Why not of an amended goal: its plan comes in the place of this one.
        let plan = self.state.plan();
        let Some(plan) = plan.filter(|_| self.state.goals.unplanned.is_none()) else {
            return Ok(());
        };
        let old = plan.checked().record();
        let tools_same = old
            .terms
            .tools
            .iter()
            .all(|(name, digest)| self.rules.catalog.digest(name) == Some(*digest));
        let roles_same = old.terms.roles.iter().all(|(name, digest)| {
            let role = self.rules.catalog.role(name);
            role.is_some_and(|role| role.digest() == *digest)
        });
        let policy_same = old.terms.policy == self.rules.policy.digest();
        if tools_same && roles_same && policy_same {
            return Ok(());
        }
        let shared = Arc::clone(plan.checked().shared());
        if !self.may_check_again()? {
            return self.end_moved(UNCHECKED);
        }
        let draft = self.in_force(shared);
        let Checked {
            plan, diagnostics, ..
        } = self.compile(draft, &self.state.goals.goal, self.state.in_force.revision);
        let Some(checked) = plan else {
            let finding = diagnostics.iter().find(|d| d.severity() == Severity::Error);
            let message = finding.map_or_else(String::new, |d| d.message.clone());
            return self.end_moved(&message);
        };
        let mut approvals = self.change_to(&checked).approvals;
        if !policy_same {
            // Why: a yes was given as the policy of that moment asked for it.
            ask_all_again(&mut approvals);
        }
        let Delta {
            retain,
            replace,
            clear,
        } = approvals;
        let consult = self.state.followups.to_show().cloned().collect();
        let (control, literals) = (
            self.state.in_force.control.clone(),
            self.state.in_force.literals.clone(),
        );
        self.emit(Event::PlanChecked {
            id: 0,
            document: Arc::clone(&checked.plan().value),
            record: Arc::clone(checked.shared_record()),
            findings: views(&diagnostics),
            consult,
            control,
            literals,
        })?;
        self.emit(Event::ApprovalsRevised {
            retain,
            replace,
            clear,
        })?;
        self.ask_for_plan()
    }
}

/// No yes outlives the change.
pub(in crate::turn) fn ask_all_again(approvals: &mut Delta) {
    approvals.replace.append(&mut approvals.retain);
    approvals.replace.sort();
}

#[derive(Default)]
pub(in crate::turn) struct Change {
    pub(in crate::turn) added: Vec<String>,
    pub(in crate::turn) changed: Vec<String>,
    pub(in crate::turn) removed: Vec<String>,
    pub(in crate::turn) approvals: Delta,
}

/// The request that waits for a reply, as it was made.
pub(in crate::turn) fn current_request(state: &State, rules: &Rules) -> PlanRequest {
    let (id, why) = state
        .planning
        .outstanding
        .as_ref()
        .map_or((0, None), |request| (request.id, request.why.clone()));
    build_request(state, rules, id, why)
}

pub(in crate::turn) fn build_request(
    state: &State,
    rules: &Rules,
    id: u64,
    why: Option<Why>,
) -> PlanRequest {
    let planning = &state.planning;
    let plan = state.plan().map(|plan| plan.checked().plan());
    let refined = why.as_ref().and_then(Why::refined);
    let envelope = plan.zip(refined);
    let envelope = envelope.and_then(|(plan, step)| EnvelopeView::of(plan, step));
    let tools = offered(state, rules);
    let tools = tools.into_iter().map(ToolSignature::of);
    let roles = rules.catalog.roles();
    PlanRequest {
        id,
        kind: match (plan, &envelope) {
            (Some(_), Some(_)) => RequestKind::Refine,
            (Some(_), None) => RequestKind::Revise,
            (None, _) => RequestKind::Propose,
        },
        mode: state.head.mode,
        goal: state.goals.goal.clone(),
        tools: tools.collect(),
        roles: roles.map(|role| RoleView::of(role)).collect(),
        plan: state
            .in_force
            .plan
            .is_some()
            .then(|| Arc::clone(&state.in_force.document)),
        observations: view::of_run(state, &rules.catalog),
        diagnostics: state.planning.findings.clone(),
        proposal: planning
            .mended_text
            .as_ref()
            .or(planning.refused_text.as_ref())
            .cloned(),
        answers: state.planning.answers.clone(),
        why,
        envelope,
        limits: state.head.limits.clone(),
    }
}

/// The operations that a planner is told of: for a model, of a large catalog, those that the goal
/// may need, in an order that stays as long as the goal does; behind them what a person put into
/// the plan in force beside them.
fn offered<'a>(state: &State, rules: &'a Rules) -> Vec<&'a Operation> {
    let all = || rules.catalog.iter().map(Arc::as_ref);
    if !matches!(state.route.planner, PlannerChoice::Model { .. }) {
        return all().collect();
    }
    let Some(mut chosen) = ranking::candidates(&rules.catalog, &state.goals.goal) else {
        return all().collect();
    };
    let plan = state.plan().map(|plan| plan.checked().plan());
    let steps = plan.into_iter().flat_map(|plan| &plan.steps);
    for tool in steps.filter_map(Step::tool) {
        let known = rules.catalog.get(&tool.value).map(Arc::as_ref);
        let missing = known.filter(|known| chosen.iter().all(|one| one.name != known.name));
        chosen.extend(missing);
    }
    chosen
}

pub(in crate::turn) fn views(diagnostics: &[Diagnostic]) -> Vec<FindingView> {
    diagnostics.iter().map(FindingView::of).collect()
}
