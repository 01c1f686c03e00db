//! A second reading of the journal: when polls may begin, by the plan and the events alone.
//!
//! Owns the waits that `until` asks for. Never looks at the state of the machine, which is what it
//! judges. INVARIANT: what it knows is a function of the events of one journal and their moments.

use std::collections::BTreeMap;

use provost_plan::digest::Digest;
use provost_plan::duration;
use provost_run::call::{Purpose, Slot};
use provost_run::event::{AttemptEnded, Event, StepStatus};
use serde_json::Value;

/// A poll began less than `every` after the one before.
pub const POLLED_EARLY: &str = "a poll began before its time";
/// A poll began more than `at_most` after the first.
pub const POLLED_LATE: &str = "a poll began when its time was over";
/// A step succeeded by an output over which its `until` does not hold.
pub const NOT_YET: &str = "a step succeeded although its `until` does not hold";

/// What a plan says of the polls of a step, in milliseconds.
#[derive(Clone, Copy, Debug)]
struct Asked {
    closure: Digest,
    every: i64,
    at_most: i64,
}

/// What is known of the polls of one slot.
#[derive(Clone, Copy, Debug)]
struct Polled {
    /// When the first began.
    first: i64,
    /// When the last ended that an answer or a process ended, and nothing is repeated for it.
    last: Option<i64>,
    /// Whether a call of the step itself is in flight.
    flies: bool,
    /// Whether the last answer was not what is polled for.
    not_yet: bool,
}

/// The polls of one run.
#[derive(Clone, Debug, Default)]
pub struct Polls {
    /// Whether it takes every wait for twice as long, and the whole time for half: a control that
    /// must find something.
    strict: bool,
    asked: BTreeMap<String, Asked>,
    seen: BTreeMap<Slot, Polled>,
    /// Whether the next plan is for another goal, for which everything begins anew.
    anew: bool,
}

impl Polls {
    /// The control.
    #[must_use]
    pub fn strict(strict: bool) -> Self {
        Self {
            strict,
            ..Self::default()
        }
    }

    /// Reads on; says what must not be.
    pub fn read(&mut self, event: &Event, at: i64) -> Vec<&'static str> {
        match event {
            Event::GoalAmended { .. } => self.anew = true,
            Event::PlanChecked {
                document, record, ..
            } => {
                let closures = |id: &str| record.steps.get(id).map(|step| step.closure);
                self.planned(document, closures);
            }
            Event::AttemptStarted(started) if started.purpose == Purpose::Effect => {
                return self.began(&started.slot, at);
            }
            Event::AttemptEnded(ended) => self.ended(ended, at),
            Event::StepSettled {
                slot,
                status: StepStatus::Succeeded,
                ..
            } if self.seen.get(slot).is_some_and(|polled| polled.not_yet) => return vec![NOT_YET],
            Event::ObservationMade { slot, output, .. } => {
                if let Some(polled) = self.seen.get_mut(slot) {
                    polled.not_yet = output.get("done") == Some(&Value::Bool(false));
                }
            }
            _ => {}
        }
        Vec::new()
    }

    fn planned(&mut self, document: &Value, closures: impl Fn(&str) -> Option<Digest>) {
        if std::mem::take(&mut self.anew) {
            self.seen.clear();
        }
        let steps = document.get("steps").and_then(Value::as_array);
        let asked = steps.into_iter().flatten().filter_map(|step| {
            let ms = |field: &str| {
                let text = step.get(field)?.as_str()?;
                i64::try_from(duration::parse(text).ok()?.as_millis()).ok()
            };
            step.get("until")?;
            let id = step.get("id")?.as_str()?;
            let (every, at_most) = (ms("every")?, ms("at_most")?);
            let asked = Asked {
                closure: closures(id)?,
                every: if self.strict { every * 2 } else { every },
                at_most: if self.strict { at_most / 2 } else { at_most },
            };
            Some((id.to_owned(), asked))
        });
        let asked: BTreeMap<String, Asked> = asked.collect();
        let is_same = |slot: &Slot| {
            let closure = |all: &BTreeMap<String, Asked>| all.get(&slot.step).map(|a| a.closure);
            closure(&asked) == closure(&self.asked)
        };
        self.seen.retain(|slot, _| is_same(slot));
        self.asked = asked;
    }

    fn began(&mut self, slot: &Slot, at: i64) -> Vec<&'static str> {
        let Some(asked) = self.asked.get(&slot.step).copied() else {
            return Vec::new();
        };
        let polled = self.seen.entry(slot.clone()).or_insert(Polled {
            first: at,
            last: None,
            flies: false,
            not_yet: false,
        });
        polled.flies = true;
        let early = polled.last.is_some_and(|last| at < last + asked.every);
        let late = at > polled.first + asked.at_most;
        let broken = [(early, POLLED_EARLY), (late, POLLED_LATE)];
        let broken = broken.into_iter().filter(|(broken, _)| *broken);
        broken.map(|(_, what)| what).collect()
    }

    fn ended(&mut self, ended: &AttemptEnded, at: i64) {
        let Some(polled) = self.seen.get_mut(&ended.slot).filter(|polled| polled.flies) else {
            return;
        };
        polled.flies = false;
        // Why not of a failure: the read is repeated as any that fails; and what was not sent is
        // no poll.
        if !ended.unsent {
            polled.last = (ended.not_yet || ended.lost).then_some(at);
        }
    }
}
