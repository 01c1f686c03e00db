//! Who said what to a run: its approvals, rejections, answers and every other statement.
//!
//! Owns their rows. Reads the journal alone; whether a signature holds is `audit verify`'s.

use provost_engine::history::History;
use provost_engine::people::Statement;
use provost_engine::run::event::Event;
use provost_engine::run::read::words::words;
use provost_engine::run::state::State;
use provost_plan::digest::Digest;
use serde_json::{Value, json};

use crate::screen::page::{Cell, Page, TextStyle};
use crate::screen::words::moment;

/// The statements of a run as data, in their order.
pub fn to_json(history: &History) -> Value {
    rows(history).map(|row| row.to_json()).collect()
}

/// The same for people; empty if nobody said anything.
pub fn page(history: &History) -> Page {
    let rows: Vec<Vec<Cell>> = rows(history)
        .map(|row| {
            vec![
                Cell::new(TextStyle::Faint, moment(row.at)),
                Cell::new(TextStyle::Strong, row.by),
                Cell::plain(row.text),
                Cell::new(TextStyle::Faint, row.credential),
            ]
        })
        .collect();
    let mut page = Page::new();
    if !rows.is_empty() {
        page.end().strong("said by people").end();
        page.table(2, &rows);
    }
    page
}

struct StatementRow {
    seq: usize,
    at: i64,
    by: String,
    verb: &'static str,
    /// The step that a card, a question or a settlement is about.
    step: Option<String>,
    digest: Option<Digest>,
    text: String,
    signed: bool,
    /// What shows who said it, in a word; empty for nothing.
    credential: &'static str,
}

impl StatementRow {
    fn to_json(&self) -> Value {
        json!({
            "seq": self.seq, "at": moment(self.at), "by": self.by, "verb": self.verb,
            "step": self.step, "digest": self.digest, "text": self.text, "signed": self.signed,
        })
    }
}

fn rows(history: &History) -> impl Iterator<Item = StatementRow> {
    let events = history.events.iter().enumerate();
    events.filter_map(|(index, (event, at))| row(&history.state, event, index + 1, *at))
}

fn row(state: &State, event: &Event, seq: usize, at: i64) -> Option<StatementRow> {
    let said = event.statement()?;
    let record = said.record.as_ref();
    let (digest, step) = match &said.statement {
        Statement::Approve { card, .. } | Statement::Reject { card, .. } => {
            let about = state.card(card).and_then(|known| known.card.step());
            (Some(*card), about.map(str::to_owned))
        }
        Statement::Answer { question, .. } => (Some(*question), None),
        Statement::Settle { slot, .. } => (None, Some(slot.step.clone())),
        _ => (None, None),
    };
    let text = words(event).line();
    // Why: a yes to a plan, or to a card, says by itself not to which step.
    let text = match &step {
        Some(step) if !text.contains(step.as_str()) => format!("{step}: {text}"),
        _ => text,
    };
    Some(StatementRow {
        seq,
        at,
        by: said.by,
        verb: said.statement.verb(),
        step,
        digest,
        text,
        signed: record.is_some_and(|record| record.signature.is_some()),
        credential: match record {
            Some(record) if record.signature.is_some() => "signed",
            Some(record) if record.vouched.is_some() => "vouched for",
            _ => "",
        },
    })
}
