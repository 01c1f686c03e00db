//! What a bug of this program looks like: one message, and a backtrace if `RUST_BACKTRACE` asks.
//!
//! Owns the words of a panic. INVARIANT: in a log of JSON it is one line like every other.

use std::backtrace::{Backtrace, BacktraceStatus};

use provost_plan::render::escape;

use crate::log::{self, LogLevel, LogLine};
use crate::output;

const HINT: &str = "nothing recorded is lost; `provost resume RUN` continues an unfinished run. \
                    please report this message";

/// Makes a panic print a short message in place of the runtime's.
pub fn report_panics() {
    std::panic::set_hook(Box::new(|info| {
        let place = info.location().map_or_else(String::new, |place| {
            let file = place.file().rsplit('/').next().unwrap_or_default();
            format!(" ({file}:{})", place.line())
        });
        let payload = info.payload();
        let said = payload
            .downcast_ref::<&str>()
            .copied()
            .or_else(|| payload.downcast_ref::<String>().map(String::as_str))
            .unwrap_or("no reason was given");
        let message = format!("this is a bug in provost{place}: {}", escape(said));
        // Why captured and not forced: the runtime reads the variable.
        let trace = Backtrace::capture();
        let is_asked = trace.status() == BacktraceStatus::Captured;
        report(&message, is_asked.then(|| trace.to_string()));
    }));
}

fn report(message: &str, trace: Option<String>) {
    if log::is_json() {
        let line = LogLine::new(LogLevel::Error, "bug", message).with("hint", HINT);
        match trace {
            Some(trace) => line.with("backtrace", trace).write(),
            None => line.write(),
        }
        return;
    }
    let trace = trace.map_or_else(String::new, |trace| format!("\nbacktrace:\n{trace}"));
    output::note(&format!("error: {message}\n\nhint: {HINT}\n{trace}"));
}

#[cfg(test)]
mod tests {
    #![expect(
        clippy::unwrap_used,
        clippy::panic,
        clippy::indexing_slicing,
        reason = "tests"
    )]

    use std::process::Command;

    const CHILD: &str = "PROVOST_TEST_PANIC";

    /// What the test below prints when it panics in a process of its own.
    fn panicked(form: &str, backtrace: &str) -> String {
        let mut child = Command::new(std::env::current_exe().unwrap());
        child.args(["--exact", "--nocapture", "bug::tests::panics_if_told_to"]);
        child.env(CHILD, form).env("RUST_BACKTRACE", backtrace);
        let ran = child.output().unwrap();
        assert!(!ran.status.success());
        String::from_utf8(ran.stderr).unwrap()
    }

    #[test]
    fn panics_if_told_to() {
        if let Ok(form) = std::env::var(CHILD) {
            if form == "json" {
                super::log::use_json();
            }
            super::report_panics();
            panic!("no number {}", 7);
        }
    }

    #[test]
    fn a_backtrace_is_printed_where_it_is_asked_for() {
        let text = panicked("text", "1");
        assert!(
            text.starts_with("error: this is a bug in provost (bug.rs:"),
            "{text}"
        );
        assert!(text.contains("\nbacktrace:\n"), "{text}");
        assert!(text.contains("bug::tests::panics_if_told_to"), "{text}");
        // The control: otherwise it is the message alone.
        let text = panicked("text", "0");
        assert!(text.ends_with("please report this message\n"), "{text}");
        let lines = panicked("json", "1");
        let line: serde_json::Value = serde_json::from_str(&lines).unwrap();
        assert_eq!(
            (&line["level"], &line["kind"]),
            (&"error".into(), &"bug".into())
        );
        let trace = line["backtrace"].as_str().unwrap();
        assert!(trace.contains("bug::tests::panics_if_told_to"), "{trace}");
    }
}
