//! Who watches a run: a person at a terminal, a log, or a reader of journal lines.
//!
//! Owns which of the views is used and the redrawing of the live one. INVARIANT: what is drawn in
//! the live view's region is taken back before anything else is written; only its record stays.

use std::sync::Arc;

use provost_engine::run::event::Event;
use provost_engine::run::shown;
use provost_engine::run::state::State;
use provost_engine::session::Watcher;
use provost_engine::work::WorkEvent;
use provost_plan::catalog::Catalog;
use serde_json::json;
use tokio::sync::watch;

use super::narrate::Narrator;
use super::page::{Page, TextStyle, cut};
use super::region::{Region, Window};
use super::{live, plain};
use crate::drive::log::DriveLog;
use crate::log::{self, LogLevel, LogLine};
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
    /// Lines of the log as JSON on stderr.
    Log(DriveLog),
}

/// What is said at the first Ctrl-C.
pub const HALTING: &str = "halting: calls in flight settle first; Ctrl-C again ends at once";

/// The live view's region.
#[derive(Debug)]
pub struct Live {
    narrator: Narrator,
    region: Region,
    halt: watch::Receiver<bool>,
}

impl View {
    /// The view for where the output goes.
    pub fn new(catalog: Arc<Catalog>, events: bool, halt: watch::Receiver<bool>) -> Self {
        if log::is_json() && !events {
            return Self::Log(DriveLog::new(catalog));
        }
        let narrator = Narrator::new(catalog);
        match (events, output::is_live()) {
            (true, _) => Self::Journal,
            (false, true) => Self::Live(Live {
                narrator,
                region: Region::default(),
                halt,
            }),
            (false, false) => Self::Plain(narrator),
        }
    }

    /// Leaves the record of the steps: nothing more is drawn in the region.
    pub fn rest(&mut self, state: &State) {
        if let Self::Live(live) = self {
            let record = live::record(&live.narrator, state, Window::of_notes().columns);
            live.region.leave(record);
        }
    }

    /// Leaves a line about the steps, and the place below it to whoever is asked now.
    pub fn step_aside(&mut self, state: &State) {
        if let Self::Live(live) = self {
            live.region
                .leave(live::sum(state, Window::of_notes().columns));
        }
    }
}

impl Watcher for View {
    fn kept(&mut self, first_seq: u64, events: &[Event], state: &State) {
        match self {
            Self::Plain(narrator) => output::note(&plain::lines(narrator, events, state).finish()),
            Self::Live(live) => live.kept(events, state),
            Self::Log(lines) => lines.put(&WorkEvent::Kept {
                first_seq,
                events,
                state,
            }),
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
        match self {
            Self::Live(live) => live.region.leave(page),
            Self::Plain(_) | Self::Journal => output::note(&page.finish()),
            Self::Log(_) => LogLine::new(LogLevel::Warn, "ignored", &page.finish()).write(),
        }
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
        let window = Window::of_notes();
        let halting = *self.halt.borrow() && state.ending.ended.is_none();
        let below = usize::from(halting);
        let mut region = live::region(&self.narrator, state, window, below);
        if halting {
            region
                .put(TextStyle::Warn, &cut(HALTING, window.columns))
                .end();
        }
        self.region.draw(above, region);
    }
}
