//! The process that drives a run: machine, disk, and what dies with it.
//!
//! Owns the order step, commit, command, and what of it a crash leaves. INVARIANT: commands leave
//! only against a receipt of what was committed, and only as durable as it was.

use provost_run::admission::{Admission, AdmissionEntry, Denial, Stop};
use provost_run::call::Slot;
use provost_run::event::Event;
use provost_run::machine::{Command, Input, Output, Receipt, Rules, Run, StepError};

use super::faults::{Fault, FaultPlan};
use super::scenario;
use crate::repeats::{Looks, Others, RepeatReading};
use crate::table::{self, TurnInput};

/// What a journal leaves when power is lost.
#[derive(Default)]
pub(super) struct Disk {
    pub(super) events: Vec<(Event, i64)>,
    /// Ends of commits from the last durable one on.
    commits: Vec<usize>,
}

/// The process, alive or not.
pub(super) struct Process {
    pub(super) run: Option<Run>,
    pub(super) disk: Disk,
    /// Counts processes: what an earlier one waited for does not reach a later one.
    pub(super) epoch: u64,
    /// Calls handed over that are no reads.
    sent: Vec<(Slot, u32)>,
    /// Ends of commits that people were told of.
    acknowledged: Vec<usize>,
    /// What the store knows of the calls of other runs.
    others: Others,
    looks: Looks,
    repeats: RepeatReading,
    pub(super) marks: std::collections::BTreeSet<&'static str>,
    pub(super) broken: Vec<String>,
}

/// What became of an input.
pub(super) enum InputResult {
    /// The machine took it, and wants this done.
    Taken(Vec<Command>),
    /// The machine does not take it.
    Refused(StepError),
    /// The process died over it.
    Died,
}

/// A step beside other runs, which may leave no room for what it wants to begin.
fn beside(
    run: &mut Run,
    input: &Input,
    read: i64,
    faults: &mut FaultPlan,
    (others, looks): (&mut Others, Looks),
) -> Result<Output, StepError> {
    let before = run.clone();
    let mut said = Admission::default();
    let mut output = run.step(input.clone(), read)?;
    loop {
        for entry in &output.admission {
            if let AdmissionEntry::Earlier(look) = entry
                && !said.earlier.contains_key(&look.call)
                && faults.strikes(Fault::MadeBefore)
            {
                others.made(look.call.clone(), read);
            }
        }
        // Why first: a store admits nothing of a turn that rests on other calls than there are.
        let about = (&*output.admission, &*output.append);
        if others.confirm(about, looks, &mut said) {
            *run = before.clone();
            output = run.step_beside(input.clone(), read, &said)?;
            continue;
        }
        let begins = output.admission.iter().filter_map(|entry| match entry {
            AdmissionEntry::Begin(begin) => Some(begin.slot.clone()),
            _ => None,
        });
        let slots: Vec<Slot> = begins.collect();
        let mut fine = true;
        for slot in slots {
            if faults.strikes(Fault::NotAdmitted) {
                said.denials.insert(slot, denial(read, faults));
                fine = false;
            }
        }
        if fine {
            return Ok(output);
        }
        *run = before.clone();
        output = run.step_beside(input.clone(), read, &said)?;
    }
}

fn denial(read: i64, faults: &mut FaultPlan) -> Denial {
    let because = "other runs are there too".to_owned();
    let until = read + faults.ms(1, 60_000);
    match faults.ms(0, 9) {
        0 => Denial::Stopped(Stop {
            what: "all runs".to_owned(),
            by: "dan".to_owned(),
            reason: because,
        }),
        1 => Denial::Doubt {
            run: "another".to_owned(),
            slot: "s0".to_owned(),
        },
        2 => Denial::Budget { because },
        3..=5 => Denial::Later {
            until,
            broken: true,
            because,
        },
        6 | 7 => Denial::Later {
            until,
            broken: false,
            because,
        },
        _ => Denial::Full { because },
    }
}

impl Process {
    pub(super) fn new(looks: Looks) -> Self {
        Self {
            run: None,
            others: Others::default(),
            looks,
            repeats: RepeatReading::default(),
            disk: Disk::default(),
            epoch: 0,
            sent: Vec::new(),
            acknowledged: Vec::new(),
            marks: Default::default(),
            broken: Vec::new(),
        }
    }

    /// Gives the machine an input at the moment the clock shows.
    pub(super) fn give(&mut self, input: &Input, read: i64, faults: &mut FaultPlan) -> InputResult {
        let Some(run) = &mut self.run else {
            return InputResult::Died;
        };
        let heard = TurnInput::of(input);
        let said = matches!(
            heard,
            TurnInput::Yes
                | TurnInput::No
                | TurnInput::Answer
                | TurnInput::Cancel
                | TurnInput::Undo
                | TurnInput::UndoEnded
                | TurnInput::Settle
                | TurnInput::Pause
                | TurnInput::GoOn
                | TurnInput::Amend
        );
        let outside = (&mut self.others, self.looks);
        match beside(run, input, read, faults, outside) {
            Ok(output) => self.keep(heard, output, said, faults),
            Err(StepError::Fold(error)) => {
                self.broken
                    .push(format!("the machine contradicts itself: {error}"));
                InputResult::Died
            }
            Err(refused) => InputResult::Refused(refused),
        }
    }

