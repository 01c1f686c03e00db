//! Faults planted in templates, one in each run, with their truth.
//!
//! Owns which fault goes where and who did it. INVARIANT: the truth is written down before the run
//! is played, and a run that succeeds in spite of its fault is no case.

use std::collections::BTreeMap;

use provost_plan::plan::request::NoPlan;
use provost_plan::plan::{Goal, Limits};
use provost_run::admission::Denial;
use provost_run::event::{AskMode, Event, PlannerChoice, PlannerView};
use provost_run::outcome::{Class, Landing};
use provost_run::read::why::{Guilty, Party};
use serde_json::{Value, json};

use super::depot::{depot_answers, depot_rules};
use super::desk::{desk_answers, desk_rules};
use super::rules::Moved;
use super::stage::{BEGIN_MS, Fault, Journal, Stage, Turn, World, play};
use super::template::{Slip, TEMPLATES, Template};
use super::{Case, Stratum, Truth, succeeded};

/// Often enough that every attempt fails.
pub(super) const ALWAYS: usize = 99;
const PROJECTS: [&str; 8] = ["PAY", "OPS", "WEB", "LAW", "HRM", "LAB", "IOT", "DEV"];

/// Every case of so many variants of each template.
///
/// # Errors
/// A sentence, if a template does not succeed without a fault, or the machine refuses one.
pub fn cases(variants: usize) -> Result<Vec<Case>, String> {
    let mut cases = Vec::new();
    let mut errors = Vec::new();
    for template in TEMPLATES {
        for variant in 0..variants {
            errors.extend(planted_in(template, variant, &mut cases).err());
        }
    }
    match errors.is_empty() {
        true => Ok(cases),
        false => Err(errors.join("\n")),
    }
}

fn planted_in(
    template: &'static Template,
    variant: usize,
    cases: &mut Vec<Case>,
) -> Result<(), String> {
    let planter = Planter::new(template, variant)?;
    planter.tools(cases)?;
    planter.rest(cases)?;
    planter.ruled_out(cases)?;
    planter.open(cases)?;
    planter.refused_here(cases)?;
    planter.beside_the_point(cases)?;
    planter.witnessed(cases)?;
    planter.pairs(cases)
}

pub(super) struct Planter {
    pub(super) template: &'static Template,
    variant: usize,
    pub(super) right: Stage,
    pub(super) journal: Journal,
}

/// A case as it is planted: its fault in a word, what decides it, and the truth.
pub(super) struct Planted {
    pub(super) fault: &'static str,
    pub(super) stratum: Stratum,
    pub(super) truths: Vec<Truth>,
}

pub(super) fn planted(fault: &'static str, stratum: Stratum, truth: Truth) -> Planted {
    Planted {
        fault,
        stratum,
        truths: vec![truth],
    }
}

pub(super) fn truth(guilty: Guilty, party: Party, step: Option<&str>) -> Truth {
    Truth {
        guilty,
        party,
        step: step.map(str::to_owned),
    }
}

pub(super) fn by_tool(step: &str) -> Truth {
    truth(Guilty::Execution, Party::Tool, Some(step))
}

impl Planter {
    fn new(template: &'static Template, variant: usize) -> Result<Self, String> {
        let mut planter = Self {
            template,
            variant,
            right: stage_of(template),
            journal: Vec::new(),
        };
        planter.right.world = planter.world();
        let fill = |text: &str| planter.fill(text);
        let mut goal = Goal::of_text(template.goal);
        for (name, value) in template.params {
            goal.params.insert((*name).to_owned(), json!(fill(value)));
        }
        let answers = template.answers.iter();
        let answers: BTreeMap<String, Value> = answers
            .map(|(id, value)| ((*id).to_owned(), json!(fill(value))))
            .collect();
        let turns = std::iter::once(&template.plan).chain(template.more);
        let consult: Vec<String> = template.consult.iter().map(|id| (*id).to_owned()).collect();
        let turns: Vec<Turn> = turns
            .map(|text| Turn::Plan(fill(text), consult.clone()))
            .collect();
        planter.right.goal = goal;
        planter.right.answers = answers;
        planter.right.turns = turns;
        planter.journal = play(&planter.right)?;
        if !succeeded(&planter.journal) {
            let last = planter.journal.last().map(|(event, _)| event.to_stored().2);
            let last = last.unwrap_or_default();
            return Err(format!("{} does not succeed: {last}", template.name));
        }
        Ok(planter)
    }

