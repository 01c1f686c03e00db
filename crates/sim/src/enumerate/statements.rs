//! When people say what: every statement that is right, at every state, by whoever may make it.
//!
//! Owns the choice of statements and the way they come: said to whoever drives the run, said by
//! taking it up, or posted and heard by whoever takes it up. INVARIANT: what was posted is heard by
//! whoever takes the run up next, as long as the journal does not hold it.

use super::catalog::FINAL_AFTER_MS;
use super::explore::Search;
use super::machine::{MachineInput, Settled};
use super::node::Node;
use super::people::{Amendment, NONCE, Person, Saying};
use super::stops::Scope;

/// What a statement takes from what may still go wrong.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Price {
    Nothing,
    Refusal,
    Word,
}

impl Saying {
    fn price(self) -> Price {
        match self {
            Self::Yes(_) | Self::Answer(..) | Self::GoOn => Price::Nothing,
            Self::No(..) => Price::Refusal,
            Self::Settle(..)
            | Self::Pause
            | Self::Cancel
            | Self::Undo
            | Self::UndoEnded
            | Self::Amend(_) => Price::Word,
        }
    }
}

impl Search<'_> {
    /// Everything that is right to say now, and by whom.
    fn sayings(&self, node: &Node) -> Vec<(Person, Saying)> {
        let facts = &node.at.facts;
        let mut all = Vec::new();
        // Why not then: what lapsed is not there, also before that is recorded.
        let in_time = facts.lapses.is_none_or(|left| left > node.waited);
        if in_time {
            for (card, digest) in facts.cards.iter().enumerate() {
                for by in [Person::Ada, Person::Bob] {
                    let one = by == Person::Ada || self.bounds.two_people;
                    if one && node.at.reading.may_answer(digest, by.id()) {
                        all.extend([Saying::Yes(card), Saying::No(card, false)].map(|s| (by, s)));
                        let all_left = self.bounds.two_people;
                        all.extend(all_left.then_some((by, Saying::No(card, true))));
                    }
                }
            }
        }
        let other = if self.bounds.two_people {
            Person::Bob
        } else {
            Person::Ada
        };
        for (question, (_, choices)) in facts.questions.iter().enumerate() {
            let choices = if in_time { *choices } else { 0 };
            all.extend((0..choices).map(|choice| (other, Saying::Answer(question, choice))));
        }
        all.extend(self.settlements(node).into_iter().map(|s| (other, s)));
        all.extend(facts.paused.then_some((Person::Ada, Saying::GoOn)));
        all.extend((!facts.paused).then_some((other, Saying::Pause)));
        all.extend(self.case.can_undo().then_some((other, Saying::Undo)));
        all.push((Person::Ada, Saying::Cancel));
        if self.case.is_amended() {
            for amendment in Amendment::ALL {
                all.push((Person::Ada, Saying::Amend(amendment)));
                let by_both = self.bounds.two_people;
                all.extend(by_both.then_some((other, Saying::Amend(amendment))));
            }
        }
        let left = node.left;
        all.retain(|(_, saying)| match saying.price() {
            Price::Nothing => true,
            Price::Refusal => left.refusals > 0,
            Price::Word => left.words > 0,
        });
        all
    }

    /// Somebody says something to whoever drives the run, or takes it up to say it.
    pub(super) fn people_speak(&mut self, node: &Node) -> Result<(), String> {
        for (by, saying) in self.sayings(node) {
            let next = self.saying(node, saying);
            self.step(&next, MachineInput::Says(by, saying))?;
        }
        self.stop_from_outside(node)
    }

    /// Somebody takes a run up that has ended, and has undone what it did.
    pub(super) fn undone_after_the_end(&mut self, node: &Node) -> Result<(), String> {
        if !self.case.can_undo() || node.left.words == 0 || node.posted.is_some() {
            return Ok(());
        }
        let people: &[Person] = match self.bounds.two_people {
            true => &[Person::Ada, Person::Bob],
            false => &[Person::Ada],
        };
        for by in people {
            let next = self.saying(node, Saying::UndoEnded);
            self.step(&next, MachineInput::Says(*by, Saying::UndoEnded))?;
        }
        Ok(())
    }

    /// The node in which somebody is about to say something.
    fn saying(&mut self, node: &Node, saying: Saying) -> Node {
        let words = saying.words();
        self.tally.faults.insert(words);
        let mut next = node.clone();
        next.story.tell(words, None);
        match saying.price() {
            Price::Nothing => {}
            Price::Refusal => next.left.refusals -= 1,
            Price::Word => next.left.words -= 1,
        }
        next
    }

    /// A process took the run up: what a person posted meanwhile, or says to it by taking it up, is
    /// heard; then it goes on.
    pub(super) fn goes_on(&mut self, node: &Node) -> Result<(), String> {
        if node.posted.is_some() {
            return self.hear_posted(node);
        }
        self.people_speak(node)?;
        // Why a word: who posts is a second person, beside whoever takes the run up.
        if node.left.words > 0 {
            for (by, saying) in self.sayings(node) {
                if self.bounds.dispatch_first && !is_stop(saying) {
                    continue;
                }
                self.tally
                    .faults
                    .insert("a statement waits for who takes the run up");
                let mut next = self.saying(node, saying);
                if saying.price() != Price::Word {
                    next.left.words -= 1;
                }
                next.story.tell("as a statement that was posted", None);
                next.posted = Some((by, saying));
                if self.bounds.dispatch_first {
                    self.step(&next, MachineInput::Proceed)?;
                } else {
                    self.hear_posted(&next)?;
                }
            }
        }
        self.step(node, MachineInput::Proceed)
    }

    /// What was posted is heard; a driver notes that only once the journal holds it, so it may
    /// hear it again.
    pub(super) fn hear_posted(&mut self, node: &Node) -> Result<(), String> {
        let Some((by, saying)) = node.posted else {
            return Ok(());
        };
        let known = node.at.reading.holds(NONCE);
        if !known || self.bounds.hears_anew {
            let told = MachineInput::Posted(by, saying, known);
            let at = (node.waited, (node.stopped, node.repeated));
            if let Some(stepped) = self.stepped(&node.at, told, at)? {
                let mut next = node.clone();
                next.heard = true;
                return self.follow(&next, &stepped);
            }
        }
        // Why: it was refused, or said before.
        let mut next = node.clone();
        next.posted = None;
        self.follow_state(&next)
    }

    /// What can truly be said of the doubts, and that nobody will know.
    fn settlements(&self, node: &Node) -> Vec<Saying> {
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
                all.push(Saying::Settle(*place, *again, settled));
            }
        }
        all
    }

    /// Somebody stops more than this run, or lifts that stop.
    fn stop_from_outside(&mut self, node: &Node) -> Result<(), String> {
        if !self.bounds.stops || node.at.facts.hears {
            return Ok(());
        }
        if node.stopped.is_some() {
            let mut next = node.clone();
            next.stopped = None;
            next.story.tell("a stop from outside is lifted", None);
            return self.follow_state(&next);
        }
        if node.left.words == 0 {
            return Ok(());
        }
        let of = self.case.steps.last().map(|step| Scope::Of(step.kind));
        for scope in [Some(Scope::All), of].into_iter().flatten() {
            self.tally
                .faults
                .insert("a person stops more than this run");
            let mut next = node.clone();
            next.left.words -= 1;
            next.stopped = Some(scope);
            next.story.tell("a person stops more than this run", None);
            self.follow_state(&next)?;
        }
        Ok(())
    }

    /// The moment comes that is waited for; if something lapses by it, that is a refusal.
    pub(super) fn time_passes(&mut self, node: &Node) -> Result<(), String> {
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
        self.step(&next, MachineInput::Tick)
    }
}

/// Why these alone for the control: what it lets happen first may make the others too late.
fn is_stop(saying: Saying) -> bool {
    matches!(saying, Saying::Cancel | Saying::Pause | Saying::GoOn)
}
