//! A report as JUnit XML, which every CI reads: one test case a case, one suite a planner.

use provost_engine::eval::{CaseReport, Outcome, Report};
use quick_junit::{NonSuccessKind, Property, TestCase, TestCaseStatus, TestSuite};

use super::counts;
use super::markdown::fault;
use crate::failure::Failure;

/// The text of the file.
pub fn text(report: &Report) -> Result<String, Failure> {
    let mut written = quick_junit::Report::new(report.set.as_str());
    for planner in &report.planners {
        let mut suite = TestSuite::new(planner.name.as_str());
        let cases = planner.cases.iter().map(|case| test_case(report, case));
        suite.add_test_cases(cases);
        written.add_test_suite(suite);
    }
    written
        .to_string()
        .map_err(|error| Failure::usage(format!("junit.xml cannot be written: {error}")))
}

fn test_case(report: &Report, case: &CaseReport) -> TestCase {
    let first = case
        .repeats
        .iter()
        .find(|repeat| repeat.outcome == case.outcome());
    let said = first.and_then(fault).unwrap_or_default();
    let status = match case.outcome() {
        Outcome::Pass => TestCaseStatus::success(),
        Outcome::NotJudged => {
            let mut status = TestCaseStatus::skipped();
            status.set_message(said);
            status
        }
        Outcome::Fail => {
            let mut status = TestCaseStatus::non_success(NonSuccessKind::Failure);
            status.set_message(format!("{said} ({} repeats passed)", counts(case)));
            if let Some(why) = first.and_then(|repeat| repeat.why.as_ref()) {
                status.set_type(why.guilty.as_str());
                status.set_description(format!("{}: {}", why.guilty, why.sentence));
            }
            status
        }
    };
    let mut written = TestCase::new(case.id.as_str(), status);
    written.set_classname(report.set.as_str());
    // Why in both forms: some readers show the output of a case alone, and programs look for names.
    let mut said = Vec::new();
    if case.red {
        written.add_property(Property::new("known_to_fail", "true"));
        said.push(match case.outcome() {
            Outcome::Pass => "known to fail: `red: true`, so it passes as long as it fails",
            Outcome::Fail => "known to fail, and it did not: delete `red: true`",
            Outcome::NotJudged => "known to fail: `red: true`",
        });
    }
    said.extend(case.note.as_deref());
    if !said.is_empty() {
        written.set_system_out(said.join("\n"));
    }
    let times = case
        .repeats
        .iter()
        .filter_map(|repeat| repeat.metrics.as_ref());
    let times = times.map(|metrics| metrics.elapsed_ms.unsigned_abs()).sum();
    written.set_time(std::time::Duration::from_millis(times));
    written
}
