//! The plain reads that a verdict leads to which is not proven, made again.
//!
//! Owns which reads those are, and what another answer says of a step. Calls nothing. INVARIANT:
//! another answer speaks against a step only where no write of ours came in between, and it leaves
//! open whether the tool was wrong then or the world changed since.

use std::collections::{BTreeMap, BTreeSet};

use provost_plan::digest::Digest;
use provost_plan::policy::Decision;
use serde::{Serialize, Serializer};
use serde_json::Value;

use super::failure::possible;
use super::{Certainty, Guilty, Judgment, Party, PossibleCause, ProofLine};
use crate::call::{Purpose, Slot};
use crate::event::{AttemptStarted, Event};
use crate::outcome::Class;
use crate::read::words::words;
use crate::shown::{observed, started_args};

/// The most reads of a run that are made again.
pub const READS_AGAIN_MAX: usize = 20;

/// A plain read of a run, as it may be made again.
#[derive(Clone, Debug)]
pub struct ReadMade {
    /// The step or the item that it was made for.
    pub slot: Slot,
    /// The number of the event that holds its answer.
    pub seq: u64,
    /// What was called.
    pub operation: String,
    /// The digest of its entry.
    pub tool: Digest,
    /// With which arguments.
    pub args: Value,
    /// Why it is not made again, if it is not.
    pub barred: Option<&'static str>,
    /// When it ended, in milliseconds since the epoch.
    pub ended_at: i64,
    answer: ReadAnswer,
}

/// How a read ended: the class, and the digest of what was observed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReadAnswer {
    class: Class,
    output: Option<Digest>,
}

/// A read that was to be made again.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ReadAgain {
    /// The step or the item that it was made for.
    #[serde(serialize_with = "as_text")]
    pub slot: Slot,
    /// The number of the event that holds the answer of then.
    pub seq: u64,
    /// What was called.
    pub operation: String,
    /// The run that made it again.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub run: Option<String>,
    /// What came of it.
    pub answer: AnswerNow,
    /// Why it was not made again.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub because: Option<String>,
}

fn as_text<S: Serializer>(slot: &Slot, to: S) -> Result<S::Ok, S::Error> {
    to.collect_str(slot)
}

/// The answer to a read that was made again, beside that of then.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum AnswerNow {
    /// The same.
    Same,
    /// Another one, with no write of ours in between.
    Other,
    /// Another one, and a write of ours may be the reason.
    OtherAfterWrite,
    /// It was not made again.
    NotMade,
}

impl AnswerNow {
    /// The words shown to people.
    #[must_use]
    pub fn words(self) -> &'static str {
        match self {
            Self::Same => "the same answer",
            Self::Other => "another answer",
            Self::OtherAfterWrite => "another answer, after a write of provost",
            Self::NotMade => "not made again",
        }
    }
}

/// The plain reads of the steps that a verdict leads to which is not proven, in the order of its
/// candidates; that of its step, where it is witnessed.
#[must_use]
pub fn reads_to_repeat(events: &[(Event, i64)], judged: &Judgment) -> Vec<ReadMade> {
    if !matches!(judged.certainty, Certainty::Open | Certainty::Witnessed) {
        return Vec::new();
    }
    let mut reads = reads(events);
    let mut chosen = Vec::new();
    let mut known = BTreeSet::new();
    let candidates = judged.candidates.iter();
    let candidates = candidates.filter_map(|one| one.step.as_deref());
    let witnessed = judged.step.as_deref();
    let witnessed = witnessed.filter(|_| judged.certainty == Certainty::Witnessed);
    for step in witnessed.into_iter().chain(candidates) {
        if known.insert(step) {
            let (of_step, rest) = reads.into_iter().partition(|read| read.slot.step == step);
            chosen.extend::<Vec<_>>(of_step);
            reads = rest;
        }
    }
    chosen.truncate(READS_AGAIN_MAX);
    chosen
}

/// The last read of each slot that ended, in the order of slots.
fn reads(events: &[(Event, i64)]) -> Vec<ReadMade> {
    let mut begun: BTreeMap<&Slot, &AttemptStarted> = BTreeMap::new();
    let mut reads: BTreeMap<&Slot, ReadMade> = BTreeMap::new();
    for ((event, at), seq) in events.iter().zip(1..) {
        match event {
            Event::AttemptStarted(started) if started.purpose == Purpose::Effect => {
                begun.insert(&started.slot, started);
            }
            Event::AttemptEnded(ended) if ended.is_try() => {
                let started = begun.get(&ended.slot);
                let Some(started) = started.filter(|one| one.attempt == ended.attempt) else {
                    continue;
                };
                if started.read {
                    let read = ReadMade {
                        slot: ended.slot.clone(),
                        seq,
                        operation: started.operation.clone(),
                        tool: started.tool,
                        args: started_args(started),
                        barred: barred(started),
                        answer: ReadAnswer {
                            class: ended.class,
                            output: None,
                        },
                        ended_at: *at,
                    };
                    reads.insert(&ended.slot, read);
                }
            }
            other => {
                if let Some((slot, output)) = observed(other)
                    && let Some(read) = reads.get_mut(slot)
                {
                    (read.answer.output, read.seq) = (Some(output), seq);
                }
            }
        }
    }
    reads.into_values().collect()
}

