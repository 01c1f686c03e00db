//! Child processes: one command, a few bytes in, an exit code out, within a time.
//!
//! Owns starting, feeding and ending them. Passes on no variable of this process but `PATH`.
//! INVARIANT: a child does not outlive the call that started it.

use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::process::{ChildStderr, Command};

use crate::limits::{CHILD_STDERR_BYTES_MAX, CHILD_STDERR_WAIT};

/// A command that is fed some bytes and has to exit with 0.
#[derive(Clone, Copy, Debug)]
pub struct ChildCommand<'a> {
    /// The program and its arguments; no shell reads them.
    pub argv: &'a [String],
    /// Where it runs; a program with a `/` in its name lies below.
    pub dir: &'a Path,
    /// The bytes that it reads from stdin.
    pub stdin: &'a [u8],
    /// How long it may take before it is killed.
    pub timeout: Duration,
}

/// A command that did not do its work.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ChildError {
    /// The program did not start.
    #[error("`{program}` cannot be started: {reason}")]
    NotStarted {
        /// The name of the program, as the command has it.
        program: String,
        /// Why the system did not start it, in words for people.
        reason: String,
    },
    /// The time was over; it was ended.
    #[error("it did not end within the time")]
    TimedOut,
    /// It ended with another code than 0.
    #[error("it ended with {status}{}", after(stderr_text))]
    Failed {
        /// The exit code or the signal, in words for people.
        status: String,
        /// The beginning of what it wrote to stderr.
        stderr_text: String,
    },
}

fn after(stderr_text: &str) -> String {
    match stderr_text.trim() {
        "" => String::new(),
        stderr_text => format!(": {stderr_text}"),
    }
}

impl ChildError {
    pub(super) fn not_started(argv: &[String], reason: &dyn ToString) -> Self {
        Self::NotStarted {
            program: argv.first().cloned().unwrap_or_default(),
            reason: reason.to_string(),
        }
    }
}

/// A command that ends with its handle, and gets no variable of this process but `PATH`.
pub(super) fn command(argv: &[String], dir: &Path) -> Command {
    let program = argv.first().map_or("", String::as_str);
    let path = match program.contains('/') {
        true => dir.join(program),
        false => program.into(),
    };
    let mut command = Command::new(path);
    command.args(argv.iter().skip(1)).current_dir(dir);
    command.env_clear();
    command.envs(std::env::var_os("PATH").map(|path| ("PATH", path)));
    command.stdin(Stdio::piped()).stderr(Stdio::piped());
    command.kill_on_drop(true);
    command
}

impl ChildCommand<'_> {
    /// Runs the command until it exits or its time is over.
    ///
    /// # Errors
    /// [`ChildError`] unless it exits with 0 within the time.
    pub async fn run(self) -> Result<(), ChildError> {
        let done = tokio::time::timeout(self.timeout, self.execute()).await;
        done.unwrap_or(Err(ChildError::TimedOut))
    }

    async fn execute(self) -> Result<(), ChildError> {
        let not_started = |error: std::io::Error| ChildError::not_started(self.argv, &error);
        let mut command = command(self.argv, self.dir);
        let child = command.stdout(Stdio::null()).spawn();
        let mut child = child.map_err(not_started)?;
        let (stdin, stderr) = (child.stdin.take(), child.stderr.take());
        let mut stderr_text = Vec::new();
        let status = {
            let reading = read(stderr, &mut stderr_text);
            let waiting = async {
                if let Some(mut stdin) = stdin {
                    // Why ignored: a child need not read what it is told.
                    let _ = stdin.write_all(self.stdin).await;
                }
                child.wait().await
            };
            tokio::pin!(reading, waiting);
            let mut at_end = false;
            let status = loop {
                tokio::select! {
                    status = &mut waiting => break status,
                    () = &mut reading, if !at_end => at_end = true,
                }
            };
            if !at_end {
                // Why not to its end: a process that the child left behind may hold it open.
                let _ = tokio::time::timeout(CHILD_STDERR_WAIT, reading).await;
            }
            status.map_err(not_started)?
        };
        if status.success() {
            return Ok(());
        }
        Err(ChildError::Failed {
            status: status.to_string(),
            stderr_text: String::from_utf8_lossy(&stderr_text).into_owned(),
        })
    }
}

/// Reads to the end, and keeps the beginning.
async fn read(stderr: Option<ChildStderr>, stderr_text: &mut Vec<u8>) {
    let Some(mut stderr) = stderr else { return };
    let mut part = [0; 1024];
    while let Ok(count @ 1..) = stderr.read(&mut part).await {
        let room = CHILD_STDERR_BYTES_MAX.saturating_sub(stderr_text.len());
        stderr_text.extend(part.iter().take(count.min(room)));
    }
}
