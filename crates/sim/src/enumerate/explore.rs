//! The search: every choice at every state, depth first, what costs nothing first.
//!
//! A choice is: which call in flight ends next and how, what a planner proposes, what a person
//! says, whether time passes, whether the process dies. INVARIANT: a state is left out only if an
//! equal one was followed with at least as much that may still go wrong.

use std::collections::HashMap;
use std::rc::Rc;

use provost_run::event::Event;
use provost_run::machine::{Output, Rules, Run};
use provost_run::state::State;

use super::catalog::{FINAL_AFTER_MS, Kind};
use super::fingerprint::Prints;
use super::judge::BEGUN_UNHEARD;
use super::machine::Settled;
use super::machine::{Facts, Journal, Machine, Stepped, Told};
use super::node::Node;
use super::told::{ENDINGS, Ending, LATE};
use super::world::{Class, Flight};
use super::{Bounds, Budget, PlanCase, Tally};
use crate::table::Heard;

pub(super) struct Search<'a> {
    pub(super) case: &'a PlanCase,
    pub(super) rules: &'a Rules,
    pub(super) bounds: Bounds,
    pub(super) tally: Tally,
    pub(super) seen: HashMap<u64, Vec<Budget>>,
    pub(super) machines: HashMap<Prints, Rc<Machine>>,
}

