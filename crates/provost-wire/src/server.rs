//! Server processes: one command that stays, and is spoken to over its stdin and stdout.
//!
//! Owns starting it in a process group of its own, keeping the end of what it says on stderr, and
//! ending it with all that it started. Passes on no variable of this process but `PATH`, and what
//! it is told to. INVARIANT: nothing that it starts outlives the [`Server`] ([`Family`] says how
//! that is held).

use std::path::Path;
use std::process::Stdio;
use std::sync::{Arc, Mutex, PoisonError};

use rustix::process::Pid;
use tokio::io::AsyncReadExt as _;
use tokio::process::{Child, ChildStderr, ChildStdin, ChildStdout, Command};
use tokio::task::JoinHandle;

use crate::child::ChildError;
use crate::family::Family;
use crate::limits::{CHILD_LAST_WORDS, CHILD_SAID_BYTES_MAX};
use crate::sandbox::{Held, Sandbox};

/// A command that stays.
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
pub struct Server {
    // Why first, and so dropped first: until somebody waited for the child, its number is its own.
    family: Family,
    child: Child,
    held: Option<Held>,
    said: Arc<Mutex<Said>>,
    listening: JoinHandle<()>,
}

/// The end of what it said.
#[derive(Debug, Default)]
struct Said {
    tail: Vec<u8>,
    cut: bool,
}

/// How one speaks to it.
#[derive(Debug)]
pub struct ServerPipes {
    /// What it reads.
    pub stdin: ChildStdin,
    /// What it writes.
    pub stdout: ChildStdout,
}

impl Server {
    /// Starts it.
    ///
    /// # Errors
    /// [`ChildError::NotStarted`] if there is no such program or it cannot be run.
    pub fn start(command: ServerCommand<'_>) -> Result<(Self, ServerPipes), ChildError> {
        let (program, args) = command
            .argv
            .split_first()
            .map_or(("", &[][..]), |(p, a)| (p, a));
        let not_started = |reason: String| ChildError::NotStarted {
            program: program.to_owned(),
            reason,
        };
        let path = match program.contains('/') {
            true => command.dir.join(program),
            false => program.into(),
        };
        let mut family = Family::new();
        let mut inner = Command::new(path);
        inner.env_clear().args(args).current_dir(command.dir);
        if let Some(path) = std::env::var_os("PATH") {
            inner.env("PATH", path);
        }
        inner
            .envs(command.env.iter().map(|(name, value)| (name, value)))
            .envs(family.variable())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .process_group(0)
            .kill_on_drop(true);
        let started = Sandbox::start(command.sandbox, &mut inner);
        let (mut child, held) = started.map_err(not_started)?;
        family.lead(child.id().and_then(|id| Pid::from_raw(id.cast_signed())));
        let said = Arc::<Mutex<Said>>::default();
        let listening = tokio::spawn(listen(child.stderr.take(), Arc::clone(&said)));
        let pipes = child.stdin.take().zip(child.stdout.take());
        let server = Self {
            family,
            child,
            held,
            said,
            listening,
        };
        match pipes {
            Some((stdin, stdout)) => Ok((server, ServerPipes { stdin, stdout })),
            None => Err(not_started("it has no pipes".to_owned())),
        }
    }

    /// The last line it said on stderr, waited for a moment: it is asked for when it died.
    pub async fn last_words(&self) -> Option<String> {
        tokio::time::sleep(CHILD_LAST_WORDS).await;
        let said = self.said.lock().unwrap_or_else(PoisonError::into_inner);
        let text = String::from_utf8_lossy(&said.tail);
        // Why: where the beginning is missing, a half secret may stand that nobody recognises.
        let whole = match said.cut {
            true => text.split_once('\n').map_or("", |(_, rest)| rest),
            false => &text,
        };
        let mut lines = whole.lines().map(str::trim).filter(|line| !line.is_empty());
        lines.next_back().map(str::to_owned)
    }

    /// How much of its sandbox the kernel holds, if it has one.
    #[must_use]
    pub fn held(&self) -> Option<Held> {
        self.held
    }

    /// The number of its process, as long as it is not ended.
    #[must_use]
    pub fn id(&self) -> Option<u32> {
        self.child.id()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.listening.abort();
        if self.child.id().is_none() {
            self.family.forget_leader();
        }
    }
}

/// Reads to the end, and keeps the last of it.
async fn listen(stderr: Option<ChildStderr>, said: Arc<Mutex<Said>>) {
    let Some(mut stderr) = stderr else { return };
    let mut part = [0; 1024];
    while let Ok(count @ 1..) = stderr.read(&mut part).await {
        let mut said = said.lock().unwrap_or_else(PoisonError::into_inner);
        said.tail.extend(part.iter().take(count));
        let over = said.tail.len().saturating_sub(CHILD_SAID_BYTES_MAX);
        said.cut |= over > 0;
        said.tail.drain(..over);
    }
}
