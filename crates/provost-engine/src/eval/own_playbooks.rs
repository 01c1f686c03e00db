//! The playbooks that a case brings along, beside those of the workspace that its set stands in.
//!
//! Owns the comparison, and which workspace that is. A case is judged by its own copy: what it
//! says here changes no verdict. INVARIANT: where a copy differs, the case says which file it is
//! judged by, so that nobody mends another one and wonders.

use std::path::{Path, PathBuf};

use super::set::Case;
use crate::workspace::CONFIG_FILE;

/// Where a case has its playbooks, wherever they stood.
const PLAYBOOKS_DIR: &str = "playbooks";

/// What is said of a case whose playbooks differ from those of the workspace around its set.
pub(super) fn note(case: &Case, set_dir: &Path) -> Option<String> {
    // Why only then: every other case is judged in a copy of the workspace that its set names.
    case.world.recorded.as_ref()?;
    let around = set_dir.ancestors();
    let around = around
        .into_iter()
        .find(|dir| dir.join(CONFIG_FILE).is_file())?;
    if around == case.workspace {
        return None;
    }
    let mut differing = Vec::new();
    for path in files(&case.workspace.join(PLAYBOOKS_DIR)) {
        let name = path.file_name()?;
        let today = around.join(PLAYBOOKS_DIR).join(name);
        if std::fs::read(&path).ok() != std::fs::read(&today).ok() {
            let shown = path.strip_prefix(set_dir).unwrap_or(&path);
            differing.push(format!("`{}`", shown.display()));
        }
    }
    if differing.is_empty() {
        return None;
    }
    let (is, its) = match differing.len() {
        1 => ("differs", "this copy"),
        _ => ("differ", "these copies"),
    };
    let copies = differing.join(", ");
    Some(format!(
        "{copies} {is} from the playbook of the workspace: the case is judged by {its}"
    ))
}

/// The files of a folder, by name.
fn files(dir: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(dir).into_iter().flatten();
    let paths = entries.filter_map(|entry| Some(entry.ok()?.path()));
    let mut all: Vec<PathBuf> = paths.filter(|path| path.is_file()).collect();
    all.sort();
    all
}
