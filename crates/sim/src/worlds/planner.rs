//! The planner of a world: now honest, now garbage, now lying.
//!
//! Owns the plan it believes in. Sees nothing but requests. INVARIANT: it answers a request at most
//! once; what it says is never believed here.

use provost_plan::label::Label;
use provost_plan::plan::request::{NoPlan, PlanReply, PlanRequest, PlannerQuestion, Why};
use provost_run::event::{PlannerChoice, PlannerView};
use provost_run::statement::{PlanText, Statement};
use serde_json::json;

use super::faults::{Fault, FaultPlan};
use super::scenario::{READS, WRITES};
use super::sketch::Sketch;
use crate::rng::Rng;

/// How long a driver waits for a planner that does not answer, in milliseconds.
const PATIENCE_MS: i64 = 600_000;

pub(super) struct Planner {
    rng: Rng,
    sketch: Sketch,
    asked: bool,
    /// Whether it is asked first what the goal means.
    interprets: bool,
    /// Whether it is a program, which may fail, with the interpreter behind it.
    may_fail: bool,
}

/// Whether a world's planner is a program.
fn may_fail(seed: u64) -> bool {
    Rng::new(seed, "chain").permille(200)
}

/// Whether a world's plan has a subgoal: only a program refines one.
pub(super) fn is_coarse(seed: u64) -> bool {
    may_fail(seed) && Rng::new(seed, "coarse").permille(500)
}

/// The parameter that a goal has once it was understood.
const UNDERSTOOD: &str = "understood";

impl Planner {
    pub(super) fn new(seed: u64, sketch: Sketch) -> Self {
        let mut rng = Rng::new(seed, "planner");
        Self {
            interprets: rng.permille(150),
            // Why a generator of its own: every other world stays what it was.
            may_fail: may_fail(seed),
            rng,
            sketch,
            asked: false,
        }
    }

    /// Who the run says plans.
    pub(super) fn choice(&self) -> PlannerChoice {
        let name = "drawn".to_owned();
        if self.may_fail {
            return PlannerChoice::Process {
                program: name,
                view: PlannerView::References,
            };
        }
        if self.interprets {
            return PlannerChoice::Interpreter {
                playbooks: vec!["other".to_owned(), name],
            };
        }
        PlannerChoice::Playbook { name }
    }

    /// The playbook that is asked after it.
    pub(super) fn fallback(&self) -> Option<String> {
        (self.may_fail && self.interprets).then(|| "drawn".to_owned())
    }

    /// What it replies, and after how many milliseconds.
    pub(super) fn reply(
        &mut self,
        request: &PlanRequest,
        faults: &mut FaultPlan,
    ) -> (i64, PlanReply) {
        if faults.strikes(Fault::Hang) {
            let reason = "the planner did not answer".to_owned();
            return (
                PATIENCE_MS,
                PlanReply::Failed {
                    class: NoPlan::Timeout,
                    reason,
                },
            );
        }
        let after = self.rng.between(10, 5_000);
        let reply = match &request.why {
            _ if faults.strikes(Fault::Garbage) => plan("}{ is this a plan?".to_owned(), vec![]),
            _ if faults.strikes(Fault::Decline) => {
                PlanReply::Decline("nothing is known that would help".to_owned())
            }
            None if self.interprets && !request.goal.params.contains_key(UNDERSTOOD) => {
                self.interpret(request, faults)
            }
            None => self.propose(faults),
            Some(why) => self.revise(why, request, faults),
        };
        (after, reply)
    }

    /// What a person would rather have.
    pub(super) fn amendment(&mut self) -> Statement {
        let reason = "better like this".to_owned();
        if self.rng.permille(300) {
            let goal = Some("something else than what was drawn".to_owned());
            return Statement::Amend {
                plan: None,
                goal,
                reason,
            };
        }
        let both = self.rng.permille(200);
        let target = format!("a{}", self.sketch.steps.len());
        self.sketch.add("note.put", (&target, &target), false);
        let plan = PlanText {
            name: "amended".to_owned(),
            text: self.sketch.text(),
        };
        Statement::Amend {
            plan: Some(plan),
            goal: both.then(|| "something else, planned by a person".to_owned()),
            reason,
        }
    }

