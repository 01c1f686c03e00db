//! The search: every choice at every state, depth first.
//!
//! A choice is: which call in flight ends next and how, whether the process dies (before the
//! commit, after it, or at rest, with or without losing what was not synced), and which of the
//! calls that were on their way took place.

use std::collections::BTreeSet;

use provost_plan::label::Label;
use provost_plan::plan::request::{PlanReply, Why};
use provost_plan::policy::Principal;
use provost_run::event::{Event, StepStatus};
use provost_run::machine::{Command, Input, Output, Receipt, Rules, Run};
use provost_run::outcome::{Class, Landing, Reply};
use serde_json::json;

use super::node::{Flight, Node};
use super::{Bounds, PlanCase, Tally, kinds_of};

pub(super) struct Search<'a> {
    pub(super) case: &'a PlanCase,
    pub(super) rules: &'a Rules,
    pub(super) principal: &'a Principal,
    pub(super) bounds: Bounds,
    pub(super) tally: &'a mut Tally,
    pub(super) seen: BTreeSet<String>,
}

/// How a call ends: the name of the fault, the reply, whether the effect takes place.
const ENDINGS: [(&str, Class, Landing, bool); 5] = [
    ("ok", Class::Ok, Landing::Happened, true),
    ("refused", Class::Unavailable, Landing::None, false),
    ("denied", Class::PermissionDenied, Landing::None, false),
    (
        "timeout before the effect",
        Class::Timeout,
        Landing::Unknown,
        false,
    ),
    (
        "timeout after the effect",
        Class::Timeout,
        Landing::Unknown,
        true,
    ),
];

