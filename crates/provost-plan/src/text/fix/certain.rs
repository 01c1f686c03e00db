//! Which renamings are certain in the text they stand in.
//!
//! Owns the judgment by the rest of the text: whether it is the marked name that is wrong, or
//! something beside it. Never looks at what a name stands for. INVARIANT: a name that is right
//! somewhere in the text is never replaced by another one, and of two spellings the one that
//! stands more often is not replaced by the one that is only declared.

use super::Fix;
use crate::diagnostic::{Diagnostic, Severity};
use crate::source::Span;

/// Takes back the renamings that the rest of the text speaks against.
///
/// Why: `takes.output.row` beside `episode.output.row` is another step rather than `rows` misspelt,
/// and three times `shown/www` beside the one step `shonw/www` is the step that is misspelt.
pub fn keep_certain(text: &str, findings: &mut [Diagnostic]) {
    let wrong: Vec<Span> = findings
        .iter()
        .filter(|one| one.severity() == Severity::Error)
        .flat_map(|one| {
            let related = one.related.iter().map(|related| related.span);
            related.chain([one.span])
        })
        .collect();
    let is_wrong = |at: usize, name: &str| {
        let inside = |span: &Span| span.start <= at && at + name.len() <= span.end;
        wrong.iter().any(inside)
    };
    for finding in findings.iter_mut() {
        let Some(Fix::Rename { from, to }) = &finding.fix else {
            continue;
        };
        let places: Vec<usize> = words(text, from).collect();
        let is_right_elsewhere = places.iter().any(|at| !is_wrong(*at, from));
        let is_declared_alone = places.len() > 1 && words(text, to).take(2).count() == 1;
        if is_right_elsewhere || is_declared_alone {
            finding.fix = None;
        }
    }
}

/// Where a name stands in a text as a word of its own.
pub(super) fn words<'t>(text: &'t str, name: &'t str) -> impl Iterator<Item = usize> + 't {
    let is_word = |c: char| c.is_alphanumeric() || c == '_' || c == '-';
    let places = text.match_indices(name).map(|(at, _)| at);
    places.filter(move |at| {
        let before = text.get(..*at).and_then(|text| text.chars().next_back());
        let after = text.get(at + name.len()..).and_then(|t| t.chars().next());
        !before.is_some_and(is_word) && !after.is_some_and(is_word)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::codes::Code;

    /// Whether a renaming is kept where the findings mark these parts, the first with the fix.
    fn is_kept(text: &str, marked: &[&str], (from, to): (&str, &str)) -> bool {
        let mut at = 0;
        let mut findings: Vec<Diagnostic> = Vec::new();
        for part in marked {
            let start = at + text.get(at..).and_then(|rest| rest.find(part)).unwrap_or(0);
            at = start + part.len();
            let (from, to) = (from.to_owned(), to.to_owned());
            let finding = Diagnostic::new(Code::UnknownStep, Span::new(start, at), "m");
            findings.push(finding.fix(Fix::Rename { from, to }));
        }
        keep_certain(text, &mut findings);
        findings.iter().all(|one| one.fix.is_some())
    }

    #[test]
    fn the_rest_of_the_text_speaks_for_a_name_or_against_it() {
        let row = ("row", "rows");
        assert!(is_kept("a.output.row > 0", &["a.output.row"], row));
        let both = "b.output.row > 0 && a.output.row > 0";
        assert!(!is_kept(both, &["a.output.row"], row), "right elsewhere");
        let twice = "a.output.row > a.output.row";
        let wrong = ["a.output.row", "a.output.row"];
        assert!(is_kept(twice, &wrong, row), "wrong wherever it stands");
        assert!(is_kept("a.output.row # arrow", &["a.output.row"], row));

        let step = ("cuont", "count");
        let once = "id: count, when: steps.cuont.x";
        assert!(is_kept(once, &["steps.cuont.x"], step));
        let more = "id: count, when: steps.cuont.x, if: steps.cuont.x";
        let wrong = ["steps.cuont.x", "steps.cuont.x"];
        assert!(!is_kept(more, &wrong, step), "the step may be misspelt");
        let used = "id: count, needs: count, when: steps.cuont.x, if: steps.cuont.x";
        assert!(is_kept(used, &wrong, step));
    }
}
