//! The words of steps, attempts and the end.

use std::collections::BTreeMap;

use super::{Tone, Words, listed, run_status, skip_reason, step_status};
use crate::call::{Purpose, Slot};
use crate::event::{
    AttemptEnded, AttemptStarted, Event, NotUndone, RunEnded, RunStatus, SkipReason, StepStatus,
};
use crate::outcome::{Class, Landing, Used};

pub(super) fn skipped(slot: &Slot, because: SkipReason) -> Words {
    Words::new(slot, "skipped").rest(format!(", {}", skip_reason(because)))
}

pub(super) fn blocked(step: &str, on: &str) -> Words {
    Words::new(step, "blocked").rest(format!(", dependency `{on}` did not succeed"))
}

pub(super) fn not_admitted(slot: &Slot, limit: &str) -> Words {
    Words::new(slot, "not started")
        .tone(Tone::Bad)
        .rest(format!(", {limit}"))
}

pub(super) fn deferred(slot: &Slot, because: &str) -> Words {
    Words::new(slot, "waits")
        .tone(Tone::Attention)
        .rest(format!(", {because}"))
}

pub(super) fn not_reconciled(slot: &Slot, reason: &str) -> Words {
    Words::new(slot, "not reconciled")
        .tone(Tone::Attention)
        .rest(", a person has to settle it")
        .text(Some(reason))
}

/// The beginning of a call, by what it is for.
pub(super) fn started(started: &AttemptStarted) -> Words {
    let operation = &started.operation;
    let (verb, rest) = match &started.purpose {
        Purpose::Reconcile => ("reconciles", format!(" with {operation}")),
        Purpose::Retake { for_step } => {
            let rest = format!(" for `{for_step}`, with {operation}");
            ("reads again", rest)
        }
        Purpose::Preview { .. } => ("previews", format!(" its target with {operation}")),
        Purpose::Confirm => ("confirms", format!(" its write with {operation}")),
        Purpose::Effect => {
            let again = match started.attempt {
                0 | 1 => String::new(),
                number => format!(", attempt {number}"),
            };
            ("calls", format!(" {operation}{again}"))
        }
    };
    let approval = started
        .approval
        .map(|card| format!("card {}", card.short()));
    Words::new(&started.slot, verb)
        .rest(rest)
        .detail(format!("arguments {}", started.args_digest.short()))
        .detail(started.verdict.decision.word())
        .details(approval)
        .details(started.key.as_ref().map(|_| "keyed".to_owned()))
}

/// The end of a call.
pub(super) fn ended(ended: &AttemptEnded) -> Words {
    let class = ended.class.word();
    let verb = match (ended.attempt, ended.lost) {
        (0, _) => format!("preview {class}"),
        (_, true) => "interrupted".to_owned(),
        (_, false) if ended.not_yet => "not yet".to_owned(),
        (_, false) => class.to_owned(),
    };
    let unknown = ended.lost && ended.landing == Landing::Unknown;
    let tone = match ended.class {
        Class::Ok if ended.not_yet => Tone::Neutral,
        Class::Ok => Tone::Good,
        _ => Tone::Bad,
    };
    let attempt = (ended.attempt > 0).then(|| format!("attempt {}", ended.attempt));
    Words::new(&ended.slot, verb)
        .tone(tone)
        .rest(if unknown {
            ", its effect is unknown"
        } else {
            ""
        })
        .rest(match ended.retry_at {
            Some(_) if ended.not_yet => ", polling again",
            Some(_) => ", retrying",
            None => "",
        })
        .details(attempt)
        // Why not where it worked: that says it.
        .details(
            (ended.class != Class::Ok || ended.landing != Landing::Happened)
                .then(|| format!("effect {}", ended.landing.word())),
        )
        .details((!ended.refused_args.is_empty()).then(|| {
            let names = listed(&ended.refused_args);
            format!("{names} refused before anything was sent")
        }))
        .details(
            ended
                .evidence
                .map(|digest| format!("evidence {}", digest.short())),
        )
        .details(ended.used.as_ref().map(used))
        .text(ended.message.as_ref())
}

/// What an attempt took of a model.
fn used(used: &Used) -> String {
    let (sent, received) = (used.tokens_in, used.tokens_out);
    format!(
        "{}, prompt {}, model: {}",
        super::planning::tokens(sent, used.tokens_cached, received, used.cost),
        used.prompt,
        used.model
    )
}

pub(super) fn observed(event: &Event) -> Words {
    let Event::ObservationMade {
        slot,
        label,
        evidence,
        ..
    } = event
    else {
        return Words::default();
    };
    Words::new(slot, "observed")
        .rest(format!(" {}", label.integrity.word()))
        .detail(format!("evidence {}", evidence.short()))
}

pub(super) fn settled(event: &Event) -> Words {
    let Event::StepSettled {
        slot,
        status,
        class,
        message,
        created,
        ..
    } = event
    else {
        return Words::default();
    };
    let class = class.map(|class| format!(", {}", class.word()));
    let tone = match status {
        StepStatus::Succeeded => Tone::Good,
        StepStatus::Failed | StepStatus::InDoubt => Tone::Bad,
        _ => Tone::Neutral,
    };
    Words::new(slot, step_status(*status))
        .tone(tone)
        .rest(class.unwrap_or_default())
        .details(created.as_ref().map(|made| format!("created {made}")))
        .text(message.as_ref())
}

/// What is undone, and what is not.
pub(super) fn undo(steps: &BTreeMap<String, Slot>, left: &[NotUndone]) -> Words {
    let undone = steps.iter().map(|(by, of)| format!("`{by}` undoes `{of}`"));
    let left = left
        .iter()
        .map(|left| format!("`{}` is not undone: {}", left.slot, left.because));
    let all: Vec<String> = undone.chain(left).collect();
    match all.as_slice() {
        [] => Words::new("undo", "not needed").rest(", no write happened"),
        all => Words::new("undo", "planned").text(Some(all.join("; "))),
    }
}

pub(super) fn run_ended(ended: &RunEnded) -> Words {
    // Why not always: `rejected` and `cancelled` are a status and a class.
    let class = ended.class.map(Class::word);
    let class = class.filter(|class| *class != ended.status.word());
    let class = class.map(|class| format!(", {class}"));
    let step = ended.step.as_ref().map(|step| listed([step]));
    let step = step.map(|step| format!(" at {step}"));
    let tone = match ended.status {
        RunStatus::Succeeded => Tone::Good,
        _ => Tone::Bad,
    };
    Words::new("run", run_status(ended.status))
        .tone(tone)
        .rest(step.unwrap_or_default())
        .rest(class.unwrap_or_default())
        .text(ended.message.as_ref())
}
