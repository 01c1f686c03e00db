//! What an event says: one sentence each, for every view.
//!
//! Owns the English of events, of reasons and of statuses. The trace, the live and the plain view,
//! notices and `why` lay the same words out. Never shortens, colours or escapes a text: whoever
//! prints it does. INVARIANT: free text of a planner, a tool or a person is only in `text`, or
//! between backticks.

use std::fmt::Display;

use provost_plan::plan::request::Why;

use crate::event::{Event, RunStatus, SettledBy, SkipReason, StepStatus};
use crate::state::{WaitKind, Waiting};
use crate::statement::StatementRecord;

mod execution;
mod people;
mod planning;

/// The sentence of an event, in its parts: `subject: verb rest (details): text`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Words {
    /// The slot, or the part of the run, that it is about; empty if the verb needs none.
    pub subject: String,
    /// What happens to it, in one to three words.
    pub verb: String,
    /// What completes the verb; begins with a space or a comma if there is any.
    pub rest: String,
    /// Digests, numbers and figures that only the trace shows.
    pub details: Vec<String>,
    /// A reason, a message or a value, from whoever gave it.
    pub text: Option<String>,
    /// How it is for the user.
    pub tone: Tone,
}

/// How an event is for the user of a run: views choose a colour by it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Tone {
    /// It is progress.
    #[default]
    Neutral,
    /// It went well.
    Good,
    /// It went wrong.
    Bad,
    /// Somebody has to do something.
    Attention,
}

impl Words {
    pub(crate) fn new(subject: &(impl Display + ?Sized), verb: impl Into<String>) -> Self {
        Self {
            subject: subject.to_string(),
            verb: verb.into(),
            ..Self::default()
        }
    }

    fn rest(mut self, rest: impl AsRef<str>) -> Self {
        self.rest.push_str(rest.as_ref());
        self
    }

    pub(crate) fn detail(mut self, detail: impl Into<String>) -> Self {
        self.details.push(detail.into());
        self
    }

    fn details(mut self, details: impl IntoIterator<Item = String>) -> Self {
        self.details.extend(details);
        self
    }

    fn text(mut self, text: Option<impl ToString>) -> Self {
        let text = text.map(|text| text.to_string());
        self.text = text.filter(|text| !text.is_empty());
        self
    }

    fn tone(mut self, tone: Tone) -> Self {
        self.tone = tone;
        self
    }

    /// The sentence without its details: a line of a log, or the text of a notice.
    #[must_use]
    pub fn line(&self) -> String {
        self.laid_out("")
    }

    /// The sentence with its details: a line of the trace.
    #[must_use]
    pub fn full(&self) -> String {
        match self.details.as_slice() {
            [] => self.line(),
            details => self.laid_out(&format!(" ({})", details.join(", "))),
        }
    }

    fn laid_out(&self, details: &str) -> String {
        let verb = format!("{}{}{details}", self.verb, self.rest);
        let verb = verb.trim_start();
        let colon = match self.subject.is_empty() || verb.is_empty() {
            true => "",
            // Why none: without a verb the details stand at the subject itself.
            false if self.verb.is_empty() => " ",
            false => ": ",
        };
        let text = self.text.as_deref().map(|text| format!(": {text}"));
        format!("{}{colon}{verb}{}", self.subject, text.unwrap_or_default())
    }
}

