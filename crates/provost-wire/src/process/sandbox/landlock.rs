//! The rules of a sandbox as Landlock has them.
//!
//! Owns what any program may reach, and what the kernel says of the rules. Starts nothing, and
//! decides nothing about rules that are enforced in part. INVARIANT: the rules are the thread's,
//! for ever.

use std::path::Path;

use landlock::{
    ABI, Access as _, AccessFs, BitFlags, PathBeneath, PathFd, PathFdError, RestrictionStatus,
    Ruleset, RulesetAttr as _, RulesetCreatedAttr as _, RulesetError, RulesetStatus,
    path_beneath_rules,
};

use super::{Sandbox, SandboxError, SandboxLevel};

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

impl From<RulesetError> for SandboxError {
    fn from(error: RulesetError) -> Self {
        Self::Rules(crate::http::innermost(&error))
    }
}

/// Puts the rules of a sandbox on this thread, for ever.
pub(super) fn enter(sandbox: &Sandbox) -> Result<SandboxLevel, SandboxError> {
    let read: BitFlags<AccessFs> = AccessFs::from_read(RULES);
    let all: BitFlags<AccessFs> = AccessFs::from_all(RULES);
    let mut rules = Ruleset::default()
        .handle_access(all)?
        .create()?
        .add_rules(path_beneath_rules(SYSTEM, read))?
        .add_rules(path_beneath_rules([NOWHERE], all))?;
    for (paths, access) in [(&sandbox.reads, read), (&sandbox.writes, all)] {
        for path in paths {
            rules = rules.add_rule(rule(path, access)?)?;
        }
    }
    Ok(sandbox_level(&rules.restrict_self()?))
}

fn sandbox_level(status: &RestrictionStatus) -> SandboxLevel {
    match status.ruleset {
        RulesetStatus::FullyEnforced => SandboxLevel::Full,
        RulesetStatus::PartiallyEnforced => SandboxLevel::Partial,
        RulesetStatus::NotEnforced => SandboxLevel::None,
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
        PathFd::new(path).map_err(|error: PathFdError| no_path(crate::http::innermost(&error)))?;
    let access = match is_dir {
        true => access,
        false => access & AccessFs::from_file(RULES),
    };
    Ok(PathBeneath::new(opened, access))
}
