//! The log of a process that drives many runs.
//!
//! Owns one line a fact on stderr, with its moment and its run, for people or as JSON.
//! INVARIANT: an event is logged as `provost_engine::run::shown` shows it, so no secret value is in
//! a line.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::sync::Arc;

use provost_engine::engine::{ScheduleResult, Scheduled};
use provost_engine::notify::{self, Delivered};
use provost_engine::reload::{FilesNews, ReloadError};
use provost_engine::run::event::Event;
use provost_engine::run::read::log_fields::log_fields;
use provost_engine::run::read::words::{Tone, words};
use provost_engine::run::shown;
use provost_engine::run::state::State;
use provost_engine::session::DriveEnd;
use provost_engine::work::WorkEvent;
use provost_engine::workspace::Findings;
use provost_plan::catalog::Catalog;
use provost_plan::render::{self, Style};
use serde_json::Value;

use crate::failure::Exit;
use crate::log::{self, LogLevel, LogLine};
use crate::output;
use crate::screen::narrate::Narrator;
use crate::screen::page::Page;
use crate::screen::plain;
use crate::screen::words::{moment, now_ms, run_is};

/// The log on stderr: one line a fact, with its moment and its run.
#[derive(Debug)]
pub struct DriveLog {
    catalog: Arc<Catalog>,
    narrators: RefCell<BTreeMap<String, Narrator>>,
}

impl DriveLog {
    /// A log of runs under this catalog.
    pub fn new(catalog: Arc<Catalog>) -> Self {
        Self {
            catalog,
            narrators: RefCell::default(),
        }
    }

    /// Writes what happened.
    pub fn put(&self, told: &WorkEvent<'_>) {
        use LogLevel::{Info, Warn};
        match told {
            WorkEvent::Kept {
                first_seq,
                events,
                state,
            } => (*first_seq..)
                .zip(*events)
                .for_each(|(seq, event)| self.event(seq, event, state)),
            WorkEvent::Ignored { run, why } => {
                let text = format!("a statement does not count: {why}");
                line(Warn, run, "ignored", &text);
            }
            WorkEvent::LetGo { run, stop } => {
                self.narrators.borrow_mut().remove(*run);
                let (level, text) = let_go(stop);
                line(level, run, "let_go", &text);
            }
            WorkEvent::Notified(one) => {
                let (level, text) = notified(one);
                line(level, &one.run, "notice", &text);
            }
            WorkEvent::Scheduled(one) => {
                let (run, text) = scheduled(one);
                let is_failed = matches!(one.result, ScheduleResult::Failed { .. });
                let level = if is_failed { Warn } else { Info };
                line(level, run, "scheduled", &text);
            }
            WorkEvent::Workspace(news) => files(news),
            WorkEvent::Unsigned(why) => {
                let text = format!("the journal could not be signed, retrying: {why}");
                line(Warn, "-", "unsigned", &text);
            }
            WorkEvent::Failed { run, why, rest } => {
                self.narrators.borrow_mut().remove(*run);
                let seconds = rest.as_secs();
                let text = format!("cannot continue, retrying in {seconds} s: {why}");
                line(Warn, run, "failed", &text);
            }
        }
    }

    fn event(&self, seq: u64, event: &Event, state: &State) {
        let event = &*shown::event(event);
        let run = &state.head.run;
        let mut narrators = self.narrators.borrow_mut();
        let narrator = narrators
            .entry(run.clone())
            .or_insert_with(|| Narrator::new(Arc::clone(&self.catalog)));
        let told = match event {
            // Why not as the plain view: a log has no tables.
            Event::RunStarted { .. } | Event::PlanRevised { .. } => words(event).line(),
            other => {
                let page = plain::lines(narrator, std::slice::from_ref(other), state);
                page.finish()
            }
        };
        if !log::is_json() {
            return text_lines(run, &told);
        }
        let words = words(event);
        let (level, text) = match (told.trim(), words.tone) {
            // Why all of them: a program chooses by the level, and not by what people are shown.
            ("", _) => (LogLevel::Debug, words.line()),
            (told, Tone::Neutral | Tone::Good) => (LogLevel::Info, told.to_owned()),
            (told, Tone::Attention) => (LogLevel::Warn, told.to_owned()),
            (told, Tone::Bad) => (LogLevel::Error, told.to_owned()),
        };
        let mut fields = log_fields(event, state);
        if let Event::StepSettled { slot, .. } = event {
            fields.ms = narrator.took(slot).and_then(|ms| u64::try_from(ms).ok());
        }
        LogLine::new(level, event.kind(), &text)
            .with("run", run.as_str())
            .with("seq", seq)
            .with_all(&fields)
            .write();
    }
}

fn line(level: LogLevel, run: &str, kind: &str, text: &str) {
    if log::is_json() {
        LogLine::new(level, kind, text).with("run", run).write();
    } else {
        text_lines(run, text);
    }
}

/// Writes what became of files that were read again, with what is wrong in them.
fn files(news: &FilesNews) {
    let level = if news.is_refused {
        LogLevel::Warn
    } else {
        LogLevel::Info
    };
    let found = match news.why.as_deref() {
        Some(ReloadError::Workspace(error)) => error.findings(),
        _ => &[],
    };
    if log::is_json() {
        let all: Vec<Value> = found.iter().flat_map(Findings::to_json).collect();
        let line = LogLine::new(level, "workspace", &news.text);
        let line = if all.is_empty() {
            line
        } else {
            line.with("findings", all)
        };
        line.write();
    } else {
        text_lines("workspace", &news.text);
        for one in found {
            output::note(&render::render(
                &one.source,
                &one.diagnostics,
                Style { color: true },
            ));
        }
    }
}

/// Writes the lines of a text, each with its moment and its run.
fn text_lines(run: &str, text: &str) {
    let at = moment(now_ms());
    for line in text.lines().filter(|line| !line.trim().is_empty()) {
        let mut page = Page::new();
        page.faint(&at).text(" ").strong(run).text(" ");
        output::note(&format!("{}{line}\n", page.finish().trim_end_matches('\n')));
    }
}

fn notified(one: &Delivered) -> (LogLevel, String) {
    let (target, text) = (&one.target, &one.text);
    match &one.told {
        notify::DeliveryStatus::Yes => (LogLevel::Info, format!("notified {target}: {text}")),
        notify::DeliveryStatus::Over => {
            let text = format!("{target} no longer needs the notice: {text}");
            (LogLevel::Info, text)
        }
        notify::DeliveryStatus::No { why } => {
            let text = format!("{target} could not be notified, retrying: {why}");
            (LogLevel::Warn, text)
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

fn let_go(stop: &DriveEnd) -> (LogLevel, String) {
    use LogLevel::{Error, Info, Warn};
    match stop {
        DriveEnd::Ended(ended) => {
            let message = ended.message.as_deref();
            let why = message.map_or_else(String::new, |message| format!(": {message}"));
            let level = match Exit::of(ended.status) {
                Exit::Done => Info,
                _ => Error,
            };
            (level, format!("{}{why}", run_is(ended.status.word())))
        }
        DriveEnd::Waiting => (Info, "waits for a person".to_owned()),
        DriveEnd::InDoubt => (Warn, "is in doubt: a person has to settle it".to_owned()),
        DriveEnd::Paused => (Info, "is paused".to_owned()),
        DriveEnd::Until(at) => (Info, format!("continues at {}", moment(*at))),
        DriveEnd::Halted => (Info, "is left to the next process".to_owned()),
        DriveEnd::Superseded => (
            Info,
            "goes on under the files that were read anew".to_owned(),
        ),
    }
}
