//! A cause as the rules make it, before it is put into words.
//!
//! Owns how causes are made and joined. INVARIANT: what is open has candidates or nothing to say,
//! and what is decided has none.

use std::collections::BTreeSet;

use super::{Certainty, Guilty, OtherCause, Party, PossibleCause};
use crate::call::Slot;

/// A cause, with the numbers of the events that prove it.
#[derive(Clone, Debug)]
pub(super) struct CauseFound {
    pub(super) guilty: Guilty,
    pub(super) party: Option<Party>,
    pub(super) cause: Option<&'static str>,
    pub(super) slot: Option<Slot>,
    pub(super) seq: Option<u64>,
    pub(super) certainty: Certainty,
    pub(super) sentence: String,
    pub(super) seqs: Vec<u64>,
    pub(super) also: Vec<OtherCause>,
    pub(super) candidates: Vec<PossibleCause>,
    pub(super) would_decide: Vec<String>,
    pub(super) not_looked_at: Vec<String>,
}

impl CauseFound {
    /// One that is decided.
    pub(super) fn decided(
        (guilty, party): (Guilty, Party),
        cause: &'static str,
        certainty: Certainty,
        sentence: String,
    ) -> Self {
        Self {
            guilty,
            party: Some(party),
            cause: Some(cause),
            certainty,
            ..Self::open(sentence, Vec::new())
        }
    }

    pub(super) fn proven(whom: (Guilty, Party), cause: &'static str, sentence: String) -> Self {
        Self::decided(whom, cause, Certainty::Proven, sentence)
    }

    /// One that rests on it that the tool told the truth.
    pub(super) fn witnessed(whom: (Guilty, Party), cause: &'static str, sentence: String) -> Self {
        let premise = "that a tool which answered others answered this one truly";
        Self::resting(whom, cause, sentence, premise)
    }

    /// One that rests on something that no journal holds, which its sentence says.
    pub(super) fn resting(
        whom: (Guilty, Party),
        cause: &'static str,
        mut sentence: String,
        premise: &str,
    ) -> Self {
        sentence.push_str("; this rests on it ");
        sentence.push_str(premise);
        Self::decided(whom, cause, Certainty::Witnessed, sentence)
    }

    /// One that nothing decides, with what it may have been.
    pub(super) fn open(sentence: String, candidates: Vec<PossibleCause>) -> Self {
        Self {
            guilty: Guilty::Undecided,
            party: None,
            cause: None,
            slot: None,
            seq: None,
            certainty: Certainty::Open,
            sentence,
            seqs: Vec::new(),
            also: Vec::new(),
            candidates,
            would_decide: Vec::new(),
            not_looked_at: Vec::new(),
        }
    }

    /// Nobody's: a run that succeeded, or is not over.
    pub(super) fn nobody(sentence: String) -> Self {
        Self {
            guilty: Guilty::Nobody,
            certainty: Certainty::Proven,
            ..Self::open(sentence, Vec::new())
        }
    }

    /// At this slot.
    pub(super) fn at(mut self, slot: &Slot) -> Self {
        self.slot = Some(slot.clone());
        self
    }

    /// Decided by this event.
    pub(super) fn by(mut self, seq: Option<u64>) -> Self {
        self.seq = seq.or(self.seq);
        self
    }

    /// With these events as its proof.
    pub(super) fn shown(mut self, seqs: impl IntoIterator<Item = u64>) -> Self {
        self.seqs.extend(seqs);
        self
    }

    pub(super) fn beside(mut self, others: impl IntoIterator<Item = OtherCause>) -> Self {
        self.also.extend(others);
        self
    }

    /// The same as a cause beside another.
    pub(super) fn as_other(&self) -> OtherCause {
        OtherCause {
            guilty: self.guilty,
            party: self.party,
            cause: self.cause,
            step: self.slot.as_ref().map(|slot| slot.step.clone()),
            seq: self.seq,
            sentence: self.sentence.clone(),
        }
    }

    /// Whether it says the same of the same: only one of them is worth saying.
    fn says_as(&self, other: &Self) -> bool {
        let step = |found: &Self| found.slot.as_ref().map(|slot| slot.step.clone());
        (self.guilty, self.party, self.cause, step(self))
            == (other.guilty, other.party, other.cause, step(other))
    }
}

/// Causes of one end as one: the first of them if they speak against the same, else undecided with
/// all of them beside it.
pub(super) fn joined(mut all: Vec<CauseFound>) -> Option<CauseFound> {
    all.sort_by_key(|found| found.seq);
    let mut apart: Vec<CauseFound> = Vec::new();
    for found in all {
        match apart.iter_mut().find(|known| known.says_as(&found)) {
            Some(known) => known.seqs.extend(found.seqs.into_iter().chain(found.seq)),
            None => apart.push(found),
        }
    }
    let guilty: BTreeSet<Guilty> = apart.iter().map(|found| found.guilty).collect();
    let mut rest = apart.into_iter();
    let first = rest.next()?;
    let others: Vec<CauseFound> = rest.collect();
    if others.is_empty() {
        return Some(first);
    }
    let seqs: Vec<u64> = others
        .iter()
        .flat_map(|found| found.seqs.iter().copied().chain(found.seq))
        .collect();
    let beside: Vec<OtherCause> = others.iter().map(CauseFound::as_other).collect();
    if guilty.len() == 1 && !guilty.contains(&Guilty::Undecided) {
        return Some(first.shown(seqs).beside(beside));
    }
    let mut whole = CauseFound::open(
        "more than one thing went wrong, and not one kind of it".to_owned(),
        Vec::new(),
    );
    for found in std::iter::once(&first).chain(&others) {
        for one in &found.candidates {
            if !whole.candidates.contains(one) {
                whole.candidates.push(one.clone());
            }
        }
        whole
            .would_decide
            .extend(found.would_decide.iter().cloned());
    }
    whole.would_decide.sort();
    whole.would_decide.dedup();
    let first_seqs: Vec<u64> = first.seqs.iter().copied().chain(first.seq).collect();
    let all = std::iter::once(first.as_other()).chain(beside);
    Some(whole.shown(first_seqs).shown(seqs).beside(all))
}
