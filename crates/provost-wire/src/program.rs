//! Programs: one command carried out for what it prints, within bounds of time, output and memory.
//!
//! Owns starting it, holding it to its bounds, and ending it with all that it started. Passes on no
//! variable of this process. Reads no shell's language: a program gets its arguments as they are.
//! INVARIANT: nothing that stays in the group of a program outlives the call that started it.

use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use rustix::process::{Pid, Resource, Rlimit, Signal, kill_process_group, prlimit};
use tokio::io::{AsyncRead, AsyncReadExt as _};
use tokio::process::{Child, Command};

use crate::limits::{CHILD_LAST_WORDS, CHILD_SAID_BYTES_MAX};
use crate::sandbox::{Held, Sandbox};

/// A program to carry out.
#[derive(Clone, Copy, Debug)]
pub struct Program<'a> {
    /// The program and its arguments.
    pub argv: &'a [String],
    /// Where it runs.
    pub dir: &'a Path,
    /// All its variables; a program without a `/` in its name is looked for along its `PATH`.
    pub env: &'a [(String, String)],
    /// How long it may take.
    pub timeout: Duration,
    /// How much it may print.
    pub output_bytes_max: u64,
    /// How much memory each of its processes may ask for.
    pub memory_bytes_max: Option<u64>,
    /// Which files it may reach; without one all that its user may.
    pub sandbox: Option<&'a Sandbox>,
}

/// A program that ended by itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ended {
    /// Its exit code; none if a signal ended it.
    pub code: Option<i32>,
    /// How it ended, in words.
    pub status: String,
    /// What it wrote to stdout.
    pub stdout: Vec<u8>,
    /// The beginning of what it wrote to stderr.
    pub stderr: Vec<u8>,
    /// How much of its sandbox the kernel held, if it had one.
    pub held: Option<Held>,
}

/// A program that did not end by itself.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ProgramError {
    /// It did not begin.
    #[error("`{program}` cannot be started: {reason}")]
    NotStarted {
        /// The program.
        program: String,
        /// Why.
        reason: String,
    },
    /// The time was over; it was ended.
    #[error("it did not end within the time")]
    TimedOut,
    /// It printed more than it may; it was ended.
    #[error("it printed more than {max} bytes and was ended")]
    TooLarge {
        /// The most it may print.
        max: u64,
    },
    /// It cannot be told how it ended.
    #[error("it is lost: {reason}")]
    Lost {
        /// Why.
        reason: String,
    },
}

/// The processes of a program; dropped, they are ended.
///
/// Their number is the leader's, and stays theirs while one of them is left. With none left it may
/// be given out again, but only after all other numbers were: long after this is dropped.
struct Group(Option<Pid>);

impl Group {
    fn end(&self) {
        if let Some(leader) = self.0 {
            // Why ignored: who is gone needs no ending.
            let _ = kill_process_group(leader, Signal::KILL);
        }
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        self.end();
    }
}

impl Program<'_> {
    /// Runs it to its end.
    ///
    /// # Errors
    /// [`ProgramError`] unless it ends by itself, within its bounds.
    pub async fn run(self) -> Result<Ended, ProgramError> {
        let (mut child, held) = self.start()?;
        let id = child.id().and_then(|id| i32::try_from(id).ok());
        let group = Group(id.and_then(Pid::from_raw));
        let ended = async {
            self.hold(&group)?;
            self.heard(&mut child, &group).await
        };
        match tokio::time::timeout(self.timeout, ended).await {
            Ok(ended) => ended.map(|ended| Ended { held, ..ended }),
            Err(_) => Err(ProgramError::TimedOut),
        }
    }

    fn start(&self) -> Result<(Child, Option<Held>), ProgramError> {
        let (program, args) = self
            .argv
            .split_first()
            .map_or(("", &[][..]), |(program, args)| (program.as_str(), args));
        let mut command = Command::new(program);
        command
            .env_clear()
            .envs(self.env.iter().map(|(name, value)| (name, value)))
            .args(args)
            .current_dir(self.dir)
            .process_group(0)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true);
        Sandbox::start(self.sandbox, &mut command).map_err(|reason| ProgramError::NotStarted {
            program: program.to_owned(),
            reason,
        })
    }

    /// Sets the bounds that the system holds: of what it begins from here on, and leaves no core.
    fn hold(&self, group: &Group) -> Result<(), ProgramError> {
        let set = |resource, most| {
            let limit = Rlimit {
                current: Some(most),
                maximum: Some(most),
            };
            match prlimit(group.0, resource, limit) {
                // Why: it may be over already.
                Ok(_) | Err(rustix::io::Errno::SRCH) => Ok(()),
                Err(error) => Err(ProgramError::Lost {
                    reason: format!("its bounds cannot be set: {error}"),
                }),
            }
        };
        set(Resource::Core, 0)?;
        self.memory_bytes_max
            .map_or(Ok(()), |most| set(Resource::As, most))
    }

    async fn heard(&self, child: &mut Child, group: &Group) -> Result<Ended, ProgramError> {
        let lost = |reason: std::io::Error| ProgramError::Lost {
            reason: reason.to_string(),
        };
        let (stdout, stderr) = (child.stdout.take(), child.stderr.take());
        let most = usize::try_from(self.output_bytes_max).unwrap_or(usize::MAX);
        let (mut printed, mut said) = (Vec::new(), Vec::new());
        let mut is_more = false;
        let status = {
            let reading = async {
                let print = read(stdout, &mut printed, most, true);
                let say = read(stderr, &mut said, CHILD_SAID_BYTES_MAX, false);
                tokio::pin!(print, say);
                tokio::select! {
                    more = &mut print => {
                        is_more = more;
                        // Why: who printed too much is not listened to any longer.
                        if !more {
                            say.await;
                        }
                    }
                    _ = &mut say => is_more = print.await,
                }
            };
            tokio::pin!(reading);
            let mut at_end = false;
            let status = tokio::select! {
                status = child.wait() => Some(status.map_err(lost)?),
                () = &mut reading => { at_end = true; None }
            };
            // Why: what it left behind ends with it, and with that its output.
            if status.is_some() {
                group.end();
            }
            if !at_end {
                let _ = tokio::time::timeout(CHILD_LAST_WORDS, reading).await;
            }
            status
        };
        if is_more {
            let max = self.output_bytes_max;
            return Err(ProgramError::TooLarge { max });
        }
        let status = match status {
            Some(status) => status,
            None => child.wait().await.map_err(lost)?,
        };
        Ok(Ended {
            code: status.code(),
            status: status.to_string(),
            stdout: printed,
            stderr: said,
            held: None,
        })
    }
}

/// Reads to the end and keeps the beginning; with `stops`, only until there is more than that.
/// Whether there was more.
async fn read(
    from: Option<impl AsyncRead + Unpin>,
    kept: &mut Vec<u8>,
    most: usize,
    stops: bool,
) -> bool {
    let Some(mut from) = from else { return false };
    let (mut part, mut is_more) = ([0; 8192], false);
    while let Ok(count @ 1..) = from.read(&mut part).await {
        let room = most.saturating_sub(kept.len());
        is_more |= count > room;
        kept.extend(part.iter().take(count.min(room)));
        if is_more && stops {
            break;
        }
    }
    is_more
}
