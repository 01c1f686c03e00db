//! Lines to and from a program.
//!
//! Owns the bound on a line. Reads no JSON. INVARIANT: never more than one line and one buffer of
//! what a program writes is held.

use provost_wire::process::ServerPipes;
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::process::{ChildStdin, ChildStdout};

use crate::limits::LINE_BYTES_MAX;

/// Both ends.
#[derive(Debug)]
pub(super) struct Lines {
    stdin: ChildStdin,
    stdout: BufReader<ChildStdout>,
}

/// A line that did not go or come.
#[derive(Debug, thiserror::Error)]
pub(super) enum LineError {
    #[error("it ended{}", said(.0.as_deref()))]
    Ended(Option<String>),
    #[error("its line is longer than the {LINE_BYTES_MAX} bytes allowed")]
    TooLong,
}

impl LineError {
    /// The same with the last words of the program.
    pub(super) fn with_words(error: &Self, words: Option<String>) -> Self {
        match error {
            Self::Ended(_) => Self::Ended(words),
            Self::TooLong => Self::TooLong,
        }
    }
}

fn said(words: Option<&str>) -> String {
    words.map_or_else(String::new, |words| format!(" (it said: {words})"))
}

impl Lines {
    pub(super) fn new(pipes: ServerPipes) -> Self {
        Self {
            stdin: pipes.stdin,
            stdout: BufReader::new(pipes.stdout),
        }
    }

    pub(super) async fn write(&mut self, line: &str) -> Result<(), LineError> {
        let line = format!("{line}\n");
        let written = self.stdin.write_all(line.as_bytes()).await;
        // Why the same: a pipe that nobody reads any more is a program that ended.
        written.map_err(|_| LineError::Ended(None))?;
        self.stdin.flush().await.map_err(|_| LineError::Ended(None))
    }

    pub(super) async fn read(&mut self) -> Result<Vec<u8>, LineError> {
        let mut line = Vec::new();
        loop {
            let part = self.stdout.fill_buf().await;
            let part = part.map_err(|_| LineError::Ended(None))?;
            if part.is_empty() {
                return Err(LineError::Ended(None));
            }
            let end = part.iter().position(|byte| *byte == b'\n');
            let count = end.unwrap_or(part.len());
            if line.len() + count > LINE_BYTES_MAX {
                return Err(LineError::TooLong);
            }
            line.extend(part.iter().take(count));
            self.stdout.consume(count + usize::from(end.is_some()));
            if end.is_some() {
                return Ok(line);
            }
        }
    }
}
