//! `policy`: what the policies come to over all tools, and whether they say what somebody expects.

use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};
use provost_engine::workspace::{POLICIES_DIR, Workspace};
use provost_plan::diagnostic::{Diagnostic, Severity};
use provost_plan::policy::{
    CaseResult, Cases, Decision, OperationVerdicts, RunAction, Survey, Verdict,
};
use provost_plan::render::{self, Style};
use provost_plan::source::Source;
use serde_json::{Map, Value, json};

use crate::document;
use crate::failure::{Exit, Failure};
use crate::output;
use crate::screen::page::{Cell, Page, TextStyle};
use crate::screen::words::count;
use crate::workspace_path::WorkspacePath;

/// Where cases stand, in a workspace.
const TESTS_DIR: &str = "tests";

/// Arguments of `policy`.
#[derive(Debug, Args)]
pub struct PolicyArgs {
    #[command(subcommand)]
    verb: PolicyVerb,
}

#[derive(Debug, Subcommand)]
enum PolicyVerb {
    /// show the decision for every tool; find unused rules
    Check {
        /// treat warnings as errors
        #[arg(long)]
        deny_warnings: bool,
        /// print one JSON object
        #[arg(long)]
        json: bool,
    },
    /// compare decisions with expected decisions in test cases
    Test {
        /// case files [default: policies/tests]
        #[arg(value_name = "FILE")]
        files: Vec<PathBuf>,
        /// print one JSON object
        #[arg(long)]
        json: bool,
    },
}

/// Does it.
pub fn run(verb: &PolicyArgs, place: &WorkspacePath) -> Result<Exit, Failure> {
    let workspace = place.unlocked()?;
    match &verb.verb {
        PolicyVerb::Check {
            deny_warnings,
            json,
        } => Ok(check(&workspace, *deny_warnings, *json)),
        PolicyVerb::Test { files, json } => test(&workspace, files, *json),
    }
}

fn check(workspace: &Workspace, deny_warnings: bool, json: bool) -> Exit {
    let mut survey = workspace.policy().survey(workspace.user());
    survey.findings.extend(super::check::around(workspace));
    let least = match deny_warnings {
        true => Severity::Warning,
        false => Severity::Error,
    };
    let mut findings = survey.findings.iter();
    let fails = findings.any(|(_, finding)| finding.severity() >= least);
    let mut not_checked = workspace.not_checked().to_vec();
    not_checked.push("calls with particular arguments: `provost policy test` does that".to_owned());
    if json {
        let findings = grouped(&survey.findings);
        let findings = findings
            .iter()
            .map(|(source, list)| render::to_json(source, list));
        output::json(&json!({
            "schema": "provost/policy-check/v1",
            "ok": !fails,
            "operations": survey.operations.iter().map(outlook_json).collect::<Vec<_>>(),
            "statements": statements_json(&survey),
            "idle": survey.idle,
            "findings": findings
                .flat_map(|list| list.as_array().cloned().unwrap_or_default())
                .collect::<Vec<_>>(),
            "not_checked": not_checked,
        }));
    } else {
        output::data(&check_page(workspace, &survey, fails, &not_checked).finish());
    }
    if fails { Exit::Failed } else { Exit::Done }
}

/// Which policies decide what people may do to a run; in a solo workspace none does.
fn statements_json(survey: &Survey) -> Value {
    let of =
        |(action, policies): &(RunAction, Vec<String>)| (action.word().to_owned(), json!(policies));
    survey
        .statements
        .iter()
        .map(of)
        .collect::<Map<_, _>>()
        .into()
}

fn outlook_json(outlook: &OperationVerdicts) -> Value {
    json!({
        "operation": outlook.operation,
        "effect": outlook.effect,
        "trusted": outlook.trusted,
        "untrusted": outlook.untrusted,
    })
}