    pub(super) fn fill(&self, text: &str) -> String {
        let project = PROJECTS
            .get(self.variant % PROJECTS.len())
            .unwrap_or(&"PAY");
        let serial = self.variant / PROJECTS.len();
        let id = |number: usize| format!("{project}-{}", number + 10 * serial);
        text.replace("{P}", project)
            .replace("{A}", &id(1))
            .replace("{B}", &id(2))
            .replace("{X}", &id(9))
    }

    /// Two open records, and one of another project.
    fn world(&self) -> World {
        let one = |project: &str, amount: usize| {
            let project = self.fill(project);
            json!({ "project": project, "amount": amount, "state": "open" })
        };
        World::from([
            (self.fill("{A}"), one("{P}", 40 + self.variant)),
            (self.fill("{B}"), one("{P}", 20)),
            ("FAR-1".to_owned(), one("FAR", 30)),
        ])
    }

    /// The world in which nothing is open any more.
    pub(super) fn closed(&self) -> World {
        let mut world = self.world();
        for one in world.values_mut() {
            if let Some(one) = one.as_object_mut() {
                one.insert("state".to_owned(), json!("closed"));
                one.insert("amount".to_owned(), json!(0));
            }
        }
        world
    }

    fn stratum(&self) -> Stratum {
        match self.variant % 2 {
            0 => Stratum::Nothing,
            _ => Stratum::Reference,
        }
    }

    /// The right stage with a fault.
    pub(super) fn with(&self, fault: Fault) -> Stage {
        let mut stage = self.right.clone();
        stage.faults.push(fault);
        stage
    }

    /// The right stage with another text in its plans.
    pub(super) fn written(&self, from: &str, to: &str) -> Result<Stage, String> {
        let (from, to) = (self.fill(from), self.fill(to));
        let mut stage = self.right.clone();
        let mut found = false;
        for turn in &mut stage.turns {
            if let Turn::Plan(text, _) = turn
                && text.contains(&from)
            {
                *text = text.replace(&from, &to);
                found = true;
            }
        }
        match found {
            true => Ok(stage),
            false => Err(format!("{}: no `{from}` to write over", self.template.name)),
        }
    }

    pub(super) fn add(
        &self,
        cases: &mut Vec<Case>,
        what: Planted,
        stage: &Stage,
    ) -> Result<(), String> {
        self.add_beside(cases, what, stage, (Vec::new(), self.journal.clone()))
    }

    pub(super) fn add_beside(
        &self,
        cases: &mut Vec<Case>,
        what: Planted,
        stage: &Stage,
        (earlier, right): (Vec<Journal>, Journal),
    ) -> Result<(), String> {
        let at = |error: String| format!("{}, {}: {error}", self.template.name, what.fault);
        let journal = play(stage).map_err(at)?;
        if !succeeded(&right) {
            return Err(at("the run without the fault does not succeed".to_owned()));
        }
        if succeeded(&journal) {
            return Ok(());
        }
        cases.push(Case {
            name: format!("{}/{}/{}", self.template.name, self.variant, what.fault),
            fault: what.fault,
            held_out: self.template.held_out,
            stratum: what.stratum,
            truths: what.truths,
            journal,
            earlier,
            right,
        });
        Ok(())
    }