impl Search<'_> {
    /// Goes on from an output that is not yet committed.
    pub(super) fn follow_output(&mut self, before: Node, output: Output) -> Result<(), String> {
        self.tally.boundaries += 1;
        self.tally.kinds.extend(kinds_of(&output.append));
        if before.crashes > 0 && !before.journal.is_empty() {
            self.crash(&before, "crash before the commit")?;
        }
        let mut node = before;
        let at = node.run.state().last_at;
        let sync = output.sync && !self.bounds.forget_sync;
        for event in output.append {
            node.journal.push((event, at));
        }
        // Why: a run that lost its very beginning was never acknowledged to anybody.
        if sync || node.durable == 0 {
            node.durable = node.journal.len();
        }
        if node.crashes > 0 {
            self.crash(&node, "crash after the commit")?;
        }
        let receipt = Receipt {
            run: node.run.state().run.clone(),
            through: node.journal.len() as u64,
            durable: true,
        };
        for command in output
            .commands
            .open(&receipt)
            .map_err(|error| error.to_string())?
        {
            match command {
                Command::Call(call) => node.flights.push(Flight { call: *call }),
                Command::Plan(request) => node.request = Some(*request),
                Command::WaitUntil(at) => node.timer = Some(at),
                Command::Ask(..) | Command::Question(..) | Command::Done(_) => {}
            }
        }
        self.follow_state(&node)
    }

    /// Goes on from a state at rest: committed, with its commands on their way.
    fn follow_state(&mut self, node: &Node) -> Result<(), String> {
        self.judge(node);
        if !self.seen.insert(node.fingerprint()) {
            return Ok(());
        }
        self.tally.states += 1;
        if node.crashes > 0 && !node.flights.is_empty() {
            self.crash(node, "crash with calls in flight")?;
        }
        for index in 0..node.flights.len() {
            for ending in ENDINGS {
                if ending.0 == "ok" || node.faults > 0 {
                    self.end_call(node, index, ending)?;
                }
            }
        }
        if !node.flights.is_empty() {
            return Ok(());
        }
        if let Some(request) = &node.request {
            let mut next = node.clone();
            next.request = None;
            let reply = self.plan_for(request.why.as_ref());
            return self.step(
                next,
                Input::Planned {
                    id: request.id,
                    reply,
                },
            );
        }
        if let Some((digest, _)) = node.run.state().open_cards().next() {
            let (card, by) = (*digest, self.principal.clone());
            return self.step(
                node.clone(),
                Input::Approve {
                    card,
                    by,
                    steps: Vec::new(),
                },
            );
        }
        if let Some(at) = node.timer.filter(|_| node.run.state().ended.is_none()) {
            let mut next = node.clone();
            next.now = at.max(next.now);
            next.timer = None;
            return self.step(next, Input::Tick);
        }
        let end = node.run.state().status().word();
        *self.tally.ends.entry(end.to_owned()).or_default() += 1;
        Ok(())
    }

    fn plan_for(&self, why: Option<&Why>) -> PlanReply {
        if why.is_some() {
            return PlanReply::Decline("there is one plan only".to_owned());
        }
        PlanReply::Plan {
            text: self.case.text.clone(),
            name: "plan".to_owned(),
            author: "enumeration".to_owned(),
            literals: Label::trusted(),
            control: Label::trusted(),
            consult: Vec::new(),
            because: None,
        }
    }

    fn step(&mut self, mut node: Node, input: Input) -> Result<(), String> {
        let before = node.clone();
        let output = node
            .run
            .step(input, node.now)
            .map_err(|error| error.to_string())?;
        let after = Node {
            run: node.run,
            ..before
        };
        self.follow_output(after, output)
    }

    fn end_call(
        &mut self,
        node: &Node,
        index: usize,
        (name, class, landing, effect): (&'static str, Class, Landing, bool),
    ) -> Result<(), String> {
        let mut next = node.clone();
        let flight = next.flights.remove(index);
        self.tally.faults.insert(name);
        next.story.push(format!(
            "{} #{}: {name}",
            flight.call.slot(),
            flight.call.attempt()
        ));
        next.faults -= u32::from(class != Class::Ok);
        if effect {
            next.world.perform(&flight.call);
        }
        let reply = match class {
            Class::Ok => Reply::ok(json!({ "done": true }), b"done".to_vec(), "text/plain"),
            class => Reply::failed(class, landing, name),
        };
        let slot = flight.call.slot().clone();
        let attempt = flight.call.attempt();
        self.step(
            next,
            Input::Ended {
                slot,
                attempt,
                reply,
            },
        )
    }

    /// The process dies: every subset of the calls on their way may have taken place, and power
    /// may be lost with it.
    fn crash(&mut self, node: &Node, name: &'static str) -> Result<(), String> {
        self.tally.faults.insert(name);
        let subsets = 1usize << node.flights.len();
        for subset in 0..subsets {
            let mut world = node.world.clone();
            for (bit, flight) in node.flights.iter().enumerate() {
                if subset & (1 << bit) != 0 {
                    world.perform(&flight.call);
                }
            }
            let whole = node.journal.len();
            let mut kept = vec![whole];
            if node.durable < whole && node.durable > 0 {
                kept.push(node.durable);
            }
            for kept in kept {
                self.restart(node, &world, kept, name)?;
            }
        }
        Ok(())
    }

    fn restart(
        &mut self,
        node: &Node,
        world: &super::node::World,
        kept: usize,
        name: &'static str,
    ) -> Result<(), String> {
        let mut journal = node.journal.clone();
        if kept < journal.len() {
            self.tally.faults.insert("loss of power");
        }
        journal.truncate(kept);
        let run = Run::from_journal(
            journal.iter().map(|(event, at)| (event, *at)),
            self.rules.clone(),
        )
        .map_err(|error| error.to_string())?;
        let mut story = node.story.clone();
        story.push(format!(
            "{name}, {kept} of {} events kept",
            node.journal.len()
        ));
        let next = Node {
            run,
            durable: kept.min(node.durable),
            journal,
            flights: Vec::new(),
            request: None,
            timer: None,
            world: world.clone(),
            crashes: node.crashes - 1,
            story,
            ..node.clone()
        };
        self.judge(&next);
        if next.run.state().ended.is_some() {
            return self.follow_state(&next);
        }
        if !self.seen.insert(format!("resume {}", next.fingerprint())) {
            return Ok(());
        }
        self.step(next, Input::Resume)
    }

    /// Counts what must not be.
    fn judge(&mut self, node: &Node) {
        let doubled = |counts: &std::collections::BTreeMap<String, u32>| {
            counts.values().filter(|count| **count > 1).count() as u64
        };
        let keyed = doubled(&node.world.by_step);
        let plain = doubled(&node.world.plain);
        let intended: BTreeSet<String> = node
            .journal
            .iter()
            .filter_map(|(event, _)| match event {
                Event::AttemptStarted(started) => Some(started.slot.to_string()),
                _ => None,
            })
            .collect();
        let effects = node.world.by_step.keys().chain(node.world.plain.keys());
        let lost = effects.filter(|step| !intended.contains(*step)).count() as u64;
        self.tally.doubled_keyed += keyed;
        self.tally.doubled_plain += plain;
        self.tally.lost += lost;
        if keyed + plain + lost > 0 && self.tally.witness.is_none() {
            self.tally.witness = Some(node.story.clone());
        }
        for effect in &node.run.state().effects {
            let over = node
                .run
                .state()
                .item(&effect.slot)
                .and_then(|item| item.settled);
            if effect.landing == Landing::Unknown
                && let Some(status) = over
            {
                self.tally.ambiguous += 1;
                self.tally.in_doubt += u64::from(status == StepStatus::InDoubt);
            }
        }
    }
}