fn check_page(workspace: &Workspace, survey: &Survey, fails: bool, not_checked: &[String]) -> Page {
    let mut page = Page::new();
    for (source, list) in grouped(&survey.findings) {
        page.drawn(&render::render(source, &list, Style { color: true }));
    }
    let heads = [
        "tool",
        "effect",
        "decision",
        "policies",
        "with untrusted arguments",
    ];
    let mut rows = vec![heads.map(|head| Cell::new(TextStyle::Faint, head)).to_vec()];
    rows.extend(survey.operations.iter().map(row));
    page.table(0, &rows).end();
    let heads = ["action", "policies"];
    let mut rows = vec![heads.map(|head| Cell::new(TextStyle::Faint, head)).to_vec()];
    rows.extend(survey.statements.iter().map(|(action, policies)| {
        let word = Cell::new(TextStyle::Strong, action.word());
        vec![word, Cell::plain(policies.join(", "))]
    }));
    if survey.statements.is_empty() {
        let words = RunAction::ALL.map(RunAction::word).join(", ");
        page.line(&format!("{words}: any local user (solo.cedar)"));
    } else {
        page.table(0, &rows).end();
    }
    if !survey.idle.is_empty() {
        page.faint("policies that apply to no tool: ")
            .line(&survey.idle.join(", "));
    }
    let policies = workspace.policy().ids().count();
    let policies = match policies {
        1 => "1 policy".to_owned(),
        many => format!("{many} policies"),
    };
    let tools = count(survey.operations.len(), "tool");
    let found: Vec<Diagnostic> = survey.findings.iter().map(|(_, f)| f.clone()).collect();
    let tally = render::tally(&found);
    if fails {
        page.bad("not ok");
    } else {
        page.put(TextStyle::Good, "ok");
    }
    page.text(&format!(": {policies}, {tools}"));
    if !tally.is_empty() {
        page.text(&format!("; {tally}"));
    }
    page.end();
    super::check::not_checked(&mut page, not_checked);
    page
}

fn row(outlook: &OperationVerdicts) -> Vec<Cell> {
    let untrusted = if outlook.untrusted == outlook.trusted {
        Cell::new(TextStyle::Faint, "the same")
    } else {
        let verdict = &outlook.untrusted;
        let more: Vec<&str> = verdict
            .policies
            .iter()
            .filter(|id| !outlook.trusted.policies.contains(id))
            .map(String::as_str)
            .collect();
        Cell::plain(format!("{} ({})", word(verdict), more.join(", ")))
    };
    vec![
        Cell::new(TextStyle::Strong, outlook.operation.clone()),
        Cell::plain(outlook.effect.word()),
        Cell::new(look(outlook.trusted.decision), word(&outlook.trusted)),
        Cell::plain(reasons(&outlook.trusted)),
        untrusted,
    ]
}

fn look(decision: Decision) -> TextStyle {
    match decision {
        Decision::Permit => TextStyle::Good,
        Decision::Ask => TextStyle::Warn,
        Decision::Forbid => TextStyle::Bad,
    }
}

/// A verdict with what it hangs on.
fn word(verdict: &Verdict) -> String {
    match &verdict.condition {
        Some(condition) => format!("{}: {condition}", verdict.decision.word()),
        None => verdict.decision.word().to_owned(),
    }
}

fn reasons(verdict: &Verdict) -> String {
    match (verdict.policies.as_slice(), verdict.errors.as_slice()) {
        ([], []) => "nothing permits it".to_owned(),
        (ids, errors) => [ids, errors].concat().join(", "),
    }
}

fn grouped(findings: &[(Source, Diagnostic)]) -> Vec<(&Source, Vec<Diagnostic>)> {
    findings
        .chunk_by(|(a, _), (b, _)| a.name == b.name)
        .filter_map(|chunk| {
            let (source, _) = chunk.first()?;
            Some((source, chunk.iter().map(|(_, f)| f.clone()).collect()))
        })
        .collect()
}

