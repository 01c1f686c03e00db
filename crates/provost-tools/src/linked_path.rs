//! A path of the configuration, held to where it led when the workspace was opened.
//!
//! Owns what a link adds to the digest of an operation, and the look before a call. Never opens
//! what it finds. INVARIANT: what is given out is the place that the path led to at first; a path
//! that was nowhere leads to its own name, not through a link made later.

use std::io;
use std::path::{Component, Path, PathBuf};

use provost_run::outcome::Class;

use crate::fault::Fault;

/// A path that may be a link, or lie behind one.
#[derive(Clone, Debug)]
pub(crate) struct LinkedPath {
    shown: String,
    path: PathBuf,
    /// Where it led when the workspace was opened.
    real: PathBuf,
}

/// Why a path cannot be used.
#[derive(Debug)]
pub(crate) enum LinkError {
    /// It leads elsewhere than when the workspace was opened.
    Moved,
    Unreachable(io::Error),
}

impl LinkedPath {
    /// The path `shown` below the workspace at `base`.
    pub(crate) fn open(base: &Path, shown: &str) -> Self {
        let path = base.join(shown);
        Self {
            shown: shown.to_owned(),
            real: resolved(base, shown),
            path,
        }
    }

    /// The refusal of a call, where it leads elsewhere. `what` says what stands there.
    pub(crate) fn drift(&self, what: &str) -> Fault {
        let message = format!(
            "the {what} `{}` leads elsewhere than when the workspace was opened; look at it, and \
             plan again",
            self.shown
        );
        Fault::no_effect(Class::Drift, message)
    }

    /// The path by its name, links not followed.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Where it leads now, wherever that is.
    pub(crate) fn current(&self) -> io::Result<PathBuf> {
        std::fs::canonicalize(&self.path)
    }

    /// Where it leads, if that is where it led at first.
    pub(crate) fn locate(&self) -> Result<PathBuf, LinkError> {
        let real = self.current().map_err(LinkError::Unreachable)?;
        (real == self.real).then_some(real).ok_or(LinkError::Moved)
    }

    /// Where `shown` really is, if a link leads there: what the name alone does not say.
    pub(crate) fn target(base: &Path, shown: &str) -> Option<String> {
        let base = std::fs::canonicalize(base).ok()?;
        let real = std::fs::canonicalize(base.join(shown)).ok()?;
        let shown_target = real.strip_prefix(&base).unwrap_or(&real);
        (real != by_name(&base, shown)).then(|| shown_target.display().to_string())
    }
}

/// Where a path leads; what is not there yet stands below what is.
fn resolved(base: &Path, shown: &str) -> PathBuf {
    let path = by_name(base, shown);
    let mut missing = Vec::new();
    let mut known = path.as_path();
    loop {
        if let Ok(mut real) = std::fs::canonicalize(known) {
            real.extend(missing.iter().rev());
            return real;
        }
        let (Some(above), Some(name)) = (known.parent(), known.file_name()) else {
            return path;
        };
        missing.push(name);
        known = above;
    }
}

/// The path with `.` and `..` taken out by name.
fn by_name(base: &Path, shown: &str) -> PathBuf {
    let mut plain = base.to_owned();
    for part in Path::new(shown).components() {
        match part {
            Component::ParentDir => {
                plain.pop();
            }
            Component::CurDir => {}
            part => plain.push(part),
        }
    }
    plain
}
