//! What people's statements are held to, read without the rest of a workspace.
//!
//! Owns the look at `require` of `[approvals]`, at the people and at whether the workspace is solo.
//! INVARIANT: it needs neither tools nor policies to be in order.

use std::path::Path;

use provost_plan::node::{Fields, parse_toml};
use provost_plan::policy::{People, SOLO_FILE};

use super::config::read_approvals;
use super::error::Collector;
use super::rules::PEOPLE_FILE;
use super::{CONFIG_FILE, POLICIES_DIR, WorkspaceError, files};
use crate::people::RequiredCredential;

/// What statements are held to.
#[derive(Clone, Debug, Default)]
pub struct StatementSettings {
    /// The people and their keys.
    pub people: People,
    /// What they say needs to count.
    pub required: RequiredCredential,
    /// Whether one person may be everybody.
    pub solo: bool,
}

/// Reads what the statements of the workspace at `root` are held to.
///
/// # Errors
/// [`WorkspaceError`] if provost.toml or the people cannot be read.
pub fn statement_settings(root: &Path) -> Result<StatementSettings, WorkspaceError> {
    let mut found = Collector::new();
    let mut settings = StatementSettings {
        solo: root.join(POLICIES_DIR).join(SOLO_FILE).is_file(),
        ..StatementSettings::default()
    };
    if let Some(source) = files::required(root, CONFIG_FILE, &mut found) {
        let mut diagnostics = Vec::new();
        match parse_toml(&source.text) {
            Ok(node) => {
                let fields = Fields::new("provost.toml", &node, &mut diagnostics);
                let approvals = fields.and_then(|mut fields| fields.node("approvals"));
                let read = approvals.map(|node| read_approvals(node, &mut diagnostics));
                settings.required = read.unwrap_or_default().1;
            }
            Err(diagnostic) => diagnostics.push(*diagnostic),
        }
        found.add(&source, diagnostics);
    }
    if let Some(source) = files::optional(root, PEOPLE_FILE, &mut found) {
        match People::read(&source) {
            Ok(people) => settings.people = people,
            Err(diagnostics) => found.add(&source, diagnostics),
        }
    }
    if found.is_empty() {
        Ok(settings)
    } else {
        Err(found.refused())
    }
}
