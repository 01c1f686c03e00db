//! `eval`: the cases of a set, each driven over doubles in a scratch copy, graded and reported.

use std::path::{Path, PathBuf};

use clap::Args;
use provost_engine::eval::{
    EvalError, EvalSet, Outcome, REPEATS_DIR, REPORT_FILE, RepeatReport, Report, SetError,
    SuiteOptions, SuiteWatcher, read_set, regrade, run_suite,
};
use serde_json::json;

use crate::drive::waited_for;
use crate::eval_report::{html, junit, markdown};
use crate::failure::{Exit, Failure};
use crate::output;
use crate::screen::page::{Page, TextStyle};
use crate::user;
use crate::workspace_path::WorkspacePath;

/// Arguments of `eval`.
#[derive(Debug, Args)]
#[command(
    after_help = "Exits 0 if every gate holds, 1 if one does not, 2 if the set cannot be used, and \
                  3 if no gate fails but something was not judged."
)]
pub struct EvalArgs {
    /// eval set, a YAML file
    #[arg(value_name = "SET")]
    set: PathBuf,
    /// planner that is judged, by its name in the set [default: the first]
    #[arg(long, value_name = "NAME")]
    planner: Option<String>,
    /// planner to compare it with
    #[arg(long, value_name = "NAME")]
    against: Option<String>,
    /// report.json of an earlier eval to compare with
    #[arg(long, value_name = "FILE", conflicts_with = "against")]
    baseline: Option<PathBuf>,
    /// grade the journals of the report in this folder again; nothing runs, nobody is asked
    #[arg(long, value_name = "DIR",
          conflicts_with_all = ["planner", "against", "repeats", "only"])]
    regrade: Option<PathBuf>,
    /// repeats of each case [default: those of the set]
    #[arg(short = 'k', long = "repeats", value_name = "N",
          value_parser = clap::value_parser!(u64).range(1..=1000))]
    repeats: Option<u64>,
    /// only these cases; `*` at the end stands for anything
    #[arg(long, value_name = "CASE")]
    only: Vec<String>,
    /// folder for the report and the journals of all repeats [default: nothing is kept]
    #[arg(long, value_name = "DIR")]
    report: Option<PathBuf>,
    /// repeats that need not be judged
    #[arg(long, value_name = "N", default_value_t = 0)]
    allow_misses: u64,
    /// show arguments and answers in the report
    #[arg(long)]
    content: bool,
    /// print the report as one JSON object
    #[arg(long)]
    json: bool,
}

/// Does it.
pub fn run(verb: &EvalArgs, _: &WorkspacePath) -> Result<Exit, Failure> {
    let set = read_set(&verb.set)?;
    let report = match &verb.regrade {
        Some(dir) => regrade(&set, dir, verb.baseline.as_deref())?,
        None => ran(verb, &set)?,
    };
    let shown = match verb.content {
        true => report,
        false => without_content(report),
    };
    if let Some(dir) = &verb.report {
        // Why: of a report that is graded again, the folder is not there yet.
        let made = std::fs::create_dir_all(dir);
        made.map_err(|error| {
            let reason = crate::document::reason(&error);
            Failure::usage(format!("{} cannot be made: {reason}", dir.display()))
        })?;
        write(dir, &shown)?;
    }
    if verb.json {
        output::json(&json!(shown));
    } else {
        output::data(&markdown::page(&shown));
    }
    Ok(exit(&shown, verb.allow_misses))
}

/// Runs the set in a folder that is kept if the report is.
fn ran(verb: &EvalArgs, set: &EvalSet) -> Result<Report, Failure> {
    let kept = KeptDir::of(verb.report.as_deref())?;
    let options = SuiteOptions {
        planner: verb.planner.clone(),
        against: verb.against.clone(),
        baseline: verb.baseline.clone(),
        repeats: verb.repeats,
        only: verb.only.clone(),
        dir: kept.path.clone(),
        user: user::user(),
    };
    judge(set, &options)
}

fn judge(set: &EvalSet, options: &SuiteOptions) -> Result<Report, Failure> {
    Ok(waited_for(run_suite(set, options, &mut Progress))??)
}

/// Why in this order: a gate that fails is not hidden by a case that nobody judged.
fn exit(report: &Report, allow_misses: u64) -> Exit {
    if !report.holds() {
        return Exit::Failed;
    }
    match report.not_judged() > allow_misses {
        true => Exit::NotJudged,
        false => Exit::Done,
    }
}

/// Says on stderr how far it is.
struct Progress;

impl SuiteWatcher for Progress {
    fn judged(&mut self, planner: &str, case: &str, repeat: &RepeatReport) {
        let mut page = Page::new();
        let (style, word) = match repeat.outcome {
            Outcome::Pass => (TextStyle::Good, "pass"),
            Outcome::Fail => (TextStyle::Bad, "fail"),
            Outcome::NotJudged => (TextStyle::Warn, "not judged"),
        };
        page.put(style, word)
            .text(&format!("  {case}"))
            .faint(&format!("  {planner}, repeat {}", repeat.n));
        if let Some(fault) = markdown::fault(repeat) {
            page.text(&format!("  {fault}"));
        }
        page.end();
        output::note(&page.finish());
    }
}

