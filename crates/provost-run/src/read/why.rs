//! The cause of how a run ended: plan, execution or neither, by whom, at which step and event.
//!
//! Owns the judgment over a run's journal, and the form of a verdict. Pure. INVARIANT, the twin
//! rule: `proven` is said only where no run with another truth can have this journal, up to ids and
//! moments. A verdict that rests on other calls of a tool is `witnessed`; one that rests on a run
//! that is right is `referenced`; all else is open, with candidates.
//!
//! | file | judges |
//! |---|---|
//! | `ending` | how a run ended: by people, refused, not over |
//! | `unproven` | a criterion that is not met, though the run came to its end |
//! | `failure` | a slot that failed, by its class |
//! | `service` | a tool that could not, was late, or answered out of form |
//! | `refusal` | a tool that denied, refused or did not find |
//! | `limits` | a limit that was reached |
//! | `origin` | where the arguments of a slot came from |
//! | `support` | what a criterion rests on, and which slots failed first |
//! | `witness` | other calls of the same operation |
//! | `relevant` | what of a run matters to how it ended |
//! | `against` | the first difference from a run that is right |
//! | `effects` | what it changed, beside what was to be changed |
//! | `recheck` | plain reads that an open verdict leads to, made again |

use serde::Serialize;
use serde_json::{Value, json};

use crate::call::Slot;
use crate::event::Event;
use crate::state::{State, Waiting};

mod against;
mod effects;
mod ending;
mod failure;
mod found;
mod limits;
mod origin;
mod recheck;
mod refusal;
mod relevant;
mod service;
mod story;
mod support;
mod unproven;
mod witness;

pub use against::against;
pub use effects::{EffectBesides, EffectsCompared, against_effects};
pub use recheck::{
    AnswerNow, READS_AGAIN_MAX, ReadAgain, ReadAnswer, ReadMade, answer_of, last_write,
    reads_to_repeat, rechecked,
};
pub use witness::{EVENTS_LOOKED_AT_MAX, Witnesses};

use found::CauseFound;
use story::Story;

use super::words::words;

/// The version of the form in which a verdict is printed.
pub const WHY_SCHEMA: &str = "provost/why/v2";

/// What a verdict speaks against.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Guilty {
    /// Nothing: it succeeded, or it is not over.
    Nobody,
    /// What was planned.
    Plan,
    /// The service, the machine, or the operator's entry and account for it.
    Execution,
    /// People, rules, limits, the goal, the world, or that there was no planner.
    Neither,
    /// Nothing that is known decides it.
    Undecided,
}

impl Guilty {
    /// The word shown to people.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Nobody => "nobody",
            Self::Plan => "plan",
            Self::Execution => "execution",
            Self::Neither => "neither",
            Self::Undecided => "undecided",
        }
    }
}

/// Who a verdict is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Party {
    /// Whoever planned.
    Planner,
    /// The tool that was called.
    Tool,
    /// The tool, or the operator's entry for it: it never worked under this entry.
    ToolOrOperator,
    /// The machine on which the run was worked on.
    Host,
    /// The machine, or the operator's entry: an old journal does not tell them apart.
    HostOrOperator,
    /// The operator: entries, accounts, policy, limits.
    Operator,
    /// A person who was asked, or spoke.
    Person,
    /// A person who was asked, or the operator, whose policy gave the time.
    PersonOrOperator,
    /// What the user asked for.
    Goal,
    /// What changed outside while the run was on its way.
    World,
}

impl Party {
    /// The words shown to people.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Planner => "planner",
            Self::Tool => "tool",
            Self::ToolOrOperator => "tool or operator",
            Self::Host => "host",
            Self::HostOrOperator => "host or operator",
            Self::Operator => "operator",
            Self::Person => "person",
            Self::PersonOrOperator => "person or operator",
            Self::Goal => "goal",
            Self::World => "world",
        }
    }
}

/// What a verdict rests on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Certainty {
    /// This journal alone.
    Proven,
    /// This journal, and that a tool which answered others answered this one truly.
    Witnessed,
    /// A run that is right.
    Referenced,
    /// Nothing yet.
    Open,
}

