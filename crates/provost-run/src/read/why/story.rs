//! A journal as a judge reads it: the plans, the last status of each step, the attempts.
//!
//! Owns look-ups over numbered events. Judges nothing.

use std::cell::OnceCell;
use std::collections::{BTreeMap, BTreeSet};

use provost_plan::check::PlanRecord;
use provost_plan::digest::Digest;
use provost_plan::plan::read::plan_from_value;
use provost_plan::plan::{Goal, Plan, StepKind};
use serde_json::Value;

use super::origin::answers;
use super::witness::{KnownCalls, Witnesses};
use crate::call::Slot;
use crate::event::{AttemptEnded, AttemptStarted, Event, RunEnded, SkipReason, StepStatus};
use crate::outcome::Class;
use crate::read::words::listed;
use crate::state::{WaitKind, Waiting};

/// Steps that make the same call before it counts as a loop.
const LOOP_STEPS_MIN: usize = 3;

/// A journal.
pub(super) struct Story<'e> {
    events: &'e [(Event, i64)],
    /// What it and others say of calls.
    pub(super) evidence: KnownCalls<'e>,
    /// The plans that passed the check, read once.
    plans: OnceCell<BTreeMap<u64, Plan>>,
}

/// An attempt of a slot, as far as it is recorded.
#[derive(Clone, Copy)]
pub(super) struct Attempted<'e> {
    pub(super) began: u64,
    pub(super) at: i64,
    pub(super) started: &'e AttemptStarted,
    pub(super) ended: Option<(u64, &'e AttemptEnded)>,
}

/// The last status of a step of the current plan.
#[derive(Clone, Copy)]
pub(super) struct Settled {
    pub(super) seq: u64,
    pub(super) status: StepStatus,
    pub(super) class: Option<Class>,
    /// Whether a person approved the plan without it.
    pub(super) left_out: bool,
}

/// The steps that made the same call.
#[derive(Default)]
struct Callers<'e> {
    steps: BTreeSet<&'e str>,
    seqs: Vec<u64>,
}

impl<'e> Story<'e> {
    pub(super) fn of(events: &'e [(Event, i64)], others: &'e Witnesses) -> Self {
        Self {
            events,
            evidence: KnownCalls::of(events, others),
            plans: OnceCell::new(),
        }
    }

    /// The same journal up to before an event.
    pub(super) fn before(&self, seq: u64) -> Self {
        let most = usize::try_from(seq.saturating_sub(1)).unwrap_or(usize::MAX);
        let events = self.events.get(..most).unwrap_or(self.events);
        Self::of(events, self.evidence.others())
    }

    /// The number of the last answer of a person.
    pub(super) fn last_answer(&self) -> Option<u64> {
        let mut answers = self.numbered().rev();
        let found = answers.find(|(_, event)| matches!(event, Event::QuestionAnswered { .. }));
        found.map(|(seq, _)| seq)
    }

    /// How many answers people gave.
    pub(super) fn answers(&self) -> usize {
        self.seqs_of(|event| matches!(event, Event::QuestionAnswered { .. }))
            .len()
    }

    /// The number of the event by which a person amended the goal last.
    pub(super) fn amended_goal(&self) -> Option<u64> {
        self.seqs_of(|event| matches!(event, Event::GoalAmended { .. }))
            .last()
            .copied()
    }

    /// Whether a step asks a person.
    pub(super) fn is_question(&self, id: &str) -> bool {
        let plan = self.plan_of(id);
        let step = plan.and_then(|(_, plan, _)| plan.step(id));
        step.is_some_and(|step| matches!(step.kind, StepKind::Question { .. }))
    }

