//! `sandbox` of a tool that is a program: which files it may reach.
//!
//! Owns its keys, and the look whether a folder of it holds what governs the workspace. Puts no
//! rule on anything. INVARIANT: what it allows stands in the digest of every operation of the tool.

use std::path::Path;

use provost_plan::node::{Fields, Node};
use provost_plan::source::{Span, Spanned};
use provost_wire::process::{Sandbox, SandboxLevel};
use serde_json::Value;

use super::bad_setting;
use crate::protected_paths::ProtectedPaths;

/// What the operator allows, as it is written.
#[derive(Clone, Debug)]
pub(crate) struct SandboxSettings {
    reads: Vec<Spanned<String>>,
    writes: Vec<Spanned<String>>,
    best_effort: bool,
    /// For digests.
    pub(crate) value: Value,
}

impl SandboxSettings {
    /// `sandbox = { reads = ["src"], writes = ["out"], level = "best-effort" }`
    pub(crate) fn read(fields: &mut Fields<'_, '_>) -> Option<Self> {
        let node = fields.node("sandbox")?;
        let value = Node::to_value(node);
        let mut own = Fields::new("the sandbox", node, fields.diagnostics())?;
        let [reads, writes] = ["reads", "writes"].map(|name| own.texts(name));
        let words = [("required", false), ("best-effort", true)];
        let best_effort = own.choice("level", &words).unwrap_or(false);
        for path in reads
            .iter()
            .chain(&writes)
            .filter(|path| path.value.is_empty())
        {
            bad_setting(&mut own, path.span, "a folder of the sandbox has a name");
        }
        own.finish();
        Some(Self {
            reads,
            writes,
            best_effort,
            value,
        })
    }

    /// The rules; a path is below `base` unless it is absolute, and `own` may be read.
    pub(crate) fn rules(&self, base: &Path, own: Option<&Path>) -> Sandbox {
        let below = |path: &Spanned<String>| base.join(&path.value);
        Sandbox {
            reads: self
                .reads
                .iter()
                .map(below)
                .chain(own.map(Path::to_owned))
                .collect(),
            writes: self.writes.iter().map(below).collect(),
            best_effort: self.best_effort,
        }
    }

    /// Which protected thing it would let the program reach, and where that stands.
    pub(crate) fn reached(&self, protected: &ProtectedPaths) -> Option<(Span, String)> {
        let mut paths = self.reads.iter().chain(&self.writes);
        paths.find_map(|path| {
            let real = std::fs::canonicalize(protected.base().join(&path.value)).ok()?;
            Some((path.span, protected.overlapping(&real)?))
        })
    }

    /// What it allows, and what this kernel makes of it, in words.
    pub(crate) fn words(&self) -> String {
        let list = |paths: &[Spanned<String>]| {
            let names = paths.iter().map(|path| format!("`{}`", path.value));
            let names: Vec<String> = names.collect();
            match names.is_empty() {
                true => "nothing".to_owned(),
                false => names.join(", "),
            }
        };
        let kernel = match Sandbox::kernel_level() {
            SandboxLevel::Full => "this kernel holds it",
            SandboxLevel::Partial => "this kernel holds it in part",
            SandboxLevel::None => "this kernel does not hold it",
        };
        let (reads, writes) = (list(&self.reads), list(&self.writes));
        format!("reads {reads}, writes {writes} beside what programs need; {kernel}")
    }
}

/// The media type of evidence that a program in a sandbox gave, with how much of it was held.
pub(crate) fn media_with_sandbox(media: &str, level: Option<SandboxLevel>) -> String {
    match level {
        Some(level) => format!("{media}; sandbox={}", level.word()),
        None => media.to_owned(),
    }
}
