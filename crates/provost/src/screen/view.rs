//! Who watches a run: a person at a terminal, a log, or a reader of journal lines.
//!
//! Owns which of the views is used and the redrawing of the live one.

use std::sync::Arc;

use provost_engine::run::event::Event;
use provost_engine::run::shown;
use provost_engine::run::state::State;
use provost_engine::session::Watcher;
use provost_plan::catalog::Catalog;
use serde_json::json;
use tokio::sync::watch;

use super::narrate::Narrator;
use super::page::{Page, TextStyle, cut};
use super::{live, plain};
use crate::output;

/// A view of a run.
#[derive(Debug)]
pub enum View {
    /// Lines on stderr.
    Plain(Narrator),
    /// A region of the terminal, redrawn.
    Live(Live),
    /// Journal lines on stdout.
    Journal,
}

/// What is said at the first Ctrl-C.
pub const HALTING: &str = "halting: calls in flight settle first; Ctrl-C again ends at once";

/// The live view's region.
#[derive(Debug)]
pub struct Live {
    narrator: Narrator,
    lines: usize,
    halt: watch::Receiver<bool>,
}

impl View {
    /// The view for where the output goes.
    pub fn new(catalog: Arc<Catalog>, events: bool, halt: watch::Receiver<bool>) -> Self {
        let narrator = Narrator::new(catalog);
        match (events, output::is_live()) {
            (true, _) => Self::Journal,
            (false, true) => Self::Live(Live {
                narrator,
                lines: 0,
                halt,
            }),
            (false, false) => Self::Plain(narrator),
        }
    }

    /// Leaves what is drawn as it is; what comes next is drawn below.
    pub fn rest(&mut self, state: &State) {
        if let Self::Live(live) = self {
            live.draw(Page::new(), state);
            live.lines = 0;
        }
    }
}

impl Watcher for View {
    fn kept(&mut self, first_seq: u64, events: &[Event], state: &State) {
        match self {
            Self::Plain(narrator) => output::note(&plain::lines(narrator, events, state).finish()),
            Self::Live(live) => live.kept(events, state),
            Self::Journal => {
                for (seq, event) in (first_seq..).zip(events) {
                    let (kind, version, payload) = shown::stored(event);
                    output::json_line(&json!({
                        "schema": "provost/event/v1",
                        "run": state.head.run,
                        "seq": seq,
                        "at_ms": state.spend.last_at,
                        "kind": kind,
                        "version": version,
                        "payload": payload,
                    }));
                }
            }
        }
    }

    fn ignored(&mut self, why: &str) {
        let mut page = Page::new();
        page.put(TextStyle::Warn, "a statement was ignored: ")
            .line(why);
        if let Self::Live(live) = self {
            live.lines = 0;
        }
        output::note(&page.finish());
    }

    fn tick(&mut self, state: &State) {
        if let Self::Live(live) = self {
            live.draw(Page::new(), state);
        }
    }
}

impl Live {
    fn kept(&mut self, events: &[Event], state: &State) {
        let mut above = Page::new();
        for event in events {
            match self.narrator.planning(event, state) {
                Some(told) => {
                    above.page(told);
                }
                None => {
                    let told = self.narrator.execution(event, state.spend.last_at);
                    let of_people = event.statement().is_some()
                        || matches!(
                            event,
                            Event::ApprovalExpired { .. } | Event::QuestionExpired { .. }
                        );
                    if let Some(told) = told.filter(|_| of_people) {
                        above.page(told);
                    }
                }
            }
        }
        self.draw(above, state);
    }

    fn draw(&mut self, above: Page, state: &State) {
        let columns = terminal_size::terminal_size_of(std::io::stderr())
            .map_or(80, |(width, _)| usize::from(width.0));
        let mut region = live::region(&self.narrator, state, columns);
        if *self.halt.borrow() && state.ending.ended.is_none() {
            region.put(TextStyle::Warn, &cut(HALTING, columns)).end();
        }
        let region = region.finish();
        let lines = region.lines().count();
        let back = if self.lines == 0 {
            String::new()
        } else {
            format!("\u{1b}[{}A", self.lines)
        };
        // Why no wrapping meanwhile: a wrapped line would be one more to go back.
        output::control(&format!("\r{back}\u{1b}[0J"));
        output::note(&above.finish());
        output::control("\u{1b}[?7l");
        output::note(&region);
        output::control("\u{1b}[?7h");
        self.lines = lines;
    }
}
