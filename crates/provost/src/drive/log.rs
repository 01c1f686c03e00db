//! The log of a process that drives many runs.
//!
//! Owns one line a fact on stderr, with its moment and its run, for people or as JSON.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::sync::Arc;

use provost_engine::engine::{ScheduleResult, Scheduled};
use provost_engine::notify::{self, Delivered};
use provost_engine::run::event::Event;
use provost_engine::run::read::words::words;
use provost_engine::run::state::State;
use provost_engine::session::DriveEnd;
use provost_engine::work::WorkEvent;
use provost_plan::catalog::Catalog;
use serde_json::{Value, json};

use crate::output;
use crate::screen::narrate::Narrator;
use crate::screen::page::Page;
use crate::screen::plain;
use crate::screen::words::{moment, now_ms, run_is};

/// The log on stderr: one line a fact, with its moment and its run.
pub struct DriveLog {
    catalog: Arc<Catalog>,
    json: bool,
    narrators: RefCell<BTreeMap<String, Narrator>>,
}

impl DriveLog {
    /// A log of runs under this catalog.
    pub fn new(catalog: Arc<Catalog>, json: bool) -> Self {
        Self {
            catalog,
            json,
            narrators: RefCell::default(),
        }
    }

    /// Writes what happened.
    pub fn put(&self, told: &WorkEvent<'_>) {
        match told {
            WorkEvent::Kept { events, state, .. } => events
                .iter()
                .for_each(|event| self.event(&state.head.run, event, state)),
            WorkEvent::Ignored { run, why } => {
                self.line(
                    run,
                    "ignored",
                    &format!("a statement does not count: {why}"),
                );
            }
            WorkEvent::LetGo { run, stop } => {
                self.narrators.borrow_mut().remove(*run);
                self.line(run, "let_go", &let_go(stop));
            }
            WorkEvent::Notified(one) => self.line(&one.run, "notice", &notified(one)),
            WorkEvent::Scheduled(one) => {
                let (run, text) = scheduled(one);
                self.line(run, "scheduled", &text);
            }
            WorkEvent::Workspace(told) => self.line("-", "workspace", told),
            WorkEvent::Failed { run, why, rest } => {
                self.narrators.borrow_mut().remove(*run);
                let seconds = rest.as_secs();
                let text = format!("cannot continue, retrying in {seconds} s: {why}");
                self.line(run, "failed", &text);
            }
        }
    }

    fn event(&self, run: &str, event: &Event, state: &State) {
        let mut narrators = self.narrators.borrow_mut();
        let narrator = narrators
            .entry(run.to_owned())
            .or_insert_with(|| Narrator::new(Arc::clone(&self.catalog)));
        let text = match event {
            // Why not as the plain view: a log has no tables.
            Event::RunStarted { .. } | Event::PlanRevised { .. } => words(event).line(),
            other => {
                let page = plain::lines(narrator, std::slice::from_ref(other), state);
                page.finish()
            }
        };
        let text = text.trim();
        if !text.is_empty() {
            self.line(run, event.kind(), text);
        }
    }

    fn line(&self, run: &str, kind: &str, text: &str) {
        let at = moment(now_ms());
        if self.json {
            let plain = anstream::adapter::strip_str(text).to_string();
            let line: Value = json!({
                "schema": "provost/work/v1", "at": at, "run": run, "kind": kind, "text": plain,
            });
            output::note(&format!("{line}\n"));
            return;
        }
        for line in text.lines().filter(|line| !line.trim().is_empty()) {
            let mut page = Page::new();
            page.faint(&at).text(" ").strong(run).text(" ");
            output::note(&format!("{}{line}\n", page.finish().trim_end_matches('\n')));
        }
    }
}

fn notified(one: &Delivered) -> String {
    let (target, text) = (&one.target, &one.text);
    match &one.told {
        notify::DeliveryStatus::Yes => format!("notified {target}: {text}"),
        notify::DeliveryStatus::Over => format!("{target} no longer needs the notice: {text}"),
        notify::DeliveryStatus::No { why } => {
            format!("{target} could not be notified, retrying: {why}")
        }
    }
}

/// The run that a schedule is about, and what became of its moment.
fn scheduled(one: &Scheduled) -> (&str, String) {
    let name = &one.name;
    match &one.result {
        ScheduleResult::Begun { run } => (run, format!("begun by schedule {name}")),
        ScheduleResult::Skipped { run } => {
            (run, format!("is not over: schedule {name} skips this time"))
        }
        ScheduleResult::Failed { why } => (
            "-",
            format!("schedule {name} cannot begin a run, retrying: {why}"),
        ),
    }
}

fn let_go(stop: &DriveEnd) -> String {
    match stop {
        DriveEnd::Ended(ended) => {
            let message = ended.message.as_deref();
            let why = message.map_or_else(String::new, |message| format!(": {message}"));
            format!("{}{why}", run_is(ended.status.word()))
        }
        DriveEnd::Waiting => "waits for a person".to_owned(),
        DriveEnd::InDoubt => "is in doubt: a person has to settle it".to_owned(),
        DriveEnd::Paused => "is paused".to_owned(),
        DriveEnd::Until(at) => format!("continues at {}", moment(*at)),
        DriveEnd::Halted => "is left to the next process".to_owned(),
        DriveEnd::Superseded => "goes on under the files that were read anew".to_owned(),
    }
}
