//! The sandbox: which files a process, and all that it starts, may reach.
//!
//! Owns what a sandbox is, and the thread that takes its rules on and starts the process: what a
//! thread may not, nothing that it starts may. No program stands between, and what the kernel said
//! when it took the rules is what holds. Holds neither the network nor other processes; where the
//! system has no Landlock, it holds nothing and says so. INVARIANT: a thread under rules ends with
//! the start it was made for; no other work is done on it.

use std::path::PathBuf;
use std::thread;

use tokio::process::{Child, Command};
use tokio::runtime::Handle;

#[cfg(target_os = "linux")]
mod landlock;
#[cfg(target_os = "linux")]
use self::landlock as rules;

#[cfg(not(target_os = "linux"))]
mod none;
#[cfg(not(target_os = "linux"))]
use self::none as rules;

/// The files that a process may reach, beside those that any program needs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sandbox {
    /// Folders and files that may be read, and programs in them started.
    pub reads: Vec<PathBuf>,
    /// Folders and files that may be written too.
    pub writes: Vec<PathBuf>,
    /// Whether the process starts even where the kernel cannot enforce all of this.
    pub best_effort: bool,
}

/// How much of a sandbox the kernel enforces.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SandboxLevel {
    /// The kernel enforces all rules.
    Full,
    /// The kernel is old and enforces some of the rules.
    Partial,
    /// The kernel has no Landlock and enforces nothing.
    None,
}

impl SandboxLevel {
    /// How records spell it: `full`, `partial` or `none`.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Full => "full",
            Self::Partial => "partial",
            Self::None => "none",
        }
    }
}

/// Why there is no sandbox; nothing was started.
#[derive(Debug, thiserror::Error)]
pub enum SandboxError {
    /// The kernel does not enforce all of it, and the settings demand that.
    #[error(
        "this kernel holds the sandbox in {word}; `level = \"best-effort\"` starts it all the same",
        word = match .0 { SandboxLevel::None => "nothing", _ => "part" }
    )]
    NotEnforced(SandboxLevel),
    /// A folder or file of it cannot be opened.
    #[error("`{path}` of the sandbox cannot be opened: {reason}")]
    NoPath {
        /// The folder or file, as the settings have it.
        path: String,
        /// Why the system did not open it, in words for people.
        reason: String,
    },
    /// The kernel refused the rules.
    #[error("the sandbox cannot be made: {0}")]
    Rules(String),
}

impl Sandbox {
    /// How much of any sandbox this kernel enforces.
    #[must_use]
    pub fn kernel_level() -> SandboxLevel {
        let nothing = Self {
            reads: Vec::new(),
            writes: Vec::new(),
            best_effort: true,
        };
        nothing
            .run_inside(|| ())
            .map_or(SandboxLevel::None, |((), sandbox_level)| sandbox_level)
    }

    /// Calls `start` where it, and what it starts, reaches no more than this.
    ///
    /// # Errors
    /// [`SandboxError`]; then `start` was not called.
    pub fn run_inside<T: Send>(
        &self,
        start: impl FnOnce() -> T + Send,
    ) -> Result<(T, SandboxLevel), SandboxError> {
        let handle = Handle::try_current().ok();
        let inside = || {
            let _in_runtime = handle.as_ref().map(Handle::enter);
            let sandbox_level = self.enter()?;
            Ok((start(), sandbox_level))
        };
        let lost = |why: &str| SandboxError::Rules(why.to_owned());
        thread::scope(|scope| {
            let thread = thread::Builder::new().spawn_scoped(scope, inside);
            let thread = thread.map_err(|error| lost(&error.to_string()))?;
            let done = thread.join();
            done.unwrap_or_else(|_| Err(lost("its thread ended early")))
        })
    }

    /// Starts a command, in a sandbox if there is one; an `Err` says why it did not start.
    pub(crate) fn start(
        sandbox: Option<&Self>,
        command: &mut Command,
    ) -> Result<(Child, Option<SandboxLevel>), String> {
        let (child, sandbox_level) = match sandbox {
            None => (command.spawn(), None),
            Some(sandbox) => {
                let started = sandbox.run_inside(|| command.spawn());
                let (child, sandbox_level) = started.map_err(|error| error.to_string())?;
                (child, Some(sandbox_level))
            }
        };
        Ok((child.map_err(|error| error.to_string())?, sandbox_level))
    }

    /// Puts the rules on this thread, for ever.
    fn enter(&self) -> Result<SandboxLevel, SandboxError> {
        match rules::enter(self)? {
            SandboxLevel::Full => Ok(SandboxLevel::Full),
            level if self.best_effort => Ok(level),
            level => Err(SandboxError::NotEnforced(level)),
        }
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests")]

    use std::fs;

    use super::{Sandbox, SandboxError, SandboxLevel};

    /// What became of a read inside, a read outside, a write inside, and a write where only reads are.
    fn tried(sandbox: Option<&Sandbox>, dir: &std::path::Path) -> [bool; 4] {
        let attempts = || {
            [
                fs::read(dir.join("in/a")).is_ok(),
                fs::read(dir.join("secret")).is_ok(),
                fs::write(dir.join("out/b"), "b").is_ok(),
                fs::write(dir.join("in/b"), "b").is_ok(),
            ]
        };
        match sandbox {
            Some(sandbox) => sandbox.run_inside(attempts).unwrap().0,
            None => attempts(),
        }
    }

    #[test]
    fn what_lies_outside_is_not_reached() {
        let dir = tempfile::tempdir().unwrap();
        for name in ["in", "out"] {
            fs::create_dir(dir.path().join(name)).unwrap();
        }
        for name in ["in/a", "secret"] {
            fs::write(dir.path().join(name), "x").unwrap();
        }
        let mut sandbox = Sandbox {
            reads: vec![dir.path().join("in")],
            writes: vec![dir.path().join("out")],
            best_effort: true,
        };
        // The control: without it all of this is done, and this thread still may.
        assert_eq!(tried(None, dir.path()), [true; 4]);
        if Sandbox::kernel_level() == SandboxLevel::None {
            assert!(matches!(
                Sandbox {
                    best_effort: false,
                    ..sandbox
                }
                .run_inside(|| ()),
                Err(SandboxError::NotEnforced(SandboxLevel::None))
            ));
            return;
        }
        let seen = tried(Some(&sandbox), dir.path());
        assert_eq!(seen, [true, false, true, false]);
        assert_eq!(tried(None, dir.path()), [true; 4]);
        sandbox.reads = vec![dir.path().join("none")];
        let error = sandbox.run_inside(|| ()).unwrap_err().to_string();
        assert!(
            error.contains("none` of the sandbox cannot be opened"),
            "{error}"
        );
    }

    #[test]
    fn what_is_started_inside_stays_inside() {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join("secret"), "x").unwrap();
        let cat = || {
            let script = format!("cat {}", dir.path().join("secret").display());
            let mut sh = std::process::Command::new("sh");
            // Why twice: what a program starts is held as well.
            sh.args(["-c", "sh -c \"$1\" 2>/dev/null", "sh", &script]);
            sh.output().unwrap().stdout
        };
        assert_eq!(cat(), b"x");
        let sandbox = Sandbox {
            reads: Vec::new(),
            writes: Vec::new(),
            best_effort: true,
        };
        let (told, sandbox_level) = sandbox.run_inside(cat).unwrap();
        assert_eq!(told.is_empty(), sandbox_level != SandboxLevel::None);
    }
}
