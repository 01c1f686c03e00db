//! The corpus of verdicts: runs with one planted fault each, whose truth is known.
//!
//! Owns the plan templates, the faults, the runs and the count of what `why` says of them. Never
//! takes a verdict for a truth: what was planted is written down before anything is judged.
//! INVARIANT: a case counts only if the same run without its fault succeeds.

use provost_plan::digest::{Digest, Domain};
use provost_run::event::{Event, RunStatus};
use provost_run::read::why::{Certainty, Guilty, Judgment, Party, Witnesses, against, why};

mod depot;
mod desk;
mod plant;
mod rules;
mod stage;
mod template;
mod witnessed;

pub use plant::cases;
pub use stage::Journal;

/// What was planted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Truth {
    /// What it speaks against.
    pub guilty: Guilty,
    /// Who did it.
    pub party: Party,
    /// Where it was planted, if at a step.
    pub step: Option<String>,
}

/// What can decide a case.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Stratum {
    /// Its journal alone.
    Journal,
    /// Calls of other runs.
    Witness,
    /// The run without the fault.
    Reference,
    /// Nothing that is at hand.
    Nothing,
}

/// A run with a planted fault.
#[derive(Clone, Debug)]
pub struct Case {
    /// Template, variant and fault, in words.
    pub name: String,
    /// What was planted, in one word.
    pub fault: &'static str,
    /// Whether its template was kept apart while rules were written.
    pub held_out: bool,
    /// What can decide it.
    pub stratum: Stratum,
    /// The truth; two of runs in which two things went wrong, in their order.
    pub truths: Vec<Truth>,
    /// The run.
    pub journal: Journal,
    /// Runs before it, which may witness.
    pub earlier: Vec<Journal>,
    /// The run without the fault.
    pub right: Journal,
}

/// How a verdict compares with the truth.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Outcome {
    /// The right one.
    Right,
    /// None was given.
    Open,
    /// A wrong one.
    Wrong,
}

impl Case {
    /// What `why` says with the evidence of its stratum.
    #[must_use]
    pub fn judged(&self) -> Judgment {
        if self.stratum == Stratum::Reference {
            return against(&self.journal, &[], &self.right);
        }
        let mut others = Witnesses::default();
        for earlier in &self.earlier {
            others.add(earlier);
        }
        why(&self.journal, &[], &others)
    }

    /// How a verdict compares with what was planted.
    #[must_use]
    pub fn outcome(&self, judged: &Judgment) -> Outcome {
        self.outcome_beside(judged, &self.truths)
    }

    /// The same, had these been planted.
    #[must_use]
    pub fn outcome_beside(&self, judged: &Judgment, truths: &[Truth]) -> Outcome {
        if judged.certainty == Certainty::Open {
            return Outcome::Open;
        }
        let agrees = |truth: &Truth| {
            truth.guilty == judged.guilty && judged.party.is_some_and(|it| is_of(it, truth.party))
        };
        match truths.iter().any(agrees) {
            true => Outcome::Right,
            false => Outcome::Wrong,
        }
    }

    /// Whether a verdict names the step at which the fault was planted.
    #[must_use]
    pub fn names_step(&self, judged: &Judgment) -> bool {
        let mut steps = self.truths.iter().filter_map(|truth| truth.step.as_ref());
        steps.any(|step| judged.step.as_ref() == Some(step))
    }

    /// Whether the planted step is among the first candidates.
    #[must_use]
    pub fn among_candidates(&self, judged: &Judgment, most: usize) -> bool {
        let mut steps: Vec<&String> = Vec::new();
        for candidate in &judged.candidates {
            steps.extend(candidate.step.as_ref().filter(|id| !steps.contains(id)));
        }
        let planted: Vec<&String> = self
            .truths
            .iter()
            .filter_map(|truth| truth.step.as_ref())
            .collect();
        planted.is_empty()
            || planted
                .iter()
                .any(|id| steps.iter().take(most).any(|it| it == id))
    }

    /// Whether all that was planted is named, in its order.
    #[must_use]
    pub fn names_all(&self, judged: &Judgment) -> bool {
        let main = (judged.guilty, judged.party);
        let also = judged.also.iter().map(|other| (other.guilty, other.party));
        let said: Vec<(Guilty, Option<Party>)> = std::iter::once(main)
            .filter(|(guilty, _)| *guilty != Guilty::Undecided)
            .chain(also)
            .collect();
        let mut rest = said.as_slice();
        self.truths.iter().all(|truth| {
            let found = rest.iter().position(|(guilty, party)| {
                *guilty == truth.guilty && party.is_some_and(|it| is_of(it, truth.party))
            });
            rest = found.and_then(|at| rest.get(at + 1..)).unwrap_or_default();
            found.is_some()
        })
    }

    /// The digest of the journal, ids and moments taken out.
    #[must_use]
    pub fn twin_digest(&self) -> Digest {
        let events = self.journal.iter().map(|(event, _)| event.to_stored());
        let text: Vec<String> = events
            .map(|(kind, _, payload)| format!("{kind} {payload}"))
            .collect();
        Digest::of_bytes(Domain::Evidence, text.join("\n").as_bytes())
    }
}

/// Whether a party said covers the party meant.
fn is_of(said: Party, meant: Party) -> bool {
    said == meant
        || said == Party::ToolOrOperator && matches!(meant, Party::Tool | Party::Operator)
        || said == Party::HostOrOperator && matches!(meant, Party::Host | Party::Operator)
        || said == Party::PersonOrOperator && matches!(meant, Party::Person | Party::Operator)
}

/// Whether a run succeeded.
#[must_use]
pub fn succeeded(journal: &Journal) -> bool {
    let last = journal.iter().rev().find_map(|(event, _)| match event {
        Event::RunEnded(ended) => Some(ended.status),
        _ => None,
    });
    last == Some(RunStatus::Succeeded)
}
