//! `why --recheck`: the plain reads that an open verdict leads to, made again.
//!
//! Owns how a read is made again: as a plan of one step, which is checked, which policy decides
//! about, and which stands in the journal as a run of its own. What another answer says belongs to
//! the verdict. INVARIANT: nothing but a plain read is made, and nobody is asked for it.

use provost_plan::diagnostic::Severity;
use provost_plan::expr::as_written;
use provost_plan::policy::Decision;
use provost_plan::source::Source;
use provost_run::event::{AskMode, PlannerChoice};
use provost_run::read::why::{
    Judgment, ReadAnswer, ReadMade, answer_of, last_write, reads_to_repeat, rechecked,
};
use serde_json::json;
use tokio::sync::watch;

use crate::engine::{Engine, EngineError, NewRun};
use crate::history::{self, History, judged};
use crate::proposal;
use crate::session::{DriveEnd, Unwatched};
use crate::store::RunFilter;

/// The step that makes a read again.
const STEP: &str = "again";

/// The verdict on a run, with the reads that it leads to made again; as it is, if it is decided.
///
/// # Errors
/// If the journal cannot be read, or a run that was begun cannot be driven.
pub async fn recheck(
    engine: &Engine,
    of: &History,
    halt: &mut watch::Receiver<bool>,
) -> Result<Judgment, EngineError> {
    let verdict = judged(engine.store(), &of.events, &of.state)?;
    let reads = reads_to_repeat(&of.events, &verdict);
    let mut made = Vec::with_capacity(reads.len());
    for read in &reads {
        made.push(made_again(engine, &of.state.head.run, read, halt).await?);
    }
    // Why after all of them: a write that came meanwhile counts too.
    let wrote = wrote(engine, reads.iter().map(|read| read.ended_at).min())?;
    let again = reads.iter().zip(made).map(|(read, made)| match made {
        Made::Answered(run, now) => read.answered(run, now, wrote),
        Made::Not(run, because) => read.not_made(run, because),
    });
    Ok(rechecked(&of.events, verdict, again.collect()))
}

/// What came of making a read again: the run that did, and its answer; or why there is none.
enum Made {
    Answered(String, ReadAnswer),
    Not(Option<String>, String),
}

async fn made_again(
    engine: &Engine,
    of: &str,
    read: &ReadMade,
    halt: &mut watch::Receiver<bool>,
) -> Result<Made, EngineError> {
    let new = match admitted(engine, of, read) {
        Ok(_) if *halt.borrow() => return Ok(Made::Not(None, "it was interrupted".to_owned())),
        Ok(new) => new,
        Err(because) => return Ok(Made::Not(None, because)),
    };
    let mut session = engine.begin(new, &mut Unwatched).await?;
    let run = session.state().head.run.clone();
    let driven = session.drive(&mut Unwatched, halt).await;
    session.release().await?;
    let ended = matches!(driven?, DriveEnd::Ended(_));
    let events = history::events(engine.store(), &run)?;
    Ok(match answer_of(&events).filter(|_| ended) {
        Some(now) => Made::Answered(run, now),
        None => Made::Not(Some(run), "its run came to no answer".to_owned()),
    })
}

/// A run that makes the read, if the check and policy permit it as it stands.
fn admitted(engine: &Engine, of: &str, read: &ReadMade) -> Result<NewRun, String> {
    if let Some(barred) = read.barred {
        return Err(barred.to_owned());
    }
    let workspace = engine.workspace();
    match workspace.catalog().digest(&read.operation) {
        None => return Err("there is no such operation any more".to_owned()),
        Some(now) if now != read.tool => return Err("its entry is another one now".to_owned()),
        Some(_) => {}
    }
    let text = format!("Read again what step {} of run {of} read", read.slot);
    let plan = json!({
        "schema": "provost/plan/v1",
        "goal": { "text": text, "success": [{ "id": "read", "text": "it was read again" }] },
        "success": [{ "for": "read", "check": "${ steps.again.status == \"succeeded\" }" }],
        "steps": [{
            "id": STEP, "tool": read.operation, "args": as_written(&read.args),
            "description": format!("Make the call of step {} once more", read.slot),
        }],
        "answer": [{ "text": "it was read again", "cites": [STEP] }],
    });
    let name = format!("a read of {}", read.operation);
    let text = serde_json::to_string_pretty(&plan).unwrap_or_default();
    let judged = proposal::of_file(workspace, Source::new(name.clone(), text.clone()));
    let Some(plan) = &judged.plan else {
        let errors = judged.diagnostics.iter();
        let mut errors = errors.filter(|one| one.severity() == Severity::Error);
        let first = errors.next().map_or("", |one| one.message.as_str());
        return Err(format!("the check refuses it: {first}"));
    };
    let step = plan.record().steps.get(STEP);
    let verdict = step.and_then(|step| step.verdict.as_ref());
    if verdict.is_none_or(|verdict| verdict.decision != Decision::Permit) {
        return Err("policy does not permit it without a person".to_owned());
    }
    Ok(NewRun {
        goal: judged.goal,
        interpreted_by: "why --recheck".to_owned(),
        planner: PlannerChoice::File {
            name,
            text,
            playbook: None,
        },
        fallback: None,
        mode: None,
        ask: AskMode::Step,
        again: true,
        traceparent: None,
    })
}

/// When the runs of the store wrote last, as far as that is later than `since`. A run that cannot
/// be read may have written at any time.
fn wrote(engine: &Engine, since: Option<i64>) -> Result<Option<i64>, EngineError> {
    let (store, Some(since)) = (engine.store(), since) else {
        return Ok(None);
    };
    let mut last = None;
    let rows = store.runs(&RunFilter::default())?;
    for row in rows.iter().filter(|row| row.updated_at_ms >= since) {
        let of_run = match history::events(store, &row.id) {
            Ok(events) => last_write(&events),
            Err(_) => Some(i64::MAX),
        };
        last = last.max(of_run);
    }
    Ok(last)
}
