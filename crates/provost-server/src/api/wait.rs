//! What a run waits for, as data, with whether whoever asks may give it.
//!
//! Owns the form. Judges nothing: whether somebody may is the machine's word on the statement that
//! they would make. INVARIANT: `may` is false wherever `why_not` stands.

use provost_engine::people::Statement;
use provost_engine::run::event::Settlement;
use provost_engine::run::state::{WaitKind, Waiting};
use provost_engine::store::PlacedWait;
use serde_json::{Value, json};

use crate::app::Shared;
use crate::door::Viewer;
use crate::problem::{Problem, ProblemKind};
use crate::view::SeenRun;

/// Something that a run waits for.
pub(crate) fn to_json(run: &str, wait: &Waiting, may: Result<(), Problem>, now: i64) -> Value {
    json!({
        "run": run,
        "kind": wait.kind.word(),
        "digest": wait.digest.map(|digest| digest.to_string()),
        "step": wait.slot.as_ref().map(|slot| &slot.step),
        "item": wait.slot.as_ref().and_then(|slot| slot.item),
        "operation": wait.operation,
        "effect": wait.effect,
        "risk": wait.risk,
        "requester": wait.requester,
        "planned_by": wait.planned_by,
        "asked_ms": wait.asked_at,
        "age_ms": (now - wait.asked_at).max(0),
        "expires_ms": wait.expires_at,
        "quorum": wait.quorum,
        "approved_by": wait.approved_by,
        "made_before": wait.repeats,
        "may": may.is_ok(),
        "why_not": may.err().map(|problem| problem.detail),
    })
}

/// Whether whoever asks may give what an entry of the list waits for.
///
/// # Errors
/// [`Problem`] if its run cannot be read.
pub(crate) fn may_placed(
    shared: &Shared,
    viewer: &Viewer,
    placed: &PlacedWait,
) -> Result<Result<(), Problem>, Problem> {
    let judge = |run: &SeenRun| may(shared, viewer, run, &placed.wait);
    let desk = &shared.desk;
    desk.may_give(&shared.engine(), viewer, placed, judge)
}

/// Whether whoever asks may give what is waited for: the machine is asked.
pub(crate) fn may(
    shared: &Shared,
    viewer: &Viewer,
    run: &SeenRun,
    wait: &Waiting,
) -> Result<(), Problem> {
    let nothing = || Problem::new(ProblemKind::NotOpen, "nothing waits for this");
    let statement = match (wait.kind, wait.digest, &wait.slot) {
        (WaitKind::Approval, Some(card), _) => Statement::Approve {
            card,
            steps: Vec::new(),
        },
        (WaitKind::Answer, Some(question), _) => Statement::Answer {
            question,
            value: Value::Null,
        },
        (WaitKind::Settlement, _, Some(slot)) => Statement::Settle {
            slot: slot.clone(),
            attempt: run.state().attempt_in_doubt(slot),
            settled: Settlement::Abandoned,
            output: None,
            reason: "asked".to_owned(),
        },
        (WaitKind::Secret, ..) => Statement::Resume,
        _ => return Err(nothing()),
    };
    let asked = shared
        .desk
        .would_take(&shared.engine(), run, viewer, statement);
    match asked {
        // Why fine: who may answer is told before what the answer must be.
        Err(problem) if problem.kind == ProblemKind::BadAnswer => Ok(()),
        other => other,
    }
}