impl Certainty {
    /// The word shown to people.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Proven => "proven",
            Self::Witnessed => "witnessed",
            Self::Referenced => "referenced",
            Self::Open => "open",
        }
    }
}

/// A verdict with its proof.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Judgment {
    /// What it speaks against.
    pub guilty: Guilty,
    /// Who that is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub party: Option<Party>,
    /// What they did, as a word.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cause: Option<&'static str>,
    /// The step at which it came out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub step: Option<String>,
    /// The same with its item.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub slot: Option<String>,
    /// The number of the decisive event.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seq: Option<u64>,
    /// What it rests on.
    pub certainty: Certainty,
    /// Why, in one sentence; it states what the proof lists.
    pub sentence: String,
    /// The events that prove it, in their order.
    pub proof: Vec<ProofLine>,
    /// Other causes beside it, in the order of their events.
    pub also: Vec<OtherCause>,
    /// Of an open one: what it may have been, the nearest first.
    pub candidates: Vec<PossibleCause>,
    /// What would decide it, as arguments of `provost`.
    pub would_decide: Vec<String>,
    /// What it did not look at.
    pub not_looked_at: Vec<String>,
    /// What came of the reads that were made again, where any were to be.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub rechecked: Vec<ReadAgain>,
}

impl Judgment {
    /// The verdict as an object of its own, with the run that it is about.
    #[must_use]
    pub fn document(&self, state: &State) -> Value {
        let head = json!({
            "schema": WHY_SCHEMA,
            "run": state.head.run,
            "status": state.status().word(),
        });
        match (head, serde_json::to_value(self)) {
            (Value::Object(mut object), Ok(Value::Object(verdict))) => {
                object.extend(verdict);
                Value::Object(object)
            }
            (head, _) => head,
        }
    }
}

/// An event that proves a verdict.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct ProofLine {
    /// The number of the event, from 1.
    pub seq: u64,
    /// Its kind.
    pub kind: &'static str,
    /// What it says.
    pub text: String,
}

/// A cause beside another.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct OtherCause {
    /// What it speaks against.
    pub guilty: Guilty,
    /// Who that is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub party: Option<Party>,
    /// What they did, as a word.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cause: Option<&'static str>,
    /// The step at which it came out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub step: Option<String>,
    /// The number of the decisive event.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seq: Option<u64>,
    /// Why, in one sentence.
    pub sentence: String,
}

/// What an open verdict may come to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct PossibleCause {
    /// What it would speak against.
    pub guilty: Guilty,
    /// Who that is.
    pub party: Party,
    /// The step where it would lie.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub step: Option<String>,
    /// What would be wrong.
    pub text: String,
}

/// Judges a journal: events with the moments they were recorded at, what their run waits for, and
/// the calls of other runs.
#[must_use]
pub fn why(events: &[(Event, i64)], waits: &[Waiting], others: &Witnesses) -> Judgment {
    let story = Story::of(events, others);
    let found = ending::judged(&story, waits);
    worded(&story, found)
}

/// A verdict in its form: the proof in order, with the words of its events.
fn worded(story: &Story<'_>, found: CauseFound) -> Judgment {
    let CauseFound {
        guilty,
        party,
        cause,
        slot,
        seq,
        certainty,
        sentence,
        mut seqs,
        mut also,
        candidates,
        would_decide,
        not_looked_at,
    } = found;
    seqs.extend(seq);
    seqs.sort_unstable();
    seqs.dedup();
    also.sort_by_key(|other| other.seq);
    let proof = seqs.into_iter().filter_map(|seq| {
        let event = story.event(seq)?;
        Some(ProofLine {
            seq,
            kind: event.kind(),
            text: words(event).full(),
        })
    });
    Judgment {
        guilty,
        party,
        cause,
        step: slot.as_ref().map(|slot| slot.step.clone()),
        slot: slot.as_ref().map(Slot::to_string),
        seq,
        certainty,
        sentence,
        proof: proof.collect(),
        also,
        candidates,
        would_decide,
        not_looked_at,
        rechecked: Vec::new(),
    }
}