    /// Commits an output, and opens its commands. A word that changes nothing is no record.
    pub(super) fn keep(
        &mut self,
        heard: TurnInput,
        output: Output,
        said: bool,
        faults: &mut FaultPlan,
    ) -> InputResult {
        let events = &output.append;
        table::note(&table::Turn { heard, events }, &mut self.marks);
        let begins = self.disk.events.is_empty();
        if !begins && faults.strikes(Fault::CrashInTurn) {
            return InputResult::Died;
        }
        let (at, run) = match &self.run {
            Some(run) => (run.state().spend.last_at, run.state().head.run.clone()),
            None => return InputResult::Died,
        };
        let said = said && !output.append.is_empty();
        for event in &output.append {
            let broken = self.repeats.read(event, &self.others, scenario::rule);
            self.broken.extend(broken.into_iter().map(str::to_owned));
        }
        self.disk
            .events
            .extend(output.append.into_iter().map(|event| (event, at)));
        let whole = self.disk.events.len();
        if output.sync {
            self.disk.commits.clear();
        }
        self.disk.commits.push(whole);
        if !begins && faults.strikes(Fault::CrashInTurn) {
            return InputResult::Died;
        }
        let receipt = Receipt {
            run,
            through: whole as u64,
            durable: output.sync,
        };
        match output.commands.open(&receipt) {
            Ok(commands) => {
                if said {
                    self.acknowledged.push(whole);
                }
                InputResult::Taken(commands)
            }
            Err(error) => {
                self.broken.push(format!("commands stay sealed: {error}"));
                InputResult::Died
            }
        }
    }

    pub(super) fn sends(&mut self, slot: &Slot, attempt: u32) {
        self.sent.push((slot.clone(), attempt));
    }

    /// The process dies; with `power`, so does what was not synced.
    pub(super) fn die(&mut self, power: bool, faults: &mut FaultPlan) {
        self.run = None;
        self.epoch += 1;
        if !power {
            return;
        }
        let last = i64::try_from(self.disk.commits.len()).unwrap_or(1) - 1;
        let at = usize::try_from(faults.ms(0, last)).unwrap_or(0);
        let kept = self.disk.commits.get(at).copied().unwrap_or(0);
        self.disk.events.truncate(kept);
        self.disk.commits = vec![kept];
        if self
            .acknowledged
            .iter()
            .any(|acknowledged| *acknowledged > kept)
        {
            self.broken
                .push("a person's word was acknowledged and lost".to_owned());
        }
        self.acknowledged
            .retain(|acknowledged| *acknowledged <= kept);
        let intended = |slot: &Slot, attempt: u32| {
            self.disk.events.iter().any(|(event, _)| {
                matches!(event, Event::AttemptStarted(started)
                    if started.slot == *slot && started.attempt == attempt)
            })
        };
        if !self
            .sent
            .iter()
            .all(|(slot, attempt)| intended(slot, *attempt))
        {
            self.broken
                .push("a write was sent whose intent is lost".to_owned());
        }
    }

    /// Another process takes the run up from what the disk holds.
    pub(super) fn fold(&mut self, rules: Rules) {
        let stored: Result<Vec<(Event, i64)>, _> = self
            .disk
            .events
            .iter()
            .map(|(event, at)| {
                let (kind, version, payload) = event.to_stored();
                Event::from_stored(&kind, version, &payload).map(|event| (event, *at))
            })
            .collect();
        let folded = stored
            .map_err(|error| error.to_string())
            .and_then(|events| {
                let events = events.iter().map(|(event, at)| (event, *at));
                Run::from_journal(events, rules).map_err(|error| error.to_string())
            });
        let events = self.disk.events.iter().map(|(event, _)| event);
        self.repeats = RepeatReading::of(events);
        match folded {
            Ok(run) => self.run = Some(run),
            Err(error) => self
                .broken
                .push(format!("the journal cannot be folded: {error}")),
        }
    }
}

/// The word for a refusal.
pub(super) fn refusal(error: &StepError) -> &'static str {
    match error {
        StepError::Over { .. } => "over",
        StepError::NoRequest { .. } => "no request",
        StepError::NoAttempt { .. } => "no attempt",
        StepError::NotOpen { .. } => "not open",
        StepError::Lapsed { .. } => "lapsed",
        StepError::NotAllowed { .. } | StepError::Denied(_) => "not allowed",
        StepError::NotOnCard { .. } => "not on the card",
        StepError::BadAnswer { .. } | StepError::BadOutput { .. } => "bad answer",
        StepError::NotInDoubt { .. } => "not in doubt",
        StepError::TooEarly { .. } => "too early",
        StepError::OtherAttempt { .. } => "other attempt",
        StepError::NotPaused => "not paused",
        StepError::NotEnded => "not ended",
        StepError::NothingToUndo { .. } => "nothing to undo",
        StepError::Replayed { .. } => "replayed",
        StepError::Amendment { .. } => "not amended",
        StepError::Laborious => "laborious",
        StepError::Fold(_) => "contradiction",
    }
}