fn test(workspace: &Workspace, files: &[PathBuf], json: bool) -> Result<Exit, Failure> {
    let files = if files.is_empty() {
        in_workspace(workspace)?
    } else {
        files.to_vec()
    };
    let mut judged: Vec<(String, Vec<CaseResult>)> = Vec::new();
    for file in files {
        let name = file
            .strip_prefix(workspace.root())
            .unwrap_or(&file)
            .to_string_lossy()
            .into_owned();
        let source = Source::new(name.as_str(), document::text(&file)?);
        let people = workspace.policy().people();
        let cases = Cases::read(&source, workspace.catalog(), people).map_err(|found| {
            Failure::usage(format!("the cases of `{name}` cannot be used"))
                .findings(&source, &found)
                .hint("docs/reference/policy.md describes the format")
        })?;
        judged.push((name, cases.judge(workspace.policy(), workspace.catalog())));
    }
    let all = || judged.iter().flat_map(|(_, list)| list);
    let failed = all().filter(|case| !case.passed()).count();
    if json {
        let cases = judged.iter().flat_map(|(file, list)| {
            list.iter().map(move |case| {
                json!({
                    "file": file,
                    "name": case.name,
                    "operation": case.operation,
                    "expected": case.expected,
                    "given": case.given,
                    "because": case.because,
                    "differs": case.differs,
                })
            })
        });
        output::json(&json!({
            "schema": "provost/policy-tested/v1",
            "ok": failed == 0,
            "cases": cases.collect::<Vec<_>>(),
        }));
    } else {
        output::data(&test_page(&judged, failed).finish());
    }
    Ok(if failed == 0 {
        Exit::Done
    } else {
        Exit::Failed
    })
}

/// The files of cases of a workspace.
fn in_workspace(workspace: &Workspace) -> Result<Vec<PathBuf>, Failure> {
    let dir = workspace.root().join(POLICIES_DIR).join(TESTS_DIR);
    let is_yaml = |path: &Path| {
        let end = path.extension().and_then(|end| end.to_str());
        matches!(end, Some("yaml" | "yml" | "json"))
    };
    let mut files: Vec<PathBuf> = std::fs::read_dir(&dir)
        .into_iter()
        .flatten()
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| is_yaml(path))
        .collect();
    files.sort();
    if files.is_empty() {
        return Err(
            Failure::usage(format!("there are no cases in {POLICIES_DIR}/{TESTS_DIR}/")).hint(
                "a case is a call and the verdict you expect; docs/reference/policy.md shows one",
            ),
        );
    }
    Ok(files)
}

fn test_page(judged: &[(String, Vec<CaseResult>)], failed: usize) -> Page {
    let mut page = Page::new();
    for (file, list) in judged {
        page.strong(file).end();
        let rows: Vec<Vec<Cell>> = list.iter().map(case_row).collect();
        page.table(2, &rows).end();
    }
    let all: usize = judged.iter().map(|(_, list)| list.len()).sum();
    if failed == 0 {
        page.put(TextStyle::Good, "ok");
        page.line(&format!(": {}", count(all, "case")));
    } else {
        page.bad("not ok");
        page.line(&format!(": {failed} of {} differ", count(all, "case")));
    }
    page
}

fn case_row(case: &CaseResult) -> Vec<Cell> {
    let (look, said) = if case.passed() {
        (TextStyle::Good, case.because.join(", "))
    } else {
        let because = case.because.join(", ");
        let because = if because.is_empty() {
            String::new()
        } else {
            format!(" ({because})")
        };
        (
            TextStyle::Bad,
            format!("{}{because}", case.differs.join("; ")),
        )
    };
    let mark = if case.passed() { "ok" } else { "differs" };
    vec![
        Cell::new(look, mark),
        Cell::plain(case.name.clone()),
        Cell::new(TextStyle::Faint, case.operation.clone()),
        Cell::plain(case.given.word()),
        Cell::new(TextStyle::Faint, said),
    ]
}