impl Search<'_> {
    /// Begins with the first output of a run.
    pub(super) fn begin(&mut self, run: Run, output: Output) -> Result<(), String> {
        let stepped = self.arrived(run, None, None, Heard::Create, output, 0)?;
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
    fn follow_state(&mut self, node: &Node) -> Result<(), String> {
        let key = node.key("at rest", self.case, self.bounds.merge_equals);
        if !self.is_new(key, node.left) {
            return Ok(());
        }
        self.judge_state(node);
        let facts = &node.at.facts;
        if facts.ended.is_none() && facts.hears {
            self.goes_on(node)?;
        } else if facts.ended.is_none() && node.posted.is_some() {
            self.hear_posted(node)?;
        } else if facts.ended.is_none() {
            for index in 0..node.flights.len() {
                self.end_call(node, index, 0)?;
            }
            self.planner_replies(node)?;
            self.people_answer(node)?;
            self.time_passes(node)?;
            self.calls_fail(node)?;
            self.late_ones_land(node)?;
            self.person_settles(node)?;
            self.person_stops(node)?;
            if node.left.crashes > 0 && !node.flights.is_empty() {
                self.crash(node, "crash with calls in flight")?;
            }
        }
        let moves = !facts.cards.is_empty()
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
    pub(super) fn step(&mut self, node: &Node, told: Told) -> Result<(), String> {
        let stepped = self.stepped(&node.at, told, node.waited)?;
        if node.posted.is_some() && !stepped.flights.is_empty() {
            self.broke(BEGUN_UNHEARD, node.story.lines(&self.case.places));
        }
        self.follow(node, &stepped)
    }

    /// A process took the run up: what a person posted meanwhile, or says to it by taking it up, is
    /// heard; then it goes on.
    fn goes_on(&mut self, node: &Node) -> Result<(), String> {
        // Why not then: a card that lapsed is not there, also before that is recorded.
        if node.at.facts.lapses.is_none_or(|left| left > node.waited) {
            self.people_answer(node)?;
        }
        if node.left.words > 0 {
            for told in self.postable(node) {
                self.tally
                    .faults
                    .insert("a statement waits for who takes the run up");
                let mut next = node.clone();
                next.left.words -= 1;
                next.story.tell("a person posts a statement", None);
                next.posted = Some(told);
                if self.bounds.dispatch_first {
                    self.step(&next, Told::Proceed)?;
                } else {
                    self.hear_posted(&next)?;
                }
            }
        }
        self.step(node, Told::Proceed)
    }

    fn hear_posted(&mut self, node: &Node) -> Result<(), String> {
        let mut next = node.clone();
        match next.posted.take() {
            Some(told) => self.step(&next, told),
            None => Ok(()),
        }
    }

    /// What a person may have said while nobody drove the run.
    fn postable(&self, node: &Node) -> Vec<Told> {
        let mut all = vec![Told::Cancel];
        all.push(if node.at.facts.paused {
            Told::GoOn
        } else {
            Told::Pause
        });
        // Why not for the control: what it lets happen first may make them too late.
        if !self.bounds.dispatch_first {
            all.extend(self.case.can_undo().then_some(Told::Undo));
            all.extend(self.settlements(node));
        }
        all
    }

    fn calls_fail(&mut self, node: &Node) -> Result<(), String> {
        if node.left.faults == 0 {
            return Ok(());
        }
        for (index, flight) in node.flights.iter().enumerate() {
            for (number, ending) in ENDINGS.iter().enumerate().skip(1) {
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
        next.left.faults -= u8::from(number > 0);
        if *effect {
            next.world.perform(flight);
        }
        if number == LATE {
            next.late.push(flight);
            next.late.sort_unstable();
        }
        let found = node.world.count(flight.place).is_there() && flight.class == Class::Find;
        self.step(&next, Told::Ended(flight, number, found))
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

    /// A person says what became of a doubtful call: the truth, or that nobody will know.
    fn person_settles(&mut self, node: &Node) -> Result<(), String> {
        if node.left.words == 0 {
            return Ok(());
        }
        for told in self.settlements(node) {
            self.tally.faults.insert("a person settles a doubt");
            let mut next = node.clone();
            next.left.words -= 1;
            next.story.tell("a person settles a doubt", None);
            self.step(&next, told)?;
        }
        Ok(())
    }

    /// What can truly be said of the doubts, and that nobody will know.
    fn settlements(&self, node: &Node) -> Vec<Told> {
        let mut all = Vec::new();
        if !node.late.is_empty() {
            return all;
        }
        for (place, again, early) in &node.at.facts.doubts {
            let count = node.world.count(*place).called;
            let happened = if *again { count[1] } else { count[0] };
            let truth = if happened {
                Settled::Happened
            } else {
                Settled::DidNotHappen
            };
            for settled in [truth, Settled::Abandoned] {
                // Why: that it did not happen is not heard before it must have.
                if *early && settled == Settled::DidNotHappen {
                    continue;
                }
                all.push(Told::Settle(*place, *again, settled));
            }
        }
        all
    }

    fn planner_replies(&mut self, node: &Node) -> Result<(), String> {
        if !node.asked {
            return Ok(());
        }
        let mut next = node.clone();
        next.asked = false;
        if !node.at.facts.revises {
            return self.step(&next, Told::Plan);
        }
        if node.left.replans > 0 {
            for place in &node.at.facts.proposals {
                let mut next = next.clone();
                next.left.replans -= 1;
                self.tally.faults.insert("a revision calls it again");
                next.story.tell("a revision calls it again", None);
                self.step(&next, Told::Again(*place))?;
            }
        }
        self.step(&next, Told::Decline)
    }

    fn people_answer(&mut self, node: &Node) -> Result<(), String> {
        for card in 0..node.at.facts.cards.len() {
            let mut next = node.clone();
            next.story.tell("a person says yes", None);
            self.step(&next, Told::Yes(card))?;
            if node.left.refusals > 0 {
                self.tally.faults.insert("a person says no");
                let mut next = node.clone();
                next.left.refusals -= 1;
                next.story.tell("a person says no", None);
                self.step(&next, Told::No(card))?;
            }
        }
        Ok(())
    }

    /// The moment comes that is waited for; if a card lapses by it, that is a refusal.
    fn time_passes(&mut self, node: &Node) -> Result<(), String> {
        let Some(wait) = node.timer else {
            return Ok(());
        };
        // Why: by then what is still on its way has taken place, as the catalog says.
        if wait >= FINAL_AFTER_MS / 2 && !node.late.is_empty() {
            return Ok(());
        }
        let mut next = node.clone();
        next.wait(wait);
        next.timer = None;
        if node.at.facts.lapses.is_some_and(|left| left <= wait) {
            if node.left.refusals == 0 {
                return Ok(());
            }
            self.tally.faults.insert("nobody answers");
            next.left.refusals -= 1;
            next.story.tell("nobody answers", None);
        }
        self.step(&next, Told::Tick)
    }

    fn person_stops(&mut self, node: &Node) -> Result<(), String> {
        if node.at.facts.paused {
            let mut next = node.clone();
            next.story.tell("a person lets it go on", None);
            self.step(&next, Told::GoOn)?;
        }
        if node.left.words == 0 {
            return Ok(());
        }
        let mut next = node.clone();
        next.left.words -= 1;
        if !node.at.facts.paused {
            self.tally.faults.insert("a person pauses");
            let mut next = next.clone();
            next.story.tell("a person pauses", None);
            self.step(&next, Told::Pause)?;
        }
        if self.case.can_undo() {
            self.tally.faults.insert("a person has it undone");
            let mut next = next.clone();
            next.story.tell("a person has it undone", None);
            self.step(&next, Told::Undo)?;
        }
        self.tally.faults.insert("a person cancels");
        next.story.tell("a person cancels", None);
        self.step(&next, Told::Cancel)
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
        let at = state.last_at;
        for event in events {
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
        heard: Heard,
        output: Output,
        now: i64,
    ) -> Result<Stepped, String> {
        let state = run.state();
        self.judge_turn(state, heard, &output.append);
        let sync = output.sync;
        let through = output.first_seq + output.append.len() as u64 - 1;
        let (journal, fold) = self.kept(from, state, &output.append)?;
        let (flights, asks_planner, timer) = self.open(state, again, through, output.commands)?;
        let timer = timer.map(|at| (at - now).max(0));
        let prints = Prints::of((state, run.is_hearing()), self.case, again, now);
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
