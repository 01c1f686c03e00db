//! Feeds a target: seeds, changed and put together, as a seeded generator says.
//!
//! Owns mutation and the pool of inputs. It is guided by what targets say they reached (codes,
//! kinds, verdicts), not by coverage. INVARIANT: a seed gives the same inputs, whatever the clock.

use std::collections::BTreeSet;
use std::panic::{AssertUnwindSafe, catch_unwind};

use super::{seeds, take_reached};
use crate::rng::Rng;

/// Longest input that is made, in bytes.
const INPUT_BYTES_MAX: usize = 8 * 1024;
/// How many of the inputs kept last are taken more often than the others.
const RECENT: usize = 16;
/// Most inputs that are kept because they reached something new.
const POOL_MAX: usize = 4_096;

/// An input under which something does not hold.
#[derive(Clone, Debug)]
pub struct Finding {
    /// The input.
    pub input: Vec<u8>,
    /// What the target said.
    pub message: String,
}

/// Makes inputs for one target and runs it.
pub struct Driver {
    rng: Rng,
    pool: Vec<Vec<u8>>,
    given: usize,
    reached: BTreeSet<String>,
    executions: u64,
}

impl Driver {
    /// A driver that begins with these inputs.
    #[must_use]
    pub fn new(seed: u64, name: &str, pool: Vec<Vec<u8>>) -> Self {
        Self {
            rng: Rng::new(seed, name),
            pool,
            given: 0,
            reached: BTreeSet::new(),
            executions: 0,
        }
    }

    /// How often the target ran.
    #[must_use]
    pub fn executions(&self) -> u64 {
        self.executions
    }

    /// How many different things the target said it reached.
    #[must_use]
    pub fn features(&self) -> usize {
        self.reached.len()
    }

    /// Runs the target once, on the next input.
    pub fn step(&mut self, target: fn(&[u8])) -> Option<Finding> {
        let input = self.next_input();
        self.executions += 1;
        let failed = run(target, &input);
        let reached = take_reached();
        if let Some(message) = failed {
            return Some(Finding { input, message });
        }
        if !reached.is_subset(&self.reached) && self.pool.len() < POOL_MAX {
            self.pool.push(input);
        }
        self.reached.extend(reached);
        None
    }

    /// First the seeds as they are, then mutations of what is in the pool.
    fn next_input(&mut self) -> Vec<u8> {
        if let Some(seed) = self.pool.get(self.given) {
            self.given += 1;
            return seed.clone();
        }
        let mut input = self.picked();
        for _ in 0..=self.up_to(4) {
            self.mutate(&mut input);
        }
        input.truncate(INPUT_BYTES_MAX);
        input
    }

    fn picked(&mut self) -> Vec<u8> {
        let last = self.pool.len().saturating_sub(1);
        // Why: what was kept last reached something new, and more may stand behind it.
        let recent = self.rng.permille(300);
        let back = self.up_to(if recent { last.min(RECENT) } else { last });
        self.pool.get(last - back).cloned().unwrap_or_default()
    }

    /// A number from 0 to `most`, both included.
    fn up_to(&mut self, most: usize) -> usize {
        let most = i64::try_from(most).unwrap_or(i64::MAX);
        usize::try_from(self.rng.between(0, most)).unwrap_or_default()
    }

    fn mutate(&mut self, input: &mut Vec<u8>) {
        let at = self.up_to(input.len());
        match self.rng.between(0, 8) {
            0 => self.put_word(input, at),
            1 => {
                let end = (at + self.up_to(16)).min(input.len());
                input.drain(at..end);
            }
            2 => {
                if let Some(byte) = input.get_mut(at) {
                    *byte ^= 1 << self.rng.between(0, 6);
                }
            }
            3 => {
                // A part of itself again: nesting, lists, long chains.
                let end = (at + self.up_to(64)).min(input.len());
                let part: Vec<u8> = input.get(at..end).unwrap_or_default().to_vec();
                let times = 1 + self.up_to(3);
                let part = part.repeat(times);
                input.splice(end..end, part);
            }
            4 => {
                let other = self.picked();
                let from = self.up_to(other.len());
                input.truncate(at);
                input.extend(other.get(from..).unwrap_or_default());
            }
            5 => self.swap_lines(input),
            6 => self.other_number(input, at),
            7 => self.other_token(input, at),
            _ => {
                let byte = u8::try_from(self.rng.between(1, 127)).unwrap_or(b' ');
                input.insert(at, byte);
            }
        }
    }

    fn word(&mut self) -> &'static str {
        let word = self.up_to(seeds::WORDS.len() - 1);
        seeds::WORDS.get(word).copied().unwrap_or_default()
    }

    /// Puts a word in: half of the time where a line or an entry begins.
    fn put_word(&mut self, input: &mut Vec<u8>, at: usize) {
        let rest = input.get(at..).unwrap_or_default();
        let begins = rest.iter().position(|byte| b"\n{[,".contains(byte));
        let at = match begins {
            Some(begins) if self.rng.permille(500) => at + begins + 1,
            _ => at,
        };
        let word = self.word();
        input.splice(at..at, word.bytes());
    }

    /// Puts a word in place of what stands between two marks.
    fn other_token(&mut self, input: &mut Vec<u8>, at: usize) {
        let is_mark = |byte: &u8| b"\n{}[](),:".contains(byte);
        let before = input.get(..at).unwrap_or_default();
        let start = before.iter().rposition(is_mark).map_or(0, |mark| mark + 1);
        let rest = input.get(at..).unwrap_or_default();
        let end = rest
            .iter()
            .position(is_mark)
            .map_or(input.len(), |mark| at + mark);
        let word = self.word().trim();
        input.splice(start..end, [b' '].into_iter().chain(word.bytes()));
    }

    fn swap_lines(&mut self, input: &mut Vec<u8>) {
        let mut lines: Vec<&[u8]> = input.split_inclusive(|byte| *byte == b'\n').collect();
        if lines.is_empty() {
            return;
        }
        let (one, two) = (self.up_to(lines.len() - 1), self.up_to(lines.len() - 1));
        lines.swap(one, two);
        *input = lines.concat();
    }

    /// Puts another number in place of the next one.
    fn other_number(&mut self, input: &mut Vec<u8>, at: usize) {
        let rest = input.get(at..).unwrap_or_default();
        let Some(from) = rest.iter().position(u8::is_ascii_digit) else {
            return;
        };
        let digits = rest
            .iter()
            .skip(from)
            .take_while(|byte| byte.is_ascii_digit())
            .count();
        let other = [
            "0",
            "1",
            "40",
            "100",
            "1001",
            "65536",
            "9007199254740992",
            "99999999999999999999",
        ];
        let other = self.rng.pick(&other);
        input.splice(at + from..at + from + digits, other.bytes());
    }
}

/// What a target says of an input, if something does not hold.
#[must_use]
pub fn run(target: fn(&[u8]), input: &[u8]) -> Option<String> {
    let caught = catch_unwind(AssertUnwindSafe(|| target(input))).err()?;
    let text = caught.downcast_ref::<String>().cloned();
    let fixed = caught.downcast_ref::<&str>().map(|text| (*text).to_owned());
    Some(
        text.or(fixed)
            .unwrap_or_else(|| "a panic without words".to_owned()),
    )
}