/// The words of an event.
#[must_use]
pub fn words(event: &Event) -> Words {
    match event {
        Event::RunCreated(created) => planning::created(created),
        Event::GoalInterpreted { goal, by, planner } => {
            planning::interpreted(goal, by, planner.as_ref())
        }
        Event::PlanRequested { .. } => planning::requested(event),
        Event::BudgetSpent { id, usage } => planning::spent(*id, usage),
        Event::PlanProposed { id, reply } => planning::proposed(*id, reply),
        Event::ProposalMended { id, fixes, .. } => planning::fixed(*id, fixes),
        Event::PlanChecked { .. } => planning::checked(event),
        Event::PlanRefused { id, findings } => planning::refused(*id, findings),
        Event::PlanGivenUp { .. } => planning::given_up(event),
        Event::PlanHandedOn { id, reason, to, .. } => planning::handed_on(*id, reason, to),
        Event::PlanRevised { .. } => planning::revised(event),
        Event::ReplanRequested { why } => Words::new("", "replanning").text(Some(because(why))),
        Event::ApprovalRequested { card, digest } => people::asked(card, digest),
        Event::ApprovalGiven { .. } => people::approved(event),
        Event::ApprovalRejected { .. } => people::rejected(event),
        Event::ApprovalExpired { card } => people::expired(card),
        Event::ApprovalsRevised { .. } => people::revised(event),
        Event::QuestionAsked { question, digest } => people::question(question, digest),
        Event::QuestionAnswered { .. } => people::answered(event),
        Event::QuestionExpired { question } => people::unanswered(question),
        Event::GoalAmended { .. } | Event::PlanAmended { .. } => people::amended(event),
        Event::CancelRequested { .. } => people::cancelled(event),
        Event::UndoRequested { .. } => people::undone(event),
        Event::Paused { .. } => people::paused(event),
        Event::Resumed { .. } => people::resumed(event),
        Event::DoubtSettled { .. } => people::settled(event),
        Event::RunStarted { revision } => {
            Words::new("run", "started").rest(format!(" with revision {revision}"))
        }
        Event::ListEvaluated { step, items, .. } => {
            Words::new(step, "runs").rest(format!(" over {}", counted(items.len(), "item")))
        }
        Event::StepSkipped { slot, because } => execution::skipped(slot, *because),
        Event::StepBlocked { step, on } => execution::blocked(step, on),
        Event::AdmissionRefused { slot, limit, .. } => execution::not_admitted(slot, limit),
        Event::AttemptStarted(started) => execution::started(started),
        Event::AttemptEnded(ended) => execution::ended(ended),
        Event::ObservationMade { .. } => execution::observed(event),
        Event::StepSettled { .. } => execution::settled(event),
        Event::ReconcileGivenUp { slot, reason } => execution::not_reconciled(slot, reason),
        Event::Deferred { slot, because, .. } => execution::deferred(slot, because),
        Event::UndoPlanned { steps, left } => execution::undo(steps, left),
        Event::RunEnded(ended) => execution::run_ended(ended),
    }
}

/// Why a revision is requested.
#[must_use]
pub fn because(why: &Why) -> String {
    match why {
        Why::Observed { step } => format!("the planner asked to see the result of `{step}`"),
        Why::StepFailed { step, class } => format!("step `{step}` failed ({class})"),
        Why::Rejected { step: None, reason } => format!("a person rejected the plan: {reason}"),
        Why::Rejected {
            step: Some(step),
            reason,
        } => format!("a person rejected step `{step}`: {reason}"),
        Why::Expired { step } if step.is_empty() => "nobody approved the plan in time".to_owned(),
        Why::Expired { step } => format!("nobody answered about step `{step}` in time"),
        Why::Unmet { criteria } => format!("not proven: {}", listed(criteria)),
        Why::Refine { step } => format!("subgoal `{step}` needs its steps"),
        Why::Amended { reason } => format!("a person changed the goal: {reason}"),
    }
}

/// What a run waits for, as the object of `waits for`.
#[must_use]
pub fn waits_for(waiting: &Waiting) -> String {
    match (waiting.kind, &waiting.slot) {
        (WaitKind::Approval, Some(slot)) => format!("approval of step `{slot}`"),
        (WaitKind::Approval, None) => "approval of the plan".to_owned(),
        (WaitKind::Answer, _) => "an answer to a question".to_owned(),
        (WaitKind::Settlement, Some(slot)) => format!("a person to settle `{slot}`, in doubt"),
        (WaitKind::Settlement, None) => "a person to settle a write in doubt".to_owned(),
        (WaitKind::Secret, _) => "a secret".to_owned(),
    }
}

