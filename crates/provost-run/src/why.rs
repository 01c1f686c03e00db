//! Who is guilty: the plan, the execution, neither, and which events prove it.
//!
//! Owns the judgment over a run's journal. Pure, and asks nobody: where the events do not decide
//! it says so, and what would. INVARIANT: a judgment against plan or execution rests on at least
//! one event, which is named by its number.
//!
//! | how it ended | guilty |
//! |---|---|
//! | succeeded, or not over and nothing in doubt | nobody |
//! | a write in doubt | execution |
//! | `rejected`, `expired`, `cancelled` | neither |
//! | `refused`, a proposal did not pass the check | plan |
//! | `refused`, no proposal was made | undecided |
//! | `unmet`, every step succeeded | plan; neither, if a person's no shaped the plan |
//! | `unmet`, steps failed | as those steps |
//! | `timeout unavailable rate_limited output_invalid tool_bug` | execution |
//! | `invalid_arguments expression` | plan |
//! | `not_found` of arguments that rest on no step | plan |
//! | `not_found` of arguments read from a step | undecided |
//! | `policy_denied`, policy moved since the check; `drift` | neither |
//! | one call over and over; the check or the revisions exhausted | plan, if nothing above decides |
//! | anything else | undecided |

use serde::Serialize;

use crate::event::{Event, Proven, RunEnded, RunStatus, StepStatus};
use crate::outcome::Class;
use crate::state::{WaitKind, Waiting};
use crate::trace::{line_of, listed};

mod failure;
mod story;

use failure::{JudgedFailure, came_to_nothing};
use story::Story;

/// Who is guilty of how a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Cause {
    /// It succeeded, or it is not over.
    Nobody,
    /// What was intended.
    Plan,
    /// What was done.
    Execution,
    /// People or the rules.
    Neither,
    /// The events do not say.
    Undecided,
}

impl Cause {
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

/// A judgment with its proof.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Judgment {
    /// Who.
    pub guilty: Cause,
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
        Some((seq, ended)) => over(&story, seq, ended),
    };
    let JudgedFailure {
        guilty,
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
            text: line_of(event),
        })
    });
    Judgment {
        guilty,
        sentence,
        proof: proof.collect(),
        would_decide,
    }
}

/// A run that is not over: only a doubt is anybody's fault yet.
fn unfinished(story: &Story<'_>, waits: &[Waiting]) -> JudgedFailure {
    if let Some(judged) = doubt(story) {
        return judged;
    }
    let (sentence, seqs) = match waits.iter().min_by_key(|one| one.asked_at) {
        Some(first) => (
            format!("the run is not over: it waits for {}", in_words(first)),
            story.asked_for(first),
        ),
        None => ("the run is not over".to_owned(), Vec::new()),
    };
    JudgedFailure::new(Cause::Nobody, sentence, seqs)
}

fn in_words(waiting: &Waiting) -> String {
    match (waiting.kind, &waiting.slot) {
        (WaitKind::Approval, Some(slot)) => format!("a person's yes about step `{slot}`"),
        (WaitKind::Approval, None) => "a person's yes about the plan".to_owned(),
        (WaitKind::Answer, _) => "a person's answer".to_owned(),
        (WaitKind::Settlement, _) => "a person who says what became of a write".to_owned(),
        (WaitKind::Secret, _) => "a secret that somebody has to set".to_owned(),
    }
}

/// A write whose effect nobody knows.
fn doubt(story: &Story<'_>) -> Option<JudgedFailure> {
    let steps = story.steps();
    let (id, settled) = steps
        .iter()
        .find(|(_, settled)| settled.status == StepStatus::InDoubt)?;
    let sentence = format!(
        "step `{id}` is in doubt: a write was sent, and no answer says whether it took place"
    );
    let seqs = story.proof_of_step(id, settled.seq);
    Some(JudgedFailure::new(Cause::Execution, sentence, seqs))
}

