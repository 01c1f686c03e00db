//! The two streams: data on stdout, everything else on stderr.
//!
//! Owns writing; colours are taken out where the stream is no terminal or `NO_COLOR` is set. A
//! reader that went away ends nothing and is no error.

use std::io::{IsTerminal as _, Read as _, Write as _};

use serde_json::Value;

use crate::failure::Failure;
use crate::log::{self, LogLevel, LogLine};

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

/// Writes bytes to stdout as they are.
pub fn bytes(bytes: &[u8]) {
    let mut out = std::io::stdout().lock();
    let _ = out.write_all(bytes).and_then(|()| out.flush());
}

/// Why past the colour filter: JSON has no styles, and its bytes are the caller's.
fn raw(text: &str) -> std::io::Result<()> {
    let mut out = std::io::stdout().lock();
    out.write_all(text.as_bytes())?;
    out.flush()
}

/// Writes a message, a prompt or progress to stderr.
pub fn note(text: &str) {
    if log::is_json() {
        if !text.trim().is_empty() {
            LogLine::new(LogLevel::Info, "message", text).write();
        }
        return;
    }
    let mut out = anstream::stderr().lock();
    let _ = out.write_all(text.as_bytes()).and_then(|()| out.flush());
}

/// Writes a line of the log as JSON to stderr.
pub fn log_line(line: &Value) {
    let mut out = std::io::stderr().lock();
    // Why at once: what other threads write comes before or after, never within.
    let _ = out.write_all(format!("{line}\n").as_bytes());
}

/// Writes cursor movements to stderr, which is a terminal.
pub fn control(text: &str) {
    let mut out = std::io::stderr().lock();
    let _ = out.write_all(text.as_bytes()).and_then(|()| out.flush());
}

/// A text as it may be written to stderr: without colours where nobody wants them.
pub fn styled(text: &str) -> String {
    match anstream::AutoStream::choice(&std::io::stderr()) {
        anstream::ColorChoice::Never => anstream::adapter::strip_str(text).to_string(),
        _ => text.to_owned(),
    }
}

/// Forgets what was typed before now: a yes typed ahead is a yes to something not yet seen.
pub fn forget_typed() {
    use rustix::termios::{QueueSelector, tcflush};
    // Why ignored: where the input is no terminal, there is nothing typed ahead.
    let _ = tcflush(std::io::stdin(), QueueSelector::IFlush);
}

/// A line typed at the terminal without being shown; none where nobody sits there.
///
/// Why byte by byte: only so an interruption can put the terminal back as it was.
pub fn typed_secretly(prompt: &str) -> Result<Option<String>, Failure> {
    use rustix::termios::{LocalModes, OptionalActions, tcgetattr, tcsetattr};
    if !is_attended() {
        return Ok(None);
    }
    let failed = |error: rustix::io::Errno| {
        let reason = crate::document::reason(&error.into());
        Failure::usage(format!("the terminal cannot be read: {reason}"))
    };
    let before = tcgetattr(std::io::stdin()).map_err(failed)?;
    let mut quiet = before.clone();
    quiet.local_modes -= LocalModes::ECHO | LocalModes::ICANON | LocalModes::ISIG;
    note(prompt);
    tcsetattr(std::io::stdin(), OptionalActions::Flush, &quiet).map_err(failed)?;
    let typed = until_enter(std::io::stdin().lock().bytes());
    tcsetattr(std::io::stdin(), OptionalActions::Flush, &before).map_err(failed)?;
    note("\n");
    let bytes = typed.ok_or_else(|| Failure::usage("nothing was typed"))?;
    let text = String::from_utf8(bytes).map_err(|_| Failure::usage("what was typed is no text"))?;
    Ok(Some(text))
}

/// The bytes up to Enter, with deletions carried out; none if the person gave up.
fn until_enter(bytes: impl Iterator<Item = std::io::Result<u8>>) -> Option<Vec<u8>> {
    let mut typed = Vec::new();
    for byte in bytes {
        match byte.ok()? {
            b'\n' | b'\r' => return Some(typed),
            // Ctrl-C, Ctrl-D, Ctrl-\.
            3 | 4 | 28 => return None,
            8 | 127 => {
                // Why a loop: a character may be several bytes.
                while typed.pop().is_some_and(|byte| byte & 0xc0 == 0x80) {}
            }
            // Ctrl-U.
            21 => typed.clear(),
            byte => typed.push(byte),
        }
    }
    None
}

/// Whether a person sits there who reads and types. Nobody reads a prompt in a log of JSON.
pub fn is_attended() -> bool {
    !log::is_json() && std::io::stdin().is_terminal() && std::io::stderr().is_terminal()
}

/// How wide a page on stdout may be, within reason: as the terminal is; where there is none, as
/// `COLUMNS` says, or 100.
pub fn width() -> usize {
    let set = || std::env::var("COLUMNS").ok()?.parse().ok();
    let terminal = terminal_size::terminal_size_of(std::io::stdout());
    let width = terminal.map(|(width, _)| usize::from(width.0)).or_else(set);
    width.unwrap_or(100).clamp(60, 160)
}

/// How wide a message on stderr may be; without bound where there is no terminal to fill.
pub fn note_width() -> usize {
    terminal_size::terminal_size_of(std::io::stderr())
        .map_or(usize::MAX, |(width, _)| usize::from(width.0).max(60))
}

/// Whether a view can be redrawn in place.
pub fn is_live() -> bool {
    let dumb = std::env::var_os("TERM").is_none_or(|term| term == "dumb");
    std::io::stderr().is_terminal() && !dumb && !log::is_json()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_typed_ends_with_enter_and_can_be_deleted() {
        let typed = |text: &str| until_enter(text.bytes().map(Ok));
        assert_eq!(typed("secret\n").as_deref(), Some(b"secret".as_slice()));
        let deleted = typed("a\u{e9}\u{7f}b\r");
        assert_eq!(deleted.as_deref(), Some(b"ab".as_slice()));
        assert_eq!(typed("no\u{15}yes\n").as_deref(), Some(b"yes".as_slice()));
        assert_eq!(typed("half"), None);
        assert_eq!(typed("half\u{3}\n"), None);
    }
}