    /// What tools, the host and the operator do at each step.
    fn tools(&self, cases: &mut Vec<Case>) -> Result<(), String> {
        use Guilty::{Execution, Neither};
        use Stratum::Journal;
        let none = Landing::None;
        for step in self.template.reads.iter().chain(self.template.writes) {
            let at = Some(*step);
            let tool = |fault| planted(fault, Journal, by_tool(step));
            let fails = |class| self.with(Fault::Fails(step, class, none, ALWAYS));
            self.add(cases, tool("unavailable"), &fails(Class::Unavailable))?;
            // Why open of a list: how fast its items follow each other is the plan's.
            let pace = match self.runs_over_list(step) {
                true => planted("rate_limited", Stratum::Nothing, by_tool(step)),
                false => tool("rate_limited"),
            };
            self.add(cases, pace, &fails(Class::RateLimited))?;
            self.add(cases, tool("partial"), &fails(Class::Partial))?;
            let wrong = self.with(Fault::Answers(step, json!({ "no": "such shape" })));
            self.add(cases, tool("output_invalid"), &wrong)?;
            let slow = self.with(Fault::Slow(step, 9_000));
            self.add(cases, tool("timeout"), &slow)?;
            let until = 0;
            let because = "it failed too often".to_owned();
            let broken = Denial::Later {
                until,
                broken: true,
                because,
            };
            self.add(
                cases,
                tool("breaker_open"),
                &self.with(Fault::Denied(step, broken)),
            )?;
            let operator = |fault| planted(fault, Journal, truth(Execution, Party::Operator, at));
            // Why both: what the account may not and what nobody may leave one journal.
            for (fault, whose) in [
                ("permission_denied", truth(Execution, Party::Operator, at)),
                ("denied_this_one", truth(Guilty::Plan, Party::Planner, at)),
            ] {
                let what = planted(fault, Stratum::Nothing, whose);
                self.add(cases, what, &fails(Class::PermissionDenied))?;
            }
            self.add(cases, operator("misdeclared"), &fails(Class::Misdeclared))?;
            let host = planted("tool_bug", Journal, truth(Execution, Party::Host, at));
            self.add(cases, host, &fails(Class::ToolBug))?;
        }
        for step in self.template.reads {
            let moves = |fault| planted(fault, Journal, truth(Neither, Party::Operator, None));
            let policy = self.with(Fault::Moves(step, Moved::Policy));
            self.add(cases, moves("policy_moved"), &policy)?;
            let entries = self.with(Fault::Moves(step, Moved::Entries));
            self.add(cases, moves("entry_moved"), &entries)?;
        }
        for step in self.template.writes {
            let host = truth(Execution, Party::Host, Some(step));
            let unknown = Fault::Fails(step, Class::Unavailable, Landing::Unknown, ALWAYS);
            let doubt = planted("doubt", Journal, by_tool(step));
            self.add(cases, doubt, &self.with(unknown))?;
            let lost = planted("lost", Journal, host);
            self.add(cases, lost, &self.with(Fault::Dies(step)))?;
            let doubted = Denial::Doubt {
                run: "another".to_owned(),
                slot: "pay".to_owned(),
            };
            let repeated = planted("doubt_elsewhere", Journal, by_tool(step));
            self.add(cases, repeated, &self.with(Fault::Denied(step, doubted)))?;
        }
        Ok(())
    }

    /// What people, planners, rules and limits do.
    fn rest(&self, cases: &mut Vec<Case>) -> Result<(), String> {
        use Guilty::{Neither, Plan};
        use Stratum::Journal;
        let person = |fault| planted(fault, Journal, truth(Neither, Party::Person, None));
        self.add(cases, person("rejected"), &self.with(Fault::No))?;
        if self.asks() {
            let silent = match self.template.plan.contains("expires:") {
                // Why open: the plan gave the time.
                true => planted(
                    "expired",
                    Stratum::Nothing,
                    truth(Neither, Party::Person, None),
                ),
                false => person("expired"),
            };
            self.add(cases, silent, &self.with(Fault::Silence))?;
        }
        if self.template.asks_plan {
            for step in self.template.writes {
                self.add(
                    cases,
                    person("left_out"),
                    &self.with(Fault::LeavesOut(step)),
                )?;
            }
        }
        let turns = |turns: Vec<Turn>| {
            let mut stage = self.right.clone();
            stage.turns = turns;
            stage
        };
        let plan = |text: &str| Turn::Plan(self.fill(text), Vec::new());
        let planner = |fault| planted(fault, Journal, truth(Plan, Party::Planner, None));
        let other = self.fill(self.template.plan).replace("tool: ", "tool: no.");
        let wrong = vec![plan(&other), plan(&other)];
        self.add(cases, planner("unknown_tool"), &turns(wrong))?;
        let garbage = vec![Turn::Garbage, Turn::Garbage, Turn::Garbage];
        self.add(cases, planner("garbage"), &turns(garbage))?;
        let missing = self
            .fill(self.template.plan)
            .replace("steps:\n", "stages:\n");
        let missing = vec![plan(&missing), plan(&missing)];
        self.add(cases, planner("no_steps"), &turns(missing))?;
        let none = |fault| planted(fault, Journal, truth(Neither, Party::Planner, None));
        self.add(cases, none("declines"), &turns(vec![Turn::Declines]))?;
        for (fault, class) in [
            ("crashes", NoPlan::Crashed),
            ("hangs", NoPlan::Timeout),
            ("unreachable", NoPlan::Unreachable),
        ] {
            self.add(cases, none(fault), &turns(vec![Turn::Fails(class)]))?;
        }
        for step in self.template.reads.iter().chain(self.template.writes) {
            let mut stage = self.with(Fault::Cancels(step));
            let fails = Fault::Fails(step, Class::Unavailable, Landing::None, ALWAYS);
            stage.faults.push(fails);
            self.add(cases, person("cancelled"), &stage)?;
        }
        Ok(())
    }

