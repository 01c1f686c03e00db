//! Why a workspace cannot be opened, with every finding at its place.

use std::path::PathBuf;

use provost_plan::diagnostic::{Diagnostic, has_errors};
use provost_plan::render;
use provost_plan::source::Source;
use serde_json::Value;

use super::POLICIES_DIR;

/// Why there is no workspace to work in.
#[derive(Clone, Debug, thiserror::Error)]
pub enum WorkspaceError {
    /// No directory on the way up has a `provost.toml`.
    #[error("there is no workspace at or above {}", start.display())]
    NotFound {
        /// Where the search began.
        start: PathBuf,
    },
    /// The directory named is none.
    #[error("{} is no workspace: it has no provost.toml", root.display())]
    NoConfig {
        /// The directory.
        root: PathBuf,
    },
    /// Something in it cannot be used.
    #[error("the workspace cannot be used: {}", count(findings))]
    Refused {
        /// The findings, file by file.
        findings: Vec<Findings>,
    },
}

/// The findings in one file.
#[derive(Clone, Debug)]
pub struct Findings {
    /// The file.
    pub source: Source,
    /// What was found, in the order of the text.
    pub diagnostics: Vec<Diagnostic>,
}

impl Findings {
    /// The same as data, one by one.
    #[must_use]
    pub fn to_json(&self) -> Vec<Value> {
        match render::to_json(&self.source, &self.diagnostics) {
            Value::Array(list) => list,
            other => vec![other],
        }
    }
}

/// A tool that is left out because its entry has errors: nothing that needs it is driven.
#[derive(Clone, Debug)]
pub struct DamagedTool {
    /// The tool.
    pub tool: String,
    /// What is wrong with its entry.
    pub findings: Findings,
}

fn count(findings: &[Findings]) -> String {
    let files: Vec<_> = findings
        .iter()
        .map(|one| one.source.name.to_string())
        .collect();
    match findings
        .iter()
        .map(|one| one.diagnostics.len())
        .sum::<usize>()
    {
        1 => format!("one finding in {}", files.join(", ")),
        n => format!("{n} findings in {}", files.join(", ")),
    }
}

impl WorkspaceError {
    /// What to do about it, where there is something.
    #[must_use]
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            Self::NotFound { .. } | Self::NoConfig { .. } => {
                Some("make a workspace here, or name one elsewhere")
            }
            Self::Refused { .. } => None,
        }
    }

    /// The findings, file by file.
    #[must_use]
    pub fn findings(&self) -> &[Findings] {
        match self {
            Self::Refused { findings } => findings,
            Self::NotFound { .. } | Self::NoConfig { .. } => &[],
        }
    }
}

/// Findings as they come in. INVARIANT: one entry a file.
pub(super) struct Collector(Vec<Findings>);

impl Collector {
    pub(super) fn new() -> Self {
        Self(Vec::new())
    }

    pub(super) fn add(&mut self, source: &Source, diagnostics: Vec<Diagnostic>) {
        if diagnostics.is_empty() {
            return;
        }
        match self.0.iter_mut().find(|one| one.source.name == source.name) {
            Some(one) => one.diagnostics.extend(diagnostics),
            None => self.0.push(Findings {
                source: source.clone(),
                diagnostics,
            }),
        }
    }

    /// With what is wrong with the tools that are left out.
    pub(super) fn with(mut self, damaged: Vec<DamagedTool>) -> Self {
        for one in damaged {
            self.add(&one.findings.source, one.findings.diagnostics);
        }
        self
    }

    /// Whether nothing stands in the way.
    pub(super) fn is_empty(&self) -> bool {
        !self.0.iter().any(|one| has_errors(&one.diagnostics))
    }

    pub(super) fn refused(mut self) -> WorkspaceError {
        for one in &mut self.0 {
            one.diagnostics.sort_by_key(|diagnostic| diagnostic.span);
        }
        // Why last: a policy may be wrong only for want of a tool that is left out.
        let is_policy = |one: &Findings| one.source.name.starts_with(POLICIES_DIR);
        self.0.sort_by_key(is_policy);
        WorkspaceError::Refused { findings: self.0 }
    }
}
