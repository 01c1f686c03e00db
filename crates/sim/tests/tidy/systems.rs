//! Systems: what only Linux has stands behind its `cfg`; and what a crate includes lies inside it.

use crate::tree::File;

/// What another system does not have, as an import or a path names it.
const LINUX: [&str; 5] = [
    "landlock::",
    "prlimit",
    "DumpableBehavior",
    "inotify",
    "process::pidfd",
];
const GUARD: &str = "#[cfg(target_os = \"linux\")]";
/// How many lines before a use its guard may stand.
const NEAR: usize = 8;
/// A module that its parent guards as a whole.
const GUARDED: &str = "/sandbox/landlock.rs";

/// Uses of Linux alone without a guard near before them.
pub fn unguarded(file: &File) -> Vec<String> {
    if file.path.ends_with(GUARDED) {
        return Vec::new();
    }
    let lines: Vec<&str> = file.text.lines().collect();
    let is_use = |line: &str| {
        let code = line.split("//").next().unwrap_or_default();
        LINUX.iter().any(|name| code.contains(name))
    };
    let mut faults = Vec::new();
    for (at, line) in lines.iter().enumerate().filter(|(_, line)| is_use(line)) {
        let before = &lines[at.saturating_sub(NEAR)..at];
        if !before.iter().any(|line| line.contains(GUARD)) {
            faults.push(format!(
                "{}:{}: only Linux has `{}`: put `{GUARD}` before it",
                file.path,
                at + 1,
                line.trim()
            ));
        }
    }
    faults
}

/// Files that a crate that is published would miss: `include_str!` and its like that leave it.
pub fn included_from_outside(file: &File) -> Vec<String> {
    let mut depth = file.path.split('/').skip(2).count();
    depth = depth.saturating_sub(1);
    let mut faults = Vec::new();
    for (at, line) in file.text.lines().enumerate() {
        let Some((_, path)) = line.split_once("include_str!(\"") else {
            continue;
        };
        if path.matches("../").count() > depth {
            faults.push(format!(
                "{}:{}: a file from outside its crate",
                file.path,
                at + 1
            ));
        }
    }
    faults
}
