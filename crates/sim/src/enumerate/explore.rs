//! The search: every choice at every state, depth first, what costs nothing first.
//!
//! A choice is: which call in flight ends next and how, what a planner proposes, what a person
//! says, whether time passes, whether the process dies. INVARIANT: a state is left out only if an
//! equal one was followed with at least as much that may still go wrong.

use std::collections::HashMap;
use std::rc::Rc;

use provost_engine::people::Inbox;
use provost_run::event::Event;
use provost_run::machine::{Output, Rules, Run};
use provost_run::state::State;

use super::catalog::Kind;
use super::fingerprint::Prints;
use super::inputs::{ENDINGS, Ending, LATE, NOT_YET};
use super::judge::BEGUN_UNHEARD;
use super::machine::{Facts, Journal, Machine, MachineInput, Stepped};
use super::node::Node;
use super::people::{LISTED, NONCE};
use super::reading::Reading;
use super::stops::{BEGUN_STOPPED, Scope};
use super::world::{Class, Flight};
use super::{Bounds, Budget, PlanCase, Tally};
use crate::polls::Polls;
use crate::table::TurnInput;

pub(super) struct Search<'a> {
    pub(super) case: &'a PlanCase,
    pub(super) rules: &'a Rules,
    pub(super) bounds: Bounds,
    pub(super) tally: Tally,
    pub(super) seen: HashMap<u64, Vec<Budget>>,
    pub(super) machines: HashMap<Prints, Rc<Machine>>,
    pub(super) inbox: Inbox,
    /// What the journal holds where the search begins.
    pub(super) prior: Vec<Event>,
}

