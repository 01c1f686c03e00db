//! `check`: the compiler's word on a plan, a saved plan or a playbook.

use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use provost_engine::engine::overreaches;
use provost_engine::proposal::{CheckedFile, of_bundle, of_file, of_playbook};
use provost_engine::workspace::{Findings, Workspace, WorkspaceError};
use provost_plan::codes::Code;
use provost_plan::diagnostic::{Diagnostic, Severity};
use provost_plan::render::{self, FileReport, Report, Style, to_sarif};
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
    /// plans, saved plans and playbooks [default: every playbook of the workspace]
    #[arg(value_name = "FILE")]
    files: Vec<PathBuf>,
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
    #[arg(long, short = 'q', visible_alias = "quiet", conflicts_with = "convert")]
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

/// A file that was checked.
struct Checked {
    judged: CheckedFile,
    /// What `--fix` did.
    outcome: Option<fix::Outcome>,
    fails: bool,
    /// What is not shown, in words.
    hidden: String,
}

impl Checked {
    fn report(&self) -> FileReport<'_> {
        FileReport {
            source: &self.judged.source,
            diagnostics: &self.judged.diagnostics,
            not_checked: &self.judged.not_checked,
        }
    }
}

impl CheckArgs {
    fn format(&self) -> Format {
        if self.json { Format::Json } else { self.format }
    }
}

/// Does it.
pub fn run(verb: &CheckArgs, place: &WorkspacePath) -> Result<Exit, Failure> {
    if verb.convert {
        let [file] = verb.files.as_slice() else {
            return Err(Failure::usage("`--convert` takes one FILE"));
        };
        return convert::run(file, verb.json, &place.workspace()?);
    }
    // Why read first: a file that is not there is told before what is wrong with the workspace.
    let read = |path: &PathBuf| Ok((path.clone(), Document::read(path)?));
    let mut documents = verb
        .files
        .iter()
        .map(read)
        .collect::<Result<Vec<_>, Failure>>()?;
    let workspace = match place.try_to_judge()? {
        Ok(workspace) => workspace,
        Err(error) => return unusable(verb, error),
    };
    if verb.files.is_empty() {
        let playbooks = playbook_files(&place.root()?);
        documents = playbooks.iter().map(read).collect::<Result<_, Failure>>()?;
    }
    let beside = around(&workspace);
    let around = beside.iter().map(|(_, finding)| finding.severity()).max();
    let fails = |worst: Option<Severity>| match worst {
        Some(Severity::Error) => true,
        Some(Severity::Warning) => verb.deny_warnings,
        Some(Severity::Note) | None => false,
    };
    let mut all = Vec::new();
    for (path, document) in documents {
        let (mut judged, outcome) = if verb.fix {
            let (judged, outcome) = fix::run(&path, document, &workspace)?;
            (judged, Some(outcome))
        } else {
            (judge(&workspace, document), None)
        };
        let worst = judged.diagnostics.iter().map(Diagnostic::severity).max();
        let hidden = match verb.errors_only {
            true => hide_all_but_errors(&mut judged),
            false => String::new(),
        };
        all.push(Checked {
            judged,
            outcome,
            fails: fails(worst.max(around)),
            hidden,
        });
    }
    let fails = all.iter().any(|one| one.fails) || fails(around);
    let exit = if fails { Exit::Failed } else { Exit::Done };
    match verb.format() {
        Format::Human => {
            output::data(&page(&all, verb.errors_only, &beside, &workspace).finish());
        }
        Format::Json => output::json(&all_to_json(&all, verb.files.len() == 1, &beside)),
        Format::Sarif => {
            let reports = all.iter().map(Checked::report).chain(errors(&beside));
            output::json(&sarif(&reports.collect::<Vec<_>>(), exit));
        }
    }
    Ok(exit)
}

/// Findings for which no file can be checked: in SARIF like all others, so that a code host shows
/// them at their place, else the failure of the command. Findings of playbooks alone are what was
/// asked about: exit 1.
fn unusable(verb: &CheckArgs, error: WorkspaceError) -> Result<Exit, Failure> {
    let findings = error.findings();
    // Why by the end of the name: of the files of a workspace, only playbooks are YAML.
    let of_playbook =
        |one: &Findings| one.source.name.ends_with(".yaml") || one.source.name.ends_with(".yml");
    let exit = match !findings.is_empty() && findings.iter().all(of_playbook) {
        true => Exit::Failed,
        false => Exit::Usage,
    };
    if verb.format() != Format::Sarif || findings.is_empty() {
        return Err(Failure::from(error).with_exit(exit));
    }
    let reports: Vec<FileReport<'_>> = findings
        .iter()
        .map(|one| FileReport {
            source: &one.source,
            diagnostics: &one.diagnostics,
            not_checked: &[],
        })
        .collect();
    output::json(&sarif(&reports, exit));
    Ok(exit)
}

