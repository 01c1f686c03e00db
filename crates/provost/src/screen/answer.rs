//! The answer of a run: its claims with numbered citations, and the criteria.
//!
//! Owns the marking of what nobody vouches for. INVARIANT: text from an untrusted source stands
//! between `‹` and `›`, which it cannot close by itself.

use provost_engine::run::event::{AnswerPart, AnswerSpan, Proven, RunEnded, RunStatus};
use provost_plan::digest::Digest;
use provost_plan::plan::Goal;

use super::page::{Page, TextStyle};

/// The answer with its sources.
pub fn page(ended: &RunEnded) -> Page {
    let mut page = Page::new();
    let mut sources: Vec<(String, Vec<Digest>)> = Vec::new();
    for part in &ended.answer {
        let numbers = cite(part, &mut sources);
        let spans = part.spans.iter().filter(|span| !span.text.is_empty());
        spans.for_each(|span| put(&mut page, span));
        if numbers.is_empty() {
            page.put(TextStyle::Warn, " (unsupported)");
        } else {
            page.faint(&format!(" {}", numbers.concat()));
        }
        if part.assertion {
            page.put(TextStyle::Warn, " (said, not shown)");
        }
        page.end();
    }
    if !sources.is_empty() {
        page.end();
    }
    for (number, (step, evidence)) in sources.iter().enumerate() {
        let digests: Vec<String> = evidence.iter().map(Digest::to_string).collect();
        let behind = match digests.len() {
            0 => "over an empty list".to_owned(),
            _ => format!("evidence {}", digests.join(", ")),
        };
        page.faint(&format!("[{}] step `{step}`, {behind}", number + 1))
            .end();
    }
    if ended
        .answer
        .iter()
        .flat_map(|part| &part.spans)
        .any(|span| span.untrusted)
    {
        page.faint("‹…› marks text from a tool or an untrusted planner")
            .end();
    }
    page
}

/// The numbers of the sources that a part cites; new ones are added.
fn cite(part: &AnswerPart, sources: &mut Vec<(String, Vec<Digest>)>) -> Vec<String> {
    let mut numbers = Vec::new();
    for citation in &part.cites {
        let entry = (citation.step.clone(), citation.evidence.clone());
        let at = sources
            .iter()
            .position(|source| *source == entry)
            .unwrap_or_else(|| {
                sources.push(entry);
                sources.len() - 1
            });
        numbers.push(format!("[{}]", at + 1));
    }
    numbers
}

fn put(page: &mut Page, span: &AnswerSpan) {
    if span.untrusted {
        let inner = span.text.replace('‹', "<").replace('›', ">");
        let words = inner.trim_matches(' ');
        let begin = inner.len() - inner.trim_start_matches(' ').len();
        let end = inner.len() - words.len() - begin;
        page.text(&" ".repeat(begin))
            .text("‹")
            .text(words)
            .text("›");
        page.text(&" ".repeat(end));
        return;
    }
    // Why: a person wrote these lines, so their breaks are meant.
    for (number, line) in span.text.split('\n').enumerate() {
        if number > 0 {
            page.end();
        }
        page.text(line);
    }
}

/// Which criteria held at the end of the run; `undone` says that some of it was undone, then or
/// since.
pub fn criteria(goal: &Goal, ended: &RunEnded, undone: bool) -> Page {
    let mut page = Page::new();
    for criterion in &goal.success {
        let planner = ended.proven_by_planner(&criterion.id);
        let (look, word) = match ended.criteria.get(&criterion.id) {
            Some(Proven::Held) if undone => {
                (TextStyle::Faint, "proven before it was undone".to_owned())
            }
            Some(Proven::Held) if planner.is_some() => {
                let author = planner.unwrap_or_default();
                (
                    TextStyle::Warn,
                    format!("proven only by the planner itself ({author})"),
                )
            }
            Some(Proven::Held) => (TextStyle::Good, "proven".to_owned()),
            Some(Proven::NotHeld) => (TextStyle::Bad, "not met".to_owned()),
            // Why: in a run that did not get there, what it would have read is missing anyway.
            Some(Proven::Failed(_)) if ended.status != RunStatus::Succeeded => {
                (TextStyle::Bad, "not proven".to_owned())
            }
            Some(Proven::Failed(error)) => {
                (TextStyle::Bad, format!("cannot be evaluated ({error})"))
            }
            None => (TextStyle::Faint, "was not evaluated".to_owned()),
        };
        page.put(look, &word).text(": ").line(&criterion.text);
    }
    page
}

#[cfg(test)]
mod tests {
    use provost_engine::run::event::Citation;
    use provost_plan::digest::Domain;

    use super::*;

    fn part(spans: &[(&str, bool)], cites: &[&str]) -> AnswerPart {
        let span = |(text, untrusted): &(&str, bool)| AnswerSpan {
            text: (*text).to_owned(),
            untrusted: *untrusted,
        };
        let cite = |step: &&str| Citation {
            step: (*step).to_owned(),
            evidence: vec![Digest::of_bytes(Domain::Evidence, step.as_bytes())],
        };
        AnswerPart {
            spans: spans.iter().map(span).collect(),
            assertion: false,
            cites: cites.iter().map(cite).collect(),
        }
    }

    #[test]
    fn claims_cite_by_number_and_what_is_untrusted_is_marked() {
        let ended = RunEnded {
            status: RunStatus::Succeeded,
            class: None,
            step: None,
            by: None,
            message: None,
            criteria: std::collections::BTreeMap::new(),
            proven_by: std::collections::BTreeMap::new(),
            proofs: std::collections::BTreeMap::new(),
            answer: vec![
                part(
                    &[("first line\nsecond ", false), ("a\n› [9] \u{1b}[1m", true)],
                    &["a", "b"],
                ),
                part(&[("again", false)], &["b"]),
                part(&[("from nowhere", false)], &[]),
                AnswerPart {
                    assertion: true,
                    ..part(&[("on its own word", false)], &["a"])
                },
            ],
        };
        let text = page(&ended).finish();
        insta::assert_snapshot!(anstream::adapter::strip_str(&text).to_string(), @r"
        first line
        second ‹a\n> [9] \u{1b}[1m› [1][2]
        again [2]
        from nowhere (unsupported)
        on its own word [1] (said, not shown)

        [1] step `a`, evidence sha256:09f9aca29c19ca42a92d924a2e4de1b5a14681188b7053b44f966c6fa640a7eb
        [2] step `b`, evidence sha256:4252f32f95e2826ed7a15fb83d18aea76fa09fbcc8e94445353dd4e728188866
        ‹…› marks text from a tool or an untrusted planner
        ");
    }
}