/// Why a step does not run.
#[must_use]
pub fn skip_reason(reason: SkipReason) -> &'static str {
    match reason {
        SkipReason::When => "its condition is false",
        SkipReason::NotApproved => "it is not among the steps approved",
        SkipReason::Proven => "success is proven without it",
    }
}

/// The status of a step, as read.
#[must_use]
pub fn step_status(status: StepStatus) -> &'static str {
    match status {
        StepStatus::WaitingApproval => "waits for approval",
        StepStatus::WaitingAnswer => "waits for an answer",
        StepStatus::InDoubt => "in doubt",
        other => other.word(),
    }
}

/// The status of a run, as read.
#[must_use]
pub fn run_status(status: RunStatus) -> &'static str {
    match status {
        RunStatus::WaitingApproval => "waits for approval",
        RunStatus::WaitingAnswer => "waits for an answer",
        RunStatus::InDoubt => "in doubt",
        RunStatus::PartlyUndone => "partly undone",
        RunStatus::UndoFailed => "not undone",
        other => other.word(),
    }
}

/// A length of time in its two largest units.
#[must_use]
pub fn duration(ms: i64) -> String {
    let ms = ms.max(0);
    match ms {
        0..=999 => format!("{ms} ms"),
        1_000..=59_999 => format!("{}.{} s", ms / 1_000, ms % 1_000 / 100),
        60_000..=3_599_999 => format!("{} min {} s", ms / 60_000, ms % 60_000 / 1_000),
        _ => format!("{} h {} min", ms / 3_600_000, ms % 3_600_000 / 60_000),
    }
}

/// How long a tool took: to a tenth of a millisecond where it is short.
#[must_use]
pub fn latency(us: u64) -> String {
    match us {
        0..=9_999 => format!("{}.{} ms", us / 1_000, us % 1_000 / 100),
        _ => duration(i64::try_from(us / 1_000).unwrap_or(i64::MAX)),
    }
}

/// A moment, to the second, in UTC.
#[must_use]
pub fn moment(ms: i64) -> String {
    jiff::Timestamp::from_millisecond(ms)
        .map(|at| at.strftime("%Y-%m-%dT%H:%M:%SZ").to_string())
        .unwrap_or_else(|_| "an unknown moment".to_owned())
}

/// A number with its noun: `1 step`, `2 steps`.
#[must_use]
pub fn counted(number: usize, noun: &str) -> String {
    let s = if number == 1 { "" } else { "s" };
    format!("{number} {noun}{s}")
}

/// Names in backticks; `none` if there are none.
pub(crate) fn listed<T: AsRef<str>>(names: impl IntoIterator<Item = T>) -> String {
    let names: Vec<String> = names
        .into_iter()
        .map(|name| format!("`{}`", name.as_ref()))
        .collect();
    if names.is_empty() {
        "none".to_owned()
    } else {
        names.join(", ")
    }
}

/// `WHAT NAMES`, if there are any names.
fn also<'n>(what: &str, names: impl IntoIterator<Item = &'n String>) -> Option<String> {
    let mut names = names.into_iter().peekable();
    names.peek()?;
    Some(format!("{what} {}", listed(names)))
}

/// Who made a statement, whether they signed it, and how it came.
fn by(person: &str, record: Option<&StatementRecord>) -> String {
    let signed = record.is_some_and(|record| record.signature.is_some());
    let signed = if signed { ", signed" } else { "" };
    let via = record.and_then(|record| record.via.as_deref());
    let via = via.map_or_else(String::new, |via| {
        format!(", on the {} by {}", via.door, via.login)
    });
    format!(" by {person}{signed}{via}")
}

/// Who settled a doubt.
fn settler(by: &SettledBy) -> &str {
    match by {
        SettledBy::Reconcile { tool } => tool,
        SettledBy::Person { id } => id,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_moment_is_in_utc() {
        assert_eq!(moment(1_767_225_600_000), "2026-01-01T00:00:00Z");
    }
}