    /// What the goal means: sometimes asked first, and now and then left to whom it may not be.
    fn interpret(&mut self, request: &PlanRequest, faults: &mut FaultPlan) -> PlanReply {
        if let Some(questions) = self.questions(faults) {
            return questions;
        }
        let mut goal = request.goal.clone();
        goal.params.insert(UNDERSTOOD.to_owned(), json!(true));
        let playbook = if faults.strikes(Fault::Lie) {
            "nobody's"
        } else {
            "drawn"
        };
        PlanReply::Interpreted {
            goal,
            playbook: playbook.to_owned(),
            by: "a simulated interpreter".to_owned(),
        }
    }

    fn questions(&mut self, faults: &mut FaultPlan) -> Option<PlanReply> {
        if self.asked || !faults.strikes(Fault::Questions) {
            return None;
        }
        self.asked = true;
        let question = |id: &str| PlannerQuestion {
            id: id.to_owned(),
            text: format!("which {id}?"),
            answer: json!({ "type": "object", "required": ["total"] }),
        };
        Some(PlanReply::Questions(vec![
            question("team"),
            question("place"),
        ]))
    }

    fn propose(&mut self, faults: &mut FaultPlan) -> PlanReply {
        if let Some(questions) = self.questions(faults) {
            return questions;
        }
        if faults.strikes(Fault::Inadmissible) {
            let mut wrong = self.sketch.clone();
            wrong.add("no.such", ("nowhere", "nowhere"), false);
            return plan(wrong.text(), vec![]);
        }
        if faults.strikes(Fault::Lie) {
            let mut lie = self.sketch.clone();
            lie.lie();
            return plan(lie.text(), vec![]);
        }
        let mut consult = Vec::new();
        if faults.strikes(Fault::Consult) {
            let ids = self.sketch.steps.iter().map(|step| step.id.clone());
            consult = ids.filter(|_| self.rng.permille(150)).collect();
        }
        plan(self.sketch.text(), consult)
    }

    fn revise(&mut self, why: &Why, request: &PlanRequest, faults: &mut FaultPlan) -> PlanReply {
        if why.refined().is_some() {
            if faults.strikes(Fault::Lie) {
                let mut lie = self.sketch.clone();
                lie.lie();
                return plan(lie.text(), vec![]);
            }
            self.sketch.refine(&mut self.rng);
            return plan(self.sketch.text(), vec![]);
        }
        if matches!(why, Why::Observed { .. }) && self.rng.permille(700) {
            return PlanReply::Decline("what was seen changes nothing".to_owned());
        }
        if faults.strikes(Fault::Lie) {
            self.sketch.lie();
            return plan(self.sketch.text(), vec![]);
        }
        if faults.strikes(Fault::Again) {
            // Why: a planner sees the word of a status, and may want done what is in doubt.
            let mut steps = self.sketch.steps.iter().filter(|step| {
                let seen = request.observations.get(&step.id);
                let word = seen.map_or("", |seen| seen.status.as_str());
                !step.tool.is_empty()
                    && !step.target.starts_with('\'')
                    && ["in_doubt", "failed", "succeeded"].contains(&word)
            });
            let wanted = steps.clone().find(|step| {
                let seen = request.observations.get(&step.id);
                seen.is_some_and(|seen| seen.status == "in_doubt")
            });
            if let Some(step) = wanted.or_else(|| steps.next()).cloned() {
                // Why: the check refuses the same literals; what run time tells, it cannot see.
                let target = format!("'${{ run.id != \"\" ? \"{}\" : \"\" }}'", step.target);
                self.sketch.add(&step.tool, (&target, &step.place), true);
                return plan(self.sketch.text(), vec![]);
            }
        }
        if self.rng.permille(150) {
            return plan(self.sketch.text(), vec![]);
        }
        let tool = if self.rng.permille(500) {
            self.rng.pick(&READS)
        } else {
            self.rng.pick(&WRITES)
        };
        let target = format!("u{}", self.sketch.steps.len());
        self.sketch.add(tool, (&target, &target), true);
        plan(self.sketch.text(), vec![])
    }
}

fn plan(text: String, consult: Vec<String>) -> PlanReply {
    PlanReply::Plan {
        text,
        name: "plan".to_owned(),
        author: "a simulated planner".to_owned(),
        literals: Label::trusted(),
        control: Label::trusted(),
        consult,
        because: None,
    }
}