/// Takes out what may quote somebody: faults quote arguments, and sentences messages.
fn without_content(mut report: Report) -> Report {
    let repeats = report
        .planners
        .iter_mut()
        .flat_map(|planner| &mut planner.cases)
        .flat_map(|case| &mut case.repeats);
    for grader in repeats.flat_map(|repeat| &mut repeat.graders) {
        if let Some(fault) = &mut grader.fault {
            // Why the words before: which calls are missing is told, and with what is not.
            *fault = without_values(fault);
        }
    }
    report
}

/// A fault with the JSON in it left out.
fn without_values(fault: &str) -> String {
    let mut kept = String::new();
    let (mut depth, mut in_text, mut escaped) = (0_usize, false, false);
    for c in fault.chars() {
        if depth > 0 && in_text {
            in_text = escaped || c != '"';
            escaped = !escaped && c == '\\';
            continue;
        }
        match c {
            '"' if depth > 0 => in_text = true,
            '{' if !kept.ends_with('$') => {
                if depth == 0 {
                    kept.push('…');
                }
                depth += 1;
            }
            '}' if depth > 0 => depth -= 1,
            _ if depth > 0 => {}
            _ => kept.push(c),
        }
    }
    kept
}

fn write(dir: &Path, report: &Report) -> Result<(), Failure> {
    let text = serde_json::to_string_pretty(&json!(report)).unwrap_or_default();
    let files = [
        (REPORT_FILE, text + "\n"),
        ("junit.xml", junit::text(report)?),
        ("report.html", html::page(report)),
        ("report.md", markdown::page(report)),
    ];
    for (name, text) in files {
        let path = dir.join(name);
        std::fs::write(&path, text).map_err(|error| {
            let reason = crate::document::reason(&error);
            Failure::usage(format!("{} cannot be written: {reason}", path.display()))
        })?;
    }
    Ok(())
}

/// Where the repeats run: the folder of the report, or one that is gone in the end.
struct KeptDir {
    path: PathBuf,
    is_kept: bool,
}

impl KeptDir {
    fn of(report: Option<&Path>) -> Result<Self, Failure> {
        let path = match report {
            Some(dir) => dir.join(REPEATS_DIR),
            None => std::env::temp_dir().join(format!("provost-eval-{}", std::process::id())),
        };
        let mut builder = std::fs::DirBuilder::new();
        // Why only that of a report may be there: what somebody else made is not ours to fill.
        builder.recursive(report.is_some());
        std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
        builder.create(&path).map_err(|error| {
            let reason = crate::document::reason(&error);
            Failure::usage(format!("{} cannot be written: {reason}", path.display()))
        })?;
        let path = path.canonicalize().unwrap_or(path);
        Ok(Self {
            path,
            is_kept: report.is_some(),
        })
    }
}

impl Drop for KeptDir {
    fn drop(&mut self) {
        if !self.is_kept {
            // Why ignored: what is left lies where the system clears up.
            let _ = std::fs::remove_dir_all(&self.path);
        }
    }
}

impl From<SetError> for Failure {
    fn from(error: SetError) -> Self {
        let failure = Self::usage(error.to_string());
        match error {
            SetError::NotRead { .. } => failure.hint("name a file such as evals/refunds.yaml"),
            SetError::Refused { file, diagnostics } => failure
                .findings(&file, &diagnostics)
                .hint("docs/reference/eval-set.md has every field"),
        }
    }
}

impl From<EvalError> for Failure {
    fn from(error: EvalError) -> Self {
        let hint = match &error {
            EvalError::NoPlanner { known, .. } if known.is_empty() => {
                Some("name planners under `planners`".to_owned())
            }
            EvalError::NoPlanner { known, .. } => Some(format!("it names {}", known.join(", "))),
            EvalError::NoWorkspace { .. } => {
                Some("`workspace` is a folder, from where the set stands".to_owned())
            }
            EvalError::NoReport { .. } => Some(
                "name what `--report` wrote: its report.json, or for `--regrade` its folder"
                    .to_owned(),
            ),
            EvalError::NoCase(_) | EvalError::NotWritable { .. } => None,
        };
        Self::usage(error.to_string()).maybe_hint(hint.as_deref())
    }
}

#[cfg(test)]
mod tests {
    use super::without_values;

    #[test]
    fn values_are_left_out_of_faults() {
        let fault = r#"missing: a.b {"x":{"y":"}\""},"z":1}; took place besides: c.d {"k":"v"}"#;
        let shown = without_values(fault);
        assert_eq!(shown, "missing: a.b …; took place besides: c.d …");
        assert_eq!(
            without_values("`${ run.id }` does not hold"),
            "`${ run.id }` does not hold"
        );
    }
}
