//! A report as JUnit XML, which every CI reads: one test case a case, one suite a planner.
//!
//! Owns the little of the format that is written. INVARIANT: what a case or a tool says is escaped,
//! and characters that XML 1.0 cannot hold are left out, so that every reader takes the file.

use std::fmt::Write as _;

use provost_engine::eval::{CaseReport, Outcome, Report};

use super::counts;
use super::markdown::fault;

/// The text of the file.
pub fn text(report: &Report) -> String {
    let all = report.planners.iter().flat_map(|planner| &planner.cases);
    let mut text = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n".to_owned();
    open(&mut text, "testsuites", &report.set, all);
    for planner in &report.planners {
        text += "    ";
        open(&mut text, "testsuite", &planner.name, planner.cases.iter());
        for case in &planner.cases {
            test_case(&mut text, report, case);
        }
        text += "    </testsuite>\n";
    }
    text + "</testsuites>\n"
}

/// A tag with a name and the counts of its cases.
fn open<'r>(
    text: &mut String,
    tag: &str,
    name: &str,
    cases: impl Iterator<Item = &'r CaseReport> + Clone,
) {
    let of = |outcome| {
        cases
            .clone()
            .filter(|case| case.outcome() == outcome)
            .count()
    };
    let (skipped, failures) = (of(Outcome::NotJudged), of(Outcome::Fail));
    let tests = cases.count();
    let name = escaped(name);
    // Why ignored: a String takes everything.
    let _ = writeln!(
        text,
        "<{tag} name=\"{name}\" tests=\"{tests}\" skipped=\"{skipped}\" failures=\"{failures}\" \
         errors=\"0\">"
    );
}

fn test_case(text: &mut String, report: &Report, case: &CaseReport) {
    let first = case
        .repeats
        .iter()
        .find(|repeat| repeat.outcome == case.outcome());
    let said = first.and_then(fault).unwrap_or_default();
    let times = case
        .repeats
        .iter()
        .filter_map(|repeat| repeat.metrics.as_ref());
    let ms: u64 = times.map(|metrics| metrics.elapsed_ms.unsigned_abs()).sum();
    let _ = write!(
        text,
        "        <testcase name=\"{}\" classname=\"{}\" time=\"{}.{:03}\"",
        escaped(&case.id),
        escaped(&report.set),
        ms / 1_000,
        ms % 1_000
    );
    match case.outcome() {
        Outcome::Pass => text.push_str("/>\n"),
        Outcome::NotJudged => {
            let said = escaped(&said);
            let _ = write!(text, ">\n            <skipped message=\"{said}\"/>\n");
            text.push_str("        </testcase>\n");
        }
        Outcome::Fail => {
            let message = escaped(&format!("{said} ({} repeats passed)", counts(case)));
            let _ = write!(text, ">\n            <failure message=\"{message}\"");
            match first.and_then(|repeat| repeat.why.as_ref()) {
                Some(why) => {
                    let guilty = escaped(why.guilty.as_str());
                    let sentence = escaped(&why.sentence);
                    let _ = writeln!(text, " type=\"{guilty}\">{guilty}: {sentence}</failure>");
                }
                None => text.push_str("/>\n"),
            }
            text.push_str("        </testcase>\n");
        }
    }
}

/// A text as it may stand in an attribute or between tags.
fn escaped(text: &str) -> String {
    let mut written = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => written.push_str("&amp;"),
            '<' => written.push_str("&lt;"),
            '>' => written.push_str("&gt;"),
            '"' => written.push_str("&quot;"),
            '\n' => written.push_str("&#10;"),
            '\t' => written.push_str("&#9;"),
            '\u{fffe}' | '\u{ffff}' => {}
            c if c.is_control() => {}
            c => written.push(c),
        }
    }
    written
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_xml_cannot_hold_is_escaped_or_left_out() {
        let text = "a \"b\" <c> & \u{1b}[1md\ne\tf\u{0}\u{ffff}ü";
        assert_eq!(
            escaped(text),
            "a &quot;b&quot; &lt;c&gt; &amp; [1md&#10;e&#9;fü"
        );
    }
}
