//! A report as Markdown, for a terminal and for the summary of a CI job.

use std::fmt::Write as _;

use provost_engine::eval::{Outcome, RepeatReport, Report};
use provost_plan::render::escape;

use super::{counts, rate, reliability};

/// What is wrong with a repeat, in one line: the first grader that does not hold, or why it was not
/// judged.
pub fn fault(repeat: &RepeatReport) -> Option<String> {
    if repeat.reason.is_some() {
        return repeat.reason.clone();
    }
    let grader = repeat.graders.iter().find(|grader| !grader.held)?;
    let fault = grader.fault.as_deref().unwrap_or("does not hold");
    Some(format!("{}: {fault}", grader.name))
}

/// The word for an outcome.
pub fn word(outcome: Outcome) -> &'static str {
    match outcome {
        Outcome::Pass => "pass",
        Outcome::Fail => "fail",
        Outcome::NotJudged => "not judged",
    }
}

/// The page.
pub fn page(report: &Report) -> String {
    let mut text = format!("# Eval `{}`\n", cell(&report.set));
    for planner in &report.planners {
        let _ = writeln!(text, "\n## Planner `{}`\n", cell(&planner.name));
        let _ = writeln!(text, "{}.", rate(planner));
        if let Some(reliability) = reliability(planner) {
            let _ = writeln!(text, "{reliability}.");
        }
        if planner.not_judged() > 0 {
            let _ = writeln!(text, "{} not judged.", planner.not_judged());
        }
        text.push_str("\n| case | passed | |\n|---|---|---|\n");
        for case in &planner.cases {
            let first = case.repeats.iter().find_map(fault).unwrap_or_default();
            let known = if case.red { " (known to fail)" } else { "" };
            let _ = writeln!(
                text,
                "| {}{known} | {} {} | {} |",
                cell(&case.id),
                word(case.outcome()),
                counts(case),
                cell(&first)
            );
        }
    }
    notes(&mut text, report);
    compared(&mut text, report);
    text.push_str("\n## Gates\n\n| gate | | |\n|---|---|---|\n");
    for gate in &report.gates {
        let holds = if gate.held { "holds" } else { "fails" };
        let _ = writeln!(text, "| {} | {holds} | {} |", gate.name, cell(&gate.text));
    }
    text
}

/// What has to be known of cases beside what came of them; the same under each planner.
fn notes(text: &mut String, report: &Report) {
    let cases = report.planners.first().map(|planner| &planner.cases);
    let noted = cases.into_iter().flatten().filter_map(|case| {
        let note = case.note.as_ref()?;
        Some(format!("- {}: {}\n", cell(&case.id), cell(note)))
    });
    let noted: String = noted.collect();
    if !noted.is_empty() {
        let _ = write!(text, "\n## Notes\n\n{noted}");
    }
}

/// How the planner that is judged compares with another, or with an earlier report.
fn compared(text: &mut String, report: &Report) {
    let (Some(comparison), Some(judged)) = (&report.comparison, report.planners.first()) else {
        return;
    };
    let judged = cell(&judged.name);
    let against = match (&report.baseline, report.planners.get(1)) {
        (Some(baseline), _) => format!("{} of the baseline", cell(&baseline.planner)),
        (None, Some(against)) => cell(&against.name),
        (None, None) => return,
    };
    let _ = writeln!(
        text,
        "\n## `{judged}` against `{against}`\n\n{}.\n",
        comparison.sentence()
    );
    if let Some(baseline) = report
        .baseline
        .as_ref()
        .filter(|one| !one.left_out.is_empty())
    {
        let left_out = cell(&baseline.left_out.join(", "));
        let _ = writeln!(
            text,
            "Not compared, since one of the two lacks them: {left_out}.\n"
        );
    }
    let table = comparison.table;
    let _ = writeln!(
        text,
        "| every repeat passed under | cases |\n|---|---|\n| both | {} |\n\
         | `{judged}` alone | {} |\n| `{against}` alone | {} |\n| neither | {} |\n",
        table.both, table.first, table.second, table.neither
    );
    if let Some(p) = comparison.p {
        let _ = writeln!(text, "p = {p:.4}. {}.", comparison.method);
    }
}

/// A text inside a table: no line end, no bar, nothing that a terminal obeys.
fn cell(text: &str) -> String {
    escape(text).replace('|', "\\|").replace('\n', " ")
}
