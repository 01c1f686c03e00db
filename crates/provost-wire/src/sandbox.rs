//! The sandbox: which files a process, and all that it starts, may reach.
//!
//! Owns the rules of Landlock, and the thread that takes them on and starts the process: what a
//! thread may not, nothing that it starts may. No program stands between, and what the kernel said
//! when it took the rules is what holds. Holds neither the network nor other processes. INVARIANT:
//! a thread under rules ends with the start it was made for; no other work is done on it.

use std::path::{Path, PathBuf};
use std::thread;

use landlock::{
    ABI, Access as _, AccessFs, BitFlags, PathBeneath, PathFd, PathFdError, RestrictionStatus,
    Ruleset, RulesetAttr as _, RulesetCreatedAttr as _, RulesetError, RulesetStatus,
    path_beneath_rules,
};
use tokio::process::{Child, Command};
use tokio::runtime::Handle;

/// What a program needs of the system to be a program.
const SYSTEM: [&str; 12] = [
    "/usr",
    "/bin",
    "/sbin",
    "/lib",
    "/lib32",
    "/lib64",
    "/etc/ld.so.cache",
    "/etc/alternatives",
    "/dev/zero",
    "/dev/random",
    "/dev/urandom",
    "/dev/full",
];
/// What may be written whatever is allowed: nothing comes of it.
const NOWHERE: &str = "/dev/null";
/// A kernel from 6.2 on holds all of it: earlier ones let files be cut off that are only read.
const RULES: ABI = ABI::V3;

/// What may be reached.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sandbox {
    /// Folders and files that may be read, and programs in them started.
    pub reads: Vec<PathBuf>,
    /// Folders and files that may be written too.
    pub writes: Vec<PathBuf>,
    /// Whether it is started all the same where the kernel cannot hold all of this.
    pub best_effort: bool,
}

/// How much of it the kernel holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Held {
    /// All.
    Full,
    /// Not all: an old kernel.
    Partial,
    /// Nothing: a kernel without Landlock.
    None,
}

impl Held {
    /// The word of records.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Full => "full",
            Self::Partial => "partial",
            Self::None => "none",
        }
    }
}

/// A sandbox that is not there; nothing was started.
#[derive(Debug, thiserror::Error)]
pub enum SandboxError {
    /// The kernel does not hold it.
    #[error(
        "this kernel holds the sandbox in {word}; `level = \"best-effort\"` starts it all the same",
        word = match .0 { Held::None => "nothing", _ => "part" }
    )]
    NotHeld(Held),
    /// A folder of it cannot be had.
    #[error("`{path}` of the sandbox cannot be opened: {reason}")]
    NoPath {
        /// The folder.
        path: String,
        /// Why.
        reason: String,
    },
    /// The rules cannot be made.
    #[error("the sandbox cannot be made: {0}")]
    Rules(String),
}

impl From<RulesetError> for SandboxError {
    fn from(error: RulesetError) -> Self {
        Self::Rules(crate::http::chain(&error))
    }
}

impl Sandbox {
    /// What this kernel holds of any sandbox.
    #[must_use]
    pub fn of_kernel() -> Held {
        let nothing = Self {
            reads: Vec::new(),
            writes: Vec::new(),
            best_effort: true,
        };
        nothing.around(|| ()).map_or(Held::None, |((), held)| held)
    }

    /// Calls `start` where it, and what it starts, reaches no more than this.
    ///
    /// # Errors
    /// [`SandboxError`]; then `start` was not called.
    pub fn around<T: Send>(
        &self,
        start: impl FnOnce() -> T + Send,
    ) -> Result<(T, Held), SandboxError> {
        let handle = Handle::try_current().ok();
        let inside = || {
            let _in_runtime = handle.as_ref().map(Handle::enter);
            let held = self.enter()?;
            Ok((start(), held))
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
    ) -> Result<(Child, Option<Held>), String> {
        let (child, held) = match sandbox {
            None => (command.spawn(), None),
            Some(sandbox) => {
                let started = sandbox.around(|| command.spawn());
                let (child, held) = started.map_err(|error| error.to_string())?;
                (child, Some(held))
            }
        };
        Ok((child.map_err(|error| error.to_string())?, held))
    }

    /// Puts the rules on this thread, for ever.
    fn enter(&self) -> Result<Held, SandboxError> {
        let read: BitFlags<AccessFs> = AccessFs::from_read(RULES);
        let all: BitFlags<AccessFs> = AccessFs::from_all(RULES);
        let mut rules = Ruleset::default()
            .handle_access(all)?
            .create()?
            .add_rules(path_beneath_rules(SYSTEM, read))?
            .add_rules(path_beneath_rules([NOWHERE], all))?;
        for (paths, access) in [(&self.reads, read), (&self.writes, all)] {
            for path in paths {
                rules = rules.add_rule(rule(path, access)?)?;
            }
        }
        let status = rules.restrict_self()?;
        let held = held(&status);
        match held {
            Held::Full => Ok(held),
            _ if self.best_effort => Ok(held),
            _ => Err(SandboxError::NotHeld(held)),
        }
    }
}

fn held(status: &RestrictionStatus) -> Held {
    match status.ruleset {
        RulesetStatus::FullyEnforced => Held::Full,
        RulesetStatus::PartiallyEnforced => Held::Partial,
        RulesetStatus::NotEnforced => Held::None,
    }
}

/// What may be done at `path`, which is there.
fn rule(path: &Path, access: BitFlags<AccessFs>) -> Result<PathBeneath<PathFd>, SandboxError> {
    let no_path = |reason: String| SandboxError::NoPath {
        path: path.display().to_string(),
        reason,
    };
    let is_dir = path.is_dir();
    let opened =
        PathFd::new(path).map_err(|error: PathFdError| no_path(crate::http::chain(&error)))?;
    let access = match is_dir {
        true => access,
        false => access & AccessFs::from_file(RULES),
    };
    Ok(PathBeneath::new(opened, access))
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests")]

    use std::fs;

    use super::{Held, Sandbox, SandboxError};

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
            Some(sandbox) => sandbox.around(attempts).unwrap().0,
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
        if Sandbox::of_kernel() == Held::None {
            assert!(matches!(
                Sandbox {
                    best_effort: false,
                    ..sandbox
                }
                .around(|| ()),
                Err(SandboxError::NotHeld(Held::None))
            ));
            return;
        }
        let seen = tried(Some(&sandbox), dir.path());
        assert_eq!(seen, [true, false, true, false]);
        assert_eq!(tried(None, dir.path()), [true; 4]);
        sandbox.reads = vec![dir.path().join("none")];
        let error = sandbox.around(|| ()).unwrap_err().to_string();
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
        let (told, held) = sandbox.around(cat).unwrap();
        assert_eq!(told.is_empty(), held != Held::None);
    }
}
