//! Server processes: one command that stays, and is spoken to over its stdin and stdout.
//!
//! Owns starting it in a process group of its own, keeping the end of what it says on stderr, and
//! ending it with all that it started. Passes on no variable of this process but `PATH`, and what
//! it is told to. INVARIANT: nothing that it starts outlives the
//! [`ServerProcess`]; [`ProcessTree`] ends it.

use std::path::Path;
use std::process::Stdio;
use std::sync::{Arc, Mutex, PoisonError};

use rustix::process::Pid;
use tokio::io::AsyncReadExt as _;
use tokio::process::{Child, ChildStderr, ChildStdin, ChildStdout};
use tokio::task::JoinHandle;

use super::child::{self, ChildError};
use super::sandbox::{Sandbox, SandboxLevel};
use super::tree::ProcessTree;
use crate::limits::{CHILD_STDERR_BYTES_MAX, CHILD_STDERR_WAIT};

/// A command that keeps running and is spoken to over its pipes.
#[derive(Clone, Copy)]
pub struct ServerCommand<'a> {
    /// The program and its arguments; no shell reads them.
    pub argv: &'a [String],
    /// Where it runs; a program with a `/` in its name lies below.
    pub dir: &'a Path,
    /// The variables it is given beside `PATH`.
    pub env: &'a [(String, String)],
    /// Which files it may reach; without one all that its user may.
    pub sandbox: Option<&'a Sandbox>,
}

/// A process that was started; dropping it ends all that it started.
#[derive(Debug)]
pub struct ServerProcess {
    // Why first, and so dropped first: until somebody waited for the child, its number is its own.
    tree: ProcessTree,
    child: Child,
    sandbox_level: Option<SandboxLevel>,
    tail: Arc<Mutex<StderrTail>>,
    collecting: JoinHandle<()>,
}

/// The last bytes that it wrote to stderr.
#[derive(Debug, Default)]
struct StderrTail {
    bytes: Vec<u8>,
    is_cut: bool,
}

/// The two pipes of a server, for whoever speaks its protocol.
#[derive(Debug)]
pub struct ServerPipes {
    /// The pipe that it reads from.
    pub stdin: ChildStdin,
    /// The pipe that it writes to.
    pub stdout: ChildStdout,
}

impl ServerProcess {
    /// Starts the command, and gives the process with its pipes.
    ///
    /// # Errors
    /// [`ChildError::NotStarted`] if there is no such program or it cannot be run.
    pub fn start(command: ServerCommand<'_>) -> Result<(Self, ServerPipes), ChildError> {
        let not_started = |reason: String| ChildError::not_started(command.argv, &reason);
        let mut tree = ProcessTree::new();
        let mut inner = child::command(command.argv, command.dir);
        inner
            .envs(command.env.iter().map(|(name, value)| (name, value)))
            .envs(tree.variable())
            .stdout(Stdio::piped())
            .process_group(0);
        let started = Sandbox::start(command.sandbox, &mut inner);
        let (mut child, sandbox_level) = started.map_err(not_started)?;
        tree.set_leader(child.id().and_then(|id| Pid::from_raw(id.cast_signed())));
        let tail = Arc::<Mutex<StderrTail>>::default();
        let collecting = tokio::spawn(collect_stderr(child.stderr.take(), Arc::clone(&tail)));
        let pipes = child.stdin.take().zip(child.stdout.take());
        let server = Self {
            tree,
            child,
            sandbox_level,
            tail,
            collecting,
        };
        match pipes {
            Some((stdin, stdout)) => Ok((server, ServerPipes { stdin, stdout })),
            None => Err(not_started("it has no pipes".to_owned())),
        }
    }

    /// The end of what it wrote to stderr, as one line: of its last lines those that are not
    /// indented, as a stack trace is, at most three. Waits a moment, since it is asked for when it
    /// died.
    pub async fn last_stderr_lines(&self) -> Option<String> {
        tokio::time::sleep(CHILD_STDERR_WAIT).await;
        let tail = self.tail.lock().unwrap_or_else(PoisonError::into_inner);
        let text = String::from_utf8_lossy(&tail.bytes);
        // Why: where the beginning is missing, a half secret may stand that nobody recognises.
        let whole = match tail.is_cut {
            true => text.split_once('\n').map_or("", |(_, rest)| rest),
            false => &text,
        };
        end_of(whole)
    }

    /// How much of its sandbox the kernel enforces, if it has one.
    #[must_use]
    pub fn sandbox_level(&self) -> Option<SandboxLevel> {
        self.sandbox_level
    }

    /// The number of its process, as long as it is not ended.
    #[must_use]
    pub fn id(&self) -> Option<u32> {
        self.child.id()
    }
}

impl Drop for ServerProcess {
    fn drop(&mut self) {
        self.collecting.abort();
        if self.child.id().is_none() {
            self.tree.forget_leader();
        }
    }
}

/// The last three lines that are not indented; of lines that all are, the last.
fn end_of(text: &str) -> Option<String> {
    let lines = || text.lines().filter(|line| !line.trim().is_empty()).rev();
    let at_margin = |line: &&str| !line.starts_with(char::is_whitespace);
    let mut end: Vec<&str> = lines().filter(at_margin).take(3).collect();
    if end.is_empty() {
        end.extend(lines().next());
    }
    end.reverse();
    let end: Vec<&str> = end.into_iter().map(str::trim).collect();
    (!end.is_empty()).then(|| end.join("; "))
}

/// Reads to the end and keeps the last bytes.
async fn collect_stderr(stderr: Option<ChildStderr>, tail: Arc<Mutex<StderrTail>>) {
    let Some(mut stderr) = stderr else { return };
    let mut part = [0; 1024];
    while let Ok(count @ 1..) = stderr.read(&mut part).await {
        let mut tail = tail.lock().unwrap_or_else(PoisonError::into_inner);
        tail.bytes.extend(part.iter().take(count));
        let over = tail.bytes.len().saturating_sub(CHILD_STDERR_BYTES_MAX);
        tail.is_cut |= over > 0;
        tail.bytes.drain(..over);
    }
}

#[cfg(test)]
mod tests {
    use super::end_of;

    #[test]
    fn the_end_of_what_a_program_says_names_its_error() {
        let cases = [
            ("", None),
            ("modem busy\n", Some("modem busy")),
            (
                "file:///a.js:3\n  throw new Error('no key')\n  ^\n\nError: no key\n    at a (a.js:3)\n    \
                 at b (b.js:9)\n\nNode.js v20.20.2\n",
                Some("file:///a.js:3; Error: no key; Node.js v20.20.2"),
            ),
            (
                "one\ntwo\nTraceback (most recent call last):\n  File \"a.py\", line 3\nKeyError: 'x'\n",
                Some("two; Traceback (most recent call last):; KeyError: 'x'"),
            ),
            ("  all\n  indented\n", Some("indented")),
        ];
        for (text, end) in cases {
            assert_eq!(end_of(text).as_deref(), end, "{text}");
        }
    }
}
