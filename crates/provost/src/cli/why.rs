//! `why`: the cause of how a run ended, and which events prove it.

use clap::Args;
use provost_engine::history::History;
use provost_engine::run::read::why::{Cause, why};
use provost_engine::run::state::waiting;
use serde_json::json;

use super::target::Target;
use crate::failure::{Exit, Failure};
use crate::output;
use crate::screen::page::{Cell, Page, TextStyle};
use crate::workspace_path::WorkspacePath;

/// Arguments of `why`.
#[derive(Debug, Args)]
pub struct WhyArgs {
    /// run id, or a unique prefix
    #[arg(value_name = "RUN")]
    run: Target,
    /// print one JSON object
    #[arg(long)]
    json: bool,
}

/// Does it.
pub fn run(verb: &WhyArgs, place: &WorkspacePath) -> Result<Exit, Failure> {
    let History { events, state } = verb.run.history(&place.journal()?)?;
    let judged = why(&events, &waiting(&state));
    if verb.json {
        output::json(&json!({
            "schema": "provost/why/v1",
            "run": state.head.run,
            "status": state.status().word(),
            "cause": judged.cause,
            "sentence": judged.sentence,
            "proof": judged.proof,
            "would_decide": judged.would_decide,
        }));
        return Ok(Exit::Done);
    }
    let mut page = Page::new();
    page.faint("cause: ")
        .put(look(judged.cause), judged.cause.word())
        .line(&format!(", {}", judged.sentence));
    if !judged.proof.is_empty() {
        page.end().faint("the events that prove it").end();
    }
    let rows: Vec<Vec<Cell>> = judged
        .proof
        .iter()
        .map(|line| {
            vec![
                Cell::new(TextStyle::Faint, format!("{:>4}", line.seq)),
                Cell::new(TextStyle::Strong, line.kind),
                Cell::plain(line.text.clone()),
            ]
        })
        .collect();
    page.table(0, &rows);
    if let Some(what) = &judged.would_decide {
        page.end().strong("what would decide it: ").line(what);
    }
    output::data(&page.finish());
    Ok(Exit::Done)
}

fn look(cause: Cause) -> TextStyle {
    match cause {
        Cause::None => TextStyle::Good,
        Cause::Plan | Cause::Execution => TextStyle::Bad,
        Cause::Neither | Cause::Undecided => TextStyle::Warn,
    }
}
