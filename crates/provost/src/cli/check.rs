//! `check`: the compiler's word on a plan, a saved plan or a playbook.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use provost_engine::proposal::{CheckedFile, of_bundle, of_file, of_playbook};
use provost_engine::workspace::Workspace;
use provost_plan::codes::Code;
use provost_plan::diagnostic::{Diagnostic, Severity};
use provost_plan::render::{self, Report, Style, to_sarif};
use provost_plan::source::Source;
use serde_json::{Value, json};

use crate::document::Document;
use crate::failure::{Exit, Failure};
use crate::output;
use crate::screen::page::{Page, TextStyle};
use crate::screen::plan;
use crate::workspace_path::WorkspacePath;

mod convert;
mod fix;

/// Arguments of `check`.
#[derive(Debug, Args)]
pub struct CheckArgs {
    /// plan, saved plan or playbook
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// output format
    #[arg(long, value_enum, default_value = "human")]
    format: Format,
    /// same as `--format json`
    #[arg(long)]
    json: bool,
    /// treat warnings as errors
    #[arg(long)]
    deny_warnings: bool,
    /// show errors only; the exit code is the same
    #[arg(long, conflicts_with = "convert")]
    errors_only: bool,
    /// apply safe fixes to the file, then check again
    #[arg(long)]
    fix: bool,
    /// convert a plan in another format, and list what it leaves open
    #[arg(long, conflicts_with_all = ["fix", "deny_warnings"])]
    convert: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Format {
    // Drawn over the text.
    Human,
    // One JSON object.
    Json,
    // A log in SARIF 2.1.0, for code hosts and editors.
    Sarif,
}

/// Does it.
pub fn run(verb: &CheckArgs, place: &WorkspacePath) -> Result<Exit, Failure> {
    if verb.convert {
        return convert::run(&verb.file, verb.json, &place.workspace()?);
    }
    let document = Document::read(&verb.file)?;
    let workspace = place.workspace()?;
    let (mut judged, outcome) = if verb.fix {
        let (judged, outcome) = fix::run(&verb.file, document, &workspace)?;
        (judged, Some(outcome))
    } else {
        (judge(&workspace, document), None)
    };
    let around = around(&workspace);
    let found = around.iter().map(|(_, finding)| finding);
    let found = judged.diagnostics.iter().chain(found);
    let worst = found.map(Diagnostic::severity).max();
    let fails = match worst {
        Some(Severity::Error) => true,
        Some(Severity::Warning) => verb.deny_warnings,
        Some(Severity::Note) | None => false,
    };
    let exit = if fails { Exit::Failed } else { Exit::Done };
    let hidden = if verb.errors_only {
        hide_all_but_errors(&mut judged)
    } else {
        String::new()
    };
    let format = if verb.json { Format::Json } else { verb.format };
    match format {
        Format::Human => {
            let mut page = Page::new();
            outcome.iter().for_each(|outcome| outcome.put(&mut page));
            if !verb.errors_only {
                warnings(&mut page, &workspace);
            }
            page.page(human(&judged, fails, &workspace));
            if !hidden.is_empty() {
                page.faint(&format!("not shown: {hidden}")).end();
            }
            output::data(&page.finish());
        }
        Format::Json => {
            let mut value = to_json(&judged, !fails);
            if let Value::Object(map) = &mut value {
                map.insert("workspace".to_owned(), warnings_json(&workspace));
                map.extend(outcome.map(|outcome| ("fixes".to_owned(), outcome.to_json())));
            }
            output::json(&value);
        }
        Format::Sarif => output::json(&to_sarif(&Report {
            source: &judged.source,
            diagnostics: &judged.diagnostics,
            not_checked: &judged.not_checked,
            version: env!("CARGO_PKG_VERSION"),
            exit_code: exit.code(),
        })),
    }
    Ok(exit)
}

/// Reads and checks a document.
pub fn judge(workspace: &Workspace, document: Document) -> CheckedFile {
    match document {
        Document::Plan(source) => convertible(of_file(workspace, source)),
        Document::Bundle(bundle, source) => of_bundle(workspace, &bundle, &source),
        Document::Playbook(source) => of_playbook(workspace, source),
    }
}

/// A plan in another form, with the command that writes it as one.
fn convertible(mut judged: CheckedFile) -> CheckedFile {
    let command = format!("provost check {} --convert", judged.source.name);
    for finding in &mut judged.diagnostics {
        if finding.code == Code::WrongSchema && !finding.notes.is_empty() {
            let hint = || format!("`{command}` writes it as a plan");
            finding.hint.get_or_insert_with(hint);
        }
    }
    judged
}

/// The failure of a plan that is not admissible.
pub fn refused(judged: &CheckedFile) -> Failure {
    let code = judged
        .diagnostics
        .iter()
        .find(|d| d.severity() == Severity::Error);
    let failure = Failure::failed(format!(
        "the plan `{}` is not admissible: {}",
        judged.source.name,
        render::tally(&judged.diagnostics)
    ))
    .findings(&judged.source, &judged.diagnostics);
    match code {
        Some(finding) => failure.hint(format!("`provost explain {}` tells more", finding.code)),
        None => failure,
    }
}

/// The findings as data.
pub fn findings_json(judged: &CheckedFile) -> Value {
    render::to_json(&judged.source, &judged.diagnostics)
}

/// The findings and the verdicts as data.
pub fn to_json(judged: &CheckedFile, ok: bool) -> Value {
    json!({
        "schema": "provost/check/v1",
        "file": &*judged.source.name,
        "ok": ok,
        "digest": judged.plan.as_ref().map(|plan| plan.record().digest),
        "findings": findings_json(judged),
        "verdicts": judged.plan.as_ref().map(|plan| {
            plan.record().steps.iter().map(|(id, step)| (id.clone(), json!(step.verdict)))
                .collect::<serde_json::Map<_, _>>()
        }),
        "not_checked": judged.not_checked,
    })
}

/// What is probably a mistake in the files of the workspace, and what its policies leave out.
pub fn around(workspace: &Workspace) -> Vec<(Source, Diagnostic)> {
    let unasked = workspace.policy().unasked(workspace.user());
    let warnings = workspace.warnings().iter().cloned();
    warnings.chain(unasked).collect()
}

/// The same, as data.
pub fn warnings_json(workspace: &Workspace) -> Value {
    let lists = around(workspace);
    let lists = lists
        .iter()
        .map(|(source, finding)| render::to_json(source, std::slice::from_ref(finding)));
    lists
        .flat_map(|list| list.as_array().cloned().unwrap_or_default())
        .collect()
}

/// Draws what is probably a mistake in the files of the workspace.
pub fn warnings(page: &mut Page, workspace: &Workspace) {
    for (source, finding) in around(workspace) {
        let style = Style { color: true };
        page.drawn(&render::render(
            &source,
            std::slice::from_ref(&finding),
            style,
        ));
    }
}

/// Takes warnings and notes out; how many they are, in words.
fn hide_all_but_errors(judged: &mut CheckedFile) -> String {
    let all = std::mem::take(&mut judged.diagnostics);
    let is_error = |finding: &Diagnostic| finding.severity() == Severity::Error;
    let (errors, others) = all.into_iter().partition(is_error);
    judged.diagnostics = errors;
    let others: Vec<Diagnostic> = others;
    render::tally(&others)
}

fn human(judged: &CheckedFile, fails: bool, workspace: &Workspace) -> Page {
    let mut page = Page::new();
    let drawn = render::render(&judged.source, &judged.diagnostics, Style { color: true });
    page.drawn(&drawn);
    let tally = render::tally(&judged.diagnostics);
    let name = &judged.source.name;
    match &judged.plan {
        Some(checked) if !fails => {
            page.put(TextStyle::Good, "ok")
                .text(&format!(": `{name}`, "));
            page.text(&plan::summary(checked, workspace.catalog()));
            if !tally.is_empty() {
                page.text(&format!("; {tally}"));
            }
            page.end();
        }
        _ => {
            page.bad("not ok").line(&format!(": `{name}`, {tally}"));
        }
    }
    not_checked(&mut page, &judged.not_checked);
    page
}

/// What was not looked at.
pub fn not_checked(page: &mut Page, list: &[String]) {
    if list.is_empty() {
        return;
    }
    page.faint("not checked:").end();
    for line in list {
        page.faint(&format!("  {line}")).end();
    }
}
