//! Crashes: what the process leaves behind, and how another takes the run up.
//!
//! Owns which calls on their way take place, how much of the journal a loss of power leaves, and
//! how long nobody is there. INVARIANT: a crash leaves the end of a commit, never the middle.

use super::catalog::KEY_LIVES_MS;
use super::explore::Search;
use super::machine::MachineInput;
use super::node::Node;
use super::world::{Flight, World};

impl Search<'_> {
    /// The process dies: every subset of the calls on their way takes place, and power may be lost
    /// with it.
    pub(super) fn crash(&mut self, node: &Node, name: &'static str) -> Result<(), String> {
        self.tally.faults.insert(name);
        for choice in 0..3usize.pow(u32::try_from(node.flights.len()).unwrap_or(0)) {
            let Some((world, late)) = self.after(node, choice) else {
                continue;
            };
            let mut after = node.clone();
            (after.world, after.late) = (world, late);
            for kept in 1..=node.tail.len() {
                self.come_back(&after, kept, name, false)?;
                self.come_back(&after, kept, name, true)?;
            }
        }
        Ok(())
    }

    /// The world once some of the calls on their way took place, and those that still will; `None`
    /// if the choice is the same as another. Each digit of the choice is about one call.
    fn after(&self, node: &Node, choice: usize) -> Option<(World, Vec<Flight>)> {
        let (mut world, mut late, mut rest) = (node.world.clone(), node.late.clone(), choice);
        for flight in &node.flights {
            match rest % 3 {
                0 => {}
                _ if flight.class.is_read() => return None,
                1 => world.perform(*flight),
                _ if self.is_asked(*flight) => late.push(*flight),
                _ => return None,
            }
            rest /= 3;
        }
        late.sort_unstable();
        Some((world, late))
    }

    /// Another process takes the run up, at once or when no tool remembers a key any more.
    fn come_back(
        &mut self,
        node: &Node,
        kept: usize,
        name: &'static str,
        late: bool,
    ) -> Result<(), String> {
        let Some(((last, age), _)) = node.tail.get(..kept).and_then(<[_]>::split_last) else {
            return Ok(());
        };
        let asks = !last.facts.cards.is_empty();
        if late && (!last.facts.ages || !node.late.is_empty() || (asks && node.left.refusals == 0))
        {
            return Ok(());
        }
        let mut next = node.clone();
        next.left.crashes -= 1;
        next.at = last.clone();
        next.waited = *age;
        // Why: what a loss of power left is on the disk.
        if kept < node.tail.len() {
            self.tally.faults.insert("loss of power");
            next.tail = vec![(last.clone(), *age)];
        }
        next.flights.clear();
        next.heard = false;
        next.asked = false;
        next.timer = None;
        let stage = if late { "back late" } else { "back" };
        let key = next.key(stage, self.case, self.bounds.merge_equals);
        if !self.is_new(key, next.left) {
            return Ok(());
        }
        next.story.tell(name, None);
        self.judge_state(&next);
        if late {
            self.tally.faults.insert("back when no key is remembered");
            next.left.refusals -= u8::from(asks);
            next.story.tell("nobody is there for a long time", None);
            next.wait(KEY_LIVES_MS);
            next.world.forget_keys();
        }
        if last.facts.ended.is_some() {
            return self.undone_after_the_end(&next);
        }
        self.step(&next, MachineInput::Resume)
    }
}
