//! What each event says, in one line.
//!
//! Owns the words of the trace and of a proof. INVARIANT: a line names things by id and digest;
//! free text of a planner, a tool or a person stands at its end, after a colon.

use std::collections::BTreeMap;

use provost_plan::money::Money;
use provost_plan::plan::request::Why;

use crate::call::Slot;
use crate::card::{Card, CardSubject, QuestionPurpose};
use crate::event::{
    AttemptEnded, AttemptStarted, Event, NotUndone, RunEnded, SettledBy, SkipReason,
};
use crate::outcome::Used;
use crate::statement::StatementRecord;

mod planned;

use planned::{checked, finding, handed_on, interpreted, planner_of, proposed, requested, spent};

/// The line of an event.
pub(crate) fn line_of(event: &Event) -> String {
    match event {
        Event::RunCreated(created) => {
            let planner = planner_of(&created.planner);
            let mode = created.mode.map(|mode| format!(" ({})", mode.word()));
            format!(
                "for `{}`, by {planner}{}: {}",
                created.principal.id,
                mode.unwrap_or_default(),
                created.goal.text
            )
        }
        Event::GoalInterpreted { goal, by, planner } => interpreted(goal, by, planner.as_ref()),
        Event::PlanRequested { .. } => requested(event),
        Event::BudgetSpent { id, usage } => spent(*id, usage),
        Event::PlanProposed { id, reply } => proposed(*id, reply),
        Event::ProposalMended { id, fixes, .. } => {
            format!("reply {id} was mended: {}", fixes.join("; "))
        }
        Event::PlanChecked { .. } => checked(event),
        Event::PlanRefused { id, findings } => {
            let findings: Vec<String> = findings.iter().map(finding).collect();
            format!(
                "reply {id} does not pass the check: {}",
                findings.join("; ")
            )
        }
        Event::PlanGivenUp {
            id,
            reason,
            goes_on,
        } => {
            let rest = if *goes_on { "; the rest goes on" } else { "" };
            format!("request {id} brought no plan: {reason}{rest}")
        }
        Event::PlanHandedOn { id, reason, to } => handed_on(*id, reason, to),
        Event::PlanRevised {
            revision,
            added,
            changed,
            removed,
            because,
        } => {
            let added = also("added", &listed(added));
            let changed = also("changed", &listed(changed));
            let removed = also("removed", &listed(removed));
            let because = because.as_deref().map(|text| format!(": {text}"));
            format!(
                "revision {revision}{added}{changed}{removed}{}",
                because.unwrap_or_default()
            )
        }
        other => line_of_people(other),
    }
}

fn line_of_people(event: &Event) -> String {
    match event {
        Event::QuestionAsked { question, digest } => {
            let purpose = match &question.purpose {
                QuestionPurpose::Step { step } => format!("step `{step}`"),
                QuestionPurpose::Planner { id, .. } => format!("the planner (`{id}`)"),
                QuestionPurpose::Escalation { step } => format!("what to do about `{step}`"),
                QuestionPurpose::Review { .. } => "what to do without a plan".to_owned(),
            };
            format!("{} for {purpose}: {}", digest.short(), question.text)
        }
        Event::QuestionAnswered {
            question,
            value,
            by,
            record,
        } => {
            let signed = signed(record.as_ref());
            format!("`{by}` answered {}: {value}{signed}", question.short())
        }
        Event::GoalAmended {
            goal, by, reason, ..
        } => format!("`{by}` put another goal: {}: {reason}", goal.text),
        Event::PlanAmended { by, reason, .. } => format!("`{by}` put another plan: {reason}"),
        Event::ReplanRequested { why } => format!("because {}", why_text(why)),
        Event::CancelRequested {
            by, reason, undo, ..
        } => cancel_text(by, reason.as_deref(), *undo),
        Event::UndoPlanned { steps, left } => undo_text(steps, left),
        other => line_of_approval(other),
    }
}

fn line_of_approval(event: &Event) -> String {
    match event {
        Event::ApprovalRequested { card, digest } => {
            format!("{} asks {}", digest.short(), card_text(card))
        }
        Event::ApprovalGiven {
            card,
            by,
            steps,
            complete,
            record,
            ..
        } => {
            let which = also("steps", &listed(steps));
            let more = if *complete { "" } else { "; others must too" };
            let signed = signed(record.as_ref());
            format!("`{by}` said yes to {}{which}{more}{signed}", card.short())
        }
        Event::ApprovalRejected {
            card,
            by,
            reason,
            all,
            record,
        } => {
            let signed = signed(record.as_ref());
            let what = if *all { " and to all that is left" } else { "" };
            format!("`{by}` said no to {}{what}: {reason}{signed}", card.short())
        }
        Event::ApprovalExpired { card } => format!("nobody answered {} in time", card.short()),
        Event::ApprovalsRevised {
            retain,
            replace,
            clear,
        } => {
            let retain = also("retained", &listed(retain));
            let replace = also("asked again", &listed(replace));
            let clear = also("cleared", &listed(clear));
            match format!("{retain}{replace}{clear}") {
                none if none.is_empty() => "there was none to revise".to_owned(),
                some => some.trim_start_matches("; ").to_owned(),
            }
        }
        other => line_of_execution(other),
    }
}