    /// What policy or limits alone refuse. Why both truths: another plan might have done without.
    fn ruled_out(&self, cases: &mut Vec<Case>) -> Result<(), String> {
        use Guilty::{Neither, Plan};
        let text = self.forbidden();
        let plan = || Turn::Plan(self.fill(&text), Vec::new());
        let mut forbidden = self.right.clone();
        forbidden.turns = vec![plan(), plan()];
        let mut low = self.right.clone();
        low.limits.calls = 0;
        for whose in [
            truth(Neither, Party::Operator, None),
            truth(Plan, Party::Planner, None),
        ] {
            let rules = |fault| planted(fault, Stratum::Nothing, whose.clone());
            self.add(cases, rules("policy_forbids"), &forbidden)?;
            self.add(cases, rules("limit_too_low"), &low)?;
        }
        Ok(())
    }

    /// Whether a step calls its tool for each item of a list.
    fn runs_over_list(&self, step: &str) -> bool {
        self.journal.iter().any(|(event, _)| {
            matches!(event, Event::AttemptStarted(started)
                if started.slot.step == step && started.slot.item.is_some())
        })
    }

    /// Whether the step whose status a proof reads has a condition.
    fn is_guarded(&self, proof: &str) -> bool {
        let steps = self.template.plan.split("\n  - ").map(str::trim_start);
        let mut guarded = steps.filter(|step| step.contains("when:"));
        guarded.any(|step| {
            let id = step.split("id: ").nth(1).unwrap_or_default();
            let id = id.split([',', '\n']).next().unwrap_or_default();
            proof.contains(&format!("steps.{id}.status"))
        })
    }

    /// Whether a person is asked anything.
    fn asks(&self) -> bool {
        self.journal.iter().any(|(event, _)| {
            matches!(
                event,
                Event::ApprovalRequested { .. } | Event::QuestionAsked { .. }
            )
        })
    }

    /// A plan that opens the vault, which policy forbids.
    fn forbidden(&self) -> String {
        let name = match self.template.held_out {
            true => "code",
            false => "id",
        };
        let step = format!(
            "steps:\n  - {{ id: vault, tool: vault.open, args: {{ {name}: \"{}\" }} }}\n",
            self.fill("{A}")
        );
        let read = "${ steps.vault.status == \"succeeded\" }";
        format!(
            "schema: provost/plan/v1\nsuccess:\n  - {{ for: goal, check: '{read}' }}\n\
             {step}answer: open\n"
        )
    }