fn over(story: &Story<'_>, seq: u64, ended: &RunEnded) -> JudgedFailure {
    let judged = match ended.status {
        RunStatus::Succeeded => {
            return JudgedFailure::new(Cause::Nobody, "the run succeeded".to_owned(), vec![seq]);
        }
        RunStatus::Rejected | RunStatus::Expired | RunStatus::Cancelled => by_people(story, ended),
        RunStatus::Refused => refused(story),
        RunStatus::Failed
        | RunStatus::Planning
        | RunStatus::WaitingApproval
        | RunStatus::WaitingAnswer
        | RunStatus::Running
        | RunStatus::Paused
        | RunStatus::InDoubt => failed(story, ended),
    };
    judged.also(seq)
}

fn by_people(story: &Story<'_>, ended: &RunEnded) -> JudgedFailure {
    let seqs = story.seqs_of(|event| {
        matches!(
            (ended.status, event),
            (RunStatus::Rejected, Event::ApprovalRejected { .. })
                | (RunStatus::Expired, Event::ApprovalExpired { .. })
                | (RunStatus::Cancelled, Event::CancelRequested { .. })
        )
    });
    let sentence = match ended.status {
        RunStatus::Rejected => "a person said no",
        RunStatus::Expired => "a person was asked, and nobody answered in time",
        _ => "a person ended the run",
    };
    let last = seqs.last().copied().into_iter().collect();
    JudgedFailure::new(Cause::Neither, sentence.to_owned(), last)
}

/// No plan ever came into force.
fn refused(story: &Story<'_>) -> JudgedFailure {
    let seqs = story.seqs_of(|event| matches!(event, Event::PlanRefused { .. }));
    let given_up = story.seqs_of(came_to_nothing);
    if seqs.is_empty() {
        let sentence = "the planner proposed nothing, so nothing was judged or done".to_owned();
        let decides = "another plan for the goal: a playbook that matches it, or a plan file";
        return JudgedFailure::new(Cause::Undecided, sentence, given_up).decided_by(decides);
    }
    let count = seqs.len();
    let sentence = match count {
        1 => "the plan that was proposed did not pass the check".to_owned(),
        _ => format!("none of the {count} plans that were proposed passed the check"),
    };
    JudgedFailure::new(Cause::Plan, sentence, [seqs, given_up].concat())
}

/// A plan was in force, and the run failed.
fn failed(story: &Story<'_>, ended: &RunEnded) -> JudgedFailure {
    let judged = match (&ended.step, ended.class) {
        (Some(step), class) => failure::of_step(story, step, class),
        (None, Some(Class::Unmet)) => unmet(story, ended),
        (None, Some(Class::Drift)) => {
            let sentence = "the rules in force moved, and no longer admit the plan".to_owned();
            let seqs = story.seqs_of(|event| matches!(event, Event::Resumed { .. }));
            JudgedFailure::new(Cause::Neither, sentence, seqs)
        }
        (None, class) => failure::of_class(story, class),
    };
    if judged.guilty == Cause::Undecided {
        return failure::exhausted(story).unwrap_or(judged);
    }
    judged
}

/// Everything ended, but a criterion does not hold.
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
        let sentence = format!("{open} does not hold, because {}", judged.sentence);
        return JudgedFailure { sentence, ..judged };
    }
    let said_no = story.seqs_of(|event| {
        matches!(
            event,
            Event::ApprovalRejected { .. } | Event::ApprovalExpired { .. }
        )
    });
    if !said_no.is_empty() {
        let sentence = format!("a person did not say yes, and without that {open} does not hold");
        return JudgedFailure::new(Cause::Neither, sentence, said_no);
    }
    let sentence = format!("every step succeeded, and still {open} does not hold");
    let seqs = story
        .seqs_of(|event| matches!(event, Event::ReplanRequested { why } if !why.is_optional()));
    JudgedFailure::new(Cause::Plan, sentence, seqs)
}

#[cfg(test)]
mod tests;
