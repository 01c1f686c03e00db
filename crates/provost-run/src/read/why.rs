//! The cause of how a run ended: the plan, the execution, neither, and which events prove it.
//!
//! Owns the judgment over a run's journal. Pure: where the events do not decide, it says so, and
//! what would. INVARIANT: a judgment against plan or execution rests on at least one event, which
//! is named by its number.
//!
//! | how it ended | cause |
//! |---|---|
//! | succeeded, or not over and nothing in doubt | none |
//! | a write in doubt | execution |
//! | `rejected`, `expired`, `cancelled` | neither |
//! | `undone`, `partly_undone`, `undo_failed` | as the end before the undo |
//! | `refused`, a proposal did not pass the check | plan |
//! | `refused`, no proposal was made | undecided |
//! | `unmet`, every step succeeded | plan; neither, if a person rejected a part |
//! | `unmet`, steps failed | as those steps |
//! | `timeout unavailable rate_limited output_invalid tool_bug` | execution |
//! | `invalid_arguments expression` | plan |
//! | `not_found` of arguments that rest on no step | plan |
//! | `not_found` of arguments read from a step | undecided |
//! | `policy_denied`, policy changed after the check; `drift` | neither |
//! | the same call repeated; the check or the revisions exhausted | plan, if nothing above decides |
//! | anything else | undecided |

use provost_plan::plan::undo::undone_by;
use serde::Serialize;

use crate::event::{Event, Proven, RunEnded, RunStatus, StepStatus};
use crate::outcome::Class;
use crate::state::Waiting;

mod failure;
mod story;

use failure::{JudgedFailure, is_without_plan};
use story::Story;

use super::words::{listed, waits_for, words};

/// What caused the end of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Cause {
    /// It succeeded, or it is not over.
    None,
    /// What was planned.
    Plan,
    /// What tools and calls did.
    Execution,
    /// A person, or a change of the rules.
    Neither,
    /// The events do not decide it.
    Undecided,
}

impl Cause {
    /// The word shown to people.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Plan => "plan",
            Self::Execution => "execution",
            Self::Neither => "neither",
            Self::Undecided => "undecided",
        }
    }
}

/// A judgment with its proof.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Judgment {
    /// The part of the system that caused it.
    pub cause: Cause,
    /// Why, in one sentence.
    pub sentence: String,
    /// The events that prove it, in their order.
    pub proof: Vec<ProofLine>,
    /// What would decide it, where the events do not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub would_decide: Option<String>,
}

/// An event that proves a judgment.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct ProofLine {
    /// The number of the event, from 1.
    pub seq: u64,
    /// Its kind.
    pub kind: &'static str,
    /// What it says.
    pub text: String,
}

/// Judges a journal: events with the moments they were recorded at, and what their run waits for.
#[must_use]
pub fn why(events: &[(Event, i64)], waits: &[Waiting]) -> Judgment {
    let story = Story::of(events);
    let judged = match story.ended() {
        None => unfinished(&story, waits),
        Some((seq, ended)) if ended.status.is_of_undoing() => undone(events, seq, ended),
        Some((seq, ended)) => over(&story, seq, ended),
    };
    let JudgedFailure {
        cause,
        sentence,
        mut seqs,
        would_decide,
    } = judged;
    seqs.sort_unstable();
    seqs.dedup();
    let proof = seqs.into_iter().filter_map(|seq| {
        let event = story.event(seq)?;
        Some(ProofLine {
            seq,
            kind: event.kind(),
            text: words(event).full(),
        })
    });
    Judgment {
        cause,
        sentence,
        proof: proof.collect(),
        would_decide,
    }
}

/// A run that is not over: only a doubt has a cause yet.
fn unfinished(story: &Story<'_>, waits: &[Waiting]) -> JudgedFailure {
    if let Some(judged) = doubt(story) {
        return judged;
    }
    let (sentence, seqs) = match waits.iter().min_by_key(|one| one.asked_at) {
        Some(first) => (
            format!("the run is not over: it waits for {}", waits_for(first)),
            story.asked_for(first),
        ),
        None => ("the run is not over".to_owned(), Vec::new()),
    };
    JudgedFailure::new(Cause::None, sentence, seqs)
}

/// A write whose effect nobody knows.
fn doubt(story: &Story<'_>) -> Option<JudgedFailure> {
    let steps = story.steps();
    let (id, settled) = steps
        .iter()
        .find(|(_, settled)| settled.status == StepStatus::InDoubt)?;
    let sentence = format!(
        "step `{id}` is in doubt: a write was sent, and no answer shows whether it took place"
    );
    let seqs = story.proof_of_step(id, settled.seq);
    Some(JudgedFailure::new(Cause::Execution, sentence, seqs))
}

fn over(story: &Story<'_>, seq: u64, ended: &RunEnded) -> JudgedFailure {
    let judged = match ended.status {
        RunStatus::Succeeded => {
            return JudgedFailure::new(Cause::None, "the run succeeded".to_owned(), vec![seq]);
        }
        RunStatus::Rejected | RunStatus::Expired | RunStatus::Cancelled => by_people(story, ended),
        RunStatus::Refused => refused(story),
        RunStatus::Failed
        | RunStatus::Planning
        | RunStatus::WaitingApproval
        | RunStatus::WaitingAnswer
        | RunStatus::Running
        | RunStatus::Paused
        | RunStatus::InDoubt
        | RunStatus::Undone
        | RunStatus::PartlyUndone
        | RunStatus::UndoFailed => failed(story, ended),
    };
    judged.also(seq)
}