/// Why a read is not made again although it was made once.
fn barred(started: &AttemptStarted) -> Option<&'static str> {
    // Why: written into a plan, a value has lost the label that policy judged it by.
    if started.verdict.decision != Decision::Permit {
        return Some("a person was asked about it");
    }
    (!started.secret_args.is_empty()).then_some("it takes a secret")
}

/// How the one read of a run ended that was begun to make it again; none if it made none.
#[must_use]
pub fn answer_of(events: &[(Event, i64)]) -> Option<ReadAnswer> {
    reads(events).pop().map(|read| read.answer)
}

/// When runs wrote last, by their events; the end of time if a write is still open.
#[must_use]
pub fn last_write(events: &[(Event, i64)]) -> Option<i64> {
    let mut open: BTreeSet<(&Slot, u32)> = BTreeSet::new();
    let mut last = None;
    for (event, at) in events {
        match event {
            Event::AttemptStarted(started) if !started.read => {
                open.insert((&started.slot, started.attempt));
            }
            Event::AttemptEnded(ended) if open.remove(&(&ended.slot, ended.attempt)) => {
                last = last.max(Some(*at));
            }
            _ => {}
        }
    }
    match open.is_empty() {
        true => last,
        false => Some(i64::MAX),
    }
}

impl ReadMade {
    /// What came of it, where it was made again by a run and answered like this. `wrote` is when
    /// runs wrote last.
    #[must_use]
    pub fn answered(&self, run: String, now: ReadAnswer, wrote: Option<i64>) -> ReadAgain {
        let answer = match () {
            () if now == self.answer => AnswerNow::Same,
            () if wrote.is_some_and(|at| at >= self.ended_at) => AnswerNow::OtherAfterWrite,
            () => AnswerNow::Other,
        };
        ReadAgain {
            run: Some(run),
            ..self.with(answer, None)
        }
    }

    /// What came of it, where it was not made again, or by a run that did not come to it.
    #[must_use]
    pub fn not_made(&self, run: Option<String>, because: impl Into<String>) -> ReadAgain {
        ReadAgain {
            run,
            ..self.with(AnswerNow::NotMade, Some(because.into()))
        }
    }

    fn with(&self, answer: AnswerNow, because: Option<String>) -> ReadAgain {
        ReadAgain {
            slot: self.slot.clone(),
            seq: self.seq,
            operation: self.operation.clone(),
            run: None,
            answer,
            because,
        }
    }
}

/// A verdict, with what came of the reads that it leads to. It stays open, and what is witnessed
/// becomes so by another answer: the tool may have been wrong then, or the world changed since.
#[must_use]
pub fn rechecked(events: &[(Event, i64)], mut judged: Judgment, again: Vec<ReadAgain>) -> Judgment {
    let other = again.iter().filter(|one| one.answer == AnswerNow::Other);
    let other: Vec<&ReadAgain> = other.collect();
    let same = again.iter().filter(|one| one.answer == AnswerNow::Same);
    let same: BTreeSet<&String> = same.map(|one| &one.slot.step).collect();
    let mut candidates: Vec<PossibleCause> = Vec::new();
    if judged.certainty == Certainty::Witnessed && !other.is_empty() {
        // Why: it rested on it that the tool told the truth, or does what it did.
        let step = judged.step.clone();
        if let Some(party) = judged.party.take() {
            let text = judged.sentence.clone();
            judged
                .candidates
                .push(possible((judged.guilty, party), step, text));
        }
        (judged.guilty, judged.certainty) = (Guilty::Undecided, Certainty::Open);
        judged.cause = None;
    }
    for read in &other {
        let slot = &read.slot;
        let wrong = format!("what `{slot}` read was not so");
        let moved = format!("what `{slot}` reads changed since");
        for (whom, text) in [
            ((Guilty::Execution, Party::Tool), wrong),
            ((Guilty::Neither, Party::World), moved),
        ] {
            candidates.push(possible(whom, Some(slot.step.clone()), text));
        }
    }
    if let Some(first) = other.first() {
        judged.sentence = format!(
            "{}; the read of `{}` has another answer now, and provost wrote nothing in between",
            judged.sentence, first.slot
        );
        judged.step = Some(first.slot.step.clone());
        judged.slot = Some(first.slot.to_string());
        judged.seq = Some(first.seq);
        judged.proof.extend(proof(events, first.seq));
        judged.proof.sort();
        judged.proof.dedup();
    }
    let named = |one: &PossibleCause| {
        let is_read = one.guilty == Guilty::Execution;
        is_read && candidates.iter().any(|known| known.step == one.step)
    };
    let rest = judged.candidates.iter().filter(|one| !named(one));
    let rest: Vec<PossibleCause> = rest.cloned().collect();
    let is_same = |one: &PossibleCause| {
        let step = one.step.as_ref();
        one.guilty == Guilty::Execution && step.is_some_and(|step| same.contains(step))
    };
    // Why last: it would have told the same untruth twice.
    let (told_twice, rest): (Vec<_>, Vec<_>) = rest.into_iter().partition(is_same);
    candidates.extend(rest);
    candidates.extend(told_twice);
    judged.candidates = candidates;
    judged.rechecked = again;
    judged
}

fn proof(events: &[(Event, i64)], seq: u64) -> Option<ProofLine> {
    let at = usize::try_from(seq.checked_sub(1)?).ok()?;
    let (event, _) = events.get(at)?;
    Some(ProofLine {
        seq,
        kind: event.kind(),
        text: words(event).full(),
    })
}