impl Search<'_> {
    /// Begins with the first output of a run.
    pub(super) fn begin(&mut self, run: Run, output: Output) -> Result<(), String> {
        let stepped = self.arrived(run, None, None, TurnInput::Create, output, 0)?;
        let node = Node::new(stepped.to.clone(), self.case, self.bounds.budget);
        self.follow(&node, &stepped)
    }

    /// Goes on from a step that is not yet committed; `before` is what a crash finds.
    pub(super) fn follow(&mut self, before: &Node, stepped: &Stepped) -> Result<(), String> {
        self.tally.transitions += 1;
        let mut node = before.clone();
        node.at = stepped.to.clone();
        node.waited = 0;
        // Why: a run that lost its very beginning was never acknowledged to anybody.
        if stepped.sync && !self.bounds.forget_sync {
            node.tail.clear();
        }
        if node
            .tail
            .last()
            .is_none_or(|(last, _)| last.id != node.at.id)
        {
            node.tail.push((node.at.clone(), 0));
        }
        let mut opened = node.clone();
        opened.flights.extend(&stepped.flights);
        opened.flights.sort_unstable();
        opened.asked |= stepped.asks_planner;
        opened.timer = stepped.timer.or(opened.timer);
        // Why: what is undone needs no plan any more.
        opened.asked &= opened.at.run.state().planning.outstanding.is_some();
        if opened.at.facts.ended.is_some() {
            (opened.asked, opened.timer) = (false, None);
        }
        let holds = |(at, _): &(Rc<Machine>, i64)| at.reading.holds(NONCE);
        // Why not before: what a loss of power takes with it is heard again.
        if opened.heard && (opened.left.crashes == 0 || opened.tail.iter().all(holds)) {
            (opened.posted, opened.heard) = (None, false);
        }
        self.follow_state(&opened)?;
        if before.left.crashes > 0 {
            self.tally.boundaries += 1;
            if !before.tail.is_empty() {
                self.crash(before, "crash before the commit")?;
            }
            self.crash(&node, "crash after the commit")?;
        }
        Ok(())
    }

    /// Whether a state was not followed before with as much left; it is from here on.
    pub(super) fn is_new(&mut self, key: u64, left: Budget) -> bool {
        let known = self.seen.entry(key).or_default();
        if known.iter().any(|known| known.covers(&left)) {
            return false;
        }
        self.tally.states += u64::from(known.is_empty());
        known.retain(|known| !left.covers(known));
        known.push(left);
        true
    }

    /// Goes on from a state at rest: committed, with its commands on their way.
    pub(super) fn follow_state(&mut self, node: &Node) -> Result<(), String> {
        let key = node.key("at rest", self.case, self.bounds.merge_equals);
        if !self.is_new(key, node.left) {
            return Ok(());
        }
        self.judge_state(node);
        let facts = &node.at.facts;
        if facts.ended.is_none() && facts.hears {
            self.goes_on(node)?;
        } else if facts.ended.is_none() && node.posted.is_some() && !node.heard {
            self.hear_posted(node)?;
        } else if facts.ended.is_none() {
            for index in 0..node.flights.len() {
                self.end_call(node, index, 0)?;
            }
            self.planner_replies(node)?;
            self.people_speak(node)?;
            self.time_passes(node)?;
            self.polls_go_on(node)?;
            self.calls_fail(node)?;
            self.others_call(node)?;
            self.late_ones_land(node)?;
            if node.left.crashes > 0 && !node.flights.is_empty() {
                self.crash(node, "crash with calls in flight")?;
            }
        } else {
            self.undone_after_the_end(node)?;
        }
        let moves = !facts.cards.is_empty()
            || !facts.questions.is_empty()
            || node.stopped.is_some()
            || node.asked
            || node.timer.is_some()
            || facts.paused
            || facts.hears
            || !node.flights.is_empty()
            || !node.late.is_empty();
        if facts.ended.is_some() || !moves {
            *self.tally.ends.entry(facts.status).or_default() += 1;
        }
        Ok(())
    }

    /// Gives the machine an input, in a node that already shows what came with it.
    pub(super) fn step(&mut self, node: &Node, told: MachineInput) -> Result<(), String> {
        let outside = (node.stopped, node.repeated);
        let stepped = self.stepped(&node.at, told, (node.waited, outside))?;
        let Some(stepped) = stepped else {
            return Ok(());
        };
        let lines = || node.story.lines(&self.case.places);
        if node.posted.is_some() && !node.heard && !stepped.flights.is_empty() {
            self.broke(BEGUN_UNHEARD, lines());
        }
        if node.stopped.is_some() && self.begins_stopped(node.stopped, &stepped.flights) {
            self.broke(BEGUN_STOPPED, lines());
        }
        self.follow(node, &stepped)
    }

    /// A read answers, and what is polled for has not come.
    fn polls_go_on(&mut self, node: &Node) -> Result<(), String> {
        for (index, flight) in node.flights.iter().enumerate() {
            if flight.class == Class::Read && self.case.polls(flight.place) {
                self.end_call(node, index, NOT_YET)?;
            }
        }
        Ok(())
    }

    fn calls_fail(&mut self, node: &Node) -> Result<(), String> {
        if node.left.faults == 0 {
            return Ok(());
        }
        for (index, flight) in node.flights.iter().enumerate() {
            for (number, ending) in ENDINGS.iter().enumerate().take(NOT_YET).skip(1) {
                // Why: a read has no effect, so before and after are one; and only who is asked
                // whether a write took place can be asked too early.
                let first = flight.class.is_read() && (ending.effect || number == LATE);
                if !first && (number != LATE || self.is_asked(*flight)) {
                    self.end_call(node, index, number)?;
                }
            }
        }
        Ok(())
    }

    fn end_call(&mut self, node: &Node, index: usize, number: usize) -> Result<(), String> {
        let Some(Ending { name, effect, .. }) = ENDINGS.get(number) else {
            return Ok(());
        };
        self.tally.faults.insert(name);
        let mut next = node.clone();
        let flight: Flight = next.flights.remove(index);
        next.story.tell(name, Some(flight));
        next.left.faults -= u8::from(number > 0 && number != NOT_YET);
        if *effect {
            next.world.perform(flight);
        }
        if number == LATE {
            next.late.push(flight);
            next.late.sort_unstable();
        }
        let found = node.world.count(flight.place).is_there() && flight.class == Class::Find;
        self.step(&next, MachineInput::Ended(flight, number, found))
    }

    /// Whether one of these calls is within the scope of a stop.
    fn begins_stopped(&self, stopped: Option<Scope>, flights: &[Flight]) -> bool {
        flights.iter().any(|flight| match stopped {
            Some(Scope::All) => true,
            Some(Scope::Of(kind)) => {
                let place = self.case.places.get(flight.place);
                flight.class != Class::Find && place.is_some_and(|place| place.kind == kind)
            }
            None => false,
        })
    }

    /// Whether a read asks if the call took place.
    pub(super) fn is_asked(&self, flight: Flight) -> bool {
        let place = self.case.places.get(flight.place);
        !flight.class.is_read() && place.is_some_and(|place| place.kind == Kind::Found)
    }

    /// A write takes place that nobody waits for any more.
    fn late_ones_land(&mut self, node: &Node) -> Result<(), String> {
        for index in 0..node.late.len() {
            let mut next = node.clone();
            let flight = next.late.remove(index);
            self.tally.faults.insert("takes place after all");
            next.world.perform(flight);
            next.story.tell("takes place after all", Some(flight));
            self.follow_state(&next)?;
        }
        Ok(())
    }

    fn planner_replies(&mut self, node: &Node) -> Result<(), String> {
        if !node.asked {
            return Ok(());
        }
        let mut next = node.clone();
        next.asked = false;
        if !node.at.facts.revises {
            return self.step(&next, MachineInput::Plan);
        }
        if node.at.facts.unplanned {
            next.story.tell("the planner plans for another goal", None);
            self.step(&next, MachineInput::Plan)?;
            self.step(&next, MachineInput::Longer)?;
            return self.step(&next, MachineInput::Decline);
        }
        if node.left.replans > 0 {
            for place in &node.at.facts.proposals {
                let mut next = next.clone();
                next.left.replans -= 1;
                self.tally.faults.insert("a revision calls it again");
                next.story.tell("a revision calls it again", None);
                self.step(&next, MachineInput::Again(*place))?;
            }
        }
        self.step(&next, MachineInput::Decline)
    }

    /// The journal with these events, and what it folds to, event by event.
    fn kept(
        &mut self,
        from: Option<&Machine>,
        state: &State,
        events: &[Event],
    ) -> Result<(Journal, State), String> {
        let mut journal = from.map(|from| from.journal.clone()).unwrap_or_default();
        let mut fold = from.map(|from| from.fold.clone());
        let at = state.spend.last_at;
        let prior = if from.is_none() {
            self.prior.clone()
        } else {
            Vec::new()
        };
        for event in prior.iter().chain(events) {
            let read = super::machine::stored(event)?;
            match &mut fold {
                Some(fold) => fold.apply(&read, at).map_err(|error| error.to_string())?,
                None => fold = Some(State::begin(&read, at).map_err(|error| error.to_string())?),
            }
            if read != *event {
                self.broke("an event is read as another", Vec::new());
            }
            journal.push(read, at);
        }
        Ok((journal, fold.ok_or("a run without an event")?))
    }

    /// The machine as it stands after an output; the one that is known, if an equal one is.
    pub(super) fn arrived(
        &mut self,
        run: Run,
        from: Option<&Machine>,
        again: Option<usize>,
        heard: TurnInput,
        output: Output,
        now: i64,
    ) -> Result<Stepped, String> {
        let state = run.state();
        self.judge_turn(state, heard, &output.append);
        let sync = output.sync;
        let through = output.first_seq + output.append.len() as u64 - 1;
        let (journal, fold) = self.kept(from, state, &output.append)?;
        let reading = from.map(|from| from.reading.clone());
        let mut reading = reading.unwrap_or_else(|| {
            let polls = Polls::strict(self.bounds.strict_polls);
            let lasts = self.case.question_lasts();
            let mut reading = Reading::of(&LISTED)
                .with_polls(polls)
                .with_questions_of(lasts);
            self.prior
                .iter()
                .for_each(|event| _ = reading.read(event, now));
            reading
        });
        for event in &output.append {
            for what in reading.read(event, now) {
                let lines = output.append.iter().map(|event| format!("{event:?}"));
                self.broke(what, lines.collect());
            }
        }
        self.judge_sum(state, &reading, &output.append);
        let (flights, asks_planner, timer) = self.open(state, again, through, output.commands)?;
        let timer = timer.map(|at| (at - now).max(0));
        let prints = Prints::of(&run, &reading, (self.case, again), now);
        let to = match self.machines.get(&prints) {
            Some(machine) => machine.clone(),
            None => {
                let machine = Rc::new(Machine {
                    id: self.machines.len(),
                    facts: Facts::of(&run, self.case, again, now),
                    run,
                    journal,
                    fold,
                    now,
                    again,
                    prints: prints.clone(),
                    reading,
                    steps: Default::default(),
                });
                self.judge_machine(&machine)?;
                self.machines.insert(prints, machine.clone());
                machine
            }
        };
        Ok(Stepped {
            to,
            sync,
            flights,
            asks_planner,
            timer,
        })
    }
}
