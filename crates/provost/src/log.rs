//! The log: what a command says on stderr, as text for people or as a JSON object a line.
//!
//! Owns the form, the line, its levels, and the first and the last line of a command. Never decides
//! what may be shown: an event comes here through `provost_engine::run::shown`. INVARIANT: as JSON,
//! every line on stderr is one object, whatever happens, a panic included.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use clap::ValueEnum;
use serde::Serialize;
use serde_json::{Map, Value, json};

use crate::failure::Exit;
use crate::output;
use crate::screen::words::{moment, now_ms};
use crate::workspace_path::WorkspacePath;

/// How the log is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum LogForm {
    /// lines for people
    Text,
    /// a JSON object a line
    Json,
}

/// How much a line matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum LogLevel {
    /// A detail that the text for people leaves out.
    Debug,
    /// It goes as it should.
    Info,
    /// Somebody may have to do something.
    Warn,
    /// It went wrong.
    Error,
}

static IS_JSON: AtomicBool = AtomicBool::new(false);

/// When the command began, once its first line is written.
static BEGAN: OnceLock<Instant> = OnceLock::new();

/// Writes the log as JSON from here on.
pub fn use_json() {
    IS_JSON.store(true, Ordering::Relaxed);
}

/// Whether the log is JSON.
pub fn is_json() -> bool {
    IS_JSON.load(Ordering::Relaxed)
}

/// A line of the log as JSON.
pub struct LogLine(Map<String, Value>);

impl LogLine {
    /// A line with what each has.
    pub fn new(level: LogLevel, kind: &str, text: &str) -> Self {
        let mut line = Self(Map::new());
        line.put("schema", json!("provost/log/v1"));
        line.put("at", json!(moment(now_ms())));
        line.put("level", json!(level));
        line.put("kind", json!(kind));
        let plain = anstream::adapter::strip_str(text).to_string();
        line.put("text", json!(plain.trim()));
        line.put("version", json!(env!("CARGO_PKG_VERSION")));
        line
    }

    fn put(&mut self, name: &str, value: Value) {
        self.0.insert(name.to_owned(), value);
    }

    /// The same with one more field.
    #[must_use]
    pub fn with(mut self, name: &str, value: impl Into<Value>) -> Self {
        self.put(name, value.into());
        self
    }

    /// The same with the fields of an object.
    #[must_use]
    pub fn with_all(mut self, fields: &impl Serialize) -> Self {
        if let Ok(Value::Object(fields)) = serde_json::to_value(fields) {
            self.0.extend(fields);
        }
        self
    }

    /// Writes it to stderr.
    pub fn write(self) {
        output::log_line(&Value::Object(self.0));
    }
}

/// The first line: which build does what, where, for whom, and what waits there.
pub fn begin(verb: &str, place: &WorkspacePath) {
    if !is_json() || BEGAN.set(Instant::now()).is_err() {
        return;
    }
    let root = place.root().ok();
    let root = root.and_then(|root| std::path::absolute(root).ok());
    // Why nothing where the journal cannot be read: the command itself says what is wrong with it.
    let journal = place.journal_if_any().ok().flatten();
    let counts = journal.and_then(|journal| journal.wait_counts(None).ok());
    let waiting = counts.map(|counts| counts.all);
    let workspace = root.map(|root| root.to_string_lossy().into_owned());
    LogLine::new(LogLevel::Info, "begun", &format!("provost {verb} begins"))
        .with("verb", verb)
        .with("commit", crate::version::commit())
        .with("pid", std::process::id())
        .with("workspace", workspace)
        .with("user", place.user())
        .with("waiting", waiting)
        .write();
}

/// The last line, if there was a first.
pub fn end(code: u8) {
    let Some(began) = BEGAN.get() else { return };
    let ms = u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX);
    let level = match code {
        code if code == Exit::Done.code() => LogLevel::Info,
        code if code == Exit::Waiting.code() => LogLevel::Warn,
        _ => LogLevel::Error,
    };
    LogLine::new(level, "ended", &format!("ended with exit code {code}"))
        .with("exit", code)
        .with("ms", ms)
        .write();
}