fn cancel_text(by: &str, reason: Option<&str>, undo: bool) -> String {
    let reason = reason.map(|text| format!(": {text}"));
    let undo = if undo { ", undoing" } else { "" };
    format!("by `{by}`{undo}{}", reason.unwrap_or_default())
}

/// What is undone, and what is not.
fn undo_text(steps: &BTreeMap<String, Slot>, left: &[NotUndone]) -> String {
    let undone = steps.iter().map(|(by, of)| format!("`{by}` undoes `{of}`"));
    let left = left
        .iter()
        .map(|left| format!("not `{}`: {}", left.slot, left.because));
    let all: Vec<String> = undone.chain(left).collect();
    if all.is_empty() {
        "nothing happened".to_owned()
    } else {
        all.join("; ")
    }
}

/// Whether a word bears a signature.
fn signed(record: Option<&StatementRecord>) -> &'static str {
    match record {
        Some(record) if record.signature.is_some() => ", signed",
        _ => "",
    }
}

/// Why something was skipped, in words.
fn skipped(because: SkipReason) -> &'static str {
    match because {
        SkipReason::When => "its `when` is false",
        SkipReason::NotApproved => "a person left it out",
        SkipReason::Proven => "success holds without it",
    }
}

fn line_of_execution(event: &Event) -> String {
    match event {
        Event::RunStarted { revision } => format!("revision {revision}"),
        Event::ListEvaluated { step, items, .. } => {
            format!("`{step}` over {}", counted(items.len(), "item"))
        }
        Event::StepSkipped { slot, because } => format!("`{slot}`: {}", skipped(*because)),
        Event::StepBlocked { step, on } => format!("`{step}` waits for `{on}`, which never comes"),
        Event::AdmissionRefused { slot, limit } => format!("`{slot}`: {limit}"),
        Event::AttemptStarted(started) => started_text(started),
        Event::AttemptEnded(attempt) => ended(attempt, None),
        Event::ObservationMade {
            slot,
            label,
            evidence,
            ..
        } => {
            let integrity = label.integrity.word();
            format!("`{slot}` {integrity}, evidence {}", evidence.short())
        }
        Event::StepSettled { .. } => settled_text(event),
        Event::DoubtSettled {
            slot,
            settled,
            by,
            reason,
            ..
        } => {
            let reason = reason.as_deref().map(|text| format!(": {text}"));
            let (word, by) = (settled.word(), settler(by));
            format!("`{slot}` {word}, says {by}{}", reason.unwrap_or_default())
        }
        Event::ReconcileGivenUp { slot, reason } => format!("`{slot}`: {reason}"),
        Event::Deferred { slot, because, .. } => format!("`{slot}`: {because}"),
        Event::Paused {
            by,
            what,
            reason,
            missing,
            ..
        } => match missing {
            Some(missing) => format!("{what} lacks `{}`: {reason}", missing.secret),
            None => format!("{what} by `{by}`: {reason}"),
        },
        Event::Resumed { by: Some(by), .. } => format!("by `{by}`"),
        Event::Resumed { lost, .. } if lost.is_empty() => "nothing was in flight".to_owned(),
        Event::Resumed { lost, .. } => {
            let lost: Vec<String> = lost.iter().map(Slot::to_string).collect();
            format!("lost in flight {}", listed(&lost))
        }
        Event::RunEnded(ended) => end_text(ended),
        // Why: the other kinds were answered by the two functions that call this one.
        other => other.kind().to_owned(),
    }
}

fn settled_text(event: &Event) -> String {
    let Event::StepSettled {
        slot,
        status,
        class,
        message,
        created,
        ..
    } = event
    else {
        return event.kind().to_owned();
    };
    let class = class.map(|class| format!(" ({})", class.word()));
    let message = message.as_deref().map(|text| format!(": {text}"));
    let made = created.as_ref().map(|made| format!(", created {made}"));
    format!(
        "`{slot}` {}{}{}{}",
        status.word(),
        class.unwrap_or_default(),
        message.unwrap_or_default(),
        made.unwrap_or_default()
    )
}

/// Who settled a doubt, in words.
#[must_use]
pub fn settler(by: &SettledBy) -> String {
    match by {
        SettledBy::Reconcile { tool } => format!("`{tool}`"),
        SettledBy::Person { id } => format!("`{id}`"),
    }
}