    /// What a journal alone does not tell.
    fn open(&self, cases: &mut Vec<Case>) -> Result<(), String> {
        use Guilty::{Neither, Plan};
        let stratum = self.stratum();
        for step in self.template.reads {
            let lie = self.with(Fault::Lies(step, self.closed()));
            self.add(cases, planted("lie", stratum, by_tool(step)), &lie)?;
            let missing = self.with(Fault::Lies(step, World::new()));
            self.add(
                cases,
                planted("lie_missing", stratum, by_tool(step)),
                &missing,
            )?;
            let narrow = self.narrowed(step)?;
            let little = planted(
                "too_little",
                stratum,
                truth(Plan, Party::Planner, Some(step)),
            );
            let slowly = play(&self.with(Fault::Slow(step, 300)))?;
            self.add_beside(cases, little, &narrow, (Vec::new(), slowly))?;
            // Why again: a tool that is slow for once leaves the same journal.
            let mut quick = narrow.clone();
            quick.faults.clear();
            let slow = planted("slow", stratum, by_tool(step));
            self.add_beside(cases, slow, &narrow, (Vec::new(), play(&quick)?))?;
        }
        for slip in self.template.slips {
            let planner = |step| truth(Plan, Party::Planner, step);
            let (fault, step, from, to) = match *slip {
                Slip::Constant(from, to) => {
                    // Why open: what a condition reads decides the status that is proven.
                    let decided = match self.is_guarded(to) {
                        true => Stratum::Nothing,
                        false => Stratum::Journal,
                    };
                    let what = planted("bad_proof", decided, planner(None));
                    self.add(cases, what, &self.written(from, to)?)?;
                    continue;
                }
                Slip::Proof(from, to) => ("proof", None, from, to),
                Slip::Names(step, from, to) => ("names_nothing", Some(step), from, to),
                Slip::Accepts(step, from, to) => ("accept", Some(step), from, to),
                Slip::Refused(step, from, to) => ("refused", Some(step), from, to),
            };
            let what = planted(fault, stratum, planner(step));
            self.add(cases, what, &self.written(from, to)?)?;
        }
        let mut empty = self.right.clone();
        empty.world = self.closed();
        let world = truth(Neither, Party::World, None);
        // Why not by a reference: a run that is right saw another world.
        self.add(cases, planted("world", Stratum::Nothing, world), &empty)?;
        if stratum == Stratum::Reference {
            self.given(cases, stratum, &Vec::new())?;
        }
        Ok(())
    }

    /// What the goal or a person names is not there.
    pub(super) fn given(
        &self,
        cases: &mut Vec<Case>,
        stratum: Stratum,
        earlier: &[Journal],
    ) -> Result<(), String> {
        let beside = || (earlier.to_vec(), self.journal.clone());
        let nothing = json!(self.fill("{X}"));
        for (name, _) in self.template.params {
            let mut stage = self.right.clone();
            stage
                .goal
                .params
                .insert((*name).to_owned(), nothing.clone());
            let goal = truth(Guilty::Neither, Party::Goal, None);
            self.add_beside(cases, planted("goal", stratum, goal), &stage, beside())?;
        }
        for (id, _) in self.template.answers {
            let mut stage = self.right.clone();
            stage.answers.insert((*id).to_owned(), nothing.clone());
            let person = truth(Guilty::Neither, Party::Person, None);
            self.add_beside(cases, planted("answer", stratum, person), &stage, beside())?;
        }
        Ok(())
    }

    /// The plan gives a step less time than its tool takes.
    pub(super) fn narrowed(&self, step: &'static str) -> Result<Stage, String> {
        let (inline, block) = (
            format!("id: {step}, tool:"),
            format!("id: {step}\n    tool:"),
        );
        let stage = self.written(&inline, &format!("id: {step}, timeout: 200ms, tool:"));
        let within = format!("id: {step}\n    timeout: 200ms\n    tool:");
        let mut stage = stage.or_else(|_| self.written(&block, &within))?;
        stage.faults.push(Fault::Slow(step, 300));
        Ok(stage)
    }
}

pub(super) fn playbook() -> PlannerChoice {
    PlannerChoice::Playbook {
        name: "corpus".to_owned(),
    }
}

/// The stage of a template, before anything is filled in.
fn stage_of(template: &Template) -> Stage {
    let planner = match template.program {
        true => PlannerChoice::Process {
            program: "corpus".to_owned(),
            view: PlannerView::References,
        },
        false => playbook(),
    };
    Stage {
        rules: if template.held_out {
            depot_rules
        } else {
            desk_rules
        },
        honest: if template.held_out {
            depot_answers
        } else {
            desk_answers
        },
        goal: Goal::of_text(template.goal),
        planner,
        turns: Vec::new(),
        ask: if template.asks_plan {
            AskMode::Plan
        } else {
            AskMode::Step
        },
        limits: Limits::default(),
        world: World::new(),
        answers: BTreeMap::new(),
        faults: Vec::new(),
        begins: BEGIN_MS,
    }
}
