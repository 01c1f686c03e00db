//! A report as one page of HTML: no script, and nothing that asks for anything elsewhere.

use std::fmt::Write as _;

use provost_engine::eval::{CaseReport, Outcome, PlannerReport, RepeatReport, Report};

use super::markdown::{fault, word};
use super::{counts, rate, reliability};

const STYLE: &str = "\
body{font:15px/1.5 system-ui,sans-serif;max-width:70rem;margin:2rem auto;padding:0 1rem;\
color:#1b1b1b;background:#fff}\
table{border-collapse:collapse;width:100%}\
td,th{text-align:left;vertical-align:top;padding:.35rem .6rem;border-bottom:1px solid #ddd}\
.pass{color:#116329}.fail{color:#a40e26}.not_judged{color:#7a5200}\
code,pre{font:13px/1.4 ui-monospace,monospace}pre{white-space:pre-wrap}\
@media(prefers-color-scheme:dark){body{color:#e6e6e6;background:#151515}\
td,th{border-color:#3a3a3a}.pass{color:#57ab5a}.fail{color:#f47067}.not_judged{color:#c69026}}";

/// The page.
pub fn page(report: &Report) -> String {
    let mut text = format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta http-equiv=\"Content-Security-Policy\" \
         content=\"default-src 'none'; style-src 'unsafe-inline'\">\n\
         <meta name=\"viewport\" content=\"width=device-width\">\n\
         <title>Eval {name}</title>\n<style>{STYLE}</style>\n</head>\n<body>\n\
         <h1>Eval {name}</h1>\n",
        name = escaped(&report.set)
    );
    gates(&mut text, report);
    for planner in &report.planners {
        of_planner(&mut text, planner);
    }
    let _ = write!(
        text,
        "<p><small>provost {}, set <code>{}</code></small></p>\n</body>\n</html>\n",
        report.provost, report.set_digest
    );
    text
}

fn gates(text: &mut String, report: &Report) {
    text.push_str("<h2>Gates</h2>\n<table>\n");
    for gate in &report.gates {
        let (class, word) = if gate.held {
            ("pass", "holds")
        } else {
            ("fail", "fails")
        };
        let _ = writeln!(
            text,
            "<tr><td>{}</td><td class=\"{class}\">{word}</td><td>{}</td></tr>",
            gate.name,
            escaped(&gate.text)
        );
    }
    text.push_str("</table>\n");
    if let Some(comparison) = &report.comparison {
        let p = comparison
            .p
            .map_or_else(String::new, |p| format!(", p = {p:.4}"));
        let _ = writeln!(
            text,
            "<p><small>{}{p}</small></p>",
            escaped(&comparison.method)
        );
    }
}

fn of_planner(text: &mut String, planner: &PlannerReport) {
    let _ = writeln!(
        text,
        "<h2>Planner <code>{}</code></h2>",
        escaped(&planner.name)
    );
    let _ = write!(text, "<p>{}", escaped(&rate(planner)));
    if let Some(reliability) = reliability(planner) {
        let _ = write!(text, "; {}", escaped(&reliability));
    }
    text.push_str("</p>\n<table>\n<tr><th>case</th><th>passed</th><th>repeats</th></tr>\n");
    for case in &planner.cases {
        of_case(text, case);
    }
    text.push_str("</table>\n");
}

fn of_case(text: &mut String, case: &CaseReport) {
    let outcome = case.outcome();
    let known = if case.red { " (known to fail)" } else { "" };
    let _ = write!(
        text,
        "<tr><td><strong>{}</strong>{known}<br>{}</td><td class=\"{}\">{} {}</td><td>",
        escaped(&case.id),
        escaped(&case.goal),
        class(outcome),
        word(outcome),
        counts(case)
    );
    for repeat in &case.repeats {
        of_repeat(text, repeat);
    }
    if let Some(note) = &case.note {
        let _ = write!(text, "<p>{}</p>", escaped(note));
    }
    text.push_str("</td></tr>\n");
}

fn of_repeat(text: &mut String, repeat: &RepeatReport) {
    let said = fault(repeat).unwrap_or_default();
    let _ = write!(
        text,
        "<details{}><summary class=\"{}\">{}. {}</summary><p>{}</p>",
        if repeat.outcome == Outcome::Pass {
            ""
        } else {
            " open"
        },
        class(repeat.outcome),
        repeat.n,
        word(repeat.outcome),
        escaped(&said)
    );
    if let Some(why) = &repeat.why {
        let _ = write!(
            text,
            "<p>{}: {}</p>",
            escaped(&why.guilty),
            escaped(&why.sentence)
        );
    }
    if let Some(run) = &repeat.run {
        let _ = write!(
            text,
            "<pre>provost -C repeats/{} trace {}</pre>",
            escaped(&repeat.workspace),
            escaped(run)
        );
    }
    text.push_str("</details>");
}

fn class(outcome: Outcome) -> &'static str {
    match outcome {
        Outcome::Pass => "pass",
        Outcome::Fail => "fail",
        Outcome::NotJudged => "not_judged",
    }
}

/// A text that HTML shows as it is.
fn escaped(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => shown.push_str("&amp;"),
            '<' => shown.push_str("&lt;"),
            '>' => shown.push_str("&gt;"),
            '"' => shown.push_str("&quot;"),
            '\'' => shown.push_str("&#39;"),
            // Why: no browser shows them, and some turn the text around.
            c if c.is_control() && c != '\n' => shown.push('\u{fffd}'),
            '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => shown.push('\u{fffd}'),
            c => shown.push(c),
        }
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::escaped;

    #[test]
    fn nothing_that_is_quoted_becomes_markup() {
        let quoted = escaped("<script src='x'>\"&\u{202e}\u{1b}");
        assert_eq!(
            quoted,
            "&lt;script src=&#39;x&#39;&gt;&quot;&amp;\u{fffd}\u{fffd}"
        );
    }
}