fn card_text(card: &Card) -> String {
    let quorum = match card.terms.quorum {
        0 | 1 => String::new(),
        many => format!(", {many} people"),
    };
    match &card.subject {
        CardSubject::Plan { steps } => {
            format!("about the plan's steps {}{quorum}", listed(steps.keys()))
        }
        CardSubject::Step { step, ask, calls } => {
            let repeats = calls.iter().find_map(|call| call.repeats.as_deref());
            let repeats = repeats.map(|of| format!(", which repeats `{of}`"));
            let before = calls.iter().map(|call| call.earlier.count).max();
            format!(
                "about `{step}`, {} of `{}` ({}, {} risk){}{}{quorum}",
                counted(calls.len(), "call"),
                ask.operation,
                ask.effect.word(),
                ask.risk.word(),
                repeats.unwrap_or_default(),
                made_before(before.unwrap_or_default())
            )
        }
    }
}

fn made_before(count: u64) -> String {
    match count {
        0 => String::new(),
        1 => ", made before by another run".to_owned(),
        many => format!(", made {many} times before by other runs"),
    }
}

fn started_text(started: &AttemptStarted) -> String {
    let key = if started.key.is_some() { ", keyed" } else { "" };
    let confirms = if started.confirms {
        ", to confirm it"
    } else {
        ""
    };
    let approval = started
        .approval
        .map(|card| format!(", approved by {}", card.short()));
    let again = started
        .retakes_for
        .as_ref()
        .map(|step| format!(", taken again for `{step}`"));
    let again = again.unwrap_or_default();
    let attempt = match started.previews {
        Some(_) => "preview by".to_owned(),
        None => format!("attempt {} of", started.attempt),
    };
    format!(
        "`{}` {attempt} `{}` with {}, {}{}{key}{again}{confirms}",
        started.slot,
        started.operation,
        started.args_digest.short(),
        started.verdict.decision.word(),
        approval.unwrap_or_default()
    )
}

/// The line of the end of an attempt that took so many milliseconds.
pub(super) fn ended(ended: &AttemptEnded, took: Option<i64>) -> String {
    let took = took.map(|ms| format!(", {}", super::duration(ms)));
    let lost = if ended.lost { ", lost" } else { "" };
    let evidence = ended
        .evidence
        .map(|digest| format!(", evidence {}", digest.short()));
    let retry = if ended.retry_at.is_some() {
        ", tried again"
    } else {
        ""
    };
    let used = ended.used.as_ref().map(used);
    let message = ended.message.as_deref().map(|text| format!(": {text}"));
    let attempt = match ended.attempt {
        0 => "preview".to_owned(),
        number => format!("attempt {number}"),
    };
    format!(
        "`{}` {attempt} {} × {}{lost}{}{}{retry}{}{}",
        ended.slot,
        ended.class.word(),
        ended.landing.word(),
        took.unwrap_or_default(),
        evidence.unwrap_or_default(),
        used.unwrap_or_default(),
        message.unwrap_or_default()
    )
}

/// What an attempt took of a model.
fn used(used: &Used) -> String {
    format!(
        ", {}, prompt {}, model: {}",
        tokens(
            used.tokens_in,
            used.tokens_cached,
            used.tokens_out,
            used.cost
        ),
        used.prompt,
        used.model
    )
}

fn tokens(sent: u64, cached: u64, received: u64, cost: Option<Money>) -> String {
    let cost = cost.map(|cost| format!(", cost {cost}"));
    let cost = cost.unwrap_or_default();
    format!("{sent} tokens in ({cached} cached), {received} out{cost}")
}

fn end_text(ended: &RunEnded) -> String {
    let class = ended.class.map(|class| format!(" ({})", class.word()));
    let step = ended.step.as_deref().map(|step| format!(" at `{step}`"));
    let message = ended.message.as_deref().map(|text| format!(": {text}"));
    format!(
        "{}{}{}{}",
        ended.status.word(),
        class.unwrap_or_default(),
        step.unwrap_or_default(),
        message.unwrap_or_default()
    )
}

/// Why a revision is asked for, in words.
pub(crate) fn why_text(why: &Why) -> String {
    match why {
        Why::Observed { step } => format!("`{step}` was observed"),
        Why::StepFailed { step, class } => format!("`{step}` failed ({class})"),
        Why::Rejected { step: None, reason } => format!("a person said no to the plan: {reason}"),
        Why::Rejected {
            step: Some(step),
            reason,
        } => format!("a person said no to `{step}`: {reason}"),
        Why::Expired { step } if step.is_empty() => "nobody answered about the plan".to_owned(),
        Why::Expired { step } => format!("nobody answered about `{step}`"),
        Why::Unmet { criteria } => format!("{} not shown to hold", listed(criteria)),
        Why::Refine { step } => format!("the subgoal `{step}` is to be refined"),
        Why::Amended { reason } => format!("a person put another goal: {reason}"),
    }
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

/// A number with its noun.
pub(crate) fn counted(number: usize, noun: &str) -> String {
    let s = if number == 1 { "" } else { "s" };
    format!("{number} {noun}{s}")
}

fn also(what: &str, list: &str) -> String {
    if list.is_empty() || list == "none" {
        String::new()
    } else {
        format!("; {what} {list}")
    }
}