    /// The id of the run.
    pub(super) fn run(&self) -> &'e str {
        match self.events.first() {
            Some((Event::RunCreated(created), _)) => &created.run,
            _ => "RUN",
        }
    }

    /// The goal in force.
    pub(super) fn goal(&self) -> Option<&'e Goal> {
        self.numbered().rev().find_map(|(_, event)| match event {
            Event::RunCreated(created) => Some(&created.goal),
            Event::GoalInterpreted { goal, .. } | Event::GoalAmended { goal, .. } => Some(goal),
            _ => None,
        })
    }

    /// The answers that people gave to questions of a planner.
    pub(super) fn answers_to_planner(&self) -> Vec<&'e Value> {
        answers(self.events.iter().map(|(event, _)| event))
    }

    /// The last plan that passed the check and has this step.
    pub(super) fn plan_of(&self, step: &str) -> Option<(u64, &Plan, &'e PlanRecord)> {
        let mut known = self.plans();
        let (seq, _, record) = known.rfind(|(_, _, record)| record.steps.contains_key(step))?;
        Some((seq, self.read().get(&seq)?, record))
    }

    /// The last plan that passed the check.
    pub(super) fn last_plan(&self) -> Option<(u64, &Plan, &'e PlanRecord)> {
        let (seq, _, record) = self.plans().next_back()?;
        Some((seq, self.read().get(&seq)?, record))
    }

    fn read(&self) -> &BTreeMap<u64, Plan> {
        self.plans.get_or_init(|| {
            let plans = self.plans();
            let read = plans.filter_map(|(seq, document, _)| {
                Some((seq, plan_from_value(document, "the plan").ok()?))
            });
            read.collect()
        })
    }

    /// The last attempt of a slot at what its step is about.
    pub(super) fn last_attempt(&self, slot: &Slot) -> Option<Attempted<'e>> {
        let mut all = self.events.iter().enumerate().rev();
        let (index, started, at) = all.find_map(|(index, (event, at))| match event {
            Event::AttemptStarted(started)
                if started.slot == *slot && !started.purpose.is_auxiliary() =>
            {
                Some((index, started, *at))
            }
            _ => None,
        })?;
        let after = self.events.get(index..).unwrap_or_default().iter();
        let ended = after
            .zip(index as u64 + 1..)
            .find_map(|((event, _), seq)| match event {
                Event::AttemptEnded(ended)
                    if ended.slot == *slot && ended.attempt == started.attempt =>
                {
                    Some((seq, ended))
                }
                _ => None,
            });
        Some(Attempted {
            began: index as u64 + 1,
            at,
            started,
            ended,
        })
    }

    /// Every event with its number.
    pub(super) fn numbered(&self) -> impl DoubleEndedIterator<Item = (u64, &'e Event)> {
        let events = self.events.iter().enumerate();
        events.map(|(index, (event, _))| (index as u64 + 1, event))
    }

    pub(super) fn event(&self, seq: u64) -> Option<&'e Event> {
        let index = usize::try_from(seq.checked_sub(1)?).ok()?;
        self.events.get(index).map(|(event, _)| event)
    }

    pub(super) fn seqs_of(&self, wanted: impl Fn(&Event) -> bool) -> Vec<u64> {
        let found = self.numbered().filter(|(_, event)| wanted(event));
        found.map(|(seq, _)| seq).collect()
    }

    /// How the run ended; none while it is not over, or not over again.
    pub(super) fn ended(&self) -> Option<(u64, &'e RunEnded)> {
        let last = self.numbered().rev().find_map(|(seq, event)| match event {
            Event::RunEnded(ended) => Some(Some((seq, ended))),
            Event::UndoRequested { .. } => Some(None),
            _ => None,
        });
        last.flatten()
    }

    /// The plans that passed the check, in order, with their records.
    pub(super) fn plans(
        &self,
    ) -> impl DoubleEndedIterator<Item = (u64, &'e Value, &'e PlanRecord)> {
        self.numbered().filter_map(|(seq, event)| match event {
            Event::PlanChecked {
                document, record, ..
            } => Some((seq, &**document, &**record)),
            _ => None,
        })
    }

    /// The last status of each step of the last plan.
    pub(super) fn steps(&self) -> BTreeMap<&'e str, Settled> {
        let Some((_, _, record)) = self.plans().next_back() else {
            return BTreeMap::new();
        };
        let mut steps = BTreeMap::new();
        for (seq, event) in self.numbered() {
            let (step, status, class, left_out) = match event {
                Event::StepSettled {
                    slot,
                    status,
                    class,
                    ..
                } if slot.item.is_none() => (slot.step.as_str(), *status, *class, false),
                Event::StepSkipped { slot, because } if slot.item.is_none() => {
                    let left_out = *because == SkipReason::NotApproved;
                    (slot.step.as_str(), StepStatus::Skipped, None, left_out)
                }
                Event::StepBlocked { step, .. } => {
                    (step.as_str(), StepStatus::Blocked, None, false)
                }
                _ => continue,
            };
            if record.steps.contains_key(step) {
                let settled = Settled {
                    seq,
                    status,
                    class,
                    left_out,
                };
                steps.insert(step, settled);
            }
        }
        steps
    }

    /// Items of a step that did not succeed: number of the event, slot, status, class.
    pub(super) fn failed_slots(&self, id: &str) -> Vec<(u64, &'e Slot, StepStatus, Option<Class>)> {
        let failed = |status| matches!(status, StepStatus::Failed | StepStatus::InDoubt);
        let mut all: Vec<_> = self
            .numbered()
            .filter_map(|(seq, event)| match event {
                Event::StepSettled {
                    slot,
                    status,
                    class,
                    ..
                } if slot.step == id && failed(*status) => Some((seq, slot, *status, *class)),
                _ => None,
            })
            .collect();
        // Why: a step over a list sums up its items, which say more.
        if all.iter().any(|(_, slot, ..)| slot.item.is_some()) {
            all.retain(|(_, slot, ..)| slot.item.is_some());
        }
        all
    }

    /// The last attempt of a slot: numbers of its beginning and end.
    pub(super) fn attempt_of(&self, slot: &Slot) -> Vec<u64> {
        // Why not of a preview: it is no attempt of the step.
        let began = self.numbered().rev().find(|(_, event)| {
            matches!(event, Event::AttemptStarted(started)
                if started.slot == *slot && !started.purpose.is_preview())
        });
        let ended = self.numbered().rev().find(|(_, event)| {
            matches!(event, Event::AttemptEnded(ended)
                    if ended.slot == *slot && ended.attempt > 0)
        });
        began.into_iter().chain(ended).map(|(seq, _)| seq).collect()
    }

    /// The attempt and the settlement of a step.
    pub(super) fn proof_of_step(&self, id: &str, settled: u64) -> Vec<u64> {
        let mut seqs: Vec<u64> = self
            .failed_slots(id)
            .iter()
            .flat_map(|(seq, slot, ..)| [self.attempt_of(slot), vec![*seq]].concat())
            .collect();
        seqs.push(settled);
        seqs
    }

    /// The event that asked for what a run waits for.
    pub(super) fn asked_for(&self, waiting: &Waiting) -> Vec<u64> {
        let asks = |event: &Event| match event {
            Event::ApprovalRequested { digest, .. } | Event::QuestionAsked { digest, .. } => {
                Some(digest) == waiting.digest.as_ref()
            }
            Event::Paused { missing, .. } => missing.is_some() && waiting.kind == WaitKind::Secret,
            _ => false,
        };
        let mut asked = self.numbered().rev().filter(|(_, event)| asks(event));
        asked.next().map(|(seq, _)| seq).into_iter().collect()
    }

    /// The call with equal operation and arguments that most steps made, if they are many.
    pub(super) fn repeated_call(&self) -> Option<(String, Vec<u64>)> {
        let mut calls: BTreeMap<(&str, Digest), Callers<'_>> = BTreeMap::new();
        for (seq, event) in self.numbered() {
            if let Event::AttemptStarted(started) = event
                && !started.purpose.is_preview()
            {
                let key = (started.operation.as_str(), started.args_digest);
                let callers = calls.entry(key).or_default();
                callers.steps.insert(&started.slot.step);
                callers.seqs.push(seq);
            }
        }
        let Callers { steps, seqs } = calls.into_values().max_by_key(|c| c.steps.len())?;
        (steps.len() >= LOOP_STEPS_MIN).then(|| (listed(steps), seqs))
    }
}
