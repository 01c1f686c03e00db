//! The two streams: data on stdout, everything else on stderr.
//!
//! Owns writing; colours are taken out where the stream is no terminal or `NO_COLOR` is set. A
//! reader that went away ends nothing and is no error.

use std::io::{IsTerminal as _, Write as _};

use serde_json::Value;

/// Writes data to stdout.
pub fn data(text: &str) {
    let mut out = anstream::stdout().lock();
    // Why: a closed pipe means that nobody reads on; the verb still ends as it would have.
    let _ = out.write_all(text.as_bytes()).and_then(|()| out.flush());
}

/// Writes one JSON object to stdout, readable by people too.
pub fn json(value: &Value) {
    let mut text = serde_json::to_string_pretty(value).unwrap_or_default();
    text.push('\n');
    let _ = raw(&text);
}

/// Writes one line of a stream of JSON objects to stdout.
pub fn json_line(value: &Value) {
    let _ = raw(&format!("{value}\n"));
}

/// Why past the colour filter: JSON has no styles, and its bytes are the caller's.
fn raw(text: &str) -> std::io::Result<()> {
    let mut out = std::io::stdout().lock();
    out.write_all(text.as_bytes())?;
    out.flush()
}

/// Writes a message, a prompt or progress to stderr.
pub fn note(text: &str) {
    let mut out = anstream::stderr().lock();
    let _ = out.write_all(text.as_bytes()).and_then(|()| out.flush());
}

/// Writes cursor movements to stderr, which is a terminal.
pub fn control(text: &str) {
    let mut out = std::io::stderr().lock();
    let _ = out.write_all(text.as_bytes()).and_then(|()| out.flush());
}

/// Forgets what was typed before now: a yes typed ahead is a yes to something not yet seen.
pub fn forget_typed() {
    use rustix::termios::{QueueSelector, tcflush};
    // Why ignored: where the input is no terminal, there is nothing typed ahead.
    let _ = tcflush(std::io::stdin(), QueueSelector::IFlush);
}

/// Whether a person sits there who reads and types.
pub fn is_attended() -> bool {
    std::io::stdin().is_terminal() && std::io::stderr().is_terminal()
}

/// How wide a page on stdout may be: as the terminal is, within reason; 100 where there is none.
pub fn width() -> usize {
    terminal_size::terminal_size_of(std::io::stdout())
        .map_or(100, |(width, _)| usize::from(width.0).clamp(60, 160))
}

/// How wide a message on stderr may be; without bound where there is no terminal to fill.
pub fn note_width() -> usize {
    terminal_size::terminal_size_of(std::io::stderr())
        .map_or(usize::MAX, |(width, _)| usize::from(width.0).max(60))
}

/// Whether a view can be redrawn in place.
pub fn is_live() -> bool {
    let dumb = std::env::var_os("TERM").is_none_or(|term| term == "dumb");
    std::io::stderr().is_terminal() && !dumb
}
