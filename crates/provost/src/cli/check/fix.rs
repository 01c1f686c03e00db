//! `check --fix`: writes what has one safe fix.
//!
//! Owns the file's replacement: whole or not at all, and only if nobody changed it meanwhile. What
//! is safe is judged in `provost-plan`.

use std::fs::OpenOptions;
use std::io::Write as _;
use std::path::Path;

use provost_engine::proposal::{CheckedFile, of_file, of_playbook};
use provost_engine::workspace::Workspace;
use provost_plan::fix::{FixAttempt, Repair, mend};
use provost_plan::source::Source;
use serde_json::{Value, json};

use crate::document::{Document, reason};
use crate::failure::Failure;
use crate::screen::page::{Page, TextStyle};

/// What was fixed in a file and what is left.
pub struct Outcome {
    fixed: Vec<FixAttempt>,
    left: Vec<FixAttempt>,
}

/// Fixes the plan or playbook in the file at `path`, and gives the plan as it is now.
pub fn run(
    path: &Path,
    document: Document,
    workspace: &Workspace,
) -> Result<(CheckedFile, Outcome), Failure> {
    type Judge = fn(&Workspace, Source) -> CheckedFile;
    let (source, judged): (Source, Judge) = match document {
        Document::Plan(source) => (source, of_file),
        Document::Playbook(source) => (source, of_playbook),
        Document::Bundle(..) => {
            return Err(
                Failure::usage("only a plan file or a playbook can be fixed")
                    .hint("a saved plan was reviewed as it is; fix the plan and save it again"),
            );
        }
    };
    let judge = |source: &Source| judged(workspace, source.clone()).diagnostics;
    let Repair {
        source: mended,
        fixed,
        left,
        ..
    } = mend(&source, judge);
    if !fixed.is_empty() {
        replace(path, &source.text, &mended.text)?;
    }
    let judged = judged(workspace, mended);
    Ok((judged, Outcome { fixed, left }))
}

/// Puts a text in the place of the one that was read.
fn replace(path: &Path, read: &str, text: &str) -> Result<(), Failure> {
    let failed = |error: std::io::Error| {
        let reason = reason(&error);
        Failure::usage(format!("`{}` cannot be written: {reason}", path.display()))
            .hint("name a plan in a directory that you may write to")
    };
    // Why: a link stays a link, and what it leads to is replaced.
    let target = path.canonicalize().map_err(failed)?;
    if std::fs::read(&target).map_err(failed)? != read.as_bytes() {
        let message = format!(
            "`{}` was changed meanwhile: nothing is written",
            path.display()
        );
        return Err(Failure::usage(message).hint("check it again"));
    }
    let mut name = std::ffi::OsString::from(".");
    name.push(target.file_name().unwrap_or_default());
    name.push(format!(".{}", std::process::id()));
    let beside = target.with_file_name(name);
    let written = write_new(&beside, &target, text).and_then(|()| {
        // Why a rename: a reader sees the old text or the new one, whatever happens here.
        std::fs::rename(&beside, &target)
    });
    if written.is_err() {
        let _ = std::fs::remove_file(&beside);
    }
    written.map_err(failed)
}

fn write_new(beside: &Path, target: &Path, text: &str) -> std::io::Result<()> {
    let mut file = OpenOptions::new()
        .write(true)
        .create_new(true)
        .open(beside)?;
    file.set_permissions(std::fs::metadata(target)?.permissions())?;
    file.write_all(text.as_bytes())?;
    file.sync_all()
}

impl Outcome {
    /// What was done, above the findings that remain.
    pub fn put(&self, page: &mut Page) {
        for (look, word, tried) in [
            (TextStyle::Good, "fixed", &self.fixed),
            (TextStyle::Warn, "not fixed", &self.left),
        ] {
            for one in tried {
                page.put(look, word).line(&format!(
                    ": {} at line {}: {}",
                    one.finding.code, one.line, one.title
                ));
            }
        }
        if !self.left.is_empty() {
            page.line("  what is not fixed would bring another error: mend it by hand");
        }
        if !self.fixed.is_empty() || !self.left.is_empty() {
            page.end();
        }
    }

    /// The same as data.
    pub fn to_json(&self) -> Value {
        let list = |tried: &[FixAttempt]| -> Value {
            tried
                .iter()
                .map(|one| {
                    json!({ "code": one.finding.code, "line": one.line,
                            "message": one.finding.message, "title": one.title })
                })
                .collect()
        };
        json!({ "fixed": list(&self.fixed), "not_fixed": list(&self.left) })
    }
}