/// The errors among findings around the files that were named.
fn errors(beside: &[(Source, Diagnostic)]) -> impl Iterator<Item = FileReport<'_>> {
    let errors = beside.iter();
    let errors = errors.filter(|(_, finding)| finding.severity() == Severity::Error);
    errors.map(|(source, finding)| FileReport {
        source,
        diagnostics: std::slice::from_ref(finding),
        not_checked: &[],
    })
}

/// The playbooks of a workspace, in the order of their names, as one writes them from here.
fn playbook_files(root: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(root.join("playbooks"));
    let paths = entries
        .into_iter()
        .flatten()
        .flatten()
        .map(|one| one.path());
    let ends = ["yaml", "yml", "json"];
    let is_one = |path: &PathBuf| {
        path.extension()
            .is_some_and(|end| ends.iter().any(|e| end == *e))
    };
    let mut paths: Vec<PathBuf> = paths.filter(is_one).collect();
    paths.sort();
    let here = std::env::current_dir().unwrap_or_default();
    let from_here = |path: PathBuf| match path.strip_prefix(&here) {
        Ok(short) => short.to_owned(),
        Err(_) => path,
    };
    paths.into_iter().map(from_here).collect()
}

fn page(
    all: &[Checked],
    errors_only: bool,
    beside: &[(Source, Diagnostic)],
    workspace: &Workspace,
) -> Page {
    let mut page = Page::new();
    let outcomes = all.iter().filter_map(|one| one.outcome.as_ref());
    outcomes.for_each(|outcome| outcome.put(&mut page));
    let least = match errors_only {
        true => Severity::Error,
        false => Severity::Note,
    };
    warnings(&mut page, beside, least);
    for (at, one) in all.iter().enumerate() {
        if at > 0 {
            page.line("");
        }
        page.page(human(&one.judged, one.fails, workspace));
        if !one.hidden.is_empty() {
            page.faint(&format!("not shown: {}", one.hidden)).end();
        }
    }
    if all.is_empty() {
        page.line("nothing to check: the workspace has no playbook, and no FILE is named");
    }
    page
}

/// One file as an object of its own, several as a list.
fn all_to_json(all: &[Checked], is_one: bool, beside: &[(Source, Diagnostic)]) -> Value {
    let of = |one: &Checked| {
        let mut value = to_json(&one.judged, !one.fails);
        if let (Value::Object(map), Some(outcome)) = (&mut value, &one.outcome) {
            map.insert("fixes".to_owned(), outcome.to_json());
        }
        value
    };
    let around = warnings_json(beside);
    match all {
        [one] if is_one => {
            let mut value = of(one);
            if let Value::Object(map) = &mut value {
                map.insert("workspace".to_owned(), around);
            }
            value
        }
        _ => json!({
            "schema": "provost/check-files/v1",
            "ok": !all.iter().any(|one| one.fails),
            "files": all.iter().map(of).collect::<Value>(),
            "workspace": around,
        }),
    }
}

fn sarif(files: &[FileReport<'_>], exit: Exit) -> Value {
    to_sarif(&Report {
        files,
        version: env!("CARGO_PKG_VERSION"),
        exit_code: exit.code(),
    })
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

/// What is wrong around a plan: tools that reach what they must not, what is probably a mistake in
/// the files of the workspace, and what its policies leave out.
pub fn around(workspace: &Workspace) -> Vec<(Source, Diagnostic)> {
    let unasked = workspace.policy().unasked(workspace.user());
    let warnings = workspace.warnings().iter().cloned();
    let found = overreaches(workspace).into_iter().chain(warnings);
    found.chain(unasked).collect()
}

/// The same, as data.
pub fn warnings_json(beside: &[(Source, Diagnostic)]) -> Value {
    let lists = beside
        .iter()
        .map(|(source, finding)| render::to_json(source, std::slice::from_ref(finding)));
    lists
        .flat_map(|list| list.as_array().cloned().unwrap_or_default())
        .collect()
}

/// Draws what is wrong around a plan, of this severity and above.
pub fn warnings(page: &mut Page, beside: &[(Source, Diagnostic)], least: Severity) {
    let shown = beside.iter();
    for (source, finding) in shown.filter(|(_, finding)| finding.severity() >= least) {
        let style = Style { color: true };
        page.drawn(&render::render(
            source,
            std::slice::from_ref(finding),
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
            let why = match tally.as_str() {
                "" => "its workspace has a finding",
                tally => tally,
            };
            page.bad("not ok").line(&format!(": `{name}`, {why}"));
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
