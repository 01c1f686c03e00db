//! What admission answers: stops from outside, and equal calls of another run.
//!
//! Owns a step of the machine beside them, and when another run makes a call. Never decides what
//! follows. INVARIANT: a turn is made again until admission has nothing new to say of it.

use provost_run::admission::{Admission, AdmissionEntry, Denial, Stop};
use provost_run::event::Event;
use provost_run::machine::{Input, Output, Run, StepError};

use super::Place;
use super::catalog::{self, Kind};
use super::explore::Search;
use super::machine::{Machine, Outside};
use super::node::Node;
use super::plans::undoes;
use super::stops::Scope;
use crate::repeats::{Looks, Others, RepeatReading};

/// What admission knows.
pub(super) struct Beside {
    stopped: Option<Scope>,
    others: Others,
    looks: Looks,
}

impl Beside {
    /// A step of a run beside it.
    pub(super) fn step(&self, run: &mut Run, input: &Input, now: i64) -> Result<Output, StepError> {
        let (before, mut said) = (run.clone(), Admission::default());
        let mut output = run.step(input.clone(), now)?;
        loop {
            let about = (&*output.admission, &*output.append);
            let differs = self.others.confirm(about, self.looks, &mut said);
            // Why: a store says first what is not as the turn knows it, and admits nothing.
            if !differs && !self.denies(&output, &mut said) {
                return Ok(output);
            }
            *run = before.clone();
            output = run.step_beside(input.clone(), now, &said)?;
        }
    }

    /// Whether something wants to begin that is stopped, and was not said to be.
    fn denies(&self, output: &Output, said: &mut Admission) -> bool {
        let known = said.denials.len();
        for entry in &output.admission {
            if let AdmissionEntry::Begin(begin) = entry
                && self
                    .stopped
                    .is_some_and(|scope| scope.covers(&begin.operation))
            {
                let stop = Stop {
                    what: "all runs".to_owned(),
                    by: "bob".to_owned(),
                    reason: "not now".to_owned(),
                };
                said.denials
                    .insert(begin.slot.clone(), Denial::Stopped(stop));
            }
        }
        said.denials.len() > known
    }
}

impl Search<'_> {
    pub(super) fn beside(&self, (stopped, repeated): Outside) -> Beside {
        let mut others = Others::default();
        if let Some(place) = repeated.and_then(|place| self.case.places.get(place)) {
            others.made(place.call(), 0);
        }
        Beside {
            stopped,
            others,
            looks: self.bounds.looks,
        }
    }

    /// Another run makes a call that this one makes, too; or it is known that it did not.
    pub(super) fn others_call(&mut self, node: &Node) -> Result<(), String> {
        if !self.bounds.repeats {
            return Ok(());
        }
        if node.repeated.is_some() {
            let mut next = node.clone();
            next.repeated = None;
            next.story
                .tell("the call of another run did not take place", None);
            return self.follow_state(&next);
        }
        if node.left.words == 0 {
            return Ok(());
        }
        let writes = |place: &Place| place.kind != Kind::Read && !undoes(place);
        for (index, _) in self
            .case
            .places
            .iter()
            .enumerate()
            .filter(|(_, p)| writes(p))
        {
            self.tally.faults.insert("another run makes the same call");
            let mut next = node.clone();
            next.left.words -= 1;
            next.repeated = Some(index);
            next.story.tell("another run makes the same call", None);
            self.follow_state(&next)?;
        }
        Ok(())
    }

    /// Looks at what a turn recorded beside the calls of another run.
    pub(super) fn judge_repeats(&mut self, from: &Machine, events: &[Event], beside: &Beside) {
        if !self.bounds.repeats {
            return;
        }
        let journal = from.journal.events();
        let mut reading = RepeatReading::of(journal.into_iter().map(|(event, _)| event));
        for event in events {
            for what in reading.read(event, &beside.others, catalog::rule) {
                let lines = events.iter().map(|event| format!("{event:?}"));
                self.broke(what, lines.collect());
            }
        }
    }
}
