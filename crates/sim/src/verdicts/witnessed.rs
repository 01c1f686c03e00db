//! Faults that other calls of a tool tell, and two faults at once.
//!
//! Owns the runs that witness: one call each, before the run that is judged. INVARIANT: a witness
//! is answered honestly.

use provost_run::event::{AskMode, Event};
use provost_run::outcome::{Class, Landing};
use provost_run::read::why::{Guilty, Party};
use serde_json::{Value, json};

use super::plant::{ALWAYS, Planted, Planter, by_tool, planted, playbook, truth};
use super::stage::{BEGIN_MS, Fault, Journal, Stage, Turn, World, play};
use super::template::Slip;
use super::{Case, Stratum, succeeded};

impl Planter {
    /// What other calls tell.
    pub(super) fn witnessed(&self, cases: &mut Vec<Case>) -> Result<(), String> {
        use Guilty::{Neither, Plan};
        use Stratum::Witness;
        let mut any_other = Vec::new();
        for step in self.template.reads.iter().chain(self.template.writes) {
            let Some((operation, args)) = self.call_of(step) else {
                continue;
            };
            let same = vec![self.probe(&operation, &args, 0)?];
            self.denied_everywhere(cases, step, (&operation, &args))?;
            let other = vec![self.probe(&operation, &self.other(&args), 0)?];
            any_other.extend(other.clone());
            let right = || self.journal.clone();
            let changed = Fault::Fails(step, Class::InvalidArguments, Landing::None, ALWAYS);
            // Why open of a write: the call before it changed the world itself.
            let decided = match self.template.reads.contains(step) {
                true => Witness,
                false => Stratum::Nothing,
            };
            let what = planted("tool_changed", decided, by_tool(step));
            self.add_beside(cases, what, &self.with(changed), (same.clone(), right()))?;
            if self.template.reads.contains(step) && operation != "desk.list" {
                let gone = self.with(Fault::Lies(step, World::new()));
                // Why open: somebody may have deleted it.
                let what = planted("gone", Stratum::Nothing, by_tool(step));
                self.add_beside(cases, what, &gone, (same, right()))?;
                let slow = vec![self.probe(&operation, &args, 300)?];
                let slowly = play(&self.with(Fault::Slow(step, 300)))?;
                let what = truth(Plan, Party::Planner, Some(step));
                let what = planted("too_little_time", Witness, what);
                self.add_beside(cases, what, &self.narrowed(step)?, (slow, slowly))?;
            }
            for slip in self.template.slips {
                let (fault, from, to) = match *slip {
                    Slip::Names(at, from, to) if at == *step => ("names_nothing", from, to),
                    Slip::Refused(at, from, to) if at == *step && self.template.name == "memo" => {
                        ("bad_arguments", from, to)
                    }
                    _ => continue,
                };
                // Why open of a write: the world may have changed since it was planned.
                let decided = match fault {
                    "bad_arguments" if self.template.writes.contains(step) => Stratum::Nothing,
                    _ => Witness,
                };
                let what = planted(fault, decided, truth(Plan, Party::Planner, Some(step)));
                let stage = self.written(from, to)?;
                self.add_beside(cases, what, &stage, (other.clone(), right()))?;
            }
        }
        self.given(cases, Witness, &any_other)?;
        if self.template.name == "fresh" {
            let moved = Fault::WorldMoves("left", self.closed());
            // Why open: its tool may be wrong either time.
            let what = planted(
                "world",
                Stratum::Nothing,
                truth(Neither, Party::World, None),
            );
            self.add(cases, what, &self.with(moved))?;
        }
        Ok(())
    }

    /// The adapter itself refuses what the plan, the goal, an answer or a step gave.
    pub(super) fn refused_here(&self, cases: &mut Vec<Case>) -> Result<(), String> {
        use Guilty::{Neither, Plan};
        for slip in self.template.slips {
            if let Slip::Refused(step, from, to) = *slip {
                let mut stage = self.written(from, to)?;
                stage.faults.push(Fault::Refuses(step, "text"));
                let what = truth(Plan, Party::Planner, Some(step));
                self.add(
                    cases,
                    planted("refused_here", Stratum::Journal, what),
                    &stage,
                )?;
            }
        }
        let whose = match self.template.name {
            "param" => truth(Neither, Party::Goal, None),
            "question" => truth(Neither, Party::Person, None),
            "chain" => by_tool("list"),
            _ => return Ok(()),
        };
        // Why both: the plan chose what goes where.
        for whose in [whose, truth(Plan, Party::Planner, Some("get"))] {
            let what = planted("refused_given", Stratum::Nothing, whose);
            self.add(cases, what, &self.with(Fault::Refuses("get", "id")))?;
        }
        Ok(())
    }

    /// A person's answer fails a write. Two readings differ from those of the run that is right:
    /// one that nothing rests on, and one of which only other fields are read.
    pub(super) fn beside_the_point(&self, cases: &mut Vec<Case>) -> Result<(), String> {
        if self.template.name != "aside" {
            return Ok(());
        }
        let mut stage = self.with(Fault::Lies("aside", self.closed()));
        stage.faults.push(Fault::Lies("seen", self.closed()));
        let long = "seen and looked at and written down";
        stage.answers.insert("which".to_owned(), json!(long));
        let person = truth(Guilty::Neither, Party::Person, None);
        self.add(
            cases,
            planted("answer_beside", Stratum::Reference, person),
            &stage,
        )
    }

