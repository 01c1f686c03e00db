//! `check --convert`: a plan in another form, printed as a plan.
//!
//! Owns what is printed and the exit code. Reads no form and writes no file: the first is
//! `provost-plan`'s, and where the plan goes is the shell's.

use std::path::Path;

use provost_engine::workspace::Workspace;
use provost_plan::plan::foreign::{self, Conversion};
use provost_plan::source::Source;
use serde_json::{Value, json};

use crate::document;
use crate::failure::{Exit, Failure};
use crate::output;
use crate::screen::page::{Page, TextStyle};
use crate::screen::words::count;
use crate::workspace_path::quoted;

/// Prints the plan that the file at `path` means.
pub fn run(path: &Path, as_json: bool, workspace: &Workspace) -> Result<Exit, Failure> {
    let source = Source::new(path.to_string_lossy(), document::text(path)?);
    let Some(found) = foreign::convert(&source, workspace.catalog()) else {
        let message = format!("no steps of a plan are found in `{}`", source.name);
        return Err(Failure::failed(message)
            .hint("a plan in another form has a list of steps, calls or sentences"));
    };
    if as_json {
        let open: Vec<Value> = found
            .open
            .iter()
            .map(|open| json!({ "step": open.step, "tool": open.is_tool, "message": open.message }))
            .collect();
        output::json(&json!({
            "schema": "provost/convert/v1",
            "form": found.form,
            "parts": found.parts,
            "plan": found.plan,
            "open": open,
        }));
    } else {
        output::data(&found.plan);
        output::note(&summary(&found, &source.name).finish());
    }
    Ok(if found.open.is_empty() {
        Exit::Done
    } else {
        Exit::Failed
    })
}

/// What was read, what is left to settle and what to do next; beside the plan, on stderr.
fn summary(found: &Conversion, name: &str) -> Page {
    let mut page = Page::new();
    let steps = count(found.steps, "step");
    page.line(&format!("`{name}` is read as {}: {steps}", found.form));
    if found.open.is_empty() {
        page.put(TextStyle::Good, "nothing is open").end();
    } else {
        let open = count(found.open.len(), "part");
        page.put(TextStyle::Warn, &format!("{open} to settle"))
            .line(", marked `# open:` in the plan; it is refused until then:");
        for part in &found.open {
            let step = part.step.as_ref().map(|step| format!("{step}: "));
            page.line(&format!("  {}{}", step.unwrap_or_default(), part.message));
        }
    }
    let name = quoted(name);
    page.faint("next: ").line(&format!(
        "provost check {name} --convert > plan.yaml, read it, then provost check plan.yaml"
    ));
    page
}