/// A run that a person had undone after its end: why it ended before that, and what came of it.
fn undone(events: &[(Event, i64)], seq: u64, ended: &RunEnded) -> JudgedFailure {
    let asked = |(event, _): &(Event, i64)| matches!(event, Event::UndoRequested { .. });
    let first = events.iter().position(asked).unwrap_or(events.len());
    let before = Story::of(events.get(..first).unwrap_or_default());
    let Some((end, of)) = before.ended() else {
        return unfinished(&before, &[]);
    };
    let JudgedFailure {
        cause,
        sentence,
        seqs,
        would_decide,
    } = over(&before, end, of);
    let result = match ended.status {
        RunStatus::Undone => "all that it did was undone",
        RunStatus::PartlyUndone => "a part of what it did was undone",
        _ => "nothing of what it did was undone",
    };
    let after = Story::of(events);
    let steps = after.steps();
    let not_undone = steps
        .iter()
        .filter(|(id, settled)| undone_by(id).is_some() && settled.status != StepStatus::Succeeded);
    let of_undoing = not_undone.map(|(_, settled)| settled.seq);
    let asked = after.seqs_of(|event| matches!(event, Event::UndoRequested { .. }));
    let seqs = seqs.into_iter().chain(asked).chain(of_undoing).chain([seq]);
    JudgedFailure {
        cause,
        sentence: format!("{sentence}; after the end {result}"),
        seqs: seqs.collect(),
        would_decide,
    }
}

fn by_people(story: &Story<'_>, ended: &RunEnded) -> JudgedFailure {
    let seqs = story.seqs_of(|event| {
        matches!(
            (ended.status, event),
            (RunStatus::Rejected, Event::ApprovalRejected { .. })
                | (
                    RunStatus::Expired,
                    Event::ApprovalExpired { .. } | Event::QuestionExpired { .. }
                )
                | (RunStatus::Cancelled, Event::CancelRequested { .. })
        )
    });
    let sentence = match ended.status {
        RunStatus::Rejected => "a person rejected the approval",
        RunStatus::Expired => "nobody answered in time",
        _ => "a person cancelled the run",
    };
    let last = seqs.last().copied().into_iter().collect();
    JudgedFailure::new(Cause::Neither, sentence.to_owned(), last)
}

/// No plan was admissible.
fn refused(story: &Story<'_>) -> JudgedFailure {
    let seqs = story.seqs_of(|event| matches!(event, Event::PlanRefused { .. }));
    let given_up = story.seqs_of(is_without_plan);
    if seqs.is_empty() {
        let sentence = "the planner proposed no plan".to_owned();
        let decides = "another plan for the goal: a playbook that matches it, or a plan file";
        return JudgedFailure::new(Cause::Undecided, sentence, given_up).decided_by(decides);
    }
    let count = seqs.len();
    let sentence = match count {
        1 => "the proposed plan failed the check".to_owned(),
        _ => format!("none of the {count} proposed plans passed the check"),
    };
    JudgedFailure::new(Cause::Plan, sentence, [seqs, given_up].concat())
}

/// A run with an admissible plan failed.
fn failed(story: &Story<'_>, ended: &RunEnded) -> JudgedFailure {
    let judged = match (&ended.step, ended.class) {
        (Some(step), class) => failure::of_step(story, step, class),
        (None, Some(Class::Unmet)) => unmet(story, ended),
        (None, Some(Class::Drift)) => {
            let sentence = "the rules changed, and the plan no longer passes the check".to_owned();
            let seqs = story.seqs_of(|event| matches!(event, Event::Resumed { .. }));
            JudgedFailure::new(Cause::Neither, sentence, seqs)
        }
        (None, class) => failure::of_class(story, class),
    };
    if judged.cause == Cause::Undecided {
        return failure::exhausted(story).unwrap_or(judged);
    }
    judged
}

/// Every step ended, but a criterion is not proven.
fn unmet(story: &Story<'_>, ended: &RunEnded) -> JudgedFailure {
    let open: Vec<&String> = ended
        .criteria
        .iter()
        .filter(|(_, proven)| **proven != Proven::Held)
        .map(|(id, _)| id)
        .collect();
    let open = listed(open);
    let steps = story.steps();
    let bad: Vec<JudgedFailure> = steps
        .iter()
        .filter_map(|(id, settled)| match settled.status {
            StepStatus::Failed | StepStatus::InDoubt => {
                Some(failure::of_step(story, id, settled.class))
            }
            StepStatus::Skipped if settled.left_out => {
                let sentence = format!("a person left step `{id}` out");
                Some(JudgedFailure::new(
                    Cause::Neither,
                    sentence,
                    vec![settled.seq],
                ))
            }
            _ => None,
        })
        .collect();
    if !bad.is_empty() {
        let judged = failure::joined(bad);
        let sentence = format!("{open} is not proven, because {}", judged.sentence);
        return JudgedFailure { sentence, ..judged };
    }
    let not_approved = story.seqs_of(|event| {
        matches!(
            event,
            Event::ApprovalRejected { .. } | Event::ApprovalExpired { .. }
        )
    });
    if !not_approved.is_empty() {
        let sentence = format!("{open} is not proven, because a person did not approve a step");
        return JudgedFailure::new(Cause::Neither, sentence, not_approved);
    }
    let sentence = format!("every step succeeded, but {open} is not proven");
    let seqs = story
        .seqs_of(|event| matches!(event, Event::ReplanRequested { why } if !why.is_optional()));
    JudgedFailure::new(Cause::Plan, sentence, seqs)
}