    /// The account is denied this call, and another one in another run.
    fn denied_everywhere(
        &self,
        cases: &mut Vec<Case>,
        step: &'static str,
        (operation, args): (&str, &Value),
    ) -> Result<(), String> {
        let class = Class::PermissionDenied;
        let denied = self.with(Fault::Fails(step, class, Landing::None, ALWAYS));
        let all = vec![self.denied(operation, &self.other(args))?];
        let operator = truth(Guilty::Execution, Party::Operator, Some(step));
        let what = planted("denied_all", Stratum::Witness, operator);
        self.add_beside(cases, what, &denied, (all, self.journal.clone()))
    }

    /// The operation and arguments of a step in the run without a fault.
    fn call_of(&self, step: &str) -> Option<(String, Value)> {
        self.journal.iter().find_map(|(event, _)| match event {
            Event::AttemptStarted(started)
                if started.slot.step == step && !started.purpose.is_auxiliary() =>
            {
                Some((started.operation.clone(), started.args.clone()))
            }
            _ => None,
        })
    }

    /// The same arguments about another record.
    fn other(&self, args: &Value) -> Value {
        let (one, two) = (self.fill("{A}"), self.fill("{B}"));
        let mut args = args.clone();
        for value in args
            .as_object_mut()
            .into_iter()
            .flat_map(|map| map.values_mut())
        {
            let text = value.as_str().map(str::to_owned).unwrap_or_default();
            if value.is_number() {
                *value = json!(1);
            } else if text == one {
                *value = json!(two);
            } else if text == two {
                *value = json!(one);
            } else if text == self.fill("{P}") {
                *value = json!("FAR");
            } else if text == "oncall" {
                *value = json!("desk");
            }
        }
        args
    }

    /// A run of one step that makes this call, which takes so long.
    fn probe(&self, operation: &str, args: &Value, takes: i64) -> Result<Journal, String> {
        let mut stage = self.probing(operation, args);
        if takes > 0 {
            stage.faults.push(Fault::Slow("probe", takes));
        }
        let journal = play(&stage)?;
        match succeeded(&journal) {
            true => Ok(journal),
            false => Err(format!(
                "{}: the probe of {operation} {args} fails",
                self.template.name
            )),
        }
    }

    /// A run of one step whose call is denied.
    fn denied(&self, operation: &str, args: &Value) -> Result<Journal, String> {
        let mut stage = self.probing(operation, args);
        let class = Class::PermissionDenied;
        let denied = Fault::Fails("probe", class, Landing::None, ALWAYS);
        stage.faults.push(denied);
        play(&stage)
    }

    /// A stage with one step that makes this call.
    fn probing(&self, operation: &str, args: &Value) -> Stage {
        let mut stage = self.right.clone();
        stage.faults.clear();
        stage.begins = BEGIN_MS - 600_000;
        stage.ask = AskMode::Step;
        stage.planner = playbook();
        let plan = format!(
            "schema: provost/plan/v1\nsuccess:\n  - {{ for: goal, check: '${{ \
             steps.probe.status == \"succeeded\" }}' }}\nsteps:\n  - {{ id: probe, tool: \
             {operation}, args: {args}, accept: ['${{ size(string(output)) > 0 }}'] }}\nanswer: \
             seen\n"
        );
        let plan = match operation.ends_with(".note") || operation.ends_with(".refund") {
            true => plan.replace("size(string(output)) > 0", "output.done"),
            false => plan,
        };
        let plan = plan.replace(", accept: ['${ size(string(output)) > 0 }']", "");
        stage.turns = vec![Turn::Plan(plan, Vec::new())];
        stage
    }

    /// Two things that go wrong at once, in steps that do not wait for each other.
    pub(super) fn pairs(&self, cases: &mut Vec<Case>) -> Result<(), String> {
        let ["one", "two"] = self.template.reads else {
            return Ok(());
        };
        let kinds = [
            (Class::Unavailable, Party::Tool),
            (Class::Misdeclared, Party::Operator),
            (Class::ToolBug, Party::Host),
            (Class::Partial, Party::Tool),
            (Class::RateLimited, Party::Tool),
        ];
        for (first, of_first) in kinds {
            for (second, of_second) in kinds {
                let mut stage = self.with(Fault::Fails("one", first, Landing::None, ALWAYS));
                stage
                    .faults
                    .push(Fault::Fails("two", second, Landing::None, ALWAYS));
                let truths = vec![
                    truth(Guilty::Execution, of_first, Some("one")),
                    truth(Guilty::Execution, of_second, Some("two")),
                ];
                let what = Planted {
                    fault: "two_causes",
                    stratum: Stratum::Journal,
                    truths,
                };
                self.add(cases, what, &stage)?;
            }
        }
        Ok(())
    }
}
