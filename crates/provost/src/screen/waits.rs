//! What a run waits for, as data, with the command that gives it.
//!
//! Owns which verb is for what. The list itself is the run machine's. INVARIANT: a command is
//! spelled for the workspace as it was typed.

use provost_engine::notify::{NoticeSubject, SubjectKind};
use provost_engine::run::state::{WaitKind, Waiting};
use provost_plan::digest::Digest;
use serde_json::{Value, json};

use super::words::moment;
use crate::workspace_path::WorkspacePath;

/// The command to type for what a run waits for.
pub fn command(run: &str, waiting: &Waiting) -> String {
    of_kind(run, waiting.kind, waiting.digest)
}

/// The command to type about what somebody is told of.
pub fn about(subject: &NoticeSubject<'_>) -> String {
    let NoticeSubject { run, kind, which } = subject;
    match kind {
        SubjectKind::Waits(kind) => of_kind(run, *kind, which.parse().ok()),
        SubjectKind::Run => format!("provost show {run}"),
        SubjectKind::Tool => format!("provost tools show {which}"),
        SubjectKind::Schedule => "provost schedules".to_owned(),
    }
}

fn of_kind(run: &str, kind: WaitKind, digest: Option<Digest>) -> String {
    let about = match digest {
        Some(digest) => format!("{run}@{}", digest.in_command()),
        None => run.to_owned(),
    };
    match kind {
        WaitKind::Approval => format!("provost approve {about}"),
        WaitKind::Answer => format!("provost answer {about} VALUE"),
        // Why not `settle`: what became of it has to be looked up first.
        WaitKind::Settlement => format!("provost show {run}"),
        WaitKind::Secret => format!("provost resume {run}"),
    }
}

/// The first of what a run waits for, in short; null if it waits for nobody.
pub fn first(run: &str, waits: &[Waiting], place: &WorkspacePath) -> Value {
    waits.first().map_or(Value::Null, |waiting| {
        json!({
            "kind": waiting.kind.word(),
            "step": waiting.slot.as_ref().map(|slot| &slot.step),
            "digest": waiting.digest.map(|digest| digest.to_string()),
            "command": place.command(&command(run, waiting)),
        })
    })
}

/// All of it.
pub fn all(run: &str, waits: &[Waiting], place: &WorkspacePath) -> Value {
    let one = |waiting: &Waiting| {
        json!({
            "kind": waiting.kind.word(),
            "digest": waiting.digest.map(|digest| digest.to_string()),
            "step": waiting.slot.as_ref().map(|slot| &slot.step),
            "item": waiting.slot.as_ref().and_then(|slot| slot.item),
            "operation": waiting.operation,
            "effect": waiting.effect,
            "risk": waiting.risk,
            "requester": waiting.requester,
            "planned_by": waiting.planned_by,
            "asked": moment(waiting.asked_at),
            "expires": waiting.expires_at.map(moment),
            "quorum": waiting.quorum,
            "approved_by": waiting.approved_by,
            "made_before": waiting.repeats,
            "command": place.command(&command(run, waiting)),
        })
    };
    waits.iter().map(one).collect()
}
