//! `why`: the cause of how a run ended, by whom, at which step, and which events prove it.

use std::path::Path;

use clap::Args;
use provost_engine::eval::{compare_effects, is_case};
use provost_engine::history::{History, judged};
use provost_engine::recheck::recheck;
use provost_engine::run::event::RunStatus;
use provost_engine::run::read::why::{Certainty, Guilty, Judgment, against, against_effects};
use provost_engine::run::state::{State, waiting};

use super::target::Target;
use crate::drive::halt::at_interrupt;
use crate::drive::{sign_head, waited_for};
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
    /// compare with this run, which is right: the first difference decides; or with the effects
    /// that the case in this folder expects
    #[arg(long, value_name = "RUN|CASE")]
    against: Option<String>,
    /// if the events do not decide it, make the plain reads it leads to again, where policy
    /// permits them, and tell whether they have another answer now
    #[arg(long, conflicts_with = "against")]
    recheck: bool,
    /// print one JSON object
    #[arg(long)]
    json: bool,
}

/// Does it.
pub fn run(verb: &WhyArgs, place: &WorkspacePath) -> Result<Exit, Failure> {
    let store = place.journal()?;
    let of = verb.run.history(&store)?;
    let History { events, state } = &of;
    let verdict = match &verb.against {
        _ if verb.recheck => made_again(place, &of)?,
        Some(case) if is_case(Path::new(case)) => {
            let compared = compare_effects(Path::new(case), state)?;
            against_effects(events, &waiting(state), &compared)
        }
        Some(right) => {
            let Ok(right) = right.parse::<Target>();
            let right = right.history(&store)?;
            refuse_wrong(state, &right.state)?;
            against(events, &waiting(state), &right.events)
        }
        None => judged(&store, events, state)?,
    };
    match verb.json {
        true => output::json(&verdict.document(state)),
        false => output::data(&page(&verdict).finish()),
    }
    Ok(Exit::Done)
}

/// Refuses a run to compare with that cannot be the one that is right.
fn refuse_wrong(run: &State, right: &State) -> Result<(), Failure> {
    let (id, status) = (&right.head.run, right.status());
    let message = match status {
        _ if run.head.run == *id => format!("run `{id}` cannot be compared with itself"),
        RunStatus::Succeeded => return Ok(()),
        _ => format!(
            "run `{id}` is no run that is right: it is {}",
            status.word()
        ),
    };
    Err(Failure::usage(message)
        .hint("`provost runs --status succeeded` lists runs that succeeded, or name a case"))
}

/// The verdict, with the reads that it leads to made again.
fn made_again(place: &WorkspacePath, of: &History) -> Result<Judgment, Failure> {
    let engine = place.engine(place.to_judge()?)?;
    let verdict = waited_for(async {
        let mut halt = at_interrupt();
        recheck(&engine, of, &mut halt).await
    })?;
    sign_head(place, &engine);
    Ok(verdict?)
}

/// The verdict on one screen.
fn page(judged: &Judgment) -> Page {
    let mut page = Page::new();
    page.faint("verdict: ")
        .put(look(judged.guilty), judged.guilty.word());
    if let Some(party) = judged.party {
        page.put(TextStyle::Plain, &format!(" ({})", party.word()));
    }
    let certainty = match judged.certainty {
        Certainty::Open => String::new(),
        certainty => format!(", {}", certainty.word()),
    };
    page.line(&format!("{certainty}: {}", judged.sentence));
    if !judged.proof.is_empty() {
        let what = match (judged.guilty, judged.certainty) {
            (Guilty::Undecided, _) | (_, Certainty::Open) => "the events that were looked at",
            _ => "the events that prove it",
        };
        page.end().faint(what).end();
    }
    let rows = judged.proof.iter().map(|line| {
        let number = Cell::new(TextStyle::Faint, format!("{:>4}", line.seq));
        let kind = Cell::new(TextStyle::Strong, line.kind);
        vec![number, kind, Cell::plain(line.text.clone())]
    });
    page.table(0, &rows.collect::<Vec<_>>());
    if !judged.also.is_empty() {
        page.end().faint("what went wrong besides").end();
    }
    let rows = judged.also.iter().map(|other| {
        let seq = other.seq.map_or_else(String::new, |seq| seq.to_string());
        let number = Cell::new(TextStyle::Faint, format!("{seq:>4}"));
        let whom = Cell::new(look(other.guilty), other.guilty.word());
        vec![number, whom, Cell::plain(other.sentence.clone())]
    });
    page.table(0, &rows.collect::<Vec<_>>());
    if !judged.candidates.is_empty() {
        page.end()
            .faint("what it may have been, the nearest first")
            .end();
    }
    let rows = judged.candidates.iter().map(|one| {
        let whom = Cell::new(look(one.guilty), one.guilty.word());
        vec![
            Cell::plain("    ".to_owned()),
            whom,
            Cell::plain(one.text.clone()),
        ]
    });
    page.table(0, &rows.collect::<Vec<_>>());
    read_again(&mut page, judged);
    if !judged.would_decide.is_empty() || !judged.not_looked_at.is_empty() {
        page.end();
    }
    for command in &judged.would_decide {
        page.strong("what would decide it: ")
            .line(&format!("provost {command}"));
    }
    for what in &judged.not_looked_at {
        page.faint("not looked at: ").line(what);
    }
    page
}

/// What came of the reads that were made again.
fn read_again(page: &mut Page, judged: &Judgment) {
    if judged.rechecked.is_empty() {
        return;
    }
    page.end().faint("what was read again").end();
    let rows = judged.rechecked.iter().map(|read| {
        let whose = match (&read.run, &read.because) {
            (_, Some(because)) => format!(": {because}"),
            (Some(run), None) => format!(" (run {run})"),
            (None, None) => String::new(),
        };
        vec![
            Cell::new(TextStyle::Faint, format!("{:>4}", read.seq)),
            Cell::new(TextStyle::Strong, read.slot.to_string()),
            Cell::plain(format!("{}{whose}", read.answer.words())),
        ]
    });
    page.table(0, &rows.collect::<Vec<_>>());
}

fn look(guilty: Guilty) -> TextStyle {
    match guilty {
        Guilty::Nobody => TextStyle::Good,
        Guilty::Plan | Guilty::Execution => TextStyle::Bad,
        Guilty::Neither | Guilty::Undecided => TextStyle::Warn,
    }
}
